//! What is in a session: its title, its times, where and with what it was held.

mod grown;

use std::fs::{self, File};
use std::io;
use std::path::Path;

use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::entry::view::{AgentName, AiTitle, CustomTitle, LastPrompt, Relocated, Tag};
use annals_transcript::json::Value;
use annals_transcript::line::read_span;
use annals_transcript::lite::{Lite, is_before};
use jiff::Timestamp;

use super::folder::Candidate;
use super::project::project_above;
use crate::files::is_hollow;

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
    /// The working directories that it tells.
    pub(super) cwds: Cwds,
    /// How far the transcript was read: to its end.
    pub(super) checkpoint: Checkpoint,
    /// Whether all of the transcript was read.
    pub(super) is_whole: bool,
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
}

impl Facts {
    /// Reads what is in a transcript: both ends of it, and all of it only if they leave a question open.
    pub(super) fn read(transcript: &Candidate) -> io::Result<Self> {
        let (mut file, mut lite) = ends(transcript)?;
        if leaves_a_question(&lite, &file, &transcript.path) {
            lite = Lite::read_all(&mut file, transcript.state.length)?;
        }
        Self::of(lite, &mut file, transcript)
    }

    /// Reads what the ends of a transcript tell: enough for a subagent's.
    pub(super) fn of_ends(transcript: &Candidate) -> io::Result<Self> {
        let (mut file, lite) = ends(transcript)?;
        Self::of(lite, &mut file, transcript)
    }

    /// Reads a transcript that seems to have grown since these facts were read, and returns what reading
    /// it anew would: where that takes all of it, what was written since is enough if these are the facts of all the rest.
    pub(super) fn read_again(&self, transcript: &Candidate) -> io::Result<Self> {
        let (mut file, lite) = ends(transcript)?;
        if !leaves_a_question(&lite, &file, &transcript.path) {
            return Self::of(lite, &mut file, transcript);
        }
        if self.is_continued(&mut file, transcript)? {
            let from = self.checkpoint.offset();
            let since = Lite::read_from(&mut file, from, transcript.state.length)?;
            if let Some(facts) = grown::with(self, since, &mut file, transcript)? {
                return Ok(facts);
            }
        }
        Self::of(Lite::read_all(&mut file, transcript.state.length)?, &mut file, transcript)
    }

    /// Returns whether these are the facts of whole lines with which a longer transcript begins.
    fn is_continued(&self, file: &mut File, transcript: &Candidate) -> io::Result<bool> {
        Ok(self.is_whole
            && starts_a_line(file, self.checkpoint.offset())?
            && self.checkpoint.compare(file, &transcript.state)? == Change::Grown)
    }

    /// Reads what is in a session: its transcript, and the title beside it.
    pub(crate) fn of_session(path: &Path) -> io::Result<Self> {
        let transcript = Candidate::of(path).ok_or(io::ErrorKind::NotFound)?;
        let mut facts = Self::read(&transcript)?;
        facts.take_title_beside(path);
        Ok(facts)
    }

    /// Gives a session the title that stands in a file of its own, unless the transcript itself has one.
    pub(super) fn take_title_beside(&mut self, path: &Path) {
        let has_own = self.title.as_ref().is_some_and(|title| title.source == TitleSource::Custom);
        if !has_own && let Some(text) = title_beside(path) {
            self.title = Some(Title { text, source: TitleSource::Custom });
        }
    }

    fn of(mut lite: Lite, file: &mut File, transcript: &Candidate) -> io::Result<Self> {
        let text = |text: std::borrow::Cow<'_, str>| text.into_owned();
        let custom = lite.newest::<CustomTitle>().and_then(|record| record.title()).map(text);
        let earlier = || lite.last::<CustomTitle>().and_then(|record| record.title()).map(text);
        let agent = || lite.last::<AgentName>().and_then(|record| record.name()).map(text);
        let ai = || lite.last::<AiTitle>().and_then(|record| record.title()).map(text);
        let words = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let given = [
            (words(custom), TitleSource::Custom),
            (words(earlier()), TitleSource::Earlier),
            (words(agent()), TitleSource::Agent),
            (words(ai()), TitleSource::Ai),
        ];
        let first_prompt = lite.first_prompt.as_deref().map(beginning);
        let mut title = given.into_iter().find_map(|(text, source)| Some(Title { text: text?, source }));
        if title.is_none() {
            // Whether a summary is of this session may take a search through all of the file.
            let summary = words(lite.summary(file)?).map(|text| Title { text, source: TitleSource::Summary });
            let prompt = words(first_prompt.clone());
            title = summary.or(prompt.map(|text| Title { text, source: TitleSource::Prompt }));
        }
        let moved_to = lite.last::<Relocated>().and_then(|record| record.cwd()).map(text);
        let cwds = Cwds::new(lite.cwd.take(), lite.last_cwd.take(), moved_to);
        Ok(Self {
            standing: standing(&lite),
            title,
            created_at: lite.first_at.and_then(to_the_millisecond),
            updated_at: lite.last_at.and_then(to_the_millisecond),
            permission_mode: lite.permission_mode.take(),
            tag: words(lite.last::<Tag>().and_then(|record| record.tag()).map(text)),
            cwd: cwds.of_session(&transcript.path),
            cwds,
            first_prompt,
            forked_from: lite.forked_from,
            session: lite.session,
            messages: lite.whole.then_some(lite.messages),
            checkpoint: Checkpoint::new(transcript.state.identity, transcript.state.length, lite.fingerprint),
            is_whole: lite.whole,
            // The client writes an empty name where there is no repository.
            git_branch: words(lite.git_branch),
            version: lite.version,
            entrypoint: lite.entrypoint,
        })
    }
}

/// Opens a transcript and reads its ends, as long as it was when it was looked at.
fn ends(transcript: &Candidate) -> io::Result<(File, Lite)> {
    let mut file = File::open(&transcript.path)?;
    let lite = Lite::read(&mut file, transcript.state.length)?;
    Ok((file, lite))
}

/// The working directories that a transcript tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cwds {
    /// The first.
    pub(super) first: Option<String>,
    /// The last, if it is another one: most sessions stay where they began.
    pub(super) elsewhere: Option<String>,
    /// The one that the client says it was moved to.
    pub(super) moved_to: Option<String>,
}

impl Cwds {
    pub(super) fn new(first: Option<String>, last: Option<String>, moved_to: Option<String>) -> Self {
        let elsewhere = last.filter(|last| first.as_ref() != Some(last));
        Self { first, elsewhere, moved_to }
    }

    /// Returns those of a transcript of which these tell the beginning.
    fn then(&self, rest: &Cwds) -> Self {
        let last = [&rest.elsewhere, &rest.first, &self.elsewhere].into_iter().flatten().next();
        let moved_to = rest.moved_to.as_ref().or(self.moved_to.as_ref());
        Self::new(self.first.clone().or(rest.first.clone()), last.cloned(), moved_to.cloned())
    }

    /// Returns the working directory of a session: the one that it was moved to, else the first one, unless it is the last
    /// that the folder of the transcript is named after. Then the session was moved, too.
    pub(super) fn of_session(&self, path: &Path) -> Option<String> {
        let key = || path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let names_folder =
            |cwd: &Option<String>| cwd.as_ref().is_some_and(|cwd| project_above(cwd, &key()).is_some());
        let Self { first, elsewhere, moved_to } = self;
        let is_moved = || names_folder(elsewhere) && !names_folder(first);
        moved_to.clone().or_else(|| if is_moved() { elsewhere.clone() } else { first.clone() })
    }
}

/// Returns a time as exactly as lists tell it and the catalogue remembers it, so that both are in the same order.
fn to_the_millisecond(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.as_millisecond()).ok()
}

/// How many characters of a prompt lists show.
const LONGEST_PROMPT: usize = 300;

/// Returns as much of a prompt as lists show.
fn beginning(prompt: &str) -> String {
    if prompt.len() <= LONGEST_PROMPT {
        return prompt.to_owned();
    }
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

/// Returns whether the ends of a file leave open what can be read between them: what it is, when it was written, or what
/// it is called.
fn leaves_a_question(lite: &Lite, file: &File, path: &Path) -> bool {
    let is_open = !lite.has_main_messages || lite.last_at.is_none() || lite.first_prompt.is_none();
    let is_asked = || is_open || may_hide_a_title(lite) && title_beside(path).is_none();
    !lite.whole && is_asked() && !is_hollow(file)
}

/// Returns whether a line starts at a place in a file, and not just goes on there.
fn starts_a_line(file: &mut File, at: u64) -> io::Result<bool> {
    Ok(at == 0 || read_span(file, at - 1, 1)? == b"\n")
}

/// Returns whether a title of the user's may stand between the ends of a file. Clients before 2.1.23 knew no titles.
fn may_hide_a_title(lite: &Lite) -> bool {
    !tells_title(lite) && !lite.version.as_deref().is_some_and(|version| is_before(version, [2, 1, 23]))
}

/// Returns whether the end of a file tells for certain which title the user gave, or that there is none.
///
/// A client that knows `last-prompt` writes the title again beside it, turn after turn: where the end has the one and not
/// the other, there is no title.
fn tells_title(lite: &Lite) -> bool {
    lite.newest::<CustomTitle>().is_some() || lite.newest::<LastPrompt>().is_some()
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_written_while_a_file_is_read_is_counted_once() {
        let message = "{\"parentUuid\":null,\"version\":\"2.1.40\",\"type\":\"user\",\"message\":{\"content\":\"Words\"},\
            \"uuid\":\"u\",\"timestamp\":\"2026-01-02T03:04:05.678Z\"}\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        // The larger one does not tell at its end whether it has a title, and is read whole.
        for messages in [10, 2000] {
            fs::write(&path, message.repeat(messages)).unwrap();
            let before = Candidate::of(&path).unwrap();
            File::options().append(true).open(&path).unwrap().write_all(message.as_bytes()).unwrap();
            let facts = Facts::read(&before).unwrap();
            assert_eq!(facts.messages, Some(messages as u64));
            let now = Candidate::of(&path).unwrap();
            let again = facts.read_again(&now).unwrap();
            assert_eq!(again, Facts::read(&now).unwrap());
            assert_eq!(again.messages, Some(messages as u64 + 1));
        }
    }

    #[test]
    fn working_directories_told_in_two_parts_are_those_of_the_whole() {
        let of = |told: &[&str]| {
            let text = |cwd: Option<&&str>| cwd.map(|cwd| (*cwd).to_owned());
            Cwds::new(text(told.first()), text(told.last()), None)
        };
        for whole in [&["/a"][..], &["/a", "/a"], &["/a", "/b"], &["/a", "/b", "/a"], &["/a", "/b", "/c"]] {
            for at in 0..=whole.len() {
                let (before, since) = whole.split_at(at);
                assert_eq!(of(before).then(&of(since)), of(whole), "{whole:?} at {at}");
            }
        }
        let moved = |to: &str| Cwds { moved_to: Some(to.to_owned()), ..Cwds::default() };
        assert_eq!(moved("/x").then(&of(&[])).moved_to.as_deref(), Some("/x"));
        assert_eq!(moved("/x").then(&moved("/y")).moved_to.as_deref(), Some("/y"));
    }
}
