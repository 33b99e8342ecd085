//! Operations on sessions.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::command::{Home, Ran};

use crate::{ANNALS, SESSION, annals, feed, rest, small_home, transcript};

const FIRST: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const SECOND: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const THIRD: &str = "aaaaaaaa-0000-4000-8000-000000000003";

/// A small home with side files, at rest.
fn home() -> Home {
    let home = small_home();
    let side = transcript().replace(".jsonl", "");
    home.write(
        format!("{side}/subagents/agent-a1.jsonl"),
        "{\"type\":\"user\",\"uuid\":\"x\",\"parentUuid\":null}\n",
    );
    home.write(format!("{side}/tool-results/x.txt"), "long output");
    home.write(format!(".claude/file-history/{SESSION}/f@v1"), "backup");
    rest(&path(&home));
    home
}

fn path(home: &Home) -> PathBuf {
    home.path().join(transcript())
}

/// Runs annals with a trash of its own in the home.
fn run(home: &Home, args: &[&str]) -> Ran {
    run_in(home, home.path(), args)
}

fn run_in(home: &Home, folder: &Path, args: &[&str]) -> Ran {
    let mut command = home.command(ANNALS);
    command.env("ANNALS_HOME", home.path().join("annals")).current_dir(folder).args(args);
    home.ran(&command.output().unwrap())
}

/// Runs annals, which must do what it is asked; returns what it prints.
fn done(home: &Home, args: &[&str]) -> String {
    let ran = run(home, args);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    ran.stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns every file below the client's folder.
fn files(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![home.path().join(".claude")];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_session_is_renamed_by_whatever_names_it() {
    let home = home();
    assert_snapshot!(done(&home, &["rename", "3e11", " 天气 1 "]), @"renamed 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 to “天气 1”");
    assert_snapshot!(done(&home, &["rename", "天气 1", "天气 2", "--json"]), @r#"{"done":"rename","dryRun":false,"session":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","path":"[home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl","title":"天气 2"}"#);
    done(&home, &["rename", "latest", "3"]);
    // From among its own files: by the name of the file, and by the id that its side folder has too.
    let folder = path(&home).parent().unwrap().to_owned();
    for (name, title) in [(format!("{SESSION}.jsonl"), "4"), (SESSION.to_owned(), "5")] {
        assert_eq!(run_in(&home, &folder, &["rename", &name, title]).code, Some(0));
    }
    let text = fs::read_to_string(path(&home)).unwrap();
    let titles: Vec<_> =
        text.lines().map(json).filter_map(|line| Some(line["customTitle"].as_str()?.to_owned())).collect();
    assert_eq!(titles, ["Tea timer", "天气 1", "天气 2", "3", "4", "5"]);
    let side = fs::read_to_string(path(&home).with_extension("").join("custom-title.json")).unwrap();
    assert_eq!(side, "{\"customTitle\":\"5\"}");
    for (session, title, code) in [("ffff", "x", 1), (SESSION, "  ", 2)] {
        assert_eq!(run(&home, &["rename", session, title]).code, Some(code));
    }
    let agent = path(&home).with_extension("").join("subagents/agent-a1.jsonl");
    let ran = run(&home, &["rename", agent.to_str().unwrap(), "x"]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"annals: [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55/subagents/agent-a1.jsonl is not the transcript of a session where Claude Code would find it");
}

#[test]
fn tags_and_the_archive_are_written_and_taken_back() {
    let home = home();
    let before = fs::read_to_string(path(&home)).unwrap();
    assert_snapshot!(done(&home, &["tag", SESSION, "früh"]), @"tagged 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 “früh”");
    assert_snapshot!(done(&home, &["tag", SESSION, "--remove", "--json"]), @r#"{"done":"tag","dryRun":false,"session":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","path":"[home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl","tag":""}"#);
    let after = fs::read_to_string(path(&home)).unwrap();
    let tag = |tag: &str| format!("{{\"type\":\"tag\",\"tag\":\"{tag}\",\"sessionId\":\"{SESSION}\"}}\n");
    assert_eq!(after, before + &tag("früh") + &tag(""));
    let archived = path(&home).with_extension("").join("archived.json");
    assert_snapshot!(done(&home, &["archive", SESSION]), @"archived 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55");
    assert_eq!(json(&fs::read_to_string(&archived).unwrap())["archived"], true);
    assert_snapshot!(done(&home, &["unarchive", SESSION, "--json"]), @r#"{"done":"unarchive","dryRun":false,"session":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","path":"[home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"}"#);
    assert_eq!(json(&fs::read_to_string(&archived).unwrap())["archived"], false);
    assert_eq!(run(&home, &["tag", SESSION]).code, Some(2));
    assert_eq!(run(&home, &["tag", SESSION, "x", "--remove"]).code, Some(2));
}

/// A home whose session was compacted and kept a message.
fn compacted() -> Home {
    let home = Home::new();
    let message = |id: &str, parent: &str, more: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{id}\"}},\"uuid\":\"{id}\",\"timestamp\":\"2026-03-01T10:00:00.000Z\",\"sessionId\":\"{SESSION}\"{more}}}\n"
        )
    };
    let boundary = format!(
        "{{\"parentUuid\":null,\"logicalParentUuid\":\"{FIRST}\",\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"{SECOND}\",\"timestamp\":\"2026-03-01T10:00:00.000Z\",\"sessionId\":\"{SESSION}\",\"compactMetadata\":{{\"trigger\":\"manual\",\"preservedSegment\":{{\"headUuid\":\"{FIRST}\",\"anchorUuid\":\"{THIRD}\",\"tailUuid\":\"{FIRST}\"}},\"preservedMessages\":{{\"anchorUuid\":\"{THIRD}\",\"uuids\":[\"{FIRST}\"],\"allUuids\":[\"{FIRST}\"]}}}}}}\n"
    );
    let summary = message(THIRD, &format!("\"{SECOND}\""), ",\"isCompactSummary\":true");
    let last = format!("{{\"type\":\"last-prompt\",\"leafUuid\":\"{THIRD}\",\"sessionId\":\"{SESSION}\"}}\n");
    home.write(transcript(), message(FIRST, "null", "") + &boundary + &summary + &last);
    home
}

#[test]
fn a_fork_has_new_ids_everywhere_and_says_where_they_come_from() {
    let home = compacted();
    let before = fs::read(path(&home)).unwrap();
    let told = json(&done(&home, &["fork", SESSION, "--json"]));
    assert_eq!((&told["forkedFrom"], &told["entries"]), (&SESSION.into(), &4.into()));
    let text =
        fs::read_to_string(told["path"].as_str().unwrap().replace("[home]", home.path().to_str().unwrap()))
            .unwrap();
    let lines: Vec<_> = text.lines().map(json).collect();
    let (first, boundary, summary, last) = (&lines[0], &lines[1], &lines[2], &lines[3]);
    let segment = &boundary["compactMetadata"]["preservedSegment"];
    assert_eq!((&segment["headUuid"], &segment["anchorUuid"]), (&first["uuid"], &summary["uuid"]));
    assert_eq!(boundary["compactMetadata"]["preservedMessages"]["allUuids"][0], first["uuid"]);
    assert_eq!((&boundary["logicalParentUuid"], &summary["parentUuid"]), (&first["uuid"], &boundary["uuid"]));
    assert_eq!(last["leafUuid"], summary["uuid"]);
    for (line, id) in lines.iter().zip([FIRST, SECOND, THIRD]) {
        assert_ne!(line["uuid"], id);
        assert_eq!(line["forkedFrom"], serde_json::json!({"sessionId": SESSION, "messageUuid": id}));
        assert_eq!(line["sessionId"], told["session"]);
    }
    assert_eq!(lines[4]["customTitle"], told["title"]);
    assert_eq!(fs::read(path(&home)).unwrap(), before);
    let (ours, theirs) =
        (done(&home, &["show", SESSION, "--view", "model"]), told["session"].as_str().unwrap());
    assert_eq!(done(&home, &["show", theirs, "--view", "model"]), ours);
}

#[test]
fn a_fork_ends_with_the_message_asked_for_and_takes_side_files_along() {
    let home = home();
    let told = done(&home, &["fork", SESSION, "--up-to", "a1", "--title", "茶 copy", "--with-side-files"]);
    let (id, rest) = told.strip_prefix("forked to ").unwrap().split_once(':').unwrap();
    assert_snapshot!(rest, @" “茶 copy”, 2 entries");
    let folder = path(&home).parent().unwrap().join(id);
    let text = fs::read_to_string(folder.with_extension("jsonl")).unwrap();
    assert_eq!(text.lines().count(), 3);
    for place in ["subagents/agent-a1.jsonl", "tool-results/x.txt", "custom-title.json"] {
        assert!(folder.join(place).is_file(), "{place}");
    }
    assert!(home.path().join(".claude/file-history").join(id).join("f@v1").is_file());
    assert!(!done(&home, &["stats", "茶 copy"]).is_empty());
    let ran = run(&home, &["fork", SESSION, "--up-to", "nowhere"]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"
    annals: no entry begins with `nowhere`
    hint: `annals show SESSION --ids` prints the uuids of messages, `--json` those of all entries
    ");
}

#[test]
fn a_fork_up_to_a_message_ends_there_whatever_was_named_as_the_end() {
    let home = Home::new();
    let line = |id: &str, parent: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"timestamp\":\"2025-06-01T10:00:00Z\",\"sessionId\":\"{SESSION}\",\
             \"forkedFrom\":{{\"sessionId\":\"older\",\"messageUuid\":\"{ID}\"}},\"message\":{{\"content\":\"{id}\"}}}}\n"
        )
    };
    let (a, b) = ("11111111-93c1-4d41-9f0c-2a6f0f9f7a55", ID);
    let named = format!("{{\"type\":\"last-prompt\",\"leafUuid\":\"{a}\",\"explicit\":true}}\n");
    let glued = format!("{{}}{}", line("lost", &format!("\"{b}\"")));
    let parent = format!("\"{a}\"");
    home.write(
        format!(".claude/projects/-p/{SESSION}.jsonl"),
        line(a, "null") + &named + &line(b, &parent) + &named + &glued,
    );
    let forked = |args: &[&str]| -> (Vec<Value>, String) {
        let told: Value =
            serde_json::from_str(&done(&home, &[&["fork", SESSION, "--json"], args].concat())).unwrap();
        let text = fs::read_to_string(
            told["path"].as_str().unwrap().replace("[home]", &home.path().to_string_lossy()),
        )
        .unwrap();
        let view = done(&home, &["show", told["session"].as_str().unwrap(), "--view", "model"]);
        (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), view)
    };
    let (lines, view) = forked(&["--up-to", b]);
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["user", "user", "custom-title"]);
    assert!(view.contains(b), "{view}");
    assert_eq!(lines[1]["forkedFrom"], serde_json::json!({"sessionId": SESSION, "messageUuid": b}));
    let listed = done(&home, &["list", "--json"]);
    assert_eq!(listed.matches(&format!("\"forkedFrom\":\"{SESSION}\"")).count(), 1, "{listed}");
    let (lines, view) = forked(&[]);
    assert_eq!(lines.iter().filter(|line| line["type"] == "last-prompt").count(), 2);
    assert!(!view.contains("lost"), "what Claude Code does not read is not copied: {view}");
}

const ID: &str = "22222222-93c1-4d41-9f0c-2a6f0f9f7a55";

#[test]
fn a_session_is_deleted_and_comes_back_with_all_its_files() {
    let home = home();
    let before = files(&home);
    assert_snapshot!(done(&home, &["delete", "3e11", "--dry-run"]), @"
    would move to the trash 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55:
      56 B  [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55
      6 B  [home]/.claude/file-history/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55
      814 B  [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl
    ");
    assert_eq!(files(&home), before);
    // Its file alone is named, from among its own files; everything else is found all the same.
    let folder = path(&home).parent().unwrap().to_owned();
    let ran = run_in(&home, &folder, &["delete", &format!("{SESSION}.jsonl")]);
    assert_snapshot!(ran.stdout + &ran.stderr, @"
    moved to the trash: 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 (3 items, 876 B)
    `annals restore 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55` restores it
    ");
    assert_eq!(files(&home), []);
    let again = run(&home, &["delete", SESSION]);
    assert_eq!(again.code, Some(1));
    let listed = json(&done(&home, &["restore", "--json"]));
    assert_eq!((&listed["session"], &listed["title"]), (&SESSION.into(), &"Tea timer".into()));
    assert!(done(&home, &["restore"]).contains("Tea timer"));
    let rehearsed = done(&home, &["restore", "Tea timer", "--dry-run"]);
    assert!(
        rehearsed.starts_with("would restore 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 (entry "),
        "{rehearsed}"
    );
    assert!(rehearsed.trim_end().ends_with("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"), "{rehearsed}");
    fs::write(path(&home), "another\n").unwrap();
    let ran = run(&home, &["restore", "3e11"]);
    let rehearsed = run(&home, &["restore", "3e11", "--dry-run"]);
    assert_eq!((ran.code, rehearsed.code, &rehearsed.stderr), (Some(2), Some(2), &ran.stderr));
    assert_snapshot!(ran.stderr, @"
    annals: [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl is a different file at the original path; nothing was moved
    hint: move it away, or `annals delete` it, and try again
    ");
    fs::remove_file(path(&home)).unwrap();
    assert_snapshot!(done(&home, &["restore", "3e11"]), @"restored 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 to [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
    assert_eq!(files(&home), before);
    let ran = run(&home, &["restore", "3e11"]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"
    annals: no session `3e11` in the trash
    hint: `annals restore` lists the trash
    ");
    let ran = run(&home, &["restore"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "the trash is empty\n"));
}

#[test]
fn what_is_removed_for_good_is_gone() {
    let home = home();
    assert_snapshot!(done(&home, &["delete", SESSION, "--purge", "--dry-run"]), @"
    would permanently remove 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55:
      56 B  [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55
      6 B  [home]/.claude/file-history/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55
      814 B  [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl
    ");
    let before = files(&home);
    let ran = run(&home, &["delete", SESSION, "--purge"]);
    assert_eq!((ran.code, files(&home) == before), (Some(2), true));
    assert_snapshot!(ran.stderr, @"
    annals: removing a session permanently that is not in the trash needs `--yes`
    hint: without `--purge` it goes to the trash
    ");
    let told = json(&done(&home, &["delete", SESSION, "--purge", "--yes", "--json"]));
    assert_eq!((&told["done"], told["moved"].as_array().unwrap().len()), (&"delete".into(), 3));
    assert_eq!(files(&home), []);
    assert_eq!(run(&home, &["restore"]).code, Some(1));
    let home = self::home();
    let entry = deleted_entry(&home);
    let shown = |text: String| text.replace(&entry, "[entry]");
    assert_snapshot!(shown(done(&home, &["delete", SESSION, "--purge", "--dry-run"])), @"would permanently remove from the trash: 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 ([entry])");
    assert_snapshot!(shown(done(&home, &["delete", SESSION, "--purge"])), @"permanently removed from the trash: 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 ([entry])");
    let ran = run(&home, &["delete", SESSION, "--purge"]);
    assert_eq!(ran.code, Some(1));
}

/// Deletes the session; returns the entry of the trash.
fn deleted_entry(home: &Home) -> String {
    json(&done(home, &["delete", SESSION, "--force", "--json"]))["entry"].as_str().unwrap().to_owned()
}

#[test]
fn purging_a_session_that_is_in_the_trash_leaves_the_one_on_disk() {
    let home = home();
    deleted_entry(&home);
    let text = "{\"type\":\"user\",\"uuid\":\"new\"}\n";
    home.write(transcript(), text);
    done(&home, &["delete", SESSION, "--purge"]);
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), text);
    assert_eq!(run(&home, &["restore"]).code, Some(1));
    let ran = run(&home, &["delete", SESSION, "--purge"]);
    assert_eq!((ran.code, path(&home).exists()), (Some(2), true));
    // A path means the file, whatever is in the trash.
    deleted_entry(&home);
    home.write(transcript(), text);
    assert_eq!(run(&home, &["delete", path(&home).to_str().unwrap(), "--purge"]).code, Some(2));
    // The beginning of an id may mean both.
    home.write(format!(".claude/projects/-home-mia-tea/{OTHER}.jsonl"), text);
    fs::remove_file(path(&home)).unwrap();
    let ran = run(&home, &["delete", "3e11", "--purge"]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: `3e11` may be a session in the trash or another one on disk
    hint: name it by its whole id
    ");
}

const OTHER: &str = "3e11ffff-93c1-4d41-9f0c-2a6f0f9f7a55";

#[test]
fn every_deletion_is_listed_and_restored_by_its_entry() {
    let home = home();
    let mut entries = Vec::new();
    for text in ["first", "second"] {
        home.write(
            transcript(),
            format!("{{\"type\":\"user\",\"uuid\":\"{text}\",\"cwd\":\"/home/mia/tea\"}}\n"),
        );
        entries.push(deleted_entry(&home));
    }
    let listed = done(&home, &["restore", "--json"]);
    let listed: Vec<_> = listed.lines().map(json).collect();
    let ids: Vec<_> = listed.iter().map(|one| one["entry"].as_str().unwrap()).collect();
    assert_eq!(ids, [&entries[1], &entries[0]]);
    assert_eq!((&listed[0]["project"], &listed[0]["session"]), (&"/home/mia/tea".into(), &SESSION.into()));
    assert!(listed.iter().all(|one| one["size"].as_u64().unwrap() > 20), "{listed:?}");
    let table = done(&home, &["restore"]);
    assert!(entries.iter().all(|entry| table.contains(entry)) && table.contains("/home/mia/tea"), "{table}");
    let told = json(&done(&home, &["restore", SESSION, "--entry", &entries[0], "--json"]));
    assert_eq!(told["entry"], entries[0].as_str());
    assert!(fs::read_to_string(path(&home)).unwrap().contains("first"));
    deleted_entry(&home);
    done(&home, &["delete", SESSION, "--purge", "--entry", &entries[1]]);
    let ran = run(&home, &["restore", SESSION, "--entry", &entries[1]]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr.replace(&entries[1], "[entry]"), @"
    annals: session `3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55` has no entry `[entry]` in the trash
    hint: `annals restore` lists the trash
    ");
}

/// Sessions of several roots may have the same id, and their entries lie in one trash.
#[test]
fn a_session_of_another_root_is_not_meant_unless_its_entry_is_named() {
    let home = home();
    let other = home.path().join("other");
    let in_other = |place: &str| other.join(place.trim_start_matches(".claude/"));
    let copy = in_other(&transcript());
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(path(&home), &copy).unwrap();
    rest(&copy);
    let other_root = other.to_str().unwrap();
    let entry_of = |told: &str| json(told)["entry"].as_str().unwrap().to_owned();
    let own = entry_of(&done(&home, &["delete", SESSION, "--json"]));
    let theirs = entry_of(&done(&home, &["--root", other_root, "delete", SESSION, "--json"]));
    // The entry of the other root is newer.
    assert_eq!(entry_of(&done(&home, &["restore", SESSION, "--json"])), own);
    assert!(path(&home).is_file() && !copy.exists());
    done(&home, &["delete", SESSION, "--purge", "--yes"]);
    assert!(!path(&home).exists(), "the session on disk was meant");
    done(&home, &["restore", SESSION, "--entry", &theirs]);
    assert!(copy.is_file());
}

#[test]
fn a_session_that_was_deleted_from_another_config_folder_is_not_purged() {
    let home = home();
    done(&home, &["delete", SESSION]);
    fs::create_dir_all(home.path().join("other/projects")).unwrap();
    let purge = ["--root", "other", "delete", "--purge", "--yes", SESSION];
    let ran = run(&home, &purge);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("was deleted from another config folder"), "{}", ran.stderr);
    done(&home, &["restore", SESSION]);
}

#[test]
fn what_a_hydration_replaces_comes_back_from_the_trash() {
    let home = home();
    let before = fs::read(path(&home)).unwrap();
    let log = home.write("log.jsonl", "{\"type\":\"user\",\"uuid\":\"n\"}\n");
    let hydrate = ["hydrate", log.to_str().unwrap(), "--session", SESSION, "--json"];
    let told = json(&done(&home, &hydrate));
    assert_eq!(fs::read(path(&home)).unwrap(), fs::read(&log).unwrap());
    let ran = run(&home, &["restore", SESSION]);
    assert_eq!(ran.code, Some(2), "the new one is in the way: {}", ran.stderr);
    let entry = told["entry"].as_str().unwrap();
    assert!(ran.stderr.contains(&format!("--entry {entry} --replace")), "{}", ran.stderr);
    let swapped =
        json(&done(&home, &["restore", SESSION, "--entry", entry, "--replace", "--force", "--json"]));
    assert_eq!(swapped["entry"], entry, "the entry that was restored");
    assert_eq!(fs::read(path(&home)).unwrap(), before);
    let back = swapped["replaced"].as_str().unwrap();
    done(&home, &["restore", SESSION, "--entry", back, "--replace", "--force"]);
    assert_eq!(fs::read(path(&home)).unwrap(), fs::read(&log).unwrap());
    done(&home, &["delete", SESSION, "--force"]);
    done(&home, &["restore", SESSION, "--entry", told["entry"].as_str().unwrap()]);
    assert_eq!(fs::read(path(&home)).unwrap(), before);
}

#[test]
fn a_deletion_finishes_a_restore_that_was_killed() {
    let home = home();
    let before = files(&home);
    let entry = home.path().join(format!("annals/trash/{SESSION}.{}", deleted_entry(&home)));
    // As if only the side files had been moved back.
    fs::rename(entry.join("0"), path(&home).with_extension("")).unwrap();
    fs::rename(&entry, format!("{}.moving", entry.display())).unwrap();
    done(&home, &["delete", SESSION]);
    assert_eq!(files(&home), []);
    done(&home, &["restore", SESSION]);
    assert_eq!(files(&home), before);
}

#[test]
fn files_that_two_projects_share_stay_until_the_last_copy_is_deleted() {
    let home = home();
    let copy = home.write(format!(".claude/projects/-copy/{SESSION}.jsonl"), fs::read(path(&home)).unwrap());
    let shared = home.path().join(format!(".claude/file-history/{SESSION}/f@v1"));
    done(&home, &["delete", path(&home).to_str().unwrap(), "--force"]);
    assert!(shared.is_file() && copy.is_file());
    done(&home, &["delete", SESSION, "--force"]);
    assert!(!shared.exists());
    done(&home, &["restore", SESSION]);
    assert!(shared.is_file() && copy.is_file());
}

#[test]
fn nothing_is_rewritten_under_a_client_that_runs() {
    let home = home();
    let pid = std::process::id();
    home.write(".claude/sessions/1.json", format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\"}}"));
    let before = files(&home);
    let log = home.write("log.jsonl", "{\"type\":\"user\"}\n");
    let hydrate = ["hydrate", log.to_str().unwrap(), "--session", SESSION];
    for command in [&["delete", SESSION][..], &["tombstone", SESSION, "u2"], &hydrate] {
        let ran = run(&home, command);
        assert_eq!(ran.code, Some(2), "{command:?}");
        let told = ran.stderr.replace(&pid.to_string(), "[pid]");
        assert_eq!(
            told.lines().next().unwrap(),
            format!(
                "annals: [home]/{} was not changed: Claude Code has it open (process [pid])",
                transcript()
            )
        );
        assert_eq!(
            told.lines().nth(1).unwrap(),
            "hint: `--force` continues anyway; lines that are written meanwhile may be lost"
        );
        let rehearsed = run(&home, &[command, &["--dry-run"]].concat());
        assert_eq!(rehearsed.code, Some(0));
        assert!(rehearsed.stderr.contains("refused without `--force`"), "{}", rehearsed.stderr);
    }
    assert_eq!(files(&home), before);
    let renamed = run(&home, &["rename", SESSION, "Named"]);
    assert_eq!(renamed.code, Some(0));
    assert_snapshot!(renamed.stderr.replace(&pid.to_string(), "[pid]"), @"note: Claude Code has it open (process [pid]); it may write its own title again");
    assert_eq!(run(&home, &["delete", SESSION, "--force"]).code, Some(0));
    assert!(!path(&home).exists());
}

#[test]
fn a_session_is_repaired_and_the_repair_undone() {
    let home = home();
    let text = fs::read_to_string(path(&home)).unwrap();
    let broken = text.replacen("\"parentUuid\":\"u1\"", "\"parentUuid\":null", 1);
    assert_ne!(broken, text);
    fs::write(path(&home), &broken).unwrap();
    rest(&path(&home));
    let planned = done(&home, &["repair", SESSION]);
    assert!(planned.contains("it names no parent"), "{planned}");
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), broken, "a plan changes nothing");
    let repaired = done(&home, &["repair", SESSION, "--apply"]);
    assert!(repaired.ends_with("--undo` undoes it\n"), "{repaired}");
    assert!(fs::read_to_string(path(&home)).unwrap().starts_with(&broken));
    rest(&path(&home));
    let again = done(&home, &["repair", SESSION, "--apply"]);
    assert!(again.contains("nothing to repair"), "{again}");
    done(&home, &["repair", SESSION, "--undo"]);
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), broken);
}

#[test]
fn a_session_that_would_lose_messages_is_mentioned_where_it_is_shown() {
    let home = home();
    let text = fs::read_to_string(path(&home)).unwrap();
    let shown = run(&home, &["show", SESSION]);
    assert!(!shown.stderr.contains("would lose"), "{}", shown.stderr);
    fs::write(path(&home), text.replacen("\"parentUuid\":\"u1\"", "\"parentUuid\":null", 1)).unwrap();
    rest(&path(&home));
    for command in [&["show", SESSION][..], &["resume", SESSION, "--print", "--force"]] {
        let ran = run(&home, command);
        assert!(ran.stderr.contains("Claude Code would lose"), "{command:?}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(&format!("`annals repair {SESSION}`")), "{}", ran.stderr);
    }
}

#[test]
fn a_session_is_repaired_in_place_and_the_old_file_comes_back() {
    let home = home();
    let text = fs::read_to_string(path(&home)).unwrap();
    // A line that a later one with the same uuid replaced.
    let first = text.lines().next().unwrap();
    let large = format!(
        "{}\n{text}",
        first.replacen("\"content\":\"", &format!("\"content\":\"{}", "x".repeat(5000)), 1)
    );
    fs::write(path(&home), &large).unwrap();
    rest(&path(&home));
    let planned = done(&home, &["repair", SESSION, "--in-place"]);
    assert!(planned.contains("the file is written anew"), "{planned}");
    assert!(planned.contains("--in-place --apply"), "{planned}");
    done(&home, &["repair", SESSION, "--in-place", "--apply"]);
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), text);
    rest(&path(&home));
    done(&home, &["repair", SESSION, "--undo"]);
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), large);
}

#[test]
fn a_purge_removes_the_copies_that_repairs_have_kept() {
    let home = home();
    let text = fs::read_to_string(path(&home)).unwrap();
    let first = text.lines().next().unwrap();
    fs::write(path(&home), format!("{}\n{text}", first.replacen("\"content\":\"", "\"content\":\"x", 1)))
        .unwrap();
    rest(&path(&home));
    done(&home, &["repair", SESSION, "--in-place", "--apply"]);
    let kept = || {
        let folder = home.path().join("annals/repairs");
        fs::read_dir(folder).unwrap().filter(|entry| !entry.as_ref().unwrap().path().is_dir()).count()
    };
    assert!(kept() > 0, "a receipt and a backup");
    rest(&path(&home));
    done(&home, &["delete", SESSION]);
    assert!(kept() > 0, "the session can still come back");
    done(&home, &["delete", "--purge", SESSION, "--yes"]);
    assert_eq!(kept(), 0);
}

#[test]
fn one_entry_is_taken_out_and_the_others_keep_their_bytes() {
    let home = home();
    let before = fs::read_to_string(path(&home)).unwrap();
    assert_snapshot!(done(&home, &["tombstone", SESSION, "u2", "--dry-run"]), @"would remove entry u2 from 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55");
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), before);
    assert_snapshot!(done(&home, &["tombstone", SESSION, "u2"]), @"removed entry u2 from 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55: the file was rewritten");
    let lines: Vec<_> = before.split_inclusive('\n').collect();
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), [lines[0], lines[1], lines[3]].concat());
    let ran = run(&home, &["tombstone", SESSION, "u2"]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"
    annals: no entry begins with `u2`
    hint: `annals show SESSION --ids` prints the uuids of messages, `--json` those of all entries
    ");
    rest(&path(&home));
    let ran = run(&home, &["tombstone", SESSION, "u1", "--limit", "0"]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl has 566 bytes, more than the 0 that are rewritten
    hint: `--limit MIB` allows a larger one
    ");
}

#[test]
fn a_session_is_made_and_replaced_from_files_and_pipes() {
    let home = home();
    let log = "{\"type\":\"user\",\"uuid\":\"n\"}\n";
    let file = home.write("log.jsonl", format!("\n{log}\n"));
    let hydrate = ["hydrate", file.to_str().unwrap(), "--session", SESSION];
    let before = fs::read_to_string(path(&home)).unwrap();
    assert_snapshot!(done(&home, &[&hydrate[..], &["--dry-run"]].concat()), @"would replace 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 with 1 entry");
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), before);
    let replaced = done(&home, &hydrate);
    let [what, earlier, hint] = replaced.lines().collect::<Vec<_>>()[..] else { panic!("{replaced}") };
    assert_eq!(what, "replaced 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 with 1 entry");
    assert_eq!(hint, "`annals show 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55` prints the new one");
    // The command that is named brings the session back as it was, side files included.
    let command = earlier.split('`').nth(1).unwrap();
    let args: Vec<_> = command.split(' ').skip(1).collect();
    done(&home, &args);
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), before);
    done(&home, &hydrate);
    assert_eq!(fs::read_to_string(path(&home)).unwrap(), log);
    for (input, after) in [
        ("{\"loglines\":[{\"a\":1},{\"b\":[2]}]}", "{\"a\":1}\n{\"b\":[2]}\n"),
        (
            "\n{\n  \"loglines\": [\n    {\"type\":1.0, \"type\":\"a\"}\n  ]\n}\n",
            "{\"type\":1.0, \"type\":\"a\"}\n",
        ),
    ] {
        rest(&path(&home));
        let ran = feed(&home, &["hydrate", "-", "--session", SESSION], input.as_bytes());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{input}");
        assert_eq!(fs::read_to_string(path(&home)).unwrap(), after, "{input}");
    }
    let ran = feed(&home, &["hydrate", "-", "--session", SESSION], b"{\"error\":\"not logged in\"}\n");
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("a single object without a `type`"), "{}", ran.stderr);
    for empty in ["", "\n", "{}", "{\"loglines\":[]}\n"] {
        fs::write(path(&home), log).unwrap();
        rest(&path(&home));
        for dry_run in [&[][..], &["--dry-run"]] {
            let ran =
                feed(&home, &[&["hydrate", "-", "--session", SESSION], dry_run].concat(), empty.as_bytes());
            assert_eq!(ran.code, Some(2), "{empty}");
            let told = "annals: the log is empty\nhint: nothing was changed; with `--allow-empty` the session becomes empty, and an existing one goes to the trash\n";
            assert_eq!(ran.stderr, told);
        }
        assert_eq!(fs::read_to_string(path(&home)).unwrap(), log, "{empty}");
    }
    let ran = feed(&home, &["hydrate", "-", "--session", SESSION, "--allow-empty"], b"");
    assert_eq!((ran.code, fs::read_to_string(path(&home)).unwrap().as_str()), (Some(0), ""));
    let mut messages = Vec::new();
    for bad in [
        "{}\nno json\n",
        "{\"loglines\":[{\"a\":1}",
        "{\"loglines\":[{\"a\":1} {}]}",
        "{\"loglines\":[1]}",
        "<html>\n",
    ] {
        fs::write(path(&home), log).unwrap();
        rest(&path(&home));
        for dry_run in [&[][..], &["--dry-run"]] {
            let ran =
                feed(&home, &[&["hydrate", "-", "--session", SESSION], dry_run].concat(), bad.as_bytes());
            assert_eq!(ran.code, Some(2), "{bad}");
            messages.push(ran.stderr);
        }
        assert_eq!(fs::read_to_string(path(&home)).unwrap(), log, "{bad}");
    }
    messages.dedup();
    assert_snapshot!(messages.concat(), @"
    annals: entry 2 of the log: not a JSON object: syntax error at byte 2
    annals: entry 1 of the log: not a JSON object: it ends too early at byte 20
    annals: entry 1 of the log: not a JSON object: syntax error at byte 22
    annals: entry 1 of the log: not a JSON object: it is a value of another kind
    annals: entry 1 of the log: not a JSON object: syntax error at byte 1
    ");
    let new = json(&feed(&home, &["hydrate", "-", "--project", "new", "--json"], log.as_bytes()).stdout);
    assert!(new["path"].as_str().unwrap().contains("-new/"), "{new}");
    let made = feed(&home, &["hydrate", "-"], log.as_bytes()).stdout;
    assert!(made.starts_with("created ") && made.contains(" with 1 entry\n"), "{made}");
    let ran = run(&home, &["hydrate", "nowhere.jsonl"]);
    assert_eq!(ran.code, Some(2));
}

/// Serves one answer on loopback and returns its address.
fn serve(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(&answer);
    });
    format!("http://{address}/log")
}

#[test]
fn a_session_is_replaced_from_a_server_or_not_at_all() {
    let home = home();
    let old = fs::read(path(&home)).unwrap();
    let answer = |status: &str, length: usize, body: &str| {
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .into_bytes()
    };
    let two = "{\"a\":1}\n{\"b\":2}\n";
    for (what, answer) in [
        ("not found", answer("404 Not Found", two.len(), two)),
        ("no content", answer("204 No Content", 0, "")),
        ("not modified", b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_vec()),
        ("nothing", answer("200 OK", 0, "")),
        ("an object with nothing in it", answer("200 OK", 2, "{}")),
        ("an error", answer("500 Internal Server Error", two.len(), two)),
        ("dropped between lines", answer("200 OK", 1000, two)),
        ("dropped within a line", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"a\":1}\n{\"b\"".to_vec()),
        (
            "a chunk short",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"a\":1}\n\r\n".to_vec(),
        ),
        ("no json", answer("200 OK", 6, "<html>")),
        ("no answer", Vec::new()),
    ] {
        let ran = run(&home, &["hydrate", &serve(answer), "--session", SESSION]);
        assert_eq!(ran.code, Some(2), "{what}: {}", ran.stdout);
        assert!(ran.stderr.starts_with("annals: "), "{what}: {}", ran.stderr);
        assert_eq!(fs::read(path(&home)).unwrap(), old, "{what}");
    }
    let large = format!("{{\"type\":\"{}\"}}\n", "x".repeat(12_000_000));
    for (answer, after) in [
        (answer("200 OK", two.len(), two), two),
        (answer("200 OK", 27, "{\"loglines\":[{\"a\":1},{}]}  "), "{\"a\":1}\n{}\n"),
        (answer("200 OK", large.len(), &large), &large),
        (answer("200 OK", 0, ""), ""),
        (answer("404 Not Found", 2, "{}"), ""),
    ] {
        rest(&path(&home));
        let allow: &[&str] = if after.is_empty() { &["--allow-empty"] } else { &[] };
        let ran = run(&home, &[&["hydrate", &serve(answer), "--session", SESSION], allow].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(fs::read_to_string(path(&home)).unwrap() == after);
    }
    assert_eq!(fs::read_dir(path(&home).parent().unwrap()).unwrap().count(), 2);
    assert_eq!(annals(&home, &["show", SESSION]).code, Some(1));
}

#[cfg(unix)]
#[test]
fn a_session_is_restored_where_the_projects_folder_is_a_link() {
    let home = home();
    let projects = home.path().join(".claude/projects");
    fs::create_dir(home.path().join("data")).unwrap();
    fs::rename(&projects, home.path().join("data/store")).unwrap();
    std::os::unix::fs::symlink(home.path().join("data/store"), &projects).unwrap();
    let real = home.path().join("data/store").join(path(&home).strip_prefix(&projects).unwrap());
    let before = fs::read(&real).unwrap();
    done(&home, &["delete", real.to_str().unwrap()]);
    assert!(done(&home, &["restore"]).contains("3e11a6b4"));
    done(&home, &["restore", "3e11"]);
    assert_eq!(fs::read(&real).unwrap(), before);
}
