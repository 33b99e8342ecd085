//! Whether a repair does something about what a check found. A repair that does nothing is not advised.

use annals_transcript::Problem;

use super::{BrokenLink, Finding, Issue, Severity};
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
                "costs nothing: Claude Code restores the conversation without it".to_owned()
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
    let has_gap = findings
        .iter()
        .any(|finding| matches!(finding.issue, Issue::Link { broken: BrokenLink::Missing, .. }));
    let nodes = snapshot.session().nodes();
    let last_message = nodes.iter().rfind(|node| node.kind.is_prompt_or_reply()).map(|node| node.at.line);
    for finding in findings.iter_mut().filter(|finding| is_for_repair(&finding.issue)) {
        let is_harmless = match finding.issue {
            Issue::Damage(Problem::Glued | Problem::NulPrefix) | Issue::MissingField("timestamp") => true,
            // The NUL bytes may stand for the message that another one names as its parent, or for the last one.
            Issue::Damage(Problem::Nul) => !has_gap && finding.line < last_message,
            _ => false,
        };
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
