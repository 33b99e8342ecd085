//! The server on standard input and output: a line in, lines out, nothing else on standard output.

use std::io::{self, BufReader, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::connection::{Connection, Disconnected, Outbox, outgoing};
use crate::server::Server;
use annals_api::rpc::{Frame, Frames};

/// How many lines are read ahead.
const AHEAD: usize = 16;
/// How long the last answers may take once the server was told to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// Why a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The peer has nothing more to ask, or has gone.
    Peer,
    /// A signal asked for it.
    Terminated,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

/// Serves one peer on standard input and output until it has no more to ask.
pub fn serve(server: &Arc<Server>) -> io::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
    let ended = runtime.block_on(run(server.clone()));
    // The thread that waits for input ends with the process.
    runtime.shutdown_background();
    ended
}

async fn run(server: Arc<Server>) -> io::Result<Ended> {
    let (lines, mut incoming) = mpsc::channel(AHEAD);
    let (out, outbox) = outgoing();
    thread::Builder::new().name("input".to_owned()).spawn(move || read(&lines))?;
    let (written, all_written) = tokio::sync::oneshot::channel();
    thread::Builder::new().name("output".to_owned()).spawn(move || {
        write(outbox);
        let _ = written.send(());
    })?;
    let mut connection = Connection::new(server, out.clone());
    let mut stop = Signals::new()?;
    let ended = loop {
        let next = async {
            match incoming.recv().await {
                Some(frame) => connection.receive(frame).await,
                None => Err(Disconnected),
            }
        };
        tokio::select! {
            ended = stop.wait() => break ended,
            () = out.disconnected() => break Ended::Peer,
            received = next => if received.is_err() {
                break Ended::Peer;
            },
        }
    };
    drop(out);
    if ended != Ended::Peer {
        connection.cancel_all();
    }
    let last_words = async {
        connection.finish().await;
        let _ = all_written.await;
    };
    if ended == Ended::Peer {
        // Whoever closed the input may take his time to read the answers, until he is told to stop.
        tokio::select! {
            () = last_words => {}
            ended = stop.wait() => return Ok(ended),
        }
    } else {
        let _ = tokio::time::timeout(PATIENCE, last_words).await;
    }
    Ok(ended)
}

fn read(lines: &mpsc::Sender<Frame>) {
    let mut frames = Frames::new(BufReader::with_capacity(1 << 16, io::stdin()));
    // Input that cannot be read any more has ended.
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

/// What the system may ask of a server.
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
    pub(crate) async fn wait(&mut self) -> Ended {
        tokio::select! {
            _ = self.terminate.recv() => Ended::Terminated,
            _ = self.interrupt.recv() => Ended::Interrupted,
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(crate) async fn wait(&mut self) -> Ended {
        let _ = tokio::signal::ctrl_c().await;
        Ended::Interrupted
    }
}
