//! A small page for people, until there is a viewer: four files, as they are.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use super::Face;

pub(super) fn router() -> Router<Arc<Face>> {
    Router::new()
        .route("/", get(async || file("text/html; charset=utf-8", include_str!("page/index.html"))))
        .route("/page.js", get(async || file("text/javascript; charset=utf-8", include_str!("page/page.js"))))
        .route("/page.css", get(async || file("text/css; charset=utf-8", include_str!("page/page.css"))))
        // Browsers ask for this one even when no page names it.
        .route("/favicon.ico", get(async || file("image/svg+xml", include_str!("page/icon.svg"))))
}

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}
