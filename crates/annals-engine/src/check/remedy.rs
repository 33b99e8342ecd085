//! Whether a repair does something about what a check found. A repair that does nothing is not advised.

use std::borrow::Cow;
use std::cell::RefCell;

use annals_transcript::Problem;

use super::{Finding, Issue, Severity};
use crate::analysis::{Analysis, Evaluation};
use crate::error::Error;
use crate::repair::{self, Plan, RepairOptions, Source};
use crate::request_rules::FileVerdicts;
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
                "no effect: the conversation does not end here".to_owned()
            }
            (Remedy::NotNeeded, Issue::Damage(Problem::Nul)) => {
                "nothing can be read here; Claude Code restores all other messages".to_owned()
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

/// Notes for each finding that a repair would be for whether there is something to repair. `length` is that of the file, and `known` what its
/// messages are and what of them is sent.
pub(super) fn note(
    findings: &mut [Finding],
    snapshot: &Snapshot,
    length: u64,
    verdicts: &FileVerdicts,
    known: Option<(&Analysis<'_>, &Evaluation)>,
) -> Result<(), Error> {
    if !findings.iter().any(|finding| is_for_repair(&finding.issue)) {
        return Ok(());
    }
    let Outlook { has_work, is_complete } = outlook(snapshot, length, verdicts, known)?;
    if has_work {
        return Ok(());
    }
    for finding in findings.iter_mut().filter(|finding| is_for_repair(&finding.issue)) {
        // There may have been a message instead of the NUL bytes, but nothing of it can be read.
        let is_harmless = matches!(
            finding.issue,
            Issue::Damage(Problem::Glued | Problem::Nul | Problem::NulPrefix)
                | Issue::MissingField("timestamp")
        );
        finding.remedy = if is_complete && is_harmless { Remedy::NotNeeded } else { Remedy::None };
    }
    Ok(())
}

/// What a repair would find.
struct Outlook {
    /// Whether it would change something.
    has_work: bool,
    /// Whether everything is sent as it is.
    is_complete: bool,
}

fn outlook(
    snapshot: &Snapshot,
    length: u64,
    verdicts: &FileVerdicts,
    known: Option<(&Analysis<'_>, &Evaluation)>,
) -> Result<Outlook, Error> {
    // Claude Code does not resume subagents, so that their transcripts are not repaired.
    if snapshot.file().agent.is_some() {
        return Ok(Outlook { has_work: false, is_complete: false });
    }
    if let Some((analysis, evaluation)) = known {
        let source = OnDisk { snapshot, length, failure: RefCell::new(None) };
        let has_work = repair::has_work(&source, analysis, evaluation, verdicts);
        if let Some(error) = source.failure.into_inner() {
            return Err(error);
        }
        if let Some(has_work) = has_work {
            return Ok(Outlook { has_work, is_complete: evaluation.is_complete() });
        }
    }
    let plan = repair::plan_without_diff(&snapshot.span(0, length)?, &RepairOptions::default());
    Ok(Outlook { has_work: !plan.is_empty(), is_complete: restores_everything(&plan) })
}

/// A transcript whose bytes are read when they are needed.
struct OnDisk<'a> {
    snapshot: &'a Snapshot,
    length: u64,
    /// The first error.
    failure: RefCell<Option<Error>>,
}

impl Source for OnDisk<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn span(&self, offset: u64, length: u64) -> Cow<'_, [u8]> {
        let bytes = self.snapshot.span(offset, length).unwrap_or_else(|error| {
            self.failure.borrow_mut().get_or_insert(error);
            Vec::new()
        });
        bytes.into()
    }
}

/// Returns whether it is `annals repair`, without a choice of the user, that should help.
fn is_for_repair(issue: &Issue) -> bool {
    let has_other_help = matches!(issue, Issue::Unlisted(_) | Issue::OpenToOthers { .. });
    issue.is_repairable() && !has_other_help
}

fn restores_everything(plan: &Plan) -> bool {
    plan.before.obstacle.is_none() && plan.before.missing.is_empty() && plan.before.violations.is_empty()
}
