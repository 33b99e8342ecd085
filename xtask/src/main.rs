//! Tasks of the project: `cargo x <task>`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the people who work on annals")]

mod bench;
mod ci;
mod corpus;
mod fuzz;
mod listener;
mod oracle;
mod protocols;
mod push;
mod race;
mod recall;
mod schema;
mod tidy;
mod web;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

type Outcome = Result<(), Box<dyn Error>>;

/// Tasks of the project
#[derive(Parser)]
#[command(name = "cargo x", max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run all checks: formatting, lints, tests, documentation, tidy
    Ci,
    /// Check documents, cases and dependencies that must agree with the code
    Tidy,
    /// Compare what annals makes of `corpus/` with the expected results there
    Corpus {
        /// Update the expected results; read the diff before you commit it
        #[arg(long)]
        update: bool,
    },
    /// Generate the JSON Schema and the TypeScript types of the protocol
    Schema,
    /// Write the list of modules in ARCHITECTURE.md
    Modules,
    /// Measure speed and memory, as ratios within one run
    Bench(bench::Args),
    /// Fuzz a target, or all of them, for a while
    Fuzz(fuzz::Args),
    /// Let Claude Code resume what annals writes, and transcripts that are changed at random, and compare lists with its SDKs
    Oracle(oracle::Args),
    /// Test the server with real clients: curl, a browser, the official ACP client
    Protocols(protocols::Args),
    /// Push sessions to a server that misbehaves, kill the processes, and compare the server with the files
    Push(push::Args),
    /// Run operations on one session at the same time, kill them, and check that nothing is lost
    Race(race::Args),
    /// Build the viewer; it needs Node 20 or later
    Web,
    /// Test the viewer in a browser, against a mock of the server and against the server
    Viewer(web::ViewerArgs),
    /// Take pictures of the main pages of the viewer
    Shots,
    /// Serve the sample sessions, with the viewer if Node is there
    Demo,
    /// Sample queries from transcripts and compare what the search index finds with a scan of all texts
    Recall(recall::Args),
}

fn main() -> ExitCode {
    let outcome = match Args::parse().chore {
        Chore::Ci => ci::run(),
        Chore::Tidy => tidy::run(),
        Chore::Corpus { update } => corpus::run(update),
        Chore::Schema => schema::run(),
        Chore::Modules => tidy::update_module_map(),
        Chore::Bench(args) => bench::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Oracle(args) => oracle::run(&args),
        Chore::Protocols(args) => protocols::run(&args),
        Chore::Push(args) => push::run(&args),
        Chore::Race(args) => race::run(&args),
        Chore::Web => web::build(),
        Chore::Viewer(args) => web::viewer(&args),
        Chore::Shots => web::shots(),
        Chore::Demo => web::demo(),
        Chore::Recall(args) => recall::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo x: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the project's folder.
fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the project")
}

/// Returns the files below a folder of the project, in order.
fn files_below(folder: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    let mut waiting = vec![project().join(folder)];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Runs a program in the project's folder and shows what it prints.
fn call(program: &str, args: &[&str]) -> Outcome {
    call_with(Command::new(program).args(args))
}

fn call_with(command: &mut Command) -> Outcome {
    let status = command.current_dir(project()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed ({status})").into()) }
}
