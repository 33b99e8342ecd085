use super::*;
use crate::{Home, Roots};

fn engine(folder: &Path) -> Engine {
    fs::create_dir_all(folder.join("config/projects")).unwrap();
    let roots = Roots::given(vec![folder.join("config")]).unwrap();
    Engine::open(roots, Home::at(folder.join("home")))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_980_000 + second).unwrap()
}

fn reply(id: &str, time: Timestamp) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{id}","requestId":"r{id}","timestamp":"{time}","message":{{"id":"m{id}","role":"assistant","model":"claude-opus-4-8","stop_reason":"end_turn","usage":{{"output_tokens":1000000}}}}}}"#
    ) + "\n"
}

fn transcript(folder: &Path, name: &str, lines: &str) -> PathBuf {
    let project = folder.join("config/projects/-src");
    fs::create_dir_all(&project).unwrap();
    let path = project.join(format!("{name}e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"));
    fs::write(&path, lines).unwrap();
    path
}

fn dollars(costs: &RecentCosts) -> (String, Option<String>) {
    (costs.day.to_string(), costs.window.map(|cost| cost.to_string()))
}

const ONE: &str = "25.000000";
const TWO: &str = "50.000000";

#[test]
fn the_file_says_what_was_counted() {
    let recent = Recent {
        counted_at: 120_000,
        window: Some(Window { start: 60_000, end: 99_000_000, is_estimated: true }),
        minutes: Minutes::from([(60_000, MinuteCost { nanodollars: 7, unpriced: 1 })]),
        files: vec![RecentFile { path: PathBuf::from("/天气/\"a\".jsonl"), length: 9, last: 70_000 }],
    };
    assert_eq!(Recent::parse(recent.to_json().as_bytes()), Some(recent));
    assert_eq!(Recent::parse(Recent::default().to_json().as_bytes()), Some(Recent::default()));
    for bad in ["", "{}", "[]", r#"{"version":2,"countedAt":1}"#, r#"{"version":1,"countedAt":-1}"#] {
        assert_eq!(Recent::parse(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn figures_that_are_old_or_lack_a_price_are_behind() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let path = transcript(folder.path(), "3", &reply("a", at(0)));
    assert_eq!(costs(&engine, Some(&path), 0, None, at(1)), None);
    assert!(update(&engine, at(2)).unwrap());
    let start = at(-60).as_millisecond();
    let now = costs(&engine, Some(&path), start, None, at(3)).unwrap();
    assert_eq!(
        (dollars(&now), now.is_estimated, now.is_behind),
        ((ONE.to_owned(), Some(ONE.to_owned())), true, false)
    );
    assert!(costs(&engine, Some(&path), start, None, at(200)).unwrap().is_behind);
    let tomorrow = costs(&engine, Some(&path), at(3_600).as_millisecond(), None, at(3)).unwrap();
    assert_eq!(tomorrow.day, Money::default());
    // A window whose end is known is no estimate.
    let known = costs(&engine, None, start, Some(at(60).as_millisecond()), at(3)).unwrap();
    assert_eq!((dollars(&known).1.as_deref(), known.is_estimated), (Some(ONE), false));
    fs::write(&path, [reply("a", at(0)), reply("b", at(3)).replace("opus-4-8", "unknown")].concat()).unwrap();
    let unpriced = costs(&engine, Some(&path), start, None, at(4)).unwrap();
    assert_eq!((&*unpriced.day.to_string(), unpriced.is_behind), (ONE, true));
}

#[test]
fn copies_and_transcripts_under_other_names_are_not_counted_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let path = transcript(folder.path(), "3", &reply("a", at(0)));
    assert!(update(&engine, at(2)).unwrap());
    let other = folder.path().join("link.jsonl");
    fs::copy(&path, &other).unwrap();
    let day = |path: &Path| costs(&engine, Some(path), 0, None, at(3)).unwrap().day.to_string();
    assert_eq!((&*day(&path), &*day(&other)), (ONE, ONE));
    let copied = reply("c", at(3)).replacen('{', r#"{"forkedFrom":{"sessionId":"x"},"#, 1);
    let new = transcript(folder.path(), "4", &[copied, reply("d", at(3))].concat());
    assert_eq!(day(&new), TWO);
    fs::remove_file(&new).unwrap();
    let gone = costs(&engine, Some(&new), 0, None, at(3)).unwrap();
    assert_eq!((&*gone.day.to_string(), gone.is_behind), (ONE, true));
}

#[test]
fn one_process_counts_at_most_once_a_minute() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    transcript(folder.path(), "3", &reply("a", at(0)));
    assert_eq!([0, 59, 60].map(|second| update(&engine, at(second)).unwrap()), [true, false, true]);
    let mut lock = engine.disk().open_or_create(&engine.home().recent_usage_lock()).unwrap();
    assert!(lock.try_lock().unwrap());
    assert!(!update(&engine, at(500)).unwrap(), "another process counts");
    let now = Timestamp::now();
    assert_eq!([claim_update(&engine, now), claim_update(&engine, now)], [true, false]);
    let after = |seconds| now + jiff::SignedDuration::from_secs(seconds);
    assert!(
        !claim_update(&engine, after(-2)),
        "this process looked at the clock before the other made its mark"
    );
    assert!(claim_update(&engine, after(90)));
    assert!(claim_update(&engine, after(-90)), "the clock was set back");
}

#[test]
fn a_torn_line_is_left_for_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let path = transcript(folder.path(), "3", &reply("a", at(0)));
    assert!(update(&engine, at(2)).unwrap());
    let torn = &reply("b", at(3))[..60];
    fs::write(&path, [&reply("a", at(0)), torn].concat()).unwrap();
    assert_eq!(costs(&engine, Some(&path), 0, None, at(4)).unwrap().day.to_string(), ONE);
}
