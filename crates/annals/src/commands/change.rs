//! `annals rename`, `tag`, `archive`, `unarchive`, `tombstone`, `hydrate`: changes of sessions.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use annals_api::to_wire::change_result;
use annals_engine::{
    ArchiveFilter, Engine, HydrateOptions, HydrateOutcome, Liveness, Log, Recording, TranscriptFile,
    without_secrets,
};
use annals_proto::{ChangeResult, Operation};
use annals_transcript::write::{self, rewrite::RemovalMethod};

use super::bulk::{self, Plan};
use super::{choose, remote};
use crate::args::{Archive, Global, Hydrate, Rename, Safety, Tag, Tombstone};
use crate::failure::Failure;
use crate::output::{self, clean};

pub(crate) fn rename(engine: &Engine, args: &Rename, global: &Global) -> Result<ExitCode, Failure> {
    let file = choose::session_to_change(engine, &args.session, global)?;
    engine.rename(&file, &args.title)?;
    warn_if_open(engine, &file, "it may write its own title again", true);
    let title = args.title.trim().to_owned();
    let text = format!("renamed {} to “{}”", name(&file), clean(&title));
    let changed = ChangeResult { title: Some(title), ..change_result(Operation::Rename, &file) };
    let code = report(&changed, &text, global)?;
    super::resume::suggest(&file, global);
    Ok(code)
}

pub(crate) fn tag(engine: &Engine, args: &Tag, global: &Global) -> Result<ExitCode, Failure> {
    let (names, tag) = sessions_and_tag(args)?;
    if !args.remove && !args.yes && engine.is_session_prefix(&tag) {
        return Err(Failure::usage(
            &format!(
                "`{}`, the last argument, is the id of a session or the beginning of it, and would be the tag",
                clean(&tag)
            ),
            "give the tag as the last argument; `--yes` uses this one",
        ));
    }
    let plan = Plan {
        names,
        filters: &args.filters,
        archived: ArchiveFilter::Exclude,
        is_archive_fixed: false,
        describe: &|sessions| tagging(&tag, sessions),
        dry_run: args.dry_run,
        yes: args.yes,
    };
    bulk::run(engine, &plan, global, |file| {
        if !args.dry_run {
            engine.tag(file, Some(&tag[..]).filter(|tag| !tag.is_empty()))?;
            warn_if_open(engine, file, "it may write its own tag again", plan.is_one());
        }
        let text = match &tag[..] {
            _ if args.dry_run => format!("would {}", tagging(&tag, &name(file))),
            "" => format!("removed the tag of {}", name(file)),
            tag => format!("tagged {} “{}”", name(file), clean(tag)),
        };
        let (tag, dry_run) = (Some(tag.clone()), args.dry_run);
        Ok((ChangeResult { tag, dry_run, ..change_result(Operation::Tag, file) }, text))
    })
}

/// Says what a tag does to sessions; an empty one is removed.
fn tagging(tag: &str, sessions: &str) -> String {
    match tag {
        "" => format!("remove the tag of {sessions}"),
        tag => format!("tag {sessions} “{}”", clean(tag)),
    }
}

/// Splits the arguments of `annals tag` into sessions and the tag, which is empty if it is to be removed.
fn sessions_and_tag(args: &Tag) -> Result<(&[OsString], String), Failure> {
    if args.remove {
        return Ok((&args.names, String::new()));
    }
    let hint = "the last argument is the tag; `--remove` removes it";
    let (tag, names) = match args.names.split_last() {
        Some((tag, names)) if !names.is_empty() || args.filters.are_given() => (tag, names),
        _ => return Err(Failure::usage("no tag was given", hint)),
    };
    let tag = tag.to_str().ok_or_else(|| Failure::usage("the tag is not valid Unicode", hint))?;
    if tag.trim().is_empty() {
        return Err(Failure::usage("the tag is empty", "`--remove` removes the tag of a session"));
    }
    Ok((names, tag.trim().to_owned()))
}

pub(crate) fn archive(
    engine: &Engine,
    args: &Archive,
    archived: bool,
    global: &Global,
) -> Result<ExitCode, Failure> {
    let (done, would, did) = if archived {
        (Operation::Archive, "archive", "archived")
    } else {
        (Operation::Unarchive, "unarchive", "unarchived")
    };
    let plan = Plan {
        names: &args.sessions,
        filters: &args.filters,
        archived: if archived { ArchiveFilter::Exclude } else { ArchiveFilter::Only },
        is_archive_fixed: true,
        describe: &|sessions| format!("{would} {sessions}"),
        dry_run: args.dry_run,
        yes: args.yes,
    };
    bulk::run(engine, &plan, global, |file| {
        let is_done = engine.session_row(file).is_ok_and(|row| row.is_archived == archived);
        let text = if is_done {
            format!("{} {} archived", name(file), if archived { "is already" } else { "is not" })
        } else if args.dry_run {
            format!("would {would} {}", name(file))
        } else {
            engine.set_archived(file, archived)?;
            format!("{did} {}", name(file))
        };
        Ok((ChangeResult { dry_run: args.dry_run, ..change_result(done, file) }, text))
    })
}

pub(crate) fn tombstone(engine: &Engine, args: &Tombstone, global: &Global) -> Result<ExitCode, Failure> {
    let file = choose::session_to_change(engine, &args.session, global)?;
    let id = engine.entry_id(&file, &args.uuid)?;
    let dry_run = args.safety.dry_run;
    let limit = args.limit.saturating_mul(1 << 20);
    let text = if dry_run {
        warn_of_refusal(engine, &file, args.safety)?;
        engine.rehearse_removal(&file, &id, limit)?;
        format!("would remove entry {} from {}", clean(&id), name(&file))
    } else {
        let how = match engine.remove_entry(&file, &id, limit, args.safety.force)? {
            RemovalMethod::Truncate => "the last line was cut off",
            RemovalMethod::Rewrite => "the file was rewritten",
        };
        format!("removed entry {} from {}: {how}", clean(&id), name(&file))
    };
    report(
        &ChangeResult { uuid: Some(id), dry_run, ..change_result(Operation::Tombstone, &file) },
        &text,
        global,
    )
}

pub(crate) fn hydrate(engine: &Engine, args: &Hydrate, global: &Global) -> Result<ExitCode, Failure> {
    let recording = Recording {
        project: args.project.clone(),
        session: engine.session_to_record(args.session.as_deref())?,
        ..Recording::default()
    };
    let target = engine.target(&recording)?;
    let log = open_log(args)?;
    let file = TranscriptFile::at(&target.path());
    let (would, did) = if file.path.exists() { ("replace", "replaced") } else { ("create", "created") };
    let is_missing = log.is_missing();
    let options = HydrateOptions { force: args.safety.force, allow_empty: args.allow_empty };
    let mut entry = None;
    let (entries, text) = if args.safety.dry_run {
        let entries = engine.rehearse_hydrate(&target, log, options);
        let entries = entries.map_err(|error| not_hydrated(error, is_missing))?;
        warn_of_refusal(engine, &file, args.safety)?;
        (entries, format!("would {would} {} with {}", name(&file), output::entries(entries)))
    } else {
        let outcome = engine.hydrate(&target, log, options);
        let HydrateOutcome { entries, replaced } =
            outcome.map_err(|error| not_hydrated(error, is_missing))?;
        let mut lines = vec![format!("{did} {} with {}", name(&file), output::entries(entries))];
        if let Some(replaced) = &replaced {
            let (session, entry) = (clean(&replaced.session), &replaced.entry);
            lines.push(format!(
                "the earlier version is in the trash: `annals restore {session} --entry {entry} --replace`"
            ));
        }
        if entries > 0 {
            lines.push(format!("`annals show {}` prints the new one", name(&file)));
        }
        entry = replaced.map(|replaced| replaced.entry);
        (entries, lines.join("\n"))
    };
    let dry_run = args.safety.dry_run;
    report(
        &ChangeResult { dry_run, entries: Some(entries), entry, ..change_result(Operation::Hydrate, &file) },
        &text,
        global,
    )
}

/// Returns the failure of a hydration; `is_missing` says whether the server has no log at the address.
fn not_hydrated(error: annals_engine::Error, is_missing: bool) -> Failure {
    let is_empty = error.writer().is_some_and(write::Error::is_empty_log);
    let failure = Failure::from(error);
    if is_missing && is_empty {
        return failure.with_hint("the server has no log at this address (404)".into());
    }
    failure
}

/// Opens a log: standard input, an address, or a file.
fn open_log(args: &Hydrate) -> Result<Log, Failure> {
    let from = &*args.from;
    let log = if from == "-" {
        Log::read(io::stdin())
    } else if from.starts_with("http://") || from.starts_with("https://") {
        Log::fetch(&remote::http(&args.access, from)?, from)
    } else {
        File::open(Path::new(from)).and_then(Log::read)
    };
    let is_address = from.contains("://");
    log.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied if is_address => Failure::unauthorized(&without_secrets(from)),
        _ => Failure::source(&without_secrets(from), &error),
    })
}

/// Warns if Claude Code has the session open, and of what it may do then.
fn warn_if_open(engine: &Engine, file: &TranscriptFile, risk: &str, is_one: bool) {
    if let Some(process) = engine.registered_writer(file) {
        output::note(&format!("note: {}{process}; {risk}", subject(file, is_one)));
    }
}

/// Returns the session that a note is about; nothing if only one session is changed.
fn subject(file: &TranscriptFile, is_one: bool) -> String {
    if is_one { String::new() } else { format!("{}: ", name(file)) }
}

/// Warns in a dry run if the operation would be refused without `--force`.
pub(crate) fn warn_of_refusal(engine: &Engine, file: &TranscriptFile, safety: Safety) -> Result<(), Failure> {
    warn_of_refusal_among(engine, file, safety, true)
}

/// Warns in the same way; if it is not the only session that is changed, the note names it.
pub(crate) fn warn_of_refusal_among(
    engine: &Engine,
    file: &TranscriptFile,
    safety: Safety,
    is_one: bool,
) -> Result<(), Failure> {
    let reason = match engine.liveness(file)? {
        Liveness::Live(writer) => writer.to_string(),
        Liveness::Unknown(doubt) => doubt.to_string(),
        Liveness::NotLive => return Ok(()),
    };
    if !safety.force {
        let subject = subject(file, is_one);
        output::note(&format!("note: {subject}{}; this is refused without `--force`", clean(&reason)));
    }
    Ok(())
}

/// Returns the name of a session in messages: its id, or the path of its transcript.
pub(crate) fn name(file: &TranscriptFile) -> String {
    clean(file.session.as_deref().unwrap_or(&file.path.to_string_lossy())).into_owned()
}

/// Prints what was done, for people or for programs.
pub(crate) fn report(changed: &ChangeResult, text: &str, global: &Global) -> Result<ExitCode, Failure> {
    let mut out = output::stdout();
    if global.json {
        output::json_line(&mut out, changed)?;
    } else {
        output::sentences(&mut out, text)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
