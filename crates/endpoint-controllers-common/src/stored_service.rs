//! A Service as the API server has it, for decisions that a cache that is behind would get wrong.

use controller_kit::key::ObjectKey;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::Service;
use kube_api::{ApiClient, ApiError};

/// The Service of this name, with whatever labels; none if there is none.
///
/// Read as a list of one, because controllers of endpoints have no permission to get Services.
///
/// # Errors
///
/// The request failed.
pub async fn stored_service(client: &ApiClient, key: &ObjectKey) -> Result<Option<Service>, ApiError> {
    let ObjectKey { namespace, name } = key;
    let path = format!("/api/v1/namespaces/{namespace}/services?fieldSelector=metadata.name={name}");
    let found: List<Service> = client.get_json(&path).await?;
    Ok(found.items.into_iter().next())
}
