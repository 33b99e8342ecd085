//! Entries of the trash: their folders and manifests.
//!
//! An entry is the folder `<session>.<entry id>`: `manifest.json` says where each file and folder came from, and the files
//! and folders themselves lie beside it under numbers. While files are moved into or out of an entry, its folder has
//! the suffix `.moving`; an entry that is being removed for good has `.purging`.

use std::fs;
use std::path::{Component, Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::paths::{ConfigFolder, SessionPaths, is_kept_by_id};
use annals_transcript::project::{Role, is_session_id, resolve};
use jiff::Timestamp;

use crate::error::{Error, ErrorKind};

pub(super) const MANIFEST: &str = "manifest.json";

/// What is going on with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// All of it is in the trash.
    Complete,
    /// Files are being moved into it or out of it, or that was interrupted. What is in it belongs to the session on
    /// disk.
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

/// The id of an entry whose folder has the name of the session alone: the first one, as older versions made them. Their
/// further entries are numbered from 2 on.
const FIRST: &str = "1";

impl Name {
    /// Returns the name of an entry made at a time. Names of one session sort by time.
    pub(super) fn new(session: &str, deleted_at: Timestamp) -> Self {
        let id = deleted_at.strftime("%Y%m%dT%H%M%S%3f").to_string();
        Self { session: session.to_owned(), id, stage: Stage::Moving }
    }

    fn parse(name: &str) -> Option<Self> {
        let (session, rest) = name.split_at_checked(36).filter(|(session, _)| is_session_id(session))?;
        let in_stage = |stage: Stage| Some((rest.strip_suffix(stage.suffix())?, stage));
        let (id, stage) =
            in_stage(Stage::Moving).or_else(|| in_stage(Stage::Purging)).unwrap_or((rest, Stage::Complete));
        let id = if id.is_empty() { FIRST } else { id.strip_prefix('.')? };
        Some(Self { session: session.to_owned(), id: id.to_owned(), stage })
    }

    /// Returns the folder in the trash, at a stage.
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

/// An entry of the trash.
#[derive(Debug)]
pub(super) struct EntryFolder {
    pub(super) name: Name,
    pub(super) folder: PathBuf,
    pub(super) manifest: Manifest,
}

impl EntryFolder {
    /// Reads an entry; none if its manifest is not there or cannot be read.
    pub(super) fn read(trash: &Path, name: Name) -> Option<Self> {
        let folder = name.folder(trash, name.stage);
        let manifest = Manifest::read(&folder)?;
        (manifest.session == name.session).then_some(Self { name, folder, manifest })
    }

    /// Returns every item: where it belongs on disk, and where it lies in the entry.
    pub(super) fn items(&self) -> impl DoubleEndedIterator<Item = Item<'_>> + ExactSizeIterator {
        self.manifest.items.iter().enumerate().map(|(number, path)| Item {
            number,
            path,
            place: self.folder.join(number.to_string()),
        })
    }

    /// Returns the transcript, which is the last item.
    pub(super) fn transcript(&self) -> Option<Item<'_>> {
        self.items().next_back()
    }

    /// Returns the name under which an item is copied before it gets its own: in the folder that it is copied to, and
    /// the same at every attempt, so that the next one removes what an earlier one left. No other entry has the same name,
    /// also not in the trash of another `ANNALS_HOME`, since entries are restored at the same time.
    pub(super) fn temporary(&self, item: &Item<'_>) -> PathBuf {
        let trash = fingerprint(&resolve(self.folder.parent().unwrap_or(&self.folder)).to_string_lossy());
        let Name { session, id, .. } = &self.name;
        item.path.with_file_name(format!(".{session}.{id}.{}.{trash:x}.annals", item.number))
    }

    /// Returns whether every item has a path that a session's files have: a manifest that somebody else wrote may name any.
    pub(super) fn is_confined(&self) -> bool {
        let Some(transcript) = self.transcript() else { return true };
        self.items().all(|item| is_plain(item.path) && self.may_be(item.path, transcript.path))
    }

    /// Returns whether a path is the transcript's, one beside it, or one that Claude Code keeps by the id of the session.
    fn may_be(&self, path: &Path, transcript: &Path) -> bool {
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

/// Returns whether a path in the folder of a project is named as the transcript, the side files or a subagent of a session.
fn is_named_for(path: &Path, session: &str) -> bool {
    let own = SessionPaths::new(path.parent().unwrap_or(Path::new("")), session);
    let role = path.file_name().map(|name| Role::of(name.as_ref()));
    let is_agents = matches!(role, Some(Role::Subagent { .. } | Role::AgentMeta { .. }));
    path == own.transcript() || path == own.folder() || is_agents
}

/// Returns whether a path is absolute and leads nowhere but down.
fn is_plain(path: &Path) -> bool {
    let leads_up = |part: Component<'_>| matches!(part, Component::ParentDir | Component::CurDir);
    path.is_absolute() && !path.components().any(leads_up)
}

/// Returns a number for a text that is the same in every process and release.
fn fingerprint(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A file or folder that belongs to an entry.
#[derive(Debug)]
pub(super) struct Item<'a> {
    number: usize,
    /// Where it belongs on disk.
    pub(super) path: &'a Path,
    /// Where it lies in the entry.
    pub(super) place: PathBuf,
}

/// What an entry holds.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    pub(super) session: String,
    pub(super) title: Option<String>,
    /// The working directory that the session is about.
    pub(super) project: Option<String>,
    pub(super) deleted_at: Timestamp,
    /// How many bytes all items have; unknown in manifests of older versions.
    pub(super) size: Option<u64>,
    /// Where everything came from, the transcript last; each lies in the folder under its number.
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

    /// Spells the manifest. Its members are those of older versions and more, so that those versions can read it.
    pub(super) fn json(&self) -> Result<String, Error> {
        let not_utf8 = |path: &PathBuf| Error::new(ErrorKind::NotUtf8 { path: path.clone() });
        let spell = |path: &PathBuf| path.to_str().map(quote).ok_or_else(|| not_utf8(path));
        let items = self.items.iter().map(spell).collect::<Result<Vec<_>, _>>()?.join(",");
        let optional = |text: &Option<String>| text.as_deref().map_or_else(|| "null".to_owned(), quote);
        Ok(format!(
            "{{\"version\":1,\"session\":{},\"title\":{},\"project\":{},\"deletedAt\":\"{:.3}\",\"size\":{},\"items\":[{items}],\"indexEntry\":{}}}\n",
            quote(&self.session),
            optional(&self.title),
            optional(&self.project),
            self.deleted_at,
            self.size.unwrap_or_default(),
            optional(&self.index_entry),
        ))
    }
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
