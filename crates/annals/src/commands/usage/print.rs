//! Tables of usage.

use std::io::Write;

use annals_proto as wire;
use annals_usage::{By, Cells, Money, Report, ReportOptions, ReportRow};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::failure::Failure;
use crate::output::{self, Table};

/// The longest name of a model, in columns.
const LONGEST_MODEL: usize = 48;
/// The width of the bars, in columns.
const BAR: u64 = 12;

/// Prints a table with a total, and notes on what the figures leave out.
pub(super) fn report(
    out: &mut impl Write,
    report: &Report,
    options: &ReportOptions,
    limit: usize,
    breakdown: bool,
) -> Result<(), Failure> {
    let zone = options.zone.iana_name().unwrap_or("local time");
    let title = match options.by {
        By::Day => format!("day ({zone})"),
        By::Week => format!("week ({zone})"),
        By::Month => format!("month ({zone})"),
        By::Session => "session".to_owned(),
        By::Project => "~/project".to_owned(),
        By::Branch => "~branch".to_owned(),
        By::Model => "model".to_owned(),
        By::Block => format!("five hours ({zone})"),
    };
    // Only a session has a project beside its name.
    let has_project = options.by == By::Session;
    let project: &[&str] = if has_project { &["??~/project"] } else { &[] };
    let columns = [
        "????>replies",
        "???>input",
        ">output",
        "???>cache written",
        "??>cache read",
        "?>tokens",
        if options.has_plan { ">API equivalent" } else { ">cost" },
        "?",
    ];
    let mut table = Table::new(&[&[&*title], project, &columns].concat());
    let most = report.rows.iter().map(weight).max().unwrap_or(0);
    for row in report.shown(options.by, limit) {
        let project = has_project.then(|| row.project.as_deref().unwrap_or_default());
        add_cells(&mut table, &name(row, options), project, &row.cells, &bar(weight(row), most));
        if breakdown {
            for model in &row.models {
                let name = format!("  {}", model_name(&model.name));
                add_cells(&mut table, &name, has_project.then_some(""), &model.cells, "");
            }
        }
    }
    add_cells(&mut table, "total", has_project.then_some(""), &report.total.cells, "");
    table.print(out)?;
    print_left_out(out, &table)?;
    if report.rows.len() > limit {
        output::note(&format!("{limit} of {} rows; the total has all of them", report.rows.len()));
    }
    notes(out, report, options)
}

/// Says which columns the terminal has no room for.
fn print_left_out(out: &mut impl Write, table: &Table) -> Result<(), Failure> {
    match &table.left_out()[..] {
        [] => Ok(()),
        titles => output::paragraph(
            out,
            &format!(
                "no room for {}: a wider terminal shows them, `--json` has everything",
                titles.join(", ")
            ),
        ),
    }
}

/// Returns whether a key is that of a row as the table prints it, with or without the mark of estimates, or only its start.
pub(super) fn is_named(row: &ReportRow, options: &ReportOptions, key: &str) -> bool {
    let printed = name(row, options);
    let marked = printed.trim_end_matches('~').trim_end();
    printed == key || marked == key || marked.split_once('–').is_some_and(|(start, _)| start == key)
}

/// Returns what the bar of a row shows: its cost, or without one its tokens.
fn weight(row: &ReportRow) -> u64 {
    match row.cells.cost.amount() {
        Some(cost) => u64::try_from(cost.picos() / 1_000_000).unwrap_or(0),
        None => 0,
    }
}

fn name(row: &ReportRow, options: &ReportOptions) -> String {
    match (options.by, row.window) {
        (By::Session, _) => row.key.chars().take(8).collect(),
        (By::Block, Some(window)) => {
            let time = |ms: i64| {
                let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
                time.to_zoned(options.zone.clone())
            };
            let end = time(window.end).strftime("%H:%M").to_string();
            let about = if window.is_estimated { "~" } else { "" };
            format!("{}–{end} {about}", time(window.start).strftime("%Y-%m-%d %H:%M")).trim_end().to_owned()
        }
        (By::Model, _) => model_name(&row.key),
        _ => or_none(&row.key),
    }
}

/// Returns the name of a model, which is not cut unless it is absurdly long: its end tells models apart.
pub(crate) fn model_name(name: &str) -> String {
    output::cut(&or_none(name), LONGEST_MODEL)
}

fn or_none(name: &str) -> String {
    if name.is_empty() { annals_api::to_wire::NO_KEY.to_owned() } else { name.to_owned() }
}

fn add_cells(table: &mut Table, name: &str, project: Option<&str>, cells: &Cells, bar: &str) {
    let at_least = at_least(cells);
    let tokens = &cells.tokens;
    let columns = [
        output::number(cells.replies),
        output::number(tokens.input),
        format!("{at_least}{}", output::number(tokens.output)),
        output::number(tokens.writes()),
        output::number(tokens.read),
        output::number(tokens.total()),
        cost(cells),
        bar.to_owned(),
    ];
    let names = [Some(name), project].into_iter().flatten().map(str::to_owned);
    table.row(&names.chain(columns).collect::<Vec<_>>());
}

/// Returns the mark of figures whose output is at least what is recorded.
fn at_least(cells: &Cells) -> &'static str {
    if cells.unfinished > 0 { "≥ " } else { "" }
}

/// Returns a cost in dollars; what is not priced is never 0.
pub(crate) fn cost(cells: &Cells) -> String {
    match (cells.cost.amount(), cells.cost.is_partial()) {
        (None, _) => "unknown".to_owned(),
        (Some(amount), false) => format!("{}{}", at_least(cells), dollars(amount)),
        (Some(amount), true) => format!("{}{} + ?", at_least(cells), dollars(amount)),
    }
}

/// Returns an amount with cents, or with four digits if it is small.
pub(crate) fn dollars(amount: Money) -> String {
    let sign = if amount < Money::default() { "-" } else { "" };
    let cents = (amount.picos().unsigned_abs() + 5_000_000_000) / 10_000_000_000;
    if cents < 10 && amount != Money::default() {
        return format!("{sign}${:.4}", amount.dollars().abs());
    }
    let whole = u64::try_from(cents / 100).unwrap_or(u64::MAX);
    format!("{sign}${}.{:02}", output::number(whole), cents % 100)
}

/// Returns a bar whose length is a part of the longest one, in eighths of a column.
fn bar(weight: u64, most: u64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if most == 0 {
        return String::new();
    }
    let eighths = u128::from(weight) * u128::from(BAR * 8) / u128::from(most);
    let eighths = usize::try_from(eighths).unwrap_or(0);
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// Prints what a reader must know to judge the figures.
fn notes(out: &mut impl Write, report: &Report, options: &ReportOptions) -> Result<(), Failure> {
    let total = &report.total;
    let cells = &total.cells;
    let mut notes = Vec::new();
    if options.has_plan {
        notes.push(
            "API equivalent: what the API would charge for the same tokens; a plan has its own price"
                .to_owned(),
        );
    }
    if cells.unfinished > 0 {
        let share = cells.unfinished_share() * 100.0;
        notes.push(format!(
            "≥: {share:.0} % of the responses have no stop reason, so their output is at least what is recorded"
        ));
    }
    if !total.unpriced.is_empty() {
        let models: Vec<_> =
            total.unpriced.iter().map(|model| output::clean(&or_none(model)).into_owned()).collect();
        notes.push(format!("no price is known for {}; `prices.toml` can state it", models.join(", ")));
    }
    if cells.cost.not_recorded > 0 {
        notes.push(format!("{} without a recorded cost", responses(cells.cost.not_recorded)));
    }
    if total.agents.replies > 0 {
        let cost = total.agents.cost.amount().map_or_else(|| "unknown".to_owned(), dollars);
        notes.push(format!("subagents: {} in these figures, {cost}", responses(total.agents.replies)));
    }
    if cells.kept > 0 {
        notes.push(format!(
            "{} of transcripts that are gone; `annals usage forget` removes them",
            responses(cells.kept)
        ));
    }
    if cells.progress > 0 {
        notes.push(format!("{} known only from the progress of subagents", responses(cells.progress)));
    }
    if cells.odd > 0 {
        notes.push(format!(
            "{} with a counter that is not a possible number, which was left out",
            responses(cells.odd)
        ));
    }
    notes.extend(client_note(total));
    notes.extend(report.rows.iter().filter_map(window_note));
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        output::paragraph(out, &note)?;
    }
    Ok(())
}

fn responses(number: u64) -> String {
    format!("{} {}", output::number(number), if number == 1 { "response" } else { "responses" })
}

fn client_note(total: &ReportRow) -> Option<String> {
    let client = total.client?;
    let sessions = output::count(usize::try_from(client.sessions).unwrap_or(usize::MAX), "session");
    let coverage =
        client.coverage().map(|coverage| format!(" ({coverage:.0} % attributed)")).unwrap_or_default();
    Some(format!(
        "Claude Code itself counted {} for {sessions}, whose transcripts account for {}: {} unattributed{coverage}",
        dollars(client.cost),
        dollars(client.transcript),
        dollars(client.unattributed())
    ))
}

fn window_note(row: &ReportRow) -> Option<String> {
    let rate = row.burn_rate?;
    Some(format!(
        "present window: {} tokens a minute, {} an hour; at this rate {} and {} tokens at its end",
        output::number(rate.tokens_per_minute),
        dollars(rate.cost_per_hour),
        dollars(rate.projected_cost),
        output::number(rate.projected_tokens)
    ))
}

/// The columns of comma-separated values.
const CSV: &str = "key,inputTokens,outputTokens,cacheCreationTokens,cacheCreation1hTokens,cacheReadTokens,totalTokens,costUsd,costKind,replies,unfinishedReplies,unpricedModels";

/// Prints comma-separated values.
pub(super) fn csv(out: &mut impl Write, rows: &[ReportRow]) -> Result<(), Failure> {
    writeln!(out, "{CSV}")?;
    for row in rows {
        let wire = annals_api::to_wire::usage_row(row, &ReportOptions::default());
        let sums = &wire.sums;
        let fields = [
            csv_field(&wire.key),
            sums.input_tokens.to_string(),
            sums.output_tokens.to_string(),
            sums.cache_creation_tokens.to_string(),
            sums.cache_creation_1h_tokens.to_string(),
            sums.cache_read_tokens.to_string(),
            sums.total_tokens.to_string(),
            row.cells.cost.amount().map(|cost| cost.to_string()).unwrap_or_default(),
            sums.cost_kind.map(|kind| kind.to_string()).unwrap_or_default(),
            sums.replies.to_string(),
            sums.unfinished_replies.to_string(),
            csv_field(&wire.unpriced_models.join(" ")),
        ];
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(())
}

/// Returns a text as a field: in quotes if it needs them, and without the beginning of a formula, which a spreadsheet would run.
fn csv_field(text: &str) -> String {
    let text = output::clean(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = if is_formula { format!("'{text}") } else { text.into_owned() };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Prints the responses behind a number.
pub(super) fn replies(
    out: &mut impl Write,
    replies: &[wire::UsageReply],
    zone: &TimeZone,
) -> Result<(), Failure> {
    let title = format!("time ({})", zone.iana_name().unwrap_or("local time"));
    let mut table = Table::new(&[
        &*title,
        "?session",
        "??~model",
        ">output",
        "?>tokens",
        ">cost",
        "??>copies",
        "~/transcript",
        ">line",
    ]);
    for reply in replies {
        let time = reply.timestamp.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
        let time = time.map(|time| time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string());
        table.row(&[
            time.unwrap_or_else(|| "-".to_owned()),
            reply.session.chars().take(8).collect(),
            or_none(&reply.model),
            output::number(reply.sums.output_tokens),
            output::number(reply.sums.total_tokens),
            reply.sums.cost_usd.and_then(Money::from_dollars).map_or_else(|| "unknown".to_owned(), dollars),
            output::number(reply.copies),
            path(&reply.path),
            output::number(reply.line),
        ]);
    }
    table.print(out)?;
    print_left_out(out, &table)
}

fn path(path: &wire::Text) -> String {
    match path {
        wire::Text::Text(path) => path.clone(),
        wire::Text::Bytes { .. } => "(a name that is not text)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_cents_or_four_digits() {
        let amounts = [0.0, 0.000_04, 0.0123, 0.0999, 0.1, 1_234.567]
            .map(|amount| dollars(Money::from_dollars(amount).unwrap()));
        assert_eq!(amounts, ["$0.00", "$0.0000", "$0.0123", "$0.10", "$0.10", "$1,234.57"]);
        assert_eq!(dollars(Money::default() - Money::from_dollars(2.5).unwrap()), "-$2.50");
    }

    #[test]
    fn bars_are_a_part_of_the_longest() {
        assert_eq!([0, 1, 50, 100].map(|weight| bar(weight, 100)), ["", "", "██████", "████████████"]);
        assert_eq!(bar(0, 0), "");
    }

    #[test]
    fn fields_of_comma_separated_values_are_quoted_and_no_formulas() {
        assert_eq!(["a", "a,b", "a\"b", "=1+1"].map(csv_field), ["a", "\"a,b\"", "\"a\"\"b\"", "'=1+1"]);
    }
}
