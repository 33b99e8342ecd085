use std::borrow::Cow;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use annals_search::Query;
use serde_json::json;
use testkit::transcript::Transcript;

use super::*;
use crate::ForkOptions;
use crate::search::tests::{World, assert_like_new, update_with};
use crate::search::{Hit, IndexOptions, Pattern, SearchAnswer, SearchOptions, TextFilter, Unfiltered};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const AGENT: &str = "agent-a1";

/// What the transcript has of output that was too long for it.
fn notice(name: &str) -> String {
    format!(
        "<persisted-output>\nOutput too large (2.9MB). Full output saved to: /home/mia/.claude/projects/-p/x/tool-results/{name}\n\n\
         Preview (first 2KB):\nkettle ready\n...\n</persisted-output>"
    )
}

fn session(name: &str) -> Transcript {
    Transcript::session(SESSION)
        .assistant("a1", |reply| reply.tool("t1", "Bash", json!({"command": "make tea"})))
        .result("u1", "t1", notice(name))
}

fn folder(world: &World) -> PathBuf {
    world.path(SESSION).with_extension("").join("tool-results")
}

/// Writes a file of output.
fn spill(world: &World, name: &str, text: &str) {
    fs::create_dir_all(folder(world)).unwrap();
    fs::write(folder(world).join(name), text).unwrap();
}

/// A session with output in `t1.txt`, indexed.
fn world() -> World {
    let world = World::new();
    spill(&world, "t1.txt", "kettle ready\nsteam everywhere\nwhistle at 沸騰\n");
    world.write(SESSION, session("t1.txt"));
    world.update();
    world
}

fn hits(world: &World, query: &str) -> Vec<Hit> {
    world.search(query, &SearchOptions::default()).hits
}

fn scan(world: &World, text: &str, filter: &dyn TextFilter) -> SearchAnswer {
    let query = Query::of_filters(Vec::new());
    world.engine().scan(&Pattern::fixed(text).unwrap(), &query, filter, &SearchOptions::default()).unwrap()
}

#[test]
fn stored_output_is_found_with_the_call_that_printed_it() {
    let world = world();
    for query in ["whistle", "沸騰", "\"steam everywhere\" tool:bash in:output role:user"] {
        let found = hits(&world, query);
        assert_eq!(found.len(), 1, "{query}");
        let hit = &found[0];
        assert_eq!(
            (hit.entry.as_deref(), hit.tool.as_deref(), hit.is_spilled),
            (Some("u1"), Some("Bash"), true)
        );
        assert!(hit.snippet.text.contains("whistle at 沸騰"), "{hit:?}");
    }
    assert!(hits(&world, "whistle is:error").is_empty());
    // The same result is not shown twice.
    assert_eq!(hits(&world, "kettle").len(), 1);
    assert_like_new(&world);
}

#[test]
fn patterns_find_stored_output_whatever_is_skipped() {
    /// Text as it is, of which nobody may assume that.
    struct Unknown;
    impl TextFilter for Unknown {
        fn filter<'t>(&self, text: &'t str) -> Cow<'t, str> {
            Cow::Borrowed(text)
        }
        fn fingerprint(&self) -> u64 {
            1
        }
    }
    let world = world();
    for filter in [&Unfiltered as &dyn TextFilter, &Unknown] {
        let found = scan(&world, "at 沸騰", filter);
        assert_eq!((found.total, found.hits.len()), (1, 1));
        let hit = &found.hits[0];
        assert_eq!(
            (&*hit.snippet.text, hit.tool.as_deref(), hit.is_spilled),
            ("kettle ready steam everywhere whistle at 沸騰", Some("Bash"), true)
        );
        assert_eq!(scan(&world, "kettle ready", filter).hits.len(), 1);
        assert_eq!(scan(&world, "nowhere", filter).total, 0);
    }
}

#[test]
fn a_file_that_is_gone_or_changed_leads_to_no_hit_and_no_error() {
    type Change = fn(&PathBuf);
    let changes: [Change; 5] = [
        |file| fs::remove_file(file).unwrap(),
        |file| fs::write(file, "other output with a whistle").unwrap(),
        |file| fs::write(file, b"\xff\xfe\x00").unwrap(),
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
        |file| fs::remove_dir_all(file.parent().unwrap()).unwrap(),
    ];
    for change in changes {
        let world = world();
        change(&folder(&world).join("t1.txt"));
        assert!(hits(&world, "whistle").is_empty());
        let result = hits(&world, "kettle");
        assert_eq!((result.len(), result[0].is_spilled), (1, false));
        assert!(world.update().errors.is_empty());
        assert!(hits(&world, "whistle").is_empty());
        assert_eq!(scan(&world, "steam everywhere", &Unfiltered).total, 0);
    }
}

#[cfg(unix)]
#[test]
fn links_and_other_kinds_of_files_are_not_followed() {
    use std::os::unix::fs::symlink;

    let world = World::new();
    fs::create_dir_all(folder(&world)).unwrap();
    let outside = world.path("outside").with_extension("txt");
    fs::write(&outside, "whistle").unwrap();
    symlink(&outside, folder(&world).join("t1.txt")).unwrap();
    let up = notice("../../outside.txt");
    world.write(SESSION, session("t1.txt").result("u2", "t2", up));
    world.update();
    assert!(hits(&world, "whistle").is_empty());
    assert_eq!(scan(&world, "whistle", &Unfiltered).total, 0);
    // A folder that leads out of the config folder is followed by patterns of the user, and by nobody else: peers search the same index.
    fs::remove_dir_all(folder(&world)).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("t1.txt"), "whistle").unwrap();
    symlink(elsewhere.path(), folder(&world)).unwrap();
    world.engine().clear_index().unwrap();
    world.update();
    assert_eq!(scan(&world, "whistle", &Unfiltered).total, 1);
    let inside = SearchOptions { inside: true, ..SearchOptions::default() };
    for (query, options) in
        [("whistle", SearchOptions::default()), ("whistle", inside.clone()), ("whistel", inside)]
    {
        let found = world.search(query, &options);
        assert_eq!((found.total, found.corrections.len()), (0, 0), "{query}");
    }
}

#[cfg(unix)]
#[test]
fn output_of_a_transcript_outside_of_the_config_folder_is_found_with_it() {
    let world = world();
    let elsewhere = tempfile::tempdir().unwrap();
    let project = world.path(SESSION).parent().unwrap().to_owned();
    fs::rename(&project, elsewhere.path().join("p")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("p"), &project).unwrap();
    world.engine().clear_index().unwrap();
    world.update();
    assert_eq!(hits(&world, "whistle").len(), 1);
    let inside = SearchOptions { inside: true, ..SearchOptions::default() };
    assert!(world.search("whistle", &inside).hits.is_empty());
}

#[test]
fn output_is_masked_before_it_is_cut() {
    struct Secrets;
    impl TextFilter for Secrets {
        fn filter<'t>(&self, text: &'t str) -> Cow<'t, str> {
            text.replace("hunter two", "*").into()
        }
        fn fingerprint(&self) -> u64 {
            1
        }
    }
    let world = World::new();
    // The limit is inside of the second secret.
    let limit = 40;
    let text = format!("whistle hunter two {} hunter two behind", "x".repeat(limit - 28));
    spill(&world, "t1.txt", &text);
    world.write(SESSION, session("t1.txt"));
    let engine = world.engine();
    let options = IndexOptions { text_limit: limit, ..IndexOptions::default() };
    engine.update_index(&Secrets, &options, |_| ControlFlow::Continue(())).unwrap();
    let search = |query: &str, reveal| {
        let options = SearchOptions { reveal, ..SearchOptions::default() };
        engine.search(&Query::parse(query).unwrap(), &Secrets, &options).unwrap()
    };
    for query in ["hunter", "two"] {
        assert_eq!(search(query, false).total, 0, "{query}");
    }
    let found = search("whistle", false).hits.remove(0);
    assert!(
        found.snippet.text.contains("whistle * x") && !found.snippet.text.contains("hunter"),
        "{found:?}"
    );
    assert!(search("whistle", true).hits[0].snippet.text.contains("whistle hunter two"));
    assert_eq!(scan(&world, "hunter two", &Secrets).total, 0);
    assert_eq!(scan(&world, "* behind", &Secrets).total, 1);
}

#[test]
fn long_files_are_searched_up_to_the_limit_and_no_word_is_cut() {
    let world = World::new();
    let limit = IndexOptions::default().text_limit;
    let long = format!("{}nearby{}", "hay\n".repeat(limit / 4 - 4), " far needle".repeat(BEHIND_LIMIT));
    spill(&world, "t1.txt", &long);
    world.write(SESSION, session("t1.txt"));
    let report = world.update();
    assert!(report.text_bytes < limit as u64 + 1_000, "{report:?}");
    assert_eq!((hits(&world, "nearby").len(), hits(&world, "needle").len()), (1, 0));
    // A pattern looks further.
    let bytes = scan(&world, "nearby far", &Unfiltered);
    assert_eq!(bytes.hits.len(), 1);
    assert_like_new(&world);
}

#[test]
fn long_output_without_white_space_is_searched_up_to_the_limit() {
    let world = World::new();
    let limit = IndexOptions::default().text_limit;
    let items = |count: usize| r#"{"kind":"hay"},"#.repeat(count);
    let json =
        format!(r#"[{{"kind":"whistle"}},{}{{"kind":"behind"}}]"#, items((limit + 2 * BEHIND_LIMIT) / 15));
    spill(&world, "t1.txt", &json);
    world.write(SESSION, session("t1.txt"));
    world.update();
    assert_eq!((hits(&world, "whistle").len(), hits(&world, "behind").len()), (1, 0));
    assert_like_new(&world);
    // A pattern looks further, and also has a bound.
    assert_eq!(scan(&world, "behind", &Unfiltered).hits.len(), 1);
    spill(&world, "t1.txt", &format!("{json}{}", items((17 << 20) / 15)));
    assert_eq!(scan(&world, "behind", &Unfiltered).hits.len(), 1);
}

#[test]
fn an_entry_that_names_many_files_is_indexed_in_bounded_memory() {
    let world = World::new();
    let text = "whistle ".repeat(1_000);
    let mut transcript = Transcript::session(SESSION);
    for number in 0..40 {
        spill(&world, &format!("t{number}.txt"), &format!("{text} file{number}"));
        transcript = transcript.result(
            &format!("u{number}"),
            &format!("t{number}"),
            notice(&format!("t{number}.txt")),
        );
    }
    let results: Vec<_> = (0..40)
        .map(|number| json!({"type": "tool_result", "tool_use_id": format!("m{number}"), "content": notice(&format!("t{number}.txt"))}))
        .collect();
    world.write(
        SESSION,
        transcript.message("user", "many", json!({"message": {"role": "user", "content": results}})),
    );
    // Each step stores what one entry has, so that the update can be stopped behind every entry.
    let engine = world.engine();
    let mut steps = 0;
    while !engine
        .update_index(&Unfiltered, &IndexOptions::default(), |_| ControlFlow::Break(()))
        .unwrap()
        .is_complete
    {
        steps += 1;
        assert!(steps < 1_000);
    }
    assert!(steps >= 20, "{steps}");
    let flat = SearchOptions { per_session: None, limit: usize::MAX, ..SearchOptions::default() };
    assert_eq!(world.search("whistle", &flat).total, 40 + MOST_FILES as u64);
    assert_eq!(world.search("file39", &flat).hits.len(), 1);
    assert_like_new(&world);
}

#[test]
fn output_of_subagents_is_in_the_folder_of_their_session() {
    let world = World::new();
    let agents = world.path(SESSION).with_extension("").join("subagents");
    fs::create_dir_all(&agents).unwrap();
    spill(&world, "t1.txt", "whistle");
    world.write(SESSION, Transcript::session(SESSION).user("u0", "Boil"));
    fs::write(agents.join(format!("{AGENT}.jsonl")), session("t1.txt").to_string()).unwrap();
    world.update();
    let found = hits(&world, "whistle");
    assert_eq!((found.len(), found[0].file.agent.as_deref()), (1, Some("a1")));
}

#[test]
fn a_copy_without_the_file_has_the_result_and_not_its_output() {
    let world = world();
    let engine = world.engine();
    let file = engine.session(SESSION.as_ref()).unwrap();
    let plain = engine.fork(&file, &ForkOptions::default()).unwrap();
    let with_files = ForkOptions { with_side_files: true, ..ForkOptions::default() };
    let whole = engine.fork(&file, &with_files).unwrap();
    world.update();
    assert_eq!(hits(&world, "ready")[0].copies.len(), 2);
    let found = &hits(&world, "whistle")[0];
    let sessions =
        found.copies.iter().map(|copy| copy.file.session.as_deref()).chain([found.file.session.as_deref()]);
    let sessions: Vec<_> = sessions.flatten().collect();
    assert!(sessions.contains(&SESSION) && sessions.contains(&&*whole.session), "{sessions:?}");
    assert!(!sessions.contains(&&*plain.session));
    // Whichever is removed, the other one has it.
    fs::remove_file(world.path(SESSION)).unwrap();
    assert_eq!(hits(&world, "whistle")[0].file.session.as_deref(), Some(&*whole.session));
    update_with(&engine, &Unfiltered);
    assert_eq!(hits(&world, "whistle")[0].file.session.as_deref(), Some(&*whole.session));
    assert_like_new(&world);
}
