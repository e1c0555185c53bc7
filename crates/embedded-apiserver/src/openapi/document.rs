//! Documents that change only with the server, so that clients may keep them.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, Response, StatusCode};
use ring::digest::{SHA512, digest};

/// A document with its hash.
#[derive(Debug, Clone)]
pub(super) struct Document {
    content_type: &'static str,
    /// SHA-512 in upper case, as upstream's.
    hash: String,
    body: Bytes,
}

impl Document {
    pub(super) fn new(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        use std::fmt::Write as _;
        let body = body.into();
        let hash =
            digest(&SHA512, &body).as_ref().iter().fold(String::with_capacity(128), |mut hash, byte| {
                _ = write!(hash, "{byte:02X}");
                hash
            });
        Self { content_type, hash, body }
    }

    pub(super) fn hash(&self) -> &str {
        &self.hash
    }

    /// The response: 304 without a body if the client has this document already.
    ///
    /// `cache_control` says how long the client may keep it without asking.
    pub(super) fn response(&self, headers: &HeaderMap, cache_control: &'static str) -> Response<Bytes> {
        let etag = format!("\"{}\"", self.hash);
        let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let is_known = known.is_some_and(|known| known.split(',').any(|tag| tag.trim() == etag));
        let mut response = Response::new(if is_known { Bytes::new() } else { self.body.clone() });
        let fields = response.headers_mut();
        if let Ok(etag) = etag.parse() {
            fields.insert(ETAG, etag);
        }
        fields.insert(CACHE_CONTROL, http::HeaderValue::from_static(cache_control));
        fields.insert(VARY, http::HeaderValue::from_static("Accept"));
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            fields.insert(CONTENT_TYPE, http::HeaderValue::from_static(self.content_type));
        }
        response
    }
}
