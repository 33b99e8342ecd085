//! `annals statusline`: one line about the running session, for Claude Code to show below its prompt.
//!
//! Claude Code cancels the command when it needs a new line and shows nothing if the command fails. So it is quick, waits for no
//! lock, and always prints a line and exits with 0.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};

use annals_engine::{ContextFill, Engine, PlanWindow, PromptCache, RecentCosts, Roots, StatusInput};
use annals_usage::Money;
use anstyle::Style;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use crate::args::Global;
use crate::args::statusline::{StatusLine, StatusLineAction, StatusLineInstall};
use crate::commands::settings::{self, Change};
use crate::failure::Failure;
use crate::output::{DIM, GREEN, RED, YELLOW, clean, note};

/// The most bytes of input that are read. Claude Code sends a few kilobytes.
const INPUT_LIMIT: u64 = 1024 * 1024;
/// The line, if nothing is known.
const NO_STATUS: &str = "annals: no status";
const SEPARATOR: &str = " · ";
/// The cells of the bar that shows the context.
const BAR: u32 = 10;
/// From these percentages on, a part is yellow, and red.
const NEARLY_FULL: f64 = 70.0;
const FULL: f64 = 90.0;

pub(crate) fn run(engine: &Engine, args: &StatusLine, global: &Global) -> Result<ExitCode, Failure> {
    let now = Timestamp::now();
    match &args.action {
        Some(StatusLineAction::Install(args)) => return install(args, global),
        Some(StatusLineAction::Update) => {
            engine.update_recent_costs(now)?;
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    let input = read_input();
    let mut costs = None;
    if let Some(input) = &input {
        // The line matters more than the record: a full disk must not leave Claude Code without it.
        let _ = engine.record_status(input, now);
        costs = recent_costs(engine, input, now);
        if !args.no_update && engine.claim_cost_update(now) {
            start_update(global);
        }
    }
    let parts =
        input.map_or_else(|| vec![Part::plain(1, NO_STATUS)], |input| parts(&input, costs.as_ref(), now));
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let line = line(parts, columns.unwrap_or(usize::MAX), global.wants_styles_without_a_terminal());
    // Claude Code may have cancelled the command and closed the pipe.
    let _ = writeln!(io::stdout(), "{line}");
    Ok(ExitCode::SUCCESS)
}

/// Prints a line where the config folders that were given cannot be used.
pub(crate) fn without_engine() -> ExitCode {
    let _ = writeln!(io::stdout(), "{NO_STATUS}");
    ExitCode::SUCCESS
}

/// Returns what the day and the five-hour window cost, as far as it was counted.
fn recent_costs(engine: &Engine, input: &StatusInput, now: Timestamp) -> Option<RecentCosts> {
    let day_start = now.to_zoned(TimeZone::system()).start_of_day().ok()?.timestamp().as_millisecond();
    let end = input.five_hour.and_then(|window| window.resets_at).filter(|end| *end > now.as_second());
    engine.recent_costs(input.transcript.as_deref(), day_start, end.map(|end| end * 1000), now)
}

/// Starts `annals statusline update`, which goes on when this process ends or is killed. Without it, the line has older figures.
fn start_update(global: &Global) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    for root in global.given_roots() {
        command.args(["--root", &root]);
    }
    command.args(["statusline", "update"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Claude Code ends the process group of a status line that it cancels.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let _ = command.spawn();
}

/// Reads what Claude Code sends; `None` if it is not a JSON object, or if a person runs the command.
fn read_input() -> Option<StatusInput> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        note(
            "Claude Code runs this command and gives it JSON on standard input; `annals statusline install` sets it up",
        );
        return None;
    }
    let mut json = Vec::new();
    stdin.take(INPUT_LIMIT).read_to_end(&mut json).ok()?;
    StatusInput::parse(&json)
}

/// A part of the line. Those of the highest rank are left out first if the line is too long.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    rank: u32,
    style: Style,
    text: String,
}

impl Part {
    fn plain(rank: u32, text: impl Into<String>) -> Self {
        Self { rank, style: Style::new(), text: text.into() }
    }

    /// Returns a part that shows how much of something is used.
    fn filled(rank: u32, percentage: Option<f64>, text: String) -> Self {
        let style = match percentage {
            Some(FULL..) => RED,
            Some(NEARLY_FULL..) => YELLOW,
            _ => Style::new(),
        };
        Self { rank, style, text }
    }
}

/// Returns what the line says, from left to right.
fn parts(input: &StatusInput, costs: Option<&RecentCosts>, now: Timestamp) -> Vec<Part> {
    let model = input.model.as_deref().map(|model| Part::plain(1, clean(model).into_owned()));
    let cost = input.cost_usd.map(|cost| Part::plain(3, cost_text(cost, input)));
    let day = costs.map(|costs| Part::plain(5, format!("today {}", recent_cost(costs.day, costs))));
    // What was used of a window that has ended says nothing about the next one.
    let is_open = |window: &PlanWindow| window.resets_at.is_none_or(|end| end > now.as_second());
    let five_hour = five_hour_part(input.five_hour.filter(is_open), costs, now);
    let seven_day = input.seven_day.filter(is_open).map(|window| window_part(6, "7 d", window, None, now));
    let cache = input.cache.map(|cache| cache_part(cache, now));
    let parts = [model, input.context.map(context_part), cost, day, five_hour, seven_day, cache];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { vec![Part::plain(1, "Claude Code")] } else { parts }
}

/// Returns the cost of the session. On a plan this is not what the user pays, but what the API would cost.
fn cost_text(cost: f64, input: &StatusInput) -> String {
    let has_plan = input.five_hour.is_some() || input.seven_day.is_some();
    format!("${cost:.2}{}", if has_plan { " API equivalent" } else { "" })
}

/// Returns a cost, with a mark if it is at least so much.
fn recent_cost(cost: Money, costs: &RecentCosts) -> String {
    format!("{}${:.2}", if costs.is_behind { "≥ " } else { "" }, cost.dollars())
}

/// Returns what is used of the five-hour window, and what that cost.
fn five_hour_part(plan: Option<PlanWindow>, costs: Option<&RecentCosts>, now: Timestamp) -> Option<Part> {
    let cost = costs.and_then(|costs| {
        let about = if costs.is_estimated { "~" } else { "" };
        Some(format!("{about}{}", recent_cost(costs.window?, costs)))
    });
    match plan {
        Some(plan) => Some(window_part(4, "5 h", plan, cost.as_deref(), now)),
        None => cost.map(|cost| Part::plain(4, format!("5 h {cost}"))),
    }
}

fn context_part(context: ContextFill) -> Part {
    let tokens = context.tokens.map(short_number);
    let window = context.window.map(short_number);
    let text = match (context.percentage, tokens, window) {
        (Some(percentage), _, Some(window)) => format!("{} {percentage:.0} % of {window}", bar(percentage)),
        (Some(percentage), ..) => format!("{} {percentage:.0} %", bar(percentage)),
        (None, Some(tokens), _) => format!("{tokens} tokens"),
        (None, None, _) => String::new(),
    };
    Part::filled(2, context.percentage, text)
}

fn window_part(rank: u32, name: &str, window: PlanWindow, cost: Option<&str>, now: Timestamp) -> Part {
    let end = window.resets_at.and_then(|end| Timestamp::from_second(end).ok()).filter(|end| *end > now);
    let end = end.map(|end| format!(" until {}", clock(end, now))).unwrap_or_default();
    let cost = cost.map(|cost| format!(" {cost}")).unwrap_or_default();
    let text = format!("{name} {:.0} %{cost}{end}", window.used_percentage);
    Part::filled(rank, Some(window.used_percentage), text)
}

fn cache_part(cache: PromptCache, now: Timestamp) -> Part {
    let left = cache.expires_at.map(|end| end - now.as_second());
    match (cache.warm, left) {
        (true, Some(left)) if left > 0 => {
            Part { rank: 7, style: GREEN, text: format!("cache {} min", (left + 59) / 60) }
        }
        (true, None) => Part { rank: 7, style: GREEN, text: "cache warm".to_owned() },
        _ => Part { rank: 7, style: DIM, text: "cache cold".to_owned() },
    }
}

/// Returns a bar of cells.
fn bar(percentage: f64) -> String {
    let cells = 0..BAR;
    cells
        .map(|cell| if f64::from(cell * 100 + 50) / f64::from(BAR) < percentage { '▰' } else { '▱' })
        .collect()
}

/// Returns a number of tokens with three digits at most: `950`, `84k`, `1M`.
fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..999_500 => format!("{}k", (number + 500) / 1000),
        _ => {
            let tenths = number.saturating_add(50_000) / 100_000;
            let (whole, tenth) = (tenths / 10, tenths % 10);
            if tenth == 0 { format!("{whole}M") } else { format!("{whole}.{tenth}M") }
        }
    }
}

/// Returns a time in the local zone: the clock if it is within a day, the day otherwise.
fn clock(time: Timestamp, now: Timestamp) -> String {
    let format = if time.as_second() - now.as_second() < 86_400 { "%H:%M" } else { "%a %H:%M" };
    time.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// Returns the parts that fit into a number of columns, as one line.
fn line(mut parts: Vec<Part>, columns: usize, styled: bool) -> String {
    let width = |parts: &[Part]| {
        let texts: usize = parts.iter().map(|part| part.text.width()).sum();
        texts + parts.len().saturating_sub(1) * SEPARATOR.width()
    };
    while parts.len() > 1 && width(&parts) > columns {
        let last = parts.iter().enumerate().max_by_key(|(_, part)| part.rank).map_or(0, |(index, _)| index);
        parts.remove(last);
    }
    let texts = parts.into_iter().map(
        |Part { style, text, .. }| {
            if styled { format!("{style}{text}{style:#}") } else { text }
        },
    );
    texts.collect::<Vec<_>>().join(SEPARATOR)
}

/// Makes `annals statusline` the status line of Claude Code.
fn install(args: &StatusLineInstall, global: &Global) -> Result<ExitCode, Failure> {
    let folder = Roots::of_claude_code()
        .ok_or_else(|| Failure::usage("there is no home folder", "set `CLAUDE_CONFIG_DIR`"))?;
    let program = settings::own_path().map_err(|error| {
        Failure::usage(&format!("the path of annals is not known: {error}"), "run it by its path")
    })?;
    let roots = global.given_roots().into_iter().flat_map(|root| ["--root".to_owned(), root]);
    // Claude Code runs the command in a shell: Git Bash on Windows, which takes forward slashes.
    let program = if cfg!(windows) { program.replace('\\', "/") } else { program };
    let words: Vec<_> = [program].into_iter().chain(roots).chain(["statusline".to_owned()]).collect();
    let value = json!({"type": "command", "command": shell_words::join(&words), "padding": 0}).to_string();
    let path = folder.join("settings.json");
    let name = path.display().to_string();
    if (Change { path, keys: &["statusLine"], value }).make(args.yes)? {
        note("Claude Code shows it with the next message.");
    } else {
        note(&format!("{name} has this status line already; nothing was changed"));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_794_980_000;

    fn shown(json: &str, columns: usize) -> String {
        let now = Timestamp::from_second(NOW).unwrap();
        line(parts(&StatusInput::parse(json.as_bytes()).unwrap(), None, now), columns, false)
    }

    #[test]
    fn numbers_of_tokens_are_short() {
        let numbers =
            [0, 999, 1_000, 84_449, 84_500, 200_000, 999_499, 999_500, 1_000_000, 1_250_000, 1_960_000];
        let texts = ["0", "999", "1k", "84k", "85k", "200k", "999k", "1M", "1M", "1.3M", "2M"];
        assert_eq!(short_number(u64::MAX), "18446744073709.5M");
        assert_eq!(numbers.map(short_number), texts);
    }

    #[test]
    fn a_line_leaves_out_what_matters_least() {
        let json = format!(
            r#"{{"model":{{"display_name":"天气 Opus"}},"cost":{{"total_cost_usd":1.254}},"context_window":{{"context_window_size":200000,"used_percentage":42}},
            "rate_limits":{{"five_hour":{{"used_percentage":37.4}},"seven_day":{{"used_percentage":91}}}},"prompt_cache":{{"warm":true,"expires_at":{}}}}}"#,
            NOW + 61
        );
        let whole =
            "天气 Opus · ▰▰▰▰▱▱▱▱▱▱ 42 % of 200k · $1.25 API equivalent · 5 h 37 % · 7 d 91 % · cache 2 min";
        assert_eq!(shown(&json, 200), whole);
        assert_eq!(shown(&json, whole.width()), whole);
        assert_eq!(shown(&json, whole.width() - 1), whole.strip_suffix(" · cache 2 min").unwrap());
        assert_eq!(shown(&json, 40), "天气 Opus · ▰▰▰▰▱▱▱▱▱▱ 42 % of 200k");
        assert_eq!(shown(&json, 1), "天气 Opus");
    }

    #[test]
    fn a_window_that_has_ended_is_left_out() {
        for (end, line) in
            [(NOW, "$1.00 API equivalent"), (NOW + 60, "$1.00 API equivalent · 5 h 100 % until ")]
        {
            let json = format!(
                r#"{{"cost":{{"total_cost_usd":1}},"rate_limits":{{"five_hour":{{"used_percentage":100,"resets_at":{end}}}}}}}"#
            );
            assert!(shown(&json, 80).starts_with(line) && shown(&json, 80).len() < line.len() + 6, "{json}");
        }
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        assert_eq!(shown("{}", 80), "Claude Code");
        assert_eq!(shown(r#"{"cost":{"total_cost_usd":0}}"#, 80), "$0.00");
        let tokens = r#"{"context_window":{"current_usage":{"input_tokens":1499}}}"#;
        assert_eq!(shown(tokens, 80), "1k tokens");
        assert_eq!(shown(r#"{"prompt_cache":{"warm":false}}"#, 80), "cache cold");
    }

    #[test]
    fn what_is_nearly_full_is_marked() {
        let styles = [69.9, 70.0, 90.0].map(|used| Part::filled(1, Some(used), String::new()).style);
        assert_eq!(styles, [Style::new(), YELLOW, RED]);
        let parts = vec![Part::filled(1, Some(95.0), "x".to_owned())];
        assert_eq!(line(parts, 80, true), format!("{RED}x{RED:#}"));
    }
}
