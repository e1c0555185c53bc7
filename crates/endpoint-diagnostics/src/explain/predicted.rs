//! The state of a selected pod by rules that are written here once more, with the reasons.
//!
//! The state is compared with the controllers' plan: if they differ, these rules are wrong, and the report says so.

use std::collections::BTreeMap;
use std::net::IpAddr;

use endpoints_controller::Unready;
use endpointslice::desired::target_number;
use endpointslice::model::{TargetPort, is_allowed_in_slices, parse_ip};
use endpointslice::plan::TrafficDistribution;
use endpointslice::{AddressType, Pod, Service};

use super::subject::{PodNode, Subject};
use super::{codes, readiness};
use crate::report::{Presence, Reason, Scope};
use crate::snapshot::PodEntry;

/// The state that a pod should have, and the reasons for each part of it.
#[derive(Debug, Default)]
pub(super) struct Predicted {
    /// By family; absent families are left out.
    pub(super) slices: BTreeMap<AddressType, Presence>,
    /// `Absent` unless there is an address for the Endpoints.
    pub(super) endpoints: Option<Presence>,
    /// Addresses that are left out because the API server refuses them.
    pub(super) refused: Vec<IpAddr>,
    pub(super) reasons: Vec<Reason>,
}

const KEPT_READY: &str = "only the node lifecycle controller says that the pod is not ready, in a disruption of most nodes or after it; \
                          slices keep it as it was (feature gate EndpointsKeepReadyOnDisruption)";

/// The state of a pod that the Service of `subject` selects.
pub(super) fn predict<'a>(subject: &Subject<'a>, entry: &'a PodEntry) -> Predicted {
    let mut predicted = Predicted::default();
    let (service, pod) = (subject.service(), subject.pod(entry));
    if let Some(reason) = ended(entry) {
        predicted.reasons.push(reason);
        return predicted;
    }
    let node = subject.node_of(entry);
    if pod.addresses.is_empty() {
        predicted.reasons.push(no_address(entry, node));
        return predicted;
    }
    let publishes = service.publish_not_ready_addresses;
    predicted.address_reasons(service, pod);
    predicted.port_reasons(service, pod);
    let known_node = match node {
        PodNode::Known(node) => Some(node),
        PodNode::None | PodNode::Unknown(_) | PodNode::Unreadable => None,
    };
    let in_slices = publishes || matches!(node, PodNode::Known(_) | PodNode::Unreadable);
    if in_slices {
        predicted.slices = in_families(service, pod);
    } else {
        predicted.reasons.push(without_node(node));
    }
    predicted.endpoints = in_endpoints(service, pod);
    if predicted.slices.is_empty() && predicted.endpoints.is_none() {
        return predicted;
    }
    let unready = if subject.is_kept_ready(entry) {
        vec![codes::KEPT_READY.reason(KEPT_READY)]
    } else {
        readiness::reasons(&entry.object, known_node)
    };
    if publishes && (!unready.is_empty() || pod.is_terminating()) {
        predicted.reasons.push(codes::PUBLISHED_UNREADY.reason(format!(
            "the pod is {}, and counts as ready because of publishNotReadyAddresses",
            if pod.is_terminating() { "being deleted" } else { "not ready" }
        )));
    } else {
        if pod.is_terminating() {
            predicted.reasons.push(terminating(pod));
        }
        predicted.reasons.extend(unready);
    }
    predicted.reasons.extend(zone_reason(service, &predicted, node));
    predicted
}

fn ended(entry: &PodEntry) -> Option<Reason> {
    if !entry.pod.terminal {
        return None;
    }
    let status = entry.object.status.as_ref();
    let texts = status.map(|status| [status.reason.as_deref(), status.message.as_deref()]);
    let texts = texts.into_iter().flatten().flatten().filter(|text| !text.is_empty());
    let detail: Vec<&str> = texts.collect();
    let detail = if detail.is_empty() { String::new() } else { format!(" ({})", detail.join(": ")) };
    Some(match status.and_then(|status| status.phase.as_deref()) {
        Some("Succeeded") => codes::SUCCEEDED.reason(format!("the pod has ended: Succeeded{detail}")),
        _ => codes::FAILED.with_remedy(
            format!("the pod has ended: Failed{detail}"),
            "its controller creates another pod, if it has one; this one may be deleted",
        ),
    })
}

fn no_address(entry: &PodEntry, node: PodNode<'_>) -> Reason {
    if matches!(node, PodNode::None) {
        let scheduled = readiness::condition(&entry.object, "PodScheduled");
        let detail = scheduled.and_then(|condition| condition.message.as_deref());
        let detail = detail.filter(|it| !it.is_empty()).map_or_else(String::new, |it| format!(": {it}"));
        return codes::NOT_SCHEDULED.reason(format!("no node has been found for the pod{detail}"));
    }
    let status = entry.object.status.as_ref();
    let statuses = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let waiting =
        statuses.iter().find_map(|status| status.state.as_ref()?.waiting.as_ref()?.reason.as_deref());
    let detail = waiting.map_or_else(String::new, |reason| format!(" ({reason})"));
    codes::NO_ADDRESS.reason(format!("the pod has no IP address yet{detail}"))
}

fn without_node(node: PodNode<'_>) -> Reason {
    match node {
        PodNode::Unknown(name) => codes::NODE_UNKNOWN.with_remedy(
            format!("node {name} does not exist, so slices leave the pod out"),
            "pods of a node that is gone are deleted after some minutes; delete the pod to be faster",
        ),
        _ => codes::NOT_SCHEDULED
            .within(Scope::Slices, "the pod has no node, so its zone is unknown and slices leave it out"),
    }
}

fn terminating(pod: &Pod) -> Reason {
    let rest = if pod.ready { "still serves the connections it has" } else { "is not ready" };
    codes::TERMINATING
        .reason(format!("the pod is being deleted and {rest}: not ready in slices, absent in Endpoints"))
}

/// The state of a pod in the slices of each family in which it has an address that is allowed.
fn in_families(service: &Service, pod: &Pod) -> BTreeMap<AddressType, Presence> {
    let presence = if service.publish_not_ready_addresses || pod.ready && !pod.is_terminating() {
        Presence::Ready
    } else if pod.ready {
        Presence::Serving
    } else {
        Presence::NotReady
    };
    let types = service.address_types();
    let allowed = pod.addresses.iter().filter(|address| is_allowed_in_slices(**address));
    let families = allowed.map(|address| AddressType::of(*address)).filter(|family| types.contains(family));
    families.map(|family| (family, presence)).collect()
}

/// The family of the Endpoints' addresses.
pub(super) fn endpoints_family(service: &Service, pod: &Pod) -> AddressType {
    let of_cluster_ip = || parse_ip(&service.cluster_ip).map(AddressType::of);
    let of_pod = || pod.addresses.first().copied().map(AddressType::of);
    let is_headless = service.cluster_ip.is_empty() || service.is_headless();
    let example = if is_headless { of_pod() } else { of_cluster_ip() };
    service.families.primary.or(example).unwrap_or(AddressType::Ipv4)
}

fn in_endpoints(service: &Service, pod: &Pod) -> Option<Presence> {
    let is_tolerated = Unready::of(service, false) == Unready::Tolerated;
    let family = endpoints_family(service, pod);
    let address = pod.addresses.iter().find(|address| AddressType::of(**address) == family)?;
    let has_port = if service.ports.is_empty() {
        service.is_headless()
    } else {
        service.ports.iter().any(|port| target_number(port, &pod.ports).is_some())
    };
    if !is_allowed_in_slices(*address) || !has_port || pod.is_terminating() && !is_tolerated {
        return None;
    }
    Some(if is_tolerated || pod.ready { Presence::Ready } else { Presence::NotReady })
}

impl Predicted {
    fn address_reasons(&mut self, service: &Service, pod: &Pod) {
        let primary = endpoints_family(service, pod);
        for family in service.address_types() {
            let of_family = || pod.addresses.iter().filter(|address| AddressType::of(**address) == family);
            if of_family().next().is_none() {
                // Endpoints have one family only.
                let scope = if family == primary { Scope::Both } else { Scope::Slices };
                let has: Vec<String> = pod.addresses.iter().map(ToString::to_string).collect();
                let message =
                    format!("the Service has the family {family}, and the pod only {}", has.join(", "));
                self.reasons.push(codes::NO_ADDRESS_OF_FAMILY.within(scope, message));
            }
            for address in of_family().filter(|address| !is_allowed_in_slices(**address)) {
                let scope = if family == primary { Scope::Both } else { Scope::Slices };
                self.refused.push(*address);
                self.reasons.push(codes::ADDRESS_REFUSED.within(
                    scope,
                    format!("the API server refuses the address {address} in slices and Endpoints"),
                ));
            }
        }
    }

    fn port_reasons(&mut self, service: &Service, pod: &Pod) {
        for port in service.ports.iter().filter(|port| target_number(port, &pod.ports).is_none()) {
            let TargetPort::Name(name) = &port.target else { continue };
            let other = pod.ports.iter().find(|candidate| candidate.name == *name);
            let of_port =
                if port.name.is_empty() { String::new() } else { format!(" of port {}", port.name) };
            let (protocol, effect) = (&port.protocol, "slices have the pod without this port");
            self.reasons.push(if let Some(other) = other {
                let has = &other.protocol;
                codes::PORT_OF_OTHER_PROTOCOL.with_remedy(
                    format!("the target port {name}{of_port} is {has} in the pod, and {protocol} in the Service: {effect}"),
                    format!("give the container port {name} the protocol {protocol}, or the Service's port {has}"),
                )
            } else {
                let has: Vec<&str> = pod.ports.iter().map(|port| &*port.name).collect();
                let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
                codes::PORT_UNRESOLVED.with_remedy(
                    format!("no container has a port named {name}, the target{of_port} (named ports: {has}): {effect}"),
                    format!("name a container port {name}, or change the Service's targetPort"),
                )
            });
        }
    }
}

/// The reason for an endpoint without the zone that hints need.
fn zone_reason(service: &Service, predicted: &Predicted, node: PodNode<'_>) -> Option<Reason> {
    let wants = service.wants_topology_hints() || TrafficDistribution::of(service).is_some();
    let is_ready = predicted.slices.values().any(|presence| *presence == Presence::Ready);
    match node {
        PodNode::Known(node) if wants && is_ready && node.zone.is_none() => Some(codes::NO_ZONE.with_remedy(
            format!(
                "node {} has no label topology.kubernetes.io/zone, so the endpoint gets no hint for a zone",
                node.name
            ),
            format!("kubectl label node {} topology.kubernetes.io/zone=ZONE", node.name),
        )),
        _ => None,
    }
}
