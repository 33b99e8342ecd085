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

mod delete;
mod entry;
mod restore;
mod transfer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use annals_transcript::paths::ConfigFolder;
use annals_transcript::project::resolve;
use jiff::Timestamp;

use crate::belongings::size;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::children;
use entry::{EntryFolder, MANIFEST, Name, Stage};

pub(crate) use delete::{delete, purge};
pub(crate) use restore::{ensure_replaceable, ensure_restorable, finish_interrupted, restore, restore_over};

/// The name of a copy in the folder of an entry until the copy is complete.
const COPY: &str = "copy";

/// An entry of the trash: a session as it was deleted at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashEntry {
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
    let kept = entry::names(&trash).filter(|name| name.stage != Stage::Purging);
    // An operation that goes on may have renamed the folder since it was listed, so it is looked for again.
    let is_unreadable = |name: &Name| {
        EntryFolder::read(&trash, name.clone()).is_none() && name.folder(&trash, name.stage).exists()
    };
    let unreadable = kept.filter(|name| is_unreadable(name) && is_unreadable(name));
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

pub(crate) fn in_trash(engine: &Engine, selector: &str, entry: Option<&str>) -> Result<TrashEntry, Error> {
    let mut found = engine.trashed_as(selector);
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

pub(crate) fn is_from_roots(engine: &Engine, trashed: &TrashEntry) -> bool {
    let root = resolved_root(&trashed.transcript);
    engine.roots().projects().any(|projects| {
        // `projects` itself may be a link, so that a session lies below another folder than the config folder.
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

    fn trashed_as(&self, selector: &str) -> Vec<TrashEntry> {
        let mut found = self.trash_entries();
        found.retain(|trashed| {
            selector.len() >= 4 && trashed.session.starts_with(selector)
                || trashed.title.as_deref() == Some(selector)
        });
        found
    }

    /// Returns the entry with an id, at whatever stage it is now.
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
        // If this fails, a loss of power may bring the earlier stage back, which is as good.
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

/// Returns the root of a transcript, or else its folder, whatever links lead there.
fn resolved_root(transcript: &Path) -> PathBuf {
    let config = ConfigFolder::of_transcript(transcript);
    let root = config.as_ref().map(ConfigFolder::root).or(transcript.parent());
    root.map(resolve).unwrap_or_default()
}

/// Returns how many bytes the items of an entry have.
fn size_of_items(folder: &Path) -> u64 {
    let is_item = |path: &&PathBuf| path.file_name().is_some_and(|name| name != MANIFEST);
    children(folder).unwrap_or_default().iter().filter(is_item).map(|path| size(path)).sum()
}
