//! Recording sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_transcript::paths::{ConfigFolder, SessionPaths};
use annals_transcript::project::{folder_name, resolve};
use annals_transcript::write::{Agent, Envelope, Options, Recorder, Target, rewrite};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{Selection, TranscriptFile, ends};
use crate::git;
use crate::lookup::sessions_with_id;
use crate::subagent::Meta;

/// The version of the client whose format the recorder follows. It stands in every message that is recorded.
pub const FORMAT_VERSION: &str = "2.1.325";

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

pub(crate) fn recorder(engine: &Engine, recording: &Recording) -> Result<Recorder, Error> {
    let target = engine.target(recording)?;
    let path = target.path();
    // Finishes what was interrupted before, and makes the folder of the lock.
    drop(engine.lock_shared(&TranscriptFile {
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
    let recorder = Recorder::builder(target)
        .disk(Arc::clone(engine.disk()))
        .envelope(envelope)
        .options(recording.options.clone())
        .session_lock(engine.session_lock(&recording.session));
    Ok(recorder.open()?)
}

pub(crate) fn target(engine: &Engine, recording: &Recording) -> Result<Target, Error> {
    let project = recording.project.as_deref().unwrap_or(Path::new("."));
    let folder = engine.folder_of(&recording.session, project)?;
    let target = Target::session(&folder, &recording.session)?;
    let Some(agent) = &recording.agent else { return Ok(target) };
    let there = agent.group().is_none().then(|| existing_group(&target, agent.id())).flatten();
    let agent = match there {
        Some(group) => agent.clone().in_group(&group)?,
        None => agent.clone(),
    };
    Ok(target.with_agent(agent))
}

pub(crate) fn describe_agent(engine: &Engine, target: &Target, meta: &Meta) -> Result<(), Error> {
    let Some(path) = target.sidecar().filter(|_| *meta != Meta::default()) else { return Ok(()) };
    let file =
        TranscriptFile { path: target.path(), session: Some(target.session_id().to_owned()), agent: None };
    let _session = engine.lock_shared(&file)?;
    engine.make_folder(path.parent().unwrap_or(Path::new(".")))?;
    Ok(rewrite::update(&**engine.disk(), &path, |sidecar| Some(meta.merged_into(sidecar)))?)
}

impl Engine {
    /// Returns the folder of the session with an id: where it lies, or else where those of its working directory do.
    fn folder_of(&self, session: &str, project: &Path) -> Result<PathBuf, Error> {
        let name = folder_name(&resolve(project).to_string_lossy());
        let usual = ConfigFolder::new(self.roots().to_write_into()?).projects().join(name);
        if SessionPaths::new(&usual, session).transcript().is_file() {
            return Ok(usual);
        }
        let found: Vec<_> = sessions_with_id(self, session).into_iter().map(|file| file.path).collect();
        match &found[..] {
            [] if self.finish_interrupted(session)? => self.folder_of(session, project),
            [] => Ok(usual),
            [one] => Ok(one.parent().map_or(usual, Path::to_owned)),
            several => Err(Error::ambiguous(session, several.iter().map(|path| (session, path)))),
        }
    }
}

/// Returns the group that a subagent of a session lies in, if it is there already in one.
fn existing_group(session: &Target, agent: &str) -> Option<String> {
    let mut agents = Selection::default();
    agents.add_subagents_below(&TranscriptFile::at(&session.path()));
    let found = agents.files.iter().find(|file| file.agent.as_deref() == Some(agent))?;
    let below = found.path.strip_prefix(SessionPaths::of(&session.path()).subagents()).ok()?;
    let names: Option<Vec<_>> = below.parent()?.iter().map(|name| name.to_str()).collect();
    Some(names?.join("/")).filter(|group| !group.is_empty())
}
