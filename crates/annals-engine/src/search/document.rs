//! What is searched: the documents that an entry gives, one for each part with text.
//!
//! [`Item`] decides what an entry means. Here its parts become texts, and get the fields that filters ask for. Context that
//! Claude Code added for the model is not searched: the same reminders stand in every session.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash, Hasher};
use std::path::Path;

use annals_search::{Part, Role};
use annals_transcript::content::{ToolResult, ToolUse};
use annals_transcript::entry::view::{AiTitle, Assistant, CustomTitle, Summary, User};
use annals_transcript::item::{self, Item, Notice, Visibility};
use annals_transcript::json::{JsonStr, Value};
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::{Entry, Kind, model, tool};
use foldhash::quality::FixedState;
use jiff::Timestamp;

use super::TextFilter;
use crate::catalog::is_from_root;

/// One part of an entry, with everything that is asked about it but its tool: a result does not name its tool, its call does.
#[derive(Clone, Debug)]
pub(super) struct Document<'e> {
    /// The number of the part in its entry.
    pub(super) number: usize,
    pub(super) part: Part,
    pub(super) role: Role,
    /// The call that the text belongs to, by its id.
    pub(super) call: Option<Cow<'e, str>>,
    /// Whether it is the result of a call that failed, or says that something else did.
    pub(super) is_error: bool,
    /// The text, as it is in the transcript.
    pub(super) text: Cow<'e, str>,
    /// The arguments of a call, which the text is made of.
    pub(super) arguments: Option<Value<'e>>,
    /// The tool and the files of a call.
    pub(super) subject: Option<Subject>,
}

/// What a call is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) tool: Option<String>,
    /// The files that it reads or writes.
    pub(super) files: Vec<String>,
}

/// What the parts of an entry have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Setting<'e> {
    pub(super) project: Option<Cow<'e, str>>,
    pub(super) branch: Option<Cow<'e, str>>,
    pub(super) model: Option<Cow<'e, str>>,
    /// Milliseconds since 1970.
    pub(super) time: Option<i64>,
}

impl<'e> Setting<'e> {
    pub(super) fn of(entry: &Entry<'e>) -> Self {
        let head = entry.head();
        let decoded = |text: Option<JsonStr<'e>>| text.map(JsonStr::decode).filter(|text| !text.is_empty());
        Self {
            project: decoded(head.cwd),
            branch: decoded(head.git_branch),
            model: entry.view::<Assistant<'_>>().and_then(|reply| reply.model()),
            time: head.time().map(Timestamp::as_millisecond),
        }
    }
}

/// Returns the documents of an entry, in order.
pub(super) fn documents<'e>(entry: &Entry<'e>) -> Vec<Document<'e>> {
    if let Some(title) = title(entry) {
        let document = Document {
            number: 0,
            part: Part::Title,
            role: Role::System,
            call: None,
            is_error: false,
            text: title,
            arguments: None,
            subject: None,
        };
        return Some(document).filter(has_text).into_iter().collect();
    }
    let item = Item::of(entry);
    let role = match item.role {
        Some(model::Role::User) => Role::User,
        Some(model::Role::Assistant) => Role::Assistant,
        None => Role::System,
    };
    let visible = |part: &&item::Part<'e>| item.visibility_of(part) <= Visibility::Folded;
    let parts = item.parts.iter().enumerate().filter(|(_, part)| visible(part));
    parts.filter_map(|(number, part)| of_part(number, role, part)).filter(has_text).collect()
}

fn has_text(document: &Document<'_>) -> bool {
    !document.text.trim().is_empty()
}

/// Returns the title that a record gives to a session.
fn title<'e>(entry: &Entry<'e>) -> Option<Cow<'e, str>> {
    match entry.kind() {
        Kind::CustomTitle => entry.view::<CustomTitle<'_>>()?.title(),
        Kind::AiTitle => entry.view::<AiTitle<'_>>()?.title(),
        Kind::Summary => entry.view::<Summary<'_>>()?.summary(),
        _ => None,
    }
}

fn of_part<'e>(number: usize, role: Role, part: &item::Part<'e>) -> Option<Document<'e>> {
    let plain = |part, text, is_error| {
        Some(Document { number, part, role, call: None, is_error, text, arguments: None, subject: None })
    };
    let call = |call: &ToolUse<'e>| {
        let subject = Subject { tool: call.name().map(Cow::into_owned), files: tool::files(call) };
        let arguments = call.input();
        Some(Document {
            number,
            part: Part::ToolInput,
            role,
            call: call.id(),
            is_error: false,
            text: arguments.map(argument_text).unwrap_or_default().into(),
            arguments,
            subject: Some(subject),
        })
    };
    let result = |result: &ToolResult<'e>, is_error| {
        let (part, text) = (Part::ToolOutput, result.content().text());
        Some(Document {
            number,
            part,
            role,
            call: result.tool_use_id(),
            is_error,
            text,
            arguments: None,
            subject: None,
        })
    };
    match part {
        item::Part::Input(input) => plain(of_input(input.kind), input_text(input), false),
        item::Part::Text(text) => plain(Part::Reply, text.text(), false),
        item::Part::RequestError(text) => plain(Part::Notification, text.text(), true),
        item::Part::Thinking(thinking) => plain(Part::Thinking, thinking.thinking()?, false),
        item::Part::Call(use_) | item::Part::ServerCall(use_) => call(use_),
        item::Part::Result(found) => result(found, found.is_error()),
        item::Part::ServerResult(found) => result(found, tool::server_call_failed(found)),
        item::Part::Notice(notice) => {
            let is_error = matches!(notice, Notice::Retry(_) | Notice::Hook { failed: true, .. });
            plain(Part::Notification, Cow::Owned(notice.text().into_owned()), is_error)
        }
        _ => None,
    }
}

fn of_input(kind: InputKind) -> Part {
    match kind {
        InputKind::Prompt | InputKind::Queued | InputKind::Command | InputKind::Bash => Part::Prompt,
        InputKind::CompactSummary => Part::Summary,
        InputKind::ToolResult => Part::ToolOutput,
        InputKind::IdeSelection
        | InputKind::IdeOpenedFile
        | InputKind::TaskNotification
        | InputKind::Skill
        | InputKind::Teammate
        | InputKind::Hook
        | InputKind::Output
        | InputKind::Interrupt
        | InputKind::Injected => Part::Notification,
    }
}

/// Returns the text of an input; of a slash command, as it was typed.
fn input_text<'e>(input: &Input<'e>) -> Cow<'e, str> {
    match &input.command {
        Some(command) => Cow::Owned(format!("{command} {}", input.text)),
        None => input.text.clone(),
    }
}

/// Arguments that are nested deeper than this are searched as JSON.
const DEEPEST_ARGUMENT: usize = 16;

/// Returns the texts and numbers in the arguments of a call, a line each.
fn argument_text(arguments: Value<'_>) -> String {
    let mut text = String::new();
    add_arguments(arguments, DEEPEST_ARGUMENT, &mut text);
    text
}

fn add_arguments(value: Value<'_>, depth: usize, text: &mut String) {
    if depth > 0 && value.is_object() {
        value.members().for_each(|(_, member)| add_arguments(member, depth - 1, text));
    } else if depth > 0 && value.is_array() {
        value.items().for_each(|item| add_arguments(item, depth - 1, text));
    } else if !value.is_null() && value.as_bool().is_none() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&value.as_text().unwrap_or_else(|| String::from_utf8_lossy(value.bytes())));
    }
}

/// Returns the text that is indexed and shown: filtered, then cut to a number of bytes, between two characters.
pub(super) fn searched_text<'t>(
    document: &'t Document<'_>,
    filter: &dyn TextFilter,
    limit: usize,
) -> Cow<'t, str> {
    let filtered = match document.arguments.map(|arguments| filter.filter_arguments(arguments.bytes())) {
        Some(Cow::Owned(arguments)) => {
            let text = Value::new(&arguments).map(argument_text).unwrap_or_default();
            Cow::Owned(filter.filter(&text).into_owned())
        }
        _ => filter.filter(&document.text),
    };
    cut(filtered, limit)
}

/// Cuts a text to a number of bytes, between two characters.
fn cut(filtered: Cow<'_, str>, limit: usize) -> Cow<'_, str> {
    if filtered.len() <= limit {
        return filtered;
    }
    let end = (0..=limit).rev().find(|&end| filtered.is_char_boundary(end)).unwrap_or(0);
    match filtered {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

/// Returns a file that a call names as a path from the root, if the working directory is known.
pub(super) fn from_root(file: &str, project: Option<&str>) -> String {
    match project {
        Some(project) if !is_from_root(file) => format!("{project}/{file}"),
        _ => file.to_owned(),
    }
}

/// Returns a number that two documents share exactly if they are the same part of the same message: copies and forks of a
/// session have new ids for their entries, but times, texts and the ids of replies and calls stay.
///
/// Everything that is stored of a document is part of the number, except for its tool and its files. So it does not matter
/// which of several copies was indexed first.
pub(super) fn identity(
    path: &Path,
    offset: u64,
    entry: &Entry<'_>,
    setting: &Setting<'_>,
    document: &Document<'_>,
    searched: &str,
) -> i64 {
    let mut hasher = FixedState::default().build_hasher();
    let Setting { project, branch, model, time } = setting;
    (project, branch, model, time).hash(&mut hasher);
    (document.number, document.part, document.role, document.is_error, &document.call).hash(&mut hasher);
    entry.head().message_id.map(JsonStr::decode).hash(&mut hasher);
    if time.is_none() {
        key(path, offset, entry).hash(&mut hasher);
    }
    searched.hash(&mut hasher);
    hasher.finish().cast_signed()
}

/// Returns what tells an entry without a time from others with the same text.
fn key(path: &Path, offset: u64, entry: &Entry<'_>) -> String {
    let head = entry.head();
    let original = entry.view::<User<'_>>().and_then(|user| user.forked_from());
    let original = original.map(|(_, message)| message);
    // A title is repeated throughout its session, and has no id.
    let ids = [head.id, head.leaf, head.session].into_iter().flatten();
    let id = original.or_else(|| ids.map(JsonStr::decode).next());
    id.map_or_else(|| format!("{offset} {}", path.display()), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[(Part, Role, &str)]) {
        let entry = Entry::new(line.as_bytes());
        let found = documents(&entry);
        let found: Vec<_> =
            found.iter().map(|document| (document.part, document.role, &*document.text)).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn each_part_of_a_message_is_a_document() {
        check(r#"{"type":"user","message":{"content":"Brew 茶"}}"#, &[(Part::Prompt, Role::User, "Brew 茶")]);
        check(
            r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"Hmm"},{"type":"text","text":"Yes"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls -a","timeout":5,"quiet":true,"list":["a",null]}}]}}"#,
            &[
                (Part::Thinking, Role::Assistant, "Hmm"),
                (Part::Reply, Role::Assistant, "Yes"),
                (Part::ToolInput, Role::Assistant, "ls -a\n5\na"),
            ],
        );
        check(
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"one"},{"type":"image"},{"type":"text","text":"two"}]},{"type":"text","text":"Go on"}]}}"#,
            &[(Part::ToolOutput, Role::User, "one\ntwo"), (Part::Prompt, Role::User, "Go on")],
        );
        check(
            r#"{"type":"user","isCompactSummary":true,"message":{"content":"So far"}}"#,
            &[(Part::Summary, Role::User, "So far")],
        );
        check(
            r#"{"type":"user","message":{"content":"<command-name>/review</command-name><command-args>main.rs</command-args>"}}"#,
            &[(Part::Prompt, Role::User, "/review main.rs")],
        );
        check(
            r#"{"type":"system","subtype":"informational","content":"Saved"}"#,
            &[(Part::Notification, Role::System, "Saved")],
        );
        for (kind, key) in [("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary")]
        {
            let line = format!(r#"{{"type":"{kind}","{key}":"Tea timer"}}"#);
            check(&line, &[(Part::Title, Role::System, "Tea timer")]);
        }
    }

    #[test]
    fn context_records_and_empty_parts_are_not_searched() {
        for line in [
            r#"{"type":"user","isMeta":true,"message":{"content":"Injected"}}"#,
            r#"{"type":"user","message":{"content":"<system-reminder>x</system-reminder>"}}"#,
            r#"{"type":"attachment","attachment":{"type":"file","filename":"a","content":"x"}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"","signature":"x"}]}}"#,
            r#"{"type":"user","message":{"content":" \n"}}"#,
            r#"{"type":"last-prompt","lastPrompt":"x"}"#,
            "noise",
        ] {
            check(line, &[]);
        }
    }

    #[test]
    fn results_and_requests_that_failed_are_errors() {
        for (line, is_error) in [
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"x"}]}}"#,
                true,
            ),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#,
                false,
            ),
            (
                r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"x"}]}}"#,
                true,
            ),
            (r#"{"type":"user","message":{"content":"error"}}"#, false),
        ] {
            assert_eq!(documents(&Entry::new(line.as_bytes()))[0].is_error, is_error, "{line}");
        }
    }

    #[test]
    fn deep_arguments_are_searched_as_json() {
        let deep = format!("{}\"word\"{}", "[".repeat(100_000), "]".repeat(100_000));
        let line = format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t","name":"x","input":{{"a":{deep}}}}}]}}}}"#
        );
        let entry = Entry::new(line.as_bytes());
        assert!(documents(&entry).iter().all(|document| document.text.contains("word")));
    }

    #[test]
    fn text_is_filtered_before_it_is_cut_between_characters() {
        struct Shorter;
        impl TextFilter for Shorter {
            fn filter<'t>(&self, text: &'t str) -> Cow<'t, str> {
                text.replace("secret", "*").into()
            }

            fn fingerprint(&self) -> u64 {
                1
            }
        }
        let searched = |text: &str| {
            let line = format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#);
            searched_text(&documents(&Entry::new(line.as_bytes()))[0], &Shorter, 8).into_owned()
        };
        assert_eq!(searched("a secret 茶茶"), "a * 茶");
        assert_eq!(searched("short"), "short");
    }
}
