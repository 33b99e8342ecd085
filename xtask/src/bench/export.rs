//! Exports of a session of about 10 MB, compared with those of claude-code-log and claude-code-transcripts, if `uvx` or `pipx` can run them; and the
//! memory of an export of a larger one.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::generate;

use super::lists::cost;
use super::median;
use crate::{Outcome, call};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const BYTES: u64 = 10_000_000;
/// The larger session, for memory.
const MANY_BYTES: u64 = 336_000_000;
/// The exporters that are compared: the package, and how it is run on a transcript.
const PEERS: [(&str, &str, &[&str]); 2] = [
    ("md", "claude-code-log", &["--format", "md", "-o"]),
    ("html", "claude-code-transcripts", &["json", "-o"]),
];

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let program = std::env::current_exe()?.with_file_name("annals");
    let root = scratch.join("export");
    let session = write_session(&root, "small", BYTES)?;
    let large = write_session(&root, "large", MANY_BYTES)?;
    println!("\nexport: a session of {} MB", BYTES / 1_000_000);
    println!("{:<28} {:>9} {:>9}", "", "CPU", "memory");
    for format in ["html", "md", "text", "json"] {
        let ours = measure(rounds, || export(&program, &root, &session, format))?;
        println!("annals --format {format:<12} {:>6.0} ms {:>6.1} MB", ours.0 * 1e3, ours.1);
        for (_, package, options) in PEERS.iter().filter(|(of, _, _)| *of == format) {
            match install(scratch, package) {
                None => println!("{package}: not measured (it could not be installed)"),
                Some(peer) => {
                    let theirs = measure(rounds.min(3), || {
                        let mut command = Command::new(&peer);
                        let out = root.join(format!("{package}-out"));
                        command.args(*options).arg(out).arg(&session).env("HOME", &root).current_dir(&root);
                        command
                    })?;
                    println!(
                        "{package:<28} {:>6.0} ms {:>6.1} MB  annals: 1/{:.1}",
                        theirs.0 * 1e3,
                        theirs.1,
                        theirs.0 / ours.0
                    );
                }
            }
        }
    }
    for format in ["html", "md", "json"] {
        let (cpu, memory) = measure(1, || export(&program, &root, &large, format))?;
        let megabytes = MANY_BYTES / 1_000_000;
        println!("annals --format {format}, {megabytes} MB: {cpu:.1} s of CPU, {memory:.1} MB of memory");
    }
    Ok(())
}

fn write_session(root: &Path, name: &str, bytes: u64) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let folder = root.join("projects").join(format!("-home-mia-{name}"));
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{SESSION}.jsonl"));
    let mut out = BufWriter::new(File::create(&path)?);
    generate::session(&mut out, 16, bytes)?;
    out.flush()?;
    Ok(path)
}

fn export(program: &Path, root: &Path, session: &Path, format: &str) -> Command {
    let mut command = Command::new(program);
    // Not below the root: nothing is written into the folders of Claude Code. The ending keeps a large session in one file.
    let out = root.with_file_name("export-out.html");
    command.arg("export").arg(session).args(["--format", format, "--force", "-o"]).arg(out);
    command.arg("--root").arg(root).env("ANNALS_HOME", root.join("annals")).env("HOME", root);
    command
}

/// Returns the median of the CPU seconds, and the memory in MB.
fn measure(rounds: usize, command: impl Fn() -> Command) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let (mut cpu, mut memory) = (Vec::new(), 0.0_f64);
    for _ in 0..rounds.max(1) {
        let cost = cost(&command())?;
        cpu.push(cost.cpu);
        memory = memory.max(cost.memory);
    }
    Ok((median(&mut cpu), memory))
}

/// Installs an exporter from `PyPI` in the scratch folder. Returns its program; `None` if that is not possible.
fn install(scratch: &Path, package: &str) -> Option<PathBuf> {
    let folder = scratch.join(package);
    let quiet = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let is_installed = quiet(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && quiet(Command::new(folder.join("bin/pip")).args(["install", "--quiet", package]));
    is_installed.then(|| folder.join("bin").join(package))
}
