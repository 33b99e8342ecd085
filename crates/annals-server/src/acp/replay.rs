//! A session from its start: page after page, so that a long one costs no more memory than a short one.

use annals_engine::{TranscriptFile, end_of_lines};
use annals_proto::acp::{OpenParams, Opened, Update};
use annals_transcript::history::Step;
use annals_transcript::session::{BlockKind, Node};
use annals_transcript::tool::Call;
use annals_transcript::{Entry, Flag};
use std::sync::Arc;

use super::follow::Follow;
use super::message;
use super::tell::Teller;
use crate::budget::Reservation;
use crate::protocol::Peer;
use crate::server::{Server, cancellation};
use annals_api::Cancelled;
use annals_api::OpenSession;
use annals_api::PageCursor;
use annals_api::rpc::Error;

/// How many messages are made before they are sent, and how many bytes of them.
const TOGETHER: usize = 256;
const TOGETHER_BYTES: usize = 1 << 20;
/// The letter of its pages.
const LIST: char = 'a';

/// A session that is being opened.
pub(super) struct Opening {
    pub(super) server: Arc<Server>,
    pub(super) params: OpenParams,
    pub(super) knows_compactions: bool,
    pub(super) peer: Peer,
}

/// How far a session was told.
#[derive(Default)]
struct Replay {
    session: String,
    teller: Teller,
    /// Where the next page begins; none before the first and behind the last.
    next: Option<PageCursor>,
    /// Where following begins.
    offset: u64,
    /// What was told although its line has no end yet, so that it is not told again.
    unfinished: Vec<String>,
    messages: Vec<String>,
}

impl Opening {
    /// Tells everything that was said, and begins to follow where that ends.
    pub(super) async fn load(self) -> Result<(Follow, Opened), Error> {
        let file = self.file().await?;
        let teller = Teller::new(self.knows_compactions);
        let mut replay = Replay { session: self.params.session_id.clone(), teller, ..Replay::default() };
        loop {
            let _reservation = self.reserve_batch().await?;
            let (file, cancelled) = (file.clone(), self.peer.cancelled.clone());
            replay = self.work(move |server| server.acp_page(&file, replay, cancelled)).await?;
            for message in std::mem::take(&mut replay.messages) {
                self.peer.send(message).await?;
            }
            if replay.next.is_none() {
                break;
            }
        }
        let Replay { session, teller, offset, unfinished, .. } = replay;
        let (mut follow, opened) = self.follow(session, file, Some(offset), teller, unfinished).await?;
        let news = self.work(move |_| Ok::<_, Error>((follow.news()?, follow))).await;
        let messages;
        (messages, follow) = news?;
        for message in messages {
            self.peer.send(message).await?;
        }
        Ok((follow, opened))
    }

    /// Begins to follow from now on.
    pub(super) async fn resume(self) -> Result<(Follow, Opened), Error> {
        let file = self.file().await?;
        let teller = Teller::in_the_middle(self.knows_compactions);
        let session = self.params.session_id.clone();
        let (mut follow, opened) = self.follow(session, file, None, teller, Vec::new()).await?;
        // The client knows how it is called.
        self.work(move |_| follow.news().map(|_| (follow, opened))).await
    }

    async fn follow(
        &self,
        session: String,
        file: TranscriptFile,
        offset: Option<u64>,
        teller: Teller,
        unfinished: Vec<String>,
    ) -> Result<(Follow, Opened), Error> {
        self.work(move |server| {
            let subscription = server.hub.subscribe(Some(file.clone()), offset)?;
            let opened =
                Opened { offset: subscription.offset().unwrap_or_default(), subagents: file.subagents() };
            let engine = server.api.engine().clone();
            Ok((Follow::new(engine, session, file, subscription, teller, unfinished), opened))
        })
        .await
    }

    /// Returns the transcript; fails where the session cannot be opened.
    pub(super) async fn file(&self) -> Result<TranscriptFile, Error> {
        let params = self.params.clone();
        self.work(move |server| server.acp_session(&params)).await
    }

    /// Takes room for a page, so that sessions that are opened together cost no more than a few.
    async fn reserve_batch(&self) -> Result<Reservation, Error> {
        tokio::select! {
            reservation = self.peer.outgoing.build_budget().reserve(TOGETHER_BYTES) => Ok(reservation),
            () = cancellation(&self.peer.cancelled) => Err(Error::cancelled()),
        }
    }

    /// Works in a thread that may wait, when it is its turn.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Server) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let session = Some(self.params.session_id.as_str());
        let (done, _place) = self.server.clone().work_on(session, &self.peer.cancelled, work).await;
        done
    }
}

impl Server {
    fn acp_page(
        &self,
        file: &TranscriptFile,
        mut replay: Replay,
        cancelled: Cancelled,
    ) -> Result<Replay, Error> {
        let cursor = replay.next.take();
        let at = cursor.as_ref().map_or(0, |cursor| cursor.at);
        self.api.with_session(file, cursor.as_ref(), move |reading| {
            replay.page(reading, at, &cancelled)?;
            Ok(replay)
        })
    }
}

impl Replay {
    /// Tells what comes next.
    fn page(&mut self, reading: &OpenSession<'_>, start: usize, cancelled: &Cancelled) -> Result<(), Error> {
        let unreadable = |source| annals_engine::Error::read(reading.snapshot.path(), source);
        if start == 0 {
            self.offset = end_of_lines(reading.snapshot.path(), reading.length).map_err(unreadable)?;
        }
        let session = reading.snapshot.session();
        let steps = reading.conversation.steps();
        let mut bytes = 0;
        for (place, step) in steps.iter().enumerate().skip(start) {
            cancelled.check()?;
            if self.messages.len() >= TOGETHER || bytes >= TOGETHER_BYTES {
                self.next = Some(PageCursor::read(&reading.cursor(LIST, place, false), LIST)?);
                return Ok(());
            }
            let Step::Entry { node: index, live: true } = *step else { continue };
            let node = &session.nodes()[index];
            if !may_be_told(node) {
                continue;
            }
            self.node(reading, node)?;
            if node.at.offset >= self.offset {
                self.unfinished.extend(reading.to_wire.uuid(index));
            }
            for update in self.teller.take() {
                let message = self.message(update)?;
                bytes += message.len();
                self.messages.push(message);
            }
        }
        Ok(())
    }

    fn node(&mut self, reading: &OpenSession<'_>, node: &Node) -> Result<(), Error> {
        let session = reading.snapshot.session();
        self.teller.entry(&Entry::new(&reading.snapshot.body(node)?));
        let calls = session.blocks(node).iter().filter(|block| block.kind == BlockKind::ToolUse);
        for id in calls.filter_map(|block| block.tool) {
            if reading.conversation.call(id).is_some_and(Call::is_given_up) {
                self.teller.given_up(&reading.to_wire.id(id));
            }
        }
        Ok(())
    }

    fn message(&self, update: Update) -> Result<String, Error> {
        message(&self.session, update)
    }
}

/// Returns whether an entry may have updates; [`Teller::entry`] decides.
fn may_be_told(node: &Node) -> bool {
    !node.has(Flag::Sidechain) && node.kind.is_message()
}
