//! The operations that race.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use serde_json::Value;

use super::world::{Mark, PROJECT, Side, World};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// An operation on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Delete,
    Restore,
    Purge,
    Fork,
    Rename,
    Tag,
    Archive,
    Unarchive,
    Tombstone,
    Record,
    Hydrate,
    /// Restores a transcript that `hydrate` replaced over the one on disk.
    Replace,
    Repair,
}

impl Operation {
    pub(super) const ALL: [Self; 13] = [
        Self::Delete,
        Self::Restore,
        Self::Purge,
        Self::Fork,
        Self::Rename,
        Self::Tag,
        Self::Archive,
        Self::Unarchive,
        Self::Tombstone,
        Self::Record,
        Self::Hydrate,
        Self::Replace,
        Self::Repair,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Purge => "purge",
            Self::Fork => "fork",
            Self::Rename => "rename",
            Self::Tag => "tag",
            Self::Archive => "archive",
            Self::Unarchive => "unarchive",
            Self::Tombstone => "tombstone",
            Self::Record => "record",
            Self::Hydrate => "hydrate",
            Self::Replace => "replace",
            Self::Repair => "repair",
        }
    }

    /// Starts the operation as a process, on the session that one side of the race works with.
    pub(super) fn start(self, side: Side, world: &mut World, annals: &Path) -> Result<Running> {
        let mark = world.new_mark();
        let log = world.folder().join(format!("{mark}.jsonl"));
        let log_path = log.to_string_lossy();
        let session = world.session(side);
        let doomed = world.doomed_entry(side);
        let replaced = world.replaced_entry(side);
        let args: &[&str] = match self {
            Self::Delete => &["delete", session, "--force"],
            Self::Restore => &["restore", session],
            Self::Purge => &["delete", session, "--purge", "--yes", "--force"],
            Self::Fork => &["fork", session, "--with-side-files"],
            Self::Rename => &["rename", session, &mark],
            Self::Tag => &["tag", session, &mark],
            Self::Archive => &["archive", session],
            Self::Unarchive => &["unarchive", session],
            Self::Tombstone => &["tombstone", session, &doomed, "--force"],
            Self::Record => &["record", "--session", session, "--project", PROJECT],
            Self::Hydrate => &["hydrate", &log_path, "--session", session, "--project", PROJECT, "--force"],
            Self::Replace => &["restore", session, "--entry", &replaced, "--replace", "--force"],
            Self::Repair => &["repair", session, "--apply", "--force"],
        };
        let line =
            format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{mark}\"}}}}\n");
        if self == Self::Hydrate {
            std::fs::write(&log, &line)?;
        }
        let mut command = world.command(side, annals);
        command.args(args).arg("--json").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().ok_or("the process has no standard input")?;
        if self == Self::Record {
            // A process that is killed reads nothing any more.
            let _ = stdin.write_all(line.as_bytes());
        }
        Ok(Running { operation: self, side, mark, child })
    }

    /// Returns whether the mark of a successful operation must be found afterwards.
    fn leaves_mark(self) -> bool {
        matches!(self, Self::Rename | Self::Tag | Self::Record | Self::Hydrate)
    }
}

/// An operation that is running.
pub(super) struct Running {
    operation: Operation,
    side: Side,
    mark: Mark,
    pub(super) child: Child,
}

impl Running {
    /// Waits for the end.
    pub(super) fn finish(self) -> Result<Finished> {
        let Output { status, stdout, stderr } = self.child.wait_with_output()?;
        let told = serde_json::from_slice(&stdout).unwrap_or_default();
        Ok(Finished {
            operation: self.operation,
            side: self.side,
            mark: self.mark,
            code: status.code(),
            told,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }
}

/// An operation that has ended, or was killed.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) operation: Operation,
    pub(super) side: Side,
    mark: Mark,
    /// Its exit code; `None` if it was killed.
    pub(super) code: Option<i32>,
    /// What it printed.
    pub(super) told: Value,
    pub(super) stderr: String,
}

impl Finished {
    pub(super) fn went_well(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns the mark that must be found because the operation reported success.
    pub(super) fn promised(&self) -> Option<&Mark> {
        (self.went_well() && self.operation.leaves_mark()).then_some(&self.mark)
    }
}
