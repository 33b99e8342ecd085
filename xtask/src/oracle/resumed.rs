//! Scenarios of `annals resume`: Claude Code continues the right session, in the right folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use super::Scenario;
use super::drafts::{says, user};
use super::trial::{Trial, text};
use crate::Outcome;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("resumed from another folder", from_another_folder),
    ("resumed without a name, in its folder", without_a_name),
    ("resumed after a fork", after_a_fork),
    ("resumed in a copy", in_a_copy),
    ("resumed by its content", by_its_content),
];

const PROMPT: &str = "More SCRIPT:qa";
const TALK: [&str; 2] = ["user: One", "assistant: Two"];
const MORE: [&str; 4] =
    ["user: One", "assistant: Two", "user: More SCRIPT:qa", "assistant: The answer is 42."];

/// Records two sessions of the same folder; the first is the one that is meant, the second the more recent one.
fn two_sessions(trial: &Trial<'_>) -> Result<(String, String)> {
    let meant = trial.record(&[user("One"), says("2", "Two")])?;
    let other = trial.record(&[user("Other"), says("3", "Words")])?;
    Ok((meant, other))
}

fn from_another_folder(trial: &Trial<'_>) -> Outcome {
    let (meant, other) = two_sessions(trial)?;
    let elsewhere = trial.project().with_file_name("elsewhere");
    fs::create_dir(&elsewhere)?;
    trial.resume_by_annals(&elsewhere, &[&meant[..8]], PROMPT)?;
    is_continued_in(trial, &meant, &trial.project())?;
    trial.resume(&meant)?.is(&MORE)?;
    trial.resume(&other)?.is(&["user: Other", "assistant: Words"])
}

fn without_a_name(trial: &Trial<'_>) -> Outcome {
    let (_, recent) = two_sessions(trial)?;
    trial.resume_by_annals(&trial.project(), &[], PROMPT)?;
    is_continued_in(trial, &recent, &trial.project())
}

fn after_a_fork(trial: &Trial<'_>) -> Outcome {
    let (meant, _) = two_sessions(trial)?;
    let fork = trial.fork(&meant, &["--title", "Another way"])?;
    trial.resume_by_annals(Path::new("/"), &["another WAY"], PROMPT)?;
    is_continued_in(trial, &fork, &trial.project())?;
    trial.resume(&fork)?.is(&MORE)?;
    trial.resume(&meant)?.is(&TALK)
}

fn in_a_copy(trial: &Trial<'_>) -> Outcome {
    let (meant, _) = two_sessions(trial)?;
    let before = sessions(trial)?;
    trial.resume_by_annals(Path::new("/"), &[&meant, "--fork"], PROMPT)?;
    let new: Vec<_> = sessions(trial)?.difference(&before).cloned().collect();
    let [copy] = &new[..] else { return Err(format!("there are {} new sessions", new.len()).into()) };
    is_continued_in(trial, copy, &trial.project())?;
    trial.resume(copy)?.is(&MORE)?;
    trial.resume(&meant)?.is(&TALK)
}

fn by_its_content(trial: &Trial<'_>) -> Outcome {
    let (meant, _) = two_sessions(trial)?;
    trial.resume_by_annals(Path::new("/"), &["--search", "two in:reply", "--on", "today"], PROMPT)?;
    is_continued_in(trial, &meant, &trial.project())?;
    trial.resume(&meant)?.is(&MORE)
}

/// Fails unless the prompt is in a session, and was sent in a folder.
fn is_continued_in(trial: &Trial<'_>, session: &str, folder: &Path) -> Outcome {
    let is_prompt =
        |entry: &Json| entry["type"] == "user" && entry["message"]["content"].to_string().contains(PROMPT);
    let entries = trial.entries(session)?;
    let Some(prompt) = entries.iter().find(|entry| is_prompt(entry)) else {
        return Err(format!("the prompt is not in {session}").into());
    };
    let (sent_in, expected) = (text(&prompt["cwd"]), folder.canonicalize()?);
    if Path::new(&sent_in) != expected {
        return Err(format!("continued in {sent_in}, and not in {}", expected.display()).into());
    }
    Ok(())
}

/// Returns the ids of all sessions.
fn sessions(trial: &Trial<'_>) -> Result<BTreeSet<String>> {
    Ok(trial.annals(&["list"])?.iter().map(|row| text(&row["id"])).collect())
}
