//! Searches and the index: `annals search`, `annals index`, `history/search`.

use serde::{Deserialize, Serialize};

use crate::word::{is_zero, words};

/// Parameters of `history/search`. Filters all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SearchParams {
    /// What to find: words, `"phrases"`, `-not`, `OR`, `prefix*`, and filters such as `tool:Bash`; or a pattern, see `match`.
    /// It may be empty if there are filters.
    pub query: String,
    /// How `query` is read; by default `words`.
    #[serde(rename = "match")]
    pub matching: Option<SearchMatch>,
    /// Only messages of this working directory, the folders in it and its worktrees; an absolute path.
    pub workspace_path: Option<String>,
    /// Only messages of these sessions: their ids, or the beginnings of ids.
    pub sessions: Option<Vec<String>>,
    /// Only calls of this tool, and their results.
    pub tool_name: Option<String>,
    /// Only calls that touched this file or folder, and their results.
    pub file_path: Option<String>,
    /// Only messages on this branch.
    pub branch: Option<String>,
    /// Only replies of models whose name contains this text.
    pub model: Option<String>,
    /// Only messages of this role.
    pub role: Option<SearchRole>,
    /// Only these parts of messages.
    #[serde(rename = "in")]
    pub fields: Option<Vec<SearchField>>,
    /// Whether to find only errors: results of calls that failed, and requests that failed.
    pub errors: Option<bool>,
    /// Only messages of this time or later: RFC 3339, or a day in UTC.
    pub date_from: Option<String>,
    /// Only messages before this time: RFC 3339, or a day in UTC, which is included.
    pub date_to: Option<String>,
    /// The order of hits; by default `relevance`, and `time` for patterns.
    pub sort: Option<SearchSort>,
    /// Whether hits are one list; otherwise those of a session stand together.
    pub flat: Option<bool>,
    /// The most hits of a session, unless they are one list: 3 by default, at most 20.
    pub per_session: Option<usize>,
    /// The most sessions, or hits in one list: 20 by default, at most 200.
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// How wide snippets are, in columns of a terminal: 160 by default, at most 500.
    pub snippet_width: Option<usize>,
    /// Whether hits have the number of their turn, which takes longer: the transcripts of the hits are read as a whole.
    pub turns: Option<bool>,
    /// Whether to first index what is new, if that is little; by default true.
    pub update: Option<bool>,
    /// The longest time that the search takes, in milliseconds: 60,000 by default and at most.
    pub max_time_ms: Option<u64>,
    /// The most bytes of transcripts that are read.
    pub max_bytes: Option<u64>,
    /// Whether text is sent without masked secrets; refused unless the server allows it. What is found does not depend on it,
    /// unless `query` is a pattern.
    pub reveal: Option<bool>,
}

words! {
    /// How a query is read.
    SearchMatch {
        /// As words and filters; the index answers.
        Words "words",
        /// As a regular expression, in the syntax of Rust's `regex`; all transcripts are read.
        Regex "regex",
        /// As a text that occurs exactly so; all transcripts are read.
        Fixed "fixed",
    }
}

words! {
    /// Whose messages are searched.
    SearchRole {
        /// The user: prompts and results of tools.
        User "user",
        /// The model.
        Assistant "assistant",
        /// Claude Code.
        System "system",
    }
}

words! {
    /// A part of a conversation.
    SearchField {
        /// What a person wrote.
        Prompt "prompt",
        /// What the model answered.
        Reply "reply",
        /// What the model thought.
        Thinking "thinking",
        /// The arguments and results of tool calls; only a filter.
        Tool "tool",
        /// The arguments of tool calls.
        Input "input",
        /// The results of tool calls.
        Output "output",
        /// The title of a session.
        Title "title",
        /// The summary of a compacted conversation.
        Summary "summary",
        /// A message of Claude Code itself.
        Notification "notification",
    }
}

words! {
    /// The order of hits.
    SearchSort {
        /// The best first: by words, by who said them, and by age.
        Relevance "relevance",
        /// The newest first.
        Time "time",
    }
}

words! {
    /// Which matches were ranked.
    SearchRanking {
        /// All of them.
        All "all",
        /// There are many, and only those that were indexed last were ranked.
        Newest "newest",
    }
}

words! {
    /// A limit that cut an answer.
    SearchLimit {
        /// `maxTimeMs`.
        Time "time",
        /// `maxBytes`.
        Bytes "bytes",
    }
}

/// Result of `history/search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The hits of this page, the best first. Those of one session follow each other, unless they are one list.
    pub hits: Vec<SearchHit>,
    /// How many parts of messages match.
    pub total: u64,
    /// How many sessions have them, as far as they were ranked.
    pub sessions: usize,
    /// Which matches were ranked.
    pub ranking: SearchRanking,
    /// What is not indexed yet, and so was not searched; absent if nothing is, or if the transcripts themselves were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// Whether there is no index yet, so that nothing was searched; absent if there is one.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_index: bool,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What was guessed or ignored in the query; absent if nothing was.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notices: Vec<String>,
    /// Words of the query that no message has, with those that may be meant; only if nothing was found.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub corrections: Vec<Correction>,
    /// The limit that cut the answer: there may be more hits, and the numbers may be too small. Absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<SearchLimit>,
    /// What could not be read; absent if everything could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
}

/// A part of a message that matches: also a line of `annals search --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session.
    pub session: Option<String>,
    /// The agent, if it is a message of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The message, by its uuid; titles have none.
    pub uuid: Option<String>,
    /// The number of its turn; null if that was not asked for, or if it belongs to none.
    pub turn: Option<usize>,
    /// Who wrote it.
    pub role: SearchRole,
    /// What it is in the conversation.
    pub field: SearchField,
    /// The tool that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether it is an error; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub error: bool,
    /// Whether the text stands in a file of its own beside the transcript, because it was too long for an entry; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub spilled: bool,
    /// When it was written.
    pub timestamp: Option<String>,
    /// How good the hit is: larger is better. It has no meaning beyond this answer.
    pub score: f64,
    /// A line of the text.
    pub snippet: String,
    /// What matches in `snippet`: pairs of the first character and the one behind the last, counted in Unicode characters.
    pub matches: Vec<(usize, usize)>,
    /// The title of the session.
    pub title: Option<String>,
    /// The working directory of the session, or else of the message.
    pub project_path: Option<String>,
    /// How many matches of the session were ranked.
    pub in_session: usize,
    /// In how many other transcripts the same message stands: copies and forks; absent if in none.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub copies: usize,
    /// Where else the same message stands, whatever sessions were asked for: up to 16 of these transcripts. Absent if nowhere.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also_in: Vec<SearchPlace>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

/// Another place of a message: a copy in a resumed session, or in a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchPlace {
    /// The session.
    pub session: Option<String>,
    /// The agent, if it is in the transcript of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The message there, by its uuid; forks have uuids of their own. Titles have none.
    pub uuid: Option<String>,
}

/// How much of the transcripts is not indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Behind {
    /// How many transcripts are new, longer, changed or gone.
    pub files: usize,
    /// How many of their bytes are not indexed.
    pub bytes: u64,
}

/// A word of a query that no message has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Correction {
    /// The word, in lower case and without accents.
    pub word: String,
    /// Words that may be meant, the best first.
    pub corrections: Vec<String>,
}

/// What the search index has, and what it lacks: `annals index status --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// Whether there is an index that can be searched.
    pub exists: bool,
    /// How many documents it has: parts of messages, each once.
    pub documents: u64,
    /// How many transcripts it has.
    pub files: usize,
    /// The size of its file in bytes.
    pub size: u64,
    /// What it lacks.
    pub behind: Behind,
    /// Its file.
    pub path: String,
}

/// What an update of the search index did: `annals index update --json` and `annals index rebuild --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexReport {
    /// How many documents are new.
    pub documents: u64,
    /// How many transcripts were read.
    pub files: usize,
    /// How many transcripts are gone.
    pub removed: usize,
    /// How many bytes were read.
    pub bytes: u64,
    /// Whether the index was rebuilt.
    pub rebuilt: bool,
    /// Whether everything was read.
    pub complete: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}
