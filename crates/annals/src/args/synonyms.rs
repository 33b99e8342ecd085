//! Commands that people type because another program has them, and those of annals that they may mean.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error};

const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["grep", "rg", "find", "query", "ask"], &["search"]),
    (&["open", "continue", "go", "cd"], &["resume", "show"]),
    (&["start", "run", "claude"], &["resume"]),
    (&["cat", "view", "print", "read", "less", "log"], &["show"]),
    (&["html", "markdown", "save", "share"], &["export"]),
    (&["ls", "sessions", "history", "recent"], &["list"]),
    (&["cost", "costs", "tokens", "spend", "ccusage"], &["usage", "stats"]),
    (&["count", "info", "summary"], &["stats"]),
    (&["rm", "remove", "del", "trash"], &["delete"]),
    (&["undelete", "undo", "recover"], &["restore"]),
    (&["mv", "title", "name"], &["rename"]),
    (&["label"], &["tag", "rename"]),
    (&["cp", "copy", "branch", "duplicate", "clone"], &["fork"]),
    (&["follow", "watch"], &["tail"]),
    (&["subagents", "agent"], &["agents"]),
    (&["calls", "errors", "commands"], &["tools"]),
    (&["diff", "changes"], &["files"]),
    (&["forks", "related", "tree"], &["lineage"]),
    (&["fsck", "verify", "validate", "doctor", "lint"], &["check"]),
    (&["web", "ui", "server", "gui", "viewer"], &["serve"]),
    (&["import", "load"], &["hydrate", "record"]),
    (&["reindex"], &["index"]),
    (&["completion"], &["completions"]),
];

/// Adds to the error of a command that does not exist which commands may be meant. Only commands that exist are named.
pub(super) fn suggest(error: &mut Error, command: &Command) {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let wrong = wrong.to_lowercase();
    let meant = SYNONYMS.iter().filter(|(synonyms, _)| synonyms.contains(&&*wrong));
    let meant = meant.flat_map(|(_, names)| *names).filter(|name| command.find_subcommand(name).is_some());
    let meant: Vec<_> = meant.map(|name| (*name).to_owned()).collect();
    if !meant.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_other_programs_are_translated() {
        let command = super::super::command();
        for (name, suggested) in [
            ("open", Some("'resume', 'show'")),
            ("LS", Some("'list'")),
            ("ccusage", Some("'stats'")),
            ("lits", Some("'list'")),
            ("xyzzy", None),
        ] {
            let mut error = command.clone().try_get_matches_from(["annals", name]).unwrap_err();
            suggest(&mut error, &command);
            let message = error.to_string();
            let is_right = suggested.map_or(!message.contains("similar"), |names| message.contains(names));
            assert!(is_right, "{name}: {message}");
        }
        // No command of annals is listed as another program's.
        for (synonyms, _) in SYNONYMS {
            for name in *synonyms {
                assert!(command.find_subcommand(name).is_none(), "{name}");
            }
        }
    }
}
