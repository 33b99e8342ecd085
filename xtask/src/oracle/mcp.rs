//! Scenarios of MCP: Claude Code starts `annals mcp`, and a turn calls its tools.

use serde_json::{Value as Json, json};

use super::Scenario;
use super::drafts::{says, user};
use super::trial::{Trial, text};
use crate::Outcome;

pub(crate) const SCENARIOS: &[Scenario] = &[("mcp: a turn of Claude Code calls tools", a_turn_calls_tools)];

/// The name of the script that the mock of the model's API follows.
const SCRIPT: &str = "annals_mcp";

fn a_turn_calls_tools(trial: &Trial<'_>) -> Outcome {
    let past = trial.record(&[user("Where is the kettle?"), says("1", "The kettle is on the stove")])?;
    let installed =
        trial.annals_command(&["mcp", "install", "--yes"]).env("CLAUDE_CONFIG_DIR", trial.root()).output()?;
    if !installed.status.success() {
        return Err(String::from_utf8_lossy(&installed.stderr).into());
    }
    trial.claude_code().add_script(
        SCRIPT,
        json!([
            {"blocks": [{"tool": "mcp__annals__search_sessions", "input": {"query": "kettle stove"}}]},
            {"blocks": [{"tool": "mcp__annals__get_messages", "input": {"session": past, "last": true}}]},
            {"blocks": [{"text": "It is on the stove."}]},
        ]),
    )?;
    let session = trial.record(&[user("Hello"), says("2", "Hi")])?;
    trial.start_continuing(&session, &format!("Look it up SCRIPT:{SCRIPT}"))?.wait()?;
    let answers: Vec<_> = trial.entries(&session)?.iter().filter_map(answer).collect();
    let is_right = |answer: &Json| answer.to_string().contains("The kettle is on the stove");
    if answers.len() == 2 && answers.iter().all(is_right) && text(&answers[0]["hits"][0]["session"]) == past {
        return Ok(());
    }
    Err(format!("the tools answered {answers:?}").into())
}

/// Returns what a tool answered, if an entry has it.
fn answer(entry: &Json) -> Option<Json> {
    let result = &entry["message"]["content"][0];
    serde_json::from_str(result["content"][0]["text"].as_str()?).ok()
}
