//! The prompt history of Claude Code, `history.jsonl`. It keeps prompts of sessions whose transcripts are gone.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::Reader;
use annals_transcript::entry::Problem;
use annals_transcript::json::Value;
use annals_transcript::paths::ConfigFolder;
use annals_transcript::project::folder_name;
use jiff::Timestamp;

use crate::catalog::{ListOptions, ProjectFilter};
use crate::engine::Engine;
use crate::error::Error;

/// A prompt that a person typed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// The text of the input field. Pasted text appears in it as a placeholder.
    pub text: String,
    /// When it was sent.
    pub time: Option<Timestamp>,
    /// The working directory.
    pub project: Option<String>,
    /// The session; lines of old versions name none.
    pub session: Option<String>,
    /// The pasted texts and images that the placeholders stand for.
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
    /// The text, if it was kept.
    pub content: Option<String>,
}

/// The prompts of all config folders.
#[derive(Debug, Default)]
pub struct PromptHistory {
    /// The prompts, most recent first.
    pub prompts: Vec<Prompt>,
    /// The files that could not be read.
    pub errors: Vec<Error>,
    /// How many lines were skipped because they have no prompt.
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
    let mut history = PromptHistory::default();
    for root in engine.roots().paths() {
        let folder = ConfigFolder::new(root);
        let path = folder.prompt_history();
        match history.add(&path, &folder.pasted_texts()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => history.errors.push(Error::read(&path, error)),
            Ok(()) => {}
        }
    }
    // The sort is stable, and lines without a time come last, in the order of the file.
    history.prompts.sort_by_key(|prompt| std::cmp::Reverse(prompt.time));
    history
}

pub(crate) fn ghosts(engine: &Engine, options: &ListOptions) -> (Vec<Ghost>, Vec<Error>) {
    let PromptHistory { prompts, mut errors, .. } = engine.prompts();
    let existing = ExistingTranscripts::find(engine, &mut errors);
    let mut ghosts: BTreeMap<String, Ghost> = BTreeMap::new();
    for prompt in prompts.into_iter().rev() {
        let session = prompt.session.filter(|session| existing.lacks(session, prompt.project.as_deref()));
        let Some(session) = session else { continue };
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
    let mut ghosts: Vec<_> =
        ghosts.into_values().filter(|ghost| ghost.matches(options, project.as_ref())).collect();
    ghosts.sort_by(|a, b| b.last_at.cmp(&a.last_at).then_with(|| a.session.cmp(&b.session)));
    ghosts.truncate(options.limit.unwrap_or(usize::MAX));
    (ghosts, errors)
}

/// The sessions that have a transcript, and the folders that may have more because they could not be read.
#[derive(Default)]
struct ExistingTranscripts {
    sessions: HashSet<String>,
    /// The names of project folders that could not be read.
    unread: HashSet<OsString>,
    /// Whether a `projects` folder could not be read, so that not even the names of its folders are known.
    has_unknown_folders: bool,
}

impl ExistingTranscripts {
    fn find(engine: &Engine, errors: &mut Vec<Error>) -> Self {
        let before = errors.len();
        let folders = engine.project_folders(errors);
        let mut existing = Self { has_unknown_folders: errors.len() > before, ..Self::default() };
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

    /// Returns whether a session certainly has no transcript: one may lie in a folder that could not be read.
    fn lacks(&self, session: &str, project: Option<&str>) -> bool {
        if self.sessions.contains(session) || self.has_unknown_folders {
            return false;
        }
        match project {
            Some(project) => !self.unread.contains(&*OsString::from(folder_name(project))),
            None => self.unread.is_empty(),
        }
    }
}

impl Ghost {
    fn matches(&self, options: &ListOptions, project: Option<&ProjectFilter>) -> bool {
        project.is_none_or(|project| self.project.as_deref().is_some_and(|path| project.matches(path)))
            && options.since.is_none_or(|since| self.last_at >= Some(since))
            && options.until.is_none_or(|until| self.first_at.is_some_and(|first| first < until))
            && options.inactive_since.is_none_or(|since| self.last_at.is_some_and(|last| last < since))
            && options.title.as_ref().is_none_or(|text| self.has_text(text))
            && options.branch.is_none()
    }

    /// Returns whether the first prompt has a text in it, whatever its case.
    fn has_text(&self, text: &str) -> bool {
        self.first_prompt.to_lowercase().contains(&text.to_lowercase())
    }
}

impl PromptHistory {
    /// Adds the prompts of a `history.jsonl`, in the order of its lines. `cache` is the folder of long pasted texts.
    fn add(&mut self, path: &Path, cache: &Path) -> io::Result<()> {
        // Opening a pipe would block until it has a writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("not a file"));
        }
        let mut reader = Reader::new(File::open(path)?);
        while let Some(entry) = reader.read()? {
            match entry.body().and_then(|body| Prompt::of(body, cache)) {
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
                    .or_else(|| pasted_text(cache, &value.text("contentHash")?)),
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

/// Reads a long pasted text, which lies in a file named by its hash.
fn pasted_text(cache: &Path, hash: &str) -> Option<String> {
    // The hash is not trusted, so it must not contain a path that leads out of the folder.
    let is_name = !hash.is_empty() && hash.chars().all(|c| c.is_ascii_alphanumeric());
    let path: PathBuf = cache.join(format!("{hash}.txt"));
    let is_readable =
        is_name && fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 64 << 20);
    if is_readable { Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned()) } else { None }
}
