//! The JSON that annals speaks, without a transport and without async.
//!
//! [`Api::dispatch`] answers a request of the history protocol; the command line, the server on standard input and output
//! and the server over HTTP all call it. [`to_wire`] converts the engine's types to those of `annals-proto`. [`Masking`] masks secrets in what is answered. Work that
//! takes long checks a [`CancelToken`] flag between steps. Start reading at `dispatch.rs`.
//!
//! ```
//! use annals_api::rpc::Params;
//! use annals_api::{Api, CancelToken, Options};
//! use annals_engine::{Engine, Home, Roots};
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("projects"))?;
//! # let (config, home) = (folder.path().to_owned(), folder.path().join("annals"));
//! let engine = Engine::open(Roots::given(vec![config])?, Home::at(home));
//! let api = Api::new(engine, Options::default());
//! let params = Params::of(&serde_json::json!({"limit": 20}))?;
//! let result = api.dispatch("history/list", &params, &CancelToken::default())?;
//! assert_eq!(result.get(), r#"{"sessions":[]}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cancel;
mod cursor;
mod dispatch;
pub mod export;
mod line;
mod mask;
mod mask_log;
mod open_sessions;
pub mod rpc;
pub mod to_wire;
pub mod words;

pub use annals_render::{has_harmful, judged};
pub use annals_secrets::Masked;
pub use cancel::CancelToken;
pub use cursor::{PageCursor, read_place};
pub use dispatch::{
    Api, LONGEST_ITEM, Options, end_page, is_absolute, needs_connection, serialize, session_id, usage_by,
    usage_cost_mode, weekday, workspace,
};
#[cfg(feature = "search")]
pub use dispatch::{SMALL_UPDATE, SearchOutcome, Searcher, to_wire_behind};
pub use line::json_line;
pub use mask::{Masking, RULES_FILE, RulesError, serialize_masked};
pub use mask_log::MaskLog;
pub use open_sessions::OpenSession;
