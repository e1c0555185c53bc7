//! A Service that nothing uses, to see which program writes for it. Made only on request.

use std::time::Duration;

use endpoint_controller_manager::controllers::Controller;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::{Instant, sleep};
use kube_api::{ApiError, Preconditions, error_chain};
use serde_json::json;

use super::command::Swap;
use super::observe::List;
use crate::cluster::Cluster;
use crate::exit::Failure;

/// Its name.
const NAME: &str = "endpoint-controller-manager-canary";
/// The label of those that this command made.
const LABEL: &str = "endpoint-controller-manager/canary";
/// Its default namespace.
const NAMESPACE: &str = "default";
/// The time in which a program writes whose caches are filled.
const QUIET: Duration = Duration::from_secs(15);
/// The time in which a new leader of kube-controller-manager fills its caches, for each pod: more than twice what it takes
/// (docs/reference/parity.md).
const FOR_EACH_POD: Duration = Duration::from_millis(1);
const PERIOD: Duration = Duration::from_millis(500);

/// The time after which the silence of a program that has led throughout shows that it does not write.
///
/// # Errors
/// A line about what the API server refused.
pub(super) async fn silence(cluster: &Cluster) -> Result<Duration, Failure> {
    let failed = |error| Failure::Access(format!("cannot count pods: {}", error_chain(&error)));
    let pods: serde_json::Value = cluster.client.get_json("/api/v1/pods?limit=1").await.map_err(failed)?;
    let more = pods.pointer("/metadata/remainingItemCount").and_then(serde_json::Value::as_u64);
    Ok(QUIET + FOR_EACH_POD.saturating_mul(u32::try_from(more.unwrap_or_default()).unwrap_or(u32::MAX)))
}

/// Makes the canary and waits for objects of it, at most for this time; then removes it. Returns their field managers. It waits no
/// longer than for the first.
///
/// # Errors
/// A line about what the API server refused.
pub(super) async fn writers(cluster: &Cluster, swap: &Swap, limit: Duration) -> Result<Vec<String>, Failure> {
    let namespace = swap.canary.as_deref().unwrap_or(NAMESPACE);
    let failed = |error: ApiError| {
        Failure::Access(format!("canary Service {namespace}/{NAME}: {}", error_chain(&error)))
    };
    let path = format!("/api/v1/namespaces/{namespace}/services/{NAME}");
    // One that an earlier run left behind has objects of its own.
    match cluster.client.get_json::<Service>(&path).await {
        Ok(left) if left.metadata.labels.iter().flatten().any(|(label, _)| label == LABEL) => {
            remove(cluster, &path, &left).await.map_err(failed)?;
        }
        Ok(_) => {
            return Err(Failure::Input(format!(
                "the Service {namespace}/{NAME} was not made by this command: --canary-namespace names another namespace"
            )));
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(failed(error)),
    }
    let service = create(cluster, namespace).await.map_err(failed)?;
    let seen = watch(cluster, swap, namespace, limit).await;
    remove(cluster, &path, &service).await.map_err(failed)?;
    seen.map_err(failed)
}

async fn create(cluster: &Cluster, namespace: &str) -> Result<Service, ApiError> {
    let services = format!("/api/v1/namespaces/{namespace}/services");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "labels": {LABEL: "true"}},
        "spec": {"clusterIP": "None", "selector": {NAME: "none"}, "ports": [{"port": 80}]}});
    let service: Service = serde_json::from_value(service).map_err(ApiError::malformed)?;
    cluster.client.create_json(&services, &service).await
}

async fn watch(
    cluster: &Cluster,
    swap: &Swap,
    namespace: &str,
    limit: Duration,
) -> Result<Vec<String>, ApiError> {
    let start = Instant::now();
    loop {
        let seen = managers(cluster, swap, namespace).await?;
        if !seen.is_empty() || start.elapsed() > limit {
            return Ok(seen);
        }
        sleep(PERIOD).await;
    }
}

/// The field managers of the canary's objects.
async fn managers(cluster: &Cluster, swap: &Swap, namespace: &str) -> Result<Vec<String>, ApiError> {
    let mut found: Vec<ObjectMeta> = Vec::new();
    if swap.controllers.contains(&Controller::EndpointSlice) {
        let path = format!(
            "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{NAME}"
        );
        let slices: List<EndpointSlice> = cluster.client.get_json(&path).await?;
        found.extend(slices.items.into_iter().map(|slice| slice.metadata));
    }
    if swap.controllers.contains(&Controller::Endpoints) {
        let path = format!("/api/v1/namespaces/{namespace}/endpoints?fieldSelector=metadata.name%3D{NAME}");
        let endpoints: List<Endpoints> = cluster.client.get_json(&path).await?;
        found.extend(endpoints.items.into_iter().map(|endpoints| endpoints.metadata));
    }
    // The garbage collector may still be removing those of an earlier canary.
    found.retain(|metadata| metadata.deletion_timestamp.is_none());
    let mut managers: Vec<String> = found
        .into_iter()
        .flat_map(|it| it.managed_fields.unwrap_or_default())
        .filter_map(|it| it.manager)
        .collect();
    managers.sort();
    managers.dedup();
    Ok(managers)
}

/// Removes this Service, and no other of its name.
async fn remove(cluster: &Cluster, path: &str, service: &Service) -> Result<(), ApiError> {
    let only = Preconditions { uid: service.metadata.uid.clone(), resource_version: None };
    match cluster.client.delete(path, &only).await {
        Err(error) if error.is_not_found() => Ok(()),
        outcome => outcome,
    }
}
