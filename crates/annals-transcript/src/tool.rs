//! Tool calls: each is paired with its result by id, wherever in the file that is.
//!
//! ```
//! use annals_transcript::session::Session;
//! use annals_transcript::tool;
//!
//! let file = br#"{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}
//! {"type":"user","uuid":"b","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true}]}}"#;
//! let calls = tool::calls(&Session::read(&file[..])?);
//! assert_eq!(calls[0].result.map(|(node, _)| node), Some(1));
//! assert!(calls[0].is_error());
//! # Ok::<(), std::io::Error>(())
//! ```

mod messages;
mod shared_id;

pub use self::shared_id::calls_of_shared_ids;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::chain::NodeIndex;
use crate::content::{Block, ToolResult, ToolUse};
use crate::entry::view::{ToolUseResult, User};
use crate::entry::{Entry, Flag, Kind};
use crate::json::Value;
use crate::session::{BlockKind, BlockSpan, Id, Node, Session};
use crate::small_index::SmallIndex;

/// A tool call and its result, as blocks of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The entry that makes the call.
    pub node: NodeIndex,
    /// The block with the call.
    pub block: BlockSpan,
    /// The entry and the block of the result. If there are several results, it is the first.
    pub result: Option<(NodeIndex, BlockSpan)>,
    given_up: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The tool succeeded.
    Ok,
    /// The tool failed.
    Error,
    /// There is no result.
    Pending,
    /// The user interrupted it, or the conversation continued without a result.
    Interrupted,
    /// The user or a rule denied it.
    Denied,
    /// It did not run, because another call of the same reply failed.
    Cancelled,
}

impl State {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Error => "error",
            State::Pending => "pending",
            State::Interrupted => "interrupted",
            State::Denied => "denied",
            State::Cancelled => "cancelled",
        }
    }
}

/// What an entry says about the calls whose results it holds.
///
/// An entry can have thousands of results. So what concerns all of them is read once per entry, and for each result only its
/// own block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultStates {
    /// How all calls ended, whatever their results say.
    of_all: Option<State>,
    /// How the calls with an error ended, according to the tool's own output.
    of_errors: Option<State>,
}

impl ResultStates {
    /// Returns whether an entry may tell that a call without an error has not succeeded. Most do not, and need not be parsed. A key may be
    /// written with an escape.
    pub(crate) fn may_differ_from_blocks(entry: &Entry<'_>) -> bool {
        static FLAG: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(br#""interrupted""#));
        static ESCAPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(br"\u00"));
        let output =
            entry.head().tool_use_result.filter(|output| output.is_object()).map_or(&[][..], Value::bytes);
        entry.has(Flag::ToolDenial)
            || FLAG.find_iter(output).any(|at| !output[at + FLAG.needle().len()..].starts_with(b":false"))
            || ESCAPE.find(output).is_some()
    }

    /// Reads what concerns all results of an entry.
    pub fn of(entry: &Entry<'_>) -> Self {
        let user = entry.view::<User<'_>>();
        let output = entry.tool_use_result();
        let denial = user.as_ref().and_then(User::tool_denial);
        let is_interrupted =
            matches!(output, Some(ToolUseResult::Object(object)) if object.flag("interrupted"));
        let of_all = match denial.as_deref() {
            _ if is_interrupted => Some(State::Interrupted),
            Some("interrupted") => Some(State::Interrupted),
            Some(_) => Some(State::Denied),
            None => None,
        };
        let text = output.and_then(ToolUseResult::as_text);
        Self { of_all, of_errors: text.and_then(|text| messages::state_of(&text)) }
    }

    /// Returns how the call ended that a result of the entry answers.
    pub fn get(self, result: &ToolResult<'_>) -> State {
        if let Some(state) = self.of_all {
            return state;
        }
        if !result.is_error() {
            return State::Ok;
        }
        self.of_errors.or_else(|| messages::state_of(&first_text(result))).unwrap_or(State::Error)
    }
}

/// Returns the first text of a result.
fn first_text<'a>(result: &ToolResult<'a>) -> Cow<'a, str> {
    let text = result.content().blocks().find_map(|block| match block {
        Block::Text(text) => Some(text.text()),
        _ => None,
    });
    text.unwrap_or_default()
}

/// Returns all calls of a session in file order, except those of tools on the server; a call that several lines repeat counts
/// once.
pub fn calls(session: &Session) -> Vec<Call> {
    paired(session, BlockKind::ToolUse, Kind::User, BlockKind::is_result)
}

/// Returns all calls of tools that run on the model's server, such as a search on the web, in file order. Their results are in
/// replies.
pub fn server_calls(session: &Session) -> Vec<Call> {
    paired(session, BlockKind::ServerToolUse, Kind::Assistant, is_server_result)
}

/// Returns whether a block is the result of a call of a tool on the server.
fn is_server_result(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::ServerToolResult | BlockKind::AdvisorResult)
}

/// Returns the calls of one kind of block, with their results in one kind of entry.
fn paired(
    session: &Session,
    call: BlockKind,
    answered_by: Kind,
    is_result: fn(BlockKind) -> bool,
) -> Vec<Call> {
    let of_kind = |kind: Kind| session.nodes().iter().enumerate().filter(move |(_, node)| node.kind == kind);
    let made = |entry| session.blocks(entry).iter().filter(move |block| block.kind == call).copied();
    let count = of_kind(Kind::Assistant).map(|(_, entry)| made(entry).count()).sum();
    if count == 0 {
        return Vec::new();
    }
    let mut calls: Vec<Call> = Vec::with_capacity(count);
    let mut places: Vec<Option<SmallIndex>> = vec![None; session.id_count()];
    for (node, entry) in of_kind(Kind::Assistant) {
        for block in made(entry) {
            let place = block.tool.map(|id| &mut places[id.index()]);
            if place.as_ref().is_none_or(|place| place.is_none()) {
                if let Some(place) = place {
                    *place = Some(SmallIndex::new(calls.len()));
                }
                calls.push(Call { node, block, result: None, given_up: false });
            }
        }
    }
    for (node, entry) in of_kind(answered_by) {
        for &block in session.blocks(entry) {
            if is_result(block.kind)
                && let Some(place) = block.tool.and_then(|id| places[id.index()])
            {
                calls[place.index()].result.get_or_insert((node, block));
            }
        }
    }
    mark_given_up(session, &mut calls);
    calls
}

/// Returns the place of the call of each id, by the index of the id.
pub(crate) fn by_id(session: &Session, calls: &[Call]) -> Vec<Option<SmallIndex>> {
    let mut places = vec![None; session.id_count()];
    for (place, call) in calls.iter().enumerate() {
        if let Some(id) = call.block.tool {
            places[id.index()] = Some(SmallIndex::new(place));
        }
    }
    places
}

/// Marks the calls without a result after which the conversation continued. One pass from the last entry to the first is
/// enough for all calls; `calls` are in file order.
fn mark_given_up(session: &Session, calls: &mut [Call]) {
    let mut main_line = LaterMessages::default();
    let mut sidechain = LaterMessages::default();
    let mut calls = calls.iter_mut().rev().peekable();
    for (index, node) in session.nodes().iter().enumerate().rev() {
        let later = if node.has(Flag::Sidechain) { &mut sidechain } else { &mut main_line };
        while let Some(call) = calls.next_if(|call| call.node == index) {
            call.given_up = call.result.is_none() && later.continues_after(node.message_id);
        }
        later.add(session, node);
    }
}

/// The messages after an entry in the file, either on the main line or in sidechains.
#[derive(Default)]
struct LaterMessages {
    has_prompt: bool,
    replies: Replies,
}

/// The replies among [`LaterMessages`]. The lines of one reply have the same `message.id`.
#[derive(Clone, Copy, Default)]
enum Replies {
    #[default]
    None,
    One {
        message_id: Option<Id>,
    },
    Several,
}

impl LaterMessages {
    fn add(&mut self, session: &Session, node: &Node) {
        let message_id = node.message_id;
        match (node.kind, self.replies) {
            (Kind::User, _) => self.has_prompt |= !session.has_results(node),
            (Kind::Assistant, Replies::None) => self.replies = Replies::One { message_id },
            (Kind::Assistant, Replies::One { message_id: known }) if known != message_id => {
                self.replies = Replies::Several;
            }
            _ => {}
        }
    }

    /// Returns whether a message follows a reply, apart from other lines of that reply.
    fn continues_after(&self, reply: Option<Id>) -> bool {
        let has_other_reply = match self.replies {
            Replies::None => false,
            Replies::One { message_id } => message_id != reply,
            Replies::Several => true,
        };
        self.has_prompt || has_other_reply
    }
}

impl Call {
    /// Returns whether the conversation continued without a result: a message follows the reply with the call.
    pub fn is_given_up(&self) -> bool {
        self.given_up
    }

    /// Returns whether the result reports an error. What the result of a tool on the server reports is in its content only.
    pub fn is_error(&self) -> bool {
        matches!(self.result, Some((_, BlockSpan { kind: BlockKind::ToolResult(true), .. })))
    }

    /// Returns whether the tool runs on the model's server.
    pub fn is_of_server(&self) -> bool {
        self.block.kind == BlockKind::ServerToolUse
    }

    /// Returns how long the call took, from the times of the two entries.
    pub fn duration_ms(&self, session: &Session) -> Option<u64> {
        let (result, _) = self.result?;
        let (start, end) = (session.nodes()[self.node].time()?, session.nodes()[result].time()?);
        u64::try_from(end - start).ok()
    }
}

/// Returns whether the result of a server call reports an error.
pub fn server_call_failed(result: &ToolResult<'_>) -> bool {
    let kind = result.content().value().and_then(|content| content.text("type"));
    result.is_error() || kind.is_some_and(|kind| kind.ends_with("_tool_result_error"))
}

/// Reads a call from its block.
pub fn read(block: &[u8]) -> Option<ToolUse<'_>> {
    match Block::new(Value::new(block)?) {
        Block::ToolUse(call) | Block::ServerToolUse(call) => Some(call),
        _ => None,
    }
}

/// Reads a result from its block.
pub fn read_result(block: &[u8]) -> Option<ToolResult<'_>> {
    match Block::new(Value::new(block)?) {
        Block::ToolResult(result) | Block::ServerToolResult(result) => Some(result),
        _ => None,
    }
}

/// Returns the most telling argument of a call: a command, a path, a pattern.
pub fn subject(call: &ToolUse<'_>) -> String {
    let Some(input) = call.input() else { return String::new() };
    let keys = [
        "command",
        "file_path",
        "notebook_path",
        "pattern",
        "url",
        "query",
        "description",
        "skill",
        "subject",
        "taskId",
        "path",
        "prompt",
    ];
    let found = keys.iter().find_map(|key| input.text(key));
    let first = found.or_else(|| input.members().find_map(|(_, value)| value.as_text()));
    first.unwrap_or_default().into_owned()
}

/// Returns the file that a call changes, if it is a call of a tool for that.
pub fn changed_file(call: &ToolUse<'_>) -> Option<String> {
    let key = match call.name().as_deref() {
        Some("Write" | "Edit" | "MultiEdit") => "file_path",
        Some("NotebookEdit") => "notebook_path",
        _ => return None,
    };
    call.input()?.text(key).map(Cow::into_owned)
}

/// Returns the files that a call certainly reads or writes, according to its arguments.
pub fn files(call: &ToolUse<'_>) -> Vec<String> {
    let Some(input) = call.input() else { return Vec::new() };
    let key = match call.name().as_deref() {
        Some("Write" | "Edit" | "MultiEdit" | "NotebookEdit") => {
            return changed_file(call).into_iter().collect();
        }
        Some("Bash") => return input.text("command").map_or_else(Vec::new, |command| redirections(&command)),
        Some("Read") => "file_path",
        Some("NotebookRead") => "notebook_path",
        Some("Grep" | "Glob" | "LS") => "path",
        _ => return Vec::new(),
    };
    input.text(key).map(Cow::into_owned).into_iter().collect()
}

/// Returns the files that a shell command writes by redirection. In commands with quotes, expansions or here-documents `>`
/// may mean something else, so no files are returned for them.
fn redirections(command: &str) -> Vec<String> {
    if command.contains(['"', '\'', '`', '$', '\\', '(', '#', '[']) || command.contains("<<") {
        return Vec::new();
    }
    let words: Vec<_> = command.split_whitespace().collect();
    let targets = words.windows(2).filter(|pair| matches!(pair[0], ">" | ">>" | "1>" | "2>" | "&>"));
    targets
        .map(|pair| pair[1])
        .filter(|target| is_file_name(target))
        .map(|target| target.trim_end_matches(';').to_owned())
        .collect()
}

/// Returns whether a word of a shell command is the name of a file, perhaps with a semicolon after it.
fn is_file_name(word: &str) -> bool {
    word.bytes().all(is_plain_in_shell) && !word.starts_with("/dev/") && !word.starts_with(';')
}

/// Returns whether a byte of a file name means itself in a shell command. A semicolon may follow the name.
fn is_plain_in_shell(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'_' | b'-' | b'/' | b'~' | b';')
        || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use testkit::transcript::Transcript as Lines;

    use super::*;

    fn lines() -> Lines {
        Lines::session("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55")
    }

    fn session(file: &Lines) -> Session {
        Session::read(file.to_string().as_bytes()).unwrap()
    }

    /// Adds a reply with two calls, always the same.
    fn two_calls(lines: Lines) -> Lines {
        let lines = lines.at("2026-03-01T10:00:02Z");
        lines.assistant("a", |reply| reply.tool("t1", "Bash", json!({})).tool("t2", "Read", json!({})))
    }

    /// Adds the failure of the first call at a time.
    fn failure(lines: Lines, time: &str) -> Lines {
        lines.at(time).failure("r", "t1", "no such file")
    }

    #[test]
    fn calls_find_their_results_wherever_they_stand() {
        let time = "2026-03-01T10:00:03.500Z";
        let session_with_copies = session(&failure(two_calls(two_calls(failure(lines(), time))), time));
        let calls = calls(&session_with_copies);
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].result.map(|(node, _)| node), Some(0));
        assert_eq!((calls[0].is_error(), calls[0].duration_ms(&session_with_copies)), (true, Some(1500)));
        assert_eq!((calls[1].result, calls[1].duration_ms(&session_with_copies)), (None, None));
        let backwards = session(&failure(two_calls(lines()), "2026-03-01T10:00:01Z"));
        assert_eq!(super::calls(&backwards)[0].duration_ms(&backwards), None, "time ran backwards");
    }

    /// Adds a line of a reply with a call.
    fn call(lines: Lines, reply: &str, call: &str) -> Lines {
        lines.assistant(call, |line| line.id(reply).tool(call, "Bash", json!({})))
    }

    #[track_caller]
    fn assert_given_up(file: &Lines, expected: &[bool]) {
        let given_up: Vec<_> = calls(&session(file)).iter().map(Call::is_given_up).collect();
        assert_eq!(given_up, expected, "{file}");
    }

    #[test]
    fn a_call_is_given_up_once_somebody_speaks_after_its_reply() {
        let open = call(lines(), "m", "1");
        assert_given_up(&open, &[false]);
        assert_given_up(&open.clone().user("u", "go on"), &[true]);
        assert_given_up(&call(lines().user("u", "go on"), "m", "1"), &[false]);
        assert_given_up(&open.clone().result("r", "1", "ok").user("u", "go on"), &[false]);
        assert_given_up(&open.clone().result("r", "other", "ok"), &[false]);
        assert_given_up(&call(open.clone(), "m", "2"), &[false, false]);
        let with_other_reply = call(open.clone(), "n", "2");
        assert_given_up(&with_other_reply, &[true, false]);
        assert_given_up(&call(with_other_reply, "m", "3"), &[true, true, false]);
    }

    #[test]
    fn a_call_is_given_up_by_what_is_said_in_its_own_sidechain() {
        let (open, side) = (call(lines(), "m", "1"), call(lines(), "m", "1").with("isSidechain", true));
        assert_given_up(&open.user("u", "x").with("isSidechain", true), &[false]);
        assert_given_up(&side.clone().user("u", "x").with("isSidechain", true), &[true]);
        assert_given_up(&side.user("u", "go on"), &[false]);
    }

    /// Returns how the call ended whose result is in a line with these fields besides; `content` is the result as JSON.
    fn state(content: &str, is_error: bool, more: &str) -> State {
        let line = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","content":{content},"is_error":{is_error}}}]}}{more}}}"#
        );
        let entry = Entry::new(line.as_bytes());
        let Some(Block::ToolResult(result)) = entry.content().blocks().next() else { panic!("{line}") };
        ResultStates::of(&entry).get(&result)
    }

    #[test]
    fn the_state_of_a_call_is_read_from_the_fields_of_its_entry() {
        for (more, is_error, expected) in [
            ("", false, State::Ok),
            ("", true, State::Error),
            (r#","toolUseResult":{"interrupted":true}"#, false, State::Interrupted),
            (
                r#","toolUseResult":"Error: [Request interrupted by user for tool use]""#,
                true,
                State::Interrupted,
            ),
            (r#","toolUseResult":"a.txt: [Request interrupted by user]""#, false, State::Ok),
            (r#","toolUseResult":"User rejected tool use""#, true, State::Denied),
            (r#","toolUseResult":"Error: User rejected tool use""#, true, State::Denied),
            (r#","toolDenialKind":"user-rejected""#, true, State::Denied),
            (r#","toolDenialKind":"interrupted""#, true, State::Interrupted),
            (r#","toolUseResult":{"stdout":"User rejected tool use"}"#, false, State::Ok),
        ] {
            assert_eq!(state(r#""""#, is_error, more), expected, "{more}");
        }
    }

    #[test]
    fn the_state_of_a_call_is_read_from_the_message_in_its_result() {
        let denied = r#""Permission to use Bash has been denied.""#;
        let blocks =
            r#"[{"type":"text","text":"<tool_use_error>Sibling tool call errored</tool_use_error>"}]"#;
        for (content, is_error, expected) in [
            (denied, true, State::Denied),
            (blocks, true, State::Cancelled),
            (r#""Interrupted by user""#, true, State::Interrupted),
            (denied, false, State::Ok),
            (blocks, false, State::Ok),
            (r#""Exit code 1\nPermission to use Bash has been denied.""#, true, State::Error),
            (r#""make: Interrupted by user""#, true, State::Error),
            (r#""Exit code 1\n[Request interrupted by user]""#, true, State::Error),
        ] {
            assert_eq!(state(content, is_error, ""), expected, "{content}");
            let output = format!(r#","toolUseResult":"Error: {}"#, &content[1..]);
            if content.starts_with('"') {
                assert_eq!(state(r#""""#, is_error, &output), expected, "{output}");
            }
        }
    }

    #[test]
    fn results_of_one_entry_have_states_of_their_own() {
        let line = r#"{"type":"user","message":{"content":[
            {"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no such file"},
            {"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"Sibling tool call errored"},
            {"type":"tool_result","tool_use_id":"t3","content":"Sibling tool call errored"}]}}"#;
        let entry = Entry::new(line.as_bytes());
        let states = ResultStates::of(&entry);
        let found: Vec<_> = entry
            .content()
            .blocks()
            .filter_map(
                |block| if let Block::ToolResult(result) = block { Some(states.get(&result)) } else { None },
            )
            .collect();
        assert_eq!(found, [State::Error, State::Cancelled, State::Ok]);
    }

    #[test]
    fn a_call_is_about_what_names_it_best() {
        fn subject_of(input: &str) -> String {
            let block = format!(r#"{{"type":"tool_use","input":{input}}}"#);
            subject(&read(block.as_bytes()).unwrap())
        }

        assert_eq!(subject_of(r#"{"description":"List files","command":"ls"}"#), "ls");
        assert_eq!(subject_of(r#"{"depth":2,"question":"Which tea?"}"#), "Which tea?");
        assert_eq!(subject_of("{}"), "");
    }

    #[test]
    fn files_are_named_only_where_certain() {
        fn files_of(name: &str, input: &str) -> Vec<String> {
            let block = format!(r#"{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}"#);
            files(&read(block.as_bytes()).unwrap())
        }

        assert_eq!(files_of("Edit", r#"{"file_path":"C:\\a.rs","old_string":"x"}"#), [r"C:\a.rs"]);
        assert_eq!(files_of("NotebookEdit", r#"{"notebook_path":"n.ipynb"}"#), ["n.ipynb"]);
        assert_eq!(files_of("Grep", r#"{"pattern":"x"}"#), [] as [&str; 0]);
        assert_eq!(files_of("Glob", r#"{"pattern":"*.rs","path":"src"}"#), ["src"]);
        assert_eq!(
            files_of("Bash", r#"{"command":"ls > a.txt; sort a.txt >> b.txt 2> /dev/null"}"#),
            ["a.txt", "b.txt"]
        );
        for uncertain in [r#"echo \"a > b\""#, "cat <<EOF > x\\nEOF", "echo $X > y", "a 2>&1 > &1"] {
            let input = format!(r#"{{"command":"{uncertain}"}}"#);
            assert_eq!(files_of("Bash", &input), [] as [&str; 0], "{uncertain}");
        }
    }
}
