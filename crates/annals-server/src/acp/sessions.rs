//! Lists of sessions, the trash, and what has to be done elsewhere.

use annals_engine::{ListOptions, SessionRow};
use annals_proto::ErrorCode;
use annals_proto::acp::{Elsewhere, ListParams, ListResult, Meta, OpenParams, SessionInfo, SessionParams};

use crate::server::Server;
use annals_api::read_place;
use annals_api::rpc::{Error, Outcome, Params};
use annals_api::to_wire;
use annals_api::{end_page, is_absolute, spell, workspace};

/// How many sessions a page has.
const PAGE: usize = 100;

impl Server {
    pub(super) fn acp_list(&self, params: &Params) -> Outcome {
        let params: ListParams = params.read()?;
        let cwd = params.cwd.filter(|cwd| !cwd.is_empty());
        let mut listing = self.api.engine().list(&ListOptions {
            project: cwd.as_deref().map(directory).transpose()?.flatten(),
            after: params.cursor.as_deref().map(read_place).transpose()?,
            limit: Some(PAGE + 1),
            inside: true,
            ..ListOptions::default()
        });
        let next_cursor = end_page(&mut listing.sessions, PAGE);
        let info = |listed: SessionRow| {
            let place = place_of(&listed)?;
            let session = to_wire::session(listed);
            let is_asked_for = cwd.as_ref().is_none_or(|cwd| is_same(cwd, &place));
            is_asked_for.then(|| SessionInfo {
                session_id: session.id.clone(),
                cwd: place,
                title: session.title.clone(),
                updated_at: session.updated_at.clone(),
                meta: Meta { annals: session },
            })
        };
        spell(&ListResult { sessions: listing.sessions.into_iter().filter_map(info).collect(), next_cursor })
    }

    pub(super) fn acp_delete(&self, params: &Params) -> Outcome {
        let params: SessionParams = params.read()?;
        if self.api.options().read_only {
            return Err(Error::new(ErrorCode::Refused, "this server is read-only"));
        }
        // The protocol has it that what is gone already is no error.
        self.api.delete_session(&params.session_id, None)?;
        spell(&annals_proto::acp::Empty {})
    }

    /// Returns the folder in which an agent would go on with a session. Agents know it by its bare id only.
    pub(super) fn acp_place(&self, session: &str) -> Result<String, Error> {
        if session.starts_with("claude:") {
            return Err(Error::invalid_params(
                "an agent knows sessions by their ids alone, without `claude:`",
            ));
        }
        let listed = self.api.engine().session_row(&self.api.session(session, None)?)?;
        place_of(&listed).ok_or_else(|| Error::new(ErrorCode::NotSupported, "the session tells no folder"))
    }

    /// Says how to go on with a session.
    pub(super) fn acp_goes_on_elsewhere(&self, params: &Params) -> Outcome {
        let params: SessionParams = params.read()?;
        let file = self.api.session(&params.session_id, None)?;
        let id = file.session.clone().unwrap_or_default();
        let cwd = self.api.engine().session_row(&file).ok().as_ref().and_then(place_of);
        let message = format!(
            "annals keeps histories and asks no model; to go on, run `claude --resume {id}` in the session's folder"
        );
        Err(elsewhere(&message, vec!["claude".to_owned(), "--resume".to_owned(), id], cwd))
    }
}

/// Says how to begin a session.
pub(super) fn begins_elsewhere(params: &Params) -> Outcome {
    let cwd = params.read::<NewParams>()?.cwd;
    directory(&cwd)?;
    let message = "annals keeps histories and asks no model; to begin a session, run `claude` in its folder";
    Err(elsewhere(message, vec!["claude".to_owned()], Some(cwd)))
}

#[derive(serde::Deserialize)]
struct NewParams {
    cwd: String,
}

fn elsewhere(message: &str, command: Vec<String>, cwd: Option<String>) -> Error {
    let data = Elsewhere { reason: "history-only", command, cwd };
    Error::new(ErrorCode::NotSupported, message).with_data(&data)
}

/// Reads the path of a working directory. It is compared with what sessions tell, and never opened.
fn directory(cwd: &str) -> Result<Option<std::path::PathBuf>, Error> {
    let wrong = || Error::invalid_params("`cwd` is not an absolute path");
    workspace(Some(cwd)).map_err(|_| wrong())?.map(Some).ok_or_else(wrong)
}

impl Server {
    /// Finds the session that is to be opened.
    pub(super) fn acp_session(&self, params: &OpenParams) -> Result<annals_engine::TranscriptFile, Error> {
        directory(&params.cwd)?;
        self.api.session(&params.session_id, Some(&params.cwd))
    }
}

/// Returns the folder in which the client would resume a session. Editors want no sessions without one.
fn place_of(listed: &SessionRow) -> Option<String> {
    let is_fine = |path: &String| is_absolute(path);
    listed.project_path().filter(is_fine).or_else(|| listed.facts.cwd.clone().filter(is_fine))
}

/// Returns whether two paths name the same folder, as far as their spelling says.
fn is_same(asked: &str, told: &str) -> bool {
    let trimmed = |path: &'_ str| path.trim_end_matches(['/', '\\']).to_owned();
    let (asked_for, told) = (trimmed(asked), trimmed(told));
    let is_drive = |path: &str| path.as_bytes().get(1) == Some(&b':');
    let is_same_drive = is_drive(&asked_for)
        && is_drive(&told)
        && asked_for[..1].eq_ignore_ascii_case(&told[..1])
        && asked_for[1..] == told[1..];
    let real = || std::fs::canonicalize(asked).is_ok_and(|real| real.as_os_str() == told.as_str());
    asked_for == told || is_same_drive || real()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_the_same_by_their_spelling() {
        for (asked, told) in [
            ("/a/茶", "/a/茶"),
            ("/a/茶/", "/a/茶"),
            (r"c:\天气", r"C:\天气"),
            (r"C:\天气\", r"C:\天气"),
            ("/", "/"),
        ] {
            assert!(is_same(asked, told), "{asked} {told}");
        }
        for (asked, told) in [("/a", "/a/b"), ("/a/b", "/a"), (r"D:\天气", r"C:\天气"), ("/A", "/a")] {
            assert!(!is_same(asked, told), "{asked} {told}");
        }
    }
}
