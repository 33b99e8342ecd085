//! What operations do when the disk works.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use annals_engine::{
    Engine, ForkOptions, Home, HydrateOptions, LiveWriter, Liveness, Meta, ProcessView, Recording, Roots,
    TranscriptFile, UnknownReason,
};
use annals_transcript::project::{folder_name, resolve};
use annals_transcript::write::fs::{Disk, RealDisk};
use annals_transcript::write::{Agent, Draft, Target};
use serde_json::Value;
use tempfile::TempDir;
use testkit::faults::{FaultyDisk, TwoDevices};

use crate::world::{
    FIRST, OTHER, SESSION, Tree, belongings, engine, made, make, message, real, session, transcript, tree,
};

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
    assert_eq!(fs::read_to_string(place.join("0")).unwrap(), "somebody's");
    real(folder).restore(&trashed).unwrap();
    assert_eq!(tree(&folder.join("root")), *made());
    assert_eq!(fs::read_to_string(place.join("0")).unwrap(), "somebody's");
}

/// Returns the folder of the only entry in the trash.
fn only_entry(folder: &Path) -> PathBuf {
    let entries: Vec<_> = fs::read_dir(folder.join("home/trash")).unwrap().collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].as_ref().unwrap().path()
}

/// Deletes the session as if that had been interrupted before the transcript was moved.
fn interrupt_deletion(folder: &Path) {
    real(folder).delete(&session(folder), false).unwrap();
    let entry = only_entry(folder);
    let last = fs::read_dir(&entry).unwrap().count() - 2;
    fs::rename(entry.join(last.to_string()), transcript(folder, SESSION)).unwrap();
    fs::rename(&entry, format!("{}.moving", entry.display())).unwrap();
}

#[test]
fn what_is_written_after_a_deletion_was_interrupted_joins_the_rest() {
    let world = world();
    let folder = world.path();
    interrupt_deletion(folder);
    let engine = real(folder);
    engine.rename(&session(folder), "Later").unwrap();
    assert!(engine.trash_entries().is_empty(), "the next change puts everything back");
    let side = transcript(folder, SESSION).with_extension("");
    assert!(side.join("custom-title.json").is_file() && side.join("tool-results/x.txt").is_file());
    let again = engine.delete(&session(folder), true).unwrap();
    assert_eq!((again.title.as_deref(), engine.trash_entries().len()), (Some("Later"), 1));
    engine.restore(&again).unwrap();
    assert!(side.join("custom-title.json").is_file() && side.join("tool-results/x.txt").is_file());
    assert_eq!(engine.session("Later".as_ref()).unwrap().session.as_deref(), Some(SESSION));
}

#[test]
fn lines_that_are_appended_after_a_deletion_was_interrupted_are_kept() {
    let world = world();
    let folder = world.path();
    interrupt_deletion(folder);
    // As if the transcript had been copied to another disk, but not been removed yet.
    let entry = only_entry(folder);
    let number = fs::read_dir(&entry).unwrap().count() - 1;
    let path = transcript(folder, SESSION);
    fs::copy(&path, entry.join(number.to_string())).unwrap();
    let longer = fs::read_to_string(&path).unwrap() + &message("new", SESSION).to_string();
    fs::write(&path, &longer).unwrap();
    let trashed = real(folder).delete(&session(folder), true).unwrap();
    assert_eq!(real(folder).trash_entries().len(), 1);
    real(folder).restore(&trashed).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), longer);
    assert!(path.with_extension("").join("tool-results/x.txt").is_file());
}

#[test]
fn a_deletion_after_an_interrupted_restore_finds_the_session() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    engine.delete(&session(folder), false).unwrap();
    let entry = only_entry(folder);
    // As if the first item had been moved back.
    fs::rename(entry.join("0"), transcript(folder, SESSION).with_extension("")).unwrap();
    fs::rename(&entry, format!("{}.moving", entry.display())).unwrap();
    assert!(engine.session(SESSION.as_ref()).unwrap_err().is_not_found());
    assert!(engine.finish_interrupted(SESSION).unwrap());
    assert_eq!(tree(&folder.join("root")), *made());
    let file = engine.session(SESSION.as_ref()).unwrap();
    let trashed = engine.delete(&file, false).unwrap();
    engine.restore(&trashed).unwrap();
    assert_eq!(tree(&folder.join("root")), *made());
    assert!(!engine.finish_interrupted(SESSION).unwrap());
}

#[test]
fn entries_of_older_versions_are_listed_and_restored() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    for (name, id) in [(SESSION.to_owned(), "1"), (format!("{SESSION}.2"), "2")] {
        engine.delete(&session(folder), false).unwrap();
        let (new, old) = (only_entry(folder), folder.join("home/trash").join(name));
        let items: Vec<String> =
            serde_json::from_slice::<serde_json::Value>(&fs::read(new.join("manifest.json")).unwrap())
                .unwrap()["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(ToString::to_string)
                .collect();
        let manifest = format!(
            "{{\"version\":1,\"session\":\"{SESSION}\",\"title\":null,\"deletedAt\":\"2026-01-02T03:04:05.006Z\",\"items\":[{}],\"indexEntry\":\"{{\\\"sessionId\\\":\\\"{SESSION}\\\"}}\"}}\n",
            items.join(",")
        );
        fs::write(new.join("manifest.json"), manifest).unwrap();
        fs::rename(new, old).unwrap();
        let trashed = engine.in_trash(SESSION, Some(id)).unwrap();
        assert!(trashed.size > 100 && engine.trash_entries() == [trashed.clone()]);
        engine.restore(&trashed).unwrap();
        assert_eq!(tree(&folder.join("root")), *made());
        assert!(engine.trash_entries().is_empty());
    }
}

#[test]
fn every_deletion_makes_an_entry_that_can_be_restored_by_its_id() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let side = transcript(folder, SESSION).with_extension("").join("tool-results/x.txt");
    let mut entries = Vec::new();
    for turn in 0..5 {
        fs::create_dir_all(side.parent().unwrap()).unwrap();
        fs::write(&side, format!("output {turn}")).unwrap();
        fs::write(transcript(folder, SESSION), message(&format!("turn {turn}"), SESSION).to_string())
            .unwrap();
        entries.push(engine.delete(&session(folder), true).unwrap().entry);
    }
    assert!(entries.is_sorted() && entries.iter().collect::<HashSet<_>>().len() == 5, "{entries:?}");
    assert_eq!(engine.in_trash(SESSION, None).unwrap().entry, entries[4]);
    let error = engine.in_trash(SESSION, Some("none")).unwrap_err();
    assert!(error.is_not_in_trash() && error.to_string().contains("`none`"), "{error}");
    for (turn, entry) in entries.iter().enumerate() {
        engine.restore(&engine.in_trash(&SESSION[..8], Some(entry)).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&side).unwrap(), format!("output {turn}"));
        assert!(fs::read_to_string(transcript(folder, SESSION)).unwrap().contains(&format!("turn {turn}")));
        fs::remove_file(&side).unwrap();
        fs::remove_file(transcript(folder, SESSION)).unwrap();
        fs::remove_file(folder.join("root/projects/-p/agent-old.jsonl")).ok();
    }
    assert!(engine.trash_entries().is_empty());
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
    assert!(error.is_path_taken() && error.to_string().contains(SESSION), "{error}");
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
    fs::write(transcript(folder, SESSION), message("second", SESSION).to_string()).unwrap();
    let second = engine.delete(&session(folder), true).unwrap();
    assert_eq!(engine.trash_entries().len(), 2);
    assert_eq!(engine.in_trash(&SESSION[..4], None).unwrap(), second);
    engine.purge(&second).unwrap();
    engine.restore(&engine.in_trash(SESSION, Some(&first.entry)).unwrap()).unwrap();
    assert_eq!(fs::read_dir(folder.join("home/trash")).unwrap().count(), 0);
    assert_eq!(tree(&folder.join("root")), *made());
    assert!(engine.in_trash(SESSION, None).unwrap_err().is_not_in_trash());
}

#[test]
fn what_an_interrupted_rewrite_left_is_removed_with_the_session() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let path = transcript(folder, SESSION);
    let left = path.with_file_name(format!(".{SESSION}.jsonl.annals"));
    let beside = path.with_extension("").join(".archived.json.annals");
    let write_copy = || {
        fs::write(&left, "half of a transcript").unwrap();
        fs::write(&beside, "{\"archived\":").unwrap();
    };
    // Where a file gets its name by a link, it may have two.
    let link = || fs::hard_link(&path, &left).unwrap();
    for leave in [&write_copy as &dyn Fn(), &link] {
        leave();
        let trashed = engine.delete(&session(folder), true).unwrap();
        assert!(!left.exists());
        engine.restore(&trashed).unwrap();
        assert_eq!(tree(&folder.join("root")), *made());
    }
}

/// The lock of the transcript keeps a deletion with another `ANNALS_HOME` away while side files are written.
#[test]
fn side_files_are_written_while_the_transcript_is_held() {
    let world = world();
    let folder = world.path();
    let archived = transcript(folder, SESSION).with_extension("").join("archived.json");
    let mut held = RealDisk.open(&transcript(folder, SESSION)).unwrap();
    assert!(held.try_lock().unwrap());
    thread::scope(|scope| {
        let archiving = scope.spawn(|| real(folder).set_archived(&session(folder), true));
        thread::sleep(Duration::from_millis(100));
        assert!(!archived.exists());
        drop(held);
        archiving.join().unwrap().unwrap();
    });
    assert!(archived.is_file());
}

/// Everything about a file or folder but its content: mode, time of the last change, where a link leads.
#[cfg(unix)]
fn attributes(folder: &Path) -> BTreeMap<PathBuf, (u32, SystemTime, Option<PathBuf>)> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let target = fs::read_link(&path).ok();
        // The time of a link itself says nothing.
        let modified = if target.is_some() { UNIX_EPOCH } else { metadata.modified().unwrap() };
        found.insert(path, (metadata.permissions().mode(), modified, target));
    }
    found
}

#[cfg(unix)]
#[test]
fn a_trash_on_another_disk_keeps_modes_times_links_and_long_names() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = world();
    let folder = world.path();
    let side = transcript(folder, SESSION).with_extension("");
    let results = side.join("tool-results");
    fs::write(results.join("x".repeat(255)), "long name").unwrap();
    fs::write(results.join("茶".repeat(85)), "long name").unwrap();
    symlink("x.txt", results.join("link")).unwrap();
    symlink("/nowhere", results.join("dangling")).unwrap();
    symlink("..", results.join("folder")).unwrap();
    for (path, mode, age) in
        [(results.join("x.txt"), 0o640, 100), (results.clone(), 0o755, 200), (side.clone(), 0o750, 300)]
    {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age);
        fs::File::open(&path).unwrap().set_modified(time).unwrap();
    }
    let before = attributes(&side);
    let disk = TwoDevices { disk: Arc::new(RealDisk), folder: folder.join("home") };
    let engine = engine(folder, Arc::new(disk));
    for _ in 0..2 {
        let trashed = engine.delete(&session(folder), false).unwrap();
        assert!(!side.exists());
        engine.restore(&trashed).unwrap();
        assert_eq!(attributes(&side), before);
    }
    let trash = folder.join("home/trash");
    assert_eq!(fs::read_dir(trash).unwrap().count(), 0);
}

/// All entries of older versions have the id 1, so that their copies differ in the session only.
#[test]
fn sessions_of_one_project_are_restored_from_another_disk_at_the_same_time() {
    let world = world();
    let folder = world.path();
    let disk = || TwoDevices { disk: Arc::new(RealDisk), folder: folder.join("home") };
    let ids: Vec<String> = (0..8).map(|number| format!("{number:08x}-0000-4000-8000-000000000000")).collect();
    let text = |id: &str| message(FIRST, id).to_string().repeat(2000);
    let one = engine(folder, Arc::new(disk()));
    for id in &ids {
        fs::write(transcript(folder, id), text(id)).unwrap();
        let trashed = one.delete(&TranscriptFile::at(&transcript(folder, id)), true).unwrap();
        let trash = folder.join("home/trash");
        fs::rename(trash.join(format!("{id}.{}", trashed.entry)), trash.join(id)).unwrap();
    }
    thread::scope(|scope| {
        for id in &ids {
            let engine = engine(folder, Arc::new(disk()));
            scope.spawn(move || engine.restore(&engine.in_trash(id, None).unwrap()).unwrap());
        }
    });
    for id in &ids {
        assert!(fs::read_to_string(transcript(folder, id)).unwrap() == text(id), "{id}");
    }
    assert!(one.trash_entries().is_empty());
}

/// A copy keeps the permissions of a folder, which may forbid to remove what is in it.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_does_not_keep_the_trash_from_being_emptied() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    let folder = world.path();
    let results = transcript(folder, SESSION).with_extension("").join("tool-results");
    fs::set_permissions(&results, fs::Permissions::from_mode(0o500)).unwrap();
    let engine = real(folder);
    let trashed = engine.delete(&session(folder), false).unwrap();
    engine.purge(&trashed).unwrap();
    assert_eq!(fs::read_dir(folder.join("home/trash")).unwrap().count(), 0);
}

/// If the originals cannot be removed, the copies are, and the session is where it was.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_emptied_stays_where_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    let folder = world.path();
    let results = transcript(folder, SESSION).with_extension("").join("tool-results");
    fs::set_permissions(&results, fs::Permissions::from_mode(0o500)).unwrap();
    let may_remove = fs::write(results.join("probe"), "").is_ok();
    let _ = fs::remove_file(results.join("probe"));
    let disk = TwoDevices { disk: Arc::new(RealDisk), folder: folder.join("home") };
    let engine = engine(folder, Arc::new(disk));
    let before = tree(&folder.join("root"));
    // Root may remove anything.
    match engine.delete(&session(folder), false) {
        Ok(trashed) if may_remove => drop(engine.restore(&trashed).unwrap()),
        result => assert!(!may_remove && result.is_err()),
    }
    assert_eq!(tree(&folder.join("root")), before);
    assert!(engine.trash_entries().is_empty());
    engine.rename(&session(folder), "Still at work").unwrap();
    fs::set_permissions(&results, fs::Permissions::from_mode(0o700)).unwrap();
}

/// A folder that cannot be written to cannot be moved into another one, but root may do that.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_restored_into_one_that_is_there() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    let folder = world.path();
    let side = transcript(folder, SESSION).with_extension("");
    let results = side.join("tool-results");
    fs::set_permissions(&results, fs::Permissions::from_mode(0o500)).unwrap();
    let before = attributes(&results);
    let engine = real(folder);
    let trashed = engine.delete(&session(folder), false).unwrap();
    fs::create_dir_all(&side).unwrap();
    engine.restore(&trashed).unwrap();
    assert_eq!(attributes(&results), before);
    assert_eq!(tree(&folder.join("root")), *made());
    fs::set_permissions(&results, fs::Permissions::from_mode(0o700)).unwrap();
}

/// A folder without manifest may be one that a deletion in another root has just made.
#[test]
fn what_another_deletion_has_begun_to_write_is_not_removed() {
    let world = world();
    let folder = world.path();
    let begun = folder.join("home/trash").join(format!("{SESSION}.20260101T000000000.moving"));
    let manifest = begun.join(".manifest.json.annals");
    fs::create_dir_all(&begun).unwrap();
    let file = fs::File::create(&manifest).unwrap();
    file.lock().unwrap();
    let engine = real(folder);
    let trashed = engine.delete(&session(folder), true).unwrap();
    engine.restore(&trashed).unwrap();
    assert!(manifest.is_file(), "its writer holds it");
    drop(file);
    engine.delete(&session(folder), true).unwrap();
    assert!(!begun.exists(), "what an interrupted deletion left is removed");
    fs::create_dir_all(&begun).unwrap();
    fs::write(begun.join("0"), "something else").unwrap();
    engine.restore(&engine.in_trash(SESSION, None).unwrap()).unwrap();
    assert!(begun.join("0").is_file());
}

#[test]
fn a_manifest_that_leads_elsewhere_is_refused_and_blocks_nothing() {
    let world = world();
    let folder = world.path();
    let side = folder.join("root/projects/-p").join(SESSION).display().to_string();
    let root = folder.join("root").display().to_string();
    for stray in [
        format!("{root}/projects/-p/../../../evil"),
        "rel/here.txt".to_owned(),
        format!("{root}/.bashrc"),
        format!("{root}/projects/-p/{OTHER}"),
        format!("{}/tasks/{SESSION}", folder.display()),
    ] {
        let engine = real(folder);
        let trashed = engine.delete(&session(folder), true).unwrap();
        let entry = only_entry(folder);
        let manifest = entry.join("manifest.json");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, text.replacen(&format!("\"{side}\""), &format!("\"{stray}\""), 1)).unwrap();
        let before = tree(&folder.join("root"));
        let error = engine.restore(&trashed).unwrap_err();
        assert!(error.to_string().contains("names files"), "{error}");
        assert!(tree(&folder.join("root")) == before && !folder.join("evil").exists(), "{stray}");
        // As if it had been interrupted, with another session of that id on disk.
        fs::rename(&entry, format!("{}.moving", entry.display())).unwrap();
        fs::write(transcript(folder, SESSION), message(FIRST, SESSION).to_string()).unwrap();
        engine.rename(&session(folder), "Still at work").unwrap();
        engine.purge(&engine.trash_entries()[0]).unwrap();
        fs::remove_dir_all(folder.join("root")).unwrap();
        make(folder);
    }
}

#[cfg(unix)]
#[test]
fn what_is_deleted_by_an_odd_path_is_restored() {
    let world = world();
    let folder = world.path();
    let link = folder.join("link");
    std::os::unix::fs::symlink(folder.join("root/projects/-p"), &link).unwrap();
    fs::create_dir(folder.join("root/projects/-q")).unwrap();
    let before = tree(&folder.join("root"));
    for path in [folder.join("root/projects/-q/../-p"), link] {
        let engine = real(folder);
        let file = TranscriptFile::at(&path.join(format!("{SESSION}.jsonl")));
        let trashed = engine.delete(&file, true).unwrap();
        assert!(!transcript(folder, SESSION).exists());
        engine.restore(&trashed).unwrap();
        assert_eq!(tree(&folder.join("root")), before, "{}", path.display());
    }
}

/// The entries of both have names of the same session in one trash, but locks of their own.
#[test]
fn sessions_of_two_roots_with_the_same_id_are_deleted_and_restored_at_the_same_time() {
    let world = world();
    let home = world.path().join("home");
    let roots: Vec<_> = ["one", "two"].iter().map(|name| world.path().join(name)).collect();
    for folder in &roots {
        make(folder);
    }
    thread::scope(|scope| {
        for folder in &roots {
            let roots = Roots::given(vec![folder.join("root")]).unwrap();
            let engine = Engine::open(roots, Home::at(&home)).with_disk(Arc::new(FaultyDisk::sound()));
            scope.spawn(move || {
                for turn in 0..100 {
                    let trashed = engine.delete(&session(folder), true).unwrap();
                    if turn % 2 == 0 {
                        engine.restore(&trashed).unwrap();
                    } else {
                        engine.purge(&trashed).unwrap();
                        make(folder);
                    }
                }
            });
        }
    });
    for folder in &roots {
        assert_eq!(tree(&folder.join("root")), *made());
    }
    assert_eq!(fs::read_dir(home.join("trash")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn files_by_id_stay_with_the_transcript_when_a_link_to_it_is_deleted() {
    let world = world();
    let folder = world.path();
    let link = folder.join("root/projects/-q").join(format!("{SESSION}.jsonl"));
    fs::create_dir(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(transcript(folder, SESSION), &link).unwrap();
    let before = tree(&folder.join("root/file-history"));
    let engine = real(folder);
    let trashed = engine.delete(&TranscriptFile::at(&link), true).unwrap();
    assert_eq!(tree(&folder.join("root/file-history")), before);
    engine.restore(&trashed).unwrap();
    // The link is no other transcript: it leads nowhere when the session is gone.
    let trashed = engine.delete(&session(folder), true).unwrap();
    assert!(!folder.join("root/file-history").join(SESSION).exists());
    engine.restore(&trashed).unwrap();
    assert_eq!(tree(&folder.join("root/file-history")), before);
}

/// Whatever a damaged manifest names, nothing else is removed with the entry.
#[test]
fn files_of_an_entry_that_its_manifest_does_not_name_stay_in_the_trash() {
    for names_transcript in [false, true] {
        let world = world();
        let folder = world.path();
        let engine = real(folder);
        engine.delete(&session(folder), true).unwrap();
        let entry = only_entry(folder);
        let last = fs::read_dir(&entry).unwrap().count() - 2;
        let text = fs::read(entry.join("manifest.json")).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let mut items = Vec::new();
        if names_transcript {
            items.push(transcript(folder, SESSION));
            fs::rename(entry.join("0"), entry.join("unnamed")).unwrap();
            fs::rename(entry.join(last.to_string()), entry.join("0")).unwrap();
        }
        manifest["items"] = serde_json::json!(items);
        fs::write(entry.join("manifest.json"), manifest.to_string()).unwrap();
        // As if it had been interrupted.
        fs::rename(&entry, format!("{}.moving", entry.display())).unwrap();
        let restored = engine.restore(&engine.trash_entries()[0]);
        assert_eq!(restored.is_ok(), names_transcript, "{restored:?}");
        let all = tree(folder);
        for (path, content) in belongings() {
            assert!(all.values().flatten().any(|text| *text == content), "{path}: {all:#?}");
        }
    }
}

#[test]
fn deletions_at_the_end_of_the_calendar_find_a_free_entry() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    for _ in 0..4 {
        engine.delete(&session(folder), true).unwrap();
        for entry in fs::read_dir(folder.join("home/trash")).unwrap() {
            let manifest = entry.unwrap().path().join("manifest.json");
            let value: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
            let text = fs::read_to_string(&manifest).unwrap();
            let time = value["deletedAt"].as_str().unwrap();
            fs::write(&manifest, text.replace(time, "9999-12-30T22:00:00.999Z")).unwrap();
        }
        let path = transcript(folder, SESSION);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, message(FIRST, SESSION).to_string()).unwrap();
    }
    assert_eq!(engine.trash_entries().len(), 4);
}

#[test]
fn a_note_that_is_cut_off_leaves_it_unknown_which_session_its_process_has_open() {
    let world = world();
    let folder = world.path();
    let registry = folder.join("root/sessions");
    fs::create_dir(&registry).unwrap();
    let engine = real(folder).with_processes(HOST);
    fs::write(registry.join(format!("{}.json", std::process::id())), "{\"pid\":1,\"sess").unwrap();
    assert!(matches!(engine.liveness(&session(folder)).unwrap(), Liveness::Unknown(_)));
    assert!(engine.delete(&session(folder), false).unwrap_err().is_live());
    fs::remove_dir_all(&registry).unwrap();
    fs::create_dir(&registry).unwrap();
    fs::write(registry.join("4194999.json"), "{\"pid\":4194999,\"sess").unwrap();
    let own = registry.join(format!("{}.json", std::process::id()));
    fs::write(&own, "").unwrap();
    let years_ago = SystemTime::now() - Duration::from_secs(100_000_000);
    fs::File::options().append(true).open(&own).unwrap().set_modified(years_ago).unwrap();
    fs::write(registry.join("1.json"), "{\"newer\":true}").unwrap();
    let liveness = engine.liveness(&session(folder)).unwrap();
    assert_eq!(
        liveness,
        Liveness::NotLive,
        "one process is gone, one number has a new process, one note is whole"
    );
}

#[test]
fn nothing_is_restored_if_a_file_is_in_the_place_of_a_folder() {
    let world = world();
    let folder = world.path();
    for devices in [one_device, two_devices] {
        let engine = devices(folder);
        let trashed = engine.delete(&session(folder), true).unwrap();
        let todos = folder.join("root/todos");
        fs::remove_dir(&todos).unwrap();
        fs::write(&todos, "no folder").unwrap();
        let before = (tree(&folder.join("root")), tree(&folder.join("home/trash")));
        assert!(engine.restore(&trashed).unwrap_err().is_path_taken());
        assert_eq!((tree(&folder.join("root")), tree(&folder.join("home/trash"))), before);
        assert!(!engine.trash_entries()[0].is_unfinished);
        fs::remove_file(&todos).unwrap();
        engine.restore(&trashed).unwrap();
        assert_eq!(tree(&folder.join("root")), *made());
    }
}

fn one_device(folder: &Path) -> Engine {
    real(folder)
}

/// Returns an engine whose trash lies on another file system.
fn two_devices(folder: &Path) -> Engine {
    let disk = TwoDevices { disk: Arc::new(FaultyDisk::sound()), folder: folder.join("home") };
    engine(folder, Arc::new(disk))
}

#[test]
fn a_transcript_that_was_replaced_is_swapped_back_with_its_place_in_the_index() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let path = transcript(folder, SESSION);
    let old = fs::read_to_string(&path).unwrap();
    let target = Target::session(path.parent().unwrap(), SESSION).unwrap();
    let log = [Ok(b"{\"type\":\"user\"}".to_vec())];
    let replaced = engine.hydrate(&target, log, HydrateOptions::default()).unwrap().replaced.unwrap();
    let index = folder.join("root/projects/-p/sessions-index.json");
    let with_session = fs::read_to_string(&index).unwrap();
    fs::write(&index, with_session.replace(&format!(",{{\"sessionId\":\"{SESSION}\"}}"), "")).unwrap();
    let swapped = engine.restore_over(&replaced, true).unwrap().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), old);
    assert_eq!(fs::read_to_string(&index).unwrap(), with_session);
    let entries: Vec<_> = engine.trash_entries().into_iter().map(|trashed| trashed.entry).collect();
    assert_eq!(entries, [swapped.entry.clone(), replaced.entry], "both versions are in the trash");
    engine.restore_over(&swapped, true).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"type\":\"user\"}\n");
}

#[cfg(unix)]
#[test]
fn a_transcript_that_a_link_leads_to_is_kept_when_it_is_replaced() {
    let world = world();
    let folder = world.path();
    let (path, elsewhere) = (transcript(folder, SESSION), folder.join("elsewhere.jsonl"));
    let old = fs::read_to_string(&path).unwrap();
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let left = folder.join(".elsewhere.jsonl.annals");
    fs::write(&left, "half of a transcript").unwrap();
    let target = Target::session(path.parent().unwrap(), SESSION).unwrap();
    let engine = real(folder);
    let log = [Ok(b"{\"type\":\"user\"}".to_vec())];
    let replaced = engine.hydrate(&target, log, HydrateOptions::default()).unwrap().replaced.unwrap();
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "{\"type\":\"user\"}\n");
    assert_eq!(replaced.size, old.len() as u64, "the size is that of the file, not of the link");
    assert!(!left.exists(), "what an interrupted rewrite left is removed");
    fs::remove_file(&path).unwrap();
    engine.restore(&replaced).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), old);
}

#[test]
fn a_title_is_found_behind_and_before_any_amount_of_text() {
    let world = world();
    let folder = world.path();
    let engine = real(folder);
    let path = transcript(folder, SESSION);
    let text = |id: u32| message(&format!("x{id}"), SESSION).with("x", "x".repeat(1000)).to_string();
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
            fs::write(&path, message("m", &id(number)).to_string()).unwrap();
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
fn an_agent_works_where_its_session_does_unless_another_place_is_given() {
    let world = tempfile::tempdir().unwrap();
    let folder = world.path();
    let engine = real_at(folder);
    let line = |agent: Option<&str>, recording: Recording| -> (String, String) {
        let agent = agent.map(|agent| Agent::new(agent).unwrap());
        let recording = Recording { session: SESSION.into(), agent, ..recording };
        let mut recorder = engine.recorder(&recording).unwrap();
        recorder.append(vec![Draft::user("x")]).unwrap();
        recorder.flush().unwrap();
        let text = fs::read_to_string(recorder.target().path()).unwrap();
        let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        (text("cwd"), text("gitBranch"))
    };
    let given = |path: &Path| Recording { project: Some(path.to_owned()), ..Recording::default() };
    let worktree = |path: &Path| Recording { worktree: Some(path.to_owned()), ..Recording::default() };
    let checkout = |name: &str| {
        let path = resolve(&folder.join(name));
        fs::create_dir_all(path.join(".git")).unwrap();
        fs::write(path.join(".git/HEAD"), format!("ref: refs/heads/{name}-branch\n")).unwrap();
        path
    };
    let (home, tree) = (checkout("home"), checkout("tree"));
    let at = |path: &Path, branch: &str| (path.to_string_lossy().into_owned(), branch.to_owned());
    assert_eq!(line(None, given(&home)), at(&home, "home-branch"));
    // The branch is the session's, even if another one is checked out meanwhile.
    fs::write(home.join(".git/HEAD"), "ref: refs/heads/later\n").unwrap();
    assert_eq!(line(Some("a1"), Recording::default()), at(&home, "home-branch"));
    assert_eq!(line(Some("a2"), worktree(&tree)), at(&tree, "tree-branch"));
    assert_eq!(line(Some("a2"), Recording::default()), at(&tree, "tree-branch"), "it stays in its worktree");
    let both = Recording { project: Some(home.clone()), ..worktree(&tree) };
    assert_eq!(line(Some("a3"), both), at(&tree, "tree-branch"), "the worktree is where it works");
    assert_eq!(line(Some("a4"), given(&tree)), at(&tree, "tree-branch"));
    // A session takes the branch that is checked out now.
    assert_eq!(line(None, Recording::default()), at(&home, "later"));
}

/// Returns an engine on an empty folder.
fn real_at(folder: &Path) -> Engine {
    fs::create_dir_all(folder.join("root/projects")).unwrap();
    real(folder)
}

#[test]
fn recording_goes_on_where_the_session_lies_unless_that_is_in_doubt() {
    let world = world();
    let folder = world.path();
    let recording = |project: &Path| Recording {
        project: Some(project.to_owned()),
        session: SESSION.into(),
        entrypoint: "test".into(),
        ..Recording::default()
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

/// Processes as they are seen outside of any container.
const HOST: ProcessView = ProcessView { is_whole_machine: true, boot_time: 0 };
/// Processes as they are seen in a container.
const CONTAINER: ProcessView = ProcessView { is_whole_machine: false, boot_time: 1_000_000_000 };

#[test]
fn a_process_that_a_container_hides_leaves_it_unknown_whether_a_session_is_live() {
    let world = world();
    let folder = world.path();
    let registry = folder.join("root/sessions");
    fs::create_dir_all(&registry).unwrap();
    let note = |session: &str, started: u64| {
        fs::write(
            registry.join("1.json"),
            format!("{{\"pid\":{},\"sessionId\":\"{session}\",\"startedAt\":{started}000}}", i32::MAX),
        )
        .unwrap();
    };
    let engine = real(folder).with_processes(CONTAINER);
    note(SESSION, CONTAINER.boot_time + 1);
    let error = engine.delete(&session(folder), false).unwrap_err();
    assert!(error.is_live() && error.to_string().contains("container"), "{error}");
    assert!(engine.remove_entry(&session(folder), FIRST, 1000, false).unwrap_err().is_live());
    assert_eq!(tree(&folder.join("root/projects")), tree_of_projects());
    for (session_id, started) in [(SESSION, CONTAINER.boot_time - 1), (OTHER, CONTAINER.boot_time + 1)] {
        note(session_id, started);
        assert_eq!(engine.liveness(&session(folder)).unwrap(), Liveness::NotLive);
    }
    note(SESSION, CONTAINER.boot_time + 1);
    engine.delete(&session(folder), true).unwrap();
}

fn tree_of_projects() -> Tree {
    let folder = world();
    tree(&folder.path().join("root/projects"))
}

#[test]
fn a_registry_that_cannot_be_read_leaves_it_unknown_whether_a_session_is_live() {
    let world = world();
    let folder = world.path();
    let registry = folder.join("root/sessions");
    // Not a folder: no permission is needed to make it unreadable, which nothing is for root.
    fs::write(&registry, "").unwrap();
    let engine = real(folder).with_processes(HOST);
    let error = engine.delete(&session(folder), false).unwrap_err();
    assert!(error.is_live() && error.to_string().contains(&*registry.to_string_lossy()), "{error}");
    fs::remove_file(&registry).unwrap();
    assert_eq!(engine.liveness(&session(folder)).unwrap(), Liveness::NotLive);
    #[cfg(unix)]
    {
        fs::create_dir(&registry).unwrap();
        std::os::unix::fs::symlink("1.json", registry.join("1.json")).unwrap();
        let doubt = engine.liveness(&session(folder)).unwrap();
        assert!(
            matches!(&doubt, Liveness::Unknown(UnknownReason::Unreadable { path, .. }) if path.ends_with("1.json"))
        );
    }
    engine.delete(&session(folder), true).unwrap();
}

#[test]
fn a_session_that_two_processes_have_open_has_two_writers() {
    let world = world();
    let folder = world.path();
    let registry = folder.join("root/sessions");
    fs::create_dir_all(&registry).unwrap();
    let pid = std::process::id();
    let writers = || real(folder).session_row(&session(folder)).unwrap().writers;
    assert_eq!(writers(), 0);
    for count in 1..=2 {
        let record = format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\"}}");
        fs::write(registry.join(format!("{count}.json")), record).unwrap();
        assert_eq!(writers(), count);
    }
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
        (&format!("{dead}.json"), "not json".to_owned(), false),
        ("1.key", format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\",\"startedAt\":{now}}}"), false),
    ] {
        fs::write(registry.join(name), &note).unwrap();
        let expected = if live { Liveness::Live(LiveWriter::ClaudeCode { pid }) } else { Liveness::NotLive };
        let engine = real(folder).with_processes(HOST);
        assert_eq!(engine.liveness(&session(folder)).unwrap(), expected, "{note}");
        let deleted = engine.delete(&session(folder), false);
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
    assert_eq!(real(folder).liveness(&session(folder)).unwrap(), Liveness::NotLive);
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
    let fork = ForkOptions { title: Some("  ".into()), ..ForkOptions::default() };
    assert!(real(folder).fork(&session(folder), &fork).is_err());
    let fork = ForkOptions { title: Some(" 茶 ".into()), ..ForkOptions::default() };
    assert_eq!(real(folder).fork(&session(folder), &fork).unwrap().title, "茶");
}
