//! `GET /events`: what happens, as a stream of events.
//!
//! The number of an event is where in the transcript the entries that it tells end, so that a client that comes back with
//! the last number it has seen goes on exactly there. Between events a stream holds nothing but its place in the file.

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

use super::{Face, json};
use crate::budget::{BudgetedText, ByteBudget, Reservation};
use crate::watch::{Notice, Subscription};
use annals_api::json_line;
use annals_api::rpc::Error;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// After how many milliseconds a client that lost us should come back.
const RETRY: u64 = 1000;

type Told = (Subscription, Option<(Notice, Option<Reservation>)>);

/// A stream of events.
struct Events {
    first: Option<String>,
    next: Pin<Box<dyn Future<Output = Told> + Send>>,
    /// For what is told until the client has taken it.
    budget: ByteBudget,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    heartbeat: Pin<Box<Sleep>>,
    pause: Duration,
    _place: OwnedSemaphorePermit,
}

/// Subscribes to one session or to all of them. Where the last event ended is said by the browser in a header, or by
/// another client in the address.
pub(super) async fn stream(
    State(face): State<Arc<Face>>,
    headers: HeaderMap,
    params: Result<Query<WatchParams>, QueryRejection>,
) -> Response {
    let Ok(Query(mut params)) = params else {
        let message = "`sessionId`, `workspacePath` and `offset` may stand in the address, each once; `offset` is a number";
        return refuse(&Error::invalid_params(message));
    };
    match headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()).map(|id| id.to_str().map(str::parse)) {
        Some(Ok(Ok(offset))) if params.session_id.is_some() => params.offset = Some(offset),
        Some(Err(_) | Ok(Err(_))) => {
            return refuse(&Error::invalid_params("`Last-Event-ID` is a number"));
        }
        _ => {}
    }
    let Ok(place) = face.streams.clone().try_acquire_owned() else {
        return refuse(&Error::new(ErrorCode::TooMany, "there are too many streams"));
    };
    let server = face.server.clone();
    let subscribed = tokio::task::spawn_blocking(move || server.subscribe(&params)).await;
    match subscribed.unwrap_or_else(|_| Err(Error::broken_off())) {
        Ok(subscription) => {
            let kind = HeaderValue::from_static("text/event-stream");
            let events = Events::of(subscription, &face, place);
            ([(header::CONTENT_TYPE, kind)], Body::new(events)).into_response()
        }
        Err(error) => refuse(&error),
    }
}

impl Events {
    fn of(subscription: Subscription, face: &Face, place: OwnedSemaphorePermit) -> Self {
        let ready = WatchResult { subscription: subscription.name(), offset: subscription.offset() };
        let first = format!("retry: {RETRY}\n{}", event("ready", ready.offset, &ready));
        let mut stopping = face.stopping.clone();
        let pause = face.limits.heartbeat;
        Self {
            first: Some(first),
            next: Box::pin(next(subscription, face.telling.clone())),
            budget: face.telling.clone(),
            // If nobody can say it any more, it is so.
            stopping: Box::pin(async move { drop(stopping.wait_for(|stopping| *stopping).await) }),
            heartbeat: Box::pin(sleep(pause)),
            pause,
            _place: place,
        }
    }
}

async fn next(mut subscription: Subscription, budget: ByteBudget) -> Told {
    let notice = subscription.next(&budget).await;
    (subscription, notice)
}

impl hyper::body::Body for Events {
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
            this.next = Box::pin(next(subscription, this.budget.clone()));
            let Some((notice, reservation)) = notice else { return Poll::Ready(None) };
            (spell(&notice), reservation)
        } else {
            ready!(this.heartbeat.as_mut().poll(context));
            (":\n\n".to_owned(), None)
        };
        this.heartbeat.as_mut().reset(Instant::now() + this.pause);
        let bytes = Bytes::from_owner(BudgetedText { text, _reservation: reservation });
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

/// Spells what a subscriber is told.
fn spell(notice: &Notice) -> String {
    match notice {
        Notice::Changed(notice) => event("changed", None, notice),
        Notice::Appended(notice) => {
            let name = if notice.reset { "reset" } else { "appended" };
            event(name, Some(notice.next_offset), notice)
        }
    }
}

fn event(name: &str, id: Option<u64>, data: &impl Serialize) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = json_line(data).expect("a notice is made of JSON");
    format!("{id}event: {name}\ndata: {data}\n\n")
}

/// Says why there is no stream: in the status, for browsers, and in words.
fn refuse(error: &Error) -> Response {
    let status = match error.code {
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::InvalidParams => StatusCode::BAD_REQUEST,
        ErrorCode::Ambiguous => StatusCode::CONFLICT,
        ErrorCode::Refused => StatusCode::FORBIDDEN,
        ErrorCode::TooMany => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let told = serde_json::json!({ "error": { "code": error.code.number(), "message": error.message } });
    json(status, Body::from(told.to_string()))
}
