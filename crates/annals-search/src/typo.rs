//! Corrections of misspelt words.

/// A word of the index that is close to a misspelt one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The word.
    pub word: String,
    /// How many typing errors lie between the two.
    pub distance: usize,
    /// How often the index has the word.
    pub count: u64,
}

/// Returns at most `limit` words that a folded word may be meant for, the best first.
///
/// Words of three to five characters may have one error, longer ones two; shorter ones are close to everything, and
/// words of scripts without blanks are pairs of characters. An error is a character too much, too few or another one, or two
/// neighbours in the wrong order. Fewer errors come first, then words with the same first character, then frequent
/// words, then the alphabet.
///
/// The time is linear in the number of words; their lengths and letters rule out nearly all of them.
///
/// ```
/// use annals_search::corrections;
///
/// let words = [("borrow", 120), ("burrow", 1), ("checker", 80), ("tomorrow", 3)];
/// let best = corrections("borow", words, 2);
/// assert_eq!(best[0].word, "borrow");
/// assert_eq!(best.len(), 1);                             // five characters: one error
/// ```
pub fn corrections<'w>(
    word: &str,
    words: impl IntoIterator<Item = (&'w str, u64)>,
    limit: usize,
) -> Vec<Correction> {
    let most = match word.chars().count() {
        _ if word.chars().any(crate::characters::is_unspaced) => return Vec::new(),
        0..=2 => return Vec::new(),
        3..=5 => 1,
        _ => 2,
    };
    let filter = Filter::new(word, most);
    let first = word.chars().next();
    let mut found: Vec<_> = words
        .into_iter()
        .filter(|(other, _)| *other != word && filter.may_be_close(other))
        .filter_map(|(other, count)| {
            let distance = distance(word, other, most)?;
            let order = (distance, other.chars().next() != first, std::cmp::Reverse(count), other);
            Some((order, Correction { word: other.to_owned(), distance, count }))
        })
        .collect();
    found.sort_by_key(|(order, _)| *order);
    found.truncate(limit);
    found.into_iter().map(|(_, correction)| correction).collect()
}

/// Rules out words that have too many errors, without comparing their characters one by one.
struct Filter {
    bytes: usize,
    letters: u64,
    most: usize,
}

impl Filter {
    fn new(word: &str, most: usize) -> Self {
        Self { bytes: word.len(), letters: letters(word), most }
    }

    fn may_be_close(&self, other: &str) -> bool {
        // An error changes at most one character, which has up to four bytes. It adds at most one letter, and takes
        // at most one away.
        other.len().abs_diff(self.bytes) <= self.most * 4 && {
            let other = letters(other);
            let (missing, added) = (self.letters & !other, other & !self.letters);
            let most = u32::try_from(self.most).unwrap_or(u32::MAX);
            missing.count_ones() <= most && added.count_ones() <= most
        }
    }
}

/// Returns a set of the characters of a word, each as one of 64 bits.
fn letters(word: &str) -> u64 {
    word.chars().fold(0, |letters, character| letters | 1 << (u32::from(character) % 64))
}

/// Returns the number of typing errors between two words, if it is at most `most`: the distance of Damerau and
/// Levenshtein in which no part is changed twice.
pub(crate) fn distance(first: &str, second: &str, most: usize) -> Option<usize> {
    let first: Vec<char> = first.chars().collect();
    let second: Vec<char> = second.chars().collect();
    if first.len().abs_diff(second.len()) > most {
        return None;
    }
    let mut before = vec![0; second.len() + 1];
    let mut last: Vec<usize> = (0..=second.len()).collect();
    let mut row = last.clone();
    for i in 1..=first.len() {
        row[0] = i;
        for j in 1..=second.len() {
            let is_other = usize::from(first[i - 1] != second[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + is_other);
            if i > 1 && j > 1 && first[i - 1] == second[j - 2] && first[i - 2] == second[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        if row.iter().all(|&errors| errors > most) {
            return None;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last.last().copied().filter(|&errors| errors <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted() {
        for (first, second, expected) in [
            ("word", "word", Some(0)),
            ("word", "wrod", Some(1)),
            ("word", "words", Some(1)),
            ("word", "wod", Some(1)),
            ("word", "ward", Some(1)),
            ("word", "wrdo", Some(2)),
            ("ca", "abc", None),
            ("größe", "grösse", Some(2)),
            ("", "ab", Some(2)),
            ("word", "", None),
        ] {
            assert_eq!(distance(first, second, 2), expected, "{first} {second}");
            assert_eq!(distance(second, first, 2), expected, "{second} {first}");
        }
    }

    #[test]
    fn the_closest_and_most_frequent_word_is_first() {
        let words =
            [("checker", 5), ("checkers", 90), ("chequer", 1), ("decker", 7), ("wrecker", 9), ("check", 900)];
        let best: Vec<_> = corrections("cheker", words, 9).into_iter().map(|found| found.word).collect();
        assert_eq!(best, ["checker", "checkers", "chequer"]);
        assert_eq!(corrections("checker", words, 1)[0].word, "checkers", "the word itself is no correction");
    }

    /// The filter is only a shortcut.
    #[test]
    fn no_close_word_is_ruled_out_unseen() {
        let words: Vec<String> = (0..7_u32.pow(5))
            .map(|number| {
                (0..5)
                    .map(|digit| {
                        ['a', 'b', 'é', '!', 'ж', 'z', '0'][(number / 7_u32.pow(digit) % 7) as usize]
                    })
                    .collect()
            })
            .collect();
        let word = "abéжz";
        let close = words.iter().filter(|other| *other != word && distance(word, other, 1).is_some()).count();
        assert_eq!(corrections(word, words.iter().map(|other| (other.as_str(), 1)), usize::MAX).len(), close);
        assert_eq!(close, 5 * 6 + 4);
    }

    #[test]
    fn short_words_and_pairs_are_not_corrected() {
        let words = [("a", 1), ("ab", 1), ("abc", 1), ("数据", 1), ("据库", 1)];
        assert!(corrections("ac", words, 9).is_empty());
        assert!(corrections("数库", words, 9).is_empty());
        assert!(corrections("", words, 9).is_empty());
    }
}
