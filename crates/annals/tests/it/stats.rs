//! `annals stats`.

use insta::assert_snapshot;

use crate::{annals, small_home, transcript};

#[test]
fn one_session_is_counted_in_full() {
    let home = small_home();
    let counted = annals(&home, &["stats", "3e11"]);
    assert_eq!((counted.code, counted.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(counted.stdout, @r"");
}

#[test]
fn several_sessions_get_a_row_each_and_a_total() {
    let home = small_home();
    let other = "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    home.write(
        format!(".claude/projects/-p/{other}.jsonl"),
        "{\"type\":\"mode\",\"sessionId\":\"x\"}\nbroken\n",
    );
    home.write(
        format!(".claude/projects/-p/{other}/subagents/agent-a1.jsonl"),
        "{\"type\":\"user\",\"uuid\":\"x\",\"parentUuid\":null,\"timestamp\":\"2026-03-02T00:00:00Z\",\"message\":{}}\n",
    );
    let counted = annals(&home, &["stats"]);
    assert_eq!((counted.code, counted.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(counted.stdout, @r"");
}

#[test]
fn the_json_of_a_session_has_the_agreed_shape() {
    let home = small_home();
    let counted = annals(&home, &["stats", &transcript(), "--json"]);
    assert_eq!(counted.code, Some(0));
    assert_snapshot!(counted.stdout, @r"");
}
