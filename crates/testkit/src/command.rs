//! Running a program in a home of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A scratch home, which isolates a program from the files of the machine.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// Creates an empty home.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file below it and returns its path.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
        std::fs::write(&path, content).expect("the file can be written");
        path
    }

    /// Returns a command whose environment has only this home, no colours, and UTC.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path()).env("USERPROFILE", self.path());
        command
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(self.path());
        command
    }

    /// Runs a program and returns what it printed.
    pub fn run<A: AsRef<OsStr>>(&self, program: &str, args: &[A]) -> Ran {
        let output = self.command(program).args(args).output().expect("the program can be started");
        self.ran(&output)
    }

    /// Reads a finished program's output, with this home's path replaced by `[home]`.
    pub fn ran(&self, output: &Output) -> Ran {
        let home = self.path().to_string_lossy().into_owned();
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| without_home(bytes, &home));
        Ran { code: output.status.code(), stdout, stderr }
    }
}

/// Returns the text of an output, with the path of a home replaced by `[home]` and slashes in all paths.
fn without_home(bytes: &[u8], home: &str) -> String {
    String::from_utf8_lossy(bytes).replace(home, "[home]").replace('\\', "/")
}

/// The result of a program.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; `None` if it was killed.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}
