//! `cargo x oracle --repair N`: Claude Code resumes sessions that were damaged in known ways and repaired by annals.
//!
//! The tools beside Claude Code's setup damage good sessions, have the repair run twice on each, let Claude Code resume the result, and judge its
//! request: which messages are lost, and which rules of the API it breaks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value as Json;

use super::claude_code::ClaudeCode;
use crate::Outcome;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// At most this part of the messages that can still be read may be lost.
const MOST_LOST: f64 = 0.005;

/// From how many sessions those are chosen that are damaged.
const BASES: &str = "40";

#[derive(clap::Args)]
pub(crate) struct RepairOptions {
    /// Let Claude Code resume this many sessions that were damaged and repaired, and nothing else
    #[arg(long, value_name = "N", conflicts_with = "mutate")]
    repair: Option<usize>,
    /// Which sessions are damaged, and how
    #[arg(long, value_name = "S", default_value_t = 1, requires = "repair")]
    damage_seed: u64,
}

impl RepairOptions {
    /// Returns whether repairs are judged, and nothing else is done.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.repair.is_some()
    }

    pub(crate) fn run(&self, claude_code: &ClaudeCode, annals: &Path, target: &Path) -> Outcome {
        let Some(files) = self.repair else { return Ok(()) };
        let tools = claude_code.folder().ancestors().nth(2).map(|shared| shared.join("care"));
        let Some(tools) = tools.filter(|tools| tools.join("measure.py").is_file()) else {
            println!("repairs skipped: there is no care/measure.py beside the oracle of Claude Code");
            return Ok(());
        };
        let start = Instant::now();
        let folder = target.join("oracle/repairs");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let judge = Judge { claude_code, tools, folder };
        let bases = judge.bases()?;
        let cases = judge.damaged(&bases, self.damage_seed, files)?;
        let home = judge.folder.join("annals");
        let repair = format!("{} repair {{}} --apply --force", annals.display());
        let rows = judge.measured(&cases, "repaired.json", &["--repair", &repair], &home)?;
        let verdict = Verdict::of(&rows);
        println!("{verdict}, in {} s", start.elapsed().as_secs());
        if verdict.is_good(files) {
            return Ok(());
        }
        Err(format!("repairs miss the target; the cases are in {}", cases.display()).into())
    }
}

/// The tools that damage sessions and judge what Claude Code sends.
struct Judge<'a> {
    claude_code: &'a ClaudeCode,
    tools: PathBuf,
    folder: PathBuf,
}

impl Judge<'_> {
    /// Copies the sessions of the corpus that Claude Code sends completely while they are whole: only these can be judged.
    fn bases(&self) -> Result<PathBuf> {
        let corpus = self.tools.with_file_name("corpus");
        let whole = self.folder.join("whole");
        self.damage(&[&corpus.to_string_lossy(), "1", BASES, &whole.to_string_lossy(), "--kinds", "none"])?;
        let rows = self.measured(&whole, "whole.json", &[], &self.folder.join("unused"))?;
        let bases = self.folder.join("bases");
        fs::create_dir_all(&bases)?;
        for row in rows.iter().filter(|row| row["resumable"] == true && is_empty(&row["lost"])) {
            let case = PathBuf::from(row["case"].as_str().unwrap_or_default());
            let truth: Json = serde_json::from_slice(&fs::read(case.join("truth.json"))?)?;
            let session = truth["session_id"].as_str().ok_or("a case without a session")?;
            fs::copy(case.join("session.jsonl"), bases.join(format!("{session}.jsonl")))?;
        }
        Ok(bases)
    }

    fn damaged(&self, bases: &Path, seed: u64, files: usize) -> Result<PathBuf> {
        let cases = self.folder.join("cases");
        let (seed, files) = (seed.to_string(), files.to_string());
        self.damage(&[&bases.to_string_lossy(), &seed, &files, &cases.to_string_lossy()])?;
        Ok(cases)
    }

    fn damage(&self, args: &[&str]) -> Outcome {
        let mut command = Command::new("python3");
        let output = command.arg(self.tools.join("damage.py")).args(args).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("damage.py: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    /// Has Claude Code resume all cases; returns a row for each.
    fn measured(&self, cases: &Path, result: &str, args: &[&str], home: &Path) -> Result<Vec<Json>> {
        let result = self.folder.join(result);
        let mut command = Command::new("python3");
        command.arg(self.tools.join("measure.py")).args(args).arg("--out").arg(&result).arg(cases);
        // Nothing but the scratch folders is read or written.
        command.env("ANNALS_HOME", home).env("CLAUDE_CONFIG_DIR", self.folder.join("config"));
        self.claude_code.lend(&mut command);
        fs::create_dir_all(self.claude_code.scratch().join("tmp"))?;
        fs::create_dir_all(self.folder.join("config/projects"))?;
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("measure.py: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(serde_json::from_slice(&fs::read(result)?)?)
    }
}

fn is_empty(list: &Json) -> bool {
    list.as_array().is_some_and(Vec::is_empty)
}

/// What became of all cases.
#[derive(Default)]
struct Verdict {
    files: usize,
    messages: u64,
    lost: u64,
    refused: usize,
    invalid: usize,
    unstable: usize,
    /// The cases with any of this.
    bad: Vec<String>,
}

impl Verdict {
    fn of(rows: &[Json]) -> Self {
        let mut verdict = Self { files: rows.len(), ..Self::default() };
        for row in rows {
            let lost = row["lost"].as_array().map_or(0, |lost| lost.len() as u64);
            let is_refused = row["resumable"] != true;
            let is_invalid = !is_empty(&row["errors"]);
            let is_unstable = row["stable"] == false;
            verdict.messages += row["recoverable"].as_u64().unwrap_or(0);
            verdict.lost += lost;
            verdict.refused += usize::from(is_refused);
            verdict.invalid += usize::from(is_invalid);
            verdict.unstable += usize::from(is_unstable);
            if lost > 0 || is_refused || is_invalid || is_unstable {
                let name = Path::new(row["case"].as_str().unwrap_or_default()).file_name();
                let name = name.unwrap_or_default().to_string_lossy();
                verdict.bad.push(format!("{name} {} lost {lost} {}", row["kinds"], row["errors"]));
            }
        }
        verdict
    }

    #[expect(clippy::cast_precision_loss, reason = "a share need not be exact")]
    fn lost_share(&self) -> f64 {
        self.lost as f64 / self.messages.max(1) as f64
    }

    fn is_good(&self, files: usize) -> bool {
        self.files == files
            && self.lost_share() <= MOST_LOST
            && (self.refused, self.invalid, self.unstable) == (0, 0, 0)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for bad in &self.bad {
            writeln!(f, "  {bad}")?;
        }
        let Self { files, messages, lost, refused, invalid, unstable, .. } = self;
        write!(
            f,
            "{files} repaired files: {lost} of {messages} messages lost ({:.2} %), {refused} refused, {invalid} invalid requests, \
             {unstable} changed by a second repair",
            100.0 * self.lost_share()
        )
    }
}
