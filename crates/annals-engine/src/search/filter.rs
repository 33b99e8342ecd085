//! The filters of a query as conditions on documents.
//!
//! Names are compared here and not in SQL, because paths and names have their own rules. There are few of them, and what SQL gets are
//! their numbers; so no text of a query is ever part of a statement.

use std::path::PathBuf;

use annals_search::{Condition, DateError, Filter, Query};
use jiff::Zoned;
use rusqlite::Connection;

use super::TextFilter;
use super::index::{NameKind, part_number, role_number};
use crate::catalog::FileFilter;

/// Which documents are searched.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Conditions on `documents`; all of them hold.
    documents: Vec<String>,
    /// The files in which a document has to stand; `None` if all are searched.
    files: Option<String>,
    /// The files of the config folders that are searched; `None` if the index has no others.
    known_files: Option<String>,
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
            let Some(rendered) = render_any(&alternatives, connection, now, filter)? else { continue };
            let wanted = if is_negated { "IS NOT TRUE" } else { "IS TRUE" };
            conditions.documents.push(format!("({rendered}) {wanted}"));
        }
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

    /// Returns what a statement adds behind `WHERE …`, for documents that it calls `d`.
    pub(super) fn sql(&self) -> String {
        let files = self.files.as_ref().map(|files| {
            format!(
                "(d.file IN ({files}) \
                 OR EXISTS (SELECT 1 FROM copies WHERE document = d.id AND file IN ({files})))"
            )
        });
        self.documents.iter().chain(&files).flat_map(|condition| [" AND ", condition]).collect()
    }

    /// Returns the expression that tells whether the file of a place is searched.
    pub(super) fn is_searched_place(&self) -> String {
        self.files.as_ref().map_or_else(|| "TRUE".to_owned(), |files| format!("file IN ({files})"))
    }

    /// Returns the expression that tells whether a place may be named, also if its file is not searched.
    pub(super) fn is_known_place(&self) -> String {
        self.known_files.as_ref().map_or_else(|| "TRUE".to_owned(), |files| format!("file IN ({files})"))
    }

    /// Returns the expression for the file of a document.
    pub(super) fn file(&self) -> String {
        match &self.files {
            Some(files) => {
                format!(
                    "iif(d.file IN ({files}), d.file, \
                     (SELECT min(file) FROM copies WHERE document = d.id AND file IN ({files})))"
                )
            }
            None => "d.file".to_owned(),
        }
    }
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

/// Returns alternatives of the same name as one condition in SQL; `None` if they are conditions on files. SQLite bounds the depth
/// of a condition, so the names that any of them wants are one list, however many they are.
fn render_any(
    alternatives: &[&Condition],
    connection: &Connection,
    now: &Zoned,
    filter: &dyn TextFilter,
) -> Result<Option<String>, Failure> {
    let wanted: Vec<_> =
        alternatives.iter().filter_map(|condition| WantedName::of(condition, filter)).collect();
    if let Some(first) = wanted.first() {
        let is_wanted = |name: &str| wanted.iter().any(|wanted| (wanted.matches)(name));
        let names = names(connection, first.kind, &is_wanted)?;
        return Ok(Some(match first.kind {
            NameKind::File => {
                format!("EXISTS (SELECT 1 FROM touched WHERE document = d.id AND name IN ({names}))")
            }
            NameKind::Tool => format!("d.tool IN ({names})"),
            NameKind::Branch => format!("d.branch IN ({names})"),
            NameKind::Model => format!("d.model IN ({names})"),
            NameKind::Project | NameKind::Root => format!("d.project IN ({names})"),
        }));
    }
    let mut rendered: Vec<String> = Vec::new();
    for condition in alternatives {
        let Some(condition) = render(condition, now)? else { return Ok(None) };
        if !rendered.contains(&condition) {
            rendered.push(condition);
        }
    }
    Ok(Some(rendered.join(" OR ")))
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

/// Returns a condition in SQL that is not about names; `None` if it is one on files.
fn render(condition: &Condition, now: &Zoned) -> Result<Option<String>, Failure> {
    let time = |when: &annals_search::When| {
        let time = when.resolve(now).map_err(Failure::Date)?;
        Ok::<_, Failure>(time.as_millisecond())
    };
    Ok(Some(match condition {
        Condition::Role(role) => format!("d.role = {}", role_number(*role)),
        Condition::In(parts) => {
            format!("d.part IN ({})", joined(parts.iter().map(|part| part_number(*part))))
        }
        Condition::IsError => "d.is_error".to_owned(),
        Condition::Before(when) => format!("d.time < {}", time(when)?),
        Condition::After(when) => format!("d.time >= {}", time(when)?),
        _ => return Ok(None),
    }))
}

/// Returns the numbers of names.
fn names(
    connection: &Connection,
    kind: NameKind,
    is_wanted: &dyn Fn(&str) -> bool,
) -> rusqlite::Result<String> {
    let mut statement = connection.prepare_cached("SELECT id, name FROM names WHERE kind = ?1")?;
    let mut rows = statement.query([kind as i64])?;
    let mut numbers: Vec<i64> = Vec::new();
    while let Some(row) = rows.next()? {
        if is_wanted(row.get_ref(1)?.as_str()?) {
            numbers.push(row.get(0)?);
        }
    }
    Ok(joined(numbers.into_iter()))
}

/// Returns the numbers of the config folders that the index knows and that are not searched.
fn other_roots(connection: &Connection, roots: &[PathBuf]) -> rusqlite::Result<String> {
    let is_other = |root: &str| !roots.iter().any(|known| known.to_string_lossy() == root);
    names(connection, NameKind::Root, &is_other)
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
    other_roots: &str,
    connection: &Connection,
) -> rusqlite::Result<String> {
    let sql = format!("SELECT id, session FROM files WHERE root NOT IN ({other_roots})");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let has_positive = sessions.iter().any(|(_, is_negated)| !is_negated);
    let mut numbers: Vec<i64> = Vec::new();
    while let Some(row) = rows.next()? {
        let session = row.get::<_, Option<String>>(1)?.unwrap_or_default().to_lowercase();
        let named = |negated| {
            sessions.iter().any(|(wanted, is_negated)| *is_negated == negated && session.starts_with(wanted))
        };
        if !named(true) && (!has_positive || named(false)) {
            numbers.push(row.get(0)?);
        }
    }
    Ok(joined(numbers.into_iter()))
}

fn joined(numbers: impl Iterator<Item = impl ToString>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}
