//! How far a transcript was pushed, kept in a small file for each transcript and address.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::json::{Value, quote};
use annals_transcript::write::Error;
use annals_transcript::write::fs::Disk;
use annals_transcript::write::rewrite;

use super::queue::hash;
use crate::home::Home;

/// The version of the file. A file of another version is ignored: the server says where to continue.
const VERSION: u64 = 1;
/// A larger file is not ours.
const LARGEST: u64 = 64 * 1024;

/// How far a transcript was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PushProgress {
    /// The end of the last entry that was stored, in the file that it was read from.
    pub(super) checkpoint: Checkpoint,
    /// The offset up to which records without a uuid were stored.
    pub(super) records: u64,
    /// The uuid of the last entry that was stored.
    pub(super) last: String,
}

/// Returns the file for a transcript and an address. The address is not readable from its name: it may contain a password.
pub(super) fn path(home: &Home, session: &str, agent: Option<&str>, address: &str) -> PathBuf {
    let target = hash(format!("{}\n{address}", agent.unwrap_or_default()).as_bytes());
    home.push().join(format!("{session}.{target:016x}.json"))
}

impl PushProgress {
    /// Reads the progress. Returns `None` if there is none, or if the file is damaged or that of another session or address, or
    /// names no entry.
    pub(super) fn load(path: &Path, session: &str, address: &str) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata if metadata.as_ref().is_ok_and(|file| !file.is_file() || file.len() > LARGEST) => {
                return Ok(None);
            }
            metadata => metadata?,
        };
        Ok(Self::parse(&fs::read(path)?, session, address))
    }

    fn parse(bytes: &[u8], session: &str, address: &str) -> Option<Self> {
        let value = Value::new(bytes).filter(|value| value.is_valid() && value.is_object())?;
        let is_this = value.text("session")? == session && value.text("address")? == without_secrets(address);
        if value.number("version") != Some(VERSION) || !is_this {
            return None;
        }
        Some(Self {
            checkpoint: Checkpoint::parse(&value.text("checkpoint")?)?,
            records: value.number("records")?,
            last: value.text("last")?.into(),
        })
    }

    /// Writes the progress, completely or not at all.
    pub(super) fn save(
        &self,
        disk: &dyn Disk,
        path: &Path,
        session: &str,
        address: &str,
    ) -> Result<(), Error> {
        let text = self.render(session, address);
        rewrite::replace(disk, path, |out| out.write_all(text.as_bytes()))
    }

    fn render(&self, session: &str, address: &str) -> String {
        let Self { checkpoint, records, last } = self;
        let (session, host, last) = (quote(session), quote(&without_secrets(address)), quote(last));
        format!(
            "{{\"version\":{VERSION},\"session\":{session},\"address\":{host},\"checkpoint\":\"{checkpoint}\",\
             \"records\":{records},\"last\":{last}}}\n"
        )
    }
}

/// Returns an address without user, password, query and fragment, which may be secret.
pub fn without_secrets(address: &str) -> String {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let Some((scheme, rest)) = address[..end].split_once("://") else { return address[..end].to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_as_it_was_written_and_damage_is_none() {
        let checkpoint = Checkpoint::at(&mut io::Cursor::new("one\n"), (1, 2), 4).unwrap();
        let last = "a \"quoted\" 茶";
        let progress = PushProgress { checkpoint, records: 7, last: last.to_owned() };
        let address = "https://user:secret@example.org/log?token=secret";
        let text = progress.render("s", address);
        let parse = |text: &str| PushProgress::parse(text.as_bytes(), "s", address);
        assert_eq!(parse(&text), Some(progress));
        assert!(text.contains("https://example.org/log") && !text.contains("secret"), "{text}");
        for end in 0..text.len() - 1 {
            let damaged = PushProgress::parse(&text.as_bytes()[..end], "s", address);
            assert_eq!(damaged, None, "{end}");
        }
        assert_eq!(parse(&text.replace(":1,", ":2,")), None);
        assert_eq!(parse(&text.replace(&quote(last), "null")), None, "no entry of the transcript");
        for (session, address) in [("t", address), ("s", "https://example.org/other")] {
            assert_eq!(PushProgress::parse(text.as_bytes(), session, address), None, "that of another");
        }
    }

    #[test]
    fn addresses_are_shown_without_what_may_be_secret() {
        for (address, shown) in [
            ("https://example.org/a", "https://example.org/a"),
            ("https://me:pass@example.org:1/a@b?key=1#x", "https://example.org:1/a@b"),
            ("https://me@example.org", "https://example.org"),
            ("no address?x", "no address"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }
}
