#![expect(clippy::needless_pass_by_value, reason = "values are made where they are given")]

use serde_json::{Value as Json, json};

use super::*;

fn updates_by(builder: &mut UpdateBuilder, entries: &[Json]) -> Vec<Json> {
    for entry in entries {
        builder.add_entry(entry.to_string().as_bytes());
    }
    builder.take().iter().map(|update| serde_json::to_value(update).unwrap()).collect()
}

fn updates_of(entries: &[Json]) -> Vec<Json> {
    updates_by(&mut UpdateBuilder::new(false, None), entries)
}

/// Summarizes each update in one line.
fn summarized(updates: &[Json]) -> Vec<String> {
    updates.iter().map(summary).collect()
}

fn summary(update: &Json) -> String {
    let kind = update["sessionUpdate"].as_str().unwrap();
    let words = ["messageId", "toolCallId", "compactionId", "status"];
    let words = words.iter().filter_map(|key| update[key].as_str());
    let text = update["content"]["text"].as_str().or(update["content"][0]["content"]["text"].as_str());
    [kind].into_iter().chain(words).chain(text).collect::<Vec<_>>().join(" ")
}

fn user(uuid: &str, content: Json) -> Json {
    json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}, "cwd": "/茶"})
}

fn reply(uuid: &str, id: &str, block: Json) -> Json {
    json!({"type": "assistant", "uuid": uuid, "message": {"id": id, "content": [block]}, "cwd": "/茶"})
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn queued(prompt: &str, is_meta: bool) -> Json {
    json!({"type": "attachment", "uuid": "q", "attachment":
        {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", "isMeta": is_meta}})
}

fn image(source: Json) -> Json {
    json!({"type": "image", "source": source})
}

fn call(id: &str, name: &str, input: Json) -> Json {
    reply(&format!("a-{id}"), id, json!({"type": "tool_use", "id": id, "name": name, "input": input}))
}

fn result(id: &str, content: Json, more: Json) -> Json {
    let mut entry =
        user(&format!("u-{id}"), json!([{"type": "tool_result", "tool_use_id": id, "content": content}]));
    for (key, value) in more.as_object().unwrap() {
        match key.as_str() {
            "is_error" => entry["message"]["content"][0]["is_error"] = value.clone(),
            key => entry[key] = value.clone(),
        }
    }
    entry
}

#[test]
fn results_in_one_entry_are_reported_with_their_own_output() {
    let output = json!({"toolUseResult": {"stdout": "of one of them"}});
    let mut both = result("t1", json!("one"), output.clone());
    let other = json!({"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": true});
    both["message"]["content"].as_array_mut().unwrap().push(other);
    let [first, second, third] = ["t1", "t2", "t3"].map(|id| call(id, "Bash", json!({"command": "ls"})));
    let updates = updates_of(&[first, second, third, both, result("t3", json!("three"), output)]);
    let ended: Vec<_> = updates[3..].iter().map(|update| (&update["status"], &update["rawOutput"])).collect();
    let expected = [
        (json!("completed"), json!("one")),
        (json!("failed"), json!("two")),
        (json!("completed"), json!({"stdout": "of one of them"})),
    ];
    assert_eq!(ended, expected.each_ref().map(|(status, output)| (status, output)));
}

#[test]
fn the_lines_of_a_reply_are_one_message() {
    let updates = updates_of(&[
        user("u", json!("天气？")),
        reply("a1", "m1", json!({"type": "thinking", "thinking": "Hm"})),
        reply("a2", "m1", text("一")),
        reply("a3", "m1", text("二")),
        reply("a4", "m2", text("三")),
        json!({"type": "assistant", "uuid": "a5", "message": {"content": "四"}}),
        json!({"type": "assistant", "uuid": "a6", "message": {"content": "五"}}),
    ]);
    assert_eq!(
        summarized(&updates),
        [
            "user_message_chunk u 天气？",
            "agent_thought_chunk a1 Hm",
            "agent_message_chunk a1 一",
            "agent_message_chunk a1 二",
            "agent_message_chunk a4 三",
            "agent_message_chunk a5 四",
            "agent_message_chunk a6 五",
        ]
    );
}

#[test]
fn context_subagents_and_records_have_no_updates() {
    let mut meta = user("u1", json!("injected"));
    meta["isMeta"] = json!(true);
    let mut side = user("u2", json!("subagent"));
    side["isSidechain"] = json!(true);
    let updates = updates_of(&[
        meta,
        side,
        user("u3", json!("")),
        reply("a1", "m1", json!({"type": "thinking", "thinking": "", "signature": "x"})),
        reply("a2", "m1", json!({"type": "redacted_thinking", "data": "x"})),
        json!({"type": "system", "subtype": "turn_duration", "uuid": "s"}),
        json!({"type": "custom-title", "customTitle": "T"}),
        json!({"type": "user", "uuid": "u4"}),
        json!({"type": "assistant", "uuid": "a3", "message": 7}),
        queued("client", true),
        queued("等等", false),
        result("never-made", json!("x"), json!({})),
    ]);
    assert_eq!(summarized(&updates), ["user_message_chunk q 等等"]);
}

#[test]
fn calls_end_as_their_results_say() {
    let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    for (more, status, state) in [
        (json!({}), "completed", "ok"),
        (json!({"is_error": true}), "failed", "error"),
        (json!({"is_error": true, "toolUseResult": rejected}), "failed", "denied"),
        (json!({"toolUseResult": {"interrupted": true}}), "failed", "interrupted"),
    ] {
        let updates =
            updates_of(&[call("t", "Bash", json!({"command": "ls"})), result("t", json!("好"), more)]);
        assert_eq!(
            summarized(&updates),
            ["tool_call t in_progress".to_owned(), format!("tool_call_update t {status} 好")]
        );
        assert_eq!(updates[1]["_meta"]["annals"]["state"], state);
    }
}

#[test]
fn a_call_and_a_result_are_reported_once_however_often_they_are_recorded() {
    let (made, done) = (call("t", "Bash", json!({})), result("t", json!("x"), json!({})));
    let updates = updates_of(&[made.clone(), made.clone(), done.clone(), done.clone()]);
    assert_eq!(summarized(&updates), ["tool_call t in_progress", "tool_call_update t completed x"]);
    let mut midway = UpdateBuilder::starting_midway(false, None);
    assert_eq!(summarized(&updates_by(&mut midway, &[done])), ["tool_call_update t completed x"]);
    let mut builder = UpdateBuilder::new(false, None);
    updates_by(&mut builder, &[made]);
    builder.abandon_call("t");
    builder.abandon_call("t");
    assert_eq!(summarized(&updates_by(&mut builder, &[])), ["tool_call_update t failed"]);
}

#[test]
fn the_diff_of_a_call_stays_unless_the_edit_failed() {
    let edit = call("t", "Edit", json!({"file_path": "a.rs", "old_string": "1", "new_string": "2"}));
    let diff = json!([{"type": "diff", "path": "/茶/a.rs", "oldText": "1", "newText": "2"}]);
    let updates = updates_of(&[edit.clone(), result("t", json!("ok"), json!({}))]);
    assert_eq!((&updates[0]["content"], updates[1].get("content")), (&diff, None));
    let updates = updates_of(&[edit, result("t", json!("not found"), json!({"is_error": true}))]);
    assert_eq!(updates[1]["content"][0]["content"]["text"], "not found");
}

#[test]
fn long_texts_are_split_and_long_results_are_cut() {
    let long = "水".repeat(MAX_TEXT_BYTES / 3 + 10);
    let updates = updates_of(&[user("u", json!(long))]);
    let texts: Vec<_> = updates.iter().map(|update| update["content"]["text"].as_str().unwrap()).collect();
    assert_eq!((texts.len(), texts.concat()), (2, long.clone()));
    assert!(updates.iter().all(|update| update["messageId"] == "u"));

    let updates =
        updates_of(&[call("t", "Bash", json!({"command": long})), result("t", json!(long), json!({}))]);
    assert_eq!(updates[0].get("rawInput"), None);
    assert!(updates[0]["title"].as_str().unwrap().len() < 1000);
    assert_eq!(updates[1].get("rawOutput"), None);
    let shown = updates[1]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(long.starts_with(shown) && shown.len() > MAX_TEXT_BYTES - 4);
    assert!(updates.iter().all(|update| update["_meta"]["annals"]["cut"] == true));

    let updates = updates_of(&[call("t", "Write", json!({"file_path": "/a", "content": long}))]);
    assert_eq!((updates[0].get("content"), &updates[0]["_meta"]["annals"]["cut"]), (None, &json!(true)));
}

#[test]
fn images_are_sent_and_other_media_have_a_placeholder() {
    let content = json!([
        image(json!({"type": "base64", "media_type": "image/png", "data": "AAAA"})),
        image(json!({"type": "url", "url": "https://example.org/茶.png"})),
        {"type": "document", "title": "茶.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
        image(json!({})),
    ]);
    let expected = [
        json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
        json!({"type": "resource_link", "name": "image", "uri": "https://example.org/茶.png"}),
        json!({"type": "text", "text": "[茶.pdf]"}),
        json!({"type": "text", "text": "[image or document]"}),
    ];
    let updates = updates_of(&[user("u", content.clone())]);
    assert_eq!(updates.iter().map(|update| update["content"].clone()).collect::<Vec<_>>(), expected);
    let updates = updates_of(&[call("t", "Read", json!({})), result("t", content, json!({}))]);
    let inside = updates[1]["content"].as_array().unwrap().iter();
    assert_eq!(inside.map(|content| content["content"].clone()).collect::<Vec<_>>(), expected);
}

#[test]
fn a_compaction_is_plain_text_for_clients_that_do_not_support_it() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b",
        "compactMetadata": {"trigger": "manual", "preTokens": 1234}});
    let mut summary = user("s", json!("总结"));
    summary["isCompactSummary"] = json!(true);
    let plain = updates_of(&[boundary.clone(), summary.clone()]);
    assert_eq!(
        summarized(&plain),
        [
            "agent_message_chunk b [The conversation was compacted by hand, at 1234 tokens]",
            "user_message_chunk s 总结"
        ]
    );
    assert_eq!(plain[0]["_meta"]["annals"]["input"], "notice");
    assert_eq!(plain[1]["_meta"]["annals"]["summary"], true);
    let mut builder = UpdateBuilder::new(true, None);
    let structured = updates_by(&mut builder, &[boundary, summary.clone(), summary]);
    assert_eq!(
        summarized(&structured),
        [
            "compaction_update b completed",
            "compaction_summary_chunk b 总结",
            // A summary without a boundary is a compaction by itself.
            "compaction_update s completed",
            "compaction_summary_chunk s 总结",
        ]
    );
}

/// Returns how many tokens a reply used, and the size of its context window.
fn used(model: &str, usage: Json) -> Option<(u64, u64)> {
    let mut builder = UpdateBuilder::new(false, None);
    let mut line = reply("a", "m", text("x"));
    line["message"]["model"] = json!(model);
    line["message"]["usage"] = usage;
    updates_by(&mut builder, &[line]);
    builder.usage().map(|usage| (usage.used, usage.size))
}

#[test]
fn usage_is_that_of_the_last_reply() {
    let usage = json!({"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 4000});
    assert_eq!(used("claude-opus-4-6", usage.clone()), Some((4321, 200_000)));
    assert_eq!(used("claude-opus-5-5", usage.clone()), Some((4321, 1_000_000)));
    assert_eq!(used("claude-opus-4-6[1m]", usage), Some((4321, 1_000_000)));
    assert_eq!(used("x", json!({"input_tokens": 200_001})), Some((200_001, 1_000_000)));
    assert_eq!(used("x", json!({"input_tokens": u64::MAX, "output_tokens": 1})), Some((u64::MAX, u64::MAX)));
    assert_eq!(used("<synthetic>", json!({"input_tokens": 0})), None);
    assert_eq!(used("x", json!("none")), None);
}

#[test]
fn input_that_claude_code_added_is_marked_with_its_kind() {
    let updates = updates_of(&[
        user("u1", json!("<command-name>/rename</command-name><command-args>茶</command-args>")),
        user("u2", json!("<local-command-stdout>Renamed\n</local-command-stdout>")),
        user("u3", json!("<system-reminder>Be kind</system-reminder>")),
        user("u4", json!("<ide_selection>a.rs</ide_selection>\nWhy?")),
        user("u5", json!(" As typed \n")),
        user("u6", json!("<teammate-message teammate_id=\"bob\">Done</teammate-message>")),
    ]);
    assert_eq!(updates[5]["_meta"]["annals"]["teammateId"], "bob");
    assert_eq!(
        summarized(&updates),
        [
            "user_message_chunk u1 /rename 茶",
            "agent_message_chunk u2 Renamed",
            "user_message_chunk u4 a.rs",
            "user_message_chunk u4 Why?",
            "user_message_chunk u5  As typed \n",
            "user_message_chunk u6 Done",
        ]
    );
    let kinds: Vec<_> = updates.iter().map(|update| update["_meta"]["annals"]["input"].clone()).collect();
    assert_eq!(
        kinds,
        [
            json!("command"),
            json!("output"),
            json!("ide_selection"),
            json!(null),
            json!(null),
            json!("teammate")
        ]
    );
}
