//! Applies an operation to a cluster.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Endpoints, Node, Pod, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use random_operations::requests::node_status;
use random_operations::{Operation, PodStatus, Step};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::canonical::{MANAGED_BY, MIRRORED, SERVICE_NAME};
use crate::scenario::{NAMESPACE, World};

/// Applies a step. With `wait`, the controllers have handled the operation before the Services are touched, and all
/// changes at the end.
pub(crate) async fn apply(world: &World, number: usize, step: &Step, wait: bool) {
    operation(world, &step.operation).await.unwrap_or_else(|error| {
        panic!("the API server refuses operation {number}, {step}: {error}");
    });
    if step.operation.is_of_node() {
        world.sync_nodes().await;
    }
    if wait {
        world.sync().await;
    }
    if step.touch {
        touch(world, &number.to_string(), step).await;
        if wait {
            world.sync().await;
        }
    }
}

/// Makes the controllers sync all Services again.
pub(crate) async fn touch(world: &World, mark: &str, step: &Step) {
    let change = json!({"metadata": {"annotations": {"touched": mark}}});
    join_all(step.synced.iter().map(|service| world.change_service(service, change.clone()))).await;
}

/// Deletes the mirrored slices of Endpoints.
pub(crate) async fn delete_mirrored(world: &World, service: &str) {
    let query = ListParams::default().labels(&format!("{SERVICE_NAME}={service},{MANAGED_BY}={MIRRORED}"));
    for slice in world.slices().list(&query).await.expect("listing slices") {
        let deleted = delete(world.slices(), &slice.name_any(), DeleteParams::default()).await;
        unless_missing(deleted).expect("deleting a slice");
    }
}

/// Deletes custom Endpoints, and creates them again once the controllers have noticed.
pub(crate) async fn recreate_endpoints(world: &World, service: &str) {
    let services: Api<Service> = Api::namespaced(world.client().clone(), NAMESPACE);
    let found = services.get_opt(service).await.expect("reading a Service");
    if found.and_then(|service| service.spec).is_none_or(|spec| spec.selector.is_some()) {
        // They are the controller's now, which creates them again.
        return;
    }
    let api: Api<Endpoints> = Api::namespaced(world.client().clone(), NAMESPACE);
    let Some(mut endpoints) = api.get_opt(service).await.expect("reading Endpoints") else { return };
    let deleted = api.delete(service, &DeleteParams::default()).await;
    deleted.expect("deleting Endpoints");
    world.settle().await;
    endpoints.metadata.resource_version = None;
    endpoints.metadata.uid = None;
    api.create(&PostParams::default(), &endpoints).await.expect("creating Endpoints again");
}

/// Applies an operation.
///
/// # Errors
/// If the API server refuses it, or cannot be reached.
pub async fn operation(world: &World, operation: &Operation) -> Result<(), kube::Error> {
    operation_in(world.client(), NAMESPACE, &world.now(), operation).await
}

/// Applies an operation in another namespace; `now` is the time of conditions.
///
/// # Errors
/// If the API server refuses it, or cannot be reached.
pub async fn operation_in(
    client: &Client,
    namespace: &str,
    now: &str,
    operation: &Operation,
) -> Result<(), kube::Error> {
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let nodes: Api<Node> = Api::all(client.clone());
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), namespace);
    match operation {
        Operation::CreateService { object, .. } => create(&services, object.clone()).await,
        Operation::ChangeService { name, patch, .. } => merge(&services, name, patch).await,
        Operation::DeleteService { name } => delete(&services, name, DeleteParams::default()).await,
        Operation::CreatePod { name, object, status } => {
            create(&pods, object.clone()).await?;
            change_status(now, &pods, name, status).await
        }
        Operation::BindPod { name, node } => {
            let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": node}});
            pods.create_subresource::<Value, Value>("binding", name, &PostParams::default(), &binding)
                .await
                .map(drop)
        }
        Operation::ChangePodStatus { name, status, .. } => change_status(now, &pods, name, status).await,
        Operation::ChangePod { name, metadata, .. } => {
            merge(&pods, name, &json!({"metadata": metadata})).await
        }
        Operation::TerminatePod { name, grace_seconds } => {
            delete(&pods, name, DeleteParams::default().grace_period(*grace_seconds)).await
        }
        Operation::RemovePod { name, finalizer } => {
            delete(&pods, name, DeleteParams::default().grace_period(0)).await?;
            if *finalizer {
                merge(&pods, name, &json!({"metadata": {"finalizers": null}})).await
            } else {
                Ok(())
            }
        }
        Operation::CreateNode { name, zone, cpu, ready } => {
            let labels = json!({"topology.kubernetes.io/zone": zone});
            let metadata = json!({"name": name, "labels": if zone.is_some() { labels } else { json!({}) }});
            create(&nodes, json!({"metadata": metadata, "status": node_status(*cpu, *ready)})).await
        }
        Operation::LabelNode { name, labels } => {
            merge(&nodes, name, &json!({"metadata": {"labels": labels}})).await
        }
        Operation::ChangeNodeReadiness { name, cpu, ready } => {
            let status = Patch::Merge(json!({"status": node_status(*cpu, *ready)}));
            nodes.patch_status(name, &PatchParams::default(), &status).await.map(drop)
        }
        Operation::DeleteNode { name } => delete(&nodes, name, DeleteParams::default()).await,
        Operation::SetEndpoints { name, object } => set(&endpoints, name, object).await,
        Operation::DeleteEndpoints { name } => {
            unless_missing(delete(&endpoints, name, DeleteParams::default()).await).map(drop)
        }
    }
}

/// Replaces the object, or creates it.
async fn set(api: &Api<Endpoints>, name: &str, object: &Value) -> Result<(), kube::Error> {
    let endpoints = serde_json::from_value(object.clone()).expect("an object of its kind");
    match unless_missing(api.replace(name, &PostParams::default(), &endpoints).await)? {
        Some(_) => Ok(()),
        None => create(api, object.clone()).await,
    }
}

pub(crate) fn unless_missing<T>(answer: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

async fn create<K>(api: &Api<K>, object: Value) -> Result<(), kube::Error>
where
    K: Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object = serde_json::from_value(object).expect("an object of its kind");
    api.create(&PostParams::default(), &object).await.map(drop)
}

async fn merge<K>(api: &Api<K>, name: &str, patch: &Value) -> Result<(), kube::Error>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

async fn delete<K>(api: &Api<K>, name: &str, how: DeleteParams) -> Result<(), kube::Error>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    api.delete(name, &how).await.map(drop)
}

async fn change_status(
    now: &str,
    pods: &Api<Pod>,
    name: &str,
    change: &PodStatus,
) -> Result<(), kube::Error> {
    let status = change.patch(now);
    if status == json!({}) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"status": status}));
    pods.patch_status(name, &PatchParams::default(), &patch).await.map(drop)
}
