//! Finds keys, tokens and passwords in text and masks them.
//!
//! - [`Masker`] holds the rules; [`Masker::mask`] replaces secrets, [`Masker::find`] reports them.
//! - [`Masker::mask_json`] masks inside JSON: what programs need stays, and items say how many values were masked;
//!   [`JsonForm`] says what the JSON consists of.
//! - The rules are data: `rules.toml` in this crate says how each is written and has those that are built in.
//! - [`RuleError`] says what is wrong with rules that a user added, and in which line.
//!
//! A masked secret keeps the public beginning that says what it was, and names the rule that found it:
//!
//! ```
//! use annals_secrets::Masker;
//!
//! let masker = Masker::new();
//! let masked = masker.mask("psql postgres://app:c0rrect-horse@db.internal/prod");
//! assert_eq!(masked.text, "psql postgres://app:[masked: url-password]@db.internal/prod");
//! assert_eq!(masked.count, 1);
//!
//! let again = masker.mask(&masked.text);
//! assert_eq!(again.count, 0);                            // masking a masked text changes nothing
//! ```
//!
//! Text may be plain or come from inside a JSON string, escaped once or several times: secrets are found in both, and
//! JSON that was valid stays valid.
//!
//! A secret that is cut in two is not found. Whoever receives a text in pieces puts them together first, or masks
//! whole lines and accepts that private keys, which span lines, are found in their first line only.

mod block;
mod boundary;
mod columns;
mod cut;
mod entropy;
mod json;
mod mark;
mod markup;
mod masker;
mod overlap;
mod pattern;
mod plain;
mod prefilter;
mod rule;
mod rules;
mod strings;

pub use json::{Items, JsonForm, MaskedJson};
pub use masker::{Finding, Masked, Masker};
pub use rules::RuleError;
