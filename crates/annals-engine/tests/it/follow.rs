//! Following transcripts while they are written.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use annals_engine::{Engine, Event, FollowOptions, Follower, Home, Roots, TranscriptFile};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

struct TestRoot {
    root: tempfile::TempDir,
}

impl TestRoot {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("projects/-p")).unwrap();
        Self { root }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join("projects").join(below)
    }

    fn session(&self) -> PathBuf {
        self.path(&format!("-p/{SESSION}.jsonl"))
    }

    fn follow(&self, poll: bool) -> Follower {
        self.engine().follow(&FollowOptions { only: None, poll })
    }

    fn engine(&self) -> Engine {
        Engine::open(Roots::given(vec![self.root.path().to_owned()]).unwrap(), Home::at(self.root.path()))
    }
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Waits until so much has happened, but not for ever; returns it as text, a line each. A look at all files, which comes
/// every ten seconds whatever is noticed, would be too late; for thousands of files there is more time.
fn next_events(follower: &mut Follower, count: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let patience = Duration::from_millis(10 * count as u64).max(Duration::from_secs(9));
    let deadline = Instant::now() + patience;
    while seen.len() < count && Instant::now() < deadline {
        follower.wait(Duration::from_millis(200), |file, event| {
            seen.push(format!("{} {}", name(file), spelled(&event)));
        });
    }
    // What is too much would come at once.
    follower.wait(Duration::from_millis(50), |file, event| {
        seen.push(format!("{} {}", name(file), spelled(&event)));
    });
    seen
}

fn name(file: &TranscriptFile) -> String {
    file.agent.clone().unwrap_or_else(|| file.session.as_deref().unwrap_or("-")[..4].to_owned())
}

fn spelled(event: &Event<'_>) -> String {
    match event {
        Event::Created => "created".to_owned(),
        Event::Entry { offset, bytes } => {
            format!("{offset}: {}", String::from_utf8_lossy(bytes).trim_end())
        }
        Event::Title { title } => format!("title {title}"),
        Event::Replaced => "replaced".to_owned(),
        Event::Removed => "removed".to_owned(),
        Event::Archived { is_archived: true } => "archived".to_owned(),
        Event::Archived { is_archived: false } => "unarchived".to_owned(),
        Event::Opened => "opened".to_owned(),
        Event::Closed => "closed".to_owned(),
        Event::Trash { change, .. } => format!("{change:?}").to_lowercase(),
    }
}

#[test]
fn what_is_appended_is_told_line_by_line() {
    for poll in [false, true] {
        let place = TestRoot::new();
        append(&place.session(), "{\"old\":1}\n{\"be");
        let mut follower = place.follow(poll);
        append(&place.session(), "gun\":1}\n{\"a\":\"天");
        assert_eq!(next_events(&mut follower, 1), ["3e11 10: {\"begun\":1}"]);
        append(&place.session(), "气\"}");
        assert_eq!(next_events(&mut follower, 0), [] as [&str; 0], "a line without its end waits");
        append(&place.session(), "\n{\"b\":1}{\"c\":1}\n");
        let lines = ["3e11 22: {\"a\":\"天气\"}", "3e11 37: {\"b\":1}", "3e11 44: {\"c\":1}"];
        assert_eq!(next_events(&mut follower, 3), lines);
    }
}

#[test]
fn bytes_that_come_one_by_one_make_the_same_lines() {
    let place = TestRoot::new();
    let mut follower = place.follow(false);
    let lines: Vec<_> = (0..40).map(|number| format!("{{\"n\":{number},\"t\":\"天气\"}}\n")).collect();
    let text = lines.concat();
    let path = place.session();
    let writer = std::thread::spawn({
        let text = text.clone();
        move || {
            let mut file = File::create(path).unwrap();
            for byte in text.as_bytes() {
                file.write_all(&[*byte]).unwrap();
            }
        }
    });
    let seen = next_events(&mut follower, 41);
    writer.join().unwrap();
    let lines: Vec<_> = seen[1..].iter().map(|line| line.split_once(": ").unwrap().1).collect();
    assert_eq!(lines, text.lines().collect::<Vec<_>>());
}

#[test]
fn new_projects_and_subagents_are_picked_up_and_other_files_are_not() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let mut follower = place.follow(poll);
        let folder = place.path(&format!("-new/{SESSION}/subagents"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("agent-a1.jsonl"), "{\"x\":1}\n").unwrap();
        fs::write(folder.join("agent-a1.meta.json"), "{}").unwrap();
        fs::write(place.path("-new/notes.jsonl"), "{}\n").unwrap();
        assert_eq!(next_events(&mut follower, 2), ["a1 created", "a1 0: {\"x\":1}"]);
    }
}

#[test]
fn files_that_are_replaced_cut_or_removed_are_told_so() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let path = place.session();
        append(&path, "{\"a\":1}\n{\"b\":1}\n");
        let mut follower = place.follow(poll);
        File::options().write(true).open(&path).unwrap().set_len(8).unwrap();
        assert_eq!(next_events(&mut follower, 2), ["3e11 replaced", "3e11 0: {\"a\":1}"]);
        let beside = place.path("-p/beside");
        fs::write(&beside, "{\"c\":1}\n{\"d\":1}\n{\"e\":1}\n").unwrap();
        fs::rename(&beside, &path).unwrap();
        assert_eq!(next_events(&mut follower, 4).len(), 4);
        fs::remove_file(&path).unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 removed"]);
    }
}

#[test]
fn a_title_is_told_when_it_changes() {
    let place = TestRoot::new();
    append(&place.session(), "{}\n");
    let mut follower = place.follow(false);
    for (kind, key, title, reported) in [
        ("ai-title", "aiTitle", "Guess", Some("Guess")),
        ("custom-title", "customTitle", "One", Some("One")),
        ("custom-title", "customTitle", "One", None),
        ("ai-title", "aiTitle", "Better guess", None),
        ("custom-title", "customTitle", "Two", Some("Two")),
    ] {
        append(&place.session(), &format!("{{\"type\":\"{kind}\",\"{key}\":\"{title}\"}}\n"));
        let seen = next_events(&mut follower, 1 + usize::from(reported.is_some()));
        let titles: Vec<_> = seen.iter().filter_map(|seen| seen.strip_prefix("3e11 title ")).collect();
        assert_eq!(titles, reported.into_iter().collect::<Vec<_>>(), "{kind} {title}");
    }
}

#[test]
fn one_session_is_followed_alone() {
    let place = TestRoot::new();
    append(&place.session(), "{}\n");
    let only = Some(TranscriptFile::at(&place.session()));
    let mut follower = place.engine().follow(&FollowOptions { only, poll: false });
    append(&place.path("-p/0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"), "{}\n");
    append(&place.session(), "{\"a\":1}\n");
    assert_eq!(next_events(&mut follower, 1), ["3e11 3: {\"a\":1}"]);
}

#[test]
fn in_a_storm_of_files_nothing_is_lost() {
    let place = TestRoot::new();
    let mut follower = place.follow(false);
    let folder = place.path("-p");
    let writer = std::thread::spawn(move || {
        for number in 0..5000 {
            let id = format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55");
            fs::write(folder.join(format!("{id}.jsonl")), format!("{{\"n\":{number}}}\n")).unwrap();
        }
    });
    let seen = next_events(&mut follower, 10_000);
    writer.join().unwrap();
    let entries = seen.iter().filter(|seen| seen.contains("{\"n\":")).count();
    let created = seen.iter().filter(|seen| seen.ends_with("created")).count();
    assert_eq!((entries, created, seen.len()), (5000, 5000, 10_000));
}

#[test]
fn pieces_of_any_size_make_the_same_lines() {
    let text = "{\"t\":\"天气 😀\"}\n{\"a\":1}{\"b\":2}\nnoise\n\n{\"last\":\"é\"}\n".repeat(5);
    for size in [1, 2, 3, 5, 11, 64, text.len()] {
        let place = TestRoot::new();
        append(&place.session(), "{\"old\":1}\n");
        let mut follower = place.follow(false);
        let mut seen = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            OpenOptions::new().append(true).open(place.session()).unwrap().write_all(piece).unwrap();
            follower.wait(Duration::ZERO, |_, event| seen.push(spelled(&event)));
        }
        let deadline = Instant::now() + Duration::from_secs(9);
        while seen.len() < 30 && Instant::now() < deadline {
            follower.wait(Duration::from_millis(200), |_, event| seen.push(spelled(&event)));
        }
        let mut offset = 10;
        let mut entries = Vec::new();
        for line in text.split_inclusive('\n') {
            for entry in line.split_inclusive("1}") {
                entries.push(format!("{offset}: {}", entry.trim_end()));
                offset += entry.len();
            }
        }
        assert_eq!(seen, entries, "in pieces of {size}");
    }
}

#[test]
fn a_long_line_is_told_once_when_its_end_is_there() {
    let place = TestRoot::new();
    append(&place.session(), "{}\n");
    let mut follower = place.follow(false);
    let long = format!("{{\"long\":\"{}\"}}\n", "天".repeat(7_000_000));
    let mut file = OpenOptions::new().append(true).open(place.session()).unwrap();
    let mut lengths = Vec::new();
    for piece in long.as_bytes().chunks(100_001) {
        assert_eq!(lengths, [] as [usize; 0]);
        file.write_all(piece).unwrap();
        let _ = follower.wait(Duration::ZERO, |_, event| {
            let Event::Entry { bytes, .. } = event else { panic!("{event:?}") };
            lengths.push(bytes.len());
        });
    }
    let deadline = Instant::now() + Duration::from_secs(9);
    while lengths.is_empty() && Instant::now() < deadline {
        follower.wait(Duration::from_millis(200), |_, event| {
            let Event::Entry { bytes, .. } = event else { panic!("{event:?}") };
            lengths.push(bytes.len());
        });
    }
    assert_eq!(lengths, [long.len()]);
}

#[test]
fn a_file_that_is_cut_and_grows_past_its_old_length_unseen_is_told_as_replaced() {
    for poll in [false, true] {
        for after in ["{\"c\":1}\n{\"d\":1}\n{\"e\":1}\n", "{\"c\":1}\n{\"d\":1}\n"] {
            let place = TestRoot::new();
            append(&place.session(), "{\"a\":1}\n{\"b\":1}\n");
            let mut follower = place.follow(poll);
            // A clock that ticks slowly shows no difference within one tick.
            let old = fs::metadata(place.session()).unwrap().modified().unwrap();
            while fs::metadata(place.session()).unwrap().modified().unwrap() == old {
                fs::write(place.session(), after).unwrap();
            }
            let seen = next_events(&mut follower, 1 + after.lines().count());
            assert_eq!(seen[..2], ["3e11 replaced", "3e11 0: {\"c\":1}"]);
            assert_eq!(seen.len(), 1 + after.lines().count());
            append(&place.session(), "{\"f\":1}\n");
            assert_eq!(next_events(&mut follower, 1), [format!("3e11 {}: {{\"f\":1}}", after.len())]);
        }
    }
}

#[test]
fn a_file_that_is_written_over_while_it_is_read_is_told_as_replaced() {
    let lines = |letter: &str| format!("{{\"{}\":1}}\n", letter.repeat(100_000)).repeat(8);
    for (after, then) in [(lines("b"), "{}\n"), (lines("c") + &lines("d"), ""), (String::new(), "{}\n")] {
        let place = TestRoot::new();
        append(&place.session(), "{}\n");
        let mut follower = place.follow(false);
        append(&place.session(), &lines("a"));
        let (mut seen, mut is_written_over) = (Vec::new(), false);
        let deadline = Instant::now() + Duration::from_secs(9);
        let whole = after.clone() + then;
        while seen.concat() != whole && Instant::now() < deadline {
            follower.wait(Duration::from_millis(200), |_, event| match event {
                Event::Entry { .. } if !is_written_over => {
                    is_written_over = true;
                    fs::write(place.session(), &after).unwrap();
                }
                Event::Entry { bytes, .. } => seen.push(String::from_utf8_lossy(bytes).into_owned()),
                Event::Replaced => seen.clear(),
                _ => panic!("{event:?}"),
            });
            if is_written_over && fs::metadata(place.session()).unwrap().len() == after.len() as u64 {
                append(&place.session(), then);
            }
        }
        assert!(seen.concat() == whole, "{} lines", seen.len());
    }
}

#[test]
fn a_file_is_not_replaced_when_a_line_that_never_ended_is_cut_off() {
    for poll in [false, true] {
        for seen in [false, true] {
            let place = TestRoot::new();
            append(&place.session(), if seen { "{\"a\":1}\n" } else { "{\"a\":1}\n{\"torn" });
            let mut follower = place.follow(poll);
            if seen {
                append(&place.session(), "{\"torn");
                assert_eq!(next_events(&mut follower, 0), [] as [&str; 0]);
            }
            File::options().write(true).open(place.session()).unwrap().set_len(8).unwrap();
            // The newline lies before where the torn line ended, and nothing behind it ends.
            append(&place.session(), "{}\n{\"b\":");
            assert_eq!(next_events(&mut follower, 1), ["3e11 8: {}"]);
            append(&place.session(), "1}\n");
            assert_eq!(next_events(&mut follower, 1), ["3e11 11: {\"b\":1}"]);
        }
    }
}

#[test]
fn a_file_that_was_at_rest_for_long_is_taken_as_read_like_any_other() {
    for poll in [false, true] {
        let place = TestRoot::new();
        append(&place.session(), "{\"old\":1}\n{\"be");
        let years = Duration::from_secs(100_000_000);
        let times = fs::FileTimes::new().set_modified(std::time::SystemTime::now() - years);
        File::options().append(true).open(place.session()).unwrap().set_times(times).unwrap();
        let mut follower = place.follow(poll);
        append(&place.session(), "gun\":1}\n{\"a");
        assert_eq!(next_events(&mut follower, 1), ["3e11 10: {\"begun\":1}"]);
        append(&place.session(), "\":1}\n");
        assert_eq!(next_events(&mut follower, 1), ["3e11 22: {\"a\":1}"]);
    }
}

#[test]
fn a_file_that_is_removed_and_made_again_is_told_so() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let path = place.session();
        append(&path, "{\"a\":1}\n");
        let mut follower = place.follow(poll);
        fs::remove_file(&path).unwrap();
        append(&path, "{\"b\":1}\n{\"c\":1}\n");
        let again = ["3e11 replaced", "3e11 0: {\"b\":1}", "3e11 8: {\"c\":1}"];
        assert_eq!(next_events(&mut follower, 3), again, "unseen");
        fs::remove_file(&path).unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 removed"]);
        append(&path, "{\"d\":1}\n");
        assert_eq!(next_events(&mut follower, 2), ["3e11 created", "3e11 0: {\"d\":1}"]);
    }
}

#[test]
fn folders_that_are_moved_take_their_transcripts_along() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let outside = place.root.path().join("outside");
        fs::create_dir_all(outside.join(format!("{SESSION}/subagents"))).unwrap();
        append(&outside.join(format!("{SESSION}.jsonl")), "{\"a\":1}\n");
        append(&outside.join(format!("{SESSION}/subagents/agent-a1.jsonl")), "{\"b\":1}\n");
        let mut follower = place.follow(poll);
        fs::rename(&outside, place.path("-new")).unwrap();
        let mut seen = next_events(&mut follower, 4);
        seen.sort();
        assert_eq!(seen, ["3e11 0: {\"a\":1}", "3e11 created", "a1 0: {\"b\":1}", "a1 created"]);
        append(&place.path(&format!("-new/{SESSION}/subagents/agent-a1.jsonl")), "{\"c\":1}\n");
        assert_eq!(next_events(&mut follower, 1), ["a1 8: {\"c\":1}"]);
        fs::rename(place.path("-new"), place.path("-newer")).unwrap();
        assert_eq!(next_events(&mut follower, 7).len(), 7, "two are gone, two are new with three entries");
        append(&place.path(&format!("-newer/{SESSION}.jsonl")), "{\"d\":1}\n");
        assert_eq!(next_events(&mut follower, 1), ["3e11 8: {\"d\":1}"]);
        fs::rename(place.path("-newer"), &outside).unwrap();
        let mut seen = next_events(&mut follower, 2);
        seen.sort();
        assert_eq!(seen, ["3e11 removed", "a1 removed"]);
        append(&outside.join(format!("{SESSION}.jsonl")), "{\"e\":1}\n");
        assert_eq!(next_events(&mut follower, 0), [] as [&str; 0]);
    }
}

#[test]
fn a_folder_that_is_not_there_yet_is_followed_once_it_is() {
    for poll in [false, true] {
        let place = TestRoot { root: tempfile::tempdir().unwrap() };
        let root = place.root.path().join("deep/down");
        let session = root.join(format!("projects/-p/{SESSION}.jsonl"));
        let engine = Engine::open(Roots::to_record_in(vec![root.clone()]), Home::at(&root));
        let mut follower = engine.follow(&FollowOptions { only: None, poll });
        for gone in [root.join("projects"), root.clone(), place.root.path().join("deep")] {
            fs::create_dir_all(session.parent().unwrap()).unwrap();
            append(&session, "{\"a\":1}\n");
            assert_eq!(next_events(&mut follower, 2), ["3e11 created", "3e11 0: {\"a\":1}"]);
            append(&session, "{\"b\":1}\n");
            assert_eq!(next_events(&mut follower, 1), ["3e11 8: {\"b\":1}"]);
            fs::remove_dir_all(&gone).unwrap();
            assert_eq!(next_events(&mut follower, 1), ["3e11 removed"]);
        }
    }
}

#[test]
fn folders_are_watched_before_they_are_read() {
    let place = TestRoot::new();
    let mut follower = place.follow(false);
    let projects = place.path("");
    let writer = std::thread::spawn(move || {
        for number in 0..200 {
            let folder = projects.join(format!("-p{number}/{SESSION}/subagents"));
            fs::create_dir_all(&folder).unwrap();
            let mut file = File::create(folder.join("agent-a1.jsonl")).unwrap();
            file.write_all(b"{\"a\":1}\n").unwrap();
            file.write_all(b"{\"b\":1}\n").unwrap();
        }
    });
    let seen = next_events(&mut follower, 600);
    writer.join().unwrap();
    assert_eq!(seen.len(), 600);
}

#[cfg(unix)]
#[test]
fn links_are_followed_as_in_lists_and_never_in_circles() {
    use std::os::unix::fs::symlink;

    for poll in [false, true] {
        let place = TestRoot::new();
        append(&place.session(), "{}\n");
        let elsewhere = place.root.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        symlink(&elsewhere, place.path("-linked")).unwrap();
        symlink(place.path("-p"), place.path("-same")).unwrap();
        symlink(place.root.path(), place.path("-p/loop")).unwrap();
        let mut follower = place.follow(poll);
        append(&place.session(), "{\"a\":1}\n");
        assert_eq!(next_events(&mut follower, 1), ["3e11 3: {\"a\":1}"], "by one of its names");
        append(&elsewhere.join(format!("{SESSION}.jsonl")), "{\"b\":1}\n");
        assert_eq!(next_events(&mut follower, 2), ["3e11 created", "3e11 0: {\"b\":1}"]);
        // Links that appear later are treated alike.
        let later = place.root.path().join("later");
        fs::create_dir_all(&later).unwrap();
        append(&later.join(format!("{SESSION}.jsonl")), "{\"c\":1}\n");
        symlink(place.path("-p"), place.path("-same-again")).unwrap();
        symlink(&later, place.path("-p/inside")).unwrap();
        symlink(&later, place.path("-later")).unwrap();
        assert_eq!(next_events(&mut follower, 2), ["3e11 created", "3e11 0: {\"c\":1}"]);
        append(&place.session(), "{\"d\":1}\n");
        assert_eq!(next_events(&mut follower, 1), ["3e11 11: {\"d\":1}"]);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_no_transcript_whatever_its_name() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let mut follower = place.follow(poll);
        fs::create_dir(place.path("-p/00000001-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl")).unwrap();
        let pipe = place.path("-p/00000002-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(next_events(&mut follower, 0), [] as [&str; 0]);
        append(&place.session(), "{\"a\":1}\n");
        assert_eq!(next_events(&mut follower, 2), ["3e11 created", "3e11 0: {\"a\":1}"]);
    }
}

#[cfg(unix)]
#[test]
fn a_file_with_nothing_in_it_for_the_most_part_holds_nobody_up() {
    let place = TestRoot::new();
    // To search all of it would take minutes.
    let hollow = place.path("-p/00000000-0000-4000-8000-000000000000.jsonl");
    File::create(hollow).unwrap().set_len(1 << 40).unwrap();
    let mut follower = place.follow(false);
    append(&place.session(), "{\"uuid\":\"a\"}\n");
    let seen = next_events(&mut follower, 2);
    assert_eq!(seen.len(), 2, "{seen:?}");
}

/// Returns what happened in alphabetical order, for changes of several files, which are reported in any order.
fn sorted(follower: &mut Follower, count: usize) -> Vec<String> {
    let mut seen = next_events(follower, count);
    seen.sort();
    seen
}

/// A session that nobody has written to for an hour.
fn session_at_rest(place: &TestRoot, id: &str) -> TranscriptFile {
    let path = place.path(&format!("-p/{id}.jsonl"));
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"{id}\",\"message\":{{\"role\":\"user\",\"content\":\"Hello\"}}}}\n"
    );
    append(&path, &line);
    let an_hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    File::options().append(true).open(&path).unwrap().set_modified(an_hour_ago).unwrap();
    TranscriptFile::at(&path)
}

#[test]
fn titles_and_archive_marks_beside_a_transcript_are_told() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let file = session_at_rest(&place, SESSION);
        let mut follower = place.follow(poll);
        let beside = |name: &str| file.path.with_extension("").join(name);
        fs::create_dir_all(file.path.with_extension("")).unwrap();
        fs::write(beside("custom-title.json"), "{\"customTitle\":\"天气\"}").unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 title 天气"], "poll: {poll}");
        fs::write(beside("archived.json"), "{\"archived\":true}").unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 archived"], "poll: {poll}");
        // Neither another file, nor the same content again, nor half a file changes anything.
        fs::write(beside("notes.json"), "{}").unwrap();
        fs::write(beside("archived.json"), "{\"archived\":true, \"by\":\"me\"}").unwrap();
        fs::write(beside("custom-title.json"), "{\"customTitle\":").unwrap();
        assert_eq!(next_events(&mut follower, 0), [] as [&str; 0]);
        fs::write(beside("custom-title.json"), "{\"customTitle\":\"茶\"}").unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 title 茶"]);
        fs::remove_dir_all(file.path.with_extension("")).unwrap();
        assert_eq!(sorted(&mut follower, 2), ["3e11 title Hello", "3e11 unarchived"], "poll: {poll}");
    }
}

#[test]
fn what_annals_does_to_titles_and_the_archive_is_told_once() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let file = session_at_rest(&place, SESSION);
        let engine = place.engine();
        engine.set_archived(&file, true).unwrap();
        let mut follower = place.follow(poll);
        engine.rename(&file, "Tea").unwrap();
        let seen = sorted(&mut follower, 2);
        assert!(
            seen.len() == 2 && seen[0].contains("custom-title") && seen[1] == "3e11 title Tea",
            "{seen:?}"
        );
        engine.set_archived(&file, true).unwrap();
        engine.set_archived(&file, false).unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 unarchived"]);
        // The title in the transcript comes before the one beside it.
        fs::write(file.path.with_extension("").join("custom-title.json"), "{\"customTitle\":\"Coffee\"}")
            .unwrap();
        assert_eq!(next_events(&mut follower, 0), [] as [&str; 0]);
    }
}

#[test]
fn what_happens_to_the_trash_is_told() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let file = session_at_rest(&place, SESSION);
        let engine = place.engine();
        engine.set_archived(&file, true).unwrap();
        let mut follower = place.follow(poll);
        let entry = engine.delete(&file, true).unwrap();
        assert_eq!(sorted(&mut follower, 2), ["3e11 removed", "3e11 trashed"], "poll: {poll}");
        engine.restore(&entry).unwrap();
        let seen = sorted(&mut follower, 3);
        assert_eq!(
            (seen.len(), &seen[1][..], &seen[2][..]),
            (3, "3e11 created", "3e11 restored"),
            "{seen:?}"
        );
        let entry = engine.delete(&file, true).unwrap();
        assert_eq!(sorted(&mut follower, 2), ["3e11 removed", "3e11 trashed"]);
        engine.purge(&entry).unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 purged"]);
    }
}

#[test]
fn a_session_that_is_deleted_and_restored_unseen_has_not_changed_its_marks() {
    let place = TestRoot::new();
    let file = session_at_rest(&place, SESSION);
    let engine = place.engine();
    engine.set_archived(&file, true).unwrap();
    let first = engine.delete(&file, true).unwrap();
    let mut follower = place.follow(true);
    // Restored and deleted again: one entry is gone, and another one is there.
    engine.restore(&first).unwrap();
    let second = engine.delete(&file, true).unwrap();
    assert_eq!(sorted(&mut follower, 2), ["3e11 restored", "3e11 trashed"]);
    assert_ne!(first.entry, second.entry);
}

/// Writes the record of a process that has a session open.
fn record(place: &TestRoot, pid: u32, session: &str) -> PathBuf {
    let path = place.root.path().join(format!("sessions/{pid}.json"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("{{\"pid\":{pid},\"sessionId\":\"{session}\"}}")).unwrap();
    path
}

#[cfg(unix)]
#[test]
fn sessions_that_claude_code_opens_and_closes_are_told() {
    for poll in [false, true] {
        let place = TestRoot::new();
        session_at_rest(&place, SESSION);
        let mut follower = place.follow(poll);
        let own = record(&place, std::process::id(), SESSION);
        assert_eq!(next_events(&mut follower, 1), ["3e11 opened"], "poll: {poll}");
        // A second process, and a record that is being written, change nothing.
        let mut process = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let other = record(&place, process.id(), SESSION);
        fs::write(&own, "{\"pid\":").unwrap();
        assert_eq!(next_events(&mut follower, 0), [] as [&str; 0]);
        fs::remove_file(&own).unwrap();
        assert_eq!(next_events(&mut follower, 0), [] as [&str; 0], "the other process has it open");
        // A process that dies leaves its record, and nothing is written.
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(next_events(&mut follower, 1), ["3e11 closed"], "poll: {poll}");
        assert!(other.exists());
        // A process that goes on with another session, which has no transcript yet.
        let new = "0b0b0b0b-0000-4000-8000-000000000000";
        record(&place, std::process::id(), SESSION);
        assert_eq!(next_events(&mut follower, 1), ["3e11 opened"]);
        record(&place, std::process::id(), new);
        assert_eq!(next_events(&mut follower, 1), ["3e11 closed"]);
        session_at_rest(&place, new);
        let seen = sorted(&mut follower, 3);
        assert_eq!((seen.len(), &seen[1][..], &seen[2][..]), (3, "0b0b created", "0b0b opened"), "{seen:?}");
    }
}

#[test]
fn a_session_that_a_dead_process_has_left_open_is_closed() {
    let place = TestRoot::new();
    session_at_rest(&place, SESSION);
    // No process has this id.
    record(&place, u32::MAX >> 1, SESSION);
    let mut follower = place.follow(true);
    assert_eq!(next_events(&mut follower, 0), [] as [&str; 0]);
    record(&place, std::process::id(), SESSION);
    assert_eq!(next_events(&mut follower, 1), ["3e11 opened"]);
}

#[test]
fn changes_of_many_sessions_at_once_are_told_once_each() {
    for poll in [false, true] {
        let place = TestRoot::new();
        let id = |number: usize| format!("{number:08x}-0000-4000-8000-000000000000");
        let files: Vec<_> = (0..40).map(|number| session_at_rest(&place, &id(number))).collect();
        let mut follower = place.follow(poll);
        let engine = place.engine();
        std::thread::scope(|scope| {
            for chunk in files.chunks(10) {
                let engine = &engine;
                scope.spawn(move || {
                    for file in chunk {
                        engine.set_archived(file, true).unwrap();
                    }
                });
            }
            scope.spawn(|| record(&place, std::process::id(), &id(7)));
        });
        let seen = sorted(&mut follower, 41);
        let expected = |event: &str| seen.iter().filter(|line| line.ends_with(event)).count();
        assert_eq!(
            (seen.len(), expected("archived"), expected("opened")),
            (41, 40, 1),
            "poll: {poll} {seen:?}"
        );
        for file in &files {
            engine.delete(file, true).unwrap();
        }
        let seen = sorted(&mut follower, 80);
        let expected = |event: &str| seen.iter().filter(|line| line.ends_with(event)).count();
        assert_eq!(
            (seen.len(), expected("removed"), expected("trashed")),
            (80, 40, 40),
            "poll: {poll} {seen:?}"
        );
    }
}
