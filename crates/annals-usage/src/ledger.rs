//! The ledger: every response once, whatever number of lines and files it stands in.
//!
//! Files tell which lines belong together in them. Here, what stands in several files is merged (rule 2 of `docs/USAGE.md`):
//! - the same message id and request id is the same response, wherever it stands;
//! - without a request id, the same message id is the same response within a family of sessions, since some gateways use an id again;
//! - lines of a subagent that repeat a message of their session under another request id are that message.
//!
//! Files that are merged with each other, directly or through others, are a group. A group is merged without looking at other groups; so
//! if files change, only their groups are merged again ([`Ledger::update`]).

mod bytes;
mod merge;
mod packed;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::path::PathBuf;

use crate::family::{Joiner, Sets};
use crate::file::{ClientCost, FileCount, FileFacts};
use crate::names::{NameId, Names};
use crate::reply::{Flag, ReplyCount};

use merge::{AsIs, Merger};
use packed::Packed;

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
    /// Numbers by which the caller recognises the state of the file in which it was counted.
    pub state: [i64; 4],
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
    /// The [`state`](CountedFile::state) in which it was counted.
    pub state: [i64; 4],
    /// The hash of its first uuid, which its copies share; 0 if there is none.
    first_uuid: u64,
    /// The session that its first line was copied from.
    forked_from: Option<String>,
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
    /// The first session of its group, as an index of [`Ledger::sessions`].
    group: u32,
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
    /// The files, in the order of their paths.
    pub files: Vec<LedgerFile>,
    /// The sessions.
    pub sessions: Vec<Session>,
    /// The responses that were merged now.
    responses: Vec<Response>,
    /// Those that were merged before.
    packed: Packed,
}

impl CountedFile {
    /// Returns the id of its session; its path, if there is none.
    fn session_id(&self) -> Cow<'_, str> {
        let named = self.session.as_ref().or(self.count.facts.session.as_ref());
        named.map_or_else(|| self.path.to_string_lossy(), Cow::from)
    }
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
        ledger.responses = merger.finish(&mut ledger.sessions);
        ledger
    }

    /// Adds files with their sessions. Returns the families of sessions.
    fn add_files(&mut self, files: &[CountedFile]) -> Sets {
        let mut ids: HashMap<String, u32> = HashMap::new();
        for file in files {
            let session = self.session_of(file, &mut ids);
            self.sessions[session as usize].add(file);
            let FileFacts { first_uuid, forked_from, .. } = &file.count.facts;
            self.files.push(LedgerFile {
                path: file.path.clone(),
                session,
                agent: self.names.id(file.agent.as_deref().unwrap_or_default()),
                is_gone: file.is_gone,
                state: file.state,
                first_uuid: *first_uuid,
                forked_from: forked_from.clone(),
            });
        }
        let mut families = Sets::new(self.sessions.len());
        let mut by_uuid = Joiner::new();
        for file in &self.files {
            if file.first_uuid != 0 {
                by_uuid.join(&mut families, file.first_uuid, file.session);
            }
            if let Some(original) = file.forked_from.as_ref().and_then(|original| ids.get(original)) {
                families.join(*original, file.session);
            }
        }
        families
    }

    /// Returns the session of a file, which is added if it is new.
    fn session_of(&mut self, file: &CountedFile, ids: &mut HashMap<String, u32>) -> u32 {
        let id = file.session_id();
        if let Some(session) = ids.get(&*id) {
            return *session;
        }
        let session = next_number(&self.sessions);
        self.sessions.push(Session { id: id.clone().into_owned(), ..Session::default() });
        ids.insert(id.into_owned(), session);
        session
    }

    /// Returns all responses, in no particular order.
    pub fn responses(&self) -> impl Iterator<Item = Response> {
        self.half(true).chain(self.half(false))
    }

    /// Returns one half of the responses, or the other: on two cores they are decoded in half the time.
    pub(crate) fn half(&self, is_first: bool) -> impl Iterator<Item = Response> {
        let (first, second) = self.responses.split_at(self.responses.len() / 2);
        let merged = if is_first { first } else { second };
        merged.iter().copied().chain(self.packed.responses(&self.files, is_first))
    }

    /// Returns how many responses there are.
    pub fn len(&self) -> usize {
        self.responses.len() + self.packed.len()
    }

    /// Returns whether there is no response.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the files that have to be merged again if some of them are `outdated` and others are counted anew or for the first time: all
    /// files of the groups that these are in.
    pub fn affected(&self, outdated: &[u32], new: &[CountedFile]) -> Vec<u32> {
        let mut groups: HashSet<u32> = outdated.iter().map(|file| self.group_of(*file)).collect();
        let links = Links::of(new);
        let linked = (0_u32..).zip(&self.files).filter(|(_, file)| links.has(file, &self.sessions));
        groups.extend(linked.map(|(file, _)| self.group_of(file)));
        let merged =
            self.responses.iter().filter(|response| links.messages.contains(&response.count.message));
        groups.extend(merged.map(|response| self.group_of(response.file)));
        for (file, mut messages) in self.packed.messages() {
            let group = self.group_of(file);
            if !groups.contains(&group) && messages.any(|message| links.messages.contains(&message)) {
                groups.insert(group);
            }
        }
        let files = (0_u32..).zip(&self.files);
        files.filter(|(file, _)| groups.contains(&self.group_of(*file))).map(|(file, _)| file).collect()
    }

    fn group_of(&self, file: u32) -> u32 {
        self.sessions[self.files[file as usize].session as usize].group
    }

    /// Replaces the files that [`affected`](Self::affected) returned by what is now counted in them, without those that do not
    /// count any more, and adds new ones. The ledger is then the same as one that is built from all files.
    pub fn update(&mut self, affected: &[u32], files: Vec<CountedFile>) {
        let merged = Self::build(files);
        if self.files.is_empty() {
            *self = merged;
            return;
        }
        self.remove(affected);
        self.append(merged);
        self.sort_files();
    }

    /// Removes whole groups of files, with their sessions.
    fn remove(&mut self, files: &[u32]) {
        if files.is_empty() {
            return;
        }
        let mut is_file_left = vec![true; self.files.len()];
        let mut is_session_left = vec![true; self.sessions.len()];
        for file in files {
            is_file_left[*file as usize] = false;
            is_session_left[self.files[*file as usize].session as usize] = false;
        }
        let (new_files, new_sessions) = (numbers(&is_file_left), numbers(&is_session_left));
        retain(&mut self.files, &is_file_left);
        retain(&mut self.sessions, &is_session_left);
        // A session whose files are left is left itself, and so is its group.
        for file in &mut self.files {
            file.session = new_sessions[file.session as usize].unwrap_or(0);
        }
        for session in &mut self.sessions {
            session.group = new_sessions[session.group as usize].unwrap_or(0);
        }
        self.responses.retain_mut(|response| {
            response.session = new_sessions[response.session as usize].unwrap_or(0);
            new_files[response.file as usize].map(|file| response.file = file).is_some()
        });
        self.packed.renumber(&new_files);
    }

    /// Adds files that have nothing in common with those of this ledger.
    fn append(&mut self, other: Self) {
        let names: Vec<_> = other.names.iter().map(|name| self.names.id(name)).collect();
        let (files, sessions) = (next_number(&self.files), next_number(&self.sessions));
        self.files.extend(other.files.into_iter().map(|file| LedgerFile {
            session: file.session + sessions,
            agent: names[file.agent as usize],
            ..file
        }));
        self.sessions.extend(
            other.sessions.into_iter().map(|session| Session { group: session.group + sessions, ..session }),
        );
        self.responses.extend(other.responses.into_iter().map(|response| Response {
            count: with_names(&response.count, &names),
            file: response.file + files,
            session: response.session + sessions,
            ..response
        }));
    }

    /// Brings the files into the order of their paths.
    fn sort_files(&mut self) {
        if self.files.is_sorted_by(|one, other| one.path.as_os_str() <= other.path.as_os_str()) {
            return;
        }
        let files = std::mem::take(&mut self.files);
        let mut order: Vec<_> = (0_u32..).zip(files).collect();
        order.sort_unstable_by(|(_, one), (_, other)| one.path.as_os_str().cmp(other.path.as_os_str()));
        let mut new = vec![None; order.len()];
        for (at, (before, _)) in (0_u32..).zip(&order) {
            new[*before as usize] = Some(at);
        }
        self.files = order.into_iter().map(|(_, file)| file).collect();
        for response in &mut self.responses {
            response.file = new[response.file as usize].unwrap_or(0);
        }
        self.packed.renumber(&new);
    }
}

/// Returns the number of the next thing that is added.
fn next_number<T>(things: &[T]) -> u32 {
    u32::try_from(things.len()).unwrap_or(u32::MAX)
}

/// Returns the numbers that are left things get, counted from 0.
fn numbers(is_left: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0_u32..;
    is_left.iter().map(|is_left| if *is_left { next.next() } else { None }).collect()
}

fn retain<T>(things: &mut Vec<T>, is_left: &[bool]) {
    let mut is_left = is_left.iter();
    things.retain(|_| is_left.next().is_some_and(|is_left| *is_left));
}

/// What connects files with those of a ledger.
struct Links<'a> {
    sessions: HashSet<Cow<'a, str>>,
    originals: HashSet<&'a str>,
    first_uuids: HashSet<u64>,
    messages: HashSet<u64, BuildHasherDefault<AsIs>>,
}

impl<'a> Links<'a> {
    fn of(files: &'a [CountedFile]) -> Self {
        let facts: Vec<_> = files.iter().map(|file| &file.count.facts).collect();
        let replies = files.iter().flat_map(|file| file.count.replies());
        Self {
            sessions: files.iter().map(CountedFile::session_id).collect(),
            originals: facts.iter().filter_map(|facts| facts.forked_from.as_deref()).collect(),
            first_uuids: facts.iter().map(|facts| facts.first_uuid).filter(|uuid| *uuid != 0).collect(),
            messages: replies.map(|reply| reply.message).collect(),
        }
    }

    /// Returns whether one of the files belongs to the same family as a file of a ledger.
    fn has(&self, file: &LedgerFile, sessions: &[Session]) -> bool {
        let session = sessions[file.session as usize].id.as_str();
        self.sessions.contains(session)
            || self.originals.contains(session)
            || file.forked_from.as_deref().is_some_and(|original| self.sessions.contains(original))
            || self.first_uuids.contains(&file.first_uuid)
    }
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
            if ClientCost::of(facts.client.as_ref()) > ClientCost::of(self.client.as_ref()) {
                self.client.clone_from(&facts.client);
            }
        }
        self.resets.extend_from_slice(&facts.resets);
    }
}

fn with_names(reply: &ReplyCount, names: &[NameId]) -> ReplyCount {
    let mut reply = *reply;
    for name in reply.names_mut() {
        *name = names.get(*name as usize).copied().unwrap_or(0);
    }
    reply
}

#[cfg(test)]
mod tests;
