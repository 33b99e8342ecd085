//! The history that tools read: requests to the API, and why a call of a tool fails.

use annals_api::rpc::Params;
use annals_api::{Api, CancelToken};
use annals_proto::{ErrorCode, Method};
use rmcp::model::JsonObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::excerpt::line;

/// What a call of a tool may ask. It never asks to reveal secrets, and never for a change.
pub(crate) struct History<'a> {
    api: &'a Api,
    cancelled: &'a CancelToken,
}

/// Why a call failed, in words that help a model to call again. It never has text of a transcript.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) String);

impl<'a> History<'a> {
    pub(crate) fn new(api: &'a Api, cancelled: &'a CancelToken) -> Self {
        Self { api, cancelled }
    }

    /// Returns a path in one line, with its secrets masked. The API leaves paths as they are, for programs that open them; a
    /// model only reads them.
    pub(crate) fn path(&self, path: &str, longest: usize) -> String {
        match self.api.masking(None) {
            Ok(Some(masking)) => line(&masking.text(path).text, longest),
            _ => String::new(),
        }
    }

    /// Asks the API.
    pub(crate) fn get<R: DeserializeOwned>(
        &self,
        method: Method,
        params: &impl Serialize,
    ) -> Result<R, Refusal> {
        debug_assert!(!method.is_change(), "tools only read");
        let params = Params::of(params).map_err(|_| internal())?;
        let result = self.api.dispatch(method.name(), &params, self.cancelled)?;
        serde_json::from_str(result.get()).map_err(|_| internal())
    }

    /// Replaces the name of a session by its id, so that an agent can name it as a person does.
    pub(crate) fn resolve_session(&self, arguments: &mut JsonObject) -> Result<(), Refusal> {
        if let Some(Value::String(name)) = arguments.get_mut("session") {
            *name = self.api.session_named(name)?;
        }
        Ok(())
    }
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    pub(crate) fn broken_off() -> Self {
        Self::new("the work broke off")
    }
}

impl From<annals_api::rpc::Error> for Refusal {
    fn from(error: annals_api::rpc::Error) -> Self {
        let hint = match error.code {
            ErrorCode::NotFound => {
                ". `list_sessions` and `search_sessions` return the ids of sessions and messages"
            }
            ErrorCode::Ambiguous => ". Give `project`, the working directory of the one that is meant",
            ErrorCode::StaleCursor => ". Ask again without `cursor`",
            _ => "",
        };
        Self(format!("{}{hint}", error.message))
    }
}

fn internal() -> Refusal {
    Refusal::new("the answer could not be read")
}
