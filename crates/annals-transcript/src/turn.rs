//! Turns: a prompt, or what started the model in its place, with everything up to the next. Turns get their numbers only here.
//!
//! ```
//! use annals_transcript::conversation::{Conversation, TranscriptBytes};
//!
//! let file = br#"{"type":"user","uuid":"a","parentUuid":null,"message":{"content":"Hello"}}
//! {"type":"assistant","uuid":"b","parentUuid":"a","message":{"content":"Hi!","usage":{"output_tokens":3}}}"#;
//! let transcript = TranscriptBytes::new(file);
//! let conversation = Conversation::of(&transcript)?;
//! let turn = &conversation.turns()[0];
//! assert_eq!((turn.number, &*turn.prompt, turn.started_by.name()), (1, "Hello", "prompt"));
//! assert_eq!((turn.messages, turn.usage.output), (2, 3));
//! # Ok::<(), std::convert::Infallible>(())
//! ```

mod tokens;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::chain::NodeIndex;
use crate::content::Content;
use crate::entry::view::{System, SystemKind, User};
use crate::entry::{Entry, Flag, Kind};
use crate::full_view::Step;
use crate::item::{Item, Part};
use crate::model::Placeholder;
use crate::prompt::{Input, InputKind};
use crate::session::{BlockKind, Id, Node, Session};
use crate::small_index::SmallIndex;

pub use tokens::Tokens;

/// Pauses of at least this many milliseconds before a turn are marked in conversations, and counted.
pub const LONG_PAUSE_MS: i64 = 30 * 60 * 1000;
/// A turn keeps at most this many bytes of its prompt.
const LONGEST_PROMPT: usize = 4096;

/// One turn: what started it and what happened in it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Turn {
    /// The number of the turn, counted from 1.
    pub number: usize,
    /// How it relates to the turns before.
    pub kind: TurnKind,
    /// What started it.
    pub started_by: StartedBy,
    /// The text or command that started it. It may be cut, because turns are kept in memory and prompts may be long.
    pub prompt: String,
    /// Whether the prompt was cut; [`prompt_of`] returns all of it.
    pub prompt_is_cut: bool,
    /// The entry that started it.
    pub node: NodeIndex,
    /// When it started, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// The time of the last entry that belongs to its work (CHAIN 11.1), in milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// The number of user and assistant entries.
    pub messages: u64,
    /// The number of tool calls; a call that several lines repeat counts once.
    pub tool_calls: u64,
    /// The number of results that report an error.
    pub errors: u64,
    /// The tokens of its replies.
    pub usage: Tokens,
    /// Whether the conversation was compacted in it.
    pub compacted: bool,
    /// The length of the pause before it, if it is a [`TurnKind::Resume`].
    pub resumed_after_ms: Option<i64>,
    /// The time from the end of the work before it (CHAIN 11.1) to its start; `None` if one of the two has no time.
    pub idle_ms: Option<i64>,
}

impl Turn {
    /// Returns the time from its start to its end.
    pub fn duration_ms(&self) -> Option<u64> {
        let (start, end) = self.started_at.zip(self.ended_at)?;
        u64::try_from(end - start).ok()
    }

    /// Returns the turn as it is if a pause has more than `pause_ms`.
    #[must_use]
    pub fn with_pause(&self, pause_ms: i64) -> Self {
        let pause = self.idle_ms.filter(|&idle| idle > pause_ms);
        let kind = if self.number == 1 {
            TurnKind::NewSession
        } else if !self.started_by.is_person() {
            TurnKind::Continue
        } else if pause.is_some() {
            TurnKind::Resume
        } else {
            TurnKind::NewRound
        };
        let resumed_after_ms = pause.filter(|_| kind == TurnKind::Resume);
        Self { kind, resumed_after_ms, ..self.clone() }
    }
}

/// How a turn relates to the turns before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnKind {
    /// It is the first one.
    #[default]
    NewSession,
    /// A person sent another prompt.
    NewRound,
    /// A person sent another prompt after a pause.
    Resume,
    /// Claude Code continued by itself: after a compaction, a task notification or a message of another agent.
    Continue,
}

impl TurnKind {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            TurnKind::NewSession => "new_session",
            TurnKind::NewRound => "new_round",
            TurnKind::Resume => "resume",
            TurnKind::Continue => "continue",
        }
    }
}

/// What started a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartedBy {
    /// An input of this kind.
    Input(InputKind),
    /// No input: the file begins in the middle of a turn.
    #[default]
    Other,
}

impl StartedBy {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            StartedBy::Other
            | StartedBy::Input(
                InputKind::ToolResult | InputKind::Output | InputKind::Interrupt | InputKind::Injected,
            ) => "other",
            StartedBy::Input(kind) => kind.name(),
        }
    }

    fn is_person(self) -> bool {
        let StartedBy::Input(kind) = self else { return false };
        match kind {
            InputKind::Prompt
            | InputKind::Queued
            | InputKind::IdeSelection
            | InputKind::IdeOpenedFile
            | InputKind::Command
            | InputKind::Bash => true,
            InputKind::TaskNotification
            | InputKind::CompactSummary
            | InputKind::Skill
            | InputKind::Teammate
            | InputKind::Hook
            | InputKind::ToolResult
            | InputKind::Output
            | InputKind::Interrupt
            | InputKind::Injected => false,
        }
    }
}

/// The usual length of a pause after which a turn is a [`TurnKind::Resume`]: five minutes.
pub const PAUSE_MS: i64 = 5 * 60 * 1000;

/// Divides the live entries of a history into turns. `body` reads the bytes of an entry that may start one. A turn after a pause of more than
/// `pause_ms` is a [`TurnKind::Resume`].
pub fn turns<E>(
    session: &Session,
    steps: &[Step],
    pause_ms: i64,
    body: impl Fn(&Node) -> Result<Vec<u8>, E>,
) -> Result<Vec<Turn>, E> {
    let mut divider = Divider {
        session,
        pause_ms,
        turns: Vec::new(),
        replies: HashMap::new(),
        calls: vec![false; session.id_count()],
        state: TurnState::default(),
    };
    for step in steps {
        if let Step::Entry { node, live: true } = *step {
            let entry = &session.nodes()[node];
            if entry.kind.is_message() && !entry.has(Flag::Sidechain) {
                let body = if may_start_turn(session, entry) { Some(body(entry)?) } else { None };
                divider.add(node, body.as_deref().map(Entry::new).as_ref());
            }
        }
    }
    Ok(divider.finish())
}

/// Builds turns from entries that are added in order.
struct Divider<'s> {
    session: &'s Session,
    pause_ms: i64,
    turns: Vec<Turn>,
    /// The last line of each reply, and the turn that it counts for: a reply has the tokens of its last line.
    replies: HashMap<Id, (SmallIndex, SmallIndex)>,
    /// Whether the call of each id was counted, by the index of the id.
    calls: Vec<bool>,
    state: TurnState,
}

/// What the entries so far say about the start of the next turn.
#[derive(Default)]
struct TurnState {
    /// The latest time of an entry that belongs to the work of a turn.
    worked_at: Option<i64>,
    /// The prompt id of the last input.
    prompt_id: Option<String>,
    /// Whether the current turn has a reply.
    replied: bool,
}

impl Divider<'_> {
    /// Adds an entry; its body is there if it may start a turn.
    fn add(&mut self, index: NodeIndex, body: Option<&Entry<'_>>) {
        let node = &self.session.nodes()[index];
        let start = body.and_then(|entry| Some((turn_start(entry)?, entry)));
        let is_work = start.is_some() || node.is_work;
        if let Some((start, entry)) = start {
            let prompt_id = entry.view::<User>().and_then(|user| user.prompt_id()).map(Cow::into_owned);
            // Inputs with the same prompt id before the first reply belong to one turn, but typed text always starts a new
            // one.
            let is_typed = start.kind == InputKind::Prompt;
            let is_same_turn =
                !is_typed && prompt_id.is_some() && prompt_id == self.state.prompt_id && !self.state.replied;
            if !is_same_turn {
                self.start(index, node, &start);
            }
            self.state.prompt_id = prompt_id;
        }
        if self.turns.is_empty() && (node.kind == Kind::Assistant || self.session.has_results(node)) {
            // The file begins in the middle of a turn.
            self.turns.push(Turn { number: 1, node: index, started_at: node.time(), ..Turn::default() });
        }
        self.count(index);
        if is_work {
            if let Some(turn) = self.turns.last_mut() {
                turn.ended_at = turn.ended_at.max(node.time());
            }
            self.state.worked_at = self.state.worked_at.max(node.time());
        }
    }

    fn start(&mut self, index: NodeIndex, node: &Node, start: &Input<'_>) {
        let mut prompt = prompt_text(start);
        let prompt_is_cut = prompt.len() > LONGEST_PROMPT;
        if prompt_is_cut {
            let end = (0..=LONGEST_PROMPT).rev().find(|&at| prompt.is_char_boundary(at));
            prompt.truncate(end.unwrap_or(0));
            prompt.shrink_to_fit();
        }
        let turn = Turn {
            number: self.turns.len() + 1,
            started_by: StartedBy::Input(start.kind),
            prompt,
            prompt_is_cut,
            node: index,
            started_at: node.time(),
            idle_ms: node.time().zip(self.state.worked_at).map(|(now, before)| now - before),
            ..Turn::default()
        };
        self.turns.push(turn.with_pause(self.pause_ms));
        self.state.replied = false;
    }

    fn count(&mut self, index: NodeIndex) {
        let Some(turn) = self.turns.last_mut() else { return };
        let node = &self.session.nodes()[index];
        turn.compacted |= self.session.boundary(node).is_some() || node.has(Flag::CompactSummary);
        if !node.kind.is_prompt_or_reply() {
            return;
        }
        turn.messages += 1;
        for block in self.session.blocks(node) {
            match block.kind {
                BlockKind::ToolUse => {
                    let is_new =
                        block.tool.is_none_or(|id| !std::mem::replace(&mut self.calls[id.index()], true));
                    turn.tool_calls += u64::from(is_new);
                }
                BlockKind::ToolResult(true) => turn.errors += 1,
                _ => {}
            }
        }
        if node.kind == Kind::Assistant {
            self.state.replied = true;
            match node.message_id {
                Some(id) => {
                    let last = (SmallIndex::new(turn.number - 1), SmallIndex::new(index));
                    self.replies.insert(id, last);
                }
                // A line without the id of a reply is a reply of its own.
                None => turn.usage.add(self.session.tokens(index)),
            }
        }
    }

    fn finish(self) -> Vec<Turn> {
        let Self { session, mut turns, replies, .. } = self;
        let tokens = replies.into_values().map(|(turn, line)| (turn.index(), session.tokens(line.index())));
        tokens.for_each(|(turn, tokens)| turns[turn].usage.add(tokens));
        turns
    }
}

/// Returns the whole text or command with which an entry starts a turn; `None` if it starts none.
pub fn prompt_of(entry: &Entry<'_>) -> Option<String> {
    turn_start(entry).map(|start| prompt_text(&start))
}

fn prompt_text(start: &Input<'_>) -> String {
    let command = start.command.as_deref().unwrap_or_default();
    format!("{command} {}", start.text).trim().to_owned()
}

/// Returns whether an entry that starts no turn belongs to the work of the turn that is running (CHAIN 11.1). Notices, hooks and
/// injected entries may follow days later, when nobody has worked since.
///
/// `answered` says whether one of its results is the output of a tool, see [`is_output`]; `None` if it has no results.
pub(crate) fn is_work(entry: &Entry<'_>, is_synthetic: bool, answered: Option<bool>) -> bool {
    match entry.kind() {
        Kind::Assistant => entry.has(Flag::ApiError) || !is_synthetic,
        Kind::User => answered.unwrap_or_else(|| !entry.has(Flag::Meta)),
        Kind::System => {
            entry.view::<System>().is_some_and(|system| matches!(system.kind(), SystemKind::TurnDuration))
        }
        _ => false,
    }
}

/// Returns whether the content of a result comes from a tool. Claude Code writes another result when it resumes the session, for
/// a call that was running when the session ended.
pub(crate) fn is_output(result: Content<'_>) -> bool {
    !result.is_text(Placeholder::Interrupted.text())
}

/// Returns whether an entry may start a turn, as far as its blocks tell.
fn may_start_turn(session: &Session, node: &Node) -> bool {
    match node.kind {
        Kind::User => !session.has_results(node),
        // Only queued prompts have blocks.
        Kind::Attachment => !session.blocks(node).is_empty(),
        _ => false,
    }
}

/// Returns whether an input can start a turn. Other inputs belong to the turn that is running.
fn can_start_turn(kind: InputKind) -> bool {
    match kind {
        InputKind::Prompt
        | InputKind::Queued
        | InputKind::IdeSelection
        | InputKind::IdeOpenedFile
        | InputKind::Command
        | InputKind::Bash
        | InputKind::TaskNotification
        | InputKind::CompactSummary
        | InputKind::Teammate => true,
        InputKind::Skill
        | InputKind::Hook
        | InputKind::ToolResult
        | InputKind::Output
        | InputKind::Interrupt
        | InputKind::Injected => false,
    }
}

/// Returns the input with which an entry starts a turn. A person's own text takes precedence over context of the editor.
fn turn_start<'a>(entry: &Entry<'a>) -> Option<Input<'a>> {
    // A local command in a system entry starts no turn.
    if !matches!(entry.kind(), Kind::User | Kind::Attachment) {
        return None;
    }
    let parts = Item::of(entry).parts;
    if parts.iter().any(|part| matches!(part, Part::Result(_))) {
        return None;
    }
    let inputs = parts.into_iter().filter_map(|part| match part {
        Part::Input(input) if can_start_turn(input.kind) => Some(input),
        _ => None,
    });
    let mut inputs: Vec<_> = inputs.collect();
    let context = inputs.iter().position(|input| input.kind.is_editor_context());
    let text = inputs.iter().position(|input| !input.kind.is_editor_context());
    match (context, text) {
        // The turn is reported as started by the editor's context, with the typed text as its prompt.
        (Some(context), Some(text)) if inputs[text].kind == InputKind::Prompt => {
            let kind = inputs[context].kind;
            let text = inputs.swap_remove(text);
            Some(Input { kind, ..text })
        }
        (_, Some(text)) => Some(inputs.swap_remove(text)),
        (Some(context), None) => Some(inputs.swap_remove(context)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Chain;
    use crate::full_view;

    fn of(lines: &[String]) -> Vec<Turn> {
        let file = lines.join("\n");
        let session = Session::read(file.as_bytes()).unwrap();
        let chain = Chain::build(&session);
        let body = |node: &Node| -> Result<Vec<u8>, ()> {
            let (start, length) =
                (usize::try_from(node.at.offset).unwrap(), usize::try_from(node.length).unwrap());
            Ok(file.as_bytes()[start..start + length].to_vec())
        };
        turns(&session, &full_view::of(&chain), PAUSE_MS, body).unwrap()
    }

    fn user(n: usize, minute: usize, content: &str) -> String {
        entry(n, minute, "user", &format!("\"content\":{content}"))
    }

    fn entry(n: usize, minute: usize, kind: &str, message: &str) -> String {
        let parent = if n == 0 { "null".to_owned() } else { format!("\"e{}\"", n - 1) };
        format!(
            r#"{{"type":"{kind}","uuid":"e{n}","parentUuid":{parent},"timestamp":"2026-01-01T00:{minute:02}:00Z","message":{{{message}}}}}"#
        )
    }

    #[test]
    fn rounds_resumptions_and_continuations_are_told_apart() {
        let usage = r#""id":"m","usage":{"input_tokens":1,"output_tokens":5},"content":[{"type":"tool_use","id":"t","name":"Bash"}]"#;
        let found = of(&[
            user(0, 0, "\"First\""),
            entry(1, 1, "assistant", usage),
            entry(2, 1, "assistant", &usage.replace(":5", ":7")),
            user(3, 2, r#"[{"type":"tool_result","tool_use_id":"t","is_error":true}]"#),
            user(4, 3, "\"<ide_selection>x</ide_selection>Second\""),
            user(5, 20, "\"Third\""),
            user(6, 21, "\"<task-notification>done</task-notification>\""),
            user(7, 22, "\"<command-name>/help</command-name><command-args>me</command-args>\""),
            user(8, 23, "\"<ide_selection>x</ide_selection><command-name>/help</command-name>\""),
        ]);
        let starts: Vec<_> = found
            .iter()
            .map(|turn| (turn.kind.name(), turn.started_by.name(), turn.prompt.as_str()))
            .collect();
        assert_eq!(
            starts,
            [
                ("new_session", "prompt", "First"),
                ("new_round", "ide_selection", "Second"),
                ("resume", "prompt", "Third"),
                ("continue", "task_notification", "done"),
                ("new_round", "command", "/help me"),
                ("new_round", "command", "/help"),
            ]
        );
        let first = &found[0];
        assert_eq!((first.messages, first.tool_calls, first.errors), (4, 1, 1));
        assert_eq!(first.usage, Tokens { input: 1, output: 7, ..Tokens::default() });
        assert_eq!(found[2].resumed_after_ms, Some(17 * 60 * 1000));
        assert_eq!(found.iter().map(|turn| turn.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_file_that_begins_in_the_middle_has_a_turn_without_prompt_and_a_caveat_has_none() {
        let found = of(&[entry(0, 0, "assistant", "\"content\":[]"), user(1, 1, "\"next\"")]);
        assert_eq!(found.iter().map(|turn| turn.started_by.name()).collect::<Vec<_>>(), ["other", "prompt"]);
        let result = r#"[{"type":"tool_result","tool_use_id":"t"}]"#;
        assert_eq!(of(&[user(0, 0, result), entry(1, 1, "assistant", "\"content\":[]")])[0].messages, 2);
        let caveat = user(0, 0, "\"note\"").replace("\"uuid\"", "\"isMeta\":true,\"uuid\"");
        let found = of(&[caveat, user(1, 1, "\"<command-name>/clear</command-name>\"")]);
        assert_eq!(
            found.iter().map(|turn| (turn.kind.name(), turn.prompt.as_str())).collect::<Vec<_>>(),
            [("new_session", "/clear")]
        );
    }

    #[test]
    fn a_pause_is_longer_than_the_limit_since_anything_happened() {
        let found = of(&[
            user(0, 0, "\"one\""),
            entry(1, 3, "assistant", "\"content\":[]"),
            user(2, 5, "\"two\""),
            user(3, 11, "\"three\""),
        ]);
        let starts: Vec<_> = found.iter().map(|turn| (turn.kind.name(), turn.resumed_after_ms)).collect();
        assert_eq!(starts, [("new_session", None), ("new_round", None), ("resume", Some(360_000))]);
        let exactly = of(&[user(0, 0, "\"one\""), user(1, 5, "\"two\"")]);
        assert_eq!(exactly[1].kind, TurnKind::NewRound);
        let backwards =
            of(&[user(0, 10, "\"one\""), entry(1, 3, "assistant", "\"content\":[]"), user(2, 12, "\"two\"")]);
        assert_eq!(backwards[1].kind, TurnKind::NewRound);
        assert_eq!(
            backwards[0].ended_at, backwards[0].started_at,
            "the last time seen, not that of the last line"
        );
        let news = of(&[user(0, 0, "\"one\""), user(1, 9, "\"<task-notification>x</task-notification>\"")]);
        assert_eq!((news[1].kind, news[1].resumed_after_ms), (TurnKind::Continue, None), "nobody came back");
    }

    #[test]
    fn what_claude_code_writes_after_the_work_neither_extends_a_turn_nor_ends_the_pause() {
        fn system(subtype: &str) -> String {
            entry(2, 30, "system", "").replace("\"uuid\"", &format!("\"subtype\":\"{subtype}\",\"uuid\""))
        }

        fn made_up(text: &str) -> String {
            let message = format!(r#""model":"<synthetic>","content":[{{"type":"text","text":"{text}"}}]"#);
            entry(2, 30, "assistant", &message)
        }

        fn meta(line: &str) -> String {
            line.replace("\"uuid\"", "\"isMeta\":true,\"uuid\"")
        }

        fn result(text: &str) -> String {
            user(
                2,
                30,
                &format!(
                    r#"[{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"{text}"}}]"#
                ),
            )
        }

        fn attachment(fields: &str) -> String {
            entry(2, 30, "attachment", "").replace(r#""uuid":"e2""#, fields)
        }

        fn ends(third: &str) -> (u64, i64, TurnKind) {
            let reply = entry(1, 2, "assistant", "\"content\":[]");
            let found = of(&[user(0, 0, "\"one\""), reply, third.to_owned(), user(3, 31, "\"two\"")]);
            let last = &found[found.len() - 1];
            (
                found.iter().filter_map(Turn::duration_ms).sum::<u64>() / 60_000,
                last.idle_ms.unwrap() / 60_000,
                last.kind,
            )
        }

        let hook = r#""uuid":"e2","attachment":{"type":"hook_success","content":"x"}"#;
        let queued = r#""uuid":"e2","attachment":{"type":"queued_command","prompt":"also"}"#;
        for after in [
            system("away_summary"),
            system("bridge_status"),
            system("local_command"),
            system("stop_hook_summary"),
            system("compact_boundary"),
            attachment(hook),
            meta(&user(2, 30, "\"<local-command-caveat>Caveat</local-command-caveat>\"")),
            meta(&user(2, 30, "\"Continue from where you left off.\"")),
            made_up(Placeholder::NoResponse.text()),
            result(Placeholder::Interrupted.text()),
        ] {
            assert_eq!(ends(&after), (2, 29, TurnKind::Resume), "{after}");
        }
        for work in [
            system("turn_duration"),
            entry(2, 30, "assistant", "\"content\":[]"),
            made_up("API Error").replace("\"uuid\"", "\"isApiErrorMessage\":true,\"uuid\""),
            result("done"),
            meta(&result("done")),
            user(2, 30, "\"<local-command-stdout>42</local-command-stdout>\""),
            user(2, 30, "\"[Request interrupted by user]\""),
        ] {
            assert_eq!(ends(&work), (30, 1, TurnKind::NewRound), "{work}");
        }
        assert_eq!(
            ends(&attachment(queued)),
            (2, 1, TurnKind::NewRound),
            "a queued prompt is a turn of its own"
        );
    }

    #[test]
    fn a_compaction_marks_its_turn_and_side_entries_belong_to_none() {
        let summary = user(1, 1, "\"so far\"").replace("\"uuid\"", "\"isCompactSummary\":true,\"uuid\"");
        let side = user(2, 1, "\"to an agent\"").replace("\"uuid\"", "\"isSidechain\":true,\"uuid\"");
        let found = of(&[user(0, 0, "\"one\""), summary, side]);
        let starts: Vec<_> =
            found.iter().map(|turn| (turn.started_by.name(), turn.compacted, turn.messages)).collect();
        assert_eq!(starts, [("prompt", false, 1), ("compact_summary", true, 1)]);
        let boundary =
            entry(1, 1, "system", "").replace("\"uuid\"", "\"subtype\":\"compact_boundary\",\"uuid\"");
        assert!(of(&[user(0, 0, "\"one\""), boundary])[0].compacted);
        let nameless = entry(1, 0, "assistant", r#""usage":{"output_tokens":3},"content":[]"#);
        assert_eq!(of(&[user(0, 0, "\"one\""), nameless])[0].usage.output, 3);
    }

    #[test]
    fn a_reply_over_two_turns_counts_once_where_it_ends() {
        fn reply(n: usize, tokens: u64) -> String {
            entry(
                n,
                1,
                "assistant",
                &format!(r#""id":"m","usage":{{"output_tokens":{tokens}}},"content":[]"#),
            )
        }

        let found = of(&[user(0, 0, "\"one\""), reply(1, 10), user(2, 1, "\"two\""), reply(3, 12)]);
        assert_eq!(found.iter().map(|turn| turn.usage.output).collect::<Vec<_>>(), [0, 12]);
        let found = of(&[user(0, 0, "\"one\""), reply(1, u64::MAX), reply(2, 1).replace("\"m\"", "\"n\"")]);
        assert!(found[0].usage.output > 0);
    }

    #[test]
    fn lines_of_one_prompt_are_one_turn() {
        fn with_prompt_id(line: &str) -> String {
            line.replace("\"message\"", "\"promptId\":\"p\",\"message\"")
        }

        let found = of(&[
            with_prompt_id(&user(0, 0, "\"first\"")),
            with_prompt_id(&user(1, 0, "\"<command-name>/x</command-name>\"")),
            entry(2, 0, "assistant", "\"content\":[]"),
            with_prompt_id(&user(3, 0, "\"another\"")),
        ]);
        assert_eq!(found.iter().map(|turn| turn.prompt.as_str()).collect::<Vec<_>>(), ["first", "another"]);
        let typed = of(&[with_prompt_id(&user(0, 0, "\"one\"")), with_prompt_id(&user(1, 0, "\"two\""))]);
        assert_eq!(typed.len(), 2, "what somebody types always starts a turn");
    }
}
