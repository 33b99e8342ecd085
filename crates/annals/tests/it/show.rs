//! `annals show`.

use std::fs;
use std::process::Stdio;

use testkit::corpora;

use crate::{ANNALS, SESSION, annals, small_home, transcript};

#[test]
fn the_raw_view_of_every_transcript_is_the_file() {
    let home = small_home();
    for path in corpora::transcripts() {
        let shown = home.command(ANNALS).arg("show").arg(&path).args(["--view", "raw"]).output().unwrap();
        assert!(shown.status.success(), "{}", path.display());
        assert!(shown.stdout == fs::read(&path).unwrap(), "{} is not shown as it is", path.display());
    }
}

#[test]
fn the_raw_view_as_json_has_each_line_with_its_place() {
    let home = small_home();
    let file = home.write("odd.jsonl", b"{\"type\":\"mode\"}\r\n\n\xff\xfe\n\x1b\xe2\x80\xae\ntorn");
    let shown =
        home.command(ANNALS).arg("show").arg(file).args(["--view", "raw", "--json"]).output().unwrap();
    let lines = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(
        (shown.status.code(), lines.lines().collect::<Vec<_>>()),
        (
            Some(0),
            vec![
                r#"{"line":1,"offset":0,"text":"{\"type\":\"mode\"}\r"}"#,
                r#"{"line":2,"offset":17,"text":""}"#,
                r#"{"line":3,"offset":18,"bytes":"//4="}"#,
                r#"{"line":4,"offset":21,"text":"\u001b\u202e"}"#,
                r#"{"line":5,"offset":26,"text":"torn"}"#,
            ]
        )
    );
}

#[test]
fn a_session_is_shown_by_id_prefix_title_and_latest() {
    let home = small_home();
    let file = fs::read_to_string(home.path().join(transcript())).unwrap();
    for selector in [SESSION, "3e11", "Tea timer", "latest"] {
        let shown = annals(&home, &["show", selector, "--view", "raw"]);
        assert_eq!((shown.code, &shown.stdout), (Some(0), &file), "{selector}");
    }
    let root = home.path().join(".claude");
    let elsewhere = testkit::command::Home::new();
    let shown = annals(&elsewhere, &["show", "latest", "--view", "raw", "--root", root.to_str().unwrap()]);
    assert_eq!((shown.code, &shown.stdout), (Some(0), &file));
}

#[test]
fn a_conversation_that_was_copied_into_itself_is_printed_once() {
    let home = small_home();
    let case = corpora::own().join("history-copied-with-replies/session.jsonl");
    let case = case.to_str().unwrap();
    let shown = annals(&home, &["show", case]).stdout;
    for part in ["❯ Fill the kettle.", "Bash fill", "Bash lid", "It is full.", "It hums."] {
        assert_eq!(shown.matches(part).count(), 1, "{part}\n{shown}");
    }
    // A call that the copy has lost stands before it, and is not mistaken for the beginning of the conversation.
    let places =
        ["┄┄ only here;", "Bash lid", "copied again from the first prompt on"].map(|part| shown.find(part));
    assert!(places.is_sorted() && places[0].is_some(), "{shown}");
    let whole = annals(&home, &["show", case, "--expand"]).stdout;
    assert!(!whole.contains("only here"), "{whole}");
    assert_eq!(whole.matches("It is full.").count(), 2, "{whole}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = small_home();
    let big = home.write("big.jsonl", "{}\n".repeat(500_000));
    let mut child = home
        .command(ANNALS)
        .arg("show")
        .arg(big)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let finished = child.wait_with_output().unwrap();
    assert_eq!((finished.status.code(), finished.stderr.len()), (Some(0), 0));
}

/// Returns what a command prints on a terminal of so many columns, which `script` provides.
#[cfg(target_os = "linux")]
pub(crate) fn on_terminal(home: &testkit::command::Home, columns: usize, args: &str) -> String {
    run_on_terminal(home, &format!("stty cols {columns} rows 40; {ANNALS} {args}"))
}

/// Returns what a line prints that a shell runs on a terminal.
#[cfg(target_os = "linux")]
pub(crate) fn run_on_terminal(home: &testkit::command::Home, line: &str) -> String {
    let mut script = home.command("script");
    script.args(["-qec", line, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm");
    // A pager would wait for keys.
    script.env("ANNALS_PAGER", "cat");
    let shown = script.output().expect("there is a terminal to be had");
    String::from_utf8_lossy(&shown.stdout).replace("\r\n", "\n")
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_no_control_characters() {
    let home = small_home();
    home.write("evil.jsonl", b"{\"type\":\"user\"}\n\x1b[31mred \xc2\x9b1m \x07bell\n");
    let text = on_terminal(&home, 80, "show evil.jsonl --view raw");
    assert!(text.contains("\u{FFFD}[31mred \u{FFFD}1m \u{FFFD}bell"), "{text:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_as_wide_as_it_is_said_to_be() {
    let home = small_home();
    let widest = |setting: &str| {
        let shown = run_on_terminal(&home, &format!("{setting} {ANNALS} list --root .claude"));
        shown.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    assert!(widest("stty cols 200 rows 40;") > 60);
    assert!(widest("stty cols 200 rows 40; COLUMNS=50") <= 60, "with the codes for bold");
    assert!(widest("stty cols 50 rows 0; COLUMNS=50") <= 60);
    assert!(widest("stty cols 50 rows 40; COLUMNS=wide") <= 60);
}

#[cfg(target_os = "linux")]
#[test]
fn prose_is_wrapped_and_styled_on_a_terminal_only() {
    let home = small_home();
    let line = |kind: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{kind}","parentUuid":null,"timestamp":"2026-03-01T10:00:00Z","message":{{"id":"m","content":{content}}}}}"#
        )
    };
    let prompt = line(
        "user",
        r#""How long does the tea have to steep?\n\n屏幕关着的时候不用画。屏幕关着的时候不用画。""#,
    );
    let reply = line(
        "assistant",
        r#"[{"type":"text","text":"Tea\n\n- **three** minutes for `green`, four or five for black"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"sleep 180 && echo the tea is ready"}},{"type":"tool_use","id":"r","name":"Read","input":{"file_path":"/home/mia/tea-timer/src/timer.ts"}},{"type":"tool_use","id":"d","name":"TodoWrite","input":{"todos":[{"content":"Warm the pot before anything else"}]}}]"#,
    );
    let context = |n: usize| {
        // The first two are the same, and are named once.
        let kind = format!("\"attachment\":{{\"type\":\"long_word_{}\"}},\"message\"", n.max(2));
        let attachment = line("attachment", "\"\"").replace("\"message\"", &kind);
        attachment
            .replace("\"uuid\":\"attachment\"", &format!("\"uuid\":\"c{n}\""))
            .replace("null", "\"assistant\"")
    };
    let lines = [prompt, reply.replace("null", "\"user\""), context(1), context(2), context(3), context(4)];
    home.write("s.jsonl", lines.join("\n"));
    insta::assert_snapshot!(on_terminal(&home, 40, "show s.jsonl").replace('\u{1b}', "␛"), @"
    ␛[1mHow long does the tea have to steep? 屏…␛[0m
    ␛[2msession ␛[0m s.jsonl
    ␛[2mtime    ␛[0m 2026-03-01 10:00 +00:00
    ␛[2mturns   ␛[0m 1

    ␛[1m── 1  2026-03-01 10:00 +00:00␛[0m
    ␛[36m❯ ␛[0mHow long does the tea have to steep?

      屏幕关着的时候不用画。屏幕关着的时候不
      用画。
    ␛[1m● ␛[0mTea

      - ␛[1m**three**␛[0m minutes for ␛[36m`green`␛[0m, four
        or five for black
      ▸ ␛[1mBash␛[0m sleep 180 && echo th… ␛[1m␛[31m→ pending␛[0m
      ▸ ␛[1mRead␛[0m …a-timer/src/timer.ts ␛[1m␛[31m→ pending␛[0m
      ▸ ␛[1mTodoWrite␛[0m ␛[1m␛[31m→ pending␛[0m
          [ ] Warm the pot before anything …
    ␛[2m· context: long_word_2 ×2, long_word_3,␛[0m
    ␛[2m  long_word_4␛[0m
    ");
    insta::assert_snapshot!(annals(&home, &["show", "s.jsonl"]).stdout, @"
    How long does the tea have to steep? 屏幕关着的时候不用画。屏幕关着的时候不用画。
    session  s.jsonl
    time     2026-03-01 10:00 +00:00
    turns    1

    ── 1  2026-03-01 10:00 +00:00
    ❯ How long does the tea have to steep?

      屏幕关着的时候不用画。屏幕关着的时候不用画。
    ● Tea

      - **three** minutes for `green`, four or five for black
      ▸ Bash sleep 180 && echo the tea is ready → pending
      ▸ Read /home/mia/tea-timer/src/timer.ts → pending
      ▸ TodoWrite → pending
          [ ] Warm the pot before anything else
    · context: long_word_2 ×2, long_word_3, long_word_4
    ");
}
