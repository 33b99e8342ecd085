//! Responses that stand in several places become one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Response, Session};
use crate::family::{Joiner, Sets};
use crate::reply::{Flag, ReplyCount};

/// Passes hashes on as they are.
#[derive(Default)]
pub(super) struct AsIs(u64);

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
pub(super) struct Merger {
    /// The family of each session.
    families: Vec<u32>,
    /// The sessions that have a response or a family in common, directly or through others.
    connected: Sets,
    responses: Vec<Response>,
    /// Where the first response with a message id is, or with the highest bit set, where its group is.
    places: HashMap<u64, u32, BuildHasherDefault<AsIs>>,
    /// Responses with the same message id.
    groups: Vec<Vec<Response>>,
}

const GROUP: u32 = 1 << 31;

impl Merger {
    pub(super) fn new(mut families: Sets, length: usize) -> Self {
        Self {
            families: families.all(),
            connected: families,
            responses: Vec::with_capacity(length),
            places: HashMap::with_capacity_and_hasher(length, BuildHasherDefault::default()),
            groups: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, response: Response) {
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

    /// Returns the merged responses. Each session gets the number of its group.
    pub(super) fn finish(mut self, sessions: &mut [Session]) -> Vec<Response> {
        self.responses.retain(|response| response.count.lines > 0);
        for mut group in std::mem::take(&mut self.groups) {
            group.sort_by(|one, other| owner_order(one, other, sessions));
            for response in &group {
                self.connected.join(group[0].session, response.session);
            }
            self.merge(&group);
        }
        for (session, group) in sessions.iter_mut().zip(self.connected.all()) {
            session.group = group;
        }
        // Which request a response had matters only while it is merged.
        self.responses.iter_mut().for_each(|response| response.count.request = 0);
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
        let mut heads: HashMap<u32, u32> = HashMap::new();
        for (number, response) in (0_u32..).zip(group) {
            let head = heads.entry(self.family(response)).or_insert(number);
            if head_rank(response) < head_rank(&group[*head as usize]) {
                *head = number;
            }
        }
        // A request that the session itself has, too, is a response of its own.
        let requests = sets.all();
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
        sets.all()
    }

    fn family(&self, response: &Response) -> u32 {
        self.families[response.session as usize]
    }
}

/// Returns the place of a response in its family: the head has the smallest one.
fn head_rank(response: &Response) -> (bool, bool, i64, u64) {
    let ReplyCount { request, time, .. } = response.count;
    (response.is_sidechain(), request == 0, time, request)
}

/// Sorts the copies of a response: the one that it is attributed to comes first. That is the original before copies, the transcript of an
/// agent before what its parent says about it, the session before its subagents, what is on disk before what is not, and the oldest.
fn owner_order(one: &Response, other: &Response, sessions: &[Session]) -> std::cmp::Ordering {
    let id_of = [one, other].map(|response| sessions[response.session as usize].id.as_str());
    (copy_rank(one).cmp(&copy_rank(other)))
        .then_with(|| one.count.time.cmp(&other.count.time))
        .then_with(|| id_of[0].cmp(id_of[1]))
        .then_with(|| (one.file, one.count.line).cmp(&(other.file, other.count.line)))
}

fn copy_rank(response: &Response) -> [bool; 4] {
    let flags = response.count.flags;
    [flags.has(Flag::Copy), flags.has(Flag::Progress), flags.has(Flag::Sidechain), response.is_kept]
}
