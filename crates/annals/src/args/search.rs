//! `annals search`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Arg, ValueEnum};
use jiff::Timestamp;

use super::filters::{at_least_one, file, folder, text};
use super::moment::{Period, end, moment, period};

pub(super) const SEARCH_HELP: &str = "\
A query has words, which all have to occur, in any order, whatever their case and accents:

  annals search borrow checker                   both words
  annals search '\"borrow checker\"'             side by side
  annals search borrow -panic                    without a word; `--dry-run` is a word, `-n 5` is `--limit 5`
  annals search 'timeout OR deadline'            one of them
  annals search 'conf*'                          words with this prefix
  annals search src/main.rs:42 E0502 --dry-run   identifiers, paths and error codes, whole or in part
  annals search 天气                             Chinese, Japanese and Korean
  annals search 'fix tool:Bash is:error after:7d project:app'

Filters in a query: tool: file: role: project: branch: model: before: after: is:error in: session:. A filter with `-` before it \
excludes. `in:` takes prompt, reply, thinking, tool, input, output, title, summary and notification. Archived sessions and subagents \
are searched, too.

`--regex` and `--fixed` read the transcripts instead of the index:

  annals search --regex 'error\\[E0\\d+\\]' --since 7d
  annals search --fixed 'a \"quoted\" text'
  annals search kettle --json --flat --sort time

What is new is indexed first if it has at most 64 MB; otherwise the answer says what is missing, and `annals index update` adds it. \
Secrets are masked before they are indexed, so no search finds them; `--reveal` shows the text of hits as it is. Every hit comes with the \
command that opens it. Exit code 1 means that nothing was found.";

#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// Words, "phrases", -excluded, OR, prefix* and filters such as tool:Bash; may be left out if there are other filters
    #[arg(value_name = "QUERY", value_parser = unmarked_word)]
    pub(crate) query: Vec<String>,
    /// Find what this regular expression matches, in the text of transcripts and without the index; `(?i)` ignores case
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["query", "fixed"], allow_hyphen_values = true)]
    pub(crate) regex: Option<String>,
    /// Find exactly this text, in the text of transcripts and without the index
    #[arg(long, value_name = "TEXT", conflicts_with = "query", allow_hyphen_values = true)]
    pub(crate) fixed: Option<String>,
    /// Show at most N sessions or, with `--flat`, N hits
    #[arg(long, short = LIMIT, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    pub(crate) limit: usize,
    /// Show at most N hits of each session
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one, conflicts_with = "flat")]
    pub(crate) per_session: usize,
    /// Continue where a page ended: the position that it printed
    #[arg(long, value_name = "POSITION")]
    pub(crate) after: Option<String>,
    /// One list of hits, not grouped by session
    #[arg(long)]
    pub(crate) flat: bool,
    /// Sort order [default: relevance; time for `--regex` and `--fixed`]
    #[arg(long, value_enum)]
    pub(crate) sort: Option<SearchOrder>,
    /// Search what is indexed, and do not index what is new
    #[arg(long)]
    pub(crate) no_update: bool,
    /// Stop after this time (`500ms`, `2s`, `1min`), and say so
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) max_time: Option<u64>,
    /// Stop after so many bytes of transcripts were read (`64MB`, `1GB`), and say so
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) filters: SearchFilters,
}

/// The short name of `--limit`, as in other commands. It is the option before a number, and a word elsewhere.
const LIMIT: char = 'n';

/// Stands before a word of a query that begins with a hyphen, so that it is not taken for an option.
const WORD_MARK: char = '\u{f8ff}';

/// Marks the words of a query that begin with a hyphen and are no options, such as `-panic` and `--dry-run`.
pub(super) fn mark_words(arguments: Vec<OsString>) -> Vec<OsString> {
    // Other commands start faster without a second look at the definition of the command line.
    if arguments.iter().all(|argument| argument != "search") {
        return arguments;
    }
    let command = super::named_commands(&arguments);
    let Some(mut search) = command.find_subcommand("search").cloned() else { return arguments };
    search.build();
    let mut marker = WordMarker {
        options: options_of(command.get_arguments().chain(search.get_arguments())),
        is_search: None,
        // The name of the program is no word.
        is_value: true,
        are_words: false,
    };
    let mut result = Vec::with_capacity(arguments.len());
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        result.push(marker.mark(argument, arguments.peek()));
    }
    result
}

/// Returns the names of options, and whether each takes a value.
fn options_of<'a>(arguments: impl Iterator<Item = &'a Arg>) -> Vec<(String, bool)> {
    let mut options: Vec<(String, bool)> =
        ["-h", "--help", "-V", "--version"].map(|name| (name.to_owned(), false)).into();
    for option in arguments.filter(|argument| !argument.is_positional()) {
        let takes_value = option.get_action().takes_values();
        options.extend(option.get_long().map(|name| (format!("--{name}"), takes_value)));
        options.extend(option.get_short().map(|name| (format!("-{name}"), takes_value)));
    }
    options
}

/// Reads arguments from the first to the last, and marks those that are words of a query.
struct WordMarker {
    options: Vec<(String, bool)>,
    /// Whether the command is `search`; `None` before the command.
    is_search: Option<bool>,
    /// Whether the next argument is the value of an option.
    is_value: bool,
    /// Whether all further arguments are words, because `--` was before them.
    are_words: bool,
}

impl WordMarker {
    /// Returns an argument, marked if it is such a word. `next` is the argument after it.
    fn mark(&mut self, argument: OsString, next: Option<&OsString>) -> OsString {
        let Some(text) = argument.to_str().map(str::to_owned) else { return argument };
        if std::mem::take(&mut self.is_value) || self.are_words || self.is_search == Some(false) {
            return argument;
        }
        if !text.starts_with('-') || text == "-" {
            self.is_search.get_or_insert(text == "search");
            return argument;
        }
        self.are_words = text == "--";
        let (name, value) = text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value)));
        let is_word = text == format!("-{LIMIT}") && !next.is_some_and(|next| is_number(next));
        match self.options.iter().find(|(known, _)| known == name && !is_word) {
            Some((_, takes_value)) => self.is_value = *takes_value && value.is_none(),
            None if !self.are_words && self.is_search == Some(true) => {
                return format!("{WORD_MARK}{text}").into();
            }
            None => {}
        }
        argument
    }
}

/// Returns whether an argument is a number.
fn is_number(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads a word of a query.
#[expect(clippy::unnecessary_wraps, reason = "clap expects a result")]
fn unmarked_word(word: &str) -> Result<String, String> {
    Ok(word.strip_prefix(WORD_MARK).unwrap_or(word).to_owned())
}

// Which messages are searched. They have the names of the filters of `list`, and say something about messages where those say
// it about sessions.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct SearchFilters {
    /// Only in this working directory, the folders in it and its worktrees
    #[arg(long, value_name = "PATH", conflicts_with = "here", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) project: Option<PathBuf>,
    /// Only in the current directory, the folders in it and its worktrees
    #[arg(long)]
    pub(crate) here: bool,
    /// Only in this session: its id or at least 4 characters of it, its title, or `latest`; subagents included
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Only what was written since then: a day, a month or a year (today, yesterday, monday, 2026-01-31, 2026-01), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (30min, 12h, 7d, 2w, 3mo)
    #[arg(long, value_name = "DATE", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) since: Option<Timestamp>,
    /// Only what was written before then; with a day, a month or a year, what was written in it too
    #[arg(long, value_name = "DATE", value_parser = end, allow_hyphen_values = true)]
    pub(crate) until: Option<Timestamp>,
    /// Only what was written on this day, or in this month or year: today, yesterday, tuesday, 2026-01-31, 2026-01
    #[arg(long, value_name = "DAY", value_parser = period, allow_hyphen_values = true, conflicts_with_all = ["since", "until"])]
    pub(crate) on: Option<Period>,
    /// Only in sessions whose title contains TEXT, ignoring case
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub(crate) title: Option<String>,
    /// Only on this branch
    #[arg(long, value_parser = text)]
    pub(crate) branch: Option<String>,
    /// Only replies of models whose name contains TEXT
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub(crate) model: Option<String>,
    /// Only calls of this tool and their results, ignoring case
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub(crate) tool: Option<String>,
    /// Only calls that touched this file or folder, and their results; a relative path such as `src/main.rs` matches in any
    /// project
    #[arg(long, value_name = "PATH", value_parser = file)]
    pub(crate) file: Option<String>,
    /// Only what this role wrote
    #[arg(long, value_enum)]
    pub(crate) role: Option<SearchRole>,
    /// Only these parts of messages; may be given several times
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',')]
    pub(crate) r#in: Vec<SearchPart>,
    /// Only errors: results of calls that failed, and requests that failed
    #[arg(long)]
    pub(crate) errors: bool,
}

/// The order of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchOrder {
    /// The best first: by words, by who said them, and by age
    Relevance,
    /// The newest first
    Time,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchRole {
    /// Prompts and results of tools
    User,
    /// Replies, thinking and calls
    Assistant,
    /// Notices of Claude Code, and titles
    System,
}

/// A part of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchPart {
    /// What a person wrote
    Prompt,
    /// What the model answered
    Reply,
    /// What the model thought
    Thinking,
    /// Arguments and results of calls
    Tool,
    /// Arguments of calls
    Input,
    /// Results of calls
    Output,
    /// Titles of sessions
    Title,
    /// Summaries of compacted conversations
    Summary,
    /// Messages of Claude Code itself
    Notification,
}

/// Parses how long something may take.
fn milliseconds(text: &str) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text);
    let factor = match unit {
        "ms" => 1.0,
        "" | "s" => 1e3,
        "m" | "min" => 60e3,
        _ => return Err("not a time: write 500ms, 2s or 1min".to_owned()),
    };
    scaled(number, factor).ok_or_else(|| "not a time: write 500ms, 2s or 1min".to_owned())
}

/// Parses a number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err("not a size: write 500kB, 64MB or 1GB".to_owned()),
    };
    scaled(number, factor).ok_or_else(|| "not a size: write 500kB, 64MB or 1GB".to_owned())
}

fn number_and_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number, unit.trim())
}

/// Returns a number times a factor, if it is one that makes sense: positive and not endless.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn scaled(number: &str, factor: f64) -> Option<u64> {
    let value = number.parse::<f64>().ok()? * factor;
    (1.0..1e15).contains(&value).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::{Args, Command};

    #[test]
    fn words_of_queries_may_begin_with_hyphens() {
        for (line, query) in [
            ("annals search borrow -panic --limit 5", Some("borrow -panic")),
            ("annals search --dry-run --json", Some("--dry-run")),
            ("annals --root /tmp search -note --root=/x tea", Some("-note tea")),
            ("annals search --tool Bash x -- --json", Some("x --json")),
            ("annals search --fixed --json", Some("")),
            ("annals search - x", Some("- x")),
            ("annals search --limit 0 x", None),
            ("annals search battery -n 1", Some("battery")),
            ("annals search -n=1 -n", Some("-n")),
            ("annals search battery -n wall -n5", Some("battery -n wall -n5")),
            ("annals search battery -n 0", None),
            ("annals list --dry-run", None),
        ] {
            let arguments = line.split(' ').map(OsString::from);
            let parsed = Args::read(Args::command(), arguments);
            let found = parsed.ok().map(|args| match args.command {
                Command::Search(search) => search.query.join(" "),
                other => format!("{other:?}"),
            });
            assert_eq!(found.as_deref(), query, "{line}");
        }
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(
            ["500ms", "2s", "1.5", "1min"].map(|text| milliseconds(text).ok()),
            [Some(500), Some(2000), Some(1500), Some(60_000)]
        );
        assert_eq!(
            ["10", "64MB", "1 GiB", "1.5k"].map(|text| bytes(text).ok()),
            [Some(10), Some(64_000_000), Some(1 << 30), Some(1500)]
        );
        for wrong in ["", "s", "-1s", "2h", "0", "1e9s", "nan", "99999999999999999999"] {
            assert!(milliseconds(wrong).is_err() && bytes(&wrong.replace('s', "MB")).is_err(), "{wrong}");
        }
    }
}
