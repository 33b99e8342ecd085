//! Appending: the recorder compared with a bare `cat >>`, and on files of growing length.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use annals_transcript::write::{Draft, Envelope, Recorder, Sync, Target, new_id};
use testkit::generate;

use super::{entries_as_float, megabytes};
use crate::Outcome;

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    println!("\nappends (nothing synced): batches of messages of 1 kB");
    println!("{:>6}  {:<36} {:>12} {:>10} {:>10}", "lines", "", "appends/s", "MB/s", "× cat >>");
    for (lines, batches) in [(1, 500), (100, 50)] {
        compare(scratch, lines, batches, rounds)?;
    }
    println!("\ntime of a batch of 100 lines, by what the file already holds");
    println!("{:>12} {:>14} {:>14}", "lines", "µs per batch", "× the first");
    let mut first = None;
    for held in [10, 1_000_000] {
        let each = per_batch(scratch, held, rounds)?;
        println!("{held:>12} {each:>14.0} {:>14.2}", each / *first.get_or_insert(each));
    }
    Ok(())
}

/// Appends the same lines in three ways: with a `cat` for each batch, with one bare write for each, and recorded.
fn compare(scratch: &Path, lines: usize, batches: usize, rounds: usize) -> Outcome {
    let drafts: Vec<Vec<Vec<u8>>> = (0..batches).map(|_| (0..lines).map(|_| draft()).collect()).collect();
    let folder = scratch.join("append");
    let path = Target::session(&folder, SESSION)?.path();
    fs::create_dir_all(&folder)?;
    record(&folder, &drafts)?;
    let written = fs::read(&path)?;
    let mut ends = memchr::memchr_iter(b'\n', &written).skip(lines - 1).step_by(lines).map(|end| end + 1);
    let mut start = 0;
    let pieces: Vec<&[u8]> = (0..batches)
        .map(|_| {
            let end = ends.next().unwrap_or(written.len());
            let piece = &written[start..end];
            start = end;
            piece
        })
        .collect();
    let batch = scratch.join("batch");
    fs::write(&batch, pieces[0])?;
    let contenders: [(&str, &dyn Fn() -> Outcome); 3] = [
        ("cat >>, a process each", &|| cat(&batch, &path, batches)),
        ("one bare write each", &|| bare(&path, &pieces)),
        ("recorder", &|| record(&folder, &drafts)),
    ];
    let mut best = [f64::INFINITY; 3];
    for _ in 0..rounds {
        for ((_, work), best) in contenders.iter().zip(&mut best) {
            fs::remove_file(&path)?;
            let begun = Instant::now();
            work()?;
            *best = best.min(begun.elapsed().as_secs_f64());
        }
    }
    for ((name, _), seconds) in contenders.iter().zip(best) {
        let appends = entries_as_float(batches as u64) / seconds;
        let speed = megabytes(written.len() as u64) / seconds;
        println!("{lines:>6}  {name:<36} {appends:>12.0} {speed:>10.1} {:>10.2}", best[0] / seconds);
    }
    fs::remove_file(&path)?;
    Ok(())
}

/// A message of about 1 kB, as a program would give it to the recorder.
fn draft() -> Vec<u8> {
    let text = "All good things come to those who write them down. ".repeat(14);
    format!(r#"{{"type":"user","uuid":"{}","message":{{"role":"user","content":"{text}"}}}}"#, new_id())
        .into_bytes()
}

fn cat(batch: &Path, path: &Path, batches: usize) -> Outcome {
    let script = r#"i=0; while [ $i -lt "$3" ]; do cat "$1" >> "$2"; i=$((i+1)); done"#;
    let status = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(batch)
        .arg(path)
        .arg(batches.to_string())
        .status()?;
    if status.success() { Ok(()) } else { Err("cat failed".into()) }
}

fn bare(path: &Path, pieces: &[&[u8]]) -> Outcome {
    for piece in pieces {
        OpenOptions::new().append(true).create(true).open(path)?.write_all(piece)?;
    }
    Ok(())
}

fn record(folder: &Path, batches: &[Vec<Vec<u8>>]) -> Outcome {
    let mut recorder = recorder(folder)?;
    for batch in batches {
        recorder.append(batch.iter().map(|draft| Draft::parse(draft)).collect::<Result<_, _>>()?)?;
        recorder.flush()?;
    }
    Ok(())
}

fn recorder(folder: &Path) -> Result<Recorder, Box<dyn std::error::Error>> {
    let envelope =
        Envelope { cwd: "/home/dev/work".into(), version: "2.1.325".into(), ..Envelope::default() };
    let target = Target::session(folder, SESSION)?;
    Ok(Recorder::builder(target).envelope(envelope).sync(Sync::Never).open()?)
}

/// Returns the microseconds that a batch takes on a file of `held` lines.
fn per_batch(scratch: &Path, held: u64, rounds: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let folder = scratch.join("append");
    let path = Target::session(&folder, SESSION)?.path();
    let mut out = BufWriter::new(File::create(&path)?);
    generate::entries(&mut out, held)?;
    out.flush()?;
    let mut recorder = recorder(&folder)?;
    let mut best = f64::INFINITY;
    for _ in 0..rounds * 20 {
        let batch: Vec<_> = (0..100).map(|_| draft()).collect();
        let begun = Instant::now();
        recorder.append(batch.iter().map(|draft| Draft::parse(draft)).collect::<Result<_, _>>()?)?;
        recorder.flush()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    drop(recorder);
    fs::remove_file(path)?;
    Ok(best * 1e6)
}
