//! What a viewer of one session is sent: rows, and the typed nodes that they are made of. Nothing in them is markup; a viewer
//! builds its own elements from them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::word::{is_zero, words};
use crate::{Compaction, Tokens, ToolState};

/// Text inside a paragraph: plain text, or text with a meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ViewInline {
    /// Plain text.
    Text(String),
    /// Text with a meaning.
    Mark(ViewMark),
}

/// Text with a meaning inside a paragraph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "t", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ViewMark {
    /// Important text.
    Strong {
        /// Its content.
        c: Vec<ViewInline>,
    },
    /// Emphasised text.
    Em {
        /// Its content.
        c: Vec<ViewInline>,
    },
    /// Text that was struck out.
    Del {
        /// Its content.
        c: Vec<ViewInline>,
    },
    /// Code: one text.
    Code {
        /// Its content.
        c: Vec<ViewInline>,
    },
    /// A link. Its scheme is `http`, `https` or `mailto`; links with another scheme are sent as their words alone.
    Link {
        /// The address.
        href: String,
        /// Its content.
        c: Vec<ViewInline>,
    },
    /// A line break.
    Br,
}

/// A piece of a line: plain text, or a class and a text.
///
/// Classes of code: `kw`, `str`, `com`, `num`, `fn`, `type`, `lit`, `var`, `key`, `tag`, `add`, `del`, `hd`. Classes of terminal output, several of
/// them with spaces between: `b`, `dim`, `i`, `u`, `inv`, `st`, `fg0` to `fg15`, `bg0` to `bg15`. In diffs, `ch` marks what differs inside a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ViewSpan {
    /// Plain text.
    Text(String),
    /// A class and a text.
    Marked(Cow<'static, str>, String),
}

impl ViewSpan {
    /// Returns the text.
    pub fn text(&self) -> &str {
        match self {
            ViewSpan::Text(text) | ViewSpan::Marked(_, text) => text,
        }
    }
}

/// A block of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "t", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ViewNode {
    /// A paragraph.
    P {
        /// Its content.
        c: Vec<ViewInline>,
    },
    /// A heading.
    H {
        /// Its level, from 1 to 6.
        level: u8,
        /// Its content.
        c: Vec<ViewInline>,
    },
    /// A line between two parts of a text.
    Hr,
    /// A list.
    List {
        /// The number of the first item of an ordered list.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        start: Option<u64>,
        /// The items.
        items: Vec<Vec<ViewNode>>,
        /// Of a task list: whether each item is done; null for an item that is no task.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        done: Vec<Option<bool>>,
    },
    /// A quotation.
    Quote {
        /// Its content.
        c: Vec<ViewNode>,
    },
    /// A table. Every row has as many cells as the head.
    Table {
        /// How each column is aligned.
        align: Vec<ViewAlign>,
        /// The cells of the head.
        head: Vec<Vec<ViewInline>>,
        /// The cells of each row.
        rows: Vec<Vec<Vec<ViewInline>>>,
    },
    /// Code, line by line.
    Code {
        /// Its language, as it was written or as the name of the file tells it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        lang: Option<String>,
        /// The lines.
        lines: Vec<Vec<ViewSpan>>,
        /// The number of the first line, if lines are numbered.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        first: Option<u64>,
    },
    /// Output for a terminal, line by line.
    Ansi {
        /// The lines.
        lines: Vec<Vec<ViewSpan>>,
    },
    /// A change of a file.
    Diff {
        /// The file.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        path: Option<String>,
        /// How many lines were added.
        added: usize,
        /// How many lines were removed.
        removed: usize,
        /// The places that differ.
        hunks: Vec<ViewHunk>,
    },
    /// JSON with line breaks and indentation.
    Json {
        /// The JSON.
        text: String,
    },
    /// Plain text whose white space counts.
    Text {
        /// The text.
        text: String,
    },
    /// Names and values.
    Kv {
        /// Each name with its value.
        rows: Vec<(String, Vec<ViewInline>)>,
    },
    /// An image, whose bytes `history/part` sends.
    Image {
        /// Its media type: `image/png`.
        media: String,
        /// Its size in bytes.
        bytes: u64,
        /// The part of the row that it is.
        part: usize,
        /// Its width in pixels, if the file says so.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        width: Option<u32>,
        /// Its height in pixels, if the file says so.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        height: Option<u32>,
    },
    /// A remark of annals, such as that something is not in the file.
    Note {
        /// What it is about, in one word.
        kind: String,
        /// The remark.
        c: Vec<ViewInline>,
    },
    /// Something was left out here; `history/part` sends it.
    More {
        /// How many lines are left out.
        lines: usize,
        /// About how many bytes are left out.
        bytes: usize,
        /// The part of the row that has them.
        part: usize,
        /// The first line of the part that is left out, from 0.
        from: usize,
    },
}

words! {
    /// How a column of a table is aligned.
    ViewAlign {
        /// As the reader's language does.
        None "",
        /// Left.
        Left "l",
        /// Centre.
        Centre "c",
        /// Right.
        Right "r",
    }
}

/// A place where two versions of a file differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ViewHunk {
    /// The number of its first line in the old version; 0 if that is not known.
    pub old: u64,
    /// The number of its first line in the new version; 0 if that is not known.
    pub new: u64,
    /// Its lines.
    pub lines: Vec<ViewDiffLine>,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ViewDiffLine {
    /// Which versions have it.
    pub k: ViewChange,
    /// Its text.
    pub s: Vec<ViewSpan>,
}

words! {
    /// Which versions have a line of a diff.
    ViewChange {
        /// Both.
        Same " ",
        /// The new one.
        Added "+",
        /// The old one.
        Removed "-",
    }
}

words! {
    /// What a row is.
    ViewRowKind {
        /// What a person typed, with its images.
        Prompt "u",
        /// Text of the model.
        Reply "a",
        /// Reasoning of the model.
        Thinking "t",
        /// A call of a tool with its result.
        Call "c",
        /// What is shown folded: output of commands, notifications, hooks, messages of other agents, failed requests.
        Notice "n",
        /// What Claude Code added for the model: reminders, attachments, injected text.
        Context "x",
        /// The conversation was compacted.
        Compaction "k",
        /// Entries follow that are not on the live conversation.
        Branch "b",
        /// The parent of the next entry is not in the file.
        Gap "g",
        /// The next entry has no parent although others come before it.
        Root "o",
        /// A line from which no entry could be read.
        Damage "d",
        /// A record without text for people.
        Record "r",
        /// Nothing happened for half an hour or longer.
        Idle "i",
    }
}

/// One row of a session: a part of an entry, or a mark between entries. A call and its result are one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ViewRow {
    /// Its number, from 0.
    pub row: usize,
    /// What it is.
    pub kind: ViewRowKind,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uuid: Option<String>,
    /// The line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u64>,
    /// The number of its turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn: Option<usize>,
    /// When the entry was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timestamp: Option<String>,
    /// The model, in the first row of a reply.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// The tokens of the reply, in the first row of each of its lines. Lines of one reply repeat them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Tokens>,
    /// What it says, in one line of at most 200 characters.
    pub summary: String,
    /// Whether it belongs to the live conversation.
    pub live: bool,
    /// How many values were masked in it, because they look like secrets.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
    /// The call of a tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<ViewTool>,
    /// Its content, if the row is open. Prompts and replies always are.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nodes: Option<Vec<ViewNode>>,
    /// The arguments of a call, if the row is open.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub input: Option<Vec<ViewNode>>,
    /// The result of a call, if the row is open.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output: Option<Vec<ViewNode>>,
    /// What a compaction did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub compaction: Option<Compaction>,
    /// How long nothing happened.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle_ms: Option<u64>,
    /// One word that tells more: the kind of an input (`prompt`, `command`, `hook` …), why there is a second root, what is wrong with
    /// a line, the type of a record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<String>,
    /// Of a gap, the missing entry; of a branch, the entry that it leaves from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// Of a branch, its last entry.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leaf: Option<String>,
    /// Of a branch, how many entries it has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entries: Option<usize>,
}

/// The call of a tool in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ViewTool {
    /// The id of the call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// The name of the tool; `server › tool` for a tool of an MCP server.
    pub name: String,
    /// What the call is about: a path, the first line of a command, a query.
    pub title: String,
    /// How it ended.
    pub state: ToolState,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration_ms: Option<u64>,
    /// What came out of it, each in a few English words: `exit 1`, `812 lines`.
    pub facts: Vec<String>,
    /// The same for a viewer that has words of its own: as many as `facts`, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub known_facts: Vec<ViewFact>,
    /// `title` without English words, if it has any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subject: Option<String>,
    /// How many lines of a command follow the one that `subject` is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub more_lines: Option<usize>,
    /// How many lines an edit added.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub added: Option<usize>,
    /// How many lines an edit removed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub removed: Option<usize>,
    /// The file that it reads or changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// The subagent that it started.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_id: Option<String>,
}

/// Something that came out of a call, without words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ViewFact {
    /// What it is.
    pub kind: ViewFactKind,
    /// How many, or which number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u64>,
}

words! {
    /// What came out of a call.
    ViewFactKind {
        /// So many lines.
        Lines "lines",
        /// So many files.
        Files "files",
        /// A subagent made so many calls.
        ToolCalls "tool_calls",
        /// A subagent took so many tokens.
        Tokens "tokens",
        /// So many bytes were fetched.
        Bytes "bytes",
        /// A server answered with this status.
        Status "status",
        /// A command ended with this code.
        Exit "exit",
        /// A command printed nothing.
        NoOutput "no_output",
        /// A command went on in the background.
        Background "background",
        /// The file is new.
        NewFile "new_file",
        /// The file was replaced.
        Replaced "replaced",
        /// Text of the transcript, such as the first line of an error: the words of `facts`.
        Text "text",
    }
}

/// Parameters of `history/skeleton`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkeletonParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The first row to describe. It needs `revision`, and counts only if the rows of that revision are unchanged.
    pub from: Option<usize>,
    /// The `revision` of an earlier answer.
    pub revision: Option<String>,
}

/// Result of `history/skeleton`: all rows of a session in a few bytes each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkeletonResult {
    /// Names these rows. Requests for rows contain it; they are answered as long as the session has the same rows, also if more were
    /// added behind them.
    pub revision: String,
    /// How many rows there are.
    pub total: usize,
    /// The first row that `kinds` and `lines` describe.
    pub from: usize,
    /// What each row is: one letter each.
    pub kinds: String,
    /// About how many lines of text each row has when it is open.
    pub lines: Vec<u32>,
    /// The row at which each turn begins, from turn 1 on; of all rows.
    pub turns: Vec<usize>,
    /// The rows of calls that failed, were denied or interrupted; of all rows.
    pub failed: Vec<usize>,
    /// The rows that are not on the live conversation, as ranges: the first row, and the first one behind; of all rows.
    pub left: Vec<(usize, usize)>,
    /// How many bytes of the file this covers: `offset` of `GET /events` and `history/watch`.
    pub offset: u64,
}

/// Parameters of `history/rows`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RowsParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The `revision` of `history/skeleton`.
    #[serde(default)]
    pub revision: String,
    /// The first row.
    #[serde(default)]
    pub from: usize,
    /// How many rows: at most 200.
    #[serde(default)]
    pub count: usize,
    /// Which rows are sent with their content, besides prompts and replies: all of them, or those with these numbers.
    pub open: Option<OpenRows>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Which rows are sent with their content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OpenRows {
    /// All of them, or none.
    All(bool),
    /// Those with these numbers.
    Rows(Vec<usize>),
}

/// Result of `history/rows`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RowsResult {
    /// The rows. There are fewer than were requested if they would be too many bytes; then ask again behind the last one.
    pub rows: Vec<ViewRow>,
}

/// Parameters of `history/part`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PartParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The `revision` of `history/skeleton`.
    #[serde(default)]
    pub revision: String,
    /// The row.
    #[serde(default)]
    pub row: usize,
    /// The part, as `more` and `image` name it.
    #[serde(default)]
    pub part: usize,
    /// The first line, from 0.
    pub from: Option<usize>,
    /// How many lines: 1000 by default, at most 5000.
    pub count: Option<usize>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Result of `history/part`: lines, or an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PartResult {
    /// The content.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub nodes: Vec<ViewNode>,
    /// How many lines the part has.
    pub lines: usize,
    /// The first line that is not in this answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<usize>,
    /// The media type of an image: PNG, JPEG, GIF or WebP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub media: Option<String>,
    /// The bytes of an image, in base64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data: Option<String>,
}

/// Parameters of `history/locate`: one of `uuid`, `line`, `turn` and `callId`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LocateParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The uuid of an entry.
    pub uuid: Option<String>,
    /// The line of an entry, from 1.
    pub line: Option<u64>,
    /// The number of a turn.
    pub turn: Option<usize>,
    /// The id of a call.
    pub call_id: Option<String>,
}

/// Result of `history/locate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LocateResult {
    /// The first row of the entry; of an entry with the result of a call, the row of the call.
    pub row: usize,
    /// The `revision` that the row belongs to.
    pub revision: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_short_in_json_and_read_back() {
        let link = ViewMark::Link { href: "https://a.example".into(), c: vec![ViewInline::Text("a".into())] };
        let nodes = vec![
            ViewNode::P { c: vec![ViewInline::Text("x".into()), ViewInline::Mark(link)] },
            ViewNode::Code {
                lang: None,
                lines: vec![vec![ViewSpan::Text("a ".into()), ViewSpan::Marked("kw".into(), "if".into())]],
                first: Some(7),
            },
            ViewNode::Hr,
        ];
        let json = serde_json::to_string(&nodes).unwrap();
        assert_eq!(
            json,
            r#"[{"t":"p","c":["x",{"t":"link","href":"https://a.example","c":["a"]}]},{"t":"code","lines":[["a ",["kw","if"]]],"first":7},{"t":"hr"}]"#
        );
        assert_eq!(serde_json::from_str::<Vec<ViewNode>>(&json).unwrap(), nodes);
    }
}
