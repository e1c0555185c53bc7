//! The facts about writers that a cluster shows.

use cli_runtime::input::object::text;
use endpoint_controller_manager::version;
use endpoint_diagnostics::picture::newest_write;
use endpoint_diagnostics::{ServiceReport, Snapshot};
use jiff::Timestamp;
use kube_api::{ApiClient, ApiError, error_chain};
use serde::Serialize;
use serde_json::Value;

use crate::explain::Summary;
use crate::gate::Gate;
use crate::lease::{self, Lease, SYSTEM};
use crate::objects;

/// The answer of `status`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    /// The Lease of endpoint-controller-manager; none if there is none, or if it may not be read.
    pub(super) lease: Option<Lease>,
    /// The Lease of kube-controller-manager.
    pub(super) built_in: Option<Lease>,
    /// The pods of endpoint-controller-manager.
    pub(super) replicas: Vec<Replica>,
    pub(super) last_write: Option<Write>,
    pub(super) summary: Summary,
    /// Facts that could not be read, and why.
    pub(super) unknown: Vec<String>,
}

/// A pod of endpoint-controller-manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Replica {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) node: String,
    /// The tag of its image, or its digest.
    pub(super) version: String,
    pub(super) ready: bool,
}

/// The newest write of a slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Write {
    pub(super) time: Timestamp,
    /// The name of the program, as in `managedFields`.
    pub(super) by: String,
    /// The slice, as `namespace/name`.
    pub(super) slice: String,
}

/// Reads what the snapshot lacks. What may not be read is named.
pub(super) async fn gather(client: &ApiClient, snapshot: &Snapshot, reports: &[ServiceReport]) -> Status {
    let mut unknown = vec![];
    let mut lease = lease::read(client, version::NAME, snapshot.now()).await;
    if let Ok(Some(Lease { since: Some(since), takeover_held, .. })) = &mut lease {
        match Gate::read(client, SYSTEM, version::NAME, *since).await {
            Ok(gate) => *takeover_held = gate.held,
            Err(error) => unknown.push(format!("the events of its Lease: {}", error_chain(&error))),
        }
    }
    let upstream = "kube-controller-manager";
    let built_in = lease::read(client, upstream, snapshot.now()).await;
    let replicas = replicas(client).await;
    Status {
        lease: known(lease, &format!("the Lease {SYSTEM}/{}", version::NAME), &mut unknown),
        built_in: known(built_in, &format!("the Lease {SYSTEM}/{upstream}"), &mut unknown),
        replicas: known(replicas, "its pods", &mut unknown),
        last_write: last_write(snapshot),
        summary: Summary::of(reports),
        unknown,
    }
}

/// The value that was read; none if reading failed, which is reported.
fn known<T: Default>(read: Result<T, ApiError>, name: &str, unknown: &mut Vec<String>) -> T {
    read.unwrap_or_else(|error| {
        unknown.push(format!("{name}: {}", error_chain(&error)));
        T::default()
    })
}

async fn replicas(client: &ApiClient) -> Result<Vec<Replica>, ApiError> {
    let path = format!("/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3D{}", version::NAME);
    let pods: Vec<Value> = objects::list(client, &path).await?;
    Ok(pods.iter().map(replica).collect())
}

fn replica(pod: &Value) -> Replica {
    let image = pod.pointer("/spec/containers/0/image").and_then(Value::as_str).unwrap_or_default();
    // A registry may have a port: the tag is in the last part.
    let last = image.rsplit('/').next().unwrap_or_default();
    let version =
        last.split_once('@').or_else(|| last.split_once(':')).map_or("latest", |(_, version)| version);
    let mut conditions = pod.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let is_ready =
        |condition: &Value| text(condition, &["type"]) == "Ready" && text(condition, &["status"]) == "True";
    Replica {
        namespace: text(pod, &["metadata", "namespace"]).to_owned(),
        name: text(pod, &["metadata", "name"]).to_owned(),
        node: text(pod, &["spec", "nodeName"]).to_owned(),
        version: version.to_owned(),
        ready: conditions.any(is_ready),
    }
}

fn last_write(snapshot: &Snapshot) -> Option<Write> {
    let slices = snapshot
        .by_namespace()
        .flat_map(|(namespace, objects)| objects.slices().map(move |slice| (namespace, slice)));
    let writes = slices.filter_map(|(namespace, slice)| {
        let entry = newest_write(&slice.metadata)?;
        let name = slice.metadata.name.as_deref().unwrap_or_default();
        Some(Write {
            time: entry.time.as_ref()?.0,
            by: entry.manager.clone().unwrap_or_default(),
            slice: format!("{namespace}/{name}"),
        })
    });
    writes.max_by_key(|write| write.time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_version_of_a_replica_is_that_of_its_image() {
        let version = |image: &str| {
            let pod = json!({"metadata": {"name": "a", "namespace": "b"}, "spec": {"containers": [{"image": image}]},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            let replica = replica(&pod);
            assert!(replica.ready);
            replica.version
        };
        assert_eq!(version("registry:5000/ecm:0.1.0"), "0.1.0");
        assert_eq!(version("registry:5000/ecm"), "latest");
        assert_eq!(version("r.example/ecm@sha256:ab"), "sha256:ab");
    }
}
