//! `annals turns`: the turns of a session, or of two sessions that share some.

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire::ToWire;
use annals_engine::{Conversation, Engine, Snapshot};
use annals_transcript::turn::{Turn, TurnKind};

use super::choose;
use crate::args::{Global, Turns};
use crate::failure::{FOUND_NOTHING, Failure};
use crate::output::{self, Table};

/// The most columns that a prompt takes.
const PROMPT: usize = 200;

pub(crate) fn run(engine: &Engine, args: &Turns, global: &Global) -> Result<ExitCode, Failure> {
    let snapshot = engine.snapshot(choose::transcript(engine, &args.session, global)?)?;
    let conversation = snapshot.conversation(None, args.pause.ms())?;
    let Some(other) = &args.other else {
        let turns = conversation.turns().iter().map(|turn| Row { turn, of: &snapshot, sessions: Vec::new() });
        return print_all(&turns.collect::<Vec<_>>(), global);
    };
    let other = engine.snapshot(choose::transcript(engine, other, global)?)?;
    compare(&conversation, &other.conversation(None, args.pause.ms())?, global)
}

/// A turn of a session.
struct Row<'a> {
    turn: &'a Turn,
    of: &'a Snapshot,
    /// The sessions that have it, if two are compared.
    sessions: Vec<String>,
}

impl<'a> Row<'a> {
    fn shared_by(sessions: &[String], of: &Conversation<'a>, turn: &'a Turn) -> Self {
        Self { turn, of: of.transcript(), sessions: sessions.to_vec() }
    }
}

/// Prints the turns of two sessions, those that both have once.
fn compare(one: &Conversation<'_>, other: &Conversation<'_>, global: &Global) -> Result<ExitCode, Failure> {
    let shared = shared_turns(one.turns(), other.turns());
    let names = [name(one), name(other)];
    let both = one.turns()[..shared].iter().map(|turn| Row::shared_by(&names, one, turn));
    let first = one.turns()[shared..].iter().map(|turn| Row::shared_by(&names[..1], one, turn));
    let second = other.turns()[shared..].iter().map(|turn| Row::shared_by(&names[1..], other, turn));
    let code = print_all(&both.chain(first).chain(second).collect::<Vec<_>>(), global)?;
    if !global.json {
        let [own, others_own] = [one, other].map(|of| output::count(of.turns().len() - shared, "turn"));
        let [one_name, other_name] = names.each_ref().map(|name| output::clean(short(name)).into_owned());
        output::note(&format!(
            "{} at the beginning; then {own} of {one_name} and {others_own} of {other_name}",
            output::count(shared, "shared turn"),
        ));
    }
    Ok(code)
}

/// Returns how many turns at the beginning are the same in both sessions. A copy has new uuids, but the times of the original.
fn shared_turns(one: &[Turn], other: &[Turn]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| is_same(one, other)).count()
}

fn is_same(one: &Turn, other: &Turn) -> bool {
    one.prompt == other.prompt
        && one.started_by == other.started_by
        && (one.started_at, one.ended_at) == (other.started_at, other.ended_at)
        && (one.messages, one.tool_calls, one.errors) == (other.messages, other.tool_calls, other.errors)
        && one.usage.output == other.usage.output
}

/// Returns the name of a session or agent.
fn name(of: &Conversation<'_>) -> String {
    let file = of.transcript().file();
    let name = file.agent.as_ref().or(file.session.as_ref());
    name.cloned().unwrap_or_else(|| file.path.to_string_lossy().into_owned())
}

/// Returns the beginning of a name.
fn short(name: &str) -> &str {
    name.char_indices().nth(8).map_or(name, |(end, _)| &name[..end])
}

fn print_all(rows: &[Row<'_>], global: &Global) -> Result<ExitCode, Failure> {
    let mut out = output::stdout_for(global.json);
    if global.json {
        for Row { turn, of, sessions } in rows {
            let turn = ToWire::of(of).turn(turn)?;
            output::json_line(&mut out, &annals_proto::Turn { sessions: sessions.clone(), ..turn })?;
        }
    } else if rows.is_empty() {
        output::note("no turns: there are no messages");
    } else {
        print(&mut out, rows)?;
    }
    out.flush()?;
    Ok(if rows.is_empty() { ExitCode::from(FOUND_NOTHING) } else { ExitCode::SUCCESS })
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

fn print(out: &mut impl Write, rows: &[Row<'_>]) -> Result<(), Failure> {
    let started = format!("?started ({})", output::zone());
    let titles =
        ["session", ">turn", &started, "~by", "~!prompt", "??>calls", "?>errors", "?>time", "???>output"];
    // The session is named if there are two.
    let first = usize::from(rows.iter().all(|row| row.sessions.is_empty()));
    let mut table = Table::new(&titles[first..]);
    for Row { turn, sessions, .. } in rows {
        let session =
            if sessions.len() > 1 { "both" } else { sessions.first().map_or("", |name| short(name)) };
        let cells = [
            session.to_owned(),
            turn.number.to_string(),
            turn.started_at.map_or_else(|| "-".to_owned(), output::local_time_of_ms),
            cause(turn),
            prompt(turn),
            output::number(turn.tool_calls),
            output::number(turn.errors),
            turn.duration_ms().map_or_else(|| "-".to_owned(), output::duration),
            output::number(turn.usage.output),
        ];
        table.row(&cells[first..]);
    }
    table.print(out)
}
