//! Recall: everything that a plain scan of all texts finds is found, and phrases are found nowhere else.
//!
//! The scan knows nothing about tokens: a word is a run of letters and digits, and Chinese, Japanese and Korean text is compared
//! character by character. A few queries are tested here; `cargo x recall` tests thousands.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;

use annals_search::{FtsMatch, Part, Query};
use annals_transcript::Reader;
use testkit::generate::{self, Random};

use super::document::{self, Setting};
use super::index::Index;
use super::tests::{World, update_with};
use super::{IndexOptions, TextFilter, Unfiltered};

/// The variables of the environment that `cargo x recall` sets.
const QUERIES: &str = "ANNALS_RECALL_QUERIES";
const SEED: &str = "ANNALS_RECALL_SEED";

/// A text as it is indexed.
struct IndexedText {
    text: String,
    part: Part,
    session: String,
}

/// Masks the digits of long numbers, so that masked text is searched as well.
struct LongNumbers;

impl TextFilter for LongNumbers {
    fn filter<'t>(&self, text: &'t str) -> std::borrow::Cow<'t, str> {
        let is_number = |word: &str| word.len() > 12 && word.bytes().all(|byte| byte.is_ascii_digit());
        if !text.split(|c: char| !c.is_alphanumeric()).any(is_number) {
            return Unfiltered.filter(text);
        }
        let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
        let masked = words.map(|word| {
            let end = word.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
            if is_number(&word[..end]) { format!("[masked]{}", &word[end..]) } else { word.to_owned() }
        });
        masked.collect::<String>().into()
    }

    fn fingerprint(&self) -> u64 {
        5
    }
}

/// Returns the texts of all documents, by their identities.
fn all_texts(world: &World) -> BTreeMap<i64, IndexedText> {
    let mut texts = BTreeMap::new();
    for file in world.engine().transcripts().files {
        let mut reader = Reader::new(fs::File::open(&file.path).unwrap());
        while let Some(entry) = reader.read().unwrap() {
            let Some(body) = entry.body() else { continue };
            let offset = entry.at().offset + entry.offset_of(body);
            let setting = Setting::of(&entry);
            for document in document::documents(&entry) {
                let limit = IndexOptions::default().text_limit;
                let text = document::searched_text(&document, &LongNumbers, limit).into_owned();
                let identity = document::identity(&file.path, offset, &entry, &setting, &document, &text);
                let session = file.session.clone().unwrap_or_default();
                texts.insert(identity, IndexedText { text, part: document.part, session });
            }
        }
    }
    texts
}

/// Returns whether the scan can decide what is in a text: invisible characters, accents of their own and terminal colours
/// are for the analyzer.
fn is_plain(text: &str) -> bool {
    !text.chars().any(|character| {
        matches!(character,
            '\u{1b}' | '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{3099}' | '\u{309a}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{20e3}')
    })
}

/// Returns the words of a text, in lower case: runs of letters and digits. Whatever else stands between them separates them,
/// dashes, arrows and quotation marks like commas. A pictograph is a word of its own, and so is each character of a script
/// without blanks: the words on its two sides do not follow each other.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in text.chars() {
        let stands_alone = is_cjk(character) || is_pictograph(character);
        if !character.is_alphanumeric() || stands_alone {
            words.push(String::new());
        }
        if stands_alone {
            words.push(character.to_string());
            words.push(String::new());
        } else if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}' | '\u{ac00}'..='\u{d7a3}')
}

/// Returns whether a character is in one of the blocks of Unicode that have emoji and similar signs: Miscellaneous Technical,
/// Miscellaneous Symbols, Dingbats, Miscellaneous Symbols and Arrows, and the blocks from Mahjong Tiles on.
fn is_pictograph(character: char) -> bool {
    matches!(character,
        '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// The letters and digits of a text, and between which of them a word may begin or end.
struct Letters {
    letters: String,
    /// For each byte of `letters`, and for its end.
    is_boundary: Vec<bool>,
}

impl Letters {
    /// Reads a text whose letters are ASCII or characters of scripts without blanks; `None` for others. A word begins behind
    /// something else, at a capital, and between the two kinds of letters.
    fn of(text: &str) -> Option<Self> {
        let mut found = Self { letters: String::new(), is_boundary: Vec::new() };
        let mut before = ' ';
        for character in text.chars() {
            if character.is_ascii_alphanumeric() || is_cjk(character) {
                let follows = before.is_ascii_alphanumeric() && character.is_ascii_alphanumeric();
                let is_boundary = !follows || character.is_ascii_uppercase();
                found.letters.push(character.to_ascii_lowercase());
                found.is_boundary.resize(found.letters.len(), is_boundary);
            } else if character.is_alphanumeric() {
                return None;
            }
            before = character;
        }
        found.is_boundary.push(true);
        Some(found)
    }

    /// Returns whether words follow each other, and begin and end at boundaries.
    fn have(&self, words: &[String]) -> bool {
        let joined = words.concat();
        let is_here = |start: usize| {
            let mut end = start;
            self.is_boundary[start]
                && words.iter().all(|word| {
                    end += word.len();
                    self.is_boundary[end]
                })
        };
        // Occurrences may overlap, as in `a a a`.
        let mut rest = 0;
        while let Some(found) = self.letters[rest..].find(&joined) {
            let start = rest + found;
            if is_here(start) {
                return true;
            }
            rest = start + self.letters[start..].chars().next().map_or(1, char::len_utf8);
        }
        false
    }
}

/// What the scan reads, prepared so that thousands of queries take minutes.
struct Scan<'t> {
    /// The texts that the scan can decide about, with their identities and words.
    texts: Vec<(i64, &'t IndexedText, Vec<String>)>,
    /// The numbers of the texts that have each word.
    by_word: BTreeMap<String, Vec<usize>>,
    /// The letters of all texts; `None` where the scan cannot decide.
    letters: BTreeMap<i64, Option<Letters>>,
}

impl<'t> Scan<'t> {
    fn of(all: &'t BTreeMap<i64, IndexedText>) -> Self {
        let plain = all.iter().filter(|(_, text)| is_plain(&text.text));
        let texts: Vec<_> = plain.map(|(identity, text)| (*identity, text, words(&text.text))).collect();
        let mut by_word = BTreeMap::<String, Vec<usize>>::new();
        for (number, (_, _, words)) in texts.iter().enumerate() {
            for word in words.iter().collect::<BTreeSet<_>>() {
                by_word.entry(word.clone()).or_default().push(number);
            }
        }
        let letters = |text: &IndexedText| Letters::of(&text.text).filter(|_| is_plain(&text.text));
        let letters = all.iter().map(|(identity, text)| (*identity, letters(text))).collect();
        Self { texts, by_word, letters }
    }

    /// Returns the identities of the texts that have a sample, for certain.
    fn find(&self, sample: &Sample) -> BTreeSet<i64> {
        let numbers: BTreeSet<usize> = match sample {
            Sample::Words(words) => self.by_word.get(&words[0]).into_iter().flatten().copied().collect(),
            Sample::Prefix(prefix) => {
                let words = self.by_word.range(prefix.clone()..);
                let words = words.take_while(|(word, _)| word.starts_with(prefix));
                words.flat_map(|(_, numbers)| numbers).copied().collect()
            }
            Sample::Characters(_) => (0..self.texts.len()).collect(),
        };
        let texts = numbers.into_iter().map(|number| &self.texts[number]);
        texts
            .filter(|(_, text, words)| sample.is_in(&text.text, words))
            .map(|(identity, ..)| *identity)
            .collect()
    }
}

/// A query, and what the scan looks for.
#[derive(Debug)]
enum Sample {
    /// Words that follow each other; one is a word.
    Words(Vec<String>),
    /// The beginning of a word.
    Prefix(String),
    /// Characters of scripts without blanks.
    Characters(String),
}

impl Sample {
    /// Takes a piece of a text; `None` if it has no word in the place.
    fn of(text: &str, random: &mut Random) -> Option<Self> {
        let below = |random: &mut Random, limit: usize| usize::try_from(random.below(limit as u64)).unwrap();
        let characters: Vec<char> = text.chars().take(20_000).collect();
        let start = below(random, characters.len());
        let cjk: String =
            characters[start..].iter().skip_while(|c| !is_cjk(**c)).take_while(|c| is_cjk(**c)).collect();
        if cjk.chars().nth(1).is_some() && random.below(3) > 0 {
            let length = 2 + below(random, 4);
            return Some(Self::Characters(cjk.chars().take(length).collect()));
        }
        let rest: String = characters[start..].iter().skip_while(|c| c.is_alphanumeric()).take(300).collect();
        let mut words = words(&rest);
        // The last word may be cut.
        words.pop();
        let number = 1 + below(random, 4);
        words.truncate(number);
        let is_sample =
            |word: &String| word.len() <= 60 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if words.is_empty() || !words.iter().all(is_sample) {
            return None;
        }
        if words.len() == 1 && words[0].len() > 3 && random.below(4) == 0 {
            return Some(Self::Prefix(words[0][..3].to_owned()));
        }
        Some(Self::Words(words))
    }

    fn query(&self) -> String {
        match self {
            Self::Words(words) => format!("\"{}\"", words.join(" ")),
            Self::Prefix(prefix) => format!("{prefix}*"),
            Self::Characters(characters) => format!("\"{characters}\""),
        }
    }

    /// Returns whether a text has it, for certain.
    fn is_in(&self, text: &str, words: &[String]) -> bool {
        match self {
            Self::Words(wanted) => words.windows(wanted.len()).any(|window| window == wanted),
            Self::Prefix(prefix) => {
                words.iter().any(|word| word.is_ascii() && word.len() <= 100 && word.starts_with(prefix))
            }
            Self::Characters(characters) => text.contains(characters.as_str()),
        }
    }

    /// Returns whether a text may have it: its letters follow each other, whatever stands between them, and words begin and end
    /// where words of the text or parts of them do.
    fn may_be_in(&self, text: &str, letters: Option<&Letters>) -> bool {
        match (self, letters) {
            (Self::Words(words), Some(letters)) => letters.have(words),
            (Self::Words(words), None) => folded(text).contains(&words.concat()),
            (Self::Prefix(text_of_query) | Self::Characters(text_of_query), _) => {
                folded(text).contains(text_of_query.as_str())
            }
        }
    }
}

/// Returns the letters of a text as the analyzer folds them, for texts that the scan cannot decide about.
fn folded(text: &str) -> String {
    let tokens = annals_search::Tokens::of(text);
    let letters = tokens.column(annals_search::Column::Words).map(|token| match token.kind {
        // Pairs overlap: the first character of each is the text.
        annals_search::TokenKind::Pair => token.text.chars().take(1).collect(),
        _ => token.text.to_owned(),
    });
    letters.collect()
}

fn variable(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn the_scan_knows_words_without_the_analyzer() {
    assert_eq!(
        words("Fix — a→b, “c”…修复bug ✅ done"),
        ["fix", "a", "b", "c", "修", "复", "bug", "✅", "done"]
    );
    let letters = Letters::of("getUserName 修bug a-b").unwrap();
    let has = |phrase: &str| letters.have(&phrase.split(' ').map(str::to_owned).collect::<Vec<_>>());
    for phrase in ["getusername", "get user", "user name", "bug", "bug a b"] {
        assert!(has(phrase), "{phrase}");
    }
    for phrase in ["getu", "sername", "get us er", "ug", "ba"] {
        assert!(!has(phrase), "{phrase}");
    }
    assert!(Letters::of("café").is_none());
}

#[test]
fn whatever_a_scan_finds_is_found_and_phrases_are_found_nowhere_else() {
    let number = usize::try_from(variable(QUERIES, 60)).unwrap();
    let is_full = env::var(QUERIES).is_ok();
    let world = World::new();
    let mut sources = testkit::corpora::transcripts();
    if !is_full {
        sources.retain(|path| path.starts_with(testkit::corpora::own()));
        sources.retain(|path| fs::metadata(path).unwrap().len() < 100_000);
    }
    for (number, source) in sources.iter().enumerate() {
        let session = world.path(&format!("cccccccc-0000-4000-8000-{number:012}"));
        // Transcripts are read in place; the link is removed with the folder.
        #[cfg(unix)]
        std::os::unix::fs::symlink(source, session).unwrap();
        #[cfg(not(unix))]
        drop(fs::copy(source, session).unwrap());
    }
    let generated = if is_full { 20 } else { 2 };
    for seed in 0..generated {
        let session = world.path(&format!("dddddddd-0000-4000-8000-{seed:012}"));
        generate::session(&mut fs::File::create(session).unwrap(), seed, 100_000).unwrap();
    }
    let report = update_with(&world.engine(), &LongNumbers);
    let texts = all_texts(&world);
    assert!(report.files >= sources.len() && !texts.is_empty());
    let scan = Scan::of(&texts);
    let index = Index::open(&world.engine().home().search_index()).unwrap().unwrap();
    let mut random = Random::new(variable(SEED, 1));
    let (mut tested, mut found_in_all) = (0, 0);
    let mut kinds = BTreeMap::<String, usize>::new();
    while tested < number {
        let (_, source, _) = random.pick(&scan.texts);
        let Some(sample) = Sample::of(&source.text, &mut random) else { continue };
        let Ok(query) = Query::parse(&sample.query()) else { continue };
        let FtsMatch::Rows(rows) = query.fts_match() else { continue };
        tested += 1;
        *kinds.entry(format!("{:?}", source.part)).or_default() += 1;
        let sql = "SELECT identity FROM text JOIN documents ON id = text.rowid WHERE text MATCH ?1";
        let mut statement = index.connection.prepare_cached(sql).unwrap();
        let found: BTreeSet<i64> =
            statement.query_map([rows], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        for identity in scan.find(&sample) {
            assert!(
                found.contains(&identity),
                "{sample:?} is not found in session {}",
                texts[&identity].session
            );
        }
        for identity in &found {
            let (text, letters) = (&texts[identity], scan.letters[identity].as_ref());
            assert!(sample.may_be_in(&text.text, letters), "{sample:?} is found in {}", text.session);
        }
        found_in_all += found.len();
    }
    assert!(found_in_all >= tested);
    if is_full {
        let files = sources.len() + usize::try_from(generated).unwrap();
        eprintln!("{tested} queries on {} texts of {files} transcripts: {kinds:?}", texts.len());
    }
}
