use std::fs::{self, OpenOptions};
use std::io::Write;

use proptest::prelude::*;

use super::*;

fn reply(id: usize, output: usize) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"u{id}","message":{{"id":"m{id}","model":"x","usage":{{"output_tokens":{output}}}}}}}"#
    )
}

fn outputs(progress: &FileProgress) -> Vec<(u64, u32)> {
    progress.count.replies().iter().map(|reply| (reply.line, reply.counters.output)).collect()
}

fn read(path: &Path, earlier: FileProgress) -> FileProgress {
    update(path, None, earlier).unwrap().0
}

#[test]
fn entries_that_are_glued_or_span_lines_are_counted_and_torn_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let spanned = reply(4, 4).replace(",\"message\"", ",\n\"message\"");
    let torn = &reply(3, 3)[..60];
    let text = format!(
        "\u{feff}{}\r\n\n{}{}\n{torn}\n{spanned}\nnoise\n{}",
        reply(0, 1),
        reply(1, 2),
        reply(2, 3),
        reply(5, 5)
    );
    fs::write(&path, &text).unwrap();
    assert_eq!(outputs(&read(&path, FileProgress::default())), [(1, 1), (3, 2), (3, 3), (5, 4), (8, 5)]);
}

#[test]
fn an_unfinished_line_waits_for_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let line = reply(1, 7);
    fs::write(&path, format!("{}\n{}", reply(0, 1), &line[..50])).unwrap();
    let first = read(&path, FileProgress::default());
    assert_eq!(outputs(&first), [(1, 1)]);
    OpenOptions::new().append(true).open(&path).unwrap().write_all(&line.as_bytes()[50..]).unwrap();
    // The object is complete, and its newline comes later.
    let second = read(&path, first);
    assert_eq!(outputs(&second), [(1, 1), (2, 7)]);
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(format!("\n{}\n", reply(2, 9)).as_bytes())
        .unwrap();
    assert_eq!(outputs(&read(&path, second)), [(1, 1), (2, 7), (3, 9)]);
}

#[test]
fn a_file_that_was_rewritten_is_counted_anew_and_keeps_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, format!("{}\n{}\n", reply(0, 1), reply(1, 2))).unwrap();
    let before = read(&path, FileProgress::default());
    fs::write(&path, format!("{}\n", reply(1, 2))).unwrap();
    let after = read(&path, before);
    assert_eq!(outputs(&after), [(1, 2), (1, 1)]);
    assert!(after.count.replies()[1].flags.has(annals_usage::Flag::Left));
}

#[test]
fn a_line_that_is_longer_than_the_buffer_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let long = reply(1, 5).replace("\"uuid\"", &format!("\"x\":\"{}\",\"uuid\"", "y".repeat(3 * CHUNK)));
    fs::write(&path, format!("{long}\n{}\n", reply(2, 6))).unwrap();
    assert_eq!(outputs(&read(&path, FileProgress::default())), [(1, 5), (2, 6)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_steps_in_which_a_file_grows_change_nothing(
        lines in prop::collection::vec((0..5_usize, 0..100_usize, prop::option::of("[a-z]{0,9}")), 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let lines: Vec<_> = lines.into_iter().map(|(id, output, noise)| noise.unwrap_or_else(|| reply(id, output))).collect();
        let text = lines.join("\n") + "\n";
        let folder = tempfile::tempdir().unwrap();
        let (whole, grown) = (folder.path().join("whole.jsonl"), folder.path().join("grown.jsonl"));
        fs::write(&whole, &text).unwrap();
        let expected = read(&whole, FileProgress::default());
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len())).chain([text.len()]).collect();
        cuts.sort_unstable();
        let mut progress = FileProgress::default();
        let mut written = 0;
        for cut in cuts {
            OpenOptions::new().create(true).append(true).open(&grown).unwrap().write_all(&text.as_bytes()[written..cut]).unwrap();
            written = cut;
            progress = read(&grown, progress);
        }
        prop_assert_eq!(outputs(&progress), outputs(&expected));
        prop_assert_eq!(progress.position.lines, expected.position.lines);
    }
}
