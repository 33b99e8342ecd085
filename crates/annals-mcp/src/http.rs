//! Streamable HTTP without the socket: a server that has checked who asks hands over requests.

use std::fmt::Display;
use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::McpServer;

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
        let create = move || Ok(server.clone());
        Self(StreamableHttpService::new(create, Arc::new(NeverSessionManager::default()), config))
    }

    /// Answers a request.
    pub async fn answer<B>(
        self,
        request: http::Request<B>,
    ) -> http::Response<
        impl http_body::Body<Data = bytes::Bytes, Error = std::convert::Infallible> + Send + 'static,
    >
    where
        B: http_body::Body + Send + 'static,
        B::Error: Display,
    {
        self.0.handle(request).await
    }
}
