//! Any text renders to HTML without tags or attributes of its own, and any transcript renders to rows.

#![no_main]

use annals_render::{Language, Open, Outline, Rows, ansi, code, diff, html, json, markdown, prose, text};
use annals_transcript::conversation::{Conversation, TranscriptBytes};
use libfuzzer_sys::fuzz_target;

/// Every tag that the writer makes.
const TAGS: &[&str] = &[
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "ol", "ul", "li", "blockquote", "div", "table", "thead", "tbody", "tr",
    "th", "td", "pre", "span", "i", "dl", "dt", "dd", "strong", "em", "del", "code", "a", "br",
];

fuzz_target!(|bytes: &[u8]| {
    let input = String::from_utf8_lossy(bytes);
    for nodes in [
        prose(&input),
        vec![ansi(&input)],
        vec![json(&input)],
        vec![code(&input, Language::named("rust"), Some(1))],
        vec![diff(Some(&input), &input, &input.to_uppercase(), 1)],
    ] {
        let mut page = String::new();
        html::nodes(&nodes, &mut page);
        for tag in page.split('<').skip(1) {
            let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
            assert!(TAGS.contains(&&*name), "{name}");
        }
        let mut written = String::new();
        markdown::nodes(&nodes, "", &mut written);
        text::nodes(&nodes, "", &mut written);
    }
    let transcript = TranscriptBytes::new(bytes);
    let Ok(conversation) = Conversation::of(&transcript);
    let Ok(outline) = Outline::of(&conversation);
    let rows = Rows::new(&conversation, &outline, None);
    for number in 0..outline.rows().len() {
        for open in [Open::Folded, Open::First, Open::Whole] {
            let Ok(_) = rows.row(number, open);
        }
        for part in 0..3 {
            let Ok(_) = rows.part(number, part);
        }
    }
});
