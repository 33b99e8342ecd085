//! `annals export`: writes sessions as pages, documents or JSON.
//!
//! A session is written row by row, so that memory does not grow with it; a big one becomes a folder of pages. Everything is masked
//! before it is rendered. What cannot be read or masked is left out and counted.

mod document;
mod file;
mod page;
mod pages;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use annals_api::to_wire::{self, ToWire};
use annals_engine::{Conversation, Engine, ListOptions, SessionRow, Subagent, TranscriptFile};
use annals_proto::{ToolState, ViewNode, ViewRow, ViewRowKind};
use annals_render::{Filter, Found, Open, Outline, Rows, Target, duration};
use annals_transcript::full_view::Step;
use annals_transcript::turn::Turn;
use annals_transcript::{model, turn};
use serde_json::json;

use super::choose;
use crate::args::{Export, ExportView, Format, Global};
use crate::failure::{FAILED, Failure};
use crate::output;
use file::Files;
use pages::{Pages, Place};

/// How deep subagents may be nested. A loop of damaged links never ends.
const MAX_DEPTH: usize = 8;
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
    let format = args.format.or(global.json.then_some(Format::Json));
    let format = format.or_else(|| ending.and_then(Format::of_ending)).unwrap_or(Format::Html);
    check_arguments(args, format)?;
    panic::set_hook(Box::new(report_panic));
    let filter = output::mask::masking().map(|_| &Masked as &dyn Filter);
    let files_of_export = Files { engine, force: args.force };
    let mut exporter = Exporter {
        engine,
        args,
        format,
        filter,
        files: files_of_export,
        left_out: 0,
        agents: HashSet::new(),
    };
    if files.len() == 1 && args.project.is_none() {
        exporter.one(&files[0])?;
    } else {
        exporter.folder(&files)?;
    }
    output::mask::note_by_rule();
    Ok(exporter.code())
}

/// Says where the program failed. What a panic says may contain text of a transcript, so it is not printed.
fn report_panic(panic: &panic::PanicHookInfo<'_>) {
    let place = panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
    output::complain(&format!("a part of the session could not be exported: internal error{place}"));
}

/// Returns what a function returns; `None` if it panics. What could not be masked or rendered must not be written, and the rest of the
/// session should be.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

fn sessions_of(engine: &Engine, project: &Path) -> Result<Vec<TranscriptFile>, Failure> {
    let options = ListOptions { project: Some(project.to_owned()), ..ListOptions::default() };
    let files: Vec<_> = engine.list(&options).sessions.into_iter().map(|row| row.file).collect();
    if files.is_empty() {
        return Err(Failure::nothing("no sessions in this project"));
    }
    Ok(files)
}

/// What an export says about its session, masked.
struct About {
    title: String,
    /// Names and values.
    facts: Vec<(&'static str, String)>,
    /// The turns that are exported, for a table of contents.
    turns: Vec<TurnRef>,
}

/// A turn in a table of contents.
#[derive(Clone)]
struct TurnRef {
    number: usize,
    /// The entry that starts it.
    uuid: Option<String>,
    /// Its first words.
    prompt: String,
}

/// An image of a row: its media type and its base64.
type Image = (&'static str, String);

/// Writes rows in one format.
trait Document {
    /// Begins a session, or a page of one.
    fn begin(&self, about: &About, place: Option<&Place>, out: &mut String);
    /// Writes a row; `image` returns an image of the row.
    fn row(&mut self, row: &ViewRow, image: &dyn Fn(usize) -> Option<Image>, out: &mut String);
    /// Begins and ends the conversation of a subagent.
    fn begin_agent(&mut self, title: &str, out: &mut String);
    fn end_agent(&mut self, out: &mut String);
    /// Ends a session, or a page of one, and says what was masked.
    fn end(&self, place: Option<&Place>, masked: Option<&str>, out: &mut String);
}

/// Takes the text of a session.
trait Sink {
    /// Is called before a row of the session itself is written.
    fn before_row(&mut self, row: &ViewRow, document: &dyn Document) -> Result<(), Failure>;
    fn write(&mut self, text: &str) -> Result<(), Failure>;
}

/// Writes all rows to one file.
struct Stream<'a>(&'a mut dyn Write);

impl Sink for Stream<'_> {
    fn before_row(&mut self, _: &ViewRow, _: &dyn Document) -> Result<(), Failure> {
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.0.write_all(text.as_bytes())?)
    }
}

/// Where a session is written to.
enum Destination<'a> {
    File(&'a mut dyn Write),
    /// A folder of pages.
    Folder(&'a Path),
}

/// Masks lines as everything that this program prints.
struct Masked;

impl Filter for Masked {
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
        let masked = output::masked_json(line);
        let count = usize::from(matches!(masked, Cow::Owned(_)));
        (masked, count)
    }
}

struct Exporter<'a> {
    engine: &'a Engine,
    args: &'a Export,
    format: Format,
    /// What masks the lines of a transcript.
    filter: Option<&'a dyn Filter>,
    files: Files<'a>,
    /// How many parts could not be read or masked.
    left_out: usize,
    /// The agents of the session that were written: transcripts that name each other would otherwise repeat without end.
    agents: HashSet<PathBuf>,
}

impl Exporter<'_> {
    /// Returns the exit code, and says how many parts are missing.
    fn code(&self) -> ExitCode {
        if self.left_out == 0 {
            return ExitCode::SUCCESS;
        }
        let parts = output::count(self.left_out, "part");
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
        let name = if is_split { folder_name_of(file) } else { self.name_of(file) };
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
                let name = free_name(&mut names, &folder_name_of(file));
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
        let list = match self.format {
            Format::Html => Some(page::index(&index)),
            Format::Md => Some(document::index(&index)),
            Format::Json | Format::Text => None,
        };
        if let Some(text) = list {
            let path = folder.join(self.format.index_name());
            self.files.write(&path, |out| Ok(out.write_all(text.as_bytes())?))?;
        }
        note_folder(&folder, index.len());
        Ok(())
    }

    /// Returns the name of the file for a session.
    fn name_of(&self, file: &TranscriptFile) -> String {
        format!("{}.{}", folder_name_of(file), self.format.ending())
    }

    /// Writes a session.
    fn session(&mut self, file: &TranscriptFile, destination: Destination<'_>) -> Result<About, Failure> {
        let snapshot = self.engine.snapshot(file.clone())?;
        let conversation = snapshot.conversation(None, turn::PAUSE_MS)?;
        self.agents.clear();
        if let Some(turns) = &self.args.turn
            && !conversation.turns().iter().any(|turn| turns.contains(&turn.number))
        {
            let count = output::count(conversation.turns().len(), "turn");
            return Err(Failure::nothing(format!("the session has {count}, and none of those")));
        }
        let row = if file.agent.is_none() { self.engine.session_row(file).ok() } else { None };
        let selected = Selected::of(self.args, &conversation, 0);
        let about = about(file, row.as_ref(), &conversation, &selected);
        match (self.format, destination) {
            (Format::Json, Destination::File(out)) => self.json(file, row, &conversation, &selected, out)?,
            (_, destination) => self.document(file, &conversation, &about, destination)?,
        }
        Ok(about)
    }

    /// Writes a session as a page, Markdown or text.
    fn document(
        &mut self,
        file: &TranscriptFile,
        conversation: &Conversation<'_>,
        about: &About,
        destination: Destination<'_>,
    ) -> Result<(), Failure> {
        let mut document: Box<dyn Document> = match self.format {
            Format::Html => Box::new(page::Page::default()),
            Format::Md => Box::new(document::Markdown::default()),
            Format::Text | Format::Json => Box::new(document::Plain::default()),
        };
        let agents = if self.args.subagents { self.engine.agents(file)?.local } else { Vec::new() };
        let by_call = agents.iter().filter_map(|agent| Some((agent.call.clone()?, agent))).collect();
        match destination {
            Destination::File(out) => {
                let mut text = String::new();
                document.begin(about, None, &mut text);
                out.write_all(text.as_bytes())?;
                self.rows(conversation, &mut *document, &by_call, 0, &mut Stream(out))?;
                text.clear();
                document.end(None, output::mask::report().as_deref(), &mut text);
                Ok(out.write_all(text.as_bytes())?)
            }
            Destination::Folder(folder) => {
                self.files.make_folder(folder)?;
                let mut pages = Pages::new(self.files, folder, about, self.format);
                self.rows(conversation, &mut *document, &by_call, 0, &mut pages)?;
                pages.finish(&*document, output::mask::report().as_deref())
            }
        }
    }

    /// Writes the rows of a conversation, and of the subagents that its calls started.
    fn rows(
        &mut self,
        conversation: &Conversation<'_>,
        document: &mut dyn Document,
        agents: &HashMap<String, &Subagent>,
        depth: usize,
        out: &mut dyn Sink,
    ) -> Result<(), Failure> {
        let outline = Outline::of(conversation)?;
        let target = if self.format == Format::Html { Target::Page } else { Target::Plain };
        let rows = Rows::new(conversation, &outline, self.filter).with_target(target);
        let selected = Selected::of(self.args, conversation, depth);
        let progress = output::Progress::of_rows(outline.rows().len());
        let mut text = String::new();
        for (number, found) in outline.rows().iter().enumerate() {
            progress.advance();
            if !selected.includes(conversation, found.kind, outline.step(found)) {
                continue;
            }
            let Some(Ok(row)) = guarded(|| self.rendered(&rows, number)) else {
                self.left_out += 1;
                continue;
            };
            // Most files have no reasoning, only its signature.
            if matches!(
                (row.kind, row.nodes.as_deref()),
                (ViewRowKind::Thinking, Some([ViewNode::Note { .. }]))
            ) {
                continue;
            }
            if depth == 0 {
                out.before_row(&row, document)?;
            }
            let image = |part: usize| match rows.part(number, part) {
                Ok(Some(Found::Image(media, data))) if !self.args.no_images => Some((media, data)),
                _ => None,
            };
            text.clear();
            if guarded(|| document.row(&row, &image, &mut text)).is_none() {
                self.left_out += 1;
                continue;
            }
            out.write(&text)?;
            let call = row.tool.as_ref().and_then(|tool| tool.id.as_deref());
            if let Some(agent) = call.and_then(|call| agents.get(call)).filter(|_| depth < MAX_DEPTH) {
                self.agent(agent, document, agents, depth + 1, out)?;
            }
        }
        progress.finish();
        Ok(())
    }

    /// Renders a row, without what should not be exported.
    fn rendered(
        &self,
        rows: &Rows<'_, '_, annals_engine::Snapshot>,
        number: usize,
    ) -> Result<ViewRow, annals_engine::Error> {
        let mut row = rows.row(number, Open::Whole)?;
        self.leave_out(&mut row);
        Ok(row)
    }

    fn agent(
        &mut self,
        agent: &Subagent,
        document: &mut dyn Document,
        agents: &HashMap<String, &Subagent>,
        depth: usize,
        out: &mut dyn Sink,
    ) -> Result<(), Failure> {
        if !self.agents.insert(agent.file.path.clone()) {
            return Ok(());
        }
        let Ok(snapshot) = self.engine.snapshot(agent.file.clone()) else {
            self.left_out += 1;
            return Ok(());
        };
        let name = agent.meta.agent_type.as_deref().unwrap_or("agent");
        let about = agent.meta.description.as_deref().unwrap_or_default();
        let title = output::masked(&format!("{name} {about}")).into_owned();
        let mut text = String::new();
        document.begin_agent(title.trim(), &mut text);
        out.write(&text)?;
        self.rows(&snapshot.conversation(None, turn::PAUSE_MS)?, document, agents, depth, out)?;
        text.clear();
        document.end_agent(&mut text);
        out.write(&text)
    }

    /// Removes what should not be exported from a row.
    fn leave_out(&self, row: &mut ViewRow) {
        let args = self.args;
        if args.no_results {
            row.output = None;
        }
        for nodes in [&mut row.nodes, &mut row.input, &mut row.output].into_iter().flatten() {
            nodes.retain(|node| match node {
                ViewNode::Diff { .. } => !args.no_diffs,
                ViewNode::Image { .. } => !args.no_images,
                _ => true,
            });
            for node in nodes.iter_mut() {
                // Blocks of unknown types: their members have names of ids and paths, which masking leaves as they are in JSON.
                if let ViewNode::Json { text } | ViewNode::Text { text } = node
                    && let Cow::Owned(masked) = output::masked(text)
                {
                    *text = masked;
                }
            }
        }
    }

    /// Writes a line about the session, then the items of the full view.
    fn json(
        &mut self,
        file: &TranscriptFile,
        row: Option<SessionRow>,
        conversation: &Conversation<'_>,
        selected: &Selected<'_>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        match row {
            Some(row) => writeln!(out, "{}", json_line(&to_wire::session(row))?)?,
            None => writeln!(out, "{}", json_line(&json!({"id": file.session, "agentId": file.agent}))?)?,
        }
        let to_wire = ToWire::of(conversation.transcript());
        let progress = output::Progress::of_rows(conversation.steps().len());
        for step in conversation.steps() {
            progress.advance();
            if !selected.includes_step(conversation, step) {
                continue;
            }
            let item = guarded(|| Some(json_line(&to_wire.item(conversation, step).ok()?)));
            let Some(Some(Ok(line))) = item else {
                self.left_out += 1;
                continue;
            };
            writeln!(out, "{line}")?;
        }
        progress.finish();
        Ok(())
    }
}

/// Returns an object as a line of JSON, masked.
fn json_line(value: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    Ok(output::mask::masked_export_line(annals_api::json_line(value)?))
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

/// Returns the name of the folder for the pages of a session.
fn folder_name_of(file: &TranscriptFile) -> String {
    let id = file.agent.as_deref().or(file.session.as_deref()).unwrap_or("session");
    let id: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(36).collect();
    format!("annals-{id}")
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

/// Which rows are exported.
struct Selected<'a> {
    args: &'a Export,
    /// The entries of the model view.
    entries: Option<HashSet<usize>>,
    /// Turns are those of the session itself.
    has_turns: bool,
}

impl<'a> Selected<'a> {
    fn of(args: &'a Export, conversation: &Conversation<'_>, depth: usize) -> Self {
        let is_model = args.view == ExportView::Model && depth == 0;
        let entries = is_model.then(|| {
            let messages = model::messages(conversation.chain());
            let mut entries = HashSet::new();
            for message in messages.iter() {
                entries.extend(message.entries.iter().copied());
            }
            entries
        });
        Self { args, entries, has_turns: depth == 0 }
    }

    fn includes(&self, conversation: &Conversation<'_>, kind: ViewRowKind, step: &Step) -> bool {
        kind != ViewRowKind::Record
            && !(kind == ViewRowKind::Thinking && self.args.no_thinking)
            && (kind != ViewRowKind::Context || self.args.context)
            && self.includes_step(conversation, step)
    }

    fn includes_step(&self, conversation: &Conversation<'_>, step: &Step) -> bool {
        let turns = self.args.turn.as_ref().filter(|_| self.has_turns);
        match step {
            Step::Entry { node, .. } => {
                self.entries.as_ref().is_none_or(|entries| entries.contains(node))
                    && turns.is_none_or(|turns| {
                        conversation.turn_of(*node).is_some_and(|turn| turns.contains(&turn))
                    })
            }
            _ => self.entries.is_none() && turns.is_none(),
        }
    }
}

/// Collects what an export says about its session.
fn about(
    file: &TranscriptFile,
    row: Option<&SessionRow>,
    conversation: &Conversation<'_>,
    selected: &Selected<'_>,
) -> About {
    let facts = row.map(|row| &row.facts);
    let title = facts
        .and_then(|facts| facts.title.as_ref())
        .map(|title| output::masked_title(&title.text).into_owned());
    let ids = conversation.session().id_texts();
    let is_exported =
        |turn: &&Turn| selected.includes_step(conversation, &Step::Entry { node: turn.node, live: true });
    let turns = conversation.turns().iter().filter(is_exported).map(|turn| {
        let id = conversation.session().nodes()[turn.node].id.map(|id| ids.get(id));
        let prompt = &turn.prompt;
        let prompt = if turn.prompt_is_cut { output::masked_cut(prompt) } else { output::masked(prompt) };
        TurnRef { number: turn.number, uuid: id, prompt: output::conversation::one_line(&prompt, 70) }
    });
    let times = conversation.turns();
    let time = |ms: Option<i64>| ms.map(output::time_of_ms);
    let from = time(times.first().and_then(|turn| turn.started_at));
    let to = time(times.last().and_then(|turn| turn.ended_at));
    let values = [
        ("session", file.session.clone()),
        ("project", row.and_then(SessionRow::project_path)),
        ("branch", facts.and_then(|facts| facts.git_branch.clone())),
        ("time", from.zip(to).map(|(from, to)| format!("{from} – {to}"))),
        ("turns", Some(output::number(conversation.turns().len() as u64))),
    ];
    let facts =
        values.into_iter().filter_map(|(name, value)| Some((name, output::masked(&value?).into_owned())));
    About {
        title: title
            .filter(|title| !title.trim().is_empty())
            .unwrap_or_else(|| "Untitled session".to_owned()),
        facts: facts.filter(|(_, value)| !value.is_empty()).collect(),
        turns: turns.collect(),
    }
}

/// Returns what stands behind the title of a call: what came of it, changed lines, time, how it ended.
fn call_facts(row: &ViewRow) -> Vec<String> {
    let Some(tool) = &row.tool else { return Vec::new() };
    let mut facts = tool.facts.clone();
    // A call that failed changed nothing.
    let changes = tool.added.zip(tool.removed).filter(|_| tool.state == ToolState::Ok);
    facts.extend(changes.map(|(added, removed)| format!("+{added} −{removed}")));
    facts.extend(tool.duration_ms.filter(|ms| *ms >= 100).map(duration));
    if tool.state != ToolState::Ok {
        facts.push(tool.state.to_string());
    }
    facts
}

/// Returns the words of a row that is a mark in the conversation.
fn mark_words(row: &ViewRow) -> String {
    match (&row.compaction, row.kind) {
        (Some(compaction), _) => {
            let tokens = |tokens: Option<u64>| tokens.map(|tokens| format!("{}k", tokens.div_ceil(1000)));
            let before = tokens(compaction.pre_tokens).unwrap_or_default();
            let after =
                tokens(compaction.post_tokens).map_or_else(String::new, |after| format!(" → {after}"));
            format!("compacted {} {before}{after}", compaction.trigger.as_deref().unwrap_or_default())
        }
        _ => row.summary.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails to mask lines with a certain word.
    struct Broken;

    impl Filter for Broken {
        fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
            let text = String::from_utf8_lossy(line);
            assert!(!text.contains("unmaskable"), "{text}");
            (Cow::Borrowed(line), 0)
        }
    }

    #[test]
    fn a_part_that_cannot_be_masked_is_left_out_and_counted() {
        let lines = testkit::transcript::Transcript::session("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55")
            .user("u1", "Boil water")
            .assistant("a1", |reply| reply.id("m1").text("This is unmaskable"))
            .user("u2", "Thanks");
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("projects/-src");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
        std::fs::write(&path, lines.to_string()).unwrap();
        let roots = annals_engine::Roots::given(vec![root.path().into()]).unwrap();
        let engine = Engine::open(roots, annals_engine::Home::at(root.path().join("annals")));
        let command = ["annals", "export", "x", "-o", "-"].map(std::ffi::OsString::from);
        let args = crate::args::Args::read(crate::args::command(), command).unwrap();
        let crate::args::Command::Export(args) = &args.command else { panic!("it is an export") };
        let mut exporter = Exporter {
            engine: &engine,
            args,
            format: Format::Text,
            filter: Some(&Broken),
            files: Files { engine: &engine, force: false },
            left_out: 0,
            agents: HashSet::new(),
        };
        let mut out = Vec::new();
        let file = engine.session("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55".as_ref()).unwrap();
        exporter.session(&file, Destination::File(&mut out)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Boil water") && text.contains("Thanks"), "{text}");
        assert!(!text.contains("unmaskable"), "{text}");
        assert_eq!(exporter.left_out, 1);
        assert_eq!(format!("{:?}", exporter.code()), format!("{:?}", ExitCode::from(FAILED)));
    }

    #[test]
    fn a_file_ending_names_a_format() {
        for format in [Format::Html, Format::Md, Format::Json, Format::Text] {
            assert_eq!(Format::of_ending(format.ending()), Some(format));
        }
        assert_eq!(Format::of_ending("HTM"), Some(Format::Html));
        assert_eq!(Format::of_ending("pdf"), None);
    }
}
