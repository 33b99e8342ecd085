//! The transcripts that are changed: where they come from, and what is done to all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use serde_json::json;

use super::super::claude_code::{ClaudeCode, MODEL};
use super::super::trial::Trial;
use super::Result;
use super::file::{Line, Record, SESSION, lines_of};

/// Reads the main transcripts below a folder, in the order of their paths.
pub(crate) fn transcripts_below(folder: &Path) -> Result<Vec<Vec<Line>>> {
    let mut files = Vec::new();
    find_transcripts(folder, &mut files)?;
    files.sort();
    let mut sources: Vec<_> =
        files.iter().map(|file| Ok(lines_of(&fs::read(file)?))).collect::<Result<_>>()?;
    sources.retain(|lines| lines.iter().any(is_user));
    Ok(sources)
}

/// Gives all records the session id of all cases and all replies Claude Code's model.
pub(crate) fn adopted(mut lines: Vec<Line>) -> Vec<Line> {
    for line in &mut lines {
        if let Some(mut record) = Record::parse(line) {
            adopt(&mut record);
            *line = record.to_line();
        }
    }
    lines
}

fn is_user(line: &Line) -> bool {
    Record::parse(line).is_some_and(|record| record.text("type").as_deref() == Some("user"))
}

/// Collects the transcripts below a folder that are not those of subagents.
fn find_transcripts(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("subagents") {
            find_transcripts(&path, files)?;
        } else if is_main_transcript(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_main_transcript(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_other = name.starts_with("agent-") || name == "MANIFEST" || name == "history";
    path.is_file() && path.extension().is_some_and(|extension| extension == "jsonl") && !is_other
}

/// Lets Claude Code write sessions with calls, subagents, reasoning, pictures, errors and a compaction.
pub(crate) fn fresh_sessions(claude_code: &ClaudeCode, annals: &Path) -> Result<Vec<Vec<Line>>> {
    const SCRIPTS: [&str; 9] =
        ["tools", "parallel", "think", "subfg", "image", "maxtok", "refusal", "over", "web"];
    let mut sessions = Vec::new();
    for script in SCRIPTS {
        let trial = Trial::new(claude_code, annals)?;
        let session = trial.begin_session(&format!("Begin SCRIPT:{script}"))?;
        trial.continue_session(&session, "Go on SCRIPT:parallel")?;
        sessions.push(lines_of(&fs::read(trial.transcript(&session)?)?));
    }
    Ok(sessions)
}

/// Gives text that Claude Code made of context the tags that it has in Claude Code's own files, so that it differs from what
/// was said. Texts of the sources may have been replaced as a whole.
fn tag_rendered_context(record: &mut Record) {
    let mut rendered = record.get("rendered");
    let Some(pieces) = rendered.as_array_mut().filter(|_| is_rendered_attachment(record)) else { return };
    for piece in pieces {
        if let Some(text) = piece["content"].as_str().filter(|text| !text.starts_with("<system-reminder>")) {
            piece["content"] = format!("<system-reminder>\n{text}\n</system-reminder>").into();
        }
    }
    record.set("rendered", &rendered);
}

/// Gives a record the session id of all cases. Replies get Claude Code's model, because it leaves out the reasoning of others.
fn adopt(record: &mut Record) {
    if record.get("sessionId").is_string() {
        record.set("sessionId", &json!(SESSION));
    }
    tag_rendered_context(record);
    let mut message = record.get("message");
    let model = message["model"].as_str().unwrap_or(MODEL);
    if record.text("type").as_deref() == Some("assistant") && model != MODEL && model != "<synthetic>" {
        message["model"] = json!(MODEL);
        record.set("message", &message);
    }
}

/// Removes attachments but queued prompts, and makes their children those of their parents.
pub(crate) fn without_attachments(lines: &[Line]) -> Vec<Line> {
    let mut parents = BTreeMap::new();
    let mut kept = Vec::new();
    for line in lines {
        match Record::parse(line) {
            Some(record) if is_rendered_attachment(&record) => {
                parents.insert(record.text("uuid"), record.get("parentUuid"));
            }
            _ => kept.push(line.clone()),
        }
    }
    for line in &mut kept {
        let Some(mut record) = Record::parse(line) else { continue };
        let mut parent = record.get("parentUuid");
        // A cycle of attachments has no parent outside of it.
        for _ in 0..parents.len() {
            let Some(next) = parent.as_str().and_then(|parent| parents.get(&Some(parent.to_owned()))) else {
                break;
            };
            parent = next.clone();
        }
        if parent != record.get("parentUuid") {
            record.set("parentUuid", &parent);
            *line = record.to_line();
        }
    }
    kept
}

fn is_rendered_attachment(record: &Record) -> bool {
    record.text("type").as_deref() == Some("attachment")
        && record.get("attachment")["type"] != "queued_command"
}

/// Chooses a part of a long transcript; half of the time it is the beginning.
pub(crate) fn window<'a>(lines: &'a [Line], rng: &mut Rng) -> &'a [Line] {
    if lines.len() <= 120 {
        return lines;
    }
    let start = if rng.bool() { 0 } else { rng.usize(..lines.len() - 100) };
    &lines[start..(start + rng.usize(20..=110)).min(lines.len())]
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    fn line(value: &Json) -> Line {
        value.to_string().into_bytes()
    }

    #[test]
    fn attachments_go_and_their_children_stay_linked() {
        let kept = without_attachments(&[
            line(&json!({"type": "user", "uuid": "1", "parentUuid": null})),
            line(
                &json!({"type": "attachment", "uuid": "2", "parentUuid": "1", "attachment": {"type": "date"}}),
            ),
            line(
                &json!({"type": "attachment", "uuid": "3", "parentUuid": "2", "attachment": {"type": "date"}}),
            ),
            line(
                &json!({"type": "attachment", "uuid": "4", "parentUuid": "3", "attachment": {"type": "queued_command"}}),
            ),
        ]);
        let links: Vec<_> = kept.iter().map(|line| Record::parse(line).unwrap().get("parentUuid")).collect();
        assert_eq!(links, [json!(null), json!("1")]);
    }

    #[test]
    fn replies_get_claude_code_s_model_and_all_records_the_session() {
        let reply =
            json!({"type": "assistant", "sessionId": "other", "message": {"model": "other", "content": []}});
        let mut record = Record::parse(&line(&reply)).unwrap();
        adopt(&mut record);
        assert_eq!(record.get("message")["model"], MODEL);
        assert_eq!(record.get("sessionId"), SESSION);
    }
}
