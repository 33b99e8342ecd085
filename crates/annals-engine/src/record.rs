//! Recording sessions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_transcript::project::{folder_name, is_session_id, resolve};
use annals_transcript::write::{Agent, Envelope, Options, Recorder, Target, new_id, rewrite};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{Selection, TranscriptFile, ends};
use crate::git;
use crate::subagent::Meta;
use crate::title::own_target;

/// The version of the client whose format the recorder follows. It stands in every message that is recorded.
pub const FORMAT_VERSION: &str = "2.1.325";

/// Returns the group that a subagent of a session lies in, if it is there already in one.
fn existing_group(session: &Target, agent: &str) -> Option<String> {
    let mut agents = Selection::default();
    agents.add_subagents_below(&TranscriptFile::at(&session.path()));
    let found = agents.files.iter().find(|file| file.agent.as_deref() == Some(agent))?;
    let below = found.path.strip_prefix(session.path().with_extension("").join("subagents")).ok()?;
    let names: Option<Vec<_>> = below.parent()?.iter().map(|name| name.to_str()).collect();
    Some(names?.join("/")).filter(|group| !group.is_empty())
}

/// Where and how to record.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The working directory that the session is about; none for that of a session that is there, or else the current
    /// one.
    pub project: Option<PathBuf>,
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
        let path = target.path();
        // Finishes what was interrupted before, and makes the folder of the lock.
        drop(self.take_shared(&TranscriptFile {
            path: path.clone(),
            session: Some(recording.session.clone()),
            agent: None,
        })?);
        let there = || ends(&target.path()).and_then(|lite| lite.cwd).map(PathBuf::from);
        let given = recording.project.as_ref().map(|project| resolve(project));
        let project = given.or_else(there).unwrap_or_else(|| resolve(Path::new(".")));
        let envelope = Envelope {
            cwd: project.to_string_lossy().into_owned(),
            version: FORMAT_VERSION.to_owned(),
            entrypoint: recording.entrypoint.clone(),
            git_branch: git::branch(&project),
        };
        let disk = Arc::clone(self.disk());
        let session_lock = Some(self.session_lock(&recording.session));
        let options = Options { session_lock, ..recording.options.clone() };
        Ok(Recorder::open(disk, target, envelope, options)?)
    }

    /// Returns the id of the session to record to: a UUID as it is, whether it is there or not; anything else names a
    /// session that is there; without a name, a new one.
    pub fn session_to_record(&self, selector: Option<&OsStr>) -> Result<String, Error> {
        let Some(selector) = selector else { return Ok(new_id()) };
        if let Some(id) = selector.to_str().filter(|id| is_session_id(id)) {
            return Ok(id.to_owned());
        }
        let file = self.session(selector)?;
        Ok(own_target(&file)?.session_id().to_owned())
    }

    /// Returns where a recording goes.
    pub fn target(&self, recording: &Recording) -> Result<Target, Error> {
        let project = recording.project.as_deref().unwrap_or(Path::new("."));
        let folder = self.folder_of(&recording.session, project)?;
        let target = Target::session(&folder, &recording.session)?;
        let Some(agent) = &recording.agent else { return Ok(target) };
        let there = agent.group().is_none().then(|| existing_group(&target, agent.id())).flatten();
        let agent = match there {
            Some(group) => agent.clone().in_group(&group)?,
            None => agent.clone(),
        };
        Ok(target.with_agent(agent))
    }

    /// Returns the folder of the session with an id: where it lies, or else where those of its working directory do.
    fn folder_of(&self, session: &str, project: &Path) -> Result<PathBuf, Error> {
        let name = folder_name(&resolve(project).to_string_lossy());
        let usual = self.roots().to_write_into()?.join("projects").join(name);
        let path = usual.join(format!("{session}.jsonl"));
        if path.is_file() {
            return Ok(usual);
        }
        let found: Vec<_> = self.sessions_with_id(session).into_iter().map(|file| file.path).collect();
        match &found[..] {
            [] if self.finish_interrupted(session)? => self.folder_of(session, project),
            [] => Ok(usual),
            [one] => Ok(one.parent().map_or(usual, Path::to_owned)),
            several => Err(Error::ambiguous(session, several.iter().map(|path| (session, path)))),
        }
    }

    /// Writes what is known of a subagent beside its transcript. Facts that are there already stay, if they are not
    /// among these.
    pub fn describe_agent(&self, target: &Target, meta: &Meta) -> Result<(), Error> {
        let Some(path) = target.sidecar().filter(|_| *meta != Meta::default()) else { return Ok(()) };
        let file = TranscriptFile {
            path: target.path(),
            session: Some(target.session_id().to_owned()),
            agent: None,
        };
        let _session = self.take_shared(&file)?;
        self.make_folder(path.parent().unwrap_or(Path::new(".")))?;
        Ok(rewrite::update(&**self.disk(), &path, |sidecar| Some(meta.merged_into(sidecar)))?)
    }
}
