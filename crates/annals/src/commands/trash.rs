//! `annals delete` and `annals restore`.

use std::io::Write;
use std::process::ExitCode;

use annals_engine::{Engine, Trashed};
use annals_proto::Changed;
use annals_server::to_wire::{self, changed};

use super::change::{name, tell, warn_of_refusal};
use crate::args::{Delete, Global, Restore};
use crate::failure::{FOUND_NOTHING, Failure};
use crate::output::{self, Table, clean};

pub(crate) fn delete(engine: &Engine, args: &Delete, global: &Global) -> Result<ExitCode, Failure> {
    let file = match engine.session(&args.session) {
        Err(error) if error.is_not_found() && args.purge => return purge(engine, args, global),
        found => found?,
    };
    let belongings = engine.belongings(&file)?;
    let size: u64 = belongings.iter().map(|belonging| belonging.size).sum();
    let what =
        format!("{} ({}, {})", name(&file), output::count(belongings.len(), "item"), output::size(size));
    let mut told = Vec::new();
    if args.safety.dry_run {
        warn_of_refusal(engine, &file, args.safety)?;
        told.push(format!(
            "would {} {}:",
            if args.purge { "remove for good" } else { "move to the trash" },
            name(&file)
        ));
        told.extend(
            belongings
                .iter()
                .map(|one| format!("  {}  {}", output::size(one.size), clean(&one.path.to_string_lossy()))),
        );
    } else {
        let trashed = engine.delete(&file, args.safety.force)?;
        if args.purge {
            engine.purge(&trashed)?;
            told.push(format!("removed for good: {what}"));
        } else {
            told.push(format!("moved to the trash: {what}"));
            told.push(format!("`annals restore {}` brings it back", &trashed.session));
        }
    }
    let moved = belongings.iter().map(|belonging| belonging.path.as_path().into()).collect();
    let changed = Changed { dry_run: args.safety.dry_run, moved, ..changed("delete", &file) };
    tell(&changed, &told.join("\n"), global)
}

/// Removes a session from the trash for good.
fn purge(engine: &Engine, args: &Delete, global: &Global) -> Result<ExitCode, Failure> {
    let trashed = engine.in_trash(&args.session.to_string_lossy())?;
    let dry_run = args.safety.dry_run;
    if !dry_run {
        engine.purge(&trashed)?;
    }
    let told =
        if dry_run { "would remove from the trash for good:" } else { "removed from the trash for good:" };
    let told = format!("{told} {}", clean(&trashed.session));
    let path = trashed.transcript.as_path().into();
    let changed = Changed {
        dry_run,
        session: Some(trashed.session.clone()),
        path,
        ..changed("delete", &file_of(&trashed))
    };
    tell(&changed, &told, global)
}

pub(crate) fn restore(engine: &Engine, args: &Restore, global: &Global) -> Result<ExitCode, Failure> {
    let Some(session) = &args.session else { return list(engine, global) };
    let trashed = engine.in_trash(&session.to_string_lossy())?;
    let told = if args.dry_run {
        trashed.ensure_restorable()?;
        format!("would restore {}", clean(&trashed.session))
    } else {
        let path = engine.restore(&trashed)?;
        format!("restored {} to {}", clean(&trashed.session), clean(&path.to_string_lossy()))
    };
    tell(&Changed { dry_run: args.dry_run, ..changed("restore", &file_of(&trashed)) }, &told, global)
}

fn file_of(trashed: &Trashed) -> annals_engine::TranscriptFile {
    annals_engine::TranscriptFile {
        path: trashed.transcript.clone(),
        session: Some(trashed.session.clone()),
        agent: None,
    }
}

fn list(engine: &Engine, global: &Global) -> Result<ExitCode, Failure> {
    let all = engine.trashed();
    let mut out = output::stdout();
    let mut table = Table::new(&["session", "~title", "?deleted", "??~/was in"]);
    for trashed in &all {
        if global.json {
            output::json_line(&mut out, &to_wire::trashed(trashed))?;
        } else {
            let folder = trashed.transcript.parent().map(|folder| folder.to_string_lossy().into_owned());
            table.row(&[
                trashed.session.clone(),
                trashed.title.clone().unwrap_or_default(),
                output::time(trashed.deleted_at),
                folder.unwrap_or_default(),
            ]);
        }
    }
    if all.is_empty() {
        output::note("the trash is empty");
        return Ok(ExitCode::from(FOUND_NOTHING));
    }
    if !global.json {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
