//! The fast path (LISTS section 4): the facts of head and tail, without parsing messages that change none.

use std::sync::LazyLock;

use jiff::Timestamp;
use memchr::memmem::Finder;

use super::Lite;
use super::ends::last_line_end;
use crate::entry::{Entry, time};
use crate::line::{Entries, first_line};

/// How Claude Code begins records that have a title.
const TITLES: [&[u8]; 2] = [b"{\"type\":\"custom-title\"", b"{\"type\":\"ai-title\""];

static LAST_PROMPT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\n{\"type\":\"last-prompt\""));
static REPLY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"role\":\"assistant\""));
static PERMISSION_MODE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"permissionMode\""));
static TIMESTAMP: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"timestamp\""));
static TYPED_OBJECT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("{\"type\":\""));

/// Builds the facts from head and tail. Returns `None` if parsing every line could give other facts (LISTS 4.3).
pub(super) fn read(head: &[u8], tail: &[u8], size: u64) -> Option<Lite> {
    let (cut, last_lines) = tail.split_at(first_line(tail).len());
    let last = LastMessage::find(last_lines)?;
    let mut lite = Lite::with_ends(head, tail, size);
    let mut entries = Entries::of(&head[..last_line_end(head)]);
    while let Some(entry) = entries.next() {
        lite.add(&entry);
        entries.skip_lines_while(|line| can_skip(line, &lite, &last));
    }
    if !knows_start(&lite, &last) {
        return None;
    }
    lite.verify_first_summaries(head);
    let mut rest = Lite::default();
    let mut entries = Entries::of(last_lines);
    loop {
        entries.skip_lines_while(|line| !std::ptr::eq(line, last.line) && can_skip(line, &lite, &last));
        let Some(entry) = entries.next() else { break };
        rest.add(&entry);
    }
    if !times_are_known(cut, &lite, &last) {
        rest.add_line_without_beginning(cut, &lite);
    }
    lite.add_tail(rest, tail, false);
    Some(lite)
}

/// The last message of a file, if it has everything of which the last value counts (LISTS 4.3).
struct LastMessage<'a> {
    line: &'a [u8],
    time: Timestamp,
    has_entrypoint: bool,
}

impl<'a> LastMessage<'a> {
    fn find(lines: &'a [u8]) -> Option<Self> {
        let line = last_message_line(lines)?;
        let head = *Entry::new(line).head();
        head.cwd.and(head.git_branch).and(head.version).filter(|_| head.kind.is_message())?;
        Some(Self { line, time: head.time()?, has_entrypoint: head.entrypoint.is_some() })
    }
}

/// Returns whether everything is known that the head is read for (LISTS 4.3).
fn knows_start(facts: &Lite, last: &LastMessage<'_>) -> bool {
    (facts.entrypoint.is_some() || !last.has_entrypoint)
        && facts.has_main_messages
        && facts.first_at.is_some()
        && [&facts.first_prompt, &facts.session, &facts.cwd].into_iter().all(Option::is_some)
}

/// Returns whether a line changes no fact (LISTS 4.4).
fn can_skip(line: &[u8], facts: &Lite, last: &LastMessage<'_>) -> bool {
    knows_start(facts, last)
        && is_one_message(line)
        && times_are_known(line, facts, last)
        && PERMISSION_MODE.find(line).is_none()
}

/// Returns whether no time in a line is earlier than the first or later than that of the last message.
fn times_are_known(line: &[u8], facts: &Lite, last: &LastMessage<'_>) -> bool {
    let Some(first) = facts.first_at else { return false };
    let range = first..=last.time;
    TIMESTAMP.find_iter(line).all(|at| time_of(&line[at..]).is_some_and(|time| range.contains(&time)))
}

/// Returns the time at the start of `member`, the rest of a line from the key `timestamp` on; none if it is not spelled as
/// Claude Code spells times.
fn time_of(member: &[u8]) -> Option<Timestamp> {
    let value = member.strip_prefix(b"\"timestamp\":\"")?;
    time::parse_canonical(value.first_chunk::<24>()?)
}

/// Returns whether a line is a message with no record glued to it (LISTS 4.5).
fn is_one_message(line: &[u8]) -> bool {
    line.starts_with(b"{\"parentUuid\":") && TYPED_OBJECT.find_iter(line).all(|at| is_nested(line, at))
}

/// Returns whether an object is a member or an item of another value, by the byte before it.
fn is_nested(line: &[u8], at: usize) -> bool {
    at > 0 && matches!(line[at - 1], b'[' | b',' | b':')
}

/// Returns the last line that is a message.
fn last_message_line(mut lines: &[u8]) -> Option<&[u8]> {
    while !lines.is_empty() {
        let last = last_line_end(&lines[..lines.len() - 1]);
        if is_one_message(&lines[last..]) {
            return Some(&lines[last..]);
        }
        lines = &lines[..last];
    }
    None
}

/// Returns whether the last lines of a file repeat all records that count, a title among them (LISTS 4.1). What was taken
/// away is not repeated; what other programs wrote is, because Claude Code reads the end of the file before.
pub(super) fn repeats_records(lines: &[u8]) -> bool {
    let Some(at) = LAST_PROMPT.find_iter(lines).last() else { return false };
    let before = lines[..at].rsplit(|byte| *byte == b'\n').take_while(|line| is_record(line));
    let behind = lines[at + 1..].split(|byte| *byte == b'\n').take_while(|line| is_record(line));
    before.chain(behind).any(is_title)
}

fn is_record(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":\"")
}

fn is_title(line: &[u8]) -> bool {
    TITLES.iter().any(|title| line.starts_with(title))
}

/// Returns whether the model has replied in the first lines of a file (LISTS 4.2).
pub(super) fn has_reply(head: &[u8]) -> bool {
    REPLY.find(head).is_some()
}
