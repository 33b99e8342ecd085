//! A small page for people, until there is a viewer: four files, as they are.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::routing::get;

use super::Face;

/// Where each file is, what it is, and what is in it.
const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    // Browsers ask for this one even when no page names it.
    ("/favicon.ico", "image/svg+xml", include_str!("page/icon.svg")),
];

pub(super) fn router() -> Router<Arc<Face>> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        router.route(path, get(async move || ([(header::CONTENT_TYPE, kind)], text)))
    })
}

/// Returns whether a path is that of a file of the page. They are the same for everybody and hold no secret.
pub(super) fn has(path: &str) -> bool {
    FILES.iter().any(|(file, ..)| *file == path)
}
