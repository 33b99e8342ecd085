//! `annals completions` and `annals man`.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// A shell that completes the arguments of annals.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell", alias = "pwsh")]
    Power,
}

impl Shell {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
            Shell::Power => "powershell",
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// A command [default: annals itself]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands to this folder, which is created if it does not exist
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) output: Option<PathBuf>,
}
