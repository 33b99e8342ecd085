//! `annals agents`: the agents of a session.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::Engine;
use annals_proto::Agent;

use crate::args::{Global, OneSession};
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::conversation::one_line;
use crate::output::{self, Table};

/// The most columns that a description takes.
const DESCRIPTION: usize = 200;

pub(crate) fn run(engine: &Engine, args: &OneSession, global: &Global) -> Result<ExitCode, Failure> {
    let file = super::choose::session(engine, &args.session, global)?;
    let found = engine.agents(&file)?;
    for error in &found.errors {
        output::complain(&error.to_string());
    }
    let agents = to_wire::agents(&file, &found);
    let mut out = output::stdout_for(global.json);
    if global.json {
        for agent in &agents {
            output::json_line(&mut out, agent)?;
        }
    } else if agents.is_empty() {
        output::note("this session has no agents");
    } else {
        print(&mut out, &agents)?;
    }
    out.flush()?;
    Ok(match (found.errors.is_empty(), agents.is_empty()) {
        (false, _) => ExitCode::from(FAILED),
        (true, true) => ExitCode::from(FOUND_NOTHING),
        (true, false) => ExitCode::SUCCESS,
    })
}

fn print(out: &mut impl Write, agents: &[Agent]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "agent",
        "~type",
        "~description",
        "state",
        "???~started by",
        "??>entries",
        "?>time",
        "????>output",
        "?????~/worktree",
    ]);
    for agent in agents {
        table.row(&row(agent));
    }
    table.print(out)
}

fn row(agent: &Agent) -> [String; 9] {
    [
        agent.agent_id.clone(),
        agent.agent_type.as_deref().map_or_else(|| kind(agent).to_owned(), str::to_owned),
        short(agent.description.as_deref()),
        agent.state.to_string(),
        started_by(agent),
        number_of(agent, agent.entries),
        agent.duration_ms.map_or_else(|| "-".to_owned(), output::duration),
        number_of(agent, agent.usage.map_or(0, |usage| usage.output_tokens)),
        short(agent.worktree_path.as_deref()),
    ]
}

/// Returns the beginning of a text; nothing if there is none.
fn short(text: Option<&str>) -> String {
    one_line(text.unwrap_or_default(), DESCRIPTION)
}

/// Returns a number that only the transcript of an agent says: a remote agent has none on this machine.
fn number_of(agent: &Agent, number: u64) -> String {
    if agent.remote { "-".to_owned() } else { output::number(number) }
}

/// Returns what is shown in place of the type of an agent that has none.
fn kind(agent: &Agent) -> &'static str {
    if agent.remote { "(remote)" } else { "" }
}

/// Returns who made the call that started an agent.
fn started_by(agent: &Agent) -> String {
    match (&agent.parent_agent_id, &agent.tool_use_id) {
        (Some(parent), _) => parent.clone(),
        (None, Some(_)) => "session".to_owned(),
        (None, None) => "-".to_owned(),
    }
}
