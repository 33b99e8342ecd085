//! A browser opens the viewer: the suite of `cargo x viewer`.

use super::{Stage, Trouble, Verdict, program};
use crate::web;

pub(super) fn check(stage: &Stage) -> Verdict {
    program(&["chromium", "chromium-browser", "google-chrome"])?;
    program(&["node"])?;
    program(&["npm"])?;
    web::check(&stage.annals, None).map_err(|error| Trouble::Failed(error.to_string()))
}
