//! `annals show`: prints a session.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use annals_engine::{Conversation, Engine, Error, Snapshot};
use annals_transcript::history::Step;
use annals_transcript::{Reader, model};

use crate::args::{Global, Show, View};
use crate::failure::Failure;
use crate::output::conversation::{Detail, Printer};
use crate::output::{self, clean_lines};
use crate::to_wire::ToWire;

pub(crate) fn run(engine: &Engine, args: &Show, global: &Global) -> Result<ExitCode, Failure> {
    let file = engine.session(&args.session)?;
    if args.view == View::Raw {
        raw(&file.path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let snapshot = engine.snapshot(file)?;
    let conversation = Conversation::of(&snapshot, args.leaf.as_deref())?;
    match args.view {
        View::Model => model(&snapshot, &conversation, global.json)?,
        _ => full(&snapshot, &conversation, args, global.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints everything that was recorded.
fn full(
    snapshot: &Snapshot,
    conversation: &Conversation<'_>,
    args: &Show,
    json: bool,
) -> Result<(), Failure> {
    let steps = conversation.steps().iter().filter(|step| match (&args.turn, step) {
        (None, _) => true,
        (Some(turns), Step::Entry { node, .. }) => {
            conversation.turn_of(*node).is_some_and(|turn| turns.contains(&turn))
        }
        (Some(_), _) => false,
    });
    let mut out = output::stdout();
    if json {
        let to_wire = ToWire::of(snapshot);
        for step in steps {
            output::json_line(&mut out, &to_wire.item(conversation, step)?)?;
        }
        out.flush()?;
        return Ok(());
    }
    let detail = Detail { thinking: !args.no_thinking, tools: args.tools };
    let mut printer = Printer::new(out, conversation, detail);
    for step in steps {
        printer.step(step)?;
    }
    printer.finish()
}

/// Prints what the client would send on resume.
fn model(snapshot: &Snapshot, conversation: &Conversation<'_>, json: bool) -> Result<(), Failure> {
    let chain = conversation.chain();
    if let Some(obstacle) = chain.obstacle() {
        return Err(Failure::not_resumable(&obstacle.to_string()));
    }
    let to_wire = ToWire::of(snapshot);
    let mut out = output::stdout();
    for message in model::messages(chain) {
        let message = to_wire.message(&message)?;
        if json {
            output::json_line(&mut out, &message)?;
            continue;
        }
        output::heading(&mut out, &message.role)?;
        for part in &message.parts {
            writeln!(out, "  {}", output::clean(part.get()))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Prints the file as it is. A terminal gets no control characters: transcript text may come from anyone.
fn raw(path: &Path) -> Result<(), Failure> {
    let failed = |source| Error::read(path, source);
    let mut file = File::open(path).map_err(failed)?;
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return copy(&mut file, &mut stdout.lock(), failed);
    }
    let mut reader = Reader::new(file);
    let mut out = io::BufWriter::new(stdout.lock());
    while let Some(entry) = reader.read().map_err(failed)? {
        out.write_all(clean_lines(&String::from_utf8_lossy(entry.bytes())).as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// Copies bytes, telling errors of reading from those of writing.
fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    failed: impl Fn(io::Error) -> Error,
) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(to.flush()?),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error).into()),
        }
    }
}
