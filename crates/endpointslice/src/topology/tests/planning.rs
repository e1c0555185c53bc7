//! Hints as a step of a plan.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;
use crate::desired::{DesiredEndpoints, EndpointSet, PortSet};
use crate::model::AddressType;
use crate::plan::{AddressTypePlan, Hints, Owner, Packing, PlanOptions, SlicePlan, SliceTemplate, plan};

/// Slices as a cluster keeps them, for one Service with one port set.
#[derive(Clone, Debug)]
pub(super) struct Slices {
    pub(super) stored: Vec<EndpointSlice>,
    pub(super) max: usize,
    created: usize,
}

impl Slices {
    pub(super) fn new(max: usize) -> Self {
        Self { stored: vec![], max, created: 0 }
    }

    pub(super) fn plan(&self, endpoints: &[Endpoint], hints: &Hints) -> SlicePlan {
        let mut desired = DesiredEndpoints::new([AddressType::Ipv4]);
        let set: EndpointSet = endpoints.iter().cloned().collect();
        *desired.group(AddressType::Ipv4, PortSet::default()) = set;
        let packing = Packing::Pack { max: self.max };
        let options = PlanOptions { packing, hints: hints.clone(), ..PlanOptions::default() };
        plan(&self.stored, desired, &template(), &options)
    }

    pub(super) fn apply(&mut self, plan: &SlicePlan) {
        for plan in &plan.types {
            for slice in &plan.delete {
                self.stored.retain(|stored| stored.metadata.name != slice.metadata.name);
            }
            for slice in &plan.update {
                let name = &slice.metadata.name;
                let stored = self.stored.iter_mut().find(|stored| stored.metadata.name == *name).unwrap();
                *stored = slice.clone();
            }
            for slice in &plan.create {
                self.created += 1;
                let mut slice = slice.clone();
                // Scattered, because random names don't sort by age either.
                slice.metadata.name = Some(format!("web-{:05}", self.created * 7919 % 99_991));
                self.stored.push(slice);
            }
        }
    }

    /// Plans and applies; returns the number of writes.
    fn sync(&mut self, endpoints: &[Endpoint], hints: &Hints) -> usize {
        let plan = self.plan(endpoints, hints);
        self.apply(&plan);
        assert!(self.plan(endpoints, hints).is_empty());
        plan.types.iter().map(AddressTypePlan::changes).sum()
    }

    pub(super) fn ready(&self) -> impl Iterator<Item = &Endpoint> {
        self.stored.iter().flat_map(super::super::assign::ready_endpoints)
    }

    /// Hints by zone, and how many of them are for another zone than the endpoint's.
    fn hints(&self) -> (ZoneCounts, usize) {
        let (mut counts, mut lent) = (ZoneCounts::new(), 0);
        for endpoint in self.ready() {
            let zones = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_ref());
            for zone in zones.into_iter().flatten() {
                *counts.entry(zone.name.as_str().into()).or_default() += 1;
                lent += usize::from(endpoint.zone.as_ref() != Some(&zone.name));
            }
        }
        (counts, lent)
    }
}

fn template() -> SliceTemplate {
    let metadata = ObjectMeta {
        namespace: Some("shop".to_owned()),
        name: Some("web".to_owned()),
        uid: Some("uid".to_owned()),
        ..ObjectMeta::default()
    };
    SliceTemplate::new(Owner::new("v1", "Service", &metadata), "test")
}

/// An endpoint with a number as identity.
pub(super) fn numbered(number: usize, endpoint: Endpoint) -> Endpoint {
    Endpoint { addresses: vec![format!("10.0.{}.{}", number / 256, number % 256)], ..endpoint }
}

/// Ready endpoints, numbered.
fn in_zones(zones: &[&str]) -> Vec<Endpoint> {
    zones.iter().enumerate().map(|(number, zone)| numbered(number, ready(zone))).collect()
}

fn topology(cpu: &[(&str, u64)]) -> Hints {
    Hints::Topology(Arc::new(shares(cpu)))
}

/// The outcome of a plan equals the hints of its slices.
#[test]
fn the_outcome_is_part_of_the_plan() {
    let endpoints = in_zones(&["east", "east", "west"]);
    let slices = Slices::new(100);
    let outcome_of = |hints: &Hints| slices.plan(&endpoints, hints).types[0].topology.clone();
    assert_eq!(outcome_of(&Hints::None), None);
    assert_eq!(
        outcome_of(&topology(&[("east", 2), ("west", 1)])),
        Some(Ok(counts(&[("east", 2), ("west", 1)])))
    );
    let unknown = Hints::Topology(Arc::default());
    let no_hints = NoHints { endpoints: 3, reason: NoHintsReason::UnknownNodes };
    assert_eq!(outcome_of(&unknown), Some(Err(no_hints)));
}

/// Hints that have become impossible are removed, also from slices that need no other write.
#[test]
fn impossible_hints_are_removed() {
    let endpoints = in_zones(&["east", "west"]);
    let mut slices = Slices::new(1);
    slices.sync(&endpoints, &topology(&[("east", 1), ("west", 1)]));
    assert_eq!(slices.sync(&endpoints, &topology(&[("east", 1)])), 2);
    assert_eq!(slices.hints(), (counts(&[]), 0));
}

/// A zone whose nodes are all unready or control-plane nodes has no capacity, but may have endpoints. Upstream keeps
/// hints for it, which no consumer uses, and writes them again in every sync.
#[test]
fn endpoints_in_a_zone_without_capacity_serve_others() {
    let hints = topology(&[("east", 1), ("west", 1)]);
    let mut slices = Slices::new(100);
    slices.sync(&in_zones(&["east", "west", "north", "north"]), &hints);
    assert_eq!(slices.hints(), (counts(&[("east", 2), ("west", 2)]), 2));
}

/// Five sixths of 5.6 and of 0.4 don't allow for a sixth endpoint in the east. Upstream leaves all six there, because
/// the east has less than half an endpoint to spare, and writes them again in every sync.
#[test]
fn a_zone_never_keeps_more_than_its_maximum() {
    let hints = topology(&[("east", 93), ("west", 7)]);
    let mut slices = Slices::new(100);
    slices.sync(&in_zones(&["east"; 6]), &hints);
    assert_eq!(slices.hints(), (counts(&[("east", 5), ("west", 1)]), 1));
}

/// A minimum is not guaranteed: neither the east nor the north has half an endpoint to spare. As in upstream.
#[test]
fn a_zone_may_end_below_its_minimum() {
    let cpu = [("east", 40), ("north", 40), ("west", 20)];
    let mut slices = Slices::new(100);
    let zones = ["east", "east", "east", "east", "north", "north", "north", "north", "west"];
    slices.sync(&in_zones(&zones), &topology(&cpu));
    assert_eq!(slices.hints(), (counts(&[("east", 4), ("north", 4), ("west", 1)]), 0));
    assert_eq!(shares(&cpu).allocate(9).unwrap().get("west").unwrap().minimum, 2);
}
