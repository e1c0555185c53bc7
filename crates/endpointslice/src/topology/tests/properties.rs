//! Properties of every cluster, Service and history.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::overload::as_f64;
use super::planning::{Slices, numbered};
use super::*;
use crate::plan::{AddressTypePlan, Hints, SlicePlan};

const ZONES: [&str; 5] = ["a", "b", "c", "d", "without-nodes"];

/// A node that may count, may be complete, and may have more CPU than fits with that of others.
fn any_node() -> impl Strategy<Value = Node> {
    let cpu = prop_oneof![Just(0), 1..20_000_u64, Just(u64::MAX)];
    let zone = prop_oneof![1 => Just(""), 9 => prop::sample::select(&ZONES[..3])];
    let flags = (prop::bool::weighted(0.9), prop::bool::weighted(0.1));
    (zone, cpu, flags).prop_map(|(zone, cpu, (ready, control_plane))| Node {
        ready,
        control_plane,
        ..node(zone, cpu)
    })
}

/// The share of each zone, computed from all nodes at once; none if there are no shares.
fn recounted<'a>(nodes: impl Iterator<Item = &'a Node>) -> BTreeMap<Arc<str>, f64> {
    let mut cpu: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for node in nodes.filter(|node| node.ready && !node.control_plane) {
        let Some(zone) = node.zone.clone().filter(|_| node.allocatable_milli_cpu > 0) else {
            return BTreeMap::new();
        };
        let sum = cpu.entry(zone).or_default();
        *sum = sum.saturating_add(node.allocatable_milli_cpu);
    }
    let total = cpu.values().fold(0_u64, |sum, cpu| sum.saturating_add(*cpu));
    let shares = cpu.iter().filter(|_| cpu.len() > 1);
    #[allow(clippy::cast_precision_loss)]
    shares.map(|(zone, cpu)| (Arc::clone(zone), *cpu as f64 / total as f64)).collect()
}

proptest! {
    /// Changing nodes one by one gives the same shares as replacing all of them, at every step.
    #[test]
    fn changing_nodes_one_by_one_equals_replacing_all(
        changes in prop::collection::vec((0..6_usize, prop::option::weighted(0.7, any_node())), 0..40),
    ) {
        let (mut following, mut recounting) = (TopologyCache::default(), TopologyCache::default());
        let mut nodes: [Option<Node>; 6] = Default::default();
        let at_first = following.set_nodes([]);
        prop_assert_eq!(at_first, recounting.set_nodes([]));
        for (number, now) in changes {
            let before = std::mem::replace(&mut nodes[number], now);
            let changed = following.node_changed(before.as_ref(), nodes[number].as_ref());
            prop_assert_eq!(changed, recounting.set_nodes(nodes.iter().flatten()));
            prop_assert_eq!(following.shares(), recounting.shares());
            let shares = following.shares().iter().map(|(zone, share)| (Arc::clone(zone), share)).collect();
            prop_assert_eq!(recounted(nodes.iter().flatten()), shares);
        }
    }
}

/// A moment in the life of a Service.
#[derive(Clone, Debug)]
struct Moment {
    /// CPU of each zone but the last; 0 is no nodes.
    cpu: [u64; 4],
    /// Endpoints by number: zone, and whether it is ready.
    endpoints: Vec<Option<(usize, bool)>>,
    /// One endpoint in this number has no zone.
    homeless: Option<usize>,
    /// One endpoint in this number has wrong hints beforehand.
    damage: Option<(usize, usize)>,
    max: usize,
}

impl Moment {
    fn shares(&self) -> ZoneShares {
        let zones = ZONES.iter().copied().zip(self.cpu).filter(|(_, cpu)| *cpu > 0);
        shares(&zones.collect::<Vec<_>>())
    }

    fn hints(&self) -> Hints {
        Hints::Topology(Arc::new(self.shares()))
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        let present = self.endpoints.iter().enumerate().filter_map(|(number, it)| Some((number, (*it)?)));
        let endpoints = present.map(|(number, (zone, is_ready))| {
            let homeless = self.homeless.is_some_and(|every| number % every == 0);
            let endpoint = if is_ready { ready(ZONES[zone]) } else { not_ready(ZONES[zone]) };
            let zone = endpoint.zone.clone().filter(|_| !homeless);
            numbered(number, Endpoint { zone, ..endpoint })
        });
        endpoints.collect()
    }

    /// Sets other hints, as another client or an older version.
    fn damage(&self, slices: &mut Slices) {
        let Some((every, zone)) = self.damage else { return };
        let endpoints = slices.stored.iter_mut().flat_map(|slice| slice.endpoints.iter_mut().flatten());
        for endpoint in endpoints.step_by(every) {
            endpoint.hints = ZONES.get(zone).and_then(|zone| super::hinted(ready("a"), &[zone]).hints);
        }
    }
}

fn moment() -> impl Strategy<Value = Moment> {
    let cpu = prop_oneof![
        2 => Just([1, 1, 1, 0]),
        2 => Just([1, 1, 0, 0]),
        4 => prop::array::uniform4(0_u64..20),
    ];
    // Zones are drawn unevenly, or there would be little to lend.
    let zone = prop_oneof![4 => Just(0_usize), 3 => Just(1), 2 => Just(2), 1 => Just(3), 1 => Just(4)];
    let endpoint = prop::option::weighted(0.8, (zone, prop::bool::weighted(0.9)));
    let endpoints = prop::collection::vec(endpoint, 0..40);
    let homeless = prop::option::weighted(0.1, 1_usize..20);
    let damage = prop::option::weighted(0.3, (1_usize..6, 0..=ZONES.len()));
    (cpu, endpoints, homeless, damage, 1_usize..12)
        .prop_map(|(cpu, endpoints, homeless, damage, max)| Moment { cpu, endpoints, homeless, damage, max })
}

fn outcome(plan: &SlicePlan) -> &TopologyOutcome {
    plan.types[0].topology.as_ref().unwrap()
}

/// Every ready endpoint serves exactly one zone, and the counts are those of the zones.
fn hints_are_complete(slices: &Slices, outcome: &TopologyOutcome) -> Result<(), TestCaseError> {
    let mut found = ZoneCounts::new();
    for endpoint in slices.ready() {
        let zones = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
        let zones: Vec<&str> = zones.map(|zone| zone.name.as_str()).collect();
        prop_assert_eq!(zones.len(), usize::from(outcome.is_ok()));
        for zone in zones {
            *found.entry(zone.into()).or_default() += 1;
        }
    }
    let expected = outcome.clone().unwrap_or_default();
    prop_assert_eq!(found, expected);
    Ok(())
}

/// No zone exceeds its maximum. A zone stays below its minimum only if no other has half an endpoint to spare.
fn allocations_are_kept(
    shares: &ZoneShares,
    outcome: &TopologyOutcome,
    all_open: bool,
) -> Result<(), TestCaseError> {
    let Ok(counts) = outcome else { return Ok(()) };
    let allocations = shares.allocate(counts.values().sum()).unwrap();
    for (zone, count) in counts {
        prop_assert!(*count <= allocations.maximum(zone), "{zone}: {count} {allocations:?}");
    }
    let count = |zone| counts.get(zone).copied().unwrap_or(0);
    let short = allocations.iter().any(|(zone, it)| count(zone) < it.minimum);
    if short && all_open {
        for (zone, allocation) in allocations.iter() {
            prop_assert!(
                as_f64(count(zone)) - allocation.desired < 0.5,
                "{zone}: {counts:?} {allocations:?}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn hints_are_complete_and_converge(moments in prop::collection::vec(moment(), 1..5)) {
        let mut slices = Slices::new(1);
        for moment in moments {
            slices.max = moment.max;
            moment.damage(&mut slices);
            let (endpoints, hints) = (moment.endpoints(), moment.hints());
            let all_open = slices.stored.is_empty();
            let plan = slices.plan(&endpoints, &hints);

            let mut reversed = slices.clone();
            reversed.stored.reverse();
            let mut shuffled = endpoints.clone();
            shuffled.reverse();
            prop_assert_eq!(&reversed.plan(&shuffled, &hints), &plan, "whatever order the input has");

            let unhinted = slices.plan(&endpoints, &Hints::Keep);
            slices.apply(&plan);
            hints_are_complete(&slices, outcome(&plan))?;
            allocations_are_kept(&moment.shares(), outcome(&plan), all_open)?;

            let again = slices.plan(&endpoints, &hints);
            prop_assert!(again.is_empty(), "{again:#?}");
            prop_assert_eq!(outcome(&again), outcome(&plan));

            // Hints never create or delete a slice.
            let shape = |plan: &AddressTypePlan| (plan.create.len(), plan.delete.len());
            prop_assert_eq!(shape(&unhinted.types[0]), shape(&plan.types[0]));
        }
    }

    /// The counts of a success are never overloaded, so no Service is due right after its sync, except where a zone had
    /// to stay below its minimum.
    #[test]
    fn a_service_with_hints_is_not_due(moment in moment()) {
        let plan = Slices::new(moment.max).plan(&moment.endpoints(), &moment.hints());
        let shares = moment.shares();
        if let Ok(counts) = outcome(&plan) {
            let allocations = shares.allocate(counts.values().sum()).unwrap();
            let short = |(zone, it): (&Arc<str>, &Allocation)| counts.get(zone).copied().unwrap_or(0) < it.minimum;
            prop_assert_eq!(shares.overload(counts), allocations.iter().any(short));
        }
    }
}
