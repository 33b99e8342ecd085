//! Reads objects that span lines, as `jq` and editors write them, line by line. Reading stops at the first line that cannot
//! continue the object.

/// An object whose first lines were read.
///
/// Only the grammar between values is checked: that is enough to tell that a valid line after a torn one does not continue
/// it. The caller checks the whole object once it is closed.
#[derive(Debug, Default)]
pub(crate) struct MultilineObject {
    /// The open containers, outermost first.
    open: Vec<Container>,
    next: Expected,
}

/// The state of the object after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectState {
    /// It continues in the next line.
    Open,
    /// It ends in this line, after this many bytes.
    Closed(usize),
    /// The line does not continue it.
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    #[default]
    Value,
    /// A key, or the end of an object that is empty so far.
    KeyOrEnd,
    Key,
    Colon,
    /// A value, or the end of an array that is empty so far.
    ValueOrEnd,
    CommaOrEnd,
}

/// Objects that are nested deeper are not read as one. The limit keeps the work on hostile files linear: in a file of lines
/// that each open an object and never close it, reading ahead from a line ends after this many lines.
const MAX_DEPTH: usize = 128;

impl MultilineObject {
    /// Reads the next line of the object, starting with the line in which the object begins.
    pub(crate) fn read(&mut self, line: &[u8]) -> ObjectState {
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            let length = match byte {
                b' ' | b'\t' | b'\r' | b'\n' => Some(1),
                b'"' => string_length(&line[at..]).filter(|_| self.accepts_string()),
                b'{' | b'[' | b'}' | b']' | b':' | b',' => self.accepts_symbol(byte).then_some(1),
                _ => Some(scalar_length(&line[at..])).filter(|&length| length > 0 && self.accepts_scalar()),
            };
            let Some(length) = length else { return ObjectState::Broken };
            at += length;
            if self.open.is_empty() && self.next == Expected::CommaOrEnd {
                return ObjectState::Closed(at);
            }
        }
        if self.open.is_empty() { ObjectState::Broken } else { ObjectState::Open }
    }

    fn accepts_string(&mut self) -> bool {
        let (accepted, next) = match self.next {
            Expected::Key | Expected::KeyOrEnd => (true, Expected::Colon),
            Expected::Value | Expected::ValueOrEnd => (!self.open.is_empty(), Expected::CommaOrEnd),
            Expected::Colon | Expected::CommaOrEnd => (false, self.next),
        };
        self.next = next;
        accepted
    }

    fn accepts_scalar(&mut self) -> bool {
        let accepted = matches!(self.next, Expected::Value | Expected::ValueOrEnd) && !self.open.is_empty();
        self.next = Expected::CommaOrEnd;
        accepted
    }

    fn accepts_symbol(&mut self, symbol: u8) -> bool {
        match (symbol, self.next, self.open.last()) {
            (b'{', Expected::Value | Expected::ValueOrEnd, _) => {
                self.open_container(Container::Object, Expected::KeyOrEnd)
            }
            (b'[', Expected::Value | Expected::ValueOrEnd, Some(_)) => {
                self.open_container(Container::Array, Expected::ValueOrEnd)
            }
            (b'}', Expected::KeyOrEnd | Expected::CommaOrEnd, Some(Container::Object))
            | (b']', Expected::ValueOrEnd | Expected::CommaOrEnd, Some(Container::Array)) => {
                self.open.pop();
                self.next = Expected::CommaOrEnd;
                true
            }
            (b',', Expected::CommaOrEnd, Some(Container::Object)) => self.expect(Expected::Key),
            (b':', Expected::Colon, _) | (b',', Expected::CommaOrEnd, Some(Container::Array)) => {
                self.expect(Expected::Value)
            }
            _ => false,
        }
    }

    fn open_container(&mut self, container: Container, next: Expected) -> bool {
        self.open.push(container);
        self.expect(next) && self.open.len() <= MAX_DEPTH
    }

    fn expect(&mut self, next: Expected) -> bool {
        self.next = next;
        true
    }
}

/// Returns the length of a string with its quotes; `None` if it does not end in the line.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns the number of bytes that look like a number or a literal.
fn scalar_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Vec<ObjectState> {
        let mut object = MultilineObject::default();
        lines.iter().map(|line| object.read(format!("{line}\n").as_bytes())).collect()
    }

    #[test]
    fn an_object_ends_where_its_bracket_closes() {
        use ObjectState::{Closed, Open};
        assert_eq!(
            read(&["{", "  \"a\": [", "    1,", "  {}", "  ]", "},"]),
            [Open, Open, Open, Open, Open, Closed(1)]
        );
        assert_eq!(read(&["{\"a\":", "{\"b\":true}", "}"]), [Open, Open, Closed(1)]);
        assert_eq!(read(&["{\"a\":{}", ",\"b\":\"\\\"\"} rest"]), [Open, Closed(10)]);
        assert_eq!(read(&["{\"a\":1}"]), [Closed(7)]);
    }

    #[test]
    fn a_valid_line_does_not_continue_a_torn_one() {
        let sound = "{\"type\":\"user\",\"uuid\":\"a\"}";
        for torn in [
            "{",
            "{\"a\"",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":tru",
            "{\"a\":{\"b\":1}",
            "{\"a\":\"x",
            "{\"a\":\"x\\",
            "{\"a\":[1",
            "x",
            "}",
        ] {
            assert!(read(&[torn, sound]).contains(&ObjectState::Broken), "{torn}");
        }
        for torn in ["{\"a\":", "{\"a\":[", "{\"a\":[1,"] {
            assert_eq!(read(&[torn, sound, sound]).last(), Some(&ObjectState::Broken), "{torn}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let lines = vec!["{\"a\":"; 1000];
        assert_eq!(read(&lines)[MAX_DEPTH], ObjectState::Broken);
    }
}
