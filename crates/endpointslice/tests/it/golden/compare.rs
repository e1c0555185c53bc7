//! The results that must agree with upstream, and those that upstream leaves to chance.
//!
//! Chance is the random order of Go's maps (`reconciler.go`, `util/endpointset.go`). It decides about
//!
//! 1. *which endpoint goes where*: endpoints that no slice had are handed out in any order. So slices agree in the
//!    endpoints they keep, in order, and in how many they gain; all slices of one group together agree in what they
//!    gain. A slice that is the only one to gain something is thereby determined in full.
//! 2. *which of several equally full slices is filled up first*: those that are written anyway and keep the same number
//!    of endpoints agree in their sizes, but not slice by slice.
//! 3. *which of several equally full untouched slices takes the remainder*: the names may differ then, and if hints
//!    alone would have been reason to write one of them, so may the number of updates.
//! 4. *which slices to delete are recycled, and for what*: all slices of groups that are still desired come before those of
//!    other groups; within each of the two, any. The last new slice of the list is taken first; with several groups of
//!    new slices, that may be any group's.
//! 5. *the order of address types*: see events.
//!
//! `kept_placeholder` and `topology` have the few deliberate differences.
//!
//! Everything else agrees in every case: the number of creates, updates and deletes, the slices deleted or recycled,
//! the slices updated, all metadata, ports in order, hints by `trafficDistribution`, counts for metrics, events.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::plan::{AddressTypePlan, PlanStatistics};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use serde::Serialize;

use super::case::{Ours, Recorded};
use super::kept_placeholder::as_if_kept;
use super::new_slices::compare_new_slices;
use super::topology::{compare_events, compare_zones};
use super::updates::compare_updates;

/// The differences found, as text.
#[derive(Default)]
pub(crate) struct Differences {
    found: Vec<String>,
    /// The subject of the present comparison.
    place: String,
}

impl Differences {
    pub(crate) fn equal<T: PartialEq + Serialize>(&mut self, what: &str, ours: &T, theirs: &T) {
        self.check(ours == theirs, || {
            format!("{what}\n      ours     {}\n      upstream {}", json(ours), json(theirs))
        });
    }

    pub(crate) fn check(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.found.push(format!("{}: {}", self.place, otherwise()));
        }
    }
}

/// The writes of one side for one address type.
pub(crate) struct Writes {
    pub(crate) create: Vec<EndpointSlice>,
    /// Slices that keep their identity; they carry a resourceVersion.
    pub(crate) ordinary: Vec<EndpointSlice>,
    /// New slices under the name of one that would be deleted.
    pub(crate) recycled: Vec<EndpointSlice>,
    pub(crate) delete: BTreeSet<String>,
}

impl Writes {
    fn new<'a>(
        create: impl Iterator<Item = &'a EndpointSlice>,
        update: impl Iterator<Item = &'a EndpointSlice>,
        delete: BTreeSet<String>,
    ) -> Self {
        let (ordinary, recycled) =
            update.map(normal).partition(|slice| slice.metadata.resource_version.is_some());
        Self { create: create.map(normal).collect(), ordinary, recycled, delete }
    }

    /// Created slices.
    pub(crate) fn built(&self) -> impl Iterator<Item = &EndpointSlice> {
        self.create.iter().chain(&self.recycled)
    }
}

/// The comparison of one address type.
pub(crate) struct Scene<'a> {
    pub(crate) ours: &'a Ours,
    pub(crate) plan: &'a AddressTypePlan,
    /// Existing slices of the type.
    pub(crate) existing: BTreeMap<&'a str, &'a EndpointSlice>,
    pub(crate) planned: Writes,
    pub(crate) recorded: Writes,
}

impl Scene<'_> {
    /// True if creates are suppressed, so that upstream's are not recorded.
    pub(crate) fn holds_back(&self) -> bool {
        self.plan.creates_suppressed && !self.plan.create.is_empty()
    }

    /// True if ready endpoints have hints that upstream assigns in part by chance.
    pub(crate) fn has_topology_hints(&self) -> bool {
        matches!(self.plan.topology, Some(Ok(_)))
    }
}

/// All differences between our plan and upstream's result.
pub(crate) fn differences(ours: &Ours, theirs: &Recorded) -> Vec<String> {
    let mut found = Differences::default();
    let types: BTreeSet<&str> = ours.plan.types.iter().map(|plan| plan.address_type.as_str()).collect();
    let foreign = |slice: &&EndpointSlice| !types.contains(slice.address_type.as_str());
    let unsupported: BTreeSet<String> = ours.existing.iter().filter(foreign).map(name).collect();
    "slices of other address types".clone_into(&mut found.place);
    found.equal("deleted", &ours.plan.delete_if_unchanged.iter().map(name).collect(), &unsupported);
    found.check(unsupported.is_subset(&theirs.delete), || "upstream deletes others".to_owned());
    found.equal("written", &0, &theirs.create.iter().chain(&theirs.update).filter(foreign).count());

    for plan in &ours.plan.types {
        let scene = scene(ours, theirs, plan);
        plan.address_type.as_str().clone_into(&mut found.place);
        compare_new_slices(&scene, &mut found);
        compare_updates(&scene, &mut found);
        compare_gains(&scene, &mut found);
        compare_zones(&scene, &theirs.zones, &mut found);
    }
    "the Service".clone_into(&mut found.place);
    compare_skipped(ours, theirs, &mut found);
    compare_statistics(ours, theirs, &mut found);
    compare_events(ours, theirs, &mut found);
    found.found
}

fn scene<'a>(ours: &'a Ours, theirs: &Recorded, plan: &'a AddressTypePlan) -> Scene<'a> {
    let of_type = |slice: &&EndpointSlice| slice.address_type == plan.address_type.as_str();
    let existing: BTreeMap<&str, &EndpointSlice> =
        ours.existing.iter().filter(of_type).map(|slice| (name_of(slice), slice)).collect();
    let deleted = theirs.delete.iter().filter(|name| existing.contains_key(name.as_str()));
    let recorded = Writes::new(
        theirs.create.iter().filter(of_type),
        theirs.update.iter().filter(of_type),
        deleted.cloned().collect(),
    );
    let create = plan.create.iter();
    let planned = Writes::new(create, plan.update.iter(), plan.delete.iter().map(name).collect());
    let recorded = as_if_kept(recorded, &planned, &existing);
    Scene { ours, plan, existing, planned, recorded }
}

/// Endpoints that were in no slice before, by group: equal in sum, in any slices.
fn compare_gains(scene: &Scene<'_>, found: &mut Differences) {
    let (ours, theirs) = (gains(scene, &scene.planned), gains(scene, &scene.recorded));
    let missing = missing(&theirs, &ours);
    found.check(missing.is_empty(), || {
        format!("endpoints gained only upstream\n      {}", missing.join("\n      "))
    });
    let more = if scene.holds_back() { vec![] } else { self::missing(&ours, &theirs) };
    found.check(more.is_empty(), || format!("endpoints gained only here\n      {}", more.join("\n      ")));
}

/// Items that `some` has more often than `others`; both are sorted.
fn missing<'a>(some: &'a [String], others: &[String]) -> Vec<&'a str> {
    let mut others = others.iter().peekable();
    let is_missing = |one: &&String| {
        while others.next_if(|other| other < one).is_some() {}
        others.next_if(|other| other == one).is_none()
    };
    some.iter().filter(is_missing).map(String::as_str).collect()
}

/// Ports and endpoint as text, sorted.
fn gains(scene: &Scene<'_>, writes: &Writes) -> Vec<String> {
    let built = writes.built().map(|slice| (slice, endpoints(slice)));
    let grown = writes.ordinary.iter().map(|slice| {
        let kept = scene.existing.get(name_of(slice)).map_or(0, |before| kept_count(before, slice));
        (slice, &endpoints(slice)[kept..])
    });
    let gained = built.chain(grown).flat_map(|(slice, gained)| {
        let ports = if gained.is_empty() { String::new() } else { ports_text(slice) };
        gained.iter().map(move |endpoint| ports.clone() + &json(&determined(endpoint, scene)))
    });
    let mut gained: Vec<String> = gained.collect();
    gained.sort_unstable();
    gained
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("Kubernetes objects have a JSON form")
}

/// The endpoint without what upstream leaves to chance: topology hints.
pub(crate) fn determined(endpoint: &Endpoint, scene: &Scene<'_>) -> Endpoint {
    let by_chance = scene.has_topology_hints() && is_ready(endpoint);
    let hints = endpoint.hints.clone().filter(|_| !by_chance);
    Endpoint { hints, ..endpoint.clone() }
}

/// Pods skipped because of a missing Node are an error upstream.
fn compare_skipped(ours: &Ours, theirs: &Recorded, found: &mut Differences) {
    let named = theirs.error.split("skipping Pod ").skip(1).filter_map(|rest| rest.split(' ').next());
    found.equal("pods skipped", &ours.skipped, &named.map(str::to_owned).collect());
    found.equal("failed", &!ours.skipped.is_empty(), &!theirs.error.is_empty());
}

/// Counts for metrics. Gauges show one address type only; of two, upstream's show any.
fn compare_statistics(ours: &Ours, theirs: &Recorded, found: &mut Differences) {
    let sum = |figure: fn(&PlanStatistics) -> usize| -> usize {
        ours.plan.types.iter().map(|plan| figure(&plan.statistics)).sum()
    };
    found.equal("endpoints added", &sum(|statistics| statistics.endpoints_added), &theirs.added);
    found.equal("endpoints removed", &sum(|statistics| statistics.endpoints_removed), &theirs.removed);
    // The histogram counts suppressed creates, but no slices of other address types.
    let held_back = |plan: &AddressTypePlan| if plan.creates_suppressed { plan.create.len() } else { 0 };
    let ours_held_back: usize = ours.plan.types.iter().map(held_back).sum();
    let visible = theirs.create.len() + theirs.update.len() + theirs.delete.len();
    let theirs_changed = (theirs.changed + ours.plan.delete_if_unchanged.len()).checked_sub(visible);
    found.equal("creates held back", &Some(ours_held_back), &theirs_changed);
    if let [plan] = ours.plan.types.as_slice() {
        let groups = plan.statistics.groups.values();
        let fewest: usize = groups.clone().map(|group| group.endpoints.div_ceil(ours.max)).sum();
        let gauges = [
            groups.clone().map(|group| group.endpoints).sum(),
            groups.map(|group| group.slices).sum(),
            fewest.max(1),
        ];
        found.equal("gauges", &gauges, &theirs.gauges);
    }
}

/// The slice with absent lists and maps where they are empty.
fn normal(slice: &EndpointSlice) -> EndpointSlice {
    let mut slice = slice.clone();
    let metadata = &mut slice.metadata;
    metadata.annotations.take_if(|map| map.is_empty());
    metadata.labels.take_if(|map| map.is_empty());
    metadata.owner_references.take_if(|list| list.is_empty());
    slice.ports.take_if(|list| list.is_empty());
    slice.endpoints.take_if(|list| list.is_empty());
    for endpoint in slice.endpoints.iter_mut().flatten() {
        endpoint.conditions.get_or_insert_default();
    }
    slice
}

/// The number of endpoints of `before` that are still in `after`: they come first.
pub(crate) fn kept_count(before: &EndpointSlice, after: &EndpointSlice) -> usize {
    let before: BTreeSet<_> = endpoints(before).iter().map(identity).collect();
    endpoints(after).iter().take_while(|endpoint| before.contains(&identity(endpoint))).count()
}

pub(crate) fn identity(endpoint: &Endpoint) -> (Vec<&str>, &str, &str, &str) {
    let mut addresses: Vec<&str> = endpoint.addresses.iter().map(String::as_str).collect();
    addresses.sort_unstable();
    let target = endpoint.target_ref.as_ref();
    (
        addresses,
        endpoint.hostname.as_deref().unwrap_or_default(),
        target.and_then(|target| target.namespace.as_deref()).unwrap_or_default(),
        target.and_then(|target| target.name.as_deref()).unwrap_or_default(),
    )
}

pub(crate) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
}

pub(crate) fn endpoints(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}

pub(crate) fn ports(slice: &EndpointSlice) -> &[EndpointPort] {
    slice.ports.as_deref().unwrap_or_default()
}

/// Ports in their order, in a form that can be sorted.
pub(crate) fn ports_text(slice: &EndpointSlice) -> String {
    json(&ports(slice))
}

pub(crate) fn name_of(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

fn name(slice: &EndpointSlice) -> String {
    name_of(slice).to_owned()
}
