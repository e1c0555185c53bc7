//! Topology hints: the results that must agree, and the deliberate differences (reasons: `endpointslice::topology`).

use std::collections::BTreeMap;

use endpointslice::topology::{Allocations, NoHintsReason};
use endpointslice::{AddressType, Hints, PortSet};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::case::{Ours, Recorded};
use super::compare::{Differences, Scene, endpoints, is_ready, name_of, ports};

type ZoneCounts = BTreeMap<String, usize>;

/// The number of endpoints that serve each zone is one of upstream's results.
pub(crate) fn compare_zones(
    scene: &Scene<'_>,
    seen: &[BTreeMap<String, ZoneCounts>],
    found: &mut Differences,
) {
    let Some(Ok(counts)) = &scene.plan.topology else { return };
    let ours = hinted(scene);
    let told: ZoneCounts = counts.iter().map(|(zone, count)| (zone.to_string(), *count)).collect();
    found.equal("zones of the outcome and of the slices", &told, &ours);
    if scene.holds_back() {
        return;
    }
    let of_type = |counts: &BTreeMap<String, ZoneCounts>| {
        counts.get(scene.plan.address_type.as_str()).cloned().unwrap_or_default()
    };
    let theirs: Vec<ZoneCounts> = seen.iter().map(of_type).collect();
    let rests = theirs.iter().all(|counts| converges(scene, counts));
    found.check(!rests || theirs.contains(&ours), || {
        format!("endpoints serving each zone\n      ours     {ours:?}\n      upstream {theirs:?}")
    });
}

/// Upstream can hand out hints that it calls invalid in the next sync, and then writes in every sync: for a zone
/// without capacity, or beyond a zone's maximum. We move such endpoints.
fn converges(scene: &Scene<'_>, counts: &ZoneCounts) -> bool {
    let allocations = allocations(scene);
    allocations.is_some_and(|allocations| counts.iter().all(|(zone, n)| *n <= allocations.maximum(zone)))
}

fn allocations(scene: &Scene<'_>) -> Option<Allocations> {
    let Hints::Topology(shares) = &scene.ours.hints else { return None };
    let ready = after(scene).flat_map(endpoints).filter(|endpoint| is_ready(endpoint)).count();
    shares.allocate(ready).ok()
}

fn hinted(scene: &Scene<'_>) -> ZoneCounts {
    let mut counts = ZoneCounts::new();
    for endpoint in after(scene).flat_map(endpoints).filter(|endpoint| is_ready(endpoint)) {
        let zones = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_ref());
        for zone in zones.into_iter().flatten() {
            *counts.entry(zone.name.clone()).or_default() += 1;
        }
    }
    counts
}

/// The slices of the type after our plan is applied, suppressed creates included.
fn after<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = &'a EndpointSlice> {
    let plan = &scene.plan;
    let gone = |slice: &EndpointSlice| {
        plan.delete.iter().chain(&plan.update).any(|other| name_of(other) == name_of(slice))
    };
    let untouched = scene.existing.values().copied().filter(move |slice| !gone(slice));
    untouched.chain(&plan.create).chain(&plan.update)
}

/// Upstream writes every slice that it reopens for hints, also if it ends up with the hints it had, or if hints turn
/// out to be impossible afterwards. We don't, so we may write fewer.
pub(crate) fn leaves_reopened_alone(scene: &Scene<'_>) -> bool {
    match &scene.plan.topology {
        Some(Ok(_)) => true,
        Some(Err(no_hints)) => no_hints.reason == NoHintsReason::EndpointWithoutZone,
        None => false,
    }
}

/// Slices are reopened if they would take a zone beyond its maximum, counted in the order of slices. Ours is by group,
/// upstream's is not, so with several groups others may be reopened.
pub(crate) fn may_reopen_others(scene: &Scene<'_>) -> bool {
    let groups = scene.existing.values().map(|slice| PortSet::new(ports(slice).to_vec()));
    groups.collect::<std::collections::BTreeSet<_>>().len() > 1
}

/// The events are equal. Upstream takes two address types in random order, and only the first success of a Service has an
/// event.
pub(crate) fn compare_events(ours: &Ours, theirs: &Recorded, found: &mut Differences) {
    let ours = ours.events.iter().map(|event| {
        let event_type = if event.is_warning() { "Warning" } else { "Normal" };
        format!("{event_type} {} {event}", event.reason())
    });
    let without_type = |event: &str| {
        let news = event.starts_with("Normal ");
        let types = [AddressType::Ipv4, AddressType::Ipv6].map(AddressType::as_str);
        if news {
            types.iter().fold(event.to_owned(), |event, name| event.replace(name, "any"))
        } else {
            event.to_owned()
        }
    };
    let sorted = |events: &mut dyn Iterator<Item = String>| {
        let mut events: Vec<String> = events.map(|event| without_type(&event)).collect();
        events.sort();
        events
    };
    found.equal("events", &sorted(&mut ours.into_iter()), &sorted(&mut theirs.events.iter().cloned()));
}
