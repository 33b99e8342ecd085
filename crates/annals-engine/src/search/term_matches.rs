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
        // Those of each phrase are in order already.
        documents.sort();
        documents.dedup();
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
        let postings = postings.collect::<rusqlite::Result<Vec<_>>>()?;
        let documents = documents_with(&postings, columns);
        #[expect(clippy::cast_precision_loss, reason = "there are not so many documents")]
        let having = documents.len() as f64;
        let idf = ((all - having + 0.5) / (having + 0.5)).ln();
        // Also if the numbers of a damaged index make no sense.
        Ok(Self { documents, idf: if idf > 0.0 { idf } else { LEAST_IDF } })
    }
}

/// Returns the documents in which tokens follow each other, with how often they do.
fn documents_with(tokens: &[Postings], columns: &[Column]) -> Vec<(i64, f64)> {
    let mut found = Vec::new();
    let Some(rarest) = tokens.iter().min_by_key(|token| token.len()) else { return found };
    let mut at = vec![0; tokens.len()];
    let mut starts = Vec::new();
    for document in (0..rarest.len()).filter_map(|index| rarest.document(index)) {
        for (token, at) in tokens.iter().zip(&mut at) {
            *at = token.seek(*at, document);
        }
        if tokens.iter().zip(&at).any(|(token, at)| token.document(*at) != Some(document)) {
            continue;
        }
        starts.clear();
        starts.extend(tokens[0].positions(at[0]).filter(|(column, _)| is_one_of(*column, columns)));
        for (offset, (token, at)) in (0..).zip(tokens.iter().zip(&at)).skip(1) {
            let mut places = token.positions(*at).peekable();
            starts.retain(|(column, start)| {
                while places.next_if(|place| *place < (*column, start + offset)).is_some() {}
                places.peek() == Some(&(*column, start + offset))
            });
        }
        if !starts.is_empty() {
            let weights = starts.iter().map(|(column, _)| WEIGHTS[usize::from(*column > 0)]);
            found.push((document, weights.sum()));
        }
    }
    found
}

/// Returns whether a number is that of one of some columns.
fn is_one_of(number: u64, columns: &[Column]) -> bool {
    let column = if number == 0 { Column::Words } else { Column::Parts };
    columns.contains(&column)
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
