//! `annals usage`: tokens and costs.

mod context;
mod print;

use std::collections::HashSet;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{ArchiveFilter, Engine, ListOptions, PlanRecords, TranscriptFile, Usage};
use annals_usage::{By, Cells, CostMode, Ledger, Prices, Report, ReportOptions, Weeks};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::args::{self, Global, UsageAction, UsageBy, UsageCostMode, UsageFilters, UsageForget};
use crate::failure::{FAILED, Failure};
use crate::output;

pub(crate) use print::{cost, model_name};

pub(crate) fn run(engine: &Engine, args: &args::Usage, global: &Global) -> Result<ExitCode, Failure> {
    if let Some(UsageAction::Forget(forget)) = &args.action {
        return self::forget(engine, forget, global);
    }
    if let Some(target) = args.target.as_ref().filter(|_| args.context) {
        return context::run(engine, target, args.limit, global);
    }
    let mut options = options(engine, args)?;
    let prices = engine.prices()?;
    let (usage, session) = count(engine, args, global)?;
    for error in usage.errors.iter().chain(&usage.store_error) {
        output::complain(&error.to_string());
    }
    options.sessions = sessions(engine, &usage.ledger, session, &args.filters)?;
    match &args.why {
        Some(key) => why(&usage.ledger, &prices, &options, key, global)?,
        None => report(&usage.ledger, &prices, &options, args, global)?,
    }
    let has_failed = !usage.errors.is_empty() || usage.store_error.is_some();
    Ok(if has_failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Returns a cost, labelled as what the API would cost if status lines recorded that a plan is used.
pub(crate) fn labelled_cost(engine: &Engine, cells: &Cells) -> String {
    let label = if engine.plan_records().has_plan { " API equivalent" } else { "" };
    format!("{}{label}", cost(cells))
}

/// Returns what the replies of one transcript used, in one line; `None` if they do not say.
pub(crate) fn of_transcript(engine: &Engine, file: &TranscriptFile) -> Option<String> {
    let usage = engine.usage_of(std::slice::from_ref(file));
    let prices = engine.prices().unwrap_or_else(|_| Prices::built_in());
    let total = Report::new(&usage.ledger, &prices, &ReportOptions::default()).total.cells;
    let tokens = &total.tokens;
    (tokens.total() > 0).then(|| {
        format!(
            "{}: input {}, output {}, cache written {}, cache read {}; {}",
            output::number(tokens.total()),
            output::number(tokens.input),
            output::number(tokens.output),
            output::number(tokens.writes()),
            output::number(tokens.read),
            labelled_cost(engine, &total)
        )
    })
}

fn options(engine: &Engine, args: &args::Usage) -> Result<ReportOptions, Failure> {
    let zone = args.timezone.clone().unwrap_or_else(TimeZone::system);
    let now = Zoned::now().with_time_zone(zone.clone());
    let failed =
        |error: annals_search::DateError| Failure::usage(&error.to_string(), "see `annals usage --help`");
    let since = args.filters.since.as_ref().map(|when| when.resolve(&now)).transpose().map_err(failed)?;
    let until = args.filters.until.as_ref().map(|when| when.resolve_end(&now)).transpose().map_err(failed)?;
    let PlanRecords { has_plan, window_ends } = engine.plan_records();
    Ok(ReportOptions {
        by: by(args.by),
        has_plan,
        window_ends,
        zone,
        weeks: Weeks { start: args.week_start },
        since: since.map(Timestamp::as_millisecond),
        until: until.map(Timestamp::as_millisecond),
        branch: args.filters.branch.clone(),
        cost_mode: match args.cost_mode {
            UsageCostMode::Auto => CostMode::Auto,
            UsageCostMode::Calculate => CostMode::Calculate,
            UsageCostMode::Recorded => CostMode::Recorded,
        },
        now: now.timestamp().as_millisecond(),
        ..ReportOptions::default()
    })
}

fn by(by: UsageBy) -> By {
    match by {
        UsageBy::Day => By::Day,
        UsageBy::Week => By::Week,
        UsageBy::Month => By::Month,
        UsageBy::Session => By::Session,
        UsageBy::Project => By::Project,
        UsageBy::Branch => By::Branch,
        UsageBy::Model => By::Model,
        UsageBy::Block => By::Block,
    }
}

/// Counts all sessions; or if the target is a path, the transcripts there. Returns the session that the target names.
fn count(engine: &Engine, args: &args::Usage, global: &Global) -> Result<(Usage, Option<String>), Failure> {
    let Some(target) = &args.target else { return Ok((engine.usage(), None)) };
    if Path::new(target).exists() {
        let (files, _) = super::select(engine, Some(target), global)?;
        return Ok((engine.usage_of(&files), None));
    }
    let usage = engine.usage();
    // The transcript of a session may be gone.
    let is_kept = |id: &str| target.to_str().is_some_and(|target| target == id);
    if let Some(kept) = usage.ledger.sessions.iter().find(|session| is_kept(&session.id)) {
        let id = kept.id.clone();
        return Ok((usage, Some(id)));
    }
    let file: TranscriptFile = engine.session_to_read(target)?;
    Ok((usage, file.session))
}

/// Returns the sessions that the report is about; `None` for all.
fn sessions(
    engine: &Engine,
    ledger: &Ledger,
    session: Option<String>,
    filters: &UsageFilters,
) -> Result<Option<HashSet<String>>, Failure> {
    let mut wanted = session.map(|session| HashSet::from([session]));
    let here = filters.here.then(std::env::current_dir).transpose();
    let here = here.map_err(|error| Failure::working_directory(&error))?;
    let project = filters.project.clone().or(here);
    let is_by_content = filters.title.is_some() || filters.tool.is_some() || filters.file.is_some();
    if project.is_none() && !is_by_content {
        return Ok(wanted);
    }
    let listing = super::list::read(
        engine,
        &ListOptions {
            project: project.clone(),
            title: filters.title.clone(),
            tool: filters.tool.clone(),
            file: filters.file.clone(),
            all: true,
            archived: ArchiveFilter::Include,
            ..ListOptions::default()
        },
    );
    let mut listed: HashSet<_> = listing.sessions.into_iter().filter_map(|row| row.file.session).collect();
    if let Some(project) = project.filter(|_| !is_by_content) {
        // Sessions whose transcripts are gone are in no list.
        let began_there = |session: &&annals_usage::Session| {
            session.project.as_ref().is_some_and(|path| Path::new(path) == project)
        };
        listed.extend(ledger.sessions.iter().filter(began_there).map(|session| session.id.clone()));
    }
    match &mut wanted {
        Some(wanted) => wanted.retain(|session| listed.contains(session)),
        None => wanted = Some(listed),
    }
    Ok(wanted)
}

fn report(
    ledger: &Ledger,
    prices: &Prices,
    options: &ReportOptions,
    args: &args::Usage,
    global: &Global,
) -> Result<(), Failure> {
    let report = Report::new(ledger, prices, options);
    if report.total.cells.replies == 0 {
        return Err(Failure::without_hint("no responses were counted".to_owned()));
    }
    let limit = args.limit.unwrap_or(usize::MAX);
    let mut out = output::stdout_for(global.json);
    if global.json {
        for row in report.shown(options.by, limit) {
            output::json_line(&mut out, &to_wire::usage_row(row, options))?;
        }
    } else if args.csv {
        print::csv(&mut out, report.shown(options.by, limit))?;
    } else {
        print::report(&mut out, &report, options, limit, args.breakdown)?;
    }
    out.flush()?;
    Ok(())
}

fn why(
    ledger: &Ledger,
    prices: &Prices,
    options: &ReportOptions,
    key: &str,
    global: &Global,
) -> Result<(), Failure> {
    let key = if key == to_wire::NO_KEY { "" } else { key };
    // A window has a longer key than the one in the table.
    let report = (options.by == By::Block).then(|| Report::new(ledger, prices, options));
    let printed =
        report.iter().flat_map(|report| &report.rows).find(|row| print::is_named(row, options, key));
    let key = printed.map_or(key, |row| &*row.key);
    let found = Report::why(ledger, prices, options, key);
    if found.is_empty() {
        return Err(Failure::without_hint("no row has this key".to_owned()));
    }
    let mut out = output::stdout_for(global.json);
    let replies = found.iter().map(|(response, cost)| {
        let cells = Cells::of(response, *cost);
        to_wire::usage_reply(ledger, response, &cells)
    });
    if global.json {
        for reply in replies {
            output::json_line(&mut out, &reply)?;
        }
    } else {
        print::replies(&mut out, &replies.collect::<Vec<_>>(), &options.zone)?;
    }
    out.flush()?;
    Ok(())
}

/// Removes what no transcript has any more, after a table of it.
fn forget(engine: &Engine, args: &UsageForget, global: &Global) -> Result<ExitCode, Failure> {
    let usage = engine.usage();
    if let Some(error) = usage.store_error {
        return Err(error.into());
    }
    let options = ReportOptions {
        by: By::Session,
        zone: TimeZone::system(),
        kept_only: true,
        ..ReportOptions::default()
    };
    let report = Report::new(&usage.ledger, &engine.prices()?, &options);
    let replies = report.total.cells.replies;
    if replies == 0 {
        output::note("nothing to forget: every response that was counted is in a transcript");
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout_for(global.json);
    if global.json {
        for row in &report.rows {
            output::json_line(&mut out, &to_wire::usage_row(row, &options))?;
        }
    } else {
        print::report(&mut out, &report, &options, usize::MAX, false)?;
    }
    out.flush()?;
    let what = format!(
        "{} that no transcript has any more",
        output::count(usize::try_from(replies).unwrap_or(usize::MAX), "response")
    );
    if !args.yes {
        if !io::stdin().is_terminal() {
            return Err(Failure::usage("nothing was forgotten", "`--yes` forgets it without asking"));
        }
        if !output::ask(&format!("forget {what}? This cannot be undone."))? {
            return Err(Failure::declined());
        }
    }
    engine.forget_usage()?;
    output::note(&format!("forgot {what}"));
    Ok(ExitCode::SUCCESS)
}
