use std::fs;

use serde_json::{Value as Json, json};

use super::*;
use crate::roots::Roots;

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

/// A config folder with one session.
struct Fixture {
    home: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    /// Writes a file of the project; `{}` in its path is the session.
    fn write(&self, path: &str, lines: &[Json]) {
        let lines: Vec<_> = lines.iter().map(Json::to_string).chain([String::new()]).collect();
        self.write_text(path, &lines.join("\n"));
    }

    fn write_text(&self, path: &str, text: &str) {
        let path = self.home.path().join("projects/-p").join(path.replace("{}", SESSION));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn engine(&self) -> Engine {
        let roots = Roots::given(vec![self.home.path().to_owned()]).unwrap();
        Engine::open(roots, crate::Home::at(self.home.path()))
    }

    fn agents(&self) -> Agents {
        let engine = self.engine();
        engine.agents(&engine.session(SESSION.as_ref()).unwrap()).unwrap()
    }

    fn agent(&self, id: &str) -> Subagent {
        let agents = self.agents().local;
        agents.into_iter().find(|agent| agent.file.agent.as_deref() == Some(id)).unwrap()
    }
}

fn call(uuid: &str, id: &str) -> Json {
    json!({"type": "assistant", "uuid": uuid, "message": {"id": format!("m{id}"), "content": [
        {"type": "tool_use", "id": id, "name": "Agent", "input": {
            "subagent_type": "Explore", "description": "Find the leak", "prompt": "Look"}}]}})
}

fn result(call: &str, output: &Json) -> Json {
    json!({"type": "user", "uuid": format!("r{call}"), "sessionId": SESSION, "toolUseResult": output,
        "message": {"content": [{"type": "tool_result", "tool_use_id": call}]}})
}

fn prompt(text: &str) -> Json {
    json!({"type": "user", "uuid": "p", "timestamp": "2026-03-01T10:00:00.000Z", "message": {"content": text}})
}

fn reply(text: &str, stop_reason: Option<&str>) -> Json {
    json!({"type": "assistant", "uuid": "a", "timestamp": "2026-03-01T10:00:30.000Z", "message": {
        "id": "m", "stop_reason": stop_reason, "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 5, "output_tokens": 7}}})
}

fn notification(task: &str, status: &str) -> String {
    format!("<task-notification>\n<task-id>{task}</task-id>\n<status>{status}</status>\n</task-notification>")
}

#[test]
fn every_layout_is_found_and_linked() {
    let fixture = Fixture::new();
    let names = |agent: &str| json!({"agentId": agent});
    fixture.write("{}.jsonl", &[result("t1", &names("a1")), result("t2", &names("a2"))]);
    fixture.write("{}/subagents/agent-a1.jsonl", &[result("t4", &names("a4"))]);
    fixture.write("{}/subagents/workflows/wf_1/agent-a3.jsonl", &[]);
    fixture.write_text(
        "{}/subagents/workflows/wf_1/agent-a3.meta.json",
        r#"{"agentType":"Explore","description":"look","toolUseId":"t3","spawnDepth":1}"#,
    );
    fixture.write("{}/subagents/agent-a4.jsonl", &[]);
    fixture.write("{}/subagents/agent-a5.jsonl", &[]);
    fixture.write_text("{}/subagents/agent-a5.meta.json", "broken");
    fixture.write("agent-a2.jsonl", &[result("tx", &names("ax"))]);
    let agents = fixture.agents().local;
    let mut linked: Vec<_> = agents
        .iter()
        .map(|agent| (agent.file.agent.clone().unwrap(), agent.call.clone().unwrap_or_default()))
        .collect();
    linked.sort();
    let expected = [("a1", "t1"), ("a2", "t2"), ("a3", "t3"), ("a4", "t4"), ("a5", "")];
    assert_eq!(linked, expected.map(|(agent, call)| (agent.to_owned(), call.to_owned())));
    let explorer = fixture.agent("a3");
    assert_eq!(
        (explorer.meta.agent_type.as_deref(), explorer.meta.spawn_depth, explorer.group.to_str()),
        (Some("Explore"), Some(1), Some("workflows/wf_1"))
    );
    assert_eq!(fixture.agent("a1").group, PathBuf::new());
    assert_eq!(fixture.agent("a5").metadata, None);
}

#[test]
fn an_agent_names_the_entry_and_the_agent_that_started_it() {
    let fixture = Fixture::new();
    fixture.write("{}.jsonl", &[call("u1", "t1"), result("t1", &json!({"agentId": "outer"}))]);
    fixture.write("{}/subagents/agent-outer.jsonl", &[call("u2", "t2")]);
    fixture.write("{}/subagents/agent-inner.jsonl", &[prompt("Look"), reply("Seen", Some("end_turn"))]);
    fixture.write_text("{}/subagents/agent-inner.meta.json", r#"{"toolUseId":"t2","worktreePath":"/w/茶"}"#);
    let (outer, inner) = (fixture.agent("outer"), fixture.agent("inner"));
    assert_eq!((outer.call_entry.as_deref(), outer.parent.as_deref()), (Some("u1"), None));
    assert_eq!((inner.call_entry.as_deref(), inner.parent.as_deref()), (Some("u2"), Some("outer")));
    assert_eq!(inner.meta.worktree.as_deref(), Some("/w/茶"));
    let type_and_task = |agent: &Subagent| (agent.meta.agent_type.clone(), agent.meta.description.clone());
    let of_call = (Some("Explore".to_owned()), Some("Find the leak".to_owned()));
    assert_eq!(type_and_task(&outer), of_call, "without metadata, the call says it");
    fixture
        .write_text("{}/subagents/agent-outer.meta.json", r#"{"agentType":"Plan","description":"Plan it"}"#);
    assert_eq!(type_and_task(&fixture.agent("outer")).0.as_deref(), Some("Plan"), "metadata comes first");
    assert_eq!((inner.entries, inner.usage.input, inner.usage.output), (2, 5, 7));
    let seconds = inner.last_at.unwrap().duration_since(inner.first_at.unwrap()).as_secs();
    assert_eq!(seconds, 30);
    let of_agent = fixture.engine().agents(&outer.file).unwrap().local;
    assert_eq!(of_agent.len(), 2, "those of the session");
    assert_eq!(fixture.agents().local[0].file.agent.as_deref(), Some("inner"), "the only one with a time");
}

#[test]
fn the_state_of_an_agent_comes_from_results_notifications_metadata_and_its_own_end() {
    let launched = |agent: &str| json!({"agentId": agent, "status": "async_launched", "isAsync": true});
    let ended = reply("Seen", Some("end_turn"));
    let open = call("u9", "t9");
    let queued =
        json!({"type": "queue-operation", "operation": "enqueue", "content": notification("a1", "killed")});
    let attached = json!({"type": "attachment", "uuid": "n", "attachment": {
        "type": "queued_command", "commandMode": "task-notification", "prompt": notification("t1", "failed")}});
    let quoted = prompt(&format!("Explain this: {}", notification("a1", "failed")));
    let failed = json!({"type": "user", "uuid": "r", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "no such agent"}]}});
    for (session, own, meta, state) in [
        (vec![result("t1", &json!({"agentId": "a1", "status": "completed"}))], &open, "{}", AgentState::Done),
        (vec![result("t1", &launched("a1"))], &open, "{}", AgentState::Unfinished),
        (vec![result("t1", &launched("a1"))], &ended, "{}", AgentState::Done),
        (vec![result("t1", &launched("a1"))], &open, r#"{"finished":true}"#, AgentState::Done),
        (
            vec![result("t1", &launched("a1")), prompt(&notification("a1", "completed"))],
            &open,
            "{}",
            AgentState::Done,
        ),
        (vec![result("t1", &launched("a1")), queued], &ended, "{}", AgentState::Stopped),
        (vec![result("t1", &launched("a1")), attached], &ended, "{}", AgentState::Failed),
        (vec![result("t1", &launched("a1")), quoted], &ended, "{}", AgentState::Done),
        (
            vec![result("t1", &launched("a1")), prompt(&notification("a1", "running"))],
            &open,
            "{}",
            AgentState::Unfinished,
        ),
        (vec![failed], &open, r#"{"toolUseId":"t1"}"#, AgentState::Failed),
        (vec![], &ended, r#"{"stoppedByUser":true,"finished":true}"#, AgentState::Stopped),
        (vec![], &reply("Seen", None), "{}", AgentState::Done),
        (vec![], &prompt("[Request interrupted by user]"), "{}", AgentState::Stopped),
        (vec![], &prompt("Look"), "{}", AgentState::Unfinished),
    ] {
        let fixture = Fixture::new();
        fixture.write("{}.jsonl", &session);
        fixture.write("{}/subagents/agent-a1.jsonl", std::slice::from_ref(own));
        fixture.write_text("{}/subagents/agent-a1.meta.json", meta);
        assert_eq!(fixture.agent("a1").state, state, "{session:#?} {own} {meta}");
    }
}

#[test]
fn the_journal_of_a_workflow_says_how_its_agents_ended() {
    let fixture = Fixture::new();
    fixture.write("{}.jsonl", &[prompt("Look")]);
    let line = |kind: &str, agent: &str| json!({"type": kind, "key": "v2:1", "agentId": agent});
    let journal = [line("started", "a1"), line("started", "a2"), line("result", "a1"), line("failed", "a2")];
    fixture.write("{}/subagents/workflows/wf_1/journal.jsonl", &journal);
    for agent in ["a1", "a2", "a3"] {
        fixture.write(&format!("{{}}/subagents/workflows/wf_1/agent-{agent}.jsonl"), &[prompt("Look")]);
    }
    let states = ["a1", "a2", "a3"].map(|agent| fixture.agent(agent).state);
    assert_eq!(states, [AgentState::Done, AgentState::Failed, AgentState::Unfinished]);
}

#[test]
fn metadata_of_remote_agents_is_listed_with_every_field() {
    let fixture = Fixture::new();
    fixture.write("{}.jsonl", &[prompt("Look"), call("u1", "t1")]);
    let metadata = r#"{"description":"look far away","toolUseId":"t1","new":{"field":[1,2]}}"#;
    fixture.write_text("{}/remote-agents/far-1.meta.json", metadata);
    fixture.write_text("{}/remote-agents/far-2.meta.json", "{broken}");
    fixture.write_text("{}/remote-agents/notes.txt", "x");
    fs::create_dir(fixture.home.path().join(format!("projects/-p/{SESSION}/remote-agents/far-3.meta.json")))
        .unwrap();
    let agents = fixture.agents();
    assert!(agents.local.is_empty() && agents.errors.is_empty());
    let [first, second] = &agents.remote[..] else { panic!("{:?}", agents.remote) };
    assert_eq!((first.id.as_str(), second.id.as_str()), ("far-1", "far-2"));
    assert_eq!(first.meta.description.as_deref(), Some("look far away"));
    assert_eq!((first.call_entry.as_deref(), &first.parent), (Some("u1"), &None));
    assert_eq!(first.metadata.as_ref().unwrap().value().unwrap().bytes(), metadata.as_bytes());
    assert_eq!(second.metadata, None);
}

#[cfg(unix)]
#[test]
fn an_agent_that_cannot_be_read_is_listed_and_reported() {
    let fixture = Fixture::new();
    fixture.write("{}.jsonl", &[prompt("Look")]);
    fixture.write("{}/subagents/agent-a1.jsonl", &[reply("Seen", Some("end_turn"))]);
    let gone = fixture.home.path().join(format!("projects/-p/{SESSION}/subagents/agent-a2.jsonl"));
    std::os::unix::fs::symlink("nowhere", gone).unwrap();
    let agents = fixture.agents();
    assert_eq!((agents.local.len(), agents.errors.len()), (2, 1));
    assert!(agents.errors[0].is_unreadable());
}

#[cfg(unix)]
#[test]
fn links_out_of_the_config_folders_are_left_out_for_untrusted_callers() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.json");
    fs::write(&secret, "{\"type\":\"user\",\"description\":\"secret\"}\n").unwrap();
    fixture.write("{}.jsonl", &[prompt("Look")]);
    fixture.write("{}/subagents/agent-a1.jsonl", &[prompt("Look")]);
    fixture.write_text("{}/remote-agents/far-1.meta.json", "{}");
    let folder = fixture.home.path().join(format!("projects/-p/{SESSION}"));
    for link in ["subagents/agent-a2.jsonl", "subagents/agent-a1.meta.json", "remote-agents/far-2.meta.json"]
    {
        std::os::unix::fs::symlink(&secret, folder.join(link)).unwrap();
    }
    let engine = fixture.engine();
    let session = engine.session(SESSION.as_ref()).unwrap();
    let trusted = engine.agents(&session).unwrap();
    assert_eq!((trusted.local.len(), trusted.remote.len()), (2, 2));
    let agents = engine.agents_inside(&session).unwrap();
    let [agent] = &agents.local[..] else { panic!("{:?}", agents.local) };
    assert_eq!((agent.file.agent.as_deref(), &agent.metadata, agents.remote.len()), (Some("a1"), &None, 1));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn no_content_of_an_agents_files_makes_the_list_fail(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        text in "(<task-notification>|<status>|</status>|<task-id>|a1|completed|[{}\":,]|\\\\n){0,30}",
    ) {
        let fixture = Fixture::new();
        fixture.write("{}.jsonl", &[prompt(&text), call("u1", &text), result(&text, &json!({"agentId": "a1"}))]);
        for path in ["subagents/agent-a1.jsonl", "subagents/agent-a1.meta.json", "subagents/journal.jsonl", "remote-agents/b.meta.json"] {
            let path = fixture.home.path().join(format!("projects/-p/{SESSION}")).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, [&bytes[..], text.as_bytes()].concat()).unwrap();
        }
        let agents = fixture.agents();
        proptest::prop_assert_eq!((agents.local.len(), agents.remote.len(), agents.errors.len()), (1, 1, 0));
    }
}
