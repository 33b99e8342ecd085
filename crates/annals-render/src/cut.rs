//! Long content in pieces: how many lines nodes have, their first or last lines, and any range of them.

use annals_proto::{ViewChange, ViewDiffLine, ViewHunk, ViewInline, ViewMark, ViewNode, ViewSpan};

/// How many lines of a result a row shows.
pub const FIRST_LINES: usize = 20;
/// How many bytes of a result a row shows.
pub const FIRST_BYTES: usize = 8 << 10;

/// Which end of content stays if it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The first lines.
    First,
    /// The last lines: the end of an output matters most.
    Last,
}

/// Cuts nodes to some lines and bytes; a node says what was left out and which part of the row has it.
pub fn cut(
    nodes: Vec<ViewNode>,
    keep: Keep,
    most_lines: usize,
    most_bytes: usize,
    part: usize,
) -> Vec<ViewNode> {
    let total = line_count(&nodes);
    let bytes = byte_count(&nodes);
    if total <= most_lines && bytes <= most_bytes {
        return nodes;
    }
    let kept = kept_lines(&nodes, keep, most_lines, most_bytes);
    let from = if keep == Keep::First { 0 } else { total - kept };
    let mut shown = slice(&nodes, from, kept).0;
    // A node that cannot be cut may leave nothing out.
    let left = total.saturating_sub(line_count(&shown));
    if left == 0 {
        return shown;
    }
    let bytes = bytes.saturating_sub(byte_count(&shown));
    match keep {
        Keep::First => shown.push(ViewNode::More { lines: left, bytes, part, from: total - left }),
        Keep::Last => shown.insert(0, ViewNode::More { lines: left, bytes, part, from: 0 }),
    }
    shown
}

/// Returns how many of the first or the last lines fit; at least one.
pub(crate) fn kept_lines(nodes: &[ViewNode], keep: Keep, most_lines: usize, most_bytes: usize) -> usize {
    match keep {
        Keep::First => lines_within(nodes.iter().flat_map(line_sizes), most_lines, most_bytes),
        Keep::Last => {
            let mut sizes: Vec<_> = nodes.iter().flat_map(line_sizes).collect();
            sizes.reverse();
            lines_within(sizes.into_iter(), most_lines, most_bytes)
        }
    }
}

/// Returns how many of the lines fit; at least one.
fn lines_within(sizes: impl Iterator<Item = usize>, most_lines: usize, most_bytes: usize) -> usize {
    let mut bytes = 0;
    let fits = |size: &usize| {
        bytes += size;
        bytes <= most_bytes
    };
    sizes.take(most_lines).take_while(fits).count().max(1)
}

/// Returns some lines of nodes, and the first line that is not among them, if there is one. Nodes without lines of their own, such as
/// tables, are whole if one of their lines is asked for.
pub fn slice(nodes: &[ViewNode], from: usize, count: usize) -> (Vec<ViewNode>, Option<usize>) {
    let end = from.saturating_add(count);
    let mut found = Vec::new();
    let mut start = 0;
    for node in nodes {
        let lines = lines_of(node);
        if start + lines > from && start < end {
            let first = from.saturating_sub(start);
            found.push(node_slice(node, first, (end - start).min(lines)));
        }
        start += lines;
    }
    (found, (end < start).then_some(end))
}

fn node_slice(node: &ViewNode, first: usize, end: usize) -> ViewNode {
    match node {
        ViewNode::Code { lang, lines, first: number } => ViewNode::Code {
            lang: lang.clone(),
            lines: lines[first..end].to_vec(),
            first: number.map(|number| number + first as u64),
        },
        ViewNode::Ansi { lines } => ViewNode::Ansi { lines: lines[first..end].to_vec() },
        ViewNode::Text { text } => ViewNode::Text { text: text_lines(text, first, end) },
        ViewNode::Json { text } => ViewNode::Json { text: text_lines(text, first, end) },
        ViewNode::Diff { path, added, removed, hunks } => ViewNode::Diff {
            path: path.clone(),
            added: *added,
            removed: *removed,
            hunks: hunk_lines(hunks, first, end),
        },
        other => other.clone(),
    }
}

fn text_lines(text: &str, first: usize, end: usize) -> String {
    text.split('\n').skip(first).take(end - first).collect::<Vec<_>>().join("\n")
}

/// Returns a range of the lines of all hunks, each with the numbers of its first line.
fn hunk_lines(hunks: &[ViewHunk], first: usize, end: usize) -> Vec<ViewHunk> {
    let mut start = 0;
    let mut found = Vec::new();
    for hunk in hunks {
        let lines = hunk.lines.len();
        if start + lines > first && start < end {
            let (from, to) = (first.saturating_sub(start), (end - start).min(lines));
            found.push(ViewHunk {
                old: number_after(hunk.old, &hunk.lines[..from], ViewChange::Added),
                new: number_after(hunk.new, &hunk.lines[..from], ViewChange::Removed),
                lines: hunk.lines[from..to].to_vec(),
            });
        }
        start += lines;
    }
    found
}

/// Returns the number of the line after some lines of a diff, of which the first has `number` on one side; lines of the kind `other` are on
/// the other side alone. Without numbers it is 0.
fn number_after(number: u64, lines: &[ViewDiffLine], other: ViewChange) -> u64 {
    let passed = lines.iter().filter(|line| line.k != other).count() as u64;
    if number == 0 { 0 } else { number + passed }
}

/// Returns how many lines nodes have.
pub fn line_count(nodes: &[ViewNode]) -> usize {
    nodes.iter().map(lines_of).sum()
}

fn lines_of(node: &ViewNode) -> usize {
    match node {
        ViewNode::Code { lines, .. } | ViewNode::Ansi { lines } => lines.len(),
        ViewNode::Text { text } | ViewNode::Json { text } => text.split('\n').count(),
        ViewNode::Diff { hunks, .. } => hunks.iter().map(|hunk| hunk.lines.len()).sum(),
        ViewNode::List { items, .. } => items.iter().map(|item| line_count(item)).sum(),
        ViewNode::Quote { c } => line_count(c),
        ViewNode::Table { rows, .. } => 1 + rows.len(),
        ViewNode::Kv { rows } => rows.len(),
        _ => 1,
    }
    .max(1)
}

fn spans_size(line: &[ViewSpan]) -> usize {
    line.iter().map(|span| span.text().len() + 1).sum()
}

/// Returns the sizes of the lines of a node.
fn line_sizes(node: &ViewNode) -> Vec<usize> {
    match node {
        ViewNode::Code { lines, .. } | ViewNode::Ansi { lines } => {
            lines.iter().map(|line| spans_size(line)).collect()
        }
        ViewNode::Text { text } | ViewNode::Json { text } => {
            text.split('\n').map(|line| line.len() + 1).collect()
        }
        ViewNode::Diff { hunks, .. } => {
            hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| spans_size(&line.s)).collect()
        }
        other => {
            let lines = lines_of(other);
            vec![node_bytes(other) / lines; lines]
        }
    }
}

/// Returns about how many bytes of text nodes have.
pub fn byte_count(nodes: &[ViewNode]) -> usize {
    nodes.iter().map(node_bytes).sum()
}

fn node_bytes(node: &ViewNode) -> usize {
    match node {
        ViewNode::P { c } | ViewNode::H { c, .. } | ViewNode::Note { c, .. } => inline_bytes(c),
        ViewNode::List { items, .. } => items.iter().map(|item| byte_count(item)).sum(),
        ViewNode::Quote { c } => byte_count(c),
        ViewNode::Table { head, rows, .. } => {
            head.iter().chain(rows.iter().flatten()).map(|cell| inline_bytes(cell)).sum()
        }
        ViewNode::Kv { rows } => rows.iter().map(|(key, value)| key.len() + inline_bytes(value)).sum(),
        ViewNode::Code { .. } | ViewNode::Ansi { .. } | ViewNode::Diff { .. } => {
            line_sizes(node).iter().sum()
        }
        ViewNode::Text { text } | ViewNode::Json { text } => text.len(),
        _ => 16,
    }
}

fn inline_bytes(inlines: &[ViewInline]) -> usize {
    inlines
        .iter()
        .map(|inline| match inline {
            ViewInline::Text(text) => text.len(),
            ViewInline::Mark(ViewMark::Link { href, c }) => href.len() + inline_bytes(c),
            ViewInline::Mark(
                ViewMark::Strong { c } | ViewMark::Em { c } | ViewMark::Del { c } | ViewMark::Code { c },
            ) => inline_bytes(c),
            ViewInline::Mark(_) => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: std::ops::Range<usize>) -> ViewNode {
        ViewNode::Text { text: lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n") }
    }

    #[test]
    fn what_is_cut_is_counted_and_can_be_asked_for() {
        let nodes = vec![text(0..10), text(10..50)];
        let first = cut(nodes.clone(), Keep::First, 20, 1 << 20, 3);
        assert_eq!(first[..2], [text(0..10), text(10..20)]);
        let ViewNode::More { lines: 30, part: 3, from: 20, .. } = first[2] else { panic!("{first:?}") };
        assert_eq!(slice(&nodes, 20, 25), (vec![text(20..45)], Some(45)));
        assert_eq!(slice(&nodes, 45, 1000), (vec![text(45..50)], None));
        let last = cut(nodes.clone(), Keep::Last, 20, 1 << 20, 1);
        let ViewNode::More { lines: 30, from: 0, .. } = last[0] else { panic!("{last:?}") };
        assert_eq!(last[1..], [text(30..50)]);
        assert_eq!(cut(nodes.clone(), Keep::First, 50, 1 << 20, 1), nodes);
    }

    #[test]
    fn long_lines_count_by_their_bytes() {
        let nodes = vec![ViewNode::Text { text: vec!["x".repeat(5000); 10].join("\n") }];
        let shown = cut(nodes, Keep::First, 20, FIRST_BYTES, 0);
        assert!(matches!(shown[1], ViewNode::More { lines: 9, .. }), "{:?}", shown[1]);
    }
}
