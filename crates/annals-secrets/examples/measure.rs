//! Counts what the rules find in transcripts, and how fast.
//!
//! ```text
//! cargo run --release -p annals-secrets --example measure -- [--show] [--raw | --text] PATH…
//! ```
//!
//! Reads every `.jsonl` file below the paths and masks each string value of each line, as it is when it is shown;
//! with `--raw` the lines as they are in the file. `--text` reads all files and masks each as one text. `--show` prints each finding with the text around it, so that
//! somebody can judge whether it is one.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use annals_secrets::Masker;
use serde_json::Value;

fn main() -> io::Result<()> {
    let (options, paths): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let has_option = |name: &str| options.iter().any(|option| option == name);
    let mut files = Vec::new();
    for path in &paths {
        collect_files(Path::new(path), has_option("--text"), &mut files)?;
    }
    let mut texts = Vec::new();
    for file in &files {
        let content = String::from_utf8_lossy(&fs::read(file)?).into_owned();
        if has_option("--text") {
            texts.push(content);
            continue;
        }
        for line in content.lines() {
            match serde_json::from_str(line) {
                Ok(value) if !has_option("--raw") => collect_strings(value, &mut texts),
                _ => texts.push(line.to_owned()),
            }
        }
    }
    measure(&texts, has_option("--show"));
    Ok(())
}

fn measure(texts: &[String], show: bool) {
    let masker = Masker::new();
    let ((), building) = timed(|| (0..100).for_each(|_| drop(Masker::new())));
    println!("a new masker: {:.2} ms", building.as_secs_f64() * 10.0);
    if let Some(text) = texts.first() {
        let rounds = u32::try_from(1_000_000 / text.len().max(1)).unwrap_or(100).clamp(1, 100);
        let ((), masking) = timed(|| (0..rounds).for_each(|_| drop(Masker::new().mask(text))));
        println!("a new masker and the first text, {} bytes: {:.2?}", text.len(), masking / rounds);
    }
    let count = || texts.iter().map(|text| masker.mask(text).count).sum::<usize>();
    // The first pass compiles the patterns that it needs.
    let ((secrets, first), (_, second)) = (timed(count), timed(count));
    let kilobytes = texts.iter().map(String::len).sum::<usize>() / 1000;
    let megabytes = f64::from(u32::try_from(kilobytes).unwrap_or(u32::MAX)) / 1e3;
    println!("{} texts, {megabytes:.1} MB, {secrets} secrets", texts.len());
    let rate = |time: Duration| megabytes / time.as_secs_f64();
    println!(
        "first pass {first:.1?} ({:.0} MB/s), second pass {second:.1?} ({:.0} MB/s)",
        rate(first),
        rate(second)
    );

    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut distinct = std::collections::BTreeSet::new();
    for text in texts {
        for finding in masker.find(text) {
            let count = counts.entry(finding.rule).or_default();
            count.0 += 1;
            let is_new = distinct.insert((finding.rule, &text[finding.range.clone()]));
            count.1 += usize::from(is_new);
            if show && is_new {
                println!("{:24} {}", finding.rule, around(text, finding.range.start, finding.range.end));
            }
        }
    }
    for (rule, (count, distinct)) in counts {
        println!("{count:6} ({distinct} distinct) {rule}");
    }
}

/// Runs `work`, and returns its result and the time it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = time_spent();
    let result = work();
    (result, time_spent().saturating_sub(start))
}

/// Returns the processor time of this thread where the system reports it (Linux), else the time that has passed.
fn time_spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Returns the secret in angle brackets, with up to 60 bytes before it and 30 after it.
fn around(text: &str, start: usize, end: usize) -> String {
    let boundary = |at: usize| (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let before = &text[boundary(start.saturating_sub(60))..start];
    let behind = &text[end..boundary((end + 30).min(text.len()))];
    format!("{before}⟪{}⟫{behind}", &text[start..end]).replace(['\n', '\r'], "⏎")
}

fn collect_files(path: &Path, all: bool, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        let mut entries =
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| collect_files(entry, all, files));
    }
    if all || path.extension().is_some_and(|extension| extension == "jsonl") {
        files.push(path.to_owned());
    }
    Ok(())
}

fn collect_strings(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| collect_strings(item, texts)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| collect_strings(field, texts)),
        _ => {}
    }
}
