//! Deleting sessions so that they can be restored.
//!
//! A deleted session becomes a folder of the trash: `manifest.json` says where each file and folder came from, and the
//! files and folders themselves lie beside it under numbers. The manifest is written first and removed last, the
//! transcript is moved last and comes back last: whatever happens in between, everything is in one of its two places,
//! and doing the same again finishes the work. Of a session that is removed for good the transcript goes first: what is
//! left of it then is no session any more.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::project::resolve;
use annals_transcript::write::rewrite;
use jiff::Timestamp;

use crate::engine::{Engine, title};
use crate::error::{Error, ErrorKind};
use crate::files::{Selection, TranscriptFile};
use crate::index_file;
use crate::live::root_of;
use crate::title::own_target;

/// A file or folder that belongs to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belonging {
    /// Where it lies.
    pub path: PathBuf,
    /// How many bytes it has, with all that is in it.
    pub size: u64,
}

/// A session in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// The session.
    pub session: String,
    /// Its title, if it had one.
    pub title: Option<String>,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// Where its transcript was.
    pub transcript: PathBuf,
    /// Where it is now.
    pub folder: PathBuf,
}

impl Engine {
    /// Returns whether a session of the trash was deleted from one of these folders of the client.
    pub fn has_place_for(&self, trashed: &Trashed) -> bool {
        self.roots().projects().any(|projects| {
            trashed.transcript.starts_with(&projects) || trashed.transcript.starts_with(resolve(&projects))
        })
    }
}

impl Trashed {
    /// Makes sure that it can be restored: all of it is there, and nothing else in its place.
    pub fn ensure_restorable(&self) -> Result<(), Error> {
        self.restorable().map(|_| ())
    }

    fn restorable(&self) -> Result<Manifest, Error> {
        let not_there = || Error::new(ErrorKind::NotInTrash { selector: self.session.clone() });
        let manifest = Manifest::read(&self.folder).ok_or_else(not_there)?;
        let in_the_way = manifest.places(&self.folder).find_map(|(path, place)| in_the_way(&place, path));
        if let Some(path) = in_the_way {
            return Err(Error::new(ErrorKind::InTheWay { path }));
        }
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let transcript = manifest.places(&self.folder).last();
        if !transcript.is_some_and(|(path, place)| is_there(path) || is_there(&place)) {
            return Err(Error::new(ErrorKind::HalfPurged { session: self.session.clone() }));
        }
        Ok(manifest)
    }
}

impl Engine {
    /// Returns everything on disk that belongs to a session, the transcript last.
    pub fn belongings(&self, file: &TranscriptFile) -> Result<Vec<Belonging>, Error> {
        let transcript = own_target(file)?.path();
        let session = file.session.as_deref().unwrap_or_default();
        let mut paths = vec![transcript.with_extension("")];
        let mut agents = Selection::default();
        agents.add_subagents(file);
        // Subagents of old versions lie beside the session, all others in its folder.
        let beside = agents
            .files
            .into_iter()
            .map(|agent| agent.path)
            .filter(|path| path.parent() == transcript.parent());
        paths.extend(beside.flat_map(|path| [path.with_extension("meta.json"), path]));
        if let Some(root) = root_of(&transcript) {
            let folders = ["file-history", "tasks", "session-env"];
            paths.extend(folders.iter().map(|folder| root.join(folder).join(session)));
            paths.push(root.join("debug").join(format!("{session}.txt")));
            let todos = fs::read_dir(root.join("todos")).into_iter().flatten().flatten();
            let is_ours = |name: &str| name.starts_with(&format!("{session}-agent-"));
            paths.extend(
                todos.filter(|todo| is_ours(&todo.file_name().to_string_lossy())).map(|todo| todo.path()),
            );
        }
        paths.push(transcript);
        paths.retain(|path| path.symlink_metadata().is_ok());
        Ok(paths.into_iter().map(|path| Belonging { size: size(&path), path }).collect())
    }

    /// Moves a session with everything that belongs to it to the trash.
    pub fn delete(&self, file: &TranscriptFile, force: bool) -> Result<Trashed, Error> {
        self.ensure_at_rest(file, force)?;
        let _held = rewrite::hold(&**self.disk(), &own_target(file)?.path())?;
        let belongings = self.belongings(file)?;
        let manifest = Manifest {
            session: file.session.clone().unwrap_or_default(),
            title: title(&file.path).map(|title| title.text),
            deleted_at: Timestamp::now(),
            items: belongings.into_iter().map(|belonging| belonging.path).collect(),
            index_entry: index_file::entry(file),
        };
        let folder = self.free_place(&manifest);
        let manifest = match Manifest::read(&folder) {
            // A deletion that was broken off goes on; what it has moved already keeps its number.
            Some(begun) => manifest.after(begun),
            None => manifest,
        };
        self.make_folder(&folder)?;
        let json = manifest.json()?;
        rewrite::replace(&**self.disk(), &folder.join(MANIFEST), |out| out.write_all(json.as_bytes()))?;
        for (path, place) in manifest.places(&folder) {
            if Some(path) == manifest.items.last() {
                index_file::remove(self, file)?;
            }
            if path.symlink_metadata().is_ok() {
                self.move_to(path, &place)?;
            }
        }
        Ok(manifest.trashed(folder))
    }

    /// Returns what is in the trash, the newest first.
    pub fn trashed(&self) -> Vec<Trashed> {
        let folders =
            fs::read_dir(self.home().trash()).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<_> =
            folders.filter_map(|folder| Some(Manifest::read(&folder)?.trashed(folder))).collect();
        found.sort_by(|a, b| b.deleted_at.cmp(&a.deleted_at).then_with(|| a.session.cmp(&b.session)));
        found
    }

    /// Finds a session in the trash by its id, the beginning of it, or its title.
    pub fn in_trash(&self, selector: &str) -> Result<Trashed, Error> {
        let all = self.trashed();
        let is_meant = |trashed: &&Trashed| {
            selector.len() >= 4 && trashed.session.starts_with(selector)
                || trashed.title.as_deref() == Some(selector)
        };
        let found: Vec<_> = all.iter().filter(is_meant).collect();
        match &found[..] {
            [] => Err(Error::new(ErrorKind::NotInTrash { selector: selector.to_owned() })),
            [first, rest @ ..] if rest.iter().all(|other| other.session == first.session) => {
                Ok((*first).clone())
            }
            several => {
                Err(Error::ambiguous(selector, several.iter().map(|one| (&one.session, &one.transcript))))
            }
        }
    }

    /// Puts a session back where it was. If something else stands there by now, nothing is moved.
    pub fn restore(&self, trashed: &Trashed) -> Result<PathBuf, Error> {
        let manifest = trashed.restorable()?;
        for (path, place) in manifest.places(&trashed.folder) {
            if place.symlink_metadata().is_ok() {
                self.make_folder(path.parent().unwrap_or(Path::new(".")))?;
                self.move_to(&place, path)?;
            }
        }
        let transcript = trashed.transcript.clone();
        if let Some(entry) = &manifest.index_entry {
            index_file::restore(self, &transcript, &manifest.session, entry)?;
        }
        self.remove_all(&trashed.folder)?;
        Ok(transcript)
    }

    /// Removes a session from the trash for good.
    pub fn purge(&self, trashed: &Trashed) -> Result<(), Error> {
        if let Some(manifest) = Manifest::read(&trashed.folder)
            && let Some((_, transcript)) = manifest.places(&trashed.folder).last()
        {
            self.remove_all(&transcript)?;
        }
        self.remove_all(&trashed.folder)
    }

    /// Returns the folder for a session that is deleted: that of a deletion that was broken off, or else a free one.
    fn free_place(&self, manifest: &Manifest) -> PathBuf {
        let numbered = |number: usize| if number == 1 { String::new() } else { format!(".{number}") };
        let names = (1..).map(|number| format!("{}{}", manifest.session, numbered(number)));
        let mut folders = names.map(|name| self.home().trash().join(name));
        let is_free = |folder: &PathBuf| match Manifest::read(folder) {
            Some(begun) => {
                let transcript = begun.places(folder).last();
                transcript.is_some_and(|(path, place)| {
                    Some(path) == manifest.items.last() && in_the_way(path, &place).is_none()
                })
            }
            // Where nobody knows what it is, nothing is put.
            None => children(folder).is_ok_and(|paths| paths.iter().all(|path| is_manifest(path))),
        };
        folders.find(is_free).expect("there are more numbers than folders")
    }

    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return Ok(());
        }
        self.disk().create_folder(path).map_err(|source| Error::write(path, source))
    }

    /// Moves a file or folder; to another disk, by way of a copy. What was moved already, before this was broken off, is
    /// joined by the rest.
    fn move_to(&self, from: &Path, to: &Path) -> Result<(), Error> {
        if is_folder(from) && is_folder(to) {
            for path in children(from).map_err(|source| Error::read(from, source))? {
                self.move_to(&path, &to.join(path.file_name().unwrap_or_default()))?;
            }
            return self.disk().remove_folder(from).map_err(|source| Error::write(from, source));
        }
        match self.disk().rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices && is_folder(from) => {
                self.make_folder(to)?;
                self.move_to(from, to)
            }
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                self.copy_all(from, to)?;
                self.remove_all(from)
            }
            result => result.map_err(|source| Error::write(to, source)),
        }
    }

    /// Copies a file, or a folder with all that is in it. Links stay links; pipes and sockets, which hold nothing, are
    /// left out.
    pub(crate) fn copy_all(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let failed = |source| Error::read(from, source);
        let kind = from.symlink_metadata().map_err(failed)?.file_type();
        if kind.is_symlink() {
            return copy_link(from, to).map_err(|source| Error::write(to, source));
        }
        if !kind.is_file() && !kind.is_dir() {
            return Ok(());
        }
        if !is_folder(from) {
            let mut file = fs::File::open(from).map_err(failed)?;
            rewrite::replace(&**self.disk(), to, |out| io::copy(&mut file, out).map(|_| ()))?;
            return file.metadata().and_then(|metadata| dress(to, &metadata)).map_err(failed);
        }
        self.make_folder(to)?;
        for path in children(from).map_err(failed)? {
            self.copy_all(&path, &to.join(path.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Removes a file, or a folder with all that is in it, if it is there.
    pub(crate) fn remove_all(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::write(path, source);
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error)),
            Ok(metadata) if !metadata.is_dir() => self.disk().remove_file(path).map_err(failed),
            Ok(_) => {
                let mut paths = children(path).map_err(failed)?;
                // The manifest goes last: until then the trash knows what the rest is.
                paths.sort_by_key(|path| is_manifest(path));
                paths.iter().try_for_each(|path| self.remove_all(path))?;
                self.disk().remove_folder(path).map_err(failed)
            }
        }
    }
}

/// Makes a link that leads where another does; where there are no such links, a copy of what it leads to.
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    #[cfg(not(unix))]
    return fs::copy(from, to).map(|_| ());
}

const MANIFEST: &str = "manifest.json";

/// What a folder of the trash holds.
#[derive(Debug)]
struct Manifest {
    session: String,
    title: Option<String>,
    deleted_at: Timestamp,
    /// Where everything came from, the transcript last; each lies in the folder under its number.
    items: Vec<PathBuf>,
    /// What `sessions-index.json` said of the session.
    index_entry: Option<String>,
}

impl Manifest {
    fn read(folder: &Path) -> Option<Self> {
        let bytes = fs::read(folder.join(MANIFEST)).ok()?;
        let value = Value::new(&bytes)?;
        Some(Self {
            session: value.text("session")?.into_owned(),
            title: value.text("title").map(String::from),
            deleted_at: value.text("deletedAt")?.parse().ok()?,
            items: value.texts("items").map(|path| PathBuf::from(&*path)).collect(),
            index_entry: value.text("indexEntry").map(String::from),
        })
    }

    fn json(&self) -> Result<String, Error> {
        let unspeakable = |path: &PathBuf| Error::new(ErrorKind::NotUtf8 { path: path.clone() });
        let spelled = |path: &PathBuf| path.to_str().map(quote).ok_or_else(|| unspeakable(path));
        let items = self.items.iter().map(spelled).collect::<Result<Vec<_>, _>>()?.join(",");
        let optional = |text: &Option<String>| text.as_deref().map_or_else(|| "null".to_owned(), quote);
        Ok(format!(
            "{{\"version\":1,\"session\":{},\"title\":{},\"deletedAt\":\"{:.3}\",\"items\":[{items}],\"indexEntry\":{}}}\n",
            quote(&self.session),
            optional(&self.title),
            self.deleted_at,
            optional(&self.index_entry),
        ))
    }

    /// Returns where everything was, and where in the folder of the trash it is now.
    fn places<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = (&'a PathBuf, PathBuf)> + 'a {
        self.items.iter().enumerate().map(|(number, path)| (path, folder.join(number.to_string())))
    }

    /// Goes on with a deletion that was broken off: what is there now comes behind what was there then, the transcript
    /// last.
    fn after(self, begun: Self) -> Self {
        let mut items = begun.items;
        let transcript = items.pop();
        for path in self.items {
            if Some(&path) != transcript.as_ref() && !items.contains(&path) {
                items.push(path);
            }
        }
        items.extend(transcript);
        Self { items, index_entry: begun.index_entry.or(self.index_entry), ..self }
    }

    fn trashed(self, folder: PathBuf) -> Trashed {
        let transcript = self.items.last().cloned().unwrap_or_default();
        Trashed { session: self.session, title: self.title, deleted_at: self.deleted_at, transcript, folder }
    }
}

fn is_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(MANIFEST))
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// Returns what lies in a folder; nothing if it is not there.
fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Returns what would be lost if a file or folder were moved there: a file that is another one. What is the same is not
/// in the way, and folders are joined.
fn in_the_way(from: &Path, to: &Path) -> Option<PathBuf> {
    from.symlink_metadata().ok()?;
    let there = to.symlink_metadata().ok()?;
    if is_folder(from) && there.is_dir() {
        let paths = children(from).unwrap_or_default();
        return paths.iter().find_map(|path| in_the_way(path, &to.join(path.file_name()?)));
    }
    let same = there.is_file() && from.is_file() && same_bytes(from, to).unwrap_or(false);
    (!same).then(|| to.to_owned())
}

fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (fs::File::open(a)?, fs::File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let mut bytes = io::BufReader::new(b).bytes();
    for byte in io::BufReader::new(a).bytes() {
        if bytes.next().transpose()? != Some(byte?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives a copy the permissions and the time of its original: the client goes on with the session written last.
fn dress(copy: &Path, original: &fs::Metadata) -> io::Result<()> {
    let file = fs::File::options().append(true).open(copy)?;
    file.set_modified(original.modified()?)?;
    file.set_permissions(original.permissions())
}

/// Returns how many bytes a file has, or a folder with all that is in it.
fn size(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}
