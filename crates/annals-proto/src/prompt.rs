//! Prompts that were typed: `annals prompts`.

use serde::{Deserialize, Serialize};

use crate::word::is_zero;

/// A prompt that was typed: a line of `annals prompts --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The text, as it was in the input.
    pub text: String,
    /// When it was sent.
    pub timestamp: Option<String>,
    /// The working directory.
    pub project: Option<String>,
    /// The session; old versions of Claude Code did not write it.
    pub session: Option<String>,
    /// What was pasted.
    pub pasted: Vec<Paste>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

/// Text or an image that was pasted into a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Paste {
    /// Its number in the prompt.
    pub id: String,
    /// What it is, as Claude Code wrote it: `text` or `image`.
    pub kind: Option<String>,
    /// The text, if Claude Code kept it.
    pub content: Option<String>,
}
