//! Secrets in what is printed: the one place where this program decides whether they are masked.
//!
//! `clean`, `clean_lines` and `json_line` call this module, and everything from a transcript passes through one of them.
//! Text that is split or cut is masked first, with [`masked`]: of half a secret nobody can tell that it is one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

use annals_api::{Masked, Masking};

/// Is `None` if everything is printed as it is.
static MASKING: OnceLock<Option<Masking>> = OnceLock::new();

/// What was masked so far: hashes of different values in texts.
static MASKED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Sets how everything that follows is masked; with `None`, it is printed as it is. Only the first call counts.
pub(crate) fn set_up(masking: Option<Masking>) {
    let _ = MASKING.set(masking);
}

/// Returns how output is masked; `None` if it is printed as it is.
pub(crate) fn masking() -> Option<&'static Masking> {
    // What is printed before the arguments are known is masked by the built-in rules.
    MASKING.get_or_init(|| Some(Masking::default())).as_ref()
}

/// Masks a whole text.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    masked_by(text, Masking::text)
}

/// Masks a title or a prompt of a list, which may have been cut inside a secret. Every table shows them by this function.
pub(crate) fn masked_title(text: &str) -> Cow<'_, str> {
    masked_by(text, Masking::listed_text)
}

/// Masks a text that was cut somewhere, perhaps inside a secret.
pub(crate) fn masked_cut(text: &str) -> Cow<'_, str> {
    masked_by(text, Masking::cut_text)
}

fn masked_by<'t>(text: &'t str, mask: fn(&Masking, &'t str) -> Masked<'t>) -> Cow<'t, str> {
    let Some(masking) = masking() else { return Cow::Borrowed(text) };
    let masked = mask(masking, text);
    if masked.count > 0 {
        remember(masking, text);
    }
    masked.text
}

/// Masks JSON from a transcript, such as the arguments of a call, before texts are taken from it.
pub(crate) fn masked_json(json: &[u8]) -> Cow<'_, [u8]> {
    let Some(masking) = masking() else { return Cow::Borrowed(json) };
    let (masked, count) = masking.entry(json);
    if count > 0 {
        remember(masking, &String::from_utf8_lossy(json));
    }
    masked
}

/// Masks an object that is printed as JSON.
pub(crate) fn masked_line(json: String) -> String {
    match masking() {
        Some(masking) => masking.line(json).0,
        None => json,
    }
}

/// Returns how many different values were masked in texts.
fn count() -> usize {
    MASKED.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Says how many secrets were masked in texts. In JSON, each item says it.
pub(crate) fn note() {
    let count = count();
    if count > 0 {
        let verb = if count == 1 { "shows it" } else { "shows them" };
        super::note(&format!("{} masked; `--reveal` {verb}", super::count(count, "secret")));
    }
}

/// Adds the secrets of a text to those that were masked.
fn remember(masking: &Masking, text: &str) {
    let mut values = MASKED.lock().unwrap_or_else(PoisonError::into_inner);
    values.extend(masking.secrets(text).map(hash));
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
