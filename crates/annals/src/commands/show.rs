//! `annals show`: prints a session.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use annals_api::to_wire::ToWire;
use annals_engine::{Conversation, Engine, Error, Meta, Snapshot, Subagent, TranscriptFile, open_regular};
use annals_proto::RawLine;
use annals_transcript::chain::{Chain, NodeIndex};
use annals_transcript::full_view::Step;
use annals_transcript::second_root::RootKind;
use annals_transcript::{Flag, Kind, Reader, model};
use unicode_width::UnicodeWidthStr;

use super::{choose, usage};
use crate::args::{Global, Show, View};
use crate::failure::{FAILED, Failure};
use crate::output::conversation::{AGENT, Detail, Printer};
use crate::output::{self, clean_lines};

pub(crate) fn run(engine: &Engine, args: &Show, global: &Global) -> Result<ExitCode, Failure> {
    let file = choose::transcript(engine, &args.session, global)?;
    if args.view != View::Full && (args.turn.is_some() || args.at.is_some()) {
        return Err(Failure::usage("only the full view has turns", "leave out `--turn`, `--at` or `--view`"));
    }
    if args.view != View::Full && args.subagents {
        return Err(Failure::usage(
            "only the full view has subagents",
            "leave out `--subagents` or `--view`",
        ));
    }
    if args.view == View::Raw {
        if global.json {
            raw_json(&file.path)?;
        } else {
            raw(&file.path)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let snapshot = engine.snapshot(file)?;
    let leaf = args.leaf.as_deref();
    if args.view == View::Full {
        return full(engine, &snapshot.conversation(leaf, args.pause.ms())?, args, global.json);
    }
    model(&snapshot, &snapshot.chain(leaf)?, global.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints everything that was recorded.
fn full(
    engine: &Engine,
    conversation: &Conversation<'_>,
    args: &Show,
    json: bool,
) -> Result<ExitCode, Failure> {
    if conversation.session().nodes().iter().all(|node| node.kind == Kind::Noise) {
        return Err(Failure::without_hint("this file has no entries".to_owned()));
    }
    let turns = conversation.turns().len();
    if args.turn.as_ref().is_some_and(|range| range.is_empty() || *range.start() > turns || *range.end() == 0)
    {
        return Err(Failure::without_hint(format!(
            "there is no such turn: the session has {}",
            output::count(turns, "turn")
        )));
    }
    let at = args.at.as_deref().map(|at| At::find(conversation, at)).transpose()?;
    let selected = match (&at, &args.turn) {
        (Some(at), _) => at.context(conversation),
        (None, Some(turns)) => StepFilter::Turns(turns.clone()),
        (None, None) => StepFilter::All,
    };
    let agents =
        if args.subagents { engine.agents(conversation.transcript().file())?.local } else { Vec::new() };
    let mut history = History {
        engine,
        args,
        json,
        agents_by_call: agents_by_call(&agents),
        agents,
        shown: HashSet::from([conversation.transcript().path().to_owned()]),
        depth: 0,
        failed: false,
        columns: output::prose_columns(),
        at,
    };
    let mut out = marked_stdout(args, json)?;
    let is_all = matches!(selected, StepFilter::All);
    if !json && is_all {
        let file = conversation.transcript().file();
        let row = engine.session_row(file).ok();
        let agent = file.agent.is_some().then(|| meta_of_agent(engine, file));
        let tokens = usage::of_transcript(engine, file);
        output::header::print(&mut out, row.as_ref(), agent.as_ref(), tokens, conversation)?;
    }
    history.print(&mut out, conversation, &selected)?;
    if is_all {
        history.print_rest(&mut out, conversation)?;
    }
    out.flush()?;
    // Notes are printed when the user has left the pager.
    drop(out);
    output::mask::note();
    if !json && is_all {
        super::repair::suggest(conversation.transcript().file(), conversation.transcript().lost_messages());
    }
    Ok(if history.failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Returns the metadata of an agent. Old versions of Claude Code wrote none: then, what the call says that started it.
fn meta_of_agent(engine: &Engine, agent: &TranscriptFile) -> Meta {
    let meta = Meta::of_transcript(&agent.path);
    if meta.agent_type.is_some() || meta.description.is_some() {
        return meta;
    }
    let agents = engine.agents(agent).map(|found| found.local).unwrap_or_default();
    agents.into_iter().find(|one| one.file.path == agent.path).map_or(meta, |one| one.meta)
}

/// Returns standard output, on which the words of `--mark` are marked.
#[cfg_attr(
    not(feature = "search"),
    expect(clippy::unnecessary_wraps, reason = "words of a query can be wrong")
)]
fn marked_stdout(args: &Show, json: bool) -> Result<Box<dyn Write>, Failure> {
    let out = output::stdout_for(json);
    #[cfg(feature = "search")]
    if let (Some(words), false) = (&args.mark, json) {
        return Ok(Box::new(output::words::MarkedWords::new(out, words)?));
    }
    #[cfg(not(feature = "search"))]
    let _ = args;
    Ok(out)
}

/// How many turns before and after that of a message are printed with it.
const CONTEXT: usize = 2;

/// How many steps before and after a message that belongs to no turn are printed with it.
const CONTEXT_STEPS: usize = 20;

/// Which part of a conversation is printed.
pub(super) enum StepFilter {
    All,
    Turns(RangeInclusive<usize>),
    /// Steps by their places in the full view.
    Steps(RangeInclusive<usize>),
}

impl StepFilter {
    /// Returns whether a step is printed that stands at a place in the full view.
    pub(super) fn includes(&self, conversation: &Conversation<'_>, place: usize, step: &Step) -> bool {
        match (self, step) {
            (StepFilter::All, _) => true,
            (StepFilter::Turns(turns), Step::Entry { node, .. }) => {
                conversation.turn_of(*node).is_some_and(|turn| turns.contains(&turn))
            }
            (StepFilter::Turns(_), _) => false,
            (StepFilter::Steps(places), _) => places.contains(&place),
        }
    }
}

/// The message that is opened.
struct At {
    /// Its place among the steps.
    place: usize,
    /// Where it is printed: at itself or, if it is a result, at its call.
    printed_with: NodeIndex,
    turn: Option<usize>,
    is_sidechain: bool,
}

impl At {
    fn find(conversation: &Conversation<'_>, beginning: &str) -> Result<Self, Failure> {
        let session = conversation.session();
        let id = conversation.transcript().entry(beginning)?;
        let found = conversation.steps().iter().enumerate().find_map(|(place, step)| match *step {
            Step::Entry { node, .. } if session.nodes()[node].id == Some(id) => Some((place, node)),
            _ => None,
        });
        let Some((place, node)) = found else {
            return Err(Failure::without_hint("this entry is not part of the conversation".to_owned()));
        };
        let call =
            conversation.calls().iter().find(|call| call.result.is_some_and(|(result, _)| result == node));
        Ok(Self {
            place,
            printed_with: call.map_or(node, |call| call.node),
            turn: conversation.turn_of(node),
            is_sidechain: session.nodes()[node].has(Flag::Sidechain),
        })
    }

    /// Returns what is printed around it.
    fn context(&self, conversation: &Conversation<'_>) -> StepFilter {
        if let Some(turn) = self.turn {
            return StepFilter::Turns(turn.saturating_sub(CONTEXT)..=turn + CONTEXT);
        }
        let last = conversation.steps().len() - 1;
        StepFilter::Steps(self.place.saturating_sub(CONTEXT_STEPS)..=(self.place + CONTEXT_STEPS).min(last))
    }
}

/// A session's history with its subagents, each of which is shown once.
struct History<'a> {
    engine: &'a Engine,
    args: &'a Show,
    json: bool,
    agents: Vec<Subagent>,
    /// The indices in `agents` of those that a call started, by the id of the call.
    agents_by_call: HashMap<String, Vec<usize>>,
    shown: HashSet<PathBuf>,
    depth: usize,
    failed: bool,
    columns: Option<usize>,
    /// The message that `--at` names.
    at: Option<At>,
}

/// How deep subagents may be nested to be shown in place. Claude Code nests a few levels; a loop of damaged links never ends.
const MAX_DEPTH: usize = 32;

impl History<'_> {
    fn print(
        &mut self,
        out: &mut dyn Write,
        conversation: &Conversation<'_>,
        selected: &StepFilter,
    ) -> Result<(), Failure> {
        let to_wire = ToWire::of(conversation.transcript());
        // Below a call, only the turns of the session itself have numbers.
        let to_wire = if self.depth == 0 { to_wire } else { to_wire.without_turns() };
        let detail = Detail {
            subagents: self.args.subagents || self.at.as_ref().is_some_and(|at| at.is_sidechain),
            thinking: !self.args.no_thinking,
            expand: self.args.expand,
            tools: self.args.tools,
            ids: self.args.ids,
            columns: self.columns.map(|columns| columns.saturating_sub(self.depth * AGENT.width())),
        };
        let mut printer = Printer::new(out, conversation, detail);
        let at = self.at.as_ref().filter(|_| self.depth == 0).map(|at| at.printed_with);
        // The copy may have the message that is opened.
        let is_whole = self.json || self.args.expand || at.is_some();
        let once = if is_whole { None } else { Some(conversation.steps_once()) };
        let steps = once.as_ref().map_or(conversation.steps(), |steps| &steps[..]);
        let only_before_copy = first_only_before_copy(conversation, steps);
        let steps = steps.iter().enumerate();
        for (place, step) in steps.filter(|(place, step)| selected.includes(conversation, *place, step)) {
            if only_before_copy == Some(place) {
                printer.only_before_the_copy()?;
            }
            if self.json {
                printer.json(&to_wire.item(conversation, step)?)?;
            } else if at.is_some_and(|at| matches!(step, Step::Entry { node, .. } if *node == at)) {
                printer.opened_step(step)?;
            } else {
                printer.step(step)?;
            }
            if let Step::Entry { node, .. } = step
                && !self.agents.is_empty()
            {
                self.print_started_by(&mut printer, &to_wire.calls(*node))?;
            }
        }
        // In JSON, the entries that queued these prompts are marked.
        if !self.json && matches!(selected, StepFilter::All) {
            printer.queued()?;
        }
        printer.finish()
    }

    /// Prints the subagents that calls started.
    fn print_started_by(&mut self, printer: &mut Printer<'_>, calls: &[String]) -> Result<(), Failure> {
        let mut places: Vec<usize> =
            calls.iter().filter_map(|call| self.agents_by_call.get(call)).flatten().copied().collect();
        places.sort_unstable();
        places.dedup();
        let agents: Vec<Subagent> = places.into_iter().map(|place| self.agents[place].clone()).collect();
        agents.iter().try_for_each(|agent| self.print_agent(printer, agent))
    }

    fn print_agent(&mut self, printer: &mut Printer<'_>, agent: &Subagent) -> Result<(), Failure> {
        if !self.shown.insert(agent.file.path.clone()) {
            return Ok(());
        }
        let snapshot = match self.engine.snapshot(agent.file.clone()) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                output::complain(&error.to_string());
                self.failed = true;
                return Ok(());
            }
        };
        let conversation = Conversation::of(&snapshot)?;
        if self.depth == MAX_DEPTH {
            output::complain("subagents are nested too deep to be shown in place");
            self.failed = true;
            return Ok(());
        }
        self.depth += 1;
        let outcome = self.print_conversation(printer, agent, &conversation);
        self.depth -= 1;
        outcome
    }

    fn print_conversation(
        &mut self,
        printer: &mut Printer<'_>,
        agent: &Subagent,
        conversation: &Conversation<'_>,
    ) -> Result<(), Failure> {
        if self.json {
            return self.print(printer.out(), conversation, &StepFilter::All);
        }
        let id = agent.file.agent.as_deref().unwrap_or("?");
        let meta = [agent.meta.agent_type.as_deref(), agent.meta.description.as_deref()];
        let description = meta.into_iter().flatten().collect::<Vec<_>>().join(": ");
        let worktree = agent.meta.worktree.as_ref().map(|path| format!("in {path}")).unwrap_or_default();
        let unlinked = if agent.call.is_some() { "" } else { "(no call is known to have started it)" };
        let title =
            ["agent", id, &description, &worktree, unlinked].into_iter().filter(|part| !part.is_empty());
        let title = title.collect::<Vec<_>>().join(" ");
        printer.subagent(&title, |out| self.print(out, conversation, &StepFilter::All))
    }

    /// Prints the subagents that were not shown in place, because no call is known to have started them. Below an agent there
    /// are none of these: the others belong to its session.
    fn print_rest(&mut self, out: &mut dyn Write, conversation: &Conversation<'_>) -> Result<(), Failure> {
        if conversation.transcript().file().agent.is_some() {
            return Ok(());
        }
        let detail = Detail {
            subagents: true,
            thinking: false,
            expand: false,
            tools: self.args.tools,
            ids: false,
            columns: None,
        };
        let mut printer = Printer::new(out, conversation, detail);
        self.agents.clone().iter().try_for_each(|agent| self.print_agent(&mut printer, agent))
    }
}

/// Returns the place of the first message that stands before a copy of the conversation and is not in it, if what was copied is
/// left out.
fn first_only_before_copy(conversation: &Conversation<'_>, steps: &[Step]) -> Option<usize> {
    if steps.len() == conversation.steps().len() {
        return None;
    }
    let session = conversation.session();
    let copy =
        steps.iter().position(|step| matches!(step, Step::Root { kind: RootKind::CopyOfFirstPrompt, .. }))?;
    steps[..copy].iter().position(|step| match *step {
        Step::Entry { node, .. } => {
            let node = &session.nodes()[node];
            node.kind.is_message() && !session.has_only_results(node)
        }
        _ => false,
    })
}

/// Returns the indices of the subagents that each call started.
fn agents_by_call(agents: &[Subagent]) -> HashMap<String, Vec<usize>> {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, agent) in agents.iter().enumerate() {
        if let Some(call) = &agent.call {
            places.entry(call.clone()).or_default().push(place);
        }
    }
    places
}

/// Prints what Claude Code would send on resume.
fn model(snapshot: &Snapshot, chain: &Chain<'_>, json: bool) -> Result<(), Failure> {
    if let Some(obstacle) = chain.obstacle() {
        return Err(Failure::not_resumable(&obstacle.to_string()));
    }
    let to_wire = ToWire::of(snapshot);
    let columns = output::prose_columns();
    let mut out = output::stdout_for(json);
    for message in model::messages(chain).iter() {
        let message = to_wire.message(message)?;
        if json {
            output::json_line(&mut out, &message)?;
        } else {
            output::messages::print(&mut out, &message, columns)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Prints the file as it is. On a terminal, control characters are replaced: transcript text may come from anyone.
fn raw(path: &Path) -> Result<(), Failure> {
    let mut file = open_regular(path).map_err(|source| Error::read(path, source))?;
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return copy(&mut file, path, &mut stdout.lock());
    }
    let mut reader = Reader::new(file);
    let mut out = output::stdout();
    while let Some(entry) = reader.read().map_err(|source| Error::read(path, source))? {
        out.write_all(clean_lines(&String::from_utf8_lossy(entry.bytes())).as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// Prints each line of the file as an object.
fn raw_json(path: &Path) -> Result<(), Failure> {
    let file = open_regular(path).map_err(|source| Error::read(path, source))?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    let mut out = output::json_stdout();
    let mut bytes = Vec::new();
    let mut offset = 0;
    for line in 1.. {
        bytes.clear();
        let length = file.read_until(b'\n', &mut bytes).map_err(|source| Error::read(path, source))?;
        if length == 0 {
            break;
        }
        output::json_line(
            &mut out,
            &RawLine::new(line, offset, bytes.strip_suffix(b"\n").unwrap_or(&bytes)),
        )?;
        offset += length as u64;
    }
    out.flush()?;
    Ok(())
}

/// Copies a file. Errors of reading name its path, so that they differ from those of writing.
fn copy(from: &mut impl Read, path: &Path, to: &mut impl Write) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(to.flush()?),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::read(path, error).into()),
        }
    }
}
