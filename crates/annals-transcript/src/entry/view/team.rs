//! The team that a message was recorded in.

use super::view;
use crate::Entry;

view!(part:
    /// The team of a session, which versions 2.1.39 to 2.1.81 wrote into every message of a teammate.
    Team {
        /// Returns the name of the team.
        name: text "teamName",
        /// Returns the name of the session, or of the agent, within its team.
        agent_name: text "agentName",
    }
);

impl<'a> Team<'a> {
    /// Returns the team that a message was recorded in. Returns `None` for records: an `agent-name` has a field of the same
    /// name, which is about the session.
    pub fn of(entry: &Entry<'a>) -> Option<Self> {
        let team = Self(entry.body().filter(|_| entry.kind().joins_chain())?);
        (team.name().is_some() || team.agent_name().is_some()).then_some(team)
    }
}
