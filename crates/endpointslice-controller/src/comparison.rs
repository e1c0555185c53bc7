//! Encoded endpoints, compared with what would be written for a pod.

use std::fmt::Write as _;
use std::sync::Arc;

use endpointslice::desired::{endpoint_ports, published_hostname};
use endpointslice::model::{NamedPort, append_address, is_allowed_in_slices};
use endpointslice::{AddressType, Hints, Node, Pod, PortSet, Service};
use kube_protobuf::PodEndpoint;

/// The rule for hints, and memory that comparisons use again. Of one Service.
pub(crate) struct Comparison {
    /// Hints for the zone, and for the node; `None` if hints depend on other endpoints.
    hints: Option<(bool, bool)>,
    /// The last container ports that were resolved, and the ports through which the Service reaches them.
    resolved: Option<(Arc<[NamedPort]>, PortSet)>,
    encoded: Vec<u8>,
    address: String,
    uid: String,
}

/// The pod and the place of an endpoint.
pub(crate) struct Expected<'a> {
    pub(crate) service: &'a Service,
    pub(crate) pod: &'a Pod,
    /// The pod's node, if it is known.
    pub(crate) node: Option<&'a Node>,
    /// The address type of the slice.
    pub(crate) address_type: AddressType,
    /// The ports of the slice.
    pub(crate) ports: &'a PortSet,
}

impl Comparison {
    pub(crate) fn new(hints: &Hints) -> Self {
        let hints = match hints {
            Hints::None => Some((false, false)),
            Hints::Traffic(distribution) => Some((true, distribution.prefers_node())),
            Hints::Topology(_) | Hints::Keep => None,
        };
        let (resolved, encoded, address, uid) = Default::default();
        Self { hints, resolved, encoded, address, uid }
    }

    /// False if no endpoint can be compared by itself.
    pub(crate) fn is_possible(&self) -> bool {
        self.hints.is_some()
    }

    /// True if `encoded` is what would be written for the pod, in a slice with the ports through which the Service reaches
    /// the pod (`endpointslice::desired_from_service`, and `Hints`). Pods with several addresses of the type, or with one
    /// that the API server refuses, are never as expected.
    ///
    /// Cost: a fifth of a microsecond.
    pub(crate) fn is_as_expected(&mut self, encoded: &[u8], expected: &Expected<'_>) -> bool {
        let Expected { service, pod, node, address_type, ports } = expected;
        let mut of_type = pod.addresses.iter().filter(|address| AddressType::of(**address) == *address_type);
        let (Some(address), None) = (of_type.next(), of_type.next()) else { return false };
        let (Some((zone_hint, node_hint)), true) = (self.hints, is_allowed_in_slices(*address)) else {
            return false;
        };
        let is_published = !pod.terminal && (node.is_some() || service.publish_not_ready_addresses);
        if !is_published || !self.has_ports(service, pod, ports) {
            return false;
        }
        self.address.clear();
        self.uid.clear();
        append_address(&mut self.address, *address);
        if write!(self.uid, "{}", pod.uid).is_err() {
            return false;
        }
        let (serving, terminating) = (pod.ready, pod.is_terminating());
        let ready = service.publish_not_ready_addresses || serving && !terminating;
        let (node_name, zone) = (pod.node_name.as_deref(), node.and_then(|node| node.zone.as_deref()));
        let endpoint = PodEndpoint {
            address: &self.address,
            ready,
            serving,
            terminating,
            hostname: published_hostname(service, pod),
            namespace: &pod.namespace,
            name: &pod.name,
            uid: &self.uid,
            node_name,
            zone,
            zone_hint: zone.filter(|_| ready && zone_hint),
            node_hint: node_name.filter(|_| ready && node_hint),
        };
        endpoint.is_encoded_as(encoded, &mut self.encoded)
    }

    /// True if the Service reaches the pod through these ports. The pods of a slice mostly share one list.
    fn has_ports(&mut self, service: &Service, pod: &Pod, ports: &PortSet) -> bool {
        match &self.resolved {
            Some((resolved, found)) if Arc::ptr_eq(resolved, &pod.ports) => found == ports,
            _ => {
                let found = endpoint_ports(service, &pod.ports);
                let same = found == *ports;
                self.resolved = Some((Arc::clone(&pod.ports), found));
                same
            }
        }
    }
}
