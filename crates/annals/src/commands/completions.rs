//! `annals completions`: scripts with which shells complete the arguments of annals, and the sessions that they offer.
//!
//! A script asks annals itself at every completion, so it never has to be installed again.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use annals_api::Masking;
use annals_engine::{Engine, Home, ListOptions, Roots, SessionRow};
use annals_search::{TokenKind, for_each_token};
use annals_transcript::project::is_session_id;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;
use jiff::Timestamp;

use crate::args::Completions;
use crate::failure::Failure;
use crate::output::{self, ago, clean, cut, cut_start};

/// The variable with which a script asks for completions.
pub(crate) const VARIABLE: &str = "_ANNALS_COMPLETE";

/// The most sessions that are offered.
const MOST: usize = 50;
/// The longest title that is shown beside an id, in columns.
const LONGEST_TITLE: usize = 60;
/// The longest project that is shown beside an id, in columns.
const LONGEST_PROJECT: usize = 28;

/// Where the script for zsh offers candidates: zsh drops those that do not begin with the typed word.
const ZSH_OFFERS: &str = "        [[ -n $other ]] && _describe -V 'values' other\n";
/// What takes its place: if the typed word belongs to titles, their ids are inserted one after the other, as in a menu.
const ZSH_OFFERS_TITLES: &str = "        if [[ -n ${(M)other:#${(b)PREFIX}*} ]]; then
            _describe -V 'values' other
        elif [[ -n $other ]]; then
            compstate[insert]=menu
            _describe -V 'values' other -U
        fi
";

/// Prints the script of a shell.
pub(crate) fn run(args: &Completions) -> Result<ExitCode, Failure> {
    let mut out = output::stdout();
    out.write_all(script(args.shell.name())?.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the script of a shell.
fn script(shell: &str) -> io::Result<String> {
    let shells = Shells::builtins();
    let shell = shells.completer(shell).expect("all shells that can be named are built in");
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "annals", "annals", "annals", &mut script)?;
    Ok(String::from_utf8_lossy(&script).replace(ZSH_OFFERS, ZSH_OFFERS_TITLES))
}

/// Returns the sessions whose id, title or a word of the title begins with a text, most recent first.
///
/// Only ids are offered: bash inserts a candidate as it is, so a title would become part of the command.
pub(crate) fn sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let words: Vec<_> = std::env::args_os().collect();
    let given = given_roots(&words);
    let roots = if given.is_empty() { Some(Roots::from_environment()) } else { Roots::given(given).ok() };
    let Some(roots) = roots else { return Vec::new() };
    let engine = Engine::open(roots, Home::from_environment());
    // Rules that are wrong mask nothing, so no titles are shown.
    let masking = Masking::with_rules_in(engine.home().path()).ok();
    let may_describe = masking.is_some();
    output::mask::set_up(Some(masking.unwrap_or_default()));
    // An empty text needs only the most recent sessions, which is fast without a catalogue, too.
    let limit = current.is_empty().then_some(MOST);
    let rows = engine.list(&ListOptions { limit, ..ListOptions::default() }).sessions;
    let lower = current.to_lowercase();
    let mut seen = HashSet::new();
    let matching = rows.iter().filter_map(|row| {
        let id = row.file.session.as_deref().filter(|id| is_session_id(id))?;
        let title = may_describe.then(|| title(row));
        let is_meant = id.to_lowercase().starts_with(&lower)
            || title.as_ref().is_some_and(|title| is_named(title, &lower));
        // A session may have copies in several projects.
        (is_meant && seen.insert(id)).then(|| {
            let help = title.map(|title| description(row, &title).into());
            CompletionCandidate::new(id).help(help)
        })
    });
    matching.take(MOST).collect()
}

/// Returns the paths that begin with a text, but none that a shell would read as more than a word: bash inserts them as they are.
pub(crate) fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = PathCompleter::any().complete(current);
    found.retain(|path| path.get_value().to_str().is_some_and(|path| path.chars().all(is_plain)));
    found
}

/// Returns whether a character means nothing special to any shell.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./:@%+,".contains(character)
}

/// Returns the title of a session on one line; nothing if it has none.
fn title(row: &SessionRow) -> String {
    let title = row.facts.title.as_ref().map(|title| &*title.text).unwrap_or_default();
    clean(&output::title_line(title)).into_owned()
}

/// Returns whether a title or one of its words begins with a text in lower case. In scripts that put no blanks between words, any
/// part of a title may be a word.
fn is_named(title: &str, lower: &str) -> bool {
    let title = title.to_lowercase();
    if begins_without_blanks(lower) {
        return title.contains(lower);
    }
    let mut words = title.split(|character: char| !character.is_alphanumeric());
    title.starts_with(lower) || words.any(|word| word.starts_with(lower))
}

/// Returns whether a text begins in a script that puts no blanks between words.
fn begins_without_blanks(text: &str) -> bool {
    let mut first = None;
    for_each_token(text, |token| first = first.or(Some(token.kind)));
    matches!(first, Some(TokenKind::Pair | TokenKind::Single))
}

/// Returns what shells show beside an id: the title, the project and the age of the session, without characters that mean
/// something to a shell.
fn description(row: &SessionRow, title: &str) -> String {
    let title = cut(if title.is_empty() { "(untitled)" } else { title }, LONGEST_TITLE);
    let project = row.project_path().map(|project| cut_start(&clean(&project), LONGEST_PROJECT));
    let age = row.facts.updated_at.map(|time| ago(time, Timestamp::now()));
    let parts: Vec<_> = [Some(title), project, age].into_iter().flatten().collect();
    parts.join(" · ").replace(['\'', '"', '`', '$', '\\', char::REPLACEMENT_CHARACTER], "")
}

/// Returns the config folders that `--root` names among the words of a command line.
fn given_roots(words: &[OsString]) -> Vec<PathBuf> {
    let next = words.windows(2).filter(|pair| pair[0] == "--root").map(|pair| PathBuf::from(&pair[1]));
    let joined = words.iter().filter_map(|word| word.to_str()?.strip_prefix("--root=")).map(PathBuf::from);
    next.chain(joined).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zsh_offers_sessions_by_words_of_their_titles() {
        let script = script("zsh").unwrap();
        assert!(script.contains(ZSH_OFFERS_TITLES), "the script of clap has changed: {script}");
    }
}
