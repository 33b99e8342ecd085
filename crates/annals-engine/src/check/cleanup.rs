//! What Claude Code deletes by itself: sessions whose files were not changed for a number of days.
//!
//! It looks at most once in 24 hours, a few seconds after its start, and goes by the time at which a file was modified.

use std::fs;
use std::path::Path;

use annals_transcript::json::Value;
use annals_transcript::paths::{ConfigFolder, is_projects};
use jiff::{SignedDuration, Timestamp};

use super::{Finding, FolderFinding, Issue};
use crate::files::{Selection, TranscriptFile};

/// After how many days a session is deleted if the settings do not say.
const USUAL_DAYS: u64 = 30;

/// Returns what the next clean-up of a config folder deletes.
pub(super) fn next_of(root: &Path, now: Timestamp) -> Option<FolderFinding> {
    let cleanup = Cleanup::of(root, now)?;
    let projects = ConfigFolder::new(root).projects();
    let files = Selection::of_projects(std::iter::once(projects.clone())).files;
    let own = files.iter().filter(|file| file.agent.is_none());
    let sessions = own.filter(|file| cleanup.takes(&file.path)).count();
    (sessions > 0).then(|| FolderFinding { path: projects, issue: cleanup.issue(sessions) })
}

/// Returns whether the next clean-up deletes a session.
pub(super) fn of_session(file: &TranscriptFile, now: Timestamp) -> Option<Finding> {
    let projects = file.path.parent()?.parent().filter(|_| file.agent.is_none())?;
    let root = projects.parent().filter(|_| is_projects(projects))?;
    let cleanup = Cleanup::of(root, now)?;
    cleanup.takes(&file.path).then(|| Finding::of_file(cleanup.issue(1)))
}

/// The next clean-up of a config folder.
struct Cleanup {
    days: u64,
    /// When it can run, if not at the next start.
    from: Option<Timestamp>,
    /// Files that were modified before are deleted.
    before: Timestamp,
}

impl Cleanup {
    /// Returns `None` if Claude Code does not clean up.
    fn of(root: &Path, now: Timestamp) -> Option<Self> {
        let days = days(fs::read(root.join("settings.json")).ok().as_deref())?;
        let last = fs::read_to_string(root.join(".last-cleanup")).ok();
        let last = last.and_then(|text| text.trim().trim_matches('"').parse::<Timestamp>().ok());
        let next = last.and_then(|last| last.checked_add(SignedDuration::from_hours(24)).ok());
        let from = next.filter(|next| *next > now);
        let hours = i64::try_from(days).ok().and_then(|days| days.checked_mul(24))?;
        let before = from.unwrap_or(now).checked_sub(SignedDuration::from_hours(hours)).ok()?;
        Some(Self { days, from, before })
    }

    fn takes(&self, transcript: &Path) -> bool {
        let modified = transcript.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|modified| Timestamp::try_from(modified).is_ok_and(|time| time < self.before))
    }

    fn issue(&self, sessions: usize) -> Issue {
        Issue::Cleanup { sessions, from: self.from, days: self.days }
    }
}

/// Returns after how many days Claude Code deletes sessions with these settings; `None` if it deletes none. A settings file that does not
/// load stops the clean-up if it names the period at all.
fn days(settings: Option<&[u8]>) -> Option<u64> {
    const KEY: &str = "cleanupPeriodDays";
    let Some(settings) = settings else { return Some(USUAL_DAYS) };
    let value = Value::new(settings.trim_ascii()).filter(|value| value.is_valid() && value.is_object());
    match value.map(|value| value.get(KEY)) {
        Some(Some(days)) => days.as_u64().filter(|days| *days > 0),
        None if memchr::memmem::find(settings, KEY.as_bytes()).is_some() => None,
        Some(None) | None => Some(USUAL_DAYS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_that_of_the_settings_and_a_broken_file_may_stop_the_clean_up() {
        for (settings, expected) in [
            (None, Some(30)),
            (Some("{}"), Some(30)),
            (Some("{\"cleanupPeriodDays\":7}"), Some(7)),
            (Some("{\"cleanupPeriodDays\":0}"), None),
            (Some("{\"cleanupPeriodDays\":\"7\"}"), None),
            (Some("{\"cleanupPeriodDays\":7"), None),
            (Some("{\"model\":"), Some(30)),
        ] {
            assert_eq!(days(settings.map(str::as_bytes)), expected, "{settings:?}");
        }
    }

    #[test]
    fn a_session_is_deleted_when_it_is_old_enough_at_the_next_clean_up() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("projects/-tea");
        fs::create_dir_all(&project).unwrap();
        let path = project.join("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
        fs::write(&path, "{}\n").unwrap();
        let file = TranscriptFile::at(&path);
        let after = |days: i64| Timestamp::now().checked_add(SignedDuration::from_hours(24 * days)).unwrap();
        assert_eq!(of_session(&file, after(29)), None);
        let issue = Issue::Cleanup { sessions: 1, from: None, days: 30 };
        assert_eq!(of_session(&file, after(31)), Some(Finding::of_file(issue.clone())));
        assert_eq!(next_of(root.path(), after(31)).unwrap().issue, issue);
        fs::write(root.path().join(".last-cleanup"), after(31).to_string()).unwrap();
        let later = of_session(&file, after(31)).unwrap().issue;
        assert!(matches!(later, Issue::Cleanup { from: Some(from), .. } if from > after(31)), "{later:?}");
        fs::write(root.path().join("settings.json"), "{\"cleanupPeriodDays\":99999}").unwrap();
        assert_eq!(of_session(&file, after(400)), None);
    }
}
