//! `annals`: the session-history engine on the command line.
//!
//! The flow is: [`args`] parses the arguments, a file in [`commands`] asks the engine, [`output`] prints the answer, and
//! [`failure`] turns errors into messages and exit codes.

mod args;
mod commands;
mod failure;
mod output;

use std::process::ExitCode;

use annals_api::Masking;
use annals_engine::Engine;
use clap::error::ErrorKind;
use clap_complete::CompleteEnv;

use args::{Args, Command};
use commands::completions;
use failure::Failure;
use output::clean;

/// Lists and tables make many small allocations on several threads, at which the allocator of the system is slow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A shell that asks for completions gets them, and nothing else happens.
    CompleteEnv::with_factory(args::command).var(completions::VARIABLE).bin("annals").complete();
    match parse().and_then(|args| run(&args)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Parses the arguments. If they are wrong, or ask for help, this prints the message and ends the program.
///
/// The message repeats arguments, which a script may have from an untrusted source. So they are parsed again without
/// characters that could control the terminal, and that message is printed.
fn parse() -> Result<Args, Failure> {
    let arguments: Vec<_> = std::env::args_os().collect();
    Args::read(args::named_commands(&arguments), arguments).or_else(|error| {
        if error.kind() == ErrorKind::DisplayVersion {
            error.exit();
        }
        let cleaned =
            std::env::args_os().map(|argument| clean(&argument.to_string_lossy()).into_owned().into());
        let color = args::color_of_help(std::env::args_os());
        match Args::read(args::command_with(color), cleaned) {
            Err(error) => error.exit(),
            // Only the removed characters were wrong.
            Ok(_) => Err(Failure::arguments(&error)),
        }
    })
}

/// Returns how secrets are masked in what the command prints; `None` if everything is printed as it is.
fn masking(args: &Args, engine: &Engine) -> Result<Option<Masking>, Failure> {
    match &args.command {
        Command::Serve(_) if args.global.reveal => Err(Failure::usage(
            "a server masks keys, tokens and passwords unless a request asks for them; it has no `--reveal`",
            "`annals serve --allow-reveal` lets requests ask, with the parameter `reveal`",
        )),
        #[cfg(feature = "mcp")]
        Command::Mcp(_) if args.global.reveal => Err(Failure::usage(
            "agents never see keys, tokens and passwords; `annals mcp` has no `--reveal`",
            "`annals show --reveal` prints them for you",
        )),
        command if args.global.reveal || command.prints_as_is() => Ok(None),
        command if command.prints_no_text() => Ok(Some(Masking::default())),
        _ => Masking::with_rules_in(engine.home().path())
            .map(Some)
            .map_err(|error| Failure::secret_rules(&error)),
    }
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.global.set_colors();
    output::command::set_roots(&args.global.given_roots());
    output::pager::set_up(args.command.is_paged() && !args.global.no_pager);
    match &args.command {
        Command::Completions(shell) => return commands::completions::run(shell),
        Command::Man(man) => return commands::man::run(man),
        _ => {}
    }
    let engine = match args.command {
        Command::Record(_) | Command::Hydrate(_) => args.global.recording_engine()?,
        _ if args.command.is_server() => args.global.serving_engine()?,
        Command::Statusline(ref line) if line.action.is_none() => match args.global.engine() {
            Ok(engine) => engine,
            Err(_) => return Ok(commands::statusline::without_engine()),
        },
        _ => args.global.engine()?,
    };
    output::mask::set_up(masking(args, &engine)?);
    match &args.command {
        Command::List(list) => commands::list::run(&engine, list, &args.global),
        Command::Prompts(prompts) => commands::prompts::run(&engine, prompts, &args.global),
        Command::Projects => commands::projects::run(&engine, &args.global),
        Command::Roots => commands::projects::roots(&engine, &args.global),
        #[cfg(feature = "search")]
        Command::Search(search) => commands::search::run(&engine, search, &args.global),
        #[cfg(feature = "search")]
        Command::Index(index) => commands::index::run(&engine, index, &args.global),
        Command::Show(show) => commands::show::run(&engine, show, &args.global),
        Command::Export(export) => commands::export::run(&engine, export, &args.global),
        Command::Tail(tail) => commands::tail::run(&engine, tail, &args.global),
        Command::Turns(turns) => commands::turns::run(&engine, turns, &args.global),
        Command::Tools(tools) => commands::tools::run(&engine, tools, &args.global),
        Command::Agents(agents) => commands::agents::run(&engine, agents, &args.global),
        Command::Files(files) => commands::files::run(&engine, files, &args.global),
        Command::Lineage(lineage) => commands::lineage::run(&engine, lineage, &args.global),
        Command::Stats(stats) => commands::stats::run(&engine, stats, &args.global),
        Command::Insight(insight) => commands::insight::run(&engine, insight, &args.global),
        Command::Usage(usage) => commands::usage::run(&engine, usage, &args.global),
        Command::Check(check) => commands::check::run(&engine, check, &args.global),
        #[cfg(feature = "mcp")]
        Command::Mcp(mcp) => commands::mcp::run(engine, mcp, &args.global),
        Command::Statusline(statusline) => commands::statusline::run(&engine, statusline, &args.global),
        Command::Serve(serve) => commands::serve::run(engine, serve, &args.global),
        Command::Resume(resume) => commands::resume::run(&engine, resume, &args.global),
        Command::Record(record) => commands::record::run(&engine, record),
        Command::Rename(rename) => commands::change::rename(&engine, rename, &args.global),
        Command::Tag(tag) => commands::change::tag(&engine, tag, &args.global),
        Command::Fork(fork) => commands::fork::run(&engine, fork, &args.global),
        Command::Delete(delete) => commands::trash::delete(&engine, delete, &args.global),
        Command::Restore(restore) => commands::trash::restore(&engine, restore, &args.global),
        Command::Archive(archive) => commands::change::archive(&engine, archive, true, &args.global),
        Command::Unarchive(archive) => commands::change::archive(&engine, archive, false, &args.global),
        Command::Repair(repair) => commands::repair::run(&engine, repair, &args.global),
        Command::Tombstone(tombstone) => commands::change::tombstone(&engine, tombstone, &args.global),
        Command::Push(push) => commands::push::run(&engine, push, &args.global),
        Command::Hydrate(hydrate) => commands::change::hydrate(&engine, hydrate, &args.global),
        Command::Completions(_) | Command::Man(_) => unreachable!("they need no engine, and ended above"),
    }
}
