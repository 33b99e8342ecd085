//! Moving a session to the trash, and removing it from there for good.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::paths::SessionPaths;
use annals_transcript::project::resolve;
use annals_transcript::write::rewrite;
use jiff::{SignedDuration, Timestamp};

use super::entry::{self, EntryFolder, MANIFEST, Manifest, Name, Stage};
use super::{COPY, TrashEntry, trash_entries};
use crate::belongings::{belongings, size};
use crate::catalog::{self, listed_title};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, ends};
use crate::index_file;
use crate::labels::own_target;

pub(crate) fn delete(engine: &Engine, file: &TranscriptFile, force: bool) -> Result<TrashEntry, Error> {
    engine.ensure_not_live(file, force)?;
    let session = file.session.clone().ok_or_else(|| Error::not_a_session(file))?;
    let _session = engine.lock_exclusive(&file.path, &session)?;
    if !file.path.exists() {
        return Err(Error::new(ErrorKind::NotFound { selector: session, nearest: Vec::new() }));
    }
    let path = own_target(file)?.path();
    let _transcript = rewrite::lock_transcript(&**engine.disk(), &path)?;
    // Temporary files of interrupted rewrites have lines of the session, and nothing else would remove them later. A failure
    // must not prevent the deletion.
    let paths = SessionPaths::of(&path);
    for rewritten in [resolve(&path), paths.custom_title(), paths.archived()] {
        let _ = rewrite::remove_leftovers(&**engine.disk(), &rewritten);
    }
    let belongings = belongings(file)?;
    let size = belongings.iter().map(|belonging| belonging.size).sum();
    let items = belongings.into_iter().map(|belonging| belonging.path).collect();
    let entry = engine.new_entry(file, items, size)?;
    let moved =
        engine.move_in(&entry, file).and_then(|()| engine.set_stage(entry.name.clone(), Stage::Complete));
    moved.map(TrashEntry::from).inspect_err(|_| {
        // If this fails, too, the next operation on the session moves the rest back.
        let _ = engine.move_back(&entry);
    })
}

pub(crate) fn purge(engine: &Engine, trashed: &TrashEntry) -> Result<(), Error> {
    // First, so that a failure leaves the session in the trash, and purging it again removes its words.
    #[cfg(feature = "search")]
    crate::search::forget(engine, &trashed.transcript)?;
    let _session = engine.lock_exclusive(&trashed.transcript, &trashed.session)?;
    let items = engine.entry(trashed)?.manifest.items;
    let session_folder = trashed.transcript.with_extension("");
    let paths = items.iter().chain([&trashed.transcript, &session_folder]).map(PathBuf::as_path);
    catalog::forget(engine.home().path(), &paths.collect::<Vec<_>>());
    if is_last_version(engine, trashed) {
        // Receipts of repairs have copies of lines, and those of rewritten files a copy of the whole transcript.
        crate::repair::forget(engine, &trashed.session, &trashed.transcript)?;
    }
    engine.discard(trashed)
}

/// Returns whether no other version of a trashed transcript is left, neither in its place nor in the trash: its repairs may have been made in
/// any of them, and can be undone there.
fn is_last_version(engine: &Engine, trashed: &TrashEntry) -> bool {
    if trashed.transcript.exists() {
        return false;
    }
    let entries = trash_entries(engine);
    let mut versions = entries
        .iter()
        .filter(|other| other.session == trashed.session && other.transcript == trashed.transcript);
    versions.all(|version| version.entry == trashed.entry)
}

/// The version of a transcript that was put into the trash before another one replaces it.
#[derive(Debug)]
pub(crate) struct KeptVersion {
    pub(crate) entry: TrashEntry,
    /// The replaced file and the path of its copy. `None` if the trash has a hard link to the file instead of a copy.
    copied: Option<(File, PathBuf)>,
}

/// The least difference between the times of two entries of a session: their names have milliseconds.
const TIME_STEP: SignedDuration = SignedDuration::from_millis(1);

/// Returns the time for a new entry: now, but later than all entries of the session, so that entries sort by time even if
/// the clock was set back.
fn time_of_new_entry(trash: &Path, session: &str) -> Timestamp {
    let earlier = entry::names(trash).filter(|name| name.session == session);
    let times = earlier.filter_map(|name| Some(EntryFolder::read(trash, name)?.manifest.deleted_at));
    let after_last = times.filter_map(|time| time.checked_add(TIME_STEP).ok()).max();
    after_last.unwrap_or(Timestamp::MIN).max(Timestamp::now())
}

impl KeptVersion {
    /// Copies what other processes appended to the file until it was replaced.
    pub(crate) fn complete(self, engine: &Engine) -> Result<TrashEntry, Error> {
        if let Some((mut file, copy)) = self.copied {
            engine.copy_rest(&mut file, &copy).map_err(|source| Error::write(&copy, source))?;
        }
        Ok(self.entry)
    }
}

impl Engine {
    /// Puts a copy of a transcript into a new trash entry, before the transcript is replaced.
    pub(crate) fn keep_copy(&self, file: &TranscriptFile) -> Result<KeptVersion, Error> {
        // If the path is a symbolic link, the file that it leads to is replaced, and the link stays.
        let original = resolve(&own_target(file)?.path());
        let entry = self.new_entry(file, vec![own_target(file)?.path()], size(&original))?;
        self.keep_in(&entry, &original).inspect_err(|_| {
            let _ = self.move_back(&entry);
        })
    }

    /// Copies a file into an entry; returns the original, opened before it was copied.
    fn copy_open(&self, original: &Path, copy: &Path, entry: &EntryFolder) -> Result<File, Error> {
        let file = File::open(original).map_err(|source| Error::read(original, source))?;
        self.copy_new(original, copy, &entry.folder.join(COPY))?;
        Ok(file)
    }

    fn keep_in(&self, entry: &EntryFolder, original: &Path) -> Result<KeptVersion, Error> {
        let item = entry.transcript().expect("the transcript was given");
        // A hard link also keeps what other processes append until the file is replaced.
        let is_linked = self.disk().link(original, &item.stored).is_ok();
        let copied = if is_linked { None } else { Some(self.copy_open(original, &item.stored, entry)?) };
        self.sync(&entry.folder)?;
        let entry = self.set_stage(entry.name.clone(), Stage::Complete)?;
        let stored = entry.transcript().map(|item| item.stored).unwrap_or_default();
        Ok(KeptVersion { copied: copied.map(|file| (file, stored)), entry: entry.into() })
    }

    /// Removes an entry. The caller holds the lock of the session.
    pub(crate) fn discard(&self, trashed: &TrashEntry) -> Result<(), Error> {
        let name = self.entry(trashed)?.name;
        let folder = name.folder(&self.home().trash(), Stage::Purging);
        self.set_stage(name, Stage::Purging)?;
        self.remove_all(&folder)
    }

    /// Makes the folder of an entry, with a synced manifest. No two entries of a session have the same time.
    fn new_entry(&self, file: &TranscriptFile, items: Vec<PathBuf>, size: u64) -> Result<EntryFolder, Error> {
        let session = file.session.clone().unwrap_or_default();
        let trash = self.home().trash();
        let mut manifest = Manifest {
            title: listed_title(&file.path).map(|title| title.text),
            project: ends(&file.path).and_then(|lite| lite.cwd),
            deleted_at: time_of_new_entry(&trash, &session),
            size: Some(size),
            items,
            index_entry: index_file::entry(file),
            session,
        };
        // A path that is not UTF-8 fails here, before anything is made.
        manifest.json()?;
        self.make_folder(&trash)?;
        loop {
            let name = Name::new(&manifest.session, manifest.deleted_at);
            let folder = name.folder(&trash, Stage::Moving);
            let is_taken = name.folder(&trash, Stage::Complete).exists();
            match self.disk().create_new_folder(&folder) {
                Ok(()) if !is_taken => {
                    let written = self.write_manifest(&folder, &manifest);
                    let entry = EntryFolder { name, folder, manifest };
                    return written.map(|()| entry);
                }
                Ok(()) => self.remove_all(&folder)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::write(&folder, source)),
            }
            // A damaged manifest may have the latest possible time. Then any free time will do.
            manifest.deleted_at =
                manifest.deleted_at.checked_add(TIME_STEP).unwrap_or_else(|_| Timestamp::now());
        }
    }

    fn write_manifest(&self, folder: &Path, manifest: &Manifest) -> Result<(), Error> {
        let json = manifest.json()?;
        let written =
            rewrite::replace(&**self.disk(), &folder.join(MANIFEST), |out| out.write_all(json.as_bytes()));
        written.map_err(Error::from).and_then(|()| self.sync(&self.home().trash())).inspect_err(|_| {
            // If this fails, too, the next operation on the session removes the folder.
            let _ = self.remove_all(folder);
        })
    }

    /// Moves the files of a session into an entry, and removes the session from `sessions-index.json`.
    fn move_in(&self, entry: &EntryFolder, file: &TranscriptFile) -> Result<(), Error> {
        for item in entry.items() {
            if Some(item.path) == entry.manifest.items.last().map(PathBuf::as_path) {
                index_file::remove(self, file)?;
            }
            self.move_new(item.path, &item.stored, &entry.folder.join(COPY))?;
        }
        self.sync(&entry.folder)
    }
}
