//! Search: from the parameters of a request to hits with the titles of their sessions. The command line calls it, too.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use annals_engine::{
    Behind, Conversation, Copy, Engine, Hit, IndexOptions, IndexProgress, IndexStatus, Limit, MisspeltWord,
    Order, Pattern, Ranking, SearchAnswer, SearchCursor, SearchOptions, SessionTitle, TextFilter,
    TranscriptFile, Unfiltered,
};
use annals_proto as wire;
use annals_search::{Condition, Part, Query, QueryError, Role, Snippet};
use annals_transcript::full_view::Step;
use annals_transcript::paths::SessionPaths;
use jiff::{Timestamp, Zoned};

use super::list::{Day, moment, problems, workspace};
use super::{Api, limit};
use crate::cancel::CancelToken;
use crate::mask::Masking;
use crate::open_sessions::OpenSession;
use crate::rpc::Error;
use crate::to_wire;

/// What is new is indexed before a search if it has at most so many bytes.
pub const SMALL_UPDATE: u64 = 64 << 20;

/// How many sessions, or hits in one list, a page has by default and at most.
const SESSIONS: (usize, usize) = (20, 200);
/// How many hits of one session are shown together, by default and at most.
const PER_SESSION: (usize, usize) = (3, 20);
/// How wide snippets are, by default and at most.
const WIDTH: (usize, usize) = (160, 500);
/// The most sessions that a request names.
const MOST_NAMED: usize = 10_000;
/// A search waits so long for another process that updates the index; then it searches what there is.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// A search of a peer takes at most so long.
const LONGEST_SEARCH: Duration = Duration::from_secs(60);
/// Turns are not counted in longer transcripts, which would take seconds.
const LONGEST_FOR_TURNS: u64 = 64 << 20;

/// What was found, with what only the command line needs to know.
#[derive(Debug)]
pub struct SearchOutcome {
    /// The result of the method.
    pub result: wire::SearchResult,
    /// The transcript of each hit.
    pub files: Vec<TranscriptFile>,
}

/// Who searches, and how much they may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searcher {
    /// A peer: sizes are bounded, and no link out of the config folders is followed.
    Peer,
    /// The user at the command line.
    User,
}

impl Searcher {
    /// Returns the requested number within the bounds for this searcher; the bounds are the usual number and the largest one.
    fn limit(self, given: Option<usize>, (usual, most): (usize, usize)) -> Result<usize, Error> {
        limit(given, usual, if self == Searcher::Peer { most } else { usize::MAX })
    }
}

impl Api {
    pub(super) fn search(
        &self,
        params: &wire::SearchParams,
        masking: Option<&Masking>,
        cancelled: &CancelToken,
    ) -> Result<wire::SearchResult, Error> {
        let found = self.find(params, masking.is_none(), Searcher::Peer, |_| match cancelled.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        })?;
        cancelled.check()?;
        Ok(found.result)
    }

    /// Searches. First indexes what is new, if that is little, and calls `progress` meanwhile; `Break` ends the update.
    pub fn find(
        &self,
        params: &wire::SearchParams,
        reveal: bool,
        searcher: Searcher,
        mut progress: impl FnMut(IndexProgress) -> ControlFlow<()>,
    ) -> Result<SearchOutcome, Error> {
        let most = (searcher == Searcher::Peer).then_some(LONGEST_SEARCH);
        let given = params.max_time_ms.map(Duration::from_millis);
        let deadline = given.into_iter().chain(most).min().and_then(|time| Instant::now().checked_add(time));
        let matching = params.matching.unwrap_or(wire::SearchMatch::Words);
        let query = query(&self.engine, params, matching)?;
        let options = options(params, matching, reveal, searcher, deadline)?;
        let mut behind = None;
        let answer = if let Some(pattern) = pattern(params, matching)? {
            let filter: &dyn TextFilter = if reveal { &Unfiltered } else { &self.masking };
            self.engine.scan(&pattern, &query, filter, &options)
        } else {
            let update = params.update.unwrap_or(true);
            behind = self.refresh(update, deadline, params.max_bytes, &mut progress)?;
            let answer = self.engine.search(&query, &self.masking, &options);
            // An index that seemed complete and is gone was damaged: it is rebuilt.
            let is_damaged = answer.as_ref().is_err_and(annals_engine::Error::is_no_index);
            if update && is_damaged && behind.is_none_or(|behind| behind.files == 0) {
                behind = self.refresh(update, deadline, params.max_bytes, &mut progress)?;
                self.engine.search(&query, &self.masking, &options)
            } else {
                answer
            }
        };
        let mut no_index = false;
        let answer = match answer {
            Err(error) if error.is_no_index() => {
                no_index = true;
                Ok(SearchAnswer::default())
            }
            Err(error) if error.is_out_of_time() => {
                let mut nothing = SearchAnswer::default();
                nothing.cut = Some(Limit::Time);
                Ok(nothing)
            }
            answer => answer,
        };
        let answer = answer.map_err(Error::from)?;
        let mut result = wire::SearchResult {
            hits: self.hits(&answer.hits, reveal),
            total: answer.total,
            sessions: answer.sessions,
            ranking: match answer.ranking {
                Ranking::All => wire::SearchRanking::All,
                Ranking::Newest => wire::SearchRanking::Newest,
            },
            behind: behind.or(answer.behind).map(to_wire_behind).filter(|behind| behind.files > 0),
            no_index,
            next_cursor: answer.next.map(|cursor| cursor.to_string()),
            notices: query.notices().iter().map(ToString::to_string).collect(),
            corrections: answer.corrections.iter().map(correction).collect(),
            cut: answer.cut.map(|limit| match limit {
                Limit::Time => wire::SearchLimit::Time,
                Limit::Bytes => wire::SearchLimit::Bytes,
            }),
            problems: problems(&answer.errors),
        };
        let files: Vec<_> = answer.hits.into_iter().map(|hit| hit.file).collect();
        if params.turns.unwrap_or_default() {
            self.add_turns(&mut result.hits, &files, deadline);
        }
        Ok(SearchOutcome { result, files })
    }

    /// Indexes what is new, if that is allowed and little. Returns what the index lacks afterwards; `None` if nobody asked.
    fn refresh(
        &self,
        update: bool,
        deadline: Option<Instant>,
        max_bytes: Option<u64>,
        progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
    ) -> Result<Option<Behind>, Error> {
        let status = self.engine.index_status(&self.masking)?;
        let most = max_bytes.map_or(SMALL_UPDATE, |most| most.min(SMALL_UPDATE));
        if !update || status.behind.files == 0 && status.exists || status.behind.bytes > most {
            return Ok(Some(status.behind));
        }
        let usual = IndexOptions::default();
        let wait = if status.exists { SHORT_WAIT } else { usual.wait };
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let options = IndexOptions { wait: left.map_or(wait, |left| left.min(wait)), ..usual };
        let updated = self.engine.update_index(&self.masking, &options, |done| match progress(done) {
            ControlFlow::Continue(()) if !is_over(deadline) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        });
        Ok(match updated {
            Ok(report) if report.is_complete && report.errors.is_empty() => None,
            Ok(_) => Some(self.engine.index_status(&self.masking)?.behind),
            // Another process is at work, or nothing can be written: what there is can still be searched.
            Err(_) if status.exists => Some(status.behind),
            Err(error) if error.is_index_busy() => Some(status.behind),
            Err(error) => return Err(error.into()),
        })
    }

    /// Returns what the index has, and what it lacks.
    pub fn index_status(&self) -> Result<IndexStatus, Error> {
        Ok(self.engine.index_status(&self.masking)?)
    }

    fn hits(&self, hits: &[Hit], reveal: bool) -> Vec<wire::SearchHit> {
        let mut paths: Vec<PathBuf> = hits.iter().map(|hit| session_path(&hit.file)).collect();
        let sessions = paths.clone();
        paths.sort();
        paths.dedup();
        let titles = self.engine.session_titles(&paths);
        let hits = hits.iter().zip(&sessions).map(|(hit, path)| {
            let title = paths.binary_search(path).ok().and_then(|number| titles[number].as_ref());
            to_wire_hit(hit, title, reveal)
        });
        hits.collect()
    }

    /// Counts in which turns hits are, as far as time allows.
    fn add_turns(&self, hits: &mut [wire::SearchHit], files: &[TranscriptFile], deadline: Option<Instant>) {
        let mut by_file: HashMap<&Path, Vec<usize>> = HashMap::new();
        for (number, file) in files.iter().enumerate() {
            by_file.entry(&file.path).or_default().push(number);
        }
        let mut groups: Vec<Vec<usize>> = by_file.into_values().collect();
        groups.sort();
        for group in groups {
            let file = &files[group[0]];
            let is_short = file.path.metadata().is_ok_and(|metadata| metadata.len() <= LONGEST_FOR_TURNS);
            if !is_short || is_over(deadline) {
                continue;
            }
            let uuids: Vec<_> = group.iter().map(|hit| hits[*hit].uuid.clone()).collect();
            let turns = self.with_session(file, None, move |reading| Ok(turns_of(reading, &uuids)));
            for (hit, turn) in group.into_iter().zip(turns.unwrap_or_default()) {
                hits[hit].turn = turn;
            }
        }
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Returns the transcript of the session that a transcript belongs to.
fn session_path(file: &TranscriptFile) -> PathBuf {
    let parent = match (&file.agent, &file.session) {
        (Some(_), Some(session)) => SessionPaths::of_parent(&file.path, session),
        _ => None,
    };
    parent.map_or_else(|| file.path.clone(), |paths| paths.transcript().to_owned())
}

/// Returns the turns of entries.
fn turns_of(reading: &OpenSession<'_>, uuids: &[Option<String>]) -> Vec<Option<usize>> {
    uuids.iter().map(|uuid| turn_of(&reading.conversation, uuid.as_deref()?)).collect()
}

fn turn_of(conversation: &Conversation<'_>, uuid: &str) -> Option<usize> {
    let session = conversation.session();
    let id = session.id(uuid)?;
    let node = conversation.steps().iter().find_map(|step| match *step {
        Step::Entry { node, .. } if session.nodes()[node].id == Some(id) => Some(node),
        _ => None,
    });
    conversation.turn_of(node?)
}

/// Returns the query with the filters of the parameters.
fn query(engine: &Engine, params: &wire::SearchParams, matching: wire::SearchMatch) -> Result<Query, Error> {
    let conditions = conditions(engine, params)?;
    let mut query = match matching {
        wire::SearchMatch::Words => match Query::parse(&params.query) {
            Err(QueryError::Empty) if !conditions.is_empty() => Query::of_filters(Vec::new()),
            query => query.map_err(|error| Error::invalid_params(&error.to_string()))?,
        },
        _ => Query::of_filters(Vec::new()),
    };
    for condition in conditions {
        query.add_filter(condition);
    }
    Ok(query)
}

/// Returns the filters of the parameters as conditions.
fn conditions(engine: &Engine, params: &wire::SearchParams) -> Result<Vec<Condition>, Error> {
    let mut conditions = Vec::new();
    if let Some(path) = workspace(params.workspace_path.as_deref())? {
        conditions.extend(engine.paths_of_project(&path).into_iter().map(Condition::Project));
    }
    let sessions = params.sessions.iter().flatten();
    if sessions.clone().count() > MOST_NAMED {
        return Err(Error::invalid_params(&format!("`sessions` has more than {MOST_NAMED} ids")));
    }
    conditions.extend(sessions.cloned().map(Condition::Session));
    conditions.extend(given(params.tool_name.as_ref()).map(Condition::Tool));
    conditions.extend(given(params.file_path.as_ref()).map(Condition::File));
    conditions.extend(given(params.branch.as_ref()).map(Condition::Branch));
    conditions.extend(given(params.model.as_ref()).map(Condition::Model));
    conditions.extend(params.role.map(|role| Condition::Role(engine_role(role))));
    for field in params.fields.iter().flatten() {
        let condition = Condition::parse("in", field.word());
        conditions.push(condition.map_err(|error| Error::invalid_params(&error.to_string()))?);
    }
    conditions.extend(params.errors.filter(|errors| *errors).map(|_| Condition::IsError));
    if let Some(date) = &params.date_from {
        conditions.push(Condition::After(moment(date, Day::Start)?.into()));
    }
    if let Some(date) = &params.date_to {
        conditions.push(Condition::Before(moment(date, Day::End)?.into()));
    }
    Ok(conditions)
}

/// Returns the text of a filter; a blank one selects nothing.
fn given(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty()).cloned()
}

fn options(
    params: &wire::SearchParams,
    matching: wire::SearchMatch,
    reveal: bool,
    searcher: Searcher,
    deadline: Option<Instant>,
) -> Result<SearchOptions, Error> {
    let usual = if matching == wire::SearchMatch::Words {
        wire::SearchSort::Relevance
    } else {
        wire::SearchSort::Time
    };
    let cursor = params.cursor.as_deref().map(str::parse::<SearchCursor>).transpose();
    Ok(SearchOptions {
        order: match params.sort.unwrap_or(usual) {
            wire::SearchSort::Time => Order::Time,
            _ => Order::Relevance,
        },
        per_session: if params.flat.unwrap_or_default() {
            None
        } else {
            Some(searcher.limit(params.per_session, PER_SESSION)?)
        },
        limit: searcher.limit(params.limit, SESSIONS)?,
        after: cursor.map_err(|error| Error::invalid_params(&format!("`cursor`: {error}")))?,
        snippet_width: searcher.limit(params.snippet_width, WIDTH)?,
        inside: searcher == Searcher::Peer,
        measure_behind: false,
        now: Zoned::now(),
        reveal,
        deadline,
        max_bytes: params.max_bytes,
    })
}

/// Returns the pattern of the parameters; `None` if they look for words.
fn pattern(params: &wire::SearchParams, matching: wire::SearchMatch) -> Result<Option<Pattern>, Error> {
    let pattern = match matching {
        wire::SearchMatch::Regex => Pattern::regex(&params.query),
        wire::SearchMatch::Fixed => Pattern::fixed(&params.query),
        _ => return Ok(None),
    };
    pattern.map(Some).map_err(|error| Error::invalid_params(&error.to_string()))
}

fn to_wire_hit(hit: &Hit, session: Option<&SessionTitle>, reveal: bool) -> wire::SearchHit {
    wire::SearchHit {
        session: hit.file.session.clone(),
        agent_id: hit.file.agent.clone(),
        uuid: hit.entry.clone(),
        turn: None,
        role: wire_role(hit.role),
        field: wire_field(hit.part),
        tool: hit.tool.clone(),
        error: hit.is_error,
        spilled: hit.is_spilled,
        timestamp: hit.time.map(time),
        score: hit.score,
        matches: characters(&hit.snippet),
        snippet: hit.snippet.text.clone(),
        title: session.and_then(|session| session.title.clone()),
        project_path: session
            .and_then(|session| session.project_path.clone())
            .or_else(|| hit.project.clone()),
        in_session: hit.in_session,
        copies: hit.copies.len() + hit.more_copies,
        also_in: hit.copies.iter().map(place).collect(),
        masked: if reveal { 0 } else { hit.snippet.text.matches("[masked: ").count() },
    }
}

fn place(copy: &Copy) -> wire::SearchPlace {
    let Copy { file, entry, .. } = copy;
    wire::SearchPlace { session: file.session.clone(), agent_id: file.agent.clone(), uuid: entry.clone() }
}

fn time(time: Timestamp) -> String {
    to_wire::time(time)
}

/// Returns the matches of a snippet in characters.
fn characters(snippet: &Snippet) -> Vec<(usize, usize)> {
    let ranges = snippet.matches.iter();
    ranges
        .map(|range| (characters_before(range.start, snippet), characters_before(range.end, snippet)))
        .collect()
}

fn characters_before(end: usize, snippet: &Snippet) -> usize {
    snippet.text[..end].chars().count()
}

fn engine_role(role: wire::SearchRole) -> Role {
    match role {
        wire::SearchRole::User => Role::User,
        wire::SearchRole::Assistant => Role::Assistant,
        _ => Role::System,
    }
}

fn wire_role(role: Role) -> wire::SearchRole {
    match role {
        Role::User => wire::SearchRole::User,
        Role::Assistant => wire::SearchRole::Assistant,
        Role::System => wire::SearchRole::System,
    }
}

fn wire_field(part: Part) -> wire::SearchField {
    match part {
        Part::Prompt => wire::SearchField::Prompt,
        Part::Reply => wire::SearchField::Reply,
        Part::Thinking => wire::SearchField::Thinking,
        Part::ToolInput => wire::SearchField::Input,
        Part::ToolOutput => wire::SearchField::Output,
        Part::Title => wire::SearchField::Title,
        Part::Summary => wire::SearchField::Summary,
        Part::Notification => wire::SearchField::Notification,
    }
}

/// Returns how much of the transcripts is not indexed.
pub fn to_wire_behind(behind: Behind) -> wire::Behind {
    wire::Behind { files: behind.files, bytes: behind.bytes }
}

fn correction(misspelt: &MisspeltWord) -> wire::Correction {
    wire::Correction { word: misspelt.word.clone(), corrections: misspelt.corrections.clone() }
}
