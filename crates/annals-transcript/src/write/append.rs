//! Appends lines to a transcript without reading it, and waits for lines that are still being written.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::draft::RecorderFields;
use super::fs::{Disk, Handle};
use super::lines::Lines;
use super::locking::{OpenMode, lock};
use super::{Draft, Envelope, Error, Options, Target};
use crate::line::read_span;

/// A line without its newline may still be being written. The file is polled at this interval, at most this many times,
/// until it stops growing.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const MAX_POLLS: usize = 100;

/// Appends records such as titles and tags to an existing transcript without reading it: they have no parent.
pub fn append_records(
    disk: &dyn Disk,
    target: &Target,
    records: &[Draft],
    options: &Options,
) -> Result<(), Error> {
    let path = target.path();
    let mut file = lock(disk, &path, OpenMode::Existing, options.lock_timeout)?;
    let heal = is_torn(&mut *file, lacks_final_newline).map_err(Error::disk("read", &path))?;
    let mut lines = Lines::default();
    for record in records.iter().filter(|record| !record.kind.joins_chain()) {
        let added = RecorderFields {
            session: target.session_id(),
            agent: None,
            envelope: &Envelope::default(),
            id: None,
            parent: None,
            logical_parent: None,
            time: (options.now)(),
        };
        lines.push(|out| record.render(&added, out));
    }
    lines.append_to(&mut *file, heal).result.map_err(Error::disk("write to", &path))?;
    file.sync().map_err(Error::disk("sync", &path))
}

/// Appends whole lines, each with its newline, to a transcript that the caller has locked, and syncs it. If the file ends in a
/// torn line, they begin on a new one.
pub fn append_lines(file: &mut dyn Handle, path: &Path, lines: &[u8]) -> Result<(), Error> {
    let heal = is_torn(file, lacks_final_newline).map_err(Error::disk("read", path))?;
    let mut batch = Lines::default();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        batch.push(|out| out.extend_from_slice(line));
    }
    batch.append_to(file, heal).result.map_err(Error::disk("write to", path))?;
    file.sync().map_err(Error::disk("sync", path))
}

/// Returns whether a file is not empty and does not end in a newline.
fn lacks_final_newline(mut file: &mut dyn Handle) -> io::Result<bool> {
    let length = file.state()?.length;
    Ok(length > 0 && read_span(&mut file, length - 1, 1)? != b"\n")
}

/// Returns whether the last line of a file was torn off, as opposed to still being written: other processes can see a
/// part of what one operation writes. `lacks_newline` reads the end of the file.
pub(super) fn is_torn(
    file: &mut dyn Handle,
    mut lacks_newline: impl FnMut(&mut dyn Handle) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut before = file.state()?.length;
    for _ in 0..MAX_POLLS {
        if !lacks_newline(file)? {
            return Ok(false);
        }
        thread::sleep(POLL_INTERVAL);
        let now = file.state()?.length;
        if std::mem::replace(&mut before, now) == now {
            break;
        }
    }
    lacks_newline(file)
}
