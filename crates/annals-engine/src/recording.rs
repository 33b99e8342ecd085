//! Where a recording goes, and with which fields.

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

/// The version of Claude Code whose format the recorder writes. Every recorded message carries it.
pub const FORMAT_VERSION: &str = "2.1.325";

/// Where and how to record.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The working directory of the session. `None` is that of the existing session, or else the current one.
    pub project: Option<PathBuf>,
    /// The id of the session.
    pub session: String,
    /// The subagent, if its transcript is recorded.
    pub agent: Option<Agent>,
    /// The worktree that the subagent works in: the working directory of its messages.
    pub worktree: Option<PathBuf>,
    /// The team that the session belongs to, if any. Every recorded message carries it.
    pub team_name: Option<String>,
    /// The name of the session, or of the subagent, within its team. Every recorded message carries it.
    pub agent_name: Option<String>,
    /// How the recording program was started. Every recorded message carries it.
    pub entrypoint: String,
    /// How to write.
    pub options: Options,
}

pub(crate) fn recorder(engine: &Engine, recording: &Recording) -> Result<Recorder, Error> {
    let target = engine.target(recording)?;
    let path = target.path();
    // This finishes interrupted operations and makes the folder of lock files; the recorder takes the lock itself.
    drop(engine.lock_shared(&TranscriptFile {
        path: path.clone(),
        session: Some(recording.session.clone()),
        agent: None,
    })?);
    let (cwd, git_branch) = origin(recording, &target);
    let envelope = Envelope {
        cwd: cwd.to_string_lossy().into_owned(),
        version: FORMAT_VERSION.to_owned(),
        entrypoint: recording.entrypoint.clone(),
        git_branch,
        team_name: recording.team_name.clone(),
        agent_name: recording.agent_name.clone(),
    };
    let recorder = Recorder::builder(target)
        .disk(Arc::clone(engine.disk()))
        .envelope(envelope)
        .options(recording.options.clone())
        .session_lock(engine.session_lock(&recording.session));
    Ok(recorder.open()?)
}

/// Returns the working directory and the branch that recorded messages carry.
///
/// A directory that is given comes first. Otherwise a session continues in its own directory, with the branch that is checked
/// out there now. A subagent works where its earlier messages say, or else where its session does, and on that branch, even if
/// annals runs on a machine or in a folder where neither exists.
fn origin(recording: &Recording, target: &Target) -> (PathBuf, String) {
    let given =
        recording.worktree.as_ref().filter(|_| target.agent().is_some()).or(recording.project.as_ref());
    if let Some(given) = given {
        return with_branch(resolve(given));
    }
    if target.agent().is_some()
        && let Some((cwd, branch)) = recorded_origin(&target.path()).or_else(|| {
            let session = SessionPaths::new(target.folder(), target.session_id());
            recorded_origin(session.transcript())
        })
    {
        return (cwd, branch);
    }
    let cwd = ends(&target.path()).and_then(|lite| lite.cwd);
    with_branch(cwd.map_or_else(|| resolve(Path::new(".")), PathBuf::from))
}

/// Returns a directory with the branch that is checked out there.
fn with_branch(cwd: PathBuf) -> (PathBuf, String) {
    let branch = git::branch(&cwd);
    (cwd, branch)
}

/// Returns the directory and the branch of the last message of a transcript, if it has one.
fn recorded_origin(transcript: &Path) -> Option<(PathBuf, String)> {
    let lite = ends(transcript)?;
    Some((lite.last_cwd.or(lite.cwd)?.into(), lite.git_branch.unwrap_or_default()))
}

pub(crate) fn target(engine: &Engine, recording: &Recording) -> Result<Target, Error> {
    let project = recording.project.as_deref().unwrap_or(Path::new("."));
    let folder = engine.folder_of(&recording.session, project)?;
    let target = Target::session(&folder, &recording.session)?;
    let Some(agent) = &recording.agent else { return Ok(target) };
    let group = agent.group().is_none().then(|| existing_group(&target, agent.id())).flatten();
    let agent = match group {
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
    /// Returns the folder of a session: the one that has its transcript, or else the folder of its working directory.
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

/// Returns the group of a subagent's existing transcript: the folders between `subagents` and the file.
fn existing_group(session: &Target, agent: &str) -> Option<String> {
    let mut agents = Selection::default();
    agents.add_subagents_below(&TranscriptFile::at(&session.path()));
    let found = agents.files.iter().find(|file| file.agent.as_deref() == Some(agent))?;
    let below = found.path.strip_prefix(SessionPaths::of(&session.path()).subagents()).ok()?;
    let names: Option<Vec<_>> = below.parent()?.iter().map(|name| name.to_str()).collect();
    Some(names?.join("/")).filter(|group| !group.is_empty())
}
