//! The plan by a sync cache is the plan of all pods and slices, over random histories of one Service.

use std::collections::BTreeMap;

use endpoint_informers::resource::Resource as _;
use endpointslice::coalescing::{Rules, planned_writes};
use endpointslice::model::{NodeFields, PodFields, PortFields, ReadyCondition, ServiceFields, TargetPort};
use endpointslice::topology::TopologyCache;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, TOPOLOGY_ZONE};
use endpointslice::{Hints, Interner, Packing, desired_from_service, plan};
use k8s_openapi::api::discovery::v1::{EndpointHints, ForZone};
use kube_protobuf::Message as _;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The fields of a pod that may change, each by a small number.
#[derive(Clone, Debug, PartialEq)]
struct Draft {
    ready: bool,
    deleting: bool,
    phase: &'static str,
    addresses: u8,
    node: &'static str,
    named_port: bool,
    hostname: &'static str,
    uid: u8,
}

#[derive(Clone, Debug)]
enum Step {
    /// Pods that are added, changed or removed.
    Pods(Vec<(u8, Option<Draft>)>),
    /// A pod that changes in nothing that matters.
    Touch(u8),
    /// Another client changes a slice.
    Foreign { kind: u8, slice: usize, endpoint: usize },
    /// A node moves to another zone.
    Zone(&'static str),
    /// One field of the Service changes, or nothing that matters.
    Service(u8, Box<ServiceFields<'static>>),
}

struct World {
    fields: ServiceFields<'static>,
    service: Arc<Service>,
    pods: BTreeMap<u8, (Draft, Arc<Pod>)>,
    nodes: Vec<Arc<Node>>,
    zones: u64,
    slices: Vec<(EndpointSlice, Arc<CachedSlice>)>,
    max: usize,
    versions: u32,
    interner: Interner,
}

fn draft() -> impl Strategy<Value = Draft> {
    let flags = (prop::bool::weighted(0.7), prop::bool::weighted(0.2), any::<bool>());
    let nodes = select(vec!["node-a", "node-a", "node-b", "node-b", "without-zone", "missing"]);
    let phases = select(vec!["Running", "Running", "Running", "Failed"]);
    let addresses = select(vec![0, 0, 0, 0, 1, 2, 2, 3, 4, 5]);
    (flags, phases, addresses, nodes, select(vec!["", "", "h"]), 0_u8..2).prop_map(
        |((ready, deleting, named_port), phase, addresses, node, hostname, uid)| Draft {
            ready,
            deleting,
            phase,
            addresses,
            node,
            named_port,
            hostname,
            uid,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => vec((0_u8..14, option::weighted(0.8, draft())), 1..4).prop_map(Step::Pods),
        1 => (0_u8..14).prop_map(Step::Touch),
        3 => (0_u8..11, 0_usize..8, 0_usize..5)
            .prop_map(|(kind, slice, endpoint)| Step::Foreign { kind, slice, endpoint }),
        1 => select(vec!["zone-a", "zone-b"]).prop_map(Step::Zone),
        2 => (0_u8..6, service()).prop_map(|(which, fields)| Step::Service(which, Box::new(fields))),
    ]
}

fn service() -> impl Strategy<Value = ServiceFields<'static>> {
    let families = select(vec![vec!["IPv4"], vec!["IPv4"], vec!["IPv6"], vec!["IPv4", "IPv6"]]);
    let targets = select(vec![
        vec![TargetPort::Number(8080)],
        vec![TargetPort::Name("http")],
        vec![TargetPort::Name("http"), TargetPort::Number(9090)],
        vec![],
    ]);
    let traffic = select(vec![None, None, Some("PreferSameZone"), Some("PreferSameNode")]);
    let labels = select(vec![vec![("app", "web")], vec![("app", "web")], vec![]]);
    (families, targets, traffic, labels, prop::bool::weighted(0.2)).prop_map(
        |(ip_families, targets, traffic_distribution, labels, publish_not_ready_addresses)| {
            let ports = targets.into_iter().zip(["a", "b"]);
            let ports =
                ports.map(|(target, name)| PortFields { name, port: 80, target, ..PortFields::default() });
            ServiceFields {
                namespace: "ns",
                name: "web",
                uid: "6a1f2b34-0000-4000-8000-00000000c0de",
                labels,
                cluster_ip: "10.96.0.10",
                ports: ports.collect(),
                ip_families,
                traffic_distribution,
                publish_not_ready_addresses,
                ..ServiceFields::default()
            }
        },
    )
}

impl World {
    fn new(fields: ServiceFields<'static>, max: usize) -> Self {
        let mut interner = Interner::default();
        let service = Arc::new(Service::new(fields.clone(), &mut interner));
        let (pods, slices) = Default::default();
        let mut world =
            Self { fields, service, pods, nodes: vec![], zones: 0, slices, max, versions: 0, interner };
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

    fn pod(&mut self, number: u8, draft: &Draft) -> Arc<Pod> {
        self.versions += 1;
        let (name, version) = (format!("pod-{number}"), self.versions.to_string());
        let (v4, v6) = (format!("10.1.0.{number}"), format!("fd00::{number:x}"));
        let (refused, second) = (format!("169.254.0.{number}"), format!("10.2.0.{number}"));
        let uid = format!("6a1f2b34-0000-4000-8000-0000000{:02x}0{:02x}", draft.uid, number);
        let addresses: Vec<&str> = match draft.addresses {
            0 => vec![&v4],
            1 => vec![&v6],
            2 => vec![&v4, &v6],
            3 => vec![],
            4 => vec![&refused, &v6],
            _ => vec![&second, &v4],
        };
        let fields = PodFields {
            namespace: "ns",
            name: &name,
            uid: &uid,
            resource_version: &version,
            deletion_timestamp: draft.deleting.then_some(7),
            node_name: draft.node,
            hostname: draft.hostname,
            subdomain: "web",
            ports: if draft.named_port { vec![("http", "TCP", 8000)] } else { vec![] },
            phase: draft.phase,
            addresses,
            ready: ReadyCondition { status: draft.ready, last_transition: Some(i64::from(self.versions)) },
            ..PodFields::default()
        };
        Arc::new(Pod::new(fields, &mut self.interner))
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Pods(changes) => {
                for (number, draft) in changes {
                    match draft {
                        None => drop(self.pods.remove(number)),
                        Some(draft) => {
                            let pod = self.pod(*number, draft);
                            self.pods.insert(*number, (draft.clone(), pod));
                        }
                    }
                }
            }
            Step::Touch(number) => {
                if let Some((draft, _)) = self.pods.get(number).cloned() {
                    let pod = self.pod(*number, &draft);
                    self.pods.insert(*number, (draft, pod));
                }
            }
            Step::Zone(zone) => self.set_nodes(zone),
            Step::Service(which, fields) => self.change_service(*which, (**fields).clone()),
            Step::Foreign { kind, slice, endpoint } => self.change_slice(*kind, *slice, *endpoint),
        }
    }

    fn change_service(&mut self, which: u8, fields: ServiceFields<'static>) {
        match which {
            0 => self.fields.ip_families = fields.ip_families,
            1 => self.fields.ports = fields.ports,
            2 => self.fields.traffic_distribution = fields.traffic_distribution,
            3 => self.fields.labels = fields.labels,
            4 => self.fields.publish_not_ready_addresses = fields.publish_not_ready_addresses,
            _ => {}
        }
        self.service = Arc::new(Service::new(self.fields.clone(), &mut self.interner));
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
                changed.metadata.name = Some(format!("a-{}", self.versions));
            }
            _ => {}
        }
        self.store(changed);
    }

    fn store(&mut self, mut slice: EndpointSlice) {
        self.versions += 1;
        if slice.metadata.name.is_none() {
            slice.metadata.name = Some(format!("web-{}", self.versions * 7919 % 10_007));
        }
        self.remove(&slice);
        slice.metadata.resource_version = Some(self.versions.to_string());
        let encoded = slice.encode();
        let cached = CachedSlice::from_protobuf(&encoded, &mut self.interner).unwrap();
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
        SliceTemplate::for_service(&self.service, ENDPOINTSLICE_CONTROLLER)
            .with_trigger_time(Some("2026-01-02T03:04:05Z".into()))
    }

    fn options(&self) -> PlanOptions {
        PlanOptions {
            packing: Packing::Pack { max: self.max },
            placeholder: true,
            hints: Hints::for_service(&self.service, &TopologyCache::default()),
        }
    }

    /// The plan of all endpoints.
    fn plan(&self) -> (SlicePlan, Vec<Skipped>) {
        let nodes: BTreeMap<&str, &Node> = self.nodes.iter().map(|node| (&*node.name, &**node)).collect();
        let mut pods: Vec<&Pod> = self.pods.values().map(|(_, pod)| &**pod).collect();
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        let desired = desired_from_service(&self.service, pods, |name| nodes.get(name).copied());
        let mut skipped = desired.skipped().to_vec();
        let slices: Vec<&EndpointSlice> = self.slices.iter().map(|(slice, _)| slice).collect();
        let plan = plan(&slices, desired, &self.template(), &self.options());
        skipped.retain(|skipped| !plan.keeps(skipped));
        (plan, skipped)
    }

    /// The plan by the sync cache, as in a sync. Also returns the number of slices that were read.
    fn plan_by(&self, sync_cache: &mut SyncCache) -> (SlicePlan, Vec<Skipped>, usize) {
        if !sync_cache.is_current(&self.service, self.zones) {
            *sync_cache = SyncCache::new(Arc::clone(&self.service), self.zones);
        }
        let changes = sync_cache.seen().changes(self.pods.values().map(|(_, pod)| pod));
        sync_cache.update(changes, &self.nodes);
        let slices: Vec<Arc<CachedSlice>> = self.slices.iter().map(|(_, slice)| Arc::clone(slice)).collect();
        let mut open = sync_cache.settle(&slices, &self.template(), &self.options()).unwrap();
        let read = open.len();
        let (plan, skipped) = sync_cache.plan(&mut open, &self.template(), &self.options()).unwrap();
        self.assert_equally_urgent(&plan, &open, sync_cache);
        (plan, skipped, read)
    }

    /// The writes that may wait are those by all slices.
    fn assert_equally_urgent(&self, plan: &SlicePlan, open: &[EndpointSlice], sync_cache: &SyncCache) {
        let rules = Rules::of(&self.service, &self.options().hints);
        let slices: Vec<&EndpointSlice> = self.slices.iter().map(|(slice, _)| slice).collect();
        let pods = self.pods.values().map(|(_, pod)| &**pod);
        let by_all = planned_writes(plan, &slices, rules, |_, _| false, pods);
        let is_ready_elsewhere = |address_type, ports: &_| sync_cache.has_ready(address_type, ports);
        let by_sync_cache = planned_writes(plan, open, rules, is_ready_elsewhere, sync_cache.pods());
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
        let mut sync_cache = SyncCache::new(Arc::clone(&world.service), 0);
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
    fn slices_that_need_no_write_are_not_read(fields in service(), max in 1_usize..6, pods in vec(draft(), 1..14)) {
        let mut world = World::new(fields, max);
        let usual = pods.into_iter().map(|draft| Draft { addresses: draft.addresses.min(2), ..draft });
        let pods = (0..).zip(usual.map(Some)).collect();
        world.take(&Step::Pods(pods));
        let mut sync_cache = SyncCache::new(Arc::clone(&world.service), 0);
        let (plan, _, _) = world.plan_by(&mut sync_cache);
        world.apply(&plan, usize::MAX);
        let placeholders = world.slices.iter().filter(|(slice, _)| slice.endpoints.is_none()).count();
        for _ in 0..2 {
            let (plan, _, read) = world.plan_by(&mut sync_cache);
            prop_assert!(plan.is_empty());
            prop_assert_eq!(read, placeholders);
        }
        sync_cache = SyncCache::new(Arc::clone(&world.service), world.zones);
        let (_, _, read) = world.plan_by(&mut sync_cache);
        prop_assert_eq!(read, placeholders, "nor without a sync_cache of the last sync");
    }
}
