//! Reads and writes of single objects, and the opening of lists and watches.

mod response;
mod send;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use self::response::{read_all, read_list, refusal};
use self::send::{REQUEST_TIMEOUT, Sender};
use crate::deadline::within;
use crate::encoding::{Encoding, Object};
use crate::error::ApiError;
use crate::leadership::Leadership;
use crate::metrics::ServerMetrics;
use crate::rate_limit::RateLimiter;
use crate::token_cache::TokenCache;
use crate::version_guard::VersionGuard;

/// The longest a list in one response may take. The API server gives up after 60 s unless `--request-timeout` says
/// otherwise.
const LIST_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A client of the API server for one user agent, with its own rate limit.
///
/// Cheap to clone; clones share the connections and the rate limit.
#[derive(Clone)]
pub struct ApiClient {
    sender: Sender,
    leadership: Option<Leadership>,
    version_guard: VersionGuard,
}

/// Conditions under which an object is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The uid of the object, so that a new object of the same name is kept.
    pub uid: Option<String>,
    /// The resourceVersion of the object, so that a changed object is kept.
    pub resource_version: Option<String>,
}

impl ApiClient {
    /// A client without rate limit, as for list-watches. Characters of `user_agent` that a header may not contain are
    /// dropped.
    pub fn new(client: kube::Client, encoding: Encoding, user_agent: &str) -> Self {
        let visible: String = user_agent.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
        let user_agent = HeaderValue::from_str(&visible).unwrap_or_else(|_| HeaderValue::from_static(""));
        let sender = Sender::new(client, encoding, user_agent);
        Self { sender, leadership: None, version_guard: VersionGuard::default() }
    }

    /// The same client with requests, and responses where the server has them, in this encoding.
    #[must_use]
    pub fn with_encoding(mut self, encoding: Encoding) -> Self {
        self.sender.encoding = encoding;
        self
    }

    /// The same client with its requests counted in `metrics`.
    #[must_use]
    pub fn with_metrics(mut self, metrics: &ServerMetrics) -> Self {
        self.sender.metrics = Arc::new(metrics.clone());
        self
    }

    /// The same client with these tokens in its requests.
    pub(crate) fn with_tokens(mut self, tokens: TokenCache) -> Self {
        self.sender.tokens = Some(Arc::new(tokens));
        self
    }

    /// The same client with a rate limit on its requests. Clients with the same limiter share it.
    #[must_use]
    pub fn with_limit(mut self, limiter: impl Into<Arc<RateLimiter>>) -> Self {
        self.sender.limiter = Some(limiter.into());
        self
    }

    /// The same client with a rate limit [of its own](RateLimiter::separate), if it has any.
    #[must_use]
    pub fn with_separate_limit(mut self) -> Self {
        self.sender.limiter = self.sender.limiter.map(|limiter| Arc::new(limiter.separate()));
        self
    }

    /// The rate limit of this client, if it has one.
    pub fn limiter(&self) -> Option<&Arc<RateLimiter>> {
        self.sender.limiter.as_ref()
    }

    /// The same client for requests whose caller has taken a token of the [limiter](Self::limiter) already. Only a request
    /// that is sent again takes another one: the next, whatever order the caller has.
    #[must_use]
    pub fn prepaid(mut self) -> Self {
        self.sender.is_prepaid = true;
        self
    }

    /// The same client with a fence around its writes.
    ///
    /// Without leadership a write fails with [`ApiError::NotLeader`] and is not sent. If leadership is lost during a
    /// write, the request is cancelled, so that the API server drops what it has not done yet. Reads are not fenced.
    #[must_use]
    pub fn with_leadership(self, leadership: Leadership) -> Self {
        Self { leadership: Some(leadership), ..self }
    }

    /// The same client without writes: each fails with [`ApiError::ReadOnly`] and is not sent.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.sender.read_only = true;
        self
    }

    /// The same client with a guard that it shares with other clients of the same API server: if a response shows that
    /// the storage was restored from a backup, the list-watches of all these clients relist.
    #[must_use]
    pub fn with_version_guard(self, version_guard: VersionGuard) -> Self {
        Self { version_guard, ..self }
    }

    /// The guard to check the resourceVersions of responses with.
    pub fn version_guard(&self) -> &VersionGuard {
        &self.version_guard
    }

    /// The same client, whose writes time out after 30 s instead of 68 s once `shutdown` is true, counted from the
    /// start of the write: the end of the process does not wait for a slow webhook. Nor are requests sent again then because
    /// of `Retry-After`.
    #[must_use]
    pub fn with_shutdown(mut self, shutdown: watch::Receiver<bool>) -> Self {
        self.sender.shutdown = Some(shutdown);
        self
    }

    /// The encoding of requests.
    pub fn encoding(&self) -> Encoding {
        self.sender.encoding
    }

    /// The manager's name in `metadata.managedFields` after a write of this client: its user agent up to the first
    /// slash (`k8s.io/apiserver` `pkg/endpoints/handlers/create.go` `managerOrUserAgent`).
    pub fn field_manager(&self) -> &str {
        let user_agent = self.sender.user_agent.to_str().unwrap_or_default();
        user_agent.split_once('/').map_or(user_agent, |(manager, _)| manager)
    }

    /// Reads the object at `path` (a consistent read).
    pub async fn get<T: Object>(&self, path: &str) -> Result<T, ApiError> {
        let (headers, body) = self.sender.request(Method::GET, path, Vec::new()).await?;
        Encoding::of_response(&headers).decode(&body)
    }

    /// Creates an object: POST to the collection at `path`, such as `/api/v1/namespaces/default/events`.
    pub async fn create<T: Object>(&self, path: &str, object: &T) -> Result<T, ApiError> {
        self.write(Method::POST, path, self.sender.encoding.encode(object)?).await
    }

    /// Replaces the object at `path`. If `object` has a resourceVersion, fails if the object has changed since.
    pub async fn update<T: Object>(&self, path: &str, object: &T) -> Result<T, ApiError> {
        self.write(Method::PUT, path, self.sender.encoding.encode(object)?).await
    }

    /// The same as [`Self::create`] for callers that need no more of the stored object than its metadata. In protobuf the
    /// rest of the response is not decoded, and owners, finalizers and times are left out.
    pub async fn create_for_metadata<T: Object>(
        &self,
        path: &str,
        object: &T,
    ) -> Result<ObjectMeta, ApiError> {
        self.write_for_metadata(Method::POST, path, object).await
    }

    /// The same as [`Self::update`], as [`Self::create_for_metadata`] is to [`Self::create`].
    pub async fn update_for_metadata<T: Object>(
        &self,
        path: &str,
        object: &T,
    ) -> Result<ObjectMeta, ApiError> {
        self.write_for_metadata(Method::PUT, path, object).await
    }

    async fn write_for_metadata<T: Object>(
        &self,
        method: Method,
        path: &str,
        object: &T,
    ) -> Result<ObjectMeta, ApiError> {
        let body = self.sender.encoding.encode(object)?;
        let (headers, response) = self.write_raw(method, path, body).await?;
        Encoding::of_response(&headers).decode_metadata(&response)
    }

    /// Changes the object at `path` by a strategic merge patch.
    pub async fn patch<T: Object>(&self, path: &str, patch: &serde_json::Value) -> Result<T, ApiError> {
        self.write(Method::PATCH, path, patch.to_string().into_bytes()).await
    }

    /// Deletes the object at `path` if the preconditions hold.
    pub async fn delete(&self, path: &str, preconditions: &Preconditions) -> Result<(), ApiError> {
        let options = kube_protobuf::DeleteOptions {
            uid: preconditions.uid.clone(),
            resource_version: preconditions.resource_version.clone(),
            ..kube_protobuf::DeleteOptions::default()
        };
        let body = match self.sender.encoding {
            Encoding::Protobuf => kube_protobuf::wrap("v1", "DeleteOptions", &options.encode()),
            Encoding::Json => delete_options_json(preconditions),
        };
        self.write_raw(Method::DELETE, path, body).await.map(drop)
    }

    /// Reads `path` without decoding the response; for `/version` and `/readyz`.
    pub async fn get_raw(&self, path: &str) -> Result<Bytes, ApiError> {
        self.sender.request(Method::GET, path, Vec::new()).await.map(|(_, body)| body)
    }

    /// Creates an object of a kind without protobuf codec here, such as a `TokenReview`: POST to `path`, in JSON.
    pub async fn create_json<T: Serialize + DeserializeOwned>(
        &self,
        path: &str,
        object: &T,
    ) -> Result<T, ApiError> {
        let body = serde_json::to_vec(object).map_err(ApiError::malformed)?;
        self.request_json(Method::POST, path, body).await
    }

    /// Reads an object of a kind without protobuf codec here, such as a `ConfigMap`, in JSON.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.request_json(Method::GET, path, Vec::new()).await
    }

    async fn request_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<T, ApiError> {
        let sender = Sender { encoding: Encoding::Json, ..self.sender.clone() };
        let (_, response) = sender.request(method, path, body).await?;
        serde_json::from_slice(&response).map_err(ApiError::malformed)
    }

    /// Opens a watch, whose body the caller reads. Only the wait for the header is bounded, by `header_timeout`.
    pub async fn open(
        &self,
        path_and_query: &str,
        header_timeout: Duration,
    ) -> Result<Response<Body>, ApiError> {
        let no_body = Bytes::new();
        let response =
            within(header_timeout, self.sender.send(&Method::GET, path_and_query, &no_body, false)).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = within(REQUEST_TIMEOUT, read_all(body)).await?;
        Err(refusal(parts.status, &parts.headers, &body))
    }

    /// Reads a page of a list, of up to 4 GiB: 500 objects may be as large as etcd stores them. The body may take ten minutes, and
    /// 30 s between two frames.
    pub async fn page(
        &self,
        path_and_query: &str,
        header_timeout: Duration,
    ) -> Result<(Encoding, Bytes), ApiError> {
        self.whole_list(path_and_query, header_timeout, || ()).await
    }

    /// Reads a list of up to 4 GiB without pages. The body may take ten minutes, and 30 s between two frames;
    /// `on_frame` is called for each frame.
    pub async fn whole_list(
        &self,
        path_and_query: &str,
        header_timeout: Duration,
        on_frame: impl Fn(),
    ) -> Result<(Encoding, Bytes), ApiError> {
        let observed = self.sender.metrics.request(&Method::GET);
        observed.sent(0);
        let response = self.open(path_and_query, header_timeout).await?;
        let encoding = Encoding::of_response(response.headers());
        let body = read_list(response.into_body(), REQUEST_TIMEOUT, on_frame);
        let body = within(LIST_TIMEOUT, body).await?;
        observed.received(body.len());
        Ok((encoding, body))
    }

    async fn write<T: Object>(&self, method: Method, path: &str, body: Vec<u8>) -> Result<T, ApiError> {
        let (headers, body) = self.write_raw(method, path, body).await?;
        Encoding::of_response(&headers).decode(&body)
    }

    /// Sends a write while leadership is held, waits for the rate limit and the server included.
    async fn write_raw(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<(HeaderMap, Bytes), ApiError> {
        let request = self.sender.request(method, path, body);
        match &self.leadership {
            None => request.await,
            Some(leadership) => leadership.while_held(request).await.unwrap_or(Err(ApiError::NotLeader)),
        }
    }
}

fn delete_options_json(preconditions: &Preconditions) -> Vec<u8> {
    let mut conditions = serde_json::Map::new();
    let fields = [("uid", &preconditions.uid), ("resourceVersion", &preconditions.resource_version)];
    for (name, value) in fields {
        if let Some(value) = value {
            conditions.insert(name.to_owned(), value.as_str().into());
        }
    }
    serde_json::json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions})
        .to_string()
        .into_bytes()
}
