//! `annals serve`: histories for browsers, editors and agents.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use annals_engine::Engine;
#[cfg(feature = "mcp")]
use annals_mcp::{HttpService, McpServer};
use annals_proto::ServerAddress;
use annals_server::{Http, HttpOptions, Options, Server, StopReason};

use crate::args::{Global, Serve};
use crate::failure::{Failure, INTERRUPTED};
use crate::output::{self, json_stdout, note};

/// The environment variable with the token.
const TOKEN: &str = "ANNALS_TOKEN";
/// A browser that fails within this time has shown nothing; one that fails later was used.
const BROWSER_START: Duration = Duration::from_secs(30);

pub(crate) fn run(engine: Engine, args: &Serve, global: &Global) -> Result<ExitCode, Failure> {
    output::say_only_where_panics_are("a request could not be answered");
    let folders = super::project_folders(&engine);
    let options = Options { read_only: args.read_only, allow_reveal: args.allow_reveal, poll: args.poll };
    let masking = output::mask::masking().cloned().unwrap_or_default();
    let server = Server::with_masking(engine, options, masking);
    if let Some(agent) = &args.agent {
        server.set_agent(agent.clone());
    }
    #[cfg(feature = "search")]
    let _keeper = server.keep_index().map_err(|error| Failure::server(&error))?;
    let ended = if args.stdio {
        annals_server::serve(&server)
    } else {
        let options = HttpOptions {
            bind: args.bind.clone(),
            port: args.port,
            token: token(args)?,
            ..HttpOptions::default()
        };
        #[cfg(feature = "mcp")]
        let api = server.api();
        let http =
            Http::bind(server, options).map_err(|error| Failure::listening(&error, &args.bind, args.port))?;
        #[cfg(feature = "mcp")]
        let http = {
            let service = HttpService::new(McpServer::new(api));
            http.mount("/mcp", move |request| service.clone().answer(request))
        };
        announce(&http, &folders, args, global)?;
        http.serve()
    };
    match ended.map_err(|error| Failure::server(&error))? {
        StopReason::Disconnected | StopReason::Terminated => Ok(ExitCode::SUCCESS),
        StopReason::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
    }
}

/// Returns the token that the user chose; `None` if the server should generate one.
fn token(args: &Serve) -> Result<Option<String>, Failure> {
    if let Some(path) = &args.token_file {
        return super::remote::read_token_file(path).map(Some);
    }
    if args.token.is_some() {
        return Ok(args.token.clone());
    }
    let given = std::env::var_os(TOKEN).filter(|token| !token.is_empty());
    // A value that is not UTF-8 becomes a token with invalid characters, which the server refuses.
    Ok(given.map(|token| token.to_string_lossy().into_owned()))
}

/// Prints where the server listens, for people or programs.
fn announce(http: &Http, folders: &str, args: &Serve, global: &Global) -> Result<(), Failure> {
    let serving = ServerAddress {
        url: http.link(),
        address: http.address().to_string(),
        token: http.token().to_owned(),
        read_only: args.read_only,
    };
    if http.is_exposed() {
        let may =
            if args.read_only { "read all sessions" } else { "read, rename, fork and delete all sessions" };
        note(&format!(
            "Other machines can reach {}. Everyone who has the token may {may}. Connections are not encrypted: everyone who \
             can record the traffic can read it, and the token with it.",
            http.address()
        ));
    }
    if !global.json {
        let how = if args.read_only { ", read-only" } else { "" };
        note(&format!("Serving the sessions in {folders}{how}."));
        note("Open this link in a browser; Ctrl-C ends the server.");
    }
    let mut out = json_stdout();
    if global.json {
        output::json_line_as_is(&mut out, &serving)?;
    } else {
        writeln!(out, "{}", serving.url)?;
    }
    out.flush()?;
    if args.open {
        let ticket = http.ticket().map_err(|error| Failure::listening(&error, &args.bind, args.port))?;
        open(&ticket);
    }
    Ok(())
}

/// Opens an address in the user's browser, or says that there is none.
fn open(address: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer.exe",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(address).env_remove(TOKEN);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut browser) = command.spawn() else { return no_browser() };
    // A process that nobody waits for stays in the process table after its end.
    std::thread::spawn(move || {
        let start = Instant::now();
        let failed = browser.wait().is_ok_and(|status| status.code().is_some_and(|code| code != 0));
        // `explorer.exe` exits with 1 even if it succeeds.
        if failed && start.elapsed() < BROWSER_START && program != "explorer.exe" {
            no_browser();
        }
    });
}

fn no_browser() {
    note("No browser could be started: open the link yourself.");
}
