//! Nodes at work while the API server is served: pods that are created start, and pods that are deleted end.

use std::time::Duration;

use cli_runtime::input::object::text;
use futures::TryStreamExt as _;
use kube::core::WatchEvent;
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::warn;

use super::added::ONLY_NODE;
use super::api::{Api, ApiError};
use super::cluster::addresses::DualStack;
use super::cluster::kubelet::{Kubelets, needs_status, start};
use crate::objects::collection;

/// The time for which a deleted pod terminates, so that it can be seen.
const TERMINATION: Duration = Duration::from_secs(2);
/// The pause before a watch that ended is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs until it is dropped.
pub(crate) async fn run(client: &kube::Client) {
    let mut pods = Pods { api: Api::new(client.clone()), kubelets: Kubelets::default() };
    loop {
        if let Err(error) = pods.follow().await {
            warn!(err = %error, "The watch of pods ended, will retry");
        }
        sleep(PAUSE).await;
    }
}

struct Pods {
    api: Api,
    kubelets: Kubelets,
}

impl Pods {
    /// Handles all pods, and then those that change.
    async fn follow(&mut self) -> Result<(), ApiError> {
        let mut events = self.api.watch(&collection("v1", "pods", "")).await?;
        while let Some(event) = events.try_next().await? {
            if let WatchEvent::Added(pod) | WatchEvent::Modified(pod) = event
                && let Err(error) = self.handle(&pod).await
            {
                warn!(pod = path(&pod), err = %error, "Cannot start or end a pod");
            }
        }
        Ok(())
    }

    async fn handle(&mut self, pod: &Value) -> Result<(), ApiError> {
        self.kubelets.addresses.take(pod);
        if !text(pod, &["metadata", "deletionTimestamp"]).is_empty() {
            let (api, path) = (self.api.clone(), path(pod));
            // A pod of the same name that follows has another uid.
            let now =
                json!({"gracePeriodSeconds": 0, "preconditions": {"uid": text(pod, &["metadata", "uid"])}});
            tokio::spawn(async move {
                sleep(TERMINATION).await;
                // It may be gone, or wait for a finalizer.
                let _ = api.delete(&path, &now).await;
            });
            return Ok(());
        }
        if !needs_status(pod) {
            return Ok(());
        }
        let mut pod = pod.clone();
        let mut nodes = self.api.list("v1", "nodes", "").await?;
        if nodes.is_empty() {
            let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": ONLY_NODE}});
            start(&mut node);
            nodes.push(self.api.create(&collection("v1", "nodes", ""), &node).await?);
        }
        self.kubelets.nodes.replace(&nodes);
        self.kubelets.dual_stack = DualStack::new(&self.api.list("v1", "services", "").await?);
        let is_bound = !text(&pod, &["spec", "nodeName"]).is_empty();
        let status = self.kubelets.start(&mut pod);
        if !is_bound {
            self.bind(&pod).await?;
        }
        self.api.patch(&format!("{}/status", path(&pod)), &json!({"status": status})).await.map(drop)
    }

    async fn bind(&self, pod: &Value) -> Result<(), ApiError> {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": text(pod, &["metadata", "name"])},
            "target": {"apiVersion": "v1", "kind": "Node", "name": text(pod, &["spec", "nodeName"])},
        });
        self.api.create(&format!("{}/binding", path(pod)), &binding).await.map(drop)
    }
}

fn path(pod: &Value) -> String {
    let pods = collection("v1", "pods", text(pod, &["metadata", "namespace"]));
    format!("{pods}/{}", text(pod, &["metadata", "name"]))
}
