//! What the databases of annals have in common: they are derived from transcripts, so one that cannot be used is removed.

use std::fs;
#[cfg(feature = "search")]
use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "search")]
use annals_transcript::write::fs::Disk;
use rusqlite::{Connection, ErrorCode};

/// Returns the version of the layout of a database; 0 for a new one.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Returns whether a file is of no use any more: it is no database, damaged, of another version, or has tables and values
/// that this version does not write.
pub(crate) fn is_broken(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnIndex, InvalidColumnType,
        SqlInputError,
    };

    let is_foreign = matches!(
        error,
        IntegralValueOutOfRange(..)
            | InvalidColumnIndex(..)
            | InvalidColumnType(..)
            | FromSqlConversionFailure(..)
            | SqlInputError { .. }
    );
    let is_unusable = |code| {
        // The last one, as well as `SqlInputError`, is for statements that do not fit the tables.
        matches!(code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown)
    };
    is_foreign || error.sqlite_error_code().is_some_and(is_unusable)
}

/// Returns whether a file is no database or a damaged one. Other failures may be those of a statement that a user asked for.
#[cfg(feature = "search")]
pub(crate) fn is_damaged(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code.is_some_and(|code| matches!(code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// What SQLite adds to the name of a database for the files beside it, behind the database itself.
const SUFFIXES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes a database with the files that SQLite puts beside it.
pub(crate) fn remove_file(path: &Path) {
    for suffix in SUFFIXES {
        let _ = fs::remove_file(with_suffix(path, suffix));
    }
}

/// Moves a database away with the files beside it. It goes first, so that it never stands at its path without its log.
#[cfg(feature = "search")]
pub(crate) fn move_away(disk: &dyn Disk, path: &Path, to: &Path) -> io::Result<()> {
    SUFFIXES.iter().try_for_each(|suffix| move_one(disk, path, to, suffix))
}

/// Takes back what [`move_away`] did, or the part of it that was done.
#[cfg(feature = "search")]
pub(crate) fn move_back(disk: &dyn Disk, path: &Path, from: &Path) -> io::Result<()> {
    SUFFIXES.iter().rev().try_for_each(|suffix| move_one(disk, from, path, suffix))
}

#[cfg(feature = "search")]
fn move_one(disk: &dyn Disk, from: &Path, to: &Path, suffix: &str) -> io::Result<()> {
    match disk.rename(&with_suffix(from, suffix), &with_suffix(to, suffix)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    }
}
