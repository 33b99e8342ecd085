//! The command line: commands, options and their help.

mod change;
mod export;
mod files;
mod filters;
mod generate;
mod help;
mod hydrate;
#[cfg(feature = "search")]
mod index;
mod list;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
mod moment;
mod prompts;
mod push;
mod read;
mod record;
mod repair;
mod resume;
#[cfg(feature = "search")]
mod search;
mod serve;
mod show;
pub(crate) mod statusline;
mod synonyms;
mod tail;
mod trash;
mod usage;

use std::ffi::OsString;
use std::path::PathBuf;

use annals_engine::{Engine, Home, Roots};
use anstream::ColorChoice;
use clap::{Arg, Args as _, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use crate::commands::completions;
use crate::failure::Failure;
use crate::output;

use change::{BULK_HELP, TAG_USAGE, UNARCHIVE_HELP, hidden};
use files::FILES_HELP;
#[cfg(feature = "search")]
use index::INDEX_HELP;
use push::PUSH_HELP;
use record::RECORD_HELP;
use repair::REPAIR_HELP;
#[cfg(feature = "search")]
use search::SEARCH_HELP;
use serve::SERVE_HELP;
use usage::USAGE_HELP;

pub(crate) use change::{Archive, Fork, Rename, Safety, Tag, Tombstone};
pub(crate) use export::{Export, ExportView};
pub(crate) use files::Files;
pub(crate) use filters::Filters;
pub(crate) use generate::{Completions, Man};
pub(crate) use hydrate::Hydrate;
#[cfg(feature = "search")]
pub(crate) use index::{Index, IndexAction};
pub(crate) use list::{List, SortBy};
#[cfg(feature = "search")]
pub(crate) use moment::Period;
pub(crate) use prompts::Prompts;
pub(crate) use push::{Push, RemoteAccess};
pub(crate) use read::{Check, Insight, Lineage, OneSession, Stats, ToolSort, Tools};
pub(crate) use record::Record;
pub(crate) use repair::Repair;
pub(crate) use resume::Resume;
#[cfg(feature = "search")]
pub(crate) use search::{Search, SearchOrder, SearchPart, SearchRole};
pub(crate) use serve::Serve;
pub(crate) use show::{Show, Turns, View};
pub(crate) use tail::Tail;
pub(crate) use trash::{Delete, Restore};
pub(crate) use usage::{Usage, UsageAction, UsageBy, UsageCostMode, UsageFilters, UsageForget};

const NAME: &str = "annals";
/// The version, and the commit that annals was built from.
const VERSION: &str = env!("ANNALS_VERSION");

#[derive(Debug, Parser)]
#[command(name = NAME, version = VERSION, about, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Returns the command line with everything that its definition cannot say: groups, examples, completions of sessions. It takes
/// longer to build than the definition, so only what prints it uses it.
pub(crate) fn command() -> clap::Command {
    command_with(clap::ColorChoice::Auto)
}

/// Does the same, with help and messages in the given colours.
pub(crate) fn command_with(color: clap::ColorChoice) -> clap::Command {
    let mut command = help::complete(Args::command()).color(color);
    // The arguments of commands are defined only now.
    command.build();
    let names: Vec<_> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names
        .into_iter()
        .fold(command, |command, name| {
            command
                .mut_subcommand(name, |one| with_globals_last(without_refused(one).mut_args(with_completer)))
        })
        .mut_args(with_completer)
}

/// Leaves `--reveal` out of the help of servers, which refuse it.
fn without_refused(command: clap::Command) -> clap::Command {
    if !matches!(command.get_name(), "serve" | "mcp") {
        return command;
    }
    command.mut_args(|arg| if arg.get_id() == "reveal" { hidden(arg) } else { arg })
}

/// Lists the options that every command has after those of the command.
fn with_globals_last(command: clap::Command) -> clap::Command {
    let mut order = LAST..;
    command.mut_args(|arg| {
        if arg.is_global_set() { arg.display_order(order.next().expect("an endless range")) } else { arg }
    })
}

/// The place of such options in the help; no command has as many of its own.
const LAST: usize = 500;

/// Lets shells complete the sessions or paths of an argument that takes one.
fn with_completer(arg: Arg) -> Arg {
    if takes_session(&arg) {
        return arg.add(ArgValueCompleter::new(completions::sessions));
    }
    if arg.get_value_hint() == ValueHint::AnyPath {
        return arg.add(ArgValueCompleter::new(completions::paths));
    }
    arg
}

fn takes_session(arg: &Arg) -> bool {
    let mut names = arg.get_value_names().into_iter().flatten();
    names.any(|name| name.starts_with("SESSION") || name.as_str() == "OTHER")
}

/// Returns the definition of those commands whose names occur among the arguments. It parses everything that the whole definition
/// parses, and is built in a fraction of the time; messages about wrong arguments, and help, need the whole one.
pub(crate) fn named_commands(arguments: &[OsString]) -> clap::Command {
    let all = Command::augment_subcommands(clap::Command::new(NAME));
    let named =
        all.get_subcommands().filter(|one| arguments.iter().any(|argument| argument == one.get_name()));
    Global::augment_args(clap::Command::new(NAME))
        .version(VERSION)
        .subcommand_required(true)
        .subcommands(named.cloned())
}

impl Args {
    /// Parses arguments. A command that does not exist gets the commands that may be meant.
    pub(crate) fn read(
        mut command: clap::Command,
        args: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let parsed = command.try_get_matches_from_mut(words_marked(args));
        parsed.and_then(|matches| Self::from_arg_matches(&matches)).map_err(|mut error| {
            synonyms::suggest(&mut error, &command);
            error
        })
    }
}

/// Marks the words of a query that look like options.
fn words_marked(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    #[cfg(feature = "search")]
    return search::mark_words(args.into_iter().collect());
    #[cfg(not(feature = "search"))]
    args.into_iter().collect()
}

const EXIT_CODES: &str = "\
All sessions come from files on this disk, in the config folders of Claude Code; `annals roots` lists these folders. \
What is deleted goes to a trash on this disk.

Exit codes: 0 done, 1 nothing found, or `check` found a warning or an error, 2 failed, 130 interrupted.";

/// Options that every command has.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// A config folder of Claude Code, the one that contains `projects`; may be given several times
    /// [default: `$CLAUDE_CONFIG_DIR`, else `~/.claude` and `~/.config/claude`]
    #[arg(long, value_name = "DIR", global = true)]
    root: Vec<PathBuf>,
    /// Print JSON: one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print keys, tokens and passwords as they are; otherwise they are masked
    #[arg(long, global = true, alias = "no-redact")]
    pub(crate) reveal: bool,
    /// When to use colours; `NO_COLOR` means never
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, global = true)]
    color: Color,
    /// Print long output directly [default: through `$ANNALS_PAGER`, `$PAGER` or `less`, on a terminal]
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// Returns when help, and messages about wrong arguments, have colours: they are printed before `--color` is parsed.
pub(crate) fn color_of_help(arguments: impl Iterator<Item = OsString>) -> clap::ColorChoice {
    let arguments: Vec<_> = arguments.collect();
    let next = arguments.windows(2).filter(|pair| pair[0] == "--color").filter_map(|pair| pair[1].to_str());
    let joined = arguments.iter().filter_map(|argument| argument.to_str()?.strip_prefix("--color="));
    match next.chain(joined).last() {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        _ => clap::ColorChoice::Auto,
    }
}

impl Global {
    /// Applies the choice of colours to everything that is printed from now on.
    pub(crate) fn set_colors(&self) {
        match self.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
    }

    /// Opens the config folders given with `--root`, or the default ones.
    pub(crate) fn engine(&self) -> Result<Engine, Failure> {
        Ok(Engine::open(self.roots()?, Home::from_environment()))
    }

    fn roots(&self) -> Result<Roots, Failure> {
        if self.root.is_empty() {
            return Ok(Roots::from_environment());
        }
        let roots = Roots::given(self.root.clone())?;
        roots.missing().for_each(|error| output::complain(&error.to_string()));
        Ok(roots)
    }

    /// Returns whether output that goes to another program, which shows it on a terminal, has styles.
    pub(crate) fn wants_styles_without_a_terminal(&self) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        }
    }

    /// Returns the config folders given with `--root`, from the root of the file system.
    pub(crate) fn given_roots(&self) -> Vec<String> {
        let roots = self.root.iter();
        let absolute = roots.map(|root| std::path::absolute(root).unwrap_or_else(|_| root.clone()));
        absolute.map(|root| root.to_string_lossy().into_owned()).collect()
    }

    /// Does the same for a server: Claude Code may make the `projects` folder while the server runs.
    pub(crate) fn serving_engine(&self) -> Result<Engine, Failure> {
        if self.root.is_empty() || !self.root.iter().all(|root| root.is_dir()) {
            return self.engine();
        }
        let roots = Roots::to_record_in(self.root.clone());
        roots.missing().for_each(|error| output::complain(&error.to_string()));
        Ok(Engine::open(roots, Home::from_environment()))
    }

    /// Does the same for recording: a folder that does not exist yet is created.
    pub(crate) fn recording_engine(&self) -> Result<Engine, Failure> {
        if self.root.is_empty() {
            return self.engine();
        }
        Ok(Engine::open(Roots::to_record_in(self.root.clone()), Home::from_environment()))
    }
}

impl Command {
    /// Returns whether the command prints what is in files as it is: then nothing of it is masked.
    pub(crate) fn prints_as_is(&self) -> bool {
        matches!(self, Command::Show(show) if show.view != View::Full)
    }

    /// Returns whether the command answers requests until somebody ends it.
    pub(crate) fn is_server(&self) -> bool {
        match self {
            Command::Serve(_) => true,
            #[cfg(feature = "mcp")]
            Command::Mcp(_) => true,
            _ => false,
        }
    }

    /// Returns whether the command prints what somebody reads, which goes to a pager if it is long. Commands that ask, or that
    /// print as things happen, have none.
    pub(crate) fn is_paged(&self) -> bool {
        match self {
            Command::List(_)
            | Command::Projects
            | Command::Roots
            | Command::Prompts(_)
            | Command::Show(_)
            | Command::Turns(_)
            | Command::Tools(_)
            | Command::Agents(_)
            | Command::Lineage(_)
            | Command::Stats(_)
            | Command::Insight(_)
            | Command::Check(_) => true,
            Command::Usage(usage) => usage.action.is_none(),
            #[cfg(feature = "search")]
            Command::Search(_) => true,
            Command::Files(files) => files.restore.is_none(),
            _ => false,
        }
    }

    /// Returns whether the command prints no text of transcripts: it must not fail because of the rules that mask them.
    pub(crate) fn prints_no_text(&self) -> bool {
        matches!(self, Command::Record(_) | Command::Hydrate(_) | Command::Statusline(_))
    }
}

// Only the arguments of the command that is run are defined: those of all commands are half of the time in which a short command starts.
// Structs that commands flatten have plain comments: clap would show a doc comment instead of what the command does.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List sessions, most recently active first; archived ones are left out
    List(List),
    /// List projects: path, sessions, size, last activity
    Projects,
    /// List the config folders that are searched, and what is in each
    Roots,
    /// List the prompts that were typed, most recent first
    Prompts(Prompts),
    /// Search everything that was said, thought, called and printed in sessions
    #[cfg(feature = "search")]
    #[command(after_help = SEARCH_HELP)]
    Search(Search),
    /// Show, update, rebuild or remove the index of `search`
    #[cfg(feature = "search")]
    #[command(after_help = INDEX_HELP)]
    Index(Index),
    /// Print a session
    Show(Show),
    /// Write sessions as pages for a browser, Markdown, JSON or plain text
    Export(Export),
    /// Follow a session, or all of them, as they grow
    Tail(Tail),
    /// List the turns of a session: what started each, tool calls, errors, duration, tokens; or compare those of two
    Turns(Turns),
    /// List tool calls with result state, duration and the files that each touched
    Tools(Tools),
    /// List the agents of a session: type, task, how each ended, what started it
    Agents(OneSession),
    /// List the files that a session changed, with their backups, and restore a version; or the sessions that changed a file
    #[command(after_help = FILES_HELP)]
    Files(Files),
    /// List related sessions: those that a session was copied from, copied to, or continued in
    Lineage(Lineage),
    /// Count what sessions are made of: entries, blocks, models, tools, errors, problems
    Stats(Stats),
    /// Show what the work was: days and hours, tools and errors, edited files
    Insight(Insight),
    /// Count tokens and costs by day, week, month, session, project, branch, model or five-hour window
    #[command(after_help = USAGE_HELP)]
    Usage(Usage),
    /// Find damaged lines and broken links, and explain the effect of each
    Check(Check),
    /// Serve session history to browsers, editors and agents
    #[command(after_help = SERVE_HELP)]
    Serve(Serve),
    /// Continue a session in Claude Code, in its folder
    Resume(Resume),
    /// Serve session history to agents, over the Model Context Protocol on standard input and output
    #[cfg(feature = "mcp")]
    #[command(after_help = mcp::HELP)]
    Mcp(mcp::Mcp),
    /// Print one line about the running session, for the status line of Claude Code
    #[command(after_help = statusline::HELP)]
    Statusline(statusline::StatusLine),
    /// Append entries from standard input to a session, so that Claude Code resumes it
    #[command(after_help = RECORD_HELP)]
    Record(Record),
    /// Set the title of a session
    Rename(Rename),
    /// Set or remove the tag of sessions
    #[command(override_usage = TAG_USAGE, after_help = BULK_HELP)]
    Tag(Tag),
    /// Copy a session, whole or up to a message, to continue it in another direction
    Fork(Fork),
    /// Move sessions and all their files to the trash; the prompt history (`history.jsonl`) is kept
    #[command(after_help = BULK_HELP)]
    Delete(Delete),
    /// Restore a session from the trash, or list the trash
    Restore(Restore),
    /// Archive sessions, as Claude Code does; lists leave them out
    #[command(after_help = BULK_HELP)]
    Archive(Archive),
    /// Take sessions out of the archive
    #[command(after_help = UNARCHIVE_HELP)]
    Unarchive(Archive),
    /// Repair a session so that Claude Code restores every message that can still be read
    #[command(after_help = REPAIR_HELP)]
    Repair(Repair),
    /// Remove one entry from a session and link its children to its parent; this cannot be undone
    Tombstone(Tombstone),
    /// Create or replace a session from a log that is kept elsewhere; a replaced session goes to the trash
    Hydrate(Hydrate),
    /// Send a server the entries that it does not have yet
    #[command(after_help = PUSH_HELP)]
    Push(Push),
    /// Print the script with which a shell completes commands, options and sessions
    Completions(Completions),
    /// Print the man page of annals or of a command, or write all of them
    Man(Man),
}
