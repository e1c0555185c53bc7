//! The controller: a struct, handlers that queue Services, and a sync that writes their slices.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{Priority, RateLimit, WorkQueue};
use controller_kit::recorder::{EventType, EventWriter, Recorder};
use endpoint_informers::cache::{Cache, Change, Handler, ListPhase, State};
use endpoint_informers::controller::Controller;
use endpoint_informers::events::object_reference;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{SliceExpectations, SliceWriter, Snapshot, SyncError};
use endpointslice::desired::desired_from_service_with;
use endpointslice::topology::TopologyCache;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{
    Desired, Hints, Node, Packing, PlanOptions, Pod, Service, SlicePlan, SliceTemplate, plan,
};
use kube_api::ApiClient;

use crate::network_status::{self, Malformed};

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
const MAX_ENDPOINTS_PER_SLICE: usize = 100;

/// Writes the slices of Services with a secondary network.
pub struct SecondaryNetworkController {
    cache: Arc<Cache>,
    queue: WorkQueue<ObjectKey>,
    slices: SliceExpectations,
    writer: SliceWriter,
    recorder: Recorder,
}

/// The first delay of a retry, as of upstream's controllers of slices.
const MIN_BACKOFF: Duration = Duration::from_secs(1);

impl SecondaryNetworkController {
    /// A controller that reads `cache` and writes slices with `client`, and the task that writes its events. The cache
    /// must keep [`ANNOTATIONS`].
    pub fn new(cache: Arc<Cache>, client: ApiClient) -> (Arc<Self>, EventWriter) {
        let (recorder, events) = Recorder::new(client.clone(), NAME);
        let queue = WorkQueue::new(RateLimit { base_delay: MIN_BACKOFF, ..RateLimit::default() });
        let slices = SliceExpectations::new(NAME, queue.clone(), BATCH_PERIOD)
            .with_field_manager(client.field_manager());
        let writer = SliceWriter::new(client);
        (Arc::new(Self { cache, queue, slices, writer, recorder }), events)
    }

    /// The endpoints that Kubernetes would publish, with the addresses of the network. A pod with a malformed annotation has
    /// none.
    fn desired(&self, snapshot: &Snapshot, network: &str) -> Desired {
        let service = &snapshot.service;
        desired_from_service_with(
            service,
            snapshot.pods(),
            |name| snapshot.node(name),
            |pod| {
                let status = pod.annotations.get(NETWORK_STATUS).unwrap_or("[]");
                let addresses = network_status::addresses(status, &pod.namespace, network);
                addresses.map_err(|error| self.report(service, pod, &error)).unwrap_or_default()
            },
        )
    }

    fn report(&self, service: &Service, pod: &Pod, error: &Malformed) {
        let key = ObjectKey::new(pod.namespace.clone(), &*pod.name);
        let object = object_reference("Pod", &key, pod.uid.to_string(), pod.version);
        let message = format!("Not published for Service {}: {NETWORK_STATUS}: {error}", service.name);
        self.recorder.event(&object, EventType::Warning, "MalformedNetworkStatus", message);
    }

    fn endpoints_changed(&self, state: &State, services: Vec<ObjectKey>) {
        for key in services {
            let service = state.services.get(&key.namespace, &key.name);
            if service.is_some_and(|service| network_of(service).is_some()) {
                self.queue.add_after(key, BATCH_PERIOD);
            }
        }
    }

    async fn write(&self, key: &ObjectKey, plan: &SlicePlan) -> Result<(), SyncError> {
        self.writer.apply(key, plan, &self.slices).await.into_result()?;
        self.slices.sync_succeeded(key, &self.cache, &self.recorder);
        Ok(())
    }
}

impl Controller for SecondaryNetworkController {
    const NAME: &'static str = NAME;
    type Error = SyncError;

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.queue
    }

    /// Also Services without a network: slices may be left from before a restart.
    fn initial_keys(&self, state: &State) -> Vec<ObjectKey> {
        state.services.iter().map(|service| service.key()).collect()
    }

    async fn sync(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let _sync = self.slices.begin_sync(key);
        let read = self.cache.read(|state| Snapshot::read(key, &self.slices, state));
        let Some(found) = read? else { return Ok(()) };
        let snapshot = found.sorted();
        let existing = snapshot.existing()?;
        let Some(network) = network_of(&snapshot.service) else {
            return self.write(key, &SlicePlan::delete_all(existing)).await;
        };
        let desired = self.desired(&snapshot, network);
        let skipped = desired.skipped().to_vec();
        let template = SliceTemplate::for_service(&snapshot.service, NAME);
        let options = PlanOptions {
            packing: Packing::Pack { max: MAX_ENDPOINTS_PER_SLICE },
            placeholder: true,
            hints: Hints::for_service(&snapshot.service, &TopologyCache::default()),
        };
        self.write(key, &plan(&existing, desired, &template, &options)).await?;
        SyncError::unless_complete(&skipped)
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
        self.queue.add_with_priority(change.latest().key(), priority);
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.observe_list(phase, state);
    }
}
