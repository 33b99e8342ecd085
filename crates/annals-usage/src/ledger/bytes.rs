//! A ledger as bytes, for a cache: it can be built again from what was counted in files.

use std::path::PathBuf;

use super::packed::Packed;
use super::{Ledger, LedgerFile, Session};
use crate::bytes::{Input, Output};

impl Ledger {
    /// Raised whenever the bytes have another layout, or the same files would be merged in another way: older bytes must then not be used.
    pub const FORMAT: u64 = 2;

    /// Returns the bytes that [`decode`](Self::decode) reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Output(Vec::with_capacity(40 * self.len()));
        out.names(&self.names);
        out.number(self.sessions.len() as u64);
        self.sessions.iter().for_each(|session| out.session(session));
        out.number(self.files.len() as u64);
        self.files.iter().for_each(|file| out.file(file));
        self.packed.encode(&self.responses, &mut out);
        out.0
    }

    /// Reads a ledger; `None` if the bytes are not those of one. They must be complete, since not all of them are looked at here.
    pub fn decode(bytes: Vec<u8>) -> Option<Self> {
        let mut input = Input(&bytes);
        let names = input.names()?;
        let length = input.length()?;
        let sessions = (0..length).map(|_| input.session(length)).collect::<Option<Vec<_>>>()?;
        let count = input.length()?;
        let files = (0..count).map(|_| input.file(names.iter().len(), length)).collect::<Option<Vec<_>>>()?;
        let offset = bytes.len() - input.0.len();
        let packed = Packed::decode(bytes, offset, names.iter().len(), files.len())?;
        Some(Self { names, files, sessions, responses: Vec::new(), packed })
    }
}

impl Output {
    fn session(&mut self, session: &Session) {
        let Session { id, project, client, resets, has_main, group } = session;
        self.text(id);
        self.optional_text(project.as_ref());
        self.client(client.as_ref());
        self.numbers(resets);
        self.number(u64::from(*has_main));
        self.number(u64::from(*group));
    }

    fn file(&mut self, file: &LedgerFile) {
        let LedgerFile { path, session, agent, is_gone, state, first_uuid, forked_from } = file;
        self.bytes(path.as_os_str().as_encoded_bytes());
        self.number(u64::from(*session));
        self.number(u64::from(*agent));
        self.number(u64::from(*is_gone));
        for number in state {
            self.signed(*number);
        }
        self.eight_bytes(*first_uuid);
        self.optional_text(forked_from.as_ref());
    }
}

impl Input<'_> {
    /// Reads one of so many sessions.
    fn session(&mut self, sessions: usize) -> Option<Session> {
        let mut session = Session { id: self.text()?, ..Session::default() };
        self.optional_text(&mut session.project)?;
        self.client(&mut session.client)?;
        session.resets = self.numbers()?;
        session.has_main = self.number()? != 0;
        session.group = self.index(sessions)?;
        Some(session)
    }

    /// Reads a file, when there are so many names and sessions.
    fn file(&mut self, names: usize, sessions: usize) -> Option<LedgerFile> {
        let mut file = LedgerFile {
            path: path_of(self.bytes()?),
            session: self.index(sessions)?,
            agent: self.index(names)?,
            is_gone: self.number()? != 0,
            state: [self.signed()?, self.signed()?, self.signed()?, self.signed()?],
            first_uuid: self.eight_bytes()?,
            forked_from: None,
        };
        self.optional_text(&mut file.forked_from)?;
        Some(file)
    }
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}
