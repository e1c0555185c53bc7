//! A Service, its pods, and a cluster that keeps slices the way the API server does.
//!
//! A test creates a cluster, calls [`Cluster::sync`] and checks the writes and the slices:
//!
//! ```text
//! let mut cluster = Cluster::with_pods(250);
//! assert_eq!(cluster.sync(), writes(3, 0, 0));
//! assert_eq!(cluster.sizes(), [100, 100, 50]);
//! ```

mod api_server;

use std::ops::Range;

use endpointslice::desired::Conditions;
use endpointslice::topology::TopologyCache;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, TOPOLOGY_ZONE};
use endpointslice::{
    DesiredEndpoints, Hints, Node, Packing, PlanOptions, Pod, Service, SlicePlan, SliceTemplate,
    desired_from_service, plan,
};
use k8s_openapi::api::core::v1::{
    self as core, ContainerPort, NodeCondition, NodeStatus, PodCondition, PodIP, PodSpec, PodStatus,
    ServicePort, ServiceSpec,
};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;

pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const SERVICE: &str = "web";
pub(crate) const SERVICE_UID: &str = "6a1f2b34-0000-4000-8000-00000000c0de";
pub(crate) const TRIGGER_TIME: &str = "2026-01-02T03:04:05Z";

/// The number of writes of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) create: usize,
    pub(crate) update: usize,
    pub(crate) delete: usize,
}

pub(crate) const NO_WRITES: Writes = writes(0, 0, 0);

pub(crate) const fn writes(create: usize, update: usize, delete: usize) -> Writes {
    Writes { create, update, delete }
}

impl Writes {
    pub(crate) fn total(self) -> usize {
        self.create + self.update + self.delete
    }
}

/// Everything a sync reads, and the slices it writes.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) service: core::Service,
    pub(crate) pods: Vec<core::Pod>,
    pub(crate) nodes: Vec<core::Node>,
    pub(crate) slices: Vec<EndpointSlice>,
    /// The most endpoints in a slice.
    pub(crate) max: usize,
    /// The annotation of slices written; upstream calls it the trigger time.
    pub(crate) trigger_time: Option<String>,
    /// Empty lists come back absent, as they do from a protobuf API server.
    pub(crate) absent_if_empty: bool,
    /// The conditions that are published.
    pub(crate) conditions: Conditions,
    pub(crate) written: usize,
}

impl Cluster {
    /// One IPv4 Service with one port, two nodes in two zones, and this many ready pods on the first.
    pub(crate) fn with_pods(pods: usize) -> Self {
        Self {
            service: service(),
            pods: (0..pods).map(pod).collect(),
            nodes: vec![node("node-a", "zone-a"), node("node-b", "zone-b")],
            slices: vec![],
            max: 100,
            trigger_time: Some(TRIGGER_TIME.to_owned()),
            absent_if_empty: false,
            conditions: Conditions::All,
            written: 0,
        }
    }

    /// Adds a slice that carries some of the pods, exactly as it would have been published. More pods than `max` make
    /// an over-full slice. Gives its name.
    pub(crate) fn place(&mut self, pods: Range<usize>) -> String {
        let mut alone = self.clone();
        alone.slices.clear();
        alone.pods = self.pods[pods].to_vec();
        alone.max = 1000;
        let plan = alone.plan();
        assert_eq!(plan.types.iter().map(|plan| plan.create.len()).sum::<usize>(), 1, "one slice at a time");
        self.apply(&plan);
        self.slices.last().unwrap().metadata.name.clone().unwrap()
    }

    /// Gives a pod a link-local address, and its endpoint too, as if it had been published when that was allowed.
    pub(crate) fn move_to_link_local(&mut self, number: usize) {
        let old = format!("10.1.0.{number}");
        let new = format!("169.254.0.{number}");
        self.pods[number].set_addresses(&[&new]);
        let endpoints = self.slices.iter_mut().flat_map(|slice| slice.endpoints.iter_mut().flatten());
        for address in endpoints.flat_map(|endpoint| &mut endpoint.addresses).filter(|it| **it == old) {
            address.clone_from(&new);
        }
    }

    pub(crate) fn spec(&mut self) -> &mut ServiceSpec {
        self.service.spec.as_mut().unwrap()
    }

    pub(crate) fn compact_service(&self) -> Service {
        Service::from(&self.service)
    }

    pub(crate) fn options(&self) -> PlanOptions {
        PlanOptions { packing: Packing::Pack { max: self.max }, placeholder: true, hints: self.hints() }
    }

    pub(crate) fn hints(&self) -> Hints {
        let mut topology = TopologyCache::default();
        topology.set_nodes(&self.compact_nodes());
        Hints::for_service(&self.compact_service(), &topology)
    }

    pub(crate) fn compact_nodes(&self) -> Vec<Node> {
        self.nodes.iter().map(Node::from).collect()
    }

    pub(crate) fn template(&self) -> SliceTemplate {
        let service = self.compact_service();
        SliceTemplate::for_service(&service, ENDPOINTSLICE_CONTROLLER)
            .with_trigger_time(self.trigger_time.clone())
    }

    pub(crate) fn desired(&self) -> DesiredEndpoints {
        let pods: Vec<Pod> = self.pods.iter().map(Pod::from).collect();
        let nodes = self.compact_nodes();
        let node = |name: &str| nodes.iter().find(|node| &*node.name == name);
        let desired = desired_from_service(&self.compact_service(), &pods, node);
        match self.conditions {
            Conditions::All => desired,
            Conditions::ReadyOnly => desired.ready_only(),
        }
    }

    pub(crate) fn plan(&self) -> SlicePlan {
        plan(&self.slices, self.desired(), &self.template(), &self.options())
    }

    /// Plans and applies, and makes sure that there is nothing left to do.
    pub(crate) fn sync(&mut self) -> Writes {
        let plan = self.plan();
        let writes = self.apply(&plan);
        let again = self.plan();
        let held_back = again.types.iter().filter(|plan| plan.creates_suppressed);
        let held_back: usize = held_back.map(|plan| plan.create.len()).sum();
        assert_eq!(count(&again).total(), held_back, "a second plan has nothing to write: {again:#?}");
        writes
    }

    /// The number of endpoints in each slice, largest first.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.slices.iter().map(size).collect();
        sizes.sort_by_key(|size| std::cmp::Reverse(*size));
        sizes
    }

    pub(crate) fn slice(&self, name: &str) -> &EndpointSlice {
        self.slices.iter().find(|slice| name_of(slice) == name).expect("the slice still exists")
    }

    /// The only slice.
    pub(crate) fn only(&self) -> &EndpointSlice {
        assert_eq!(self.slices.len(), 1);
        &self.slices[0]
    }

    pub(crate) fn only_mut(&mut self) -> &mut EndpointSlice {
        assert_eq!(self.slices.len(), 1);
        &mut self.slices[0]
    }

    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.slices.iter().flat_map(endpoints)
    }
}

/// The writes that a plan asks for, before creates are held back.
pub(crate) fn count(plan: &SlicePlan) -> Writes {
    let sum = |length: fn(&endpointslice::plan::AddressTypePlan) -> usize| {
        plan.types.iter().map(length).sum::<usize>()
    };
    Writes {
        create: sum(|plan| plan.create.len()),
        update: sum(|plan| plan.update.len()),
        delete: sum(|plan| plan.delete.len()) + plan.delete_if_unchanged.len(),
    }
}

pub(crate) fn name_of(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

pub(crate) fn endpoints(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}

pub(crate) fn size(slice: &EndpointSlice) -> usize {
    endpoints(slice).len()
}

pub(crate) fn service() -> core::Service {
    core::Service {
        metadata: ObjectMeta {
            namespace: Some(NAMESPACE.to_owned()),
            name: Some(SERVICE.to_owned()),
            uid: Some(SERVICE_UID.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            cluster_ip: Some("10.96.0.10".to_owned()),
            ip_families: Some(vec!["IPv4".to_owned()]),
            ports: Some(vec![service_port("http", IntOrString::Int(8080))]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

pub(crate) fn service_port(name: &str, target: IntOrString) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port: 80,
        protocol: Some("TCP".to_owned()),
        target_port: Some(target),
        ..ServicePort::default()
    }
}

/// A ready pod on the first node; the number decides its name and its address, `10.1.0.<number>` and so on.
pub(crate) fn pod(number: usize) -> core::Pod {
    core::Pod {
        metadata: ObjectMeta {
            namespace: Some(NAMESPACE.to_owned()),
            name: Some(format!("pod-{number}")),
            uid: Some(format!("pod-uid-{number}")),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            node_name: Some("node-a".to_owned()),
            containers: vec![core::Container::default()],
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            pod_ips: Some(vec![PodIP { ip: format!("10.1.{}.{}", number / 256, number % 256) }]),
            conditions: Some(vec![PodCondition {
                type_: "Ready".to_owned(),
                status: "True".to_owned(),
                ..PodCondition::default()
            }]),
            ..PodStatus::default()
        }),
    }
}

/// Changes of a pod, to be chained.
pub(crate) trait PodExt: Sized {
    fn edit(&mut self) -> (&mut ObjectMeta, &mut PodSpec, &mut PodStatus);

    fn set_ready(&mut self, ready: bool) {
        let (_, _, status) = self.edit();
        let ready = if ready { "True" } else { "False" };
        ready.clone_into(&mut status.conditions.as_mut().unwrap()[0].status);
    }

    fn set_terminating(&mut self) {
        self.edit().0.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    }

    fn set_node(&mut self, name: &str) {
        self.edit().1.node_name = Some(name.to_owned());
    }

    fn set_addresses(&mut self, addresses: &[&str]) {
        let addresses = addresses.iter().map(|ip| PodIP { ip: (*ip).to_owned() });
        self.edit().2.pod_ips = Some(addresses.collect());
    }

    fn set_ports(&mut self, ports: &[(&str, &str, i32)]) {
        self.edit().1.containers[0].ports = Some(container_ports(ports));
    }

    fn ready(mut self, ready: bool) -> Self {
        self.set_ready(ready);
        self
    }

    fn terminating(mut self) -> Self {
        self.set_terminating();
        self
    }

    fn on_node(mut self, name: &str) -> Self {
        self.set_node(name);
        self
    }

    fn addresses(mut self, addresses: &[&str]) -> Self {
        self.set_addresses(addresses);
        self
    }

    fn ports(mut self, ports: &[(&str, &str, i32)]) -> Self {
        self.set_ports(ports);
        self
    }

    fn phase(mut self, phase: &str) -> Self {
        self.edit().2.phase = Some(phase.to_owned());
        self
    }

    fn hostname(mut self, hostname: &str, subdomain: &str) -> Self {
        let (_, spec, _) = self.edit();
        (spec.hostname, spec.subdomain) = (Some(hostname.to_owned()), Some(subdomain.to_owned()));
        self
    }
}

impl PodExt for core::Pod {
    fn edit(&mut self) -> (&mut ObjectMeta, &mut PodSpec, &mut PodStatus) {
        (&mut self.metadata, self.spec.as_mut().unwrap(), self.status.as_mut().unwrap())
    }
}

/// Container ports from name, protocol and number.
pub(crate) fn container_ports(ports: &[(&str, &str, i32)]) -> Vec<ContainerPort> {
    let ports = ports.iter().map(|(name, protocol, number)| ContainerPort {
        name: Some((*name).to_owned()),
        protocol: Some((*protocol).to_owned()),
        container_port: *number,
        ..ContainerPort::default()
    });
    ports.collect()
}

/// A ready node with four cores in a zone, or in none if that is empty.
pub(crate) fn node(name: &str, zone: &str) -> core::Node {
    let ready =
        NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    core::Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([(TOPOLOGY_ZONE.to_owned(), zone.to_owned())].into()),
            ..ObjectMeta::default()
        },
        status: Some(NodeStatus {
            conditions: Some(vec![ready]),
            allocatable: Some([("cpu".to_owned(), Quantity("4".to_owned()))].into()),
            ..NodeStatus::default()
        }),
        spec: None,
    }
}
