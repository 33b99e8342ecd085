//! Methods, notifications and error codes: the names and numbers, each in one list.

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident $name:literal $effect:ident,)*) => {
        /// A method that the server answers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
        }

        impl Method {
            /// All of them.
            pub const ALL: &[Method] = &[$(Method::$variant,)*];

            /// Returns the method of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Method::$variant),)*
                    _ => None,
                }
            }

            /// Returns its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Method::$variant => $name,)*
                }
            }

            /// Returns whether it changes anything on disk, so that a read-only server refuses it.
            pub fn is_change(self) -> bool {
                match self {
                    $(Method::$variant => methods!(@is_change $effect),)*
                }
            }

            /// Returns whether it reads the transcript of one session, which may take long: a server answers such requests for
            /// the same session one after the other.
            pub fn reads_one_session(self) -> bool {
                match self {
                    $(Method::$variant => methods!(@reads_one_session $effect),)*
                }
            }
        }
    };
    (@is_change reads) => { false };
    (@is_change reads_session) => { false };
    (@is_change changes) => { true };
    (@reads_one_session reads) => { false };
    (@reads_one_session reads_session) => { true };
    (@reads_one_session changes) => { false };
}

pub(crate) use methods;

methods! {
    /// Lists sessions, most recently active first.
    HistoryList "history/list" reads,
    /// Describes one session, as `history/list` does.
    HistorySession "history/session" reads,
    /// Loads the messages of a session.
    HistoryLoad "history/load" reads_session,
    /// Reads the whole history of a session, item by item, starting at any entry.
    HistoryRead "history/read" reads_session,
    /// Lists projects.
    HistoryProjects "history/projects" reads,
    /// Counts entries, blocks, tools and models of a session.
    HistoryStats "history/stats" reads_session,
    /// Counts tokens and costs by day, session, model and so on.
    HistoryUsage "history/usage" reads,
    /// Adds up what the work was: days and hours, tools and errors, edited files.
    HistoryInsight "history/insight" reads,
    /// Says how full the context of a session was and what filled it.
    HistoryContext "history/context" reads_session,
    /// Lists the tool calls of a session.
    HistoryTools "history/tools" reads_session,
    /// Lists the turns of a session.
    HistoryTurns "history/turns" reads_session,
    /// Lists the agents of a session.
    HistoryAgents "history/agents" reads_session,
    /// Lists the files that a session changed, with the versions that Claude Code keeps.
    HistoryFiles "history/files" reads_session,
    /// Returns the content of a version of a file, or its difference from an earlier one.
    HistoryFile "history/file" reads_session,
    /// Checks a session: what is wrong with it, what Claude Code would lose, and what helps.
    HistoryCheck "history/check" reads_session,
    /// Says what a repair of a session would change, and changes nothing.
    HistoryRepair "history/repair" reads_session,
    /// Lists the sessions that have entries in common with one.
    HistoryLineage "history/lineage" reads_session,
    /// Groups all sessions that have entries in common.
    HistoryCopies "history/copies" reads,
    /// Lists all rows of a session in a few bytes each, for a viewer.
    HistorySkeleton "history/skeleton" reads_session,
    /// Renders some rows of a session.
    HistoryRows "history/rows" reads_session,
    /// Renders more of a row, or returns an image of it.
    HistoryPart "history/part" reads_session,
    /// Finds the row of an entry, a turn or a call.
    HistoryLocate "history/locate" reads_session,
    /// Searches everything that was said and printed in sessions.
    HistorySearch "history/search" reads,
    /// Sets the title of a session.
    HistoryRename "history/rename" changes,
    /// Sets or removes the tag of a session.
    HistoryTag "history/tag" changes,
    /// Puts a session into the archive of Claude Code.
    HistoryArchive "history/archive" changes,
    /// Takes a session out of the archive of Claude Code.
    HistoryUnarchive "history/unarchive" changes,
    /// Copies a session.
    HistoryFork "history/fork" changes,
    /// Moves a session to the trash.
    HistoryDelete "history/delete" changes,
    /// Restores a session from the trash.
    HistoryRestore "history/restore" changes,
    /// Lists the entries of the trash.
    HistoryTrash "history/trash" reads,
    /// Subscribes to changes of all sessions, or to the entries appended to one.
    HistoryWatch "history/watch" reads,
    /// Ends a subscription.
    HistoryUnwatch "history/unwatch" reads,
    /// Describes the server and the folders that it reads.
    HistoryStatus "history/status" reads,
}

/// Notifications that the server sends.
pub mod notification {
    /// Sessions were added, changed or removed.
    pub const CHANGED: &str = "history/changed";
    /// A watched session has new entries.
    pub const APPENDED: &str = "history/appended";
    /// All of them.
    pub const ALL: &[&str] = &[CHANGED, APPENDED];
}

/// The notification by which a peer cancels a request: `{id}`.
pub const CANCEL: &str = "$/cancel_request";

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $code:literal,)*) => {
        /// Why a request failed, as a number. Numbers are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// Returns the number.
            pub fn number(self) -> i64 {
                match self {
                    $(ErrorCode::$variant => $code,)*
                }
            }
        }
    };
}

codes! {
    /// The line is not JSON.
    Parse -32700,
    /// The message is JSON but not a request.
    InvalidRequest -32600,
    /// There is no such method.
    MethodNotFound -32601,
    /// The parameters are wrong.
    InvalidParams -32602,
    /// An internal error.
    Internal -32603,
    /// The peer cancelled the request.
    Cancelled -32800,
    /// There is no such session, agent, entry or subscription.
    NotFound -32002,
    /// Several sessions or agents have the id: `data.candidates` has their transcripts.
    Ambiguous -32010,
    /// Another process writes to the session, so it was not changed.
    Busy -32011,
    /// The server is read-only, or the session is outside the config folders of Claude Code.
    Refused -32012,
    /// The cursor belongs to a file that was replaced or truncated: start again without a cursor.
    StaleCursor -32013,
    /// This server cannot do that.
    NotSupported -32014,
    /// The operation conflicts with what is on disk.
    Conflict -32015,
    /// A file cannot be read.
    Unreadable -32016,
    /// The message is longer than the server accepts.
    TooLarge -32017,
    /// Claude Code would not resume the session, so there is no model view.
    NotResumable -32018,
    /// There are too many subscriptions.
    TooMany -32019,
    /// The request asks to see masked secrets, and the server does not allow it.
    RevealForbidden -32020,
}
