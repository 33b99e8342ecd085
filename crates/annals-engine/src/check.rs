//! What is wrong with the lines of a transcript, and what the consequences are.

use annals_transcript::second_root::{RootKind, second_roots};
use annals_transcript::session::Session;
use annals_transcript::{Entry, Flag, Kind, Problem};

use crate::error::Error;
use crate::snapshot::Conversation;

/// An issue in a file, with the lines that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, or the first of several lines in a row, counted from 1.
    pub line: u64,
    /// How many lines in a row have the issue.
    pub lines: u64,
    /// How many bytes are affected.
    pub bytes: u64,
    /// The issue.
    pub issue: Issue,
}

/// What can be wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Issue {
    /// The bytes are not one intact JSON object.
    Damage(Problem),
    /// The file begins with a byte order mark.
    ByteOrderMark,
    /// Lines end in CR LF.
    CarriageReturns,
    /// The last line is intact but does not end in a newline.
    NoFinalNewline,
    /// Some bytes are not UTF-8.
    InvalidUtf8,
    /// The file has lines, but none of them has an entry.
    NoEntries,
    /// A message lacks a field that Claude Code needs to restore it.
    MissingField(&'static str),
    /// A message in the middle of the file has no parent.
    Root(RootKind),
    /// Another line has the same uuid and takes precedence.
    Replaced {
        /// The number of the other line.
        by: u64,
        /// Whether the two lines have different content.
        differs: bool,
    },
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost.
    Info,
    /// Something may be lost or shown wrongly.
    Warning,
    /// Claude Code loses a part of the history.
    Error,
}

impl Severity {
    /// Returns the severity as a word.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Issue {
    /// Returns how much the issue matters.
    pub fn severity(&self) -> Severity {
        match self {
            Issue::Damage(problem) => match problem {
                Problem::Blank | Problem::Trailing => Severity::Info,
                Problem::Torn => Severity::Warning,
                Problem::Nul
                | Problem::NulPrefix
                | Problem::Glued
                | Problem::Unclosed
                | Problem::Headless
                | Problem::Syntax
                | Problem::NotObject
                | Problem::Garbage => Severity::Error,
            },
            Issue::ByteOrderMark
            | Issue::CarriageReturns
            | Issue::NoFinalNewline
            | Issue::Replaced { differs: false, .. } => Severity::Info,
            Issue::Root(kind) if !kind.continues() => Severity::Info,
            Issue::InvalidUtf8
            | Issue::MissingField(_)
            | Issue::Root(_)
            | Issue::Replaced { differs: true, .. } => Severity::Warning,
            Issue::NoEntries => Severity::Error,
        }
    }

    /// Returns the issue in words.
    pub fn title(&self) -> String {
        match self {
            Issue::Damage(problem) => problem.to_string(),
            Issue::ByteOrderMark => "byte order mark at the start".to_owned(),
            Issue::CarriageReturns => "lines end in CR LF".to_owned(),
            Issue::NoFinalNewline => "no newline at the end".to_owned(),
            Issue::InvalidUtf8 => "bytes that are not UTF-8".to_owned(),
            Issue::MissingField(field) => format!("message without a valid `{field}`"),
            Issue::Root(RootKind::CopyOfFirstPrompt) => "copy of the first prompt".to_owned(),
            Issue::Root(RootKind::ParentlessPrompts) => {
                "prompt without a parent, as all prompts of this file".to_owned()
            }
            Issue::Root(_) => "message whose link to what came before is lost".to_owned(),
            Issue::Replaced { by, .. } => format!("same uuid as line {by}"),
            Issue::NoEntries => "no entry in the whole file".to_owned(),
        }
    }

    /// Returns the consequences in words.
    pub fn effect(&self) -> &'static str {
        match self {
            Issue::Damage(problem) => match problem {
                Problem::Blank => "costs nothing",
                Problem::Trailing => "costs nothing: the object before it is read",
                Problem::Nul => "what should stand here was never written",
                Problem::NulPrefix | Problem::Glued => "Claude Code loses the entry; annals reads it",
                Problem::Torn => "the entry being written when its writer stopped is lost",
                Problem::Unclosed | Problem::Headless | Problem::Syntax => "the entry is lost",
                Problem::NotObject | Problem::Garbage => "no entry can be read here",
            },
            Issue::ByteOrderMark => "Claude Code reads the line, its SDKs lose it",
            Issue::CarriageReturns => "costs nothing: another program rewrote the line ends",
            Issue::NoFinalNewline => "a program that appends without looking glues its line to this one",
            Issue::InvalidUtf8 => "shown as U+FFFD, kept as they are",
            Issue::MissingField("uuid") => "Claude Code does not load the message",
            Issue::MissingField("parentUuid") => "Claude Code does not see what came before the message",
            Issue::MissingField("timestamp") => "Claude Code refuses to resume a conversation that ends here",
            Issue::MissingField(_) => "there is nothing to restore",
            Issue::Root(RootKind::CopyOfFirstPrompt) => "Claude Code reads the conversation from here on",
            Issue::Root(_) => "Claude Code may not see what came before the message",
            Issue::Replaced { differs: true, .. } => "Claude Code uses only the content of the other line",
            Issue::Replaced { differs: false, .. } => "costs nothing: both lines have the same content",
            Issue::NoEntries => "it is not a transcript, or nothing is left of one",
        }
    }

    /// Returns whether the issue can be repaired without losing anything more.
    pub fn is_repairable(&self) -> bool {
        match self {
            Issue::Damage(problem) => match problem {
                Problem::Blank
                | Problem::Nul
                | Problem::NulPrefix
                | Problem::Glued
                | Problem::Trailing
                | Problem::Torn
                | Problem::Unclosed => true,
                Problem::Headless | Problem::Syntax | Problem::NotObject | Problem::Garbage => false,
            },
            Issue::ByteOrderMark | Issue::CarriageReturns | Issue::NoFinalNewline => true,
            Issue::Root(kind) => kind.continues(),
            Issue::InvalidUtf8 | Issue::MissingField(_) | Issue::Replaced { .. } | Issue::NoEntries => false,
        }
    }
}

/// Collects findings from the entries of one file, which are added in order.
#[derive(Debug, Default)]
pub struct Checker {
    findings: Vec<Finding>,
    carriage_returns: Option<usize>,
    ends_in_newline: bool,
    last_line: u64,
    bytes: u64,
    has_entries: bool,
}

impl Checker {
    /// Checks the next entry of the file; `problem` is the result of [`Entry::verify`].
    pub fn add(&mut self, entry: &Entry<'_>, problem: Option<Problem>) {
        let line = entry.at().line;
        let bytes = entry.bytes();
        if let Some(problem) = problem {
            self.report(line, bytes.len(), Issue::Damage(problem));
        }
        if entry.at().offset == 0 && bytes.starts_with(b"\xEF\xBB\xBF") {
            self.report(line, 3, Issue::ByteOrderMark);
        }
        if bytes.ends_with(b"\r\n") {
            self.report_carriage_return(line);
        }
        if entry.kind() != Kind::Noise && std::str::from_utf8(bytes).is_err() {
            self.report(line, bytes.len(), Issue::InvalidUtf8);
        }
        if problem.is_none_or(Problem::is_readable)
            && let Some(field) = missing_field(entry)
        {
            self.report(line, bytes.len(), Issue::MissingField(field));
        }
        self.ends_in_newline =
            entry.ends_in_newline() || problem.is_some_and(|problem| !problem.is_readable());
        self.last_line = line;
        self.bytes += bytes.len() as u64;
        self.has_entries |= entry.kind() != Kind::Noise;
    }

    /// Reports messages in the middle of the file that have no parent. Such messages are normal after a compaction, after the
    /// context was cleared, and after a rewind to the start; these are not reported.
    pub(crate) fn add_roots(&mut self, session: &Session) {
        for root in second_roots(session) {
            let node = &session.nodes()[root.node];
            let has_parent_field = node.parent.is_some() || node.has(Flag::NullParent);
            let is_normal =
                matches!(root.kind, RootKind::Boundary | RootKind::ContextCleared | RootKind::RewindToStart);
            // A message without the field was reported as `MissingField`.
            if has_parent_field && !is_normal {
                let bytes = usize::try_from(node.length).unwrap_or(usize::MAX);
                self.report(node.at.line, bytes, Issue::Root(root.kind));
            }
        }
    }

    /// Reports lines whose content is ignored because another line has the same uuid.
    pub(crate) fn add_duplicates(&mut self, conversation: &Conversation<'_>) -> Result<(), Error> {
        let nodes = conversation.session().nodes();
        let duplicates = conversation.duplicates();
        for lines in duplicates.entries() {
            let counts = duplicates.content(lines[0]);
            let content = conversation.content(counts)?;
            for &line in lines.iter().filter(|&&line| line != counts) {
                let differs = conversation.content(line)? != content;
                let issue = Issue::Replaced { by: nodes[counts].at.line, differs };
                let bytes = usize::try_from(nodes[line].length).unwrap_or(usize::MAX);
                self.report(nodes[line].at.line, bytes, issue);
            }
        }
        Ok(())
    }

    /// Returns the findings in the order of lines.
    pub fn finish(mut self) -> Vec<Finding> {
        if self.last_line > 0 && !self.has_entries {
            let all = Finding { line: 1, lines: self.last_line, bytes: self.bytes, issue: Issue::NoEntries };
            return vec![all];
        }
        if self.last_line > 0 && !self.ends_in_newline {
            self.report(self.last_line, 0, Issue::NoFinalNewline);
        }
        self.findings.sort_by_key(|finding| finding.line);
        self.findings
    }

    /// Adds a finding. The same damage on consecutive lines is one finding.
    fn report(&mut self, line: u64, bytes: usize, issue: Issue) {
        let bytes = bytes as u64;
        if let Some(last) = self.findings.last_mut()
            && last.issue == issue
            && matches!(issue, Issue::Damage(problem) if !problem.is_readable())
            && line <= last.line + last.lines
        {
            last.lines = line + 1 - last.line;
            last.bytes += bytes;
            return;
        }
        self.findings.push(Finding { line, lines: 1, bytes, issue });
    }

    /// Counts a line that ends in CR LF. All such lines of a file are one finding.
    fn report_carriage_return(&mut self, line: u64) {
        let index = *self.carriage_returns.get_or_insert_with(|| {
            self.findings.push(Finding { line, lines: 0, bytes: 0, issue: Issue::CarriageReturns });
            self.findings.len() - 1
        });
        self.findings[index].lines += 1;
        self.findings[index].bytes += 1;
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
    if head.time().is_none() {
        return Some("timestamp");
    }
    let speaks = head.kind.is_prompt_or_reply();
    (speaks && !head.has(Flag::Message)).then_some("message")
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
        checker.finish().into_iter().map(|finding| (finding.line, finding.lines, finding.issue)).collect()
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
