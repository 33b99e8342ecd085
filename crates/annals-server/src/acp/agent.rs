//! Another agent, which does what a history cannot: it asks a model.
//!
//! It is a program of the user's choice that speaks the same protocol on its standard input and output. It is started when
//! it is first needed, and ends with the connection. What the client asks of its sessions is passed on, and so is what it
//! tells and asks of the client. Each side has ids of its own: they are kept apart here.

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
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};

use super::{Slot, lock};
use crate::connection::Outgoing;
use crate::server::cancellation;
use annals_api::Cancelled;
use annals_api::rpc::{Error, Frame, Frames, Id, Incoming, Params, Request};

/// How many messages wait to be written to the agent.
const WAITING: usize = 64;
/// How long an agent may take to end once its input has, and to answer what was taken back.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an agent may take to say who it is.
const FIRST_WORDS: Duration = Duration::from_secs(30);

/// The agent, running or not.
#[derive(Debug)]
pub(super) struct Agent {
    command: Vec<String>,
    place: Mutex<Place>,
    /// Held by who starts it.
    starting: tokio::sync::Mutex<()>,
}

/// Where the agent is found.
#[derive(Debug, Default)]
struct Place {
    /// The one that was started last, whether it has said who it is or has gone.
    link: Option<Arc<Link>>,
    /// No other is started.
    is_over: bool,
}

/// An agent that runs.
#[derive(Debug)]
pub(super) struct Link {
    input: Mutex<Option<mpsc::Sender<String>>>,
    /// None once it has ended.
    process: Mutex<Option<Child>>,
    /// Where what it says goes; none once nobody listens to it.
    client: Mutex<Option<Outgoing>>,
    last_id: AtomicU64,
    /// What was asked of it; empty once it has gone.
    asked: Mutex<Option<HashMap<u64, oneshot::Sender<Reply>>>>,
    /// What it has asked of the client: the ids that the client knows, and its own.
    asks: Mutex<HashMap<String, Id>>,
    /// The sessions that it has open.
    sessions: Mutex<HashSet<String>>,
    /// Sessions that it is opening: the client knows what is in them.
    quiet: Mutex<HashSet<String>>,
    /// What it was asked to do and has not done yet, by session.
    work: Mutex<Vec<String>>,
    /// None before it has said who it is.
    abilities: Mutex<Option<Abilities>>,
}

/// How it can open a session.
#[derive(Clone, Copy, Debug, Default)]
struct Abilities {
    resumes: bool,
    loads: bool,
}

/// What came of something that was asked.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Reply {
    id: Option<Id>,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

/// A message to somebody.
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
    /// Returns the id of the session that was begun.
    pub(super) fn session(&self) -> Option<String> {
        let session: SessionParams = serde_json::from_str(self.result.as_ref()?.get()).ok()?;
        Some(session.session_id)
    }

    /// Spells it as the answer to a request.
    pub(super) fn spell(&self, id: &Id) -> Result<String, Error> {
        let (result, error) = (self.result.as_deref(), self.error.as_deref());
        // An answer without a result is one whose result is null.
        let result = result.or(error.is_none().then_some(RawValue::NULL));
        spelled(&Message { id: Some(id), result, error, ..Message::default() })
    }
}

impl Agent {
    pub(super) fn new(command: Vec<String>) -> Self {
        Self { command, place: Mutex::default(), starting: tokio::sync::Mutex::default() }
    }

    /// Returns the agent; starts it if it does not run, with what the client has said of itself.
    pub(super) async fn link(
        &self,
        initialize: &Params,
        outgoing: &Outgoing,
        cancelled: &Cancelled,
    ) -> Result<Arc<Link>, Error> {
        let _starting = tokio::select! {
            starting = self.starting.lock() => starting,
            () = cancellation(cancelled) => return Err(Error::cancelled()),
        };
        if let Some(link) = self.running() {
            return Ok(link);
        }
        // The one before is waited for, so that there are never two.
        let before = lock(&self.place).link.take();
        if let Some(before) = before {
            let _ = tokio::task::spawn_blocking(move || before.end()).await;
        }
        let started = self.start(outgoing)?;
        let introduced = tokio::time::timeout(FIRST_WORDS, started.introduce(initialize, cancelled)).await;
        match introduced.unwrap_or_else(|_| Err(failed("does not answer"))) {
            Ok(()) => Ok(started),
            Err(error) => {
                started.give_up();
                Err(error)
            }
        }
    }

    /// Starts it where it is found by who ends it.
    fn start(&self, outgoing: &Outgoing) -> Result<Arc<Link>, Error> {
        let mut place = lock(&self.place);
        if place.is_over {
            return Err(gone());
        }
        let started = Link::start(&self.command, outgoing.clone());
        let name = self.command.first().map_or("", String::as_str);
        let started = started.map_err(|error| failed(&format!("could not be started: `{name}`: {error}")))?;
        place.link = Some(started.clone());
        Ok(started)
    }

    /// Returns the agent if it runs and has said who it is.
    pub(super) fn running(&self) -> Option<Arc<Link>> {
        lock(&self.place).link.clone().filter(|link| !link.is_gone() && lock(&link.abilities).is_some())
    }

    /// Ends it, and starts no other. It takes a while: to be called from a thread that may wait.
    pub(super) fn end(&self) {
        let link = {
            let mut place = lock(&self.place);
            place.is_over = true;
            place.link.take()
        };
        if let Some(link) = link {
            link.end();
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
    }
}

/// Something that an agent was asked to do in a session.
pub(super) struct Work {
    link: Arc<Link>,
    session: String,
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut work = lock(&self.link.work);
        if let Some(place) = work.iter().position(|session| *session == self.session) {
            work.swap_remove(place);
        }
    }
}

impl Link {
    fn start(command: &[String], outgoing: Outgoing) -> io::Result<Arc<Self>> {
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // What it starts itself ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn()?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let (input, waiting) = mpsc::channel(WAITING);
        let link = Arc::new(Self {
            input: Mutex::new(Some(input)),
            process: Mutex::new(Some(process)),
            client: Mutex::new(Some(outgoing)),
            last_id: AtomicU64::new(0),
            asked: Mutex::new(Some(HashMap::new())),
            asks: Mutex::default(),
            sessions: Mutex::default(),
            quiet: Mutex::default(),
            work: Mutex::default(),
            abilities: Mutex::default(),
        });
        let (stdin, stdout) = stdin.zip(stdout).ok_or(io::ErrorKind::BrokenPipe)?;
        thread::Builder::new().name("to the agent".to_owned()).spawn(move || write(stdin, waiting))?;
        let (reader, handle) = (link.clone(), Handle::current());
        thread::Builder::new().name("from the agent".to_owned()).spawn(move || {
            reader.read(stdout, &handle);
            // Nobody is answered any more.
            lock(&reader.asked).take();
            reader.end();
        })?;
        Ok(link)
    }

    fn is_gone(&self) -> bool {
        lock(&self.asked).is_none()
    }

    /// Tells it who the client is, and hears what it can do.
    async fn introduce(self: &Arc<Self>, initialize: &Params, cancelled: &Cancelled) -> Result<(), Error> {
        let reply = self.ask(Method::Initialize.name(), initialize, None, cancelled).await?;
        let result = reply.result.ok_or_else(|| failed("does not speak the same version"))?;
        let said: serde_json::Value = serde_json::from_str(result.get()).unwrap_or_default();
        *lock(&self.abilities) = Some(Abilities {
            resumes: said
                .pointer("/agentCapabilities/sessionCapabilities/resume")
                .is_some_and(serde_json::Value::is_object),
            loads: said.pointer("/agentCapabilities/loadSession") == Some(&true.into()),
        });
        Ok(())
    }

    /// Asks it for something, and waits for what comes of it; the session is held until it is asked. A request that is
    /// taken back is taken back there, too; whether it hears that or not, nobody waits for long.
    pub(super) async fn ask(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        held: Option<OwnedMutexGuard<Slot>>,
        cancelled: &Cancelled,
    ) -> Result<Reply, Error> {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, mut receiver) = oneshot::channel();
        lock(&self.asked).as_mut().ok_or_else(gone)?.insert(number, sender);
        let id = Id::Number(number.into());
        let line = spelled(&Message {
            id: Some(&id),
            method: Some(method),
            params: params.raw(),
            ..Message::default()
        })?;
        let input = lock(&self.input).clone().ok_or_else(gone)?;
        let asked = async {
            // Who has gone without reading what waits is waited for no longer.
            tokio::select! {
                sent = input.send(line) => sent.map_err(|_| gone())?,
                reply = &mut receiver => return reply.map_err(|_| gone()),
            }
            drop(held);
            (&mut receiver).await.map_err(|_| gone())
        };
        tokio::select! {
            reply = asked => return reply,
            () = cancellation(cancelled) => {}
        }
        drop(input);
        let cancel = Params::of(&serde_json::json!({ "id": number })).map_err(|_| gone())?;
        self.tell(CANCEL, &cancel)?;
        if let Ok(reply) = tokio::time::timeout(PATIENCE, receiver).await {
            return reply.map_err(|_| gone());
        }
        if let Some(asked) = lock(&self.asked).as_mut() {
            asked.remove(&number);
        }
        Err(Error::cancelled())
    }

    /// Tells it something.
    pub(super) fn tell(self: &Arc<Self>, method: &str, params: &Params) -> Result<(), Error> {
        self.write(spelled(&Message { method: Some(method), params: params.raw(), ..Message::default() })?)
    }

    /// Returns whether it has a session open.
    pub(super) fn has(&self, session: &str) -> bool {
        lock(&self.sessions).contains(session)
    }

    /// Notes that it has a session open, or that the client has it from elsewhere again.
    pub(super) fn note(&self, session: &str, is_open: bool) {
        let mut sessions = lock(&self.sessions);
        if is_open {
            sessions.insert(session.to_owned());
        } else {
            sessions.remove(session);
        }
    }

    /// Returns whether it was asked to do something in a session that it has not done yet.
    pub(super) fn is_at_work_on(&self, session: &str) -> bool {
        lock(&self.work).iter().any(|busy| busy == session)
    }

    /// Notes that it is asked to do something in a session, until this is dropped.
    pub(super) fn work_on(self: &Arc<Self>, session: String) -> Work {
        lock(&self.work).push(session.clone());
        Work { link: self.clone(), session }
    }

    /// Has it open a session. What was said in it is not told again.
    pub(super) async fn open(
        self: &Arc<Self>,
        session: &str,
        cwd: &str,
        cancelled: &Cancelled,
    ) -> Result<Option<Reply>, Error> {
        let method = match lock(&self.abilities).unwrap_or_default() {
            Abilities { resumes: true, .. } => Method::Resume,
            Abilities { loads: true, .. } => Method::Load,
            Abilities { .. } => return Err(failed("cannot go on with sessions that it did not begin")),
        };
        let params = Params::of(&serde_json::json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
        let params = params.map_err(|_| failed("could not be asked"))?;
        lock(&self.quiet).insert(session.to_owned());
        let reply = self.ask(method.name(), &params, None, cancelled).await;
        lock(&self.quiet).remove(session);
        let reply = reply?;
        if reply.error.is_some() {
            return Ok(Some(reply));
        }
        self.note(session, true);
        Ok(None)
    }

    /// Passes on what the client answered.
    pub(super) fn answer(self: &Arc<Self>, line: &[u8]) {
        let Ok(reply) = serde_json::from_slice::<Reply>(line) else { return };
        let Some(Id::Text(known)) = &reply.id else { return };
        let Some(own) = lock(&self.asks).remove(known) else { return };
        if let Ok(line) = reply.spell(&own) {
            let _ = self.write(line);
        }
    }

    /// Has a line written without waiting for room: an agent that does not read is given up.
    fn write(self: &Arc<Self>, line: String) -> Result<(), Error> {
        let input = lock(&self.input).clone().ok_or_else(gone)?;
        input.try_send(line).map_err(|_| {
            self.give_up();
            gone()
        })
    }

    /// Reads what it says until it has gone.
    fn read(&self, stdout: ChildStdout, handle: &Handle) {
        let mut frames = Frames::new(BufReader::with_capacity(1 << 16, stdout));
        while let Ok(Some(frame)) = frames.read() {
            // What is too long may be what somebody waits for: nobody can say whose it is.
            let Frame::Line(line) = frame else { return };
            // What is no message is passed over.
            let passed_on = match Incoming::read(&line) {
                Err(_) => None,
                Ok(Incoming::Response) => {
                    self.replied(&line);
                    None
                }
                Ok(Incoming::Request(request)) => self.asks_client(request),
                Ok(Incoming::Notification { method, params }) => self.tells_client(&method, &params),
            };
            let Some(message) = passed_on else { continue };
            let Some(client) = lock(&self.client).clone() else { return };
            if handle.block_on(client.send(message)).is_err() {
                return;
            }
        }
    }

    fn replied(&self, line: &[u8]) {
        let Ok(reply) = serde_json::from_slice::<Reply>(line) else { return };
        let Some(Id::Number(number)) = &reply.id else { return };
        let waiting = number.as_u64().and_then(|number| lock(&self.asked).as_mut()?.remove(&number));
        if let Some(waiting) = waiting {
            let _ = waiting.send(reply);
        }
    }

    /// Spells what it asks of the client, under an id that nobody else has.
    fn asks_client(&self, Request { id, method, params }: Request) -> Option<String> {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let known = format!("agent-{number}");
        lock(&self.asks).insert(known.clone(), id);
        let (id, method) = (Id::Text(known), Some(&*method));
        spelled(&Message { id: Some(&id), method, params: params.raw(), ..Message::default() }).ok()
    }

    fn tells_client(&self, method: &str, params: &Params) -> Option<String> {
        let session = params.read::<SessionParams>().ok().map(|params| params.session_id);
        if method == UPDATE && session.is_some_and(|session| lock(&self.quiet).contains(&session)) {
            return None;
        }
        spelled(&Message { method: Some(method), params: params.raw(), ..Message::default() }).ok()
    }

    /// Fails what is asked of it at once, and ends it meanwhile.
    fn give_up(self: &Arc<Self>) {
        lock(&self.asked).take();
        let link = self.clone();
        tokio::task::spawn_blocking(move || link.end());
    }

    /// Ends it: first its input, then, if it does not go by itself, the process and what it has started. Whoever still
    /// holds its output, nobody waits for it any more.
    fn end(&self) {
        lock(&self.input).take();
        let mut process = lock(&self.process);
        if let Some(mut process) = process.take() {
            let last = Instant::now() + PATIENCE;
            // Its last words are heard, too.
            while !(matches!(process.try_wait(), Ok(Some(_))) && self.is_gone()) && Instant::now() < last {
                thread::sleep(Duration::from_millis(10));
            }
            kill(&mut process);
        }
        drop(process);
        lock(&self.asked).take();
        lock(&self.client).take();
    }
}

/// Ends a process and what it has started, and waits for it.
fn kill(process: &mut Child) {
    #[cfg(unix)]
    {
        let group = format!("-{}", process.id());
        let mut kill = Command::new("kill");
        kill.args(["-s", "KILL", "--", &group])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _ = kill.status();
    }
    let _ = process.kill();
    let _ = process.wait();
}

fn write(mut stdin: ChildStdin, mut waiting: mpsc::Receiver<String>) {
    while let Some(mut line) = waiting.blocking_recv() {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn spelled(message: &Message<'_>) -> Result<String, Error> {
    annals_api::json_line(message).map_err(|_| failed("could not be asked"))
}

fn gone() -> Error {
    failed("has ended; what it wrote to standard error may say why")
}

fn failed(what: &str) -> Error {
    Error::new(ErrorCode::Internal, &format!("the agent {what}"))
}

/// Splits a command into words. Quotes of both kinds keep blanks; a backslash stands for itself, as in paths.
pub(super) fn words(command: &str) -> Vec<String> {
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
            assert_eq!(words(command), expected, "{command}");
        }
    }
}
