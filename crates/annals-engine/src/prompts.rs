//! The prompts that were typed: `history.jsonl`, which outlives the sessions it names.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::Reader;
use annals_transcript::entry::Problem;
use annals_transcript::json::Value;
use annals_transcript::project::folder_name;
use jiff::Timestamp;

use crate::catalog::{ListOptions, ProjectFilter};
use crate::engine::Engine;
use crate::error::Error;

/// A prompt that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    pub pasted: Vec<Paste>,
}

/// Something pasted into a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Paste {
    /// Its number in the prompt.
    pub id: String,
    /// What it is: `text`, `image`.
    pub kind: Option<String>,
    /// The text, if it is kept.
    pub content: Option<String>,
}

/// What was typed, as far as it is known.
#[derive(Debug, Default)]
pub struct PromptHistory {
    /// The prompts, the newest first.
    pub prompts: Vec<Prompt>,
    /// What could not be read.
    pub errors: Vec<Error>,
    /// How many lines were passed over because no prompt can be read in them.
    pub skipped: usize,
}

/// A session that the prompt history names and whose transcript is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

pub(crate) fn prompts(engine: &Engine) -> PromptHistory {
    let mut typed = PromptHistory::default();
    for root in engine.roots().paths() {
        let path = root.join("history.jsonl");
        match typed.add(&path, &root.join("paste-cache")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => typed.errors.push(Error::read(&path, error)),
            Ok(()) => {}
        }
    }
    // Lines without a time keep their place behind those of the same file that have one.
    typed.prompts.sort_by_key(|prompt| std::cmp::Reverse(prompt.time));
    typed
}

pub(crate) fn ghosts(engine: &Engine, options: &ListOptions) -> (Vec<Ghost>, Vec<Error>) {
    let PromptHistory { prompts, mut errors, .. } = engine.prompts();
    let existing = ExistingTranscripts::look(engine, &mut errors);
    let mut ghosts: BTreeMap<String, Ghost> = BTreeMap::new();
    for prompt in prompts.into_iter().rev() {
        let is_gone = |session: &String| existing.lacks(session, prompt.project.as_deref());
        let Some(session) = prompt.session.filter(is_gone) else { continue };
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
    let project = options.project.as_deref().map(ProjectFilter::new);
    let fits = |ghost: &Ghost| ghost.fits(options, project.as_ref());
    let mut ghosts: Vec<_> = ghosts.into_values().filter(fits).collect();
    ghosts.sort_by(|a, b| b.last_at.cmp(&a.last_at).then_with(|| a.session.cmp(&b.session)));
    ghosts.truncate(options.limit.unwrap_or(usize::MAX));
    (ghosts, errors)
}

/// The sessions that have a transcript, as far as can be told.
#[derive(Default)]
struct ExistingTranscripts {
    sessions: HashSet<String>,
    /// Names of folders that could not be read.
    unread: HashSet<OsString>,
    /// Whether there may be folders of which nothing is known.
    are_more: bool,
}

impl ExistingTranscripts {
    fn look(engine: &Engine, errors: &mut Vec<Error>) -> Self {
        let before = errors.len();
        let folders = engine.project_folders(errors);
        let mut existing = Self { are_more: errors.len() > before, ..Self::default() };
        for folder in folders {
            match fs::read_dir(&folder) {
                Ok(entries) => existing.sessions.extend(entries.flatten().filter_map(|entry| {
                    Some(entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned())
                })),
                Err(source) => {
                    existing.unread.extend(folder.file_name().map(ToOwned::to_owned));
                    errors.push(Error::read(&folder, source));
                }
            }
        }
        existing
    }

    /// Returns whether a session has no transcript; what lies where nobody could look may have one.
    fn lacks(&self, session: &str, project: Option<&str>) -> bool {
        let is_unread = || match project {
            Some(project) => self.unread.contains(&*OsString::from(folder_name(project))),
            None => !self.unread.is_empty(),
        };
        !self.sessions.contains(session) && !self.are_more && !is_unread()
    }
}

impl Ghost {
    fn fits(&self, wanted: &ListOptions, project: Option<&ProjectFilter>) -> bool {
        let has_words = |text: &String| self.first_prompt.to_lowercase().contains(&text.to_lowercase());
        project.is_none_or(|asked| self.project.as_deref().is_some_and(|path| asked.matches(path)))
            && wanted.since.is_none_or(|since| self.last_at >= Some(since))
            && wanted.until.is_none_or(|until| self.first_at.is_some_and(|first| first < until))
            && wanted.title.as_ref().is_none_or(has_words)
            && wanted.branch.is_none()
    }
}

impl PromptHistory {
    /// Adds the prompts of a history, in the order of its lines.
    fn add(&mut self, path: &Path, pasted: &Path) -> io::Result<()> {
        // Who opens a pipe waits for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("not a file"));
        }
        let mut reader = Reader::new(File::open(path)?);
        while let Some(entry) = reader.read()? {
            match entry.body().and_then(|body| Prompt::of(body, pasted)) {
                Some(prompt) => self.prompts.push(prompt),
                None => self.skipped += usize::from(entry.problem() != Some(Problem::Blank)),
            }
        }
        Ok(())
    }
}

impl Prompt {
    fn of(line: Value<'_>, cache: &Path) -> Option<Self> {
        let text = |key: &str| line.text(key).map(String::from);
        let time =
            line.number("timestamp").and_then(|ms| Timestamp::from_millisecond(ms.try_into().ok()?).ok());
        let pasted =
            line.get("pastedContents").into_iter().flat_map(Value::members).map(|(key, value)| Paste {
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
    let is_fit =
        is_name && fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 64 << 20);
    if is_fit { Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned()) } else { None }
}
