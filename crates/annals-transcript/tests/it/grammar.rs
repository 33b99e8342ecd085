//! A reader that checks the grammar while it reads heads gives the same entries as two passes: the head first, then
//! `serde_json` over the whole object.

use std::fs;

use annals_transcript::json::Value;
use annals_transcript::{Entry, Head, Problem, Reader};
use proptest::prelude::*;
use testkit::corpora;

use crate::props::{damaged_file, json};

/// Returns what two passes say about an entry.
fn verified_in_two_passes(entry: &Entry<'_>) -> Option<Problem> {
    let is_broken = entry.body().is_some_and(|body| !is_valid(body.bytes()));
    if is_broken { Some(Problem::Syntax) } else { entry.problem() }
}

fn is_valid(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// Reads a file in one pass and in two, and compares every entry.
fn assert_passes_agree(file: &[u8], name: &str) {
    let (mut reference, mut reader) = (Reader::new(file), Reader::new(file).with_grammar_check());
    while let Some(entry) = reference.read().unwrap() {
        let checked = reader.read().unwrap().unwrap();
        assert_eq!((checked.at(), checked.problem()), (entry.at(), entry.problem()), "{name}");
        assert!(checked.bytes() == entry.bytes() && checked.body() == entry.body(), "{name}: {}", entry.at());
        assert!(checked.head().content == entry.head().content, "{name}: {}", entry.at());
        assert_eq!(
            format!("{:?}", without_content(&checked)),
            format!("{:?}", without_content(&entry)),
            "{name}"
        );
        let verified = verified_in_two_passes(&entry);
        assert_eq!((checked.verify(), entry.verify()), (verified, verified), "{name}: {}", entry.at());
    }
    assert!(reader.read().unwrap().is_none(), "{name}");
    assert_eq!(reader.position(), reference.position(), "{name}");
}

/// Returns the head without the content, which may be megabytes long.
fn without_content<'a>(entry: &Entry<'a>) -> Head<'a> {
    let mut head = *entry.head();
    head.content = None;
    head
}

#[test]
fn one_pass_reads_every_transcript_like_two() {
    let mut files = 0;
    for path in corpora::transcripts() {
        assert_passes_agree(&fs::read(&path).unwrap(), &path.display().to_string());
        files += 1;
    }
    assert!(files > 0, "there are transcripts to compare");
}

#[test]
fn odd_values_are_judged_as_by_two_passes() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let deep = [deep(62), deep(63), deep(64), deep(127), deep(128), deep(5000)];
    let values = [
        "0",
        "-0",
        "01",
        "-",
        "1.",
        ".5",
        "1.5e",
        "1e+",
        "1e999",
        "-1E-5",
        "1e5.5",
        "+1",
        "0x1",
        "NaN",
        "Infinity",
        "tru",
        "truex",
        "nul",
        "nullnull",
        "True",
        "[]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{1:1}",
        "[}",
        "{]",
        "[[]",
        "[]]",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\u12\"",
        "\"\\uD83D\\uDE00\"",
        "\"\\x41\"",
        "\"\\\"",
        "\"\t\"",
        "\"\u{7f}\"",
        "\"a\"\"b\"",
        "[\"a\":1]",
        "{\"a\":1:2}",
        "{\"a\":1 \"b\":2}",
        " [ 1 , 2 ] ",
        "{ \"a\" : [ ] }",
        "[1\t,\r2]",
        "\u{a0}1",
        "[\u{feff}1]",
        "'a'",
        "// x",
        "[1]x",
        "{\"a\":1,\"a\":2}",
        "\\",
        "[\\]",
        "\\\"",
        "\u{0}",
        "[\"\u{1f}\"]",
        "\"\\u0000\"",
    ];
    for value in values.into_iter().chain(deep.iter().map(String::as_str)) {
        let lines = [
            format!("{{\"type\":\"user\",\"x\":{value},\"uuid\":\"a\"}}\n"),
            format!("{{\"type\":\"user\",\"message\":{{\"id\":\"m\",\"content\":{value}}}}}\n"),
            format!("{{\"type\":\"attachment\",\"attachment\":{{\"a\":[0,{value}],\"type\":\"t\"}}}}\n"),
            format!("{{{value}:1}}\n"),
            format!("{value}\n"),
        ];
        for line in &lines {
            assert_passes_agree(line.as_bytes(), line);
        }
        assert_passes_agree(lines.concat().as_bytes(), value);
    }
}

/// The bytes that the grammar knows, bytes that are not UTF-8, and control characters.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        3 => proptest::sample::select(b"{}[]\",:\\ \t\r\n0123456789+-.eEutfn\0\x1f\x7f\x80\xc3\xff".to_vec()),
        1 => any::<u8>(),
    ]
}

/// An object with the fields of entries.
fn entry() -> impl Strategy<Value = String> {
    let value = || json().prop_map(|value| value.to_string());
    (value(), value(), value(), any::<bool>()).prop_map(|(content, other, nested, is_spaced)| {
        let line = format!(
            r#"{{"parentUuid":null,"type":"user","message":{{"id":"m","content":{content}}},"x":{other},"data":{{"type":"t","y":{nested}}},"uuid":"u"}}"#
        );
        let spaced = || serde_json::from_str::<serde_json::Value>(&line).unwrap().to_string().replace("\":", "\" : ");
        if is_spaced { spaced() } else { line }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_pass_reads_entries_like_two(line in entry()) {
        assert_passes_agree(line.as_bytes(), "entry");
    }

    #[test]
    fn one_pass_reads_damaged_files_like_two(file in damaged_file()) {
        assert_passes_agree(&file, "damaged");
    }

    /// Bytes are replaced, removed and inserted.
    #[test]
    fn one_pass_reads_mutated_entries_like_two(
        line in entry(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0..3, byte()), 1..4),
        is_cut in any::<bool>(),
    ) {
        let mut line = line.into_bytes();
        for (at, change, byte) in changes {
            let at = at.index(line.len());
            match change {
                0 => line[at] = byte,
                1 => line.insert(at, byte),
                _ if is_cut && line.len() > 1 => line.truncate(at.max(1)),
                _ => drop(line.remove(at)),
            }
            if line.is_empty() {
                return Ok(());
            }
        }
        assert_passes_agree(&line, "mutated");
        if let Some(value) = Value::new(&line) {
            prop_assert_eq!(value.is_valid(), is_valid(value.bytes()));
        }
    }
}
