//! Facts of a session: its title, its times, its working directories, and what Claude Code was set to.
//!
//! The rules are stated in `docs/LISTS.md`: which bytes are read in section 1, which line counts in section 2, titles in
//! section 3.

mod grown;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::entry::view::{AgentName, AiTitle, CustomTitle, LastPrompt, Relocated, Tag};
use annals_transcript::json::Value;
use annals_transcript::line::read_span;
use annals_transcript::lite::{Lite, ScanBound};
use annals_transcript::paths::SessionPaths;
use annals_transcript::version::is_before;
use jiff::Timestamp;

use super::folder::FoundTranscript;
use super::project::project_above;
use crate::files::is_sparse;

/// What is in a session (LISTS section 2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// Whether it is a conversation.
    pub kind: TranscriptKind,
    /// Its title.
    pub title: Option<Title>,
    /// The beginning of the first prompt (LISTS 2.7).
    pub first_prompt: Option<String>,
    /// The earliest time of an entry (LISTS 2.6).
    pub created_at: Option<Timestamp>,
    /// The latest time of an entry (LISTS 2.6).
    pub updated_at: Option<Timestamp>,
    /// The working directory that it began in, or was moved to (LISTS 2.2).
    pub cwd: Option<String>,
    /// The branch that was checked out last (LISTS 2.3).
    pub git_branch: Option<String>,
    /// The version of Claude Code that wrote last (LISTS 2.3).
    pub version: Option<String>,
    /// How Claude Code was started (LISTS 2.4).
    pub entrypoint: Option<String>,
    /// The permission mode that it was left in (LISTS 2.5).
    pub permission_mode: Option<String>,
    /// The user's tag (LISTS 2.10).
    pub tag: Option<String>,
    /// The session that it was forked from (LISTS 2.8).
    pub forked_from: Option<String>,
    /// The session that its lines name (LISTS 2.1).
    pub session: Option<String>,
    /// The number of messages of the user and the model; `None` if not all of the transcript was read (LISTS 2.9).
    pub messages: Option<u64>,
    /// How many prompts are in the queue; `None` if that is not known (LISTS 2.11).
    pub queued: Option<u64>,
    /// The working directories that its entries name.
    pub(super) cwds: Cwds,
    /// How far the transcript was read: to its end.
    pub(super) checkpoint: Checkpoint,
    /// Whether a part of the transcript that may hold facts was not read, because it is too long (LISTS 1.8).
    pub is_partial: bool,
    /// Whether these facts can be joined with those of lines that are appended (LISTS 1.9).
    pub(super) can_grow: bool,
}

/// What kind of entries a transcript has (LISTS 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranscriptKind {
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

impl TranscriptKind {
    /// All of them.
    pub const ALL: &[TranscriptKind] = &[
        TranscriptKind::Conversation,
        TranscriptKind::Empty,
        TranscriptKind::RecordsOnly,
        TranscriptKind::SidechainOnly,
    ];

    /// Returns why a transcript is not listed; `None` for a conversation.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            TranscriptKind::Conversation => None,
            TranscriptKind::Empty => Some("empty file"),
            TranscriptKind::RecordsOnly => Some("no message in it"),
            TranscriptKind::SidechainOnly => Some("only subagents' messages"),
        }
    }
}

/// The title of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Title {
    /// The text.
    pub text: String,
    /// Where the text comes from.
    pub source: TitleSource,
}

/// Where a title comes from, in the order in which they count (LISTS 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleSource {
    /// The user gave it.
    Custom,
    /// The user gave it, in a record before text that was not read. A later one may be in the file beside the transcript (LISTS 3.2).
    Earlier,
    /// The user named the agent that the session runs as.
    Agent,
    /// A model gave it.
    Ai,
    /// A summary of the session, as old versions of Claude Code wrote (LISTS 3.3).
    Summary,
    /// The first prompt.
    Prompt,
    /// The first words of the model (LISTS 3.6).
    Reply,
}

impl TitleSource {
    /// All of them.
    pub const ALL: &[TitleSource] = &[
        TitleSource::Custom,
        TitleSource::Earlier,
        TitleSource::Agent,
        TitleSource::Ai,
        TitleSource::Summary,
        TitleSource::Prompt,
        TitleSource::Reply,
    ];

    /// Returns whether somebody gave the title, so that no summary counts.
    fn is_given(self) -> bool {
        matches!(self, TitleSource::Custom | TitleSource::Earlier | TitleSource::Agent | TitleSource::Ai)
    }

    /// Returns whether the first text of this source counts, and not the last one.
    fn first_counts(self) -> bool {
        matches!(self, TitleSource::Prompt | TitleSource::Reply)
    }
}

impl Facts {
    /// Returns whether the title has a text in it, whatever its case.
    pub(super) fn has_in_title(&self, text: &str) -> bool {
        self.title.as_ref().is_some_and(|title| has_in(&title.text, text))
    }

    /// Returns whether the first prompt has a text in it, whatever its case.
    pub(super) fn has_in_prompt(&self, text: &str) -> bool {
        self.first_prompt.as_ref().is_some_and(|prompt| has_in(prompt, text))
    }

    /// Reads the facts of a transcript: from its two ends, or from more of it if the ends do not give all facts (LISTS 1.7).
    pub(super) fn read(transcript: &FoundTranscript, bound: ScanBound) -> io::Result<Self> {
        let (mut file, mut lite) = ends(transcript)?;
        if lacks_facts(&lite, &file, &transcript.path) {
            lite = Lite::scan(&mut file, transcript.state.length, bound)?;
        }
        Self::of(lite, &mut file, transcript, bound)
    }

    /// Reads the facts that the two ends of a transcript give, which are enough for a subagent (LISTS 1.7).
    pub(super) fn of_ends(transcript: &FoundTranscript) -> io::Result<Self> {
        let (mut file, lite) = ends(transcript)?;
        Self::of(lite, &mut file, transcript, ScanBound::default())
    }

    /// Reads the facts of a transcript that seems to have grown since these were read. The result is that of
    /// [`read`](Self::read). Where that would read more than the ends of the file, only the appended part is read if these
    /// are the facts of everything before it that counts (LISTS 1.9).
    pub(super) fn read_again(&self, transcript: &FoundTranscript, bound: ScanBound) -> io::Result<Self> {
        let (mut file, lite) = ends(transcript)?;
        if !lacks_facts(&lite, &file, &transcript.path) {
            return Self::of(lite, &mut file, transcript, bound);
        }
        let length = transcript.state.length;
        if self.is_continued(&mut file, transcript, bound)? {
            let since = Lite::read_from(&mut file, self.checkpoint.offset(), length)?;
            if let Some(facts) = grown::joined(self, since, &mut file, transcript, bound)? {
                return Ok(facts);
            }
        }
        Self::of(Lite::scan(&mut file, length, bound)?, &mut file, transcript, bound)
    }

    /// Returns whether these are the facts of whole lines that a longer transcript still begins with, and of the same parts
    /// of it that would be read now.
    fn is_continued(
        &self,
        file: &mut File,
        transcript: &FoundTranscript,
        bound: ScanBound,
    ) -> io::Result<bool> {
        let gap = bound.gap(self.checkpoint.offset()).filter(|_| self.is_partial);
        Ok(self.can_grow
            && gap == bound.gap(transcript.state.length)
            && starts_a_line(file, self.checkpoint.offset())?
            && self.checkpoint.compare(file, &transcript.state)? == Change::Grown)
    }

    /// Reads the facts of a session: of its transcript, with the title in the file beside it.
    pub(crate) fn of_session(path: &Path) -> io::Result<Self> {
        let transcript = FoundTranscript::of(path).ok_or(io::ErrorKind::NotFound)?;
        let mut facts = Self::read(&transcript, ScanBound::default())?;
        facts.take_title_beside(path);
        Ok(facts)
    }

    /// Sets the title to the one in the file beside the transcript, unless the transcript itself has a custom title (LISTS 3.2).
    pub(super) fn take_title_beside(&mut self, path: &Path) {
        let has_own = self.title.as_ref().is_some_and(|title| title.source == TitleSource::Custom);
        if !has_own && let Some(text) = title_beside(path) {
            self.title = Some(Title { text, source: TitleSource::Custom });
        }
    }

    /// Builds the facts from the entries that were read.
    fn of(
        mut lite: Lite,
        file: &mut File,
        transcript: &FoundTranscript,
        bound: ScanBound,
    ) -> io::Result<Self> {
        let first_prompt = lite.first_prompt.as_deref().map(beginning);
        let mut title = given_title(&lite);
        let mut has_open_summary = false;
        if title.is_none() {
            // To find out whether a summary belongs to this session may take a search through the file.
            let summary = lite.summary(file, bound)?;
            has_open_summary = summary.is_open;
            let first_reply = lite.first_reply.as_deref().map(beginning);
            title = first_title([
                (summary.text, TitleSource::Summary),
                (first_prompt.clone(), TitleSource::Prompt),
                (first_reply, TitleSource::Reply),
            ]);
        }
        let moved_to = lite.last::<Relocated>().and_then(|record| record.cwd()).map(Cow::into_owned);
        let cwds = Cwds::new(lite.cwd.take(), lite.last_cwd.take(), moved_to);
        Ok(Self {
            kind: kind(&lite),
            queued: lite.queued_after(Some(0)),
            title,
            created_at: lite.first_at.and_then(to_the_millisecond),
            updated_at: lite.last_at.and_then(to_the_millisecond),
            permission_mode: lite.permission_mode.take(),
            tag: not_blank(lite.last::<Tag>().and_then(|record| record.tag()).map(Cow::into_owned)),
            cwd: cwds.of_session(&transcript.path),
            cwds,
            first_prompt,
            forked_from: lite.forked_from,
            session: lite.session,
            messages: lite.whole.then_some(lite.messages),
            checkpoint: Checkpoint::new(transcript.state.identity, transcript.state.length, lite.fingerprint),
            is_partial: lite.partial || (has_open_summary && !lite.whole && bound.gap(lite.size).is_some()),
            can_grow: (lite.whole || lite.partial) && !has_open_summary,
            // Claude Code writes an empty name where there is no repository (LISTS 2.3).
            git_branch: not_blank(lite.git_branch),
            version: lite.version,
            entrypoint: lite.entrypoint,
        })
    }
}

/// Returns the title that a record gives (LISTS 3.1).
fn given_title(lite: &Lite) -> Option<Title> {
    let newest = lite.newest::<CustomTitle>();
    let custom = lite.last::<CustomTitle>();
    let (agent, ai) = (lite.last::<AgentName>(), lite.last::<AiTitle>());
    first_title([
        (newest.and_then(|record| Some(record.title()?.into_owned())), TitleSource::Custom),
        (custom.and_then(|record| Some(record.title()?.into_owned())), TitleSource::Earlier),
        (agent.and_then(|record| Some(record.name()?.into_owned())), TitleSource::Agent),
        (ai.and_then(|record| Some(record.title()?.into_owned())), TitleSource::Ai),
    ])
}

/// Returns the first text that is not blank as a title. The texts are in the order of [`TitleSource`] (LISTS 3.1).
fn first_title<const N: usize>(texts: [(Option<String>, TitleSource); N]) -> Option<Title> {
    texts.into_iter().find_map(|(text, source)| Some(Title { text: not_blank(text)?, source }))
}

fn not_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Opens a transcript and reads its two ends, up to the length that the transcript has (LISTS 1.1).
fn ends(transcript: &FoundTranscript) -> io::Result<(File, Lite)> {
    let mut file = File::open(&transcript.path)?;
    let lite = Lite::read(&mut file, transcript.state.length)?;
    Ok((file, lite))
}

/// The working directories that the entries of a transcript name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cwds {
    /// The first.
    pub(super) first: Option<String>,
    /// The last, if it differs from the first.
    pub(super) elsewhere: Option<String>,
    /// The one that Claude Code recorded when it moved the session.
    pub(super) moved_to: Option<String>,
}

impl Cwds {
    pub(super) fn new(first: Option<String>, last: Option<String>, moved_to: Option<String>) -> Self {
        let elsewhere = last.filter(|last| first.as_ref() != Some(last));
        Self { first, elsewhere, moved_to }
    }

    /// Returns those of a transcript whose beginning has these and whose rest has `rest`.
    fn then(&self, rest: &Cwds) -> Self {
        let last = [&rest.elsewhere, &rest.first, &self.elsewhere].into_iter().flatten().next();
        let moved_to = rest.moved_to.as_ref().or(self.moved_to.as_ref());
        Self::new(self.first.clone().or(rest.first.clone()), last.cloned(), moved_to.cloned())
    }

    /// Returns the working directory of a session: the one that it was moved to, or else the first one. If the folder of the
    /// transcript is named after the last one and not after the first, the session was moved without a record, and the last
    /// one counts (LISTS 2.2).
    pub(super) fn of_session(&self, path: &Path) -> Option<String> {
        let Self { first, elsewhere, moved_to } = self;
        if moved_to.is_some() {
            return moved_to.clone();
        }
        let is_moved =
            is_in_folder_of(elsewhere.as_deref(), path) && !is_in_folder_of(first.as_deref(), path);
        if is_moved { elsewhere.clone() } else { first.clone() }
    }
}

/// Returns whether a transcript lies in the folder that is named after a working directory, or after one above it.
fn is_in_folder_of(cwd: Option<&str>, transcript: &Path) -> bool {
    let Some(cwd) = cwd else { return false };
    let key = transcript.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    project_above(cwd, &key).is_some()
}

/// Returns whether a text has another in it, whatever its case.
fn has_in(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// Rounds a time to what the store keeps, so that stored and newly read facts are sorted alike.
fn to_the_millisecond(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.as_millisecond()).ok()
}

/// The number of characters of a prompt, and of a title that is one, that lists show (LISTS 2.7).
pub const LONGEST_PROMPT: usize = 300;

/// Returns as much of a prompt as lists show.
fn beginning(prompt: &str) -> String {
    if prompt.len() <= LONGEST_PROMPT {
        return prompt.to_owned();
    }
    let end = prompt.char_indices().nth(LONGEST_PROMPT).map_or(prompt.len(), |(end, _)| end);
    prompt[..end].to_owned()
}

/// Returns what a file holds (LISTS 6.2).
fn kind(lite: &Lite) -> TranscriptKind {
    match (lite.has_main_messages, lite.has_messages, lite.size) {
        (true, ..) => TranscriptKind::Conversation,
        (false, true, _) => TranscriptKind::SidechainOnly,
        (false, false, 0) => TranscriptKind::Empty,
        (false, false, _) => TranscriptKind::RecordsOnly,
    }
}

/// Returns whether the two ends of a file lack a fact that may be found between them: its kind, its times, its first prompt,
/// its last message or its title (LISTS 1.7).
fn lacks_facts(lite: &Lite, file: &File, path: &Path) -> bool {
    let lacks_any = !lite.has_main_messages
        || !lite.tail_has_messages
        || lite.last_at.is_none()
        || lite.first_prompt.is_none();
    !lite.whole && (lacks_any || may_hide_a_title(lite) && title_beside(path).is_none()) && !is_sparse(file)
}

/// Returns whether a line starts at an offset of a file.
fn starts_a_line(file: &mut File, offset: u64) -> io::Result<bool> {
    Ok(offset == 0 || read_span(file, offset - 1, 1)? == b"\n")
}

/// Returns whether a custom title may be between the ends of a file. Claude Code before 2.1.23 had no titles (LISTS 3.5).
fn may_hide_a_title(lite: &Lite) -> bool {
    !decides_title(lite) && !lite.version.as_deref().is_some_and(|version| is_before(version, [2, 1, 23]))
}

/// Returns whether the end of a file decides which title the user gave, or that there is none (LISTS 3.5).
///
/// Versions of Claude Code that write `last-prompt` repeat the custom title with it after every turn. So an end with
/// `last-prompt` and without a title means that there is no title.
fn decides_title(lite: &Lite) -> bool {
    lite.newest::<CustomTitle>().is_some() || lite.newest::<LastPrompt>().is_some()
}

/// Returns the title of a session as lists show it. A file that cannot be read has no title.
pub(crate) fn listed_title(path: &Path) -> Option<Title> {
    Facts::of_session(path).ok()?.title
}

/// Returns the title in the file beside the transcript, which is found however long the transcript is (LISTS 3.2).
pub(crate) fn title_beside(path: &Path) -> Option<String> {
    let bytes = small_file(&SessionPaths::of(path).custom_title())?;
    Value::new(&bytes)?.text("customTitle").map(String::from)
}

/// Returns whether a session is archived in Claude Code.
pub(crate) fn is_archived(path: &Path) -> bool {
    small_file(&SessionPaths::of(path).archived())
        .is_some_and(|bytes| Value::new(&bytes).is_some_and(|value| value.flag("archived")))
}

/// Reads a side file. Returns `None` for anything but a small regular file.
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
        // The end of the larger one does not show whether it has a title, so it is read whole.
        for messages in [10, 2000] {
            fs::write(&path, message.repeat(messages)).unwrap();
            let before = FoundTranscript::of(&path).unwrap();
            File::options().append(true).open(&path).unwrap().write_all(message.as_bytes()).unwrap();
            let bound = ScanBound::default();
            let facts = Facts::read(&before, bound).unwrap();
            assert_eq!(facts.messages, Some(messages as u64));
            let now = FoundTranscript::of(&path).unwrap();
            let again = facts.read_again(&now, bound).unwrap();
            assert_eq!(again, Facts::read(&now, bound).unwrap());
            assert_eq!(again.messages, Some(messages as u64 + 1));
        }
    }

    /// A line of a session: a message, or something of which the first or the last one counts.
    fn some_line(kind: u8, number: usize) -> String {
        let time = format!("2026-01-{:02}T03:{:02}:00.000Z", 1 + (number * 7) % 28, number % 60);
        let version = if number > 20 { "2.1.45" } else { "2.1.0" };
        let message = |kind: &str, more: &str, text: &str| {
            format!(
                r#"{{"parentUuid":null,"cwd":"/p{}","sessionId":"s{}",{more}"version":"{version}","gitBranch":"b{number}","type":"{kind}","message":{{"role":"{kind}","content":[{{"type":"text","text":"{text}"}}]}},"uuid":"u{number}","timestamp":"{time}"}}"#,
                number % 3,
                number % 2
            )
        };
        let record = |kind: &str, key: &str, text: &str| {
            format!(r#"{{"type":"{kind}","{key}":"{text}","sessionId":"s"}}"#)
        };
        let line = match kind {
            0 => record("custom-title", "customTitle", &format!("C{number}")),
            1 => record("custom-title", "customTitle", " "),
            2 => record("ai-title", "aiTitle", &format!("A{number}")),
            3 => record("ai-title", "aiTitle", ""),
            4 => record("tag", "tag", &format!("t{number}")),
            5 => record("tag", "tag", ""),
            6 => record("agent-name", "agentName", &format!("N{number}")),
            7 => record("relocated", "relocatedCwd", &format!("/moved{number}")),
            8 | 9 => format!(
                r#"{{"type": "summary", "summary": "S{number}", "leafUuid": "u{}"}}"#,
                (number * 5) % 60
            ),
            10 => message("user", r#""permissionMode":"plan","#, &format!("Words {number}")),
            11 => message("user", r#""entrypoint":"cli","isMeta":true,"#, "Injected"),
            12 => message("assistant", r#""isSidechain":true,"#, "Of an agent"),
            13 => message("assistant", "", &format!("Reply {number}")),
            14 => message("progress", "", &"z".repeat(30_000)),
            15 => message("user", r#""forkedFrom":{"sessionId":"origin"},"#, "[Request interrupted by user]"),
            _ => record("mode", "mode", &"m".repeat(9_000)),
        };
        line + "\n"
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
        /// LISTS 1.8, LISTS 1.9
        #[test]
        fn facts_of_a_file_that_grew_are_those_of_a_file_read_at_once(
            kinds in proptest::collection::vec(0u8..40, 30..70),
            cuts in proptest::collection::vec(0usize..70, 1..5),
        ) {
            let bound = ScanBound::with_part(70_000);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.jsonl");
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(kinds.len())).collect();
            cuts.extend([kinds.len()]);
            cuts.sort_unstable();
            let (mut facts, mut written) = (None::<Facts>, 0);
            for cut in cuts {
                let lines: String = (written..cut).map(|number| some_line(kinds[number], number)).collect();
                File::options().create(true).append(true).open(&path).unwrap().write_all(lines.as_bytes()).unwrap();
                written = cut;
                let now = FoundTranscript::of(&path).unwrap();
                let at_once = Facts::read(&now, bound).unwrap();
                let grown = match &facts {
                    Some(facts) => facts.read_again(&now, bound).unwrap(),
                    None => Facts::read(&now, bound).unwrap(),
                };
                proptest::prop_assert_eq!(&grown, &at_once);
                facts = Some(grown);
            }
        }
    }

    #[test]
    fn queued_prompts_are_counted_as_far_as_they_are_known() {
        let message = "{\"parentUuid\":null,\"version\":\"2.1.40\",\"type\":\"user\",\"message\":{\"content\":\"Words\"},\
            \"uuid\":\"u\",\"timestamp\":\"2026-01-02T03:04:05.678Z\"}\n";
        let operation = |name: &str, text: &str| {
            format!("{{\"type\":\"queue-operation\",\"operation\":\"{name}\",\"content\":\"{text}\"}}\n")
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        // The larger one is read whole because its end does not show whether it has a title.
        for messages in [10, 2000] {
            fs::write(&path, message.repeat(messages)).unwrap();
            let mut known = Facts::read(&FoundTranscript::of(&path).unwrap(), ScanBound::default()).unwrap();
            for (appended, expected) in [
                (String::new(), Some(0)),
                (operation("enqueue", "a") + &operation("enqueue", "b"), Some(2)),
                (message.to_owned(), Some(2)),
                (operation("remove", "b"), Some(1)),
                (operation("remove", "a"), Some(0)),
                (operation("enqueue", "c"), Some(1)),
            ] {
                File::options().append(true).open(&path).unwrap().write_all(appended.as_bytes()).unwrap();
                known = known.read_again(&FoundTranscript::of(&path).unwrap(), ScanBound::default()).unwrap();
                assert_eq!(known.queued, expected, "{messages}: {appended}");
            }
            assert_eq!(
                Facts::read(&FoundTranscript::of(&path).unwrap(), ScanBound::default()).unwrap().queued,
                Some(1)
            );
        }
    }

    #[test]
    fn working_directories_read_in_two_parts_are_those_of_the_whole() {
        for whole in [&["/a"][..], &["/a", "/a"], &["/a", "/b"], &["/a", "/b", "/a"], &["/a", "/b", "/c"]] {
            for at in 0..=whole.len() {
                let (before, since) = whole.split_at(at);
                assert_eq!(cwds(before).then(&cwds(since)), cwds(whole), "{whole:?} at {at}");
            }
        }
        assert_eq!(moved_to("/x").then(&cwds(&[])).moved_to.as_deref(), Some("/x"));
        assert_eq!(moved_to("/x").then(&moved_to("/y")).moved_to.as_deref(), Some("/y"));
    }

    /// Returns the working directories of a session whose entries name these, one after another.
    fn cwds(named: &[&str]) -> Cwds {
        Cwds::new(named.first().map(ToString::to_string), named.last().map(ToString::to_string), None)
    }

    fn moved_to(path: &str) -> Cwds {
        Cwds { moved_to: Some(path.to_owned()), ..Cwds::default() }
    }
}
