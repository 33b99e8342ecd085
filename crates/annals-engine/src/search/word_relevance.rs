//! How well documents match one word: what FTS5's `bm25` computes, from the postings alone.
//!
//! `bm25` looks up the length of each document in a table of its own, and finds the word once more to count the documents that have
//! it. A table of FTS5's vocabulary has each place of a word, so that one pass over them gives the same numbers.

use annals_search::Term;
use rusqlite::{Connection, OptionalExtension};

/// How much a token counts in the columns `words` and `parts`.
const WEIGHTS: [f64; 2] = [1.0, 0.7];

/// The constants of FTS5's `bm25`.
const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.75;
const LEAST_IDF: f64 = 1e-6;

/// The table of all places of all words; it belongs to a connection.
pub(super) const CREATE_PLACES: &str =
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, text, instance)";

/// The documents that have a word.
pub(super) struct WordRelevance {
    /// How often each document has it, by their numbers in order; in the column `parts` it counts less.
    documents: Vec<(i64, f64)>,
    idf: f64,
    average_length: f64,
}

impl WordRelevance {
    /// Finds a term of one token.
    pub(super) fn of(connection: &Connection, term: &Term) -> rusqlite::Result<Self> {
        let mut found: Vec<(i64, f64)> = Vec::new();
        let mut statement = connection.prepare_cached("SELECT doc, col FROM temp.places WHERE term = ?1")?;
        let mut rows = statement.query([term.tokens().next()])?;
        while let Some(row) = rows.next()? {
            let is_part = row.get_ref(1)?.as_bytes()? == b"parts";
            if is_part && !term.is_looked_for_in_parts() {
                continue;
            }
            let (document, weight) = (row.get(0)?, WEIGHTS[usize::from(is_part)]);
            match found.last_mut() {
                Some((last, count)) if *last == document => *count += weight,
                _ => found.push((document, weight)),
            }
        }
        let (documents, tokens) = totals(connection)?;
        #[expect(clippy::cast_precision_loss, reason = "there are not so many documents")]
        let (all, having) = (documents as f64, found.len() as f64);
        #[expect(clippy::cast_precision_loss, reason = "there are not so many tokens")]
        let average_length = (tokens as f64 / all.max(1.0)).max(1.0);
        let idf = ((all - having + 0.5) / (having + 0.5)).ln();
        // Also if the numbers of a damaged index make no sense.
        let idf = if idf > 0.0 { idf } else { LEAST_IDF };
        Ok(Self { documents: found, idf, average_length })
    }

    /// Returns how often some of the documents have the word. Their numbers are in order.
    pub(super) fn counts_in(&self, documents: &[i64]) -> impl Iterator<Item = (i64, f64)> {
        let mut wanted = documents.iter().peekable();
        self.documents.iter().copied().filter(move |(document, _)| {
            while wanted.next_if(|wanted| *wanted < document).is_some() {}
            wanted.next_if_eq(&document).is_some()
        })
    }

    /// Returns how well a document matches that has the word so often, and so many tokens.
    pub(super) fn relevance(&self, count: f64, tokens: u32) -> f64 {
        let damping =
            SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * f64::from(tokens) / self.average_length);
        self.idf * count * (SATURATION + 1.0) / (count + damping)
    }
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

/// The numbers of SQLite that have as many bytes as they need: seven bits in each byte, the highest first, and eight in the ninth.
pub(super) struct Varints<'b>(pub(super) &'b [u8]);

impl Iterator for Varints<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mut number = 0;
        for length in 1..=9 {
            let byte = *self.0.get(length - 1)?;
            if length == 9 {
                number = number << 8 | u64::from(byte);
            } else {
                number = number << 7 | u64::from(byte & 0x7f);
            }
            if byte < 0x80 || length == 9 {
                self.0 = &self.0[length..];
                return Some(number);
            }
        }
        None
    }
}
