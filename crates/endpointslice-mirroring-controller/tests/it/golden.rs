//! The same writes as upstream's own controller, on thousands of random inputs.
//!
//! `hack/golden` calls `syncEndpoints` of `pkg/controller/endpointslicemirroring` and records its writes, events and
//! metrics. The pure part of this crate gets the same input here.
//!
//! Two things are random upstream: the order of endpoints in a slice, and which obsolete slice gets which new content.
//! Everything else is compared: the number of creates, updates and deletes, the slices deleted or recycled, endpoints,
//! ports in order, metadata, events, metrics. `Differences` holds what is compared where we differ on purpose.
//! `golden-cases` describes how to replay one case or others.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use endpoint_controllers_common::OwnerTotals;
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::resource::Resource as _;
use endpointslice::endpoints::repack_subsets;
use endpointslice::well_known::{ENDPOINTSLICE_MIRRORING_CONTROLLER, MANAGED_BY, SERVICE_NAME};
use endpointslice::{Interner, PortSet, Service, SlicePlan};
use endpointslice_mirroring_controller::{Mirror, is_mirrored, mirror};
use k8s_openapi::api::core::v1::{self as core, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::events;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden.jsonl.gz");
/// The minimum number of cases.
const AT_LEAST: usize = 3000;

/// One call of `syncEndpoints`.
#[derive(Deserialize)]
struct Case {
    number: usize,
    kind: String,
    max: usize,
    endpoints: Option<Value>,
    service: Option<core::Service>,
    #[serde(default)]
    existing: Vec<EndpointSlice>,
    #[serde(default)]
    create: Vec<EndpointSlice>,
    #[serde(default)]
    update: Vec<EndpointSlice>,
    #[serde(default)]
    delete: BTreeSet<String>,
    #[serde(default)]
    events: Vec<String>,
    /// Endpoints added, updated, removed; addresses skipped.
    figures: [i64; 4],
    /// Endpoints desired, slices, slices desired; meaningless if nothing is mirrored.
    gauges: [i64; 3],
}

/// Cases in which Endpoints are mirrored, and those of them that are compared in full.
static MIRRORED: AtomicUsize = AtomicUsize::new(0);
static EXACT: AtomicUsize = AtomicUsize::new(0);

#[test]
fn the_same_writes_as_upstream() {
    golden_cases::replay::<Case>(CASES, AT_LEAST, "-p endpointslice-mirroring-controller --test it golden");
    let (mirrored, exact) = (MIRRORED.load(Ordering::Relaxed), EXACT.load(Ordering::Relaxed));
    if std::env::var_os("GOLDEN_CASE").is_none() {
        assert!(mirrored > 2000 && exact * 10 > mirrored * 9, "{exact} of {mirrored} mirrored cases in full");
    }
}

impl golden_cases::Case for Case {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        replay(&self).found
    }
}

#[derive(Default)]
struct Differences {
    found: Vec<String>,
}

impl Differences {
    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: T, theirs: T) {
        if ours != theirs {
            self.found.push(format!("{what}\n    ours     {ours:?}\n    upstream {theirs:?}"));
        }
    }
}

fn replay(case: &Case) -> Differences {
    let mut found = Differences::default();
    let ours: Vec<EndpointSlice> = case.existing.iter().filter(|slice| is_ours(slice)).cloned().collect();
    let mut interner = Interner::default();
    let service = case.service.as_ref().map(|service| Service::from_api(service, &mut interner));
    let wanted = case.endpoints.as_ref().filter(|endpoints| {
        let cached = CachedEndpoints::from_json(&endpoints.to_string(), &mut interner).unwrap();
        is_mirrored(&cached, service.as_ref())
    });
    let Some(endpoints) = wanted else {
        found.equal("created and updated", (0, 0), (case.create.len(), case.update.len()));
        found.equal("cleaned up", ours.iter().map(name).collect(), case.delete.clone());
        found.equal("figures", [0; 4], case.figures);
        found.equal("events", &vec![], &case.events);
        return found;
    };
    let endpoints: Endpoints = serde_json::from_value(endpoints.clone()).unwrap();
    let mirror = mirror(&endpoints, &ours, case.max);
    let planned = Writes::planned(&mirror.plan, &case.existing);
    let recorded = Writes::new(case.create.clone(), case.update.clone(), case.delete.clone(), &case.existing);
    compare_numbers(&planned, &recorded, &mirror.plan, &mut found);
    MIRRORED.fetch_add(1, Ordering::Relaxed);
    if shares_beyond_maximum(&endpoints, case.max) {
        // Upstream desires more than fits, and writes a random choice.
        found.equal(
            "updates that upstream doesn't make",
            vec![],
            extra(&planned.ordinary, &recorded.ordinary),
        );
        return found;
    }
    EXACT.fetch_add(1, Ordering::Relaxed);
    compare_contents(&planned, &recorded, &mirror.plan, &mut found);
    compare_updates(case, &endpoints, &planned, &recorded, &mut found);
    compare_figures(case, &mirror, &mut found);
    found
}

/// The writes of one side.
struct Writes {
    create: Vec<EndpointSlice>,
    /// Slices that keep their family and ports, by name.
    ordinary: BTreeMap<String, EndpointSlice>,
    /// Obsolete slices with new content, by name.
    recycled: BTreeMap<String, EndpointSlice>,
    delete: BTreeSet<String>,
}

impl Writes {
    fn new(
        create: Vec<EndpointSlice>,
        update: Vec<EndpointSlice>,
        delete: BTreeSet<String>,
        existing: &[EndpointSlice],
    ) -> Self {
        let keeps_its_place = |update: &EndpointSlice| {
            let present = existing.iter().find(|slice| name(slice) == name(update)).unwrap();
            place(present) == place(update)
        };
        let (ordinary, recycled): (Vec<_>, Vec<_>) = update.into_iter().partition(keeps_its_place);
        let by_name =
            |slices: Vec<EndpointSlice>| slices.into_iter().map(|slice| (name(&slice), slice)).collect();
        Self { create, ordinary: by_name(ordinary), recycled: by_name(recycled), delete }
    }

    fn planned(plan: &SlicePlan, existing: &[EndpointSlice]) -> Self {
        let types = || plan.types.iter();
        let create = types().filter(|plan| !plan.creates_suppressed).flat_map(|plan| plan.create.clone());
        let delete = types().flat_map(|plan| &plan.delete).chain(&plan.delete_if_unchanged).map(name);
        let update = types().flat_map(|plan| plan.update.clone());
        Self::new(create.collect(), update.collect(), delete.collect(), existing)
    }

    /// New slices, without their names.
    fn built(&self) -> Vec<String> {
        let anonymous = |slice: &EndpointSlice| {
            let metadata = ObjectMeta { name: None, generate_name: None, ..slice.metadata.clone() };
            text(&EndpointSlice { metadata, ..slice.clone() })
        };
        let mut built: Vec<String> =
            self.create.iter().chain(self.recycled.values()).map(anonymous).collect();
        built.sort();
        built
    }

    fn doomed(&self) -> BTreeSet<&String> {
        self.delete.iter().chain(self.recycled.keys()).collect()
    }
}

fn compare_numbers(ours: &Writes, theirs: &Writes, plan: &SlicePlan, found: &mut Differences) {
    found.equal("number of creates", ours.create.len(), theirs.create.len());
    found.equal("number of deletes", ours.delete.len(), theirs.delete.len());
    found.equal("deleted or recycled", ours.doomed(), theirs.doomed());
    let named = plan.types.iter().flat_map(|plan| &plan.create).filter(|slice| slice.metadata.name.is_some());
    found.equal("creates of a name that exists", named.count(), 0);
}

fn compare_contents(ours: &Writes, theirs: &Writes, plan: &SlicePlan, found: &mut Differences) {
    let held_back = plan.types.iter().any(|plan| plan.creates_suppressed && !plan.create.is_empty());
    // The choice of new slices that are recycled is random, and the others have no name to compare.
    if !held_back {
        found.equal("new slices", ours.built(), theirs.built());
    }
    for (ours, theirs) in ours.create.iter().zip(&theirs.create) {
        found.equal("name", &ours.metadata.generate_name, &theirs.metadata.generate_name);
    }
}

fn compare_updates(
    case: &Case,
    endpoints: &Endpoints,
    ours: &Writes,
    theirs: &Writes,
    found: &mut Differences,
) {
    let overlooked = |name: &&str| {
        let present = case.existing.iter().find(|slice| slice.metadata.name.as_deref() == Some(name));
        present.is_some_and(has_an_endpoint_twice)
    };
    let extra: Vec<&str> = extra(&ours.ordinary, &theirs.ordinary);
    let extra: Vec<&str> = extra.into_iter().filter(|name| !overlooked(name)).collect();
    found.equal("updates that upstream doesn't make", vec![], extra);
    for (name, theirs) in &theirs.ordinary {
        match ours.ordinary.get(name) {
            Some(ours) => found.equal("update", text(ours), text(theirs)),
            // Upstream writes the existing content in every sync.
            None if has_reserved_label(endpoints) => {
                let present = case.existing.iter().find(|slice| slice.metadata.name.as_ref() == Some(name));
                let labels = &present.unwrap().metadata.labels;
                found.equal("labels of a needless update", labels, &theirs.metadata.labels);
            }
            None => found.equal("updated by upstream", "", name),
        }
    }
}

fn compare_figures(case: &Case, mirror: &Mirror, found: &mut Differences) {
    let Mirror { plan, invalid, skipped } = mirror;
    let mut figures = [0, 0, 0, count(*skipped)];
    for statistics in plan.types.iter().map(|plan| &plan.statistics) {
        figures[0] += count(statistics.endpoints_added);
        figures[1] += count(statistics.endpoints_updated);
        figures[2] += count(statistics.endpoints_removed);
    }
    if case.existing.iter().any(has_an_endpoint_twice) {
        // Upstream counts one endpoint less as added; here it counts as removed.
        let [added, _, removed, skipped] = case.figures;
        found.equal("balance", [figures[0] - figures[2], figures[3]], [added - removed, skipped]);
    } else {
        found.equal("figures", figures, case.figures);
    }
    let OwnerTotals { endpoints, slices, desired_slices } = OwnerTotals::of(plan, case.max);
    found.equal("gauges", [endpoints, slices, desired_slices], case.gauges);
    let mut expected = BTreeSet::new();
    if *invalid > 0 {
        expected.insert(emitted(events::invalid(*invalid)));
    }
    if skipped > invalid {
        expected.insert(emitted(events::too_many(case.max, *skipped)));
    }
    found.equal("events", expected, case.events.iter().cloned().collect());
}

/// An event as it was recorded.
fn emitted((reason, message): events::Event) -> String {
    format!("Warning {reason} {message}")
}

/// True if several subsets share a slice that can't hold all their addresses.
fn shares_beyond_maximum(endpoints: &Endpoints, max: usize) -> bool {
    let mut sizes: BTreeMap<PortSet, Vec<usize>> = BTreeMap::new();
    for subset in repack_subsets(endpoints.subsets.as_deref().unwrap_or_default()) {
        let size = [&subset.addresses, &subset.not_ready_addresses].into_iter().flatten().map(Vec::len).sum();
        let ports = subset.ports.into_iter().flatten().map(|port| EndpointPort {
            name: Some(port.name.unwrap_or_default()),
            protocol: port.protocol,
            port: Some(port.port),
            app_protocol: port.app_protocol,
        });
        sizes.entry(PortSet::new(ports.collect())).or_default().push(size);
    }
    sizes.values().any(|sizes| sizes.len() > 1 && sizes.iter().sum::<usize>() > max)
}

/// True if a slice has an endpoint twice. Upstream counts both as desired, and may overlook a missing one.
fn has_an_endpoint_twice(slice: &EndpointSlice) -> bool {
    let identity = |endpoint: &Endpoint| {
        let target = endpoint.target_ref.as_ref();
        let target = target.map(|target| (target.namespace.clone(), target.name.clone())).unwrap_or_default();
        let mut addresses = endpoint.addresses.clone();
        addresses.sort();
        (addresses, endpoint.hostname.clone().unwrap_or_default(), target)
    };
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    endpoints.iter().map(identity).collect::<BTreeSet<_>>().len() < endpoints.len()
}

fn has_reserved_label(endpoints: &Endpoints) -> bool {
    let labels = endpoints.metadata.labels.as_ref();
    labels.is_some_and(|labels| labels.contains_key(SERVICE_NAME) || labels.contains_key(MANAGED_BY))
}

fn is_ours(slice: &EndpointSlice) -> bool {
    let labels = slice.metadata.labels.as_ref();
    let manager = labels.and_then(|labels| labels.get(MANAGED_BY));
    manager.is_some_and(|manager| manager == ENDPOINTSLICE_MIRRORING_CONTROLLER)
}

fn extra<'a>(
    ours: &'a BTreeMap<String, EndpointSlice>,
    theirs: &BTreeMap<String, EndpointSlice>,
) -> Vec<&'a str> {
    ours.keys().filter(|name| !theirs.contains_key(*name)).map(String::as_str).collect()
}

fn name(slice: &EndpointSlice) -> String {
    slice.metadata.name.clone().unwrap_or_default()
}

/// Family and ports.
fn place(slice: &EndpointSlice) -> (&str, PortSet) {
    (&slice.address_type, PortSet::of(slice))
}

/// A slice with its endpoints sorted, and empty fields absent.
fn text(slice: &EndpointSlice) -> String {
    let mut object = json!(slice);
    let mut endpoints: Vec<Value> = object["endpoints"].as_array().cloned().unwrap_or_default();
    endpoints.sort_by_key(Value::to_string);
    object["endpoints"] = json!(endpoints);
    object["ports"] = json!(slice.ports.as_deref().unwrap_or_default());
    object.to_string()
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap()
}
