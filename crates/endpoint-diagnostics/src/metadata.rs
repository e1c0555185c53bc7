//! The metadata of objects.

use endpointslice::well_known::{ENDPOINT_CONTROLLER_NAME, MANAGED_BY};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The name of an object.
pub(crate) fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// A label of an object.
pub(crate) fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// An annotation of an object.
pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The controller of a slice, by its label; empty if it has none.
pub(crate) fn slice_manager(slice: &EndpointSlice) -> &str {
    label(&slice.metadata, MANAGED_BY).unwrap_or_default()
}

/// The value of the label that delegates a Service.
pub(crate) fn delegate(service: &core::Service) -> Option<&str> {
    label(&service.metadata, ENDPOINT_CONTROLLER_NAME)
}
