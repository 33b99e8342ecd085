//! Subagents: conversations that a session's calls started, each in a file of its own.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use annals_transcript::entry::view::{ToolUseResult, User};
use annals_transcript::json::{Value, quote};
use annals_transcript::patch;
use annals_transcript::paths::agent_meta;
use annals_transcript::session::BlockKind;
use annals_transcript::{Entry, Kind};

use crate::error::Error;
use crate::files::{Selection, TranscriptFile};
use crate::snapshot::Snapshot;

/// A subagent: its transcript, its metadata and the call that started it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Subagent {
    /// Its transcript.
    pub file: TranscriptFile,
    /// The call that started it.
    pub call: Option<String>,
    /// Its metadata.
    pub meta: Meta,
}

/// The metadata of a subagent, `agent-<id>.meta.json`. Old versions of Claude Code wrote none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The kind of agent.
    pub agent_type: Option<String>,
    /// Its task, in a few words.
    pub description: Option<String>,
    /// The call that started it.
    pub tool_use_id: Option<String>,
    /// The agent that started it; `None` if the session itself did.
    pub parent_agent: Option<String>,
    /// The worktree that it worked in.
    pub worktree: Option<String>,
    /// How deep it is nested, from 1.
    pub spawn_depth: Option<u64>,
}

impl Meta {
    /// Returns the metadata as JSON: the fields of an existing file, replaced by those that are set here.
    pub(crate) fn merged_into(&self, existing: Option<&[u8]>) -> Vec<u8> {
        let existing = existing.filter(|bytes| Value::new(bytes).is_some_and(Value::is_object));
        let text = |value: &Option<String>| value.as_deref().map(quote);
        let fields = [
            ("agentType", text(&self.agent_type)),
            ("description", text(&self.description)),
            ("toolUseId", text(&self.tool_use_id)),
            ("parentAgentId", text(&self.parent_agent)),
            ("worktreePath", text(&self.worktree)),
            ("spawnDepth", self.spawn_depth.map(|depth| depth.to_string())),
        ];
        let present = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
        present.fold(existing.unwrap_or(b"{}").to_vec(), |json, (key, value)| {
            patch::set(&json, key, &value).unwrap_or(json)
        })
    }

    /// Reads the metadata beside a subagent's transcript. It is empty if there is none.
    pub fn read(transcript: &Path) -> Self {
        let path = agent_meta(transcript);
        // Metadata is small: a large file, or one that is not regular, is something else.
        if !fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20) {
            return Self::default();
        }
        let Ok(bytes) = fs::read(path) else { return Self::default() };
        let Some(value) = Value::new(&bytes).filter(|value| value.is_object()) else {
            return Self::default();
        };
        let text = |key: &str| value.text(key).map(std::borrow::Cow::into_owned);
        Self {
            agent_type: text("agentType"),
            description: text("description"),
            tool_use_id: text("toolUseId"),
            parent_agent: text("parentAgentId"),
            worktree: text("worktreePath"),
            spawn_depth: value.number("spawnDepth"),
        }
    }
}

pub(crate) fn subagents(session: &Snapshot) -> Result<Vec<Subagent>, Error> {
    let mut found = Selection::default();
    found.add_subagents(session.file());
    let mut agents: Vec<_> = found
        .files
        .into_iter()
        .map(|file| Subagent { call: None, meta: Meta::read(&file.path), file })
        .collect();
    let mut calls = agents_in_results(session)?;
    for agent in &agents {
        // An agent may start other agents. An agent's transcript that cannot be read is skipped.
        if let Ok(snapshot) = Snapshot::take(agent.file.clone()) {
            calls.extend(agents_in_results(&snapshot)?);
        }
    }
    for agent in &mut agents {
        let by_result = agent.file.agent.as_ref().and_then(|id| calls.get(id)).cloned();
        agent.call = agent.meta.tool_use_id.clone().or(by_result);
    }
    Ok(agents)
}

/// Returns the call that started each agent, by the agent's id, for all results that name an agent.
fn agents_in_results(snapshot: &Snapshot) -> Result<HashMap<String, String>, Error> {
    let session = snapshot.session();
    let mut calls = HashMap::new();
    let ids = session.id_texts();
    for node in session.nodes().iter().filter(|node| node.kind == Kind::User) {
        let result = session.blocks(node).iter().find(|block| matches!(block.kind, BlockKind::ToolResult(_)));
        let Some(call) = result.and_then(|block| block.tool) else { continue };
        let body = snapshot.body(node)?;
        let result = Entry::new(&body).view::<User>().and_then(|user| user.tool_use_result());
        if let Some(agent) = result.and_then(ToolUseResult::agent_id) {
            calls.entry(agent.into_owned()).or_insert_with(|| ids.get(call));
        }
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::Roots;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn every_layout_is_found_and_linked() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, content: String| {
            let path = home.path().join("projects/-p").join(path.replace("{}", SESSION));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let result = |call: &str, agent: &str| {
            format!(
                r#"{{"type":"user","uuid":"r{call}","parentUuid":null,"sessionId":"{SESSION}","message":{{"content":[{{"type":"tool_result","tool_use_id":"{call}"}}]}},"toolUseResult":{{"agentId":"{agent}"}}}}{}"#,
                "\n"
            )
        };
        write("{}.jsonl", result("t1", "a1") + &result("t2", "a2"));
        write("{}/subagents/agent-a1.jsonl", result("t4", "a4"));
        write("{}/subagents/workflows/wf_1/agent-a3.jsonl", String::new());
        write(
            "{}/subagents/workflows/wf_1/agent-a3.meta.json",
            r#"{"agentType":"Explore","description":"look","toolUseId":"t3","spawnDepth":1}"#.to_owned(),
        );
        write("{}/subagents/agent-a4.jsonl", String::new());
        write("{}/subagents/agent-a5.jsonl", String::new());
        write("{}/subagents/agent-a5.meta.json", "broken".to_owned());
        write("agent-a2.jsonl", result("tx", "ax"));
        let engine = crate::Engine::open(
            Roots::given(vec![home.path().to_owned()]).unwrap(),
            crate::Home::at(home.path()),
        );
        let session = engine.snapshot(engine.session(SESSION.as_ref()).unwrap()).unwrap();
        let agents = engine.subagents(&session).unwrap();
        let mut linked: Vec<_> = agents
            .iter()
            .map(|agent| (agent.file.agent.clone().unwrap(), agent.call.clone().unwrap_or_default()))
            .collect();
        linked.sort();
        let expected = [("a1", "t1"), ("a2", "t2"), ("a3", "t3"), ("a4", "t4"), ("a5", "")];
        assert_eq!(linked, expected.map(|(agent, call)| (agent.to_owned(), call.to_owned())));
        let explorer = agents.iter().find(|agent| agent.file.agent.as_deref() == Some("a3")).unwrap();
        assert_eq!(
            (explorer.meta.agent_type.as_deref(), explorer.meta.spawn_depth),
            (Some("Explore"), Some(1))
        );
    }
}
