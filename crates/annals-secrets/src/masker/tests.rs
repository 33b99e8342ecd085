//! Texts that are made to be slow: the work grows with the length of the text and no faster.

use super::*;
use crate::json::Items;
use crate::rule::SEARCHED;

/// Pieces that, repeated, make some rule start again and again.
const PIECES: [&str; 30] = [
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
    "kty ",
    "\"kty\":\"EC\",\"d\":\"aQ7fZk2mX9rT4w8B3cLs\",",
    "postgres://a:b/",
    "Private-Lines: 1\naQ7fZk2mX9rT4w8B3cLs",
    "DB_PASSWORD=a1b2,",
    "password  ",
    "password |",
    "a | password\n1 | b\n",
    "password - ",
    "ENV A_TOKEN ",
];

/// Counts the bytes that patterns are given. Work that is quadratic would be sixteen times as much for a text of four times the
/// length.
#[test]
fn work_is_linear_in_the_length_of_hostile_text() {
    let masker = Masker::new();
    let mut all = 0;
    for piece in PIECES {
        // Where a text ends, patterns are given less: the short text is much longer than the reach of any rule.
        let (short, long) = (work(&masker, piece, 80_000) + 16_384, work(&masker, piece, 320_000));
        assert!(long <= 5 * short, "{piece}: {short}, {long}");
        all += long;
    }
    assert!(all > 160_000, "work is counted");
}

/// A list has many rows, and each has such a member.
#[test]
fn no_pattern_is_tried_in_the_name_of_a_member_that_is_kept() {
    let form = JsonForm { keep: &["vendorKey"], free: &["input"], ..JsonForm::default() };
    let masker = Masker::new().with_form(form);
    let row = r#"{"vendorKey":"q7Zk29LmX4tRw8vB3cLs5d"}"#;
    let before = SEARCHED.get();
    assert_eq!(masker.mask_json(row, Items::None).count, 0);
    assert_eq!(SEARCHED.get(), before, "no bytes are searched");
    let call = format!(r#"{{"vendorKey":"a","input":{row}}}"#);
    assert_eq!(masker.mask_json(&call, Items::None).count, 1, "below a free member nothing is kept");
    assert!(SEARCHED.get() > before);
}

/// Masks a text of so many bytes that consists of a piece, and returns how many bytes patterns were given.
fn work(masker: &Masker, piece: &str, length: usize) -> usize {
    // With a colour before it, the text is also read without colours.
    let text = format!("\u{1b}[m{}", piece.repeat(length / piece.len()));
    let before = SEARCHED.get();
    masker.mask(&text);
    SEARCHED.get() - before
}

/// In JSON, the next string is on the same line.
#[test]
fn the_value_of_each_listed_name_is_masked() {
    let masker = Masker::new();
    let listed = r"- name: DB_PASSWORD\n  value: q7Zk29LmX4tRw8Vn1Y";
    let json = format!(r#"{{"description":"{listed}","prompt":"{listed}"}}"#);
    let shown = masker.mask_json(&json, Items::None).json;
    let shown = String::from_utf8_lossy(&shown);
    assert!(!shown.contains("q7Zk"), "{shown}");
}
