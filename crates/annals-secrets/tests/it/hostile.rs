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

/// The same for JSON that is deep and has many strings.
#[test]
fn time_is_linear_in_the_depth_of_json() {
    let masker = masker();
    let json = |size: usize| {
        let strings = vec!["\"a\""; size].join(",");
        format!(r#"{{"title":"","id":{}{strings}{}}}"#, "[".repeat(size), "]".repeat(size))
    };
    let (short, long) = (json(1_000), json(16_000));
    let time = |json: &str| {
        let start = Instant::now();
        black_box(masker.mask_json(json, Items::Whole));
        start.elapsed()
    };
    assert!((0..20).any(|_| time(&long) < time(&short) * 80));
}
