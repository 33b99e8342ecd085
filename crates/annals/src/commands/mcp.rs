//! `annals mcp`: session history for agents; `annals mcp install` makes Claude Code start it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use annals_api::{Api, Options};
use annals_engine::{Engine, Roots};
use annals_mcp::McpServer;
use serde_json::json;

use crate::args::Global;
use crate::args::mcp::{Mcp, McpAction, McpInstall};
use crate::commands::settings::{self, Change};
use crate::failure::Failure;
use crate::output::{self, note};

/// The name of the server in the settings, under which Claude Code shows its tools.
const NAME: &str = "annals";

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
    let path = settings_file(args)?;
    let name = path.display().to_string();
    let change = Change { path, keys: &["mcpServers", NAME], value: entry(args, global)? };
    if change.make(args.yes)? {
        note("Claude Code starts it with the next session; `claude mcp list` shows whether it can.");
    } else {
        note(&format!("{name} starts `annals mcp` already; nothing was changed"));
    }
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
        settings::own_path().map_err(|error| {
            Failure::usage(&format!("the path of annals is not known: {error}"), "`--project` needs none")
        })?
    };
    Ok(json!({"type": "stdio", "command": command, "args": arguments, "env": {}}).to_string())
}

fn settings_file(args: &McpInstall) -> Result<PathBuf, Failure> {
    if args.project {
        return Ok(PathBuf::from(".mcp.json"));
    }
    Roots::user_settings().ok_or_else(|| {
        Failure::usage("there is no home folder", "set `CLAUDE_CONFIG_DIR`, or use `--project`")
    })
}
