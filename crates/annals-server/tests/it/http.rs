//! HTTP: who is let in, what is answered, and what streams tell.

pub(crate) mod client;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use annals_server::{Http, HttpError, HttpOptions, Limits, Options, StopReason};
use serde_json::{Value, json};

use crate::world::{KETTLE, TEA, World, lines_at};
use client::{Reply, Served};

const STATUS: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"history/status"}"#;

fn append(path: &Path, bytes: &[u8]) {
    fs::File::options().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn line(uuid: &str) -> String {
    lines_at(10, "a5").user(uuid, format!("天气 {uuid}\n\ndata: no event\u{2028}")).to_string()
}

fn with_limits(change: impl FnOnce(&mut Limits)) -> Served {
    let mut options = HttpOptions::default();
    change(&mut options.limits);
    Served::with(World::new(), options)
}

#[test]
fn only_who_knows_the_token_is_let_in() {
    let served = Served::new();
    assert!(served.token.len() >= 43, "256 bits");
    assert_ne!(served.token, Served::new().token);
    let ask = |path: &str, headers: &[(&str, &str)]| served.ask(&format!("GET {path}"), headers, b"");
    assert_eq!(served.get("/").status, 200);
    assert_eq!(ask("/", &[("authorization", &format!("bearer {}", served.token))]).status, 200);

    let without = ask("/", &[]);
    assert_eq!((without.status, without.header("www-authenticate")), (401, Some("Bearer")));
    let near = &served.token[1..];
    for (path, headers) in [
        ("/rpc", vec![]),
        ("/events", vec![]),
        ("/nowhere", vec![]),
        ("/../../etc/passwd", vec![]),
        ("/", vec![("Authorization", "Bearer ".to_owned())]),
        ("/", vec![("Authorization", format!("Bearer {near}"))]),
        ("/", vec![("Authorization", format!("Bearer {}x", served.token))]),
        ("/", vec![("Authorization", format!("Basic {}", served.token))]),
        ("/", vec![("Authorization", served.token.clone())]),
        ("/", vec![("Cookie", format!("annals-{}={}", served.address.port(), served.token))]),
        ("/", vec![("Cookie", format!("annals-{}=", served.address.port()))]),
        (&format!("/?token={near}"), vec![]),
        ("/?token=", vec![]),
        (&format!("/?token={near}"), vec![("Authorization", served.bearer())]),
    ] {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, &value[..])).collect();
        let reply = ask(path, &headers);
        assert_eq!((reply.status, &reply.body), (401, &without.body), "{path} {headers:?}");
    }
    let posted = served.ask("POST /rpc", &[("Content-Type", "application/json")], STATUS);
    assert_eq!((posted.status, &posted.body), (401, &without.body));
    // Which of two counts is not for us to guess, in whatever order they come.
    let (right, wrong) = (served.bearer(), format!("Bearer {near}"));
    for two in [[&right, &wrong], [&wrong, &right], [&right, &right]] {
        let reply = ask("/", &two.map(|value| ("Authorization", &value[..])));
        assert_eq!((reply.status, &reply.body[..]), (400, "a request says `authorization` once\n"));
    }
    // A change is not let in by a link, which another page may have.
    let link = format!("POST /rpc?token={}", served.token);
    assert_eq!(served.ask(&link, &[("Content-Type", "application/json")], STATUS).status, 401);
    let health = ask("/healthz", &[]);
    assert_eq!((health.status, &health.body[..]), (200, "ok\n"));
}

#[test]
fn a_browser_gets_a_cookie_for_the_token_and_an_address_without_it() {
    let served = Served::new();
    assert_eq!(served.link, format!("http://{}/?token={}", served.address, served.token));
    let visit = |path: &str, headers: &[(&str, &str)]| served.ask(&format!("GET {path}"), headers, b"");
    let token = &served.token;
    for (path, location) in [
        (format!("/?token={token}"), "/"),
        (format!("/?a=1&token={token}&b=%20"), "/?a=1&b=%20"),
        // Not the address of another host.
        (format!("//evil.example/?token={token}"), "//evil.example/"),
    ] {
        let reply = visit(&path, &[]);
        assert_eq!(reply.status, 303, "{path}");
        let (address, handed_over) = reply.header("location").unwrap().split_once("#token=").unwrap();
        assert_eq!(address, format!("http://{}{location}", served.address));
        assert_ne!(handed_over, token, "a token that was chosen is not stored in the browser");
        assert!(!reply.body.contains(token) && !reply.body.contains(handed_over));
    }
    let reply = visit(&format!("/?token={token}"), &[]);
    let cookie = reply.header("set-cookie").unwrap();
    let (cookie, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "HttpOnly; SameSite=Strict; Path=/");
    assert!(!cookie.contains(token), "cookies are sent to all ports of a host");
    let bearer = format!("Bearer {}", handed_over(&reply));
    let posted = [("Authorization", &bearer[..]), ("Content-Type", "application/json")];
    assert_eq!(served.ask("POST /rpc", &posted, STATUS).status, 200, "the page asks with its own token");

    // A link on another site: that site sends the browser here, so the cookie would not be shown behind a redirection.
    let sent = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")];
    let reply = visit(&format!("/?token={token}"), &sent);
    assert_eq!((reply.status, reply.header("location")), (200, None));
    let refresh = reply.header("refresh").unwrap();
    assert!(refresh.starts_with(&format!("0; url=http://{}/#token=", served.address)), "{refresh}");
    assert!(reply.header("set-cookie").is_some());
}

/// Returns the token that the page gets.
fn handed_over(reply: &Reply) -> &str {
    reply.header("location").unwrap().split_once("#token=").unwrap().1
}

#[test]
fn a_stolen_cookie_opens_the_page_and_nothing_else() {
    let served = Served::new();
    let welcome = served.ask(&format!("GET /?token={}", served.token), &[], b"");
    // A server on another port of this machine gets the cookie from the browser, and sends it here.
    let cookie = welcome.header("set-cookie").unwrap().split(';').next().unwrap();
    let stolen = [("Cookie", cookie), ("Content-Type", "application/json")];
    for (request, body, status) in [
        ("GET /", &b""[..], 200),
        ("GET /search?q=tea", b"", 200),
        ("GET /usage", b"", 200),
        ("GET /health", b"", 200),
        (&format!("GET /s/{TEA}?view=raw"), b"", 200),
        ("GET /favicon.ico", b"", 200),
        ("POST /rpc", STATUS, 401),
        ("GET /events", b"", 401),
        (&format!("GET /events?sessionId={TEA}"), b"", 401),
        ("GET //events", b"", 401),
        ("GET /nowhere", b"", 401),
        ("GET /s/", b"", 401),
        ("GET /s/a/b", b"", 401),
        ("GET /index.html", b"", 401),
        ("GET /assets/", b"", 401),
    ] {
        let reply = served.ask(request, &stolen, body);
        assert_eq!(reply.status, status, "{request}");
        assert!(!reply.body.contains(handed_over(&welcome)), "{request}");
    }
    let with_others = [("Cookie", &format!("other=1; {cookie}")[..])];
    assert_eq!(served.ask("GET /", &with_others, b"").status, 200);
}

#[test]
fn a_ticket_is_good_for_one_visit() {
    let served = Served::new();
    let path = served.ticket.strip_prefix(&format!("http://{}", served.address)).unwrap();
    assert!(!path.contains(&served.token));
    let visit = || served.ask(&format!("GET {path}"), &[], b"");
    let first = visit();
    assert_eq!(first.status, 303);
    let cookie = first.header("set-cookie").unwrap().split(';').next().unwrap();
    assert_eq!(served.ask("GET /", &[("Cookie", cookie)], b"").status, 200);
    let bearer = format!("Bearer {}", handed_over(&first));
    assert_eq!(served.ask("GET /", &[("Authorization", &bearer)], b"").status, 200);
    assert_eq!(visit().status, 401);
}

#[test]
fn other_names_and_pages_of_other_sites_are_refused() {
    let served = Served::new();
    let (bearer, port) = (served.bearer(), served.address.port());
    let status = |name: &str, value: &str| {
        served.ask("GET /", &[("Authorization", &bearer), (name, value)], b"").status
    };
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("LocalHost:{port}")] {
        assert_eq!(status("Host", &host), 200, "{host}");
    }
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("127.0.0.2:{port}"),
        format!("[::1]:{port}"),
        format!("x@127.0.0.1:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        "localhost".to_owned(),
        String::new(),
        "\u{e9}".to_owned(),
    ] {
        assert_eq!(status("Host", &host), 403, "{host}");
    }
    for origin in
        ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "http://127.0.0.1", ""]
    {
        assert_eq!(status("Origin", origin), 403, "{origin}");
    }
    assert_eq!(status("Origin", &format!("https://{}", served.address)), 403);
    assert_eq!(status("Origin", &format!("http://localhost:{port}")), 403, "it is not the name in Host");
    assert_eq!(status("Origin", &format!("http://{}", served.address)), 200);
    for (site, expected) in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)] {
        assert_eq!(status("Sec-Fetch-Site", site), expected, "{site}");
    }
    let host = served.address.to_string();
    for other in ["evil.example", &host] {
        let two = [("Host", &host[..]), ("Host", other), ("Authorization", &bearer)];
        let reply = served.ask("GET /", &two, b"");
        assert_eq!((reply.status, &reply.body[..]), (400, "a request says `host` once\n"));
    }
    let absolute = served.ask("GET http://evil.example/", &[("Authorization", &bearer)], b"");
    assert_eq!(absolute.status, 403);
    let mut old = served.connect();
    old.write_all(format!("GET / HTTP/1.0\r\nAuthorization: {bearer}\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(Reply::read(old).status, 403);
    assert_eq!(served.ask("GET /healthz", &[("Host", "evil.example")], b"").status, 403);
}

#[test]
fn no_answer_can_be_used_by_another_page_or_kept() {
    let served = Served::new();
    let bearer = served.bearer();
    let posted = [("Authorization", &bearer[..]), ("Content-Type", "application/json")];
    for reply in [
        served.get("/"),
        served.get("/favicon.ico"),
        served.get("/sign-in.js"),
        served.get("/nowhere"),
        served.get("/rpc"),
        served.ask("GET /", &[], b""),
        served.ask("GET /", &[("Host", "evil.example")], b""),
        served.ask("GET /healthz", &[], b""),
        served.ask(&format!("GET /?token={}", served.token), &[], b""),
        served.ask("POST /rpc", &posted, STATUS),
    ] {
        assert_eq!(
            reply.header("content-security-policy"),
            Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                 require-trusted-types-for 'script'; trusted-types 'none'; \
                 frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            )
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{name}");
        }
        assert_eq!(reply.header("access-control-allow-origin"), None);
        assert_eq!(reply.header("server"), None);
    }
}

#[test]
fn the_page_is_complete() {
    let served = Served::new();
    let page = served.get("/").body;
    let named = page.split(['"']).filter(|text| text.starts_with('/') && text.len() > 1);
    let mut count = 0;
    for path in named {
        let reply = served.get(path);
        let kind = match path.rsplit('.').next() {
            Some("ico") => "image/svg+xml",
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            other => panic!("the page names a file of an unknown kind: {other:?}"),
        };
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)), "{path}");
        assert!(!reply.body.is_empty(), "{path}");
        count += 1;
    }
    // Without the viewer, the page says how to get it, and has no script.
    assert!(count >= 1 && (count >= 3 || page.contains("cargo x web")), "{page}");
    for place in ["/search", "/usage", "/health", "/s/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55"] {
        assert_eq!(served.get(place).body, page, "{place}");
    }
}

#[test]
fn a_browser_without_a_token_is_asked_for_the_link_on_every_address_alike() {
    let served = Served::new();
    let visit = |path: &str| served.ask(&format!("GET {path}"), &[("Sec-Fetch-Mode", "navigate")], b"");
    let asked = visit("/");
    assert_eq!((asked.status, asked.header("content-type")), (401, Some("text/html; charset=utf-8")));
    assert!(asked.body.contains("<form>") && asked.body.contains("src=\"/sign-in.js\""), "{}", asked.body);
    for path in [&format!("/s/{TEA}"), "/rpc", "/events", "/nowhere", "/?token=wrong"] {
        assert_eq!((visit(path).status, visit(path).body), (401, asked.body.clone()), "{path}");
    }
    let script = served.ask("GET /sign-in.js", &[], b"");
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert_eq!(
        served.ask("GET /", &[], b"").body,
        "a token is needed: open the link that `annals serve` printed\n"
    );
}

#[test]
fn requests_are_answered_as_by_every_other_transport() {
    let served = Served::new();
    for (method, params) in [
        ("history/list", json!({"limit": 2})),
        ("history/load", json!({"sessionId": TEA})),
        ("history/read", json!({"sessionId": TEA, "last": true})),
        ("history/stats", json!({"sessionId": TEA})),
    ] {
        let request = json!({"jsonrpc": "2.0", "id": "天", "method": method, "params": params}).to_string();
        let answer = served.rpc(request.as_bytes());
        assert_eq!(answer, serde_json::from_str::<Value>(&served.world.answer(&request)).unwrap());
        assert!(answer["result"].is_object(), "{answer}");
    }
}

#[test]
fn what_is_wrong_with_a_request_is_told_in_its_answer() {
    let served = Served::new();
    let call = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let mut cases = vec![
        (String::new(), -32700),
        ("{".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        ("17".to_owned(), -32600),
        (call("history/nothing", json!({})), -32601),
        (call("history/list", json!({"limit": "many"})), -32602),
        (call("history/load", json!({"sessionId": "00000000-0000-4000-8000-000000000000"})), -32002),
        // These need a connection that stays open: here, a stream of events.
        (call("history/watch", json!({"sessionId": TEA})), -32600),
        (call("history/unwatch", json!({"subscription": "s1"})), -32600),
    ];
    for id in ["../../etc/passwd", "..", "/etc/passwd", "a/b", "c\\d", "%2e%2e%2f", "\0", ""] {
        for method in ["history/load", "history/read", "history/stats", "history/delete", "history/rename"] {
            cases.push((call(method, json!({"sessionId": id, "title": "x"})), -32602));
        }
    }
    for (request, code) in cases {
        assert_eq!(served.rpc(request.as_bytes())["error"]["code"], code, "{request}");
    }
    assert_eq!(served.rpc(b"\xff\xfe")["error"]["code"], -32700);
    assert_eq!(served.rpc(STATUS)["result"]["name"], "annals", "still serving");
}

#[test]
fn what_is_wrong_with_how_it_was_sent_is_told_by_the_status() {
    let served = Served::new();
    let bearer = served.bearer();
    let post = |headers: &[(&str, &str)], body: &[u8]| {
        served.ask("POST /rpc", &[&[("Authorization", &bearer[..])], headers].concat(), body).status
    };
    let json = ("Content-Type", "application/json");
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
    {
        assert_eq!(post(&[("Content-Type", kind)], STATUS), 415, "{kind}");
    }
    assert_eq!(post(&[], STATUS), 415);
    assert_eq!(post(&[json, ("Content-Encoding", "gzip")], STATUS), 415);
    assert_eq!(post(&[("Content-Type", "Application/JSON; charset=utf-8")], STATUS), 200);
    let note = br#"{"jsonrpc":"2.0","method":"something/else"}"#;
    assert_eq!(post(&[json], note), 202, "there is no answer to a notification");

    let most = 16 << 20;
    assert_eq!(post(&[json, ("Content-Length", &(most + 1).to_string())], b""), 413);
    assert_eq!(post(&[json, ("Content-Length", "18446744073709551616")], b""), 400);
    let mut long = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/status\"}".to_vec();
    long.resize(most, b' ');
    assert_eq!(post(&[json], &long), 200, "the longest that is taken");
    let chunk = [format!("{:x}\r\n", most + 1).into_bytes(), vec![b' '; most + 1], b"\r\n0\r\n\r\n".to_vec()];
    let chunked = ("Transfer-Encoding", "chunked");
    assert_eq!(post(&[json, chunked], &chunk.concat()), 413);
    let small = format!("{:x}\r\n{}\r\n", 1 << 16, " ".repeat(1 << 16));
    assert_eq!(post(&[json, chunked], small.repeat(257).as_bytes()), 413, "whatever would still come");
    assert_eq!(post(&[json, chunked], b"5\r\n12345\r\nnone\r\n"), 400, "it is broken, and not too large");

    for (start, status) in [
        ("GET /rpc", 405),
        ("DELETE /rpc", 405),
        ("POST /events", 405),
        ("POST /", 405),
        ("GET /nowhere", 404),
        ("GET /page/../../../etc/passwd", 404),
        ("GET /%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET /events?sessionId=../../etc/passwd", 400),
        ("GET /events?sessionId=..%2f..%2fetc%2fpasswd", 400),
        ("GET /events?sessionId=", 400),
        ("GET /events?sessionId=00000000-0000-4000-8000-000000000000", 404),
        (&format!("GET /events?sessionId={TEA}&workspacePath=relative"), 400),
        (&format!("GET /events?sessionId={TEA}&offset=x"), 400),
        (&format!("GET /events?sessionId={TEA}&offset=-1"), 400),
        (&format!("GET /events?sessionId={TEA}&sessionId={TEA}"), 400),
    ] {
        assert_eq!(served.ask(start, &[("Authorization", &bearer)], b"").status, status, "{start}");
    }
    let last = [("Authorization", &bearer[..]), ("Last-Event-ID", "x")];
    assert_eq!(served.ask(&format!("GET /events?sessionId={TEA}"), &last, b"").status, 400);
    let mut garbage = served.connect();
    garbage.write_all(b"\x16\x03\x01 no HTTP\r\n\r\n").unwrap();
    assert_eq!(Reply::read(garbage).status, 400);
    assert_eq!(served.rpc(STATUS)["result"]["name"], "annals", "still serving");
}

#[test]
fn a_request_whose_rest_never_comes_is_given_up() {
    let served = with_limits(|limits| limits.body = Duration::from_millis(10));
    let bearer = served.bearer();
    let headers =
        [("Authorization", &bearer[..]), ("Content-Type", "application/json"), ("Content-Length", "100")];
    assert_eq!(served.ask("POST /rpc", &headers, STATUS).status, 408);
}

#[test]
fn a_read_only_server_changes_nothing() {
    let world = World::with(Options { read_only: true, ..Options::default() });
    let served = Served::with(world, HttpOptions::default());
    let before = fs::read(served.world.session(TEA)).unwrap();
    for method in ["history/rename", "history/delete", "history/tag", "history/fork", "history/restore"] {
        let params = json!({"sessionId": TEA, "title": "x"});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        assert_eq!(served.rpc(request.as_bytes())["error"]["code"], -32012, "{method}");
    }
    assert_eq!(fs::read(served.world.session(TEA)).unwrap(), before);
}

#[test]
fn what_is_written_is_told_in_order_and_once_across_reconnections() {
    let served = Served::new();
    let path = served.world.session(TEA);
    let query = format!("?sessionId={TEA}");
    let mut stream = served.events(&query, None);
    let start = stream.expect("ready").id.unwrap();
    assert_eq!(start, fs::metadata(&path).unwrap().len());
    let expected: Vec<_> = (0..60).map(|number| format!("n{number}")).collect();
    let bytes: Vec<u8> = expected.iter().flat_map(|uuid| line(uuid).into_bytes()).collect();
    let (mut told, mut last) = (Vec::new(), start);
    for piece in bytes.chunks(bytes.len() / 11) {
        append(&path, piece);
        let written = fs::read(&path).unwrap();
        let whole = written.iter().rposition(|byte| *byte == b'\n').unwrap() as u64 + 1;
        while last < whole {
            let event = stream.expect("appended");
            assert_eq!(
                (event.data["offset"].as_u64(), event.id),
                (Some(last), event.data["nextOffset"].as_u64())
            );
            told.extend(event.uuids());
            last = event.id.unwrap();
        }
        // The connection breaks off again and again, and something is written meanwhile.
        stream.close();
        append(&path, b"");
        stream = served.events(&format!("{query}&offset={start}"), Some(last));
        assert_eq!(stream.expect("ready").id, Some(last));
    }
    assert_eq!(told, expected);
    // What came while nobody listened is told at once; a client without that header says it in the address.
    stream.close();
    append(&path, (line("late") + &line("later")).as_bytes());
    let mut stream = served.events(&format!("{query}&offset={last}"), None);
    assert_eq!(stream.expect("ready").id, Some(last));
    assert_eq!(stream.expect("appended").uuids(), ["late", "later"]);
}

#[test]
fn a_session_that_is_cut_off_replaced_or_gone_is_told_from_its_start() {
    let served = Served::new();
    let path = served.world.session(TEA);
    let query = format!("?sessionId=claude:{TEA}");
    let mut stream = served.events(&query, None);
    let last = stream.expect("ready").id;
    fs::write(&path, line("o1")).unwrap();
    let reset = stream.expect("reset");
    assert_eq!((reset.id, &reset.data["reset"]), (Some(0), &json!(true)));
    assert_eq!(stream.expect("appended").uuids(), ["o1"]);
    let mut late = served.events(&query, last);
    late.expect("ready");
    assert_eq!(late.expect("reset").id, Some(0), "the number belongs to a file that is not there any more");
    assert_eq!(late.expect("appended").uuids(), ["o1"]);
    fs::remove_file(&path).unwrap();
    for stream in [&mut stream, &mut late] {
        assert_eq!(stream.expect("reset").data["gone"], true);
    }
}

#[test]
fn changes_of_sessions_are_told() {
    let served = Served::new();
    let mut stream = served.events("", None);
    assert_eq!(stream.expect("ready").id, None);
    append(&served.world.session(KETTLE), line("n1").as_bytes());
    let event = stream.expect("changed");
    assert_eq!((event.id, &event.data["updated"][0]["id"]), (None, &json!(KETTLE)));
    fs::remove_file(served.world.session(KETTLE)).unwrap();
    let event = stream.expect("changed");
    assert_eq!(event.data["removed"], json!([KETTLE]));
}

#[test]
fn a_stream_shows_that_it_is_alive() {
    let served = with_limits(|limits| limits.heartbeat = Duration::from_millis(10));
    let mut stream = served.events(&format!("?sessionId={TEA}"), None);
    assert!(stream.block().unwrap().contains("event: ready"));
    for _ in 0..3 {
        assert_eq!(stream.block().unwrap(), ":\n\n");
    }
    append(&served.world.session(TEA), line("n1").as_bytes());
    assert_eq!(stream.expect("appended").uuids(), ["n1"], "signs of life take nothing away");
}

#[test]
fn two_hundred_streams_are_told_and_too_many_are_refused() {
    let served = with_limits(|limits| limits.streams = 200);
    let query = format!("?sessionId={TEA}");
    let mut streams: Vec<_> = (0..200).map(|_| served.events(&query, None)).collect();
    for stream in &mut streams {
        stream.expect("ready");
    }
    let refused = served.get(&format!("/events{query}"));
    assert_eq!(refused.status, 503);
    let refused: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(refused["error"]["code"], -32019);
    assert_eq!(served.rpc(STATUS)["result"]["subscriptions"], 200);
    let expected: Vec<_> = (0..10).map(|number| format!("n{number}")).collect();
    for uuid in &expected {
        append(&served.world.session(TEA), line(uuid).as_bytes());
    }
    for stream in &mut streams {
        let mut told = Vec::new();
        while told.len() < expected.len() {
            told.extend(stream.expect("appended").uuids());
        }
        assert_eq!(told, expected);
    }
    // A place is free again when a stream has ended.
    drop(streams);
    while served.get("/events?sessionId=..").status == 503 {}
    served.events(&query, None).expect("ready");
}

#[test]
fn sockets_that_say_nothing_hold_nobody_up_and_are_closed() {
    let served = with_limits(|limits| {
        limits.connections = 100;
        limits.head = Duration::from_secs(1);
    });
    // More than there are places: the last ones are served when the first ones have been given up.
    let mut silent: Vec<_> = (0..150).map(|_| served.connect()).collect();
    for (number, stream) in silent.iter_mut().enumerate() {
        let _ = stream.write_all(&b"GET / HTTP/1.1\r\nHost: x\r\n"[..number % 20]);
    }
    assert_eq!(served.rpc(STATUS)["result"]["name"], "annals");
    // One that has asked once and then no more.
    let bearer = served.bearer();
    let idle = served.send("GET /healthz", &[("Authorization", &bearer)], b"");
    assert_eq!(Reply::read(idle.try_clone().unwrap()).status, 200);
    silent.push(idle);
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut rest = Vec::new();
        // It is closed, whether or not something is said before.
        let closed = stream.read_to_end(&mut rest).map_err(|error| error.kind());
        assert_ne!(closed, Err(std::io::ErrorKind::WouldBlock), "it is still open");
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&rest));
    }
}

#[test]
fn who_sends_a_byte_now_and_then_keeps_nobody_out() {
    let served = with_limits(|limits| {
        limits.connections = 100;
        limits.head = Duration::from_secs(3600);
    });
    let query = format!("?sessionId={TEA}");
    let mut stream = served.events(&query, None);
    stream.expect("ready");
    let mut slow: Vec<_> = (0..150).map(|_| served.connect()).collect();
    for byte in b"GET /rpc HTTP/1.1\r\nX: " {
        for stream in &mut slow {
            // Those that made room are closed.
            let _ = stream.write_all(&[*byte]);
        }
        assert_eq!(served.rpc(STATUS)["result"]["name"], "annals");
    }
    append(&served.world.session(TEA), line("n1").as_bytes());
    assert_eq!(stream.expect("appended").uuids(), ["n1"], "who listens is not sent away");
    slow[0].set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let closed = slow[0].read(&mut [0]).map_err(|error| error.kind());
    assert_ne!(closed, Err(std::io::ErrorKind::WouldBlock), "the longest was sent away");
}

#[test]
fn who_was_answered_makes_room_for_others() {
    let served = with_limits(|limits| {
        limits.connections = 1;
        limits.head = Duration::from_secs(3600);
    });
    let bearer = served.bearer();
    for path in ["/", "/nowhere", "/favicon.ico"] {
        let idle = served.send(&format!("GET {path}"), &[("Authorization", &bearer)], b"");
        Reply::read(idle.try_clone().unwrap());
        assert_eq!(served.rpc(STATUS)["result"]["name"], "annals");
        drop(idle);
    }
}

#[test]
fn who_reads_nothing_is_given_up_and_holds_nobody_up() {
    let served = with_limits(|limits| limits.stall = Duration::from_millis(300));
    // More than the system keeps for a connection.
    let lines: String = (0..4000).map(|number| line(&format!("n{number}-{}", "x".repeat(5000)))).collect();
    append(&served.world.session(TEA), lines.as_bytes());
    let stuck: Vec<_> = (0..3).map(|_| served.events(&format!("?sessionId={TEA}&offset=0"), None)).collect();
    let mut other = served.events(&format!("?sessionId={KETTLE}"), None);
    other.expect("ready");
    append(&served.world.session(KETTLE), line("k2").as_bytes());
    assert_eq!(other.expect("appended").uuids(), ["k2"]);
    // Their subscriptions end, although they never close.
    while served.rpc(STATUS)["result"]["subscriptions"] != 1 {}
    drop(stuck);
}

#[test]
fn who_reads_nothing_of_what_is_large_makes_room_for_who_waits() {
    let served = with_limits(|limits| limits.budget_wait = Duration::from_millis(200));
    append(&served.world.session(TEA), line(&"x".repeat(7 << 20)).as_bytes());
    let address = format!("?sessionId={TEA}&offset=0");
    // There is room for nine.
    let stuck: Vec<_> = (0..10).map(|_| served.events(&address, None)).collect();
    let mut other = served.events(&address, None);
    other.expect("ready");
    while other.expect("appended").uuids().iter().all(|uuid| uuid.len() < 7 << 20) {}
    drop(stuck);
}

#[test]
fn answers_that_nobody_reads_do_not_keep_others_from_theirs() {
    let served = with_limits(|limits| {
        (limits.stall, limits.budget_wait) = (Duration::from_secs(3600), Duration::from_millis(10));
    });
    let long = lines_at(91, "k1").user("long", "x".repeat(4 << 20));
    append(&served.world.session(KETTLE), long.to_string().as_bytes());
    let bearer = served.bearer();
    let headers = [("Authorization", &bearer[..]), ("Content-Type", "application/json")];
    let params = json!({"sessionId": KETTLE});
    let load = json!({"jsonrpc": "2.0", "id": 1, "method": "history/read", "params": params}).to_string();
    let ask = || served.send("POST /rpc", &headers, load.as_bytes());
    let mut unread: Vec<_> = (0..20).map(|_| ask()).collect();
    for _ in 0..10 {
        assert_eq!(served.rpc(STATUS)["result"]["name"], "annals");
    }
    // Answers that fit into the budget stay unread, so that one of the next finds it full.
    let is_refused = (0..40).any(|_| {
        let mut stream = ask();
        let mut status = [0; "HTTP/1.1 503".len()];
        stream.read_exact(&mut status).unwrap();
        unread.push(stream);
        status == *b"HTTP/1.1 503"
    });
    assert!(is_refused);
}

#[test]
fn requests_that_come_all_at_once_are_all_answered() {
    let served = Served::new();
    let request = format!(
        "POST /rpc HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        served.address,
        served.bearer(),
        STATUS.len(),
        std::str::from_utf8(STATUS).unwrap()
    );
    let each = 200;
    let ask = |mut stream: std::net::TcpStream| {
        let mut sending = stream.try_clone().unwrap();
        let requests = request.repeat(each);
        std::thread::spawn(move || sending.write_all(requests.as_bytes()).unwrap());
        let (mut answers, mut bytes) = (0, vec![0; 1 << 16]);
        let mut rest: Vec<u8> = Vec::new();
        while answers < each {
            let count = stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it broke off after {answers}");
            rest.extend(&bytes[..count]);
            let mark = b"\"result\":{\"name\":\"annals\"";
            while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
                answers += 1;
                rest.drain(..at + mark.len());
            }
        }
    };
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..50).map(|_| scope.spawn(|| ask(served.connect()))).collect();
        for asked in asking {
            asked.join().unwrap();
        }
    });
}

#[test]
fn a_client_that_goes_away_takes_its_request_back() {
    let served = Served::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let before = fs::read(served.world.session(TEA)).unwrap();
    // All places where work is done are taken, so that requests wait.
    let taken = runtime.block_on(served.world.server.pause());
    let bearer = served.bearer();
    let headers = [("Authorization", &bearer[..]), ("Content-Type", "application/json")];
    let rename = json!({"jsonrpc": "2.0", "id": 1, "method": "history/rename", "params": {"sessionId": TEA, "title": "x"}});
    let mut gone = served.send("POST /rpc", &headers, rename.to_string().as_bytes());
    gone.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(gone.read(&mut [0]).unwrap(), 0, "the server has closed it too");
    drop(taken);
    assert_eq!(served.rpc(STATUS)["result"]["name"], "annals");
    assert_eq!(fs::read(served.world.session(TEA)).unwrap(), before, "nothing was renamed");
}

#[test]
fn what_is_being_answered_is_finished_before_the_end_and_streams_end() {
    let mut served = Served::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut stream = served.events("", None);
    stream.expect("ready");
    let idle = served.connect();
    let taken = runtime.block_on(served.world.server.pause());
    let (bearer, length) = (served.bearer(), STATUS.len().to_string());
    let mut headers = vec![("Authorization", &bearer[..]), ("Content-Type", "application/json")];
    headers.extend([("Content-Length", &length[..]), ("Expect", "100-continue")]);
    let mut asked = served.send("POST /rpc", &headers, b"");
    let mut said = [0; 25];
    asked.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n", "it is being answered now");
    asked.write_all(STATUS).unwrap();
    served.stop();
    assert_eq!(stream.next(), None, "the stream ends as it should");
    drop(taken);
    assert_eq!(Reply::read(asked.try_clone().unwrap()).status, 200);
    assert_eq!(asked.read(&mut [0]).unwrap(), 0, "nothing more is answered");
    assert_eq!(served.ended(), StopReason::Terminated);
    drop(idle);
}

#[test]
fn what_is_not_finished_in_time_does_not_keep_it_from_ending() {
    let mut served = Served::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _taken = runtime.block_on(served.world.server.pause());
    let bearer = served.bearer();
    let headers = [("Authorization", &bearer[..]), ("Content-Type", "application/json")];
    let _asked = served.send("POST /rpc", &headers, STATUS);
    served.stop();
    served.stop();
    assert_eq!(served.ended(), StopReason::Terminated);
}

#[test]
fn beyond_this_machine_a_token_must_be_chosen() {
    let world = World::new();
    let bind = |bind: &str, token: Option<&str>| {
        let options =
            HttpOptions { bind: bind.to_owned(), token: token.map(str::to_owned), ..HttpOptions::default() };
        Http::bind(world.server.clone(), options)
    };
    assert!(matches!(bind("0.0.0.0", None), Err(HttpError::NoToken)));
    assert!(matches!(bind("0.0.0.0", Some("short")), Err(HttpError::BadToken)));
    assert!(matches!(bind("127.0.0.1", Some("with blanks and so on")), Err(HttpError::BadToken)));
    for no_address in ["no.such.host.invalid", "127.0.0.1:80", "http://127.0.0.1", "not one", "\0"] {
        assert!(matches!(bind(no_address, None), Err(HttpError::NoAddress)), "{no_address}");
    }
    let taken = bind("127.0.0.1", None).unwrap();
    let again = HttpOptions { port: taken.address().port(), ..HttpOptions::default() };
    let again = Http::bind(world.server.clone(), again);
    assert!(matches!(again, Err(HttpError::Io(error)) if error.kind() == std::io::ErrorKind::AddrInUse));
    let open = bind("0.0.0.0", Some("0123456789abcdef")).unwrap();
    assert!(open.is_exposed());
    assert_eq!(open.link(), format!("http://127.0.0.1:{}/?token=0123456789abcdef", open.address().port()));
    assert!(!bind("127.0.0.1", None).unwrap().is_exposed());
}

#[test]
fn links_lead_to_where_it_listens() {
    // Where there is no IPv6, there is nothing to listen on.
    let has_ipv6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    let names = ["127.0.0.1", "localhost", "LOCALHOST", "::1", "[::1]"];
    for bind in names.into_iter().filter(|name| has_ipv6 || !name.contains("::")) {
        let served =
            Served::with(World::new(), HttpOptions { bind: bind.to_owned(), ..HttpOptions::default() });
        assert!(served.address.ip().is_loopback(), "{bind}");
        assert_eq!(served.link, format!("http://{}/?token={}", served.address, served.token), "{bind}");
        let (port, bearer) = (served.address.port(), served.bearer());
        for host in [served.address.to_string(), format!("localhost:{port}")] {
            let headers = [("Authorization", &bearer[..]), ("Host", &host)];
            assert_eq!(served.ask("GET /", &headers, b"").status, 200, "{bind} {host}");
        }
    }
}

#[test]
fn beyond_this_machine_its_addresses_are_its_names() {
    let token = Some("0123456789abcdef".to_owned());
    let options = HttpOptions { bind: "0.0.0.0".to_owned(), token, ..HttpOptions::default() };
    let mut served = Served::with(World::new(), options);
    let port = served.address.port();
    served.address = format!("127.0.0.1:{port}").parse().unwrap();
    let status =
        |host: &str| served.ask("GET /", &[("Authorization", &served.bearer()), ("Host", host)], b"").status;
    assert_eq!(status(&format!("127.0.0.1:{port}")), 200);
    for host in [format!("0.0.0.0:{port}"), format!("10.0.0.1:{port}"), format!("evil.example:{port}")] {
        assert_eq!(status(&host), 403, "{host}");
    }
}
