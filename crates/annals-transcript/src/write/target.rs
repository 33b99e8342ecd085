//! The transcript that a recorder writes to.

use std::path::{Path, PathBuf};

use super::error::{Error, ErrorKind};
use crate::paths::{SessionPaths, agent_meta};
use crate::project::is_session_id;

/// The transcript of a session, or of one of its subagents.
///
/// ```
/// use std::path::Path;
///
/// use annals_transcript::write::Target;
///
/// let target = Target::session(Path::new("projects/-src"), "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55")?;
/// assert!(target.path().ends_with("-src/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"));
/// # Ok::<(), annals_transcript::write::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    folder: PathBuf,
    session: String,
    agent: Option<Agent>,
}

/// A subagent, and the group that it belongs to, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    id: String,
    group: Option<PathBuf>,
}

impl Target {
    /// Returns the transcript of a session in a project's folder. It need not exist yet.
    pub fn session(folder: &Path, session: &str) -> Result<Self, Error> {
        if !is_session_id(session) {
            return Err(bad_name("a session, which is a UUID", session));
        }
        Ok(Self { folder: folder.to_owned(), session: session.to_owned(), agent: None })
    }

    /// Returns the transcript of a subagent of the session.
    #[must_use]
    pub fn with_agent(self, agent: Agent) -> Self {
        Self { agent: Some(agent), ..self }
    }

    /// Returns the id of the session.
    pub fn session_id(&self) -> &str {
        &self.session
    }

    /// Returns the project's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the subagent; `None` for a session's own transcript.
    pub fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// Returns the path of the transcript.
    pub fn path(&self) -> PathBuf {
        let paths = SessionPaths::new(&self.folder, &self.session);
        let Some(agent) = &self.agent else { return paths.transcript().to_owned() };
        paths.agent(&agent.id, agent.group.as_deref())
    }

    /// Returns the path of the subagent's metadata file; `None` for a session's own transcript.
    pub fn sidecar(&self) -> Option<PathBuf> {
        self.agent.as_ref().map(|_| agent_meta(&self.path()))
    }
}

impl Agent {
    /// Returns the subagent with an id, which must be usable as a file name.
    pub fn new(id: &str) -> Result<Self, Error> {
        if !is_plain(id) {
            return Err(bad_name("a subagent", id));
        }
        Ok(Self { id: id.to_owned(), group: None })
    }

    /// Puts the subagent into a group: a folder below the session's `subagents`, such as `workflows/wf_1`.
    pub fn in_group(self, group: &str) -> Result<Self, Error> {
        if !group.split('/').all(is_plain) {
            return Err(bad_name("a group of subagents", group));
        }
        Ok(Self { group: Some(group.split('/').collect()), ..self })
    }

    /// Returns the folder of its group, below `subagents`.
    pub fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Returns whether a text is a file name on every system and cannot lead out of its folder.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 100
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

fn bad_name(what: &'static str, name: &str) -> Error {
    Error::new(ErrorKind::Name { what, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn agents_lie_below_their_session_in_the_folder_of_their_group() {
        let session = Target::session(Path::new("p"), SESSION).unwrap();
        assert_eq!(session.path(), Path::new("p").join(format!("{SESSION}.jsonl")));
        assert_eq!(session.sidecar(), None);
        let agent = Agent::new("a1").unwrap().in_group("workflows/wf_1").unwrap();
        let folder = Path::new("p").join(SESSION).join("subagents/workflows/wf_1");
        let target = session.with_agent(agent);
        assert_eq!(target.path(), folder.join("agent-a1.jsonl"));
        assert_eq!(target.sidecar(), Some(folder.join("agent-a1.meta.json")));
    }

    #[test]
    fn names_lead_nowhere_else() {
        for name in ["", "..", "a/b", "a\\b", "a b", "ä", "a\0", "C:"] {
            assert!(Target::session(Path::new("p"), name).is_err(), "{name}");
            assert!(Agent::new(name).is_err(), "{name}");
        }
        for group in ["", "/etc", "a//b", "../x", "a/.."] {
            assert!(Agent::new("a").unwrap().in_group(group).is_err(), "{group}");
        }
    }
}
