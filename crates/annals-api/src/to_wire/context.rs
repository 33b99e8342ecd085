//! How full the context was, for the wire.

use annals_engine::{CompactionEffect, ContextPart, ContextUse, PartKind, TurnContext};
use annals_proto as wire;

use super::time_of_ms;

/// Returns how full the context of a session was, with at most `limit` turns: the last ones.
#[expect(clippy::cast_precision_loss, reason = "a percentage needs few digits")]
pub fn context_use(context: &ContextUse, limit: usize) -> wire::ContextUse {
    let filled = context.tokens.zip(context.window).filter(|(_, window)| *window > 0);
    let first = context.turns.len().saturating_sub(limit);
    wire::ContextUse {
        model: context.model.clone(),
        tokens: context.tokens,
        peak_tokens: context.peak,
        window_tokens: context.window,
        filled_percent: filled.map(|(tokens, window)| tokens as f64 * 100.0 / window as f64),
        parts: parts(&context.parts),
        rest_tokens: context.rest,
        turns: context.turns[first..].iter().map(turn).collect(),
        turn_count: context.turns.len(),
        compactions: context.compactions.iter().map(compaction).collect(),
        estimate: wire::ContextEstimate {
            tokens_per_byte: context.estimate.tokens_per_byte,
            measured_steps: context.estimate.measured_steps,
            error_percent: context.estimate.error_percent,
        },
    }
}

fn parts(parts: &[ContextPart]) -> Vec<wire::ContextPart> {
    parts.iter().map(part).collect()
}

fn part(part: &ContextPart) -> wire::ContextPart {
    wire::ContextPart {
        kind: kind(part.kind),
        name: (!part.name.is_empty()).then(|| part.name.clone()),
        estimated_tokens: part.tokens,
    }
}

fn kind(kind: PartKind) -> wire::ContextKind {
    match kind {
        PartKind::Prompt => wire::ContextKind::Prompt,
        PartKind::Reply => wire::ContextKind::Reply,
        PartKind::Thinking => wire::ContextKind::Thinking,
        PartKind::ToolCall => wire::ContextKind::ToolCall,
        PartKind::ToolResult => wire::ContextKind::ToolResult,
        PartKind::Attachment => wire::ContextKind::Attachment,
        PartKind::System => wire::ContextKind::System,
        PartKind::Summary => wire::ContextKind::Summary,
        _ => wire::ContextKind::Other,
    }
}

fn turn(turn: &TurnContext) -> wire::TurnContext {
    wire::TurnContext {
        turn: turn.turn,
        started_at: turn.started_at.and_then(time_of_ms),
        replies: turn.replies,
        tokens: turn.tokens,
        peak_tokens: turn.peak,
        added: parts(&turn.added),
    }
}

fn compaction(compaction: &CompactionEffect) -> wire::CompactionEffect {
    wire::CompactionEffect {
        uuid: compaction.uuid.clone(),
        timestamp: compaction.time.and_then(time_of_ms),
        turn: compaction.turn,
        trigger: compaction.trigger.clone(),
        before_tokens: compaction.before,
        after_tokens: compaction.after,
        saved_tokens: compaction.saved(),
        duration_ms: compaction.duration_ms,
    }
}
