//! `cargo x oracle --mutate N --seed S`: real transcripts are changed at random, Claude Code resumes them, and what it sends is
//! compared with `annals show --view model`, block by block.
//!
//! Case I of seed S is always the same file, as long as the transcripts are. A difference without a name (see
//! [`compare::NAMED`]) is reduced to a small file with invented texts and written to a folder of its own.

mod change;
pub(crate) mod compare;
mod file;
mod judge;
mod label;
mod reduce;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde_json::json;

use super::claude_code::ClaudeCode;
use crate::{Outcome, project};
use compare::{Difference, NAMED, Verdict, compare};
use file::{Line, SESSION, file_of};
use judge::Judge;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How a case ended, or why Claude Code or annals gave no answer.
type Judged = std::result::Result<Verdict, String>;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compare this many transcripts that are changed at random, instead of the scenarios
    #[arg(long, value_name = "N")]
    mutate: Option<u64>,
    /// Run the scenarios as well
    #[arg(long, requires = "mutate")]
    scenarios: bool,
    /// Which files are chosen and how they are changed
    #[arg(long, value_name = "S", default_value_t = 1, requires = "mutate")]
    seed: u64,
    /// The first case: `--mutate 1 --from I` repeats case I
    #[arg(long, value_name = "I", default_value_t = 0, requires = "mutate")]
    from: u64,
    /// The folder with transcripts [default: shared/corpus beside the project]
    #[arg(long, value_name = "DIR", requires = "mutate")]
    corpus: Option<PathBuf>,
    /// Also change sessions that Claude Code writes now
    #[arg(long, requires = "mutate")]
    fresh: bool,
    /// Leave attachments in; most of them are rendered in Claude Code's own words, which are not compared
    #[arg(long, requires = "mutate")]
    attachments: bool,
    /// Reduce at most this many differences
    #[arg(long, value_name = "N", default_value_t = 20, requires = "mutate")]
    reduce: usize,
    /// Where reduced differences are written [default: oracle/differences in the target folder]
    #[arg(long, value_name = "DIR", requires = "mutate")]
    out: Option<PathBuf>,
}

/// A run over thousands of files takes hours: after this many, it says how many were equal so far.
const REPORT_INTERVAL: usize = 250;

impl Options {
    /// Returns whether the scenarios are run.
    pub(crate) fn with_scenarios(&self) -> bool {
        self.mutate.is_none() || self.scenarios
    }

    /// Runs the cases that are asked for.
    pub(crate) fn run(&self, claude_code: &ClaudeCode, annals: &Path, target: &Path) -> Outcome {
        let Some(count) = self.mutate else { return Ok(()) };
        let sources = self.sources(claude_code, annals)?;
        if sources.is_empty() {
            println!("mutations skipped: there are no transcripts");
            return Ok(());
        }
        let judge = Judge { claude_code, annals };
        // Claude Code takes more than one core for itself.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
        let judged = |number| {
            let mut case = self.case(&sources, self.from + number);
            let verdict = repeated_verdict(&judge, &case.lines);
            if is_explained(&verdict) {
                // Thousands of files do not fit into memory.
                case.lines = Vec::new();
            }
            (verdict, case)
        };
        let mut outcomes: Vec<(Judged, Case)> = Vec::new();
        for part in (0..count).collect::<Vec<_>>().chunks(REPORT_INTERVAL) {
            outcomes.extend(pool.install(|| in_parallel(part.to_vec(), "files", judged)));
            let equal = outcomes.iter().filter(|(verdict, _)| is_explained(verdict)).count();
            println!("equal {equal} of the first {}", outcomes.len());
        }
        print_tables(&outcomes);
        let different: Vec<_> = outcomes.iter().filter(|(verdict, _)| !is_explained(verdict)).collect();
        let folder = self.out.clone().unwrap_or(target.join("oracle/differences"));
        pool.install(|| self.reduce(&judge, &different, &folder));
        let named = outcomes.iter().filter(|(verdict, _)| matches!(verdict, Ok(Verdict::Named(_)))).count();
        let unanswered = outcomes.iter().filter(|(verdict, _)| verdict.is_err()).count();
        let equal = outcomes.len() - different.len();
        println!(
            "equal {equal} of {count}, {named} of them but for a named difference; {unanswered} without an answer"
        );
        if different.is_empty() { Ok(()) } else { Err(format!("{} files differ", different.len()).into()) }
    }

    /// Reduces differences, writes each to a folder and prints it.
    fn reduce(&self, judge: &Judge<'_>, different: &[&(Judged, Case)], folder: &Path) {
        let chosen = different[..different.len().min(self.reduce)].to_vec();
        let reduced = in_parallel(chosen, "reduced", |(verdict, case)| match verdict {
            Ok(Verdict::Different(difference)) => self
                .write_difference(judge, case, difference, folder)
                .unwrap_or_else(|error| error.to_string()),
            Ok(_) => unreachable!("only differences without a name are reduced"),
            Err(error) => error.clone(),
        });
        for ((_, case), reduced) in different.iter().zip(reduced) {
            println!("case {}: {reduced}", case.number);
        }
        for (_, case) in different.iter().skip(self.reduce) {
            println!("case {}: not reduced; repeat it with `{}`", case.number, self.command(case));
        }
    }

    fn command(&self, case: &Case) -> String {
        let options = [(self.fresh, " --fresh"), (self.attachments, " --attachments")];
        let options: String = options.iter().filter(|(given, _)| *given).map(|(_, option)| *option).collect();
        format!("cargo x oracle --mutate 1 --seed {} --from {}{options}", self.seed, case.number)
    }

    /// Reduces a case, writes it to a folder of its own and returns the path with the first difference.
    fn write_difference(
        &self,
        judge: &Judge<'_>,
        case: &Case,
        found: &Difference,
        folder: &Path,
    ) -> Result<String> {
        let reduced = reduce::reduce(case.lines.clone(), |lines| judge.finds(lines, &found.kind));
        let answers = judge.ask(&reduced.lines)?;
        let Verdict::Different(difference) = compare(&reduced.lines, &answers.claude_code, &answers.annals)
        else {
            return Ok("Claude Code's answer changes from run to run".to_owned());
        };
        let folder = folder.join(format!("{}-{}", self.seed, case.number));
        fs::create_dir_all(&folder)?;
        let expected = json!({"session_id": SESSION, "client": judge.claude_code.version()?, "resumable": answers.resumable,
            "messages": answers.claude_code.0});
        fs::write(folder.join("session.jsonl"), without_padding(&file_of(&reduced.lines)))?;
        fs::write(folder.join("expected.json"), serde_json::to_string_pretty(&expected)?)?;
        let (command, changes, texts) = (self.command(case), case.changes(), reduced.texts());
        fs::write(folder.join("README"), format!("{command}\n{changes}\n{texts}\n{}\n", difference.shown))?;
        // Texts of the source are not printed.
        let shown = if reduced.texts_kept == Some(0) { difference.shown } else { difference.kind };
        Ok(format!("{} ({} lines)\n  {shown}", folder.display(), reduced.lines.len()))
    }
}

/// Where transcripts come from, and how they become cases.
impl Options {
    fn sources(&self, claude_code: &ClaudeCode, annals: &Path) -> Result<Vec<Vec<Line>>> {
        let corpus = self.corpus.clone().unwrap_or_else(|| project().with_file_name("shared/corpus"));
        let mut sources = source::transcripts_below(&corpus)?;
        if self.fresh {
            sources.extend(source::fresh_sessions(claude_code, annals)?);
        }
        let sources = sources.into_iter().map(source::adopted);
        Ok(sources
            .map(|lines| if self.attachments { lines } else { source::without_attachments(&lines) })
            .collect())
    }

    fn case(&self, sources: &[Vec<Line>], number: u64) -> Case {
        let mut rng = Rng::with_seed(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
        // Seeds that differ in few bits begin with similar numbers.
        let mut rng = Rng::with_seed(rng.u64(..));
        let source = &sources[rng.usize(..sources.len())];
        let mut lines = source::window(source, &mut rng).to_vec();
        let mutations = change::mutate(&mut lines, &mut rng);
        Case { number, mutations, lines }
    }
}

/// A transcript that was changed.
struct Case {
    number: u64,
    /// The name of each mutation and what it did.
    mutations: Vec<(&'static str, String)>,
    lines: Vec<Line>,
}

impl Case {
    fn changes(&self) -> String {
        let changes: Vec<_> = self.mutations.iter().map(|(name, done)| format!("{name}: {done}")).collect();
        if changes.is_empty() { "unchanged".to_owned() } else { changes.join("; ") }
    }
}

/// Writes long runs of `x` as `@PAD:N@`, as the cases of the oracle do.
fn without_padding(file: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    for run in file.chunk_by(|one, other| *one == b'x' && *other == b'x') {
        if run.len() > 1000 {
            written.extend(format!("@PAD:{}@", run.len()).into_bytes());
        } else {
            written.extend_from_slice(run);
        }
    }
    written
}

/// How often Claude Code is asked about a file before a difference or a missing answer counts.
const ATTEMPTS: usize = 3;

/// Returns how Claude Code and annals differ. A difference counts only if it is there again the next time, and a missing
/// answer only if it is missing every time.
fn repeated_verdict(judge: &Judge<'_>, lines: &[Line]) -> Judged {
    let mut differed = false;
    let mut verdict = Err(String::new());
    for _ in 0..ATTEMPTS {
        verdict = judge.verdict(lines).map_err(|error| error.to_string());
        let differs = matches!(verdict, Ok(Verdict::Different(_)));
        if is_explained(&verdict) || differs && differed {
            break;
        }
        differed |= differs;
    }
    verdict
}

fn is_explained(verdict: &Judged) -> bool {
    matches!(verdict, Ok(Verdict::Equal | Verdict::Named(_)))
}

/// Applies `work` to every item and shows a progress bar; the results are in the order of the items.
fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    unit: &'static str,
    work: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} {msg}, {eta} left");
    let bar = ProgressBar::new(items.len() as u64).with_message(unit);
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    items.into_par_iter().with_max_len(1).progress_with(bar).map(work).collect()
}

/// Prints how many files are equal for every mutation, and how often each named difference occurred.
fn print_tables(outcomes: &[(Judged, Case)]) {
    println!("{:22} {:>6} {:>6} {:>8}", "mutation", "files", "equal", "share");
    for (name, (files, equal)) in counts_by_mutation(outcomes) {
        let share = f64::from(equal) / f64::from(files) * 100.0;
        println!("{name:22} {files:>6} {equal:>6} {share:>7.1}%");
    }
    for named in NAMED {
        let has_it =
            |verdict: &Judged| matches!(verdict, Ok(Verdict::Named(names)) if names.contains(&named.name));
        let count = outcomes.iter().filter(|(verdict, _)| has_it(verdict)).count();
        if count > 0 {
            println!("{count} files differ by {}. {}", named.name, named.reason);
        }
    }
}

/// Returns for every mutation the files that it changed, and how many of them are equal.
fn counts_by_mutation(outcomes: &[(Judged, Case)]) -> BTreeMap<&'static str, (u32, u32)> {
    let mut counts = BTreeMap::new();
    for (verdict, case) in outcomes {
        let mut names: Vec<_> = case.mutations.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            names.push("(unchanged)");
        }
        for name in names {
            let (files, equal) = counts.entry(name).or_insert((0, 0));
            *files += 1;
            *equal += u32::from(is_explained(verdict));
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    fn line(value: &Json) -> Line {
        value.to_string().into_bytes()
    }

    #[test]
    fn a_case_is_the_same_alone_and_among_others() {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            args: Options,
        }
        let args = <Command as clap::Parser>::parse_from(["oracle", "--mutate", "9", "--seed", "7"]).args;
        let source = |name: &str| {
            (0..200).map(|n| line(&json!({"type": "user", "uuid": format!("{name}{n}")}))).collect()
        };
        let sources: Vec<Vec<Line>> = vec![source("a"), source("b")];
        let cases: Vec<_> = (0..9).map(|number| args.case(&sources, number).lines).collect();
        assert_eq!(args.case(&sources, 5).lines, cases[5]);
        assert!(cases.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn padding_is_written_short() {
        let file = format!("{{\"text\":\"{}\"}}\nxx\n", "x".repeat(5000));
        assert_eq!(without_padding(file.as_bytes()), b"{\"text\":\"@PAD:5000@\"}\nxx\n");
    }
}
