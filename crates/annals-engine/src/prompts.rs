//! The prompts that were typed: `history.jsonl`, which outlives the sessions it names.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::Reader;
use annals_transcript::json::Value;
use jiff::Timestamp;

use crate::catalog::Wanted;
use crate::engine::Engine;
use crate::error::Error;

/// A prompt that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The words, as they stood in the input.
    pub text: String,
    /// When it was sent.
    pub time: Option<Timestamp>,
    /// The working directory.
    pub project: Option<String>,
    /// The session; old lines name none.
    pub session: Option<String>,
    /// What was pasted, and stands in the words as a short mark only.
    pub pasted: Vec<Pasted>,
}

/// Something pasted into a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pasted {
    /// Its number in the prompt.
    pub id: String,
    /// What it is: `text`, `image`.
    pub kind: Option<String>,
    /// The text, if it is kept.
    pub content: Option<String>,
}

/// A session that the prompt history names and whose transcript is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ghost {
    /// The session.
    pub session: String,
    /// Its first prompt.
    pub first_prompt: String,
    /// The working directory.
    pub project: Option<String>,
    /// When its first prompt was sent.
    pub first_at: Option<Timestamp>,
    /// When its last prompt was sent.
    pub last_at: Option<Timestamp>,
    /// How many prompts it had.
    pub prompts: usize,
}

impl Engine {
    /// Returns the prompts that were typed, the newest first, and what could not be read.
    pub fn prompts(&self) -> (Vec<Prompt>, Vec<Error>) {
        let (mut prompts, mut errors) = (Vec::new(), Vec::new());
        for root in self.roots().paths() {
            let path = root.join("history.jsonl");
            match read(&path, &root.join("paste-cache")) {
                Ok(found) => prompts.extend(found),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => errors.push(Error::read(&path, error)),
            }
        }
        // Lines without a time keep their place behind those of the same file that have one.
        prompts.sort_by_key(|prompt| std::cmp::Reverse(prompt.time));
        (prompts, errors)
    }

    /// Returns the sessions that the prompt history names and whose transcripts are gone, the newest first.
    pub fn ghosts(&self, wanted: &Wanted) -> (Vec<Ghost>, Vec<Error>) {
        let (prompts, mut errors) = self.prompts();
        let there = self.session_ids(&mut errors);
        let mut ghosts: BTreeMap<String, Ghost> = BTreeMap::new();
        for prompt in prompts.into_iter().rev() {
            let Some(session) = prompt.session.filter(|session| !there.contains(session)) else { continue };
            let ghost = ghosts.entry(session.clone()).or_insert_with(|| Ghost {
                session,
                first_prompt: prompt.text,
                project: prompt.project,
                first_at: prompt.time,
                last_at: None,
                prompts: 0,
            });
            ghost.last_at = ghost.last_at.max(prompt.time);
            ghost.prompts += 1;
        }
        let mut ghosts: Vec<_> = ghosts.into_values().filter(|ghost| ghost.fits(wanted)).collect();
        ghosts.sort_by(|a, b| b.last_at.cmp(&a.last_at).then_with(|| a.session.cmp(&b.session)));
        ghosts.truncate(wanted.limit.unwrap_or(usize::MAX));
        (ghosts, errors)
    }

    /// Returns the ids of all sessions that have a transcript.
    fn session_ids(&self, errors: &mut Vec<Error>) -> HashSet<String> {
        let folders = self.project_folders(errors);
        let names = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
        let id =
            |entry: std::fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned());
        names.filter_map(id).collect()
    }
}

impl Ghost {
    fn fits(&self, wanted: &Wanted) -> bool {
        let project = wanted.project.as_ref().map(|path| path.to_string_lossy());
        let has_words = |text: &String| self.first_prompt.to_lowercase().contains(&text.to_lowercase());
        project.is_none_or(|path| self.project.as_deref() == Some(&*path))
            && wanted.since.is_none_or(|since| self.last_at >= Some(since))
            && wanted.until.is_none_or(|until| self.first_at < Some(until))
            && wanted.title.as_ref().is_none_or(has_words)
            && wanted.branch.is_none()
    }
}

/// Reads a history, in the order of its lines. What is not a prompt is passed over.
fn read(path: &Path, pasted: &Path) -> io::Result<Vec<Prompt>> {
    let mut reader = Reader::new(File::open(path)?);
    let mut prompts = Vec::new();
    while let Some(entry) = reader.read()? {
        prompts.extend(entry.body().and_then(|body| Prompt::of(body, pasted)));
    }
    Ok(prompts)
}

impl Prompt {
    fn of(line: Value<'_>, cache: &Path) -> Option<Self> {
        let text = |key: &str| line.text(key).map(String::from);
        let time =
            line.number("timestamp").and_then(|ms| Timestamp::from_millisecond(ms.try_into().ok()?).ok());
        let pasted =
            line.get("pastedContents").into_iter().flat_map(Value::members).map(|(key, value)| Pasted {
                id: key.decode().into_owned(),
                kind: value.text("type").map(String::from),
                content: value
                    .text("content")
                    .map(String::from)
                    .or_else(|| kept(cache, &value.text("contentHash")?)),
            });
        Some(Self {
            text: text("display")?,
            time,
            project: text("project"),
            session: text("sessionId"),
            pasted: pasted.collect(),
        })
    }
}

/// Returns a long pasted text, which lies in a file named by its hash.
fn kept(cache: &Path, hash: &str) -> Option<String> {
    // The name comes from a file that anybody may have written: it leads nowhere else.
    let is_name = !hash.is_empty() && hash.chars().all(|c| c.is_ascii_alphanumeric());
    let path: PathBuf = cache.join(format!("{hash}.txt"));
    let is_fit = is_name
        && std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 64 << 20);
    if is_fit { Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned()) } else { None }
}
