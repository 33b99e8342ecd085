//! `annals repair`: gives a session back what Claude Code would lose of it.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Change, Engine, Plan, RepairOptions, TranscriptFile, Undone, View};

use super::change::name;
use super::choose;
use crate::args::{Global, Repair};
use crate::failure::{FOUND_NOTHING, Failure};
use crate::output::{self, clean};

pub(crate) fn run(engine: &Engine, args: &Repair, global: &Global) -> Result<ExitCode, Failure> {
    let file = choose::session_to_change(engine, &args.session, global)?;
    if args.undo {
        return undo(engine, &file, args, global);
    }
    let options = RepairOptions {
        branch: args.branch.clone(),
        strip_thinking: args.strip_thinking,
        in_place: args.in_place,
    };
    let (plan, receipt) = if args.apply {
        let outcome = engine.repair(&file, &options, args.force)?;
        (outcome.plan, outcome.receipt)
    } else {
        (engine.repair_plan(&file, &options)?, None)
    };
    let mut out = output::stdout_for(global.json);
    if global.json {
        output::json_line(&mut out, &to_wire::repair_result(&file, &plan, receipt.as_deref()))?;
    } else {
        print(&mut out, &file, &plan, receipt.is_some(), &chosen(&options))?;
    }
    out.flush()?;
    let is_whole =
        plan.after.obstacle.is_none() && plan.after.missing.is_empty() && plan.after.violations.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(FOUND_NOTHING) })
}

/// Hints at the repair of a session of which Claude Code would lose something.
pub(super) fn suggest(file: &TranscriptFile, lost: usize) {
    if lost > 0 {
        let messages = output::count(lost, "message");
        output::note(&format!(
            "Claude Code would lose {messages} here; `{}` shows how to get them back",
            output::command(&format!("annals repair {}", name(file)))
        ));
    }
}

fn undo(engine: &Engine, file: &TranscriptFile, args: &Repair, global: &Global) -> Result<ExitCode, Failure> {
    let undone = engine.undo_repair(file, args.force)?;
    let mut out = output::stdout();
    if global.json {
        output::json_line(&mut out, &to_wire::undo_result(file, &undone))?;
    } else {
        match &undone {
            Undone::Cut { length } => {
                writeln!(out, "{} is what it was before the repair: {}", name(file), output::size(*length))?;
            }
            Undone::Fork { session, .. } => writeln!(
                out,
                "something was appended since the repair; what was there before it is the new session {}",
                clean(session)
            )?,
            Undone::Nothing => writeln!(out, "{} was not repaired, or that was undone", name(file))?,
        }
    }
    out.flush()?;
    Ok(if undone == Undone::Nothing { ExitCode::from(FOUND_NOTHING) } else { ExitCode::SUCCESS })
}

/// Prints what is changed, why, and what Claude Code restores before and after.
fn print(
    out: &mut impl Write,
    file: &TranscriptFile,
    plan: &Plan,
    is_applied: bool,
    chosen: &str,
) -> Result<(), Failure> {
    if plan.is_empty() {
        output::paragraph(
            out,
            &format!("{}: nothing to repair; Claude Code {}", name(file), restored(&plan.after)),
        )?;
    } else {
        output::heading(out, &file.path.to_string_lossy())?;
        for group in plan.changes.chunk_by(|one, next| one.kind == next.kind) {
            let kind = &group[0].kind;
            output::paragraph(out, &format!("  {}: {}: {}", lines(group), kind.name(), kind.reason()))?;
        }
        if let Some(rewritten) = &plan.rewritten {
            let size = output::size(rewritten.len() as u64);
            let text = format!(
                "  the file is written anew with {size}: each entry once, and no messages before the last compaction that Claude Code does \
                 not send; the old file is kept as a backup"
            );
            output::paragraph(out, &text)?;
        }
        output::paragraph(out, &format!("  before: Claude Code {}", restored(&plan.before)))?;
        output::paragraph(out, &format!("  after:  Claude Code {}", restored(&plan.after)))?;
        output::view_diff::print(out, &plan.diff, output::columns())?;
    }
    if plan.left_out > 0 {
        let messages = output::count(plan.left_out, "message");
        let text = format!(
            "  left out: {messages} that Claude Code restores now and the chosen branch does not have"
        );
        output::paragraph(out, &text)?;
    }
    for branch in plan.branches.iter().take(LONGEST_LIST) {
        let messages = output::count(branch.messages, "message");
        let (line, uuid) = (branch.line, clean(&branch.uuid));
        let text = format!(
            "  not part of it: a branch of {messages} up to line {line}; `--branch {uuid}` continues it instead"
        );
        output::paragraph(out, &text)?;
    }
    if is_applied {
        output::paragraph(
            out,
            &format!(
                "repaired {}; `{}` undoes it",
                name(file),
                output::command(&format!("annals repair {} --undo", name(file)))
            ),
        )?;
    } else if !plan.is_empty() {
        output::paragraph(
            out,
            &format!(
                "nothing was changed; `{}` does it",
                output::command(&format!("annals repair {}{chosen} --apply", name(file)))
            ),
        )?;
    }
    Ok(())
}

/// Returns the options of a plan as they are written after the name of the session.
fn chosen(options: &RepairOptions) -> String {
    let branch = options.branch.as_ref().map(|branch| format!(" --branch {}", clean(branch)));
    let strip = if options.strip_thinking { " --strip-thinking" } else { "" };
    let in_place = if options.in_place { " --in-place" } else { "" };
    branch.unwrap_or_default() + strip + in_place
}

/// At most this many lines or branches are listed.
const LONGEST_LIST: usize = 5;

/// Returns what Claude Code does with a session.
fn restored(view: &View) -> String {
    if let Some(obstacle) = view.obstacle {
        return format!("does not resume the session: {obstacle}");
    }
    let mut text = format!("restores {}", output::count(view.sent, "message"));
    if !view.missing.is_empty() {
        text.extend([" and loses ", &view.missing.len().to_string()]);
    }
    let mut rules: Vec<&str> = view.violations.iter().map(|(rule, _)| rule.title()).collect();
    rules.sort_unstable();
    rules.dedup();
    if !rules.is_empty() {
        text.extend(["; the request would be refused: ", &rules.join(", ")]);
    }
    text
}

/// Returns the lines of some changes.
fn lines(changes: &[Change]) -> String {
    let known: Vec<String> =
        changes.iter().filter_map(|change| change.line).map(|line| line.to_string()).collect();
    match (known.len(), changes.len()) {
        (0, 1) => "new".to_owned(),
        (0, new) => format!("{new} new"),
        (1, _) => format!("line {}", known[0]),
        (count, _) if count <= LONGEST_LIST => format!("lines {}", known.join(", ")),
        (count, _) => format!("lines {} and {} more", known[..LONGEST_LIST].join(", "), count - LONGEST_LIST),
    }
}
