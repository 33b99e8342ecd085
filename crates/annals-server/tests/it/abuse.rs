//! Ids and paths that mean harm, and a server that must not change anything.

use std::fs;

use annals_api::CancelToken;
use annals_api::rpc::Params;
use annals_engine::{Engine, Home, Roots};
use annals_proto::{ErrorCode, Method};
use annals_server::{Options, Server};
use serde_json::{Value, json};

use crate::world::{KETTLE, TEA, World};

/// What somebody might give as an id or a path to reach what he should not.
const HARM: [&str; 16] = [
    "../../../etc/passwd",
    "..",
    ".",
    "/etc/passwd",
    "secret",
    "secret.jsonl",
    "../secret",
    "-home-mia-tea/../../secret",
    "..\\..\\secret",
    "claude:../secret",
    "claude:claude:3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55",
    "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55/../x",
    "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55\0.jsonl",
    "file:///etc/passwd",
    "*",
    "",
];

const SECRET: &str = "the secret of the house";

fn params_of(method: Method) -> Value {
    json!({
        "sessionId": TEA, "title": "T", "tag": "t", "limit": 5, "after": 1, "upTo": "u1", "subscription": "s1",
        "method": method.name(),
    })
}

/// Puts a secret where a path that is not looked at closely would find it.
fn world_with_secret() -> World {
    let world = World::new();
    for path in [
        world.path().join("secret"),
        world.path().join("secret.jsonl"),
        world.projects().join("secret.jsonl"),
    ] {
        fs::write(
            path,
            format!("{{\"type\":\"user\",\"uuid\":\"u\",\"message\":{{\"content\":\"{SECRET}\"}}}}\n"),
        )
        .unwrap();
    }
    world
}

#[test]
fn no_id_and_no_path_leads_anywhere_else() {
    let world = world_with_secret();
    let before = fs::read_dir(world.path()).unwrap().count();
    for &method in Method::ALL {
        for field in ["sessionId", "agentId", "workspacePath", "cursor", "around", "upTo", "filePath"] {
            for harm in HARM {
                let mut params = params_of(method);
                if field == "around" {
                    params.as_object_mut().unwrap().remove("after");
                }
                params[field] = json!(harm);
                match world.ask(method.name(), &params) {
                    Ok(result) => assert!(!result.get().contains(SECRET), "{method:?} {params}"),
                    Err(error) => assert!(!error.message.contains(SECRET), "{method:?} {params}"),
                }
                if field == "sessionId" && !matches!(method, Method::HistoryList | Method::HistoryProjects) {
                    let refused = world.ask(method.name(), &params).is_err();
                    assert!(
                        refused
                            || matches!(
                                method,
                                Method::HistoryTrash | Method::HistoryStatus | Method::HistoryCopies
                            ),
                        "{method:?} {harm}"
                    );
                }
            }
        }
    }
    assert!(
        fs::read_dir(world.path()).unwrap().count() <= before + 1,
        "only the folder of annals itself is new"
    );
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_folders_are_not_followed() {
    let world = world_with_secret();
    let outside = world.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::copy(world.path().join("secret"), outside.join(format!("{KETTLE}.jsonl"))).unwrap();
    fs::remove_file(world.session(KETTLE)).unwrap();
    let by_file = "11111111-0000-4000-8000-000000000000";
    std::os::unix::fs::symlink(world.path().join("secret"), world.session(by_file)).unwrap();
    std::os::unix::fs::symlink(&outside, world.projects().join("-link")).unwrap();
    for id in [by_file, KETTLE] {
        for &method in Method::ALL {
            if matches!(
                method,
                Method::HistoryList
                    | Method::HistoryProjects
                    | Method::HistorySearch
                    | Method::HistoryUsage
                    | Method::HistoryInsight
                    | Method::HistoryCopies
                    | Method::HistoryTrash
                    | Method::HistoryStatus
            ) || matches!(method, Method::HistoryWatch | Method::HistoryUnwatch | Method::HistoryRestore)
            {
                continue;
            }
            let params = match method {
                Method::HistoryRename => json!({"sessionId": id, "title": "T"}),
                Method::HistoryTag => json!({"sessionId": id, "tag": "t"}),
                Method::HistoryFile => json!({"sessionId": id, "path": "/a", "version": 1}),
                _ => json!({"sessionId": id}),
            };
            assert_eq!(world.refusal(method.name(), &params), ErrorCode::Refused, "{method:?}");
        }
        assert!(world.server.subscribe(&serde_json::from_value(json!({"sessionId": id})).unwrap()).is_err());
    }
    let list = world.ask("history/list", &json!({})).unwrap();
    assert!(list.get().contains(TEA) && !list.get().contains(SECRET), "{list}");
    for params in [json!({"query": SECRET}), json!({"query": SECRET, "match": "fixed"})] {
        let found = world.get("history/search", &params);
        assert_eq!(found["hits"], json!([]), "{found}");
    }
    // Both links lead to files with the same entries.
    assert_eq!(world.get("history/copies", &json!({}))["groups"], json!([]));
    let usage = world.get("history/usage", &json!({"by": "session"}));
    assert!(!usage.to_string().contains(by_file) && !usage.to_string().contains(KETTLE), "{usage}");
    let insight = world.get("history/insight", &json!({}));
    assert!(!insight.to_string().contains(by_file) && !insight.to_string().contains(KETTLE), "{insight}");
    assert_eq!(insight["sessions"], 2, "{insight}");
    // They take no place from others either, and are in no project.
    let two = world.get("history/list", &json!({"limit": 2}));
    assert_eq!((two["sessions"].as_array().unwrap().len(), two.get("nextCursor")), (2, None));
    let projects = world.get("history/projects", &json!({}));
    let counted: Vec<_> =
        projects["projects"].as_array().unwrap().iter().map(|one| &one["sessions"]).collect();
    assert_eq!(counted, [1, 1], "{projects}");
}

#[cfg(unix)]
#[test]
fn a_fifo_is_not_a_session() {
    let world = World::new();
    let id = "22222222-0000-4000-8000-000000000000";
    let made = std::process::Command::new("mkfifo").arg(world.session(id)).status().unwrap();
    assert!(made.success());
    let readers = Method::ALL.iter().filter(|method| method.reads_one_session());
    for &method in readers.chain(&[Method::HistoryFork]) {
        let params = match method {
            Method::HistoryFile => json!({"sessionId": id, "path": "/a", "version": 1}),
            _ => json!({"sessionId": id}),
        };
        assert_eq!(world.refusal(method.name(), &params), ErrorCode::NotFound, "{method:?}");
    }
    assert!(world.server.subscribe(&serde_json::from_value(json!({"sessionId": id})).unwrap()).is_err());
}

#[test]
fn a_read_only_server_refuses_every_change() {
    let world = World::with(Options { read_only: true, ..Options::default() });
    let before = fs::read(world.session(TEA)).unwrap();
    let changes = [
        Method::HistoryRename,
        Method::HistoryTag,
        Method::HistoryArchive,
        Method::HistoryUnarchive,
        Method::HistoryFork,
        Method::HistoryDelete,
        Method::HistoryRestore,
    ];
    for &method in Method::ALL {
        let outcome = world.ask(method.name(), &params_of(method));
        let is_refused = matches!(&outcome, Err(error) if error.code == ErrorCode::Refused);
        assert_eq!(is_refused, changes.contains(&method), "{method:?}");
    }
    assert_eq!(fs::read(world.session(TEA)).unwrap(), before);
    assert_eq!(fs::read_dir(world.session(TEA).parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn errors_tell_nothing_of_what_is_in_a_session() {
    let world = World::new();
    let text = "Why is 天气 empty?";
    for params in [
        json!({"sessionId": TEA, "after": "u9"}),
        json!({"sessionId": TEA, "upTo": "nobody", "title": "T"}),
        json!({"sessionId": TEA, "cursor": "AAAA"}),
    ] {
        for &method in Method::ALL {
            if let Err(error) = world.ask(method.name(), &params) {
                assert!(!error.message.contains(text), "{method:?}: {}", error.message);
            }
        }
    }
}

#[test]
fn the_trash_gives_back_only_what_was_deleted_from_the_folders_that_are_served() {
    let world = World::new();
    let other = tempfile::tempdir().unwrap();
    fs::create_dir_all(other.path().join("projects/-p")).unwrap();
    let theirs = other.path().join(format!("projects/-p/{TEA}.jsonl"));
    fs::copy(world.session(TEA), &theirs).unwrap();
    let roots = Roots::given(vec![other.path().to_owned()]).unwrap();
    let engine = Engine::open(roots, Home::at(world.path().join("annals")));
    let elsewhere = Server::new(engine, Options::default());
    let params = Params::of(&json!({"sessionId": TEA})).unwrap();
    assert!(elsewhere.dispatch("history/delete", &params, &CancelToken::default()).is_ok());
    assert_eq!(world.get("history/trash", &json!({})), json!({"sessions": []}));
    assert_eq!(world.refusal("history/restore", &json!({"sessionId": TEA})), ErrorCode::NotFound);
    assert!(!theirs.exists());
    assert!(elsewhere.dispatch("history/restore", &params, &CancelToken::default()).is_ok());
    assert!(theirs.exists());
}
