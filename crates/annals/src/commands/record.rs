//! `annals record`: appends drafts from standard input to a session.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use annals_engine::{BackgroundPusher, Engine, Meta, Recording, TranscriptFile};
use annals_proto::RecordResult;
use annals_transcript::write::{Agent, AppendSummary, Draft, DraftError, Options, Recorder};

use super::push;
use crate::args::Record;
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output;

/// Exit code: everything was recorded.
const SUCCESS: u8 = 0;

pub(crate) fn run(engine: &Engine, args: &Record) -> Result<ExitCode, Failure> {
    let recording = Recording {
        project: args.project.clone(),
        session: engine.session_to_record(args.session.as_deref())?,
        agent: agent(args)?,
        worktree: args.worktree.clone(),
        team_name: args.team_name.clone(),
        agent_name: args.agent_name.clone(),
        entrypoint: args.entrypoint.clone(),
        options: Options {
            sync: args.sync.into(),
            strict: args.strict,
            collapse_progress: args.collapse_progress,
            ..Options::default()
        },
    };
    let mut recorder = engine.recorder(&recording)?;
    let target = recorder.target();
    let file = TranscriptFile {
        path: target.path(),
        session: Some(recording.session.clone()),
        agent: target.agent().map(|agent| agent.id().to_owned()),
    };
    let pusher = push::start(engine, args, &file)?;
    let outcome = record(engine, args, &mut recorder, pusher.as_ref());
    // What is on disk is pushed, also if a later draft was refused.
    let sending = pusher.map_or(Ok(()), |pusher| push::finish(pusher, args, &file));
    match (outcome, sending) {
        (Err(failure), Err(push_failure)) => {
            push_failure.report();
            Err(failure)
        }
        (outcome, sending) => {
            let code = outcome?;
            sending.map(|()| ExitCode::from(code))
        }
    }
}

/// Records standard input; returns the exit code.
fn record(
    engine: &Engine,
    args: &Record,
    recorder: &mut Recorder,
    pusher: Option<&BackgroundPusher>,
) -> Result<u8, Failure> {
    let mut out = output::stdout();
    let limit = Options::default().longest_line;
    let mut drafts = Drafts { input: io::stdin().lock(), line: 0, limit };
    let (mut refused, mut described) = (false, false);
    let mut batch = drafts.read_batch(args.batch)?;
    loop {
        let before = recorder.written();
        let outcome = match append(recorder, batch, args.keep_going) {
            Ok(outcome) => outcome,
            Err(failure) => {
                // A caller that tries again needs to know what is already written.
                let written = recorder.written() - before;
                if written > 0 {
                    output::json_line(
                        &mut out,
                        &report(recorder, AppendSummary { written, ..AppendSummary::default() }, 0),
                    )?;
                    out.flush()?;
                }
                return Err(failure);
            }
        };
        if let Some(pusher) = pusher {
            pusher.wake();
        }
        refused |= outcome.refused > 0;
        if !described && recorder.target().path().is_file() {
            engine.describe_agent(recorder.target(), &meta(args))?;
            described = true;
        }
        output::json_line(&mut out, &outcome)?;
        out.flush()?;
        batch = drafts.read_batch(args.batch)?;
        if batch.is_empty() {
            break;
        }
    }
    if recorder.waiting() > 0 {
        output::complain(&format!(
            "{} not written: a session must begin with a message",
            output::count(recorder.waiting(), "record")
        ));
        return Ok(FOUND_NOTHING);
    }
    Ok(if refused { FAILED } else { SUCCESS })
}

/// Writes a batch. With `keep_going`, drafts that are refused are reported and skipped; otherwise the first one fails the batch.
fn append(recorder: &mut Recorder, batch: Vec<Line>, keep_going: bool) -> Result<RecordResult, Failure> {
    let mut refused = 0;
    let (mut drafts, mut numbers) = (Vec::new(), Vec::new());
    for line in batch {
        match line.draft {
            Ok(draft) => {
                drafts.push(draft);
                numbers.push(line.number);
            }
            Err(error) if keep_going => {
                refused += 1;
                output::complain(&format!("line {}: {error}", line.number));
            }
            Err(error) => return Err(Failure::draft(line.number, &error)),
        }
    }
    let number =
        |error: &annals_transcript::write::Error| error.draft().and_then(|draft| numbers.get(draft - 1));
    let appended = if keep_going {
        let (appended, errors) = recorder.append_valid(drafts).map_err(Failure::record)?;
        for error in &errors {
            refused += 1;
            let reason = error.reason().map_or_else(|| error.to_string(), ToString::to_string);
            output::complain(&format!("line {}: {reason}", number(error).unwrap_or(&0)));
        }
        appended
    } else {
        recorder.append(drafts).map_err(|error| match (number(&error), error.reason()) {
            (Some(number), Some(reason)) => Failure::draft(*number, reason),
            _ => Failure::record(error),
        })?
    };
    recorder.flush().map_err(Failure::record)?;
    // Records that wait for the first message are not written yet.
    let written = appended.written.saturating_sub(recorder.waiting());
    Ok(report(recorder, AppendSummary { written, ..appended }, refused))
}

/// Returns the report on a batch that the caller gets.
fn report(recorder: &Recorder, appended: AppendSummary, refused: usize) -> RecordResult {
    let AppendSummary { written, skipped, collapsed, last } = appended;
    let target = recorder.target();
    let path = target.path().as_path().into();
    RecordResult { session: target.session_id().to_owned(), path, written, skipped, refused, last, collapsed }
}

fn agent(args: &Record) -> Result<Option<Agent>, Failure> {
    let Some(id) = &args.agent else { return Ok(None) };
    let agent = Agent::new(id).map_err(Failure::record)?;
    match &args.group {
        Some(group) => agent.in_group(group).map_err(Failure::record).map(Some),
        None => Ok(Some(agent)),
    }
}

fn meta(args: &Record) -> Meta {
    Meta {
        agent_type: args.agent_type.clone(),
        description: args.description.clone(),
        tool_use_id: args.tool_use_id.clone(),
        worktree: args.worktree.as_deref().map(Path::to_string_lossy).map(Into::into),
        ..Meta::default()
    }
}

/// The lines of standard input.
struct Drafts<R> {
    input: R,
    line: usize,
    limit: usize,
}

/// A line of the input, as a draft or with the reason why it is none.
struct Line {
    number: usize,
    draft: Result<Draft, DraftError>,
}

impl<R: BufRead> Drafts<R> {
    /// Reads drafts up to a blank line, the end of the input, or `most` of them. The result is empty only at the end.
    fn read_batch(&mut self, most: Option<usize>) -> Result<Vec<Line>, Failure> {
        let mut batch = Vec::new();
        let mut bytes = Vec::new();
        while most.is_none_or(|most| batch.len() < most) {
            let length =
                read_line(&mut self.input, self.limit, &mut bytes).map_err(|error| Failure::input(&error))?;
            self.line += 1;
            // Some shells begin piped text with a byte order mark.
            let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
            let draft = match bytes.trim_ascii() {
                [] if length > 0 && batch.is_empty() => continue,
                [] => break,
                _ if length > self.limit => Err(DraftError::TooLong { length, limit: self.limit }),
                draft => Draft::parse(draft),
            };
            batch.push(Line { number: self.line, draft });
        }
        Ok(batch)
    }
}

/// Reads a line, of which at most `limit` bytes are kept; returns its length.
fn read_line(input: &mut impl BufRead, limit: usize, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let mut length = 0;
    loop {
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let taken = newline.map_or(buffer.len(), |at| at + 1);
        let kept = taken.min(limit.saturating_sub(line.len()));
        line.extend_from_slice(&buffer[..kept]);
        input.consume(taken);
        length += taken;
        if newline.is_some() || taken == 0 {
            return Ok(length);
        }
    }
}
