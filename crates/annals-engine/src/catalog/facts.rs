//! What is in a session: its title, its times, where and with what it was held.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use annals_transcript::entry::view::{
    AgentName, AiTitle, CustomTitle, LastPrompt, PermissionMode, Relocated, Tag,
};
use annals_transcript::json::Value;
use annals_transcript::lite::{Lite, Mark};
use jiff::Timestamp;

use super::project::project_above;

/// What is in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether it is a conversation at all.
    pub standing: Standing,
    /// What it is called.
    pub title: Option<Title>,
    /// The first words of a person.
    pub first_prompt: Option<String>,
    /// The first entry's time.
    pub created_at: Option<Timestamp>,
    /// The last entry's time.
    pub updated_at: Option<Timestamp>,
    /// The working directory that it began in, or was moved to.
    pub cwd: Option<String>,
    /// The branch that was checked out last.
    pub git_branch: Option<String>,
    /// The version of the client that wrote last.
    pub version: Option<String>,
    /// How the client was started.
    pub entrypoint: Option<String>,
    /// The permission mode that it was left in.
    pub permission_mode: Option<String>,
    /// The user's tag.
    pub tag: Option<String>,
    /// The session that it was forked from.
    pub forked_from: Option<String>,
    /// The session that its lines name.
    pub session: Option<String>,
    /// How many messages of the user and the model it has; none if not all of it was read.
    pub messages: Option<u64>,
    /// What the transcript began and ended with.
    pub(super) mark: Mark,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// A conversation.
    #[default]
    Conversation,
    /// Nothing at all.
    Empty,
    /// Records such as titles, but no message.
    RecordsOnly,
    /// Messages of subagents only.
    SidechainOnly,
}

impl Standing {
    pub(super) const ALL: [Standing; 4] =
        [Standing::Conversation, Standing::Empty, Standing::RecordsOnly, Standing::SidechainOnly];

    /// Returns why a file is not listed; none for a conversation.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Standing::Conversation => None,
            Standing::Empty => Some("empty file"),
            Standing::RecordsOnly => Some("no message in it"),
            Standing::SidechainOnly => Some("only subagents' messages"),
        }
    }
}

/// What a session is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// Its words.
    pub text: String,
    /// Where they come from.
    pub source: TitleSource,
}

/// Where a title comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleSource {
    /// The user gave it.
    Custom,
    /// The user gave it, before text that was not read: a later one may stand in a file of its own.
    Earlier,
    /// The user named the agent that the session runs as.
    Agent,
    /// A model gave it.
    Ai,
    /// A summary of the session, as old clients wrote.
    Summary,
    /// The first prompt.
    Prompt,
}

impl TitleSource {
    pub(super) const ALL: [TitleSource; 6] = [
        TitleSource::Custom,
        TitleSource::Earlier,
        TitleSource::Agent,
        TitleSource::Ai,
        TitleSource::Summary,
        TitleSource::Prompt,
    ];

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            TitleSource::Custom | TitleSource::Earlier | TitleSource::Agent => "custom",
            TitleSource::Ai => "ai",
            TitleSource::Summary => "summary",
            TitleSource::Prompt => "prompt",
        }
    }
}

impl Facts {
    /// Reads what is in a transcript: both ends of it, and all of it only if they leave a question open.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut lite = Lite::read(&mut file)?;
        let leaves_a_question =
            || leaves_open(&lite) || may_hide_a_title(&lite) && title_beside(path).is_none();
        if !lite.whole && leaves_a_question() && !is_hollow(&file) {
            lite = Lite::read_all(&mut file)?;
        }
        Self::of(lite, &mut file, path)
    }

    /// Reads what the ends of a transcript tell: enough for a subagent's.
    pub(super) fn of_ends(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        Self::of(Lite::read(&mut file)?, &mut file, path)
    }

    /// Reads a transcript that has grown behind an offset since these facts were read: what the ends do not tell is as it
    /// was, if everything new is among what they tell. One that only looks as if it had grown is read anew.
    pub(super) fn read_again(&self, path: &Path, from: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let lite = Lite::read(&mut file)?;
        let has_grown = lite.has_read_from(from) && Mark::of(&mut file, from)? == self.mark;
        if !has_grown {
            return Self::read(path);
        }
        if lite.whole {
            return Self::of(lite, &mut file, path);
        }
        let (tagged, moded) = (lite.last::<Tag>().is_some(), lite.last::<PermissionMode>().is_some());
        let tells_title = tells_title(&lite);
        let mut facts = Self::of(lite, &mut file, path)?;
        facts.title = later_title(self.title.clone(), facts.title, tells_title);
        if !tagged {
            facts.tag.clone_from(&self.tag);
        }
        if !moded {
            facts.permission_mode.clone_from(&self.permission_mode);
        }
        if self.standing == Standing::Conversation {
            facts.standing = Standing::Conversation;
        }
        facts.first_prompt = self.first_prompt.clone().or(facts.first_prompt);
        facts.created_at = self.created_at.into_iter().chain(facts.created_at).min();
        facts.updated_at = facts.updated_at.max(self.updated_at);
        Ok(facts)
    }

    /// Reads what is in a session: its transcript, and the title beside it.
    pub(crate) fn of_session(path: &Path) -> io::Result<Self> {
        Ok(Self::read(path)?.with_title_beside(path))
    }

    /// Gives a session the title that stands in a file of its own, unless the transcript itself has one.
    pub(super) fn with_title_beside(mut self, path: &Path) -> Self {
        let has_own = self.title.as_ref().is_some_and(|title| title.source == TitleSource::Custom);
        if !has_own && let Some(text) = title_beside(path) {
            self.title = Some(Title { text, source: TitleSource::Custom });
        }
        self
    }

    fn of(lite: Lite, file: &mut File, path: &Path) -> io::Result<Self> {
        let text = |text: std::borrow::Cow<'_, str>| text.into_owned();
        let custom = lite.newest::<CustomTitle>().and_then(|record| record.title()).map(text);
        let earlier = || lite.last::<CustomTitle>().and_then(|record| record.title()).map(text);
        let agent = || lite.last::<AgentName>().and_then(|record| record.name()).map(text);
        let ai = || lite.last::<AiTitle>().and_then(|record| record.title()).map(text);
        let words = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let summary = lite.summary(file)?;
        let title = [
            (words(custom), TitleSource::Custom),
            (words(earlier()), TitleSource::Earlier),
            (words(agent()), TitleSource::Agent),
            (words(ai()), TitleSource::Ai),
            (words(summary), TitleSource::Summary),
            (words(lite.first_prompt.as_deref().map(beginning)), TitleSource::Prompt),
        ];
        let title = title.into_iter().find_map(|(text, source)| Some(Title { text: text?, source }));
        let moved_to = lite.last::<Relocated>().and_then(|record| record.cwd()).map(text);
        Ok(Self {
            standing: standing(&lite),
            title,
            created_at: lite.first_at.and_then(to_the_millisecond),
            updated_at: lite.last_at.and_then(to_the_millisecond),
            permission_mode: lite.last::<PermissionMode>().and_then(|record| record.mode()).map(text),
            tag: words(lite.last::<Tag>().and_then(|record| record.tag()).map(text)),
            cwd: moved_to.or_else(|| cwd(lite.cwd, lite.last_cwd, path)),
            first_prompt: lite.first_prompt.as_deref().map(beginning),
            forked_from: lite.forked_from,
            session: lite.session,
            messages: lite.whole.then_some(lite.messages),
            mark: lite.mark,
            // The client writes an empty name where there is no repository.
            git_branch: words(lite.git_branch),
            version: lite.version,
            entrypoint: lite.entrypoint,
        })
    }
}

/// Returns the title that counts: the one that was known, or the one that is read now that more was written, which may
/// tell for certain what the user's is.
fn later_title(known: Option<Title>, read: Option<Title>, tells_title: bool) -> Option<Title> {
    let is_users = |title: &Title| matches!(title.source, TitleSource::Custom | TitleSource::Earlier);
    let is_given = |title: &Title| title.source != TitleSource::Prompt;
    let known = known.filter(|title| !(tells_title && is_users(title)));
    match (known, read) {
        (Some(known), Some(read)) if is_users(&known) && !is_users(&read) => Some(known),
        (Some(known), Some(read)) if is_given(&known) && !is_given(&read) => Some(known),
        (known, read) => read.or(known),
    }
}

/// Returns the working directory: the first one, unless it is the last that the folder of the transcript is named after.
/// Then the session was moved.
fn cwd(first: Option<String>, last: Option<String>, path: &Path) -> Option<String> {
    let key = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let names_folder =
        |cwd: &Option<String>| cwd.as_ref().is_some_and(|cwd| project_above(cwd, &key).is_some());
    if first != last && !names_folder(&first) && names_folder(&last) { last } else { first }
}

/// Returns a time as exactly as lists tell it and the catalogue remembers it, so that both are in the same order.
fn to_the_millisecond(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.as_millisecond()).ok()
}

/// How many characters of a prompt lists show.
const LONGEST_PROMPT: usize = 300;

/// Returns as much of a prompt as lists show.
fn beginning(prompt: &str) -> String {
    let end = prompt.char_indices().nth(LONGEST_PROMPT).map_or(prompt.len(), |(end, _)| end);
    prompt[..end].to_owned()
}

fn standing(lite: &Lite) -> Standing {
    match (lite.has_main_messages, lite.has_messages, lite.size) {
        (true, ..) => Standing::Conversation,
        (false, true, _) => Standing::SidechainOnly,
        (false, false, 0) => Standing::Empty,
        (false, false, _) => Standing::RecordsOnly,
    }
}

/// Returns whether a file is a hole for the most part, where there is nothing to read. No log is compressed as much.
fn is_hollow(file: &File) -> bool {
    #[cfg(unix)]
    let allocated = file.metadata().map(|metadata| {
        use std::os::unix::fs::MetadataExt;
        (metadata.blocks() * 512, metadata.len())
    });
    #[cfg(not(unix))]
    let allocated: io::Result<(u64, u64)> = file.metadata().map(|metadata| (metadata.len(), metadata.len()));
    allocated.is_ok_and(|(allocated, length)| allocated < length / 64)
}

/// Returns whether the ends of a file do not tell what it is, or when it was written.
fn leaves_open(lite: &Lite) -> bool {
    !lite.has_main_messages || lite.last_at.is_none() || lite.first_prompt.is_none()
}

/// Returns whether a title of the user's may stand between the ends of a file. Clients before 2.1.23 knew no titles.
fn may_hide_a_title(lite: &Lite) -> bool {
    !tells_title(lite) && !lite.version.as_deref().is_some_and(is_before_titles)
}

/// Returns whether the end of a file tells for certain which title the user gave, or that there is none.
///
/// A client that knows `last-prompt` writes the title again beside it, turn after turn: where the end has the one and not
/// the other, there is no title.
fn tells_title(lite: &Lite) -> bool {
    lite.newest::<CustomTitle>().is_some() || lite.newest::<LastPrompt>().is_some()
}

fn is_before_titles(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let version = (numbers.next().flatten(), numbers.next().flatten(), numbers.next().flatten());
    matches!(version, (Some(major), Some(minor), Some(patch)) if (major, minor, patch) < (2, 1, 23))
}

/// Returns the title that stands in a file of its own, where no amount of text hides it.
pub(crate) fn title_beside(path: &Path) -> Option<String> {
    let bytes = small_file(&path.with_extension("").join("custom-title.json"))?;
    Value::new(&bytes)?.text("customTitle").map(String::from)
}

/// Returns whether a session is in the client's archive.
pub(crate) fn is_archived(path: &Path) -> bool {
    small_file(&path.with_extension("").join("archived.json"))
        .is_some_and(|bytes| Value::new(&bytes).is_some_and(|value| value.flag("archived")))
}

/// Reads a side file; what is not a small file is none.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let is_small = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20);
    if is_small { fs::read(path).ok() } else { None }
}
