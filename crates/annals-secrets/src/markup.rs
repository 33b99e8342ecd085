//! Text that Markdown or a terminal puts together only when it is shown: `ghp\_…`, `ghp&#95;…`, `ghp_**…**…`, a link in the middle.
//!
//! Whoever renders the text sees the token, so the rules also look at a line without such signs, if one of them stands inside of
//! a word. Which signs a renderer would really take for markup depends on the text around them; here all of them are read
//! over, because the text as it is written is looked at anyway. The signs may be in a JSON string, where a backslash is
//! written as two or more.

use std::ops::Range;

use crate::mark::Mark;
use crate::plain::{Plain, Special, backslashes, backslashes_before, special_at};
use crate::prefilter::SHORTEST_KEYWORD;
use crate::rule::Form;

/// The longest target of a link that is read over.
const LONGEST_TARGET: usize = 2048;
/// How far before its target the text of a link may begin.
const LONGEST_LINK: usize = 512;
/// The longest character reference: `&UnderBar;`.
const LONGEST_REFERENCE: usize = 12;

/// Characters that have a name in HTML and occur in keys, tokens and names.
const NAMED: [(&[u8], char); 16] = [
    (b"lowbar", '_'),
    (b"UnderBar", '_'),
    (b"period", '.'),
    (b"colon", ':'),
    (b"equals", '='),
    (b"sol", '/'),
    (b"plus", '+'),
    (b"num", '#'),
    (b"dollar", '$'),
    (b"ast", '*'),
    (b"excl", '!'),
    (b"commat", '@'),
    (b"percnt", '%'),
    (b"amp", '&'),
    (b"lt", '<'),
    (b"gt", '>'),
];

/// Characters that take no room where they are shown, or are shown as their number: a token with one of them can still be read.
const HIDDEN: [char; 38] = [
    '\u{ad}', '\u{34f}', '\u{61c}', '\u{180e}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}',
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2060}', '\u{2061}', '\u{2062}',
    '\u{2063}', '\u{2064}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}', '\u{fe00}', '\u{fe01}',
    '\u{fe02}', '\u{fe03}', '\u{fe04}', '\u{fe05}', '\u{fe06}', '\u{fe07}', '\u{fe08}', '\u{fe09}',
    '\u{fe0a}', '\u{fe0d}', '\u{fe0e}', '\u{fe0f}', '\u{feff}',
];

/// Signs with at least three bytes. A backslash is written as two in JSON; in other text, and for shorter signs, [`lines`] looks itself.
const SIGNS: [&[u8]; 34] = [
    b"\\\\_",
    b"\\\\-",
    b"\\\\.",
    b"\\\\=",
    b"&#x",
    b"&#X",
    b"&#0",
    b"&#3",
    b"&#4",
    b"&#5",
    b"&#6",
    b"&#7",
    b"&#8",
    b"&#9",
    b"&#1",
    b"&lowbar;",
    b"&UnderBar;",
    b"](ht",
    b"](<",
    b"\\u200",
    b"\\u202",
    b"\\u206",
    b"\\u034",
    b"\\u061",
    b"\\u180",
    b"\\u00ad",
    b"\\u00AD",
    b"\\ufe0",
    b"\\uFE0",
    b"\\uFe0",
    b"\\ufeff",
    b"\\uFEFF",
    b"\\uFeff",
    b"\\u0008",
];

/// Returns the signs that the prefilter finds together with the keywords of rules.
pub(crate) fn signs() -> impl Iterator<Item = Vec<u8>> {
    let hidden = HIDDEN.iter().map(|hidden| hidden.to_string().into_bytes());
    SIGNS.iter().map(|sign| sign.to_vec()).chain(hidden.filter(|sign| sign.len() >= SHORTEST_KEYWORD))
}

/// Returns the lines of a text with markup inside of a word, in order and apart from each other; `seen` says where [`signs`] are. In
/// JSON, a line is a part of one string.
pub(crate) fn lines(text: &str, seen: &[usize], form: Form) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    // Most of these signs stand beside a blank.
    let emphasis = memchr::memchr3_iter(b'*', b'`', b'~', bytes);
    // The first bytes of the characters among those that are hidden that have two.
    let hidden = memchr::memchr3_iter(0xc2, 0xcd, 0xd8, bytes);
    let seen = seen.iter().map(|&at| at - backslashes_before(bytes, at));
    let places = seen.chain(emphasis).chain(hidden).filter(|&at| is_inside_word(bytes, at, form));
    let mut places: Vec<_> = places.collect();
    if form == Form::Json {
        let backspaces = memchr::memmem::find_iter(bytes, b"\\b");
        places.extend(backspaces.filter(|&at| is_inside_word(bytes, at, form)));
    } else {
        let escapes = memchr::memchr2_iter(b'\\', 0x08, bytes);
        places.extend(escapes.filter(|&at| is_inside_word(bytes, at, form)));
    }
    places.sort_unstable();
    let mut lines: Vec<Range<usize>> = Vec::new();
    for at in places {
        if lines.last().is_none_or(|last| last.end <= at) {
            lines.push(line_around(bytes, at));
        }
    }
    lines
}

/// Returns whether the signs at an offset stand between two parts of a word. A reference may be the first character of a word.
fn is_inside_word(bytes: &[u8], at: usize, form: Form) -> bool {
    let is_behind_word = at > 0 && is_word(bytes[at - 1]);
    (is_behind_word || bytes[at] == b'&') && joins(bytes, at, form)
}

/// What is read of the address of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    /// Nothing: the text of a link stands beside what follows it.
    ReadOver,
    /// All of it, without escapes.
    Read,
}

/// Returns a line as it is read where it is rendered; the marks are those in it.
pub(crate) fn read(line: &str, form: Form, marks: &[Mark], addresses: Addresses) -> Plain {
    let bytes = line.as_bytes();
    let mut specials: Vec<(usize, Special)> = Vec::new();
    // The targets of links, which are read over when their text was read.
    let mut targets: Vec<Range<usize>> = Vec::new();
    let mut marks = marks.iter().peekable();
    let mut paired = [b'*', b'`', b'~'].to_vec();
    paired.retain(|&sign| has_two_runs(bytes, sign));
    let mut at = 0;
    while at < bytes.len() {
        if let Some(mark) = marks.next_if(|mark| mark.range.start <= at) {
            specials.push((mark.range.start, Special::Mark(mark.range.len())));
            at = mark.range.end.max(at);
            continue;
        }
        let length = match special(bytes, at, form) {
            // A sign without a partner is text.
            Some(_) if matches!(bytes[at], b'*' | b'`' | b'~') && !paired.contains(&bytes[at]) => 1,
            Some(Special::Erased(_)) => {
                let (count, length) = backspaces(bytes, at, form);
                // The characters before are those that a terminal overwrites.
                let before: usize = line[..at].chars().rev().take(count).map(char::len_utf8).sum();
                // What is read in another way already stays so.
                let read = specials.last().map_or(0, |(start, special)| start + special.length());
                let start = read.max(at - before);
                specials.push((start, Special::Terminal(at + length - start)));
                length
            }
            Some(special) => {
                specials.push((at, special));
                special.length()
            }
            None if bytes[at] == b'\\' => backslashes(&bytes[at..]),
            None if addresses == Addresses::ReadOver && bytes[at] == b']' => {
                let found = target(&bytes[at..], form).zip(start_of_link(bytes, at));
                found.map_or(1, |(target, open)| {
                    targets.extend([open..open + 1, at..at + target]);
                    target
                })
            }
            None => 1,
        };
        at += length.max(1);
    }
    specials.extend(targets.into_iter().map(|range| (range.start, Special::Terminal(range.len()))));
    specials.sort_by_key(|(at, _)| *at);
    Plain::with_specials(line, specials)
}

/// Returns how many backspaces follow each other at an offset, and with how many bytes they are written.
fn backspaces(bytes: &[u8], at: usize, form: Form) -> (usize, usize) {
    let (mut count, mut end) = (0, at);
    while end < bytes.len()
        && let Some(Special::Erased(length)) = special(bytes, end, form)
    {
        count += 1;
        end += length;
    }
    (count, end - at)
}

/// Returns whether a sign of emphasis or code is in two places or more, so that each may have a partner.
fn has_two_runs(bytes: &[u8], sign: u8) -> bool {
    memchr::memchr_iter(sign, bytes).filter(|&at| at == 0 || bytes[at - 1] != sign).nth(1).is_some()
}

/// Returns whether a byte may be in a name or a token.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'=' | b':')
}

/// Returns whether the signs at an offset stand before the rest of a word.
fn joins(bytes: &[u8], at: usize, form: Form) -> bool {
    let mut end = at;
    if bytes[at] == b']' {
        let Some(target) = target(&bytes[at..], form) else { return false };
        if start_of_link(bytes, at).is_some_and(|open| open > 0 && is_word(bytes[open - 1])) {
            return true;
        }
        end = at + target;
    }
    while let Some(special) = bytes.get(end).and_then(|_| special(bytes, end, form)) {
        end += special.length();
        if matches!(special, Special::Escape(..)) {
            return starts_with_word(&bytes[end..]);
        }
    }
    end > at && (starts_with_word(&bytes[end..]) || bytes.get(end) == Some(&b'['))
}

fn starts_with_word(text: &[u8]) -> bool {
    text.first().is_some_and(|&byte| is_word(byte))
}

/// Returns where the text of a link begins that ends at an offset.
fn start_of_link(bytes: &[u8], end: usize) -> Option<usize> {
    let from = end.saturating_sub(LONGEST_LINK);
    bytes[from..end].iter().rposition(|&byte| byte == b'[').map(|open| open + from)
}

/// Returns what is read in place of the sign at an offset; `None` if there is none.
fn special(bytes: &[u8], at: usize, form: Form) -> Option<Special> {
    let rest = &bytes[at..];
    match rest[0] {
        sign @ (b'*' | b'`' | b'~') => {
            Some(Special::Terminal(rest.iter().take_while(|&&byte| byte == sign).count()))
        }
        b'&' => reference(rest),
        0x08 => Some(Special::Erased(1)),
        0x1b => special_at(rest),
        // The first bytes of the characters that are hidden: most characters of other scripts have others.
        0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xef => hidden_at(rest).map(Special::Terminal),
        b'\\' => {
            let backslashes = backslashes(rest);
            match &rest[backslashes..] {
                [b'b', ..] if backslashes == 1 && form == Form::Json => Some(Special::Erased(2)),
                [b'u', digits @ ..] => match unit(digits)? {
                    '\u{8}' => Some(Special::Erased(backslashes + 5)),
                    character if HIDDEN.contains(&character) => Some(Special::Terminal(backslashes + 5)),
                    _ => special_at(rest),
                },
                [sign, ..] if sign.is_ascii_punctuation() && !matches!(sign, b'"' | b'\'') => {
                    Some(Special::Escape(backslashes + 1, char::from(*sign)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the length of the hidden character that a text begins with.
fn hidden_at(text: &[u8]) -> Option<usize> {
    HIDDEN
        .iter()
        .find(|hidden| text.starts_with(hidden.encode_utf8(&mut [0; 4]).as_bytes()))
        .map(|hidden| hidden.len_utf8())
}

/// Returns the character of four hexadecimal digits.
fn unit(digits: &[u8]) -> Option<char> {
    character(digits.first_chunk::<4>()?, 16)
}

/// Returns the character with a number.
fn character(digits: &[u8], radix: u32) -> Option<char> {
    char::from_u32(u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?)
}

/// Returns the character that a reference stands for: `&#95;`, `&#x5f;`, `&lowbar;`.
fn reference(text: &[u8]) -> Option<Special> {
    let near = &text[..text.len().min(LONGEST_REFERENCE)];
    let end = memchr::memchr(b';', near)?;
    let character = match &near[1..end] {
        [b'#', b'x' | b'X', digits @ ..] => character(digits, 16)?,
        [b'#', digits @ ..] => character(digits, 10)?,
        name => NAMED.iter().find(|(known, _)| *known == name)?.1,
    };
    character.is_ascii_graphic().then_some(Special::Escape(end + 1, character))
}

/// Returns the length of `](…)` at the beginning of a text. In JSON, a quotation mark without a backslash ends the string.
fn target(text: &[u8], form: Form) -> Option<usize> {
    let near = text[..text.len().min(LONGEST_TARGET)].strip_prefix(b"](")?;
    let end = memchr::memchr(b')', near)?;
    let has_end = (0..end).any(|at| {
        near[at] < b' ' || form == Form::Json && near[at] == b'"' && (at == 0 || near[at - 1] != b'\\')
    });
    (!has_end).then_some(end + 3)
}

/// Returns the line around an offset.
fn line_around(bytes: &[u8], at: usize) -> Range<usize> {
    let start = (0..at).rev().find(|&at| ends_line(&bytes[at..])).map_or(0, |end| {
        // After `\n`, or after a quotation mark or a line end.
        end + 1 + usize::from(bytes[end] == b'\\')
    });
    let end = (at..bytes.len()).find(|&at| ends_line(&bytes[at..])).unwrap_or(bytes.len());
    // Backslashes at the end belong to what follows.
    start..end - backslashes_before(&bytes[at..end], end - at)
}

/// Returns whether a text begins with a quotation mark or a line end, which JSON may have escaped.
fn ends_line(text: &[u8]) -> bool {
    matches!(text, [b'"' | b'\n' | b'\r', ..] | [b'\\', b'n' | b'r', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, form: Form) -> Vec<String> {
        let seen: Vec<_> = (0..text.len())
            .filter(|&at| signs().any(|sign| text.as_bytes()[at..].starts_with(&sign)))
            .collect();
        lines(text, &seen, form)
            .into_iter()
            .map(|line| read(&text[line], form, &[], Addresses::ReadOver).text().to_owned())
            .collect()
    }

    #[test]
    fn a_line_with_markup_inside_of_a_word_is_read_without_it() {
        for (text, expected) in [
            (r"a\_b", "a_b"),
            (r"x\na\\_b\ny", "a_b"),
            ("a&#95;b&#x5F;c&lowbar;d", "a_b_c_d"),
            ("one\nuse **a_**b `c`\ntwo", "use a_b c"),
            ("a`b`c", "abc"),
            ("a_[b](https://a.example/c)d", "a_bd"),
            ("a_[b](https://a.example/c) d", "a_b d"),
            ("a\u{200b}b\u{2060}c", "abc"),
            (r"a\u200Bb", "ab"),
            ("abx\u{8}c", "abc"),
            ("abxyz\u{8}\u{8}\u{8}c", "abc"),
            ("a\u{ad}b\u{34f}c\u{fe0f}d\u{200e}e\u{2062}f", "abcdef"),
            (r"a\u00adb\uFE0Fc\u202ed", "abcd"),
            ("&#97;b", "ab"),
            ("a[b](<https://a.example/c>)d", "abd"),
            ("a~~b~~c", "abc"),
            ("a**\u{1b}[31mb**", "ab"),
        ] {
            assert_eq!(shown(text, Form::Text), [expected], "{text:?}");
        }
        assert_eq!(shown(r#"{"a":"x\ny\bz**q"}"#, Form::Json), ["z**q"], "a sign without a partner is text");
        assert_eq!(shown(r"茶\_a b\_c", Form::Text), ["茶_a b_c"]);
    }

    #[test]
    fn other_text_is_not_read_again() {
        for text in [
            "",
            "*",
            "a * b",
            "**a** `b`",
            "a[0]",
            "x=1&y=2;z",
            r"a\nb",
            "`a` [b](c) d",
            "茶\u{200d}茶",
            "a\\",
        ] {
            assert!(shown(text, Form::Text).is_empty(), "{text:?}: {:?}", shown(text, Form::Text));
        }
    }
}
