//! The full view of every transcript at hand has each line in exactly one entry, and each uuid once.

use std::collections::BTreeSet;
use std::fs;

use annals_transcript::chain::Chain;
use annals_transcript::duplicate::Duplicates;
use annals_transcript::full_view::{self, Step};
use annals_transcript::model;
use annals_transcript::session::Session;
use testkit::corpora;

#[test]
fn every_line_and_every_uuid_of_every_transcript_is_in_its_history_once() {
    for path in corpora::transcripts() {
        let file = fs::read(&path).unwrap();
        let session = Session::read(&file[..]).unwrap();
        let chain = Chain::build(&session);
        let duplicates = Duplicates::of(&session);
        let (mut shown, mut ids): (Vec<usize>, _) = (Vec::new(), BTreeSet::new());
        let mut expected = 0;
        for step in full_view::of(&chain) {
            match step {
                Step::Entry { node, .. } => {
                    shown.push(node);
                    shown.extend(duplicates.others(node));
                    let id = session.nodes()[node].id;
                    assert!(id.is_none_or(|id| ids.insert(id)), "{}", path.display());
                }
                Step::Branch { entries, .. } => expected += entries as usize,
                Step::Gap { .. } | Step::Root { .. } => {}
            }
        }
        let distinct: BTreeSet<_> = shown.iter().collect();
        assert_eq!(shown.len(), distinct.len(), "{}", path.display());
        assert_eq!(shown.len(), session.nodes().len(), "{}", path.display());
        assert!(expected <= shown.len(), "{}", path.display());
        // What is sent is a part of what was recorded.
        let sent = model::messages(&chain);
        let mut entries = sent.iter().flat_map(|message| message.entries);
        assert!(entries.all(|node| distinct.contains(node)), "{}", path.display());
    }
}
