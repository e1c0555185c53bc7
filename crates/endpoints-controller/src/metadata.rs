//! Labels and annotations of Endpoints.

use std::collections::BTreeMap;

use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::Service;
use endpointslice::well_known::{
    ENDPOINTS_CONTROLLER, ENDPOINTS_MANAGED_BY, ENDPOINTS_OVER_CAPACITY, HEADLESS, LAST_CHANGE_TRIGGER_TIME,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The value of [`ENDPOINTS_OVER_CAPACITY`] (`endpoints_controller.go` `truncated`).
const TRUNCATED: &str = "truncated";

type Map = BTreeMap<String, String>;

/// The labels that this controller sets itself; they are never copied from the Service.
fn is_reserved(key: &str) -> bool {
    key == HEADLESS || key == ENDPOINTS_MANAGED_BY
}

/// The labels to write: the Service's, `headless` if it has no cluster IP, and `managed-by`.
pub(crate) fn labels(service: &Service) -> Map {
    let of_service = service.labels.iter().filter(|(key, _)| !is_reserved(key));
    let mut labels: Map = of_service.map(|(key, value)| (key.to_string(), value.to_string())).collect();
    if is_marked_headless(service) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.insert(ENDPOINTS_MANAGED_BY.to_owned(), ENDPOINTS_CONTROLLER.to_owned());
    labels
}

/// True if Endpoints of the Service have the label of headless Services.
pub(crate) fn is_marked_headless(service: &Service) -> bool {
    service.cluster_ip.is_empty() || service.is_headless()
}

/// True if this controller manages the object, by its label. Endpoints that can't be decoded count as another client's.
pub(crate) fn is_ours(endpoints: &CachedEndpoints) -> bool {
    kube_protobuf::meta(&endpoints.encoded.unpack())
        .is_ok_and(|meta| meta.labels.contains(&(ENDPOINTS_MANAGED_BY, ENDPOINTS_CONTROLLER)))
}

/// True if this controller manages an object of this metadata, by its label.
pub(crate) fn has_our_label(metadata: &ObjectMeta) -> bool {
    let manager = metadata.labels.as_ref().and_then(|labels| labels.get(ENDPOINTS_MANAGED_BY));
    manager.is_some_and(|manager| manager == ENDPOINTS_CONTROLLER)
}

/// True if stored labels need no write: `managed-by` is ours, and the rest are the Service's. `headless` is not compared,
/// as upstream: objects from before that label are left alone.
///
/// A reserved label on the Service doesn't count, because it is never copied. (Upstream counts it and writes the object
/// at every sync.)
pub(crate) fn labels_are_current(stored: Option<&Map>, service: &Service) -> bool {
    let managed_by = stored.and_then(|labels| labels.get(ENDPOINTS_MANAGED_BY));
    let stored = stored.into_iter().flatten().map(|(key, value)| (&**key, &**value));
    let wanted = service.labels.iter().map(|(key, value)| (&**key, &**value));
    managed_by.is_some_and(|manager| manager == ENDPOINTS_CONTROLLER)
        && stored.filter(|(key, _)| !is_reserved(key)).eq(wanted.filter(|(key, _)| !is_reserved(key)))
}

/// The annotations to write: the stored ones, except our own two.
pub(crate) fn annotations(stored: Option<&Map>, trigger_time: Option<String>, truncated: bool) -> Map {
    let mut annotations = stored.cloned().unwrap_or_default();
    let truncated = truncated.then(|| TRUNCATED.to_owned());
    for (key, value) in [(LAST_CHANGE_TRIGGER_TIME, trigger_time), (ENDPOINTS_OVER_CAPACITY, truncated)] {
        match value {
            Some(value) => annotations.insert(key.to_owned(), value),
            None => annotations.remove(key),
        };
    }
    annotations
}

/// True if the stored annotation about capacity is right. Other annotations cause no write.
pub(crate) fn capacity_is_current(stored: Option<&Map>, truncated: bool) -> bool {
    let stored = stored.and_then(|annotations| annotations.get(ENDPOINTS_OVER_CAPACITY));
    stored.map(String::as_str) == truncated.then_some(TRUNCATED)
}
