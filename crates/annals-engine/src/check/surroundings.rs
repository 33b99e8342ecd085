//! What is wrong with a file as a whole, and with what lies beside it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use annals_transcript::entry::view::{SpilledOutput, ToolUseResult};
use annals_transcript::paths::{ConfigFolder, SessionPaths, is_projects};
use annals_transcript::project::folder_name;
use annals_transcript::{Entry, Flag, Kind, Problem};
use memchr::memmem::Finder;

use super::{Finding, FolderFinding, Issue, Unlisted};
use crate::catalog::ListOptions;
use crate::engine::Engine;
use crate::files::{Selection, TranscriptFile};
use crate::snapshot::Snapshot;

/// How many bytes of each end of a file Claude Code's lists read.
const END: u64 = 64 * 1024;

/// Claude Code leaves out parts of files that are larger than this (CHAIN 2.0).
const LARGE: u64 = 5 * 1024 * 1024;

/// What the lines of a transcript say about lists and about files beside it.
#[derive(Default)]
pub(super) struct Signs {
    /// Whether the first entry is a subagent's.
    is_sidechain_first: Option<bool>,
    /// The end of the first prompt.
    first_prompt_end: Option<u64>,
    /// The end of the last record that lists take a title from.
    last_title_end: Option<u64>,
    /// Whether there is a message, and whether one is written as Claude Code does.
    has_messages: bool,
    is_compact: bool,
    /// The lines with output in a file, and the names of the files.
    spilled: Vec<(u64, String)>,
}

impl Signs {
    pub(super) fn add(&mut self, entry: &Entry<'_>, problem: Option<Problem>) {
        if problem.is_some_and(|problem| !problem.is_readable()) || entry.kind() == Kind::Noise {
            return;
        }
        let end = entry.at().offset + entry.bytes().len() as u64;
        let is_side = entry.has(Flag::Sidechain);
        self.is_sidechain_first.get_or_insert(is_side);
        match entry.kind() {
            Kind::User | Kind::Assistant => {
                self.has_messages = true;
                self.is_compact = self.is_compact || names_type(entry.bytes());
                let is_prompt = entry.kind() == Kind::User && !is_side && !entry.has(Flag::Meta);
                if is_prompt && self.first_prompt_end.is_none() && !has_results(entry) {
                    self.first_prompt_end = Some(end);
                }
                self.add_spilled(entry);
            }
            Kind::CustomTitle | Kind::AiTitle | Kind::Summary | Kind::LastPrompt => {
                self.last_title_end = Some(end);
            }
            _ => {}
        }
    }

    fn add_spilled(&mut self, entry: &Entry<'_>) {
        static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("persistedOutputPath"));
        let output = entry.head().tool_use_result.filter(|_| entry.kind() == Kind::User);
        if output.is_none_or(|output| NAME.find(output.bytes()).is_none()) {
            return;
        }
        if let Some(spilled) = entry.tool_use_result().and_then(ToolUseResult::spilled_output) {
            self.spilled.push((entry.at().line, spilled.path.into_owned()));
        }
    }

    pub(super) fn finish(self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut found = Vec::new();
        let file = snapshot.file();
        let is_gone =
            |path: &str| snapshot.spilled_file(&SpilledOutput { path: path.into(), size: None }).is_none();
        let gone: Vec<u64> =
            self.spilled.iter().filter(|(_, path)| is_gone(path)).map(|(line, _)| *line).collect();
        // A transcript that was copied alone has no files beside it, and nothing is wrong with it.
        if let Some(&first) = gone.first().filter(|_| file.session.is_some()) {
            found.push(Finding::at(first, Issue::SpilledOutputGone { files: gone.len() }));
        }
        if file.agent.is_some() {
            found.extend(is_orphan(file).then(|| Finding::of_file(Issue::NoSession)));
            return found;
        }
        let size = snapshot.session().size();
        if size > LARGE {
            found.push(Finding::of_file(Issue::Large { bytes: size }));
        }
        if project_of(&file.path).is_some() {
            found.extend(self.unlisted(file, size).map(|why| Finding::of_file(Issue::Unlisted(why))));
        }
        found
    }

    /// Returns why the lists of Claude Code do not show the session.
    fn unlisted(&self, file: &TranscriptFile, size: u64) -> Option<Unlisted> {
        if !self.has_messages {
            return None;
        }
        let has_title = self.last_title_end.is_some_and(|end| end + END > size);
        if file.session.is_none() {
            Some(Unlisted::FileName)
        } else if !self.is_compact {
            Some(Unlisted::Spacing)
        } else if self.is_sidechain_first == Some(true) && self.first_prompt_end.is_some() {
            Some(Unlisted::SidechainFirst)
        } else if self.first_prompt_end.is_some_and(|end| end > END) && !has_title {
            Some(Unlisted::LatePrompt)
        } else {
            None
        }
    }
}

/// Returns whether an entry names its type as Claude Code writes it, without blanks.
fn names_type(line: &[u8]) -> bool {
    let spellings: [&[u8]; 2] = [br#""type":"user""#, br#""type":"assistant""#];
    spellings.iter().any(|spelling| memchr::memmem::find(line, spelling).is_some())
}

fn has_results(entry: &Entry<'_>) -> bool {
    use annals_transcript::content::Block;
    entry.content().blocks().any(|block| matches!(block, Block::ToolResult(_)))
}

/// Returns the folder of the project that a transcript of a session lies in, if it is one of Claude Code.
fn project_of(transcript: &Path) -> Option<&Path> {
    let project = transcript.parent()?;
    project.parent()?.file_name().filter(|name| *name == "projects").map(|_| project)
}

/// Returns whether the session of a subagent is gone. A transcript that was copied to another place alone says nothing about that.
fn is_orphan(agent: &TranscriptFile) -> bool {
    if !agent.path.ancestors().any(is_projects) {
        return false;
    }
    let session = agent.session.as_deref();
    let paths = session.and_then(|session| SessionPaths::of_parent(&agent.path, session));
    paths.is_some_and(|paths| !paths.transcript().exists())
}

/// Counts the transcripts of a config folder that every user can read.
pub(super) fn open_to_others(root: &Path) -> Option<FolderFinding> {
    let projects = ConfigFolder::new(root).projects();
    if !are_open(&projects) {
        return None;
    }
    let files = Selection::of_projects(std::iter::once(projects.clone())).files;
    let mut folders: HashMap<&Path, bool> = HashMap::new();
    let mut transcripts = 0;
    for file in &files {
        transcripts += usize::from(is_open_to_others(&file.path, &mut folders));
    }
    (transcripts > 0).then_some(FolderFinding { path: projects, issue: Issue::OpenToOthers { transcripts } })
}

/// Returns whether every user of the machine can read a file: it allows that, and so do all folders above it. `folders` has the answers for
/// folders of other files.
#[cfg(unix)]
fn is_open_to_others<'f>(path: &'f Path, folders: &mut HashMap<&'f Path, bool>) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = path.symlink_metadata() else { return false };
    if metadata.is_symlink() {
        let target = path.canonicalize();
        return has_mode(path, 0o004) && target.is_ok_and(|path| path.parent().is_some_and(are_open));
    }
    let mut is_open = |folder: &'f Path| *folders.entry(folder).or_insert_with(|| are_open(folder));
    metadata.permissions().mode() & 0o004 != 0 && path.parent().is_some_and(&mut is_open)
}

/// Returns whether every user of the machine can enter a folder.
#[cfg(unix)]
fn are_open(folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder.ancestors().all(|folder| has_mode(folder, 0o001)))
}

#[cfg(unix)]
fn has_mode(path: &Path, bit: u32) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & bit != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path, _: &mut HashMap<&Path, bool>) -> bool {
    false
}

#[cfg(not(unix))]
fn are_open(_: &Path) -> bool {
    false
}

/// Returns the folders of projects that hold sessions of several working directories, because their names are the same for Claude Code.
pub(super) fn shared_folders(engine: &Engine) -> Vec<FolderFinding> {
    let (projects, _) = engine.projects(&ListOptions::default());
    let mut found: Vec<FolderFinding> = Vec::new();
    for project in &projects {
        let Some(path) = &project.path else { continue };
        let key = folder_name(path);
        let mut paths: Vec<String> =
            project.shares_folder_with.iter().filter(|other| folder_name(other) == key).cloned().collect();
        paths.push(path.clone());
        paths.sort();
        let folders = engine.root_folders().map(|root| ConfigFolder::new(root).projects().join(&key));
        let folder: Option<PathBuf> = folders.into_iter().find(|folder| folder.is_dir());
        if let Some(folder) = folder.filter(|_| paths.len() > 1) {
            let finding = FolderFinding { path: folder, issue: Issue::SharedFolder { paths } };
            if !found.contains(&finding) {
                found.push(finding);
            }
        }
    }
    found
}
