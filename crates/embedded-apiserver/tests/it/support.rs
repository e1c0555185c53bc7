//! Requests to a server in process.

use embedded_apiserver::{ApiServer, Body};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::Service as _;

/// Sends a request with a JSON body and returns the code and the answer.
pub(crate) async fn send(server: &ApiServer, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let (code, _, text) = exchange(server, method, path, &[("content-type", content_type)], body).await;
    (code, serde_json::from_slice(&text).unwrap_or(Value::Null))
}

/// Sends a request and returns the code, the headers and the body.
pub(crate) async fn exchange(
    server: &ApiServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> (u16, http::HeaderMap, Vec<u8>) {
    let response = raw(server, method, path, headers, body).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body cannot fail").to_bytes();
    (parts.status.as_u16(), parts.headers, body.to_vec())
}

/// Sends a request and returns the answer before its body.
pub(crate) async fn raw(
    server: &ApiServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = http_body_util::Full::<bytes::Bytes>::new(bytes::Bytes::from(body.into()));
    let Ok(response) = server.clone().call(request.body(body).expect("a request")).await;
    response
}

/// A pod with one container.
pub(crate) fn pod(name: &str) -> Value {
    serde_json::json!({
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    })
}

pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
