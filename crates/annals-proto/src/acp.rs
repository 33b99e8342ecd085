//! The Agent Client Protocol, version 1, as far as a keeper of histories speaks it.
//!
//! Names and meanings are the protocol's; what is ours stands in `_meta` under `annals`. Values that come from transcripts
//! are passed on as they are found, so they are raw JSON here.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::method::methods;
use crate::{InputKind, Session, ToolState};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u16 = 1;

/// The notification that says something of a session.
pub const UPDATE: &str = "session/update";

/// The notification by which a client stops what is being done for a session.
pub const CANCEL: &str = "session/cancel";

methods! {
    /// Agrees on a version and says what is possible.
    Initialize "initialize" reads,
    /// Nobody has to say who he is.
    Authenticate "authenticate" reads,
    /// Nobody is known.
    Logout "logout" reads,
    /// Lists sessions.
    List "session/list" reads,
    /// Tells everything that was said in a session, and what is said from now on.
    Load "session/load" reads,
    /// Tells what is said in a session from now on.
    Resume "session/resume" reads,
    /// Ends that.
    Close "session/close" reads,
    /// Moves a session to the trash.
    Delete "session/delete" changes,
    /// Begins a session: not here.
    New "session/new" reads,
    /// Asks the model: not here.
    Prompt "session/prompt" reads,
    /// Chooses a mode: not here.
    SetMode "session/set_mode" reads,
    /// Chooses an option: not here.
    SetConfigOption "session/set_config_option" reads,
}

/// Parameters of `initialize`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The newest version that the client speaks.
    pub protocol_version: u64,
    /// What the client can do.
    #[serde(default)]
    pub client_capabilities: serde_json::Value,
}

/// Parameters of `session/list`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Only sessions of exactly this working directory.
    pub cwd: Option<String>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// Parameters of `session/load` and `session/resume`. Servers of tools are of no use to a history.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenParams {
    /// The session.
    pub session_id: String,
    /// Its working directory.
    pub cwd: String,
}

/// Parameters of methods and notifications about one session.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    pub session_id: String,
}

/// Something for which there is nothing to say but that it can be done, or was.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Empty {}

/// The result of `initialize`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version that is spoken from now on.
    pub protocol_version: u16,
    /// What can be done here.
    pub agent_capabilities: AgentCapabilities,
    /// Who answers.
    pub agent_info: Implementation,
    /// How a client says who it is: it need not.
    pub auth_methods: [Empty; 0],
}

/// A program.
#[derive(Clone, Debug, Serialize)]
pub struct Implementation {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// What can be done here.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Whether `session/load` is answered.
    pub load_session: bool,
    /// What a prompt may have in it besides text.
    pub prompt_capabilities: PromptCapabilities,
    /// Which methods for sessions are answered besides.
    pub session_capabilities: SessionCapabilities,
}

/// What a prompt may have in it besides text.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptCapabilities {
    /// Images.
    pub image: bool,
    /// Sound.
    pub audio: bool,
    /// Files.
    pub embedded_context: bool,
}

/// Which methods for sessions are answered.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SessionCapabilities {
    /// `session/list`.
    pub list: Empty,
    /// `session/resume`.
    pub resume: Empty,
    /// `session/close`.
    pub close: Empty,
    /// `session/delete`; not where nothing may be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<Empty>,
}

/// The result of `session/list`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The sessions, the last active first.
    pub sessions: Vec<SessionInfo>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A session in a list.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its id.
    pub session_id: String,
    /// The working directory in which the client would resume it: an absolute path.
    pub cwd: String,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When something was said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// What `history/list` says of it.
    #[serde(rename = "_meta")]
    pub meta: Meta<Session>,
}

/// What is ours in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Meta<T> {
    /// What it is.
    pub annals: T,
}

/// The result of `session/load` and `session/resume`.
#[derive(Clone, Debug, Serialize)]
pub struct OpenResult {
    /// Where in the transcript the following begins.
    #[serde(rename = "_meta")]
    pub meta: Meta<Opened>,
}

/// How a session was opened.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Opened {
    /// Everything before this place in the transcript was told, or was not asked for; everything behind it will be told.
    pub offset: u64,
    /// How many subagents have a transcript of their own, which `history/read` does not mix in either.
    pub subagents: u64,
}

/// Parameters of `session/update`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateParams<'a> {
    /// The session, as the client has named it.
    pub session_id: &'a str,
    /// What is said of it.
    pub update: Update,
}

/// What is said of a session.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub enum Update {
    /// A piece of what the user said.
    UserMessageChunk(Chunk),
    /// A piece of what the agent said.
    AgentMessageChunk(Chunk),
    /// A piece of what the agent thought.
    AgentThoughtChunk(Chunk),
    /// The agent called a tool.
    ToolCall(ToolCall),
    /// Something came of a call.
    ToolCallUpdate(ToolCall),
    /// What the agent means to do.
    Plan(Plan),
    /// What the session is called, and when something was said last.
    SessionInfoUpdate(InfoUpdate),
    /// How much of the model's context is taken.
    UsageUpdate(UsageUpdate),
    /// The conversation was compacted.
    CompactionUpdate(CompactionUpdate),
    /// A piece of the summary that stands for what was compacted away.
    CompactionSummaryChunk(CompactionSummaryChunk),
}

/// A piece of a message.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// What it says.
    pub content: ContentBlock,
    /// The message that it is a piece of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Where it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// Where something that is told comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// What it is, if it is not just what a person typed or a model answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputKind>,
    /// The agent of a team that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teammate_id: Option<String>,
    /// Whether it is the summary that stands for what was compacted away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// The subagent that the call started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// How the call ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ToolState>,
    /// Whether something was too long to be told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Something that can be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The image in base64.
        data: String,
        /// What kind of image it is.
        mime_type: String,
    },
    /// Something that lies elsewhere.
    ResourceLink {
        /// What it is called.
        name: String,
        /// Where it lies.
        uri: String,
    },
}

/// A call of a tool, or what is new about it: then what is left out is as before.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The call.
    pub tool_call_id: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What kind of tool that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// What it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    /// The files that it touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// Its arguments as they stand in the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Box<RawValue>>,
    /// What it returned, as it stands in the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Box<RawValue>>,
    /// Where it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// What kind of tool is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Removes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches.
    Search,
    /// Runs commands.
    Execute,
    /// Thinks, plans, has others think.
    Think,
    /// Gets something from elsewhere.
    Fetch,
    /// Goes into another mode.
    SwitchMode,
    /// Anything else.
    Other,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Nothing has come of it yet.
    InProgress,
    /// The tool did its work.
    Completed,
    /// It failed, or was stopped or forbidden.
    Failed,
}

/// What a call shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolContent {
    /// Text or an image.
    Content {
        /// What it is.
        content: ContentBlock,
    },
    /// A change of a file.
    Diff {
        /// The file: an absolute path.
        path: String,
        /// What stood there; none if nothing is known to have stood there.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// What stands there now.
        new_text: String,
    },
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file: an absolute path.
    pub path: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// What the agent means to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// One thing after another.
    pub entries: Vec<PlanEntry>,
}

/// One thing that the agent means to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanEntry {
    /// What it is.
    pub content: String,
    /// How much it matters: transcripts do not say.
    pub priority: &'static str,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far one thing of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// What a session is called, and when something was said last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InfoUpdate {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When something was said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// What happened to its transcript.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta<Fate>>,
}

/// What happened to a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fate {
    /// It was replaced or cut off: what was told may not be true any more. Load the session again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
    /// It is not there any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// How much of the model's context is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UsageUpdate {
    /// How many tokens.
    pub used: u64,
    /// Of how many. Transcripts do not say, so it is what the model usually has.
    pub size: u64,
}

/// The conversation was compacted.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionUpdate {
    /// The compaction.
    pub compaction_id: String,
    /// How far it is.
    pub status: &'static str,
    /// Where it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// A piece of the summary that stands for what was compacted away.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryChunk {
    /// The compaction.
    pub compaction_id: String,
    /// What it says.
    pub content: ContentBlock,
    /// Where it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// What an error says to programs where something has to be done elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// Always `history-only`.
    pub reason: &'static str,
    /// The command that does it, word by word.
    pub command: Vec<String>,
    /// The folder to run it in, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}
