//! Check and repair: the CPU time of `annals check --all` with that of `wc -l`, the repair of a large session, and the time per message of repairs
//! of growing sessions.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use annals_transcript::patch;
use testkit::generate;

use super::lists::{Cost, cost};
use super::median;
use crate::{Outcome, call};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The most CPU time that a check should take, as a multiple of that of `wc -l`.
const MOST_FOR_CHECK: f64 = 8.0;
/// The sessions that are checked.
const CHECKED: [u64; 6] = [60_000_000, 20_000_000, 5_000_000, 5_000_000, 5_000_000, 5_000_000];
/// The session that is repaired.
const LARGE: u64 = 100_000_000;
/// How many messages the growing sessions have.
const MESSAGES: [u64; 3] = [1_000, 5_000, 20_000];
/// Every so many messages one loses its parent.
const DAMAGED: usize = 50;

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let bench =
        Bench { program: std::env::current_exe()?.with_file_name("annals"), root: scratch.join("care") };
    bench.check(rounds)?;
    bench.repair_of_large(rounds)?;
    bench.repairs(rounds)
}

struct Bench {
    program: PathBuf,
    root: PathBuf,
}

impl Bench {
    fn check(&self, rounds: usize) -> Outcome {
        let mut files = Vec::new();
        for (number, bytes) in CHECKED.into_iter().enumerate() {
            let path = self.path("checked", number as u64)?;
            let mut out = BufWriter::new(File::create(&path)?);
            generate::session(&mut out, number as u64, bytes)?;
            out.flush()?;
            files.push(path);
        }
        let (mut wc, mut ours) = (Vec::new(), Vec::new());
        let mut memory = 0.0_f64;
        for _ in 0..rounds.max(1) {
            let mut lines = Command::new("wc");
            wc.push(cost(lines.arg("-l").args(&files))?.cpu);
            let check = cost(&self.annals("checked", &["check", "--all"]))?;
            ours.push(check.cpu);
            memory = memory.max(check.memory);
        }
        let (wc, ours) = (median(&mut wc), median(&mut ours));
        println!("\ncare: {} MB in {} sessions", CHECKED.iter().sum::<u64>() / 1_000_000, CHECKED.len());
        println!(
            "annals check --all: {:.1} × the CPU time of wc -l (at most {MOST_FOR_CHECK}), {:.0} ms and {:.0} ms; {memory:.0} MB of memory",
            ours / wc,
            ours * 1e3,
            wc * 1e3
        );
        Ok(())
    }

    fn repair_of_large(&self, rounds: usize) -> Outcome {
        let path = self.path("large", 0)?;
        let mut out = Vec::new();
        generate::session(&mut out, 16, LARGE)?;
        fs::write(&path, damaged(&out))?;
        let (cpu, seconds, memory) = self.repair("large", &path, rounds)?;
        println!(
            "annals repair of {} MB: {cpu:.2} s of CPU, {seconds:.2} s, {memory:.0} MB of memory ({:.1} × the file)",
            LARGE / 1_000_000,
            memory * 1e6 / bytes_as_float(fs::metadata(&path)?.len())
        );
        Ok(())
    }

    /// Repairs sessions of growing size: the time per message should stay flat.
    fn repairs(&self, rounds: usize) -> Outcome {
        println!("{:>10} {:>10} {:>16} {:>14}", "messages", "MB", "µs per message", "× the first");
        let mut first = None;
        for messages in MESSAGES {
            let path = self.path("growing", messages)?;
            let mut out = Vec::new();
            generate::entries(&mut out, messages)?;
            let file = damaged(&out);
            fs::write(&path, &file)?;
            // Short runs need more rounds.
            let (cpu, ..) = self.repair("growing", &path, rounds * 3)?;
            let each = cpu * 1e6 / bytes_as_float(messages);
            let ratio = each / *first.get_or_insert(each);
            println!(
                "{messages:>10} {:>10.1} {each:>16.1} {ratio:>14.2}",
                bytes_as_float(file.len() as u64) / 1e6
            );
        }
        Ok(())
    }

    /// Plans the repair of a session. Returns the medians of the CPU time and the time in seconds, and the memory in MB. Nothing is written, so that
    /// each round does the same.
    fn repair(&self, root: &str, path: &Path, rounds: usize) -> Result<(f64, f64, f64)> {
        let costs: Vec<Cost> = (0..rounds.max(1))
            .map(|_| cost(&self.annals(root, &["repair", &path.to_string_lossy()])))
            .collect::<Result<_>>()?;
        let mut cpu: Vec<f64> = costs.iter().map(|cost| cost.cpu).collect();
        let mut seconds: Vec<f64> = costs.iter().map(|cost| cost.seconds).collect();
        let memory = costs.iter().map(|cost| cost.memory).fold(0.0, f64::max);
        Ok((median(&mut cpu), median(&mut seconds), memory))
    }

    fn path(&self, root: &str, number: u64) -> Result<PathBuf> {
        let folder = self.root.join(root).join("projects/-home-mia-tea");
        fs::create_dir_all(&folder)?;
        Ok(folder.join(format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl")))
    }

    fn annals(&self, root: &str, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).arg("--root").arg(self.root.join(root));
        command.env("ANNALS_HOME", self.root.join("annals")).env("HOME", &self.root);
        command
    }
}

/// Returns a session in which every fiftieth message has no parent, so that Claude Code would restore only what follows the last of them.
fn damaged(session: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(session.len());
    for (number, line) in session.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let is_damaged = number % DAMAGED == DAMAGED - 1;
        match patch::set(line, "parentUuid", "null").ok().filter(|_| is_damaged) {
            Some(line) => file.extend(line),
            None => file.extend_from_slice(line),
        }
    }
    file
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn bytes_as_float(number: u64) -> f64 {
    number as f64
}
