//! The tail of one session for one subscription: whole lines from an offset on.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

use annals_engine::{SymlinkGuard, Tail, TranscriptFile};
use annals_proto::AppendedNotice;
use annals_transcript::checkpoint::Change;
use annals_transcript::file_state::FileState;
use annals_transcript::session::Session;

use super::ReadOutcome;
use super::recent::{Buffered, LineBuffer};
use crate::budget::MAX_UNBUDGETED_BYTES;
use annals_api::LONGEST_ITEM;
use annals_api::rpc::Error;
use annals_api::to_wire::ToWire;

/// How many bytes of lines are reported together; a longer line is reported alone.
pub(super) const BATCH_BYTES: u64 = MAX_UNBUDGETED_BYTES as u64;

/// What happened to a file since the last read.
#[derive(Debug)]
pub(crate) enum TailEvent {
    /// Whole lines were appended.
    Lines(Vec<u8>),
    /// The file was replaced or truncated.
    Replaced,
    Removed,
    /// Something was changed that lists show and that need not be in the file, such as a title beside it.
    DescriptionChanged,
}

/// How far a session was reported to a subscription.
#[derive(Debug)]
pub(super) struct SessionTail {
    file: TranscriptFile,
    subscription: String,
    guard: SymlinkGuard,
    tail: Tail,
    /// Lines that another subscription may have read already.
    buffer: Arc<LineBuffer>,
    /// The end of the last line that was reported.
    offset: u64,
    /// Whether the subscriber gave an offset at which no line starts. The file is then reported as replaced.
    is_offset_invalid: bool,
    is_removal_reported: bool,
}

impl SessionTail {
    /// Starts at an offset, or else at the end of the last whole line.
    pub(super) fn new(
        file: TranscriptFile,
        guard: SymlinkGuard,
        subscription: String,
        offset: Option<u64>,
    ) -> Result<Self, annals_engine::Error> {
        let tail = match offset {
            None => tail_at_end(&file.path).map(Some),
            Some(offset) => tail_at_line(&file.path, offset),
        };
        let tail = tail.map_err(|source| annals_engine::Error::read(&file.path, source))?;
        let is_offset_invalid = tail.is_none();
        let tail = tail.unwrap_or_default();
        let offset = offset.unwrap_or_else(|| tail.checkpoint().offset());
        let buffer = Arc::default();
        Ok(Self {
            file,
            subscription,
            guard,
            tail,
            buffer,
            offset,
            is_offset_invalid,
            is_removal_reported: false,
        })
    }

    /// Shares a buffer with the other subscriptions of the same file.
    pub(super) fn share(&mut self, buffer: Arc<LineBuffer>) {
        self.buffer = buffer;
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next event as a notice, if it has no more than `limit` bytes of lines. An error is reported as nothing,
    /// and the read is repeated when the file changes again.
    pub(super) fn read(&mut self, limit: u64) -> ReadOutcome<AppendedNotice> {
        self.try_read(limit).unwrap_or(ReadOutcome::Nothing)
    }

    /// Returns the next event itself, in the same way. After a replacement it goes on at the end of the new file.
    pub(super) fn read_event(&mut self, limit: u64) -> ReadOutcome<TailEvent> {
        let event = self.try_read_event(limit).unwrap_or(ReadOutcome::Nothing);
        match &event {
            ReadOutcome::Ready(TailEvent::Lines(lines)) => self.offset += lines.len() as u64,
            ReadOutcome::Ready(TailEvent::Replaced) => self.move_to_end(),
            ReadOutcome::Ready(TailEvent::Removed | TailEvent::DescriptionChanged)
            | ReadOutcome::Nothing
            | ReadOutcome::OverLimit(_) => {}
        }
        event
    }

    /// Skips all lines of the file; goes on at its start if it cannot be read now.
    fn move_to_end(&mut self) {
        let opened = self.guard.open(&self.file.path).ok().flatten();
        let tail = opened.and_then(|(mut source, state)| Tail::at_end(&mut source, &state).ok());
        self.restart_at(tail.unwrap_or_default());
    }

    fn try_read(&mut self, limit: u64) -> Result<ReadOutcome<AppendedNotice>, Error> {
        let event = match self.try_read_event(limit)? {
            ReadOutcome::Nothing => return Ok(ReadOutcome::Nothing),
            ReadOutcome::OverLimit(length) => return Ok(ReadOutcome::OverLimit(length)),
            ReadOutcome::Ready(event) => event,
        };
        let notice = match event {
            // If the notice cannot be built, the lines are read again next time.
            TailEvent::Lines(lines) => {
                self.appended(&lines).inspect_err(|_| self.tail.skip_to(self.offset))?
            }
            TailEvent::Replaced => AppendedNotice { reset: true, ..self.notice() },
            TailEvent::Removed => AppendedNotice { reset: true, gone: true, ..self.notice() },
            TailEvent::DescriptionChanged => return Ok(ReadOutcome::Nothing),
        };
        Ok(ReadOutcome::Ready(notice))
    }

    fn try_read_event(&mut self, limit: u64) -> Result<ReadOutcome<TailEvent>, Error> {
        let event = self.find_event(limit);
        Ok(event.map_err(|source| annals_engine::Error::read(&self.file.path, source))?)
    }

    fn find_event(&mut self, limit: u64) -> io::Result<ReadOutcome<TailEvent>> {
        if let Some(event) = self.take_buffered()? {
            return Ok(event);
        }
        let Some((mut source, state)) = self.guard.open(&self.file.path)? else {
            return Ok(self.report_removal());
        };
        if self.is_offset_invalid || self.tail.compare(&mut source, &state)? == Change::Replaced {
            self.restart_at(Tail::at_start(&state));
            return Ok(ReadOutcome::Ready(TailEvent::Replaced));
        }
        self.is_removal_reported = false;
        self.read_lines(&mut source, &state, limit)
    }

    /// Reports that the file is not there any more, once.
    fn report_removal(&mut self) -> ReadOutcome<TailEvent> {
        self.restart_at(Tail::default());
        let was_reported = std::mem::replace(&mut self.is_removal_reported, true);
        if was_reported { ReadOutcome::Nothing } else { ReadOutcome::Ready(TailEvent::Removed) }
    }

    /// Reads the next lines of the open file and moves the checkpoint to their end.
    fn read_lines(
        &mut self,
        source: &mut File,
        state: &FileState,
        limit: u64,
    ) -> io::Result<ReadOutcome<TailEvent>> {
        let Some(mut lines) = self.tail.find_lines(source, state.length, BATCH_BYTES)? else {
            return Ok(ReadOutcome::Nothing);
        };
        if lines.len() > limit {
            return Ok(ReadOutcome::OverLimit(lines.len()));
        }
        let before = *self.tail.checkpoint();
        let mut hasher = DefaultHasher::new();
        hasher.write(lines.read(source)?);
        let advanced = self.tail.advance(source, state, &lines, hasher.finish());
        // After an error the lines are not reported, so they are read again next time.
        let advanced = advanced.inspect_err(|_| self.tail = Tail::new(before));
        if !advanced? {
            self.restart_at(Tail::at_start(state));
            return Ok(ReadOutcome::Ready(TailEvent::Replaced));
        }
        let bytes = lines.into_bytes();
        if self.is_shared() {
            self.buffer.put(state, before, *self.tail.checkpoint(), &bytes);
        }
        Ok(ReadOutcome::Ready(TailEvent::Lines(bytes)))
    }

    /// Returns what another subscription has read already, if the file has not changed since; `None` if the file has to be
    /// read.
    fn take_buffered(&mut self) -> io::Result<Option<ReadOutcome<TailEvent>>> {
        if !self.is_shared() || self.is_offset_invalid || self.is_removal_reported {
            return Ok(None);
        }
        let Some(state) = FileState::of(&self.file.path)? else { return Ok(None) };
        Ok(match self.buffer.next(&state, self.tail.checkpoint()) {
            Some(Buffered::Lines(lines, checkpoint)) => {
                self.tail = Tail::new(checkpoint);
                Some(ReadOutcome::Ready(TailEvent::Lines(lines)))
            }
            Some(Buffered::End) => Some(ReadOutcome::Nothing),
            None => None,
        })
    }

    fn is_shared(&self) -> bool {
        Arc::strong_count(&self.buffer) > 1
    }

    fn restart_at(&mut self, tail: Tail) {
        (self.offset, self.tail, self.is_offset_invalid) = (tail.checkpoint().offset(), tail, false);
    }

    /// Builds the notice of appended lines.
    fn appended(&mut self, lines: &[u8]) -> Result<AppendedNotice, Error> {
        let session = Session::read(lines);
        let session = session.map_err(|source| annals_engine::Error::read(&self.file.path, source))?;
        let to_wire = ToWire::of_lines(&self.file, &session, lines).cut_above(LONGEST_ITEM);
        let items = (0..session.nodes().len()).map(|index| to_wire.entry_alone(index));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        let offset = self.offset;
        self.offset += lines.len() as u64;
        Ok(AppendedNotice { items, offset, ..self.notice() })
    }

    fn notice(&self) -> AppendedNotice {
        AppendedNotice {
            session_id: self.file.session.clone().unwrap_or_default(),
            agent_id: self.file.agent.clone(),
            subscription: self.subscription.clone(),
            offset: self.offset,
            next_offset: self.offset,
            ..AppendedNotice::default()
        }
    }
}

/// Returns a tail at the end of the last whole line of a file. Fails if the file does not exist.
fn tail_at_end(path: &Path) -> io::Result<Tail> {
    FileState::of(path)?.ok_or(io::ErrorKind::NotFound)?;
    let mut source = File::open(path)?;
    let state = source.metadata()?.into();
    Tail::at_end(&mut source, &state)
}

/// Returns a tail at an offset of a file; `None` if no line starts there. A file that does not exist has offset 0 only.
fn tail_at_line(path: &Path, offset: u64) -> io::Result<Option<Tail>> {
    if FileState::of(path)?.is_none() {
        return Ok((offset == 0).then(Tail::default));
    }
    let mut source = File::open(path)?;
    let state = source.metadata()?.into();
    Tail::at_line(&mut source, &state, offset)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    use annals_engine::{Engine, Home, Roots};
    use annals_proto::{ItemBody, ToolState};

    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    /// Returns a guard that allows only files in this folder.
    fn guard(folder: &Path) -> SymlinkGuard {
        fs::create_dir_all(folder.join("projects")).unwrap();
        let roots = Roots::given(vec![folder.to_owned()]).unwrap();
        Engine::open(roots, Home::at(folder)).symlink_guard()
    }

    fn line(number: usize) -> String {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{number}\",\"message\":{{\"content\":\"天气 {number}\"}}}}\n"
        )
    }

    /// Reads without a limit.
    fn read(tail: &mut SessionTail) -> Option<AppendedNotice> {
        match tail.read(u64::MAX) {
            ReadOutcome::Ready(notice) => Some(notice),
            ReadOutcome::Nothing | ReadOutcome::OverLimit(_) => None,
        }
    }

    fn uuids(notice: &AppendedNotice) -> Vec<String> {
        notice.items.iter().filter_map(|item| item.body.entry()?.uuid.clone()).collect()
    }

    #[test]
    fn lines_written_in_pieces_are_reported_whole_in_order_and_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("projects")).unwrap();
        let path = folder.path().join("projects").join(format!("{SESSION}.jsonl"));
        fs::write(&path, line(0)).unwrap();
        for size in [1, 7, 100, 1000] {
            fs::write(&path, line(0)).unwrap();
            let mut tail =
                SessionTail::new(TranscriptFile::at(&path), guard(folder.path()), "s1".to_owned(), None)
                    .unwrap();
            assert!(read(&mut tail).is_none(), "nothing was appended yet");
            let lines: Vec<u8> = (1..50).flat_map(|number| line(number).into_bytes()).collect();
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            let (mut reported, mut offset) = (Vec::new(), tail.offset());
            for piece in lines.chunks(size) {
                file.write_all(piece).unwrap();
                while let Some(notice) = read(&mut tail) {
                    assert_eq!((notice.offset, notice.reset), (offset, false));
                    offset = notice.next_offset;
                    reported.extend(uuids(&notice));
                }
            }
            let expected: Vec<_> = (1..50).map(|number| format!("u{number}")).collect();
            assert_eq!((reported, offset), (expected, fs::metadata(&path).unwrap().len()), "{size}");
        }
    }

    /// What a notice says: whether the file was replaced, whether it is gone, and which entries were appended.
    type NoticeFacts = (bool, bool, Vec<String>);

    const RESET: NoticeFacts = (true, false, Vec::new());
    const GONE: NoticeFacts = (true, true, Vec::new());

    fn appended(uuids: &[&str]) -> NoticeFacts {
        (false, false, uuids.iter().map(ToString::to_string).collect())
    }

    fn next(tail: &mut SessionTail) -> NoticeFacts {
        let notice = read(tail).unwrap();
        (notice.reset, notice.gone, uuids(&notice))
    }

    #[test]
    fn a_file_that_is_replaced_truncated_or_removed_is_reported_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("projects")).unwrap();
        let path = folder.path().join("projects").join(format!("{SESSION}.jsonl"));
        fs::write(&path, line(1) + &line(2)).unwrap();
        let mut tail =
            SessionTail::new(TranscriptFile::at(&path), guard(folder.path()), "s1".to_owned(), None).unwrap();
        fs::write(&path, line(3)).unwrap();
        assert_eq!(next(&mut tail), RESET);
        assert_eq!(next(&mut tail), appended(&["u3"]));
        let other = folder.path().join("other");
        fs::write(&other, line(4) + &line(5)).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(next(&mut tail), RESET);
        assert_eq!(next(&mut tail), appended(&["u4", "u5"]));
        // The new file is longer, and no line starts at the old offset.
        fs::write(&path, line(100) + &line(1000) + &line(7)).unwrap();
        assert_eq!(next(&mut tail), RESET);
        assert_eq!(next(&mut tail), appended(&["u100", "u1000", "u7"]));
        // The new file is longer, and a line starts at the old offset.
        fs::write(&path, line(200) + &line(2000) + &line(8) + &line(9)).unwrap();
        assert_eq!(next(&mut tail), RESET);
        assert_eq!(next(&mut tail), appended(&["u200", "u2000", "u8", "u9"]));
        fs::remove_file(&path).unwrap();
        assert_eq!(next(&mut tail), GONE);
        fs::write(&path, line(8)).unwrap();
        assert_eq!(next(&mut tail), appended(&["u8"]));
        assert!(read(&mut tail).is_none());
    }

    #[test]
    fn half_a_line_that_is_removed_again_hides_no_later_line() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("projects")).unwrap();
        let path = folder.path().join("projects").join(format!("{SESSION}.jsonl"));
        fs::write(&path, line(1)).unwrap();
        let mut tail =
            SessionTail::new(TranscriptFile::at(&path), guard(folder.path()), "s1".to_owned(), None).unwrap();
        fs::write(&path, line(1) + "{\"half\": \"" + &"x".repeat(1000)).unwrap();
        assert!(read(&mut tail).is_none());
        for longer in [0, 10_000] {
            fs::write(&path, line(1)).unwrap();
            fs::write(&path, line(1) + &line(2) + &"y".repeat(longer)).unwrap();
            assert_eq!(uuids(&read(&mut tail).unwrap()), ["u2"], "{longer}");
            tail = SessionTail::new(
                TranscriptFile::at(&path),
                guard(folder.path()),
                "s1".to_owned(),
                Some(line(1).len() as u64),
            )
            .unwrap();
            fs::write(&path, line(1) + "{\"half\": \"" + &"x".repeat(1000)).unwrap();
            assert!(read(&mut tail).is_none());
        }
    }

    #[test]
    fn subscriptions_of_one_file_get_the_same_notices_whichever_reads_first() {
        let folder = tempfile::tempdir().unwrap();
        let guard = guard(folder.path());
        let path = folder.path().join("projects").join(format!("{SESSION}.jsonl"));
        fs::write(&path, line(0)).unwrap();
        let buffer = Arc::<LineBuffer>::default();
        let [mut first, mut second, mut late] = [(); 3].map(|()| {
            let file = TranscriptFile::at(&path);
            let mut tail = SessionTail::new(file, guard.clone(), "s1".to_owned(), None).unwrap();
            tail.share(buffer.clone());
            tail
        });
        let mut file = fs::File::options().append(true).open(&path).unwrap();
        for number in 1..20 {
            file.write_all(line(number).as_bytes()).unwrap();
            let notice = read(&mut first).unwrap();
            let state = FileState::of(&path).unwrap().unwrap();
            let next = buffer.next(&state, second.tail.checkpoint());
            assert!(matches!(next, Some(Buffered::Lines(..))), "{next:?}");
            assert_eq!(buffer.next(&state, first.tail.checkpoint()), Some(Buffered::End));
            assert_eq!(buffer.next(&state, late.tail.checkpoint()).is_some(), number == 1);
            assert_eq!(format!("{:?}", read(&mut second)), format!("{:?}", Some(notice)));
            assert!(read(&mut first).is_none() && read(&mut second).is_none());
        }
        let mut reported = Vec::new();
        while let Some(notice) = read(&mut late) {
            reported.extend(uuids(&notice));
        }
        assert_eq!(reported, (1..20).map(|number| format!("u{number}")).collect::<Vec<_>>());
        // Lines that were read before the file was replaced are not reported after it.
        file.write_all(line(20).as_bytes()).unwrap();
        assert_eq!(uuids(&read(&mut first).unwrap()), ["u20"]);
        fs::write(&path, line(21)).unwrap();
        for tail in [&mut second, &mut first] {
            assert!(read(tail).unwrap().reset);
            assert_eq!(uuids(&read(tail).unwrap()), ["u21"]);
        }
        fs::remove_file(&path).unwrap();
        assert!(read(&mut first).unwrap().gone && read(&mut second).unwrap().gone);
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_out_of_the_config_folder_is_reported_as_removed() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("projects")).unwrap();
        let path = folder.path().join("projects").join(format!("{SESSION}.jsonl"));
        fs::write(&path, line(1)).unwrap();
        let mut tail =
            SessionTail::new(TranscriptFile::at(&path), guard(folder.path()), "s1".to_owned(), None).unwrap();
        let secret = outside.path().join("secret.jsonl");
        fs::write(&secret, line(1) + &line(2)).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        let notice = read(&mut tail).unwrap();
        assert!(notice.gone && notice.items.is_empty());
        assert!(read(&mut tail).is_none());
    }

    #[test]
    fn an_offset_in_the_middle_of_a_line_resets_the_subscription() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("projects")).unwrap();
        let path = folder.path().join("projects").join(format!("{SESSION}.jsonl"));
        fs::write(&path, line(1) + &line(2)).unwrap();
        let first = line(1).len() as u64;
        for offset in [first, 1, first - 1, first + 1, 1 << 40, u64::MAX] {
            let file = TranscriptFile::at(&path);
            let mut tail =
                SessionTail::new(file, guard(folder.path()), "s1".to_owned(), Some(offset)).unwrap();
            let notice = read(&mut tail).unwrap();
            assert_eq!(notice.reset, offset != first, "{offset}");
            if offset == first {
                assert_eq!(uuids(&notice), ["u2"]);
                assert_eq!(notice.next_offset, fs::metadata(&path).unwrap().len());
            }
        }
    }

    #[test]
    fn items_are_built_from_their_entries_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("projects")).unwrap();
        let path = folder.path().join("projects").join(format!("{SESSION}.jsonl"));
        let call = r#"{"type":"assistant","uuid":"a","message":{"id":"m","content":[{"type":"text","text":"Hm"},{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}"#;
        fs::write(&path, format!("{call}\nnot json\n")).unwrap();
        let mut tail =
            SessionTail::new(TranscriptFile::at(&path), guard(folder.path()), "s1".to_owned(), Some(0))
                .unwrap();
        let items = read(&mut tail).unwrap().items;
        let [call, damage] = &items[..] else { panic!("{items:?}") };
        let ItemBody::Message(entry) = &call.body else { panic!("{call:?}") };
        let tool = entry.tool.as_ref().unwrap();
        assert_eq!(
            (tool.name.as_deref(), tool.state, entry.parts.len()),
            (Some("Bash"), ToolState::Pending, 2)
        );
        assert_eq!((entry.turn, call.live, entry.line), (None, None, None));
        assert!(matches!(damage.body, ItemBody::Damage(_)));
    }
}
