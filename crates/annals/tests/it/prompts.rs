//! The prompts that were typed, and sessions that only they remember.

use insta::assert_snapshot;
use serde_json::Value;
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals};

const GONE: &str = "0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55";

fn home() -> Home {
    let home = Home::new();
    home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "");
    home.write(".claude/paste-cache/abc123.txt", "long pasted 文字");
    home.write("secret.txt", "not to be read");
    let line = |display: &str, day: u64, session: &str, pasted: &str| {
        let time = 1_748_779_200_000 + day * 86_400_000;
        format!(
            "{{\"display\":\"{display}\",\"pastedContents\":{{{pasted}}},\"timestamp\":{time},\"project\":\"/p\"{session}}}\n"
        )
    };
    let of = |session: &str| format!(",\"sessionId\":\"{session}\"");
    let lines = [
        line("old, of no session", 0, "", ""),
        line("first of what is gone", 1, &of(GONE), ""),
        line(
            "还在 [Pasted text #1]",
            2,
            &of(SESSION),
            r#""1":{"id":1,"type":"text","contentHash":"abc123"}"#,
        ),
        line("out there", 3, &of(SESSION), r#""1":{"id":1,"type":"text","contentHash":"../../secret"}"#),
        line("last of what is gone", 4, &of(GONE), r#""2":{"id":2,"type":"text","content":"inline"}"#),
        "not json\n{\"no\":\"display\"}\n".to_owned(),
    ];
    home.write(".claude/history.jsonl", lines.concat());
    home
}

#[test]
fn prompts_are_listed_the_newest_first() {
    let home = home();
    assert_snapshot!(annals(&home, &["prompts"]).stdout, @"
    sent        session   project  prompt
    2025-06-05  0b0b0b0b  /p       last of what is gone
    2025-06-04  3e11a6b4  /p       out there
    2025-06-03  3e11a6b4  /p       还在 [Pasted text #1]
    2025-06-02  0b0b0b0b  /p       first of what is gone
    2025-06-01  -         /p       old, of no session
    ");
    assert_snapshot!(annals(&home, &["prompts", "文字", "--json"]).stdout, @r#"{"text":"还在 [Pasted text #1]","timestamp":"2025-06-03T12:00:00.000Z","project":"/p","session":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","pasted":[{"id":"1","kind":"text","content":"long pasted 文字"}]}"#);
    let ran = annals(&home, &["prompts", "--json", "--since", "2025-06-04", "--until", "2025-06-04"]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&found["text"], &found["pasted"][0]["content"]), (&"out there".into(), &Value::Null));
    assert_eq!(annals(&home, &["prompts", "-n", "2", "--project", "/p", "--json"]).stdout.lines().count(), 2);
    let ran = annals(&home, &["prompts", "nowhere"]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"
    skipped 2 lines of history.jsonl without a readable prompt
    annals: no prompt matches
    ");
}

#[test]
fn sessions_that_are_gone_are_known_from_their_prompts() {
    let home = home();
    assert_snapshot!(annals(&home, &["list", "--ghosts"]).stdout, @"
    session   first prompt           project  active      prompts
    0b0b0b0b  first of what is gone  /p       2025-06-05        2
    ");
    assert_snapshot!(annals(&home, &["list", "--ghosts", "--json"]).stdout, @r#"{"id":"0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55","title":"first of what is gone","titleSource":"prompt","firstPrompt":"first of what is gone","createdAt":"2025-06-02T12:00:00.000Z","updatedAt":"2025-06-05T12:00:00.000Z","cwd":"/p","projectKey":"-p","projectPath":"/p","gitBranch":null,"version":null,"entrypoint":null,"permissionMode":null,"tag":null,"forkedFrom":null,"archived":false,"live":false,"size":0,"path":null,"subagents":0,"messages":null,"ghost":true}"#);
    assert_eq!(annals(&home, &["list", "--ghosts", "--title", "out there"]).code, Some(1));
}

#[test]
fn prompts_are_found_by_any_spelling_of_their_project() {
    let home = Home::new();
    let here = home.path().canonicalize().unwrap().join("tea");
    std::fs::create_dir_all(&here).unwrap();
    let line = |project: &str| {
        let line =
            serde_json::json!({"display": "x", "timestamp": 1, "project": project, "sessionId": project});
        format!("{line}\n")
    };
    home.write(".claude/projects/-p/x", "");
    home.write(".claude/history.jsonl", line(here.to_str().unwrap()) + &line(r"E:\x"));
    for (project, found) in [(".", 1), ("../tea/", 1), ("e:/x", 1), (r"E:\x\", 1), ("..", 0)] {
        let run = |args: &[&str]| {
            let mut command = home.command(ANNALS);
            command.current_dir(&here).args(args).args(["--json", "--project", project]);
            home.ran(&command.output().unwrap()).stdout.lines().count()
        };
        assert_eq!(run(&["prompts"]), found, "{project}");
    }
    let mut command = home.command(ANNALS);
    command.current_dir(&here).args(["list", "--ghosts", "--json", "--project", "."]);
    assert_eq!(home.ran(&command.output().unwrap()).stdout.lines().count(), 1);
}

#[cfg(unix)]
#[test]
fn sessions_in_a_folder_that_cannot_be_read_are_not_gone() {
    use std::os::unix::fs::PermissionsExt;

    let home = home();
    let folder = home.path().join(".claude/projects/-p");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o000)).unwrap();
    let ran =
        home.ran(&crate::without_privileges(&home).args(["list", "--ghosts", "--json"]).output().unwrap());
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("cannot read") && ran.stderr.contains("-p"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "whether anything is gone cannot be told");
}

#[cfg(unix)]
#[test]
fn a_history_that_is_no_file_is_not_waited_for() {
    let home = Home::new();
    home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "");
    let made = std::process::Command::new("mkfifo").arg(home.path().join(".claude/history.jsonl")).status();
    assert!(made.unwrap().success());
    let ran = annals(&home, &["prompts"]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"annals: cannot read [home]/.claude/history.jsonl: not a file");
}

#[test]
fn a_prompt_without_a_time_was_sent_at_none() {
    let home = home();
    home.write(".claude/history.jsonl", "{\"display\":\"When?\",\"project\":\"/p\"}\n");
    assert!(annals(&home, &["prompts"]).stdout.contains("When?"));
    for filter in ["--since", "--until"] {
        assert_eq!(annals(&home, &["prompts", filter, "2025-06-04"]).code, Some(1), "{filter}");
    }
}
