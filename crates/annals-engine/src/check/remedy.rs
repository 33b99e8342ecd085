//! Whether a repair does something about what a check found. A repair that does nothing is not advised.

use annals_transcript::Problem;

use super::{Finding, Issue, Severity};
use crate::error::Error;
use crate::repair::{self, Plan, RepairOptions};
use crate::snapshot::Snapshot;

/// What can be done about a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remedy {
    /// What the issue says.
    #[default]
    OfIssue,
    /// Nothing: a repair of the session has nothing to do.
    None,
    /// Nothing has to be done: Claude Code restores everything all the same.
    NotNeeded,
}

impl Finding {
    /// Returns how much the finding matters.
    pub fn severity(&self) -> Severity {
        match self.remedy {
            Remedy::NotNeeded => Severity::Info,
            Remedy::OfIssue | Remedy::None => self.issue.severity(),
        }
    }

    /// Returns the consequences in words.
    pub fn effect(&self) -> String {
        match (self.remedy, &self.issue) {
            (Remedy::NotNeeded, Issue::MissingField(_)) => {
                "costs nothing: the conversation does not end here".to_owned()
            }
            (Remedy::NotNeeded, _) => {
                "costs no message: Claude Code restores the conversation without it".to_owned()
            }
            (Remedy::OfIssue | Remedy::None, issue) => issue.effect(),
        }
    }

    /// Returns whether it can be repaired without losing anything more.
    pub fn is_repairable(&self) -> bool {
        self.remedy == Remedy::OfIssue && self.issue.is_repairable()
    }

    /// Returns the command that helps; see [`Issue::help`].
    pub fn help(&self, name: &str, path: &str) -> Option<String> {
        self.issue.help(name, path).filter(|_| self.remedy == Remedy::OfIssue)
    }
}

/// Notes for each finding that a repair would be for whether there is something to repair. `length` is that of the file.
pub(super) fn note(findings: &mut [Finding], snapshot: &Snapshot, length: u64) -> Result<(), Error> {
    if !findings.iter().any(|finding| is_for_repair(&finding.issue)) {
        return Ok(());
    }
    // Claude Code does not resume subagents, so that their transcripts are not repaired.
    let plan = match snapshot.file().agent {
        Some(_) => None,
        None => Some(repair::plan(&snapshot.span(0, length)?, &RepairOptions::default())),
    };
    if plan.as_ref().is_some_and(|plan| !plan.is_empty()) {
        return Ok(());
    }
    let is_complete = plan.is_some_and(|plan| restores_everything(&plan));
    for finding in findings.iter_mut().filter(|finding| is_for_repair(&finding.issue)) {
        // NUL bytes are not among these: they may stand where a message was, although no other message names it.
        let is_harmless = matches!(
            finding.issue,
            Issue::Damage(Problem::Glued | Problem::NulPrefix) | Issue::MissingField("timestamp")
        );
        finding.remedy = if is_complete && is_harmless { Remedy::NotNeeded } else { Remedy::None };
    }
    Ok(())
}

/// Returns whether it is `annals repair`, without a choice of the user, that should help.
fn is_for_repair(issue: &Issue) -> bool {
    let has_other_help =
        matches!(issue, Issue::NewerBranch { .. } | Issue::Unlisted(_) | Issue::OpenToOthers { .. });
    issue.is_repairable() && !has_other_help
}

fn restores_everything(plan: &Plan) -> bool {
    plan.before.obstacle.is_none() && plan.before.missing.is_empty() && plan.before.violations.is_empty()
}
