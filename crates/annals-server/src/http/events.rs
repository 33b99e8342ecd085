//! `GET /events`: a subscription as a stream of server-sent events.
//!
//! The id of an event is the offset at which its entries end in the transcript, so that a client that reconnects with the
//! last id resumes exactly there. Between events a stream keeps nothing in memory but that offset.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use annals_proto::{ErrorCode, WatchParams, WatchResult};
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

use super::{HttpState, json};
use crate::budget::{BudgetedText, ByteBudget, Reservation};
use crate::watch::{Notice, Subscription};
use annals_api::rpc::Error;
use annals_api::{Masking, json_line};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// After how many milliseconds a disconnected client should reconnect.
const RETRY_MILLIS: u64 = 1000;

/// The next notice, and the subscription to wait for the one after it.
type NextNotice = (Subscription, Option<(Notice, Option<Reservation>)>);

/// A stream of events.
struct EventStream {
    first: Option<String>,
    next: Pin<Box<dyn Future<Output = NextNotice> + Send>>,
    /// Bounds the bytes of events that are not sent yet.
    budget: ByteBudget,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    heartbeat: Pin<Box<Sleep>>,
    heartbeat_interval: Duration,
    _permit: OwnedSemaphorePermit,
}

/// Subscribes to one session or to all of them. A browser that reconnects gives the offset in the header `Last-Event-ID`,
/// which takes precedence over the one in the URL.
pub(super) async fn stream(
    State(state): State<Arc<HttpState>>,
    headers: HeaderMap,
    params: Result<Query<WatchParams>, QueryRejection>,
) -> Response {
    let Ok(Query(mut params)) = params else {
        let message = "`sessionId`, `agentId`, `workspacePath`, `offset` and `reveal` may stand in the address, each once; `offset` is a number, `reveal` is true or false";
        return refuse(&Error::invalid_params(message));
    };
    match last_event_id(&headers) {
        Ok(Some(offset)) if params.session_id.is_some() => params.offset = Some(offset),
        Ok(_) => {}
        Err(error) => return refuse(&error),
    }
    let Ok(permit) = state.streams.clone().try_acquire_owned() else {
        return refuse(&Error::new(ErrorCode::TooMany, "there are too many streams"));
    };
    let server = state.server.clone();
    let subscribed = tokio::task::spawn_blocking(move || server.subscribe(&params)).await;
    match subscribed.unwrap_or_else(|_| Err(Error::broken_off())) {
        Ok(subscription) => {
            let kind = HeaderValue::from_static("text/event-stream");
            let events = EventStream::of(subscription, &state, permit);
            ([(header::CONTENT_TYPE, kind)], Body::new(events)).into_response()
        }
        Err(error) => refuse(&error),
    }
}

/// Returns the id of the last event that the client has got, which is an offset. An empty header is none.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Error> {
    let Some(id) = headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()) else { return Ok(None) };
    let offset = id.to_str().ok().and_then(|id| id.parse().ok());
    offset.map(Some).ok_or_else(|| Error::invalid_params("`Last-Event-ID` is a number"))
}

impl EventStream {
    fn of(subscription: Subscription, state: &HttpState, permit: OwnedSemaphorePermit) -> Self {
        let ready = WatchResult { subscription: subscription.name(), offset: subscription.offset() };
        let first = format!("retry: {RETRY_MILLIS}\n{}", event("ready", ready.offset, &ready));
        let mut stopping = state.stopping.clone();
        let heartbeat_interval = state.limits.heartbeat;
        Self {
            first: Some(first),
            next: Box::pin(next(subscription, state.event_budget.clone())),
            budget: state.event_budget.clone(),
            // A dropped sender means that the server stops, too.
            stopping: Box::pin(async move { drop(stopping.wait_for(|stopping| *stopping).await) }),
            heartbeat: Box::pin(sleep(heartbeat_interval)),
            heartbeat_interval,
            _permit: permit,
        }
    }
}

async fn next(mut subscription: Subscription, budget: ByteBudget) -> NextNotice {
    let notice = subscription.next(&budget).await;
    (subscription, notice)
}

impl hyper::body::Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let (text, reservation) = if let Some(first) = this.first.take() {
            (first, None)
        } else if this.stopping.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        } else if let Poll::Ready((subscription, notice)) = this.next.as_mut().poll(context) {
            let Some((notice, reservation)) = notice else { return Poll::Ready(None) };
            let event = to_event(&notice, subscription.masking());
            this.next = Box::pin(next(subscription, this.budget.clone()));
            let Some(event) = event else { return Poll::Ready(None) };
            (event, reservation)
        } else {
            ready!(this.heartbeat.as_mut().poll(context));
            (":\n\n".to_owned(), None)
        };
        this.heartbeat.as_mut().reset(Instant::now() + this.heartbeat_interval);
        let bytes = Bytes::from_owner(BudgetedText { text, _reservation: reservation });
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

/// Returns a notice as an event, masked unless the subscriber may see everything; `None` if it cannot be serialized.
fn to_event(notice: &Notice, masking: Option<&Masking>) -> Option<String> {
    let name = match notice {
        Notice::Changed(_) => "changed",
        Notice::Appended(notice) if notice.reset => "reset",
        Notice::Appended(_) => "appended",
    };
    Some(event(name, notice.next_offset(), &notice.data(masking).ok()?))
}

fn event(name: &str, id: Option<u64>, data: &impl Serialize) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = json_line(data).expect("a notice is made of JSON");
    format!("{id}event: {name}\ndata: {data}\n\n")
}

/// Answers with an error: as a status, which browsers report, and as JSON.
pub(super) fn refuse(error: &Error) -> Response {
    let status = match error.code {
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::InvalidParams => StatusCode::BAD_REQUEST,
        ErrorCode::Ambiguous => StatusCode::CONFLICT,
        ErrorCode::Refused | ErrorCode::RevealForbidden => StatusCode::FORBIDDEN,
        ErrorCode::TooMany => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let body = serde_json::json!({ "error": { "code": error.code.number(), "message": error.message } });
    json(status, Body::from(body.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_id_is_a_number_or_absent() {
        for (value, expected) in [(None, Some(None)), (Some(""), Some(None)), (Some("42"), Some(Some(42)))] {
            let headers = value.map(|value| (LAST_EVENT_ID, HeaderValue::from_static(value)));
            let headers = headers.into_iter().collect();
            assert_eq!(last_event_id(&headers).ok(), expected, "{value:?}");
        }
        for value in [&b"x"[..], b"-1", b" ", b"\xff", b"18446744073709551616"] {
            let headers = [(LAST_EVENT_ID, HeaderValue::from_bytes(value).unwrap())].into_iter().collect();
            assert!(last_event_id(&headers).is_err(), "{value:?}");
        }
    }
}
