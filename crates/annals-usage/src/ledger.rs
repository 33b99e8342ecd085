//! The ledger: every response once, whatever number of lines and files it stands in.
//!
//! Files tell which lines belong together in them. Here, what stands in several files is merged (rule 2 of `docs/USAGE.md`):
//! - the same message id and request id is the same response, wherever it stands;
//! - without a request id, the same message id is the same response within a family of sessions, since some gateways use an id again;
//! - lines of a subagent that repeat a message of their session under another request id are that message.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::PathBuf;

use crate::family::{Joiner, Sets};
use crate::file::{ClientCost, FileCount, FileFacts};
use crate::names::{NameId, Names};
use crate::reply::{Flag, ReplyCount};

/// What was counted in a file, and which file it is.
#[derive(Clone, Debug, Default)]
pub struct CountedFile {
    /// Its path.
    pub path: PathBuf,
    /// The session that it belongs to; if it is not known, the one that its lines name.
    pub session: Option<String>,
    /// The agent whose transcript it is.
    pub agent: Option<String>,
    /// Whether it does not exist any more.
    pub is_gone: bool,
    /// What was counted.
    pub count: FileCount,
}

/// A file of the ledger.
#[derive(Clone, Debug)]
pub struct LedgerFile {
    /// Its path.
    pub path: PathBuf,
    /// The session, as an index of [`Ledger::sessions`].
    pub session: u32,
    /// The agent whose transcript it is.
    pub agent: NameId,
    /// Whether it does not exist any more.
    pub is_gone: bool,
}

/// A session of the ledger.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Its id; the path of the file, if there is none.
    pub id: String,
    /// The working directory that it began in.
    pub project: Option<String>,
    /// What Claude Code itself counted for it.
    pub client: Option<ClientCost>,
    /// The ends of five-hour windows that messages in it name.
    pub resets: Vec<i64>,
    has_main: bool,
}

/// One response of the API.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// Its counters, merged from all copies. The names are those of the ledger.
    pub count: ReplyCount,
    /// The file that it is attributed to, as an index of [`Ledger::files`].
    pub file: u32,
    /// The session that it is attributed to, as an index of [`Ledger::sessions`].
    pub session: u32,
    /// In how many other places it was found.
    pub copies: u32,
    /// Whether no transcript on disk has it any more.
    pub is_kept: bool,
}

impl Response {
    /// Returns whether it belongs to a subagent.
    pub fn is_sidechain(&self) -> bool {
        self.count.flags.has(Flag::Sidechain)
    }

    /// Returns whether it is only known from `agent_progress` lines.
    pub fn is_progress(&self) -> bool {
        self.count.flags.has(Flag::Progress)
    }
}

/// Every response once, with the files and sessions that they are in.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The names that responses and files refer to.
    pub names: Names,
    /// The files.
    pub files: Vec<LedgerFile>,
    /// The sessions.
    pub sessions: Vec<Session>,
    /// The responses, in no particular order.
    pub responses: Vec<Response>,
}

impl Ledger {
    /// Merges what was counted in files. The order of the files does not matter.
    pub fn build(mut files: Vec<CountedFile>) -> Self {
        // What is attributed to a file if nothing else decides must not depend on the order in which the files were found.
        // Comparing bytes is several times faster than comparing the components of paths.
        files.sort_unstable_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
        let mut ledger = Self::default();
        let families = ledger.add_files(&files);
        let length = files.iter().map(|file| file.count.replies().len()).sum();
        let mut merger = Merger::new(families, length);
        for (index, file) in (0_u32..).zip(files) {
            let names: Vec<_> = file.count.names().iter().map(|name| ledger.names.id(name)).collect();
            let (session, is_gone) = (ledger.files[index as usize].session, file.is_gone);
            for reply in file.count.replies() {
                let count = with_names(reply, &names);
                let is_kept = is_gone || count.flags.has(Flag::Left);
                merger.add(Response { count, file: index, session, copies: 0, is_kept });
            }
        }
        ledger.responses = merger.finish(&ledger.sessions);
        ledger
    }

    /// Adds files with their sessions. Returns the family of each session.
    fn add_files(&mut self, files: &[CountedFile]) -> Vec<u32> {
        let mut ids: HashMap<String, u32> = HashMap::new();
        for file in files {
            let session = session_of(file, &mut ids, &mut self.sessions);
            self.sessions[session as usize].add(file);
            let agent = self.names.id(file.agent.as_deref().unwrap_or_default());
            self.files.push(LedgerFile { path: file.path.clone(), session, agent, is_gone: file.is_gone });
        }
        let mut sets = Sets::new(self.sessions.len());
        let mut by_uuid = Joiner::new();
        for (file, counted) in self.files.iter().zip(files) {
            let FileFacts { first_uuid, forked_from, .. } = &counted.count.facts;
            if *first_uuid != 0 {
                by_uuid.join(&mut sets, *first_uuid, file.session);
            }
            if let Some(original) = forked_from.as_ref().and_then(|original| ids.get(original)) {
                sets.join(*original, file.session);
            }
        }
        (0_u32..).take(self.sessions.len()).map(|session| sets.find(session)).collect()
    }
}

/// Returns the session of a file, which is added if it is new.
fn session_of(file: &CountedFile, ids: &mut HashMap<String, u32>, sessions: &mut Vec<Session>) -> u32 {
    let named = file.session.as_ref().or(file.count.facts.session.as_ref());
    let id = named.cloned().unwrap_or_else(|| file.path.to_string_lossy().into_owned());
    *ids.entry(id).or_insert_with_key(|id| {
        sessions.push(Session { id: id.clone(), ..Session::default() });
        u32::try_from(sessions.len() - 1).unwrap_or(u32::MAX)
    })
}

impl Session {
    /// Adds what a file of the session says about it. What the session's own file says comes before what those of its agents say.
    fn add(&mut self, file: &CountedFile) {
        let facts = &file.count.facts;
        let is_main = file.agent.is_none();
        if facts.cwd.is_some() && (self.project.is_none() || is_main && !self.has_main) {
            self.project.clone_from(&facts.cwd);
            self.has_main |= is_main;
        }
        if is_main && facts.client.is_some() {
            // Of several copies of a session, the one that went on has counted more.
            let cost = |client: &Option<ClientCost>| client.as_ref().map(|client| client.cost);
            if cost(&facts.client) > cost(&self.client) {
                self.client.clone_from(&facts.client);
            }
        }
        self.resets.extend_from_slice(&facts.resets);
    }
}

fn with_names(reply: &ReplyCount, names: &[NameId]) -> ReplyCount {
    let name = |id: NameId| names.get(id as usize).copied().unwrap_or(0);
    ReplyCount {
        model: name(reply.model),
        branch: name(reply.branch),
        agent: name(reply.agent),
        tier: name(reply.tier),
        geography: name(reply.geography),
        ..*reply
    }
}

/// Passes hashes on as they are.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// Collects responses. Nearly all message ids come once, and are not looked at again.
struct Merger {
    /// The family of each session.
    families: Vec<u32>,
    responses: Vec<Response>,
    /// Where the first response with a message id is, or with the highest bit set, where its group is.
    places: HashMap<u64, u32, BuildHasherDefault<AsIs>>,
    /// Responses with the same message id.
    groups: Vec<Vec<Response>>,
}

const GROUP: u32 = 1 << 31;

impl Merger {
    fn new(families: Vec<u32>, length: usize) -> Self {
        let places = HashMap::with_capacity_and_hasher(length, BuildHasherDefault::default());
        Self { families, responses: Vec::with_capacity(length), places, groups: Vec::new() }
    }

    fn add(&mut self, response: Response) {
        let next = u32::try_from(self.responses.len()).unwrap_or(GROUP - 1);
        let place = self.places.entry(response.count.message).or_insert(next);
        if *place == next {
            self.responses.push(response);
        } else if *place & GROUP != 0 {
            self.groups[(*place & !GROUP) as usize].push(response);
        } else {
            // The first one stays in the list, marked by a number of lines that no reply has, until the group is merged.
            let first = &mut self.responses[*place as usize];
            *place = GROUP | u32::try_from(self.groups.len()).unwrap_or(0);
            self.groups.push(vec![*first, response]);
            first.count.lines = 0;
        }
    }

    fn finish(mut self, sessions: &[Session]) -> Vec<Response> {
        if self.groups.is_empty() {
            return self.responses;
        }
        self.responses.retain(|response| response.count.lines > 0);
        for mut group in std::mem::take(&mut self.groups) {
            group.sort_by(|one, other| owner_order(one, other, sessions));
            self.merge(&group);
        }
        self.responses
    }

    /// Merges responses with the same message id, sorted so that the one that others are attributed to comes first.
    fn merge(&mut self, group: &[Response]) {
        let clusters = self.clusters(group);
        let mut merged: HashMap<u32, usize> = HashMap::new();
        for (response, cluster) in group.iter().zip(clusters) {
            let Some(at) = merged.get(&cluster) else {
                merged.insert(cluster, self.responses.len());
                self.responses.push(*response);
                continue;
            };
            let owner = &mut self.responses[*at];
            owner.count.merge(&response.count);
            if !response.is_progress() {
                owner.count.flags.remove(Flag::Progress);
            }
            owner.copies += 1;
            owner.is_kept &= response.is_kept;
        }
    }

    /// Returns which responses of a group are the same: those with the same number.
    fn clusters(&self, group: &[Response]) -> Vec<u32> {
        let mut sets = Sets::new(group.len());
        let mut by_request = Joiner::new();
        let mut requestless = Joiner::new();
        for (number, response) in (0_u32..).zip(group) {
            if response.count.flags.has(Flag::NoMessage) {
                // The uuid of a line is unique wherever it is copied.
                sets.join(0, number);
            } else if response.count.request != 0 {
                by_request.join(&mut sets, response.count.request, number);
            } else {
                requestless.join(&mut sets, self.family(response), number);
            }
        }
        // A family has one head: a response of the session itself before those of its subagents, one with a request id before those without.
        // Responses without a request id are the same as their head, and subagents repeat it.
        // Which one it is must depend on the responses alone, wherever they stand.
        let rank = |response: &Response| {
            let ReplyCount { request, time, .. } = response.count;
            (response.is_sidechain(), request == 0, time, request)
        };
        let mut heads: HashMap<u32, u32> = HashMap::new();
        for (number, response) in (0_u32..).zip(group) {
            let head = heads.entry(self.family(response)).or_insert(number);
            if rank(response) < rank(&group[*head as usize]) {
                *head = number;
            }
        }
        // A request that the session itself has, too, is a response of its own.
        let requests: Vec<u32> = (0_u32..).take(group.len()).map(|number| sets.find(number)).collect();
        let mut is_main = vec![false; group.len()];
        for (response, request) in group.iter().zip(&requests) {
            is_main[*request as usize] |= !response.is_sidechain();
        }
        for (number, response) in (0_u32..).zip(group) {
            let head = heads[&self.family(response)];
            let is_replay =
                !is_main[requests[number as usize] as usize] && !group[head as usize].is_sidechain();
            if is_replay || response.count.request == 0 {
                sets.join(head, number);
            }
        }
        (0_u32..).take(group.len()).map(|number| sets.find(number)).collect()
    }

    fn family(&self, response: &Response) -> u32 {
        self.families[response.session as usize]
    }
}

/// Sorts the copies of a response: the one that it is attributed to comes first. That is the original before copies, the transcript of an
/// agent before what its parent says about it, the session before its subagents, what is on disk before what is not, and the oldest.
fn owner_order(one: &Response, other: &Response, sessions: &[Session]) -> std::cmp::Ordering {
    let rank = |response: &Response| {
        let has = |flag| response.count.flags.has(flag);
        let id = sessions[response.session as usize].id.as_str();
        (
            (has(Flag::Copy), has(Flag::Progress), has(Flag::Sidechain), response.is_kept),
            (response.count.time, id, response.file, response.count.line),
        )
    };
    rank(one).cmp(&rank(other))
}

#[cfg(test)]
mod tests;
