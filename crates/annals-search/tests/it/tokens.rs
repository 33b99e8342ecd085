//! What holds for the tokens of any text.

use annals_search::{Column, TokenKind, Tokens, for_each_token};
use proptest::prelude::*;

use crate::fts::Index;
use crate::texts::text;

/// Returns whether FTS5 keeps a token as it is: no byte of it separates or is changed.
fn is_one_word(token: &str) -> bool {
    !token.is_empty()
        && token.bytes().all(|byte| byte >= 0x80 || byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// The encoding is the identity, so it is injective and keeps prefixes: FTS5 stores each token as it is, at the
    /// position that the analyzer says.
    #[test]
    fn fts5_stores_exactly_the_tokens(text in text()) {
        let tokens = Tokens::of(&text);
        let column = |column, name: &'static str| {
            tokens.column(column).map(move |token| (name.to_owned(), token.position, token.text.to_owned()))
        };
        let expected: Vec<_> = column(Column::Words, "words").chain(column(Column::Parts, "parts")).collect();
        let mut stored = Index::of([text.as_str()]).and_then(|index| index.tokens()).unwrap();
        stored.retain(|(_, _, term)| term != "·");
        prop_assert_eq!(stored, expected);
    }

    #[test]
    fn tokens_have_places_in_the_text(text in text()) {
        let mut last = [None::<(u32, usize)>; 2];
        for_each_token(&text, |token| {
            assert!(is_one_word(token.text), "{token:?} of {text:?}");
            assert!(!token.range.is_empty() && text.get(token.range.clone()).is_some(), "{token:?} of {text:?}");
            let last = &mut last[usize::from(token.kind == TokenKind::Part)];
            let (position, start) = last.unwrap_or((0, 0));
            assert!(token.range.start >= start, "{token:?} of {text:?}");
            assert!(last.is_none() || token.position > position, "{token:?} of {text:?}");
            *last = Some((token.position, token.range.start));
        });
    }

    /// What a text is folded to gives the same tokens again, so terms of the index can be searched.
    #[test]
    fn tokens_of_tokens_are_the_same(text in text()) {
        for token in Tokens::of(&text).column(Column::Words).filter(|token| token.kind == TokenKind::Word) {
            let again = Tokens::of(token.text);
            let again: Vec<_> = again.column(Column::Words).map(|token| token.text.to_owned()).collect();
            prop_assert_eq!(again, [token.text]);
        }
    }
}
