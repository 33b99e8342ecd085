//! Tables that people can read: no frames, numbers to the right, wide characters counted as wide.

use std::io::Write;

use comfy_table::{Cell, CellAlignment, Table as Grid, presets};

use super::{BOLD, clean};
use crate::failure::Failure;

/// A table whose cells may come from strangers.
pub(crate) struct Table {
    grid: Grid,
    alignments: Vec<CellAlignment>,
}

impl Table {
    /// Makes a table with these columns; those whose title begins with `>` are set to the right.
    pub(crate) fn new(titles: &[&str]) -> Self {
        let alignment =
            |title: &&str| if title.starts_with('>') { CellAlignment::Right } else { CellAlignment::Left };
        let mut table = Self { grid: Grid::new(), alignments: titles.iter().map(alignment).collect() };
        let titles: Vec<_> = titles.iter().map(|title| title.trim_start_matches('>').to_owned()).collect();
        let header = table.cells(&titles);
        table.grid.load_style(presets::NOTHING).set_header(header);
        table
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        let cells = self.cells(cells);
        self.grid.add_row(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.grid.is_empty()
    }

    pub(crate) fn print(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        self.grid.column_iter_mut().for_each(|column| _ = column.set_padding((0, 2)));
        for (index, line) in self.grid.lines().enumerate() {
            let line = line.trim_end();
            if index == 0 {
                writeln!(out, "{BOLD}{line}{BOLD:#}")?;
            } else {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn cells(&self, texts: &[String]) -> Vec<Cell> {
        let aligned = texts.iter().zip(&self.alignments);
        aligned.map(|(text, alignment)| Cell::new(clean(text)).set_alignment(*alignment)).collect()
    }
}
