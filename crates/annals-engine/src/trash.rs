//! Deleting sessions so that they can be restored.
//!
//! Every deletion makes a new trash entry (see `trash/entry.rs`). The order of the steps makes every interruption
//! recoverable:
//!
//! - `delete` makes the folder of the entry under a name that says `moving`, writes the manifest and syncs it, moves the
//!   files, the transcript last, and then renames the folder to its final name.
//! - `restore` renames the folder back to `moving`, moves the files to their original paths, the transcript last, and removes
//!   the folder.
//! - All files in a folder that says `moving` belong to the session on disk. The next operation on the session moves them
//!   back ([`Engine::finish_moves`]), whichever of the two was interrupted.
//! - `purge` renames the folder to `purging`, whose files are never restored, and removes it.
//!
//! No move replaces an existing file (`trash/transfer.rs`).

mod delete;
mod entry;
#[cfg(feature = "follow")]
pub(crate) mod observer;
mod restore;
mod transfer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use annals_transcript::paths::ConfigFolder;
use annals_transcript::project::resolve;
use annals_transcript::write::{Access, lock_file};
use jiff::Timestamp;

use crate::belongings::size;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, children};
use crate::lookup::SHORTEST_PREFIX;
use entry::{EntryFolder, MANIFEST, Name, Stage};

pub(crate) use delete::{delete, purge};
pub(crate) use restore::{ensure_replaceable, ensure_restorable, finish_interrupted, restore, restore_over};

/// The temporary name of a copy in the folder of an entry, until the copy is complete.
const COPY: &str = "copy";

/// An entry of the trash: a deleted session, or an earlier version of a transcript that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashEntry {
    /// The session.
    pub session: String,
    /// The id of this entry among the entries of the session. The ids of later entries sort after those of earlier ones.
    pub entry: String,
    /// Its title, if it had one.
    pub title: Option<String>,
    /// The working directory of the session, if it is known.
    pub project: Option<PathBuf>,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// The size of all its files in bytes.
    pub size: u64,
    /// The original path of the transcript.
    pub transcript: PathBuf,
    /// Whether deleting or restoring it is in progress or was interrupted.
    pub is_unfinished: bool,
}

/// Something that happened to an entry of the trash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrashChange {
    /// It is new: a session was deleted, or a transcript was replaced.
    Trashed,
    /// It was moved back to where it was.
    Restored,
    /// It was removed for good.
    Purged,
}

impl From<EntryFolder> for TrashEntry {
    fn from(entry: EntryFolder) -> Self {
        let is_unfinished = entry.name.stage == Stage::Moving;
        let EntryFolder { name, folder, manifest } = entry;
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

pub(crate) fn trash_entries(engine: &Engine) -> Vec<TrashEntry> {
    let mut found: Vec<_> = engine.entries().map(TrashEntry::from).collect();
    found.sort_by(|a, b| b.deleted_at.cmp(&a.deleted_at).then_with(|| a.session.cmp(&b.session)));
    found
}

pub(crate) fn unreadable_entries(engine: &Engine) -> Vec<PathBuf> {
    let trash = engine.home().trash();
    let names = entry::names(&trash).filter(|name| name.stage != Stage::Purging);
    // An operation in progress may rename the folder between the two steps of the check, so the check is done twice.
    let unreadable = names.filter(|name| is_unreadable(&trash, name) && is_unreadable(&trash, name));
    let finished = unreadable.filter(|name| !is_being_made(&trash, name));
    finished.map(|name| name.folder(&trash, name.stage)).collect()
}

/// Returns whether the folder of an entry exists and its manifest cannot be read.
fn is_unreadable(trash: &Path, name: &Name) -> bool {
    EntryFolder::read(trash, name.clone()).is_none() && name.folder(trash, name.stage).exists()
}

/// Returns whether an entry is being made: its folder has at most the temporary file of the manifest.
fn is_being_made(trash: &Path, name: &Name) -> bool {
    name.stage == Stage::Moving
        && children(&name.folder(trash, name.stage))
            .is_ok_and(|paths| paths.iter().all(|path| is_manifest_draft(path)))
}

/// Returns whether a path is the temporary file that a manifest is written to.
fn is_manifest_draft(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name != MANIFEST && name.contains(MANIFEST)
}

pub(crate) fn in_trash(engine: &Engine, selector: &str, entry: Option<&str>) -> Result<TrashEntry, Error> {
    let mut found = engine.trash_entries_named(selector);
    if let Some(entry) = entry.filter(|_| !found.is_empty()) {
        found.retain(|trashed| trashed.entry == entry);
        if found.is_empty() {
            let (selector, entry) = (selector.to_owned(), entry.to_owned());
            return Err(Error::new(ErrorKind::NoTrashEntry { selector, entry }));
        }
    }
    if found.iter().any(|trashed| engine.is_from_roots(trashed)) {
        found.retain(|trashed| engine.is_from_roots(trashed));
    }
    match &found[..] {
        [] => Err(Error::new(ErrorKind::NotInTrash { selector: selector.to_owned() })),
        [first, rest @ ..] if rest.iter().all(|other| other.session == first.session) => Ok(first.clone()),
        several => {
            let sessions: BTreeSet<_> =
                several.iter().map(|one| (one.session.clone(), one.transcript.clone())).collect();
            Err(Error::ambiguous(selector, sessions.into_iter()))
        }
    }
}

/// Returns whether the files of a session are being moved to the trash or from it, or are no longer there.
pub(crate) fn is_moving(engine: &Engine, file: &TranscriptFile) -> bool {
    let Some(session) = &file.session else { return false };
    // A process that moves files holds the lock of the session. An interrupted move leaves an entry, but no lock.
    let is_moving =
        entry::names(&engine.home().trash()).any(|name| name.moves(session)) && is_locked(engine, session);
    // This is checked last: a move that has just ended has taken the transcript with it.
    is_moving || !file.path.exists()
}

/// Returns whether a process holds the lock of a session.
fn is_locked(engine: &Engine, session: &str) -> bool {
    let lock = engine.session_lock(session);
    lock_file(&**engine.disk(), &lock, Access::Shared, Duration::ZERO).is_err()
}

pub(crate) fn is_from_roots(engine: &Engine, trashed: &TrashEntry) -> bool {
    let root = resolved_root(&trashed.transcript);
    engine.roots().projects().any(|projects| {
        // `projects` itself may be a link, so that the transcript is not below the config folder.
        trashed.transcript.starts_with(&projects)
            || trashed.transcript.starts_with(resolve(&projects))
            || projects.parent().is_some_and(|folder| resolve(folder) == root)
    })
}

impl Engine {
    fn entries(&self) -> impl Iterator<Item = EntryFolder> + use<> {
        let trash = self.home().trash();
        let names = entry::names(&trash).filter(|name| name.stage != Stage::Purging);
        names.filter_map(move |name| EntryFolder::read(&trash, name))
    }

    /// Returns the entries of the sessions that a selector names, most recently deleted first.
    fn trash_entries_named(&self, selector: &str) -> Vec<TrashEntry> {
        let mut found = self.trash_entries();
        found.retain(|trashed| {
            selector.len() >= SHORTEST_PREFIX && trashed.session.starts_with(selector)
                || trashed.title.as_deref() == Some(selector)
        });
        found
    }

    /// Returns the folder of an entry, at its current stage.
    fn entry(&self, trashed: &TrashEntry) -> Result<EntryFolder, Error> {
        let is_it =
            |entry: &EntryFolder| entry.name.session == trashed.session && entry.name.id == trashed.entry;
        let selector = trashed.session.clone();
        self.entries().find(is_it).ok_or_else(|| Error::new(ErrorKind::NotInTrash { selector }))
    }

    /// Renames the folder of an entry for its next stage.
    fn set_stage(&self, name: Name, stage: Stage) -> Result<EntryFolder, Error> {
        let trash = self.home().trash();
        let (from, to) = (name.folder(&trash, name.stage), name.folder(&trash, stage));
        self.disk().rename_new(&from, &to).map_err(|source| Error::write(&to, source))?;
        // If this fails, a power failure may bring the earlier stage back, from which everything can be recovered, too.
        let _ = self.disk().sync_folder(&trash);
        let selector = name.session.clone();
        EntryFolder::read(&trash, Name { stage, ..name })
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

/// Returns the config folder of a transcript, or else its folder, with links resolved.
fn resolved_root(transcript: &Path) -> PathBuf {
    let config = ConfigFolder::of_transcript(transcript);
    let root = config.as_ref().map(ConfigFolder::root).or(transcript.parent());
    root.map(resolve).unwrap_or_default()
}

/// Returns the size of all items of an entry in bytes.
fn size_of_items(folder: &Path) -> u64 {
    let files = children(folder).unwrap_or_default();
    let items = files.iter().filter(|path| path.file_name().is_some_and(|name| name != MANIFEST));
    items.map(|path| size(path)).sum()
}
