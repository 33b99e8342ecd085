//! The engine: what annals can do. Read this first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_transcript::history::{Cause, Step};
use annals_transcript::project::is_session_id;
use annals_transcript::write::fs::{Disk, RealDisk, State};
use rayon::prelude::*;

use crate::catalog::{Facts, ListOptions, Title};
use crate::check::{Checker, Finding};
use crate::conversation::Conversation;
use crate::error::{Error, ErrorKind};
use crate::files::{Selection, TranscriptFile};
use crate::home::Home;
use crate::live::ProcessView;
use crate::roots::Roots;
use crate::snapshot::Snapshot;
use crate::stats::Stats;

/// The shortest beginning of an id that names a session.
const SHORTEST_PREFIX: usize = 4;

/// Finds sessions in the client's folders and answers questions about them.
#[derive(Clone, Debug)]
pub struct Engine {
    roots: Roots,
    home: Home,
    disk: Arc<dyn Disk>,
    processes: Option<ProcessView>,
}

/// What reading one transcript told.
#[derive(Clone, Debug)]
pub struct Report {
    /// The transcript.
    pub file: TranscriptFile,
    /// What it is made of.
    pub stats: Stats,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
}

/// The client's folders, wherever they really are.
#[derive(Clone, Debug)]
pub struct Inside {
    projects: Vec<PathBuf>,
    /// Whether what lies in a folder lies inside.
    folders: HashMap<PathBuf, bool>,
}

impl Inside {
    /// Returns whether a file lies inside at this moment, however it did before.
    pub fn holds_now(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|real| self.projects.iter().any(|projects| real.starts_with(projects)))
    }

    /// Returns whether a file that was opened lies inside: what a link led to in that moment does not, wherever it leads
    /// now.
    pub fn holds_opened(&self, path: &Path, file: &File) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let identity = |metadata: fs::Metadata| State::from(metadata).identity;
        let is_it = file.metadata().map(identity).ok() == real.symlink_metadata().map(identity).ok();
        is_it && self.projects.iter().any(|projects| real.starts_with(projects))
    }

    /// Opens a file that lies inside. Returns `None` if there is no file, or if a link leads out. Fails if the path leads to
    /// another file by now; that one is opened the next time.
    pub fn open(&self, path: &Path) -> io::Result<Option<(File, State)>> {
        // Opening a FIFO would block, so the path is examined first.
        let opened = match State::of(path)? {
            None => None,
            Some(_) => Some(File::open(path)?),
        };
        let state = opened.as_ref().map(File::metadata).transpose()?.map(State::from);
        let inside = opened.filter(|file| self.holds_opened(path, file));
        if inside.is_none() && State::of(path)?.map(|now| now.identity) != state.map(|state| state.identity) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        Ok(inside.zip(state))
    }

    /// Returns whether a file lies inside.
    pub fn holds(&mut self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|metadata| self.holds_file(path, metadata.is_symlink()))
    }

    /// Returns whether a file lies inside of which is known whether it is a link.
    pub(crate) fn holds_file(&mut self, path: &Path, is_link: bool) -> bool {
        let Some(folder) = path.parent() else { return false };
        let is_inside = |path: &Path| {
            let real = path.canonicalize();
            real.is_ok_and(|real| self.projects.iter().any(|projects| real.starts_with(projects)))
        };
        if is_link {
            return is_inside(path);
        }
        // Most sessions share their folder with others.
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        let holds = is_inside(folder);
        self.folders.insert(folder.to_owned(), holds);
        holds
    }
}

impl Engine {
    /// Opens the client's folders.
    pub fn open(roots: Roots, home: Home) -> Self {
        Self { roots, home, disk: Arc::new(RealDisk), processes: None }
    }

    /// Returns the engine with another disk to write to.
    #[must_use]
    pub fn with_disk(self, disk: Arc<dyn Disk>) -> Self {
        Self { disk, ..self }
    }

    /// Returns the engine with another view of the processes of the machine.
    #[must_use]
    pub fn with_processes(self, processes: ProcessView) -> Self {
        Self { processes: Some(processes), ..self }
    }

    /// Returns which processes can be seen.
    pub(crate) fn processes(&self) -> ProcessView {
        self.processes.unwrap_or_else(ProcessView::of_machine)
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Returns the folder of annals itself.
    pub fn home(&self) -> &Home {
        &self.home
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Returns every transcript in the client's folders, subagents' included.
    pub fn transcripts(&self) -> Selection {
        let mut found = Selection::default();
        for projects in self.roots.projects() {
            found.add_projects(&projects);
        }
        found
    }

    /// Returns the transcripts that an argument names: a file, all below a folder, or a session.
    pub fn select(&self, selector: &OsStr) -> Result<Selection, Error> {
        let mut found = Selection::default();
        // The folder with the side files of a session has its name.
        let is_id = selector.to_str().is_some_and(is_session_id);
        if Path::new(selector).is_dir() && !is_id {
            found.add_folder(Path::new(selector));
        } else {
            found.files.push(self.session(selector)?);
        }
        Ok(found)
    }

    /// Returns the one transcript that an argument names: a file, an id, the beginning of an id, a title, `latest`.
    pub fn session(&self, selector: &OsStr) -> Result<TranscriptFile, Error> {
        let path = Path::new(selector);
        if path.is_file() {
            return Ok(TranscriptFile::at(path));
        }
        let named = selector.to_str().ok_or_else(|| not_found(&selector.to_string_lossy()));
        match named.and_then(|name| self.session_named(name)) {
            // A session comes before a folder: its side files lie in one of the same name.
            Err(error) if error.is_not_found() && path.exists() => Ok(TranscriptFile::at(path)),
            Err(error) if error.is_not_found() && looks_like_a_path(path) => {
                Err(Error::read(path, io::ErrorKind::NotFound.into()))
            }
            found => found,
        }
    }

    fn session_named(&self, selector: &str) -> Result<TranscriptFile, Error> {
        if selector == "latest" {
            let latest = |all| {
                self.list(&ListOptions { limit: Some(1), all, ..ListOptions::default() }).sessions.pop()
            };
            let latest = latest(false).or_else(|| latest(true));
            return latest.map(|listed| listed.file).ok_or_else(|| not_found(selector));
        }
        let mut found = self.sessions_with_id(selector);
        if found.is_empty() && selector.len() >= SHORTEST_PREFIX {
            found = self.sessions();
            found.retain(|file| file.session.as_ref().is_some_and(|id| id.starts_with(selector)));
        }
        if found.is_empty() {
            found = self.sessions_with_title(selector);
        }
        match &found[..] {
            [] => {}
            [file] => return Ok(file.clone()),
            _ => {
                let named =
                    |file: &TranscriptFile| (file.session.clone().unwrap_or_default(), file.path.clone());
                return Err(Error::ambiguous(selector, found.iter().map(named)));
            }
        }
        Err(not_found(selector))
    }

    /// Returns the transcript of the session with exactly this id, for callers that are not trusted with paths: only the
    /// client's folders are looked at, and nothing in them that leads out of them is opened. Of several, the one of the
    /// project, or the one that lies there.
    pub fn session_with_id(&self, id: &str, project: Option<&Path>) -> Result<TranscriptFile, Error> {
        if !is_session_id(id) {
            return Err(not_found(id));
        }
        let name = format!("{id}.jsonl");
        let folders = self.project_folders(&mut Vec::new());
        let mut paths: Vec<_> = folders.iter().map(|folder| folder.join(&name)).collect();
        paths.retain(|path| !path.is_dir() && !matches!(State::of(path), Ok(None)));
        // A folder may be a link to another one of these.
        let mut seen = HashSet::new();
        paths.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
        if let (Some(project), 2..) = (project, paths.len()) {
            if paths.iter().any(|path| path == project) {
                paths.retain(|path| path == project);
            } else {
                let near = self.folders_of(project, &mut Vec::new());
                let is_near =
                    |path: &PathBuf| path.parent().is_some_and(|folder| near.iter().any(|one| one == folder));
                if paths.iter().any(is_near) {
                    paths.retain(is_near);
                }
            }
        }
        match &paths[..] {
            [] => Err(not_found(id)),
            [path] if !self.inside().holds(path) => {
                Err(Error::new(ErrorKind::Outside { session: id.to_owned() }))
            }
            [path] => Ok(TranscriptFile { path: path.clone(), session: Some(id.to_owned()), agent: None }),
            several => Err(Error::ambiguous(id, several.iter().map(|path| (id, path)))),
        }
    }

    /// Returns what tells whether paths really lie in the client's folders, wherever links lead.
    pub fn inside(&self) -> Inside {
        let real = self.roots.projects().filter_map(|projects| projects.canonicalize().ok());
        Inside { projects: real.collect(), folders: HashMap::new() }
    }

    /// Opens one transcript: its entries in memory, their bodies on disk.
    pub fn snapshot(&self, file: TranscriptFile) -> Result<Snapshot, Error> {
        Snapshot::take(file)
    }

    /// Opens the beginning of a transcript, what was there when it had so many bytes, for callers that are not trusted with
    /// what lies elsewhere: what was opened must lie in the client's folders, whatever links did meanwhile.
    pub fn snapshot_inside(&self, file: TranscriptFile, length: u64) -> Result<Snapshot, Error> {
        let session = file.session.clone();
        let snapshot = Snapshot::take_beginning(file, length)?;
        if snapshot.lies_in(&self.inside()) {
            return Ok(snapshot);
        }
        Err(Error::new(ErrorKind::Outside { session: session.unwrap_or_default() }))
    }

    /// Reads transcripts on all cores, largest first, and calls `done` with the bytes of each as it is finished.
    /// Returns the reports in the order of `files`; a file that cannot be read does not end the work.
    pub fn read_all(
        &self,
        files: Vec<TranscriptFile>,
        done: impl Fn(u64) + Sync,
    ) -> Vec<Result<Report, Error>> {
        let size = |file: &TranscriptFile| fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        let mut queue: Vec<_> =
            files.into_iter().enumerate().map(|(place, file)| (size(&file), place, file)).collect();
        queue.sort_by_key(|(size, ..)| std::cmp::Reverse(*size));
        let read = queue.into_par_iter().with_max_len(1).map(|(size, place, file)| {
            let report = self.read(file);
            done(size);
            (place, report)
        });
        read.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Reads one transcript: counts it and checks it.
    pub fn read(&self, file: TranscriptFile) -> Result<Report, Error> {
        let (mut stats, mut checker) = (Stats::default(), Checker::default());
        let snapshot = Snapshot::take_with(file, |entry, problem| {
            stats.add(entry);
            checker.add(entry, problem);
        })?;
        stats.finish();
        let conversation = Conversation::of(&snapshot)?;
        let count = |wanted: fn(&Step) -> bool| {
            conversation.steps().iter().filter(|step| wanted(step)).count() as u64
        };
        stats.turns = conversation.turns().len() as u64;
        stats.branches = count(|step| matches!(step, Step::Branch { cause: Cause::LeftBehind, .. }));
        stats.inline_subagents = count(|step| matches!(step, Step::Branch { cause: Cause::Subagent, .. }));
        stats.gaps = count(|step| matches!(step, Step::Gap { .. }));
        checker.add_duplicates(&conversation)?;
        checker.add_roots(snapshot.session());
        let findings = checker.finish();
        stats.problems = findings.len() as u64;
        Ok(Report { file: snapshot.file().clone(), stats, findings })
    }
}

/// Returns whether an argument that names no file was meant as one.
fn looks_like_a_path(path: &Path) -> bool {
    let is_nested = path.as_os_str().to_string_lossy().contains(['/', '\\']);
    is_nested || path.extension().is_some_and(|extension| extension == "jsonl")
}

fn not_found(selector: &str) -> Error {
    Error::new(ErrorKind::NotFound { selector: selector.to_owned() })
}

/// Returns what a session is called in lists. A file that cannot be read has no title.
pub(crate) fn title(path: &Path) -> Option<Title> {
    Facts::of_session(path).ok()?.title
}

#[cfg(test)]
mod tests;
