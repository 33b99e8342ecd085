//! Tables that people can read: no frames, numbers to the right, wide characters counted as wide, no wider than the
//! terminal.

use std::io::Write;

use comfy_table::{Cell, CellAlignment, Table as Grid, presets};
use unicode_width::UnicodeWidthStr;

use super::{BOLD, clean, columns, cut};
use crate::failure::Failure;

/// The narrowest that a column is made.
const NARROWEST: usize = 12;
/// Between columns.
const GAP: u16 = 2;

/// A table whose cells may come from strangers.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Left,
    Right,
    /// Cut where the terminal is too narrow.
    Flexible,
}

impl Table {
    /// Makes a table with these columns. A title that begins with `>` is set to the right, one with `~` may be cut.
    pub(crate) fn new(titles: &[&str]) -> Self {
        let column = |title: &&str| match title.as_bytes().first() {
            Some(b'>') => Column::Right,
            Some(b'~') => Column::Flexible,
            _ => Column::Left,
        };
        let header = titles.iter().map(|title| title.trim_start_matches(['>', '~']).to_owned()).collect();
        Self { columns: titles.iter().map(column).collect(), rows: vec![header] }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| clean(cell).into_owned()).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Prints the table for the terminal that there is, if there is one.
    pub(crate) fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        for (index, line) in self.lines(columns()).enumerate() {
            let line = line.trim_end();
            if index == 0 {
                writeln!(out, "{BOLD}{line}{BOLD:#}")?;
            } else {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn lines(&self, width: Option<usize>) -> impl Iterator<Item = String> {
        let widths = self.fitting(width);
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING);
        for row in &self.rows {
            let cells = row.iter().zip(&widths).zip(&self.columns).map(|((text, width), column)| {
                let alignment =
                    if *column == Column::Right { CellAlignment::Right } else { CellAlignment::Left };
                Cell::new(cut(text, *width)).set_alignment(alignment)
            });
            grid.add_row(cells.collect::<Vec<_>>());
        }
        grid.column_iter_mut().for_each(|column| _ = column.set_padding((0, GAP)));
        grid.lines().collect::<Vec<_>>().into_iter()
    }

    /// Returns how wide each column may be: what its cells need, less what the terminal lacks, taken from the widest
    /// of the flexible ones.
    fn fitting(&self, width: Option<usize>) -> Vec<usize> {
        let needed = |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..self.columns.len()).map(needed).collect();
        let Some(width) = width else { return widths };
        let gaps = usize::from(GAP) * (widths.len() - 1);
        while widths.iter().sum::<usize>() + gaps > width {
            let flexible = (0..widths.len()).filter(|&column| self.columns[column] == Column::Flexible);
            match flexible.max_by_key(|&column| widths[column]).filter(|&column| widths[column] > NARROWEST) {
                Some(widest) => widths[widest] -= 1,
                None => break,
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flexible_columns_give_way_on_a_narrow_terminal() {
        let mut table = Table::new(&["name", "~prompt", ">calls"]);
        table.row(&["a".to_owned(), "为什么这里会超时？ and then some".to_owned(), "12".to_owned()]);
        let print = |width| table.lines(width).map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(print(None)[1], "a     为什么这里会超时？ and then some     12");
        assert_eq!(print(Some(30)), ["name  prompt             calls", "a     为什么这里会超时…     12"]);
        assert!(print(Some(3))[1].starts_with("a     为什么这里…"), "{:?}", print(Some(3)));
    }
}
