//! Lists, as callers of the library ask for them.

use std::cell::Cell;
use std::fs;
use std::io::Write;
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
    let calls = Cell::new(0);
    let listing = engine.list_with_progress(&wanted, |done, total| {
        calls.set(calls.get() + 1);
        assert!(done < total);
        ControlFlow::Break(())
    });
    assert_eq!((calls.get(), listing.sessions.len()), (1, 0));
    assert_eq!(engine.list(&ListOptions::default()).sessions.len(), 202);
}

/// LISTS 1.8
#[test]
fn a_session_that_is_too_long_to_read_is_listed_the_same_with_and_without_the_catalogue() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let session = "dddddddd-0000-4000-8000-000000000000";
    let lines = |number: usize| {
        let line = message("words", session).with("version", "2.1.45").to_string();
        line.replacen("words", &format!("words {number} {}", "z".repeat(400_000)), 1)
    };
    let title = |name: &str| {
        format!("{{\"type\":\"custom-title\",\"customTitle\":\"{name}\",\"sessionId\":\"{session}\"}}\n")
    };
    let mut text: String = (0..30).map(lines).collect();
    text += &title("In the gap");
    text.extend((30..70).map(lines));
    let path = transcript(folder.path(), session);
    fs::write(&path, &text).unwrap();
    let row = |engine: &annals_engine::Engine| {
        let listing = engine.list(&ListOptions::default());
        let found = listing.sessions.into_iter().find(|row| row.file.session.as_deref() == Some(session));
        *found.unwrap().facts
    };
    let cold = |name: &str| {
        let home = folder.path().join(name);
        row(&annals_engine::Engine::open(
            annals_engine::Roots::given(vec![folder.path().join("root")]).unwrap(),
            annals_engine::Home::at(home),
        ))
    };
    let engine = real(folder.path());
    let first = row(&engine);
    assert!(first.is_partial && first.messages.is_none());
    assert_eq!(first.title.as_ref().unwrap().source, annals_engine::TitleSource::Prompt);
    assert_eq!(row(&engine), first, "from the catalogue");
    assert_eq!(cold("elsewhere"), first);
    for appended in [lines(70), title("At the end"), lines(71), lines(72)] {
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(appended.as_bytes()).unwrap();
        let grown = row(&engine);
        assert_eq!(grown, cold(&format!("home-{}", appended.len())), "after {} bytes", appended.len());
    }
    let named = row(&engine);
    assert_eq!(named.title.unwrap().text, "At the end");
}
