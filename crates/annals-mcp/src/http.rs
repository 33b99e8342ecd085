//! Streamable HTTP without the socket: a server that has checked who asks hands over requests.

use std::convert::Infallible;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::McpServer;

/// A response that is being computed.
type Answer = Pin<Box<dyn Future<Output = http::Response<BoxBody<Bytes, Infallible>>> + Send>>;

/// Answers HTTP requests of clients of the Model Context Protocol. It keeps no state of a client: a request contains everything that
/// its answer needs.
#[derive(Clone)]
pub struct HttpService(StreamableHttpService<McpServer, NeverSessionManager>);

impl std::fmt::Debug for HttpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

impl HttpService {
    /// Creates a service. Whoever owns the socket checks token, `Host` and `Origin` of requests first.
    pub fn new(server: McpServer) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts();
        let sessions = Arc::new(NeverSessionManager::default());
        Self(StreamableHttpService::new(move || Ok(server.clone()), sessions, config))
    }

    /// Answers a request.
    pub fn answer<B>(self, request: http::Request<B>) -> Answer
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Display,
    {
        self.answer_boxed(request.map(|body| body.map_err(|error| error.to_string()).boxed_unsync()))
    }

    /// Answers a request whose body has one type for all callers. So the code of the SDK is compiled in this crate, once, and not again
    /// in each crate that calls [`Self::answer`].
    fn answer_boxed(self, request: http::Request<UnsyncBoxBody<Bytes, String>>) -> Answer {
        Box::pin(async move { self.0.handle(request).await })
    }
}
