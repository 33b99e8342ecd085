//! Changes one value of a settings file of Claude Code: shows the change, asks, keeps a backup. Every other byte stays.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use annals_transcript::json::Value;
use annals_transcript::patch;
use annals_transcript::write::fs::{AppendWriter, Disk, RealDisk};
use annals_transcript::write::rewrite;
use serde_json::Value as Json;

use crate::failure::Failure;
use crate::output::{self, note};

/// What is appended to the name of a settings file for its backup.
const BACKUP: &str = ".annals-backup";

/// A value to be set in a settings file.
pub(crate) struct Change<'a> {
    /// The file; it need not exist.
    pub(crate) path: PathBuf,
    /// The keys that lead to the value.
    pub(crate) keys: &'a [&'a str],
    /// The value, as JSON.
    pub(crate) value: String,
}

impl Change<'_> {
    /// Shows the change, asks unless `yes`, and makes it. Returns whether the file was changed; otherwise it has the value already.
    pub(crate) fn make(mut self, yes: bool) -> Result<bool, Failure> {
        self.path = resolved(self.path)?;
        let there = read(&self.path)?;
        if self.applied_to(there.as_deref())?.is_none() {
            return Ok(false);
        }
        let what = if there.is_some() { "Changes" } else { "Creates" };
        note(&format!("{what} {}:", self.path.display()));
        note(&format!("  {}", self.shown()));
        if there.is_some_and(|there| self.has_value(&there)) {
            note("It replaces the value that is there; the backup keeps it.");
        }
        if !yes {
            if !io::stdin().is_terminal() {
                return Err(Failure::usage("nothing was written", "`--yes` writes it without asking"));
            }
            if !output::ask("write this?")? {
                return Err(Failure::declined());
            }
        }
        if let Some(backup) = self.write(&RealDisk)? {
            note(&format!("The file as it was is {}.", backup.display()));
        }
        Ok(true)
    }

    /// Returns the value with its keys around it, as a person would write it.
    fn shown(&self) -> String {
        let keys = format!("\"{}\": ", self.keys.join("\": {\""));
        format!("{keys}{}{}", self.value, "}".repeat(self.keys.len() - 1))
    }

    /// Returns whether the file has another value there.
    fn has_value(&self, there: &[u8]) -> bool {
        Value::new(there.trim_ascii())
            .and_then(|document| self.keys.iter().try_fold(document, |object, key| object.get(key)))
            .is_some()
    }

    /// Returns the content of the file with the value; `None` if it has it already.
    fn applied_to(&self, there: Option<&[u8]>) -> Result<Option<Vec<u8>>, Failure> {
        let there = there.filter(|there| !there.trim_ascii().is_empty()).unwrap_or(b"{}\n");
        let changed = patch::set_in_document(there, self.keys, &self.value).map_err(|_| {
            let text = format!(
                "{} is not valid JSON, or has something other than an object where \"{}\" belongs; nothing was changed",
                self.path.display(),
                self.keys[0]
            );
            Failure::usage(&text, "correct the file first; Claude Code cannot read it either")
        })?;
        Ok(Some(changed).filter(|changed| !is_same_json(changed, there)))
    }

    /// Writes the value. Returns the path of the backup, if there was a file before.
    fn write(&self, disk: &dyn Disk) -> Result<Option<PathBuf>, Failure> {
        let mut kept = Ok(None);
        // The file is read again under the lock: Claude Code may have changed it while the question was open.
        let updated = rewrite::update(disk, &self.path, |there| {
            kept = self.applied_to(there).and_then(|changed| match (changed, there) {
                (Some(changed), Some(there)) => {
                    // Under the lock, so that no two processes take the same one.
                    let backup = free_backup(&self.path);
                    back_up(disk, &self.path, &backup, there).map_err(|error| self.cannot_write(&error))?;
                    Ok(Some((changed, Some(backup))))
                }
                (changed, _) => Ok(changed.map(|changed| (changed, None))),
            });
            kept.as_ref().ok().and_then(|kept| kept.as_ref()).map(|(changed, _)| changed.clone())
        });
        let kept = kept?;
        updated.map_err(|error| self.cannot_write(&error))?;
        Ok(kept.and_then(|(_, backup)| backup))
    }

    fn cannot_write(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::usage(&format!("cannot write {}: {error}", self.path.display()), "the file is as it was")
    }
}

/// Returns the path of this program, for settings that start it.
pub(crate) fn own_path() -> io::Result<String> {
    Ok(std::env::current_exe()?.to_string_lossy().into_owned())
}

/// Returns the file that a link leads to, so that the link stays one.
fn resolved(path: PathBuf) -> Result<PathBuf, Failure> {
    if !path.is_symlink() {
        return Ok(path);
    }
    path.canonicalize().map_err(|error| {
        let text = format!("{} is a link that leads nowhere: {error}", path.display());
        Failure::usage(&text, "remove the link, or create the file that it names")
    })
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(path) {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let text = format!("cannot read {}: {error}", path.display());
            Err(Failure::usage(&text, "nothing was changed"))
        }
    }
}

/// Returns whether two documents are the same values, in whatever spelling.
fn is_same_json(one: &[u8], other: &[u8]) -> bool {
    match (serde_json::from_slice::<Json>(one), serde_json::from_slice::<Json>(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Keeps a copy, with the permissions of the file: settings may have secrets.
fn back_up(disk: &dyn Disk, path: &Path, backup: &Path, content: &[u8]) -> io::Result<()> {
    let mut copy = disk.create(backup, Some(path))?;
    AppendWriter(&mut *copy).write_all(content)?;
    copy.sync()
}

/// Returns a path for a backup beside a file where nothing is yet: an earlier backup may be the only copy of what the user had.
fn free_backup(path: &Path) -> PathBuf {
    let first = backup_named(path, "");
    let numbered = (2_u32..).map(|number| backup_named(path, &format!("-{number}")));
    let mut all = std::iter::once(first.clone()).chain(numbered);
    all.find(|path| path.symlink_metadata().is_err()).unwrap_or(first)
}

fn backup_named(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(BACKUP);
    name.push(ending);
    path.with_file_name(name)
}
