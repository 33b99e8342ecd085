//! Loading one large session: `annals turns`, compared with `getSessionMessages` of Claude Code's SDK on the same file.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::generate;

use super::lists::{cost, sdk};
use super::median;
use crate::{Outcome, call};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

/// The sizes of the sessions in megabytes.
const SIZES: [u32; 2] = [60, 100];

/// A program that loads the one session of a config folder.
type Loader<'a> = (&'static str, &'a dyn Fn(&Path) -> Command);

/// What loading took, without the start of the program: CPU seconds, and megabytes at the peak.
struct Load {
    cpu: f64,
    memory: f64,
}

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let program = std::env::current_exe()?.with_file_name("annals");
    let annals = |root: &Path, args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).arg("--root").arg(root);
        command.env("ANNALS_HOME", root.join("annals")).env("HOME", root);
        command
    };
    let sdk = sdk()?;
    let by_sdk = |root: &Path| {
        // An error of the script must not be mistaken for an answer.
        let script = "try { const sdk = await import(process.argv[1]); \
            const messages = await sdk.getSessionMessages(process.argv[2]); \
            if (messages.length === 0) process.exit(3) } catch { process.exit(3) }";
        let mut command = Command::new("node");
        command.args(["--input-type=module", "-e", script]).arg(&sdk).arg(SESSION);
        command.env("CLAUDE_CONFIG_DIR", root).env("HOME", root);
        command
    };
    let loaders: [Loader<'_>; 3] = [
        ("annals turns", &|root| annals(root, &["turns", SESSION])),
        ("annals show --json", &|root| annals(root, &["show", SESSION, "--json"])),
        ("SDK getSessionMessages", &by_sdk),
    ];
    let loaders = if sdk.exists() { &loaders[..] } else { &loaders[..2] };
    println!("\nloading one session, without the start of the programs, median of {rounds} rounds");
    println!(
        "{:<10} {:<24} {:>10} {:>10} {:>10} {:>12}",
        "MB", "", "ms of CPU", "× turns", "MB", "MB × file"
    );
    let smallest = made(scratch, 0)?;
    for size in SIZES {
        let root = made(scratch, size)?;
        let loads = loads(loaders, &smallest, &root, rounds)?;
        for ((name, _), Load { cpu, memory }) in loaders.iter().zip(&loads) {
            let (ratio, share) = (cpu / loads[0].cpu, memory / f64::from(size));
            println!("{size:<10} {name:<24} {:>10.1} {ratio:>10.2} {memory:>10.1} {share:>12.3}", cpu * 1e3);
        }
    }
    if !sdk.exists() {
        println!("Claude Code's SDK: not measured (`cargo x oracle` installs it)");
    }
    Ok(())
}

/// Measures all loaders on one session; their rounds are interleaved.
fn loads(
    loaders: &[Loader<'_>],
    smallest: &Path,
    root: &Path,
    rounds: usize,
) -> Result<Vec<Load>, Box<dyn std::error::Error>> {
    let mut cpu = vec![Vec::new(); loaders.len()];
    let mut memory = vec![Vec::new(); loaders.len()];
    for _ in 0..rounds {
        for (index, (_, loader)) in loaders.iter().enumerate() {
            let (start, load) = (cost(&loader(smallest))?, cost(&loader(root))?);
            cpu[index].push(load.cpu - start.cpu);
            memory[index].push(load.memory - start.memory);
        }
    }
    let loads = cpu.iter_mut().zip(&mut memory);
    Ok(loads.map(|(cpu, memory)| Load { cpu: median(cpu), memory: median(memory) }).collect())
}

/// Makes a config folder with one session of some megabytes, or of a single entry.
fn made(scratch: &Path, megabytes: u32) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let root = scratch.join(format!("loading-{megabytes}"));
    let project = root.join("projects/-home-mia-tea-timer");
    fs::create_dir_all(&project)?;
    let mut out = BufWriter::new(File::create(project.join(format!("{SESSION}.jsonl")))?);
    match megabytes {
        0 => generate::entries(&mut out, 4)?,
        _ => {
            generate::session(&mut out, 11, u64::from(megabytes) * 1_000_000)?;
        }
    }
    out.flush()?;
    Ok(root)
}
