//! Entries of the trash: their folders and manifests.
//!
//! An entry is the folder `<session>.<entry id>`. Its `manifest.json` has the original path of each file and folder, and the
//! files and folders themselves lie beside it under numbers. While files are moved into or out of an entry, its folder has
//! the suffix `.moving`; while an entry is removed for good, `.purging`.

use std::fs;
use std::path::{Component, Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::paths::{ConfigFolder, SessionPaths, is_kept_by_id};
use annals_transcript::project::{Role, is_session_id, resolve};
use jiff::Timestamp;

use crate::error::{Error, ErrorKind};

pub(super) const MANIFEST: &str = "manifest.json";

/// The stage of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// All of it is in the trash.
    Complete,
    /// Files are being moved into it or out of it, or that was interrupted. Its files belong to the session on disk.
    Moving,
    /// It is being removed for good.
    Purging,
}

impl Stage {
    fn suffix(self) -> &'static str {
        match self {
            Stage::Complete => "",
            Stage::Moving => ".moving",
            Stage::Purging => ".purging",
        }
    }
}

/// The name of an entry's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) session: String,
    pub(super) id: String,
    pub(super) stage: Stage,
}

/// The id of an entry whose folder has the name of the session alone. Older versions of annals made such folders for the first
/// entry of a session, and numbered further entries from 2 on.
const FIRST: &str = "1";

impl Name {
    /// Returns the name of a new entry. The names of one session sort by time.
    pub(super) fn new(session: &str, deleted_at: Timestamp) -> Self {
        let id = deleted_at.strftime("%Y%m%dT%H%M%S%3f").to_string();
        Self { session: session.to_owned(), id, stage: Stage::Moving }
    }

    /// Returns whether the files of a session are being moved to or from the entry.
    pub(super) fn moves(&self, session: &str) -> bool {
        self.stage == Stage::Moving && self.session == session
    }

    fn parse(name: &str) -> Option<Self> {
        let (session, rest) = name.split_at_checked(36).filter(|(session, _)| is_session_id(session))?;
        let (id, stage) = [Stage::Moving, Stage::Purging]
            .into_iter()
            .find_map(|stage| Some((rest.strip_suffix(stage.suffix())?, stage)))
            .unwrap_or((rest, Stage::Complete));
        let id = if id.is_empty() { FIRST } else { id.strip_prefix('.')? };
        Some(Self { session: session.to_owned(), id: id.to_owned(), stage })
    }

    /// Returns the path of the entry's folder at a stage.
    pub(super) fn folder(&self, trash: &Path, stage: Stage) -> PathBuf {
        let id = if self.id == FIRST { String::new() } else { format!(".{}", self.id) };
        trash.join(format!("{}{id}{}", self.session, stage.suffix()))
    }
}

/// Returns the names of all entries in the trash.
pub(super) fn names(trash: &Path) -> impl Iterator<Item = Name> + use<> {
    let folders = fs::read_dir(trash).into_iter().flatten().flatten();
    folders.filter_map(|entry| Name::parse(entry.file_name().to_str()?))
}

/// Returns the names of all entries in the trash; none if there is no trash yet.
#[cfg(feature = "follow")]
pub(super) fn try_names(trash: &Path) -> std::io::Result<Vec<Name>> {
    let paths = crate::files::children(trash)?;
    Ok(paths.iter().filter_map(|path| Name::parse(path.file_name()?.to_str()?)).collect())
}

/// The folder of a trash entry.
#[derive(Debug)]
pub(super) struct EntryFolder {
    pub(super) name: Name,
    pub(super) folder: PathBuf,
    pub(super) manifest: Manifest,
}

impl EntryFolder {
    /// Reads an entry. Returns `None` if its manifest is missing or cannot be read.
    pub(super) fn read(trash: &Path, name: Name) -> Option<Self> {
        let folder = name.folder(trash, name.stage);
        let manifest = Manifest::read(&folder)?;
        (manifest.session == name.session).then_some(Self { name, folder, manifest })
    }

    /// Returns every item with its original path and its path in the entry.
    pub(super) fn items(&self) -> impl DoubleEndedIterator<Item = StoredFile<'_>> + ExactSizeIterator {
        self.manifest.items.iter().enumerate().map(|(number, path)| StoredFile {
            number,
            path,
            stored: self.folder.join(number.to_string()),
        })
    }

    /// Returns the transcript, which is the last item.
    pub(super) fn transcript(&self) -> Option<StoredFile<'_>> {
        self.items().next_back()
    }

    /// Returns the path of an item's temporary copy while it is restored to another file system: beside the original path, and
    /// the same at every attempt, so that the next attempt removes what an interrupted one left. It differs between entries,
    /// also between those of several `ANNALS_HOME`, because several may be restored at the same time.
    pub(super) fn temporary(&self, item: &StoredFile<'_>) -> PathBuf {
        let trash = fingerprint(&resolve(self.folder.parent().unwrap_or(&self.folder)).to_string_lossy());
        let Name { session, id, .. } = &self.name;
        item.path.with_file_name(format!(".{session}.{id}.{}.{trash:x}.annals", item.number))
    }

    /// Returns whether every item has a path that a file of the session can have. A manifest is not trusted: it may name any
    /// path.
    pub(super) fn is_confined(&self) -> bool {
        let Some(transcript) = self.transcript() else { return true };
        self.items().all(|item| is_plain(item.path) && self.may_own(item.path, transcript.path))
    }

    /// Returns whether a path can belong to the session: its transcript, its files beside that, or a file that Claude Code
    /// names for the session's id elsewhere in the config folder.
    fn may_own(&self, path: &Path, transcript: &Path) -> bool {
        let session = &self.name.session;
        let is_beside = path.parent() == transcript.parent();
        if is_beside && is_named_for(path, session) {
            return true;
        }
        let root = path.parent().and_then(Path::parent);
        is_kept_by_id(path, session)
            && ConfigFolder::of_transcript(transcript)
                .is_none_or(|own| root.is_some_and(|root| resolve(root) == resolve(own.root())))
    }
}

/// Returns whether a path in the folder of a project has the name of a session's transcript, its folder or a subagent.
fn is_named_for(path: &Path, session: &str) -> bool {
    let own = SessionPaths::new(path.parent().unwrap_or(Path::new("")), session);
    let role = path.file_name().map(|name| Role::of(name.as_ref()));
    let is_agent_file = matches!(role, Some(Role::Subagent { .. } | Role::AgentMeta { .. }));
    path == own.transcript() || path == own.folder() || is_agent_file
}

/// Returns whether a path is absolute and has no `.` or `..`.
fn is_plain(path: &Path) -> bool {
    let mut components = path.components();
    path.is_absolute() && !components.any(|part| matches!(part, Component::ParentDir | Component::CurDir))
}

/// Returns a hash (FNV-1a) that is the same in every process and release.
fn fingerprint(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A file or folder that belongs to an entry.
#[derive(Debug)]
pub(super) struct StoredFile<'a> {
    number: usize,
    /// Its original path.
    pub(super) path: &'a Path,
    /// Its path in the entry.
    pub(super) stored: PathBuf,
}

/// The manifest of an entry.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    pub(super) session: String,
    pub(super) title: Option<String>,
    /// The working directory of the session.
    pub(super) project: Option<String>,
    pub(super) deleted_at: Timestamp,
    /// The size of all items in bytes; manifests of older versions of annals have none.
    pub(super) size: Option<u64>,
    /// The original paths, the transcript last. Each item lies in the folder under its index.
    pub(super) items: Vec<PathBuf>,
    /// The entry of the session in `sessions-index.json`.
    pub(super) index_entry: Option<String>,
}

impl Manifest {
    fn read(folder: &Path) -> Option<Self> {
        let bytes = fs::read(folder.join(MANIFEST)).ok()?;
        let value = Value::new(&bytes)?;
        Some(Self {
            session: value.text("session")?.into_owned(),
            title: value.text("title").map(String::from),
            project: value.text("project").map(String::from),
            deleted_at: value.text("deletedAt")?.parse().ok()?,
            size: value.number("size"),
            items: value.texts("items").map(|path| PathBuf::from(&*path)).collect(),
            index_entry: value.text("indexEntry").map(String::from),
        })
    }

    /// Returns the manifest as JSON. It has all fields of older versions of annals, so that those can read it.
    pub(super) fn json(&self) -> Result<String, Error> {
        let items = self.items.iter().map(|path| quoted_path(path)).collect::<Result<Vec<_>, _>>()?.join(",");
        Ok(format!(
            "{{\"version\":1,\"session\":{},\"title\":{},\"project\":{},\"deletedAt\":\"{:.3}\",\"size\":{},\"items\":[{items}],\"indexEntry\":{}}}\n",
            quote(&self.session),
            quoted_or_null(self.title.as_deref()),
            quoted_or_null(self.project.as_deref()),
            self.deleted_at,
            self.size.unwrap_or_default(),
            quoted_or_null(self.index_entry.as_deref()),
        ))
    }
}

/// Returns a path as a JSON string.
fn quoted_path(path: &Path) -> Result<String, Error> {
    path.to_str().map(quote).ok_or_else(|| Error::new(ErrorKind::NotUtf8 { path: path.to_owned() }))
}

fn quoted_or_null(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn names_of_folders_tell_session_entry_and_stage() {
        let trash = Path::new("trash");
        for (rest, id, stage) in [
            ("", "1", Stage::Complete),
            (".2", "2", Stage::Complete),
            (".moving", "1", Stage::Moving),
            (".20260102T030405006", "20260102T030405006", Stage::Complete),
            (".20260102T030405006.moving", "20260102T030405006", Stage::Moving),
            (".20260102T030405006.purging", "20260102T030405006", Stage::Purging),
        ] {
            let folder = format!("{SESSION}{rest}");
            let name = Name::parse(&folder).unwrap();
            assert_eq!((&name.session[..], &name.id[..], name.stage), (SESSION, id, stage), "{rest}");
            assert_eq!(name.folder(trash, stage), trash.join(folder));
        }
        for other in ["x", "", &format!("{SESSION}x"), &SESSION[1..]] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    #[test]
    fn ids_sort_by_time() {
        let id = |time: &str| Name::new(SESSION, time.parse().unwrap()).id;
        assert_eq!(id("2026-01-02T03:04:05.006Z"), "20260102T030405006");
        assert!(id("2026-01-02T03:04:05.009Z") < id("2026-01-02T03:04:05.010Z"));
        assert!(id("2026-01-02T03:04:05.999Z") < id("2026-01-02T03:04:06Z"));
    }
}
