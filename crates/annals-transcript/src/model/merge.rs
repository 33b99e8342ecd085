//! Which entries make up one message (CHAIN 6.10).

use super::Role;
use super::fragment::{Fragment, ReplyKey, Speaker};
use super::part::Part;
use crate::groups::Groups;
use crate::session::Session;
use crate::small_index::SmallIndex;

/// The messages that a list of fragments makes up.
pub(super) struct MessageGroups {
    /// Who speaks in each message.
    pub(super) roles: Vec<Role>,
    /// The positions of the fragments of each message, in order.
    pub(super) members: Groups,
}

/// Merges user entries that follow each other, and the lines of a reply across the results that are between them.
pub(super) fn group<'s: 'd, 'd>(
    session: &Session,
    fragments: impl ExactSizeIterator<Item = &'d Fragment<'s>>,
) -> MessageGroups {
    let mut merger = Merger::new(session);
    let mut message_of: Vec<SmallIndex> = Vec::with_capacity(fragments.len());
    message_of.extend(fragments.map(|fragment| merger.add(fragment)));
    let pairs = message_of.iter().enumerate().map(|(position, &message)| (message.index(), position));
    let members = Groups::of(merger.roles.len(), pairs);
    MessageGroups { roles: merger.roles, members }
}

/// Returns the positions of the lines of the last reply, as the request would have it (CHAIN 6.5).
pub(super) fn last_reply(session: &Session, fragments: &[Fragment<'_>]) -> Vec<usize> {
    let (positions, groups) = group_spoken(session, fragments);
    let last = groups.roles.iter().rposition(|&role| role == Role::Assistant);
    let lines = last.into_iter().flat_map(|last| groups.members.members(last));
    lines.map(|member| positions[member]).collect()
}

/// Merges the fragments that are neither attachments nor boundaries. Returns their positions, and the messages of these.
fn group_spoken(session: &Session, fragments: &[Fragment<'_>]) -> (Vec<usize>, MessageGroups) {
    let positions: Vec<usize> =
        (0..fragments.len()).filter(|&position| is_spoken(&fragments[position])).collect();
    let groups = group(session, positions.iter().map(|&position| &fragments[position]));
    (positions, groups)
}

fn is_spoken(fragment: &Fragment<'_>) -> bool {
    !matches!(fragment.speaker, Speaker::Attachment | Speaker::Boundary)
}

/// Assigns one fragment after the other to a message.
struct Merger {
    /// Who speaks in each message so far.
    roles: Vec<Role>,
    /// The message of the last line of each reply, by [`ReplyKey::index`].
    message_of_reply: Vec<Option<SmallIndex>>,
    /// The first message that further lines of its reply may join: no user message after it separates them.
    open_from: SmallIndex,
    /// Whether the last message, if it is the user's, has a result.
    has_result: bool,
    /// Whether it has anything but attachments.
    has_prompt: bool,
}

impl Merger {
    fn new(session: &Session) -> Self {
        Self {
            roles: Vec::new(),
            message_of_reply: vec![None; session.id_count() + 1],
            open_from: SmallIndex::new(0),
            has_result: false,
            has_prompt: false,
        }
    }

    /// Returns the message that the next fragment belongs to.
    #[inline]
    fn add(&mut self, fragment: &Fragment<'_>) -> SmallIndex {
        let role = if fragment.speaker == Speaker::Assistant { Role::Assistant } else { Role::User };
        let reply = fragment.reply.map(ReplyKey::index);
        let message = self.existing(role, reply).unwrap_or_else(|| self.begin(role));
        self.has_result |= role == Role::User && fragment.parts().any(Part::is_result);
        self.has_prompt |= role == Role::User && !fragment.is_attachment();
        if let Some(reply) = reply {
            self.message_of_reply[reply] = Some(message);
        }
        message
    }

    /// Returns the message that a fragment joins; none if it begins one.
    #[inline]
    fn existing(&mut self, role: Role, reply: Option<usize>) -> Option<SmallIndex> {
        let follows_user = self.roles.last() == Some(&Role::User);
        match role {
            Role::User => follows_user.then(|| SmallIndex::new(self.roles.len() - 1)),
            Role::Assistant => {
                if follows_user && self.has_prompt && !self.has_result {
                    self.open_from = SmallIndex::new(self.roles.len());
                }
                let message = reply.and_then(|reply| self.message_of_reply[reply]);
                message.filter(|&message| message >= self.open_from)
            }
        }
    }

    fn begin(&mut self, role: Role) -> SmallIndex {
        self.roles.push(role);
        (self.has_result, self.has_prompt) = (false, false);
        SmallIndex::new(self.roles.len() - 1)
    }
}
