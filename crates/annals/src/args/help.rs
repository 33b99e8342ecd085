//! The parts of the help that clap has no attributes for: commands in groups, and examples.

use clap::Command;

use crate::output::{self, wrap};

/// The commands by what they are for. A command that is in no group is listed at the end.
const GROUPS: &[(&str, &[&str])] = &[
    ("Find", &["list", "search", "projects", "prompts", "roots"]),
    (
        "Read",
        &[
            "show", "export", "tail", "turns", "tools", "agents", "files", "lineage", "stats", "usage",
            "insight", "check",
        ],
    ),
    ("Continue", &["resume", "fork", "record"]),
    (
        "Organise",
        &["rename", "tag", "archive", "unarchive", "delete", "restore", "repair", "tombstone", "hydrate"],
    ),
    ("Connect", &["serve", "mcp", "statusline", "push", "index", "completions", "man"]),
];

/// The widest help, in columns.
pub(super) const WIDEST: usize = 100;
/// The width of the names of commands.
const NAME: usize = 12;

/// The help of annals itself: as clap has it, with the groups in place of its list of commands.
pub(super) const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// Examples of commands. Each is a line that works as it stands, on any sessions.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "list",
        "annals list --here
annals list --since monday --title weather
annals list --on yesterday
annals list --since 2026-11 --until 2026-11 --tool Edit --file src/main.rs
annals list --json | jq -r .id",
    ),
    ("projects", "annals projects\nannals projects --json | jq -r .path"),
    ("roots", "annals roots\nannals roots --root ~/backup/.claude"),
    ("prompts", "annals prompts weather --since 7d\nannals prompts --project . --limit 20"),
    (
        "show",
        "annals show latest
annals show weather --turn 3..5
annals show latest --ids --tools full
annals show 50d5 --subagents
annals show latest --view model
annals show 50d5 --at 7fa65b3b --mark kettle",
    ),
    (
        "export",
        "annals export latest -o tea.html
annals export weather --turn 3..5 -o weather.md
annals export latest --format text -o - | less
annals export latest --format json -o - | jq -r .kind
annals export --project . --subagents -o history",
    ),
    ("tail", "annals tail latest\nannals tail --all --json"),
    ("turns", "annals turns latest\nannals turns 50d5 a6ad\nannals turns weather --json"),
    (
        "tools",
        "annals tools --errors --name Bash\nannals tools --errors --name Bash --full\nannals tools --here --since 7d --sort duration --limit 20\nannals tools latest",
    ),
    ("agents", "annals agents latest\nannals agents weather --json"),
    ("lineage", "annals lineage latest\nannals lineage 50d5 --json"),
    ("stats", "annals stats latest\nannals stats\nannals stats ~/logs --json"),
    ("insight", "annals insight --since 7d\nannals insight --here\nannals insight --json | jq .tools"),
    (
        "usage",
        "annals usage
annals usage --by month --breakdown
annals usage --by project --since 2026-11 --timezone UTC
annals usage latest --by model
annals usage --why 2026-11-02
annals usage latest --context
annals usage --json | jq -r '[.key, .costUsd] | @tsv'
annals usage forget",
    ),
    ("check", "annals check latest\nannals check 50d5 a6ad\nannals check --all --json"),
    (
        "resume",
        "annals resume
annals resume weather
annals resume --on tuesday
annals resume --search \"battery drains\"
annals resume latest --fork -- --model opus
annals resume 50d5 --print
ANNALS_CLAUDE='claude --verbose' annals resume latest",
    ),
    ("rename", "annals rename latest \"Weather, at last\""),
    ("fork", "annals fork latest\nannals fork 50d5 --up-to 7fa65b3b --title \"Another way\""),
    (
        "tag",
        "annals tag latest kitchen\nannals tag --here --since today kitchen --dry-run\nannals tag latest --remove",
    ),
    ("restore", "annals restore\nannals restore 50d5 --dry-run"),
    ("repair", "annals repair latest\nannals repair latest --apply"),
    ("tombstone", "annals show latest --ids\nannals tombstone latest 7fa65b3b --dry-run"),
    (
        "hydrate",
        "annals hydrate copy.jsonl --project .
annals hydrate https://example.org/log --session 50d5 --dry-run",
    ),
    ("completions", COMPLETIONS),
    ("man", "annals man | man -l -\nannals man --output ~/.local/share/man/man1"),
];

const COMPLETIONS: &str = "\
annals completions bash > ~/.local/share/bash-completion/completions/annals
annals completions zsh > ~/.zfunc/_annals
annals completions fish > ~/.config/fish/completions/annals.fish
annals completions powershell >> $PROFILE";

/// Adds examples to the help of commands, and lists the commands in groups.
pub(super) fn complete(command: Command) -> Command {
    let columns = output::columns().unwrap_or(WIDEST).min(WIDEST);
    let groups = groups(&command, columns);
    // clap would wrap the groups again if it took another width, such as that of the terminal although the help goes to a pipe.
    let command = command.before_help(groups).help_template(TEMPLATE).term_width(columns);
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let is_there = command.find_subcommand(name).is_some();
        if is_there { command.mut_subcommand(name, |one| with_examples(one, examples)) } else { command }
    })
}

fn with_examples(command: Command, examples: &str) -> Command {
    let before = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
    let lines: Vec<_> = examples.lines().map(|line| format!("  {line}")).collect();
    command.after_help(format!("{before}Examples:\n{}", lines.join("\n")))
}

/// Returns the list of commands, in groups.
fn groups(command: &Command, columns: usize) -> String {
    let others: Vec<_> = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .map(Command::get_name)
        .filter(|name| !GROUPS.iter().any(|(_, names)| names.contains(name)))
        .collect();
    let mut text = String::new();
    for (title, names) in GROUPS.iter().copied().chain([("Other", &others[..])]) {
        let members: Vec<_> = names.iter().filter_map(|name| command.find_subcommand(name)).collect();
        if members.is_empty() {
            continue;
        }
        text.push_str(title);
        text.push_str(":\n");
        for member in members {
            text += &entry(member, columns);
        }
        text.push('\n');
    }
    text
}

/// Returns the lines of one command.
fn entry(command: &Command, columns: usize) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let room = columns.saturating_sub(NAME + 4).max(20);
    let rows = wrap::rows(&about, room).into_iter().enumerate();
    let lines = rows.map(|(number, row)| {
        let name = if number == 0 { command.get_name() } else { "" };
        format!("  {name:NAME$}  {}\n", &about[row])
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::args::{self, Args};

    fn offset_of_option(help: &str, name: &str) -> Option<usize> {
        help.find(&format!("      --{name}"))
    }

    #[test]
    fn the_help_of_a_command_begins_with_what_the_list_of_commands_says() {
        let list = Args::command();
        let mut complete = args::command();
        for command in list.get_subcommands().filter(|one| !one.is_hide_set()) {
            let about = command.get_about().expect("every command says what it does").to_string();
            let built = complete.find_subcommand_mut(command.get_name()).unwrap();
            let help = built.render_long_help().to_string();
            let beginning = help.split("\n\n").next().unwrap_or_default().replace('\n', " ");
            assert!(beginning.starts_with(&about), "{}: {beginning}", command.get_name());
            let own = built
                .get_arguments()
                .filter(|arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_help_heading().is_none());
            let names = own.filter_map(|arg| arg.get_long()).filter(|&name| name != "help");
            let furthest = names.filter_map(|name| offset_of_option(&help, name)).max();
            let globals = offset_of_option(&help, "json");
            assert!(furthest.is_none() || furthest < globals, "{}: {help}", command.get_name());
            let is_server = matches!(command.get_name(), "serve" | "mcp");
            assert_eq!(
                offset_of_option(&help, "reveal").is_none(),
                is_server,
                "{}: {help}",
                command.get_name()
            );
        }
    }

    /// Spells arguments without the digits of times, some of which depend on the current time.
    fn without_digits(args: &Args) -> String {
        format!("{args:?}").replace(|character: char| character.is_ascii_digit(), "")
    }

    #[test]
    fn every_command_is_in_one_group_and_has_examples_that_parse() {
        let all = complete(Args::command());
        for command in all.get_subcommands().filter(|one| !one.is_hide_set()) {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, 1, "{name} is in {groups} groups");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines = help.lines().filter(|line| line.starts_with("  ") && line.contains("annals "));
            let examples: Vec<_> = lines.map(str::trim).collect();
            assert!(!examples.is_empty(), "{name} has no example");
            // What stands in a pipe, and assignments before the command, are not for annals; a line may go on.
            for example in
                examples.iter().filter(|example| !example.ends_with('\\') && !example.contains("curl"))
            {
                let own = example.split(['|', '>']).find(|part| part.contains("annals ")).unwrap_or_default();
                let words = shell_words::split(own).unwrap();
                let words = words.into_iter().skip_while(|word| word != "annals").map(OsString::from);
                let words: Vec<_> = words.collect();
                let parsed = Args::read(args::command(), words.clone())
                    .unwrap_or_else(|error| panic!("{example}: {error}"));
                let quickly = Args::read(args::named_commands(&words), words).unwrap();
                assert_eq!(without_digits(&quickly), without_digits(&parsed), "{example}");
            }
        }
    }

    #[test]
    fn the_list_of_commands_fits_into_a_terminal() {
        let all = Args::command();
        for columns in [80, 100] {
            let text = groups(&all, columns);
            assert!(text.lines().all(|line| line.width() <= columns), "{text}");
            assert!(text.starts_with("Find:\n  list          List sessions"), "{text}");
            assert!(!text.contains("Other:"), "{text}");
        }
    }
}
