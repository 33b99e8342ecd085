//! `POST /rpc`: one request in the body, its answer back.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use tokio::time::timeout;

use super::{Face, Limits, json, plain};
use crate::budget::{BudgetedText, ByteBudget, Reservation};
use annals_api::Cancelled;
use annals_api::rpc::{self, Incoming, LONGEST_FRAME, Outcome};

/// Takes a request back when nobody waits for its answer any more.
struct Waiting(Cancelled);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Answers a request. What is wrong with how it was sent is told by the status; what is wrong with itself, in the answer.
pub(super) async fn answer(State(face): State<Arc<Face>>, request: Request) -> Response {
    if !is_json(request.headers()) {
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a request is sent as application/json");
    }
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let length: Option<usize> = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let length = length.unwrap_or(LONGEST_FRAME);
    if length > LONGEST_FRAME {
        return too_large();
    }
    let _reservation = match reserve(&face.incoming, length, &face.limits).await {
        Ok(reservation) => reservation,
        Err(busy) => return busy,
    };
    let body = match timeout(face.limits.body, to_bytes(request.into_body(), LONGEST_FRAME)).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) if broke_off(&error) => {
            return plain(StatusCode::BAD_REQUEST, "the request broke off");
        }
        Ok(Err(_)) => return too_large(),
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive"),
    };
    match Incoming::read(&body) {
        Err((id, error)) => send(&face, rpc::answer(&id, &Err(error))).await,
        Ok(Incoming::Response | Incoming::Notification { .. }) => plain(StatusCode::ACCEPTED, ""),
        Ok(Incoming::Request(request)) => {
            drop(body);
            let cancelled = Cancelled::default();
            let _waiting = Waiting(cancelled.clone());
            let id = request.id.clone();
            let (outcome, _working): (Outcome, _) =
                face.server.clone().work(request.method, request.params, cancelled).await;
            send(&face, rpc::answer(&id, &outcome)).await
        }
    }
}

/// Sends an answer once its bytes are reserved.
async fn send(face: &Face, answer: String) -> Response {
    match reserve(&face.outgoing, answer.len(), &face.limits).await {
        Ok(reservation) => {
            let text = BudgetedText { text: answer, _reservation: reservation };
            json(StatusCode::OK, Body::from(Bytes::from_owner(text)))
        }
        Err(busy) => busy,
    }
}

/// Reserves bytes of a budget. The wait is bounded, so that clients that do not read their answers cannot block others for
/// long.
async fn reserve(
    budget: &ByteBudget,
    length: usize,
    limits: &Limits,
) -> Result<Option<Reservation>, Response> {
    let reservation = timeout(limits.budget_wait, budget.reserve_if_large(length)).await;
    let busy = |_| plain(StatusCode::SERVICE_UNAVAILABLE, "too much waits to be read: ask again later");
    reservation.map_err(busy)
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json") && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Returns whether a body could not be read; else there is too much of it.
fn broke_off(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(<dyn std::error::Error>::is::<hyper::Error>)
}

fn too_large() -> Response {
    plain(StatusCode::PAYLOAD_TOO_LARGE, &format!("a request has at most {LONGEST_FRAME} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_back_when_nobody_waits_for_its_answer() {
        let cancelled = Cancelled::default();
        let waiting = Waiting(cancelled.clone());
        assert!(cancelled.check().is_ok());
        drop(waiting);
        assert!(cancelled.check().is_err());
    }
}
