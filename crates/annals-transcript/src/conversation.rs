//! The conversation of a session: its full view, turns and calls.
//!
//! ```
//! use annals_transcript::conversation::{Conversation, TranscriptBytes};
//! use annals_transcript::full_view::Step;
//! use annals_transcript::item::{Item, Part};
//! use annals_transcript::{Entry, conversation::Transcript};
//!
//! let file = concat!(
//!     r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Hello"}}"#, "\n",
//!     r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"content":[{"type":"text","text":"Hi!"}]}}"#, "\n",
//! );
//! let transcript = TranscriptBytes::new(file);
//! let conversation = Conversation::of(&transcript)?;
//! assert_eq!(conversation.turns().len(), 1);
//! for step in conversation.steps() {
//!     let Step::Entry { node, live: true } = *step else { continue };
//!     let body = transcript.body(&transcript.session().nodes()[node])?;
//!     for part in Item::of(&Entry::new(&body)).parts {
//!         match part {
//!             Part::Input(input) => assert_eq!(input.text, "Hello"),
//!             Part::Text(text) => assert_eq!(text.text(), "Hi!"),
//!             _ => {}
//!         }
//!     }
//! }
//! # Ok::<(), std::convert::Infallible>(())
//! ```

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use crate::chain::{Chain, NodeIndex, Obstacle};
use crate::duplicate::{self, Duplicates};
use crate::full_view::{self, Step};
use crate::queue;
use crate::session::{BlockKind, BlockSpan, Id, Node, Session};
use crate::small_index::SmallIndex;
use crate::tool::{self, Call, ResultStates, State};
use crate::turn::{self, Turn};
use crate::{Entry, Flag, Kind};

/// A transcript that was read: its entries are in memory, and their bytes can be read again.
pub trait Transcript {
    /// Why bytes could not be read.
    type Error;

    /// Returns the entries.
    fn session(&self) -> &Session;

    /// Reads the bytes of an entry.
    fn body(&self, node: &Node) -> Result<Vec<u8>, Self::Error>;

    /// Reads some bytes of an entry, from an offset in it on; fewer at its end. A transcript that is not in memory should read no others.
    fn part(&self, node: &Node, offset: u64, length: usize) -> Result<Vec<u8>, Self::Error> {
        let body = self.body(node)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(body.len());
        Ok(body[start..start.saturating_add(length).min(body.len())].to_vec())
    }
}

/// A transcript whose bytes are in memory.
#[derive(Debug)]
pub struct TranscriptBytes {
    bytes: Vec<u8>,
    session: Session,
}

impl TranscriptBytes {
    /// Reads a transcript. Content never makes this fail.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let session = Session::read(&bytes[..]).expect("reading from memory does not fail");
        Self { bytes, session }
    }
}

impl Transcript for TranscriptBytes {
    type Error = Infallible;

    fn session(&self) -> &Session {
        &self.session
    }

    fn body(&self, node: &Node) -> Result<Vec<u8>, Infallible> {
        let start = usize::try_from(node.at.offset).expect("an offset in memory");
        let length = usize::try_from(node.length).expect("a length in memory");
        Ok(self.bytes[start..start + length].to_vec())
    }
}

/// Everything that was said and done in a session.
#[derive(Debug)]
pub struct Conversation<'s, T> {
    transcript: &'s T,
    /// The entry in which the chain was made to end. The chain takes as much memory as the steps, and most outputs need these alone.
    end: Option<Id>,
    obstacle: Option<Obstacle>,
    /// Shared with the rows of the conversation.
    steps: Arc<Vec<Step>>,
    steps_once: Arc<Vec<Step>>,
    duplicates: Duplicates,
    turns: Vec<Turn>,
    /// The turn of each line, by its index.
    turn_of: Vec<Option<SmallIndex>>,
    calls: Vec<Call>,
    /// The place of the call of each id, by the index of the id.
    call_by_id: Vec<Option<SmallIndex>>,
    /// How calls ended, by the entry that holds their results. Only entries with several results are kept here, as each
    /// of these would otherwise be read again for every call.
    result_states: RefCell<HashMap<NodeIndex, Vec<State>>>,
    /// The prompts that wait in the queue, found when somebody asks for them.
    queued: OnceCell<Vec<NodeIndex>>,
}

impl<'s, T: Transcript> Conversation<'s, T> {
    /// Resolves the conversation that Claude Code would resume.
    pub fn of(transcript: &'s T) -> Result<Self, T::Error> {
        Self::along(transcript, Chain::build(transcript.session()), turn::PAUSE_MS)
    }

    /// Resolves the conversation along a chain of the transcript. A turn after a pause of at least `pause_ms` is a
    /// resumption.
    pub fn along(transcript: &'s T, chain: Chain<'s>, pause_ms: i64) -> Result<Self, T::Error> {
        let session = transcript.session();
        let steps = Arc::new(full_view::of(&chain));
        let copied = duplicate::copied(transcript)?;
        // Calls and replies count where they are shown: in the copy.
        let steps_once = if copied.is_empty() {
            steps.clone()
        } else {
            Arc::new(full_view::without_copied(&steps, &copied))
        };
        let (end, obstacle) = (chain.end(), chain.obstacle());
        drop(chain);
        let turns = turn::turns(session, &steps_once, pause_ms, |node| transcript.body(node))?;
        let duplicates = Duplicates::of(session);
        let turn_of = number_entries(session, &steps, &turns, &duplicates);
        let calls = tool::calls(session);
        let call_by_id = tool::by_id(session, &calls);
        Ok(Self {
            transcript,
            end,
            obstacle,
            steps,
            steps_once,
            duplicates,
            turns,
            turn_of,
            calls,
            call_by_id,
            result_states: RefCell::default(),
            queued: OnceCell::new(),
        })
    }

    /// Returns the transcript.
    pub fn transcript(&self) -> &'s T {
        self.transcript
    }

    /// Returns its entries.
    pub fn session(&self) -> &'s Session {
        self.transcript.session()
    }

    /// Resolves the chain again.
    pub fn chain(&self) -> Chain<'s> {
        Chain::with_end(self.session(), self.end)
    }

    /// Returns why Claude Code would not resume the session; `None` if it would.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle
    }

    /// Returns the full view.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the full view for people: if the whole conversation was copied into the same file, what the copy has again is
    /// shown there only.
    pub fn steps_once(&self) -> Arc<Vec<Step>> {
        self.steps_once.clone()
    }

    /// Returns which entries are in several lines: each of them is one step.
    pub fn duplicates(&self) -> &Duplicates {
        &self.duplicates
    }

    /// Returns the other lines of an entry whose content is different, each content once.
    pub fn differing_lines(&self, node: NodeIndex) -> Result<Vec<NodeIndex>, T::Error> {
        let mut others = self.duplicates.others(node).peekable();
        if others.peek().is_none() {
            return Ok(Vec::new());
        }
        let (mut different, mut contents) = (Vec::new(), HashSet::new());
        for line in std::iter::once(node).chain(others) {
            if contents.insert(self.content(line)?) && line != node {
                different.push(line);
            }
        }
        Ok(different)
    }

    /// Returns the type and the content of a line, to be compared with those of other lines.
    pub fn content(&self, line: NodeIndex) -> Result<(Kind, Vec<u8>), T::Error> {
        let body = self.transcript.body(&self.session().nodes()[line])?;
        let (kind, content) = duplicate::content(&Entry::new(&body));
        Ok((kind, content.to_vec()))
    }

    /// Returns the turns.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns all calls in file order, except those of tools on the server.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns all calls in file order, also those of tools on the server.
    pub fn all_calls(&self) -> Vec<Call> {
        let mut calls = tool::server_calls(self.session());
        calls.extend(&self.calls);
        calls.sort_by_key(|call| call.block.offset);
        calls
    }

    /// Returns whether the result of a call reports an error.
    pub fn is_failed(&self, call: &Call) -> Result<bool, T::Error> {
        Ok(call.is_error() || call.is_of_server() && self.state(call)? == State::Error)
    }

    /// Returns the number of the turn that a line of a live entry belongs to.
    pub fn turn_of(&self, node: NodeIndex) -> Option<usize> {
        self.turn_of[node].map(|turn| self.turns[turn.index()].number)
    }

    /// Returns the call of an id.
    pub fn call(&self, id: Id) -> Option<&Call> {
        let place = self.call_by_id.get(id.index()).copied().flatten();
        place.map(|place| &self.calls[place.index()])
    }

    /// Returns the first call that an entry makes.
    pub fn call_of(&self, node: NodeIndex) -> Option<&Call> {
        let session = self.session();
        let mut blocks = session.blocks(&session.nodes()[node]).iter();
        blocks.find(|block| block.kind == BlockKind::ToolUse).and_then(|block| self.call(block.tool?))
    }

    /// Returns the entries with the prompts that are in the queue after the last line, in order.
    pub fn queued(&self) -> Result<&[NodeIndex], T::Error> {
        if let Some(queued) = self.queued.get() {
            return Ok(queued);
        }
        let queued = queue::waiting(self.transcript)?;
        Ok(self.queued.get_or_init(|| queued))
    }

    /// Returns how a call ended.
    pub fn state(&self, call: &Call) -> Result<State, T::Error> {
        match call.result {
            Some((node, block)) if call.is_of_server() => self.server_state(node, block),
            Some((node, block)) if self.session().nodes()[node].tells_states || call.is_error() => {
                self.result_state(node, block)
            }
            Some(_) => Ok(State::Ok),
            None if call.is_given_up() => Ok(State::Interrupted),
            None => Ok(State::Pending),
        }
    }

    /// Returns the state of a call of a tool on the server.
    fn server_state(&self, index: NodeIndex, result: BlockSpan) -> Result<State, T::Error> {
        let node = &self.session().nodes()[index];
        let body = self.transcript.body(node)?;
        let result = block_bytes(&body, node, &result).and_then(tool::read_result);
        let has_failed = result.is_some_and(|result| tool::server_call_failed(&result));
        Ok(if has_failed { State::Error } else { State::Ok })
    }

    /// Returns the state of the call that a result answers. Only an entry with several blocks is asked more than once, so only
    /// the states of such an entry are kept.
    fn result_state(&self, index: NodeIndex, result: BlockSpan) -> Result<State, T::Error> {
        let session = self.session();
        let node = &session.nodes()[index];
        let blocks = session.blocks(node);
        let place = blocks.binary_search_by_key(&result.offset, |block| block.offset).unwrap_or_default();
        if let Some(states) = self.result_states.borrow().get(&index) {
            return Ok(states[place]);
        }
        let body = self.transcript.body(node)?;
        let states = states_of_blocks(&body, node, blocks);
        let state = states[place];
        if blocks.len() > 1 {
            self.result_states.borrow_mut().insert(index, states);
        }
        Ok(state)
    }
}

/// Returns how the calls ended that the blocks of an entry answer. A block that is not a result counts as one without an error.
fn states_of_blocks(body: &[u8], node: &Node, blocks: &[BlockSpan]) -> Vec<State> {
    let of_entry = ResultStates::of(&Entry::new(body));
    let results = blocks.iter().map(|block| block_bytes(body, node, block).and_then(tool::read_result));
    results.map(|result| result.map_or(State::Ok, |result| of_entry.get(&result))).collect()
}

/// Returns the bytes of a block in the body of its entry.
pub(crate) fn block_bytes<'a>(body: &'a [u8], node: &Node, block: &BlockSpan) -> Option<&'a [u8]> {
    let start = usize::try_from(block.offset.checked_sub(node.at.offset)?).ok()?;
    body.get(start..)?.get(..usize::try_from(block.length).ok()?)
}

/// Gives all lines of every live entry its turn.
fn number_entries(
    session: &Session,
    steps: &[Step],
    turns: &[Turn],
    duplicates: &Duplicates,
) -> Vec<Option<SmallIndex>> {
    let mut numbers = vec![None; session.nodes().len()];
    let mut current = None;
    let mut next = turns.iter().enumerate().peekable();
    for step in steps {
        let Step::Entry { node, live: true } = *step else { continue };
        if let Some((turn, _)) = next.next_if(|(_, turn)| turn.node == node) {
            current = Some(SmallIndex::new(turn));
        }
        let entry = &session.nodes()[node];
        if entry.kind.is_message() && !entry.has(Flag::Sidechain) {
            numbers[node] = current;
            duplicates.others(node).for_each(|line| numbers[line] = current);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn an_entry_with_many_results_is_read_once() {
        let lines = [
            r#"{"type":"assistant","uuid":"a","parentUuid":null,"message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}}"#,
            r#"{"type":"user","uuid":"r","parentUuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t1"},{"type":"tool_result","tool_use_id":"t2","is_error":true}]}}"#,
        ];
        let transcript = CountedReads { inner: TranscriptBytes::new(lines.join("\n")), reads: Cell::new(0) };
        let conversation = Conversation::of(&transcript).unwrap();
        let [first, second] = conversation.calls() else { panic!("{:?}", conversation.calls()) };
        assert_eq!(transcript.reads.get(), 0, "neither replies nor results start a turn");
        assert_eq!(conversation.state(first).unwrap(), State::Ok);
        assert_eq!(transcript.reads.get(), 0, "the blocks tell that a call succeeded");
        assert_eq!(conversation.state(second).unwrap(), State::Error);
        assert_eq!(conversation.state(second).unwrap(), State::Error);
        assert_eq!(transcript.reads.get(), 1);
    }

    #[test]
    fn calls_of_tools_on_the_server_have_a_place_and_a_state() {
        let lines = [
            r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"content":"Look it up"}}"#,
            r#"{"type":"assistant","uuid":"a","parentUuid":"u","message":{"id":"m","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"tea"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},{"type":"server_tool_use","id":"s2","name":"web_fetch","input":{}}]}}"#,
            r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}},{"type":"web_fetch_tool_result","tool_use_id":"s2","content":{"type":"web_fetch_tool_result_error","error_code":"unavailable"}},{"type":"server_tool_use","id":"s3","name":"web_search","input":{}}]}}"#,
        ];
        let transcript = TranscriptBytes::new(lines.join("\n"));
        let conversation = Conversation::of(&transcript).unwrap();
        assert_eq!(conversation.calls().len(), 1);
        let calls = conversation.all_calls();
        let states: Vec<_> = calls.iter().map(|call| conversation.state(call).unwrap()).collect();
        assert_eq!(states, [State::Ok, State::Error, State::Pending, State::Pending]);
        let failed: Vec<_> = calls.iter().map(|call| conversation.is_failed(call).unwrap()).collect();
        assert_eq!(failed, [false, true, false, false]);
        assert!(!calls[2].is_of_server());
    }

    #[test]
    fn a_result_without_an_error_is_read_if_its_line_may_tell_more() {
        for (more, expected) in [
            ("", State::Ok),
            (r#","toolUseResult":{"interrupted":false}"#, State::Ok),
            (r#","toolUseResult":{"interrupted":true}"#, State::Interrupted),
            (r#","toolUseResult":{"\u0069nterrupted":true}"#, State::Interrupted),
            (r#","toolDenialKind":"user-rejected""#, State::Denied),
        ] {
            let transcript = TranscriptBytes::new(format!(
                r#"{{"type":"assistant","uuid":"a","message":{{"content":[{{"type":"tool_use","id":"t","name":"Bash"}}]}}}}
                {{"type":"user","uuid":"r","parentUuid":"a","message":{{"content":[{{"type":"tool_result","tool_use_id":"t"}}]}}{more}}}"#
            ));
            let conversation = Conversation::of(&transcript).unwrap();
            assert_eq!(conversation.state(&conversation.calls()[0]).unwrap(), expected, "{more}");
        }
    }

    struct CountedReads {
        inner: TranscriptBytes,
        reads: Cell<usize>,
    }

    impl Transcript for CountedReads {
        type Error = Infallible;

        fn session(&self) -> &Session {
            self.inner.session()
        }

        fn body(&self, node: &Node) -> Result<Vec<u8>, Infallible> {
            self.reads.set(self.reads.get() + 1);
            self.inner.body(node)
        }
    }
}
