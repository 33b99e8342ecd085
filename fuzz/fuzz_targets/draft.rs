//! Any lines are refused as drafts, or recorded as whole lines of JSON that no later line changes.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use annals_transcript::write::{Draft, Recorder, Sync, Target};
use annals_transcript::{Entry, Reader};
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("annals-fuzz-{}", std::process::id())));

fuzz_target!(|input: &[u8]| {
    let target = Target::session(&FOLDER, "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55").expect("it is a session's name");
    let _ = fs::remove_file(target.path());
    let mut recorder = Recorder::builder(target.clone()).sync(Sync::Never).open().expect("it opens");
    let mut before = Vec::new();
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(draft) = Draft::parse(line) else { continue };
        if recorder.append(vec![draft]).is_err() {
            continue;
        }
        recorder.flush().expect("it is written");
        let after = fs::read(target.path()).unwrap_or_default();
        assert!(after.starts_with(&before), "what was there is untouched");
        let mut reader = Reader::new(&after[before.len()..]);
        while let Some(entry) = reader.read().expect("a slice can be read") {
            assert!(entry.ends_in_newline() && entry.verify().is_none(), "every line is whole");
            assert!(Entry::new(entry.bytes()).body().is_some());
        }
        before = after;
    }
});
