//! Moving and copying files and folders. No existing file is replaced.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;
use annals_transcript::write::fs::AppendWriter;

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::children;

/// How often a copy is attempted if the original changes while it is copied.
const ATTEMPTS: usize = 5;

impl Engine {
    /// Moves a file or folder to a path that does not exist. If that is on another file system, it is copied to `temporary`, which
    /// lies beside it; the copy gets its final name when it is complete and synced, and only then is the original removed.
    pub(crate) fn move_new(&self, from: &Path, to: &Path, temporary: &Path) -> Result<(), Error> {
        match self.disk().rename_new(from, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                self.copy_new(from, to, temporary)?.remove_original(self, from, to)
            }
            result => result.map_err(|source| cannot_create(to, source)),
        }
    }

    /// Copies a file or folder to a path that does not exist. Returns the state of the original, which did not change while it
    /// was copied.
    pub(crate) fn copy_new(&self, from: &Path, to: &Path, temporary: &Path) -> Result<TreeState, Error> {
        let copied = self.copy_unchanged(from, temporary).and_then(|copied| {
            self.disk().rename_new(temporary, to).map_err(|source| cannot_create(to, source))?;
            Ok(copied)
        });
        let copied = copied.inspect_err(|_| {
            // If this fails, too, the next attempt removes the temporary copy.
            let _ = self.remove_all(temporary);
        })?;
        let folder = to.parent().unwrap_or(Path::new("."));
        self.disk().sync_folder(folder).map_err(|source| Error::write(folder, source))?;
        Ok(copied)
    }

    /// Copies a file or folder, again if it changed meanwhile.
    fn copy_unchanged(&self, from: &Path, to: &Path) -> Result<TreeState, Error> {
        for _ in 0..ATTEMPTS {
            self.remove_all(to)?;
            let before = TreeState::of(from)?;
            self.copy_all(from, to)?;
            if TreeState::of(from)? == before {
                return Ok(before);
            }
        }
        Err(changed(from))
    }

    /// Copies a file, or a folder with everything in it, to a path that does not exist. Permissions and times are kept, links
    /// stay links. Pipes and sockets have no content and are skipped.
    pub(crate) fn copy_all(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let metadata = from.symlink_metadata().map_err(|source| Error::read(from, source))?;
        if metadata.is_symlink() {
            let target = fs::read_link(from).map_err(|source| Error::read(from, source))?;
            return self.disk().symlink(&target, to).map_err(|source| Error::write(to, source));
        }
        if metadata.is_dir() {
            self.disk().create_new_folder(to).map_err(|source| Error::write(to, source))?;
            for path in children(from).map_err(|source| Error::read(from, source))? {
                self.copy_all(&path, &to.join(path.file_name().unwrap_or_default()))?;
            }
            self.disk().sync_folder(to).map_err(|source| Error::write(to, source))?;
        } else if metadata.is_file() {
            self.copy_file(from, to)?;
        } else {
            return Ok(());
        }
        self.copy_attributes(&metadata, to).map_err(|source| Error::write(to, source))
    }

    fn copy_file(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let mut source = File::open(from).map_err(|source| Error::read(from, source))?;
        let mut copy = self.disk().create(to, None).map_err(|source| Error::write(to, source))?;
        let mut buffer = io::BufWriter::with_capacity(256 * 1024, AppendWriter(&mut *copy));
        io::copy(&mut source, &mut buffer).and_then(|_| buffer.flush()).map_err(|e| Error::write(to, e))?;
        drop(buffer);
        copy.sync().map_err(|source| Error::write(to, source))
    }

    pub(super) fn copy_attributes(&self, original: &Metadata, copy: &Path) -> io::Result<()> {
        self.disk().set_attributes(copy, original.permissions(), original.modified()?)
    }

    /// Appends to a copy what was appended to the original since it was copied.
    pub(super) fn copy_rest(&self, original: &mut File, copy: &Path) -> io::Result<()> {
        let mut rest = Vec::new();
        original.seek(SeekFrom::Start(copy.metadata()?.len()))?;
        original.read_to_end(&mut rest)?;
        if !rest.is_empty() {
            let mut copy = self.disk().open(copy)?;
            AppendWriter(&mut *copy).write_all(&rest)?;
            copy.sync()?;
        }
        Ok(())
    }

    /// Makes a folder in the trash writable, so that its files can be removed: it may have the permissions of a read-only
    /// original.
    pub(super) fn make_writable(&self, folder: &Path, metadata: &Metadata) -> io::Result<()> {
        #[cfg(unix)]
        if !is_writable(metadata) {
            use std::os::unix::fs::PermissionsExt;
            let mut permissions = metadata.permissions();
            permissions.set_mode(permissions.mode() | OWNERS_ALL);
            return self.disk().set_attributes(folder, permissions, metadata.modified()?);
        }
        let _ = (folder, metadata);
        Ok(())
    }

    /// Removes a file, or a folder with everything in it, if it exists. Read-only folders are made writable first, so this must
    /// not be used on files of the user.
    pub(crate) fn remove_all(&self, path: &Path) -> Result<(), Error> {
        let failed = Error::writing(path);
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error)),
            Ok(metadata) if !metadata.is_dir() => self.disk().remove_file(path).map_err(failed),
            Ok(metadata) => {
                self.make_writable(path, &metadata).map_err(failed)?;
                children(path).map_err(failed)?.iter().try_for_each(|path| self.remove_all(path))?;
                self.disk().remove_folder(path).map_err(failed)
            }
        }
    }
}

/// The permissions that the owner of a folder needs to change its content and to move it.
#[cfg(unix)]
const OWNERS_ALL: u32 = 0o700;

/// Returns whether the owner of a folder may change its content and move it to another folder.
pub(super) fn is_writable(folder: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & OWNERS_ALL == OWNERS_ALL;
    #[cfg(not(unix))]
    return !folder.permissions().readonly();
}

/// The state of a file, or of a folder and everything below it, parents first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeState(Vec<(PathBuf, Kind, FileState)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
    Other,
}

impl TreeState {
    fn of(path: &Path) -> Result<Self, Error> {
        let mut found = Vec::new();
        let mut waiting = vec![path.to_owned()];
        while let Some(path) = waiting.pop() {
            let metadata = path.symlink_metadata().map_err(|source| Error::read(&path, source))?;
            let kind = match metadata.file_type() {
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_file() => Kind::File,
                _ => Kind::Other,
            };
            if kind == Kind::Folder {
                let mut below = children(&path).map_err(|source| Error::read(&path, source))?;
                below.sort();
                waiting.extend(below);
            }
            found.push((path, kind, metadata.into()));
        }
        Ok(Self(found))
    }

    /// Removes the original `from` of a complete copy `to`. What was appended to a file since is copied, too. A file that was
    /// replaced or added since stays, and is an error.
    fn remove_original(&self, engine: &Engine, from: &Path, to: &Path) -> Result<(), Error> {
        if from.starts_with(engine.home().trash()) {
            for (path, _, _) in self.0.iter().filter(|(_, kind, _)| *kind == Kind::Folder) {
                let metadata = path.metadata().map_err(|source| Error::read(path, source))?;
                engine.make_writable(path, &metadata).map_err(|source| Error::write(path, source))?;
            }
        }
        for (path, kind, _) in self.0.iter().rev() {
            match kind {
                Kind::Folder => {
                    engine.disk().remove_folder(path).map_err(|error| cannot_remove(path, error))?;
                }
                Kind::Other if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) => {
                    return Err(changed(path));
                }
                Kind::Other => engine.disk().remove_file(path).map_err(|error| cannot_remove(path, error))?,
                Kind::File => {
                    let below = path.strip_prefix(from).unwrap_or(Path::new(""));
                    let copy = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
                    remove_copied_file(engine, path, &copy)?;
                }
            }
        }
        Ok(())
    }
}

/// Removes a file that has a copy. The file stays open meanwhile, so that what other processes append until it is removed can be
/// copied, too.
fn remove_copied_file(engine: &Engine, path: &Path, copy: &Path) -> Result<(), Error> {
    let cannot_read = Error::reading(path);
    let mut file = File::open(path).map_err(cannot_read)?;
    // All bytes are compared, not only size and time: after this the original is gone.
    let is_same_copy = compare(copy, path).map_err(cannot_read)? != Comparison::Different;
    if !is_same_copy {
        return Err(changed(path));
    }
    let copy_failed = Error::writing(copy);
    engine.copy_rest(&mut file, copy).map_err(copy_failed)?;
    // Another program may have put a new file in its place since it was opened, which has no copy.
    let opened = FileState::from(file.metadata().map_err(cannot_read)?);
    if FileState::of(path).map_err(cannot_read)?.map(|state| state.identity) != Some(opened.identity) {
        return Err(changed(path));
    }
    engine.disk().remove_file(path).map_err(|source| Error::write(path, source))?;
    engine.copy_rest(&mut file, copy).map_err(copy_failed)
}

fn changed(path: &Path) -> Error {
    Error::new(ErrorKind::ChangedWhileCopied { path: path.to_owned() })
}

/// Returns why an original cannot be removed: a folder that is not empty got a file since it was copied.
fn cannot_remove(path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::DirectoryNotEmpty => changed(path),
        _ => Error::write(path, source),
    }
}

fn cannot_create(path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::AlreadyExists => Error::new(ErrorKind::PathTaken { path: path.to_owned() }),
        _ => Error::write(path, source),
    }
}

/// How the first of two files relates to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// Both have the same bytes, or are links to the same path.
    Same,
    /// The second is longer and begins with the whole first.
    Extended,
    /// They differ otherwise.
    Different,
}

/// Compares two files or links.
pub(super) fn compare(first: &Path, second: &Path) -> io::Result<Comparison> {
    let (a, b) = (first.symlink_metadata()?, second.symlink_metadata()?);
    let are_links = a.is_symlink() && b.is_symlink();
    if are_links && fs::read_link(first)? == fs::read_link(second)? {
        return Ok(Comparison::Same);
    }
    if !a.is_file() || !b.is_file() || a.len() > b.len() {
        return Ok(Comparison::Different);
    }
    Ok(match begins_with(&mut File::open(second)?, &mut File::open(first)?)? {
        false => Comparison::Different,
        true if a.len() < b.len() => Comparison::Extended,
        true => Comparison::Same,
    })
}

/// Returns whether a file begins with all bytes of another.
fn begins_with(file: &mut File, beginning: &mut File) -> io::Result<bool> {
    let (mut expected, mut found) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let length = beginning.read(&mut expected)?;
        if length == 0 {
            return Ok(true);
        }
        match file.read_exact(&mut found[..length]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            result => result?,
        }
        if found[..length] != expected[..length] {
            return Ok(false);
        }
    }
}
