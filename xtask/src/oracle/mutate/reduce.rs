//! Makes a file on which Claude Code and annals differ as small as possible: fewer lines, fewer members, fewer blocks, and
//! labels in place of texts. A step is kept only if the two still differ.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::file::{Line, Record};
use super::label;

/// How often Claude Code may be asked for each of the four steps.
const RUNS: [usize; 4] = [90, 30, 20, 30];

/// A file that was reduced.
#[derive(Debug)]
pub(crate) struct Reduced {
    pub(crate) lines: Vec<Line>,
    /// How many texts of the source are still in it, because the difference depends on them. `None` if no text was replaced.
    pub(crate) texts_kept: Option<usize>,
}

impl Reduced {
    /// Says whose texts the file has.
    pub(crate) fn texts(&self) -> String {
        match self.texts_kept {
            Some(0) => "All texts are invented.".to_owned(),
            Some(count) => {
                format!("{count} texts of the source are left: replace them before you keep the case.")
            }
            None => "The texts are those of the source: replace them before you keep the case.".to_owned(),
        }
    }
}

/// Reduces a file for which `differs` holds.
pub(crate) fn reduce(lines: Vec<Line>, differs: impl FnMut(&[Line]) -> bool) -> Reduced {
    let mut judge = Judge { differs, runs_left: 0 };
    judge.runs_left = RUNS[0];
    let lines = minimal(lines, |lines| judge.differs(lines));

    judge.runs_left = RUNS[1];
    let members = minimal(members_of(&lines), |members| judge.differs(&with_members(&lines, members)));
    let lines = with_members(&lines, &members);

    judge.runs_left = RUNS[2];
    let blocks = minimal(blocks_of(&lines), |blocks| judge.differs(&with_blocks(&lines, blocks)));
    let lines = with_blocks(&lines, &blocks);

    judge.runs_left = RUNS[3];
    relabel(lines, |lines| judge.differs(lines))
}

/// Replaces all texts by labels, or as many as the difference allows.
fn relabel(lines: Vec<Line>, mut differs: impl FnMut(&[Line]) -> bool) -> Reduced {
    let with_texts = |kept: &[String]| label::relabel(&lines, &kept.iter().cloned().collect());
    let all = label::texts_of(&lines);
    if differs(&with_texts(&[])) {
        return Reduced { lines: with_texts(&[]), texts_kept: Some(0) };
    }
    if !differs(&with_texts(&all)) {
        return Reduced { lines, texts_kept: None };
    }
    let kept = minimal(all, |kept| differs(&with_texts(kept)));
    Reduced { lines: with_texts(&kept), texts_kept: Some(kept.len()) }
}

/// Asks whether two answers differ, until the runs are used up.
struct Judge<F> {
    differs: F,
    runs_left: usize,
}

impl<F: FnMut(&[Line]) -> bool> Judge<F> {
    fn differs(&mut self, lines: &[Line]) -> bool {
        if self.runs_left == 0 {
            return false;
        }
        self.runs_left -= 1;
        (self.differs)(lines)
    }
}

/// Removes as many items as `works` allows: halves first, then ever smaller pieces, at last single items until none of them
/// can go.
fn minimal<T: Clone>(mut items: Vec<T>, mut works: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut size = items.len().div_ceil(2);
    while size > 0 {
        let before = items.len();
        let mut start = 0;
        while start < items.len() {
            let end = (start + size).min(items.len());
            let fewer = [&items[..start], &items[end..]].concat();
            if works(&fewer) {
                items = fewer;
            } else {
                start = end;
            }
        }
        if size > 1 || items.len() == before {
            size /= 2;
        }
    }
    items
}

/// The path of a member: `cwd`, or `message` and `usage`.
type Member = (String, Option<String>);

/// Members that most differences need.
const NEEDED: [&str; 9] =
    ["type", "uuid", "parentUuid", "timestamp", "sessionId", "message", "role", "content", "id"];

/// Returns the members that occur at the top level and inside `message`; those that can most likely go come first, so that
/// they go together.
fn members_of(lines: &[Line]) -> Vec<Member> {
    let mut members = BTreeSet::new();
    for record in lines.iter().filter_map(|line| Record::parse(line)) {
        members.extend(record.keys().into_iter().map(|key| (key, None)));
        if let Json::Object(message) = record.get("message") {
            members.extend(message.keys().map(|key| ("message".to_owned(), Some(key.clone()))));
        }
    }
    let mut members: Vec<Member> = members.into_iter().collect();
    members.sort_by_key(|(name, inner)| NEEDED.contains(&inner.as_deref().unwrap_or(name)));
    members
}

fn with_members(lines: &[Line], members: &[Member]) -> Vec<Line> {
    let has = |key: &str, inner: Option<&str>| {
        members.iter().any(|(name, inner_name)| name == key && inner_name.as_deref() == inner)
    };
    let reduced = |line: &Line| {
        let Some(mut record) = Record::parse(line) else { return line.clone() };
        for key in record.keys().iter().filter(|key| !has(key, None)) {
            record.remove(key);
        }
        if let Json::Object(mut message) = record.get("message") {
            message.retain(|key, _| has("message", Some(key)));
            record.set("message", &Json::Object(message));
        }
        record.to_line()
    };
    lines.iter().map(reduced).collect()
}

/// A block's line and its index there.
type Block = (usize, usize);

fn blocks_of(lines: &[Line]) -> Vec<Block> {
    let counts = lines.iter().map(|line| {
        let message = Record::parse(line).map(|record| record.get("message")).unwrap_or_default();
        message["content"].as_array().map_or(0, Vec::len)
    });
    counts.enumerate().flat_map(|(line, count)| (0..count).map(move |block| (line, block))).collect()
}

fn with_blocks(lines: &[Line], blocks: &[Block]) -> Vec<Line> {
    let reduced = |(at, line): (usize, &Line)| {
        let Some(mut record) = Record::parse(line) else { return line.clone() };
        let mut message = record.get("message");
        let Some(content) = message.get_mut("content").and_then(Json::as_array_mut) else {
            return line.clone();
        };
        let mut index = 0..;
        content.retain(|_| index.next().is_some_and(|index| blocks.contains(&(at, index))));
        record.set("message", &message);
        record.to_line()
    };
    lines.iter().enumerate().map(reduced).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(value: &Json) -> Line {
        value.to_string().into_bytes()
    }

    fn has(lines: &[Line], text: &str) -> bool {
        lines.iter().any(|line| String::from_utf8_lossy(line).contains(text))
    }

    #[test]
    fn the_lines_that_matter_are_found() {
        let lines: Vec<Line> = (0..60).map(|number| line(&json!({"type": "user", "n": number}))).collect();
        let reduced = reduce(lines, |lines| has(lines, "\"n\":17") && has(lines, "\"n\":44"));
        assert_eq!(reduced.lines, [b"{\"n\":17}".to_vec(), b"{\"n\":44}".to_vec()]);
    }

    #[test]
    fn members_and_blocks_that_do_not_matter_are_dropped() {
        let message = json!({"role": "user", "usage": 1, "content": [{"type": "text"}, {"type": "image"}]});
        let lines = vec![line(&json!({"type": "user", "cwd": "/home/jo", "message": message}))];
        let reduced = reduce(lines, |lines| has(lines, "image"));
        assert_eq!(reduced.lines, [line(&json!({"message": {"content": [{"type": "image"}]}}))]);
    }

    #[test]
    fn texts_that_matter_stay_and_are_counted() {
        let lines: Vec<Line> =
            (0..8).map(|number| line(&json!({"type": format!("word number {number}")}))).collect();
        let reduced = reduce(lines.clone(), |lines| lines.len() == 8 && has(lines, "word number 3"));
        assert_eq!(reduced.texts_kept, Some(1));
        assert!(!has(&reduced.lines, "word number 4"));
        let reduced = reduce(lines, |lines| lines.len() == 8 && has(lines, "type"));
        assert_eq!(reduced.texts_kept, Some(0));
        assert!(!has(&reduced.lines, "word"));
    }

    #[test]
    fn claude_code_is_asked_a_bounded_number_of_times() {
        let lines: Vec<Line> = (0..2000).map(|number| line(&json!({"type": "user", "n": number}))).collect();
        let mut asked = 0_usize;
        let reduced = reduce(lines, |lines| {
            asked += 1;
            lines.len() > 1500
        });
        assert!(reduced.lines.len() > 1500);
        assert!(asked <= RUNS.iter().sum(), "asked {asked} times");
    }
}
