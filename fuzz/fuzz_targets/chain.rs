//! Any bytes give a conversation: it is found without end or panic, and every line belongs to exactly one entry of the
//! history.

#![no_main]

use std::collections::HashSet;

use annals_transcript::chain::Chain;
use annals_transcript::duplicate::Duplicates;
use annals_transcript::full_view::{self, Step};
use annals_transcript::session::Session;
use annals_transcript::{model, tool, turn};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let session = Session::read(file).expect("a slice can be read");
    let chain = Chain::build(&session);
    let steps = full_view::of(&chain);
    let duplicates = Duplicates::of(&session);
    let mut shown: Vec<usize> = Vec::new();
    for step in &steps {
        if let Step::Entry { node, .. } = *step {
            shown.push(node);
            shown.extend(duplicates.others(node));
        }
    }
    let distinct: HashSet<usize> = shown.iter().copied().collect();
    assert_eq!((shown.len(), distinct.len()), (session.nodes().len(), session.nodes().len()));
    for message in model::messages(&chain).iter() {
        assert!(!message.parts.is_empty());
        assert!(message.entries.iter().all(|node| distinct.contains(node)));
    }
    let body = |node: &annals_transcript::session::Node| -> Result<Vec<u8>, ()> {
        let start = usize::try_from(node.at.offset).expect("it fits");
        Ok(file[start..start + usize::try_from(node.length).expect("it fits")].to_vec())
    };
    let turns = turn::turns(&session, &steps, turn::PAUSE_MS, body).expect("a slice can be read");
    assert!(turns.iter().enumerate().all(|(index, turn)| turn.number == index + 1));
    assert!(tool::calls(&session).len() <= file.len());
});
