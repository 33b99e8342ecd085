//! The secret that a server knows its users by.

use std::fmt;

/// A token of at most this many bytes is sent.
const LONGEST: usize = 4096;

/// A token for other machines. It is not printed: `Debug` shows that there is one.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A text that cannot be sent as a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is empty.
    #[error("the token is empty")]
    Empty,
    /// It is longer than any token.
    #[error("the token is longer than {LONGEST} bytes")]
    TooLong,
    /// It has characters that HTTP does not allow there.
    #[error("the token has a blank, a line break or a character that is not ASCII")]
    Characters,
}

impl Token {
    /// Checks a token. Line breaks at its end are ignored: files end in one.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim_end_matches(['\r', '\n']);
        match text.len() {
            0 => Err(TokenError::Empty),
            1..=LONGEST if is_visible(text) => Ok(Self(text.to_owned())),
            1..=LONGEST => Err(TokenError::Characters),
            _ => Err(TokenError::TooLong),
        }
    }

    /// Returns the value of the header `Authorization`.
    #[cfg(feature = "http")]
    pub(super) fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Returns whether a text has only visible ASCII characters, so that it can be the value of a header.
pub(crate) fn is_visible(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word_and_is_never_printed() {
        let token = Token::new("s3cret\r\n").unwrap();
        assert_eq!(token, Token::new("s3cret").unwrap());
        assert_eq!(format!("{token:?}"), "Token(…)");
        for (text, error) in [
            ("", TokenError::Empty),
            ("\n", TokenError::Empty),
            ("two words", TokenError::Characters),
            ("a\nX-Evil: 1", TokenError::Characters),
            ("schlüssel", TokenError::Characters),
            (&"x".repeat(LONGEST + 1), TokenError::TooLong),
        ] {
            assert_eq!(Token::new(text), Err(error), "{text}");
        }
    }
}
