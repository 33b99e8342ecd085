//! `annals man`: man pages, from the same definitions as the help.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;

use crate::args;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &args::Man) -> Result<ExitCode, Failure> {
    let mut all = args::command();
    all.build();
    if let Some(folder) = &args.output {
        return write_all(&all, folder).map_err(|error| Failure::cannot_write(folder, &error));
    }
    let command = match &args.command {
        None => &all,
        Some(name) => all.find_subcommand(name).ok_or_else(|| {
            Failure::usage(&format!("no command `{}`", output::clean(name)), "`annals --help` lists them")
        })?,
    };
    let mut out = output::stdout();
    page(command).render(&mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of annals and of every command.
fn write_all(all: &Command, folder: &Path) -> std::io::Result<ExitCode> {
    fs::create_dir_all(folder)?;
    let commands =
        all.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    for command in std::iter::once(all).chain(commands) {
        let page = page(command);
        let mut file = BufWriter::new(File::create(folder.join(page.get_filename()))?);
        page.render(&mut file)?;
        file.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the page of a command: `annals-list` for `annals list`.
fn page(command: &Command) -> Man {
    let name = match command.get_name() {
        "annals" => "annals".to_owned(),
        name => format!("annals-{name}"),
    };
    Man::new(command.clone().display_name(name)).manual("annals")
}
