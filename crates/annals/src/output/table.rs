//! Tables that people can read: no frames, numbers to the right, wide characters counted as wide.

use std::io::Write;

use comfy_table::{Cell, CellAlignment, Table as Grid, presets};

use super::{BOLD, clean};
use crate::failure::Failure;

/// A table whose first column is text and whose cells may come from strangers.
pub(crate) struct Table {
    grid: Grid,
    rows: usize,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Self {
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING);
        grid.set_header(titles.iter().enumerate().map(|(column, title)| cell(column, title)));
        Self { grid, rows: 0 }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.rows += 1;
        self.grid.add_row(cells.iter().enumerate().map(|(column, text)| cell(column, text)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
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
}

fn cell(column: usize, text: &str) -> Cell {
    let numeric = column > 0 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let alignment = if numeric { CellAlignment::Right } else { CellAlignment::Left };
    Cell::new(clean(text)).set_alignment(alignment)
}
