//! Hints for all slices of one address type.

use std::sync::Arc;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointSlice, ForNode, ForZone};

use super::allocation::Allocations;
use super::outcome::{NoHints, NoHintsReason, TopologyOutcome, ZoneCounts};
use super::shares::ZoneShares;
use super::transfers::{Open, Transfers, keep_to_maximum};
use crate::desired::is_ready;
use crate::model::{endpoints_of, endpoints_of_mut};

/// Assigns a zone to every ready endpoint, or changes nothing and returns the reason (`topologycache.go` `AddHints`).
///
/// Slices in `create` and `update` get new hints. Slices in `unchanged` keep theirs if they are still valid; otherwise
/// they get new ones, and are copied to `update` if that changes them. Endpoints that aren't ready are left alone.
///
/// On success, planning again on the result finds every hint valid: each names a zone with capacity, and no zone has
/// more than its maximum.
///
/// Cost: linear in endpoints, times the logarithm of the number of zones.
pub(crate) fn add_hints(
    shares: &ZoneShares,
    create: &mut [EndpointSlice],
    update: &mut Vec<EndpointSlice>,
    unchanged: &[&EndpointSlice],
) -> TopologyOutcome {
    let written = create.iter().chain(update.iter());
    let endpoints = written.chain(unchanged.iter().copied()).flat_map(ready_endpoints).count();
    let allocations = shares.allocate(endpoints)?;
    let (mut counts, reopened) = kept_hints(unchanged, &allocations);
    let open = create.iter().chain(update.iter()).chain(reopened.iter().copied());
    let open: Option<Vec<Open>> =
        open.flat_map(ready_endpoints).map(|it| at_home(it, &allocations)).collect();
    let Some(mut open) = open else {
        return Err(NoHints { endpoints, reason: NoHintsReason::EndpointWithoutZone });
    };
    for endpoint in &open {
        *counts.entry(endpoint.hint.clone()).or_default() += 1;
    }
    Transfers::plan(&allocations, &counts).carry_out(&mut open, &mut counts);
    keep_to_maximum(&mut open, &mut counts, &allocations);
    counts.retain(|_, count| *count > 0);

    let mut hints = open.iter().map(|endpoint| zone_hint(&endpoint.hint));
    for slice in create.iter_mut().chain(update.iter_mut()) {
        set_hints(slice, &mut hints);
    }
    for slice in reopened {
        let hints: Vec<EndpointHints> = hints.by_ref().take(ready_endpoints(slice).count()).collect();
        let present = ready_endpoints(slice).map(|endpoint| endpoint.hints.as_ref());
        if !present.zip(&hints).all(|(present, wanted)| same_hints(present, Some(wanted))) {
            let mut slice = slice.clone();
            set_hints(&mut slice, &mut hints.into_iter());
            update.push(slice);
        }
    }
    Ok(counts)
}

/// Counts the hints of slices with valid hints, and collects the other slices (`sliceinfo.go`
/// `getAllocatedHintsByZone`).
fn kept_hints<'a>(
    slices: &[&'a EndpointSlice],
    allocations: &Allocations,
) -> (ZoneCounts, Vec<&'a EndpointSlice>) {
    let (mut counts, mut reopened) = (ZoneCounts::new(), vec![]);
    for slice in slices {
        let Some(hints) = valid_hints(slice, &counts, allocations) else {
            reopened.push(*slice);
            continue;
        };
        for (zone, count) in hints {
            *counts.entry(zone).or_default() += count;
        }
    }
    (counts, reopened)
}

/// The hints in a slice by zone, if all ready endpoints have some, for zones with capacity, and no zone exceeds its
/// maximum together with the hints counted before (`utils.go` `getHintsByZone`).
pub(super) fn valid_hints(
    slice: &EndpointSlice,
    counted: &ZoneCounts,
    allocations: &Allocations,
) -> Option<ZoneCounts> {
    let mut counts = ZoneCounts::new();
    for endpoint in ready_endpoints(slice) {
        let zones = endpoint.hints.as_ref()?.for_zones.as_ref().filter(|zones| !zones.is_empty())?;
        for zone in zones {
            allocations.get(&zone.name)?;
            *counts.entry(allocations.shared(&zone.name)).or_default() += 1;
        }
    }
    let fits = |(zone, count): (&Arc<str>, &usize)| {
        counted.get(zone).copied().unwrap_or(0) + count <= allocations.maximum(zone)
    };
    counts.iter().all(fits).then_some(counts)
}

pub(super) fn ready_endpoints(slice: &EndpointSlice) -> impl Iterator<Item = &Endpoint> {
    endpoints_of(slice).iter().filter(|endpoint| is_ready(endpoint))
}

fn at_home(endpoint: &Endpoint, allocations: &Allocations) -> Option<Open> {
    let zone = endpoint.zone.as_deref().filter(|zone| !zone.is_empty())?;
    Some(Open::at_home(allocations.shared(zone)))
}

fn zone_hint(zone: &str) -> EndpointHints {
    EndpointHints { for_zones: Some(vec![ForZone { name: zone.to_owned() }]), for_nodes: None }
}

/// Sets the next of `hints` on each ready endpoint.
fn set_hints(slice: &mut EndpointSlice, hints: &mut impl Iterator<Item = EndpointHints>) {
    let ready = endpoints_of_mut(slice).iter_mut().filter(|endpoint| is_ready(endpoint));
    ready.zip(hints).for_each(|(endpoint, hints)| endpoint.hints = Some(hints));
}

/// True if hints are equal, where absent hints, absent lists and empty lists mean the same.
pub(crate) fn same_hints(a: Option<&EndpointHints>, b: Option<&EndpointHints>) -> bool {
    fn zones(hints: Option<&EndpointHints>) -> &[ForZone] {
        hints.and_then(|hints| hints.for_zones.as_deref()).unwrap_or_default()
    }
    fn nodes(hints: Option<&EndpointHints>) -> &[ForNode] {
        hints.and_then(|hints| hints.for_nodes.as_deref()).unwrap_or_default()
    }
    zones(a) == zones(b) && nodes(a) == nodes(b)
}
