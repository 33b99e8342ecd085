//! Brings the index up to date: which transcripts are behind, and one pass over their new bytes.
//!
//! One thread reads transcripts and prepares batches of documents, another one stores several of them in one transaction, together
//! with how far their files were read. So a process that is killed loses what was not committed, and nothing else.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::SystemTime;

use annals_search::Columns;
use annals_transcript::Entry;
use annals_transcript::file_state::FileState;
use annals_transcript::json::{Value, quote};
use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::document::{self, Setting, Subject};
use super::index::{FilePart, Index, IndexedFile, NewDocument, spell_state};
use super::listing::{Difference, Listing};
use super::spilled::SpilledOutputs;
use super::{Behind, IndexOptions, IndexProgress, IndexReport, TextFilter};
use crate::catalog::Activities;
use crate::database::remove_file;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::{Selection, TranscriptFile, project_folders, role_below};
use crate::fold::{self, AnyFold, FoldPosition, UpdatedPart};
use crate::symlink_guard::SymlinkGuard;

/// A batch has about so many bytes of tokens. Three of them are in memory: one is being prepared, one waits, one is stored.
const BATCH: usize = if cfg!(test) { 4 << 10 } else { 2 << 20 };

/// So many bytes of tokens are stored in one transaction. Larger transactions are faster, but FTS5 keeps their words in memory,
/// and whoever watches the progress waits longer.
const COMMIT: usize = if cfg!(test) { 8 << 10 } else { 16 << 20 };

/// So many bytes of a transcript are read before the batch is looked at again.
const PART: u64 = if cfg!(test) { 4 << 10 } else { 1 << 20 };

/// If more bytes of transcripts are to be indexed, the segments of FTS5 are merged once at the end instead of as they come.
const MUCH: u64 = if cfg!(test) { 64 << 10 } else { 64 << 20 };

/// The words of removed documents are removed when so many documents were, and when these are one in four.
const MOST_REMOVED: u64 = if cfg!(test) { 8 } else { 4_000 };

/// Updates the index at a path, which is made anew if it cannot be used. Fails only if the database does.
pub(super) fn update(
    engine: &Engine,
    path: &Path,
    filter: &dyn TextFilter,
    options: &IndexOptions,
    progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> rusqlite::Result<IndexReport> {
    if options.keeps_other_rules
        && Index::open(path)?.is_some_and(|index| index.settings.rules != filter.fingerprint())
    {
        return Ok(IndexReport { is_complete: true, ..IndexReport::default() });
    }
    let (mut index, is_rebuilt) = open(path, filter.fingerprint(), options.text_limit)?;
    let report = update_opened(engine, &mut index, filter, options, progress)?;
    Ok(IndexReport { is_rebuilt, ..report })
}

/// Makes the index anew in a file beside it, which then takes its place. Until then the old one is searched, and it stays if
/// this fails, as on a full disk, or is stopped.
pub(super) fn rebuild(
    engine: &Engine,
    path: &Path,
    filter: &dyn TextFilter,
    options: &IndexOptions,
    progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> rusqlite::Result<IndexReport> {
    let beside = Index::beside(path);
    let rebuilt = update(engine, &beside, filter, options, progress).and_then(|report| {
        if report.is_complete {
            Index::replace(&**engine.disk(), path)?;
        }
        Ok(report)
    });
    remove_file(&beside);
    rebuilt
}

/// Updates an open index.
pub(super) fn update_opened(
    engine: &Engine,
    index: &mut Index,
    filter: &dyn TextFilter,
    options: &IndexOptions,
    progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> rusqlite::Result<IndexReport> {
    let Comparison { work, gone, read_projects, errors } = compare(engine, index)?;
    index.remove(&gone)?;
    let mut report = IndexReport { removed: gone.len(), errors, ..IndexReport::default() };
    let reader = Reader::new(engine, filter, options);
    read_and_store(index, work, reader, &mut report, progress)?;
    if report.is_complete {
        save_listings(index, &read_projects)?;
    }
    report.errors.extend(read_projects.into_iter().flat_map(|project| project.errors));
    Ok(report)
}

/// Stores what projects had when their folders were read, unless something of it could not be read or is not indexed to its end.
fn save_listings(index: &mut Index, projects: &[ReadProject]) -> rusqlite::Result<()> {
    let mut listings = Vec::new();
    for ReadProject { path, folders, files, errors, read_at } in projects {
        let Some(states) = index.states_below(path)? else { continue };
        let are_indexed =
            states.len() == files.len() && states.iter().all(|(path, _)| files.binary_search(path).is_ok());
        if errors.is_empty() && are_indexed {
            listings.extend(Listing::new(path, folders, &states, *read_at).map(|listing| (path, listing)));
        }
    }
    if listings.is_empty() {
        return Ok(());
    }
    index.change(|change| listings.iter().try_for_each(|(path, listing)| change.set_listing(path, listing)))
}

/// Updates the index for some transcripts that were created, changed or removed. Returns `None` if there is no index that can be
/// updated.
pub(super) fn update_files(
    engine: &Engine,
    path: &Path,
    filter: &dyn TextFilter,
    options: &IndexOptions,
    paths: &[PathBuf],
) -> rusqlite::Result<Option<IndexReport>> {
    if !path.is_file() {
        return Ok(None);
    }
    let index = Index::open_to_write(path, filter.fingerprint(), options.text_limit)?;
    let Some(mut index) = index else { return Ok(None) };
    let mut report = IndexReport::default();
    let roots: Vec<_> = engine.roots().projects().collect();
    let (mut work, mut gone) = (Vec::new(), Vec::new());
    for path in paths {
        let indexed = index.file(path)?;
        match (FoundFile::of(path, &roots), indexed) {
            (Ok(Some(found)), indexed) => work.push(Work { found, indexed }),
            (Ok(None), Some(_)) => gone.push(path.clone()),
            (Ok(None), None) => {}
            (Err(error), _) => report.errors.push(Error::read(path, error)),
        }
    }
    index.remove(&gone)?;
    report.removed = gone.len();
    work.retain(|work| !work.is_done());
    let reader = Reader::new(engine, filter, options);
    read_and_store(&mut index, work, reader, &mut report, &mut |_| ControlFlow::Continue(()))?;
    Ok(Some(report))
}

/// Removes what stands only in transcripts that do not exist any more, or in an earlier version of one of them, with its words.
/// Nothing is read.
pub(super) fn forget(path: &Path, transcript: &Path) -> rusqlite::Result<()> {
    let Some(mut index) = Index::open_to_remove(path)? else {
        // There is none, or one that the next update removes.
        remove_file(path);
        return Ok(());
    };
    let indexed = index.files()?;
    let identity = |state: FileState| state.identity;
    let now = FileState::of(transcript).ok().flatten().map(identity);
    let before = indexed.get(transcript).map(|indexed| indexed.progress.checkpoint.identity());
    let mut gone = gone_files(indexed);
    if before.is_some() && before != now {
        gone.push(transcript.to_owned());
    }
    index.remove(&gone)?;
    // Names may be left of a transcript whose documents all have copies.
    if !gone.is_empty() || index.removed()? > 0 { index.compact() } else { Ok(()) }
}

/// Reads transcripts on one thread and stores their documents on this one.
fn read_and_store(
    index: &mut Index,
    work: Vec<Work>,
    reader: Reader<'_>,
    report: &mut IndexReport,
    progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let mut done = IndexProgress { bytes: 0, total: work.iter().map(Work::bytes).sum() };
    let is_much = done.total > MUCH || !index.merges()?;
    index.set_merging(!is_much)?;
    let (sender, receiver) = sync_channel(1);
    thread::scope(|scope| {
        // The last batch has come when the sender is gone.
        let reading = scope.spawn(move || reader.read_all(work, &sender));
        let stored = store_all(index, receiver, report, &mut done, progress);
        report.errors.extend(reading.join().unwrap_or_default());
        stored
    })?;
    if !report.is_complete {
        return Ok(());
    }
    if is_much {
        index.merge_all()?;
        index.set_merging(true)?;
    }
    let removed = index.removed()?;
    if removed > MOST_REMOVED && removed > index.documents()? / 4 {
        index.compact()?;
    }
    Ok(())
}

/// Opens the index, and makes it anew if it is of another version or has other settings. Returns whether it is new.
fn open(path: &Path, rules: u64, text_limit: usize) -> rusqlite::Result<(Index, bool)> {
    let is_new = !path.exists();
    if let Some(index) = Index::open_to_write(path, rules, text_limit)? {
        return Ok((index, is_new));
    }
    remove_file(path);
    let index = Index::open_to_write(path, rules, text_limit)?;
    index.map(|index| (index, true)).ok_or_else(|| rusqlite::Error::InvalidPath(path.to_owned()))
}

/// Returns how much an index lacks.
pub(super) fn behind(engine: &Engine, index: &Index) -> rusqlite::Result<Behind> {
    let Comparison { work, gone, .. } = compare(engine, index)?;
    Ok(Behind { files: gone.len() + work.len(), bytes: work.iter().map(Work::bytes).sum() })
}

/// Returns how much there is to index if there is no index.
pub(super) fn missing(engine: &Engine) -> Behind {
    let (projects, _) = all_projects(engine);
    let read: Vec<_> = projects.par_iter().map(|(root, project)| ReadProject::at(root, project)).collect();
    let found = read.into_iter().flat_map(|(found, _)| found);
    found.fold(Behind::default(), |behind, found| Behind {
        files: behind.files + 1,
        bytes: behind.bytes + found.state.length,
    })
}

/// A transcript on disk.
#[derive(Debug)]
struct FoundFile {
    file: TranscriptFile,
    root: PathBuf,
    state: FileState,
}

impl FoundFile {
    /// Returns the transcript at a path; `None` if there is no file, or one that is not a transcript of these roots.
    fn of(path: &Path, roots: &[PathBuf]) -> io::Result<Option<Self>> {
        let Some(root) = roots.iter().find(|root| path.starts_with(root)) else { return Ok(None) };
        if !role_below(root, path).is_transcript() {
            return Ok(None);
        }
        let state = FileState::of(path)?;
        Ok(state.map(|state| Self { file: TranscriptFile::at(path), root: root.clone(), state }))
    }
}

/// Returns the folders of all projects, each behind its root, and what could not be read.
fn all_projects(engine: &Engine) -> (Vec<(PathBuf, PathBuf)>, Vec<Error>) {
    let (mut projects, mut errors) = (Vec::new(), Vec::new());
    for root in engine.roots().projects() {
        match project_folders(&root) {
            Ok(folders) => projects.extend(folders.into_iter().map(|project| (root.clone(), project))),
            Err(error) => errors.push(error),
        }
    }
    (projects, errors)
}

/// The folder of a project as it was read.
#[derive(Debug)]
struct ReadProject {
    path: PathBuf,
    /// The folders, each with its state before it was read.
    folders: Vec<(PathBuf, FileState)>,
    /// The transcripts, in the order of their paths.
    files: Vec<PathBuf>,
    errors: Vec<Error>,
    read_at: SystemTime,
}

impl ReadProject {
    /// Reads the folder of a project. Returns the transcripts in it as well.
    fn at(root: &Path, project: &Path) -> (Vec<FoundFile>, Self) {
        let read_at = SystemTime::now();
        let mut selection = Selection::default();
        let mut folders = Vec::new();
        let mut has_all_folders = true;
        selection.add_project_visiting(project, |folder| match FileState::of(folder) {
            Ok(Some(state)) => folders.push((folder.to_owned(), state)),
            _ => has_all_folders = false,
        });
        if !has_all_folders {
            // Without its state, nobody could tell that the folder is the same.
            folders.clear();
        }
        let Selection { files, mut errors, .. } = selection;
        let mut paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
        paths.sort();
        let found = |file: TranscriptFile| match FileState::of(&file.path) {
            Ok(state) => state.map(|state| FoundFile { file, root: root.to_owned(), state }),
            Err(error) => {
                errors.push(Error::read(&file.path, error));
                None
            }
        };
        let found = files.into_iter().filter_map(found).collect();
        (found, Self { path: project.to_owned(), folders, files: paths, errors, read_at })
    }
}

/// A transcript that is not indexed to its end.
#[derive(Debug)]
struct Work {
    found: FoundFile,
    indexed: Option<IndexedFile>,
}

impl Work {
    /// Returns how many bytes have to be read, if the file was not replaced.
    fn bytes(&self) -> u64 {
        let indexed = self.indexed.as_ref().filter(|indexed| !indexed.is_rewritten(&self.found.state));
        let indexed = indexed.map(|indexed| indexed.progress.checkpoint);
        let same = indexed.filter(|checkpoint| checkpoint.identity() == self.found.state.identity);
        let length = self.found.state.length;
        same.and_then(|checkpoint| length.checked_sub(checkpoint.offset())).unwrap_or(length)
    }
}

/// How transcripts differ from the index.
#[derive(Debug, Default)]
struct Comparison {
    /// The transcripts that are not indexed to their ends. The newest come last, so that later documents are newer.
    work: Vec<Work>,
    /// The files of the index that do not exist any more. Files of other config folders stay.
    gone: Vec<PathBuf>,
    /// The projects whose folders were read, because they differ from their listings.
    read_projects: Vec<ReadProject>,
    /// Config folders that could not be read.
    errors: Vec<Error>,
}

/// The transcripts of a project that have to be compared with the index.
#[derive(Debug)]
enum ProjectFiles {
    /// The project's listing is current but for these files.
    Changed(Vec<PathBuf>),
    /// The project's folder was read: these are all of its transcripts.
    All(Vec<FoundFile>, ReadProject),
}

impl ProjectFiles {
    /// Compares a project with its listing, and reads its folder if there is no current one.
    fn of(root: &Path, project: &Path, listing: Option<&Listing>) -> Self {
        if let Some(Difference::Files(changed)) = listing.map(|listing| listing.compare(project)) {
            return Self::Changed(changed);
        }
        let (found, read) = ReadProject::at(root, project);
        Self::All(found, read)
    }
}

/// Compares all transcripts with the index. Every search does it, so that projects are compared on several threads.
fn compare(engine: &Engine, index: &Index) -> rusqlite::Result<Comparison> {
    let mut listings = index.projects()?;
    let (projects, errors) = all_projects(engine);
    let projects: Vec<_> = projects
        .into_iter()
        .map(|(root, project)| {
            let listing = listings.remove(&project).flatten();
            (root, project, listing)
        })
        .collect();
    let differences: Vec<_> = projects
        .par_iter()
        .map(|(root, project, listing)| ProjectFiles::of(root, project, listing.as_ref()))
        .collect();
    let mut comparison = Comparison { errors, ..Comparison::default() };
    for ((root, project, _), difference) in projects.iter().zip(differences) {
        match difference {
            ProjectFiles::Changed(paths) => {
                for path in paths {
                    let indexed = index.file(&path)?;
                    // A file that was removed a moment ago is noticed the next time.
                    let found = FoundFile::of(&path, std::slice::from_ref(root)).ok().flatten();
                    comparison.work.extend(found.map(|found| Work { found, indexed }));
                }
            }
            ProjectFiles::All(found, read) => {
                let mut indexed = index.files_below(project)?;
                comparison.work.extend(
                    found.into_iter().map(|found| Work { indexed: indexed.remove(&found.file.path), found }),
                );
                comparison.gone.extend(gone_files(indexed));
                comparison.read_projects.push(read);
            }
        }
    }
    // What is left are projects that do not exist any more, or belong to other config folders.
    for project in listings.into_keys() {
        comparison.gone.extend(gone_files(index.files_below(&project)?));
    }
    comparison.gone.sort();
    comparison.work.retain(|work| !work.is_done());
    comparison.work.sort_by_key(|work| work.found.state.modified.unwrap_or(SystemTime::UNIX_EPOCH));
    Ok(comparison)
}

/// Returns the files that do not exist any more.
fn gone_files(indexed: HashMap<PathBuf, IndexedFile>) -> Vec<PathBuf> {
    let is_gone =
        |path: &PathBuf| path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let mut gone: Vec<_> = indexed.into_keys().filter(is_gone).collect();
    gone.sort();
    gone
}

impl Work {
    fn is_done(&self) -> bool {
        self.indexed.as_ref().is_some_and(|indexed| indexed.state == spell_state(&self.found.state))
    }
}

/// Stores batches as they come, until there are no more or the caller stops.
fn store_all(
    index: &mut Index,
    batches: Receiver<Batch>,
    report: &mut IndexReport,
    done: &mut IndexProgress,
    progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let mut batches = batches.into_iter().peekable();
    // No transaction is begun before there is something to store.
    while batches.peek().is_some() {
        let stored = index.change(|change| {
            let mut stored = Batch::default();
            while let Some(batch) = batches.next_if(|_| stored.weight < COMMIT) {
                for part in &batch.parts {
                    change.add_part(part)?;
                    report.files += usize::from(part.indexed.is_whole());
                }
                change.add_terms(&batch.terms)?;
                stored.weight += batch.weight;
                stored.bytes += batch.bytes;
                stored.text_bytes += batch.text_bytes;
            }
            report.documents += change.added;
            Ok(stored)
        })?;
        report.bytes += stored.bytes;
        report.text_bytes += stored.text_bytes;
        done.bytes += stored.bytes;
        if progress(*done).is_break() {
            return Ok(());
        }
    }
    report.is_complete = true;
    Ok(())
}

/// What is prepared at a time.
#[derive(Debug, Default)]
struct Batch {
    parts: Vec<FilePart>,
    /// Words that were not seen before.
    terms: Vec<String>,
    /// The bytes of transcripts that were read.
    bytes: u64,
    /// The bytes of text in them.
    text_bytes: u64,
    weight: usize,
}

/// Reads transcripts and prepares documents.
struct Reader<'u> {
    filter: &'u dyn TextFilter,
    text_limit: usize,
    vocabulary: Vocabulary,
    names: FilteredNames,
    guard: SymlinkGuard,
    /// The other fold that the same pass feeds.
    activities: Option<Activities>,
}

impl<'u> Reader<'u> {
    fn new(engine: &Engine, filter: &'u dyn TextFilter, options: &IndexOptions) -> Self {
        Self {
            filter,
            text_limit: options.text_limit,
            vocabulary: Vocabulary::default(),
            names: FilteredNames::default(),
            guard: engine.symlink_guard(),
            activities: options.feeds_catalog.then(|| Activities::open(engine.home().path())),
        }
    }

    /// Reads transcripts until nobody stores them any more. Returns the errors of those that could not be read.
    fn read_all(mut self, work: Vec<Work>, batches: &SyncSender<Batch>) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut batch = Batch::default();
        for Work { found, indexed } in work {
            let path = &found.file.path;
            let is_rewritten = indexed.as_ref().is_some_and(|indexed| indexed.is_rewritten(&found.state));
            let indexed = indexed.filter(|_| !is_rewritten);
            // Servers search the same index for peers. A transcript that lies outside itself is not shown to them.
            let guard = self.guard.allows_now(path).then(|| self.guard.clone());
            let mut fold = DocumentFold::new(&found.file, guard.as_ref(), self.text_limit, indexed.as_ref());
            let mut activity = self.activities.as_ref().map(|activities| activities.load(path));
            if let Some(activity) = activity.as_mut().filter(|_| is_rewritten) {
                activity.restart();
            }
            loop {
                let start = fold.progress.checkpoint.offset();
                let mut fed = Fed { fold: &mut fold, reader: &mut self };
                let mut folds: Vec<&mut dyn AnyFold> = vec![&mut fed];
                folds.extend(activity.as_mut().map(|activity| activity as &mut dyn AnyFold));
                match fold::update_part(path, &mut folds, PART) {
                    Ok(updated) => {
                        let end = fold.progress.checkpoint.offset();
                        batch.bytes += end.checked_sub(start).unwrap_or(end);
                        batch.weight += fold.weight;
                        batch.text_bytes += std::mem::take(&mut fold.text_bytes);
                        batch.parts.push(fold.take_part(&found, &updated));
                        if updated.is_end {
                            if let (Some(activities), Some(activity)) =
                                (&mut self.activities, activity.take())
                            {
                                activities.add(path, updated.state, activity);
                            }
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    Err(error) => {
                        errors.push(Error::read(path, error));
                        break;
                    }
                }
                if batch.weight >= BATCH && self.send(&mut batch, batches).is_break() {
                    return errors;
                }
            }
            if batch.weight >= BATCH && self.send(&mut batch, batches).is_break() {
                return errors;
            }
        }
        if !batch.parts.is_empty() {
            let _ = self.send(&mut batch, batches);
        }
        if let Some(activities) = &mut self.activities {
            activities.save();
        }
        errors
    }

    fn send(&mut self, batch: &mut Batch, batches: &SyncSender<Batch>) -> ControlFlow<()> {
        batch.terms = std::mem::take(&mut self.vocabulary.new);
        if let Some(activities) = &mut self.activities {
            activities.save();
        }
        match batches.send(std::mem::take(batch)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// The fold that prepares the documents of one transcript. Its state is in the database; this is what is not stored yet.
#[derive(Debug)]
struct DocumentFold<'g> {
    path: PathBuf,
    spilled: SpilledOutputs<'g>,
    progress: FoldPosition,
    calls: OpenCalls,
    is_restarted: bool,
    documents: Vec<NewDocument>,
    text_bytes: u64,
    weight: usize,
}

impl<'g> DocumentFold<'g> {
    fn new(
        file: &TranscriptFile,
        guard: Option<&'g SymlinkGuard>,
        text_limit: usize,
        indexed: Option<&IndexedFile>,
    ) -> Self {
        let (progress, calls) = match indexed {
            Some(indexed) => (indexed.progress, OpenCalls::parse(&indexed.calls)),
            None => Default::default(),
        };
        Self {
            path: file.path.clone(),
            spilled: SpilledOutputs::of(file, guard, text_limit),
            progress,
            calls,
            is_restarted: indexed.is_none(),
            documents: Vec::new(),
            text_bytes: 0,
            weight: 0,
        }
    }

    fn restart(&mut self) {
        self.progress = FoldPosition::default();
        self.calls = OpenCalls::default();
        self.is_restarted = true;
        self.documents.clear();
        (self.text_bytes, self.weight) = (0, 0);
    }

    /// Takes what is to be stored.
    fn take_part(&mut self, found: &FoundFile, updated: &UpdatedPart) -> FilePart {
        let state = if updated.is_end { spell_state(&updated.state) } else { String::new() };
        self.weight = 0;
        FilePart {
            file: found.file.clone(),
            root: found.root.clone(),
            is_restarted: std::mem::take(&mut self.is_restarted),
            indexed: IndexedFile { state, progress: self.progress, calls: self.calls.to_string() },
            documents: std::mem::take(&mut self.documents),
        }
    }

    fn add(&mut self, entry: &Entry<'_>, reader: &mut Reader<'_>) {
        let Some(body) = entry.body() else { return };
        let mut documents = self.spilled.documents(entry).peekable();
        if documents.peek().is_none() {
            return;
        }
        let setting = Setting::of(entry);
        let offset = entry.at().offset + entry.offset_of(body);
        let mut name = |name: &str| reader.names.filtered(name, reader.filter);
        let project = setting.project.as_deref().map(&mut name);
        let branch = setting.branch.as_deref().map(&mut name);
        let model = setting.model.as_deref().map(&mut name);
        let mut subject = Subject::default();
        for document in documents {
            let searched = document::searched_text(&document, reader.filter, reader.text_limit);
            let identity = document::identity(&self.path, offset, entry, &setting, &document, &searched);
            let mut columns = Columns::default();
            columns.fill_and_report(&searched, |word| reader.vocabulary.add(word));
            self.text_bytes += searched.len() as u64;
            drop(searched);
            let call = document.call.as_deref();
            subject = match document.subject {
                // It belongs to the result before it.
                _ if document.is_spilled() => subject,
                Some(subject) => {
                    let mut subject = subject.with_paths_from_root(setting.project.as_deref());
                    for name in subject.files.iter_mut().chain(&mut subject.tool) {
                        *name = reader.names.filtered(name, reader.filter);
                    }
                    self.calls.open(call, subject)
                }
                None => self.calls.close(call),
            };
            self.weight += columns.words.len() + columns.parts.len() + size_of::<NewDocument>();
            self.documents.push(NewDocument {
                identity,
                part: document.part,
                role: document.role,
                is_error: document.is_error,
                subject: subject.clone(),
                project: project.clone(),
                branch: branch.clone(),
                model: model.clone(),
                time: setting.time,
                offset,
                length: body.bytes().len(),
                number: document.number,
                words: columns.words,
                parts: columns.parts,
            });
        }
    }
}

/// A fold while it is fed.
struct Fed<'f, 'g, 'u> {
    fold: &'f mut DocumentFold<'g>,
    reader: &'f mut Reader<'u>,
}

impl AnyFold for Fed<'_, '_, '_> {
    fn progress(&mut self) -> &mut FoldPosition {
        &mut self.fold.progress
    }

    fn add(&mut self, entry: &Entry<'_>) {
        self.fold.add(entry, self.reader);
    }

    fn restart(&mut self) {
        self.fold.restart();
    }

    fn is_full(&self) -> bool {
        self.fold.weight >= BATCH
    }
}

/// Calls of a transcript whose results were not found yet. A result names its call, and the call has the tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenCalls(VecDeque<(String, Subject)>);

/// More calls are not open at the same time, unless their results are lost.
const MOST_OPEN_CALLS: usize = 1024;

impl OpenCalls {
    pub(super) fn open(&mut self, call: Option<&str>, subject: Subject) -> Subject {
        if let Some(call) = call {
            self.0.push_back((call.to_owned(), subject.clone()));
            self.0.drain(..self.0.len().saturating_sub(MOST_OPEN_CALLS));
        }
        subject
    }

    pub(super) fn close(&mut self, call: Option<&str>) -> Subject {
        let found = call.and_then(|call| self.0.iter().position(|(open, _)| open == call));
        found.and_then(|index| self.0.remove(index)).map(|(_, subject)| subject).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let calls = Value::new(text.as_bytes()).into_iter().flat_map(Value::items);
        let call = |call: Value<'_>| {
            let mut texts = call.items().map(|text| text.as_text().map(std::borrow::Cow::into_owned));
            let (id, tool) = (texts.next()??, texts.next()?);
            Some((id, Subject { tool, files: texts.flatten().collect() }))
        };
        Self(calls.filter_map(call).collect())
    }
}

impl std::fmt::Display for OpenCalls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let call = |(id, subject): &(String, Subject)| {
            let tool = subject.tool.as_deref().map_or_else(|| "null".to_owned(), quote);
            let texts = [quote(id), tool].into_iter().chain(subject.files.iter().map(|file| quote(file)));
            format!("[{}]", texts.collect::<Vec<_>>().join(","))
        };
        write!(formatter, "[{}]", self.0.iter().map(call).collect::<Vec<_>>().join(","))
    }
}

impl Subject {
    pub(super) fn with_paths_from_root(mut self, project: Option<&str>) -> Self {
        for file in &mut self.files {
            *file = document::from_root(file, project);
        }
        self
    }
}

impl IndexedFile {
    fn is_whole(&self) -> bool {
        !self.state.is_empty()
    }

    /// Returns whether a file that was indexed to its end changed without being longer or shorter. Nothing was appended, so that
    /// something inside of it may be different.
    fn is_rewritten(&self, state: &FileState) -> bool {
        let now = spell_state(state);
        let length = |state: &str| state.split('.').next().map(str::to_owned);
        self.is_whole() && self.state != now && length(&self.state) == length(&now)
    }
}

/// Names as they may be stored. The same few are repeated in every entry, so that each is filtered once.
#[derive(Debug, Default)]
struct FilteredNames(HashMap<String, String>);

impl FilteredNames {
    /// More names are not remembered at the same time.
    const MOST: usize = 4_096;

    fn filtered(&mut self, name: &str, filter: &dyn TextFilter) -> String {
        if let Some(filtered) = self.0.get(name) {
            return filtered.clone();
        }
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        let filtered = filter.filter(name).into_owned();
        self.0.insert(name.to_owned(), filtered.clone());
        filtered
    }
}

/// The words that were seen since the update began, so that each is stored once.
#[derive(Debug)]
struct Vocabulary {
    seen: HashSet<u64, FixedState>,
    /// Some of the hashes of words that came last, each in a slot that the hash gives. Nearly every word is one of them, and they
    /// fit into the cache of a processor.
    recent: Vec<u64>,
    new: Vec<String>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Self { seen: HashSet::default(), recent: vec![0; Self::RECENT], new: Vec::new() }
    }
}

impl Vocabulary {
    /// More words are not remembered at the same time; some are stored again then, which changes nothing.
    const MOST: usize = 1 << 20;
    /// A power of two.
    const RECENT: usize = 1 << 14;

    /// Adds a word if it may be meant by a misspelt one in a query.
    #[inline]
    fn add(&mut self, word: &str) {
        // Most others are short or numbers.
        if word.len() < SHORTEST_CORRECTABLE || word.as_bytes()[0].is_ascii_digit() {
            return;
        }
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(word.as_bytes());
        let hash = hasher.finish();
        let slot = usize::try_from(hash % Self::RECENT as u64).unwrap_or_default();
        if self.recent[slot] != hash {
            self.recent[slot] = hash;
            self.add_new(word, hash);
        }
    }

    fn add_new(&mut self, word: &str, hash: u64) {
        if self.seen.len() > Self::MOST {
            self.seen.clear();
        }
        if is_correctable(word) && self.seen.insert(hash) {
            self.new.push(word.to_owned());
        }
    }
}

/// Shorter words are close to too many others.
const SHORTEST_CORRECTABLE: usize = 3;

/// Returns whether a word may be misspelt in a query: letters alone, neither short nor endless.
fn is_correctable(word: &str) -> bool {
    (SHORTEST_CORRECTABLE..=48).contains(&word.len())
        && !word.bytes().any(|byte| byte.is_ascii_digit())
        && word.chars().nth(2).is_some()
}
