//! `sessions-index.json`: a list of sessions that some versions of Claude Code kept. If it exists, annals updates it when it
//! changes a session. annals never creates it and never reads it for anything else.

use std::fs;
use std::path::{Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::patch;
use annals_transcript::paths::SessionPaths;
use annals_transcript::write::rewrite;

use crate::engine::Engine;
use crate::error::Error;
use crate::files::TranscriptFile;

/// Returns the path of the list for a transcript.
fn path_beside(transcript: &Path) -> PathBuf {
    SessionPaths::of(transcript).sessions_index()
}

/// Writes the title of a session into the list.
pub(crate) fn set_title(engine: &Engine, file: &TranscriptFile, title: &str) -> Result<(), Error> {
    change(engine, file, |bytes, entry| {
        let changed = patch::set(entry.bytes(), "customTitle", &quote(title)).ok()?;
        Some(splice(bytes, entry, &changed))
    })
}

/// Returns the entry of a session in the list, as JSON.
pub(crate) fn entry(file: &TranscriptFile) -> Option<String> {
    let bytes = fs::read(path_beside(&file.path)).ok()?;
    let entry = find(&bytes, file.session.as_deref()?)?;
    String::from_utf8(entry.bytes().to_vec()).ok()
}

/// Removes a session from the list.
pub(crate) fn remove(engine: &Engine, file: &TranscriptFile) -> Result<(), Error> {
    change(engine, file, |bytes, entry| {
        let (start, end) = span(bytes, entry);
        // The comma after the entry is removed with it; for the last entry, the comma before.
        let behind = bytes[end..].iter().position(|byte| !byte.is_ascii_whitespace())? + end;
        if bytes[behind] == b',' {
            return Some([&bytes[..start], bytes[behind + 1..].trim_ascii_start()].concat());
        }
        let before = bytes[..start].trim_ascii_end();
        Some([before.strip_suffix(b",").unwrap_or(before), &bytes[end..]].concat())
    })
}

/// Adds the entry of a session to the end of the list, unless the list names the session.
pub(crate) fn restore(engine: &Engine, transcript: &Path, session: &str, entry: &str) -> Result<(), Error> {
    update(engine, transcript, |bytes| {
        let list = Value::new(bytes)?.get("entries").filter(|list| list.is_array())?;
        if find(bytes, session).is_some() {
            return None;
        }
        let mut items: Vec<&[u8]> = list.items().map(Value::bytes).collect();
        items.push(entry.as_bytes());
        Some(splice(bytes, list, &[b"[", &items.join(&b","[..])[..], b"]"].concat()))
    })
}

/// Adds a copy of a session to the list, if the list names the original.
pub(crate) fn add_copy(
    engine: &Engine,
    original: &TranscriptFile,
    path: &Path,
    session: &str,
    title: &str,
) -> Result<(), Error> {
    let Some(entry) = entry(original) else { return Ok(()) };
    let facts = [("sessionId", session), ("fullPath", &*path.to_string_lossy()), ("customTitle", title)];
    let copy = facts.iter().fold(entry.into_bytes(), |entry, (key, value)| {
        patch::set(&entry, key, &quote(value)).unwrap_or(entry)
    });
    restore(engine, path, session, &String::from_utf8_lossy(&copy))
}

/// Changes the list if it names the session.
fn change(
    engine: &Engine,
    file: &TranscriptFile,
    change: impl FnOnce(&[u8], Value<'_>) -> Option<Vec<u8>>,
) -> Result<(), Error> {
    let session = file.session.as_deref().unwrap_or_default();
    update(engine, &file.path, |bytes| change(bytes, find(bytes, session)?))
}

/// Changes the list if it exists.
fn update(
    engine: &Engine,
    transcript: &Path,
    change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<(), Error> {
    let path = path_beside(transcript);
    if !path.is_file() {
        return Ok(());
    }
    Ok(rewrite::update(&**engine.disk(), &path, |bytes| change(bytes?))?)
}

fn find<'a>(bytes: &'a [u8], session: &str) -> Option<Value<'a>> {
    let entries = Value::new(bytes)?.get("entries")?;
    entries.items().find(|entry| entry.text("sessionId").is_some_and(|id| id == session))
}

/// Returns start and end of a value in the bytes that it was found in.
fn span(bytes: &[u8], value: Value<'_>) -> (usize, usize) {
    let start = value.bytes().as_ptr().addr() - bytes.as_ptr().addr();
    (start, start + value.bytes().len())
}

fn splice(bytes: &[u8], value: Value<'_>, new: &[u8]) -> Vec<u8> {
    let (start, end) = span(bytes, value);
    [&bytes[..start], new, &bytes[end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Home, Roots};

    const COPY: &str = "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    const FIRST: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn other_sessions_keep_their_bytes() {
        let home = tempfile::tempdir().unwrap();
        let engine = Engine::open(Roots::default(), Home::at("none"));
        let path = home.path().join("sessions-index.json");
        let file = TranscriptFile::at(&home.path().join(format!("{FIRST}.jsonl")));
        let ours = format!("{{ \"sessionId\": \"{FIRST}\", \"n\": 1.50 }}");
        let list = |entries: &str| format!("{{\n  \"version\": 1,\n  \"entries\": [{entries}]\n}}\n");
        let other = "{\"sessionId\":\"x\"}";
        for (before, removed) in [
            (list(&format!("{ours}, {other}")), list(other)),
            (list(&format!("{other}, {ours} ")), list(&format!("{other} "))),
            (list(&ours), list("")),
        ] {
            fs::write(&path, &before).unwrap();
            set_title(&engine, &file, "天气").unwrap();
            let titled = format!("{{ \"sessionId\": \"{FIRST}\", \"n\": 1.50,\"customTitle\":\"天气\" }}");
            assert_eq!(fs::read_to_string(&path).unwrap(), before.replace(&ours, &titled));
            let kept = entry(&file).unwrap();
            assert_eq!(kept, titled);
            remove(&engine, &file).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), removed);
            assert_eq!(entry(&file), None);
            restore(&engine, &file.path, FIRST, &kept).unwrap();
            restore(&engine, &file.path, FIRST, &kept).unwrap();
            assert_eq!(entry(&file), Some(kept));
            let copy = TranscriptFile::at(&home.path().join(format!("{COPY}.jsonl")));
            add_copy(&engine, &file, &copy.path, COPY, "copied").unwrap();
            let added = entry(&copy).unwrap();
            assert!(added.contains("\"n\": 1.50") && added.contains("\"customTitle\":\"copied\""), "{added}");
            assert!(entry(&file).unwrap().contains("天气"));
        }
        fs::write(&path, "not json").unwrap();
        set_title(&engine, &file, "x").unwrap();
        remove(&engine, &file).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "not json");
    }
}
