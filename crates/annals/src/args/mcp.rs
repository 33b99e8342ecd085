//! The arguments of `annals mcp`.

use clap::Subcommand;

pub(crate) const HELP: &str = "\
Agents search and read past sessions with the tools search_sessions, list_sessions, get_session, get_messages, get_changes, \
session_stats, usage and insight. They change nothing, and keys, tokens and passwords are masked. `annals serve` offers the same at the path /mcp.

`install` makes Claude Code start `annals mcp` in every project; with `--project` in this folder only, by a file .mcp.json. \
`claude mcp list` then shows whether Claude Code can start it.

  annals mcp install
  annals mcp install --project";

#[derive(Debug, clap::Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) action: Option<McpAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpAction {
    /// Add `annals mcp` to the settings of Claude Code; shows the change first
    Install(McpInstall),
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpInstall {
    /// Write `.mcp.json` in the current folder, which the people of a project share, and not the settings of the user
    #[arg(long)]
    pub(crate) project: bool,
    /// Write without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}
