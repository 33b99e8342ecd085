//! What masking secrets costs: `show` with and without it, on a session of about 10 MB.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use testkit::generate;

use super::lists::cost;
use super::median;
use crate::{Outcome, call};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const BYTES: u64 = 10_000_000;

/// The forms of `show` that are compared.
const FORMS: [(&str, &[&str]); 3] =
    [("show", &[]), ("show --tools full", &["--tools", "full"]), ("show --json", &["--json"])];

pub(super) fn run(scratch: &Path, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let program = std::env::current_exe()?.with_file_name("annals");
    let root = scratch.join("masking");
    let project = root.join("projects/-home-mia-tea");
    fs::create_dir_all(&project)?;
    let mut out = BufWriter::new(File::create(project.join(format!("{SESSION}.jsonl")))?);
    generate::session(&mut out, 16, BYTES)?;
    out.flush()?;
    println!("\nmasking: CPU of `show` with and without it, on {} MB", BYTES / 1_000_000);
    println!("{:<20} {:>9} {:>9} {:>9}", "", "masked", "revealed", "ratio");
    for (name, more) in FORMS {
        let show = |reveal: &[&str]| {
            let mut command = Command::new(&program);
            command.args(["show", SESSION]).args(more).args(reveal).arg("--root").arg(&root);
            command.env("ANNALS_HOME", root.join("annals")).env("HOME", &root);
            command
        };
        let (mut masked, mut revealed) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            masked.push(cost(&show(&[]))?.cpu);
            revealed.push(cost(&show(&["--reveal"]))?.cpu);
        }
        let (masked, revealed) = (median(&mut masked), median(&mut revealed));
        println!("{name:<20} {:>6.0} ms {:>6.0} ms {:>9.2}", masked * 1e3, revealed * 1e3, masked / revealed);
    }
    Ok(())
}
