//! Secrets in what is printed: the one place where this program decides whether they are masked.
//!
//! `clean`, `clean_lines` and `json_line` call this module, and everything from a transcript passes through one of them.
//! Text that is split or cut is masked first, with [`masked`]: of half a secret nobody can tell that it is one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

use annals_api::{Masked, Masking};

/// Is `None` if everything is printed as it is.
static MASKING: OnceLock<Option<Masking>> = OnceLock::new();

/// What was masked so far: hashes of different values in texts, and the rules that found them.
static MASKED: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());

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
        remember(masking, text, &masked.text);
    }
    masked.text
}

/// Masks JSON from a transcript, such as the arguments of a call, before texts are taken from it.
pub(crate) fn masked_json(json: &[u8]) -> Cow<'_, [u8]> {
    let Some(masking) = masking() else { return Cow::Borrowed(json) };
    let (masked, count) = masking.entry(json);
    if count > 0 {
        remember(masking, &String::from_utf8_lossy(json), &String::from_utf8_lossy(&masked));
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

/// Does the same for an object of an export, whose report names what was masked.
pub(crate) fn masked_export_line(json: String) -> String {
    let Some(masking) = masking() else { return json };
    let (masked, count) = masking.line(json.clone());
    if count > 0 {
        remember(masking, &json, &masked);
    }
    masked
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

/// Says the same, with the rules that found the secrets.
pub(crate) fn note_by_rule() {
    if let Some(report) = report() {
        super::note(&format!("{report}; `--reveal` shows what was masked"));
    }
}

/// Returns how many secrets were masked in texts, by rule: `3 secrets masked: 2 github-token, 1 url-password`.
pub(crate) fn report() -> Option<String> {
    let values = MASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut by_rule: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in values.values() {
        *by_rule.entry(rule).or_default() += 1;
    }
    let rules: Vec<_> = by_rule.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    let count = super::count(values.len(), "secret");
    (!rules.is_empty()).then(|| format!("{count} masked: {}", rules.join(", ")))
}

/// Adds the secrets of a text to those that were masked. What the masked text still has, such as an id, was not masked.
fn remember(masking: &Masking, text: &str, masked: &str) {
    let mut values = MASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let gone = masking.secrets(text).filter(|(_, secret)| !masked.contains(secret));
    values.extend(gone.map(|(rule, secret)| (hash(secret), rule.to_owned())));
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
