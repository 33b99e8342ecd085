//! The history protocol on a connection: `history/*` and its subscriptions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use annals_api::rpc::{Error, Outcome, Params, Request};
use annals_api::serialize;
use annals_proto::{ErrorCode, Method, UnwatchParams, UnwatchResult, WatchParams, WatchResult};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::connection::Outgoing;
use crate::protocol::{Answer, Handling, Peer, Protocol};
use crate::server::Server;

/// The history protocol for one peer.
#[derive(Debug)]
pub(crate) struct History {
    server: Arc<Server>,
    /// The task of each subscription, by its name.
    subscriptions: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Protocol for History {
    fn accept(self: Arc<Self>, request: Request, peer: Peer) -> Handling {
        match Method::from_name(&request.method) {
            None => Handling::PassOn(request, peer),
            Some(Method::HistoryWatch) => {
                Handling::work(async move { self.watch(&request.params, peer.outgoing).await })
            }
            Some(Method::HistoryUnwatch) => {
                Handling::work(async move { self.unwatch(&request.params).await.into() })
            }
            Some(_) => Handling::work(async move {
                let server = self.server.clone();
                let (outcome, permit) = server.work(request.method, request.params, peer.cancelled).await;
                Answer::from(outcome).holding(permit)
            }),
        }
    }
}

impl History {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self { server, subscriptions: Mutex::default() }
    }

    /// Subscribes. The task sends notifications once the answer is queued.
    async fn watch(&self, params: &Params, outgoing: Outgoing) -> Answer {
        let server = self.server.clone();
        let subscribed = match params.read::<WatchParams>() {
            Ok(params) => tokio::task::spawn_blocking(move || server.subscribe(&params)).await,
            Err(error) => Ok(Err(error)),
        };
        let mut subscription = match subscribed.unwrap_or_else(|_| Err(Error::broken_off())) {
            Ok(subscription) => subscription,
            Err(error) => return error.into(),
        };
        let result = WatchResult { subscription: subscription.name(), offset: subscription.offset() };
        let (begin, start) = oneshot::channel();
        let task = tokio::spawn(async move {
            if start.await.is_err() {
                return;
            }
            while let Some((notice, _reservation)) = subscription.next(outgoing.build_budget()).await {
                let Ok(message) = notice.message(subscription.masking()) else { continue };
                if outgoing.send(message).await.is_err() {
                    return;
                }
            }
        });
        self.subscriptions().insert(result.subscription.clone(), task);
        Answer { begin: Some(begin), ..serialize(&result).into() }
    }

    /// Ends a subscription. No notification of it is sent after the answer.
    async fn unwatch(&self, params: &Params) -> Outcome {
        let UnwatchParams { subscription } = params.read()?;
        let task = self.subscriptions().remove(&subscription);
        let task = task.ok_or_else(|| Error::new(ErrorCode::NotFound, "there is no such subscription"))?;
        task.abort();
        let _ = task.await;
        serialize(&UnwatchResult { unwatched: true })
    }

    fn subscriptions(&self) -> MutexGuard<'_, HashMap<String, JoinHandle<()>>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.subscriptions().values().for_each(JoinHandle::abort);
    }
}
