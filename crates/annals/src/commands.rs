//! One file per command: asks the engine, hands the answer to `output`.

pub(crate) mod agents;
pub(crate) mod bulk;
pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod choose;
pub(crate) mod completions;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod fork;
#[cfg(feature = "search")]
pub(crate) mod index;
pub(crate) mod insight;
pub(crate) mod lineage;
pub(crate) mod list;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod projects;
pub(crate) mod prompts;
pub(crate) mod push;
pub(crate) mod record;
pub(crate) mod remote;
pub(crate) mod repair;
pub(crate) mod resume;
#[cfg(feature = "search")]
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod statusline;
pub(crate) mod tail;
pub(crate) mod tools;
pub(crate) mod trash;
pub(crate) mod turns;
pub(crate) mod usage;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use annals_engine::{ArchiveFilter, Engine, ListOptions, Report, TranscriptFile};
use annals_transcript::paths::ConfigFolder;

use crate::args::Global;
use crate::failure::{FAILED, Failure};
use crate::output;

/// Reads transcripts with a progress bar. Returns the reports of those that could be read, and an exit code if any could not.
fn read_all(engine: &Engine, files: Vec<TranscriptFile>) -> (Vec<Report>, Option<u8>) {
    let progress = output::Progress::over(&files);
    let reports = engine.read_all(files, |bytes| progress.add(bytes));
    progress.finish();
    let mut code = None;
    let read = reports.into_iter().filter_map(|report| {
        report
            .inspect_err(|error| {
                output::complain(&error.to_string());
                code = Some(FAILED);
            })
            .ok()
    });
    (read.collect(), code)
}

/// Returns how text is masked before it is indexed: always, whatever is shown.
#[cfg(feature = "search")]
fn index_masking(engine: &Engine) -> Result<annals_api::Masking, Failure> {
    annals_api::Masking::with_rules_in(engine.home().path()).map_err(|error| Failure::secret_rules(&error))
}

/// Returns the transcripts that an argument names; without one, those of all sessions. Complains about folders that cannot
/// be read, and notes how many files were skipped.
fn select(
    engine: &Engine,
    target: Option<&OsStr>,
    global: &Global,
) -> Result<(Vec<TranscriptFile>, Option<u8>), Failure> {
    let found = match target {
        Some(target) => engine.select(target).or_else(|error| choose::ask_to_select(error, global))?,
        None => engine.transcripts(),
    };
    for error in &found.errors {
        output::complain(&error.to_string());
    }
    if found.skipped > 0 {
        output::note(&format!("{} skipped: not transcripts", output::count(found.skipped, "file")));
    }
    let code = (!found.errors.is_empty()).then_some(FAILED);
    if found.files.is_empty() && code.is_none() {
        return Err(target.map_or_else(
            || nothing_in(engine, "no sessions", "projects"),
            |target| Failure::nothing(format!("no transcripts in {}", target.to_string_lossy())),
        ));
    }
    Ok((found.files, code))
}

/// Returns the transcripts of the sessions of a project, or of the current directory, with those of their subagents; all of them without a
/// project.
fn of_project(
    engine: &Engine,
    project: Option<PathBuf>,
    here: bool,
    files: Vec<TranscriptFile>,
) -> Result<Vec<TranscriptFile>, Failure> {
    let here = here.then(std::env::current_dir).transpose();
    let project = project.or(here.map_err(|error| Failure::working_directory(&error))?);
    if project.is_none() {
        return Ok(files);
    }
    let options =
        ListOptions { project, archived: ArchiveFilter::Include, all: true, ..ListOptions::default() };
    let sessions = engine.list(&options).sessions;
    let ids: HashSet<_> = sessions.into_iter().filter_map(|session| session.file.session).collect();
    Ok(files.into_iter().filter(|file| file.session.as_ref().is_some_and(|id| ids.contains(id))).collect())
}

/// Returns the folders in which annals looks for sessions.
fn project_folders(engine: &Engine) -> String {
    let folders: Vec<_> =
        engine.root_folders().map(|path| ConfigFolder::new(path).projects().display().to_string()).collect();
    folders.join(" and ")
}

/// Returns the failure that names what was not found, and where: in the config folders that exist, or else in all of them.
fn nothing_in(engine: &Engine, what: &str, file: &str) -> Failure {
    let mut places = engine.root_summaries();
    if places.iter().any(|place| place.errors.is_empty()) {
        places.retain(|place| place.errors.is_empty());
    }
    let places: Vec<_> = places.iter().map(|place| place.path.join(file).display().to_string()).collect();
    match &places[..] {
        [] => Failure::no_history(format!("{what} found: there is no home folder to look in")),
        places => Failure::no_history(format!("{what} found in {}", places.join(" or "))),
    }
}
