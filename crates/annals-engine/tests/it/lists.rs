//! Lists, as callers of the library ask for them.

use std::cell::Cell;
use std::fs;
use std::ops::ControlFlow;

use annals_engine::ListOptions;

use crate::world::{make, message, real, transcript};

#[test]
fn a_list_ends_when_who_is_told_wants_no_more_and_is_whole_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    for number in 0..200 {
        let session = format!("dddddddd-0000-4000-8000-{number:012}");
        fs::write(transcript(folder.path(), &session), message("x", &session).to_string()).unwrap();
    }
    let engine = real(folder.path());
    // What was done is asked of a few files at a time.
    let wanted = ListOptions { tool: Some("Bash".to_owned()), ..ListOptions::default() };
    let told = Cell::new(0);
    let listing = engine.list_with_progress(&wanted, |done, total| {
        told.set(told.get() + 1);
        assert!(done < total);
        ControlFlow::Break(())
    });
    assert_eq!((told.get(), listing.sessions.len()), (1, 0));
    assert_eq!(engine.list(&ListOptions::default()).sessions.len(), 202);
}
