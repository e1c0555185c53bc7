//! The controller: its configuration, its state, and the [`Controller`] trait.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{QueueMetrics, RateLimit, WorkQueue};
use controller_kit::recorder::{EventWriter, Recorder};
use controller_kit::worker::SyncContext;
use endpoint_controllers_common::{DoubtfulServices, SyncCaches};
use endpoint_informers::cache::{Cache, State};
use endpoint_informers::controller::{Controller, Parts};
use endpoint_informers::pending::PendingWrite;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{SliceController, SyncError};
use endpointslice::desired::Conditions;
use endpointslice::topology::TopologyCache;
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use kube_api::ApiClient;
use kube_api::time::Instant;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;

use crate::deferral::Deferrals;
use crate::metrics::Metrics;
use crate::sync_cache::SyncCache;

/// The configuration of the controller.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Services planned at the same time (`--concurrent-service-endpoint-syncs`); writes may overlap beyond
    /// it (`controller_kit::worker::Concurrency`).
    pub workers: usize,
    /// The maximum number of endpoints in a slice (`--max-endpoints-per-slice`).
    pub max_endpoints_per_slice: usize,
    /// The time for which changes of pods are batched (`--endpointslice-updates-batch-period`).
    pub batch_period: Duration,
    /// The conditions of endpoints; with [`Conditions::ReadyOnly`], terminating pods are not published (feature gate
    /// `EndpointSliceTerminatingCondition`).
    pub conditions: Conditions,
    /// The fewest pods of a Service that has a sync cache, so that the next sync costs what changed.
    /// [`MIN_PODS`](endpoint_controllers_common::MIN_PODS) but in tests.
    pub sync_cache_min_pods: usize,
    /// Whether writes that decide about no traffic wait up to 5 s for others of the same slice
    /// ([`endpointslice::coalescing`]; feature gate `EndpointSliceCoalescing`).
    pub coalescing: bool,
}

/// Writes the EndpointSlices of all Services with a selector.
pub struct EndpointSliceController {
    pub(crate) config: Config,
    pub(crate) slices: SliceController,
    pub(crate) trigger_times: Mutex<TriggerTimes>,
    /// Services whose last sync ended before its plan was complete.
    pub(crate) unfinished: Mutex<HashMap<ObjectKey, Unfinished>>,
    /// Services that the cache showed as delegated at the start.
    pub(crate) doubtful: DoubtfulServices,
    pub(crate) topology: Mutex<TopologyCache>,
    /// The changes that wait; `None` if none may.
    pub(crate) deferrals: Option<Deferrals>,
    /// The sync caches of the last syncs.
    pub(crate) sync_caches: SyncCaches<SyncCache>,
    /// The time at which the zones' shares of CPU first changed since [`Self::follow_nodes`] last queued Services.
    pub(crate) shares_changed_at: Mutex<Option<Instant>>,
    /// Wakes [`Self::follow_nodes`].
    pub(crate) shares_changed: Notify,
    pub(crate) metrics: Metrics,
}

/// A plan that is not complete.
pub(crate) struct Unfinished {
    pub(crate) trigger_time: Option<String>,
    /// Its changes are counted in the metrics.
    pub(crate) is_counted: bool,
}

/// The source of events, as upstream's.
const COMPONENT: &str = "endpoint-slice-controller";
/// The name of the work queue in metrics, as upstream's.
const QUEUE_NAME: &str = "endpoint_slice";
/// The minimum delay between a foreign change of a slice and the sync it causes, so that a burst causes one sync
/// (`endpointslice_controller.go` `endpointSliceChangeMinSyncDelay`).
const SLICE_CHANGE_DELAY: Duration = Duration::from_secs(1);
/// The delay of the first retry (upstream's `defaultSyncBackOff`).
const MIN_BACKOFF: Duration = Duration::from_secs(1);

impl EndpointSliceController {
    /// A controller that reads `cache` and writes with `client`, and the task that writes its events. Metrics go to
    /// `registry`.
    pub fn new(
        config: Config,
        cache: Arc<Cache>,
        client: ApiClient,
        queues: &QueueMetrics,
        registry: &mut Registry,
    ) -> (Arc<Self>, EventWriter) {
        let metrics = Metrics::register(registry, config.max_endpoints_per_slice);
        if config.coalescing {
            metrics.register_deferred(registry);
        }
        let (recorder, events) = Recorder::new(client.clone(), COMPONENT);
        let rate_limit = RateLimit { base_delay: MIN_BACKOFF, ..RateLimit::default() };
        let queue = WorkQueue::with_metrics(Self::NAME, QUEUE_NAME, rate_limit, queues);
        let delay = config.batch_period.max(SLICE_CHANGE_DELAY);
        let slices = SliceController::new(ENDPOINTSLICE_CONTROLLER, cache, client, recorder, queue, delay)
            .ignoring_annotations()
            .with_metrics(Self::NAME, queues);
        let controller = Self {
            config,
            slices,
            trigger_times: Mutex::default(),
            unfinished: Mutex::default(),
            doubtful: DoubtfulServices::default(),
            topology: Mutex::default(),
            deferrals: config.coalescing.then(Deferrals::new),
            sync_caches: SyncCaches::new(config.sync_cache_min_pods),
            shares_changed_at: Mutex::default(),
            shares_changed: Notify::new(),
            metrics,
        };
        (Arc::new(controller), events)
    }
}

impl Controller for EndpointSliceController {
    /// Upstream's name.
    const NAME: &'static str = "endpointslice-controller";
    type Error = SyncError;

    fn parts(&self) -> Parts<'_> {
        Parts::from(&self.slices)
    }

    fn workers(&self) -> usize {
        self.config.workers
    }

    /// Every Service, and the delegated ones that still have slices of ours.
    fn initial_keys(&self, state: &State) -> Vec<ObjectKey> {
        self.load_nodes(state);
        let services = state.services.iter().map(|service| service.key());
        let delegated = state.delegated.iter().filter(|service| {
            !state.slices_of(&service.namespace, &service.name, ENDPOINTSLICE_CONTROLLER).is_empty()
        });
        let delegated: Vec<ObjectKey> = delegated.map(|service| service.key()).collect();
        self.doubtful.extend(delegated.iter().cloned());
        services.chain(delegated).collect()
    }

    async fn sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        self.sync_service(sync, key).await
    }

    fn pending_writes(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        self.pending(key)
    }

    async fn background(&self) -> Infallible {
        tokio::select! {
            biased;
            never = self.follow_nodes() => never,
            never = self.sync_caches.forget_idle() => never,
        }
    }

    fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        let mut remembered = self.slices.expectations.remembered();
        let trigger_times = self.trigger_times.lock();
        let services = trigger_times.services();
        let keys = services.map(|(namespace, name)| ObjectKey::new(Arc::clone(namespace), Arc::clone(name)));
        remembered.extend(keys.map(|key| ("trigger times", key)));
        let topology = self.topology.lock();
        let services = topology.services();
        let keys = services.map(|(namespace, name)| ObjectKey::new(Arc::clone(namespace), Arc::clone(name)));
        remembered.extend(keys.map(|key| ("topology", key)));
        remembered.extend(self.unfinished.lock().keys().map(|key| ("unfinished", key.clone())));
        remembered.extend(self.doubtful.keys().into_iter().map(|key| ("doubtful", key)));
        let deferred = self.deferrals.iter().flat_map(Deferrals::services);
        remembered.extend(deferred.map(|key| ("deferred", key)));
        remembered.extend(self.metrics.services().into_iter().map(|key| ("metrics", key)));
        remembered.extend(self.sync_caches.services().into_iter().map(|key| ("sync_caches", key)));
        remembered
    }
}
