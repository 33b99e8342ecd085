//! Recording sessions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_transcript::project::{folder_name, is_session_id, resolve};
use annals_transcript::write::{Agent, Envelope, Options, Recorder, Target, rewrite};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::TranscriptFile;
use crate::git;
use crate::subagent::Meta;
use crate::title::own_target;

/// The version of the client whose format the recorder follows. It stands in every message that is recorded.
pub const FORMAT_VERSION: &str = "2.1.325";

/// Where and how to record.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The working directory that the session is about.
    pub project: PathBuf,
    /// The session, by its id.
    pub session: String,
    /// The subagent, if it is one's transcript.
    pub agent: Option<Agent>,
    /// How the program that records was started; stands in every message.
    pub entrypoint: String,
    /// How to write.
    pub options: Options,
}

impl Engine {
    /// Opens a session for recording: the one that is there, wherever it lies, or else a new one in the folder of its
    /// project. Its file is made when the first message is written.
    pub fn recorder(&self, recording: &Recording) -> Result<Recorder, Error> {
        let target = self.target(recording)?;
        let project = resolve(&recording.project);
        let envelope = Envelope {
            cwd: project.to_string_lossy().into_owned(),
            version: FORMAT_VERSION.to_owned(),
            entrypoint: recording.entrypoint.clone(),
            git_branch: git::branch(&project),
        };
        let disk = Arc::clone(self.disk());
        Ok(Recorder::open(disk, target, envelope, recording.options.clone())?)
    }

    /// Returns the id of the session to record to: a UUID as it is, whether it is there or not; anything else names a
    /// session that is there.
    pub fn session_to_record(&self, selector: &OsStr) -> Result<String, Error> {
        if let Some(id) = selector.to_str().filter(|id| is_session_id(id)) {
            return Ok(id.to_owned());
        }
        let file = self.session(selector)?;
        Ok(own_target(&file)?.session_id().to_owned())
    }

    /// Returns where a recording goes.
    pub fn target(&self, recording: &Recording) -> Result<Target, Error> {
        let there = self.session_with_id(&recording.session);
        let folder = match there.as_ref().and_then(|file| file.path.parent()) {
            Some(folder) => folder.to_owned(),
            None => self.project_folder(&recording.project)?,
        };
        let target = Target::session(&folder, &recording.session)?;
        Ok(match &recording.agent {
            Some(agent) => target.with_agent(agent.clone()),
            None => target,
        })
    }

    /// Returns the session of an id, if it is there.
    pub(crate) fn session_with_id(&self, id: &str) -> Option<TranscriptFile> {
        let found = self.session(id.as_ref()).ok()?;
        (found.session.as_deref() == Some(id)).then_some(found)
    }

    /// Returns the folder that keeps the sessions of a working directory.
    fn project_folder(&self, project: &Path) -> Result<PathBuf, Error> {
        let name = folder_name(&resolve(project).to_string_lossy());
        Ok(self.roots().to_write_into()?.join("projects").join(name))
    }

    /// Writes what is known of a subagent beside its transcript. Facts that are there already stay, if they are not
    /// among these.
    pub fn describe_agent(&self, target: &Target, meta: &Meta) -> Result<(), Error> {
        let Some(path) = target.sidecar() else { return Ok(()) };
        let json = meta.merged_into(&path);
        if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
            self.disk().create_folder(folder).map_err(|source| Error::write(folder, source))?;
        }
        rewrite::replace(&**self.disk(), &path, |out| out.write_all(&json))?;
        Ok(())
    }
}
