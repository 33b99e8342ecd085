//! Secrets that only rendering puts together are masked in what a reader sees.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write;
use std::ops::Range;

use annals_proto::ViewNode;
use annals_render::{Filter, Found, Open, Outline, Rows, Target, html, markdown, prose, text};
use annals_transcript::conversation::{Conversation, TranscriptBytes};
use fastrand::Rng;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

/// An invented token.
const TOKEN: &str = "tok_Q7fZk2mX9rT4w8B3cLs5Vn1Yd6";

/// Masks the token where a reader sees it, and nothing before.
struct Reader;

impl Filter for Reader {
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
        (Cow::Borrowed(line), 0)
    }

    fn visible(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let token = text.match_indices(TOKEN).map(|(at, _)| (at..at + TOKEN.len(), "#".to_owned()));
        let named =
            text.match_indices(": hunter2-x").map(|(at, name)| (at + 2..at + name.len(), "#".to_owned()));
        token.chain(named).collect()
    }
}

/// Collects the text and the addresses of a page.
#[derive(Default)]
struct Shown(RefCell<String>);

impl TokenSink for Shown {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::CharacterTokens(text) => self.0.borrow_mut().push_str(&text),
            // Blocks and cells stand apart; marks inside of a text do not.
            Token::TagToken(tag) if !["strong", "em", "del", "code", "a", "span"].contains(&&*tag.name) => {
                self.0.borrow_mut().push('\n');
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

fn text_of_page(page: &str) -> String {
    let tokenizer = Tokenizer::new(Shown::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(page));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink.0.take()
}

/// Returns all forms in which nodes are shown.
fn shown(nodes: &[ViewNode]) -> Vec<String> {
    let (mut page, mut document, mut plain) = (String::new(), String::new(), String::new());
    html::nodes(nodes, &mut page);
    markdown::nodes(nodes, "", &mut document);
    text::nodes(nodes, "", &mut plain);
    let mut again = String::new();
    html::nodes(&prose(&document), &mut again);
    vec![text_of_page(&page), page, text_of_page(&again), plain]
}

/// Returns the content of a row with a text, and how many values were masked: as a reply, or as the output of a command.
fn rendered(text: &str, is_output: bool, target: Target) -> (Vec<ViewNode>, usize) {
    let quoted = json_string(text);
    let reply = format!(
        r#"{{"type":"assistant","uuid":"a1","parentUuid":null,"message":{{"id":"m1","content":[{{"type":"text","text":{quoted}}}]}}}}"#
    );
    let call = r#"{"type":"assistant","uuid":"a1","parentUuid":null,"message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"x"}}]}}"#;
    let result = format!(
        r#"{{"type":"user","uuid":"r1","parentUuid":"a1","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":{quoted}}}]}}}}"#
    );
    let lines = if is_output { format!("{call}\n{result}\n") } else { reply };
    let transcript = TranscriptBytes::new(lines);
    let conversation = Conversation::of(&transcript).unwrap();
    let outline = Outline::of(&conversation).unwrap();
    let rows = Rows::new(&conversation, &outline, Some(&Reader)).with_target(target);
    let row = rows.row(0, Open::Whole).unwrap();
    let nodes = row.nodes.or(row.output).unwrap_or_default();
    let Ok(Some(Found::Nodes(part))) = rows.part(0, usize::from(is_output)) else {
        panic!("there is a part")
    };
    assert_eq!(part, nodes, "a part is masked as its row is");
    (nodes, row.masked)
}

/// Writes a text as a JSON string.
fn json_string(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\0'..' ' => {
                write!(json, "\\u{:04x}", u32::from(character)).expect("text takes more text");
            }
            _ => json.push(character),
        }
    }
    json + "\""
}

fn check(text: &str, is_output: bool) {
    for target in [Target::Viewer, Target::Page, Target::Plain] {
        let (nodes, masked) = rendered(text, is_output, target);
        for shown in shown(&nodes) {
            assert!(!shown.contains(TOKEN), "{text:?} is shown as {shown:?}");
            assert!(shown.contains('#'), "{text:?} is shown as {shown:?}");
        }
        assert_eq!(masked, 1, "{text:?}");
    }
}

#[test]
fn a_token_that_markdown_puts_together_is_masked() {
    let (name, rest) = TOKEN.split_at(3);
    let (first, last) = rest[1..].split_at(8);
    for text in [
        format!("{name}\\{rest}"),
        format!("{name}&#95;{first}{last}"),
        format!("use {name}_**{first}**{last} now"),
        format!("use {name}_*{first}*{last} now"),
        format!("use {name}_~~{first}~~{last} now"),
        format!("use {name}_`{first}`{last} now"),
        format!("use {name}_[{first}](https://a.example){last} now"),
        format!("use {name}_[{first}][r]{last} now\n\n[r]: https://a.example"),
        format!("# {name}_**{first}**{last}"),
        format!("- a\n  - {name}_**{first}**{last}"),
        format!("> {name}_**{first}**{last}"),
        format!("| a |\n|---|\n| {name}_**{first}**{last} |"),
        format!("{}{name}\\{rest}", "> ".repeat(20)),
    ] {
        check(&text, false);
    }
}

#[test]
fn a_token_that_markdown_puts_together_in_an_address_is_masked() {
    let text = format!("[a](https://a.example/{}\\{})", &TOKEN[..3], &TOKEN[3..]);
    let (nodes, masked) = rendered(&text, false, Target::Viewer);
    assert!(!shown(&nodes).iter().any(|shown| shown.contains(TOKEN)), "{nodes:?}");
    assert_eq!(masked, 1);
}

#[test]
fn a_token_that_a_terminal_puts_together_is_masked() {
    let (first, last) = TOKEN.split_at(8);
    for text in [
        format!("use {first}\u{1b}[31m{last}\u{1b}[0m now"),
        format!("use {first}\u{1b}]0;title\u{7}{last} now"),
        format!("10 %\r{first}\u{1b}[K{last}"),
    ] {
        check(&text, true);
    }
}

#[test]
fn a_value_is_masked_beside_its_name_in_a_table_and_below_it() {
    for text in [
        "| a | b |\n|---|---|\n| password | hunter2-x |",
        "| a | b | c |\n|---|---|---|\n| x | password | `hunter2-x` |",
        "| user | password |\n|---|---|\n| mia | **hunter2**-x |",
    ] {
        let (nodes, masked) = rendered(text, false, Target::Page);
        for shown in shown(&nodes) {
            assert!(!shown.contains("hunter2") && shown.contains('#'), "{text:?} is shown as {shown:?}");
        }
        assert_eq!(masked, 1, "{text:?}");
    }
}

#[test]
fn what_is_no_secret_is_shown_as_without_a_filter() {
    let text = "# T\n\na **b** `c` [d](https://a.example/e) &amp; f\\_g\n\n| a | b |\n|---|---|\n| 1 | *2* |\n\n```rust\nfn x() {}\n```";
    assert_eq!(rendered(text, false, Target::Viewer), (prose(text), 0));
}

#[test]
fn no_random_split_of_a_token_is_shown() {
    let mut random = Rng::with_seed(11);
    for _ in 0..2000 {
        let is_output = random.bool();
        let mut text = ["", "use ", "- ", "> ", "## ", "| a |\n|---|\n| "][random.usize(..6)].to_owned();
        if is_output {
            text.clear();
        }
        let mut rest = TOKEN;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(random.usize(1..=rest.len().min(12)));
            let escaped = piece.replace('_', ["_", "\\_", "&#95;", "&lowbar;"][random.usize(..4)]);
            match random.u8(..8) {
                _ if is_output => text
                    .extend([["\u{1b}[1m", "\u{1b}[38;5;9m", "\u{1b}]8;;\u{7}"][random.usize(..3)], piece]),
                0 => text.extend(["**", &escaped, "**"]),
                1 => text.extend(["*", &escaped, "*"]),
                2 => text.extend(["~~", &escaped, "~~"]),
                3 => text.extend(["`", piece, "`"]),
                4 => text.extend(["[", &escaped, "](https://a.example/b)"]),
                5 => text.extend(["***", &escaped, "***"]),
                _ => text.push_str(&escaped),
            }
            rest = behind;
        }
        for target in [Target::Viewer, Target::Plain] {
            let (nodes, _) = rendered(&text, is_output, target);
            for shown in shown(&nodes) {
                assert!(!shown.contains(TOKEN), "{text:?} is shown as {shown:?}");
            }
        }
    }
}
