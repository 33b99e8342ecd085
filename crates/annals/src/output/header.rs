//! What stands above a conversation: which session it is, where and when it took place.

use std::io::Write;

use annals_engine::{Conversation, Meta, SessionRow};
use annals_transcript::entry::view::Assistant;
use annals_transcript::full_view::Step;
use annals_transcript::{Entry, Kind};

use super::{BOLD, DIM, clean, columns, cut, number, prose_columns, time_of_ms, title_line, wrap};
use crate::failure::Failure;

/// The longest title, in columns, if the output is not a terminal.
const TITLE: usize = 100;

/// The columns before the values.
const LABEL: usize = 8;

/// Prints the header. `row` is the transcript as a list shows it. `agent` says what it is if it is that of an agent, and `tokens` what its
/// replies used.
pub(crate) fn print(
    out: &mut dyn Write,
    row: Option<&SessionRow>,
    agent: Option<&Meta>,
    tokens: Option<String>,
    conversation: &Conversation<'_>,
) -> Result<(), Failure> {
    let room = prose_columns().unwrap_or(TITLE);
    let file = conversation.transcript().file();
    let facts = row.map(|row| &row.facts);
    let title = agent.and_then(task).or_else(|| Some(facts?.title.as_ref()?.text.clone()));
    let title = title.map(|title| title_line(&title));
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
    let lines = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
    for (mut name, value) in lines {
        let value = clean(&value);
        for row in
            wrap::rows(&value, columns().map_or(usize::MAX, |columns| columns.saturating_sub(LABEL + 1)))
        {
            writeln!(out, "{DIM}{name:<LABEL$}{DIM:#} {}", &value[row])?;
            name = "";
        }
    }
    Ok(())
}

/// Returns the type and the task of an agent.
fn task(agent: &Meta) -> Option<String> {
    let parts = [agent.agent_type.as_deref(), agent.description.as_deref()];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(": "))
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
    let times = conversation.session().nodes().iter().filter_map(annals_transcript::session::Node::time);
    let (first, last) = times.clone().min().zip(times.max())?;
    if first == last {
        return Some(time_of_ms(first));
    }
    Some(format!("{} to {}", time_of_ms(first), time_of_ms(last)))
}
