//! An agent that continues sessions, because annals itself asks no model.
//!
//! It is a program of the user's choice that speaks the same protocol on its standard input and output. It is started when
//! it is first needed, and ends with the connection. Requests of the client that concern its sessions are forwarded to it,
//! and its requests and notifications are forwarded to the client. Both sides choose ids for their requests, so forwarded
//! requests get new ids, which are unique on the other side.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use annals_proto::acp::{Method, SessionParams, UPDATE};
use annals_proto::{CANCEL, ErrorCode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::lock;
use super::slot::SlotGuard;
use crate::connection::Outgoing;
use crate::server::cancellation;
use annals_api::CancelToken;
use annals_api::rpc::{Error, Frame, Frames, Id, Incoming, Params, Request};

/// How many messages may be queued for the agent.
const MAX_QUEUED_MESSAGES: usize = 64;
/// How long an agent may take to exit after its input was closed, and to answer a request that was cancelled.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an agent may take to answer `initialize`.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(30);

/// The agent, running or not.
#[derive(Debug)]
pub(super) struct Agent {
    command: Vec<String>,
    state: Mutex<AgentState>,
    /// Is locked while the agent is started, so that there is one start at a time.
    starting: tokio::sync::Mutex<()>,
}

/// The process of the agent, and whether another may be started.
#[derive(Debug, Default)]
struct AgentState {
    /// The process that was started last. It may not have answered `initialize` yet, or may have ended.
    process: Option<Arc<AgentProcess>>,
    /// Whether the connection is closed, after which no process is started.
    is_closed: bool,
}

/// A process of the agent.
#[derive(Debug)]
pub(super) struct AgentProcess {
    /// The queue of lines to its standard input; `None` once that is closed.
    input: Mutex<Option<mpsc::Sender<String>>>,
    /// Is `None` once the process was ended.
    child: Mutex<Option<Child>>,
    /// Where its requests and notifications go; `None` once it has ended.
    client: Mutex<Option<Outgoing>>,
    last_id: AtomicU64,
    /// Requests that it has not answered, by id; `None` once its output has ended, when nothing will be answered.
    pending: Mutex<Option<HashMap<u64, oneshot::Sender<Reply>>>>,
    /// Its requests that the client has not answered: the id that the client knows, and the one that the agent chose.
    forwarded: Mutex<HashMap<String, Id>>,
    /// The sessions that it has open.
    sessions: Mutex<HashSet<String>>,
    /// Sessions that it is opening. Their updates are not forwarded, because the client has the conversation already.
    opening: Mutex<HashSet<String>>,
    /// The session of each forwarded request that it has not answered.
    busy_sessions: Mutex<Vec<String>>,
    /// Is `None` until it has answered `initialize`.
    capabilities: Mutex<Option<Capabilities>>,
}

/// How it can open a session that it did not begin.
#[derive(Clone, Copy, Debug, Default)]
struct Capabilities {
    can_resume: bool,
    can_load: bool,
}

/// An answer of the agent or of the client, with its result as it was written.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Reply {
    id: Option<Id>,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

/// A message to the agent or to the client.
#[derive(Default, Serialize)]
struct Message<'a> {
    jsonrpc: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RawValue>,
}

#[derive(Default, Serialize)]
enum Version {
    #[default]
    #[serde(rename = "2.0")]
    Two,
}

impl Reply {
    /// Returns the id of the session that `session/new` has begun.
    pub(super) fn new_session(&self) -> Option<String> {
        let session: SessionParams = serde_json::from_str(self.result.as_ref()?.get()).ok()?;
        Some(session.session_id)
    }

    /// Returns it as the answer to the request with this id.
    pub(super) fn to_answer(&self, id: &Id) -> Result<String, Error> {
        let (result, error) = (self.result.as_deref(), self.error.as_deref());
        // `Option` reads a result of null as none, and an answer has to have a result or an error.
        let result = result.or(error.is_none().then_some(RawValue::NULL));
        serialize(&Message { id: Some(id), result, error, ..Message::default() })
    }
}

impl Agent {
    pub(super) fn new(command: Vec<String>) -> Self {
        Self { command, state: Mutex::default(), starting: tokio::sync::Mutex::default() }
    }

    /// Returns the running process, or starts one and initializes it with the parameters of the client.
    pub(super) async fn running_or_start(
        &self,
        initialize: &Params,
        outgoing: &Outgoing,
        cancelled: &CancelToken,
    ) -> Result<Arc<AgentProcess>, Error> {
        let _starting = tokio::select! {
            starting = self.starting.lock() => starting,
            () = cancellation(cancelled) => return Err(Error::cancelled()),
        };
        if let Some(process) = self.running() {
            return Ok(process);
        }
        // The previous process is ended first, so that there are never two.
        let previous = lock(&self.state).process.take();
        if let Some(previous) = previous {
            let _ = tokio::task::spawn_blocking(move || previous.end()).await;
        }
        let started = self.start(outgoing)?;
        let initialized =
            tokio::time::timeout(INITIALIZE_TIMEOUT, started.initialize(initialize, cancelled)).await;
        match initialized.unwrap_or_else(|_| Err(agent_error("does not answer"))) {
            Ok(()) => Ok(started),
            Err(error) => {
                started.abandon();
                Err(error)
            }
        }
    }

    /// Starts a process and stores it, unless the agent is closed. Both happen under one lock, so that [`Agent::end`] misses
    /// no process.
    fn start(&self, outgoing: &Outgoing) -> Result<Arc<AgentProcess>, Error> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(agent_ended());
        }
        let started = AgentProcess::start(&self.command, outgoing.clone());
        let name = self.command.first().map_or("", String::as_str);
        let started =
            started.map_err(|error| agent_error(&format!("could not be started: `{name}`: {error}")))?;
        state.process = Some(started.clone());
        Ok(started)
    }

    /// Returns the process if it runs and has answered `initialize`.
    pub(super) fn running(&self) -> Option<Arc<AgentProcess>> {
        lock(&self.state)
            .process
            .clone()
            .filter(|process| !process.has_ended() && lock(&process.capabilities).is_some())
    }

    /// Ends the process, and lets no other start. It waits for the process, so it must be called on a thread that may block.
    pub(super) fn end(&self) {
        let process = {
            let mut state = lock(&self.state);
            state.is_closed = true;
            state.process.take()
        };
        if let Some(process) = process {
            process.end();
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
    }
}

/// Marks a session as busy while the agent works on a request for it.
pub(super) struct BusySession {
    process: Arc<AgentProcess>,
    session: String,
}

impl Drop for BusySession {
    fn drop(&mut self) {
        let mut sessions = lock(&self.process.busy_sessions);
        if let Some(index) = sessions.iter().position(|session| *session == self.session) {
            sessions.swap_remove(index);
        }
    }
}

impl AgentProcess {
    fn start(command: &[String], outgoing: Outgoing) -> io::Result<Arc<Self>> {
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Its process group is killed with it, so that the processes that it has started end, too.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (input, lines) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let process = Arc::new(Self {
            input: Mutex::new(Some(input)),
            child: Mutex::new(Some(child)),
            client: Mutex::new(Some(outgoing)),
            last_id: AtomicU64::new(0),
            pending: Mutex::new(Some(HashMap::new())),
            forwarded: Mutex::default(),
            sessions: Mutex::default(),
            opening: Mutex::default(),
            busy_sessions: Mutex::default(),
            capabilities: Mutex::default(),
        });
        let (stdin, stdout) = stdin.zip(stdout).ok_or(io::ErrorKind::BrokenPipe)?;
        thread::Builder::new().name("to the agent".to_owned()).spawn(move || write(stdin, lines))?;
        let (reader, handle) = (process.clone(), Handle::current());
        thread::Builder::new().name("from the agent".to_owned()).spawn(move || {
            reader.read(stdout, &handle);
            // Requests that were not answered fail now.
            lock(&reader.pending).take();
            reader.end();
        })?;
        Ok(process)
    }

    /// Returns whether the output of the agent has ended.
    fn has_ended(&self) -> bool {
        lock(&self.pending).is_none()
    }

    /// Sends `initialize` with the parameters of the client, and keeps the capabilities that the agent announces.
    async fn initialize(self: &Arc<Self>, initialize: &Params, cancelled: &CancelToken) -> Result<(), Error> {
        let reply = self.request(Method::Initialize.name(), initialize, None, cancelled).await?;
        let result = reply.result.ok_or_else(|| agent_error("does not speak the same version"))?;
        let announced: serde_json::Value = serde_json::from_str(result.get()).unwrap_or_default();
        *lock(&self.capabilities) = Some(Capabilities {
            can_resume: announced
                .pointer("/agentCapabilities/sessionCapabilities/resume")
                .is_some_and(serde_json::Value::is_object),
            can_load: announced.pointer("/agentCapabilities/loadSession") == Some(&true.into()),
        });
        Ok(())
    }

    /// Sends a request and waits for the answer. The slot of the session is released when the request is sent. If the request
    /// is cancelled, the agent is notified, and has [`STOP_TIMEOUT`] to answer.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        slot: Option<SlotGuard>,
        cancelled: &CancelToken,
    ) -> Result<Reply, Error> {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, mut receiver) = oneshot::channel();
        lock(&self.pending).as_mut().ok_or_else(agent_ended)?.insert(number, sender);
        let id = Id::Number(number.into());
        let line = serialize(&Message {
            id: Some(&id),
            method: Some(method),
            params: params.raw(),
            ..Message::default()
        })?;
        let input = lock(&self.input).clone().ok_or_else(agent_ended)?;
        let answered = async {
            // If the agent ends without reading its input, `send` may never return, but the receiver fails.
            tokio::select! {
                sent = input.send(line) => sent.map_err(|_| agent_ended())?,
                reply = &mut receiver => return reply.map_err(|_| agent_ended()),
            }
            drop(slot);
            (&mut receiver).await.map_err(|_| agent_ended())
        };
        tokio::select! {
            reply = answered => return reply,
            () = cancellation(cancelled) => {}
        }
        drop(input);
        let cancel = Params::of(&serde_json::json!({ "id": number })).map_err(|_| agent_ended())?;
        self.notify(CANCEL, &cancel)?;
        if let Ok(reply) = tokio::time::timeout(STOP_TIMEOUT, receiver).await {
            return reply.map_err(|_| agent_ended());
        }
        if let Some(pending) = lock(&self.pending).as_mut() {
            pending.remove(&number);
        }
        Err(Error::cancelled())
    }

    /// Sends a notification.
    pub(super) fn notify(self: &Arc<Self>, method: &str, params: &Params) -> Result<(), Error> {
        self.write(serialize(&Message { method: Some(method), params: params.raw(), ..Message::default() })?)
    }

    /// Returns whether the agent has a session open.
    pub(super) fn has_open(&self, session: &str) -> bool {
        lock(&self.sessions).contains(session)
    }

    /// Records that the agent has a session open, and so reports its updates.
    pub(super) fn mark_open(&self, session: &str) {
        lock(&self.sessions).insert(session.to_owned());
    }

    /// Records that the agent does not have a session open, so that annals reports its updates.
    pub(super) fn mark_closed(&self, session: &str) {
        lock(&self.sessions).remove(session);
    }

    /// Returns whether the agent works on a request for a session.
    pub(super) fn is_busy_with(&self, session: &str) -> bool {
        lock(&self.busy_sessions).iter().any(|busy| busy == session)
    }

    /// Marks a session as busy until the return value is dropped.
    pub(super) fn mark_busy(self: &Arc<Self>, session: String) -> BusySession {
        lock(&self.busy_sessions).push(session.clone());
        BusySession { process: self.clone(), session }
    }

    /// Makes the agent open a session. Returns its answer if that is an error. Updates that it sends meanwhile repeat the
    /// conversation and are dropped.
    pub(super) async fn open(
        self: &Arc<Self>,
        session: &str,
        cwd: &str,
        cancelled: &CancelToken,
    ) -> Result<Option<Reply>, Error> {
        let method = match lock(&self.capabilities).unwrap_or_default() {
            Capabilities { can_resume: true, .. } => Method::Resume,
            Capabilities { can_load: true, .. } => Method::Load,
            Capabilities { .. } => {
                return Err(agent_error("cannot go on with sessions that it did not begin"));
            }
        };
        let params = Params::of(&serde_json::json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
        let params = params.map_err(|_| agent_error("could not be asked"))?;
        lock(&self.opening).insert(session.to_owned());
        let reply = self.request(method.name(), &params, None, cancelled).await;
        lock(&self.opening).remove(session);
        let reply = reply?;
        if reply.error.is_some() {
            return Ok(Some(reply));
        }
        self.mark_open(session);
        Ok(None)
    }

    /// Forwards an answer of the client to a request of the agent.
    pub(super) fn forward_response(self: &Arc<Self>, line: &[u8]) {
        let Ok(reply) = serde_json::from_slice::<Reply>(line) else { return };
        let Some(Id::Text(forwarded_id)) = &reply.id else { return };
        let Some(agent_id) = lock(&self.forwarded).remove(forwarded_id) else { return };
        if let Ok(line) = reply.to_answer(&agent_id) {
            let _ = self.write(line);
        }
    }

    /// Queues a line without waiting. If the queue is full, the agent does not read its input and is ended.
    fn write(self: &Arc<Self>, line: String) -> Result<(), Error> {
        let input = lock(&self.input).clone().ok_or_else(agent_ended)?;
        input.try_send(line).map_err(|_| {
            self.abandon();
            agent_ended()
        })
    }

    /// Reads the output of the agent until it ends, and forwards its requests and notifications.
    fn read(&self, stdout: ChildStdout, handle: &Handle) {
        let mut frames = Frames::new(BufReader::with_capacity(1 << 16, stdout));
        while let Ok(Some(frame)) = frames.read() {
            // A message that is too long cannot be read, so its request would never be answered. The agent is ended.
            let Frame::Line(line) = frame else { return };
            // A line that is not a message is ignored.
            let message = match Incoming::read(&line) {
                Err(_) => None,
                Ok(Incoming::Response) => {
                    self.handle_reply(&line);
                    None
                }
                Ok(Incoming::Request(request)) => self.request_to_client(request),
                Ok(Incoming::Notification { method, params }) => {
                    self.notification_to_client(&method, &params)
                }
            };
            let Some(message) = message else { continue };
            let Some(client) = lock(&self.client).clone() else { return };
            if handle.block_on(client.send(message)).is_err() {
                return;
            }
        }
    }

    fn handle_reply(&self, line: &[u8]) {
        let Ok(reply) = serde_json::from_slice::<Reply>(line) else { return };
        let Some(Id::Number(number)) = &reply.id else { return };
        let sender = number.as_u64().and_then(|number| lock(&self.pending).as_mut()?.remove(&number));
        if let Some(sender) = sender {
            let _ = sender.send(reply);
        }
    }

    /// Returns a request of the agent as a message to the client, with an id that is unique there.
    fn request_to_client(&self, Request { id, method, params }: Request) -> Option<String> {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let forwarded_id = format!("agent-{number}");
        lock(&self.forwarded).insert(forwarded_id.clone(), id);
        let (id, method) = (Id::Text(forwarded_id), Some(&*method));
        serialize(&Message { id: Some(&id), method, params: params.raw(), ..Message::default() }).ok()
    }

    /// Returns a notification of the agent as a message to the client; `None` for updates of sessions that it is opening.
    fn notification_to_client(&self, method: &str, params: &Params) -> Option<String> {
        let session = params.read::<SessionParams>().ok().map(|params| params.session_id);
        if method == UPDATE && session.is_some_and(|session| lock(&self.opening).contains(&session)) {
            return None;
        }
        serialize(&Message { method: Some(method), params: params.raw(), ..Message::default() }).ok()
    }

    /// Fails all pending requests now, and ends the process in the background.
    fn abandon(self: &Arc<Self>) {
        lock(&self.pending).take();
        let process = self.clone();
        tokio::task::spawn_blocking(move || process.end());
    }

    /// Ends the process: closes its input and, if it does not exit in time, kills it with the processes that it has started.
    /// A process that still holds its output open is not waited for.
    fn end(&self) {
        lock(&self.input).take();
        let mut child = lock(&self.child);
        if let Some(mut child) = child.take() {
            let deadline = Instant::now() + STOP_TIMEOUT;
            // Its output is read to the end, because it may still answer requests.
            while !(matches!(child.try_wait(), Ok(Some(_))) && self.has_ended()) && Instant::now() < deadline
            {
                thread::sleep(Duration::from_millis(10));
            }
            kill(&mut child);
        }
        drop(child);
        lock(&self.pending).take();
        lock(&self.client).take();
    }
}

/// Kills a process and its process group, and waits for it.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = format!("-{}", child.id());
        let mut kill = Command::new("kill");
        kill.args(["-s", "KILL", "--", &group])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _ = kill.status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.blocking_recv() {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn serialize(message: &Message<'_>) -> Result<String, Error> {
    annals_api::json_line(message).map_err(|_| agent_error("could not be asked"))
}

fn agent_ended() -> Error {
    agent_error("has ended; what it wrote to standard error may say why")
}

fn agent_error(what: &str) -> Error {
    Error::new(ErrorCode::Internal, &format!("the agent {what}"))
}

/// Splits a command line into words. Quotes of both kinds keep whitespace; a backslash is a plain character, as in Windows
/// paths.
pub(super) fn split_command(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in command.chars() {
        match (character, quote) {
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, None) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_into_words() {
        for (command, expected) in [
            ("", &[][..]),
            ("  ", &[]),
            ("agent", &["agent"]),
            (" agent  --acp ", &["agent", "--acp"]),
            (r#""C:\Program Files\agent.exe" 'a b' """#, &[r"C:\Program Files\agent.exe", "a b", ""]),
            (r#"a"b c"d '天气"#, &["ab cd", "天气"]),
        ] {
            assert_eq!(split_command(command), expected, "{command}");
        }
    }
}
