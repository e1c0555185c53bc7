//! The controllers of the real program, on the API server of the simulation.

use std::sync::Arc;

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::controller_set::{self, ControllerSet, informers};
use endpoint_controller_manager::version;
use endpoint_informers::lifecycle::{Lifecycle, LifecycleError};
use endpoint_informers::list_watch::{Informers, RelistTimeout};
use kube_api::{ApiClient, error_chain};

use super::idle::{Failing, Idle};
use crate::exit::Failure;

/// Controllers whose caches are synced, ready to run.
pub(crate) struct Controllers {
    lifecycle: Lifecycle,
    /// Tells when nothing is left to do.
    pub(crate) idle: Idle,
    /// Kept, because the list-watches end with it.
    watches: Informers,
}

/// Reasons for which controllers do not end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControllersError {
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    #[error(transparent)]
    Relist(#[from] RelistTimeout),
    #[error("an internal task ended: {0}")]
    TaskEnded(String),
}

impl From<ControllersError> for Failure {
    fn from(error: ControllersError) -> Self {
        Self::Input(error_chain(&error))
    }
}

impl Controllers {
    /// Makes the controllers of a configuration as the manager does, and fills their cache. They have no rate limit: there
    /// is no server to be spared.
    pub(crate) async fn start(config: &Config, client: &kube::Client) -> Result<Self, ControllersError> {
        let client = |part: &str| {
            ApiClient::new(
                client.clone(),
                config.encoding,
                &version::user_agent(&config.user_agent_name, part),
            )
        };
        let cache = Arc::new(informers::cache(config));
        let ControllerSet { tasks, queues, .. } = controller_set::prepare_all(config, &cache, client);
        let mut watches = Informers::new(client("shared-informers"), cache);
        informers::start(&mut watches, config);
        let caches = watches.caches();
        tokio::select! {
            () = caches.synced() => {}
            ended = watches.ended() => return Err(ControllersError::TaskEnded(ended)),
        }
        let idle = Idle::new(caches.clone(), queues);
        Ok(Self { lifecycle: Lifecycle::new(caches, tasks), idle, watches })
    }

    /// Runs until nothing is left to do, and returns the keys that keep failing.
    pub(crate) async fn run_until_idle(self) -> Result<Vec<Failing>, ControllersError> {
        let idle = self.idle.clone();
        let mut outcome = Ok(Vec::new());
        self.run_until(async { outcome = idle.reached().await }).await?;
        Ok(outcome?)
    }

    /// Runs until `stop` completes.
    pub(crate) async fn run_until(self, stop: impl Future<Output = ()>) -> Result<(), ControllersError> {
        let Self { lifecycle, mut watches, .. } = self;
        tokio::select! {
            outcome = lifecycle.run_until(stop) => Ok(outcome?),
            ended = watches.ended() => Err(ControllersError::TaskEnded(ended)),
        }
    }
}
