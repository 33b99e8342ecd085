//! The columns of the tables: the one place that says which there are, in which order, and how each is written and read.
//! Statements and checksums are built from these declarations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use annals_transcript::checkpoint::{Checkpoint, Fingerprint};
use annals_transcript::file_state::FileStamp;
use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, Value, ValueRef};

use crate::catalog::activity::Activity;
use crate::catalog::facts::{Facts, Title, TitleSource, TranscriptKind};
use crate::fold::{FileFold, Fold};

/// A column of a table with rows of `T`.
pub(super) struct Column<T> {
    pub(super) name: &'static str,
    pub(super) kind: Kind<T>,
}

/// What a column holds.
pub(super) enum Kind<T> {
    /// A part of the row's value.
    Value { write: fn(&T) -> Value, read: fn(&mut T, ValueRef<'_>) -> FromSqlResult<()> },
    /// A checksum of all columns before it.
    Checksum,
}

/// Which file a row is about, in which state: the first columns of every table.
#[derive(Debug, Default)]
pub(super) struct Key {
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
}

/// Declares a column that holds one field: `column!("name", field.within.field)`.
macro_rules! column {
    ($name:literal, $($field:ident).+) => {
        Column {
            name: $name,
            kind: Kind::Value {
                write: |row| row.$($field).+.write(),
                read: |row, value| {
                    row.$($field).+ = Field::read(value)?;
                    Ok(())
                },
            },
        }
    };
}

pub(super) const KEY: &[Column<Key>] = &[
    column!("path", path),
    column!("size", stamp.length),
    column!("modified", stamp.modified),
    column!("device", stamp.device),
    column!("inode", stamp.inode),
];

pub(super) const FACTS: &[Column<Facts>] = &[
    column!("kind", kind),
    column!("first_prompt", first_prompt),
    Column { name: "title_source", kind: Kind::Value { write: write_title_source, read: read_title_source } },
    Column { name: "title", kind: Kind::Value { write: write_title, read: read_title } },
    column!("created", created_at),
    column!("updated", updated_at),
    column!("first_cwd", cwds.first),
    column!("other_cwd", cwds.elsewhere),
    column!("moved_to", cwds.moved_to),
    column!("git_branch", git_branch),
    column!("version", version),
    column!("entrypoint", entrypoint),
    column!("permission_mode", permission_mode),
    column!("tag", tag),
    column!("forked_from", forked_from),
    column!("session", session),
    column!("messages", messages),
    column!("queued", queued),
    Column { name: "extent", kind: Kind::Value { write: write_extent, read: read_extent } },
    Column { name: "fingerprint", kind: Kind::Value { write: write_fingerprint, read: read_fingerprint } },
    Column { name: "checksum", kind: Kind::Checksum },
];

/// The number of messages is also read without the rest, so it has a checksum of its own.
pub(super) const ACTIVITY: &[Column<FileFold<Activity>>] = &[
    fold_version(),
    column!("messages", state.messages),
    Column { name: "messages_checksum", kind: Kind::Checksum },
    column!("tools", state.tools),
    column!("files", state.files),
    column!("roots", state.roots),
    column!("checkpoint", progress.checkpoint),
    column!("lines", progress.lines),
    Column { name: "checksum", kind: Kind::Checksum },
];

/// The version of the fold that wrote the row. Queries select rows of the present version only.
const fn fold_version<F: Fold>() -> Column<FileFold<F>> {
    Column { name: "version", kind: Kind::Value { write: |_| F::VERSION.write(), read: |_, _| Ok(()) } }
}

fn write_title_source(facts: &Facts) -> Value {
    facts.title.as_ref().map(|title| title.source as i64).write()
}

/// The text of the title is in the next column.
fn read_title_source(facts: &mut Facts, value: ValueRef<'_>) -> FromSqlResult<()> {
    let number: Option<i64> = Field::read(value)?;
    let source =
        number.map(|number| find(TitleSource::ALL, |source| *source as i64 == number)).transpose()?;
    facts.title = source.map(|source| Title { text: String::new(), source });
    Ok(())
}

/// Most titles are the first prompt, which has a column of its own.
fn write_title(facts: &Facts) -> Value {
    let text = facts.title.as_ref().map(|title| &title.text);
    text.filter(|text| facts.first_prompt.as_ref() != Some(text)).map_or(Value::Null, Field::write)
}

fn read_title(facts: &mut Facts, value: ValueRef<'_>) -> FromSqlResult<()> {
    if let Some(title) = &mut facts.title {
        let text: Option<String> = Field::read(value)?;
        title.text = text.or_else(|| facts.first_prompt.clone()).ok_or(FromSqlError::InvalidType)?;
    }
    Ok(())
}

/// Two flags in one number, because a list reads thousands of rows.
fn write_extent(facts: &Facts) -> Value {
    Value::Integer(i64::from(facts.is_partial) | i64::from(facts.can_grow) << 1)
}

fn read_extent(facts: &mut Facts, value: ValueRef<'_>) -> FromSqlResult<()> {
    let flags = value.as_i64()?;
    (facts.is_partial, facts.can_grow) = (flags & 1 != 0, flags & 2 != 0);
    Ok(())
}

fn write_fingerprint(facts: &Facts) -> Value {
    facts.checkpoint.fingerprint().map(Fingerprint::number).write()
}

/// The rest of the checkpoint is in the key.
fn read_fingerprint(facts: &mut Facts, value: ValueRef<'_>) -> FromSqlResult<()> {
    let number: Option<i64> = Field::read(value)?;
    facts.checkpoint = Checkpoint::new((0, 0), 0, number.and_then(Fingerprint::from_number));
    Ok(())
}

/// A type that has a column: how its values are written and read.
trait Field: Sized {
    fn write(&self) -> Value;
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self>;
}

impl Field for i64 {
    fn write(&self) -> Value {
        Value::Integer(*self)
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64()
    }
}

impl Field for u64 {
    fn write(&self) -> Value {
        Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        number.try_into().map_err(|_| FromSqlError::OutOfRange(number))
    }
}

impl Field for String {
    fn write(&self) -> Value {
        Value::Text(self.clone())
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        String::column_result(value)
    }
}

/// To the millisecond, as lists show it.
impl Field for Timestamp {
    fn write(&self) -> Value {
        Value::Integer(self.as_millisecond())
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        Timestamp::from_millisecond(number).map_err(|_| FromSqlError::OutOfRange(number))
    }
}

impl<T: Field> Field for Option<T> {
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        if value == ValueRef::Null { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl Field for PathBuf {
    fn write(&self) -> Value {
        Value::Blob(path_bytes(self).to_vec())
    }

    #[cfg(unix)]
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        use std::os::unix::ffi::OsStrExt;
        Ok(std::ffi::OsStr::from_bytes(value.as_blob()?).into())
    }

    #[cfg(not(unix))]
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(String::from_utf8_lossy(value.as_blob()?).into_owned().into())
    }
}

/// Returns a path as it is stored.
pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

impl Field for TranscriptKind {
    fn write(&self) -> Value {
        Value::Integer(*self as i64)
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        find(TranscriptKind::ALL, |kind| *kind as i64 == number)
    }
}

impl Field for Checkpoint {
    fn write(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Checkpoint::parse(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

/// Each name ends with a NUL byte, which no path has.
impl Field for BTreeSet<String> {
    fn write(&self) -> Value {
        let names = self.iter().flat_map(|name| [name.replace('\0', ""), "\0".to_owned()]);
        Value::Blob(names.collect::<String>().into_bytes())
    }

    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let names = str::from_utf8(value.as_blob()?).map_err(FromSqlError::other)?;
        Ok(names.split_terminator('\0').map(str::to_owned).collect())
    }
}

/// Returns the one of several values that was stored.
fn find<T: Copy>(all: &[T], is_stored: impl Fn(&T) -> bool) -> FromSqlResult<T> {
    all.iter().copied().find(is_stored).ok_or(FromSqlError::InvalidType)
}
