//! Deleting sessions so that they can be restored.
//!
//! Every deletion makes an entry of the trash of its own (see `trash/entry.rs`). The order of steps makes every
//! interruption recoverable:
//!
//! - `delete` makes the folder of the entry under a name that says `moving`, writes the manifest and syncs it, moves the
//!   files, the transcript last, and then renames the folder to its final name.
//! - `restore` renames the folder back to `moving`, moves the files to where they belong, the transcript last, and removes
//!   the folder.
//! - Whatever is found in a folder that says `moving` belongs to the session on disk. The next operation on the session
//!   puts it back ([`Engine::finish_moves`]), whichever of the two was interrupted.
//! - `purge` renames the folder to `purging`, from where nothing comes back, and removes it.
//!
//! Nothing is moved over an existing file: `trash/transfer.rs` has the moves.

mod entry;
mod transfer;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::project::resolve;
use annals_transcript::write::{Access, rewrite};
use jiff::{SignedDuration, Timestamp};

use crate::engine::{Engine, title};
use crate::error::{Error, ErrorKind};
use crate::files::{Selection, TranscriptFile, ends, project_folders};
use crate::index_file;
use crate::live::root_of;
use crate::title::own_target;
use entry::{Entry, MANIFEST, Manifest, Name, Stage};
use transfer::{Comparison, children, compare, is_writable};

/// A file or folder that belongs to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belonging {
    /// Where it lies.
    pub path: PathBuf,
    /// How many bytes it has, with all that is in it.
    pub size: u64,
}

/// An entry of the trash: a session as it was deleted at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// The session.
    pub session: String,
    /// Which of the session's entries it is. Later entries have ids that sort behind earlier ones.
    pub entry: String,
    /// Its title, if it had one.
    pub title: Option<String>,
    /// The working directory that it is about, if that is known.
    pub project: Option<PathBuf>,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// How many bytes it has.
    pub size: u64,
    /// Where its transcript was.
    pub transcript: PathBuf,
    /// Whether deleting or restoring it was interrupted, or goes on right now.
    pub is_unfinished: bool,
}

impl From<Entry> for Trashed {
    fn from(entry: Entry) -> Self {
        let is_unfinished = entry.name.stage == Stage::Moving;
        let Entry { name, folder, manifest } = entry;
        Self {
            session: manifest.session,
            entry: name.id,
            title: manifest.title,
            project: manifest.project.map(PathBuf::from),
            deleted_at: manifest.deleted_at,
            size: manifest.size.unwrap_or_else(|| size_of_items(&folder)),
            transcript: manifest.items.last().cloned().unwrap_or_default(),
            is_unfinished,
        }
    }
}

/// What belongs to a session.
impl Engine {
    /// Returns everything on disk that belongs to a session alone, the transcript last. Files that the client keeps by
    /// the id of a session are left out while another transcript has the same id.
    pub fn belongings(&self, file: &TranscriptFile) -> Result<Vec<Belonging>, Error> {
        let transcript = own_target(file)?.path();
        let session = file.session.as_deref().unwrap_or_default();
        let mut paths = vec![transcript.with_extension("")];
        let mut agents = Selection::default();
        agents.add_subagents(file);
        // Subagents of old versions lie beside the session, all others in its folder.
        let beside = agents
            .files
            .into_iter()
            .map(|agent| agent.path)
            .filter(|path| path.parent() == transcript.parent());
        paths.extend(beside.flat_map(|path| [path.with_extension("meta.json"), path]));
        if let Some(root) = root_of(&transcript).filter(|root| !has_copy(root, &transcript)) {
            paths.extend(files_by_session_id(&root, session));
        }
        paths.push(transcript);
        paths.retain(|path| path.symlink_metadata().is_ok());
        Ok(paths.into_iter().map(|path| Belonging { size: size(&path), path }).collect())
    }
}

/// Returns where the client keeps files of a session by its id, whatever the project.
fn files_by_session_id(root: &Path, session: &str) -> Vec<PathBuf> {
    let folders = ["file-history", "tasks", "session-env"];
    let mut paths: Vec<_> = folders.iter().map(|folder| root.join(folder).join(session)).collect();
    paths.push(root.join("debug").join(format!("{session}.txt")));
    let todos = children(&root.join("todos")).unwrap_or_default();
    let beginning = format!("{session}-agent-");
    let is_ours =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&beginning));
    paths.extend(todos.into_iter().filter(is_ours));
    paths
}

/// Returns whether another project of a root has a transcript of the same session.
fn has_copy(root: &Path, transcript: &Path) -> bool {
    let (Some(name), Some(folder)) = (transcript.file_name(), transcript.parent()) else { return false };
    // The transcript may be a link itself, and what it leads to is another one.
    let own = resolve(folder).join(name);
    let folders = project_folders(&root.join("projects")).unwrap_or_default();
    let is_another = |folder: &PathBuf| {
        let path = folder.join(name);
        path.is_file() && resolve(folder).join(name) != own && resolve(&path) != own
    };
    folders.iter().any(is_another)
}

/// Deleting.
impl Engine {
    /// Moves a session with everything that belongs to it to an entry of the trash. If that fails, the session is where it
    /// was.
    pub fn delete(&self, file: &TranscriptFile, force: bool) -> Result<Trashed, Error> {
        self.ensure_at_rest(file, force)?;
        let not_a_session = || Error::new(ErrorKind::NotASession { path: file.path.clone() });
        let session = file.session.clone().ok_or_else(not_a_session)?;
        let _session = self.take_alone(&file.path, &session)?;
        if !file.path.exists() {
            return Err(Error::new(ErrorKind::NotFound { selector: session }));
        }
        let path = own_target(file)?.path();
        let _transcript = rewrite::hold(&**self.disk(), &path)?;
        // What an interrupted rewrite left has lines of the session, and nobody else would remove it any more. A failure
        // must not keep the session from being deleted.
        let _ = rewrite::remove_left(&**self.disk(), &path);
        let belongings = self.belongings(file)?;
        let size = belongings.iter().map(|belonging| belonging.size).sum();
        let items = belongings.into_iter().map(|belonging| belonging.path).collect();
        let entry = self.new_entry(file, items, size)?;
        let moved =
            self.move_in(&entry, file).and_then(|()| self.set_stage(entry.name.clone(), Stage::Complete));
        moved.map(Trashed::from).inspect_err(|_| {
            // What cannot be put back now is put back by the next operation on the session.
            let _ = self.put_back(&entry);
        })
    }

    /// Puts a second copy of a transcript into an entry of the trash, before something else takes its place.
    pub(crate) fn keep_copy(&self, file: &TranscriptFile) -> Result<Trashed, Error> {
        let entry = self.new_entry(file, vec![own_target(file)?.path()], size(&file.path))?;
        let item = entry.transcript().expect("the transcript was given");
        // A link stays what it is; the file that it leads to is the one that is replaced.
        let original = resolve(item.path);
        // A second name keeps also what others append until the very moment in which the file is replaced.
        let kept = match self.disk().link(&original, &item.place) {
            Ok(()) => Ok(()),
            Err(_) => self.copy_new(&original, &item.place, &entry.folder.join(COPY)).map(|_| ()),
        };
        kept.and_then(|()| self.set_stage(entry.name.clone(), Stage::Complete))
            .map(Trashed::from)
            .inspect_err(|_| {
                let _ = self.put_back(&entry);
            })
    }

    /// Makes the folder of an entry, with a manifest that is synced. Of one session no two entries have the same time.
    fn new_entry(&self, file: &TranscriptFile, items: Vec<PathBuf>, size: u64) -> Result<Entry, Error> {
        let session = file.session.clone().unwrap_or_default();
        let trash = self.home().trash();
        let earlier = entry::names(&trash).filter(|name| name.session == session);
        let a_moment = SignedDuration::from_millis(1);
        let after = |name: Name| Entry::read(&trash, name)?.manifest.deleted_at.checked_add(a_moment).ok();
        let after_last = earlier.filter_map(after).max();
        let mut manifest = Manifest {
            title: title(&file.path).map(|title| title.text),
            project: ends(&file.path).and_then(|lite| lite.cwd),
            deleted_at: after_last.unwrap_or(Timestamp::MIN).max(Timestamp::now()),
            size: Some(size),
            items,
            index_entry: index_file::entry(file),
            session,
        };
        // Before anything is made, so that a path that cannot be spelled leaves nothing behind.
        manifest.json()?;
        self.make_folder(&trash)?;
        loop {
            let name = Name::new(&manifest.session, manifest.deleted_at);
            let folder = name.folder(&trash, Stage::Moving);
            let is_taken = name.folder(&trash, Stage::Complete).exists();
            match self.disk().create_new_folder(&folder) {
                Ok(()) if !is_taken => {
                    let written = self.write_manifest(&folder, &manifest);
                    let entry = Entry { name, folder, manifest };
                    return written.map(|()| entry);
                }
                Ok(()) => self.remove_all(&folder)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::write(&folder, source)),
            }
            // Behind the end of the calendar, where only a damaged manifest leads, any time will do that is free.
            manifest.deleted_at =
                manifest.deleted_at.checked_add(a_moment).unwrap_or_else(|_| Timestamp::now());
        }
    }

    fn write_manifest(&self, folder: &Path, manifest: &Manifest) -> Result<(), Error> {
        let json = manifest.json()?;
        let written =
            rewrite::replace(&**self.disk(), &folder.join(MANIFEST), |out| out.write_all(json.as_bytes()));
        written.map_err(Error::from).and_then(|()| self.sync(&self.home().trash())).inspect_err(|_| {
            // If this fails, too, the next operation on the session removes it.
            let _ = self.remove_all(folder);
        })
    }

    fn move_in(&self, entry: &Entry, file: &TranscriptFile) -> Result<(), Error> {
        for item in entry.items() {
            if Some(item.path) == entry.manifest.items.last().map(PathBuf::as_path) {
                index_file::remove(self, file)?;
            }
            self.move_new(item.path, &item.place, &entry.folder.join(COPY))?;
        }
        self.sync(&entry.folder)
    }
}

/// The name of a copy in an entry until it is complete.
const COPY: &str = "copy";

/// Looking into the trash.
impl Engine {
    /// Returns what is in the trash, the newest first.
    pub fn trashed(&self) -> Vec<Trashed> {
        let mut found: Vec<_> = self.entries().map(Trashed::from).collect();
        found.sort_by(|a, b| b.deleted_at.cmp(&a.deleted_at).then_with(|| a.session.cmp(&b.session)));
        found
    }

    /// Returns the folders in the trash whose manifests cannot be read. What is in them stays there.
    pub fn unreadable_entries(&self) -> Vec<PathBuf> {
        let trash = self.home().trash();
        let kept = entry::names(&trash).filter(|name| name.stage != Stage::Purging);
        let unreadable = kept.filter(|name| Entry::read(&trash, name.clone()).is_none());
        let folders = unreadable.map(|name| (name.stage, name.folder(&trash, name.stage)));
        // The folder of an entry that is just being made holds nothing but the manifest that is being written.
        let is_manifest_draft = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name != MANIFEST && name.contains(MANIFEST)
        };
        let is_begun = |(stage, folder): &(Stage, PathBuf)| {
            *stage == Stage::Moving
                && children(folder).is_ok_and(|children| children.iter().all(is_manifest_draft))
        };
        folders.filter(|folder| !is_begun(folder)).map(|(_, folder)| folder).collect()
    }

    fn entries(&self) -> impl Iterator<Item = Entry> + use<> {
        let trash = self.home().trash();
        let names = entry::names(&trash).filter(|name| name.stage != Stage::Purging);
        names.filter_map(move |name| Entry::read(&trash, name))
    }

    /// Finds a session in the trash by its id, the beginning of it, or its title; the newest of its entries unless one is
    /// named. Entries of other roots, whose sessions may have the same id, are meant only if these have none.
    pub fn in_trash(&self, selector: &str, entry: Option<&str>) -> Result<Trashed, Error> {
        let mut found = self.trashed_as(selector);
        if let Some(entry) = entry.filter(|_| !found.is_empty()) {
            found.retain(|trashed| trashed.entry == entry);
            if found.is_empty() {
                let (selector, entry) = (selector.to_owned(), entry.to_owned());
                return Err(Error::new(ErrorKind::NoTrashEntry { selector, entry }));
            }
        }
        if found.iter().any(|trashed| self.has_place_for(trashed)) {
            found.retain(|trashed| self.has_place_for(trashed));
        }
        match &found[..] {
            [] => Err(Error::new(ErrorKind::NotInTrash { selector: selector.to_owned() })),
            [first, rest @ ..] if rest.iter().all(|other| other.session == first.session) => {
                Ok(first.clone())
            }
            several => {
                let sessions: BTreeSet<_> =
                    several.iter().map(|one| (one.session.clone(), one.transcript.clone())).collect();
                Err(Error::ambiguous(selector, sessions.into_iter()))
            }
        }
    }

    fn trashed_as(&self, selector: &str) -> Vec<Trashed> {
        let mut found = self.trashed();
        found.retain(|trashed| {
            selector.len() >= 4 && trashed.session.starts_with(selector)
                || trashed.title.as_deref() == Some(selector)
        });
        found
    }

    /// Returns whether a session of the trash was deleted from one of these folders of the client.
    pub fn has_place_for(&self, trashed: &Trashed) -> bool {
        let root = resolved_root(&trashed.transcript);
        self.roots().projects().any(|projects| {
            // `projects` itself may be a link, so that a session lies below another folder than the config folder.
            trashed.transcript.starts_with(&projects)
                || trashed.transcript.starts_with(resolve(&projects))
                || projects.parent().is_some_and(|folder| resolve(folder) == root)
        })
    }

    /// Returns the entry with an id, at whatever stage it is now.
    fn entry(&self, trashed: &Trashed) -> Result<Entry, Error> {
        let is_it = |entry: &Entry| entry.name.session == trashed.session && entry.name.id == trashed.entry;
        let selector = trashed.session.clone();
        self.entries().find(is_it).ok_or_else(|| Error::new(ErrorKind::NotInTrash { selector }))
    }
}

/// Restoring, and removing for good.
impl Engine {
    /// Makes sure that an entry can be restored: all of it is there, and nothing else in its place.
    pub fn ensure_restorable(&self, trashed: &Trashed) -> Result<(), Error> {
        ensure_restorable(&self.entry(trashed)?)
    }

    /// Puts an entry of the trash back where it was. If something else stands there by now, nothing is moved.
    pub fn restore(&self, trashed: &Trashed) -> Result<PathBuf, Error> {
        let _session = self.lock_session(&trashed.session, Access::Exclusive)?;
        let mut entry = self.entry(trashed)?;
        ensure_confined(&entry)?;
        transcript_of(&entry)?;
        if entry.name.stage == Stage::Complete {
            self.finish_moves(&trashed.transcript, &trashed.session)?;
            ensure_restorable(&entry)?;
            entry = self.set_stage(entry.name, Stage::Moving)?;
        }
        // Somebody else may have written there meanwhile. The second attempt then finds what is in the way, and leaves the entry
        // complete.
        let put_back = self.put_back(&entry).or_else(|_| self.put_back(&entry));
        match put_back? {
            Some(path) => Err(Error::new(ErrorKind::InTheWay { path })),
            None => Ok(trashed.transcript.clone()),
        }
    }

    /// Puts the transcript of an entry in the place of the one that is on disk by now, which moves to a trash entry of its own;
    /// returns that entry, or `None` if nothing was on disk any more. The restored entry stays in the trash: a program that had the
    /// file open when it was replaced may still append to it. Only an entry that holds nothing but a transcript can be restored in this way: `hydrate` makes such
    /// entries, because it leaves the side files of a session where they are.
    pub fn restore_over(&self, trashed: &Trashed, force: bool) -> Result<Option<Trashed>, Error> {
        let file = TranscriptFile {
            path: trashed.transcript.clone(),
            session: Some(trashed.session.clone()),
            agent: None,
        };
        self.ensure_at_rest(&file, force)?;
        let _session = self.take_alone(&file.path, &trashed.session)?;
        let entry = self.entry(trashed)?;
        let item = replaceable(&entry)?;
        let cannot_read = |source| Error::read(&item.place, source);
        let mut source = File::open(&item.place).map_err(cannot_read)?;
        let mut replaced = None;
        let swapped = rewrite::replace_by_copy(&**self.disk(), &file.path, &mut source, || {
            replaced = Some(self.keep_copy(&file)?);
            Ok::<_, Error>(())
        });
        if let Err(error) = swapped {
            // Nothing was replaced. If this fails, too, the trash has a copy too many.
            let _ = replaced.map(|copy| self.discard(&copy));
            return Err(error);
        }
        Ok(replaced)
    }

    /// Makes sure that an entry can be restored in place of the transcript that is on disk.
    pub fn ensure_replaceable(&self, trashed: &Trashed) -> Result<(), Error> {
        let entry = self.entry(trashed)?;
        let item = replaceable(&entry)?;
        File::open(&item.place).map(drop).map_err(|source| Error::read(&item.place, source))
    }

    /// Removes an entry from the trash for good.
    pub fn purge(&self, trashed: &Trashed) -> Result<(), Error> {
        let _session = self.take_alone(&trashed.transcript, &trashed.session)?;
        self.discard(trashed)
    }

    /// Removes an entry. The caller holds the lock of the session.
    pub(crate) fn discard(&self, trashed: &Trashed) -> Result<(), Error> {
        let name = self.entry(trashed)?.name;
        let folder = name.folder(&self.home().trash(), Stage::Purging);
        self.set_stage(name, Stage::Purging)?;
        self.remove_all(&folder)
    }

    /// Finds the session that an operation is to change. If restoring it was interrupted, that is finished first.
    pub fn session_to_change(&self, selector: &OsStr) -> Result<TranscriptFile, Error> {
        match self.session(selector) {
            Err(error) if error.is_not_found() && self.finish_interrupted(&selector.to_string_lossy())? => {
                self.session(selector)
            }
            found => found,
        }
    }

    /// Finishes what was interrupted of those sessions in these folders of the client that a name may mean; returns whether
    /// there was anything. A session whose restoring was interrupted is found on disk afterwards.
    pub fn finish_interrupted(&self, selector: &str) -> Result<bool, Error> {
        let mut interrupted = self.trashed_as(selector);
        interrupted.retain(|trashed| trashed.is_unfinished && self.has_place_for(trashed));
        for trashed in &interrupted {
            self.take_alone(&trashed.transcript, &trashed.session)?;
        }
        Ok(!interrupted.is_empty())
    }

    /// Puts back what an interrupted operation left in the trash. The caller holds the lock of the session, so nobody else
    /// is moving files of it.
    pub(crate) fn finish_moves(&self, transcript: &Path, session: &str) -> Result<(), Error> {
        for entry in self.interrupted(transcript, session) {
            self.put_back(&entry)?;
        }
        let trash = self.home().trash();
        for name in entry::names(&trash).filter(|name| name.session == session) {
            let folder = name.folder(&trash, name.stage);
            // Both are only tidied up, and a failure must not keep others from working with the session.
            let _ = match name.stage {
                Stage::Purging => self.remove_all(&folder),
                Stage::Moving if !folder.join(MANIFEST).exists() => self.remove_begun(&folder),
                Stage::Moving | Stage::Complete => Ok(()),
            };
        }
        Ok(())
    }

    /// Removes the folder of an entry that has no manifest yet, as an interrupted deletion leaves it. It stays if somebody
    /// is writing its manifest or if there is anything else in it.
    fn remove_begun(&self, folder: &Path) -> Result<(), Error> {
        rewrite::remove_abandoned(&**self.disk(), &folder.join(MANIFEST))?;
        self.disk().remove_folder(folder).map_err(|source| Error::write(folder, source))
    }

    /// Returns whether an operation on the session was interrupted, if nobody holds its lock exclusively.
    pub(crate) fn has_interrupted_moves(&self, transcript: &Path, session: &str) -> bool {
        self.interrupted(transcript, session).next().is_some()
    }

    fn interrupted(&self, transcript: &Path, session: &str) -> impl Iterator<Item = Entry> {
        let trash = self.home().trash();
        let names = entry::names(&trash)
            .filter(move |name| name.session == session && name.stage == Stage::Moving)
            .collect::<Vec<_>>();
        let entries = names.into_iter().filter_map(move |name| Entry::read(&trash, name));
        // A manifest that names other paths is left to people: it must not keep others from working with the session.
        // So is one of another root, which may not even be there now.
        entries.filter(Entry::is_confined).filter(move |entry| {
            entry.transcript().is_some_and(|item| resolved_root(item.path) == resolved_root(transcript))
        })
    }

    /// Moves the items of an entry back to where they belong and removes the entry. What is on disk already, all of it or
    /// as the beginning of a file that has grown since, is removed from the entry. If something else stands in the place
    /// of an item, that item stays in the entry, which is complete then; the path is returned.
    fn put_back(&self, entry: &Entry) -> Result<Option<PathBuf>, Error> {
        let in_the_way = |item: &entry::Item<'_>| in_the_way(&item.place, item.path, Accept::Beginnings);
        let another_transcript = entry.transcript().and_then(|item| in_the_way(&item));
        let mut left = another_transcript;
        if left.is_none() {
            for item in entry.items() {
                let temporary = entry.temporary(&item);
                self.remove_all(&temporary)?;
                // Every item is put back that can be, whatever is in the way of another.
                let taken = self.put_back_item(&item.place, item.path, &temporary)?;
                left = left.or(taken);
            }
        }
        if left.is_some() {
            self.set_stage(entry.name.clone(), Stage::Complete)?;
            return Ok(left);
        }
        if let (Some(item), Some(index_entry)) = (entry.transcript(), &entry.manifest.index_entry) {
            index_file::restore(self, item.path, &entry.manifest.session, index_entry)?;
        }
        self.remove_emptied(entry)?;
        Ok(None)
    }

    /// Removes the folder of an entry whose items are all on disk. If there is anything else in it, which a damaged manifest
    /// does not name, the entry stays and is complete.
    fn remove_emptied(&self, entry: &Entry) -> Result<(), Error> {
        let Entry { name, folder, .. } = entry;
        self.remove_all(&folder.join(COPY))?;
        let left = children(folder).map_err(|source| Error::read(folder, source))?;
        if left.iter().any(|path| path.file_name().is_some_and(|name| name != MANIFEST)) {
            return self.set_stage(name.clone(), Stage::Complete).map(drop);
        }
        self.remove_all(&folder.join(MANIFEST))?;
        // This fails if there is anything in it by now: a process that takes other locks may still be moving files here.
        self.disk().remove_folder(folder).map_err(|source| Error::write(folder, source))
    }

    /// Moves a file or folder back, into a folder that may be there already; returns a path that is taken by another file.
    fn put_back_item(&self, place: &Path, path: &Path, temporary: &Path) -> Result<Option<PathBuf>, Error> {
        let metadata = match place.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|source| Error::read(place, source))?,
        };
        let Ok(there) = path.symlink_metadata() else {
            self.make_folder(path.parent().unwrap_or(Path::new(".")))?;
            let moved = if metadata.is_dir() && !is_writable(&metadata) {
                self.move_locked_folder_back(place, &metadata, path, temporary)
            } else {
                self.move_new(place, path, temporary)
            };
            return match moved {
                // Somebody else was faster.
                Err(error) if error.is_in_the_way() => Ok(Some(path.to_owned())),
                moved => moved.map(|()| None),
            };
        };
        if metadata.is_dir() && there.is_dir() {
            return self.put_back_folder(place, path, temporary);
        }
        let left = in_the_way(place, path, Accept::Beginnings);
        if left.is_none() {
            self.remove_all(place)?;
        }
        Ok(left)
    }

    /// Moves a folder back that does not let its owner write. Such a folder cannot be moved into another one, so it gets its
    /// permissions when it is there.
    fn move_locked_folder_back(
        &self,
        place: &Path,
        metadata: &Metadata,
        path: &Path,
        temporary: &Path,
    ) -> Result<(), Error> {
        self.make_writable(place, metadata).map_err(|source| Error::write(place, source))?;
        self.move_new(place, path, temporary)?;
        self.copy_attributes(metadata, path).map_err(|source| Error::write(path, source))
    }

    /// Moves what is in a folder back into one that is there already. If that has nothing else in it, it was emptied by an
    /// operation that was interrupted, and gets its permissions and its time back.
    fn put_back_folder(&self, place: &Path, path: &Path, temporary: &Path) -> Result<Option<PathBuf>, Error> {
        let names = |folder: &Path| -> Result<BTreeSet<OsString>, Error> {
            let paths = children(folder).map_err(|source| Error::read(folder, source))?;
            Ok(paths.iter().filter_map(|path| path.file_name().map(OsStr::to_owned)).collect())
        };
        let metadata = place.metadata().map_err(|source| Error::read(place, source))?;
        self.make_writable(place, &metadata).map_err(|source| Error::write(place, source))?;
        let own = names(place)?;
        let mut left = None;
        for name in &own {
            left = left.or(self.put_back_item(&place.join(name), &path.join(name), temporary)?);
        }
        if left.is_none() {
            if names(path)? == own {
                self.copy_attributes(&metadata, path).map_err(|source| Error::write(path, source))?;
            }
            self.disk().remove_folder(place).map_err(|source| Error::write(place, source))?;
        }
        Ok(left)
    }

    /// Renames the folder of an entry for its next stage.
    fn set_stage(&self, name: Name, stage: Stage) -> Result<Entry, Error> {
        let trash = self.home().trash();
        let (from, to) = (name.folder(&trash, name.stage), name.folder(&trash, stage));
        self.disk().rename_new(&from, &to).map_err(|source| Error::write(&to, source))?;
        // If this fails, a loss of power may bring the earlier stage back, which is as good.
        let _ = self.disk().sync_folder(&trash);
        let selector = name.session.clone();
        Entry::read(&trash, Name { stage, ..name })
            .ok_or_else(|| Error::new(ErrorKind::NotInTrash { selector }))
    }

    fn sync(&self, folder: &Path) -> Result<(), Error> {
        self.disk().sync_folder(folder).map_err(|source| Error::write(folder, source))
    }

    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return Ok(());
        }
        self.disk().create_folder(path).map_err(|source| Error::write(path, source))
    }
}

/// Returns the root of a transcript, or else its folder, whatever links lead there.
fn resolved_root(transcript: &Path) -> PathBuf {
    resolve(&root_of(transcript).or_else(|| transcript.parent().map(Path::to_owned)).unwrap_or_default())
}

fn ensure_restorable(entry: &Entry) -> Result<(), Error> {
    ensure_confined(entry)?;
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let transcript = transcript_of(entry)?;
    if !is_there(&transcript.place) && !is_there(transcript.path) {
        return Err(half_purged(entry));
    }
    match entry.items().find_map(|item| in_the_way(&item.place, item.path, Accept::Same)) {
        Some(path) => Err(Error::new(ErrorKind::InTheWay { path })),
        None => Ok(()),
    }
}

/// Returns the transcript of an entry; one whose manifest names none cannot be restored.
fn transcript_of(entry: &Entry) -> Result<entry::Item<'_>, Error> {
    entry.transcript().ok_or_else(|| half_purged(entry))
}

/// Returns the transcript of an entry that holds nothing else.
fn replaceable(entry: &Entry) -> Result<entry::Item<'_>, Error> {
    ensure_confined(entry)?;
    let item = transcript_of(entry)?;
    if entry.manifest.items.len() > 1 {
        return Err(Error::new(ErrorKind::InTheWay { path: item.path.to_owned() }));
    }
    Ok(item)
}

fn half_purged(entry: &Entry) -> Error {
    Error::new(ErrorKind::HalfPurged { session: entry.manifest.session.clone() })
}

fn ensure_confined(entry: &Entry) -> Result<(), Error> {
    let session = entry.manifest.session.clone();
    if entry.is_confined() { Ok(()) } else { Err(Error::new(ErrorKind::StrayManifest { session })) }
}

/// What may be in the place of a file that is moved back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accept {
    /// The same file.
    Same,
    /// The same file, or one that begins with it: a transcript that others appended to.
    Beginnings,
}

/// Returns the file that keeps another one, or one in a folder, from being moved to its place. Folders are joined.
fn in_the_way(from: &Path, to: &Path, accept: Accept) -> Option<PathBuf> {
    let (metadata, there) = (from.symlink_metadata().ok()?, to.symlink_metadata().ok()?);
    if metadata.is_dir() && there.is_dir() {
        let paths = children(from).unwrap_or_default();
        return paths.iter().find_map(|path| in_the_way(path, &to.join(path.file_name()?), accept));
    }
    let is_accepted = match compare(from, to) {
        Ok(Comparison::Same) => true,
        Ok(Comparison::Extended) => accept == Accept::Beginnings,
        Ok(Comparison::Different) | Err(_) => false,
    };
    (!is_accepted).then(|| to.to_owned())
}

/// Returns how many bytes a file has, or a folder with all that is in it.
fn size(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {
            children(path).unwrap_or_default().iter().map(|child| size(child)).sum()
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

/// Returns how many bytes the items of an entry have.
fn size_of_items(folder: &Path) -> u64 {
    let is_item = |path: &&PathBuf| path.file_name().is_some_and(|name| name != MANIFEST);
    children(folder).unwrap_or_default().iter().filter(is_item).map(|path| size(path)).sum()
}
