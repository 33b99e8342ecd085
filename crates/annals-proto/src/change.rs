//! What changes of sessions did: copies, titles, the trash.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::{is_zero, words};

/// The result of an operation that changes a session, or would change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangeResult {
    /// What was done.
    pub done: Operation,
    /// Whether nothing was changed, and this is what would be done.
    pub dry_run: bool,
    /// The session.
    pub session: Option<String>,
    /// The path of the transcript; for a deleted session, where it was.
    pub path: Text,
    /// Its new title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its new tag; empty if the tag was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The uuid of the entry that was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// How many entries the session has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<usize>,
    /// The entry of the trash: the one that a deleted or replaced session was moved to, or the one that was restored or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The entry of the trash that holds the transcript which a restored one has replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Whether it was removed permanently.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub purged: bool,
    /// Files and folders that were moved or removed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub moved: Vec<Text>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

words! {
    /// What was done to a session: the name of the command.
    Operation {
        /// It has a new title.
        Rename "rename",
        /// It has a new tag, or none.
        Tag "tag",
        /// It was moved to the archive of Claude Code.
        Archive "archive",
        /// It was moved out of the archive of Claude Code.
        Unarchive "unarchive",
        /// One entry was removed from it.
        Tombstone "tombstone",
        /// Its transcript was replaced by a log from elsewhere.
        Hydrate "hydrate",
        /// It was moved to the trash, or removed permanently.
        Delete "delete",
        /// It was restored from the trash.
        Restore "restore",
    }
}

/// A new session that is a copy of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForkResult {
    /// The new session.
    pub session: String,
    /// The path of its transcript.
    pub path: Text,
    /// Its title.
    pub title: String,
    /// The session that it was copied from.
    pub forked_from: Option<String>,
    /// How many entries were copied.
    pub entries: usize,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

/// An entry of the trash, which is a session as it was when it was deleted: a line of `annals restore --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TrashEntry {
    /// The session.
    pub session: String,
    /// The id of the entry among those of the session; ids sort by time.
    pub entry: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was deleted.
    pub deleted_at: String,
    /// The working directory of the session, if it is known.
    pub project: Option<Text>,
    /// Its size in bytes, side files included.
    pub size: u64,
    /// Where its transcript was.
    pub path: Text,
    /// Whether deleting or restoring it was interrupted, or is still running. The next operation that changes the session
    /// puts its files back.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub interrupted: bool,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}
