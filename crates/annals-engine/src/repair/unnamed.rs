//! Messages without a uuid or a type, and entries inside an array: they are written again with what they lack.

use std::collections::{HashMap, HashSet};

use annals_transcript::json::{Value, quote};
use annals_transcript::line::Entries;
use annals_transcript::session::Session;
use annals_transcript::write::new_id;
use annals_transcript::{Entry, Flag, Kind, Problem};

use super::edits::{ChangeKind, Edits, on_one_line, set};
use crate::analysis::graph::Places;

/// Returns whether a session may have messages that [`named`] returns.
pub(super) fn may_have_any(session: &Session) -> bool {
    session.nodes().iter().any(|node| {
        let is_named = node.id.is_some() && node.kind.is_message();
        let may_be_message = node.kind.is_prompt_or_reply() || node.has(Flag::Message);
        let is_damaged = node.problem.is_some() || node.kind == Kind::Noise;
        is_damaged || may_be_message && !is_named
    })
}

/// Returns the messages of a file that Claude Code does not load because they lack something that can be added.
pub(super) fn named(file: &[u8]) -> (Edits, Places) {
    let mut found = Unnamed { is_large: file.len() > LARGE, ..Unnamed::default() };
    for entry in Entries::of(file) {
        found.add(&entry);
        if entry.kind() == Kind::Noise {
            found.add_spanning(file, &entry);
        }
    }
    found.finish()
}

/// After this many beginnings of objects in one damaged line, the rest of it is given up.
const ATTEMPTS: usize = 64;

/// The search for objects that span lines reads at most this many times the bytes of the file.
const MOST_SEARCHED: usize = 64;

/// Of larger files Claude Code reads only a part (`CHAIN.md`, 2.0a).
const LARGE: usize = 5 << 20;

/// A message that names one that lost its uuid is among so many after it. Without a limit, the work would not be linear.
const MOST_BEHIND: usize = 256;

/// What has to be known about a message to decide whether its parent is a line before it that lost its uuid.
struct Message {
    place: u64,
    parent: Option<String>,
    /// Whether the conversation begins a new turn or a new reply with it.
    step: Step,
}

/// What a message is in the course of the conversation.
#[derive(Clone, PartialEq, Eq)]
enum Step {
    Prompt,
    /// A line of the reply with this id.
    Reply(String),
    /// The result of a call, an attachment, or a line of the system.
    Within,
}

impl Step {
    fn of(body: Value<'_>) -> Self {
        let message = body.get("message");
        let kind = body.text("type").or_else(|| message?.text("role")).unwrap_or_default();
        match &*kind {
            "assistant" => {
                let id = message.and_then(|message| message.text("id"));
                Step::Reply(id.unwrap_or_default().into_owned())
            }
            "user" => {
                let content = message.and_then(|message| message.get("content"));
                let has_result =
                    content.is_some_and(|content| content.is_array() && content.items().any(is_result));
                if has_result { Step::Within } else { Step::Prompt }
            }
            _ => Step::Within,
        }
    }
}

fn is_result(block: Value<'_>) -> bool {
    block.text("type").is_some_and(|kind| kind == "tool_result")
}

#[derive(Default)]
struct Unnamed {
    /// The uuids of all messages.
    ids: HashSet<String>,
    /// The type and the content of all messages that have a uuid.
    contents: HashSet<(String, Vec<u8>)>,
    /// All messages, in the order of the file.
    messages: Vec<Message>,
    candidates: Vec<(Vec<u8>, u64, u64)>,
    /// The ids of the replies of which a line has a uuid.
    replies: HashSet<String>,
    /// Whether Claude Code reads only a part of the file.
    is_large: bool,
    /// The place of the last entry without a uuid: the one of them that Claude Code keeps.
    kept_without_id: Option<u64>,
    /// How many bytes were read in search of objects that span lines.
    searched: usize,
}

impl Unnamed {
    fn add(&mut self, entry: &Entry<'_>) {
        if entry.verify() == Some(Problem::NotObject) {
            return self.add_array(entry);
        }
        let Some(body) = entry.body() else { return };
        self.add_object(body, entry.at().offset, entry.at().line, entry.kind());
    }

    fn add_object(&mut self, body: Value<'_>, place: u64, line: u64, kind: Kind) {
        let role = body.get("message").and_then(|message| message.text("role"));
        let is_message = kind.is_message() || kind == Kind::Other && role.is_some();
        if !is_message {
            return;
        }
        let id = body.text("uuid");
        if id.is_none() && kind.is_message() {
            self.kept_without_id = Some(place);
        }
        let parent = body.text("parentUuid").map(std::borrow::Cow::into_owned);
        self.messages.push(Message { place, parent, step: Step::of(body) });
        if let (Some(id), true) = (&id, kind.is_message()) {
            self.ids.insert(id.clone().into_owned());
            self.contents.insert(content_of(body));
            self.replies.extend(reply_of(body));
        } else if kind.is_prompt_or_reply() || role.is_some() {
            self.candidates.push((on_one_line(body.bytes()), place, line));
        }
    }

    /// Adds the entries of an array, which Claude Code does not read.
    fn add_array(&mut self, entry: &Entry<'_>) {
        let bytes = entry.bytes().trim_ascii();
        let Some(array) = Value::new(bytes).filter(|value| value.is_array() && value.is_valid()) else {
            return;
        };
        for item in array.items().filter(|item| item.is_object()) {
            let kind = Entry::new(item.bytes()).kind();
            if kind.is_message() {
                self.candidates.push((on_one_line(item.bytes()), entry.at().offset, entry.at().line));
            }
        }
    }

    /// Adds objects that begin somewhere in a damaged line and may end on a later one.
    fn add_spanning(&mut self, file: &[u8], entry: &Entry<'_>) {
        let start = usize::try_from(entry.at().offset).unwrap_or(usize::MAX).min(file.len());
        let end = (start + entry.bytes().len()).min(file.len());
        let mut from = start;
        for _ in 0..ATTEMPTS {
            // An object that is not closed is read up to the end of the file: many of them would take for ever.
            if self.searched > MOST_SEARCHED.saturating_mul(file.len()) {
                return;
            }
            let Some(brace) = memchr::memchr(b'{', &file[from..end]).map(|at| from + at) else { return };
            from = brace + 1;
            let begins = file[from..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'"');
            if !begins {
                continue;
            }
            let found = Entry::new(&file[brace..]);
            let object = found.body().filter(|_| found.problem().is_none());
            self.searched += object.map_or(file.len() - brace, |object| object.bytes().len());
            let Some(object) = object else { continue };
            let is_entry = Entry::new(object.bytes()).kind().is_message()
                && object.get("uuid").is_some()
                && object.get("parentUuid").is_some();
            if is_entry && object.is_valid() {
                self.candidates.push((on_one_line(object.bytes()), brace as u64, entry.at().line));
                from = brace + object.bytes().len();
                if from >= end {
                    return;
                }
            }
        }
    }

    fn finish(mut self) -> (Edits, Places) {
        let (mut edits, mut places) = (Edits::default(), HashMap::new());
        self.candidates.sort_by_key(|&(_, place, _)| place);
        for (json, place, line) in std::mem::take(&mut self.candidates) {
            let Some(body) = Value::new(&json) else { continue };
            let own = body.text("uuid").map(std::borrow::Cow::into_owned);
            let is_there = match &own {
                Some(own) => self.ids.contains(own),
                None => self.contents.contains(&content_of(body)) || self.is_sent_with_its_reply(body, place),
            };
            if is_there {
                continue;
            }
            let uuid = own.or_else(|| self.lost_uuid_of(body, place)).unwrap_or_else(new_id);
            self.ids.insert(uuid.clone());
            let role = body.get("message").and_then(|message| message.text("role")).unwrap_or_default();
            let mut json = set(&json, "uuid", &quote(&uuid));
            if !Entry::new(&json).kind().is_message() && (role == "user" || role == "assistant") {
                json = set(&json, "type", &quote(&role));
            }
            self.replies.extend(reply_of(body));
            places.insert(uuid.clone(), place);
            edits.put(&uuid, json, ChangeKind::Salvage, Some(line));
        }
        (edits, places)
    }

    /// Returns whether Claude Code sends a line without a uuid with the other lines of its reply: it keeps the last entry without a uuid
    /// (`CHAIN.md`, 1.2) and adds all lines of a reply (5.1). With a uuid the line would be sent twice.
    fn is_sent_with_its_reply(&self, body: Value<'_>, place: u64) -> bool {
        !self.is_large
            && self.kept_without_id == Some(place)
            && reply_of(body).is_some_and(|reply| self.replies.contains(&reply))
    }

    /// Returns the uuid that a message had, if a message after it names it. The search ends where the conversation goes on without the
    /// message: a later parent that is not in the file is another message, and what is between them would be lost.
    fn lost_uuid_of(&self, body: Value<'_>, place: u64) -> Option<String> {
        let own_step = Step::of(body);
        let first = self.messages.partition_point(|message| message.place <= place);
        for message in self.messages[first..].iter().take(MOST_BEHIND) {
            if let Some(parent) = message.parent.as_ref().filter(|parent| !self.ids.contains(*parent)) {
                return Some(parent.clone());
            }
            let goes_on = match &message.step {
                Step::Within => false,
                Step::Prompt => true,
                // Lines without the id of a reply are replies of their own.
                Step::Reply(id) => id.is_empty() || message.step != own_step,
            };
            if goes_on {
                return None;
            }
        }
        None
    }
}

/// Returns the id of the reply that an entry is a line of.
fn reply_of(body: Value<'_>) -> Option<String> {
    body.text("type").filter(|kind| kind == "assistant")?;
    body.get("message")?.text("id").map(std::borrow::Cow::into_owned)
}

/// Returns the type and the content of a message.
fn content_of(body: Value<'_>) -> (String, Vec<u8>) {
    let kind =
        body.text("type").or_else(|| body.get("message")?.text("role")).unwrap_or_default().into_owned();
    let message = body.get("message").map_or_else(Vec::new, |message| message.bytes().to_vec());
    let time = body.text("timestamp").unwrap_or_default();
    (kind, [time.as_bytes(), &message].concat())
}
