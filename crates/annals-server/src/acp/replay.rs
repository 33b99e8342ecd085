//! Opening a session: it is replayed from its start in batches, so that a long session takes no more memory than a short
//! one, and then followed.

use annals_engine::{TranscriptFile, end_of_lines};
use annals_proto::acp::{OpenParams, OpenState, RequestMeta};
use annals_transcript::Flag;
use annals_transcript::full_view::Step;
use annals_transcript::item;
use annals_transcript::session::{BlockKind, Node};
use annals_transcript::tool::Call;
use std::sync::Arc;

use super::follow::SessionFollower;
use super::update_message;
use super::updates::UpdateBuilder;
use crate::budget::Reservation;
use crate::protocol::Peer;
use crate::server::{Server, cancellation};
use crate::watch::Topic;
use annals_api::CancelToken;
use annals_api::Masking;
use annals_api::OpenSession;
use annals_api::PageCursor;
use annals_api::rpc::Error;

/// A batch ends when it has this many messages or bytes.
const MAX_BATCH_MESSAGES: usize = 256;
const MAX_BATCH_BYTES: usize = 1 << 20;
/// The letter that marks cursors of this module.
const CURSOR_KIND: char = 'a';

/// Opens a session for a request.
pub(super) struct SessionOpener {
    pub(super) server: Arc<Server>,
    pub(super) params: OpenParams,
    pub(super) knows_compactions: bool,
    pub(super) peer: Peer,
}

/// How far a session was replayed.
#[derive(Default)]
struct Replay {
    session: String,
    builder: UpdateBuilder,
    /// Where the next batch begins; `None` before the first and after the last.
    next: Option<PageCursor>,
    /// The offset at which following begins.
    offset: u64,
    /// The uuids of entries that were replayed although their lines have no end yet, so that following does not report them
    /// again.
    unfinished: Vec<String>,
    messages: Vec<String>,
}

impl SessionOpener {
    /// Replays the conversation, and prepares to follow where the replay ended.
    pub(super) async fn load(self) -> Result<(SessionFollower, OpenState), Error> {
        let file = self.file().await?;
        let builder = UpdateBuilder::new(self.knows_compactions, self.masking()?);
        let mut replay = Replay { session: self.params.session_id.clone(), builder, ..Replay::default() };
        loop {
            let _reservation = self.reserve_batch().await?;
            let (file, cancelled) = (file.clone(), self.peer.cancelled.clone());
            replay = self.work(move |server| server.acp_replay_batch(&file, replay, cancelled)).await?;
            for message in std::mem::take(&mut replay.messages) {
                self.peer.send(message).await?;
            }
            if replay.next.is_none() {
                break;
            }
        }
        let Replay { session, builder, offset, unfinished, .. } = replay;
        let (mut follower, opened) = self.follow(session, file, Some(offset), builder, unfinished).await?;
        let (messages, follower) = self.work(move |_| Ok((follower.changed_info()?, follower))).await?;
        for message in messages {
            self.peer.send(message).await?;
        }
        Ok((follower, opened))
    }

    /// Prepares to follow from the end of the file.
    pub(super) async fn resume(self) -> Result<(SessionFollower, OpenState), Error> {
        let file = self.file().await?;
        let builder = UpdateBuilder::starting_midway(self.knows_compactions, self.masking()?);
        let session = self.params.session_id.clone();
        let (mut follower, opened) = self.follow(session, file, None, builder, Vec::new()).await?;
        // The client knows title and usage from elsewhere, so they are recorded as reported and not sent.
        self.work(move |_| follower.changed_info().map(|_| (follower, opened))).await
    }

    /// Subscribes to the transcript from an offset on.
    async fn follow(
        &self,
        session: String,
        file: TranscriptFile,
        offset: Option<u64>,
        builder: UpdateBuilder,
        unfinished: Vec<String>,
    ) -> Result<(SessionFollower, OpenState), Error> {
        self.work(move |server| {
            let subscription = server.hub.subscribe(Topic::Session { file: file.clone(), offset }, None)?;
            let opened =
                OpenState { offset: subscription.offset().unwrap_or_default(), subagents: file.subagents() };
            let engine = server.api.engine().clone();
            Ok((SessionFollower::new(engine, session, file, subscription, builder, unfinished), opened))
        })
        .await
    }

    /// Returns how the session is masked; `None` if the client asks to see everything, and may.
    fn masking(&self) -> Result<Option<Masking>, Error> {
        self.server.api.masking(RequestMeta::reveal(self.params.meta))
    }

    /// Returns the transcript; fails if the session cannot be opened.
    pub(super) async fn file(&self) -> Result<TranscriptFile, Error> {
        self.masking()?;
        let params = self.params.clone();
        self.work(move |server| server.acp_session(&params)).await
    }

    /// Reserves the bytes of a batch, so that a peer that opens many sessions at once does not take unbounded memory.
    async fn reserve_batch(&self) -> Result<Reservation, Error> {
        tokio::select! {
            reservation = self.peer.outgoing.build_budget().reserve(MAX_BATCH_BYTES) => Ok(reservation),
            () = cancellation(&self.peer.cancelled) => Err(Error::cancelled()),
        }
    }

    /// Runs work on the session on a thread that may block, after earlier work on it.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Server) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let session = Some(self.params.session_id.as_str());
        let (done, _permit) = self.server.clone().work_on(session, &self.peer.cancelled, work).await;
        done
    }
}

impl Server {
    /// Builds the next batch of a replay.
    fn acp_replay_batch(
        &self,
        file: &TranscriptFile,
        mut replay: Replay,
        cancelled: CancelToken,
    ) -> Result<Replay, Error> {
        let cursor = replay.next.take();
        let at = cursor.as_ref().map_or(0, |cursor| cursor.at);
        self.api.with_session(file, cursor.as_ref(), move |reading| {
            replay.build_batch(reading, at, &cancelled)?;
            Ok(replay)
        })
    }
}

impl Replay {
    /// Builds the messages of the next batch.
    fn build_batch(
        &mut self,
        reading: &OpenSession<'_>,
        start: usize,
        cancelled: &CancelToken,
    ) -> Result<(), Error> {
        if start == 0 {
            let path = reading.snapshot.path();
            let offset = end_of_lines(path, reading.length);
            self.offset = offset.map_err(|source| annals_engine::Error::read(path, source))?;
        }
        let session = reading.snapshot.session();
        let steps = reading.conversation.steps();
        let mut bytes = 0;
        for (index, step) in steps.iter().enumerate().skip(start) {
            cancelled.check()?;
            if self.messages.len() >= MAX_BATCH_MESSAGES || bytes >= MAX_BATCH_BYTES {
                self.next = Some(PageCursor::read(&reading.cursor(CURSOR_KIND, index, false), CURSOR_KIND)?);
                return Ok(());
            }
            let Step::Entry { node: node_index, live: true } = *step else { continue };
            let node = &session.nodes()[node_index];
            if !may_have_updates(node) {
                continue;
            }
            self.add_node(reading, node)?;
            if node.at.offset >= self.offset {
                self.unfinished.extend(reading.to_wire.uuid(node_index));
            }
            for update in self.builder.take() {
                let message = update_message(&self.session, update)?;
                bytes += message.len();
                self.messages.push(message);
            }
        }
        Ok(())
    }

    /// Adds an entry, and the end of those of its calls that will get no result.
    fn add_node(&mut self, reading: &OpenSession<'_>, node: &Node) -> Result<(), Error> {
        let session = reading.snapshot.session();
        self.builder.add_entry(&reading.snapshot.body(node)?);
        let calls = session.blocks(node).iter().filter(|block| block.kind == BlockKind::ToolUse);
        for id in calls.filter_map(|block| block.tool) {
            if reading.conversation.call(id).is_some_and(Call::is_given_up) {
                self.builder.abandon_call(&reading.to_wire.id(id));
            }
        }
        Ok(())
    }
}

/// Returns whether an entry may have updates, without reading its body. [`UpdateBuilder::add_entry`] decides in the end.
fn may_have_updates(node: &Node) -> bool {
    !node.has(Flag::Sidechain) && item::may_have_parts(node.kind)
}
