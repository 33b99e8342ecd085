//! Reading heads and checking the grammar in one pass gives the same entries as two passes, the second of which is `serde_json`'s.

#![no_main]

use annals_transcript::{Problem, Reader};
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

fuzz_target!(|file: &[u8]| {
    let (mut two_passes, mut one_pass) = (Reader::new(file), Reader::new(file).with_grammar_check());
    while let Some(entry) = two_passes.read().expect("a slice can be read") {
        let checked = one_pass.read().expect("a slice can be read").expect("there are as many entries");
        let is_broken =
            entry.body().is_some_and(|body| serde_json::from_slice::<IgnoredAny>(body.bytes()).is_err());
        let verified = if is_broken { Some(Problem::Syntax) } else { entry.problem() };
        assert_eq!(checked.verify(), verified);
        assert_eq!((checked.at(), checked.bytes()), (entry.at(), entry.bytes()));
        assert_eq!((checked.problem(), checked.body()), (entry.problem(), entry.body()));
        assert_eq!(format!("{:?}", checked.head()), format!("{:?}", entry.head()));
    }
    assert!(one_pass.read().expect("a slice can be read").is_none());
});
