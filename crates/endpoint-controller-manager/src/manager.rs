//! The life of the process: connect, fill the caches, acquire the Lease, run the controllers, stop.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use component_server::Checks;
use controller_kit::election::ElectionMetrics;
use controller_kit::queue::QueueMetrics;
use endpoint_informers::cache::Cache;
use endpoint_informers::list_watch::{Caches, Informers, ListWatchMetrics, RelistTimeout};
use kube_api::error_chain;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tracing::info;

use crate::api_clients::{ClientIdentity, Clients};
use crate::config::Config;
use crate::connection::{self, ConnectionError, wait_for_api_server};
use crate::controller_set::{ControllerDeps, ControllerSet, ControllerTask};
use crate::controllers::Controller;
use crate::gates;
use crate::health::{Health, Phase};
use crate::leader_election::{Acquired, LeaseHandle, PendingElection};
use crate::logging::LogMetrics;
use crate::process_metrics::ProcessMetrics;
use crate::runtimes::{Handles, Runtimes};
use crate::secure_serving::{self, Serving, ServingError};
use crate::signals::StopSignals;
use crate::{build_metrics, informers, logging, version};

/// The last part of the elector's user agent.
const ELECTION: &str = "leader-election";

/// Reasons for ending with an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManagerError {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Serving(#[from] ServingError),
    #[error("cannot start threads and signal handlers")]
    Runtime(#[source] std::io::Error),
    #[error("leader election lost: {0}")]
    LeaseLost(String),
    #[error("acquired the lease, but could not refresh the cache")]
    Relist(#[from] RelistTimeout),
    #[error("an internal task ended: {0}")]
    TaskEnded(String),
    #[error("an internal task ended")]
    Panicked(#[from] JoinError),
    #[error("received a second signal ({0}); exiting without waiting")]
    SecondSignal(&'static str),
}

/// Runs until a signal. The exit code is 0 after a signal, 1 after an error or the loss of the Lease.
pub(crate) fn main(config: Config) -> ExitCode {
    let mut logs = logging::init(config.log_format, config.verbosity);
    config.log();
    let runtimes = Runtimes::start().map_err(ManagerError::Runtime);
    let outcome = runtimes.and_then(|runtimes| runtimes.run(|handles| run(config, handles, logs.metrics())));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logs.write_line(&format!("Error: {}", error_chain(&error)));
            ExitCode::FAILURE
        }
    }
}

pub(crate) async fn run(config: Config, handles: Handles, logs: LogMetrics) -> Result<(), ManagerError> {
    let mut stop = StopSignals::listen().map_err(ManagerError::Runtime)?;
    info!(version = version::VERSION, kubernetes = version::KUBERNETES, "Starting");
    // Clients belong to the runtime in which they are made.
    let start = handles.work.spawn(Manager::start(config, handles.clone(), logs));
    let manager = tokio::select! {
        manager = start => manager??,
        signal = stop.received() => {
            info!(signal, "Received a signal before the caches were synced; exiting");
            return Ok(());
        }
    };
    manager.run(&mut stop).await
}

/// The parts of a process whose caches are synced.
struct Manager {
    controllers: Vec<ControllerTask>,
    caches: Caches,
    /// None without leader election.
    election: Option<PendingElection>,
    background: Background,
    phase: watch::Sender<Phase>,
    /// Tells the clients of controllers that the process shuts down.
    stopping: watch::Sender<bool>,
    healthz: Checks,
    shutdown_timeout: Duration,
    handles: Handles,
}

/// Tasks that run until the process ends.
struct Background {
    watches: Informers,
    /// Empty if nothing is served.
    server: JoinSet<String>,
}

impl Background {
    /// Waits for one that ends nevertheless, and describes it.
    async fn ended(&mut self) -> String {
        tokio::select! {
            ended = self.watches.ended() => ended,
            Some(ended) = self.server.join_next() => ended.unwrap_or_else(|error| error.to_string()),
        }
    }
}

impl Manager {
    /// Connects, listens, and waits until the caches are synced.
    async fn start(config: Config, handles: Handles, logs: LogMetrics) -> Result<Self, ManagerError> {
        let mut registry = Registry::default();
        let identity = ClientIdentity::new(&config, &mut registry);
        let serving = Serving::prepare(&config.server, &identity, &handles.server).await?;
        let kube_config = connection::load(&config.api_server).await?;
        let clients = Clients::new(&config, &identity, &kube_config)?;
        let reader = clients.unshared("shared-informers")?;
        wait_for_api_server(&reader, &kube_config).await?;

        registry.register_collector(Box::new(ProcessMetrics));
        registry.register_collector(Box::new(logs));
        config.gates.register(&mut registry);
        build_metrics::register(&mut registry, config.gates.versions());
        let election = election(&config, &clients, &handles, &mut registry).await?;
        let queues = QueueMetrics::register(&mut registry);
        let watch_metrics = ListWatchMetrics::register(&mut registry, version::NAME);
        let cache = Arc::new(Cache::default());
        let mut deps =
            ControllerDeps { config: &config, cache: &cache, queues: &queues, registry: &mut registry };
        let stopping = watch::Sender::new(false);
        let prepare = |which: &Controller| {
            let client = clients.of_controller(*which).with_shutdown(stopping.subscribe());
            let client = match &election {
                Some(election) => client.with_leadership(election.leadership()),
                None => client,
            };
            deps.prepare(*which, client)
        };
        let controllers = config.controllers.iter().map(prepare).collect();

        let mut watches = Informers::new(reader, cache).with_metrics(watch_metrics);
        let delegation = config.gates.enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL);
        informers::start(&mut watches, &config.controllers, delegation);
        let caches = watches.caches();
        let phase = watch::Sender::new(Phase::Starting);
        let health = Health::new(&caches, &phase);
        if let Some(election) = &election {
            health.watch_election(election);
        }
        let mut server = JoinSet::new();
        if let Some(serving) = serving {
            let pages = secure_serving::pages(&config, &health, Arc::new(registry));
            server.spawn_on(serving.run(pages), &handles.server);
        }
        let mut background = Background { watches, server };
        tokio::select! {
            () = caches.synced() => {}
            ended = background.ended() => return Err(ManagerError::TaskEnded(ended)),
        }
        let names: Vec<&str> = config.controllers.iter().map(|controller| controller.name()).collect();
        info!(controllers = names.join(","), "Caches are synced");
        let healthz = health.healthz;
        Ok(Self {
            controllers,
            caches,
            election,
            background,
            phase,
            stopping,
            healthz,
            shutdown_timeout: config.shutdown_timeout,
            handles,
        })
    }

    /// Runs the controllers while the Lease is held, until a signal; then finishes writes in progress and releases the
    /// Lease.
    async fn run(self, stop: &mut StopSignals) -> Result<(), ManagerError> {
        let Self {
            controllers,
            caches,
            election,
            mut background,
            phase,
            stopping,
            healthz,
            shutdown_timeout,
            handles,
        } = self;
        let mut lease = LeaseHandle::contend(election, &handles);
        let mut running = None;
        let start = || {
            for controller in &controllers {
                // Upstream has a check for each controller that was started, and it always passes.
                healthz.register(controller.name, || Ok(()));
            }
            running.insert(ControllerSet::start(controllers, &handles.work))
        };
        let outcome = tokio::select! {
            signal = stop.received() => {
                info!(signal, "Received a signal; shutting down");
                Ok(())
            }
            ended = background.ended() => return Err(ManagerError::TaskEnded(ended)),
            failed = lead(&mut lease, &caches, start, &phase) => match failed {
                // Nothing has been written, so the Lease is released and another replica may try at once.
                ManagerError::Relist(_) => Err(failed),
                _ => return Err(failed),
            },
        };
        phase.send_replace(Phase::Stopping);
        stopping.send_replace(true);
        let finish = async {
            let finished = match running {
                Some(running) => ControllerSet::stop(running, shutdown_timeout).await,
                None => true,
            };
            if finished {
                lease.release().await.map_err(ManagerError::LeaseLost)
            } else {
                lease.abandon();
                Ok(())
            }
        };
        tokio::select! {
            released = finish => outcome.and(released),
            signal = stop.received() => Err(ManagerError::SecondSignal(signal)),
        }
    }
}

/// The election, with connections of its own on the control runtime; none if it is off.
async fn election(
    config: &Config,
    clients: &Clients<'_>,
    handles: &Handles,
    registry: &mut Registry,
) -> Result<Option<PendingElection>, ManagerError> {
    let Some(config) = &config.leader_election else { return Ok(None) };
    let metrics = ElectionMetrics::register(registry);
    let client = {
        let _control = handles.control.enter();
        clients.unshared(ELECTION)?
    };
    let election = PendingElection::new(config, client, clients.of(ELECTION), metrics);
    Ok(Some(election.observe(handles).await?))
}

/// Starts the controllers once this process leads; returns only after a failure.
async fn lead<'a>(
    lease: &mut LeaseHandle,
    caches: &Caches,
    start: impl FnOnce() -> &'a mut ControllerSet,
    phase: &watch::Sender<Phase>,
) -> ManagerError {
    phase.send_replace(Phase::Standby);
    match lease.acquired().await {
        // No other process has written since the caches were filled.
        Acquired::NoElection => {}
        Acquired::Never => return ManagerError::LeaseLost(lease.lost().await),
        Acquired::Lease { alone_since } => {
            phase.send_replace(Phase::Relisting);
            tokio::select! {
                relisted = caches.relist_and_wait(alone_since) => if let Err(error) = relisted {
                    return error.into();
                },
                reason = lease.lost() => return ManagerError::LeaseLost(reason),
            }
        }
    }
    let running = start();
    phase.send_replace(Phase::Running);
    tokio::select! {
        ended = running.ended() => ManagerError::TaskEnded(ended),
        reason = lease.lost() => ManagerError::LeaseLost(reason),
    }
}
