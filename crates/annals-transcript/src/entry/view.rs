//! Typed views: one small struct per entry type, which reads a field from the bytes when it is called.
//!
//! A view never fails and has no default values: a field that is missing, null or of another JSON type is `None` (or `false`,
//! or an empty list). [`View::body`] returns the whole object.

mod assistant;
mod attachment;
mod progress;
mod record;
mod system;
mod team;
mod user;

pub(crate) use assistant::SYNTHETIC;
pub use assistant::{Assistant, MessageFields, ServerToolUse, Usage};
pub use attachment::{Attachment, AttachmentKind, QueuedCommand};
pub use progress::Progress;
pub use record::{
    AgentName, AiTitle, ApiRequest, ApiRequestBlob, ApiRequestShape, AttributionSnapshot, BridgeSession,
    ContentReplacement, ContinuedIn, CostState, CustomTitle, FileBackup, FileHistoryDelta,
    FileHistorySnapshot, ForkContextRef, FrameLink, LastPrompt, Mode, ModelCost, PermissionMode, PrLink,
    QueueOperation, Relocated, Replacement, Summary, Tag, ToolsUsed, Worktree, WorktreeState,
};
pub use system::{
    CompactBoundary, MicrocompactBoundary, PreservedMessages, PreservedSegment, RetriedError,
    StopHookSummary, System, SystemKind,
};
pub use team::Team;
pub use user::{Origin, SpilledOutput, ToolUseResult, User};

use super::Kind;
use crate::json::Value;

/// A typed view over entries of one kind.
pub trait View<'a>: Sized {
    /// The kind of entries that it views.
    const KIND: Kind;

    /// Returns a view of an object.
    fn over(body: Value<'a>) -> Self;

    /// Returns the object.
    fn body(&self) -> Value<'a>;
}

/// Declares a struct over an object with one accessor per field: `name: type "key in the format"`.
///
/// `entry:` makes it the view of the kind of the same name; `part:` is for objects inside an entry.
macro_rules! view {
    (entry: $(#[$doc:meta])* $name:ident $fields:tt) => {
        $crate::entry::view::view!(part: $(#[$doc])* $name $fields);

        impl<'a> $crate::entry::view::View<'a> for $name<'a> {
            const KIND: $crate::Kind = $crate::Kind::$name;

            fn over(body: $crate::json::Value<'a>) -> Self {
                Self(body)
            }

            fn body(&self) -> $crate::json::Value<'a> {
                self.0
            }
        }
    };
    (part: $(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ident $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a>(pub(crate) $crate::json::Value<'a>);

        impl<'a> $name<'a> {
            $($(#[$field_doc])* pub fn $field(&self) -> $crate::entry::view::accessor!(type $type) {
                $crate::entry::view::accessor!($type self.0, $key)
            })*
        }
    };
}

/// The types of fields, and how each is read.
macro_rules! accessor {
    (type text) => { Option<std::borrow::Cow<'a, str>> };
    (type texts) => { Vec<std::borrow::Cow<'a, str>> };
    (type number) => { Option<u64> };
    (type float) => { Option<f64> };
    (type flag) => { bool };
    (type value) => { Option<crate::json::Value<'a>> };
    (type time) => { Option<jiff::Timestamp> };
    (type content) => { crate::content::Content<'a> };
    (text $body:expr, $key:literal) => { $body.text($key) };
    (texts $body:expr, $key:literal) => { $body.texts($key).collect() };
    (number $body:expr, $key:literal) => { $body.number($key) };
    (float $body:expr, $key:literal) => { $body.get($key)?.as_f64() };
    (flag $body:expr, $key:literal) => { $body.flag($key) };
    (value $body:expr, $key:literal) => { $body.present($key) };
    (time $body:expr, $key:literal) => { $body.text($key)?.parse().ok() };
    (content $body:expr, $key:literal) => { crate::content::Content::new($body.get($key)) };
}

pub(crate) use {accessor, view};

#[cfg(test)]
mod tests;
