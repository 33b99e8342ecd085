//! Secrets: no command prints one, every command prints them with `--reveal`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::command::{Home, Ran};
use testkit::secrets::{AI_TITLE, ASSEMBLED, CUT, EVERYWHERE, SUMMARY, SecretWorld};
use testkit::transcript::Transcript;

use crate::{ANNALS, annals, rest};

/// A home with a secret in every place that holds text.
fn secret_home() -> (Home, SecretWorld) {
    home_of(SecretWorld::new())
}

fn home_of(world: SecretWorld) -> (Home, SecretWorld) {
    let home = Home::new();
    for (path, content) in &world.files {
        rest(&home.write(format!(".claude/{path}"), content));
    }
    (home, world)
}

/// Every command that prints text of transcripts, in every form.
const COMMANDS: &[&[&str]] = &[
    &["list"],
    &["list", "--all"],
    &["list", "--ghosts"],
    &["prompts"],
    &["show", EVERYWHERE],
    &["show", EVERYWHERE, "--expand", "--tools", "full", "--subagents"],
    &["show", CUT],
    &["turns", EVERYWHERE],
    &["tools"],
    &["agents", EVERYWHERE],
    &["export", EVERYWHERE, "-o", "-"],
    &["export", CUT, "-o", "-"],
];

/// Commands that print names and counts; what a transcript names could still be a secret.
const WITHOUT_TEXT: &[&[&str]] = &[
    &["projects"],
    &["roots"],
    &["stats"],
    &["insight"],
    &["usage", "--by", "project"],
    &["usage", "--by", "branch", "--csv"],
    &["usage", "--by", "model", "--json"],
    &["check", "--all"],
    &["lineage", EVERYWHERE],
    &["files", EVERYWHERE],
    &["show", SUMMARY],
    &["search", "see"],
    &["search", "--fixed", "see"],
    &["index"],
    &["tools", EVERYWHERE, "--errors"],
];

/// A turn keeps the first 4,096 bytes of its prompt, which end inside the secret here.
#[test]
fn the_table_of_turns_shows_no_beginning_of_a_secret() {
    let home = Home::new();
    let token = ["gh", "p_", "Q7fZk2mX9rT4w8B3cLs5", "Vn1Yd6Hj0Gp3Ae8U"].concat();
    let prompt = format!("use{}{token} now", " ".repeat(4096 - 3 - 14));
    let lines = testkit::transcript::Transcript::session(CUT).user("u1", prompt);
    home.write(format!(".claude/projects/-home-mia-tea/{CUT}.jsonl"), lines.to_string());
    let shown = annals(&home, &["turns", CUT]).stdout;
    assert!(shown.contains("use ghp_[masked: github-token]") && !shown.contains("Q7fZk2"), "{shown}");
    assert!(annals(&home, &["turns", CUT, "--reveal"]).stdout.contains("Q7fZk2"));
}

/// Texts whose lines together say what is secret: once they are on one line, no rule finds it.
const LINES_WITH_SECRETS: [&str; 2] =
    ["user,password\nmia,q7Zk29LmX4tRw8Vn1Y", "- name: DB_PASSWORD\n  value: q7Zk29LmX4tRw8Vn1Y"];

/// Makes a session with a text in every place that some command shows on one line.
fn home_with_lines(text: &str) -> Home {
    let home = Home::new();
    let failed_hook = json!({"attachment": {"type": "hook_non_blocking_error", "hookName": "Stop",
        "hookEvent": "Stop", "stderr": text, "exitCode": 1}});
    let todos = json!({"todos": [{"content": text, "status": "pending"}]});
    let server_call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
        "input": {"query": text}});
    let lines = Transcript::session(EVERYWHERE)
        .user("u1", text)
        .assistant("a1", |reply| {
            let reply = reply.tool("t1", "Bash", json!({ "command": text }));
            let reply = reply.tool("t2", "TodoWrite", todos).block(server_call);
            reply.tool("t3", "Task", json!({"description": text, "prompt": text}))
        })
        .failure("r1", "t1", text)
        .message("attachment", "h1", failed_hook)
        .user("i1", format!("<system-reminder>{text}</system-reminder>"))
        .with("isMeta", true)
        .user("w1", text)
        .user("w1", "Instead")
        .record("tag", json!({ "tag": text }))
        .title(text);
    let folder = ".claude/projects/-home-mia-tea";
    rest(&home.write(format!("{folder}/{EVERYWHERE}.jsonl"), lines.to_string()));
    let agent =
        Transcript::session(EVERYWHERE).user("g1", text).with("isSidechain", true).with("agentId", "a1");
    home.write(format!("{folder}/{EVERYWHERE}/subagents/agent-a1.jsonl"), agent.to_string());
    let meta = json!({"toolUseId": "t3", "agentType": "brewer", "description": text});
    home.write(format!("{folder}/{EVERYWHERE}/subagents/agent-a1.meta.json"), meta.to_string());
    let typed = json!({"display": text, "pastedContents": {}, "timestamp": 1_772_359_200_000_u64,
        "project": "/home/mia/tea", "sessionId": EVERYWHERE});
    home.write(".claude/history.jsonl", format!("{typed}\n"));
    home
}

#[test]
fn what_is_shown_on_one_line_is_masked_with_its_line_ends() {
    let mut leaks = Vec::new();
    for text in LINES_WITH_SECRETS {
        let home = home_with_lines(text);
        for args in [
            &["list"][..],
            &["prompts"],
            &["show", EVERYWHERE],
            &["show", EVERYWHERE, "--view", "full"],
            &["show", EVERYWHERE, "--expand", "--tools", "full", "--subagents"],
            &["show", EVERYWHERE, "--subagents"],
            &["turns", EVERYWHERE],
            &["tools"],
            &["tools", "--full"],
            &["tools", "--json"],
            &["agents", EVERYWHERE],
            &["insight"],
            &["insight", EVERYWHERE],
            &["tail", EVERYWHERE, "--seconds", "0", "--turns", "100"],
            &["search", "--fixed", "mia"],
            &["search", "--fixed", "name"],
            &["export", EVERYWHERE, "-o", "-"],
            &["export", EVERYWHERE, "--format", "md", "-o", "-"],
            &["export", EVERYWHERE, "--format", "text", "-o", "-"],
        ] {
            let ran = run(&home, args, &[]);
            let shown = ran.stdout + &ran.stderr;
            let leaking = shown.lines().filter(|line| line.contains("q7Zk"));
            leaks.extend(leaking.map(|line| format!("{args:?}: {line}")));
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    for text in LINES_WITH_SECRETS {
        let home = home_with_lines(text);
        for args in [&["turns", EVERYWHERE], &["agents", EVERYWHERE]] {
            let masked = run(&home, args, &[]).stdout;
            assert!(masked.contains("[masked: "), "{args:?} {masked}");
            let open = run(&home, args, &["--reveal"]).stdout;
            assert!(open.contains("q7Zk29LmX4tRw8Vn1Y"), "{args:?} {open}");
        }
    }
}

/// Markdown and terminals put these together when they are shown; a person or a program that reads the text does the same.
#[test]
fn no_output_has_a_secret_that_only_rendering_puts_together() {
    let (home, world) = home_of(SecretWorld::assembled());
    for args in [
        &["export", ASSEMBLED, "-o", "-"][..],
        &["export", ASSEMBLED, "--format", "md", "-o", "-"],
        &["export", ASSEMBLED, "--format", "text", "-o", "-"],
        &["export", ASSEMBLED, "--format", "json", "-o", "-"],
        &["show", ASSEMBLED, "--expand", "--tools", "full"],
        &["show", ASSEMBLED, "--json"],
        &["turns", ASSEMBLED],
        &["tail", ASSEMBLED, "--seconds", "0", "--turns", "100"],
        &["list"],
        &["list", "--json"],
        &["search", "--fixed", "now"],
    ] {
        let ran = run(&home, args, &[]);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        check_assembled(&world, args, &ran.stdout);
        // Except for lists, all of them have all secrets.
        if !["list", "search"].contains(&args[0]) {
            let count = ran.stdout.matches("[masked: github-token]").count();
            assert!(count >= world.secrets.len(), "{args:?} masks {count}\n{}", ran.stdout);
        }
    }
    let report = run(&home, &["export", ASSEMBLED, "-o", "-"], &[]).stderr;
    assert!(report.contains("github-token"), "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_no_secret_that_it_puts_together() {
    let (home, world) = home_of(SecretWorld::assembled());
    for args in [&["show", ASSEMBLED, "--expand", "--tools", "full"][..], &["turns", ASSEMBLED], &["list"]] {
        let shown = crate::show::run_on_terminal(&home, &format!("{ANNALS} {}", args.join(" ")));
        check_assembled(&world, args, &shown);
    }
}

fn check_assembled(world: &SecretWorld, args: &[&str], shown: &str) {
    assert_eq!(world.found_in(shown), Vec::<&str>::new(), "{args:?}\n{shown}");
    assert!(shown.contains("[masked: github-token]"), "{args:?}\n{shown}");
}

/// Runs annals; unlike [`annals`], it returns the output as it is, because JSON needs its backslashes.
fn run(home: &Home, args: &[&str], more: &[&str]) -> Ran {
    let output = home.command(ANNALS).args(args).args(more).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn no_command_prints_a_secret_unless_it_is_asked_to() {
    let (home, world) = secret_home();
    let mut revealed = BTreeSet::new();
    for args in COMMANDS {
        for json in [&[][..], &["--json"]] {
            let masked = run(&home, args, json);
            assert_eq!(masked.code, Some(0), "{args:?}: {}", masked.stderr);
            let leaked = world.found_in(&format!("{}{}", masked.stdout, masked.stderr));
            assert!(
                leaked.is_empty(),
                "{args:?} {json:?} prints the secrets of: {leaked:?}\n{}",
                masked.stdout
            );
            assert!(masked.stdout.contains("[masked: "), "{args:?} {json:?} masks something");
            let open = run(&home, args, &[json, &["--reveal"]].concat());
            let shown = world.found_in(&open.stdout);
            assert!(!shown.is_empty() && !open.stdout.contains("[masked: "), "{args:?} {json:?} reveals");
            revealed.extend(shown);
            if !json.is_empty() {
                check_counts(&masked.stdout, &open.stdout);
            }
        }
    }
    // JSON does not take this option.
    let ran = run(&home, &["export", EVERYWHERE, "--subagents", "-o", "-"], &[]);
    assert_eq!((ran.code, world.found_in(&ran.stdout).is_empty()), (Some(0), true), "{}", ran.stderr);
    for args in WITHOUT_TEXT {
        for json in [&[][..], &["--json"]] {
            let ran = run(&home, args, json);
            assert!(world.found_in(&format!("{}{}", ran.stdout, ran.stderr)).is_empty(), "{args:?} {json:?}");
        }
    }
    // What only other outputs have: `tail` and the protocols have tests of their own.
    let elsewhere = [
        "result for programs",
        "overwritten file",
        "error for programs",
        "queue",
        "last prompt",
        "hidden title of a model",
        "unknown record",
        "error of a request",
        "torn line",
    ];
    let missing: Vec<_> = world
        .secrets
        .iter()
        .map(|(place, _)| *place)
        .filter(|place| !revealed.contains(place) && !elsewhere.contains(place))
        .collect();
    assert!(missing.is_empty(), "no command reveals the secrets of: {missing:?}");
}

/// Checks that objects say how many values were masked, exactly where they differ from those that are revealed.
fn check_counts(masked: &str, revealed: &str) {
    assert_eq!(masked.lines().count(), revealed.lines().count());
    for (masked, revealed) in masked.lines().zip(revealed.lines()) {
        let object: Value = serde_json::from_str(masked).unwrap();
        let open: Value = serde_json::from_str(revealed).unwrap();
        assert!(open.get("masked").is_none(), "{revealed}");
        assert_eq!(masked != revealed, object["masked"].as_u64().is_some_and(|count| count > 0), "{masked}");
        for key in ["id", "uuid", "session", "path", "cwd", "timestamp"] {
            assert_eq!(object[key], open[key], "{key} stays as it is");
        }
    }
}

#[test]
fn files_the_raw_view_and_the_model_view_are_untouched() {
    let (home, world) = secret_home();
    let path = format!("projects/-home-mia-tea/{EVERYWHERE}.jsonl");
    let (_, content) = world.files.iter().find(|(name, _)| *name == path).unwrap();
    let raw = home.command(ANNALS).args(["show", EVERYWHERE, "--view", "raw"]).output().unwrap();
    assert_eq!(&raw.stdout, content);
    for view in ["raw", "model"] {
        for json in [&[][..], &["--json"]] {
            let args = ["show", EVERYWHERE, "--view", view];
            let (plain, revealed) =
                (run(&home, &args, json), run(&home, &args, &[json, &["--reveal"]].concat()));
            assert_eq!(plain.stdout, revealed.stdout, "{view}");
            assert!(
                !plain.stdout.contains("[masked: ") && !world.found_in(&plain.stdout).is_empty(),
                "{view}"
            );
        }
    }
    let fork = run(&home, &["fork", EVERYWHERE], &["--json"]);
    let forked: Value = serde_json::from_str(&fork.stdout).unwrap();
    let copy = fs::read(forked["path"].as_str().unwrap()).unwrap();
    assert!(!String::from_utf8_lossy(&copy).contains("[masked: "), "a fork has the whole text");
    assert!(world.found_in(&fork.stdout).is_empty() && forked["masked"] == 1, "{}", fork.stdout);
    assert_eq!(&fs::read(home.path().join(format!(".claude/{path}"))).unwrap(), content);
}

#[test]
fn a_session_is_found_by_its_unmasked_title() {
    let (home, world) = secret_home();
    let listed = run(&home, &["list"], &["--json", "--reveal"]).stdout;
    let rows = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for row in rows.filter(|row| row["id"] != CUT) {
        let (id, title) = (row["id"].as_str().unwrap(), row["title"].as_str().unwrap());
        if world.found_in(title).is_empty() {
            continue;
        }
        let shown = annals(&home, &["show", title, "--json"]);
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        let filtered = annals(&home, &["list", "--title", title, "--json"]);
        assert!(
            filtered.stdout.contains(id) && world.found_in(&filtered.stdout).is_empty(),
            "{}",
            filtered.stdout
        );
    }
}

#[test]
fn show_says_how_many_secrets_it_masked() {
    let home = Home::new();
    let token = ["npm", "_Q7fZk2mX9rT4w8B3cLs5Vn1Yd6Hj0Gp3Ae8U"].concat();
    let lines =
        testkit::transcript::Transcript::session(CUT).user("u1", format!("{token} and again {token}"));
    home.write(format!(".claude/projects/-home-mia-tea/{CUT}.jsonl"), lines.to_string());
    let shown = annals(&home, &["show", CUT]);
    assert!(
        shown.stdout.contains("❯ npm_[masked: npm-token] and again npm_[masked: npm-token]"),
        "{}",
        shown.stdout
    );
    assert_eq!(shown.stderr.trim_end(), "1 secret masked; `--reveal` shows it");
    assert_eq!(annals(&home, &["show", CUT, "--json"]).stderr, "");
    let revealed = annals(&home, &["show", CUT, "--reveal"]);
    assert!(revealed.stdout.contains(&token) && revealed.stderr.is_empty());
}

#[test]
fn the_trash_is_masked_too() {
    let (home, world) = secret_home();
    for session in [EVERYWHERE, AI_TITLE] {
        let deleted = annals(&home, &["delete", session, "--json"]);
        assert_eq!(deleted.code, Some(0), "{}", deleted.stderr);
        assert!(world.found_in(&deleted.stdout).is_empty());
    }
    for args in [&["restore"][..], &["restore", "--json"]] {
        let masked = annals(&home, args);
        assert!(
            world.found_in(&masked.stdout).is_empty() && masked.stdout.contains("[masked: "),
            "{}",
            masked.stdout
        );
        let open = run(&home, args, &["--reveal"]);
        assert_eq!(world.found_in(&open.stdout), ["title", "title of a model"]);
    }
}

/// A list keeps 300 characters of a prompt, and a fork takes its title from it: neither shows a part of a token.
#[test]
fn titles_that_are_cut_have_no_part_of_a_secret() {
    let token = ["gh", "p_Q7fZk2mX9rT4w8B3cLs5Vn1Yd6Hj0Gp3Ae8U"].concat();
    // The third has escape sequences, which are not shown.
    for (before, start) in [(55, ""), (290, ""), (260, "\u{1b}[32mtea\u{1b}[0m \u{1b}[32mtea\u{1b}[0m ")] {
        let home = Home::new();
        let words = start.to_owned() + &"tea ".repeat(before / 4 + 1)[..before] + " ";
        let line = serde_json::json!({
            "type": "user", "uuid": "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55", "parentUuid": null, "sessionId": CUT, "isSidechain": false,
            "cwd": "/home/mia/tea", "version": "2.1.100", "timestamp": "2026-03-01T10:00:00.000Z",
            "message": {"role": "user", "content": format!("{words}{token} and more")},
        });
        rest(&home.write(format!(".claude/projects/-home-mia-tea/{CUT}.jsonl"), format!("{line}\n")));
        let mut shown = run(&home, &["fork", CUT], &[]).stdout;
        shown += &run(&home, &["list"], &[]).stdout;
        shown += &run(&home, &["list"], &["--json"]).stdout;
        shown += run(&home, &["show", CUT], &["--view", "full"]).stdout.lines().next().unwrap_or_default();
        let hits = run(&home, &["search", "tea"], &[]).stdout;
        let mut headings = hits.lines().filter(|line| !line.starts_with(' '));
        assert!(headings.any(|line| line.contains("ghp_[masked: github-token]")), "{hits}");
        shown += &hits;
        assert_eq!(run(&home, &["delete", CUT], &[]).code, Some(0));
        let trash = run(&home, &["restore"], &[]).stdout;
        assert!(trash.contains("ghp_[masked: github-token]"), "{trash}");
        shown += &trash;
        assert!(!shown.contains("Q7fZ"), "{shown}");
    }
}

#[test]
fn tail_masks_what_it_follows() {
    let (home, world) = secret_home();
    let path = format!(".claude/projects/-home-mia-tea/{EVERYWHERE}.jsonl");
    let lines = fs::read(home.path().join(&path)).unwrap();
    let end = b"{\"type\":\"user\",\"uuid\":\"end\",\"message\":{\"content\":\"THE END\"}}\n";
    for (args, reveals) in
        [(&["--json"][..], false), (&[], false), (&["--json", "--reveal"], true), (&["--reveal"], true)]
    {
        home.write(&path, "{\"type\":\"mode\"}\n");
        let mut command = home.command(ANNALS);
        command.args(["tail", EVERYWHERE, "--seconds", "60"]).args(args);
        let mut tail = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(tail.stdout.take().unwrap());
        if args.contains(&"--json") {
            wait_until_followed(&home.path().join(&path), &mut output);
        } else {
            BufReader::new(tail.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        }
        let mut file = fs::File::options().append(true).open(home.path().join(&path)).unwrap();
        file.write_all(&[&lines[..], end].concat()).unwrap();
        let mut text = String::new();
        for line in output.lines() {
            let line = line.unwrap();
            let is_end = line.contains("THE END");
            text += &line;
            text.push('\n');
            if is_end {
                break;
            }
        }
        let _ = tail.kill();
        let _ = tail.wait();
        let found = world.found_in(&text);
        assert_eq!(!found.is_empty(), reveals, "{args:?}: {found:?}");
        assert_eq!(text.contains("[masked: "), !reveals, "{args:?}");
    }
}

/// Appends lines until one is reported: with `--json`, `tail` does not say when it begins.
fn wait_until_followed(path: &Path, output: &mut impl BufRead) {
    let is_followed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_followed.load(Ordering::Relaxed) {
                let mut file = fs::File::options().append(true).open(path).unwrap();
                file.write_all(b"{\"type\":\"mode\"}\n").unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        output.read_line(&mut String::new()).unwrap();
        is_followed.store(true, Ordering::Relaxed);
    });
}

#[test]
fn rules_of_the_user_are_added_and_broken_ones_print_nothing() {
    let (home, world) = secret_home();
    let rules = "[[rule]]\nname = 'reply'\nkeywords = ['Done']\npattern = 'Done'\n";
    let file = home.write("annals/secrets.toml", rules);
    let with_home = |args: &[&str]| {
        let mut command = home.command(ANNALS);
        let ran = command.args(args).env("ANNALS_HOME", file.parent().unwrap()).output().unwrap();
        home.ran(&ran)
    };
    let shown = with_home(&["show", EVERYWHERE]);
    assert!(
        shown.stdout.contains("● [masked: reply]") && world.found_in(&shown.stdout).is_empty(),
        "{}",
        shown.stderr
    );
    fs::write(&file, "[[rule]]\nname = 'reply'\nkeywords = ['Done']\npattern = '('\n").unwrap();
    for args in [&["show", EVERYWHERE][..], &["list", "--json"], &["tail", EVERYWHERE], &["serve", "--stdio"]]
    {
        let refused = with_home(args);
        assert_eq!((refused.code, &refused.stdout[..]), (Some(2), ""), "{args:?}");
        assert!(refused.stderr.contains("secrets.toml` are wrong: line 4"), "{}", refused.stderr);
    }
    assert_eq!(
        with_home(&["show", EVERYWHERE, "--view", "raw"]).code,
        Some(0),
        "the raw view needs no rules"
    );
    let revealed = with_home(&["show", EVERYWHERE, "--reveal"]);
    assert!(revealed.code == Some(0) && !world.found_in(&revealed.stdout).is_empty());
}

#[test]
fn serve_has_no_reveal_of_its_own() {
    let home = Home::new();
    for args in [["serve", "--stdio", "--reveal"], ["--reveal", "serve", "--stdio"]] {
        let refused = annals(&home, &args);
        assert!(refused.code == Some(2) && refused.stderr.contains("--allow-reveal"), "{}", refused.stderr);
    }
    let help = annals(&home, &["serve", "--help"]).stdout;
    assert!(help.contains("--allow-reveal") && !help.contains("--reveal"), "{help}");
    assert!(annals(&home, &["list", "--help"]).stdout.contains("--reveal"));
}
