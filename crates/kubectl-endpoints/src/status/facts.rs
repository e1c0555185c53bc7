//! What the cluster says about its writers.

use cli_runtime::input::object::text;
use endpoint_controller_manager::leader_election::HOLD;
use endpoint_controller_manager::version;
use endpoint_diagnostics::picture::newest_write;
use endpoint_diagnostics::{ServiceReport, Snapshot};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1 as coordination;
use kube_api::{ApiClient, error_chain};
use serde::Serialize;
use serde_json::Value;

use crate::explain::Summary;
use crate::gate::Gate;

/// The answer of `status`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    /// The Lease of endpoint-controller-manager; none if there is none, or if it may not be read.
    pub(super) lease: Option<Term>,
    /// The Lease of kube-controller-manager.
    pub(super) built_in: Option<Term>,
    /// The pods of endpoint-controller-manager.
    pub(super) replicas: Vec<Replica>,
    pub(super) last_write: Option<Write>,
    pub(super) summary: Summary,
    /// What could not be read, and why.
    pub(super) unknown: Vec<String>,
}

/// A Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Term {
    /// Empty if nobody leads.
    pub(super) holder: String,
    pub(super) since: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    /// True if the holder has not renewed it in time, if its clock is right.
    pub(super) is_expired: bool,
    /// True if nobody may begin to lead.
    pub(super) is_on_hold: bool,
    /// The reason why the holder writes nothing yet (`--takeover-max-writes`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) takeover_held: Option<String>,
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
    let mut lease = term(client, version::NAME, snapshot.now()).await;
    if let Ok(Some(Term { since: Some(since), takeover_held, .. })) = &mut lease {
        match Gate::read(client, "kube-system", version::NAME, *since).await {
            Ok(gate) => *takeover_held = gate.held,
            Err(error) => unknown.push(format!("the events of its Lease: {}", error_chain(&error))),
        }
    }
    let built_in = term(client, "kube-controller-manager", snapshot.now()).await;
    let replicas = replicas(client).await;
    let mut known = |error: String| unknown.push(error);
    Status {
        lease: lease.unwrap_or_else(|error| {
            known(error);
            None
        }),
        built_in: built_in.unwrap_or_else(|error| {
            known(error);
            None
        }),
        replicas: replicas.unwrap_or_else(|error| {
            known(error);
            vec![]
        }),
        last_write: last_write(snapshot),
        summary: Summary::of(reports),
        unknown,
    }
}

async fn term(client: &ApiClient, name: &str, now: Timestamp) -> Result<Option<Term>, String> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}");
    match client.get_json(&path).await {
        Ok(lease) => Ok(Some(term_of(lease, now))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(format!("the Lease kube-system/{name}: {}", error_chain(&error))),
    }
}

fn term_of(lease: coordination::Lease, now: Timestamp) -> Term {
    let is_on_hold = HOLD.in_force(&lease.metadata).is_some();
    let spec = lease.spec.unwrap_or_default();
    let renewed = spec.renew_time.map(|time| time.0);
    let length = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
    let end = renewed.and_then(|time| time.checked_add(length).ok());
    Term {
        holder: spec.holder_identity.unwrap_or_default(),
        since: spec.acquire_time.map(|time| time.0),
        renewed,
        is_expired: end.is_none_or(|end| end <= now),
        is_on_hold,
        takeover_held: None,
    }
}

async fn replicas(client: &ApiClient) -> Result<Vec<Replica>, String> {
    let path = format!("/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3D{}", version::NAME);
    let list: Value =
        client.get_json(&path).await.map_err(|error| format!("its pods: {}", error_chain(&error)))?;
    let pods = list.get("items").and_then(Value::as_array);
    Ok(pods.into_iter().flatten().map(replica).collect())
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
    fn a_term_ends_with_its_lease() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let lease = |annotations: Value| {
            let spec = json!({"holderIdentity": "a", "acquireTime": "1970-01-01T00:00:05.000000Z",
                "renewTime": "1970-01-01T00:01:40.000000Z", "leaseDurationSeconds": 15});
            serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": spec})).unwrap()
        };
        let term = term_of(lease(json!({})), at(101));
        assert_eq!(
            (term.holder.as_str(), term.since, term.is_expired, term.is_on_hold),
            ("a", Some(at(5)), false, false)
        );
        let hold = json!({"endpoint-controller-manager/hold": "by hand"});
        let term = term_of(lease(hold), at(115));
        assert!(term.is_expired && term.is_on_hold);
    }

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
