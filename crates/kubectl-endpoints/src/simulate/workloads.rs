//! The controllers of Deployments and `ReplicaSets` while the API server is served: each has the pods that it asks for.
//!
//! A Deployment owns its pods without a `ReplicaSet` between, and a new template replaces all of them at once. Those of a
//! dump keep the pods that the dump has, until they are changed or lose one.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use cli_runtime::input::object::{field, key, text};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::Request;
use kube::core::WatchEvent;
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::warn;

use super::api::{Api, ApiError, collection, items};
use super::cluster::replicas;
use super::cluster::selector::selects;
use super::cluster::workload::{self, Workload};

const KINDS: [(Workload, &str); 2] =
    [(Workload::Deployment, "deployments"), (Workload::ReplicaSet, "replicasets")];

/// The least time between two looks at the pods: changes within it are handled together.
const TOGETHER: Duration = Duration::from_millis(50);
/// The most events that are handled together.
const MAX_EVENTS: usize = 10_000;
/// The pause before watches that ended are opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// The controllers.
pub(crate) struct Workloads {
    client: kube::Client,
    api: Api,
    /// The workloads, by path.
    known: HashMap<String, Known>,
    /// Paths of workloads to look at; true if the template is new.
    pending: BTreeMap<String, bool>,
}

struct Known {
    kind: Workload,
    tree: Value,
    /// False for a workload of a dump that has not changed since.
    is_ours: bool,
}

/// A change that a watch reports.
enum Change {
    Workload(Workload, Value),
    /// True if the pod is gone.
    Pod(Value, bool),
}

impl Workloads {
    /// Learns which workloads the input holds. Those that are created later get pods.
    ///
    /// # Errors
    /// The API server does not respond.
    pub(crate) async fn start(client: &kube::Client) -> Result<Self, ApiError> {
        let api = Api::new(client.clone());
        let mut workloads =
            Self { client: client.clone(), api, known: HashMap::new(), pending: BTreeMap::new() };
        workloads.list().await?;
        for known in workloads.known.values_mut() {
            // A cluster's own controllers have observed it.
            known.is_ours = field(&known.tree, &["status", "observedGeneration"]).is_none();
        }
        workloads.pending.clear();
        Ok(workloads)
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            if let Err(error) = self.follow().await {
                warn!(err = error, "The watches of workloads ended, will retry");
            }
            sleep(PAUSE).await;
        }
    }

    /// Reads all workloads. Returns the version of the first list.
    async fn list(&mut self) -> Result<String, ApiError> {
        let mut version = String::new();
        for (kind, plural) in KINDS {
            let list = self.api.get(&collection("apps/v1", plural, "")).await?;
            if version.is_empty() {
                text(&list, &["metadata", "resourceVersion"]).clone_into(&mut version);
            }
            for tree in items(list) {
                self.see(kind, tree);
            }
        }
        Ok(version)
    }

    /// Handles what has changed, and then what changes.
    async fn follow(&mut self) -> Result<(), String> {
        let version = self.list().await.map_err(|error| error.to_string())?;
        // Their pods may have changed while there was no watch.
        for (path, _) in self.known.iter().filter(|(_, known)| known.is_ours) {
            self.pending.entry(path.clone()).or_default();
        }
        let mut watches = Vec::new();
        for (kind, plural) in KINDS {
            let change = move |event| match event {
                WatchEvent::Added(tree) | WatchEvent::Modified(tree) => Some(Change::Workload(kind, tree)),
                _ => None,
            };
            watches.push(self.watch(&collection("apps/v1", plural, ""), &version, change).await?);
        }
        let change = |event| match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => Some(Change::Pod(pod, false)),
            WatchEvent::Deleted(pod) => Some(Change::Pod(pod, true)),
            _ => None,
        };
        watches.push(self.watch(&collection("v1", "pods", ""), &version, change).await?);
        let mut changes = stream::select_all(watches).ready_chunks(MAX_EVENTS);
        loop {
            self.settle().await;
            sleep(TOGETHER).await;
            let Some(batch) = changes.next().await else { return Ok(()) };
            for change in batch {
                match change? {
                    Some(Change::Workload(kind, tree)) => self.see(kind, tree),
                    Some(Change::Pod(pod, is_gone)) => self.see_pod(&pod, is_gone),
                    None => {}
                }
            }
        }
    }

    async fn watch(
        &self,
        path: &str,
        version: &str,
        change: impl Fn(WatchEvent<Value>) -> Option<Change> + Send + 'static,
    ) -> Result<BoxStream<'static, Result<Option<Change>, String>>, String> {
        let path = format!("{path}?watch=true&resourceVersion={version}");
        let request = Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
        let events = self.client.request_events::<Value>(request).await.map_err(|error| error.to_string())?;
        let change = move |event: kube::Result<_>| match event {
            Ok(WatchEvent::Error(status)) => Err(status.message),
            Ok(event) => Ok(change(event)),
            Err(error) => Err(error.to_string()),
        };
        Ok(events.map(change).boxed())
    }

    /// Compares a workload with what was known of it. `ReplicaSets` of a Deployment are left to it.
    fn see(&mut self, kind: Workload, tree: Value) {
        if owners(&tree).any(|owner| text(owner, &["kind"]) == "Deployment") {
            return;
        }
        let path = path(kind, &tree);
        let before = self.known.get(&path).filter(|known| same(&known.tree, &tree, &["metadata", "uid"]));
        let is_changed = before.is_none_or(|known| !same(&known.tree, &tree, &["metadata", "generation"]));
        let is_replaced = before.is_some_and(|known| !same(&known.tree, &tree, &["spec", "template"]));
        let is_ours = is_changed || before.is_some_and(|known| known.is_ours);
        if is_changed {
            *self.pending.entry(path.clone()).or_default() |= is_replaced;
        }
        self.known.insert(path, Known { kind, tree, is_ours });
    }

    /// Finds the workloads of a pod, which may lack one now, or have one more that is ready.
    fn see_pod(&mut self, pod: &Value, is_gone: bool) {
        let is_ending = is_gone || !text(pod, &["metadata", "deletionTimestamp"]).is_empty();
        for (path, known) in &self.known {
            let is_near = same(&known.tree, pod, &["metadata", "namespace"]);
            if (known.is_ours || is_ending) && is_near && concerns(pod, &known.tree) {
                self.pending.entry(path.clone()).or_default();
            }
        }
    }

    /// Makes and deletes pods.
    async fn settle(&mut self) {
        for (path, is_replaced) in std::mem::take(&mut self.pending) {
            let Some(known) = self.known.get(&path) else { continue };
            let key = key(&known.tree);
            match self.settle_one(known.kind, &path, is_replaced).await {
                Ok(true) => {}
                Ok(false) => drop(self.known.remove(&path)),
                Err(error) => {
                    warn!(workload = key, err = error, "Cannot make or delete the pods of a workload")
                }
            }
        }
    }

    /// Returns false if the workload is gone.
    async fn settle_one(&self, kind: Workload, path: &str, is_replaced: bool) -> Result<bool, String> {
        let workload = match self.api.get(path).await {
            Ok(workload) => workload,
            Err(ApiError::Refused(status)) if status.code == 404 => return Ok(false),
            Err(error) => return Err(error.to_string()),
        };
        if !text(&workload, &["metadata", "deletionTimestamp"]).is_empty() {
            return Ok(true);
        }
        let pods = collection("v1", "pods", text(&workload, &["metadata", "namespace"]));
        let present = self.api.get(&pods).await.map(items).map_err(|error| error.to_string())?;
        let steps = replicas::steps(kind, &workload, &present, is_replaced)
            .map_err(|(field, reason)| format!("{field}: {reason}"))?;
        for pod in steps.delete {
            let path = format!("{pods}/{}", text(pod, &["metadata", "name"]));
            // It may be gone.
            let _ = self.api.delete(&path, &json!({})).await;
        }
        for pod in &steps.create {
            self.api.create(&pods, pod).await.map_err(|error| error.to_string())?;
        }
        let status = json!({"status": steps.status});
        self.api.patch(&format!("{path}/status"), &status).await.map_err(|error| error.to_string())?;
        Ok(true)
    }
}

fn path(kind: Workload, tree: &Value) -> String {
    let plural = KINDS.iter().find(|(known, _)| *known == kind).map_or("", |(_, plural)| plural);
    let collection = collection("apps/v1", plural, text(tree, &["metadata", "namespace"]));
    format!("{collection}/{}", text(tree, &["metadata", "name"]))
}

/// True if a workload selects a pod, or owns it: a new label takes a pod away from its owner.
fn concerns(pod: &Value, workload: &Value) -> bool {
    let uid = field(workload, &["metadata", "uid"]);
    selects(workload::labels(workload), pod) || owners(pod).any(|owner| owner.get("uid") == uid)
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    field(object, &["metadata", "ownerReferences"]).and_then(Value::as_array).into_iter().flatten()
}

fn same(one: &Value, other: &Value, path: &[&str]) -> bool {
    field(one, path) == field(other, path)
}
