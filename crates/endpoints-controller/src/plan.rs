//! The plan: the write of a sync, if any.

use endpointslice::Service;
use endpointslice::desired::same_target;
use endpointslice::endpoints::repack_subsets;
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::metadata::{annotations, capacity_is_current, labels, labels_are_current};
use crate::truncate::truncate;

/// The write of one sync.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// The stored object is in sync.
    Nothing,
    /// Create this object.
    Create(Endpoints),
    /// Replace the stored object, if it has not changed since.
    Update(Endpoints),
}

/// Compares the stored object with the desired one: `subsets` in canonical form, the Service's labels, and annotations.
///
/// The division into subsets and their order alone cause no write; earlier releases hashed differently. Of the annotations, only the one about capacity is compared (`endpoints_controller.go`
/// `syncService`). Other annotations, finalizers and owner references are kept.
///
/// Cost: linear in addresses, if the stored object is canonical; a repack of it otherwise. It is cloned only if it is
/// written.
pub fn plan(
    stored: Option<&Endpoints>,
    service: &Service,
    mut subsets: Vec<EndpointSubset>,
    trigger_time: Option<String>,
) -> Plan {
    let truncated = truncate(&mut subsets);
    if stored.is_some_and(|stored| {
        has_current_metadata(stored, service, truncated) && has_content(stored, &subsets, truncated)
    }) {
        return Plan::Nothing;
    }
    write(stored, service, subsets, truncated, trigger_time)
}

/// The same for an object with addresses that the API server refuses in what is written, if it has just these `subsets`:
/// `None` if anything else is to change in them.
///
/// The API server checks subsets only if they change (`pkg/apis/core/validation` `ValidateEndpoints`), so that an old object
/// may keep such addresses while its labels and annotations change. Upstream leaves it alone as well.
pub(crate) fn plan_around_refused(
    stored: &Endpoints,
    service: &Service,
    mut subsets: Vec<EndpointSubset>,
    trigger_time: Option<&str>,
) -> Option<Plan> {
    let truncated = truncate(&mut subsets);
    if !has_content(stored, &subsets, truncated) {
        None
    } else if has_current_metadata(stored, service, truncated) {
        Some(Plan::Nothing)
    } else {
        // As they are stored: the same subsets in another order would be a change.
        let subsets = stored.subsets.clone().unwrap_or_default();
        Some(write(Some(stored), service, subsets, truncated, trigger_time.map(ToOwned::to_owned)))
    }
}

pub(crate) fn has_current_metadata(stored: &Endpoints, service: &Service, truncated: bool) -> bool {
    let ObjectMeta { labels, annotations, .. } = &stored.metadata;
    labels_are_current(labels.as_ref(), service) && capacity_is_current(annotations.as_ref(), truncated)
}

fn has_content(stored: &Endpoints, subsets: &[EndpointSubset], truncated: bool) -> bool {
    have_same_content(stored.subsets.as_deref().unwrap_or_default(), subsets, truncated)
}

/// The write of these `subsets`, which have been `truncated` or not. Only the metadata of `stored` is read.
pub(crate) fn write(
    stored: Option<&Endpoints>,
    service: &Service,
    subsets: Vec<EndpointSubset>,
    truncated: bool,
    trigger_time: Option<String>,
) -> Plan {
    let stored_annotations = stored.and_then(|stored| stored.metadata.annotations.as_ref());
    let annotations = annotations(stored_annotations, trigger_time, truncated);
    let metadata = ObjectMeta {
        labels: Some(labels(service)),
        annotations: (!annotations.is_empty()).then_some(annotations),
        ..stored.map_or_else(|| new_metadata(service), |stored| stored.metadata.clone())
    };
    let endpoints = Endpoints { metadata, subsets: (!subsets.is_empty()).then_some(subsets) };
    if stored.is_some() { Plan::Update(endpoints) } else { Plan::Create(endpoints) }
}

fn new_metadata(service: &Service) -> ObjectMeta {
    ObjectMeta { name: Some(service.name.to_string()), ..ObjectMeta::default() }
}

/// True if each port has the same addresses on both sides.
///
/// Truncated subsets are not canonical, so both sides are repacked then.
fn have_same_content(stored: &[EndpointSubset], wanted: &[EndpointSubset], truncated: bool) -> bool {
    same_list(stored, wanted, same_subset) || {
        let stored = repack_subsets(stored);
        if truncated {
            same_list(&stored, &repack_subsets(wanted), same_subset)
        } else {
            same_list(&stored, wanted, same_subset)
        }
    }
}

fn same_list<T>(a: &[T], b: &[T], same: fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn same_optional_list<T>(a: Option<&Vec<T>>, b: Option<&Vec<T>>, same: fn(&T, &T) -> bool) -> bool {
    same_list(a.map_or(&[], Vec::as_slice), b.map_or(&[], Vec::as_slice), same)
}

/// Absent and empty are the same for lists.
fn same_subset(a: &EndpointSubset, b: &EndpointSubset) -> bool {
    same_optional_list(a.addresses.as_ref(), b.addresses.as_ref(), same_address)
        && same_optional_list(a.not_ready_addresses.as_ref(), b.not_ready_addresses.as_ref(), same_address)
        && same_optional_list(a.ports.as_ref(), b.ports.as_ref(), same_port)
}

/// Absent and empty are the same for text, but not for what is a pointer in Go: `nodeName` and `appProtocol`.
fn same_address(a: &EndpointAddress, b: &EndpointAddress) -> bool {
    a.ip == b.ip
        && same_text(a.hostname.as_deref(), b.hostname.as_deref())
        && a.node_name == b.node_name
        && match (&a.target_ref, &b.target_ref) {
            (Some(a), Some(b)) => same_target(a, b),
            (a, b) => a == b,
        }
}

fn same_port(a: &EndpointPort, b: &EndpointPort) -> bool {
    a.port == b.port
        && same_text(a.name.as_deref(), b.name.as_deref())
        && same_text(a.protocol.as_deref(), b.protocol.as_deref())
        && a.app_protocol == b.app_protocol
}

fn same_text(a: Option<&str>, b: Option<&str>) -> bool {
    a.unwrap_or_default() == b.unwrap_or_default()
}
