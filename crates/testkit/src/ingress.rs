//! A server that stores logs, one entry per request, and misbehaves on purpose. It listens on loopback.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use annals_transcript::json::Value;

/// What a server has stored.
#[derive(Debug, Default)]
pub struct Log {
    entries: Vec<Vec<u8>>,
    ids: Vec<String>,
    keys: HashSet<String>,
}

/// The answer of a server that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The entry is stored.
    Stored,
    /// The entry does not follow the last one, whose uuid this is.
    Conflict(Option<String>),
}

impl Log {
    /// Stores an entry after the one with the uuid `after`. An entry without a uuid whose key is known is not stored again.
    ///
    /// # Panics
    ///
    /// Panics if an entry with a uuid follows the last one and is there already: that would be a duplicate.
    pub fn put(&mut self, after: Option<&str>, key: Option<&str>, body: &[u8]) -> Answer {
        if key.is_some_and(|key| self.keys.contains(key)) {
            return Answer::Stored;
        }
        if after != self.head() {
            return Answer::Conflict(self.head().map(str::to_owned));
        }
        let id = Value::new(body).filter(|_| key.is_none()).and_then(|body| body.text("uuid"));
        assert!(id.is_some() || key.is_some(), "an entry without a uuid needs a key");
        if let Some(id) = id {
            assert!(!self.ids.iter().any(|known| *known == *id), "an entry is stored twice");
            self.ids.push(id.into_owned());
        }
        self.keys.extend(key.map(str::to_owned));
        self.entries.push(body.to_vec());
        Answer::Stored
    }

    /// Returns the uuid of the last entry that has one.
    pub fn head(&self) -> Option<&str> {
        self.ids.last().map(String::as_str)
    }

    /// Returns a uuid that was the last one before.
    pub fn older_head(&self) -> Option<&str> {
        self.ids.get(self.ids.len().checked_sub(2)?).map(String::as_str)
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[Vec<u8>] {
        &self.entries
    }

    /// Forgets the last entries, as a server does that lost its newest data.
    pub fn forget(&mut self, count: usize) {
        let kept = self.entries.len().saturating_sub(count);
        for entry in self.entries.drain(kept..) {
            if Value::new(&entry).and_then(|entry| entry.text("uuid")).is_some() {
                self.ids.pop();
            }
        }
    }
}

/// A way to misbehave, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection is closed before the entry is stored.
    DropBefore,
    /// The connection is closed after the entry is stored.
    DropAfter,
    /// A status is answered, and the entry is not stored.
    StatusBefore(u16),
    /// A status is answered although the entry is stored.
    StatusAfter(u16),
    /// 409 with a uuid that was the last one before.
    OlderHead,
    /// 409 with a uuid that no transcript has.
    UnknownHead,
    /// 409 that does not say which entry is the last one.
    NoHead,
    /// 409 with the right head, although the entry follows it.
    NeedlessConflict,
    /// The answer breaks off within its first line, after the entry is stored.
    HalfAnswer,
    /// The body of the answer breaks off, after the entry is stored.
    TruncatedBody,
    /// The answer is no HTTP.
    Garbage,
    /// The answer is late.
    Slow,
    /// All connections are closed, and the server does not listen for a moment. The entry is not stored.
    RestartBefore,
    /// The same after the entry is stored.
    RestartAfter,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 18] = [
        Fault::DropBefore,
        Fault::DropAfter,
        Fault::StatusBefore(500),
        Fault::StatusBefore(503),
        Fault::StatusBefore(429),
        Fault::StatusBefore(408),
        Fault::StatusBefore(401),
        Fault::StatusAfter(500),
        Fault::OlderHead,
        Fault::UnknownHead,
        Fault::NoHead,
        Fault::NeedlessConflict,
        Fault::HalfAnswer,
        Fault::TruncatedBody,
        Fault::Garbage,
        Fault::Slow,
        Fault::RestartBefore,
        Fault::RestartAfter,
    ];

    /// Returns whether the entry is stored before the fault happens.
    pub fn stores(self) -> bool {
        matches!(
            self,
            Fault::DropAfter
                | Fault::StatusAfter(_)
                | Fault::HalfAnswer
                | Fault::TruncatedBody
                | Fault::RestartAfter
        )
    }
}

/// Chooses the fault of each request.
pub type Plan = Box<dyn FnMut() -> Option<Fault> + Send>;

/// A running server. It ends with the process: its threads only wait for connections.
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    address: SocketAddr,
    log: Mutex<Log>,
    plan: Mutex<Plan>,
    token: Option<String>,
    connections: Mutex<Vec<TcpStream>>,
    restart: AtomicBool,
    requests: AtomicUsize,
    faults: AtomicUsize,
}

impl Server {
    /// Starts a server that requires a token, if there is one, and misbehaves as planned.
    pub fn start(token: Option<&str>, plan: Plan) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let shared = Arc::new(Shared {
            address: listener.local_addr()?,
            log: Mutex::default(),
            plan: Mutex::new(plan),
            token: token.map(|token| format!("Bearer {token}")),
            connections: Mutex::default(),
            restart: AtomicBool::new(false),
            requests: AtomicUsize::new(0),
            faults: AtomicUsize::new(0),
        });
        let server = Arc::clone(&shared);
        thread::spawn(move || accept(listener, &server));
        Ok(Self { shared })
    }

    /// Starts a server that works.
    pub fn sound() -> io::Result<Self> {
        Self::start(None, Box::new(|| None))
    }

    /// Returns the address of its log.
    pub fn url(&self) -> String {
        format!("http://{}/log", self.shared.address)
    }

    /// Returns what it has stored.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.shared.log)
    }

    /// Changes how it misbehaves from now on.
    pub fn set_plan(&self, plan: Plan) {
        *lock(&self.shared.plan) = plan;
    }

    /// Returns how often it misbehaved.
    pub fn faults(&self) -> usize {
        self.shared.faults.load(Ordering::SeqCst)
    }

    /// Returns how many requests it got.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn accept(mut listener: TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.restart.swap(false, Ordering::SeqCst) {
            drop(listener);
            for connection in lock(&shared.connections).drain(..) {
                let _ = connection.shutdown(Shutdown::Both);
            }
            drop(accepted);
            thread::sleep(Duration::from_millis(5));
            listener = loop {
                match TcpListener::bind(shared.address) {
                    Ok(listener) => break listener,
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
            };
            continue;
        }
        let Ok((stream, _)) = accepted else { continue };
        if let Ok(clone) = stream.try_clone() {
            lock(&shared.connections).push(clone);
        }
        let shared = Arc::clone(shared);
        // An error is that of a connection which the other side, or a fault, has closed.
        thread::spawn(move || _ = serve(&stream, &shared));
    }
}

/// Answers the requests of a connection.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader)? {
        if !shared.answer(stream, &request)? {
            return stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

/// The parts of a request that the server looks at.
#[derive(Debug, Default)]
struct Request {
    method: String,
    last_uuid: Option<String>,
    key: Option<String>,
    authorization: Option<String>,
    body: Vec<u8>,
}

impl Request {
    /// Reads the next request. Returns `None` at the end of the connection.
    fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let method = line.split(' ').next().unwrap_or_default().to_owned();
        let mut request = Self { method, ..Self::default() };
        let mut length = 0;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match &*name.to_lowercase() {
                "last-uuid" => request.last_uuid = Some(value.to_owned()),
                "idempotency-key" => request.key = Some(value.to_owned()),
                "authorization" => request.authorization = Some(value.to_owned()),
                "content-length" => length = value.parse().map_err(io::Error::other)?,
                _ => {}
            }
        }
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body)?;
        Ok(Some(request))
    }
}

impl Shared {
    /// Answers a request. Returns `false` if the connection is to be closed.
    fn answer(&self, stream: &TcpStream, request: &Request) -> io::Result<bool> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        if self.token.is_some() && self.token != request.authorization {
            return respond(stream, 401, None, b"");
        }
        if request.method == "GET" {
            let lines: Vec<u8> =
                lock(&self.log).entries.iter().flat_map(|entry| [entry, &b"\n"[..]].concat()).collect();
            return respond(stream, 200, None, &lines);
        }
        let fault = lock(&self.plan)();
        self.faults.fetch_add(usize::from(fault.is_some()), Ordering::SeqCst);
        match fault {
            Some(fault) => self.misbehave(fault, stream, request),
            None => self.put(stream, request),
        }
    }

    /// Stores an entry, and says so.
    fn put(&self, stream: &TcpStream, request: &Request) -> io::Result<bool> {
        match self.store(request) {
            Answer::Stored => respond(stream, 201, None, b"{}"),
            Answer::Conflict(head) => respond(stream, 409, Some(&head.unwrap_or_default()), b"{}"),
        }
    }

    fn store(&self, request: &Request) -> Answer {
        lock(&self.log).put(request.last_uuid.as_deref(), request.key.as_deref(), &request.body)
    }

    fn misbehave(&self, fault: Fault, mut stream: &TcpStream, request: &Request) -> io::Result<bool> {
        if fault.stores() {
            self.store(request);
        }
        match fault {
            Fault::DropBefore | Fault::DropAfter => Ok(false),
            Fault::StatusBefore(status) | Fault::StatusAfter(status) => {
                respond(stream, status, None, b"oops")
            }
            Fault::OlderHead => conflict(stream, lock(&self.log).older_head()),
            Fault::NeedlessConflict => conflict(stream, lock(&self.log).head()),
            Fault::UnknownHead => respond(stream, 409, Some("ffffffff-0000-4000-8000-ffffffffffff"), b""),
            Fault::NoHead => respond(stream, 409, None, b""),
            Fault::HalfAnswer => stream.write_all(b"HTTP/1.1 20").map(|()| false),
            Fault::TruncatedBody => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"o").map(|()| false)
            }
            Fault::Garbage => stream.write_all(b"\0\xff\xfenonsense\r\n\r\n").map(|()| false),
            Fault::Slow => {
                thread::sleep(Duration::from_millis(20));
                self.put(stream, request)
            }
            Fault::RestartBefore | Fault::RestartAfter => {
                self.restart.store(true, Ordering::SeqCst);
                // The thread that accepts connections waits for one.
                let _ = TcpStream::connect(self.address);
                Ok(false)
            }
        }
    }
}

/// Reports a conflict with the uuid of the last entry, which is empty if there is none.
fn conflict(stream: &TcpStream, head: Option<&str>) -> io::Result<bool> {
    respond(stream, 409, Some(head.unwrap_or_default()), b"")
}

fn respond(mut stream: &TcpStream, status: u16, head: Option<&str>, body: &[u8]) -> io::Result<bool> {
    let head = head.map(|head| format!("x-last-uuid: {head}\r\n")).unwrap_or_default();
    let text = format!("HTTP/1.1 {status} X\r\n{head}Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[text.as_bytes(), body].concat())?;
    Ok(true)
}
