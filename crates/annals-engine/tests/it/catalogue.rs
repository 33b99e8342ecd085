//! The cache of lists, whatever happened to its file.

use std::fs;
use std::path::Path;

use annals_engine::{Engine, ListOptions, SessionRow};
use testkit::generate::{self, Random};

use crate::world::{make, message, real, transcript};

/// Returns what a list shows of each session but the number of messages: that is not known where not all was read.
fn shown(sessions: &[SessionRow]) -> Vec<String> {
    let shown = sessions.iter().cloned().map(|mut listed| {
        listed.facts.messages = None;
        format!("{listed:?}")
    });
    shown.collect()
}

/// Makes sessions that are remembered whole, and one that is so long that only its ends are.
fn many_sessions(folder: &Path) {
    make(folder);
    for number in 0..16 {
        let session = format!("dddddddd-0000-4000-8000-{number:012}");
        let lines = message("x", &session)
            .with("cwd", format!("/home/mia/tea-{number}"))
            .with("gitBranch", format!("branch-{number}"))
            .with("version", format!("2.1.{number}"))
            .title(&format!("Tea {number}"));
        fs::write(transcript(folder, &session), lines.to_string()).unwrap();
    }
    let long = transcript(folder, "eeeeeeee-0000-4000-8000-000000000000");
    generate::session(&mut fs::File::create(long).unwrap(), 1, 200_000).unwrap();
}

#[test]
fn any_flipped_bit_in_the_catalogue_gives_the_right_list() {
    let folder = tempfile::tempdir().unwrap();
    many_sessions(folder.path());
    let engine = real(folder.path());
    let by_tool = ListOptions { tool: Some("Bash".to_owned()), ..ListOptions::default() };
    let lists = |engine: &Engine| {
        let (done, all) = (engine.list(&by_tool), engine.list(&ListOptions::default()));
        assert!(all.errors.is_empty() && done.errors.is_empty());
        let counts: Vec<_> = all.sessions.iter().map(|listed| listed.facts.messages).collect();
        (shown(&all.sessions), shown(&done.sessions), counts)
    };
    let (all, done, counts) = lists(&engine);
    assert_eq!((all.len(), done.len(), counts.iter().flatten().count()), (19, 1, 19));
    let path = engine.home().path().join("catalog.sqlite");
    let catalogue = fs::read(&path).unwrap();
    let used: Vec<_> = (0..catalogue.len()).filter(|&at| catalogue[at] != 0).collect();
    let mut random = Random::new(9);
    for _ in 0..300 {
        let (at, bit) = (*random.pick(&used), random.below(8));
        let mut flipped = catalogue.clone();
        flipped[at] ^= 1 << bit;
        fs::write(&path, &flipped).unwrap();
        let (all_now, done_now, counts_now) = lists(&engine);
        for (now, right) in [(&all_now, &all), (&done_now, &done)] {
            let wrong = now.iter().zip(right).find(|(now, right)| now != right);
            assert!(now.len() == right.len() && wrong.is_none(), "bit {bit} at {at}: {wrong:#?}");
        }
        let is_right = |(now, right): (&Option<u64>, &Option<u64>)| now.is_none() || now == right;
        assert!(counts_now.iter().zip(&counts).all(is_right), "bit {bit} at {at}");
    }
}
