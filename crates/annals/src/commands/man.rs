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
    let page = match &args.command {
        None => page(&all, "annals"),
        Some(name) => {
            let command = all.find_subcommand(name).ok_or_else(|| {
                Failure::usage(&format!("no command `{}`", output::clean(name)), "`annals --help` lists them")
            })?;
            page(command, &format!("annals-{name}"))
        }
    };
    let mut out = output::stdout();
    page.render(&mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of annals and of every command.
fn write_all(all: &Command, folder: &Path) -> std::io::Result<ExitCode> {
    fs::create_dir_all(folder)?;
    write_pages(all, "annals", folder)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of a command with this name and of its own commands: `annals-mcp-install` for `annals mcp install`.
fn write_pages(command: &Command, name: &str, folder: &Path) -> std::io::Result<()> {
    let page = page(command, name);
    let mut file = BufWriter::new(File::create(folder.join(page.get_filename()))?);
    page.render(&mut file)?;
    file.flush()?;
    let commands =
        command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    for command in commands {
        write_pages(command, &format!("{name}-{}", command.get_name()), folder)?;
    }
    Ok(())
}

/// Returns the page of a command with this name.
fn page(command: &Command, name: &str) -> Man {
    Man::new(command.clone().display_name(name)).manual("annals")
}
