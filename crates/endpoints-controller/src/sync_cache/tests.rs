//! The plan by a sync cache is the plan of all pods, over random histories of one Service.

use std::collections::BTreeMap;

use endpoint_informers::resource::Resource as _;
use endpointslice::Interner;
use endpointslice::model::{PodFields, PortFields, ReadyCondition, ServiceFields, TargetPort};
use kube_protobuf::Message as _;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::plan::plan;

/// The fields of a pod that may change.
#[derive(Clone, Debug)]
struct Draft {
    ready: bool,
    deleting: bool,
    phase: &'static str,
    /// `10.1.0.N`, `fd00::N`, both, none, a refused address, or one that all pods share.
    address: u8,
    named_port: bool,
    uid: u8,
    hostname: &'static str,
}

#[derive(Clone, Debug)]
enum Step {
    Pods(Vec<(u8, Option<Draft>)>),
    /// A pod that changes in nothing that matters.
    Touch(u8),
    /// Another client changes the object.
    Foreign(u8),
    /// One field of the Service changes, or nothing that matters.
    Service(u8, Box<ServiceFields<'static>>),
}

struct World {
    fields: ServiceFields<'static>,
    service: Arc<Service>,
    pods: BTreeMap<u16, (Draft, Arc<Pod>)>,
    stored: Option<(Endpoints, Arc<CachedEndpoints>)>,
    versions: u32,
    interner: Interner,
}

fn draft() -> impl Strategy<Value = Draft> {
    let flags = (prop::bool::weighted(0.7), prop::bool::weighted(0.1), prop::bool::weighted(0.9));
    let phase = select(vec!["Running", "Running", "Running", "Failed"]);
    let address = prop_oneof![30 => Just(0_u8), 4 => 1_u8..4, 1 => 4_u8..6];
    (flags, phase, address, 0_u8..2, select(vec!["", "h"])).prop_map(
        |((ready, deleting, named_port), phase, address, uid, hostname)| Draft {
            ready,
            deleting,
            phase,
            address,
            named_port,
            uid,
            hostname,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => vec((0_u8..14, option::weighted(0.8, draft())), 1..4).prop_map(Step::Pods),
        1 => (0_u8..14).prop_map(Step::Touch),
        3 => (0_u8..9).prop_map(Step::Foreign),
        2 => (0_u8..6, service()).prop_map(|(which, fields)| Step::Service(which, Box::new(fields))),
    ]
}

fn service() -> impl Strategy<Value = ServiceFields<'static>> {
    let targets = select(vec![
        vec![TargetPort::Number(8080)],
        vec![TargetPort::Number(8080), TargetPort::Number(9090)],
        vec![TargetPort::Name("http")],
        vec![TargetPort::Name("http"), TargetPort::Number(9090)],
        vec![TargetPort::Number(0)],
        vec![],
    ]);
    let families = select(vec![vec!["IPv4"], vec!["IPv6"], vec![]]);
    let app_protocol = select(vec![None, Some("h2c")]);
    let cluster_ip = select(vec!["10.96.0.10", "None"]);
    let labels = select(vec![vec![("app", "web")], vec![("app", "web")], vec![]]);
    (targets, families, app_protocol, cluster_ip, labels, prop::bool::weighted(0.2)).prop_map(
        |(targets, ip_families, app_protocol, cluster_ip, labels, publish_not_ready_addresses)| {
            let ports = targets.into_iter().zip(["a", "b"]).map(|(target, name)| PortFields {
                name,
                port: 80,
                target,
                app_protocol,
                ..PortFields::default()
            });
            ServiceFields {
                namespace: "ns",
                name: "web",
                labels,
                cluster_ip,
                ports: ports.collect(),
                ip_families,
                publish_not_ready_addresses,
                ..ServiceFields::default()
            }
        },
    )
}

impl World {
    fn new(fields: ServiceFields<'static>) -> Self {
        let mut interner = Interner::default();
        let service = Arc::new(Service::new(fields.clone(), &mut interner));
        Self { fields, service, pods: BTreeMap::new(), stored: None, versions: 0, interner }
    }

    fn set_pod(&mut self, number: u16, draft: Draft) {
        self.versions += 1;
        let (name, version) = (format!("pod-{number}"), self.versions.to_string());
        let (high, low) = (number / 250, number % 250);
        let (v4, v6) = (format!("10.1.{high}.{low}"), format!("fd00::{number:x}"));
        let refused = format!("169.254.{high}.{low}");
        let uid = format!("6a1f2b34-0000-4000-8000-000000{:02x}{number:04x}", draft.uid);
        let addresses: Vec<&str> = match draft.address {
            0 => vec![&v4],
            1 => vec![&v6],
            2 => vec![&v4, &v6],
            3 => vec![],
            4 => vec![&refused],
            _ => vec!["10.3.0.1"],
        };
        let fields = PodFields {
            namespace: "ns",
            name: &name,
            uid: &uid,
            resource_version: &version,
            deletion_timestamp: draft.deleting.then_some(7),
            node_name: if low % 3 == 0 { "" } else { "node" },
            hostname: draft.hostname,
            subdomain: "web",
            ports: if draft.named_port { vec![("http", "TCP", 8000)] } else { vec![] },
            phase: draft.phase,
            addresses,
            ready: ReadyCondition { status: draft.ready, last_transition: Some(i64::from(self.versions)) },
            ..PodFields::default()
        };
        let pod = Arc::new(Pod::new(fields, &mut self.interner));
        self.pods.insert(number, (draft, pod));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Pods(changes) => {
                for (number, draft) in changes.clone() {
                    match draft {
                        None => drop(self.pods.remove(&u16::from(number))),
                        Some(draft) => self.set_pod(number.into(), draft),
                    }
                }
            }
            Step::Touch(number) => {
                if let Some((draft, _)) = self.pods.get(&u16::from(*number)).cloned() {
                    self.set_pod(u16::from(*number), draft);
                }
            }
            Step::Service(which, fields) => self.change_service(*which, (**fields).clone()),
            Step::Foreign(kind) => self.change_stored(*kind),
        }
    }

    fn change_service(&mut self, which: u8, fields: ServiceFields<'static>) {
        match which {
            0 => self.fields.ip_families = fields.ip_families,
            1 => self.fields.ports = fields.ports,
            2 => self.fields.cluster_ip = fields.cluster_ip,
            3 => self.fields.labels = fields.labels,
            4 => self.fields.publish_not_ready_addresses = fields.publish_not_ready_addresses,
            _ => {}
        }
        self.service = Arc::new(Service::new(self.fields.clone(), &mut self.interner));
    }

    fn change_stored(&mut self, kind: u8) {
        let Some((mut stored, _)) = self.stored.take() else { return };
        let mut subsets = stored.subsets.take().unwrap_or_default();
        if let Some(subset) = subsets.first_mut() {
            let addresses = subset.addresses.get_or_insert_default();
            match kind {
                0 => drop(addresses.pop()),
                1 => addresses.reverse(),
                2 => addresses.iter_mut().for_each(|address| address.node_name = None),
                3 => {
                    let targets = addresses.iter_mut().filter_map(|address| address.target_ref.as_mut());
                    targets.for_each(|target| target.resource_version = Some("1".into()));
                }
                4 if addresses.len() > 1 => {
                    let mut other = subset.clone();
                    other.not_ready_addresses = None;
                    other.addresses = subset.addresses.as_mut().map(|addresses| addresses.split_off(1));
                    subsets.push(other);
                }
                _ => {}
            }
        }
        match kind {
            5 => return,
            6 => stored.metadata.labels = None,
            7 => {
                let annotations = stored.metadata.annotations.get_or_insert_default();
                annotations.insert("endpoints.kubernetes.io/over-capacity".into(), "truncated".into());
            }
            _ => {}
        }
        stored.subsets = Some(subsets);
        self.store(stored);
    }

    fn store(&mut self, mut endpoints: Endpoints) {
        self.versions += 1;
        endpoints.metadata.resource_version = Some(self.versions.to_string());
        let encoded = endpoints.encode();
        let cached = CachedEndpoints::from_protobuf(&encoded, &mut self.interner).unwrap();
        self.stored = Some((Endpoints::decode(&encoded).unwrap(), Arc::new(cached)));
    }

    fn unready(&self) -> Unready {
        Unready::of(&self.service, false)
    }

    /// The plan by all pods.
    fn plan(&self) -> Plan {
        let subsets =
            desired_subsets(&self.service, self.pods.values().map(|(_, pod)| &**pod), self.unready());
        plan(self.stored.as_ref().map(|(stored, _)| stored), &self.service, subsets, Some("now".into()))
    }

    /// The plan by the sync cache, as in a sync; `None` if it needs all pods.
    fn plan_by(&self, sync_cache: &mut Option<SyncCache>) -> Option<Plan> {
        let is_current = |sync_cache: &SyncCache| sync_cache.is_current(&self.service);
        let new = || SyncCache::new(Arc::clone(&self.service), self.unready());
        let mut changing = sync_cache.take().filter(is_current).unwrap_or_else(new);
        let stored = self.stored.as_ref().map(|(_, stored)| stored);
        if let Some(stored) = stored {
            changing.observe(stored, &stored.encoded.unpack());
        }
        let changes = changing.seen().changes(self.pods.values().map(|(_, pod)| pod));
        let (_, listed) = changing.update(changes);
        listed.ok()?;
        let encoded = stored.map(|stored| stored.encoded.unpack());
        let difference = changing.compare(stored.zip(encoded.as_deref()));
        let plan = match difference {
            Ok(Difference::Nothing) => Some(Plan::Nothing),
            Ok(Difference::Write(head)) => Some(changing.write(head.as_deref(), Some("now".into()))),
            Err(NeedsAll) => None,
        };
        *sync_cache = Some(changing);
        plan
    }

    fn apply(&mut self, plan: Plan) {
        if let Plan::Create(endpoints) | Plan::Update(endpoints) = plan {
            self.store(endpoints);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_plan_is_that_of_all_pods(
        fields in service(),
        steps in vec((step(), prop::bool::weighted(0.8)), 1..14),
    ) {
        let mut world = World::new(fields);
        let mut sync_cache = None;
        for (step, is_written) in steps {
            world.take(&step);
            let expected = world.plan();
            if let Some(plan) = world.plan_by(&mut sync_cache) {
                prop_assert_eq!(&plan, &expected, "after {:?}", step);
            }
            if is_written {
                world.apply(expected);
            }
        }
    }

    /// Otherwise the comparison above would compare nothing.
    #[test]
    fn usual_pods_need_no_plan_of_all(changes in vec((0_u8..14, any::<bool>()), 1..14)) {
        let ports = vec![PortFields { name: "a", port: 80, target: TargetPort::Number(80), ..PortFields::default() }];
        let ip_families = vec!["IPv4"];
        let mut world = World::new(ServiceFields { name: "web", ports, ip_families, ..ServiceFields::default() });
        let mut sync_cache = None;
        for (number, ready) in changes {
            world.set_pod(number.into(), usual(ready));
            let plan = world.plan_by(&mut sync_cache);
            prop_assert_eq!(plan.as_ref(), Some(&world.plan()));
            world.apply(plan.unwrap());
            prop_assert_eq!(world.plan_by(&mut sync_cache), Some(Plan::Nothing));
        }
    }
}

#[test]
fn octets_are_ordered_as_their_text() {
    for (a, b) in (0..=u8::MAX).flat_map(|a| (0..=u8::MAX).map(move |b| (a, b))) {
        let text = |octet: u8| (format!("{octet}."), octet.to_string());
        let ((inner_a, last_a), (inner_b, last_b)) = (text(a), text(b));
        assert_eq!(digits(a).cmp(&digits(b)), inner_a.cmp(&inner_b), "{a}. {b}.");
        assert_eq!(digits(a).cmp(&digits(b)), last_a.cmp(&last_b), "{a} {b}");
    }
}

fn usual(ready: bool) -> Draft {
    Draft { ready, deleting: false, phase: "Running", address: 0, named_port: false, uid: 0, hostname: "" }
}

#[test]
fn more_pods_than_fit_are_truncated_as_by_a_plan_of_all() {
    let ports =
        vec![PortFields { name: "a", port: 80, target: TargetPort::Number(80), ..PortFields::default() }];
    let ip_families = vec!["IPv4"];
    let mut world = World::new(ServiceFields { name: "web", ports, ip_families, ..ServiceFields::default() });
    let mut sync_cache = None;
    for number in 0..990 {
        world.set_pod(number, usual(number % 7 > 0));
    }
    for number in 985..1010 {
        world.set_pod(number, usual(number % 2 > 0));
        let plan = world.plan_by(&mut sync_cache).unwrap();
        assert_eq!(plan, world.plan(), "{number}");
        world.apply(plan);
    }
    for number in (0..1010).step_by(40).chain(0..1010) {
        world.set_pod(number, usual(true));
        if number % 90 == 0 || number > 995 {
            let plan = world.plan_by(&mut sync_cache).unwrap();
            assert_eq!(plan, world.plan(), "{number}");
            world.apply(plan);
        }
    }
}
