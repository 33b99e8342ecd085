//! Projects: the working directories of sessions.
//!
//! The name of a folder does not identify a project, because two paths may give the same name. Projects are identified by
//! the working directory that their sessions record: a folder that two paths share is two projects, and one path with two
//! folders is one project.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use annals_transcript::project::{folder_name, resolve};
use jiff::Timestamp;

use super::activity;
use super::{ListOptions, SessionRow};
use crate::engine::Engine;
use crate::error::Error;
use crate::git;

/// A working directory with sessions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Project {
    /// Its path, as its sessions record it, but with the letter of a drive in upper case; `None` if they do not.
    pub path: Option<String>,
    /// The names of the folders that hold its sessions.
    pub keys: Vec<String>,
    /// How many sessions it has.
    pub sessions: usize,
    /// How many bytes their transcripts have.
    pub size: u64,
    /// The time of the last entry of any of its sessions.
    pub updated_at: Option<Timestamp>,
    /// Other paths whose sessions are in one of the same folders.
    pub shares_folder_with: Vec<String>,
    /// The repository that it is a worktree of, if it is one.
    pub worktree: Option<Worktree>,
}

/// What a worktree belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worktree {
    /// The path of the repository.
    pub of: String,
}

pub(crate) fn projects(engine: &Engine, options: &ListOptions) -> (Vec<Project>, Vec<Error>) {
    let listing = engine.list(options);
    let mut by_path: BTreeMap<Option<String>, Project> = BTreeMap::new();
    let mut paths_of_key: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &listing.sessions {
        let path = project_path(row);
        let normalized = path.as_deref().map(normalize);
        if let Some(normalized) = &normalized {
            paths_of_key.entry(row.project_key.clone()).or_default().insert(normalized.clone());
        }
        by_path.entry(normalized).or_insert_with(|| Project::at(path)).add(row);
    }
    // Each path as its most recent session spells it.
    let spelled: BTreeMap<_, _> = by_path
        .iter()
        .filter_map(|(normalized, project)| Some((normalized.clone()?, project.path.clone()?)))
        .collect();
    for (normalized, project) in &mut by_path {
        let others = project.keys.iter().filter_map(|key| paths_of_key.get(key)).flatten();
        let others = others.filter(|other| Some(*other) != normalized.as_ref());
        project.shares_folder_with = others.filter_map(|other| spelled.get(other)).cloned().collect();
        if let Some(worktree) = &mut project.worktree
            && let Some(of) = spelled.get(&normalize(&worktree.of))
        {
            worktree.of.clone_from(of);
        }
    }
    let projects = by_path.into_values().collect();
    (group_worktrees(projects), listing.errors)
}

impl Engine {
    /// Returns the folders that may hold sessions of a working directory and of its worktrees. They have the name that Claude
    /// Code gives to the path as typed, with links resolved, or with a drive letter in the other case. If there is none, the
    /// folders in which a session records that path are returned.
    pub(crate) fn folders_of(&self, path: &Path, errors: &mut Vec<Error>) -> Vec<PathBuf> {
        let asked = ProjectFilter::new(path);
        let ProjectFilter { typed, resolved } = &asked;
        let spellings = [typed, resolved].into_iter().flat_map(|path| drive_cases(path));
        let mut names: BTreeSet<String> = spellings.map(|path| folder_name(&path)).collect();
        // Worktrees that Claude Code made may be gone, but their sessions are not.
        let made_by_claude_code: Vec<_> =
            names.iter().map(|name| format!("{name}{MADE_BY_CLAUDE_CODE}")).collect();
        names.extend(git::worktrees(path).iter().map(|tree| folder_name(&resolve(tree).to_string_lossy())));
        let mut folders = self.project_folders(errors);
        folders.retain(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            names.contains(&*name) || made_by_claude_code.iter().any(|start| name.starts_with(start))
        });
        if !folders.is_empty() {
            return folders;
        }
        let listing = self.list(&ListOptions { all: true, ..ListOptions::default() });
        // The list has read the same folders again, and has the same errors.
        *errors = listing.errors;
        folders = listing
            .sessions
            .iter()
            .filter(|row| row.facts.cwd.as_ref().is_some_and(|cwd| asked.matches(cwd)))
            .filter_map(|row| Some(row.file.path.parent()?.to_owned()))
            .collect();
        folders.sort();
        folders.dedup();
        folders
    }
}

impl Project {
    /// Returns the path of its repository, or else its own.
    fn repository(&self) -> Option<String> {
        self.worktree.as_ref().map(|worktree| worktree.of.clone()).or_else(|| self.path.clone())
    }

    fn at(path: Option<String>) -> Self {
        let worktree = path.as_deref().and_then(worktree_of);
        Self {
            path,
            keys: Vec::new(),
            sessions: 0,
            size: 0,
            updated_at: None,
            shares_folder_with: Vec::new(),
            worktree,
        }
    }

    fn add(&mut self, row: &SessionRow) {
        self.sessions += 1;
        self.size += row.size;
        self.updated_at = self.updated_at.max(row.facts.updated_at);
        if !self.keys.contains(&row.project_key) {
            self.keys.push(row.project_key.clone());
        }
    }
}

/// Returns the one spelling under which a project is grouped: on a drive, slashes of either kind and its letter in either case
/// are the same.
fn normalize(path: &str) -> String {
    let plain = activity::plain(path);
    match plain.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_uppercase() => plain.into_owned(),
        _ => path.to_owned(),
    }
}

/// Returns an absolute path. One of another operating system is absolute already.
fn absolute(path: &Path) -> String {
    let typed = path.to_string_lossy();
    if activity::is_from_root(&activity::plain(&typed)) {
        return typed.into_owned();
    }
    std::path::absolute(path).map_or(typed.into_owned(), |path| path.to_string_lossy().into_owned())
}

/// Returns whether two paths are spelled alike, whatever their slashes and the case of a drive's letter.
fn is_same(one: &str, other: &str) -> bool {
    activity::plain(one) == activity::plain(other)
}

/// Selects the sessions of a working directory: as it was typed, and with links resolved.
#[derive(Debug)]
pub struct ProjectFilter {
    typed: String,
    resolved: String,
}

impl ProjectFilter {
    /// Takes a path, of this system or another.
    pub fn new(path: &Path) -> Self {
        Self { typed: absolute(path), resolved: resolve(path).to_string_lossy().into_owned() }
    }

    /// Returns whether a path is this working directory, whatever its slashes and the case of a drive's letter.
    pub fn matches(&self, path: &str) -> bool {
        is_same(path, &self.typed) || is_same(path, &self.resolved)
    }

    /// Returns whether a session in a folder of this name belongs to this working directory or to one of its worktrees, and
    /// not to another path with the same name. A session that records no path does.
    pub(super) fn includes(&self, row: &SessionRow) -> bool {
        self.includes_cwd(row.facts.cwd.as_deref(), &row.project_key)
    }

    /// Returns the same for a session by the path that it records and the name of its folder.
    pub(super) fn includes_cwd(&self, cwd: Option<&str>, project_key: &str) -> bool {
        let path = cwd.and_then(|cwd| project_above(cwd, project_key));
        path.is_none_or(|path| {
            self.matches(path) || worktree_of(path).is_some_and(|worktree| self.matches(&worktree.of))
        })
    }
}

/// Returns the paths that messages of a working directory may record: as it is written, with links resolved, and those of its
/// worktrees.
#[cfg(feature = "search")]
pub(crate) fn paths_of_project(path: &Path) -> Vec<String> {
    let ProjectFilter { typed, resolved } = ProjectFilter::new(path);
    let worktrees = git::worktrees(path);
    let worktrees = worktrees.iter().map(|tree| resolve(tree).to_string_lossy().into_owned());
    let mut paths: Vec<_> = [typed, resolved].into_iter().chain(worktrees).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Puts worktrees after their repository, and the group with the most recent session first.
fn group_worktrees(mut projects: Vec<Project>) -> Vec<Project> {
    let mut newest: BTreeMap<_, Option<Timestamp>> = BTreeMap::new();
    for project in &projects {
        let of_group = newest.entry(project.repository()).or_default();
        *of_group = project.updated_at.max(*of_group);
    }
    projects.sort_by_cached_key(|project| {
        let group = project.repository();
        let newest = newest.get(&group).copied().flatten();
        (
            Reverse(newest),
            group,
            project.worktree.is_some(),
            Reverse(project.updated_at),
            project.path.clone(),
        )
    });
    projects
}

/// Returns the path of the project of a session. A session that began in a subdirectory belongs to the project whose folder
/// it is in.
pub(super) fn project_path(row: &SessionRow) -> Option<String> {
    let cwd = row.facts.cwd.as_deref()?;
    Some(with_upper_drive(project_above(cwd, &row.project_key).unwrap_or(cwd)))
}

/// Returns a path as projects are shown: with the letter of its drive in upper case (LISTS 6.5).
pub fn with_upper_drive(path: &str) -> String {
    match path.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_lowercase() => path[..1].to_ascii_uppercase() + &path[1..],
        _ => path.to_owned(),
    }
}

/// Returns the working directory, or the one above it, whose sessions are in a folder of this name.
pub(super) fn project_above<'a>(cwd: &'a str, key: &str) -> Option<&'a str> {
    let ends = cwd.rmatch_indices(['/', '\\']).map(|(at, _)| at);
    [cwd.len()].into_iter().chain(ends).map(|end| &cwd[..end]).find(|path| folder_name(path) == key)
}

/// Returns a path with its drive letter in both cases; other paths as they are.
fn drive_cases(path: &str) -> Vec<String> {
    match path.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => {
            let rest = &path[1..];
            let letter = char::from(*letter);
            vec![
                format!("{}{rest}", letter.to_ascii_uppercase()),
                format!("{}{rest}", letter.to_ascii_lowercase()),
            ]
        }
        _ => vec![path.to_owned()],
    }
}

/// Where Claude Code makes worktrees: in paths, and in the names of folders.
const WORKTREES: [&str; 2] = ["/.claude/worktrees/", "\\.claude\\worktrees\\"];
const MADE_BY_CLAUDE_CODE: &str = "--claude-worktrees-";

/// Returns the repository that a path is a worktree of: by the directory in which Claude Code makes worktrees, or as git
/// records it.
fn worktree_of(path: &str) -> Option<Worktree> {
    let by_place = WORKTREES.iter().find_map(|place| Some(path.split_once(place)?.0.to_owned()));
    let repository = by_place.or_else(|| {
        let by_git = git::repository_of_worktree(Path::new(path))?;
        Some(by_git.to_string_lossy().into_owned())
    });
    Some(Worktree { of: with_upper_drive(&repository?) })
}
