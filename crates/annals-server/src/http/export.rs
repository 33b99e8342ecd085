//! `POST /export`: a session as a file, written while it is sent, so that memory does not grow with it.
//!
//! A file whose end does not arrive must not look whole: if the export breaks off, so does the answer.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use annals_api::json_line;
use annals_api::rpc::Error;
use annals_proto::{ErrorCode, ExportFormat, ExportParams};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::sync::{mpsc, oneshot};

use super::events::refuse;
use super::requests::{is_json, receive};
use super::{HttpState, plain};

/// How many bytes are written before they are sent.
const CHUNK: usize = 64 << 10;
/// How many chunks may wait for the client.
const WAITING_CHUNKS: usize = 4;

/// Answers a request for a file.
pub(super) async fn answer(State(state): State<Arc<HttpState>>, request: Request) -> Response {
    if !is_json(request.headers()) {
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a request is sent as application/json");
    }
    let (_, body, _reservation) = match receive(&state, request).await {
        Ok(received) => received,
        Err(refusal) => return refusal,
    };
    let Ok(params) = serde_json::from_slice::<ExportParams>(&body) else {
        return refuse(&Error::invalid_params(
            "`sessionId` and `format` are needed; see `POST /export` in PROTOCOL",
        ));
    };
    let Ok(permit) = state.exports.clone().try_acquire_owned() else {
        return refuse(&Error::new(ErrorCode::TooMany, "other exports are being written: ask again later"));
    };
    let (begun, begins) = oneshot::channel();
    let (sender, receiver) = mpsc::channel(WAITING_CHUNKS);
    let (server, format) = (state.server.clone(), params.format);
    let refused = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let out = ChunkWriter { sender, chunk: Vec::with_capacity(CHUNK) };
        let (mut out, report) = server.api().export(&params, move |name| {
            // If nobody waits any more, the first chunk cannot be sent either.
            let _ = begun.send(name);
            out
        })?;
        let line = if params.report { json_line(&report).ok() } else { None };
        let written = line.map_or(Ok(()), |line| write!(out, "\n{line}\n"));
        // The client is gone if this fails.
        let _ = written.and_then(|()| out.finish());
        Ok::<_, Error>(())
    });
    match begins.await {
        Ok(name) => {
            let kind = match format {
                ExportFormat::Html => "text/html; charset=utf-8",
                ExportFormat::Md => "text/markdown; charset=utf-8",
                ExportFormat::Text => "text/plain; charset=utf-8",
            };
            let disposition = format!("attachment; filename=\"{name}\"");
            let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, &disposition)];
            (headers, Body::new(Chunks { receiver, has_ended: false })).into_response()
        }
        Err(_) => match refused.await {
            Ok(Err(error)) => refuse(&error),
            Ok(Ok(())) | Err(_) => refuse(&Error::broken_off()),
        },
    }
}

/// Sends what is written in chunks. It waits while the client does not read.
struct ChunkWriter {
    sender: mpsc::Sender<Bytes>,
    chunk: Vec<u8>,
}

impl ChunkWriter {
    fn send(&self, chunk: Vec<u8>) -> io::Result<()> {
        self.sender.blocking_send(chunk.into()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends the rest, and an empty chunk, which says that this is the end.
    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.send(Vec::new())
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK - self.chunk.len();
        let taken = &bytes[..bytes.len().min(room)];
        self.chunk.extend_from_slice(taken);
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.send(chunk)
    }
}

/// The chunks of a file.
struct Chunks {
    receiver: mpsc::Receiver<Bytes>,
    has_ended: bool,
}

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        self.receiver.poll_recv(context).map(|chunk| match chunk {
            Some(chunk) if chunk.is_empty() => {
                self.has_ended = true;
                None
            }
            Some(chunk) => Some(Ok(Frame::data(chunk))),
            None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
        })
    }
}
