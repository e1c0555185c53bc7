//! Documents that change only with the server, so that clients may keep them.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
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

    /// The response, which clients keep, and ask for again before they use it.
    pub(super) fn response(&self) -> Response<Bytes> {
        let mut response = Response::new(self.body.clone());
        let fields = response.headers_mut();
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        response
    }
}
