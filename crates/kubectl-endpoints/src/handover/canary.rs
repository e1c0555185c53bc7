//! A Service that nothing uses, to see which program writes for it. Made only on request.
//!
//! The EndpointSliceMirroring controller alone needs more: Endpoints that nothing but it reads.

#[cfg(test)]
mod tests;

use std::time::Duration;

use endpoint_controller_manager::controllers::Controller;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::{Instant, sleep};
use kube_api::{ApiError, Preconditions, error_chain};
use serde_json::json;

use super::command::Migration;
use super::patience::{PATIENCE, PERIOD, patiently};
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::objects;

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
/// An address for documentation (RFC 5737), which no pod has.
const ADDRESS: &str = "192.0.2.1";
/// The number of times that Endpoints are made.
const MOST_ENDPOINTS: u32 = 5;

/// The time after which the silence of a program that has led throughout shows that it does not write.
///
/// # Errors
/// A line about what the API server refused.
pub(super) async fn silence(cluster: &Cluster) -> Result<Duration, Failure> {
    let failed = |error| Failure::Access(format!("cannot count pods: {}", error_chain(&error)));
    let request = async || cluster.client.get_json::<serde_json::Value>("/api/v1/pods?limit=1").await;
    let pods = patiently(PATIENCE, request).await.map_err(failed)?;
    let more = pods.pointer("/metadata/remainingItemCount").and_then(serde_json::Value::as_u64);
    Ok(QUIET + FOR_EACH_POD.saturating_mul(u32::try_from(more.unwrap_or_default()).unwrap_or(u32::MAX)))
}

/// Makes the canary and waits for objects of it, at most for this time; then removes it. Returns their field managers. It waits no
/// longer than for the first.
///
/// # Errors
/// A line about what the API server refused, or about what others made of its name.
pub(super) async fn writers(
    cluster: &Cluster,
    migration: &Migration,
    limit: Duration,
) -> Result<Vec<String>, Failure> {
    let place = Place {
        cluster,
        namespace: migration.flags.canary_namespace.as_deref().unwrap_or(NAMESPACE),
        controllers: &migration.controllers,
        is_mirrored: migration.controllers == [Controller::EndpointSliceMirroring],
    };
    // While no server answers, no program can write: the next canary begins anew.
    let seen = patiently(limit + PATIENCE, async || place.writers(limit).await).await;
    seen.map_err(|error| place.failed(&error))?
}

/// The namespace of the canary, and what it is to show.
struct Place<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    controllers: &'a [Controller],
    /// True if only Endpoints that are mirrored show which program writes.
    is_mirrored: bool,
}

impl Place<'_> {
    fn services(&self) -> String {
        format!("/api/v1/namespaces/{}/services", self.namespace)
    }

    fn endpoints(&self) -> String {
        format!("/api/v1/namespaces/{}/endpoints", self.namespace)
    }

    fn failed(&self, error: &ApiError) -> Failure {
        Failure::Access(format!("canary Service {}/{NAME}: {}", self.namespace, error_chain(error)))
    }

    /// Makes a canary, and removes it once it was seen for long enough.
    async fn writers(&self, limit: Duration) -> Result<Result<Vec<String>, Failure>, ApiError> {
        if let Err(foreign) = self.clear().await? {
            return Ok(Err(foreign));
        }
        let service = self.create_service().await?;
        let seen = self.watch(&service, limit).await;
        let removed = self.remove(&service).await;
        let seen = seen?;
        removed?;
        Ok(seen)
    }

    fn disturbed(&self, reason: &str) -> Failure {
        Failure::Access(format!("canary {}/{NAME}: {reason}", self.namespace))
    }

    /// Removes what an earlier run left behind, whichever controllers it was for: it has objects of its own. Fails for those of
    /// others.
    async fn clear(&self) -> Result<Result<(), Failure>, ApiError> {
        let path = format!("{}/{NAME}", self.services());
        let service: Option<Service> = objects::find(&self.cluster.client, &path).await?;
        let service = service.map(|it| it.metadata);
        let endpoints = self.present_endpoints().await?.map(|it| it.metadata);
        let left = [("Service", self.services(), service), ("Endpoints", self.endpoints(), endpoints)];
        for (kind, _, metadata) in &left {
            if metadata.as_ref().is_some_and(|metadata| !is_ours(metadata)) {
                return Ok(Err(Failure::Input(format!(
                    "the {kind} {}/{NAME} was not made by this command: --canary-namespace names another namespace",
                    self.namespace
                ))));
            }
        }
        for (_, path, metadata) in left {
            if let Some(metadata) = metadata {
                self.delete(&path, metadata.uid).await?;
            }
        }
        Ok(Ok(()))
    }

    async fn create_service(&self) -> Result<Service, ApiError> {
        let selector = (!self.is_mirrored).then(|| json!({NAME: "none"}));
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "labels": {LABEL: "true"}},
            "spec": {"clusterIP": "None", "selector": selector, "ports": [{"port": 80}]}});
        let service: Service = serde_json::from_value(service).map_err(ApiError::malformed)?;
        self.cluster.client.create_json(&self.services(), &service).await
    }

    /// Makes the Endpoints to be mirrored.
    async fn create_endpoints(&self) -> Result<Endpoints, ApiError> {
        let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": NAME, "labels": {LABEL: "true"}},
            "subsets": [{"addresses": [{"ip": ADDRESS}], "ports": [{"port": 80}]}]});
        let endpoints: Endpoints = serde_json::from_value(endpoints).map_err(ApiError::malformed)?;
        self.cluster.client.create_json(&self.endpoints(), &endpoints).await
    }

    /// The Endpoints of the canary's name.
    async fn present_endpoints(&self) -> Result<Option<Endpoints>, ApiError> {
        let path = format!("{}?fieldSelector=metadata.name%3D{NAME}", self.endpoints());
        let found: Vec<Endpoints> = objects::list(&self.cluster.client, &path).await?;
        Ok(found.into_iter().next())
    }

    /// Waits for the first object.
    async fn watch(
        &self,
        service: &Service,
        limit: Duration,
    ) -> Result<Result<Vec<String>, Failure>, ApiError> {
        let (mut start, mut made, mut mirrored) = (Instant::now(), 0, None);
        loop {
            if self.is_mirrored {
                let present = self.present_endpoints().await?.and_then(|it| it.metadata.uid);
                // The Endpoints controller deletes Endpoints of a Service that is gone, also those of the next one: without
                // them, silence shows nothing.
                if present.is_none() {
                    made += 1;
                    if made > MOST_ENDPOINTS {
                        return Ok(Err(self.disturbed("another client deletes its Endpoints")));
                    }
                    mirrored = self.create_endpoints().await?.metadata.uid;
                    start = Instant::now();
                } else if present != mirrored {
                    return Ok(Err(self.disturbed("its Endpoints are those of another client")));
                }
            }
            let owner = if self.is_mirrored { mirrored.as_deref() } else { service.metadata.uid.as_deref() };
            let seen = self.managers(owner.unwrap_or_default()).await?;
            if !seen.is_empty() || start.elapsed() > limit {
                return Ok(Ok(seen));
            }
            sleep(PERIOD).await;
        }
    }

    /// The field managers of the objects that were written for the canary: of slices, those that have this owner.
    async fn managers(&self, owner: &str) -> Result<Vec<String>, ApiError> {
        let mut found: Vec<ObjectMeta> = Vec::new();
        if self.is_mirrored || self.controllers.contains(&Controller::EndpointSlice) {
            let path = format!(
                "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{NAME}",
                self.namespace
            );
            let slices: Vec<EndpointSlice> = objects::list(&self.cluster.client, &path).await?;
            // The garbage collector may not have removed those of an earlier canary.
            let is_owned = |it: &ObjectMeta| it.owner_references.iter().flatten().any(|it| it.uid == owner);
            found.extend(slices.into_iter().map(|slice| slice.metadata).filter(is_owned));
        }
        if self.controllers.contains(&Controller::Endpoints) {
            found.extend(self.present_endpoints().await?.map(|endpoints| endpoints.metadata));
        }
        let mut managers: Vec<String> = found
            .into_iter()
            .flat_map(|it| it.managed_fields.unwrap_or_default())
            .filter_map(|it| it.manager)
            .collect();
        managers.sort();
        managers.dedup();
        Ok(managers)
    }

    /// Deletes the Service and its Endpoints, and no others of their names. If one cannot be deleted, the other is all the same.
    async fn remove(&self, service: &Service) -> Result<(), ApiError> {
        let removed = self.delete(&self.services(), service.metadata.uid.clone()).await;
        let endpoints = if self.is_mirrored { self.remove_endpoints().await } else { Ok(()) };
        removed.and(endpoints)
    }

    async fn remove_endpoints(&self) -> Result<(), ApiError> {
        match self.present_endpoints().await?.filter(|left| is_ours(&left.metadata)) {
            Some(left) => self.delete(&self.endpoints(), left.metadata.uid).await,
            None => Ok(()),
        }
    }

    /// Deletes this object of the canary's name.
    async fn delete(&self, path: &str, uid: Option<String>) -> Result<(), ApiError> {
        let only = Preconditions { uid, resource_version: None };
        match self.cluster.client.delete(&format!("{path}/{NAME}"), &only).await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome,
        }
    }
}

/// True if this command made the object, or a controller for it: it copies the labels of a Service to Endpoints.
fn is_ours(metadata: &ObjectMeta) -> bool {
    metadata.labels.iter().flatten().any(|(label, _)| label == LABEL)
}
