//! One transcript, as it was when it was opened.

use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use annals_transcript::chain::Chain;
use annals_transcript::conversation::{self, Transcript};
use annals_transcript::entry::view::SpilledOutput;
use annals_transcript::line::read_span;
use annals_transcript::session::{BlockSpan, Id, Node, Session};
use annals_transcript::{Entry, Problem};

use crate::analysis::Analysis;
use crate::analysis::graph::Places;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::spilled::{SpilledFile, SpilledText};
use crate::symlink_guard::SymlinkGuard;

/// One transcript: its entries in memory, their bodies on disk.
#[derive(Debug)]
pub struct Snapshot {
    file: TranscriptFile,
    session: Session,
    source: RefCell<Source>,
    is_whole: bool,
    /// See [`Snapshot::lost_messages`]: servers ask again and again.
    lost_messages: OnceCell<usize>,
}

/// Where the bytes of a transcript are.
#[derive(Debug)]
enum Source {
    Disk(File),
    Memory(Cursor<Vec<u8>>),
}

/// The conversation of a session on disk.
pub type Conversation<'s> = conversation::Conversation<'s, Snapshot>;

impl Transcript for Snapshot {
    type Error = Error;

    fn session(&self) -> &Session {
        &self.session
    }

    fn body(&self, node: &Node) -> Result<Vec<u8>, Error> {
        self.body(node)
    }

    fn part(&self, node: &Node, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        let offset = offset.min(node.length);
        self.span(node.at.offset + offset, (node.length - offset).min(length as u64))
    }
}

impl Snapshot {
    pub(crate) fn take(file: TranscriptFile) -> Result<Self, Error> {
        Self::take_with(file, |_, _, _| {})
    }

    /// Reads the first `length` bytes of a transcript. Fails if the file is outside the config folders.
    pub(crate) fn take_inside(
        file: TranscriptFile,
        length: u64,
        guard: &SymlinkGuard,
    ) -> Result<Self, Error> {
        Self::take_part(file, length, |_, _, _| {})?.ensure_inside(guard)
    }

    /// Reads a transcript and calls `visit` with each entry, its problem and its content blocks. Fails if the file is outside the config folders.
    pub(crate) fn take_inside_with(
        file: TranscriptFile,
        guard: &SymlinkGuard,
        visit: impl FnMut(&Entry<'_>, Option<Problem>, &[BlockSpan]),
    ) -> Result<Self, Error> {
        Self::take_part(file, u64::MAX, visit)?.ensure_inside(guard)
    }

    fn ensure_inside(self, guard: &SymlinkGuard) -> Result<Self, Error> {
        let is_allowed = match &*self.source.borrow() {
            Source::Disk(source) => guard.allows_opened(self.path(), source),
            Source::Memory(_) => true,
        };
        if is_allowed {
            return Ok(self);
        }
        let session = self.file.session.clone().unwrap_or_default();
        Err(Error::new(ErrorKind::Outside { session }))
    }

    /// Reads a transcript and calls `visit` with each entry, its problem and its content blocks.
    pub(crate) fn take_with(
        file: TranscriptFile,
        visit: impl FnMut(&Entry<'_>, Option<Problem>, &[BlockSpan]),
    ) -> Result<Self, Error> {
        Self::take_part(file, u64::MAX, visit)
    }

    fn take_part(
        file: TranscriptFile,
        length: u64,
        visit: impl FnMut(&Entry<'_>, Option<Problem>, &[BlockSpan]),
    ) -> Result<Self, Error> {
        let source = open_regular(&file.path).map_err(Error::reading(&file.path))?;
        let bytes = source.metadata().map_err(Error::reading(&file.path))?.len().min(length);
        let session = Session::read_sized((&source).take(length), bytes, visit);
        let mut session = session.map_err(Error::reading(&file.path))?;
        if file.agent.is_some() {
            session.follow_sidechain();
        }
        Ok(Self {
            file,
            session,
            source: RefCell::new(Source::Disk(source)),
            is_whole: true,
            lost_messages: OnceCell::new(),
        })
    }

    /// Returns some lines of a transcript as if they were all of it: what was appended, for whoever follows it. Offsets and
    /// line numbers are those among these lines.
    pub fn of_lines(file: TranscriptFile, lines: Vec<u8>) -> Self {
        let mut session = Session::read(&lines[..]).expect("reading from memory does not fail");
        if file.agent.is_some() {
            session.follow_sidechain();
        }
        Self {
            file,
            session,
            source: RefCell::new(Source::Memory(Cursor::new(lines))),
            is_whole: false,
            lost_messages: OnceCell::new(),
        }
    }

    /// Returns whether all lines of the transcript are there.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the path of the transcript.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Returns the file, with the session and the subagent that it belongs to.
    pub fn file(&self) -> &TranscriptFile {
        &self.file
    }

    /// Returns its entries.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Resolves the conversation that ends in the entry whose uuid begins with `leaf`, or the one that Claude Code would
    /// resume. A turn after a pause of more than `pause_ms` is a resumption.
    pub fn conversation(&self, leaf: Option<&str>, pause_ms: i64) -> Result<Conversation<'_>, Error> {
        Conversation::along(self, self.chain(leaf)?, pause_ms)
    }

    /// Resolves the chain that ends in the entry whose uuid begins with `leaf`, or the one that Claude Code would resume.
    pub fn chain(&self, leaf: Option<&str>) -> Result<Chain<'_>, Error> {
        match leaf {
            Some(leaf) => self.chain_ending_in(leaf),
            None => Ok(Chain::build(&self.session)),
        }
    }

    /// Returns how many messages of the session Claude Code would not restore although they can be read. Nothing is read for that; a
    /// subagent's transcript loses nothing, because Claude Code does not resume it.
    pub fn lost_messages(&self) -> usize {
        if self.file.agent.is_some() || !self.is_whole {
            return 0;
        }
        *self.lost_messages.get_or_init(|| {
            let analysis = Analysis::of(&self.session, &Places::new(), None);
            analysis.map_or(0, |analysis| analysis.lost_messages())
        })
    }

    /// Returns the entry whose uuid begins so; fails if there is none, or more than one.
    pub fn entry(&self, beginning: &str) -> Result<Id, Error> {
        match self.session.ids_beginning(beginning)[..] {
            [id] => Ok(id),
            ref several => Err(Error::not_one_entry(beginning, several.len())),
        }
    }

    fn chain_ending_in(&self, leaf: &str) -> Result<Chain<'_>, Error> {
        let chain = Chain::ending_in(&self.session, self.entry(leaf)?);
        chain.ok_or_else(|| Error::new(ErrorKind::NotAMessage { id: leaf.to_owned() }))
    }

    /// Returns the file with output that was too long for the transcript, if it still exists in the session's own folder.
    pub fn spilled_file(&self, spilled: &SpilledOutput<'_>) -> Option<PathBuf> {
        self.file.spilled_output(spilled)
    }

    /// Reads the beginning of output that was too long for the transcript: at most so many bytes; `None` if its file is gone. With a guard,
    /// no file outside of the config folders is read.
    pub fn spilled_text(
        &self,
        spilled: &SpilledOutput<'_>,
        most: u64,
        guard: Option<&SymlinkGuard>,
    ) -> Result<Option<SpilledText>, Error> {
        let path = self.file.spilled_output(spilled);
        path.map(|path| SpilledText::read(&self.file, &path, most, guard)).transpose()
    }

    /// Opens output that was too long for the transcript; `None` if its file is gone. With a guard, no file outside of the config folders is
    /// opened.
    pub fn spilled_output(
        &self,
        spilled: &SpilledOutput<'_>,
        guard: Option<&SymlinkGuard>,
    ) -> Result<Option<SpilledFile>, Error> {
        let path = self.file.spilled_output(spilled);
        path.map(|path| SpilledFile::open(&self.file, &path, guard)).transpose()
    }

    /// Reads the bytes of an entry.
    pub fn body(&self, node: &Node) -> Result<Vec<u8>, Error> {
        self.span(node.at.offset, node.length)
    }

    /// Reads a range of the file. It is an error if the file was truncated since it was opened.
    pub fn span(&self, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        let bytes = self.read_span(offset, length)?;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        let changed = io::Error::new(io::ErrorKind::UnexpectedEof, "it was changed while it was read");
        Err(Error::read(self.path(), changed))
    }

    fn read_span(&self, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        let bytes = match &mut *self.source.borrow_mut() {
            Source::Disk(file) => read_span(file, offset, length),
            Source::Memory(bytes) => read_span(bytes, offset, length),
        };
        bytes.map_err(|source| Error::read(self.path(), source))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn a_file_that_shrinks_is_an_error_and_no_wrong_answer() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(format!("{SESSION}.jsonl"));
        fs::write(&path, "{\"type\":\"user\",\"uuid\":\"u\"}\n").unwrap();
        let snapshot = Snapshot::take(TranscriptFile::at(&path)).unwrap();
        fs::write(&path, "{}").unwrap();
        let error = snapshot.body(&snapshot.session().nodes()[0]).unwrap_err();
        assert!(error.to_string().ends_with("it was changed while it was read"), "{error}");
    }

    #[test]
    fn spilled_output_is_found_in_the_sessions_own_folder_only() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(SESSION);
        for path in ["tool-results/a.txt", "subagents/agent-a1.jsonl", "secret.txt"] {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), "").unwrap();
        }
        fs::write(home.path().join(format!("{SESSION}.jsonl")), "").unwrap();
        let spilled = |path: &str| SpilledOutput { path: path.to_owned().into(), size: None };
        for transcript in [format!("{SESSION}.jsonl"), format!("{SESSION}/subagents/agent-a1.jsonl")] {
            let snapshot = Snapshot::take(TranscriptFile::at(&home.path().join(transcript))).unwrap();
            for path in ["/other/machine/tool-results/a.txt", r"C:\x\tool-results\a.txt", "a.txt"] {
                assert_eq!(
                    snapshot.spilled_file(&spilled(path)),
                    Some(folder.join("tool-results/a.txt")),
                    "{path}"
                );
            }
            for path in ["gone.txt", "../secret.txt", "/x/..", "", "/"] {
                assert_eq!(snapshot.spilled_file(&spilled(path)), None, "{path}");
            }
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../secret.txt", folder.join("tool-results/link.txt")).unwrap();
            let snapshot =
                Snapshot::take(TranscriptFile::at(&home.path().join(format!("{SESSION}.jsonl")))).unwrap();
            assert_eq!(snapshot.spilled_file(&spilled("link.txt")), None);
        }
    }

    #[test]
    fn spilled_output_is_read_up_to_a_bound_and_no_word_of_it_is_cut() {
        let home = tempfile::tempdir().unwrap();
        let results = home.path().join(SESSION).join("tool-results");
        fs::create_dir_all(&results).unwrap();
        fs::write(results.join("a.txt"), "one two three").unwrap();
        let path = home.path().join(format!("{SESSION}.jsonl"));
        fs::write(&path, "").unwrap();
        let snapshot = Snapshot::take(TranscriptFile::at(&path)).unwrap();
        let read = |most| {
            let spilled = SpilledOutput { path: "/elsewhere/a.txt".into(), size: None };
            let found = snapshot.spilled_text(&spilled, most, None).unwrap().unwrap();
            (found.text, found.left)
        };
        assert_eq!(read(1000), ("one two three".to_owned(), 0));
        assert_eq!(read(10), ("one two".to_owned(), 6));
        assert_eq!(read(2), (String::new(), 13));
        // Without white space near the bound, no character is cut.
        let kettle = "é".repeat(20_000);
        for text in [kettle.clone(), format!("one {kettle}")] {
            fs::write(results.join("a.txt"), &text).unwrap();
            for most in [30_000, 30_001] {
                let (found, left) = read(most);
                assert!(text.starts_with(&found) && found.len() as u64 + left == text.len() as u64);
                assert!((29_990..=30_000).contains(&found.len()), "{}", found.len());
            }
        }
        // Wherever the bound is, nothing of a token that it cuts is left.
        fs::write(results.join("a.txt"), format!(r#"{{"a":"b","t":"{}"}}"#, "x".repeat(40))).unwrap();
        for most in 16..50 {
            assert!(!read(most).0.contains('x'), "{most}");
        }
        let gone = SpilledOutput { path: "b.txt".into(), size: None };
        assert_eq!(snapshot.spilled_text(&gone, 10, None).unwrap(), None);
    }
}
