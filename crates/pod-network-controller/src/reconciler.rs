//! The rules of the controller: which Services, and which endpoints.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::recorder::EventType;
use endpoint_informers::cache::{State, UnreadableObject};
use endpoint_informers::custom::CustomChange;
use endpoint_informers::list_watch::Informers;
use endpoint_informers::reconciler::{Context, SliceReconciler};
use endpointslice::desired::{Attachment, desired_from_attachments};
use endpointslice::model::{AddressType, is_allowed_in_slices};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{DesiredEndpoints, Pod, Service};

use crate::claims::{Claims, DRIVER, REQUEST, UnservedClaims};
use crate::network_status::{NETWORK_STATUS, NetworkStatus, SERVICE_NETWORK};
use crate::source::{Missing, Source};

/// The controller's name: in the labels of its slices and of its Services, of its Lease, and the source of its events.
pub const NAME: &str = "pod-network-controller";

/// Annotation of a Service without the label of a controller: `true` if it has our slices as well as those of Kubernetes, for the
/// time in which it passes from one to the other.
pub(crate) const ALONGSIDE: &str = "pod-network-controller/alongside";

/// The most pods of a Service, by name, that a sync reports as misconfigured: a wrong template makes thousands of the same.
const MAX_POD_EVENTS: usize = 10;

/// Publishes the pods of Services with the label of this controller, with the addresses of the network that they name.
pub struct PodNetworks {
    sources: Vec<Box<dyn Source>>,
}

impl Default for PodNetworks {
    fn default() -> Self {
        Self { sources: vec![Box::new(NetworkStatus), Box::new(Claims)] }
    }
}

impl PodNetworks {
    /// For an API server that has no ResourceClaims of `resource.k8s.io/v1`, as before Kubernetes 1.34: the slices of Services that
    /// ask for them stay as they are.
    pub fn without_claims() -> Self {
        Self { sources: vec![Box::new(NetworkStatus), Box::new(UnservedClaims)] }
    }

    /// The same with another source, which is asked before the others.
    #[must_use]
    pub fn with_source(mut self, source: impl Source) -> Self {
        self.sources.insert(0, Box::new(source));
        self
    }

    /// True if the addresses of the Service's pods in its network are those of ResourceClaims.
    pub fn reads_claims(service: &Service) -> bool {
        !NetworkStatus.serves(service) && Claims.serves(service)
    }

    /// The addresses of a pod in the network of the Service; none if the Service names no network.
    pub fn attachment(
        &self,
        service: &Service,
        pod: &Pod,
        state: &State,
    ) -> Option<Result<Attachment<Vec<IpAddr>>, Missing>> {
        Some(published(self.source(service)?, service, pod, state))
    }

    /// True if a label or annotation of the Service names a network.
    pub fn names_network(&self, service: &Service) -> bool {
        self.source(service).is_some()
    }

    /// The network in which the addresses of a pod are, if the Service may mean several.
    pub fn network(&self, service: &Service, pod: &Pod, state: &State) -> Option<String> {
        self.source(service)?.network(service, pod, state)
    }

    /// The device because of which the attachment of a pod is not ready, if this is known.
    pub fn unready(&self, service: &Service, pod: &Pod, state: &State) -> Option<String> {
        self.source(service)?.unready(service, pod, state)
    }

    /// The source for a Service: the first that serves it.
    fn source(&self, service: &Service) -> Option<&dyn Source> {
        self.sources.iter().map(Box::as_ref).find(|source| source.serves(service))
    }
}

impl SliceReconciler for PodNetworks {
    const NAME: &'static str = NAME;
    const ANNOTATIONS: &'static [&'static str] =
        &[SERVICE_NETWORK, NETWORK_STATUS, DRIVER, REQUEST, ALONGSIDE];
    const BATCH_PERIOD: Duration = Duration::ZERO;

    fn annotations(&self) -> Vec<&'static str> {
        let added = self.sources.iter().flat_map(|source| source.annotations());
        Self::ANNOTATIONS.iter().chain(added).copied().collect()
    }

    /// Those with our label. One without any, and with the annotation `pod-network-controller/alongside`, has slices of
    /// Kubernetes and ours.
    fn publishes(&self, service: &Service) -> bool {
        let is_ours = match service.labels.get(ENDPOINT_CONTROLLER_NAME) {
            Some(name) => name == NAME,
            None => service.annotations.get(ALONGSIDE) == Some("true") && self.source(service).is_some(),
        };
        is_ours && service.selector.is_some()
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        let service = context.service();
        let Some(source) = self.source(service) else {
            let message = "No label or annotation names a network: nothing is published";
            context.event(EventType::Warning, "NoNetwork", message.to_owned());
            return DesiredEndpoints::new(service.address_types());
        };
        let (mut attachments, networks) = attachments(source, context);
        if let [one, other, ..] = &networks.iter().collect::<Vec<_>>()[..] {
            let message = format!(
                "Nothing is published: the pods are in several networks that the Service may mean, {one} and {other}"
            );
            context.event(EventType::Warning, "AmbiguousNetwork", message);
            return DesiredEndpoints::new(service.address_types());
        }
        let misconfigured = context.pods().filter_map(|pod| {
            let missing = attachments.get(&pod.name)?.as_ref().err()?;
            Some((pod, missing, missing.event_reason()?))
        });
        for (pod, missing, reason) in misconfigured.take(MAX_POD_EVENTS) {
            let message = format!("Not published for Service {}: {missing}", service.name);
            context.pod_event(pod, EventType::Warning, reason, message);
        }
        let node = |name: &str| context.node(name);
        let attachment = |pod: &Pod| attachments.remove(&pod.name).and_then(Result::ok).unwrap_or_default();
        desired_from_attachments(service, context.pods(), node, attachment)
    }

    fn check_readable(&self, service: &Service, state: &State) -> Result<(), UnreadableObject> {
        self.source(service).map_or(Ok(()), |source| source.check_readable(service, state))
    }

    fn start_informers(&self, informers: &mut Informers) {
        for source in &self.sources {
            source.start_informers(informers);
        }
    }

    fn affected_by_custom(&self, change: CustomChange<'_>, state: &State) -> Vec<ObjectKey> {
        self.sources.iter().flat_map(|source| source.affected_by(change, state)).collect()
    }
}

/// Attachments of pods, by name.
type Attachments = HashMap<Box<str>, Result<Attachment<Vec<IpAddr>>, Missing>>;

/// The attachments of the Service's pods, and the networks of those that have addresses. Locks the cache for one pod at a time,
/// because a source may parse long texts.
///
/// A claim may be reserved, and its devices may have addresses, before the pod is bound to a node: it is not an endpoint yet.
fn attachments(source: &dyn Source, context: &Context<'_>) -> (Attachments, BTreeSet<String>) {
    let service = context.service();
    let (mut attachments, mut networks) = (HashMap::new(), BTreeSet::new());
    for pod in context.pods().filter(|pod| !pod.terminal && pod.node_name.is_some()) {
        let (found, network) = context.read(|state| {
            let found = published(source, service, pod, state);
            let network = found.is_ok().then(|| source.network(service, pod, state));
            (found, network.flatten())
        });
        networks.extend(network);
        attachments.insert(pod.name.clone(), found);
    }
    (attachments, networks)
}

/// Only the first address of each family of the Service that slices may have: consumers of slices read no other address of an
/// endpoint.
fn published(
    source: &dyn Source,
    service: &Service,
    pod: &Pod,
    state: &State,
) -> Result<Attachment<Vec<IpAddr>>, Missing> {
    let found = source.attachment(service, pod, state).map_err(Missing::shortened)?;
    let families = service.address_types();
    let first = |family: &AddressType| {
        let mut of_family = found.addresses.iter().filter(|address| AddressType::of(**address) == *family);
        of_family.find(|address| is_allowed_in_slices(**address)).copied()
    };
    let addresses: Vec<IpAddr> = families.iter().filter_map(first).collect();
    if addresses.is_empty() && !found.addresses.is_empty() {
        let texts: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
        return Err(Missing::Unsuitable(texts.join(", ")).shortened());
    }
    Ok(Attachment { addresses, ready: found.ready })
}
