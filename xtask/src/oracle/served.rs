//! Scenarios of serving: a client follows what Claude Code writes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value as Json;

use super::Scenario;
use super::drafts::{says, user};
use super::trial::{Trial, text};
use crate::Outcome;
use crate::listener::Listener;

pub(crate) const SCENARIOS: &[Scenario] =
    &[("served: over HTTP while Claude Code writes", reported_while_claude_code_writes)];

/// The number of events after which the listener reconnects.
const PATIENCE: usize = 3;

/// A server that ends with its scenario.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn reported_while_claude_code_writes(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[user("Hello"), says("1", "Hi")])?;
    let path = trial.transcript(&session)?;
    let start = fs::metadata(&path)?.len();
    let mut served = Served(trial.annals_command(&["serve"]).stdout(Stdio::piped()).spawn()?);
    let mut line = String::new();
    BufReader::new(served.0.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let said: Json = serde_json::from_str(&line)?;
    let (address, token) = (text(&said["address"]), text(&said["token"]));

    let mut listener = Listener::open(&address, &token, &session, None)?;
    let (mut told, mut last, mut since) = (Vec::new(), start, 0);
    for prompt in ["Go on SCRIPT:tools", "And on SCRIPT:parallel"] {
        let mut claude_code = trial.start_continuing(&session, prompt)?;
        let mut is_done = false;
        while !is_done || last < fs::metadata(&path)?.len() {
            is_done = is_done || claude_code.try_wait()?.is_some();
            if last == fs::metadata(&path)?.len() {
                std::thread::sleep(std::time::Duration::from_millis(10));
                continue;
            }
            let event = listener.next()?;
            if event.name != "appended" {
                return Err(format!("told `{}`", event.name).into());
            }
            let data: Json = serde_json::from_str(&event.data)?;
            if data["offset"] != last {
                return Err(format!("told from {} on, where {last} was expected", data["offset"]).into());
            }
            told.extend(data["items"].as_array().into_iter().flatten().map(name));
            last = event.id.ok_or("an event without id")?;
            since += 1;
            if since % PATIENCE == 0 {
                listener = Listener::open(&address, &token, &session, Some(last))?;
            }
        }
    }
    let written = trial.entries_from(&session, start)?;
    let expected: Vec<_> = written.iter().map(name).collect();
    if told != expected || expected.len() < 20 || since <= PATIENCE {
        return Err(format!("{since} events told {} entries of {}", told.len(), expected.len()).into());
    }
    Ok(())
}

/// Returns what identifies an entry.
fn name(entry: &Json) -> String {
    format!("{} {}", text(&entry["type"]), text(&entry["uuid"]))
}
