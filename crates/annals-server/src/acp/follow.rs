//! An open session: entries are sent to the client as they are appended.

use annals_engine::{Engine, TranscriptFile};
use annals_proto::acp::{Fate, InfoUpdate, Meta, Update, UsageUpdate};
use annals_transcript::Entry;
use annals_transcript::session::Session;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::sessions::masked_session;
use super::update_message;
use super::updates::UpdateBuilder;
use crate::connection::Outgoing;
use crate::watch::{Subscription, TailEvent};
use annals_api::rpc::Error;

/// Reports what is appended to a session.
#[derive(Debug)]
pub(super) struct SessionFollower {
    engine: Engine,
    /// The session id as the client has spelled it.
    session: String,
    file: TranscriptFile,
    subscription: Subscription,
    builder: UpdateBuilder,
    /// The uuids of entries that were reported before their lines had an end, so that they are not reported again.
    unfinished: Vec<String>,
    /// The title, time and usage that were reported last.
    info: InfoUpdate,
    usage: Option<UsageUpdate>,
}

/// The task that follows a session. It ends on drop.
#[derive(Debug)]
pub(crate) struct FollowTask(JoinHandle<()>);

impl FollowTask {
    /// Spawns the task. It sends nothing until `start` is signalled, which is when the answer is queued.
    pub(super) fn spawn(follower: SessionFollower, outgoing: Outgoing, start: oneshot::Receiver<()>) -> Self {
        Self(tokio::spawn(async move {
            if start.await.is_ok() {
                follower.run(outgoing).await;
            }
        }))
    }

    /// Ends the task. No update is sent after this returns.
    pub(super) async fn end(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for FollowTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl SessionFollower {
    pub(super) fn new(
        engine: Engine,
        session: String,
        file: TranscriptFile,
        subscription: Subscription,
        builder: UpdateBuilder,
        unfinished: Vec<String>,
    ) -> Self {
        let (info, usage) = (InfoUpdate::default(), None);
        Self { engine, session, file, subscription, builder, unfinished, info, usage }
    }

    async fn run(mut self, outgoing: Outgoing) {
        while let Some((event, _reservation)) = self.subscription.next_event(outgoing.build_budget()).await {
            let is_removed = matches!(event, TailEvent::Removed);
            let built = tokio::task::spawn_blocking(move || (self.messages_of(&event), self)).await;
            let Ok((messages, follower)) = built else { return };
            self = follower;
            // Building fails only where a message cannot be serialized. The next lines are still reported.
            for message in messages.unwrap_or_default() {
                if outgoing.send(message).await.is_err() {
                    return;
                }
            }
            if is_removed {
                return;
            }
        }
    }

    /// Builds the messages that report an event. It reads files, so it must be called on a thread that may block.
    fn messages_of(&mut self, event: &TailEvent) -> Result<Vec<String>, Error> {
        match event {
            TailEvent::Removed => self.fate_message(Fate { gone: true, ..Fate::default() }),
            TailEvent::Replaced => self.fate_message(Fate { reset: true, ..Fate::default() }),
            TailEvent::Described => self.changed_info(),
            TailEvent::Lines(lines) => {
                self.add_lines(lines)?;
                let updates = self.builder.take().into_iter();
                let mut messages = updates
                    .map(|update| update_message(&self.session, update))
                    .collect::<Result<Vec<_>, _>>()?;
                messages.extend(self.changed_info()?);
                Ok(messages)
            }
        }
    }

    /// Adds the entries of appended lines, except those that were reported before their lines had an end.
    fn add_lines(&mut self, lines: &[u8]) -> Result<(), Error> {
        let failed = |source| annals_engine::Error::read(&self.file.path, source);
        let session = Session::read(lines).map_err(failed)?;
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(lines.len());
        for node in session.nodes().iter().filter(|node| node.is_read_by_claude_code()) {
            let line = &lines[at(node.at.offset)..at(node.at.offset + node.length)];
            let uuid = Entry::new(line).head().id.map(annals_transcript::json::JsonStr::decode);
            if uuid.is_none_or(|uuid| !self.unfinished.iter().any(|reported| *reported == *uuid)) {
                self.builder.add_entry(line);
            }
        }
        Ok(())
    }

    /// Builds the messages that report title, time and usage of the context window, where they have changed.
    pub(super) fn changed_info(&mut self) -> Result<Vec<String>, Error> {
        let mut updates = Vec::new();
        // A symlink may lead out of the config folders by now; what is behind it must not be read.
        if self.engine.symlink_guard().allows_now(&self.file.path)
            && let Ok(listed) = self.engine.session_row(&self.file)
        {
            let session = masked_session(listed, self.builder.masking())?;
            let info = InfoUpdate { title: session.title, updated_at: session.updated_at, meta: None };
            if info != self.info {
                self.info = info.clone();
                updates.push(Update::SessionInfoUpdate(info));
            }
        }
        if let Some(usage) = self.builder.usage().filter(|usage| Some(*usage) != self.usage) {
            self.usage = Some(usage);
            updates.push(Update::UsageUpdate(usage));
        }
        updates.into_iter().map(|update| update_message(&self.session, update)).collect()
    }

    /// Builds the message that the file was removed or replaced.
    fn fate_message(&self, fate: Fate) -> Result<Vec<String>, Error> {
        let info = InfoUpdate { meta: Some(Meta { annals: fate }), ..InfoUpdate::default() };
        update_message(&self.session, Update::SessionInfoUpdate(info)).map(|message| vec![message])
    }
}
