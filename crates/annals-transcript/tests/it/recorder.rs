//! What the recorder writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use annals_transcript::chain::Chain;
use annals_transcript::model;
use annals_transcript::session::Session;
use annals_transcript::write::{
    self, Agent, Compaction, Draft, DraftError, Envelope, Options, Recorder, Sync, Target, fs::RealDisk,
    rewrite,
};
use serde_json::{Value, json};

pub(crate) const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

pub(crate) fn envelope() -> Envelope {
    Envelope {
        cwd: "/home/dev/work".into(),
        version: "2.1.325".into(),
        entrypoint: "cli".into(),
        git_branch: "main".into(),
        ..Envelope::default()
    }
}

pub(crate) fn options() -> Options {
    Options { now: || "2026-01-31T12:00:00Z".parse().unwrap(), ..Options::default() }
}

pub(crate) fn target(folder: &Path) -> Target {
    Target::session(folder, SESSION).unwrap()
}

fn recorder_of(target: Target) -> Recorder {
    Recorder::builder(target).envelope(envelope()).options(options()).open().unwrap()
}

/// A project's folder with a recorder in it.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn with(lines: &str) -> Self {
        let project = Self::new();
        std::fs::write(project.path(), lines).unwrap();
        project
    }

    fn path(&self) -> PathBuf {
        target(self.folder.path()).path()
    }

    fn recorder(&self) -> Recorder {
        recorder_of(target(self.folder.path()))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap_or_default()
    }

    fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns `uuid < parent` of every line with a uuid, and the type of all others.
    fn shape(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let shape = |line: &Value| match line.get("uuid") {
            Some(id) => format!("{} < {}", text(id), text(&line["parentUuid"])),
            None => text(&line["type"]),
        };
        self.lines().iter().map(shape).collect()
    }
}

pub(crate) fn draft(json: &Value) -> Draft {
    Draft::parse(json.to_string().as_bytes()).unwrap()
}

/// A prompt with an id.
pub(crate) fn prompt(id: &str) -> Draft {
    draft(
        &json!({"type": "user", "uuid": id, "message": {"role": "user", "content": format!("text of {id}")}}),
    )
}

fn reply(id: &str) -> Draft {
    let message =
        json!({"id": format!("msg_{id}"), "role": "assistant", "content": [{"type": "text", "text": id}]});
    draft(&json!({"type": "assistant", "uuid": id, "message": message}))
}

#[test]
fn what_the_client_writes_is_filled_in_and_what_the_caller_says_is_kept() {
    let project = Project::new();
    let mut recorder = project.recorder();
    let caller = br#"{"type":"user",
        "message":{"role":"user","content":"Hi"}, "number":1.50,"uuid":"a", "sessionId":"another"}"#;
    recorder.append(vec![Draft::parse(caller).unwrap()]).unwrap();
    recorder.flush().unwrap();
    assert_eq!(
        project.text(),
        concat!(
            r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Hi"},"#,
            r#""number":1.50,"uuid":"a","timestamp":"2026-01-31T12:00:00.000Z","userType":"external","#,
            r#""entrypoint":"cli","cwd":"/home/dev/work","sessionId":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","#,
            r#""version":"2.1.325","gitBranch":"main"}"#,
            "\n"
        )
    );
}

#[test]
fn the_file_is_made_by_the_first_message_and_begins_with_what_waited() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder.append(vec![Draft::title("Früh 早"), Draft::mode("normal")]).unwrap();
    recorder.flush().unwrap();
    assert!(!project.path().exists());
    assert_eq!(recorder.waiting(), 2);
    recorder.append(vec![prompt("a")]).unwrap();
    recorder.flush().unwrap();
    assert_eq!(project.shape(), ["custom-title", "mode", "a < -"]);
    assert!(project.text().starts_with(&format!(
        r#"{{"type":"custom-title","customTitle":"Früh 早","sessionId":"{SESSION}"}}"#
    )));
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_what_is_recorded() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("projects/-p");
    let mut recorder =
        Recorder::builder(target(&folder)).envelope(envelope()).options(options()).open().unwrap();
    recorder.append(vec![prompt("a")]).unwrap();
    drop(recorder);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&target(&folder).path()), mode(&folder)), (0o600, 0o700));
}

#[test]
fn each_message_hangs_on_the_one_before_and_nothing_on_progress() {
    let project = Project::new();
    let mut recorder = project.recorder();
    let progress = draft(&json!({"type": "progress", "uuid": "p", "data": {"type": "hook_progress"}}));
    let appended =
        recorder.append(vec![prompt("a"), reply("b"), progress.clone(), prompt("c"), progress]).unwrap();
    assert_eq!((appended.written, appended.skipped, appended.last.as_deref()), (4, 1, Some("c")));
    recorder.flush().unwrap();
    assert_eq!(project.shape(), ["a < -", "b < a", "p < b", "c < b"]);
}

/// Claude Code reads the parent of the progress instead, so the line keeps the parent that the draft names.
#[test]
fn a_draft_may_hang_on_progress_of_its_batch_or_of_the_file() {
    let project = Project::new();
    let mut recorder = project.recorder();
    let hook = |id: &str, parent: &str| progress("hook_progress", id, Some(parent));
    recorder.append(vec![prompt("a"), hook("p", "a"), hook("q", "p"), reply("b").with_parent("q")]).unwrap();
    recorder.flush().unwrap();
    recorder.append(vec![prompt("c").with_parent("q")]).unwrap();
    recorder.flush().unwrap();
    // A recorder that reads the file knows the progress, too.
    let mut recorder = project.recorder();
    recorder.append(vec![prompt("d").with_parent("p")]).unwrap();
    recorder
        .append(vec![draft(&json!({"type": "queue-operation", "uuid": "r", "operation": "enqueue"}))])
        .unwrap();
    recorder.flush().unwrap();
    let shape = project.shape();
    assert_eq!(shape[..6], ["a < -", "p < a", "q < p", "b < q", "c < q", "d < p"], "{shape:?}");
    let session = Session::read(std::fs::File::open(project.path()).unwrap()).unwrap();
    assert_eq!(Chain::build(&session).entries(), [0, 5], "d continues a");
    let refused = recorder.append(vec![prompt("e").with_parent("r")]).unwrap_err();
    assert_eq!(refused.reason(), Some(&DraftError::NotAMessage("r".into())));
}

/// Of entries at the same time, the client would take the first for a parent that is lost.
#[test]
fn times_tell_what_came_before_even_if_the_clock_stands_still() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder.append(vec![prompt("a"), reply("b"), prompt("c"), reply("d")]).unwrap();
    recorder.flush().unwrap();
    recorder.append(vec![prompt("e")]).unwrap();
    recorder.flush().unwrap();
    let lines = project.lines();
    let times: Vec<_> = lines.iter().map(|line| line["timestamp"].as_str().unwrap()).collect();
    assert_eq!(times[0], "2026-01-31T12:00:00.000Z");
    assert!(times.is_sorted_by(|before, after| before < after), "{times:?}");
    rewrite::remove_entry(&RealDisk, &project.path(), "d", rewrite::REWRITE_LIMIT, Duration::ZERO).unwrap();
    let session = Session::read(std::fs::File::open(project.path()).unwrap()).unwrap();
    assert_eq!(model::messages(&Chain::build(&session)).len(), 4, "a, b, c with e, and a reply to come");
}

#[test]
fn what_is_known_at_the_front_of_a_batch_moves_the_start_and_what_comes_behind_does_not() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder.append(vec![prompt("a"), reply("b"), prompt("c"), reply("d")]).unwrap();
    recorder.flush().unwrap();
    let appended = recorder.append(vec![prompt("a"), reply("b"), prompt("e")]).unwrap();
    assert_eq!((appended.written, appended.skipped, appended.last.as_deref()), (1, 2, Some("e")));
    let appended = recorder.append(vec![prompt("f"), reply("d"), reply("g")]).unwrap();
    assert_eq!((appended.written, appended.skipped, appended.last.as_deref()), (2, 1, Some("g")));
    let appended = recorder.append(vec![prompt("a"), reply("b")]).unwrap();
    assert_eq!((appended.written, appended.skipped, appended.last.as_deref()), (0, 2, Some("b")));
    recorder.flush().unwrap();
    assert_eq!(project.shape()[4..], ["e < b", "f < e", "g < f"]);
}

#[test]
fn a_compaction_begins_a_chain_and_remembers_what_it_came_from() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder.append(vec![prompt("a"), reply("b"), prompt("c"), reply("d")]).unwrap();
    let compaction = Compaction {
        trigger: "manual".into(),
        tokens_before: Some(1000),
        summary: "What was said".into(),
        kept: vec!["c".into(), "d".into()],
    };
    let appended = recorder.compact(&compaction).unwrap();
    let summary = appended.last.unwrap();
    // The caller's list now begins with the boundary; the kept messages come again after it.
    recorder.append(vec![prompt("e")]).unwrap();
    recorder.flush().unwrap();
    let lines = project.lines();
    let boundary = &lines[4];
    assert_eq!((&boundary["parentUuid"], &boundary["logicalParentUuid"]), (&Value::Null, &json!("d")));
    let metadata = &boundary["compactMetadata"];
    assert_eq!(
        metadata["preservedSegment"],
        json!({"headUuid": "c", "anchorUuid": summary, "tailUuid": "d"})
    );
    assert_eq!(metadata["preservedMessages"]["uuids"], json!(["c", "d"]));
    assert_eq!(lines[5]["parentUuid"], boundary["uuid"]);
    assert_eq!(lines[6]["parentUuid"], json!(summary));
    let unknown = Compaction { kept: vec!["nowhere".into()], ..compaction };
    assert!(recorder.compact(&unknown).unwrap_err().is_no_entry());
}

#[test]
fn results_hang_on_their_calls() {
    let project = Project::new();
    let mut recorder = project.recorder();
    let result = |id: &str, call: &str| {
        draft(&json!({"type": "user", "uuid": id, "sourceToolAssistantUUID": call,
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]}}))
    };
    recorder
        .append(vec![prompt("a"), reply("b"), reply("c"), result("d", "b"), result("e", "c"), reply("f")])
        .unwrap();
    recorder.flush().unwrap();
    assert_eq!(project.shape()[3..], ["d < b", "e < c", "f < e"]);
}

#[test]
fn a_refused_draft_keeps_its_batch_out() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder.append(vec![prompt("a")]).unwrap();
    recorder.flush().unwrap();
    let side = draft(&json!({"type": "user", "isSidechain": true, "message": {"content": "x"}}));
    for (bad, reason) in [
        (prompt("x").with_parent("nowhere"), DraftError::NoParent("nowhere".into())),
        (side, DraftError::Sidechain),
    ] {
        let error = recorder.append(vec![prompt("b"), bad.clone(), prompt("c")]).unwrap_err();
        assert_eq!((error.draft(), error.reason()), (Some(2), Some(&reason)));
        assert_eq!(recorder.waiting(), 0);
        assert_eq!(recorder.last(), Some("a"));
    }
    let orphan = prompt("x").with_parent("nowhere");
    let (appended, refused) =
        recorder.append_valid(vec![prompt("y"), orphan, prompt("z").with_parent("y")]).unwrap();
    assert_eq!((appended.written, refused.len()), (2, 1));
    recorder.flush().unwrap();
    assert_eq!(project.shape(), ["a < -", "y < a", "z < y"]);
}

#[test]
fn a_known_entry_whose_content_changed_is_skipped_and_counts_as_prefix() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder.append(vec![prompt("a"), reply("b"), prompt("c")]).unwrap();
    recorder.flush().unwrap();
    let before = std::fs::read_to_string(project.path()).unwrap();
    let later = draft(&json!({"type": "assistant", "uuid": "b", "message": {"id": "b", "role": "assistant",
        "content": [{"type": "text", "text": "b"}], "stop_reason": "end_turn", "usage": {"output_tokens": 7}}}));
    let appended = recorder.append(vec![prompt("a"), later.clone(), prompt("d")]).unwrap();
    assert_eq!((appended.written, appended.skipped, appended.last.as_deref()), (1, 2, Some("d")));
    recorder.flush().unwrap();
    let after = std::fs::read_to_string(project.path()).unwrap();
    assert!(after.starts_with(&before), "the recorded line stays");
    assert_eq!(project.shape().last().unwrap(), "d < b", "the new message hangs on the known one");
    // The same within a batch.
    let other = draft(&json!({"type": "user", "uuid": "e", "message": {"content": "other"}}));
    let appended = recorder.append(vec![prompt("e"), other, prompt("f")]).unwrap();
    assert_eq!((appended.written, appended.skipped), (2, 1));
}

#[test]
fn a_strict_recorder_refuses_a_known_entry_whose_content_changed() {
    let project = Project::new();
    let mut recorder = Recorder::builder(target(project.folder.path())).strict(true).open().unwrap();
    recorder.append(vec![prompt("a")]).unwrap();
    recorder.flush().unwrap();
    let other = draft(&json!({"type": "user", "uuid": "a", "message": {"content": "other words"}}));
    let error = recorder.append(vec![prompt("b"), other.clone()]).unwrap_err();
    assert_eq!((error.draft(), error.reason()), (Some(2), Some(&DraftError::IdTaken("a".into()))));
    assert_eq!((recorder.waiting(), recorder.last()), (0, Some("a")));
    let (appended, refused) = recorder.append_valid(vec![prompt("a"), other, prompt("c")]).unwrap();
    assert_eq!((appended.written, appended.skipped, refused.len()), (1, 1, 1));
}

/// Returns progress with an id and a parent, if it names one.
fn progress(kind: &str, id: &str, parent: Option<&str>) -> Draft {
    let progress = draft(&json!({"type": "progress", "uuid": id, "toolUseID": "t", "data": {"type": kind}}));
    parent.map_or(progress.clone(), |parent| progress.with_parent(parent))
}

#[test]
fn ephemeral_progress_is_dropped_and_what_hangs_on_it_is_not_lost() {
    let project = Project::new();
    let mut recorder =
        Recorder::builder(target(project.folder.path())).collapse_progress(true).open().unwrap();
    let appended = recorder
        .append(vec![
            prompt("a"),
            progress("bash_progress", "p1", Some("a")),
            progress("mcp_progress", "p2", Some("p1")),
            progress("powershell_progress", "p3", None),
            progress("agent_progress", "p4", None),
            progress("hook_progress", "p5", Some("p2")),
            reply("b").with_parent("p2"),
            // Its parent is progress that is kept, whose own parent is progress that is not.
            reply("b2").with_parent("p5"),
        ])
        .unwrap();
    assert_eq!((appended.written, appended.collapsed, appended.skipped), (5, 3, 0));
    recorder.flush().unwrap();
    // A later batch may be a child of progress of an earlier one, too.
    recorder.append(vec![prompt("c").with_parent("p2")]).unwrap();
    recorder.flush().unwrap();
    assert_eq!(project.shape(), ["a < -", "p4 < a", "p5 < a", "b < a", "b2 < p5", "c < a"]);
    // Progress that is its own ancestor does no harm.
    let appended = recorder
        .append(vec![
            progress("bash_progress", "x", Some("y")),
            progress("bash_progress", "y", Some("x")),
            prompt("d").with_parent("x"),
        ])
        .unwrap();
    assert_eq!((appended.written, appended.collapsed), (1, 2));
}

#[test]
fn progress_is_written_unless_it_is_collapsed() {
    let project = Project::new();
    let appended =
        project.recorder().append(vec![prompt("a"), progress("bash_progress", "p", None)]).unwrap();
    assert_eq!((appended.written, appended.collapsed), (2, 0));
}

#[test]
fn team_and_agent_name_are_part_of_every_message() {
    let project = Project::new();
    let envelope =
        Envelope { team_name: Some("茶 team".into()), agent_name: Some("lead".into()), ..envelope() };
    let mut recorder = Recorder::builder(target(project.folder.path()))
        .envelope(envelope)
        .options(options())
        .open()
        .unwrap();
    let own = draft(&json!({"type": "user", "uuid": "b", "agentName": "guest", "message": {"content": "x"}}));
    recorder.append(vec![prompt("a"), own, Draft::title("t")]).unwrap();
    recorder.flush().unwrap();
    let text = std::fs::read_to_string(project.path()).unwrap();
    let teams: Vec<_> = text
        .lines()
        .map(|line| {
            let entry = annals_transcript::Entry::new(line.as_bytes());
            let team = annals_transcript::entry::view::Team::of(&entry)?;
            Some((team.name()?.into_owned(), team.agent_name()?.into_owned()))
        })
        .collect();
    let team = |name: &str| Some(("茶 team".to_owned(), name.to_owned()));
    assert_eq!(teams, [team("lead"), team("guest"), None]);
    // The same message in another team is the same message.
    let appended = Recorder::builder(target(project.folder.path())).strict(true).open().unwrap().append(
        vec![draft(&json!({"type": "user", "uuid": "b", "agentName": "c", "message": {"content": "x"}}))],
    );
    assert_eq!(appended.unwrap().skipped, 1);
}

#[test]
fn a_content_replacement_names_its_agent() {
    let project = Project::new();
    let agent = target(project.folder.path()).with_agent(Agent::new("a1").unwrap());
    let replacement = || Draft::content_replacement(&json!([{"toolUseId": "t"}]));
    for target in [target(project.folder.path()), agent.clone()] {
        let mut recorder = recorder_of(target);
        recorder.append(vec![prompt("a"), replacement(), Draft::title("t")]).unwrap();
        recorder.flush().unwrap();
    }
    let lines = |path: PathBuf| -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (session, side) = (lines(project.path()), lines(agent.path()));
    assert_eq!((&session[1]["agentId"], &side[1]["agentId"]), (&Value::Null, &json!("a1")));
    assert_eq!(side[2]["agentId"], Value::Null, "other records name no agent");
}

#[test]
fn drafts_that_the_client_could_not_read_are_refused() {
    for (json, problem) in [
        (r"not json", "not a JSON object: syntax error at byte 2"),
        (r"[1]", "not a JSON object: it is a value of another kind"),
        (r#"{"type":"user"} {}"#, "not a JSON object: syntax error at byte 17"),
        (r#"{"message":{}}"#, "`type` is missing"),
        (r#"{"type":7}"#, "`type` must be a name"),
        (r#"{"type":"user"}"#, "`message` is missing"),
        (r#"{"type":"user","message":"x"}"#, "`message` must be an object"),
        (r#"{"type":"user","message":{"role":"user"}}"#, "`message.content` is missing"),
        (r#"{"type":"user","message":{"role":"assistant","content":"x"}}"#, "`message.role` must be `user`"),
        (
            r#"{"type":"assistant","message":{"content":[1]}}"#,
            "`message.content` must be text, or a list of blocks that each have a `type`",
        ),
        (r#"{"type":"user","uuid":1,"message":{"content":"x"}}"#, "`uuid` must be the id of an entry"),
        (
            r#"{"type":"user","parentUuid":1,"message":{"content":"x"}}"#,
            "`parentUuid` must be the id of an entry, or null",
        ),
        (
            r#"{"type":"user","timestamp":"now","message":{"content":"x"}}"#,
            "`timestamp` must be a time such as 2026-01-31T12:00:00.000Z",
        ),
        (
            r#"{"type":"user","message":{"content":[]}}"#,
            "`message.content` must be text, or a list of blocks",
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"text","text":5}]}}"#,
            "`message.content` must be a list in which every `text` block has a `text`",
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"x","name":"Bash"}]}}"#,
            "`message.content` must be a list in which every `tool_use` block has an `id`, a `name` and an `input`",
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result"}]}}"#,
            "`message.content` must be a list in which every `tool_result` block has a `tool_use_id`",
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"thinking"}]}}"#,
            "`message.content` must be a list in which every `thinking` block has a `thinking`",
        ),
        (r#"{"type":"custom-title","customTitle":5}"#, "`customTitle` must be text"),
        (r#"{"type":"tag"}"#, "`tag` is missing"),
        (r#"{"type":"last-prompt","leafUuid":5}"#, "`leafUuid` must be the id of an entry"),
        (r#"{"type":"file-history-snapshot","messageId":"x"}"#, "`snapshot` must be an object"),
        (r#"{"type":"content-replacement"}"#, "`replacements` must be a list"),
        (r#"{"type":"system","subtype":"local_command","content":5}"#, "`content` must be text"),
        (r#"{"type":"attachment"}"#, "`attachment` must be an object"),
        (r#"{"type":"system"}"#, "`subtype` must be a name"),
    ] {
        assert_eq!(Draft::parse(json.as_bytes()).unwrap_err().to_string(), problem, "{json}");
    }
    assert!(Draft::parse(b"{\"type\":\"x\xFF\"}").is_err());
}

#[test]
fn lines_longer_than_the_limit_are_refused() {
    let project = Project::new();
    let options = Options { longest_line: 100, ..options() };
    let mut recorder = Recorder::builder(target(project.folder.path()))
        .envelope(envelope())
        .options(options)
        .open()
        .unwrap();
    let error = recorder.append(vec![Draft::user(&"x".repeat(200))]).unwrap_err();
    assert!(matches!(error.reason(), Some(DraftError::TooLong { limit: 100, .. })), "{error}");
}

#[test]
fn a_line_without_end_is_left_alone() {
    let whole = r#"{"type":"user","uuid":"a","parentUuid":null,"timestamp":"2026-01-01T00:00:00Z","message":{"content":"x"}}"#;
    for (before, parent) in
        [(whole.to_owned(), "a"), (format!("{whole}\n{{\"type\":\"us"), "a"), (format!("{whole}\n"), "a")]
    {
        let project = Project::with(&before);
        let mut recorder = project.recorder();
        recorder.append(vec![prompt("b")]).unwrap();
        recorder.flush().unwrap();
        recorder.append(vec![prompt("c")]).unwrap();
        recorder.flush().unwrap();
        let text = project.text();
        let rest = text.strip_prefix(&before).expect("nothing before was touched");
        let rest = if before.ends_with('\n') { rest } else { rest.strip_prefix('\n').unwrap() };
        let written: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(written[0]["parentUuid"], json!(parent));
        assert_eq!((written.len(), &written[1]["parentUuid"]), (2, &json!("b")));
    }
}

#[test]
fn recording_goes_on_where_the_client_would() {
    let line = |id: &str, parent: &str, second: u32| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"timestamp\":\"2026-01-01T00:00:{second:02}Z\",\"message\":{{\"content\":\"x\"}}}}\n"
        )
    };
    let branches = line("a", "null", 1) + &line("b", "\"a\"", 2) + &line("c", "\"a\"", 3);
    let named = "{\"type\":\"last-prompt\",\"leafUuid\":\"b\"}\n";
    for (file, tip) in [(branches.clone(), "c"), (branches + named, "b")] {
        let project = Project::with(&file);
        assert_eq!(project.recorder().last(), Some(tip));
    }
}

#[test]
fn leaving_the_line_that_a_last_prompt_names_makes_it_void() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder
        .append(vec![prompt("a"), reply("b"), prompt("c"), Draft::last_prompt("text of c", "c")])
        .unwrap();
    recorder.flush().unwrap();
    recorder.append(vec![reply("d")]).unwrap();
    recorder.append(vec![prompt("e").with_parent("b")]).unwrap();
    recorder.append(vec![prompt("f").with_parent("a")]).unwrap();
    recorder.flush().unwrap();
    assert_eq!(project.shape()[3..], ["last-prompt", "d < c", "last-prompt", "e < b", "f < a"]);
    let cleared = &project.lines()[5];
    assert_eq!(
        (&cleared["leafUuid"], &cleared["explicit"]),
        (&json!("00000000-0000-0000-0000-000000000000"), &json!(true))
    );
}

/// Returns the uuids of the conversation that the client would go on with.
fn conversation(project: &Project) -> Vec<String> {
    let session = Session::read(project.text().as_bytes()).unwrap();
    let chain = Chain::build(&session);
    let texts = session.id_texts();
    chain.entries().into_iter().filter_map(|node| Some(texts.get(session.nodes()[node].id?))).collect()
}

#[test]
fn a_last_prompt_in_a_batch_counts_for_what_comes_behind_it() {
    let project = Project::new();
    let mut recorder = project.recorder();
    let named = |id: &str| Draft::last_prompt("x", id);
    let first =
        vec![prompt("a"), reply("b"), prompt("c"), named("c"), prompt("d").with_parent("b"), reply("e")];
    recorder.append(first).unwrap();
    recorder.flush().unwrap();
    assert_eq!(conversation(&project), ["a", "b", "d", "e"]);
    recorder.append(vec![prompt("f").with_parent("c"), named("f")]).unwrap();
    recorder.flush().unwrap();
    recorder.append(vec![prompt("g").with_parent("e")]).unwrap();
    recorder.flush().unwrap();
    assert_eq!(conversation(&project), ["a", "b", "d", "e", "g"]);
}

#[test]
fn results_that_name_their_call_leave_a_last_prompt_in_force() {
    let project = Project::new();
    let mut recorder = project.recorder();
    let result = |id: &str, call: &str| {
        draft(&json!({"type": "user", "uuid": id, "sourceToolAssistantUUID": call,
            "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]}}))
    };
    recorder.append(vec![prompt("a"), reply("b"), reply("c"), Draft::last_prompt("x", "c")]).unwrap();
    recorder.append(vec![result("d", "b"), result("e", "c")]).unwrap();
    recorder.flush().unwrap();
    assert_eq!(project.shape()[3..], ["last-prompt", "d < b", "e < c"]);
}

#[test]
fn a_file_that_was_cut_or_replaced_behind_the_recorder_is_read_anew() {
    let project = Project::new();
    let mut recorder = project.recorder();
    recorder.append(vec![prompt("a"), reply("b"), prompt("c")]).unwrap();
    recorder.flush().unwrap();
    let lines: Vec<String> = project.text().split_inclusive('\n').map(str::to_owned).collect();
    // Somebody takes the last line out and writes others: of the same length, and longer.
    for other in [
        lines[2].replace("\"c\"", "\"x\""),
        lines[2].replace("\"c\"", "\"y\"") + &lines[2].replace("\"c\"", "\"z\""),
    ] {
        let last = if other.contains("\"z\"") { "z" } else { "x" };
        let file = std::fs::OpenOptions::new().write(true).open(project.path()).unwrap();
        file.set_len((lines[0].len() + lines[1].len()) as u64).unwrap();
        drop(file);
        let mut file = std::fs::OpenOptions::new().append(true).open(project.path()).unwrap();
        std::io::Write::write_all(&mut file, other.as_bytes()).unwrap();
        let id = format!("after-{last}");
        recorder.append(vec![prompt(&id)]).unwrap();
        recorder.flush().unwrap();
        assert_eq!(project.shape().last().unwrap(), &format!("{id} < {last}"));
    }
    // Another file takes its place.
    let beside = project.folder.path().join("beside");
    std::fs::write(&beside, lines[0].clone() + &lines[0].replace("\"a\"", "\"other\"").repeat(20)).unwrap();
    std::fs::rename(&beside, project.path()).unwrap();
    recorder.append(vec![prompt("last")]).unwrap();
    recorder.flush().unwrap();
    assert_eq!(project.shape().last().unwrap(), "last < other");
}

#[test]
fn other_content_is_told_from_the_same_in_another_spelling() {
    let project = Project::new();
    let mut recorder = Recorder::builder(target(project.folder.path())).strict(true).open().unwrap();
    let draft = |content: &str, more: &str| {
        Draft::parse(
            format!(r#"{{"type":"user","uuid":"a","message":{{"content":{content}}}{more}}}"#).as_bytes(),
        )
        .unwrap()
    };
    let deep = |inner: &str| format!(r#","deep":{}{inner}{}"#, "[".repeat(100), "]".repeat(100));
    recorder
        .append(vec![draft(r#""caf\u00e9 \ud83d""#, &(deep("1") + r#","n":1e999,"m":[1.50,{"x":1,"y":2}]"#))])
        .unwrap();
    recorder.flush().unwrap();
    for (content, more, same) in [
        (r#""caf\u00e9 \ud83d""#, r#","m":[1.5, {"y":2,"x":1}]"#.to_owned(), true),
        (r#""café \ud83d""#, String::new(), false),
        (r#""café \ud83e""#, String::new(), false),
        (r#""caf\u00e9 \ud83d""#, r#","n":2e999"#.to_owned(), false),
        (r#""caf\u00e9 \ud83d""#, deep("2"), false),
        (r#""caf\u00e9 \ud83d""#, r#","m":[1.5, {"x":1}]"#.to_owned(), false),
    ] {
        let result = recorder.append(vec![draft(content, &more)]);
        assert_eq!(result.is_ok(), same, "{content} {more}");
    }
}

#[test]
fn subagents_have_a_file_of_their_own() {
    let project = Project::new();
    let agent = Agent::new("a1f").unwrap().in_group("workflows/wf_1").unwrap();
    let target = target(project.folder.path()).with_agent(agent);
    let mut recorder = recorder_of(target.clone());
    recorder.append(vec![prompt("a"), reply("b")]).unwrap();
    recorder.flush().unwrap();
    // A second recorder finds the side line and goes on there.
    recorder_of(target.clone()).append(vec![prompt("c")]).unwrap();
    let text = std::fs::read_to_string(target.path()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!(
            (&line["isSidechain"], &line["agentId"], &line["sessionId"]),
            (&json!(true), &json!("a1f"), &json!(SESSION))
        );
    }
    assert_eq!(lines[2]["parentUuid"], json!("b"));
    assert!(!project.path().exists());
}

#[test]
fn switching_writes_what_waits_to_the_old_session() {
    let (first, second) = (Project::new(), Project::new());
    let mut recorder = first.recorder();
    recorder.append(vec![prompt("a")]).unwrap();
    let other = "0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55";
    let next = Target::session(second.folder.path(), other).unwrap();
    recorder.switch(next.clone(), Envelope { cwd: "/elsewhere".into(), ..envelope() }).unwrap();
    assert_eq!((first.shape(), next.path().exists()), (vec!["a < -".to_owned()], false));
    recorder.append(vec![prompt("b")]).unwrap();
    drop(recorder);
    let line: Value = serde_json::from_str(&std::fs::read_to_string(next.path()).unwrap()).unwrap();
    assert_eq!(
        (&line["parentUuid"], &line["sessionId"], &line["cwd"]),
        (&Value::Null, &json!(other), &json!("/elsewhere"))
    );
    assert_eq!(first.lines().len(), 1);
}

#[test]
fn records_are_appended_without_reading_the_file() {
    for before in ["", "{\"torn", "not json\n", "{}\n"] {
        let project = Project::with(before);
        let target = target(project.folder.path());
        write::append_records(
            &RealDisk,
            &target,
            &[Draft::title("T"), Draft::tag("t"), prompt("no")],
            &options(),
        )
        .unwrap();
        let end = if before.ends_with('\n') || before.is_empty() { "" } else { "\n" };
        let records = format!(
            "{{\"type\":\"custom-title\",\"customTitle\":\"T\",\"sessionId\":\"{SESSION}\"}}\n\
             {{\"type\":\"tag\",\"tag\":\"t\",\"sessionId\":\"{SESSION}\"}}\n"
        );
        assert_eq!(project.text(), format!("{before}{end}{records}"));
    }
}

#[test]
fn a_full_buffer_is_written_and_records_alone_are_not_kept_without_end() {
    let project = Project::new();
    let small = Options { buffer: 1000, ..options() };
    let open = || {
        Recorder::builder(target(project.folder.path()))
            .envelope(envelope())
            .options(small.clone())
            .open()
            .unwrap()
    };
    let mut recorder = open();
    recorder.append(vec![Draft::tag("x")]).unwrap();
    let error = recorder.append(vec![Draft::tag(&"x".repeat(2000))]).unwrap_err();
    assert!(error.to_string().contains("begins with a message"), "{error}");
    assert_eq!(recorder.waiting(), 1);
    recorder.append(vec![Draft::user(&"x".repeat(2000))]).unwrap();
    assert_eq!((recorder.waiting(), project.lines().len()), (0, 2));
    let mut always = Recorder::builder(target(project.folder.path()))
        .envelope(envelope())
        .options(options())
        .sync(Sync::Always)
        .open()
        .unwrap();
    always.append(vec![prompt("b")]).unwrap();
    assert_eq!(project.lines().len(), 3);
}

#[test]
fn recorders_side_by_side_lose_and_mix_nothing() {
    for count in [2, 8] {
        let project = Project::new();
        std::thread::scope(|scope| {
            for number in 0..count {
                let mut recorder = project.recorder();
                scope.spawn(move || {
                    for batch in 0..50 {
                        recorder
                            .append(vec![prompt(&format!("{number}-{batch}")), prompt("shared")])
                            .unwrap();
                        recorder.flush().unwrap();
                    }
                });
            }
        });
        let lines = project.lines();
        assert_eq!(lines.len(), count * 50 + 1);
        // Each one chose the last line as the parent: one chain from end to end.
        for (line, before) in lines[1..].iter().zip(&lines) {
            assert_eq!(line["parentUuid"], before["uuid"]);
        }
    }
}

#[test]
fn drafts_of_records_have_the_fields_that_claude_code_writes() {
    let project = Project::new();
    let mut recorder = project.recorder();
    let time = "2026-01-31T12:00:00Z".parse().unwrap();
    let records = vec![
        Draft::mode("plan"),
        Draft::tag("tea"),
        Draft::queue_operation("enqueue", Some("Later")),
        Draft::file_history("a", &json!({}), time, true),
        Draft::attribution(&[("files", json!([]))]),
        Draft::content_replacement(&json!([{"kind": "tool-result"}])),
        Draft::pr_link(7, "https://example.com/pull/7", "dev/tea"),
    ];
    recorder.append(vec![Draft::user("Hello")]).unwrap();
    recorder.append(records).unwrap();
    recorder.flush().unwrap();
    let file = std::fs::read_to_string(project.path()).unwrap().replace(SESSION, "S");
    let records: Vec<&str> = file.lines().skip(1).collect();
    assert_eq!(
        records,
        [
            r#"{"type":"mode","mode":"plan","sessionId":"S"}"#,
            r#"{"type":"tag","tag":"tea","sessionId":"S"}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"Later","timestamp":"2026-01-31T12:00:00.003Z","sessionId":"S"}"#,
            r#"{"type":"file-history-snapshot","messageId":"a","snapshot":{"messageId":"a","timestamp":"2026-01-31T12:00:00.000Z","trackedFileBackups":{}},"isSnapshotUpdate":true}"#,
            r#"{"type":"attribution-snapshot","files":[],"sessionId":"S"}"#,
            r#"{"type":"content-replacement","replacements":[{"kind":"tool-result"}],"sessionId":"S"}"#,
            r#"{"type":"pr-link","prNumber":7,"prUrl":"https://example.com/pull/7","prRepository":"dev/tea","timestamp":"2026-01-31T12:00:00.007Z","sessionId":"S"}"#,
        ]
    );
}
