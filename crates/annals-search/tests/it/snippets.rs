//! What holds for the snippet of any text.

use annals_search::{Query, Snippet, Tokens};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::texts::{piece, text};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn snippets_are_lines_that_fit_and_show_a_match(
        texts in prop::collection::vec(text(), 1..8), query in prop::collection::vec(piece(), 1..4), width in 0..60_usize,
    ) {
        let text = texts.concat();
        let Ok(query) = Query::parse(&query.join(" ")) else { return Ok(()) };
        let found = query.find(&Tokens::of(&text));
        let snippet = Snippet::new(&text, &found, width);

        prop_assert!(snippet.text.width() <= width, "{:?} is wider than {}", snippet, width);
        prop_assert!(!snippet.text.chars().any(char::is_control), "{:?}", snippet);
        let shown: Vec<_> = snippet.text.graphemes(true).collect();
        prop_assert!(!shown.windows(2).any(|two| two == [" ", " "]), "{:?}", snippet);
        let mut end = None;
        for range in &snippet.matches {
            prop_assert!(!range.is_empty() && end.is_none_or(|end| range.start > end), "{:?}", snippet);
            prop_assert!(snippet.text.get(range.clone()).is_some(), "{:?}", snippet);
            end = Some(range.end);
        }
        let is_visible = |range: &std::ops::Range<usize>| text[range.clone()].width() > 0;
        if width >= 2 && found.iter().any(|found| is_visible(&found.range)) {
            prop_assert!(!snippet.matches.is_empty(), "{:?} of {:?} {:?}", snippet, text, found);
        }
        // What stood on both sides of something that is left out can become one character.
        let is_left_out = |part: &str| part.width() == 0 || part.chars().all(char::is_control);
        if !text.graphemes(true).any(is_left_out) {
            let written: Vec<_> = text.graphemes(true).collect();
            let kept = shown.iter().filter(|&&part| ![" ", "…", "\u{fffd}"].contains(&part));
            kept.for_each(|part| assert!(written.contains(part), "{part:?} of {text:?}"));
        }
    }
}
