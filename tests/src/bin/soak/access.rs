//! The harness's own access to an API server: past the proxies, and patient while the API server is away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use expected_objects::{Named, Objects};
use http::Method;
use kube::Client;
use random_operations::requests::path;
use serde_json::Value;
use tests::requests;
use tests::wait::LIMIT;
use tokio::time::{sleep, timeout};

/// The time after which a request is sent again.
const ANSWER: Duration = Duration::from_secs(10);
/// The time between two attempts.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

/// True for the refusal of one request, after which another attempt would be refused as well.
pub(crate) fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code < 429)
}

/// An operator's access to one cluster.
pub(crate) struct Access(pub(crate) Client);

impl Access {
    /// Sends a request. None if it is refused.
    ///
    /// # Panics
    /// If there is no answer within the limit of tests.
    pub(crate) async fn send(&self, method: &Method, path: &str, body: &Value) -> Option<Value> {
        let start = Instant::now();
        loop {
            let reason = match timeout(ANSWER, requests::send(&self.0, method.as_str(), path, body)).await {
                Ok(Ok(answer)) => return Some(answer),
                Ok(Err(error)) if is_refusal(&error) => return None,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            assert!(start.elapsed() < LIMIT, "{method} {path}: {reason}");
            sleep(PAUSE).await;
        }
    }

    /// The same for a request that must succeed.
    pub(crate) async fn must(&self, method: &Method, path: &str, body: &Value) {
        assert!(self.send(method, path, body).await.is_some(), "{method} {path} is refused");
    }

    /// Reads the objects of the workload's namespace, and all nodes.
    pub(crate) async fn read(&self) -> Objects {
        let (services, pods, endpoints, slices) =
            (path("services"), path("pods"), path("endpoints"), path("endpointslices"));
        let (services, pods, nodes, endpoints, slices) = tokio::join!(
            self.list(&services),
            self.list(&pods),
            self.list("/api/v1/nodes"),
            self.list(&endpoints),
            self.list(&slices),
        );
        Objects { services, pods, nodes, endpoints, slices, ..Objects::default() }
    }

    async fn list(&self, path: &str) -> Named {
        let list = self.send(&Method::GET, path, &Value::Null).await;
        let mut list = list.unwrap_or_else(|| panic!("{path} cannot be listed"));
        let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        items.into_iter().map(|object| (name(&object), Arc::new(object))).collect()
    }
}
