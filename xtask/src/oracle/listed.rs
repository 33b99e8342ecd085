//! Scenarios of single sessions in lists of Claude Code's SDKs: titles, tags, the archive.

use serde_json::{Value as Json, json};

use super::Scenario;
use super::drafts::{says, user};
use super::trial::Trial;
use crate::Outcome;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("listed: title", title),
    ("listed: title megabytes before the end", title_far_from_the_end),
    ("listed: tag", tag),
    ("listed: archive", archive),
    ("listed: fork", fork),
];

fn talk(trial: &Trial<'_>) -> Result<String, Box<dyn std::error::Error>> {
    trial.record(&[user("First prompt"), says("1", "Hi")])
}

fn title(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    is(&session, &trial.listed_by_typescript()?, "summary", "First prompt")?;
    is(&session, &trial.listed_by_python()?, "summary", "First prompt")?;
    for title in ["A \"new\" name", "天气"] {
        trial.annals(&["rename", &session, title])?;
        is(&session, &trial.listed_by_typescript()?, "customTitle", title)?;
        is(&session, &trial.listed_by_python()?, "custom_title", title)?;
    }
    trial.continue_session(&session, "Go on SCRIPT:qa")?;
    is(&session, &trial.listed_by_typescript()?, "customTitle", "天气")?;
    is(&session, &trial.listed_by_python()?, "custom_title", "天气")
}

/// Lists read both ends of a file only. The TypeScript SDK also reads the small file beside the transcript; the Python
/// SDK does not, and falls back to the first prompt.
fn title_far_from_the_end(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    let (before, after) = ("word ".repeat(50_000), "word ".repeat(600_000));
    trial.record_to(&session, &[user(&before), says("2", "Long")])?;
    trial.annals(&["rename", &session, "Far away"])?;
    trial.record_to(&session, &[user(&after), says("3", "Longer")])?;
    is(&session, &trial.listed_by_typescript()?, "customTitle", "Far away")?;
    is(&session, &trial.listed_by_python()?, "custom_title", Json::Null)?;
    is(&session, &trial.listed_by_python()?, "summary", "First prompt")
}

fn tag(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["tag", &session, "important"])?;
    is(&session, &trial.listed_by_typescript()?, "tag", "important")?;
    is(&session, &trial.listed_by_python()?, "tag", "important")?;
    trial.annals(&["tag", &session, "--remove"])?;
    is(&session, &trial.listed_by_typescript()?, "tag", Json::Null)?;
    is(&session, &trial.listed_by_python()?, "tag", Json::Null)
}

/// The Python SDK has no archive: there the session stays in the list.
fn archive(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["archive", &session])?;
    is(&session, &trial.listed_by_typescript()?, "archived", true)?;
    is(&session, &trial.listed_by_python()?, "summary", "First prompt")?;
    trial.annals(&["unarchive", &session])?;
    is(&session, &trial.listed_by_typescript()?, "archived", false)
}

fn fork(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["rename", &session, "Original"])?;
    trial.annals(&["tag", &session, "important"])?;
    let fork = trial.fork(&session, &[])?;
    let seen = trial.listed_by_typescript()?;
    is(&session, &seen, "customTitle", "Original")?;
    is(&fork, &seen, "customTitle", "Original (fork)")?;
    is(&fork, &seen, "tag", Json::Null)?;
    let seen = trial.listed_by_python()?;
    is(&session, &seen, "custom_title", "Original")?;
    is(&fork, &seen, "custom_title", "Original (fork)")?;
    is(&fork, &seen, "tag", Json::Null)
}

/// Fails unless an SDK returns this for a session, in its list and for the session alone.
fn is(session: &str, seen: &Json, field: &str, expected: impl Into<Json>) -> Outcome {
    let expected = expected.into();
    let seen = &seen[session];
    if [&seen["listed"], &seen["info"]].iter().all(|info| info.is_object() && info[field] == expected) {
        return Ok(());
    }
    Err(format!("`{field}` is not {expected} in {}", json!(seen)).into())
}
