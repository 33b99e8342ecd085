//! Characters that control, reorder or hide: which they are, and how they are made visible.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns text in which control characters, marks that reorder text and invisible characters are visible: `␛`, `⟨202E⟩`. Line ends
/// and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !has_harmful_beside_lines(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (character, is_harmful) in judged(text) {
        match character {
            '\n' | '\t' => out.push(character),
            '\r' => {}
            '\0'..'\x20' => out.extend(char::from_u32(0x2400 + u32::from(character))),
            '\x7f' => out.push('␡'),
            _ if is_harmful => {
                write!(out, "⟨{:04X}⟩", u32::from(character)).expect("text takes more text");
            }
            _ => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// Returns each character of a text, and whether it is harmful at its position.
///
/// Harmful are: control characters, which control the terminal; marks of direction, which change the order in which text is
/// displayed; separators, which break lines; and invisible characters, in which other text can be hidden: zero-width
/// characters and tags. Some invisible characters are needed in legitimate text and are kept:
///
/// - A joiner or non-joiner alone between two characters beyond ASCII. Families and professions among the emoji are made in
///   this way, and Persian and the scripts of India need them inside words. ASCII text does not.
/// - One variation selector after a character: emoji have them. Those of the supplement (from U+E0100 on) stay only after Han
///   characters, whose rare forms they select.
///
/// Tags are replaced everywhere. They are used for the flags of England, Scotland and Wales only, which lose their look.
pub fn judged(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = None;
    let mut characters = text.chars().peekable();
    std::iter::from_fn(move || {
        let character = characters.next()?;
        let is_harmful = is_harmful(before, character, characters.peek().copied());
        before = Some(character);
        Some((character, is_harmful))
    })
}

/// Returns whether a character is harmful between two others.
fn is_harmful(before: Option<char>, character: char, next: Option<char>) -> bool {
    match character {
        JOINER | NON_JOINER => !before.is_some_and(can_be_joined) || !next.is_some_and(can_be_joined),
        '\u{E0100}'..='\u{E01EF}' => !before.is_some_and(is_han),
        selector if is_variation_selector(selector) => {
            before.is_none_or(|before| before.is_whitespace() || is_variation_selector(before))
        }
        other => is_always_harmful(other),
    }
}

const NON_JOINER: char = '\u{200C}';
const JOINER: char = '\u{200D}';

fn can_be_joined(character: char) -> bool {
    !character.is_ascii() && !matches!(character, JOINER | NON_JOINER) && !is_always_harmful(character)
}

fn is_variation_selector(character: char) -> bool {
    matches!(character, '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_always_harmful(character: char) -> bool {
    let reorders_or_breaks = matches!(
        character,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    let is_invisible = matches!(
        character,
        '\u{AD}'
            | '\u{34F}'
            | '\u{115F}' | '\u{1160}'
            | '\u{17B4}' | '\u{17B5}'
            | '\u{180E}'
            | '\u{200B}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206A}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FDD0}'..='\u{FDEF}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{FFFE}'..='\u{FFFF}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E00FF}'
            | '\u{E01F0}'..='\u{E0FFF}'
    );
    character.is_control() || reorders_or_breaks || is_invisible
}

/// Returns whether a text contains a harmful character. Most texts have little but printable ASCII, so whole chunks are checked for
/// anything else first: the compiler vectorises loops without an early exit.
pub fn has_harmful(text: &str) -> bool {
    const CHUNK: usize = 64;
    let mut chunks = text.as_bytes().chunks(CHUNK).enumerate();
    chunks.any(|(number, chunk)| {
        !is_printable_ascii(chunk)
            && chunk
                .iter()
                .enumerate()
                .any(|(at, &byte)| may_begin_harmful(byte) && is_harmful_at(text, number * CHUNK + at))
    })
}

/// Returns the same, but line ends and tabs are not counted: most texts of several lines have nothing else.
fn has_harmful_beside_lines(text: &str) -> bool {
    const CHUNK: usize = 64;
    let bytes = text.as_bytes();
    let mut chunks = bytes.chunks(CHUNK).enumerate();
    chunks.any(|(number, chunk)| {
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        let is_suspect = |byte: u8| may_begin_harmful(byte) && !matches!(byte, b'\n' | b'\t');
        let next = &bytes[number * CHUNK + 1..];
        !chunk.iter().fold(true, |all, &byte| all & is_plain(byte))
            && (next.len() < chunk.len() || has_suspect_pair(chunk, next))
            && chunk
                .iter()
                .enumerate()
                .any(|(at, &byte)| is_suspect(byte) && is_harmful_at(text, number * CHUNK + at))
    })
}

/// Returns whether a character of a chunk may be harmful beside line ends and tabs, as far as its first two bytes show; `next` are the bytes
/// after each of the chunk. Without an early exit and without branches, so that the compiler vectorises it: texts in Chinese or Japanese have
/// no chunk of ASCII.
#[expect(clippy::needless_bitwise_bool, reason = "a branch would keep the compiler from vectorising it")]
fn has_suspect_pair(chunk: &[u8], next: &[u8]) -> bool {
    let is_suspect = |byte: u8, next: u8| {
        let control = (byte < b' ') & (byte != b'\n') & (byte != b'\t') | (byte == 0x7F);
        let two = (byte == 0xC2) | (byte == 0xCD) | (byte == 0xD8) | (byte == 0xF3);
        let mongolian = (byte == 0xE1) & ((next == 0x85) | (next == 0x9E) | (next == 0xA0));
        let punctuation =
            (byte == 0xE2) & ((next == 0x80) | (next == 0x81)) | (byte == 0xE3) & (next == 0x85);
        let special = (byte == 0xEF) & (next >= 0xB7);
        let beyond = (byte == 0xF0) & ((next == 0x9B) | (next == 0x9D));
        control | two | mongolian | punctuation | special | beyond
    };
    chunk.iter().zip(next).fold(false, |any, (&byte, &next)| any | is_suspect(byte, next))
}

fn is_printable_ascii(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |highest: u8, byte| highest.max(byte.wrapping_sub(b' '))) <= b'~' - b' '
}

/// Returns whether a harmful character may begin with a byte.
fn may_begin_harmful(byte: u8) -> bool {
    matches!(byte, 0..0x20 | 0x7F | 0xC2 | 0xCD | 0xD8 | 0xE1..=0xE3 | 0xEF | 0xF0 | 0xF3)
}

/// Returns whether a harmful character may begin with two bytes, the first of which is one of those above.
fn may_go_on_harmful(first: u8, second: u8) -> bool {
    match first {
        0xE1 => matches!(second, 0x85 | 0x9E | 0xA0),
        0xE2 => matches!(second, 0x80 | 0x81),
        0xE3 => second == 0x85,
        0xEF => matches!(second, 0xB7 | 0xB8 | 0xBB | 0xBE | 0xBF),
        0xF0 => matches!(second, 0x9B | 0x9D),
        _ => true,
    }
}

/// Returns whether the character at an offset of a text is harmful. Most characters of Chinese and Japanese begin with the same byte as one that
/// is, and are distinguished by the next one.
fn is_harmful_at(text: &str, at: usize) -> bool {
    if let &[first, second, ..] = &text.as_bytes()[at..]
        && !may_go_on_harmful(first, second)
    {
        return false;
    }
    let (before, from) = text.split_at(at);
    let mut from = from.chars();
    from.next().is_some_and(|character| is_harmful(before.chars().next_back(), character, from.next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_check_agrees_with_the_rule() {
        for character in (0..=0x0010_FFFF).filter_map(char::from_u32) {
            let text = format!("{}{character}", "x".repeat(character as usize % 80));
            assert_eq!(has_harmful(&text), judged(&text).any(|(_, harmful)| harmful), "{character:?}");
        }
        for hidden in ["a\u{ad}b", "\u{3164}", "\u{1d173}", "A\u{e0100}", "\u{fdd0}"] {
            assert!(has_harmful(hidden), "{hidden:?}");
        }
        for visible in ["葛\u{e0100}", "❤\u{fe0f}", "한국어 かな 😀", "ａ"] {
            assert!(!has_harmful(visible), "{visible:?}");
        }
    }

    #[test]
    fn what_would_hide_or_reorder_is_shown() {
        assert_eq!(visible("a\u{202e}b\u{1b}[1m\u{7f}\r\n\tc\u{e0041}"), "a⟨202E⟩b␛[1m␡\n\tc⟨E0041⟩");
        assert!(matches!(visible("天气 👩‍💻 café\n\tx"), Cow::Borrowed(_)));
        for character in (0..=0xFFFF).chain(0xE_0000..0xE_1000).filter_map(char::from_u32) {
            let text = format!("{}{character}", "x\n".repeat(character as usize % 40));
            let is_changed = matches!(visible(&text), Cow::Owned(_));
            let is_expected = judged(&text).any(|(c, harmful)| harmful && !matches!(c, '\n' | '\t'));
            assert_eq!(is_changed, is_expected, "{character:?}");
        }
    }
}
