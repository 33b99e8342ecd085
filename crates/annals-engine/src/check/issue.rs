//! What can be wrong: how much each issue matters, what it costs, and what helps, in words.

use annals_transcript::Problem;
use annals_transcript::chain::Obstacle;
use annals_transcript::second_root::RootKind;
use jiff::Timestamp;

use crate::request_rules::{Rule, is_plain_name};

/// What can be wrong with a line, a conversation or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The bytes are not one intact JSON object.
    Damage(Problem),
    /// The file begins with a byte order mark.
    ByteOrderMark,
    /// Lines end in CR LF.
    CarriageReturns,
    /// The last line is intact but does not end in a newline.
    NoFinalNewline,
    /// Some bytes are not UTF-8.
    InvalidUtf8,
    /// The file has lines, but none of them has an entry.
    NoEntries,
    /// A message lacks a field that Claude Code needs to restore it.
    MissingField(&'static str),
    /// A message in the middle of the file has no parent.
    Root(RootKind),
    /// Another line has the same uuid and takes precedence.
    Replaced {
        /// The number of the other line.
        by: u64,
        /// Whether the two lines have different content.
        differs: bool,
    },
    /// The parent of a message is not the message that it continues.
    Link {
        /// What is wrong with the link.
        broken: BrokenLink,
        /// Whether Claude Code loses something because of it.
        costs: bool,
    },
    /// Messages of the conversation that Claude Code would not restore.
    Lost {
        /// How many.
        messages: usize,
        /// The line of the last of them.
        to: u64,
    },
    /// Claude Code would not resume the session.
    NotResumable(Obstacle),
    /// A branch has messages that are newer than those of the conversation: two clients wrote at the same time.
    NewerBranch {
        /// How many messages are only there.
        messages: usize,
        /// The uuid of its last message.
        leaf: String,
    },
    /// A call has no result, although the conversation went on.
    CallWithoutResult,
    /// The call of a result is not in the file.
    ResultWithoutCall,
    /// Another call has the same id.
    RepeatedCall,
    /// A call has another result before this one.
    RepeatedResult,
    /// Messages were written twice under different uuids, and both copies would be sent.
    SentTwice {
        /// How many messages.
        messages: usize,
    },
    /// The API would refuse the request.
    Refused(Rule),
    /// Messages have a time that is later than now.
    FutureTimes {
        /// How many messages.
        messages: u64,
    },
    /// Messages are dated before the first Claude Code release.
    AncientTimes {
        /// How many messages.
        messages: u64,
    },
    /// Messages are more than an hour older than the message that they continue.
    BackwardTimes {
        /// How many messages.
        messages: u64,
    },
    /// Claude Code's lists do not show the session.
    Unlisted(Unlisted),
    /// The session of a subagent's transcript is gone.
    NoSession,
    /// Output of tools that was too long for the transcript, and whose file is gone.
    SpilledOutputGone {
        /// How many files.
        files: usize,
    },
    /// The file is so large that Claude Code reads only a part of it.
    Large {
        /// Its length.
        bytes: u64,
    },
    /// Every user of the machine can read it.
    OpenToOthers {
        /// How many transcripts.
        transcripts: usize,
    },
    /// Sessions of several working directories are in one folder, because Claude Code gives the same name to both.
    SharedFolder {
        /// The working directories.
        paths: Vec<String>,
    },
    /// Claude Code deletes sessions.
    Cleanup {
        /// How many sessions the clean-up takes.
        sessions: usize,
        /// When it can run; `None` at the next start of Claude Code.
        from: Option<Timestamp>,
        /// After how many days without a change a session is deleted.
        days: u64,
    },
}

/// What is wrong with the link of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenLink {
    /// The parent is not in the file.
    Missing,
    /// The message names no parent.
    NoParent,
    /// The message is its own parent.
    Own,
    /// The parent of the message comes later in the file.
    Circle,
    /// The parent is a `progress` entry that Claude Code does not find.
    Progress,
}

/// Why Claude Code's lists do not show a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// The name of the file is no UUID.
    FileName,
    /// The first line is a subagent's.
    SidechainFirst,
    /// The first prompt does not end within the first 64 KiB.
    LatePrompt,
    /// Objects span lines, or have blanks after their colons.
    Spacing,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost.
    Info,
    /// Something may be lost or shown wrongly.
    Warning,
    /// Claude Code loses a part of the history.
    Error,
}

impl Severity {
    /// Returns the severity as a word.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Issue {
    /// Returns how much the issue matters.
    pub fn severity(&self) -> Severity {
        match self {
            Issue::Damage(problem) => match problem {
                Problem::Blank | Problem::Trailing => Severity::Info,
                Problem::Torn => Severity::Warning,
                Problem::Nul
                | Problem::NulPrefix
                | Problem::Glued
                | Problem::Unclosed
                | Problem::Headless
                | Problem::Syntax
                | Problem::NotObject
                | Problem::Garbage => Severity::Error,
            },
            Issue::Root(kind) if !kind.continues() => Severity::Info,
            Issue::ByteOrderMark
            | Issue::CarriageReturns
            | Issue::NoFinalNewline
            | Issue::Replaced { differs: false, .. }
            | Issue::Link { costs: false, .. }
            | Issue::RepeatedResult
            | Issue::AncientTimes { .. }
            | Issue::BackwardTimes { .. }
            | Issue::Large { .. }
            | Issue::OpenToOthers { .. }
            | Issue::SharedFolder { .. }
            | Issue::Cleanup { .. } => Severity::Info,
            Issue::InvalidUtf8
            | Issue::MissingField(_)
            | Issue::Root(_)
            | Issue::Replaced { differs: true, .. }
            | Issue::Link { costs: true, .. }
            | Issue::NewerBranch { .. }
            | Issue::CallWithoutResult
            | Issue::ResultWithoutCall
            | Issue::RepeatedCall
            | Issue::SentTwice { .. }
            | Issue::FutureTimes { .. }
            | Issue::Unlisted(_)
            | Issue::NoSession
            | Issue::SpilledOutputGone { .. } => Severity::Warning,
            Issue::NoEntries | Issue::Lost { .. } | Issue::NotResumable(_) | Issue::Refused(_) => {
                Severity::Error
            }
        }
    }

    /// Returns the issue in words.
    pub fn title(&self) -> String {
        let text = match self {
            Issue::Damage(problem) => return problem.to_string(),
            Issue::MissingField(field) => return format!("message without a valid `{field}`"),
            Issue::Replaced { by, .. } => return format!("same uuid as line {by}"),
            Issue::Lost { messages, to } => {
                return format!(
                    "{} up to line {to} that Claude Code would lose",
                    count(*messages, "message")
                );
            }
            Issue::NotResumable(obstacle) => {
                return format!("Claude Code does not resume the session: {obstacle}");
            }
            Issue::NewerBranch { messages, .. } => {
                return format!("branch of {} beside the conversation", count(*messages, "message"));
            }
            Issue::Refused(rule) => return rule.title().to_owned(),
            Issue::FutureTimes { messages } => {
                return format!("{} with a time in the future", count(*messages, "message"));
            }
            Issue::AncientTimes { messages } => {
                return format!("{} dated before the first Claude Code release", count(*messages, "message"));
            }
            Issue::BackwardTimes { messages } => {
                return format!("{} older than the one before", count(*messages, "message"));
            }
            Issue::SentTwice { messages } => {
                return format!("second copies of {}", count(*messages, "message"));
            }
            Issue::SpilledOutputGone { files } => {
                return format!("{} with tool output missing", count(*files, "file"));
            }
            Issue::Large { bytes } => {
                return format!("transcript of {} MiB", bytes >> 20);
            }
            Issue::OpenToOthers { transcripts: 1 } => "transcript that every user of this machine can read",
            Issue::OpenToOthers { transcripts } => {
                return format!("{transcripts} transcripts that every user of this machine can read");
            }
            Issue::SharedFolder { paths } => {
                return format!("one folder for {}", paths.join(" and "));
            }
            Issue::Cleanup { sessions: 1, days, .. } => {
                return format!("session that was not changed for {days} days");
            }
            Issue::Cleanup { sessions, days, .. } => {
                return format!("{sessions} sessions that were not changed for {days} days");
            }
            Issue::ByteOrderMark => "byte order mark at the start",
            Issue::CarriageReturns => "lines end in CR LF",
            Issue::NoFinalNewline => "no newline at the end",
            Issue::InvalidUtf8 => "bytes that are not UTF-8",
            Issue::NoEntries => "no entry in the whole file",
            Issue::Root(RootKind::CopyOfFirstPrompt) => "copy of the first prompt",
            Issue::Root(RootKind::ParentlessPrompts) => {
                "prompt without a parent, as all prompts of this file"
            }
            Issue::Root(_) => "message whose link to what came before is lost",
            Issue::Link { broken, .. } => match broken {
                BrokenLink::Missing => "message whose parent is not in the file",
                BrokenLink::NoParent => "message that names no parent",
                BrokenLink::Own => "message that is its own parent",
                BrokenLink::Circle => "message whose parent comes later in the file",
                BrokenLink::Progress => {
                    "message whose parent is a `progress` line that Claude Code does not find"
                }
            },
            Issue::CallWithoutResult => "call without a result",
            Issue::ResultWithoutCall => "result without a call",
            Issue::RepeatedCall => "call with the id of another one",
            Issue::RepeatedResult => "second result of a call",
            Issue::Unlisted(why) => match why {
                Unlisted::FileName => "the name of the file is no UUID",
                Unlisted::SidechainFirst => "the first line is a subagent's",
                Unlisted::LatePrompt => "the first prompt does not end within the first 64 KiB",
                Unlisted::Spacing => "white space in JSON where Claude Code writes none",
            },
            Issue::NoSession => "subagent's transcript without its session",
        };
        text.to_owned()
    }

    /// Returns the consequences in words.
    pub fn effect(&self) -> String {
        let text = match self {
            Issue::Damage(problem) => match problem {
                Problem::Blank => "no effect",
                Problem::Trailing => "no effect: the object before it is read",
                Problem::Nul => "what belongs here was never written",
                Problem::NulPrefix | Problem::Glued => "Claude Code loses the entry; annals reads it",
                Problem::Torn => "the entry being written when its writer stopped is lost",
                Problem::Unclosed | Problem::Headless | Problem::Syntax => "the entry is lost",
                Problem::NotObject | Problem::Garbage => "no entry can be read here",
            },
            Issue::ByteOrderMark => "Claude Code reads the line, its SDKs lose it",
            Issue::CarriageReturns => "no effect: another program rewrote the line ends",
            Issue::NoFinalNewline => "a program that does not check for a newline appends to this line",
            Issue::InvalidUtf8 => "shown as U+FFFD, kept as they are",
            Issue::MissingField("uuid") => "Claude Code does not load the message",
            Issue::MissingField("parentUuid") => "Claude Code does not see what came before the message",
            Issue::MissingField("timestamp") => "Claude Code refuses to resume a conversation that ends here",
            Issue::MissingField(_) => "there is nothing to restore",
            Issue::Root(RootKind::CopyOfFirstPrompt) => "Claude Code reads the conversation from here on",
            Issue::Root(_) => "Claude Code may not see what came before the message",
            Issue::Replaced { differs: true, .. } => "Claude Code uses only the content of the other line",
            Issue::Replaced { differs: false, .. } => "no effect: both lines have the same content",
            Issue::NoEntries => "it is not a transcript, or nothing is left of one",
            Issue::Link { costs: true, .. } => "Claude Code loses what came before it",
            Issue::Link { costs: false, .. } => {
                "no further effect: Claude Code restores the remaining earlier messages"
            }
            Issue::Lost { .. } => "a resumed session does not know of them",
            Issue::NotResumable(_) => "it cannot be continued",
            Issue::NewerBranch { .. } => {
                "Claude Code continues the conversation without it; `annals repair --branch` continues the branch instead"
            }
            Issue::CallWithoutResult => "Claude Code leaves the call out",
            Issue::ResultWithoutCall => "Claude Code leaves the result out",
            Issue::RepeatedCall => "Claude Code leaves the second one out, with its result",
            Issue::RepeatedResult => "no effect: Claude Code sends the first",
            Issue::SentTwice { .. } => "Claude Code sends both, and drops calls whose ids repeat",
            Issue::Refused(_) => "the API refuses the request, and every later one of the session",
            Issue::FutureTimes { .. } => "lists show the session as the most recent until that time",
            Issue::AncientTimes { .. } => "lists show a wrong beginning",
            Issue::BackwardTimes { .. } => "a clock was set, or lines were moved; durations are wrong",
            Issue::Unlisted(_) => "Claude Code's lists do not show the session; `--resume ID` finds it",
            Issue::NoSession => "nothing shows which session the work belonged to",
            Issue::SpilledOutputGone { .. } => "only the beginning of the output is left",
            Issue::Large { .. } => "Claude Code reads nothing before the last compaction, and one branch",
            Issue::OpenToOthers { .. } => {
                "they see the prompts, files and secrets in them; Claude Code writes files that only their owner reads"
            }
            Issue::SharedFolder { .. } => "`claude --continue` in one of them takes a session of the other",
            Issue::Cleanup { from: None, .. } => {
                "Claude Code deletes such sessions at its next start, without asking"
            }
            Issue::Cleanup { from: Some(from), .. } => {
                return format!(
                    "Claude Code deletes such sessions when it is started after {from:.0}, without asking"
                );
            }
        };
        text.to_owned()
    }

    /// Returns whether the issue can be repaired without losing anything more.
    pub fn is_repairable(&self) -> bool {
        match self {
            Issue::Damage(problem) => match problem {
                Problem::Blank
                | Problem::Nul
                | Problem::NulPrefix
                | Problem::Glued
                | Problem::Trailing
                | Problem::Torn
                | Problem::Unclosed => true,
                Problem::Headless | Problem::Syntax | Problem::NotObject | Problem::Garbage => false,
            },
            Issue::Root(kind) => kind.continues(),
            Issue::MissingField(field) => matches!(*field, "uuid" | "timestamp"),
            Issue::Refused(rule) => *rule != Rule::RequestSize,
            Issue::NotResumable(obstacle) => *obstacle != Obstacle::NoConversation,
            Issue::ByteOrderMark
            | Issue::CarriageReturns
            | Issue::NoFinalNewline
            | Issue::Link { .. }
            | Issue::Lost { .. }
            | Issue::CallWithoutResult
            | Issue::RepeatedCall
            | Issue::SentTwice { .. }
            | Issue::Unlisted(Unlisted::LatePrompt | Unlisted::SidechainFirst)
            | Issue::OpenToOthers { .. } => true,
            Issue::InvalidUtf8
            | Issue::Replaced { .. }
            | Issue::NoEntries
            | Issue::NewerBranch { .. }
            | Issue::ResultWithoutCall
            | Issue::RepeatedResult
            | Issue::FutureTimes { .. }
            | Issue::AncientTimes { .. }
            | Issue::BackwardTimes { .. }
            | Issue::Unlisted(_)
            | Issue::NoSession
            | Issue::SpilledOutputGone { .. }
            | Issue::Large { .. }
            | Issue::SharedFolder { .. }
            | Issue::Cleanup { .. } => false,
        }
    }

    /// Returns the command that helps. `name` is the session, and `path` the transcript or folder, as they are written on a command line.
    pub fn help(&self, name: &str, path: &str) -> Option<String> {
        match self {
            Issue::Damage(Problem::NulPrefix | Problem::Glued)
            | Issue::MissingField("uuid" | "timestamp")
            | Issue::Link { costs: true, .. }
            | Issue::Lost { .. }
            | Issue::CallWithoutResult
            | Issue::RepeatedCall
            | Issue::SentTwice { .. } => Some(format!("annals repair {name} --apply")),
            Issue::Refused(_) | Issue::NotResumable(_) if self.is_repairable() => {
                Some(format!("annals repair {name} --apply"))
            }
            // A uuid of a transcript may be anything; it must not become a part of somebody's command.
            Issue::NewerBranch { leaf, .. } if is_plain_name(leaf) => {
                Some(format!("annals repair {name} --branch {leaf}"))
            }
            Issue::Large { .. } => Some(format!("annals repair {name} --in-place")),
            Issue::Unlisted(Unlisted::LatePrompt | Unlisted::SidechainFirst) => {
                Some(format!("annals rename {name} TITLE"))
            }
            Issue::OpenToOthers { .. } => Some(format!("chmod -R go-rwx {path}")),
            _ => None,
        }
    }
}

/// Returns a number with its noun.
fn count(number: impl TryInto<u64>, noun: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        several => format!("{several} {noun}s"),
    }
}
