//! What an entry means to a person: a role, typed parts, and the visibility of each part.
//!
//! Only this module interprets entries for people. The terminal, the wire, editors and the page render items, and select what
//! to show by [`Visibility`] alone.
//!
//! ```
//! use annals_transcript::Entry;
//! use annals_transcript::item::{Item, Part, Visibility};
//!
//! let line = br#"{"type":"user","message":{"content":"<local-command-stdout>42</local-command-stdout>"}}"#;
//! let item = Item::of(&Entry::new(line));
//! assert_eq!(item.visibility(), Visibility::Folded);
//! let [Part::Input(output)] = &item.parts[..] else { panic!() };
//! assert_eq!((output.kind.name(), &*output.text), ("output", "42"));
//! ```

use std::borrow::Cow;

use crate::content::{Block, Content, Media, Text, Thinking, ToolResult, ToolUse};
use crate::entry::view::{
    Attachment, AttachmentKind, CompactBoundary, ContentReplacement, RetriedError, System, SystemKind,
};
use crate::entry::{Entry, Flag, Kind};
use crate::json::Value;
use crate::model::Role;
use crate::prompt::{self, Input, InputKind};

/// Which outputs show an item or a part, from all of them to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visibility {
    /// What people and the model said and did: prompts, replies, images, tool calls. Every output shows it.
    Conversation,
    /// What came with it: output of commands, messages of other agents, notifications, output of hooks. It is shown folded.
    Folded,
    /// What Claude Code added for the model: reminders, attachments, injected entries. It is shown on request.
    Context,
    /// Records and other entries without text for people.
    Hidden,
}

/// What an entry means to a person.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Item<'a> {
    /// Who speaks; `None` if it is Claude Code itself.
    pub role: Option<Role>,
    /// The parts, in order.
    pub parts: Vec<Part<'a>>,
    /// Parts are at most this visible.
    limit: Visibility,
}

/// One part of an item.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Part<'a> {
    /// Input: text of a person, or what Claude Code wrapped around it or wrote in its place.
    Input(Input<'a>),
    /// Text of the model.
    Text(Text<'a>),
    /// Text instead of a reply: the request failed.
    RequestError(Text<'a>),
    /// Reasoning of the model.
    Thinking(Thinking<'a>),
    /// Reasoning that is only kept encrypted.
    RedactedThinking,
    /// A call of a tool.
    Call(ToolUse<'a>),
    /// A call of a tool that runs where the model does.
    ServerCall(ToolUse<'a>),
    /// The result of a call.
    Result(ToolResult<'a>),
    /// The result of a server call.
    ServerResult(ToolResult<'a>),
    /// An image.
    Image(Media<'a>),
    /// A document.
    Document(Media<'a>),
    /// A notice of Claude Code.
    Notice(Notice<'a>),
    /// Context for the model.
    Context(Context<'a>),
    /// A block of another type.
    Other(Block<'a>),
}

/// Context that Claude Code added for the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Its type, and the file that it is about: `file tea.txt`.
    pub name: String,
    /// Its payload, if it has one.
    pub payload: Option<Value<'a>>,
}

impl<'a> Context<'a> {
    /// Returns the text of its content, or else the whole payload as JSON.
    pub fn text(&self) -> Cow<'a, str> {
        let Some(payload) = self.payload else { return Cow::Borrowed("") };
        let content = payload.get("content");
        let file = content.and_then(|content| content.get("file")).and_then(|file| file.get("content"));
        let text = Content::new(file.or(content)).text();
        if text.trim().is_empty() { String::from_utf8_lossy(payload.bytes()) } else { text }
    }
}

/// A notice of Claude Code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// The conversation was compacted.
    Compaction(CompactBoundary<'a>),
    /// A request failed and is sent again.
    Retry(RetriedError<'a>),
    /// A hook failed, or has a message for the user.
    Hook {
        /// Which hook.
        name: Cow<'a, str>,
        /// What it said.
        text: Cow<'a, str>,
        /// Whether it failed.
        failed: bool,
    },
    /// The model no longer sees tool results as they were.
    Replaced(ContentReplacement<'a>),
    /// Any other notice that has text.
    Text(Cow<'a, str>),
}

impl Notice<'_> {
    /// Returns the notice as one line of text.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Notice::Compaction(boundary) => {
                let why =
                    if boundary.trigger().as_deref() == Some("manual") { "by hand" } else { "by itself" };
                let tokens =
                    boundary.pre_tokens().map_or_else(String::new, |tokens| format!(", at {tokens} tokens"));
                format!("[The conversation was compacted {why}{tokens}]").into()
            }
            Notice::Retry(error) => {
                let (attempt, of) =
                    (number_or_mark(error.retry_attempt()), number_or_mark(error.max_retries()));
                format!("request failed, attempt {attempt} of {of}").into()
            }
            Notice::Hook { name, text, failed: true } => {
                format!("hook {name} failed: {}", text.trim()).into()
            }
            Notice::Hook { name, text, failed: false } => format!("hook {name}: {}", text.trim()).into(),
            Notice::Replaced(record) => {
                let results = record.replacements().count();
                let plural = if results == 1 { "" } else { "s" };
                format!("the model no longer sees {results} tool result{plural} as recorded").into()
            }
            Notice::Text(text) => Cow::Borrowed(text),
        }
    }
}

/// Returns a number as text; a question mark if it is missing.
fn number_or_mark(number: Option<u64>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

/// Returns whether entries of a kind may have parts. The others are hidden, so that outputs for people need not read them.
pub fn may_have_parts(kind: Kind) -> bool {
    most_visible(kind, |_| true) != Visibility::Hidden
}

/// Returns the most visible that an entry can be, from what its node keeps and without its body: `has` says which flags the node
/// has. Only [`Item::visibility`] says how visible it is. Results of calls are not meant; they belong to their calls.
pub fn most_visible(kind: Kind, has: impl Fn(Flag) -> bool) -> Visibility {
    match kind {
        Kind::User | Kind::Attachment | Kind::System if has(Flag::Meta) => Visibility::Context,
        Kind::User | Kind::Assistant | Kind::Attachment => Visibility::Conversation,
        // Slash commands of some versions are in system entries.
        Kind::System if has(Flag::LocalCommand) => Visibility::Conversation,
        Kind::System | Kind::ContentReplacement => Visibility::Folded,
        Kind::AttributionSnapshot => Visibility::Context,
        _ => Visibility::Hidden,
    }
}

impl<'a> Item<'a> {
    /// Interprets an entry.
    pub fn of(entry: &Entry<'a>) -> Self {
        let parts = match entry.kind() {
            Kind::User => Some(of_user(entry)),
            Kind::Assistant => Some(of_reply(entry)),
            Kind::System => entry.view::<System>().map(|system| of_notice(&system)),
            Kind::Attachment => {
                entry.view::<Attachment>().map(|attachment| of_attachment(entry, &attachment))
            }
            Kind::ContentReplacement => entry.view::<ContentReplacement>().map(of_replacement),
            Kind::AttributionSnapshot => Some(vec![of_attribution(entry)]),
            _ => None,
        };
        let limit = match entry.kind() {
            _ if parts.is_none() => Visibility::Hidden,
            Kind::User | Kind::Attachment | Kind::System if entry.has(Flag::Meta) => Visibility::Context,
            _ => Visibility::Conversation,
        };
        let parts = parts.unwrap_or_default();
        let role = match entry.kind() {
            Kind::User => Some(Role::User),
            Kind::Assistant => Some(Role::Assistant),
            Kind::Attachment if limit == Visibility::Conversation && is_queued_prompt(entry) => {
                Some(Role::User)
            }
            // Some slash commands are in system entries.
            _ if parts.iter().any(Part::speaks_to_model) => Some(Role::User),
            _ => None,
        };
        Self { role, parts, limit }
    }

    /// Returns the visibility of the item, which is that of its most visible part. A message without parts is conversation.
    pub fn visibility(&self) -> Visibility {
        let most_visible = self.parts.iter().map(|part| self.visibility_of(part)).min();
        match most_visible {
            Some(visibility) => visibility,
            None if self.role.is_some() => self.limit,
            None => Visibility::Hidden,
        }
    }

    /// Returns the visibility of a part of the item.
    pub fn visibility_of(&self, part: &Part<'_>) -> Visibility {
        match part {
            // The result of a call belongs to the call, whatever else the entry is.
            Part::Result(_) => Visibility::Conversation,
            part => part.visibility().max(self.limit),
        }
    }

    /// Returns the inputs among the parts.
    pub fn inputs(&self) -> impl Iterator<Item = &Input<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Input(input) => Some(input),
            _ => None,
        })
    }
}

impl Part<'_> {
    fn visibility(&self) -> Visibility {
        match self {
            Part::Input(input) => of_input(input.kind),
            Part::Text(_)
            | Part::RequestError(_)
            | Part::Thinking(_)
            | Part::RedactedThinking
            | Part::Call(_)
            | Part::ServerCall(_)
            | Part::Result(_)
            | Part::ServerResult(_)
            | Part::Image(_)
            | Part::Document(_)
            | Part::Other(_) => Visibility::Conversation,
            Part::Notice(_) => Visibility::Folded,
            Part::Context(_) => Visibility::Context,
        }
    }

    /// Returns whether the part is input for the model from outside of Claude Code: of a person, another agent or a
    /// background task.
    fn speaks_to_model(&self) -> bool {
        let Part::Input(input) = self else { return false };
        matches!(
            input.kind,
            InputKind::Prompt
                | InputKind::Queued
                | InputKind::Command
                | InputKind::Bash
                | InputKind::Teammate
                | InputKind::TaskNotification
        )
    }
}

/// Returns whether an entry is input that a person or a background task queued for the model.
fn is_queued_prompt(entry: &Entry<'_>) -> bool {
    let queued = entry.view::<Attachment>().and_then(|attachment| attachment.queued_command());
    queued.is_some_and(|queued| prompt::kind_of_queued(&queued) != InputKind::Injected)
}

/// Returns the visibility of an input.
fn of_input(kind: InputKind) -> Visibility {
    match kind {
        InputKind::Prompt
        | InputKind::Queued
        | InputKind::Command
        | InputKind::Bash
        | InputKind::ToolResult
        | InputKind::Interrupt
        // It replaces a part of the conversation.
        | InputKind::CompactSummary => Visibility::Conversation,
        InputKind::Output
        | InputKind::Teammate
        | InputKind::TaskNotification
        | InputKind::Hook
        | InputKind::IdeSelection
        | InputKind::IdeOpenedFile => Visibility::Folded,
        InputKind::Skill | InputKind::Injected => Visibility::Context,
    }
}

fn of_user<'a>(entry: &Entry<'a>) -> Vec<Part<'a>> {
    let content = entry.content();
    if entry.has(Flag::CompactSummary) {
        let summary = Input::new(InputKind::CompactSummary, content.text());
        let others = content.blocks().filter(|block| !matches!(block, Block::Text(_)));
        return std::iter::once(Part::Input(summary)).chain(others.map(of_block)).collect();
    }
    let words = if entry.has(Flag::Meta) { InputKind::Injected } else { InputKind::Prompt };
    of_content(content, words)
}

/// Returns the parts of input content; text without a wrapper gets the kind `words`.
fn of_content(content: Content<'_>, words: InputKind) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for block in content.blocks() {
        match block {
            Block::Text(text) => {
                parts.extend(prompt::in_block(text.text(), words).into_iter().map(Part::Input));
            }
            block => parts.push(of_block(block)),
        }
    }
    parts
}

fn of_reply<'a>(entry: &Entry<'a>) -> Vec<Part<'a>> {
    let parts = entry.content().blocks().map(of_block);
    if !entry.has(Flag::ApiError) {
        return parts.collect();
    }
    let errors = parts.map(|part| match part {
        Part::Text(text) => Part::RequestError(text),
        part => part,
    });
    errors.collect()
}

fn of_block(block: Block<'_>) -> Part<'_> {
    match block {
        Block::Text(text) => Part::Text(text),
        Block::Thinking(thinking) => Part::Thinking(thinking),
        Block::RedactedThinking(_) => Part::RedactedThinking,
        Block::ToolUse(call) => Part::Call(call),
        Block::ServerToolUse(call) => Part::ServerCall(call),
        Block::ToolResult(result) => Part::Result(result),
        Block::ServerToolResult(result) => Part::ServerResult(result),
        Block::Image(media) => Part::Image(media),
        Block::Document(media) => Part::Document(media),
        Block::ToolReference(_) | Block::Other(_) => Part::Other(block),
    }
}

fn of_notice<'a>(system: &System<'a>) -> Vec<Part<'a>> {
    let text = system.content().filter(|text| !text.trim().is_empty());
    match system.kind() {
        SystemKind::CompactBoundary(boundary) => vec![Part::Notice(Notice::Compaction(boundary))],
        SystemKind::ApiError(error) => vec![Part::Notice(Notice::Retry(error))],
        SystemKind::TurnDuration => Vec::new(),
        SystemKind::LocalCommand => text.map_or_else(Vec::new, |text| {
            prompt::in_block(text, InputKind::Output).into_iter().map(Part::Input).collect()
        }),
        _ => vec![text.map_or_else(|| notice_without_text(system), |text| Part::Notice(Notice::Text(text)))],
    }
}

/// Returns the part for a notice without text: only its name is known.
fn notice_without_text<'a>(system: &System<'a>) -> Part<'a> {
    let name = system.subtype().unwrap_or(Cow::Borrowed("system")).into_owned();
    Part::Context(Context { name, payload: None })
}

/// Returns the notice of tool results that were replaced. A record that replaces nothing is hidden.
fn of_replacement(record: ContentReplacement<'_>) -> Vec<Part<'_>> {
    let is_empty = record.replacements().next().is_none();
    if is_empty { Vec::new() } else { vec![Part::Notice(Notice::Replaced(record))] }
}

/// Returns which lines of files the session wrote. The fields are not known, so it is context as it is in the file.
fn of_attribution<'a>(entry: &Entry<'a>) -> Part<'a> {
    Part::Context(Context { name: "attribution snapshot".to_owned(), payload: entry.body() })
}

fn of_attachment<'a>(entry: &Entry<'a>, attachment: &Attachment<'a>) -> Vec<Part<'a>> {
    if let Some(queued) = attachment.queued_command() {
        let words = match prompt::kind_of_queued(&queued) {
            InputKind::Queued if entry.has(Flag::Meta) => InputKind::Injected,
            kind => kind,
        };
        return of_content(queued.prompt(), words);
    }
    let Some(payload) = attachment.payload() else { return Vec::new() };
    let part = match attachment.kind() {
        AttachmentKind::HookAdditionalContext | AttachmentKind::HookBlockingError => {
            Part::Input(Input::new(InputKind::Hook, hook_text(payload)))
        }
        AttachmentKind::HookSystemMessage => {
            Part::Notice(Notice::Hook { name: hook_name(payload), text: hook_text(payload), failed: false })
        }
        AttachmentKind::HookNonBlockingError | AttachmentKind::HookCancelled => {
            Part::Notice(Notice::Hook { name: hook_name(payload), text: hook_text(payload), failed: true })
        }
        AttachmentKind::HookSuccess => {
            Part::Context(Context { name: format!("hook {}", hook_name(payload)), payload: Some(payload) })
        }
        _ => Part::Context(Context { name: name_of(payload), payload: Some(payload) }),
    };
    vec![part]
}

fn hook_name(payload: Value<'_>) -> Cow<'_, str> {
    payload.text("hookName").unwrap_or(Cow::Borrowed("hook"))
}

/// Returns the text of a hook: the reason why it blocked, or else the first of its outputs that is not blank.
fn hook_text(payload: Value<'_>) -> Cow<'_, str> {
    let reason = payload.get("blockingError").and_then(|error| error.text("blockingError"));
    let outputs = ["content", "stderr", "stdout"].into_iter().filter_map(|key| payload.get(key));
    let mut texts = reason.into_iter().chain(outputs.map(|text| Content::new(Some(text)).text()));
    texts.find(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// Returns the name of a context part: its type, and the file that it is about.
fn name_of(payload: Value<'_>) -> String {
    let kind = payload.text("type").unwrap_or(Cow::Borrowed("attachment"));
    let file = payload.text("displayPath").or_else(|| payload.text("filename"));
    file.map_or_else(|| kind.to_string(), |file| format!("{kind} {file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(line: &str) -> Item<'_> {
        Item::of(&Entry::new(line.as_bytes()))
    }

    #[test]
    fn visibility_is_that_of_the_most_visible_part() {
        use Visibility::{Context, Conversation, Folded, Hidden};
        for (line, visibility) in [
            (r#"{"type":"user","message":{"content":"Brew 茶"}}"#, Conversation),
            (r#"{"type":"user","message":{"content":[]}}"#, Conversation),
            (r#"{"type":"user","isMeta":true,"message":{"content":"Brew"}}"#, Context),
            (
                r#"{"type":"user","isMeta":true,"message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#,
                Conversation,
            ),
            (r#"{"type":"user","message":{"content":"<bash-stdout>x</bash-stdout>"}}"#, Folded),
            (
                r#"{"type":"user","message":{"content":"<ide_selection>x</ide_selection> Explain"}}"#,
                Conversation,
            ),
            (r#"{"type":"user","message":{"content":"<system-reminder>x</system-reminder>"}}"#, Context),
            (r#"{"type":"assistant","message":{"content":[]}}"#, Conversation),
            (r#"{"type":"system","subtype":"local_command","content":"printed"}"#, Folded),
            (
                r#"{"type":"system","subtype":"local_command","content":"<command-name>/cost</command-name>"}"#,
                Conversation,
            ),
            (r#"{"type":"system","subtype":"informational","content":"x"}"#, Folded),
            (r#"{"type":"system","subtype":"informational","isMeta":true,"content":"x"}"#, Context),
            (r#"{"type":"system","subtype":"compact_boundary"}"#, Folded),
            (r#"{"type":"system","subtype":"turn_duration"}"#, Hidden),
            (r#"{"type":"system","subtype":"bridge_status"}"#, Context),
            (r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"x"}}"#, Conversation),
            (
                r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"x","isMeta":true}}"#,
                Context,
            ),
            (
                r#"{"type":"attachment","attachment":{"type":"hook_additional_context","hookName":"Stop","content":["x"]}}"#,
                Folded,
            ),
            (r#"{"type":"attachment","attachment":{"type":"hook_success","hookName":"Stop"}}"#, Context),
            (r#"{"type":"attachment","attachment":{"type":"file","filename":"a"}}"#, Context),
            (r#"{"type":"attachment"}"#, Hidden),
            (r#"{"type":"last-prompt","leafUuid":"a"}"#, Hidden),
            (r#"{"type":"content-replacement","replacements":[]}"#, Hidden),
            (r#"{"type":"content-replacement","replacements":[{"toolUseId":"t"}]}"#, Folded),
            (r#"{"type":"attribution-snapshot"}"#, Context),
            ("noise", Hidden),
        ] {
            assert_eq!(item(line).visibility(), visibility, "{line}");
        }
    }

    #[test]
    fn whoever_types_is_the_user_wherever_that_stands() {
        for (line, role) in [
            (
                r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"x"}}"#,
                Some(Role::User),
            ),
            (
                r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"image"}]}}"#,
                Some(Role::User),
            ),
            (r#"{"type":"attachment","attachment":{"type":"file"}}"#, None),
            (r#"{"type":"system","subtype":"local_command","content":"printed"}"#, None),
            (r#"{"type":"assistant","message":{"content":"x"}}"#, Some(Role::Assistant)),
        ] {
            assert_eq!(item(line).role, role, "{line}");
        }
    }

    #[test]
    fn words_beside_a_result_are_an_input() {
        let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"Not so hot"}]}}"#;
        let item = item(line);
        let texts: Vec<_> = item.inputs().map(|input| (input.kind, &*input.text)).collect();
        assert_eq!(texts, [(InputKind::Prompt, "Not so hot")]);
        assert!(matches!(item.parts[0], Part::Result(_)));
    }

    #[test]
    fn a_hook_says_why_it_blocked_before_what_it_printed() {
        let line = r#"{"type":"attachment","attachment":{"type":"hook_blocking_error","hookName":"Stop","blockingError":{"blockingError":"Fill it"},"stdout":"log"}}"#;
        let item = item(line);
        let [Part::Input(input)] = &item.parts[..] else { panic!("{item:?}") };
        assert_eq!((input.kind, &*input.text), (InputKind::Hook, "Fill it"));
    }
}
