//! Requests of a preflight: reads, and access reviews, which the API server does not store.

use std::time::Duration;

use endpoint_controller_manager::version;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube_api::{ApiError, error_chain};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::objects;
use crate::preflight::command::NAME;
use crate::preflight::unknown::{Fact, Unknown};

/// The longest wait for the header of a response.
const LIMIT: Duration = Duration::from_secs(30);

/// The head of a response.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// The message of a refusal.
    pub(super) message: String,
}

impl Cluster {
    /// Reads an object. `action` says what it is for a reader, such as `get leases`.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, action: &str) -> Fact<Option<T>> {
        objects::find(&self.client, path).await.map_err(|error| unknown(&error, action))
    }

    /// The elements of a list in one response.
    pub(super) async fn items(&self, path: &str, action: &str) -> Fact<Vec<Value>> {
        match objects::list(&self.client, path).await {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            outcome => outcome.map_err(|error| unknown(&error, action)),
        }
    }

    /// Sends an access review, and returns its status.
    pub(super) async fn review(&self, resource: &str, review: &Value) -> Fact<Value> {
        let path = format!("/apis/authorization.k8s.io/v1/{resource}");
        let answer = self.client.create_json::<Value>(&path, review).await;
        let mut answer = answer.map_err(|error| unknown(&error, &format!("create {resource}")))?;
        Ok(answer.get_mut("status").map(Value::take).unwrap_or_default())
    }

    /// Sends a read with more headers, and returns the head of its response, whatever it is.
    pub(super) async fn head(&self, path: &str, more: &HeaderMap) -> Result<Head, String> {
        let agent = version::user_agent(crate::name::NAME, NAME);
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(path)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, agent)
            .body(Body::empty())
            .map_err(|error| error.to_string())?;
        request.headers_mut().extend(more.clone());
        let late = || format!("no response within {} s", LIMIT.as_secs());
        let response = timeout(LIMIT, self.http().send(request)).await.map_err(|_| late())?;
        let (parts, body) = response.map_err(|error| error_chain(&error))?.into_parts();
        let mut message = String::new();
        if !parts.status.is_success() {
            let body = timeout(LIMIT, body.collect()).await.map_err(|_| late())?;
            let body = body.map_err(|error| error_chain(&error))?.to_bytes();
            let status: Value = serde_json::from_slice(&body).unwrap_or_default();
            let text = status.get("message").and_then(Value::as_str);
            message = text.map_or_else(|| String::from_utf8_lossy(&body).into_owned(), str::to_owned);
        }
        Ok(Head { status: parts.status, headers: parts.headers, message })
    }
}

/// The reason for not knowing what a request would have shown.
pub(super) fn unknown(error: &ApiError, action: &str) -> Unknown {
    if error.is_forbidden() {
        Unknown::forbidden(action)
    } else {
        Unknown::failed(action, &error_chain(error))
    }
}
