//! Commands that change several sessions, and lists that leave archived sessions out.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::command::{Home, Ran};
use testkit::transcript::Transcript;

use crate::{ANNALS, rest};

/// Returns a session's id by its number.
fn id(number: u32) -> String {
    format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55")
}

/// A home with four sessions, at rest: two of the tea project, one of the weather project, one file without a conversation.
fn home() -> Home {
    let home = Home::new();
    for (number, folder, cwd, title) in [
        (1, "-home-mia-tea", "/home/mia/tea", "Boil the water"),
        (2, "-home-mia-tea", "/home/mia/tea", "水开了吗？☕"),
        (3, "C--wei", r"C:\wei", "Weather"),
    ] {
        let time = format!("2025-06-{number:02}T10:00:00Z");
        let lines = Transcript::session(&id(number)).cwd(cwd).at(&time).user(&format!("u{number}"), title);
        rest(&home.write(format!(".claude/projects/{folder}/{}.jsonl", id(number)), lines.to_string()));
    }
    rest(&home.write(format!(".claude/projects/C--wei/{}.jsonl", id(4)), ""));
    home
}

fn run(home: &Home, args: &[&str]) -> Ran {
    let mut command = home.command(ANNALS);
    command.env("ANNALS_HOME", home.path().join("annals")).args(args);
    home.ran(&command.output().unwrap())
}

/// Runs annals on a terminal on which a person types an answer.
#[cfg(target_os = "linux")]
fn run_on_terminal(home: &Home, args: &str, answer: &str) -> (Option<i32>, String) {
    use std::io::Write;
    let mut script = home.command("script");
    script.env("ANNALS_HOME", home.path().join("annals")).env("COLUMNS", "100");
    script.args(["--quiet", "--return", "--command", &format!("{ANNALS} {args}"), "/dev/null"]);
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Returns the first characters of the ids of the sessions on disk.
fn on_disk(home: &Home) -> Vec<String> {
    let ran = run(home, &["list", "--all", "--json", "--sort", "created"]);
    ran.stdout.lines().map(|line| json(line)["id"].as_str().unwrap()[..8].to_owned()).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Marks a session as open in a process.
fn open(home: &Home, number: u32, pid: u32) {
    let record = format!("{{\"pid\":{pid},\"sessionId\":\"{}\"}}", id(number));
    home.write(format!(".claude/sessions/{pid}.json"), record);
}

#[test]
fn archived_sessions_are_left_out_of_lists_and_counted() {
    let home = home();
    assert_eq!(run(&home, &["archive", &id(3)]).code, Some(0));
    let ran = run(&home, &["list"]);
    assert_snapshot!(ran.stdout, @"
    session   title           project        active       size
    00000002  水开了吗？☕    /home/mia/tea  2025-06-02  274 B
    00000001  Boil the water  /home/mia/tea  2025-06-01  270 B
    ");
    assert_snapshot!(ran.stderr, @"
    1 archived session left out; `--archived` selects these, `--all` everything
    1 file without a conversation left out; `--all` lists them
    ");
    assert_eq!(run(&home, &["list", "--json"]).stderr, ran.stderr, "programs are told as well");
    let ran = run(&home, &["list", "--archived"]);
    assert_snapshot!(ran.stdout, @r"
    session   title    project  active       size
    00000003  Weather  C:/wei   2025-06-03  257 B  archived
    ");
    let ids = |args: &[&str]| {
        let ran = run(&home, &[&["list", "--json"], args].concat());
        let lines = ran.stdout.lines().map(json);
        lines
            .map(|row| (row["id"].as_str().unwrap()[7..8].to_owned(), row["archived"] == true))
            .collect::<Vec<_>>()
    };
    let row = |id: &str, archived| (id.to_owned(), archived);
    assert_eq!(ids(&[]), [row("2", false), row("1", false)]);
    assert_eq!(ids(&["--archived"]), [row("3", true)]);
    assert_eq!(ids(&["--all"]).len(), 4);
    let ran = run(&home, &["archive", "--title", "e", "--dry-run"]);
    assert!(ran.code == Some(0) && !ran.stderr.contains("--archived"), "{}", ran.stderr);
    let ran = run(&home, &["list", "--limit", "1"]);
    assert!(ran.stderr.starts_with("at least 1 archived session left out"), "{}", ran.stderr);
    let ran = run(&home, &["list", "--project", r"C:\wei"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.ends_with("annals: all sessions that match are archived\n"), "{}", ran.stderr);
}

#[test]
fn an_archived_session_is_found_by_its_name_and_is_the_latest_only_if_all_are_archived() {
    let home = home();
    let latest =
        || json(&run(&home, &["archive", "latest", "--dry-run", "--json"]).stdout)["session"].clone();
    assert_eq!(latest(), id(3));
    run(&home, &["archive", &id(3)]);
    assert_eq!(latest(), id(2));
    assert_eq!(run(&home, &["show", "Weather"]).code, Some(0));
    assert_eq!(run(&home, &["show", &id(3)[..8]]).code, Some(0));
    assert_eq!(run(&home, &["archive", &id(1), &id(2), "--yes"]).code, Some(0));
    assert_eq!(latest(), id(3));
}

#[test]
fn several_sessions_are_listed_and_changed_with_a_confirmation() {
    let home = home();
    let args = ["delete", &id(1)[..8], "Weather", &id(1)];
    let ran = run(&home, &args);
    assert_eq!((ran.code, on_disk(&home).len()), (Some(2), 4));
    assert_snapshot!(ran.stdout, @"
    will move 2 sessions to the trash (transcripts: 527 B):
    session   title           project        active       size
    00000001  Boil the water  /home/mia/tea  2025-06-01  270 B
    00000003  Weather         C:/wei         2025-06-03  257 B
    ");
    assert_snapshot!(ran.stderr, @"
    annals: changing several sessions needs a confirmation
    hint: `--yes` confirms it, `--dry-run` changes nothing
    ");
    let ran = run(&home, &[&args[..], &["--yes"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(ran.stdout.lines().skip(4).collect::<Vec<_>>().join("\n"), @"
    moved to the trash: 00000001-93c1-4d41-9f0c-2a6f0f9f7a55 (1 item, 270 B)
    moved to the trash: 00000003-93c1-4d41-9f0c-2a6f0f9f7a55 (1 item, 257 B)
    ");
    assert_eq!(on_disk(&home), ["00000004", "00000002"]);
    assert_eq!(run(&home, &["restore", &id(1)]).code, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_user_is_asked() {
    let home = home();
    let (code, said) = run_on_terminal(&home, "archive --project /home/mia/tea", "n\n");
    assert!(code == Some(2) && said.contains("archive 2 sessions? [y/N]"), "{code:?} {said}");
    assert!(said.contains("nothing was changed") && !said.contains("hint"), "{said}");
    let (code, said) = run_on_terminal(&home, "archive --project /home/mia/tea", "y\n");
    assert!(code == Some(0) && said.contains(&format!("archived {}", id(1))), "{code:?} {said}");
    let ran = run(&home, &["list", "--archived", "--json"]);
    assert_eq!(ran.stdout.lines().count(), 2);
    // One session that is named is changed at once.
    let (code, said) = run_on_terminal(&home, "unarchive 00000001", "");
    assert!(code == Some(0) && !said.contains('?'), "{code:?} {said}");
}

#[test]
fn filters_select_what_a_list_shows() {
    let home = home();
    let changed = |args: &[&str]| {
        let ran = run(&home, &[args, &["--json", "--dry-run"]].concat());
        assert_eq!(ran.code, Some(0), "{args:?} {}", ran.stderr);
        let rows = ran.stdout.lines().map(json);
        rows.map(|row| {
            assert_eq!(row["dryRun"], true, "{row}");
            row["session"].as_str().unwrap()[7..8].to_owned()
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(changed(&["delete", "--project", "/home/mia/tea"]), ["2", "1"]);
    assert_eq!(changed(&["delete", "--project", r"C:\wei", "--all"]), ["4", "3"]);
    assert_eq!(changed(&["delete", "--until", "2025-06-01"]), ["1"]);
    assert_eq!(changed(&["archive", "--title", "水开"]), ["2"]);
    assert_eq!(changed(&["tag", "old", "--since", "2025-06-02"]), ["3", "2"]);
    assert_eq!(changed(&["tag", "--remove", "--branch", "main"]), ["3", "2", "1"]);
    assert_eq!(changed(&["delete", "--all"]), ["4", "3", "2", "1"]);
    run(&home, &["archive", &id(2)]);
    assert_eq!(changed(&["delete", "--project", "/home/mia/tea"]), ["1"], "archived sessions are hidden");
    assert_eq!(changed(&["unarchive", "--project", "/home/mia/tea"]), ["2"], "only archived ones");
    assert_eq!(changed(&["unarchive", "--all"]), ["2"], "also without another filter");
    assert_eq!(changed(&["archive", "--all"]), ["4", "3", "1"], "those that are not archived yet");
    assert_eq!(changed(&["delete", "--archived"]), ["2"]);
    assert_eq!(on_disk(&home).len(), 4, "nothing was changed");
}

/// A session that began long ago may still be in use: `--until` selects it, `--inactive` does not.
#[test]
fn inactive_sessions_are_selected_by_their_last_activity() {
    let home = home();
    let (hour, day) = (jiff::SignedDuration::from_hours(1), jiff::SignedDuration::from_hours(24));
    let old = Transcript::session(&id(5)).cwd("/home/mia/tea").at("2025-01-01T10:00:00Z").user("u5", "Long");
    let recent = (jiff::Timestamp::now() - hour).to_string();
    rest(&home.write(
        format!(".claude/projects/-home-mia-tea/{}.jsonl", id(5)),
        old.at(&recent).user("u6", "Still here").to_string(),
    ));
    let selected = |args: &[&str]| {
        let ran = run(&home, &[args, &["--json"]].concat());
        let id = |row: Value| row["session"].as_str().or(row["id"].as_str()).unwrap()[7..8].to_owned();
        ran.stdout.lines().map(|line| id(json(line))).collect::<Vec<_>>()
    };
    assert_eq!(selected(&["list", "--until", "90d"]), ["5", "3", "2", "1"]);
    assert_eq!(selected(&["list", "--inactive", "90d"]), ["3", "2", "1"]);
    assert_eq!(selected(&["list", "--inactive", "0h"]), ["5", "3", "2", "1"]);
    assert_eq!(selected(&["list", "--inactive", "2025-06-02"]), ["1"]);
    assert_eq!(selected(&["list", "--inactive", &(jiff::Timestamp::now() - day).to_string()]).len(), 3);
    for command in [&["delete"][..], &["archive"], &["tag", "old"]] {
        let args = [command, &["--inactive", "90d", "--project", "/home/mia/tea", "--dry-run"]].concat();
        assert_eq!(selected(&args), ["2", "1"], "{command:?}");
    }
}

#[test]
fn a_forgotten_tag_and_an_empty_one_are_refused() {
    let home = home();
    for args in [
        &["tag", "00000001", "00000002"][..],
        &["tag", "00000001", "0000"],
        &["tag", "Weather", &id(2)],
        &["tag", "--title", "weather", "00000002"],
    ] {
        let ran = run(&home, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains("the last argument, is the id of a session"), "{}", ran.stderr);
    }
    for args in [&["tag", "--all", "", "--yes"][..], &["tag", &id(1), " "], &["tag", &id(1), "", "--yes"]] {
        let ran = run(&home, args);
        assert!(ran.code == Some(2) && ran.stderr.contains("`--remove` removes the tag"), "{}", ran.stderr);
    }
    assert_eq!(run(&home, &["tag", &id(1), "beef"]).code, Some(0), "no session has this id");
    assert_eq!(run(&home, &["tag", &id(1), "00000002", "--yes"]).code, Some(0));
    let tags: Vec<_> =
        run(&home, &["list", "--json"]).stdout.lines().map(|line| json(line)["tag"].clone()).collect();
    assert_eq!(tags, [Value::Null, Value::Null, "00000002".into()]);
    assert_eq!(run(&home, &["tag", &id(2), &id(1), "--remove", "--yes"]).code, Some(0));
}

#[test]
fn the_help_of_unarchive_says_which_sessions_it_selects() {
    let help = |command: &str| run(&Home::new(), &[command, "--help"]).stdout;
    for command in ["archive", "unarchive"] {
        assert!(!help(command).contains("--archived  "), "{}", help(command));
        assert!(!help(command).contains("Include archived"), "{}", help(command));
    }
    assert!(help("unarchive").contains("among the archived ones"), "{}", help("unarchive"));
    assert!(help("delete").contains("Include archived"), "{}", help("delete"));
}

#[test]
fn a_dry_run_prints_the_table_alone() {
    let home = home();
    let ran = run(&home, &["tag", "--here", "alt", "--dry-run", "--all"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let ran = run(&home, &["tag", "--title", "weather", "alt", "--dry-run"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(ran.stdout, @r"
    would tag 1 session “alt” (transcripts: 257 B):
    session   title    project  active       size
    00000003  Weather  C:/wei   2025-06-03  257 B
    ");
    assert_eq!(run(&home, &["archive", &id(1), "--dry-run"]).stdout, format!("would archive {}\n", id(1)));
    assert!(!run(&home, &["list", "--json"]).stdout.contains("\"archived\":true"));
}

#[test]
fn a_failure_is_reported_and_does_not_stop_the_others() {
    let home = home();
    open(&home, 2, std::process::id());
    let ran = run(&home, &["delete", "--project", "/home/mia/tea", "--yes", "--json"]);
    assert_eq!(ran.code, Some(2));
    let done: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!((done.len(), &done[0]["session"], &done[0]["done"]), (1, &id(1).into(), &"delete".into()));
    let stderr = ran.stderr.replace(&std::process::id().to_string(), "[pid]");
    assert_snapshot!(stderr, @"
    annals: [home]/.claude/projects/-home-mia-tea/00000002-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl was not changed: Claude Code has it open (process [pid])
    hint: `--force` continues anyway; lines that are written meanwhile may be lost
    ");
    assert_eq!(on_disk(&home), ["00000004", "00000003", "00000002"]);
    let ran = run(&home, &["tag", "ffff", &id(3), "new", "--yes", "--json"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("annals: no session `ffff`"), "{}", ran.stderr);
    assert_eq!(json(ran.stdout.trim())["tag"], "new");
}

#[test]
fn what_selects_nothing_or_is_ambiguous_changes_nothing() {
    let home = home();
    let before = on_disk(&home);
    for (args, code, said) in [
        (&["delete", "--title", "nowhere", "--yes"][..], 1, "no session matches"),
        (&["delete", "--yes"], 2, "no session was named"),
        (&["archive"], 2, "no session was named"),
        (&["tag", "x"], 2, "no tag was given"),
        (&["tag"], 2, "no tag was given"),
        (&["delete", "Weather", "--all", "--yes"], 2, "not both"),
        (&["delete", "--all", "--purge", "--yes"], 2, "`--purge` takes one session"),
        (&["delete", "Weather", "latest", "--purge", "--yes"], 2, "`--purge` takes one session"),
        (&["delete", "ffff", "eeee", "--yes"], 2, "no session `eeee`"),
    ] {
        let ran = run(&home, args);
        assert_eq!(ran.code, Some(code), "{args:?} {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?} {}", ran.stderr);
    }
    assert_eq!(on_disk(&home), before);
}

/// A script whose variable is not set gives an empty text.
#[test]
fn a_filter_without_text_is_refused_and_selects_nothing() {
    let home = home();
    let before = on_disk(&home);
    for filter in ["--title", "--branch", "--tool", "--file", "--project"] {
        for value in ["", " ", "\t", "\u{3000}"] {
            for command in
                [&["delete", "--yes"][..], &["archive", "--yes"], &["tag", "x", "--yes"], &["list"]]
            {
                let (joined, separate) = (format!("{filter}={value}"), [filter, value]);
                for ran in [
                    run(&home, &[command, &separate[..]].concat()),
                    run(&home, &[command, &[joined.as_str()][..]].concat()),
                ] {
                    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{command:?} {joined}");
                    let said = &ran.stderr;
                    let is_clear = said.contains("it is empty") || said.contains("a value is required");
                    assert!(is_clear || value == "\t", "{said}");
                }
            }
        }
    }
    for disk in ["/", "//", "\\"] {
        let ran = run(&home, &["delete", "--file", disk, "--yes"]);
        assert!(ran.code == Some(2) && ran.stderr.contains("the whole disk"), "{}", ran.stderr);
    }
    assert_eq!(on_disk(&home), before);
    assert_eq!(run(&home, &["delete", "", "--yes"]).code, Some(1), "no session has an empty name");
}

/// While annals asks, a session is added that the filters would select.
#[cfg(target_os = "linux")]
#[test]
fn a_session_that_appears_after_the_table_is_not_changed() {
    use std::io::{Read, Write};
    let home = home();
    let mut script = home.command("script");
    script.env("ANNALS_HOME", home.path().join("annals")).env("COLUMNS", "100");
    script.args(["--quiet", "--return", "--command", &format!("{ANNALS} delete --all"), "/dev/null"]);
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut said = Vec::new();
    while !said.ends_with(b"[y/N] ") {
        let mut byte = [0];
        stdout.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    let new = PathBuf::from(format!(".claude/projects/C--wei/{}.jsonl", id(5)));
    rest(&home.write(new, Transcript::session(&id(5)).user("u5", "New").to_string()));
    stdin.write_all(b"y\n").unwrap();
    stdout.read_to_end(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", String::from_utf8_lossy(&said));
    assert_eq!(on_disk(&home), ["00000005"]);
    let trash = fs::read_dir(home.path().join("annals/trash")).unwrap();
    assert_eq!(trash.count(), 4);
}

/// The help says where the sessions come from.
#[test]
fn the_help_says_that_everything_is_on_this_disk() {
    let help = run(&Home::new(), &["--help"]).stdout;
    assert!(help.contains("All sessions come from files on this disk"), "{help}");
}
