//! Output for people: tables, numbers, times, progress. Data goes to stdout, messages go to stderr.

mod clean;
pub(crate) mod command;
pub(crate) mod conversation;
pub(crate) mod diff;
pub(crate) mod header;
#[cfg(feature = "search")]
pub(crate) mod hits;
mod interrupts;
mod markdown;
pub(crate) mod mask;
pub(crate) mod messages;
pub(crate) mod pager;
pub(crate) mod pick;
mod progress;
mod table;
pub(crate) mod view_diff;
#[cfg(feature = "search")]
pub(crate) mod words;
pub(crate) mod wrap;

use std::env;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use terminal_size::{Height, Width};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::failure::Failure;

pub(crate) use annals_api::words::{count, number};
pub(crate) use clean::{clean, clean_lines, clean_masked, clean_piece, without_escapes};
pub(crate) use command::command;
#[cfg(feature = "search")]
pub(crate) use hits::matches;
pub(crate) use mask::{masked, masked_cut, masked_json, masked_title};
#[cfg(feature = "search")]
pub(crate) use progress::IndexProgress;
pub(crate) use progress::Progress;
pub(crate) use table::Table;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Returns standard output, buffered. Styles are dropped when it is not a terminal or `NO_COLOR` is set. Long output goes to a
/// pager, which the user has left when this is dropped: what is printed to stderr after that is not lost behind it.
pub(crate) fn stdout() -> impl Write {
    io::BufWriter::new(pager::Stdout::new())
}

/// Returns standard output, buffered, for JSON, which has no styles.
pub(crate) fn json_stdout() -> Box<dyn Write> {
    if io::stdout().is_terminal() {
        return Box::new(stdout());
    }
    Box::new(io::BufWriter::with_capacity(64 * 1024, io::stdout().lock()))
}

/// Returns standard output for JSON or for people. Dropping styles costs a pass over all bytes, which JSON does not need.
pub(crate) fn stdout_for(json: bool) -> Box<dyn Write> {
    if json { json_stdout() } else { Box::new(stdout()) }
}

/// Returns the width of the terminal that standard output goes to; `COLUMNS` overrides it. `None` if it is not a terminal.
pub(crate) fn columns() -> Option<usize> {
    width_of(&io::stdout(), terminal_size::terminal_size)
}

/// Returns the same of the terminal that messages go to.
pub(crate) fn message_columns() -> Option<usize> {
    width_of(&io::stderr(), || terminal_size::terminal_size_of(io::stderr()))
}

fn width_of(stream: &impl IsTerminal, size: impl FnOnce() -> Option<(Width, Height)>) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let given = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = given.or_else(|| size().map(|(width, _)| usize::from(width.0)));
    columns.filter(|&width| width > 0)
}

/// The widest that prose is: longer lines are hard to read.
const WIDEST_PROSE: usize = 100;

/// Returns the width to which prose is wrapped: that of the terminal, but no more than 100 columns. `None` if standard output is
/// not a terminal.
pub(crate) fn prose_columns() -> Option<usize> {
    columns().map(|columns| columns.min(WIDEST_PROSE))
}

/// Prints to stderr what a user may do next, if standard output is a terminal: a script needs no advice.
pub(crate) fn suggest(text: &str) {
    if io::stdout().is_terminal() {
        hint(text);
    }
}

/// Prints an error to stderr.
pub(crate) fn complain(text: &str) {
    stderr_line(RED, "annals: ", &clean(text));
}

/// What stands before a hint.
pub(crate) const HINT: &str = "hint: ";

/// Prints a hint to stderr.
pub(crate) fn hint(text: &str) {
    stderr_line(CYAN, HINT, text);
}

/// Prints a note to stderr.
pub(crate) fn note(text: &str) {
    stderr_line(Style::new(), "", text);
}

/// Asks a question on the terminal; returns whether the answer is yes. An empty answer means no.
pub(crate) fn ask(question: &str) -> Result<bool, Failure> {
    let mut terminal = AutoStream::auto(io::stderr());
    write!(terminal, "{} [y/N] ", clean(question)).and_then(|()| terminal.flush())?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| Failure::input(&error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Writes a line with a label to stderr, wrapped if it is a terminal. A failure is ignored: there is no other place to report it.
fn stderr_line(style: Style, label: &str, text: &str) {
    let mut stderr = AutoStream::auto(io::stderr());
    let width = message_columns().map_or(usize::MAX, |width| width.min(WIDEST_PROSE));
    let line = format!("{label}{text}");
    for row in wrap::rows(&line, width) {
        let row = &line[row];
        let rest = row.strip_prefix(label).filter(|_| !label.is_empty());
        let _ = match rest {
            Some(rest) => writeln!(stderr, "{style}{}{style:#} {rest}", label.trim_end()),
            None => writeln!(stderr, "{row}"),
        };
    }
}

/// Prints sentences, each line wrapped if the output is a terminal. A line that is indented is no sentence, and stays whole.
pub(crate) fn sentences(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    let columns = prose_columns().unwrap_or(usize::MAX);
    for line in text.lines() {
        let columns = if line.starts_with(' ') { usize::MAX } else { columns };
        for row in wrap::rows(line, columns) {
            writeln!(out, "{}", &line[row])?;
        }
    }
    Ok(())
}

/// Returns the columns of a row of a list that stays on one line after [`HINT`]; `None` if messages do not go to a terminal.
pub(crate) fn hint_columns() -> Option<usize> {
    message_columns().map(|columns| columns.min(WIDEST_PROSE).saturating_sub(HINT.width()))
}

/// Prints an object on a line of its own, with secrets masked. Characters that could control a terminal are escaped, which
/// does not change the value.
pub(crate) fn json_line(out: &mut (impl Write + ?Sized), value: &impl Serialize) -> Result<(), Failure> {
    writeln!(out, "{}", mask::masked_line(annals_api::json_line(value)?))?;
    Ok(())
}

/// Prints an object that is not from a transcript, such as the token of a server that the user starts.
pub(crate) fn json_line_as_is(
    out: &mut (impl Write + ?Sized),
    value: &impl Serialize,
) -> Result<(), Failure> {
    writeln!(out, "{}", annals_api::json_line(value)?)?;
    Ok(())
}

/// Prints a line of prose, wrapped on a terminal. The further rows of an indented line are indented a little more.
pub(crate) fn paragraph(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    styled_paragraph(out, text, 0..0, Style::new())
}

/// Does the same as [`paragraph`] with a style for a part of the text, if that is in the first row.
pub(crate) fn styled_paragraph(
    out: &mut impl Write,
    text: &str,
    part: Range<usize>,
    style: Style,
) -> Result<(), Failure> {
    let indent = text.len() - text.trim_start_matches(' ').len();
    let hang = if indent > 0 { indent + 2 } else { 0 };
    let columns = prose_columns().map_or(usize::MAX, |columns| columns.saturating_sub(hang).max(20));
    let rows = wrap::rows(&text[indent..], columns);
    for (index, row) in rows.into_iter().enumerate() {
        let row = row.start + indent..row.end + indent;
        if index > 0 {
            writeln!(out, "{:hang$}{}", "", &text[row])?;
        } else if part.is_empty() || row.end < part.end {
            writeln!(out, "{:indent$}{}", "", &text[row])?;
        } else {
            let (before, styled, behind) =
                (&text[row.start..part.start], &text[part.clone()], &text[part.end..row.end]);
            writeln!(out, "{:indent$}{before}{style}{styled}{style:#}{behind}", "")?;
        }
    }
    Ok(())
}

/// Sets what is said when a part of the work panics: the place in the code. What a panic says may contain text of a transcript.
pub(crate) fn say_only_where_panics_are(what_failed: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        let place =
            panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        complain(&format!("{what_failed}: internal error{place}"));
    }));
}

/// Prints a heading.
pub(crate) fn heading(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    writeln!(out, "{BOLD}{}{BOLD:#}", clean(text))?;
    Ok(())
}

/// Returns `1 entry`, `2 entries`.
pub(crate) fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{} entries", number(count as u64)) }
}

/// Returns a size in bytes, for people.
pub(crate) fn size(bytes: u64) -> String {
    indicatif::DecimalBytes(bytes).to_string()
}

/// Returns a time in the local zone, with the zone.
pub(crate) fn time(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %:z").to_string()
}

/// Returns a time in the local zone, without the zone: for tables that name it in their heading.
pub(crate) fn local_time(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Returns roughly how long ago a time was; the date if it was more than a month ago, the time if it is in the future.
pub(crate) fn ago(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - time.as_second();
    match seconds {
        i64::MIN..-60 => local_time(time),
        -60..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        86_400..2_592_000 => {
            let days = seconds / 86_400;
            if days == 1 { "yesterday".to_owned() } else { format!("{days} days ago") }
        }
        _ => local_time(time)[..10].to_owned(),
    }
}

/// Returns a title or a prompt of a list on one line, masked, so that it can be cut. A rule may find only in one line what was written in two.
pub(crate) fn title_line(title: &str) -> String {
    // Whether a title was cut shows in its length, before escape sequences are removed.
    let masked = masked_title(title);
    let shown = without_escapes(&masked);
    let line = single_blanks(&shown);
    if line == title { line } else { masked_title(&line).into_owned() }
}

/// Returns text on one line, with single blanks. It is masked before its lines are joined, because some rules need the line ends: the columns of
/// a table, the keys of YAML. So it can be cut.
pub(crate) fn one_line(text: &str) -> String {
    single_blanks(&masked(text))
}

/// Returns text that was masked as a whole on one line, with single blanks.
pub(crate) fn single_blanks(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns the name of the local zone.
pub(crate) fn zone() -> String {
    TimeZone::system().iana_name().unwrap_or("local time").to_owned()
}

/// Returns a time in milliseconds since 1970 in the local zone.
pub(crate) fn time_of_ms(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| "-".to_owned(), time)
}

/// Returns a time in milliseconds since 1970 in the local zone, without the zone.
pub(crate) fn local_time_of_ms(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| "-".to_owned(), local_time)
}

/// Returns how long something took: `450 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{} s", ms % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns text cut to a width in columns, with an ellipsis if something is missing. Wide characters count twice.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    text.graphemes(true).take_while(fitting_into(columns)).chain(["…"]).collect()
}

/// Returns the end of a text, cut to a width in columns, with an ellipsis if something is missing.
pub(crate) fn cut_start(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let kept = text.graphemes(true).rev().take_while(fitting_into(columns)).map(str::len).sum::<usize>();
    format!("…{}", &text[text.len() - kept..])
}

/// Returns a predicate that accepts pieces of text as long as they fit into a width together with an ellipsis.
fn fitting_into(columns: usize) -> impl FnMut(&&str) -> bool {
    let mut used = 0;
    move |piece| {
        used += piece.width();
        used < columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_nouns_agree() {
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 1, 2].map(|n| count(n, "line")), ["0 lines", "1 line", "2 lines"]);
    }

    #[test]
    fn durations_and_cuts_are_for_people() {
        let texts = [450, 1234, 200_000, 7_500_000].map(duration);
        assert_eq!(texts, ["450 ms", "1.2 s", "3 min 20 s", "2 h 5 min"]);
        assert_eq!(
            ["short", "天气预报", "a longer text"].map(|text| cut(text, 6)),
            ["short", "天气…", "a lon…"]
        );
        assert_eq!(["❤️", "👩‍👩‍👧‍👦", "🏳️‍🌈"].map(|sign| cut(&sign.repeat(20), 6)), ["❤️❤️…", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦…", "🏳️‍🌈🏳️‍🌈…"]);
        assert_eq!(cut_start(&"👩‍👩‍👧‍👦".repeat(20), 6), "…👩‍👩‍👧‍👦👩‍👩‍👧‍👦");
        assert_eq!(["/a.rs", "/src/天气.rs"].map(|path| cut_start(path, 8)), ["/a.rs", "…天气.rs"]);
    }
}
