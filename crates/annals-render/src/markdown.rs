//! Markdown from nodes, as forges display it. Text is escaped so that it means nothing else there.
//!
//! Raw HTML is active in Markdown, so that no sign of a text may end a piece of code early, or keep one from beginning: `<script>` in code
//! would be HTML then. What could do that besides signs that are escaped is written in another way: bare addresses, which swallow what
//! follows them; numbers that are too long for a list; marks that together would be a fence.

use annals_proto::{ViewAlign, ViewHunk, ViewInline, ViewMark, ViewNode};

use crate::text::span_text;

/// Longer numbers do not begin a list.
const GREATEST_NUMBER: u64 = 999_999_999;
/// Longer addresses are not links unless they are marked as such.
const LONGEST_ADDRESS: usize = 2048;

/// Writes nodes as Markdown, each line after `indent`.
pub fn nodes(nodes: &[ViewNode], indent: &str, out: &mut String) {
    write_nodes(nodes, Indent { first: indent, rest: indent }, out);
}

/// Writes text so that none of its characters has a meaning in Markdown or HTML, on one line.
pub fn escape(text: &str, out: &mut String) {
    let line_start = out.len();
    // It may stand in a link, where addresses are none.
    Words { line_start, depth: 1, ..Words::on_one_line(out) }.text(text, false);
}

/// What stands before the first line of something, and before its other lines.
#[derive(Clone, Copy)]
struct Indent<'i> {
    first: &'i str,
    rest: &'i str,
}

impl Indent<'_> {
    /// Returns what stands before the lines after the first one.
    fn after_first(self) -> Self {
        Self { first: self.rest, ..self }
    }
}

/// Writes nodes with empty lines between them. Returns whether there was anything to write.
fn write_nodes(nodes: &[ViewNode], mut indent: Indent<'_>, out: &mut String) -> bool {
    let mut is_first = true;
    for node in nodes {
        let start = out.len();
        if !is_first {
            out.extend([indent.rest.trim_end(), "\n"]);
        }
        if write_node(node, indent, out) {
            indent = indent.after_first();
            is_first = false;
        } else {
            out.truncate(start);
        }
    }
    !is_first
}

/// What a character may mean in Markdown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Nothing,
    Space,
    LineEnd,
    Always,
    /// Emphasis, unless it is inside of a word.
    Underscore,
    /// Something at the start of a line only.
    AtStart,
    Exclamation,
    /// After a number at the start of a line, it begins a list.
    EndOfNumber,
    /// The same, and an address may begin with `www.`.
    Point,
    /// An address may begin with `https://`.
    Colon,
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
    table[b' ' as usize] = Meaning::Space;
    table[b'\t' as usize] = Meaning::Space;
    table[b'\n' as usize] = Meaning::LineEnd;
    table[b'\r' as usize] = Meaning::LineEnd;
    table[b'_' as usize] = Meaning::Underscore;
    table[b'!' as usize] = Meaning::Exclamation;
    table[b')' as usize] = Meaning::EndOfNumber;
    table[b'.' as usize] = Meaning::Point;
    table[b':' as usize] = Meaning::Colon;
    table
};

/// Whether a character means nothing after the start of a line.
const IS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut fill = 0;
    while fill < table.len() {
        table[fill] = matches!(MEANING[fill], Meaning::Nothing | Meaning::Space);
        fill += 1;
    }
    table
};

fn meaning(byte: u8) -> Meaning {
    MEANING[usize::from(byte)]
}

/// Writes text inside of a paragraph, a heading or a cell.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Words<'o> {
    out: &'o mut String,
    /// What stands before the other lines of a paragraph; `None` if everything stands on one line.
    indent: Option<&'o str>,
    /// Where the line begins that is being written.
    line_start: usize,
    /// Line ends that are written if something follows them: some keep the lines of a text apart, and others do not.
    breaks: usize,
    ends_line: bool,
    /// Marks that are written before the next visible character: between a mark and its text stands no white space.
    marks: Vec<&'static str>,
    /// In how many marks and links the text is.
    depth: usize,
    in_link: bool,
    is_struck: bool,
    in_cell: bool,
}

impl<'o> Words<'o> {
    /// Writes a paragraph.
    fn of_lines(out: &'o mut String, indent: &'o str) -> Self {
        let line_start = out.len();
        Self { indent: Some(indent), line_start, ..Self::on_one_line(out) }
    }

    /// Writes text that follows something else, on the same line.
    fn on_one_line(out: &'o mut String) -> Self {
        Self {
            out,
            indent: None,
            line_start: usize::MAX,
            breaks: 0,
            ends_line: false,
            marks: Vec::new(),
            depth: 0,
            in_link: false,
            is_struck: false,
            in_cell: false,
        }
    }

    fn inlines(&mut self, content: &[ViewInline]) {
        for (at, inline) in content.iter().enumerate() {
            match inline {
                ViewInline::Text(text) => {
                    let is_apart = matches!(content.get(at + 1), None | Some(ViewInline::Mark(ViewMark::Br)));
                    self.text(text, is_apart);
                }
                ViewInline::Mark(ViewMark::Br) => self.breaks += 1,
                ViewInline::Mark(ViewMark::Strong { c }) => self.wrapped("**", c),
                ViewInline::Mark(ViewMark::Em { c }) => self.wrapped("*", c),
                ViewInline::Mark(ViewMark::Del { c }) => self.struck(c),
                ViewInline::Mark(ViewMark::Code { c }) => self.code(&crate::text::words(c)),
                ViewInline::Mark(ViewMark::Link { href, c }) => self.link(href, c),
                ViewInline::Mark(_) => {}
            }
        }
    }

    fn nested(&mut self, content: &[ViewInline]) {
        self.depth += 1;
        self.inlines(content);
        self.depth -= 1;
    }

    /// Writes the line ends and the marks before something visible.
    fn begin(&mut self) {
        let breaks = std::mem::take(&mut self.breaks);
        let ends_line = std::mem::take(&mut self.ends_line);
        if (breaks > 0 || ends_line) && self.out.len() != self.line_start {
            self.end_lines(breaks);
        }
        for mark in self.marks.drain(..) {
            self.out.push_str(mark);
        }
    }

    fn end_lines(&mut self, breaks: usize) {
        let Some(indent) = self.indent else { return self.out.push(' ') };
        if breaks == 0 {
            self.out.extend(["\n", indent]);
        } else if self.ends_in_address() {
            self.out.push(' ');
        }
        for _ in 0..breaks {
            self.out.extend(["\\\n", indent]);
        }
        self.line_start = self.out.len();
    }

    /// Returns whether the last word may be an address, which would swallow a backslash after it.
    fn ends_in_address(&self) -> bool {
        let line = &self.out[self.line_start.min(self.out.len())..];
        let word = line.rsplit([' ', '\t']).next().unwrap_or_default();
        word.contains("://") || word.contains("www.")
    }

    /// Writes text; `is_apart` says that nothing but a line end or the end of a mark follows it.
    fn text(&mut self, text: &str, is_apart: bool) {
        let is_apart = is_apart && self.depth == 0;
        let Some(text) = self.begun(text) else { return };
        let bytes = text.as_bytes();
        self.out.reserve(bytes.len() + bytes.len() / 16);
        // The rest of an address whose beginning was another text.
        if matches!(bytes[0], b'/' | b'.') && [":", ":/", "www"].iter().any(|start| self.out.ends_with(start))
        {
            self.out.push('\\');
        }
        let (mut at, mut written) = (0, 0);
        // Most characters mean nothing, and are copied together.
        while let Some(plain) = bytes[at..].iter().position(|&byte| !IS_PLAIN[usize::from(byte)]) {
            at += plain;
            let is_escaped = match meaning(bytes[at]) {
                Meaning::Nothing | Meaning::Space => false,
                Meaning::LineEnd => {
                    self.out.push_str(&text[written..at]);
                    at += spaces(&bytes[at..]);
                    written = at;
                    self.ends_line = true;
                    if at < bytes.len() {
                        self.begin();
                    }
                    continue;
                }
                Meaning::Always => true,
                Meaning::Underscore => !self.is_inside_word(&text[..at], &text[at + 1..]),
                Meaning::AtStart => at == written && self.out.len() == self.line_start,
                // Before a link, it makes an image of it; the link may follow as another inline.
                Meaning::Exclamation => bytes.get(at + 1).is_none_or(|&next| next == b'['),
                Meaning::EndOfNumber => self.ends_number(&text[written..at]),
                Meaning::Point => {
                    self.ends_number(&text[written..at])
                        || self.ends_with("www", &text[..at]) && !self.is_address(&bytes[at + 1..], is_apart)
                }
                Meaning::Colon => {
                    bytes[at + 1..].starts_with(b"//") && !self.is_address(&bytes[at + 3..], is_apart)
                }
            };
            if is_escaped {
                self.out.extend([&text[written..at], "\\"]);
                written = at;
            }
            at += 1;
        }
        self.out.push_str(&text[written..]);
    }

    /// Writes what stands before a text, and returns the text without the white space that is not part of it; `None` if it has nothing else.
    fn begun<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let is_at_start = self.out.len() == self.line_start;
        if self.marks.is_empty() && self.breaks == 0 && !self.ends_line && !is_at_start {
            return Some(text).filter(|text| !text.is_empty());
        }
        let shown = if self.marks.is_empty() { &text[spaces(text.as_bytes())..] } else { text.trim_start() };
        let before = &text[..text.len() - shown.len()];
        if before.contains(['\n', '\r']) {
            self.ends_line = true;
        } else if !is_at_start && self.breaks == 0 && !self.ends_line {
            self.out.push_str(before);
        }
        if shown.is_empty() {
            return None;
        }
        self.begin();
        Some(shown)
    }

    /// Returns whether a character stands between two of a word: between two texts, or after what was written before.
    fn is_inside_word(&self, before: &str, after: &str) -> bool {
        let before = before.chars().next_back().or_else(|| self.out.chars().next_back());
        before.is_some_and(char::is_alphanumeric) && after.chars().next().is_some_and(char::is_alphanumeric)
    }

    /// Returns whether the line is a number, with a text that was not written yet.
    fn ends_number(&self, text: &str) -> bool {
        let Some(line) = self.out.get(self.line_start..) else { return false };
        (1..10).contains(&(line.len() + text.len())) && has_digits_only(line) && has_digits_only(text)
    }

    /// Returns whether what was written and a text after it end so.
    fn ends_with(&self, end: &str, text: &str) -> bool {
        match text.len() {
            0 => self.out.ends_with(end),
            length if length < end.len() => {
                end.ends_with(text) && self.out.ends_with(&end[..end.len() - length])
            }
            _ => text.ends_with(end),
        }
    }

    /// Returns whether the rest of an address may stand as it is: forges make a link of it, which goes on up to the next white space,
    /// whatever stands there. So it must be of characters that are not escaped, and must end.
    fn is_address(&self, rest: &[u8], is_apart: bool) -> bool {
        for (at, &byte) in rest.iter().enumerate().take(LONGEST_ADDRESS) {
            let is_plain = match meaning(byte) {
                Meaning::Nothing
                | Meaning::AtStart
                | Meaning::EndOfNumber
                | Meaning::Point
                | Meaning::Colon => true,
                Meaning::Underscore => {
                    at > 0 && is_alphanumeric_at(rest, at - 1) && is_alphanumeric_at(rest, at + 1)
                }
                Meaning::Space | Meaning::LineEnd => return self.depth == 0,
                Meaning::Always | Meaning::Exclamation => false,
            };
            if !is_plain {
                return false;
            }
        }
        is_apart && rest.len() <= LONGEST_ADDRESS
    }

    fn wrapped(&mut self, mark: &'static str, content: &[ViewInline]) {
        self.marks.push(mark);
        let waiting = self.marks.len();
        self.nested(content);
        if self.marks.len() == waiting {
            // There was nothing to mark.
            self.marks.pop();
            return;
        }
        let end = self.out.trim_end().len();
        self.out.insert_str(end, mark);
    }

    /// Writes text that is struck through. Tildes of two such marks beside each other would be a fence at the start of a line.
    fn struck(&mut self, content: &[ViewInline]) {
        if self.is_struck {
            return self.nested(content);
        }
        self.is_struck = true;
        self.wrapped("~~", content);
        self.is_struck = false;
    }

    fn link(&mut self, href: &str, content: &[ViewInline]) {
        // A link in a link would end it.
        let Some(href) = crate::link::checked(href).filter(|_| !self.in_link) else {
            return self.nested(content);
        };
        self.begin();
        let is_its_text = matches!(content, [ViewInline::Text(text)] if *text == href);
        if is_its_text && !href.contains(['|', '&', '@']) {
            return self.out.extend(["<", &href, ">"]);
        }
        self.out.push('[');
        self.in_link = true;
        self.nested(content);
        self.in_link = false;
        self.out.push_str("](");
        for character in href.chars() {
            match character {
                '(' => self.out.push_str("%28"),
                ')' => self.out.push_str("%29"),
                '|' => self.out.push_str("%7C"),
                '&' => self.out.push_str("&amp;"),
                other => self.out.push(other),
            }
        }
        self.out.push(')');
    }

    /// Writes code between as many backticks as it takes.
    fn code(&mut self, text: &str) {
        if text.is_empty() {
            // Two backticks would begin a span that another one ends.
            return;
        }
        self.begin();
        if self.out.ends_with('`') {
            // The backticks would count together with those of the code before.
            self.out.push(' ');
        }
        let (mut longest, mut run) = (0, 0);
        for byte in text.bytes() {
            run = if byte == b'`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        let ticks = "`".repeat(longest + 1);
        let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        self.out.extend([&*ticks, space]);
        for (at, line) in text.split(['\n', '\r']).enumerate() {
            if at > 0 {
                self.out.push(' ');
            }
            for (at, piece) in line.split('|').enumerate() {
                if at > 0 {
                    // Tables ask for it; bars of other text are escaped anyway.
                    self.out.push_str(if self.in_cell { "\\|" } else { "|" });
                }
                self.out.push_str(piece);
            }
        }
        self.out.extend([space, &*ticks]);
    }
}

/// Returns how many characters of white space bytes begin with.
fn spaces(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| matches!(meaning(byte), Meaning::Space | Meaning::LineEnd)).count()
}

fn has_digits_only(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_alphanumeric_at(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_alphanumeric)
}

fn leading_ticks(line: &str) -> usize {
    line.trim_start().bytes().take_while(|&byte| byte == b'`').count()
}

/// Writes code between fences that are longer than any in it.
fn fence(lang: &str, text: &str, indent: Indent<'_>, out: &mut String) {
    // Fewer than three are no fence.
    let has_fence = memchr::memmem::find(text.as_bytes(), b"```").is_some();
    let longest = if has_fence { text.split(['\n', '\r']).map(leading_ticks).max().unwrap_or(0) } else { 0 };
    let fence = "`".repeat(longest.max(2) + 1);
    out.extend([indent.first, &fence, lang, "\n"]);
    if indent.rest.is_empty() {
        out.extend([text, "\n"]);
    } else {
        for line in text.split('\n') {
            out.extend([indent.rest, line, "\n"]);
        }
    }
    out.extend([indent.rest, &fence, "\n"]);
}

/// Writes a node. Returns false if there is nothing to write.
fn write_node(node: &ViewNode, indent: Indent<'_>, out: &mut String) -> bool {
    match node {
        ViewNode::P { c } => {
            out.push_str(indent.first);
            let start = out.len();
            Words::of_lines(out, indent.rest).inlines(c);
            if out.len() == start {
                return false;
            }
            out.push('\n');
        }
        ViewNode::Note { c, .. } => {
            out.push_str(indent.first);
            let start = out.len();
            Words::on_one_line(out).wrapped("*", c);
            if out[start..].trim().is_empty() {
                return false;
            }
            out.push('\n');
        }
        ViewNode::H { level, c } => {
            // The headings of the document stand above those of its texts.
            let level = ["### ", "#### ", "##### ", "###### "][usize::from(*level).clamp(1, 4) - 1];
            out.extend([indent.first, level]);
            let line_start = out.len();
            Words { line_start, ..Words::on_one_line(out) }.inlines(c);
            let before = out[line_start..].trim_end_matches('#');
            if (before.is_empty() || before.ends_with(' ')) && out.ends_with('#') {
                // The signs would end the heading, and not be a part of it.
                out.insert(out.len() - 1, '\\');
            }
            out.push('\n');
        }
        // After the mark of a list, hyphens would be a line that ends it.
        ViewNode::Hr => out.extend([indent.first, "***\n"]),
        ViewNode::List { start, items, done } => list(*start, items, done, indent, out),
        ViewNode::Quote { c } => {
            let [first, rest] = [indent.first, indent.rest].map(|indent| format!("{indent}> "));
            return write_nodes(c, Indent { first: &first, rest: &rest }, out);
        }
        ViewNode::Table { align, head, rows } => table(align, head, rows, indent, out),
        ViewNode::Code { lang, lines, .. } => {
            fence(lang.as_deref().unwrap_or(""), &span_text(lines), indent, out);
        }
        ViewNode::Ansi { lines } => fence("", &span_text(lines), indent, out),
        ViewNode::Diff { hunks, .. } => fence("diff", &diff(hunks), indent, out),
        ViewNode::Json { text } => fence("json", text, indent, out),
        ViewNode::Text { text } => fence("", text, indent, out),
        ViewNode::Kv { rows } => {
            for (at, (key, value)) in rows.iter().enumerate() {
                out.extend([if at == 0 { indent.first } else { indent.rest }, "- "]);
                let mut words = Words::on_one_line(out);
                words.code(key);
                words.out.push_str(": ");
                words.inlines(value);
                out.push('\n');
            }
            return !rows.is_empty();
        }
        ViewNode::Image { media, bytes, width, height, .. } => {
            let name = crate::html::image_name(media, *bytes, *width, *height);
            out.extend([indent.first, "*", &name, "*\n"]);
        }
        ViewNode::More { lines, .. } => {
            out.extend([indent.first, "*", &lines.to_string(), " more lines*\n"]);
        }
        _ => return false,
    }
    true
}

fn list(
    start: Option<u64>,
    items: &[Vec<ViewNode>],
    done: &[Option<bool>],
    indent: Indent<'_>,
    out: &mut String,
) {
    for (at, item) in items.iter().enumerate() {
        let number = start.map(|start| start.saturating_add(at as u64).min(GREATEST_NUMBER));
        let mark = number.map_or_else(|| "- ".to_owned(), |number| format!("{number}. "));
        let task = match done.get(at).copied().flatten() {
            Some(true) => "[x] ",
            Some(false) => "[ ] ",
            None => "",
        };
        let before = if at == 0 { indent.first } else { indent.rest };
        let first = [before, &mark, task].concat();
        let rest = format!("{}{:width$}", indent.rest, "", width = mark.len());
        if !write_nodes(item, Indent { first: &first, rest: &rest }, out) {
            out.extend([first.trim_end(), "\n"]);
        }
    }
}

fn table(
    align: &[ViewAlign],
    head: &[Vec<ViewInline>],
    rows: &[Vec<Vec<ViewInline>>],
    indent: Indent<'_>,
    out: &mut String,
) {
    table_row(head, indent.first, out);
    out.extend([indent.rest, "|"]);
    for align in align {
        out.push_str(match align {
            ViewAlign::Left => " :-- |",
            ViewAlign::Centre => " :-: |",
            ViewAlign::Right => " --: |",
            _ => " --- |",
        });
    }
    out.push('\n');
    for cells in rows {
        table_row(cells, indent.rest, out);
    }
}

fn table_row(cells: &[Vec<ViewInline>], before: &str, out: &mut String) {
    out.extend([before, "|"]);
    for cell in cells {
        out.push(' ');
        Words { in_cell: true, ..Words::on_one_line(out) }.inlines(cell);
        out.push_str(" |");
    }
    out.push('\n');
}

/// Returns the lines of a diff.
fn diff(hunks: &[ViewHunk]) -> String {
    let mut text = String::new();
    crate::text::hunks(hunks, "", &mut text);
    text.truncate(text.trim_end_matches('\n').len());
    text
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
        Words::on_one_line(&mut out).code("");
        assert_eq!(out, "", "no backticks without a partner");
    }

    #[test]
    fn signs_at_the_end_of_a_heading_are_part_of_it() {
        let mut out = String::new();
        nodes(&crate::prose("# \\#\n\n## a #\\#\n\n## C#\n\n###### - d"), "", &mut out);
        assert_eq!(out, "### \\#\n\n#### a #\\#\n\n#### C#\n\n###### \\- d\n");
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
            "**a** ~~*b* c~~ *d **e***\\\nf",
            "see https://a.example/b_c and <https://a.example/?d=e&f=g> (www.a.example)",
            "- a\n\n  > b\n  > 1. c\n  >    - d\n- ***\n- `e`",
            "1. a\n\n   ```\n   b\n\n   c\n   ```\n2. | d |\n   |---|\n   | e |",
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
