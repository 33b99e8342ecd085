//! Secrets in what is printed: the one place where this program decides whether they are masked.
//!
//! `clean`, `clean_lines` and `json_line` call this module, and everything from a transcript passes through one of them.
//! Text that is split or cut is masked first, with [`masked`]: of half a secret nobody can tell that it is one.

use std::borrow::Cow;
use std::sync::OnceLock;

use annals_api::{MaskLog, Masking};

/// How everything is masked, and what was masked so far.
static LOG: OnceLock<MaskLog> = OnceLock::new();

/// Sets how everything that follows is masked; with `None`, it is printed as it is. Only the first call counts.
pub(crate) fn set_up(masking: Option<Masking>) {
    let _ = LOG.set(MaskLog::new(masking));
}

/// Returns what masks, and remembers what was masked.
pub(crate) fn log() -> &'static MaskLog {
    // What is printed before the arguments are known is masked by the built-in rules.
    LOG.get_or_init(|| MaskLog::new(Some(Masking::default())))
}

/// Returns how output is masked; `None` if it is printed as it is.
pub(crate) fn masking() -> Option<&'static Masking> {
    log().masking()
}

/// Masks a whole text.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    log().text(text)
}

/// Masks a title or a prompt of a list, which may have been cut inside a secret. Every table shows them by this function.
pub(crate) fn masked_title(text: &str) -> Cow<'_, str> {
    log().listed_text(text)
}

/// Masks a text that was cut somewhere, perhaps inside a secret.
pub(crate) fn masked_cut(text: &str) -> Cow<'_, str> {
    log().cut_text(text)
}

/// Masks JSON from a transcript, such as the arguments of a call, before texts are taken from it.
pub(crate) fn masked_json(json: &[u8]) -> Cow<'_, [u8]> {
    log().json(json)
}

/// Masks an object that is printed as JSON.
pub(crate) fn masked_line(json: String) -> String {
    match masking() {
        Some(masking) => masking.line(json).0,
        None => json,
    }
}

/// Says how many secrets were masked in texts. In JSON, each item says it.
pub(crate) fn note() {
    let count = log().count();
    if count > 0 {
        let verb = if count == 1 { "shows it" } else { "shows them" };
        super::note(&format!("{} masked; `--reveal` {verb}", super::count(count, "secret")));
    }
}

/// Says the same, with the rules that found the secrets.
pub(crate) fn note_by_rule() {
    if let Some(summary) = log().summary() {
        super::note(&format!("{summary}; `--reveal` shows what was masked"));
    }
}
