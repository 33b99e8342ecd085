//! JSON-RPC 2.0, one message per line.

use std::io::{self, BufRead};

use annals_proto::ErrorCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use serde_json::value::RawValue;

use crate::line::json_line;

/// The longest message that is accepted, in bytes.
pub const LONGEST_FRAME: usize = 16 << 20;
/// The most characters of an error message about a parameter.
const LONGEST_COMPLAINT: usize = 200;

/// One line from a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line without its newline.
    Line(Vec<u8>),
    /// A line longer than [`LONGEST_FRAME`], which was skipped.
    TooLong,
}

/// Reads lines of bounded length, skipping blank ones.
#[derive(Debug)]
pub struct Frames<R> {
    source: R,
}

/// A message from a peer.
#[derive(Clone, Debug)]
pub enum Incoming {
    /// A message that needs an answer.
    Request(Request),
    /// A message that needs no answer.
    Notification {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Params,
    },
    /// An answer. This server sends no requests, so answers are ignored.
    Response,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its id, which the answer repeats.
    pub id: Id,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Params,
}

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Number(Number),
    /// Text.
    Text(String),
    /// No id, because the request could not be read.
    Null,
}

/// Parameters that are not deserialized yet.
#[derive(Clone, Debug, Default)]
pub struct Params(Option<Box<RawValue>>);

/// Why a request failed. It never contains text of a transcript.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The code of the reason.
    pub code: ErrorCode,
    /// The reason in words.
    pub message: String,
    /// Details for programs.
    pub data: Option<Box<RawValue>>,
}

/// The outcome of a request: its result, or why it failed.
pub type Outcome = Result<Box<RawValue>, Error>;

impl<R: BufRead> Frames<R> {
    /// Reads lines from a source.
    pub fn new(source: R) -> Self {
        Self { source }
    }

    /// Returns the next line, or `None` at the end.
    pub fn read(&mut self) -> io::Result<Option<Frame>> {
        let mut line = Vec::new();
        let mut is_too_long = false;
        loop {
            let available = match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            let is_end = available.is_empty();
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.unwrap_or(available.len());
            is_too_long |= line.len() + taken > LONGEST_FRAME;
            if is_too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(&available[..taken]);
            }
            self.source.consume(newline.map_or(taken, |newline| newline + 1));
            if !is_end && newline.is_none() {
                continue;
            }
            if is_too_long {
                return Ok(Some(Frame::TooLong));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Frame::Line(line)));
            }
            if is_end {
                return Ok(None);
            }
            line.clear();
        }
    }
}

/// The fields of a message. A field that is null is `Some`; an absent field is `None`.
#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Refuses a message; the error is sent with an id.
fn fail<T>(id: Id, code: ErrorCode, message: &str) -> Result<T, (Id, Error)> {
    Err((id, Error::new(code, message)))
}

impl Incoming {
    /// Reads a message. An error comes with the id that it is answered to, which is null if it could not be read.
    pub fn read(line: &[u8]) -> Result<Self, (Id, Error)> {
        let Ok(text) = std::str::from_utf8(line) else {
            return fail(Id::Null, ErrorCode::Parse, "the message is not UTF-8");
        };
        if text.trim_start().starts_with('[') {
            return fail(
                Id::Null,
                ErrorCode::InvalidRequest,
                "batches are not supported: send one message a line",
            );
        }
        let message: RawMessage<'_> = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) if error.is_data() => {
                return fail(Id::Null, ErrorCode::InvalidRequest, "the message is not a request");
            }
            Err(error) => {
                let place = format!("the message is not JSON (column {})", error.column());
                return fail(Id::Null, ErrorCode::Parse, &place);
            }
        };
        let id = match message.id.map(|id| serde_json::from_str::<Id>(id.get())) {
            None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => {
                return fail(Id::Null, ErrorCode::InvalidRequest, "an id is a string or a number");
            }
        };
        if message.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return fail(id.unwrap_or(Id::Null), ErrorCode::InvalidRequest, "`jsonrpc` is not \"2.0\"");
        }
        let Some(method) = message.method else {
            return match message.result.or(message.error) {
                Some(_) => Ok(Incoming::Response),
                None => fail(id.unwrap_or(Id::Null), ErrorCode::InvalidRequest, "there is no `method`"),
            };
        };
        let Ok(method) = serde_json::from_str::<String>(method.get()) else {
            return fail(id.unwrap_or(Id::Null), ErrorCode::InvalidRequest, "`method` is not a string");
        };
        let params = Params(message.params.map(RawValue::to_owned));
        Ok(match id {
            Some(id) => Incoming::Request(Request { id, method, params }),
            None => Incoming::Notification { method, params },
        })
    }
}

impl Params {
    /// Serializes parameters.
    pub fn of(params: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(params).map(|params| Self(Some(params)))
    }

    /// Returns the parameters as they were received.
    pub fn raw(&self) -> Option<&RawValue> {
        self.0.as_deref()
    }

    /// Deserializes the parameters; missing or null parameters are an empty object.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let json = self.0.as_ref().map_or("null", |params| params.get());
        let json = if json == "null" { "{}" } else { json };
        if !json.starts_with('{') {
            return Err(Error::invalid_params("parameters are an object, by name"));
        }
        let mut deserializer = serde_json::Deserializer::from_str(json);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| Error::wrong_params(&error))
    }
}

impl Error {
    /// Returns an error with a code and a message.
    pub fn new(code: ErrorCode, message: &str) -> Self {
        Self { code, message: message.to_owned(), data: None }
    }

    /// Returns an error about parameters.
    pub fn invalid_params(message: &str) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// Returns an error that names the wrong parameter. The message is cut, because it quotes the value.
    fn wrong_params(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let message = error.inner().to_string();
        // The path of the parameter says where it is, so the line and column are left out.
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        // A number that is refused is negative or has a fraction.
        let is_number = ["invalid value: integer", "invalid type: floating"]
            .iter()
            .any(|start| message.starts_with(start));
        let expected = if is_number { "expected a whole number from 0 up" } else { "expected a number" };
        let message = message.replace("expected usize", expected).replace("expected u64", expected);
        let cut: String = message.chars().take(LONGEST_COMPLAINT).collect();
        let more = if cut.len() < message.len() { "…" } else { "" };
        let place: String = error.path().to_string().chars().take(LONGEST_COMPLAINT).collect();
        Self::invalid_params(&match &*place {
            "." => format!("{cut}{more}"),
            place => format!("`{place}`: {cut}{more}"),
        })
    }

    /// Returns the error of a cancelled request.
    pub fn cancelled() -> Self {
        Self::new(ErrorCode::Cancelled, "the request was cancelled")
    }

    /// Returns the error of an unknown method.
    pub fn method_not_found() -> Self {
        Self::new(ErrorCode::MethodNotFound, "there is no such method")
    }

    /// Returns the error of a request whose peer has disconnected.
    pub fn gone() -> Self {
        Self::new(ErrorCode::Cancelled, "the peer has gone")
    }

    /// Returns the error of a request whose thread ended early.
    pub fn broken_off() -> Self {
        Self::new(ErrorCode::Internal, "the work broke off")
    }

    /// Adds details for programs.
    #[must_use]
    pub fn with_data(self, data: &impl Serialize) -> Self {
        Self { data: serde_json::value::to_raw_value(data).ok(), ..self }
    }
}

impl From<annals_engine::Error> for Error {
    fn from(error: annals_engine::Error) -> Self {
        let code = match &error {
            error
                if error.is_not_found()
                    || error.is_not_in_trash()
                    || error.is_no_entry()
                    || error.is_no_agent() =>
            {
                ErrorCode::NotFound
            }
            error if !error.candidates().is_empty() => ErrorCode::Ambiguous,
            error if error.is_live() => ErrorCode::Busy,
            error if error.is_outside() => ErrorCode::Refused,
            error if error.is_no_title() => ErrorCode::InvalidParams,
            #[cfg(feature = "search")]
            error if error.is_query() => ErrorCode::InvalidParams,
            #[cfg(feature = "search")]
            error if error.is_stale_cursor() => ErrorCode::StaleCursor,
            #[cfg(feature = "search")]
            error if error.is_index_busy() => ErrorCode::Busy,
            error if error.is_path_taken() || error.is_half_purged() => ErrorCode::Conflict,
            error if error.is_unreadable() => ErrorCode::Unreadable,
            _ => ErrorCode::Internal,
        };
        let failed = Self::new(code, &error.to_string());
        match error.candidates() {
            [] => failed,
            candidates => {
                let paths = candidates.iter().map(|candidate| candidate.path.to_string_lossy());
                let candidates: Vec<_> = paths.collect();
                failed.with_data(&serde_json::json!({ "candidates": candidates }))
            }
        }
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorFields<'a>>,
}

#[derive(Serialize)]
struct ErrorFields<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Notice<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

/// Returns an answer as JSON on one line.
pub fn answer(id: &Id, outcome: &Outcome) -> String {
    let (result, error) = match outcome {
        Ok(result) => (Some(&**result), None),
        Err(Error { code, message, data }) => {
            (None, Some(ErrorFields { code: code.number(), message, data: data.as_deref() }))
        }
    };
    json_line(&Answer { jsonrpc: "2.0", id, result, error }).expect("an answer is made of JSON")
}

/// Returns a notification as JSON on one line.
pub fn notification(method: &str, params: &impl Serialize) -> serde_json::Result<String> {
    json_line(&Notice { jsonrpc: "2.0", method, params })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8], piece: usize) -> Vec<Frame> {
        let mut frames = Frames::new(io::BufReader::with_capacity(piece, bytes));
        std::iter::from_fn(|| frames.read().unwrap()).collect()
    }

    #[test]
    fn lines_are_taken_however_they_arrive() {
        for piece in [1, 2, 7, 100] {
            let found = frames(b"{}\r\n\n  \n[1]\nlast", piece);
            let lines = [&b"{}\r"[..], b"[1]", b"last"].map(|line| Frame::Line(line.to_vec()));
            assert_eq!(found, lines, "{piece}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_taken() {
        let mut bytes = vec![b'x'; LONGEST_FRAME + 1];
        bytes.extend(b"\n{}\n");
        assert_eq!(frames(&bytes, 1 << 16), [Frame::TooLong, Frame::Line(b"{}".to_vec())]);
        let longest = vec![b'x'; LONGEST_FRAME];
        assert_eq!(frames(&longest, 1 << 16), [Frame::Line(longest)]);
    }

    #[test]
    fn what_is_no_request_is_told_apart() {
        for (line, id, code) in [
            (&b"{"[..], Id::Null, ErrorCode::Parse),
            (b"{} x", Id::Null, ErrorCode::Parse),
            (b"\xff{}", Id::Null, ErrorCode::Parse),
            (b"17", Id::Null, ErrorCode::InvalidRequest),
            (b"[]", Id::Null, ErrorCode::InvalidRequest),
            (b"{}", Id::Null, ErrorCode::InvalidRequest),
            (br#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, Id::Number(1.into()), ErrorCode::InvalidRequest),
            (br#"{"jsonrpc":"2.0","id":"a"}"#, Id::Text("a".to_owned()), ErrorCode::InvalidRequest),
            (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, Id::Number(1.into()), ErrorCode::InvalidRequest),
            (br#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, Id::Null, ErrorCode::InvalidRequest),
        ] {
            let (found, error) = Incoming::read(line).unwrap_err();
            assert_eq!((found, error.code), (id, code), "{}", String::from_utf8_lossy(line));
        }
    }

    fn read(line: &str) -> Incoming {
        Incoming::read(line.as_bytes()).unwrap()
    }

    fn params(json: &str) -> Params {
        Params(Some(RawValue::from_string(json.to_owned()).unwrap()))
    }

    fn complaint(json: &str) -> String {
        params(json).read::<annals_proto::ListParams>().unwrap_err().message
    }

    #[test]
    fn an_id_that_is_null_wants_an_answer_and_one_that_is_missing_none() {
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), Incoming::Request(_)));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","method":"x"}"#), Incoming::Notification { .. }));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), Incoming::Response));
    }

    #[test]
    fn parameters_may_be_left_out_but_not_be_a_list() {
        for none in [Params(None), params("null"), params("{}")] {
            assert_eq!(none.read::<annals_proto::ListParams>().unwrap(), annals_proto::ListParams::default());
        }
        let error = params("[1]").read::<annals_proto::ListParams>().unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidParams);
    }

    #[test]
    fn wrong_parameters_are_named_and_not_repeated_at_length() {
        let told = complaint(r#"{"workspacePath": "/茶", "limit": "ten"}"#);
        assert_eq!(told, "`limit`: invalid type: string \"ten\", expected a number");
        let told = complaint(r#"{"limit": -1}"#);
        assert_eq!(told, "`limit`: invalid value: integer `-1`, expected a whole number from 0 up");
        let told = complaint(r#"{"limit": 1.5}"#);
        assert_eq!(told, "`limit`: invalid type: floating point `1.5`, expected a whole number from 0 up");
        let told = complaint(&format!(r#"{{"limit": "{}"}}"#, "天".repeat(1 << 20)));
        assert!(told.starts_with("`limit`: invalid type: string \"天天") && told.ends_with("天…"), "{told}");
        assert!(told.chars().count() < 2 * LONGEST_COMPLAINT);
    }
}
