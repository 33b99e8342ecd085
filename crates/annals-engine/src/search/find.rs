//! Finds documents, ranks them, and shows them with text from their transcripts.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;

use annals_search::rank::{self, Collection, Found, TermCount};
use annals_search::{Expression, FtsMatch, Part, Query, Role, Snippet, Term, Tokens, corrections};
use annals_transcript::Entry;
use annals_transcript::line::read_span;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, params};

use super::document::{self, Document, Setting};
use super::facts::{Facts, FactsReader};
use super::filter::{self, Conditions};
use super::index::Index;
use super::spilled::{self, SpilledOutputs};
use super::term_matches::{MOST_COUNTED, TermMatches};
use super::update;
use super::{
    Copy, Hit, Limit, MisspeltWord, Order, Ranking, SearchAnswer, SearchCursor, SearchOptions, TextFilter,
};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::symlink_guard::SymlinkGuard;

/// If no more documents match, all of them are ranked.
const FEW: usize = 4_000;

/// If more match, so many of the newest are ranked.
const NEWEST: usize = 2_000;

/// Matches are ranked by their words if no word is in more documents.
const MOST_RANKED: u64 = MOST_COUNTED as u64;

/// A hit names at most so many other transcripts, because the entry is read in each.
pub(super) const MOST_COPIES: usize = 16;

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
    index.known_blocks.borrow_mut().refresh(&connection)?;
    let facts = FactsReader::new(&connection, &index.known_blocks);
    let term = OnceCell::new();
    let search = Search { index, connection: &connection, query, conditions, start, facts, term };
    let Matches { total, candidates, ranking } = search.matches(options.order)?;
    let mut shower = Shower {
        search: &search,
        index,
        filter,
        guard: options.inside.then(|| engine.symlink_guard()),
        width: options.snippet_width,
        reveal: options.reveal,
        read_bytes: 0,
        opened: None,
    };
    let by_session = options.per_session.is_some();
    let groups = shower.groups(candidates, by_session)?;
    let sessions = if by_session { groups.len() } else { shower.sessions(&groups)? };
    let (hits, next, cut) = shower.page(&groups, options)?;
    Ok(Ok(SearchAnswer {
        hits,
        total,
        sessions,
        ranking,
        behind: if options.measure_behind { Some(update::behind(engine, index)?) } else { None },
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
    index: &'s Index,
    connection: &'s Connection,
    query: &'s Query,
    conditions: Conditions,
    start: SearchCursor,
    facts: FactsReader<'s>,
    /// The documents that have the term of [`Search::exact_term`], if they were looked for.
    term: OnceCell<TermMatches>,
}

/// What matches.
struct Matches {
    total: u64,
    /// The documents that are ranked, the best first.
    candidates: Vec<Candidate>,
    ranking: Ranking,
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
    /// Returns the documents that match and are ranked, the best first.
    fn matches(&self, order: Order) -> rusqlite::Result<Matches> {
        let (total, mut candidates) = match order {
            Order::Relevance => self.by_relevance()?,
            Order::Time => self.by_time()?,
        };
        candidates.sort_by(|one, other| other.score.total_cmp(&one.score).then(other.id.cmp(&one.id)));
        let is_cut = order == Order::Relevance && total > FEW as u64;
        Ok(Matches { total, candidates, ranking: if is_cut { Ranking::Newest } else { Ranking::All } })
    }

    /// Returns how many documents match, and all of them with their times.
    fn by_time(&self) -> rusqlite::Result<(u64, Vec<Candidate>)> {
        let mut candidates = Vec::new();
        self.each_match(|id| {
            #[expect(clippy::cast_precision_loss, reason = "times of this age are exact")]
            candidates.extend(self.candidate(id, |facts| facts.time.unwrap_or(0) as f64)?);
            Ok(())
        })?;
        Ok((candidates.len() as u64, candidates))
    }

    /// Returns how many documents match, and those that are ranked with their scores.
    fn by_relevance(&self) -> rusqlite::Result<(u64, Vec<Candidate>)> {
        let (total, documents) = self.newest_documents()?;
        let now = Timestamp::from_millisecond(self.start.now).unwrap_or(Timestamp::UNIX_EPOCH);
        let candidates = match self.query.fts_match() {
            FtsMatch::Rows(rows) if total <= FEW as u64 && self.can_rank_words(total)? => {
                if let Some(term) = self.exact_term() {
                    let term = self.matches_of(term)?;
                    let score =
                        |counts, facts: &Facts| score(term.relevance(counts, facts.tokens), facts, now);
                    self.candidates(term.counts_in(&documents), score)?
                } else {
                    let ranked = self.relevance(&rows, &documents)?.into_iter();
                    self.candidates(ranked, |relevance, facts| score(relevance, facts, now))?
                }
            }
            _ => self.candidates(documents.iter().map(|id| (*id, 1.0)), |relevance, facts| {
                score(relevance, facts, now)
            })?,
        };
        Ok((total, candidates))
    }

    /// Returns documents with their scores, which depend on something about each.
    fn candidates<T>(
        &self,
        documents: impl Iterator<Item = (i64, T)>,
        score: impl Fn(T, &Facts) -> f64,
    ) -> rusqlite::Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for (id, found) in documents {
            candidates.extend(self.candidate(id, |facts| score(found, facts))?);
        }
        Ok(candidates)
    }

    /// Returns how well the words of documents match, as FTS5 says.
    fn relevance(&self, rows: &str, documents: &[i64]) -> rusqlite::Result<Vec<(i64, f64)>> {
        // Of what the words find, filters may leave little. FTS5 ranks a row only if the other conditions hold.
        let first = documents.first().copied().unwrap_or_default();
        let length = documents.last().map_or(0, |last| last - first + 1);
        let mut is_wanted = vec![0_u8; usize::try_from(length).unwrap_or_default()];
        for document in documents {
            if let Some(wanted) = usize::try_from(document - first).ok().and_then(|at| is_wanted.get_mut(at))
            {
                *wanted = 1;
            }
        }
        let sql = "SELECT rowid, -bm25(text, 1.0, 0.7) FROM text WHERE text MATCH ?1 \
                   AND rowid >= ?2 AND rowid < ?2 + length(?3) AND substr(?3, rowid - ?2 + 1, 1) = x'01' \
                   ORDER BY rowid";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found =
            statement.query_map(params![rows, first, is_wanted], |row| Ok((row.get(0)?, row.get(1)?)))?;
        found.collect()
    }

    /// Returns what is known of a document. Damage that SQLite does not notice may find a document that there is not.
    fn facts(&self, id: i64) -> rusqlite::Result<Option<Facts>> {
        self.facts.of(id)
    }

    /// Returns a document with its score.
    fn candidate(&self, id: i64, score: impl FnOnce(&Facts) -> f64) -> rusqlite::Result<Option<Candidate>> {
        let Some(facts) = self.facts(id)? else { return Ok(None) };
        let file = self.conditions.file(id, &facts, self.connection)?;
        Ok(file.map(|file| Candidate { id, file, score: score(&facts) }))
    }

    /// Returns how many documents match, and their numbers in order; if there are many, those of the newest.
    fn newest_documents(&self) -> rusqlite::Result<(u64, Vec<i64>)> {
        let mut total = 0;
        let mut newest = VecDeque::with_capacity(FEW);
        self.each_match(|id| {
            if newest.len() == FEW {
                newest.pop_front();
            }
            newest.push_back(id);
            total += 1;
            Ok(())
        })?;
        if total > FEW as u64 {
            newest.drain(..FEW - NEWEST);
        }
        Ok((total, newest.into()))
    }

    /// Calls `each` with every document that matches, in order.
    fn each_match(&self, mut each: impl FnMut(i64) -> rusqlite::Result<()>) -> rusqlite::Result<()> {
        let (newest, connection) = (self.start.newest, self.connection);
        if let Some(term) = self.exact_term() {
            let documents = self.matches_of(term)?.documents();
            let end = documents.partition_point(|id| *id <= newest);
            for id in &documents[..end] {
                if self.is_searched(*id)? {
                    each(*id)?;
                }
            }
            return Ok(());
        }
        let select = "SELECT rowid FROM text WHERE text MATCH ?1 AND rowid <= ?2 ORDER BY rowid";
        let mut statement = connection.prepare_cached(select)?;
        let (rows, is_excluded) = match self.query.fts_match() {
            FtsMatch::Rows(rows) => (Some(rows), false),
            FtsMatch::AllRowsBut(rows) => (Some(rows), true),
            FtsMatch::Everything => (None, true),
        };
        let mut found = rows.map(|rows| statement.query(params![rows, newest])).transpose()?;
        let mut next = || match &mut found {
            Some(rows) => rows.next()?.map(|row| row.get::<_, i64>(0)).transpose(),
            None => Ok(None),
        };
        if !is_excluded {
            while let Some(id) = next()? {
                if self.is_searched(id)? {
                    each(id)?;
                }
            }
            return Ok(());
        }
        let mut excluded = next()?;
        self.facts.each_up_to(newest, |id, facts| {
            while excluded.is_some_and(|excluded| excluded < id) {
                excluded = next()?;
            }
            if excluded != Some(id) && self.conditions.hold(id, facts, &self.facts)? {
                each(id)?;
            }
            Ok(())
        })
    }

    /// Returns whether the conditions hold for a document.
    fn is_searched(&self, id: i64) -> rusqlite::Result<bool> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        self.facts(id)?.map_or(Ok(false), |facts| self.conditions.hold(id, &facts, &self.facts))
    }

    /// Returns the term of the query, if it has no other and nothing of it is left open.
    fn exact_term(&self) -> Option<&Term> {
        match self.query.expression() {
            Some(Expression::Term(term)) if !term.is_prefix() => Some(term),
            _ => None,
        }
    }

    /// Returns the term of the query, if it has no other and FTS5 looks for one token.
    fn one_token(&self) -> Option<&Term> {
        self.exact_term().filter(|term| term.is_one_token())
    }

    /// Returns the documents that have the exact term.
    fn matches_of(&self, term: &Term) -> rusqlite::Result<&TermMatches> {
        if self.term.get().is_none() {
            let _ = self.term.set(TermMatches::of(self.connection, term)?);
        }
        Ok(self.term.get().expect("it was set"))
    }

    /// Returns whether matches can be ranked by their words in time: FTS5 looks at every document that has one of the words, even
    /// if few documents have all of them.
    fn can_rank_words(&self, total: u64) -> rusqlite::Result<bool> {
        let terms = self.query.terms();
        // A query that is one term is in as many documents as match.
        let is_counted = match self.query.expression() {
            Some(Expression::Term(_)) => self.conditions.is_empty() && total < MOST_RANKED,
            _ => false,
        };
        if is_counted && self.one_token().is_some() {
            return Ok(true);
        }
        let words = terms.iter().flat_map(|term| term.tokens()).map(quoted);
        let terms = terms.iter().filter(|_| !is_counted).map(|term| term.fts_match());
        for expression in words.chain(terms) {
            if self.index.has_many(expression, MOST_RANKED)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns how good a match is, with the constants of [`rank`]: `relevance` is the share of the text, and those of part and time
/// are the shares of any document with one term.
fn score(relevance: f64, facts: &Facts, now: Timestamp) -> f64 {
    let collection = Collection { documents: 1, average_length: 1.0, now };
    let once = [TermCount { documents: 1, here: 1 }];
    let time = facts.time.and_then(|time| Timestamp::from_millisecond(time).ok());
    let found = Found { terms: &once, length: 1, part: facts.part.unwrap_or(Part::Notification), time };
    relevance * rank::score(&collection, &found)
}

/// Reads what is shown of candidates.
struct Shower<'s, 'c> {
    search: &'s Search<'c>,
    index: &'s Index,
    filter: &'s dyn TextFilter,
    guard: Option<SymlinkGuard>,
    width: usize,
    /// Whether snippets show the text as it is in the transcript.
    reveal: bool,
    /// The bytes of transcripts that were read.
    read_bytes: u64,
    /// The transcript that was opened last.
    opened: Option<(i64, File)>,
}

/// Candidates that are shown together, the best first.
struct Group {
    candidates: Vec<Candidate>,
}

impl Shower<'_, '_> {
    /// Groups candidates by session, in the order of the best of each; or lets each stand alone.
    fn groups(&self, candidates: Vec<Candidate>, by_session: bool) -> rusqlite::Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut known_files: HashMap<i64, usize> = HashMap::new();
        for candidate in candidates {
            let new = groups.len();
            let group = match known_files.get(&candidate.file) {
                _ if !by_session => new,
                Some(group) => *group,
                None => *known.entry(session_key(&*self.index.transcript(candidate.file)?)).or_insert(new),
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
    fn sessions(&self, groups: &[Group]) -> rusqlite::Result<usize> {
        let files: HashSet<_> =
            groups.iter().flat_map(|group| &group.candidates).map(|candidate| candidate.file).collect();
        let sessions = files.into_iter().map(|file| Ok(session_key(&*self.index.transcript(file)?)));
        Ok(sessions.collect::<rusqlite::Result<HashSet<_>>>()?.len())
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
        let mut shown_parts: HashMap<ShownPart, usize> = HashMap::new();
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
                let found = self.hit(*candidate, group.candidates.len())?;
                let Some((part, hit)) = found else { continue };
                // A result may match with its own text and with that of its file.
                if let Some(shown) = shown_parts.get(&part) {
                    Hit::add_copies(&mut hits[*shown], hit);
                } else {
                    shown_parts.insert(part, hits.len());
                    hits.push(hit);
                }
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

    /// Returns the hit of a candidate with the part that it shows; `None` if no transcript has its text any more.
    fn hit(&mut self, candidate: Candidate, in_session: usize) -> rusqlite::Result<Option<(ShownPart, Hit)>> {
        let sql = "SELECT identity, number, file, offset, length FROM documents WHERE id = ?1";
        let mut statement = self.search.connection.prepare_cached(sql)?;
        let row = statement.query_row([candidate.id], |row| {
            Ok((row.get(0)?, row.get(1)?, self.place(row.get(2)?, row.get(3)?, row.get(4)?)))
        });
        let Some((identity, number, first)) = row.optional()? else { return Ok(None) };
        let Some(facts) = self.search.facts(candidate.id)? else { return Ok(None) };
        let mut hit: Option<Hit> = None;
        let mut part = ShownPart::default();
        for place in self.places(candidate, &facts, first)? {
            let file = self.index.transcript(place.file)?;
            match &mut hit {
                None if place.is_searched => {
                    part = (place.file, place.offset, spilled::part_number(number));
                    let read = self.read(&file, &place, number, identity);
                    let Some(found) = read else { continue };
                    let tool = facts.tool.map(|tool| self.index.name(tool)).transpose()?.flatten();
                    hit = Some(found.hit((*file).clone(), tool, candidate.score, in_session));
                }
                None => break,
                Some(hit) if hit.is_in(&file) => {}
                Some(hit) if hit.copies.len() < MOST_COPIES => {
                    let read = self.read(&file, &place, number, identity);
                    let copy = |found: ReadDocument| Copy { file: (*file).clone(), entry: found.entry };
                    hit.copies.extend(read.map(copy));
                }
                Some(hit) => hit.more_copies += 1,
            }
        }
        Ok(hit.map(|hit| (part, hit)))
    }

    fn place(&self, file: i64, offset: u64, length: u64) -> Place {
        Place { file, offset, length, is_searched: self.search.conditions.is_searched_file(file) }
    }

    /// Returns the places of a document that may be named: first those in the files that are searched, beginning with its own file.
    fn places(&self, candidate: Candidate, facts: &Facts, first: Place) -> rusqlite::Result<Vec<Place>> {
        let mut places = vec![first];
        if facts.has_copies {
            let sql = "SELECT file, offset, length FROM copies WHERE document = ?1";
            let mut statement = self.search.connection.prepare_cached(sql)?;
            let copies = statement
                .query_map([candidate.id], |row| Ok(self.place(row.get(0)?, row.get(1)?, row.get(2)?)))?;
            for copy in copies {
                places.push(copy?);
            }
        }
        places.retain(|place| self.search.conditions.is_known_file(place.file));
        places.sort_by_key(|place| {
            (!place.is_searched, place.file != candidate.file, place.file, place.offset)
        });
        Ok(places)
    }

    /// Returns the document of an entry that has a number.
    fn document<'e>(
        &mut self,
        file: &TranscriptFile,
        entry: &Entry<'e>,
        number: usize,
    ) -> Option<Document<'e>> {
        if !spilled::is_spilled(number) {
            return document::documents(entry).into_iter().find(|document| document.number == number);
        }
        let outputs = SpilledOutputs::of(file, self.guard.as_ref(), self.index.settings.text_limit);
        let found = outputs.documents(entry).find(|document| document.number == number);
        self.read_bytes += found.as_ref().map_or(0, |found| found.text.len() as u64);
        found
    }

    /// Opens a transcript, unless it was opened last: hits of a session mostly stand in the same file.
    fn open(&mut self, number: i64, file: &TranscriptFile) -> Option<&mut File> {
        if self.opened.as_ref().is_none_or(|(opened, _)| *opened != number) {
            let file = match &self.guard {
                Some(guard) => guard.open(&file.path).ok()??.0,
                None => open_regular(&file.path).ok()?,
            };
            self.opened = Some((number, file));
        }
        self.opened.as_mut().map(|(_, file)| file)
    }

    /// Reads a document from a transcript. Returns `None` if it is not there any more, or if it does not match.
    fn read(
        &mut self,
        file: &TranscriptFile,
        place: &Place,
        number: usize,
        identity: i64,
    ) -> Option<ReadDocument> {
        self.read_bytes += place.length;
        let bytes = read_span(self.open(place.file, file)?, place.offset, place.length).ok()?;
        let entry = Entry::new(&bytes);
        let document = self.document(file, &entry, number)?;
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
            is_spilled: document.is_spilled(),
            tool: document.subject.and_then(|subject| subject.tool),
            project: setting.project.map(Cow::into_owned),
            time: setting.time.and_then(|time| Timestamp::from_millisecond(time).ok()),
            snippet,
        })
    }
}

/// A part of an entry: file, offset and number.
type ShownPart = (i64, u64, usize);

/// Where a document stands.
struct Place {
    file: i64,
    offset: u64,
    length: u64,
    /// Whether the filters of the query select its file.
    is_searched: bool,
}

/// A document as its transcript has it. What is shown comes from there, so that a damaged index shows nothing wrong.
struct ReadDocument {
    entry: Option<String>,
    part: Part,
    role: Role,
    is_error: bool,
    is_spilled: bool,
    /// The tool of a call; a result does not name it.
    tool: Option<String>,
    project: Option<String>,
    time: Option<Timestamp>,
    snippet: Snippet,
}

impl ReadDocument {
    fn hit(self, file: TranscriptFile, tool: Option<String>, score: f64, in_session: usize) -> Hit {
        let Self { entry, part, role, is_error, is_spilled, tool: own_tool, project, time, snippet } = self;
        Hit {
            file,
            entry,
            part,
            role,
            tool: own_tool.or(tool),
            project,
            time,
            is_error,
            is_spilled,
            score,
            snippet,
            copies: Vec::new(),
            more_copies: 0,
            in_session,
        }
    }
}

/// Returns what tells sessions apart.
pub(super) fn session_key(file: &TranscriptFile) -> String {
    file.session.clone().unwrap_or_else(|| file.path.to_string_lossy().into_owned())
}

/// Returns a word as an expression of FTS5.
fn quoted(word: &str) -> String {
    format!("\"{word}\"")
}

/// Returns the words of a query that the index does not have, with those that may be meant.
fn misspelt_words(connection: &Connection, query: &Query) -> rusqlite::Result<Vec<MisspeltWord>> {
    let mut misspelt = Vec::new();
    for word in query.terms().into_iter().filter_map(|term| term.word()) {
        let known = "SELECT 1 FROM text WHERE text MATCH ?1 LIMIT 1";
        if connection.query_row(known, [quoted(word)], |_| Ok(())).optional()?.is_some() {
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
            let count: u64 = connection.query_row(count, [quoted(&correction.word)], |row| row.get(0))?;
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
