//! The controllers of Deployments and `ReplicaSets` while the API server is served: each has the pods that it asks for.
//!
//! A Deployment owns its pods without a `ReplicaSet` between, and a new template replaces all of them at once. Those of a
//! dump keep the pods that the dump has, until they are changed or lose one.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use cli_runtime::input::object::{field, key, text};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kube::core::WatchEvent;
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::warn;

use super::api::{Api, ApiError};
use super::cluster::replicas::{self, is_own};
use super::cluster::workload::Workload;
use crate::objects::collection;

const KINDS: [(Workload, &str); 2] =
    [(Workload::Deployment, "deployments"), (Workload::ReplicaSet, "replicasets")];

/// The least time between two looks at a namespace: changes within it are handled together.
const TOGETHER: Duration = Duration::from_millis(50);
/// The most events that are handled together.
const MAX_EVENTS: usize = 10_000;
/// The pause before watches that ended are opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// The controllers.
pub(crate) struct Workloads {
    api: Api,
    /// The workloads, by uid.
    known: HashMap<String, Known>,
}

/// A workload as it was at the last look.
struct Known {
    generation: Option<Value>,
    template: Option<Value>,
    /// The pods with which it is left alone: a number only for a workload of a dump that has not changed since.
    enough: Option<usize>,
}

impl Workloads {
    /// Learns which workloads the input holds, and with how many pods.
    ///
    /// # Errors
    /// The API server does not respond.
    pub(crate) async fn start(client: &kube::Client) -> Result<Self, ApiError> {
        let mut workloads = Self { api: Api::new(client.clone()), known: HashMap::new() };
        for namespace in workloads.api.list("v1", "namespaces", "").await? {
            workloads.look(text(&namespace, &["metadata", "name"])).await?;
        }
        Ok(workloads)
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            if let Err(error) = self.follow().await {
                warn!(err = %error, "The watches of workloads ended, will retry");
            }
            sleep(PAUSE).await;
        }
    }

    /// Looks at each namespace with a workload or a pod, and then at those in which one changes.
    async fn follow(&mut self) -> Result<(), ApiError> {
        let mut watches = vec![self.api.watch(&collection("v1", "pods", "")).await?];
        for (_, plural) in KINDS {
            watches.push(self.api.watch(&collection("apps/v1", plural, "")).await?);
        }
        let mut events = stream::select_all(watches).try_ready_chunks(MAX_EVENTS);
        while let Some(batch) = events.next().await {
            let mut namespaces = BTreeSet::new();
            for event in batch.map_err(|error| error.1)? {
                if let WatchEvent::Added(it) | WatchEvent::Modified(it) | WatchEvent::Deleted(it) = event {
                    namespaces.insert(text(&it, &["metadata", "namespace"]).to_owned());
                }
            }
            for namespace in namespaces {
                self.look(&namespace).await?;
            }
            sleep(TOGETHER).await;
        }
        Ok(())
    }

    /// Makes and deletes pods in a namespace. `ReplicaSets` of a Deployment are left to it.
    async fn look(&mut self, namespace: &str) -> Result<(), ApiError> {
        let pods = self.api.list("v1", "pods", namespace).await?;
        for (kind, plural) in KINDS {
            for workload in self.api.list("apps/v1", plural, namespace).await? {
                let owners = field(&workload, &["metadata", "ownerReferences"]).and_then(Value::as_array);
                let is_owned =
                    owners.into_iter().flatten().any(|owner| text(owner, &["kind"]) == "Deployment");
                if is_owned || !text(&workload, &["metadata", "deletionTimestamp"]).is_empty() {
                    continue;
                }
                if let Err(error) = self.settle((kind, plural), &workload, &pods).await {
                    warn!(
                        workload = key(&workload),
                        err = error,
                        "Cannot make or delete the pods of a workload"
                    );
                }
            }
        }
        Ok(())
    }

    async fn settle(
        &mut self,
        (kind, plural): (Workload, &str),
        workload: &Value,
        pods: &[Value],
    ) -> Result<(), String> {
        let generation = field(workload, &["metadata", "generation"]);
        let template = field(workload, &["spec", "template"]);
        let count = pods.iter().filter(|pod| is_own(workload, pod)).count();
        let uid = text(workload, &["metadata", "uid"]);
        if !self.known.contains_key(uid) {
            // The controllers of the cluster of a dump have observed it.
            let enough = field(workload, &["status", "observedGeneration"]).map(|_| count);
            let new = Known { generation: generation.cloned(), template: template.cloned(), enough };
            self.known.insert(uid.to_owned(), new);
        }
        let Some(known) = self.known.get_mut(uid) else { return Ok(()) };
        if known.generation.as_ref() != generation {
            known.enough = None;
        }
        if known.enough.is_some_and(|enough| count >= enough) {
            return Ok(());
        }
        let steps = replicas::steps(kind, workload, pods, known.template.as_ref() != template)
            .map_err(|(field, reason)| format!("{field}: {reason}"))?;
        let namespace = text(workload, &["metadata", "namespace"]);
        let pods = collection("v1", "pods", namespace);
        for pod in steps.delete {
            let path = format!("{pods}/{}", text(pod, &["metadata", "name"]));
            // It may be gone.
            let _ = self.api.delete(&path, &json!({})).await;
        }
        for pod in &steps.create {
            self.api.create(&pods, pod).await.map_err(|error| error.to_string())?;
        }
        let name = text(workload, &["metadata", "name"]);
        let path = format!("{}/{name}/status", collection("apps/v1", plural, namespace));
        let status = json!({"status": steps.status});
        self.api.patch(&path, &status).await.map_err(|error| error.to_string())?;
        (known.generation, known.template) = (generation.cloned(), template.cloned());
        Ok(())
    }
}
