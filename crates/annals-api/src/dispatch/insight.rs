//! What the work was.

use std::ops::ControlFlow;

use annals_engine::InsightOptions;
use annals_proto as wire;
use annals_usage::{By, Report, ReportOptions};
use jiff::Timestamp;

use super::usage::{Span, wanted};
use super::{Api, limit, list, session_id};
use crate::cancel::CancelToken;
use crate::rpc::Error;
use crate::to_wire;

/// How many rows a table has by default and at most.
const ROWS: (usize, usize) = (1000, 10_000);

impl Api {
    pub(super) fn insight(
        &self,
        params: &wire::InsightParams,
        cancelled: &CancelToken,
    ) -> Result<wire::Insight, Error> {
        let limit = limit(params.limit, ROWS.0, ROWS.1)?;
        let span = Span::new(
            params.timezone.as_deref(),
            params.date_from.as_deref(),
            params.date_to.as_deref(),
            Timestamp::now(),
        )?;
        let session = params.session_id.as_deref().map(session_id).transpose()?;
        let workspace = list::workspace(params.workspace_path.as_deref())?;
        let prices = self.engine.prices()?;
        cancelled.check()?;
        let usage = self.engine.usage_inside();
        cancelled.check()?;
        let sessions = wanted(&usage.ledger, session, workspace.as_deref());
        let mut found = self.engine.transcripts_inside();
        if let Some(sessions) = &sessions {
            found.files.retain(|file| file.session.as_ref().is_some_and(|id| sessions.contains(id)));
        }
        let options = InsightOptions { since: span.since, until: span.until, zone: span.zone.clone() };
        let (insight, unread) = self.engine.insight(found.files, &options, |_| {
            if cancelled.check().is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        cancelled.check()?;
        let options = ReportOptions { by: By::Model, sessions, ..span.report_options() };
        let report = Report::new(&usage.ledger, &prices, &options);
        let zone = span.zone.iana_name().unwrap_or("UTC").to_owned();
        let problems =
            [&found.errors, &usage.errors, &unread].into_iter().flatten().chain(&usage.store_error);
        let problems = problems.map(ToString::to_string).collect();
        Ok(to_wire::insight(insight, &report, zone, limit, problems))
    }
}
