//! Tokens and costs.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

use annals_engine::PlanRecords;
use annals_proto as wire;
use annals_search::When;
use annals_usage::{By, Cells, CostMode, Ledger, Report, ReportOptions, Weeks};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::{Api, limit, list, session_id};
use crate::cancel::CancelToken;
use crate::rpc::Error;
use crate::to_wire;

/// How many rows there are by default and at most.
const ROWS: (usize, usize) = (1000, 10_000);
/// The most responses of a row in an answer.
const MOST_REPLIES: usize = 1000;

impl Api {
    pub(super) fn usage(
        &self,
        params: &wire::UsageParams,
        cancelled: &CancelToken,
    ) -> Result<wire::UsageResult, Error> {
        let limit = limit(params.limit, ROWS.0, ROWS.1)?;
        let now = Timestamp::now();
        let PlanRecords { has_plan, window_ends } = self.engine.plan_records();
        let mut options = ReportOptions { has_plan, window_ends, ..options(params, now)? };
        let session = params.session_id.as_deref().map(session_id).transpose()?;
        let workspace = list::workspace(params.workspace_path.as_deref())?;
        let prices = self.engine.prices()?;
        cancelled.check()?;
        let usage = self.engine.usage_inside();
        cancelled.check()?;
        options.sessions = wanted(&usage.ledger, session, workspace.as_deref());
        let report = Report::new(&usage.ledger, &prices, &options);
        let rows =
            report.shown(options.by, limit).iter().map(|row| to_wire::usage_row(row, &options)).collect();
        let problems = usage.errors.iter().chain(&usage.store_error).map(ToString::to_string).collect();
        let total = to_wire::usage_total(&report, &options);
        let mut result = wire::UsageResult {
            rows,
            total,
            row_count: report.rows.len(),
            problems,
            replies: Vec::new(),
            reply_count: None,
        };
        if let Some(key) = params.why.as_deref() {
            let key = if key == to_wire::NO_KEY { "" } else { key };
            let mut found = Report::why(&usage.ledger, &prices, &options, key);
            result.reply_count = Some(found.len());
            // The sort is stable: responses of the same cost stay in the order of time.
            found.sort_by_key(|(_, cost)| Reverse(*cost));
            let replies = found.iter().take(MOST_REPLIES);
            result.replies = replies
                .map(|(response, cost)| {
                    to_wire::usage_reply(&usage.ledger, response, &Cells::of(response, *cost))
                })
                .collect();
        }
        Ok(result)
    }
}

impl Api {
    /// Says how full the context of a session was.
    pub(super) fn context(&self, params: &wire::ContextParams) -> Result<wire::ContextUse, Error> {
        let limit = limit(params.limit, ROWS.0, ROWS.1)?;
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let engine = self.engine.clone();
        self.with_session(&file, None, move |reading| {
            Ok(to_wire::context_use(&engine.context_use(&reading.conversation)?, limit))
        })
    }
}

fn options(params: &wire::UsageParams, now: Timestamp) -> Result<ReportOptions, Error> {
    let week_start = params.week_start.as_deref().map_or(Some(Weekday::Monday), weekday);
    let start = week_start.ok_or_else(|| Error::invalid_params("`weekStart` is a day such as `sunday`"))?;
    let span =
        Span::new(params.timezone.as_deref(), params.date_from.as_deref(), params.date_to.as_deref(), now)?;
    Ok(ReportOptions {
        by: params.by.map_or(By::Day, usage_by),
        weeks: Weeks { start },
        cost_mode: params.cost_mode.map_or(CostMode::Auto, usage_cost_mode),
        ..span.report_options()
    })
}

/// The time that a request is about.
pub(super) struct Span {
    pub(super) zone: TimeZone,
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
    now: i64,
}

impl Span {
    /// Reads the parameters `timezone`, `dateFrom` and `dateTo`.
    pub(super) fn new(
        zone: Option<&str>,
        from: Option<&str>,
        to: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let zone = zone.map_or(Ok(TimeZone::UTC), zone_named)?;
        let now = now.to_zoned(zone.clone());
        let since = from.map(|text| moment(text, &now, false)).transpose()?;
        let until = to.map(|text| moment(text, &now, true)).transpose()?;
        Ok(Self { zone, since, until, now: now.timestamp().as_millisecond() })
    }

    /// Returns the options of a report on this time.
    pub(super) fn report_options(&self) -> ReportOptions {
        ReportOptions {
            zone: self.zone.clone(),
            since: self.since,
            until: self.until,
            now: self.now,
            ..ReportOptions::default()
        }
    }
}

fn zone_named(name: &str) -> Result<TimeZone, Error> {
    TimeZone::get(name)
        .map_err(|_| Error::invalid_params("`timezone` is not the name of a time zone that is known"))
}

fn moment(text: &str, now: &Zoned, is_end: bool) -> Result<i64, Error> {
    let when = text.parse::<When>();
    let time = when.and_then(|when| if is_end { when.resolve_end(now) } else { when.resolve(now) });
    time.map(Timestamp::as_millisecond).map_err(|error| Error::invalid_params(&error.to_string()))
}

/// Returns the sessions that a report is about; `None` for all.
pub(super) fn wanted(
    ledger: &Ledger,
    session: Option<&str>,
    workspace: Option<&Path>,
) -> Option<HashSet<String>> {
    if session.is_none() && workspace.is_none() {
        return None;
    }
    let all = ledger.sessions.iter().filter(|one| session.is_none_or(|id| one.id == id));
    let found = all.filter(|one| workspace.is_none_or(|workspace| is_inside(one, workspace)));
    Some(found.map(|session| session.id.clone()).collect())
}

fn is_inside(session: &annals_usage::Session, workspace: &Path) -> bool {
    session.project.as_ref().is_some_and(|path| Path::new(path).starts_with(workspace))
}

/// Returns the day of the week with an English name, or the first three letters of one.
pub fn weekday(name: &str) -> Option<Weekday> {
    let name = name.to_lowercase();
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let day = days.iter().position(|day| *day == name || day[..3] == name)?;
    Weekday::from_monday_zero_offset(i8::try_from(day).ok()?).ok()
}

/// Returns what a row of a report stands for.
pub fn usage_by(by: wire::UsageBy) -> By {
    match by {
        wire::UsageBy::Week => By::Week,
        wire::UsageBy::Month => By::Month,
        wire::UsageBy::Session => By::Session,
        wire::UsageBy::Project => By::Project,
        wire::UsageBy::Branch => By::Branch,
        wire::UsageBy::Model => By::Model,
        wire::UsageBy::Block => By::Block,
        _ => By::Day,
    }
}

/// Returns where costs come from.
pub fn usage_cost_mode(mode: wire::CostMode) -> CostMode {
    match mode {
        wire::CostMode::Calculate => CostMode::Calculate,
        wire::CostMode::Recorded => CostMode::Recorded,
        _ => CostMode::Auto,
    }
}
