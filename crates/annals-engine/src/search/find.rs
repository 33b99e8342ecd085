//! Finds documents, ranks them, and shows them with text from their transcripts.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::File;

use annals_search::rank::{self, Collection, Found, TermCount};
use annals_search::{FtsMatch, Part, Query, Role, Snippet, Tokens, corrections};
use annals_transcript::Entry;
use annals_transcript::line::read_span;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::document::{self, Setting};
use super::filter::{self, Conditions};
use super::index::{Index, part_at, stored_path};
use super::update;
use super::{
    Copy, Hit, Limit, MisspeltWord, Order, Ranking, SearchAnswer, SearchCursor, SearchOptions, TextFilter,
};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::symlink_guard::SymlinkGuard;

/// If no more documents match, all of them are ranked.
const FEW: u64 = 4_000;

/// If more match, so many of the newest are ranked.
const NEWEST: u64 = 2_000;

/// Matches are ranked by their words if no word is in more documents.
const MOST_RANKED: u64 = 20_000;

/// A hit names at most so many other transcripts.
const MOST_COPIES: usize = 16;

/// Answers a query. The inner error is one of the query, the outer one of the database.
pub(super) fn find(
    engine: &Engine,
    index: &Index,
    query: &Query,
    filter: &dyn TextFilter,
    options: &SearchOptions,
) -> rusqlite::Result<Result<SearchAnswer, Error>> {
    // All statements see the same state.
    let connection = index.connection.unchecked_transaction()?;
    let start = match start(index, &connection, options)? {
        Ok(start) => start,
        Err(error) => return Ok(Err(error)),
    };
    let roots: Vec<_> = engine.roots().projects().collect();
    let now = now(&start, options);
    let conditions = match Conditions::of(query, &connection, &roots, &now, filter) {
        Ok(conditions) => conditions,
        Err(filter::Failure::Database(error)) => return Err(error),
        Err(filter::Failure::Date(error)) => {
            return Ok(Err(Error::new(ErrorKind::Query { reason: error.to_string() })));
        }
    };
    let search = Search { connection: &connection, query, conditions, start };
    let total = search.total()?;
    let (candidates, ranking) = search.candidates(total, options.order)?;
    let mut shower = Shower {
        search: &search,
        index,
        filter,
        guard: options.inside.then(|| engine.symlink_guard()),
        width: options.snippet_width,
        reveal: options.reveal,
        read_bytes: 0,
        files: HashMap::new(),
    };
    let groups = shower.groups(candidates, options.per_session.is_some())?;
    let sessions = shower.sessions(&groups);
    let (hits, next, cut) = shower.page(&groups, options)?;
    Ok(Ok(SearchAnswer {
        hits,
        total,
        sessions,
        ranking,
        behind: if options.measure_behind { Some(update::behind(engine, Some(index))?) } else { None },
        next,
        corrections: if total == 0 { misspelt_words(&connection, query)? } else { Vec::new() },
        cut,
        errors: Vec::new(),
    }))
}

/// Returns where the answer begins: a position before all hits, or the one that the caller gives.
fn start(
    index: &Index,
    connection: &Connection,
    options: &SearchOptions,
) -> rusqlite::Result<Result<SearchCursor, Error>> {
    let generation = index.settings.generation;
    Ok(match options.after {
        Some(cursor) if cursor.generation == generation => Ok(cursor),
        Some(_) => Err(Error::new(ErrorKind::StaleCursor)),
        None => {
            let newest = "SELECT coalesce(max(id), 0) FROM documents";
            Ok(SearchCursor {
                generation,
                newest: connection.query_row(newest, [], |row| row.get(0))?,
                now: options.now.timestamp().as_millisecond(),
                score: f64::INFINITY,
                document: i64::MAX,
            })
        }
    })
}

/// Returns the time of the first page, by which filters and ages are the same on every page.
fn now(start: &SearchCursor, options: &SearchOptions) -> jiff::Zoned {
    let zone: TimeZone = options.now.time_zone().clone();
    Timestamp::from_millisecond(start.now).map_or_else(|_| options.now.clone(), |now| now.to_zoned(zone))
}

/// A query on one state of the index.
struct Search<'s> {
    connection: &'s Connection,
    query: &'s Query,
    conditions: Conditions,
    start: SearchCursor,
}

/// A document that matches.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    id: i64,
    file: i64,
    score: f64,
}

impl Candidate {
    /// Returns whether it is shown after a position.
    fn is_after(&self, cursor: &SearchCursor) -> bool {
        let by_score = cursor.score.total_cmp(&self.score);
        by_score.then(cursor.document.cmp(&self.id)).is_gt()
    }
}

impl Search<'_> {
    /// Returns a statement over the documents that match, and the expression that FTS5 gets.
    fn statement(&self, columns: &str, needs_documents: bool) -> (String, Option<String>) {
        let newest = self.start.newest;
        let filters = self.conditions.sql();
        match self.query.fts_match() {
            FtsMatch::Rows(rows) if needs_documents || !self.conditions.is_empty() => (
                format!(
                    "SELECT {columns} FROM text CROSS JOIN documents d ON d.id = text.rowid \
                     WHERE text MATCH ?1 AND text.rowid <= {newest}{filters}"
                ),
                Some(rows),
            ),
            FtsMatch::Rows(rows) => {
                let sql =
                    format!("SELECT {columns} FROM text WHERE text MATCH ?1 AND text.rowid <= {newest}");
                (sql, Some(rows))
            }
            FtsMatch::Everything => {
                (format!("SELECT {columns} FROM documents d WHERE d.id <= {newest}{filters}"), None)
            }
            FtsMatch::AllRowsBut(rows) => (
                format!(
                    "SELECT {columns} FROM documents d WHERE d.id <= {newest}{filters} \
                     AND d.id NOT IN (SELECT rowid FROM text WHERE text MATCH ?1)"
                ),
                Some(rows),
            ),
        }
    }

    fn total(&self) -> rusqlite::Result<u64> {
        let (sql, expression) = self.statement("count(*)", false);
        self.connection.query_row(&sql, params_from_iter(expression), |row| row.get(0))
    }

    /// Returns whether FTS5 can rank matches by their words in time: it looks at every document that has one of the words, even
    /// if few documents have all of them.
    fn can_rank_words(&self) -> rusqlite::Result<bool> {
        let bounded =
            format!("SELECT count(*) FROM (SELECT 1 FROM text WHERE text MATCH ?1 LIMIT {MOST_RANKED})");
        for term in self.query.terms() {
            let documents: u64 =
                self.connection.prepare_cached(&bounded)?.query_row([term.fts_match()], |row| row.get(0))?;
            if documents == MOST_RANKED {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the documents to be ranked, the best first.
    fn candidates(&self, total: u64, order: Order) -> rusqlite::Result<(Vec<Candidate>, Ranking)> {
        let has_text = matches!(self.query.fts_match(), FtsMatch::Rows(_));
        let by_words = has_text && order == Order::Relevance && total <= FEW && self.can_rank_words()?;
        // Otherwise the part and the age of a match decide.
        let relevance = if by_words { "bm25(text, 1.0, 0.7)" } else { "-1.0" };
        let columns = format!("d.id, {}, d.part, d.time, {relevance}", self.conditions.file());
        let (sql, expression) = self.statement(&columns, true);
        let ranking = if total > FEW && order == Order::Relevance { Ranking::Newest } else { Ranking::All };
        let id = if has_text { "text.rowid" } else { "d.id" };
        let sql = match ranking {
            Ranking::All => sql,
            Ranking::Newest => format!("{sql} ORDER BY {id} DESC LIMIT {NEWEST}"),
        };
        let now = Timestamp::from_millisecond(self.start.now).unwrap_or(Timestamp::UNIX_EPOCH);
        let mut statement = self.connection.prepare(&sql)?;
        let candidate = |row: &Row<'_>| {
            let (part, time): (usize, Option<i64>) = (row.get(2)?, row.get(3)?);
            let score = match order {
                Order::Relevance => score(-row.get::<_, f64>(4)?, part_at(part), time, now),
                #[expect(clippy::cast_precision_loss, reason = "times of this age are exact")]
                Order::Time => time.unwrap_or(0) as f64,
            };
            Ok(Candidate { id: row.get(0)?, file: row.get(1)?, score })
        };
        let rows = statement.query_map(params_from_iter(expression), candidate)?;
        let mut candidates = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        candidates.sort_by(|one, other| other.score.total_cmp(&one.score).then(other.id.cmp(&one.id)));
        Ok((candidates, ranking))
    }
}

/// Returns how good a match is. FTS5 computes the share of the text, with the constants of [`rank`]; the shares of part and
/// time are those of any document with one term.
fn score(relevance: f64, part: Option<Part>, time: Option<i64>, now: Timestamp) -> f64 {
    let collection = Collection { documents: 1, average_length: 1.0, now };
    let once = [TermCount { documents: 1, here: 1 }];
    let time = time.and_then(|time| Timestamp::from_millisecond(time).ok());
    let found = Found { terms: &once, length: 1, part: part.unwrap_or(Part::Notification), time };
    relevance * rank::score(&collection, &found)
}

/// Reads what is shown of candidates.
struct Shower<'s> {
    search: &'s Search<'s>,
    index: &'s Index,
    filter: &'s dyn TextFilter,
    guard: Option<SymlinkGuard>,
    width: usize,
    /// Whether snippets show the text as it is in the transcript.
    reveal: bool,
    /// The bytes of transcripts that were read.
    read_bytes: u64,
    files: HashMap<i64, TranscriptFile>,
}

/// Candidates that are shown together, the best first.
struct Group {
    candidates: Vec<Candidate>,
}

impl Shower<'_> {
    /// Groups candidates by session, in the order of the best of each; or lets each stand alone.
    fn groups(&mut self, candidates: Vec<Candidate>, by_session: bool) -> rusqlite::Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut known_files: HashMap<i64, usize> = HashMap::new();
        for candidate in candidates {
            let new = groups.len();
            let group = match known_files.get(&candidate.file) {
                _ if !by_session => new,
                Some(group) => *group,
                None => *known.entry(session_key(self.file(candidate.file)?)).or_insert(new),
            };
            known_files.insert(candidate.file, group);
            match groups.get_mut(group) {
                Some(group) => group.candidates.push(candidate),
                None => groups.push(Group { candidates: vec![candidate] }),
            }
        }
        Ok(groups)
    }

    /// Returns in how many sessions there are candidates.
    fn sessions(&mut self, groups: &[Group]) -> usize {
        let files: HashSet<_> =
            groups.iter().flat_map(|group| &group.candidates).map(|candidate| candidate.file).collect();
        let sessions = files.into_iter().filter_map(|file| self.file(file).ok().map(session_key));
        sessions.collect::<HashSet<_>>().len()
    }

    /// Returns the hits of a page, and where the next one begins.
    fn page(
        &mut self,
        groups: &[Group],
        options: &SearchOptions,
    ) -> rusqlite::Result<(Vec<Hit>, Option<SearchCursor>, Option<Limit>)> {
        let start = self.search.start;
        let first = groups.partition_point(|group| !group.candidates[0].is_after(&start));
        let mut hits = Vec::new();
        let mut shown = 0;
        let mut last = start;
        for (number, group) in groups.iter().enumerate().skip(first) {
            // The first group is shown in any case, so that every page makes progress.
            if let Some(limit) = options.reached(self.read_bytes).filter(|_| shown > 0) {
                return Ok((hits, Some(last), Some(limit)));
            }
            let before = hits.len();
            for candidate in &group.candidates {
                if hits.len() - before >= options.per_session.unwrap_or(1) {
                    break;
                }
                hits.extend(self.hit(*candidate, group.candidates.len())?);
            }
            shown += usize::from(hits.len() > before);
            let Candidate { id, score, .. } = group.candidates[0];
            last = SearchCursor { score, document: id, ..start };
            if shown >= options.limit.max(1) && number + 1 < groups.len() {
                return Ok((hits, Some(last), None));
            }
        }
        Ok((hits, None, None))
    }

    /// Returns the hit of a candidate; `None` if no transcript has its text any more.
    fn hit(&mut self, candidate: Candidate, in_session: usize) -> rusqlite::Result<Option<Hit>> {
        let sql =
            "SELECT identity, number, (SELECT name FROM names WHERE id = tool) FROM documents WHERE id = ?1";
        let mut statement = self.search.connection.prepare_cached(sql)?;
        let (identity, number, tool): (i64, usize, Option<String>) =
            statement.query_row([candidate.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut hit: Option<Hit> = None;
        for place in self.places(candidate)? {
            let file = self.file(place.file)?.clone();
            match &mut hit {
                None => {
                    self.read_bytes += place.length;
                    let read = self.read(&file, &place, number, identity);
                    hit = read.map(|found| found.hit(file, tool.clone(), candidate.score, in_session));
                }
                Some(hit) if hit.copies.len() < MOST_COPIES => {
                    let is_new = hit.file != file && hit.copies.iter().all(|copy| copy.file != file);
                    if is_new {
                        self.read_bytes += place.length;
                        let read = self.read(&file, &place, number, identity);
                        hit.copies.extend(read.map(|found| Copy { file, entry: found.entry }));
                    }
                }
                Some(_) => break,
            }
        }
        Ok(hit)
    }

    /// Returns the places of a document, first those in its own file.
    fn places(&self, candidate: Candidate) -> rusqlite::Result<Vec<Place>> {
        let sql = format!(
            "SELECT file, offset, length FROM \
             (SELECT file, offset, length FROM documents WHERE id = ?1 \
             UNION ALL SELECT file, offset, length FROM copies WHERE document = ?1){} \
             ORDER BY file <> ?2, file, offset",
            self.search.conditions.sql_of_places()
        );
        let mut statement = self.search.connection.prepare_cached(&sql)?;
        let places = statement.query_map([candidate.id, candidate.file], |row| {
            Ok(Place { file: row.get(0)?, offset: row.get(1)?, length: row.get(2)? })
        })?;
        places.collect()
    }

    /// Reads a document from a transcript. Returns `None` if it is not there any more, or if it does not match.
    fn read(
        &self,
        file: &TranscriptFile,
        place: &Place,
        number: usize,
        identity: i64,
    ) -> Option<ReadDocument> {
        let mut opened: File = match &self.guard {
            Some(guard) => guard.open(&file.path).ok()??.0,
            None => open_regular(&file.path).ok()?,
        };
        let bytes = read_span(&mut opened, place.offset, place.length).ok()?;
        let entry = Entry::new(&bytes);
        let document = document::documents(&entry).into_iter().find(|document| document.number == number)?;
        let text = document::searched_text(&document, self.filter, self.index.settings.text_limit);
        let setting = Setting::of(&entry);
        let is_same =
            document::identity(&file.path, place.offset, &entry, &setting, &document, &text) == identity;
        let tokens = Tokens::of(&text);
        if !is_same || !self.search.query.matches(&tokens) {
            return None;
        }
        let snippet = if self.reveal {
            let tokens = Tokens::of(&document.text);
            Snippet::new(&document.text, &self.search.query.find(&tokens), self.width)
        } else {
            Snippet::new(&text, &self.search.query.find(&tokens), self.width)
        };
        Some(ReadDocument {
            entry: entry.head().id.map(|id| id.decode().into_owned()),
            part: document.part,
            role: document.role,
            is_error: document.is_error,
            tool: document.subject.and_then(|subject| subject.tool),
            project: setting.project.map(Cow::into_owned),
            time: setting.time.and_then(|time| Timestamp::from_millisecond(time).ok()),
            snippet,
        })
    }

    /// Returns a file by its number.
    fn file(&mut self, number: i64) -> rusqlite::Result<&TranscriptFile> {
        match self.files.entry(number) {
            std::collections::hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                let sql = "SELECT path, session, agent FROM files WHERE id = ?1";
                let mut statement = self.search.connection.prepare_cached(sql)?;
                let file = statement.query_row([number], |row| {
                    let path = stored_path(row.get_ref(0)?.as_blob()?);
                    Ok(TranscriptFile { path, session: row.get(1)?, agent: row.get(2)? })
                })?;
                Ok(vacant.insert(file))
            }
        }
    }
}

/// Where a document stands.
struct Place {
    file: i64,
    offset: u64,
    length: u64,
}

/// A document as its transcript has it. What is shown comes from there, so that a damaged index shows nothing wrong.
struct ReadDocument {
    entry: Option<String>,
    part: Part,
    role: Role,
    is_error: bool,
    /// The tool of a call; a result does not name it.
    tool: Option<String>,
    project: Option<String>,
    time: Option<Timestamp>,
    snippet: Snippet,
}

impl ReadDocument {
    fn hit(self, file: TranscriptFile, tool: Option<String>, score: f64, in_session: usize) -> Hit {
        let Self { entry, part, role, is_error, tool: own_tool, project, time, snippet } = self;
        let (tool, copies) = (own_tool.or(tool), Vec::new());
        Hit { file, entry, part, role, tool, project, time, is_error, score, snippet, copies, in_session }
    }
}

/// Returns what tells sessions apart.
pub(super) fn session_key(file: &TranscriptFile) -> String {
    file.session.clone().unwrap_or_else(|| file.path.to_string_lossy().into_owned())
}

/// Returns the words of a query that the index does not have, with those that may be meant.
fn misspelt_words(connection: &Connection, query: &Query) -> rusqlite::Result<Vec<MisspeltWord>> {
    let mut misspelt = Vec::new();
    for word in query.terms().into_iter().filter_map(|term| term.word()) {
        let known = "SELECT 1 FROM text WHERE text MATCH ?1 LIMIT 1";
        let expression = |word: &str| format!("\"{word}\"");
        if connection.query_row(known, [expression(word)], |_| Ok(())).optional()?.is_some() {
            continue;
        }
        let length = i64::try_from(word.chars().count()).unwrap_or(i64::MAX);
        let mut close =
            connection.prepare_cached("SELECT term FROM terms WHERE length BETWEEN ?1 - 2 AND ?1 + 2")?;
        let close = close.query_map([length], |row| row.get::<_, String>(0))?;
        let close = close.collect::<rusqlite::Result<Vec<_>>>()?;
        let found = corrections(word, close.iter().map(|term| (term.as_str(), 0)), 16);
        // How often a word occurs is only counted for those that are close.
        let mut counted = Vec::new();
        for correction in found {
            let count = "SELECT count(*) FROM text WHERE text MATCH ?1";
            let count: u64 = connection.query_row(count, [expression(&correction.word)], |row| row.get(0))?;
            counted.push((correction.word, count));
        }
        counted.retain(|(_, count)| *count > 0);
        let best = corrections(word, counted.iter().map(|(term, count)| (term.as_str(), *count)), 3);
        if !best.is_empty() {
            let corrections = best.into_iter().map(|correction| correction.word).collect();
            misspelt.push(MisspeltWord { word: word.to_owned(), corrections });
        }
    }
    Ok(misspelt)
}
