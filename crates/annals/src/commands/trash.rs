//! `annals delete` and `annals restore`.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use annals_api::to_wire::{self, change_result};
use annals_engine::{ArchiveFilter, Belonging, Engine, TranscriptFile, TrashEntry};
use annals_proto::{ChangeResult, Operation};
use jiff::Timestamp;

use super::bulk::{self, Change, Plan};
use super::change::{name, report, warn_of_refusal, warn_of_refusal_among};
use crate::args::{Delete, Global, Restore, Safety};
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::{self, Table, clean};

pub(crate) fn delete(engine: &Engine, args: &Delete, global: &Global) -> Result<ExitCode, Failure> {
    if args.purge {
        let ([session], false) = (&args.sessions[..], args.filters.are_given()) else {
            let hint = "without `--purge`, several sessions go to the trash";
            return Err(Failure::usage("`--purge` takes one session", hint));
        };
        if let Some(trashed) = to_purge(engine, session, args)? {
            return purge(engine, &trashed, args.safety.dry_run, global);
        }
    }
    let plan = Plan {
        names: &args.sessions,
        filters: &args.filters,
        archived: ArchiveFilter::Exclude,
        is_archive_fixed: false,
        describe: &|sessions| format!("move {sessions} to the trash"),
        dry_run: args.safety.dry_run,
        yes: args.yes,
    };
    bulk::run(engine, &plan, global, |file| delete_one(engine, file, args, plan.is_one()))
}

/// Moves one session to the trash, or removes it permanently; in a dry run, says which files that are.
fn delete_one(
    engine: &Engine,
    file: &TranscriptFile,
    args: &Delete,
    is_one: bool,
) -> Result<Change, Failure> {
    let belongings = engine.belongings(file)?;
    let size: u64 = belongings.iter().map(|belonging| belonging.size).sum();
    let what =
        format!("{} ({}, {})", name(file), output::count(belongings.len(), "item"), output::size(size));
    let mut entry = None;
    let text = if args.safety.dry_run {
        warn_of_refusal_among(engine, file, args.safety, is_one)?;
        rehearsal(file, &belongings, args.purge)
    } else if args.purge {
        confirm_purge(&what, args.yes)?;
        engine.purge(&engine.delete(file, args.safety.force)?)?;
        format!("permanently removed: {what}")
    } else {
        let trashed = engine.delete(file, args.safety.force)?;
        let restore = output::command(&format!("annals restore {}", trashed.session));
        let restore = format!("`{restore}` restores it");
        entry = Some(trashed.entry);
        format!("moved to the trash: {what}\n{restore}")
    };
    let moved = belongings.iter().map(|belonging| belonging.path.as_path().into()).collect();
    let (dry_run, purged) = (args.safety.dry_run, args.purge);
    Ok((ChangeResult { dry_run, purged, entry, moved, ..change_result(Operation::Delete, file) }, text))
}

/// Returns the text of a dry run: what would happen to which files.
fn rehearsal(file: &TranscriptFile, belongings: &[Belonging], purge: bool) -> String {
    let what = if purge { "permanently remove" } else { "move to the trash" };
    let files = belongings.iter().map(|belonging| {
        format!("\n  {}  {}", output::size(belonging.size), clean(&belonging.path.to_string_lossy()))
    });
    format!("would {what} {}:{}", name(file), files.collect::<String>())
}

/// Returns the trash entry that the arguments name; `None` if they mean a session on disk.
fn to_purge(engine: &Engine, session: &OsStr, args: &Delete) -> Result<Option<TrashEntry>, Failure> {
    if Path::new(session).is_file() {
        return Ok(None);
    }
    let selector = session.to_string_lossy();
    let trashed = match engine.in_trash(&selector, args.entry.as_deref()) {
        Err(error) if error.is_not_in_trash() && args.entry.is_none() => return Ok(None),
        found => found?,
    };
    let on_disk = engine.session(session).ok().and_then(|file| file.session);
    if args.entry.is_none() && !engine.is_from_roots(&trashed) {
        return if on_disk.is_some() { Ok(None) } else { Err(deleted_elsewhere(&selector, &trashed)) };
    }
    if on_disk.is_some_and(|session| session != trashed.session) {
        return Err(Failure::usage(
            &format!("`{}` may be a session in the trash or another one on disk", clean(&selector)),
            "name it by its whole id",
        ));
    }
    Ok(Some(trashed))
}

/// Asks for confirmation before a session on disk is permanently removed; without a terminal, only `--yes` confirms.
fn confirm_purge(what: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let hint = "without `--purge` it goes to the trash";
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "removing a session permanently that is not in the trash needs `--yes`",
            hint,
        ));
    }
    if output::ask(&format!("permanently remove {what}? This cannot be undone."))? {
        return Ok(());
    }
    Err(Failure::usage("nothing was removed", hint))
}

/// Permanently removes an entry from the trash.
fn purge(engine: &Engine, trashed: &TrashEntry, dry_run: bool, global: &Global) -> Result<ExitCode, Failure> {
    if !dry_run {
        engine.purge(trashed)?;
    }
    let text = if dry_run {
        "would permanently remove from the trash:"
    } else {
        "permanently removed from the trash:"
    };
    let text = format!("{text} {} ({})", clean(&trashed.session), trashed.entry);
    let entry = Some(trashed.entry.clone());
    report(
        &ChangeResult { dry_run, purged: true, entry, ..change_result(Operation::Delete, &file_of(trashed)) },
        &text,
        global,
    )
}

pub(crate) fn restore(engine: &Engine, args: &Restore, global: &Global) -> Result<ExitCode, Failure> {
    let Some(session) = &args.session else { return list(engine, global) };
    let trashed = engine.in_trash(&session.to_string_lossy(), args.entry.as_deref())?;
    if args.entry.is_none() && !engine.is_from_roots(&trashed) {
        return Err(deleted_elsewhere(&session.to_string_lossy(), &trashed));
    }
    let name = clean(&trashed.session);
    let is_replacing = args.replace && trashed.transcript.exists();
    let path = clean(&trashed.transcript.to_string_lossy()).into_owned();
    let entry = trashed.entry.clone();
    let mut replaced = None;
    let text = if args.dry_run {
        if is_replacing {
            engine.ensure_replaceable(&trashed)?;
            warn_of_refusal(engine, &file_of(&trashed), Safety { dry_run: true, force: args.force })?;
        } else {
            engine.ensure_restorable(&trashed)?;
        }
        format!("would restore {name} (entry {entry}) to {path}")
    } else if is_replacing {
        match engine.restore_over(&trashed, args.force)? {
            Some(old) => {
                let old = replaced.insert(old.entry);
                format!(
                    "restored {name} to {path}; what was there is in the trash: `annals restore {name} --entry {old} --replace`"
                )
            }
            None => format!("restored {name} to {path}"),
        }
    } else {
        engine.restore(&trashed).map_err(|error| {
            // `hydrate` made the entry, and the session that it replaced is still in the place of the old one.
            let is_in_place = error.is_path_taken() && engine.ensure_replaceable(&trashed).is_ok();
            let hint = format!("`annals restore {name} --entry {entry} --replace` swaps the two");
            if is_in_place { Failure::from(error).with_hint(hint) } else { error.into() }
        })?;
        format!("restored {name} to {path}")
    };
    let changed = ChangeResult {
        dry_run: args.dry_run,
        entry: Some(entry),
        replaced,
        ..change_result(Operation::Restore, &file_of(&trashed))
    };
    let code = report(&changed, &text, global)?;
    if !args.dry_run {
        super::resume::suggest(&file_of(&trashed), global);
    }
    Ok(code)
}

/// Says that a session in the trash belongs to a config folder that is not searched.
fn deleted_elsewhere(selector: &str, trashed: &TrashEntry) -> Failure {
    let path = trashed.transcript.to_string_lossy();
    Failure::usage(
        &format!("`{}` was deleted from another config folder: {}", clean(selector), clean(&path)),
        &format!("name that folder with `--root`, or the entry with `--entry {}`", trashed.entry),
    )
}

fn file_of(trashed: &TrashEntry) -> TranscriptFile {
    TranscriptFile { path: trashed.transcript.clone(), session: Some(trashed.session.clone()), agent: None }
}

/// Returns the title of a trash entry, with a mark if the operation that moved it was interrupted.
fn title_in_list(trashed: &TrashEntry) -> String {
    let title = output::title_line(trashed.title.as_deref().unwrap_or_default());
    let mark = if trashed.is_unfinished {
        " (interrupted: the next change of the session moves its files back)"
    } else {
        ""
    };
    format!("{title}{mark}").trim_start().to_owned()
}

fn list(engine: &Engine, global: &Global) -> Result<ExitCode, Failure> {
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        engine.trash_entries().into_iter().partition(|trashed| engine.is_from_roots(trashed));
    let (all, now) = (here, Timestamp::now());
    let mut out = output::stdout();
    let mut table = Table::new(&["session", "entry", "~title", "?deleted", "?>size", "??~/project"]);
    for trashed in &all {
        if global.json {
            output::json_line(&mut out, &to_wire::trash_entry(trashed))?;
        } else {
            // Entries of older versions of annals do not contain the project.
            let project = trashed.project.as_deref().or(trashed.transcript.parent());
            table.row(&[
                trashed.session.chars().take(8).collect(),
                trashed.entry.clone(),
                title_in_list(trashed),
                output::ago(trashed.deleted_at, now),
                output::size(trashed.size),
                project.map(|project| project.to_string_lossy().into_owned()).unwrap_or_default(),
            ]);
        }
    }
    let unreadable = engine.unreadable_entries();
    for folder in &unreadable {
        output::note(&format!("cannot read the manifest of {}", output::clean(&folder.to_string_lossy())));
    }
    if !elsewhere.is_empty() {
        let count = output::count(elsewhere.len(), "session");
        output::note(&format!("{count} in the trash came from other config folders (`--root`)"));
    }
    if all.is_empty() && unreadable.is_empty() {
        output::note("the trash is empty");
        return Ok(ExitCode::from(FOUND_NOTHING));
    }
    if !global.json {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(if unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}
