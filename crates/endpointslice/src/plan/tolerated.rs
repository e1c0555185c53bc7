//! Endpoints with addresses that the API server refuses in a write, but accepts in slices that carry them already.
//!
//! The API server validates the endpoints of a slice only if they change (`pkg/apis/discovery/validation`
//! `ValidateEndpointSlice`), so that old slices may have addresses that are refused in new ones. Upstream leaves such a
//! slice alone as well, and is refused as soon as any other endpoint in it changes. Here the addresses are left out then.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::slice_plan::AddressTypePlan;
use crate::desired::{EndpointSet, PortSet, Tolerated};
use crate::model::endpoints_of;

/// The tolerated endpoints that one of the slices carries, with the same ports. No others can stay.
///
/// Cost: none if nothing is tolerated, else linear in the endpoints of the slices.
pub(super) fn present<S: Borrow<EndpointSlice>>(tolerated: &[Tolerated], slices: &[&S]) -> Vec<Tolerated> {
    if tolerated.is_empty() {
        return vec![];
    }
    let mut groups: BTreeMap<PortSet, EndpointSet> = BTreeMap::new();
    for slice in slices.iter().map(|slice| (*slice).borrow()) {
        let group = groups.entry(PortSet::of(slice)).or_default();
        for endpoint in endpoints_of(slice) {
            group.insert(endpoint.clone());
        }
    }
    let carried = |it: &&Tolerated| groups.get(&it.ports).is_some_and(|group| group.contains(&it.endpoint));
    tolerated.iter().filter(carried).cloned().collect()
}

/// The desired endpoints of each group, with tolerated ones in the place of their allowed form.
pub(super) fn with_tolerated(
    desired: &BTreeMap<PortSet, EndpointSet>,
    tolerated: &[Tolerated],
) -> BTreeMap<PortSet, EndpointSet> {
    let mut desired = desired.clone();
    for Tolerated { ports, endpoint, allowed } in tolerated {
        let group = desired.entry(ports.clone()).or_default();
        if let Some(allowed) = allowed {
            group.take(allowed);
        }
        group.insert(endpoint.clone());
    }
    desired
}

/// The slices whose endpoints `plan` doesn't change.
pub(super) fn unchanged<'a, S: Borrow<EndpointSlice>>(
    slices: &[&'a S],
    plan: &AddressTypePlan,
) -> Vec<&'a S> {
    let changes = |slice: &EndpointSlice| {
        let same_name = |other: &&EndpointSlice| other.metadata.name == slice.metadata.name;
        plan.delete.iter().any(|deleted| same_name(&deleted))
            || plan.update.iter().find(same_name).is_some_and(|update| !same_endpoints(update, slice))
    };
    slices.iter().copied().filter(|slice| !changes((*slice).borrow())).collect()
}

fn same_endpoints(a: &EndpointSlice, b: &EndpointSlice) -> bool {
    endpoints_of(a) == endpoints_of(b)
}
