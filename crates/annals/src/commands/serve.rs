//! `annals serve`: histories for editors and agents.

use std::process::ExitCode;

use annals_engine::Engine;
use annals_server::{Ended, Options, Server};

use crate::args::Serve;
use crate::failure::{Failure, INTERRUPTED};

pub(crate) fn run(engine: Engine, args: &Serve) -> Result<ExitCode, Failure> {
    let server = Server::new(engine, Options { read_only: args.read_only, poll: args.poll });
    match annals_server::serve(&server).map_err(|error| Failure::server(&error))? {
        Ended::Peer | Ended::Terminated => Ok(ExitCode::SUCCESS),
        Ended::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
    }
}
