//! Where all parts meet: connect, watch, lead, run the controllers, stop.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use component_server::Checks;
use controller_kit::election::ElectionMetrics;
use controller_kit::queue::QueueMetrics;
use endpoint_informers::cache::Cache;
use endpoint_informers::list_watch::{Behind, Caches, ListWatchMetrics, ListWatches};
use kube_api::error_chain;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tracing::info;

use crate::clients::{Clients, Guise};
use crate::config::Config;
use crate::connection::{self, ConnectionError, wait_for_api_server};
use crate::controllers::Controller;
use crate::gates;
use crate::health::{Health, Phase};
use crate::leading::{Candidate, Lead, Turn};
use crate::logging::LogMetrics;
use crate::process_metrics::ProcessMetrics;
use crate::running::{Parts, Prepared, Running};
use crate::runtimes::{Handles, Runtimes};
use crate::serving::{self, Serving, ServingError};
use crate::signals::Stop;
use crate::{build_metrics, logging, version, watches};

/// The last part of the elector's user agent.
const ELECTION: &str = "leader-election";

/// Why the manager could not run.
#[derive(Debug, thiserror::Error)]
enum ManagerError {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Serving(#[from] ServingError),
    #[error("cannot set up the runtime")]
    Runtime(#[source] std::io::Error),
    #[error("leader election lost: {0}")]
    LeaseLost(String),
    #[error("won the lease, but the cache stays behind")]
    Behind(#[from] Behind),
    #[error("an internal task ended: {0}")]
    TaskEnded(String),
    #[error("an internal task ended")]
    Panicked(#[from] JoinError),
    #[error("asked to end a second time, by {0}")]
    Impatience(&'static str),
}

/// Runs until a signal, and returns how the process should end: 0 after a signal, 1 if it could not run, or lost the
/// Lease.
pub(crate) fn main(config: Config) -> ExitCode {
    let mut logs = logging::init(config.log_format, config.verbosity);
    config.log();
    let runtimes = Runtimes::start().map_err(ManagerError::Runtime);
    let outcome = runtimes.and_then(|runtimes| runtimes.run(|handles| run(config, handles, logs.metrics())));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logs.say(&format!("Error: {}", error_chain(&error)));
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config, handles: Handles, logs: LogMetrics) -> Result<(), ManagerError> {
    let mut stop = Stop::listen().map_err(ManagerError::Runtime)?;
    info!(version = version::VERSION, kubernetes = version::KUBERNETES, "Starting");
    // Where the clients are made that work uses.
    let start = handles.work.spawn(Manager::start(config, handles.clone(), logs));
    let manager = tokio::select! {
        manager = start => manager??,
        signal = stop.requested() => {
            info!(signal, "Stopped before the controllers ran");
            return Ok(());
        }
    };
    manager.run(&mut stop).await
}

/// Everything that runs once the cache is synced.
struct Manager {
    controllers: Vec<Prepared>,
    caches: Caches,
    /// None: there is no election.
    candidate: Option<Candidate>,
    background: Background,
    phase: watch::Sender<Phase>,
    /// Tells the clients of controllers that the process ends.
    stopping: watch::Sender<bool>,
    healthz: Checks,
    shutdown_timeout: Duration,
    handles: Handles,
}

/// What never ends by itself.
struct Background {
    watches: ListWatches,
    /// Empty if nothing is served.
    server: JoinSet<String>,
}

impl Background {
    /// Says what has ended nevertheless.
    async fn ended(&mut self) -> String {
        tokio::select! {
            ended = self.watches.ended() => ended,
            Some(ended) = self.server.join_next() => ended.unwrap_or_else(|error| error.to_string()),
        }
    }
}

impl Manager {
    /// Connects, listens, and waits until the cache holds what the API server holds.
    async fn start(config: Config, handles: Handles, logs: LogMetrics) -> Result<Self, ManagerError> {
        let mut registry = Registry::default();
        let guise = Guise::new(&config, &mut registry);
        let serving = Serving::prepare(&config.server, &guise, &handles.server).await?;
        let kube_config = connection::load(&config.api_server).await?;
        let clients = Clients::new(&config, &guise, &kube_config)?;
        let reader = clients.unshared("shared-informers")?;
        wait_for_api_server(&reader, &kube_config).await?;

        registry.register_collector(Box::new(ProcessMetrics));
        registry.register_collector(Box::new(logs));
        config.gates.register(&mut registry);
        build_metrics::register(&mut registry, config.gates.versions());
        let candidate = candidate(&config, &clients, &handles, &mut registry).await?;
        let queues = QueueMetrics::register(&mut registry);
        let watch_metrics = ListWatchMetrics::register(&mut registry, version::NAME);
        let cache = Arc::new(Cache::default());
        let mut parts = Parts { config: &config, cache: &cache, queues: &queues, registry: &mut registry };
        let stopping = watch::Sender::new(false);
        let prepare = |which: &Controller| {
            let client = clients.of_controller(*which).with_shutdown(stopping.subscribe());
            let client = match &candidate {
                Some(candidate) => client.with_leadership(candidate.leadership()),
                None => client,
            };
            parts.prepare(*which, client)
        };
        let controllers = config.controllers.iter().map(prepare).collect();

        let mut watches = ListWatches::new(reader, cache).with_metrics(watch_metrics);
        let delegation = config.gates.enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL);
        watches::start(&mut watches, &config.controllers, delegation);
        let caches = watches.caches();
        let phase = watch::Sender::new(Phase::Starting);
        let health = Health::new(&caches, &phase);
        if let Some(candidate) = &candidate {
            health.watch_election(candidate);
        }
        let mut server = JoinSet::new();
        if let Some(serving) = serving {
            let pages = serving::pages(&config, &health, Arc::new(registry));
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
            candidate,
            background,
            phase,
            stopping,
            healthz,
            shutdown_timeout: config.shutdown_timeout,
            handles,
        })
    }

    /// Works once it is our turn, until a signal; then finishes what is under way, and lets go of the Lease.
    async fn run(self, stop: &mut Stop) -> Result<(), ManagerError> {
        let Self {
            controllers,
            caches,
            candidate,
            mut background,
            phase,
            stopping,
            healthz,
            shutdown_timeout,
            handles,
        } = self;
        let mut lead = Lead::contend(candidate, &handles);
        let mut running = None;
        let start = || {
            for controller in &controllers {
                // Upstream has a check for each controller that was started, and it always passes.
                healthz.register(controller.name, || Ok(()));
            }
            running.insert(Running::start(controllers, &handles.work))
        };
        let outcome = tokio::select! {
            signal = stop.requested() => {
                info!(signal, "Stopping");
                Ok(())
            }
            ended = background.ended() => return Err(ManagerError::TaskEnded(ended)),
            failed = work(&mut lead, &caches, start, &phase) => match failed {
                // Nothing has been written, so that another may try at once.
                ManagerError::Behind(_) => Err(failed),
                _ => return Err(failed),
            },
        };
        phase.send_replace(Phase::Stopping);
        stopping.send_replace(true);
        let finish = async {
            let finished = match running {
                Some(running) => Running::stop(running, shutdown_timeout).await,
                None => true,
            };
            if finished {
                lead.release().await.map_err(ManagerError::LeaseLost)
            } else {
                lead.abandon();
                Ok(())
            }
        };
        tokio::select! {
            released = finish => outcome.and(released),
            signal = stop.requested() => Err(ManagerError::Impatience(signal)),
        }
    }
}

/// Who contends for the Lease, with connections of its own on the runtime of the election; none without an election.
async fn candidate(
    config: &Config,
    clients: &Clients<'_>,
    handles: &Handles,
    registry: &mut Registry,
) -> Result<Option<Candidate>, ManagerError> {
    let Some(election) = &config.leader_election else { return Ok(None) };
    let metrics = ElectionMetrics::register(registry);
    let client = {
        let _control = handles.control.enter();
        clients.unshared(ELECTION)?
    };
    let candidate = Candidate::new(election, client, clients.of(ELECTION), metrics);
    Ok(Some(candidate.look(handles).await?))
}

/// Waits for our turn and lets the controllers start; returns only if something goes wrong.
async fn work<'a>(
    lead: &mut Lead,
    caches: &Caches,
    start: impl FnOnce() -> &'a mut Running,
    phase: &watch::Sender<Phase>,
) -> ManagerError {
    phase.send_replace(Phase::Standby);
    match lead.turn().await {
        // Nobody else wrote since the cache was filled.
        Turn::Uncontested => {}
        Turn::Over => return ManagerError::LeaseLost(lead.lost().await),
        Turn::Won { alone_since } => {
            phase.send_replace(Phase::CatchingUp);
            tokio::select! {
                caught_up = caches.catch_up(alone_since) => if let Err(behind) = caught_up {
                    return behind.into();
                },
                why = lead.lost() => return ManagerError::LeaseLost(why),
            }
        }
    }
    let running = start();
    phase.send_replace(Phase::Running);
    tokio::select! {
        ended = running.ended() => ManagerError::TaskEnded(ended),
        why = lead.lost() => ManagerError::LeaseLost(why),
    }
}
