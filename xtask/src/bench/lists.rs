//! Lists, compared with a bare directory walk, and with Claude Code's SDK on the same folder.

use std::fs::{self, File, FileTimes};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use annals_engine::{Engine, Home, ListOptions, Roots};
use annals_transcript::lite::Lite;
use testkit::generate;

use crate::{Outcome, call};

/// The number of generated sessions, and the size of each.
const SESSIONS: u64 = 10_000;
const BYTES: u64 = 30_000;

pub(super) fn run(scratch: &Path, corpus: Option<&Path>, rounds: usize) -> Outcome {
    let root = match corpus {
        Some(root) => root.to_owned(),
        None => generated(&scratch.join("lists"))?,
    };
    in_process(scratch, &root, rounds)?;
    as_programs(scratch, &root, rounds)
}

/// Compares lists with a directory walk that stats each file.
fn in_process(scratch: &Path, root: &Path, rounds: usize) -> Outcome {
    let home = scratch.join("home");
    // What is appended goes into a folder of its own: the other may be somebody's.
    let beside = scratch.join("beside");
    let growing = session_in(&beside, 0)?;
    let engine = Engine::open(Roots::given(vec![root.to_owned(), beside])?, Home::at(&home));
    let forget = || fs::remove_dir_all(&home).unwrap_or_default();
    let all = ListOptions::default();
    let short = ListOptions { limit: Some(20), ..ListOptions::default() };
    println!("\nlists of {} sessions, best of {rounds} rounds", engine.list(&all).sessions.len());
    println!("{:<36} {:>12} {:>12}", "", "ms", "× the walk");
    let contenders: [Contender<'_>; 6] = [
        ("walk and stat", &|| {}, &|| _ = black_box(walk(root))),
        ("list, nothing remembered", &forget, &|| drop(engine.list(&all))),
        ("list, remembered", &|| {}, &|| drop(engine.list(&all))),
        ("list after one append", &|| append_to(&growing), &|| drop(engine.list(&all))),
        ("--limit 20, nothing remembered", &forget, &|| drop(engine.list(&short))),
        ("--limit 20, remembered", &|| {}, &|| drop(engine.list(&short))),
    ];
    let mut best = [f64::INFINITY; 6];
    for _ in 0..rounds {
        for ((_, prepare, work), best) in contenders.iter().zip(&mut best) {
            prepare();
            let begun = Instant::now();
            work();
            *best = best.min(begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    for ((name, ..), ms) in contenders.iter().zip(best) {
        println!("{name:<36} {ms:>12.2} {:>12.2}", ms / best[0]);
    }
    Ok(())
}

/// Its name, what is done before each round, and what is measured.
type Contender<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn());

/// Compares the program with Claude Code's SDK, each in a process of its own, from its start to its end.
fn as_programs(scratch: &Path, root: &Path, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let this = std::env::current_exe()?;
    let sdk = sdk()?;
    let (home, empty) = (scratch.join("home"), scratch.join("empty"));
    fs::create_dir_all(empty.join("projects"))?;
    let annals = |root: &Path, more: &[&str]| {
        let mut command = Command::new(this.with_file_name("annals"));
        command.args(["list", "--json", "--root"]).arg(root).args(more);
        command.env("ANNALS_HOME", if root == empty { &empty } else { &home }).env("HOME", scratch);
        command
    };
    let listed_by_sdk = |root: &Path| {
        let script = "const sdk = await import(process.argv[1]); await sdk.listSessions({})";
        let mut command = Command::new("node");
        command.args(["--input-type=module", "-e", script]).arg(&sdk);
        command.env("CLAUDE_CONFIG_DIR", root).env("HOME", scratch);
        command
    };
    let mut programs = vec![
        ("annals list, nothing remembered", annals(root, &[])),
        ("annals list, remembered", annals(root, &[])),
        ("annals list --limit 20, remembered", annals(root, &["--limit", "20"])),
        ("annals list of nothing", annals(&empty, &[])),
    ];
    if sdk.exists() {
        programs.push(("Claude Code's SDK, listSessions", listed_by_sdk(root)));
        programs.push(("Claude Code's SDK, empty folder", listed_by_sdk(&empty)));
    }
    let mut best = vec![Cost::WORST; programs.len()];
    for _ in 0..rounds {
        fs::remove_dir_all(&home).unwrap_or_default();
        for ((_, program), best) in programs.iter().zip(&mut best) {
            best.improve(cost(program)?);
        }
    }
    println!("\n{:<36} {:>12} {:>12} {:>12}", "as programs", "ms", "ms of CPU", "MB at peak");
    for ((name, _), cost) in programs.iter().zip(&best) {
        println!("{name:<36} {:>12.1} {:>12.1} {:>12.1}", cost.seconds * 1e3, cost.cpu * 1e3, cost.memory);
    }
    match &best[..] {
        [ours, _, _, ours_of_nothing, theirs, theirs_of_nothing] => {
            let list = (theirs.cpu - theirs_of_nothing.cpu) / (ours.cpu - ours_of_nothing.cpu);
            println!("CPU of the SDK: {:.1} × ours; without the start {list:.1} ×", theirs.cpu / ours.cpu);
        }
        _ => println!("Claude Code's SDK: not measured (`cargo x oracle` installs it)"),
    }
    Ok(())
}

/// Returns the path at which `cargo x oracle` installs Claude Code's SDK.
pub(super) fn sdk() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let this = std::env::current_exe()?;
    let target = this.parent().and_then(Path::parent).ok_or("not in a target folder")?;
    Ok(target.join("oracle/npm/node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs"))
}

/// The resource usage of a program and its child processes.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    pub(super) seconds: f64,
    pub(super) cpu: f64,
    /// The peak memory in megabytes, but at least that of the Python process that measures it.
    pub(super) memory: f64,
}

impl Cost {
    /// What any other is better than.
    pub(super) const WORST: Cost = Cost { seconds: f64::INFINITY, cpu: f64::INFINITY, memory: 0.0 };

    /// Keeps the shorter times and the larger memory.
    pub(super) fn improve(&mut self, other: Cost) {
        self.seconds = self.seconds.min(other.seconds);
        self.cpu = self.cpu.min(other.cpu);
        self.memory = self.memory.max(other.memory);
    }
}

/// Runs a program from Python, which can read the resource usage of a child process.
pub(super) fn cost(program: &Command) -> Result<Cost, Box<dyn std::error::Error>> {
    const SCRIPT: &str = "import os, subprocess, sys, time; begun = time.monotonic(); \
        child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL); \
        _, status, used = os.wait4(child.pid, 0); \
        print(time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, os.waitstatus_to_exitcode(status))";
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT]).arg(program.get_program()).args(program.get_args());
    python.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = python.output()?;
    let text = String::from_utf8(output.stdout)?;
    let figures = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    match figures[..] {
        // That nothing was found is an answer too.
        [seconds, cpu, memory, 0.0 | 1.0] => Ok(Cost { seconds, cpu, memory }),
        _ => Err(format!("{program:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Generates sessions in twenty projects, unless they exist.
pub(super) fn generated(root: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    if !root.exists() {
        for number in 0..SESSIONS {
            session_in(root, number)?;
        }
    }
    Ok(root.to_owned())
}

fn session_in(root: &Path, number: u64) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let folder = root.join(format!("projects/-home-dev-work-{}", number % 20));
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"));
    let mut out = BufWriter::new(File::create(&path)?);
    generate::session(&mut out, number, BYTES)?;
    // Each was written last when its last entry was.
    let file = out.into_inner()?;
    let size = fs::metadata(&path)?.len();
    if let Some(last) = Lite::read(&mut File::open(&path)?, size)?.last_at {
        file.set_times(FileTimes::new().set_modified(last.into()))?;
    }
    Ok(path)
}

pub(super) fn walk(root: &Path) -> u64 {
    let folders = fs::read_dir(root.join("projects")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path())).flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

fn append_to(path: &Path) {
    let file = fs::OpenOptions::new().append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(b"{\"type\":\"mode\",\"mode\":\"normal\"}\n"));
    written.expect("a session can be written");
}
