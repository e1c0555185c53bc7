//! The state between syncs, and the events about it.

use super::*;
use crate::model::{AddressType, Service};
use AddressType::{Ipv4, Ipv6};

const ENABLED: (&str, &str) = ("Normal", "Topology Aware Hints has been enabled");
const TURNED_OFF: (&str, &str) = ("Warning", "Topology Aware Hints has been disabled");
const INSUFFICIENT: (&str, &str) =
    ("Warning", "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes");
const NO_ZONE: (&str, &str) = ("Warning", "One or more endpoints do not have a zone specified");

fn service(name: &str) -> Service {
    let mut service = Service::from(&k8s_openapi::api::core::v1::Service::default());
    (service.namespace, service.name) = ("shop".into(), name.into());
    service.topology_mode = Some("Auto".into());
    service
}

fn insufficient(endpoints: usize) -> NoHints {
    NoHints { endpoints, reason: NoHintsReason::InsufficientNodes }
}

impl TopologyCache {
    /// Records a plan made for the present nodes.
    fn record_now(&mut self, name: &str, outcomes: &[(AddressType, TopologyOutcome)]) -> Recorded {
        let used = Arc::clone(self.shares());
        self.record_plan(name, &used, outcomes)
    }

    /// Records a plan made for nodes with these shares.
    fn record_plan(
        &mut self,
        name: &str,
        used: &ZoneShares,
        outcomes: &[(AddressType, TopologyOutcome)],
    ) -> Recorded {
        let outcomes = outcomes.iter().map(|(address_type, outcome)| (*address_type, Some(outcome)));
        self.record(&service(name), Some(used), outcomes)
    }

    /// Records a plan without topology hints.
    fn record_off(&mut self, name: &str, types: &[AddressType]) -> Recorded {
        self.record(&service(name), None, types.iter().map(|address_type| (*address_type, None)))
    }

    fn due(&self) -> Vec<&str> {
        self.due_services().map(|(_, name)| &**name).collect()
    }

    fn set_cpu(&mut self, cpu: &[(&str, u64)]) -> bool {
        let nodes: Vec<Node> = cpu.iter().map(|(zone, cpu)| node(zone, *cpu)).collect();
        self.set_nodes(&nodes)
    }
}

#[track_caller]
fn assert_events(recorded: &Recorded, expected: &[((&str, &str), AddressType)]) {
    let expected: Vec<(bool, &str, String)> = expected
        .iter()
        .map(|((event_type, message), address_type)| {
            let is_warning = *event_type == "Warning";
            let reason = if is_warning { "TopologyAwareHintsDisabled" } else { "TopologyAwareHintsEnabled" };
            (is_warning, reason, format!("{message}, addressType: {address_type}"))
        })
        .collect();
    let events = recorded.events.iter().map(|event| (event.is_warning(), event.reason(), event.to_string()));
    assert_eq!(events.collect::<Vec<_>>(), expected);
}

/// The last case is ours: a zone without any is as overloaded as one with 0.
#[test]
fn services_are_due_when_a_zone_is_overloaded() {
    type Nodes<'a> = &'a [(&'a str, u64, bool)];
    type Counts<'a> = Option<&'a [(&'a str, usize)]>;
    let even: Nodes<'_> =
        &[("east", 3000, true), ("east", 1000, true), ("west", 2000, true), ("west", 2000, true)];
    let cases: [(Nodes<'_>, Counts<'_>, bool); 10] = [
        (&[], None, false),
        (
            &[("east", 200, true), ("north", 2000, true), ("west", 4000, true)],
            Some(&[("east", 2), ("north", 2), ("west", 3)]),
            true,
        ),
        (
            &[("east", 200, false), ("north", 2000, true), ("west", 4000, true)],
            Some(&[("east", 1), ("north", 1), ("west", 4)]),
            true,
        ),
        (even, Some(&[("east", 10), ("west", 8)]), false),
        (
            &[("east", 2000, true), ("", 2000, true), ("west", 2000, true)],
            Some(&[("east", 10), ("west", 8)]),
            true,
        ),
        (
            &[("east", 2000, true), ("east", 0, true), ("west", 2000, true)],
            Some(&[("east", 10), ("west", 8)]),
            true,
        ),
        (even, Some(&[("east", 11), ("west", 7)]), true),
        (
            &[("east", 6000, true), ("north", 3000, true), ("west", 300, true)],
            Some(&[("east", 20), ("north", 10), ("west", 1)]),
            false,
        ),
        (
            &[("east", 6000, true), ("north", 3000, true), ("west", 300, true)],
            Some(&[("east", 20), ("north", 10), ("west", 0)]),
            true,
        ),
        (
            &[("east", 6000, true), ("north", 3000, true), ("west", 300, true)],
            Some(&[("east", 20), ("north", 10)]),
            true,
        ),
    ];
    for (nodes, zone_counts, due) in cases {
        let nodes: Vec<Node> =
            nodes.iter().map(|(zone, cpu, ready)| Node { ready: *ready, ..node(zone, *cpu) }).collect();
        let mut cache = TopologyCache::default();
        cache.set_nodes(&nodes);
        if let Some(zone_counts) = zone_counts {
            let _ = cache.record_now("web", &[(Ipv4, Ok(counts(zone_counts)))]);
        }
        assert_eq!(!cache.due().is_empty(), due, "{nodes:?} {zone_counts:?}");
    }
}

#[test]
fn any_address_type_makes_a_service_due() {
    let mut cache = TopologyCache::default();
    cache.set_cpu(&[("east", 1), ("west", 1)]);
    let _ = cache.record_now("b", &[(Ipv4, Ok(counts(&[("east", 5), ("west", 5)])))]);
    let fine = Ok(counts(&[("east", 5), ("west", 5)]));
    let _ = cache.record_now("a", &[(Ipv4, fine), (Ipv6, Ok(counts(&[("east", 1), ("west", 9)])))]);
    assert_eq!(cache.due(), ["a"]);
    cache.set_cpu(&[("east", 1), ("west", 9)]);
    assert_eq!(cache.due(), ["a", "b"]);
    cache.forget("shop", "a");
    assert_eq!(cache.due(), ["b"]);
    assert_eq!(cache.counts("shop", "b", Ipv4), Some(&counts(&[("east", 5), ("west", 5)])));
    assert_eq!(cache.counts("shop", "a", Ipv4), None);
}

#[test]
fn nodes_that_get_a_zone_make_hints_possible() {
    let mut cache = TopologyCache::default();
    assert!(cache.set_cpu(&[("", 100), ("", 100)]));
    assert!(!cache.set_cpu(&[("", 100), ("", 100)]), "the same nodes again");
    let assigned = |cache: &TopologyCache| {
        let mut create = [slice(vec![ready("east"), ready("west")])];
        add_hints(cache.shares(), &mut create, &mut vec![], &[])
    };
    let outcome = assigned(&cache);
    assert_events(&cache.record_now("web", &[(Ipv4, outcome)]), &[(INSUFFICIENT, Ipv4)]);
    assert!(cache.set_cpu(&[("east", 100), ("west", 100)]));
    assert_eq!(cache.due(), ["web"]);
    let outcome = assigned(&cache);
    assert_events(&cache.record_now("web", &[(Ipv4, outcome)]), &[(ENABLED, Ipv4)]);
    assert!(cache.due().is_empty());
}

/// Better than upstream, which forgets Services whose hints are removed.
#[test]
fn services_that_wait_for_capacity_are_due_when_there_is_some() {
    let mut cache = TopologyCache::default();
    cache.set_cpu(&[("east", 1), ("west", 1)]);
    let _ = cache.record_now(
        "few",
        &[(Ipv4, Err(NoHints { endpoints: 1, reason: NoHintsReason::TooFewEndpoints { zones: 2 } }))],
    );
    let _ = cache.record_now("many", &[(Ipv4, Ok(counts(&[("east", 2), ("west", 2)])))]);
    cache.set_cpu(&[("east", 1)]);
    assert_eq!(cache.due(), ["many"], "its hints have to go");
    let _ = cache.record_now("many", &[(Ipv4, Err(insufficient(4)))]);
    assert!(cache.due().is_empty());
    cache.set_cpu(&[("east", 1), ("north", 1), ("west", 1)]);
    assert!(cache.due().is_empty(), "four endpoints can't be spread over three zones");
    cache.set_cpu(&[("east", 1), ("north", 1)]);
    assert_eq!(cache.due(), ["many"]);
    let _ = cache.record_now(
        "many",
        &[(Ipv4, Err(NoHints { endpoints: 4, reason: NoHintsReason::EndpointWithoutZone }))],
    );
    assert!(cache.due().is_empty(), "no change of capacity gives an endpoint its zone");
}

#[test]
fn hints_are_announced_once_and_failures_every_time() {
    let mut cache = TopologyCache::default();
    let fine = || Ok(counts(&[("east", 1), ("west", 1)]));
    assert_events(&cache.record_now("web", &[(Ipv4, fine())]), &[(ENABLED, Ipv4)]);
    assert_events(&cache.record_now("web", &[(Ipv4, fine())]), &[]);
    for _ in 0..2 {
        assert_events(&cache.record_now("web", &[(Ipv4, Err(insufficient(2)))]), &[(INSUFFICIENT, Ipv4)]);
    }
    let no_zone = Err(NoHints { endpoints: 2, reason: NoHintsReason::EndpointWithoutZone });
    assert_events(&cache.record_now("web", &[(Ipv4, no_zone)]), &[(NO_ZONE, Ipv4)]);
    assert_events(&cache.record_now("web", &[(Ipv4, fine())]), &[(ENABLED, Ipv4)]);
}

#[test]
fn turning_hints_off_is_announced_once_for_a_service() {
    let mut cache = TopologyCache::default();
    let fine = || Ok(counts(&[("east", 1), ("west", 1)]));
    assert_events(&cache.record_off("web", &[Ipv4, Ipv6]), &[]);
    assert_events(&cache.record_now("web", &[(Ipv4, fine()), (Ipv6, fine())]), &[(ENABLED, Ipv4)]);
    assert_events(&cache.record_off("web", &[Ipv4, Ipv6]), &[(TURNED_OFF, Ipv4)]);
    assert_events(&cache.record_off("web", &[Ipv4, Ipv6]), &[]);
    assert!(cache.is_empty());
    // A Service that never got hints has no event when it no longer requests them.
    let _ = cache.record_now("web", &[(Ipv4, Err(insufficient(2)))]);
    assert_events(&cache.record_off("web", &[Ipv4]), &[]);
    assert!(cache.is_empty());
}

/// As in upstream: the state is the Service's, so that a failure of one address type clears it for the other.
#[test]
fn two_address_types_share_the_state_of_the_last_event() {
    let mut cache = TopologyCache::default();
    let mixed = [(Ipv4, Ok(counts(&[("east", 1), ("west", 1)]))), (Ipv6, Err(insufficient(0)))];
    for _ in 0..2 {
        let recorded = cache.record_now("web", &mixed);
        assert_events(&recorded, &[(ENABLED, Ipv4), (INSUFFICIENT, Ipv6)]);
    }
    let [fine, poor] = mixed;
    let swapped = [(Ipv4, poor.1), (Ipv6, fine.1.clone())];
    let _ = cache.record_now("web", &swapped);
    assert_events(&cache.record_now("web", &swapped), &[(INSUFFICIENT, Ipv4), (ENABLED, Ipv6)]);
    // An address type that is removed clears the state, too.
    let both = [(Ipv4, fine.1.clone()), (Ipv6, fine.1.clone())];
    assert_events(&cache.record_now("web", &both), &[]);
    assert_events(&cache.record_now("web", &both[..1]), &[(ENABLED, Ipv4)]);
    assert_eq!(cache.counts("shop", "web", Ipv6), None);
}

/// A plan for nodes that changed meanwhile is made again.
#[test]
fn a_plan_for_outdated_nodes_is_made_again() {
    let mut cache = TopologyCache::default();
    cache.set_cpu(&[("east", 1), ("west", 1)]);
    let outdated = Arc::clone(cache.shares());
    let plan = [(Ipv4, Ok(counts(&[("east", 3), ("west", 3)])))];
    assert!(!cache.record_plan("web", &outdated, &plan).sync_again);
    cache.set_cpu(&[("east", 7), ("west", 7)]);
    assert!(!cache.record_plan("web", &outdated, &plan).sync_again, "the shares are the same");
    cache.set_cpu(&[("east", 7), ("west", 8)]);
    assert!(!cache.record_plan("web", &outdated, &plan).sync_again, "the plan still fits");
    cache.set_cpu(&[("east", 1), ("west", 9)]);
    assert!(cache.record_plan("web", &outdated, &plan).sync_again);
    assert!(!cache.record_now("web", &plan).sync_again, "it is as good as it gets");
    assert!(!cache.record_off("web", &[Ipv4]).sync_again);
}
