//! Objects by name and label: Leases, kube-controller-manager's pods, kubeadm's configuration, workloads of ours.

use cli_runtime::input::object::text;
use endpoint_controller_manager::version;
use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::lease::{self, Lease, SYSTEM};
use crate::preflight::facts::ManagerPod;
use crate::preflight::unknown::Fact;

/// Reads a Lease at a time.
pub(super) async fn lease(
    cluster: &Cluster,
    (namespace, name): (&str, &str),
    now: Timestamp,
) -> Fact<Option<Lease>> {
    let action = format!("get leases in {namespace}");
    let lease = cluster.get(&lease::path(&[namespace, name]), &action).await?;
    Ok(lease.map(|lease| Lease::at(now, lease)))
}

/// Lists the pods of kube-controller-manager.
pub(super) async fn managers(cluster: &Cluster) -> Fact<Vec<ManagerPod>> {
    let path = format!("/api/v1/namespaces/{SYSTEM}/pods?labelSelector=component%3Dkube-controller-manager");
    let pods = cluster.items(&path, "list pods in kube-system").await?;
    let is_kept = |pod: &&Value| pod.pointer("/metadata/deletionTimestamp").is_none();
    Ok(pods.iter().filter(is_kept).map(manager).collect())
}

fn manager(pod: &Value) -> ManagerPod {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let fields = |container| ["command", "args"].map(|field| Value::get(container, field));
    let lists = containers.into_iter().flatten().flat_map(fields).flatten();
    let words = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    ManagerPod {
        name: text(pod, &["metadata", "name"]).to_owned(),
        node: text(pod, &["spec", "nodeName"]).to_owned(),
        words: words.map(str::to_owned).collect(),
    }
}

/// The `ClusterConfiguration` of kubeadm.
pub(super) async fn kubeadm(cluster: &Cluster) -> Fact<Option<String>> {
    let path = format!("/api/v1/namespaces/{SYSTEM}/configmaps/kubeadm-config");
    let object: Option<Value> = cluster.get(&path, "get configmaps in kube-system").await?;
    Ok(object.map(|object| text(&object, &["data", "ClusterConfiguration"]).to_owned()))
}

/// Deployments and static pods of endpoint-controller-manager.
pub(super) async fn workloads(cluster: &Cluster) -> Fact<Vec<String>> {
    let selector = format!("labelSelector=app.kubernetes.io%2Fname%3D{}", version::NAME);
    let deployments =
        cluster.items(&format!("/apis/apps/v1/deployments?{selector}"), "list deployments").await?;
    let pods = cluster.items(&format!("/api/v1/pods?{selector}"), "list pods").await?;
    let name = |object: &Value| {
        format!("{}/{}", text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]))
    };
    let deployment = |object: &Value| {
        let number = |path| object.pointer(path).and_then(Value::as_i64).unwrap_or_default();
        let (ready, all) = (number("/status/readyReplicas"), number("/spec/replicas"));
        format!("Deployment {} ({ready} of {all} ready)", name(object))
    };
    // Those of a Deployment are named by it.
    let owner = |pod: &Value| pod.pointer("/metadata/ownerReferences/0/kind").cloned();
    let is_alone = |pod: &&Value| owner(pod).is_none_or(|kind| kind != "ReplicaSet");
    let pod = |object: &Value| format!("Pod {} ({})", name(object), text(object, &["status", "phase"]));
    Ok(deployments.iter().map(deployment).chain(pods.iter().filter(is_alone).map(pod)).collect())
}
