//! The JSON of a block as it is in the request (CHAIN 6.9c, 6.13a).

use std::borrow::Cow;

use crate::content::Block;
use crate::json::{Value, quote};
use crate::patch;

/// Returns the JSON of a block as Claude Code sends it.
///
/// A bare string becomes a text block, the tool `Task` becomes `Agent`, a failed result keeps only its text (CHAIN 6.13a),
/// the image of an attached file becomes an image block (CHAIN 6.9c), and half a surrogate pair becomes U+FFFD, as does
/// anything that is not UTF-8.
///
/// ```
/// use annals_transcript::model::block_as_sent;
///
/// assert_eq!(block_as_sent(br#""Hi""#), r#"{"type":"text","text":"Hi"}"#);
/// let call = br#"{"type":"tool_use","id":"t","name":"Task","input":{}}"#;
/// assert_eq!(block_as_sent(call), r#"{"type":"tool_use","id":"t","name":"Agent","input":{}}"#);
/// ```
pub fn block_as_sent(block: &[u8]) -> Cow<'_, str> {
    let json = without_lone_surrogates(String::from_utf8_lossy(block));
    if json.starts_with('"') {
        return format!(r#"{{"type":"text","text":{json}}}"#).into();
    }
    let Some(value) = Value::new(json.as_bytes()) else { return json };
    if let Some(image) = image_of_file(value) {
        return image.into();
    }
    let changed = match Block::new(value) {
        Block::ToolUse(call) if call.name().is_some_and(|name| name == "Task") => {
            patch::set(json.as_bytes(), "name", &quote("Agent")).ok()
        }
        Block::ToolResult(_) if value.get("is_error").is_some_and(Value::is_truthy) => value
            .get("content")
            .and_then(text_of_error)
            .and_then(|text| patch::set(json.as_bytes(), "content", &text).ok()),
        _ => None,
    };
    changed.and_then(|changed| String::from_utf8(changed).ok()).map_or(json, Cow::Owned)
}

/// Returns the JSON of a text block with a newline after its text.
pub fn text_with_newline(block: &[u8]) -> String {
    let json = block_as_sent(block).into_owned();
    let text = Value::new(json.as_bytes()).and_then(|block| block.text("text")).unwrap_or_default();
    let changed = patch::set(json.as_bytes(), "text", &quote(&format!("{text}\n")));
    changed.ok().and_then(|changed| String::from_utf8(changed).ok()).unwrap_or(json)
}

/// Returns the image block that an attached file becomes, if a value is one: an image, or one in the output of a notebook
/// (CHAIN 6.9c).
fn image_of_file(value: Value<'_>) -> Option<String> {
    let (data, media_type) = match (value.get("file"), value.get("type")) {
        (Some(file), Some(_)) if is_image_file(value) => (file.get("base64"), file.get("type")),
        (None, None) if value.is_object() => (value.get("image_data"), value.get("media_type")),
        _ => return None,
    };
    let (data, media_type) = (member("data", data), member("media_type", media_type));
    Some(format!(r#"{{"type":"image","source":{{"type":"base64"{data}{media_type}}}}}"#))
}

/// Returns whether a value is the image of a file and not an image block, which has a source.
fn is_image_file(value: Value<'_>) -> bool {
    value.text("type").is_some_and(|name| name == "image") && value.get("source").is_none()
}

/// Returns the JSON of a further member of an object; nothing if there is no value.
fn member(key: &str, value: Option<Value<'_>>) -> String {
    let json = value.and_then(|value| str::from_utf8(value.bytes()).ok());
    json.map(|json| format!(r#","{key}":{json}"#)).unwrap_or_default()
}

/// Returns the text blocks of a failed result; none if it has no other blocks (CHAIN 6.13a).
fn text_of_error(content: Value<'_>) -> Option<String> {
    if content.items().all(is_text_block) {
        return None;
    }
    let texts = content.items().filter(|block| is_text_block(*block));
    let texts: Vec<_> = texts.filter_map(|block| str::from_utf8(block.bytes()).ok()).collect();
    Some(format!("[{}]", texts.join(",")))
}

fn is_text_block(block: Value<'_>) -> bool {
    block.text("type").is_some_and(|name| name == "text")
}

/// Replaces every half of a surrogate pair in JSON that has no other half.
fn without_lone_surrogates(json: Cow<'_, str>) -> Cow<'_, str> {
    let mut changed = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        at += found;
        let length = match (unit(&json, at), unit(&json, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                changed += &json[copied..at];
                changed += "\\ufffd";
                copied = at + 6;
                6
            }
            _ => 2,
        };
        at = json.len().min(at + length);
    }
    if copied == 0 {
        return json;
    }
    changed += &json[copied..];
    changed.into()
}

/// Returns the UTF-16 code unit of the escape sequence at an offset, if there is one.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_a_whole_one_is_not() {
        for (json, sent) in [
            (r#"{"type":"text","text":"a\ud83db"}"#, r#"{"type":"text","text":"a\ufffdb"}"#),
            (
                r#"{"type":"text","text":"\ud83d\ude00\ude00"}"#,
                r#"{"type":"text","text":"\ud83d\ude00\ufffd"}"#,
            ),
            (r#"{"type":"text","text":"\\ud83d"}"#, r#"{"type":"text","text":"\\ud83d"}"#),
            (r#"{"type":"text","text":"\ud83d"#, r#"{"type":"text","text":"\ufffd"#),
            (r#"{"type":"x","y":{"z":["\udc00"]}}"#, r#"{"type":"x","y":{"z":["\ufffd"]}}"#),
        ] {
            assert_eq!(block_as_sent(json.as_bytes()), sent);
        }
    }

    #[test]
    fn a_failed_result_keeps_its_text_only() {
        fn result(is_error: &str, content: &str) -> String {
            format!(r#"{{"type":"tool_result","tool_use_id":"t","is_error":{is_error},"content":{content}}}"#)
        }

        let both = r#"[{"type":"text","text":"a"},{"type":"image","source":{}}]"#;
        for (is_error, content, sent) in [
            ("true", both, r#"[{"type":"text","text":"a"}]"#),
            ("\"true\"", both, r#"[{"type":"text","text":"a"}]"#),
            ("true", r#"[{"type":"image"}]"#, "[]"),
            ("false", both, both),
            ("true", "\"plain\"", "\"plain\""),
            ("true", "null", "null"),
        ] {
            assert_eq!(block_as_sent(result(is_error, content).as_bytes()), result(is_error, sent));
        }
    }

    #[test]
    fn the_image_of_an_attached_file_becomes_an_image_block() {
        let sent = r#"{"type":"image","source":{"type":"base64","data":"AAAA","media_type":"image/png"}}"#;
        for image in [
            sent,
            r#"{"type":"image","file":{"base64":"AAAA","type":"image/png","originalSize":3}}"#,
            r#"{"image_data":"AAAA","media_type":"image/png"}"#,
        ] {
            assert_eq!(block_as_sent(image.as_bytes()), sent);
        }
        let empty = r#"{"type":"image","source":{"type":"base64"}}"#;
        for image in [r#"{"type":"image","file":{}}"#, r#"{"type":"image","file":[]}"#, "{}"] {
            assert_eq!(block_as_sent(image.as_bytes()), empty);
        }
    }

    #[test]
    fn text_gets_its_newline_in_both_spellings() {
        for (text, sent) in [
            (r#""Hi\t""#, r#"{"type":"text","text":"Hi\t\n"}"#),
            (
                r#"{"type":"text","text":"Hi","citations":null}"#,
                r#"{"type":"text","text":"Hi\n","citations":null}"#,
            ),
        ] {
            assert_eq!(text_with_newline(text.as_bytes()), sent);
        }
    }
}
