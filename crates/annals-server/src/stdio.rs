//! The server on standard input and output: one JSON-RPC message per line, and nothing else on standard output.

use std::io::{self, BufReader, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::connection::{Connection, Disconnected, Outbox, Outgoing, outgoing};
use crate::server::Server;
use annals_api::rpc::{Frame, Frames};

/// How many lines are read ahead of the connection.
const MAX_FRAMES_AHEAD: usize = 16;
/// How long the last answers may take after a signal.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a server stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The peer closed our input or output.
    Disconnected,
    /// The process got SIGTERM.
    Terminated,
    /// The process got SIGINT: the user pressed Ctrl-C.
    Interrupted,
}

/// Serves one peer on standard input and output until it disconnects or a signal arrives.
pub fn serve(server: &Arc<Server>) -> io::Result<StopReason> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
    let reason = runtime.block_on(run(server.clone()));
    // The thread that reads standard input cannot be interrupted; it ends with the process.
    runtime.shutdown_background();
    reason
}

async fn run(server: Arc<Server>) -> io::Result<StopReason> {
    let (lines, mut incoming) = mpsc::channel(MAX_FRAMES_AHEAD);
    let (out, outbox) = outgoing();
    thread::Builder::new().name("input".to_owned()).spawn(move || read(&lines))?;
    let (written, all_written) = tokio::sync::oneshot::channel();
    thread::Builder::new().name("output".to_owned()).spawn(move || {
        write(outbox);
        let _ = written.send(());
    })?;
    let mut connection = server.connect(out.clone());
    let mut signals = Signals::new()?;
    let reason = receive_until_stopped(&mut connection, &mut incoming, &out, &mut signals).await;
    drop(out);
    if reason != StopReason::Disconnected {
        connection.cancel_all();
    }
    let remaining_output = async {
        connection.finish().await;
        let _ = all_written.await;
    };
    if reason == StopReason::Disconnected {
        // A peer that has closed our input may still read the answers, however long that takes. A signal ends the wait.
        tokio::select! {
            () = remaining_output => {}
            reason = signals.wait() => return Ok(reason),
        }
    } else {
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, remaining_output).await;
    }
    Ok(reason)
}

/// Passes lines to the connection until the input ends, the peer reads no more, or a signal arrives.
async fn receive_until_stopped(
    connection: &mut Connection,
    incoming: &mut mpsc::Receiver<Frame>,
    out: &Outgoing,
    signals: &mut Signals,
) -> StopReason {
    loop {
        let receive_next = async {
            match incoming.recv().await {
                Some(frame) => connection.receive(frame).await,
                None => Err(Disconnected),
            }
        };
        tokio::select! {
            reason = signals.wait() => return reason,
            () = out.disconnected() => return StopReason::Disconnected,
            received = receive_next => if received.is_err() {
                return StopReason::Disconnected;
            },
        }
    }
}

fn read(lines: &mpsc::Sender<Frame>) {
    let mut frames = Frames::new(BufReader::with_capacity(1 << 16, io::stdin()));
    // A read error ends the input like its end does.
    while let Ok(Some(frame)) = frames.read() {
        if lines.blocking_send(frame).is_err() {
            return;
        }
    }
}

fn write(mut outbox: Outbox) {
    let mut out = io::stdout().lock();
    while let Some((mut message, _reservation)) = outbox.next_blocking() {
        message.push('\n');
        if out.write_all(message.as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// The signals that stop a server.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    #[cfg(unix)]
    pub(crate) async fn wait(&mut self) -> StopReason {
        tokio::select! {
            _ = self.terminate.recv() => StopReason::Terminated,
            _ = self.interrupt.recv() => StopReason::Interrupted,
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(crate) async fn wait(&mut self) -> StopReason {
        let _ = tokio::signal::ctrl_c().await;
        StopReason::Interrupted
    }
}
