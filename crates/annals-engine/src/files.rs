//! Transcripts on disk: those of the client's folders, and those of any folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use annals_transcript::project::{self, Role};

use crate::error::Error;

/// A transcript: a session's own, or a subagent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The session that it belongs to, as far as its place tells.
    pub session: Option<String>,
    /// The subagent whose transcript it is; none for a session's own.
    pub agent: Option<String>,
}

impl TranscriptFile {
    /// Describes a transcript by its path alone.
    pub fn at(path: &Path) -> Self {
        let parents = path.ancestors().skip(1).take(8);
        let roles = parents.filter_map(|folder| path.strip_prefix(folder).ok()).map(Role::of);
        let role = roles.filter(Role::is_transcript).last().unwrap_or(Role::Other);
        Self::with_role(path.to_owned(), role)
    }

    fn with_role(path: PathBuf, role: Role) -> Self {
        let (session, agent) = match role {
            Role::Main { session } => (Some(session), None),
            Role::Subagent { session, agent, .. } => (session, Some(agent)),
            _ => (None, None),
        };
        Self { path, session, agent }
    }

    /// Returns how many subagents of the session have a transcript below its own folder.
    pub fn subagents(&self) -> u64 {
        if self.agent.is_some() {
            return 0;
        }
        let folder = self.path.with_extension("").join("subagents");
        let mut count = 0;
        // A folder that cannot be read has no subagents to count; reading transcripts reports it.
        let _ = walk(&folder, &mut |path| count += u64::from(Self::at(path).agent.is_some()));
        count
    }
}

/// Returns the transcripts below a `projects` folder, by place, in a stable order.
pub(crate) fn in_projects(projects: &Path) -> Result<Vec<TranscriptFile>, Error> {
    let mut found = Vec::new();
    for project in sorted_entries(projects)? {
        if !project.is_dir() {
            continue;
        }
        walk(&project, &mut |path| {
            let role = path.strip_prefix(&project).map_or(Role::Other, Role::of);
            if role.is_transcript() {
                found.push(TranscriptFile::with_role(path.to_owned(), role));
            }
        })?;
    }
    Ok(found)
}

/// Returns the transcripts below any folder. Outside the client's layout, the beginning of a file decides.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<TranscriptFile>, Error> {
    let mut found = Vec::new();
    walk(folder, &mut |path| {
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            return;
        }
        let file = TranscriptFile::at(path);
        if file.session.is_some() || file.agent.is_some() || begins_like_a_transcript(path).unwrap_or(true) {
            found.push(file);
        }
    })?;
    Ok(found)
}

/// A file that cannot be read passes, so that reading it says why.
fn begins_like_a_transcript(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(path)?.take(64 * 1024).read_to_end(&mut beginning)?;
    Ok(project::is_transcript(&beginning))
}

/// Visits all files below a folder in a stable order. Links to folders are not followed, so there are no cycles.
fn walk(folder: &Path, visit: &mut impl FnMut(&Path)) -> Result<(), Error> {
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let is_link = path != folder && path.is_symlink();
        if path.is_dir() {
            if !is_link {
                waiting.extend(sorted_entries(&path)?.into_iter().rev());
            }
        } else {
            visit(&path);
        }
    }
    Ok(())
}

fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = read().map_err(|source| Error::read(folder, source))?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn a_path_tells_whose_transcript_it_is() {
        for (path, session, agent) in [
            (format!("/x/{SESSION}.jsonl"), Some(SESSION), None),
            (format!("/x/{SESSION}/subagents/agent-a1.jsonl"), Some(SESSION), Some("a1")),
            (format!("/x/{SESSION}/subagents/workflows/wf_1/agent-a1.jsonl"), Some(SESSION), Some("a1")),
            ("/x/agent-a1.jsonl".to_owned(), None, Some("a1")),
            ("/x/full.jsonl".to_owned(), None, None),
        ] {
            let file = TranscriptFile::at(Path::new(&path));
            assert_eq!((file.session.as_deref(), file.agent.as_deref()), (session, agent), "{path}");
        }
    }

    #[test]
    fn only_transcripts_are_found() {
        let root = tempfile::tempdir().unwrap();
        let line = "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null}\n";
        for (path, content) in [
            (format!("projects/-p/{SESSION}.jsonl"), line),
            (format!("projects/-p/{SESSION}/subagents/agent-a1.jsonl"), line),
            (format!("projects/-p/{SESSION}/subagents/agent-a1.meta.json"), "{}"),
            (format!("projects/-p/{SESSION}/tool-results/x.jsonl"), "{}\n"),
            ("projects/-p/memory/notes.md".to_owned(), "x"),
            ("projects/-p/export.jsonl".to_owned(), line),
            ("transcripts/ses_1.jsonl".to_owned(), "{\"type\":\"user\",\"content\":\"x\"}\n"),
            ("history.jsonl".to_owned(), "{\"display\":\"x\",\"sessionId\":\"s\"}\n"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let names = |files: Vec<TranscriptFile>| -> Vec<String> {
            files.iter().map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        let main = format!("{SESSION}.jsonl");
        let placed = in_projects(&root.path().join("projects")).unwrap();
        assert_eq!(placed.iter().map(TranscriptFile::subagents).sum::<u64>(), 1);
        assert_eq!(names(placed), ["agent-a1.jsonl", &main]);
        assert_eq!(names(in_folder(root.path()).unwrap()), ["agent-a1.jsonl", &main, "export.jsonl"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_to_folders_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("projects/-p");
        fs::create_dir_all(&project).unwrap();
        std::os::unix::fs::symlink(root.path(), project.join("loop")).unwrap();
        assert_eq!(in_projects(&root.path().join("projects")).unwrap(), []);
    }
}
