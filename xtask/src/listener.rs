//! A client that listens to the events of a server over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A stream of events.
pub(crate) struct Listener(BufReader<TcpStream>);

/// One event.
#[derive(Default)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: String,
}

impl Listener {
    /// Subscribes to a session, from now on or from the id of an event; returns when the stream has begun.
    pub(crate) fn open(address: &str, token: &str, session: &str, last: Option<u64>) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        let request = format!(
            "GET /events?sessionId={session} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{last}\r\n"
        );
        stream.write_all(request.as_bytes())?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut listener = Self(BufReader::with_capacity(1 << 12, stream));
        match &*listener.next()?.name {
            "ready" => Ok(listener),
            other => Err(format!("the stream begins with `{other}`").into()),
        }
    }

    /// Waits for the next event. The server sends each event in an HTTP chunk of its own; the framing of chunks is skipped.
    pub(crate) fn next(&mut self) -> Result<Event> {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Err("the stream ended".into());
            }
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("id", id)) => event.id = Some(id.parse()?),
                Some(("data", data)) => data.clone_into(&mut event.data),
                _ if line == "\n" && !event.name.is_empty() => return Ok(event),
                _ => {}
            }
        }
    }
}
