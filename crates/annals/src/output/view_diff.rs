//! How the messages change that Claude Code restores, for people.

use std::io::Write;

use annals_engine::{DiffChange, DiffMessage, DiffPart, DiffPartKind, DiffRow, ViewDiff};
use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::{DIM, GREEN, RED, clean_piece, count, cut, masked_cut, number, single_blanks, without_escapes};
use crate::failure::Failure;

/// How wide a row is where no terminal gives a width.
const COLUMNS: usize = 100;
/// A message is shown in at least this many columns, however narrow the terminal is.
const NARROWEST: usize = 20;

/// Prints the difference as rows of at most this many columns: a sign, the line in the transcript, who speaks, and the first words.
pub(crate) fn print(out: &mut impl Write, diff: &ViewDiff, columns: Option<usize>) -> Result<(), Failure> {
    if diff.is_empty() {
        return Ok(());
    }
    super::paragraph(out, &format!("  {}", totals(diff)))?;
    let columns = columns.unwrap_or(COLUMNS);
    let width = diff.rows.iter().map(|row| place(row).width()).max().unwrap_or(0);
    for row in &diff.rows {
        let (sign, style) = look(row);
        let before = format!("{sign} {:>width$} ", place(row));
        let text = cut(&text(row), columns.saturating_sub(before.width()).max(NARROWEST));
        writeln!(out, "{style}{before}{text}{style:#}")?;
    }
    if diff.left_out > 0 {
        let messages = count(diff.left_out, "more removed or added message");
        writeln!(out, "{DIM}  … {messages}{DIM:#}")?;
    }
    Ok(())
}

/// Returns how many messages stay, and how many change.
fn totals(diff: &ViewDiff) -> String {
    let [same, removed, added] =
        [diff.same, diff.removed, diff.added].map(|messages| number(messages as u64));
    format!("messages by line: {same} stay, {removed} removed (-), {added} added (+)")
}

fn look(row: &DiffRow) -> (char, Style) {
    match row {
        DiffRow::Message(DiffChange::Removed, _) | DiffRow::Folded(DiffChange::Removed, _) => ('-', RED),
        DiffRow::Message(DiffChange::Added, _) | DiffRow::Folded(DiffChange::Added, _) => ('+', GREEN),
        DiffRow::Message(DiffChange::Same, _) => (' ', Style::new()),
        DiffRow::Folded(DiffChange::Same, _) => (' ', DIM),
    }
}

/// Returns the line of a message. One that Claude Code makes up has none.
fn place(row: &DiffRow) -> String {
    match row {
        DiffRow::Message(_, DiffMessage { line: Some(line), .. }) => line.to_string(),
        DiffRow::Message(_, DiffMessage { uuid: Some(_), .. }) => "new".to_owned(),
        DiffRow::Message(..) => String::new(),
        DiffRow::Folded(..) => "…".to_owned(),
    }
}

fn text(row: &DiffRow) -> String {
    match row {
        DiffRow::Folded(_, messages) => count(*messages, "more message"),
        DiffRow::Message(_, DiffMessage { role, parts, .. }) => {
            let words: Vec<String> = parts.iter().map(words).collect();
            format!("{:9}  {}", role.name(), words.join(" "))
        }
    }
}

/// Returns what is shown of a part on one line.
fn words(part: &DiffPart) -> String {
    let text = single_blanks(&without_escapes(&masked_cut(&part.beginning)));
    let text = clean_piece(&text);
    match part.kind {
        DiffPartKind::Text => text.into_owned(),
        DiffPartKind::Thinking => "[thinking]".to_owned(),
        DiffPartKind::Call | DiffPartKind::Other => format!("[{text}]"),
        DiffPartKind::Result => format!("[result] {text}"),
        DiffPartKind::MadeUp => format!("{text} (made up by Claude Code)"),
    }
}

#[cfg(test)]
mod tests {
    use annals_engine::{RepairOptions, plan_repair};
    use serde_json::json;
    use testkit::transcript::Transcript;

    use super::*;

    #[test]
    fn a_secret_whose_name_follows_it_is_masked() {
        let key =
            format!("see {{\"d\":\"{}\",\"e\":\"AQAB\",\"kty\":\"RSA\"}}", "q7Zk29LmX4tRw8Vn1Y".repeat(40));
        let text = printed(&key, None);
        assert!(text.contains("see {") && !text.contains("q7Zk29"), "{text}");
    }

    /// Returns the difference of a session whose second half lost its link, as it is printed in this many columns.
    fn printed(prompt: &str, columns: Option<usize>) -> String {
        let lines = (0..10).fold(Transcript::session("s").user("u0", prompt), |lines, number| {
            let lines = lines.assistant(&format!("a{number}"), |reply| reply.text("Yes."));
            lines.user(&format!("p{number}"), "Go on")
        });
        let lines = lines.at("2026-03-02T10:00:00Z").after("gone").assistant("b1", |reply| {
            reply.thinking("Hm").tool("t1", "Bash", json!({"command": "ls -la\n\u{1b}[31m"}))
        });
        let lines =
            lines.result("u8", "t1", "tea.rs\nmilk.rs").assistant("b2", |reply| reply.text("Two files."));
        let plan = plan_repair(lines.to_string().as_bytes(), &RepairOptions::default());
        let mut out = anstream::StripStream::new(Vec::new());
        print(&mut out, &plan.diff, columns).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    #[test]
    fn removed_and_added_messages_have_signs_and_long_runs_are_counted() {
        insta::assert_snapshot!(printed("What is here?", None), @"
          messages by line: 2 stay, 1 removed (-), 22 added (+)
        - 22 assistant  [thinking] [Bash: ls -la]
        +  1 user       What is here?
        +  2 assistant  Yes.
        +  3 user       Go on
        +  … 16 more messages
        + 20 assistant  Yes.
        + 21 user       Go on
        + 22 assistant  [Bash: ls -la]
          23 user       [result] tea.rs milk.rs
          24 assistant  Two files.
        ");
    }

    #[test]
    fn wide_characters_stay_within_the_terminal() {
        for columns in [80, 200] {
            let rows = printed(&"屏幕关着的时候不用画👩‍💻".repeat(20), Some(columns));
            let widest = rows.lines().skip(1).map(UnicodeWidthStr::width).max().unwrap();
            assert!(widest <= columns && widest >= columns - 2, "{widest} of {columns}: {rows}");
        }
    }

    #[test]
    fn secrets_are_masked_before_rows_are_cut() {
        let token = ["gh", "p_", "Q7fZk2mX9rT4w8B3cLs5", "Vn1Yd6Hj0Gp3Ae8U"].concat();
        let rows = printed(&format!("Use {token} please"), Some(40));
        assert!(rows.contains("Use ghp_[masked") && !rows.contains("Q7fZ"), "{rows}");
    }
}
