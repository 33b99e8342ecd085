//! Sessions with many tool calls: the time per call should stay flat, whether the calls stand in one line or in a chain.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use annals_api::CancelToken;
use annals_api::rpc::Params;
use annals_engine::{Engine, Home, Roots};
use annals_server::{Options, Server};
use serde_json::{Value, json};
use testkit::generate;

use super::lists::cost;
use super::median;
use crate::{Outcome, call};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const SIZES: [u32; 3] = [1_000, 10_000, 100_000];

/// How calls are laid out in a session.
#[derive(Clone, Copy)]
enum Shape {
    /// All calls in one entry, all results in the next one.
    OneLine,
    /// Each call and each result in an entry of its own.
    Chain,
}

/// What is measured: a program that reads the one session of a config folder.
type Operation<'a> = (&'static str, &'a dyn Fn(&Path) -> Command);

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let this = std::env::current_exe()?;
    let annals = |root: &Path, args: &[&str]| {
        let mut command = Command::new(this.with_file_name("annals"));
        command.args(args).arg("--root").arg(root);
        command.env("ANNALS_HOME", root.join("annals")).env("HOME", root);
        command
    };
    let pages = |method: &str, root: &Path| {
        let mut command = Command::new(&this);
        command.args(["bench", "--all-pages", method]).arg(root);
        command
    };
    let acp = |root: &Path| {
        let mut command = Command::new("sh");
        command.args(["-c", "\"$0\" serve --stdio --root \"$1\" < \"$1/acp.jsonl\""]);
        command.arg(this.with_file_name("annals")).arg(root);
        command.env("ANNALS_HOME", root.join("annals")).env("HOME", root);
        command
    };
    let operations: [Operation<'_>; 8] = [
        ("show", &|root| annals(root, &["show", SESSION])),
        ("show --json", &|root| annals(root, &["show", SESSION, "--json"])),
        ("show --view model", &|root| annals(root, &["show", SESSION, "--view", "model"])),
        ("turns", &|root| annals(root, &["turns", SESSION])),
        ("tools", &|root| annals(root, &["tools", SESSION])),
        ("history/load", &|root| pages("history/load", root)),
        ("history/read", &|root| pages("history/read", root)),
        ("ACP session/load", &acp),
    ];
    for (name, shape) in [("all calls in one line", Shape::OneLine), ("a chain of calls", Shape::Chain)] {
        println!("\n{name}: µs of CPU per call, without the start of the program");
        println!("{:<20} {:>9} {:>9} {:>9} {:>18}", "calls", SIZES[0], SIZES[1], SIZES[2], "last × first");
        let root = |calls: u32| made(&scratch.join(format!("calls-{}-{calls}", name.len())), shape, calls);
        let smallest = root(1)?;
        let roots = SIZES.map(root).into_iter().collect::<Result<Vec<_>>>()?;
        for (name, operation) in operations {
            print_row(name, operation, &smallest, &roots, rounds)?;
        }
    }
    Ok(())
}

/// Measures one operation; the rounds of all sizes are interleaved, and the median counts.
fn print_row(
    name: &str,
    operation: &dyn Fn(&Path) -> Command,
    smallest: &Path,
    roots: &[PathBuf],
    rounds: usize,
) -> Outcome {
    let mut starts = Vec::new();
    let mut times = vec![Vec::new(); roots.len()];
    for _ in 0..rounds {
        starts.push(cost(&operation(smallest))?.cpu);
        for (root, times) in roots.iter().zip(&mut times) {
            times.push(cost(&operation(root))?.cpu);
        }
    }
    let start = median(&mut starts);
    let each: Vec<f64> = SIZES
        .iter()
        .zip(&mut times)
        .map(|(calls, times)| (median(times) - start) * 1e6 / f64::from(*calls))
        .collect();
    println!("{name:<20} {:>9.2} {:>9.2} {:>9.2} {:>18.2}", each[0], each[1], each[2], each[2] / each[0]);
    Ok(())
}

/// Makes a config folder with one session, and what an ACP client would ask of it.
fn made(root: &Path, shape: Shape, calls: u32) -> Result<PathBuf> {
    let project = root.join("projects/-home-mia-tea");
    fs::create_dir_all(&project)?;
    let mut out = BufWriter::new(File::create(project.join(format!("{SESSION}.jsonl")))?);
    match shape {
        Shape::OneLine => generate::calls_in_one_line(&mut out, calls.into())?,
        // Every fourth of these entries makes a call.
        Shape::Chain => generate::entries(&mut out, 4 * u64::from(calls))?,
    }
    out.flush()?;
    let request = |id: u8, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let initialize = request(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let load = json!({"sessionId": SESSION, "cwd": "/home/mia/tea", "mcpServers": []});
    fs::write(root.join("acp.jsonl"), format!("{initialize}\n{}\n", request(2, "session/load", load)))?;
    Ok(root.to_owned())
}

/// Asks for all pages of the session of a folder: the program that is measured for the methods of the server.
pub(super) fn all_pages(method: &str, root: &Path) -> Outcome {
    let engine = Engine::open(Roots::given(vec![root.to_owned()])?, Home::at(root.join("annals")));
    let server = Server::new(engine, Options::default());
    let mut cursor = Value::Null;
    loop {
        let params = Params::of(&json!({"sessionId": SESSION, "cursor": cursor, "limit": 5000}))?;
        let answer =
            server.dispatch(method, &params, &CancelToken::default()).map_err(|error| error.message)?;
        let page: Value = serde_json::from_str(answer.get())?;
        match page.get("nextCursor") {
            Some(next) if !next.is_null() => cursor = next.clone(),
            _ => return Ok(()),
        }
    }
}
