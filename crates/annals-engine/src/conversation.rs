//! The conversation of a session: its history in order, turns and calls.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use annals_transcript::chain::{Chain, NodeIndex};
use annals_transcript::duplicate::{self, Duplicates};
use annals_transcript::history::{self, Step};
use annals_transcript::session::{BlockKind, Id, Session};
use annals_transcript::tool::{self, Call, ResultStates, State};
use annals_transcript::turn::{self, Turn};
use annals_transcript::{Entry, Flag, Kind};

use crate::error::{Error, ErrorKind};
use crate::snapshot::Snapshot;

/// Everything that was said and done in a session.
#[derive(Debug)]
pub struct Conversation<'s> {
    snapshot: &'s Snapshot,
    chain: Chain<'s>,
    steps: Vec<Step>,
    duplicates: Duplicates,
    turns: Vec<Turn>,
    turn_of: Vec<Option<usize>>,
    calls: Vec<Call>,
    call_by_id: HashMap<Id, usize>,
    /// How calls ended, by the entry that holds their results. Only entries with several results are kept here, as each
    /// of these would otherwise be read again for every call.
    result_states: RefCell<HashMap<NodeIndex, ResultStates>>,
}

impl<'s> Conversation<'s> {
    /// Resolves the conversation that the client would go on with.
    pub fn of(snapshot: &'s Snapshot) -> Result<Self, Error> {
        Self::with(snapshot, None, turn::PAUSE_MS)
    }

    /// Resolves the conversation that ends in `leaf`, or where the client would go on; `pause_ms` is how long a pause
    /// makes a turn a resumption.
    pub fn with(snapshot: &'s Snapshot, leaf: Option<&str>, pause_ms: i64) -> Result<Self, Error> {
        let session = snapshot.session();
        let chain = match leaf {
            Some(leaf) => match session.ids_beginning(leaf)[..] {
                [id] => Chain::ending_in(session, id).ok_or_else(|| no_entry(leaf))?,
                _ => return Err(no_entry(leaf)),
            },
            None => Chain::build(session),
        };
        let steps = history::of(&chain);
        let turns = turn::turns(session, &steps, pause_ms, |node| snapshot.body(node))?;
        let duplicates = Duplicates::of(session);
        let turn_of = number_entries(session, &steps, &turns, &duplicates);
        let calls = tool::calls(session);
        let places = calls.iter().enumerate();
        let call_by_id = places.filter_map(|(place, call)| Some((call.block.tool?, place))).collect();
        let result_states = RefCell::default();
        Ok(Self { snapshot, chain, steps, duplicates, turns, turn_of, calls, call_by_id, result_states })
    }

    /// Returns the transcript.
    pub fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// Returns the chain.
    pub fn chain(&self) -> &Chain<'s> {
        &self.chain
    }

    /// Returns the history in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns which entries stand in several lines: each of them is one step.
    pub fn duplicates(&self) -> &Duplicates {
        &self.duplicates
    }

    /// Returns the other lines of an entry whose content is different, each content once.
    pub fn differing_lines(&self, node: NodeIndex) -> Result<Vec<NodeIndex>, Error> {
        let (mut different, mut contents) = (Vec::new(), HashSet::new());
        for line in std::iter::once(node).chain(self.duplicates.others(node)) {
            if contents.insert(self.content(line)?) && line != node {
                different.push(line);
            }
        }
        Ok(different)
    }

    /// Returns the type and the content of a line, to be compared with those of other lines.
    pub(crate) fn content(&self, line: NodeIndex) -> Result<(Kind, Vec<u8>), Error> {
        let body = self.snapshot.body(&self.snapshot.session().nodes()[line])?;
        let (kind, content) = duplicate::content(&Entry::new(&body));
        Ok((kind, content.to_vec()))
    }

    /// Returns the turns.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns all calls in file order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the number of the turn that a line of a live entry belongs to.
    pub fn turn_of(&self, node: NodeIndex) -> Option<usize> {
        self.turn_of[node]
    }

    /// Returns the call of an id.
    pub fn call(&self, id: Id) -> Option<&Call> {
        self.call_by_id.get(&id).map(|&place| &self.calls[place])
    }

    /// Returns the first call that an entry makes.
    pub fn call_of(&self, node: NodeIndex) -> Option<&Call> {
        let session = self.snapshot.session();
        let mut blocks = session.blocks(&session.nodes()[node]).iter();
        blocks.find(|block| block.kind == BlockKind::ToolUse).and_then(|block| self.call(block.tool?))
    }

    /// Returns how a call ended.
    pub fn state(&self, call: &Call) -> Result<State, Error> {
        match call.result {
            Some((node, _)) => self.result_state(node, call.is_error()),
            None if call.is_given_up() => Ok(State::Interrupted),
            None => Ok(State::Pending),
        }
    }

    /// Returns the state of a call that an entry answers. Only an entry with several results is asked more than once, so only
    /// such an entry is kept.
    fn result_state(&self, index: NodeIndex, is_error: bool) -> Result<State, Error> {
        if let Some(states) = self.result_states.borrow().get(&index) {
            return Ok(states.get(is_error));
        }
        let session = self.snapshot.session();
        let node = &session.nodes()[index];
        let body = self.snapshot.body(node)?;
        let entry = Entry::new(&body);
        if session.blocks(node).len() <= 1 {
            return Ok(State::of(Some(&entry), is_error));
        }
        let states = ResultStates::of(&entry);
        self.result_states.borrow_mut().insert(index, states);
        Ok(states.get(is_error))
    }
}

/// Gives all lines of every live entry the number of its turn.
fn number_entries(
    session: &Session,
    steps: &[Step],
    turns: &[Turn],
    duplicates: &Duplicates,
) -> Vec<Option<usize>> {
    let mut numbers = vec![None; session.nodes().len()];
    let mut current = None;
    let mut next = turns.iter().peekable();
    for step in steps {
        let Step::Entry { node, live: true } = *step else { continue };
        if let Some(turn) = next.next_if(|turn| turn.node == node) {
            current = Some(turn.number);
        }
        let entry = &session.nodes()[node];
        if entry.kind.is_message() && !entry.has(Flag::Sidechain) {
            numbers[node] = current;
            duplicates.others(node).for_each(|line| numbers[line] = current);
        }
    }
    numbers
}

fn no_entry(leaf: &str) -> Error {
    Error::new(ErrorKind::NoEntry { id: leaf.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::TranscriptFile;

    #[test]
    fn an_entry_with_many_results_is_read_once() {
        let lines = [
            r#"{"type":"assistant","uuid":"a","parentUuid":null,"message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}}"#,
            r#"{"type":"user","uuid":"r","parentUuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t1"},{"type":"tool_result","tool_use_id":"t2","is_error":true}]}}"#,
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        fs::write(&path, lines.join("\n")).unwrap();
        let snapshot = Snapshot::take(TranscriptFile::at(&path)).unwrap();
        let conversation = Conversation::of(&snapshot).unwrap();
        let [first, second] = conversation.calls() else { panic!("{:?}", conversation.calls()) };
        assert_eq!(conversation.state(first).unwrap(), State::Ok);
        fs::write(&path, "").unwrap();
        assert_eq!(conversation.state(second).unwrap(), State::Error, "nothing is left to read");
    }
}
