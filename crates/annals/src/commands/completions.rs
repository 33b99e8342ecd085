//! `annals completions`: scripts with which shells complete the arguments of annals, and the sessions that they offer.
//!
//! A script asks annals itself at every completion, so it never has to be installed again.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use annals_api::Masking;
use annals_engine::{Engine, Home, ListOptions, Roots, SessionRow};
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;

use crate::args::Completions;
use crate::failure::Failure;
use crate::output::{self, clean, cut};

/// The variable with which a script asks for completions.
pub(crate) const VARIABLE: &str = "_ANNALS_COMPLETE";

/// The most sessions that are offered.
const MOST: usize = 50;
/// The longest title that is shown beside an id, in columns.
const LONGEST_TITLE: usize = 60;

/// Prints the script of a shell.
pub(crate) fn run(args: &Completions) -> Result<ExitCode, Failure> {
    let shells = Shells::builtins();
    let shell = shells.completer(args.shell.name()).expect("all shells that can be named are built in");
    let mut out = output::stdout();
    shell.write_registration(VARIABLE, "annals", "annals", "annals", &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the sessions whose id or title begins with a text, most recent first: titles if the text can be no id.
pub(crate) fn sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let words: Vec<_> = std::env::args_os().collect();
    let given = given_roots(&words);
    let roots = if given.is_empty() { Some(Roots::from_environment()) } else { Roots::given(given).ok() };
    let Some(roots) = roots else { return Vec::new() };
    let engine = Engine::open(roots, Home::from_environment());
    // Rules that are wrong mask nothing, so no titles are shown.
    let masking = Masking::with_rules_in(engine.home().path()).ok();
    output::mask::set_up(Some(masking.clone().unwrap_or_default()));
    let title = |row: &SessionRow| {
        let title = row.facts.title.as_ref().filter(|_| masking.is_some())?;
        Some(clean(&output::one_line(&output::without_escapes(&title.text))).into_owned())
    };
    // An empty text needs only the most recent sessions, which is fast without a catalogue, too.
    let limit = current.is_empty().then_some(MOST);
    let rows = engine.list(&ListOptions { limit, ..ListOptions::default() }).sessions;
    let is_id = |row: &&SessionRow| row.file.session.as_deref().is_some_and(|id| id.starts_with(current));
    let ids = rows.iter().filter(is_id).filter_map(|row| {
        let help = title(row).map(|title| cut(&title, LONGEST_TITLE).into());
        Some(CompletionCandidate::new(row.file.session.as_deref()?).help(help))
    });
    let lower = current.to_lowercase();
    let titles = rows
        .iter()
        .filter_map(&title)
        .filter(|title| !current.is_empty() && title.to_lowercase().starts_with(&lower));
    ids.chain(titles.map(CompletionCandidate::new)).take(MOST).collect()
}

/// Returns the config folders that `--root` names among the words of a command line.
fn given_roots(words: &[OsString]) -> Vec<PathBuf> {
    let next = words.windows(2).filter(|pair| pair[0] == "--root").map(|pair| PathBuf::from(&pair[1]));
    let joined = words.iter().filter_map(|word| word.to_str()?.strip_prefix("--root=")).map(PathBuf::from);
    next.chain(joined).collect()
}
