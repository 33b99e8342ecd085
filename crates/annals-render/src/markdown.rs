//! Markdown from nodes, as forges display it. Text is escaped so that it means nothing else there.

use std::fmt::Write;

use annals_proto::{ViewAlign, ViewInline, ViewMark, ViewNode, ViewSpan};

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
    let mut at_start = true;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_special =
            matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '@');
        let may_begin = at_start && matches!(character, '#' | '+' | '-' | '=');
        // Before a link, it makes an image of it; the link may follow as another inline.
        let makes_image = character == '!' && rest.peek().is_none_or(|&next| next == '[');
        // A number with a point begins a list.
        let ends_number = matches!(character, '.' | ')') && ends_in_number(out);
        if is_special && !(character == '_' && is_inside_word(out, rest.peek().copied()))
            || may_begin
            || makes_image
            || ends_number
        {
            out.push('\\');
        }
        out.push(character);
        at_start = character == '\n' || at_start && character.is_whitespace();
    }
}

fn is_inside_word(before: &str, next: Option<char>) -> bool {
    before.chars().next_back().is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric)
}

/// Returns whether the last line of a text is a number.
fn ends_in_number(text: &str) -> bool {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let before = &text[..text.len() - digits];
    (1..10).contains(&digits) && before.chars().next_back().is_none_or(|c| c == '\n')
}

/// Writes code between fences that are longer than any in it.
pub fn fence(lang: &str, text: &str, indent: &str, out: &mut String) {
    let longest =
        text.split('\n').map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    out.extend([indent, &fence, lang, "\n"]);
    for line in text.split('\n') {
        out.extend([indent, line, "\n"]);
    }
    out.extend([indent, &fence, "\n"]);
}

fn line(text: &str, indent: &str, out: &mut String) {
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
    let words = words(content);
    if words.trim().is_empty() {
        return;
    }
    out.extend([mark, words.trim(), mark]);
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
    let lines_text = |lines: &[Vec<ViewSpan>]| {
        let line = |spans: &Vec<ViewSpan>| spans.iter().map(ViewSpan::text).collect::<String>();
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    };
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
            fence(lang.as_deref().unwrap_or(""), &lines_text(lines), indent, out);
        }
        ViewNode::Ansi { lines } => fence("", &lines_text(lines), indent, out),
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
