//! This build of annals and another one: the CPU time of commands on the same files, as ratios.
//!
//! The programs run in turn, one after the other, so that both meet the same noise. Each round gives a ratio; the median and the
//! quartiles of all rounds are printed.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use testkit::generate;

use super::lists;
use crate::{Outcome, call};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const BYTES: u64 = 10_000_000;
/// Fewer rounds say little about quartiles.
const FEWEST_ROUNDS: usize = 20;
/// How often each request is sent to the server.
const REQUESTS: usize = 300;
/// How many times a session grows while it is followed, and by how many bytes.
const APPENDS: u64 = 10;
const APPENDED: u64 = 200_000;

/// What is measured: its name, the arguments, and how it is run.
struct Case {
    name: &'static str,
    args: &'static [&'static str],
    run: Run,
}

enum Run {
    /// On one long session.
    OneSession,
    /// On many sessions, without a catalogue from before.
    ColdList,
    /// On many sessions, with a catalogue.
    WarmList,
    /// On one long session, with requests on standard input.
    Requests,
    /// While a session grows.
    Following,
}

const CASES: [Case; 13] = [
    Case { name: "list, cold", args: &["list"], run: Run::ColdList },
    Case { name: "list, warm", args: &["list"], run: Run::WarmList },
    Case { name: "list --json, warm", args: &["list", "--json"], run: Run::WarmList },
    Case { name: "show", args: &["show", SESSION], run: Run::OneSession },
    Case { name: "show --json", args: &["show", SESSION, "--json"], run: Run::OneSession },
    Case { name: "show --view model", args: &["show", SESSION, "--view", "model"], run: Run::OneSession },
    Case { name: "show --view raw", args: &["show", SESSION, "--view", "raw"], run: Run::OneSession },
    Case { name: "turns", args: &["turns", SESSION], run: Run::OneSession },
    Case { name: "tools", args: &["tools", SESSION], run: Run::OneSession },
    Case { name: "stats", args: &["stats", SESSION], run: Run::OneSession },
    Case { name: "check", args: &["check", SESSION], run: Run::OneSession },
    Case { name: "serve, requests", args: &["serve", "--stdio"], run: Run::Requests },
    Case { name: "tail --all", args: &["tail", "--all", "--json", "--seconds", "2"], run: Run::Following },
];

/// A build of annals, the folder in which it keeps its catalogue, and whether its commands get `--reveal`.
struct Program {
    path: PathBuf,
    home: PathBuf,
    reveals: bool,
}

pub(super) fn run(scratch: &Path, against: &str, rounds: usize, reveal: bool) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let new = std::env::current_exe()?.with_file_name("annals");
    let [old, new] = [(other_build(against)?, "old", false), (new, "new", reveal)]
        .map(|(path, name, reveals)| Program { path, home: scratch.join(name), reveals });
    let one = one_session(&scratch.join("one"))?;
    let many = lists::generated(&scratch.join("many"))?;
    let growing = scratch.join("growing");
    fs::create_dir_all(growing.join("projects/-home-mia-tea"))?;
    let rounds = rounds.max(FEWEST_ROUNDS);
    println!(
        "\nthis build against {against}: CPU of {rounds} rounds, {} masking",
        if reveal { "without" } else { "with" }
    );
    println!("{:<20} {:>9} {:>9} {:>8} {:>18}", "", "other", "this", "ratio", "quartiles");
    for case in &CASES {
        let root = match case.run {
            Run::OneSession | Run::Requests => &one,
            Run::ColdList | Run::WarmList => &many,
            Run::Following => &growing,
        };
        if matches!(case.run, Run::Requests) {
            for program in [&old, &new] {
                build_index(program, root);
            }
        }
        // Both read the files once before, and fill their catalogues.
        cpu(&old, case, root)?;
        cpu(&new, case, root)?;
        let mut pairs = Vec::new();
        for round in 0..rounds {
            let first = (round % 2 == 0).then(|| cpu(&old, case, root)).transpose()?;
            let this = cpu(&new, case, root)?;
            pairs.push((first.map_or_else(|| cpu(&old, case, root), Ok)?, this));
        }
        print(case.name, &pairs);
    }
    Ok(())
}

/// Prints the medians of both programs, and the median and the quartiles of the ratios of all rounds.
fn print(name: &str, pairs: &[(f64, f64)]) {
    let quartile = |values: &mut Vec<f64>, number: usize| {
        values.sort_by(f64::total_cmp);
        values[(values.len() * number / 4).min(values.len() - 1)]
    };
    let mut old = pairs.iter().map(|(old, _)| *old).collect();
    let mut new = pairs.iter().map(|(_, new)| *new).collect();
    let mut ratios = pairs.iter().map(|(old, new)| new / old).collect();
    let [old, new] = [&mut old, &mut new].map(|times| quartile(times, 2) * 1e3);
    let [low, middle, high] = [1, 2, 3].map(|number| quartile(&mut ratios, number));
    println!("{name:<20} {old:>6.1} ms {new:>6.1} ms {middle:>8.3} {low:>9.3}–{high:.3}");
}

/// Runs a program once and returns the CPU time that it took.
fn cpu(program: &Program, case: &Case, root: &Path) -> Result<f64> {
    if matches!(case.run, Run::ColdList) && program.home.exists() {
        fs::remove_dir_all(&program.home)?;
    }
    let mut command = match case.run {
        Run::Requests => {
            let mut shell = Command::new("sh");
            shell.args(["-c", "exec \"$0\" \"$@\" < \"$REQUESTS\""]).arg(&program.path);
            shell.env("REQUESTS", root.join("requests.jsonl"));
            shell
        }
        _ => Command::new(&program.path),
    };
    command.args(case.args).arg("--root").arg(root);
    // A server masks in any case.
    if program.reveals && !matches!(case.run, Run::Requests) {
        command.arg("--reveal");
    }
    command.env("ANNALS_HOME", &program.home).env("HOME", root);
    if matches!(case.run, Run::Following) {
        return following(&command, root);
    }
    Ok(lists::cost(&command)?.cpu)
}

/// Runs a program that follows sessions while one of them grows, and returns the CPU time that it took.
fn following(command: &Command, root: &Path) -> Result<f64> {
    let mut lines = Vec::new();
    generate::session(&mut lines, 17, APPENDED)?;
    let mut session = File::create(root.join(format!("projects/-home-mia-tea/{SESSION}.jsonl")))?;
    let writer = thread::spawn(move || {
        // The program has started by then.
        thread::sleep(Duration::from_millis(500));
        (0..APPENDS).try_for_each(|_| {
            thread::sleep(Duration::from_millis(50));
            session.write_all(&lines)
        })
    });
    let cost = lists::cost(command);
    writer.join().map_err(|_| "the writer panicked")??;
    Ok(cost?.cpu)
}

/// Builds the search index, which a server would otherwise build meanwhile. Builds without search have no such command.
fn build_index(program: &Program, root: &Path) {
    let mut command = Command::new(&program.path);
    command.args(["index", "update", "--root"]).arg(root);
    let _ = command.env("ANNALS_HOME", &program.home).env("HOME", root).output();
}

/// Makes a config folder with one long session, and requests for a server.
fn one_session(root: &Path) -> Result<PathBuf> {
    let project = root.join("projects/-home-mia-tea");
    fs::create_dir_all(&project)?;
    let mut out = BufWriter::new(File::create(project.join(format!("{SESSION}.jsonl")))?);
    generate::session(&mut out, 16, BYTES)?;
    out.flush()?;
    let mut out = BufWriter::new(File::create(root.join("requests.jsonl"))?);
    let methods = ["history/list", "history/read", "history/load", "history/turns"];
    for id in 0..REQUESTS * methods.len() {
        let method = methods[id % methods.len()];
        let params = match method {
            "history/list" => serde_json::json!({"limit": 5}),
            _ => serde_json::json!({"sessionId": SESSION, "limit": 5}),
        };
        writeln!(
            out,
            "{}",
            serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        )?;
    }
    out.flush()?;
    Ok(root.to_owned())
}

/// Returns a program: the file of that name, or the build of a commit, made with the settings of this build.
fn other_build(against: &str) -> Result<PathBuf> {
    if Path::new(against).is_file() {
        return Ok(fs::canonicalize(against)?);
    }
    let target =
        std::env::current_exe()?.parent().and_then(Path::parent).ok_or("no target folder")?.join("releases");
    let source = target.join(against);
    if !source.exists() {
        let path = source.to_str().ok_or("the path of the target folder is not UTF-8")?;
        call("git", &["worktree", "add", "--detach", path, against])?;
    }
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--quiet", "--release", "--package", "annals", "--target-dir"])
        .arg(target.join("target"));
    build
        .current_dir(&source)
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    if !build.status()?.success() {
        return Err(format!("{against} cannot be built").into());
    }
    Ok(target.join("target/release/annals"))
}
