//! A config folder with one session, for tests.

use std::fs;
use std::io::Write;

use crate::files::TranscriptFile;
use crate::{Engine, Home, Roots};

pub(crate) const ID: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

pub(crate) struct Scratch {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) engine: Engine,
}

impl Scratch {
    /// Makes a session with this transcript.
    pub(crate) fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("projects/-tea")).unwrap();
        let roots = Roots::given(vec![folder.path().into()]).unwrap();
        let engine = Engine::open(roots, Home::at(folder.path().join("annals")));
        let scratch = Self { folder, engine };
        fs::write(scratch.file().path, text).unwrap();
        scratch
    }

    pub(crate) fn file(&self) -> TranscriptFile {
        TranscriptFile::at(&self.folder.path().join(format!("projects/-tea/{ID}.jsonl")))
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.file().path).unwrap()
    }

    pub(crate) fn append(&self, line: &str) {
        let mut file = fs::OpenOptions::new().append(true).open(self.file().path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}
