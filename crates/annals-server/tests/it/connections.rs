//! Peers: order, cancellation, subscriptions, and what a slow one costs.

use std::fs;
use std::io::Write;
use std::path::Path;

use annals_api::rpc::Frame;
use annals_server::{Connection, Outbox, outgoing};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::world::{KETTLE, TEA, World, lines_at};

/// A client that talks to the server without a transport.
pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    connection: Option<Connection>,
    pub(crate) outbox: Outbox,
    last_id: u64,
    /// Messages that came while an answer was waited for.
    pub(crate) waiting: Vec<Value>,
}

impl Client {
    pub(crate) fn of(world: &World) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (out, outbox) = outgoing();
        let connection = Some(world.server.connect(out));
        Self { runtime, connection, outbox, last_id: 0, waiting: Vec::new() }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let frame = Frame::Line(message.to_string().into_bytes());
        let received = self.connection.as_mut().unwrap().receive(frame);
        self.runtime.block_on(received).unwrap();
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the next message that is sent.
    pub(crate) fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text()).unwrap()
    }

    pub(crate) fn next_text(&mut self) -> String {
        let (message, _) = self.runtime.block_on(self.outbox.next()).unwrap();
        assert!(!message.contains('\n'));
        message
    }

    /// Asks and waits for the answer; what comes before it is kept.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            self.waiting.push(message);
        }
    }

    /// Returns the next notification.
    pub(crate) fn notice(&mut self, method: &str) -> Value {
        let message = if self.waiting.is_empty() { self.next() } else { self.waiting.remove(0) };
        assert_eq!(message["method"], method, "{message}");
        message["params"].clone()
    }

    /// Goes without listening to the last words.
    pub(crate) fn leave(mut self) {
        self.runtime.block_on(self.connection.take().unwrap().finish());
        self.runtime.shutdown_background();
    }

    pub(crate) fn finish(mut self) {
        let connection = self.connection.take().unwrap();
        self.runtime.block_on(connection.finish());
        assert!(self.runtime.block_on(self.outbox.next()).is_none(), "nothing comes behind the last answer");
        self.runtime.shutdown_background();
    }
}

pub(crate) fn append(path: &Path, bytes: &[u8]) {
    fs::File::options().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn line(uuid: &str) -> String {
    lines_at(10, "a5").user(uuid, format!("天气 {uuid}")).to_string()
}

fn uuids(notice: &Value) -> Vec<String> {
    let items = notice["items"].as_array().unwrap().iter();
    items.map(|item| item["uuid"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn everything_that_is_asked_is_answered_before_the_end() {
    let world = World::new();
    let mut client = Client::of(&world);
    let asked: Vec<_> = (0..50).map(|_| client.request("history/load", &json!({"sessionId": TEA}))).collect();
    let mut answered: Vec<_> = asked.iter().map(|_| client.next()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
    client.finish();
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let world = World::new();
    let mut client = Client::of(&world);
    // All places where work is done are taken, so that the first request waits.
    let taken = client.runtime.block_on(world.server.pause());
    let ask = json!({"jsonrpc": "2.0", "id": "x", "method": "history/trash"});
    client.send(&ask);
    client.send(&ask);
    assert_eq!(client.next()["error"]["code"], -32600);
    // How the server is can be asked all the same.
    client.send(&json!({"jsonrpc": "2.0", "id": "y", "method": "history/status"}));
    assert_eq!(client.next()["result"]["name"], "annals");
    drop(taken);
    assert!(client.next()["result"]["sessions"].is_array());
    client.send(&ask);
    assert!(client.next()["result"]["sessions"].is_array(), "an id that was answered is free again");
    client.finish();
}

#[test]
fn a_request_that_is_taken_back_is_answered_so() {
    let world = World::new();
    let mut client = Client::of(&world);
    let taken = client.runtime.block_on(world.server.pause());
    let first = client.request("history/load", &json!({"sessionId": TEA}));
    let second = client.request("history/trash", &json!({}));
    client.send(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"id": first}}));
    let answer = client.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(first), &json!(-32800)));
    // What is not known, or no request any more, is passed over.
    for params in [json!({"id": first}), json!({"id": "never"}), json!({}), json!({"id": {}})] {
        client.send(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}));
    }
    client.send(&json!({"jsonrpc": "2.0", "method": "something/else"}));
    drop(taken);
    assert_eq!(client.next()["id"], second);
    client.finish();
}

#[test]
fn what_is_written_to_a_session_is_told_in_order_and_once() {
    let world = World::new();
    let mut client = Client::of(&world);
    let path = world.session(TEA);
    let answer = client.ask("history/watch", &json!({"sessionId": format!("claude:{TEA}")}));
    let (name, mut offset) = (answer["result"]["subscription"].clone(), answer["result"]["offset"].clone());
    assert_eq!(offset, fs::metadata(&path).unwrap().len());
    assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 1);
    let expected: Vec<_> = (0..30).map(|number| format!("n{number}")).collect();
    let bytes: Vec<u8> = expected.iter().flat_map(|uuid| line(uuid).into_bytes()).collect();
    let mut told = Vec::new();
    for piece in bytes.chunks(bytes.len() / 7) {
        append(&path, piece);
        // Nothing else may be written before this is told, as far as it has whole lines.
        while told.len() < expected.len() {
            let written = fs::read(&path).unwrap();
            let whole = written.iter().rposition(|byte| *byte == b'\n').unwrap() as u64 + 1;
            if offset.as_u64().unwrap() == whole {
                break;
            }
            let notice = client.notice("history/appended");
            assert_eq!((&notice["subscription"], &notice["offset"]), (&name, &offset));
            assert_eq!(notice["sessionId"], TEA);
            told.extend(uuids(&notice));
            offset = notice["nextOffset"].clone();
        }
    }
    assert_eq!(told, expected);
    assert_eq!(client.ask("history/unwatch", &json!({"subscription": name}))["result"]["unwatched"], true);
    append(&path, line("late").as_bytes());
    assert_eq!(client.ask("history/unwatch", &json!({"subscription": name}))["error"]["code"], -32002);
    assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 0);
    assert_eq!(client.waiting, [] as [Value; 0], "nothing is told that nobody asked for");
    client.finish();
}

#[test]
fn who_comes_back_goes_on_where_he_was() {
    let world = World::new();
    let path = world.session(TEA);
    let read = world.get("history/read", &json!({"sessionId": TEA}));
    append(&path, (line("n1") + &line("n2")).as_bytes());
    let mut client = Client::of(&world);
    let answer = client.ask("history/watch", &json!({"sessionId": TEA, "offset": read["offset"]}));
    assert_eq!(answer["result"]["offset"], read["offset"]);
    let notice = client.notice("history/appended");
    assert_eq!(uuids(&notice), ["n1", "n2"], "what came while nobody listened is told at once");
    client.finish();
    append(&path, line("n3").as_bytes());
    let mut client = Client::of(&world);
    client.ask("history/watch", &json!({"sessionId": TEA, "offset": notice["nextOffset"]}));
    assert_eq!(uuids(&client.notice("history/appended")), ["n3"]);
    client.finish();
}

#[test]
fn a_session_that_is_replaced_is_told_from_its_start() {
    let world = World::new();
    let mut client = Client::of(&world);
    client.ask("history/watch", &json!({"sessionId": TEA}));
    let other = world.path().join("other");
    fs::write(&other, line("o1")).unwrap();
    fs::rename(&other, world.session(TEA)).unwrap();
    let reset = client.notice("history/appended");
    assert_eq!((&reset["reset"], &reset["nextOffset"]), (&json!(true), &json!(0)));
    assert_eq!(uuids(&client.notice("history/appended")), ["o1"]);
    client.finish();
}

#[test]
fn sessions_that_come_go_on_and_go_are_told() {
    let world = World::new();
    let mut client = Client::of(&world);
    let answer = client.ask("history/watch", &json!({}));
    assert_eq!(answer["result"]["offset"], Value::Null);
    let new = "00000000-0000-4000-8000-000000000007";
    // Nobody hears of a session before somebody has spoken in it.
    append(&world.session(new), b"{\"type\":\"mode\"}\n");
    append(&world.session(KETTLE), line("n1").as_bytes());
    let notice = client.notice("history/changed");
    assert_eq!((&notice["added"], &notice["removed"]), (&json!([]), &json!([])));
    assert_eq!(
        (&notice["updated"][0]["id"], &notice["updated"][0]["title"]),
        (&json!(KETTLE), &json!("Boil the kettle"))
    );
    append(&world.session(new), line("n1").as_bytes());
    let notice = client.notice("history/changed");
    assert_eq!((&notice["added"][0]["id"], &notice["updated"]), (&json!(new), &json!([])));
    let listed = world.get("history/list", &json!({"query": "天气 n1"}));
    assert_eq!(notice["added"], listed["sessions"], "as in lists");
    fs::remove_file(world.session(KETTLE)).unwrap();
    assert_eq!(client.notice("history/changed")["removed"], json!([KETTLE]));
    client.finish();
}

#[test]
fn a_client_that_does_not_read_is_not_written_to_without_end() {
    let world = World::new();
    let path = world.session(KETTLE);
    // 6 messages of 1 MiB each make answers of 4 MiB.
    for number in 0..6 {
        let prompt = lines_at(91, None).user(&format!("b{number}"), "x".repeat(1 << 20));
        append(&path, prompt.to_string().as_bytes());
    }
    let mut client = Client::of(&world);
    client.ask("history/watch", &json!({"sessionId": KETTLE, "offset": 0}));
    let asked = 20;
    for _ in 0..asked {
        client.request("history/read", &json!({"sessionId": KETTLE}));
    }
    // Nothing is read until no more can be made: 32 MiB wait, and one answer for each place where work is done.
    while world.server.free_permits() > 0 {
        std::thread::yield_now();
    }
    let waiting = client.outbox.queued();
    assert!(waiting * (4 << 20) <= (32 << 20) + (4 << 20), "{waiting} messages wait");
    // Once it reads, everything comes, each line once.
    let (mut answers, mut told) = (0, 0);
    while answers < asked || told < 7 {
        let message = client.next();
        answers += usize::from(message.get("result").is_some());
        told += message["params"]["items"].as_array().map_or(0, Vec::len);
    }
    assert_eq!((answers, told), (asked, 7));
    client.finish();
}
