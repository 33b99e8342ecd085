//! Replacing whole files, or not at all.

use std::fs;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::draft::{not_json, on_one_line};
use super::error::{Error, ErrorKind};
use super::fs::{AppendWriter, Disk, Handle};
use super::removal::Removal;
use super::{DraftError, Open, Options, lock};
use crate::file_state::FileState;
use crate::json::Value;

/// Puts a new file in the place of another: written beside it, synced, and then renamed. Until then nothing has changed.
pub fn replace(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let _claim = claim(disk, path)?;
    put(disk, path, Place::Any, |out| write(out).map_err(Error::disk("write", path)), || Ok(()))
}

/// Puts in the place of a small file what `change` makes of it, or of nothing if it is not there. Of several who do so
/// at once, each sees what the one before made.
pub fn update(
    disk: &dyn Disk,
    path: &Path,
    change: impl FnOnce(Option<&[u8]>) -> Option<Vec<u8>>,
) -> Result<(), Error> {
    let _claim = claim(disk, path)?;
    let there = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(Error::disk("read", path))?),
    };
    match change(there.as_deref()) {
        Some(new) => {
            let write = |out: &mut dyn Write| out.write_all(&new).map_err(Error::disk("write", path));
            put(disk, path, Place::Any, write, || Ok(()))
        }
        None => disk.remove_file(&beside(path)).map_err(Error::disk("remove", &beside(path))),
    }
}

/// Takes a file for us among all annals processes, until the handle is dropped.
pub fn lock_transcript(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Handle>, Error> {
    lock(disk, path, Open::IfThere, Options::default().lock_timeout)
}

/// Takes the place beside a file in which its successor is written: no two of us write one at the same time.
fn claim(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Handle>, Error> {
    let beside = beside(path);
    if beside.is_symlink() {
        // Not ours, and what it leads to is somebody else's.
        disk.remove_file(&beside).map_err(Error::disk("remove", &beside))?;
    }
    lock_empty(disk, &beside).inspect_err(|error| {
        if !error.is_busy() {
            let _ = disk.remove_file(&beside);
        }
    })
}

/// Makes and locks a file. One that an interruption left is removed, not written to: it may have another name by now, under
/// which it is needed.
fn lock_empty(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Handle>, Error> {
    loop {
        let file = lock(disk, path, Open::OrCreate, Options::default().lock_timeout)?;
        if file.state().map_err(Error::disk("read", path))?.length == 0 {
            return Ok(file);
        }
        disk.remove_file(path).map_err(Error::disk("remove", path))?;
    }
}

/// Removes what an interrupted [`replace`] left beside a file, unless somebody is writing it right now.
pub fn remove_temporary_file(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let beside = beside(path);
    if !beside.exists() {
        return Ok(());
    }
    let _claim = lock(disk, &beside, Open::IfThere, Duration::ZERO)?;
    disk.remove_file(&beside).map_err(Error::disk("remove", &beside))
}

/// Removes what an interruption left beside a file that the caller holds.
pub fn remove_leftovers(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    remove_second_name(disk, path)?;
    remove_temporary_file(disk, path)
}

/// Removes the name under which a file was written, if an interruption left it: where a file gets its name by a link, it
/// has both for a moment. The caller holds the file, so that nobody else is just giving it its name.
fn remove_second_name(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let beside = beside(path);
    let identity =
        |path: &Path| Ok(FileState::of(path).map_err(Error::disk("read", path))?.map(|it| it.identity));
    match identity(&beside)? {
        Some(left) if identity(path)? == Some(left) => {
            disk.remove_file(&beside).map_err(Error::disk("remove", &beside))
        }
        _ => Ok(()),
    }
}

/// What may be where a file is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A file, which is replaced, or nothing.
    Any,
    /// Nothing: a file that has appeared meanwhile is somebody else's and stays.
    Free,
}

/// Writes the successor of a file and, if `still` agrees at the last moment, puts it in its place.
fn put<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    place: Place,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    still: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let beside = beside(path);
    let written = (|| {
        let failed = || Error::disk("write", &beside);
        let mut file = disk.create(&beside, Some(path)).map_err(failed())?;
        let mut out = BufWriter::with_capacity(256 * 1024, AppendWriter(&mut *file));
        write(&mut out)?;
        out.flush().map_err(failed())?;
        drop(out);
        file.sync().map_err(failed())?;
        drop(file);
        still()?;
        let renamed = match place {
            Place::Any => disk.rename(&beside, path),
            Place::Free => disk.rename_new(&beside, path),
        };
        Ok(renamed.map_err(Error::disk("replace", path))?)
    })();
    if written.is_err() {
        // What is left of it is harmless, and overwritten by the next attempt.
        let _ = disk.remove_file(&beside);
        return written;
    }
    // The new file is in place. If this fails, a loss of power may bring the old one back, whole.
    let _ = disk.sync_folder(path.parent().unwrap_or(Path::new(".")));
    Ok(())
}

/// Returns the file that a link leads to, which is the one to replace.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the name under which a file is written before it takes its place: hidden, and no transcript's.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.annals"))
}

/// How an entry was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalMethod {
    /// It was the last line: the file was cut.
    Truncate,
    /// The file was written anew without it.
    Rewrite,
}

/// The largest file that is rewritten to take an entry out, unless the caller says otherwise.
pub const REWRITE_LIMIT: u64 = 50 * 1024 * 1024;

/// Takes the entry with an id out of a transcript.
///
/// What hung on it hangs on what it hung on itself, so that the conversation goes on as if it had never been said; a
/// compaction that kept it keeps it no longer. All other entries keep their bytes.
///
/// The caller makes sure that the client does not write to the session. That the file grew meanwhile is noticed, and
/// then nothing is changed.
pub fn remove_entry(
    disk: &dyn Disk,
    path: &Path,
    id: &str,
    limit: u64,
    lock_timeout: Duration,
) -> Result<RemovalMethod, Error> {
    let path = &real(path);
    let mut file = lock(disk, path, Open::IfThere, lock_timeout)?;
    let failed = || Error::disk("read", path);
    let before = file.state().map_err(failed())?;
    file.seek(SeekFrom::Start(0)).map_err(failed())?;
    let removal = plan_removal(&mut *file, path, id, before.length, limit)?;
    if let Some(start) = removal.cut_at().filter(|_| !has_other_names(path)) {
        unchanged(path, Some(before))?;
        file.truncate(start).map_err(Error::disk("cut", path))?;
        file.sync().map_err(Error::disk("sync", path))?;
        return Ok(RemovalMethod::Truncate);
    }
    file.seek(SeekFrom::Start(0)).map_err(failed())?;
    let mut copy = |out: &mut dyn Write| removal.copy((&mut *file).take(before.length), out);
    remove_second_name(disk, path)?;
    let _claim = claim(disk, path)?;
    put(disk, path, Place::Any, |out| copy(out).map_err(failed()), || unchanged(path, Some(before)))?;
    Ok(RemovalMethod::Rewrite)
}

/// Says how [`remove_entry`] would take an entry out, or why it would not.
pub fn rehearse_removal(path: &Path, id: &str, limit: u64) -> Result<RemovalMethod, Error> {
    let failed = || Error::disk("read", path);
    let file = fs::File::open(path).map_err(failed())?;
    let length = file.metadata().map_err(failed())?.len();
    let removal = plan_removal(file, path, id, length, limit)?;
    let is_cut = removal.cut_at().is_some() && !has_other_names(path);
    Ok(if is_cut { RemovalMethod::Truncate } else { RemovalMethod::Rewrite })
}

/// Returns whether a file has other names (hard links): cutting it would cut what others keep under those, such as an entry
/// of the trash or a backup.
fn has_other_names(path: &Path) -> bool {
    #[cfg(unix)]
    let names = path.metadata().map(|metadata| std::os::unix::fs::MetadataExt::nlink(&metadata));
    #[cfg(not(unix))]
    let names = path.metadata().map(|_| 1_u64);
    names.is_ok_and(|names| names > 1)
}

fn plan_removal<'i>(
    source: impl Read,
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

/// Makes sure that a file is as it was, or still is not there.
fn unchanged(path: &Path, before: Option<FileState>) -> Result<(), Error> {
    if FileState::of(path).map_err(Error::disk("read", path))? == before {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Changed { path: path.to_owned() }))
}

/// Replaces a transcript by a log from elsewhere, all of it or nothing; returns how many entries it has.
///
/// Entries are JSON objects, written as they are, one a line. If the log breaks off or holds anything else, the file stays
/// as it was. So it does if the log is empty, unless that is allowed; objects without members are no entries in this
/// respect, because servers answer so when they have nothing.
///
/// `keep_old` is called when all of the log is on disk, just before it takes the place of a file that is there.
pub fn hydrate<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    allow_empty: bool,
    keep_old: impl FnOnce() -> Result<(), E>,
) -> Result<usize, E> {
    let mut count = 0;
    let write = |out: &mut dyn Write| {
        count = copy_log(log, path, allow_empty, out)?;
        Ok(())
    };
    replace_transcript(disk, path, write, keep_old)?;
    Ok(count)
}

/// Replaces a transcript by the bytes of a source, all of it or nothing. `keep_old` is called as in [`hydrate`].
pub fn replace_by_copy<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    source: &mut dyn io::Read,
    keep_old: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let copy = |out: &mut dyn Write| io::copy(source, out).map(|_| ()).map_err(Error::disk("write", path));
    replace_transcript(disk, path, copy, keep_old)
}

/// Replaces a transcript, or creates it, all of it or nothing. `keep_old` is called when all of the new content is on disk, just
/// before it takes the place of a file that is there.
fn replace_transcript<E: From<Error>>(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    keep_old: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let path = &real(path);
    let folder = path.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        disk.create_folder(folder).map_err(Error::disk("make the folder", folder))?;
    }
    let before = FileState::of(path).map_err(Error::disk("read", path))?;
    let lock_timeout = Options::default().lock_timeout;
    let _file = before.map(|_| lock(disk, path, Open::IfThere, lock_timeout)).transpose()?;
    if before.is_some() {
        remove_second_name(disk, path)?;
    }
    let _claim = claim(disk, path)?;
    let place = if before.is_some() { Place::Any } else { Place::Free };
    put(disk, path, place, write, || -> Result<(), E> {
        if before.is_some() {
            keep_old()?;
        }
        Ok(unchanged(path, before)?)
    })
}

/// Reads a log as [`hydrate`] would; returns how many entries it has.
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
    // A single object without a type is what servers answer to say why there is no log.
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
