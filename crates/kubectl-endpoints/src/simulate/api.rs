//! Requests of the simulation itself, in JSON, to the API server in its own process.

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::{Method, Request};
use kube::core::{Status, WatchEvent};
use serde_json::Value;

use crate::exit::Failure;
use crate::objects::collection;

const JSON: &str = "application/json";

/// The field manager of what the simulation adds.
const USER_AGENT: &str = "simulate";

/// A client of the API server.
#[derive(Clone)]
pub(crate) struct Api(kube::Client);

/// A request without success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{}", .0.message)]
    Refused(Box<Status>),
    #[error("the API server of the simulation did not respond: {0}")]
    Broken(String),
}

impl ApiError {
    fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status),
            other => Self::Broken(other.to_string()),
        }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Input(error.to_string())
    }
}

impl Api {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self(client)
    }

    /// Reads what is at a path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.send(Method::GET, path, [JSON, JSON], None).await
    }

    /// Reads the elements of a collection: of a namespace, or of the whole cluster if that is empty.
    pub(crate) async fn list(
        &self,
        api_version: &str,
        plural: &str,
        namespace: &str,
    ) -> Result<Vec<Value>, ApiError> {
        self.get(&collection(api_version, plural, namespace)).await.map(items)
    }

    /// Reads the collection at a path in the form that `kubectl get` prints.
    pub(crate) async fn table(&self, path: &str) -> Result<Value, ApiError> {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        self.send(Method::GET, path, [table, JSON], None).await
    }

    /// Creates an object in the collection at a path.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<Value, ApiError> {
        self.send(Method::POST, path, [JSON, JSON], Some(object)).await
    }

    /// Replaces the object at a path.
    pub(crate) async fn replace(&self, path: &str, object: &Value) -> Result<Value, ApiError> {
        self.send(Method::PUT, path, [JSON, JSON], Some(object)).await
    }

    /// Changes the object at a path by a merge patch.
    pub(crate) async fn patch(&self, path: &str, patch: &Value) -> Result<Value, ApiError> {
        self.send(Method::PATCH, path, [JSON, "application/merge-patch+json"], Some(patch)).await
    }

    /// Deletes the object at a path, as `DeleteOptions` say.
    pub(crate) async fn delete(&self, path: &str, options: &Value) -> Result<Value, ApiError> {
        self.send(Method::DELETE, path, [JSON, JSON], Some(options)).await
    }

    /// The objects of a collection, and then their changes. A failure ends them.
    pub(crate) async fn watch(
        &self,
        path: &str,
    ) -> Result<BoxStream<'static, Result<WatchEvent<Value>, ApiError>>, ApiError> {
        let request = Request::get(format!("{path}?watch=true")).body(Vec::new());
        let request = request.map_err(|error| ApiError::Broken(error.to_string()))?;
        let events = self.0.request_events(request).await.map_err(ApiError::of)?;
        let event = |event| match event {
            Ok(WatchEvent::Error(status)) => Err(ApiError::Refused(status)),
            event => event.map_err(ApiError::of),
        };
        Ok(events.map(event).boxed())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        [accept, content_type]: [&str; 2],
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::ACCEPT, accept)
            .header(http::header::CONTENT_TYPE, content_type)
            .header(http::header::USER_AGENT, USER_AGENT)
            .body(body.map(Value::to_string).unwrap_or_default().into_bytes())
            .map_err(|error| ApiError::Broken(error.to_string()))?;
        self.0.request(request).await.map_err(ApiError::of)
    }
}

/// The elements of a list, each with the `apiVersion` and `kind` that only the list has.
fn items(list: Value) -> Vec<Value> {
    let text = |key: &str| list.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let kind = kind.strip_suffix("List").unwrap_or_default().to_owned();
    let Value::Object(mut list) = list else { return Vec::new() };
    let Some(Value::Array(mut items)) = list.remove("items") else { return Vec::new() };
    for item in &mut items {
        if let Value::Object(item) = item {
            item.entry("apiVersion").or_insert_with(|| api_version.as_str().into());
            item.entry("kind").or_insert_with(|| kind.as_str().into());
        }
    }
    items
}
