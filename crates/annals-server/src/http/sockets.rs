//! Connections: how many there are, how long they may do nothing, and how they end.

mod places;

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

use super::Limits;
use super::guard::Here;
use crate::budget::ByteBudget;
use crate::stdio::{SHUTDOWN_TIMEOUT, StopReason};
pub(super) use places::Place;
use places::Places;

/// How many bytes of a head are read, and how many of an answer are taken before the socket has taken them.
const BUFFER: usize = 64 << 10;
/// How long to wait when the system has no more sockets for us.
const BREATH: Duration = Duration::from_millis(5);

/// Serves connections until it is told to stop. Requests that are being answered then are finished, in bounded time.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    telling: ByteBudget,
    stopping: &watch::Sender<bool>,
    mut stop: impl AsyncFnMut() -> StopReason,
) -> StopReason {
    let places = Places::new(limits.connections);
    let mut connections = JoinSet::new();
    let accept = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // There may be no more sockets for us until somebody leaves.
                places.make_room();
                sleep(BREATH).await;
                continue;
            };
            let place = places.take().await;
            // What has ended is forgotten.
            while connections.try_join_next().is_some() {}
            let patience = Patience { limits: *limits, telling: telling.clone() };
            connections.spawn(connection(stream, place, router.clone(), patience, stopping.subscribe()));
        }
    };
    let ended = tokio::select! {
        ended = stop() => ended,
        () = accept => unreachable!("it goes on for ever"),
    };
    drop(listener);
    stopping.send_replace(true);
    let finish = async { while connections.join_next().await.is_some() {} };
    tokio::select! {
        _ = timeout(SHUTDOWN_TIMEOUT, finish) => {}
        _ = stop() => {}
    }
    connections.shutdown().await;
    ended
}

/// Serves one connection. Whatever goes wrong with it concerns nobody else.
async fn connection(
    stream: TcpStream,
    place: Arc<Place>,
    router: Router,
    patience: Patience,
    mut stopping: watch::Receiver<bool>,
) {
    let Ok(here) = stream.local_addr() else { return };
    // Small events should not wait for more.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Here { address: here.ip(), place: place.clone() });
        router.call(request)
    });
    let head = patience.limits.head;
    let io = TokioIo::new(Patient { stream, place: place.clone(), patience, stalled: None });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(BUFFER);
    let mut connection = pin!(builder.serve_connection(io, service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = place.is_asked_to_leave() => return,
        _ = stopping.wait_for(|stopping| *stopping) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A socket that gives up on a peer that reads nothing for too long.
struct Patient {
    stream: TcpStream,
    place: Arc<Place>,
    patience: Patience,
    /// Since when it reads nothing, and when that is looked at again.
    stalled: Option<(Instant, Pin<Box<Sleep>>)>,
}

/// How long to wait for a peer that reads nothing: less where streams wait for room. Who is sent away from one comes back.
struct Patience {
    limits: Limits,
    telling: ByteBudget,
}

impl Patience {
    fn is_over(&self, since: Instant) -> bool {
        let waited = since.elapsed();
        waited >= self.limits.stall || waited >= self.limits.budget_wait && self.telling.has_waiters()
    }

    /// Returns when to look again.
    fn next(&self, since: Instant) -> Instant {
        (Instant::now() + self.limits.budget_wait.max(BREATH)).min(since + self.limits.stall)
    }
}

impl Patient {
    /// Takes note of whether the peer has taken something; fails if it has not for too long.
    fn watch<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let patience = &self.patience;
        let (since, look) = self.stalled.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(sleep_until(patience.next(now))))
        });
        loop {
            ready!(look.as_mut().poll(context));
            if patience.is_over(*since) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            look.as_mut().reset(patience.next(*since));
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.watch(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // This is asked for when everything is written.
        self.place.is_sent();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
