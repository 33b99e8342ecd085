use super::*;
use crate::content::Block;
use crate::entry::Entry;

fn view<'a, V: View<'a>>(line: &'a str) -> V {
    Entry::new(line.as_bytes()).view().expect("the line is of this kind")
}

#[test]
fn content_is_read_as_string_array_or_bare_message() {
    for line in [
        r#"{"type":"user","message":{"content":"hi"}}"#,
        r#"{"type":"user","message":{"content":[{"type":"text","text":"hi"}]}}"#,
        r#"{"type":"user","message":{"content":["hi"]}}"#,
        r#"{"type":"user","message":["hi"]}"#,
        r#"{"type":"user","message":"hi"}"#,
    ] {
        assert_eq!(Entry::new(line.as_bytes()).content().text(), "hi", "{line}");
    }
    for line in [
        r#"{"type":"user"}"#,
        r#"{"type":"user","message":{"content":null}}"#,
        r#"{"type":"user","message":7}"#,
    ] {
        assert_eq!(Entry::new(line.as_bytes()).content().text(), "", "{line}");
    }
}

#[test]
fn every_block_type_is_told_apart_and_kept() {
    let line = concat!(
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"t"},{"type":"thinking","thinking":"","signature":"s"},"#,
        r#"{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"i","name":"Bash","input":{"command":"ls"}},"#,
        r#"{"type":"server_tool_use","id":"j","name":"web_search","input":{}},"#,
        r#"{"type":"tool_result","tool_use_id":"i","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}},{"type":"tool_reference","tool_name":"X"}]},"#,
        r#"{"type":"document","source":{"type":"url","url":"u"},"title":"T"},{"type":"fallback","from":{}},7]}}"#
    );
    let blocks: Vec<_> = Entry::new(line.as_bytes()).content().blocks().collect();
    let [
        Block::Text(text),
        Block::Thinking(thinking),
        Block::RedactedThinking(redacted),
        Block::ToolUse(call),
        Block::ServerToolUse(server),
        Block::ToolResult(result),
        Block::Document(document),
        Block::Other(fallback),
        Block::Other(seven),
    ] = blocks[..]
    else {
        panic!("{blocks:?}")
    };
    assert_eq!(text.text(), "t");
    assert_eq!((thinking.thinking().unwrap().as_ref(), thinking.signature().unwrap().as_ref()), ("", "s"));
    assert_eq!(redacted.data().unwrap(), "d");
    assert_eq!((call.id().unwrap().as_ref(), call.name().unwrap().as_ref()), ("i", "Bash"));
    assert_eq!(call.input().unwrap().text("command").unwrap(), "ls");
    assert_eq!(server.name().unwrap(), "web_search");
    assert!(result.is_error());
    assert_eq!(result.tool_use_id().unwrap(), "i");
    assert_eq!(result.content().text(), "no");
    let [_, Block::Image(image), Block::ToolReference(tool)] =
        result.content().blocks().collect::<Vec<_>>()[..]
    else {
        panic!("nested blocks")
    };
    assert_eq!((image.media_type().unwrap().as_ref(), image.data().unwrap().as_ref()), ("image/png", "QQ=="));
    assert_eq!(tool.tool_name().unwrap(), "X");
    assert_eq!((document.title().unwrap().as_ref(), document.data().unwrap().as_ref()), ("T", "u"));
    assert_eq!(Block::Other(fallback).type_name().unwrap(), "fallback");
    assert_eq!(seven.bytes(), b"7");
}

#[test]
fn usage_has_every_counter() {
    let line = concat!(
        r#"{"type":"assistant","message":{"id":"m","model":"claude-x","stop_reason":"end_turn","usage":{"input_tokens":11,"output_tokens":37,"#,
        r#""cache_creation_input_tokens":120,"cache_read_input_tokens":2300,"output_tokens_details":{"thinking_tokens":5},"#,
        r#""server_tool_use":{"web_search_requests":1,"web_fetch_requests":2},"service_tier":"standard","inference_geo":"us","#,
        r#""cache_creation":{"ephemeral_1h_input_tokens":20,"ephemeral_5m_input_tokens":1e2},"speed":"fast"}}}"#
    );
    let reply = view::<Assistant>(line);
    assert_eq!((reply.message_id().unwrap().as_ref(), reply.model().unwrap().as_ref()), ("m", "claude-x"));
    let usage = reply.usage().unwrap();
    let counters = [
        usage.input_tokens(),
        usage.output_tokens(),
        usage.cache_creation_tokens(),
        usage.cache_read_tokens(),
        usage.cache_creation_5m_tokens(),
        usage.cache_creation_1h_tokens(),
        usage.thinking_tokens(),
        usage.server_tool_use().unwrap().web_search_requests(),
        usage.server_tool_use().unwrap().web_fetch_requests(),
    ];
    assert_eq!(counters, [11, 37, 120, 2300, 100, 20, 5, 1, 2].map(Some));
    assert_eq!(
        (usage.service_tier().unwrap().as_ref(), usage.speed().unwrap().as_ref()),
        ("standard", "fast")
    );
}

#[test]
fn compactions_name_what_they_keep() {
    let line = concat!(
        r#"{"type":"system","subtype":"compact_boundary","logicalParentUuid":"l","compactMetadata":{"trigger":"auto","preTokens":9,"postTokens":3,"#,
        r#""preservedSegment":{"headUuid":"h","anchorUuid":"a","tailUuid":"t"},"preservedMessages":{"anchorUuid":"a","uuids":["h","t"],"allUuids":["h","x","t"]}}}"#
    );
    let system = view::<System>(line);
    assert_eq!(system.logical_parent().unwrap(), "l");
    let SystemKind::CompactBoundary(boundary) = system.kind() else { panic!("a boundary") };
    assert_eq!(
        (boundary.trigger().unwrap().as_ref(), boundary.pre_tokens(), boundary.post_tokens()),
        ("auto", Some(9), Some(3))
    );
    let segment = boundary.preserved_segment().unwrap();
    assert_eq!(
        (segment.head().unwrap(), segment.anchor().unwrap(), segment.tail().unwrap()),
        ("h".into(), "a".into(), "t".into())
    );
    let messages = boundary.preserved_messages().unwrap();
    assert_eq!((messages.ids(), messages.all_ids().len()), (vec!["h".into(), "t".into()], 3));
    let bare = view::<System>(r#"{"type":"system","subtype":"compact_boundary"}"#);
    assert!(matches!(bare.kind(), SystemKind::CompactBoundary(boundary) if boundary.trigger().is_none()));
}

#[test]
fn every_system_subtype_is_told_apart() {
    let names = [
        "microcompact_boundary",
        "turn_duration",
        "stop_hook_summary",
        "api_error",
        "away_summary",
        "local_command",
        "bridge_status",
        "informational",
        "model_refusal_fallback",
        "scheduled_task_fire",
        "agents_killed",
        "api_refusal",
        "session_start",
        "error",
    ];
    for name in names {
        let line = format!(r#"{{"type":"system","subtype":"{name}"}}"#);
        assert_ne!(view::<System>(&line).kind(), SystemKind::Other, "{name}");
    }
    assert_eq!(view::<System>(r#"{"type":"system","content":"1.0"}"#).kind(), SystemKind::Other);
    let hooks = view::<System>(
        r#"{"type":"system","subtype":"stop_hook_summary","hookInfos":[{"command":"a"},{"command":"b"}]}"#,
    );
    let SystemKind::StopHookSummary(summary) = hooks.kind() else { panic!("a summary") };
    assert_eq!(summary.commands().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn tool_results_come_in_three_shapes() {
    fn result(value: &str) -> String {
        format!(r#"{{"type":"user","toolUseResult":{value}}}"#)
    }

    let spilled = result(
        r#"{"stdout":"x","persistedOutputPath":"/t/a.txt","persistedOutputSize":165000,"agentId":"a9"}"#,
    );
    let found = Entry::new(spilled.as_bytes()).tool_use_result().unwrap();
    assert_eq!(
        found.spilled_output().unwrap(),
        SpilledOutput { path: "/t/a.txt".into(), size: Some(165_000) }
    );
    assert_eq!(found.agent_id().unwrap(), "a9");
    let error = result(r#""Error: no such file""#);
    assert_eq!(
        Entry::new(error.as_bytes()).tool_use_result().unwrap().as_text().unwrap(),
        "Error: no such file"
    );
    let blocks = result(r#"[{"type":"text","text":"from MCP"}]"#);
    let Some(ToolUseResult::Blocks(content)) = Entry::new(blocks.as_bytes()).tool_use_result() else {
        panic!("blocks")
    };
    assert_eq!(content.text(), "from MCP");
    assert!(Entry::new(result("null").as_bytes()).tool_use_result().is_none());
}

#[test]
fn queued_prompts_are_read_in_full() {
    let line = concat!(
        r#"{"type":"attachment","renderedRole":"system","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"stop"}],"source_uuid":"s","#,
        r#""delivery_id":"d","commandMode":"prompt","origin":{"kind":"human"},"timestamp":"2026-01-02T03:04:05.000Z","isMeta":true}}"#
    );
    let attachment = view::<Attachment>(line);
    let queued = attachment.queued_command().unwrap();
    assert_eq!((queued.text().as_ref(), queued.mode().unwrap().as_ref()), ("stop", "prompt"));
    assert_eq!((queued.source().unwrap().as_ref(), queued.delivery().unwrap().as_ref()), ("s", "d"));
    assert_eq!(queued.origin().unwrap().kind().unwrap(), "human");
    assert_eq!(queued.queued_at().unwrap().to_string(), "2026-01-02T03:04:05Z");
    assert!(queued.is_meta());
    assert!(
        view::<Attachment>(r#"{"type":"attachment","attachment":{"type":"file"}}"#)
            .queued_command()
            .is_none()
    );
}

#[test]
fn every_attachment_type_is_found_by_its_name() {
    for &kind in AttachmentKind::ALL {
        assert_eq!(AttachmentKind::from_name(kind.name().unwrap()), kind);
    }
    assert_eq!(view::<Attachment>(r#"{"type":"attachment"}"#).kind(), AttachmentKind::Other);
}

#[test]
fn file_history_names_its_backups() {
    let snapshot = view::<FileHistorySnapshot>(concat!(
        r#"{"type":"file-history-snapshot","messageId":"m","isSnapshotUpdate":true,"snapshot":{"timestamp":"2026-01-02T03:04:05.000Z","#,
        r#""trackedFileBackups":{"src\\a.rs":{"backupFileName":"h@v2","version":2},"b":{"backupFileName":null,"version":1}}}}"#
    ));
    assert!(snapshot.is_update() && snapshot.taken_at().is_some());
    let backups: Vec<_> = snapshot.backups().collect();
    assert_eq!((backups[0].0.as_ref(), backups[0].1.file_name().unwrap().as_ref()), (r"src\a.rs", "h@v2"));
    assert_eq!((backups[1].1.file_name(), backups[1].1.version()), (None, Some(1)));
    let delta = view::<FileHistoryDelta>(
        r#"{"type":"file-history-delta","messageId":"m","snapshotMessageId":"s","trackingPath":"h.txt","backup":{"version":1}}"#,
    );
    assert_eq!((delta.path().unwrap().as_ref(), delta.backup().unwrap().version()), ("h.txt", Some(1)));
}

#[test]
fn small_records_hold_their_fact() {
    assert_eq!(view::<Summary>(r#"{"type":"summary","summary":"S","leafUuid":"l"}"#).leaf().unwrap(), "l");
    assert_eq!(view::<CustomTitle>(r#"{"type":"custom-title","customTitle":"C"}"#).title().unwrap(), "C");
    assert_eq!(view::<AiTitle>(r#"{"type":"ai-title","aiTitle":"A"}"#).title().unwrap(), "A");
    assert_eq!(view::<AgentName>(r#"{"type":"agent-name","agentName":"N"}"#).name().unwrap(), "N");
    assert_eq!(view::<Tag>(r#"{"type":"tag","tag":""}"#).tag().unwrap(), "");
    assert_eq!(view::<Mode>(r#"{"type":"mode","mode":"normal"}"#).mode().unwrap(), "normal");
    assert_eq!(
        view::<PermissionMode>(r#"{"type":"permission-mode","permissionMode":"plan"}"#).mode().unwrap(),
        "plan"
    );
    let last =
        view::<LastPrompt>(r#"{"type":"last-prompt","lastPrompt":"p","leafUuid":"l","explicit":true}"#);
    assert!(last.explicit() && last.prompt().unwrap() == "p");
    assert_eq!(view::<PrLink>(r#"{"type":"pr-link","prNumber":7,"prUrl":"u"}"#).number(), Some(7));
    let queue = view::<QueueOperation>(
        r#"{"type":"queue-operation","operation":"remove","content":["x"],"reason":"r"}"#,
    );
    assert_eq!((queue.operation().unwrap().as_ref(), queue.content().text().as_ref()), ("remove", "x"));
    let tree = view::<WorktreeState>(r#"{"type":"worktree-state","worktreeSession":{"worktreePath":"/w"}}"#);
    assert_eq!(tree.worktree().unwrap().path().unwrap(), "/w");
    assert!(
        view::<WorktreeState>(r#"{"type":"worktree-state","worktreeSession":null}"#).worktree().is_none()
    );
    let cost = view::<CostState>(
        r#"{"type":"cost-state","totalCostUSD":0.25,"modelUsage":{"m[1m]":{"outputTokens":3,"costUSD":0.25}}}"#,
    );
    let (model, totals) = cost.models().next().unwrap();
    assert_eq!((cost.total_usd(), model.as_ref(), totals.output_tokens()), (Some(0.25), "m[1m]", Some(3)));
    let replaced =
        view::<ContentReplacement>(r#"{"type":"content-replacement","replacements":[{"a":1},{"a":2}]}"#);
    assert_eq!(replaced.replacements().count(), 2);
    assert_eq!(view::<FrameLink>(r#"{"type":"frame-link","frameUrl":"u"}"#).url().unwrap(), "u");
    assert_eq!(
        view::<ToolsUsed>(r#"{"type":"tools-used","tools":["Bash","Read"]}"#).tools(),
        ["Bash", "Read"]
    );
    assert_eq!(
        view::<BridgeSession>(r#"{"type":"bridge-session","lastSequenceNum":9}"#).last_sequence(),
        Some(9)
    );
    assert_eq!(view::<Relocated>(r#"{"type":"relocated","relocatedCwd":"/n"}"#).cwd().unwrap(), "/n");
    assert_eq!(
        view::<ContinuedIn>(r#"{"type":"continued-in","continuedInSessionId":"n"}"#).session().unwrap(),
        "n"
    );
    assert_eq!(
        view::<ForkContextRef>(r#"{"type":"fork-context-ref","contextLength":3}"#).context_length(),
        Some(3)
    );
    assert_eq!(view::<ApiRequest>(r#"{"type":"api-request","keep":2,"tail":["h"]}"#).tail(), ["h"]);
    assert_eq!(view::<ApiRequestBlob>(r#"{"type":"api-request-blob","hash":"h"}"#).hash().unwrap(), "h");
    assert!(
        view::<ApiRequestShape>(r#"{"type":"api-request-shape","shape":{}}"#).shape().unwrap().is_object()
    );
    let body = view::<AttributionSnapshot>(r#"{"type":"attribution-snapshot","x":1}"#).body();
    assert_eq!(body.number("x"), Some(1));
    let progress = view::<Progress>(
        r#"{"type":"progress","toolUseID":"t","data":{"type":"agent_progress","agentId":"a","message":{}}}"#,
    );
    assert_eq!(
        (progress.data_type().unwrap().as_ref(), progress.agent_id().unwrap().as_ref()),
        ("agent_progress", "a")
    );
}
