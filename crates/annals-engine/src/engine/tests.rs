use std::fs;

use super::*;

const FIRST: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const SECOND: &str = "3e11ffff-0000-4000-8000-000000000000";

fn message(time: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"timestamp\":\"{time}\",\"message\":{{}}}}\n"
    )
}

/// Two sessions in two projects: the first older but with the newer file.
fn engine(home: &Path) -> Engine {
    for (project, session, content) in [
        (
            "-b",
            SECOND,
            message("2026-02-01T00:00:00Z") + "{\"type\":\"custom-title\",\"customTitle\":\"天气 😀 a/b\"}\n",
        ),
        ("-a", FIRST, message("2026-01-01T00:00:00Z")),
    ] {
        let folder = home.join("projects").join(project);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{session}.jsonl")), content).unwrap();
    }
    Engine::open(Roots::given(vec![home.to_owned()]).unwrap(), crate::Home::at(home))
}

#[test]
fn a_session_is_found_by_id_prefix_title_path_and_latest() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let path = home.path().join("projects/-a").join(format!("{FIRST}.jsonl"));
    for (selector, session) in [
        (FIRST, FIRST),
        ("3e11a", FIRST),
        ("3e11f", SECOND),
        ("天气 😀 a/b", SECOND),
        ("latest", SECOND),
        (path.to_str().unwrap(), FIRST),
    ] {
        assert_eq!(
            engine.session(selector.as_ref()).unwrap().session.as_deref(),
            Some(session),
            "{selector}"
        );
    }
}

#[test]
fn the_title_that_lists_show_names_a_session_and_subagents_have_none() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let folder = home.path().join("projects/-a");
    let path = folder.join(format!("{FIRST}.jsonl"));
    let old = fs::read_to_string(&path).unwrap();
    let ai = "{\"type\":\"ai-title\",\"aiTitle\":\"by a model\"}\n";
    let name = "{\"type\":\"agent-name\",\"agentName\":\"by name\"}\n";
    let prompt =
        "{\"type\":\"user\",\"uuid\":\"p\",\"parentUuid\":null,\"message\":{\"content\":\"first words\"}}\n";
    fs::write(folder.join("agent-a1.jsonl"), "{\"type\":\"custom-title\",\"customTitle\":\"an agent\"}\n")
        .unwrap();
    let titles = ["first words", "by a model", "by name"];
    for (lines, named) in
        [prompt.to_owned(), format!("{prompt}{ai}"), format!("{prompt}{ai}{name}")].iter().zip(titles)
    {
        fs::write(&path, lines).unwrap();
        for title in titles {
            let found = engine.session(title.as_ref()).ok().and_then(|file| file.session);
            assert_eq!(found.as_deref(), (title == named).then_some(FIRST), "{title}");
        }
    }
    fs::write(&path, old).unwrap();
    assert!(engine.session("an agent".as_ref()).unwrap_err().is_not_found());
}

#[test]
fn a_session_without_times_is_never_the_latest_of_several() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let third = "5e11ffff-0000-4000-8000-000000000000";
    let path = home.path().join("projects/-a").join(format!("{third}.jsonl"));
    fs::write(&path, "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"l\"}\n").unwrap();
    assert_eq!(engine.session("latest".as_ref()).unwrap().session.as_deref(), Some(SECOND));
    fs::remove_dir_all(home.path().join("projects/-b")).unwrap();
    fs::remove_file(home.path().join("projects/-a").join(format!("{FIRST}.jsonl"))).unwrap();
    assert_eq!(engine.session("latest".as_ref()).unwrap().session.as_deref(), Some(third));
}

#[test]
fn ambiguity_lists_the_candidates_and_nothing_is_not_found() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let error = engine.session("3e11".as_ref()).unwrap_err();
    let candidates: Vec<_> = error.candidates().iter().map(|candidate| candidate.session.as_str()).collect();
    assert_eq!(candidates, [FIRST, SECOND]);
    for selector in ["3e1", "ffff", "", "天气"] {
        assert!(engine.session(selector.as_ref()).unwrap_err().is_not_found(), "{selector}");
    }
}

#[test]
fn a_path_that_does_not_exist_says_so() {
    let home = tempfile::tempdir().unwrap();
    let error = engine(home.path()).select("./nowhere/x.jsonl".as_ref()).unwrap_err();
    assert!(error.to_string().starts_with("cannot read ./nowhere/x.jsonl: "), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_does_not_end_the_work() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let mut files = engine.transcripts().files;
    files.insert(1, TranscriptFile::at(&home.path().join("gone.jsonl")));
    let reports = engine.read_all(files, |_| {});
    let read: Vec<_> =
        reports.iter().map(|report| report.as_ref().map_or(0, |report| report.stats.lines)).collect();
    assert_eq!(read, [1, 0, 2]);
}

/// Writes agents of both sessions: in the folder of a session, in a group, and beside the session.
fn write_agents(home: &Path) {
    let projects = home.join("projects");
    let own = format!("{{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"{SECOND}\"}}\n");
    for path in [
        format!("-a/{FIRST}/subagents/agent-a1b2c3d.jsonl"),
        format!("-a/{FIRST}/subagents/workflows/wf_1/agent-a1b2ffff.jsonl"),
        format!("-a/{FIRST}/subagents/agent-3e11.jsonl"),
        format!("-b/{SECOND}/subagents/agent-a1b2c3d4.jsonl"),
        "-b/agent-c0ffee.jsonl".to_owned(),
    ] {
        let path = projects.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &own).unwrap();
    }
}

#[test]
fn a_session_that_is_named_by_its_transcript_is_no_other_one() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let path = engine.session_with_id(FIRST, None).unwrap().path;
    assert_eq!(engine.session_with_id(FIRST, Some(&path)).unwrap().path, path);
    let elsewhere = home.path().join("elsewhere").join(path.file_name().unwrap());
    assert!(engine.session_with_id(FIRST, Some(&elsewhere)).unwrap_err().is_not_found());
    for project in ["/another/project", "/home/mia/茶.jsonl", r"C:\茶.jsonl"] {
        assert_eq!(engine.session_with_id(FIRST, Some(project.as_ref())).unwrap().path, path, "{project}");
    }
}

#[test]
fn an_agent_is_found_like_a_session_and_sessions_come_first() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    write_agents(home.path());
    for (selector, session, agent) in [
        ("a1b2c3d", FIRST, "a1b2c3d"),
        ("agent-a1b2c3d", FIRST, "a1b2c3d"),
        ("a1b2c3d4", SECOND, "a1b2c3d4"),
        ("a1b2f", FIRST, "a1b2ffff"),
        ("c0ff", SECOND, "c0ffee"),
        ("agent-3e11", FIRST, "3e11"),
    ] {
        let file = engine.transcript(selector.as_ref()).unwrap();
        assert_eq!(
            (file.session.as_deref(), file.agent.as_deref()),
            (Some(session), Some(agent)),
            "{selector}"
        );
        assert!(engine.session(selector.as_ref()).unwrap_err().is_agent(), "{selector}");
        assert!(engine.session_to_change(selector.as_ref()).unwrap_err().is_agent(), "{selector}");
        assert_eq!(engine.select(selector.as_ref()).unwrap().files, [file]);
    }
    assert_eq!(engine.transcript("3e11a".as_ref()).unwrap().agent, None, "a session has precedence");
    let error = engine.transcript("3e11".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), "`3e11` may be any of 3 sessions and agents");
    let candidates: Vec<_> = error.candidates().iter().map(|candidate| candidate.agent.as_deref()).collect();
    assert_eq!(candidates, [None, None, Some("3e11")]);
    for selector in ["a1b", "agent-a1b", "nothing", "", "agent-"] {
        assert!(engine.transcript(selector.as_ref()).unwrap_err().is_not_found(), "{selector}");
    }
}

#[test]
fn ambiguity_of_agents_lists_them_with_their_sessions() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    write_agents(home.path());
    let error = engine.transcript("a1b2".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), "`a1b2` may be any of 3 agents");
    let candidates: Vec<_> =
        error.candidates().iter().map(|one| (one.session.as_str(), one.agent.as_deref().unwrap())).collect();
    assert_eq!(candidates, [(FIRST, "a1b2c3d"), (FIRST, "a1b2ffff"), (SECOND, "a1b2c3d4")]);
}

#[test]
fn an_agent_of_a_session_is_looked_up_by_its_whole_id_among_the_agents_it_has() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    write_agents(home.path());
    let remote = home.path().join(format!("projects/-b/{SECOND}/remote-agents"));
    fs::create_dir_all(&remote).unwrap();
    fs::write(remote.join("far.meta.json"), "{}").unwrap();
    let (first, second) = (engine.session(FIRST.as_ref()).unwrap(), engine.session(SECOND.as_ref()).unwrap());
    for (session, agent) in [(&first, "a1b2ffff"), (&second, "a1b2c3d4"), (&second, "c0ffee")] {
        assert_eq!(engine.agent_with_id(session, agent, None).unwrap().agent.as_deref(), Some(agent));
    }
    let other = format!("../../../-b/{SECOND}/subagents/agent-a1b2c3d4");
    for agent in ["a1b2c3d4", "c0ffee", "a1b2", "", "..", "/etc/passwd", "x/../agent-a1b2c3d", &other] {
        assert!(engine.agent_with_id(&first, agent, None).unwrap_err().is_no_agent(), "{agent}");
    }
    let error = engine.agent_with_id(&second, "far", None).unwrap_err();
    assert!(error.is_no_agent() && error.to_string().contains("another machine"), "{error}");
}

#[test]
fn the_same_agent_id_in_two_groups_is_ambiguous() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    write_agents(home.path());
    let copy = home.path().join(format!("projects/-a/{FIRST}/subagents/workflows/wf_1/agent-a1b2c3d.jsonl"));
    fs::write(copy, "{}\n").unwrap();
    let session = engine.session(FIRST.as_ref()).unwrap();
    assert_eq!(engine.agent_with_id(&session, "a1b2c3d", None).unwrap_err().candidates().len(), 2);
    assert_eq!(engine.transcript("a1b2c3d".as_ref()).unwrap_err().candidates().len(), 2);
}

#[test]
fn each_candidate_of_an_ambiguous_agent_selects_it() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    write_agents(home.path());
    // Two groups of a session have the agent, and another project has a copy of the session with it.
    let projects = home.path().join("projects");
    for copy in [
        format!("-a/{FIRST}/subagents/workflows/wf_1/agent-a1b2c3d.jsonl"),
        format!("-b/{FIRST}/subagents/agent-a1b2c3d.jsonl"),
        format!("-b/{FIRST}.jsonl"),
    ] {
        fs::create_dir_all(projects.join(&copy).parent().unwrap()).unwrap();
        fs::write(projects.join(copy), message("2026-01-01T00:00:00Z")).unwrap();
    }
    assert_eq!(engine.session_with_id(FIRST, None).unwrap_err().candidates().len(), 2);
    let session = engine.session_with_id(FIRST, Some(&projects.join(format!("-a/{FIRST}.jsonl")))).unwrap();
    let error = engine.agent_with_id(&session, "a1b2c3d", None).unwrap_err();
    assert_eq!(error.candidates().len(), 2);
    for candidate in error.candidates() {
        let path = Some(candidate.path.as_path());
        assert_eq!(engine.session_with_id(FIRST, path).unwrap(), session, "{path:?}");
        let agent = engine.agent_with_id(&session, "a1b2c3d", path).unwrap();
        assert_eq!(Some(agent.path.as_path()), path);
    }
    // Who names a transcript means no other one, even if that one is gone.
    fs::remove_file(&error.candidates()[0].path).unwrap();
    let gone = engine.agent_with_id(&session, "a1b2c3d", Some(&error.candidates()[0].path));
    assert!(gone.unwrap_err().is_no_agent());
}
