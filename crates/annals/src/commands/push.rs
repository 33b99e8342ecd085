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
use crate::args::{Global, Push, Record, RemoteAccess};
use crate::failure::Failure;
use crate::output::{self, clean};

pub(crate) fn run(engine: &Engine, args: &Push, global: &Global) -> Result<ExitCode, Failure> {
    let file = engine.session_to_change(&args.session).map_err(no_session)?;
    let address = fill_in(&args.address, &file)?;
    let options = PushOptions { all: args.all, restart: args.restart, retry: retry(args.retry_delay) };
    let mut pusher =
        engine.pusher(&file, &address, Box::new(remote::http(&args.access, &address)?), options)?;
    let report = if args.dry_run { pusher.pending_and_report() } else { pusher.push_and_report() };
    let mut out = output::stdout();
    if global.json {
        output::json_line(&mut out, &to_wire(&file, &address, &report, args.dry_run))?;
    } else if report.error.is_none() {
        output::sentences(&mut out, &summary(&file, &address, &report.outcome, args.dry_run))?;
    }
    out.flush()?;
    let restart = pusher.is_restart_pending();
    let again = Again { file: &file, address: &args.address, all: args.all, restart, access: &args.access };
    note_unsent(&report, "--all");
    conclude(&report, &again).map(|()| ExitCode::SUCCESS)
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
    let pusher = engine.pusher(file, &address, Box::new(remote::http(&args.access, &address)?), options)?;
    Ok(Some(BackgroundPusher::start(pusher)))
}

/// Waits for what a recorder appended to be pushed, and prints what was sent and what is pending.
pub(crate) fn finish(pusher: BackgroundPusher, args: &Record, file: &TranscriptFile) -> Result<(), Failure> {
    let report = pusher.finish();
    let given = args.push.as_deref().unwrap_or_default();
    let address = fill_in(given, file)?;
    let mut out = output::stdout();
    output::json_line(&mut out, &to_wire(file, &address, &report, false))?;
    out.flush()?;
    note_unsent(&report, "--push-all");
    let again = Again { file, address: given, all: args.push_all, restart: false, access: &args.access };
    conclude(&report, &again)
}

/// Says which entries are not sent, and what it takes to send them. `option` requests records.
fn note_unsent(PushReport { outcome, error, .. }: &PushReport, option: &str) {
    // Then no option would send them.
    if matches!(error, Some(PushError::NoUsableId)) {
        return;
    }
    if outcome.waiting > 0 {
        output::note(&format!(
            "note: not sent yet: {} without a uuid; such records wait for the first entry with a uuid, whose answer says whether the log is that of this session",
            output::entries(outcome.waiting)
        ));
    }
    if outcome.skipped > 0 {
        output::note(&format!(
            "note: not sent: {} with a uuid that cannot be the value of an HTTP header; `{option}` sends such entries as records",
            output::entries(outcome.skipped)
        ));
    }
}

/// Returns the failure of a selector. The transcript of a subagent is named by its path.
fn no_session(error: annals_engine::Error) -> Failure {
    let is_agent = error.is_agent();
    let failure = Failure::from(error);
    if !is_agent {
        return failure;
    }
    failure.with_hint("`push` takes the path of the agent's transcript, with `{agent}` in the address".into())
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
    Retry { first_pause: Duration::from_millis(delay), announce, ..Retry::default() }
}

/// Says why nothing happens for a while.
fn announce(reason: &str, pause: Duration) {
    output::note(&format!(
        "note: not sent yet: {}; trying again in {} s",
        clean(reason),
        pause.as_secs_f64()
    ));
}

/// What the command that continues a push consists of.
struct Again<'a> {
    file: &'a TranscriptFile,
    /// The address as it was given.
    address: &'a str,
    all: bool,
    /// Whether the progress of earlier pushes is still to be forgotten.
    restart: bool,
    access: &'a RemoteAccess,
}

impl Again<'_> {
    /// Returns the command that continues after an error, without what may be secret in the address.
    fn command(&self, error: &PushError) -> String {
        // A subagent has no name of its own.
        let path = self.file.path.to_string_lossy();
        let session = if self.file.agent.is_some() { format!("'{path}'") } else { name(self.file) };
        let mut command = format!("annals push {session} '{}'", without_secrets(self.address));
        if self.all {
            command += " --all";
        }
        if let Some(path) = &self.access.token_file {
            command = format!("{command} --token-file '{}'", path.display());
        }
        if self.access.insecure_http {
            command += " --insecure-http";
        }
        if self.restart || matches!(error, PushError::Rewritten { .. }) {
            command += " --restart";
        }
        clean(&command).into_owned()
    }

    /// Returns what has to be added to the address.
    fn secrets(&self) -> Option<String> {
        let is_whole = without_secrets(self.address) == self.address;
        (!is_whole).then(|| {
            "give the address as before: its user, password and query may be secret and are not shown".into()
        })
    }
}

/// Returns the failure of a push, if it failed, with the command that continues it.
fn conclude(report: &PushReport, again: &Again<'_>) -> Result<(), Failure> {
    match &report.error {
        None => Ok(()),
        Some(PushError::Engine(error)) => {
            Err(Failure::usage(&format!("cannot push: {error}"), "the transcript is unchanged; try again"))
        }
        Some(error) => {
            Err(Failure::push(error, report.outcome.pending, &again.command(error), again.secrets()))
        }
    }
}

fn to_wire(
    file: &TranscriptFile,
    address: &str,
    PushReport { outcome, error, .. }: &PushReport,
    dry_run: bool,
) -> PushResult {
    PushResult {
        session: file.session.clone().unwrap_or_default(),
        path: file.path.as_path().into(),
        address: without_secrets(address),
        pushed: outcome.sent,
        pending: outcome.pending,
        last: outcome.last.clone(),
        skipped: outcome.skipped,
        error: error.as_ref().map(ToString::to_string),
        dry_run,
    }
}

/// Returns what was done, for people.
fn summary(file: &TranscriptFile, address: &str, outcome: &PushOutcome, dry_run: bool) -> String {
    let address = without_secrets(address);
    let (verb, count) =
        if dry_run { ("would push", outcome.pending - outcome.waiting) } else { ("pushed", outcome.sent) };
    format!("{verb} {} of {} to {}", output::entries(count), name(file), clean(&address))
}
