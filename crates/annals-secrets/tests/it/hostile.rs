//! Texts that are made to be slow: the work grows with the length of the text and no faster.

use std::hint::black_box;
use std::time::{Duration, Instant};

use annals_secrets::{Items, Masker};

use crate::json::masker;

/// Pieces that, repeated, make some rule start again and again.
const PIECES: [&str; 20] = [
    "=",
    "sk-",
    "sk-ant-",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAABBBBCCCCDDDD",
    "eyJ",
    "eyJ.",
    "eyJabcdefghijk.",
    "://",
    "://a:",
    "://a:b@",
    "password=",
    "password: \"",
    "\\\"password\\\":\\\"",
    "token=",
    "\\\\\\\\",
    "cookie: a=",
    "bearer ",
    "-u a:",
];

/// Sixteen times the text takes sixteen times as long if the work is linear, and 256 times if it is quadratic. Other
/// programs disturb the times, so that only a piece that is slow each time fails.
#[test]
fn time_is_linear_in_the_length_of_hostile_text() {
    let masker = Masker::new();
    for piece in PIECES {
        // With a colour before it, the text is also read without colours.
        let text = |length: usize| format!("\u{1b}[m{}", piece.repeat(length / piece.len()));
        let (short, long) = (text(20_000), text(320_000));
        let is_linear = || time(&masker, &long) < time(&masker, &short) * 80;
        assert!((0..20).any(|_| is_linear()), "{piece}");
    }
}

fn time(masker: &Masker, text: &str) -> Duration {
    let start = Instant::now();
    black_box(masker.mask(text));
    start.elapsed()
}

/// Work that is quadratic in the depth or in the number of strings would not end here: it has 90 billion steps.
#[test]
fn json_that_is_deep_and_has_many_strings_is_masked() {
    const SIZE: usize = 300_000;
    let strings = vec!["\"a\""; SIZE].join(",");
    let json = format!(r#"{{"title":"","id":{}{strings}{}}}"#, "[".repeat(SIZE), "]".repeat(SIZE));
    let masked = masker().mask_json(&json, Items::Whole);
    assert_eq!((masked.json.len(), masked.count), (json.len(), 0));
}
