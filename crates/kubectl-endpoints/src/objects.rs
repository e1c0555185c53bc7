//! Objects by their paths.

use kube_api::{ApiClient, ApiError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct List<T> {
    items: Option<Vec<T>>,
}

/// The path of a collection: of a namespace if that is not empty, else of the whole cluster.
pub(crate) fn collection(api_version: &str, plural: &str, namespace: &str) -> String {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    if namespace.is_empty() {
        format!("/{root}/{api_version}/{plural}")
    } else {
        format!("/{root}/{api_version}/namespaces/{namespace}/{plural}")
    }
}

/// The object at a path; none if it does not exist.
pub(crate) async fn find<T: DeserializeOwned>(client: &ApiClient, path: &str) -> Result<Option<T>, ApiError> {
    match client.get_json(path).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The objects of a collection, in one response.
pub(crate) async fn list<T: DeserializeOwned>(client: &ApiClient, path: &str) -> Result<Vec<T>, ApiError> {
    let list: List<T> = client.get_json(path).await?;
    Ok(list.items.unwrap_or_default())
}
