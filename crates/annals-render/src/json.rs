//! JSON with line breaks and indentation.

use std::borrow::Cow;

use annals_proto::ViewNode;

use crate::{floor, visible};

/// Deeper values stay on one line.
const DEEPEST: usize = 40;
/// The most bytes of JSON that are rendered.
const LONGEST: usize = 256 << 10;

/// Renders JSON, valid or not: everything that it says is shown, up to a bound.
pub fn json(json: &str) -> ViewNode {
    let shown = &json[..floor(json, LONGEST)];
    let mut text = indented(shown);
    if shown.len() < json.len() {
        text.push_str("\n…");
    }
    ViewNode::Json {
        text: match visible(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(text) => text,
        },
    }
}

/// Adds line breaks and indentation in one pass, without a tree: so deep values cost no more than others.
fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 5 / 4);
    let mut rest = json;
    let mut depth = 0usize;
    while let Some(character) = rest.chars().next() {
        let token = match character {
            '"' => string_end(rest),
            _ => character.len_utf8(),
        };
        let (token, after) = rest.split_at(token);
        rest = after;
        match character {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                out.push_str(token);
                let closing = rest.trim_start();
                if closing.starts_with(['}', ']']) {
                    out.push_str(&closing[..1]);
                    rest = &closing[1..];
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth < DEEPEST {
                    new_line(&mut out, depth);
                }
                out.push_str(token);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push_str(token),
        }
    }
    out
}

/// Begins a new line, unless it is too deep for one.
fn new_line(out: &mut String, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Returns the length of the string that a text begins with, quotes included.
fn string_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
        // The escaped character may have several bytes.
        while !text.is_char_boundary(at.min(bytes.len())) {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        let ViewNode::Json { text } = json(source) else { panic!() };
        text
    }

    #[test]
    fn objects_and_lists_get_lines_of_their_own() {
        assert_eq!(
            text(r#"{"a":[1, {"b":"x,{\"茶"}],"c":{ }}"#),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x,{\\\"茶\"\n    }\n  ],\n  \"c\": {}\n}"
        );
    }

    #[test]
    fn deep_and_broken_json_is_shown_in_bounded_space() {
        let deep = text(&"[".repeat(100_000));
        assert!(deep.len() < 110_000, "{}", deep.len());
        assert_eq!(text("{\"a"), "{\n  \"a");
        assert_eq!(text("\"a\\"), "\"a\\");
        assert_eq!(text("\"\\茶\""), "\"\\茶\"");
    }
}
