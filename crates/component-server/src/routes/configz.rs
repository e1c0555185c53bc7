//! The page `/configz`: the effective configuration.

use axum::response::IntoResponse;
use axum::routing::{MethodRouter, any};
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use serde_json::{Value, json};

pub(super) fn page<F>(group: &'static str, configuration: F) -> MethodRouter
where
    F: Fn() -> Value + Clone + Send + Sync + 'static,
{
    let headers = [(CONTENT_TYPE, "application/json"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    any(move || async move { (headers, json!({ group: configuration() }).to_string()).into_response() })
}
