//! The server over HTTP: the same methods for programs and browsers, and what happens as a stream of events.
//!
//! `guard.rs` decides who is let in, before anything else is looked at. Behind it, `requests.rs` answers, `events.rs` tells
//! what happens, and `page.rs` has a small page for people. `sockets.rs` bounds what connections may take.

mod events;
mod guard;
mod page;
mod requests;
mod sockets;

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::{Semaphore, watch};

use crate::budget::ByteBudget;
use crate::server::Server;
use crate::stdio::{Signals, StopReason};
use guard::Guard;

/// Where a server listens, and who is let in.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The address, or a name that has one.
    pub bind: String,
    /// The port; 0 takes one that is free.
    pub port: u16,
    /// What clients must show; made up if there is none.
    pub token: Option<String>,
    /// How much clients may take.
    pub limits: Limits,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self { bind: "127.0.0.1".to_owned(), port: 0, token: None, limits: Limits::default() }
    }
}

/// How much clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections there are at once; a further one gets the place of who asks for nothing, or waits.
    pub connections: usize,
    /// How many of them may be streams of events.
    pub streams: usize,
    /// How long a connection may take for the head of a request, or may have none.
    pub head: Duration,
    /// How long it may take for the body of a request.
    pub body: Duration,
    /// How long it may read nothing of what is sent to it.
    pub stall: Duration,
    /// How long it may do so while streams wait for room, and how long a large answer waits for room before it is given up.
    pub budget_wait: Duration,
    /// After how long without an event a stream shows that it is alive.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 768,
            streams: 512,
            head: Duration::from_secs(15),
            body: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            budget_wait: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Beyond this machine, nobody is let in by a token that nobody knows of.
    #[error("listening beyond this machine needs a token")]
    NoToken,
    /// The token is too short, or could not stand in an address.
    #[error("a token has at least 16 characters: letters, digits, `-`, `.`, `_` and `~`")]
    BadToken,
    /// What it should listen on is neither an address nor a name that has one.
    #[error("there is no such address")]
    NoAddress,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A server that listens, but answers nobody yet.
#[derive(Debug)]
pub struct Http {
    listener: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    server: Arc<Server>,
    limits: Limits,
}

/// What all requests share.
struct Face {
    server: Arc<Server>,
    guard: Arc<Guard>,
    limits: Limits,
    /// For large requests until they are answered.
    incoming: ByteBudget,
    /// For large answers until they are sent.
    outgoing: ByteBudget,
    /// For events until they are sent.
    telling: ByteBudget,
    streams: Arc<Semaphore>,
    /// Tells whether the server ends.
    stopping: watch::Receiver<bool>,
}

/// KiB of large requests, of large answers and of events that are in memory at once.
const ROOM_KIB: u32 = 64 << 10;

impl Http {
    /// Listens.
    pub fn bind(server: Arc<Server>, options: HttpOptions) -> Result<Self, HttpError> {
        let HttpOptions { bind, port, token, limits } = options;
        let addresses = (bind.trim_matches(['[', ']']), port).to_socket_addrs();
        let addresses: Vec<_> = addresses.map_err(|_| HttpError::NoAddress)?.collect();
        let listener = TcpListener::bind(&addresses[..])?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        if token.is_none() && !address.ip().to_canonical().is_loopback() {
            return Err(HttpError::NoToken);
        }
        let guard = Arc::new(Guard::new(&bind, address.port(), token)?);
        Ok(Self { listener, address, guard, server, limits })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether others than programs on this machine can reach it.
    pub fn is_exposed(&self) -> bool {
        !self.address.ip().to_canonical().is_loopback()
    }

    /// Returns what clients must show.
    pub fn token(&self) -> &str {
        self.guard.token()
    }

    /// Returns the address for people and programs, with the token.
    pub fn link(&self) -> String {
        self.guard.link(self.address.ip(), self.guard.token())
    }

    /// Returns an address that lets one visitor in, once: for the command line of a browser, which others can see.
    pub fn ticket(&self) -> Result<String, HttpError> {
        Ok(self.guard.link(self.address.ip(), &self.guard.issue_ticket()?))
    }

    /// Serves until a signal asks for the end.
    pub fn serve(self) -> io::Result<StopReason> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
        let ended = runtime.block_on(async {
            let mut signals = Signals::new()?;
            self.run(async move || signals.wait().await).await
        });
        // What was not finished in time ends with the process.
        runtime.shutdown_background();
        ended
    }

    /// Serves until it is told to stop; told so again, it ends at once.
    pub async fn run(self, stop: impl AsyncFnMut() -> StopReason) -> io::Result<StopReason> {
        let Self { listener, guard, server, limits, .. } = self;
        let (stopping, is_stopping) = watch::channel(false);
        let face = Face {
            server,
            guard,
            limits,
            incoming: ByteBudget::of_kib(ROOM_KIB),
            outgoing: ByteBudget::of_kib(ROOM_KIB),
            telling: ByteBudget::of_kib(ROOM_KIB),
            streams: Arc::new(Semaphore::new(limits.streams)),
            stopping: is_stopping,
        };
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let telling = face.telling.clone();
        Ok(sockets::serve(listener, router(face), &limits, telling, &stopping, stop).await)
    }
}

fn router(face: Face) -> Router {
    let face = Arc::new(face);
    Router::new()
        .route("/rpc", post(requests::answer))
        .route("/events", get(events::stream))
        .route("/healthz", get(async || "ok\n"))
        .merge(page::router())
        .fallback(async || plain(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || {
            plain(StatusCode::METHOD_NOT_ALLOWED, "this is not asked for in this way")
        })
        .layer(axum::middleware::from_fn_with_state(face.clone(), guard::check))
        .with_state(face)
}

/// Says something in words.
fn plain(status: StatusCode, text: &str) -> Response {
    (status, format!("{text}\n")).into_response()
}

/// Makes an answer of JSON.
fn json(status: StatusCode, json: axum::body::Body) -> Response {
    let mut response = (status, json).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
