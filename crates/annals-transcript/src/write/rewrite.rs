//! Replaces whole files, or leaves them as they were.
//!
//! ```
//! use annals_transcript::write::fs::RealDisk;
//! use annals_transcript::write::rewrite::{self, REWRITE_LIMIT, RemovalMethod};
//! use std::time::Duration;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("session.jsonl");
//! std::fs::write(&path, "{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"user\",\"uuid\":\"b\",\"parentUuid\":\"a\"}\n")?;
//! let method = rewrite::remove_entry(&RealDisk, &path, "a", REWRITE_LIMIT, Duration::from_secs(1))?;
//! assert_eq!(method, RemovalMethod::Rewrite);
//! assert_eq!(std::fs::read_to_string(&path)?, "{\"type\":\"user\",\"uuid\":\"b\",\"parentUuid\":null}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::draft::{not_json, on_one_line};
use super::error::{Error, ErrorKind};
use super::fs::{AppendWriter, Disk, Handle};
use super::removal::Removal;
use super::{DraftError, OpenMode, Options, lock};
use crate::file_state::FileState;
use crate::json::Value;

/// Replaces a file: writes a temporary file beside it, syncs it and renames it. Before the rename nothing has changed.
pub fn replace(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let _lock = lock_temporary_file(disk, path)?;
    write_and_rename(
        disk,
        path,
        IfExists::Replace,
        |out| write(out).map_err(Error::disk("write", path)),
        || Ok(()),
    )
}

/// Replaces the content of a small file by what `change` returns; `change` gets `None` if there is no file, and returns
/// `None` to leave everything as it is. Processes that update the same file at the same time run one after the other.
pub fn update(
    disk: &dyn Disk,
    path: &Path,
    change: impl FnOnce(Option<&[u8]>) -> Option<Vec<u8>>,
) -> Result<(), Error> {
    let _lock = lock_temporary_file(disk, path)?;
    let there = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(Error::disk("read", path))?),
    };
    match change(there.as_deref()) {
        Some(new) => write_and_rename(
            disk,
            path,
            IfExists::Replace,
            |out| out.write_all(&new).map_err(Error::disk("write", path)),
            || Ok(()),
        ),
        None => disk.remove_file(&temporary_path(path)).map_err(Error::disk("remove", &temporary_path(path))),
    }
}

/// Locks an existing transcript against all other annals processes, until the handle is dropped.
pub fn lock_transcript(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Handle>, Error> {
    lock(disk, path, OpenMode::Existing, Options::default().lock_timeout)
}

/// Creates and locks the temporary file of a path, so that only one process at a time writes it.
fn lock_temporary_file(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Handle>, Error> {
    let temporary = temporary_path(path);
    if temporary.is_symlink() {
        // annals does not create links here, and must not write to the file that this one points to.
        disk.remove_file(&temporary).map_err(Error::disk("remove", &temporary))?;
    }
    lock_empty(disk, &temporary).inspect_err(|error| {
        if !error.is_busy() {
            let _ = disk.remove_file(&temporary);
        }
    })
}

/// Creates and locks an empty file. A file that an interrupted process left is removed, not written to: it may be a hard
/// link to the finished file.
fn lock_empty(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Handle>, Error> {
    loop {
        let file = lock(disk, path, OpenMode::OrCreate, Options::default().lock_timeout)?;
        if file.state().map_err(Error::disk("read", path))?.length == 0 {
            return Ok(file);
        }
        disk.remove_file(path).map_err(Error::disk("remove", path))?;
    }
}

/// Removes the temporary file that an interrupted [`replace`] left beside a file, unless another process is writing it.
pub fn remove_temporary_file(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let temporary = temporary_path(path);
    if !temporary.exists() {
        return Ok(());
    }
    let _lock = lock(disk, &temporary, OpenMode::Existing, Duration::ZERO)?;
    disk.remove_file(&temporary).map_err(Error::disk("remove", &temporary))
}

/// Removes what an interrupted process left beside a file that the caller has locked.
pub fn remove_leftovers(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    remove_second_name(disk, path)?;
    remove_temporary_file(disk, path)
}

/// Removes the temporary name of a finished file, if an interrupted process left it: on some file systems a file is renamed
/// by a hard link, and has both names for a moment. The caller has locked the file, so no other process is renaming it.
fn remove_second_name(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let temporary = temporary_path(path);
    match identity(&temporary)? {
        Some(leftover) if identity(path)? == Some(leftover) => {
            disk.remove_file(&temporary).map_err(Error::disk("remove", &temporary))
        }
        _ => Ok(()),
    }
}

/// Returns the identity of the file at a path, if there is one.
fn identity(path: &Path) -> Result<Option<(u64, u64)>, Error> {
    Ok(FileState::of(path).map_err(Error::disk("read", path))?.map(|state| state.identity))
}

/// What happens to a file that already has the name of a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IfExists {
    /// The new file replaces it.
    Replace,
    /// It stays, and the operation fails: another process has created it in the meantime.
    Fail,
}

/// Writes the temporary file of a path and renames it. `confirm` is called just before the rename and can prevent it.
fn write_and_rename<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    if_exists: IfExists,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    confirm: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let temporary = temporary_path(path);
    let written = (|| {
        let mut file = disk.create(&temporary, Some(path)).map_err(Error::disk("write", &temporary))?;
        let mut out = BufWriter::with_capacity(256 * 1024, AppendWriter(&mut *file));
        write(&mut out)?;
        out.flush().map_err(Error::disk("write", &temporary))?;
        drop(out);
        file.sync().map_err(Error::disk("write", &temporary))?;
        drop(file);
        confirm()?;
        let renamed = match if_exists {
            IfExists::Replace => disk.rename(&temporary, path),
            IfExists::Fail => disk.rename_new(&temporary, path),
        };
        Ok(renamed.map_err(Error::disk("replace", path))?)
    })();
    if written.is_err() {
        // If this fails, the temporary file stays, which is harmless: the next attempt removes it.
        let _ = disk.remove_file(&temporary);
        return written;
    }
    // If this fails, the old file may come back after a loss of power, but complete.
    let _ = disk.sync_folder(path.parent().unwrap_or(Path::new(".")));
    Ok(())
}

/// Returns the file that a symbolic link points to: that file is replaced, not the link.
fn resolve_links(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the path of the temporary file: hidden, and without the extension of a transcript.
fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.annals"))
}

/// How an entry is removed from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalMethod {
    /// The entry is the last line: the file is truncated.
    Truncate,
    /// A file without the entry replaces the old one.
    Rewrite,
}

/// The usual limit for the size of a file that is rewritten to remove an entry.
pub const REWRITE_LIMIT: u64 = 50 * 1024 * 1024;

/// Removes the entry with an id from a transcript.
///
/// The children of the entry get its parent, so that the conversation continues as if the entry had never been there; a
/// compaction that kept the entry no longer does. All other entries keep their bytes.
///
/// The caller makes sure that Claude Code does not write to the session. If the file grows nevertheless, nothing is changed
/// and the error says so.
pub fn remove_entry(
    disk: &dyn Disk,
    path: &Path,
    id: &str,
    limit: u64,
    lock_timeout: Duration,
) -> Result<RemovalMethod, Error> {
    let path = &resolve_links(path);
    let mut file = lock(disk, path, OpenMode::Existing, lock_timeout)?;
    let before = file.state().map_err(Error::disk("read", path))?;
    file.seek(SeekFrom::Start(0)).map_err(Error::disk("read", path))?;
    let removal = plan_removal(&mut *file, path, id, before.length, limit)?;
    if let Some(start) = removal.cut_at().filter(|_| !has_other_names(path)) {
        ensure_unchanged(path, Some(before))?;
        file.truncate(start).map_err(Error::disk("cut", path))?;
        file.sync().map_err(Error::disk("sync", path))?;
        return Ok(RemovalMethod::Truncate);
    }
    file.seek(SeekFrom::Start(0)).map_err(Error::disk("read", path))?;
    remove_second_name(disk, path)?;
    let _lock = lock_temporary_file(disk, path)?;
    write_and_rename(
        disk,
        path,
        IfExists::Replace,
        |out| removal.copy((&mut *file).take(before.length), out).map_err(Error::disk("read", path)),
        || ensure_unchanged(path, Some(before)),
    )?;
    Ok(RemovalMethod::Rewrite)
}

/// Returns how [`remove_entry`] would remove an entry, or the error that it would return.
pub fn rehearse_removal(path: &Path, id: &str, limit: u64) -> Result<RemovalMethod, Error> {
    let file = fs::File::open(path).map_err(Error::disk("read", path))?;
    let length = file.metadata().map_err(Error::disk("read", path))?.len();
    let removal = plan_removal(file, path, id, length, limit)?;
    let is_cut = removal.cut_at().is_some() && !has_other_names(path);
    Ok(if is_cut { RemovalMethod::Truncate } else { RemovalMethod::Rewrite })
}

/// Returns whether a file has other names (hard links), such as a trash entry or a backup: truncating it would truncate
/// those as well.
pub fn has_other_names(path: &Path) -> bool {
    #[cfg(unix)]
    let names = path.metadata().map(|metadata| std::os::unix::fs::MetadataExt::nlink(&metadata));
    #[cfg(not(unix))]
    let names = path.metadata().map(|_| 1_u64);
    names.is_ok_and(|names| names > 1)
}

fn plan_removal<'i>(
    source: impl Read + Seek,
    path: &Path,
    id: &'i str,
    length: u64,
    limit: u64,
) -> Result<Removal<'i>, Error> {
    let found = Removal::find(source, id).map_err(Error::disk("read", path))?;
    let removal = found.ok_or_else(|| Error::new(ErrorKind::NoEntry { id: id.to_owned() }))?;
    if removal.is_boundary {
        return Err(Error::new(ErrorKind::Boundary { id: id.to_owned() }));
    }
    let is_cut = removal.cut_at().is_some() && !has_other_names(path);
    if !is_cut && length > limit {
        return Err(Error::new(ErrorKind::TooLarge { path: path.to_owned(), length, limit }));
    }
    Ok(removal)
}

/// Returns an error if a file was changed, created or removed since its state was read.
fn ensure_unchanged(path: &Path, before: Option<FileState>) -> Result<(), Error> {
    if FileState::of(path).map_err(Error::disk("read", path))? == before {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Changed { path: path.to_owned() }))
}

/// Replaces a transcript that the caller has locked, completely or not at all. `before` is its state when the caller read it; if the file was
/// changed since, nothing is replaced and the error says so.
pub fn replace_unchanged(disk: &dyn Disk, path: &Path, before: FileState, bytes: &[u8]) -> Result<(), Error> {
    let path = &resolve_links(path);
    remove_second_name(disk, path)?;
    let _lock = lock_temporary_file(disk, path)?;
    write_and_rename(
        disk,
        path,
        IfExists::Replace,
        |out| out.write_all(bytes).map_err(Error::disk("write", path)),
        || ensure_unchanged(path, Some(before)),
    )
}

/// Replaces a transcript by a log from another place, completely or not at all; returns the number of entries.
///
/// Entries are JSON objects and are written unchanged, one per line. If the log ends with an error or has anything else in
/// it, the file stays as it was. It also stays if the log is empty, unless `allow_empty` is set; a log of objects without
/// members counts as empty, because that is what servers return when they have nothing.
///
/// `keep_old` is called when the whole log is on disk, just before it replaces an existing file.
pub fn hydrate<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    allow_empty: bool,
    keep_old: impl FnOnce() -> Result<(), E>,
) -> Result<usize, E> {
    let mut count = 0;
    replace_transcript(
        disk,
        path,
        |out| {
            count = copy_log(log, path, allow_empty, out)?;
            Ok(())
        },
        keep_old,
    )?;
    Ok(count)
}

/// Replaces a transcript by the bytes of a source, completely or not at all. `keep_old` is called as in [`hydrate`].
pub fn replace_by_copy<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    source: &mut dyn io::Read,
    keep_old: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    replace_transcript(
        disk,
        path,
        |out| io::copy(source, out).map(|_| ()).map_err(Error::disk("write", path)),
        keep_old,
    )
}

/// Replaces or creates a transcript, completely or not at all. `keep_old` is called as in [`hydrate`].
fn replace_transcript<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    keep_old: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let path = &resolve_links(path);
    let folder = path.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        disk.create_folder(folder).map_err(Error::disk("make the folder", folder))?;
    }
    let before = FileState::of(path).map_err(Error::disk("read", path))?;
    let lock_timeout = Options::default().lock_timeout;
    let _file = before.map(|_| lock(disk, path, OpenMode::Existing, lock_timeout)).transpose()?;
    if before.is_some() {
        remove_second_name(disk, path)?;
    }
    let _lock = lock_temporary_file(disk, path)?;
    let if_exists = if before.is_some() { IfExists::Replace } else { IfExists::Fail };
    write_and_rename(disk, path, if_exists, write, || -> Result<(), E> {
        if before.is_some() {
            keep_old()?;
        }
        Ok(ensure_unchanged(path, before)?)
    })
}

/// Reads and checks a log as [`hydrate`] would, without writing; returns the number of entries.
pub fn rehearse_hydrate(
    path: &Path,
    log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    allow_empty: bool,
) -> Result<usize, Error> {
    copy_log(log, path, allow_empty, &mut io::sink())
}

fn copy_log(
    log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    path: &Path,
    allow_empty: bool,
    out: &mut dyn Write,
) -> Result<usize, Error> {
    let (mut number, mut is_empty, mut has_type) = (0, true, false);
    for entry in log {
        let entry = entry.map_err(Error::disk("read the log for", path))?;
        number += 1;
        let line = object(&entry).map_err(|source| Error::new(ErrorKind::Log { number, source }))?;
        let object = Value::new(&line);
        is_empty &= object.is_none_or(|object| object.members().next().is_none());
        has_type |= object.is_some_and(|object| object.text("type").is_some());
        out.write_all(&line).and_then(|()| out.write_all(b"\n")).map_err(Error::disk("write", path))?;
    }
    if is_empty && !allow_empty {
        return Err(Error::new(ErrorKind::EmptyLog));
    }
    // Servers return a single object without a type to explain why there is no log.
    if number == 1 && !is_empty && !has_type {
        return Err(Error::new(ErrorKind::NotATranscript));
    }
    Ok(number)
}

/// Returns a JSON object on one line.
fn object(bytes: &[u8]) -> Result<Vec<u8>, DraftError> {
    match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Err(error) => Err(not_json(&error)),
        Ok(_) if bytes.trim_ascii_start().first() != Some(&b'{') => {
            Err(DraftError::NotAnObject("it is a value of another kind".into()))
        }
        Ok(_) => Ok(on_one_line(bytes)),
    }
}
