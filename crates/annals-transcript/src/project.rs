//! The folder of a project, and the role of each file in it.

use std::path::{Component, Path, PathBuf};

use crate::line::Reader;

/// Longer folder names, in UTF-16 units, are cut and get a hash.
const MAX_LENGTH: usize = 200;

/// Returns the folder name that Claude Code gives a project at `path`.
///
/// Every UTF-16 unit that is not an ASCII letter or digit becomes a dash, so two paths may share a name and no
/// name can be turned back into a path: take the path from `cwd` inside the transcripts.
///
/// ```
/// use annals_transcript::project::folder_name;
///
/// assert_eq!(folder_name(r"C:\Users\me\code"), "C--Users-me-code");
/// assert_eq!(folder_name("/home/dev/emoji😀x"), "-home-dev-emoji--x");
/// ```
pub fn folder_name(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    name.extend(path.encode_utf16().map(letter_or_dash));
    if name.len() > MAX_LENGTH {
        name.truncate(MAX_LENGTH);
        name.push('-');
        name.push_str(&base36(path_hash(path).unsigned_abs()));
    }
    name
}

fn letter_or_dash(unit: u16) -> char {
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    }
}

/// Returns the path that Claude Code uses for a working directory: symbolic links are resolved as far as the path exists.
pub fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        if let Ok(real) = dunce::canonicalize(existing) {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                existing = parent;
            }
            _ => return absolute,
        }
    }
}

/// The 32-bit hash that tells long paths apart.
fn path_hash(path: &str) -> i32 {
    path.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).expect("below 36"));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// The role of a file in a project's folder, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// `<session>.jsonl`: a session's transcript.
    Main {
        /// The session.
        session: String,
    },
    /// A subagent's transcript.
    Subagent {
        /// The session that it belongs to; `None` for old files, which are in the project's folder itself.
        session: Option<String>,
        /// The agent.
        agent: String,
        /// The folders between `subagents/` and the file, for agents that belong together.
        group: PathBuf,
    },
    /// `agent-<id>.meta.json`: facts about a subagent.
    AgentMeta {
        /// The session that it belongs to.
        session: Option<String>,
        /// The agent.
        agent: String,
    },
    /// A file under `<session>/tool-results/`: output too long for the transcript.
    ToolResult {
        /// The session that it belongs to.
        session: String,
    },
    /// `<session>/custom-title.json`.
    CustomTitle {
        /// The session that it belongs to.
        session: String,
    },
    /// `<session>/archived.json`.
    Archived {
        /// The session that it belongs to.
        session: String,
    },
    /// Another file of a session: workflow journals, scripts and summaries.
    SessionFile {
        /// The session that it belongs to.
        session: String,
    },
    /// `sessions-index.json`: a cache of old versions of Claude Code. It is often stale and must not be trusted.
    SessionsIndex,
    /// A file under `memory/`.
    Memory,
    /// Not a file of Claude Code.
    Other,
}

impl Role {
    /// Returns the role of a file, given its path below the project's folder.
    ///
    /// ```
    /// use annals_transcript::project::Role;
    ///
    /// let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// assert_eq!(Role::of(format!("{id}.jsonl").as_ref()), Role::Main { session: id.into() });
    /// assert_eq!(Role::of("notes.jsonl".as_ref()), Role::Other);
    /// ```
    pub fn of(path: &Path) -> Self {
        let names: Vec<_> = path
            .components()
            .map(|part| match part {
                Component::Normal(name) => name.to_str().unwrap_or(""),
                _ => "",
            })
            .collect();
        match names[..] {
            ["sessions-index.json"] => Role::SessionsIndex,
            ["memory", _, ..] => Role::Memory,
            [name] => Self::of_top_file(name),
            [session, ref inner @ ..] if is_session_id(session) => Self::of_session_file(session, inner),
            _ => Role::Other,
        }
    }

    fn of_top_file(name: &str) -> Self {
        if let Some(session) = session_of_transcript(name) {
            return Role::Main { session: session.to_owned() };
        }
        if let Some(agent) = agent_of_transcript(name) {
            return Role::Subagent { session: None, agent: agent.to_owned(), group: PathBuf::new() };
        }
        match agent_of_meta(name) {
            Some(agent) => Role::AgentMeta { session: None, agent: agent.to_owned() },
            None => Role::Other,
        }
    }

    fn of_session_file(session: &str, inner: &[&str]) -> Self {
        let session = session.to_owned();
        match inner {
            ["custom-title.json"] => Role::CustomTitle { session },
            ["archived.json"] => Role::Archived { session },
            ["tool-results", _, ..] => Role::ToolResult { session },
            ["subagents", group @ .., name] => {
                if let Some(agent) = agent_of_transcript(name) {
                    let group = group.iter().collect();
                    return Role::Subagent { session: Some(session), agent: agent.to_owned(), group };
                }
                match agent_of_meta(name) {
                    Some(agent) => Role::AgentMeta { session: Some(session), agent: agent.to_owned() },
                    None => Role::SessionFile { session },
                }
            }
            _ => Role::SessionFile { session },
        }
    }

    /// Returns whether the file is a transcript.
    pub fn is_transcript(&self) -> bool {
        matches!(self, Role::Main { .. } | Role::Subagent { .. })
    }
}

/// Returns whether a name is a session's id: a UUID.
pub fn is_session_id(name: &str) -> bool {
    let groups = [8, 4, 4, 4, 12];
    let mut parts = name.split('-');
    groups.iter().all(|&length| {
        parts
            .next()
            .is_some_and(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }) && parts.next().is_none()
}

/// Returns whether a file is a transcript, from its beginning. This is for files outside of Claude Code's folders.
///
/// Logs of other programs may have lines with the same `type`, but without the fields of transcript entries.
pub fn is_transcript(beginning: &[u8]) -> bool {
    let mut reader = Reader::new(beginning);
    while let Ok(Some(entry)) = reader.read() {
        if entry.head().is_typical() {
            return true;
        }
    }
    false
}

/// Returns the id in the name of a session's transcript; `None` for other files.
///
/// ```
/// use annals_transcript::project::{agent_of_transcript, session_of_transcript};
///
/// let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
/// assert_eq!(session_of_transcript(&format!("{id}.jsonl")), Some(id));
/// assert_eq!(session_of_transcript("agent-a1.jsonl"), None);
/// assert_eq!(agent_of_transcript("agent-a1.jsonl"), Some("a1"));
/// ```
pub fn session_of_transcript(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl").filter(|id| is_session_id(id))
}

/// Returns the id in the name of a subagent's transcript; `None` for other files.
pub fn agent_of_transcript(name: &str) -> Option<&str> {
    agent_in(name, ".jsonl")
}

/// Returns whether a file has the name of a subagent's transcript.
pub fn is_agent_transcript(name: &str) -> bool {
    agent_of_transcript(name).is_some()
}

/// Returns the id in the name of a file with facts about a subagent.
fn agent_of_meta(name: &str) -> Option<&str> {
    agent_in(name, ".meta.json")
}

fn agent_in<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    name.strip_prefix("agent-")?.strip_suffix(suffix).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn long_paths_are_cut_and_hashed() {
        let path = format!("/home/dev/{}", "b".repeat(190));
        assert_eq!(folder_name(&path), path.replace('/', "-"));
        let longer = format!("{path}b");
        assert_eq!(folder_name(&longer), format!("{}-vgbz53", &longer.replace('/', "-")[..200]));
    }

    #[test]
    fn roles_follow_from_the_path() {
        let session = || SESSION.to_owned();
        let subagent =
            |session, group: &str| Role::Subagent { session, agent: "a1".into(), group: group.into() };
        for (path, role) in [
            ("{}.jsonl", Role::Main { session: session() }),
            ("agent-a1.jsonl", subagent(None, "")),
            ("{}/subagents/agent-a1.jsonl", subagent(Some(session()), "")),
            ("{}/subagents/workflows/wf_1/agent-a1.jsonl", subagent(Some(session()), "workflows/wf_1")),
            (
                "{}/subagents/agent-a1.meta.json",
                Role::AgentMeta { session: Some(session()), agent: "a1".into() },
            ),
            ("{}/subagents/workflows/wf_1/journal.jsonl", Role::SessionFile { session: session() }),
            ("{}/tool-results/toolu_1.txt", Role::ToolResult { session: session() }),
            ("{}/custom-title.json", Role::CustomTitle { session: session() }),
            ("{}/archived.json", Role::Archived { session: session() }),
            ("sessions-index.json", Role::SessionsIndex),
            ("memory/notes.md", Role::Memory),
            ("memory/{}.jsonl", Role::Memory),
            ("ses_123.jsonl", Role::Other),
            ("{}.jsonl.bak", Role::Other),
            ("agent-.jsonl", Role::Other),
            ("backup/{}.jsonl", Role::Other),
        ] {
            assert_eq!(Role::of(path.replace("{}", SESSION).as_ref()), role, "{path}");
        }
    }

    #[test]
    fn other_programs_logs_are_not_transcripts() {
        let transcripts: [&[u8]; 3] = [
            b"garbage\n{\"type\":\"user\",\"uuid\":\"a\",\"parentUuid\":null,\"message\":{}}\n",
            b"{\"type\":\"custom-title\",\"customTitle\":\"x\",\"sessionId\":\"s\"}\n",
            b"{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"l\"}\n",
        ];
        let others: [&[u8]; 4] = [
            b"{\"type\":\"user\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"content\":\"hi\"}\n{\"type\":\"tool_use\",\"tool_name\":\"x\"}\n",
            b"{\"display\":\"hi\",\"project\":\"/x\",\"sessionId\":\"s\",\"timestamp\":1}\n",
            b"{\"type\":\"started\",\"key\":\"k\",\"agentId\":\"a\"}\n",
            b"",
        ];
        assert!(transcripts.iter().all(|file| is_transcript(file)));
        assert!(!others.iter().any(|file| is_transcript(file)));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_resolved_and_missing_folders_kept() {
        let home = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(home.path()).unwrap();
        std::fs::create_dir(home.join("real")).unwrap();
        std::os::unix::fs::symlink(home.join("real"), home.join("link")).unwrap();
        assert_eq!(resolve(&home.join("link/gone/deeper")), home.join("real/gone/deeper"));
        assert_eq!(resolve(&home.join("real/../link")), home.join("real"));
    }
}
