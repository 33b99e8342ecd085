//! Every transcript at hand is read without a panic and gives its bytes back.

use std::collections::BTreeSet;
use std::fs;
use std::io::Cursor;

use annals_transcript::content::Block;
use annals_transcript::entry::view::{Assistant, Attachment, System, ToolUseResult, User};
use annals_transcript::item::{self, Item, Part};
use annals_transcript::lite::Lite;
use annals_transcript::session::Session;
use annals_transcript::{Entry, Kind, Reader, patch, prompt};
use testkit::corpora;

#[test]
fn every_transcript_gives_its_bytes_back() {
    for path in corpora::transcripts() {
        let file = fs::read(&path).unwrap();
        let mut reader = Reader::new(&file[..]);
        let mut bytes = Vec::with_capacity(file.len());
        let mut lines = 0;
        while let Some(entry) = reader.read().unwrap() {
            assert_eq!(entry.at().offset, bytes.len() as u64, "{}", path.display());
            bytes.extend_from_slice(entry.bytes());
            lines = entry.last_line();
        }
        assert_eq!(bytes, file, "{}", path.display());
        let newlines = memchr::memchr_iter(b'\n', &file).count() as u64;
        let torn = u64::from(!file.is_empty() && !file.ends_with(b"\n"));
        assert_eq!(lines, newlines + torn, "{}", path.display());
    }
}

#[test]
fn every_view_of_every_entry_can_be_read() {
    for path in corpora::transcripts() {
        let file = fs::read(&path).unwrap();
        let mut reader = Reader::new(&file[..]);
        while let Some(entry) = reader.read().unwrap() {
            read_views(&entry);
        }
        let lite = Lite::read(&mut Cursor::new(&file), file.len() as u64).unwrap();
        assert_eq!(lite.size, file.len() as u64);
    }
}

/// Outputs read only the entries whose nodes say that they may be visible. [`Item::of`] finds nothing in the others.
#[test]
fn no_entry_is_more_visible_than_its_node_says() {
    let mut shown = BTreeSet::new();
    for path in corpora::transcripts() {
        let file = fs::read(&path).unwrap();
        let session = Session::read(&file[..]).unwrap();
        for node in session.nodes() {
            let start = usize::try_from(node.at.offset).unwrap();
            let entry = Entry::new(&file[start..start + usize::try_from(node.length).unwrap()]);
            let item = Item::of(&entry);
            let bound = item::most_visible(node.kind, |flag| node.has(flag));
            for part in item.parts.iter().filter(|part| !matches!(part, Part::Result(_))) {
                assert!(item.visibility_of(part) >= bound, "{}, line {}", path.display(), node.at.line);
            }
            assert!(item.parts.is_empty() || item::may_have_parts(node.kind), "{:?}", node.kind);
            shown.extend(item.parts.first().map(|_| node.kind));
        }
    }
    let bounded: BTreeSet<_> = Kind::ALL.iter().copied().filter(|&kind| item::may_have_parts(kind)).collect();
    assert_eq!(shown, bounded, "the corpus has an entry with parts of each of these kinds, and of no other");
    assert!(!item::may_have_parts(Kind::Other) && !item::may_have_parts(Kind::Noise));
}

#[test]
fn lite_reads_of_small_files_agree_with_whole_reads() {
    for path in corpora::transcripts() {
        let file = fs::read(&path).unwrap();
        let lite = Lite::read(&mut Cursor::new(&file), file.len() as u64).unwrap();
        if !lite.whole {
            continue;
        }
        let (mut times, mut first_prompt) = (Vec::new(), None);
        let mut reader = Reader::new(&file[..]);
        while let Some(entry) = reader.read().unwrap() {
            times.extend(entry.head().time());
            first_prompt =
                first_prompt.or_else(|| prompt::own_words(&entry).map(std::borrow::Cow::into_owned));
        }
        assert_eq!(lite.first_at, times.iter().min().copied(), "{}", path.display());
        assert_eq!(lite.last_at, times.iter().max().copied(), "{}", path.display());
        assert_eq!(lite.first_prompt, first_prompt, "{}", path.display());
    }
}

#[test]
fn a_patch_changes_one_value_of_any_entry() {
    for path in corpora::transcripts() {
        let file = fs::read(&path).unwrap();
        let mut reader = Reader::new(&file[..]);
        while let Some(entry) = reader.read().unwrap() {
            if entry.problem().is_some() {
                continue;
            }
            let patched = patch::set(entry.bytes(), "sessionId", "\"patched\"").unwrap();
            let body = Entry::new(&patched).body().unwrap();
            assert_eq!(body.text("sessionId").unwrap(), "patched", "{} {}", path.display(), entry.at());
            let others = |bytes| {
                let members = Entry::new(bytes).body().unwrap().members();
                members
                    .filter(|(key, _)| key != "sessionId")
                    .map(|(_, value)| value.bytes())
                    .collect::<Vec<_>>()
            };
            assert_eq!(others(&patched), others(entry.bytes()), "{} {}", path.display(), entry.at());
        }
    }
}

/// Reads whatever the views of an entry offer, blocks inside blocks included.
fn read_views(entry: &Entry<'_>) {
    let content = match entry.kind() {
        Kind::User => entry.view::<User>().map(|user| {
            let _ = (user.origin(), entry.tool_use_result().map(ToolUseResult::spilled_output));
            entry.content()
        }),
        Kind::Assistant => entry.view::<Assistant>().map(|reply| {
            let _ = (reply.model(), reply.usage().map(|usage| usage.cache_creation_1h_tokens()));
            entry.content()
        }),
        Kind::Attachment => {
            entry.view::<Attachment>().and_then(|it| it.queued_command()).map(|it| it.prompt())
        }
        _ => {
            let _ = entry.view::<System>().map(|system| system.kind());
            None
        }
    };
    for block in content.into_iter().flat_map(annals_transcript::content::Content::blocks) {
        if let Block::ToolResult(result) = block {
            let _ = (result.content().text(), result.content().blocks().count());
        }
    }
    let _ = (entry.verify(), entry.head().time(), prompt::own_words(entry));
}
