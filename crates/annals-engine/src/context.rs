//! How full the context of a session was, what filled it, and what compactions saved (section 9 of `docs/USAGE.md`).
//!
//! How full it was is a fact: each reply records the tokens of its prompt. What filled it is an estimate: the bytes of each message,
//! times a number of tokens for each byte that is measured in the same session, by how much the prompt grew from one reply to the next.
//! What the estimates do not explain, such as the system prompt and the definitions of tools, is stated as the rest.

mod bytes;

use std::collections::{BTreeMap, HashMap, HashSet};

use annals_transcript::entry::view::{Assistant, CompactBoundary, System, SystemKind};
use annals_transcript::full_view::Step;
use annals_transcript::session::{Id, Node};
use annals_transcript::turn::Tokens;
use annals_transcript::{Entry, Flag};

use crate::error::Error;
use crate::snapshot::Conversation;

use bytes::{Amount, Pieces};

/// The context window of most models.
const USUAL_WINDOW: u64 = 200_000;
/// The context window of newer models, of those whose name ends in `[1m]`, and of those whose prompts did not fit into the usual one.
const LARGE_WINDOW: u64 = 1_000_000;

/// The families of models, each with the first version that always has the large window. Opus 4.6 and Sonnet 4.6 have it in some plans only.
const LARGE_SINCE: [(&str, [u32; 2]); 4] =
    [("opus", [4, 7]), ("sonnet", [5, 0]), ("haiku", [5, 5]), ("fable", [5, 0])];
/// With fewer bytes between replies than this, the tokens for each byte cannot be measured.
const LEAST_BYTES: u64 = 2_000;
/// No tokenizer makes fewer or more tokens of a byte.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.05..=1.5;

/// How full the context of a session was, and what filled it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ContextUse {
    /// The model of the last reply.
    pub model: Option<String>,
    /// The tokens in the context: the prompt of the last reply, or what a compaction after it says that it left.
    pub tokens: Option<u64>,
    /// The most tokens of a prompt.
    pub peak: Option<u64>,
    /// The size of the context window in tokens, as far as the name of the model and the prompts tell: an estimate.
    pub window: Option<u64>,
    /// What filled it at the last reply, the most tokens first: estimates.
    pub parts: Vec<ContextPart>,
    /// What the estimates do not explain: the system prompt and tools, and what the estimates are wrong by. Negative if they are too high.
    pub rest: Option<i64>,
    /// Turns in which there was a reply.
    pub turns: Vec<TurnContext>,
    /// Compactions.
    pub compactions: Vec<CompactionEffect>,
    /// How estimates are made.
    pub estimate: Calibration,
}

/// A part of the context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextPart {
    /// What it is.
    pub kind: PartKind,
    /// The tool, or the type of attachment; empty for others.
    pub name: String,
    /// An estimate of its tokens.
    pub tokens: u64,
}

/// What a part of the context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// What a person wrote.
    Prompt,
    /// The text of replies.
    Reply,
    /// Reasoning.
    Thinking,
    /// Calls of tools, with their arguments.
    ToolCall,
    /// The output of tools.
    ToolResult,
    /// Context that Claude Code added: files, reminders, output of hooks.
    Attachment,
    /// Parts of the system prompt that the transcript has: instructions, lists of skills, tools and agents.
    System,
    /// The summary of what was compacted.
    Summary,
}

impl PartKind {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Reply => "reply",
            Self::Thinking => "thinking",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Attachment => "attachment",
            Self::System => "system",
            Self::Summary => "summary",
        }
    }
}

/// The context of a turn.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TurnContext {
    /// The number of the turn.
    pub turn: usize,
    /// When it started, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// How many replies there were.
    pub replies: u64,
    /// The tokens of the last prompt in it.
    pub tokens: u64,
    /// The most tokens of a prompt in it.
    pub peak: u64,
    /// What it added to the context, the most tokens first: estimates.
    pub added: Vec<ContextPart>,
}

/// What a compaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionEffect {
    /// The uuid of its entry.
    pub uuid: Option<String>,
    /// When, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The turn that it fell into.
    pub turn: Option<usize>,
    /// `auto` or `manual`.
    pub trigger: Option<String>,
    /// The tokens before: as it records them, or else those of the last prompt.
    pub before: Option<u64>,
    /// The tokens after: as it records them, or else those of the next prompt.
    pub after: Option<u64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
}

impl CompactionEffect {
    /// Returns how many tokens it saved.
    pub fn saved(&self) -> Option<u64> {
        self.before.zip(self.after).map(|(before, after)| before.saturating_sub(after))
    }
}

/// How tokens are estimated from bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Calibration {
    /// Tokens for each byte.
    pub tokens_per_byte: f64,
    /// How many steps from one reply to the next it was measured by; with 0 it is the usual one of the model.
    pub measured_steps: u64,
    /// How far the estimates of these steps are from the recorded growth, as a percentage of all growth.
    pub error_percent: Option<f64>,
}

/// How full the context of a session is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextLevel {
    /// The tokens in the context: the prompt of the last reply, or what a compaction after it says that it left.
    pub tokens: Option<u64>,
    /// The size of the context window in tokens: an estimate.
    pub window: Option<u64>,
}

/// Follows how full the context is, from one reply to the next.
#[derive(Default)]
struct Level {
    model: Option<String>,
    tokens: Option<u64>,
    peak: Option<u64>,
    /// The replies that were measured: lines of several replies may alternate.
    measured: HashSet<Id>,
}

impl Level {
    /// Takes the prompt of a reply from its first line; returns whether it is that.
    fn reply(&mut self, id: Option<Id>, prompt: u64, model: Option<&str>) -> bool {
        if prompt == 0 || id.is_some_and(|id| !self.measured.insert(id)) {
            return false;
        }
        self.model = model.map(Into::into).or_else(|| self.model.take());
        self.tokens = Some(prompt);
        self.peak = self.peak.max(Some(prompt));
        true
    }

    fn window(&self) -> Option<u64> {
        self.peak.map(|peak| context_window(self.model.as_deref(), peak))
    }
}

/// Returns the tokens of the prompt that a reply answers.
fn prompt_of(reply: &Assistant<'_>) -> u64 {
    let tokens = Tokens::of(reply);
    tokens.input.saturating_add(tokens.cache_creation).saturating_add(tokens.cache_read)
}

/// What the lines of a transcript say about its context, noted while they are read. [`context_use`] reads the live ones again, which
/// is too much for a list.
#[derive(Default)]
pub(crate) struct PromptSizes {
    /// By the place of the line.
    notes: HashMap<u64, SizeNote>,
}

enum SizeNote {
    Reply { prompt: u64, model: Option<String> },
    Compaction { left: Option<u64> },
}

impl PromptSizes {
    /// Notes what a line says.
    pub(crate) fn add(&mut self, entry: &Entry<'_>) {
        let note = if let Some(reply) = entry.view::<Assistant<'_>>() {
            let prompt = prompt_of(&reply);
            (prompt > 0).then(|| SizeNote::Reply { prompt, model: reply.model().map(Into::into) })
        } else if entry.head().is_boundary() {
            let left = entry.view::<System<'_>>().and_then(|view| match view.kind() {
                SystemKind::CompactBoundary(boundary) => boundary.post_tokens(),
                _ => None,
            });
            Some(SizeNote::Compaction { left })
        } else {
            None
        };
        self.notes.extend(note.map(|note| (entry.at().offset, note)));
    }

    /// Returns how full the context is at the end of the live conversation.
    pub(crate) fn fill(&self, conversation: &Conversation<'_>) -> ContextLevel {
        let nodes = conversation.session().nodes();
        let mut level = Level::default();
        for step in conversation.steps() {
            let Step::Entry { node, live: true } = *step else { continue };
            let node = &nodes[node];
            match self.notes.get(&node.at.offset).filter(|_| is_sent(node)) {
                Some(SizeNote::Reply { prompt, model }) => {
                    level.reply(node.message_id, *prompt, model.as_deref());
                }
                Some(SizeNote::Compaction { left }) => level.tokens = *left,
                None => {}
            }
        }
        ContextLevel { tokens: level.tokens, window: level.window() }
    }
}

/// Estimates the size of the context window from the name of the model and the tokens that were in it.
pub fn context_window(model: Option<&str>, used: u64) -> u64 {
    let is_large = used > USUAL_WINDOW || model.is_some_and(has_large_window);
    if is_large { LARGE_WINDOW.max(used) } else { USUAL_WINDOW }
}

/// Returns whether the name of a model says that it has the large window, such as `claude-opus-4-8` or `us.anthropic.claude-sonnet-5-v1:0`.
fn has_large_window(model: &str) -> bool {
    if model.ends_with("[1m]") {
        return true;
    }
    let model = model.to_ascii_lowercase();
    LARGE_SINCE.iter().any(|(family, first)| {
        // In the names of old models the version stands before the family.
        model.split_once(family).is_some_and(|(_, after)| version_at_start(after) >= *first)
    })
}

/// Returns the version that a text such as `-4-7-20260801` begins with; a number of more than two digits is a date.
fn version_at_start(text: &str) -> [u32; 2] {
    let mut numbers = text.split(['-', '.', '@', ':']).skip(1);
    let mut next = || numbers.next().filter(|number| number.len() <= 2)?.parse().ok();
    let Some(major) = next() else { return [0, 0] };
    [major, next().unwrap_or(0)]
}

/// Returns how full the context of a conversation was.
pub(crate) fn context_use(conversation: &Conversation<'_>) -> Result<ContextUse, Error> {
    let mut walk = Walk::default();
    let nodes = conversation.session().nodes();
    for step in conversation.steps() {
        let Step::Entry { node, live: true } = *step else { continue };
        if is_sent(&nodes[node]) {
            let body = conversation.transcript().body(&nodes[node])?;
            walk.add(&Entry::new(&body), node, conversation);
        }
    }
    Ok(walk.finish(conversation))
}

/// Returns whether an entry may be a part of the context, or ends one.
fn is_sent(node: &Node) -> bool {
    let is_hidden = [Flag::Virtual, Flag::DisplayOnly, Flag::ApiError, Flag::Synthetic]
        .into_iter()
        .any(|flag| node.has(flag));
    node.kind.is_message() && !is_hidden
}

/// A part of the context by what it is and its name.
type Key = (PartKind, String);

/// Goes over the live entries of a session.
#[derive(Default)]
struct Walk {
    /// The names of tools by the ids of calls.
    tools: HashMap<String, String>,
    /// What each entry since the last compaction added.
    entries: Vec<(Option<Id>, Pieces)>,
    /// What is in the context.
    sums: BTreeMap<Key, Amount>,
    /// The part of it that came after the last prompt was sent.
    unsent: BTreeMap<Key, Amount>,
    /// The prompt of the last reply in this context.
    last_reply: Option<u64>,
    level: Level,
    /// From one reply to the next: by how much the prompt grew, and what was added.
    steps: Vec<(u64, Amount)>,
    turns: BTreeMap<usize, (TurnContext, BTreeMap<Key, Amount>)>,
    found: ContextUse,
    /// The compaction whose effect the next prompt shows.
    open_compaction: bool,
}

impl Walk {
    fn add(&mut self, entry: &Entry<'_>, index: usize, conversation: &Conversation<'_>) {
        let node = &conversation.session().nodes()[index];
        let turn = conversation.turn_of(index);
        if let Some(SystemKind::CompactBoundary(boundary)) =
            entry.view::<System<'_>>().map(|view| view.kind())
        {
            self.compact(&boundary, node, turn, conversation);
            return;
        }
        if let Some(reply) = entry.view::<Assistant<'_>>() {
            self.measure(&reply, node, turn);
        }
        let pieces = bytes::pieces(entry, node.has(Flag::CompactSummary), &mut self.tools);
        for (key, amount) in &pieces {
            self.sums.entry(key.clone()).or_default().add(*amount);
            self.unsent.entry(key.clone()).or_default().add(*amount);
            if let Some(turn) = turn {
                let (_, added) = self.turns.entry(turn).or_default();
                added.entry(key.clone()).or_default().add(*amount);
            }
        }
        if !pieces.is_empty() {
            self.entries.push((node.id, pieces));
        }
    }

    /// Takes the tokens of the prompt from the first line of a reply. Its own content is not yet a part of it.
    fn measure(&mut self, reply: &Assistant<'_>, node: &Node, turn: Option<usize>) {
        let prompt = prompt_of(reply);
        if !self.level.reply(node.message_id, prompt, reply.model().as_deref()) {
            return;
        }
        if let Some(before) = self.last_reply
            && let Some(growth) = prompt.checked_sub(before).filter(|growth| *growth > 0)
        {
            self.steps.push((growth, Amount::sum(self.unsent.values())));
        }
        self.last_reply = Some(prompt);
        self.unsent.clear();
        if std::mem::take(&mut self.open_compaction)
            && let Some(compaction) = self.found.compactions.last_mut()
        {
            compaction.after = compaction.after.or(Some(prompt));
        }
        if let Some(turn) = turn {
            let (turn, _) = self.turns.entry(turn).or_default();
            turn.replies += 1;
            turn.tokens = prompt;
            turn.peak = turn.peak.max(prompt);
        }
    }

    /// Begins a new context with the messages that the compaction keeps.
    fn compact(
        &mut self,
        boundary: &CompactBoundary<'_>,
        node: &Node,
        turn: Option<usize>,
        conversation: &Conversation<'_>,
    ) {
        let session = conversation.session();
        self.found.compactions.push(CompactionEffect {
            uuid: node.id.map(|id| session.id_texts().get(id)),
            time: node.time(),
            turn,
            trigger: boundary.trigger().map(Into::into),
            before: boundary.pre_tokens().or(self.last_reply),
            after: boundary.post_tokens(),
            duration_ms: boundary.duration_ms(),
        });
        self.open_compaction = true;
        self.last_reply = None;
        self.level.tokens = boundary.post_tokens();
        let kept = kept_entries(boundary, &self.entries, conversation);
        self.entries.retain(|(id, _)| id.is_some_and(|id| kept.contains(&id)));
        self.sums.clear();
        self.unsent.clear();
        for (key, amount) in self.entries.iter().flat_map(|(_, pieces)| pieces) {
            self.sums.entry(key.clone()).or_default().add(*amount);
        }
    }

    fn finish(mut self, conversation: &Conversation<'_>) -> ContextUse {
        let calibration = calibrate(&self.steps, self.level.model.as_deref());
        // What came after the last prompt was not in it.
        for (key, amount) in &self.unsent {
            if let Some(sum) = self.sums.get_mut(key) {
                sum.subtract(*amount);
            }
        }
        let parts = parts(self.sums, calibration.tokens_per_byte);
        let explained: u64 = parts.iter().map(|part| part.tokens).sum();
        let rest = self.level.tokens.map(|tokens| signed(tokens) - signed(explained));
        let started = conversation.turns().iter().map(|turn| (turn.number, turn.started_at));
        let started: HashMap<_, _> = started.collect();
        let turns = self.turns.into_iter().filter(|(_, (turn, _))| turn.replies > 0);
        let turns = turns.map(|(number, (turn, added))| TurnContext {
            turn: number,
            started_at: started.get(&number).copied().flatten(),
            added: self::parts(added, calibration.tokens_per_byte),
            ..turn
        });
        ContextUse {
            window: self.level.window(),
            parts: if self.level.tokens.is_some() { parts } else { Vec::new() },
            model: self.level.model,
            tokens: self.level.tokens,
            peak: self.level.peak,
            rest,
            turns: turns.collect(),
            estimate: calibration,
            ..self.found
        }
    }
}

/// Returns the entries that a compaction keeps in the context.
fn kept_entries(
    boundary: &CompactBoundary<'_>,
    entries: &[(Option<Id>, Pieces)],
    conversation: &Conversation<'_>,
) -> HashSet<Id> {
    let session = conversation.session();
    if let Some(kept) = boundary.preserved_messages() {
        return kept.ids().into_iter().chain(kept.all_ids()).filter_map(|text| session.id(&text)).collect();
    }
    let Some(segment) = boundary.preserved_segment() else { return HashSet::new() };
    let [head, tail] = [segment.head(), segment.tail()].map(|text| {
        let wanted = session.id(&text?)?;
        entries.iter().position(|(id, _)| *id == Some(wanted))
    });
    match (head, tail) {
        (Some(head), Some(tail)) if head <= tail => {
            entries[head..=tail].iter().filter_map(|(id, _)| *id).collect()
        }
        _ => HashSet::new(),
    }
}

/// Measures the tokens for each byte: the median over all steps, each of which counts by its bytes. A step in which something was added
/// that the transcript does not have is then an outlier, and does not change the others.
#[expect(clippy::cast_precision_loss, reason = "an estimate needs few digits")]
fn calibrate(steps: &[(u64, Amount)], model: Option<&str>) -> Calibration {
    let mut ratios: Vec<(f64, u64)> = steps
        .iter()
        .filter(|(_, added)| added.bytes > 0)
        .map(|(growth, added)| (growth.saturating_sub(added.tokens) as f64 / added.bytes as f64, added.bytes))
        .filter(|(ratio, _)| PLAUSIBLE.contains(ratio))
        .collect();
    let all: u64 = ratios.iter().map(|(_, bytes)| bytes).sum();
    if all < LEAST_BYTES {
        return Calibration { tokens_per_byte: usual_tokens_per_byte(model), ..Calibration::default() };
    }
    ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut below = 0;
    let median = ratios.iter().find(|(_, bytes)| {
        below += bytes;
        2 * below >= all
    });
    let tokens_per_byte = median.map_or(usual_tokens_per_byte(model), |(ratio, _)| *ratio);
    let growth: u64 = steps.iter().map(|(growth, _)| growth).sum();
    let wrong: f64 = steps
        .iter()
        .map(|(growth, added)| (added.estimate(tokens_per_byte) as f64 - *growth as f64).abs())
        .sum();
    Calibration {
        tokens_per_byte,
        measured_steps: ratios.len() as u64,
        error_percent: (growth > 0).then(|| wrong * 100.0 / growth as f64),
    }
}

/// Returns the usual number of tokens for each byte: models since Opus 4.7 make about 30 % more of the same text.
fn usual_tokens_per_byte(model: Option<&str>) -> f64 {
    let older = [
        "claude-3", "claude-2", "opus-4-0", "opus-4-1", "opus-4-2", "opus-4-5", "opus-4-6", "sonnet-4",
        "haiku-4",
    ];
    match model {
        Some(model) if model.starts_with("claude") && !older.iter().any(|name| model.contains(name)) => 0.33,
        _ => 0.25,
    }
}

/// Returns parts with estimated tokens, the most first.
fn parts(sums: BTreeMap<Key, Amount>, tokens_per_byte: f64) -> Vec<ContextPart> {
    let parts = sums.into_iter().map(|((kind, name), amount)| ContextPart {
        kind,
        name,
        tokens: amount.estimate(tokens_per_byte),
    });
    let mut parts: Vec<_> = parts.filter(|part| part.tokens > 0).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    parts
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
