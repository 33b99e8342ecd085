//! `annals turns`: the turns of a session.

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire::ToWire;
use annals_engine::Engine;
use annals_transcript::turn::{Turn, TurnKind};

use crate::args::{Global, Turns};
use crate::failure::{FOUND_NOTHING, Failure};
use crate::output::{self, Table};

/// The most columns that a prompt takes.
const PROMPT: usize = 200;

pub(crate) fn run(engine: &Engine, args: &Turns, global: &Global) -> Result<ExitCode, Failure> {
    let snapshot = engine.snapshot(super::choose::transcript(engine, &args.session, global)?)?;
    let conversation = snapshot.conversation(None, args.pause.ms())?;
    let mut out = output::stdout_for(global.json);
    if global.json {
        let to_wire = ToWire::of(&snapshot);
        for turn in conversation.turns() {
            output::json_line(&mut out, &to_wire.turn(turn)?)?;
        }
    } else if conversation.turns().is_empty() {
        output::note("no turns: this session has no messages");
    } else {
        print(&mut out, conversation.turns())?;
    }
    out.flush()?;
    Ok(if conversation.turns().is_empty() { ExitCode::from(FOUND_NOTHING) } else { ExitCode::SUCCESS })
}

/// Returns what started a turn, and whether it resumed or continued an earlier one.
fn cause(turn: &Turn) -> String {
    let by = turn.started_by.name().replace('_', " ");
    match turn.kind {
        TurnKind::NewSession | TurnKind::NewRound => by,
        TurnKind::Resume | TurnKind::Continue => format!("{by} ({})", turn.kind.name()),
    }
}

/// Returns the beginning of what started a turn. A turn keeps a part of a long prompt, which may end inside a secret.
fn prompt(turn: &Turn) -> String {
    let text = output::without_escapes(&turn.prompt);
    let text = if turn.prompt_is_cut { output::masked_cut(&text) } else { Cow::Borrowed(&*text) };
    output::conversation::one_line(&text, PROMPT)
}

fn print(out: &mut impl Write, turns: &[Turn]) -> Result<(), Failure> {
    let started = format!("?started ({})", output::zone());
    let titles = [">turn", &started, "~by", "~prompt", "??>calls", "?>errors", "?>time", "???>output"];
    let mut table = Table::new(&titles);
    for turn in turns {
        let took = turn
            .started_at
            .zip(turn.ended_at)
            .map(|(start, end)| output::duration((end - start).unsigned_abs()));
        table.row(&[
            turn.number.to_string(),
            turn.started_at.map_or_else(|| "-".to_owned(), output::local_time_of_ms),
            cause(turn),
            prompt(turn),
            output::number(turn.tool_calls),
            output::number(turn.errors),
            took.unwrap_or_else(|| "-".to_owned()),
            output::number(turn.usage.output),
        ]);
    }
    table.print(out)
}
