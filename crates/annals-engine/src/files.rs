//! Transcripts on disk: those in the config folders of Claude Code, and those below any folder.

use std::collections::HashSet;
use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use annals_transcript::lite::Lite;
use annals_transcript::paths::SessionPaths;
use annals_transcript::project::{self, Role, is_agent_transcript};
use annals_transcript::{Kind, Reader};

use crate::error::Error;
use crate::symlink_guard::SymlinkGuard;

/// A transcript: a session's own, or a subagent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptFile {
    /// Its path.
    pub path: PathBuf,
    /// The session that it belongs to: known from its path, or for old subagents from its first lines.
    pub session: Option<String>,
    /// The subagent whose transcript it is; `None` for a session's own.
    pub agent: Option<String>,
}

/// The transcripts that were found, and the errors on the way.
#[derive(Debug, Default)]
pub struct Selection {
    /// The transcripts, in a stable order.
    pub files: Vec<TranscriptFile>,
    /// Folders that could not be read.
    pub errors: Vec<Error>,
    /// How many `.jsonl` files were skipped because other programs wrote them.
    pub skipped: usize,
}

impl TranscriptFile {
    /// Returns what a path says about a transcript. For old subagents the session is read from the first lines.
    pub fn at(path: &Path) -> Self {
        let parents = path.ancestors().skip(1).take(8);
        let roles = parents.filter_map(|folder| path.strip_prefix(folder).ok()).map(Role::of);
        let role = roles.filter(Role::is_transcript).last().unwrap_or(Role::Other);
        Self::with_role(path.to_owned(), role)
    }

    fn with_role(path: PathBuf, role: Role) -> Self {
        let (session, agent) = match role {
            Role::Main { session } => (Some(session), None),
            Role::Subagent { session, agent, .. } => {
                (session.or_else(|| session_in_content(&path)), Some(agent))
            }
            _ => (None, None),
        };
        Self { path, session, agent }
    }

    /// Returns how many subagents of the session have a transcript.
    pub fn subagents(&self) -> u64 {
        let mut found = Selection::default();
        found.add_subagents(self);
        found.files.len() as u64
    }
}

/// Opens a regular file. Other files are refused: a FIFO or socket may block for ever, and a device may never end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

/// Returns whether a file has the extension of transcripts.
fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns the session that the first lines of a transcript name.
fn session_in_content(path: &Path) -> Option<String> {
    if path.is_file() { ends(path)?.session } else { None }
}

/// Reads head and tail of a transcript. Returns `None` if it cannot be read.
pub(crate) fn ends(path: &Path) -> Option<Lite> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    Lite::read(&mut file, length).ok()
}

/// Returns the transcripts of subagents in the folder of a project itself, where old versions of Claude Code wrote them.
pub(crate) fn agents_beside(folder: &Path) -> Vec<TranscriptFile> {
    let paths = agent_paths_beside(folder);
    paths.iter().map(|path| TranscriptFile::at(path)).filter(|file| file.agent.is_some()).collect()
}

/// Returns the paths of these transcripts, by their names alone.
pub(crate) fn agent_paths_beside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let agents = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_agent_transcript));
    let mut paths: Vec<_> = agents.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

/// Returns the transcripts of subagents in a session's own folder, as far as it can be read. They are recognised by their
/// names alone, because lists and lookups read thousands of folders.
pub(crate) fn agents_below(session: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![SessionPaths::of(session).subagents()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name().to_str().is_some_and(is_agent_transcript)
                && (kind.is_file() || entry.path().is_file())
            {
                found.push(entry.path());
            }
        }
    }
    found
}

/// Returns the files with metadata of a session's agents on other machines, each with the id of its agent.
pub(crate) fn remote_agents(session: &TranscriptFile) -> Vec<(String, PathBuf)> {
    let mut paths = children(&SessionPaths::of(&session.path).remote_agents()).unwrap_or_default();
    paths.sort();
    paths.into_iter().filter_map(|path| Some((remote_agent(&path)?.to_owned(), path))).collect()
}

/// Returns the agent on another machine that a file has the metadata of.
fn remote_agent(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_suffix(".meta.json").filter(|id| !id.is_empty())
}

impl Selection {
    /// Selects a session's transcript, and those of its subagents after it.
    pub(crate) fn with_subagents(file: TranscriptFile) -> Self {
        let mut found = Self::default();
        found.add_subagents(&file);
        found.files.insert(0, file);
        found
    }

    /// Drops the transcripts that links lead to from outside of the config folders.
    pub(crate) fn inside(mut self, mut guard: SymlinkGuard) -> Self {
        self.files.retain(|file| guard.allows(&file.path));
        self
    }

    /// Finds the transcripts below `projects` folders.
    pub(crate) fn of_projects(projects: impl Iterator<Item = PathBuf>) -> Self {
        let mut found = Self::default();
        projects.for_each(|projects| found.add_projects(&projects));
        found
    }

    /// Adds the transcripts below a `projects` folder. The path of a file decides whether it is one.
    pub(crate) fn add_projects(&mut self, projects: &Path) {
        walk_projects(projects, &mut |item| self.add_by_place(projects, item));
    }

    /// Adds the transcripts in the folder of a project.
    pub(crate) fn add_project(&mut self, project: &Path) {
        self.add_project_visiting(project, |_| {});
    }

    /// Adds the transcripts in the folder of a project, and calls `visit` for each folder before it is read.
    pub(crate) fn add_project_visiting(&mut self, project: &Path, mut visit: impl FnMut(&Path)) {
        let projects = project.parent().unwrap_or(project);
        walk(project, &mut |item| {
            if let WalkItem::Folder(path) = item {
                visit(path);
            }
            self.add_by_place(projects, item);
        });
    }

    fn add_by_place(&mut self, projects: &Path, item: WalkItem<'_>) {
        let errors = &mut self.errors;
        let Some(path) = item.file(errors) else { return };
        let role = role_below(projects, path);
        if role.is_transcript() {
            self.files.push(TranscriptFile::with_role(path.to_owned(), role));
        }
    }

    /// Adds the transcripts of subagents in a session's own folder.
    pub(crate) fn add_subagents_below(&mut self, session: &TranscriptFile) {
        let below = SessionPaths::of(&session.path).subagents();
        if below.is_dir() {
            walk(&below, &mut |item| {
                let Some(path) = item.file(&mut self.errors).filter(|path| is_jsonl(path)) else { return };
                let file = TranscriptFile::at(path);
                self.files.extend(file.agent.is_some().then_some(file));
            });
        }
    }

    /// Adds the transcripts of a session's subagents: those in its own folder, and those that old versions wrote beside it.
    pub(crate) fn add_subagents(&mut self, session: &TranscriptFile) {
        if session.agent.is_some() {
            return;
        }
        self.add_subagents_below(session);
        let files = session.path.parent().map(agents_beside).unwrap_or_default();
        let own = files.into_iter().filter(|file| file.session.is_some() && file.session == session.session);
        self.files.extend(own);
    }

    /// Adds the transcripts below any folder. Where the path does not show what a file is, its first lines do.
    pub(crate) fn add_folder(&mut self, folder: &Path) {
        walk(folder, &mut |item| {
            let Some(path) = item.file(&mut self.errors).filter(|path| is_jsonl(path)) else { return };
            let file = TranscriptFile::at(path);
            // A file that cannot be read is added, so that the caller gets the error when reading it.
            if file.session.is_some() || file.agent.is_some() || !is_another_programs(path).unwrap_or(false) {
                self.files.push(file);
            } else {
                self.skipped += 1;
            }
        });
    }
}

/// Returns the folders in a `projects` folder, sorted. If several of them are links to the same folder, one is returned.
pub(crate) fn project_folders(projects: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = Error::reading(projects);
    let real = projects.canonicalize().map_err(failed)?;
    let (mut folders, mut links) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(projects).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        match entry.file_type().map_err(failed)? {
            kind if kind.is_dir() => folders.push(entry.file_name()),
            kind if kind.is_symlink() => links.push(entry.file_name()),
            _ => {}
        }
    }
    let mut seen: HashSet<_> = folders.iter().map(|name| real.join(name)).collect();
    links.sort();
    for link in links {
        let is_folder = match projects.join(&link).canonicalize() {
            Ok(path) => path.is_dir() && seen.insert(path),
            // A dangling link is no project. Any other error is reported when the folder is read.
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        };
        if is_folder {
            folders.push(link);
        }
    }
    folders.sort();
    Ok(folders.into_iter().map(|name| projects.join(name)).collect())
}

/// Returns whether a file is sparse: almost all of it is a hole, so there is nothing to read. The threshold is beyond what a file
/// system's compression achieves on a log.
pub(crate) fn is_sparse(file: &File) -> bool {
    #[cfg(unix)]
    let allocated = file.metadata().map(|metadata| {
        use std::os::unix::fs::MetadataExt;
        (metadata.blocks() * 512, metadata.len())
    });
    #[cfg(not(unix))]
    let allocated: io::Result<(u64, u64)> = file.metadata().map(|metadata| (metadata.len(), metadata.len()));
    allocated.is_ok_and(|(allocated, length)| allocated < length / 64)
}

/// Returns whether the first lines of a file have JSON objects and none of them is an entry of a transcript. A file without
/// any object may be a damaged transcript.
fn is_another_programs(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    let mut length = 64 * 1024;
    let mut file = File::open(path)?;
    // At least the whole first line is read, up to 8 MiB.
    while (&mut file).take(length).read_to_end(&mut beginning)? > 0
        && !beginning.contains(&b'\n')
        && length < 1 << 23
    {
        length *= 2;
    }
    let mut reader = Reader::new(&beginning[..]);
    let mut has_objects = false;
    while let Some(entry) = reader.read()? {
        has_objects |= entry.kind() != Kind::Noise;
    }
    Ok(has_objects && !project::is_transcript(&beginning))
}

/// Returns the paths in a folder. The list is empty if the folder does not exist.
pub(crate) fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// What a walk finds.
pub(crate) enum WalkItem<'a> {
    /// A folder, before it is read.
    Folder(&'a Path),
    /// A regular file, or a dangling link.
    File(&'a Path),
    /// A folder that could not be read.
    Unreadable(Error),
}

impl<'a> WalkItem<'a> {
    /// Returns the path if it is a file. An error is added to `errors`.
    fn file(self, errors: &mut Vec<Error>) -> Option<&'a Path> {
        match self {
            WalkItem::Folder(_) => None,
            WalkItem::File(path) => Some(path),
            WalkItem::Unreadable(error) => {
                errors.push(error);
                None
            }
        }
    }
}

/// Returns the role of a file below a `projects` folder.
pub(crate) fn role_below(projects: &Path, path: &Path) -> Role {
    let mut below = path.strip_prefix(projects).unwrap_or(Path::new("")).components();
    below.next();
    Role::of(below.as_path())
}

/// Visits everything below a `projects` folder. Projects may be links to folders elsewhere, each visited once.
pub(crate) fn walk_projects(projects: &Path, visit: &mut impl FnMut(WalkItem<'_>)) {
    visit(WalkItem::Folder(projects));
    match project_folders(projects) {
        Ok(folders) => folders.iter().for_each(|project| walk(project, visit)),
        Err(error) => visit(WalkItem::Unreadable(error)),
    }
}

/// Visits everything below a folder in a stable order. Links to folders are not followed, so there are no cycles.
pub(crate) fn walk(folder: &Path, visit: &mut impl FnMut(WalkItem<'_>)) {
    let mut waiting = vec![(folder.to_owned(), true)];
    while let Some((path, is_folder)) = waiting.pop() {
        if !is_folder {
            visit(WalkItem::File(&path));
            continue;
        }
        visit(WalkItem::Folder(&path));
        match sorted_entries(&path) {
            Ok(entries) => {
                let visited = entries.into_iter().rev().filter(|(path, kind)| is_visited(path, *kind));
                waiting.extend(visited.map(|(path, kind)| (path, kind.is_dir())));
            }
            Err(error) => visit(WalkItem::Unreadable(error)),
        }
    }
}

/// Returns whether a walk visits a path: a folder, a file, a link to a file, or a dangling link. A link to a folder could
/// close a cycle.
fn is_visited(path: &Path, kind: FileType) -> bool {
    kind.is_dir() || kind.is_file() || (kind.is_symlink() && (path.is_file() || !path.exists()))
}

fn sorted_entries(folder: &Path) -> Result<Vec<(PathBuf, FileType)>, Error> {
    let mut entries = entries_with_types(folder).map_err(Error::reading(folder))?;
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

fn entries_with_types(folder: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
    fs::read_dir(folder)?
        .map(|entry| entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    fn names(selection: &Selection) -> Vec<String> {
        selection
            .files
            .iter()
            .map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    fn write(root: &Path, files: &[(String, &str)]) {
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

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
        let long = format!(
            "{{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"x\":\"{}\"}}\n",
            "x".repeat(300_000)
        );
        write(
            root.path(),
            &[
                (format!("projects/-p/{SESSION}.jsonl"), line),
                (format!("projects/-p/{SESSION}/subagents/agent-a1.jsonl"), line),
                (format!("projects/-p/{SESSION}/subagents/agent-a1.meta.json"), "{}"),
                (format!("projects/-p/{SESSION}/tool-results/x.jsonl"), "{}\n"),
                ("projects/-p/memory/notes.md".to_owned(), "x"),
                ("projects/-p/export.jsonl".to_owned(), line),
                ("projects/-p/long.jsonl".to_owned(), &long),
                ("projects/-p/ruined.jsonl".to_owned(), "nothing left\n"),
                ("transcripts/ses_1.jsonl".to_owned(), "{\"type\":\"user\",\"content\":\"x\"}\n"),
                ("history.jsonl".to_owned(), "{\"display\":\"x\",\"sessionId\":\"s\"}\n"),
            ],
        );
        let main = format!("{SESSION}.jsonl");
        let mut placed = Selection::default();
        placed.add_projects(&root.path().join("projects"));
        assert_eq!(names(&placed), ["agent-a1.jsonl", &main]);
        assert_eq!(placed.files.iter().map(TranscriptFile::subagents).sum::<u64>(), 1);
        let mut found = Selection::default();
        found.add_folder(root.path());
        assert_eq!(names(&found), ["agent-a1.jsonl", &main, "export.jsonl", "long.jsonl", "ruined.jsonl"]);
        assert_eq!(found.skipped, 3);
    }

    #[test]
    fn old_subagents_belong_to_the_session_that_their_lines_name() {
        let root = tempfile::tempdir().unwrap();
        let line =
            format!("{{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"{SESSION}\"}}\n");
        write(
            root.path(),
            &[
                (format!("projects/-p/{SESSION}.jsonl"), &line),
                ("projects/-p/agent-a1.jsonl".to_owned(), &line),
                ("projects/-p/agent-a2.jsonl".to_owned(), &line.replace(SESSION, "another")),
            ],
        );
        let mut found = Selection::default();
        found.add_projects(&root.path().join("projects"));
        let sessions: Vec<_> = found.files.iter().map(|file| file.session.as_deref().unwrap()).collect();
        assert_eq!(sessions, [SESSION, SESSION, "another"]);
        assert_eq!(found.files[0].subagents(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_to_folders_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("projects/-p");
        fs::create_dir_all(&project).unwrap();
        std::os::unix::fs::symlink(root.path(), project.join("loop")).unwrap();
        std::os::unix::fs::symlink(&project, root.path().join("projects/-same")).unwrap();
        fs::write(project.join(format!("{SESSION}.jsonl")), "").unwrap();
        let mut found = Selection::default();
        found.add_projects(&root.path().join("projects"));
        assert_eq!((found.files.len(), found.errors.len()), (1, 0));
    }
}
