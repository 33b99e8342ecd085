//! Following: the delay from an append to its event, the cost of following many files, and many appends at once.

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use annals_engine::{Engine, Event, FollowOptions, Follower, Home, Roots};
use notify::{EventKind, RecursiveMode, Watcher};

use super::lists::{generated, walk};
use super::{entries_as_float, memory_of, peak_memory, transcripts};
use crate::Outcome;

/// The number of appends that are timed, and the time between them.
const APPENDS: usize = 500;
const APART: Duration = Duration::from_millis(10);
/// The number of files that are appended to at once.
const STORM: usize = 5000;
/// What is appended.
const LINE: &[u8] = b"{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"x\"}\n";

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    let root = generated(&scratch.join("lists"))?;
    let files = transcripts(&root.join("projects"))?;
    println!("\nfollowing {} sessions", files.len());
    latency(&scratch.join("bare"), &root, &files)?;
    start(&root, rounds)?;
    let empty = scratch.join("empty");
    fs::create_dir_all(empty.join("projects"))?;
    let memory = memory_of(&root, "--memory-of-following")? - memory_of(&empty, "--memory-of-following")?;
    let each = memory * 1e6 / entries_as_float(files.len() as u64);
    println!("memory: {memory:.2} MB, {each:.0} bytes for each file");
    let output =
        Command::new(std::env::current_exe()?).args(["bench", "--storm-over"]).arg(&root).output()?;
    print!("{}", String::from_utf8(output.stdout)?);
    if output.status.success() { Ok(()) } else { Err(String::from_utf8(output.stderr)?.into()) }
}

pub(super) fn follow(root: &Path) -> Result<Follower, Box<dyn std::error::Error>> {
    let engine = Engine::open(Roots::given(vec![root.to_owned()])?, Home::at("none"));
    Ok(engine.follow(&FollowOptions::default()))
}

/// Compares the time from an append to its entry with that to a bare read of the one file that is watched.
fn latency(bare: &Path, root: &Path, files: &[PathBuf]) -> Outcome {
    println!("{:<36} {:>10} {:>10} {:>10} {:>14}", "µs from append to", "p50", "p95", "max", "× bare (p95)");
    let mut first = None;
    for (name, mut times) in [
        ("a bare notice and read", bare_times(bare)?),
        ("an event, all sessions followed", event_times(&mut follow(root)?, files)?),
    ] {
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times[(times.len() - 1) * part / 100];
        let ratio = at(95) / *first.get_or_insert(at(95));
        println!("{name:<36} {:>10.0} {:>10.0} {:>10.0} {ratio:>14.2}", at(50), at(95), at(100));
    }
    Ok(())
}

/// Appends to files one after the other, in a thread of its own; returns when each append began.
fn append_to(files: Vec<PathBuf>) -> Receiver<Instant> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for path in files.iter().cycle().take(APPENDS) {
            thread::sleep(APART);
            let mut file = OpenOptions::new().append(true).open(path).expect("a session can be opened");
            let begun = Instant::now();
            file.write_all(LINE).expect("a session can be written");
            if sender.send(begun).is_err() {
                return;
            }
        }
    });
    receiver
}

fn bare_times(folder: &Path) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    fs::create_dir_all(folder)?;
    let path = folder.join("one.jsonl");
    let mut file = File::options().append(true).create(true).read(true).open(&path)?;
    let (sender, notices) = channel();
    let mut watcher = notify::recommended_watcher(sender)?;
    watcher.watch(folder, RecursiveMode::NonRecursive)?;
    let begun = append_to(vec![path]);
    let mut times = Vec::new();
    let mut bytes = Vec::new();
    let mut length = 0;
    while times.len() < APPENDS {
        let notice = notices.recv_timeout(Duration::from_secs(10))??;
        if matches!(notice.kind, EventKind::Modify(_)) {
            bytes.clear();
            file.seek(SeekFrom::Start(length))?;
            length += black_box(file.read_to_end(&mut bytes)?) as u64;
            times.push(begun.recv()?.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(times)
}

fn event_times(follower: &mut Follower, files: &[PathBuf]) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    // Every so many, so that all projects have some.
    let some = files.iter().step_by(files.len().div_ceil(APPENDS)).cloned();
    let begun = append_to(some.collect());
    let mut times = Vec::new();
    while times.len() < APPENDS {
        let count = follower.wait(Duration::from_secs(10), |_, happening| {
            if let (Event::Entry { .. }, Ok(begun)) = (black_box(&happening), begun.recv()) {
                times.push(begun.elapsed().as_secs_f64() * 1e6);
            }
        });
        if count == 0 {
            return Err("an append was never told".into());
        }
    }
    Ok(times)
}

/// Compares the time until all files are followed with a directory walk.
fn start(root: &Path, rounds: usize) -> Outcome {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..rounds {
        let begun = Instant::now();
        black_box(walk(root));
        best[0] = best[0].min(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let follower = follow(root)?;
        best[1] = best[1].min(begun.elapsed().as_secs_f64() * 1e3);
        drop(follower);
    }
    let [walk, follow] = best;
    println!("start: {follow:.1} ms, {:.2} × walk and stat ({walk:.1} ms)", follow / walk);
    Ok(())
}

/// Appends to many files at once and prints the time until all appends were reported. Runs in a process of its own.
pub(super) fn storm(root: &Path) -> Outcome {
    let files = transcripts(&root.join("projects"))?;
    let files: Vec<_> = files.into_iter().take(STORM).collect();
    let number = files.len();
    let mut follower = follow(root)?;
    let before = peak_memory()?;
    let begun = Instant::now();
    let writer = thread::spawn(move || {
        for path in files {
            let mut file = OpenOptions::new().append(true).open(path).expect("a session can be opened");
            file.write_all(LINE).expect("a session can be written");
        }
        begun.elapsed()
    });
    let mut told = 0;
    while told < number && begun.elapsed() < Duration::from_secs(60) {
        follower.wait(Duration::from_secs(1), |_, happening| {
            told += usize::from(matches!(happening, Event::Entry { .. }));
        });
    }
    let took = begun.elapsed();
    let written = writer.join().map_err(|_| "the writer failed")?;
    if told != number {
        return Err(format!("of {number} appends at once, {told} were told").into());
    }
    println!(
        "storm: {number} appends in {:.0} ms, all told after {:.0} ms, {:.1} µs each, {:.2} MB more at the peak",
        written.as_secs_f64() * 1e3,
        took.as_secs_f64() * 1e3,
        took.as_secs_f64() * 1e6 / entries_as_float(number as u64),
        peak_memory()? - before
    );
    Ok(())
}
