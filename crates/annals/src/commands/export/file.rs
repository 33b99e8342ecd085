//! The files of an export: each is written as a whole, and nothing is replaced or written where it must not be.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use annals_engine::Engine;

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
    /// Writes a file as a whole: what fails in the middle leaves no file behind. A file that exists is replaced only on request.
    pub(super) fn write<T>(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.check(path)?;
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
            fs::rename(&part, path).map_err(|error| Failure::cannot_write(path, &error))?;
            Ok(made)
        });
        if finished.is_err() {
            let _ = fs::remove_file(&part);
        }
        finished
    }

    /// Makes a folder for files.
    pub(super) fn make_folder(&self, folder: &Path) -> Result<(), Failure> {
        self.check_outside(&folder.join("index"))?;
        fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))
    }

    fn check(&self, path: &Path) -> Result<(), Failure> {
        let there = path.symlink_metadata().ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            let text = format!("`{}` is not a file", name_of(path));
            return Err(Failure::usage(&text, "give another path with `-o PATH`"));
        }
        if there.is_some() && !self.force {
            let name = name_of(path);
            let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal();
            if !is_asked || !output::ask(&format!("`{name}` exists. Replace it?"))? {
                return Err(Failure::usage(&format!("`{name}` exists"), "`--force` replaces it"));
            }
        }
        self.check_outside(path)
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

fn name_of(path: &Path) -> String {
    output::clean(&path.to_string_lossy()).into_owned()
}

/// Returns whether a file would be in a folder, through whatever links. Folders of the path that do not exist yet lead nowhere else.
fn is_below(file: &Path, folder: &Path) -> bool {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let real = absolute.ancestors().skip(1).find_map(|parent| parent.canonicalize().ok());
    real.zip(folder.canonicalize().ok()).is_some_and(|(parent, folder)| parent.starts_with(folder))
}
