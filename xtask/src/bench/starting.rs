//! How long short commands take from their start to their answer, compared with the start of a program that does nothing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::json;

use super::{lists, median};
use crate::{Outcome, call};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How often each command is run in a round: each run takes a few milliseconds, and the median needs many.
const RUNS: usize = 20;

/// What is measured: its name, the most milliseconds that it should take, and what runs it.
type Contender<'a> = (&'static str, Option<f64>, &'a dyn Fn() -> Result<f64>);

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let program = std::env::current_exe()?.with_file_name("annals");
    let many = lists::generated(&scratch.join("lists"))?;
    let empty = scratch.join("empty");
    fs::create_dir_all(empty.join("projects"))?;
    let annals = |root: &Path, args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).env("CLAUDE_CONFIG_DIR", root);
        command.env("ANNALS_HOME", scratch.join("starting")).env("HOME", scratch);
        command
    };
    let complete = |word: &str| {
        let mut command = annals(&many, &["--", "annals", "show", word]);
        command.envs([("_ANNALS_COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", "2")]);
        command
    };
    let contenders: [Contender<'_>; 7] = [
        ("true", None, &|| ended(Command::new("true"), false)),
        ("annals --version", Some(5.0), &|| ended(annals(&empty, &["--version"]), true)),
        ("annals list, empty home", Some(5.0), &|| ended(annals(&empty, &["list", "--limit", "20"]), false)),
        ("annals list --limit 20", None, &|| ended(annals(&many, &["list", "--limit", "20"]), true)),
        ("completion of an id", None, &|| ended(complete("0000001"), true)),
        ("completion of an empty word", None, &|| ended(complete(""), true)),
        ("annals mcp, first answer", None, &|| first_answer(annals(&many, &["mcp"]))),
    ];
    // The catalogue of the sessions is made before.
    ended(annals(&many, &["list"]), true)?;
    let mut times = [const { Vec::new() }; 7];
    for _ in 0..rounds * RUNS {
        for ((_, _, work), times) in contenders.iter().zip(&mut times) {
            times.push(work()?);
        }
    }
    println!("\nstart to answer, 10,000 sessions, median of {} runs", rounds * RUNS);
    println!("{:<30} {:>10} {:>10} {:>10}", "", "ms", "× true", "at most");
    let nothing = median(&mut times[0]);
    for ((name, most, _), times) in contenders.iter().zip(&mut times) {
        let ms = median(times);
        let most = most.map_or_else(String::new, |most| format!("{most:.1}"));
        println!("{name:<30} {ms:>10.2} {:>10.2} {most:>10}", ms / nothing);
    }
    Ok(())
}

/// Runs a command to its end and returns the milliseconds that took. One that should print something must not fail: what it
/// measures would be its error.
fn ended(mut command: Command, prints: bool) -> Result<f64> {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    if prints && (output.stdout.is_empty() || !output.status.success()) {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(ms)
}

/// Starts a server and returns the milliseconds to its answer to the first request.
fn first_answer(mut command: Command) -> Result<f64> {
    let begun = Instant::now();
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let answer = exchanged(&mut server);
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    // Without input the server ends.
    drop(server.stdin.take());
    server.wait()?;
    if answer?.contains("\"result\"") { Ok(ms) } else { Err("the server did not answer".into()) }
}

fn exchanged(server: &mut Child) -> Result<String> {
    let client = json!({"name": "bench", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let input = server.stdin.as_mut().ok_or("the server has no input")?;
    writeln!(input, "{request}")?;
    let output = server.stdout.as_mut().ok_or("the server has no output")?;
    let mut answer = String::new();
    BufReader::new(output).read_line(&mut answer)?;
    Ok(answer)
}
