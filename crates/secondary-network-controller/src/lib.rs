//! A third party's controller: for Services with an annotation that names a secondary network, it publishes the addresses
//! of pods in that network instead of those in `status.podIPs`. The README of the `endpointslice` crate is a tutorial to it.

mod network_status;

use std::net::IpAddr;

use controller_kit::recorder::EventType;
use endpoint_informers::reconciler::{Context, SliceReconciler};
use endpointslice::desired::desired_from_service_with;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Desired, Pod, Service};

/// The controller's name: in the labels of its slices and of delegated Services, and the source of its events.
pub const NAME: &str = "secondary-network.example.com";
/// Annotation of a Service: the network whose addresses are published.
pub const NETWORK: &str = "k8s.v1.cni.cncf.io/service-network";
/// Annotation of a pod: its networks and their addresses.
pub const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// Writes the slices of Services with a secondary network: the endpoints that Kubernetes would publish, with the addresses of
/// the network.
pub struct SecondaryNetwork;

impl SliceReconciler for SecondaryNetwork {
    const NAME: &'static str = NAME;
    const ANNOTATIONS: &'static [&'static str] = &[NETWORK, NETWORK_STATUS];

    /// A Service without the label has both our slices and Kubernetes' own. To switch without a gap, set the annotation first and
    /// then the label; to go back, remove them in the opposite order.
    fn publishes(&self, service: &Service) -> bool {
        let is_ours = service.labels.get(ENDPOINT_CONTROLLER_NAME).is_none_or(|name| name == NAME);
        is_ours && service.selector.is_some() && service.annotations.get(NETWORK).is_some()
    }

    fn desired(&self, context: &Context<'_>) -> Desired {
        let service = context.service();
        let network = service.annotations.get(NETWORK).unwrap_or_default();
        let node = |name: &str| context.node(name);
        desired_from_service_with(service, context.pods(), node, |pod| addresses(context, pod, network))
    }
}

/// The addresses of a pod in the network. A pod with a malformed annotation has none, and gets an event.
fn addresses(context: &Context<'_>, pod: &Pod, network: &str) -> Vec<IpAddr> {
    let status = pod.annotation(NETWORK_STATUS).unwrap_or("[]");
    network_status::addresses(status, &pod.namespace, network).unwrap_or_else(|error| {
        let service = &context.service().name;
        let message = format!("Not published for Service {service}: {NETWORK_STATUS}: {error}");
        context.pod_event(pod, EventType::Warning, "MalformedNetworkStatus", message);
        Vec::new()
    })
}
