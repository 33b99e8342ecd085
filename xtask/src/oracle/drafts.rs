//! Drafts for `annals record`, as short as annals allows.

use serde_json::{Value as Json, json};

use super::claude_code::MODEL;

/// A prompt.
pub(crate) fn user(text: &str) -> Json {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

/// A block of a reply; those of one reply share its name.
pub(crate) fn block(reply: &str, block: &Json) -> Json {
    let id = format!("msg_{reply}");
    let message =
        json!({"id": id, "type": "message", "role": "assistant", "model": MODEL, "content": [block]});
    json!({"type": "assistant", "message": message})
}

/// A reply of one text.
pub(crate) fn says(reply: &str, text: &str) -> Json {
    block(reply, &json!({"type": "text", "text": text}))
}

/// Reasoning in a reply.
pub(crate) fn thinks(reply: &str, text: &str) -> Json {
    block(reply, &json!({"type": "thinking", "thinking": text, "signature": "c2lnbmF0dXJl"}))
}

/// A call in a reply.
pub(crate) fn calls(reply: &str, call: &str) -> Json {
    let input = json!({"command": format!("echo {call}")});
    block(reply, &json!({"type": "tool_use", "id": call, "name": "Bash", "input": input}))
}

/// The result of a call.
pub(crate) fn answers(call: &str, text: &str) -> Json {
    let result = json!({"type": "tool_result", "tool_use_id": call, "content": text});
    json!({"type": "user", "message": {"role": "user", "content": [result]}})
}

/// A compaction that keeps some messages: the boundary, and the summary with its id.
pub(crate) fn compaction(text: &str, summary: u32, kept: &[u32]) -> [Json; 2] {
    let (kept, anchor): (Vec<_>, _) = (kept.iter().map(|number| id(*number)).collect(), id(summary));
    let mut metadata = json!({"trigger": "auto", "preTokens": 999});
    if let (Some(head), Some(tail)) = (kept.first(), kept.last()) {
        metadata["preservedSegment"] = json!({"headUuid": head, "anchorUuid": anchor, "tailUuid": tail});
        metadata["preservedMessages"] = json!({"anchorUuid": anchor, "uuids": kept, "allUuids": kept});
    }
    let content = "Conversation compacted";
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "content": content,
        "isMeta": false, "level": "info", "compactMetadata": metadata});
    let message = json!({"role": "user", "content": text});
    let summary = json!({"type": "user", "message": message, "uuid": anchor, "isCompactSummary": true,
        "isVisibleInTranscriptOnly": true});
    [boundary, summary]
}

/// Gives a draft one more field.
pub(crate) fn with(mut draft: Json, key: &str, value: &str) -> Json {
    draft[key] = value.into();
    draft
}

/// Gives a draft an id.
pub(crate) fn at(number: u32, draft: Json) -> Json {
    with(draft, "uuid", &id(number))
}

/// Returns the id of a number.
pub(crate) fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}
