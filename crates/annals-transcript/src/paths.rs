//! Where the files of a session lie: in the folder of its project, and by its id in a config folder of Claude Code.
//!
//! [`Role`](crate::project::Role) goes from a path to what the file is; this module goes from a session to its paths.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::project::resolve;

/// The files of a session in the folder of its project.
///
/// ```
/// use annals_transcript::paths::SessionPaths;
/// use std::path::Path;
///
/// let paths = SessionPaths::new(Path::new("projects/-src"), "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55");
/// assert!(paths.transcript().ends_with("-src/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"));
/// assert!(paths.subagents().ends_with("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55/subagents"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPaths<'a> {
    transcript: Cow<'a, Path>,
}

impl<'a> SessionPaths<'a> {
    /// Names the files of a session in the folder of a project, whether they exist or not.
    pub fn new(project: &Path, session: &str) -> Self {
        Self { transcript: project.join(format!("{session}.jsonl")).into() }
    }

    /// Names the files of the session with this transcript.
    pub fn of(transcript: &'a Path) -> Self {
        Self { transcript: transcript.into() }
    }

    /// Names the files of the session that a subagent belongs to. Its transcript is inside the folder of the session, or,
    /// as old versions wrote it, beside the transcript of the session.
    pub fn of_parent(agent: &Path, session: &str) -> Option<Self> {
        let mut folders = agent.ancestors();
        let own_folder = folders.find(|folder| folder.file_name().is_some_and(|name| name == session));
        let project = own_folder.unwrap_or(agent).parent()?;
        Some(Self::new(project, session))
    }

    /// Returns the transcript.
    pub fn transcript(&self) -> &Path {
        &self.transcript
    }

    /// Returns the folder of side files.
    pub fn folder(&self) -> PathBuf {
        self.transcript.with_extension("")
    }

    /// Returns the folder with the transcripts of subagents.
    pub fn subagents(&self) -> PathBuf {
        self.folder().join("subagents")
    }

    /// Returns the transcript of a subagent. `group` is the folder below [`subagents`](Self::subagents) for agents that belong
    /// together.
    pub fn agent(&self, id: &str, group: Option<&Path>) -> PathBuf {
        let folder = self.subagents();
        group.map_or(folder.clone(), |group| folder.join(group)).join(format!("agent-{id}.jsonl"))
    }

    /// Returns the folder with the metadata of agents that run on other machines.
    pub fn remote_agents(&self) -> PathBuf {
        self.folder().join("remote-agents")
    }

    /// Returns the folder with output that was too long for the transcript.
    pub fn tool_results(&self) -> PathBuf {
        self.folder().join("tool-results")
    }

    /// Returns the file with the title that the user gave.
    pub fn custom_title(&self) -> PathBuf {
        self.folder().join("custom-title.json")
    }

    /// Returns the file that says whether the session is archived.
    pub fn archived(&self) -> PathBuf {
        self.folder().join("archived.json")
    }

    /// Returns the index of sessions that old versions keep in the folder of the project.
    pub fn sessions_index(&self) -> PathBuf {
        self.transcript.with_file_name("sessions-index.json")
    }
}

/// Returns the file with facts about a subagent, beside its transcript.
pub fn agent_meta(transcript: &Path) -> PathBuf {
    transcript.with_extension("meta.json")
}

/// Returns the journal of a workflow, in the folder with the transcripts of its agents.
pub fn workflow_journal(agents: &Path) -> PathBuf {
    agents.join("journal.jsonl")
}

/// A config folder of Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFolder {
    root: PathBuf,
}

/// The folder with one folder per project.
const PROJECTS: &str = "projects";

/// The folders in which each session has one entry, named by its id.
const FOLDERS_BY_ID: [&str; 3] = ["file-history", "tasks", "session-env"];

impl ConfigFolder {
    /// Names a config folder, whether it exists or not.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Finds the config folder that a transcript lies in, by its path as given or by the path that links lead to.
    pub fn of_transcript(transcript: &Path) -> Option<Self> {
        let given = std::path::absolute(transcript).ok();
        let root = given.as_deref().and_then(above_projects).map(Path::to_owned);
        let root = root.or_else(|| above_projects(&resolve(transcript)).map(Path::to_owned))?;
        Some(Self { root })
    }

    /// Returns the path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder with one folder per project.
    pub fn projects(&self) -> PathBuf {
        self.root.join(PROJECTS)
    }

    /// Returns the file with the prompts that were typed.
    pub fn prompt_history(&self) -> PathBuf {
        self.root.join("history.jsonl")
    }

    /// Returns the folder with long texts that were pasted into prompts.
    pub fn pasted_texts(&self) -> PathBuf {
        self.root.join("paste-cache")
    }

    /// Returns the folder in which each running Claude Code has a file.
    pub fn running(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Returns the folder with backups of the files that a session changed.
    pub fn file_history(&self, session: &str) -> PathBuf {
        self.root.join("file-history").join(session)
    }

    /// Returns the files and folders that Claude Code keeps by the id of a session, whatever its project. Except for the
    /// to-do lists, they need not exist.
    pub fn files_of(&self, session: &str) -> Vec<PathBuf> {
        let mut paths: Vec<_> =
            FOLDERS_BY_ID.iter().map(|folder| self.root.join(folder).join(session)).collect();
        paths.push(self.root.join("debug").join(format!("{session}.txt")));
        let todos = names_in(&self.root.join("todos")).unwrap_or_default();
        paths.extend(todos.into_iter().map(|name| self.root.join("todos").join(name)));
        paths.retain(|path| is_kept_by_id(path, session));
        paths
    }
}

/// Returns whether a path is named as one that Claude Code keeps by the id of a session, in whichever config folder.
pub fn is_kept_by_id(path: &Path, session: &str) -> bool {
    let folder = path.parent().map(name).unwrap_or_default();
    let name = name(path);
    match &*folder {
        "debug" => name == format!("{session}.txt"),
        "todos" => name.starts_with(&format!("{session}-agent-")),
        folder => FOLDERS_BY_ID.contains(&folder) && name == session,
    }
}

fn name(path: &Path) -> Cow<'_, str> {
    path.file_name().map(OsStr::to_string_lossy).unwrap_or_default()
}

/// Returns whether a path is named as the folder with one folder per project.
pub fn is_projects(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == PROJECTS)
}

/// Returns the folder above the closest `projects` folder of a path.
fn above_projects(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| is_projects(folder))?.parent()
}

fn names_in(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn a_subagent_leads_to_its_session_inside_its_folder_or_beside_it() {
        let session = format!("/c/projects/-p/{SESSION}.jsonl");
        for agent in [
            format!("/c/projects/-p/{SESSION}/subagents/agent-a1.jsonl"),
            format!("/c/projects/-p/{SESSION}/subagents/workflows/wf_1/agent-a1.jsonl"),
            "/c/projects/-p/agent-a1.jsonl".to_owned(),
        ] {
            let paths = SessionPaths::of_parent(Path::new(&agent), SESSION).unwrap();
            assert_eq!(paths.transcript(), Path::new(&session), "{agent}");
        }
    }

    #[test]
    fn files_kept_by_id_are_listed_and_recognised_by_one_rule() {
        let home = tempfile::tempdir().unwrap();
        let todos = home.path().join("todos");
        fs::create_dir(&todos).unwrap();
        for name in [format!("{SESSION}-agent-{SESSION}.json"), "other-agent-x.json".to_owned()] {
            fs::write(todos.join(name), "[]").unwrap();
        }
        let files = ConfigFolder::new(home.path()).files_of(SESSION);
        let below: Vec<_> = files.iter().map(|path| path.strip_prefix(home.path()).unwrap()).collect();
        assert_eq!(
            below,
            [
                Path::new("file-history").join(SESSION),
                Path::new("tasks").join(SESSION),
                Path::new("session-env").join(SESSION),
                Path::new("debug").join(format!("{SESSION}.txt")),
                Path::new("todos").join(format!("{SESSION}-agent-{SESSION}.json")),
            ]
        );
        assert!(!is_kept_by_id(&home.path().join("plans").join(SESSION), SESSION));
        assert!(!is_kept_by_id(&home.path().join("tasks/other"), SESSION));
    }

    #[cfg(unix)]
    #[test]
    fn the_config_folder_is_found_above_projects_or_behind_a_link() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        let project = real.join("config/projects/-p");
        fs::create_dir_all(&project).unwrap();
        std::os::unix::fs::symlink(&project, real.join("link")).unwrap();
        for transcript in [project.join("s.jsonl"), real.join("link/s.jsonl")] {
            let found = ConfigFolder::of_transcript(&transcript).unwrap();
            assert_eq!(found.root(), real.join("config"), "{}", transcript.display());
        }
        assert_eq!(ConfigFolder::of_transcript(&real.join("s.jsonl")), None);
    }
}
