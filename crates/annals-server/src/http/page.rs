//! The viewer for browsers: static files, which `build.rs` embeds if they were built. Otherwise a page says how to get them.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::HttpState;

include!(concat!(env!("OUT_DIR"), "/viewer.rs"));

/// The places of the viewer: addresses that all show its page, which then reads the address.
const PLACES: [&str; 5] = ["/", "/search", "/usage", "/health", "/s/{session}"];

/// The page if the viewer is not embedded.
const NO_VIEWER: &str = include_str!("page/no-viewer.html");
/// Browsers request it even if no page names it.
const ICON: (&str, &str) = ("/favicon.ico", include_str!("page/icon.svg"));
/// What a browser without access sees, and its script. They are the same for every address.
pub(super) const SIGN_IN: &str = include_str!("page/sign-in.html");
pub(super) const SIGN_IN_SCRIPT: (&str, &str) = ("/sign-in.js", include_str!("page/sign-in.js"));

pub(super) fn router() -> Router<Arc<HttpState>> {
    let index = VIEWER.iter().find(|(path, _)| *path == "/index.html");
    let index: &[u8] = index.map_or(NO_VIEWER.as_bytes(), |(_, contents)| contents);
    let pages = PLACES.map(|path| (path, "html", index));
    let (icon, script) = (ICON, SIGN_IN_SCRIPT);
    let own = [(icon.0, "svg", icon.1.as_bytes()), (script.0, "js", script.1.as_bytes())];
    let assets = assets().map(|(path, contents)| (path, path.rsplit('.').next().unwrap_or(""), contents));
    pages.into_iter().chain(own).chain(assets).fold(Router::new(), |router, (path, kind, contents)| {
        router.route(path, get(async move || file(kind, contents)))
    })
}

/// Returns whether a path is that of a file or a place of the viewer. They contain no secret and no transcript text.
pub(super) fn has(path: &str) -> bool {
    PLACES.contains(&path)
        || path == ICON.0
        || is_conversation(path)
        || assets().any(|(asset, _)| asset == path)
}

fn is_conversation(path: &str) -> bool {
    path.strip_prefix("/s/").is_some_and(|id| !id.is_empty() && !id.contains('/'))
}

/// The scripts and styles of the viewer.
fn assets() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    VIEWER.iter().copied().filter(|(path, _)| path.starts_with("/assets/"))
}

fn file(extension: &str, contents: &'static [u8]) -> Response {
    let kind = match extension {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    };
    ([(header::CONTENT_TYPE, kind)], contents).into_response()
}
