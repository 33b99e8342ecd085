//! Search: what building the index costs, how fast queries of each kind are, and how soon an appended message is found.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use annals_api::Masking;
use annals_engine::{Engine, Home, IndexOptions, Roots, SearchAnswer, SearchOptions};
use annals_search::Query;
use annals_server::{Options, Server};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memchr::memmem;
use testkit::generate::{self, Random};

use super::lists::{Cost, cost};
use super::{megabytes, peak_memory, transcripts};
use crate::{Outcome, call};

/// So many queries of each kind are timed, each so often.
const QUERIES: usize = 20;
const REPEATED: usize = 5;
/// So many words of each kind are searched for by a program of its own.
const COLD: usize = 5;
/// What is searched for without an index: a text and a pattern that are nowhere, so that everything is read.
const PATTERNS: [(&str, &str, &str); 2] = [
    ("a text that is nowhere", "--fixed", "a phrase that stands nowhere"),
    ("a pattern that is nowhere", "--regex", "phrase(s)? that stands? no[wt]here"),
];
/// So many messages are appended.
const APPENDS: usize = 100;
/// So many transcripts are read to find words to search for, and so many bytes of all of them, at least 20 kB of each.
const SAMPLED_FILES: usize = 600;
const SAMPLED: u64 = 30_000_000;
/// So many words and phrases of each sort are tried at most.
const SAMPLES: usize = 300;

pub(super) fn run(scratch: &Path, corpus: Option<&Path>, rounds: usize) -> Outcome {
    let root = match corpus {
        Some(root) => root.to_owned(),
        None => generated(&scratch.join("search"))?,
    };
    let files = transcripts(&root.join("projects"))?;
    let total: u64 = files.iter().map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len())).sum();
    println!("\nsearch: {} transcripts, {:.0} MB", files.len(), megabytes(total));
    let home = scratch.join("index");
    build(&root, &home)?;
    let words = queries(&Searched::in_index(&root, &home)?, &files)?;
    programs(&root, &home, &words, rounds)?;
    // What is appended goes to a session of its own, so that a corpus that was given stays as it is.
    let appended = scratch.join("appended");
    appends(&appended, &home)?;
    while_serving(&root, &appended, &home)
}

/// Builds an index in a process of its own.
fn build(root: &Path, home: &Path) -> Outcome {
    let output =
        Command::new(std::env::current_exe()?).args(["bench", "--index-of"]).arg(root).arg(home).output()?;
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr)?.into());
    }
    print!("{}", String::from_utf8(output.stdout)?);
    Ok(())
}

/// Builds the index of a config folder and prints what it took.
pub(super) fn print_build(root: &Path, home: &Path) -> Outcome {
    let engine = Engine::open(Roots::given(vec![root.to_owned()])?, Home::at(home));
    let before = peak_memory()?;
    let begun = Instant::now();
    let report =
        engine.update_index(&Masking::default(), &IndexOptions::default(), |_| ControlFlow::Continue(()))?;
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds()?);
    let text = megabytes(report.text_bytes);
    let size = megabytes(fs::metadata(home.join("search.sqlite"))?.len());
    println!(
        "build: {} documents, {text:.0} MB of text; {:.1} MB of text per CPU second, {:.1} per second; \
         size {:.2} of the text; {:.0} MB of memory",
        report.documents,
        text / cpu,
        text / wall,
        size / text,
        peak_memory()? - before
    );
    Ok(())
}

/// Returns the CPU time of this process.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    // In ticks, of which Linux has 100 in a second.
    let status = fs::read_to_string("/proc/self/stat").map_err(|_| "CPU time is measured on Linux only")?;
    let fields = status.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

/// Returns the CPU time of this thread in seconds. On a busy machine it tells more than the time that passes.
fn cpu_of_thread() -> Result<f64, Box<dyn std::error::Error>> {
    // Linux brings the number up to date when the thread gives way.
    std::thread::yield_now();
    let times = fs::read_to_string("/proc/thread-self/schedstat");
    let times = times.map_err(|_| "CPU time is measured on Linux only")?;
    let nanoseconds: f64 = times.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

/// Queries by their kind, which begins with a number for the order.
#[derive(Default)]
struct Kinds(BTreeMap<&'static str, Vec<String>>);

impl Kinds {
    fn add(&mut self, kind: &'static str, query: String) {
        let queries = self.0.entry(kind).or_default();
        if queries.len() < QUERIES && !queries.contains(&query) {
            queries.push(query);
        }
    }
}

/// Something to search in.
struct Searched {
    engine: Engine,
    masking: Masking,
}

impl Searched {
    fn in_index(root: &Path, home: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let engine = Engine::open(Roots::given(vec![root.to_owned()])?, Home::at(home));
        Ok(Self { engine, masking: Masking::default() })
    }

    fn ask(&self, query: &str, options: &SearchOptions) -> Result<SearchAnswer, Box<dyn std::error::Error>> {
        Ok(self.engine.search(&Query::parse(query)?, &self.masking, options)?)
    }
}

/// Samples queries of each kind from transcripts.
fn sampled(searched: &Searched, files: &[PathBuf]) -> Result<Kinds, Box<dyn std::error::Error>> {
    let samples = Samples::of(files)?;
    let count = SearchOptions { limit: 1, ..SearchOptions::default() };
    let mut kinds = Kinds::default();
    for word in &samples.words {
        match searched.ask(word, &count)?.total {
            0 => continue,
            1..=500 => kinds.add("01 rare word", word.clone()),
            501..=4_000 => kinds.add("02 word with up to 4,000 hits", word.clone()),
            _ => {
                kinds.add("03 frequent word", word.clone());
                kinds.add("09 frequent word, filtered", format!("{word} role:user after:2025-01-01"));
                kinds.add("10 frequent word, a tool", format!("{word} tool:bash"));
                kinds.add("12 frequent word, files", format!("{word} file:src"));
                kinds.add("13 frequent word, sessions", format!("{word} session:1"));
            }
        }
        if word.len() > 5 && word.is_ascii() {
            kinds.add("08 prefix", format!("{}*", &word[..4]));
            kinds.add("11 misspelt", format!("{}q{}", &word[..3], &word[3..]));
        }
    }
    for phrase in &samples.phrases {
        match searched.ask(phrase, &count)?.total {
            0 => {}
            1..=500 => kinds.add("04 rare phrase", phrase.clone()),
            501..=4_000 => kinds.add("05 phrase with up to 4,000 hits", phrase.clone()),
            _ => kinds.add("06 frequent phrase", phrase.clone()),
        }
    }
    samples.pairs.iter().for_each(|pair| kinds.add("07 two Chinese characters", pair.clone()));
    Ok(kinds)
}

/// Times queries of each kind in an index that exists, and writes the answers to a file, so that those of two builds can be compared.
pub(super) fn print_searches(root: &Path, home: &Path, answers: &Path) -> Outcome {
    let searched = Searched::in_index(root, home)?;
    let kinds = sampled(&searched, &transcripts(&root.join("projects"))?)?;
    let mut out = BufWriter::new(File::create(answers)?);
    let now = "2026-11-01T00:00:00Z".parse::<Timestamp>()?.to_zoned(TimeZone::UTC);
    for query in kinds.0.values().flatten() {
        for per_session in [Some(3), None] {
            let options = SearchOptions { per_session, now: now.clone(), ..SearchOptions::default() };
            write_answer(&mut out, query, &searched.ask(query, &options)?)?;
        }
    }
    out.flush()?;
    time_queries(&searched, &kinds)
}

/// Writes what an answer has, but for the last digits of scores, in which sums in another order differ.
fn write_answer(out: &mut dyn io::Write, query: &str, answer: &SearchAnswer) -> Outcome {
    let SearchAnswer { total, sessions, ranking, corrections, .. } = answer;
    writeln!(out, "{query}: {total} in {sessions} {ranking:?} {corrections:?}")?;
    for hit in &answer.hits {
        let (path, text) = (hit.file.path.display(), &hit.snippet.text);
        writeln!(
            out,
            "  {:.9} {path} {:?} {:?} {} {text:?}",
            hit.score, hit.entry, hit.part, hit.in_session
        )?;
    }
    Ok(())
}

/// Times queries of each kind. Returns words that are found, rare ones and frequent ones.
fn queries(searched: &Searched, files: &[PathBuf]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let kinds = sampled(searched, files)?;
    time_queries(searched, &kinds)?;
    let begun = Instant::now();
    let needle = memmem::Finder::new("a phrase that stands nowhere");
    let found =
        files.iter().filter(|path| fs::read(path).is_ok_and(|bytes| needle.find(&bytes).is_some())).count();
    println!(
        "a scan of all bytes, for comparison: {:.0} ms ({found} hits)",
        begun.elapsed().as_secs_f64() * 1e3
    );
    let words = kinds.0.iter().filter(|(kind, _)| kind.ends_with("word")).map(|(_, words)| words);
    Ok(words.flat_map(|words| words.iter().take(COLD)).cloned().collect())
}

/// Prints the time of queries of each kind.
fn time_queries(searched: &Searched, kinds: &Kinds) -> Outcome {
    println!(
        "{:<34} {:>7} {:>10} {:>9} {:>9} {:>9} {:>9}",
        "ms of CPU", "queries", "mean hits", "p50", "p95", "flat p50", "flat p95"
    );
    for (kind, queries) in &kinds.0 {
        let mut hits = 0;
        let mut times = [Vec::new(), Vec::new()];
        for query in queries {
            for (times, per_session) in times.iter_mut().zip([Some(3), None]) {
                let options = SearchOptions { per_session, ..SearchOptions::default() };
                hits += searched.ask(query, &options)?.total;
                for _ in 0..REPEATED {
                    let begun = cpu_of_thread()?;
                    searched.ask(query, &options)?;
                    times.push((cpu_of_thread()? - begun) * 1e3);
                }
            }
        }
        let [grouped, flat] = &mut times;
        println!(
            "{:<34} {:>7} {:>10} {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
            &kind[3..],
            queries.len(),
            hits / (2 * queries.len() as u64),
            percentile(grouped, 50),
            percentile(grouped, 95),
            percentile(flat, 50),
            percentile(flat, 95)
        );
    }
    Ok(())
}

/// Times `annals search` from its start to its end: with the index, and without it beside ripgrep.
fn programs(root: &Path, home: &Path, words: &[String], rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let program = std::env::current_exe()?.with_file_name("annals");
    let annals = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).arg("--root").arg(root).env("ANNALS_HOME", home).env("HOME", home);
        command
    };
    let (mut times, mut cpu, mut walks) = (Vec::new(), Vec::new(), Vec::new());
    for word in words {
        let search = annals(&["search", word]);
        for _ in 0..rounds {
            let used = cost(&search)?;
            times.push(used.seconds * 1e3);
            cpu.push(used.cpu * 1e3);
            let begun = cpu_of_thread()?;
            black_box(walk(&root.join("projects")));
            walks.push((cpu_of_thread()? - begun) * 1e3);
        }
    }
    let walk = percentile(&mut walks, 50);
    println!(
        "`annals search WORD` as a program, {} words: {:.1} ms (p95 {:.1}), {:.1} ms of CPU (p95 {:.1}); \
         a walk that reads the state of each file takes {walk:.1} ms of CPU, {:.2} of the program",
        words.len(),
        percentile(&mut times, 50),
        percentile(&mut times, 95),
        percentile(&mut cpu, 50),
        percentile(&mut cpu, 95),
        walk / percentile(&mut cpu, 50)
    );
    let has_ripgrep = Command::new("rg").arg("--version").output().is_ok_and(|found| found.status.success());
    println!("{:<34} {:>10} {:>10} {:>10} {:>10}", "without an index", "ms", "ms of CPU", "rg, ms", "ratio");
    for (name, option, pattern) in PATTERNS {
        let ours = annals(&["search", option, pattern]);
        let mut ripgrep = Command::new("rg");
        ripgrep.args(["--no-ignore", "--count", "-e", pattern]).arg(root.join("projects"));
        let mut best = [Cost { seconds: f64::INFINITY, cpu: f64::INFINITY, memory: 0.0 }; 2];
        for _ in 0..rounds {
            best[0].improve(cost(&ours)?);
            if has_ripgrep {
                best[1].improve(cost(&ripgrep)?);
            }
        }
        let [ours, theirs] = best.map(|cost| cost.seconds * 1e3);
        let compared = if has_ripgrep {
            format!("{theirs:>10.0} {:>10.2}", ours / theirs)
        } else {
            format!("{:>21}", "rg is not there")
        };
        println!("{name:<34} {ours:>10.0} {:>10.0} {compared}", best[0].cpu * 1e3);
    }
    Ok(())
}

/// Reads the state of each file below a folder, as every search would have to without the listings of the index.
fn walk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let length = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => walk(&entry.path()),
        _ => entry.metadata().map_or(0, |metadata| metadata.len()),
    };
    entries.map(length).sum()
}

/// Times how soon an appended message is found, if the changed file is named.
fn appends(root: &Path, home: &Path) -> Outcome {
    let project = root.join("projects/-home-mia-tea");
    fs::create_dir_all(&project)?;
    let path = project.join("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
    let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
    generate::session(&mut file, 16, 10_000_000)?;
    let engine = Engine::open(Roots::given(vec![root.to_owned()])?, Home::at(home));
    let (filter, options) = (Masking::default(), IndexOptions::default());
    engine.update_index_files(&filter, &options, std::slice::from_ref(&path))?;
    let (mut updates, mut searches) = (Vec::new(), Vec::new());
    for number in 0..APPENDS {
        let word = format!("appended{number}word");
        writeln!(
            file,
            r#"{{"type":"user","uuid":"x{number}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"Say {word} again"}}}}"#
        )?;
        let begun = Instant::now();
        engine.update_index_files(&filter, &options, std::slice::from_ref(&path))?;
        updates.push(begun.elapsed().as_secs_f64() * 1e3);
        let found = engine.search(&Query::parse(&word)?, &filter, &SearchOptions::default())?;
        searches.push(begun.elapsed().as_secs_f64() * 1e3);
        if found.hits.len() != 1 {
            return Err(format!("{word} was not found").into());
        }
    }
    println!(
        "append to a session of 10 MB: indexed after {:.1} ms (p95 {:.1}), found after {:.1} ms (p95 {:.1})",
        percentile(&mut updates, 50),
        percentile(&mut updates, 95),
        percentile(&mut searches, 50),
        percentile(&mut searches, 95)
    );
    Ok(())
}

/// Times how soon an appended message is found while a server runs that keeps the index up to date.
fn while_serving(root: &Path, appended: &Path, home: &Path) -> Outcome {
    let roots = Roots::given(vec![root.to_owned(), appended.to_owned()])?;
    let engine = Engine::open(roots, Home::at(home));
    let path = appended.join("projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a56.jsonl");
    let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
    let server = Server::new(engine.clone(), Options::default());
    let _keeper = server.keep_index()?;
    let filter = Masking::default();
    let mut times = Vec::new();
    for number in 0..=APPENDS {
        let word = format!("served{number}word");
        let query = Query::parse(&word)?;
        let line = format!(
            r#"{{"type":"user","uuid":"y{number}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"Say {word} again"}}}}"#
        );
        let begun = Instant::now();
        file.write_all(format!("{line}\n").as_bytes())?;
        while engine.search(&query, &filter, &SearchOptions::default())?.hits.is_empty() {
            if begun.elapsed() > Duration::from_secs(30) {
                return Err(format!("{word} was not found").into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // The first one waits until the server has compared everything with the index.
        if number > 0 {
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        // Somebody who writes pauses, so that appends are not indexed together.
        std::thread::sleep(Duration::from_millis(20));
    }
    println!(
        "append while serving: found after {:.1} ms (p95 {:.1})",
        percentile(&mut times, 50),
        percentile(&mut times, 95)
    );
    Ok(())
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or(f64::NAN)
}

/// Words, phrases and pairs of characters to search for, as they stand in transcripts, each once.
#[derive(Default)]
struct Samples {
    words: Vec<String>,
    phrases: Vec<String>,
    pairs: Vec<String>,
}

impl Samples {
    fn of(files: &[PathBuf]) -> Result<Self, Box<dyn std::error::Error>> {
        let (mut plain, mut marked, mut short, mut long) = Default::default();
        let mut samples = Self::default();
        let mut random = Random::new(1);
        let each = (SAMPLED / files.len() as u64).max(20_000);
        for _ in 0..SAMPLED_FILES {
            let path = random.pick(files);
            let mut bytes = Vec::new();
            File::open(path)?.take(each).read_to_end(&mut bytes)?;
            let text = String::from_utf8_lossy(&bytes);
            let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
            for _ in 0..10 {
                let at = usize::try_from(random.below(words.len() as u64)).unwrap_or(0);
                let is_word = |word: &&&str| {
                    (3..20).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase())
                };
                let follow = words[at..].iter().take(5).take_while(is_word).count();
                match follow {
                    // Identifiers and numbers are rarer than words.
                    0 if (6..40).contains(&words[at].len()) => add(&mut marked, words[at].to_owned()),
                    0 => {}
                    1 => add(&mut plain, words[at].to_owned()),
                    2..=4 => {
                        add(&mut plain, words[at].to_owned());
                        add(&mut short, format!("\"{}\"", words[at..at + 2].join(" ")));
                    }
                    _ => add(&mut long, format!("\"{}\"", words[at..at + 5].join(" "))),
                }
            }
            let is_han = |c: &char| ('\u{4e00}'..='\u{9fff}').contains(c);
            let pair: String = text.chars().skip_while(|c| !is_han(c)).take_while(is_han).take(2).collect();
            if pair.chars().count() == 2 {
                add(&mut samples.pairs, pair);
            }
        }
        samples.words = [plain, marked].concat();
        samples.phrases = [short, long].concat();
        Ok(samples)
    }
}

/// Adds a sample, unless there are enough or it is one already.
fn add(samples: &mut Vec<String>, sample: String) {
    if samples.len() < SAMPLES && !samples.contains(&sample) {
        samples.push(sample);
    }
}

/// Writes sessions of 100 MB.
fn generated(root: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let project = root.join("projects/-home-mia-tea");
    fs::create_dir_all(&project)?;
    for seed in 0..200 {
        let path = project.join(format!("aaaaaaaa-0000-4000-8000-{seed:012}.jsonl"));
        let mut out = BufWriter::new(File::create(path)?);
        generate::session(&mut out, seed, 500_000)?;
        out.flush()?;
    }
    Ok(root.to_owned())
}
