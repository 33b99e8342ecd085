//! Projects: the working directories that sessions are about.
//!
//! A folder's name says nothing for certain: two paths may share it. Projects are named by the working directory that
//! their sessions tell, so a folder that two paths share is two projects, and one path in two folders is one.

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
pub struct Project {
    /// Its path, as its sessions tell it; none if they do not.
    pub path: Option<String>,
    /// The names of the folders that its sessions lie in.
    pub keys: Vec<String>,
    /// How many sessions it has.
    pub sessions: usize,
    /// How many bytes their transcripts have.
    pub size: u64,
    /// When something was said last.
    pub updated_at: Option<Timestamp>,
    /// Other paths whose sessions lie in one of the same folders.
    pub shares_folder_with: Vec<String>,
    /// The repository that it is a worktree of, if it is one.
    pub worktree: Option<Worktree>,
}

/// What a worktree belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// The path of the repository.
    pub of: String,
}

impl Engine {
    /// Returns the projects of sessions, the newest first with worktrees behind their repository, and what could not be
    /// read.
    pub fn projects(&self, wanted: &ListOptions) -> (Vec<Project>, Vec<Error>) {
        let listing = self.list(wanted);
        let mut by_path: BTreeMap<Option<String>, Project> = BTreeMap::new();
        let mut paths_of_key: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for listed in &listing.sessions {
            let path = project_path(listed);
            let place = path.as_deref().map(place);
            if let Some(place) = &place {
                paths_of_key.entry(listed.project_key.clone()).or_default().insert(place.clone());
            }
            by_path.entry(place).or_insert_with(|| Project::at(path)).add(listed);
        }
        // Each path as its newest session spells it.
        let spelled: BTreeMap<_, _> = by_path
            .iter()
            .filter_map(|(place, project)| Some((place.clone()?, project.path.clone()?)))
            .collect();
        for (place, project) in &mut by_path {
            let others = project.keys.iter().filter_map(|key| paths_of_key.get(key)).flatten();
            let others = others.filter(|other| Some(*other) != place.as_ref());
            project.shares_folder_with = others.filter_map(|other| spelled.get(other)).cloned().collect();
            if let Some(worktree) = &mut project.worktree
                && let Some(of) = spelled.get(&self::place(&worktree.of))
            {
                worktree.of.clone_from(of);
            }
        }
        let projects = by_path.into_values().collect();
        (grouped(projects), listing.errors)
    }

    /// Returns the folders that may hold sessions of a working directory and of its worktrees: by the name that the
    /// client would give it, as typed, with links resolved, and with the other case of a drive's letter; if none of them
    /// is there, those in which a session tells that path.
    pub(crate) fn folders_of(&self, path: &Path, errors: &mut Vec<Error>) -> Vec<PathBuf> {
        let asked = ProjectFilter::new(path);
        let ProjectFilter { typed, resolved } = &asked;
        let spellings = [typed, resolved].into_iter().flat_map(|path| drive_cases(path));
        let mut names: BTreeSet<String> = spellings.map(|path| folder_name(&path)).collect();
        // Those that the client made may be gone, but their sessions are not.
        let made_by_client: Vec<_> = names.iter().map(|name| format!("{name}{MADE_BY_CLIENT}")).collect();
        names.extend(git::worktrees(path).iter().map(|tree| folder_name(&resolve(tree).to_string_lossy())));
        let mut folders = self.project_folders(errors);
        folders.retain(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            names.contains(&*name) || made_by_client.iter().any(|start| name.starts_with(start))
        });
        if !folders.is_empty() {
            return folders;
        }
        let listing = self.list(&ListOptions { all: true, ..ListOptions::default() });
        // It has looked at the same folders once more.
        *errors = listing.errors;
        let tells = |listed: &&SessionRow| listed.facts.cwd.as_ref().is_some_and(|cwd| asked.matches(cwd));
        folders = listing
            .sessions
            .iter()
            .filter(tells)
            .filter_map(|listed| Some(listed.file.path.parent()?.to_owned()))
            .collect();
        folders.sort();
        folders.dedup();
        folders
    }
}

impl Project {
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

    fn add(&mut self, listed: &SessionRow) {
        self.sessions += 1;
        self.size += listed.size;
        self.updated_at = self.updated_at.max(listed.facts.updated_at);
        if !self.keys.contains(&listed.project_key) {
            self.keys.push(listed.project_key.clone());
        }
    }
}

/// Returns what all spellings of a path have in common: on a drive, slashes of either kind and its letter in either case.
fn place(path: &str) -> String {
    let plain = activity::plain(path);
    match plain.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_uppercase() => plain,
        _ => path.to_owned(),
    }
}

/// Returns a path from the root on. One of another system is one already.
fn whole(path: &Path) -> String {
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

/// A working directory whose sessions are asked for: as it was typed, and with links resolved.
#[derive(Debug)]
pub struct ProjectFilter {
    typed: String,
    resolved: String,
}

impl ProjectFilter {
    /// Takes a path, of this system or another.
    pub fn new(path: &Path) -> Self {
        Self { typed: whole(path), resolved: resolve(path).to_string_lossy().into_owned() }
    }

    /// Returns whether a path is this working directory, whatever its slashes and the case of a drive's letter.
    pub fn matches(&self, path: &str) -> bool {
        is_same(path, &self.typed) || is_same(path, &self.resolved)
    }

    /// Returns whether a session that lies in a folder of the name is this project's or a worktree's, and not that of
    /// another path with the same name. Where nothing tells, it is.
    pub(super) fn includes(&self, listed: &SessionRow) -> bool {
        let cwd = listed.facts.cwd.as_deref();
        let path = cwd.and_then(|cwd| project_above(cwd, &listed.project_key));
        path.is_none_or(|path| {
            self.matches(path) || worktree_of(path).is_some_and(|worktree| self.matches(&worktree.of))
        })
    }
}

/// Puts worktrees behind their repository, and the group with the newest session first.
fn grouped(mut projects: Vec<Project>) -> Vec<Project> {
    let group = |project: &Project| {
        project.worktree.as_ref().map(|worktree| worktree.of.clone()).or_else(|| project.path.clone())
    };
    let mut newest: BTreeMap<_, Option<Timestamp>> = BTreeMap::new();
    for project in &projects {
        let of_group = newest.entry(group(project)).or_default();
        *of_group = project.updated_at.max(*of_group);
    }
    projects.sort_by_cached_key(|project| {
        let group = group(project);
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

/// Returns the working directory that a session is about. One that began in a folder below belongs to the project whose
/// folder it lies in.
pub(super) fn project_path(listed: &SessionRow) -> Option<String> {
    let cwd = listed.facts.cwd.as_deref()?;
    Some(project_above(cwd, &listed.project_key).unwrap_or(cwd).to_owned())
}

/// Returns the path, of a folder and those above it, that has its sessions in a folder of the name given.
pub(super) fn project_above<'a>(cwd: &'a str, key: &str) -> Option<&'a str> {
    let is_separator = |c: char| c == '/' || c == '\\';
    let ends = cwd.char_indices().rev().filter(|(_, c)| is_separator(*c)).map(|(at, _)| at);
    [cwd.len()].into_iter().chain(ends).map(|end| &cwd[..end]).find(|path| folder_name(path) == key)
}

/// Returns a path with both cases of its drive's letter; other paths as they are.
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

/// Where the client makes worktrees: in paths, and in the names of folders.
const WORKTREES: [&str; 2] = ["/.claude/worktrees/", "\\.claude\\worktrees\\"];
const MADE_BY_CLIENT: &str = "--claude-worktrees-";

/// Returns the repository that a path is a worktree of: by the place that the client makes them in, or by what git says.
fn worktree_of(path: &str) -> Option<Worktree> {
    let by_place = WORKTREES.iter().find_map(|place| Some(path.split_once(place)?.0.to_owned()));
    let by_git = || Some(git::repository_of_worktree(Path::new(path))?.to_string_lossy().into_owned());
    Some(Worktree { of: by_place.or_else(by_git)? })
}
