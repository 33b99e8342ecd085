//! `annals usage SESSION --context`: how full the context was, and what filled it.

use std::ffi::OsStr;
use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{ContextPart, ContextUse, Conversation, Engine, PartKind};

use crate::args::Global;
use crate::commands::choose;
use crate::failure::Failure;
use crate::output::{self, Table};

/// So many parts of the context are printed; `--json` has all of them.
const PARTS: usize = 16;
/// So many parts are named beside each turn.
const PARTS_OF_TURN: usize = 3;
/// The width of the bars, in columns.
const BAR: u64 = 10;

pub(super) fn run(
    engine: &Engine,
    target: &OsStr,
    limit: Option<usize>,
    global: &Global,
) -> Result<ExitCode, Failure> {
    let snapshot = engine.snapshot(choose::transcript(engine, target, global)?)?;
    let context = engine.context_use(&Conversation::of(&snapshot)?)?;
    let limit = limit.unwrap_or(usize::MAX);
    let mut out = output::stdout_for(global.json);
    if global.json {
        output::json_line(&mut out, &to_wire::context_use(&context, limit))?;
    } else if context.tokens.is_none() {
        return Err(Failure::without_hint(
            "no reply of this session says how long its prompt was".to_owned(),
        ));
    } else {
        print(&mut out, &context, limit)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, context: &ContextUse, limit: usize) -> Result<(), Failure> {
    let (tokens, window) = (context.tokens.unwrap_or(0), context.window.unwrap_or(0));
    let model = context.model.as_deref().unwrap_or("unknown model");
    output::heading(
        out,
        &format!(
            "{model}: {} of about {} tokens ({}) at the last reply",
            output::number(tokens),
            output::number(window),
            percent(tokens, window)
        ),
    )?;
    let peak = output::number(context.peak.unwrap_or(0));
    output::paragraph(out, &format!("at most {peak} tokens; {}", about_estimates(context)))?;
    print_parts(out, context, tokens)?;
    print_turns(out, context, window, limit)?;
    print_compactions(out, context)
}

/// Says how the figures with `~` are made, and how wrong they are.
fn about_estimates(context: &ContextUse) -> String {
    let estimate = &context.estimate;
    let made =
        format!("figures with ~ are estimates: {:.2} tokens for each byte of text", estimate.tokens_per_byte);
    match (estimate.measured_steps, estimate.error_percent) {
        (0, _) | (_, None) => {
            format!("{made}, which is usual for the model; this session is too short to measure it")
        }
        (steps, Some(error)) => {
            let steps = output::count(usize::try_from(steps).unwrap_or(usize::MAX), "step");
            format!(
                "{made}, measured over {steps} from reply to reply; compared with their recorded growth they are {error:.0} % off"
            )
        }
    }
}

fn print_parts(out: &mut impl Write, context: &ContextUse, tokens: u64) -> Result<(), Failure> {
    let mut table = Table::new(&["~in the context", ">tokens", ">share"]);
    for part in context.parts.iter().take(PARTS) {
        table.row(&[name(part), about(part.tokens), percent(part.tokens, tokens)]);
    }
    if let Some(more) = context.parts.get(PARTS..).filter(|more| !more.is_empty()) {
        let sum = more.iter().map(|part| part.tokens).sum();
        table.row(&[format!("{} more", more.len()), about(sum), percent(sum, tokens)]);
    }
    let rest = context.rest.unwrap_or(0);
    let (sign, amount) = (if rest < 0 { "-" } else { "" }, rest.unsigned_abs());
    table.row(&[
        "rest: system prompt, tools, what is not recorded".to_owned(),
        format!("~{sign}{}", output::number(amount)),
        format!("{sign}{}", percent(amount, tokens)),
    ]);
    writeln!(out)?;
    table.print(out)
}

fn print_turns(out: &mut impl Write, context: &ContextUse, window: u64, limit: usize) -> Result<(), Failure> {
    let first = context.turns.len().saturating_sub(limit);
    let mut table = Table::new(&[">turn", "?started", "??>replies", ">tokens", "full", "~added"]);
    for turn in &context.turns[first..] {
        let added = turn.added.iter().take(PARTS_OF_TURN);
        let added: Vec<_> = added.map(|part| format!("{} {}", name(part), about(part.tokens))).collect();
        table.row(&[
            turn.turn.to_string(),
            turn.started_at.map_or_else(|| "-".to_owned(), output::local_time_of_ms),
            output::number(turn.replies),
            output::number(turn.tokens),
            format!("{} {}", bar(turn.tokens, window), percent(turn.tokens, window)),
            added.join(", "),
        ]);
    }
    writeln!(out)?;
    table.print(out)?;
    if first > 0 {
        output::note(&format!("the last {limit} of {} turns", context.turns.len()));
    }
    Ok(())
}

fn print_compactions(out: &mut impl Write, context: &ContextUse) -> Result<(), Failure> {
    if context.compactions.is_empty() {
        return Ok(());
    }
    let mut table =
        Table::new(&["compaction", ">turn", "?trigger", ">before", ">after", ">saved", "??>time"]);
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "-".to_owned(), output::number);
    for compaction in &context.compactions {
        table.row(&[
            compaction.time.map_or_else(|| "-".to_owned(), output::local_time_of_ms),
            compaction.turn.map_or_else(|| "-".to_owned(), |turn| turn.to_string()),
            compaction.trigger.clone().unwrap_or_default(),
            tokens(compaction.before),
            tokens(compaction.after),
            tokens(compaction.saved()),
            compaction.duration_ms.map_or_else(|| "-".to_owned(), output::duration),
        ]);
    }
    writeln!(out)?;
    table.print(out)
}

fn name(part: &ContextPart) -> String {
    let kind = match part.kind {
        PartKind::Prompt => "prompts",
        PartKind::Reply => "replies",
        PartKind::Thinking => "thinking",
        PartKind::ToolCall => "tool calls",
        PartKind::ToolResult if part.name.is_empty() => "tool results",
        PartKind::ToolResult => return format!("results of {}", part.name),
        PartKind::Attachment => return format!("attachments: {}", part.name),
        PartKind::System => return format!("system: {}", part.name),
        PartKind::Summary => "summary",
        _ => "other",
    };
    kind.to_owned()
}

fn about(tokens: u64) -> String {
    format!("~{}", output::number(tokens))
}

fn percent(part: u64, whole: u64) -> String {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    format!("{percent} %")
}

fn bar(part: u64, whole: u64) -> String {
    let cells = (u128::from(part) * u128::from(BAR)).div_ceil(u128::from(whole.max(1)));
    let cells = usize::try_from(cells).unwrap_or(0).min(10);
    format!("{}{}", "▰".repeat(cells), "▱".repeat(10 - cells))
}
