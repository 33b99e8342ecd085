//! What happens to the trash while it is observed: entries that are new, restored or removed for good.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;

use super::entry::{self, EntryFolder, Name, Stage};
use super::{TrashChange, TrashEntry};
use crate::engine::Engine;

/// The entries of the trash, as they were when it was last checked.
#[derive(Debug)]
pub(crate) struct TrashObserver {
    trash: PathBuf,
    entries: BTreeMap<EntryId, ObservedEntry>,
    /// The sessions whose files are being moved into the trash or out of it.
    moving: BTreeSet<String>,
}

/// A session, and the id of an entry among those of the session.
type EntryId = (String, String);

#[derive(Debug)]
struct ObservedEntry {
    entry: TrashEntry,
    /// The transcript in the entry, by which it is recognised when it is restored.
    transcript: Option<FileState>,
}

impl TrashObserver {
    /// Starts with the entries that are there.
    pub(crate) fn start(engine: &Engine, trash: PathBuf) -> Self {
        let mut observer = Self { trash, entries: BTreeMap::new(), moving: BTreeSet::new() };
        observer.check(engine);
        observer
    }

    /// Returns the folder of the trash.
    pub(crate) fn folder(&self) -> &Path {
        &self.trash
    }

    /// Returns whether files of a session were being moved when the trash was last checked, or are now.
    pub(crate) fn is_moving(&self, session: &str) -> bool {
        self.moving.contains(session)
            || entry::try_names(&self.trash).is_ok_and(|names| names.iter().any(|name| name.moves(session)))
    }

    /// Returns what happened since the last check, to entries of these config folders. If the trash cannot be read,
    /// nothing has happened as far as annals knows.
    pub(crate) fn check(&mut self, engine: &Engine) -> Vec<(TrashChange, TrashEntry)> {
        let Ok(names) = entry::try_names(&self.trash) else { return Vec::new() };
        let moving = names.iter().filter(|name| name.stage == Stage::Moving);
        self.moving = moving.map(|name| name.session.clone()).collect();
        let added = self.add_new(engine, &names);
        let mut changes = self.remove_missing(&names, &added);
        changes.extend(added.into_iter().map(|entry| (TrashChange::Trashed, entry)));
        changes
    }

    /// Adds the complete entries that are new. An entry that files are still moved into is added when it is complete.
    fn add_new(&mut self, engine: &Engine, names: &[Name]) -> Vec<TrashEntry> {
        let mut added = Vec::new();
        for name in names.iter().filter(|name| name.stage == Stage::Complete) {
            let id = (name.session.clone(), name.id.clone());
            if self.entries.contains_key(&id) {
                continue;
            }
            let Some(folder) = EntryFolder::read(&self.trash, name.clone()) else { continue };
            let stored = folder.transcript().map(|item| item.stored);
            let transcript = stored.and_then(|path| FileState::of(&path).ok().flatten());
            let entry = TrashEntry::from(folder);
            if engine.is_from_roots(&entry) {
                added.push(entry.clone());
                self.entries.insert(id, ObservedEntry { entry, transcript });
            }
        }
        added
    }

    /// Removes the entries that are gone, and returns what became of each.
    fn remove_missing(&mut self, names: &[Name], added: &[TrashEntry]) -> Vec<(TrashChange, TrashEntry)> {
        let there = names.iter().filter(|name| name.stage != Stage::Purging);
        let there: BTreeSet<_> = there.map(|name| (name.session.clone(), name.id.clone())).collect();
        let missing = self.entries.keys().filter(|id| !there.contains(id));
        let gone: Vec<_> = missing.filter(|id| !is_renamed(&self.trash, id)).cloned().collect();
        let observed = gone.iter().filter_map(|id| self.entries.remove(id)).collect::<Vec<_>>();
        observed.into_iter().map(|entry| (self.fate(&entry, added), entry.entry)).collect()
    }

    /// Returns what became of an entry that is gone. If it was restored, its transcript is where it was before, or already
    /// in another entry.
    fn fate(&self, gone: &ObservedEntry, added: &[TrashEntry]) -> TrashChange {
        let Some(transcript) = gone.transcript else { return TrashChange::Purged };
        let on_disk = FileState::of(&gone.entry.transcript).ok().flatten();
        let deleted_again = added
            .iter()
            .filter(|entry| entry.transcript == gone.entry.transcript)
            .filter_map(|entry| self.entries.get(&(entry.session.clone(), entry.entry.clone()))?.transcript);
        let is_restored =
            on_disk.into_iter().chain(deleted_again).any(|state| is_same_file(&state, &transcript));
        if is_restored { TrashChange::Restored } else { TrashChange::Purged }
    }
}

/// Returns whether the folder of an entry is there after all: a folder that is renamed while the trash is read may be missed.
fn is_renamed(trash: &Path, (session, id): &EntryId) -> bool {
    let name = Name { session: session.clone(), id: id.clone(), stage: Stage::Complete };
    [Stage::Complete, Stage::Moving, Stage::Complete].iter().any(|stage| name.folder(trash, *stage).exists())
}

/// Returns whether a transcript is the one that was in an entry: the same file or, if it was copied to another file system, one
/// with the same length and time.
fn is_same_file(one: &FileState, other: &FileState) -> bool {
    one.identity == other.identity || (one.length == other.length && one.modified == other.modified)
}
