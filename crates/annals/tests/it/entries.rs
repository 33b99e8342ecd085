//! What commands print of entries in every shape that transcripts have.

use serde_json::{Value, json};
use testkit::command::Home;
use testkit::transcript::Transcript;

use crate::{SESSION, annals, transcript};

const OTHER: &str = "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

/// Returns what a command prints as JSON, line by line.
fn printed(home: &Home, args: &[&str]) -> Vec<Value> {
    let ran = annals(home, &[args, &["--json"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The name and the input of a call, its subject, its files, and what `show --tools full` prints of it.
type Call = (&'static str, Value, &'static str, &'static [&'static str], &'static str);

fn calls() -> [Call; 9] {
    [
        (
            "Bash",
            json!({"command": "ls > out.txt", "description": "List"}),
            "ls > out.txt",
            &["out.txt"],
            "description: List",
        ),
        (
            "Read",
            json!({"file_path": "/tea/a.rs", "offset": 10, "limit": 5}),
            "/tea/a.rs",
            &["/tea/a.rs"],
            "offset: 10",
        ),
        (
            "Write",
            json!({"file_path": "/tea/茶.rs", "content": "one"}),
            "/tea/茶.rs",
            &["/tea/茶.rs"],
            "+ one",
        ),
        (
            "Edit",
            json!({"file_path": "/tea/b.rs", "old_string": "green", "new_string": "oolong"}),
            "/tea/b.rs",
            &["/tea/b.rs"],
            "- green\n      + oolong",
        ),
        ("Glob", json!({"pattern": "**/*.rs", "path": "src"}), "**/*.rs", &["src"], "path: src"),
        (
            "Grep",
            json!({"pattern": "leaf", "path": "src", "output_mode": "content"}),
            "leaf",
            &["src"],
            "output_mode: content",
        ),
        (
            "Task",
            json!({"prompt": "Look", "subagent_type": "Explore", "description": "Look around"}),
            "Look around",
            &[],
            "subagent_type: Explore",
        ),
        (
            "WebFetch",
            json!({"url": "https://example.com", "prompt": "Sum up"}),
            "https://example.com",
            &[],
            "prompt: Sum up",
        ),
        ("TodoWrite", json!({"todos": [{"content": "Boil", "status": "pending"}]}), "", &[], "[ ] Boil"),
    ]
}

#[test]
fn a_call_of_every_usual_tool_says_what_it_is_about() {
    let home = Home::new();
    let mut lines = Transcript::session(SESSION).user("u", "Work");
    for (number, (name, input, ..)) in calls().into_iter().enumerate() {
        // Ids of other providers have other forms.
        let id = if number % 2 == 0 { format!("toolu_{number}") } else { format!("call_00_{number}") };
        let result = json!([{"type": "tool_result", "tool_use_id": id, "content": "done"}]);
        lines = lines.assistant(&format!("a{number}"), |reply| reply.tool(&id, name, input));
        lines = lines.user(&format!("r{number}"), result);
    }
    home.write(transcript(), lines.to_string());
    let found = printed(&home, &["tools", SESSION]);
    let full = annals(&home, &["show", SESSION, "--tools", "full"]).stdout;
    assert_eq!(found.len(), calls().len());
    for (found, (name, _, subject, files, shown)) in found.iter().zip(calls()) {
        let told = [&found["name"], &found["subject"], &found["state"]];
        assert_eq!(told.map(|text| text.as_str().unwrap()), [name, subject, "ok"]);
        assert_eq!(found["files"], json!(files), "{name}");
        assert!(full.contains(shown), "{name}: {full}");
    }
}

#[test]
fn a_call_fails_if_its_result_says_so_and_not_by_its_words() {
    let home = Home::new();
    let session = |id: &str, call: &str, result: Value| {
        let lines = Transcript::session(id)
            .user("u", "Work")
            .assistant("a", |reply| reply.tool(call, "Bash", json!({"command": call})))
            .user("r", json!([result]));
        home.write(format!(".claude/projects/-home-mia-tea/{id}.jsonl"), lines.to_string());
    };
    let words = json!([{"type": "text", "text": "error: it failed"}]);
    session(SESSION, "t1", json!({"type": "tool_result", "tool_use_id": "t1", "content": words}));
    session(
        OTHER,
        "t2",
        json!({"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": "x"}),
    );
    let told = |args: &[&str]| {
        let mut calls: Vec<_> = printed(&home, args)
            .iter()
            .map(|call| format!("{} {}", call["id"].as_str().unwrap(), call["state"].as_str().unwrap()))
            .collect();
        calls.sort();
        calls
    };
    assert_eq!(told(&["tools"]), ["t1 ok", "t2 error"], "calls of all sessions");
    assert_eq!(told(&["tools", "--errors"]), ["t2 error"]);
}

#[test]
fn a_turn_begins_with_what_somebody_types_whatever_the_permission_mode() {
    let home = Home::new();
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]);
    let lines = Transcript::session(SESSION)
        .user("u1", "One")
        .with("permissionMode", "default")
        .assistant("a1", |reply| reply.tool("t1", "Bash", json!({"command": "ls"})))
        .user("r1", result)
        .with("permissionMode", "plan")
        .user("u2", "Two")
        .user("u3", "Three, at a time that nobody knows")
        .with("permissionMode", "plan")
        .without("timestamp")
        .at("2026-03-01T10:10:00Z")
        .user("u4", "Four")
        .with("permissionMode", "plan");
    home.write(transcript(), lines.to_string());
    let told: Vec<_> = printed(&home, &["turns", SESSION])
        .iter()
        .map(|turn| (turn["kind"].as_str().unwrap().to_owned(), turn["messages"].as_u64().unwrap()))
        .collect();
    let told: Vec<_> = told.iter().map(|(kind, messages)| (kind.as_str(), *messages)).collect();
    assert_eq!(told, [("new_session", 3), ("new_round", 1), ("new_round", 1), ("resume", 1)]);
}

#[test]
fn every_permission_mode_is_listed_as_it_was_told() {
    for mode in ["default", "acceptEdits", "plan", "bypassPermissions", "one of tomorrow"] {
        let home = Home::new();
        let lines = Transcript::session(SESSION).user("u", "Hello").with("permissionMode", mode);
        home.write(transcript(), lines.to_string());
        assert_eq!(printed(&home, &["list"])[0]["permissionMode"], mode);
    }
}

#[test]
fn empty_blocks_are_kept() {
    let home = Home::new();
    let lines = Transcript::session(SESSION)
        .user("u", "Hello")
        .assistant("a1", |reply| reply.text(""))
        .assistant("a2", |reply| reply.thinking(""))
        .assistant("a3", |reply| reply.tool("t1", "Bash", json!({"command": "ls"})));
    home.write(transcript(), lines.to_string());
    let items = printed(&home, &["show", SESSION]);
    let parts = |index: usize| items[index]["parts"][0].clone();
    assert_eq!((items.len(), &parts(1)["text"], &parts(2)["thinking"]), (4, &json!(""), &json!("")));
    assert_eq!(items[3]["tool"]["name"], "Bash");
    let shown = annals(&home, &["show", SESSION]).stdout;
    assert!(shown.contains("thinking (not kept)"), "{shown}");
}

#[test]
fn a_session_begins_and_ends_with_its_entries_and_not_with_a_snapshot() {
    let home = Home::new();
    let snapshot =
        json!({"messageId": "u", "snapshot": {"messageId": "u", "timestamp": "2020-01-01T00:00:00.000Z"}});
    let lines = Transcript::session(SESSION)
        .record("file-history-snapshot", snapshot)
        .at("2026-03-01T10:00:05Z")
        .user("u", "Hello")
        .at("2026-03-01T10:00:01Z")
        .assistant("a", |reply| reply.text("Written before"))
        .record("mode", json!({"mode": "normal"}));
    home.write(transcript(), lines.to_string());
    let (first, last) = ("2026-03-01T10:00:01.000Z", "2026-03-01T10:00:05.000Z");
    let (stats, listed) = (printed(&home, &["stats", SESSION]), printed(&home, &["list"]));
    assert_eq!((&stats[0]["firstAt"], &stats[0]["lastAt"]), (&json!(first), &json!(last)));
    assert_eq!((&listed[0]["createdAt"], &listed[0]["updatedAt"]), (&json!(first), &json!(last)));
}

#[test]
fn a_summary_of_old_versions_is_a_title_and_no_compaction() {
    let home = Home::new();
    let lines = Transcript::session(SESSION)
        .version("2.0.14")
        .record("summary", json!({"summary": "Tea at four", "leafUuid": "a"}))
        .user("u", "Hello")
        .assistant("a", |reply| reply.text("Hi"));
    home.write(transcript(), lines.to_string());
    let listed = &printed(&home, &["list"])[0];
    assert_eq!((&listed["title"], &listed["titleSource"]), (&json!("Tea at four"), &json!("summary")));
    assert_eq!(printed(&home, &["stats", SESSION])[0]["compactions"], 0);
}

/// A conversation with a compaction. Between the boundary and its summary stand other lines.
fn compacted(padding: &str) -> Transcript {
    let boundary = json!({"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info",
        "logicalParentUuid": "a1", "compactMetadata": {"trigger": "auto", "preTokens": 9000}});
    Transcript::session(SESSION)
        .user("u1", "The beginning")
        .assistant("a1", |reply| reply.text("Begun"))
        .with("padding", padding)
        .after(None)
        .message("system", "boundary", boundary)
        .record("mode", json!({"mode": "normal"}))
        .message("attachment", "hook", json!({"attachment": {"type": "hook_success", "hookName": "Start"}}))
        .after("boundary")
        .user("summary", "What was said")
        .with("isCompactSummary", true)
        .with("isVisibleInTranscriptOnly", true)
        .user("u2", "The end")
        .assistant("a2", |reply| reply.text("Ended"))
}

#[test]
fn a_summary_need_not_stand_directly_behind_its_boundary() {
    let home = Home::new();
    home.write(transcript(), compacted("").to_string());
    let items = printed(&home, &["show", SESSION]);
    let item = |uuid: &str| items.iter().find(|item| item["uuid"] == uuid).unwrap();
    assert_eq!(item("boundary")["kind"], "compaction");
    assert_eq!(item("boundary")["parts"], json!([{"type": "text", "text": "Conversation compacted"}]));
    assert_eq!(item("summary")["inputs"][0]["kind"], "compact_summary");
    let model = annals(&home, &["show", SESSION, "--view", "model"]).stdout;
    assert!(model.contains("What was said") && model.contains("The end"), "{model}");
    assert!(!model.contains("The beginning"), "{model}");
}

#[test]
fn all_of_a_large_session_is_shown_also_what_claude_code_no_longer_loads() {
    let home = Home::new();
    home.write(transcript(), compacted(&"x".repeat(6 << 20)).to_string());
    let shown = annals(&home, &["show", SESSION]).stdout;
    for text in ["The beginning", "Begun", "What was said", "The end"] {
        assert!(shown.contains(text), "{shown}");
    }
    assert_eq!(printed(&home, &["turns", SESSION]).len(), 3);
}

#[test]
fn a_turn_counts_the_tokens_of_the_cache_apart() {
    let home = Home::new();
    let usage = json!({"input_tokens": 3, "output_tokens": 5, "cache_creation_input_tokens": 70,
        "cache_read_input_tokens": 900, "service_tier": "standard"});
    let lines = Transcript::session(SESSION)
        .user("u1", "Hello")
        .assistant("a1", |reply| reply.id("m1").text("Hi").usage(usage.clone()))
        .assistant("a2", |reply| reply.id("m1").text("there").usage(usage.clone()))
        .assistant("a3", |reply| reply.id("m2").text("!").usage(usage));
    home.write(transcript(), lines.to_string());
    let counted =
        json!({"inputTokens": 6, "outputTokens": 10, "cacheCreationTokens": 140, "cacheReadTokens": 1800});
    assert_eq!(printed(&home, &["turns", SESSION])[0]["usage"], counted);
}
