//! Differences between two texts, line by line, with marks at what differs inside of a line.

use std::fmt::Write;

use annals_proto::{ViewChange, ViewDiffLine, ViewHunk, ViewNode, ViewSpan};
use annals_transcript::json::Value;
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices};

use crate::ansi::LONGEST_LINE;
use crate::{floor, visible};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// More lines are not compared: all old ones were removed, and all new ones added.
const MOST_COMPARED: usize = 4000;
/// Longer lines have no marks inside.
const LONGEST_MARKED: usize = 500;
/// The most lines of a diff.
const MOST_LINES: usize = 20_000;

/// Compares two texts. Line numbers count from `first` on; they are not known if it is 0.
pub fn diff(path: Option<&str>, old: &str, new: &str, first: u64) -> ViewNode {
    let (old, new): (Vec<_>, Vec<_>) = (lines(old), lines(new));
    let same_start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let same_end = old[same_start..]
        .iter()
        .rev()
        .zip(new[same_start..].iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (old_middle, new_middle) =
        (&old[same_start..old.len() - same_end], &new[same_start..new.len() - same_end]);
    let ops = if old_middle.len() + new_middle.len() > MOST_COMPARED {
        vec![DiffOp::Replace {
            old_index: 0,
            old_len: old_middle.len(),
            new_index: 0,
            new_len: new_middle.len(),
        }]
    } else {
        capture_diff_slices(Algorithm::Myers, old_middle, new_middle)
    };
    let mut all = Vec::new();
    let before = same_start.saturating_sub(CONTEXT);
    all.extend(old[before..same_start].iter().map(|line| (ViewChange::Same, *line)));
    for op in &ops {
        for change in op.iter_changes(old_middle, new_middle) {
            let kind = match change.tag() {
                ChangeTag::Equal => ViewChange::Same,
                ChangeTag::Delete => ViewChange::Removed,
                ChangeTag::Insert => ViewChange::Added,
            };
            all.push((kind, change.value()));
        }
    }
    all.extend(old[old.len() - same_end..].iter().take(CONTEXT).map(|line| (ViewChange::Same, *line)));
    let start = if first == 0 { 0 } else { first + before as u64 };
    node(path, hunks(&all, start))
}

/// Returns the hunks that Claude Code stored with an edit (`structuredPatch`), whose line numbers are those of the file.
pub fn patch(path: Option<&str>, stored: Value<'_>) -> Option<ViewNode> {
    let mut hunks = Vec::new();
    let mut left = MOST_LINES;
    for hunk in stored.items() {
        let (old, new) = (hunk.number("oldStart")?, hunk.number("newStart")?);
        let lines: Vec<String> = hunk
            .get("lines")?
            .items()
            .take(left)
            .filter_map(annals_transcript::json::Value::as_text)
            .map(std::borrow::Cow::into_owned)
            .collect();
        left -= lines.len();
        let lines: Vec<_> = lines
            .iter()
            // "\ No newline at end of file" is not a line of the file.
            .filter(|line| !line.starts_with('\\'))
            .map(|line| (kind_of(line), line.get(1..).unwrap_or_default()))
            .collect();
        hunks.push(ViewHunk { old, new, lines: with_marks(&lines) });
    }
    (!hunks.is_empty()).then(|| node(path, hunks))
}

/// Returns the kind of a line of a stored hunk.
fn kind_of(line: &str) -> ViewChange {
    match line.as_bytes().first() {
        Some(b'+') => ViewChange::Added,
        Some(b'-') => ViewChange::Removed,
        _ => ViewChange::Same,
    }
}

fn node(path: Option<&str>, hunks: Vec<ViewHunk>) -> ViewNode {
    let [added, removed] = [ViewChange::Added, ViewChange::Removed]
        .map(|kind| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.k == kind).count());
    ViewNode::Diff { path: path.map(|path| visible(path).into_owned()), added, removed, hunks }
}

fn lines(text: &str) -> Vec<&str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

/// Splits lines into hunks where more unchanged lines follow each other than two contexts have.
fn hunks(all: &[(ViewChange, &str)], first: u64) -> Vec<ViewHunk> {
    let changed: Vec<usize> = all
        .iter()
        .enumerate()
        .filter(|(_, (kind, _))| *kind != ViewChange::Same)
        .map(|(at, _)| at)
        .take(MOST_LINES)
        .collect();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &at in &changed {
        let (start, end) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(all.len()));
        match ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => ranges.push((start, end)),
        }
    }
    let (mut old, mut new, mut at) = (0, 0, 0);
    let mut hunks = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        for (kind, _) in &all[at..start] {
            old += u64::from(*kind != ViewChange::Added);
            new += u64::from(*kind != ViewChange::Removed);
        }
        at = start;
        let [old, new] = [old, new].map(|count| if first == 0 { 0 } else { first + count });
        hunks.push(ViewHunk { old, new, lines: with_marks(&all[start..end]) });
    }
    hunks
}

/// Returns with how many lines of a kind some lines begin.
fn run_length(lines: &[(ViewChange, &str)], kind: ViewChange) -> usize {
    lines.iter().take_while(|(one, _)| *one == kind).count()
}

/// Returns lines with marks where a removed line and the added line in its place differ.
fn with_marks(lines: &[(ViewChange, &str)]) -> Vec<ViewDiffLine> {
    let mut marked: Vec<ViewDiffLine> =
        lines.iter().map(|(kind, line)| ViewDiffLine { k: *kind, s: plain(line) }).collect();
    let mut at = 0;
    while at < lines.len() {
        let removed = run_length(&lines[at..], ViewChange::Removed);
        let added = run_length(&lines[at + removed..], ViewChange::Added);
        if removed == added {
            for pair in 0..removed {
                let (old, new) = (at + pair, at + removed + pair);
                if let Some((before, after)) = marks(lines[old].1, lines[new].1) {
                    (marked[old].s, marked[new].s) = (before, after);
                }
            }
        }
        at += (removed + added).max(1);
    }
    marked
}

fn plain(line: &str) -> Vec<ViewSpan> {
    if line.is_empty() {
        return Vec::new();
    }
    let shown = &line[..floor(line, LONGEST_LINE)];
    let mut text = visible(shown).into_owned();
    if shown.len() < line.len() {
        write!(text, " … {} bytes more", line.len() - shown.len()).expect("text takes more text");
    }
    vec![ViewSpan::Text(text)]
}

/// Marks the words that differ between two lines; `None` if they have too little in common.
fn marks(old: &str, new: &str) -> Option<(Vec<ViewSpan>, Vec<ViewSpan>)> {
    if old.len() > LONGEST_MARKED || new.len() > LONGEST_MARKED {
        return None;
    }
    let (old, new) = (words(old), words(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let same: usize = ops
        .iter()
        .filter(|op| op.tag() == similar::DiffTag::Equal)
        .map(|op| total_length(&old[op.old_range()]))
        .sum();
    if same * 3 < total_length(&old).max(total_length(&new)) {
        return None;
    }
    Some((side(&ops, &old, DiffOp::old_range), side(&ops, &new, DiffOp::new_range)))
}

fn total_length(words: &[&str]) -> usize {
    words.iter().map(|word| word.len()).sum()
}

/// Returns one side of a comparison, with marks on the words that differ; `range` are those of an operation on this side.
fn side(ops: &[DiffOp], words: &[&str], range: fn(&DiffOp) -> std::ops::Range<usize>) -> Vec<ViewSpan> {
    let mut spans = Vec::new();
    for op in ops {
        let text = words[range(op)].concat();
        if text.is_empty() {
            continue;
        }
        let text = visible(&text).into_owned();
        let is_same = op.tag() == similar::DiffTag::Equal;
        spans.push(if is_same { ViewSpan::Text(text) } else { ViewSpan::Marked("ch".into(), text) });
    }
    spans
}

/// Splits a line into words, and characters between words.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let end = if end == 0 { rest.chars().next().map_or(1, char::len_utf8) } else { end };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(node: &ViewNode) -> String {
        let ViewNode::Diff { hunks, added, removed, .. } = node else { panic!() };
        let mut out = format!("+{added} -{removed}\n");
        for hunk in hunks {
            out.push_str(&["@ ", &hunk.old.to_string(), " ", &hunk.new.to_string(), "\n"].concat());
            for line in &hunk.lines {
                out += line.k.word();
                for span in &line.s {
                    match span {
                        ViewSpan::Text(text) => out += text,
                        ViewSpan::Marked(_, text) => out.extend(["‹", text, "›"]),
                    }
                }
                out.push('\n');
            }
        }
        out
    }

    #[test]
    fn hunks_have_numbers_context_and_marks() {
        let old = (1..=20).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let new = old.replace("line 4\n", "line four\n").replace("line 18\n", "");
        assert_eq!(
            shown(&diff(Some("a"), &old, &new, 1)),
            "+1 -2\n@ 1 1\n line 1\n line 2\n line 3\n-line ‹4›\n+line ‹four›\n line 5\n line 6\n line 7\n@ 15 15\n line 15\n line 16\n line 17\n-line 18\n line 19\n line 20\n"
        );
        assert_eq!(shown(&diff(None, "", "a\nb", 0)), "+2 -0\n@ 0 0\n+a\n+b\n");
        assert_eq!(shown(&diff(None, "a", "a", 0)), "+0 -0\n");
    }

    #[test]
    fn texts_that_share_nothing_are_compared_in_linear_time() {
        let text = |prefix: &str| (0..50_000).map(|n| format!("{prefix}{n}\n")).collect::<Vec<_>>().concat();
        let ViewNode::Diff { hunks, .. } = diff(None, &text("a"), &text("b"), 1) else { panic!() };
        assert!(hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() <= MOST_LINES + CONTEXT);
    }

    #[test]
    fn stored_hunks_keep_their_line_numbers() {
        let json = br#"[{"oldStart":7,"oldLines":2,"newStart":7,"newLines":2,"lines":[" a","-b","+c","\\ No newline at end of file"]}]"#;
        let node = patch(Some("a"), Value::new(json).unwrap()).unwrap();
        assert_eq!(shown(&node), "+1 -1\n@ 7 7\n a\n-b\n+c\n");
        assert_eq!(patch(None, Value::new(b"[]").unwrap()), None);
        assert_eq!(patch(None, Value::new(br#"[{"x":1}]"#).unwrap()), None);
    }
}
