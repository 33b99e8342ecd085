//! `annals export`: writes sessions as pages, documents or JSON.
//!
//! `annals_api::export` writes a session; a big one becomes a folder of pages here.

mod file;
mod pages;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use annals_api::export::{self, About, ExportError, Exporter, Format, Options};
use annals_engine::{Engine, ListOptions, TranscriptFile};

use super::choose;
use crate::args::{Export, ExportView, Global};
use crate::failure::{FAILED, Failure};
use crate::output;
use file::Files;
use pages::Pages;

/// A session with a larger transcript becomes a folder of pages, unless the output is named as a file.
const BIG_SESSION: u64 = 16_000_000;

pub(crate) fn run(engine: &Engine, args: &Export, global: &Global) -> Result<ExitCode, Failure> {
    let files = match &args.project {
        Some(project) => sessions_of(engine, project)?,
        None => args
            .sessions
            .iter()
            .map(|name| choose::transcript(engine, name, global))
            .collect::<Result<_, _>>()?,
    };
    let ending = args.output.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
    let format = args.format.map(Format::from).or(global.json.then_some(Format::Json));
    let format = format.or_else(|| ending.and_then(Format::of_ending)).unwrap_or(Format::Html);
    check_arguments(args, format)?;
    output::say_only_where_panics_are("a part of the session could not be exported");
    let options = options(args, format);
    let progress = |rows: usize| -> Box<dyn Fn()> {
        let bar = Bar(output::Progress::of_rows(rows));
        Box::new(move || bar.0.advance())
    };
    let mut job = Job {
        args,
        format,
        files: Files { engine, force: args.force },
        exporter: Exporter::new(engine, &options, output::mask::log(), &progress),
    };
    if files.len() == 1 && args.project.is_none() {
        job.one(&files[0])?;
    } else {
        job.folder(&files)?;
    }
    output::mask::note_by_rule();
    Ok(job.code())
}

/// Removes the bar after the last row.
struct Bar(output::Progress);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish();
    }
}

fn options(args: &Export, format: Format) -> Options {
    Options {
        format,
        model_view: args.view == ExportView::Model,
        turns: args.turn.clone(),
        subagents: args.subagents,
        context: args.context,
        thinking: !args.no_thinking,
        results: !args.no_results,
        diffs: !args.no_diffs,
        images: !args.no_images,
    }
}

fn sessions_of(engine: &Engine, project: &Path) -> Result<Vec<TranscriptFile>, Failure> {
    let options = ListOptions { project: Some(project.to_owned()), ..ListOptions::default() };
    let files: Vec<_> = engine.list(&options).sessions.into_iter().map(|row| row.file).collect();
    if files.is_empty() {
        return Err(Failure::nothing("no sessions in this project"));
    }
    Ok(files)
}

/// Where a session is written to.
enum Destination<'a> {
    File(&'a mut dyn Write),
    /// A folder of pages.
    Folder(&'a Path),
}

/// The files of an export.
struct Job<'a> {
    args: &'a Export,
    format: Format,
    files: Files<'a>,
    exporter: Exporter<'a>,
}

impl Job<'_> {
    /// Returns the exit code, and says how many parts are missing.
    fn code(&self) -> ExitCode {
        if self.exporter.left_out() == 0 {
            return ExitCode::SUCCESS;
        }
        let parts = output::count(self.exporter.left_out(), "part");
        output::complain(&format!("{parts} could not be read or masked, and left out"));
        ExitCode::from(FAILED)
    }

    /// Writes one session to a file, to a folder of pages, or to standard output.
    fn one(&mut self, file: &TranscriptFile) -> Result<(), Failure> {
        if self.args.output.as_deref() == Some(Path::new("-")) {
            let mut out = output::json_stdout();
            self.session(file, Destination::File(&mut out))?;
            return Ok(out.flush()?);
        }
        let is_split = self.is_split(file, self.args.output.as_deref());
        let name = if is_split { export::folder_name(file) } else { self.name_of(file) };
        let path = self.args.output.clone().unwrap_or_else(|| PathBuf::from(name));
        if is_split {
            self.session(file, Destination::Folder(&path))?;
        } else {
            let files = self.files;
            files.write(&path, |out| self.session(file, Destination::File(out)))?;
        }
        output::note(&format!("wrote {}", output::clean(&path.to_string_lossy())));
        Ok(())
    }

    /// Returns whether a session becomes a folder of pages. A path with the ending of a format names a file.
    fn is_split(&self, file: &TranscriptFile, path: Option<&Path>) -> bool {
        let ending = path.and_then(Path::extension).and_then(|ending| ending.to_str());
        let is_file = ending.is_some_and(|ending| Format::of_ending(ending).is_some());
        let is_big = || file.path.metadata().is_ok_and(|metadata| metadata.len() > BIG_SESSION);
        self.format.has_pages() && (self.args.split || !is_file && is_big())
    }

    /// Writes several sessions to a folder, with an index.
    fn folder(&mut self, files: &[TranscriptFile]) -> Result<(), Failure> {
        let folder = self.args.output.clone().unwrap_or_else(|| PathBuf::from("annals-export"));
        if folder == Path::new("-") {
            return Err(Failure::usage("several sessions need a folder", "give one with `-o FOLDER`"));
        }
        self.files.make_folder(&folder)?;
        let mut index = Vec::new();
        let mut names = HashSet::new();
        for file in files {
            if self.is_split(file, None) {
                let name = free_name(&mut names, &export::folder_name(file));
                let about = self.session(file, Destination::Folder(&folder.join(&name)))?;
                index.push((format!("{name}/{}", self.format.index_name()), about));
            } else {
                let name = free_name(&mut names, &self.name_of(file));
                let writer = self.files;
                let about =
                    writer.write(&folder.join(&name), |out| self.session(file, Destination::File(out)))?;
                index.push((name, about));
            }
        }
        if let Some(text) = export::index(self.format, &index) {
            let path = folder.join(self.format.index_name());
            self.files.write(&path, |out| Ok(out.write_all(text.as_bytes())?))?;
        }
        note_folder(&folder, index.len());
        Ok(())
    }

    /// Returns the name of the file for a session.
    fn name_of(&self, file: &TranscriptFile) -> String {
        export::file_name(file, self.format)
    }

    /// Writes a session.
    fn session(&mut self, file: &TranscriptFile, destination: Destination<'_>) -> Result<About, Failure> {
        let (files, format) = (self.files, self.format);
        self.exporter.session(file, |exporter, opened| match destination {
            Destination::File(out) => Ok(exporter.stream(opened, out)?),
            Destination::Folder(folder) => {
                files.make_folder(folder)?;
                let mut document = exporter.document();
                let mut pages = Pages::new(files, folder, &opened.about, format);
                exporter.rows(&opened, &mut *document, &mut pages)?;
                pages.finish(&*document, output::mask::log().summary().as_deref())?;
                Ok(opened.about)
            }
        })
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Engine(error) => error.into(),
            ExportError::Write(error) => error.into(),
            ExportError::NoSuchTurn { .. } => Failure::nothing(error),
        }
    }
}

/// Refuses options that would have no effect.
fn check_arguments(args: &Export, format: Format) -> Result<(), Failure> {
    let ending = args.output.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
    if let Some(ending) = ending
        && args.format.is_none()
        && args.project.is_none()
        && args.sessions.len() == 1
        && Format::of_ending(ending).is_none()
    {
        let text = format!("`.{}` names no format", output::clean(ending));
        return Err(Failure::usage(&text, "`--format html|md|json|text` says which one is meant"));
    }
    let is_for_documents = args.no_thinking
        || args.no_results
        || args.no_diffs
        || args.no_images
        || args.subagents
        || args.context;
    if args.split && !format.has_pages() {
        return Err(Failure::usage("only HTML and Markdown can be split into pages", "omit `--split`"));
    }
    let is_file = ending.is_some_and(|ending| Format::of_ending(ending).is_some());
    if args.split && (is_file || args.output.as_deref() == Some(Path::new("-"))) {
        return Err(Failure::usage("`--split` needs a folder", "give one with `-o FOLDER`"));
    }
    if format == Format::Json && is_for_documents {
        let text =
            "JSON has the entries as they are: options that add or leave out parts have no effect there";
        return Err(Failure::usage(text, "`--format html|md|text` takes them"));
    }
    Ok(())
}

/// Returns a name that no other file of the folder has: sessions in several config folders may have the same id.
fn free_name(names: &mut HashSet<String>, name: &str) -> String {
    let (stem, ending) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, ending)| (stem, format!(".{ending}")));
    let others = (2..).map(|number| format!("{stem}-{number}{ending}"));
    let mut all = std::iter::once(name.to_owned()).chain(others);
    all.find(|name| names.insert(name.clone())).expect("there is always another number")
}

fn note_folder(folder: &Path, sessions: usize) {
    let folder = folder.to_string_lossy();
    output::note(&format!("wrote {} to {}", output::count(sessions, "session"), output::clean(&folder)));
}
