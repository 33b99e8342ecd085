//! What the rules say about the blocks of a file, found while the file is read.
//!
//! Nearly every block has one of a few shapes that break no rule. These are recognised in one pass over their members, and nothing is kept
//! about them; the rules are applied to all others.

use std::collections::HashMap;

use annals_transcript::Kind;
use annals_transcript::json::Value;
use annals_transcript::model::Role;
use annals_transcript::session::{BlockKind, BlockSpan};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{LONGEST_NAME, Rule, Verdict, is_plain_name};

/// The verdicts on all blocks of the entries of a file.
#[derive(Debug, Default)]
pub(crate) struct FileVerdicts {
    /// The verdicts on unusual blocks, with the role that they were found for, by the offset of the block.
    unusual: HashMap<u64, (Role, Verdict)>,
    /// The bytes of the last signature that was decoded.
    decoded: Vec<u8>,
}

impl FileVerdicts {
    /// Adds the next block of an entry. `is_sound` says whether the entry is valid JSON in UTF-8.
    pub(crate) fn add(&mut self, kind: Kind, block: &BlockSpan, bytes: &[u8], is_sound: bool) {
        // The text has a visible character. The rules are not applied to it.
        if block.kind == BlockKind::Text {
            return;
        }
        let role = if kind == Kind::Assistant { Role::Assistant } else { Role::User };
        let usual = match (role, block.kind) {
            _ if !is_sound || block.is_bare => Usual::No,
            (Role::Assistant, BlockKind::ToolUse) => is_usual_call(Value::trusted(bytes)).into(),
            (Role::Assistant, BlockKind::Thinking) => self.thinking(Value::trusted(bytes)),
            (Role::User, BlockKind::ToolResult(_)) => is_usual_result(Value::trusted(bytes)).into(),
            _ => Usual::No,
        };
        let verdict = match usual {
            Usual::Sound => return,
            Usual::Unsigned => Verdict { broken: vec![Rule::Signature], ..Verdict::sound(block) },
            Usual::No => Verdict::of(role, bytes),
        };
        self.unusual.insert(block.offset, (role, verdict));
    }

    /// Returns the verdict on a block of an entry of the file; `None` if it was added for another role.
    pub(crate) fn of(&self, block: &BlockSpan, role: Role) -> Option<Verdict> {
        match self.unusual.get(&block.offset) {
            None => {
                let own =
                    if matches!(block.kind, BlockKind::ToolResult(_)) { Role::User } else { Role::Assistant };
                (role == own).then(|| Verdict::sound(block))
            }
            Some((own, verdict)) => (role == *own).then(|| verdict.clone()),
        }
    }

    fn thinking(&mut self, block: Value<'_>) -> Usual {
        let [kind, thinking, signature] = members(block, ["type", "thinking", "signature"]);
        let has_text = thinking.is_some_and(|thinking| thinking.as_str().is_some());
        match plain_text(signature) {
            Some(signature) if has_text && plain_text(kind) == Some("thinking") => {
                self.decoded.clear();
                let is_signed =
                    !signature.is_empty() && STANDARD.decode_vec(signature, &mut self.decoded).is_ok();
                if is_signed { Usual::Sound } else { Usual::Unsigned }
            }
            _ => Usual::No,
        }
    }
}

/// What a block is if it has a usual shape, in which it is sent as it is.
enum Usual {
    /// It breaks no rule.
    Sound,
    /// It is reasoning without a valid signature.
    Unsigned,
    /// The shape is not usual.
    No,
}

impl From<bool> for Usual {
    fn from(is_sound: bool) -> Self {
        if is_sound { Usual::Sound } else { Usual::No }
    }
}

fn is_usual_call(block: Value<'_>) -> bool {
    let [id, name, input] = members(block, ["id", "name", "input"]);
    plain_text(id).is_some_and(is_plain_name)
        && plain_text(name).is_some_and(is_usual_name)
        && input.is_some_and(Value::is_object)
}

/// Returns whether a tool has a valid name. Claude Code sends `Task` as another name.
fn is_usual_name(name: &str) -> bool {
    is_plain_name(name) && name.len() <= LONGEST_NAME && name != "Task"
}

fn is_usual_result(block: Value<'_>) -> bool {
    let [content] = members(block, ["content"]);
    let Some(content) = content else { return false };
    if let Some(text) = content.as_str() {
        return !text.raw().is_empty();
    }
    let mut items = content.items().peekable();
    items.peek().is_some() && items.all(is_visible_text)
}

/// Returns whether a block inside a result is a text that begins with a visible character, blanks and line breaks aside.
fn is_visible_text(inner: Value<'_>) -> bool {
    let [kind, text] = members(inner, ["type", "text"]);
    let Some(text) = text.and_then(Value::as_str) else { return false };
    let mut rest = text.raw();
    while let [b' ', after @ ..] | [b'\\', b'n' | b'r' | b't', after @ ..] = rest {
        rest = after;
    }
    let is_visible = rest.first().is_some_and(|&first| first.is_ascii_graphic() && first != b'\\');
    is_visible && plain_text(kind) == Some("text")
}

/// Returns members of an object, in one pass. Of several members with the same key the last one counts. Nothing is found if a key is
/// escaped: it may be one of them.
fn members<'a, const N: usize>(object: Value<'a>, keys: [&str; N]) -> [Option<Value<'a>>; N] {
    let mut found = [None; N];
    for (key, value) in object.members() {
        if key.raw().contains(&b'\\') {
            return [None; N];
        }
        if let Some(index) = keys.iter().position(|wanted| wanted.as_bytes() == key.raw()) {
            found[index] = Some(value);
        }
    }
    found
}

/// Returns the text of a string without escapes.
fn plain_text(value: Option<Value<'_>>) -> Option<&str> {
    let raw = value?.as_str()?.raw();
    (!raw.contains(&b'\\')).then(|| str::from_utf8(raw).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use annals_transcript::session::Session;

    use super::*;

    /// Returns for how many blocks a verdict is kept. All verdicts have to be those of the rules.
    fn unusual(kind: &str, blocks: &[&str]) -> usize {
        let line = format!("{{\"type\":\"{kind}\",\"message\":{{\"content\":[{}]}}}}", blocks.join(","));
        let mut verdicts = FileVerdicts::default();
        let session = Session::read_with(line.as_bytes(), |entry, _, spans| {
            for (span, block) in spans.iter().zip(blocks) {
                verdicts.add(entry.kind(), span, block.as_bytes(), true);
            }
        });
        let session = session.unwrap();
        let (role, other) =
            if kind == "user" { (Role::User, Role::Assistant) } else { (Role::Assistant, Role::User) };
        let spans = session.blocks(&session.nodes()[0]);
        assert_eq!(spans.len(), blocks.len());
        for (span, block) in spans.iter().zip(blocks).filter(|(span, _)| span.kind != BlockKind::Text) {
            assert_eq!(verdicts.of(span, role), Some(Verdict::of(role, block.as_bytes())), "{block}");
            assert_eq!(verdicts.of(span, other), None, "{block}");
        }
        verdicts.unusual.len()
    }

    #[test]
    fn nothing_is_kept_about_blocks_of_the_usual_shapes() {
        let reply = [
            r#"{"type":"thinking","thinking":"a","signature":"c2lnbmVk"}"#,
            r#"{"type":"text","text":"a"}"#,
            r#"{"type":"tool_use","id":"t_1","name":"Read","input":{}}"#,
        ];
        assert_eq!(unusual("assistant", &reply), 0);
        let results = [
            r#"{"type":"tool_result","tool_use_id":"t","content":"a"}"#,
            r#"{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"a"}"#,
            r#"{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":" \n a"}]}"#,
        ];
        assert_eq!(unusual("user", &results), 0);
    }

    #[test]
    fn verdicts_on_all_other_blocks_are_those_of_the_rules() {
        let reply = [
            r#"{"type":"thinking","thinking":"a","signature":"no"}"#,
            r#"{"type":"thinking","thinking":"a","signature":""}"#,
            r#"{"type":"thinking","thinking":"a"}"#,
            r#"{"type":"thinking","thinking":1,"signature":"c2lnbmVk"}"#,
            r#"{"type":"redacted_thinking","data":""}"#,
            r#"{"type":"tool_use","id":"t.1","name":"Read","input":{}}"#,
            r#"{"type":"tool_use","id":"t","name":"Read","n\u0061me":"no name","input":{}}"#,
            r#"{"type":"tool_use","id":"t","name":"Task","input":{}}"#,
            r#"{"type":"tool_use","id":"t","name":"Read","input":"a"}"#,
            r#"{"type":"text","text":" "}"#,
            r#"{"type":"other"}"#,
        ];
        assert_eq!(unusual("assistant", &reply), reply.len());
        let results = [
            r#"{"type":"tool_result","tool_use_id":"t","is_error":true,"content":""}"#,
            r#"{"type":"tool_result","tool_use_id":"t","is_error":true}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":1}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"\n"}]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"\u0020"}]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"odd","text":"a"}]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"image"},{"type":"text","text":"a"}]}"#,
        ];
        assert_eq!(unusual("user", &results), results.len());
    }
}
