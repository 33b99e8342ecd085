//! `annals show`: prints a session.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use annals_engine::{Engine, Error, Snapshot};
use annals_transcript::chain::Chain;
use annals_transcript::{Reader, model};

use crate::args::{Global, Show, View};
use crate::failure::Failure;
use crate::output::{self, clean_lines};
use crate::to_wire;

pub(crate) fn run(engine: &Engine, args: &Show, global: &Global) -> Result<ExitCode, Failure> {
    let file = engine.session(&args.session)?;
    match args.view {
        View::Raw => raw(&file.path)?,
        View::Model => model(&engine.snapshot(file)?, global.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what the client would send on resume.
fn model(snapshot: &Snapshot, json: bool) -> Result<(), Failure> {
    let chain = Chain::build(snapshot.session());
    if let Some(obstacle) = chain.obstacle() {
        return Err(Failure::not_resumable(&obstacle.to_string()));
    }
    let to_wire = to_wire::Messages::of(snapshot);
    let mut out = output::stdout();
    for message in model::messages(&chain) {
        let message = to_wire.message(&message)?;
        if json {
            output::json_line(&mut out, &message)?;
        } else {
            output::json_line(&mut out, &message)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Prints the file as it is. A terminal gets no control characters: transcript text may come from anyone.
fn raw(path: &Path) -> Result<(), Failure> {
    let failed = |source| Error::read(path, source);
    let mut reader = Reader::new(File::open(path).map_err(failed)?);
    let stdout = io::stdout();
    let cleaned = stdout.is_terminal();
    let mut out = io::BufWriter::with_capacity(1 << 18, stdout.lock());
    while let Some(entry) = reader.read().map_err(failed)? {
        if cleaned {
            out.write_all(clean_lines(&String::from_utf8_lossy(entry.bytes())).as_bytes())?;
        } else {
            out.write_all(entry.bytes())?;
        }
    }
    out.flush()?;
    Ok(())
}
