//! Every operation, with every step of it failing in every way: each file of the session is in one of its places with
//! its bytes, other sessions are untouched, and doing the same again finishes the work.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_engine::{Engine, ForkOptions, HydrateOptions, Meta, RepairOptions, TrashEntry, Undone};
use annals_transcript::write::fs::Disk;
use annals_transcript::write::{Agent, Target};
use testkit::faults::{Fault, FaultyDisk, TwoDevices, every_fault, every_moment};

use crate::world::{
    FIRST, OTHER, SECOND, SESSION, Tree, belongings, engine, made, make, real, session, transcript, tree,
};

/// Makes sure that no file of the session is lost or cut, that only so many are there twice, and that all other files are
/// as they were.
fn nothing_is_lost(folder: &Path, copies: usize, context: &str) {
    let all = tree(folder);
    let mut twice = 0;
    for (path, content) in belongings() {
        let found = all.values().filter(|there| there.as_ref() == Some(&content)).count();
        assert!(found >= 1, "{context}: {path} is gone: {all:#?}");
        twice += found - 1;
    }
    assert!(twice <= copies, "{context}: {all:#?}");
    others_are_untouched(folder, context);
}

fn others_are_untouched(folder: &Path, context: &str) {
    let (now, before) = (tree(&folder.join("root")), made());
    let is_other = |path: &Path| path.to_string_lossy().contains(OTHER) || path.ends_with("history.jsonl");
    for (path, content) in before.iter().filter(|(path, _)| is_other(path)) {
        assert_eq!(now.get(path), Some(content), "{context}: {}", path.display());
    }
    let index = fs::read_to_string(folder.join("root/projects/-p/sessions-index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).expect("the list is whole");
    assert_eq!(index["entries"][0]["sessionId"], OTHER, "{context}");
}

fn root(folder: &Path) -> Tree {
    tree(&folder.join("root"))
}

fn trash_is_empty(folder: &Path) -> bool {
    let trash = folder.join("home/trash");
    !trash.exists() || fs::read_dir(trash).unwrap().count() == 0
}

/// Returns a disk on which nothing fails.
fn sound() -> Arc<dyn Disk> {
    Arc::new(FaultyDisk::sound())
}

/// Takes a disk as it is.
fn one_device(disk: Arc<dyn Disk>, _: &Path) -> Arc<dyn Disk> {
    disk
}

/// Takes a disk for one on which the trash lies on another device.
fn two_devices(disk: Arc<dyn Disk>, folder: &Path) -> Arc<dyn Disk> {
    Arc::new(TwoDevices { disk, folder: folder.join("home") })
}

type Devices = fn(Arc<dyn Disk>, &Path) -> Arc<dyn Disk>;
/// With how many files there may be twice: those of one item, which is copied as a whole before the original is removed.
const DEVICES: [(Devices, usize); 2] = [(one_device, 0), (two_devices, 3)];

fn deleted(folder: &Path) {
    make(folder);
    real(folder).delete(&session(folder), false).unwrap();
}

#[test]
fn deleting_survives_any_fault_and_is_finished_by_deleting_again() {
    for (devices, copies) in DEVICES {
        let delete = |disk, folder: &Path| {
            engine(folder, devices(disk, folder)).delete(&session(folder), false).map_err(|e| e.to_string())
        };
        let faults = every_fault(make, delete, |folder, fault, result| {
            let context = format!("{fault:?}: {result:?}");
            nothing_is_lost(folder, copies, &context);
            let unfinished =
                real(folder).finish_interrupted(SESSION).expect("what was interrupted is finished");
            if transcript(folder, SESSION).exists() {
                delete(sound(), folder).expect("it is finished");
            }
            assert!(result.is_err() || !unfinished, "{context}");
            let left: Vec<_> =
                root(folder).into_keys().filter(|p| p.to_string_lossy().contains(SESSION)).collect();
            assert!(left.is_empty(), "{context}: {left:?}");
            assert!(!root(folder).values().flatten().any(|content| content.contains(SESSION)), "{context}");
            let [trashed] = &real(folder).trash_entries()[..] else { panic!("{context}") };
            real(folder).restore(trashed).expect("it comes back");
            assert_eq!(root(folder), *made(), "{context}");
            assert!(trash_is_empty(folder), "{context}");
        });
        assert!(faults > 50, "{faults}");
    }
}

#[test]
fn a_deletion_that_was_broken_off_is_undone_by_restoring() {
    for (devices, _) in DEVICES {
        let delete = |disk, folder: &Path| {
            engine(folder, devices(disk, folder)).delete(&session(folder), false).is_ok()
        };
        every_fault(make, delete, |folder, fault, _| {
            if let [trashed] = &real(folder).trash_entries()[..] {
                engine(folder, devices(sound(), folder)).restore(trashed).expect("it comes back");
            }
            let mut now = root(folder);
            // The list that was being written when everything stopped is overwritten by the next who writes it.
            now.remove(Path::new("projects/-p/.sessions-index.json.annals"));
            assert_eq!(now, *made(), "{fault:?}");
        });
    }
}

#[test]
fn restoring_survives_any_fault_and_is_finished_by_restoring_again() {
    for (devices, copies) in DEVICES {
        let restore = |disk, folder: &Path| {
            let engine = engine(folder, devices(disk, folder));
            let trashed = engine.trash_entries();
            engine.restore(&trashed[0]).map_err(|error| error.to_string())
        };
        let faults = every_fault(deleted, restore, |folder, fault, result| {
            let context = format!("{fault:?}: {result:?}");
            nothing_is_lost(folder, copies, &context);
            if !real(folder).trash_entries().is_empty() {
                restore(sound(), folder).expect("it is finished");
            }
            assert_eq!(root(folder), *made(), "{context}");
        });
        assert!(faults > 50, "{faults}");
    }
}

/// Appends a line to a transcript as the client does: it makes the file, but not its folder.
fn append_line(path: &Path) {
    if let Ok(mut file) = fs::File::options().append(true).create(true).open(path) {
        file.write_all(b"{\"type\":\"tag\",\"tag\":\"meanwhile\"}\n").unwrap();
    } else {
        assert!(!path.parent().unwrap().is_dir());
    }
}

fn append_to_session(folder: &Path) {
    append_line(&transcript(folder, SESSION));
}

fn append_to_agent(folder: &Path) {
    let agents = transcript(folder, SESSION).with_extension("").join("subagents/workflows/wf_1");
    append_line(&agents.join("agent-a1.jsonl"));
}

#[test]
fn what_is_appended_at_any_moment_of_a_deletion_is_kept() {
    for (devices, _) in DEVICES {
        // The folder of an agent is gone when it is in the trash; nothing is appended then.
        for (meanwhile, may_be_late) in [(append_to_session as fn(&Path), false), (append_to_agent, true)] {
            let delete = |disk, folder: &Path| {
                engine(folder, devices(disk, folder))
                    .delete(&session(folder), true)
                    .map_err(|e| e.to_string())
            };
            let kept = Cell::new(0);
            let moments = every_moment(make, delete, meanwhile, |folder, moment, result| {
                let texts = tree(folder).into_values().flatten();
                let lines: usize = texts.map(|text| text.matches("meanwhile").count()).sum();
                let context = format!("{moment}: {result:?}: {lines} lines");
                assert!(lines == 1 || lines == 0 && may_be_late && result.is_ok(), "{context}");
                kept.set(kept.get() + lines);
                nothing_else_is_lost(folder, &context);
            });
            assert!(moments > 20 && kept.get() > 15, "{moments}, {}", kept.get());
        }
    }
}

#[test]
fn what_appears_at_any_moment_of_restoring_is_kept_and_leaves_nothing_unfinished() {
    for (devices, _) in DEVICES {
        let restore = |disk, folder: &Path| {
            let engine = engine(folder, devices(disk, folder));
            engine.restore(&engine.trash_entries()[0]).map_err(|error| error.to_string())
        };
        let moments = every_moment(deleted, restore, append_to_session, |folder, moment, result| {
            let context = format!("{moment}: {result:?}");
            let texts: Vec<_> = tree(folder).into_values().flatten().collect();
            assert_eq!(texts.iter().filter(|text| text.contains("meanwhile")).count(), 1, "{context}");
            nothing_else_is_lost(folder, &context);
            assert!(!real(folder).trash_entries().iter().any(|trashed| trashed.is_unfinished), "{context}");
        });
        assert!(moments > 20, "{moments}");
    }
}

/// Makes sure that every file of the session is there, whatever was appended to it.
fn nothing_else_is_lost(folder: &Path, context: &str) {
    let all = tree(folder);
    for (path, content) in belongings() {
        let is_there = all.values().flatten().any(|there| there.starts_with(&content));
        assert!(is_there, "{context}: {path} is gone: {all:#?}");
    }
}

/// Replaces the transcript of the session by a log.
fn hydrate_session(engine: &Engine, folder: &Path) -> Result<Option<TrashEntry>, annals_engine::Error> {
    let target = Target::session(&folder.join("root/projects/-p"), SESSION).unwrap();
    let log = [Ok(b"{\"type\":\"user\",\"uuid\":\"new\"}".to_vec())];
    let options = HydrateOptions { force: true, ..HydrateOptions::default() };
    Ok(engine.hydrate(&target, log, options)?.replaced)
}

fn hydrated(folder: &Path) {
    make(folder);
    hydrate_session(&real(folder), folder).unwrap();
    // Another operation has removed the session from the index, which cannot be written.
    let index = folder.join("root/projects/-p/sessions-index.json");
    fs::write(index, format!("{{\"entries\":[{{\"sessionId\":\"{OTHER}\"}}]}}")).unwrap();
    fs::create_dir(folder.join("root/projects/-p/.sessions-index.json.annals")).unwrap();
}

fn swap_back(engine: &Engine, _folder: &Path) -> Result<Option<TrashEntry>, annals_engine::Error> {
    engine.restore_over(&engine.trash_entries()[0], true)
}

#[test]
fn a_line_that_is_appended_at_any_moment_of_replacing_is_kept() {
    type Replace = fn(&Engine, &Path) -> Result<Option<TrashEntry>, annals_engine::Error>;
    for (devices, _) in DEVICES {
        for (set_up, replace) in [(make as fn(&Path), hydrate_session as Replace), (hydrated, swap_back)] {
            let act = |disk, folder: &Path| {
                replace(&engine(folder, devices(disk, folder)), folder).map_err(|error| error.to_string())
            };
            let moments = every_moment(set_up, act, append_to_session, |folder, moment, result| {
                let context = format!("{moment}: {result:?}");
                let texts = tree(folder).into_values().flatten();
                assert!(texts.filter(|text| text.contains("meanwhile")).count() >= 1, "{context}");
            });
            assert!(moments > 10, "{moments}");
        }
    }
}

#[test]
fn replacing_from_a_log_survives_any_fault_and_keeps_what_it_replaces() {
    let old = belongings().pop().unwrap().1;
    let new = "{\"type\":\"user\",\"uuid\":\"new\"}\n";
    for (devices, _) in DEVICES {
        let hydrate = |disk, folder: &Path| {
            let target = Target::session(&folder.join("root/projects/-p"), SESSION).unwrap();
            let log = [Ok(new.trim_end().as_bytes().to_vec())];
            let engine = engine(folder, devices(disk, folder));
            engine
                .hydrate(&target, log, HydrateOptions { force: true, ..HydrateOptions::default() })
                .map_err(|error| error.to_string())
        };
        let faults = every_fault(make, hydrate, |folder, fault, result| {
            let context = format!("{fault:?}: {result:?}");
            let there = fs::read_to_string(transcript(folder, SESSION)).unwrap();
            assert!(there == new || there == old && result.is_err(), "{context}: {there}");
            nothing_is_lost(folder, 1, &context);
            hydrate(sound(), folder).expect("it can be done again");
            let engine = real(folder);
            engine.delete(&session(folder), true).unwrap();
            let entries: Vec<_> =
                engine.trash_entries().into_iter().rev().map(|trashed| trashed.entry).collect();
            // The oldest is what was there at first.
            engine.restore(&engine.in_trash(SESSION, Some(&entries[0])).unwrap()).unwrap();
            assert_eq!(fs::read_to_string(transcript(folder, SESSION)).unwrap(), old, "{context}");
        });
        assert!(faults > 50, "{faults}");
    }
}

#[test]
fn swapping_a_replaced_transcript_back_survives_any_fault() {
    let old = belongings().pop().unwrap().1;
    let new = "{\"type\":\"user\",\"uuid\":\"new\"}\n";
    let replaced = |folder: &Path| {
        make(folder);
        let target = Target::session(&folder.join("root/projects/-p"), SESSION).unwrap();
        let log = [Ok(new.trim_end().as_bytes().to_vec())];
        let options = HydrateOptions { force: true, ..HydrateOptions::default() };
        real(folder).hydrate(&target, log, options).unwrap();
    };
    for (devices, _) in DEVICES {
        let swap = |disk, folder: &Path| {
            let engine = engine(folder, devices(disk, folder));
            let oldest = engine.trash_entries().pop().unwrap();
            engine.restore_over(&oldest, true).map_err(|error| error.to_string())
        };
        let faults = every_fault(replaced, swap, |folder, fault, result| {
            let context = format!("{fault:?}: {result:?}");
            let there = fs::read_to_string(transcript(folder, SESSION)).unwrap();
            assert!(there == old || there == new && result.is_err(), "{context}: {there}");
            assert!(result.is_err() || result.as_ref().is_ok_and(Option::is_some), "{context}");
            // The side files of the session were never moved, and both transcripts are somewhere.
            nothing_is_lost(folder, 1, &context);
            let is_kept = tree(folder).values().flatten().any(|content| content == new);
            assert!(is_kept, "{context}: the new transcript is gone");
        });
        assert!(faults > 30, "{faults}");
    }
}

#[test]
fn removing_for_good_survives_any_fault_and_nothing_half_removed_comes_back() {
    let purge = |disk, folder: &Path| {
        let engine = engine(folder, disk);
        let trashed = engine.trash_entries();
        engine.purge(&trashed[0]).is_ok()
    };
    let faults = every_fault(deleted, purge, |folder, fault, _| {
        others_are_untouched(folder, &format!("{fault:?}"));
        let engine = real(folder);
        if let [trashed] = &engine.trash_entries()[..] {
            match engine.restore(trashed) {
                Ok(_) => assert_eq!(root(folder), *made(), "{fault:?}"),
                Err(error) => panic!("{fault:?}: {error}"),
            }
        }
        assert!(engine.trash_entries().is_empty(), "{fault:?}");
        // The next operation removes what is left.
        let _ = engine.delete(&session(folder), false);
        let left = tree(&folder.join("home/trash"));
        assert!(!left.keys().any(|path| path.to_string_lossy().contains("purging")), "{fault:?}: {left:?}");
    });
    assert!(faults > 50, "{faults}");
}

#[test]
fn forking_survives_any_fault_and_leaves_the_original_alone() {
    let wish = ForkOptions { title: Some("Copy".into()), with_side_files: true, ..ForkOptions::default() };
    let fork =
        |disk, folder: &Path| engine(folder, disk).fork(&session(folder), &wish).map_err(|e| e.to_string());
    let whole = |folder: &Path, id: &str, context: &str| {
        let text = fs::read_to_string(transcript(folder, id)).unwrap();
        assert_eq!(text.lines().count(), 3, "{context}: {text}");
        let side = transcript(folder, id).with_extension("");
        for place in
            ["subagents/workflows/wf_1/agent-a1.jsonl", "subagents/agent-old.jsonl", "tool-results/x.txt"]
        {
            assert!(side.join(place).is_file(), "{context}: {place}");
        }
        assert!(folder.join("root/file-history").join(id).is_dir(), "{context}");
        assert_eq!(
            fs::read_to_string(side.join("custom-title.json")).unwrap(),
            "{\"customTitle\":\"Copy\"}",
            "{context}"
        );
        let list = fs::read_to_string(folder.join("root").join(LIST)).unwrap();
        assert_eq!(list.matches(&format!("\"sessionId\":\"{id}\"")).count(), 1, "{context}: {list}");
    };
    let faults = every_fault(make, fork, |folder, fault, result| {
        let context = format!("{fault:?}: {result:?}");
        let (mut now, before) = (root(folder), made());
        if let Ok(forked) = result {
            whole(folder, &forked.session, &context);
            // The list has one more entry, and is the same otherwise.
            let listed = now.get_mut(Path::new(LIST)).unwrap().as_mut().unwrap();
            let added = listed.find(&format!(",{{\"sessionId\":\"{}\"", forked.session)).unwrap();
            let end = listed.rfind("]}").unwrap();
            listed.replace_range(added..end, "");
        } else {
            let is_main = |path: &&PathBuf| {
                path.parent() == Some(Path::new("projects/-p"))
                    && path.extension().is_some_and(|e| e == "jsonl")
            };
            // When nothing works any more, what was begun cannot be taken back.
            let stopped = matches!(fault, Fault::ForGood | Fault::Crash | Fault::CrashMidway);
            assert!(now.keys().filter(is_main).count() <= 3 + usize::from(stopped), "{context}");
            assert!(stopped || now == *before, "{context}: {now:#?}");
            let forked = fork(sound(), folder).expect("it can be done again");
            whole(folder, &forked.session, &context);
        }
        now.retain(|path, _| before.contains_key(path));
        assert_eq!(now, *before, "{context}");
    });
    assert!(faults > 50, "{faults}");
}

/// The list of sessions that clients of one version kept.
const LIST: &str = "projects/-p/sessions-index.json";

#[test]
fn renaming_survives_any_fault_and_is_finished_by_renaming_again() {
    let before = belongings().pop().unwrap().1;
    let rename = |disk, folder: &Path| {
        engine(folder, disk).rename(&session(folder), "天气 tea").map_err(|e| e.to_string())
    };
    let faults = every_fault(make, rename, |folder, fault, result| {
        let context = format!("{fault:?}: {result:?}");
        others_are_untouched(folder, &context);
        let text = fs::read_to_string(transcript(folder, SESSION)).unwrap();
        let added = text.strip_prefix(&before).expect("earlier lines are intact");
        assert!(added.lines().count() <= 1, "{context}: {added}");
        rename(sound(), folder).expect("it is finished");
        let text = fs::read_to_string(transcript(folder, SESSION)).unwrap();
        let broken =
            text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err()).count();
        assert!(broken <= 1, "{context}: {text}");
        let side = transcript(folder, SESSION).with_extension("");
        assert_eq!(
            fs::read_to_string(side.join("custom-title.json")).unwrap(),
            "{\"customTitle\":\"天气 tea\"}"
        );
        let index = fs::read_to_string(folder.join("root/projects/-p/sessions-index.json")).unwrap();
        assert!(index.contains("天气 tea"), "{context}: {index}");
        assert_eq!(real(folder).session("天气 tea".as_ref()).unwrap().session.as_deref(), Some(SESSION));
        assert!(!root(folder).keys().any(|path| path.to_string_lossy().ends_with(".annals")), "{context}");
    });
    assert!(faults > 50, "{faults}");
}

/// Makes a session whose second prompt has lost its parent. Returns its bytes.
fn broken(folder: &Path) -> String {
    make(folder);
    let line = |kind: &str, id: &str, parent: &str, minute: u32| {
        format!(
            r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"timestamp":"2026-01-01T00:{minute:02}:00.000Z","sessionId":"{SESSION}","message":{{"role":"{kind}","content":[{{"type":"text","text":"{id}"}}]}}}}"#
        ) + "\n"
    };
    let lines = [
        line("user", "u1", "null", 0),
        line("assistant", "a1", "\"u1\"", 1),
        line("user", "u2", "\"gone\"", 2),
        line("assistant", "a2", "\"u2\"", 3),
    ];
    let text = lines.concat();
    fs::write(transcript(folder, SESSION), &text).unwrap();
    text
}

#[test]
fn repairing_survives_any_fault_and_is_finished_by_repairing_again() {
    let before = broken(tempfile::tempdir().unwrap().path());
    let set_up = |folder: &Path| {
        broken(folder);
    };
    let options = RepairOptions::default();
    let repair = |disk, folder: &Path| {
        let outcome = engine(folder, disk).repair(&session(folder), &options, true);
        outcome.map(|outcome| outcome.plan.after.missing.len()).map_err(|e| e.to_string())
    };
    let faults = every_fault(set_up, repair, |folder, fault, result| {
        let context = format!("{fault:?}: {result:?}");
        others_are_untouched(folder, &context);
        let text = fs::read_to_string(transcript(folder, SESSION)).unwrap();
        assert!(text.starts_with(&before), "{context}: earlier lines are intact");
        if result.is_err() && text != before {
            let receipts = fs::read_dir(real(folder).home().path().join("repairs")).unwrap();
            assert_eq!(receipts.count(), 1, "{context}: half a repair has its receipt");
        }
        assert_eq!(repair(sound(), folder), Ok(0), "{context}: it is finished");
        let text = fs::read_to_string(transcript(folder, SESSION)).unwrap();
        assert!(text.starts_with(&before), "{context}: earlier lines are intact");
        let torn =
            text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err()).count();
        assert!(torn <= 1, "{context}: {text}");
        let plan = real(folder).repair_plan(&session(folder), &options).unwrap();
        assert!(plan.is_empty(), "{context}: a second repair changes nothing");
    });
    assert!(faults > 20, "{faults}");
}

#[test]
fn undoing_a_repair_survives_any_fault_and_gives_the_bytes_back() {
    let before = broken(tempfile::tempdir().unwrap().path());
    let set_up = |folder: &Path| {
        broken(folder);
        real(folder).repair(&session(folder), &RepairOptions::default(), true).unwrap();
    };
    let undo = |disk, folder: &Path| {
        engine(folder, disk).undo_repair(&session(folder), true).map_err(|e| e.to_string())
    };
    every_fault(set_up, undo, |folder, fault, result| {
        let context = format!("{fault:?}: {result:?}");
        undo(sound(), folder).expect("it is finished");
        assert_eq!(fs::read_to_string(transcript(folder, SESSION)).unwrap(), before, "{context}");
    });
}

/// Writes a broken session with a line that a later one replaced, so that a repair in place makes it smaller.
fn broken_and_large(folder: &Path) -> String {
    let text = broken(folder);
    let last = text
        .lines()
        .last()
        .unwrap()
        .replace("\"text\":\"a2\"", &format!("\"text\":\"{}\"", "x".repeat(2000)));
    let text = format!("{last}\n{text}");
    fs::write(transcript(folder, SESSION), &text).unwrap();
    text
}

const IN_PLACE: fn() -> RepairOptions = || RepairOptions { in_place: true, ..RepairOptions::default() };

#[test]
fn repairing_in_place_survives_any_fault_and_the_old_bytes_stay_somewhere() {
    let before = broken_and_large(tempfile::tempdir().unwrap().path());
    let set_up = |folder: &Path| {
        broken_and_large(folder);
    };
    let repair = |disk, folder: &Path| {
        let outcome = engine(folder, disk).repair(&session(folder), &IN_PLACE(), true);
        outcome.map(|outcome| outcome.plan.after.missing.len()).map_err(|e| e.to_string())
    };
    let faults = every_fault(set_up, repair, |folder, fault, result| {
        let context = format!("{fault:?}: {result:?}");
        others_are_untouched(folder, &context);
        let now = fs::read_to_string(transcript(folder, SESSION)).unwrap();
        if now != before {
            assert!(now.lines().count() == 4 && now.ends_with('\n'), "{context}: whole or not at all: {now}");
            assert!(matches!(real(folder).undo_repair(&session(folder), true), Ok(Undone::Cut { .. })));
            assert_eq!(fs::read_to_string(transcript(folder, SESSION)).unwrap(), before, "{context}");
        }
        assert_eq!(repair(sound(), folder), Ok(0), "{context}: it is finished");
        let plan = real(folder).repair_plan(&session(folder), &IN_PLACE()).unwrap();
        assert!(plan.is_empty(), "{context}: a second repair changes nothing");
    });
    assert!(faults > 20, "{faults}");
}

#[test]
fn undoing_a_repair_in_place_survives_any_fault_and_gives_the_bytes_back() {
    let before = broken_and_large(tempfile::tempdir().unwrap().path());
    let set_up = |folder: &Path| {
        broken_and_large(folder);
        let outcome = real(folder).repair(&session(folder), &IN_PLACE(), true).unwrap();
        assert!(outcome.plan.rewritten.is_some());
    };
    let undo = |disk, folder: &Path| {
        engine(folder, disk).undo_repair(&session(folder), true).map_err(|e| e.to_string())
    };
    every_fault(set_up, undo, |folder, fault, result| {
        let context = format!("{fault:?}: {result:?}");
        undo(sound(), folder).expect("it is finished");
        assert_eq!(fs::read_to_string(transcript(folder, SESSION)).unwrap(), before, "{context}");
    });
}

#[test]
fn what_was_appended_since_a_repair_stays_when_it_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let before = broken(folder.path());
    let engine = real(folder.path());
    let file = session(folder.path());
    engine.repair(&file, &RepairOptions::default(), true).unwrap();
    let mut handle = fs::OpenOptions::new().append(true).open(&file.path).unwrap();
    handle.write_all(b"{\"type\":\"mode\"}\n").unwrap();
    let now = fs::read(&file.path).unwrap();
    let Undone::Fork { session, path } = engine.undo_repair(&file, true).unwrap() else { panic!("a fork") };
    assert_eq!(fs::read(&file.path).unwrap(), now);
    assert_eq!(fs::read_to_string(path).unwrap(), before.replace(SESSION, &session));
    assert_eq!(engine.undo_repair(&file, true).unwrap(), Undone::Nothing);
}

/// Checks an operation that replaces or makes one small file.
fn one_small_file(place: &str, old: Option<&str>, new: &str, act: impl Fn(&Engine, &Path) -> bool) {
    let place = Path::new("projects/-p").join(SESSION).join(place);
    let set_up = |folder: &Path| {
        make(folder);
        if let Some(old) = old {
            fs::write(folder.join("root").join(&place), old).unwrap();
        }
    };
    let faults = every_fault(
        set_up,
        |disk, folder: &Path| act(&engine(folder, disk), folder),
        |folder, fault, done| {
            nothing_is_lost_but(folder, &place, &format!("{fault:?}"));
            let there = fs::read_to_string(folder.join("root").join(&place)).ok();
            let is_new = there.as_deref().is_some_and(|there| there.starts_with(new));
            assert!(is_new || !done && there.as_deref() == old, "{fault:?}: {there:?}");
            assert!(act(&real(folder), folder), "{fault:?}");
            assert!(
                fs::read_to_string(folder.join("root").join(&place)).unwrap().starts_with(new),
                "{fault:?}"
            );
        },
    );
    assert!(faults > 20, "{faults}");
}

/// Makes sure that every file but one is as it was.
fn nothing_is_lost_but(folder: &Path, place: &Path, context: &str) {
    let now = root(folder);
    for (path, content) in made().iter().filter(|(path, _)| *path != place) {
        assert_eq!(now.get(path), Some(content), "{context}: {}", path.display());
    }
}

#[test]
fn archiving_survives_any_fault() {
    let archive = |engine: &Engine, folder: &Path| engine.set_archived(&session(folder), true).is_ok();
    one_small_file("archived.json", None, "{\"archived\":true,\"at\":\"", archive);
    one_small_file("archived.json", Some("{\"archived\":false}"), "{\"archived\":true,\"at\":\"", archive);
}

#[test]
fn describing_an_agent_survives_any_fault() {
    let describe = |engine: &Engine, folder: &Path| {
        let agent = Agent::new("a1").unwrap().in_group("workflows/wf_1").unwrap();
        let target = Target::session(&folder.join("root/projects/-p"), SESSION).unwrap().with_agent(agent);
        let meta = Meta { description: Some("look".into()), ..Meta::default() };
        engine.describe_agent(&target, &meta).is_ok()
    };
    let place = "subagents/workflows/wf_1/agent-a1.meta.json";
    let old = "{\"agentType\":\"Explore\"}";
    one_small_file(place, Some(old), "{\"agentType\":\"Explore\",\"description\":\"look\"}", describe);
}

#[test]
fn tagging_survives_any_fault() {
    let tag = |disk, folder: &Path| engine(folder, disk).tag(&session(folder), Some("früh")).is_ok();
    let faults = every_fault(make, tag, |folder, fault, done| {
        others_are_untouched(folder, &format!("{fault:?}"));
        let lines = |text: &str| text.lines().filter(|line| line.contains("\"type\":\"tag\"")).count();
        let text = fs::read_to_string(transcript(folder, SESSION)).unwrap();
        assert!(text.contains(FIRST) && text.contains(SECOND), "{fault:?}");
        assert!(!done || lines(&text) == 1, "{fault:?}: {text}");
        assert!(tag(sound(), folder), "{fault:?}");
        let text = fs::read_to_string(transcript(folder, SESSION)).unwrap();
        assert!(
            text.ends_with(&format!("{{\"type\":\"tag\",\"tag\":\"früh\",\"sessionId\":\"{SESSION}\"}}\n")),
            "{text}"
        );
    });
    assert!(faults > 20, "{faults}");
}

#[test]
fn a_file_is_restored_whole_or_not_at_all() {
    let (old, new) = ("what was there\n", "what was restored\n".repeat(1000));
    for there in [Some(old), None] {
        let set_up = |folder: &Path| {
            make(folder);
            if let Some(there) = there {
                fs::write(folder.join("target.txt"), there).unwrap();
            }
        };
        let restore = |disk, folder: &Path| {
            let backup = folder.join(format!("root/file-history/{SESSION}/0123456789abcdef@v1"));
            let target = folder.join("target.txt");
            engine(folder, disk).write_restored(
                &target,
                there.map(str::as_bytes),
                new.as_bytes(),
                Some(&backup),
            )
        };
        let faults = every_fault(set_up, restore, |folder, fault, result| {
            let now = fs::read_to_string(folder.join("target.txt")).ok();
            let is_whole = now.as_deref() == there || now.as_ref() == Some(&new);
            assert!(is_whole, "{fault:?}: {result:?}: {now:?}");
            assert!(result.is_err() || now.as_ref() == Some(&new), "{fault:?}: {result:?}");
            assert_eq!(tree(&folder.join("root")), *made(), "{fault:?}: {result:?}");
        });
        assert!(faults > 10, "{faults}");
    }
}

#[test]
fn a_file_that_changed_after_its_difference_was_shown_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let target = folder.path().join("target.txt");
    let restore = |expected: Option<&str>| {
        real(folder.path()).write_restored(&target, expected.map(str::as_bytes), b"restored", None)
    };
    fs::write(&target, "changed").unwrap();
    for expected in [Some("seen"), None] {
        let error = restore(expected).unwrap_err().to_string();
        assert!(error.ends_with("was changed meanwhile; nothing was written"), "{error}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "changed");
    }
    restore(Some("changed")).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "restored");
    assert!(!folder.path().join(".target.txt.annals").exists(), "no temporary file is left");
}
