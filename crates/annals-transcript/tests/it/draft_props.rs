//! Any drafts are refused, or recorded as given.

use std::collections::HashSet;

use annals_transcript::write::{Draft, Options, Recorder, Sync};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::props::json;
use crate::recorder::{envelope, options, target};

const TYPES: [&str; 10] = [
    "user",
    "user",
    "assistant",
    "assistant",
    "system",
    "attachment",
    "progress",
    "custom-title",
    "last-prompt",
    "never-seen",
];
const IDS: [&str; 4] = ["a", "b", "c", "d"];

/// Fields that the recorder decides.
const DECIDED: [&str; 4] = ["parentUuid", "isSidechain", "agentId", "sessionId"];

/// Objects that are sound drafts more often than chance would have it.
fn draft() -> impl Strategy<Value = Map<String, Value>> {
    let id = || proptest::sample::select(IDS.to_vec());
    let message = prop_oneof![
        8 => any::<String>().prop_map(|text| json!({"content": text})),
        1 => Just(json!({"content": [{"type": "text", "text": "x"}]})),
        1 => json(),
    ];
    let parent = prop_oneof![3 => id().prop_map(Value::from), 1 => Just(Value::Null), 1 => json()];
    let fields = (
        proptest::sample::select(TYPES.to_vec()),
        message,
        proptest::option::of(prop_oneof![9 => id().prop_map(Value::from), 1 => json()]),
        proptest::option::of(parent),
        proptest::collection::btree_map("[a-z\"\\\\é ]{0,4}", json(), 0..3),
        proptest::option::weighted(0.1, json()),
    );
    fields.prop_map(|(kind, message, id, parent, more, odd)| {
        let mut draft: Map<_, _> = more.into_iter().collect();
        draft.insert("type".into(), kind.into());
        draft.insert("message".into(), message);
        draft.insert("subtype".into(), "informational".into());
        draft.insert("attachment".into(), json!({"type": "file"}));
        draft.extend(id.map(|id| ("uuid".into(), id)));
        draft.extend(parent.map(|parent| ("parentUuid".into(), parent)));
        draft.extend(odd.map(|odd| ("isSidechain".into(), odd)));
        draft
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn drafts_are_refused_or_come_back_as_given(drafts in proptest::collection::vec((draft(), any::<bool>()), 0..12)) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { sync: Sync::Never, ..options() };
        let mut recorder = Recorder::builder(target(folder.path())).envelope(envelope()).options(options).open().unwrap();
        let mut taken = Vec::new();
        for (fields, flush) in drafts {
            let Ok(draft) = Draft::parse(Value::from(fields.clone()).to_string().as_bytes()) else { continue };
            if recorder.append(vec![draft]).is_ok_and(|told| told.written == 1) {
                taken.push(fields);
            }
            if flush {
                recorder.flush().unwrap();
            }
        }
        recorder.flush().unwrap();
        let text = std::fs::read_to_string(target(folder.path()).path()).unwrap_or_default();
        let speaks = taken.iter().any(|draft| draft["type"] == "user" || draft["type"] == "assistant");
        prop_assert_eq!(recorder.waiting(), if speaks { 0 } else { taken.len() });
        prop_assert_eq!(text.is_empty(), !speaks);
        if !speaks {
            return Ok(());
        }
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // Lines of the recorder's own make an earlier `last-prompt` void.
        let own = |line: &&Value| line["type"] == "last-prompt" && line["explicit"] == true;
        let recorded: Vec<_> = lines.iter().filter(|line| !own(line)).collect();
        prop_assert_eq!(recorded.len(), taken.len());
        let mut ids = HashSet::new();
        for (line, draft) in recorded.into_iter().zip(&taken) {
            for (key, value) in draft.iter().filter(|(key, _)| !DECIDED.contains(&key.as_str())) {
                prop_assert_eq!(line.get(key), Some(value), "{}", key);
            }
            let linked = !["custom-title", "last-prompt", "never-seen"].contains(&line["type"].as_str().unwrap());
            if linked && let Some(parent) = line["parentUuid"].as_str() {
                prop_assert!(ids.contains(parent), "{} hangs on what comes later or nowhere", line);
            }
            prop_assert!(!linked || line["uuid"].is_string());
            if let Some(id) = line["uuid"].as_str() {
                prop_assert!(ids.insert(id.to_owned()), "{} is there twice", id);
            }
        }
        let again = Recorder::builder(target(folder.path())).envelope(envelope()).options(self::options()).open().unwrap();
        prop_assert!(again.last().is_some_and(|last| ids.contains(last)));
    }
}

fn accepts(time: &str) -> bool {
    let draft = json!({"type": "user", "timestamp": time, "message": {"content": "x"}});
    Draft::parse(draft.to_string().as_bytes()).is_ok()
}

#[test]
fn times_are_spelled_so_that_the_client_reads_them() {
    for time in ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456Z", "2026-01-31T12:00:00.5+05:30"] {
        assert!(accepts(time), "{time}");
    }
    for time in [
        "",
        "2026-01-31",
        "2026-01-31T12:00Z",
        "20260131T120000Z",
        "2026-01-31 12:00:00Z",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00+05",
        "2026-01-31T12:00:00Z[UTC]",
        "2026-02-30T12:00:00Z",
        "2026-01-31T12:00:0éZ",
    ] {
        assert!(!accepts(time), "{time}");
    }
}
