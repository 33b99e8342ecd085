//! What stands above a conversation: which session it is, where and when it took place.

use std::io::Write;

use annals_engine::{Conversation, SessionRow};
use annals_transcript::entry::view::Assistant;
use annals_transcript::full_view::Step;
use annals_transcript::{Entry, Kind};

use super::{BOLD, DIM, clean, cut, number, one_line, prose_columns, time_of_ms, without_escapes};
use crate::failure::Failure;

/// The longest title, in columns, if the output is not a terminal.
const TITLE: usize = 100;

/// Prints the header. `row` is the session as a list shows it; an agent has none. `tokens` says what its replies used.
pub(crate) fn print(
    out: &mut dyn Write,
    row: Option<&SessionRow>,
    tokens: Option<String>,
    conversation: &Conversation<'_>,
) -> Result<(), Failure> {
    let room = prose_columns().unwrap_or(TITLE);
    let file = conversation.transcript().file();
    let facts = row.map(|row| &row.facts);
    let title =
        facts.and_then(|facts| facts.title.as_ref()).map(|title| one_line(&without_escapes(&title.text)));
    writeln!(out, "{BOLD}{}{BOLD:#}", cut(&clean(&title.unwrap_or_else(|| "(untitled)".to_owned())), room))?;
    let session = file.session.clone().unwrap_or_else(|| file.path.to_string_lossy().into_owned());
    let project = row.and_then(SessionRow::project_path);
    let branch = facts.and_then(|facts| facts.git_branch.clone());
    let lines = [
        ("session", Some(session)),
        ("agent", file.agent.clone()),
        ("project", project),
        ("branch", branch),
        ("model", model(conversation)?),
        ("time", span(conversation)),
        ("turns", Some(number(conversation.turns().len() as u64))),
        ("tokens", tokens),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            writeln!(out, "{DIM}{name:<8}{DIM:#} {}", clean(&value))?;
        }
    }
    Ok(())
}

/// Returns the model of the last reply that a model wrote.
fn model(conversation: &Conversation<'_>) -> Result<Option<String>, Failure> {
    for step in conversation.steps().iter().rev() {
        let Step::Entry { node, live: true } = step else { continue };
        let node = &conversation.session().nodes()[*node];
        if node.kind != Kind::Assistant {
            continue;
        }
        let body = conversation.transcript().body(node)?;
        let entry = Entry::new(&body);
        let reply = entry.view::<Assistant>().filter(|reply| !reply.is_synthetic());
        if let Some(model) = reply.and_then(|reply| reply.model()) {
            return Ok(Some(model.into_owned()));
        }
    }
    Ok(None)
}

/// Returns the times of the first and the last entry.
fn span(conversation: &Conversation<'_>) -> Option<String> {
    let times = || conversation.session().nodes().iter().filter_map(annals_transcript::session::Node::time);
    let (first, last) = times().min().zip(times().max())?;
    if first == last {
        return Some(time_of_ms(first));
    }
    Some(format!("{} to {}", time_of_ms(first), time_of_ms(last)))
}
