//! `annals export`: writes sessions as pages, documents or JSON.
//!
//! A session is written row by row, so that memory does not grow with it. Everything is masked before it is rendered; what cannot be
//! read is left out and counted.

mod document;
mod page;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use annals_api::to_wire::{self, ToWire};
use annals_engine::{Conversation, Engine, ListOptions, SessionRow, Subagent, TranscriptFile};
use annals_proto::{ViewNode, ViewRow, ViewRowKind};
use annals_render::{Filter, Found, Open, Outline, Rows, Target, duration};
use annals_transcript::full_view::Step;
use annals_transcript::{model, turn};

use super::choose;
use crate::args::{Export, ExportView, Format, Global};
use crate::failure::{FAILED, Failure};
use crate::output;

/// How deep subagents may be nested. A loop of damaged links never ends.
const MAX_DEPTH: usize = 8;

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
    let mut exporter = Exporter { engine, args, format, left_out: 0, agents: HashSet::new() };
    if files.len() == 1 && args.project.is_none() {
        exporter.one(&files[0])?;
    } else {
        exporter.folder(&files)?;
    }
    output::mask::note();
    if exporter.left_out > 0 {
        let parts = output::count(exporter.left_out, "part");
        output::complain(&format!("{parts} could not be read and left out"));
        return Ok(ExitCode::from(FAILED));
    }
    Ok(ExitCode::SUCCESS)
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
pub(super) struct About {
    pub(super) title: String,
    /// Names and values.
    pub(super) facts: Vec<(&'static str, String)>,
    /// The prompts of the turns, for a table of contents: number, entry, first words.
    pub(super) turns: Vec<(usize, Option<String>, String)>,
}

/// Writes rows in one format.
pub(super) trait Document {
    fn begin(&self, about: &About, out: &mut String);
    /// Writes a row; `image` returns the media type and the base64 of an image of the row.
    fn row(
        &mut self,
        row: &ViewRow,
        image: &dyn Fn(usize) -> Option<(&'static str, String)>,
        out: &mut String,
    );
    /// Begins and ends the conversation of a subagent.
    fn begin_agent(&self, title: &str, out: &mut String);
    fn end_agent(&self, out: &mut String);
    fn end(&self, out: &mut String);
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
    /// How many parts could not be read.
    left_out: usize,
    /// The agents of the session that were written: transcripts that name each other would otherwise repeat without end.
    agents: HashSet<PathBuf>,
}

impl Exporter<'_> {
    /// Writes one session to a file or to standard output.
    fn one(&mut self, file: &TranscriptFile) -> Result<(), Failure> {
        if self.args.output.as_deref() == Some(Path::new("-")) {
            let mut out = output::json_stdout();
            self.session(file, &mut out)?;
            return Ok(out.flush()?);
        }
        let path = self.args.output.clone().unwrap_or_else(|| PathBuf::from(self.name_of(file)));
        self.file(&path, |exporter, out| exporter.session(file, out).map(drop))?;
        output::note(&format!("wrote {}", output::clean(&path.to_string_lossy())));
        Ok(())
    }

    /// Writes several sessions to a folder, with an index.
    fn folder(&mut self, files: &[TranscriptFile]) -> Result<(), Failure> {
        let folder = self.args.output.clone().unwrap_or_else(|| PathBuf::from("annals-export"));
        if folder == Path::new("-") {
            return Err(Failure::usage("several sessions need a folder", "give one with `-o FOLDER`"));
        }
        fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
        let mut index = Vec::new();
        let mut names = HashSet::new();
        for file in files {
            let name = free_name(&mut names, &self.name_of(file));
            let mut about = None;
            self.file(&folder.join(&name), |exporter, out| {
                about = Some(exporter.session(file, out)?);
                Ok(())
            })?;
            index.extend(about.map(|about| (name, about)));
        }
        let list = match self.format {
            Format::Html => Some(("index.html", page::index(&index))),
            Format::Md => Some(("README.md", document::index(&index))),
            Format::Json | Format::Text => None,
        };
        if let Some((name, text)) = list {
            self.file(&folder.join(name), |_, out| Ok(out.write_all(text.as_bytes())?))?;
        }
        note_folder(&folder, index.len());
        Ok(())
    }

    /// Returns the name of the file for a session.
    fn name_of(&self, file: &TranscriptFile) -> String {
        let id = file.agent.as_deref().or(file.session.as_deref()).unwrap_or("session");
        let id: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(36).collect();
        format!("annals-{id}.{}", self.format.ending())
    }

    /// Writes a file as a whole: what fails in the middle leaves no file behind. A file that exists is replaced only on request.
    fn file(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut Self, &mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let there = path.symlink_metadata().ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            let name = output::clean(&path.to_string_lossy()).into_owned();
            return Err(Failure::usage(
                &format!("`{name}` is not a file"),
                "give another path with `-o PATH`",
            ));
        }
        if there.is_some() && !self.args.force {
            let name = output::clean(&path.to_string_lossy()).into_owned();
            let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal();
            if !is_asked || !output::ask(&format!("`{name}` exists. Replace it?"))? {
                return Err(Failure::usage(&format!("`{name}` exists"), "`--force` replaces it"));
            }
        }
        if self.engine.root_folders().any(|root| is_below(path, root)) {
            let name = output::clean(&path.to_string_lossy()).into_owned();
            let hint = "give a path outside of them with `-o PATH`";
            return Err(Failure::usage(&format!("`{name}` is in a folder of Claude Code"), hint));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let part = folder.join(format!(".annals-export-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&part);
        let file = file.map_err(|error| cannot_write(path, &error))?;
        let mut out = BufWriter::with_capacity(256 << 10, file);
        let written = write(self, &mut out).and_then(|()| Ok(out.flush()?));
        let finished =
            written.and_then(|()| fs::rename(&part, path).map_err(|error| cannot_write(path, &error)));
        if finished.is_err() {
            let _ = fs::remove_file(&part);
        }
        finished
    }

    /// Writes a session.
    fn session(&mut self, file: &TranscriptFile, out: &mut dyn Write) -> Result<About, Failure> {
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
        let about = about(file, row.as_ref(), &conversation);
        if self.format == Format::Json {
            self.json(row, &conversation, out)?;
            return Ok(about);
        }
        let mut document: Box<dyn Document> = match self.format {
            Format::Html => Box::new(page::Page::default()),
            Format::Md => Box::new(document::Markdown),
            Format::Text | Format::Json => Box::new(document::Plain),
        };
        let mut text = String::new();
        document.begin(&about, &mut text);
        out.write_all(text.as_bytes())?;
        let agents = if self.args.subagents { self.engine.agents(file)?.local } else { Vec::new() };
        let by_call = agents.iter().filter_map(|agent| Some((agent.call.clone()?, agent))).collect();
        self.rows(&conversation, &mut *document, &by_call, 0, out)?;
        text.clear();
        document.end(&mut text);
        out.write_all(text.as_bytes())?;
        Ok(about)
    }

    /// Writes the rows of a conversation, and of the subagents that its calls started.
    fn rows(
        &mut self,
        conversation: &Conversation<'_>,
        document: &mut dyn Document,
        agents: &HashMap<String, &Subagent>,
        depth: usize,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let outline = Outline::of(conversation)?;
        let filter = output::mask::masking().map(|_| &Masked as &dyn Filter);
        let target = if self.format == Format::Html { Target::Page } else { Target::Plain };
        let rows = Rows::new(conversation, &outline, filter).with_target(target);
        let selected = Selected::of(self.args, conversation, depth);
        let progress = output::Progress::of_rows(outline.rows().len());
        let mut text = String::new();
        for (number, found) in outline.rows().iter().enumerate() {
            progress.advance();
            if !selected.includes(conversation, found.kind, outline.step(found)) {
                continue;
            }
            let Ok(mut row) = rows.row(number, Open::Whole) else {
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
            self.leave_out(&mut row);
            let image = |part: usize| match rows.part(number, part) {
                Ok(Some(Found::Image(media, data))) if !self.args.no_images => Some((media, data)),
                _ => None,
            };
            text.clear();
            document.row(&row, &image, &mut text);
            out.write_all(text.as_bytes())?;
            let call = row.tool.as_ref().and_then(|tool| tool.id.as_deref());
            if let Some(agent) = call.and_then(|call| agents.get(call)).filter(|_| depth < MAX_DEPTH) {
                self.agent(agent, document, agents, depth + 1, out)?;
            }
        }
        progress.finish();
        Ok(())
    }

    fn agent(
        &mut self,
        agent: &Subagent,
        document: &mut dyn Document,
        agents: &HashMap<String, &Subagent>,
        depth: usize,
        out: &mut dyn Write,
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
        out.write_all(text.as_bytes())?;
        self.rows(&snapshot.conversation(None, turn::PAUSE_MS)?, document, agents, depth, out)?;
        text.clear();
        document.end_agent(&mut text);
        Ok(out.write_all(text.as_bytes())?)
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
        &self,
        row: Option<SessionRow>,
        conversation: &Conversation<'_>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if let Some(row) = row {
            output::json_line(out, &to_wire::session(row))?;
        }
        let to_wire = ToWire::of(conversation.transcript());
        let selected = Selected::of(self.args, conversation, 0);
        for step in conversation.steps() {
            if selected.includes_step(conversation, step) {
                output::json_line(out, &to_wire.item(conversation, step)?)?;
            }
        }
        Ok(())
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
    if format == Format::Json && is_for_documents {
        let text =
            "JSON has the entries as they are: options that add or leave out parts have no effect there";
        return Err(Failure::usage(text, "`--format html|md|text` takes them"));
    }
    Ok(())
}

/// Returns a name that no other file of the folder has: sessions in several config folders may have the same id.
fn free_name(names: &mut HashSet<String>, name: &str) -> String {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let others = (2..).map(|number| format!("{stem}-{number}.{ending}"));
    let mut all = std::iter::once(name.to_owned()).chain(others);
    all.find(|name| names.insert(name.clone())).expect("there is always another number")
}

fn note_folder(folder: &Path, sessions: usize) {
    let folder = folder.to_string_lossy();
    output::note(&format!("wrote {} to {}", output::count(sessions, "session"), output::clean(&folder)));
}

/// Returns whether a file would be in a folder, through whatever links.
fn is_below(file: &Path, folder: &Path) -> bool {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = |path: &Path| path.canonicalize().ok();
    real(parent).zip(real(folder)).is_some_and(|(parent, folder)| parent.starts_with(folder))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::cannot_write(path, error)
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
fn about(file: &TranscriptFile, row: Option<&SessionRow>, conversation: &Conversation<'_>) -> About {
    let facts = row.map(|row| &row.facts);
    let title = facts
        .and_then(|facts| facts.title.as_ref())
        .map(|title| output::masked_title(&title.text).into_owned());
    let ids = conversation.session().id_texts();
    let turns = conversation.turns().iter().map(|turn| {
        let id = conversation.session().nodes()[turn.node].id.map(|id| ids.get(id));
        let prompt = &turn.prompt;
        let prompt = if turn.prompt_is_cut { output::masked_cut(prompt) } else { output::masked(prompt) };
        (turn.number, id, output::conversation::one_line(&prompt, 70))
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
pub(super) fn call_facts(row: &ViewRow) -> Vec<String> {
    let Some(tool) = &row.tool else { return Vec::new() };
    let mut facts = tool.facts.clone();
    facts.extend(tool.added.zip(tool.removed).map(|(added, removed)| format!("+{added} −{removed}")));
    facts.extend(tool.duration_ms.filter(|ms| *ms >= 100).map(duration));
    if tool.state != annals_proto::ToolState::Ok {
        facts.push(tool.state.to_string());
    }
    facts
}

/// Returns the words of a row that is a mark in the conversation.
pub(super) fn mark_words(row: &ViewRow) -> String {
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

    #[test]
    fn a_file_ending_names_a_format() {
        for format in [Format::Html, Format::Md, Format::Json, Format::Text] {
            assert_eq!(Format::of_ending(format.ending()), Some(format));
        }
        assert_eq!(Format::of_ending("HTM"), Some(Format::Html));
        assert_eq!(Format::of_ending("pdf"), None);
    }
}
