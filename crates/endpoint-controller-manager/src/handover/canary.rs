//! A Service that nothing uses, to see which program writes for it. Made only on request.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::{Instant, sleep};
use kube_api::{ApiError, Preconditions, error_chain};
use serde_json::json;

use super::command::Swap;
use super::observe::List;
use crate::controllers::Controller;
use crate::diagnostics::cluster::Cluster;
use crate::diagnostics::exit::Failure;

/// Its name.
const NAME: &str = "endpoint-controller-manager-canary";
/// A new leader of kube-controller-manager fills its caches first.
const QUIET: Duration = Duration::from_secs(15);
/// The longest wait for a write.
const SOON: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_millis(500);

/// Makes the canary and waits for objects of it, as long as a program may take; then removes it. Returns their field
/// managers.
///
/// # Errors
/// A line about what the API server refused.
pub(super) async fn writers(
    cluster: &Cluster,
    swap: &Swap,
    is_expected: bool,
) -> Result<Vec<String>, Failure> {
    let Some(namespace) = &swap.canary else { return Ok(Vec::new()) };
    let seen = watch(cluster, swap, namespace, if is_expected { SOON } else { QUIET }).await;
    let removed = remove(cluster, namespace).await;
    let failed = |error: ApiError| {
        Failure::Access(format!("canary Service {namespace}/{NAME}: {}", error_chain(&error)))
    };
    removed.map_err(failed)?;
    seen.map_err(failed)
}

async fn watch(
    cluster: &Cluster,
    swap: &Swap,
    namespace: &str,
    limit: Duration,
) -> Result<Vec<String>, ApiError> {
    // One that was left behind has objects of its own.
    remove(cluster, namespace).await?;
    let services = format!("/api/v1/namespaces/{namespace}/services");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME},
        "spec": {"clusterIP": "None", "selector": {NAME: "none"}, "ports": [{"port": 80}]}});
    cluster.client.create_json::<serde_json::Value>(&services, &service).await?;
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

/// Removes the canary, if there is one.
async fn remove(cluster: &Cluster, namespace: &str) -> Result<(), ApiError> {
    let path = format!("/api/v1/namespaces/{namespace}/services/{NAME}");
    match cluster.client.get_json::<Service>(&path).await {
        Ok(_) => cluster.client.delete(&path, &Preconditions::default()).await,
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}
