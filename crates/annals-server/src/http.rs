//! The server over HTTP: the same methods and subscriptions for programs and browsers.
//!
//! `guard.rs` checks every request first. Then `requests.rs` answers JSON-RPC requests, `export.rs` sends sessions as files, `events.rs` streams notifications,
//! and `page.rs` has the viewer for browsers. `sockets.rs` bounds the number of connections and how long they may stall.

mod events;
mod export;
mod guard;
mod page;
mod requests;
mod sockets;

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tokio::sync::{Semaphore, watch};

use crate::budget::ByteBudget;
use crate::server::Server;
use crate::stdio::{Signals, StopReason};
use guard::Guard;

/// Where a server listens, which token it wants, and its limits.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The address to listen on, or a host name that resolves to it.
    pub bind: String,
    /// The port; 0 chooses a free one.
    pub port: u16,
    /// The token that clients must send; a random one if `None`.
    pub token: Option<String>,
    /// Bounds of what clients may use.
    pub limits: Limits,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self { bind: "127.0.0.1".to_owned(), port: 0, token: None, limits: Limits::default() }
    }
}

/// Bounds of what clients may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections there may be; a further one evicts an idle one, or waits.
    pub connections: usize,
    /// How many event streams there may be.
    pub streams: usize,
    /// How long a client may take to send the head of a request, or may send none.
    pub head: Duration,
    /// How long a client may take to send the body of a request.
    pub body: Duration,
    /// How long a client may read nothing of what is sent to it.
    pub stall: Duration,
    /// How long a client may read nothing while event streams wait for bytes of their budget, and how long a large request
    /// or answer waits for bytes before it is refused.
    pub budget_wait: Duration,
    /// After how long without an event a stream sends a comment, which shows that it is alive.
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

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is reachable from other machines, which needs a token that the user has chosen.
    #[error("listening beyond this machine needs a token")]
    NoToken,
    /// The token is too short, or has characters that are not allowed in a URL.
    #[error("a token has at least 16 characters: letters, digits, `-`, `.`, `_` and `~`")]
    BadToken,
    /// The name to listen on is neither an address nor a host name that resolves to one.
    #[error("there is no such address")]
    NoAddress,
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A server that listens, but does not accept connections yet.
#[derive(Debug)]
pub struct Http {
    listener: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    server: Arc<Server>,
    limits: Limits,
    mounted: Vec<Mounted>,
}

/// A path that another crate answers, after the same checks.
struct Mounted {
    path: &'static str,
    answer: Arc<Answer>,
}

type Answer = dyn Fn(Request) -> BoxFuture<Response> + Send + Sync;
type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl std::fmt::Debug for Mounted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mounted").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What all HTTP requests share.
struct HttpState {
    server: Arc<Server>,
    guard: Arc<Guard>,
    limits: Limits,
    /// Bounds the bytes of large requests that are not answered yet.
    request_budget: ByteBudget,
    /// Bounds the bytes of large answers that are not sent yet.
    answer_budget: ByteBudget,
    /// Bounds the bytes of events that are not sent yet.
    event_budget: ByteBudget,
    streams: Arc<Semaphore>,
    /// Bounds the number of exports that are written at the same time.
    exports: Arc<Semaphore>,
    /// Becomes `true` when the server shuts down.
    stopping: watch::Receiver<bool>,
}

/// The most exports that are written at the same time. A client that reads slowly holds one, and a thread.
const MOST_EXPORTS: usize = 4;
/// The size of each of the three byte budgets.
const BUDGET_KIB: u32 = 64 << 10;

impl Http {
    /// Starts to listen.
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
        Ok(Self { listener, address, guard, server, limits, mounted: Vec::new() })
    }

    /// Answers requests for a path with `answer`, which gets requests that passed the same checks as all others, with bodies of the
    /// same bounded size.
    #[must_use]
    pub fn mount<F, R>(mut self, path: &'static str, answer: F) -> Self
    where
        F: Fn(Request) -> R + Send + Sync + 'static,
        R: Future<Output: IntoResponse> + Send + 'static,
    {
        let answer = Arc::new(move |request: Request| -> BoxFuture<Response> {
            let answered = answer(request);
            Box::pin(async move { answered.await.into_response() })
        });
        self.mounted.push(Mounted { path, answer });
        self
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether other machines may be able to reach it.
    pub fn is_exposed(&self) -> bool {
        !self.address.ip().to_canonical().is_loopback()
    }

    /// Returns the token that clients must send.
    pub fn token(&self) -> &str {
        self.guard.token()
    }

    /// Returns the URL of the page with the token.
    pub fn link(&self) -> String {
        self.guard.link(self.address.ip(), self.guard.token())
    }

    /// Returns a URL of the page that is valid once. It is safe in the command line of a browser, which other users of the
    /// machine can see.
    pub fn ticket(&self) -> Result<String, HttpError> {
        Ok(self.guard.link(self.address.ip(), &self.guard.issue_ticket()?))
    }

    /// Serves until a signal arrives.
    pub fn serve(self) -> io::Result<StopReason> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
        let reason = runtime.block_on(async {
            let mut signals = Signals::new()?;
            self.run(async move || signals.wait().await).await
        });
        // Requests that did not finish in time end with the process.
        runtime.shutdown_background();
        reason
    }

    /// Serves until `stop` returns. Then requests get a bounded time to finish, which a second `stop` ends.
    pub async fn run(self, stop: impl AsyncFnMut() -> StopReason) -> io::Result<StopReason> {
        let Self { listener, guard, server, limits, mounted, .. } = self;
        let (stopping, is_stopping) = watch::channel(false);
        let state = HttpState {
            server,
            guard,
            limits,
            request_budget: ByteBudget::of_kib(BUDGET_KIB),
            answer_budget: ByteBudget::of_kib(BUDGET_KIB),
            event_budget: ByteBudget::of_kib(BUDGET_KIB),
            streams: Arc::new(Semaphore::new(limits.streams)),
            exports: Arc::new(Semaphore::new(MOST_EXPORTS)),
            stopping: is_stopping,
        };
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let event_budget = state.event_budget.clone();
        Ok(sockets::serve(listener, router(state, mounted), &limits, event_budget, &stopping, stop).await)
    }
}

fn router(state: HttpState, mounted: Vec<Mounted>) -> Router {
    let state = Arc::new(state);
    let mut router = Router::new();
    for Mounted { path, answer } in mounted {
        router = router.route(
            path,
            any(async move |state, request| requests::hand_over(state, request, &*answer).await),
        );
    }
    router
        .route("/rpc", post(requests::answer))
        .route("/export", post(export::answer))
        .route("/events", get(events::stream))
        .route("/healthz", get(async || "ok\n"))
        .merge(page::router())
        .fallback(async || plain(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || {
            plain(StatusCode::METHOD_NOT_ALLOWED, "this is not asked for in this way")
        })
        .layer(axum::middleware::from_fn_with_state(state.clone(), guard::check))
        .with_state(state)
}

/// Answers with a line of plain text.
fn plain(status: StatusCode, text: &str) -> Response {
    (status, format!("{text}\n")).into_response()
}

/// Answers with JSON.
fn json(status: StatusCode, json: axum::body::Body) -> Response {
    let mut response = (status, json).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
