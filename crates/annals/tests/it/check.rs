//! `annals check`.

use insta::assert_snapshot;

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
      line 5: info: blank line; costs nothing
      line 6: error: NUL bytes instead of text; what should stand here was never written
      line 7: error: object glued behind other bytes on one line; the client loses the entry; annals reads it
      line 8: error: beginning of the object is lost; the entry is lost
      line 9: error: not valid JSON; the entry is lost
      line 10: warning: last line is cut off; the entry being written when its writer stopped is lost
    6 problems in 1 of 1 transcript
    ");
    let checked = annals(&home, &["check", "bad.jsonl", "--json"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(1), ""));
    assert_snapshot!(checked.stdout.lines().next().unwrap(), @r#"{"session":null,"path":"bad.jsonl","line":5,"lines":1,"problem":"blank line","severity":"info","effect":"costs nothing","repairable":true}"#);
    assert_eq!(checked.stdout.lines().count(), 6);
}

#[test]
fn all_sessions_are_checked_on_request() {
    let home = small_home();
    assert_eq!(annals(&home, &["check", "--all"]).code, Some(0));
    let neither = annals(&home, &["check"]);
    assert_eq!(neither.code, Some(2));
    assert!(neither.stderr.contains("--all"), "{}", neither.stderr);
}
