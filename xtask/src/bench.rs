//! `cargo x bench`: speed and memory as ratios in one run.
//!
//! Absolute times differ between machines and from minute to minute. So the programs that are compared run interleaved on the
//! same bytes, and the best of several rounds counts; for conversations, the median.

mod append;
mod calls;
mod care;
mod export;
mod following;
mod lists;
mod loading;
mod masking;
mod releases;
mod search;
mod server;
mod starting;
mod usage;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use annals_transcript::chain::Chain;
use annals_transcript::line::Entries;
use annals_transcript::session::Session;
use annals_transcript::{Entry, Reader, full_view, model};
use rayon::prelude::*;
use testkit::generate;

use crate::{Outcome, call};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder of transcripts to measure on [default: generated ones]
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// A config folder to measure lists on [default: a generated one]
    #[arg(long, value_name = "DIR")]
    lists: Option<PathBuf>,
    /// Only this part
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Another build of annals to compare this one with: a program or a commit
    #[arg(long, value_name = "COMMIT|PROGRAM", required_if_eq("only", "releases"))]
    against: Option<String>,
    /// Compare it without masking, which other builds may not have
    #[arg(long, requires = "against")]
    reveal: bool,
    /// Rounds; the best counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Size of the file for the memory measurement, in megabytes
    #[arg(long, default_value_t = 1000)]
    megabytes: u64,
    /// Reads the heads of one file and prints the peak memory that it took (used by the bench itself)
    #[arg(long, hide = true, value_name = "FILE")]
    memory_of_heads: Option<PathBuf>,
    /// Does the same for the conversation of one file
    #[arg(long, hide = true, value_name = "FILE")]
    memory_of_conversation: Option<PathBuf>,
    /// Does the same for following all sessions of a config folder
    #[arg(long, hide = true, value_name = "DIR")]
    memory_of_following: Option<PathBuf>,
    /// Appends to many sessions of a config folder at once and prints when all appends were reported
    #[arg(long, hide = true, value_name = "DIR")]
    storm_over: Option<PathBuf>,
    /// Asks for all pages of a method for the session of a config folder
    #[arg(long, hide = true, num_args = 2, value_names = ["METHOD", "DIR"])]
    all_pages: Option<Vec<String>>,
    /// Builds the search index of a config folder in another folder and prints what it took
    #[arg(long, hide = true, num_args = 2, value_names = ["DIR", "HOME"])]
    index_of: Option<Vec<PathBuf>>,
    /// Times searches in the index of a config folder that another folder has, and writes the answers to a file
    #[arg(long, hide = true, num_args = 3, value_names = ["DIR", "HOME", "FILE"])]
    searches_of: Option<Vec<PathBuf>>,
    /// Serves a config folder over HTTP and prints the address
    #[arg(long, hide = true, value_name = "DIR")]
    serve: Option<PathBuf>,
}

/// A part of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Reading,
    Memory,
    Conversations,
    Loading,
    Calls,
    Appends,
    Lists,
    Starting,
    Following,
    Server,
    Masking,
    Export,
    Care,
    Releases,
    Search,
    Usage,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(file) = &args.memory_of_heads {
        return print_memory_of(|| Ok(heads(file)));
    }
    if let Some(file) = &args.memory_of_conversation {
        return print_memory_of(|| Ok(resolve(file)?.nodes().len() as u64));
    }
    if let Some(root) = &args.memory_of_following {
        return print_memory_of(|| following::follow(root));
    }
    if let Some(root) = &args.storm_over {
        return following::storm(root);
    }
    if let Some([method, root]) = args.all_pages.as_deref() {
        return calls::all_pages(method, Path::new(root));
    }
    if let Some([root, home]) = args.index_of.as_deref() {
        return search::print_build(root, home);
    }
    if let Some([root, home, answers]) = args.searches_of.as_deref() {
        return search::print_searches(root, home, answers);
    }
    if let Some(root) = &args.serve {
        return server::serve(root);
    }
    if cfg!(debug_assertions) {
        let mut again = vec!["run", "--quiet", "--release", "--package", "xtask", "--"];
        let typed: Vec<String> = std::env::args().skip(1).collect();
        again.extend(typed.iter().map(String::as_str));
        return call(env!("CARGO"), &again);
    }
    let scratch = tempfile::tempdir()?;
    let wanted = |part| args.only.is_none_or(|only| only == part);
    if wanted(Part::Reading) {
        reading(scratch.path(), args)?;
    }
    if wanted(Part::Memory) {
        memory(scratch.path(), args.megabytes)?;
    }
    if wanted(Part::Conversations) {
        conversations(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Loading) {
        loading::run(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Calls) {
        calls::run(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Appends) {
        append::run(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Lists) {
        lists::run(scratch.path(), args.lists.as_deref(), args.rounds)?;
    }
    if wanted(Part::Starting) {
        starting::run(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Following) {
        following::run(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Server) {
        server::run(scratch.path())?;
    }
    if wanted(Part::Masking) {
        masking::run(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Export) {
        export::run(scratch.path(), args.rounds)?;
    }
    if wanted(Part::Care) {
        care::run(scratch.path(), args.rounds)?;
    }
    if let Some(against) = args.against.as_deref().filter(|_| wanted(Part::Releases)) {
        releases::run(scratch.path(), against, args.rounds, args.reveal)?;
    }
    if wanted(Part::Search) {
        search::run(scratch.path(), args.corpus.as_deref(), args.rounds)?;
    }
    if wanted(Part::Usage) {
        usage::run(scratch.path(), args.corpus.as_deref(), args.rounds)?;
    }
    Ok(())
}

fn reading(scratch: &Path, args: &Args) -> Outcome {
    let files = match &args.corpus {
        Some(folder) => transcripts(folder)?,
        None => generated(scratch)?,
    };
    let total: u64 = files.iter().map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len())).sum();
    println!("{} files, {:.1} MB, best of {} rounds\n", files.len(), megabytes(total), args.rounds);
    speed(&files, total, args.rounds)
}

/// Resolves conversations of growing size: the time per entry should stay flat.
///
/// Each size does the same work, a million entries in as many sessions as that takes, and the rounds of all sizes are
/// interleaved; the median counts. Sessions stay in memory to the end of their round, so that none reuses the memory pages of
/// an earlier one.
fn conversations(scratch: &Path, rounds: usize) -> Outcome {
    const ENTRIES: u64 = 1_000_000;
    println!("\nconversations: reading, chain, model view and full view of {ENTRIES} entries");
    println!(
        "{:>20} {:>10} {:>14} {:>14} {:>16}",
        "entries per session", "MB", "µs per entry", "× the first", "bytes per entry"
    );
    let sizes = [10_000, 100_000, ENTRIES];
    let path = |size: u64| scratch.join(format!("conversation-{size}.jsonl"));
    for size in sizes {
        let mut out = BufWriter::new(File::create(path(size))?);
        generate::entries(&mut out, size)?;
        out.flush()?;
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for (size, times) in sizes.into_iter().zip(&mut times) {
            let start = Instant::now();
            let sessions =
                (0..ENTRIES / size).map(|_| resolve(&path(size))).collect::<Result<Vec<_>, _>>()?;
            times.push(start.elapsed().as_secs_f64());
            drop(sessions);
        }
    }
    let mut first = None;
    for (size, times) in sizes.into_iter().zip(&mut times) {
        let each = median(times) * 1e6 / entries_as_float(ENTRIES);
        print_conversation(&path(size), size, each, *first.get_or_insert(each))?;
    }
    long_conversation(scratch, rounds)
}

/// Does the same for one session whose entries are as long as real ones.
fn long_conversation(scratch: &Path, rounds: usize) -> Outcome {
    let path = scratch.join("conversation-long.jsonl");
    let mut out = BufWriter::new(File::create(&path)?);
    let (_, entries) = generate::session(&mut out, 11, 100_000_000)?;
    out.flush()?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        black_box(resolve(&path)?);
        times.push(start.elapsed().as_secs_f64());
    }
    let each = median(&mut times) * 1e6 / entries_as_float(entries);
    println!("\none session with long entries");
    print_conversation(&path, entries, each, each)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn print_conversation(path: &Path, entries: u64, each: f64, first: f64) -> Outcome {
    let size = megabytes(fs::metadata(path)?.len());
    let memory = memory_of(path, "--memory-of-conversation")? * 1e6 / entries_as_float(entries);
    println!("{entries:>20} {size:>10.1} {each:>14.2} {:>14.2} {memory:>16.0}", each / first);
    Ok(())
}

/// Reads a session and makes both views.
fn resolve(path: &Path) -> Result<Session, Box<dyn std::error::Error>> {
    let session = Session::read(File::open(path)?)?;
    let chain = Chain::build(&session);
    black_box((model::messages(&chain).len(), full_view::of(&chain).len()));
    Ok(session)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn entries_as_float(entries: u64) -> f64 {
    entries as f64
}

/// Returns the peak memory, in megabytes, of a process that works on a file.
fn memory_of(path: &Path, option: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let output = Command::new(std::env::current_exe()?).arg("bench").arg(option).arg(path).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.trim().parse()?)
}

/// Compares ways of reading all files.
fn speed(files: &[PathBuf], total: u64, rounds: usize) -> Outcome {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    let loaded = files.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
    let over_files =
        |work: fn(&Path) -> u64| files.par_iter().with_max_len(1).map(|path| work(path)).sum::<u64>();
    let contenders: [(&str, &dyn Fn() -> u64); 9] = [
        ("newlines in memory, memchr", &|| {
            loaded.iter().map(|file| memchr::memchr_iter(b'\n', file).count() as u64).sum()
        }),
        ("heads in memory", &|| loaded.iter().map(|file| heads_in_memory(file)).sum()),
        ("heads and grammar in memory", &|| loaded.iter().map(|file| verified_in_memory(file)).sum()),
        ("wc -l", &|| wc(files)),
        ("heads, one core", &|| one.install(|| over_files(heads))),
        ("heads, two cores", &|| two.install(|| over_files(heads))),
        ("heads and grammar, one core", &|| one.install(|| over_files(verified))),
        ("serde_json::Value, one core", &|| one.install(|| over_files(value_trees))),
        ("serde_json::Value, two cores", &|| two.install(|| over_files(value_trees))),
    ];
    let mut best = [f64::INFINITY; 9];
    let mut answers = [0; 9];
    for _ in 0..rounds {
        for (index, (_, work)) in contenders.iter().enumerate() {
            let start = Instant::now();
            answers[index] = black_box(work());
            best[index] = best[index].min(start.elapsed().as_secs_f64());
        }
    }
    println!("{:30} {:>8} {:>8} {:>10} {:>12}", "", "GB/s", "× wc -l", "× memchr", "entries");
    for (index, (name, _)) in contenders.iter().enumerate() {
        let rate = |seconds: f64| megabytes(total) / 1000.0 / seconds;
        let (to_wc, to_memchr) = (best[3] / best[index], best[0] / best[index]);
        println!("{name:30} {:8.2} {to_wc:8.2} {to_memchr:10.3} {:12}", rate(best[index]), answers[index]);
    }
    println!(
        "\nheads against serde_json::Value: {:.1} × on one core, {:.1} × on two\n",
        best[7] / best[4],
        best[8] / best[5]
    );
    Ok(())
}

/// Reads a large file in a process of its own and compares its peak memory with the longest line.
fn memory(scratch: &Path, size: u64) -> Outcome {
    let path = scratch.join("large.jsonl");
    let mut out = BufWriter::new(File::create(&path)?);
    let longest = 20_000_000_u64;
    writeln!(out, "{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}", "x".repeat(20_000_000))?;
    let (_, lines) = generate::session(&mut out, 7, size * 1_000_000 - longest)?;
    out.flush()?;
    drop(out);
    let peak = memory_of(&path, "--memory-of-heads")?;
    let (lines, longest) = (lines + 1, megabytes(longest));
    println!(
        "memory: the heads of {size} MB in {lines} lines, the longest of {longest:.1} MB, take {peak:.1} MB at the peak"
    );
    Ok(())
}

/// Prints how much more memory this process took for some work, in megabytes.
fn print_memory_of<T>(work: impl FnOnce() -> Result<T, Box<dyn std::error::Error>>) -> Outcome {
    let before = peak_memory()?;
    black_box(work()?);
    println!("{:.3}", peak_memory()? - before);
    Ok(())
}

/// Returns the peak resident memory of this process in megabytes.
fn peak_memory() -> Result<f64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status").map_err(|_| "memory is measured on Linux only")?;
    let line =
        status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("no number in VmHWM")?.parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}

fn heads(path: &Path) -> u64 {
    count(Reader::new(open(path)), |entry| entry.head().type_name.is_some())
}

fn verified(path: &Path) -> u64 {
    let reader = Reader::new(open(path)).with_grammar_check();
    count(reader, |entry| entry.verify().is_none())
}

fn open(path: &Path) -> File {
    File::open(path).expect("a corpus file can be opened")
}

fn count(mut reader: Reader<File>, counts: fn(&Entry<'_>) -> bool) -> u64 {
    let mut number = 0;
    while let Some(entry) = reader.read().expect("a corpus file can be read") {
        number += u64::from(counts(&entry));
    }
    number
}

fn heads_in_memory(file: &[u8]) -> u64 {
    Entries::of(file).filter(|entry| entry.head().type_name.is_some()).count() as u64
}

fn verified_in_memory(file: &[u8]) -> u64 {
    Entries::of(file).with_grammar_check().filter(|entry| entry.verify().is_none()).count() as u64
}

fn value_trees(path: &Path) -> u64 {
    let mut text = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut text)).expect("a corpus file can be read");
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines
        .filter(|line| {
            serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|value| value["type"].is_string())
        })
        .count() as u64
}

fn wc(files: &[PathBuf]) -> u64 {
    let output = Command::new("wc").arg("-l").args(files).output().expect("wc can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().last().and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Writes 200 MB of sessions of uneven sizes.
fn generated(scratch: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let sizes = [60_000_000, 20_000_000].into_iter().chain(std::iter::repeat_n(300_000, 400));
    let mut files = Vec::new();
    for (seed, bytes) in sizes.enumerate() {
        let path = scratch.join(format!("{seed}.jsonl"));
        let mut out = BufWriter::new(File::create(&path)?);
        generate::session(&mut out, seed as u64, bytes)?;
        out.flush()?;
        files.push(path);
    }
    Ok(files)
}

fn transcripts(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    found.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).map_or(0, |metadata| metadata.len())));
    if found.is_empty() { Err(format!("no transcripts in {}", folder.display()).into()) } else { Ok(found) }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
