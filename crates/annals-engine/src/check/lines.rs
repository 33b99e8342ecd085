//! What is wrong with single lines, found while a file is read.

use annals_transcript::duplicate::{self, Duplicates};
use annals_transcript::second_root::{RootKind, second_roots};
use annals_transcript::session::Session;
use annals_transcript::{Entry, Flag, Kind, Problem, is_utf8};
use jiff::Timestamp;

use super::{Finding, Issue};
use crate::analysis::loaded_lines;
use crate::error::Error;
use crate::repair::EarlierRepairs;
use crate::snapshot::Snapshot;

/// Collects findings from the entries of one file, which are added in order.
#[derive(Debug, Default)]
pub struct Checker {
    findings: Vec<FoundAt>,
    carriage_returns: Option<usize>,
    times: Times,
    ends_in_newline: bool,
    last_line: u64,
    bytes: u64,
    has_entries: bool,
}

/// A finding, and the offset of the entry that it is about.
#[derive(Debug)]
struct FoundAt {
    offset: u64,
    finding: Finding,
}

impl Checker {
    /// Checks the next entry of the file; `problem` is the result of [`Entry::verify`]. Returns whether its bytes are UTF-8.
    pub fn add(&mut self, entry: &Entry<'_>, problem: Option<Problem>) -> bool {
        let (line, offset) = (entry.at().line, entry.at().offset);
        let bytes = entry.bytes();
        if let Some(problem) = problem {
            self.report(line, offset, bytes.len(), Issue::Damage(problem));
        }
        if entry.at().offset == 0 && bytes.starts_with(b"\xEF\xBB\xBF") {
            self.report(line, offset, 3, Issue::ByteOrderMark);
        }
        if bytes.ends_with(b"\r\n") {
            self.report_carriage_return(line);
        }
        let is_utf8 = is_utf8(bytes);
        if entry.kind() != Kind::Noise && !is_utf8 {
            self.report(line, offset, bytes.len(), Issue::InvalidUtf8);
        }
        if problem.is_none_or(Problem::is_readable)
            && let Some(field) = missing_field(entry)
        {
            self.report(line, offset, bytes.len(), Issue::MissingField(field));
        }
        self.times.add(entry);
        self.ends_in_newline =
            entry.ends_in_newline() || problem.is_some_and(|problem| !problem.is_readable());
        self.last_line = line;
        self.bytes += bytes.len() as u64;
        self.has_entries |= entry.kind() != Kind::Noise;
        is_utf8
    }

    /// Reports messages in the middle of the file that have no parent, for the reasons that are wanted. Such messages are normal after a
    /// compaction, after the context was cleared, and after a rewind to the start; these are not reported.
    pub(crate) fn add_roots(&mut self, session: &Session, is_wanted: impl Fn(RootKind) -> bool) {
        for root in second_roots(session) {
            let node = &session.nodes()[root.node];
            let has_parent_field = node.parent.is_some() || node.has(Flag::NullParent);
            let is_normal =
                matches!(root.kind, RootKind::Boundary | RootKind::ContextCleared | RootKind::RewindToStart);
            // A message without the field was reported as `MissingField`.
            if has_parent_field && !is_normal && is_wanted(root.kind) {
                let bytes = usize::try_from(node.length).unwrap_or(usize::MAX);
                self.report(node.at.line, node.at.offset, bytes, Issue::Root(root.kind));
            }
        }
    }

    /// Reports lines whose content is ignored because another line has the same uuid.
    pub(crate) fn add_duplicates(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let nodes = snapshot.session().nodes();
        let duplicates = Duplicates::of(snapshot.session());
        for lines in duplicates.entries() {
            let counts = duplicates.content(lines[0]);
            let body = snapshot.body(&nodes[counts])?;
            let content = duplicate::content(&Entry::new(&body));
            for &line in lines.iter().filter(|&&line| line != counts) {
                let body = snapshot.body(&nodes[line])?;
                let differs = duplicate::content(&Entry::new(&body)) != content;
                let issue = Issue::Replaced { by: nodes[counts].at.line, differs };
                let bytes = usize::try_from(nodes[line].length).unwrap_or(usize::MAX);
                self.report(nodes[line].at.line, nodes[line].at.offset, bytes, issue);
            }
        }
        Ok(())
    }

    /// Returns how many bytes were checked.
    pub(super) fn length(&self) -> u64 {
        self.bytes
    }

    /// Returns the findings in the order of lines.
    pub fn finish(self) -> Vec<Finding> {
        self.finish_with(|_| true)
    }

    /// Returns the findings that still matter: not those about lines that a later line replaces, and not those that an earlier repair dealt
    /// with.
    pub(crate) fn finish_after(self, session: &Session, repairs: &EarlierRepairs) -> Vec<Finding> {
        let lines = loaded_lines(session);
        self.finish_with(|found| match found.finding.issue {
            Issue::Replaced { .. } => !repairs.replaced(found.finding.line, found.offset),
            Issue::Damage(problem) => {
                !(repairs.follow(found.offset)
                    || problem.is_readable() && is_replaced(session, &lines, found.offset))
            }
            Issue::MissingField(_) => {
                !is_replaced(session, &lines, found.offset)
                    && !repairs.replaced(found.finding.line, found.offset)
            }
            _ => true,
        })
    }

    fn finish_with(mut self, is_kept: impl Fn(&FoundAt) -> bool) -> Vec<Finding> {
        if self.last_line > 0 && !self.has_entries {
            let issue = Issue::NoEntries;
            return vec![Finding::of_lines(1, self.last_line, self.bytes, issue)];
        }
        if self.last_line > 0 && !self.ends_in_newline {
            self.report(self.last_line, self.bytes, 0, Issue::NoFinalNewline);
        }
        let times = std::mem::take(&mut self.times).finish();
        let kept = self.findings.into_iter().filter(is_kept).map(|found| found.finding);
        let mut findings: Vec<Finding> = kept.chain(times).collect();
        findings.sort_by_key(|finding| finding.line);
        findings
    }

    /// Adds a finding. The same damage on consecutive lines is one finding.
    fn report(&mut self, line: u64, offset: u64, bytes: usize, issue: Issue) {
        let bytes = bytes as u64;
        if let Some(FoundAt { finding: last, .. }) = self.findings.last_mut()
            && last.issue == issue
            && matches!(issue, Issue::Damage(problem) if !problem.is_readable())
            && let Some(first) = last.line
            && line <= first + last.lines
        {
            last.lines = line + 1 - first;
            last.bytes += bytes;
            return;
        }
        let finding = Finding::of_lines(line, 1, bytes, issue);
        self.findings.push(FoundAt { offset, finding });
    }

    /// Counts a line that ends in CR LF. All such lines of a file are one finding.
    fn report_carriage_return(&mut self, line: u64) {
        let index = *self.carriage_returns.get_or_insert_with(|| {
            let finding = Finding::of_lines(line, 0, 0, Issue::CarriageReturns);
            self.findings.push(FoundAt { offset: 0, finding });
            self.findings.len() - 1
        });
        let finding = &mut self.findings[index].finding;
        finding.lines += 1;
        finding.bytes += 1;
    }
}

/// Returns whether a later line replaces the entry at an offset. `lines` has the line that counts of each uuid.
fn is_replaced(session: &Session, lines: &[Option<usize>], offset: u64) -> bool {
    let nodes = session.nodes();
    let node = nodes.binary_search_by_key(&offset, |node| node.at.offset).ok();
    node.is_some_and(|node| nodes[node].id.and_then(|id| lines[id.index()]).is_some_and(|last| last > node))
}

/// Times that cannot be true: how many messages have them, and the first line.
#[derive(Debug)]
struct Times {
    now: i64,
    future: (u64, u64),
    ancient: (u64, u64),
}

/// Clocks may differ by so much.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// 2023-01-01: there was no Claude Code before.
const FIRST_YEAR_MS: i64 = 1_672_531_200_000;

impl Default for Times {
    fn default() -> Self {
        Self { now: Timestamp::now().as_millisecond(), future: (0, 0), ancient: (0, 0) }
    }
}

impl Times {
    fn add(&mut self, entry: &Entry<'_>) {
        let Some(time) = entry.head().time().filter(|_| entry.kind().is_message()) else { return };
        let time = time.as_millisecond();
        let counted = if time > self.now + DAY_MS {
            &mut self.future
        } else if time < FIRST_YEAR_MS {
            &mut self.ancient
        } else {
            return;
        };
        if counted.0 == 0 {
            counted.1 = entry.at().line;
        }
        counted.0 += 1;
    }

    fn finish(self) -> impl Iterator<Item = Finding> {
        let (future, ancient) = (self.future, self.ancient);
        let future = (future.0 > 0).then(|| Finding::at(future.1, Issue::FutureTimes { messages: future.0 }));
        let ancient =
            (ancient.0 > 0).then(|| Finding::at(ancient.1, Issue::AncientTimes { messages: ancient.0 }));
        future.into_iter().chain(ancient)
    }
}

/// Returns the first field that a message lacks and that Claude Code needs to restore it.
fn missing_field(entry: &Entry<'_>) -> Option<&'static str> {
    let head = entry.head();
    if !head.kind.is_message() {
        return None;
    }
    if head.id.is_none() {
        return Some("uuid");
    }
    if head.parent.is_none() && !head.has(Flag::NullParent) {
        return Some("parentUuid");
    }
    if !head.kind.is_prompt_or_reply() {
        // Claude Code asks for the time and the content of prompts and replies only.
        return None;
    }
    if head.time().is_none() {
        return Some("timestamp");
    }
    (!head.has(Flag::Message)).then_some("message")
}

#[cfg(test)]
mod tests {
    use annals_transcript::Reader;

    use super::*;

    const SOUND: &str =
        r#"{"type":"user","uuid":"u","parentUuid":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{}}"#;

    fn check(file: &[u8]) -> Vec<(u64, u64, Issue)> {
        let mut reader = Reader::new(file);
        let mut checker = Checker::default();
        while let Some(entry) = reader.read().unwrap() {
            checker.add(&entry, entry.verify());
        }
        let findings = checker.finish().into_iter();
        findings.map(|finding| (finding.line.unwrap(), finding.lines, finding.issue)).collect()
    }

    #[test]
    fn a_sound_file_has_no_findings() {
        let file = format!("{SOUND}\n{{\"type\":\"mode\"}}\n{{\"type\":\"new\"}}\n");
        assert_eq!(check(file.as_bytes()), []);
        assert_eq!(check(b""), []);
    }

    #[test]
    fn findings_name_their_line() {
        let file = format!(
            "\u{feff}{SOUND}\r\n{SOUND}\r\n\n\nx\ny\n{SOUND}{SOUND}\n{{\"type\":\"user\",,}}\n{SOUND} x\n{{\"type\""
        );
        assert_eq!(
            check(file.as_bytes()),
            [
                (1, 1, Issue::ByteOrderMark),
                (1, 2, Issue::CarriageReturns),
                (3, 2, Issue::Damage(Problem::Blank)),
                (5, 2, Issue::Damage(Problem::Garbage)),
                (7, 1, Issue::Damage(Problem::Glued)),
                (8, 1, Issue::Damage(Problem::Syntax)),
                (9, 1, Issue::Damage(Problem::Trailing)),
                (10, 1, Issue::Damage(Problem::Torn)),
            ]
        );
    }

    #[test]
    fn a_whole_last_line_without_newline_is_told_from_a_torn_one() {
        assert_eq!(check(SOUND.as_bytes()), [(1, 1, Issue::NoFinalNewline)]);
    }

    #[test]
    fn a_file_without_entries_is_one_finding() {
        assert_eq!(check(b"\x7fELF\n\n\0\0\nmore"), [(1, 4, Issue::NoEntries)]);
    }

    #[test]
    fn messages_need_four_fields_and_records_none() {
        for field in ["uuid", "parentUuid", "timestamp", "message"] {
            let line = SOUND.replace(&format!("\"{field}\":"), "\"x\":") + "\n";
            assert_eq!(check(line.as_bytes()), [(1, 1, Issue::MissingField(field))], "{field}");
        }
        let attachment = SOUND.replace("\"user\"", "\"attachment\"").replace("\"timestamp\":", "\"x\":");
        assert_eq!(check((attachment + "\n").as_bytes()), [], "no conversation ends with an attachment");
        let no_time = SOUND.replace("2026-01", "yesterday") + "\n";
        assert_eq!(check(no_time.as_bytes()), [(1, 1, Issue::MissingField("timestamp"))]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_reported_with_their_line() {
        let file =
            [SOUND.as_bytes(), b"\n", &SOUND.as_bytes()[..SOUND.len() - 3], b"{\"a\":\"\xff\"}}\n"].concat();
        assert_eq!(check(&file), [(2, 1, Issue::InvalidUtf8)]);
    }
}
