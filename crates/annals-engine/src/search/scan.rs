//! Search without an index: reads transcripts and looks for a pattern in their texts.
//!
//! Texts are decoded and filtered before the pattern sees them, so that it finds what a person would read and nothing that is
//! masked. Most entries do not have to be decoded: a word that every match has must stand in their bytes.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use annals_search::{Condition, Filter, Match, Part, Role, Snippet};
use annals_transcript::line::read_span;
use annals_transcript::{Entry, Kind, Reader};
use jiff::Timestamp;
use memchr::memmem;
use rayon::prelude::*;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

use super::document::{self, Document, Setting, Subject};
use super::find::{MOST_COPIES, session_key};
use super::spilled::{self, SpilledOutputs};
use super::update::OpenCalls;
use super::{Copy, Hit, Limit, SearchAnswer, SearchCursor, SearchOptions, TextFilter, filter};
use crate::catalog::FileFilter;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::symlink_guard::SymlinkGuard;

/// Limits are checked after so many bytes.
const STEP: u64 = 256 << 10;

/// So many bytes of a file with output that was too long for its transcript are searched.
const SPILLED_LIMIT: usize = 16 << 20;

/// Shorter words stand in nearly every entry.
const SHORTEST_WORD: usize = 2;

/// What is looked for in the texts of transcripts.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// A text that every match contains, and that JSON spells as it is or with `\u`.
    required: Option<String>,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// There is nothing to look for.
    #[error("the pattern is empty")]
    Empty,
    /// It is not a regular expression.
    #[error("the pattern is not a regular expression: {0}")]
    Syntax(String),
    /// It would need too much memory.
    #[error("the pattern is too large")]
    TooLarge,
}

impl Pattern {
    /// Returns a regular expression as a pattern. `^` and `$` match at lines; `(?i)` ignores case.
    pub fn regex(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        let regex = RegexBuilder::new(text).multi_line(true).build().map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
            error => PatternError::Syntax(reason(&error.to_string())),
        })?;
        let parsed = regex_syntax::ParserBuilder::new().multi_line(true).build().parse(text).ok();
        let required = parsed.and_then(|parsed| required_text(&parsed));
        Ok(Self { regex, required })
    }

    /// Returns a pattern that finds exactly this text.
    pub fn fixed(text: &str) -> Result<Self, PatternError> {
        Self::regex(&regex::escape(text))
    }

    /// Returns where the pattern matches in a text.
    fn find(&self, text: &str) -> Vec<Match> {
        let found = self.regex.find_iter(text).filter(|found| !found.is_empty());
        found.map(|found| Match { range: found.range(), term: 0 }).collect()
    }

    fn matches(&self, text: &str) -> bool {
        self.regex.find_iter(text).any(|found| !found.is_empty())
    }
}

/// Returns the reason in an error of the regular expression, which also repeats the expression on other lines.
fn reason(message: &str) -> String {
    let last = message.lines().last().unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Returns the longest text that every match of an expression contains, and that stands in JSON as it is.
fn required_text(expression: &Hir) -> Option<String> {
    match expression.kind() {
        HirKind::Literal(literal) => longest_plain(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Capture(capture) => required_text(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required_text(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(required_text).max_by_key(String::len),
        _ => None,
    }
}

/// Returns the longest part of a text without characters that JSON escapes, or that stand between joined texts.
fn longest_plain(text: &str) -> Option<String> {
    let is_other =
        |character: char| character.is_whitespace() || character.is_control() || "\"\\/".contains(character);
    let longest = text.split(is_other).max_by_key(|part| part.len())?;
    (longest.len() >= SHORTEST_WORD).then(|| longest.to_owned())
}

pub(super) fn scan(
    engine: &Engine,
    pattern: &Pattern,
    filters: &[Filter],
    filter: &dyn TextFilter,
    options: &SearchOptions,
) -> Result<SearchAnswer, Error> {
    let start = start(pattern, options)?;
    let scan = Scan {
        pattern,
        filter,
        options,
        conditions: Conditions::of(filters, options)?,
        prefilter: Prefilter::of(pattern, filters, filter),
        guard: options.inside.then(|| engine.symlink_guard()),
        read: AtomicU64::new(0),
        reached: Mutex::new(None),
    };
    let selection = engine.transcripts();
    let files: Vec<_> =
        selection.files.into_iter().filter(|file| scan.conditions.includes_file(file)).collect();
    let mut errors = selection.errors;
    let read: Vec<_> = files.par_iter().enumerate().map(|(number, file)| scan.file(number, file)).collect();
    let mut candidates = Vec::new();
    for (found, file) in read.into_iter().zip(&files) {
        match found {
            Ok(found) => candidates.extend(found),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => errors.push(Error::read(&file.path, error)),
        }
    }
    let copies = take_copies(&mut candidates);
    candidates.sort_by(|one, other| other.time.cmp(&one.time).then(other.identity.cmp(&one.identity)));
    let sessions: HashSet<_> = candidates.iter().map(|found| session_key(&files[found.file])).collect();
    let shower = Shower { scan: &scan, files: &files, copies, start };
    let total = candidates.len() as u64;
    let (hits, next) = shower.page(shower.groups(candidates));
    Ok(SearchAnswer {
        hits,
        total,
        sessions: sessions.len(),
        next,
        cut: *scan.reached.lock().unwrap_or_else(PoisonError::into_inner),
        errors,
        ..SearchAnswer::default()
    })
}

/// Returns where the answer begins: a position before all hits, or the one that the caller gives.
fn start(pattern: &Pattern, options: &SearchOptions) -> Result<SearchCursor, Error> {
    use std::hash::BuildHasher;
    // A cursor belongs to the pattern that it came from.
    let generation = foldhash::quality::FixedState::default().hash_one(pattern.regex.as_str());
    match options.after {
        Some(cursor) if cursor.generation == generation => Ok(cursor),
        Some(_) => Err(Error::new(ErrorKind::Query {
            reason: "the position belongs to another search; search again from the first page".to_owned(),
        })),
        None => Ok(SearchCursor {
            generation,
            newest: 0,
            now: options.now.timestamp().as_millisecond(),
            score: f64::INFINITY,
            document: i64::MAX,
        }),
    }
}

/// Removes candidates that are the same part of the same message as an earlier one. Returns in which other files each stands.
fn take_copies(candidates: &mut Vec<Candidate>) -> HashMap<i64, Vec<FoundCopy>> {
    let mut copies: HashMap<i64, Vec<FoundCopy>> = HashMap::new();
    candidates.sort_by_key(|found| (found.identity, found.file, found.offset));
    candidates.dedup_by(|copy, first| {
        let is_copy = copy.identity == first.identity;
        if is_copy && copy.file != first.file {
            let found = FoundCopy { file: copy.file, offset: copy.offset, length: copy.length };
            copies.entry(first.identity).or_default().push(found);
        }
        is_copy
    });
    copies
}

/// One search through all files.
struct Scan<'s> {
    pattern: &'s Pattern,
    filter: &'s dyn TextFilter,
    options: &'s SearchOptions,
    conditions: Conditions<'s>,
    prefilter: Option<Prefilter>,
    guard: Option<SymlinkGuard>,
    /// The bytes that were read.
    read: AtomicU64,
    /// The limit that was reached first.
    reached: Mutex<Option<Limit>>,
}

/// A part of a message that matches.
#[derive(Clone, Debug)]
struct Candidate {
    identity: i64,
    file: usize,
    offset: u64,
    length: u64,
    number: usize,
    part: Part,
    role: Role,
    is_error: bool,
    time: Option<i64>,
    tool: Option<Box<str>>,
}

/// Another place of a candidate.
#[derive(Clone, Copy, Debug)]
struct FoundCopy {
    file: usize,
    offset: u64,
    length: u64,
}

impl Candidate {
    #[expect(clippy::cast_precision_loss, reason = "times of this age are exact")]
    fn score(&self) -> f64 {
        self.time.unwrap_or(0) as f64
    }

    fn is_after(&self, cursor: &SearchCursor) -> bool {
        cursor.score.total_cmp(&self.score()).then(cursor.document.cmp(&self.identity)).is_gt()
    }
}

impl Scan<'_> {
    fn open(&self, file: &TranscriptFile) -> std::io::Result<File> {
        match &self.guard {
            Some(guard) => {
                let opened = guard.open(&file.path)?.map(|(file, _)| file);
                opened.ok_or_else(|| std::io::ErrorKind::NotFound.into())
            }
            None => open_regular(&file.path),
        }
    }

    /// Returns what matches in a transcript.
    fn file(&self, number: usize, file: &TranscriptFile) -> std::io::Result<Vec<Candidate>> {
        let mut found = Vec::new();
        if self.is_over() {
            return Ok(found);
        }
        let mut reader = Reader::new(self.open(file)?);
        let mut calls = OpenCalls::default();
        let spilled = SpilledOutputs::of(file, self.guard.as_ref(), SPILLED_LIMIT);
        let mut unchecked = 0;
        while let Some(entry) = reader.read()? {
            unchecked += entry.bytes().len() as u64;
            if unchecked >= STEP {
                self.read.fetch_add(std::mem::take(&mut unchecked), Ordering::Relaxed);
                if self.is_over() {
                    break;
                }
            }
            let may_match = |prefilter: &Prefilter| {
                prefilter.may_match(&entry) || spilled.exist() && prefilter.may_name_file(&entry)
            };
            if self.prefilter.as_ref().is_none_or(may_match) {
                self.entry(number, file, &spilled, &entry, &mut calls, &mut found);
            }
        }
        self.read.fetch_add(unchecked, Ordering::Relaxed);
        Ok(found)
    }

    fn entry(
        &self,
        number: usize,
        file: &TranscriptFile,
        spilled: &SpilledOutputs<'_>,
        entry: &Entry<'_>,
        calls: &mut OpenCalls,
        found: &mut Vec<Candidate>,
    ) {
        let Some(body) = entry.body() else { return };
        let mut documents = spilled.documents(entry).peekable();
        if documents.peek().is_none() {
            return;
        }
        let setting = Setting::of(entry);
        let offset = entry.at().offset + entry.offset_of(body);
        let mut subject = Subject::default();
        for mut document in documents {
            let call = document.call.as_deref();
            subject = match document.subject.take() {
                // It belongs to the result before it.
                _ if document.is_spilled() => subject,
                Some(subject) => calls.open(call, subject.with_paths_from_root(setting.project.as_deref())),
                None => calls.close(call),
            };
            let may_match =
                self.prefilter.as_ref().is_none_or(|prefilter| prefilter.may_match_text(&document.text));
            if !may_match || !self.conditions.hold(&document, &setting, &subject) {
                continue;
            }
            let text = document::searched_text(&document, self.filter, usize::MAX);
            if self.pattern.matches(&text) {
                let identity = document::identity(&file.path, offset, entry, &setting, &document, &text);
                found.push(Candidate {
                    identity,
                    file: number,
                    offset,
                    length: body.bytes().len() as u64,
                    number: document.number,
                    part: document.part,
                    role: document.role,
                    is_error: document.is_error,
                    time: setting.time,
                    tool: subject.tool.clone().map(String::into_boxed_str),
                });
            }
        }
    }

    /// Returns whether a limit is reached, and remembers which.
    fn is_over(&self) -> bool {
        let Some(limit) = self.options.reached(self.read.load(Ordering::Relaxed)) else { return false };
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(limit);
        true
    }
}

/// Tells from the bytes of most entries, and from most texts before they are filtered, that nothing in them matches.
struct Prefilter {
    required: memmem::Finder<'static>,
    /// Whether every character of the required text is ASCII.
    is_ascii: bool,
    escape: memmem::Finder<'static>,
    /// What results begin with that name a file.
    notice: memmem::Finder<'static>,
}

impl Prefilter {
    /// Returns `None` if every entry has to be decoded: no text is in every match, the filter may write that text, or
    /// filters ask for the tool of a result, which its call names.
    fn of(pattern: &Pattern, filters: &[Filter], filter: &dyn TextFilter) -> Option<Self> {
        let needs_calls =
            |filter: &Filter| matches!(filter.condition, Condition::Tool(_) | Condition::File(_));
        let required = pattern.required.as_deref().filter(|required| !filter.may_write(required))?;
        if filters.iter().any(needs_calls) {
            return None;
        }
        Some(Self {
            required: memmem::Finder::new(required.as_bytes()).into_owned(),
            is_ascii: required.is_ascii(),
            escape: memmem::Finder::new(b"\\u").into_owned(),
            notice: memmem::Finder::new(b"<persisted-output>"),
        })
    }

    /// Returns whether an entry may name a file with output that was too long for it.
    fn may_name_file(&self, entry: &Entry<'_>) -> bool {
        self.notice.find(entry.bytes()).is_some()
    }

    /// Returns whether a text of an entry may match. The words of notices are not those of their bytes.
    fn may_match(&self, entry: &Entry<'_>) -> bool {
        !matches!(entry.kind(), Kind::User | Kind::Assistant)
            || self.required.find(entry.bytes()).is_some()
            || self.may_be_escaped(entry.bytes())
    }

    /// Returns whether a text may match.
    fn may_match_text(&self, text: &str) -> bool {
        self.required.find(text.as_bytes()).is_some()
    }

    /// Returns whether a character of the required text may be written as an escape. Nearly all escapes are control characters, such
    /// as those that begin a colour, and the required text has none.
    fn may_be_escaped(&self, json: &[u8]) -> bool {
        self.escape.find_iter(json).any(|at| {
            let digits = json.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
            match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                Some(0..0x20) => false,
                Some(0x80..) => !self.is_ascii,
                _ => true,
            }
        })
    }
}

/// The filters of a query, for documents that are not in an index.
struct Conditions<'q> {
    /// Conditions that do not hold.
    negated: Vec<Resolved<'q>>,
    /// Conditions of which one in each list holds.
    alternatives: Vec<(&'static str, Vec<Resolved<'q>>)>,
    /// Beginnings of sessions' ids, and whether they are left out.
    sessions: Vec<(String, bool)>,
}

/// A condition whose parts are computed once.
enum Resolved<'q> {
    Plain(&'q Condition),
    Path(&'q Condition, FileFilter),
    Before(Timestamp),
    After(Timestamp),
}

impl<'q> Conditions<'q> {
    fn of(filters: &'q [Filter], options: &SearchOptions) -> Result<Self, Error> {
        let mut conditions = Self { negated: Vec::new(), alternatives: Vec::new(), sessions: Vec::new() };
        let resolve = |when: &annals_search::When| {
            when.resolve(&options.now)
                .map_err(|error| Error::new(ErrorKind::Query { reason: error.to_string() }))
        };
        for filter in filters {
            let resolved = match &filter.condition {
                Condition::Session(session) => {
                    conditions.sessions.push((session.to_lowercase(), filter.is_negated));
                    continue;
                }
                Condition::Before(when) => Resolved::Before(resolve(when)?),
                Condition::After(when) => Resolved::After(resolve(when)?),
                condition @ (Condition::Project(path) | Condition::File(path)) => {
                    Resolved::Path(condition, FileFilter::new(path))
                }
                condition => Resolved::Plain(condition),
            };
            let name = filter::name(&filter.condition);
            let known =
                conditions.alternatives.iter_mut().find(|(known, _)| *known == name && name != "time");
            match known {
                _ if filter.is_negated => conditions.negated.push(resolved),
                Some((_, alternatives)) => alternatives.push(resolved),
                None => conditions.alternatives.push((name, vec![resolved])),
            }
        }
        Ok(conditions)
    }

    fn includes_file(&self, file: &TranscriptFile) -> bool {
        let session = file.session.as_deref().unwrap_or_default().to_lowercase();
        let named = |negated| {
            self.sessions
                .iter()
                .any(|(wanted, is_negated)| *is_negated == negated && session.starts_with(wanted))
        };
        !named(true) && (named(false) || self.sessions.iter().all(|(_, is_negated)| *is_negated))
    }

    fn hold(&self, document: &Document<'_>, setting: &Setting<'_>, subject: &Subject) -> bool {
        let holds = |condition: &Resolved<'_>| condition.holds(document, setting, subject);
        !self.negated.iter().any(holds)
            && self.alternatives.iter().all(|(_, alternatives)| alternatives.iter().any(holds))
    }
}

impl Resolved<'_> {
    fn holds(&self, document: &Document<'_>, setting: &Setting<'_>, subject: &Subject) -> bool {
        let time = || setting.time.and_then(|time| Timestamp::from_millisecond(time).ok());
        match self {
            Resolved::Before(end) => time().is_some_and(|time| time < *end),
            Resolved::After(start) => time().is_some_and(|time| time >= *start),
            Resolved::Path(Condition::Project(_), wanted) => {
                setting.project.as_deref().is_some_and(|project| wanted.matches(project, None))
            }
            Resolved::Path(_, wanted) => subject.files.iter().any(|file| wanted.matches(file, None)),
            Resolved::Plain(condition) => match condition {
                Condition::Tool(wanted) => {
                    subject.tool.as_ref().is_some_and(|tool| tool.eq_ignore_ascii_case(wanted))
                }
                Condition::Branch(wanted) => {
                    setting.branch.as_deref().is_some_and(|branch| branch.eq_ignore_ascii_case(wanted))
                }
                Condition::Model(wanted) => setting
                    .model
                    .as_deref()
                    .is_some_and(|model| model.to_ascii_lowercase().contains(&wanted.to_ascii_lowercase())),
                Condition::Role(role) => document.role == *role,
                Condition::In(parts) => parts.contains(&document.part),
                Condition::IsError => document.is_error,
                _ => true,
            },
        }
    }
}

/// Reads what is shown of candidates.
struct Shower<'s> {
    scan: &'s Scan<'s>,
    files: &'s [TranscriptFile],
    copies: HashMap<i64, Vec<FoundCopy>>,
    start: SearchCursor,
}

impl Shower<'_> {
    /// Groups candidates by session, in the order of the newest of each; or lets each stand alone.
    fn groups(&self, candidates: Vec<Candidate>) -> Vec<Vec<Candidate>> {
        let mut groups: Vec<Vec<Candidate>> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for candidate in candidates {
            let group = match self.scan.options.per_session {
                Some(_) => *known.entry(session_key(&self.files[candidate.file])).or_insert(groups.len()),
                None => groups.len(),
            };
            match groups.get_mut(group) {
                Some(group) => group.push(candidate),
                None => groups.push(vec![candidate]),
            }
        }
        groups
    }

    /// Returns the hits of a page, and where the next one begins.
    fn page(&self, groups: Vec<Vec<Candidate>>) -> (Vec<Hit>, Option<SearchCursor>) {
        let options = self.scan.options;
        let mut hits = Vec::new();
        let mut shown_parts = HashMap::new();
        let mut shown = 0;
        let mut rest = groups.into_iter().filter(|group| group[0].is_after(&self.start)).peekable();
        while let Some(group) = rest.next() {
            let before = hits.len();
            for candidate in &group {
                if hits.len() - before >= options.per_session.unwrap_or(1) {
                    break;
                }
                let Some(hit) = self.hit(candidate, group.len()) else { continue };
                // A result may match with its own text and with that of its file.
                let part = (candidate.file, candidate.offset, spilled::part_number(candidate.number));
                if let Some(shown) = shown_parts.get(&part) {
                    Hit::add_copies(&mut hits[*shown], hit);
                } else {
                    shown_parts.insert(part, hits.len());
                    hits.push(hit);
                }
            }
            shown += usize::from(hits.len() > before);
            if shown >= options.limit.max(1) && rest.peek().is_some() {
                let last = &group[0];
                let next = SearchCursor { score: last.score(), document: last.identity, ..self.start };
                return (hits, Some(next));
            }
        }
        (hits, None)
    }

    /// Returns the hit of a candidate; `None` if its transcript was changed meanwhile.
    fn hit(&self, candidate: &Candidate, in_session: usize) -> Option<Hit> {
        let file = &self.files[candidate.file];
        let mut opened = self.scan.open(file).ok()?;
        let bytes = read_span(&mut opened, candidate.offset, candidate.length).ok()?;
        let entry = Entry::new(&bytes);
        let spilled = SpilledOutputs::of(file, self.scan.guard.as_ref(), SPILLED_LIMIT);
        let document = spilled.documents(&entry).find(|document| document.number == candidate.number)?;
        let text = document::searched_text(&document, self.scan.filter, usize::MAX);
        let found = self.scan.pattern.find(&text);
        let tool = candidate.tool.as_deref().map(str::to_owned);
        let tool = tool.or_else(|| self.tool_of_call(file, document.call.as_deref()?));
        let copies = self.copies.get(&candidate.identity).map(Vec::as_slice).unwrap_or_default();
        let (copies, more_copies) = copies.split_at(copies.len().min(MOST_COPIES));
        (!found.is_empty()).then(|| Hit {
            file: file.clone(),
            entry: entry.head().id.map(|id| id.decode().into_owned()),
            part: candidate.part,
            role: candidate.role,
            tool,
            project: Setting::of(&entry).project.map(std::borrow::Cow::into_owned),
            time: candidate.time.and_then(|time| Timestamp::from_millisecond(time).ok()),
            is_error: candidate.is_error,
            is_spilled: document.is_spilled(),
            score: candidate.score(),
            snippet: Snippet::new(&text, &found, self.scan.options.snippet_width),
            copies: copies.iter().map(|copy| self.copy(copy)).collect(),
            more_copies: more_copies.len(),
            in_session,
        })
    }

    /// Returns another place of a hit, with the id of the entry there.
    fn copy(&self, copy: &FoundCopy) -> Copy {
        let file = &self.files[copy.file];
        let opened = self.scan.open(file).ok();
        let bytes = opened.and_then(|mut opened| read_span(&mut opened, copy.offset, copy.length).ok());
        let id = bytes.as_deref().and_then(|bytes| Some(Entry::new(bytes).head().id?.decode().into_owned()));
        Copy { file: file.clone(), entry: id }
    }

    /// Returns the tool of a call whose entry was not decoded.
    fn tool_of_call(&self, file: &TranscriptFile, call: &str) -> Option<String> {
        let mut reader = Reader::new(self.scan.open(file).ok()?);
        let id = memmem::Finder::new(call.as_bytes());
        while let Ok(Some(entry)) = reader.read() {
            if entry.kind() == Kind::Assistant && id.find(entry.bytes()).is_some() {
                let mut documents = document::documents(&entry).into_iter();
                let found = documents
                    .find(|document| document.subject.is_some() && document.call.as_deref() == Some(call));
                if let Some(found) = found {
                    return found.subject.and_then(|subject| subject.tool);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::fs;

    use annals_search::Query;
    use serde_json::json;
    use testkit::transcript::Transcript;

    use super::*;
    use crate::search::Unfiltered;
    use crate::{Home, Roots};

    #[test]
    fn the_longest_text_that_every_match_has_is_required() {
        for (expression, required) in [
            ("foo.*barbaz", Some("barbaz")),
            ("(abc)+x", Some("abc")),
            (r"error\[E0\d+\]", Some("error[E0")),
            ("日本/語", Some("日本")),
            ("say \"hello\"", Some("hello")),
            ("(abc)?", None),
            ("abc|abd", None),
            ("(?i)abc", None),
            ("a\"b", None),
            (r"\d+", None),
        ] {
            let found = Pattern::regex(expression).unwrap().required;
            assert_eq!(found.as_deref(), required, "{expression}");
        }
    }

    /// Text as it is, of which nobody may assume that.
    struct Unknown;

    impl TextFilter for Unknown {
        fn filter<'t>(&self, text: &'t str) -> Cow<'t, str> {
            Cow::Borrowed(text)
        }

        fn fingerprint(&self) -> u64 {
            1
        }
    }

    #[test]
    fn entries_that_are_not_decoded_do_not_match() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("projects/-p");
        fs::create_dir_all(&project).unwrap();
        let session = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
        let lines = Transcript::session(session)
            .user("u1", "Boil a/b \"water\"\nnow 水壶 \u{1b}[31mred")
            .user("u2", "<command-name>/review</command-name><command-args>main.rs</command-args>")
            .assistant("a1", |reply| {
                reply.thinking("Hmm, water").text("Yes").tool(
                    "t1",
                    "Bash",
                    json!({"command": "ls a/b", "n": 42}),
                )
            })
            .result("u3", "t1", "water\tand tea")
            .message(
                "system",
                "s1",
                json!({"subtype": "compact_boundary", "compactMetadata": {"preTokens": 7}}),
            )
            .title("水壶 water")
            .to_string();
        let escaped = lines.replace('水', "\\u6c34").replace("Yes", "\\u0059es");
        fs::write(project.join(format!("{session}.jsonl")), lines + &escaped.replace("T10", "T11")).unwrap();
        let roots = Roots::given(vec![folder.path().to_owned()]).unwrap();
        let engine = Engine::open(roots, Home::at(folder.path().join("annals")));
        let options = SearchOptions { per_session: None, limit: usize::MAX, ..SearchOptions::default() };
        let query = Query::of_filters(Vec::new());
        for (pattern, found) in [
            ("water", 7),
            ("水壶", 3),
            ("Yes", 2),
            ("a/b", 4),
            ("\"water\"\nnow", 2),
            ("/review main", 2),
            ("42", 2),
            ("compacted by itself", 2),
            ("at 7 tokens", 2),
            ("red", 2),
            ("6c34", 0),
        ] {
            let pattern = Pattern::fixed(pattern).unwrap();
            let scan = |filter: &dyn TextFilter| {
                let answer = engine.scan(&pattern, &query, filter, &options).unwrap();
                let hits =
                    answer.hits.iter().map(|hit| (hit.entry.clone(), hit.part, hit.snippet.text.clone()));
                (answer.total, hits.collect::<Vec<_>>())
            };
            let (total, hits) = scan(&Unfiltered);
            assert_eq!((total, hits.clone()), scan(&Unknown), "{pattern:?}");
            assert_eq!((total, hits.len()), (found, usize::try_from(found).unwrap()), "{pattern:?}");
        }
    }

    #[test]
    fn only_escapes_of_wanted_characters_have_to_be_decoded() {
        let may_be_escaped = |required: &str, json: &str| {
            let pattern = Pattern::fixed(required).unwrap();
            Prefilter::of(&pattern, &[], &Unfiltered).unwrap().may_be_escaped(json.as_bytes())
        };
        for (json, ascii, wide) in [
            ("plain", false, false),
            (r"\u001b[31m\u0000", false, false),
            (r"\u001b \u0077ater", true, true),
            (r"\u6c34", false, true),
            (r"\ud83d\ude00", false, true),
            (r"\u00", true, true),
            (r"\u00zz", true, true),
        ] {
            assert_eq!(
                (may_be_escaped("water", json), may_be_escaped("水壶", json)),
                (ascii, wide),
                "{json}"
            );
        }
    }

    #[test]
    fn a_filter_that_writes_the_text_turns_the_shortcut_off() {
        let pattern = Pattern::fixed("water").unwrap();
        assert!(Prefilter::of(&pattern, &[], &Unfiltered).is_some());
        assert!(Prefilter::of(&pattern, &[], &Unknown).is_none());
    }
}
