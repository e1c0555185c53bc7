//! Random clusters: our own slices, stale ones, and slices of other clients.

use std::ops::Range;

use endpointslice::desired::{endpoint_ports, published_hostname, target_ref};
use endpointslice::well_known::{HEADLESS, MANAGED_BY, SERVICE_NAME};
use endpointslice::{AddressType, Node, Pod, PortSet};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointSlice, ForNode, ForZone,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::{
    Cluster, NAMESPACE, PodExt, SERVICE, SERVICE_UID, TRIGGER_TIME, node, pod, service, service_port,
};

/// Numbers of pods that exist or are in slices: some slices carry deleted pods.
const PODS: usize = 14;

pub(crate) fn epoch() -> Time {
    Time(Timestamp::UNIX_EPOCH)
}

pub(crate) fn case() -> impl Strategy<Value = Cluster> {
    let slices = vec(existing_slice(), 0..7);
    (any_service(), pods(PODS), vec(any::<bool>(), PODS), slices, 1_usize..8, any::<(bool, bool, bool)>())
        .prop_map(|(service, all, present, slices, max, (absent_if_empty, timed, without_zone))| {
            let mut cluster = Cluster {
                service,
                nodes: nodes(without_zone),
                max,
                trigger_time: timed.then(|| TRIGGER_TIME.to_owned()),
                absent_if_empty,
                ..Cluster::with_pods(0)
            };
            for (number, slice) in slices.into_iter().enumerate() {
                let slice = slice.build(number, &cluster, &all);
                cluster.next_version();
                cluster.store(slice);
            }
            cluster.pods =
                all.into_iter().zip(present).filter(|(_, present)| *present).map(|(pod, _)| pod).collect();
            cluster
        })
}

/// The same cluster twice, listed in different orders.
pub(crate) fn shuffled() -> impl Strategy<Value = (Cluster, Cluster)> {
    case().prop_flat_map(|cluster| {
        let pods = Just(cluster.pods.clone()).prop_shuffle();
        let slices = Just(cluster.slices.clone()).prop_shuffle();
        (Just(cluster), pods, slices).prop_map(|(cluster, pods, slices)| {
            let other = Cluster { pods, slices, ..cluster.clone() };
            (cluster, other)
        })
    })
}

pub(crate) fn steps(count: usize) -> impl Strategy<Value = Vec<usize>> {
    vec(0..PODS, 0..count)
}

/// Makes pods ready or not, by the bits of `ready`.
pub(crate) fn set_readiness(cluster: &mut Cluster, ready: u64) {
    for (number, pod) in cluster.pods.iter_mut().enumerate() {
        pod.set_ready(ready >> number & 1 == 1);
    }
}

/// Gives some pods link-local addresses, by the bits of `moved`, and their endpoints too: as if they had been published
/// when that was allowed.
pub(crate) fn move_to_link_local(cluster: &mut Cluster, moved: u64) {
    let new = |old: &str| {
        let (prefix, host) = old.rsplit_once(['.', ':']).unwrap();
        let family = if prefix == "10.1.0" { "169.254.0." } else { "fe80::" };
        let number = u32::from_str_radix(host, 16).unwrap_or(0);
        (moved >> (number % 64) & 1 == 1).then(|| format!("{family}{host}"))
    };
    for pod in &mut cluster.pods {
        let addresses = pod.edit().2.pod_ips.iter_mut().flatten();
        addresses.for_each(|address| address.ip = new(&address.ip).unwrap_or_else(|| address.ip.clone()));
    }
    for endpoint in cluster.slices.iter_mut().flat_map(|slice| slice.endpoints.iter_mut().flatten()) {
        endpoint.addresses.iter_mut().for_each(|old| *old = new(old).unwrap_or_else(|| old.clone()));
    }
}

/// Two zones, one with two nodes, and perhaps a node without zone, which makes topology hints impossible.
fn nodes(without_zone: bool) -> Vec<core::Node> {
    let mut nodes = vec![node("node-a", "zone-a"), node("node-a2", "zone-a"), node("node-b", "zone-b")];
    nodes.extend(without_zone.then(|| node("node-without-zone", "")));
    nodes
}

fn any_service() -> impl Strategy<Value = core::Service> {
    let families = select(vec![vec!["IPv4"], vec!["IPv6"], vec!["IPv4", "IPv6"], vec![]]);
    let cluster_ip = select(vec!["10.96.0.10", "fd00::10", "None", ""]);
    let ports = select(vec![
        vec![],
        vec![service_port("http", IntOrString::Int(8080))],
        vec![service_port("http", IntOrString::String("http".to_owned()))],
        vec![
            service_port("http", IntOrString::String("http".to_owned())),
            service_port("metrics", IntOrString::String("metrics".to_owned())),
        ],
    ]);
    let traffic = select(vec![
        None,
        None,
        Some("PreferClose"),
        Some("PreferSameZone"),
        Some("PreferSameNode"),
        Some("Else"),
    ]);
    let topology = prop::bool::weighted(0.25);
    let labels = select(vec![
        vec![],
        vec![("team", "shop")],
        vec![("team", "shop"), (MANAGED_BY, "me"), ("empty", "")],
    ]);
    (families, cluster_ip, ports, any::<bool>(), traffic, topology, labels).prop_map(
        |(families, cluster_ip, ports, publish_not_ready, traffic, topology, labels)| {
            let mut service = service();
            let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
            service.metadata.labels = Some(labels.collect());
            if topology {
                let key = endpointslice::well_known::TOPOLOGY_MODE.to_owned();
                service.metadata.annotations = Some([(key, "Auto".to_owned())].into());
            }
            let spec = service.spec.as_mut().unwrap();
            spec.ip_families = Some(families.into_iter().map(str::to_owned).collect());
            spec.cluster_ip = Some(cluster_ip.to_owned());
            spec.ports = Some(ports);
            spec.publish_not_ready_addresses = Some(publish_not_ready);
            spec.traffic_distribution = traffic.map(str::to_owned);
            service
        },
    )
}

/// Pods 0 to `count`, each in some state.
pub(crate) fn pods(count: usize) -> impl Strategy<Value = Vec<core::Pod>> {
    let states = vec(pod_state(), count);
    states.prop_map(|states| {
        states.into_iter().enumerate().map(|(number, state)| state.build(number)).collect()
    })
}

#[derive(Clone, Debug)]
struct PodState {
    families: &'static [&'static str],
    shares_address: bool,
    node: Option<&'static str>,
    ports: &'static [(&'static str, &'static str, i32)],
    phase: &'static str,
    ready: bool,
    terminating: bool,
    hostname: bool,
}

fn pod_state() -> impl Strategy<Value = PodState> {
    let families: Vec<&[&str]> = vec![&["4"], &["4"], &["4", "6"], &["6", "4"], &["6"], &[]];
    let nodes = vec![
        Some("node-a"),
        Some("node-a"),
        Some("node-b"),
        Some("node-b"),
        Some("node-without-zone"),
        Some("unknown-node"),
        None,
    ];
    let ports: Vec<&[(&str, &str, i32)]> = vec![
        &[("http", "TCP", 8080)],
        &[("http", "TCP", 8081), ("metrics", "TCP", 9090)],
        &[("http", "UDP", 8080)],
        &[],
    ];
    (
        select(families),
        prop::bool::weighted(0.1),
        select(nodes),
        select(ports),
        select(vec!["Running", "Running", "Running", "Pending", "Succeeded", "Failed"]),
        any::<(bool, bool)>(),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(families, shares_address, node, ports, phase, (ready, terminating), hostname)| {
            PodState { families, shares_address, node, ports, phase, ready, terminating, hostname }
        })
}

impl PodState {
    fn build(self, number: usize) -> core::Pod {
        let host = if self.shares_address { 200 } else { number };
        let address =
            |family: &&str| if *family == "4" { format!("10.1.0.{host}") } else { format!("fd00::{host}") };
        let addresses: Vec<String> = self.families.iter().map(address).collect();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        let mut pod = pod(number).addresses(&addresses).ready(self.ready).phase(self.phase).ports(self.ports);
        pod.edit().1.node_name = self.node.map(str::to_owned);
        if self.terminating {
            pod.set_terminating();
        }
        if self.hostname {
            pod = pod.hostname("host", SERVICE);
        }
        pod
    }
}

/// A slice in the cache.
#[derive(Clone, Debug)]
struct ExistingSlice {
    address_type: &'static str,
    owner: &'static str,
    /// The pod whose ports the slice has; `None` for a slice without ports.
    ports_of: Option<Index>,
    members: Vec<Member>,
    labels: Labels,
    reversed_ports: bool,
    bystander: bool,
    timed: bool,
}

#[derive(Clone, Debug)]
struct Member {
    pod: Index,
    change: Change,
    hints: Option<&'static str>,
}

/// The difference between an endpoint in a slice and the desired one.
#[derive(Clone, Copy, Debug)]
enum Change {
    None,
    Readiness,
    Uid,
    Node,
    Conditions,
    /// A resourceVersion in `targetRef`, as releases before 1.20 wrote: no difference.
    Version,
}

#[derive(Clone, Copy, Debug)]
enum Labels {
    Right,
    Missing,
    Extra,
    /// Only a reserved label is wrong.
    Reserved,
}

fn existing_slice() -> impl Strategy<Value = ExistingSlice> {
    (
        select(vec!["IPv4", "IPv4", "IPv4", "IPv4", "IPv6", "IPv6", "FQDN", "IP"]),
        select(vec![SERVICE_UID, SERVICE_UID, SERVICE_UID, SERVICE_UID, "older-service", ""]),
        option::weighted(0.8, any::<Index>()),
        vec(member(), members()),
        select(vec![
            Labels::Right,
            Labels::Right,
            Labels::Right,
            Labels::Missing,
            Labels::Extra,
            Labels::Reserved,
        ]),
        any::<(bool, bool, bool)>(),
    )
        .prop_map(
            |(address_type, owner, ports_of, members, labels, (reversed_ports, bystander, timed))| {
                ExistingSlice {
                    address_type,
                    owner,
                    ports_of,
                    members,
                    labels,
                    reversed_ports,
                    bystander,
                    timed,
                }
            },
        )
}

const fn members() -> Range<usize> {
    0..10
}

fn member() -> impl Strategy<Value = Member> {
    let changes = vec![
        Change::None,
        Change::None,
        Change::None,
        Change::None,
        Change::Version,
        Change::Readiness,
        Change::Uid,
        Change::Node,
        Change::Conditions,
    ];
    let hints = vec![None, None, None, Some(""), Some("zone-a"), Some("zone-b"), Some("node-a")];
    (any::<Index>(), select(changes), select(hints)).prop_map(|(pod, change, hints)| Member {
        pod,
        change,
        hints,
    })
}

impl ExistingSlice {
    fn build(self, number: usize, cluster: &Cluster, pods: &[core::Pod]) -> EndpointSlice {
        let mut ports = self.ports_of.map_or_else(PortSet::default, |index| {
            endpoint_ports(&cluster.compact_service(), &Pod::from(index.get(pods)).ports)
        });
        if self.reversed_ports {
            let mut reversed = ports.into_vec();
            reversed.reverse();
            return EndpointSlice { ports: Some(reversed), ..self.without_ports(number, cluster, pods) };
        }
        EndpointSlice {
            ports: Some(std::mem::take(&mut ports).into_vec()),
            ..self.without_ports(number, cluster, pods)
        }
    }

    fn without_ports(&self, number: usize, cluster: &Cluster, pods: &[core::Pod]) -> EndpointSlice {
        let endpoints =
            self.members.iter().filter_map(|member| member.build(self.address_type, cluster, pods));
        EndpointSlice {
            metadata: self.metadata(number, cluster),
            address_type: self.address_type.to_owned(),
            endpoints: Some(endpoints.collect()),
            ports: None,
        }
    }

    fn metadata(&self, number: usize, cluster: &Cluster) -> ObjectMeta {
        let mut labels = cluster.template().labels().clone();
        match self.labels {
            Labels::Right => {}
            Labels::Missing => labels.retain(|key, _| key == SERVICE_NAME || key == MANAGED_BY),
            Labels::Extra => drop(labels.insert("stale".to_owned(), "yes".to_owned())),
            Labels::Reserved => drop(labels.insert(HEADLESS.to_owned(), "no".to_owned())),
        }
        let owner = |uid: &str| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            name: SERVICE.to_owned(),
            uid: uid.to_owned(),
            ..OwnerReference::default()
        };
        let mut owners: Vec<OwnerReference> =
            Some(self.owner).filter(|uid| !uid.is_empty()).map(owner).into_iter().collect();
        let mut annotations = std::collections::BTreeMap::new();
        if self.bystander {
            owners.insert(0, OwnerReference { kind: "Other".to_owned(), ..owner("bystander") });
            annotations.insert("example.com/note".to_owned(), "keep me".to_owned());
        }
        if self.timed {
            let key = endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
            annotations.insert(key.to_owned(), "2020-01-01T00:00:00Z".to_owned());
        }
        ObjectMeta {
            namespace: Some(NAMESPACE.to_owned()),
            name: Some(format!("{SERVICE}-found-{number}")),
            uid: Some(format!("found-{number}")),
            resource_version: Some(format!("{}", 1000 + number)),
            generation: Some(1),
            labels: Some(labels),
            annotations: Some(annotations),
            finalizers: self.bystander.then(|| vec!["example.com/wait".to_owned()]),
            owner_references: Some(owners),
            ..ObjectMeta::default()
        }
    }
}

impl Member {
    fn build(&self, address_type: &str, cluster: &Cluster, pods: &[core::Pod]) -> Option<Endpoint> {
        let pod = Pod::from(self.pod.get(pods));
        let nodes: Vec<Node> = cluster.nodes.iter().map(Node::from).collect();
        let node = nodes.iter().find(|node| Some(&node.name) == pod.node_name.as_ref());
        let fits = |address: &&std::net::IpAddr| match AddressType::parse(address_type) {
            Some(wanted) => AddressType::of(**address) == wanted,
            None => true,
        };
        let addresses: Vec<String> = pod.addresses.iter().filter(fits).map(ToString::to_string).collect();
        if addresses.is_empty() {
            return None;
        }
        let (service, terminating) = (cluster.compact_service(), pod.is_terminating());
        let ready = service.publish_not_ready_addresses || pod.ready && !terminating;
        let conditions = EndpointConditions {
            ready: Some(ready),
            serving: Some(pod.ready),
            terminating: Some(terminating),
        };
        let mut endpoint = Endpoint {
            addresses,
            conditions: Some(conditions),
            hints: self.hints.map(hints),
            hostname: published_hostname(&service, &pod).map(Into::into),
            node_name: pod.node_name.as_deref().map(Into::into),
            target_ref: Some(target_ref(&pod)),
            zone: node.and_then(|node| node.zone.as_deref()).map(Into::into),
            ..Endpoint::default()
        };
        let target = endpoint.target_ref.get_or_insert_default();
        let conditions = endpoint.conditions.get_or_insert_default();
        match self.change {
            Change::None => {}
            Change::Version => target.resource_version = Some("7".to_owned()),
            Change::Uid => target.uid = Some("earlier pod".to_owned()),
            Change::Node => endpoint.zone = Some("zone-c".to_owned()),
            Change::Conditions => endpoint.conditions = None,
            Change::Readiness => conditions.ready = conditions.ready.map(|ready| !ready),
        }
        Some(endpoint)
    }
}

fn hints(name: &str) -> EndpointHints {
    let zone = name.starts_with("zone").then(|| vec![ForZone { name: name.to_owned() }]);
    let node = name.starts_with("node").then(|| vec![ForNode { name: name.to_owned() }]);
    EndpointHints { for_nodes: node, for_zones: zone }
}
