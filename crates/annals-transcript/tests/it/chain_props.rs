//! The conversation and the full view of arbitrary graphs of entries.

use annals_transcript::Kind;
use annals_transcript::chain::Chain;
use annals_transcript::duplicate::Duplicates;
use annals_transcript::full_view::{self, Step};
use annals_transcript::json::Value;
use annals_transcript::model::{self, Part};
use annals_transcript::session::{BlockSpan, Id, Session};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;
use testkit::naive::{self, Message};

/// A line of a session before it is known how many lines there are.
#[derive(Clone, Debug)]
struct Line {
    body: Body,
    /// The entry whose id it repeats, if it does.
    duplicate_of: Option<Index>,
    parent: Reference,
    clock: Clock,
    is_side: bool,
    is_meta: bool,
    is_virtual: bool,
}

#[derive(Clone, Debug)]
enum Body {
    User { content: Content, is_summary: bool },
    Assistant { reply: Reply, content: Content, error: Option<&'static str> },
    TurnDuration,
    LocalCommand { content: Content, is_display_only: bool },
    Boundary { messages: Option<(Option<Reference>, Vec<Reference>)>, segment: Option<[Reference; 3]> },
    Date,
    QueuedCommand { prompt: Content, is_human_turn: bool, rendered: Option<Content> },
    Progress,
    Unknown,
    LastPrompt { leaf: Reference, explicit: bool },
}

/// What the lines of a reply share.
#[derive(Clone, Copy, Debug)]
enum Reply {
    Id(&'static str),
    Request,
    None,
}

#[derive(Clone, Debug)]
enum Content {
    Missing,
    String(&'static str),
    Blocks(Vec<Block>),
}

#[derive(Clone, Copy, Debug)]
enum Block {
    /// Text that names the line it is in, so that no two are the same.
    Text,
    Blank(&'static str),
    Thinking,
    Call(&'static str),
    Result(&'static str),
    Image,
}

/// Names an entry.
#[derive(Clone, Debug)]
enum Reference {
    Null,
    /// So many lines before; the line itself with 0.
    Back(usize),
    Any(Index),
    Unknown,
    NoEntry,
}

/// What time it is, in milliseconds after the line before.
#[derive(Clone, Copy, Debug)]
enum Clock {
    Later(i64),
    Missing,
    Invalid,
}

const CALLS: [&str; 4] = ["c1", "c2", "c3", "c4"];

fn line() -> impl Strategy<Value = Line> {
    let duplicate_of = prop_oneof![20 => Just(None), 1 => any::<Index>().prop_map(Some)];
    let rarely = || proptest::bool::weighted(0.1);
    (body(), duplicate_of, parent(), clock(), rarely(), rarely(), proptest::bool::weighted(0.05)).prop_map(
        |(body, duplicate_of, parent, clock, is_side, is_meta, is_virtual)| Line {
            body,
            duplicate_of,
            parent,
            clock,
            is_side,
            is_meta,
            is_virtual,
        },
    )
}

fn parent() -> impl Strategy<Value = Reference> {
    prop_oneof![
        24 => Just(Reference::Back(1)),
        6 => (2_usize..6).prop_map(Reference::Back),
        1 => Just(Reference::Back(0)),
        4 => any::<Index>().prop_map(Reference::Any),
        2 => Just(Reference::Null),
        2 => Just(Reference::Unknown),
    ]
}

/// What a compaction or a `last-prompt` names.
fn target() -> impl Strategy<Value = Reference> {
    prop_oneof![
        6 => (0_usize..9).prop_map(Reference::Back),
        6 => any::<Index>().prop_map(Reference::Any),
        1 => Just(Reference::Unknown),
    ]
}

fn clock() -> impl Strategy<Value = Clock> {
    const STEPS: [i64; 12] = [0, 0, 1, 1000, 4999, 5000, 5001, 6000, -1, -1000, -5000, -7000];
    prop_oneof![
        8 => Just(Clock::Later(1000)),
        12 => select(&STEPS).prop_map(Clock::Later),
        1 => Just(Clock::Missing),
        1 => Just(Clock::Invalid),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        10 => (user_content(), proptest::bool::weighted(0.2))
            .prop_map(|(content, is_summary)| Body::User { content, is_summary }),
        10 => results().prop_map(|content| Body::User { content, is_summary: false }),
        20 => (reply(), reply_content(), error())
            .prop_map(|(reply, content, error)| Body::Assistant { reply, content, error }),
        1 => Just(Body::TurnDuration),
        3 => (command_content(), any::<bool>())
            .prop_map(|(content, is_display_only)| Body::LocalCommand { content, is_display_only }),
        2 => boundary(),
        3 => Just(Body::Date),
        2 => (user_content(), any::<bool>(), proptest::option::of(user_content())).prop_map(
            |(prompt, is_human_turn, rendered)| Body::QueuedCommand { prompt, is_human_turn, rendered },
        ),
        1 => Just(Body::Progress),
        1 => Just(Body::Unknown),
        1 => (last_prompt_leaf(), any::<bool>())
            .prop_map(|(leaf, explicit)| Body::LastPrompt { leaf, explicit }),
    ]
}

fn last_prompt_leaf() -> impl Strategy<Value = Reference> {
    prop_oneof![8 => target(), 1 => Just(Reference::Null), 1 => Just(Reference::NoEntry)]
}

fn boundary() -> impl Strategy<Value = Body> {
    let messages = (proptest::option::weighted(0.8, target()), proptest::collection::vec(target(), 0..4));
    let messages = prop_oneof![2 => Just(None), 1 => messages.prop_map(Some)];
    let segment = prop_oneof![2 => Just(None), 1 => [target(), target(), target()].prop_map(Some)];
    (messages, segment).prop_map(|(messages, segment)| Body::Boundary { messages, segment })
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        8 => select(&["m1", "m2", "m3"]).prop_map(Reply::Id),
        1 => Just(Reply::Request),
        1 => Just(Reply::None),
    ]
}

fn error() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![8 => Just(None), 1 => select(&["<synthetic>", "claude"]).prop_map(Some)]
}

fn user_content() -> impl Strategy<Value = Content> {
    let none = prop_oneof![Just(Content::Missing), Just(Content::Blocks(Vec::new()))];
    prop_oneof![1 => none, 6 => command_content()]
}

fn command_content() -> impl Strategy<Value = Content> {
    let block = prop_oneof![4 => Just(Block::Text), 1 => blank(), 1 => Just(Block::Image)];
    prop_oneof![
        1 => select(&["Hello.", " ", "", "<local-command-caveat>", "<command-name>"]).prop_map(Content::String),
        2 => proptest::collection::vec(block, 0..3).prop_map(Content::Blocks),
    ]
}

fn results() -> impl Strategy<Value = Content> {
    let block = prop_oneof![4 => select(&CALLS).prop_map(Block::Result), 1 => Just(Block::Text)];
    proptest::collection::vec(block, 1..4).prop_map(Content::Blocks)
}

fn reply_content() -> impl Strategy<Value = Content> {
    let block = prop_oneof![
        4 => select(&CALLS).prop_map(Block::Call),
        2 => Just(Block::Text),
        2 => Just(Block::Thinking),
        1 => blank(),
    ];
    proptest::collection::vec(block, 0..4).prop_map(Content::Blocks)
}

fn blank() -> impl Strategy<Value = Block> {
    select(&["", " ", "\n\t", "(no content)"]).prop_map(Block::Blank)
}

impl Content {
    fn json(&self, line: usize) -> serde_json::Value {
        match self {
            Content::Missing => serde_json::Value::Null,
            Content::String(text) => json!(text),
            Content::Blocks(blocks) => blocks.iter().map(|block| block.json(line)).collect(),
        }
    }
}

impl Block {
    fn json(self, line: usize) -> serde_json::Value {
        match self {
            Block::Text => json!({"type": "text", "text": format!("said in {line}")}),
            Block::Blank(text) => json!({"type": "text", "text": text}),
            Block::Thinking => json!({"type": "thinking", "thinking": "", "signature": "s"}),
            Block::Call(id) => json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}}),
            Block::Result(id) => json!({"type": "tool_result", "tool_use_id": id, "content": "done"}),
            Block::Image => json!({"type": "image", "source": {"type": "url", "url": "x"}}),
        }
    }
}

impl Reference {
    fn json(&self, line: usize, lines: usize) -> serde_json::Value {
        match self {
            Reference::Null => serde_json::Value::Null,
            Reference::Back(by) => line.checked_sub(*by).map(name).into(),
            Reference::Any(index) => name(index.index(lines)).into(),
            Reference::Unknown => "gone".into(),
            Reference::NoEntry => "00000000-0000-0000-0000-000000000000".into(),
        }
    }

    /// Returns it with an unknown entry in place of none.
    fn json_of_some(&self, line: usize, lines: usize) -> serde_json::Value {
        let name = self.json(line, lines);
        if name.is_null() { "gone".into() } else { name }
    }
}

fn name(line: usize) -> String {
    format!("e{line}")
}

/// Writes a session, one object a line.
fn written(lines: &[Line]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut now = 1_767_323_045_000;
    for (at, line) in lines.iter().enumerate() {
        let mut value = body_json(&line.body, at, lines.len());
        if !matches!(line.body, Body::LastPrompt { .. }) {
            value["uuid"] = line.duplicate_of.map_or(name(at), |index| name(index.index(lines.len()))).into();
            value["parentUuid"] = line.parent.json(at, lines.len());
        }
        match line.clock {
            Clock::Later(by) => {
                now += by;
                let time = Timestamp::from_millisecond(now).expect("the clock stays in this century");
                value["timestamp"] = format!("{time:.3}").into();
            }
            Clock::Invalid => value["timestamp"] = "soon".into(),
            Clock::Missing => {}
        }
        for (flag, on) in
            [("isSidechain", line.is_side), ("isMeta", line.is_meta), ("isVirtual", line.is_virtual)]
        {
            if on {
                value[flag] = true.into();
            }
        }
        file.extend(value.to_string().into_bytes());
        file.push(b'\n');
    }
    file
}

fn body_json(body: &Body, at: usize, lines: usize) -> serde_json::Value {
    match body {
        Body::User { content, is_summary } => json!({
            "type": "user", "isCompactSummary": is_summary,
            "message": {"role": "user", "content": content.json(at)},
        }),
        Body::Assistant { reply, content, error } => {
            let mut value = json!({"type": "assistant", "message": {"content": content.json(at)}});
            match reply {
                Reply::Id(id) => value["message"]["id"] = (*id).into(),
                Reply::Request => value["requestId"] = "r".into(),
                Reply::None => {}
            }
            if let Some(model) = error {
                value["isApiErrorMessage"] = true.into();
                value["message"]["model"] = (*model).into();
            }
            value
        }
        Body::TurnDuration => json!({"type": "system", "subtype": "turn_duration", "durationMs": 1}),
        Body::LocalCommand { content, is_display_only } => json!({
            "type": "system", "subtype": "local_command", "isDisplayOnly": is_display_only,
            "content": content.json(at),
        }),
        Body::Boundary { messages, segment } => {
            let name = |reference: &Reference| reference.json_of_some(at, lines);
            let mut metadata = json!({"trigger": "auto"});
            if let Some((anchor, kept)) = messages {
                let kept: Vec<_> = kept.iter().map(name).collect();
                metadata["preservedMessages"] =
                    json!({"anchorUuid": anchor.as_ref().map(name), "uuids": kept});
            }
            if let Some([head, anchor, tail]) = segment {
                metadata["preservedSegment"] =
                    json!({"headUuid": name(head), "anchorUuid": name(anchor), "tailUuid": name(tail)});
            }
            json!({"type": "system", "subtype": "compact_boundary", "compactMetadata": metadata})
        }
        Body::Date => json!({"type": "attachment", "attachment": {"type": "date"}}),
        Body::QueuedCommand { prompt, is_human_turn, rendered } => {
            let mut entry = json!({"type": "attachment", "attachment": {
                "type": "queued_command", "prompt": prompt.json(at), "humanTurn": is_human_turn,
                "commandMode": "prompt", "origin": {"kind": "human"},
            }});
            if let Some(content) = rendered {
                entry["rendered"] = json!([{"content": content.json(at)}]);
            }
            entry
        }
        Body::Progress => json!({"type": "progress", "data": {"type": "hook_progress"}}),
        Body::Unknown => json!({"type": "brand-new"}),
        Body::LastPrompt { leaf, explicit } => {
            json!({"type": "last-prompt", "leafUuid": leaf.json(at, lines), "explicit": explicit})
        }
    }
}

/// Returns what annals says that the client would send, spelled as [`naive::model`] spells it.
fn spelled(file: &[u8]) -> Option<Vec<Message>> {
    let session = Session::read(file).expect("a slice can be read");
    let chain = Chain::build(&session);
    if chain.obstacle().is_some() {
        return None;
    }
    let spell = |message: model::Message<'_>| Message {
        role: message.role.name(),
        parts: message.parts.iter().map(|part| spelled_part(file, part)).collect(),
    };
    Some(model::messages(&chain).iter().map(spell).collect())
}

fn spelled_part(file: &[u8], part: &Part<'_>) -> String {
    match part {
        Part::Block(block) => spelled_block(read(file, block)),
        Part::BlockWithNewline(block) => spelled_block(read(file, block)) + "\n",
        Part::Wrapped { blocks, .. } => {
            let texts = blocks.iter().filter(|block| block.kind.is_text()).map(|block| read(file, block));
            let texts = texts.map(|value| value.as_text().or(value.text("text")).unwrap_or_default());
            format!("wrapped {}", texts.collect::<Vec<_>>().join("\n"))
        }
        Part::Placeholder(made) => format!("made {}", made.text().chars().take(20).collect::<String>()),
        Part::PlaceholderResult { call, .. } => {
            format!("made result {}", read(file, call).text("id").expect("a call has an id"))
        }
    }
}

fn spelled_block(value: Value<'_>) -> String {
    if let Some(text) = value.as_text() {
        return format!("text {text}");
    }
    let member = |key| value.text(key).unwrap_or_default();
    match &*member("type") {
        "text" => format!("text {}", member("text")),
        "tool_use" => format!("call {}", member("id")),
        "tool_result" => format!("result {}", member("tool_use_id")),
        other => other.to_owned(),
    }
}

/// Reads the value at a span of the file.
fn read<'f>(file: &'f [u8], span: &BlockSpan) -> Value<'f> {
    let place = |place: u64| usize::try_from(place).expect("the file is in memory");
    let bytes = &file[place(span.offset)..place(span.offset + span.length)];
    Value::new(bytes).expect("a span holds a value")
}

/// Returns whether an entry with a result is brought in for more than one reply.
fn brings_a_result_twice(file: &[u8]) -> bool {
    let session = Session::read(file).expect("a slice can be read");
    let mut results = Chain::build(&session).entries();
    results.retain(|&node| session.nodes()[node].kind == Kind::User);
    let count = results.len();
    results.sort_unstable();
    results.dedup();
    results.len() < count
}

/// Returns the lines of the entries of the full view, in its order.
fn lines_of(session: &Session, steps: &[Step]) -> Vec<usize> {
    let duplicates = Duplicates::of(session);
    let mut lines = Vec::new();
    for step in steps {
        if let Step::Entry { node, .. } = *step {
            lines.push(node);
            lines.extend(duplicates.others(node));
        }
    }
    lines
}

/// Returns the uuids of the entries of the full view, sorted.
fn ids_of(session: &Session, steps: &[Step]) -> Vec<Id> {
    let id = |step: &Step| match step {
        Step::Entry { node, .. } => session.nodes()[*node].id,
        Step::Branch { .. } | Step::Gap { .. } | Step::Root { .. } => None,
    };
    let mut ids: Vec<_> = steps.iter().filter_map(id).collect();
    ids.sort_unstable();
    ids
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// The chain and the messages are what a naive reading of the rules gives.
    #[test]
    fn messages_are_those_of_the_naive_reading(lines in proptest::collection::vec(line(), 2..26)) {
        let file = written(&lines);
        // A result that two replies add occurs twice, and the rules do not say which of them moves: the client was
        // not asked.
        if brings_a_result_twice(&file) {
            return Ok(());
        }
        prop_assert_eq!(spelled(&file), naive::model(&file), "\n{}", String::from_utf8_lossy(&file));
    }

    /// The full view has every line in exactly one entry and every uuid once, whatever is a child of what.
    #[test]
    fn the_full_view_has_every_line_and_every_uuid_once(lines in proptest::collection::vec(line(), 2..26)) {
        let file = written(&lines);
        let session = Session::read(&file[..]).unwrap();
        let steps = full_view::of(&Chain::build(&session));
        let mut shown = lines_of(&session, &steps);
        shown.sort_unstable();
        let all: Vec<usize> = (0..session.nodes().len()).collect();
        prop_assert_eq!(shown, all, "\n{}", String::from_utf8_lossy(&file));
        let ids = ids_of(&session, &steps);
        prop_assert!(ids.is_sorted_by(|one, next| one < next), "\n{}", String::from_utf8_lossy(&file));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// No graph of thousands of entries takes long.
    #[test]
    fn large_graphs_are_resolved(lines in proptest::collection::vec(line(), 2000..4000)) {
        let file = written(&lines);
        let session = Session::read(&file[..]).unwrap();
        let chain = Chain::build(&session);
        let _ = model::messages(&chain);
        prop_assert_eq!(lines_of(&session, &full_view::of(&chain)).len(), session.nodes().len());
    }
}
