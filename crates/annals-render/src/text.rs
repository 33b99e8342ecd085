//! Plain text from nodes.

use std::borrow::Cow;
use std::fmt::Write;

use annals_proto::{ViewHunk, ViewInline, ViewMark, ViewNode, ViewSpan};

/// Writes nodes as plain text, each line after `indent`.
pub fn nodes(nodes: &[ViewNode], indent: &str, out: &mut String) {
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 && !matches!(node, ViewNode::More { .. } | ViewNode::Note { .. }) {
            out.push('\n');
        }
        node_text(node, indent, out);
    }
}

/// Returns the words of inline text.
pub fn words(content: &[ViewInline]) -> String {
    let mut out = String::new();
    add_words(content, &mut out);
    out
}

fn add_words(content: &[ViewInline], out: &mut String) {
    for inline in content {
        match inline {
            ViewInline::Text(text) => out.push_str(text),
            ViewInline::Mark(ViewMark::Br) => out.push('\n'),
            ViewInline::Mark(ViewMark::Link { href, c }) => {
                let words = words(c);
                out.push_str(&words);
                if words != *href {
                    write!(out, " ({href})").expect("text takes more text");
                }
            }
            ViewInline::Mark(
                ViewMark::Strong { c } | ViewMark::Em { c } | ViewMark::Del { c } | ViewMark::Code { c },
            ) => add_words(c, out),
            ViewInline::Mark(_) => {}
        }
    }
}

/// Returns the text of lines of code or output.
pub(crate) fn span_text(lines: &[Vec<ViewSpan>]) -> Cow<'_, str> {
    if let [line] = lines
        && let [ViewSpan::Text(text)] = &line[..]
    {
        return Cow::Borrowed(text);
    }
    let bytes = lines.iter().map(|line| line.iter().map(|span| span.text().len()).sum::<usize>() + 1).sum();
    let mut text = String::with_capacity(bytes);
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        text.extend(line.iter().map(ViewSpan::text));
    }
    Cow::Owned(text)
}

fn line(text: &str, indent: &str, out: &mut String) {
    for text in text.split('\n') {
        let length = out.len();
        out.push_str(indent);
        out.push_str(text);
        end_line(length, out);
    }
}

/// Ends a line that began at an offset, without white space at its end.
fn end_line(start: usize, out: &mut String) {
    out.truncate(out[start..].trim_end().len() + start);
    out.push('\n');
}

fn node_text(node: &ViewNode, indent: &str, out: &mut String) {
    match node {
        ViewNode::P { c } | ViewNode::Note { c, .. } => line(&words(c), indent, out),
        ViewNode::H { level, c } => {
            line(&format!("{} {}", "#".repeat(usize::from(*level)), words(c)), indent, out);
        }
        ViewNode::Hr => line("----", indent, out),
        ViewNode::List { start, items, done } => {
            for (at, item) in items.iter().enumerate() {
                let mark = match (done.get(at).copied().flatten(), start) {
                    (Some(true), _) => "[x] ".to_owned(),
                    (Some(false), _) => "[ ] ".to_owned(),
                    (None, Some(start)) => format!("{}. ", start + at as u64),
                    (None, None) => "- ".to_owned(),
                };
                let inner = format!("{indent}{}", " ".repeat(mark.len()));
                let mut text = String::new();
                nodes(item, &inner, &mut text);
                let text = text.strip_prefix(&inner).unwrap_or(&text);
                out.extend([indent, &mark, text]);
                if text.is_empty() {
                    out.push('\n');
                }
            }
        }
        ViewNode::Quote { c } => nodes(c, &format!("{indent}> "), out),
        ViewNode::Table { head, rows, .. } => {
            for row in std::iter::once(head).chain(rows) {
                let cells: Vec<String> = row.iter().map(|cell| words(cell).replace('\n', " ")).collect();
                line(&cells.join(" | "), indent, out);
            }
        }
        ViewNode::Code { lines, first, .. } => {
            let text = span_text(lines);
            let Some(first) = first else { return line(&text, indent, out) };
            for (at, text) in text.split('\n').enumerate() {
                line(&format!("{:>5}  {text}", first + at as u64), indent, out);
            }
        }
        ViewNode::Ansi { lines } => {
            line(&span_text(lines), indent, out);
        }
        ViewNode::Diff { hunks: all, .. } => hunks(all, indent, out),
        ViewNode::Json { text } | ViewNode::Text { text } => line(text, indent, out),
        ViewNode::Kv { rows } => {
            for (key, value) in rows {
                line(&format!("{key}: {}", words(value)), indent, out);
            }
        }
        ViewNode::Image { media, bytes, width, height, .. } => {
            line(&format!("[{}]", crate::html::image_name(media, *bytes, *width, *height)), indent, out);
        }
        ViewNode::More { lines, .. } => line(&format!("[{lines} more lines]"), indent, out),
        _ => {}
    }
}

/// Writes the lines of a diff.
pub(crate) fn hunks(hunks: &[ViewHunk], indent: &str, out: &mut String) {
    for (at, hunk) in hunks.iter().enumerate() {
        // An edit without a result does not say where in the file it is.
        if hunk.old > 0 || hunk.new > 0 {
            line(&format!("@@ -{} +{} @@", hunk.old, hunk.new), indent, out);
        } else if at > 0 {
            line("@@", indent, out);
        }
        for change in &hunk.lines {
            let text = span_text(std::slice::from_ref(&change.s));
            let length = out.len();
            write!(out, "{indent}{}", change.k).expect("text takes more text");
            match text.split_once('\n') {
                None => {
                    out.push_str(&text);
                    end_line(length, out);
                }
                // Only patches that no tool made have lines of several lines.
                Some((first, rest)) => {
                    out.push_str(first);
                    end_line(length, out);
                    line(rest, indent, out);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_stays_readable_without_markup() {
        let mut out = String::new();
        nodes(
            &crate::prose("# T\n\na **b** [c](https://a.example)\n\n3. x\n   y\n4. z\n\n```rust\nfn\n```"),
            "  ",
            &mut out,
        );
        assert_eq!(out, "  # T\n\n  a b c (https://a.example)\n\n  3. x\n     y\n  4. z\n\n  fn\n");
    }
}
