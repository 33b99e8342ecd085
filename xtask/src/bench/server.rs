//! The server over HTTP, in a process of its own: its overhead over the same calls in process, the delay from an append to its
//! event, and the cost of two hundred listeners.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use annals_api::CancelToken;
use annals_api::rpc::Params;
use annals_engine::{Engine, Home, Roots};
use annals_server::{Http, HttpOptions, Options, Server};
use notify::Watcher;
use serde_json::{Value, json};
use testkit::generate;

use super::lists;
use crate::Outcome;
use crate::listener::Listener;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SESSIONS: u64 = 10_000;
const LARGE: u64 = 100_000_000;
const LARGE_ID: &str = "ffffffff-0000-4000-8000-000000000001";
const SMALL_ID: &str = "ffffffff-0000-4000-8000-000000000002";
/// How often each call is made, and how often something is written.
const CALLS: usize = 40;
const WRITES: usize = 100;
const STREAMS: usize = 200;

pub(super) fn run(scratch: &Path) -> Outcome {
    let root = lists::generated(&scratch.join("lists"))?;
    let session = |id: &str| root.join(format!("projects/-home-dev-large/{id}.jsonl"));
    fs::create_dir_all(session(LARGE_ID).with_file_name(""))?;
    let mut out = BufWriter::new(File::create(session(LARGE_ID))?);
    generate::session(&mut out, 3, LARGE)?;
    out.flush()?;
    generate::session(&mut File::create(session(SMALL_ID))?, 4, 10_000)?;
    println!("\nserver: {SESSIONS} sessions, and one of {} MB", LARGE / 1_000_000);
    let served = Served::start(&root)?;
    calls(&served, &root, scratch)?;
    telling(&served, &session(SMALL_ID))
}

/// Serves a folder until it is killed: the other process.
pub(super) fn serve(root: &Path) -> Outcome {
    let http = Http::bind(server(root, &root.with_extension("home"))?, HttpOptions::default())?;
    println!("{} {}", http.address(), http.token());
    http.serve()?;
    Ok(())
}

fn server(root: &Path, home: &Path) -> Result<Arc<Server>> {
    let engine = Engine::open(Roots::given(vec![root.to_owned()])?, Home::at(home));
    Ok(Server::new(engine, Options::default()))
}

/// Makes the same calls in process and over HTTP, in turn.
fn calls(served: &Served, root: &Path, scratch: &Path) -> Outcome {
    let here = server(root, &scratch.join("here"))?;
    let mut client = Client::connect(served)?;
    println!(
        "\n{:<34} {:>9} {:>9} {:>9} {:>9} {:>8} {:>9}",
        "ms", "p50 here", "p95 here", "p50 HTTP", "p95 HTTP", "× p50", "KB"
    );
    for (name, method, params) in [
        ("history/status", "history/status", json!({})),
        ("history/list, 20", "history/list", json!({"limit": 20})),
        ("history/list, 1000", "history/list", json!({})),
        ("history/load, 100 of 100 MB", "history/load", json!({"sessionId": LARGE_ID, "limit": 100})),
        ("history/load, a page of 100 MB", "history/load", json!({"sessionId": LARGE_ID})),
    ] {
        let in_process = || ask_here(&here, method, &params);
        // The first time, files are read that are remembered from then on.
        in_process()?;
        client.call(method, &params)?;
        let (mut ours, mut theirs, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..CALLS {
            let begun = Instant::now();
            in_process()?;
            ours.push(begun.elapsed());
            let begun = Instant::now();
            bytes = client.call(method, &params)?.len();
            theirs.push(begun.elapsed());
        }
        let [a, b, c, d] = [p(&mut ours, 50), p(&mut ours, 95), p(&mut theirs, 50), p(&mut theirs, 95)];
        println!("{name:<34} {a:>9.2} {b:>9.2} {c:>9.2} {d:>9.2} {:>8.2} {:>9}", c / a, bytes / 1000);
    }
    let params = |cursor: &Value| json!({"sessionId": LARGE_ID, "cursor": cursor});
    let whole = |ask: &mut dyn FnMut(&Value) -> Result<String>| -> Result<(usize, f64)> {
        let (begun, mut pages, mut cursor) = (Instant::now(), 0, Value::Null);
        loop {
            let page: Value = serde_json::from_str(&ask(&params(&cursor))?)?;
            let page = page.get("result").unwrap_or(&page);
            pages += 1;
            match page.get("nextCursor") {
                Some(next) => cursor = next.clone(),
                None => return Ok((pages, begun.elapsed().as_secs_f64() * 1e3)),
            }
        }
    };
    let (pages, ours) = whole(&mut |params| ask_here(&here, "history/load", params))?;
    let (_, theirs) = whole(&mut |params| client.call("history/load", params))?;
    println!(
        "all {pages} pages of 100 MB: {ours:.0} ms here, {theirs:.0} ms over HTTP, {:.2} ×; the server takes {:.0} MB then",
        theirs / ours,
        served.memory()?
    );
    Ok(())
}

fn ask_here(server: &Server, method: &str, params: &Value) -> Result<String> {
    let answer = server.dispatch(method, &Params::of(params)?, &CancelToken::default());
    Ok(answer.map_err(|error| error.message)?.get().to_owned())
}

/// Appends to a session and measures the delay of a bare notification of the system, of the event for one listener, and of
/// those for two hundred.
fn telling(served: &Served, path: &Path) -> Outcome {
    println!("\n{:<46} {:>9} {:>9} {:>8}", "from the write to the notice, ms", "p50", "p95", "× p50");
    let mut raw = Vec::new();
    let (sender, notices) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| event.kind.is_modify()) {
            let _ = sender.send(Instant::now());
        }
    })?;
    watcher.watch(path.parent().ok_or("no folder")?, notify::RecursiveMode::NonRecursive)?;
    for number in 0..WRITES {
        while notices.try_recv().is_ok() {}
        let begun = append(path, number)?;
        raw.push(notices.recv_timeout(Duration::from_secs(10))?.saturating_duration_since(begun));
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(watcher);
    let first = p(&mut raw, 50);
    print_telling("the system's notice alone", &mut raw, first);

    let before = served.memory()?;
    let mut streams = vec![listen(served)?];
    print_telling("one listener", &mut tell(&mut streams, path)?, first);
    let with_one = served.memory()?;
    while streams.len() < STREAMS {
        streams.push(listen(served)?);
    }
    let idle = served.memory()?;
    print_telling("the last of 200 listeners", &mut tell(&mut streams, path)?, first);
    let busy = served.memory()?;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let each = |more: f64| more * 1000.0 / (STREAMS - 1) as f64;
    println!(
        "memory: {before:.1} MB before, {with_one:.1} with one, {idle:.1} with 200 ({:.1} KB each), {busy:.1} after {WRITES} writes \
         ({:.1} KB each)",
        each(idle - with_one),
        each(busy - with_one)
    );
    Ok(())
}

fn listen(served: &Served) -> Result<Listener> {
    Listener::open(&served.address, &served.token, SMALL_ID, None)
}

fn print_telling(name: &str, times: &mut [Duration], first: f64) {
    let (p50, p95) = (p(times, 50), p(times, 95));
    println!("{name:<46} {p50:>9.2} {p95:>9.2} {:>8.1}", p50 / first);
}

/// Returns for each append the time until all listeners have its event.
fn tell(streams: &mut [Listener], path: &Path) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for number in 0..WRITES {
        let begun = append(path, number)?;
        for stream in &mut *streams {
            stream.next()?;
        }
        times.push(begun.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(times)
}

fn append(path: &Path, number: usize) -> Result<Instant> {
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"n{number}\",\"message\":{{\"role\":\"user\",\"content\":\"你好 {number}\"}}}}\n"
    );
    let mut file = File::options().append(true).open(path)?;
    let begun = Instant::now();
    file.write_all(line.as_bytes())?;
    Ok(begun)
}

/// Returns a percentile in milliseconds.
fn p(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3
}

/// The other process.
struct Served {
    child: Child,
    address: String,
    token: String,
}

impl Served {
    fn start(root: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.args(["bench", "--serve"]).arg(root).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let (address, token) = line.trim().split_once(' ').ok_or("the server did not start")?;
        Ok(Self { address: address.to_owned(), token: token.to_owned(), child })
    }

    /// Returns its resident memory in megabytes.
    fn memory(&self) -> Result<f64> {
        let status = fs::read_to_string(PathBuf::from(format!("/proc/{}/status", self.child.id())))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("no number in VmRSS")?.parse()?;
        Ok(kilobytes * 1024.0 / 1e6)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that stays open for one call after the other.
struct Client<'a>(&'a Served, BufReader<TcpStream>);

impl<'a> Client<'a> {
    fn connect(served: &'a Served) -> Result<Self> {
        let stream = TcpStream::connect(&served.address)?;
        stream.set_nodelay(true)?;
        Ok(Self(served, BufReader::with_capacity(1 << 16, stream)))
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<String> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let request = format!(
            "POST /rpc HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.0.address,
            self.0.token,
            body.len()
        );
        self.1.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.1.read_line(&mut line)?;
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.1.read_exact(&mut answer)?;
        let answer = String::from_utf8(answer)?;
        if answer.contains("\"error\":{\"code\"") { Err(answer.into()) } else { Ok(answer) }
    }
}
