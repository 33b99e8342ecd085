//! `annals mcp`: session history for agents; `annals mcp install` makes Claude Code start it.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use annals_api::{Api, Options};
use annals_engine::{Engine, Roots};
use annals_mcp::McpServer;
use annals_transcript::patch;
use annals_transcript::write::fs::{AppendWriter, Disk, RealDisk};
use annals_transcript::write::rewrite;
use serde_json::json;

use crate::args::Global;
use crate::args::mcp::{Mcp, McpAction, McpInstall};
use crate::failure::Failure;
use crate::output::{self, note};

/// The name of the server in the settings, under which Claude Code shows its tools.
const NAME: &str = "annals";
/// What is appended to the name of a settings file for its backup.
const BACKUP: &str = ".annals-backup";

pub(crate) fn run(engine: Engine, args: &Mcp, global: &Global) -> Result<ExitCode, Failure> {
    match &args.action {
        Some(McpAction::Install(install)) => self::install(install, global),
        None => {
            let masking = output::mask::masking().cloned().unwrap_or_default();
            let options = Options { read_only: true, allow_reveal: false };
            let api = Api::new(engine, options).with_masking(masking);
            let served = annals_mcp::serve_stdio(McpServer::new(Arc::new(api)));
            served.map_err(|error| Failure::server(&error))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Adds `annals mcp` to a settings file of Claude Code. Nothing else in the file changes.
fn install(args: &McpInstall, global: &Global) -> Result<ExitCode, Failure> {
    let entry = entry(args, global)?;
    let path = resolved(settings(args)?)?;
    let there = read(&path)?;
    if changed(there.as_deref(), &entry, &path)?.is_none() {
        note(&format!("{} starts `annals mcp` already; nothing was changed", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let what = if there.is_some() { "Changes" } else { "Creates" };
    note(&format!("{what} {}: \"mcpServers\" gets", path.display()));
    note(&format!("  \"{NAME}\": {entry}"));
    if !args.yes {
        if !io::stdin().is_terminal() {
            return Err(Failure::usage("nothing was written", "`--yes` writes it without asking"));
        }
        if !output::ask("write this?")? {
            return Err(Failure::declined());
        }
    }
    if let Some(backup) = write(&RealDisk, &path, &entry)? {
        note(&format!("The file as it was is {}.", backup.display()));
    }
    note("Claude Code starts it with the next session; `claude mcp list` shows whether it can.");
    Ok(ExitCode::SUCCESS)
}

/// Returns how Claude Code starts the server.
fn entry(args: &McpInstall, global: &Global) -> Result<String, Failure> {
    let roots = global.given_roots().into_iter().flat_map(|root| ["--root".to_owned(), root]);
    let arguments: Vec<_> = roots.chain(["mcp".to_owned()]).collect();
    // The file of a project is shared, so it names no path of this machine.
    let command = if args.project {
        NAME.to_owned()
    } else {
        let program = std::env::current_exe().map_err(|error| {
            Failure::usage(&format!("the path of annals is not known: {error}"), "`--project` needs none")
        })?;
        program.to_string_lossy().into_owned()
    };
    Ok(json!({"type": "stdio", "command": command, "args": arguments, "env": {}}).to_string())
}

fn settings(args: &McpInstall) -> Result<PathBuf, Failure> {
    if args.project {
        return Ok(PathBuf::from(".mcp.json"));
    }
    Roots::user_settings().ok_or_else(|| {
        Failure::usage("there is no home folder", "set `CLAUDE_CONFIG_DIR`, or use `--project`")
    })
}

/// Returns the file that a link leads to, so that the link stays one.
fn resolved(path: PathBuf) -> Result<PathBuf, Failure> {
    if !path.is_symlink() {
        return Ok(path);
    }
    path.canonicalize().map_err(|error| {
        let text = format!("{} is a link that leads nowhere: {error}", path.display());
        Failure::usage(&text, "remove the link, or create the file that it names")
    })
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(path) {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let text = format!("cannot read {}: {error}", path.display());
            Err(Failure::usage(&text, "nothing was changed"))
        }
    }
}

/// Returns the content of a settings file with the entry; `None` if it has it already.
fn changed(there: Option<&[u8]>, entry: &str, path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let there = there.filter(|there| !there.trim_ascii().is_empty()).unwrap_or(b"{}\n");
    let changed = patch::set_in_document(there, &["mcpServers", NAME], entry).map_err(|_| {
        let text = format!(
            "{} is not a JSON object, or its \"mcpServers\" is none; nothing was changed",
            path.display()
        );
        Failure::usage(&text, "correct the file first; Claude Code cannot read it either")
    })?;
    let is_same = |one: &[u8], other: &[u8]| {
        let parse = |json| serde_json::from_slice::<serde_json::Value>(json).ok();
        parse(one).is_some() && parse(one) == parse(other)
    };
    Ok(Some(changed).filter(|changed| !is_same(changed, there)))
}

/// Writes the entry. Returns the path of the backup, if there was a file before.
fn write(disk: &dyn Disk, path: &Path, entry: &str) -> Result<Option<PathBuf>, Failure> {
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::usage(&format!("cannot write {}: {error}", path.display()), "the file is as it was")
    };
    let backup = with_suffix(path);
    let mut kept = Ok(None);
    // The file is read again under the lock: Claude Code may have changed it while the question was open.
    let updated = rewrite::update(disk, path, |there| {
        kept = changed(there, entry, path).and_then(|changed| match (changed, there) {
            (Some(changed), Some(there)) => {
                back_up(disk, path, &backup, there).map_err(|error| cannot(&error))?;
                Ok(Some((changed, Some(backup.clone()))))
            }
            (changed, _) => Ok(changed.map(|changed| (changed, None))),
        });
        kept.as_ref().ok().and_then(|kept| kept.as_ref()).map(|(changed, _)| changed.clone())
    });
    let kept = kept?;
    updated.map_err(|error| cannot(&error))?;
    Ok(kept.and_then(|(_, backup)| backup))
}

/// Keeps a copy, with the permissions of the file: settings may have secrets.
fn back_up(disk: &dyn Disk, path: &Path, backup: &Path, content: &[u8]) -> io::Result<()> {
    if backup.is_symlink() || backup.exists() {
        disk.remove_file(backup)?;
    }
    let mut copy = disk.create(backup, Some(path))?;
    AppendWriter(&mut *copy).write_all(content)?;
    copy.sync()
}

fn with_suffix(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(BACKUP);
    path.with_file_name(name)
}
