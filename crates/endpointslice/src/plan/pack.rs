//! Packs the endpoints of one group with few slice writes.
//!
//! Every write to a slice is sent to every node in the cluster, so few slices are touched, even if that leaves them
//! unevenly full. Endpoints that are in no slice yet go to:
//!
//! 1. slices that must be written anyway, fullest first;
//! 2. new slices, while the remaining endpoints fill one;
//! 3. the one untouched slice that the remainder fits most tightly, or else a last new slice.
//!
//! Slices are never rebalanced or merged: a Service that shrinks keeps half-empty slices until they are empty
//! (`reconciler.go` `reconcileByPortMapping`).

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::template::SliceTemplate;
use super::up_to_date::{MissingEndpoints, UpToDateOfGroup};
use crate::desired::{Conditions, EndpointSet, PortSet, equal_beyond_identity};
use crate::model::{AddressType, endpoint_list, endpoints_of};

/// The writes for one group, and the slices it leaves alone.
pub(crate) struct Packed<'a, S> {
    pub(crate) create: Vec<EndpointSlice>,
    pub(crate) update: Vec<EndpointSlice>,
    /// The names of the updates that change only metadata.
    pub(crate) relabelled: BTreeSet<String>,
    pub(crate) unchanged: Vec<&'a S>,
    pub(crate) delete: Vec<&'a S>,
    /// Endpoints that were in no slice.
    pub(crate) added: usize,
    /// Endpoints that stay in their slice and have changed.
    pub(crate) updated: usize,
    /// Endpoints that are removed from slices.
    pub(crate) removed: usize,
}

impl<S> Default for Packed<'_, S> {
    fn default() -> Self {
        let (create, update, relabelled, unchanged, delete) = Default::default();
        Self { create, update, relabelled, unchanged, delete, added: 0, updated: 0, removed: 0 }
    }
}

/// Packs `desired` into slices of at most `max` endpoints, alongside the up-to-date slices of the group.
///
/// Fails if an up-to-date slice takes the remainder.
pub(crate) fn pack<'a, S: Borrow<EndpointSlice>>(
    (existing, up_to_date): (Vec<&'a S>, UpToDateOfGroup<'_>),
    mut desired: EndpointSet,
    conditions: Conditions,
    max: usize,
    template: &SliceTemplate,
    (address_type, ports): (AddressType, &PortSet),
) -> Result<Packed<'a, S>, MissingEndpoints> {
    let mut packed = keep(existing, &mut desired, conditions, template);
    packed.added = desired.len();
    let mut rest = desired.into_sorted().into_iter();
    packed.update.sort_by_key(|slice| Reverse(endpoint_count(slice)));
    for slice in &mut packed.update {
        let left = rest.len();
        fill(slice, &mut rest, max);
        if let Some(name) = slice.metadata.name.as_ref().filter(|_| rest.len() < left) {
            packed.relabelled.remove(name);
        }
    }
    while rest.len() > 0 {
        let fit = (rest.len() < max).then(|| tightest_fit(&packed.unchanged, rest.len(), max)).flatten();
        if let Some((room, position)) = fit {
            let name =
                packed.unchanged.get(position).and_then(|slice| (*slice).borrow().metadata.name.as_deref());
            up_to_date.unless_tighter(rest.len(), max, Some((room, name)))?;
            let mut slice = packed.unchanged.remove(position).borrow().clone();
            fill(&mut slice, &mut rest, max);
            packed.update.push(slice);
        } else {
            if rest.len() < max {
                up_to_date.unless_tighter(rest.len(), max, None)?;
            }
            let mut slice = template.new_slice(address_type, ports.clone());
            fill(&mut slice, &mut rest, max);
            packed.create.push(slice);
        }
    }
    Ok(packed)
}

/// Keeps desired endpoints in their slices, and divides the slices by the write they need.
fn keep<'a, S: Borrow<EndpointSlice>>(
    existing: Vec<&'a S>,
    desired: &mut EndpointSet,
    conditions: Conditions,
    template: &SliceTemplate,
) -> Packed<'a, S> {
    let mut packed = Packed::default();
    for shared in existing {
        let slice = shared.borrow();
        let (kept, changed) = kept_endpoints(slice, desired, conditions);
        let removed = endpoint_count(slice) - kept.len();
        packed.removed += removed;
        packed.updated += changed;
        if changed > 0 || removed > 0 {
            if kept.is_empty() {
                packed.delete.push(shared);
            } else {
                packed.update.push(with_endpoints(slice, kept));
            }
        } else if template.metadata_differs(slice) {
            packed.relabelled.extend(slice.metadata.name.clone());
            packed.update.push(slice.clone());
        } else {
            packed.unchanged.push(shared);
        }
    }
    packed
}

/// Packs `desired` into exactly one slice, or none if it is empty; endpoints beyond `max` are left out.
///
/// Of several existing slices the first by name stays (`endpointslicemirroring/reconciler.go`
/// `reconcileByPortMapping`). Endpoints that it carries already come first, so that a set that is too large converges.
pub(crate) fn pack_single<'a, S: Borrow<EndpointSlice>>(
    existing: Vec<&'a S>,
    mut desired: EndpointSet,
    conditions: Conditions,
    max: usize,
    template: &SliceTemplate,
    (address_type, ports): (AddressType, &PortSet),
) -> Packed<'a, S> {
    let mut packed = Packed::default();
    let wanted = desired.len();
    let mut existing = existing.into_iter();
    let first = if wanted == 0 { None } else { existing.next() };
    let mut slice = template.new_slice(address_type, ports.clone());
    let mut unchanged = false;
    if let Some(present) = first {
        let present = present.borrow();
        let (kept, changed) = kept_endpoints(present, &mut desired, conditions);
        packed.updated = changed;
        packed.removed = endpoint_count(present) - kept.len();
        let complete = kept.len() == wanted.min(max);
        unchanged = changed == 0 && packed.removed == 0 && complete && !template.metadata_differs(present);
        slice = with_endpoints(present, kept);
    }
    let before = endpoint_count(&slice);
    fill(&mut slice, &mut desired.into_sorted().into_iter(), max);
    endpoint_list(&mut slice).truncate(max);
    packed.added = endpoint_count(&slice).saturating_sub(before);
    packed.delete = existing.collect();
    if wanted == 0 {
        // The endpoints of surplus slices are not removed: they are in the slice that stays.
        packed.removed = packed.delete.iter().map(|slice| endpoint_count((*slice).borrow())).sum();
    }
    match first {
        Some(present) if unchanged => packed.unchanged.push(present),
        Some(_) => packed.update.push(slice),
        None if wanted > 0 => packed.create.push(slice),
        None => {}
    }
    packed
}

/// The slice with only desired endpoints, in their desired form; none if it has no others.
pub(crate) fn reduce(
    slice: &EndpointSlice,
    mut desired: EndpointSet,
    conditions: Conditions,
) -> Option<EndpointSlice> {
    let (kept, changed) = kept_endpoints(slice, &mut desired, conditions);
    (changed > 0 || kept.len() < endpoint_count(slice)).then(|| with_endpoints(slice, kept))
}

/// The endpoints of `slice` that are still desired, in their desired form, and the number of those that have changed.
fn kept_endpoints(
    slice: &EndpointSlice,
    desired: &mut EndpointSet,
    conditions: Conditions,
) -> (Vec<Endpoint>, usize) {
    let mut changed = 0;
    let kept = endpoints_of(slice).iter().filter_map(|present| {
        let wanted = desired.take(present)?;
        changed += usize::from(!equal_beyond_identity(&wanted, present, conditions));
        Some(wanted)
    });
    (kept.collect(), changed)
}

fn with_endpoints(slice: &EndpointSlice, endpoints: Vec<Endpoint>) -> EndpointSlice {
    EndpointSlice {
        metadata: slice.metadata.clone(),
        address_type: slice.address_type.clone(),
        ports: slice.ports.clone(),
        endpoints: endpoints.into(),
    }
}

fn fill(slice: &mut EndpointSlice, rest: &mut impl Iterator<Item = Endpoint>, max: usize) {
    let endpoints = endpoint_list(slice);
    let room = max.saturating_sub(endpoints.len());
    endpoints.extend(rest.take(room));
}

/// The slice that has least capacity left after `count` more endpoints, if they fit at all: that capacity, and its
/// position. Of several, the first.
fn tightest_fit<S: Borrow<EndpointSlice>>(slices: &[&S], count: usize, max: usize) -> Option<(usize, usize)> {
    let filled = slices.iter().map(|slice| endpoint_count((*slice).borrow()) + count);
    let fitting = filled.enumerate().filter(|(_, filled)| *filled <= max);
    fitting.map(|(position, filled)| (max - filled, position)).min()
}

pub(crate) fn endpoint_count(slice: &EndpointSlice) -> usize {
    endpoints_of(slice).len()
}
