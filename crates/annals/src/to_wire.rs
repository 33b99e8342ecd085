//! From the engine's types to the wire's.

use annals_engine::{Finding, Report, Snapshot, TranscriptFile};
use annals_proto as wire;
use annals_transcript::json::quote;
use annals_transcript::model::{Message, Part};
use annals_transcript::session::IdTexts;
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::failure::Failure;

pub(crate) fn stats(report: &Report) -> wire::Stats {
    let (file, stats) = (&report.file, &report.stats);
    let tool = |(name, count): (&String, &annals_engine::ToolCount)| {
        (name.clone(), wire::ToolCount { calls: count.calls, errors: count.errors })
    };
    wire::Stats {
        path: file.path.as_path().into(),
        session: file.session.clone(),
        agent_id: file.agent.clone(),
        lines: stats.lines,
        bytes: stats.bytes,
        types: stats.types.clone(),
        subtypes: stats.subtypes.clone(),
        blocks: stats.blocks.clone(),
        versions: stats.versions.clone(),
        models: stats.models.clone(),
        first_at: stats.first_at.map(time),
        last_at: stats.last_at.map(time),
        tools: stats.tools.iter().map(tool).collect(),
        turns: None,
        compactions: stats.compactions,
        branches: None,
        gaps: None,
        subagents: file.subagents(),
        problems: stats.problems,
    }
}

pub(crate) fn problem(file: &TranscriptFile, finding: &Finding) -> wire::Problem {
    wire::Problem {
        session: file.session.clone(),
        path: file.path.as_path().into(),
        line: finding.line,
        lines: finding.lines,
        problem: finding.issue.title(),
        severity: finding.issue.severity().name().to_owned(),
        effect: finding.issue.effect().to_owned(),
        repairable: finding.issue.is_repairable(),
    }
}

/// Turns messages of the model view into wire messages.
pub(crate) struct Messages<'a> {
    snapshot: &'a Snapshot,
    ids: IdTexts<'a>,
}

impl<'a> Messages<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, ids: snapshot.session().id_texts() }
    }

    pub(crate) fn message(&self, message: &Message) -> Result<wire::ModelMessage, Failure> {
        let parts = message.parts.iter().map(|part| self.part(part)).collect::<Result<_, _>>()?;
        let nodes = message.entries.iter().map(|&index| &self.snapshot.session().nodes()[index]);
        let entries = nodes.filter_map(|node| node.id).map(|id| self.ids.get(id)).collect();
        Ok(wire::ModelMessage { role: message.role.name().to_owned(), parts, entries })
    }

    /// Blocks go out as they are; a plain string becomes the text block that it stands for.
    fn part(&self, part: &Part) -> Result<Box<RawValue>, Failure> {
        let json = match part {
            Part::Found(block) => {
                let found = self.snapshot.span(block.offset, block.length)?;
                let found = String::from_utf8_lossy(&found);
                if found.starts_with('"') {
                    format!(r#"{{"type":"text","text":{found}}}"#)
                } else {
                    found.into_owned()
                }
            }
            Part::MadeText(text) => format!(r#"{{"type":"text","text":{},"synthetic":true}}"#, quote(text)),
            Part::MadeResult { call, text } => {
                let id = call.tool.map_or_else(String::new, |id| self.ids.get(id));
                let (id, text) = (quote(&id), quote(text));
                format!(
                    r#"{{"type":"tool_result","tool_use_id":{id},"content":{text},"is_error":true,"synthetic":true}}"#
                )
            }
        };
        Ok(RawValue::from_string(json)?)
    }
}

fn time(time: Timestamp) -> String {
    format!("{time:.3}")
}
