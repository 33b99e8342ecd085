use serde::{Deserialize, Serialize};

use crate::Text;

/// A session: a line of `annals list --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub title: Option<String>,
    /// Where the title comes from: `custom`, `ai`, `summary`, `prompt` or `none`.
    pub title_source: String,
    /// The first words of a person.
    pub first_prompt: Option<String>,
    /// The first entry's time.
    pub created_at: Option<String>,
    /// The last entry's time.
    pub updated_at: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The name of the folder that it lies in.
    pub project_key: String,
    /// The path of its project.
    pub project_path: Option<String>,
    /// The branch that was checked out last.
    pub git_branch: Option<String>,
    /// The version of the client that wrote last.
    pub version: Option<String>,
    /// How the client was started.
    pub entrypoint: Option<String>,
    /// The permission mode that it was left in.
    pub permission_mode: Option<String>,
    /// The user's tag.
    pub tag: Option<String>,
    /// The session that it was forked from.
    pub forked_from: Option<String>,
    /// Whether it is in the client's archive.
    pub archived: bool,
    /// Whether a client has it open.
    pub live: bool,
    /// How many bytes its transcript has.
    pub size: u64,
    /// Its transcript; null if it is gone.
    pub path: Option<Text>,
    /// How many subagents have a transcript.
    pub subagents: u64,
    /// How many messages it has; null where only the ends of the file were read.
    pub messages: Option<u64>,
    /// Whether only the prompt history knows it; then times are those of its prompts.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub ghost: bool,
    /// Why it could not be read; then nothing is known of what is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it is no conversation, for files that `--all` lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_conversation: Option<String>,
}

/// A project: a line of `annals projects --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its path, as its sessions tell it.
    pub path: Option<String>,
    /// The names of the folders that its sessions lie in.
    pub keys: Vec<String>,
    /// How many sessions it has.
    pub sessions: usize,
    /// How many bytes their transcripts have.
    pub size: u64,
    /// When something was said last.
    pub updated_at: Option<String>,
    /// Other paths whose sessions lie in one of the same folders.
    pub shares_folder_with: Vec<String>,
    /// The repository that it is a worktree of.
    pub worktree_of: Option<String>,
}

/// A folder of the client: a line of `annals roots --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Its path.
    pub path: Text,
    /// How many projects it has.
    pub projects: usize,
    /// How many transcripts of sessions they have.
    pub sessions: usize,
    /// What could not be read.
    pub errors: Vec<String>,
}
