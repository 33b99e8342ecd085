//! Logs behind `http` and `https` addresses.

use std::io::{self, Read};
use std::time::Duration;

use super::Remote;

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may take to begin its answer.
const ANSWER: Duration = Duration::from_secs(60);

/// A client for `http` and `https`.
#[derive(Debug)]
pub struct Http(ureq::Agent);

impl Default for Http {
    fn default() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .build();
        Self(ureq::Agent::new_with_config(config))
    }
}

impl Remote for Http {
    fn open(&self, address: &str) -> io::Result<Option<Box<dyn Read>>> {
        match self.0.get(address).call() {
            Err(ureq::Error::StatusCode(404)) => Ok(None),
            Ok(response) if !response.status().is_success() => {
                Err(io::Error::other(format!("the server answered {}", response.status())))
            }
            response => Ok(Some(Box::new(response.map_err(io::Error::other)?.into_body().into_reader()))),
        }
    }
}
