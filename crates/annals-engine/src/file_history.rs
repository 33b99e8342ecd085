//! The files that a session changed, and the backups that Claude Code keeps of them. `docs/FORMAT.md` describes the records
//! that are read here, under "File history".
//!
//! Before a file is changed, Claude Code copies it to `file-history/<session>/`. A snapshot names the backups of all tracked
//! files at the time of a prompt. Names of backups come from the transcript and are not trusted: only a plain file name in
//! the backup folder of the session is opened.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use annals_transcript::content::Block;
use annals_transcript::entry::view::{FileBackup, FileHistoryDelta, FileHistorySnapshot};
use annals_transcript::paths::ConfigFolder;
use annals_transcript::project::is_session_id;
use annals_transcript::write::rewrite;
use annals_transcript::{Entry, Kind, Reader, tool};
use jiff::Timestamp;
use memchr::memmem;

use crate::catalog::{FileFilter, is_from_root};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{Selection, TranscriptFile, open_regular};

/// The files that a session and its subagents changed.
#[derive(Debug, Default)]
pub struct FileHistory {
    /// The files, by path; also those that no call has changed in the end.
    files: Vec<ChangedFile>,
    /// By message, the versions that files had when it was sent: an index of `files` and one of their versions.
    snapshots: HashMap<String, BTreeMap<usize, usize>>,
    /// The parent of each message. Ids that begin alike are neighbours.
    parents: BTreeMap<String, Option<String>>,
    /// The folder with the backups of the session.
    folder: Option<PathBuf>,
}

/// A file that a session changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedFile {
    /// Its path, from the root where it is known.
    pub path: String,
    /// How many calls of tools changed it. Calls that failed do not count.
    pub edits: u64,
    /// When a tool changed it last.
    pub last_edit_at: Option<Timestamp>,
    /// Its versions, in the order in which they were recorded.
    pub versions: Vec<FileVersion>,
}

/// A version of a file, as a snapshot records it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileVersion {
    /// The number that Claude Code gave to it.
    pub number: u64,
    /// When it was recorded.
    pub made_at: Option<Timestamp>,
    /// The message of the first snapshot that has it: the file had this content when the message was sent.
    pub message: Option<String>,
    /// What is left of it.
    pub backup: Backup,
    /// The name of the backup, as the transcript gives it.
    name: Option<String>,
}

/// What is left of a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backup {
    /// A copy of this many bytes.
    Kept(u64),
    /// There is nothing to keep: the file did not exist.
    NoFile,
    /// The copy is gone.
    Missing,
    /// The transcript names something that is not a file in the backup folder; it is not opened.
    Refused,
}

impl FileHistory {
    /// Returns the files that were changed; a call that failed changed nothing.
    pub fn changed(&self) -> impl Iterator<Item = &ChangedFile> {
        self.files.iter().filter(|file| file.is_changed())
    }

    /// Returns the version that a file had when a message was sent: before everything that was changed in answer to it.
    ///
    /// The message is named by its uuid or the beginning of it. Its own snapshot counts, or else that of the closest message
    /// before it that has one: for a reply, that of its prompt. A file that this snapshot does not have was changed later for
    /// the first time; then its first version counts, as in Claude Code.
    pub fn version_at(&self, wanted: &str, message: &str) -> Result<(&ChangedFile, &FileVersion), Error> {
        let snapshot = self.snapshot_at(message)?;
        let index = self.index(wanted)?;
        let file = &self.files[index];
        let version = file.version_in(snapshot.get(&index));
        let version = version.ok_or_else(|| Error::new(ErrorKind::NoVersion { path: wanted.to_owned() }))?;
        Ok((file, version))
    }

    /// Returns the version that every file had when a message was sent, by the rule of [`version_at`](Self::version_at). Files
    /// without versions are left out.
    pub fn versions_at(&self, message: &str) -> Result<Vec<(&ChangedFile, &FileVersion)>, Error> {
        let snapshot = self.snapshot_at(message)?;
        let files = self.files.iter().enumerate();
        Ok(files.filter_map(|(index, file)| Some((file, file.version_in(snapshot.get(&index))?))).collect())
    }

    /// Returns the content of a version; `None` if the file did not exist.
    pub fn content(&self, version: &FileVersion) -> Result<Option<Vec<u8>>, Error> {
        let Some(name) = &version.name else { return Ok(None) };
        if self.folder.is_none() && is_plain_name(name) {
            return Err(Error::new(ErrorKind::BackupGone));
        }
        let path = self.backup_path(name).ok_or_else(|| Error::new(ErrorKind::StrayBackup))?;
        let mut content = Vec::new();
        let read = open_regular(&path).and_then(|mut file| io::Read::read_to_end(&mut file, &mut content));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::new(ErrorKind::BackupGone)),
            read => read.map(|_| Some(content)).map_err(|source| Error::read(&path, source)),
        }
    }

    /// Returns the file that holds the content of a version, if it is kept.
    pub fn backup_of(&self, version: &FileVersion) -> Option<PathBuf> {
        self.backup_path(version.name.as_deref()?)
    }

    /// Returns the snapshot of a message, or of the closest message before it.
    fn snapshot_at(&self, message: &str) -> Result<&BTreeMap<usize, usize>, Error> {
        let mut at = Some(self.message(message)?);
        let mut seen = HashSet::new();
        while let Some(id) = at.filter(|id| seen.insert(*id)) {
            if let Some(snapshot) = self.snapshots.get(id) {
                return Ok(snapshot);
            }
            at = self.parents.get(id).and_then(Option::as_deref);
        }
        Err(Error::new(ErrorKind::NoSnapshot { id: message.to_owned() }))
    }

    /// Returns the id of the one message whose id begins with a text.
    fn message(&self, beginning: &str) -> Result<&str, Error> {
        if let Some((id, _)) = self.parents.get_key_value(beginning) {
            return Ok(id);
        }
        let from_there = self.ids_in(Bound::Included(beginning), Bound::Unbounded);
        let found = from_there.take_while(|id| !beginning.is_empty() && id.starts_with(beginning));
        match found.collect::<Vec<_>>()[..] {
            [id] => Ok(id),
            ref several => Err(Error::not_one_entry(beginning, several.len())),
        }
    }

    /// Returns the ids of messages in a range, in order.
    fn ids_in(&self, from: Bound<&str>, to: Bound<&str>) -> impl DoubleEndedIterator<Item = &String> {
        self.parents.range::<str, _>((from, to)).map(|(id, _)| id)
    }

    /// Returns the beginning of a message's id that names no other message, so that it can be typed. It has at least 8
    /// characters, if the id has them.
    pub fn short_id<'a>(&self, id: &'a str) -> &'a str {
        const SHORTEST: usize = 8;
        // No other id has more characters in common with this one than its two neighbours have.
        let before = self.ids_in(Bound::Unbounded, Bound::Excluded(id)).next_back();
        let after = self.ids_in(Bound::Excluded(id), Bound::Unbounded).next();
        let common =
            |other: &String| id.chars().zip(other.chars()).take_while(|(one, two)| one == two).count();
        let neighbours = before.into_iter().chain(after);
        let length = neighbours.map(|other| common(other) + 1).max().unwrap_or(0).max(SHORTEST);
        id.char_indices().nth(length).map_or(id, |(end, _)| &id[..end])
    }

    /// Returns the changed files that a path, or the end of one, names.
    pub fn named<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a ChangedFile> + use<'a> {
        let filter = FileFilter::new(path);
        self.changed().filter(move |file| filter.is_file(&file.path))
    }

    /// Returns the one file that has a path, or else whose path ends with it.
    fn index(&self, wanted: &str) -> Result<usize, Error> {
        let filter = FileFilter::new(wanted);
        if let Some(index) = self.files.iter().position(|file| filter.is_path(&file.path)) {
            return Ok(index);
        }
        let found = self.files.iter().enumerate().filter(|(_, file)| filter.is_file(&file.path));
        match found.collect::<Vec<_>>()[..] {
            [(index, _)] => Ok(index),
            [] => Err(Error::new(ErrorKind::NoChangedFile { path: wanted.to_owned() })),
            ref several => {
                let candidates = several.iter().map(|(_, file)| file.path.clone()).collect();
                Err(Error::new(ErrorKind::AmbiguousFile { path: wanted.to_owned(), candidates }))
            }
        }
    }

    /// Returns the path of a backup, if its name is a plain file name and a regular file may be there.
    fn backup_path(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.as_ref()?.join(Some(name).filter(|name| is_plain_name(name))?);
        // A link may lead anywhere.
        let is_link = path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file());
        (!is_link).then_some(path)
    }

    fn backup(&self, name: Option<&str>) -> Backup {
        let Some(name) = name else { return Backup::NoFile };
        if !is_plain_name(name) {
            return Backup::Refused;
        }
        let Some(folder) = &self.folder else { return Backup::Missing };
        match folder.join(name).symlink_metadata() {
            Ok(metadata) if metadata.is_file() => Backup::Kept(metadata.len()),
            Ok(_) => Backup::Refused,
            Err(_) => Backup::Missing,
        }
    }
}

/// Returns whether a name is that of a file in a folder, on every system: no path, no drive, no special name.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('.')
        && !name.contains(|c: char| c.is_control() || matches!(c, '/' | '\\' | ':'))
}

pub(crate) fn file_history(
    engine: &Engine,
    file: &TranscriptFile,
    only_inside: bool,
) -> Result<FileHistory, Error> {
    let mut agents = Selection::default();
    agents.add_subagents(file);
    if only_inside {
        let mut guard = engine.symlink_guard();
        agents.files.retain(|agent| guard.allows(&agent.path));
    }
    let mut found = Records::default();
    found.read(&file.path)?;
    for agent in &agents.files {
        // What the session itself changed is worth more than the reason why an agent's file cannot be read.
        let _ = found.read(&agent.path);
    }
    Ok(found.into_history(backup_folder(file)))
}

/// Returns the folder with the backups of a session. A link is not followed: its name comes from a transcript's path.
fn backup_folder(file: &TranscriptFile) -> Option<PathBuf> {
    let session = file.session.as_deref().filter(|session| is_session_id(session))?;
    let folder = ConfigFolder::of_transcript(&file.path)?.file_history(session);
    folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()).then_some(folder)
}

/// What transcripts record about files, with paths as they are written.
#[derive(Default)]
struct Records {
    cwd: Option<String>,
    /// The files, by path as written.
    files: Vec<RecordedFile>,
    by_path: HashMap<String, usize>,
    /// The versions of files, by number and by the name of the backup.
    known_versions: HashMap<(usize, u64, Option<String>), usize>,
    snapshots: HashMap<String, BTreeMap<usize, usize>>,
    parents: BTreeMap<String, Option<String>>,
    /// Calls without a result so far: the file that each would change.
    open_calls: HashMap<String, usize>,
    /// Calls that were counted, because a line may be in a file twice.
    done_calls: HashSet<String>,
}

#[derive(Default)]
struct RecordedFile {
    path: String,
    edits: u64,
    last_edit_at: Option<Timestamp>,
    versions: Vec<FileVersion>,
}

impl Records {
    fn read(&mut self, path: &Path) -> Result<(), Error> {
        self.read_entries(path).map_err(|source| Error::read(path, source))
    }

    fn read_entries(&mut self, path: &Path) -> io::Result<()> {
        let mut reader = Reader::new(open_regular(path)?);
        while let Some(entry) = reader.read()? {
            self.add(&entry);
        }
        Ok(())
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let head = entry.head();
        if let Some(id) = head.id {
            let parent = head.parent.or(head.logical_parent).map(|parent| parent.decode().into_owned());
            self.parents.insert(id.decode().into_owned(), parent);
        }
        if self.cwd.is_none() && head.kind.is_message() {
            self.cwd = head.cwd.map(|cwd| cwd.decode().into_owned());
        }
        match entry.kind() {
            Kind::FileHistorySnapshot => self.add_snapshot(entry),
            Kind::FileHistoryDelta => self.add_delta(entry),
            Kind::Assistant if has(entry, b"tool_use") => self.add_calls(entry),
            Kind::User if has(entry, b"tool_result") => self.add_results(entry),
            _ => {}
        }
    }

    fn add_snapshot(&mut self, entry: &Entry<'_>) {
        let Some(snapshot) = entry.view::<FileHistorySnapshot>() else { return };
        let Some(message) = snapshot.message_id() else { return };
        self.snapshots.entry(message.clone().into_owned()).or_default();
        for (path, backup) in snapshot.backups() {
            self.add_backup(&message, &path, &backup);
        }
    }

    fn add_delta(&mut self, entry: &Entry<'_>) {
        let Some(delta) = entry.view::<FileHistoryDelta>() else { return };
        if let (Some(message), Some(path), Some(backup)) =
            (delta.snapshot_message_id(), delta.path(), delta.backup())
        {
            self.add_backup(&message, &path, &backup);
        }
    }

    fn add_backup(&mut self, message: &str, path: &str, backup: &FileBackup<'_>) {
        let number = backup.version().unwrap_or(0);
        let name = backup.file_name().map(String::from);
        let file = self.file(path);
        let versions = &mut self.files[file].versions;
        // Most snapshots repeat the versions of the one before.
        let version = *self.known_versions.entry((file, number, name.clone())).or_insert_with(|| {
            let message = Some(message.to_owned());
            let made_at = backup.made_at();
            versions.push(FileVersion { number, made_at, message, backup: Backup::NoFile, name });
            versions.len() - 1
        });
        self.snapshots.entry(message.to_owned()).or_default().insert(file, version);
        // The message may not be in the transcript, but it names versions all the same.
        self.parents.entry(message.to_owned()).or_insert(None);
    }

    fn add_calls(&mut self, entry: &Entry<'_>) {
        for block in entry.content().blocks() {
            let Block::ToolUse(call) = block else { continue };
            if let (Some(id), Some(path)) = (call.id(), tool::changed_file(&call)) {
                let file = self.file(&path);
                self.open_calls.insert(id.into_owned(), file);
            }
        }
    }

    fn add_results(&mut self, entry: &Entry<'_>) {
        for block in entry.content().blocks() {
            let Block::ToolResult(result) = block else { continue };
            let Some(id) = result.tool_use_id() else { continue };
            let Some(file) = self.open_calls.remove(&*id) else { continue };
            if result.is_error() || !self.done_calls.insert(id.into_owned()) {
                continue;
            }
            let file = &mut self.files[file];
            file.edits += 1;
            file.last_edit_at = file.last_edit_at.max(entry.head().time());
        }
    }

    /// Returns the index of a file, by its path as written.
    fn file(&mut self, path: &str) -> usize {
        if let Some(index) = self.by_path.get(path) {
            return *index;
        }
        self.files.push(RecordedFile { path: path.to_owned(), ..RecordedFile::default() });
        self.by_path.insert(path.to_owned(), self.files.len() - 1);
        self.files.len() - 1
    }

    /// Joins what is recorded under several spellings of a path, and looks for the backups.
    fn into_history(self, folder: Option<PathBuf>) -> FileHistory {
        let mut history = FileHistory { parents: self.parents, folder, ..FileHistory::default() };
        let cwd = self.cwd.as_deref();
        let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, file) in self.files.iter().enumerate() {
            let key = FileFilter::new(&from_root(&file.path, cwd)).into_key();
            by_key.entry(key).or_default().push(index);
        }
        // Where each recorded file and version went.
        let mut places: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut recorded: Vec<_> = self.files.into_iter().map(Some).collect();
        for (new_index, indices) in by_key.into_values().enumerate() {
            let mut joined = ChangedFile::default();
            for index in indices {
                let Some(file) = recorded[index].take() else { continue };
                places.insert(index, (new_index, joined.versions.len()));
                joined.add(file, cwd);
            }
            history.files.push(joined);
        }
        let moved = |(file, version): (usize, usize)| {
            let (place, before) = places[&file];
            (place, before + version)
        };
        history.snapshots = self
            .snapshots
            .into_iter()
            .map(|(message, versions)| (message, versions.into_iter().map(moved).collect()))
            .collect();
        history.look_for_backups();
        history
    }
}

impl ChangedFile {
    fn add(&mut self, file: RecordedFile, cwd: Option<&str>) {
        if self.path.is_empty() {
            self.path = from_root(&file.path, cwd);
        }
        self.edits += file.edits;
        self.last_edit_at = self.last_edit_at.max(file.last_edit_at);
        self.versions.extend(file.versions);
    }

    /// Returns the version that a snapshot has, by its index; the first one if the snapshot has none.
    fn version_in(&self, snapshot: Option<&usize>) -> Option<&FileVersion> {
        match snapshot {
            Some(version) => self.versions.get(*version),
            None => self.versions.iter().min_by_key(|version| version.number),
        }
    }

    /// Returns whether anything is known to have changed.
    fn is_changed(&self) -> bool {
        self.edits > 0 || !self.versions.is_empty()
    }
}

impl FileHistory {
    fn look_for_backups(&mut self) {
        for index in 0..self.files.len() {
            for version in 0..self.files[index].versions.len() {
                let name = self.files[index].versions[version].name.clone();
                self.files[index].versions[version].backup = self.backup(name.as_deref());
            }
        }
    }
}

/// Returns a path from the root: one that is relative belongs to the working directory of the session.
fn from_root(path: &str, cwd: Option<&str>) -> String {
    match cwd {
        Some(cwd) if !is_from_root(path) => {
            let separator = if cwd.contains('\\') && !cwd.contains('/') { '\\' } else { '/' };
            format!("{}{separator}{path}", cwd.trim_end_matches(['/', '\\']))
        }
        _ => path.to_owned(),
    }
}

fn has(entry: &Entry<'_>, needle: &[u8]) -> bool {
    memmem::find(entry.bytes(), needle).is_some()
}

/// Writes a restored file: a temporary file beside it, synced and renamed. `expected` is what the caller has seen there;
/// if there is something else by now, nothing is written.
pub(crate) fn write_restored(
    engine: &Engine,
    target: &Path,
    expected: Option<&[u8]>,
    content: &[u8],
    backup: Option<&Path>,
) -> Result<(), Error> {
    refuse_odd_target(target)?;
    let mut is_expected = false;
    rewrite::update(&**engine.disk(), target, |there| {
        is_expected = there == expected;
        is_expected.then(|| content.to_vec())
    })?;
    if !is_expected {
        return Err(Error::new(ErrorKind::ChangedMeanwhile { path: target.to_owned() }));
    }
    let like = backup.filter(|_| expected.is_none()).and_then(|backup| fs::metadata(backup).ok());
    if let Some(like) = like {
        let now = std::time::SystemTime::now();
        let set = engine.disk().set_attributes(target, like.permissions(), now);
        set.map_err(|source| Error::write(target, source))?;
    }
    Ok(())
}

/// Returns what is at a path, if it is a regular file.
pub(crate) fn before_restoring(target: &Path) -> Result<Option<Vec<u8>>, Error> {
    refuse_odd_target(target)?;
    match fs::read(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(|source| Error::read(target, source)),
    }
}

/// Fails if a path leads to something that must not be replaced: a link, a folder, a device.
fn refuse_odd_target(target: &Path) -> Result<(), Error> {
    match target.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::new(ErrorKind::NotReplaceable { path: target.to_owned() }))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(ids: impl IntoIterator<Item = String>) -> FileHistory {
        FileHistory { parents: ids.into_iter().map(|id| (id, None)).collect(), ..FileHistory::default() }
    }

    #[test]
    fn a_short_id_names_one_message() {
        let ids = ["0123456789", "01234567ab", "茶茶茶茶茶茶茶茶茶一", "茶茶茶茶茶茶茶茶茶丁", "x", "xy"];
        let history = history(ids.map(str::to_owned));
        for (id, short) in [
            ("0123456789", "012345678"),
            ("01234567ab", "01234567a"),
            ("茶茶茶茶茶茶茶茶茶一", "茶茶茶茶茶茶茶茶茶一"),
            ("x", "x"),
            ("0123456x", "0123456x"),
            ("012345670000", "012345670"),
        ] {
            assert_eq!(history.short_id(id), short);
        }
        for (beginning, id) in
            [("012345678", "0123456789"), ("茶茶茶茶茶茶茶茶茶丁", "茶茶茶茶茶茶茶茶茶丁"), ("x", "x")]
        {
            assert_eq!(history.message(beginning).unwrap(), id);
        }
        for beginning in ["", "0123", "茶", "y"] {
            assert!(history.message(beginning).is_err(), "{beginning}");
        }
    }

    /// Comparing each id with all others would take 10 billion comparisons of 30 characters, which no test run survives.
    #[test]
    fn short_ids_of_very_many_messages_are_found_by_their_neighbours() {
        let id = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
        let history = history((0..100_000).map(id));
        for number in 0..100_000 {
            assert_eq!(history.short_id(&id(number)), id(number));
        }
    }
}
