//! The parts of a conversation that are searched.

/// What a searched text is in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// What a person wrote.
    Prompt,
    /// What the model answered.
    Reply,
    /// What the model thought.
    Thinking,
    /// The arguments of a tool call.
    ToolInput,
    /// The result of a tool call.
    ToolOutput,
    /// The title of a session.
    Title,
    /// The summary of a compacted conversation.
    Summary,
    /// A message of Claude Code itself.
    Notification,
}

impl Part {
    /// Returns the word that `in:` takes for this part alone.
    pub fn word(self) -> &'static str {
        Self::NAMES.iter().find(|(_, parts)| **parts == [self]).map_or("", |(word, _)| word)
    }

    /// The words that `in:` takes, and the parts that each selects.
    pub(crate) const NAMES: [(&'static str, &'static [Part]); 9] = [
        ("prompt", &[Part::Prompt]),
        ("reply", &[Part::Reply]),
        ("thinking", &[Part::Thinking]),
        ("tool", &[Part::ToolInput, Part::ToolOutput]),
        ("input", &[Part::ToolInput]),
        ("output", &[Part::ToolOutput]),
        ("title", &[Part::Title]),
        ("summary", &[Part::Summary]),
        ("notification", &[Part::Notification]),
    ];
}
