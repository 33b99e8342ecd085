//! One entry: its bytes, its head, the problem with it, if any, and typed views of its body.

mod head;
mod kind;
mod salvage;
pub(crate) mod time;
pub mod view;

pub use head::{Flag, Head};
pub use kind::Kind;

use std::borrow::Cow;
use std::fmt;

use crate::content::Content;
use crate::json::{Checked, JsonStr, Unchecked, Value, skip_space};
use crate::line::Position;
use view::{ToolUseResult, View};

/// Parses the `timestamp` of an entry as Claude Code does.
pub fn parse_time(text: JsonStr<'_>) -> Option<jiff::Timestamp> {
    time::parse(text)
}

/// One object of a transcript, or bytes in which no object could be read.
///
/// An entry borrows its bytes from a [`Reader`](crate::Reader) or from any slice.
///
/// ```
/// use annals_transcript::{Entry, Kind, Problem};
///
/// let entry = Entry::new(br#"{"type":"user","uuid":"a","message":{"content":"Hello"}}"#);
/// assert_eq!((entry.kind(), entry.head().id.unwrap().decode()), (Kind::User, "a".into()));
/// assert_eq!(entry.content().text(), "Hello");
/// assert_eq!(Entry::new(b"{\"type\":\"us").problem(), Some(Problem::Torn));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    bytes: &'a [u8],
    json: &'a [u8],
    at: Position,
    head: Head<'a>,
    problem: Option<Problem>,
    /// Whether the grammar of the object was checked while its head was read. If not, the object may still be valid.
    is_valid: bool,
}

/// Whether the grammar of objects is checked while their heads are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    Unchecked,
    Checked,
}

/// A problem with the bytes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// The bytes are only white space.
    Blank,
    /// NUL bytes instead of a line: a file system reserved the space and never filled it.
    Nul,
    /// An object after NUL bytes.
    NulPrefix,
    /// An object that follows other bytes on its line.
    Glued,
    /// Bytes after the last object of a line.
    Trailing,
    /// An object that does not end, at the end of the file: its writer was interrupted.
    Torn,
    /// An object that does not end, in the middle of the file.
    Unclosed,
    /// The end of an object whose beginning is lost.
    Headless,
    /// An object with matching brackets that is not valid JSON.
    Syntax,
    /// JSON, but not an object.
    NotObject,
    /// None of these.
    Garbage,
}

impl Problem {
    /// Returns whether the object can be read nevertheless.
    pub fn is_readable(self) -> bool {
        matches!(self, Problem::NulPrefix | Problem::Glued)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::Blank => "blank line",
            Problem::Nul => "NUL bytes instead of text",
            Problem::NulPrefix => "NUL bytes before the object",
            Problem::Glued => "object glued behind other bytes on one line",
            Problem::Trailing => "something behind the object",
            Problem::Torn => "last line is cut off",
            Problem::Unclosed => "object does not end on its line",
            Problem::Headless => "beginning of the object is lost",
            Problem::Syntax => "not valid JSON",
            Problem::NotObject => "not a JSON object",
            Problem::Garbage => "no JSON at all",
        })
    }
}

impl<'a> Entry<'a> {
    /// Reads the first entry of `line`, which may have more entries after it.
    pub fn new(line: &'a [u8]) -> Self {
        let at = Position { offset: 0, line: 1 };
        Self::first_in(line, at, Grammar::Unchecked, &mut LineState::default())
    }

    /// Reads the first entry of the rest of a line; `line` is the state of the part before.
    ///
    /// This is the fast path for valid lines; [`salvage`] handles all others.
    pub(crate) fn first_in(rest: &'a [u8], at: Position, grammar: Grammar, line: &mut LineState) -> Self {
        let byte_order_mark = if at.offset == 0 { BYTE_ORDER_MARK.len() } else { 0 };
        let start = if rest.starts_with(BYTE_ORDER_MARK) { byte_order_mark } else { 0 };
        let start = skip_space(rest, start);
        if line.failures >= salvage::ATTEMPTS {
            return salvage::noise(rest, start, rest.len(), at, line);
        }
        if rest.get(start) == Some(&b'{')
            && let Some((head, end, is_valid)) = scan_head(rest, start, grammar)
        {
            let problem = line.has_entry.then_some(Problem::Glued);
            (line.has_entry, line.follows_object) = (true, true);
            let bytes = &rest[..if skip_space(rest, end) == rest.len() { rest.len() } else { end }];
            return Self { bytes, json: &rest[start..end], at, head, problem, is_valid };
        }
        salvage::first_in(rest, start, at, line)
    }

    /// Returns the offset, from the start of the entry, of a value that was read from it.
    pub fn offset_of(&self, value: Value<'_>) -> u64 {
        let (start, value) = (self.bytes.as_ptr().addr(), value.bytes().as_ptr().addr());
        value.saturating_sub(start) as u64
    }

    /// Returns an entry of bytes that are all NUL.
    pub(crate) fn of_hole(bytes: &'a [u8], at: Position) -> Self {
        Self { bytes, json: &[], at, head: Head::default(), problem: Some(Problem::Nul), is_valid: false }
    }

    /// Returns all bytes of the entry, with the newline if it has one.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the object without the bytes around it; `None` for [`Kind::Noise`].
    pub fn body(&self) -> Option<Value<'a>> {
        (!self.json.is_empty()).then(|| Value::trusted(self.json))
    }

    /// Returns the start of the entry.
    pub fn at(&self) -> Position {
        self.at
    }

    /// Returns the number of the line that the entry ends in. Only for an object that spans lines it differs from that of its
    /// start.
    pub fn last_line(&self) -> u64 {
        let inner = self.bytes.strip_suffix(b"\n").unwrap_or(self.bytes);
        self.at.line + memchr::memchr_iter(b'\n', inner).count() as u64
    }

    /// Returns the top-level fields that are read for every entry.
    pub fn head(&self) -> &Head<'a> {
        &self.head
    }

    /// Returns the content of the message. In old exports it is `message` itself.
    pub fn content(&self) -> Content<'a> {
        Content::new(self.head.content)
    }

    /// Returns the tool's own output, which Claude Code records beside the result in the content of a user entry.
    pub fn tool_use_result(&self) -> Option<ToolUseResult<'a>> {
        let output =
            self.head.tool_use_result.filter(|output| self.kind() == Kind::User && !output.is_null());
        output.map(ToolUseResult::new)
    }

    /// Returns the name of the session's plan file, which messages repeat.
    pub fn slug(&self) -> Option<Cow<'a, str>> {
        self.body()?.text("slug")
    }

    /// Returns the kind of entry.
    pub fn kind(&self) -> Kind {
        self.head.kind
    }

    /// Returns whether a flag of the head is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.head.has(flag)
    }

    /// Returns the problem that was found while reading the head. The body is not checked.
    pub fn problem(&self) -> Option<Problem> {
        self.problem
    }

    /// Checks the whole object and returns the problem with it, if any.
    pub fn verify(&self) -> Option<Problem> {
        let broken = !self.is_valid && self.body().is_some_and(|body| !body.is_valid());
        if broken { Some(Problem::Syntax) } else { self.problem }
    }

    /// Returns whether the line ends in a newline; only the last line of a file may not.
    pub fn ends_in_newline(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }

    /// Returns the typed view `V` of the entry, if the entry is of its kind.
    ///
    /// ```
    /// use annals_transcript::{Entry, entry::view::CustomTitle};
    ///
    /// let entry = Entry::new(br#"{"type":"custom-title","customTitle":"Fix the parser"}"#);
    /// let title: CustomTitle = entry.view().unwrap();
    /// assert_eq!(title.title().unwrap(), "Fix the parser");
    /// ```
    pub fn view<V: View<'a>>(&self) -> Option<V> {
        if self.kind() == V::KIND { self.body().map(V::over) } else { None }
    }
}

/// Reads the head of the object at `at`. Returns it with the position after the object and whether the object is known to be
/// valid.
fn scan_head(bytes: &[u8], at: usize, grammar: Grammar) -> Option<(Head<'_>, usize, bool)> {
    if grammar == Grammar::Checked
        && let Some((head, end)) = Head::scan::<Checked>(bytes, at)
    {
        return Some((head, end, true));
    }
    Head::scan::<Unchecked>(bytes, at).map(|(head, end)| (head, end, false))
}

/// The state of a line while its entries are read one by one.
#[derive(Debug, Default)]
pub(crate) struct LineState {
    /// Whether an entry of the line was read.
    has_entry: bool,
    /// Whether the last entry read was an object.
    follows_object: bool,
    /// The number of times that no object was found where one seemed to begin.
    failures: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[cfg(test)]
mod tests;
