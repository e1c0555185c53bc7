//! The controller: its configuration, its state, and the [`Controller`] trait.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{QueueMetrics, RateLimit, WorkQueue};
use controller_kit::recorder::{EventWriter, Recorder};
use controller_kit::worker::SyncContext;
use endpoint_controllers_common::{DoubtfulServices, SliceMetrics};
use endpoint_informers::cache::{Cache, State};
use endpoint_informers::controller::{Controller, Parts};
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::pending::PendingWrite;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{SliceController, SyncError, service_key};
use endpointslice::well_known::ENDPOINTSLICE_MIRRORING_CONTROLLER;
use kube_api::ApiClient;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;

use crate::mirror::{is_mirrored, opts_out};

/// The configuration of the controller.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Endpoints planned at the same time (`--mirroring-concurrent-service-endpoint-syncs`); writes may overlap beyond
    /// it (`controller_kit::worker::Concurrency`).
    pub workers: usize,
    /// The maximum number of addresses of a subset that are mirrored (`--mirroring-max-endpoints-per-subset`).
    pub max_endpoints_per_subset: usize,
    /// The time for which foreign changes of slices are batched (`--mirroring-endpointslice-updates-batch-period`).
    /// Changes of Endpoints and Services are not batched.
    pub batch_period: Duration,
    /// True if a Service that is not in the cache may exist and belong to another controller (feature gate
    /// `EndpointControllerNameWellKnownLabel`).
    pub services_may_be_delegated: bool,
}

/// Mirrors the Endpoints of Services without a selector to EndpointSlices.
pub struct EndpointSliceMirroringController {
    pub(crate) config: Config,
    pub(crate) slices: SliceController,
    pub(crate) metrics: SliceMetrics,
    /// Endpoints whose last sync ended before its plan was complete.
    pub(crate) unfinished: Mutex<HashSet<ObjectKey>>,
    /// Endpoints that were not mirrored at the start because of their Service, as the cache showed it.
    pub(crate) doubtful: DoubtfulServices,
}

/// The source of events, as upstream's.
const COMPONENT: &str = "endpoint-slice-mirroring-controller";
/// The name of the work queue in metrics, as upstream's.
const QUEUE_NAME: &str = "endpoint_slice_mirroring";
/// The prefix of metrics, as upstream's (`endpointslicemirroring/metrics/metrics.go`).
const METRICS_PREFIX: &str = "endpoint_slice_mirroring_controller";

/// The delay of the first retry (upstream's `defaultSyncBackOff`).
const MIN_BACKOFF: Duration = Duration::from_secs(1);
/// The longest delay of a retry (upstream's `maxSyncBackOff`).
const MAX_BACKOFF: Duration = Duration::from_secs(100);

impl EndpointSliceMirroringController {
    /// A controller that reads `cache` and writes with `client`, and the task that writes its events. Metrics go to
    /// `registry`. The cache must watch Endpoints, EndpointSlices and Services.
    pub fn new(
        config: Config,
        cache: Arc<Cache>,
        client: ApiClient,
        queues: &QueueMetrics,
        registry: &mut Registry,
    ) -> (Arc<Self>, EventWriter) {
        let registry = registry.sub_registry_with_prefix(METRICS_PREFIX);
        let metrics = SliceMetrics::register(registry, "Endpoints", "ALPHA");
        let (recorder, events) = Recorder::new(client.clone(), COMPONENT);
        let rate_limit =
            RateLimit { base_delay: MIN_BACKOFF, max_delay: MAX_BACKOFF, ..RateLimit::default() };
        let queue = WorkQueue::with_metrics(Self::NAME, QUEUE_NAME, rate_limit, queues);
        let (managed_by, delay) = (ENDPOINTSLICE_MIRRORING_CONTROLLER, config.batch_period);
        let slices = SliceController::new(managed_by, cache, client, recorder, queue, delay)
            .with_metrics(Self::NAME, queues);
        let (unfinished, doubtful) = Default::default();
        (Arc::new(Self { config, slices, metrics, unfinished, doubtful }), events)
    }
}

impl EndpointSliceMirroringController {
    /// Notes the Endpoints that are not mirrored only because of their Service, and have slices.
    fn doubt(&self, state: &State) {
        let ours = state.slices.iter().filter(|slice| is_ours(slice));
        self.doubtful.extend(ours.filter_map(|slice| service_key(slice)).filter(|key| {
            let service = state.services.get(&key.namespace, &key.name).map(|service| &**service);
            let endpoints = state.endpoints.get(&key.namespace, &key.name);
            endpoints.is_some_and(|endpoints| !opts_out(endpoints) && !is_mirrored(endpoints, service))
        }));
    }
}

/// True if this controller manages the slice.
fn is_ours(slice: &CachedSlice) -> bool {
    slice.managed_by.as_deref() == Some(ENDPOINTSLICE_MIRRORING_CONTROLLER)
}

impl Controller for EndpointSliceMirroringController {
    /// Upstream's name.
    const NAME: &'static str = "endpointslice-mirroring-controller";
    type Error = SyncError;

    fn parts(&self) -> Parts<'_> {
        Parts::from(&self.slices)
    }

    fn workers(&self) -> usize {
        self.config.workers
    }

    /// Endpoints that don't opt out, and the Services of our slices, whose Endpoints may have been deleted or opt out.
    fn initial_keys(&self, state: &State) -> Vec<ObjectKey> {
        self.doubt(state);
        let endpoints = state.endpoints.iter().filter(|endpoints| !opts_out(endpoints));
        let ours = state.slices.iter().filter(|slice| is_ours(slice));
        let ours = ours.filter_map(|slice| service_key(slice));
        endpoints.map(|endpoints| endpoints.key()).chain(ours).collect()
    }

    async fn sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        self.sync_endpoints(sync, key).await
    }

    fn pending_writes(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        self.pending(key)
    }

    fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        let mut remembered = self.slices.expectations.remembered();
        remembered.extend(self.unfinished.lock().iter().map(|key| ("unfinished", key.clone())));
        remembered.extend(self.doubtful.keys().into_iter().map(|key| ("doubtful", key)));
        remembered.extend(self.metrics.owners().into_iter().map(|key| ("metrics", key)));
        remembered
    }
}
