//! `annals search`: finds messages in all sessions.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;

use annals_api::{Api, Options, SMALL_UPDATE, SearchOutcome, Searcher, rpc};
use annals_engine::{Engine, ListOptions, SessionRow, TranscriptFile};
use annals_proto::{self as wire, ErrorCode};

use crate::args::{Global, Period, Search, SearchOrder, SearchPart, SearchRole};
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::{self, IndexProgress, hits};

/// How wide snippets are if the output is not a terminal.
const SNIPPET_WIDTH: usize = 160;

pub(crate) fn run(engine: &Engine, args: &Search, global: &Global) -> Result<ExitCode, Failure> {
    let params = params(engine, args, global)?;
    let masking = super::index_masking(engine)?;
    let api = Api::new(engine.clone(), Options::default()).with_masking(masking);
    let progress = IndexProgress::new();
    let found = api.find(&params, global.reveal, Searcher::User, |done| {
        progress.set(done);
        ControlFlow::Continue(())
    });
    progress.finish();
    let found = found.map_err(|error| failure(error, args))?;
    let result = &found.result;
    result.notices.iter().for_each(|notice| output::hint(&output::clean(notice)));
    for word in args.query.iter().filter(|word| word.starts_with("--")) {
        output::hint(&format!("`{}` is no option, and is searched as words", output::clean(word)));
    }
    result.problems.iter().for_each(|problem| output::complain(problem));
    if result.no_index {
        return Err(no_index(result, args));
    }
    if !result.hits.is_empty() {
        print(engine, &found, args, global)?;
    }
    note(result, args);
    if !result.hits.is_empty() && !global.json {
        output::suggest("`annals resume SESSION` continues a session in Claude Code");
    }
    Ok(match (result.problems.is_empty(), result.hits.is_empty()) {
        (false, _) => ExitCode::from(FAILED),
        (true, true) => ExitCode::from(FOUND_NOTHING),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// The most sessions among which a user may choose.
const MOST_SESSIONS: usize = 50;

/// Returns the sessions in which a query finds something, the best first; with a period, only what was written in it counts.
pub(super) fn sessions_found(
    engine: &Engine,
    query: &str,
    on: Option<&Period>,
) -> Result<Vec<SessionRow>, Failure> {
    let params = wire::SearchParams {
        query: query.to_owned(),
        date_from: on.map(|on| on.start.to_string()),
        date_to: on.map(|on| on.end.to_string()),
        per_session: Some(1),
        limit: Some(MOST_SESSIONS),
        update: Some(true),
        ..wire::SearchParams::default()
    };
    let api = Api::new(engine.clone(), Options::default()).with_masking(super::index_masking(engine)?);
    let progress = IndexProgress::new();
    let found = api.find(&params, false, Searcher::User, |done| {
        progress.set(done);
        ControlFlow::Continue(())
    });
    progress.finish();
    let found = found.map_err(|error| {
        Failure::usage(&error.message, "`annals search --help` lists what a query can have")
    })?;
    if found.result.no_index {
        return Err(Failure::usage("there is no search index yet", "`annals index update` makes it"));
    }
    let mut seen = HashSet::new();
    let ids = found.result.hits.iter().filter_map(|hit| hit.session.as_deref());
    let ids = ids.filter(|id| seen.insert(*id));
    // A session that was deleted in the meantime cannot be continued.
    let rows = ids.filter_map(|id| engine.session_row(&engine.session(id.as_ref()).ok()?).ok());
    Ok(rows.collect())
}

/// Returns the parameters of `history/search` that the arguments stand for.
fn params(engine: &Engine, args: &Search, global: &Global) -> Result<wire::SearchParams, Failure> {
    let filters = &args.filters;
    let on = filters.on.as_ref();
    let (query, matching) = match (&args.regex, &args.fixed) {
        (Some(pattern), _) => (pattern.clone(), wire::SearchMatch::Regex),
        (None, Some(text)) => (text.clone(), wire::SearchMatch::Fixed),
        (None, None) => (args.query.join(" "), wire::SearchMatch::Words),
    };
    let here = filters.here.then(std::env::current_dir).transpose();
    let here = here.map_err(|error| Failure::working_directory(&error))?;
    let project = filters.project.clone().or(here).map(std::path::absolute).transpose()?;
    Ok(wire::SearchParams {
        query,
        matching: Some(matching),
        workspace_path: project.map(|path| path.to_string_lossy().into_owned()),
        sessions: sessions(engine, args)?,
        tool_name: filters.tool.clone(),
        file_path: filters.file.clone(),
        branch: filters.branch.clone(),
        model: filters.model.clone(),
        role: filters.role.map(role),
        fields: Some(filters.r#in.iter().copied().map(field).collect()),
        errors: Some(filters.errors),
        date_from: filters.since.or(on.map(|on| on.start)).map(|time| time.to_string()),
        date_to: filters.until.or(on.map(|on| on.end)).map(|time| time.to_string()),
        sort: args.sort.map(|sort| match sort {
            SearchOrder::Relevance => wire::SearchSort::Relevance,
            SearchOrder::Time => wire::SearchSort::Time,
        }),
        flat: Some(args.flat),
        per_session: Some(args.per_session),
        limit: Some(args.limit),
        cursor: args.after.clone(),
        snippet_width: Some(output::columns().map_or(SNIPPET_WIDTH, hits::snippet_width)),
        turns: Some(global.json),
        update: Some(!args.no_update),
        max_time_ms: args.max_time,
        max_bytes: args.max_bytes,
        reveal: None,
    })
}

/// Returns the sessions that `--session` and `--title` select; `None` if neither is given.
fn sessions(engine: &Engine, args: &Search) -> Result<Option<Vec<String>>, Failure> {
    let named = args.filters.session.as_deref().map(|session| engine.session(session)).transpose()?;
    let id = |file: TranscriptFile| file.session;
    if let Some(title) = &args.filters.title {
        let options = ListOptions { title: Some(title.clone()), all: true, ..ListOptions::default() };
        let listed = super::list::read(engine, &options).sessions.into_iter().filter_map(|row| id(row.file));
        let named = named.and_then(id);
        let sessions: Vec<_> =
            listed.filter(|session| named.as_ref().is_none_or(|named| named == session)).collect();
        if sessions.is_empty() {
            return Err(Failure::without_hint("no session has such a title".to_owned()));
        }
        return Ok(Some(sessions));
    }
    Ok(named.map(|file| id(file).into_iter().collect()))
}

fn print(engine: &Engine, found: &SearchOutcome, args: &Search, global: &Global) -> Result<(), Failure> {
    let mut out = output::stdout_for(global.json);
    if global.json {
        for hit in &found.result.hits {
            output::json_line(&mut out, hit)?;
        }
    } else {
        let words = (args.regex.is_none() && args.fixed.is_none()).then(|| args.query.join(" "));
        let printer = hits::Printer {
            columns: output::columns(),
            mark: words.filter(|words| !words.is_empty()),
            session_ids: engine.session_ids(),
            is_flat: args.flat,
        };
        printer.print(&mut out, found)?;
    }
    out.flush()?;
    Ok(())
}

/// Says on standard error how much was found, and what is missing.
fn note(result: &wire::SearchResult, args: &Search) {
    let total = usize::try_from(result.total).unwrap_or(usize::MAX);
    let at_least = if result.cut.is_some() { "at least " } else { "" };
    if total == 0 {
        output::note(if result.cut.is_some() { "nothing found so far" } else { "nothing found" });
    } else {
        let ranked = match result.ranking {
            wire::SearchRanking::Newest => {
                "; only the newest of them were ranked, `--sort time` lists all, or add a word"
            }
            _ => "",
        };
        output::note(&format!(
            "{at_least}{} in {}{ranked}",
            output::matches(total),
            output::count(result.sessions, "session")
        ));
    }
    for correction in &result.corrections {
        let words: Vec<_> = correction.corrections.iter().map(|word| format!("`{word}`")).collect();
        let words = output::clean(&words.join(", ")).into_owned();
        output::hint(&format!("no message has `{}`; did you mean {words}?", output::clean(&correction.word)));
    }
    if let Some(cut) = result.cut {
        let option = match cut {
            wire::SearchLimit::Bytes => "--max-bytes",
            _ => "--max-time",
        };
        output::note(&format!("stopped at `{option}`: there may be more"));
    }
    note_behind(result.behind, args);
    if let Some(cursor) = &result.next_cursor {
        output::note(&format!("next page: the same command with `--after {cursor}`"));
    }
}

fn note_behind(behind: Option<wire::Behind>, args: &Search) {
    let Some(behind) = behind.filter(|behind| behind.files > 0) else { return };
    let missing = missing(behind);
    output::note(&match (args.no_update, behind.bytes > SMALL_UPDATE) {
        (true, false) => format!("not searched: {missing}; without `--no-update` it is indexed first"),
        _ => format!("not searched: {missing}; `annals index update` adds it"),
    });
}

fn missing(behind: wire::Behind) -> String {
    format!(
        "{} in {} that are not indexed yet",
        output::size(behind.bytes),
        output::count(behind.files, "transcript")
    )
}

fn no_index(result: &wire::SearchResult, args: &Search) -> Failure {
    let behind = result.behind.unwrap_or_default();
    let hint = if behind.bytes <= SMALL_UPDATE && args.no_update {
        "without `--no-update`, the index is made first".to_owned()
    } else {
        format!("`annals index update` makes it, from {} of transcripts", output::size(behind.bytes))
    };
    Failure::usage("there is no search index yet", &hint)
        .with_hint("`--fixed TEXT` and `--regex PATTERN` need none".to_owned())
}

/// Returns why a search failed, with a guess what may help.
fn failure(error: rpc::Error, args: &Search) -> Failure {
    let text = error.message;
    if error.code != ErrorCode::InvalidParams {
        let hint = if text.contains("disk") {
            "free some space on the disk of the index, or check whether the disk can be read and written"
        } else {
            "`annals index rebuild` makes the index anew"
        };
        return Failure::usage(&text, hint);
    }
    let hint = match (&args.regex, &args.fixed) {
        (Some(_), _) => "`--fixed TEXT` finds a text exactly as it is written",
        (None, Some(_)) => "give the text to find",
        (None, None) if args.query.join(" ").trim().is_empty() => {
            "name what to find, such as `annals search kettle`, or a filter, such as `--tool Bash`"
        }
        (None, None) if text.contains("no words") => "`--fixed TEXT` also finds punctuation",
        (None, None) => "`annals search --help` lists what a query can have",
    };
    Failure::usage(&text, hint)
}

fn role(role: SearchRole) -> wire::SearchRole {
    match role {
        SearchRole::User => wire::SearchRole::User,
        SearchRole::Assistant => wire::SearchRole::Assistant,
        SearchRole::System => wire::SearchRole::System,
    }
}

fn field(part: SearchPart) -> wire::SearchField {
    match part {
        SearchPart::Prompt => wire::SearchField::Prompt,
        SearchPart::Reply => wire::SearchField::Reply,
        SearchPart::Thinking => wire::SearchField::Thinking,
        SearchPart::Tool => wire::SearchField::Tool,
        SearchPart::Input => wire::SearchField::Input,
        SearchPart::Output => wire::SearchField::Output,
        SearchPart::Title => wire::SearchField::Title,
        SearchPart::Summary => wire::SearchField::Summary,
        SearchPart::Notification => wire::SearchField::Notification,
    }
}
