//! `annals record`.

use std::ffi::OsString;
use std::path::PathBuf;

use annals_transcript::write;
use clap::ValueEnum;

use super::push::RemoteAccess;

pub(super) const RECORD_HELP: &str = "\
Each line is a draft: a JSON object with a `type` and, for messages, a `message`; or a record such as a title. Missing fields \
(`uuid`, `parentUuid`, `timestamp` and the others that Claude Code writes) are filled in. Drafts whose uuid is already in the session \
are skipped, also if their content has changed since. All lines up to the end, or to a blank line, are one batch: if one is refused, nothing of its batch is written. Each \
batch is reported as one line of JSON; a refusal ends the recording. With `--push`, a last line says what was sent and what is pending.

  echo '{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Hello\"}}' | annals record --project .";

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Record {
    /// The working directory of the session [default: that of the existing session, else the current directory; for a
    /// subagent, the directory and the branch of its session]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The session to append to, or the id of a new one [default: a new session]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Append to the transcript of this subagent of the session
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) agent: Option<String>,
    /// The folder below `subagents` that the subagent shares with others, such as `workflows/wf_1`
    #[arg(long, value_name = "PATH", requires = "agent")]
    pub(crate) group: Option<String>,
    /// Type of the agent, written beside its transcript
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(crate) agent_type: Option<String>,
    /// What the agent was asked to do
    #[arg(long, value_name = "TEXT", requires = "agent")]
    pub(crate) description: Option<String>,
    /// The tool call that started the agent
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) tool_use_id: Option<String>,
    /// The worktree that the agent works in: the working directory of its messages, also written beside its transcript
    #[arg(long, value_name = "DIR", requires = "agent")]
    pub(crate) worktree: Option<PathBuf>,
    /// End a batch after N drafts; with 1, each draft is on disk before the next one is read
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) batch: Option<usize>,
    /// Skip drafts that are refused, and record the others
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Refuse a draft whose uuid is already in the session with other content
    #[arg(long)]
    pub(crate) strict: bool,
    /// Drop progress entries of shell commands, MCP calls and waiting, which Claude Code shows only while a tool runs
    #[arg(long)]
    pub(crate) collapse_progress: bool,
    /// Value of `teamName` in every message: the team that the session belongs to
    #[arg(long, value_name = "NAME")]
    pub(crate) team_name: Option<String>,
    /// Value of `agentName` in every message: the name of the session, or of the subagent, within its team
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_name: Option<String>,
    /// When written lines are synced to disk, so that they survive a loss of power
    #[arg(long, value_enum, default_value_t = Sync::Flush)]
    pub(crate) sync: Sync,
    /// Value of `entrypoint` in every message
    #[arg(long, value_name = "NAME", default_value = "annals")]
    pub(crate) entrypoint: String,
    /// Send the entries of the session to this address, too, after they are on disk; see `annals push --help`
    #[arg(long, value_name = "URL")]
    pub(crate) push: Option<String>,
    /// With `--push`: also send records without a uuid, such as titles
    #[arg(long, requires = "push")]
    pub(crate) push_all: bool,
    /// With `--push`: the pause after the first failure, in milliseconds; each further one is twice as long, up to 8 seconds
    #[arg(long, value_name = "MS", default_value_t = 500, requires = "push")]
    pub(crate) retry_delay: u64,
    #[command(flatten)]
    pub(crate) access: RemoteAccess,
}

/// When written lines are synced to disk.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sync {
    /// The operating system decides
    Never,
    /// Before a batch is acknowledged
    Flush,
    /// The same as `flush`: `record` writes every batch before it acknowledges it
    Always,
}

impl From<Sync> for write::Sync {
    fn from(sync: Sync) -> Self {
        match sync {
            Sync::Never => write::Sync::Never,
            Sync::Flush => write::Sync::Flush,
            Sync::Always => write::Sync::Always,
        }
    }
}
