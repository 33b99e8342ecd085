//! Closed sets of words: enums that JSON spells as one word each.

/// Defines an enum whose variants are words in JSON, each spelled in one place.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every value, in the order of its definition.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the word that JSON has for it.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

pub(crate) use words;

/// Returns whether a number is left out of JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use crate::{RootCause, ToolState};

    #[test]
    fn a_word_is_the_same_in_json_and_in_text() {
        for cause in RootCause::ALL {
            assert_eq!(serde_json::to_string(cause).unwrap(), format!("\"{cause}\""));
        }
        let state: ToolState = serde_json::from_str("\"denied\"").unwrap();
        assert_eq!((state, state.word()), (ToolState::Denied, "denied"));
    }

    #[test]
    fn a_word_that_is_not_in_the_set_is_an_error() {
        assert!(serde_json::from_str::<ToolState>("\"Denied\"").is_err());
    }
}
