//! Asks the client and annals what is sent to the model when a file is resumed.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value as Json;
use testkit::command::Home;

use super::super::client::Client;
use super::super::trial::PROBE;
use super::Result;
use super::compare::{Messages, Verdict, compare};
use super::file::{Line, SESSION, file_of};

/// Asks the client and annals.
pub(crate) struct Judge<'a> {
    pub(crate) client: &'a Client,
    pub(crate) annals: &'a Path,
}

/// What both say that is sent to the model.
pub(crate) struct Answers {
    pub(crate) resumable: bool,
    pub(crate) client: Messages,
    pub(crate) annals: Messages,
}

impl Judge<'_> {
    /// Returns how the two differ.
    pub(crate) fn verdict(&self, lines: &[Line]) -> Result<Verdict> {
        let answers = self.ask(lines)?;
        Ok(compare(lines, &answers.client, &answers.annals))
    }

    /// Returns whether the two differ by a difference of this kind.
    pub(crate) fn finds(&self, lines: &[Line], kind: &str) -> bool {
        matches!(self.verdict(lines), Ok(Verdict::Different(difference)) if difference.kind == kind)
    }

    pub(crate) fn ask(&self, lines: &[Line]) -> Result<Answers> {
        let client = self.ask_client(lines)?;
        Ok(Answers {
            resumable: client.is_some(),
            client: Messages::of_client(&client.unwrap_or_default()),
            annals: Messages::of_annals(&self.ask_annals(lines)?),
        })
    }

    /// Has the client resume a file. Returns the messages that it sends, or `None` if it does not resume the file.
    fn ask_client(&self, lines: &[Line]) -> Result<Option<Vec<Json>>> {
        let home = Home::new();
        // A session id of its own tells a run from others that talk to the mock at the same time.
        let session = uuid::Uuid::new_v4().to_string();
        let file = replaced(&file_of(lines), SESSION, &session);
        home.write(transcript(&session), file);
        let project = home.path().join("project");
        fs::create_dir(&project)?;
        let since = self.client.index_length();
        let mut command = self.client.command(home.path(), &project, &["-p", PROBE, "--resume", &session]);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        let requests = self.client.requests(&session, since);
        let messages = requests.first().map(|request| self.client.messages(request));
        let messages = messages.transpose()?;
        self.client.forget_requests(&session, since);
        if messages.is_none() && status.code().is_none_or(|code| code >= 124) {
            return Err(format!("the client did not answer ({status})").into());
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
        // Exit code 1: annals says that the client does not resume the file.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(format!("annals failed ({})", output.status).into());
        }
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.map(serde_json::from_slice).collect::<std::result::Result<_, _>>()?)
    }
}

/// Returns where a session's transcript lies in a home.
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
