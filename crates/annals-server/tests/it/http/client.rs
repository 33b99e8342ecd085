//! A server on a port of its own, and a client that knows only as much of HTTP as it needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use annals_server::{Http, HttpOptions, StopReason};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::world::World;

/// A server that runs until it is dropped.
pub(crate) struct Served {
    pub(crate) world: World,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) link: String,
    pub(crate) ticket: String,
    stop: UnboundedSender<()>,
    thread: Option<JoinHandle<StopReason>>,
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::with(World::new(), HttpOptions::default())
    }

    pub(crate) fn with(world: World, options: HttpOptions) -> Self {
        let http = Http::bind(world.server.clone(), options).unwrap();
        let (address, token, link) = (http.address(), http.token().to_owned(), http.link());
        let ticket = http.ticket().unwrap();
        let (stop, mut stops) = unbounded_channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = runtime.unwrap();
            let told = async move || match stops.recv().await {
                Some(()) => StopReason::Terminated,
                None => std::future::pending().await,
            };
            let ended = runtime.block_on(http.run(told)).unwrap();
            runtime.shutdown_background();
            ended
        });
        Self { world, address, token, link, ticket, stop, thread: Some(thread) }
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&self) {
        let _ = self.stop.send(());
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> StopReason {
        self.thread.take().unwrap().join().unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends the head of a request with a line for each header, and a body.
    pub(crate) fn send(&self, start: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        let mut head = vec![format!("{start} HTTP/1.1")];
        head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if headers.iter().all(|(name, _)| *name != "Host") {
            head.push(format!("Host: {}", self.address));
        }
        if headers.iter().all(|(name, _)| *name != "Content-Length" && *name != "Transfer-Encoding") {
            head.push(format!("Content-Length: {}", body.len()));
        }
        stream.write_all((head.join("\r\n") + "\r\n\r\n").as_bytes()).unwrap();
        // Who refuses a request need not read its body.
        let _ = stream.write_all(body);
        stream
    }

    /// Asks and returns the whole answer.
    pub(crate) fn ask(&self, start: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        Reply::read(self.send(start, headers, body))
    }

    /// Asks with the token.
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask(&format!("GET {path}"), &[("Authorization", &self.bearer())], b"")
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// Sends a request with the token and returns what is in its answer.
    pub(crate) fn rpc(&self, body: &[u8]) -> Value {
        let bearer = self.bearer();
        let headers = [("Authorization", &bearer[..]), ("Content-Type", "application/json")];
        let reply = self.ask("POST /rpc", &headers, body);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
        serde_json::from_str(&reply.body).unwrap()
    }

    /// Opens a stream of events.
    pub(crate) fn events(&self, query: &str, last: Option<u64>) -> Stream {
        let (bearer, last) = (self.bearer(), last.map(|last| last.to_string()));
        let mut headers = vec![("Authorization", &bearer[..])];
        headers.extend(last.as_deref().map(|last| ("Last-Event-ID", last)));
        Stream::open(self.send(&format!("GET /events{query}"), &headers, b""))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// Reads one answer.
    pub(crate) fn read(stream: TcpStream) -> Self {
        let mut source = BufReader::new(stream);
        let (status, headers) = head(&mut source);
        let mut reply = Self { status, headers, body: String::new() };
        let body = if reply.header("transfer-encoding") == Some("chunked") {
            chunks(&mut source)
        } else {
            let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
            let mut body = vec![0; length];
            source.read_exact(&mut body).unwrap();
            body
        };
        reply.body = String::from_utf8(body).unwrap();
        reply
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| &value[..])
    }
}

/// Reads a body of chunks up to its end.
fn chunks(source: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        source.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim_end(), 16).expect("the body arrives as a whole");
        let mut chunk = vec![0; size + 2];
        source.read_exact(&mut chunk).unwrap();
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return body;
        }
    }
}

fn head(source: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut lines = std::iter::from_fn(|| {
        let mut line = String::new();
        source.read_line(&mut line).unwrap();
        Some(line.trim_end().to_owned()).filter(|line| !line.is_empty())
    });
    let start = lines.next().expect("the server answers");
    let status = start.split(' ').nth(1).unwrap().parse().unwrap();
    let header =
        |line: String| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
    (status, lines.filter_map(header).collect())
}

/// A stream of events.
pub(crate) struct Stream {
    source: BufReader<TcpStream>,
    /// What has arrived and was not read yet.
    text: Vec<u8>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Event {
    /// Returns the uuids of the entries that it tells.
    pub(crate) fn uuids(&self) -> Vec<String> {
        let items = self.data["items"].as_array().unwrap().iter();
        items.map(|item| item["uuid"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Stream {
    fn open(stream: TcpStream) -> Self {
        let mut source = BufReader::new(stream);
        let (status, headers) = head(&mut source);
        assert_eq!(status, 200);
        assert!(
            headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())),
            "{headers:?}"
        );
        Self { source, text: Vec::new() }
    }

    /// Returns the next block of lines, up to a blank one; none at the end.
    pub(crate) fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                return Some(String::from_utf8(block).unwrap());
            }
            // One chunk: its length, what is in it, an empty line.
            let mut length = String::new();
            if self.source.read_line(&mut length).ok()? == 0 {
                return None;
            }
            let length = usize::from_str_radix(length.trim(), 16).unwrap();
            let mut chunk = vec![0; length + 2];
            self.source.read_exact(&mut chunk).unwrap();
            self.text.extend(&chunk[..length]);
            if length == 0 {
                return None;
            }
        }
    }

    /// Returns the next event; signs of life are passed over.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            let block = self.block()?;
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            if let Some(data) = field("data: ") {
                let name = field("event: ").unwrap().to_owned();
                let id = field("id: ").map(|id| id.parse().unwrap());
                return Some(Event { name, id, data: serde_json::from_str(data).unwrap() });
            }
        }
    }

    /// Returns the next event, which must be of a kind.
    pub(crate) fn expect(&mut self, name: &str) -> Event {
        let event = self.next().expect("the stream goes on");
        assert_eq!(event.name, name, "{event:?}");
        event
    }

    pub(crate) fn close(self) {
        self.source.get_ref().shutdown(Shutdown::Both).unwrap();
    }
}
