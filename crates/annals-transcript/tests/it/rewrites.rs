//! Taking entries out, and replacing whole sessions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use annals_transcript::write::Error;
use annals_transcript::write::fs::{Disk, RealDisk};
use annals_transcript::write::rewrite::{self, REWRITE_LIMIT, RemovalMethod};
use serde_json::json;
use testkit::faults::every_moment;
use testkit::naive;

const PATIENCE: Duration = Duration::from_millis(50);

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn all_other_bytes_stay() {
    let a = "{\"type\":\"user\",\"uuid\":\"a\"}";
    let b = "{ \"type\":\"user\", \"uuid\":\"b\" }";
    let c = "{\"type\":\"user\",\"uuid\":\"c\"}";
    let long = "{\"type\":\"user\",\n\n\"uuid\":\"long\"\n}";
    for (text, id, after, how) in [
        (format!("{a}\n{b}\n"), "b", format!("{a}\n"), RemovalMethod::Truncate),
        (format!("{a}\n{b}\n"), "a", format!("{b}\n"), RemovalMethod::Rewrite),
        (format!("{a}\r\n\0\n{b}\n{a}\n{{\"x"), "a", format!("\0\n{b}\n{{\"x"), RemovalMethod::Rewrite),
        (format!("{a}{b}\r\n"), "b", format!("{a}\r\n"), RemovalMethod::Rewrite),
        (format!("{a}{b}\n"), "a", format!("{b}\n"), RemovalMethod::Rewrite),
        (format!("{a}\n{b}"), "b", format!("{a}\n"), RemovalMethod::Rewrite),
        (format!("{long}{b}\n"), "b", format!("{long}\n"), RemovalMethod::Rewrite),
        (format!("{long}{b}\n{c}\n"), "b", format!("{long}\n{c}\n"), RemovalMethod::Rewrite),
        (format!("{long}{b}\n{c}\n"), "long", format!("{b}\n{c}\n"), RemovalMethod::Rewrite),
        (format!("{a}\n{long}\n"), "long", format!("{a}\n"), RemovalMethod::Truncate),
    ] {
        let (_folder, path) = file(&text);
        assert_eq!(
            rewrite::remove_entry(&RealDisk, &path, id, REWRITE_LIMIT, PATIENCE).unwrap(),
            how,
            "{text}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{text}");
    }
}

#[test]
fn what_named_the_entry_names_what_takes_its_place() {
    let message =
        |id: &str, parent: &str| format!("{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":{parent}}}\n");
    let boundary = |kept: &str| {
        format!(
            "{{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"x\",\"compactMetadata\":{kept}}}\n"
        )
    };
    let kept = |head: &str, tail: &str, all: &str| {
        let segment = format!("{{\"anchorUuid\":\"s\",\"headUuid\":\"{head}\",\"tailUuid\":\"{tail}\"}}");
        let messages = format!("{{\"allUuids\":[{all}],\"anchorUuid\":\"s\",\"uuids\":[{all}]}}");
        format!("{{\"preservedMessages\":{messages},\"preservedSegment\":{segment}}}")
    };
    let a = message("a", "null");
    for (before, id, after) in [
        (
            a.clone() + &message("b", "\"a\"") + &message("c", "\"b\""),
            "b",
            a.clone() + &message("c", "\"a\""),
        ),
        (a.clone() + &message("b", "\"a\""), "a", message("b", "null")),
        (
            a.clone() + &message("b", "\"a\"") + "{\"type\":\"last-prompt\",\"leafUuid\":\"b\"}\n",
            "b",
            a.clone() + "{\"type\":\"last-prompt\",\"leafUuid\":\"a\"}\n",
        ),
        (
            a.clone() + &boundary(&kept("a", "c", r#""a","b","c""#)),
            "a",
            boundary(&kept("b", "c", r#""b","c""#)),
        ),
        (a.clone() + &boundary(&kept("a", "a", r#""a""#)), "a", boundary("{}")),
        (
            a.clone()
                + &boundary(&kept("a", "b", r#""a","b""#))
                + &message("d", "\"b\"")
                + &message("b", "\"a\""),
            "b",
            a.clone() + &boundary(&kept("a", "a", r#""a""#)) + &message("d", "\"a\""),
        ),
        (
            a.clone() + &boundary(&kept("a", "b", r#""a","b""#)) + &message("d", "\"a\""),
            "a",
            boundary(&kept("b", "b", r#""b""#)) + &message("d", "\"s\""),
        ),
        (
            message("b", "\"a\"") + &a + &boundary(r#"{"preservedSegment":{"headUuid":"a","tailUuid":"z"}}"#),
            "a",
            message("b", "null") + &boundary(r#"{"preservedSegment":{"headUuid":null,"tailUuid":"z"}}"#),
        ),
        // The only message of a segment goes, and the segment with it.
        (
            message("0", "null")
                + &message("a", "\"0\"")
                + &boundary(
                    r#"{"preTokens":5,"preservedSegment":{"anchorUuid":"s","headUuid":"a","tailUuid":"a"}}"#,
                )
                + &message("s", "\"x\"")
                + &message("d", "\"a\""),
            "a",
            message("0", "null")
                + &boundary(r#"{"preTokens":5}"#)
                + &message("s", "\"x\"")
                + &message("d", "\"s\""),
        ),
    ] {
        let (_folder, path) = file(&before);
        rewrite::remove_entry(&RealDisk, &path, id, REWRITE_LIMIT, PATIENCE).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
    }
}

/// The first message of a segment has another child, which is not part of the segment and is before the one that is.
#[test]
fn a_segment_that_loses_its_first_message_begins_with_the_next_one() {
    let line = |kind: &str, id: &str, parent: Option<&str>, content: serde_json::Value| {
        let message = json!({"role": kind, "id": format!("msg_{id}"), "content": content});
        let line = json!({"type": kind, "uuid": id, "parentUuid": parent, "timestamp": "2026-03-01T10:00:00.000Z", "sessionId": "s", "message": message, "attachment": {"type": "todo"}});
        format!("{line}\n")
    };
    let text = |id: &str| json!([{"type": "text", "text": id}]);
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]);
    let kept = json!({"preservedSegment": {"headUuid": "a2", "anchorUuid": "sum", "tailUuid": "a4"}});
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "B", "parentUuid": null, "timestamp": "2026-03-01T10:00:00.000Z", "sessionId": "s", "compactMetadata": kept});
    for (first, other) in [
        (line("user", "a2", Some("a1"), text("a2")), line("assistant", "x", Some("a2"), text("x"))),
        (line("user", "a2", Some("a1"), text("a2")), line("attachment", "x", Some("a2"), text("x"))),
        (line("assistant", "a2", Some("a1"), call), line("user", "x", Some("a2"), result)),
    ] {
        let before = line("user", "a1", None, text("a1"))
            + &first
            + &other
            + &line("assistant", "a3", Some("a2"), text("a3"))
            + &line("user", "a4", Some("a3"), text("a4"))
            + &format!("{boundary}\n")
            + &line("user", "sum", Some("B"), text("sum"))
            + &line("assistant", "c1", Some("a4"), text("c1"));
        let (_folder, path) = file(&before);
        // Messages of one side that follow each other are joined by a line end.
        let said = |file: &[u8]| -> Vec<String> {
            let parts = naive::model(file).unwrap().into_iter().flat_map(|message| message.parts);
            parts.filter(|part| part.starts_with("text")).map(|part| part.trim_end().to_owned()).collect()
        };
        let mut expected = said(before.as_bytes());
        expected.retain(|part| part != "text a2");
        rewrite::remove_entry(&RealDisk, &path, "a2", REWRITE_LIMIT, PATIENCE).unwrap();
        let after = fs::read(&path).unwrap();
        assert_eq!(said(&after), expected, "{other}");
        assert_eq!(expected, ["text sum", "text a3", "text a4", "text c1"]);
        assert!(String::from_utf8(after).unwrap().contains(r#""headUuid":"a3""#));
    }
}

#[test]
fn compactions_are_not_taken_out_and_odd_ones_do_no_harm() {
    let boundary = |metadata: &str| {
        format!(
            "{{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"x\",\"compactMetadata\":{metadata}}}\n"
        )
    };
    let a = "{\"type\":\"user\",\"uuid\":\"a\",\"parentUuid\":null}\n";
    let odd = [
        r#""about a""#,
        r#"["a"]"#,
        r#"{"preservedMessages":["a"],"preservedSegment":"a"}"#,
        r#"{"note":"a","n":1.50}"#,
    ];
    for metadata in odd {
        let (_folder, path) = file(&(a.to_owned() + &boundary(metadata)));
        rewrite::remove_entry(&RealDisk, &path, "a", REWRITE_LIMIT, PATIENCE).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), boundary(metadata));
        let error = rewrite::remove_entry(&RealDisk, &path, "x", REWRITE_LIMIT, PATIENCE).unwrap_err();
        assert!(error.to_string().contains("begins a compaction"), "{error}");
    }
}

#[test]
fn a_rehearsal_says_what_would_happen() {
    let (_folder, path) = file("{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"user\",\"uuid\":\"b\"}\n");
    let rehearse = |id: &str, limit: u64| rewrite::rehearse_removal(&path, id, limit);
    assert_eq!(rehearse("b", 1).unwrap(), RemovalMethod::Truncate);
    assert_eq!(rehearse("a", 1000).unwrap(), RemovalMethod::Rewrite);
    assert!(rehearse("a", 1).unwrap_err().is_too_large());
    assert!(rehearse("c", 1).unwrap_err().is_no_entry());
}

#[cfg(unix)]
#[test]
fn what_lies_where_the_new_file_is_written_is_not_written_through() {
    let (folder, path) = file("{\"type\":\"user\",\"uuid\":\"a\"}\n{}\n");
    let precious = folder.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, folder.path().join(".s.jsonl.annals")).unwrap();
    rewrite::remove_entry(&RealDisk, &path, "a", REWRITE_LIMIT, PATIENCE).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    assert!(!path.is_symlink());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

/// Where a file gets its name by a hard link, an interruption leaves it with two names.
#[test]
fn a_second_name_that_an_interruption_left_is_removed_and_never_written_to() {
    let old = "{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"user\",\"uuid\":\"b\"}\n";
    let (folder, path) = file(old);
    let second = folder.path().join(".s.jsonl.annals");
    let log = || [Ok(b"{\"type\":\"new\"}".to_vec())];
    fs::hard_link(&path, &second).unwrap();
    rewrite::remove_entry(&RealDisk, &path, "a", REWRITE_LIMIT, PATIENCE).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"type\":\"user\",\"uuid\":\"b\"}\n");
    assert!(!second.exists());
    fs::hard_link(&path, &second).unwrap();
    hydrate(&path, log()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"type\":\"new\"}\n");
    assert!(!second.exists());
    // The session is moved away after the interruption, and made again.
    fs::write(&path, old).unwrap();
    fs::hard_link(&path, &second).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    hydrate(&path, log()).unwrap();
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), old);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"type\":\"new\"}\n");
    assert!(!second.exists());
}

#[cfg(unix)]
#[test]
fn a_link_stays_one() {
    let (folder, path) = file("{\"type\":\"user\",\"uuid\":\"a\"}\n{}\n");
    let link = folder.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    rewrite::remove_entry(&RealDisk, &link, "a", REWRITE_LIMIT, PATIENCE).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
}

#[test]
fn what_is_missing_too_large_or_locked_is_refused_with_the_reason() {
    let text = "{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"user\",\"uuid\":\"b\"}\n";
    let (_folder, path) = file(text);
    let remove =
        |id: &str, limit: u64| rewrite::remove_entry(&RealDisk, &path, id, limit, PATIENCE).unwrap_err();
    assert!(remove("c", 1000).is_no_entry());
    let error = remove("a", 10);
    assert!(error.is_too_large());
    assert!(error.to_string().ends_with("has 54 bytes, more than the 10 that are rewritten"), "{error}");
    let mut held = RealDisk.open(&path).unwrap();
    assert!(held.try_lock().unwrap());
    assert!(remove("a", 1000).is_busy());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

/// Replaces a file by a log, which may be empty.
fn hydrate(path: &Path, log: impl IntoIterator<Item = io::Result<Vec<u8>>>) -> Result<usize, Error> {
    rewrite::hydrate(&RealDisk, path, log, true, || Ok(()))
}

#[test]
fn an_empty_log_replaces_nothing_unless_that_is_allowed() {
    let (folder, path) = file("old\n");
    let log = |lines: &[&str]| lines.iter().map(|line| Ok(line.as_bytes().to_vec())).collect::<Vec<_>>();
    for empty in [&[][..], &["{}"], &["{ }", "{}"]] {
        let error =
            rewrite::hydrate::<Error>(&RealDisk, &path, log(empty), false, || panic!("nothing is replaced"))
                .unwrap_err();
        assert!(error.is_empty_log(), "{error}");
        assert!(rewrite::rehearse_hydrate(&path, log(empty), false).unwrap_err().is_empty_log());
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(hydrate(&path, log(&["{}"])).unwrap(), 1);
    assert_eq!(
        rewrite::hydrate::<Error>(&RealDisk, &path, log(&["{\"type\":\"a\"}"]), false, || Ok(())).unwrap(),
        1
    );
}

#[test]
fn the_old_file_is_kept_before_it_is_replaced_or_nothing_is() {
    let (_folder, path) = file("old\n");
    let log = || [Ok(b"{\"type\":\"a\"}".to_vec())];
    let fails = || Err(Box::<dyn std::error::Error>::from("no room"));
    assert!(rewrite::hydrate(&RealDisk, &path, log(), false, fails).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
    let sees_the_old = || {
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
        Ok::<(), Error>(())
    };
    rewrite::hydrate(&RealDisk, &path, log(), false, sees_the_old).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"type\":\"a\"}\n");
}

#[test]
fn a_log_that_breaks_off_replaces_nothing() {
    let (folder, path) = file("old\n");
    let broken = [Ok(b"{}".to_vec()), Err(io::Error::other("the line went dead"))];
    let error = hydrate(&path, broken).unwrap_err();
    assert!(error.to_string().ends_with("the line went dead"), "{error}");
    for bad in ["[1]", "no", "{} {}", ""] {
        let error = hydrate(&path, [Ok(b"{}".to_vec()), Ok(bad.into())]).unwrap_err();
        assert_eq!(error.draft(), Some(2));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let new = folder.path().join("deep/new.jsonl");
    assert_eq!(hydrate(&new, []).unwrap(), 0);
    assert_eq!(fs::read(&new).unwrap(), b"");
}

#[test]
fn a_file_that_grows_while_it_is_replaced_stays() {
    let (_folder, path) = file("old\n");
    let log = std::iter::once_with(|| {
        use std::io::Write;
        fs::OpenOptions::new().append(true).open(&path)?.write_all(b"new\n")?;
        Ok(b"{}".to_vec())
    });
    assert!(hydrate(&path, log).unwrap_err().is_busy());
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\nnew\n");
}

/// The file of another program that appears just before the log would take its place is not replaced.
#[test]
fn a_session_that_appears_while_a_log_is_written_is_kept() {
    const OTHERS: &str = "{\"type\":\"user\",\"uuid\":\"others\"}\n";
    fn appear(folder: &Path) {
        fs::write(folder.join("s.jsonl"), OTHERS).unwrap();
    }
    let hydrate = |disk: Arc<dyn Disk>, folder: &Path| {
        let log = [Ok(b"{\"type\":\"user\",\"uuid\":\"ours\"}".to_vec())];
        rewrite::hydrate(&*disk, &folder.join("s.jsonl"), log, false, || Ok::<_, Error>(()))
    };
    let moments = every_moment(
        |_| {},
        hydrate,
        appear,
        |folder, _, result| {
            let text = fs::read_to_string(folder.join("s.jsonl")).unwrap();
            assert!(text == OTHERS, "{result:?}: {text}");
        },
    );
    assert!(moments > 3, "{moments}");
}

#[cfg(unix)]
#[test]
fn a_file_with_a_second_name_is_written_anew_and_the_second_name_keeps_all() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("s.jsonl"), folder.path().join("kept.jsonl"));
    let line = |id: &str| format!("{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":null}}\n");
    fs::write(&path, line("a") + &line("b")).unwrap();
    fs::hard_link(&path, &kept).unwrap();
    assert_eq!(rewrite::rehearse_removal(&path, "b", u64::MAX).unwrap(), RemovalMethod::Rewrite);
    let removed = rewrite::remove_entry(&RealDisk, &path, "b", u64::MAX, Duration::ZERO).unwrap();
    assert_eq!(removed, RemovalMethod::Rewrite);
    assert_eq!(fs::read_to_string(&path).unwrap(), line("a"));
    assert_eq!(fs::read_to_string(&kept).unwrap(), line("a") + &line("b"));
}
