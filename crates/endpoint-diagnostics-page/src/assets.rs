//! The files of the page.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

/// A file of the page.
#[derive(Clone, Copy)]
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    content_type: &'static str,
    pub(crate) text: &'static str,
}

impl Asset {
    const fn new(path: &'static str, content_type: &'static str, text: &'static str) -> Self {
        Self { path, content_type, text }
    }

    pub(crate) fn headers(self) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(self.content_type))])
    }
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// All files; `/` is the page.
pub(crate) const ASSETS: [Asset; 9] = [
    Asset::new("/", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    Asset::new("/style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
    Asset::new("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    Asset::new("/api.js", JAVASCRIPT, include_str!("../assets/api.js")),
    Asset::new("/app.js", JAVASCRIPT, include_str!("../assets/app.js")),
    Asset::new("/detail.js", JAVASCRIPT, include_str!("../assets/detail.js")),
    Asset::new("/dom.js", JAVASCRIPT, include_str!("../assets/dom.js")),
    Asset::new("/feed.js", JAVASCRIPT, include_str!("../assets/feed.js")),
    Asset::new("/list.js", JAVASCRIPT, include_str!("../assets/list.js")),
];
