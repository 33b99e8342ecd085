use proptest::prelude::*;

use super::*;
use crate::file::{ClientCost, Line};
use crate::hash::stable_hash;
use crate::money::Money;
use crate::reply::{Counters, Flags};

fn flags(set: &[Flag]) -> Flags {
    let mut flags = Flags::default();
    for flag in set {
        flags.set(*flag, true);
    }
    flags
}

fn line<'a>(message: &'a str, request: Option<&'a str>, output: u32) -> Line<'a> {
    let counters = Counters { input: 1, output, ..Counters::default() };
    Line { message: Some(message), request, counters, time: 100, ..Line::default() }
}

fn file(path: &str, session: &str, lines: &[Line<'_>]) -> CountedFile {
    let mut count = FileCount::default();
    for line in lines {
        count.add(line);
    }
    CountedFile { path: path.into(), session: Some(session.to_owned()), count, ..CountedFile::default() }
}

/// Returns the sessions and outputs of all responses, sorted.
fn outputs(files: &[CountedFile]) -> Vec<(String, u32)> {
    let ledger = Ledger::build(files.to_vec());
    let output = |response: &Response| {
        (ledger.sessions[response.session as usize].id.clone(), response.count.counters.output)
    };
    let mut found: Vec<_> = ledger.responses().map(|response| output(&response)).collect();
    found.sort();
    let mut reversed: Vec<_> = files.to_vec();
    reversed.reverse();
    assert_eq!(Ledger::build(reversed).len(), found.len());
    found
}

fn expect(files: &[CountedFile], expected: &[(&str, u32)]) {
    let expected: Vec<_> =
        expected.iter().map(|(session, output)| ((*session).to_owned(), *output)).collect();
    assert_eq!(outputs(files), expected);
}

#[test]
fn message_and_request_are_the_same_response_wherever_they_stand() {
    let original = line("m", Some("r"), 5);
    let copy = Line { flags: flags(&[Flag::Copy]), ..line("m", Some("r"), 9) };
    // The copy comes first in the order of paths, and the original still owns the response.
    expect(&[file("a", "new", &[copy]), file("b", "old", &[original])], &[("old", 9)]);
    let other = line("m", Some("r2"), 7);
    expect(&[file("a", "one", &[original]), file("b", "two", &[other])], &[("one", 5), ("two", 7)]);
}

#[test]
fn without_a_request_the_message_counts_once_in_a_family() {
    let lines = [line("m", None, 5)];
    let (one, mut two) = (file("a", "one", &lines), file("b", "two", &lines));
    // A gateway has used an id again.
    expect(&[one.clone(), two.clone()], &[("one", 5), ("two", 5)]);
    // A subagent belongs to the family of its session.
    let agent = CountedFile { agent: Some("a1".to_owned()), path: "c".into(), ..one.clone() };
    expect(&[one.clone(), agent], &[("one", 5)]);
    // A fork names its original, and a copy has the same first line.
    two.count.facts.forked_from = Some("one".to_owned());
    expect(&[one.clone(), two.clone()], &[("one", 5)]);
    let mut copy = [one, two];
    for file in &mut copy {
        file.count.facts.forked_from = None;
        file.count.facts.first_uuid = stable_hash(&["first"]);
    }
    expect(&copy, &[("one", 5)]);
}

#[test]
fn a_line_that_lacks_its_request_belongs_to_the_message() {
    let lines = [line("m", None, 5), line("m", Some("r"), 9)];
    expect(&[file("a", "one", &lines)], &[("one", 9)]);
}

#[test]
fn what_a_subagent_repeats_under_another_request_belongs_to_the_session() {
    let replay = Line { flags: flags(&[Flag::Sidechain]), ..line("m", Some("r2"), 50) };
    let second = Line { flags: flags(&[Flag::Sidechain]), ..line("m", Some("r3"), 50) };
    let main = file("b", "one", &[line("m", Some("r"), 5)]);
    let side = file("a", "one", &[replay, second]);
    let ledger = Ledger::build(vec![side.clone(), main.clone()]);
    let [response] = &ledger.responses[..] else { panic!("one response") };
    assert!(!response.is_sidechain());
    assert_eq!((ledger.files[response.file as usize].path.to_str(), response.copies), (Some("b"), 2));
    // Without the session's own line, they are two requests.
    expect(&[side], &[("one", 50), ("one", 50)]);
    // In another family, it is another response.
    let elsewhere = file("c", "two", &[replay]);
    expect(&[main, elsewhere], &[("one", 5), ("two", 50)]);
}

#[test]
fn a_request_that_the_session_has_itself_is_no_replay() {
    for [one, other] in [["r1", "r2"], ["r2", "r1"]] {
        let mains = file("a", "one", &[line("m", Some(one), 5), line("m", Some(other), 7)]);
        let side = Line { flags: flags(&[Flag::Sidechain]), ..line("m", Some(other), 7) };
        expect(&[mains, file("b", "one", &[side])], &[("one", 5), ("one", 7)]);
    }
}

#[test]
fn progress_counts_only_where_the_transcript_of_the_agent_is_gone() {
    let progress = Line { flags: flags(&[Flag::Sidechain, Flag::Progress]), ..line("m", Some("r"), 3) };
    let own = Line { flags: flags(&[Flag::Sidechain]), ..line("m", Some("r"), 80) };
    let main = file("a", "one", &[progress]);
    assert!(Ledger::build(vec![main.clone()]).responses[0].is_progress());
    let agent = CountedFile { agent: Some("a1".to_owned()), ..file("b", "one", &[own]) };
    let ledger = Ledger::build(vec![main, agent]);
    let [response] = &ledger.responses[..] else { panic!("one response") };
    assert!(!response.is_progress());
    assert_eq!((response.file, response.count.counters.output), (1, 80));
}

#[test]
fn a_line_without_a_message_id_is_known_by_its_uuid() {
    let without = Line { message: None, uuid: Some("u"), ..line("", None, 5) };
    expect(&[file("a", "one", &[without]), file("b", "two", &[without])], &[("one", 5)]);
}

#[test]
fn a_response_is_kept_only_if_no_file_has_it() {
    let lines = [line("m", Some("r"), 5)];
    let gone = CountedFile { is_gone: true, ..file("a", "one", &lines) };
    let kept = |files: &[CountedFile]| Ledger::build(files.to_vec()).responses[0].is_kept;
    assert!(kept(std::slice::from_ref(&gone)));
    assert!(!kept(&[gone, file("b", "two", &lines)]));
}

#[test]
fn a_project_is_the_directory_that_the_session_began_in() {
    let mut main = file("b", "one", &[]);
    main.count.facts.cwd = Some("/main".to_owned());
    let mut agent = CountedFile { agent: Some("a1".to_owned()), ..file("a", "one", &[]) };
    agent.count.facts.cwd = Some("/agent".to_owned());
    assert_eq!(Ledger::build(vec![agent.clone(), main]).sessions[0].project.as_deref(), Some("/main"));
    assert_eq!(Ledger::build(vec![agent]).sessions[0].project.as_deref(), Some("/agent"));
}

#[test]
fn an_id_that_is_used_a_hundred_thousand_times_takes_no_time() {
    let files: Vec<_> = (0..1_000)
        .map(|number| {
            let requests: Vec<_> = (0..100).map(|request| format!("{number}-{request}")).collect();
            let lines: Vec<_> = requests.iter().map(|request| line("m", Some(request), 1)).collect();
            file(&number.to_string(), &number.to_string(), &lines)
        })
        .collect();
    assert_eq!(Ledger::build(files).len(), 100_000);
}

/// Lines with few different ids, as a list of messages, requests, sidechains and outputs.
fn some_lines() -> impl Strategy<Value = Vec<(u8, Option<u8>, bool, u32)>> {
    prop::collection::vec((0..4_u8, prop::option::of(0..3_u8), any::<bool>(), 0..100_u32), 0..30)
}

fn count_of(lines: &[(u8, Option<u8>, bool, u32)]) -> FileCount {
    let mut count = FileCount::default();
    for (message, request, is_sidechain, output) in lines {
        let (message, request) = (message.to_string(), request.map(|request| request.to_string()));
        let mut line = line(&message, request.as_deref(), *output);
        line.flags.set(Flag::Sidechain, *is_sidechain);
        count.add(&line);
    }
    count
}

fn total(files: Vec<CountedFile>) -> (usize, u64) {
    let ledger = Ledger::build(files);
    let outputs = ledger.responses().map(|response| u64::from(response.count.counters.output));
    (ledger.len(), outputs.sum())
}

proptest! {
    #[test]
    fn splitting_and_copying_files_changes_no_total(lines in some_lines(), at in any::<prop::sample::Index>()) {
        let named = |path: &str, count: FileCount| CountedFile { path: path.into(), session: Some("s".to_owned()), count, ..CountedFile::default() };
        let whole = total(vec![named("a", count_of(&lines))]);
        let (first, rest) = lines.split_at(at.index(lines.len() + 1));
        prop_assert_eq!(total(vec![named("b", count_of(rest)), named("a", count_of(first))]), whole);
        prop_assert_eq!(total(vec![named("a", count_of(&lines)), named("b", count_of(&lines)), named("c", count_of(first))]), whole);
        let mut shuffled = lines.clone();
        shuffled.reverse();
        prop_assert_eq!(total(vec![named("a", count_of(&shuffled))]), whole);
        // A fork has some of the lines under another session, and says where they come from.
        let mut fork = named("f", count_of(first));
        fork.session = Some("fork".to_owned());
        fork.count.facts.forked_from = Some("s".to_owned());
        prop_assert_eq!(total(vec![fork, named("a", count_of(&lines))]), whole);
    }
}

/// What a transcript may have: a number that its session, first uuid and fork are made of, whether it is that of an agent, and lines.
type SomeFile = (u8, bool, bool, Vec<(u8, Option<u8>, bool, u32)>);

fn some_file() -> impl Strategy<Value = SomeFile> {
    let lines = prop::collection::vec((0..30_u8, prop::option::of(0..2_u8), any::<bool>(), 0..100_u32), 0..4);
    (0..64_u8, any::<bool>(), any::<bool>(), lines)
}

/// Returns a file at one of a few paths. Files share sessions, first lines, originals and messages now and then.
fn file_at(place: u8, (kind, is_agent, is_gone, lines): &SomeFile) -> CountedFile {
    let mut count = count_of(lines);
    let session = place % 8;
    count.facts.first_uuid = if kind % 4 == 0 { u64::from(kind / 16) + 1 } else { 100 + u64::from(place) };
    count.facts.forked_from = (kind / 4 % 4 == 1).then(|| (kind / 16).to_string());
    count.facts.cwd = (kind % 2 == 0).then(|| format!("/{kind}"));
    count.facts.client = (kind % 5 == 0)
        .then(|| ClientCost { cost: Money::from_picos((*kind).into()), ..ClientCost::default() });
    CountedFile {
        path: format!("{place:02}").into(),
        session: Some(session.to_string()),
        agent: is_agent.then(|| "a".to_owned()),
        is_gone: *is_gone,
        state: [i64::from(*kind), -1, 0, 1 << 40],
        count,
    }
}

/// Returns everything that a ledger says, without the numbers of names, files and sessions.
fn content(ledger: &Ledger) -> Vec<String> {
    let name = |id: NameId| ledger.names.text(id).to_owned();
    let responses = ledger.responses().map(|Response { count, file, session, copies, is_kept }| {
        assert_eq!(ledger.files[file as usize].session, session);
        let names = [count.model, count.branch, count.agent, count.tier, count.geography].map(name);
        let count = with_names(&count, &[]);
        format!("{:?} {names:?} {count:?} {copies} {is_kept}", ledger.files[file as usize].path)
    });
    let files = ledger.files.iter().map(|file| {
        let session = &ledger.sessions[file.session as usize].id;
        format!("{:?} {session} {} {} {:?}", file.path, name(file.agent), file.is_gone, file.state)
    });
    let sessions = ledger
        .sessions
        .iter()
        .map(|Session { id, project, client, resets, .. }| format!("{id} {project:?} {client:?} {resets:?}"));
    let (mut responses, mut sessions): (Vec<_>, Vec<_>) = (responses.collect(), sessions.collect());
    responses.sort();
    sessions.sort();
    responses.into_iter().chain(files).chain(sessions).collect()
}

proptest! {
    #[test]
    fn a_ledger_that_is_updated_is_the_one_that_is_built_from_all_files(
        steps in prop::collection::vec(prop::collection::vec((0..24_u8, prop::option::of(some_file())), 1..8), 1..6)
    ) {
        let mut files: std::collections::BTreeMap<u8, CountedFile> = std::collections::BTreeMap::new();
        let mut ledger = Ledger::default();
        for step in steps {
            let changed: HashSet<u8> = step.iter().map(|(place, _)| *place).collect();
            for (place, file) in &step {
                match file {
                    Some(file) => files.insert(*place, file_at(*place, file)),
                    None => files.remove(place),
                };
            }
            let place_of = |file: u32| ledger.files[file as usize].path.to_str().unwrap().parse::<u8>().unwrap();
            let all = 0..u32::try_from(ledger.files.len()).unwrap();
            let outdated: Vec<_> = all.filter(|file| changed.contains(&place_of(*file))).collect();
            let mut new: Vec<_> = changed.iter().filter_map(|place| files.get(place).cloned()).collect();
            let affected = ledger.affected(&outdated, &new);
            let others = affected.iter().map(|file| place_of(*file)).filter(|place| !changed.contains(place));
            new.extend(others.map(|place| files[&place].clone()).collect::<Vec<_>>());
            ledger.update(&affected, new);
            let expected = content(&Ledger::build(files.values().cloned().collect()));
            prop_assert_eq!(content(&ledger), &expected[..]);
            ledger = Ledger::decode(ledger.encode()).unwrap();
            prop_assert_eq!(content(&ledger), &expected[..]);
        }
    }

    #[test]
    fn any_bytes_are_read_as_a_ledger_without_harm(
        lines in some_lines(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)
    ) {
        let file = CountedFile { path: "a".into(), count: count_of(&lines), ..CountedFile::default() };
        let mut bytes = Ledger::build(vec![file]).encode();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(ledger) = Ledger::decode(bytes) {
            prop_assert!(ledger.responses().count() <= ledger.len());
        }
    }
}

#[test]
fn only_groups_with_changes_are_merged_again() {
    let files: Vec<_> = (0..9)
        .map(|number: u8| {
            let id = (number / 3).to_string();
            file(&number.to_string(), &number.to_string(), &[line(&id, Some(&id), 5)])
        })
        .collect();
    let ledger = Ledger::build(files.clone());
    assert_eq!(ledger.affected(&[], &[]), []);
    assert_eq!(ledger.affected(&[4], &files[4..5]), [3, 4, 5]);
    // A new file connects two groups.
    let both = file("9", "9", &[line("0", Some("0"), 5), line("2", Some("2"), 5)]);
    assert_eq!(ledger.affected(&[], &[both]), [0, 1, 2, 6, 7, 8]);
}
