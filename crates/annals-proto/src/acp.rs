//! The Agent Client Protocol, version 1, as far as a server of histories needs it.
//!
//! Names and meanings are the protocol's; additions of annals are in `_meta` under `annals`. Values from transcripts are
//! passed on unchanged, so they are raw JSON here.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::method::methods;
use crate::word::is_zero;
use crate::{InputKind, Session, ToolState};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u16 = 1;

/// The notification about what happens in a session.
pub const UPDATE: &str = "session/update";

/// The notification by which an editor stops the work on a session.
pub const CANCEL: &str = "session/cancel";

methods! {
    /// Negotiates the version and returns the capabilities.
    Initialize "initialize" reads,
    /// Succeeds: no authentication is needed.
    Authenticate "authenticate" reads,
    /// Succeeds: there is no login.
    Logout "logout" reads,
    /// Lists sessions.
    List "session/list" reads,
    /// Replays a session from its start, and then follows it.
    Load "session/load" reads_session,
    /// Follows a session without replaying it.
    Resume "session/resume" reads,
    /// Stops following a session.
    Close "session/close" reads,
    /// Moves a session to the trash.
    Delete "session/delete" changes,
    /// Starts a session: only with an agent program.
    New "session/new" reads,
    /// Sends a prompt to the model: only with an agent program.
    Prompt "session/prompt" reads,
    /// Sets a mode: only with an agent program.
    SetMode "session/set_mode" reads,
    /// Sets an option: only with an agent program.
    SetConfigOption "session/set_config_option" reads,
}

/// Parameters of `initialize`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The newest version that the editor supports.
    pub protocol_version: u64,
    /// The capabilities of the editor.
    #[serde(default)]
    pub client_capabilities: serde_json::Value,
}

/// Parameters of `session/list`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Only sessions of exactly this working directory.
    pub cwd: Option<String>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// What the client asks of annals alone.
    #[serde(rename = "_meta")]
    pub meta: Option<RequestMeta>,
}

/// Parameters of `session/load` and `session/resume`. MCP servers are ignored, because a history runs no tools.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenParams {
    /// The session.
    pub session_id: String,
    /// Its working directory.
    pub cwd: String,
    /// What the client asks of annals alone.
    #[serde(rename = "_meta")]
    pub meta: Option<RequestMeta>,
}

/// `_meta` of a request; other members are ignored.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct RequestMeta {
    /// What the client asks of annals alone.
    pub annals: Option<RequestOptions>,
}

/// What a client asks of annals alone.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct RequestOptions {
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

impl RequestMeta {
    /// Returns what a request says about masked secrets.
    pub fn reveal(meta: Option<Self>) -> Option<bool> {
        meta?.annals?.reveal
    }
}

/// Parameters of methods and notifications about one session.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    pub session_id: String,
}

/// An empty object: a capability, or a result without content.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Empty {}

/// The result of `initialize`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The negotiated version.
    pub protocol_version: u16,
    /// The capabilities of this server.
    pub agent_capabilities: AgentCapabilities,
    /// The name and version of this server.
    pub agent_info: Implementation,
    /// Ways to authenticate: always empty, because none is needed.
    pub auth_methods: [Empty; 0],
}

/// The name and version of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Implementation {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// The capabilities of this server.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Whether `session/load` is answered.
    pub load_session: bool,
    /// What a prompt may contain besides text.
    pub prompt_capabilities: PromptCapabilities,
    /// Which other methods of sessions are answered.
    pub session_capabilities: SessionCapabilities,
}

/// What a prompt may contain besides text.
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

/// Which methods of sessions are answered.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SessionCapabilities {
    /// `session/list`.
    pub list: Empty,
    /// `session/resume`.
    pub resume: Empty,
    /// `session/close`.
    pub close: Empty,
    /// `session/delete`; absent on a read-only server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<Empty>,
}

/// The result of `session/list`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The sessions, most recently active first.
    pub sessions: Vec<SessionInfo>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A session in a list.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its id.
    pub session_id: String,
    /// The working directory in which Claude Code would resume it: an absolute path.
    pub cwd: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was last active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// The session as `history/list` returns it.
    #[serde(rename = "_meta")]
    pub meta: Meta<Session>,
}

/// The additions of annals to a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Meta<T> {
    /// The addition.
    pub annals: T,
}

/// The result of `session/load` and `session/resume`.
#[derive(Clone, Debug, Serialize)]
pub struct OpenResult {
    /// The state of the session when it was opened.
    #[serde(rename = "_meta")]
    pub meta: Meta<OpenState>,
}

/// The state of a session when it was opened.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OpenState {
    /// The offset in the transcript at which following starts: updates about entries after it are sent as they are appended.
    pub offset: u64,
    /// How many subagents have a transcript of their own, which is not replayed.
    pub subagents: u64,
}

/// Parameters of `session/update`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateParams<'a> {
    /// The session, by the id that the editor used.
    pub session_id: &'a str,
    /// The update.
    pub update: Update,
}

/// An update about a session.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub enum Update {
    /// A piece of a message of the user.
    UserMessageChunk(Chunk),
    /// A piece of a message of the agent.
    AgentMessageChunk(Chunk),
    /// A piece of the thinking of the agent.
    AgentThoughtChunk(Chunk),
    /// The agent called a tool.
    ToolCall(ToolCall),
    /// News of a tool call, such as its result.
    ToolCallUpdate(ToolCall),
    /// The plan of the agent.
    Plan(Plan),
    /// The title of the session, and when it was last active.
    SessionInfoUpdate(InfoUpdate),
    /// How much of the context of the model is used.
    UsageUpdate(UsageUpdate),
    /// The conversation was compacted.
    CompactionUpdate(CompactionUpdate),
    /// A piece of the summary that replaces the messages before a compaction.
    CompactionSummaryChunk(CompactionSummaryChunk),
}

/// A piece of a message.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// The content.
    pub content: ContentBlock,
    /// The message that it is a piece of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The entry that it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// The entry that an update comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The uuid of the entry.
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
    /// Whether it is the summary that replaces the messages before a compaction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// The subagent that the call started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// How the call ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ToolState>,
    /// Whether parts of it were left out because they are too long.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// How many values were masked in the entry, because they look like secrets.
    #[serde(skip_serializing_if = "is_zero")]
    pub masked: usize,
}

/// A block of content.
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
        /// Its media type.
        mime_type: String,
    },
    /// A link to content elsewhere.
    ResourceLink {
        /// Its name.
        name: String,
        /// Its address.
        uri: String,
    },
}

/// A tool call, or an update of one, in which absent fields are unchanged.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call.
    pub tool_call_id: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What kind of tool it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Whether it has ended, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// The content to show for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    /// The files that it touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// Its arguments as they are in the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Box<RawValue>>,
    /// Its result as it is in the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Box<RawValue>>,
    /// The entry that it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// What kind of tool a call uses.
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
    /// Thinks, plans or delegates.
    Think,
    /// Fetches data from elsewhere.
    Fetch,
    /// Switches the mode.
    SwitchMode,
    /// Anything else.
    Other,
}

/// Whether a call has ended, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// There is no result yet.
    InProgress,
    /// The tool succeeded.
    Completed,
    /// It failed, or was interrupted or denied.
    Failed,
}

/// Content to show for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolContent {
    /// Text or an image.
    Content {
        /// The content.
        content: ContentBlock,
    },
    /// A change of a file.
    Diff {
        /// The file: an absolute path.
        path: String,
        /// The old text; absent if there was none or it is unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// The new text.
        new_text: String,
    },
}

/// A file, and a line in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file: an absolute path.
    pub path: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The plan of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The steps, in order.
    pub entries: Vec<PlanEntry>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// Always `medium`, because transcripts have no priorities.
    pub priority: &'static str,
    /// Whether it is done.
    pub status: PlanStatus,
}

/// Whether a step of a plan is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not started.
    Pending,
    /// Started.
    InProgress,
    /// Done.
    Completed,
}

/// The title of a session, and when it was last active.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InfoUpdate {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was last active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// What happened to its transcript.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta<Fate>>,
}

/// What happened to a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fate {
    /// It was replaced or truncated: earlier updates no longer hold. The editor should load the session again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
    /// It was removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// How much of the context of the model is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UsageUpdate {
    /// The tokens in use.
    pub used: u64,
    /// The size of the context in tokens. It is not in transcripts, so this is the usual size of the model.
    pub size: u64,
}

/// The conversation was compacted.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionUpdate {
    /// The id of the compaction.
    pub compaction_id: String,
    /// Always `completed`.
    pub status: &'static str,
    /// The entry that it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// A piece of the summary that replaces the messages before a compaction.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryChunk {
    /// The id of the compaction.
    pub compaction_id: String,
    /// What it says.
    pub content: ContentBlock,
    /// The entry that it comes from.
    #[serde(rename = "_meta")]
    pub meta: Meta<Origin>,
}

/// The data of an error about an operation that another program has to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// Always `history-only`.
    pub reason: &'static str,
    /// The command that does it, as a list of arguments.
    pub command: Vec<String>,
    /// The folder to run it in, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}
