//! Names that people give to sessions: titles, tags, the archive.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use annals_transcript::json::quote;
use annals_transcript::paths::SessionPaths;
use annals_transcript::write::{self, Draft, Options, Target, rewrite};
use jiff::Timestamp;

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::TranscriptFile;
use crate::index_file;

pub(crate) fn rename(engine: &Engine, file: &TranscriptFile, title: &str) -> Result<(), Error> {
    let title = title.trim();
    if title.is_empty() {
        return Err(Error::new(ErrorKind::NoTitle));
    }
    let _session = engine.lock_shared(file)?;
    engine.append_to(file, Draft::title(title))?;
    engine.write_title_beside(file, title)?;
    index_file::set_title(engine, file, title)
}

pub(crate) fn tag(engine: &Engine, file: &TranscriptFile, tag: Option<&str>) -> Result<(), Error> {
    let _session = engine.lock_shared(file)?;
    engine.append_to(file, Draft::tag(tag.unwrap_or_default().trim()))
}

pub(crate) fn set_archived(engine: &Engine, file: &TranscriptFile, archived: bool) -> Result<(), Error> {
    let _session = engine.lock_shared(file)?;
    let now = Timestamp::now();
    let json = format!("{{\"archived\":{archived},\"at\":\"{now:.3}\",\"by\":\"annals\"}}");
    let transcript = own_target(file)?.path();
    engine.write_beside(&transcript, &SessionPaths::of(&transcript).archived(), &json)
}

impl Engine {
    /// Appends a record to an existing session.
    fn append_to(&self, file: &TranscriptFile, draft: Draft) -> Result<(), Error> {
        Ok(write::append_records(&**self.disk(), &own_target(file)?, &[draft], &Options::default())?)
    }

    /// Writes the title that the user gave into the session's own folder, where Claude Code looks for it.
    pub(crate) fn write_title_beside(&self, file: &TranscriptFile, title: &str) -> Result<(), Error> {
        let transcript = own_target(file)?.path();
        let json = format!("{{\"customTitle\":{}}}", quote(title));
        self.write_beside(&transcript, &SessionPaths::of(&transcript).custom_title(), &json)
    }

    /// Writes a small file in the session's own folder. The transcript is locked meanwhile, so that no process with another
    /// `ANNALS_HOME`, whose session locks are other files, moves the folder away.
    fn write_beside(&self, transcript: &Path, path: &Path, json: &str) -> Result<(), Error> {
        let _transcript = match rewrite::lock_transcript(&**self.disk(), transcript) {
            // A read-only transcript cannot be locked, but the file beside it may still be writable.
            Err(error) if error.is_forbidden() => None,
            lock => Some(lock?),
        };
        self.make_folder(&SessionPaths::of(transcript).folder())?;
        rewrite::replace(&**self.disk(), path, |out| out.write_all(json.as_bytes()))?;
        Ok(())
    }
}

/// Returns the absolute form of a path. If it contains `..`, its folder is resolved. Otherwise links are kept, because they
/// show which config folder is meant.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let leads_up = path.components().any(|part| part == Component::ParentDir);
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if leads_up => Ok(parent.canonicalize()?.join(name)),
        _ => Ok(path),
    }
}

/// Returns the target for writing to a session's own transcript. Fails for subagents, and for files that Claude Code would not
/// take for the session.
pub(crate) fn own_target(file: &TranscriptFile) -> Result<Target, Error> {
    let own_session = file.session.as_deref().filter(|_| file.agent.is_none());
    let session = own_session.ok_or_else(|| Error::not_a_session(file))?;
    // The path is absolute because it finds the session's other files, and is stored in the trash.
    let path = absolute(&file.path).map_err(|source| Error::read(&file.path, source))?;
    let target = Target::session(path.parent().unwrap_or(Path::new(".")), session)?;
    // The file may be a copy under another name, which Claude Code would not take for the session.
    if target.path() == path && fs::metadata(&file.path).is_ok_and(|metadata| metadata.is_file()) {
        Ok(target)
    } else {
        Err(Error::not_a_session(file))
    }
}

/// Returns the folder of a session's side files: subagents, long tool output, title.
pub(crate) fn side_folder(file: &TranscriptFile) -> Result<PathBuf, Error> {
    Ok(SessionPaths::of(&own_target(file)?.path()).folder())
}
