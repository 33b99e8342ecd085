//! `annals check`.

use insta::assert_snapshot;
use testkit::command::Home;
use testkit::transcript::Transcript;

use crate::{annals, small_home, transcript};

#[test]
fn a_sound_session_has_no_problems() {
    let home = small_home();
    let checked = annals(&home, &["check", "latest"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(0), ""));
    assert_snapshot!(checked.stderr, @"no problems in 1 transcript");
}

#[test]
fn problems_are_named_with_line_and_cost() {
    let home = small_home();
    let sound = std::fs::read_to_string(home.path().join(transcript())).unwrap();
    let first = sound.lines().next().unwrap();
    home.write(
        "bad.jsonl",
        format!("{sound}\n\0\0\n{first}{first}\n.344Z\"}}\n{{\"type\":\"user\",,}}\n{{\"type\":\"us"),
    );
    let checked = annals(&home, &["check", "bad.jsonl"]);
    assert_eq!(checked.code, Some(1));
    assert_snapshot!(checked.stdout + &checked.stderr, @"
    bad.jsonl
      line 1: info: same uuid as line 7; no effect: both lines have the same content
      line 5: info: blank line; no effect
      line 6: info: NUL bytes instead of text; nothing can be read here; Claude Code restores all other messages
      line 7: info: object glued behind other bytes on one line; costs no message: Claude Code restores the conversation without it
      line 7: info: same uuid as line 7; no effect: both lines have the same content
      line 8: error: beginning of the object is lost; the entry is lost
      line 9: error: not valid JSON; the entry is lost
      line 10: warning: last line is cut off; the entry being written when its writer stopped is lost
    8 problems in 1 of 1 transcript
    ");
    let checked = annals(&home, &["check", "bad.jsonl", "--json"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(1), ""));
    assert_snapshot!(checked.stdout.lines().nth(1).unwrap(), @r#"{"session":null,"path":"bad.jsonl","line":5,"lines":1,"problem":"blank line","code":"blank","severity":"info","effect":"no effect","repairable":false,"help":null}"#);
    assert_eq!(checked.stdout.lines().count(), 8);
}

#[test]
fn lines_with_the_uuid_of_another_line_are_named() {
    let lines = ["Draft", "Final", "Final"];
    let lines =
        lines.iter().fold(Transcript::session("s"), |lines, text| lines.after(None).user("u1", *text));
    let home = small_home();
    home.write("s.jsonl", lines.to_string());
    let checked = annals(&home, &["check", "s.jsonl"]);
    assert_eq!(checked.code, Some(1));
    assert_snapshot!(checked.stdout, @"
    s.jsonl
      line 1: warning: same uuid as line 3; Claude Code uses only the content of the other line
      line 2: info: same uuid as line 3; no effect: both lines have the same content
    ");
}

#[test]
fn lost_links_are_named_and_a_cleared_context_is_none() {
    let home = small_home();
    let case = |name: &str| {
        let session = testkit::corpora::own().join(format!("history-{name}/session.jsonl"));
        home.write("s.jsonl", std::fs::read(session).unwrap());
        annals(&home, &["check", "s.jsonl"]).stdout
    };
    for sound in ["context-cleared", "context-cleared-without-hooks", "rewind-to-start", "boundary"] {
        assert_eq!(case(sound), "", "{sound}");
    }
    assert_snapshot!(case("lost-link"), @"
    s.jsonl
      line 1: error: 8 messages up to line 8 that Claude Code would lose; a resumed session does not know of them
      line 9: warning: message that names no parent; Claude Code loses what came before it
      line 13: info: message whose parent is not in the file; no further effect: Claude Code restores the remaining earlier messages
      help: annals repair s.jsonl --apply
    ");
    assert_snapshot!(case("parentless-prompts"), @"
    s.jsonl
      line 1: error: 8 messages up to line 8 that Claude Code would lose; a resumed session does not know of them
      lines 5 and 9: warning: message that names no parent; Claude Code loses what came before it
      help: annals repair s.jsonl --apply
    ");
    assert_snapshot!(case("copy-of-first-prompt"), @"
    s.jsonl
      line 5: info: copy of the first prompt; Claude Code reads the conversation from here on
    ");
}

#[test]
fn all_sessions_are_checked_on_request() {
    let home = small_home();
    assert_eq!(annals(&home, &["check", "--all"]).code, Some(0));
    let neither = annals(&home, &["check"]);
    assert_eq!(neither.code, Some(2));
    assert!(neither.stderr.contains("--all"), "{}", neither.stderr);
}

#[test]
fn several_sessions_are_checked_each_once() {
    let home = Home::new();
    home.write("sound.jsonl", "{\"type\":\"summary\",\"summary\":\"tea\",\"leafUuid\":\"u\"}\n");
    home.write("torn.jsonl", "{\"type\":\"user\"");
    let both = annals(&home, &["check", "sound.jsonl", "torn.jsonl", "torn.jsonl"]);
    assert_eq!(both.code, Some(1), "{}", both.stdout);
    assert!(both.stderr.contains("in 1 of 2 transcripts"), "{}", both.stderr);
    assert_eq!(annals(&home, &["check", "sound.jsonl", "gone.jsonl"]).code, Some(2));
}

#[test]
fn a_session_that_is_named_in_several_ways_is_checked_once() {
    let home = small_home();
    let path = transcript();
    let dotted = format!("./.claude/../{path}");
    let checked = annals(&home, &["check", "latest", &path, &dotted]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert_snapshot!(checked.stderr, @"no problems in 1 transcript");
}

#[test]
fn the_plan_of_a_branch_says_how_many_messages_it_leaves_out() {
    let home = small_home();
    let lines = Transcript::session("s").user("u1", "One").user("u2", "Two");
    home.write("s.jsonl", lines.after(Some("u1")).user("u3", "Three").to_string());
    let plan = annals(&home, &["repair", "s.jsonl", "--branch", "u2", "--json"]).stdout;
    assert!(plan.contains(r#""leftOut":1,"#), "{plan}");
    let plan = annals(&home, &["repair", "s.jsonl", "--json"]).stdout;
    assert!(!plan.contains("leftOut"), "{plan}");
}

#[test]
fn a_plan_shows_the_messages_before_and_after_as_a_difference() {
    let home = small_home();
    let lines = Transcript::session("s").user("u1", "One").assistant("a1", |reply| reply.text("Yes."));
    let lines = lines.user("u2", "Two").at("2026-03-02T10:00:00Z").after("gone");
    home.write("s.jsonl", lines.assistant("a2", |reply| reply.thinking("Hm").text("No.")).to_string());
    let plan = annals(&home, &["repair", "s.jsonl"]).stdout;
    assert_snapshot!(plan, @"
    s.jsonl
      line 4: relink: its parent is not in the file; it continues the message before it
      line 4: leaf: it is the last message; it becomes the last line, so that Claude Code continues from it
      line 4: content: a request with it would be refused (thinking-signature)
      before: Claude Code restores 1 message and loses 3; the request would be refused: reasoning without a valid signature, the conversation begins with a reply
      after:  Claude Code restores 4 messages
      messages by line: 0 stay, 1 removed (-), 4 added (+)
    - 4 assistant  [thinking] No.
    + 1 user       One
    + 2 assistant  Yes.
    + 3 user       Two
    + 4 assistant  No.
    nothing was changed; `annals repair s.jsonl --apply` does it
    ");
    let plan = annals(&home, &["repair", "s.jsonl", "--json"]).stdout;
    assert!(plan.contains(r#""diff":{"same":0,"removed":1,"added":4,"rows":[{"change":"removed","role":"assistant","uuid":"a2","line":4,"parts":[{"kind":"thinking","beginning":""},{"kind":"text","beginning":"No."}]},"#), "{plan}");
    annals(&home, &["repair", "s.jsonl", "--apply"]);
    assert!(
        !annals(&home, &["repair", "s.jsonl", "--json"]).stdout.contains("diff"),
        "nothing changes any more"
    );
}

#[test]
fn printed_commands_name_the_config_folder_that_was_given() {
    let home = small_home();
    let lines = Transcript::session("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55").user("u1", "One");
    // The API refuses the id of this call.
    let lines = lines.assistant("a1", |reply| reply.id("m1").tool("t.1", "Read", serde_json::json!({})));
    let text = lines.result("u2", "t.1", "Two").to_string();
    home.write("other/projects/-p/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl", text);
    let checked = annals(&home, &["check", "3e11", "--root", "other"]);
    let help = checked.stdout.lines().find(|line| line.contains("help: annals repair"));
    assert!(
        help.is_some_and(|help| help.contains(" --root ") && help.ends_with("other")),
        "{}",
        checked.stdout
    );
    let planned = annals(&home, &["repair", "3e11", "--root", "other"]).stdout;
    assert!(planned.replace('\n', " ").contains("--apply --root "), "{planned}");
    let in_default = annals(&home, &["check", &transcript()]).stdout;
    assert!(!in_default.contains("--root"), "{in_default}");
}
