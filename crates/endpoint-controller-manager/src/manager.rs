//! The life of the process: connect, fill the caches, acquire the Lease, run the controllers, stop.

use std::future::pending;
use std::process::ExitCode;
use std::sync::Arc;

use component_server::{Checks, register_process_metrics};
use controller_kit::election::LeaseEvents;
use controller_kit::environment::spawn_on;
use controller_kit::queue::QueueMetrics;
use controller_kit::recorder::EventType;
use endpoint_informers::lifecycle::{Lifecycle, LifecycleError, PendingElection, Phase};
use endpoint_informers::list_watch::{Informers, ListWatchMetrics};
use kube_api::{ApiClient, connect, error_chain};
use prometheus_client::registry::Registry;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tracing::{info, warn};
use tracing_appender::non_blocking::ErrorCounter;

use crate::api_clients::{ClientIdentity, Clients, Connect};
use crate::config::{Config, LeaderElection};
use crate::connection::server_version::Skew;
use crate::connection::{self, ConnectionError, wait_for_api_server};
use crate::controller_set::first_writes::FirstWrites;
use crate::controller_set::{ControllerDeps, ControllerSet, ControllerState, informers};
use crate::disruption::{self, DisruptionEvents};
use crate::metrics::{build, client_certificate, foreign_writes, running_controllers, runtime};
use crate::runtimes::{Handles, Runtimes};
use crate::server::health::Health;
use crate::server::service_states::ServicePages;
use crate::server::{self, Serving, ServingError};
use crate::shadow::Shadow;
use crate::signals::{Approvals, StopSignals};
use crate::takeover::{ApprovingLease, TakeoverGate};
use crate::{leader_election, logging, version};

/// Reasons for ending with an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManagerError {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Serving(#[from] ServingError),
    #[error("cannot start threads and signal handlers")]
    Runtime(#[source] std::io::Error),
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    #[error("an internal task ended: {0}")]
    TaskEnded(String),
    #[error("an internal task ended")]
    Panicked(#[from] JoinError),
    #[error("received a second signal ({0}); exiting without waiting")]
    SecondSignal(&'static str),
}

/// Runs until a signal. The exit code is 0 after a signal, 1 after an error or the loss of the Lease.
pub(crate) fn main(config: Config) -> ExitCode {
    let format = config.log_format;
    let mut logs = logging::init(format, config.verbosity);
    match run_here(config, logs.dropped(), None, pending()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logs.write_failure(format, &error_chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Runs a process with the runtimes and signals of the system, until one of them or `end`.
pub(crate) fn run_here(
    config: Config,
    logs: ErrorCounter,
    shadow: Option<Arc<Shadow>>,
    end: impl Future<Output = ()>,
) -> Result<(), ManagerError> {
    config.log();
    Runtimes::start().map_err(ManagerError::Runtime)?.run(|handles| async {
        let stop = StopSignals::listen().map_err(ManagerError::Runtime)?;
        let context = ProcessContext {
            handles,
            connect: Arc::new(connect),
            logs: Some(logs),
            metrics: None,
            controller_states: None,
            shadow,
            approvals: Approvals::listen().map_err(ManagerError::Runtime)?,
        };
        tokio::select! {
            biased;
            ended = run(config, context, stop) => ended,
            () = end => Ok(()),
        }
    })
}

/// The parts of the system that a process uses.
pub(crate) struct ProcessContext {
    pub(crate) handles: Handles,
    pub(crate) connect: Connect,
    /// Counts log lines, if this process writes them.
    pub(crate) logs: Option<ErrorCounter>,
    /// Receives the metrics if they are not served.
    pub(crate) metrics: Option<oneshot::Sender<Arc<Registry>>>,
    /// Receives the state of each controller.
    pub(crate) controller_states: Option<oneshot::Sender<Vec<ControllerState>>>,
    /// Receives what the controllers would write, instead of the API server.
    pub(crate) shadow: Option<Arc<Shadow>>,
    /// Those of the operator.
    pub(crate) approvals: Approvals,
}

/// Runs a process until `stop`.
pub(crate) async fn run(
    config: Config,
    context: ProcessContext,
    mut stop: StopSignals,
) -> Result<(), ManagerError> {
    info!(version = version::VERSION, commit = version::COMMIT, kubernetes = version::KUBERNETES, "Starting");
    // Clients belong to the runtime in which they are made.
    let work = context.handles.work.clone();
    let start = spawn_on(&work, Manager::start(config, context));
    let manager = tokio::select! {
        biased;
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
    /// Of the controllers.
    names: Vec<&'static str>,
    lifecycle: Lifecycle,
    background: Background,
    /// Tells the clients of controllers that the process shuts down.
    stopping: watch::Sender<bool>,
    healthz: Checks,
    /// For an event about the Lease.
    skew: Option<(Skew, LeaseEvents)>,
    takeover: Option<TakeoverGate>,
    /// About the Lease, of disruptions.
    disruptions: Option<DisruptionEvents>,
}

/// Tasks that run until the process ends.
struct Background {
    watches: Informers,
    /// The server and what looks after the client certificate, if there are any.
    tasks: JoinSet<String>,
}

impl Background {
    /// Waits for `end`; fails if a task ends before.
    async fn run_until(&mut self, end: impl Future<Output = ()>) -> Result<(), ManagerError> {
        tokio::select! {
            biased;
            () = end => Ok(()),
            ended = self.ended() => Err(ManagerError::TaskEnded(ended)),
        }
    }

    /// Waits for one that ends nevertheless, and describes it.
    async fn ended(&mut self) -> String {
        tokio::select! {
            biased;
            ended = self.watches.ended() => ended,
            Some(ended) = self.tasks.join_next() => ended.unwrap_or_else(|error| error.to_string()),
        }
    }
}

impl Manager {
    /// Connects, listens, and waits until the caches are synced.
    async fn start(config: Config, context: ProcessContext) -> Result<Self, ManagerError> {
        let ProcessContext { handles, connect, logs, metrics, controller_states, shadow, approvals } =
            context;
        let (config, shadow) = (&config, shadow.as_deref());
        let mut registry = Registry::default();
        let identity = ClientIdentity::new(config, &mut registry);
        let serving = Serving::prepare(&config.server, &identity, &handles.server).await?;
        let kube_config = connection::load(&config.api_server, shadow.is_some()).await?;
        let clients = Clients::new(config, &identity, &kube_config, &connect)?;
        let clients = if shadow.is_some() { clients.read_only() } else { clients };
        let reader = clients.unshared("shared-informers")?;
        let version = wait_for_api_server(&reader, &kube_config).await?;
        let skew = version.and_then(|version| version.skew(config.gates.versions()));
        let skew = skew.inspect(|skew| warn!("{skew}"));

        register_metrics(config, logs, shadow, &handles, &mut registry);
        let election = leader_election::pending(config, &clients, &handles, &mut registry)?;
        // Before the lists are requested, so that they may count for a new leader.
        let election = match election {
            Some(election) => Some(election.observe().await?),
            None => None,
        };
        let queues = QueueMetrics::register(&mut registry);
        let watch_metrics = ListWatchMetrics::register(&mut registry, version::NAME);
        let cache = Arc::new(informers::cache(config));
        cache.register_metrics(&mut registry);
        disruption::register(config, &cache, &mut registry);
        let lease_events = election.as_ref().map(PendingElection::lease_events);
        let disruptions =
            lease_events.clone().and_then(|events| DisruptionEvents::new(config, &cache, events));
        let skew = skew.zip(lease_events);
        let deps = ControllerDeps { config, cache: &cache, queues: &queues, registry: &mut registry, shadow };
        let stopping = watch::Sender::new(false);
        let set = controllers(deps, &clients, &stopping, election.as_ref());
        let ControllerSet { tasks: controllers, first_writes, states, queues, foreign_writes } = set;
        foreign_writes::register(foreign_writes, &mut registry);
        offer(controller_states, || states);

        let mut watches = Informers::new(reader, Arc::clone(&cache)).with_metrics(watch_metrics);
        informers::start(&mut watches, config);
        let caches = watches.caches();
        let phase = watch::Sender::new(Phase::Starting);
        let health = Health::new(&caches, &phase);
        // The controllers of a shadow write nothing.
        if shadow.is_none() {
            running_controllers::register(config.controllers.clone(), phase.subscribe(), &mut registry);
        }
        if let Some((election, config)) = election.as_ref().zip(config.leader_election.as_ref()) {
            health.watch_election(&election.leadership(), config);
        }
        let takeover = takeover_gate(config, first_writes, approvals, &health, election.as_ref(), &clients);
        let mut tasks = client_certificate::register(&kube_config, &mut registry, &handles.server);
        let registry = Arc::new(registry);
        if let Some(serving) = serving {
            let pages = disruption::show(config, &cache, server::pages(config, &health, registry));
            let services = ServicePages { queues, cache, phase: phase.subscribe() };
            tasks.spawn_on(serving.run(services.add_to(pages)), &handles.server);
        } else {
            offer(metrics, || registry);
        }
        let mut background = Background { watches, tasks };
        background.run_until(caches.synced()).await?;
        let lifecycle = Lifecycle::new(caches, controllers)
            .with_phase(phase)
            .with_shutdown_timeout(config.shutdown_timeout);
        let names: Vec<&'static str> = config.controllers.iter().map(|which| which.name()).collect();
        info!(controllers = names.join(","), "Caches are synced");
        let lifecycle = election.into_iter().fold(lifecycle, Lifecycle::with_election);
        let healthz = health.healthz;
        Ok(Self { names, lifecycle, background, stopping, healthz, skew, takeover, disruptions })
    }

    /// Runs the controllers while the Lease is held, until a signal; then finishes writes in progress and releases the
    /// Lease.
    async fn run(self, stop: &mut StopSignals) -> Result<(), ManagerError> {
        let Self { names, mut lifecycle, mut background, stopping, healthz, skew, takeover, disruptions } =
            self;
        let outcome = tokio::select! {
            biased;
            signal = stop.received() => {
                info!(signal, "Received a signal; shutting down");
                Ok(())
            }
            ended = background.ended() => return Err(ManagerError::TaskEnded(ended)),
            failed = lead_and_work(&names, &mut lifecycle, &healthz, skew, takeover, disruptions) => match failed {
                // Nothing has been written, so the Lease is released and another replica may try at once.
                LifecycleError::Relist(_) => Err(failed.into()),
                _ => return Err(failed.into()),
            },
        };
        stopping.send_replace(true);
        tokio::select! {
            biased;
            released = lifecycle.stop() => outcome.and(released.map_err(ManagerError::from)),
            signal = stop.received() => Err(ManagerError::SecondSignal(signal)),
        }
    }
}

/// The controllers of the configuration, whose clients write nothing without the Lease, nor after the end.
fn controllers(
    mut deps: ControllerDeps<'_>,
    clients: &Clients<'_>,
    stopping: &watch::Sender<bool>,
    election: Option<&PendingElection>,
) -> ControllerSet {
    let mut set = ControllerSet::default();
    for which in &deps.config.controllers {
        let client = clients.of_controller(*which).with_shutdown(stopping.subscribe());
        let leadership = election.map(PendingElection::leadership).into_iter();
        deps.prepare(*which, leadership.fold(client, ApiClient::with_leadership), &mut set);
    }
    set
}

/// Sends a value that may be asked for.
fn offer<T>(receiver: Option<oneshot::Sender<T>>, value: impl FnOnce() -> T) {
    if let Some(receiver) = receiver {
        // Nothing is lost if the receiver is gone.
        let _ = receiver.send(value());
    }
}

/// Registers the metrics of the process, its build and its gates, and of the shadow that it may be.
fn register_metrics(
    config: &Config,
    logs: Option<ErrorCounter>,
    shadow: Option<&Shadow>,
    handles: &Handles,
    registry: &mut Registry,
) {
    runtime::register(handles, registry);
    register_process_metrics(registry);
    if let Some(logs) = logs {
        logging::register(logs, registry);
    }
    config.gates.register(registry);
    build::register(registry, config.gates.versions());
    if let Some(shadow) = shadow {
        shadow.register(registry);
    }
}

/// The gate that the configuration asks for.
fn takeover_gate(
    config: &Config,
    first_writes: FirstWrites,
    approvals: Approvals,
    health: &Health,
    election: Option<&PendingElection>,
    clients: &Clients<'_>,
) -> Option<TakeoverGate> {
    let max_writes = config.takeover_max_writes?;
    let lease = election.zip(config.leader_election.as_ref()).map(|(election, lease)| {
        let LeaderElection { namespace, name, .. } = lease;
        (ApprovingLease::new(clients.of("takeover"), namespace, name), election.lease_events())
    });
    Some(TakeoverGate::new(max_writes, first_writes, approvals, &health.readyz, lease))
}

/// Runs the controllers once this process leads; returns only after a failure.
async fn lead_and_work(
    names: &[&'static str],
    lifecycle: &mut Lifecycle,
    healthz: &Checks,
    skew: Option<(Skew, LeaseEvents)>,
    takeover: Option<TakeoverGate>,
    disruptions: Option<DisruptionEvents>,
) -> LifecycleError {
    if let Err(failed) = lifecycle.lead().await {
        return failed;
    }
    if let Some((skew, events)) = skew {
        events.event(EventType::Warning, "UnsupportedVersion", skew.to_string());
    }
    if let Some(gate) = takeover
        && let Err(lost) = gate.pass(lifecycle).await
    {
        return lost;
    }
    for name in names {
        // Upstream has a check for each controller that was started, and it always passes.
        healthz.register(name, || Ok(()));
    }
    tokio::select! {
        biased;
        failed = lifecycle.work() => failed,
        never = disruption::report(disruptions) => match never {},
    }
}
