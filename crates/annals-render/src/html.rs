//! HTML from nodes. Everything is escaped here, and tags and attributes come from this file alone.

use std::fmt::Write;

use annals_proto::{ViewAlign, ViewChange, ViewInline, ViewMark, ViewNode, ViewSpan};

/// Writes nodes as HTML. Images are named, not shown.
pub fn nodes(nodes: &[ViewNode], out: &mut String) {
    nodes_with(nodes, out, &|_| None);
}

/// Writes nodes as HTML; `image` returns the media type and the base64 of the image that is a part of the row.
pub fn nodes_with(
    nodes: &[ViewNode],
    out: &mut String,
    image: &dyn Fn(usize) -> Option<(&'static str, String)>,
) {
    for node in nodes {
        node_with(node, out, image);
    }
}

/// Writes text with the characters escaped that have a meaning in HTML.
pub fn escape(text: &str, out: &mut String) {
    out.reserve(text.len());
    let mut written = 0;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        let escaped = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        out.push_str(escaped);
        written = at + 1;
    }
    out.push_str(&text[written..]);
}

fn node_with(node: &ViewNode, out: &mut String, image: &dyn Fn(usize) -> Option<(&'static str, String)>) {
    match node {
        ViewNode::P { c } => element("p", c, out),
        ViewNode::H { level, c } => {
            element(["h1", "h2", "h3", "h4", "h5", "h6"][usize::from(level.clamp(&1, &6) - 1)], c, out);
        }
        ViewNode::Hr => out.push_str("<hr>\n"),
        ViewNode::List { start, items, done } => list(*start, items, done, out, image),
        ViewNode::Quote { c } => {
            out.push_str("<blockquote>\n");
            nodes_with(c, out, image);
            out.push_str("</blockquote>\n");
        }
        ViewNode::Table { align, head, rows } => table(align, head, rows, out),
        ViewNode::Code { lines, first, .. } => code(lines, *first, out),
        ViewNode::Ansi { lines } => {
            out.push_str("<pre class=\"ansi\">");
            span_lines(lines, out);
            out.push_str("</pre>\n");
        }
        ViewNode::Diff { path, hunks, .. } => diff(path.as_deref(), hunks, out),
        ViewNode::Json { text } => pre("json", text, out),
        ViewNode::Text { text } => pre("text", text, out),
        ViewNode::Kv { rows } => {
            out.push_str("<dl>\n");
            for (key, value) in rows {
                out.push_str("<dt>");
                escape(key, out);
                out.push_str("</dt><dd>");
                inlines(value, out);
                out.push_str("</dd>\n");
            }
            out.push_str("</dl>\n");
        }
        ViewNode::Image { media, bytes, part, width, height } => match image(*part) {
            Some((media, data)) => {
                out.push_str("<img alt=\"image\" src=\"data:");
                escape(media, out);
                out.push_str(";base64,");
                escape(&data, out);
                out.push_str("\">\n");
            }
            None => note(&image_name(media, *bytes, *width, *height), out),
        },
        ViewNode::Note { c, .. } => {
            out.push_str("<p class=\"note\">");
            inlines(c, out);
            out.push_str("</p>\n");
        }
        ViewNode::More { lines, .. } => note(&format!("{lines} more lines"), out),
        _ => {}
    }
}

/// Returns an image in words.
pub(crate) fn image_name(media: &str, bytes: u64, width: Option<u32>, height: Option<u32>) -> String {
    let size = width.zip(height).map_or_else(String::new, |(width, height)| format!(", {width} × {height}"));
    format!("image: {media}{size}, {bytes} bytes")
}

fn note(text: &str, out: &mut String) {
    out.push_str("<p class=\"note\">");
    escape(text, out);
    out.push_str("</p>\n");
}

fn element(name: &str, content: &[ViewInline], out: &mut String) {
    out.extend(["<", name, ">"]);
    inlines(content, out);
    out.extend(["</", name, ">\n"]);
}

fn pre(class: &str, text: &str, out: &mut String) {
    out.extend(["<pre class=\"", class, "\">"]);
    // A parser drops a line end after the tag.
    if text.starts_with('\n') {
        out.push('\n');
    }
    escape(text, out);
    out.push_str("</pre>\n");
}

fn list(
    start: Option<u64>,
    items: &[Vec<ViewNode>],
    done: &[Option<bool>],
    out: &mut String,
    image: &dyn Fn(usize) -> Option<(&'static str, String)>,
) {
    let name = if start.is_some() { "ol" } else { "ul" };
    out.extend(["<", name]);
    if let Some(start) = start.filter(|start| *start != 1) {
        write!(out, " start=\"{start}\"").expect("text takes more text");
    }
    if !done.is_empty() {
        out.push_str(" class=\"tasks\"");
    }
    out.push_str(">\n");
    for (at, item) in items.iter().enumerate() {
        out.push_str(match done.get(at).copied().flatten() {
            Some(true) => "<li class=\"done\">",
            Some(false) => "<li class=\"open\">",
            None => "<li>",
        });
        nodes_with(item, out, image);
        out.push_str("</li>\n");
    }
    out.extend(["</", name, ">\n"]);
}

fn table(align: &[ViewAlign], head: &[Vec<ViewInline>], rows: &[Vec<Vec<ViewInline>>], out: &mut String) {
    out.push_str("<div class=\"wide\"><table><thead>");
    table_row("th", align, head, out);
    out.push_str("</thead><tbody>\n");
    for row in rows {
        table_row("td", align, row, out);
        out.push('\n');
    }
    out.push_str("</tbody></table></div>\n");
}

/// Writes a row of a table; `name` is that of the elements of its cells.
fn table_row(name: &str, align: &[ViewAlign], cells: &[Vec<ViewInline>], out: &mut String) {
    out.push_str("<tr>");
    for (at, cell) in cells.iter().enumerate() {
        out.extend(["<", name]);
        match align.get(at) {
            Some(ViewAlign::Centre) => out.push_str(" class=\"c\""),
            Some(ViewAlign::Right) => out.push_str(" class=\"r\""),
            _ => {}
        }
        out.push('>');
        inlines(cell, out);
        out.extend(["</", name, ">"]);
    }
    out.push_str("</tr>");
}

fn code(lines: &[Vec<ViewSpan>], first: Option<u64>, out: &mut String) {
    let Some(first) = first else {
        out.push_str("<pre class=\"code\">");
        span_lines(lines, out);
        return out.push_str("</pre>\n");
    };
    let width = (first + lines.len() as u64).to_string().len();
    out.push_str("<pre class=\"code\">");
    for (at, line) in lines.iter().enumerate() {
        write!(out, "<i>{:>width$}</i> ", first + at as u64).expect("text takes more text");
        spans(line, out);
        out.push('\n');
    }
    out.push_str("</pre>\n");
}

fn span_lines(lines: &[Vec<ViewSpan>], out: &mut String) {
    if lines.first().is_some_and(Vec::is_empty) {
        out.push('\n');
    }
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        spans(line, out);
    }
}

fn spans(spans: &[ViewSpan], out: &mut String) {
    for span in spans {
        match span {
            ViewSpan::Text(text) => escape(text, out),
            ViewSpan::Marked(class, text) => {
                out.push_str("<span class=\"");
                escape(class, out);
                out.push_str("\">");
                escape(text, out);
                out.push_str("</span>");
            }
        }
    }
}

fn diff(path: Option<&str>, hunks: &[annals_proto::ViewHunk], out: &mut String) {
    out.push_str("<div class=\"diff\">");
    if let Some(path) = path {
        out.push_str("<div class=\"path\">");
        escape(path, out);
        out.push_str("</div>");
    }
    out.push_str("<pre>");
    for (at, hunk) in hunks.iter().enumerate() {
        if at > 0 {
            out.push_str("<span class=\"cut\">⋯\n</span>");
        }
        let (mut old, mut new) = (hunk.old, hunk.new);
        for line in &hunk.lines {
            let (class, sign, number) = match line.k {
                ViewChange::Added => ("add", '+', new),
                ViewChange::Removed => ("del", '-', old),
                _ => ("same", ' ', new),
            };
            old += u64::from(old > 0 && line.k != ViewChange::Added);
            new += u64::from(new > 0 && line.k != ViewChange::Removed);
            out.extend(["<span class=\"", class, "\"><i>"]);
            if number > 0 {
                write!(out, "{number:>4}").expect("text takes more text");
            }
            out.push_str("</i> ");
            out.push(sign);
            out.push(' ');
            spans(&line.s, out);
            out.push_str("\n</span>");
        }
    }
    out.push_str("</pre></div>\n");
}

/// Writes text inside of a paragraph.
pub fn inlines(content: &[ViewInline], out: &mut String) {
    for inline in content {
        match inline {
            ViewInline::Text(text) => escape(text, out),
            ViewInline::Mark(mark) => match mark {
                ViewMark::Strong { c } => wrapped("strong", c, out),
                ViewMark::Em { c } => wrapped("em", c, out),
                ViewMark::Del { c } => wrapped("del", c, out),
                ViewMark::Code { c } => wrapped("code", c, out),
                ViewMark::Link { href, c } => match crate::link::checked(href) {
                    // Nodes may come from elsewhere, so that the address is checked where it becomes one.
                    Some(href) => {
                        out.push_str("<a href=\"");
                        escape(&href, out);
                        out.push_str("\" rel=\"noopener noreferrer nofollow\">");
                        inlines(c, out);
                        out.push_str("</a>");
                    }
                    None => inlines(c, out),
                },
                ViewMark::Br => out.push_str("<br>\n"),
                _ => {}
            },
        }
    }
}

fn wrapped(name: &str, content: &[ViewInline], out: &mut String) {
    out.extend(["<", name, ">"]);
    inlines(content, out);
    out.extend(["</", name, ">"]);
}
