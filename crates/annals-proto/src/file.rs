//! Files that sessions changed, and their versions: `annals files`, `history/files`.

use serde::{Deserialize, Serialize};

use crate::word::words;

/// A file that a session changed: a line of `annals files SESSION --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Its path. One that was recorded relative to the working directory of the session is joined with it.
    pub path: String,
    /// How many tool calls of the session and its subagents changed it; calls that failed do not count.
    pub edits: u64,
    /// When a tool changed it last.
    pub last_edit_at: Option<String>,
    /// Its versions, in the order in which they were recorded.
    pub versions: Vec<FileVersion>,
}

/// A version of a file, as a snapshot of Claude Code records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileVersion {
    /// The number that Claude Code gave to it.
    pub version: u64,
    /// When it was recorded.
    pub time: Option<String>,
    /// The message of the first snapshot that has it: the file had this content when the message was sent.
    pub message_id: Option<String>,
    /// What is left of it.
    pub backup: BackupState,
    /// The size of the backup in bytes; null if there is none.
    pub size: Option<u64>,
}

words! {
    /// What is left of a version of a file.
    BackupState {
        /// A copy of the file.
        Kept "kept",
        /// Nothing, because the file did not exist.
        NoFile "no_file",
        /// Nothing: the copy is gone.
        Missing "missing",
        /// The transcript names something that is not a file in the backup folder; it is not opened.
        Refused "refused",
    }
}

/// A file and a session that changed it: a line of `annals files --file PATH --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileInSession {
    /// The session.
    pub session: String,
    /// The title of the session.
    pub title: Option<String>,
    /// The file.
    #[serde(flatten)]
    pub file: ChangedFile,
}

/// A restored file: the result of `annals files SESSION --at UUID --restore PATH --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoredFile {
    /// The file, as the session names it.
    pub path: String,
    /// The version that was restored.
    pub version: u64,
    /// Where it was written.
    pub output: crate::Text,
    /// How many bytes it has.
    pub size: u64,
    /// Whether anything was written; false if the file had this content already.
    pub written: bool,
}
