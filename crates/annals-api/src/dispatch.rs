//! From a request to its result: every method of the history protocol, for every transport. Read this first.

mod agents;
mod change;
mod export;
mod files;
mod health;
mod insight;
mod list;
pub(crate) mod load;
mod page;
mod read;
#[cfg(feature = "search")]
mod search;
mod usage;
mod view;

use std::collections::HashSet;
use std::sync::Arc;

use annals_engine::{Candidate, Engine, TranscriptFile};
use annals_proto::{self as wire, ErrorCode, Method};
use annals_transcript::project::is_session_id;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

pub use list::{end_page, is_absolute, workspace};
#[cfg(feature = "search")]
pub use search::{SMALL_UPDATE, SearchOutcome, Searcher, to_wire_behind};
pub use usage::{usage_by, usage_cost_mode, weekday};

use view::Outlines;

use crate::cancel::CancelToken;
use crate::cursor::PageCursor;
use crate::mask::Masking;
use crate::open_sessions::{OpenSession, OpenSessions};
use crate::rpc::{Error, Outcome, Params};
use crate::to_wire;

/// Items are cut above this many bytes.
pub const LONGEST_ITEM: u64 = 8 << 20;
/// A page ends once it has this many bytes.
const LONGEST_PAGE: usize = 4 << 20;

/// The id of an agent is a part of a file name, which no file system allows to be longer.
const LONGEST_AGENT_ID: usize = 255;
/// The most sessions that the error of a vague name lists.
const MOST_NAMED: usize = 10;
/// The longest name of a session, in bytes: a title or a prompt of a list is not longer.
const LONGEST_NAME: usize = 300;

/// The parameter that names an agent, of any method.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedAgent {
    agent_id: Option<IgnoredAny>,
}

/// What requests may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether changes are refused.
    pub read_only: bool,
    /// Whether requests may ask for text without masked secrets.
    pub allow_reveal: bool,
}

/// Answers requests of the history protocol for every transport. It keeps no state of a peer: a request carries
/// everything that it needs.
#[derive(Debug)]
pub struct Api {
    engine: Engine,
    options: Options,
    masking: Masking,
    sessions: OpenSessions,
    outlines: Arc<Outlines>,
}

impl Api {
    /// Opens the API of an engine. Secrets are masked by the built-in rules.
    pub fn new(engine: Engine, options: Options) -> Self {
        Self {
            engine,
            options,
            masking: Masking::default(),
            sessions: OpenSessions::default(),
            outlines: Arc::default(),
        }
    }

    /// Masks secrets by other rules.
    #[must_use]
    pub fn with_masking(self, masking: Masking) -> Self {
        Self { masking, ..self }
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the id of the session that a name means: an id or the beginning of one, a title or a part of it, or words of the first
    /// prompt, as they are shown. Errors name other sessions by their ids.
    pub fn session_named(&self, name: &str) -> Result<String, Error> {
        if is_session_id(name) {
            return Ok(name.to_owned());
        }
        if name.trim().is_empty() || name.len() > LONGEST_NAME {
            return Err(Error::invalid_params("the name of a session has from 1 to 300 bytes"));
        }
        let found =
            self.engine.session_by_name(name, &|text| self.masking.listed_text(text).text.into_owned());
        let error = match found {
            Ok(file) => return file.session.ok_or_else(|| Error::invalid_params("the session has no id")),
            Err(error) => error,
        };
        match (&ids_of(error.candidates())[..], &ids_of(error.nearest())[..]) {
            // Copies of one session: requests choose between them by their working directory.
            ([id], _) => Ok(id.clone()),
            ([], []) => Err(Error::new(ErrorCode::NotFound, &format!("no session is named `{name}`"))),
            ([], nearest) => {
                let message = format!("no session is named `{name}`; the nearest are {}", nearest.join(", "));
                Err(Error::new(ErrorCode::NotFound, &message))
            }
            (several, _) => {
                let named = &several[..several.len().min(MOST_NAMED)];
                let more = if named.len() < several.len() { " and others" } else { "" };
                let message = format!("`{name}` may mean any of these sessions: {}{more}", named.join(", "));
                Err(Error::invalid_params(&message))
            }
        }
    }

    /// Returns what requests may do.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Returns how the answer to a request is masked, which may ask to see everything: then, if the server allows it, not
    /// at all.
    pub fn masking(&self, reveal: Option<bool>) -> Result<Option<Masking>, Error> {
        match (reveal.unwrap_or_default(), self.options.allow_reveal) {
            (false, _) => Ok(Some(self.masking.clone())),
            (true, true) => Ok(None),
            (true, false) => Err(Error::new(
                ErrorCode::RevealForbidden,
                "this server masks secrets: `reveal` needs `annals serve --allow-reveal`",
            )),
        }
    }

    /// Answers a request. It reads and writes files, so it must be called from a thread that may block.
    ///
    /// Everything that is answered is masked here, unless the request asks to see everything and may.
    pub fn dispatch(&self, method: &str, params: &Params, cancelled: &CancelToken) -> Outcome {
        let Some(method) = Method::from_name(method) else {
            return Err(Error::method_not_found());
        };
        let Reveal { reveal } = params.read().unwrap_or_default();
        let masking = self.masking(reveal)?;
        let answer = self.answer(method, params, masking.as_ref(), cancelled)?;
        Ok(match masking {
            Some(masking) => masking.result(answer),
            None => answer,
        })
    }

    fn answer(
        &self,
        method: Method,
        params: &Params,
        masking: Option<&Masking>,
        cancelled: &CancelToken,
    ) -> Outcome {
        if method.is_change() && self.options.read_only {
            return Err(Error::new(ErrorCode::Refused, "this server is read-only"));
        }
        if method.is_change() && params.read().is_ok_and(|NamedAgent { agent_id }| agent_id.is_some()) {
            return Err(Error::invalid_params("this method changes whole sessions and takes no `agentId`"));
        }
        cancelled.check()?;
        match method {
            Method::HistoryList => {
                self.list(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistorySession => {
                self.describe_session(&params.read()?).and_then(|result| serialize(&result))
            }
            Method::HistoryLoad => {
                self.load(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryRead => {
                self.read(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryProjects => self.projects(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryStats => self.stats(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryInsight => {
                self.insight(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryContext => self.context(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryUsage => {
                self.usage(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryTools => {
                self.tools(&params.read()?, masking, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryTurns => {
                self.turns(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryAgents => {
                self.agents(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryCheck => self.check(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryRepair => self.repair_plan(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryLineage => {
                self.lineage(&params.read()?, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryCopies => self.copies(cancelled).and_then(|result| serialize(&result)),
            Method::HistorySkeleton => self.skeleton(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryRows => {
                self.rows(params.read()?, masking, cancelled).and_then(|result| serialize(&result))
            }
            Method::HistoryPart => self.part(params.read()?, masking).and_then(|result| serialize(&result)),
            Method::HistoryLocate => self.locate(params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryFiles => self.files(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryFile => self.file(&params.read()?, masking).and_then(|result| serialize(&result)),
            #[cfg(feature = "search")]
            Method::HistorySearch => {
                self.search(&params.read()?, masking, cancelled).and_then(|result| serialize(&result))
            }
            #[cfg(not(feature = "search"))]
            Method::HistorySearch => {
                Err(Error::new(ErrorCode::NotSupported, "this program was built without search"))
            }
            Method::HistoryRename => self.rename(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryTag => self.tag(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryArchive => {
                self.archive(&params.read()?, true).and_then(|result| serialize(&result))
            }
            Method::HistoryUnarchive => {
                self.archive(&params.read()?, false).and_then(|result| serialize(&result))
            }
            Method::HistoryFork => self.fork(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryDelete => self.delete(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryRestore => self.restore(&params.read()?).and_then(|result| serialize(&result)),
            Method::HistoryTrash => serialize(&self.trash()),
            Method::HistoryStatus => serialize(&self.status(0)),
            // A connection answers these, because subscriptions belong to it.
            Method::HistoryWatch | Method::HistoryUnwatch => Err(needs_connection()),
        }
    }

    /// Finds the session that an id names.
    pub fn session(&self, id: &str, workspace: Option<&str>) -> Result<TranscriptFile, Error> {
        let id = session_id(id)?;
        let workspace = list::workspace(workspace)?;
        Ok(self.engine.session_with_id(id, workspace.as_deref())?)
    }

    /// Finds the transcript of a session, or of one of its agents.
    pub fn transcript(
        &self,
        id: &str,
        workspace: Option<&str>,
        agent: Option<&str>,
    ) -> Result<TranscriptFile, Error> {
        let session = self.session(id, workspace)?;
        match agent {
            None => Ok(session),
            Some(agent) => {
                let workspace = list::workspace(workspace)?;
                Ok(self.engine.agent_with_id(&session, agent_id(agent)?, workspace.as_deref())?)
            }
        }
    }

    fn stats(&self, params: &wire::StatsParams) -> Result<wire::Stats, Error> {
        let file = self.transcript(
            &params.session_id,
            params.workspace_path.as_deref(),
            params.agent_id.as_deref(),
        )?;
        Ok(to_wire::stats(&self.engine.read(file)?))
    }

    /// Works with an open session, as it is now or as it was when a cursor was made. It reads files, so it must be called
    /// from a thread that may block.
    pub fn with_session<T: Send + 'static>(
        &self,
        file: &TranscriptFile,
        cursor: Option<&PageCursor>,
        work: impl FnOnce(&OpenSession<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.sessions.read(&self.engine, file, cursor, work)
    }

    /// Describes this server; `subscriptions` is their number.
    pub fn status(&self, subscriptions: usize) -> wire::StatusResult {
        wire::StatusResult {
            name: "annals".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol_version: wire::PROTOCOL_VERSION,
            roots: self.engine.root_folders().map(Into::into).collect(),
            home: self.engine.home().path().into(),
            read_only: self.options.read_only,
            allow_reveal: self.options.allow_reveal,
            subscriptions,
            methods: Method::ALL.iter().map(|method| method.name().to_owned()).collect(),
        }
    }
}

/// The parameter of every method that asks for text without masked secrets.
#[derive(Default, Deserialize)]
struct Reveal {
    #[serde(default)]
    reveal: Option<bool>,
}

/// Returns the ids of sessions, each once.
fn ids_of(candidates: &[Candidate]) -> Vec<String> {
    let mut seen = HashSet::new();
    let ids = candidates.iter().map(|one| &one.session);
    ids.filter(|id| seen.insert(*id)).cloned().collect()
}

/// Removes the prefix `claude:` from an id, and refuses what cannot be the id of a session.
pub fn session_id(id: &str) -> Result<&str, Error> {
    let id = id.strip_prefix("claude:").unwrap_or(id);
    if is_session_id(id) {
        return Ok(id);
    }
    Err(Error::invalid_params("`sessionId` is not the id of a session"))
}

/// Refuses what cannot be the id of an agent. An id is only compared with those of the agents that a session has, and never
/// becomes a part of a path.
fn agent_id(id: &str) -> Result<&str, Error> {
    if !id.is_empty() && id.len() <= LONGEST_AGENT_ID && id.chars().all(is_part_of_a_name) {
        return Ok(id);
    }
    Err(Error::invalid_params("`agentId` is not the id of an agent"))
}

fn is_part_of_a_name(character: char) -> bool {
    !character.is_control() && !matches!(character, '/' | '\\')
}

/// Returns the limit of a page: the requested one, within bounds.
fn limit(given: Option<usize>, usual: usize, most: usize) -> Result<usize, Error> {
    match given {
        Some(0) => Err(Error::invalid_params("`limit` is at least 1")),
        given => Ok(given.unwrap_or(usual).min(most)),
    }
}

/// Serializes a result.
pub fn serialize(result: &impl Serialize) -> Outcome {
    serde_json::value::to_raw_value(result).map_err(|_| internal())
}

fn internal() -> Error {
    Error::new(ErrorCode::Internal, "the result could not be serialized")
}

/// Returns the error of a request that needs a connection that stays open.
pub fn needs_connection() -> Error {
    Error::new(ErrorCode::InvalidRequest, "this needs a connection that stays open")
}
