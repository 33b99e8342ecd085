//! `annals show`: prints a session.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use annals_engine::{Engine, Error};
use annals_transcript::Reader;

use crate::args::{Show, View};
use crate::failure::Failure;
use crate::output::clean_lines;

pub(crate) fn run(engine: &Engine, args: &Show) -> Result<ExitCode, Failure> {
    let file = engine.session(&args.session)?;
    match args.view {
        View::Raw => raw(&file.path)?,
    }
    Ok(ExitCode::SUCCESS)
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
