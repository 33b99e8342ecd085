//! Markdown from nodes, as forges display it. Text is escaped so that it means nothing else there.

use std::fmt::Write;

use annals_proto::{ViewAlign, ViewInline, ViewMark, ViewNode};

use crate::text::span_text;

/// Writes nodes as Markdown, each line behind `indent`.
pub fn nodes(nodes: &[ViewNode], indent: &str, out: &mut String) {
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            out.push_str(indent.trim_end());
            out.push('\n');
        }
        node_markdown(node, indent, out);
    }
}

/// Writes text so that none of its characters has a meaning in Markdown or HTML.
pub fn escape(text: &str, out: &mut String) {
    out.reserve(text.len() + text.len() / 16);
    let bytes = text.as_bytes();
    let mut at_start = true;
    let mut written = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        // Most characters mean nothing, and are copied together.
        if MEANING[usize::from(byte)] == Meaning::Nothing {
            at_start = false;
            continue;
        }
        let is_escaped = match MEANING[usize::from(byte)] {
            Meaning::Nothing | Meaning::Space => false,
            Meaning::Always => true,
            Meaning::Underscore => !is_inside_word(&text[..at], text[at + 1..].chars().next(), out),
            Meaning::AtStart => at_start,
            // Before a link, it makes an image of it; the link may follow as another inline.
            Meaning::Exclamation => bytes.get(at + 1).is_none_or(|&next| next == b'['),
            // A number with a point begins a list.
            Meaning::EndOfNumber => {
                at.checked_sub(1).is_none_or(|before| bytes[before].is_ascii_digit()) && {
                    out.push_str(&text[written..at]);
                    written = at;
                    ends_in_number(out)
                }
            }
        };
        if is_escaped {
            out.push_str(&text[written..at]);
            out.push('\\');
            written = at;
        }
        at_start = byte == b'\n' || at_start && byte.is_ascii_whitespace();
    }
    out.push_str(&text[written..]);
}

/// What a character may mean in Markdown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Nothing,
    /// Space and line ends: what follows may stand at the start of a line.
    Space,
    Always,
    /// Emphasis, unless it is inside of a word.
    Underscore,
    /// Something at the start of a line only.
    AtStart,
    Exclamation,
    EndOfNumber,
}

/// The meanings of characters by their first byte; those beyond ASCII have none.
const MEANING: [Meaning; 256] = {
    let mut table = [Meaning::Nothing; 256];
    let mut fill = 0;
    let always = b"\\`*[]<>|~&$@";
    while fill < always.len() {
        table[always[fill] as usize] = Meaning::Always;
        fill += 1;
    }
    let mut fill = 0;
    let at_start = b"#+-=";
    while fill < at_start.len() {
        table[at_start[fill] as usize] = Meaning::AtStart;
        fill += 1;
    }
    let mut fill = 0;
    let space = b" \t\n\r\x0b\x0c";
    while fill < space.len() {
        table[space[fill] as usize] = Meaning::Space;
        fill += 1;
    }
    table[b'_' as usize] = Meaning::Underscore;
    table[b'!' as usize] = Meaning::Exclamation;
    table[b'.' as usize] = Meaning::EndOfNumber;
    table[b')' as usize] = Meaning::EndOfNumber;
    table
};

/// Returns whether a character stands between two of a word: in `text`, or at its start behind what was written before.
fn is_inside_word(text: &str, next: Option<char>, out: &str) -> bool {
    let before = text.chars().next_back().or_else(|| out.chars().next_back());
    before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric)
}

/// Returns whether the last line of a text is a number.
fn ends_in_number(text: &str) -> bool {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let before = &text[..text.len() - digits];
    (1..10).contains(&digits) && before.chars().next_back().is_none_or(|c| c == '\n')
}

/// Writes code between fences that are longer than any in it.
pub fn fence(lang: &str, text: &str, indent: &str, out: &mut String) {
    let ticks = |line: &str| line.trim_start().bytes().take_while(|&byte| byte == b'`').count();
    // Fewer than three are no fence.
    let has_fence = memchr::memmem::find(text.as_bytes(), b"```").is_some();
    let longest = if has_fence { text.split('\n').map(ticks).max().unwrap_or(0) } else { 0 };
    let fence = "`".repeat(longest.max(2) + 1);
    out.extend([indent, &fence, lang, "\n"]);
    line(text, indent, out);
    out.extend([indent, &fence, "\n"]);
}

/// Writes lines behind `indent`.
fn line(text: &str, indent: &str, out: &mut String) {
    if indent.is_empty() {
        return out.extend([text, "\n"]);
    }
    for text in text.split('\n') {
        out.extend([indent, text, "\n"]);
    }
}

/// Returns inline text as Markdown.
pub fn words(content: &[ViewInline]) -> String {
    let mut out = String::new();
    for inline in content {
        match inline {
            ViewInline::Text(text) => escape(text, &mut out),
            ViewInline::Mark(ViewMark::Br) => out.push_str("\\\n"),
            ViewInline::Mark(ViewMark::Strong { c }) => wrapped("**", c, &mut out),
            ViewInline::Mark(ViewMark::Em { c }) => wrapped("*", c, &mut out),
            ViewInline::Mark(ViewMark::Del { c }) => wrapped("~~", c, &mut out),
            ViewInline::Mark(ViewMark::Code { c }) => code_span(&crate::text::words(c), &mut out),
            ViewInline::Mark(ViewMark::Link { href, c }) => match crate::link::checked(href) {
                Some(href) => {
                    let href = href.replace('(', "%28").replace(')', "%29").replace('|', "%7C");
                    write!(out, "[{}]({href})", words(c)).expect("text takes more text");
                }
                None => out.push_str(&words(c)),
            },
            ViewInline::Mark(_) => {}
        }
    }
    out
}

fn wrapped(mark: &str, content: &[ViewInline], out: &mut String) {
    // Between a mark and its text stands no white space; it stays beside them, so that words do not grow together.
    let words = words(content);
    let text = words.trim();
    let (before, behind) = words.split_at(words.len() - words.trim_start().len());
    out.push_str(before);
    if !text.is_empty() {
        out.extend([mark, text, mark, &behind[text.len()..]]);
    }
}

/// Returns the content of a cell in which the bars of code are escaped, as tables ask for; bars of other text always are.
fn without_pipes_in_code(content: &[ViewInline]) -> Vec<ViewInline> {
    let inside = |content: &[ViewInline]| without_pipes_in_code(content);
    let escaped = |inline: &ViewInline| match inline {
        ViewInline::Mark(ViewMark::Code { c }) => {
            let text = crate::text::words(c).replace('|', "\\|");
            ViewInline::Mark(ViewMark::Code { c: vec![ViewInline::Text(text)] })
        }
        ViewInline::Mark(ViewMark::Strong { c }) => ViewInline::Mark(ViewMark::Strong { c: inside(c) }),
        ViewInline::Mark(ViewMark::Em { c }) => ViewInline::Mark(ViewMark::Em { c: inside(c) }),
        ViewInline::Mark(ViewMark::Del { c }) => ViewInline::Mark(ViewMark::Del { c: inside(c) }),
        ViewInline::Mark(ViewMark::Link { href, c }) => {
            ViewInline::Mark(ViewMark::Link { href: href.clone(), c: inside(c) })
        }
        other => other.clone(),
    };
    content.iter().map(escaped).collect()
}

/// Writes code between as many backticks as it takes.
pub(crate) fn code_span(text: &str, out: &mut String) {
    let text = text.replace('\n', " ");
    if text.is_empty() {
        // Two backticks would begin a span that another one ends.
        return;
    }
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let ticks = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    out.extend([&ticks, space, &text, space, &ticks]);
}

fn node_markdown(node: &ViewNode, indent: &str, out: &mut String) {
    match node {
        ViewNode::P { c } => line(&words(c), indent, out),
        ViewNode::Note { c, .. } => line(&format!("*{}*", words(c).trim()), indent, out),
        ViewNode::H { level, c } => {
            // The headings of the document stand above those of its texts.
            let level = "#".repeat(usize::from(*level + 2).min(6));
            line(&format!("{level} {}", words(c).replace('\n', " ")), indent, out);
        }
        ViewNode::Hr => line("---", indent, out),
        ViewNode::List { start, items, done } => {
            for (at, item) in items.iter().enumerate() {
                let mark = start.map_or_else(|| "- ".to_owned(), |start| format!("{}. ", start + at as u64));
                let task = match done.get(at).copied().flatten() {
                    Some(true) => "[x] ",
                    Some(false) => "[ ] ",
                    None => "",
                };
                let inner = format!("{indent}{}", " ".repeat(mark.len()));
                let mut text = String::new();
                nodes(item, &inner, &mut text);
                let text = text.strip_prefix(&inner).unwrap_or(&text);
                out.extend([indent, &mark, task, text]);
                if text.is_empty() {
                    out.push('\n');
                }
            }
        }
        ViewNode::Quote { c } => nodes(c, &format!("{indent}> "), out),
        ViewNode::Table { align, head, rows } => {
            let row = |row: &[Vec<ViewInline>]| {
                let words = |cell: &Vec<ViewInline>| words(&without_pipes_in_code(cell));
                let cells = row.iter().map(|cell| words(cell).replace("\\\n", " ").replace('\n', " "));
                format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
            };
            let rule = |align: &ViewAlign| match align {
                ViewAlign::Left => ":--",
                ViewAlign::Centre => ":-:",
                ViewAlign::Right => "--:",
                _ => "---",
            };
            line(&row(head), indent, out);
            line(&format!("| {} |", align.iter().map(rule).collect::<Vec<_>>().join(" | ")), indent, out);
            for cells in rows {
                line(&row(cells), indent, out);
            }
        }
        ViewNode::Code { lang, lines, .. } => {
            fence(lang.as_deref().unwrap_or(""), &span_text(lines), indent, out);
        }
        ViewNode::Ansi { lines } => fence("", &span_text(lines), indent, out),
        ViewNode::Diff { .. } => {
            let mut text = String::new();
            crate::text::nodes(std::slice::from_ref(node), "", &mut text);
            fence("diff", text.trim_end_matches('\n'), indent, out);
        }
        ViewNode::Json { text } => fence("json", text, indent, out),
        ViewNode::Text { text } => fence("", text, indent, out),
        ViewNode::Kv { rows } => {
            for (key, value) in rows {
                let mut name = String::new();
                code_span(key, &mut name);
                line(&format!("- {name}: {}", words(value).replace('\n', " ")), indent, out);
            }
        }
        ViewNode::Image { media, bytes, width, height, .. } => {
            line(&format!("*{}*", crate::html::image_name(media, *bytes, *width, *height)), indent, out);
        }
        ViewNode::More { lines, .. } => line(&format!("*{lines} more lines*"), indent, out),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_makes_no_image_and_leaves_no_cell() {
        let written = |text: &str| {
            let mut out = String::new();
            nodes(&crate::prose(text), "", &mut out);
            out
        };
        assert_eq!(written("here\\![x](https://a.example/b)"), "here\\![x](https://a.example/b)\n");
        assert_eq!(written("a\\!\\[x]"), "a\\!\\[x\\]\n");
        assert!(written("| a |\n|---|\n| `x \\| <img src=y>` |").contains("`x \\| <img src=y>`"));
        let mut out = String::new();
        code_span("", &mut out);
        assert_eq!(out, "", "no backticks without a partner");
    }

    #[test]
    fn text_means_the_same_after_it_was_read_again() {
        for text in [
            "a *b* **c** `d` ~~e~~ [f](https://a.example/g)",
            "1\\. no list",
            "\\# no heading\n\\- no item",
            "\\<script> &amp;lt; \\[x\\] snake_case \\_a\\_ a\\|b",
            "- a\n  - b\n\n    c\n- d",
            "> q\n>\n> - r",
            "| a | b |\n|---|:-:|\n| 1 | `x` |",
            "````\n```\n````",
            "`` a`b ``",
        ] {
            let before = crate::prose(text);
            let mut written = String::new();
            nodes(&before, "", &mut written);
            let after = crate::prose(&written);
            let html = |nodes: &[ViewNode]| {
                let mut out = String::new();
                crate::html::nodes(nodes, &mut out);
                out
            };
            assert_eq!(html(&after), html(&before), "{text}\n{written}");
        }
    }
}
