//! The JSON of history items.
//!
//! Clients may rely on every item having the same fields in the same order, so the enum is written as one flat object.
//! [`Fields`] is that object; nothing is copied to write it.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    Attribution, Branch, Compaction, EntryBody, ForkOrigin, HistoryItem, HistoryTool, ItemBody, ItemKind,
    RootCause, SupersededLine, Visibility,
};
use crate::word::is_zero;
use crate::{Input, Role};

/// One item of the whole history: a line of `annals show --view full --json`, and an item of `history/read`.
///
/// In `history/appended` items are made from their entries alone: fields that need the whole conversation (`turn`, `live`,
/// `line`) are null, and calls are `pending`, because their results follow later. An item replaces an earlier item with the
/// same `uuid`.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "HistoryItem"))]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    /// What it is.
    kind: ItemKind,
    /// Who speaks; null where Claude Code does.
    role: Option<Role>,
    /// Who should see it.
    visibility: Visibility,
    /// The entry's `type`.
    #[serde(rename = "type")]
    entry_type: Option<Cow<'a, str>>,
    /// The entry's `subtype`. Of a root, why the next entry has no parent although other entries precede it:
    /// `context_cleared`, `parentless_prompts`, `rewind_to_start`, `copy_of_first_prompt` or `lost_link`.
    subtype: Option<Cow<'a, str>>,
    /// The entry's uuid.
    uuid: Option<Cow<'a, str>>,
    /// The entry that it follows; of a gap, the missing entry; of a branch, the entry that it leaves from.
    parent: Option<Cow<'a, str>>,
    /// When it was written.
    timestamp: Option<Cow<'a, str>>,
    /// The number of its turn; null for subagents shown with their session.
    turn: Option<usize>,
    /// Whether it belongs to the live conversation.
    live: Option<bool>,
    /// Whether a subagent wrote it.
    sidechain: bool,
    /// The subagent that wrote it.
    agent_id: Option<Cow<'a, str>>,
    /// The content blocks as they are in the file; a string that is not UTF-8 is `{"bytes": <base64>}`. Records whose payload
    /// is known have it as a `RecordPart`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    parts: Cow<'a, [Box<RawValue>]>,
    /// The inputs of the entry in order, without the tags around them; absent if a person typed all of it.
    #[serde(skip_serializing_if = "<[_]>::is_empty", default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Input>"))]
    inputs: Cow<'a, [Input]>,
    /// The tool call that it makes.
    tool: Option<Cow<'a, HistoryTool>>,
    /// The token counters of a reply as they are in the file.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    usage: Option<Cow<'a, RawValue>>,
    /// The model of a reply.
    model: Option<Cow<'a, str>>,
    /// Where the entry was copied from.
    forked_from: Option<Cow<'a, ForkOrigin>>,
    /// What a compaction did.
    compaction: Option<Cow<'a, Compaction>>,
    /// What is wrong with the line.
    problem: Option<Cow<'a, str>>,
    /// The last entry of a branch: `annals show --leaf` shows the conversation that ends in it.
    leaf: Option<Cow<'a, str>>,
    /// How many entries a branch has.
    entries: Option<usize>,
    /// The line in the file, from 1; null for branches, gaps and roots.
    line: Option<u64>,
    /// The other lines of the file with the same `uuid`. Such lines are one item, at the position of the first line and with
    /// the content of the last.
    #[serde(skip_serializing_if = "<[_]>::is_empty", default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<u64>"))]
    other_lines: Cow<'a, [u64]>,
    /// The content of other lines with the same `uuid`, where it differs.
    #[serde(skip_serializing_if = "<[_]>::is_empty", default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<SupersededLine>"))]
    superseded: Cow<'a, [SupersededLine]>,
    /// Why a reply ended, as the model's API says it: `end_turn`, `tool_use`, `stop_sequence`, `max_tokens`. Absent on most
    /// lines of a reply, and on all lines of many replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<Cow<'a, str>>,
    /// The sequence at which a reply ended, if that was the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_sequence: Option<Cow<'a, str>>,
    /// The request that a reply answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<Cow<'a, str>>,
    /// The name of the session's plan file.
    #[serde(skip_serializing_if = "Option::is_none")]
    slug: Option<Cow<'a, str>>,
    /// How important a notice is, as Claude Code wrote it: `info`, `warning`, `error`, `suggestion` or `notice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Cow<'a, str>>,
    /// Whether Claude Code added the entry (`isMeta`).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    is_meta: bool,
    /// Who a reply is charged to.
    #[serde(skip_serializing_if = "Option::is_none")]
    attribution: Option<Cow<'a, Attribution>>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    masked: usize,
}

impl Serialize for HistoryItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HistoryItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::deserialize(deserializer)?.into_item().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for HistoryItem {
    fn schema_name() -> Cow<'static, str> {
        Fields::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Fields::json_schema(generator)
    }
}

impl<'a> Fields<'a> {
    fn of(item: &'a HistoryItem) -> Self {
        let common = Self::common(item);
        match &item.body {
            ItemBody::Message(entry)
            | ItemBody::Compaction(entry)
            | ItemBody::Salvaged(entry)
            | ItemBody::Meta(entry)
            | ItemBody::Damage(entry) => common.with_entry(entry),
            ItemBody::Branch(Branch { leaf, entries }) => {
                Self { leaf: text(leaf.as_deref()), entries: Some(*entries), ..common }
            }
            ItemBody::Root(cause) => Self { subtype: Some(Cow::Borrowed(cause.word())), ..common },
            ItemBody::Gap => common,
        }
    }

    /// Returns the fields of every item; the others are null or absent.
    fn common(item: &'a HistoryItem) -> Self {
        Self {
            kind: item.body.kind(),
            role: None,
            visibility: item.visibility,
            entry_type: None,
            subtype: None,
            uuid: None,
            parent: text(item.parent.as_deref()),
            timestamp: None,
            turn: None,
            live: item.live,
            sidechain: item.sidechain,
            agent_id: text(item.agent_id.as_deref()),
            parts: Cow::default(),
            inputs: Cow::default(),
            tool: None,
            usage: None,
            model: None,
            forked_from: None,
            compaction: None,
            problem: None,
            leaf: None,
            entries: None,
            line: None,
            other_lines: Cow::default(),
            superseded: Cow::default(),
            stop_reason: None,
            stop_sequence: None,
            request_id: None,
            slug: None,
            level: None,
            is_meta: false,
            attribution: None,
            masked: item.masked,
        }
    }

    fn with_entry(self, entry: &'a EntryBody) -> Self {
        Self {
            role: entry.role,
            entry_type: text(entry.entry_type.as_deref()),
            subtype: text(entry.subtype.as_deref()),
            uuid: text(entry.uuid.as_deref()),
            timestamp: text(entry.timestamp.as_deref()),
            turn: entry.turn,
            parts: Cow::Borrowed(&entry.parts),
            inputs: Cow::Borrowed(&entry.inputs),
            tool: entry.tool.as_ref().map(Cow::Borrowed),
            usage: entry.usage.as_deref().map(Cow::Borrowed),
            model: text(entry.model.as_deref()),
            forked_from: entry.forked_from.as_ref().map(Cow::Borrowed),
            compaction: entry.compaction.as_ref().map(Cow::Borrowed),
            problem: text(entry.problem.as_deref()),
            line: entry.line,
            other_lines: Cow::Borrowed(&entry.other_lines),
            superseded: Cow::Borrowed(&entry.superseded),
            stop_reason: text(entry.stop_reason.as_deref()),
            stop_sequence: text(entry.stop_sequence.as_deref()),
            request_id: text(entry.request_id.as_deref()),
            slug: text(entry.slug.as_deref()),
            level: text(entry.level.as_deref()),
            is_meta: entry.is_meta,
            attribution: entry.attribution.as_ref().map(Cow::Borrowed),
            ..self
        }
    }

    fn into_item(self) -> Result<HistoryItem, &'static str> {
        Ok(HistoryItem {
            visibility: self.visibility,
            parent: self.parent.clone().map(Cow::into_owned),
            live: self.live,
            sidechain: self.sidechain,
            agent_id: self.agent_id.clone().map(Cow::into_owned),
            masked: self.masked,
            body: self.into_body()?,
        })
    }

    fn into_body(self) -> Result<ItemBody, &'static str> {
        Ok(match self.kind {
            ItemKind::Message => ItemBody::Message(self.into_entry()),
            ItemKind::Compaction => ItemBody::Compaction(self.into_entry()),
            ItemKind::Salvaged => ItemBody::Salvaged(self.into_entry()),
            ItemKind::Meta => ItemBody::Meta(self.into_entry()),
            ItemKind::Damage => ItemBody::Damage(self.into_entry()),
            ItemKind::Gap => ItemBody::Gap,
            ItemKind::Branch => ItemBody::Branch(Branch {
                leaf: self.leaf.map(Cow::into_owned),
                entries: self.entries.ok_or("a branch without `entries`")?,
            }),
            ItemKind::Root => {
                let cause = RootCause::ALL.iter().find(|cause| self.subtype.as_deref() == Some(cause.word()));
                ItemBody::Root(*cause.ok_or("a root with an unknown `subtype`")?)
            }
        })
    }

    fn into_entry(self) -> EntryBody {
        EntryBody {
            role: self.role,
            entry_type: self.entry_type.map(Cow::into_owned),
            subtype: self.subtype.map(Cow::into_owned),
            uuid: self.uuid.map(Cow::into_owned),
            timestamp: self.timestamp.map(Cow::into_owned),
            turn: self.turn,
            parts: self.parts.into_owned(),
            inputs: self.inputs.into_owned(),
            tool: self.tool.map(Cow::into_owned),
            usage: self.usage.map(Cow::into_owned),
            model: self.model.map(Cow::into_owned),
            forked_from: self.forked_from.map(Cow::into_owned),
            compaction: self.compaction.map(Cow::into_owned),
            problem: self.problem.map(Cow::into_owned),
            line: self.line,
            other_lines: self.other_lines.into_owned(),
            superseded: self.superseded.into_owned(),
            stop_reason: self.stop_reason.map(Cow::into_owned),
            stop_sequence: self.stop_sequence.map(Cow::into_owned),
            request_id: self.request_id.map(Cow::into_owned),
            slug: self.slug.map(Cow::into_owned),
            level: self.level.map(Cow::into_owned),
            is_meta: self.is_meta,
            attribution: self.attribution.map(Cow::into_owned),
        }
    }
}

fn text(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an item, and checks that it is written again as it was.
    fn read(json: &str) -> HistoryItem {
        let item: HistoryItem = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&item).unwrap(), json);
        item
    }

    #[test]
    fn an_entry_has_all_its_fields_in_order() {
        let item = read(concat!(
            r#"{"kind":"message","role":"assistant","visibility":"conversation","type":"assistant","subtype":"s","uuid":"a","#,
            r#""parent":"u","timestamp":"2026-03-01T10:00:00.000Z","turn":1,"live":true,"sidechain":true,"agentId":"x","#,
            r#""parts":[{"text":"Hm", "type":"text"}],"inputs":[{"kind":"ide_selection","text":"i"}],"#,
            r#""tool":{"id":"t","name":"Bash","state":"ok","resultUuid":"r"},"usage":{"input_tokens": 1},"model":"m","#,
            r#""forkedFrom":{"sessionId":"s","messageUuid":"m"},"#,
            r#""compaction":{"trigger":"auto","preTokens":1,"postTokens":null,"preserved":0},"problem":"p","leaf":null,"#,
            r#""entries":null,"line":1,"otherLines":[2],"#,
            r#""superseded":[{"line":2,"type":"user","timestamp":null,"parts":[]}],"stopReason":"stop_sequence","#,
            r#""stopSequence":"END","requestId":"q","slug":"brew-tea","level":"info","isMeta":true,"#,
            r#""attribution":{"skill":"brew"}}"#,
        ));
        let ItemBody::Message(entry) = &item.body else { panic!("{item:?}") };
        assert_eq!(
            (entry.role, entry.line, &entry.other_lines[..]),
            (Some(Role::Assistant), Some(1), &[2][..])
        );
    }

    #[test]
    fn items_without_an_entry_have_explicit_nulls() {
        let json = |kind: &str, subtype: &str, leaf: &str, entries: &str| {
            format!(
                r#"{{"kind":"{kind}","role":null,"visibility":"conversation","type":null,"subtype":{subtype},"uuid":null,"parent":"u","timestamp":null,"turn":null,"live":false,"sidechain":false,"agentId":null,"parts":[],"tool":null,"usage":null,"model":null,"forkedFrom":null,"compaction":null,"problem":null,"leaf":{leaf},"entries":{entries},"line":null}}"#
            )
        };
        assert!(matches!(read(&json("gap", "null", "null", "null")).body, ItemBody::Gap));
        let root = read(&json("root", r#""lost_link""#, "null", "null"));
        assert!(matches!(root.body, ItemBody::Root(RootCause::LostLink)));
        let branch = read(&json("branch", "null", r#""a""#, "3"));
        assert!(matches!(branch.body, ItemBody::Branch(Branch { entries: 3, .. })));
        for wrong in [json("root", r#""because""#, "null", "null"), json("branch", "null", "null", "null")] {
            assert!(serde_json::from_str::<HistoryItem>(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_kind_is_written_as_its_word() {
        for kind in ItemKind::ALL {
            let json = format!(
                r#"{{"kind":"{kind}","visibility":"hidden","subtype":"boundary","sidechain":false,"parts":[],"entries":0}}"#
            );
            let item: HistoryItem = serde_json::from_str(&json).unwrap();
            assert_eq!(item.body.kind(), *kind);
        }
    }
}
