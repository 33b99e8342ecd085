//! Content that would be dropped or refused is changed until everything is sent.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use annals_transcript::Kind;
use annals_transcript::json::{Value, quote};
use annals_transcript::session::{BlockKind, BlockSpan, Id};
use annals_transcript::write::new_id;
use annals_usage::COPY_SUFFIX;

use super::content;
use super::edits::{
    ChangeKind, Edits, RelinkReason, common_fields, new_user_entry, set, set_in_message, time_text,
};
use super::plan::Attempt;
use crate::analysis::Evaluation;
use crate::analysis::graph::ItemIndex;
use crate::analysis::wanted::Callers;
use crate::request_rules::{self, Rule};

/// Changes edits for one reason; returns whether it changed something.
type Fix = fn(&Attempt<'_, '_>, &mut Edits, &Evaluation) -> bool;

/// Fixes that are tried together. A call that gets an id of its own may be one that has no result.
const FIXES: [&[Fix]; 7] = [
    &[fix_copies],
    &[fix_repeated_calls],
    &[fix_repeated_calls, fix_results],
    &[fix_results],
    &[fix_blocks],
    &[fix_images],
    &[fix_first],
];

/// The same fixes where it only has to be known whether one of them helps: those first that help where they find something to change.
const FIXES_TO_TRY: [&[Fix]; 7] = [
    &[fix_first],
    &[fix_blocks],
    &[fix_results],
    &[fix_images],
    &[fix_copies],
    &[fix_repeated_calls],
    &[fix_repeated_calls, fix_results],
];

/// After this many rounds of all fixes, the content is taken as it is.
const MAX_ROUNDS: usize = 8;

impl Attempt<'_, '_> {
    /// Changes content until the request would be accepted and nothing is dropped from it.
    pub(super) fn mend_content(&self, mut best: (Edits, Evaluation)) -> (Edits, Evaluation) {
        for _ in 0..MAX_ROUNDS {
            let mut improved = false;
            for fixes in FIXES {
                let Some(mended) = self.fixed(fixes, &best) else { continue };
                if mended.1.score() < best.1.score() {
                    best = mended;
                    improved = true;
                }
            }
            if !improved {
                break;
            }
        }
        best
    }

    /// Returns whether [`Attempt::mend_content`] finds something better.
    pub(super) fn can_mend_content(&self, from: &(Edits, Evaluation)) -> bool {
        let mut mended = FIXES_TO_TRY.into_iter().filter_map(|fixes| self.fixed(fixes, from));
        mended.any(|mended| mended.1.score() < from.1.score())
    }

    /// Carries out fixes one after the other; `None` if one of them changes nothing.
    fn fixed(&self, fixes: &[Fix], from: &(Edits, Evaluation)) -> Option<(Edits, Evaluation)> {
        let mut current: Option<(Edits, Evaluation)> = None;
        for fix in fixes {
            let (edits, now) = current.as_ref().unwrap_or(from);
            let mut edits = edits.clone();
            if !fix(self, &mut edits, now) {
                return None;
            }
            self.end(&mut edits);
            let after = self.evaluate_edits(&edits);
            current = Some((edits, after));
        }
        current
    }

    fn set_content(&self, edits: &mut Edits, item: ItemIndex, content: &str, rule: &'static str) {
        let json = set_in_message(&self.json(edits, item), "content", content);
        self.change(edits, item, json, ChangeKind::Content { rule });
    }

    fn blocks(&self, item: ItemIndex) -> &[BlockSpan] {
        self.session().blocks(self.node(item))
    }
}

/// Returns the content of a message.
fn content_of(json: &[u8]) -> Option<Value<'_>> {
    Value::new(json)?.get("message")?.get("content")
}

fn is_result(block: &BlockSpan) -> bool {
    matches!(block.kind, BlockKind::ToolResult(_))
}

/// Gives copies another reply id.
fn fix_copies(attempt: &Attempt<'_, '_>, edits: &mut Edits, now: &Evaluation) -> bool {
    for &item in now.copies.iter().take(attempt.most_changes) {
        let json = attempt.json(edits, item);
        let message = Value::new(&json).and_then(|entry| entry.get("message"));
        let Some(id) = message.and_then(|message| message.text("id")) else { continue };
        let changed = set_in_message(&json, "id", &quote(&format!("{id}{COPY_SUFFIX}")));
        attempt.change(edits, item, changed, ChangeKind::Copy);
    }
    !now.copies.is_empty()
}

fn is_call_or_result(block: &BlockSpan) -> bool {
    block.kind == BlockKind::ToolUse || is_result(block)
}

/// Gives calls whose id another call has an id of their own, together with their results.
fn fix_repeated_calls(attempt: &Attempt<'_, '_>, edits: &mut Edits, now: &Evaluation) -> bool {
    let is_needed = now.missing.iter().any(|missing| {
        let blocks = attempt.blocks(missing.item);
        missing.blocks.iter().any(|&block| blocks.get(block).is_some_and(is_call_or_result))
    });
    if !is_needed {
        return false;
    }
    let missing = now.missing.iter().filter(|missing| attempt.node(missing.item).kind == Kind::Assistant);
    let renamed_in: HashSet<ItemIndex> =
        missing.map(|missing| missing.item).take(attempt.most_changes).collect();
    let mut calls = RepeatedCalls::default();
    let callers = Callers::of(attempt.graph());
    let mut has_changed = false;
    for &item in &attempt.wanted().entries {
        let spans = attempt.blocks(item);
        if !spans.iter().any(is_call_or_result) {
            continue;
        }
        // Only an entry that was changed before may have other ids than in the file. The others are not read.
        let is_changed = !edits.is_empty() && edits.get(attempt.uuid(item)).is_some();
        let changed = is_changed.then(|| attempt.json(edits, item));
        let blocks: Vec<Value<'_>> =
            changed.iter().filter_map(|json| content_of(json)).flat_map(Value::items).collect();
        let mut new_ids = HashMap::new();
        for (index, span) in spans.iter().enumerate() {
            let Some(id) = span.tool.filter(|_| is_call_or_result(span)) else { continue };
            let key = if is_result(span) { "tool_use_id" } else { "id" };
            let now = if is_changed {
                let Some(block) = blocks.get(index) else { break };
                Some(block.text(key).unwrap_or_default())
            } else {
                None
            };
            let in_file = || attempt.session().id_texts().get(id);
            let renamed = now.filter(|now| **now != in_file());
            let is_renamed = renamed.is_some();
            let new = if is_result(span) {
                let caller = callers.of_result(id, item);
                caller.and_then(|caller| calls.answer(id, caller))
            } else {
                let may_rename = !attempt.is_trial() || renamed_in.contains(&item);
                calls.call(id, item, renamed.as_deref(), may_rename.then_some(&in_file))
            };
            new_ids.extend(new.filter(|_| !is_renamed).map(|new| (index, new)));
        }
        if new_ids.is_empty() {
            continue;
        }
        let json = changed.unwrap_or_else(|| attempt.json(edits, item));
        let content = content_of(&json).and_then(|content| content::with_call_ids(content, &new_ids));
        if let Some(content) = content {
            attempt.set_content(edits, item, &content, "call-id-unique");
            has_changed = true;
        }
    }
    has_changed
}

/// The calls so far, by their ids in the file.
#[derive(Default)]
struct RepeatedCalls {
    counts: HashMap<Id, usize>,
    /// The new ids of the calls of each entry, the first one first; `None` for a call that keeps its id. The last one stays for further
    /// results.
    new_ids: HashMap<(Id, ItemIndex), VecDeque<Option<String>>>,
}

impl RepeatedCalls {
    /// Returns the new id of a call, if an earlier one has its id, or if it was renamed already. Without `in_file`, which returns the id that
    /// it has in the file, it keeps that.
    fn call(
        &mut self,
        id: Id,
        item: ItemIndex,
        renamed: Option<&str>,
        in_file: Option<&dyn Fn() -> String>,
    ) -> Option<String> {
        let count = self.counts.entry(id).or_default();
        *count += 1;
        let new = match (renamed, *count) {
            (Some(renamed), _) => Some(renamed.to_owned()),
            (None, 1) => None,
            // Claude Code takes `ID_2` as a part of the call `ID`.
            (None, count) => in_file.map(|in_file| format!("{}-call{count}", in_file())),
        };
        self.new_ids.entry((id, item)).or_default().push_back(new.clone());
        new
    }

    /// Returns the new id of a call that a result answers.
    fn answer(&mut self, id: Id, caller: ItemIndex) -> Option<String> {
        let new_ids = self.new_ids.get_mut(&(id, caller))?;
        if new_ids.len() > 1 { new_ids.pop_front()? } else { new_ids.front().cloned()? }
    }
}

/// Adds a result for every call that is left out because its result is lost.
fn fix_results(attempt: &Attempt<'_, '_>, edits: &mut Edits, now: &Evaluation) -> bool {
    let mut results: Option<Results> = None;
    let mut added = 0;
    for missing in now.missing.iter().filter(|missing| attempt.node(missing.item).kind == Kind::Assistant) {
        let spans = attempt.blocks(missing.item);
        let is_call = |block: &usize| spans.get(*block).is_some_and(|span| span.kind == BlockKind::ToolUse);
        if !missing.blocks.iter().any(is_call) {
            continue;
        }
        let json = attempt.json(edits, missing.item);
        let fields = common_fields(&json);
        let calls: Vec<Value<'_>> = content_of(&json).into_iter().flat_map(Value::items).collect();
        for &block in missing.blocks.iter().filter(|block| is_call(block)) {
            let id = calls.get(block).and_then(|call| call.text("id"));
            let Some(id) = id else { continue };
            let results = results.get_or_insert_with(|| Results::of(attempt));
            if !results.has(attempt, edits, &id, spans[block].tool) {
                results.add(attempt, edits, missing.item, &fields, &id);
                added += 1;
            }
        }
        if added >= attempt.most_changes {
            break;
        }
    }
    added > 0
}

/// The results of the conversation, and what follows each entry.
struct Results {
    by_call: HashMap<Option<Id>, Vec<ItemIndex>>,
    next: HashMap<ItemIndex, ItemIndex>,
    /// The calls that each entry answers which was looked at. The fix changes none of them.
    answered: HashMap<ItemIndex, HashSet<String>>,
}

impl Results {
    fn of(attempt: &Attempt<'_, '_>) -> Self {
        let mut by_call: HashMap<Option<Id>, Vec<ItemIndex>> = HashMap::new();
        for &item in &attempt.wanted().entries {
            for block in attempt.blocks(item).iter().filter(|block| is_result(block)) {
                let items = by_call.entry(block.tool).or_default();
                if items.last() != Some(&item) {
                    items.push(item);
                }
            }
        }
        let next = attempt.analysis.path.windows(2).map(|pair| (pair[0], pair[1])).collect();
        Self { by_call, next, answered: HashMap::new() }
    }

    /// Returns whether a call has a result; `old` is the id that it has in the file.
    fn has(&mut self, attempt: &Attempt<'_, '_>, edits: &Edits, id: &str, old: Option<Id>) -> bool {
        let Some(items) = self.by_call.get(&old) else { return false };
        items.iter().any(|&item| {
            let answered = self.answered.entry(item).or_insert_with(|| {
                let json = attempt.json(edits, item);
                let blocks = content_of(&json).into_iter().flat_map(Value::items);
                blocks.filter_map(|block| block.text("tool_use_id").map(Cow::into_owned)).collect()
            });
            answered.contains(id)
        })
    }

    /// Adds a result that says that the true one is lost, between the call and what follows it.
    fn add(&self, attempt: &Attempt<'_, '_>, edits: &mut Edits, call: ItemIndex, fields: &str, id: &str) {
        let text = "[The result of this call was lost.]";
        let block = format!(
            "[{{\"tool_use_id\":{},\"type\":\"tool_result\",\"content\":{},\"is_error\":true}}]",
            quote(id),
            quote(text)
        );
        let reply = attempt.node(call).message_id;
        let next = self.next.get(&call).copied();
        let follower = next.filter(|&next| reply.is_none() || attempt.node(next).message_id != reply);
        let time = attempt.node(call).time().map(|time| time + 1);
        let next_time = follower.and_then(|next| attempt.node(next).time());
        let time = match (time, next_time) {
            (Some(time), Some(next)) => Some(time.min(next)),
            (time, next) => time.or(next),
        };
        let uuid = new_id();
        let time = time_text(time.unwrap_or(0));
        let entry = new_user_entry(fields, &uuid, Some(attempt.uuid(call)), &time, &block, false);
        edits.put(&uuid, entry, ChangeKind::Result, None);
        if let Some(next) = follower.filter(|&next| !attempt.is_result(next)) {
            let changed = set(&attempt.json(edits, next), "parentUuid", &quote(&uuid));
            let reason = RelinkReason::BehindResult;
            attempt.change(edits, next, changed, ChangeKind::Relink { reason });
        }
    }
}

/// Replaces blocks that the API refuses.
fn fix_blocks(attempt: &Attempt<'_, '_>, edits: &mut Edits, now: &Evaluation) -> bool {
    let mut changed = 0;
    let mut renamed: HashSet<String> = HashSet::new();
    // All blocks of a message are changed at once.
    let mut seen: HashSet<(ItemIndex, bool, bool)> = HashSet::new();
    for refused in &now.refused {
        if matches!(refused.rule, Rule::FirstUser | Rule::RequestSize | Rule::ImageDimensions) {
            continue;
        }
        if changed >= attempt.most_changes {
            break;
        }
        let Some(item) = refused.item else { continue };
        if !seen.insert((item, refused.rule == Rule::CallId, refused.rule == Rule::ThinkingLast)) {
            continue;
        }
        let json = attempt.json(edits, item);
        let Some(content) = content_of(&json) else { continue };
        if refused.rule == Rule::CallId {
            let ids = content.items().filter_map(|block| block.text("id").map(Cow::into_owned));
            renamed.extend(ids.filter(|id| !request_rules::is_plain_name(id)));
        }
        let drops_thinking = refused.rule == Rule::ThinkingLast;
        if let Some((new, rule)) = content::mended(attempt.node(item).kind, content, drops_thinking) {
            attempt.set_content(edits, item, &new, rule.name());
            changed += 1;
        }
    }
    if !renamed.is_empty() {
        rename_results(attempt, edits, &renamed);
    }
    changed > 0
}

/// Makes results name the new ids of calls.
fn rename_results(attempt: &Attempt<'_, '_>, edits: &mut Edits, old: &HashSet<String>) {
    for &item in &attempt.wanted().entries {
        let results = attempt.blocks(item).iter().filter(|block| is_result(block)).count();
        if results == 0 {
            continue;
        }
        let json = attempt.json(edits, item);
        let Some(content) = content_of(&json) else { continue };
        let ids = content.items().enumerate();
        let ids = ids.filter_map(|(at, block)| Some((at, block.text("tool_use_id")?))).take(results);
        let new_ids =
            ids.filter(|(_, id)| old.contains(&**id)).map(|(at, id)| (at, content::plain_name(&id)));
        if let Some(new) = content::with_call_ids(content, &new_ids.collect()) {
            attempt.set_content(edits, item, &new, Rule::CallId.name());
        }
    }
}

/// Replaces images that have too many pixels.
fn fix_images(attempt: &Attempt<'_, '_>, edits: &mut Edits, now: &Evaluation) -> bool {
    let mut has_changed = false;
    for refused in now.refused.iter().filter(|refused| refused.rule == Rule::ImageDimensions) {
        let Some(item) = refused.item else { continue };
        let json = attempt.json(edits, item);
        let Some(content) = content_of(&json) else { continue };
        let Some(image) = refused.block.and_then(|block| content.items().nth(block)) else { continue };
        let at = image.bytes().as_ptr().addr() - content.bytes().as_ptr().addr();
        if let Some(new) = content::without_image(content, at, "[image removed: it had too many pixels]") {
            attempt.set_content(edits, item, &new, refused.rule.name());
            has_changed = true;
        }
    }
    has_changed
}

/// Puts a prompt before a conversation that begins with a reply.
fn fix_first(attempt: &Attempt<'_, '_>, edits: &mut Edits, now: &Evaluation) -> bool {
    let Some(refused) = now.refused.iter().find(|refused| refused.rule == Rule::FirstUser) else {
        return false;
    };
    let first = attempt.wanted().entries.first().copied();
    let Some(item) = first.or(refused.item) else { return false };
    let json = attempt.json(edits, item);
    let parent = attempt.wanted().boundary.map(|boundary| attempt.uuid(boundary));
    let first_time = attempt.wanted().entries.iter().find_map(|&one| attempt.node(one).time());
    let time = time_text(first_time.map_or(0, |time| time - 1));
    let prompt = new_id();
    let text = quote("[The beginning of this conversation was lost.]");
    let entry = new_user_entry(&common_fields(&json), &prompt, parent, &time, &text, true);
    edits.put(&prompt, entry, ChangeKind::FirstPrompt, None);
    let changed = set(&json, "parentUuid", &quote(&prompt));
    let reason = RelinkReason::BehindNote;
    attempt.change(edits, item, changed, ChangeKind::Relink { reason });
    true
}
