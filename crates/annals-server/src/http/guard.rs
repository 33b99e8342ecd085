//! Who is let in: only who knows the token, and no page of another site.
//!
//! A page of another site can make a browser send requests to this machine, and can have its own name lead here. So the
//! name by which we are called must be ours, and a page that asks must be one of ours.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::sockets::Place;
use super::{Face, HttpError, page, plain};

/// The shortest token that is taken.
const SHORTEST: usize = 16;

/// Where a request came to.
#[derive(Clone)]
pub(super) struct Here {
    /// Which of our addresses.
    pub(super) address: IpAddr,
    /// By which connection.
    pub(super) place: Arc<Place>,
}

/// What lets a request in.
pub(super) struct Guard {
    /// The name that the server was told to listen on; an address is compared with the one that a request came to.
    name: Option<String>,
    port: u16,
    token: String,
    /// What a browser gets in exchange for the token. It opens the files of the page and nothing else, because browsers
    /// send a cookie to every port of a host, and so to every other server on this machine that somebody visits.
    cookie: String,
    /// What the page sends as its token. The page keeps it in `sessionStorage`, which belongs to one origin, port included.
    page_token: String,
    ticket: Mutex<Option<String>>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("name", &self.name).field("port", &self.port).finish_non_exhaustive()
    }
}

/// Says that a request is let in, or what its answer is.
enum Verdict {
    LetIn(Arc<Place>),
    /// Let in like everybody, without a right to the place.
    Tolerate,
    Answer(Response),
}

/// Lets a request in or answers it, and marks all answers so that no other page can use them.
pub(super) async fn check(State(face): State<Arc<Face>>, request: Request, next: Next) -> Response {
    let mut response = match face.guard.judge(&request) {
        Verdict::LetIn(place) => {
            let kept = place.keep();
            kept.until(next.run(request).await)
        }
        Verdict::Tolerate => next.run(request).await,
        Verdict::Answer(response) => response,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// What every answer carries.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
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
        // `localhost` may have two addresses, and somebody else may listen on the other one.
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_name = !is_address && !name.eq_ignore_ascii_case("localhost");
        let token = match token {
            None => random()?,
            Some(token) if token.len() >= SHORTEST && token.bytes().all(is_plain) => token,
            Some(_) => return Err(HttpError::BadToken),
        };
        let name = is_name.then(|| name.to_ascii_lowercase());
        let (cookie, page_token) = (random()?, random()?);
        Ok(Self { name, port, token, cookie, page_token, ticket: Mutex::default() })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Makes a token that is good for one visit; the one before is not any more.
    pub(super) fn issue_ticket(&self) -> Result<String, HttpError> {
        let ticket = random()?;
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket.clone());
        Ok(ticket)
    }

    /// Returns an address that lets somebody in who knows a token.
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

    fn judge(&self, request: &Request) -> Verdict {
        // Others that read the request may go by the other one.
        if let Some(name) =
            [header::HOST, header::AUTHORIZATION].iter().find(|name| is_repeated(request, name))
        {
            return answer(StatusCode::BAD_REQUEST, &format!("a request says `{name}` once"));
        }
        let here = request.extensions().get::<Here>();
        let host = here.and_then(|here| Some((here, self.host(request, here.address)?)));
        let Some((here, host)) = host else {
            return answer(StatusCode::FORBIDDEN, "this server is not called by that name");
        };
        if !is_own_page(request, host) {
            return answer(StatusCode::FORBIDDEN, "pages of other sites are not answered");
        }
        if request.uri().path() == "/healthz" {
            return Verdict::Tolerate;
        }
        if let Some((token, location)) = token_in(request) {
            let is_visit = matches!(*request.method(), Method::GET | Method::HEAD);
            if is_visit && (is_same(token, &self.token) || self.takes_ticket(token)) {
                return Verdict::Answer(self.welcome(request.headers(), &format!("http://{host}{location}")));
            }
            return unknown();
        }
        let headers = request.headers();
        let is_known = match headers.get(header::AUTHORIZATION) {
            Some(given) => bearer(given).is_some_and(|token| self.is_token(token)),
            None => page::has(request.uri().path()) && self.knows_cookie(headers),
        };
        if is_known { Verdict::LetIn(here.place.clone()) } else { unknown() }
    }

    /// Returns by which name the request calls us; none if it is not ours.
    fn host<'a>(&self, request: &'a Request, here: IpAddr) -> Option<&'a str> {
        let host = request.headers().get(header::HOST)?.to_str().ok()?;
        if request.uri().authority().is_some_and(|authority| authority.as_str() != host) {
            return None;
        }
        let authority: Authority = host.parse().ok()?;
        let name = authority.host();
        let is_ours = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.to_canonical() == here.to_canonical(),
            Err(_) if name.eq_ignore_ascii_case("localhost") => here.to_canonical().is_loopback(),
            Err(_) => self.name.as_ref().is_some_and(|ours| name.eq_ignore_ascii_case(ours)),
        };
        let port = authority.port_u16().unwrap_or(80);
        (is_ours && port == self.port && !host.contains('@')).then_some(host)
    }

    fn knows_cookie(&self, headers: &HeaderMap) -> bool {
        cookies(headers, &self.cookie_name()).any(|cookie| is_same(cookie, &self.cookie))
    }

    fn cookie_name(&self) -> String {
        format!("annals-{}", self.port)
    }

    /// Returns whether it is what programs or the page send.
    fn is_token(&self, given: &str) -> bool {
        is_same(given, &self.token) | is_same(given, &self.page_token)
    }

    /// Returns whether it is the token for one visit, which it is no longer then.
    fn takes_ticket(&self, token: &str) -> bool {
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        ticket.take_if(|ticket| is_same(token, ticket)).is_some()
    }

    /// Gives a browser its cookie and sends it to the same place without the token. The token of the page comes behind the
    /// `#` of the new address: browsers send that part to no server, and the page removes it at once.
    fn welcome(&self, headers: &HeaderMap, location: &str) -> Response {
        let location = format!("{location}#token={}", self.page_token);
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.cookie);
        // Who follows a link on another site is sent here by that site, and the cookie is not shown until a page of
        // ours sends him on.
        let is_sent =
            headers.get("sec-fetch-site").is_some_and(|site| site != "none" && site != "same-origin");
        let mut response = if is_sent {
            ([("refresh", format!("0; url={location}"))], "welcome\n").into_response()
        } else {
            (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
        };
        let cookie = HeaderValue::try_from(cookie).expect("it is made of plain characters");
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        response
    }
}

fn is_repeated(request: &Request, name: &HeaderName) -> bool {
    request.headers().get_all(name).iter().nth(1).is_some()
}

/// Returns whether no page asks, or one of ours does. Following a link to us is allowed to every page: that shows it
/// nothing, and browsers do not show our cookie then.
fn is_own_page(request: &Request, host: &str) -> bool {
    let headers = request.headers();
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let is_ours = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host))
    };
    let says = |name: &str, values: &[&str]| {
        headers.get(name).is_some_and(|given| values.iter().any(|value| given == value))
    };
    let is_visit = request.method() == Method::GET && says("sec-fetch-mode", &["navigate"]);
    origins.all(is_ours) && (is_visit || !says("sec-fetch-site", &["cross-site", "same-site"]))
}

/// Takes a token out of an address: returns it and what is left.
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

/// Compares in a time that does not tell how much is right.
fn is_same(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}

/// Says the same to everybody who is not known, whatever he asked for.
fn unknown() -> Verdict {
    let mut response =
        plain(StatusCode::UNAUTHORIZED, "a token is needed: open the link that `annals serve` printed");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    Verdict::Answer(response)
}

fn answer(status: StatusCode, text: &str) -> Verdict {
    Verdict::Answer(plain(status, text))
}

/// Returns 256 bits of the system's randomness as text.
fn random() -> Result<String, HttpError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns whether a character means itself in addresses and headers.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}
