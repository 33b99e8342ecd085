//! Markdown as nodes. Raw HTML stays text, and only links with a checked scheme are links.

use annals_proto::{ViewAlign, ViewInline, ViewMark, ViewNode};
use comrak::nodes::{AstNode, ListType, NodeValue, TableAlignment};
use comrak::{Arena, Options, parse_document};

use crate::language::Language;
use crate::{Target, floor, inline, link, plain};

/// The most bytes that are read as Markdown; the rest is plain text.
const LONGEST: usize = 128 << 10;
/// Deeper structure is plain text.
const DEEPEST: usize = 16;
/// The most nodes of a text; the rest is plain text.
const MOST_NODES: usize = 20_000;

/// Renders Markdown.
pub fn prose(text: &str) -> Vec<ViewNode> {
    prose_for(text, Target::Viewer)
}

/// Renders Markdown for a target.
pub(crate) fn prose_for(text: &str, target: Target) -> Vec<ViewNode> {
    if let Some(paragraphs) = paragraphs(text) {
        return paragraphs;
    }
    if is_bomb(text) {
        return vec![plain(text)];
    }
    let end = floor(text, LONGEST);
    // A line is not split between Markdown and plain text.
    let end = if end < text.len() { text[..end].rfind('\n').map_or(end, |at| at + 1) } else { end };
    let arena = Arena::new();
    let root = parse_document(&arena, &text[..end], &options(&text[..end]));
    let mut builder = Builder { left: MOST_NODES, target };
    let mut nodes = builder.blocks(root, 0);
    if end < text.len() {
        nodes.push(plain(&text[end..]));
    }
    nodes
}

/// Texts up to this many bytes are read without a parser if they have no signs.
const LONGEST_PLAIN: usize = 4 << 10;

/// Returns the paragraphs of a text that has nothing else. Half of all replies are so short and plain.
fn paragraphs(text: &str) -> Option<Vec<ViewNode>> {
    if text.len() > LONGEST_PLAIN || !text.bytes().all(is_plain) {
        return None;
    }
    if text.contains("www.") || text.contains("://") {
        return None;
    }
    let mut nodes = Vec::new();
    let mut from = None;
    let mut at = 0;
    for line in text.split('\n') {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let is_list = digits > 0 && matches!(line.as_bytes().get(digits), Some(b'.' | b')'));
        if line.starts_with([' ', '-', ':']) || line.ends_with(' ') || is_list {
            return None;
        }
        if !line.is_empty() {
            from.get_or_insert(at);
        } else if let Some(from) = from.take() {
            nodes.push(paragraph(&text[from..at - 1]));
        }
        at += line.len() + 1;
    }
    nodes.extend(from.map(|from| paragraph(text[from..].trim_end_matches('\n'))));
    Some(nodes)
}

/// Returns whether a byte begins nothing in Markdown, wherever it stands between words.
fn is_plain(byte: u8) -> bool {
    let is_sign =
        matches!(byte, b'"' | b'\'' | b'(' | b')' | b',' | b'.' | b':' | b';' | b'?' | b'%' | b'/' | b'-');
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b' ' | b'\n') || is_sign
}

fn paragraph(text: &str) -> ViewNode {
    ViewNode::P { c: vec![inline(text)] }
}

fn options(text: &str) -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    // Bare addresses have one of these; a search for them in every word takes long.
    options.extension.autolink = text.contains("://") || text.contains("www.") || text.contains('@');
    options
}

/// Returns whether a line opens so many containers, or has so many brackets, that a parser of Markdown would take more than linear time.
fn is_bomb(text: &str) -> bool {
    let brackets = memchr::memchr3_iter(b'[', b'!', b'<', text.as_bytes()).count();
    brackets > 20_000 || text.split('\n').any(|line| opened_containers(line) > 2 * DEEPEST && !is_rule(line))
}

/// Returns how many quotes and lists a line may open.
fn opened_containers(line: &str) -> usize {
    let start = line.bytes().take(4096).take_while(|byte| {
        matches!(byte, b'>' | b'-' | b'*' | b'+' | b' ' | b'\t' | b'.' | b')' | b'0'..=b'9')
    });
    start.filter(|byte| matches!(byte, b'>' | b'-' | b'*' | b'+' | b'.' | b')')).count()
}

/// Returns whether a line is a rule of hyphens or asterisks.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() > 2
        && (line.bytes().all(|byte| matches!(byte, b'-' | b' '))
            || line.bytes().all(|byte| matches!(byte, b'*' | b' ')))
}

struct Builder {
    left: usize,
    target: Target,
}

impl Builder {
    /// Counts a node; returns whether there may be one more.
    fn takes(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    fn blocks<'a>(&mut self, parent: &'a AstNode<'a>, depth: usize) -> Vec<ViewNode> {
        let mut nodes = Vec::new();
        for child in parent.children() {
            if depth > DEEPEST || !self.takes() {
                nodes.push(plain(&text_of(child)));
                continue;
            }
            self.block(child, depth, &mut nodes);
        }
        nodes
    }

    fn block<'a>(&mut self, node: &'a AstNode<'a>, depth: usize, nodes: &mut Vec<ViewNode>) {
        match &node.data.borrow().value {
            NodeValue::Paragraph => nodes.push(ViewNode::P { c: self.inlines(node, depth) }),
            NodeValue::Heading(heading) => {
                nodes.push(ViewNode::H { level: heading.level.clamp(1, 6), c: self.inlines(node, depth) });
            }
            NodeValue::ThematicBreak => nodes.push(ViewNode::Hr),
            NodeValue::BlockQuote => nodes.push(ViewNode::Quote { c: self.blocks(node, depth + 1) }),
            NodeValue::CodeBlock(block) => {
                let name = block.info.split([' ', ',', '{', ':']).next().unwrap_or_default();
                nodes.push(fenced(name, &block.literal, self.target));
            }
            NodeValue::HtmlBlock(block) => nodes.push(plain(block.literal.trim_end())),
            NodeValue::List(list) => {
                let start = (list.list_type == ListType::Ordered).then_some(list.start as u64);
                nodes.push(self.list(node, start, depth));
            }
            NodeValue::Table(table) => {
                let align = table.alignments.iter().copied().map(alignment).collect();
                nodes.push(self.table(node, align, depth));
            }
            // Not enabled, or inside of the others.
            _ => nodes.extend(self.blocks(node, depth + 1)),
        }
    }

    fn list<'a>(&mut self, node: &'a AstNode<'a>, start: Option<u64>, depth: usize) -> ViewNode {
        let (mut items, mut done) = (Vec::new(), Vec::new());
        for item in node.children() {
            done.push(match item.data.borrow().value {
                NodeValue::TaskItem(symbol) => Some(symbol.is_some()),
                _ => None,
            });
            items.push(self.blocks(item, depth + 1));
        }
        if done.iter().all(Option::is_none) {
            done.clear();
        }
        ViewNode::List { start, items, done }
    }

    fn table<'a>(&mut self, node: &'a AstNode<'a>, align: Vec<ViewAlign>, depth: usize) -> ViewNode {
        let (mut head, mut rows) = (Vec::new(), Vec::new());
        for row in node.children() {
            let mut cells: Vec<_> = row.children().map(|cell| self.inlines(cell, depth)).collect();
            cells.resize(align.len(), Vec::new());
            if matches!(row.data.borrow().value, NodeValue::TableRow(true)) {
                head = cells;
            } else if self.takes() {
                rows.push(cells);
            }
        }
        head.resize(align.len(), Vec::new());
        ViewNode::Table { align, head, rows }
    }

    fn inlines<'a>(&mut self, parent: &'a AstNode<'a>, depth: usize) -> Vec<ViewInline> {
        let mut inlines = Vec::new();
        for child in parent.children() {
            if depth > DEEPEST || !self.takes() {
                push_text(&mut inlines, &text_of(child));
                continue;
            }
            self.inline(child, depth + 1, &mut inlines);
        }
        inlines
    }

    fn inline<'a>(&mut self, node: &'a AstNode<'a>, depth: usize, inlines: &mut Vec<ViewInline>) {
        let mark = match &node.data.borrow().value {
            NodeValue::Text(text) => return push_text(inlines, text),
            NodeValue::SoftBreak => return push_text(inlines, "\n"),
            NodeValue::HtmlInline(text) | NodeValue::Raw(text) => return push_text(inlines, text),
            NodeValue::LineBreak => ViewMark::Br,
            NodeValue::Code(code) => ViewMark::Code { c: vec![inline(&code.literal)] },
            NodeValue::Strong => ViewMark::Strong { c: self.inlines(node, depth) },
            NodeValue::Emph => ViewMark::Em { c: self.inlines(node, depth) },
            NodeValue::Strikethrough => ViewMark::Del { c: self.inlines(node, depth) },
            // An image would be loaded from somewhere else: it is a link.
            NodeValue::Link(to) | NodeValue::Image(to) => {
                let mut c = self.inlines(node, depth);
                let Some(href) = link::checked(&to.url) else { return inlines.append(&mut c) };
                if c.is_empty() {
                    c.push(inline(&href));
                }
                ViewMark::Link { href, c }
            }
            _ => return inlines.append(&mut self.inlines(node, depth)),
        };
        inlines.push(ViewInline::Mark(mark));
    }
}

/// Renders a fenced block; a name that is no language stays as it is.
fn fenced(name: &str, literal: &str, target: Target) -> ViewNode {
    let mut node = target.code(literal, Language::named(name), None);
    if let ViewNode::Code { lang: lang @ None, .. } = &mut node {
        let name: String =
            name.chars().take(30).filter(|c| c.is_alphanumeric() || "+-_#.".contains(*c)).collect();
        *lang = Some(name).filter(|name| !name.is_empty());
    }
    node
}

fn push_text(inlines: &mut Vec<ViewInline>, text: &str) {
    let text = crate::visible(text);
    match inlines.last_mut() {
        Some(ViewInline::Text(last)) => last.push_str(&text),
        _ => inlines.push(ViewInline::Text(text.into_owned())),
    }
}

fn alignment(alignment: TableAlignment) -> ViewAlign {
    match alignment {
        TableAlignment::None => ViewAlign::None,
        TableAlignment::Left => ViewAlign::Left,
        TableAlignment::Center => ViewAlign::Centre,
        TableAlignment::Right => ViewAlign::Right,
    }
}

/// Returns all text below a node.
fn text_of<'a>(node: &'a AstNode<'a>) -> String {
    let mut text = String::new();
    for node in node.descendants() {
        match &node.data.borrow().value {
            NodeValue::Text(found) => text.push_str(found),
            NodeValue::Code(code) => text.push_str(&code.literal),
            NodeValue::HtmlInline(found) | NodeValue::Raw(found) => text.push_str(found),
            NodeValue::CodeBlock(block) => text.push_str(&block.literal),
            NodeValue::HtmlBlock(block) => text.push_str(&block.literal),
            NodeValue::SoftBreak | NodeValue::LineBreak => text.push('\n'),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        crate::html::nodes(&prose(text), &mut out);
        out
    }

    #[test]
    fn markdown_has_its_usual_meaning() {
        assert_eq!(
            html(
                "# T\n\n1. a\n2. b\n\n- [x] done\n- [ ] open\n\n> q\n\n| a | b |\n|---|--:|\n| 1 | ~~2~~ |\n\nx\\\ny https://a.example/b"
            ),
            "<h1>T</h1>\n<ol>\n<li><p>a</p>\n</li>\n<li><p>b</p>\n</li>\n</ol>\n<ul class=\"tasks\">\n<li class=\"done\"><p>done</p>\n</li>\n<li class=\"open\"><p>open</p>\n</li>\n</ul>\n<blockquote>\n<p>q</p>\n</blockquote>\n<div class=\"wide\"><table><thead><tr><th>a</th><th class=\"r\">b</th></tr></thead><tbody>\n<tr><td>1</td><td class=\"r\"><del>2</del></td></tr>\n</tbody></table></div>\n<p>x<br>\ny <a href=\"https://a.example/b\" rel=\"noopener noreferrer nofollow\">https://a.example/b</a></p>\n"
        );
    }

    #[test]
    fn plain_texts_are_read_as_the_parser_does() {
        let mut random = fastrand::Rng::with_seed(3);
        let pieces = [
            "a",
            "B",
            "7",
            "12",
            "1.",
            "2)",
            " ",
            "  ",
            "\n",
            "\n\n",
            "-",
            "- ",
            "--",
            "---",
            ".",
            ",",
            ":",
            ":-",
            "(",
            ")",
            "/",
            "?",
            "%",
            "'",
            "\"",
            "é",
            "茶",
            "\u{85}",
            "\u{a0}",
            "\u{202e}",
            "www.",
            "https://a.b",
            "www",
            ":/",
        ];
        let mut read = 0;
        for _ in 0..20_000 {
            let text: String =
                (0..random.usize(..12)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let Some(found) = paragraphs(&text) else { continue };
            let arena = Arena::new();
            let root = parse_document(&arena, &text, &options(&text));
            let parsed = Builder { left: MOST_NODES, target: Target::Viewer }.blocks(root, 0);
            assert_eq!(found, parsed, "{text:?}");
            read += 1;
        }
        assert!(read > 1_000, "{read}");
    }

    #[test]
    fn html_is_text_and_images_are_links() {
        assert_eq!(
            html("<div onclick=x>\n\n<b>y</b>"),
            "<pre class=\"text\">&lt;div onclick=x&gt;</pre>\n<p>&lt;b&gt;y&lt;/b&gt;</p>\n"
        );
        assert_eq!(
            html("![a](https://a.example/p.png) ![b](data:image/svg+xml,x)"),
            "<p><a href=\"https://a.example/p.png\" rel=\"noopener noreferrer nofollow\">a</a> b</p>\n"
        );
    }

    #[test]
    fn nested_bombs_are_plain_text() {
        for bomb in [
            ">".repeat(50_000),
            "- ".repeat(50_000) + "a",
            "[".repeat(100_000),
            "*a ".repeat(30_000),
            "`".repeat(50_000) + "a",
            "![".repeat(50_000),
            "<".repeat(60_000),
            "a**b".repeat(30_000),
            "|".repeat(30_000) + "\n" + &"|-".repeat(15_000),
        ] {
            let nodes = prose(&bomb);
            assert!(crate::line_count(&nodes) < 2 * MOST_NODES, "{:?}", &bomb[..4]);
        }
        assert_eq!(prose("---"), [ViewNode::Hr]);
        assert!(matches!(prose(&"-".repeat(80))[..], [ViewNode::Hr]));
    }
}
