//! What a terminal adds: a pager, colours on request, a question where a name is not enough.

use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use testkit::command::Home;
use testkit::transcript::Transcript;

use crate::show::run_on_terminal;
use crate::{ANNALS, annals, small_home};

/// A home with so many sessions.
fn home_of(sessions: usize) -> Home {
    let home = Home::new();
    for number in 0..sessions {
        let line = format!(
            r#"{{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2025-01-01T10:00:{:02}.000Z","message":{{"role":"user","content":"茶 number {number}"}}}}"#,
            number % 60
        );
        home.write(
            format!(".claude/projects/-src/{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"),
            line + "\n",
        );
    }
    home
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn long_output_goes_through_the_pager_that_is_chosen() {
    let home = home_of(45);
    let page = |rows: usize, before: &str, args: &str| {
        run_on_terminal(&home, &format!("stty cols 100 rows {rows}; {before} {ANNALS} {args} list"))
    };
    let pager = "sed s/^/PAGED:/";
    assert_eq!(count(&page(20, &format!("ANNALS_PAGER='{pager}'"), ""), "PAGED:"), 46);
    assert_eq!(count(&page(20, &format!("unset ANNALS_PAGER; PAGER='{pager}'"), ""), "PAGED:"), 46);
    assert_eq!(count(&page(20, &format!("ANNALS_PAGER=cat PAGER='{pager}'"), ""), "PAGED:"), 0);
    // What fits needs none, and none is used on request or where it is not installed.
    assert_eq!(count(&page(60, &format!("ANNALS_PAGER='{pager}'"), ""), "PAGED:"), 0);
    assert_eq!(count(&page(20, &format!("ANNALS_PAGER='{pager}'"), "--no-pager"), "PAGED:"), 0);
    assert_eq!(count(&page(20, "ANNALS_PAGER=no-such-pager", ""), "茶 number"), 45);
    // A pager that is left early is no failure.
    let left = run_on_terminal(
        &home,
        &format!("stty cols 100 rows 20; ANNALS_PAGER='head -n 3' {ANNALS} list; echo code=$?"),
    );
    assert!(left.contains("code=0") && count(&left, "茶 number") == 2, "{left}");
}

#[test]
fn less_gets_the_options_that_git_gives_it() {
    let home = home_of(30);
    let shown = run_on_terminal(
        &home,
        &format!("stty cols 100 rows 20; ANNALS_PAGER='echo LESS=$LESS; cat >/dev/null' {ANNALS} list"),
    );
    assert!(shown.contains("LESS=FRX"), "{shown}");
}

#[test]
fn a_terminal_shows_the_50_most_recent_sessions_and_says_how_many_there_are() {
    let home = home_of(53);
    let shown = run_on_terminal(&home, &format!("{ANNALS} list"));
    assert_eq!(count(&shown, "茶 number"), 50, "{shown}");
    assert!(
        shown.contains("the first 50 of 53 sessions") && shown.contains("annals resume SESSION"),
        "{shown}"
    );
    assert_eq!(count(&run_on_terminal(&home, &format!("{ANNALS} list -n 52")), "茶 number"), 52);
    assert_eq!(count(&annals(&home, &["list"]).stdout, "茶 number"), 53);
    assert_eq!(count(&run_on_terminal(&home, &format!("{ANNALS} list --json")), "\"id\""), 53);
}

#[test]
fn colours_are_used_when_they_are_wanted() {
    let home = small_home();
    let styled = |args: &[&str]| annals(&home, args).stdout.contains('\u{1b}');
    assert!(!styled(&["list"]) && !styled(&["list", "--color", "auto"]));
    assert!(styled(&["list", "--color", "always"]));
    let on_terminal = |args: &str| run_on_terminal(&home, &format!("{args} list")).contains('\u{1b}');
    assert!(on_terminal(ANNALS));
    assert!(
        !on_terminal(&format!("{ANNALS} --color never")) && !on_terminal(&format!("NO_COLOR=1 {ANNALS}"))
    );
    let help =
        |options: &str| run_on_terminal(&home, &format!("{ANNALS} show --help {options}")).contains('\u{1b}');
    assert!(help("") && !help("--color never") && !help("--color=never"));
}

/// What the terminal is told when a question begins: to hide the cursor.
const QUESTION: &str = "\u{1b}[?25l";

/// Runs a command on a terminal, on which keys are pressed as soon as a text has been printed.
fn asked(home: &Home, command: &str, keys: &[(&str, &str)]) -> String {
    // A failure must not wait for ever.
    let mut script = home.command("timeout");
    script
        .args(["--foreground", "60", "script", "-qec", command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    script.env("TERM", "xterm").env("COLUMNS", "110").env("ANNALS_PAGER", "cat");
    let mut child = script.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take(), child.stdout.take().unwrap());
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    let mut left = keys.iter().peekable();
    loop {
        let length = output.read(&mut piece).unwrap();
        if length == 0 {
            break;
        }
        shown.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&shown);
        while let Some((_, keys)) = left.next_if(|(awaited, _)| text.contains(awaited)) {
            // A question reads keys only some time after it has hidden the cursor; until then Ctrl-C is a signal.
            thread::sleep(Duration::from_millis(300));
            input.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
        }
        if left.peek().is_none() {
            // The terminal is closed as soon as the command has ended.
            drop(input.take());
        }
    }
    child.wait().unwrap();
    let text = String::from_utf8_lossy(&shown).into_owned();
    assert!(left.next().is_none(), "{text:?}");
    text
}

#[test]
fn a_vague_name_is_a_question_on_a_terminal() {
    let home = home_of(3);
    // The second line is chosen with the arrow key and Enter.
    let shown = asked(&home, &format!("{ANNALS} show number --view raw"), &[(QUESTION, "\u{1b}[B\r")]);
    assert!(shown.contains("`number` may be any of 3 sessions"), "{shown}");
    assert_eq!(count(&shown, "\"content\":\"茶 number 1\""), 1, "{shown}");
}

#[test]
fn ctrl_c_at_a_question_shows_the_cursor_again() {
    let home = home_of(3);
    let shown = asked(&home, &format!("{ANNALS} show number; echo code=$?"), &[(QUESTION, "\u{3}")]);
    let (_, after) = shown.rsplit_once("\u{1b}[?25l").expect("the question hides the cursor");
    assert!(after.contains("\u{1b}[?25h") && after.contains("code=130"), "{shown:?}");
}

#[test]
fn ctrl_c_is_the_pager_s_after_a_question() {
    let home = home_of(3);
    home.write("pager.sh", "trap '' INT; echo begun; cat > /dev/null; sleep 2; echo paged");
    let show = format!("stty rows 3 cols 110; ANNALS_PAGER='sh pager.sh' {ANNALS} show number");
    let shown = asked(&home, &show, &[(QUESTION, "\r"), ("begun", "\u{3}")]);
    assert!(shown.contains("paged"), "{shown:?}");
}

#[test]
fn sessions_of_one_title_are_told_apart_by_their_first_words() {
    let home = Home::new();
    for (id, prompt) in [
        ("11111111-93c1-4d41-9f0c-2a6f0f9f7a55", "Boil the water"),
        ("22222222-93c1-4d41-9f0c-2a6f0f9f7a55", "Call me; my key is AKIAQYLPMN5HFIQR7XYA"),
    ] {
        let lines = Transcript::session(id).user("u1", prompt).title("Same title").to_string();
        home.write(format!(".claude/projects/-src/{id}.jsonl"), lines);
    }
    let listed = annals(&home, &["show", "same title"]);
    assert_eq!(listed.code, Some(2));
    for shown in
        [listed.stderr, asked(&home, &format!("{ANNALS} show 'same title'"), &[(QUESTION, "\u{1b}")])]
    {
        assert!(shown.contains("Same title · Boil the water"), "{shown}");
        assert!(shown.contains("Same title · Call me; my key is ") && !shown.contains("AKIAQY"), "{shown}");
    }
}

#[test]
fn tail_begins_with_the_last_turns_as_show_prints_them() {
    let home = small_home();
    let shown = annals(&home, &["show", "latest"]).stdout;
    let followed = annals(&home, &["tail", "latest", "--seconds", "0"]).stdout;
    assert!(!followed.is_empty() && shown.ends_with(&followed), "{followed}");
    assert_eq!(annals(&home, &["tail", "latest", "--seconds", "0", "--turns", "0"]).stdout, "");
    assert_eq!(annals(&home, &["tail", "latest", "--seconds", "0", "--json"]).stdout, "");
}

#[test]
fn help_in_a_pipe_is_wrapped_once() {
    let home = Home::new();
    let help = |columns: &str| {
        let output = home.command(ANNALS).arg("--help").env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(help("60"), help("100"));
    // What a description continues with is below its beginning.
    let commands = help("60");
    let rows = commands.lines().skip_while(|line| *line != "Find:").take_while(|line| *line != "Options:");
    for row in rows.filter(|row| row.starts_with("  ")) {
        assert!(row.starts_with(&" ".repeat(16)) || row[2..].find("  ").is_some_and(|end| end < 14), "{row}");
    }
}
