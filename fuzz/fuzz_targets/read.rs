//! Any bytes are read into entries that give them back, and every view can be asked for.

#![no_main]

use std::io::Cursor;

use annals_transcript::content::{Block, Content};
use annals_transcript::entry::view::{Assistant, Attachment, System, User};
use annals_transcript::lite::{self, Lite};
use annals_transcript::{Entry, Kind, Reader, project, prompt};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let mut reader = Reader::new(file);
    let mut offset = 0;
    while let Some(entry) = reader.read().expect("a slice can be read") {
        assert_eq!(entry.at().offset, offset as u64);
        assert_eq!(entry.bytes(), &file[offset..offset + entry.bytes().len()]);
        assert!(!entry.bytes().is_empty());
        assert_eq!(entry.kind() == Kind::Noise, entry.body().is_none());
        offset += entry.bytes().len();
        read_views(&entry);
    }
    assert_eq!(offset, file.len());
    let lite = Lite::read(&mut Cursor::new(file), file.len() as u64).expect("a slice can be read");
    assert_eq!(lite.size, file.len() as u64);
    let _ = (lite::field_without_end(file, "type"), lite::field_without_beginning(file, "type"), project::is_transcript(file));
});

fn read_views(entry: &Entry<'_>) {
    let _ = (entry.verify(), entry.head().time(), prompt::own_words(entry));
    if let Some(user) = entry.view::<User>() {
        let _ = (user.origin(), entry.tool_use_result().and_then(|result| result.spilled_output()));
    }
    if let Some(reply) = entry.view::<Assistant>() {
        let _ = (reply.model(), reply.usage().map(|usage| usage.thinking_tokens()));
    }
    read_content(entry.content());
    let _ = entry.view::<System>().map(|system| system.kind());
    if let Some(queued) = entry.view::<Attachment>().and_then(|attachment| attachment.queued_command()) {
        read_content(queued.prompt());
    }
}

fn read_content(content: Content<'_>) {
    let _ = content.text();
    for block in content.blocks() {
        let _ = block.type_name();
        if let Block::ToolResult(result) = block {
            let _ = result.content().blocks().count();
        }
    }
}
