//! A process of one [`SliceReconciler`]: informers, an election if it is asked for, and the controller.

use std::sync::Arc;

use controller_kit::election::{Config, ElectionMetrics, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use endpointslice::well_known::MANAGED_BY;
use endpointslice::{Node, Pod, Service};
use kube_api::ApiClient;

use crate::cache::Cache;
use crate::kinds::CachedSlice;
use crate::lifecycle::{ControllerTask, Lifecycle, LifecycleError, PendingElection};
use crate::list_watch::Informers;
use crate::reconciler::{Reconciler, SliceReconciler};

/// Runs a [`SliceReconciler`] on a cluster.
///
/// ```no_run
/// # use endpoint_informers::reconciler::SliceReconciler;
/// use endpoint_informers::manager::Manager;
/// use kube_api::{ApiClient, Encoding, connect};
///
/// # async fn example<R: SliceReconciler>(rules: R) -> Result<(), Box<dyn std::error::Error>> {
/// let config = kube::Config::infer().await?;
/// let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, "published.example.com");
/// let interrupted = async { drop(tokio::signal::ctrl_c().await) };
/// Manager::new(client).with_leader_election(&config.default_namespace).run(rules, interrupted).await?;
/// # Ok(())
/// # }
/// ```
pub struct Manager {
    client: ApiClient,
    /// The namespace of the Lease.
    election: Option<String>,
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
        Self { client, election: None }
    }

    /// Writes only while this process holds the Lease [`SliceReconciler::NAME`] in a namespace, with client-go's times.
    #[must_use]
    pub fn with_leader_election(self, namespace: &str) -> Self {
        Self { election: Some(namespace.to_owned()), ..self }
    }

    /// Fills a cache, and reconciles all Services, until `stop` completes: then syncs under way finish, and the Lease is
    /// released.
    ///
    /// # Errors
    ///
    /// Leadership was lost, or a task ended.
    pub async fn run<R: SliceReconciler>(
        self,
        rules: R,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ManagerError> {
        let Self { client, election } = self;
        let cache = Arc::new(Cache::keeping_annotations(R::ANNOTATIONS.iter().copied()));
        let mut informers = Informers::new(client.clone(), Arc::clone(&cache));
        informers.start(informers.of::<Service>());
        informers.start(informers.of::<Pod>());
        informers.start(informers.of::<Node>());
        informers
            .start(informers.of::<CachedSlice>().with_label_selector(&format!("{MANAGED_BY}={}", R::NAME)));
        informers.caches().synced().await;
        let election = election.map(|namespace| {
            let lock = LeaseLock::new(client.clone(), &namespace, R::NAME);
            let events = Recorder::new(client.clone(), R::NAME);
            let (identity, metrics) = (Identity::unique(R::NAME), ElectionMetrics::default());
            PendingElection::new(Config::default(), lock, identity, events, metrics)
        });
        let client = match &election {
            Some(election) => client.with_leadership(election.leadership()),
            None => client,
        };
        let controller = ControllerTask::new(Reconciler::new(rules, cache, client));
        let mut lifecycle = Lifecycle::new(informers.caches(), [controller]);
        if let Some(election) = election {
            lifecycle = lifecycle.with_election(election);
        }
        tokio::select! {
            outcome = lifecycle.run_until(stop) => Ok(outcome?),
            ended = informers.ended() => Err(ManagerError::Informers(ended)),
        }
    }
}
