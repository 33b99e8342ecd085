//! Scenarios of following: `annals tail` reports what Claude Code writes while it writes it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::Scenario;
use super::trial::{Trial, text};
use crate::Outcome;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("followed", |trial| follow(trial, &[])),
    ("followed by looking now and then", |trial| follow(trial, &["--poll"])),
];

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The events of transcripts, each by its path: one line per event, see [`spell`].
type Events = BTreeMap<PathBuf, Vec<String>>;

/// Claude Code begins a session with calls, continues it before and after it is renamed, and begins others with subagents
/// and with subagents of those.
fn follow(trial: &Trial<'_>, options: &[&str]) -> Outcome {
    let tail = Tail::start(trial, options)?;
    let session = trial.begin_session("Begin SCRIPT:tools")?;
    trial.continue_session(&session, "Go on SCRIPT:parallel")?;
    trial.annals(&["rename", &session, "天气 \u{1f326}"])?;
    // An event has the title of that moment, so tail must have looked before the next one is set.
    tail.wait_for_title("天气 \u{1f326}")?;
    trial.continue_session(&session, "Go on SCRIPT:qa")?;
    // A title that is recorded again is not reported again.
    trial.annals(&["rename", &session, "Other weather"])?;
    trial.annals(&["rename", &session, "Other weather"])?;
    trial.begin_session("Begin SCRIPT:subfg")?;
    trial.begin_session("Begin SCRIPT:subnest")?;
    let mut meant = Events::new();
    add_transcripts(&trial.root().join("projects"), &mut meant)?;
    meant.remove(&tail.sign);
    has_all_kinds(&meant)?;
    compare(&meant, &tail.stop(&meant)?)
}

/// Adds what has to be reported of every transcript below a folder.
fn add_transcripts(folder: &Path, meant: &mut Events) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add_transcripts(&path, meant)?;
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            meant.insert(path.clone(), events_of(&path)?);
        }
    }
    Ok(())
}

/// Returns the expected events of a transcript, in order: its creation, each of its lines with its bytes and offset, and each
/// new title after its line.
fn events_of(path: &Path) -> Result<Vec<String>> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    // <session>.jsonl, or <session>/subagents/agent-<agent>.jsonl
    let (session, agent) = match name.strip_prefix("agent-") {
        None => (name.to_string(), ""),
        Some(agent) => {
            let folder = path.ancestors().nth(2).and_then(Path::file_name).unwrap_or_default();
            (folder.to_string_lossy().into_owned(), agent)
        }
    };
    let spell = |event: &str, said: &str| spell(event, &session, agent, said);
    let mut events = vec![spell("created", "")];
    let (mut offset, mut called) = (0, String::new());
    for line in fs::read_to_string(path)?.split_inclusive('\n') {
        events.push(spell("appended", &format!("{offset} {}", line.trim_end())));
        offset += line.len();
        let entry: Json = serde_json::from_str(line)?;
        let title = if entry["type"] == "ai-title" { &entry["aiTitle"] } else { &entry["customTitle"] };
        if title.is_string() && text(title) != called {
            called = text(title);
            events.push(spell("title", &called));
        }
    }
    Ok(events)
}

fn spell(event: &str, session: &str, agent: &str, said: &str) -> String {
    format!("{event} {session} {agent} {said}")
}

/// Fails unless Claude Code wrote the files that the scenario needs.
fn has_all_kinds(events: &Events) -> Outcome {
    let is_agent = |path: &&PathBuf| path.to_string_lossy().contains("/subagents/");
    let agents = events.keys().filter(is_agent).count();
    let titles = events.values().flatten().filter(|event| event.starts_with("title ")).count();
    if events.len() - agents == 3 && agents >= 4 && titles == 2 {
        return Ok(());
    }
    Err(format!("Claude Code wrote {} files, of {agents} agents, with {titles} titles", events.len()).into())
}

fn compare(meant: &Events, reported: &Events) -> Outcome {
    for path in meant.keys().chain(reported.keys()) {
        let none = Vec::new();
        let (meant, reported) = (meant.get(path).unwrap_or(&none), reported.get(path).unwrap_or(&none));
        let (opened, reported): (Vec<_>, Vec<_>) =
            reported.iter().cloned().partition(|event| is_opening(event));
        if !alternate(&opened) {
            return Err(format!("{}: opened and closed do not alternate: {opened:?}", path.display()).into());
        }
        let (meant, reported) = (&titles_last(meant), &titles_last(&reported));
        let differs = |index: &usize| meant.get(*index) != reported.get(*index);
        if let Some(index) = (0..meant.len().max(reported.len())).find(differs) {
            let short = |event: Option<&String>| {
                event.map_or("(nothing)".to_owned(), |event| event.chars().take(200).collect())
            };
            let (meant, said) = (short(meant.get(index)), short(reported.get(index)));
            let place = format!("{}, event {}", path.display(), index + 1);
            return Err(format!("{place}\n    written   {meant}\n    reported  {said}").into());
        }
    }
    Ok(())
}

/// Returns whether an event says that Claude Code opened or closed a session, which no transcript says.
fn is_opening(event: &str) -> bool {
    event.starts_with("opened ") || event.starts_with("closed ")
}

/// Returns whether a session is opened first, and then closed and opened in turn.
fn alternate(events: &[String]) -> bool {
    let expected = ["opened ", "closed "].into_iter().cycle();
    events.iter().zip(expected).all(|(event, expected)| event.starts_with(expected))
}

/// Puts titles behind all other events, each in their order. A title also stands in a file beside the transcript, which is
/// seen before the line or after it.
fn titles_last(events: &[String]) -> Vec<String> {
    let (titles, others): (Vec<_>, Vec<_>) =
        events.iter().cloned().partition(|event| event.starts_with("title "));
    [others, titles].concat()
}

/// A running `annals tail --all --json`. It is ended when this is dropped.
struct Tail {
    process: Child,
    /// The file that it prints to.
    output: PathBuf,
    /// A transcript that is written only to see that tail has started.
    sign: PathBuf,
}

/// How long to wait for tail.
const PATIENCE: Duration = Duration::from_secs(30);

impl Tail {
    fn start(trial: &Trial<'_>, options: &[&str]) -> Result<Self> {
        let folder = trial.root().join("projects/-sign");
        fs::create_dir_all(&folder)?;
        let sign = folder.join("00000000-0000-4000-8000-000000000000.jsonl");
        let mut file = File::create(&sign)?;
        let output = trial.root().with_file_name("tail.jsonl");
        let args = [&["tail", "--all"], options].concat();
        let process = trial.annals_prints_to(&args, File::create(&output)?)?;
        let tail = Self { process, output, sign };
        // Lines that exist when tail starts are not reported, so nothing may be written before.
        wait_until("it does not follow", || {
            writeln!(file, r#"{{"type":"sign"}}"#)?;
            Ok(fs::metadata(&tail.output)?.len() > 0)
        })?;
        Ok(tail)
    }

    /// Ends tail when it has reported the expected number of events and has checked all files again; returns its events.
    fn stop(mut self, meant: &Events) -> Result<Events> {
        let count = |events: &Events| events.values().map(Vec::len).sum::<usize>();
        // The comparison finds events that are missing; here only a half-printed line must be waited for.
        let has_all = |reported: Result<Events>| reported.is_ok_and(|events| count(&events) >= count(meant));
        let _ = wait_until("", || Ok(has_all(self.reported())));
        thread::sleep(Duration::from_secs(1));
        Command::new("kill").arg("-INT").arg(self.process.id().to_string()).status()?;
        wait_until("it does not end", || Ok(self.process.try_wait()?.is_some()))?;
        let status = self.process.wait()?;
        if status.code() != Some(130) && !status.to_string().starts_with("signal: 2") {
            return Err(format!("interrupted, it ended with {status}").into());
        }
        self.reported()
    }

    /// Waits until tail has reported a title.
    fn wait_for_title(&self, title: &str) -> Outcome {
        let is_title = |event: &String| event.starts_with("title ") && event.ends_with(title);
        wait_until("the title was not reported", || {
            // The last line may be half printed.
            Ok(self.reported().is_ok_and(|events| events.values().flatten().any(is_title)))
        })
    }

    fn reported(&self) -> Result<Events> {
        let mut reported = Events::new();
        for line in fs::read_to_string(&self.output)?.split_inclusive('\n') {
            let event: Json = serde_json::from_str(line).map_err(|error| format!("half a line: {error}"))?;
            // The entry stands last, as it stands in the file.
            let entry = line.split_once(r#","entry":"#).and_then(|(_, entry)| entry.strip_suffix("}\n"));
            let said = match entry {
                Some(entry) => format!("{} {entry}", event["offset"]),
                None => text(&event["title"]),
            };
            let spelled =
                spell(&text(&event["event"]), &text(&event["session"]), &text(&event["agentId"]), &said);
            reported.entry(text(&event["path"]).into()).or_default().push(spelled);
        }
        reported.remove(&self.sign);
        Ok(reported)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn wait_until(otherwise: &str, mut done: impl FnMut() -> Result<bool>) -> Outcome {
    let start = Instant::now();
    while !done()? {
        if start.elapsed() > PATIENCE {
            return Err(otherwise.into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
