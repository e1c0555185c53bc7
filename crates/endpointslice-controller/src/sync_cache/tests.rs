//! The plan by a sync cache is the plan of all pods and slices, over random histories of one Service.

use std::collections::BTreeMap;

use controller_harness::random_service::{self, RandomService, draft, service};
use endpoint_informers::resource::Resource as _;
use endpointslice::coalescing::{Rules, planned_writes};
use endpointslice::model::{NodeFields, ServiceFields};
use endpointslice::topology::TopologyCache;
use endpointslice::urgency::prioritize;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, TOPOLOGY_ZONE};
use endpointslice::{Hints, Interner, Packing, desired_from_service, plan};
use k8s_openapi::api::discovery::v1::{EndpointHints, ForZone};
use kube_protobuf::Message as _;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const V4: &str = "10.1.H.L";
const V6: &str = "fd00::N";

#[derive(Clone, Debug)]
enum Step {
    /// A change of the Service or its pods.
    Common(random_service::Step),
    /// Another client changes a slice.
    Foreign { kind: u8, slice: usize, endpoint: usize },
    /// A node moves to another zone.
    Zone(&'static str),
}

struct World {
    random: RandomService,
    nodes: Vec<Arc<Node>>,
    zones: u64,
    slices: Vec<(EndpointSlice, Arc<CachedSlice>)>,
    max: usize,
}

fn addresses() -> Vec<Vec<&'static str>> {
    let several = vec![vec![V4, V6], vec![V4, V6], vec![], vec!["169.254.H.L", V6], vec!["10.2.H.L", V4]];
    [vec![vec![V4]; 4], vec![vec![V6]], several].concat()
}

/// At most one of each type, none of which the API server refuses.
fn usual_addresses() -> Vec<Vec<&'static str>> {
    vec![vec![V4], vec![V6], vec![V4, V6]]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        9 => random_service::step(draft(addresses())).prop_map(Step::Common),
        3 => (0_u8..11, 0_usize..8, 0_usize..5)
            .prop_map(|(kind, slice, endpoint)| Step::Foreign { kind, slice, endpoint }),
        1 => select(vec!["zone-a", "zone-b"]).prop_map(Step::Zone),
    ]
}

impl World {
    fn new(fields: ServiceFields<'static>, max: usize) -> Self {
        let (nodes, slices) = Default::default();
        let mut world = Self { random: RandomService::new(fields), nodes, zones: 0, slices, max };
        world.set_nodes("zone-a");
        world
    }

    fn set_nodes(&mut self, zone: &str) {
        let node = |name, zone| {
            let fields = NodeFields { name, labels: vec![(TOPOLOGY_ZONE, zone)], ..NodeFields::default() };
            Arc::new(Node::new(&fields, &mut Interner::default()))
        };
        self.nodes = vec![node("node-a", zone), node("node-b", "zone-b"), node("without-zone", "")];
        self.zones += 1;
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Common(step) => self.random.take(step),
            Step::Zone(zone) => self.set_nodes(zone),
            Step::Foreign { kind, slice, endpoint } => self.change_slice(*kind, *slice, *endpoint),
        }
    }

    fn change_slice(&mut self, kind: u8, slice: usize, endpoint: usize) {
        let count = self.slices.len();
        if count == 0 {
            return;
        }
        let slice = slice % count;
        let (mut changed, _) = self.slices[slice].clone();
        let mut endpoints = changed.endpoints.clone().unwrap_or_default();
        if !endpoints.is_empty() {
            let endpoint = endpoint % endpoints.len();
            match kind {
                0 => drop(endpoints.remove(endpoint)),
                1 => {
                    let (mut other, _) = self.slices[(slice + 1) % count].clone();
                    other.endpoints.get_or_insert_default().push(endpoints[endpoint].clone());
                    return self.store(other);
                }
                2 => endpoints[endpoint].zone = Some("elsewhere".into()),
                3 => endpoints.reverse(),
                4 => {
                    let zones = vec![ForZone { name: "zone-a".into() }];
                    let hints = EndpointHints { for_zones: Some(zones), ..EndpointHints::default() };
                    endpoints[endpoint].hints = Some(hints);
                }
                5 => {
                    let target = endpoints[endpoint].target_ref.as_mut();
                    target.unwrap().resource_version = Some("1".into());
                }
                6 => endpoints.clear(),
                _ => {}
            }
        }
        changed.endpoints = Some(endpoints);
        match kind {
            7 => drop(changed.metadata.labels.get_or_insert_default().insert("app".into(), "other".into())),
            8 => changed.metadata.owner_references = None,
            9 => changed.ports.iter_mut().for_each(|ports| ports.reverse()),
            10 => {
                self.remove(&changed);
                changed.metadata.name = Some(format!("a-{}", self.random.next_version()));
            }
            _ => {}
        }
        self.store(changed);
    }

    fn store(&mut self, mut slice: EndpointSlice) {
        let version = self.random.next_version();
        if slice.metadata.name.is_none() {
            slice.metadata.name = Some(format!("web-{}", version * 7919 % 10_007));
        }
        self.remove(&slice);
        slice.metadata.resource_version = Some(version.to_string());
        let encoded = slice.encode();
        let cached = CachedSlice::from_protobuf(&encoded, &mut self.random.interner).unwrap();
        self.slices.push((EndpointSlice::decode(&encoded).unwrap(), Arc::new(cached)));
    }

    fn remove(&mut self, slice: &EndpointSlice) {
        self.slices.retain(|(other, _)| other.metadata.name != slice.metadata.name);
    }

    /// Makes the first writes of a plan.
    fn apply(&mut self, plan: &SlicePlan, most: usize) {
        let types = || plan.types.iter();
        let stored =
            types().flat_map(|plan| plan.create.iter().chain(&plan.update)).map(|slice| (slice, true));
        let deleted = types().flat_map(|plan| &plan.delete).chain(&plan.delete_if_unchanged);
        let writes: Vec<_> = stored.chain(deleted.map(|slice| (slice, false))).take(most).collect();
        for (slice, is_stored) in writes {
            if is_stored { self.store(slice.clone()) } else { self.remove(slice) }
        }
    }

    fn template(&self) -> SliceTemplate {
        SliceTemplate::for_service(&self.random.service, ENDPOINTSLICE_CONTROLLER)
            .with_trigger_time(Some("2026-01-02T03:04:05Z".into()))
    }

    fn options(&self) -> PlanOptions {
        PlanOptions {
            packing: Packing::Pack { max: self.max },
            placeholder: true,
            hints: Hints::for_service(&self.random.service, &TopologyCache::default()),
        }
    }

    /// The plan of all endpoints.
    fn plan(&self) -> (SlicePlan, Vec<Skipped>) {
        let nodes: BTreeMap<&str, &Node> = self.nodes.iter().map(|node| (&*node.name, &**node)).collect();
        let mut pods: Vec<&Pod> = self.random.pods().map(|pod| &**pod).collect();
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        let desired = desired_from_service(&self.random.service, pods, |name| nodes.get(name).copied());
        let mut skipped = desired.skipped().to_vec();
        let slices: Vec<&EndpointSlice> = self.slices.iter().map(|(slice, _)| slice).collect();
        let plan = plan(&slices, desired, &self.template(), &self.options());
        skipped.retain(|skipped| !plan.keeps(skipped));
        (plan, skipped)
    }

    /// The plan by the sync cache, as in a sync. Also returns the number of slices that were read.
    fn plan_by(&self, sync_cache: &mut SyncCache) -> (SlicePlan, Vec<Skipped>, usize) {
        if !sync_cache.is_current(&self.random.service, self.zones) {
            *sync_cache = SyncCache::new(Arc::clone(&self.random.service), self.zones);
        }
        let changes = sync_cache.seen().changes(self.random.pods());
        sync_cache.update(changes, &self.nodes);
        let slices: Vec<Arc<CachedSlice>> = self.slices.iter().map(|(_, slice)| Arc::clone(slice)).collect();
        let mut open = sync_cache.settle(&slices, &self.template(), &self.options()).unwrap();
        let read = open.len();
        let (plan, skipped) = sync_cache.plan(&mut open, &self.template(), &self.options()).unwrap();
        self.assert_equally_urgent(&plan, &open, sync_cache);
        (plan, skipped, read)
    }

    /// The writes that may wait, the urgency and the order of the writes are those by all slices.
    fn assert_equally_urgent(&self, plan: &SlicePlan, open: &[EndpointSlice], sync_cache: &SyncCache) {
        let rules = Rules::of(&self.random.service, &self.options().hints);
        let slices: Vec<&EndpointSlice> = self.slices.iter().map(|(slice, _)| slice).collect();
        let pods = self.random.pods().map(|pod| &**pod);
        let by_all = planned_writes(plan, &slices, rules, |_, _| false, pods);
        let is_ready_elsewhere = |address_type, ports: &_| sync_cache.has_ready(address_type, ports);
        let by_sync_cache = planned_writes(plan, open, rules, is_ready_elsewhere, sync_cache.pods());
        assert_eq!(by_sync_cache, by_all);
        let (mut by_sync_cache, mut by_all) = (plan.clone(), plan.clone());
        let ready_elsewhere = |address_type| sync_cache.ready_groups(address_type);
        let urgency = prioritize(&mut by_sync_cache, open, false, ready_elsewhere);
        assert_eq!(urgency, prioritize(&mut by_all, &slices, false, |_| []));
        assert_eq!(by_sync_cache, by_all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_plan_is_that_of_all_endpoints(
        fields in service(),
        max in 1_usize..6,
        steps in vec((step(), prop_oneof![Just(9_usize), 0_usize..3]), 1..14),
    ) {
        let mut world = World::new(fields, max);
        let mut sync_cache = SyncCache::new(Arc::clone(&world.random.service), 0);
        for (step, writes) in steps {
            world.take(&step);
            let (expected, skipped) = world.plan();
            let (plan, skipped_by_sync_cache, _) = world.plan_by(&mut sync_cache);
            prop_assert_eq!(&plan, &expected, "after {:?}", step);
            prop_assert_eq!(format!("{plan:?}"), format!("{expected:?}"));
            prop_assert_eq!(skipped_by_sync_cache, skipped);
            world.apply(&plan, writes);
        }
    }

    /// Otherwise the comparison above would compare the same thing twice.
    #[test]
    fn slices_that_need_no_write_are_not_read(
        fields in service(),
        max in 1_usize..6,
        pods in vec(draft(usual_addresses()), 1..14),
    ) {
        let mut world = World::new(fields, max);
        for (number, draft) in (0..).zip(pods) {
            world.random.set_pod(number, draft);
        }
        let mut sync_cache = SyncCache::new(Arc::clone(&world.random.service), 0);
        let (plan, _, _) = world.plan_by(&mut sync_cache);
        world.apply(&plan, usize::MAX);
        let placeholders = world.slices.iter().filter(|(slice, _)| slice.endpoints.is_none()).count();
        for _ in 0..2 {
            let (plan, _, read) = world.plan_by(&mut sync_cache);
            prop_assert!(plan.is_empty());
            prop_assert_eq!(read, placeholders);
        }
        sync_cache = SyncCache::new(Arc::clone(&world.random.service), world.zones);
        let (_, _, read) = world.plan_by(&mut sync_cache);
        prop_assert_eq!(read, placeholders, "nor without a sync_cache of the last sync");
    }
}
