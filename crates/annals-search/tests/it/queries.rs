//! FTS5 finds the texts that [`Query::matches`] accepts, and both find what was taken from a text.

use annals_search::{Query, QueryError, Tokens};
use proptest::prelude::*;

use crate::fts::Index;
use crate::texts::{piece, text};

/// Checks that FTS5 and the matcher agree, and returns the numbers of the texts that they find.
fn search(texts: &[String], query: &Query) -> Vec<usize> {
    let by_matcher: Vec<_> = (0..texts.len()).filter(|&id| query.matches(&Tokens::of(&texts[id]))).collect();
    let index = Index::of(texts.iter().map(String::as_str));
    let by_index = index.and_then(|index| index.search(query)).expect("FTS5 answers");
    assert_eq!(by_index, by_matcher, "{query:?} in {texts:?}");
    by_matcher
}

/// Returns a range of a text between two of its characters.
fn cut(text: &str, from: prop::sample::Index, length: prop::sample::Index) -> &str {
    let ends: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let from = from.index(ends.len());
    let to = from + length.index(ends.len() - from);
    &text[ends[from]..ends[to]]
}

/// A random query: pieces of texts with operators between them.
fn query() -> impl Strategy<Value = String> {
    let operators = prop::sample::select(vec![" ", " ", " OR ", " -", "\"", "(", ")", "* ", " AND ", " x:"]);
    let piece = prop_oneof![4 => piece(), 3 => operators.prop_map(str::to_owned)];
    prop::collection::vec(piece, 1..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fts5_and_the_matcher_agree_on_any_query(texts in prop::collection::vec(text(), 1..5), query in query()) {
        match Query::parse(&query) {
            Ok(query) => drop(search(&texts, &query)),
            Err(error) => prop_assert!(matches!(error, QueryError::Empty | QueryError::NoWords | QueryError::Filter(_))),
        }
    }

    /// Whole tokens of a text, as a phrase, are found in it.
    #[test]
    fn a_phrase_of_a_text_is_found_in_it(
        texts in prop::collection::vec(text(), 1..4), id in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(), length in any::<prop::sample::Index>(),
    ) {
        let id = id.index(texts.len());
        let tokens = Tokens::of(&texts[id]);
        let words: Vec<_> = tokens.column(annals_search::Column::Words).collect();
        if words.is_empty() {
            return Ok(());
        }
        let from = from.index(words.len());
        let to = from + length.index(words.len() - from).min(7);
        let phrase = &texts[id][words[from].range.start..words[to].range.end];
        if phrase.contains(['"', '“', '”', '„']) {
            return Ok(());
        }
        let query = Query::parse(&format!("\"{phrase}\"")).unwrap();
        prop_assert!(search(&texts, &query).contains(&id), "{phrase:?} in {:?}", texts[id]);
    }

    /// Any run of characters of scripts without blanks is found, however short, and only where it stands.
    #[test]
    fn han_is_found_like_a_substring(
        texts in prop::collection::vec("[一二三 ，a]{0,12}", 1..5), query in "[一二三]{1,4}",
    ) {
        let expected: Vec<_> = (0..texts.len()).filter(|&id| texts[id].contains(&query)).collect();
        prop_assert_eq!(search(&texts, &Query::parse(&query).unwrap()), expected);
    }

    /// Phrases of words have no false hits and no misses: a scan of the words decides the same.
    #[test]
    fn phrases_are_found_like_sequences_of_words(
        texts in prop::collection::vec("([ab]{1,2}[ _.]{1,2}){0,8}", 1..5), query in "[ab]{1,2}( [ab]{1,2}){0,2}",
    ) {
        let spaced = |text: &str| format!(" {} ", text.split([' ', '_', '.']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
        let phrase = spaced(&query);
        let expected: Vec<_> = (0..texts.len()).filter(|&id| spaced(&texts[id]).contains(&phrase)).collect();
        prop_assert_eq!(search(&texts, &Query::parse(&format!("\"{query}\"")).unwrap()), expected);
    }

    /// What is found is where the matcher says, and lies between characters.
    #[test]
    fn a_matching_text_has_places(text in text(), from in any::<prop::sample::Index>(), length in any::<prop::sample::Index>()) {
        let Ok(query) = Query::parse(cut(&text, from, length)) else { return Ok(()) };
        let tokens = Tokens::of(&text);
        let found = query.find(&tokens);
        for found in &found {
            prop_assert!(!found.range.is_empty() && text.get(found.range.clone()).is_some(), "{:?}", found);
            prop_assert!(found.term < query.terms().len());
        }
        if query.terms().len() == 1 && matches!(query.expression(), Some(annals_search::Expression::Term(_))) {
            prop_assert_eq!(found.is_empty(), !query.matches(&tokens));
        }
    }
}

#[test]
fn the_deepest_and_longest_queries_are_accepted_by_fts5() {
    let texts = ["a b c".to_owned(), "b".to_owned(), "getFooBar".to_owned()];
    let nested = format!("{}a OR -fooBar{}", "(-b OR ".repeat(20), ")".repeat(20));
    search(&texts, &Query::parse(&nested).unwrap());
    for separator in [" ", " OR ", " -", " OR -"] {
        let words: Vec<_> = (0..1000).map(|number| format!("getFoo{number}")).collect();
        search(&texts, &Query::parse(&format!("b {}", words.join(separator))).unwrap());
    }
    let phrase = "a b c ".repeat(10_000);
    search(&texts, &Query::parse(&format!("\"{phrase}\"")).unwrap());
}

#[test]
fn what_people_search_is_found() {
    let texts = [
        "error[E0502]: cannot borrow `*self` as mutable",
        "let foo_bar = getUserName(); // see src/main.rs:42",
        "run cargo publish --dry-run first",
        "我们需要检索数据库",
        "データベースを検索する",
        "데이터베이스를 검색",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "shipped 🎉 to Zürich",
    ]
    .map(str::to_owned);
    for (query, expected) in [
        ("E0502", 0),
        ("e0502 borrow", 0),
        ("foo_bar", 1),
        ("fooBar", 1),
        ("getusername", 1),
        ("user_name", 1),
        ("user", 1),
        ("getUserName", 1),
        ("src/main.rs:42", 1),
        ("main.rs", 1),
        ("--dry-run", 2),
        ("检索", 3),
        ("数", 3),
        ("库", 3),
        ("検索", 4),
        ("ベー", 4),
        ("검색", 5),
        ("9f86d08", 6),
        ("🎉", 7),
        ("ZURICH", 7),
    ] {
        let query = Query::parse(query).unwrap();
        assert_eq!(search(&texts, &query), [expected], "{query:?}");
    }
}
