//! Reports of usage.

use std::collections::BTreeMap;

use annals_proto as wire;
use annals_usage::{Cells, CostKind, Ledger, Money, NO_TIME, Report, ReportOptions, ReportRow, Response};
use jiff::Timestamp;

use super::time;

/// The key of responses that have none, such as those without a time in a report by day.
pub const NO_KEY: &str = "(none)";
/// The key of the total.
const TOTAL: &str = "total";

/// Returns the total of a report.
pub fn usage_total(report: &Report, options: &ReportOptions) -> wire::UsageRow {
    wire::UsageRow { key: TOTAL.to_owned(), ..usage_row(&report.total, options) }
}

/// Returns a row of a report that was made with these options.
pub fn usage_row(row: &ReportRow, options: &ReportOptions) -> wire::UsageRow {
    wire::UsageRow {
        key: name(&row.key),
        sums: usage_sums(&row.cells),
        models: usage_models(row),
        unpriced_models: row.unpriced.iter().map(|model| name(model)).collect(),
        subagents: usage_sums(&row.agents),
        sessions: row.sessions,
        project: row.project.clone(),
        first_at: row.cells.first.and_then(time_of),
        last_at: row.cells.last.and_then(time_of),
        client: row.client.map(|client| wire::ClientUsage {
            sessions: client.sessions,
            cost_usd: client.cost.dollars(),
            transcript_cost_usd: client.transcript.dollars(),
            unattributed_usd: client.unattributed().dollars(),
            coverage_percent: client.coverage(),
        }),
        window: window(row, options.now),
        api_equivalent: options.has_plan,
    }
}

fn name(name: &str) -> String {
    if name.is_empty() { NO_KEY.to_owned() } else { name.to_owned() }
}

/// Returns the sums of each model of a row.
pub(super) fn usage_models(row: &ReportRow) -> BTreeMap<String, wire::UsageSums> {
    row.models.iter().map(|model| (name(&model.name), usage_sums(&model.cells))).collect()
}

fn window(row: &ReportRow, now: i64) -> Option<wire::UsageWindow> {
    let window = row.window?;
    let burn_rate = row.burn_rate.map(|rate| wire::UsageBurnRate {
        tokens_per_minute: rate.tokens_per_minute,
        cost_usd_per_hour: rate.cost_per_hour.dollars(),
        projected_tokens: rate.projected_tokens,
        projected_cost_usd: rate.projected_cost.dollars(),
    });
    Some(wire::UsageWindow {
        starts_at: time_of(window.start)?,
        ends_at: time_of(window.end)?,
        estimated: window.is_estimated,
        active: (window.start..window.end).contains(&now),
        burn_rate,
    })
}

/// Returns the sums of a row.
pub fn usage_sums(cells: &Cells) -> wire::UsageSums {
    let kind = match cells.cost.kind() {
        CostKind::Recorded => wire::CostKind::Recorded,
        CostKind::Calculated => wire::CostKind::Calculated,
        CostKind::Mixed => wire::CostKind::Mixed,
        CostKind::Unknown => wire::CostKind::Unknown,
    };
    wire::UsageSums {
        input_tokens: cells.tokens.input,
        output_tokens: cells.tokens.output,
        cache_creation_tokens: cells.tokens.writes(),
        cache_creation_5m_tokens: cells.tokens.write_5m,
        cache_creation_1h_tokens: cells.tokens.write_1h,
        cache_read_tokens: cells.tokens.read,
        thinking_tokens: cells.tokens.thinking,
        total_tokens: cells.tokens.total(),
        cost_usd: cells.cost.amount().map(Money::dollars),
        cost_kind: (cells.replies > 0).then_some(kind),
        recorded_cost_usd: cells.cost.recorded.dollars(),
        replies: cells.replies,
        unfinished_replies: cells.unfinished,
        output_at_least: cells.unfinished > 0,
        unpriced_replies: cells.cost.unpriced + cells.cost.not_recorded,
        kept_replies: cells.kept,
        progress_replies: cells.progress,
        odd_replies: cells.odd,
        advisor_replies: cells.advisor,
        fast_replies: cells.fast,
        long_replies: cells.long,
        web_searches: cells.web_searches,
        web_fetches: cells.web_fetches,
    }
}

/// Returns a response behind a number.
pub fn usage_reply(ledger: &Ledger, response: &Response, cells: &Cells) -> wire::UsageReply {
    let (count, file) = (&response.count, &ledger.files[response.file as usize]);
    let agent = if file.agent == 0 { count.agent } else { file.agent };
    wire::UsageReply {
        path: file.path.as_path().into(),
        line: count.line,
        lines: u64::from(count.lines),
        copies: u64::from(response.copies),
        session: ledger.sessions[response.session as usize].id.clone(),
        agent_id: (agent != 0).then(|| ledger.names.text(agent).to_owned()),
        model: ledger.names.text(count.model).to_owned(),
        timestamp: Some(count.time).filter(|time| *time != NO_TIME).and_then(time_of),
        sums: usage_sums(cells),
    }
}

fn time_of(milliseconds: i64) -> Option<String> {
    Timestamp::from_millisecond(milliseconds).ok().map(time)
}
