//! An FTS5 table as a store has it: contentless, with the columns of the analyzer.

use annals_search::{Columns, FtsMatch, Query, TOKENIZER};
use rusqlite::{Connection, Result};

pub(crate) struct Index {
    connection: Connection,
}

impl Index {
    /// Makes an index of texts, whose row ids are 0, 1 and so on.
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE texts USING fts5(words, parts, content='', detail=full, tokenize='{TOKENIZER}');
             CREATE VIRTUAL TABLE vocabulary USING fts5vocab(texts, instance);"
        ))?;
        let mut columns = Columns::default();
        for (text, id) in texts.into_iter().zip(0_i64..) {
            columns.fill(text);
            let row = (id, &columns.words, &columns.parts);
            connection.execute("INSERT INTO texts(rowid, words, parts) VALUES (?1, ?2, ?3)", row)?;
        }
        Ok(Self { connection })
    }

    /// Returns the column, the position and the text of each token: all words, then all parts.
    pub(crate) fn tokens(&self) -> Result<Vec<(String, u32, String)>> {
        let sql = "SELECT col, offset, term FROM vocabulary ORDER BY col DESC, offset";
        let mut query = self.connection.prepare(sql)?;
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
    }

    /// Returns the row ids that a query matches, as the index finds them.
    pub(crate) fn search(&self, query: &Query) -> Result<Vec<usize>> {
        let matching = "SELECT rowid FROM texts WHERE texts MATCH ?1";
        let (sql, expression) = match query.fts_match() {
            FtsMatch::Everything => ("SELECT rowid FROM texts ORDER BY rowid".to_owned(), None),
            FtsMatch::Rows(rows) => (format!("{matching} ORDER BY rowid"), Some(rows)),
            FtsMatch::AllRowsBut(rows) => (
                format!("SELECT rowid FROM texts WHERE rowid NOT IN ({matching}) ORDER BY rowid"),
                Some(rows),
            ),
        };
        let mut statement = self.connection.prepare(&sql)?;
        statement.query_map(rusqlite::params_from_iter(expression), |row| row.get(0))?.collect()
    }
}
