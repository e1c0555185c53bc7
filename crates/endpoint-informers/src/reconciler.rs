//! A controller of EndpointSlices by two questions: which Services, and which endpoints.
//!
//! [`SliceReconciler`] answers them; [`Reconciler`] makes a [`Controller`] of the answers: it follows the cache and
//! its own slices, plans, writes, and repairs what other clients change. [`Manager`](crate::manager::Manager) runs it as a
//! process.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{Priority, QueueMetrics, RateLimit, WorkQueue};
use controller_kit::recorder::{EventType, EventWriter, Recorder, object_reference};
use controller_kit::worker::SyncContext;
use endpointslice::model::ServiceType;
use endpointslice::topology::TopologyCache;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER};
use endpointslice::{DesiredEndpoints, Hints, Node, PlanOptions, Pod, Service, SliceTemplate};
use kube_api::ApiClient;

use crate::cache::{Cache, Change, Handler, ListPhase, State, UnreadableObject};
use crate::controller::{Controller, Parts};
use crate::custom::CustomChange;
use crate::kinds::CachedSlice;
use crate::list_watch::Informers;
use crate::resource::Resource as _;
use crate::slices::{SliceController, Snapshot, SyncError};

/// The delay of the repair of what another client changed.
const REPAIR_DELAY: Duration = Duration::from_millis(500);
/// The first delay of a retry, that of upstream's controllers of slices.
const MIN_BACKOFF: Duration = Duration::from_secs(1);

fn new_rate_limit() -> RateLimit {
    RateLimit { base_delay: MIN_BACKOFF, ..RateLimit::default() }
}

/// True if a label and a Lease can have this value and name, and Kubernetes' own slices do not.
pub(crate) const fn is_free_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    // Both ends are like dots: a letter or digit is next to them.
    let (mut before, mut rest) = (b'.', bytes);
    while let [byte, others @ ..] = rest {
        let fits = match *byte {
            b'.' => is_alphanumeric(before),
            b'-' => before != b'.',
            byte => is_alphanumeric(byte),
        };
        if !fits {
            return false;
        }
        (before, rest) = (*byte, others);
    }
    is_alphanumeric(before)
        && bytes.len() <= 63
        && !is_equal(bytes, ENDPOINTSLICE_CONTROLLER.as_bytes())
        && !is_equal(bytes, ENDPOINTSLICE_MIRRORING_CONTROLLER.as_bytes())
}

const fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// `==`, which is not const.
const fn is_equal(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([a, rest @ ..], [b, others @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (rest, others);
    }
    one.is_empty() && other.is_empty()
}

/// The rules of a controller of EndpointSlices.
///
/// ```
/// use endpoint_informers::reconciler::{Context, SliceReconciler};
/// use endpointslice::{DesiredEndpoints, Service, desired_from_service};
///
/// /// Publishes the pods of annotated Services, as Kubernetes would.
/// struct Published;
///
/// impl SliceReconciler for Published {
///     const NAME: &'static str = "published.example.com";
///     const ANNOTATIONS: &'static [&'static str] = &["example.com/publish"];
///
///     fn publishes(&self, service: &Service) -> bool {
///         service.annotations.get("example.com/publish") == Some("yes")
///     }
///
///     fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
///         let node = |name: &str| context.node(name);
///         desired_from_service(context.service(), context.pods(), node)
///     }
/// }
/// ```
pub trait SliceReconciler: Send + Sync + 'static {
    /// The controller's name: in logs, in the label `managed-by` of its slices, as the source of its events, and of its Lease.
    ///
    /// Up to 63 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and on both sides of each `.`. It is
    /// no other controller's: the slices of Kubernetes' own would be deleted. Programs with another name do not compile.
    const NAME: &'static str;

    /// The annotations of Services and pods that the cache keeps: rules find no others.
    const ANNOTATIONS: &'static [&'static str] = &[];

    /// The same for rules that know only when they run which annotations they read: [`Self::ANNOTATIONS`], unless implemented
    /// otherwise.
    fn annotations(&self) -> Vec<&'static str> {
        Self::ANNOTATIONS.to_vec()
    }

    /// The time for which changes of everything but Services are batched (kube-controller-manager:
    /// `--endpointslice-updates-batch-period`).
    const BATCH_PERIOD: Duration = Duration::from_millis(500);

    /// True if this controller publishes endpoints for the Service. It deletes its slices of other Services. Not called for those
    /// of type `ExternalName`, which have no endpoints.
    ///
    /// Called with the cache locked: to be answered from the Service alone.
    fn publishes(&self, service: &Service) -> bool;

    /// The endpoints of a Service that this controller [publishes](Self::publishes). Of pods, addresses that slices cannot have are
    /// left out without an event ([`DesiredEndpoints::skipped`] counts them): tell it by [`Context::pod_event`]. An endpoint that is
    /// [inserted](DesiredEndpoints::insert) is published as it is.
    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints;

    /// The Services whose endpoints the change of a pod may affect: those that select it, or did before, unless implemented
    /// otherwise. A change of labels counts also for Services that select the pod all the same: rules may read them.
    fn affected_by_pod(&self, change: &Change<Pod>, state: &State) -> Vec<ObjectKey> {
        let mut keys = state.services_affected_by_pod(change);
        if let Change::Updated { old, new } = change
            && old.labels != new.labels
        {
            let selecting = state.services_selecting(&new.namespace, &new.labels);
            keys.extend(selecting.map(|service| service.key()));
        }
        keys
    }

    /// The Services whose endpoints the change of a node may affect: unless implemented otherwise, those that select its pods, if it
    /// is new or has another zone. Rules that read more of a node implement it.
    fn affected_by_node(&self, change: &Change<Node>, state: &State) -> Vec<ObjectKey> {
        state.services_affected_by_node(change)
    }

    /// Starts list-watches of the [custom resources](crate::custom::CustomResource) that endpoints depend on. No Service is
    /// synced before their objects are cached: never, while the API server does not serve the kind.
    fn start_informers(&self, _informers: &mut Informers) {}

    /// The Services whose endpoints the change of a custom resource may affect: unless implemented otherwise, all of its namespace, or
    /// of the cluster if it has none. That costs a look at each Service, with the cache locked.
    fn affected_by_custom(&self, change: CustomChange<'_>, state: &State) -> Vec<ObjectKey> {
        let namespace = change.namespace();
        let is_near = |service: &&Arc<Service>| namespace.is_empty() || *service.namespace == *namespace;
        state.services.iter().filter(is_near).map(|service| service.key()).collect()
    }

    /// Fails if an object that the endpoints of the Service depend on exists and could not be read: nothing is written then. The cache
    /// looks at pods and nodes itself. Unless implemented otherwise, each custom resource counts that is cluster-scoped or in the
    /// namespace of the Service: without this, an object that cannot be read would be taken for one that does not exist.
    ///
    /// One such object holds all Services of its namespace up, or of the cluster, and its deletion is seen at their next retry, after
    /// as long as they have failed. A field that users may write wrongly is better read as a value or an error, so that one endpoint is
    /// left out.
    ///
    /// # Errors
    ///
    /// As [`Store::check_readable`](crate::cache::Store::check_readable) of a custom resource.
    fn check_readable(&self, service: &Service, state: &State) -> Result<(), UnreadableObject> {
        state.custom.check_readable(&service.namespace)
    }

    /// Follows what endpoints depend on besides objects of the API server, such as a file, and queues the Services that a change
    /// affects. Runs while the controller does.
    fn follow(&self, _services: &ServiceQueue) -> impl Future<Output = Infallible> + Send {
        pending()
    }
}

/// Queues Services, for a [`SliceReconciler`] that follows something else.
#[derive(Clone)]
pub struct ServiceQueue {
    cache: Arc<Cache>,
    queue: WorkQueue<ObjectKey>,
    batch_period: Duration,
}

impl ServiceQueue {
    /// Queues a Service.
    pub fn add(&self, key: ObjectKey) {
        self.queue.add_after(key, self.batch_period);
    }

    /// Queues the Services for which `is_affected`.
    ///
    /// Cost: a call for each Service, with the cache locked.
    pub fn add_where(&self, is_affected: impl Fn(&Service) -> bool) {
        let affected: Vec<ObjectKey> = self.cache.read(|state| {
            let affected = state.services.iter().filter(|service| is_affected(service));
            affected.map(|service| service.key()).collect()
        });
        for key in affected {
            self.add(key);
        }
    }
}

/// The Service that a [`SliceReconciler`] is asked about, its pods and their nodes.
pub struct Context<'a> {
    snapshot: &'a Snapshot,
    cache: &'a Cache,
    recorder: &'a Recorder,
}

impl Context<'_> {
    /// The Service.
    pub fn service(&self) -> &Arc<Service> {
        &self.snapshot.service
    }

    /// The pods that it selects, sorted by name.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.snapshot.pods()
    }

    /// The node of this name, if one of the pods is on it.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.snapshot.node(name)
    }

    /// The pods of the Service, and their nodes, if it had the selector of this one: read a moment later. A change of them queues
    /// the Service only if [`affected_by_pod`](SliceReconciler::affected_by_pod) and
    /// [`affected_by_node`](SliceReconciler::affected_by_node) return it: their defaults know only the selectors that Services have.
    pub fn selected_by(&self, service: &Arc<Service>) -> Snapshot {
        self.cache.read(|state| Snapshot::of(service, Vec::new(), state)).sorted()
    }

    /// Reads the cache, a moment later than the Service and its pods: a change in between queues the Service again, if the rules
    /// return it as affected. What `read` [selects](Self::selected_by) or reads once more is of the same moment.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.cache.read(read)
    }

    /// Emits an event about the Service.
    pub fn event(&self, event_type: EventType, reason: &str, message: String) {
        let service = self.service();
        let object =
            object_reference("Service", &service.key(), Some(&service.uid), service.version.number());
        self.recorder.event(&object, event_type, reason, message);
    }

    /// Emits an event about a pod.
    pub fn pod_event(&self, pod: &Pod, event_type: EventType, reason: &str, message: String) {
        let object = object_reference("Pod", &pod.key(), Some(&pod.uid), pod.version.number());
        self.recorder.event(&object, event_type, reason, message);
    }
}

/// A [`Controller`] that follows the rules of a [`SliceReconciler`].
pub struct Reconciler<R> {
    rules: R,
    slices: SliceController,
}

impl<R: SliceReconciler> Reconciler<R> {
    /// A controller that reads `cache`, which must keep its [annotations](SliceReconciler::annotations), and writes with `client`; and
    /// the task that writes its events.
    pub fn new(rules: R, cache: Arc<Cache>, client: ApiClient) -> (Arc<Self>, EventWriter) {
        let queue = WorkQueue::new(new_rate_limit());
        Self::with_queue(rules, cache, client, queue, |slices| slices)
    }

    /// The same, with metrics of the queue and of writes that wait for the client's rate limit.
    pub(crate) fn with_metrics(
        rules: R,
        cache: Arc<Cache>,
        client: ApiClient,
        metrics: &QueueMetrics,
    ) -> (Arc<Self>, EventWriter) {
        let queue = WorkQueue::with_metrics(R::NAME, R::NAME, new_rate_limit(), metrics);
        Self::with_queue(rules, cache, client, queue, |slices| slices.with_metrics(R::NAME, metrics))
    }

    fn with_queue(
        rules: R,
        cache: Arc<Cache>,
        client: ApiClient,
        queue: WorkQueue<ObjectKey>,
        finish: impl FnOnce(SliceController) -> SliceController,
    ) -> (Arc<Self>, EventWriter) {
        const {
            assert!(
                is_free_name(R::NAME),
                "the NAME of a SliceReconciler is malformed, or that of a controller of Kubernetes"
            );
        }
        let (recorder, events) = Recorder::new(client.clone(), R::NAME);
        let slices = SliceController::new(R::NAME, cache, client, recorder, queue, REPAIR_DELAY);
        (Arc::new(Self { rules, slices: finish(slices.ignoring_annotations()) }), events)
    }

    fn publishes(&self, service: &Service) -> bool {
        service.service_type != ServiceType::ExternalName && self.rules.publishes(service)
    }

    fn wanted(&self, snapshot: &Snapshot) -> Option<(DesiredEndpoints, SliceTemplate, PlanOptions)> {
        let service = &snapshot.service;
        if !self.publishes(service) {
            return None;
        }
        let (cache, recorder) = (&*self.slices.cache, &self.slices.recorder);
        let desired = self.rules.desired(&Context { snapshot, cache, recorder });
        let hints = Hints::for_service(service, &TopologyCache::default());
        let options = PlanOptions { hints, ..PlanOptions::default() };
        Some((desired, SliceTemplate::for_service(service, R::NAME), options))
    }

    fn add_published(&self, state: &State, services: Vec<ObjectKey>) {
        for key in services {
            let service = state.services.get(&key.namespace, &key.name);
            if service.is_some_and(|service| self.publishes(service)) {
                self.slices.queue.add_after(key, R::BATCH_PERIOD);
            }
        }
    }
}

impl<R: SliceReconciler> Controller for Reconciler<R> {
    const NAME: &'static str = R::NAME;
    type Error = SyncError;

    fn parts(&self) -> Parts<'_> {
        Parts::from(&self.slices)
    }

    async fn sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        self.slices.cache.read(|state| {
            let service = state.services.get(&key.namespace, &key.name);
            let published = service.filter(|service| self.publishes(service));
            published.map_or(Ok(()), |service| self.rules.check_readable(service, state))
        })?;
        self.slices.sync(sync, key, |snapshot| self.wanted(snapshot)).await
    }

    async fn background(&self) -> Infallible {
        let (cache, queue) = (Arc::clone(&self.slices.cache), self.slices.queue.clone());
        let services = ServiceQueue { cache, queue, batch_period: R::BATCH_PERIOD };
        self.rules.follow(&services).await
    }
}

/// Handlers only queue keys; a sync reads the cache again.
impl<R: SliceReconciler> Handler for Reconciler<R> {
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        self.add_published(state, self.rules.affected_by_pod(change, state));
    }

    fn node(&self, change: &Change<Node>, state: &State, _is_initial_list: bool) {
        self.add_published(state, self.rules.affected_by_node(change, state));
    }

    fn custom(&self, change: CustomChange<'_>, state: &State, _is_initial_list: bool) {
        self.add_published(state, self.rules.affected_by_custom(change, state));
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
