//! A call of a tool as a card: what it is about and what came of it in one line, then its arguments and its result.
//!
//! A tool that has no card of its own shows its arguments as names and values, and its result as text.

use std::borrow::Cow;
use std::cell::OnceCell;

use annals_proto::{ViewFact, ViewFactKind, ViewInline, ViewMark, ViewNode};
use annals_transcript::content::{Block, ToolResult, ToolUse};
use annals_transcript::entry::view::SpilledOutput;
use annals_transcript::json::Value;
use annals_transcript::tool;

use crate::language::Language;
use crate::prose::prose_for;
use crate::row::{OpenStored, ReadOutput, StoredText, WholeOutput};
use crate::{Keep, Target, diff, inline, json, media, note, one_line, patch, plain, visible};

/// The longest title.
const LONGEST_TITLE: usize = 160;
/// More arguments are not listed.
const MOST_ARGUMENTS: usize = 100;
/// Longer arguments are shown below the others.
const LONG_ARGUMENT: usize = 120;
/// How much of a result is read to find the file with its output, which the first lines name.
const LONGEST_NOTICE: usize = 8192;
/// How much of it is read to know whether it may name one.
const SHORTEST_NOTICE: usize = 64;
/// The part of a row with the first image of a result; parts 0 and 1 are arguments and result.
const FIRST_IMAGE: usize = 2;

/// A call with its result, as they stand in the transcript.
#[derive(Clone, Debug)]
pub struct CallParts<'a> {
    /// The call.
    pub call: ToolUse<'a>,
    /// Its result.
    pub result: Option<ToolResult<'a>>,
    /// What the tool returned besides (`toolUseResult`), if it is an object.
    pub output: Option<Value<'a>>,
    /// The working directory: paths below it are shown without it.
    pub cwd: Option<&'a str>,
    /// What it is rendered for.
    pub target: Target,
    /// The change that it makes, which both its card and its arguments need.
    diff: OnceCell<Option<ViewNode>>,
    /// What a command printed, which both need, too.
    printed: OnceCell<Option<Printed<'a>>>,
    /// The text of the result, which the card may count the lines of.
    text: OnceCell<Cow<'a, str>>,
}

/// Standard output and standard error of a command, without those that are blank.
type Printed<'a> = [Option<Cow<'a, str>>; 2];

/// Returns how many of something there are, in words.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What the folded card of a call says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// The name of the tool.
    pub name: String,
    /// What the call is about.
    pub title: String,
    /// The same without English words, if it has any: for viewers.
    pub subject: Option<String>,
    /// How many lines of a command follow the one of the subject.
    pub more_lines: Option<usize>,
    /// What came of it.
    pub facts: Vec<Fact>,
    /// Lines that an edit added and removed; none if it failed.
    pub changes: Option<(usize, usize)>,
    /// The file that it reads or changes.
    pub file: Option<String>,
    /// The subagent that it started.
    pub agent: Option<String>,
}

/// Something that came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A kind that viewers have words for, and how many there are.
    Known(ViewFactKind, Option<u64>),
    /// The first line of an error.
    Error(String),
}

impl Fact {
    fn count(kind: ViewFactKind, count: u64) -> Self {
        Self::Known(kind, Some(count))
    }

    /// Returns it in words.
    pub fn words(&self) -> String {
        let Self::Known(kind, count) = self else {
            let Self::Error(line) = self else { return String::new() };
            return line.clone();
        };
        let count = count.unwrap_or_default();
        match kind {
            ViewFactKind::Lines => counted(count, "line"),
            ViewFactKind::Files => counted(count, "file"),
            ViewFactKind::ToolCalls => counted(count, "tool call"),
            ViewFactKind::Tokens => format!("{} tokens", thousands(count)),
            ViewFactKind::Bytes => format!("{} bytes", thousands(count)),
            ViewFactKind::Status => count.to_string(),
            ViewFactKind::Exit => format!("exit {count}"),
            ViewFactKind::NoOutput => "no output".to_owned(),
            ViewFactKind::Background => "in the background".to_owned(),
            ViewFactKind::NewFile => "new file".to_owned(),
            ViewFactKind::Replaced => "replaced".to_owned(),
            other => other.to_string(),
        }
    }

    /// Returns it for a viewer that has words of its own.
    pub fn view(&self) -> ViewFact {
        match self {
            Self::Known(kind, count) => ViewFact { kind: *kind, count: *count },
            Self::Error(_) => ViewFact { kind: ViewFactKind::Text, count: None },
        }
    }
}

impl<'a> CallParts<'a> {
    /// Joins a call and its result.
    pub fn new(
        call: ToolUse<'a>,
        result: Option<ToolResult<'a>>,
        output: Option<Value<'a>>,
        cwd: Option<&'a str>,
        target: Target,
    ) -> Self {
        Self {
            call,
            result,
            output,
            cwd,
            target,
            diff: OnceCell::new(),
            printed: OnceCell::new(),
            text: OnceCell::new(),
        }
    }

    /// Returns the folded card.
    pub fn card(&self) -> Card {
        let name = self.name();
        let (subject, more_lines) = self.subject(&name).unzip();
        let more_lines = more_lines.flatten();
        Card {
            subject: subject.map(|subject| visible(&one_line(&subject, LONGEST_TITLE)).into_owned()),
            more_lines,
            title: visible(&one_line(&self.title(&name), LONGEST_TITLE)).into_owned(),
            facts: self.facts(&name),
            changes: self.changes(),
            file: tool::files(&self.call).into_iter().next(),
            agent: self.output.and_then(|output| output.text("agentId")).map(Cow::into_owned),
            name: display_name(&name),
        }
    }

    /// Returns how many lines an edit added and removed. An edit that failed changed nothing.
    fn changes(&self) -> Option<(usize, usize)> {
        if self.result.is_some_and(|result| result.is_error()) {
            return None;
        }
        match self.diff()? {
            ViewNode::Diff { added, removed, .. } => Some((*added, *removed)),
            _ => None,
        }
    }

    /// Renders the arguments.
    pub fn input(&self) -> Vec<ViewNode> {
        let Some(input) = self.call.input() else { return Vec::new() };
        let text = |key: &str| input.text(key);
        match &*self.name() {
            "Bash" | "PowerShell" => {
                let about = text("description").map(|about| ViewNode::P { c: vec![inline(&about)] });
                let command =
                    self.target.code(&text("command").unwrap_or_default(), Language::named("sh"), None);
                about.into_iter().chain([command]).collect()
            }
            "Edit" | "MultiEdit" => self.diff().map_or_else(|| arguments(input), |diff| vec![diff.clone()]),
            "Write" => {
                if let Some(diff) = self.diff() {
                    vec![diff.clone()]
                } else {
                    let language = text("file_path").and_then(|path| Language::of_path(&path));
                    vec![self.target.code(&text("content").unwrap_or_default(), language, Some(1))]
                }
            }
            "Task" | "Agent" => {
                text("prompt").map_or_else(|| arguments(input), |prompt| prose_for(&prompt, self.target))
            }
            "TodoWrite" => todos(input.get("todos")).map_or_else(|| arguments(input), |todos| vec![todos]),
            "ExitPlanMode" => {
                text("plan").map_or_else(|| arguments(input), |plan| prose_for(&plan, self.target))
            }
            "AskUserQuestion" => self.questions(input),
            _ => arguments(input),
        }
    }

    /// Renders the result, and says which end of it matters most.
    pub fn output(&self) -> (Vec<ViewNode>, Keep) {
        let name = self.name();
        let Some(result) = self.result else { return (Vec::new(), Keep::First) };
        let failed = result.is_error();
        let nodes = match (&*name, self.output) {
            ("Bash" | "PowerShell", Some(_)) if !failed => self.shell_output(),
            ("Read", output) if !failed => self.file_content(output),
            ("Edit" | "MultiEdit" | "Write" | "TodoWrite", Some(_)) if !failed && self.diff().is_some() => {
                Some(Vec::new())
            }
            ("TodoWrite", _) if !failed => Some(Vec::new()),
            ("WebFetch" | "Task" | "Agent" | "ExitPlanMode", _) if !failed => {
                Some(prose_for(self.text(), self.target))
            }
            _ => None,
        };
        let mut nodes = nodes.unwrap_or_else(|| {
            let text = self.text();
            text_output(if failed { without_error_tags(text) } else { text }, self.target)
        });
        nodes.extend(images(&result));
        (nodes, self.kept_end())
    }

    /// Returns which end of the output matters most.
    pub(crate) fn kept_end(&self) -> Keep {
        if matches!(&*self.name(), "Bash" | "PowerShell" | "BashOutput") { Keep::Last } else { Keep::First }
    }

    /// Returns the images of the result.
    pub(crate) fn images(&self) -> Vec<ViewNode> {
        self.result.as_ref().map(images).unwrap_or_default()
    }

    /// Reads the output of the call if the result names a file with it.
    pub(crate) fn spilled(&self, read: ReadOutput<'_>) -> Option<WholeOutput> {
        let content = self.result?.content();
        // Most results have none: their first bytes show that.
        if !SpilledOutput::may_be_in(&content.beginning(SHORTEST_NOTICE)) {
            return None;
        }
        read(&SpilledOutput::in_text(&content.beginning(LONGEST_NOTICE))?)
    }

    /// Returns the text of the result.
    fn text(&self) -> &str {
        self.text.get_or_init(|| self.result.map(|result| result.content().text()).unwrap_or_default())
    }

    /// Opens the file with the output of the call if the result names one.
    pub(crate) fn stored(&self, open: OpenStored<'_>) -> Option<Box<dyn StoredText>> {
        let text = self.result?.content().beginning(LONGEST_NOTICE);
        open(&SpilledOutput::in_text(&text)?)
    }

    /// Returns the image that a part of the row is.
    pub fn image(&self, part: usize) -> Option<crate::MediaRef<'a>> {
        let result = self.result?;
        let mut images = result.content().blocks().filter_map(|block| match block {
            Block::Image(image) | Block::Document(image) => Some(image),
            _ => None,
        });
        images.nth(part.checked_sub(FIRST_IMAGE)?).and_then(|image| media(&image))
    }

    fn name(&self) -> Cow<'a, str> {
        self.call.name().unwrap_or(Cow::Borrowed("?"))
    }

    fn title(&self, name: &str) -> String {
        let Some(input) = self.call.input() else { return String::new() };
        let text = |key: &str| input.text(key).unwrap_or_default();
        match name {
            "Bash" | "PowerShell" => {
                let command = text("command");
                let lines = command.trim().lines().count();
                let first = command.trim().lines().next().unwrap_or_default().to_owned();
                if lines > 1 { format!("{first} (+{} lines)", lines - 1) } else { first }
            }
            "Read" => {
                let path = self.short_path(&text("file_path"));
                match (input.number("offset"), input.number("limit")) {
                    (Some(from), Some(count)) => {
                        format!("{path} {from}–{}", from.saturating_add(count).saturating_sub(1))
                    }
                    (Some(from), None) => format!("{path} {from}–"),
                    _ => path,
                }
            }
            "Edit" | "MultiEdit" | "Write" => self.short_path(&text("file_path")),
            "NotebookEdit" => self.short_path(&text("notebook_path")),
            "Grep" | "Glob" => match input.text("path") {
                Some(path) => format!("{} in {}", text("pattern"), self.short_path(&path)),
                None => text("pattern").into_owned(),
            },
            "Task" | "Agent" => {
                let kind = text("subagent_type");
                format!("{kind}{}{}", if kind.is_empty() { "" } else { " · " }, text("description"))
            }
            "TodoWrite" => todo_title(input.get("todos")),
            "AskUserQuestion" => {
                let question = input
                    .get("questions")
                    .and_then(|all| all.items().next())
                    .and_then(|one| one.text("question"));
                let answer = self.answers().next().map(|(_, answer)| format!(" → {answer}"));
                format!("{}{}", question.unwrap_or_default(), answer.unwrap_or_default())
            }
            "ExitPlanMode" => {
                text("plan").trim().lines().next().unwrap_or_default().trim_start_matches('#').to_owned()
            }
            "Skill" | "SlashCommand" => {
                let skill = input.text("skill").or_else(|| input.text("command")).unwrap_or_default();
                format!("/{} {}", skill.trim_start_matches('/'), text("args"))
            }
            "WebFetch" => text("url").trim_start_matches("https://").to_owned(),
            _ => tool::subject(&self.call),
        }
    }

    /// Returns what a call is about without the English words that its title has, and how many lines of a command follow.
    fn subject(&self, name: &str) -> Option<(String, Option<usize>)> {
        let input = self.call.input().filter(|_| self.target == Target::Viewer)?;
        match name {
            "Bash" | "PowerShell" => {
                let command = input.text("command")?;
                let lines = command.trim().lines().count();
                let first = command.trim().lines().next().filter(|_| lines > 1)?;
                Some((first.to_owned(), Some(lines - 1)))
            }
            "Grep" | "Glob" => {
                let pattern = input.text("pattern").unwrap_or_default();
                Some((format!("{pattern} · {}", self.short_path(&input.text("path")?)), None))
            }
            _ => None,
        }
    }

    fn facts(&self, name: &str) -> Vec<Fact> {
        let Some(result) = self.result else { return Vec::new() };
        if result.is_error() {
            return self.failure().into_iter().collect();
        }
        match name {
            "Bash" | "PowerShell" => {
                let printed = match self.shell_lines().unwrap_or_else(|| line_total(self.text())) {
                    0 => Fact::Known(ViewFactKind::NoOutput, None),
                    lines => Fact::count(ViewFactKind::Lines, lines),
                };
                let is_background =
                    self.output.is_some_and(|output| output.get("backgroundTaskId").is_some());
                let background = is_background.then_some(Fact::Known(ViewFactKind::Background, None));
                [printed].into_iter().chain(background).collect()
            }
            "Read" => {
                let file = self.output.and_then(|output| output.get("file"));
                let lines = file.and_then(|file| file.number("numLines"));
                lines.map(|lines| Fact::count(ViewFactKind::Lines, lines)).into_iter().collect()
            }
            "Write" => match self.output.and_then(|output| output.text("type")).as_deref() {
                Some("create") => vec![Fact::Known(ViewFactKind::NewFile, None)],
                Some("update") => vec![Fact::Known(ViewFactKind::Replaced, None)],
                _ => Vec::new(),
            },
            "Grep" | "Glob" => {
                let files = self
                    .numbered(ViewFactKind::Files, "numFiles")
                    .filter(|fact| *fact != Fact::count(ViewFactKind::Files, 0));
                files.into_iter().chain(self.numbered(ViewFactKind::Lines, "numLines")).collect()
            }
            "Task" | "Agent" => {
                let calls = self.numbered(ViewFactKind::ToolCalls, "totalToolUseCount");
                calls.into_iter().chain(self.numbered(ViewFactKind::Tokens, "totalTokens")).collect()
            }
            "WebFetch" => {
                let status = self.numbered(ViewFactKind::Status, "code");
                status.into_iter().chain(self.numbered(ViewFactKind::Bytes, "bytes")).collect()
            }
            "TodoWrite" | "AskUserQuestion" | "Edit" | "MultiEdit" | "ExitPlanMode" | "Skill" => Vec::new(),
            _ => match line_total(self.text()) {
                0 => Vec::new(),
                lines => vec![Fact::count(ViewFactKind::Lines, lines)],
            },
        }
    }

    /// Returns a number that the tool returned, as a fact.
    fn numbered(&self, kind: ViewFactKind, key: &str) -> Option<Fact> {
        Some(Fact::count(kind, self.output?.number(key)?))
    }

    /// Renders what a command printed: standard output, then standard error.
    fn shell_output(&self) -> Option<Vec<ViewNode>> {
        let [printed, errors] = self.printed()?;
        let mut nodes: Vec<_> = printed.iter().map(|text| self.target.ansi(text.trim_end())).collect();
        if let Some(errors) = errors {
            nodes.extend([note("stderr", "standard error"), self.target.ansi(errors.trim_end())]);
        }
        Some(nodes)
    }

    /// Returns how many lines a command printed. The text of a result may be only the beginning of a long output.
    fn shell_lines(&self) -> Option<u64> {
        Some(self.printed()?.iter().flatten().map(|text| line_total(text)).sum())
    }

    fn printed(&self) -> Option<&Printed<'a>> {
        self.printed.get_or_init(|| printed_in(self.output?)).as_ref()
    }

    /// Returns why a call failed: its exit code, or the first line of the error.
    fn failure(&self) -> Option<Fact> {
        let first = without_error_tags(self.text()).lines().next()?;
        let code = first.strip_prefix("Exit code ").filter(|code| code.bytes().all(|b| b.is_ascii_digit()));
        Some(match code.and_then(|code| code.parse().ok()) {
            Some(code) => Fact::count(ViewFactKind::Exit, code),
            None => Fact::Error(one_line(first, 80)),
        })
    }

    /// Returns a path without the working directory.
    fn short_path(&self, path: &str) -> String {
        let below =
            self.cwd.and_then(|cwd| path.strip_prefix(cwd)).and_then(|rest| rest.strip_prefix(['/', '\\']));
        below.unwrap_or(path).to_owned()
    }

    /// Returns the change that an edit makes, with the line numbers of the file if the result has them.
    fn diff(&self) -> Option<&ViewNode> {
        self.diff.get_or_init(|| self.new_diff()).as_ref()
    }

    fn new_diff(&self) -> Option<ViewNode> {
        let name = self.name();
        let input = self.call.input()?;
        if !matches!(&*name, "Edit" | "MultiEdit" | "Write") {
            return None;
        }
        let path = input.text("file_path").map(|path| self.short_path(&path));
        let path = path.as_deref();
        if let Some(stored) = self.output.and_then(|output| output.get("structuredPatch"))
            && let Some(node) = patch(path, stored)
        {
            return Some(node);
        }
        match &*name {
            "Edit" => diff_of_edit(path, input),
            "MultiEdit" => {
                let edits = input.get("edits")?.items().take(MOST_ARGUMENTS);
                edits.filter_map(|edit| diff_of_edit(path, edit)).reduce(joined)
            }
            _ => None,
        }
    }

    /// Returns the content of a file that was read.
    fn file_content(&self, output: Option<Value<'_>>) -> Option<Vec<ViewNode>> {
        let path = self.call.input()?.text("file_path")?;
        let language = Language::of_path(&path);
        let file = output.and_then(|output| output.get("file"));
        if let Some(content) = file.and_then(|file| file.text("content")) {
            let first = file.and_then(|file| file.number("startLine")).unwrap_or(1);
            return Some(vec![self.target.code(&content, language, Some(first))]);
        }
        let (first, content) = without_numbers(self.text())?;
        Some(vec![self.target.code(&content, language, Some(first))])
    }

    /// Returns questions with the answers that were chosen.
    fn answers(&self) -> impl Iterator<Item = (String, String)> + use<'a> {
        let answers = self.output.and_then(|output| output.get("answers"));
        answers
            .into_iter()
            .flat_map(annals_transcript::json::Value::members)
            .take(MOST_ARGUMENTS)
            .filter_map(|(key, value)| Some((key.decode().into_owned(), value.as_text()?.into_owned())))
    }

    fn questions(&self, input: Value<'_>) -> Vec<ViewNode> {
        let answers: Vec<_> = self.answers().collect();
        let mut nodes = Vec::new();
        let questions = input.get("questions");
        for question in questions.into_iter().flat_map(Value::items).take(MOST_ARGUMENTS) {
            let text = question.text("question").unwrap_or_default();
            let chosen = answers.iter().find(|(asked, _)| *asked == text).map(|(_, answer)| &**answer);
            nodes
                .push(ViewNode::P { c: vec![ViewInline::Mark(ViewMark::Strong { c: vec![inline(&text)] })] });
            let (mut items, mut done) = (Vec::new(), Vec::new());
            for option in question.get("options").into_iter().flat_map(Value::items).take(MOST_ARGUMENTS) {
                let label = option.text("label").unwrap_or_default();
                done.push(Some(chosen.is_some_and(|chosen| chosen.split(", ").any(|one| one == label))));
                let about = option.text("description").map_or_else(String::new, |about| format!(": {about}"));
                items.push(vec![ViewNode::P { c: vec![inline(&format!("{label}{about}"))] }]);
            }
            if chosen.is_some() && done.iter().all(|done| *done == Some(false)) {
                done.push(Some(true));
                items.push(vec![ViewNode::P { c: vec![inline(chosen.unwrap_or_default())] }]);
            }
            nodes.push(ViewNode::List { start: None, items, done });
        }
        nodes
    }
}

/// Returns what a command printed, from what its tool returned.
fn printed_in(output: Value<'_>) -> Option<Printed<'_>> {
    output.get("stdout")?;
    Some(["stdout", "stderr"].map(|key| output.text(key).filter(|text| !text.trim().is_empty())))
}

/// Returns the change from one text to another that the arguments of an edit name.
fn diff_of_edit(path: Option<&str>, edit: Value<'_>) -> Option<ViewNode> {
    Some(diff(path, &edit.text("old_string")?, &edit.text("new_string")?, 0))
}

/// Returns the name of a tool as people know it.
fn display_name(name: &str) -> String {
    let name = match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server} › {tool}"),
        None => name.to_owned(),
    };
    one_line(&name, 80)
}

fn line_total(text: &str) -> u64 {
    let text = text.trim_end();
    if text.is_empty() { 0 } else { memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1 }
}

fn thousands(number: u64) -> String {
    if number < 10_000 { number.to_string() } else { format!("{}k", number / 1000) }
}

/// Joins two diffs of one file.
fn joined(mut all: ViewNode, next: ViewNode) -> ViewNode {
    if let (
        ViewNode::Diff { added, removed, hunks, .. },
        ViewNode::Diff { added: more, removed: less, hunks: others, .. },
    ) = (&mut all, next)
    {
        *added += more;
        *removed += less;
        hunks.extend(others);
    }
    all
}

/// Renders the arguments of a tool: short ones as a list, long ones below it.
fn arguments(input: Value<'_>) -> Vec<ViewNode> {
    if !input.is_object() {
        return vec![json(&String::from_utf8_lossy(input.bytes()))];
    }
    let (mut rows, mut below) = (Vec::new(), Vec::new());
    for (key, value) in input.members().take(MOST_ARGUMENTS) {
        let key = visible(&key.decode()).into_owned();
        match value.as_text() {
            Some(text) if text.len() <= LONG_ARGUMENT && !text.contains('\n') => {
                rows.push((key, vec![inline(&text)]));
            }
            Some(text) => below.extend([note("argument", &key), plain(&text)]),
            None => {
                let bytes = value.bytes();
                if bytes.len() <= LONG_ARGUMENT {
                    let value = inline(&String::from_utf8_lossy(bytes));
                    rows.push((key, vec![ViewInline::Mark(ViewMark::Code { c: vec![value] })]));
                } else {
                    below.extend([note("argument", &key), json(&String::from_utf8_lossy(bytes))]);
                }
            }
        }
    }
    let rows = (!rows.is_empty()).then_some(ViewNode::Kv { rows });
    rows.into_iter().chain(below).collect()
}

/// Returns the text of an error without the tags that Claude Code writes around it for the model.
fn without_error_tags(text: &str) -> &str {
    let text = text.trim();
    let inside =
        text.strip_prefix("<tool_use_error>").and_then(|rest| rest.strip_suffix("</tool_use_error>"));
    inside.unwrap_or(text).trim()
}

fn text_output(text: &str, target: Target) -> Vec<ViewNode> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Vec::new();
    }
    let is_json =
        trimmed.starts_with(['{', '[']) && Value::new(trimmed.as_bytes()).is_some_and(Value::is_valid);
    vec![if is_json { json(trimmed) } else { target.ansi(text) }]
}

fn images(result: &ToolResult<'_>) -> Vec<ViewNode> {
    let images = result.content().blocks().filter_map(|block| match block {
        Block::Image(image) | Block::Document(image) => Some(image),
        _ => None,
    });
    images.enumerate().map(|(at, image)| image_node(&image, FIRST_IMAGE + at)).collect()
}

/// Returns the node of an image that is this part of its row.
pub(crate) fn image_node(image: &annals_transcript::content::Media<'_>, part: usize) -> ViewNode {
    if let Some(found) = media(image) {
        ViewNode::Image {
            media: found.media.to_owned(),
            bytes: found.bytes,
            part,
            width: found.size.map(|(width, _)| width),
            height: found.size.map(|(_, height)| height),
        }
    } else {
        let kind = image.media_type().unwrap_or(Cow::Borrowed("of an unknown type"));
        note("media", &format!("An image or document is not shown: {}", one_line(&kind, 60)))
    }
}

/// Splits a line into its number and the rest.
fn numbered_line(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.split_once(['→', '\t'])?;
    Some((number.trim().parse().ok()?, rest))
}

/// Removes the line numbers that Claude Code writes before the lines of a file. Returns the first one, too.
fn without_numbers(text: &str) -> Option<(u64, String)> {
    let mut first = None;
    let mut content = String::with_capacity(text.len());
    for line in text.lines() {
        match numbered_line(line) {
            Some((number, rest)) => {
                first.get_or_insert(number);
                content.push_str(rest);
            }
            None if first.is_some() => content.push_str(line),
            None => return None,
        }
        content.push('\n');
    }
    Some((first?, content))
}

fn has_status(todo: &Value<'_>, status: &str) -> bool {
    todo.text("status").as_deref() == Some(status)
}

fn todo_title(todos: Option<Value<'_>>) -> String {
    let all: Vec<Value<'_>> = todos.into_iter().flat_map(Value::items).take(MOST_ARGUMENTS).collect();
    let done = all.iter().filter(|todo| has_status(todo, "completed")).count();
    let current =
        all.iter().find(|todo| has_status(todo, "in_progress")).and_then(|todo| todo.text("content"));
    let current = current.map_or_else(String::new, |current| format!(" → {current}"));
    format!("{done}/{}{current}", all.len())
}

fn todos(todos: Option<Value<'_>>) -> Option<ViewNode> {
    let (mut items, mut done) = (Vec::new(), Vec::new());
    for todo in todos?.items().take(MOST_ARGUMENTS) {
        let text = todo.text("content")?;
        let state = todo.text("status").unwrap_or_default();
        done.push(Some(state == "completed"));
        let text = inline(&text);
        let text =
            if state == "in_progress" { ViewInline::Mark(ViewMark::Strong { c: vec![text] }) } else { text };
        items.push(vec![ViewNode::P { c: vec![text] }]);
    }
    (!items.is_empty()).then_some(ViewNode::List { start: None, items, done })
}

#[cfg(test)]
mod tests;
