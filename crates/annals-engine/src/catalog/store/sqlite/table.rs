//! Tables: their statements, rows to write and rows that were read, all built from the declared columns.

use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};

use super::checksum::Checksum;
use super::columns::{Column, KEY, Key, Kind};

/// A table: the columns of the key, then its own.
pub(super) struct Table<T: 'static> {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column<T>],
}

impl<T> Table<T> {
    fn column_names(&self) -> Vec<&'static str> {
        let own = self.columns.iter().map(|column| column.name);
        KEY.iter().map(|column| column.name).chain(own).collect()
    }

    /// Returns the list of columns of a query whose rows a [`RowReader`] reads.
    pub(super) fn column_list(&self) -> String {
        let qualified = self.column_names().into_iter().map(|name| format!("{}.{name}", self.name));
        qualified.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn create_statement(&self) -> String {
        let columns = self.column_names().join(", ");
        format!("CREATE TABLE IF NOT EXISTS {} ({columns}, PRIMARY KEY (path)) WITHOUT ROWID", self.name)
    }

    /// Returns the statement that takes a [`row`](Self::row).
    pub(super) fn insert_statement(&self) -> String {
        let names = self.column_names();
        let (columns, values) = (names.join(", "), vec!["?"; names.len()].join(", "));
        format!("INSERT OR REPLACE INTO {} ({columns}) VALUES ({values})", self.name)
    }

    /// Returns the values of a row.
    pub(super) fn row(&self, key: &Key, value: &T) -> Vec<Value> {
        let mut row = Vec::with_capacity(KEY.len() + self.columns.len());
        let mut checksum = Checksum::new();
        write(KEY, key, &mut checksum, &mut row);
        write(self.columns, value, &mut checksum, &mut row);
        row
    }
}

fn write<T>(columns: &[Column<T>], from: &T, checksum: &mut Checksum, row: &mut Vec<Value>) {
    for column in columns {
        let value = match column.kind {
            Kind::Value { write, .. } => write(from),
            Kind::Checksum => Value::Integer(checksum.number()),
        };
        checksum.add((&value).into());
        row.push(value);
    }
}

/// Reads the columns of a row one after the other, and compares checksums on the way.
pub(super) struct RowReader<'a> {
    row: &'a Row<'a>,
    next: usize,
    checksum: Checksum,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(row: &'a Row<'a>) -> Self {
        Self { row, next: 0, checksum: Checksum::new() }
    }

    /// Reads the next columns, which are these.
    pub(super) fn read<T: Default>(&mut self, columns: &[Column<T>]) -> rusqlite::Result<T> {
        let mut into = T::default();
        for column in columns {
            let value = self.next_value()?;
            match column.kind {
                Kind::Value { read, .. } => read(&mut into, value)?,
                Kind::Checksum => self.checksum.compare(value)?,
            }
            self.checksum.add(value);
        }
        Ok(into)
    }

    /// Returns the checksum of the columns that were read so far.
    pub(super) fn checksum(&self) -> Checksum {
        self.checksum.clone()
    }

    /// Reads a number from another table and its checksum there, which is that of the columns before it and the number.
    pub(super) fn read_joined(&mut self, mut before: Checksum) -> rusqlite::Result<Option<i64>> {
        let (number, kept) = (self.next_value()?, self.next_value()?);
        if number == ValueRef::Null {
            return Ok(None);
        }
        before.add(number);
        before.compare(kept)?;
        Ok(Some(number.as_i64()?))
    }

    fn next_value(&mut self) -> rusqlite::Result<ValueRef<'a>> {
        let value = self.row.get_ref(self.next)?;
        self.next += 1;
        Ok(value)
    }
}
