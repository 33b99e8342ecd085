use serde::{Deserialize, Serialize};

/// A prompt that was typed: a line of `annals prompts --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The words, as they stood in the input.
    pub text: String,
    /// When it was sent.
    pub timestamp: Option<String>,
    /// The working directory.
    pub project: Option<String>,
    /// The session; old lines name none.
    pub session: Option<String>,
    /// What was pasted.
    pub pasted: Vec<Pasted>,
}

/// Something pasted into a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Pasted {
    /// Its number in the prompt.
    pub id: String,
    /// What it is: `text`, `image`.
    pub kind: Option<String>,
    /// The text, if it is kept.
    pub content: Option<String>,
}
