//! A process of one [`SliceReconciler`]: informers, an election if it is asked for, and the controller.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::election::{Config, ElectionMetrics, Identity, LeaseLock};
use controller_kit::queue::QueueMetrics;
use controller_kit::recorder::Recorder;
#[cfg(unix)]
use controller_kit::signals::TerminationSignals;
use endpointslice::well_known::MANAGED_BY;
use endpointslice::{Node, Pod, Service};
use kube_api::{ApiClient, RateLimiter};
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::cache::Cache;
use crate::kinds::CachedSlice;
use crate::lifecycle::{ControllerTask, Lifecycle, LifecycleError, PendingElection, Phase};
use crate::list_watch::{Informers, ListWatchMetrics};
use crate::reconciler::{Reconciler, SliceReconciler};

/// The longest that syncs under way may take at the end: the default of `--controller-shutdown-timeout` of
/// kube-controller-manager. A kubelet kills a container 30 s after SIGTERM, and the Lease is to be released before.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a [`SliceReconciler`] on a cluster.
///
/// It logs by `tracing`: without a subscriber, such as `tracing_subscriber::fmt::init()`, nothing says why lists or syncs fail.
/// [`Manager::with_metrics`] fills a registry, and [`Manager::with_phase`] tells a health check what to say: serving both is the
/// program's. Its user needs `list` and `watch` of Services, pods and nodes; `list`, `watch`, `create`, `update` and `delete` of
/// slices; `update` of `services/finalizers`; `create` and `patch` of events; `get`, `create` and `update` of Leases. The manifests of
/// `pod-network-controller` have them.
///
/// ```no_run
/// # use endpoint_informers::reconciler::SliceReconciler;
/// use endpoint_informers::manager::{Manager, terminated};
/// use kube_api::{ApiClient, Encoding, connect, load_user_kubeconfig};
///
/// # async fn example<R: SliceReconciler>(rules: R) -> Result<(), Box<dyn std::error::Error>> {
/// let config = load_user_kubeconfig(None, None).await?;
/// let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, "published.example.com");
/// Manager::new(client).with_leader_election(&config.default_namespace).run(rules, terminated()?).await?;
/// # Ok(())
/// # }
/// ```
pub struct Manager {
    client: ApiClient,
    limit: Option<RateLimiter>,
    /// The namespace of the Lease.
    election: Option<String>,
    metrics: Option<Metrics>,
    phase: watch::Sender<Phase>,
}

/// Completes at SIGTERM, by which a kubelet ends a container, or SIGINT. Call it in a runtime of tokio.
///
/// # Errors
///
/// The signals cannot be handled.
#[cfg(unix)]
pub fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut signals = TerminationSignals::listen()?;
    Ok(async move {
        signals.received().await;
    })
}

/// The metrics of a process.
struct Metrics {
    queues: QueueMetrics,
    list_watches: ListWatchMetrics,
    election: ElectionMetrics,
}

/// The failure of a [`Manager`]. End the process: another one starts with a fresh cache.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// The controller ended.
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    /// A list-watch has ended, because of a bug.
    #[error("{0}")]
    Informers(String),
}

impl Manager {
    /// A process that reads and writes with this client, and assumes that no other replica runs.
    pub fn new(client: ApiClient) -> Self {
        Self {
            client,
            limit: None,
            election: None,
            metrics: None,
            phase: watch::Sender::new(Phase::Starting),
        }
    }

    /// Limits the writes, and with the same rate the events: what is urgent goes first
    /// ([`controller_kit::write_order`]). Lists, watches and the Lease have no limit.
    #[must_use]
    pub fn with_rate_limit(self, limit: RateLimiter) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Exposes the metrics of the queue, the list-watches and the election; `name` is their label.
    #[must_use]
    pub fn with_metrics(self, registry: &mut Registry, name: &'static str) -> Self {
        let metrics = Metrics {
            queues: QueueMetrics::register(registry),
            list_watches: ListWatchMetrics::register(registry, name),
            election: ElectionMetrics::register(registry),
        };
        Self { metrics: Some(metrics), ..self }
    }

    /// Reports the progress of the process to `phase`, for health checks.
    #[must_use]
    pub fn with_phase(self, phase: watch::Sender<Phase>) -> Self {
        Self { phase, ..self }
    }

    /// Writes only while this process holds the Lease [`SliceReconciler::NAME`] in a namespace, with client-go's times.
    ///
    /// Requests for the Lease share the connection and the runtime of watches and syncs: what keeps either busy for 10 s, such as
    /// syncs that compute for long, costs the Lease. A program for which that is too little gives a [`Lifecycle`] an election with
    /// a client and a runtime of its own.
    #[must_use]
    pub fn with_leader_election(self, namespace: &str) -> Self {
        Self { election: Some(namespace.to_owned()), ..self }
    }

    /// Fills a cache, and reconciles all Services, until `stop` completes: then syncs under way finish, and the Lease is
    /// released. Syncs that take more than 10 s are abandoned, and the Lease expires.
    ///
    /// # Errors
    ///
    /// Leadership was lost, or a task ended.
    pub async fn run<R: SliceReconciler>(
        self,
        rules: R,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ManagerError> {
        let Self { client, limit, election, metrics, phase } = self;
        let cache = Arc::new(Cache::keeping_annotations(rules.annotations()));
        let mut informers = Informers::new(client.clone(), Arc::clone(&cache));
        if let Some(metrics) = &metrics {
            informers = informers.with_metrics(metrics.list_watches.clone());
        }
        informers.start(informers.of::<Service>());
        informers.start(informers.of::<Pod>());
        informers.start(informers.of::<Node>());
        informers
            .start(informers.of::<CachedSlice>().with_label_selector(&format!("{MANAGED_BY}={}", R::NAME)));
        rules.start_informers(&mut informers);
        let caches = informers.caches();
        tokio::pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            () = caches.synced() => {}
            ended = informers.ended() => return Err(ManagerError::Informers(ended)),
        }
        let election = election.map(|namespace| {
            let lock = LeaseLock::new(client.clone(), &namespace, R::NAME);
            let events = Recorder::new(client.clone(), R::NAME);
            let election = metrics.as_ref().map(|metrics| metrics.election.clone()).unwrap_or_default();
            PendingElection::new(Config::default(), lock, Identity::of_this_host(R::NAME), events, election)
        });
        let client = match &election {
            Some(election) => client.with_leadership(election.leadership()),
            None => client,
        };
        let client = match limit {
            Some(limit) => client.with_limit(limit),
            None => client,
        };
        let controller = match &metrics {
            Some(metrics) => Reconciler::with_metrics(rules, cache, client, &metrics.queues),
            None => Reconciler::new(rules, cache, client),
        };
        let controller = ControllerTask::new(controller, 0, None);
        let mut lifecycle =
            Lifecycle::new(caches, [controller]).with_phase(phase).with_shutdown_timeout(SHUTDOWN_TIMEOUT);
        if let Some(election) = election {
            lifecycle = lifecycle.with_election(election);
        }
        tokio::select! {
            outcome = lifecycle.run_until(stop) => Ok(outcome?),
            ended = informers.ended() => Err(ManagerError::Informers(ended)),
        }
    }
}
