//! `annals push`, `annals record --push`, and logs that need a token.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::command::{Home, Ran};
use testkit::ingress::{Fault, Server};

use crate::{ANNALS, SESSION, annals, feed, rest, small_home, transcript};

/// The hint for an address to which a secret is not sent.
const INSECURE: &str =
    "hint: use an https address, or `--insecure-http`: then anyone on the network path can read it\n";

fn prompt(id: &str) -> String {
    format!("{{\"type\":\"user\",\"uuid\":\"{id}\",\"message\":{{\"content\":\"{id}\"}}}}\n")
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// Records prompts, and pushes them without pauses between tries.
fn record(home: &Home, url: &str, ids: &[&str], more: &[&str]) -> Ran {
    let args = ["record", "--session", SESSION, "--project", ".", "--retry-delay", "0", "--push", url];
    let input: String = ids.iter().map(|id| prompt(id)).collect();
    feed(home, &[&args[..], more].concat(), input.as_bytes())
}

fn push(home: &Home, url: &str, more: &[&str]) -> Ran {
    annals(home, &[&["push", SESSION, url, "--retry-delay", "0"], more].concat())
}

/// Returns the transcript that `record` wrote.
fn recorded(home: &Home) -> PathBuf {
    let projects = fs::read_dir(home.path().join(".claude/projects")).unwrap();
    projects.map(|project| project.unwrap().path().join(format!("{SESSION}.jsonl"))).next().unwrap()
}

/// Returns the lines of a file.
fn lines(path: PathBuf) -> Vec<Vec<u8>> {
    fs::read(path)
        .unwrap()
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(Vec::from)
        .collect()
}

/// Returns what a program printed to standard error, without the port of a server.
fn without_port(text: &str, url: &str) -> String {
    text.replace(url.trim_end_matches("/log"), "http://server")
}

#[test]
fn what_is_recorded_is_on_the_server_byte_for_byte_and_in_order() {
    let (home, server) = (Home::new(), Server::sound().unwrap());
    let ran = record(&home, &server.url(), &["a", "b"], &["--batch", "1"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let last = json(ran.stdout.lines().last().unwrap());
    assert_eq!((&last["pushed"], &last["pending"], &last["last"]), (&2.into(), &0.into(), &"b".into()));
    // Another program appends a message and a title, which the next push sends, or leaves out.
    let mut file = File::options().append(true).open(recorded(&home)).unwrap();
    file.write_all((prompt("other") + "{\"type\":\"custom-title\",\"customTitle\":\"茶\"}\n").as_bytes())
        .unwrap();
    let ran = record(&home, &server.url(), &["a", "c"], &[]);
    assert_eq!(json(ran.stdout.lines().last().unwrap())["pushed"], 2, "{}", ran.stdout);
    let all = lines(recorded(&home));
    let without_title = [&all[..3], &all[4..]].concat();
    assert_eq!(server.log().entries(), &without_title[..]);
    let told = json(&push(&home, &server.url(), &["--all", "--json"]).stdout);
    assert_eq!((&told["pushed"], &told["pending"]), (&1.into(), &0.into()));
    assert_eq!(server.log().entries().last(), Some(&all[3]));
}

#[test]
fn a_server_that_is_down_loses_nothing_and_delays_no_local_line() {
    let (home, server) = (Home::new(), Server::start(None, Box::new(|| Some(Fault::DropBefore))).unwrap());
    let url = server.url();
    let ran = record(&home, &url, &["a", "b", "c"], &["--batch", "1"]);
    assert_eq!((ran.code, lines(recorded(&home)).len()), (Some(2), 3));
    let last = json(ran.stdout.lines().last().unwrap());
    assert_eq!((&last["pushed"], &last["pending"]), (&0.into(), &3.into()));
    let said = without_port(&ran.stderr, &url);
    let (notes, failure) = said.split_at(said.find("annals: ").unwrap());
    let is_note =
        |line: &str| line.starts_with("note: not sent yet: ") && line.ends_with("; trying again in 0 s");
    assert!(notes.lines().count() >= 9 && notes.lines().all(is_note), "{notes}");
    let (first, hints) = failure.split_once('\n').unwrap();
    assert!(first.starts_with("annals: cannot push: gave up after 10 tries: "), "{first}");
    assert_snapshot!(hints, @"
    hint: all entries are on disk; pending: 3 entries
    hint: `annals push 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 'http://server/log'` sends what is pending
    ");
    let dry = push(&home, &url, &["--dry-run"]);
    assert_snapshot!(without_port(&dry.stdout, &url), @"would push 3 entries of 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 to http://server/log");
    server.set_plan(Box::new(|| None));
    let ran = push(&home, &url, &[]);
    assert_snapshot!(without_port(&ran.stdout, &url), @"pushed 3 entries of 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 to http://server/log");
    assert_eq!(server.log().entries(), &lines(recorded(&home))[..]);
}

#[test]
fn records_wait_for_the_first_entry_with_a_uuid_and_a_note_says_so() {
    let (home, server) = (Home::new(), Server::sound().unwrap());
    let title = "{\"type\":\"custom-title\",\"customTitle\":\"茶\"}\n";
    home.write(format!(".claude/projects/-tea/{SESSION}.jsonl"), title);
    let url = server.url();
    let dry = push(&home, &url, &["--all", "--dry-run"]);
    assert_snapshot!(without_port(&dry.stdout, &url), @"would push 0 entries of 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 to http://server/log");
    let ran = push(&home, &url, &["--all"]);
    assert_eq!(ran.code, Some(0));
    assert_snapshot!(without_port(&(ran.stdout + &ran.stderr), &url), @"
    pushed 0 entries of 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 to http://server/log
    note: not sent yet: 1 entry without a uuid; such records wait for the first entry with a uuid, whose answer says whether the log is that of this session
    ");
    assert!(server.log().entries().is_empty());
    assert_eq!(json(&push(&home, &url, &["--all", "--json"]).stdout)["pending"], 1);
}

#[test]
fn every_fault_of_a_server_is_survived() {
    for fault in Fault::ALL {
        let home = Home::new();
        let mut count = 0;
        let plan = move || {
            count += 1;
            (count == 2).then_some(fault)
        };
        let server = Server::start(None, Box::new(plan)).unwrap();
        // A moment without a listener outlasts ten tries without a pause.
        let delay = ["--retry-delay", "5"];
        let ran = record(&home, &server.url(), &["a", "b", "c"], &[]);
        let ran = if ran.code == Some(0) {
            ran
        } else {
            annals(&home, &[&["push", SESSION, &server.url()][..], &delay].concat())
        };
        assert_eq!(ran.code, Some(0), "{fault:?}: {}", ran.stderr);
        assert_eq!(server.log().entries(), &lines(recorded(&home))[..], "{fault:?}");
        assert_eq!(server.faults(), 1, "{fault:?}");
    }
}

#[test]
fn a_rewritten_transcript_stops_the_push_with_a_way_to_go_on() {
    let (home, server) = (Home::new(), Server::sound().unwrap());
    let url = server.url();
    assert_eq!(record(&home, &url, &["a", "b", "c"], &[]).code, Some(0));
    rest(&recorded(&home));
    assert_eq!(annals(&home, &["tombstone", SESSION, "b"]).code, Some(0));
    let ran = record(&home, &url, &["d"], &[]);
    assert_eq!((ran.code, lines(recorded(&home)).len()), (Some(2), 3), "the line is on disk");
    let said = without_port(&ran.stderr, &url);
    let path = recorded(&home).to_string_lossy().replace(&*home.path().to_string_lossy(), "[home]");
    assert_snapshot!(said.replace(&path, "[transcript]"), @"
    annals: cannot push: [transcript] was rewritten, replaced or deleted since entries of it were sent; the server still has the earlier version
    hint: all entries are on disk
    hint: `annals push 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 'http://server/log' --restart` continues behind the last entry that the server has, if the transcript still has it
    ");
    // As long as a restart fails, the command that continues it is a restart.
    server.set_plan(Box::new(|| Some(Fault::DropBefore)));
    let ran = push(&home, &url, &["--restart"]);
    assert_snapshot!(without_port(&ran.stderr, &url).lines().last().unwrap(), @"hint: `annals push 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 'http://server/log' --restart` sends what is pending");
    server.set_plan(Box::new(|| None));
    assert_eq!(push(&home, &url, &["--restart"]).code, Some(0));
    assert_eq!(server.log().entries().len(), 4);
    // A restart that has saved its progress is not repeated.
    let append = |id: &str| {
        File::options().append(true).open(recorded(&home)).unwrap().write_all(prompt(id).as_bytes()).unwrap();
    };
    append("e");
    append("f");
    let mut count = 0;
    server.set_plan(Box::new(move || {
        count += 1;
        (count > 2).then_some(Fault::DropBefore)
    }));
    let ran = push(&home, &url, &["--restart"]);
    assert_snapshot!(without_port(&ran.stderr, &url).lines().last().unwrap(), @"hint: `annals push 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 'http://server/log'` sends what is pending");
    server.set_plan(Box::new(|| None));
    assert_eq!(push(&home, &url, &[]).code, Some(0));
    // Another transcript was pushed there.
    let other = Home::new();
    let ran = record(&other, &url, &["x"], &[]);
    assert_snapshot!(without_port(&ran.stderr, &url), @"
    annals: cannot push: the last entry on the server, `f`, is not in the transcript: another transcript was pushed there, or this one was rewritten
    hint: all entries are on disk
    hint: push to another address, or remove the log on the server
    ");
}

#[test]
fn a_token_comes_from_a_file_or_the_environment_and_is_never_told() {
    const TOKEN: &str = "s3cret-token";
    let (home, server) = (small_home(), Server::start(Some(TOKEN), Box::new(|| None)).unwrap());
    let url = server.url();
    let file = home.write("token", format!("{TOKEN}\n"));
    let with_file = ["--token-file", file.to_str().unwrap()];
    let ran = push(&home, &url, &[]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(without_port(&ran.stderr, &url), @"
    annals: cannot push: the server does not accept the token, or requires one (401)
    hint: all entries are on disk; pending: 3 entries
    hint: give a token with `--token-file`, or in `ANNALS_REMOTE_TOKEN`
    ");
    assert_eq!(server.requests(), 1, "it is not asked again");
    assert_eq!(push(&home, &url, &with_file).code, Some(0));
    rest(&home.path().join(transcript()));
    // `hydrate` reads it with the same token.
    let hydrate = ["hydrate", &url, "--session", SESSION, "--dry-run"];
    let ran = annals(&home, &hydrate);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(without_port(&ran.stderr, &url), @"
    annals: cannot read http://server/log: the server does not accept the token, or requires one (401)
    hint: give a token with `--token-file`, or in `ANNALS_REMOTE_TOKEN`
    ");
    let ran = annals(&home, &[&hydrate[..], &with_file].concat());
    assert_snapshot!(ran.stdout, @"would replace 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 with 3 entries");
    let mut command = home.command(ANNALS);
    let output = command.args(hydrate).env("ANNALS_REMOTE_TOKEN", TOKEN).output().unwrap();
    assert!(output.status.success());
    // Over http it goes to this machine only.
    for command in
        [&["push", SESSION, "http://server.invalid/log"][..], &["hydrate", "http://server.invalid/log"]]
    {
        let ran = annals(&home, &[command, &with_file].concat());
        assert_eq!(ran.code, Some(2));
        let told = "annals: cannot use the address: the token is not sent over http to another machine
";
        assert_eq!(ran.stderr, format!("{told}{INSECURE}"));
    }
    let bad = home.write("bad", "two words");
    let ran = push(&home, &url, &["--token-file", bad.to_str().unwrap()]);
    assert_snapshot!(ran.stderr, @"annals: cannot read the token in `[home]/bad`: the token has a blank, a line break or a character that is not ASCII");
    assert_eq!(annals(&home, &["push", SESSION, &url, "--token", TOKEN]).code, Some(2), "not as an argument");
}

/// Answers one request, and sends what it was.
fn answer_once(answer: String) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, request) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        sender.send(String::from_utf8_lossy(&bytes[..length]).to_lowercase()).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
    });
    (format!("http://{address}"), request)
}

#[test]
fn a_token_does_not_follow_a_redirect_to_another_host() {
    let home = small_home();
    let log =
        "HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{\"type\":\"user\"}".to_owned();
    let (second, second_request) = answer_once(log);
    let redirect = |to: &str| {
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}/moved\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    };
    let (first, first_request) = answer_once(redirect(&second));
    let hydrate = |url: &str| {
        let mut command = home.command(ANNALS);
        command.args(["hydrate", url, "--dry-run"]).env("ANNALS_REMOTE_TOKEN", "s3cret-token");
        home.ran(&command.output().unwrap())
    };
    let ran = hydrate(&format!("{first}/log"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(first_request.recv().unwrap().contains("authorization: bearer s3cret-token"));
    let request = second_request.recv().unwrap();
    assert!(request.starts_with("get /moved") && !request.contains("s3cret"), "{request}");
    // An entry is not sent to another address at all.
    let (moved, request) = answer_once(redirect("http://127.0.0.1:1"));
    let ran = push(&home, &format!("{moved}/log"), &[]);
    assert!(request.recv().unwrap().starts_with("put /log"));
    assert!(ran.stderr.contains("give the address that it redirects to"), "{}", ran.stderr);
}

#[test]
fn an_address_is_checked_before_anything_is_done() {
    let home = small_home();
    for address in ["nonsense", "ftp://me:s3cret@server/log", "me:s3cret@server/log"] {
        for more in [&["--dry-run"][..], &[]] {
            let ran = push(&home, address, more);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{address}");
            let told = "annals: cannot use the address: it is not an http or https address
\
                hint: an address is like `https://example.org/sessions/{session}`
";
            assert_eq!(ran.stderr, told);
        }
        let before = fs::read(home.path().join(transcript())).unwrap();
        assert_eq!(record(&home, address, &["x"], &[]).code, Some(2));
        assert_eq!(fs::read(home.path().join(transcript())).unwrap(), before, "nothing is written");
    }
    for command in [
        &["push", SESSION, "http://me:s3cret@server.invalid/log"][..],
        &["hydrate", "http://me:s3cret@server.invalid/log"],
    ] {
        let told = "annals: cannot use the address: the user and password of the address are not sent over http to another machine
";
        assert_eq!(annals(&home, command).stderr, format!("{told}{INSECURE}"));
    }
}

#[test]
fn a_failed_push_prints_the_same_json_and_a_command_that_continues_it() {
    let (home, server) = (small_home(), Server::start(None, Box::new(|| Some(Fault::DropBefore))).unwrap());
    let token = home.write("token", "s3cret\n");
    let url = server.url().replace("http://", "http://me:s3cret@") + "/{session}?key=s3cret";
    let ran = push(&home, &url, &["--json", "--all", "--token-file", token.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2));
    let told = json(&ran.stdout);
    assert_eq!((&told["pushed"], &told["pending"]), (&0.into(), &4.into()), "{told}");
    assert!(told["error"].as_str().unwrap().starts_with("gave up after 10 tries"), "{told}");
    let said = without_port(&ran.stderr, &server.url());
    let hints = said.split_once("hint: ").unwrap().1;
    assert_snapshot!(hints, @"
    all entries are on disk; pending: 4 entries
    hint: `annals push 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55 'http://server/log/{session}' --all --token-file '[home]/token'` sends what is pending
    hint: give the address as before: its user, password and query may be secret and are not shown
    ");
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn what_cannot_be_sent_is_said() {
    let (home, server) = (Home::new(), Server::sound().unwrap());
    let ran = record(&home, &server.url(), &["a", "茶 1"], &[]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(json(ran.stdout.lines().last().unwrap())["skipped"], 1);
    assert_snapshot!(ran.stderr, @"note: not sent: 1 entry with a uuid that cannot be the value of an HTTP header; `--push-all` sends such entries as records");
    let told = json(&push(&home, &server.url(), &["--json"]).stdout);
    assert_eq!((&told["pending"], &told["skipped"]), (&0.into(), &1.into()));
}

#[test]
fn a_session_without_a_uuid_that_can_be_a_header_is_not_pushed() {
    let (home, server) = (Home::new(), Server::sound().unwrap());
    let url = server.url();
    let title = "{\"type\":\"custom-title\",\"customTitle\":\"茶\"}\n";
    home.write(format!(".claude/projects/-tea/{SESSION}.jsonl"), prompt("茶1") + &prompt("茶2") + title);
    for more in [&[][..], &["--all"], &["--all", "--dry-run"]] {
        let ran = push(&home, &url, more);
        assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{more:?}");
        assert_eq!(
            ran.stderr,
            "annals: cannot push: no entry of the transcript has a uuid that can be the value of an HTTP header: at most 256 visible ASCII characters\n"
        );
    }
    let told = json(&push(&home, &url, &["--json"]).stdout);
    assert_eq!((&told["pushed"], &told["pending"], &told["skipped"]), (&0.into(), &0.into(), &2.into()));
    assert!(told["error"].as_str().unwrap().starts_with("no entry of the transcript"), "{told}");
    assert_eq!(server.requests(), 0);
    // An entry that can be sent brings the others with it.
    let path = home.path().join(format!(".claude/projects/-tea/{SESSION}.jsonl"));
    File::options().append(true).open(path).unwrap().write_all(prompt("a").as_bytes()).unwrap();
    assert_eq!(json(&push(&home, &url, &["--all", "--json"]).stdout)["pushed"], 4);
}

#[test]
fn a_missing_log_and_an_agent_are_explained() {
    let home = small_home();
    let (url, _request) =
        answer_once("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into());
    assert_snapshot!(annals(&home, &["hydrate", &url]).stderr, @"
    annals: the log is empty
    hint: the server has no log at this address (404)
    hint: nothing was changed; with `--allow-empty` the session becomes empty, and an existing one goes to the trash
    ");
    let agent = ["record", "--session", SESSION, "--agent", "a1b2c3d4"];
    assert_eq!(feed(&home, &agent, prompt("x").as_bytes()).code, Some(0));
    let said = annals(&home, &["push", "a1b2c3d4", &url]).stderr;
    let hint = "hint: `push` takes the path of the agent's transcript, with `{agent}` in the address\n";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn an_answer_that_comes_before_a_large_entry_is_read() {
    let home = Home::new();
    let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned();
    let (url, request) = answer_once(answer);
    let large = format!(
        "{{\"type\":\"user\",\"uuid\":\"a\",\"message\":{{\"content\":\"{}\"}}}}\n",
        "x".repeat(1 << 20)
    );
    let ran = feed(&home, &["record", "--project", ".", "--push", &url], large.as_bytes());
    assert!(request.recv().unwrap().contains("expect: 100-continue"));
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("annals: cannot push: the server does not accept the token"),
        "{}",
        ran.stderr
    );
}

#[test]
fn addresses_name_the_session_and_keep_their_secrets() {
    let (home, server) = (small_home(), Server::sound().unwrap());
    let url = server.url().replace("http://", "http://me:s3cret@") + "/{session}?key=s3cret";
    let ran = push(&home, &url, &["--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let address = json(&ran.stdout)["address"].as_str().unwrap().to_owned();
    assert_eq!(address, format!("{}/{SESSION}", server.url()));
    let ran = annals(&home, &["push", SESSION, "ftp://me:s3cret@server/log"]);
    assert_eq!((ran.code, ran.stderr.contains("s3cret")), (Some(2), false), "{}", ran.stderr);
    // A subagent has a log of its own.
    let agent = ["--session", SESSION, "--agent", "a1", "--push"];
    let record = |url: &str| feed(&home, &[&["record"], &agent[..], &[url]].concat(), prompt("x").as_bytes());
    let ran = record(&server.url());
    assert_snapshot!(ran.stderr, @"
    annals: a subagent needs a log of its own
    hint: put `{agent}` into the address: it is replaced by the id of the subagent
    ");
    let side = home.path().join(transcript()).with_extension("").join("subagents/agent-a1.jsonl");
    assert!(!side.exists(), "nothing is written");
    let own = Server::sound().unwrap();
    assert_eq!(record(&(own.url() + "/{session}/{agent}")).code, Some(0));
    assert_eq!(own.log().entries(), &lines(side)[..]);
}
