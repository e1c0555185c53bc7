//! Applies an operation to a cluster.

use futures::future::join_all;
use http::Method;
use kube::Client;
use random_operations::requests::Request;
use random_operations::{Operation, Step};
use serde_json::json;

use crate::requests;
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

/// Applies an operation.
///
/// # Errors
/// If the API server refuses it, or cannot be reached.
pub async fn operation(world: &World, operation: &Operation) -> Result<(), kube::Error> {
    let client = world.client();
    for request in operation.requests(NAMESPACE, &world.now()) {
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
    requests::send(client, method.as_str(), path, body).await.map(drop)
}

pub(crate) fn unless_missing<T>(answer: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
