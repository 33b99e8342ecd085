//! Lines of which only a part was read (LISTS section 5).

use std::borrow::Cow;

use memchr::memmem;

use super::Lite;
use crate::json::{JsonStr, Step, Unchecked, Walk, skip_space, value_end};
use crate::prompt;

/// How many places of a key are tried in a line whose beginning is missing (LISTS 5.3).
const ATTEMPTS: usize = 32;

impl Lite {
    /// Adds what a line whose end is missing says (LISTS 5.1, 5.2).
    pub(super) fn add_line_without_end(&mut self, line: &[u8]) {
        if let Some(time) = field_without_end(line, "timestamp").and_then(|time| time.parse().ok()) {
            self.add_time(time);
        }
        let texts = [
            (&mut self.session, "sessionId"),
            (&mut self.cwd, "cwd"),
            (&mut self.entrypoint, "entrypoint"),
            (&mut self.git_branch, "gitBranch"),
            (&mut self.version, "version"),
        ];
        for (slot, key) in texts {
            *slot = slot.take().or_else(|| field_without_end(line, key).map(Cow::into_owned));
        }
        let is_user = field_without_end(line, "type").as_deref() == Some("user");
        let is_main = is_user && !flag_without_end(line, "isSidechain");
        self.has_messages |= is_user;
        self.has_main_messages |= is_main;
        if self.first_prompt.is_none() && is_main && !flag_without_end(line, "isMeta") {
            let text = prompt_without_end(line);
            self.first_prompt = text.as_deref().and_then(prompt::strip_wrappers).map(str::to_owned);
        }
    }

    /// Adds what a line whose beginning is missing says (LISTS 5.4). It is the first line of the tail, of which all others
    /// were added already; `head` has the facts of the lines before it.
    pub(super) fn add_line_without_beginning(&mut self, line: &[u8], head: &Lite) {
        if let Some(time) = field_without_beginning(line, "timestamp").and_then(|time| time.parse().ok()) {
            self.add_time(time);
        }
        let first_wins = [
            (&mut self.session, &head.session, "sessionId"),
            (&mut self.cwd, &head.cwd, "cwd"),
            (&mut self.entrypoint, &head.entrypoint, "entrypoint"),
        ];
        for (slot, earlier, key) in first_wins {
            if earlier.is_none() {
                *slot = field_without_beginning(line, key).map(Cow::into_owned).or(slot.take());
            }
        }
        let last_wins = [(&mut self.git_branch, "gitBranch"), (&mut self.version, "version")];
        for (slot, key) in last_wins {
            *slot = slot.take().or_else(|| field_without_beginning(line, key).map(Cow::into_owned));
        }
    }
}

/// Returns the string that a top-level key has in a line whose end may be missing.
///
/// Keys inside other values are not mistaken for it. A string that is itself cut off is returned as far as it goes.
///
/// ```
/// use annals_transcript::lite::field_without_end;
///
/// let begun = br#"{"cwd":"C:\\work","message":{"cwd":"no","content":"and then"#;
/// assert_eq!(field_without_end(begun, "cwd").unwrap(), r"C:\work");
/// ```
pub fn field_without_end<'a>(line: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    let start = skip_space(line, 0);
    if line.get(start) == Some(&b'{') {
        member_without_end(line, start, key).and_then(text_without_end)
    } else {
        None
    }
}

/// Returns the string that a top-level key has in a line whose beginning is missing (LISTS 5.3).
///
/// ```
/// use annals_transcript::lite::field_without_beginning;
///
/// let ended = br#""id":"no"}]},"uuid":"u1","timestamp":"2026-01-02T03:04:05.000Z"}"#;
/// assert_eq!(field_without_beginning(ended, "uuid").unwrap(), "u1");
/// assert_eq!(field_without_beginning(ended, "id"), None);
/// ```
pub fn field_without_beginning<'a>(line: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    let quoted = format!("\"{key}\"");
    // A search from the front is faster if the key is not in the line at all.
    memmem::find(line, quoted.as_bytes())?;
    let candidates = memmem::rfind_iter(line, quoted.as_bytes());
    candidates.take(ATTEMPTS).find_map(|at| field_up_to_end(line, at, key))
}

/// Returns the string that `key` has, if the members from `at` on run to the end of the line: only then are they top-level
/// members.
fn field_up_to_end<'a>(line: &'a [u8], at: usize, key: &str) -> Option<Cow<'a, str>> {
    if !line[..at].trim_ascii_end().ends_with(b",") {
        return None;
    }
    let mut members = Walk::at_key(line, at);
    let mut text = None;
    while let Some((name, value)) = members.next_member() {
        if name == *key {
            text = value.as_text();
        }
    }
    let end = members.position();
    let is_closed = end > 0 && line.get(end - 1) == Some(&b'}') && skip_space(line, end) == line.len();
    if is_closed { text } else { None }
}

/// Returns whether a top-level key is `true` in a line whose end is missing.
fn flag_without_end(line: &[u8], key: &str) -> bool {
    member_without_end(line, skip_space(line, 0), key) == Some(b"true")
}

/// Returns the first text of a message in a line whose end is missing.
fn prompt_without_end(line: &[u8]) -> Option<Cow<'_, str>> {
    let message = member_without_end(line, skip_space(line, 0), "message")?;
    let content = member_without_end(message, 0, "content")?;
    match content.first()? {
        b'[' => member_without_end(content, skip_space(content, 1), "text").and_then(text_without_end),
        _ => text_without_end(content),
    }
}

/// Returns the member `key` of the object at `at`, as far as it was read.
fn member_without_end<'a>(line: &'a [u8], at: usize, key: &str) -> Option<&'a [u8]> {
    let mut walk = Walk::at_key(line, at + 1);
    let mut found = None;
    while let Step::At((name, value)) = walk.next_key::<Unchecked>() {
        let end = value_end(line, value).unwrap_or(line.len());
        if name == *key {
            found = Some(&line[value..end]);
        }
        walk.move_to(end);
    }
    found
}

/// Returns the text of a string whose end may be missing.
fn text_without_end(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?;
    if value_end(value, 0).is_some() {
        return Some(JsonStr::new(&inner[..inner.len() - 1]).decode());
    }
    let text = JsonStr::new(without_cut_escape(inner)).decode();
    Some(Cow::Owned(text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned()))
}

/// Removes an escape sequence that is cut off at the end of a string.
fn without_cut_escape(string: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(slash) = memchr::memchr(b'\\', &string[at..]) {
        let escape = at + slash;
        at = escape + if string.get(escape + 1) == Some(&b'u') { 6 } else { 2 };
        if at > string.len() {
            return &string[..escape];
        }
    }
    string
}
