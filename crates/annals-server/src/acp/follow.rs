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
    /// It stays in the task and is never given to another thread: ending the task ends the subscription at once.
    subscription: Subscription,
    reporter: EventReporter,
}

/// Builds the messages that report events of a session.
#[derive(Debug)]
struct EventReporter {
    engine: Engine,
    /// The session id as the client has spelled it.
    session: String,
    file: TranscriptFile,
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

    /// Ends the task and its subscription. No update is sent after this returns.
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
        let reporter = EventReporter { engine, session, file, builder, unfinished, info, usage };
        Self { subscription, reporter }
    }

    async fn run(self, outgoing: Outgoing) {
        let Self { mut subscription, mut reporter } = self;
        while let Some((event, _reservation)) = subscription.next_event(outgoing.build_budget()).await {
            let is_removed = matches!(event, TailEvent::Removed);
            let built = tokio::task::spawn_blocking(move || (reporter.messages_of(&event), reporter)).await;
            let Ok((messages, returned)) = built else { return };
            reporter = returned;
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

    /// Builds the messages that report title, time and usage of the context window, where they have changed.
    pub(super) fn changed_info(&mut self) -> Result<Vec<String>, Error> {
        self.reporter.changed_info()
    }
}

impl EventReporter {
    /// Builds the messages that report an event. It reads files, so it must be called on a thread that may block.
    fn messages_of(&mut self, event: &TailEvent) -> Result<Vec<String>, Error> {
        match event {
            TailEvent::Removed => self.fate_message(Fate { gone: true, ..Fate::default() }),
            TailEvent::Replaced => self.fate_message(Fate { reset: true, ..Fate::default() }),
            TailEvent::DescriptionChanged => self.changed_info(),
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
        let session = Session::read(lines);
        let session = session.map_err(|source| annals_engine::Error::read(&self.file.path, source))?;
        for node in session.nodes().iter().filter(|node| node.is_read_by_claude_code()) {
            let line = span_of(lines, node.at.offset, node.length);
            let uuid = Entry::new(line).head().id.map(annals_transcript::json::JsonStr::decode);
            if uuid.is_none_or(|uuid| !self.unfinished.iter().any(|reported| *reported == *uuid)) {
                self.builder.add_entry(line);
            }
        }
        Ok(())
    }

    /// Builds the messages that report title, time and usage of the context window, where they have changed.
    fn changed_info(&mut self) -> Result<Vec<String>, Error> {
        let mut updates = Vec::new();
        // A symlink may lead out of the config folders by now; what it leads to must not be read.
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

/// Returns some bytes of lines; those past the end of the lines are left out.
fn span_of(lines: &[u8], offset: u64, length: u64) -> &[u8] {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(lines.len());
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(lines.len() - start);
    &lines[start..start + length]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{Sender, channel};

    use annals_engine::{Home, Roots};

    use super::*;
    use crate::connection;
    use crate::watch::{Hub, Topic};

    /// Work on a thread that may block, which begins and ends when the test says so.
    struct Gate {
        started: oneshot::Receiver<()>,
        release: Sender<()>,
    }

    impl Gate {
        fn enqueue() -> Self {
            let ((start, started), (release, released)) = (oneshot::channel(), channel());
            tokio::task::spawn_blocking(move || {
                let _ = start.send(());
                let _ = released.recv();
            });
            Self { started, release }
        }
    }

    /// Lets the other tasks run until they wait.
    async fn let_tasks_run() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    /// Work that may block is done in order by one thread here: the follower's read, then `gate`, then the building of its
    /// messages.
    #[test]
    fn a_session_whose_messages_are_being_built_ends_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("projects/-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"content\":\"茶\"}}\n").unwrap();
        let roots = Roots::given(vec![folder.path().to_owned()]).unwrap();
        let engine = Engine::open(roots, Home::at(folder.path().join("home")));
        let hub = Hub::new(engine.clone(), true);
        let file = TranscriptFile::at(&path);
        let topic = Topic::Session { file: file.clone(), offset: Some(0) };
        let subscription = hub.subscribe(topic, None).unwrap();
        let builder = UpdateBuilder::new(false, None);
        let follower = SessionFollower::new(engine, "s".to_owned(), file, subscription, builder, Vec::new());
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let (outgoing, mut outbox) = connection::outgoing();
            let (begin, start) = oneshot::channel();
            let before = Gate::enqueue();
            let task = FollowTask::spawn(follower, outgoing, start);
            begin.send(()).unwrap();
            let_tasks_run().await;
            let gate = Gate::enqueue();
            before.release.send(()).unwrap();
            gate.started.await.unwrap();
            let_tasks_run().await;
            assert_eq!(hub.count(), 1);
            task.end().await;
            assert_eq!(hub.count(), 0, "although its messages are not built yet");
            gate.release.send(()).unwrap();
            assert!(outbox.next().await.is_none(), "they are not sent");
        });
    }
}
