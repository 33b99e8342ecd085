//! Connections: how many there may be, how long they may stall, and how they end.

mod slots;

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
use super::guard::ConnectionInfo;
use crate::budget::ByteBudget;
use crate::stdio::{SHUTDOWN_TIMEOUT, StopReason};
pub(super) use slots::ConnectionSlot;
use slots::ConnectionSlots;

/// How many bytes the head of a request may have, and how many bytes of an answer are buffered ahead of the socket.
const BUFFER_BYTES: usize = 64 << 10;
/// The shortest time before something that failed is tried or checked again.
const RETRY_DELAY: Duration = Duration::from_millis(5);

/// Serves connections until `stop` returns. Requests that are being answered then get a bounded time to finish, which a
/// second `stop` ends.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    event_budget: ByteBudget,
    stopping: &watch::Sender<bool>,
    mut stop: impl AsyncFnMut() -> StopReason,
) -> StopReason {
    let slots = ConnectionSlots::new(limits.connections);
    let mut connections = JoinSet::new();
    let accept = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // The process may have no file descriptors left until a connection closes.
                slots.evict_longest_idle();
                sleep(RETRY_DELAY).await;
                continue;
            };
            let slot = slots.take().await;
            // Finished tasks stay in the set until they are joined.
            while connections.try_join_next().is_some() {}
            let policy = StallPolicy { limits: *limits, event_budget: event_budget.clone() };
            connections.spawn(connection(stream, slot, router.clone(), policy, stopping.subscribe()));
        }
    };
    let reason = tokio::select! {
        reason = stop() => reason,
        () = accept => unreachable!("accepting never ends"),
    };
    drop(listener);
    stopping.send_replace(true);
    let finish = async { while connections.join_next().await.is_some() {} };
    tokio::select! {
        _ = timeout(SHUTDOWN_TIMEOUT, finish) => {}
        _ = stop() => {}
    }
    connections.shutdown().await;
    reason
}

/// Serves one connection. Its errors end it and are not reported, because they concern no other connection.
async fn connection(
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    router: Router,
    policy: StallPolicy,
    mut stopping: watch::Receiver<bool>,
) {
    let Ok(local_address) = stream.local_addr() else { return };
    // Without this, the system may hold back a small event until more is sent.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        let info = ConnectionInfo { local_address: local_address.ip(), slot: slot.clone() };
        request.extensions_mut().insert(info);
        router.call(request)
    });
    let head = policy.limits.head;
    let io = TokioIo::new(StallGuard { stream, slot: slot.clone(), policy, stalled: None });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(BUFFER_BYTES);
    let mut connection = pin!(builder.serve_connection(io, service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = slot.evicted() => return,
        _ = stopping.wait_for(|stopping| *stopping) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A socket that fails when the peer reads nothing for too long.
struct StallGuard {
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    policy: StallPolicy,
    /// Since when the peer reads nothing, and the timer of the next check.
    stalled: Option<(Instant, Pin<Box<Sleep>>)>,
}

/// Decides how long a peer may read nothing. It has less time while event streams wait for bytes of their budget, which its
/// own stream may hold; a client of an event stream reconnects and resumes where it was.
struct StallPolicy {
    limits: Limits,
    event_budget: ByteBudget,
}

impl StallPolicy {
    fn is_expired(&self, since: Instant) -> bool {
        let waited = since.elapsed();
        waited >= self.limits.stall || waited >= self.limits.budget_wait && self.event_budget.has_waiters()
    }

    /// Returns when to check a stalled peer again.
    fn next_check(&self, since: Instant) -> Instant {
        (Instant::now() + self.limits.budget_wait.max(RETRY_DELAY)).min(since + self.limits.stall)
    }
}

impl StallGuard {
    /// Passes on the outcome of a write; turns it into a timeout if the peer has read nothing for too long.
    fn check_stall<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let policy = &self.policy;
        let (since, check) = self.stalled.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(sleep_until(policy.next_check(now))))
        });
        loop {
            ready!(check.as_mut().poll(context));
            if policy.is_expired(*since) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            check.as_mut().reset(policy.next_check(*since));
        }
    }
}

impl AsyncRead for StallGuard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for StallGuard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_stall(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.check_stall(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes when it has written everything.
        self.slot.all_sent();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_peer_that_reads_nothing_has_less_time_while_streams_wait_for_bytes() {
        let event_budget = ByteBudget::of_kib(1);
        let limits =
            Limits { stall: Duration::from_secs(3600), budget_wait: Duration::ZERO, ..Limits::default() };
        let policy = StallPolicy { limits, event_budget: event_budget.clone() };
        let stalled_since = Instant::now();
        let _reservation = event_budget.reserve(1).await;
        assert!(!policy.is_expired(stalled_since), "nothing waits");
        let mut waiting = pin!(event_budget.reserve(1));
        assert!(timeout(Duration::from_millis(1), waiting.as_mut()).await.is_err());
        assert!(policy.is_expired(stalled_since));
        let limits = Limits { stall: Duration::ZERO, ..Limits::default() };
        assert!(StallPolicy { limits, event_budget: ByteBudget::of_kib(1) }.is_expired(stalled_since));
    }
}
