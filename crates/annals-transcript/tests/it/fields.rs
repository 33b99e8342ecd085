//! Fields of entries, ids and paths in every spelling that transcripts have.

use std::borrow::Cow;

use annals_transcript::Entry;
use annals_transcript::entry::view::{Assistant, FileHistorySnapshot, System, SystemKind, User};
use annals_transcript::json::Value;
use annals_transcript::project::{Role, is_session_id};

#[test]
fn fields_of_an_envelope_have_views() {
    let prompt = r#"{"type":"user","userType":"external","cwd":"E:\\tea\\茶","gitBranch":"","version":"2.1.1","permissionMode":"acceptEdits","sourceToolAssistantUUID":"a1","message":{"content":"x"}}"#;
    let prompt = Entry::new(prompt.as_bytes());
    let user = prompt.view::<User>().unwrap();
    let texts =
        [user.cwd(), user.git_branch(), user.version(), user.permission_mode(), user.source_assistant()];
    assert_eq!(texts.map(Option::unwrap), [r"E:\tea\茶", "", "2.1.1", "acceptEdits", "a1"]);
    let reply = r#"{"type":"assistant","requestId":"req_1","message":{"id":"msg_1","model":"claude-x","stop_reason":null,"content":[]}}"#;
    let reply = Entry::new(reply.as_bytes());
    let reply = reply.view::<Assistant>().unwrap();
    let texts = [reply.request_id(), reply.message_id(), reply.model()];
    assert_eq!(texts.map(Option::unwrap), ["req_1", "msg_1", "claude-x"]);
    assert_eq!(reply.stop_reason(), None);
}

#[test]
fn a_snapshot_is_new_unless_it_says_that_it_is_an_update() {
    for (member, is_update) in
        [("", false), (r#","isSnapshotUpdate":false"#, false), (r#","isSnapshotUpdate":true"#, true)]
    {
        let line = format!(r#"{{"type":"file-history-snapshot","messageId":"m","snapshot":{{}}{member}}}"#);
        let snapshot = Entry::new(line.as_bytes());
        assert_eq!(snapshot.view::<FileHistorySnapshot>().unwrap().is_update(), is_update, "{line}");
    }
}

#[test]
fn a_boundary_says_what_started_the_compaction() {
    for trigger in ["manual", "auto"] {
        let line = format!(
            r#"{{"type":"system","subtype":"compact_boundary","parentUuid":null,"compactMetadata":{{"trigger":"{trigger}","preTokens":155000}}}}"#
        );
        let boundary = Entry::new(line.as_bytes());
        let system = boundary.view::<System>().unwrap();
        let SystemKind::CompactBoundary(boundary) = system.kind() else { panic!("{line}") };
        assert_eq!((boundary.trigger().unwrap().as_ref(), boundary.pre_tokens()), (trigger, Some(155_000)));
    }
}

#[test]
fn a_session_id_is_a_uuid_in_any_case() {
    for (name, is_id) in [
        ("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55", true),
        ("3E11A6B4-93C1-4D41-9F0C-2A6F0F9F7A55", true),
        ("3e11a6b493c14d419f0c2a6f0f9f7a55", false),
        ("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a5", false),
        ("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a5g", false),
        ("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55-", false),
        ("agent-a1", false),
        ("", false),
    ] {
        assert_eq!(is_session_id(name), is_id, "{name}");
        let is_session = matches!(Role::of(format!("{name}.jsonl").as_ref()), Role::Main { .. });
        assert_eq!(is_session, is_id, "{name}");
    }
}

/// Claude Code puts subagents below their session, or beside it; a folder `subagents` of a project holds none.
#[test]
fn a_folder_of_subagents_without_a_session_holds_no_transcripts() {
    assert_eq!(Role::of("subagents/agent-a1.jsonl".as_ref()), Role::Other);
}

#[test]
fn text_without_escapes_is_not_copied() {
    for (json, is_borrowed) in [(r#""plain 茶""#, true), (r#""two\nlines""#, false), (r#""""#, true)] {
        let text = Value::new(json.as_bytes()).unwrap().as_text().unwrap();
        assert_eq!(matches!(text, Cow::Borrowed(_)), is_borrowed, "{json}");
    }
}
