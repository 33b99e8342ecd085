//! Moving a session from the trash back to its original paths, also after an interruption.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::write::{Access, rewrite};

use super::entry::{self, EntryFolder, MANIFEST, Stage};
use super::transfer::{Comparison, compare, is_writable};
use super::{COPY, TrashEntry, resolved_root};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, children};
use crate::index_file;

pub(crate) fn ensure_restorable(engine: &Engine, trashed: &TrashEntry) -> Result<(), Error> {
    ensure_entry_restorable(&engine.entry(trashed)?)
}

pub(crate) fn restore(engine: &Engine, trashed: &TrashEntry) -> Result<PathBuf, Error> {
    let _session = engine.lock_session(&trashed.session, Access::Exclusive)?;
    let mut entry = engine.entry(trashed)?;
    ensure_confined(&entry)?;
    transcript_of(&entry)?;
    if entry.name.stage == Stage::Complete {
        engine.finish_moves(&trashed.transcript, &trashed.session)?;
        ensure_entry_restorable(&entry)?;
        entry = engine.set_stage(entry.name, Stage::Moving)?;
    }
    // Another program may have created files there meanwhile. The second attempt then finds them, and leaves the entry
    // complete.
    let moved = engine.move_back(&entry).or_else(|_| engine.move_back(&entry));
    match moved? {
        // Another transcript is found before anything is moved.
        Some(path) if path == trashed.transcript => Err(Error::new(ErrorKind::PathTaken { path })),
        Some(path) => Err(Error::new(ErrorKind::PartlyRestored { path })),
        None => Ok(trashed.transcript.clone()),
    }
}

pub(crate) fn restore_over(
    engine: &Engine,
    trashed: &TrashEntry,
    force: bool,
) -> Result<Option<TrashEntry>, Error> {
    let file = TranscriptFile {
        path: trashed.transcript.clone(),
        session: Some(trashed.session.clone()),
        agent: None,
    };
    engine.ensure_not_live(&file, force)?;
    let _session = engine.lock_exclusive(&file.path, &trashed.session)?;
    let entry = engine.entry(trashed)?;
    let item = replaceable(&entry)?;
    let mut source = File::open(&item.stored).map_err(Error::reading(&item.stored))?;
    let mut replaced = None;
    let swapped = rewrite::replace_by_copy(&**engine.disk(), &file.path, &mut source, || {
        replaced = Some(engine.keep_copy(&file)?);
        Ok::<_, Error>(())
    });
    if let Err(error) = swapped {
        // Nothing was replaced. If this fails, too, a needless copy stays in the trash.
        let _ = replaced.map(|kept| engine.discard(&kept.entry));
        return Err(error);
    }
    let replaced = replaced.map(|kept| kept.complete(engine)).transpose()?;
    // The transcripts are swapped. That the index of an old version could not be written does not change that.
    let _ = engine.restore_index_entry(&entry);
    Ok(replaced)
}

pub(crate) fn ensure_replaceable(engine: &Engine, trashed: &TrashEntry) -> Result<(), Error> {
    let entry = engine.entry(trashed)?;
    let item = replaceable(&entry)?;
    File::open(&item.stored).map(drop).map_err(|source| Error::read(&item.stored, source))
}

pub(crate) fn finish_interrupted(engine: &Engine, selector: &str) -> Result<bool, Error> {
    let mut interrupted = engine.trash_entries_named(selector);
    interrupted.retain(|trashed| trashed.is_unfinished && engine.is_from_roots(trashed));
    for trashed in &interrupted {
        engine.lock_exclusive(&trashed.transcript, &trashed.session)?;
    }
    Ok(!interrupted.is_empty())
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

impl Engine {
    /// Moves back what an interrupted operation left in the trash. The caller holds the exclusive lock of the session, so no
    /// other process is moving its files.
    pub(crate) fn finish_moves(&self, transcript: &Path, session: &str) -> Result<(), Error> {
        for entry in self.interrupted(transcript, session) {
            self.move_back(&entry)?;
        }
        let trash = self.home().trash();
        for name in entry::names(&trash).filter(|name| name.session == session) {
            let folder = name.folder(&trash, name.stage);
            // This only cleans up, so a failure must not prevent other operations on the session.
            let _ = match name.stage {
                Stage::Purging => self.remove_all(&folder),
                Stage::Moving if !folder.join(MANIFEST).exists() => self.remove_without_manifest(&folder),
                Stage::Moving | Stage::Complete => Ok(()),
            };
        }
        Ok(())
    }

    /// Removes the folder of an entry that has no manifest, which an interrupted deletion leaves. It stays if another process is
    /// writing its manifest, or if there is anything else in it.
    fn remove_without_manifest(&self, folder: &Path) -> Result<(), Error> {
        rewrite::remove_temporary_file(&**self.disk(), &folder.join(MANIFEST))?;
        self.disk().remove_folder(folder).map_err(|source| Error::write(folder, source))
    }

    /// Returns whether an operation on the session was interrupted. The caller holds a lock of the session: otherwise the
    /// operation may still be in progress.
    pub(crate) fn has_interrupted_moves(&self, transcript: &Path, session: &str) -> bool {
        self.interrupted(transcript, session).next().is_some()
    }

    fn interrupted(&self, transcript: &Path, session: &str) -> impl Iterator<Item = EntryFolder> {
        let trash = self.home().trash();
        let names = entry::names(&trash)
            .filter(move |name| name.session == session && name.stage == Stage::Moving)
            .collect::<Vec<_>>();
        let entries = names.into_iter().filter_map(move |name| EntryFolder::read(&trash, name));
        // An entry that names paths outside of the session, or that is from another root, is skipped, so that it does not
        // prevent operations on the session.
        entries.filter(EntryFolder::is_confined).filter(move |entry| {
            entry.transcript().is_some_and(|item| resolved_root(item.path) == resolved_root(transcript))
        })
    }

    /// Moves the items of an entry back to their original paths and removes the entry. An item that is on disk already, as the
    /// same file or as one that has grown since, is removed from the entry. If another file has the path of an item, that item
    /// stays in the entry, the entry becomes complete, and the path is returned.
    pub(super) fn move_back(&self, entry: &EntryFolder) -> Result<Option<PathBuf>, Error> {
        // If another transcript is on disk, nothing is moved back.
        let mut blocking = entry
            .transcript()
            .and_then(|item| blocking_file(&item.stored, item.path, AllowedAtTarget::GrownFile));
        if blocking.is_none() {
            for item in entry.items() {
                let temporary = entry.temporary(&item);
                self.remove_all(&temporary)?;
                // A blocked item does not prevent moving the others.
                let blocked = self.move_item_back(&item.stored, item.path, &temporary)?;
                blocking = blocking.or(blocked);
            }
        }
        if blocking.is_some() {
            self.set_stage(entry.name.clone(), Stage::Complete)?;
            return Ok(blocking);
        }
        self.restore_index_entry(entry)?;
        self.remove_emptied(entry)?;
        Ok(None)
    }

    /// Adds the session to `sessions-index.json` again, unless the index names it already.
    fn restore_index_entry(&self, entry: &EntryFolder) -> Result<(), Error> {
        match (entry.transcript(), &entry.manifest.index_entry) {
            (Some(item), Some(index_entry)) => {
                index_file::restore(self, item.path, &entry.manifest.session, index_entry)
            }
            _ => Ok(()),
        }
    }

    /// Removes the folder of an entry whose items are all on disk. If it has other files, which a damaged manifest does not
    /// name, the entry stays and becomes complete.
    fn remove_emptied(&self, entry: &EntryFolder) -> Result<(), Error> {
        let EntryFolder { name, folder, .. } = entry;
        self.remove_all(&folder.join(COPY))?;
        let left = children(folder).map_err(|source| Error::read(folder, source))?;
        if left.iter().any(|path| path.file_name().is_some_and(|name| name != MANIFEST)) {
            return self.set_stage(name.clone(), Stage::Complete).map(drop);
        }
        self.remove_all(&folder.join(MANIFEST))?;
        // This fails if the folder is not empty any more: a process that takes other locks may be moving files into it.
        self.disk().remove_folder(folder).map_err(|source| Error::write(folder, source))
    }

    /// Moves a file or folder back. If its folder is on disk already, the two are merged. Returns the path if another file has
    /// it.
    fn move_item_back(&self, stored: &Path, path: &Path, temporary: &Path) -> Result<Option<PathBuf>, Error> {
        let metadata = match stored.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|source| Error::read(stored, source))?,
        };
        let Ok(existing) = path.symlink_metadata() else {
            self.make_folder(path.parent().unwrap_or(Path::new(".")))?;
            let moved = if metadata.is_dir() && !is_writable(&metadata) {
                self.move_read_only_folder_back(stored, &metadata, path, temporary)
            } else {
                self.move_new(stored, path, temporary)
            };
            return match moved {
                // Another process has just created the file.
                Err(error) if error.is_path_taken() => Ok(Some(path.to_owned())),
                moved => moved.map(|()| None),
            };
        };
        if metadata.is_dir() && existing.is_dir() {
            return self.move_folder_back(stored, path, temporary);
        }
        let blocking = blocking_file(stored, path, AllowedAtTarget::GrownFile);
        if blocking.is_none() {
            self.remove_all(stored)?;
        }
        Ok(blocking)
    }

    /// Moves a read-only folder back. Such a folder cannot be moved to another parent, so it is made writable first and gets its
    /// permissions back afterwards.
    fn move_read_only_folder_back(
        &self,
        stored: &Path,
        metadata: &Metadata,
        path: &Path,
        temporary: &Path,
    ) -> Result<(), Error> {
        self.make_writable(stored, metadata).map_err(|source| Error::write(stored, source))?;
        self.move_new(stored, path, temporary)?;
        self.copy_attributes(metadata, path).map_err(|source| Error::write(path, source))
    }

    /// Moves the content of a folder back into a folder that exists already. If that folder then has nothing else, an
    /// interrupted operation had made it, so it gets the original permissions and time.
    fn move_folder_back(
        &self,
        stored: &Path,
        path: &Path,
        temporary: &Path,
    ) -> Result<Option<PathBuf>, Error> {
        let metadata = stored.metadata().map_err(|source| Error::read(stored, source))?;
        self.make_writable(stored, &metadata).map_err(|source| Error::write(stored, source))?;
        let names = names_in(stored)?;
        let mut blocking = None;
        for name in &names {
            blocking = blocking.or(self.move_item_back(&stored.join(name), &path.join(name), temporary)?);
        }
        if blocking.is_none() {
            if names_in(path)? == names {
                self.copy_attributes(&metadata, path).map_err(|source| Error::write(path, source))?;
            }
            self.disk().remove_folder(stored).map_err(|source| Error::write(stored, source))?;
        }
        Ok(blocking)
    }
}

/// Returns the names of the files and folders in a folder.
fn names_in(folder: &Path) -> Result<BTreeSet<OsString>, Error> {
    let paths = children(folder).map_err(|source| Error::read(folder, source))?;
    Ok(paths.iter().filter_map(|path| path.file_name().map(OsStr::to_owned)).collect())
}

fn ensure_entry_restorable(entry: &EntryFolder) -> Result<(), Error> {
    ensure_confined(entry)?;
    let transcript = transcript_of(entry)?;
    if !exists(&transcript.stored) && !exists(transcript.path) {
        return Err(half_purged(entry));
    }
    let blocking =
        entry.items().find_map(|item| blocking_file(&item.stored, item.path, AllowedAtTarget::SameFile));
    match blocking.or_else(|| entry.items().find_map(|item| file_instead_of_folder(item.path))) {
        Some(path) => Err(Error::new(ErrorKind::PathTaken { path })),
        None => Ok(()),
    }
}

/// Returns the file that is in the place of a folder above a path. Nothing could be moved to such a path.
fn file_instead_of_folder(path: &Path) -> Option<PathBuf> {
    let above = path.ancestors().skip(1).find(|folder| exists(folder))?;
    (!above.is_dir()).then(|| above.to_owned())
}

/// Returns the transcript of an entry. Fails if its manifest names none: such an entry cannot be restored.
fn transcript_of(entry: &EntryFolder) -> Result<entry::StoredFile<'_>, Error> {
    entry.transcript().ok_or_else(|| half_purged(entry))
}

/// Returns the transcript of an entry. Fails if the entry has other files, too.
fn replaceable(entry: &EntryFolder) -> Result<entry::StoredFile<'_>, Error> {
    ensure_confined(entry)?;
    let item = transcript_of(entry)?;
    if entry.manifest.items.len() > 1 {
        return Err(Error::new(ErrorKind::PathTaken { path: item.path.to_owned() }));
    }
    Ok(item)
}

fn half_purged(entry: &EntryFolder) -> Error {
    Error::new(ErrorKind::HalfPurged { session: entry.manifest.session.clone() })
}

fn ensure_confined(entry: &EntryFolder) -> Result<(), Error> {
    let session = entry.manifest.session.clone();
    if entry.is_confined() { Ok(()) } else { Err(Error::new(ErrorKind::StrayManifest { session })) }
}

/// Which existing file is accepted at the original path of a file that is moved back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedAtTarget {
    /// The same file.
    SameFile,
    /// The same file, or one that begins with it: a transcript that another process appended to.
    GrownFile,
}

/// Returns the existing file that prevents moving a file, or any file in a folder, to its target. An existing folder does not:
/// folders are merged.
fn blocking_file(from: &Path, to: &Path, allowed: AllowedAtTarget) -> Option<PathBuf> {
    let (metadata, existing) = (from.symlink_metadata().ok()?, to.symlink_metadata().ok()?);
    if metadata.is_dir() && existing.is_dir() {
        let paths = children(from).unwrap_or_default();
        return paths.iter().find_map(|path| blocking_file(path, &to.join(path.file_name()?), allowed));
    }
    let is_accepted = match compare(from, to) {
        Ok(Comparison::Same) => true,
        Ok(Comparison::Extended) => allowed == AllowedAtTarget::GrownFile,
        Ok(Comparison::Different) | Err(_) => false,
    };
    (!is_accepted).then(|| to.to_owned())
}
