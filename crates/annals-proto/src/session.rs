//! Sessions, projects and config folders: `annals list`, `projects`, `roots`.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::{is_zero, words};

/// A session: a line of `annals list --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the JSON")]
pub struct Session {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Where the title comes from.
    pub title_source: TitleSource,
    /// The first text that a person typed.
    pub first_prompt: Option<String>,
    /// The time of its first entry.
    pub created_at: Option<String>,
    /// The time of its last entry.
    pub updated_at: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The name of its folder below `projects/`.
    pub project_key: String,
    /// The path of its project.
    pub project_path: Option<String>,
    /// The git branch that was checked out last.
    pub git_branch: Option<String>,
    /// The version of Claude Code that wrote its last entry.
    pub version: Option<String>,
    /// How Claude Code was started, as it wrote it.
    pub entrypoint: Option<String>,
    /// Its last permission mode, as Claude Code wrote it.
    pub permission_mode: Option<String>,
    /// The user's tag.
    pub tag: Option<String>,
    /// The session that it was forked from.
    pub forked_from: Option<String>,
    /// Whether it is in the archive of Claude Code.
    pub archived: bool,
    /// Whether Claude Code has it open.
    pub live: bool,
    /// How many processes of Claude Code have it open, if there are several: their messages may end up in different branches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub writers: Option<usize>,
    /// The size of its transcript in bytes.
    pub size: u64,
    /// The path of its transcript; null if there is none.
    pub path: Option<Text>,
    /// How many of its subagents have a transcript.
    pub subagents: u64,
    /// How many messages it has; null if only the head and the tail of the file were read.
    pub messages: Option<u64>,
    /// How many prompts are in its queue and were not sent; absent if only the head and the tail of the file were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// Whether its file is so large that a part of it was not read, which may have another title, branch or time.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub partial: bool,
    /// Whether only the prompt history mentions it; then its times are those of its prompts.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub ghost: bool,
    /// Why it could not be read; then the fields about its content are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it is not a conversation, in words; only with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_conversation: Option<String>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

words! {
    /// Where the title of a session comes from.
    TitleSource {
        /// The user or a program named the session.
        Custom "custom",
        /// A model named it.
        Ai "ai",
        /// A summary of the session, written by old versions of Claude Code.
        Summary "summary",
        /// The first prompt stands in for a title.
        Prompt "prompt",
        /// The first reply of the model stands in for a title, because there is no prompt.
        Reply "reply",
        /// There is no title.
        None "none",
    }
}

/// A project: a line of `annals projects --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its path, as its sessions name it.
    pub path: Option<String>,
    /// The names of the folders with its sessions.
    pub keys: Vec<String>,
    /// How many sessions it has.
    pub sessions: usize,
    /// The size of their transcripts in bytes.
    pub size: u64,
    /// When one of its sessions was last active.
    pub updated_at: Option<String>,
    /// Other projects whose sessions are in one of the same folders.
    pub shares_folder_with: Vec<String>,
    /// The repository that it is a worktree of.
    pub worktree_of: Option<String>,
}

/// A config folder of Claude Code: a line of `annals roots --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Its path.
    pub path: Text,
    /// How many projects it has.
    pub projects: usize,
    /// How many sessions they have.
    pub sessions: usize,
    /// What could not be read.
    pub errors: Vec<String>,
}
