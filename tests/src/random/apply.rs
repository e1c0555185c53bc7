//! Applies an operation to a cluster.

use futures::future::join_all;
use http::Method;
use http::header::CONTENT_TYPE;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use random_operations::requests::Request;
use random_operations::{Operation, Step};
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
        let deleted = world.slices().delete(&slice.name_any(), &DeleteParams::default()).await;
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
    for request in operation.requests(namespace, now) {
        let answer = send(client, &request).await;
        if request.method == Method::PUT {
            if unless_missing(answer)?.is_none() {
                send(client, &Request::create(request.collection(), request.body.clone())).await?;
            }
        } else if matches!(operation, Operation::DeleteEndpoints { .. }) {
            unless_missing(answer)?;
        } else {
            answer?;
        }
    }
    Ok(())
}

async fn send(client: &Client, Request { method, path, body }: &Request) -> Result<(), kube::Error> {
    let content = if *method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = http::Request::builder().method(method).uri(path).header(CONTENT_TYPE, content);
    client.request::<Value>(request.body(bytes).expect("a request")).await.map(drop)
}

pub(crate) fn unless_missing<T>(answer: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
