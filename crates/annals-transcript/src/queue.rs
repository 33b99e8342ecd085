//! The queue of prompts: what was queued while the model worked, and is still waiting.
//!
//! `docs/CHAIN.md` section 12 states the rules.
//!
//! ```
//! use annals_transcript::conversation::{Transcript, TranscriptBytes};
//! use annals_transcript::queue;
//!
//! let transcript = TranscriptBytes::new(concat!(
//!     r#"{"type":"queue-operation","operation":"enqueue","content":"Boil water"}"#, "\n",
//!     r#"{"type":"queue-operation","operation":"enqueue","content":"Warm the pot"}"#, "\n",
//!     r#"{"type":"queue-operation","operation":"dequeue"}"#, "\n",
//!     r#"{"type":"user","message":{"content":"Warm the pot"}}"#, "\n",
//! ));
//! assert_eq!(queue::waiting(&transcript)?, [0]);   // "Boil water", in the first entry
//! # Ok::<(), std::convert::Infallible>(())
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::chain::NodeIndex;
use crate::content::{Block, Content};
use crate::conversation::Transcript;
use crate::entry::view::QueueOperation;
use crate::entry::{Entry, Kind};
use crate::item::{Item, Part};
use crate::prompt::{Input, InputKind, in_text};

/// Returns the entries with the prompts that are still in the queue after the last line, in the order in which they were
/// queued.
pub fn waiting<T: Transcript>(transcript: &T) -> Result<Vec<NodeIndex>, T::Error> {
    let mut queue = Queue::default();
    for (index, node) in transcript.session().nodes().iter().enumerate() {
        if queue.concerns(node.kind) {
            queue.add(index, &Entry::new(&transcript.body(node)?));
        }
    }
    Ok(queue.waiting().collect())
}

/// A queue of prompts, from the entries of a transcript in the order of the file.
///
/// Prompts are compared by hashes of their texts, so that a queue takes little memory however long they are. The work per entry
/// does not depend on how many prompts wait.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    waiting: Prompts,
    /// The prompts that operations without a text are assumed to have taken. The message that follows such an operation tells
    /// which prompt it was. Empty if nothing waits: then there is no other prompt that it could have been.
    assumed: Prompts,
    queued: u64,
}

impl Queue {
    /// Returns whether entries of a kind can change the queue as it is now, so that others need not be read.
    pub fn concerns(&self, kind: Kind) -> bool {
        match kind {
            Kind::QueueOperation => true,
            Kind::User | Kind::Attachment => !self.assumed.is_empty(),
            _ => false,
        }
    }

    /// Adds the next entry. `entry_index` is what [`Queue::waiting`] returns for it.
    pub fn add(&mut self, entry_index: usize, entry: &Entry<'_>) {
        if let Some(operation) = entry.view::<QueueOperation>() {
            self.apply(entry_index, &operation);
        } else if self.concerns(entry.kind())
            && let Some(text) = sent_text(entry)
        {
            self.settle(text);
        }
        if self.waiting.is_empty() {
            self.assumed = Prompts::default();
        }
    }

    /// Returns the prompts that wait, in the order in which they were queued.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        self.waiting.by_order.values().map(|prompt| prompt.entry_index)
    }

    /// Returns how many prompts wait.
    pub fn len(&self) -> usize {
        self.waiting.by_order.len()
    }

    /// Returns whether no prompt waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Applies an operation (CHAIN 12.1 to 12.4).
    fn apply(&mut self, entry_index: usize, operation: &QueueOperation<'_>) {
        let content = operation.content();
        match operation.operation().as_deref() {
            Some("enqueue") => {
                self.waiting.insert(self.queued, QueuedPrompt { entry_index, text: text_of(content) });
                self.queued += 1;
            }
            Some("dequeue" | "remove" | "popAll")
                if content.value().is_some_and(|value| !value.is_null()) =>
            {
                self.waiting.take_text(text_of(content));
            }
            Some("dequeue" | "remove") => {
                if let Some((order, prompt)) = self.waiting.take_first() {
                    self.assumed.insert(order, prompt);
                }
            }
            // Claude Code writes a line with a text for each prompt that returns to the input line.
            Some("popAll") => *self = Self { queued: self.queued, ..Self::default() },
            _ => {}
        }
    }

    /// Learns from a message which prompt was taken (CHAIN 12.3).
    fn settle(&mut self, text: TextHash) {
        if self.assumed.take_text(text).is_some() {
            return;
        }
        let was_wrong = self.waiting.take_text(text).is_some();
        if let Some((order, prompt)) = self.assumed.take_first()
            && was_wrong
        {
            self.waiting.insert(order, prompt);
        }
    }
}

/// The hash of a prompt's text.
type TextHash = u64;

#[derive(Clone, Copy, Debug)]
struct QueuedPrompt {
    entry_index: usize,
    text: TextHash,
}

/// Prompts in the order in which they were queued, which are also found by their texts.
#[derive(Clone, Debug, Default)]
struct Prompts {
    by_order: BTreeMap<u64, QueuedPrompt>,
    by_text: HashMap<TextHash, BTreeSet<u64>>,
}

impl Prompts {
    fn is_empty(&self) -> bool {
        self.by_order.is_empty()
    }

    fn insert(&mut self, order: u64, prompt: QueuedPrompt) {
        self.by_order.insert(order, prompt);
        self.by_text.entry(prompt.text).or_default().insert(order);
    }

    fn take_first(&mut self) -> Option<(u64, QueuedPrompt)> {
        let (order, prompt) = self.by_order.pop_first()?;
        self.forget(prompt.text, order);
        Some((order, prompt))
    }

    /// Takes the first prompt with a text.
    fn take_text(&mut self, text: TextHash) -> Option<QueuedPrompt> {
        let order = *self.by_text.get(&text)?.first()?;
        self.forget(text, order);
        self.by_order.remove(&order)
    }

    fn forget(&mut self, text: TextHash, order: u64) {
        if let Some(orders) = self.by_text.get_mut(&text) {
            orders.remove(&order);
            if orders.is_empty() {
                self.by_text.remove(&text);
            }
        }
    }
}

/// Returns the text of a queued prompt.
fn text_of(content: Content<'_>) -> TextHash {
    let texts: Vec<_> = content
        .blocks()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.text()),
            _ => None,
        })
        .collect();
    hash(texts.iter().flat_map(|text| in_text(text)))
}

/// Returns the text of a message that may come from the queue; `None` for tool results and for what Claude Code adds by itself.
fn sent_text(entry: &Entry<'_>) -> Option<TextHash> {
    let item = Item::of(entry);
    let has_results = item.parts.iter().any(|part| matches!(part, Part::Result(_)));
    let is_sent = !has_results && item.inputs().any(is_compared);
    is_sent.then(|| hash(item.inputs().cloned()))
}

/// Hashes the texts of inputs without their tags, so that a queued text equals the message that it becomes.
fn hash<'a>(inputs: impl Iterator<Item = Input<'a>>) -> TextHash {
    let mut hasher = DefaultHasher::new();
    for input in inputs.filter(is_compared) {
        input.typed().trim().hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns whether an input may be queued. Others are added when a prompt is sent.
fn is_compared(input: &Input<'_>) -> bool {
    input.kind.is_typed() || matches!(input.kind, InputKind::TaskNotification | InputKind::Teammate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::TranscriptBytes;

    fn enqueue(text: &str) -> String {
        format!(r#"{{"type":"queue-operation","operation":"enqueue","content":"{text}"}}"#)
    }

    fn operation(name: &str) -> String {
        format!(r#"{{"type":"queue-operation","operation":"{name}"}}"#)
    }

    fn with_text(name: &str, text: &str) -> String {
        format!(r#"{{"type":"queue-operation","operation":"{name}","content":"{text}"}}"#)
    }

    fn user(text: &str) -> String {
        format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#)
    }

    fn check(lines: &[String], expected: &[usize]) {
        let transcript = TranscriptBytes::new(lines.join("\n"));
        assert_eq!(waiting(&transcript).unwrap(), expected, "{lines:#?}");
    }

    #[test]
    fn what_was_not_taken_waits() {
        check(&[], &[]);
        check(&[enqueue("a"), enqueue("b")], &[0, 1]);
        check(&[enqueue("a"), operation("dequeue"), user("a")], &[]);
        // Old versions wrote `dequeue` for prompts that were never queued.
        check(&[operation("dequeue"), user("x"), enqueue("a")], &[2]);
        check(&[enqueue("a"), operation("unheard-of"), "noise".to_owned()], &[0]);
    }

    #[test]
    fn operations_with_a_text_take_that_prompt() {
        check(&[enqueue("a"), enqueue("b"), with_text("remove", "b")], &[0]);
        check(&[enqueue("a"), enqueue("b"), enqueue("c"), with_text("popAll", "b")], &[0, 2]);
        check(&[enqueue("a"), with_text("remove", "z")], &[0]);
        check(&[enqueue("a"), enqueue("a"), with_text("remove", "a")], &[1]);
        check(&[enqueue("a"), enqueue("b"), operation("popAll")], &[]);
    }

    #[test]
    fn the_message_tells_which_prompt_was_taken() {
        check(&[enqueue("a"), enqueue("b"), operation("dequeue"), user("b")], &[0]);
        check(&[enqueue("a"), enqueue("b"), operation("dequeue"), user("a")], &[1]);
        let attachment = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"b"}}"#;
        let reply = r#"{"type":"assistant","message":{"content":"Hm"}}"#;
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"b"}]}}"#;
        let between = [reply, result, attachment].map(str::to_owned);
        check(&[&[enqueue("a"), enqueue("b"), operation("remove")], &between[..]].concat(), &[0]);
        // A message that nobody queued settles the oldest assumption, so that it does not stay open forever.
        check(
            &[enqueue("a"), enqueue("b"), enqueue("c"), operation("dequeue"), user("x"), user("b")],
            &[1, 2],
        );
    }

    #[test]
    fn a_queued_text_equals_the_message_that_it_becomes() {
        let command = user("<command-name>/tea</command-name><command-args>green</command-args>");
        check(&[enqueue("a"), enqueue("/tea green"), operation("dequeue"), command], &[0]);
        let news = "<task-notification>done</task-notification>";
        check(&[enqueue("a"), enqueue(news), operation("dequeue"), user(news)], &[0]);
        let with_context = user("<ide_selection>line 1</ide_selection>Explain 茶");
        check(&[enqueue("a"), enqueue("Explain 茶"), operation("dequeue"), with_context], &[0]);
        let blocks = r#"{"type":"queue-operation","operation":"enqueue","content":[{"type":"text","text":"this icon"},{"type":"image"}]}"#;
        check(&[enqueue("a"), blocks.to_owned(), with_text("popAll", "this icon")], &[0]);
    }

    #[test]
    fn the_same_text_can_be_queued_again_before_its_message_stands_in_the_file() {
        check(&[enqueue("go on"), operation("dequeue"), enqueue("go on"), user("go on")], &[2]);
    }
}
