//! Secrets that only rendering puts together.
//!
//! Lines of a transcript are masked before they are rendered. Markdown and terminals then remove signs, so that two pieces of a token
//! that stood apart may stand beside each other. So the text that a reader sees is looked at once more: all pieces of a paragraph, of a
//! cell or of lines are read as one text, and what is found in it is removed from each piece that has a part of it.

use std::cell::OnceCell;
use std::ops::Range;

use annals_proto::{ViewInline, ViewMark, ViewNode, ViewSpan};

use crate::row::Filter;

/// Stands between the name and the value of a table while they are read as one text.
const BETWEEN_CELLS: &str = ": ";

/// What was found out about a line of a transcript; it is looked at once, however many rows show something of it.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    has_controls: OnceCell<bool>,
    has_escapes: OnceCell<bool>,
}

impl Signs {
    /// Looks at a text that does not stand in a line.
    pub(crate) fn of_text(text: &str) -> Self {
        let has_controls = memchr::memchr3(0x1b, b'\r', 0x08, text.as_bytes()).is_some();
        Self { has_controls: OnceCell::from(has_controls), has_escapes: OnceCell::new() }
    }
}

/// What a line of a transcript has that rendering removes. Content of other lines is shown as it was masked, and is not looked at
/// again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a>(Option<(&'a [u8], &'a Signs)>);

impl<'a> Source<'a> {
    /// No line: what is shown does not come from one.
    pub(crate) const NOTHING: Source<'static> = Source(None);

    /// A line of a transcript, in which control characters are written as JSON does.
    pub(crate) fn new(line: &'a [u8], signs: &'a Signs) -> Self {
        Self(Some((line, signs)))
    }

    /// Returns whether the line has escape sequences or carriage returns.
    fn has_controls(self) -> bool {
        let Some((line, signs)) = self.0 else { return false };
        // Raw control characters stand in damaged lines only, whose text is looked at anyway.
        *signs.has_controls.get_or_init(|| contains(line, b"\\u00") || contains(line, b"\\r"))
    }

    /// Returns whether text of the line may have been written with escapes of Markdown.
    fn has_escapes(self) -> bool {
        let Some((line, signs)) = self.0 else { return false };
        *signs
            .has_escapes
            .get_or_init(|| self.has_controls() || contains(line, b"&") || contains(line, b"\\\\"))
    }

    /// Masks what rendering has put together. Returns how many secrets were masked.
    pub(crate) fn mask(self, nodes: &mut [ViewNode], filter: &dyn Filter) -> usize {
        let mut pass = Pass { source: self, filter, count: 0 };
        pass.nodes(nodes);
        pass.count
    }
}

struct Pass<'a> {
    source: Source<'a>,
    filter: &'a dyn Filter,
    count: usize,
}

impl Pass<'_> {
    fn nodes(&mut self, nodes: &mut [ViewNode]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &mut ViewNode) {
        match node {
            ViewNode::P { c } | ViewNode::H { c, .. } | ViewNode::Note { c, .. } => self.inlines(c),
            ViewNode::List { items, .. } => items.iter_mut().for_each(|item| self.nodes(item)),
            ViewNode::Quote { c } => self.nodes(c),
            ViewNode::Table { head, rows, .. } => self.table(head, rows),
            ViewNode::Code { lines, .. } | ViewNode::Ansi { lines } if self.source.has_controls() => {
                self.lines(lines.iter_mut());
            }
            ViewNode::Diff { hunks, .. } if self.source.has_controls() => {
                for hunk in hunks {
                    self.lines(hunk.lines.iter_mut().map(|line| &mut line.s));
                }
            }
            // Members of unknown blocks may have names of ids and paths, which stay as they are in JSON.
            ViewNode::Json { text } | ViewNode::Text { text } => self.text(vec![Piece::Text(text)]),
            ViewNode::Kv { rows } if self.source.has_controls() => {
                for (_, value) in rows {
                    self.inlines(value);
                }
            }
            _ => {}
        }
    }

    fn inlines(&mut self, content: &mut [ViewInline]) {
        if let [ViewInline::Text(_)] | [] = content
            && !self.source.has_escapes()
        {
            return;
        }
        let mut pieces = Vec::new();
        let mut addresses = Vec::new();
        collect(content, &mut pieces, &mut addresses);
        self.text(pieces);
        for address in addresses {
            self.text(vec![Piece::Text(address)]);
        }
    }

    fn lines<'n>(&mut self, lines: impl Iterator<Item = &'n mut Vec<ViewSpan>>) {
        let mut pieces = Vec::new();
        for line in lines {
            if !pieces.is_empty() {
                pieces.push(Piece::Between("\n"));
            }
            pieces.extend(line.iter_mut().map(|span| match span {
                ViewSpan::Text(text) | ViewSpan::Marked(_, text) => Piece::Text(text),
            }));
        }
        self.text(pieces);
    }

    /// Masks the cells of a table: each alone, then beside the cell before it and below the head of its column, which may name it.
    fn table(&mut self, head: &mut [Vec<ViewInline>], rows: &mut [Vec<Vec<ViewInline>>]) {
        head.iter_mut().chain(rows.iter_mut().flatten()).for_each(|cell| self.inlines(cell));
        for row in rows {
            for (name, value) in head.iter_mut().zip(row.iter_mut()) {
                self.named(name, value);
            }
            for at in 1..row.len() {
                if let [.., name, value] = &mut row[..=at] {
                    self.named(name, value);
                }
            }
        }
    }

    fn named(&mut self, name: &mut [ViewInline], value: &mut [ViewInline]) {
        let (mut pieces, mut addresses) = (Vec::new(), Vec::new());
        collect(name, &mut pieces, &mut addresses);
        pieces.push(Piece::Between(BETWEEN_CELLS));
        collect(value, &mut pieces, &mut addresses);
        self.text(pieces);
    }

    /// Masks what is found in pieces that are read as one text.
    fn text(&mut self, mut pieces: Vec<Piece<'_>>) {
        let found = match &pieces[..] {
            [] => return,
            [piece] => self.filter.visible(piece.text()),
            pieces => self.filter.visible(&pieces.iter().map(Piece::text).collect::<String>()),
        };
        if !found.is_empty() {
            self.count += found.len();
            replace(&mut pieces, &found);
        }
    }
}

/// Masks lines that are read as one text; a line break follows those with a `true`. Returns how many secrets some of the lines have.
pub(crate) fn mask_lines(lines: &mut [(String, bool)], counted: &Range<usize>, filter: &dyn Filter) -> usize {
    let mut text = String::new();
    let mut bounds = 0..0;
    for (number, (line, is_whole)) in lines.iter().enumerate() {
        if number == counted.start {
            bounds.start = text.len();
        }
        text.push_str(line);
        if number < counted.end {
            bounds.end = text.len();
        }
        if *is_whole {
            text.push('\n');
        }
    }
    let found = filter.visible(&text);
    if found.is_empty() {
        return 0;
    }
    let mut pieces = Vec::with_capacity(2 * lines.len());
    for (line, is_whole) in lines {
        pieces.push(Piece::Text(line));
        if *is_whole {
            pieces.push(Piece::Between("\n"));
        }
    }
    replace(&mut pieces, &found);
    found.iter().filter(|(range, _)| range.start < bounds.end && range.end > bounds.start).count()
}

/// A piece of what a reader sees as one text.
enum Piece<'n> {
    Text(&'n mut String),
    Between(&'static str),
}

impl Piece<'_> {
    fn text(&self) -> &str {
        match self {
            Piece::Text(text) => text,
            Piece::Between(text) => text,
        }
    }
}

/// Collects the texts of a paragraph, and the addresses of its links.
fn collect<'n>(
    content: &'n mut [ViewInline],
    pieces: &mut Vec<Piece<'n>>,
    addresses: &mut Vec<&'n mut String>,
) {
    for inline in content {
        match inline {
            ViewInline::Text(text) => pieces.push(Piece::Text(text)),
            ViewInline::Mark(ViewMark::Link { href, c }) => {
                addresses.push(href);
                collect(c, pieces, addresses);
            }
            ViewInline::Mark(
                ViewMark::Strong { c } | ViewMark::Em { c } | ViewMark::Del { c } | ViewMark::Code { c },
            ) => collect(c, pieces, addresses),
            ViewInline::Mark(_) => pieces.push(Piece::Between("\n")),
        }
    }
}

/// Replaces ranges of the text that pieces are together: the first piece of a range gets what is shown in its place.
fn replace(pieces: &mut [Piece<'_>], found: &[(Range<usize>, String)]) {
    let mut start = 0;
    let mut found = found.iter();
    // The range that is being replaced, and whether it was written.
    let mut current = found.next().map(|found| (found, false));
    for piece in pieces {
        let end = start + piece.text().len();
        let mut kept = String::new();
        let mut at = start;
        let mut is_changed = false;
        while let Some(((range, mark), is_written)) = &mut current
            && range.start < end
        {
            if let Piece::Text(text) = piece
                && range.end > start
            {
                kept.push_str(&text[at - start..range.start.max(at) - start]);
                if !*is_written {
                    kept.push_str(mark);
                    *is_written = true;
                }
                is_changed = true;
            }
            at = range.end.clamp(at, end);
            if range.end > end {
                break;
            }
            current = found.next().map(|found| (found, false));
        }
        if let Piece::Text(text) = piece
            && is_changed
        {
            kept.push_str(&text[at - start..]);
            **text = kept;
        }
        start = end;
    }
}

fn contains(line: &[u8], sign: &[u8]) -> bool {
    memchr::memmem::find(line, sign).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pieces: &[&str], ranges: &[(usize, usize)]) -> Vec<String> {
        let mut texts: Vec<String> = pieces.iter().map(|&text| text.to_owned()).collect();
        let mut pieces: Vec<_> = texts
            .iter_mut()
            .map(|text| if text == "|" { Piece::Between("|") } else { Piece::Text(text) })
            .collect();
        let found: Vec<_> = ranges.iter().map(|&(start, end)| (start..end, "#".to_owned())).collect();
        replace(&mut pieces, &found);
        texts
    }

    #[test]
    fn a_range_is_removed_from_all_pieces_and_the_first_one_has_the_mark() {
        assert_eq!(replaced(&["abc", "def", "ghi"], &[(1, 8)]), ["a#", "", "i"]);
        assert_eq!(replaced(&["abc", "def"], &[(0, 1), (2, 4), (5, 6)]), ["#b#", "e#"]);
        assert_eq!(replaced(&["abc", "|", "def"], &[(3, 5)]), ["abc", "|", "#ef"]);
        assert_eq!(replaced(&["abc", "|", "def"], &[(2, 5)]), ["ab#", "|", "ef"]);
        assert_eq!(replaced(&["abc", "def"], &[(3, 6)]), ["abc", "#"]);
        assert_eq!(replaced(&["茶b", "", "茶c"], &[(3, 7)]), ["茶#", "", "c"]);
        assert_eq!(replaced(&["ab"], &[]), ["ab"]);
    }
}
