//! Measures how fast texts are analyzed and indexed, and words are corrected.
//!
//! ```text
//! cargo run --release -p annals-search --example measure -- [--index] PATH…
//! ```
//!
//! Reads every `.jsonl` file below the paths and takes each string value of each line as one text; other files are
//! one text each. `--index` also writes the texts to a contentless FTS5 table in memory.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use annals_search::{Columns, TOKENIZER, TokenKind, corrections, for_each_token};
use rusqlite::Connection;
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let (options, paths): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let mut files = Vec::new();
    for path in &paths {
        collect_files(Path::new(path), &mut files)?;
    }
    let mut texts = Vec::new();
    for file in &files {
        let content = String::from_utf8_lossy(&fs::read(file)?).into_owned();
        if file.extension().is_none_or(|extension| extension != "jsonl") {
            texts.push(content);
            continue;
        }
        for line in content.lines() {
            collect_strings(serde_json::from_str(line).unwrap_or_default(), &mut texts);
        }
    }
    let bytes = texts.iter().map(String::len).sum::<usize>();
    println!("{} texts, {:.1} MB", texts.len(), megabytes(bytes));
    for _ in 0..3 {
        let mut count = 0_usize;
        let tokens = timed(|| texts.iter().for_each(|text| for_each_token(text, |_| count += 1)));
        println!(
            "tokens   {:6.0} MB per CPU-second, {count} tokens",
            megabytes(bytes) / tokens.as_secs_f64()
        );
        let mut columns = Columns::default();
        let mut written = 0;
        let filling = timed(|| {
            for text in &texts {
                columns.fill(text);
                written += columns.words.len() + columns.parts.len();
            }
        });
        println!(
            "columns  {:6.0} MB per CPU-second, {written} bytes",
            megabytes(bytes) / filling.as_secs_f64()
        );
    }
    correct(&texts);
    if options.iter().any(|option| option == "--index") {
        index(&texts, bytes)?;
    }
    Ok(())
}

/// Corrects words of the texts that lost their last but one character.
fn correct(texts: &[String]) {
    let mut words = BTreeMap::new();
    for text in texts {
        for_each_token(text, |token| {
            if token.kind == TokenKind::Word {
                match words.get_mut(token.text) {
                    Some(count) => *count += 1,
                    None => drop(words.insert(token.text.to_owned(), 1_u64)),
                }
            }
        });
    }
    let misspelt =
        |word: &str| word.char_indices().nth_back(1).map(|(at, _)| [&word[..at], &word[at + 1..]].concat());
    let is_ascii = |word: &&String| word.is_ascii();
    let sample: Vec<_> = words
        .keys()
        .filter(is_ascii)
        .step_by(words.len() / 20 + 1)
        .filter_map(|word| misspelt(word))
        .collect();
    let mut found = 0;
    let time = timed(|| {
        for word in &sample {
            found += corrections(word, words.iter().map(|(word, &count)| (word.as_str(), count)), 5).len();
        }
    });
    let count = u32::try_from(sample.len()).unwrap_or(1).max(1);
    println!("correction of a word: {:.1?} among {} words, {found} found", time / count, words.len());
}

fn index(texts: &[String], bytes: usize) -> rusqlite::Result<()> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE texts USING fts5(words, parts, content='', tokenize='{TOKENIZER}');
         INSERT INTO texts(texts, rank) VALUES ('hashsize', 67108864), ('automerge', 0);
         BEGIN;"
    ))?;
    let mut insert = connection.prepare("INSERT INTO texts(rowid, words, parts) VALUES (?1, ?2, ?3)")?;
    let mut columns = Columns::default();
    let mut result: rusqlite::Result<()> = Ok(());
    let time = timed(|| {
        result = texts.iter().zip(1_i64..).try_for_each(|(text, id)| {
            columns.fill(text);
            insert.execute((id, &columns.words, &columns.parts)).map(drop)
        });
    });
    result?;
    let mut result = Ok(());
    let committing = timed(|| result = connection.execute_batch("COMMIT"));
    result?;
    let size: i64 =
        connection.query_row("SELECT sum(length(block)) FROM texts_data", [], |row| row.get(0))?;
    println!(
        "index    {:6.0} MB per CPU-second, {:.2} of the text",
        megabytes(bytes) / (time + committing).as_secs_f64(),
        megabytes(usize::try_from(size).unwrap_or_default()) / megabytes(bytes)
    );
    Ok(())
}

fn megabytes(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1e3
}

/// Returns the time that `work` takes.
fn timed(work: impl FnOnce()) -> Duration {
    let start = time_spent();
    work();
    time_spent().saturating_sub(start)
}

/// Returns the processor time of this thread where the system tells it (Linux), else the time that has passed.
fn time_spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn collect_files(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| collect_files(entry, files))
}

fn collect_strings(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() > 40 => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| collect_strings(item, texts)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| collect_strings(field, texts)),
        _ => {}
    }
}
