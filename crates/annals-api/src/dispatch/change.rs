//! Methods that change sessions: titles, tags, the archive, copies, the trash.

use annals_engine::{ForkOptions, TranscriptFile};
use annals_proto::{self as wire, ErrorCode, Operation};

use super::{Api, session_id};
use crate::rpc::Error;
use crate::to_wire;

/// The most entries of the trash that are listed.
const MOST_TRASHED: usize = 1000;
/// The longest title or tag, in bytes.
const LONGEST_NAME: usize = 4096;

impl Api {
    pub(super) fn rename(&self, params: &wire::RenameParams) -> Result<wire::ChangeResult, Error> {
        let title = name("title", &params.title)?;
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        self.engine.rename(&file, title)?;
        Ok(wire::ChangeResult {
            title: Some(title.to_owned()),
            ..to_wire::change_result(Operation::Rename, &file)
        })
    }

    pub(super) fn tag(&self, params: &wire::TagParams) -> Result<wire::ChangeResult, Error> {
        let tag = params.tag.as_deref().map(|tag| name("tag", tag)).transpose()?;
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        self.engine.tag(&file, tag)?;
        Ok(wire::ChangeResult {
            tag: Some(tag.unwrap_or_default().to_owned()),
            ..to_wire::change_result(Operation::Tag, &file)
        })
    }

    pub(super) fn archive(
        &self,
        params: &wire::SessionParams,
        archived: bool,
    ) -> Result<wire::ChangeResult, Error> {
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        self.engine.set_archived(&file, archived)?;
        let done = if archived { Operation::Archive } else { Operation::Unarchive };
        Ok(to_wire::change_result(done, &file))
    }

    pub(super) fn fork(&self, params: &wire::ForkParams) -> Result<wire::ForkResult, Error> {
        let title = params.title.as_deref().map(|title| name("title", title)).transpose()?;
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let fork = ForkOptions {
            up_to: params.up_to.clone(),
            title: title.map(str::to_owned),
            with_side_files: params.with_side_files.unwrap_or_default(),
        };
        Ok(to_wire::fork_result(&self.engine.fork(&file, &fork)?, &file))
    }

    pub(super) fn delete(&self, params: &wire::SessionParams) -> Result<wire::DeleteResult, Error> {
        let deleted = self.delete_session(&params.session_id, params.workspace_path.as_deref())?;
        Ok(wire::DeleteResult { deleted })
    }

    /// Moves a session to the trash; returns whether there was one.
    pub fn delete_session(&self, session: &str, workspace: Option<&str>) -> Result<bool, Error> {
        let mut found = self.session(session, workspace);
        // An interrupted restore may have left it half way.
        if is_missing(&found) && self.engine.finish_interrupted(session_id(session)?)? {
            found = self.session(session, workspace);
        }
        if is_missing(&found) {
            return Ok(false);
        }
        match self.engine.delete(&found?, false) {
            // Another process has deleted it meanwhile.
            Err(error) if error.is_not_found() => Ok(false),
            deleted => Ok(deleted.map(|_| true)?),
        }
    }

    pub(super) fn restore(&self, params: &wire::RestoreParams) -> Result<wire::ChangeResult, Error> {
        let trashed = self.engine.in_trash(session_id(&params.session_id)?, params.entry.as_deref())?;
        if !self.engine.is_from_roots(&trashed) {
            return Err(Error::new(
                ErrorCode::NotFound,
                "the session was deleted from another config folder",
            ));
        }
        let path = self.engine.restore(&trashed)?;
        let file = TranscriptFile { path, session: Some(trashed.session), agent: None };
        Ok(wire::ChangeResult {
            entry: Some(trashed.entry),
            ..to_wire::change_result(Operation::Restore, &file)
        })
    }

    pub(super) fn trash(&self) -> wire::TrashResult {
        let mut trashed = self.engine.trash_entries();
        trashed.retain(|trashed| self.engine.is_from_roots(trashed));
        wire::TrashResult { sessions: trashed.iter().take(MOST_TRASHED).map(to_wire::trash_entry).collect() }
    }
}

/// Returns a title or a tag without surrounding white space.
fn name<'a>(what: &str, text: &'a str) -> Result<&'a str, Error> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_NAME {
        return Err(Error::invalid_params(&format!("a {what} has between 1 and {LONGEST_NAME} bytes")));
    }
    Ok(text)
}

fn is_missing(found: &Result<TranscriptFile, Error>) -> bool {
    found.as_ref().is_err_and(|error| error.code == ErrorCode::NotFound)
}
