//! Lists of sessions and projects.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use annals_transcript::project::folder_name;
use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::command::Home;
use testkit::transcript::Transcript;

#[cfg(unix)]
use crate::without_privileges;
use crate::{ANNALS, SESSION, annals, small_home};

/// Returns a session's id by its number.
fn id(number: u32) -> String {
    format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55")
}

/// Returns a prompt that is said in a working directory on a day of 2025.
fn prompt(text: &str, cwd: &str, day: u32) -> String {
    // A line that names no session suits any file.
    let time = format!("2025-06-{day:02}T10:00:00Z");
    let lines = Transcript::session("").version("2.1.50").cwd(cwd).at(&time).user(&format!("u{day}"), text);
    lines.without("sessionId").without("isSidechain").to_string()
}

/// Writes a session that was last written on the day given.
fn write(home: &Home, folder: &str, number: u32, day: u32, content: &str) -> PathBuf {
    let path = home.write(format!(".claude/projects/{folder}/{}.jsonl", id(number)), content);
    let days = Duration::from_secs(u64::from(day - 1) * 86_400);
    set_time(&path, SystemTime::UNIX_EPOCH + NOON + days);
    path
}

/// 1 June 2025, 10 and 12 o'clock.
const MORNING: Duration = Duration::from_secs(1_748_772_000);
const NOON: Duration = Duration::from_secs(1_748_779_200);

fn set_time(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn listed(home: &Home, args: &[&str]) -> Vec<Value> {
    let ran = annals(home, &[&["list", "--json"], args].concat());
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn titles(home: &Home, args: &[&str]) -> Vec<String> {
    listed(home, args).iter().map(|session| session["title"].as_str().unwrap_or("-").to_owned()).collect()
}

#[test]
fn sessions_are_listed_the_last_active_first() {
    let home = Home::new();
    write(&home, "-home-mia-tea", 1, 3, &prompt("Boil the water", "/home/mia/tea", 1));
    write(
        &home,
        "-home-mia-tea",
        2,
        2,
        &(prompt("水开了吗？", "/home/mia/tea", 2) + "{\"type\":\"tag\",\"tag\":\"厨房\"}\n"),
    );
    write(&home, "C--wei", 3, 4, &prompt("x", r"C:\wei", 3));
    write(&home, "C--wei", 4, 4, "");
    let ran = annals(&home, &["list"]);
    assert_snapshot!(ran.stdout, @"
    session   title           project        active       size
    00000003  x               C:/wei         2025-06-03  179 B
    00000002  水开了吗？      /home/mia/tea  2025-06-02  229 B  #厨房
    00000001  Boil the water  /home/mia/tea  2025-06-01  198 B
    ");
    assert_snapshot!(ran.stderr, @"1 file without a conversation left out; `--all` lists them");
    assert_snapshot!(annals(&home, &["list", "--all", "--sort", "size"]).stdout, @"
    session   title           project        active       size
    00000002  水开了吗？      /home/mia/tea  2025-06-02  229 B  #厨房
    00000001  Boil the water  /home/mia/tea  2025-06-01  198 B
    00000003  x               C:/wei         2025-06-03  179 B
    00000004  (empty file)    C--wei                       0 B
    ");
    assert_snapshot!(annals(&home, &["projects"]).stdout, @"
    project        sessions   size  active      notes
    C:/wei                1  179 B  2025-06-03
    /home/mia/tea         2  427 B  2025-06-02
    ");
}

#[test]
fn the_json_has_the_agreed_shape() {
    let home = Home::new();
    let content = prompt("Boil the water", "/home/mia/tea", 1)
        + "{\"type\":\"permission-mode\",\"permissionMode\":\"plan\"}\n{\"type\":\"custom-title\",\"customTitle\":\"Tea\"}\n";
    write(&home, "-home-mia-tea", 1, 3, &content);
    home.write(format!(".claude/projects/-home-mia-tea/{}/subagents/agent-a1.jsonl", id(1)), "");
    home.write(format!(".claude/projects/-home-mia-tea/{}/archived.json", id(1)), "{\"archived\":true}");
    assert_snapshot!(annals(&home, &["list", "--archived", "--json"]).stdout, @r#"{"id":"00000001-93c1-4d41-9f0c-2a6f0f9f7a55","title":"Tea","titleSource":"custom","firstPrompt":"Boil the water","createdAt":"2025-06-01T10:00:00.000Z","updatedAt":"2025-06-01T10:00:00.000Z","cwd":"/home/mia/tea","projectKey":"-home-mia-tea","projectPath":"/home/mia/tea","gitBranch":"main","version":"2.1.50","entrypoint":null,"permissionMode":"plan","tag":null,"forkedFrom":null,"archived":true,"live":false,"size":293,"path":"[home]/.claude/projects/-home-mia-tea/00000001-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl","subagents":1,"messages":1,"queued":0}"#);
    assert_snapshot!(annals(&home, &["projects", "--json"]).stdout, @r#"{"path":"/home/mia/tea","keys":["-home-mia-tea"],"sessions":1,"size":293,"updatedAt":"2025-06-01T10:00:00.000Z","sharesFolderWith":[],"worktreeOf":null}"#);
}

#[test]
fn filters_leave_out_what_does_not_fit() {
    let home = Home::new();
    for day in 1..=4 {
        write(&home, "-home-mia-tea", day, day, &prompt(&format!("Day {day}"), "/home/mia/tea", day));
    }
    write(&home, "-other", 9, 9, &prompt("Elsewhere", "/other", 9).replace("main", "side"));
    assert_eq!(titles(&home, &["--limit", "2"]), ["Elsewhere", "Day 4"]);
    assert_eq!(titles(&home, &["--since", "2025-06-04"]), ["Elsewhere", "Day 4"]);
    assert_eq!(titles(&home, &["--until", "2025-06-02"]), ["Day 2", "Day 1"], "all of that day");
    assert_eq!(titles(&home, &["--until", "2025-06-02T10:00:00Z"]), ["Day 1"]);
    for (since, found) in
        [("T09:30", 2), (" 10:30", 1), ("T10:30:00[America/New_York]", 1), ("T18:59+09:00", 2)]
    {
        let since = format!("2025-06-04{since}");
        assert_eq!(titles(&home, &["--since", &since]).len(), found, "{since}");
    }
    assert_eq!(titles(&home, &["--until", "2025-06-02T10:00"]), ["Day 1"]);
    assert_eq!(titles(&home, &["--until", "2025-06-02T10:01"]), ["Day 2", "Day 1"]);
    assert_eq!(titles(&home, &["--title", "dAY 3"]), ["Day 3"]);
    assert_eq!(titles(&home, &["--branch", "side"]), ["Elsewhere"]);
    assert_eq!(titles(&home, &["--project", "/other"]), ["Elsewhere"]);
    assert_eq!(titles(&home, &["--project", "/home/mia/tea", "-n", "1"]), ["Day 4"]);
    assert_eq!(titles(&home, &["--sort", "created", "-n", "2"]), ["Elsewhere", "Day 4"]);
    let ran = annals(&home, &["list", "--title", "nowhere"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "annals: no session matches\n"));
    let ran = annals(&home, &["list", "--since", "soon"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("`soon` is not a date"), "{}", ran.stderr);
    let dates = [
        ["list", "--since", "-7d"],
        ["list", "--until", "-7d"],
        ["list", "--on", "-7d"],
        ["list", "--inactive", "-7d"],
        ["prompts", "--since", "-7d"],
        ["search", "--until", "-7d"],
        ["tools", "--since", "-7d"],
        ["usage", "--since", "-7d"],
    ];
    for dated in dates {
        let ran = annals(&home, &dated);
        assert!(ran.code == Some(2) && ran.stderr.contains("write "), "{dated:?}: {}", ran.stderr);
    }
}

#[test]
fn what_was_said_since_counts_and_not_when_files_were_written() {
    let home = Home::new();
    for day in 10..=12 {
        write(&home, "-tea", day, day - 8, &prompt(&format!("Day {day}"), "/tea", day));
    }
    // The second time everything is remembered.
    for _ in 0..2 {
        assert_eq!(titles(&home, &["--since", "2025-06-11"]), ["Day 12", "Day 11"]);
        assert_eq!(titles(&home, &["--since", "2025-06-11", "--limit", "1"]), ["Day 12"]);
    }
}

#[test]
fn times_that_no_entry_tells_are_not_made_up() {
    let home = Home::new();
    let untimed = "{\"type\":\"user\",\"uuid\":\"u\",\"cwd\":\"/tea\",\"message\":{\"content\":\"When?\"}}\n";
    write(&home, "-tea", 1, 3, untimed);
    let projects = annals(&home, &["projects", "--json"]).stdout;
    let project: Value = serde_json::from_str(&projects).unwrap();
    assert_eq!((&project["path"], &project["updatedAt"]), (&"/tea".into(), &Value::Null));
    assert_eq!(listed(&home, &[])[0]["updatedAt"], Value::Null);
}

#[test]
fn the_permission_mode_is_the_one_that_was_told_last() {
    let home = Home::new();
    let mode = |text: &str, mode: &str| {
        prompt(text, "/tea", 1).replacen("\"type\"", &format!("\"permissionMode\":\"{mode}\",\"type\""), 1)
    };
    let record = "{\"type\":\"permission-mode\",\"permissionMode\":\"plan\",\"sessionId\":\"s\"}\n";
    let long = prompt(&"word ".repeat(5000), "/tea", 1).repeat(20);
    for (number, content, told) in [
        (1, mode("Hello", "default"), Some("default")),
        (2, mode("Hello", "default") + record, Some("plan")),
        (3, record.to_owned() + &mode("Hello", "auto"), Some("auto")),
        (4, mode("Hello", "default") + &long + &mode("Bye", "auto") + &prompt("!", "/tea", 2), Some("auto")),
        (5, mode("Hello", "default") + &long + &prompt("!", "/tea", 2), Some("default")),
        // Of a client that knew no titles: nobody asks for what stands between the ends.
        (7, (mode("Hello", "default") + &long + &prompt("!", "/tea", 2)).replace("2.1.50", "2.1.20"), None),
        (6, prompt("Hello", "/tea", 1), None),
    ] {
        write(&home, "-tea", number, 1, &content);
        let session = listed(&home, &[]).into_iter().find(|session| session["id"] == id(number).as_str());
        assert_eq!(session.unwrap()["permissionMode"].as_str(), told, "{number}");
    }
}

/// Returns a call of a tool with one argument.
fn call(tool: &str, argument: &str, value: &str) -> Transcript {
    let lines =
        Transcript::session("").assistant(tool, |reply| reply.tool("t", tool, json!({ argument: value })));
    ["sessionId", "timestamp", "cwd", "version", "gitBranch"]
        .iter()
        .fold(lines, |lines, key| lines.without(key))
}

#[test]
fn sessions_are_found_by_what_was_done_in_them() {
    let home = Home::new();
    let says = |day: u32| prompt(&format!("Day {day}"), "/home/mia/tea", day);
    write(
        &home,
        "-p",
        1,
        1,
        &format!("{}{}", says(1), call("Edit", "file_path", "/home/mia/tea/src/main.rs")),
    );
    // Larger than what the ends of a file hold.
    let long = says(2).replace("Day 2", &"long ".repeat(60_000));
    write(&home, "-p", 2, 2, &format!("{}{}{long}", says(2), call("Bash", "command", "ls")));
    let path = write(&home, "-p", 3, 3, &says(3));
    let agent = call("Write", "file_path", r"C:\mia\茶.txt").with("isSidechain", true);
    home.write(format!(".claude/projects/-p/{}/subagents/agent-a1.jsonl", id(3)), agent.to_string());
    let old = call("Grep", "path", "leaves").with("sessionId", id(2));
    home.write(".claude/projects/-p/agent-0a.jsonl", old.to_string());

    let first_prompts = |args: &[&str]| titles(&home, args);
    // The second time everything is remembered.
    for _ in 0..2 {
        assert_eq!(first_prompts(&["--tool", "edit"]), ["Day 1"]);
        assert_eq!(first_prompts(&["--tool", "Write"]), ["Day 3"], "a subagent's calls count");
        assert_eq!(first_prompts(&["--tool", "Grep"]), ["Day 2"], "also those of old versions");
        assert_eq!(first_prompts(&["--file", "main.rs"]), ["Day 1"]);
        assert_eq!(first_prompts(&["--file", "/home/mia/tea"]), ["Day 2", "Day 1"]);
        assert_eq!(first_prompts(&["--file", "c:/mia/茶.txt", "--limit", "1"]), ["Day 3"]);
        assert_eq!(first_prompts(&["--tool", "Edit", "--file", "茶.txt"]), [] as [&str; 0]);
    }
    let messages = |args: &[&str]| listed(&home, args)[0]["messages"].clone();
    assert_eq!(messages(&["--title", "Day 2"]), 3, "all of it was read for the filters");

    // What is new is read from where the reading ended.
    let mut text = fs::read_to_string(&path).unwrap();
    text += &call("WebFetch", "url", "http://x").to_string();
    fs::write(&path, &text).unwrap();
    assert_eq!(first_prompts(&["--tool", "WebFetch"]), ["Day 3"]);
    assert_eq!(messages(&["--title", "Day 3"]), 2);
    let ran = annals(&home, &["list", "--tool", "Nope"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "annals: no session matches\n"));
}

#[test]
fn a_session_without_repository_is_on_no_branch() {
    let home = Home::new();
    let outside = |day| prompt("Hello", "/tea", day).replace("\"main\"", "\"\"");
    write(&home, "-tea", 1, 3, &outside(1));
    write(&home, "-tea", 2, 3, &(prompt("Hello", "/tea", 1) + &outside(2)));
    write(&home, "-tea", 3, 3, &(outside(1) + &prompt("Hello", "/tea", 3)));
    let branches: Vec<_> = listed(&home, &[]).iter().map(|session| session["gitBranch"].clone()).collect();
    assert_eq!(branches, [Value::from("main"), Value::Null, Value::Null]);
}

#[test]
fn a_short_list_does_not_read_what_cannot_be_in_it() {
    let home = Home::new();
    for number in 1..=100 {
        let minute = format!("T{:02}:{:02}:00", 10 + number / 60, number % 60);
        let content = prompt(&format!("Number {number}"), "/home/mia/tea", 1).replace("T10:00:00", &minute);
        let path = write(&home, "-home-mia-tea", number, 1, &content);
        let written = MORNING + Duration::from_secs(u64::from(number) * 60);
        set_time(&path, SystemTime::UNIX_EPOCH + written);
    }
    // Whoever reads this one complains.
    let folder = home.path().join(format!(".claude/projects/-home-mia-tea/{}.jsonl", id(999)));
    fs::create_dir_all(&folder).unwrap();
    set_time(&folder, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
    assert_eq!(annals(&home, &["list", "--limit", "3"]).stderr, "");
    let ran = annals(&home, &["list"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("cannot read"), "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().count(), 102, "the rest is listed, and it too");
    let last = ran.stdout.lines().last().unwrap();
    assert!(last.contains("(cannot be read)"), "{last}");
    let unread = listed(&home, &[]).pop().unwrap();
    let reason = unread["error"].as_str().unwrap_or_default();
    assert!(reason.ends_with("it is a folder") && unread["title"].is_null(), "{unread}");
}

#[test]
fn a_file_that_was_only_touched_does_not_push_others_out() {
    let home = Home::new();
    for number in 1..=70 {
        write(&home, "-p", number, 20, &prompt("touched", "/p", 1));
    }
    write(&home, "-p", 99, 10, &prompt("active", "/p", 10));
    assert_eq!(titles(&home, &["--limit", "1"]), ["active"]);
}

#[test]
fn a_conversation_stays_one_when_records_follow_it() {
    let home = Home::new();
    let filler =
        format!("{{\"type\":\"progress\",\"data\":{{\"x\":\"{}\"}}}}\n", "y".repeat(1000)).repeat(300);
    let timed = "{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"timestamp\":\"2025-06-02T10:00:00.000Z\"}\n";
    let content = format!("{filler}{}{filler}{timed}", prompt("In the middle", "/p", 1));
    let path = write(&home, "-p", 1, 20, &content);
    assert_eq!(titles(&home, &[]), ["In the middle"]);
    fs::write(&path, content + timed).unwrap();
    assert_eq!(titles(&home, &[]), ["In the middle"]);
    assert_eq!(titles(&home, &["--limit", "1"]), ["In the middle"]);
}

#[cfg(unix)]
#[test]
fn what_the_catalogue_remembers_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    write(&home, "-p", 1, 20, &prompt("Words", "/p", 1));
    listed(&home, &[]);
    let folder = home.path().join(".local/share/annals");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("catalog.sqlite"))), (0o700, 0o600));
}

#[test]
fn what_the_ends_of_a_file_do_not_tell_is_read_and_remembered() {
    let home = Home::new();
    let filler = |count: usize| {
        let text = "y".repeat(1000);
        format!("{{\"type\":\"progress\",\"data\":{{\"x\":\"{text}\"}}}}\n").repeat(count)
    };
    let first = prompt("The first words", "/p", 1);
    let title = "{\"type\":\"custom-title\",\"customTitle\":\"In the middle\"}\n{\"type\":\"tag\",\"tag\":\"kept\"}\n";
    let at_end = "{\"type\":\"custom-title\",\"customTitle\":\"At the end\"}\n";
    let snapshots = "{\"type\":\"file-history-snapshot\",\"messageId\":\"x\",\"snapshot\":{}}\n".repeat(3000);
    let large = prompt(&"long ".repeat(60_000), "/p", 5);
    let late = |day: u32| prompt("later", "/p", day);
    for (number, content, title, updated) in [
        (1, format!("{first}{}{title}{}{}", filler(300), filler(300), late(2)), "In the middle", "02"),
        (2, format!("{snapshots}{first}"), "The first words", "01"),
        (3, format!("{large}{}", late(6)), &"long ".repeat(60)[..299], "06"),
        (4, format!("{first}{}", filler(3000)), "The first words", "01"),
        (5, format!("{first}{}{}{}{at_end}", filler(300), late(2), filler(9000)), "At the end", "02"),
    ] {
        let path = write(&home, "-p", number, 20, &content);
        let check = || {
            let all = listed(&home, &[]);
            let found = all.iter().find(|session| session["id"] == *id(number)).unwrap();
            assert_eq!(found["title"].as_str().unwrap().trim_end(), title.trim_end(), "{number}");
            assert_eq!(found["updatedAt"], format!("2025-06-{updated}T10:00:00.000Z"), "{number}");
            assert_eq!(found["cwd"], "/p");
        };
        check();
        check();
        // Growing does not make it forget.
        fs::write(&path, content.clone() + &late(21)).unwrap();
        let again = listed(&home, &[]);
        let found = again.iter().find(|session| session["id"] == *id(number)).unwrap();
        assert_eq!(found["title"].as_str().unwrap().trim_end(), title.trim_end(), "{number}");
        assert_eq!(found["updatedAt"], "2025-06-21T10:00:00.000Z");
        assert_eq!(found["tag"], if number == 1 { Value::from("kept") } else { Value::Null });
    }
}

#[test]
fn a_cache_that_is_broken_or_gone_changes_no_answer() {
    let home = Home::new();
    write(&home, "-p", 1, 1, &prompt("Words", "/p", 1));
    let cache = home.path().join(".local/share/annals/catalog.sqlite");
    let first = annals(&home, &["list", "--json"]).stdout;
    assert!(cache.is_file());
    fs::write(&cache, "not a database, but long enough to be taken for one ".repeat(100)).unwrap();
    assert_eq!(annals(&home, &["list", "--json"]).stdout, first);
    assert_eq!(annals(&home, &["list", "--json"]).stdout, first);
    fs::remove_dir_all(home.path().join(".local")).unwrap();
    fs::write(home.path().join(".local"), "in the way").unwrap();
    assert_eq!(annals(&home, &["list", "--json"]).stdout, first);
}

#[test]
fn folders_that_paths_share_are_told_apart() {
    let home = Home::new();
    write(&home, "-a-b", 1, 1, &prompt("One", "/a/b", 1));
    write(&home, "-a-b", 2, 2, &prompt("Two", "/a-b", 2));
    write(&home, "-a-b", 3, 3, &prompt("Below", "/a/b/deep", 3));
    write(&home, "-moved", 4, 4, &prompt("Moved", "/somewhere", 4));
    let ran = annals(&home, &["projects", "--json"]);
    let projects: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = projects
        .iter()
        .map(|project| {
            (project["path"].as_str().unwrap(), &project["sessions"], project["sharesFolderWith"].to_string())
        })
        .collect();
    let (one, two) = (Value::from(1), Value::from(2));
    assert_eq!(
        told,
        [
            ("/somewhere", &one, "[]".to_owned()),
            ("/a/b", &two, "[\"/a-b\"]".to_owned()),
            ("/a-b", &one, "[\"/a/b\"]".to_owned())
        ]
    );
    assert_eq!(titles(&home, &["--project", "/somewhere"]), ["Moved"], "found by what the session tells");
}

#[test]
fn a_path_on_a_drive_is_one_project_in_either_case_of_its_letter() {
    let home = Home::new();
    write(&home, "E--x", 1, 1, &prompt("One", r"E:\x", 1));
    write(&home, "e--x", 2, 2, &prompt("Two", r"e:\x", 2));
    write(&home, "e--x", 3, 3, &prompt("Three", "e:/x/", 3));
    let tree = r"E:\x\.claude\worktrees\fix";
    write(&home, &folder_name(tree), 4, 4, &prompt("Four", tree, 4));
    write(&home, "E--X", 5, 5, &prompt("Five", r"E:\X", 5));
    write(&home, "-x", 6, 6, &prompt("Six", r"/x", 6));
    write(&home, "-x", 7, 7, &prompt("Seven", r"\x", 7));
    let output = home.command(ANNALS).args(["projects", "--json"]).output().unwrap();
    let told = str::from_utf8(&output.stdout).unwrap().lines().map(|line| {
        let project: Value = serde_json::from_str(line).unwrap();
        let shared = project["sharesFolderWith"].to_string();
        format!(
            "{} {} {} {}",
            project["path"].as_str().unwrap(),
            project["sessions"],
            project["worktreeOf"],
            shared
        )
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            r#"\x 1 null ["/x"]"#,
            r#"/x 1 null ["\\x"]"#,
            r"E:\X 1 null []",
            r"E:/x 3 null []",
            r#"E:\x\.claude\worktrees\fix 1 "E:/x" []"#,
        ]
    );
}

#[test]
fn a_first_run_says_what_was_looked_for() {
    let home = Home::new();
    let ran = annals(&home, &["list"]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"
    annals: no sessions found in [home]/.claude/projects or [home]/.config/claude/projects
    hint: name the config folder of Claude Code with `--root DIR`; `annals roots` lists those that are searched
    ");
    home.write(".claude/projects/-p/notes.txt", "");
    assert_snapshot!(annals(&home, &["list"]).stderr, @"
    annals: no sessions found in [home]/.claude/projects
    hint: name the config folder of Claude Code with `--root DIR`; `annals roots` lists those that are searched
    ");
}

#[test]
fn worktrees_stand_with_their_repository() {
    let home = Home::new();
    let repository = home.path().canonicalize().unwrap().join("repo");
    let (beside, made) = (repository.with_file_name("repo2"), repository.join(".claude/worktrees/fix"));
    home.write("repo/.git/worktrees/repo2/gitdir", format!("{}\n", beside.join(".git").display()));
    home.write("repo2/.git", format!("gitdir: {}\n", repository.join(".git/worktrees/repo2").display()));
    let paths = [&repository, &beside, &made, &PathBuf::from("/elsewhere")];
    for (number, path) in (1..).zip(paths) {
        let path = path.to_str().unwrap();
        let text = prompt(path.rsplit('/').next().unwrap(), path, 10 - number);
        write(&home, &folder_name(path), number, 20, &text);
    }
    assert_snapshot!(annals(&home, &["projects"]).stdout, @"
    project                  sessions   size  active      notes
    [home]/repo            1  195 B  2025-06-09
    └ [home]/repo2         1  197 B  2025-06-08  worktree of [home]/repo
    └ .claude/worktrees/fix         1  216 B  2025-06-07  worktree of [home]/repo
    /elsewhere                      1  190 B  2025-06-06
    ");
    let repository = repository.to_str().unwrap();
    assert_eq!(titles(&home, &["--project", repository]), ["repo", "repo2", "fix"], "and its worktrees");
    assert_eq!(titles(&home, &["--project", beside.to_str().unwrap()]), ["repo2"], "not the other way round");
}

#[test]
fn a_session_that_was_moved_belongs_where_it_lies() {
    let home = Home::new();
    let filler = format!("{{\"type\":\"progress\",\"x\":\"{}\"}}\n", "y".repeat(1000)).repeat(400);
    let record = "{\"type\":\"relocated\",\"relocatedCwd\":\"/new/place\"}\n";
    let (before, after) = (prompt("Moved", "/old/place", 1), prompt("on", "/new/place/deep", 2));
    write(&home, "-new-place", 1, 3, &format!("{before}{record}"));
    // The record is out of sight, but not where it was written from then on.
    write(&home, "-new-place", 2, 3, &format!("{before}{filler}{record}{filler}{after}"));
    // A mere change of the working directory moves nothing.
    write(&home, "-old-place", 3, 3, &format!("{before}{after}"));
    let paths: Vec<_> = listed(&home, &[]).iter().map(|session| session["projectPath"].clone()).collect();
    assert_eq!(paths, ["/new/place", "/old/place", "/new/place"]);
}

#[test]
fn every_folder_that_is_searched_is_told() {
    let home = Home::new();
    write(&home, "-p", 1, 1, &prompt("x", "/p", 1));
    fs::create_dir_all(home.path().join("bare/projects")).unwrap();
    home.write("file", "");
    let roots = ["--root", ".claude", "--root", "bare", "--root", "file", "--root", "nowhere"];
    let ran = annals(&home, &[&roots[..], &["roots"]].concat());
    // How wide the first column is depends on where the test runs.
    let rows: Vec<_> =
        ran.stdout.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_snapshot!(rows.join("\n"), @"
    folder projects sessions notes
    [home]/.claude 1 1
    [home]/bare 0 0 empty
    [home]/file 0 0 [home]/file is a file, not a config folder of Claude Code
    [home]/nowhere 0 0 [home]/nowhere is not there
    ");
    assert_snapshot!(annals(&home, &[&roots[..], &["roots", "--json"]].concat()).stdout, @r#"
    {"path":"[home]/.claude","projects":1,"sessions":1,"errors":[]}
    {"path":"[home]/bare","projects":0,"sessions":0,"errors":[]}
    {"path":"[home]/file","projects":0,"sessions":0,"errors":["[home]/file is a file, not a config folder of Claude Code"]}
    {"path":"[home]/nowhere","projects":0,"sessions":0,"errors":["[home]/nowhere is not there"]}
    "#);
    let ran = annals(&home, &[&roots[..], &["list"]].concat());
    assert_eq!(
        (ran.code, ran.stdout.lines().count()),
        (Some(0), 2),
        "the others do not keep it from being listed"
    );
    assert_snapshot!(ran.stderr, @"
    annals: [home]/file is a file, not a config folder of Claude Code
    annals: [home]/nowhere is not there
    ");
    let ran = annals(&home, &["--root", "file", "list"]);
    assert_snapshot!(ran.stderr, @"
    annals: [home]/file is a file, not a config folder of Claude Code
    hint: a config folder of Claude Code is the one that contains `projects`; `stats`, `check` and `tools` take any other as a path
    ");
    assert_eq!(ran.code, Some(2));
}

#[cfg(unix)]
#[test]
fn links_in_a_circle_and_pipes_hold_nothing_up() {
    let home = Home::new();
    let path = write(&home, "-p", 1, 1, &prompt("x", "/p", 1));
    let projects = home.path().join(".claude/projects");
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, projects.join(name)).unwrap();
    link(&projects, "-p/loop");
    link(&projects.join("-p"), "-same");
    link(&projects.join("-circle"), "-circle");
    link(Path::new("nowhere"), &format!("-p/{}.jsonl", id(2)));
    link(&path, &format!("-p/{}.jsonl", id(3)));
    let pipe = projects.join(format!("-p/{}.jsonl", id(4)));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = annals(&home, &["list"]);
    let complaints: Vec<_> = ran.stderr.lines().filter(|line| !line.contains("no such file")).collect();
    assert!(matches!(complaints[..], [loops] if loops.contains("-circle")), "{complaints:?}");
    assert_eq!(ran.stdout.lines().count(), 4, "a link to a session is one too");
}

#[cfg(unix)]
#[test]
fn a_huge_hole_is_not_read_through() {
    let home = Home::new();
    let path = write(&home, "-p", 1, 1, &(prompt("First", "/p", 1) + &prompt("Second", "/p", 2)));
    File::options().write(true).open(&path).unwrap().set_len(5 << 30).unwrap();
    assert_eq!(titles(&home, &["--limit", "1"]), ["First"]);
}

#[test]
fn clocks_that_run_ahead_are_shown_as_they_are() {
    let home = Home::new();
    let ahead = prompt("Ahead", "/p", 1).replace("2025-06-01", "2199-01-01");
    let path = write(&home, "-p", 1, 1, &ahead);
    set_time(&path, SystemTime::now() + Duration::from_secs(3 * 365 * 86_400));
    write(&home, "-p", 2, 2, &prompt("Now", "/p", 2));
    assert_eq!(titles(&home, &["--limit", "1"]), ["Ahead"]);
    let ran = annals(&home, &["list"]);
    assert!(ran.stdout.contains("2199-01-01"), "{}", ran.stdout);
}

#[test]
fn every_list_of_nothing_says_where_it_looked() {
    let home = Home::new();
    for (args, said) in [
        (&["projects"][..], "no sessions found in [home]/.claude/projects or"),
        (&["prompts"], "no prompts found in [home]/.claude/history.jsonl or"),
        (&["list", "--ghosts"], "no prompt history found in [home]/.claude/history.jsonl or"),
        (&["list", "--limit", "0"], "at least 1"),
    ] {
        let ran = annals(&home, args);
        assert!(ran.code != Some(0) && ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    write(&home, "-p", 1, 1, "{\"type\":\"custom-title\",\"customTitle\":\"Only a title\"}\n");
    write(&home, "-p", 2, 2, &prompt("x", "/p", 2));
    let listed = annals(&home, &["list", "--all"]).stdout;
    assert!(listed.contains("Only a title (no message in it)"), "{listed}");
    let left_out = |args: &[&str]| annals(&home, &[&["list"], args].concat()).stderr.contains("left out");
    assert!(left_out(&[]) && left_out(&["--title", "only"]) && !left_out(&["--title", "x"]));
}

/// Says what was changed in a file.
type Change = fn(&Path, &str);

#[test]
fn what_is_remembered_changes_no_answer_whatever_becomes_of_a_file() {
    let filler =
        |count: usize| format!("{{\"type\":\"progress\",\"x\":\"{}\"}}\n", "y".repeat(1000)).repeat(count);
    let title = |text: &str| format!("{{\"type\":\"custom-title\",\"customTitle\":\"{text}\"}}\n");
    let old = prompt("The old one", "/p", 1) + &title("Old title") + "{\"type\":\"tag\",\"tag\":\"old\"}\n";
    let small = old.clone() + &call("Bash", "command", "ls").to_string();
    let large = format!("{}{}{}", prompt("The old one", "/p", 1), filler(300), call("Bash", "command", "ls"))
        + &title("Old title")
        + &filler(300)
        + &prompt("later", "/p", 2);
    let renamed = title("First title") + &large;
    let by_model = |text: &str| format!("{{\"type\":\"ai-title\",\"aiTitle\":\"{text}\"}}\n");
    let renamed_by_model = format!("{old}{}{}{}", filler(300), by_model("By a model"), filler(300))
        .replace("custom-title", "ai-title");
    let moved = format!("{}{}{}", filler(200), prompt("The first", "/q", 1), filler(200))
        + "{\"type\":\"relocated\",\"relocatedCwd\":\"/p\"}\n"
        + &filler(200)
        + &prompt("later", "/q", 2);
    let without_prompt = filler(300) + &call("Bash", "command", "ls").to_string();
    let torn = large.clone() + "{\"type\":\"user\",\"message\":{\"content\":\"cut";
    let other = prompt("Another one that is longer", "/p", 3)
        + &call("Read", "file_path", "/p/x").to_string()
        + &filler(700);
    let append = |path: &Path, text: &str| {
        fs::write(path, fs::read_to_string(path).unwrap() + text).unwrap();
    };
    let changes: [(&str, Change, String); 9] = [
        ("touched", |path, _| set_time(path, SystemTime::UNIX_EPOCH + NOON), String::new()),
        ("grown", append, prompt("more", "/p", 4)),
        ("grown far past its ends", append, filler(900) + &prompt("more", "/p", 4)),
        ("title taken away", append, title("")),
        ("titled by a model", append, by_model("Last by a model")),
        ("left without a title", append, "{\"type\":\"last-prompt\",\"lastPrompt\":\"x\"}\n".to_owned()),
        ("written anew, and longer", |path, text| fs::write(path, text).unwrap(), other.clone()),
        ("written anew, and shorter", |path, text| fs::write(path, text).unwrap(), prompt("New", "/p", 5)),
        (
            "replaced",
            |path, text| {
                fs::write(path.with_extension("new"), text).unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            },
            other,
        ),
    ];
    for before in [small, large, renamed, renamed_by_model, moved, without_prompt, torn] {
        for (name, change, text) in &changes {
            let home = Home::new();
            let path = write(&home, "-p", 1, 6, &before);
            let answers = || {
                let lists: [&[&str]; 3] = [&[], &["--tool", "Bash"], &["--file", "/p/x"]];
                lists.map(|args| listed(&home, args))
            };
            answers();
            change(&path, text);
            answers();
            append(&path, &prompt("and on", "/p/below", 7));
            let remembered = answers();
            fs::remove_dir_all(home.path().join(".local/share/annals")).unwrap();
            let mut fresh = answers();
            // How many messages there are is known only of what was read whole.
            for (remembered, fresh) in remembered.iter().flatten().zip(fresh.iter_mut().flatten()) {
                if remembered["messages"].is_null() || fresh["messages"].is_null() {
                    fresh["messages"] = remembered["messages"].clone();
                }
            }
            assert_eq!(remembered, fresh, "{name}, of {} bytes", before.len());
        }
    }
}

#[test]
fn a_short_list_is_the_beginning_of_the_whole_one() {
    let home = Home::new();
    for number in 1..=120_u32 {
        // Written in order of their ids backwards, in the same second, to which the time of the file is rounded.
        let ms = format!("T10:00:00.{:03}", (number * 37) % 1000 / 8);
        let content = prompt("x", "/p", 1).replace("T10:00:00.000", &ms);
        let path = write(&home, "-p", 200 - number, 1, &content);
        set_time(&path, SystemTime::UNIX_EPOCH + MORNING);
    }
    let ids = |args: &[&str]| -> Vec<_> {
        listed(&home, args).iter().map(|session| session["id"].clone()).collect()
    };
    for sort in ["updated", "created", "size"] {
        let all = ids(&["--sort", sort]);
        for limit in [1, 16, 17, 64, 119] {
            let short = ids(&["--sort", sort, "--limit", &limit.to_string()]);
            assert_eq!(short, all[..limit], "{limit}, by {sort}");
        }
    }
}

#[test]
fn the_order_is_the_same_however_exactly_an_entry_tells_its_time() {
    let home = Home::new();
    for (number, time) in [(1, "00.000100"), (2, "00.000900"), (3, "00.000500"), (4, "00.001000")] {
        let content = prompt("x", "/p", 1).replace("00.000Z", &format!("{time}Z"));
        write(&home, "-p", number, 1, &content);
    }
    for sort in ["updated", "created"] {
        let list = || listed(&home, &["--sort", sort]);
        let (first, again) = (list(), list());
        assert_eq!(first, again);
        let ids: Vec<_> = first.iter().map(|session| session["id"].as_str().unwrap()).collect();
        assert_eq!(ids, [4, 1, 2, 3].map(id), "by {sort}");
        fs::remove_dir_all(home.path().join(".local/share/annals")).unwrap();
    }
}

#[test]
fn paths_that_share_a_folder_are_listed_apart() {
    let home = Home::new();
    write(&home, "-srv-a-b", 1, 1, &prompt("dash", "/srv/a-b", 1));
    write(&home, "-srv-a-b", 2, 2, &prompt("slash", "/srv/a/b/deep", 2));
    write(&home, "-srv-a-b", 3, 3, &prompt("elsewhere", "/moved/by/hand", 3));
    write(&home, "-", 4, 4, &prompt("root", "/", 4));
    write(&home, "E--x", 5, 5, &prompt("drive", r"E:\x", 5));
    assert_eq!(titles(&home, &["--project", "/srv/a-b"]), ["elsewhere", "dash"]);
    assert_eq!(titles(&home, &["--project", "/srv/a/b"]), ["elsewhere", "slash"]);
    assert_eq!(titles(&home, &["--project", "."]), [] as [&str; 0], "not those of the root");
    assert_eq!(titles(&home, &["--project", "/"]), ["root"]);
    assert_eq!(titles(&home, &["--project", "e:/x"]), ["drive"]);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_looked_at_is_listed_with_the_reason() {
    let home = Home::new();
    write(&home, "-p", 1, 1, &prompt("x", "/p", 1));
    let link = home.path().join(format!(".claude/projects/-p/{}.jsonl", id(2)));
    std::os::unix::fs::symlink("nowhere", link).unwrap();
    let ran = annals(&home, &["list"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(2), 3), "{}", ran.stdout);
    assert!(ran.stderr.contains("there is no such file"), "{}", ran.stderr);
    // Two names of one folder.
    std::os::unix::fs::symlink(home.path().join(".claude"), home.path().join("again")).unwrap();
    fs::create_dir(home.path().join("half")).unwrap();
    std::os::unix::fs::symlink("../.claude/projects", home.path().join("half/projects")).unwrap();
    let ran = annals(&home, &["list", "--root", ".claude", "--root", "again", "--root", "half"]);
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
}

#[test]
fn a_catalogue_that_is_damaged_inside_is_made_anew_and_one_that_is_busy_is_left_alone() {
    let home = Home::new();
    for number in 1..=200 {
        write(&home, "-p", number, 1, &prompt(&"x".repeat(300), "/p", 1));
    }
    let all = listed(&home, &[]);
    let cache = home.path().join(".local/share/annals/catalog.sqlite");
    let mut bytes = fs::read(&cache).unwrap();
    bytes[4096..].fill(0x55);
    fs::write(&cache, &bytes).unwrap();
    assert_eq!(listed(&home, &[]), all);
    assert_eq!(listed(&home, &[]), all);
    assert!(!fs::read(&cache).unwrap().windows(100).any(|bytes| bytes == [0x55; 100]), "it is healed");
    // Many that find none make one.
    for _ in 0..3 {
        fs::remove_dir_all(cache.parent().unwrap()).unwrap();
        let lists: Vec<_> = (0..8)
            .map(|_| std::thread::scope(|scope| scope.spawn(|| listed(&home, &[])).join().unwrap()))
            .collect();
        assert!(lists.iter().all(|list| *list == all));
        assert!(fs::metadata(&cache).unwrap().len() > 50_000, "what was found out is kept");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_working_directory_that_was_removed_is_named_as_the_reason() {
    let home = Home::new();
    let line = format!("mkdir gone && cd gone && rmdir ../gone && exec {ANNALS} list --here");
    let ran = home.run("sh", &["-c", &line]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.starts_with("annals: cannot determine the working directory: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: it may have been removed"), "{}", ran.stderr);
}

#[test]
fn a_root_is_one_however_it_is_named() {
    let home = small_home();
    let whole = home.path().join(".claude");
    let by = |root: &str| annals(&home, &["list", "--json", "--root", root]).stdout;
    let listed = by(whole.to_str().unwrap());
    assert_eq!(listed.lines().count(), 1);
    for root in [".claude", "./.claude/", ".claude/projects/.."] {
        assert_eq!(by(root), listed, "{root}");
    }
    let twice = annals(&home, &["roots", "--json", "--root", ".claude", "--root", whole.to_str().unwrap()]);
    assert_eq!(twice.stdout.lines().count(), 1, "{}", twice.stdout);
}

#[cfg(unix)]
#[test]
fn a_project_that_cannot_be_read_is_told_and_the_others_are_listed() {
    use std::os::unix::fs::PermissionsExt;

    let home = small_home();
    home.write(".claude/projects/-p/0b0b0b0b-0000-4000-8000-000000000000.jsonl", "");
    home.write("elsewhere/inner/0c0c0c0c-0000-4000-8000-000000000000.jsonl", "");
    std::os::unix::fs::symlink(home.path().join("elsewhere/inner"), home.path().join(".claude/projects/-q"))
        .unwrap();
    let forbid = |path: &str, mode| {
        fs::set_permissions(home.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    forbid(".claude/projects/-p", 0o000);
    forbid("elsewhere", 0o000);
    let run = |args: &[&str]| home.ran(&without_privileges(&home).args(args).output().unwrap());
    let (text, json) = (run(&["list"]), run(&["list", "--json"]));
    forbid(".claude/projects/-p", 0o700);
    forbid("elsewhere", 0o700);
    for ran in [&text, &json] {
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for project in ["-p", "-q"] {
            let told = format!("annals: cannot read [home]/.claude/projects/{project}: ");
            assert!(ran.stderr.contains(&told), "{}", ran.stderr);
        }
    }
    assert_eq!(json.stdout.lines().count(), 1);
    assert_eq!(serde_json::from_str::<Value>(json.stdout.trim()).unwrap()["id"], SESSION);
    assert!(text.stdout.contains("Tea timer"), "{}", text.stdout);
}

/// LISTS 3.6
#[test]
fn a_session_without_a_prompt_is_called_by_its_first_reply() {
    let home = Home::new();
    let reply = prompt("我来看看 🍵", "/p", 1).replace("user", "assistant");
    write(&home, "-p", 1, 1, &(reply.clone() + &prompt("second", "/p", 2).replace("user", "assistant")));
    write(&home, "-p", 2, 2, &(reply + &prompt("Asked later", "/p", 3)));
    let shown: Vec<_> = listed(&home, &["--sort", "created"])
        .iter()
        .map(|session| {
            (session["title"].clone(), session["titleSource"].clone(), session["firstPrompt"].clone())
        })
        .collect();
    let of = |title: &str, source: &str, prompt: Value| (Value::from(title), Value::from(source), prompt);
    assert_eq!(
        shown,
        [of("我来看看 🍵", "reply", Value::Null), of("Asked later", "prompt", Value::from("Asked later"))]
    );
}

/// LISTS 6.5
#[test]
fn a_drive_is_shown_in_one_spelling_and_the_working_directory_as_it_was_written() {
    let home = Home::new();
    write(&home, "c--work", 1, 1, &prompt("lower", r"c:\work", 1));
    write(&home, "C--work", 2, 2, &prompt("upper", r"C:\work", 2));
    // Backslashes stay as they are in the raw output.
    let raw =
        |args: &[&str]| String::from_utf8(home.command(ANNALS).args(args).output().unwrap().stdout).unwrap();
    let rows: Vec<Value> =
        raw(&["list", "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let field = |name: &str| rows.iter().map(|row| row[name].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(field("projectPath"), [r"C:\work", r"C:\work"]);
    assert_eq!(field("cwd"), [r"C:\work", r"c:\work"]);
    let table = raw(&["list"]);
    assert!(table.contains(r"C:\work") && !table.contains(r"c:\work"), "{table}");
    assert_eq!(titles(&home, &["--project", r"c:\work"]), ["upper", "lower"]);
    let projects = raw(&["projects", "--json"]);
    assert_eq!(projects.lines().count(), 1, "{projects}");
    assert!(projects.contains(r#""path":"C:\\work","keys":["C--work","c--work"]"#), "{projects}");
}

/// LISTS 1.8
#[test]
fn only_a_session_that_is_too_long_to_read_is_marked_as_partial() {
    let home = Home::new();
    let titled = |title: &str| {
        format!("{{\"type\":\"custom-title\",\"customTitle\":\"{title}\",\"sessionId\":\"s\"}}\n")
    };
    let long = prompt(&"x".repeat(500_000), "/p", 1).replace("\"cwd\"", "\"version\":\"2.1.45\",\"cwd\"");
    let middle = |lines: usize| {
        prompt("Long", "/p", 1) + &long.repeat(lines) + &titled("Hidden") + &long.repeat(lines)
    };
    write(&home, "-p", 1, 1, &middle(26));
    write(&home, "-p", 2, 2, &middle(10));
    write(&home, "-p", 3, 3, &(middle(26) + &titled("At the end")));
    for _ in 0..2 {
        let rows = listed(&home, &[]);
        let shown: Vec<_> =
            rows.iter().map(|row| (row["title"].clone(), row.get("partial").cloned())).collect();
        let of = |title: &str, partial| (Value::from(title), partial);
        assert_eq!(shown, [of("Long", Some(Value::from(true))), of("Hidden", None), of("At the end", None)]);
    }
    let table = annals(&home, &["list"]);
    let marked: Vec<_> = table.stdout.lines().map(|row| row.ends_with("partial")).collect();
    assert_eq!(marked, [false, true, false, false], "{}", table.stdout);
    assert!(
        table.stderr.contains("partial: 1 session so large that a part was not read"),
        "{}",
        table.stderr
    );
}
