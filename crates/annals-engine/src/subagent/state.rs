//! How an agent ended, as far as the files of its session show.

use annals_transcript::tool::State;

/// How an agent ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AgentState {
    /// Claude Code has the session open, and nothing says that the agent has ended.
    Running,
    /// It finished its task.
    Done,
    /// It ended with an error.
    Failed,
    /// The user or Claude Code stopped it, or the call that was to start it was denied.
    Stopped,
    /// Nothing says how it ended, and Claude Code does not have the session open.
    Unfinished,
    /// Unknown: it runs on another machine, and no file of this one says how it ended.
    #[default]
    Unknown,
}

impl AgentState {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            AgentState::Running => "running",
            AgentState::Done => "done",
            AgentState::Failed => "failed",
            AgentState::Stopped => "stopped",
            AgentState::Unfinished => "unfinished",
            AgentState::Unknown => "unknown",
        }
    }

    /// Reads the status in a notification of Claude Code; `None` if it does not say that the agent ended.
    pub(super) fn of_status(status: &str) -> Option<Self> {
        match status {
            "completed" => Some(AgentState::Done),
            "failed" => Some(AgentState::Failed),
            "killed" | "stopped" | "cancelled" => Some(AgentState::Stopped),
            _ => None,
        }
    }

    /// Returns how an agent ended whose call ended in this way.
    fn of_call(call: State) -> Option<Self> {
        match call {
            State::Ok => Some(AgentState::Done),
            State::Error => Some(AgentState::Failed),
            State::Interrupted | State::Denied | State::Cancelled => Some(AgentState::Stopped),
            State::Pending => None,
        }
    }
}

/// How a transcript ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ending {
    /// Without a message, or with one that the model has not answered.
    #[default]
    Open,
    /// With a reply that makes calls.
    Calls,
    /// With a reply that has a reason to end.
    Reply,
    /// With a reply that may continue: it has no reason to end.
    PartOfReply,
    /// With the report that a request to the model failed.
    ApiError,
    /// With the note that the user interrupted.
    Interrupt,
}

/// What the files say about one agent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs {
    /// `stoppedByUser` in its metadata.
    pub(super) is_stopped_by_user: bool,
    /// The last notification about it.
    pub(super) notification: Option<AgentState>,
    /// The result of the call that started it, unless the result only says that the agent was started.
    pub(super) result: Option<State>,
    /// `finished` in its metadata.
    pub(super) is_finished: bool,
    /// The last line about it in the journal of its workflow.
    pub(super) journal: Option<AgentState>,
    /// How its transcript ends.
    pub(super) ending: Ending,
    /// Whether Claude Code has the session open.
    pub(super) is_live: bool,
}

/// Decides how an agent ended. The first source that has an answer wins.
pub(super) fn decide(signs: Signs) -> AgentState {
    let stopped = signs.is_stopped_by_user.then_some(AgentState::Stopped);
    let finished = signs.is_finished.then_some(AgentState::Done);
    let known = stopped
        .or(signs.notification)
        .or_else(|| signs.result.and_then(AgentState::of_call))
        .or(finished)
        .or(signs.journal)
        .or_else(|| of_ending(signs.ending, signs.is_live));
    known.unwrap_or(if signs.is_live { AgentState::Running } else { AgentState::Unfinished })
}

/// Returns how an agent ended by the end of its transcript. Many replies never get a reason to end, so one without counts as
/// the last once Claude Code has left the session.
fn of_ending(ending: Ending, is_live: bool) -> Option<AgentState> {
    match ending {
        Ending::Reply => Some(AgentState::Done),
        Ending::PartOfReply if !is_live => Some(AgentState::Done),
        Ending::ApiError => Some(AgentState::Failed),
        Ending::Interrupt => Some(AgentState::Stopped),
        Ending::Open | Ending::Calls | Ending::PartOfReply => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_that_has_an_answer_wins() {
        let none = Signs::default();
        for (signs, of_closed, of_live) in [
            (none, AgentState::Unfinished, AgentState::Running),
            (Signs { ending: Ending::Calls, ..none }, AgentState::Unfinished, AgentState::Running),
            (Signs { ending: Ending::Reply, ..none }, AgentState::Done, AgentState::Done),
            (Signs { ending: Ending::PartOfReply, ..none }, AgentState::Done, AgentState::Running),
            (Signs { ending: Ending::ApiError, ..none }, AgentState::Failed, AgentState::Failed),
            (Signs { ending: Ending::Interrupt, ..none }, AgentState::Stopped, AgentState::Stopped),
            (
                Signs { journal: Some(AgentState::Failed), ending: Ending::Reply, ..none },
                AgentState::Failed,
                AgentState::Failed,
            ),
            (
                Signs { is_finished: true, journal: Some(AgentState::Failed), ..none },
                AgentState::Done,
                AgentState::Done,
            ),
            (
                Signs { result: Some(State::Error), is_finished: true, ..none },
                AgentState::Failed,
                AgentState::Failed,
            ),
            (Signs { result: Some(State::Denied), ..none }, AgentState::Stopped, AgentState::Stopped),
            (Signs { result: Some(State::Pending), ..none }, AgentState::Unfinished, AgentState::Running),
            (
                Signs { notification: Some(AgentState::Stopped), result: Some(State::Ok), ..none },
                AgentState::Stopped,
                AgentState::Stopped,
            ),
            (
                Signs { is_stopped_by_user: true, notification: Some(AgentState::Done), ..none },
                AgentState::Stopped,
                AgentState::Stopped,
            ),
        ] {
            assert_eq!(decide(signs), of_closed, "{signs:?}");
            assert_eq!(decide(Signs { is_live: true, ..signs }), of_live, "{signs:?}");
        }
    }
}
