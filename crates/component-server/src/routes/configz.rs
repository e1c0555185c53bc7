//! The page `/configz`: the effective configuration.

use axum::body::Bytes;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, any};
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use serde_json::{Value, json};

pub(super) fn page(group: &str, configuration: &Value) -> MethodRouter {
    let text = Bytes::from(json!({ group: configuration }).to_string());
    let headers = [(CONTENT_TYPE, "application/json"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    any(move || async move { (headers, text).into_response() })
}
