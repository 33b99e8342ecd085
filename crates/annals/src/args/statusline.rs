//! The arguments of `annals statusline`.

use clap::Subcommand;

pub(crate) const HELP: &str = "\
Claude Code runs the command of its status line after every message and gives it JSON on standard input. `annals statusline` prints one \
line from it: the model, how full the context is, what the session, the five-hour window and the day cost, how much of the plan's windows is \
used and when they end, and whether the prompt cache is warm. It always exits with 0. Costs of the day and the window are counted in the background, at \
most once a minute; ≥ marks those that may have grown since. Percentages of the plan are recorded in `status-line.jsonl` in the folder of annals, because \
Claude Code keeps them nowhere.

`install` sets it as the status line in the settings of Claude Code (`settings.json`).

Examples:
  annals statusline install
  echo '{\"model\":{\"display_name\":\"Opus\"},\"cost\":{\"total_cost_usd\":1.2}}' | annals statusline";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct StatusLine {
    /// Do not count costs in the background
    #[arg(long)]
    pub(crate) no_update: bool,
    #[command(subcommand)]
    pub(crate) action: Option<StatusLineAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StatusLineAction {
    /// Make `annals statusline` the status line of Claude Code; shows the change first
    Install(StatusLineInstall),
    /// Count the costs of the day and of the five-hour window, unless that was done within a minute
    Update,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatusLineInstall {
    /// Write without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}
