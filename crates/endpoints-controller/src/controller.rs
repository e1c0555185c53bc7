//! The controller: its configuration, its state, and the [`Controller`] trait.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::deferred_events::DeferredEvents;
use controller_kit::key::ObjectKey;
use controller_kit::queue::{QueueMetrics, RateLimit, WorkQueue};
use controller_kit::recorder::{EventWriter, Recorder};
use controller_kit::worker::SyncContext;
use controller_kit::write::ObjectWriter;
use controller_kit::write_order::WriteOrder;
use endpoint_controllers_common::SyncCaches;
use endpoint_informers::cache::{Cache, Change, State};
use endpoint_informers::controller::{Controller, Parts};
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::pending::PendingWrite;
use endpoint_informers::repairs::Repairs;
use endpoint_informers::resource::Resource as _;
use endpointslice::Urgency;
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use kube_api::ApiClient;
use parking_lot::Mutex;

use crate::error::SyncError;
use crate::orphan::Orphan;
use crate::sync_cache::SyncCache;
use crate::tracker::Tracker;

/// The configuration of the controller.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Services planned at the same time (`--concurrent-endpoint-syncs`); writes may overlap beyond
    /// it (`controller_kit::worker::Concurrency`).
    pub workers: usize,
    /// The time for which changes of pods are batched (`--endpoint-updates-batch-period`).
    pub batch_period: Duration,
    /// True if a valid annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` overrides
    /// `publishNotReadyAddresses` (feature gate `TolerateUnreadyEndpointsAnnotation`).
    pub tolerate_unready_annotation: bool,
    /// True if a Service that is not in the cache may exist and belong to another controller (feature gate
    /// `EndpointControllerNameWellKnownLabel`).
    pub services_may_be_delegated: bool,
    /// The fewest pods of a Service that has a sync cache, so that the next sync costs what changed.
    /// [`MIN_PODS`](endpoint_controllers_common::MIN_PODS) but in tests.
    pub sync_cache_min_pods: usize,
}

/// Writes the Endpoints of all Services with a selector, and deletes those whose Service was deleted.
pub struct EndpointsController {
    pub(crate) config: Config,
    pub(crate) cache: Arc<Cache>,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) order: Option<WriteOrder>,
    pub(crate) writer: ObjectWriter,
    pub(crate) recorder: Recorder,
    pub(crate) repairs: Repairs,
    pub(crate) tracker: Mutex<Tracker>,
    pub(crate) deferred: DeferredEvents<Change<CachedEndpoints>>,
    pub(crate) trigger_times: Mutex<TriggerTimes>,
    /// The trigger times of writes that wait for their turn.
    pub(crate) waiting: Mutex<HashMap<ObjectKey, String>>,
    /// The sync caches of the last syncs.
    pub(crate) sync_caches: SyncCaches<SyncCache>,
}

/// The source of events, as upstream's.
const COMPONENT: &str = "endpoint-controller";
/// The name of the work queue in metrics, as upstream's.
const QUEUE_NAME: &str = "endpoint";

impl EndpointsController {
    /// A controller that reads `cache` and writes with `client`, and the task that writes its events.
    ///
    /// It has no metrics but those of its queue, which go to `queues`.
    pub fn new(
        config: Config,
        cache: Arc<Cache>,
        client: ApiClient,
        queues: &QueueMetrics,
    ) -> (Arc<Self>, EventWriter) {
        let (recorder, events) = Recorder::new(client.clone(), COMPONENT);
        let queue = WorkQueue::with_metrics(Self::NAME, QUEUE_NAME, RateLimit::default(), queues);
        let repairs = Repairs::new(queue.clone(), client.field_manager());
        let order = client.limiter().map(|limiter| {
            let order = WriteOrder::new(queue.clone(), Arc::clone(limiter));
            order.with_metrics(Self::NAME, Urgency::NAMES, queues)
        });
        let controller = Self {
            config,
            cache,
            queue,
            order,
            writer: ObjectWriter::new(client).ignoring_annotations(&[LAST_CHANGE_TRIGGER_TIME]),
            recorder,
            repairs,
            tracker: Mutex::default(),
            deferred: DeferredEvents::default(),
            trigger_times: Mutex::default(),
            waiting: Mutex::default(),
            sync_caches: SyncCaches::new(config.sync_cache_min_pods),
        };
        (Arc::new(controller), events)
    }

    /// Endpoints whose Service was deleted while no controller ran, of those that the cache shows. Services are not listed again at
    /// a takeover, so that the cache of them may be behind, also that of delegated ones: the API server is asked before one is
    /// deleted.
    fn orphans(&self, state: &State) -> Vec<ObjectKey> {
        let mut keys = Vec::new();
        let mut tracker = self.tracker.lock();
        tracker.starts_at(state.services.observed());
        for endpoints in state.endpoints.iter() {
            if state.services.get(&endpoints.namespace, &endpoints.name).is_none()
                && !endpoints.elects_a_leader
            {
                let key = endpoints.key();
                let uid = Some(endpoints.uid.clone());
                tracker.orphan(&key, Orphan { uid, listed: true, ..Orphan::default() });
                keys.push(key);
            }
        }
        keys
    }
}

impl Controller for EndpointsController {
    /// Upstream's name.
    const NAME: &'static str = "endpoints-controller";
    type Error = SyncError;

    fn parts(&self) -> Parts<'_> {
        let (order, repairs) = (self.order.as_ref(), Some(&self.repairs));
        Parts { cache: &self.cache, queue: &self.queue, order, repairs }
    }

    fn workers(&self) -> usize {
        self.config.workers
    }

    /// Every Service, and the Endpoints of deleted ones.
    fn initial_keys(&self, state: &State) -> Vec<ObjectKey> {
        let mut keys: Vec<ObjectKey> = state.services.iter().map(|service| service.key()).collect();
        keys.extend(self.orphans(state));
        keys
    }

    async fn sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        self.sync_service(sync, key).await
    }

    fn pending_writes(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        self.pending(key)
    }

    fn skipped(&self, key: &ObjectKey) {
        self.skip(key);
    }

    fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        let mut remembered = self.tracker.lock().remembered();
        let trigger_times = self.trigger_times.lock();
        let services = trigger_times.services();
        let keys = services.map(|(namespace, name)| ObjectKey::new(Arc::clone(namespace), Arc::clone(name)));
        remembered.extend(keys.map(|key| ("trigger times", key)));
        remembered.extend(self.sync_caches.services().into_iter().map(|key| ("sync_caches", key)));
        remembered.extend(self.waiting.lock().keys().map(|key| ("waiting_writes", key.clone())));
        remembered
    }

    async fn background(&self) -> Infallible {
        self.sync_caches.forget_idle().await
    }
}
