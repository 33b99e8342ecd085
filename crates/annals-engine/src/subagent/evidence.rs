//! What one pass over a transcript finds out about agents: the calls that started them, what results and notifications say
//! about them, and how the transcript itself ends.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use annals_transcript::content::{Block, Content, ToolUse};
use annals_transcript::entry::view::{Assistant, Attachment, QueueOperation, ToolUseResult};
use annals_transcript::paths::workflow_journal;
use annals_transcript::prompt::{InputKind, in_text};
use annals_transcript::tool::{ResultStates, State};
use annals_transcript::turn::Tokens;
use annals_transcript::{Entry, Flag, Kind, Reader};
use jiff::Timestamp;

use super::metadata::open;
use super::state::{AgentState, Ending};
use crate::error::{Error, ErrorKind};
use crate::symlink_guard::SymlinkGuard;
use crate::usage::TokenCount;

/// What a transcript says about agents, and about the agent that it belongs to.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The number of entries.
    pub(super) entries: u64,
    /// The size of the file in bytes.
    pub(super) size: u64,
    /// The earliest time.
    pub(super) first_at: Option<Timestamp>,
    /// The latest time.
    pub(super) last_at: Option<Timestamp>,
    /// How it ends.
    pub(super) ending: Ending,
    /// The calls, by their ids.
    pub(super) calls: BTreeMap<String, CallOrigin>,
    /// How each call ended, by its id; not of calls that started something that continues.
    pub(super) results: BTreeMap<String, State>,
    /// The call that started each agent, by the id of the agent, according to results.
    pub(super) started: BTreeMap<String, String>,
    /// The last notification, by the id of the agent or of the call that it is about.
    pub(super) notifications: BTreeMap<String, AgentState>,
    tokens: TokenCount,
}

/// What the entry with a call says about the agent that the call starts.
#[derive(Debug, Default)]
pub(super) struct CallOrigin {
    /// The uuid of the entry.
    pub(super) entry: Option<String>,
    /// The kind of agent.
    pub(super) agent_type: Option<String>,
    /// The task of the agent, in a few words.
    pub(super) description: Option<String>,
}

impl CallOrigin {
    fn of(entry: &Entry<'_>, call: &ToolUse<'_>) -> Self {
        let starts_agents = matches!(call.name().as_deref(), Some("Task" | "Agent"));
        let input = call.input().filter(|_| starts_agents);
        let [agent_type, description] =
            ["subagent_type", "description"].map(|key| Some(input?.text(key)?.into_owned()));
        Self { entry: entry.head().id.map(|id| id.decode().into_owned()), agent_type, description }
    }
}

impl Evidence {
    /// Reads a transcript. With a guard, it is an error if the file is outside of the config folders.
    pub(super) fn read(path: &Path, guard: Option<&SymlinkGuard>) -> Result<Self, Error> {
        let Some(file) = open(path, guard).map_err(Error::reading(path))? else {
            return Err(Error::new(ErrorKind::Outside { session: path.to_string_lossy().into_owned() }));
        };
        let mut evidence = Self::default();
        let mut reader = Reader::new(file);
        while let Some(entry) = reader.read().map_err(Error::reading(path))? {
            evidence.add(&entry);
        }
        evidence.size = reader.position().offset;
        Ok(evidence)
    }

    /// Returns the tokens of all replies, each counted once.
    pub(super) fn usage(&self) -> Tokens {
        self.tokens.total()
    }

    fn add(&mut self, entry: &Entry<'_>) {
        if entry.kind() == Kind::Noise {
            return;
        }
        self.entries += 1;
        if let Some(time) = entry.head().time() {
            self.first_at = Some(self.first_at.map_or(time, |first| first.min(time)));
            self.last_at = Some(self.last_at.map_or(time, |last| last.max(time)));
        }
        match entry.kind() {
            Kind::Assistant => self.add_reply(entry),
            Kind::User => self.add_user(entry),
            Kind::QueueOperation | Kind::Attachment => self.add_news_of(entry),
            _ => {}
        }
    }

    fn add_reply(&mut self, entry: &Entry<'_>) {
        let Some(reply) = entry.view::<Assistant<'_>>() else { return };
        let mut makes_calls = false;
        for block in entry.content().blocks() {
            let Block::ToolUse(call) = block else { continue };
            makes_calls = true;
            if let Some(id) = call.id() {
                self.calls.entry(id.into_owned()).or_insert_with(|| CallOrigin::of(entry, &call));
            }
        }
        self.tokens.add(entry);
        self.ending = match reply.stop_reason() {
            _ if makes_calls => Ending::Calls,
            _ if entry.has(Flag::ApiError) => Ending::ApiError,
            Some(_) => Ending::Reply,
            None => Ending::PartOfReply,
        };
    }

    fn add_user(&mut self, entry: &Entry<'_>) {
        let mut has_results = false;
        let states = ResultStates::of(entry);
        let output = entry.tool_use_result();
        for block in entry.content().blocks() {
            let Block::ToolResult(result) = block else { continue };
            let Some(call) = result.tool_use_id() else { continue };
            if let Some(agent) = output.and_then(ToolUseResult::agent_id).filter(|_| !has_results) {
                self.started.entry(agent.into_owned()).or_insert_with(|| call.clone().into_owned());
            }
            if !only_starts(output) {
                self.results.entry(call.into_owned()).or_insert(states.get(&result));
            }
            has_results = true;
        }
        self.ending = Ending::Open;
        if !has_results {
            let text = entry.content().text();
            let inputs = in_text(&text);
            if inputs.iter().any(|input| input.kind == InputKind::Interrupt) {
                self.ending = Ending::Interrupt;
            }
            self.add_news(&text);
        }
    }

    /// Reads the notification in an entry that is not a message.
    fn add_news_of(&mut self, entry: &Entry<'_>) {
        // Most of these entries are long and have none.
        if memchr::memmem::find(entry.bytes(), b"task-notification").is_none() {
            return;
        }
        let queued = entry.view::<QueueOperation<'_>>().map(|queued| queued.content());
        let news = queued.or_else(|| Some(entry.view::<Attachment<'_>>()?.queued_command()?.prompt()));
        if let Some(content) = news {
            self.add_news(&Content::text(content));
        }
    }

    /// Reads the notifications that a text begins with.
    fn add_news(&mut self, text: &str) {
        for input in in_text(text) {
            if input.kind != InputKind::TaskNotification {
                continue;
            }
            let Some(state) = inside(&input.text, "status").and_then(AgentState::of_status) else { continue };
            for name in ["task-id", "tool-use-id"].into_iter().filter_map(|tag| inside(&input.text, tag)) {
                self.notifications.insert(name.to_owned(), state);
            }
        }
    }
}

/// Returns whether a result only says that something was started which continues by itself: a `status` other than `completed`.
fn only_starts(output: Option<ToolUseResult<'_>>) -> bool {
    let Some(ToolUseResult::Object(object)) = output else { return false };
    let status: Option<Cow<'_, str>> = object.text("status");
    object.flag("isAsync")
        || object.get("agentId").is_some() && status.is_some_and(|status| status != "completed")
}

/// Returns the text between the first tag of a name and its end.
fn inside<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
}

/// What the journal of a workflow says about its agents.
#[derive(Debug, Default)]
pub(super) struct Journal(HashMap<String, AgentState>);

impl Journal {
    /// Reads the journal in the folder of a workflow's agents. It is empty if there is none.
    pub(super) fn in_folder(folder: &Path, guard: Option<&SymlinkGuard>) -> Self {
        let mut states = HashMap::new();
        let Ok(Some(file)) = open(&workflow_journal(folder), guard) else { return Self::default() };
        let mut reader = Reader::new(file);
        while let Ok(Some(entry)) = reader.read() {
            let Some(line) = entry.body() else { continue };
            let (Some(kind), Some(agent)) = (line.text("type"), line.text("agentId")) else { continue };
            match &*kind {
                "result" => _ = states.insert(agent.into_owned(), AgentState::Done),
                "failed" => _ = states.insert(agent.into_owned(), AgentState::Failed),
                // The agent runs again.
                "started" => _ = states.remove(&*agent),
                _ => {}
            }
        }
        Self(states)
    }

    /// Returns how an agent ended.
    pub(super) fn state_of(&self, agent: &str) -> Option<AgentState> {
        self.0.get(agent).copied()
    }
}
