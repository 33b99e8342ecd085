//! The payloads of records: what entries beside the conversation say.

use std::borrow::Cow;

use annals_engine::{Conversation, Error, ReplacedResult};
use annals_proto::{self as wire, RecordPart, TitleRecord};
use annals_transcript::content::Content;
use annals_transcript::entry::view::{
    AgentName, AiTitle, ContentReplacement, CustomTitle, FileBackup, FileHistoryDelta, FileHistorySnapshot,
    LastPrompt, Mode, PermissionMode, PrLink, QueueOperation, Summary, Tag,
};
use annals_transcript::json::Value;
use annals_transcript::session::Node;
use annals_transcript::{Entry, Kind};

use super::conversation::{ToWire, block_as_found, value_as_found};
use super::{time, time_of_ms};

/// Returns the payload of a record; `None` if its fields are not known.
pub(super) fn part(entry: &Entry<'_>) -> Option<RecordPart> {
    Some(match entry.kind() {
        Kind::QueueOperation => queue_operation(entry.view()?),
        Kind::FileHistorySnapshot => file_snapshot(entry.view()?),
        Kind::FileHistoryDelta => file_backup(entry.view()?)?,
        Kind::ContentReplacement => content_replacement(entry.view()?),
        Kind::CustomTitle => title(TitleRecord::Custom, entry.view::<CustomTitle>()?.title()),
        Kind::AiTitle => title(TitleRecord::Ai, entry.view::<AiTitle>()?.title()),
        Kind::AgentName => title(TitleRecord::AgentName, entry.view::<AgentName>()?.name()),
        Kind::Summary => {
            let summary = entry.view::<Summary>()?;
            let (title, leaf) = (text(summary.summary()), text(summary.leaf()));
            RecordPart::Title { source: TitleRecord::Summary, title, leaf }
        }
        Kind::Tag => RecordPart::Tag { tag: text(entry.view::<Tag>()?.tag()) },
        Kind::LastPrompt => {
            let last = entry.view::<LastPrompt>()?;
            RecordPart::LastPrompt { prompt: text(last.prompt()), leaf: text(last.leaf()) }
        }
        Kind::Mode => RecordPart::Mode { mode: text(entry.view::<Mode>()?.mode()) },
        Kind::PermissionMode => RecordPart::Mode { mode: text(entry.view::<PermissionMode>()?.mode()) },
        Kind::PrLink => {
            let link = entry.view::<PrLink>()?;
            let (number, url, repository) = (link.number(), text(link.url()), text(link.repository()));
            RecordPart::PullRequest { number, url, repository }
        }
        Kind::AttributionSnapshot => {
            let body = entry.body().filter(|body| body.is_valid())?;
            RecordPart::Attribution { record: value_as_found(body) }
        }
        _ => return None,
    })
}

impl ToWire<'_> {
    /// Returns the payload of a record, with what the whole conversation says about it.
    pub(super) fn record_in(
        &self,
        conversation: &Conversation<'_>,
        index: usize,
        entry: &Entry<'_>,
    ) -> Result<Option<RecordPart>, Error> {
        let Some(part) = part(entry) else { return Ok(None) };
        Ok(Some(match part {
            RecordPart::QueueOperation { operation, content, reason, command_uuid, delivery_id, .. } => {
                let waiting = conversation.queued()?.binary_search(&index).is_ok();
                RecordPart::QueueOperation { operation, content, reason, command_uuid, delivery_id, waiting }
            }
            RecordPart::ContentReplacement { agent_id, count, .. } => {
                let record = entry.view::<ContentReplacement>();
                let found = record.map(|record| ReplacedResult::of(conversation, &record)).transpose()?;
                let found = found.unwrap_or_default();
                let replacements = found.iter().map(|found| self.replaced(found)).collect();
                RecordPart::ContentReplacement { agent_id, count, replacements }
            }
            part => part,
        }))
    }

    fn replaced(&self, found: &ReplacedResult<'_>) -> wire::ReplacedResult {
        let (file, file_bytes) =
            found.file.as_ref().map(|(path, bytes)| (path.as_path().into(), *bytes)).unzip();
        wire::ReplacedResult {
            tool_use_id: text(found.replacement.tool_use_id()),
            tool: found.tool.clone(),
            line: found.original.map(|(index, _)| self.node(index).at.line),
            uuid: found.original.and_then(|(index, _)| self.uuid(index)),
            bytes: found.original_bytes,
            file,
            file_bytes,
            replacement: value_as_found(found.replacement.value()),
        }
    }

    /// Returns the prompts that are still in the queue. Texts that do not fit into `longest` bytes together are left out.
    pub fn queued(
        &self,
        conversation: &Conversation<'_>,
        longest: usize,
    ) -> Result<Vec<wire::QueuedPrompt>, Error> {
        let mut left = longest;
        let queued = conversation.queued()?.iter();
        queued.map(|&index| self.queued_prompt(self.node(index), &mut left)).collect()
    }

    fn queued_prompt(&self, node: &Node, left: &mut usize) -> Result<wire::QueuedPrompt, Error> {
        let body = self.span(node.at.offset, node.length)?;
        let operation = Entry::new(&body).view::<QueueOperation>();
        let text = operation.map(|operation| operation.content().text().into_owned()).unwrap_or_default();
        let rest = left.checked_sub(text.len());
        *left = rest.unwrap_or(*left);
        Ok(wire::QueuedPrompt {
            text: if rest.is_some() { text } else { String::new() },
            timestamp: node.time().and_then(time_of_ms),
            line: node.at.line,
            cut: rest.is_none(),
        })
    }
}

/// Returns when a record was written, if that is not in the field that all entries have.
pub(super) fn time_in_payload(entry: &Entry<'_>) -> Option<String> {
    entry.view::<FileHistorySnapshot>()?.taken_at().map(time)
}

fn queue_operation(operation: QueueOperation<'_>) -> RecordPart {
    RecordPart::QueueOperation {
        operation: text(operation.operation()),
        content: blocks(operation.content()),
        reason: text(operation.reason()),
        command_uuid: text(operation.command()),
        delivery_id: text(operation.delivery()),
        waiting: false,
    }
}

/// Returns content as blocks; a string is one block.
fn blocks(content: Content<'_>) -> Vec<Box<serde_json::value::RawValue>> {
    let Some(value) = content.value().filter(|value| value.is_valid() && !value.is_null()) else {
        return Vec::new();
    };
    let blocks: Vec<Value<'_>> = if value.is_array() { value.items().collect() } else { vec![value] };
    blocks.into_iter().map(|block| block_as_found(block.bytes())).collect()
}

fn file_snapshot(snapshot: FileHistorySnapshot<'_>) -> RecordPart {
    RecordPart::FileSnapshot {
        message_id: text(snapshot.message_id()),
        update: snapshot.is_update(),
        files: snapshot.backups().map(|(path, backup)| file(path.into_owned(), &backup)).collect(),
    }
}

fn file_backup(delta: FileHistoryDelta<'_>) -> Option<RecordPart> {
    Some(RecordPart::FileBackup {
        message_id: text(delta.message_id()),
        snapshot_message_id: text(delta.snapshot_message_id()),
        file: file(text(delta.path())?, &delta.backup()?),
    })
}

fn file(path: String, backup: &FileBackup<'_>) -> wire::FileBackup {
    wire::FileBackup {
        path,
        version: backup.version(),
        backup: text(backup.file_name()),
        backup_at: backup.made_at().map(time),
        real_parent: text(backup.real_parent()),
    }
}

/// Returns a record without the places of the originals, which only the whole conversation gives.
fn content_replacement(record: ContentReplacement<'_>) -> RecordPart {
    let count = record.replacements().count();
    RecordPart::ContentReplacement { agent_id: text(record.agent_id()), count, replacements: Vec::new() }
}

fn title(source: TitleRecord, title: Option<Cow<'_, str>>) -> RecordPart {
    RecordPart::Title { source, title: text(title), leaf: None }
}

fn text(text: Option<Cow<'_, str>>) -> Option<String> {
    text.map(Cow::into_owned)
}
