//! Access control: a request needs the token, and pages of other sites are refused.
//!
//! A page of another site can make a browser send requests to this machine, and can resolve its own host name to our
//! address (DNS rebinding). So the `Host` header must name this server, and a page that sends a request must be our own.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::sockets::ConnectionSlot;
use super::{HttpError, HttpState, page, plain};

/// The minimum length of a token that the user chooses.
const MIN_TOKEN_CHARS: usize = 16;

/// The connection that a request came in on.
#[derive(Clone)]
pub(super) struct ConnectionInfo {
    /// Our own address, to which the peer connected.
    pub(super) local_address: IpAddr,
    pub(super) slot: Arc<ConnectionSlot>,
}

/// The secrets and the host name that requests are checked against.
pub(super) struct Guard {
    /// The host name that the server was told to listen on; `None` if that was an address or `localhost`, which are compared
    /// with the local address of the connection.
    name: Option<String>,
    port: u16,
    token: String,
    /// What a browser gets in exchange for the token. It opens the files of the page and nothing else, because browsers
    /// send a cookie to every port of a host, and so to every other server on this machine that the user visits.
    cookie: String,
    /// What the page sends as its token. The page keeps it in `sessionStorage`, which belongs to one origin, port included.
    page_token: String,
    /// A token that is valid once; see [`Guard::issue_ticket`].
    ticket: Mutex<Option<String>>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("name", &self.name).field("port", &self.port).finish_non_exhaustive()
    }
}

/// The outcome of the check.
enum Verdict {
    /// The request may run, and its connection is not evicted meanwhile.
    Authorized(Arc<ConnectionSlot>),
    /// Anyone may send the request, but that does not keep its connection from being evicted.
    Public,
    /// The request does not run; this is its answer.
    Respond(Response),
}

/// Runs a request if it is authorized, and adds headers to every answer that keep pages of other sites from using it.
pub(super) async fn check(State(state): State<Arc<HttpState>>, request: Request, next: Next) -> Response {
    let mut response = match state.guard.authorize(&request) {
        Verdict::Authorized(slot) => {
            let busy = slot.mark_busy();
            busy.until_complete(next.run(request).await)
        }
        Verdict::Public => next.run(request).await,
        Verdict::Respond(response) => response,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// The headers of every answer.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
         require-trusted-types-for 'script'; trusted-types 'none'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
];

impl Guard {
    pub(super) fn new(name: &str, port: u16, token: Option<String>) -> Result<Self, HttpError> {
        // `localhost` may have two addresses, and another server may listen on the other one.
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_name = !is_address && !name.eq_ignore_ascii_case("localhost");
        let token = match token {
            None => random_token()?,
            Some(token) if token.len() >= MIN_TOKEN_CHARS && token.bytes().all(is_unreserved) => token,
            Some(_) => return Err(HttpError::BadToken),
        };
        let name = is_name.then(|| name.to_ascii_lowercase());
        let (cookie, page_token) = (random_token()?, random_token()?);
        Ok(Self { name, port, token, cookie, page_token, ticket: Mutex::default() })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Creates a token that is valid once. It replaces the previous one.
    pub(super) fn issue_ticket(&self) -> Result<String, HttpError> {
        let ticket = random_token()?;
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket.clone());
        Ok(ticket)
    }

    /// Returns the URL of the page with a token.
    pub(super) fn link(&self, address: IpAddr, token: &str) -> String {
        let host = match (&self.name, address) {
            (Some(name), _) => name.clone(),
            (None, IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
            (None, IpAddr::V6(address)) if address.is_unspecified() => "[::1]".to_owned(),
            (None, IpAddr::V4(address)) => address.to_string(),
            (None, IpAddr::V6(address)) => format!("[{address}]"),
        };
        format!("http://{host}:{}/?token={token}", self.port)
    }

    /// Checks `Host` and `Origin` before anything else (invariant 20).
    fn authorize(&self, request: &Request) -> Verdict {
        // A proxy in front of us may use another one of two headers than we do.
        if let Some(name) =
            [header::HOST, header::AUTHORIZATION].iter().find(|name| is_repeated(request, name))
        {
            return refuse(StatusCode::BAD_REQUEST, &format!("a request says `{name}` once"));
        }
        let connection = request.extensions().get::<ConnectionInfo>();
        let host = connection
            .and_then(|connection| Some((connection, self.host(request, connection.local_address)?)));
        let Some((connection, host)) = host else {
            return refuse(StatusCode::FORBIDDEN, "this server does not answer to that host name");
        };
        if !is_own_page(request, host) {
            return refuse(StatusCode::FORBIDDEN, "pages of other sites are not answered");
        }
        if ["/healthz", page::SIGN_IN_SCRIPT.0].contains(&request.uri().path()) {
            return Verdict::Public;
        }
        if let Some((token, location)) = token_in(request) {
            let is_visit = matches!(*request.method(), Method::GET | Method::HEAD);
            if is_visit && (is_equal_secret(token, &self.token) || self.redeem_ticket(token)) {
                return Verdict::Respond(
                    self.sign_in(request.headers(), &format!("http://{host}{location}")),
                );
            }
            return unauthorized(request);
        }
        let headers = request.headers();
        let is_authorized = match headers.get(header::AUTHORIZATION) {
            Some(given) => bearer(given).is_some_and(|token| self.is_token(token)),
            None => page::has(request.uri().path()) && self.has_cookie(headers),
        };
        if is_authorized { Verdict::Authorized(connection.slot.clone()) } else { unauthorized(request) }
    }

    /// Returns the `Host` of the request; `None` if it does not name this server.
    fn host<'a>(&self, request: &'a Request, local_address: IpAddr) -> Option<&'a str> {
        let host = request.headers().get(header::HOST)?.to_str().ok()?;
        if request.uri().authority().is_some_and(|authority| authority.as_str() != host) {
            return None;
        }
        let authority: Authority = host.parse().ok()?;
        let name = authority.host();
        let is_ours = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.to_canonical() == local_address.to_canonical(),
            Err(_) if name.eq_ignore_ascii_case("localhost") => local_address.to_canonical().is_loopback(),
            Err(_) => self.name.as_ref().is_some_and(|ours| name.eq_ignore_ascii_case(ours)),
        };
        let port = authority.port_u16().unwrap_or(80);
        (is_ours && port == self.port && !host.contains('@')).then_some(host)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        cookies(headers, &self.cookie_name()).any(|cookie| is_equal_secret(cookie, &self.cookie))
    }

    fn cookie_name(&self) -> String {
        format!("annals-{}", self.port)
    }

    /// Returns whether this is the token that programs send, or the one that the page sends.
    fn is_token(&self, given: &str) -> bool {
        is_equal_secret(given, &self.token) | is_equal_secret(given, &self.page_token)
    }

    /// Returns whether this is the ticket, which becomes invalid.
    fn redeem_ticket(&self, token: &str) -> bool {
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        ticket.take_if(|ticket| is_equal_secret(token, ticket)).is_some()
    }

    /// Gives a browser its cookie and redirects it to the same URL without the token. The token of the page is in the
    /// fragment of that URL: browsers send the fragment to no server, and the page removes it at once.
    fn sign_in(&self, headers: &HeaderMap, location: &str) -> Response {
        let location = format!("{location}#token={}", self.page_token);
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.cookie);
        // After a link on another site, a browser does not send a `SameSite=Strict` cookie along a redirect. It does after
        // a refresh, which counts as a request of our own page.
        let is_from_other_site =
            headers.get("sec-fetch-site").is_some_and(|site| site != "none" && site != "same-origin");
        let mut response = if is_from_other_site {
            ([("refresh", format!("0; url={location}"))], "welcome\n").into_response()
        } else {
            (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
        };
        let cookie = HeaderValue::try_from(cookie).expect("its characters are all valid in a header");
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        response
    }
}

fn is_repeated(request: &Request, name: &HeaderName) -> bool {
    request.headers().get_all(name).iter().nth(1).is_some()
}

/// Returns whether the request comes from our own page or from no page at all. A link on another site may lead to us: that
/// site cannot read the answer, and the browser does not send our cookie.
fn is_own_page(request: &Request, host: &str) -> bool {
    let headers = request.headers();
    let is_navigation =
        request.method() == Method::GET && header_is_one_of(headers, "sec-fetch-mode", &["navigate"]);
    let is_from_other_site = header_is_one_of(headers, "sec-fetch-site", &["cross-site", "same-site"]);
    headers.get_all(header::ORIGIN).iter().all(|origin| is_origin_of(origin, host))
        && (is_navigation || !is_from_other_site)
}

/// Returns whether an `Origin` header names this host.
fn is_origin_of(origin: &HeaderValue, host: &str) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host))
}

fn header_is_one_of(headers: &HeaderMap, name: &str, values: &[&str]) -> bool {
    headers.get(name).is_some_and(|given| values.iter().any(|value| given == value))
}

/// Returns the token in a URL, and the URL without it.
fn token_in(request: &Request) -> Option<(&str, String)> {
    let (path, query) = (request.uri().path(), request.uri().query()?);
    let token = query.split('&').find_map(|part| part.strip_prefix("token="))?;
    let rest: Vec<_> = query.split('&').filter(|part| !part.starts_with("token=")).collect();
    let mark = if rest.is_empty() { "" } else { "?" };
    Some((token, format!("{path}{mark}{}", rest.join("&"))))
}

fn bearer(given: &HeaderValue) -> Option<&str> {
    let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let given = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let pairs =
        given.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    pairs.filter(move |(given, _)| *given == name).map(|(_, value)| value)
}

/// Compares in constant time, so that the time does not reveal how much of a guess is right.
fn is_equal_secret(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}

/// Answers every request without a valid token in the same way, so that the answer reveals nothing about the path. A person who
/// opened the address in a browser is asked for the link.
fn unauthorized(request: &Request) -> Verdict {
    let mut response = if header_is_one_of(request.headers(), "sec-fetch-mode", &["navigate"]) {
        (StatusCode::UNAUTHORIZED, Html(page::SIGN_IN)).into_response()
    } else {
        plain(StatusCode::UNAUTHORIZED, "a token is needed: open the link that `annals serve` printed")
    };
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    Verdict::Respond(response)
}

fn refuse(status: StatusCode, text: &str) -> Verdict {
    Verdict::Respond(plain(status, text))
}

/// Returns 256 random bits as text.
fn random_token() -> Result<String, HttpError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns whether a character needs no escape in URLs and headers (RFC 3986, unreserved).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}
