//! Logs at `http` and `https` addresses.

use std::io::{self, Read};
use std::net::IpAddr;
use std::time::Duration;

use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, EXPECT, LOCATION, RETRY_AFTER};
use ureq::http::{HeaderMap, Response, StatusCode, Uri};
use ureq::{Body, RequestBuilder};

use super::{Ingress, PutAnswer, PutEntry, Remote, Token, is_visible};

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may take to begin its answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Before a body with more bytes is sent, the server is asked whether it wants it: one that refuses the request closes the connection,
/// and its answer would be lost among the bytes that it no longer reads.
const LARGE: usize = 256 * 1024;
/// How long a server may take to say that it wants a large body. Many never say so, and get it then.
const WANTED: Duration = Duration::from_secs(1);
/// How long storing one entry may take.
const PUT: Duration = Duration::from_secs(120);
/// The most redirects that are followed to read a log.
const MAX_REDIRECTS: usize = 5;
/// At most this many bytes of the answer to an entry are read, so that the connection can be used again.
const ANSWER_BODY: u64 = 64 * 1024;
/// A server is not waited for longer than this, whatever it asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The longest uuid that is accepted from a server.
const LONGEST_UUID: usize = 256;

/// The header with the uuid of the entry that the server should have stored last.
const LAST_UUID: &str = "Last-Uuid";
/// The header with the uuid of the entry that the server has stored last.
const HEAD: &str = "x-last-uuid";
/// The header with the key of an entry that has no uuid.
const KEY: &str = "Idempotency-Key";

/// A client for `http` and `https`.
///
/// The token is sent to the host that the caller names and to no other: a redirect to another scheme, host or port is followed
/// without it. Over `http`, which anyone on the network path can read, it is sent to this machine only, unless
/// [`allow_insecure`](Self::allow_insecure) says otherwise. The same holds for a user and password in the address.
#[derive(Debug)]
pub struct Http {
    agent: ureq::Agent,
    token: Option<Token>,
    allow_insecure: bool,
}

/// Why no request is sent to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is not one of `http` or `https`.
    #[error("it is not an http or https address")]
    NotHttp,
    /// Others could read the token.
    #[error("the token is not sent over http to another machine")]
    Token,
    /// Others could read the password in the address.
    #[error("the user and password of the address are not sent over http to another machine")]
    Password,
}

impl Default for Http {
    fn default() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .timeout_await_100(Some(WANTED))
            .http_status_as_error(false)
            .max_redirects(0)
            .build();
        Self { agent: ureq::Agent::new_with_config(config), token: None, allow_insecure: false }
    }
}

impl Http {
    /// Sends a token with every request.
    #[must_use]
    pub fn with_token(self, token: Option<Token>) -> Self {
        Self { token, ..self }
    }

    /// Sends the token, or the password in an address, also over `http` to other machines.
    #[must_use]
    pub fn allow_insecure(self, allow_insecure: bool) -> Self {
        Self { allow_insecure, ..self }
    }

    /// Checks that a request to an address can be sent: that it is one of this client, and that it may be given the secrets.
    pub fn check(&self, address: &str) -> Result<(), AddressError> {
        self.authorization(&parse(address)?).map(drop)
    }

    /// Returns the value of `Authorization` for an address, or why the token, or the password in the address, must not be sent
    /// there.
    fn authorization(&self, uri: &Uri) -> Result<Option<String>, AddressError> {
        let is_safe = uri.scheme_str() == Some("https") || self.allow_insecure || is_this_machine(uri);
        let has_password = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        match &self.token {
            Some(_) if !is_safe => Err(AddressError::Token),
            None if has_password && !is_safe => Err(AddressError::Password),
            token => Ok(token.as_ref().map(Token::authorization)),
        }
    }

    /// Returns a request with the token, and without a proxy if this machine is asked.
    fn prepare<B>(&self, request: RequestBuilder<B>, uri: &Uri) -> io::Result<RequestBuilder<B>> {
        let request = match self.authorization(uri).map_err(io::Error::other)? {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        };
        Ok(if is_this_machine(uri) { request.config().proxy(None).build() } else { request })
    }

    /// Reads a log. `first` is the address that the caller named.
    fn get(&self, uri: &Uri, first: &Uri) -> io::Result<Response<Body>> {
        let request = self.agent.get(uri);
        let request = if origin(uri) == origin(first) { self.prepare(request, uri)? } else { request };
        request.call().map_err(|error| io::Error::other(reason(&error)))
    }

    fn send(&self, address: &str, entry: &PutEntry<'_>) -> Result<Response<Body>, PutAnswer> {
        let uri = parse(address).map_err(refused)?;
        let request = self.agent.put(&uri).header(CONTENT_TYPE, "application/json");
        let mut request = self.prepare(request, &uri).map_err(refused)?;
        for (name, value) in [(LAST_UUID, entry.after), (KEY, entry.key)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        if entry.body.len() > LARGE {
            request = request.header(EXPECT, "100-continue");
        }
        request.config().timeout_global(Some(PUT)).build().send(entry.body).map_err(|error| match error {
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => refused(error),
            _ => PutAnswer::Unavailable { reason: reason(&error), retry_after: None },
        })
    }
}

/// Returns the answer to an entry that was not sent because of its address or its headers.
fn refused(error: impl std::fmt::Display) -> PutAnswer {
    PutAnswer::Refused { reason: error.to_string() }
}

/// Returns why a request failed, without the words of the library and the number that the system gives the error.
fn reason(error: &ureq::Error) -> String {
    let text = match error {
        ureq::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    };
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

impl Remote for Http {
    fn open(&self, address: &str) -> io::Result<Option<Box<dyn Read>>> {
        let first = parse(address).map_err(io::Error::other)?;
        let mut uri = first.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.get(&uri, &first)?;
            match response.status() {
                StatusCode::NOT_FOUND => return Ok(None),
                status @ StatusCode::UNAUTHORIZED => {
                    let reason = format!("the server answered {status}");
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
                }
                status if status.is_success() => {
                    return Ok(Some(Box::new(response.into_body().into_reader())));
                }
                status if status.is_redirection() && response.headers().contains_key(LOCATION) => {
                    uri = redirected(&uri, response.headers())?;
                }
                status => return Err(io::Error::other(format!("the server answered {status}"))),
            }
        }
        Err(io::Error::other("the server redirects too often"))
    }
}

impl Ingress for Http {
    fn put(&self, address: &str, entry: &PutEntry<'_>) -> PutAnswer {
        match self.send(address, entry) {
            Ok(response) => answer(response),
            Err(answer) => answer,
        }
    }
}

/// Returns what the answer to an entry means.
fn answer(response: Response<Body>) -> PutAnswer {
    let (parts, body) = response.into_parts();
    // The status says everything. An answer that breaks off after it changes nothing.
    let _ = io::copy(&mut body.into_reader().take(ANSWER_BODY), &mut io::sink());
    let reason = format!("the server answered {}", parts.status);
    match parts.status {
        StatusCode::OK | StatusCode::CREATED => PutAnswer::Stored,
        StatusCode::UNAUTHORIZED => PutAnswer::Unauthorized,
        StatusCode::CONFLICT => conflict(&parts.headers, reason),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
            PutAnswer::Unavailable { reason, retry_after: retry_after(&parts.headers) }
        }
        status if status.is_server_error() => {
            PutAnswer::Unavailable { reason, retry_after: retry_after(&parts.headers) }
        }
        status if status.is_redirection() => {
            PutAnswer::Refused { reason: format!("{reason}; give the address that it redirects to") }
        }
        _ => PutAnswer::Refused { reason },
    }
}

/// Returns the meaning of 409. An empty value says that the server has no entry. If it does not say which its last one is, or
/// says something that cannot be a uuid, it is not known where to continue.
fn conflict(headers: &HeaderMap, reason: String) -> PutAnswer {
    let head = headers.get(HEAD).and_then(|head| head.to_str().ok()).map(str::trim);
    match head.filter(|head| head.len() <= LONGEST_UUID && is_visible(head)) {
        Some(head) => PutAnswer::Conflict { head: Some(head.to_owned()).filter(|head| !head.is_empty()) },
        None => PutAnswer::Unavailable { reason, retry_after: None },
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

fn parse(address: &str) -> Result<Uri, AddressError> {
    let uri: Option<Uri> = address.parse().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
    uri.ok_or(AddressError::NotHttp)
}

/// Returns scheme, host and port of an address.
fn origin(uri: &Uri) -> (Option<&str>, Option<&str>, Option<u16>) {
    let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    (uri.scheme_str(), uri.host(), Some(uri.port_u16().unwrap_or(default)))
}

/// Returns the address that an answer redirects to: a whole address, or a path on the same server.
fn redirected(from: &Uri, headers: &HeaderMap) -> io::Result<Uri> {
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok()).unwrap_or_default();
    if location.starts_with('/') && !location.starts_with("//") {
        let authority = from.authority().map_or("", |authority| authority.as_str());
        let address = format!("{}://{authority}{location}", from.scheme_str().unwrap_or("https"));
        return parse(&address).map_err(io::Error::other);
    }
    parse(location)
        .map_err(|_| io::Error::other("the server redirects to an address that is not http or https"))
}

/// Returns whether an address leads to this machine.
fn is_this_machine(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_sent_over_https_and_to_this_machine() {
        let http = Http::default().with_token(Some(Token::new("secret").unwrap()));
        let is_sent = |http: &Http, address: &str| http.authorization(&parse(address).unwrap()).is_ok();
        for address in
            ["https://example.org/x", "http://127.0.0.1:1/x", "http://[::1]:1/x", "http://LOCALHOST/x"]
        {
            assert!(is_sent(&http, address), "{address}");
        }
        let others = [
            "http://example.org/x",
            "http://10.0.0.1/x",
            "http://127.0.0.1@example.org/x",
            "http://localhost.example.org/x",
        ];
        for address in others {
            let error = http.authorization(&parse(address).unwrap()).unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("over http"), "{error}");
        }
        let http = http.allow_insecure(true);
        assert!(others.iter().all(|address| is_sent(&http, address)));
        let http = Http::default();
        assert!(is_sent(&http, others[0]), "without a token there is nothing to protect");
        assert_eq!(http.check("http://me:secret@example.org/x"), Err(AddressError::Password));
        assert_eq!(http.check("http://me:secret@localhost/x"), Ok(()));
        assert_eq!(http.check("https://me:secret@example.org/x"), Ok(()));
        for bad in ["nonsense", "ftp://example.org/x", "", "http://", "/etc/passwd"] {
            assert_eq!(http.check(bad), Err(AddressError::NotHttp), "{bad}");
        }
    }

    #[test]
    fn a_redirect_to_another_origin_is_another_origin() {
        let uri = |address: &str| parse(address).unwrap();
        let first = uri("https://example.org/a");
        for (same, address) in [
            (true, "https://example.org:443/b"),
            (false, "http://example.org/b"),
            (false, "https://example.org:8443/b"),
            (false, "https://example.com/b"),
        ] {
            assert_eq!(origin(&first) == origin(&uri(address)), same, "{address}");
        }
        let to = |location: &'static str| {
            redirected(&first, &HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]))
        };
        assert_eq!(to("/b?c=1").unwrap(), uri("https://example.org/b?c=1"));
        assert_eq!(to("http://example.com/b").unwrap(), uri("http://example.com/b"));
        for bad in ["//example.com/b", "b", "file:///etc/passwd", ""] {
            assert!(to(bad).is_err(), "{bad}");
        }
    }
}
