//! `annals completions` and `annals man`.

use testkit::command::Home;
use testkit::transcript::Transcript;

use crate::{ANNALS, SESSION, annals, small_home};

/// Returns what bash is offered for the last of some words.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let mut command = home.command(ANNALS);
    command
        .env("_ANNALS_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let output = command.args(["--", "annals"]).args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn ids_of_sessions_are_completed_from_ids_and_titles() {
    let home = small_home();
    for words in
        [&["show", "3e1"][..], &["resume", ""], &["delete", "3e11a6b4-"], &["record", "--session", "3"]]
    {
        assert_eq!(offered(&home, words).first().map(String::as_str), Some(SESSION), "{words:?}");
    }
    assert_eq!(offered(&home, &["show", "tea"]), [SESSION]);
    assert_eq!(offered(&home, &["show", "TIM"]), [SESSION]);
    assert_eq!(offered(&home, &["show", "imer"]), [""; 0]);
    assert_eq!(offered(&home, &["show", "zzz"]), [""; 0]);
    assert_eq!(offered(&home, &["show", "3E1"]), [SESSION]);
    assert_eq!(offered(&home, &["rena"]), ["rename"]);
    assert_eq!(offered(&home, &["completions", "po"]), ["powershell"]);
}

#[test]
fn any_part_of_a_title_is_completed_where_words_have_no_blanks_between_them() {
    let home = Home::new();
    let lines = Transcript::session(SESSION).user("u1", "Hi").title("每日天气提醒 reminder").to_string();
    home.write(format!(".claude/projects/-src/{SESSION}.jsonl"), lines);
    for (typed, is_offered) in [
        ("每", true),
        ("天", true),
        ("天气", true),
        ("天气提醒 r", true),
        ("remi", true),
        ("minder", false),
        ("雨", false),
    ] {
        assert_eq!(offered(&home, &["show", typed]).contains(&SESSION.to_owned()), is_offered, "{typed}");
    }
}

/// Titles that do something if a shell reads them as a part of a command.
const HOSTILE: [&str; 6] = [
    "yak $(touch pwned) shaving",
    "yak `touch pwned`",
    "yak; touch pwned; /*",
    "yak' \\\"; touch pwned #",
    "yak\\u000btouch pwned\\n&& touch pwned",
    "yak \\u001b]0;$(touch pwned)\\u0007 /e*c /*",
];

/// A home with a session for each hostile title, and one whose id is hostile itself; returns the ids of the former, sorted.
fn hostile_home() -> (Home, Vec<String>) {
    let home = Home::new();
    let session = |id: &str, title: &str| {
        let prompt = r#"{"type":"user","uuid":"u1","parentUuid":null,"cwd":"/src/$(touch pwned)","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"Hi"}}"#;
        let title = format!(r#"{{"type":"ai-title","aiTitle":"{title}"}}"#);
        home.write(format!(".claude/projects/-src--touch-pwned-/{id}.jsonl"), format!("{prompt}\n{title}\n"));
    };
    let ids: Vec<_> = (1..=HOSTILE.len()).map(|n| format!("{n:08}-93c1-4d41-9f0c-2a6f0f9f7a55")).collect();
    for (id, title) in ids.iter().zip(HOSTILE) {
        session(id, title);
    }
    session("yak$(touch pwned)", "yak");
    (home, ids)
}

#[cfg(unix)]
#[test]
fn bash_runs_nothing_that_a_title_says() {
    let (home, ids) = hostile_home();
    let script = home.command(ANNALS).args(["completions", "bash"]).output().unwrap().stdout;
    let script = home.write("annals.bash", script);
    // What Enter does after Tab: the line with the candidate is read as a command.
    let tab_and_enter = r#"
        source "$1"
        COMP_WORDS=(annals show "$2") COMP_CWORD=2 COMP_TYPE=9
        _clap_complete_annals annals "$2" show 2> /dev/null
        printf '[%s]\n' "${COMPREPLY[@]}"
        annals() { :; }
        for candidate in "${COMPREPLY[@]}"; do eval "annals show $candidate"; done
    "#;
    let folder = std::path::Path::new(ANNALS).parent().unwrap().to_str().unwrap();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let expected: Vec<_> = ids.iter().map(|id| format!("[{id}]")).collect();
    for typed in ["y", "yak", "YAK", "0"] {
        let mut command = home.command("bash");
        command.args(["--norc", "-c", tab_and_enter, "bash"]).arg(&script).arg(typed).env("PATH", &path);
        let output = home.ran(&command.output().unwrap());
        assert!(!home.path().join("pwned").exists(), "{typed}: {output:?}");
        let mut offered: Vec<_> = output.stdout.lines().collect();
        offered.sort_unstable();
        assert_eq!(offered, expected, "{typed}: {}", output.stderr);
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_that_a_shell_would_run_are_not_completed() {
    let home = Home::new();
    for name in ["x茶.txt", "x$(touch pwned)", "x`id`", "x;id", "x *", "x\nid"] {
        home.write(name, "");
    }
    for words in [&["man", "--output", "x"][..], &["hydrate", "-", "--project", "x"], &["--root", "x"]] {
        assert_eq!(offered(&home, words), ["x茶.txt"], "{words:?}");
    }
}

#[test]
fn titles_beside_ids_have_nothing_that_shells_read() {
    let (home, ids) = hostile_home();
    for shell in ["zsh", "fish", "powershell"] {
        let mut command = home.command(ANNALS);
        command.env("_ANNALS_COMPLETE", shell).env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_INDEX", "2");
        let output = command.args(["--", "annals", "show", "yak"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), ids.len(), "{shell}: {text}");
        for line in text.lines() {
            let help = &line[ids[0].len() + 1..];
            assert!(ids.iter().any(|id| line.starts_with(id)), "{shell}: {line}");
            assert!(help.starts_with("yak") && help.contains(" · /src/"), "{shell}: {line}");
            assert!(
                !help.contains(['$', '`', '"', '\'']) && !help.contains(char::is_control),
                "{shell}: {line}"
            );
        }
    }
}

#[test]
fn sessions_of_another_root_are_completed() {
    let home = small_home();
    home.write(
        "other/projects/-q/0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl",
        "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"message\":{\"content\":\"Hi\"}}\n",
    );
    let other = "0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55";
    for words in [&["--root", "other", "show", ""][..], &["--root=other", "show", "0b"]] {
        assert_eq!(offered(&home, words).first().map(String::as_str), Some(other), "{words:?}");
        assert!(!offered(&home, words).contains(&SESSION.to_owned()), "{words:?}");
    }
}

#[test]
fn every_shell_gets_a_script_that_asks_annals() {
    let home = small_home();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ran = annals(&home, &["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(ran.stdout.contains("_ANNALS_COMPLETE"), "{shell}: {}", ran.stdout);
    }
}

#[test]
fn every_command_has_a_man_page() {
    let home = small_home();
    let one = annals(&home, &["man", "list"]).stdout;
    // The helper spells backslashes as slashes.
    assert!(one.contains("annals/-list"), "{one}");
    assert!(one.contains("annals list /-/-here"), "the examples are in it: {one}");
    assert_eq!(annals(&home, &["man", "--output", "pages"]).code, Some(0));
    let pages = std::fs::read_dir(home.path().join("pages")).unwrap().count();
    assert!(pages > 25, "{pages}");
    // A command of a command has one, too.
    let install = std::fs::read_to_string(home.path().join("pages/annals-mcp-install.1")).unwrap();
    assert!(install.contains("annals mcp install"), "{install}");
    assert!(!home.path().join("pages/annals-mcp-help.1").exists());
    assert_eq!(annals(&home, &["man", "no-such"]).code, Some(2));
}
