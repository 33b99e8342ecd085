//! What can be asked, what is told unasked, and how it may fail: names and numbers, each in one list.

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
                    $(Method::$variant => methods!(@$effect),)*
                }
            }
        }
    };
    (@reads) => { false };
    (@changes) => { true };
}

pub(crate) use methods;

methods! {
    /// Lists sessions, the last active first.
    HistoryList "history/list" reads,
    /// Loads the messages of a session.
    HistoryLoad "history/load" reads,
    /// Reads the whole history of a session, item by item, from any entry on.
    HistoryRead "history/read" reads,
    /// Lists projects.
    HistoryProjects "history/projects" reads,
    /// Counts what a session is made of.
    HistoryStats "history/stats" reads,
    /// Lists the tool calls of a session.
    HistoryTools "history/tools" reads,
    /// Lists the rounds of a session.
    HistoryTurns "history/turns" reads,
    /// Gives a session a title.
    HistoryRename "history/rename" changes,
    /// Gives a session a tag, or takes it away.
    HistoryTag "history/tag" changes,
    /// Copies a session.
    HistoryFork "history/fork" changes,
    /// Moves a session to the trash.
    HistoryDelete "history/delete" changes,
    /// Brings a session back from the trash.
    HistoryRestore "history/restore" changes,
    /// Lists the sessions in the trash.
    HistoryTrash "history/trash" reads,
    /// Subscribes to changes of all sessions, or to what is written to one.
    HistoryWatch "history/watch" reads,
    /// Ends a subscription.
    HistoryUnwatch "history/unwatch" reads,
    /// Says what the server is and what it looks at.
    HistoryStatus "history/status" reads,
}

/// Notifications that the server sends.
pub mod notification {
    /// Sessions were added, went on, or are gone.
    pub const CHANGED: &str = "history/changed";
    /// A watched session has new entries.
    pub const APPENDED: &str = "history/appended";
    /// All of them.
    pub const ALL: &[&str] = &[CHANGED, APPENDED];
}

/// The notification by which a client takes a request back: `{id}`.
pub const CANCEL: &str = "$/cancel_request";

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $code:literal,)*) => {
        /// Why a request failed, as a number. Numbers are never used again for something else.
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
    /// The message is JSON, but no request.
    InvalidRequest -32600,
    /// There is no such method.
    MethodNotFound -32601,
    /// The parameters are wrong.
    InvalidParams -32602,
    /// Something failed that should not.
    Internal -32603,
    /// The client took the request back.
    Cancelled -32800,
    /// There is no such session, entry or subscription.
    NotFound -32002,
    /// An id means more than one session: `data.candidates` has their transcripts.
    Ambiguous -32010,
    /// Somebody else writes to the session, so it was left alone.
    Busy -32011,
    /// The server is read-only, or the session lies outside of the client's folders.
    Refused -32012,
    /// The cursor belongs to a file that was replaced or cut off: begin again.
    StaleCursor -32013,
    /// This server cannot do that.
    NotSupported -32014,
    /// Something else stands in the way.
    Conflict -32015,
    /// A file cannot be read.
    Unreadable -32016,
    /// The message is longer than the server takes.
    TooLarge -32017,
    /// The client would not resume the session, so there is no model view.
    NotResumable -32018,
    /// There are too many subscriptions.
    TooMany -32019,
}
