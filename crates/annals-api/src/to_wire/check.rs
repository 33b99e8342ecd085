//! Findings of a check.

use std::path::Path;

use annals_engine::{Finding, FolderFinding, Issue, Remedy, TranscriptFile};
use annals_proto as wire;

use super::word;

/// Returns a problem of a transcript.
pub fn problem(file: &TranscriptFile, finding: &Finding) -> wire::Problem {
    wire::Problem {
        session: file.session.clone(),
        line: finding.line,
        lines: finding.lines,
        severity: word::severity(finding.severity()),
        effect: finding.effect(),
        details: details(&finding.issue, finding.remedy == Remedy::NotNeeded),
        repairable: finding.is_repairable(),
        help: finding.help(&name(file), &shell_word(&file.path.to_string_lossy())),
        ..of_issue(&file.path, &finding.issue)
    }
}

/// Returns a problem of a folder.
pub fn folder_problem(finding: &FolderFinding) -> wire::Problem {
    let path = shell_word(&finding.path.to_string_lossy());
    wire::Problem { help: finding.issue.help(&path, &path), ..of_issue(&finding.path, &finding.issue) }
}

fn of_issue(path: &Path, issue: &Issue) -> wire::Problem {
    wire::Problem {
        session: None,
        path: path.into(),
        line: None,
        lines: 0,
        problem: issue.title(),
        code: word::problem_code(issue),
        details: details(issue, false),
        severity: word::severity(issue.severity()),
        effect: issue.effect(),
        repairable: issue.is_repairable(),
        help: None,
    }
}

/// Returns what the words about an issue name; `None` if they name nothing.
fn details(issue: &Issue, is_harmless: bool) -> Option<wire::ProblemDetails> {
    let mut details = wire::ProblemDetails { costs: is_harmless.then_some(false), ..Default::default() };
    match issue {
        Issue::MissingField(field) => details.name = Some((*field).to_owned()),
        Issue::Replaced { by, differs } => {
            details.line = Some(*by);
            details.costs = Some(*differs);
        }
        Issue::Link { costs, .. } => details.costs = Some(*costs && !is_harmless),
        Issue::Lost { messages, to } => {
            details.count = Some(*messages as u64);
            details.line = Some(*to);
        }
        Issue::NotResumable(obstacle) => details.name = Some(obstacle.name().to_owned()),
        Issue::Refused(rule) => details.name = Some(rule.name().to_owned()),
        Issue::NewerBranch { messages, .. } | Issue::SentTwice { messages } => {
            details.count = Some(*messages as u64);
        }
        Issue::FutureTimes { messages }
        | Issue::AncientTimes { messages }
        | Issue::BackwardTimes { messages } => details.count = Some(*messages),
        Issue::SpilledOutputGone { files } => details.count = Some(*files as u64),
        Issue::Large { bytes } => details.count = Some(*bytes),
        Issue::OpenToOthers { transcripts } => details.count = Some(*transcripts as u64),
        Issue::SharedFolder { paths } => details.paths.clone_from(paths),
        Issue::Cleanup { sessions, from, days } => {
            details.count = Some(*sessions as u64);
            details.days = Some(*days);
            details.from = from.map(|from| format!("{from:.0}"));
        }
        _ => {}
    }
    (details != wire::ProblemDetails::default()).then_some(details)
}

/// Returns how a transcript is named on a command line: by its session, or by its path if it is not in the folder of a project.
fn name(file: &TranscriptFile) -> String {
    let projects = file.path.parent().and_then(Path::parent).and_then(Path::file_name);
    let session = file.session.clone().filter(|_| projects.is_some_and(|name| name == "projects"));
    session.unwrap_or_else(|| shell_word(&file.path.to_string_lossy()))
}

/// Returns a text as one word of a shell.
fn shell_word(text: &str) -> String {
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns whether a character means nothing special to a shell.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "/._-+,:@%=".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_named_so_that_a_command_finds_it() {
        let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
        let cases = [
            (format!("/c/projects/-tea/{id}.jsonl"), id.to_owned()),
            (format!("/backup/{id}.jsonl"), format!("/backup/{id}.jsonl")),
            ("/it's/a b.jsonl".to_owned(), r"'/it'\''s/a b.jsonl'".to_owned()),
        ];
        for (path, expected) in cases {
            assert_eq!(name(&TranscriptFile::at(Path::new(&path))), expected);
        }
    }
}
