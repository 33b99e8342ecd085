//! `annals tail`: follows sessions as they grow.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use annals_engine::{
    Conversation, Engine, Event, FollowOptions, Follower, Snapshot, TranscriptFile, TrashChange, open_regular,
};
use annals_proto::{TailEvent, TailEventKind};
use annals_transcript::{Entry, Kind};
use serde_json::value::RawValue;

use super::choose;
use super::show::StepFilter;
use crate::args::{Global, Tail};
use crate::failure::Failure;
use crate::output::conversation::{self, Detail, Tools};
use crate::output::{self, DIM, clean};

pub(crate) fn run(engine: &Engine, args: &Tail, global: &Global) -> Result<ExitCode, Failure> {
    let only =
        args.session.as_ref().map(|session| choose::transcript(engine, session, global)).transpose()?;
    if let Some(file) = &only {
        ensure_readable(file)?;
    }
    let mut follower = engine.follow(&FollowOptions { only: only.clone(), poll: args.poll });
    let mut printer = Printer {
        out: output::stdout(),
        json: global.json,
        all: only.is_none(),
        last: None,
        printed: 0,
        appended: None,
        pending: HashMap::new(),
    };
    if let Some(file) = only.as_ref().filter(|_| !global.json) {
        // The follower was started before, so that nothing is missed in between.
        printer.print_last_turns(engine, file, args.turns)?;
    }
    if !global.json {
        let what = match &only {
            Some(file) => name_of(file),
            None => format!("all sessions in {}", super::project_folders(engine)),
        };
        output::note(&format!("following {what}; Ctrl-C ends it"));
    }
    if only.is_none() {
        for error in engine.root_summaries().iter().flat_map(|place| &place.errors) {
            output::complain(&error.to_string());
        }
    }
    // A deadline beyond what `Instant` can represent never comes.
    let deadline = args.seconds.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    while deadline.is_none_or(|deadline| Instant::now() < deadline) {
        printer.wait(&mut follower, deadline)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns how `tail` prints a conversation.
fn detail() -> Detail {
    Detail {
        subagents: false,
        expand: false,
        thinking: true,
        tools: Tools::Short,
        ids: false,
        columns: output::prose_columns(),
    }
}

/// The most bytes of lines with calls whose results may still come. A result that comes after more than that is not printed.
const MOST_PENDING: usize = 4 << 20;

/// Returns the lines with calls that have no result yet. A prompt that is sent while a call runs does not end the call, so calls
/// that a message follows are among them.
fn pending_lines(conversation: &Conversation<'_>) -> Result<Vec<u8>, Failure> {
    let nodes = conversation.session().nodes();
    let mut waiting: Vec<_> =
        conversation.calls().iter().filter(|call| call.result.is_none()).map(|call| call.node).collect();
    waiting.dedup();
    let mut room = MOST_PENDING as u64;
    let fitting = waiting.iter().rev().take_while(|&&node| {
        let fits = nodes[node].length <= room;
        room = room.saturating_sub(nodes[node].length);
        fits
    });
    let count = fitting.count();
    let mut lines = Vec::new();
    for &node in &waiting[waiting.len() - count..] {
        lines.extend(conversation.transcript().body(&nodes[node])?.trim_ascii_end());
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Fails now if the transcript cannot be opened; the follower would wait for it forever.
fn ensure_readable(file: &TranscriptFile) -> Result<(), Failure> {
    open_regular(&file.path).map_err(|source| annals_engine::Error::read(&file.path, source))?;
    Ok(())
}

/// The longest time of one wait.
const MAX_WAIT: Duration = Duration::from_secs(3600);

struct Printer<W> {
    out: W,
    json: bool,
    /// Whether several sessions are followed, so that each has to be named.
    all: bool,
    /// The transcript whose entry was printed last.
    last: Option<TranscriptFile>,
    /// The offset up to which the file was already printed.
    printed: u64,
    /// What was appended to a transcript and is not printed yet.
    appended: Option<Appended>,
    /// The lines of each transcript with calls that have no result yet.
    pending: HashMap<PathBuf, Vec<u8>>,
}

/// Consecutive lines that were appended to a transcript. They are printed together, as `show` prints them.
struct Appended {
    file: TranscriptFile,
    lines: Vec<u8>,
}

impl Appended {
    fn to(file: &TranscriptFile) -> Self {
        Self { file: file.clone(), lines: Vec::new() }
    }

    /// Returns whether an event appends an entry that is printed together with these.
    fn continues(&self, file: &TranscriptFile, event: &Event<'_>) -> bool {
        matches!(event, Event::Entry { .. }) && self.file == *file && self.lines.len() < MOST_APPENDED
    }
}

/// The most bytes that are collected before they are printed, unless one line is longer.
const MOST_APPENDED: usize = 1 << 20;

impl<W: Write> Printer<W> {
    /// Prints the last turns of a session as `show` does, and remembers how far the file was read.
    fn print_last_turns(
        &mut self,
        engine: &Engine,
        file: &TranscriptFile,
        turns: usize,
    ) -> Result<(), Failure> {
        let snapshot = engine.snapshot(file.clone())?;
        let conversation = Conversation::of(&snapshot)?;
        let count = conversation.turns().len();
        let last = StepFilter::Turns(count.saturating_sub(turns) + 1..=count);
        let mut steps = conversation::Printer::new(&mut self.out, &conversation, detail());
        for (place, step) in conversation.steps_once().iter().enumerate() {
            if last.includes(&conversation, place, step) {
                steps.step(step)?;
            }
        }
        steps.queued()?;
        steps.finish()?;
        self.out.flush()?;
        self.printed = conversation.session().nodes().last().map_or(0, |node| node.at.offset + node.length);
        self.pending.insert(file.path.clone(), pending_lines(&conversation)?);
        Ok(())
    }

    /// Prints what was appended to a transcript, by the rules of `show`.
    fn print_appended(&mut self) -> Result<(), Failure> {
        let Some(Appended { file, lines }) = self.appended.take() else { return Ok(()) };
        let mut all = self.pending.remove(&file.path).unwrap_or_default();
        let start = all.len() as u64;
        all.extend(lines);
        let snapshot = Snapshot::of_lines(file, all);
        let conversation = Conversation::of(&snapshot)?;
        let first = conversation.session().nodes().partition_point(|node| node.at.offset < start);
        let mut text = Vec::new();
        let mut entries = conversation::Printer::new(&mut text, &conversation, detail());
        entries.appended(first)?;
        entries.finish()?;
        let pending = pending_lines(&conversation)?;
        if !pending.is_empty() {
            self.pending.insert(snapshot.path().to_owned(), pending);
        }
        if text.is_empty() {
            return Ok(());
        }
        if self.all && self.last.as_ref() != Some(snapshot.file()) {
            self.remark(&name_of(snapshot.file()))?;
            self.last = Some(snapshot.file().clone());
        }
        self.out.write_all(&text)?;
        Ok(())
    }

    fn wait(&mut self, follower: &mut Follower, deadline: Option<Instant>) -> Result<(), Failure> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let longest = left.map_or(MAX_WAIT, |left| left.min(MAX_WAIT));
        let mut result = Ok(());
        follower.wait(longest, |file, happening| {
            if result.is_ok() {
                result = self.print(file, &happening);
            }
        });
        result?;
        self.print_appended()?;
        self.out.flush()?;
        Ok(())
    }

    fn print(&mut self, file: &TranscriptFile, event: &Event<'_>) -> Result<(), Failure> {
        if self.json {
            return output::json_line(&mut self.out, &to_wire(file, event));
        }
        let name = name_of(file);
        let continues = self.appended.as_ref().is_some_and(|appended| appended.continues(file, event));
        if !continues {
            self.print_appended()?;
        }
        match event {
            Event::Created => self.remark(&format!("new: {name}"))?,
            Event::Title { title: "" } => self.remark(&format!("{name} has no title any more"))?,
            Event::Title { title } => {
                let title = output::title_line(title);
                self.remark(&format!("{name} is called “{title}”"))?;
            }
            Event::Replaced => {
                self.printed = 0;
                self.pending.remove(&file.path);
                self.remark(&format!("replaced: {name}"))?;
            }
            Event::Removed => {
                self.pending.remove(&file.path);
                self.remark(&format!("removed: {name}"))?;
            }
            Event::Archived { is_archived: true } => self.remark(&format!("archived: {name}"))?,
            Event::Archived { is_archived: false } => self.remark(&format!("unarchived: {name}"))?,
            Event::Opened => self.remark(&format!("opened in Claude Code: {name}"))?,
            Event::Closed => self.remark(&format!("closed in Claude Code: {name}"))?,
            Event::Trash { change, .. } => {
                let what = match change {
                    TrashChange::Trashed => "moved to the trash",
                    TrashChange::Restored => "restored from the trash",
                    TrashChange::Purged => "permanently removed from the trash",
                };
                self.remark(&format!("{what}: {name}"))?;
            }
            Event::Entry { offset, .. } if *offset < self.printed => {}
            Event::Entry { bytes, .. } => {
                if Entry::new(bytes).kind() == Kind::Noise {
                    if !bytes.trim_ascii().is_empty() {
                        self.print_appended()?;
                        self.remark(&format!("{name}: a line that cannot be read"))?;
                    }
                    return Ok(());
                }
                let appended = self.appended.get_or_insert_with(|| Appended::to(file));
                appended.lines.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// Prints something about a session.
    fn remark(&mut self, text: &str) -> Result<(), Failure> {
        let line = format!("── {}", clean(text));
        for row in output::wrap::rows(&line, output::prose_columns().unwrap_or(usize::MAX)) {
            writeln!(self.out, "{DIM}{}{DIM:#}", &line[row])?;
        }
        Ok(())
    }
}

/// Returns the name of a transcript: that of its session, with its agent.
fn name_of(file: &TranscriptFile) -> String {
    let agent = file.agent.as_deref().map(|agent| format!(", agent {}", clean(agent)));
    super::change::name(file) + &agent.unwrap_or_default()
}

/// Returns the JSON of an event. A line that is not an object in UTF-8 is given as it is.
fn to_wire(file: &TranscriptFile, happening: &Event<'_>) -> TailEvent {
    let (event, offset, bytes) = match happening {
        Event::Created => (TailEventKind::Created, None, None),
        Event::Title { .. } => (TailEventKind::Title, None, None),
        Event::Replaced => (TailEventKind::Replaced, None, None),
        Event::Removed => (TailEventKind::Removed, None, None),
        Event::Archived { is_archived: true } => (TailEventKind::Archived, None, None),
        Event::Archived { is_archived: false } => (TailEventKind::Unarchived, None, None),
        Event::Opened => (TailEventKind::Opened, None, None),
        Event::Closed => (TailEventKind::Closed, None, None),
        Event::Trash { change: TrashChange::Trashed, .. } => (TailEventKind::Trashed, None, None),
        Event::Trash { change: TrashChange::Restored, .. } => (TailEventKind::Restored, None, None),
        Event::Trash { change: TrashChange::Purged, .. } => (TailEventKind::Purged, None, None),
        Event::Entry { offset, bytes } => (TailEventKind::Appended, Some(*offset), Some(*bytes)),
    };
    let entry = bytes.and_then(json_of);
    let line = bytes.filter(|_| entry.is_none()).map(|bytes| bytes.trim_ascii_end().into());
    TailEvent {
        event,
        session: file.session.clone(),
        agent_id: file.agent.clone(),
        path: file.path.as_path().into(),
        title: match happening {
            Event::Title { title } => Some((*title).to_owned()),
            _ => None,
        },
        offset,
        entry,
        line,
        trash_entry: match happening {
            Event::Trash { entry, .. } => Some(entry.entry.clone()),
            _ => None,
        },
        masked: 0,
    }
}

/// Returns the object of a line; `None` if the line has none, or one that is not UTF-8.
fn json_of(line: &[u8]) -> Option<Box<RawValue>> {
    let body = Entry::new(line).body()?.bytes().to_vec();
    RawValue::from_string(String::from_utf8(body).ok()?).ok()
}
