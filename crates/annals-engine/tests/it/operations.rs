//! What operations do when the disk works.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use annals_engine::{Fork, LiveWriter, Meta, Recording};
use annals_transcript::project::{folder_name, resolve};
use annals_transcript::write::{Agent, Options, Target};
use tempfile::TempDir;

use crate::world::{OTHER, SESSION, made, make, message, real, session, transcript, tree};

fn world() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    folder
}

#[test]
fn what_the_trash_does_not_know_is_not_overwritten() {
    let world = world();
    let folder = world.path();
    let place = folder.join("home/trash").join(SESSION);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("0"), "somebody's").unwrap();
    fs::write(place.join("manifest.json"), "{\"version\":2}").unwrap();
    let trashed = real(folder).delete(&session(folder), false).unwrap();
    assert_ne!(trashed.folder, place);
    assert_eq!(fs::read_to_string(place.join("0")).unwrap(), "somebody's");
    real(folder).restore(&trashed).unwrap();
    assert_eq!(tree(&folder.join("root")), *made());
}

#[test]
fn what_was_written_after_a_deletion_was_broken_off_joins_the_rest() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let trashed = engine.delete(&session(folder), false).unwrap();
    // As if the transcript had not been moved yet.
    let last = fs::read_dir(&trashed.folder).unwrap().count() - 2;
    fs::rename(trashed.folder.join(last.to_string()), transcript(folder, SESSION)).unwrap();
    engine.rename(&session(folder), "Later").unwrap();
    let again = engine.delete(&session(folder), true).unwrap();
    assert_eq!((&again.folder, again.title.as_deref()), (&trashed.folder, Some("Later")));
    assert_eq!(engine.trashed().len(), 1);
    engine.restore(&again).unwrap();
    let side = transcript(folder, SESSION).with_extension("");
    assert!(side.join("custom-title.json").is_file() && side.join("tool-results/x.txt").is_file());
    assert_eq!(engine.session("Later".as_ref()).unwrap().session.as_deref(), Some(SESSION));
}

#[test]
fn nothing_is_restored_over_another_file() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let trashed = engine.delete(&session(folder), false).unwrap();
    let (before, place) = (tree(&folder.join("home")), transcript(folder, SESSION));
    fs::write(&place, "another\n").unwrap();
    let error = engine.restore(&trashed).unwrap_err();
    assert!(error.is_in_the_way() && error.to_string().contains(SESSION), "{error}");
    assert_eq!(
        (tree(&folder.join("home")), fs::read_to_string(&place).unwrap()),
        (before, "another\n".into())
    );
    // What is empty, or the same, is not in the way.
    fs::remove_file(&place).unwrap();
    fs::create_dir_all(folder.join("root/tasks").join(SESSION)).unwrap();
    fs::write(folder.join("root/debug").join(format!("{SESSION}.txt")), "a log").unwrap();
    engine.restore(&trashed).unwrap();
    assert_eq!(tree(&folder.join("root")), *made());
}

#[test]
fn a_session_that_is_deleted_twice_is_in_the_trash_twice() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let first = engine.delete(&session(folder), false).unwrap();
    fs::write(transcript(folder, SESSION), message("second", None, SESSION, "")).unwrap();
    let second = engine.delete(&session(folder), true).unwrap();
    assert_eq!(engine.trashed().len(), 2);
    assert_eq!(engine.in_trash(&SESSION[..4]).unwrap().folder, second.folder);
    engine.purge(&second).unwrap();
    engine.restore(&engine.in_trash(SESSION).unwrap()).unwrap();
    assert!(!first.folder.exists());
    assert_eq!(tree(&folder.join("root")), *made());
    assert!(engine.in_trash(SESSION).unwrap_err().is_not_in_trash());
}

#[test]
fn a_title_is_found_behind_and_before_any_amount_of_text() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let path = transcript(folder, SESSION);
    let text =
        |id: u32| message(&format!("x{id}"), None, SESSION, &format!(",\"x\":\"{}\"", "x".repeat(1000)));
    let much = || (0..200).map(text).collect::<String>();
    engine.rename(&session(folder), "First").unwrap();
    fs::write(&path, fs::read_to_string(&path).unwrap() + &much()).unwrap();
    assert_eq!(engine.session("First".as_ref()).unwrap().session.as_deref(), Some(SESSION));
    engine.rename(&session(folder), "Second").unwrap();
    fs::write(&path, fs::read_to_string(&path).unwrap() + &much()).unwrap();
    assert_eq!(engine.session("Second".as_ref()).unwrap().session.as_deref(), Some(SESSION));
    assert!(engine.session("First".as_ref()).unwrap_err().is_not_found());
}

#[test]
fn sessions_are_named_at_the_same_time_and_the_list_forgets_none() {
    let world = world();
    let folder = world.path();
    let id = |number: usize| format!("{number:08}-0000-4000-8000-000000000000");
    let entries: Vec<_> = (0..8).map(|number| format!("{{\"sessionId\":\"{}\"}}", id(number))).collect();
    let index = folder.join("root/projects/-p/sessions-index.json");
    fs::write(&index, format!("{{\"entries\":[{}]}}", entries.join(","))).unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let path = transcript(folder, &id(number));
            fs::write(&path, message("m", None, &id(number), "")).unwrap();
            scope.spawn(move || {
                for turn in 0..5 {
                    let file = annals_engine::TranscriptFile::at(&path);
                    real(folder).rename(&file, &format!("{turn} of {number}")).unwrap();
                }
            });
        }
    });
    let list = fs::read_to_string(index).unwrap();
    for number in 0..8 {
        assert!(list.contains(&format!("4 of {number}")), "{list}");
    }
}

#[test]
fn the_same_name_is_given_at_the_same_time_and_stays_whole() {
    let world = world();
    let folder = world.path();
    thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for _ in 0..10 {
                    real(folder).rename(&session(folder), &number.to_string().repeat(1000)).unwrap();
                }
            });
        }
    });
    let title = fs::read(transcript(folder, SESSION).with_extension("").join("custom-title.json")).unwrap();
    let title: serde_json::Value = serde_json::from_slice(&title).unwrap();
    let title = title["customTitle"].as_str().unwrap();
    assert_eq!((title.len(), title.matches(&title[..1]).count()), (1000, 1000));
}

#[test]
fn recording_goes_on_where_the_session_lies_unless_that_is_in_doubt() {
    let world = world();
    let folder = world.path();
    let recording = |project: &Path| Recording {
        project: Some(project.to_owned()),
        session: SESSION.into(),
        agent: None,
        entrypoint: "test".into(),
        options: Options::default(),
    };
    let engine = real(folder);
    let target = engine.target(&recording(Path::new("/elsewhere"))).unwrap();
    assert_eq!(target.path(), transcript(folder, SESSION));
    // The name of a folder depends on how the system spells a path.
    let own = folder_name(&resolve(Path::new("/own")).to_string_lossy());
    for place in [&own[..], "-q"] {
        fs::create_dir_all(folder.join("root/projects").join(place)).unwrap();
        fs::copy(
            transcript(folder, SESSION),
            folder.join("root/projects").join(place).join(format!("{SESSION}.jsonl")),
        )
        .unwrap();
    }
    assert_eq!(
        engine.target(&recording(Path::new("/own"))).unwrap().folder(),
        folder.join("root/projects").join(&own)
    );
    let error = engine.target(&recording(Path::new("/elsewhere"))).unwrap_err();
    assert_eq!(error.candidates().len(), 3, "{error}");
}

#[test]
fn a_client_is_live_while_its_own_process_runs() {
    let world = world();
    let folder = world.path();
    let registry = folder.join("root/sessions");
    fs::create_dir_all(&registry).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let pid = std::process::id();
    // The largest number that a process can have is not given to any that a test meets.
    let dead = i32::MAX;
    for (name, note, live) in [
        ("1.json", format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\",\"startedAt\":{now}}}"), true),
        ("1.json", format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\"}}"), true),
        (&format!("{pid}.json"), format!("{{\"sessionId\":\"{SESSION}\",\"startedAt\":{now}}}"), true),
        ("1.json", format!("{{\"pid\":{pid},\"sessionId\":\"{OTHER}\",\"startedAt\":{now}}}"), false),
        ("1.json", format!("{{\"pid\":{dead},\"sessionId\":\"{SESSION}\",\"startedAt\":{now}}}"), false),
        ("1.json", format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\",\"startedAt\":1000000}}"), false),
        ("1.json", "not json".to_owned(), false),
        ("1.key", format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\",\"startedAt\":{now}}}"), false),
    ] {
        fs::write(registry.join(name), &note).unwrap();
        let expected = live.then_some(LiveWriter::Client { pid });
        assert_eq!(real(folder).live_writer(&session(folder)).unwrap(), expected, "{note}");
        let deleted = real(folder).delete(&session(folder), false);
        assert_eq!(deleted.as_ref().is_err_and(annals_engine::Error::is_live), live, "{note}");
        if let Ok(trashed) = deleted {
            real(folder).restore(&trashed).unwrap();
        }
        fs::remove_file(registry.join(name)).unwrap();
    }
}

#[test]
fn a_file_that_grows_is_live_and_one_that_just_stopped_is_not() {
    let world = world();
    let folder = world.path();
    let path = transcript(folder, SESSION);
    let (stop, stopped) = mpsc::channel::<()>();
    let (grow, grown) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            while stopped.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
                file.write_all(b"{}\n").unwrap();
                let _ = grow.send(());
            }
        });
        grown.recv().unwrap();
        let result = real(folder).delete(&session(folder), false);
        drop(stop);
        let error = result.unwrap_err();
        assert!(error.is_live() && error.to_string().ends_with("it is growing"), "{error}");
    });
    assert_eq!(real(folder).live_writer(&session(folder)).unwrap(), None);
}

#[test]
fn an_agent_of_whom_nothing_is_known_is_not_described() {
    let world = world();
    let folder = world.path();
    let agent = |id: &str| {
        Target::session(&folder.join("root/projects/-p"), SESSION)
            .unwrap()
            .with_agent(Agent::new(id).unwrap())
    };
    real(folder).describe_agent(&agent("new"), &Meta::default()).unwrap();
    assert_eq!(tree(&folder.join("root")), *made());
    let broken = agent("broken").sidecar().unwrap();
    fs::write(&broken, "[]").unwrap();
    let meta = Meta { tool_use_id: Some("t".into()), spawn_depth: Some(2), ..Meta::default() };
    real(folder).describe_agent(&agent("broken"), &meta).unwrap();
    assert_eq!(fs::read_to_string(broken).unwrap(), "{\"toolUseId\":\"t\",\"spawnDepth\":2}");
}

#[test]
fn a_fork_has_words_for_a_title() {
    let world = world();
    let folder = world.path();
    let fork = Fork { title: Some("  ".into()), ..Fork::default() };
    assert!(real(folder).fork(&session(folder), &fork).is_err());
    let fork = Fork { title: Some(" 茶 ".into()), ..Fork::default() };
    assert_eq!(real(folder).fork(&session(folder), &fork).unwrap().title, "茶");
}
