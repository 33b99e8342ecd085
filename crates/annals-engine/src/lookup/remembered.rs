//! Names as a person remembers them: a title in another case, a part of a title, words of the first prompt; and the sessions
//! that a misspelt name may mean.

use std::ffi::OsStr;

use crate::catalog::{ArchiveFilter, ListOptions, SessionRow};
use crate::engine::Engine;
use crate::error::{Candidate, Error, ErrorKind};
use crate::files::TranscriptFile;

use super::SHORTEST_PREFIX;

/// The most sessions that are suggested for a name that no session has.
const MOST_SUGGESTED: usize = 3;
/// How similar a word has to be to a word of the name, from 0 to 1.
const SIMILAR: f64 = 0.8;
/// How many words of a title or a prompt are compared with those of a name.
const MOST_WORDS: usize = 24;

/// Returns the session that a remembered name means, if `error` says that no session has exactly this name.
pub(super) fn or_remembered(
    engine: &Engine,
    selector: &OsStr,
    error: Error,
) -> Result<TranscriptFile, Error> {
    let Some(name) = selector.to_str().filter(|name| error.is_not_found() && !name.trim().is_empty()) else {
        return Err(error);
    };
    let sessions = sessions(engine);
    only_one(&sessions, &remembered(&sessions, name), name)
}

/// Returns the session whose id begins with a name, or else the one that the name means to a person who saw masked titles and prompts.
pub(super) fn by_masked_name(
    engine: &Engine,
    name: &str,
    mask: &dyn Fn(&str) -> String,
) -> Result<TranscriptFile, Error> {
    let options = ListOptions { inside: true, archived: ArchiveFilter::Include, ..ListOptions::default() };
    let mut sessions = engine.list(&options).sessions;
    let ids_count = name.len() >= SHORTEST_PREFIX;
    let named = sessions
        .iter()
        .filter(|row| ids_count && row.file.session.as_ref().is_some_and(|id| id.starts_with(name)));
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        return only_one(&sessions, &named, name);
    }
    for row in &mut sessions {
        if let Some(title) = &mut row.facts.title {
            title.text = mask(&title.text);
        }
        row.facts.first_prompt = row.facts.first_prompt.as_deref().map(mask);
    }
    only_one(&sessions, &remembered(&sessions, name), name)
}

/// Returns the only one of the sessions that a name means.
fn only_one(sessions: &[SessionRow], found: &[&SessionRow], name: &str) -> Result<TranscriptFile, Error> {
    match found {
        [] => Err(suggesting(sessions, name)),
        [row] => Ok(row.file.clone()),
        several => Err(Error::one_of(name, several.iter().map(|row| Candidate::row(row)).collect())),
    }
}

/// Adds suggestions to the error that no session has a name: those that remember it, or else those that it may be misspelt for.
pub(super) fn with_nearest(engine: &Engine, selector: &OsStr, error: Error) -> Error {
    match selector.to_str().filter(|name| error.is_not_found() && !name.trim().is_empty()) {
        Some(name) => suggesting(&sessions(engine), name),
        None => error,
    }
}

fn sessions(engine: &Engine) -> Vec<SessionRow> {
    let options = ListOptions { archived: ArchiveFilter::Include, ..ListOptions::default() };
    engine.list(&options).sessions
}

/// How well a session matches a name as a person remembers it, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchLevel {
    /// The first prompt has all words of the name.
    WordsOfPrompt,
    /// The name is a part of the title.
    PartOfTitle,
    /// The name is the title, in whichever case.
    Title,
}

impl MatchLevel {
    /// Compares a name with a title and a first prompt. The name is trimmed and in lower case.
    fn of(name: &str, title: Option<&str>, prompt: Option<&str>) -> Option<Self> {
        let title = title.map(|title| title.trim().to_lowercase());
        match title {
            Some(title) if title == name => return Some(MatchLevel::Title),
            Some(title) if title.contains(name) => return Some(MatchLevel::PartOfTitle),
            _ => {}
        }
        let prompt = prompt?.to_lowercase();
        name.split_whitespace().all(|word| prompt.contains(word)).then_some(MatchLevel::WordsOfPrompt)
    }

    fn of_row(name: &str, row: &SessionRow) -> Option<Self> {
        let title = row.facts.title.as_ref().map(|title| title.text.as_str());
        Self::of(name, title, row.facts.first_prompt.as_deref())
    }
}

/// Returns the sessions that a remembered name may mean, most recent first: those that match it best.
fn remembered<'a>(sessions: &'a [SessionRow], name: &str) -> Vec<&'a SessionRow> {
    let name = name.trim().to_lowercase();
    let levels: Vec<_> = sessions.iter().map(|row| MatchLevel::of_row(&name, row)).collect();
    let best = levels.iter().flatten().max();
    let rows = sessions.iter().zip(&levels).filter(|(_, level)| level.is_some() && level.as_ref() == best);
    rows.map(|(row, _)| row).collect()
}

/// Creates the error that no session has a name, with the sessions that it may mean.
fn suggesting(sessions: &[SessionRow], name: &str) -> Error {
    let mut found = remembered(sessions, name);
    if found.is_empty() {
        found = similar(sessions, name);
    }
    let nearest = found.into_iter().take(MOST_SUGGESTED).map(Candidate::row).collect();
    Error::new(ErrorKind::NotFound { selector: name.to_owned(), nearest })
}

/// Returns the sessions whose id, title or first prompt is similar to a name, the most similar first.
fn similar<'a>(sessions: &'a [SessionRow], name: &str) -> Vec<&'a SessionRow> {
    let name = name.trim().to_lowercase();
    let words: Vec<_> = name.split_whitespace().take(MOST_WORDS).collect();
    let mut scored: Vec<(f64, &SessionRow)> = sessions
        .iter()
        .map(|row| (similarity_of_id(row, &name).max(similarity_of_words(row, &words)), row))
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    // The sort is stable, so equals stay in the order of the list: most recent first.
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    scored.into_iter().map(|(_, row)| row).collect()
}

/// Returns 1 if the beginning of the id differs from the name in at most one character, added, missing or exchanged; for a name that
/// is too short for this, if the id begins with it.
fn similarity_of_id(row: &SessionRow, name: &str) -> f64 {
    let Some(id) = row.file.session.as_deref() else { return 0.0 };
    if name.len() < SHORTEST_PREFIX {
        return if id.starts_with(name) { 1.0 } else { 0.0 };
    }
    let lengths = name.len() - 1..=name.len() + 1;
    let beginnings = lengths.filter_map(|length| id.get(..length));
    if beginnings.map(|beginning| strsim::osa_distance(beginning, name)).any(|edits| edits <= 1) {
        1.0
    } else {
        0.0
    }
}

/// Returns the mean over the words of a name of how similar the most similar word of the session is.
fn similarity_of_words(row: &SessionRow, words: &[&str]) -> f64 {
    let facts = &row.facts;
    let title = facts.title.as_ref().map(|title| title.text.to_lowercase()).unwrap_or_default();
    let prompt = facts.first_prompt.as_ref().map(|prompt| prompt.to_lowercase()).unwrap_or_default();
    let own: Vec<_> =
        [&title, &prompt].into_iter().flat_map(|text| text.split_whitespace().take(MOST_WORDS)).collect();
    let best =
        words.iter().map(|word| own.iter().map(|own| strsim::jaro_winkler(own, word)).fold(0.0, f64::max));
    #[expect(clippy::cast_precision_loss, reason = "there are few words")]
    let count = words.len().max(1) as f64;
    best.sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::MatchLevel;
    use testkit::command::Home as Scratch;

    use crate::{Engine, Home, Roots};

    const IDS: [&str; 4] = [
        "11111111-93c1-4d41-9f0c-2a6f0f9f7a55",
        "22222222-93c1-4d41-9f0c-2a6f0f9f7a55",
        "33333333-93c1-4d41-9f0c-2a6f0f9f7a55",
        "a1b2c3d4-93c1-4d41-9f0c-2a6f0f9f7a55",
    ];

    /// Four sessions: their titles, or none, and their first prompts.
    fn scratch() -> (Scratch, Engine) {
        let home = Scratch::new();
        let sessions = [
            ("Tea Timer", "Boil the water"),
            ("Größe der TEA cups", "Measure"),
            ("", "修复 天气 预报 please"),
            ("", "Rename the barometer crate"),
        ];
        for (day, (id, (title, prompt))) in IDS.iter().zip(sessions).enumerate() {
            let prompt = format!(
                r#"{{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-0{}T10:00:00.000Z","message":{{"role":"user","content":"{prompt}"}}}}"#,
                day + 1
            );
            let title = if title.is_empty() {
                String::new()
            } else {
                format!("\n{{\"type\":\"custom-title\",\"customTitle\":\"{title}\"}}")
            };
            home.write(format!("projects/-src/{id}.jsonl"), format!("{prompt}{title}\n"));
        }
        let roots = Roots::given(vec![home.path().into()]).unwrap();
        let engine = Engine::open(roots, Home::at(home.path().join("annals")));
        (home, engine)
    }

    /// Returns the first digit of the id of the session that a name means for a command that reads.
    fn found(engine: &Engine, name: &str) -> Option<String> {
        engine.session_to_read(name.as_ref()).ok().map(|file| file.session.unwrap()[..1].to_owned())
    }

    #[test]
    fn a_title_matches_better_than_its_part_and_its_part_better_than_a_prompt() {
        let levels = [
            ("tea timer", Some(MatchLevel::Title)),
            ("timer", Some(MatchLevel::PartOfTitle)),
            ("water boil", Some(MatchLevel::WordsOfPrompt)),
            ("timer water", None),
            ("coffee", None),
        ];
        for (name, level) in levels {
            assert_eq!(MatchLevel::of(name, Some(" Tea Timer "), Some("Boil the Water")), level, "{name}");
        }
        assert_eq!(MatchLevel::of("tea", None, None), None);
        assert!(MatchLevel::Title > MatchLevel::PartOfTitle);
        assert!(MatchLevel::PartOfTitle > MatchLevel::WordsOfPrompt);
    }

    #[test]
    fn a_half_remembered_name_is_enough_for_reading() {
        let (_home, engine) = scratch();
        for (name, expected) in [
            ("tea timer", Some("1")),
            ("TIMER", Some("1")),
            ("GRÖSSE", None),
            ("größe", Some("2")),
            ("GRÖẞE", Some("2")),
            ("water boil", Some("1")),
            ("天气", Some("3")),
            ("预报 修复", Some("3")),
            ("1111", Some("1")),
            ("tea", None),
            ("coffee", None),
            (" ", None),
        ] {
            assert_eq!(found(&engine, name).as_deref(), expected, "{name}");
            assert_eq!(engine.transcript(name.as_ref()).is_ok(), expected.is_some(), "{name}");
        }
        let both = engine.session_to_read("tea".as_ref()).unwrap_err();
        let titles: Vec<_> = both.candidates().iter().map(|one| one.title.as_deref().unwrap()).collect();
        assert_eq!(titles, ["Größe der TEA cups", "Tea Timer"]);
        assert_eq!(both.candidates()[0].project.as_deref(), Some("/src"));
    }

    #[test]
    fn a_command_that_changes_a_session_gets_suggestions_and_no_guess() {
        let (_home, engine) = scratch();
        for name in ["tea timer", "TIMER", "天气", "water"] {
            for error in [
                engine.session_to_change(name.as_ref()).unwrap_err(),
                engine.session_to_record(Some(name.as_ref())).unwrap_err(),
            ] {
                assert!(error.is_not_found() && error.nearest().len() == 1, "{name}: {:?}", error.nearest());
            }
        }
        assert!(engine.session_to_change("Tea Timer".as_ref()).is_ok());
        assert!(engine.session_to_change("1111".as_ref()).is_ok());
    }

    #[test]
    fn the_beginning_of_an_id_that_is_a_title_changes_nothing() {
        let (home, engine) = scratch();
        let title = |id: &str, title: &str| {
            let line = format!("{{\"type\":\"custom-title\",\"customTitle\":\"{title}\"}}\n");
            let path = home.path().join(format!("projects/-src/{id}.jsonl"));
            std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + &line).unwrap();
        };
        title(IDS[2], "1111");
        for error in [
            engine.session_to_change("1111".as_ref()).unwrap_err(),
            engine.session_to_record(Some("1111".as_ref())).unwrap_err(),
        ] {
            let mut both: Vec<_> = error.candidates().iter().map(|one| one.session.as_str()).collect();
            both.sort_unstable();
            assert_eq!(both, [IDS[0], IDS[2]]);
        }
        // A longer beginning, an id and a command that only reads are clear.
        assert!(engine.session_to_change("11111".as_ref()).is_ok());
        title(IDS[2], IDS[0]);
        let named = engine.session_to_change(IDS[0].as_ref()).unwrap();
        assert_eq!(named.session.as_deref(), Some(IDS[0]));
        title(IDS[0], "1111");
        assert!(engine.session_to_change("1111".as_ref()).is_ok(), "both mean one session");
        assert_eq!(found(&engine, "1111").as_deref(), Some("1"));
    }

    #[test]
    fn a_misspelt_name_gets_suggestions() {
        let (_home, engine) = scratch();
        let nearest = |name: &str| {
            let error = engine.session_to_read(name.as_ref()).unwrap_err();
            error.nearest().iter().map(|near| near.session[..1].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(nearest("tea timr"), ["1"]);
        assert_eq!(nearest("barometr"), ["a"]);
        assert_eq!(nearest("a1b3c3"), ["a"]);
        // What is too short to name a session is enough for a suggestion.
        assert_eq!(nearest("a1"), ["a"]);
        assert_eq!(nearest("A1B"), ["a"]);
        assert_eq!(nearest("b1"), [""; 0]);
        assert_eq!(nearest("quarterly report"), [""; 0]);
    }
}
