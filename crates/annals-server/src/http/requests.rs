//! `POST /rpc`: a JSON-RPC request in the body, and its answer in the body of the response.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use tokio::time::timeout;

use super::{Answer, HttpState, Limits, json, plain};
use crate::budget::{BudgetedText, ByteBudget, Reservation};
use annals_api::CancelToken;
use annals_api::rpc::{self, Incoming, LONGEST_FRAME, Outcome};

/// Cancels a request when its handler is dropped, which hyper does when the client disconnects.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Answers a request. Errors of HTTP have a status of their own; errors of JSON-RPC are answers with status 200.
pub(super) async fn answer(State(state): State<Arc<HttpState>>, request: Request) -> Response {
    if !is_json(request.headers()) {
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a request is sent as application/json");
    }
    let (_, body, _reservation) = match receive(&state, request).await {
        Ok(received) => received,
        Err(refusal) => return refusal,
    };
    match Incoming::read(&body) {
        Err((id, error)) => send(&state, rpc::answer(&id, &Err(error))).await,
        Ok(Incoming::Response | Incoming::Notification { .. }) => plain(StatusCode::ACCEPTED, ""),
        Ok(Incoming::Request(request)) => {
            drop(body);
            let cancelled = CancelToken::default();
            let _cancel_on_drop = CancelOnDrop(cancelled.clone());
            let id = request.id.clone();
            let (outcome, _permit): (Outcome, _) =
                state.server.clone().work(request.method, request.params, cancelled).await;
            send(&state, rpc::answer(&id, &outcome)).await
        }
    }
}

/// Passes a request on once its body has arrived.
pub(super) async fn hand_over(
    State(state): State<Arc<HttpState>>,
    request: Request,
    answer: &Answer,
) -> Response {
    match receive(&state, request).await {
        Ok((head, body, _reservation)) => answer(Request::from_parts(head, Body::from(body))).await,
        Err(refusal) => refusal,
    }
}

/// Receives the body of a request, in bounded time and with a bounded size.
pub(super) async fn receive(
    state: &HttpState,
    request: Request,
) -> Result<(Parts, Bytes, Option<Reservation>), Response> {
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let length: Option<usize> = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let length = length.unwrap_or(LONGEST_FRAME);
    if length > LONGEST_FRAME {
        return Err(too_large());
    }
    let reservation = reserve(&state.request_budget, length, &state.limits).await?;
    let (head, body) = request.into_parts();
    match timeout(state.limits.body, to_bytes(body, LONGEST_FRAME)).await {
        Ok(Ok(body)) => Ok((head, body, reservation)),
        Ok(Err(error)) if is_transport_error(&error) => {
            Err(plain(StatusCode::BAD_REQUEST, "the request broke off"))
        }
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")),
    }
}

/// Sends an answer once its bytes are reserved.
async fn send(state: &HttpState, answer: String) -> Response {
    match reserve(&state.answer_budget, answer.len(), &state.limits).await {
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
    reservation.map_err(|_| {
        plain(StatusCode::SERVICE_UNAVAILABLE, "too many bytes wait to be read: ask again later")
    })
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json") && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Returns whether a body could not be read from the connection. The only other error is that it is too long.
fn is_transport_error(error: &(dyn std::error::Error + 'static)) -> bool {
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
    fn a_request_is_cancelled_when_its_handler_is_dropped() {
        let cancelled = CancelToken::default();
        let guard = CancelOnDrop(cancelled.clone());
        assert!(cancelled.check().is_ok());
        drop(guard);
        assert!(cancelled.check().is_err());
    }
}
