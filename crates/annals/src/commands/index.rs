//! `annals index`: the index of `annals search`.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Instant;

use annals_api::{Masking, to_wire_behind};
use annals_engine::{Engine, IndexOptions, IndexReport, IndexStatus};
use annals_proto as wire;

use crate::args::{Global, Index, IndexAction};
use crate::failure::{FAILED, Failure};
use crate::output::{self, IndexProgress, Table};

pub(crate) fn run(engine: &Engine, args: &Index, global: &Global) -> Result<ExitCode, Failure> {
    let masking = super::index_masking(engine)?;
    match args.action.unwrap_or(IndexAction::Status) {
        IndexAction::Status => status(engine, &engine.index_status(&masking)?, global),
        IndexAction::Update => update(engine, &masking, false, global),
        IndexAction::Rebuild => update(engine, &masking, true, global),
        IndexAction::Clear => {
            let path = engine.home().search_index();
            let existed = path.exists();
            engine.clear_index()?;
            output::note(if existed { "the search index was removed" } else { "there is no search index" });
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn status(engine: &Engine, status: &IndexStatus, global: &Global) -> Result<ExitCode, Failure> {
    let path = engine.home().search_index().to_string_lossy().into_owned();
    let mut out = output::stdout_for(global.json);
    if global.json {
        let status = wire::IndexStatus {
            exists: status.exists,
            documents: status.documents,
            files: status.files,
            size: status.size,
            behind: to_wire_behind(status.behind),
            path,
        };
        output::json_line(&mut out, &status)?;
    } else {
        let mut table = Table::new(&["search index", "~/"]);
        let state = match (status.exists, status.behind.files) {
            (false, _) => "not made yet",
            (true, 0) => "up to date",
            (true, _) => "behind",
        };
        let mut row = |name: &str, value: String| table.row(&[name.to_owned(), value]);
        row("state", state.to_owned());
        if status.exists {
            row("transcripts", output::number(status.files as u64));
            row("documents", output::number(status.documents));
            row("size", output::size(status.size));
        }
        if status.behind.files > 0 {
            let files = output::count(status.behind.files, "transcript");
            row("not indexed", format!("{} in {files}", output::size(status.behind.bytes)));
        }
        row("file", path);
        table.print(&mut out)?;
    }
    out.flush()?;
    if status.behind.files > 0 && !global.json {
        output::hint("`annals index update` indexes what is new");
    }
    Ok(ExitCode::SUCCESS)
}

fn update(engine: &Engine, masking: &Masking, rebuild: bool, global: &Global) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let progress = IndexProgress::new();
    let options = IndexOptions { rebuild, ..IndexOptions::default() };
    let report = engine.update_index(masking, &options, |done| {
        progress.set(done);
        ControlFlow::Continue(())
    });
    progress.finish();
    let report = report?;
    for error in &report.errors {
        output::complain(&error.to_string());
    }
    let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    if global.json {
        let mut out = output::json_stdout();
        let report = wire::IndexReport {
            documents: report.documents,
            files: report.files,
            removed: report.removed,
            bytes: report.bytes,
            rebuilt: report.is_rebuilt,
            complete: report.is_complete,
            duration_ms,
        };
        output::json_line(&mut out, &report)?;
        out.flush()?;
    } else {
        output::note(&summary(&report, duration_ms));
    }
    Ok(if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Says in a line what an update did.
fn summary(report: &IndexReport, duration_ms: u64) -> String {
    if report.files == 0 && report.removed == 0 && !report.is_rebuilt {
        return "the search index is up to date".to_owned();
    }
    let transcripts = output::count(report.files, "transcript");
    let documents = output::number(report.documents);
    let (size, duration) = (output::size(report.bytes), output::duration(duration_ms));
    let removed = match report.removed {
        0 => String::new(),
        removed => format!(", removed {} that are gone", output::number(removed as u64)),
    };
    format!("indexed {transcripts}: {documents} new documents from {size} in {duration}{removed}")
}
