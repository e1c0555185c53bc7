//! Puts the endpoints of one group into few slice writes.
//!
//! Every write to a slice is sent to every node in the cluster, so the rule throughout is: touch few slices, even if
//! that leaves them unevenly full. Room is sought in this order:
//!
//! 1. slices that must be written anyway, fullest first;
//! 2. new slices, while what is left would fill one;
//! 3. for the remainder, the one untouched slice that it fits most tightly, or else a last new slice.
//!
//! Slices are never rebalanced or merged: a Service that shrinks keeps half-empty slices until they are empty
//! (`reconciler.go` `reconcileByPortMapping`).

use std::borrow::Borrow;
use std::cmp::Reverse;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use crate::address::AddressType;
use crate::endpoint_set::{EndpointSet, equal_beyond_identity};
use crate::port_set::PortSet;
use crate::template::SliceTemplate;

/// The writes for one group, and the slices it leaves alone.
pub(crate) struct Packed<'a, S> {
    pub(crate) create: Vec<EndpointSlice>,
    pub(crate) update: Vec<EndpointSlice>,
    pub(crate) unchanged: Vec<&'a S>,
    pub(crate) delete: Vec<&'a S>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// Packs `desired` into slices of at most `max` endpoints.
pub(crate) fn pack<'a, S: Borrow<EndpointSlice>>(
    existing: Vec<&'a S>,
    mut desired: EndpointSet,
    max: usize,
    template: &SliceTemplate,
    (address_type, ports): (AddressType, &PortSet),
) -> Packed<'a, S> {
    let mut packed = keep(existing, &mut desired, template);
    packed.added = desired.len();
    let mut rest = desired.into_sorted().into_iter();
    packed.update.sort_by_key(|slice| Reverse(endpoint_count(slice)));
    for slice in &mut packed.update {
        fill(slice, &mut rest, max);
    }
    while rest.len() > 0 {
        let fit = (rest.len() < max).then(|| tightest_fit(&packed.unchanged, rest.len(), max)).flatten();
        if let Some(position) = fit {
            let mut slice = packed.unchanged.remove(position).borrow().clone();
            fill(&mut slice, &mut rest, max);
            packed.update.push(slice);
        } else {
            let mut slice = template.new_slice(address_type, ports.clone());
            fill(&mut slice, &mut rest, max);
            packed.create.push(slice);
        }
    }
    packed
}

/// Keeps desired endpoints where they are and sorts the slices by what happens to them.
fn keep<'a, S: Borrow<EndpointSlice>>(
    existing: Vec<&'a S>,
    desired: &mut EndpointSet,
    template: &SliceTemplate,
) -> Packed<'a, S> {
    let mut packed =
        Packed { create: vec![], update: vec![], unchanged: vec![], delete: vec![], added: 0, removed: 0 };
    for shared in existing {
        let slice = shared.borrow();
        let (kept, changed) = kept_endpoints(slice, desired);
        let removed = endpoint_count(slice) - kept.len();
        packed.removed += removed;
        if changed || removed > 0 {
            if kept.is_empty() {
                packed.delete.push(shared);
            } else {
                packed.update.push(with_endpoints(slice, kept));
            }
        } else if template.labels_differ(slice) {
            packed.update.push(slice.clone());
        } else {
            packed.unchanged.push(shared);
        }
    }
    packed
}

/// The desired form of the endpoints of `slice` that are still wanted, and whether one of them changed.
fn kept_endpoints(slice: &EndpointSlice, desired: &mut EndpointSet) -> (Vec<Endpoint>, bool) {
    let mut changed = false;
    let present = slice.endpoints.iter().flatten();
    let kept = present.filter_map(|present| {
        let wanted = desired.take(present)?;
        changed |= !equal_beyond_identity(&wanted, present);
        Some(wanted)
    });
    (kept.collect(), changed)
}

fn with_endpoints(slice: &EndpointSlice, endpoints: Vec<Endpoint>) -> EndpointSlice {
    EndpointSlice {
        metadata: slice.metadata.clone(),
        address_type: slice.address_type.clone(),
        ports: slice.ports.clone(),
        endpoints: Some(endpoints),
    }
}

fn fill(slice: &mut EndpointSlice, rest: &mut impl Iterator<Item = Endpoint>, max: usize) {
    let endpoints = slice.endpoints.get_or_insert_default();
    let room = max.saturating_sub(endpoints.len());
    endpoints.extend(rest.take(room));
}

/// The position of the slice that `count` more endpoints leave least room in, if they fit at all.
fn tightest_fit<S: Borrow<EndpointSlice>>(slices: &[&S], count: usize, max: usize) -> Option<usize> {
    let filled = slices.iter().map(|slice| endpoint_count((*slice).borrow()) + count);
    let fitting = filled.enumerate().filter(|(_, filled)| *filled <= max);
    fitting.min_by_key(|(_, filled)| max - filled).map(|(position, _)| position)
}

pub(crate) fn endpoint_count(slice: &EndpointSlice) -> usize {
    slice.endpoints.as_ref().map_or(0, Vec::len)
}
