//! Desired endpoints of a Service, from the Pods it selects.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::ptr;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};

use super::desired_endpoints::DesiredEndpoints;
use super::endpoint_set::EndpointSet;
use super::port_set::PortSet;
use super::skipped::{Skipped, SkippedReason};
use crate::model::{
    AddressType, NamedPort, Node, Pod, Service, ServicePort, TargetPort, is_allowed_in_slices,
};

/// The endpoints that the selected `pods` should have, for each address type of the Service.
///
/// A pod without an address, or in a terminal phase, is left out. A terminating pod stays until then, so that consumers
/// can drain it (`util/controller_utils.go` `ShouldPodBeInEndpoints`; KEP-1672).
///
/// `node` looks up a Node by name. A pod whose Node is unknown is skipped, because its zone is unknown; only with
/// `publishNotReadyAddresses` it is published without a zone (`reconciler.go`
/// `reconcileByAddressType`).
///
/// Cost: linear in pods. Ports are resolved once for each distinct list of container ports, not once for each pod.
pub fn desired_from_service<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    node: impl Fn(&str) -> Option<&'a Node>,
) -> DesiredEndpoints {
    desired_from_service_with(service, pods, node, |pod| &*pod.addresses)
}

/// The addresses that are published of a pod in place of `status.podIPs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachment<A> {
    /// Its addresses; a pod without any is left out.
    pub addresses: A,
    /// False if the pod is not ready for the reason that these addresses are not.
    pub ready: bool,
}

/// [`desired_from_service`] with other addresses than `status.podIPs`, such as those of a second network.
///
/// `addresses` returns the addresses of a pod; a pod without any is left out.
pub fn desired_from_service_with<'a, A: AsRef<[IpAddr]>>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    node: impl Fn(&str) -> Option<&'a Node>,
    mut addresses: impl FnMut(&'a Pod) -> A,
) -> DesiredEndpoints {
    let attachment = |pod| Attachment { addresses: addresses(pod), ready: true };
    desired_from_attachments(service, pods, node, attachment)
}

/// [`desired_from_service_with`] for addresses that have a readiness of their own, such as those of a network device.
pub fn desired_from_attachments<'a, A: AsRef<[IpAddr]>>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    node: impl Fn(&str) -> Option<&'a Node>,
    mut attachment: impl FnMut(&'a Pod) -> Attachment<A>,
) -> DesiredEndpoints {
    let types = service.address_types();
    let mut desired = DesiredEndpoints::new(types.iter().copied());
    let mut groups = Groups::default();
    for pod in pods.into_iter().filter(|pod| !pod.terminal) {
        let Attachment { addresses, ready } = attachment(pod);
        let addresses = addresses.as_ref();
        if addresses.is_empty() {
            continue;
        }
        let group = groups.of(service, pod);
        let pod_node = pod.node_name.as_deref().and_then(&node);
        if pod_node.is_none() && !service.publish_not_ready_addresses {
            let node = pod.node_name.as_deref().unwrap_or_default().to_owned();
            desired.skip(Skipped { name: pod.name.to_string(), reason: SkippedReason::NodeNotFound(node) });
            continue;
        }
        let refused = addresses.iter().filter(|address| !is_allowed_in_slices(**address));
        for address in refused.filter(|address| types.contains(&AddressType::of(**address))) {
            let reason = SkippedReason::AddressNotAllowed(*address);
            desired.skip(Skipped { name: pod.name.to_string(), reason });
        }
        for address_type in &types {
            let of_type = addresses.iter().filter(|address| AddressType::of(**address) == *address_type);
            let (allowed, refused): (Vec<&IpAddr>, Vec<&IpAddr>) =
                of_type.partition(|address| is_allowed_in_slices(**address));
            let endpoint = |addresses: &[&IpAddr]| {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                let serving = pod.ready && ready;
                (!addresses.is_empty()).then(|| endpoint_of(service, pod, serving, pod_node, addresses))
            };
            let published = endpoint(&allowed);
            if !refused.is_empty()
                && let Some(all) = endpoint(&[allowed, refused].concat())
            {
                group.tolerated.push((*address_type, all, published));
            } else if let Some(published) = published {
                group.of_type(*address_type).insert(published);
            }
        }
    }
    groups.move_into(&mut desired, &types);
    desired
}

/// The endpoint of one pod, without hints (`utils.go` `podToEndpoint`).
fn endpoint_of(
    service: &Service,
    pod: &Pod,
    serving: bool,
    node: Option<&Node>,
    addresses: Vec<String>,
) -> Endpoint {
    let terminating = pod.is_terminating();
    Endpoint {
        addresses,
        conditions: Some(EndpointConditions {
            ready: Some(service.publish_not_ready_addresses || serving && !terminating),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        deprecated_topology: None,
        hints: None,
        hostname: published_hostname(service, pod).map(Into::into),
        node_name: pod.node_name.as_deref().map(Into::into),
        target_ref: Some(target_ref(pod)),
        zone: node.and_then(|node| node.zone.as_deref()).map(Into::into),
    }
}

/// The pod as the target of an endpoint: without resourceVersion, which would change with every heartbeat.
pub fn target_ref(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".into()),
        namespace: Some(pod.namespace.as_ref().into()),
        name: Some(pod.name.as_ref().into()),
        uid: Some(pod.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// The hostname under which a Service publishes a pod: the pod's own, if its subdomain names the Service
/// (`util/controller_utils.go` `ShouldSetHostname`).
pub fn published_hostname<'a>(service: &Service, pod: &'a Pod) -> Option<&'a str> {
    let is_published = pod.subdomain() == Some(&*service.name) && pod.namespace == service.namespace;
    pod.hostname().filter(|_| is_published)
}

/// The ports through which a Service reaches a pod with these named container ports.
///
/// A named target port that the pod doesn't have is left out. A pod without any of the ports is still an endpoint, in the
/// group without ports (`utils.go` `getEndpointPorts`, `findPort`).
pub fn endpoint_ports(service: &Service, container_ports: &[NamedPort]) -> PortSet {
    let resolved = service.ports.iter().filter_map(|port| {
        let number = target_number(port, container_ports)?;
        Some(EndpointPort {
            name: Some(port.name.as_ref().into()),
            protocol: Some(port.protocol.as_ref().into()),
            port: Some(number),
            app_protocol: port.app_protocol.as_deref().map(Into::into),
        })
    });
    PortSet::new(resolved.collect())
}

/// The number of the container port behind a Service port; `None` if the pod has no port of that name and protocol
/// (`utils.go` `FindPort`).
pub fn target_number(port: &ServicePort, container_ports: &[NamedPort]) -> Option<i32> {
    match &port.target {
        TargetPort::Number(number) => Some(*number),
        TargetPort::Name(name) => container_ports
            .iter()
            .find(|candidate| candidate.name == *name && candidate.protocol == port.protocol)
            .map(|candidate| candidate.number),
    }
}

/// Groups by port set while they are filled, in the order of their first pods. Pods share lists of container ports, which are found
/// by their addresses: each pod must live until the groups are filled.
#[derive(Default)]
struct Groups {
    /// The list of the last pod, as of most others, and its group.
    last: Option<(*const [NamedPort], usize)>,
    by_container_ports: HashMap<*const [NamedPort], usize, RandomState>,
    by_ports: HashTable<usize>,
    hasher: RandomState,
    in_order: Vec<Group>,
}

struct Group {
    ports: PortSet,
    ipv4: EndpointSet,
    ipv6: EndpointSet,
    /// Arguments for [`DesiredEndpoints::tolerate`].
    tolerated: Vec<(AddressType, Endpoint, Option<Endpoint>)>,
}

impl Group {
    fn of_type(&mut self, address_type: AddressType) -> &mut EndpointSet {
        match address_type {
            AddressType::Ipv4 => &mut self.ipv4,
            AddressType::Ipv6 => &mut self.ipv6,
        }
    }
}

impl Groups {
    fn of(&mut self, service: &Service, pod: &Pod) -> &mut Group {
        let container_ports = Arc::as_ptr(&pod.ports);
        let position = match self.last {
            Some((last, position)) if ptr::eq(last, container_ports) => position,
            _ => self.resolve(service, &pod.ports),
        };
        self.last = Some((container_ports, position));
        // `resolve` returns a position that exists, and groups are never removed.
        #[allow(clippy::indexing_slicing)]
        &mut self.in_order[position]
    }

    fn resolve(&mut self, service: &Service, container_ports: &Arc<[NamedPort]>) -> usize {
        let Self { by_container_ports, by_ports, hasher, in_order, .. } = self;
        *by_container_ports.entry(Arc::as_ptr(container_ports)).or_insert_with(|| {
            let ports = endpoint_ports(service, container_ports);
            let hash = hasher.hash_one(&ports);
            let is_same =
                |position: &usize| in_order.get(*position).is_some_and(|group| group.ports == ports);
            let known = by_ports.find(hash, is_same).copied();
            known.unwrap_or_else(|| {
                let position = in_order.len();
                let (ipv4, ipv6, tolerated) = Default::default();
                in_order.push(Group { ports, ipv4, ipv6, tolerated });
                let hash_of = |position: &usize| {
                    in_order.get(*position).map_or(0, |group| hasher.hash_one(&group.ports))
                };
                by_ports.insert_unique(hash, position, hash_of);
                position
            })
        })
    }

    fn move_into<'t>(self, desired: &mut DesiredEndpoints, types: impl IntoIterator<Item = &'t AddressType>) {
        let types: Vec<AddressType> = types.into_iter().copied().collect();
        for mut group in self.in_order {
            for address_type in &types {
                *desired.group(*address_type, group.ports.clone()) =
                    std::mem::take(group.of_type(*address_type));
            }
            for (address_type, endpoint, allowed) in group.tolerated {
                desired.tolerate(address_type, group.ports.clone(), endpoint, allowed);
            }
        }
    }
}
