//! Moving a session from the trash back to where it was, also after an interruption.

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
    let absent: Vec<_> = entry.items().filter(|item| !exists(item.path)).collect();
    // Another program may have written there meanwhile. The second attempt then finds what is in the way, and leaves the
    // entry complete.
    let move_back = engine.move_back(&entry).or_else(|_| engine.move_back(&entry));
    let move_back = move_back.inspect_err(|_| {
        // What cannot be moved back to the trash now is restored by the next operation on the session.
        let _ = engine.return_to_trash(&entry, &absent);
    });
    match move_back? {
        Some(path) => Err(Error::new(ErrorKind::PathTaken { path })),
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
    let cannot_read = |source| Error::read(&item.place, source);
    let mut source = File::open(&item.place).map_err(cannot_read)?;
    let mut replaced = None;
    let swapped = rewrite::replace_by_copy(&**engine.disk(), &file.path, &mut source, || {
        replaced = Some(engine.keep_copy(&file)?);
        Ok::<_, Error>(())
    });
    if let Err(error) = swapped {
        // Nothing was replaced. If this fails, too, the trash has a copy too many.
        let _ = replaced.map(|kept| engine.discard(&kept.trashed));
        return Err(error);
    }
    engine.restore_index_entry(&entry)?;
    replaced.map(|kept| kept.complete(engine)).transpose()
}

pub(crate) fn ensure_replaceable(engine: &Engine, trashed: &TrashEntry) -> Result<(), Error> {
    let entry = engine.entry(trashed)?;
    let item = replaceable(&entry)?;
    File::open(&item.place).map(drop).map_err(|source| Error::read(&item.place, source))
}

pub(crate) fn finish_interrupted(engine: &Engine, selector: &str) -> Result<bool, Error> {
    let mut interrupted = engine.trashed_as(selector);
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
    /// Moves the items that a failed restore has put back, and that were not on disk before it, to the entry again. The entry
    /// is complete if it has all its items then and none of these is left on disk.
    fn return_to_trash(&self, entry: &EntryFolder, absent: &[entry::Item<'_>]) -> Result<(), Error> {
        for item in absent.iter().filter(|item| exists(item.path) && !exists(&item.place)) {
            self.move_new(item.path, &item.place, &entry.folder.join(COPY))?;
        }
        if entry.items().all(|item| exists(&item.place)) && !absent.iter().any(|item| exists(item.path)) {
            self.set_stage(entry.name.clone(), Stage::Complete)?;
        }
        Ok(())
    }

    /// Puts back what an interrupted operation left in the trash. The caller holds the lock of the session, so nobody else
    /// is moving files of it.
    pub(crate) fn finish_moves(&self, transcript: &Path, session: &str) -> Result<(), Error> {
        for entry in self.interrupted(transcript, session) {
            self.move_back(&entry)?;
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

    fn interrupted(&self, transcript: &Path, session: &str) -> impl Iterator<Item = EntryFolder> {
        let trash = self.home().trash();
        let names = entry::names(&trash)
            .filter(move |name| name.session == session && name.stage == Stage::Moving)
            .collect::<Vec<_>>();
        let entries = names.into_iter().filter_map(move |name| EntryFolder::read(&trash, name));
        // A manifest that names other paths is left to people: it must not keep others from working with the session.
        // So is one of another root, which may not even be there now.
        entries.filter(EntryFolder::is_confined).filter(move |entry| {
            entry.transcript().is_some_and(|item| resolved_root(item.path) == resolved_root(transcript))
        })
    }

    /// Moves the items of an entry back to where they belong and removes the entry. What is on disk already, all of it or
    /// as the beginning of a file that has grown since, is removed from the entry. If something else stands in the place
    /// of an item, that item stays in the entry, which is complete then; the path is returned.
    pub(super) fn move_back(&self, entry: &EntryFolder) -> Result<Option<PathBuf>, Error> {
        let blocking_file =
            |item: &entry::Item<'_>| blocking_file(&item.place, item.path, AllowedAtTarget::GrownFile);
        let another_transcript = entry.transcript().and_then(|item| blocking_file(&item));
        let mut left = another_transcript;
        if left.is_none() {
            for item in entry.items() {
                let temporary = entry.temporary(&item);
                self.remove_all(&temporary)?;
                // Every item is put back that can be, whatever is in the way of another.
                let taken = self.move_item_back(&item.place, item.path, &temporary)?;
                left = left.or(taken);
            }
        }
        if left.is_some() {
            self.set_stage(entry.name.clone(), Stage::Complete)?;
            return Ok(left);
        }
        self.restore_index_entry(entry)?;
        self.remove_emptied(entry)?;
        Ok(None)
    }

    /// Puts the session back into `sessions-index.json`, unless the index names it already.
    fn restore_index_entry(&self, entry: &EntryFolder) -> Result<(), Error> {
        match (entry.transcript(), &entry.manifest.index_entry) {
            (Some(item), Some(index_entry)) => {
                index_file::restore(self, item.path, &entry.manifest.session, index_entry)
            }
            _ => Ok(()),
        }
    }

    /// Removes the folder of an entry whose items are all on disk. If there is anything else in it, which a damaged manifest
    /// does not name, the entry stays and is complete.
    fn remove_emptied(&self, entry: &EntryFolder) -> Result<(), Error> {
        let EntryFolder { name, folder, .. } = entry;
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
    fn move_item_back(&self, place: &Path, path: &Path, temporary: &Path) -> Result<Option<PathBuf>, Error> {
        let metadata = match place.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|source| Error::read(place, source))?,
        };
        let Ok(there) = path.symlink_metadata() else {
            self.make_folder(path.parent().unwrap_or(Path::new(".")))?;
            let moved = if metadata.is_dir() && !is_writable(&metadata) {
                self.move_read_only_folder_back(place, &metadata, path, temporary)
            } else {
                self.move_new(place, path, temporary)
            };
            return match moved {
                // Somebody else was faster.
                Err(error) if error.is_path_taken() => Ok(Some(path.to_owned())),
                moved => moved.map(|()| None),
            };
        };
        if metadata.is_dir() && there.is_dir() {
            return self.move_folder_back(place, path, temporary);
        }
        let left = blocking_file(place, path, AllowedAtTarget::GrownFile);
        if left.is_none() {
            self.remove_all(place)?;
        }
        Ok(left)
    }

    /// Moves a folder back that does not let its owner write. Such a folder cannot be moved into another one, so it gets its
    /// permissions when it is there.
    fn move_read_only_folder_back(
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
    fn move_folder_back(
        &self,
        place: &Path,
        path: &Path,
        temporary: &Path,
    ) -> Result<Option<PathBuf>, Error> {
        let names = |folder: &Path| -> Result<BTreeSet<OsString>, Error> {
            let paths = children(folder).map_err(|source| Error::read(folder, source))?;
            Ok(paths.iter().filter_map(|path| path.file_name().map(OsStr::to_owned)).collect())
        };
        let metadata = place.metadata().map_err(|source| Error::read(place, source))?;
        self.make_writable(place, &metadata).map_err(|source| Error::write(place, source))?;
        let own = names(place)?;
        let mut left = None;
        for name in &own {
            left = left.or(self.move_item_back(&place.join(name), &path.join(name), temporary)?);
        }
        if left.is_none() {
            if names(path)? == own {
                self.copy_attributes(&metadata, path).map_err(|source| Error::write(path, source))?;
            }
            self.disk().remove_folder(place).map_err(|source| Error::write(place, source))?;
        }
        Ok(left)
    }
}

fn ensure_entry_restorable(entry: &EntryFolder) -> Result<(), Error> {
    ensure_confined(entry)?;
    let transcript = transcript_of(entry)?;
    if !exists(&transcript.place) && !exists(transcript.path) {
        return Err(half_purged(entry));
    }
    match entry.items().find_map(|item| blocking_file(&item.place, item.path, AllowedAtTarget::SameFile)) {
        Some(path) => Err(Error::new(ErrorKind::PathTaken { path })),
        None => Ok(()),
    }
}

/// Returns the transcript of an entry; one whose manifest names none cannot be restored.
fn transcript_of(entry: &EntryFolder) -> Result<entry::Item<'_>, Error> {
    entry.transcript().ok_or_else(|| half_purged(entry))
}

/// Returns the transcript of an entry that holds nothing else.
fn replaceable(entry: &EntryFolder) -> Result<entry::Item<'_>, Error> {
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

/// What may be in the place of a file that is moved back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedAtTarget {
    /// The same file.
    SameFile,
    /// The same file, or one that begins with it: a transcript that others appended to.
    GrownFile,
}

/// Returns the file that keeps another one, or one in a folder, from being moved to its place. Folders are joined.
fn blocking_file(from: &Path, to: &Path, allowed: AllowedAtTarget) -> Option<PathBuf> {
    let (metadata, there) = (from.symlink_metadata().ok()?, to.symlink_metadata().ok()?);
    if metadata.is_dir() && there.is_dir() {
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
