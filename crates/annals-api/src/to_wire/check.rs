//! Findings of a check.

use std::path::Path;

use annals_engine::{Finding, FolderFinding, Issue, TranscriptFile};
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
        severity: word::severity(issue.severity()),
        effect: issue.effect(),
        repairable: issue.is_repairable(),
        help: None,
    }
}

/// Returns how a transcript is named on a command line: by its session, or by its path if it is not in the folder of a project.
fn name(file: &TranscriptFile) -> String {
    let projects = file.path.parent().and_then(Path::parent).and_then(Path::file_name);
    let session = file.session.clone().filter(|_| projects.is_some_and(|name| name == "projects"));
    session.unwrap_or_else(|| shell_word(&file.path.to_string_lossy()))
}

/// Returns a text as one word of a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_named_so_that_a_command_finds_it() {
        let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
        let named = |path: &str| name(&TranscriptFile::at(Path::new(path)));
        assert_eq!(named(&format!("/c/projects/-tea/{id}.jsonl")), id);
        assert_eq!(named(&format!("/backup/{id}.jsonl")), format!("/backup/{id}.jsonl"));
        assert_eq!(named("/it's/a b.jsonl"), r"'/it'\''s/a b.jsonl'");
    }
}
