use serde::{Deserialize, Serialize};

use crate::Text;

/// A session that was changed, or would be: `rename`, `tag`, `archive`, `unarchive`, `tombstone`, `hydrate`, `delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// What was done: the name of the command.
    pub done: String,
    /// Whether it was only said what would be done.
    pub dry_run: bool,
    /// The session.
    pub session: Option<String>,
    /// The transcript; for a deleted session, where it was.
    pub path: Text,
    /// Its new title, if it was given one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its new tag, if it was given one; empty if the old one was taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The entry that was taken out.
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
}

/// A fork that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Forked {
    /// The new session.
    pub session: String,
    /// Its transcript.
    pub path: Text,
    /// Its title.
    pub title: String,
    /// The session that it was copied from.
    pub forked_from: Option<String>,
    /// How many entries were copied.
    pub entries: usize,
}

/// An entry of the trash, a session as it was deleted at one time: a line of `annals restore --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Trashed {
    /// The session.
    pub session: String,
    /// Which of the session's entries it is; the ids of later ones sort behind those of earlier ones.
    pub entry: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was deleted.
    pub deleted_at: String,
    /// The working directory that it is about, if that is known.
    pub project: Option<Text>,
    /// How many bytes it has, with all that belongs to it.
    pub size: u64,
    /// Where its transcript was.
    pub path: Text,
    /// Whether deleting or restoring it was interrupted, or is going on right now. The next operation that changes the session
    /// puts its files back.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub interrupted: bool,
}
