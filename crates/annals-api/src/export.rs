//! Exports: a session as a page, Markdown, text or JSON, written row by row, so that memory does not grow with it.
//!
//! The command line and the server call this module. Everything is masked before it is written. What cannot be read or masked is left
//! out and counted.

mod document;
mod page;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;

use annals_engine::{Conversation, Engine, SessionRow, SpilledText, Subagent, TranscriptFile};
use annals_proto::{ExportPlace, ExportReport, ToolState, ViewNode, ViewRow, ViewRowKind};
use annals_render::{EntryRow, Filter, Found, Open, Outline, Rows, Target, WholeOutput, duration, one_line};
use annals_transcript::entry::view::SpilledOutput;
use annals_transcript::full_view::Step;
use annals_transcript::session::IdTexts;
use annals_transcript::turn::Turn;
use annals_transcript::{model, turn};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::mask_log::MaskLog;
use crate::to_wire::{self, ToWire};
use crate::words;

/// The most places of parts that are missing that are kept.
const MOST_PLACES: usize = 50;
/// How much is exported of output that Claude Code stored in a file of its own.
const LONGEST_OUTPUT: u64 = 1 << 20;
/// How deep subagents may be nested. A loop of damaged links never ends.
const MAX_DEPTH: usize = 8;

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One page for a browser, without scripts and without anything to load.
    Html,
    /// Markdown, as forges display it.
    Md,
    /// A line about the session, then one line for each item of `history/read`.
    Json,
    /// Plain text.
    Text,
}

impl Format {
    /// Returns the ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Md => "md",
            Format::Json => "jsonl",
            Format::Text => "txt",
        }
    }

    /// Returns the name of the document that lists others.
    pub fn index_name(self) -> &'static str {
        match self {
            Format::Html => "index.html",
            Format::Md | Format::Json | Format::Text => "README.md",
        }
    }

    /// Returns whether a big session can be split into pages.
    pub fn has_pages(self) -> bool {
        matches!(self, Format::Html | Format::Md)
    }

    /// Returns the format that the ending of a file says.
    pub fn of_ending(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Format::Html),
            "md" | "markdown" => Some(Format::Md),
            "json" | "jsonl" | "ndjson" => Some(Format::Json),
            "txt" | "text" => Some(Format::Text),
            _ => None,
        }
    }
}

/// What an export has.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch")]
pub struct Options {
    /// The format.
    pub format: Format,
    /// Only the entries that Claude Code would send to the model if it resumed the session.
    pub model_view: bool,
    /// Only these turns.
    pub turns: Option<RangeInclusive<usize>>,
    /// The conversations of subagents, below the calls that started them.
    pub subagents: bool,
    /// What Claude Code added for the model.
    pub context: bool,
    /// Reasoning.
    pub thinking: bool,
    /// The results of tools.
    pub results: bool,
    /// The changes that edits made.
    pub diffs: bool,
    /// Images: HTML contains them, and the other formats name them.
    pub images: bool,
}

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A transcript could not be read.
    #[error(transparent)]
    Engine(#[from] annals_engine::Error),
    /// The output could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The session has none of the turns.
    #[error("the session has {}, and none of those", words::count(*.turns, "turn"))]
    NoSuchTurn {
        /// How many turns it has.
        turns: usize,
    },
}

/// Returns what a function returns; `None` if it panics. What could not be masked or rendered must not be written, and the rest of the
/// session should be.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

/// What an export says about its session, masked.
#[derive(Debug)]
pub struct About {
    /// Its title.
    pub title: String,
    /// Names and values.
    pub facts: Vec<(&'static str, String)>,
    /// The turns that are exported, for a table of contents.
    pub turns: Vec<TurnRef>,
}

impl About {
    /// Returns the value of a fact; empty if there is none.
    fn fact(&self, wanted: &str) -> &str {
        self.facts.iter().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value)
    }
}

/// A turn in a table of contents.
#[derive(Clone, Debug)]
pub struct TurnRef {
    /// Its number.
    pub number: usize,
    /// The entry that starts it.
    pub uuid: Option<String>,
    /// Its first words.
    pub prompt: String,
}

/// Where a page is among others.
#[derive(Debug)]
pub struct Place {
    /// Its number, from 1 on.
    pub number: usize,
    /// Whether another one follows.
    pub has_next: bool,
}

/// Returns the name of the file of a page.
pub fn page_name(number: usize, ending: &str) -> String {
    format!("page-{number:03}.{ending}")
}

/// Returns the name of the folder for the pages of a session.
pub fn folder_name(file: &TranscriptFile) -> String {
    let id = file.agent.as_deref().or(file.session.as_deref()).unwrap_or("session");
    let id: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(36).collect();
    format!("annals-{id}")
}

/// Returns the name of the file for a session.
pub fn file_name(file: &TranscriptFile, format: Format) -> String {
    format!("{}.{}", folder_name(file), format.ending())
}

/// Returns the document that lists several sessions by the names of their files; `None` if the format has none.
pub fn index(format: Format, sessions: &[(String, About)]) -> Option<String> {
    match format {
        Format::Html => Some(page::index(sessions)),
        Format::Md => Some(document::index(sessions)),
        Format::Json | Format::Text => None,
    }
}

/// Returns the document that lists the pages of a session, by the turns that begin on each.
pub fn index_of_pages(format: Format, about: &About, pages: &[Vec<TurnRef>], masked: Option<&str>) -> String {
    match format {
        Format::Html => page::index_of_pages(about, pages, masked),
        Format::Md | Format::Json | Format::Text => document::index_of_pages(about, pages, masked),
    }
}

/// An image of a row: its media type and its base64.
pub type Image = (&'static str, String);

/// Writes rows in one format.
pub trait Document {
    /// Begins a session, or a page of one.
    fn begin(&self, about: &About, place: Option<&Place>, out: &mut String);
    /// Writes a row; `image` returns an image of the row.
    fn row(&mut self, row: &ViewRow, image: &dyn Fn(usize) -> Option<Image>, out: &mut String);
    /// Begins the conversation of a subagent.
    fn begin_agent(&mut self, title: &str, out: &mut String);
    /// Ends the conversation of a subagent.
    fn end_agent(&mut self, out: &mut String);
    /// Ends a session, or a page of one, and says what was masked.
    fn end(&self, place: Option<&Place>, masked: Option<&str>, out: &mut String);
}

/// Takes the text of a session.
pub trait Sink {
    /// Why it ends early.
    type Error: From<annals_engine::Error>;
    /// Is called before a row of the session itself is written.
    fn before_row(&mut self, row: &ViewRow, document: &dyn Document) -> Result<(), Self::Error>;
    /// Takes the text of a row.
    fn write(&mut self, text: &str) -> Result<(), Self::Error>;
}

/// Writes all rows to one file.
struct Stream<'a>(&'a mut dyn Write);

impl Sink for Stream<'_> {
    type Error = ExportError;

    fn before_row(&mut self, _: &ViewRow, _: &dyn Document) -> Result<(), ExportError> {
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), ExportError> {
        Ok(self.0.write_all(text.as_bytes())?)
    }
}

/// Is called with the number of rows that follow. The function that it returns is called once per row, and dropped after the last one.
pub type Progress<'a> = &'a dyn Fn(usize) -> Box<dyn Fn()>;

/// A session that is being exported.
pub struct Opened<'a> {
    file: &'a TranscriptFile,
    row: Option<SessionRow>,
    conversation: &'a Conversation<'a>,
    /// What the export says about it.
    pub about: About,
}

/// Writes sessions.
pub struct Exporter<'a> {
    engine: &'a Engine,
    options: &'a Options,
    masks: &'a MaskLog,
    /// What masks the lines of a transcript.
    filter: Option<&'a dyn Filter>,
    progress: Progress<'a>,
    /// No file outside of the config folders is read.
    is_inside: bool,
    /// How many parts could not be read or masked.
    left_out: usize,
    /// Where the first of these would be.
    left_out_at: Vec<ExportPlace>,
    /// How many rows were written.
    written: usize,
    /// The agents of the session that were written: transcripts that name each other would otherwise repeat without end.
    agents: HashSet<PathBuf>,
}

impl<'a> Exporter<'a> {
    /// Prepares an export, which is masked by `masks`.
    pub fn new(engine: &'a Engine, options: &'a Options, masks: &'a MaskLog, progress: Progress<'a>) -> Self {
        let filter = masks.masking().map(|_| masks as &dyn Filter);
        let agents = HashSet::new();
        Self {
            engine,
            options,
            masks,
            filter,
            progress,
            is_inside: false,
            left_out: 0,
            left_out_at: Vec::new(),
            written: 0,
            agents,
        }
    }

    /// Reads no file outside of the config folders: for callers that are not trusted with paths.
    #[must_use]
    pub fn inside(self) -> Self {
        Self { is_inside: true, ..self }
    }

    /// Returns how many parts could not be read or masked, and are left out.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns what the export has, what was masked in it, and what is missing.
    pub fn report(&self) -> ExportReport {
        ExportReport {
            rows: self.written,
            left_out: self.left_out,
            left_out_at: self.left_out_at.clone(),
            masked: self.masks.count(),
            rules: self.masks.by_rule(),
        }
    }

    fn leave_out_part(&mut self, place: &ExportPlace) {
        self.left_out += 1;
        if self.left_out_at.len() < MOST_PLACES {
            self.left_out_at.push(place.clone());
        }
    }

    /// Opens a session for `write`, and returns what `write` returns.
    pub fn session<T, E: From<ExportError>>(
        &mut self,
        file: &TranscriptFile,
        write: impl FnOnce(&mut Self, Opened<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let snapshot = self.snapshot(file).map_err(ExportError::from)?;
        let conversation = snapshot.conversation(None, turn::PAUSE_MS).map_err(ExportError::from)?;
        self.agents.clear();
        if let Some(turns) = &self.options.turns
            && !conversation.turns().iter().any(|turn| turns.contains(&turn.number))
        {
            return Err(ExportError::NoSuchTurn { turns: conversation.turns().len() }.into());
        }
        let row = if file.agent.is_none() { self.engine.session_row(file).ok() } else { None };
        let selected = Selected::of(self.options, &conversation, 0);
        self.masks.go_to(ExportPlace::default());
        let about = self.about(file, row.as_ref(), &conversation, &selected);
        write(self, Opened { file, row, conversation: &conversation, about })
    }

    fn snapshot(&self, file: &TranscriptFile) -> Result<annals_engine::Snapshot, annals_engine::Error> {
        if self.is_inside {
            self.engine.snapshot_inside(file.clone(), u64::MAX)
        } else {
            self.engine.snapshot(file.clone())
        }
    }

    /// Writes a session to one file.
    pub fn stream(&mut self, opened: Opened<'_>, out: &mut dyn Write) -> Result<About, ExportError> {
        let Opened { file, row, conversation, about } = opened;
        if self.options.format == Format::Json {
            self.json(file, row, conversation, out)?;
            return Ok(about);
        }
        let mut document = self.document();
        let mut text = String::new();
        document.begin(&about, None, &mut text);
        out.write_all(text.as_bytes())?;
        self.all_rows(file, conversation, &mut *document, &mut Stream(out))?;
        text.clear();
        document.end(None, self.masks.summary().as_deref(), &mut text);
        out.write_all(text.as_bytes())?;
        Ok(about)
    }

    /// Writes the rows of a session that is not JSON.
    pub fn rows<S: Sink>(
        &mut self,
        opened: &Opened<'_>,
        document: &mut dyn Document,
        out: &mut S,
    ) -> Result<(), S::Error> {
        self.all_rows(opened.file, opened.conversation, document, out)
    }

    /// Returns what writes rows in the format of the export.
    pub fn document(&self) -> Box<dyn Document> {
        match self.options.format {
            Format::Html => Box::new(page::Page::default()),
            Format::Md => Box::new(document::Markdown::default()),
            Format::Text | Format::Json => Box::new(document::Plain::default()),
        }
    }

    fn all_rows<S: Sink>(
        &mut self,
        file: &TranscriptFile,
        conversation: &Conversation<'_>,
        document: &mut dyn Document,
        out: &mut S,
    ) -> Result<(), S::Error> {
        let agents = match (self.options.subagents, self.is_inside) {
            (false, _) => Vec::new(),
            (true, false) => self.engine.agents(file)?.local,
            (true, true) => self.engine.agents_inside(file)?.local,
        };
        let by_call = agents.iter().filter_map(|agent| Some((agent.call.clone()?, agent))).collect();
        self.rows_of((conversation, file.agent.as_deref()), document, &by_call, 0, out)
    }

    /// Writes the rows of a conversation, and of the subagents that its calls started.
    fn rows_of<S: Sink>(
        &mut self,
        (conversation, agent): (&Conversation<'_>, Option<&str>),
        document: &mut dyn Document,
        agents: &HashMap<String, &Subagent>,
        depth: usize,
        out: &mut S,
    ) -> Result<(), S::Error> {
        let outline = Outline::unmeasured(conversation)?;
        let target = if self.options.format == Format::Html { Target::Page } else { Target::Plain };
        let guard = self.is_inside.then(|| self.engine.symlink_guard());
        let unreadable = Cell::new(false);
        let read_output = |spilled: &SpilledOutput<'_>| {
            let found = conversation.transcript().spilled_text(spilled, LONGEST_OUTPUT, guard.as_ref());
            unreadable.set(unreadable.get() || found.is_err());
            found.ok()?.map(|SpilledText { text, left }| WholeOutput { text, left })
        };
        let rows = Rows::new(conversation, &outline, self.filter).with_target(target);
        let rows = if self.options.results { rows.with_outputs(&read_output) } else { rows };
        let selected = Selected::of(self.options, conversation, depth);
        let ids = conversation.session().id_texts();
        let advance = (self.progress)(outline.rows().len());
        let mut text = String::new();
        let is_wanted = |number: &usize| {
            advance();
            let found = &outline.rows()[*number];
            selected.includes(conversation, found.kind, outline.step(found))
        };
        rows.each((0..outline.rows().len()).filter(is_wanted), |found| {
            let step = outline.step(&outline.rows()[found.number()]);
            let place = place_of(conversation, ids, step, agent);
            self.masks.go_to(place.clone());
            let Some(Ok(row)) = guarded(|| self.rendered(found)) else {
                self.leave_out_part(&place);
                return Ok(());
            };
            if unreadable.take() {
                self.leave_out_part(&place);
            }
            // Most files have no reasoning, only its signature.
            if matches!(
                (row.kind, row.nodes.as_deref()),
                (ViewRowKind::Thinking, Some([ViewNode::Note { .. }]))
            ) {
                return Ok(());
            }
            if depth == 0 {
                out.before_row(&row, document)?;
            }
            let image = |part: usize| match found.part(part) {
                Ok(Some(Found::Image(media, data))) if self.options.images => Some((media, data)),
                _ => None,
            };
            text.clear();
            if guarded(|| document.row(&row, &image, &mut text)).is_none() {
                self.leave_out_part(&place);
                return Ok(());
            }
            out.write(&text)?;
            self.written += 1;
            let call = row.tool.as_ref().and_then(|tool| tool.id.as_deref());
            if let Some(agent) = call.and_then(|call| agents.get(call)).filter(|_| depth < MAX_DEPTH) {
                self.agent(agent, document, agents, depth + 1, out)?;
            }
            Ok(())
        })
    }

    /// Renders a row, without what should not be exported.
    fn rendered(
        &self,
        found: &EntryRow<'_, '_, annals_engine::Snapshot>,
    ) -> Result<ViewRow, annals_engine::Error> {
        let mut row = found.row(Open::Whole)?;
        self.leave_out(&mut row);
        Ok(row)
    }

    fn agent<S: Sink>(
        &mut self,
        agent: &Subagent,
        document: &mut dyn Document,
        agents: &HashMap<String, &Subagent>,
        depth: usize,
        out: &mut S,
    ) -> Result<(), S::Error> {
        if !self.agents.insert(agent.file.path.clone()) {
            return Ok(());
        }
        let Ok(snapshot) = self.snapshot(&agent.file) else {
            let agent_id = agent.file.agent.clone();
            self.leave_out_part(&ExportPlace { agent_id, ..ExportPlace::default() });
            return Ok(());
        };
        let name = agent.meta.agent_type.as_deref().unwrap_or("agent");
        let about = agent.meta.description.as_deref().unwrap_or_default();
        let title = self.masks.text(&format!("{name} {about}")).into_owned();
        let mut text = String::new();
        document.begin_agent(title.trim(), &mut text);
        out.write(&text)?;
        let conversation = snapshot.conversation(None, turn::PAUSE_MS)?;
        self.rows_of((&conversation, agent.file.agent.as_deref()), document, agents, depth, out)?;
        text.clear();
        document.end_agent(&mut text);
        out.write(&text)
    }

    /// Removes what should not be exported from a row.
    fn leave_out(&self, row: &mut ViewRow) {
        let options = self.options;
        if !options.results {
            row.output = None;
        }
        for nodes in [&mut row.nodes, &mut row.input, &mut row.output].into_iter().flatten() {
            nodes.retain(|node| match node {
                ViewNode::Diff { .. } => options.diffs,
                ViewNode::Image { .. } => options.images,
                _ => true,
            });
        }
    }

    /// Writes a line about the session, then the items of the full view.
    fn json(
        &mut self,
        file: &TranscriptFile,
        row: Option<SessionRow>,
        conversation: &Conversation<'_>,
        out: &mut dyn Write,
    ) -> Result<(), ExportError> {
        let selected = Selected::of(self.options, conversation, 0);
        let about = match row {
            Some(row) => self.json_line(&to_wire::session(row))?,
            None => self.json_line(&json!({"id": file.session, "agentId": file.agent}))?,
        };
        writeln!(out, "{about}")?;
        let to_wire = ToWire::of(conversation.transcript());
        let ids = conversation.session().id_texts();
        let advance = (self.progress)(conversation.steps().len());
        for step in conversation.steps() {
            advance();
            if !selected.includes_step(conversation, step) {
                continue;
            }
            let place = place_of(conversation, ids, step, None);
            self.masks.go_to(place.clone());
            let item = guarded(|| Some(self.json_line(&to_wire.item(conversation, step).ok()?)));
            let Some(Some(Ok(line))) = item else {
                self.leave_out_part(&place);
                continue;
            };
            writeln!(out, "{line}")?;
            self.written += 1;
        }
        Ok(())
    }

    /// Returns an object as a line of JSON, masked.
    fn json_line(&self, value: &impl serde::Serialize) -> io::Result<String> {
        Ok(self.masks.line(crate::json_line(value)?))
    }

    /// Collects what an export says about its session.
    fn about(
        &self,
        file: &TranscriptFile,
        row: Option<&SessionRow>,
        conversation: &Conversation<'_>,
        selected: &Selected<'_>,
    ) -> About {
        let facts = row.map(|row| &row.facts);
        let title = facts
            .and_then(|facts| facts.title.as_ref())
            .map(|title| self.masks.listed_text(&title.text).into_owned());
        let ids = conversation.session().id_texts();
        let is_exported =
            |turn: &&Turn| selected.includes_step(conversation, &Step::Entry { node: turn.node, live: true });
        let turns = conversation.turns().iter().filter(is_exported).map(|turn| {
            let id = conversation.session().nodes()[turn.node].id.map(|id| ids.get(id));
            let prompt = &turn.prompt;
            let prompt =
                if turn.prompt_is_cut { self.masks.cut_text(prompt) } else { self.masks.text(prompt) };
            TurnRef { number: turn.number, uuid: id, prompt: one_line(&prompt, 70) }
        });
        let times = conversation.turns();
        let from = times.first().and_then(|turn| turn.started_at).map(time_of_ms);
        let to = times.last().and_then(|turn| turn.ended_at).map(time_of_ms);
        let values = [
            ("session", file.session.clone()),
            ("project", row.and_then(SessionRow::project_path)),
            ("branch", facts.and_then(|facts| facts.git_branch.clone())),
            ("time", from.zip(to).map(|(from, to)| format!("{from} – {to}"))),
            ("turns", Some(words::number(conversation.turns().len() as u64))),
        ];
        let facts = values
            .into_iter()
            .filter_map(|(name, value)| Some((name, self.masks.text(&value?).into_owned())));
        About {
            title: title
                .filter(|title| !title.trim().is_empty())
                .unwrap_or_else(|| "Untitled session".to_owned()),
            facts: facts.filter(|(_, value)| !value.is_empty()).collect(),
            turns: turns.collect(),
        }
    }
}

/// Which rows are exported.
struct Selected<'a> {
    options: &'a Options,
    /// The entries of the model view.
    entries: Option<HashSet<usize>>,
    /// Turns are those of the session itself.
    has_turns: bool,
}

impl<'a> Selected<'a> {
    fn of(options: &'a Options, conversation: &Conversation<'_>, depth: usize) -> Self {
        let is_model = options.model_view && depth == 0;
        let entries = is_model.then(|| {
            let messages = model::messages(&conversation.chain());
            let mut entries = HashSet::new();
            for message in messages.iter() {
                entries.extend(message.entries.iter().copied());
            }
            entries
        });
        Self { options, entries, has_turns: depth == 0 }
    }

    fn includes(&self, conversation: &Conversation<'_>, kind: ViewRowKind, step: &Step) -> bool {
        kind != ViewRowKind::Record
            && (kind != ViewRowKind::Thinking || self.options.thinking)
            && (kind != ViewRowKind::Context || self.options.context)
            && self.includes_step(conversation, step)
    }

    fn includes_step(&self, conversation: &Conversation<'_>, step: &Step) -> bool {
        let turns = self.options.turns.as_ref().filter(|_| self.has_turns);
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

fn time_of_ms(ms: i64) -> String {
    let words =
        |time: Timestamp| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %:z").to_string();
    Timestamp::from_millisecond(ms).map_or_else(|_| "-".to_owned(), words)
}

/// Returns where a step of a conversation is.
fn place_of(
    conversation: &Conversation<'_>,
    ids: IdTexts<'_>,
    step: &Step,
    agent: Option<&str>,
) -> ExportPlace {
    let Step::Entry { node, .. } = step else { return ExportPlace::default() };
    ExportPlace {
        turn: conversation.turn_of(*node).filter(|_| agent.is_none()),
        uuid: conversation.session().nodes()[*node].id.map(|id| ids.get(id)),
        agent_id: agent.map(str::to_owned),
    }
}

/// Returns what follows the title of a call: what came of it, changed lines, time, how it ended.
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

/// Returns a number of tokens in thousands, rounded up.
fn thousands(tokens: u64) -> String {
    format!("{}k", tokens.div_ceil(1000))
}

/// Returns the words of a row that is a mark in the conversation.
fn mark_words(row: &ViewRow) -> String {
    match (&row.compaction, row.kind) {
        (Some(compaction), _) => {
            let before = compaction.pre_tokens.map_or_else(String::new, thousands);
            let after =
                compaction.post_tokens.map_or_else(String::new, |after| format!(" → {}", thousands(after)));
            format!("compacted {} {before}{after}", compaction.trigger.as_deref().unwrap_or_default())
        }
        _ => row.summary.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use annals_engine::{Home, Roots};

    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    /// Fails to mask lines with a certain word.
    struct Broken;

    impl Filter for Broken {
        fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
            let text = String::from_utf8_lossy(line);
            assert!(!text.contains("unmaskable"), "{text}");
            (Cow::Borrowed(line), 0)
        }

        fn visible(&self, _: &str) -> Vec<(std::ops::Range<usize>, String)> {
            Vec::new()
        }
    }

    /// Returns an engine with one session.
    fn engine_with(lines: &str) -> (tempfile::TempDir, Engine) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("projects/-src");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{SESSION}.jsonl")), lines).unwrap();
        let roots = Roots::given(vec![root.path().into()]).unwrap();
        let engine = Engine::open(roots, Home::at(root.path().join("annals")));
        (root, engine)
    }

    fn options(format: Format) -> Options {
        Options {
            format,
            model_view: false,
            turns: None,
            subagents: false,
            context: true,
            thinking: true,
            results: true,
            diffs: true,
            images: true,
        }
    }

    /// Returns the tags in raw HTML.
    fn tags(html: &str) -> impl Iterator<Item = &str> {
        html.split_inclusive('>').filter_map(|piece| Some(&piece[piece.find('<')?..]))
    }

    fn is_own_tag(tag: &str) -> bool {
        let name = tag.strip_prefix("<a name=\"you-").and_then(|rest| rest.strip_suffix("\">"));
        let own =
            ["<details>", "</details>", "<summary>", "</summary>", "<b>", "</b>", "<i>", "</i>", "</a>"];
        own.contains(&tag) || name.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Returns the HTML in a document that no export writes, as a parser of Markdown with the extensions of forges finds it.
    fn foreign_html(document: &str) -> Vec<String> {
        let mut options = comrak::Options::default();
        options.extension.table = true;
        options.extension.strikethrough = true;
        options.extension.tasklist = true;
        options.extension.autolink = true;
        options.extension.footnotes = true;
        let arena = comrak::Arena::new();
        let root = comrak::parse_document(&arena, document, &options);
        let html = root.descendants().filter_map(|node| match &node.data.borrow().value {
            comrak::nodes::NodeValue::HtmlBlock(block) => Some(block.literal.clone()),
            comrak::nodes::NodeValue::HtmlInline(html) => Some(html.clone()),
            _ => None,
        });
        html.flat_map(|html| {
            tags(&html).filter(|tag| !is_own_tag(tag)).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
    }

    #[test]
    fn no_text_of_a_session_is_html_in_markdown() {
        let pieces = [
            "<img src=x>",
            "</details>",
            "<script>",
            "`<u>`",
            "``<u>``",
            "```",
            "~~~~",
            "~~",
            "**",
            "`",
            "\\",
            "\n",
            "\n\n",
            "http://a.example/",
            "www.",
            "[",
            "](http://a.example/)",
            "](data:x)",
            "1234567890. ",
            "- ",
            "> ",
            "    ",
            "|",
            "|---|\n",
            "&#10;",
            "&#32;",
            "<!--",
            "-->",
            "# ",
            "a",
            "b ",
            "_",
            "!",
            "<summary>",
            "\r",
            "\t",
            "\u{1b}[1m",
            "&lt;",
        ];
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let mut lines = testkit::transcript::Transcript::session(SESSION);
        let mut text = || -> String { (0..=random(12)).map(|_| pieces[random(pieces.len())]).collect() };
        for n in 0..300 {
            let [call, key] = [text(), text()];
            lines = lines
                .user(&format!("u{n}"), text())
                .assistant(&format!("a{n}"), |reply| {
                    reply.id(&format!("m{n}")).text(&text()).thinking(&text())
                })
                .assistant(&format!("b{n}"), |reply| {
                    let reply =
                        reply.id(&format!("n{n}")).tool(&format!("t{n}"), "Bash", json!({"command": call}));
                    reply.tool(&format!("s{n}"), &text(), json!({(key.clone()): text(), "b": text()}))
                })
                .result(&format!("r{n}"), &format!("t{n}"), text())
                .failure(&format!("f{n}"), &format!("s{n}"), text());
        }
        let lines = lines.title(&text()).to_string();
        let (_root, engine) = engine_with(&lines);
        let (options, masks) = (options(Format::Md), MaskLog::default());
        let mut exporter = Exporter::new(&engine, &options, &masks, &|_| Box::new(|| ()));
        let mut out = Vec::new();
        let file = engine.session(SESSION.as_ref()).unwrap();
        exporter.session(&file, |exporter, opened| exporter.stream(opened, &mut out)).unwrap();
        let document = String::from_utf8(out).unwrap();
        assert_eq!(foreign_html(&document), Vec::<String>::new());
        assert_eq!(foreign_html("`a` <img src=x>").len(), 1, "the check finds HTML");
    }

    /// Every tool that has a card of its own.
    const TOOLS: &str = "Bash Read Edit MultiEdit Write NotebookEdit Grep Glob Task TodoWrite AskUserQuestion ExitPlanMode Skill WebFetch BashOutput";

    /// A session that has a text wherever an export or a viewer may show one.
    fn session_full_of(text: &str) -> String {
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": text, "data": text}});
        let input = json!({
            "command": text, "description": text, "file_path": text, "notebook_path": text, "pattern": text, "path": text, "url": text,
            "old_string": text, "new_string": format!("{text}\n{text}"), "content": text, "query": text, "subagent_type": text, "prompt": text,
            "plan": text, "skill": text, "args": text, "todos": [{"content": text, "status": "in_progress", "activeForm": text}],
            "questions": [{"question": text, "header": text, "options": [{"label": text, "description": text}]}], (text): text,
        });
        let output = json!({
            "stdout": text, "stderr": text, "type": text, "answers": {(text): text}, "filePath": text,
            "file": {"filePath": text, "content": text, "startLine": 1, "numLines": 1},
            "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [format!("-{text}"), format!("+{text}x")]}],
        });
        let mut session = testkit::transcript::Transcript::session(SESSION)
            .cwd(text)
            .user(&format!("u1{text}"), json!([{"type": "text", "text": text}, image]))
            .with("timestamp", format!("2026-03-01T10:00:00{text}"))
            .assistant(&format!("a{text}"), |reply| reply.id(text).text(text).thinking(text));
        for (number, tool) in TOOLS.split(' ').chain([text]).enumerate() {
            let [call, result] = ["call", "result"].map(|kind| format!("{kind}-{number}"));
            session = session.assistant(&call, |reply| reply.tool(&call, tool, input.clone()));
            session = session.result(&result, &call, json!([{"type": "text", "text": text}, image]));
            session = session.with("toolUseResult", output.clone());
        }
        session
            .assistant(&format!("b{text}"), |reply| reply.tool(text, "Bash", input))
            .failure(&format!("r{text}"), text, text)
            .message("system", "s1", json!({"subtype": text, "content": text, "level": text}))
            .message("attachment", "s2", json!({"attachment": {"type": text, "content": text}}))
            .message(
                "system",
                "s3",
                json!({"subtype": "compact_boundary", "compactMetadata": {"trigger": text, "preTokens": 5}}),
            )
            .message(text, "s4", json!({"content": text}))
            .user(&format!("u2{text}"), text)
            .with("gitBranch", text)
            .title(text)
            .to_string()
    }

    /// Returns the document of a session, and the indices that name it.
    fn documents_of(lines: &str, format: Format) -> [String; 3] {
        let (_root, engine) = engine_with(lines);
        let (options, masks) = (options(format), MaskLog::default());
        let mut exporter = Exporter::new(&engine, &options, &masks, &|_| Box::new(|| ()));
        let mut out = Vec::new();
        let file = engine.session(SESSION.as_ref()).unwrap();
        let about = exporter.session(&file, |exporter, opened| exporter.stream(opened, &mut out)).unwrap();
        assert_eq!(exporter.left_out(), 0);
        let pages = [about.turns.clone()];
        let of_pages = index_of_pages(format, &about, &pages, Some(&about.title));
        let of_sessions = index(format, &[(file_name(&file, format), about)]);
        [String::from_utf8(out).unwrap(), of_pages, of_sessions.unwrap_or_default()]
    }

    /// Texts that leave an attribute, an element, a cell, a link or a line, or that reorder what follows, in a careless writer.
    const HOSTILE: [&str; 9] = [
        "x\"><script>alert(1)</script><a b=\"",
        "' onmouseover='alert(1)",
        "\" onmouseover=\"alert(1)",
        "</title></style></summary></details></pre><img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "](javascript:alert(1)) | a |\n\n# b\n\n<u>c</u>",
        "image/png;base64,AA==\" onerror=\"alert(1)",
        "../../x\u{0}\r\n\u{1b}]8;;https://a.example\u{7}b\u{9b}",
        "\u{202e}gpj.exe\u{2066}\u{61c}\u{200b}\u{e0041}\u{feff}",
    ];

    /// Returns the tags of a page that have an attribute, or an address, that no export writes.
    fn foreign_tags(page: &str) -> Vec<&str> {
        let body = page.split_once("</head>").map_or(page, |(_, body)| body);
        tags(body).filter(|tag| !has_own_attributes(tag)).collect()
    }

    fn has_own_attributes(tag: &str) -> bool {
        let inside = tag.trim_start_matches('<').trim_end_matches(['>', '/']);
        let (element, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
        while let Some((name, after)) = rest.trim_start().split_once("=\"") {
            let Some((value, next)) = after.split_once('"') else { return false };
            let is_own = match name {
                "class" | "id" | "rel" | "value" | "start" | "alt" | "type" | "name" | "aria-label" => true,
                "href" => is_own_address(value),
                "src" => element == "img" && value.starts_with("data:image/png;base64,"),
                _ => false,
            };
            if !is_own {
                return false;
            }
            rest = next;
        }
        let is_active = matches!(
            element,
            "script" | "style" | "iframe" | "svg" | "u" | "object" | "base" | "link" | "meta"
        );
        matches!(rest.trim(), "" | "checked") && !is_active
    }

    fn is_own_address(address: &str) -> bool {
        ["#", "page-", "annals-", "index.html", "README.md", "http://", "https://", "mailto:"]
            .iter()
            .any(|start| address.starts_with(start))
    }

    /// Returns the addresses in Markdown that no export writes.
    fn foreign_links(document: &str) -> Vec<String> {
        let arena = comrak::Arena::new();
        let root = comrak::parse_document(&arena, document, &comrak::Options::default());
        let links = root.descendants().filter_map(|node| match &node.data.borrow().value {
            comrak::nodes::NodeValue::Link(link) | comrak::nodes::NodeValue::Image(link) => {
                Some(link.url.clone())
            }
            _ => None,
        });
        links.filter(|address| !is_own_address(address)).collect()
    }

    #[test]
    fn no_field_of_a_session_becomes_markup_or_reorders_text() {
        for text in HOSTILE {
            let lines = session_full_of(text);
            for page in documents_of(&lines, Format::Html) {
                assert_eq!(foreign_tags(&page), Vec::<&str>::new(), "{text:?}");
                assert_shows_what_it_hides(&page, text);
            }
            for document in documents_of(&lines, Format::Md) {
                assert_eq!(foreign_html(&document), Vec::<String>::new(), "{text:?}\n{document}");
                assert_eq!(foreign_links(&document), Vec::<String>::new(), "{text:?}\n{document}");
                assert_shows_what_it_hides(&document, text);
            }
            let [plain, ..] = documents_of(&lines, Format::Text);
            assert_shows_what_it_hides(&plain, text);
        }
        assert_eq!(
            foreign_tags("<p class=\"a\" onclick=\"b\"><a href=\"data:x\"><u>").len(),
            3,
            "the check finds tags"
        );
        assert_eq!(foreign_links("[a](javascript:b) ![c](data:d)").len(), 2, "the check finds links");
    }

    #[test]
    fn no_line_of_a_card_reorders_or_hides_text() {
        for text in HOSTILE {
            let (_root, engine) = engine_with(&session_full_of(text));
            let snapshot = engine.snapshot(engine.session(SESSION.as_ref()).unwrap()).unwrap();
            let conversation = snapshot.conversation(None, turn::PAUSE_MS).unwrap();
            let outline = Outline::unmeasured(&conversation).unwrap();
            let rows = Rows::new(&conversation, &outline, None);
            let mut calls = 0;
            for number in 0..outline.rows().len() {
                let row = rows.row(number, Open::Folded).unwrap();
                calls += usize::from(row.tool.is_some());
                let tool = row.tool.as_ref().map_or_else(Vec::new, |tool| vec![&tool.name, &tool.title]);
                let subject = row.tool.as_ref().and_then(|tool| tool.subject.as_ref());
                let trigger = row.compaction.as_ref().and_then(|compaction| compaction.trigger.as_ref());
                for shown in tool.into_iter().chain(subject).chain(trigger) {
                    assert!(!annals_render::has_harmful(shown), "{shown:?} of {text:?}");
                }
            }
            assert_eq!(calls, TOOLS.split(' ').count() + 2, "{text:?}");
        }
    }

    fn assert_shows_what_it_hides(document: &str, text: &str) {
        let hidden = annals_render::judged(document)
            .find(|(character, is_harmful)| *is_harmful && !matches!(character, '\n' | '\t'));
        assert_eq!(hidden, None, "{text:?}\n{document}");
    }

    #[test]
    fn an_id_leaves_no_folder_and_names_no_device() {
        let file = |id: &str| TranscriptFile {
            agent: Some(id.to_owned()),
            ..TranscriptFile::at(std::path::Path::new("x.jsonl"))
        };
        for (id, name) in [
            ("../../etc/passwd", "annals-etcpasswd"),
            ("..", "annals-"),
            ("C:\\x", "annals-Cx"),
            ("a\u{202e}b\0\n", "annals-ab"),
            ("CON", "annals-CON"),
        ] {
            assert_eq!(folder_name(&file(id)), name);
            assert_eq!(file_name(&file(id), Format::Md), format!("{name}.md"));
        }
        assert_eq!(folder_name(&file(&"a".repeat(500))).len(), "annals-".len() + 36);
    }

    #[test]
    fn a_part_that_cannot_be_masked_is_left_out_and_counted() {
        let lines = testkit::transcript::Transcript::session(SESSION)
            .user("u1", "Boil water")
            .assistant("a1", |reply| reply.id("m1").text("This is unmaskable"))
            .user("u2", "Thanks");
        let (_root, engine) = engine_with(&lines.to_string());
        let options = options(Format::Text);
        let masks = MaskLog::default();
        let mut exporter = Exporter::new(&engine, &options, &masks, &|_| Box::new(|| ()));
        exporter.filter = Some(&Broken);
        let mut out = Vec::new();
        let file = engine.session(SESSION.as_ref()).unwrap();
        exporter.session(&file, |exporter, opened| exporter.stream(opened, &mut out)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Boil water") && text.contains("Thanks"), "{text}");
        assert!(!text.contains("unmaskable"), "{text}");
        let report = exporter.report();
        assert_eq!((report.rows, report.left_out), (2, 1));
        assert_eq!(
            (report.left_out_at[0].turn, report.left_out_at[0].uuid.as_deref()),
            (Some(1), Some("a1"))
        );
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
