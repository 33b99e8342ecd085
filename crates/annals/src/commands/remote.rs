//! Access to servers on other machines, and tokens.

use std::fs::File;
use std::io::Read;
use std::path::Path;

#[cfg(feature = "http")]
use annals_engine::AddressError;
use annals_engine::Token;

use crate::args::RemoteAccess;
use crate::failure::Failure;

/// The environment variable with the token for other machines.
const REMOTE_TOKEN: &str = "ANNALS_REMOTE_TOKEN";
/// The size limit of a token file, in bytes.
const MAX_TOKEN_FILE: u64 = 4096;

/// Returns a client that sends the user's token to an address, if it can be sent there.
#[cfg(feature = "http")]
pub(crate) fn http(access: &RemoteAccess, address: &str) -> Result<annals_engine::Http, Failure> {
    let http = annals_engine::Http::default().with_token(token(access)?).allow_insecure(access.insecure_http);
    // The address itself may be a password that was pasted in the wrong place.
    http.check(address).map_err(|error| {
        let hint = match error {
            AddressError::NotHttp => "an address is like `https://example.org/sessions/{session}`",
            _ => "use an https address, or `--insecure-http`: then anyone on the network path can read it",
        };
        Failure::usage(&format!("cannot use the address: {error}"), hint)
    })?;
    Ok(http)
}

/// Returns the failure that this program has no HTTP.
#[cfg(not(feature = "http"))]
pub(crate) fn http(access: &RemoteAccess, _: &str) -> Result<NoHttp, Failure> {
    token(access)?;
    Err(Failure::usage(
        "this annals was built without HTTP (cargo feature `http`)",
        "build it with `--features http`",
    ))
}

/// The client of a program without HTTP. There is no value of this type.
#[cfg(not(feature = "http"))]
#[derive(Debug)]
pub(crate) enum NoHttp {}

#[cfg(not(feature = "http"))]
impl annals_engine::Remote for NoHttp {
    fn open(&self, _: &str) -> std::io::Result<Option<Box<dyn Read>>> {
        match *self {}
    }
}

#[cfg(not(feature = "http"))]
impl annals_engine::Ingress for NoHttp {
    fn put(&self, _: &str, _: &annals_engine::PutEntry<'_>) -> annals_engine::PutAnswer {
        match *self {}
    }
}

/// Returns the token from a file or the environment, if there is one.
fn token(access: &RemoteAccess) -> Result<Option<Token>, Failure> {
    if let Some(path) = &access.token_file {
        let token = Token::new(&read_token_file(path)?);
        return token.map(Some).map_err(|error| Failure::token_file(path, error));
    }
    let Some(token) = std::env::var_os(REMOTE_TOKEN).filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    // A value that is not UTF-8 becomes a token with invalid characters, which is refused.
    Token::new(&token.to_string_lossy())
        .map(Some)
        .map_err(|error| Failure::token_variable(REMOTE_TOKEN, error))
}

/// Reads a token file, without the line break at its end.
pub(crate) fn read_token_file(path: &Path) -> Result<String, Failure> {
    let mut token = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_TOKEN_FILE + 1).read_to_string(&mut token));
    match read {
        Ok(length) if length as u64 > MAX_TOKEN_FILE => Err(Failure::token_file(path, "it is too long")),
        Ok(_) => Ok(token.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(Failure::token_file(path, error)),
    }
}
