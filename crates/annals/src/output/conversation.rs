//! A conversation for people: prompts and replies in full, calls on one line each, everything else folded or named.

mod calls;
mod texts;

use std::io::{self, Write};

use annals_engine::{Conversation, ReplacedResult};
use annals_transcript::chain::NodeIndex;
use annals_transcript::content::{Block, Content};
use annals_transcript::entry::view::{CompactBoundary, ContentReplacement, QueueOperation};
use annals_transcript::full_view::{Cause, Step};
use annals_transcript::item::{Item, Notice, Part, Visibility};
use annals_transcript::prompt::{Input, InputKind, in_text};
use annals_transcript::second_root::RootKind;
use annals_transcript::session::{Id, IdTexts, Node};
use annals_transcript::turn::Turn;
use annals_transcript::{Entry, Flag, Kind, tool};
use unicode_width::UnicodeWidthStr;

pub(super) use texts::{is_like_path, placeholder};
pub(crate) use texts::{one_line, subject_line};

use super::{
    BOLD, CYAN, DIM, GREEN, RED, YELLOW, clean, clean_lines, count, cut, duration, markdown, number, size,
    time_of_ms, without_escapes, wrap,
};
use crate::failure::Failure;
use texts::{counted, input_name, lines_named, media_line};

/// How much of a conversation is printed.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Detail {
    /// Whether subagents' conversations are printed where they were started.
    pub(crate) subagents: bool,
    /// Whether what is folded is printed in full.
    pub(crate) expand: bool,
    /// Whether reasoning is mentioned.
    pub(crate) thinking: bool,
    /// How calls are printed.
    pub(crate) tools: Tools,
    /// Whether the beginning of the uuid stands before each entry of the conversation.
    pub(crate) ids: bool,
    /// The width to which prose is wrapped; `None` if the output is not a terminal.
    pub(crate) columns: Option<usize>,
}

/// How calls are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tools {
    /// With arguments, results and diffs
    Full,
    /// A line each
    Short,
    /// Not at all
    None,
}

/// The prefix of the lines of a subagent.
pub(crate) const AGENT: &str = "  │ ";
/// The longest subject of a call on one line.
pub(super) const SUBJECT: usize = 100;
/// How many replaced results of one record are printed, unless everything is expanded.
const REPLACED: usize = 10;
/// The narrowest that prose is wrapped to.
pub(super) const NARROWEST: usize = 20;

/// Prints the steps of a conversation.
pub(crate) struct Printer<'a> {
    out: Prefixed<'a>,
    conversation: &'a Conversation<'a>,
    ids: IdTexts<'a>,
    detail: Detail,
    /// The names of context since the last printed line; they are printed together.
    context: Vec<String>,
    in_branch: Option<Cause>,
    /// The message that was asked for.
    opened: Option<NodeIndex>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, conversation: &'a Conversation<'a>, detail: Detail) -> Self {
        let out = Prefixed { out, prefix: "", starts_line: true };
        let ids = conversation.session().id_texts();
        Self { out, conversation, ids, detail, context: Vec::new(), in_branch: None, opened: None }
    }

    pub(crate) fn step(&mut self, step: &Step) -> Result<(), Failure> {
        match *step {
            Step::Entry { node, live } => {
                let hidden = self.in_branch == Some(Cause::Subagent) && !self.detail.subagents;
                if live && self.in_branch.is_some() && self.node(node).kind.is_message() {
                    self.flush_context()?;
                    self.in_branch = None;
                    self.out.prefix = "";
                    if !hidden {
                        self.rule(DIM, "back to the conversation")?;
                    }
                } else if hidden {
                    return Ok(());
                }
                self.entry(node)
            }
            Step::Branch { cause, entries, last, .. } => {
                self.flush_context()?;
                self.in_branch = Some(cause);
                let entries = super::entries(entries as usize);
                self.out.prefix = "";
                match cause {
                    Cause::LeftBehind => {
                        let leaf =
                            self.node(last as usize).id.map(|id| format!(" (--leaf {})", self.short_id(id)));
                        self.rule(YELLOW, &format!("left behind: {entries}{}", leaf.unwrap_or_default()))?;
                    }
                    Cause::Subagent => self.rule(CYAN, &format!("subagent: {entries}"))?,
                }
                self.out.prefix = "┊ ";
                Ok(())
            }
            Step::Gap { missing } => {
                let missing = self.short_id(missing);
                self.rule(RED, &format!("the parent of the next entry is missing ({missing}…)"))
            }
            Step::Root { kind, live } => self.root(kind, live),
        }
    }

    /// Prints that the next entries are the ones that a copy of the conversation, which follows, does not have.
    pub(crate) fn only_before_the_copy(&mut self) -> Result<(), Failure> {
        self.rule(YELLOW, "only here; the copy of the conversation below does not have this")
    }

    /// Prints the message that was asked for: points at it, and shows what is folded elsewhere.
    pub(crate) fn opened_step(&mut self, step: &Step) -> Result<(), Failure> {
        let usual = self.detail;
        self.detail = Detail {
            expand: true,
            thinking: true,
            tools: if usual.tools == Tools::None { Tools::None } else { Tools::Full },
            ..usual
        };
        if let Step::Entry { node, .. } = *step {
            self.opened = Some(node);
        }
        let printed = self.step(step);
        self.detail = usual;
        printed
    }

    /// Returns the turn that begins with an entry.
    fn turn_started_by(&self, node: NodeIndex) -> Option<&'a Turn> {
        let conversation = self.conversation;
        let turn = conversation.turns().get(conversation.turn_of(node)?.checked_sub(1)?)?;
        (turn.node == node).then_some(turn)
    }

    /// Prints why the next entry has no parent. Boundaries print themselves, and in a file whose prompts all lack parents a
    /// note on each would only be noise.
    fn root(&mut self, kind: RootKind, live: bool) -> Result<(), Failure> {
        if live {
            self.flush_context()?;
            self.in_branch = None;
            self.out.prefix = "";
        }
        match kind {
            RootKind::ContextCleared => self.rule(YELLOW, "context cleared"),
            RootKind::RewindToStart => self.rule(YELLOW, "rewound to the start"),
            RootKind::CopyOfFirstPrompt if self.detail.expand => {
                self.rule(YELLOW, "copied again from the first prompt on")
            }
            RootKind::CopyOfFirstPrompt => {
                self.rule(YELLOW, "copied again from the first prompt on; what was copied is shown once")
            }
            RootKind::LostLink => self.rule(RED, "the next entry has lost its link to what came before"),
            RootKind::Boundary | RootKind::ParentlessPrompts => Ok(()),
        }
    }

    /// Returns where the conversation is printed.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        &mut *self.out.out
    }

    /// Prints a step as JSON.
    pub(crate) fn json(&mut self, item: &annals_proto::HistoryItem) -> Result<(), Failure> {
        super::json_line(self.out.out, item)
    }

    /// Prints the conversation of a subagent, indented below the call that started it.
    pub(crate) fn subagent(
        &mut self,
        title: &str,
        print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.flush_context()?;
        let mut inner = Prefixed { out: &mut self.out, prefix: AGENT, starts_line: true };
        writeln!(inner, "{CYAN}{}{CYAN:#}", clean(title))?;
        print(&mut inner)
    }

    /// Prints the prompts that are still in the queue after the last line.
    pub(crate) fn queued(&mut self) -> Result<(), Failure> {
        let queued = self.conversation.queued()?;
        if queued.is_empty() {
            return Ok(());
        }
        self.flush_context()?;
        self.out.prefix = "";
        self.rule(YELLOW, &format!("queued, not yet sent: {}", count(queued.len(), "message")))?;
        for &index in queued {
            let body = self.conversation.transcript().body(self.node(index))?;
            if let Some(operation) = Entry::new(&body).view::<QueueOperation>() {
                self.queued_prompt(operation.content())?;
            }
        }
        Ok(())
    }

    fn queued_prompt(&mut self, content: Content<'_>) -> Result<(), Failure> {
        for block in content.blocks() {
            match block {
                Block::Text(text) => {
                    in_text(&text.text()).iter().try_for_each(|input| self.input(false, input))?;
                }
                Block::Image(media) => self.line(DIM, &media_line("image", &media))?,
                Block::Document(media) => self.line(DIM, &media_line("document", &media))?,
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush_context()
    }

    /// Prints the entries from a place in the file on, as they were appended. A call from before that they answer is printed
    /// again, with how it ended.
    pub(crate) fn appended(&mut self, first: NodeIndex) -> Result<(), Failure> {
        let session = self.conversation.session();
        for (index, node) in session.nodes().iter().enumerate().skip(first) {
            for block in session.blocks(node) {
                let call = block.tool.and_then(|id| self.conversation.call(id)).copied();
                let Some(call) = call.filter(|call| call.node < first) else { continue };
                if call.result.is_some_and(|(result, span)| result == index && span == *block) {
                    self.call_alone(&call)?;
                }
            }
            let body = self.conversation.transcript().body(node)?;
            self.content(node, &Entry::new(&body))?;
        }
        Ok(())
    }

    /// Prints a call without the entry that makes it.
    pub(crate) fn call_alone(&mut self, call: &tool::Call) -> Result<(), Failure> {
        let bytes = self.conversation.transcript().span(call.block.offset, call.block.length)?;
        tool::read(&bytes).map_or(Ok(()), |read| self.call(&read, Some(&call.block)))
    }

    fn entry(&mut self, index: NodeIndex) -> Result<(), Failure> {
        let node = self.node(index);
        if let Some(turn) = self.turn_started_by(index) {
            self.turn(turn)?;
        }
        if self.opened == Some(index) {
            self.rule(GREEN, "here")?;
        }
        if let Some(problem) = node.problem {
            let line = format!("line {}: {problem}", node.at.line);
            self.rule(RED, &line)?;
        }
        // Results are printed with their calls.
        let is_printed =
            node.has(Flag::CompactSummary) || !self.conversation.session().has_only_results(node);
        if is_printed {
            let body = self.conversation.transcript().body(node)?;
            let entry = Entry::new(&body);
            if self.detail.ids && is_named(node, &entry) {
                self.id(node)?;
            }
            self.content(node, &entry)?;
        }
        if node.kind.is_message() { self.other_lines(index) } else { Ok(()) }
    }

    /// Prints the beginning of the uuid of an entry, which `fork --up-to` and `tombstone` take.
    fn id(&mut self, node: &Node) -> Result<(), Failure> {
        if let Some(id) = node.id {
            self.flush_context()?;
            let id = self.short_id(id);
            writeln!(self.out, "{DIM}[{}]{DIM:#}", clean(&id))?;
        }
        Ok(())
    }

    fn content(&mut self, node: &Node, entry: &Entry<'_>) -> Result<(), Failure> {
        let item = Item::of(entry);
        for part in &item.parts {
            match item.visibility_of(part) {
                Visibility::Conversation | Visibility::Folded => self.part(node, entry, part)?,
                Visibility::Context => self.context(part)?,
                Visibility::Hidden => {}
            }
        }
        Ok(())
    }

    fn part(&mut self, node: &Node, entry: &Entry<'_>, part: &Part<'_>) -> Result<(), Failure> {
        match part {
            Part::Input(input) => self.input(node.has(Flag::Sidechain), input),
            Part::Text(text) => self.prose(BOLD, "● ", text.text().trim()),
            Part::RequestError(text) => self.prose(RED, "✗ ", text.text().trim()),
            Part::Thinking(thinking) => self.thinking(&thinking.thinking().unwrap_or_default()),
            Part::RedactedThinking if self.detail.thinking => self.line(DIM, "∴ thinking (encrypted)"),
            Part::Call(call) => {
                let offset = node.at.offset + entry.offset_of(Block::ToolUse(*call).value());
                let session = self.conversation.session();
                self.call(call, session.block_at(node, offset))
            }
            Part::ServerCall(call) => self.server_call(call),
            Part::ServerResult(result) => self.server_result(result),
            Part::Image(media) => self.line(DIM, &media_line("image", media)),
            Part::Document(media) => self.line(DIM, &media_line("document", media)),
            Part::Notice(notice) => self.notice(notice),
            Part::Other(block) => placeholder(block).map_or(Ok(()), |line| self.line(DIM, &line)),
            // Results are printed with their calls.
            _ => Ok(()),
        }
    }

    /// Names context together with other context, or prints it in full on request.
    fn context(&mut self, part: &Part<'_>) -> Result<(), Failure> {
        match part {
            Part::Input(input) if self.detail.expand => self.folded(input_name(input), input.text.trim()),
            Part::Input(input) => {
                self.name_context(input_name(input));
                Ok(())
            }
            Part::Context(context) if self.detail.expand => {
                self.line(DIM, &format!("[{}]", context.name))?;
                self.long_text(&context.text())
            }
            Part::Context(context) => {
                self.name_context(&context.name);
                Ok(())
            }
            Part::Image(media) if self.detail.expand => self.line(DIM, &media_line("image", media)),
            Part::Document(media) if self.detail.expand => self.line(DIM, &media_line("document", media)),
            Part::Image(_) => {
                self.name_context("image");
                Ok(())
            }
            Part::Document(_) => {
                self.name_context("document");
                Ok(())
            }
            Part::Notice(notice) if self.detail.expand => self.prose(DIM, "· ", &notice.text()),
            Part::Notice(_) => {
                self.name_context("notice");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn thinking(&mut self, text: &str) -> Result<(), Failure> {
        if !self.detail.thinking {
            return Ok(());
        }
        let words = text.split_whitespace().count();
        if self.detail.expand && words > 0 {
            return self.prose(DIM, "∴ ", text.trim());
        }
        let words = if words == 0 { "not kept".to_owned() } else { count(words, "word") };
        self.line(DIM, &format!("∴ thinking ({words})"))
    }

    /// Prints the numbers of the other lines with the uuid of an entry, and the content of those that differ.
    fn other_lines(&mut self, index: NodeIndex) -> Result<(), Failure> {
        let conversation = self.conversation;
        let lines: Vec<u64> =
            conversation.duplicates().others(index).map(|line| self.node(line).at.line).collect();
        if lines.is_empty() {
            return Ok(());
        }
        self.line(DIM, &format!("(the same entry is also on {})", lines_named(&lines)))?;
        for line in conversation.differing_lines(index)? {
            let node = self.node(line);
            let body = conversation.transcript().body(node)?;
            let entry = Entry::new(&body);
            let title = format!("[superseded, line {}]", node.at.line);
            if self.detail.expand {
                self.line(DIM, &title)?;
                self.content(node, &entry)?;
            } else {
                self.line(DIM, &format!("{title} {}", one_line(&text_of(&entry), 60)))?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, turn: &Turn) -> Result<(), Failure> {
        self.flush_context()?;
        let time = turn.started_at.map_or_else(String::new, |ms| format!("  {}", time_of_ms(ms)));
        let cause = match turn.started_by.name() {
            "prompt" => String::new(),
            other => format!("  {}", other.replace('_', " ")),
        };
        let pause = turn
            .resumed_after_ms
            .map_or_else(String::new, |ms| format!("  after {}", duration(ms.unsigned_abs())));
        writeln!(self.out, "\n{BOLD}── {}{time}{cause}{pause}{BOLD:#}", turn.number)?;
        Ok(())
    }

    fn input(&mut self, to_agent: bool, input: &Input<'_>) -> Result<(), Failure> {
        let text = input.text.trim();
        match input.kind {
            InputKind::Prompt if to_agent => self.prose(DIM, "to the agent ❯ ", text),
            InputKind::Prompt => self.prose(CYAN, "❯ ", text),
            InputKind::Queued => self.prose(CYAN, "❯ (queued) ", text),
            InputKind::Command => {
                let command = input.command.as_deref().unwrap_or("/?");
                self.prose(CYAN, "❯ ", format!("{command} {text}").trim())
            }
            InputKind::Bash => self.output(CYAN, "! ", text),
            InputKind::Interrupt => self.line(YELLOW, "interrupted by the user"),
            InputKind::Output if self.detail.expand || text.lines().count() <= 1 => {
                self.output(DIM, "  ", text)
            }
            _ if text.is_empty() => Ok(()),
            _ => self.folded(input_name(input), text),
        }
    }

    fn notice(&mut self, notice: &Notice<'_>) -> Result<(), Failure> {
        match notice {
            Notice::Compaction(boundary) => self.compaction(boundary),
            Notice::Retry(_) => self.line(RED, &notice.text()),
            Notice::Hook { name, text, failed: true } => {
                self.line(RED, &format!("✗ hook {name}: {}", one_line(text, SUBJECT)))
            }
            Notice::Hook { name, text, failed: false } => {
                self.line(DIM, &format!("hook {name}: {}", one_line(text, SUBJECT)))
            }
            Notice::Replaced(record) => self.replaced(&notice.text(), record),
            Notice::Text(text) => self.prose(DIM, "· ", text.trim()),
            _ => Ok(()),
        }
    }

    /// Prints which tool results the model no longer sees, how large they are, and where the originals lie.
    fn replaced(&mut self, title: &str, record: &ContentReplacement<'_>) -> Result<(), Failure> {
        self.line(YELLOW, title)?;
        let results = ReplacedResult::of(self.conversation, record)?;
        let most = if self.detail.expand { usize::MAX } else { REPLACED };
        for result in results.iter().take(most) {
            // Not cut to the width: the path is at the end of the line.
            let line = self.replaced_line(result);
            self.output(DIM, "    ", &line)?;
        }
        let all = record.replacements().count();
        let shown = results.len().min(most);
        if shown < all {
            self.line(DIM, &format!("  … {} more", number((all - shown) as u64)))
        } else {
            Ok(())
        }
    }

    fn replaced_line(&self, result: &ReplacedResult<'_>) -> String {
        let id = result.replacement.tool_use_id();
        let name = [result.tool.as_deref(), id.as_deref()];
        let name = name.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let name =
            if name.is_empty() { "a result without an id".to_owned() } else { one_line(&name, SUBJECT) };
        let line = result
            .original
            .zip(result.original_bytes)
            .map(|((index, _), bytes)| format!("{} on line {}", size(bytes), self.node(index).at.line));
        let file =
            result.file.as_ref().map(|(path, bytes)| format!("{} in {}", size(*bytes), path.display()));
        let places: Vec<_> = [line, file].into_iter().flatten().collect();
        if places.is_empty() && !self.conversation.transcript().is_whole() {
            return name;
        }
        if places.is_empty() {
            return format!("{name}: the original is not in the session");
        }
        format!("{name}: {}", places.join(", "))
    }

    fn compaction(&mut self, boundary: &CompactBoundary<'_>) -> Result<(), Failure> {
        let trigger = boundary.trigger().unwrap_or("?".into());
        let tokens = match (boundary.pre_tokens(), boundary.post_tokens()) {
            (Some(before), Some(after)) => format!(": {} → {} tokens", number(before), number(after)),
            (Some(before), None) => format!(": {} tokens before", number(before)),
            (None, _) => String::new(),
        };
        let kept = boundary.preserved_messages().map_or(0, |messages| messages.ids().len());
        let kept = if kept == 0 { String::new() } else { format!(", {} kept", count(kept, "message")) };
        self.rule(YELLOW, &format!("compacted ({trigger}){tokens}{kept}"))
    }

    fn name_context(&mut self, name: &str) {
        self.context.push(one_line(name, SUBJECT));
    }

    fn flush_context(&mut self) -> Result<(), Failure> {
        let names = std::mem::take(&mut self.context);
        if names.is_empty() {
            return Ok(());
        }
        let names = format!("context: {}", counted(&names).join(", "));
        let rows = wrap::rows(&names, self.room_beside(2).unwrap_or(usize::MAX));
        for (index, row) in rows.into_iter().enumerate() {
            let mark = if index == 0 { "· " } else { "  " };
            writeln!(self.out, "{DIM}{mark}{}{DIM:#}", &names[row])?;
        }
        Ok(())
    }

    /// Prints prose after a mark, with the further lines indented; on a terminal, it is wrapped to the width.
    fn prose(&mut self, style: anstyle::Style, mark: &str, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let text = without_escapes(text);
        // The first line may begin with a mark that is longer than the blanks before the others.
        let columns = self.room_beside(mark.width().max(2));
        let lines = markdown::lines(&clean_lines(&text), columns);
        self.behind(style, mark, lines.iter().map(String::as_str))
    }

    /// Returns how many columns of the terminal are left beside `taken` others.
    fn room_beside(&self, taken: usize) -> Option<usize> {
        let taken = taken + self.out.prefix.width();
        self.detail.columns.map(|columns| columns.saturating_sub(taken).max(NARROWEST))
    }

    /// Prints output of a program after a mark, line by line as it is.
    fn output(&mut self, style: anstyle::Style, mark: &str, text: &str) -> Result<(), Failure> {
        let text = without_escapes(text);
        self.behind(style, mark, clean_lines(&text).lines())
    }

    fn behind<'l>(
        &mut self,
        style: anstyle::Style,
        mark: &str,
        lines: impl Iterator<Item = &'l str>,
    ) -> Result<(), Failure> {
        self.flush_context()?;
        for (index, line) in lines.enumerate() {
            match (index, line) {
                (0, _) => writeln!(self.out, "{style}{mark}{style:#}{line}")?,
                (_, "") => writeln!(self.out)?,
                _ => writeln!(self.out, "  {line}")?,
            }
        }
        Ok(())
    }

    /// Prints all of a text that may have very long lines; on a terminal, they are wrapped to its width.
    fn long_text(&mut self, text: &str) -> Result<(), Failure> {
        const INDENT: usize = 6;
        let room = self.room_beside(INDENT).unwrap_or(usize::MAX);
        let text = clean_lines(&without_escapes(text)).into_owned();
        for line in text.trim_end().lines() {
            for row in wrap::rows(line, room) {
                writeln!(self.out, "{:INDENT$}{DIM}{}{DIM:#}", "", &line[row])?;
            }
        }
        Ok(())
    }

    fn folded(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        if self.detail.expand {
            self.line(DIM, &format!("[{name}]"))?;
            return self.prose(DIM, "  ", text);
        }
        let lines = count(text.lines().count(), "line");
        self.line(DIM, &format!("[{name}, {lines}] {}", one_line(text, 60)))
    }

    fn line(&mut self, style: anstyle::Style, text: &str) -> Result<(), Failure> {
        self.flush_context()?;
        let text = clean(text);
        let text = self.room_beside(2).map_or_else(|| text.to_string(), |room| cut(&text, room));
        writeln!(self.out, "  {style}{text}{style:#}")?;
        Ok(())
    }

    fn rule(&mut self, style: anstyle::Style, text: &str) -> Result<(), Failure> {
        self.flush_context()?;
        writeln!(self.out, "{style}┄┄ {} ┄┄{style:#}", clean(text))?;
        Ok(())
    }

    /// Returns the beginning of an id.
    fn short_id(&self, id: Id) -> String {
        self.ids.get(id).chars().take(8).collect()
    }

    fn node(&self, index: NodeIndex) -> &'a Node {
        &self.conversation.session().nodes()[index]
    }
}

/// Returns whether `--ids` names an entry: one of which a part is printed. Tool results are printed with their calls.
fn is_named(node: &Node, entry: &Entry<'_>) -> bool {
    let item = Item::of(entry);
    let mut besides_results = item.parts.iter().filter(|part| !matches!(part, Part::Result(_)));
    node.kind.is_message() && besides_results.any(|part| item.visibility_of(part) <= Visibility::Folded)
}

/// Writes a prefix before every line.
struct Prefixed<'a> {
    out: &'a mut dyn Write,
    prefix: &'static str,
    starts_line: bool,
}

impl Write for Prefixed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if std::mem::replace(&mut self.starts_line, line.ends_with(b"\n")) {
                self.out.write_all(self.prefix.as_bytes())?;
            }
            self.out.write_all(line)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the text of an entry.
fn text_of(entry: &Entry<'_>) -> String {
    let content = match entry.kind() {
        Kind::System => entry.body().and_then(|body| body.get("content")),
        _ => entry.head().content,
    };
    Content::new(content).text().into_owned()
}
