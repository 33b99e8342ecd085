//! What the databases of annals have in common: they are derived from transcripts, so one that cannot be used is removed.

use std::fs;
use std::path::Path;

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

/// Removes a database with the files that SQLite puts beside it.
pub(crate) fn remove_file(path: &Path) {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = fs::remove_file(name);
    }
}
