//! The controller: a struct, handlers that queue Services, and a sync that names the endpoints of one.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{Priority, RateLimit, WorkQueue};
use controller_kit::recorder::{EventType, EventWriter, Recorder};
use controller_kit::worker::SyncContext;
use endpoint_informers::cache::{Cache, Change, Handler, ListPhase, State};
use endpoint_informers::controller::Controller;
use endpoint_informers::events::object_reference;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{SliceController, Snapshot, SyncError};
use endpointslice::desired::desired_from_service_with;
use endpointslice::topology::TopologyCache;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Hints, Node, PlanOptions, Pod, Service, SliceTemplate};
use kube_api::ApiClient;

use crate::network_status;

/// The controller's name: in the labels of its slices and of delegated Services, and the source of its events.
pub const NAME: &str = "secondary-network.example.com";
/// Annotation of a Service: the network whose addresses are published.
pub const NETWORK: &str = "k8s.v1.cni.cncf.io/service-network";
/// Annotation of a pod: its networks and their addresses.
pub const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";
/// The annotations that the cache must keep.
pub const ANNOTATIONS: [&str; 2] = [NETWORK, NETWORK_STATUS];

/// The time for which changes of pods and slices are batched.
const BATCH_PERIOD: Duration = Duration::from_millis(500);

/// Writes the slices of Services with a secondary network.
pub struct SecondaryNetworkController {
    slices: SliceController,
}

/// The first delay of a retry, as of upstream's controllers of slices.
const MIN_BACKOFF: Duration = Duration::from_secs(1);

impl SecondaryNetworkController {
    /// A controller that reads `cache` and writes slices with `client`, and the task that writes its events. The cache
    /// must keep [`ANNOTATIONS`].
    pub fn new(cache: Arc<Cache>, client: ApiClient) -> (Arc<Self>, EventWriter) {
        let (recorder, events) = Recorder::new(client.clone(), NAME);
        let queue = WorkQueue::new(RateLimit { base_delay: MIN_BACKOFF, ..RateLimit::default() });
        let slices =
            SliceController::new(NAME, cache, client, recorder, queue, BATCH_PERIOD).ignoring_annotations();
        (Arc::new(Self { slices }), events)
    }

    /// The addresses of a pod in the network. A pod with a malformed annotation has none, and gets an event.
    fn addresses(&self, service: &Service, pod: &Pod, network: &str) -> Vec<IpAddr> {
        let status = pod.annotation(NETWORK_STATUS).unwrap_or("[]");
        network_status::addresses(status, &pod.namespace, network).unwrap_or_else(|error| {
            let object = object_reference("Pod", &pod.key(), pod.uid.to_string(), pod.version);
            let message = format!("Not published for Service {}: {NETWORK_STATUS}: {error}", service.name);
            self.slices.recorder.event(&object, EventType::Warning, "MalformedNetworkStatus", message);
            Vec::new()
        })
    }

    fn endpoints_changed(&self, state: &State, services: Vec<ObjectKey>) {
        for key in services {
            let service = state.services.get(&key.namespace, &key.name);
            if service.is_some_and(|service| network_of(service).is_some()) {
                self.slices.queue.add_after(key, BATCH_PERIOD);
            }
        }
    }
}

impl Controller for SecondaryNetworkController {
    const NAME: &'static str = NAME;
    type Error = SyncError;

    fn cache(&self) -> &Cache {
        &self.slices.cache
    }

    fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.slices.queue
    }

    /// Publishes the endpoints that Kubernetes would publish, with the addresses of the network. A Service without one loses
    /// the slices that it had before, or before a restart.
    async fn sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let desired = |snapshot: &Snapshot| {
            let service = &snapshot.service;
            let network = network_of(service)?;
            let node = |name: &str| snapshot.node(name);
            let addresses = |pod: &Pod| self.addresses(service, pod, network);
            let desired = desired_from_service_with(service, snapshot.pods(), node, addresses);
            let hints = Hints::for_service(service, &TopologyCache::default());
            let options = PlanOptions { hints, ..PlanOptions::default() };
            Some((desired, SliceTemplate::for_service(service, NAME), options))
        };
        self.slices.sync(sync, key, desired).await
    }
}

/// The network whose addresses we publish for a Service; none without a selector, or with the label of another controller.
///
/// A Service without that label has both our slices and Kubernetes' own. To switch without a gap, set the annotation
/// first and then the label; to go back, remove them in the opposite order.
fn network_of(service: &Service) -> Option<&str> {
    let ours = service.labels.get(ENDPOINT_CONTROLLER_NAME).is_none_or(|name| name == NAME);
    service.annotations.get(NETWORK).filter(|_| ours && service.selector.is_some())
}

/// Handlers only queue keys; a sync reads the cache again.
impl Handler for SecondaryNetworkController {
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        self.endpoints_changed(state, state.services_affected_by_pod(change));
    }

    fn node(&self, change: &Change<Node>, state: &State, _is_initial_list: bool) {
        self.endpoints_changed(state, state.services_affected_by_node(change));
    }

    fn service(&self, change: &Change<Service>, _state: &State, is_initial_list: bool) {
        let priority = if is_initial_list { Priority::Low } else { Priority::Normal };
        self.slices.queue.add_with_priority(change.latest().key(), priority);
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.expectations.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.expectations.observe_list(phase, state);
    }
}
