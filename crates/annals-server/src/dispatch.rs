//! From a request to what comes of it: every method, whoever asks and however. Read this first.

mod change;
pub(crate) mod chat;
mod list;
mod page;
mod read;

use annals_engine::TranscriptFile;
use annals_proto::{self as wire, ErrorCode, Method};
use annals_transcript::project::is_session_id;
use serde::Serialize;
use tokio::runtime::Handle;

pub(crate) use list::{end_page, is_absolute, workspace};

use crate::connection::{Gone, Outgoing};
use crate::rpc::{self, Error, Outcome, Params};
use crate::server::{Cancelled, Server};
use crate::to_wire;

/// Items are cut above this many bytes.
pub(crate) const LONGEST_ITEM: u64 = 8 << 20;
/// A page ends once it has this many bytes.
const LONGEST_PAGE: usize = 4 << 20;

/// What surrounds a request: whether it was taken back, and who is told something before it is answered.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Whether the request was taken back.
    pub cancelled: Cancelled,
    /// Takes notifications; there is none where a request gets one answer and nothing else.
    pub notifier: Option<Notifier>,
}

/// Sends notifications from threads that may wait.
#[derive(Clone, Debug)]
pub struct Notifier {
    outgoing: Outgoing,
    runtime: Handle,
}

impl Notifier {
    /// Sends to a peer. To be called where the peer is served.
    pub fn new(outgoing: Outgoing) -> Self {
        Self { outgoing, runtime: Handle::current() }
    }
}

impl Context {
    /// Sends a notification before the answer; waits for room. To be called from a thread that may wait.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<(), Error> {
        let notifier = self.notifier.as_ref().ok_or_else(needs_connection)?;
        let message = rpc::notification(method, params).map_err(|_| internal())?;
        notifier.runtime.block_on(self.send(message))
    }

    /// Returns where messages to the peer go.
    pub(crate) fn outgoing(&self) -> Result<Outgoing, Error> {
        Ok(self.notifier.as_ref().ok_or_else(needs_connection)?.outgoing.clone())
    }

    /// Sends a message before the answer when there is room; fails when the request is taken back meanwhile.
    pub(crate) async fn send(&self, message: String) -> Result<(), Error> {
        self.cancelled.check()?;
        let notifier = self.notifier.as_ref().ok_or_else(needs_connection)?;
        tokio::select! {
            sent = notifier.outgoing.send(message) => {
                sent.map_err(|Gone| Error::new(ErrorCode::Cancelled, "the client has gone"))
            }
            () = self.cancelled.wait() => self.cancelled.check(),
        }
    }
}

impl Server {
    /// Answers a request. It reads and writes files: to be called from a thread that may wait.
    pub fn dispatch(&self, method: &str, params: &Params, context: &Context) -> Outcome {
        let Some(method) = Method::from_name(method) else {
            return Err(Error::new(ErrorCode::MethodNotFound, "there is no such method"));
        };
        if method.is_change() && self.options.read_only {
            return Err(Error::new(ErrorCode::Refused, "this server is read-only"));
        }
        context.cancelled.check()?;
        match method {
            Method::HistoryList => self.list(&params.read()?, context).and_then(|result| spell(&result)),
            Method::HistoryLoad => self.load(&params.read()?, context).and_then(|result| spell(&result)),
            Method::HistoryRead => self.read(&params.read()?, context).and_then(|result| spell(&result)),
            Method::HistoryProjects => self.projects(&params.read()?).and_then(|result| spell(&result)),
            Method::HistoryStats => self.stats(&params.read()?).and_then(|result| spell(&result)),
            Method::HistoryTools => self.tools(&params.read()?, context).and_then(|result| spell(&result)),
            Method::HistoryTurns => self.turns(&params.read()?, context).and_then(|result| spell(&result)),
            Method::HistoryRename => self.rename(&params.read()?).and_then(|result| spell(&result)),
            Method::HistoryTag => self.tag(&params.read()?).and_then(|result| spell(&result)),
            Method::HistoryFork => self.fork(&params.read()?).and_then(|result| spell(&result)),
            Method::HistoryDelete => self.delete(&params.read()?).and_then(|result| spell(&result)),
            Method::HistoryRestore => self.restore(&params.read()?).and_then(|result| spell(&result)),
            Method::HistoryTrash => spell(&self.trash()),
            Method::HistoryStatus => spell(&self.status()),
            // The connection answers these: subscriptions belong to it.
            Method::HistoryWatch | Method::HistoryUnwatch => Err(needs_connection()),
        }
    }

    /// Finds the session that an id names.
    pub(crate) fn session(&self, id: &str, workspace: Option<&str>) -> Result<TranscriptFile, Error> {
        let id = session_id(id)?;
        let workspace = list::workspace(workspace)?;
        Ok(self.engine.session_with_id(id, workspace.as_deref())?)
    }

    fn stats(&self, params: &wire::SessionParams) -> Result<wire::Stats, Error> {
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        Ok(to_wire::stats(&self.engine.read(file)?))
    }

    fn status(&self) -> wire::StatusResult {
        wire::StatusResult {
            name: "annals".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol_version: wire::PROTOCOL_VERSION,
            roots: self.engine.root_folders().map(Into::into).collect(),
            home: self.engine.home().path().into(),
            read_only: self.options.read_only,
            subscriptions: self.hub.count(),
            methods: Method::ALL.iter().map(|method| method.name().to_owned()).collect(),
        }
    }
}

/// Takes the name of the agent off an id, and refuses what cannot be one.
pub(crate) fn session_id(id: &str) -> Result<&str, Error> {
    let id = id.strip_prefix("claude:").unwrap_or(id);
    if is_session_id(id) {
        return Ok(id);
    }
    Err(Error::invalid_params("`sessionId` is not the id of a session"))
}

/// Returns how many are sent at most.
fn limit(given: Option<usize>, usual: usize, most: usize) -> Result<usize, Error> {
    match given {
        Some(0) => Err(Error::invalid_params("`limit` is at least 1")),
        given => Ok(given.unwrap_or(usual).min(most)),
    }
}

pub(crate) fn spell(result: &impl Serialize) -> Outcome {
    serde_json::value::to_raw_value(result).map_err(|_| internal())
}

fn internal() -> Error {
    Error::new(ErrorCode::Internal, "the result could not be spelled")
}

pub(crate) fn needs_connection() -> Error {
    Error::new(ErrorCode::InvalidRequest, "this needs a connection that stays open")
}
