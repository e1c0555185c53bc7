//! Endpoints with addresses that the API server refuses, but leaves in slices that carry them already.
//!
//! The API server checks the endpoints of a slice only if they change (`pkg/apis/discovery/validation`
//! `ValidateEndpointSlice`), so that old slices may have addresses that no slice gets any more. Upstream leaves such a slice
//! alone as well, and is refused as soon as anything else in it changes. Here the addresses are left out then.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::slice_plan::AddressTypePlan;
use crate::desired::{EndpointSet, PortSet, Tolerated};

/// Those of the tolerated endpoints that one of the slices carries, with the same ports: no others have a place to stay.
///
/// Cost: none if nothing is tolerated, else linear in the endpoints of the slices.
pub(super) fn present<S: Borrow<EndpointSlice>>(tolerated: &[Tolerated], slices: &[&S]) -> Vec<Tolerated> {
    if tolerated.is_empty() {
        return vec![];
    }
    let mut groups: BTreeMap<PortSet, EndpointSet> = BTreeMap::new();
    for slice in slices.iter().map(|slice| (*slice).borrow()) {
        let group = groups.entry(PortSet::new(slice.ports.clone().unwrap_or_default())).or_default();
        slice.endpoints.iter().flatten().for_each(|endpoint| group.insert(endpoint.clone()));
    }
    let carried = |it: &&Tolerated| groups.get(&it.ports).is_some_and(|group| group.contains(&it.endpoint));
    tolerated.iter().filter(carried).cloned().collect()
}

/// The desired endpoints of each group, with tolerated ones in the place of what else would be published of them.
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

/// The slices that have the same endpoints after `plan` as before it.
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
    a.endpoints.as_deref().unwrap_or_default() == b.endpoints.as_deref().unwrap_or_default()
}
