//! The agents of a session: their transcripts, their metadata, the calls that started them, and how they ended.

mod evidence;
mod metadata;
mod state;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::patch;
use annals_transcript::paths::SessionPaths;
use annals_transcript::tool::State;
use annals_transcript::turn::Tokens;
use jiff::Timestamp;
use rayon::prelude::*;

pub use metadata::Metadata;
pub use state::AgentState;

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{Selection, TranscriptFile, remote_agents};
use crate::symlink_guard::SymlinkGuard;
use evidence::{CallOrigin, Evidence, Journal};
use metadata::MetadataReader;
use state::Signs;

/// The agents of a session.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Agents {
    /// Those with a transcript on this machine, in the order in which they began.
    pub local: Vec<Subagent>,
    /// Those that run on another machine. Only their metadata is here.
    pub remote: Vec<RemoteAgent>,
    /// Transcripts and folders that could not be read.
    pub errors: Vec<Error>,
}

/// A subagent: its transcript, its metadata and the call that started it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Subagent {
    /// Its transcript.
    pub file: TranscriptFile,
    /// The folders between `subagents/` and its transcript, such as `workflows/wf_1`; empty for most agents.
    pub group: PathBuf,
    /// The call that started it.
    pub call: Option<String>,
    /// The entry that makes that call, by its uuid.
    pub call_entry: Option<String>,
    /// The agent that started it; `None` if the session itself did, or if that is not known.
    pub parent: Option<String>,
    /// Its metadata. What old versions of Claude Code did not write there is taken from the call that started it.
    pub meta: Meta,
    /// Everything in the file with its metadata; `None` if there is no such file.
    pub metadata: Option<Metadata>,
    /// How it ended.
    pub state: AgentState,
    /// The number of entries of its transcript.
    pub entries: u64,
    /// The size of its transcript in bytes.
    pub size: u64,
    /// The earliest time in its transcript.
    pub first_at: Option<Timestamp>,
    /// The latest time in its transcript.
    pub last_at: Option<Timestamp>,
    /// The tokens of its replies.
    pub usage: Tokens,
}

/// An agent that runs on another machine: a file in the folder `remote-agents` of the session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteAgent {
    /// The name of the file, without `.meta.json`.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// The entry that makes the call that started it, by its uuid.
    pub call_entry: Option<String>,
    /// The agent that started it; `None` if the session itself did, or if that is not known.
    pub parent: Option<String>,
    /// What the fields say that the metadata of all agents has.
    pub meta: Meta,
    /// Everything in the file; `None` if it is not a JSON object.
    pub metadata: Option<Metadata>,
}

/// The metadata of a subagent, `agent-<id>.meta.json`. Old versions of Claude Code wrote none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The kind of agent.
    pub agent_type: Option<String>,
    /// Its task, in a few words.
    pub description: Option<String>,
    /// The call that started it.
    pub tool_use_id: Option<String>,
    /// The agent that started it; `None` if the session itself did.
    pub parent_agent: Option<String>,
    /// The worktree that it worked in.
    pub worktree: Option<String>,
    /// How deep it is nested, from 1.
    pub spawn_depth: Option<u64>,
}

impl Meta {
    /// Reads the fields from a file with metadata. It is empty if there is none.
    fn of(metadata: Option<&Metadata>) -> Self {
        let Some(metadata) = metadata else { return Self::default() };
        Self {
            agent_type: metadata.text("agentType"),
            description: metadata.text("description"),
            tool_use_id: metadata.text("toolUseId"),
            parent_agent: metadata.text("parentAgentId"),
            worktree: metadata.text("worktreePath"),
            spawn_depth: metadata.number("spawnDepth"),
        }
    }

    /// Reads the metadata beside the transcript of an agent. It is empty if there is none.
    pub fn of_transcript(transcript: &Path) -> Self {
        Self::of(MetadataReader::new(None).of_transcript(transcript).as_ref())
    }

    /// Returns the metadata as JSON: the fields of an existing file, replaced by those that are set here.
    pub(crate) fn merged_into(&self, existing: Option<&[u8]>) -> Vec<u8> {
        let existing = existing.filter(|bytes| Value::new(bytes).is_some_and(Value::is_object));
        let fields = [
            ("agentType", self.agent_type.as_deref().map(quote)),
            ("description", self.description.as_deref().map(quote)),
            ("toolUseId", self.tool_use_id.as_deref().map(quote)),
            ("parentAgentId", self.parent_agent.as_deref().map(quote)),
            ("worktreePath", self.worktree.as_deref().map(quote)),
            ("spawnDepth", self.spawn_depth.map(|depth| depth.to_string())),
        ];
        let present = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
        present.fold(existing.unwrap_or(b"{}").to_vec(), |json, (key, value)| {
            patch::set(&json, key, &value).unwrap_or(json)
        })
    }
}

/// Reads the agents of the session that a transcript belongs to. With a guard, files that a link leads to outside of the config
/// folders are left out.
pub(crate) fn agents(
    engine: &Engine,
    file: &TranscriptFile,
    guard: Option<&SymlinkGuard>,
) -> Result<Agents, Error> {
    let session = &session_of(file);
    // The transcript of the session may be gone, and those of its agents left.
    let main = Evidence::read(&session.path, guard).or_else(|error| match file.agent {
        Some(_) => Ok(Evidence::default()),
        None => Err(error),
    })?;
    let mut found = Selection::default();
    found.add_subagents(session);
    let read = found.files.into_par_iter().map(|file| {
        let evidence = Evidence::read(&file.path, guard);
        (file, evidence)
    });
    let read: Vec<_> = read.collect();
    let mut agents = Agents { errors: found.errors, ..Agents::default() };
    let mut transcripts = Vec::new();
    for (file, evidence) in read {
        match evidence {
            Ok(evidence) => transcripts.push((file, evidence)),
            Err(error) if error.is_outside() => {}
            Err(error) => {
                agents.errors.push(error);
                transcripts.push((file, Evidence::default()));
            }
        }
    }
    let files = MetadataReader::new(guard);
    let mut origins = Origins { is_live: is_live(engine, session), ..Origins::default() };
    origins.add(None, &main);
    for (file, evidence) in &transcripts {
        origins.add(file.agent.as_deref(), evidence);
    }
    let mut journals = HashMap::new();
    for (file, evidence) in &transcripts {
        let folder = file.path.parent().unwrap_or(&file.path);
        let journal = journals.entry(folder).or_insert_with(|| Journal::in_folder(folder, guard));
        agents.local.push(origins.agent(file, evidence, files.of_transcript(&file.path), journal));
    }
    agents.local.sort_by(|one, other| order(one).cmp(&order(other)));
    agents.remote = origins.remote_agents(session, &files);
    Ok(agents)
}

/// Returns the transcript of the session that an agent belongs to; any other transcript is that of its session.
fn session_of(file: &TranscriptFile) -> TranscriptFile {
    let session = file.agent.as_ref().and(file.session.as_deref());
    let paths = session.and_then(|session| SessionPaths::of_parent(&file.path, session));
    match paths {
        Some(paths) => {
            TranscriptFile { path: paths.transcript().to_owned(), session: file.session.clone(), agent: None }
        }
        None => file.clone(),
    }
}

/// Returns whether Claude Code has a session open.
fn is_live(engine: &Engine, session: &TranscriptFile) -> bool {
    session.session.as_ref().is_some_and(|id| engine.live_sessions().contains_key(id))
}

/// Agents are listed in the order in which they began; those without a time come last.
fn order(agent: &Subagent) -> (bool, Option<Timestamp>, &Path) {
    (agent.first_at.is_none(), agent.first_at, &agent.file.path)
}

/// What the transcripts of a session and of its agents say about the origin and the end of each agent. If several say
/// something, the session's own counts, then that of the first agent.
#[derive(Default)]
struct Origins<'a> {
    /// The agent that makes each call, and the call, by the id of the call.
    calls: HashMap<&'a str, (Option<&'a str>, &'a CallOrigin)>,
    /// How calls ended.
    results: HashMap<&'a str, State>,
    /// The call that started each agent.
    started: HashMap<&'a str, &'a str>,
    /// The last notification about each agent or call.
    notifications: HashMap<&'a str, AgentState>,
    /// Whether Claude Code has the session open.
    is_live: bool,
}

impl<'a> Origins<'a> {
    /// Adds what the transcript of an agent says, or of the session.
    fn add(&mut self, agent: Option<&'a str>, evidence: &'a Evidence) {
        for (call, origin) in &evidence.calls {
            self.calls.entry(call).or_insert((agent, origin));
        }
        for (call, state) in &evidence.results {
            self.results.entry(call).or_insert(*state);
        }
        for (agent, call) in &evidence.started {
            self.started.entry(agent).or_insert(call);
        }
        for (name, state) in &evidence.notifications {
            self.notifications.entry(name).or_insert(*state);
        }
    }

    /// Returns the agent that started an agent, and the uuid of the entry with the call, and adds to `meta` what the call says
    /// and the metadata does not.
    fn started_by(&self, call: Option<&str>, meta: &mut Meta) -> (Option<String>, Option<String>) {
        let Some((caller, origin)) = call.and_then(|call| self.calls.get(call)).copied() else {
            return (meta.parent_agent.clone(), None);
        };
        meta.agent_type = meta.agent_type.take().or_else(|| origin.agent_type.clone());
        meta.description = meta.description.take().or_else(|| origin.description.clone());
        (meta.parent_agent.clone().or_else(|| caller.map(str::to_owned)), origin.entry.clone())
    }

    /// Returns the agents of a session that run on another machine, by the names of their files.
    fn remote_agents(&self, session: &TranscriptFile, files: &MetadataReader<'_>) -> Vec<RemoteAgent> {
        let mut agents = Vec::new();
        for (id, path) in remote_agents(session) {
            let Some(metadata) = files.read(&path) else { continue };
            let mut meta = Meta::of(metadata.as_ref());
            let (parent, call_entry) = self.started_by(meta.tool_use_id.clone().as_deref(), &mut meta);
            agents.push(RemoteAgent { id, path, call_entry, parent, meta, metadata });
        }
        agents
    }

    fn agent(
        &self,
        file: &TranscriptFile,
        evidence: &Evidence,
        metadata: Option<Metadata>,
        journal: &Journal,
    ) -> Subagent {
        let id = file.agent.as_deref().unwrap_or_default();
        let mut meta = Meta::of(metadata.as_ref());
        let call = meta.tool_use_id.as_deref().or_else(|| self.started.get(id).copied()).map(str::to_owned);
        let (parent, call_entry) = self.started_by(call.as_deref(), &mut meta);
        let notification = self.notifications.get(id).or_else(|| self.notifications.get(call.as_deref()?));
        let state = state::decide(Signs {
            is_stopped_by_user: metadata.as_ref().is_some_and(|metadata| metadata.flag("stoppedByUser")),
            notification: notification.copied(),
            result: call.as_deref().and_then(|call| self.results.get(call)).copied(),
            is_finished: metadata.as_ref().is_some_and(|metadata| metadata.flag("finished")),
            journal: journal.state_of(id),
            ending: evidence.ending,
            is_live: self.is_live,
        });
        Subagent {
            group: group(&file.path),
            call,
            call_entry,
            parent,
            meta,
            metadata,
            state,
            entries: evidence.entries,
            size: evidence.size,
            first_at: evidence.first_at,
            last_at: evidence.last_at,
            usage: evidence.usage(),
            file: file.clone(),
        }
    }
}

/// Returns the folders between `subagents/` and a transcript.
fn group(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(path);
    let subagents =
        folder.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "subagents"));
    subagents.last().and_then(|top| folder.strip_prefix(top).ok()).map(Path::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests;
