use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::Stats;

const FILE: (u64, u64) = (1, 2);

/// Keeps every entry that it gets, with its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entries(Vec<(u64, String)>);

impl Fold for Entries {
    const NAME: &'static str = "entries";
    const VERSION: i64 = 1;

    fn add(&mut self, entry: &Entry<'_>) {
        self.0.push((entry.at().line, String::from_utf8_lossy(entry.bytes()).into_owned()));
    }
}

impl Entries {
    fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

fn state(text: &str) -> FileState {
    FileState { length: text.len() as u64, modified: None, identity: FILE }
}

fn feed_text(text: &str, folds: &mut [&mut dyn AnyFold]) {
    update_from(&mut Cursor::new(text), &state(text), folds, u64::MAX).unwrap();
}

fn entries(text: &str) -> FileFold<Entries> {
    let mut fold = FileFold::default();
    feed_text(text, &mut [&mut fold]);
    fold
}

const THREE: &str = "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n";

#[test]
fn folds_with_different_checkpoints_get_each_entry_once() {
    let (mut none, mut one, mut two) = (entries(""), entries(&THREE[..8]), entries(&THREE[..16]));
    let mut stats = FileFold::<Stats>::default();
    feed_text(THREE, &mut [&mut two, &mut none, &mut stats, &mut one]);
    let all = entries(THREE);
    assert_eq!(all.state.0.len(), 3);
    assert_eq!([&none, &one, &two], [&all; 3]);
    assert_eq!((stats.state.lines, stats.state.types["(none)"]), (3, 3));
    feed_text(THREE, &mut [&mut two, &mut stats]);
    assert_eq!((two, stats.state.lines), (all, 3));
}

#[test]
fn a_fold_whose_file_was_replaced_starts_again() {
    let before = "{\"x\":1}\n{\"b\":2}\n";
    let (mut replaced, mut kept) = (entries(before), entries(&THREE[..8]));
    feed_text(THREE, &mut [&mut replaced, &mut kept]);
    assert_eq!([&replaced, &kept], [&entries(THREE); 2]);
    let mut truncated = entries(THREE);
    feed_text(&THREE[..8], &mut [&mut truncated]);
    assert_eq!(truncated, entries(&THREE[..8]));
    let mut other = entries(THREE);
    let state = FileState { identity: (1, 3), ..state(THREE) };
    update_from(&mut Cursor::new(THREE), &state, &mut [&mut other], u64::MAX).unwrap();
    assert_eq!((other.state, other.progress.checkpoint.identity()), (entries(THREE).state, (1, 3)));
}

#[test]
fn a_line_that_is_being_written_waits() {
    let mut fold = entries(&THREE[..12]);
    assert_eq!((fold.state.0.len(), fold.progress.checkpoint.offset()), (1, 8));
    feed_text(&THREE[..14], &mut [&mut fold]);
    assert_eq!(fold.state.0.len(), 1);
    feed_text(THREE, &mut [&mut fold]);
    assert_eq!(fold, entries(THREE));
}

#[test]
fn an_object_is_whole_before_its_newline_and_stays_on_its_line() {
    let mut fold = entries(&THREE[..15]);
    assert_eq!(fold.state.0[1], (2, "{\"b\":2}".to_owned()));
    feed_text(THREE, &mut [&mut fold]);
    assert_eq!(fold.state.0[2..], [(2, "\n".to_owned()), (3, "{\"c\":3}\n".to_owned())]);
}

#[test]
fn a_part_ends_behind_the_line_that_reaches_the_limit() {
    let mut fold = FileFold::<Entries>::default();
    let mut offsets = Vec::new();
    loop {
        let is_end = update_from(&mut Cursor::new(THREE), &state(THREE), &mut [&mut fold], 3).unwrap();
        offsets.push(fold.progress.checkpoint.offset());
        if is_end {
            break;
        }
    }
    // The last part has nothing left: that the file ends is only known when it was read.
    assert_eq!(offsets, [8, 16, 24, 24]);
    assert_eq!(fold, entries(THREE));
}

#[test]
fn a_fold_that_is_further_on_makes_no_part_of_the_others_longer() {
    for further_on in [THREE, &THREE[..16]] {
        let (mut behind, mut ahead) = (entries(""), entries(further_on));
        let mut counts = Vec::new();
        loop {
            let folds: &mut [&mut dyn AnyFold] = &mut [&mut ahead, &mut behind];
            let is_end = update_from(&mut Cursor::new(THREE), &state(THREE), folds, 3).unwrap();
            counts.push(behind.state.0.len());
            if is_end {
                break;
            }
        }
        assert_eq!(counts, [1, 2, 3, 3], "{further_on}");
        assert_eq!([&behind, &ahead], [&entries(THREE); 2]);
    }
}

#[test]
fn objects_of_one_line_are_in_one_part() {
    let text = "{\"a\":1}{\"b\":2}\n{\"c\":3}\n";
    let mut fold = FileFold::<Entries>::default();
    assert!(!update_from(&mut Cursor::new(text), &state(text), &mut [&mut fold], 1).unwrap());
    assert_eq!((fold.state.0.len(), fold.progress.checkpoint.offset()), (2, 15));
}

/// A file that cannot be read from an offset on.
struct Failing<'a> {
    text: Cursor<&'a str>,
    from: u64,
}

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.from.saturating_sub(self.text.position());
        if left == 0 {
            return Err(io::Error::other("the disk failed"));
        }
        self.text.by_ref().take(left).read(buffer)
    }
}

impl Seek for Failing<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.text.seek(to)
    }
}

#[test]
fn nothing_counts_twice_after_reading_failed() {
    let mut fold = entries(&THREE[..8]);
    let mut failing = Failing { text: Cursor::new(THREE), from: 20 };
    update_from(&mut failing, &state(THREE), &mut [&mut fold], u64::MAX).unwrap_err();
    feed_text(THREE, &mut [&mut fold]);
    assert_eq!(fold, entries(THREE));
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_read_again() {
    let (mut first, mut second) = (entries(""), entries(&THREE[..16]));
    // Without a fingerprint, the file that shrank passes for the same.
    second.progress.checkpoint = second.progress.checkpoint.without_fingerprint(16);
    let mut shrunk = Cursor::new(&THREE[..8]);
    update_from(&mut shrunk, &state(THREE), &mut [&mut first, &mut second], u64::MAX).unwrap_err();
    feed_text(&THREE[..8], &mut [&mut first, &mut second]);
    assert_eq!([&first, &second], [&entries(&THREE[..8]); 2]);
}

/// Lines as they occur in transcripts: messages, records, damage, two objects on one line.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]".prop_map(|tool| format!(
            r#"{{"type":"assistant","timestamp":"2026-01-01T00:00:00Z","message":{{"id":"m","model":"x","content":[{{"type":"tool_use","id":"{tool}","name":"{tool}","input":{{"file_path":"/{tool}"}}}}]}}}}"#
        )),
        2 => Just(r#"{"type":"user","version":"2.0.0","message":{"content":"天气"}}"#.to_owned()),
        1 => Just(r#"{"type":"mode"}{"type":"summary"}"#.to_owned()),
        1 => Just(r#"{"type":"user","message":{"#.to_owned()),
        1 => Just("not json".to_owned()),
        1 => Just(String::new()),
    ]
}

proptest! {
    #[test]
    fn any_pieces_give_what_the_whole_gives(
        lines in prop::collection::vec(line(), 0..12),
        ends_in_newline in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = lines.join("\n") + if ends_in_newline { "\n" } else { "" };
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.retain(|cut| text.is_char_boundary(*cut));
        cuts.sort_unstable();
        let (mut whole, mut pieces) = (FileFold::<Stats>::default(), FileFold::<Stats>::default());
        let mut late = FileFold::<Entries>::default();
        for (number, cut) in cuts.iter().chain([&text.len()]).enumerate() {
            // One of the folds is updated less often than the other.
            if number % 2 == 0 {
                feed_text(&text[..*cut], &mut [&mut late, &mut pieces]);
            } else {
                feed_text(&text[..*cut], &mut [&mut pieces]);
            }
        }
        feed_text(&text, &mut [&mut whole, &mut late]);
        prop_assert_eq!(&pieces, &whole);
        prop_assert_eq!(late.state.text(), entries(&text).state.text());
        prop_assert_eq!(late.progress, whole.progress);
    }
}
