//! The files of an export: each is written as a whole, and nothing is replaced or written where it must not be.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use annals_engine::Engine;
use annals_transcript::write::fs::{Disk, RealDisk};

use crate::failure::Failure;
use crate::output;

/// Writes the files of an export.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) engine: &'a Engine,
    /// Files that exist are replaced without a question.
    pub(super) force: bool,
}

impl Files<'_> {
    /// Writes a file as a whole: what fails in the middle leaves no file. A file that exists is replaced only on request.
    pub(super) fn write<T>(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let may_replace = self.check(path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let part = folder.join(format!(".annals-export-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&part);
        let file = file.map_err(|error| Failure::cannot_write(path, &error))?;
        let mut out = BufWriter::with_capacity(256 << 10, file);
        let written = write(&mut out).and_then(|made| {
            out.flush()?;
            Ok(made)
        });
        let finished = written.and_then(|made| {
            Self::put(&part, path, may_replace)?;
            Ok(made)
        });
        if finished.is_err() {
            let _ = fs::remove_file(&part);
        }
        finished
    }

    /// Gives a complete file its name. A file that came to be there meanwhile is replaced only if that was allowed.
    fn put(part: &Path, path: &Path, may_replace: bool) -> Result<(), Failure> {
        let renamed = if may_replace { RealDisk.rename(part, path) } else { RealDisk.rename_new(part, path) };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => already_there(path),
            _ => Failure::cannot_write(path, &error),
        })
    }

    /// Makes a folder for files.
    pub(super) fn make_folder(&self, folder: &Path) -> Result<(), Failure> {
        self.check_outside(&folder.join("index"))?;
        fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))
    }

    /// Fails if a file must not be written. Returns whether it may replace another one.
    fn check(&self, path: &Path) -> Result<bool, Failure> {
        let there = path.symlink_metadata().ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            let text = format!("`{}` is not a file", name_of(path));
            return Err(Failure::usage(&text, "give another path with `-o PATH`"));
        }
        if there.is_some() && !self.force {
            let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal();
            if !is_asked || !output::ask(&format!("`{}` exists. Replace it?", name_of(path)))? {
                return Err(already_there(path));
            }
        }
        self.check_outside(path)?;
        Ok(self.force || there.is_some())
    }

    /// Refuses paths in the folders of Claude Code.
    fn check_outside(&self, path: &Path) -> Result<(), Failure> {
        if !self.engine.root_folders().any(|root| is_below(path, root)) {
            return Ok(());
        }
        let text = format!("`{}` is in a folder of Claude Code", name_of(path));
        Err(Failure::usage(&text, "give a path outside of them with `-o PATH`"))
    }
}

fn already_there(path: &Path) -> Failure {
    Failure::usage(&format!("`{}` exists", name_of(path)), "`--force` replaces it")
}

fn name_of(path: &Path) -> String {
    output::clean(&path.to_string_lossy()).into_owned()
}

/// Returns whether a file would be in a folder, through whatever links. Folders of the path that do not exist yet lead nowhere else.
fn is_below(file: &Path, folder: &Path) -> bool {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let real = absolute.ancestors().skip(1).find_map(|parent| parent.canonicalize().ok());
    real.zip(folder.canonicalize().ok()).is_some_and(|(parent, folder)| parent.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_comes_to_be_there_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [part, path] = ["part", "page.html"].map(|name| folder.path().join(name));
        fs::write(&part, "export").unwrap();
        fs::write(&path, "precious").unwrap();
        assert!(Files::put(&part, &path, false).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert!(Files::put(&part, &path, true).is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), "export");
    }
}
