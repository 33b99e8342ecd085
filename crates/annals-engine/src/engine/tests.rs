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
