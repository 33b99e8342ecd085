//! `annals files`: the files that a session changed, their backups, and how a version is restored.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use annals_api::to_wire::{self, ToWire};
use annals_engine::{
    Backup, ChangedFile, Conversation, Engine, FileFilter, FileHistory, FileVersion, ListOptions,
};
use annals_proto::{FileInSession, RestoredFile};
use annals_transcript::tool;
use anstream::AutoStream;
use jiff::Timestamp;

use crate::args::{Files, Global};
use crate::failure::{FAILED, Failure};
use crate::output::{self, Table, clean, clean_lines, diff};

pub(crate) fn run(engine: &Engine, args: &Files, global: &Global) -> Result<ExitCode, Failure> {
    let session = match (&args.session, &args.file) {
        (Some(session), _) => session,
        (None, Some(file)) if args.diff => return edits(engine, file, global),
        (None, Some(file)) => return sessions(engine, file, global),
        (None, None) => {
            let hint = "name a session, or give `--file PATH` to list the sessions that changed a file";
            return Err(Failure::usage("whose files should be listed?", hint));
        }
    };
    let history = engine.file_history(&super::choose::session(engine, session, global)?)?;
    match (&args.at, &args.restore, &args.file) {
        (Some(at), Some(path), _) => restore(engine, &history, at, path, args, global),
        (Some(at), None, _) => list_at(&history, at, global),
        (None, _, Some(path)) => list_versions(&history, path, global),
        (None, _, None) => list(&history, global),
    }
}

/// Lists the files that a session changed.
fn list(history: &FileHistory, global: &Global) -> Result<ExitCode, Failure> {
    let mut out = output::stdout_for(global.json);
    let now = Timestamp::now();
    let mut table = Table::new(&["~/file", ">edits", ">versions", "?>backups", "??changed"]);
    let mut is_empty = true;
    for file in history.changed() {
        is_empty = false;
        if global.json {
            output::json_line(&mut out, &to_wire::changed_file(file))?;
        } else {
            table.row(&[
                file.path.clone(),
                output::number(file.edits),
                output::number(file.versions.len() as u64),
                backups(file),
                file.last_edit_at.map_or_else(|| "-".to_owned(), |time| output::ago(time, now)),
            ]);
        }
    }
    if is_empty {
        return Err(Failure::without_hint("this session changed no file".to_owned()));
    }
    if !global.json {
        table.print(&mut out)?;
    }
    out.flush()?;
    if !global.json && history.changed().any(|file| !file.versions.is_empty()) {
        output::note(
            "`--file PATH` lists the versions of a file, and the message to give to `--at` for each",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the versions of the files that a path names.
fn list_versions(history: &FileHistory, path: &str, global: &Global) -> Result<ExitCode, Failure> {
    let mut out = output::stdout_for(global.json);
    let mut table = Table::new(&["~/file", ">version", "at", ">size", "?state", "??recorded"]);
    let mut is_empty = true;
    for file in history.named(path) {
        is_empty = false;
        if global.json {
            output::json_line(&mut out, &to_wire::changed_file(file))?;
            continue;
        }
        for version in &file.versions {
            let message = version.message.as_deref().map_or("-", |message| history.short_id(message));
            table.row(&[
                file.path.clone(),
                version.number.to_string(),
                message.to_owned(),
                size(version),
                state(version).to_owned(),
                version.made_at.map_or_else(|| "-".to_owned(), output::time),
            ]);
        }
    }
    if is_empty {
        return Err(Failure::without_hint("this session changed no such file".to_owned()));
    }
    if !global.json && table.is_empty() {
        return Err(Failure::without_hint("no version is recorded: Claude Code kept no backup".to_owned()));
    }
    if !global.json {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns how many versions have a backup, of those that can have one.
fn backups(file: &ChangedFile) -> String {
    let kept = file.versions.iter().filter(|version| matches!(version.backup, Backup::Kept(_))).count();
    let possible = file.versions.iter().filter(|version| version.backup != Backup::NoFile).count();
    if kept == possible { output::number(kept as u64) } else { format!("{kept} of {possible}") }
}

/// Lists the version that each file had when a message was sent.
fn list_at(history: &FileHistory, at: &str, global: &Global) -> Result<ExitCode, Failure> {
    let mut out = output::stdout_for(global.json);
    let mut table = Table::new(&["~/file", ">version", ">size", "?state", "??recorded"]);
    let has_versions = history.changed().any(|file| !file.versions.is_empty());
    let versions = if has_versions { history.versions_at(at)? } else { Vec::new() };
    for (file, version) in versions {
        if global.json {
            let mut wire = to_wire::changed_file(file);
            wire.versions = vec![to_wire::file_version(version)];
            output::json_line(&mut out, &wire)?;
        } else {
            table.row(&[
                file.path.clone(),
                version.number.to_string(),
                size(version),
                state(version).to_owned(),
                version.made_at.map_or_else(|| "-".to_owned(), output::time),
            ]);
        }
    }
    if table.is_empty() && !global.json {
        return Err(Failure::without_hint("this session has no backups of files".to_owned()));
    }
    if !global.json {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn size(version: &FileVersion) -> String {
    match version.backup {
        Backup::Kept(size) => output::size(size),
        _ => "-".to_owned(),
    }
}

fn state(version: &FileVersion) -> &'static str {
    match version.backup {
        Backup::Kept(_) => "backup kept",
        Backup::NoFile => "did not exist",
        Backup::Missing => "backup is gone",
        Backup::Refused => "not in the backup folder",
    }
}

/// Restores the version that a file had when a message was sent.
fn restore(
    engine: &Engine,
    history: &FileHistory,
    at: &str,
    path: &str,
    args: &Files,
    global: &Global,
) -> Result<ExitCode, Failure> {
    let (file, version) = history.version_at(path, at)?;
    let Some(content) = history.content(version)? else {
        let text = "the file did not exist when that message was sent, so there is nothing to restore";
        return Err(Failure::without_hint(text.to_owned()));
    };
    if args.output.as_deref() == Some(Path::new("-")) {
        return write_to_stdout(&content);
    }
    let target = target(args.output.as_ref(), file)?;
    let there = engine.before_restoring(&target)?;
    let is_new = there.as_ref() != Some(&content);
    if is_new {
        // Where the file was is what the transcript says; whoever typed only a part of the path has not seen it.
        let is_named = args.output.is_some() || target == Path::new(path);
        if !args.yes && (there.is_some() || !is_named) {
            confirm(&target, there.as_deref(), &content)?;
        }
        let backup = history.backup_of(version);
        engine.write_restored(&target, there.as_deref(), &content, backup.as_deref())?;
    }
    let shown = target.display().to_string();
    let text = if is_new {
        format!("restored version {} to {}", version.number, clean(&shown))
    } else {
        format!("{} is version {} already", clean(&shown), version.number)
    };
    if global.json {
        let restored = RestoredFile {
            path: file.path.clone(),
            version: version.number,
            output: target.as_path().into(),
            size: content.len() as u64,
            written: is_new,
        };
        let mut out = output::json_stdout();
        output::json_line(&mut out, &restored)?;
        out.flush()?;
    } else {
        output::note(&text);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a restored file to standard output: as it is to a file or a program, and as text that is safe to look at to a terminal.
fn write_to_stdout(content: &[u8]) -> Result<ExitCode, Failure> {
    let mut out = output::json_stdout();
    if io::stdout().is_terminal() {
        out.write_all(for_terminal(content)?.as_bytes())?;
    } else {
        out.write_all(content)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the content of a file for a terminal: secrets are masked and control characters replaced.
fn for_terminal(content: &[u8]) -> Result<Cow<'_, str>, Failure> {
    let text = diff::text(content).ok_or_else(|| {
        Failure::usage(
            "the file is not text, and standard output is a terminal",
            "write it to a file with `-o OUT`",
        )
    })?;
    if !text.contains('\r') {
        return Ok(clean_lines(text));
    }
    Ok(Cow::Owned(clean_lines(&text.replace("\r\n", "\n")).into_owned()))
}

/// Returns where a file is restored: the given path, or else where the file was.
fn target(given: Option<&PathBuf>, file: &ChangedFile) -> Result<PathBuf, Failure> {
    let hint = "name a file to write with `-o OUT`, or `-o -` for standard output";
    let path = given.cloned().unwrap_or_else(|| PathBuf::from(&file.path));
    let is_plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    if given.is_none() && !is_plain {
        return Err(Failure::usage(
            "the path of this file is not one of this system, or it has `..` in it",
            hint,
        ));
    }
    // A path without a folder is in the current one.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let text = format!("the folder {} does not exist", folder.display());
        return Err(Failure::usage(&text, &format!("create it, or {hint}")));
    }
    Ok(path)
}

/// Shows what would change in an existing file and asks whether to write; without a terminal, only `--yes` confirms.
fn confirm(target: &Path, there: Option<&[u8]>, content: &[u8]) -> Result<(), Failure> {
    let shown = target.display();
    let (refusal, question, hint) = if let Some(there) = there {
        let mut terminal = AutoStream::auto(io::stderr());
        diff::print(&mut terminal, there, content)?;
        terminal.flush()?;
        let hint = "`--yes` replaces it without asking; `-o OUT` writes to another file";
        (format!("{shown} exists and is different"), format!("replace {shown} by that version?"), hint)
    } else {
        let hint = "`--yes` writes to that path; `-o OUT` writes to another file";
        let refusal = format!("the file would be written to {shown}, of which only the end was given");
        (refusal, format!("write {shown}?"), hint)
    };
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(&format!("{refusal}; nothing was written"), hint));
    }
    if output::ask(&question)? {
        return Ok(());
    }
    Err(Failure::usage("nothing was written", hint))
}

/// Lists the sessions that changed a file.
fn sessions(engine: &Engine, path: &str, global: &Global) -> Result<ExitCode, Failure> {
    let listing = engine.list(&ListOptions { file: Some(path.to_owned()), ..ListOptions::default() });
    let mut code = ExitCode::SUCCESS;
    for error in &listing.errors {
        output::complain(&error.to_string());
        code = ExitCode::from(FAILED);
    }
    let filter = FileFilter::new(path);
    let mut out = output::stdout_for(global.json);
    let now = Timestamp::now();
    let mut table = Table::new(&["session", "~title", "~/file", ">edits", "?>backups", "??changed"]);
    let mut is_empty = true;
    for row in listing.sessions {
        // The list also has sessions that only read the file.
        let history = engine.file_history(&row.file)?;
        let title = row.facts.title.as_ref().map(|title| title.text.clone());
        let session = row.file.session.clone().unwrap_or_default();
        for file in history.changed().filter(|file| filter.matches(&file.path, None)) {
            is_empty = false;
            if global.json {
                let file = to_wire::changed_file(file);
                let line = FileInSession { session: session.clone(), title: title.clone(), file };
                output::json_line(&mut out, &line)?;
            } else {
                table.row(&[
                    session.chars().take(8).collect(),
                    output::title_line(title.as_deref().unwrap_or("-")),
                    file.path.clone(),
                    output::number(file.edits),
                    backups(file),
                    file.last_edit_at.map_or_else(|| "-".to_owned(), |time| output::ago(time, now)),
                ]);
            }
        }
    }
    if is_empty {
        return Err(Failure::without_hint("no session changed that file".to_owned()));
    }
    if !global.json {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(code)
}

/// Prints the edits of a file in all sessions, the oldest first: a call that changed it, with its diff.
fn edits(engine: &Engine, path: &str, global: &Global) -> Result<ExitCode, Failure> {
    let listing = engine.list(&ListOptions { file: Some(path.to_owned()), ..ListOptions::default() });
    let mut has_failed = !listing.errors.is_empty();
    for error in &listing.errors {
        output::complain(&error.to_string());
    }
    let filter = FileFilter::new(path);
    let mut out = output::stdout_for(global.json);
    let mut is_empty = true;
    for row in listing.sessions.into_iter().rev() {
        let found = engine.with_subagents(row.file);
        has_failed |= !found.errors.is_empty();
        for file in found.files {
            let snapshot = engine.snapshot(file)?;
            let conversation = Conversation::of(&snapshot)?;
            let to_wire = ToWire::of(&snapshot);
            for call in conversation.calls() {
                let bytes = snapshot.span(call.block.offset, call.block.length)?;
                let changed = tool::read(&bytes).and_then(|call| tool::changed_file(&call));
                if !changed.is_some_and(|changed| filter.matches(&changed, None))
                    || conversation.state(call)? != tool::State::Ok
                {
                    continue;
                }
                is_empty = false;
                let wire = to_wire.call(&conversation, call, output::mask::masking())?;
                if global.json {
                    output::json_line(&mut out, &wire)?;
                } else {
                    super::tools::print_in_full(&mut out, &conversation, call, &wire)?;
                }
            }
        }
    }
    out.flush()?;
    match (is_empty, has_failed) {
        (_, true) => Ok(ExitCode::from(FAILED)),
        (true, false) => Err(Failure::without_hint("no session changed that file".to_owned())),
        (false, false) => Ok(ExitCode::SUCCESS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_neither_escapes_nor_secrets_nor_bytes_that_are_no_text() {
        let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).chars().take(36).collect::<String>());
        let content = format!("绿茶\t3\r\n\u{1b}[31mred\n{key}\n");
        let Ok(shown) = for_terminal(content.as_bytes()) else { panic!("it is text") };
        assert!(shown.starts_with("绿茶\t3\n\u{fffd}[31mred\n") && !shown.contains(&key), "{shown}");
        assert!(for_terminal(b"a\0b").is_err() && for_terminal(b"\xff").is_err());
    }
}
