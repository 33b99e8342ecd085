//! Tables whose head names a column of secrets, as databases and command line tools print them.
//!
//! ```text
//!  user | password            NAME    TYPE     TOKEN
//! ------+----------------     tea     Opaque   q7Zk29LmX4tRw8
//!  mia  | q7Zk29LmX4tRw8
//! ```
//!
//! Cells are separated by bars, tabs or commas, or are aligned with two or more blanks between them. A table ends with an empty line,
//! or where the head of another one with another number of cells follows; other lines with another number of cells, such as comments, are skipped. The text may come from inside a JSON string: `\n` and `\t` count
//! as well.

use std::ops::Range;

/// No line of a table is longer, in bytes.
const LONGEST_LINE: usize = 1024;

/// How many bytes of a table are read after its head.
const LONGEST_TABLE: usize = 256 * 1024;

/// No name of a column is longer, in bytes.
const LONGEST_NAME: usize = 40;

/// What separates the cells of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Sign(char),
    Tab,
    /// Two or more blanks: a cell begins below the first character of its head.
    Blanks,
}

/// Finds the cells of a table below the names that `names_secrets` accepts, if `keyword` is in the head of one. Returns the end of what was
/// read, and the cells that are one word.
pub(crate) fn cells_below(
    text: &str,
    keyword: usize,
    names_secrets: impl Fn(&str) -> bool,
) -> (usize, Vec<Range<usize>>) {
    let head = line_around(text, keyword);
    let mut end = head.end;
    let Some((separator, names)) = head_of_table(&text[head.clone()]) else { return (end, Vec::new()) };
    let are_of_secrets = names.iter().map(|name| names_secrets(trimmed(&text[head.clone()], name)));
    let columns: Vec<_> = are_of_secrets
        .enumerate()
        .filter(|(_, is_of_secrets)| *is_of_secrets)
        .map(|(column, _)| column)
        .collect();
    let mut found = Vec::new();
    while !columns.is_empty() && end < text.len().min(head.end + LONGEST_TABLE) {
        let start = end + line_break(&text.as_bytes()[end..]);
        if start == end {
            break;
        }
        let line = start..end_of_line(text, start);
        let row = &text[line.clone()];
        if row.trim().is_empty() {
            break;
        }
        let cells = cells_of_row(row, separator, &text[head.clone()], &names);
        // Another table is read from its own head on.
        if cells.is_none() && is_head(row, &names_secrets) {
            break;
        }
        end = line.end;
        let Some(cells) = cells.filter(|_| !is_rule(row)) else { continue };
        let words = columns.iter().filter_map(|&column| word(row, &cells[column]));
        found.extend(words.map(|word| line.start + word.start..line.start + word.end));
    }
    (end, found)
}

/// Returns whether a row is the head of another table that has a column of secrets. The names of columns have no digits; a comment
/// is no head.
fn is_head(row: &str, names_secrets: &impl Fn(&str) -> bool) -> bool {
    let is_name = |cell: &Range<usize>| names_secrets(trimmed(row, cell));
    !row.trim_start().starts_with('#')
        && !row.bytes().any(|byte| byte.is_ascii_digit())
        && head_of_table(row).is_some_and(|(_, cells)| cells.iter().any(is_name))
}

/// Returns how the cells of a head are separated, and the cells; `None` if the line is no head of a table.
fn head_of_table(line: &str) -> Option<(Separator, Vec<Range<usize>>)> {
    let separators =
        [Separator::Sign('|'), Separator::Sign('│'), Separator::Tab, Separator::Sign(','), Separator::Blanks];
    separators.into_iter().find_map(|separator| {
        let cells = split(line, separator);
        let are_names = cells.iter().all(|cell| trimmed(line, cell).len() <= LONGEST_NAME);
        (cells.len() > 1 && are_names).then_some((separator, cells))
    })
}

/// Returns the cells of a row; `None` if it does not belong to the table.
fn cells_of_row(
    row: &str,
    separator: Separator,
    head: &str,
    names: &[Range<usize>],
) -> Option<Vec<Range<usize>>> {
    if separator != Separator::Blanks {
        let cells = split(row, separator);
        return (cells.len() == names.len()).then_some(cells);
    }
    Some(names.iter().map(|name| aligned_cell(row, head[..name.start].chars().count())).collect())
}

/// Returns the word that begins after so many characters of a line; it is empty if none begins there.
fn aligned_cell(row: &str, column: usize) -> Range<usize> {
    let start = row.char_indices().nth(column).map_or(row.len(), |(at, _)| at);
    if row[..start].chars().next_back().is_some_and(|before| before != ' ') {
        return start..start;
    }
    start..row[start..].find(' ').map_or(row.len(), |length| start + length)
}

/// Returns the cells of a line.
fn split(line: &str, separator: Separator) -> Vec<Range<usize>> {
    let mut cells = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < line.len() {
        let length = separator_length(&line[at..], separator);
        if length > 0 {
            // Blanks before the first cell separate it from nothing.
            if at > start || separator != Separator::Blanks {
                cells.push(start..at);
            }
            start = at + length;
        }
        at += length.max(line[at..].chars().next().map_or(1, char::len_utf8));
    }
    if start < line.len() || separator != Separator::Blanks {
        cells.push(start..line.len());
    }
    cells
}

/// Returns the length of the separator that a text begins with; 0 if there is none.
fn separator_length(text: &str, separator: Separator) -> usize {
    match separator {
        Separator::Sign(sign) => {
            if text.starts_with(sign) {
                sign.len_utf8()
            } else {
                0
            }
        }
        Separator::Tab => escape_length(text.as_bytes(), b'\t', b't'),
        Separator::Blanks => {
            let blanks = text.bytes().take_while(|byte| *byte == b' ').count();
            if blanks > 1 { blanks } else { 0 }
        }
    }
}

/// Returns the length of a control character that a text begins with, as it is or as JSON writes it, escaped once or more.
fn escape_length(text: &[u8], character: u8, letter: u8) -> usize {
    if text.first() == Some(&character) {
        return 1;
    }
    let backslashes = backslashes(text);
    if backslashes > 0 && text.get(backslashes) == Some(&letter) { backslashes + 1 } else { 0 }
}

/// Returns the length of the line end that a text begins with.
fn line_break(text: &[u8]) -> usize {
    let carriage_return = escape_length(text, b'\r', b'r');
    let line_feed = escape_length(&text[carriage_return..], b'\n', b'n');
    if line_feed > 0 { carriage_return + line_feed } else { 0 }
}

/// Returns the line that an offset is in. It also ends at quotation marks, where a JSON string does.
fn line_around(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let first = at.saturating_sub(LONGEST_LINE);
    let first = (first..=at).find(|&first| text.is_char_boundary(first)).unwrap_or(at);
    let start = (first..=at).rev().find(|&start| starts_line(&bytes[first..start])).unwrap_or(first);
    start..end_of_line(text, at)
}

/// Returns whether a line starts after a text.
fn starts_line(before: &[u8]) -> bool {
    matches!(before, [.., b'\n' | b'\r' | b'"'] | [.., b'\\', b'n' | b'r'])
}

/// Returns where a line ends, or what is near its beginning of a long one.
fn end_of_line(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let longest = bytes.len().min(start + LONGEST_LINE);
    let end = (start..longest).find(|&at| ends_line(&bytes[at..])).unwrap_or(longest);
    (end..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len())
}

/// Returns whether a text begins with a line end or a quotation mark, escaped or not.
fn ends_line(text: &[u8]) -> bool {
    line_break(text) > 0 || text.get(backslashes(text)) == Some(&b'"')
}

/// Returns how many backslashes a text begins with, at most as many as an escape may have.
fn backslashes(text: &[u8]) -> usize {
    const MOST: usize = 16;
    text.iter().take(MOST).take_while(|byte| **byte == b'\\').count()
}

/// Returns whether a line only separates others, such as `|---|---|`.
fn is_rule(line: &str) -> bool {
    line.contains(['-', '─', '=', '═']) && line.chars().all(|sign| " -+=|:─═│┼├┤┌┬┐└┴┘╞╪╡".contains(sign))
}

/// Returns the text of a cell without what stands around it.
fn trimmed<'t>(line: &'t str, cell: &Range<usize>) -> &'t str {
    line[cell.clone()].trim_matches([' ', '*', '`'])
}

/// Returns the content of a cell if it is one word.
fn word(line: &str, cell: &Range<usize>) -> Option<Range<usize>> {
    let word = trimmed(line, cell);
    if word.is_empty()
        || word.contains(|character: char| character.is_whitespace() || "\"'`\\|".contains(character))
    {
        return None;
    }
    let start = cell.start + line[cell.clone()].find(word)?;
    Some(start..start + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let keyword = text.find("password").unwrap();
        let (_, cells) = cells_below(text, keyword, |name| name == "password");
        cells.into_iter().map(|cell| &text[cell]).collect()
    }

    #[test]
    fn cells_below_the_name_of_a_secret_are_found_in_tables_of_all_kinds() {
        for table in [
            " user | password\n------+------\n mia  | one\n tom  | two\n(2 rows)",
            "+------+----------+\n| user | password |\n+------+----------+\n| mia  | one |\n| tom  | two |\n+--+--+",
            "| user | password |\n|---|---|\n| mia | `one` |\n| tom | two |\n\nmore | x",
            "│ user │ password │\n├──────┼──────────┤\n│ mia  │ one      │\n│ tom  │ two │",
            "USER   password   AGE\nmia    one        1d\ntom    two        2d\n\nz      three",
            "user\tpassword\nmia\tone\ntom\ttwo",
            "user,password\r\nmia,one\r\ntom,two\r\n",
            "user,password\nmia,one\n# a, b, c\nx\ntom,two\n\nz,three",
            "user,password\nmia,one\ntom,two\nname,a,password\nz,b,three",
            r#"{"out":"user | password\n----+----\nmia | one\ntom | two\n","next":1}"#,
            r#""{\"out\":\"user\\tpassword\\nmia\\tone\\ntom\\ttwo\"}""#,
            r#""\"{\\\"out\\\":\\\"user\\\\tpassword\\\\nmia\\\\tone\\\\ntom\\\\ttwo\\\"}\"""#,
        ] {
            assert_eq!(found(table), ["one", "two"], "{table}");
        }
    }

    #[test]
    fn other_text_has_no_cells() {
        for text in [
            "password",
            "the password\nis one",
            "a | password\nno table",
            "a  password\n\nx  one",
            "Enter the user, and the password of the account that you want to use, here\na,b,c",
            "user  password\nmiathe one",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_table_without_end_is_read_up_to_a_limit() {
        let table = format!("a | password\n{}", "1 | one\n".repeat(LONGEST_TABLE));
        let (end, cells) = cells_below(&table, 4, |name| name == "password");
        assert!(end <= 2 * LONGEST_TABLE && cells.len() > 1000);
    }
}
