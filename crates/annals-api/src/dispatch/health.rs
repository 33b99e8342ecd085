//! What is wrong with a session, what a repair would change, and where else its entries are.

use std::ops::ControlFlow;

use annals_engine::{RepairOptions, TranscriptFile};
use annals_proto as wire;

use super::{Api, list};
use crate::cancel::CancelToken;
use crate::rpc::Error;
use crate::to_wire;

/// A check returns at most so many findings.
const MOST_FINDINGS: usize = 10_000;
/// At most so many changes, messages, branches and related sessions are sent.
const MOST_OF_EACH: usize = 1_000;

impl Api {
    pub(super) fn check(&self, params: &wire::OneSessionParams) -> Result<wire::CheckResult, Error> {
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let checked = self.engine.check_inside(file)?;
        let findings = checked.findings.iter().take(MOST_FINDINGS);
        Ok(wire::CheckResult {
            findings: findings.map(|finding| to_wire::problem(&checked.file, finding)).collect(),
            total: checked.findings.len(),
        })
    }

    pub(super) fn repair_plan(&self, params: &wire::OneSessionParams) -> Result<wire::RepairResult, Error> {
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let plan = self.engine.repair_plan_inside(&file, &RepairOptions::default())?;
        let mut result = to_wire::repair_result(&file, &plan, None);
        result.changes_left_out = cut(&mut result.changes);
        result.branches_left_out = cut(&mut result.branches);
        for view in [&mut result.before, &mut result.after] {
            view.missing_left_out = cut(&mut view.missing);
        }
        Ok(result)
    }

    pub(super) fn lineage(
        &self,
        params: &wire::OneSessionParams,
        cancelled: &CancelToken,
    ) -> Result<wire::LineageResult, Error> {
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let relations = self.engine.copies_of_inside(&file, || go_on(cancelled))?;
        cancelled.check()?;
        Ok(wire::LineageResult {
            relations: relations.iter().take(MOST_OF_EACH).map(to_wire::relation).collect(),
            total: relations.len(),
        })
    }

    pub(super) fn copies(&self, cancelled: &CancelToken) -> Result<wire::CopiesResult, Error> {
        let copies = self.engine.copies_inside(|| go_on(cancelled));
        cancelled.check()?;
        Ok(wire::CopiesResult {
            groups: copies.groups.iter().map(|group| paths(group)).collect(),
            problems: list::problems(&copies.errors),
        })
    }
}

fn paths(files: &[TranscriptFile]) -> Vec<wire::Text> {
    files.iter().map(|file| file.path.as_path().into()).collect()
}

/// Truncates a list; returns how many elements were left out.
fn cut<T>(list: &mut Vec<T>) -> usize {
    let left_out = list.len().saturating_sub(MOST_OF_EACH);
    list.truncate(MOST_OF_EACH);
    left_out
}

fn go_on(cancelled: &CancelToken) -> ControlFlow<()> {
    if cancelled.check().is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
