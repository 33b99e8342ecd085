//! The filters of a query as conditions on documents.
//!
//! Paths and names have their own rules. There are few of them, so that a query compares them first, and documents with the numbers
//! of those that are wanted.

use std::collections::HashSet;
use std::path::PathBuf;

use annals_search::{Condition, DateError, Filter, Part, Query, Role, When};
use foldhash::fast::FixedState;
use jiff::{Timestamp, Zoned};
use rusqlite::Connection;

use super::TextFilter;
use super::facts::{Facts, FactsReader};
use super::index::NameKind;
use crate::catalog::FileFilter;

/// Which documents are searched.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// All of them hold.
    documents: Vec<Alternatives>,
    /// The files in which a document has to stand; `None` if all are searched.
    files: Option<Numbers>,
    /// The files of the config folders that are searched; `None` if the index has no others.
    known_files: Option<Numbers>,
}

/// Numbers of names or files.
type Numbers = HashSet<i64, FixedState>;

/// One of several tests has to hold, or none of them.
#[derive(Debug)]
struct Alternatives {
    tests: Vec<Test>,
    is_negated: bool,
}

/// What is asked of a document.
#[derive(Debug)]
enum Test {
    Tool(Numbers),
    Project(Numbers),
    Branch(Numbers),
    Model(Numbers),
    /// It is about one of these files.
    File(Numbers),
    Role(Role),
    Parts(&'static [Part]),
    IsError,
    /// Milliseconds since 1970.
    Before(i64),
    After(i64),
}

/// Why filters cannot be applied.
pub(super) enum Failure {
    Date(DateError),
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl Conditions {
    /// Reads the conditions of a query. Only files of these roots are searched.
    pub(super) fn of(
        query: &Query,
        connection: &Connection,
        roots: &[PathBuf],
        now: &Zoned,
        filter: &dyn TextFilter,
    ) -> Result<Self, Failure> {
        let mut conditions = Self::default();
        // Filters of the same name are alternatives, except for times. So are negated ones: none of them may hold.
        let mut groups: Vec<(&'static str, bool, Vec<&Condition>)> = Vec::new();
        for Filter { condition, is_negated } in query.filters() {
            let name = name(condition);
            let is_alternative = name != "time" || *is_negated;
            match groups.iter_mut().find(|group| is_alternative && (group.0, group.1) == (name, *is_negated))
            {
                Some((.., alternatives)) => alternatives.push(condition),
                None => groups.push((name, *is_negated, vec![condition])),
            }
        }
        for (_, is_negated, alternatives) in groups {
            let tests = tests_of(&alternatives, connection, now, filter)?;
            if !tests.is_empty() {
                conditions.documents.push(Alternatives { tests, is_negated });
            }
        }
        // A document may have several files, so that they are asked for last.
        conditions.documents.sort_by_key(|alternatives| matches!(alternatives.tests[..], [Test::File(_)]));
        let other_roots = other_roots(connection, roots)?;
        if !other_roots.is_empty() {
            conditions.known_files = Some(files_of(&[], &other_roots, connection)?);
        }
        let sessions = sessions(query.filters());
        conditions.files = if sessions.is_empty() {
            conditions.known_files.clone()
        } else {
            Some(files_of(&sessions, &other_roots, connection)?)
        };
        Ok(conditions)
    }

    /// Returns whether every document is searched.
    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.files.is_none()
    }

    /// Returns whether a document is searched.
    pub(super) fn hold(
        &self,
        document: i64,
        facts: &Facts,
        reader: &FactsReader<'_>,
    ) -> rusqlite::Result<bool> {
        for Alternatives { tests, is_negated } in &self.documents {
            let mut holds = false;
            for test in tests {
                holds = holds || test.holds(document, facts, reader)?;
            }
            if holds == *is_negated {
                return Ok(false);
            }
        }
        Ok(self.file(document, facts, reader.connection)?.is_some())
    }

    /// Returns the first file of a document that is searched.
    pub(super) fn file(
        &self,
        document: i64,
        facts: &Facts,
        connection: &Connection,
    ) -> rusqlite::Result<Option<i64>> {
        if self.is_searched_file(facts.file) {
            return Ok(Some(facts.file));
        }
        if !facts.has_copies {
            return Ok(None);
        }
        let files = "SELECT file FROM copies WHERE document = ?1 ORDER BY file";
        let mut files = connection.prepare_cached(files)?;
        let found = files
            .query_map([document], |row| row.get(0))?
            .find(|file| !matches!(file, Ok(file) if !self.is_searched_file(*file)));
        found.transpose()
    }

    /// Returns whether a file is searched.
    pub(super) fn is_searched_file(&self, file: i64) -> bool {
        self.files.as_ref().is_none_or(|files| files.contains(&file))
    }

    /// Returns whether a file may be named, also if it is not searched.
    pub(super) fn is_known_file(&self, file: i64) -> bool {
        self.known_files.as_ref().is_none_or(|files| files.contains(&file))
    }
}

impl Test {
    fn holds(&self, document: i64, facts: &Facts, reader: &FactsReader<'_>) -> rusqlite::Result<bool> {
        Ok(match self {
            Self::Tool(names) => has_one(names, facts.tool),
            Self::Project(names) => has_one(names, facts.project),
            Self::Branch(names) => has_one(names, facts.branch),
            Self::Model(names) => has_one(names, facts.model),
            Self::File(names) => reader.has_file(document, |file| names.contains(&file))?,
            Self::Role(role) => facts.role == Some(*role),
            Self::Parts(parts) => facts.part.is_some_and(|part| parts.contains(&part)),
            Self::IsError => facts.is_error,
            Self::Before(end) => facts.time.is_some_and(|time| time < *end),
            Self::After(start) => facts.time.is_some_and(|time| time >= *start),
        })
    }
}

/// Returns whether there is a number, and it is one of some others.
fn has_one(numbers: &Numbers, number: Option<i64>) -> bool {
    number.is_some_and(|number| numbers.contains(&number))
}

/// Returns the name by which filters are alternatives.
pub(super) fn name(condition: &Condition) -> &'static str {
    match condition {
        Condition::Tool(_) => "tool",
        Condition::File(_) => "file",
        Condition::Role(_) => "role",
        Condition::Project(_) => "project",
        Condition::Branch(_) => "branch",
        Condition::Model(_) => "model",
        Condition::Before(_) | Condition::After(_) => "time",
        Condition::IsError => "is",
        Condition::In(_) => "in",
        _ => "other",
    }
}

/// Returns alternatives of the same name as tests; none if they are conditions on sessions. The names that any of them wants
/// are one list, however many conditions there are.
fn tests_of(
    alternatives: &[&Condition],
    connection: &Connection,
    now: &Zoned,
    filter: &dyn TextFilter,
) -> Result<Vec<Test>, Failure> {
    let wanted: Vec<_> =
        alternatives.iter().filter_map(|condition| WantedName::of(condition, filter)).collect();
    if let Some(first) = wanted.first() {
        let names =
            names(connection, first.kind, &|name| wanted.iter().any(|wanted| (wanted.matches)(name)))?;
        return Ok(vec![match first.kind {
            NameKind::File => Test::File(names),
            NameKind::Tool => Test::Tool(names),
            NameKind::Branch => Test::Branch(names),
            NameKind::Model => Test::Model(names),
            NameKind::Project | NameKind::Root => Test::Project(names),
        }]);
    }
    let mut tests = Vec::new();
    for condition in alternatives {
        tests.extend(test(condition, now)?);
    }
    Ok(tests)
}

/// Whether a name is wanted.
type NameTest = Box<dyn Fn(&str) -> bool>;

/// The names that a condition wants.
struct WantedName {
    kind: NameKind,
    matches: NameTest,
}

impl WantedName {
    /// Returns the names that a condition wants; `None` if it is not about names. The index has filtered names, so that those
    /// of conditions are filtered, too.
    fn of(condition: &Condition, filter: &dyn TextFilter) -> Option<Self> {
        let same = |wanted: &str| {
            let wanted = filter.filter(wanted).into_owned();
            Box::new(move |name: &str| name.eq_ignore_ascii_case(&wanted))
        };
        let below = |wanted: &str| {
            let wanted = FileFilter::new(&filter.filter(wanted));
            Box::new(move |path: &str| wanted.matches(path, None))
        };
        let (kind, matches): (_, NameTest) = match condition {
            Condition::Tool(wanted) => (NameKind::Tool, same(wanted)),
            Condition::Branch(wanted) => (NameKind::Branch, same(wanted)),
            Condition::Model(wanted) => {
                let wanted = filter.filter(wanted).to_ascii_lowercase();
                (NameKind::Model, Box::new(move |model| model.to_ascii_lowercase().contains(&wanted)))
            }
            Condition::Project(wanted) => (NameKind::Project, below(wanted)),
            Condition::File(wanted) => (NameKind::File, below(wanted)),
            _ => return None,
        };
        Some(Self { kind, matches })
    }
}

/// Returns a condition that is not about names; `None` if it is one on sessions.
fn test(condition: &Condition, now: &Zoned) -> Result<Option<Test>, Failure> {
    Ok(Some(match condition {
        Condition::Role(role) => Test::Role(*role),
        Condition::In(parts) => Test::Parts(parts),
        Condition::IsError => Test::IsError,
        Condition::Before(when) => Test::Before(milliseconds(when, now)?),
        Condition::After(when) => Test::After(milliseconds(when, now)?),
        _ => return Ok(None),
    }))
}

/// Returns a time in milliseconds since 1970.
fn milliseconds(when: &When, now: &Zoned) -> Result<i64, Failure> {
    when.resolve(now).map(Timestamp::as_millisecond).map_err(Failure::Date)
}

/// Returns the numbers of names.
fn names(
    connection: &Connection,
    kind: NameKind,
    is_wanted: &dyn Fn(&str) -> bool,
) -> rusqlite::Result<Numbers> {
    let mut statement = connection.prepare_cached("SELECT id, name FROM names WHERE kind = ?1")?;
    let mut rows = statement.query([kind as i64])?;
    let mut numbers = Numbers::default();
    while let Some(row) = rows.next()? {
        if is_wanted(row.get_ref(1)?.as_str()?) {
            numbers.insert(row.get(0)?);
        }
    }
    Ok(numbers)
}

/// Returns the numbers of the config folders that the index knows and that are not searched.
fn other_roots(connection: &Connection, roots: &[PathBuf]) -> rusqlite::Result<Numbers> {
    names(connection, NameKind::Root, &|root| !roots.iter().any(|known| known.to_string_lossy() == root))
}

/// The beginning of a session's id, and whether such sessions are left out.
type NamedSession = (String, bool);

/// Returns the sessions that filters name.
fn sessions(filters: &[Filter]) -> Vec<NamedSession> {
    let named = filters.iter().filter_map(|filter| match &filter.condition {
        Condition::Session(wanted) => Some((wanted.to_lowercase(), filter.is_negated)),
        _ => None,
    });
    named.collect()
}

/// Returns the numbers of the files of sessions.
fn files_of(
    sessions: &[NamedSession],
    other_roots: &Numbers,
    connection: &Connection,
) -> rusqlite::Result<Numbers> {
    let mut statement = connection.prepare_cached("SELECT id, session, root FROM files ORDER BY id")?;
    let mut rows = statement.query([])?;
    let has_positive = sessions.iter().any(|(_, is_negated)| !is_negated);
    let mut numbers = Numbers::default();
    while let Some(row) = rows.next()? {
        if other_roots.contains(&row.get(2)?) {
            continue;
        }
        let session = row.get::<_, Option<String>>(1)?.unwrap_or_default().to_lowercase();
        let mut named = sessions.iter().filter(|(wanted, _)| session.starts_with(wanted)).peekable();
        let is_named = named.peek().is_some();
        if !named.any(|(_, is_negated)| *is_negated) && (!has_positive || is_named) {
            numbers.insert(row.get(0)?);
        }
    }
    Ok(numbers)
}
