//! Methods that work on sessions as a whole: list, delete, and the refusal of what needs a model.

use annals_engine::{ListOptions, SessionRow};
use annals_proto::ErrorCode;
use annals_proto::acp::{
    Elsewhere, ListParams, ListResult, Meta, OpenParams, RequestMeta, SessionInfo, SessionParams,
};

use crate::server::Server;
use annals_api::Masking;
use annals_api::read_place;
use annals_api::rpc::{Error, Outcome, Params};
use annals_api::to_wire;
use annals_api::{end_page, is_absolute, serialize, workspace};

/// How many sessions a page of the list has.
const PAGE_SIZE: usize = 100;

impl Server {
    /// Lists sessions: all of them, or those of one working directory.
    pub(super) fn acp_list(&self, params: &Params) -> Outcome {
        let params: ListParams = params.read()?;
        let masking = self.api.masking(RequestMeta::reveal(params.meta))?;
        let cwd = params.cwd.filter(|cwd| !cwd.is_empty());
        let mut listing = self.api.engine().list(&ListOptions {
            project: cwd.as_deref().map(check_cwd).transpose()?.flatten(),
            after: params.cursor.as_deref().map(read_place).transpose()?,
            limit: Some(PAGE_SIZE + 1),
            inside: true,
            ..ListOptions::default()
        });
        let next_cursor = end_page(&mut listing.sessions, PAGE_SIZE);
        let sessions = listing.sessions.into_iter();
        let sessions = sessions
            .filter_map(|listed| session_info(listed, cwd.as_deref(), masking.as_ref()).transpose())
            .collect::<Result<_, _>>()?;
        serialize(&ListResult { sessions, next_cursor })
    }

    /// Moves a session to the trash.
    pub(super) fn acp_delete(&self, params: &Params) -> Outcome {
        let params: SessionParams = params.read()?;
        if self.api.options().read_only {
            return Err(Error::new(ErrorCode::Refused, "this server is read-only"));
        }
        // The protocol says that deleting a session that does not exist is no error, so the result is ignored.
        self.api.delete_session(&params.session_id, None)?;
        serialize(&annals_proto::acp::Empty {})
    }

    /// Returns the working directory in which an agent would continue a session. Agents know sessions by their bare ids
    /// only.
    pub(super) fn acp_working_directory(&self, session: &str) -> Result<String, Error> {
        if session.starts_with("claude:") {
            return Err(Error::invalid_params(
                "an agent knows sessions by their ids alone, without `claude:`",
            ));
        }
        let listed = self.api.engine().session_row(&self.api.session(session, None)?)?;
        working_directory(&listed)
            .ok_or_else(|| Error::new(ErrorCode::NotSupported, "the session names no folder"))
    }

    /// Refuses to continue a session, with the command that does it.
    pub(super) fn acp_refuse_to_continue(&self, params: &Params) -> Outcome {
        let params: SessionParams = params.read()?;
        let file = self.api.session(&params.session_id, None)?;
        let id = file.session.clone().unwrap_or_default();
        let cwd = self.api.engine().session_row(&file).ok().as_ref().and_then(working_directory);
        let message = format!(
            "annals keeps histories and asks no model; to go on, run `claude --resume {id}` in the session's folder"
        );
        Err(not_supported(&message, vec!["claude".to_owned(), "--resume".to_owned(), id], cwd))
    }
}

/// Refuses to begin a session, with the command that does it.
pub(super) fn refuse_new_session(params: &Params) -> Outcome {
    let cwd = params.read::<NewParams>()?.cwd;
    check_cwd(&cwd)?;
    let message = "annals keeps histories and asks no model; to begin a session, run `claude` in its folder";
    Err(not_supported(message, vec!["claude".to_owned()], Some(cwd)))
}

#[derive(serde::Deserialize)]
struct NewParams {
    cwd: String,
}

fn not_supported(message: &str, command: Vec<String>, cwd: Option<String>) -> Error {
    let data = Elsewhere { reason: "history-only", command, cwd };
    Error::new(ErrorCode::NotSupported, message).with_data(&data)
}

/// Reads `cwd`, which has to be an absolute path. It is compared with the paths that sessions name, and never opened.
fn check_cwd(cwd: &str) -> Result<Option<std::path::PathBuf>, Error> {
    match workspace(Some(cwd)) {
        Ok(Some(path)) => Ok(Some(path)),
        Ok(None) | Err(_) => Err(Error::invalid_params("`cwd` is not an absolute path")),
    }
}

impl Server {
    /// Finds the session that is to be opened.
    pub(super) fn acp_session(&self, params: &OpenParams) -> Result<annals_engine::TranscriptFile, Error> {
        check_cwd(&params.cwd)?;
        self.api.session(&params.session_id, Some(&params.cwd))
    }
}

/// Returns a session as clients list it; `None` if it has no working directory, or another one than the client asked for.
fn session_info(
    listed: SessionRow,
    cwd: Option<&str>,
    masking: Option<&Masking>,
) -> Result<Option<SessionInfo>, Error> {
    let Some(directory) = working_directory(&listed) else { return Ok(None) };
    if cwd.is_some_and(|cwd| !is_same_directory(cwd, &directory)) {
        return Ok(None);
    }
    let session = masked_session(listed, masking)?;
    Ok(Some(SessionInfo {
        session_id: session.id.clone(),
        cwd: directory,
        title: session.title.clone(),
        updated_at: session.updated_at.clone(),
        meta: Meta { annals: session },
    }))
}

/// Returns a session of a list, masked unless the client may see everything.
pub(super) fn masked_session(
    listed: SessionRow,
    masking: Option<&Masking>,
) -> Result<annals_proto::Session, Error> {
    let session = to_wire::session(listed);
    match masking {
        Some(masking) => masking.wire(&session).map_err(|_| Error::broken_off()),
        None => Ok(session),
    }
}

/// Returns the directory in which Claude Code would resume a session. The protocol has no sessions without one.
fn working_directory(listed: &SessionRow) -> Option<String> {
    let directories = [listed.project_path(), listed.facts.cwd.clone()];
    directories.into_iter().flatten().find(|path| is_absolute(path))
}

/// Returns whether the path that a client gave names the directory that a session names: by its spelling, or through
/// symlinks.
fn is_same_directory(given: &str, recorded: &str) -> bool {
    let (trimmed, recorded) = (trim_separators(given), trim_separators(recorded));
    trimmed == recorded
        || is_same_on_drive(trimmed, recorded)
        || std::fs::canonicalize(given).is_ok_and(|real| real.as_os_str() == recorded)
}

fn trim_separators(path: &str) -> &str {
    path.trim_end_matches(['/', '\\'])
}

fn has_drive(path: &str) -> bool {
    path.as_bytes().get(1) == Some(&b':')
}

/// Returns whether two Windows paths differ at most in the case of the drive letter.
fn is_same_on_drive(first: &str, second: &str) -> bool {
    has_drive(first)
        && has_drive(second)
        && first[..1].eq_ignore_ascii_case(&second[..1])
        && first[1..] == second[1..]
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
            assert!(is_same_directory(asked, told), "{asked} {told}");
        }
        for (asked, told) in [("/a", "/a/b"), ("/a/b", "/a"), (r"D:\天气", r"C:\天气"), ("/A", "/a")] {
            assert!(!is_same_directory(asked, told), "{asked} {told}");
        }
    }
}
