//! Terminal sequences, which colour the output of programs and which nobody reads.

/// No sequence has more parameters; what is longer is text that begins like one.
const LONGEST: usize = 64;

/// Returns the length of the terminal sequence that `text` begins with; 1 for an escape character alone.
///
/// `text` begins with the escape character.
pub(crate) fn length(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'[') => {
            let parameters =
                text[2..].iter().take(LONGEST).take_while(|byte| (b' '..=b'?').contains(byte)).count();
            let is_last = text.get(2 + parameters).is_some_and(|byte| (b'@'..=b'~').contains(byte));
            if is_last { parameters + 3 } else { 1 }
        }
        Some(b'(' | b')') if text.get(2).is_some_and(u8::is_ascii_alphanumeric) => 3,
        _ => 1,
    }
}

/// Returns whether a sequence stands inside of words: it changes colours, as `grep --color` does around what it found,
/// or clears the rest of the line, which `grep` adds. Others move the cursor.
pub(crate) fn is_style(sequence: &[u8]) -> bool {
    sequence.ends_with(b"m") || sequence == b"\x1b[K"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_ends_with_its_letter() {
        for (text, expected) in [
            ("\u{1b}[m", 3),
            ("\u{1b}[01;31mred", 8),
            ("\u{1b}[K", 3),
            ("\u{1b}(Btext", 3),
            ("\u{1b}", 1),
            ("\u{1b}[", 1),
            ("\u{1b}[31", 1),
            ("\u{1b}[31é", 1),
            ("\u{1b}text", 1),
        ] {
            assert_eq!(length(text.as_bytes()), expected, "{text:?}");
        }
    }
}
