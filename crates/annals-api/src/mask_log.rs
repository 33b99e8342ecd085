//! What was masked: different values by the rules that found them, and where.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use annals_proto::{ExportPlace, MaskedByRule};
use annals_render::Filter;
use annals_secrets::Masked;

use crate::mask::Masking;
use crate::words::count;

/// The most places of a rule that are kept.
const MOST_PLACES: usize = 50;

/// So many secrets of a text are searched for in the masked text, so that the work is linear; any others were masked, too, nearly always.
const MOST_COMPARED: usize = 100;

/// Masks, and remembers what was masked. Values are kept as hashes.
#[derive(Debug, Default)]
pub struct MaskLog {
    /// Is `None` if everything stays as it is.
    masking: Option<Masking>,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// Hashes of different values, and the rules that found them.
    values: BTreeMap<u64, String>,
    /// Where each rule found something, in order.
    places: BTreeMap<String, Vec<ExportPlace>>,
    /// Where the text that is masked now comes from.
    here: ExportPlace,
}

impl MaskLog {
    /// Returns a log in which nothing was masked yet; with `None`, nothing will be.
    pub fn new(masking: Option<Masking>) -> Self {
        Self { masking, ..Self::default() }
    }

    /// Returns how texts are masked; `None` if they stay as they are.
    pub fn masking(&self) -> Option<&Masking> {
        self.masking.as_ref()
    }

    /// Masks a whole text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.masked_by(text, Masking::text)
    }

    /// Masks a title or a prompt of a list, which may have been cut inside a secret.
    pub fn listed_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.masked_by(text, Masking::listed_text)
    }

    /// Masks a text that was cut somewhere, perhaps inside a secret.
    pub fn cut_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.masked_by(text, Masking::cut_text)
    }

    fn masked_by<'t>(&self, text: &'t str, mask: fn(&Masking, &'t str) -> Masked<'t>) -> Cow<'t, str> {
        let Some(masking) = &self.masking else { return Cow::Borrowed(text) };
        let masked = mask(masking, text);
        if masked.count > 0 {
            self.remember(masking, text, &masked.text);
        }
        masked.text
    }

    /// Masks JSON from a transcript, such as the arguments of a call, before texts are taken from it.
    pub fn json<'j>(&self, json: &'j [u8]) -> Cow<'j, [u8]> {
        let Some(masking) = &self.masking else { return Cow::Borrowed(json) };
        let (masked, count) = masking.entry(json);
        if count > 0 {
            self.remember(masking, &String::from_utf8_lossy(json), &String::from_utf8_lossy(&masked));
        }
        masked
    }

    /// Masks an object of an export.
    pub fn line(&self, json: String) -> String {
        let Some(masking) = &self.masking else { return json };
        let (masked, count) = masking.export_line(json.clone());
        if count > 0 {
            self.remember(masking, &json, &masked);
        }
        masked
    }

    /// Says where the text comes from that is masked next.
    pub fn go_to(&self, place: ExportPlace) {
        self.found().here = place;
    }

    /// Returns how many different values were masked.
    pub fn count(&self) -> usize {
        self.found().values.len()
    }

    /// Returns how many different values each rule found, and where.
    pub fn by_rule(&self) -> Vec<MaskedByRule> {
        let found = self.found();
        let rules = found.places.iter();
        rules
            .map(|(rule, places)| MaskedByRule {
                rule: rule.clone(),
                count: found.values.values().filter(|by| *by == rule).count(),
                places: places.clone(),
            })
            .collect()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many secrets were masked, by rule: `3 secrets masked: 2 github-token, 1 url-password`.
    pub fn summary(&self) -> Option<String> {
        let values = &self.found().values;
        let mut by_rule: BTreeMap<&str, usize> = BTreeMap::new();
        for rule in values.values() {
            *by_rule.entry(rule).or_default() += 1;
        }
        let rules: Vec<_> = by_rule.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
        let count = count(values.len(), "secret");
        (!rules.is_empty()).then(|| format!("{count} masked: {}", rules.join(", ")))
    }

    /// Adds the secrets of a text to those that were masked. What the masked text still has, such as an id, was not masked.
    fn remember(&self, masking: &Masking, text: &str, masked: &str) {
        let mut found = self.found();
        let Found { values, places, here } = &mut *found;
        for (number, (rule, secret)) in masking.secrets(text).enumerate() {
            if number < MOST_COMPARED && masked.contains(secret) {
                continue;
            }
            values.insert(hash(secret), rule.to_owned());
            let places = places.entry(rule.to_owned()).or_default();
            if places.len() < MOST_PLACES && places.last() != Some(here) {
                places.push(here.clone());
            }
        }
    }
}

/// Lines of a transcript are masked before they are rendered, and once more as a reader sees them.
impl Filter for MaskLog {
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
        let masked = self.json(line);
        let count = usize::from(matches!(masked, Cow::Owned(_)));
        (masked, count)
    }

    fn visible(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let Some(masking) = &self.masking else { return Vec::new() };
        let marks = masking.marks(text);
        if !marks.is_empty() {
            self.remember(masking, text, "");
        }
        marks
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
