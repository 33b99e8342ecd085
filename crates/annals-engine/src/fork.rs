//! Forking: a copy of a session, whole or up to a message, as a session of its own.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::entry::{Flag, Kind};
use annals_transcript::json::{Value, quote};
use annals_transcript::patch;
use annals_transcript::paths::{ConfigFolder, SessionPaths, agent_meta};
use annals_transcript::project::is_session_id;
use annals_transcript::write::{new_id, rewrite};

use crate::catalog::{LONGEST_PROMPT, Title, TitleSource, listed_title};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{Selection, TranscriptFile};
use crate::index_file;
use crate::labels::{own_target, side_folder};
use crate::snapshot::Snapshot;

/// How to fork a session.
#[derive(Clone, Debug, Default)]
pub struct ForkOptions {
    /// The last message to copy, by the beginning of its id. `None` copies all.
    pub up_to: Option<String>,
    /// The title of the copy. `None` is the title of the original, followed by `(fork)`.
    pub title: Option<String>,
    /// Whether to copy subagents, long tool output and backups of files, too.
    pub with_side_files: bool,
}

/// A fork that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The new session.
    pub session: String,
    /// Its transcript.
    pub path: PathBuf,
    /// Its title.
    pub title: String,
    /// How many entries were copied.
    pub entries: usize,
}

pub(crate) fn fork(engine: &Engine, file: &TranscriptFile, options: &ForkOptions) -> Result<Fork, Error> {
    let _session = engine.lock_shared(file)?;
    let target = own_target(file)?;
    let session = new_id();
    let snapshot = engine.snapshot(file.clone())?;
    let last = options.up_to.as_deref().map(|id| last_line(&snapshot, id)).transpose()?;
    let title = match options.title.as_deref().map(str::trim) {
        Some("") => return Err(Error::new(ErrorKind::NoTitle)),
        Some(title) => title.to_owned(),
        None => format!("{} (fork)", name_of(file)),
    };
    let paths = SessionPaths::new(target.folder(), &session);
    let mut fork = Fork { session, path: paths.transcript().to_owned(), title, entries: 0 };
    let copied = engine.copy_session(&snapshot, &fork, last, options.with_side_files);
    match copied {
        Ok(entries) => {
            fork.entries = entries;
            Ok(fork)
        }
        Err(error) => {
            let backups = file_history(file, &fork.session);
            for unfinished in [Some(fork.path), Some(paths.folder()), backups].into_iter().flatten() {
                let _ = engine.remove_all(&unfinished);
            }
            Err(error)
        }
    }
}

impl Engine {
    /// Writes all files of a fork. Returns how many entries the transcript has.
    fn copy_session(
        &self,
        original: &Snapshot,
        fork: &Fork,
        last: Option<u64>,
        with_side_files: bool,
    ) -> Result<usize, Error> {
        let Fork { session, path, title, .. } = fork;
        if with_side_files {
            self.copy_side_files(original.file(), session, path)?;
        }
        let entries = self.copy_transcript(original, session, path, last, Some(title))?;
        self.write_title_beside(&TranscriptFile::at(path), title)?;
        index_file::add_copy(self, original.file(), path, session, title)?;
        Ok(entries)
    }

    /// Copies the entries of the conversation up to a line, and appends a title.
    fn copy_transcript(
        &self,
        snapshot: &Snapshot,
        session: &str,
        path: &Path,
        last: Option<u64>,
        title: Option<&str>,
    ) -> Result<usize, Error> {
        let nodes: Vec<_> = snapshot
            .session()
            .nodes()
            .iter()
            .filter(|node| last.is_none_or(|last| node.at.line <= last))
            .filter(|node| node.is_read_by_claude_code() && is_copied(node.kind, last.is_some()))
            .collect();
        let texts = snapshot.session().id_texts();
        let ids: HashMap<String, String> = nodes
            .iter()
            .filter_map(|node| Some(texts.get(node.id?)))
            .filter(|id| is_session_id(id))
            .map(|id| (id, new_id()))
            .collect();
        let from = snapshot.file().session.clone().unwrap_or_default();
        self.make_folder(path.parent().unwrap_or(Path::new(".")))?;
        rewrite::replace(&**self.disk(), path, |out| {
            for node in &nodes {
                let bytes = snapshot.body(node).map_err(io::Error::other)?;
                let line = annals_transcript::Entry::new(&bytes).body().map_or(&bytes[..], Value::bytes);
                out.write_all(&copied_line(line, &from, session, &ids))?;
                out.write_all(b"\n")?;
            }
            match title.map(quote) {
                Some(title) => writeln!(
                    out,
                    "{{\"type\":\"custom-title\",\"customTitle\":{title},\"sessionId\":{}}}",
                    quote(session)
                ),
                None => Ok(()),
            }
        })?;
        Ok(nodes.len())
    }

    /// Copies subagents, long tool output and backups of files.
    fn copy_side_files(&self, file: &TranscriptFile, session: &str, path: &Path) -> Result<(), Error> {
        let from = side_folder(file)?;
        let copied = SessionPaths::of(path);
        let mut agents = Selection::default();
        agents.add_subagents(file);
        for agent in agents.files {
            // Old versions of Claude Code wrote subagents beside the session; copies go to the folder of current versions.
            let to = agent.path.strip_prefix(&from).map_or_else(
                |_| copied.subagents().join(agent.path.file_name().unwrap_or_default()),
                |below| copied.folder().join(below),
            );
            let snapshot = self.snapshot(agent.clone())?;
            self.copy_transcript(&snapshot, session, &to, None, None)?;
            let sidecar = agent_meta(&agent.path);
            if sidecar.is_file() {
                self.copy_all(&sidecar, &agent_meta(&to))?;
            }
        }
        let results = SessionPaths::of(&file.path).tool_results();
        if results.is_dir() {
            self.make_folder(&copied.folder())?;
            self.copy_all(&results, &copied.tool_results())?;
        }
        let backups = file_history(file, file.session.as_deref().unwrap_or_default());
        if let (Some(from), Some(to)) = (backups.filter(|from| from.is_dir()), file_history(file, session)) {
            self.copy_all(&from, &to)?;
        }
        Ok(())
    }
}

/// Returns the folder where Claude Code keeps backups of the files that a session changed.
fn file_history(file: &TranscriptFile, session: &str) -> Option<PathBuf> {
    Some(ConfigFolder::of_transcript(&file.path)?.file_history(session))
}

/// Returns the line of the message that a copy ends with.
fn last_line(snapshot: &Snapshot, id: &str) -> Result<u64, Error> {
    let session = snapshot.session();
    let found = session.ids_beginning(id);
    let [only] = found[..] else { return Err(Error::not_one_entry(id, found.len())) };
    let node = session.nodes().iter().rev().find(|node| node.id == Some(only));
    let message = node.filter(|node| node.kind.is_message() && !node.has(Flag::Sidechain));
    let message = message.ok_or_else(|| Error::new(ErrorKind::NotAMessage { id: id.to_owned() }))?;
    Ok(message.at.line)
}

/// Returns whether an entry is copied to a fork: the conversation and its context, but no state of the original session
/// alone (its title and tag, its cost, its queued prompts, its mirror on another machine).
fn is_copied(kind: Kind, is_part: bool) -> bool {
    match kind {
        Kind::LastPrompt => !is_part,
        Kind::Noise
        | Kind::CustomTitle
        | Kind::AiTitle
        | Kind::AgentName
        | Kind::Summary
        | Kind::Tag
        | Kind::CostState
        | Kind::QueueOperation
        | Kind::BridgeSession
        | Kind::ContinuedIn
        | Kind::HistorySuppression
        | Kind::ApiRequest
        | Kind::ApiRequestBlob
        | Kind::ApiRequestShape
        | Kind::ObserverRef
        | Kind::EndedByModel
        | Kind::ArtifactCommentMonitor
        | Kind::ArtifactAutoreactLedger
        | Kind::SpeculationAccept
        | Kind::SessionId => false,
        _ => true,
    }
}

/// Returns a line for the copy: with new ids, the new session, and the origin of the entry.
fn copied_line(line: &[u8], from: &str, session: &str, ids: &HashMap<String, String>) -> Vec<u8> {
    let body = Value::new(line);
    let id = body.and_then(|body| body.text("uuid")).map(String::from);
    let mut copy = with_new_ids(line, ids);
    if body.is_some_and(|body| body.get("sessionId").is_some()) {
        copy = with_value(copy, "sessionId", &quote(session));
    }
    if let Some(id) = id {
        let origin = format!("{{\"sessionId\":{},\"messageUuid\":{}}}", quote(from), quote(&id));
        copy = with_value(copy, "forkedFrom", &origin);
    }
    copy
}

/// Returns a line with another value of a key; the same line if it is no object.
fn with_value(line: Vec<u8>, key: &str, value: &str) -> Vec<u8> {
    patch::set(&line, key, value).unwrap_or(line)
}

/// Returns a line in which every id of the session is replaced, except in messages and tool results, whose text must not change.
fn with_new_ids(line: &[u8], ids: &HashMap<String, String>) -> Vec<u8> {
    let mut copy = Vec::with_capacity(line.len() + 200);
    let mut done = 0;
    let base = line.as_ptr().addr();
    for (key, value) in Value::new(line).into_iter().flat_map(Value::members) {
        if key == *"message" || key == *"toolUseResult" || key == *"forkedFrom" {
            continue;
        }
        let start = value.bytes().as_ptr().addr() - base;
        let end = start + value.bytes().len();
        copy.extend_from_slice(&line[done..start]);
        replace_strings(value.bytes(), ids, &mut copy);
        done = end;
    }
    copy.extend_from_slice(&line[done..]);
    copy
}

/// Appends JSON to `out`, with every string that is an id replaced.
fn replace_strings(json: &[u8], ids: &HashMap<String, String>, out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(quote) = json[at..].iter().position(|byte| *byte == b'"') {
        let start = at + quote + 1;
        let end = start + string_length(&json[start..]);
        let new_id = std::str::from_utf8(&json[start..end]).ok().and_then(|text| ids.get(text));
        out.extend_from_slice(&json[at..start]);
        out.extend_from_slice(new_id.map_or(&json[start..end], String::as_bytes));
        at = end;
        if at < json.len() {
            out.push(b'"');
            at += 1;
        }
    }
    out.extend_from_slice(&json[at..]);
}

/// Returns the length of a string up to its closing quote.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at.min(rest.len())
}

/// Returns the title of a session, or else the beginning of its first prompt or reply.
fn name_of(file: &TranscriptFile) -> String {
    let name = match listed_title(&file.path) {
        Some(Title { text, source: TitleSource::Prompt | TitleSource::Reply }) => beginning(&text),
        Some(title) => title.text,
        None => String::new(),
    };
    if name.is_empty() { "Untitled".to_owned() } else { name }
}

/// Returns the beginning of a text as a title of one line, with `…` if there is more.
///
/// The title is stored, and is masked later without the rest of the text. Half of a token would not be recognised as a secret, so the
/// title ends between words; scripts without blanks may be cut anywhere.
fn beginning(text: &str) -> String {
    const LONGEST: usize = 80;
    cut_between_words(text, LONGEST, text.chars().count() >= LONGEST_PROMPT)
}

/// Returns a text as one line of at most `longest` characters that ends between words. `is_cut_already` says that the text itself
/// goes on elsewhere.
pub(crate) fn cut_between_words(text: &str, longest: usize, is_cut_already: bool) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.char_indices().nth(longest).map_or(line.len(), |(end, _)| end);
    if end == line.len() && !is_cut_already {
        return line;
    }
    let (shown, more) = line.split_at(end);
    // In a text that was cut before, the word may go on after the end of the text.
    let ends_in_word = more.chars().next().is_none_or(|next| next.is_ascii_graphic());
    let shown =
        if ends_in_word { shown.trim_end_matches(|last: char| last.is_ascii_graphic()) } else { shown };
    let shown = shown.trim_end();
    if shown.is_empty() { String::new() } else { format!("{shown}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_replaced_everywhere_but_in_what_was_said() {
        let [a, b] = ["3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55", "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55"];
        let ids = HashMap::from([(a.to_owned(), "NEW-A".to_owned()), (b.to_owned(), "NEW-B".to_owned())]);
        let line = format!(
            r#"{{"uuid" : "{a}","parentUuid":"{b}","x":"say \"{a}\"","message":{{"content":"{a}"}},"m":{{"{b}":["{a}",1.50]}}, "toolUseResult":"{a}" }}"#
        );
        let expected = format!(
            r#"{{"uuid" : "NEW-A","parentUuid":"NEW-B","x":"say \"{a}\"","message":{{"content":"{a}"}},"m":{{"NEW-B":["NEW-A",1.50]}}, "toolUseResult":"{a}" }}"#
        );
        assert_eq!(String::from_utf8(with_new_ids(line.as_bytes(), &ids)).unwrap(), expected);
    }

    #[test]
    fn a_title_from_a_prompt_has_whole_words() {
        let token = "ghp_".to_owned() + &"Q7fZk2mX9r".repeat(4);
        let words = "Please deploy this for me with the usual settings";
        for (text, title) in [
            (" deploy\n it ".to_owned(), "deploy it".to_owned()),
            (format!("{words} {token} now"), format!("{words}…")),
            (format!("{words} with {}", "茶".repeat(60)), format!("{words} with {}…", "茶".repeat(25))),
            (format!("{}{token}", "茶".repeat(60)), format!("{}…", "茶".repeat(60))),
            (format!("{words}: {} {token}", "a".repeat(29)), format!("{words}: {}…", "a".repeat(29))),
            (token.repeat(3), String::new()),
            // Lists have cut this prompt already.
            (format!("{}{}", " ".repeat(LONGEST_PROMPT - 9), "ghp_Q7fZk"), String::new()),
            (format!("tea{}{}", " ".repeat(LONGEST_PROMPT - 12), "ghp_Q7fZk"), "tea…".to_owned()),
        ] {
            assert_eq!(beginning(&text), title, "{text}");
        }
    }
}
