//! Tables for people: without frames, numbers aligned right, wide characters counted as two columns, no wider than the
//! terminal.

use std::io::Write;

use annals_api::has_harmful;
use comfy_table::{Cell, CellAlignment, Table as Grid, presets};
use unicode_width::UnicodeWidthStr;

use super::conversation::is_like_path;
use super::{BOLD, clean, clean_piece, columns, cut, cut_start};
use crate::failure::Failure;

/// The minimum width of a column while another one can still be left out.
const NARROW: usize = 12;
/// The same of the column that a reader looks for first.
const MAIN: usize = 24;
/// The minimum width of a column.
const NARROWEST: usize = 4;
/// The blanks between columns.
const GAP: u16 = 2;

/// A table. Its cells may contain untrusted text.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark before a title")]
struct Column {
    is_right: bool,
    /// Whether it is cut if the terminal is too narrow.
    is_flexible: bool,
    /// Whether it is cut at the beginning, because paths differ most at their ends.
    is_path: bool,
    /// Whether those of its cells that look like paths are cut at the beginning.
    may_be_path: bool,
    /// Whether a reader looks for it first: others are left out before it becomes narrow.
    is_main: bool,
    /// Whether it is cut before other columns.
    is_cut_first: bool,
    /// The order in which columns are left out if cutting is not enough: the highest first, and zero never.
    leave_out: usize,
}

impl Column {
    /// Reads the marks before a title, see [`Table::new`].
    fn of(title: &str) -> Self {
        let marked = title.trim_start_matches('?');
        Self {
            is_right: marked.starts_with('>'),
            is_flexible: marked.starts_with('~'),
            is_path: marked.starts_with("~/"),
            may_be_path: marked.starts_with("~:"),
            is_main: marked.starts_with("~!"),
            is_cut_first: marked.starts_with("~~"),
            leave_out: title.len() - marked.len(),
        }
    }

    /// Returns its minimum width while another one can still be left out.
    fn narrow(self) -> usize {
        if self.is_main { MAIN } else { NARROW }
    }

    /// Returns how wide the column counts when the widest one is cut: paths count twice, because their ends are enough.
    fn share(self, width: usize) -> usize {
        match self {
            Column { is_cut_first: true, .. } => 8 * width,
            Column { is_path: true, .. } => 2 * width,
            _ => width,
        }
    }
}

impl Table {
    /// Returns a table with these columns. The marks before a title say how it is shown: `>` aligns it to the right, `~` lets
    /// it be cut, `~/` lets it be cut at the beginning, `~:` at the beginning where it looks like a path, `~~` before other
    /// columns, and `~!` after others were left out. With `?` before these it may be left out: the more of them, the
    /// sooner.
    pub(crate) fn new(titles: &[&str]) -> Self {
        let header = titles
            .iter()
            .map(|title| title.trim_start_matches(['?', '>', '~', '/', ':', '!']).to_owned())
            .collect();
        Self { columns: titles.iter().map(|title| Column::of(title)).collect(), rows: vec![header] }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| clean(cell).into_owned()).collect());
    }

    /// Adds a row of a long table. The caller has masked what is from a transcript, and has not made the rest from it: numbers,
    /// times, ids.
    pub(crate) fn masked_row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cleaned = cells
            .into_iter()
            .map(|cell| if has_harmful(&cell) { clean_piece(&cell).into_owned() } else { cell });
        self.rows.push(cleaned.collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Prints the table, fitted to the terminal if there is one.
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

    /// Returns the titles of the columns that the terminal has no room for.
    pub(crate) fn left_out(&self) -> Vec<&str> {
        let fitting = self.fitting(columns());
        let all = 0..self.columns.len();
        let left_out = all.filter(|column| !fitting.iter().any(|(fitting, _)| fitting == column));
        let titles = left_out.map(|column| self.rows[0][column].as_str());
        titles.filter(|title| !title.is_empty()).collect()
    }

    fn lines(&self, width: Option<usize>) -> impl Iterator<Item = String> {
        let fitting = self.fitting(width);
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING);
        for (number, row) in self.rows.iter().enumerate() {
            let cells = fitting.iter().map(|&(column, width)| {
                let is_right = self.columns[column].is_right;
                let alignment = if is_right { CellAlignment::Right } else { CellAlignment::Left };
                let Column { is_path, may_be_path, .. } = self.columns[column];
                let is_path = number > 0 && (is_path || may_be_path && is_like_path(&row[column]));
                let cut = if is_path { cut_start } else { cut };
                Cell::new(cut(&row[column], width)).set_alignment(alignment)
            });
            grid.add_row(cells.collect::<Vec<_>>());
        }
        grid.column_iter_mut().for_each(|column| _ = column.set_padding((0, GAP)));
        grid.lines().collect::<Vec<_>>().into_iter()
    }

    /// Returns the columns that fit, each with its width: what its cells need, or less for flexible columns if the terminal is
    /// too narrow.
    fn fitting(&self, width: Option<usize>) -> Vec<(usize, usize)> {
        let needed: Vec<_> =
            (0..self.columns.len()).map(|column| (column, self.needed_width(column))).collect();
        let Some(width) = width else { return needed };
        let mut kept = needed.clone();
        loop {
            let cut = self.cut_to(width, &kept, Column::narrow);
            let Some(dropped) = self.first_to_leave(&kept).filter(|_| !fits(&cut, width)) else { break };
            kept.retain(|&(column, _)| column != dropped);
        }
        let cut = self.cut_to(width, &kept, Column::narrow);
        self.cut_to(width, &cut, |_| NARROWEST)
    }

    fn needed_width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0)
    }

    /// Makes flexible columns narrower, the widest first, until all fit or none is wider than `narrowest` says. Paths become
    /// half as wide as texts, because their ends are enough.
    fn cut_to(
        &self,
        width: usize,
        columns: &[(usize, usize)],
        narrowest: fn(Column) -> usize,
    ) -> Vec<(usize, usize)> {
        let mut columns = columns.to_vec();
        while !fits(&columns, width) {
            let flexible = columns.iter_mut().filter(|(number, width)| {
                let column = self.columns[*number];
                column.is_flexible && *width > narrowest(column)
            });
            match flexible.max_by_key(|(number, width)| self.columns[*number].share(*width)) {
                Some((_, widest)) => *widest -= 1,
                None => break,
            }
        }
        columns
    }

    /// Returns which column is left out first: an empty one, or else the one with the most question marks.
    fn first_to_leave(&self, columns: &[(usize, usize)]) -> Option<usize> {
        let may_leave =
            columns.iter().map(|&(column, _)| column).filter(|&column| self.columns[column].leave_out > 0);
        may_leave.max_by_key(|&column| (self.is_empty_column(column), self.columns[column].leave_out))
    }

    fn is_empty_column(&self, column: usize) -> bool {
        self.rows.iter().skip(1).all(|row| row[column].is_empty())
    }
}

fn fits(columns: &[(usize, usize)], width: usize) -> bool {
    let gaps = usize::from(GAP) * columns.len().saturating_sub(1);
    columns.iter().map(|(_, width)| width).sum::<usize>() + gaps <= width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(table: &Table, width: Option<usize>) -> Vec<String> {
        table.lines(width).map(|line| line.trim_end().to_owned()).collect()
    }

    fn title_count(table: &Table, width: Option<usize>) -> usize {
        printed(table, width)[0].split_whitespace().count()
    }

    fn row_with(notes: &str) -> [String; 5] {
        ["s1", "茶 ❤️❤️❤️❤️❤️❤️❤️ timer", "/home/mia/tea/timer", "12 MB", notes].map(str::to_owned)
    }

    #[test]
    fn flexible_columns_give_way_on_a_narrow_terminal() {
        let mut table = Table::new(&["name", "~prompt", ">calls"]);
        table.row(&["a".to_owned(), "为什么这里会超时？ and then some".to_owned(), "12".to_owned()]);
        assert_eq!(printed(&table, None)[1], "a     为什么这里会超时？ and then some     12");
        assert_eq!(
            printed(&table, Some(30)),
            ["name  prompt             calls", "a     为什么这里会超时…     12"]
        );
        assert_eq!(printed(&table, Some(3)), ["name  pro…  calls", "a     为…      12"]);
    }

    #[test]
    fn paths_keep_their_ends_and_remarks_give_way_first() {
        let mut table = Table::new(&["~:subject", "~~notes"]);
        let long = "a remark that is as long as this one is";
        table.row(&["/home/mia/tea/src/kettle.rs".to_owned(), long.to_owned()]);
        table.row(&["cargo test --package kettle".to_owned(), String::new()]);
        assert_eq!(printed(&table, Some(41))[1], "/home/mia/tea/src/kettle.rs  a remark th…");
        assert_eq!(&printed(&table, Some(26))[1..], ["…c/kettle.rs  a remark th…", "cargo test …"]);
    }

    #[test]
    fn the_main_column_stays_readable_while_others_can_be_left_out() {
        let mut table = Table::new(&["turn", "~!prompt", "?~by", "??>calls"]);
        let prompt = "Why does the kettle whistle before the water boils?";
        table.row(&["1".to_owned(), prompt.to_owned(), "prompt (resume)".to_owned(), "12".to_owned()]);
        assert_eq!(printed(&table, Some(47))[0], "turn  prompt                    by");
        assert_eq!(printed(&table, Some(47))[1], "1     Why does the kettle whi…  prompt (resume)");
        assert_eq!(printed(&table, Some(28))[1], "1     Why does the kettle w…");
    }

    #[test]
    fn columns_are_left_out_where_cutting_is_not_enough() {
        let mut table = Table::new(&["id", "~title", "?~project", "???>size", "??notes"]);
        table.row(&row_with(""));
        assert_eq!(
            [None, Some(60), Some(42), Some(40), Some(30), Some(20)].map(|width| title_count(&table, width)),
            [5, 5, 4, 4, 3, 2]
        );
        table.row(&row_with("a note"));
        assert_eq!([60, 43, 42, 20].map(|width| title_count(&table, Some(width))), [5, 4, 4, 2]);
        for width in 10..80 {
            let widest = table.lines(Some(width)).map(|line| line.trim_end().width()).max().unwrap();
            assert!(widest <= width, "{widest} columns of {width}");
        }
    }
}
