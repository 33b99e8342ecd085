//! The documents that have a term, and how well each of them matches: what FTS5's `bm25` computes, from the postings alone.

use annals_search::{Column, Term};
use rusqlite::{Connection, OptionalExtension};

use super::postings::{Postings, Varints};

/// How much a token counts in the columns `words` and `parts`.
const WEIGHTS: [f64; 2] = [1.0, 0.7];

/// The constants of FTS5's `bm25`.
const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.75;
const LEAST_IDF: f64 = 1e-6;

/// How often a word stands in a document is not counted in more documents than this, because nothing is ranked by such a word.
pub(super) const MOST_COUNTED: usize = 20_000;

/// The documents that have a term.
pub(super) struct TermMatches {
    /// A term is one phrase, or two of which either is enough: its words, and its parts.
    phrases: Vec<PhraseMatches>,
    average_length: f64,
}

/// The documents that have a phrase.
struct PhraseMatches {
    /// How often each document has it, by their numbers in order; in the column `parts` it counts less.
    documents: Vec<(i64, f64)>,
    idf: f64,
}

impl TermMatches {
    /// Finds a term that is no prefix.
    pub(super) fn of(connection: &Connection, term: &Term) -> rusqlite::Result<Self> {
        let (all, tokens) = totals(connection)?;
        #[expect(clippy::cast_precision_loss, reason = "there are not so many documents and tokens")]
        let (all, tokens) = (all as f64, tokens as f64);
        let phrase =
            |(tokens, columns): (&[String], &[Column])| PhraseMatches::of(connection, tokens, columns, all);
        let phrases = term.phrases().into_iter().map(phrase).collect::<rusqlite::Result<_>>()?;
        Ok(Self { phrases, average_length: (tokens / all.max(1.0)).max(1.0) })
    }

    /// Returns the documents, in order.
    pub(super) fn documents(&self) -> Vec<i64> {
        let phrases = self.phrases.iter().flat_map(|phrase| &phrase.documents);
        let mut documents: Vec<i64> = phrases.map(|(document, _)| *document).collect();
        if self.phrases.len() > 1 {
            documents.sort_unstable();
            documents.dedup();
        }
        documents
    }

    /// Returns some of the documents, whose numbers are in order, with how often each of them has the phrases.
    pub(super) fn counts_in<'c>(&'c self, documents: &'c [i64]) -> impl Iterator<Item = (i64, Counts)> + 'c {
        let mut phrases: Vec<_> =
            self.phrases.iter().map(|phrase| phrase.documents.iter().peekable()).collect();
        documents.iter().filter_map(move |document| {
            let mut counts = Counts::default();
            for (phrase, count) in phrases.iter_mut().zip(&mut counts.0) {
                while phrase.next_if(|(found, _)| found < document).is_some() {}
                *count = phrase.next_if(|(found, _)| found == document).map_or(0.0, |(_, count)| *count);
            }
            counts.0.iter().any(|count| *count > 0.0).then_some((*document, counts))
        })
    }

    /// Returns how well a document matches that has the phrases so often, and so many tokens.
    pub(super) fn relevance(&self, counts: Counts, tokens: u32) -> f64 {
        let length = f64::from(tokens) / self.average_length;
        let damping = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * length);
        let phrases = self.phrases.iter().zip(counts.0);
        phrases.map(|(phrase, count)| phrase.idf * count * (SATURATION + 1.0) / (count + damping)).sum()
    }
}

/// How often a document has each phrase of a term.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts([f64; 2]);

impl PhraseMatches {
    /// Finds tokens that follow each other in one of some columns; `all` documents there are.
    fn of(
        connection: &Connection,
        tokens: &[String],
        columns: &[Column],
        all: f64,
    ) -> rusqlite::Result<Self> {
        let postings = tokens.iter().map(|token| Postings::of(connection, token));
        let mut postings = postings.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut documents = Vec::new();
        let mut starts = Vec::new();
        while let Some(document) = next_with_all(&mut postings)? {
            let count = if let [token] = &postings[..]
                && documents.len() >= MOST_COUNTED
            {
                f64::from(token.positions().any(|place| is_in(place, columns)))
            } else {
                find_starts(&postings, columns, &mut starts);
                starts.iter().map(|start| WEIGHTS[usize::from(*start >= PARTS)]).sum()
            };
            if count > 0.0 {
                documents.push((document, count));
            }
            let Some(next) = document.checked_add(1) else { break };
            postings[0].seek(next)?;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are not so many documents")]
        let having = documents.len() as f64;
        let idf = ((all - having + 0.5) / (having + 0.5)).ln();
        // Also if the numbers of a damaged index make no sense.
        Ok(Self { documents, idf: if idf > 0.0 { idf } else { LEAST_IDF } })
    }
}

/// Goes on to the next document that all tokens have, unless they are at one.
fn next_with_all(tokens: &mut [Postings<'_>]) -> rusqlite::Result<Option<i64>> {
    let Some(mut document) = tokens.first().and_then(Postings::document) else { return Ok(None) };
    let mut agreeing = 0;
    for number in (0..tokens.len()).cycle() {
        tokens[number].seek(document)?;
        let Some(found) = tokens[number].document() else { return Ok(None) };
        agreeing = if found == document { agreeing + 1 } else { 1 };
        document = found;
        if agreeing == tokens.len() {
            return Ok(Some(document));
        }
    }
    Ok(None)
}

/// The first position in the column `parts`.
const PARTS: u64 = 1 << 32;

/// Finds where tokens, which all have a document, follow each other in it, in order.
fn find_starts(tokens: &[Postings<'_>], columns: &[Column], starts: &mut Vec<u64>) {
    let (first, others) = tokens.split_first().expect("a phrase has a token");
    starts.clear();
    starts.extend(first.positions().filter(|place| is_in(*place, columns)));
    for (offset, token) in (1..).zip(others) {
        let mut places = token.positions();
        let mut place = places.next();
        starts.retain(|start| {
            while place.is_some_and(|place| place < start + offset) {
                place = places.next();
            }
            place == Some(start + offset)
        });
    }
}

/// Returns whether a position is in one of some columns.
#[inline]
fn is_in(place: u64, columns: &[Column]) -> bool {
    // Every term is looked for in the first one.
    place < PARTS || columns.contains(&Column::Parts)
}

/// Returns how many documents FTS5 has, and how many tokens they have: the numbers of its row of averages.
fn totals(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let sql = "SELECT block FROM text_data WHERE id = 1";
    let row: Option<Vec<u8>> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    let row = row.unwrap_or_default();
    let mut numbers = Varints(&row);
    let documents = numbers.next().unwrap_or_default();
    Ok((documents, numbers.fold(0, u64::saturating_add)))
}
