//! A session that is open: what is written to it is told as it comes.

use annals_engine::{Engine, TranscriptFile};
use annals_proto::acp::{Fate, InfoUpdate, Meta, Update, UsageUpdate};
use annals_transcript::Entry;
use annals_transcript::session::Session;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::message;
use super::tell::Teller;
use crate::connection::Outgoing;
use crate::watch::{Subscription, TailEvent};
use annals_api::rpc::Error;
use annals_api::to_wire;

/// What is needed to tell what is written to a session.
#[derive(Debug)]
pub(super) struct Follow {
    engine: Engine,
    /// The session, as the client has named it.
    session: String,
    file: TranscriptFile,
    subscription: Subscription,
    teller: Teller,
    /// Entries that were told before their lines had an end.
    unfinished: Vec<String>,
    /// What was told last.
    info: InfoUpdate,
    usage: Option<UsageUpdate>,
}

/// A session that is being followed. It is not any more when this is dropped.
#[derive(Debug)]
pub(crate) struct Following(JoinHandle<()>);

impl Following {
    /// Begins to tell when the word is given.
    pub(super) fn begin(follow: Follow, outgoing: Outgoing, word: oneshot::Receiver<()>) -> Self {
        Self(tokio::spawn(async move {
            if word.await.is_ok() {
                follow.run(outgoing).await;
            }
        }))
    }

    /// Ends it. Nothing more is told once this is done.
    pub(super) async fn end(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Follow {
    pub(super) fn new(
        engine: Engine,
        session: String,
        file: TranscriptFile,
        subscription: Subscription,
        teller: Teller,
        unfinished: Vec<String>,
    ) -> Self {
        let (info, usage) = (InfoUpdate::default(), None);
        Self { engine, session, file, subscription, teller, unfinished, info, usage }
    }

    async fn run(mut self, outgoing: Outgoing) {
        while let Some((event, _reservation)) = self.subscription.next_event(outgoing.build_budget()).await {
            let is_gone = matches!(event, TailEvent::Removed);
            let told = tokio::task::spawn_blocking(move || (self.tell(&event), self)).await;
            let Ok((messages, follow)) = told else { return };
            self = follow;
            // What cannot be read now is told with what comes next.
            for message in messages.unwrap_or_default() {
                if outgoing.send(message).await.is_err() {
                    return;
                }
            }
            if is_gone {
                return;
            }
        }
    }

    /// Says what has come. It reads files: to be called from a thread that may wait.
    fn tell(&mut self, event: &TailEvent) -> Result<Vec<String>, Error> {
        match event {
            TailEvent::Removed => self.fate(Fate { gone: true, ..Fate::default() }),
            TailEvent::Replaced => self.fate(Fate { reset: true, ..Fate::default() }),
            TailEvent::Lines(lines) => {
                self.lines(lines)?;
                let updates = self.teller.take().into_iter();
                let mut messages =
                    updates.map(|update| message(&self.session, update)).collect::<Result<Vec<_>, _>>()?;
                messages.extend(self.news()?);
                Ok(messages)
            }
        }
    }

    fn lines(&mut self, lines: &[u8]) -> Result<(), Error> {
        let failed = |source| annals_engine::Error::read(&self.file.path, source);
        let session = Session::read(lines).map_err(failed)?;
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(lines.len());
        for node in session.nodes().iter().filter(|node| node.is_seen_by_client()) {
            let entry = Entry::new(&lines[at(node.at.offset)..at(node.at.offset + node.length)]);
            let uuid = entry.head().id.map(annals_transcript::json::JsonStr::decode);
            if uuid.is_none_or(|uuid| !self.unfinished.iter().any(|told| *told == *uuid)) {
                self.teller.entry(&entry);
            }
        }
        Ok(())
    }

    /// Says what the session is called, when something was said last and how much of the context is taken, as far as that
    /// is news.
    pub(super) fn news(&mut self) -> Result<Vec<String>, Error> {
        let mut updates = Vec::new();
        // What leads out of the client's folders is not looked at.
        if self.engine.symlink_guard().allows_now(&self.file.path)
            && let Ok(listed) = self.engine.listed(&self.file)
        {
            let info = InfoUpdate {
                title: listed.facts.title.as_ref().map(|title| title.text.clone()),
                updated_at: listed.facts.updated_at.map(to_wire::time),
                meta: None,
            };
            if info != self.info {
                self.info = info.clone();
                updates.push(Update::SessionInfoUpdate(info));
            }
        }
        if let Some(usage) = self.teller.usage().filter(|usage| Some(*usage) != self.usage) {
            self.usage = Some(usage);
            updates.push(Update::UsageUpdate(usage));
        }
        updates.into_iter().map(|update| message(&self.session, update)).collect()
    }

    fn fate(&self, fate: Fate) -> Result<Vec<String>, Error> {
        let info = InfoUpdate { meta: Some(Meta { annals: fate }), ..InfoUpdate::default() };
        message(&self.session, Update::SessionInfoUpdate(info)).map(|message| vec![message])
    }
}
