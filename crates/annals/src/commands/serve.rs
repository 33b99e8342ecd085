//! `annals serve`: histories for browsers, editors and agents.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use annals_engine::Engine;
use annals_proto::Serving;
use annals_server::{Ended, Http, HttpOptions, Options, Server};

use crate::args::{Global, Serve};
use crate::failure::{Failure, INTERRUPTED};
use crate::output::{self, json_stdout, note};

pub(crate) fn run(engine: Engine, args: &Serve, global: &Global) -> Result<ExitCode, Failure> {
    let server = Server::new(engine, Options { read_only: args.read_only, poll: args.poll });
    if let Some(agent) = &args.agent {
        server.set_agent(agent.clone());
    }
    let ended = if args.stdio {
        annals_server::serve(&server)
    } else {
        let options = HttpOptions {
            bind: args.bind.clone(),
            port: args.port,
            token: args.token.clone(),
            ..HttpOptions::default()
        };
        let http = Http::bind(server, options).map_err(|error| Failure::listening(&error))?;
        announce(&http, args, global)?;
        http.serve()
    };
    match ended.map_err(|error| Failure::server(&error))? {
        Ended::Peer | Ended::Terminated => Ok(ExitCode::SUCCESS),
        Ended::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
    }
}

/// Says where the server is, for people and programs.
fn announce(http: &Http, args: &Serve, global: &Global) -> Result<(), Failure> {
    let serving = Serving {
        url: http.link(),
        address: http.address().to_string(),
        token: http.token().to_owned(),
        read_only: args.read_only,
    };
    if http.is_exposed() {
        let may =
            if args.read_only { "read all sessions" } else { "read, rename, fork and delete all sessions" };
        note(&format!(
            "Listening beyond this machine, on {}: whoever has the token may {may}, and whoever hears the traffic reads it \
             along with the token, as it is not encrypted.",
            http.address()
        ));
    }
    if !global.json {
        note("Open this link in a browser; Ctrl-C ends the server.");
    }
    let mut out = json_stdout();
    if global.json {
        output::json_line(&mut out, &serving)?;
    } else {
        writeln!(out, "{}", serving.url)?;
    }
    out.flush()?;
    if args.open {
        let ticket = http.ticket().map_err(|error| Failure::listening(&error))?;
        if !open(&ticket) {
            note("No browser could be started: open the link yourself.");
        }
    }
    Ok(())
}

/// Opens an address in the user's browser; returns whether something was started.
fn open(address: &str) -> bool {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer.exe",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
