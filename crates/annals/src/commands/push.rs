//! `annals push`, and `annals record --push`: entries for a server.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use annals_engine::{
    BackgroundPusher, Engine, PushError, PushOptions, PushOutcome, PushReport, Retry, TranscriptFile,
    without_secrets,
};
use annals_proto::PushResult;

use super::change::name;
use super::remote;
use crate::args::{Global, Push, Record};
use crate::failure::Failure;
use crate::output::{self, clean};

pub(crate) fn run(engine: &Engine, args: &Push, global: &Global) -> Result<ExitCode, Failure> {
    let file = engine.session_to_change(&args.session)?;
    let address = fill_in(&args.address, &file)?;
    let options = PushOptions { all: args.all, restart: args.restart, retry: retry(args.retry_delay) };
    let mut pusher = engine.pusher(&file, &address, Box::new(remote::http(&args.access)?), options)?;
    let result = if args.dry_run { pusher.pending() } else { pusher.push() };
    let outcome = result.map_err(|error| {
        let pending = pusher.pending().map_or(0, |outcome| outcome.pending);
        failure(&error, pending, &file, &args.address)
    })?;
    let mut out = output::stdout();
    if global.json {
        output::json_line(&mut out, &to_wire(&file, &address, &outcome, None, args.dry_run))?;
    } else {
        writeln!(out, "{}", summary(&file, &address, &outcome, args.dry_run))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Starts to push what a recorder appends.
pub(crate) fn start(
    engine: &Engine,
    args: &Record,
    file: &TranscriptFile,
) -> Result<Option<BackgroundPusher>, Failure> {
    let Some(address) = &args.push else { return Ok(None) };
    let address = fill_in(address, file)?;
    let options = PushOptions { all: args.push_all, restart: false, retry: retry(args.retry_delay) };
    let pusher = engine.pusher(file, &address, Box::new(remote::http(&args.access)?), options)?;
    Ok(Some(BackgroundPusher::start(pusher)))
}

/// Waits for what a recorder appended to be pushed, and prints what was sent and what is pending.
pub(crate) fn finish(pusher: BackgroundPusher, args: &Record, file: &TranscriptFile) -> Result<(), Failure> {
    let PushReport { outcome, error, .. } = pusher.finish();
    let given = args.push.as_deref().unwrap_or_default();
    let address = fill_in(given, file)?;
    let mut out = output::stdout();
    output::json_line(&mut out, &to_wire(file, &address, &outcome, error.as_ref(), false))?;
    out.flush()?;
    match error {
        Some(error) => Err(failure(&error, outcome.pending, file, given)),
        None => Ok(()),
    }
}

/// Returns an address with the ids of the transcript. A subagent has a log of its own, so its id must be in the address.
fn fill_in(address: &str, file: &TranscriptFile) -> Result<String, Failure> {
    let Some(session) = &file.session else { return Err(not_a_session(&file.path)) };
    if file.agent.is_some() && !address.contains("{agent}") {
        return Err(Failure::usage(
            "a subagent needs a log of its own",
            "put `{agent}` into the address: it is replaced by the id of the subagent",
        ));
    }
    Ok(address.replace("{session}", session).replace("{agent}", file.agent.as_deref().unwrap_or_default()))
}

fn not_a_session(path: &Path) -> Failure {
    Failure::usage(
        &format!("{} is not the transcript of a session", path.display()),
        "`annals list` lists sessions",
    )
}

fn retry(delay: u64) -> Retry {
    Retry { first_pause: Duration::from_millis(delay), ..Retry::default() }
}

/// Returns the failure of a push, with the command that continues it.
fn failure(error: &PushError, pending: usize, file: &TranscriptFile, address: &str) -> Failure {
    if let PushError::Engine(error) = error {
        return Failure::usage(&format!("cannot push: {error}"), "the transcript is unchanged; try again");
    }
    // A subagent has no name of its own.
    let session = if file.agent.is_some() { file.path.to_string_lossy().into_owned() } else { name(file) };
    let again = format!("annals push {} '{}'", clean(&session), clean(&without_secrets(address)));
    Failure::push(error, pending, &again)
}

fn to_wire(
    file: &TranscriptFile,
    address: &str,
    outcome: &PushOutcome,
    error: Option<&PushError>,
    dry_run: bool,
) -> PushResult {
    PushResult {
        session: file.session.clone().unwrap_or_default(),
        path: file.path.as_path().into(),
        address: without_secrets(address),
        pushed: outcome.sent,
        pending: outcome.pending,
        last: outcome.last.clone(),
        error: error.map(ToString::to_string),
        dry_run,
    }
}

/// Returns what was done, for people.
fn summary(file: &TranscriptFile, address: &str, outcome: &PushOutcome, dry_run: bool) -> String {
    let address = without_secrets(address);
    let (verb, count) = if dry_run { ("would push", outcome.pending) } else { ("pushed", outcome.sent) };
    format!("{verb} {} of {} to {}", output::entries(count), name(file), clean(&address))
}
