//! From the engine's types to the wire's.

mod conversation;
mod utf8;

use annals_engine::{Finding, Relation, Report, TranscriptFile};
use annals_proto as wire;
use jiff::Timestamp;

pub(crate) use conversation::{ToWire, turn};

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
        turns: stats.turns,
        compactions: stats.compactions,
        branches: stats.branches,
        gaps: stats.gaps,
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

pub(crate) fn relation(relation: &Relation) -> wire::Relation {
    wire::Relation {
        session: relation.other.session.clone(),
        path: relation.other.path.as_path().into(),
        kinship: relation.kinship.name().to_owned(),
        shared: relation.shared,
        last_shared: relation.last_shared.clone(),
    }
}

fn time(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn time_of_ms(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(time)
}
