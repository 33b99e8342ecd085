//! Deleting sessions so that they can be restored.
//!
//! A deleted session becomes a folder of the trash: `manifest.json` says where each file and folder came from, and the
//! files and folders themselves lie beside it under numbers. The manifest is written first and removed last, the
//! transcript is moved last and comes back last: whatever happens in between, everything is in one of its two places,
//! and doing the same again finishes the work.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::write::rewrite;
use jiff::Timestamp;

use crate::engine::{Engine, titles};
use crate::error::{Error, ErrorKind};
use crate::files::{Selection, TranscriptFile};
use crate::index_file;
use crate::live::root_of;
use crate::title::own_target;

/// A file or folder that belongs to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belonging {
    /// Where it lies.
    pub path: PathBuf,
    /// How many bytes it has, with all that is in it.
    pub size: u64,
}

/// A session in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// The session.
    pub session: String,
    /// Its title, if it had one.
    pub title: Option<String>,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// Where its transcript was.
    pub transcript: PathBuf,
    /// Where it is now.
    pub folder: PathBuf,
}

impl Engine {
    /// Returns everything on disk that belongs to a session, the transcript last.
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
        if let Some(root) = root_of(&transcript) {
            let folders = ["file-history", "tasks", "session-env"];
            paths.extend(folders.iter().map(|folder| root.join(folder).join(session)));
            paths.push(root.join("debug").join(format!("{session}.txt")));
            let todos = fs::read_dir(root.join("todos")).into_iter().flatten().flatten();
            let is_ours = |name: &str| name.starts_with(&format!("{session}-agent-"));
            paths.extend(
                todos.filter(|todo| is_ours(&todo.file_name().to_string_lossy())).map(|todo| todo.path()),
            );
        }
        paths.push(transcript);
        paths.retain(|path| path.symlink_metadata().is_ok());
        Ok(paths.into_iter().map(|path| Belonging { size: size(&path), path }).collect())
    }

    /// Moves a session with everything that belongs to it to the trash.
    pub fn delete(&self, file: &TranscriptFile, force: bool) -> Result<Trashed, Error> {
        self.ensure_at_rest(file, force)?;
        let belongings = self.belongings(file)?;
        let manifest = Manifest {
            session: file.session.clone().unwrap_or_default(),
            title: titles(&file.path).into_iter().next(),
            deleted_at: Timestamp::now(),
            items: belongings.into_iter().map(|belonging| belonging.path).collect(),
            index_entry: index_file::entry(file),
        };
        let folder = self.free_place(&manifest);
        let manifest = match Manifest::read(&folder) {
            // A deletion that was broken off goes on; what it has moved already keeps its number.
            Some(begun) => begun.with_more(manifest),
            None => manifest,
        };
        self.make_folder(&folder)?;
        let json = manifest.json()?;
        rewrite::replace(&**self.disk(), &folder.join(MANIFEST), |out| out.write_all(json.as_bytes()))?;
        for (number, path) in manifest.items.iter().enumerate() {
            if path.symlink_metadata().is_ok() {
                self.move_to(path, &folder.join(number.to_string()))?;
            }
        }
        index_file::remove(self, file)?;
        Ok(manifest.trashed(folder))
    }

    /// Returns what is in the trash, the newest first.
    pub fn trashed(&self) -> Vec<Trashed> {
        let folders =
            fs::read_dir(self.home().trash()).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<_> =
            folders.filter_map(|folder| Some(Manifest::read(&folder)?.trashed(folder))).collect();
        found.sort_by(|a, b| b.deleted_at.cmp(&a.deleted_at).then_with(|| a.session.cmp(&b.session)));
        found
    }

    /// Finds a session in the trash by its id, the beginning of it, or its title.
    pub fn in_trash(&self, selector: &str) -> Result<Trashed, Error> {
        let all = self.trashed();
        let is_meant = |trashed: &&Trashed| {
            selector.len() >= 4 && trashed.session.starts_with(selector)
                || trashed.title.as_deref() == Some(selector)
        };
        let found: Vec<_> = all.iter().filter(is_meant).collect();
        match &found[..] {
            [] => Err(Error::new(ErrorKind::NotFound { selector: selector.to_owned() })),
            [first, rest @ ..] if rest.iter().all(|other| other.session == first.session) => {
                Ok((*first).clone())
            }
            several => {
                Err(Error::ambiguous(selector, several.iter().map(|one| (&one.session, &one.transcript))))
            }
        }
    }

    /// Puts a session back where it was. If something stands there by now, nothing is moved.
    pub fn restore(&self, trashed: &Trashed) -> Result<PathBuf, Error> {
        let folder = &trashed.folder;
        let Some(manifest) = Manifest::read(folder) else {
            return Err(Error::new(ErrorKind::NotFound { selector: trashed.session.clone() }));
        };
        let numbered = manifest.items.iter().enumerate();
        let moves: Vec<_> = numbered
            .map(|(number, path)| (folder.join(number.to_string()), path))
            .filter(|(from, _)| from.symlink_metadata().is_ok())
            .collect();
        if let Some((_, path)) = moves.iter().find(|(_, path)| path.symlink_metadata().is_ok()) {
            return Err(Error::new(ErrorKind::InTheWay { path: (*path).clone() }));
        }
        for (from, path) in moves {
            self.make_folder(path.parent().unwrap_or(Path::new(".")))?;
            self.move_to(&from, path)?;
        }
        let transcript = trashed.transcript.clone();
        if let Some(entry) = &manifest.index_entry {
            index_file::restore(self, &transcript, &manifest.session, entry)?;
        }
        self.remove_all(folder)?;
        Ok(transcript)
    }

    /// Removes a session from the trash for good.
    pub fn purge(&self, trashed: &Trashed) -> Result<(), Error> {
        self.remove_all(&trashed.folder)
    }

    /// Returns the folder for a session that is deleted: that of a deletion that was broken off, or else a free one.
    fn free_place(&self, manifest: &Manifest) -> PathBuf {
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!(".{number}") };
            let folder = self.home().trash().join(format!("{}{suffix}", manifest.session));
            let is_free = Manifest::read(&folder).is_none_or(|begun| {
                let transcript = folder.join((begun.items.len().max(1) - 1).to_string());
                begun.items.last() == manifest.items.last() && transcript.symlink_metadata().is_err()
            });
            if is_free {
                return folder;
            }
            number += 1;
        }
    }

    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return Ok(());
        }
        self.disk().create_folder(path).map_err(|source| Error::write(path, source))
    }

    /// Moves a file or folder; to another disk, by way of a copy.
    fn move_to(&self, from: &Path, to: &Path) -> Result<(), Error> {
        match self.disk().rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let part = to.with_extension("part");
                self.remove_all(&part)?;
                self.copy_all(from, &part)?;
                self.disk().rename(&part, to).map_err(|source| Error::write(to, source))?;
                self.remove_all(from)
            }
            result => result.map_err(|source| Error::write(to, source)),
        }
    }

    /// Copies a file, or a folder with all that is in it.
    pub(crate) fn copy_all(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let failed = |source| Error::read(from, source);
        if !from.symlink_metadata().map_err(failed)?.is_dir() {
            let mut file = fs::File::open(from).map_err(failed)?;
            return Ok(rewrite::replace(&**self.disk(), to, |out| io::copy(&mut file, out).map(|_| ()))?);
        }
        self.make_folder(to)?;
        for entry in fs::read_dir(from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// Removes a file, or a folder with all that is in it, if it is there.
    pub(crate) fn remove_all(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::write(path, source);
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error)),
            Ok(metadata) if !metadata.is_dir() => self.disk().remove_file(path).map_err(failed),
            Ok(_) => {
                let mut entries: Vec<_> = fs::read_dir(path)
                    .map_err(failed)?
                    .map(|entry| entry.map(|entry| entry.path()))
                    .collect::<Result<_, _>>()
                    .map_err(failed)?;
                // The manifest goes last: until then the trash knows what the rest is.
                entries.sort_by_key(|path| path.ends_with(MANIFEST));
                entries.iter().try_for_each(|entry| self.remove_all(entry))?;
                self.disk().remove_folder(path).map_err(failed)
            }
        }
    }
}

const MANIFEST: &str = "manifest.json";

/// What a folder of the trash holds.
#[derive(Debug)]
struct Manifest {
    session: String,
    title: Option<String>,
    deleted_at: Timestamp,
    /// Where everything came from, the transcript last; each lies in the folder under its number.
    items: Vec<PathBuf>,
    /// What `sessions-index.json` said of the session.
    index_entry: Option<String>,
}

impl Manifest {
    fn read(folder: &Path) -> Option<Self> {
        let bytes = fs::read(folder.join(MANIFEST)).ok()?;
        let value = Value::new(&bytes)?;
        Some(Self {
            session: value.text("session")?.into_owned(),
            title: value.text("title").map(String::from),
            deleted_at: value.text("deletedAt")?.parse().ok()?,
            items: value.texts("items").map(|path| PathBuf::from(&*path)).collect(),
            index_entry: value.text("indexEntry").map(String::from),
        })
    }

    fn json(&self) -> Result<String, Error> {
        let unspeakable = |path: &PathBuf| Error::new(ErrorKind::NotUtf8 { path: path.clone() });
        let spelled = |path: &PathBuf| path.to_str().map(quote).ok_or_else(|| unspeakable(path));
        let items = self.items.iter().map(spelled).collect::<Result<Vec<_>, _>>()?.join(",");
        let optional = |text: &Option<String>| text.as_deref().map_or_else(|| "null".to_owned(), quote);
        Ok(format!(
            "{{\"version\":1,\"session\":{},\"title\":{},\"deletedAt\":\"{:.3}\",\"items\":[{items}],\"indexEntry\":{}}}\n",
            quote(&self.session),
            optional(&self.title),
            self.deleted_at,
            optional(&self.index_entry),
        ))
    }

    /// Adds what is there now to what was there when the deletion began; the transcript stays last.
    fn with_more(mut self, now: Self) -> Self {
        let transcript = self.items.pop();
        let more = now
            .items
            .into_iter()
            .filter(|path| Some(path) != transcript.as_ref() && !self.items.contains(path));
        let more: Vec<_> = more.collect();
        self.items.extend(more);
        self.items.extend(transcript);
        Self { index_entry: self.index_entry.or(now.index_entry), ..self }
    }

    fn trashed(self, folder: PathBuf) -> Trashed {
        let transcript = self.items.last().cloned().unwrap_or_default();
        Trashed { session: self.session, title: self.title, deleted_at: self.deleted_at, transcript, folder }
    }
}

/// Returns how many bytes a file has, or a folder with all that is in it.
fn size(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}
