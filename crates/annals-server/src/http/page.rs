//! A small page for browsers: four static files.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::routing::get;

use super::HttpState;

/// Path, content type and contents of each file.
const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    // Browsers request this one even if no page names it.
    ("/favicon.ico", "image/svg+xml", include_str!("page/icon.svg")),
];

pub(super) fn router() -> Router<Arc<HttpState>> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        router.route(path, get(async move || ([(header::CONTENT_TYPE, kind)], text)))
    })
}

/// Returns whether a path is that of a file of the page. The files contain no secret and no transcript text.
pub(super) fn has(path: &str) -> bool {
    FILES.iter().any(|(file, ..)| *file == path)
}
