//! A random Service and its pods, for tests that compare plans over random histories.

use std::collections::BTreeMap;
use std::sync::Arc;

use endpointslice::model::{PodFields, PortFields, ReadyCondition, ServiceFields, TargetPort};
use endpointslice::{Interner, Pod, Service};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// The fields of a pod that may change.
#[derive(Clone, Debug)]
pub struct Draft {
    ready: bool,
    deleting: bool,
    phase: &'static str,
    addresses: Vec<&'static str>,
    node: &'static str,
    named_port: bool,
    hostname: &'static str,
    uid: u8,
}

/// A change of a Service or its pods.
#[derive(Clone, Debug)]
pub enum Step {
    /// Pods that are added, changed or removed.
    Pods(Vec<(u16, Option<Draft>)>),
    /// A pod that changes in nothing that matters.
    Touch(u16),
    /// One field of the Service changes, or nothing that matters.
    Service(u8, Box<ServiceFields<'static>>),
}

/// A Service and its pods.
pub struct RandomService {
    /// The Service, as it is now.
    pub service: Arc<Service>,
    /// Makes equal texts of all objects one.
    pub interner: Interner,
    fields: ServiceFields<'static>,
    pods: BTreeMap<u16, (Draft, Arc<Pod>)>,
    versions: u32,
}

/// The fields of a Service.
pub fn service() -> impl Strategy<Value = ServiceFields<'static>> {
    let targets = select(vec![
        vec![TargetPort::Number(8080)],
        vec![TargetPort::Number(8080), TargetPort::Number(9090)],
        vec![TargetPort::Name("http")],
        vec![TargetPort::Name("http"), TargetPort::Number(9090)],
        vec![TargetPort::Number(0)],
        vec![],
    ]);
    let families = select(vec![vec!["IPv4"], vec!["IPv4"], vec!["IPv6"], vec!["IPv4", "IPv6"], vec![]]);
    let cluster_ip = select(vec!["10.96.0.10", "None"]);
    let app_protocol = select(vec![None, Some("h2c")]);
    let traffic = select(vec![None, None, Some("PreferSameZone"), Some("PreferSameNode")]);
    let labels = select(vec![vec![("app", "web")], vec![("app", "web")], vec![]]);
    let fields = (targets, families, cluster_ip, app_protocol, traffic, labels, prop::bool::weighted(0.2));
    fields.prop_map(|(targets, ip_families, cluster_ip, app_protocol, traffic, labels, unready)| {
        let port =
            |(target, name)| PortFields { name, port: 80, target, app_protocol, ..PortFields::default() };
        ServiceFields {
            namespace: "ns",
            name: "web",
            uid: "6a1f2b34-0000-4000-8000-00000000c0de",
            labels,
            cluster_ip,
            ports: targets.into_iter().zip(["a", "b"]).map(port).collect(),
            ip_families,
            traffic_distribution: traffic,
            publish_not_ready_addresses: unready,
            ..ServiceFields::default()
        }
    })
}

/// The fields of a pod with one of these lists of addresses, in which `H.L` and `N` stand for its number.
pub fn draft(addresses: Vec<Vec<&'static str>>) -> impl Strategy<Value = Draft> {
    let flags = (prop::bool::weighted(0.7), prop::bool::weighted(0.15), prop::bool::weighted(0.8));
    let phase = select(vec!["Running", "Running", "Running", "Failed"]);
    let node = select(vec!["", "node-a", "node-a", "node-b", "node-b", "without-zone", "missing"]);
    let fields = (flags, phase, select(addresses), node, select(vec!["", "", "h"]), 0_u8..2);
    fields.prop_map(|(flags, phase, addresses, node, hostname, uid)| {
        let (ready, deleting, named_port) = flags;
        Draft { ready, deleting, phase, addresses, node, named_port, hostname, uid }
    })
}

/// A change of a Service or its pods; `draft` chooses what these become.
pub fn step(draft: impl Strategy<Value = Draft>) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => vec((0_u16..14, option::weighted(0.8, draft)), 1..4).prop_map(Step::Pods),
        1 => (0_u16..14).prop_map(Step::Touch),
        2 => (0_u8..7, service()).prop_map(|(which, fields)| Step::Service(which, Box::new(fields))),
    ]
}

impl Draft {
    /// A pod with one address, and nothing special.
    pub fn usual(ready: bool) -> Self {
        let (deleting, named_port, hostname, uid) = Default::default();
        let (phase, addresses, node) = ("Running", vec!["10.1.H.L"], "node-a");
        Self { ready, deleting, phase, addresses, node, named_port, hostname, uid }
    }
}

impl RandomService {
    /// The Service without pods.
    pub fn new(fields: ServiceFields<'static>) -> Self {
        let mut interner = Interner::default();
        let service = Arc::new(Service::new(fields.clone(), &mut interner));
        Self { service, interner, fields, pods: BTreeMap::new(), versions: 0 }
    }

    /// A number that no object has as its resourceVersion yet.
    pub fn next_version(&mut self) -> u32 {
        self.versions += 1;
        self.versions
    }

    /// The pods, by number.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().map(|(_, pod)| pod)
    }

    /// Adds a pod, or replaces it.
    pub fn set_pod(&mut self, number: u16, draft: Draft) {
        let version = self.next_version();
        let (name, resource_version) = (format!("pod-{number}"), version.to_string());
        let uid = format!("6a1f2b34-0000-4000-8000-000000{:02x}{number:04x}", draft.uid);
        let (v4, v6) = (format!("{}.{}", number / 250, number % 250), format!("{number:x}"));
        let addresses = draft.addresses.iter().map(|text| text.replace("H.L", &v4).replace('N', &v6));
        let addresses: Vec<String> = addresses.collect();
        let fields = PodFields {
            namespace: "ns",
            name: &name,
            uid: &uid,
            resource_version: &resource_version,
            deletion_timestamp: draft.deleting.then_some(7),
            node_name: draft.node,
            hostname: draft.hostname,
            subdomain: "web",
            ports: if draft.named_port { vec![("http", "TCP", 8000)] } else { vec![] },
            phase: draft.phase,
            addresses: addresses.iter().map(String::as_str).collect(),
            ready: ReadyCondition { status: draft.ready, last_transition: Some(i64::from(version)) },
            ..PodFields::default()
        };
        let pod = Arc::new(Pod::new(fields, &mut self.interner));
        self.pods.insert(number, (draft, pod));
    }

    /// Makes a change.
    pub fn take(&mut self, step: &Step) {
        match step {
            Step::Pods(changes) => {
                for (number, draft) in changes.clone() {
                    match draft {
                        None => drop(self.pods.remove(&number)),
                        Some(draft) => self.set_pod(number, draft),
                    }
                }
            }
            Step::Touch(number) => {
                if let Some((draft, _)) = self.pods.get(number).cloned() {
                    self.set_pod(*number, draft);
                }
            }
            Step::Service(which, fields) => self.change(*which, (**fields).clone()),
        }
    }

    fn change(&mut self, which: u8, fields: ServiceFields<'static>) {
        match which {
            0 => self.fields.ip_families = fields.ip_families,
            1 => self.fields.ports = fields.ports,
            2 => self.fields.traffic_distribution = fields.traffic_distribution,
            3 => self.fields.labels = fields.labels,
            4 => self.fields.publish_not_ready_addresses = fields.publish_not_ready_addresses,
            5 => self.fields.cluster_ip = fields.cluster_ip,
            _ => {}
        }
        self.service = Arc::new(Service::new(self.fields.clone(), &mut self.interner));
    }
}
