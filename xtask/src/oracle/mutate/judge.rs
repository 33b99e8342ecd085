//! Asks Claude Code and annals what is sent to the model when a file is resumed.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use testkit::command::Home;

use super::super::claude_code::ClaudeCode;
use super::super::trial::PROBE;
use super::Result;
use super::compare::{Messages, Verdict, compare};
use super::file::{Line, SESSION, file_of};

/// What Claude Code says about a file that it does not resume.
const NOT_RESUMED: &[u8] = b"No conversation found";

/// Asks Claude Code and annals.
pub(crate) struct Judge<'a> {
    pub(crate) claude_code: &'a ClaudeCode,
    pub(crate) annals: &'a Path,
}

/// What both say that is sent to the model.
pub(crate) struct Answers {
    pub(crate) resumable: bool,
    pub(crate) claude_code: Messages,
    pub(crate) annals: Messages,
}

impl Judge<'_> {
    /// Returns how the two differ.
    pub(crate) fn verdict(&self, lines: &[Line]) -> Result<Verdict> {
        let answers = self.ask(lines)?;
        Ok(compare(lines, &answers.claude_code, &answers.annals))
    }

    /// Returns whether the two differ by a difference of this kind.
    pub(crate) fn finds(&self, lines: &[Line], kind: &str) -> bool {
        matches!(self.verdict(lines), Ok(Verdict::Different(difference)) if difference.kind == kind)
    }

    pub(crate) fn ask(&self, lines: &[Line]) -> Result<Answers> {
        let claude_code = self.ask_claude_code(lines)?;
        Ok(Answers {
            resumable: claude_code.is_some(),
            claude_code: Messages::of_claude_code(&claude_code.unwrap_or_default()),
            annals: Messages::of_annals(&self.ask_annals(lines)?),
        })
    }

    /// Lets Claude Code resume a file. Returns the messages that it sends, or `None` if it does not resume the file.
    fn ask_claude_code(&self, lines: &[Line]) -> Result<Option<Vec<Json>>> {
        let home = Home::new();
        // The mock serves several runs at the same time; each has a session id of its own.
        let session = uuid::Uuid::new_v4().to_string();
        let file = replaced(&file_of(lines), SESSION, &session);
        home.write(transcript(&session), file);
        let project = home.path().join("project");
        fs::create_dir(&project)?;
        let since = self.claude_code.index_length();
        let mut command =
            self.claude_code.command(home.path(), &project, &["-p", PROBE, "--resume", &session]);
        let output = command.output()?;
        let requests = self.claude_code.requests(&session, since);
        let messages = requests.first().map(|request| self.claude_code.messages(request));
        let messages = messages.transpose()?;
        self.claude_code.forget_requests(&session, since);
        // On a busy machine Claude Code may fail or run out of time, which says nothing about the file.
        let said = [output.stdout, output.stderr].concat();
        if messages.is_none() && memchr::memmem::find(&said, NOT_RESUMED).is_none() {
            return Err(format!("Claude Code did not answer ({})", output.status).into());
        }
        let messages = messages.map(|messages| Json::from(messages).to_string().replace(&session, SESSION));
        Ok(messages.map(|messages| serde_json::from_str(&messages)).transpose()?)
    }

    fn ask_annals(&self, lines: &[Line]) -> Result<Vec<Json>> {
        let home = Home::new();
        home.write(transcript(SESSION), file_of(lines));
        let mut command = home.command(&self.annals.to_string_lossy());
        command
            .arg("--root")
            .arg(home.path().join(".claude"))
            .args(["show", SESSION, "--view", "model", "--json"]);
        let output = command.output()?;
        // Exit code 1: annals says that Claude Code does not resume the file.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(format!("annals failed ({})", output.status).into());
        }
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.map(serde_json::from_slice).collect::<std::result::Result<_, _>>()?)
    }
}

/// Returns the path of a session's transcript in a home.
fn transcript(session: &str) -> String {
    format!(".claude/projects/-home-dev-work-acid/{session}.jsonl")
}

/// Replaces a string in bytes by one of any length.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for at in memchr::memmem::find_iter(bytes, from) {
        replaced.extend_from_slice(&bytes[done..at]);
        replaced.extend_from_slice(to.as_bytes());
        done = at + from.len();
    }
    replaced.extend_from_slice(&bytes[done..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_replaced_wherever_it_stands() {
        assert_eq!(replaced(b"a-id id b", "id", "longer"), b"a-longer longer b");
    }
}
