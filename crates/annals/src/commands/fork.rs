//! `annals fork`: copies a session, to continue it in another direction.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, ForkOptions};

use super::{choose, resume};
use crate::args::{self, Global};
use crate::failure::Failure;
use crate::output::{self, clean};

pub(crate) fn run(engine: &Engine, args: &args::Fork, global: &Global) -> Result<ExitCode, Failure> {
    let file = choose::session_to_change(engine, &args.session, global)?;
    let fork = ForkOptions {
        up_to: args.up_to.clone(),
        title: args.title.clone(),
        with_side_files: args.with_side_files,
    };
    let forked = engine.fork(&file, &fork)?;
    let mut out = output::stdout();
    if global.json {
        output::json_line(&mut out, &to_wire::fork_result(&forked, &file))?;
    } else {
        let copied = output::entries(forked.entries);
        let title = clean(&forked.title);
        output::sentences(&mut out, &format!("forked to {}: “{title}”, {copied}", forked.session))?;
    }
    out.flush()?;
    resume::suggest_id(&forked.session, global);
    Ok(ExitCode::SUCCESS)
}
