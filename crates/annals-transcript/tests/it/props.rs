//! Invariants 1 and 2 of ARCHITECTURE.md on arbitrary input.

use std::io::Cursor;

use annals_transcript::json::{Value, quote};
use annals_transcript::line::Entries;
use annals_transcript::lite::{self, Lite};
use annals_transcript::{Entry, Kind, Reader, patch, project, prompt};
use proptest::prelude::*;

/// Bytes that look like damaged transcripts more often than chance would have it.
pub(crate) fn damaged_file() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 18] = [
        b"\n",
        b"\r\n",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b",",
        b":",
        b"\0",
        b"\xEF\xBB\xBF",
        b"\xff",
        b"{\"type\":\"user\",\"uuid\":\"a\",\"message\":{\"content\":\"hi\"}}",
        b"{\"parentUuid\":null,\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[]}}",
        b"\"type\":\"mode\"",
        b"null",
        b"1e2",
    ];
    let piece = prop_oneof![
        proptest::sample::select(pieces.to_vec()).prop_map(<[u8]>::to_vec),
        proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Any JSON, spelled compactly.
pub(crate) fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes in memory are the same entries as bytes from a source.
    #[test]
    fn entries_in_memory_are_those_of_a_source(file in damaged_file()) {
        let mut reader = Reader::new(&file[..]);
        for entry in Entries::of(&file) {
            let read = reader.read().unwrap().unwrap();
            prop_assert_eq!((entry.at(), entry.bytes()), (read.at(), read.bytes()));
            prop_assert_eq!((entry.kind(), entry.problem()), (read.kind(), read.problem()));
        }
        prop_assert!(reader.read().unwrap().is_none());
    }

    /// Invariant 1: every byte belongs to exactly one entry, and positions say where.
    #[test]
    fn entries_concatenated_give_the_file(file in damaged_file()) {
        let mut reader = Reader::new(&file[..]);
        let mut bytes = Vec::new();
        while let Some(entry) = reader.read().unwrap() {
            prop_assert!(!entry.bytes().is_empty());
            prop_assert_eq!(entry.at().offset, bytes.len() as u64);
            let newlines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
            prop_assert_eq!(entry.at().line, newlines + 1);
            prop_assert_eq!(entry.kind() == Kind::Noise, entry.body().is_none());
            bytes.extend_from_slice(entry.bytes());
        }
        prop_assert_eq!(reader.position().offset, file.len() as u64);
        prop_assert_eq!(bytes, file);
    }

    /// Invariant 2: a patch changes one value span and nothing else, and is undone by the old value.
    #[test]
    fn a_patch_changes_one_value(object in json(), key in any::<String>(), new in json()) {
        let serde_json::Value::Object(_) = &object else { return Ok(()) };
        let line = serde_json::to_string(&object).unwrap() + "\r\n";
        let patched = patch::set(line.as_bytes(), &key, &new.to_string()).unwrap();
        let mut expected = object.clone();
        expected[&key] = new;
        let found: serde_json::Value = serde_json::from_slice(&patched).unwrap();
        prop_assert_eq!(found, expected);
        if let Some(old) = object.get(&key) {
            let undone = patch::set(&patched, &key, &old.to_string()).unwrap();
            prop_assert_eq!(undone, line.into_bytes());
        }
    }

    /// A patch of damaged lines is refused or sets the value; it never panics.
    #[test]
    fn a_patch_of_anything_sets_the_value_or_refuses(line in damaged_file()) {
        if let Ok(patched) = patch::set(&line, "uuid", "7") {
            prop_assert_eq!(Entry::new(&patched).body().unwrap().number("uuid"), Some(7));
        }
    }

    /// The lazy reader and a real parser agree on every value.
    #[test]
    fn values_are_what_a_parser_reads(value in json(), spaced in any::<bool>()) {
        let text = if spaced { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let found = Value::new(text.as_bytes()).unwrap();
        prop_assert!(found.is_valid());
        prop_assert_eq!(rebuild(found), value);
    }

    /// Strings come back from quoting as they went in.
    #[test]
    fn quoted_text_decodes_to_itself(text in any::<String>()) {
        let quoted = quote(&text);
        let value = Value::new(quoted.as_bytes()).unwrap();
        prop_assert_eq!(value.as_text().unwrap(), text);
    }

    /// Reading the ends of a file never fails on content, and fields of cut lines are never invented.
    #[test]
    fn lite_reads_survive_anything(file in damaged_file(), object in json(), cut in any::<prop::sample::Index>()) {
        Lite::read(&mut Cursor::new(&file), file.len() as u64).unwrap();
        let _ = (project::is_transcript(&file), lite::field_without_end(&file, "type"), lite::field_without_beginning(&file, "type"), prompt::own_words(&Entry::new(&file)));
        let serde_json::Value::Object(members) = object else { return Ok(()) };
        let line = serde_json::to_string(&members).unwrap();
        let (begun, ended) = line.as_bytes().split_at(cut.index(line.len()));
        for key in members.keys() {
            let value = members[key].as_str();
            if let Some(text) = lite::field_without_end(begun, key) {
                prop_assert!(value.is_some_and(|value| value.starts_with(&*text)));
            }
            if cut.index(line.len()) > 0 && let Some(text) = lite::field_without_beginning(ended, key) {
                prop_assert_eq!(Some(&*text), value);
            }
        }
    }
}

/// Builds the tree that a parser would, from lazy values.
fn rebuild(value: Value<'_>) -> serde_json::Value {
    if value.is_object() {
        let members = value.members().map(|(key, value)| (key.decode().into_owned(), rebuild(value)));
        serde_json::Value::Object(members.collect())
    } else if value.is_array() {
        value.items().map(rebuild).collect()
    } else if let Some(text) = value.as_text() {
        text.into()
    } else {
        serde_json::from_slice(value.bytes()).expect("a scalar is JSON")
    }
}
