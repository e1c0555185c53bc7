//! The controller's parts, and its life.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::queue::{QueueMetrics, RateLimit, WorkQueue};
use controller_kit::recorder::{EventWriter, Recorder};
use controller_kit::worker::{Start, run_workers_from};
use endpoint_informers::cache::{Cache, Cached as _, CachedEndpoints, ObjectKey, State};
use endpoint_informers::echoes::Echoes;
use endpoint_informers::repairs::Repairs;
use endpointslice::TriggerTimes;
use endpointslice::well_known::LEADER;
use kube_api::ApiClient;
use parking_lot::Mutex;

use crate::events::COMPONENT;
use crate::tracker::{Orphan, Tracker};
use crate::writer::EndpointsWriter;

/// What an operator can set.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Services synced at the same time (`--concurrent-endpoint-syncs`).
    pub workers: usize,
    /// How long a change of a pod waits for more of them (`--endpoint-updates-batch-period`).
    pub batch_period: Duration,
    /// Whether the annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints`, where it says yes or no, counts
    /// instead of `publishNotReadyAddresses` (feature gate `TolerateUnreadyEndpointsAnnotation`).
    pub tolerate_unready_annotation: bool,
    /// Whether a Service that is not in the cache may exist and belong to another controller (feature gate
    /// `EndpointControllerNameWellKnownLabel`).
    pub services_may_be_delegated: bool,
}

/// Keeps the Endpoints of all Services with a selector as they should be, and deletes those whose Service is gone.
pub struct EndpointsController {
    pub(crate) config: Config,
    pub(crate) cache: Arc<Cache>,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) writer: EndpointsWriter,
    pub(crate) recorder: Recorder,
    pub(crate) repairs: Repairs,
    pub(crate) tracker: Mutex<Tracker>,
    pub(crate) echoes: Echoes<CachedEndpoints>,
    pub(crate) trigger_times: Mutex<TriggerTimes>,
}

/// The controller's name in logs, as upstream's.
pub(crate) const NAME: &str = "endpoints-controller";
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
        let queue = WorkQueue::with_metrics(QUEUE_NAME, RateLimit::endpoint(), queues);
        let repairs = Repairs::new(queue.clone(), client.field_manager());
        let controller = Self {
            config,
            cache,
            queue,
            writer: EndpointsWriter::new(client),
            recorder,
            repairs,
            tracker: Mutex::default(),
            echoes: Echoes::default(),
            trigger_times: Mutex::default(),
        };
        (Arc::new(controller), events)
    }

    /// Syncs every Service once, and whatever is left of Services that are gone, and then whatever changes, until
    /// [`Self::shut_down`]. The cache must be synced.
    pub async fn run(self: Arc<Self>) {
        let mut services = Vec::new();
        self.cache.attach(Arc::clone(&self) as _, |state| {
            services = state.services.iter().map(|service| service.key()).collect();
            for key in &services {
                self.queue.add_background(key.clone());
            }
            self.look_at_leftovers(state);
        });
        let controller = Arc::clone(&self);
        let start = Start { keys: services, is_wrong: move |key: &ObjectKey| self.is_wrong(key) };
        run_workers_from(start, NAME, controller.queue.clone(), controller.config.workers, move |key| {
            let controller = Arc::clone(&controller);
            async move { controller.sync(&key).await }
        })
        .await;
    }

    /// Objects without a Service hurt nobody, so they stay in the background.
    fn look_at_leftovers(&self, state: &State) {
        for endpoints in state.endpoints.iter() {
            if state.services.get(&endpoints.namespace, &endpoints.name).is_none()
                && !elects_a_leader(endpoints)
            {
                let key = endpoints.key();
                let uid = Some(endpoints.uid.clone());
                self.tracker.lock().orphan(&key, Orphan { uid, selected: false });
                self.queue.add_background(key);
            }
        }
    }

    /// Takes no more work; [`Self::run`] returns when what is under way is done.
    pub fn shut_down(&self) {
        self.queue.shut_down();
    }
}

/// An object that can't be read counts as one: it is left alone.
fn elects_a_leader(endpoints: &CachedEndpoints) -> bool {
    kube_protobuf::meta(&endpoints.encoded)
        .map_or(true, |meta| meta.annotations.iter().any(|(key, _)| *key == LEADER))
}
