//! Where all parts meet: connect, watch, run the controllers, stop.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use controller_runtime::api::{ApiClient, ApiError, ConnectError, RateLimiter, connect};
use controller_runtime::cache::{Cache, CachedSlice};
use controller_runtime::error_chain;
use controller_runtime::kinds::Kind;
use controller_runtime::list_watch::{ListWatch, ListWatchMetrics, Timing};
use controller_runtime::queue::QueueMetrics;
use endpointslice::{Node, Pod, Service};
use endpointslice_controller::EndpointSliceController;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use crate::config::{ApiServer, Config};
use crate::options::{self, Options};
use crate::process_metrics::ProcessMetrics;
use crate::server::{self, Health};
use crate::{logging, version};

/// Why the manager could not run.
#[derive(Debug, thiserror::Error)]
enum ManagerError {
    #[error("--kubeconfig: cannot use {path}")]
    Kubeconfig { path: String, source: KubeconfigError },
    #[error("no --kubeconfig and no --master given, and not running inside a cluster")]
    NotInCluster(#[source] kube::config::InClusterError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the API server at {server} does not answer")]
    Unreachable { server: String, source: ApiError },
    #[error("--metrics-bind-address: cannot listen on {address}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error("cannot set up the runtime")]
    Runtime(#[source] std::io::Error),
    #[error("an internal task ended: {0}")]
    TaskEnded(String),
}

/// How long a starting API server is waited for (upstream: 10 s).
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long writes under way may take at the end (upstream's `--controller-shutdown-timeout`).
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs until a signal, and returns how the process should end: 0 after a signal, 1 if it could not run, 2 if it was
/// asked for something it can't do.
pub(crate) fn main(options: Options) -> ExitCode {
    let config = match Config::try_from(options) {
        Ok(config) => config,
        Err(reason) => return options::print_refusal(&reason),
    };
    logging::init(config.log_format, config.verbosity);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let outcome = runtime.map_err(ManagerError::Runtime).and_then(|runtime| {
        let outcome = runtime.block_on(run(config));
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "Error: {}", error_chain(&error));
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config) -> Result<(), ManagerError> {
    let mut stop = Stop::listen().map_err(ManagerError::Runtime)?;
    info!(version = version::VERSION, kubernetes = version::KUBERNETES, "Starting");
    let manager = tokio::select! {
        manager = Manager::start(config) => manager?,
        signal = stop.requested() => {
            info!(signal, "Stopped before the controllers ran");
            return Ok(());
        }
    };
    manager.run(&mut stop).await
}

/// Everything that runs once the cache is synced.
struct Manager {
    controller: Arc<EndpointSliceController>,
    /// List-watches and the server: they never end by themselves.
    background: JoinSet<String>,
    running: watch::Sender<bool>,
    events: Events,
}

/// The task that writes events; completing `stop` lets it write what is left.
struct Events {
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Manager {
    /// Connects, listens, and waits until the cache holds what the API server holds.
    async fn start(config: Config) -> Result<Self, ManagerError> {
        let kube_config = load(&config.api_server).await?;
        let client = connect(&kube_config)?;
        let api = |part: &str| ApiClient::new(client.clone(), config.encoding, &version::user_agent(part));
        let reader = api("shared-informers");
        wait_for_api_server(&reader, &kube_config).await?;
        let listener = listen(&config).await?;

        let mut registry = Registry::default();
        registry.register_collector(Box::new(ProcessMetrics));
        let queues = QueueMetrics::register(&mut registry);
        let watches = ListWatchMetrics::register(&mut registry);
        let cache = Arc::new(Cache::default());
        let writer = api("endpointslice-controller").with_limit(RateLimiter::new(config.qps, config.burst));
        let (controller, event_writer) = EndpointSliceController::new(
            config.endpointslice,
            Arc::clone(&cache),
            writer,
            &queues,
            &mut registry,
        );

        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(event_writer.run(async move { drop(stopped.await) }));
        let events = Events { task, stop };
        let mut background = JoinSet::new();
        let caches = Arc::new(watch_all(&mut background, &reader, &cache, &watches));
        let running = watch::Sender::new(false);
        let health = Health {
            caches: Arc::clone(&caches),
            running: running.subscribe(),
            registry: Arc::new(registry),
        };
        background.spawn(async move { format!("server: {:?}", server::serve(listener, health).await) });
        tokio::select! {
            () = all_synced(&caches) => {}
            ended = background.join_next() => return Err(ManagerError::TaskEnded(format!("{ended:?}"))),
        }
        let names: Vec<&str> = config.controllers.iter().map(|controller| controller.name()).collect();
        info!(controllers = names.join(","), "Caches are synced");
        Ok(Self { controller, background, running, events })
    }

    /// Runs the controller until a signal, then lets it finish what is under way.
    async fn run(mut self, stop: &mut Stop) -> Result<(), ManagerError> {
        let mut work = tokio::spawn(Arc::clone(&self.controller).run());
        self.running.send_replace(true);
        let signal = tokio::select! {
            signal = stop.requested() => signal,
            ended = self.background.join_next() => return Err(ManagerError::TaskEnded(format!("{ended:?}"))),
            ended = &mut work => return Err(ManagerError::TaskEnded(format!("controller: {ended:?}"))),
        };
        info!(signal, "Stopping");
        self.running.send_replace(false);
        self.controller.shut_down();
        if timeout(SHUTDOWN_TIMEOUT, work).await.is_err() {
            warn!("Writes under way did not finish in time");
        }
        // After the last sync, so that its events are among those written.
        let Events { task, stop } = self.events;
        drop(stop);
        if timeout(SHUTDOWN_TIMEOUT, task).await.is_err() {
            warn!("Events were not written in time");
        }
        Ok(())
    }
}

/// The signals that ask the process to end.
struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Stop {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for a signal and names it.
    async fn requested(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// The connection's configuration: a kubeconfig, else an address alone, else the cluster we run in.
async fn load(api_server: &ApiServer) -> Result<kube::Config, ManagerError> {
    let mut config = match (&api_server.kubeconfig, &api_server.master) {
        (Some(path), _) => {
            let failed = |source| ManagerError::Kubeconfig { path: path.display().to_string(), source };
            let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(failed)?
        }
        (None, Some(master)) => kube::Config::new(master.clone()),
        (None, None) => kube::Config::incluster().map_err(ManagerError::NotInCluster)?,
    };
    if let Some(master) = &api_server.master {
        config.cluster_url = master.clone();
    }
    Ok(config)
}

/// Asks for the version until there is an answer. A refusal is an answer: permissions may come later.
async fn wait_for_api_server(client: &ApiClient, config: &kube::Config) -> Result<(), ManagerError> {
    let start = Instant::now();
    loop {
        match client.get_raw("/version").await {
            Ok(_) | Err(ApiError::Refused(_)) => return Ok(()),
            Err(source) if start.elapsed() >= START_TIMEOUT => {
                return Err(ManagerError::Unreachable { server: config.cluster_url.to_string(), source });
            }
            Err(error) => warn!(err = error_chain(&error), "Waiting for the API server"),
        }
        sleep(Duration::from_secs(1)).await;
    }
}

async fn listen(config: &Config) -> Result<TcpListener, ManagerError> {
    let address = config.metrics_address;
    let failed = |source| ManagerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    info!(address = %listener.local_addr().map_err(failed)?, "Serving health and metrics");
    Ok(listener)
}

type Synced = (&'static str, watch::Receiver<bool>);

fn watch_all(
    tasks: &mut JoinSet<String>,
    client: &ApiClient,
    cache: &Arc<Cache>,
    metrics: &ListWatchMetrics,
) -> Vec<Synced> {
    vec![
        watch_kind::<Node>(tasks, client, cache, metrics),
        watch_kind::<Service>(tasks, client, cache, metrics),
        watch_kind::<CachedSlice>(tasks, client, cache, metrics),
        watch_kind::<Pod>(tasks, client, cache, metrics),
    ]
}

fn watch_kind<K: Kind>(
    tasks: &mut JoinSet<String>,
    client: &ApiClient,
    cache: &Arc<Cache>,
    metrics: &ListWatchMetrics,
) -> Synced {
    let list_watch = ListWatch::<K>::new(client.clone(), Arc::clone(cache), Timing::default());
    let list_watch = list_watch.with_metrics(metrics);
    let synced = list_watch.synced();
    tasks.spawn(async move {
        list_watch.run().await;
        format!("the watch of {} ended", K::RESOURCE)
    });
    (K::RESOURCE, synced)
}

async fn all_synced(caches: &[Synced]) {
    for (_, synced) in caches {
        // The sender lives as long as its list-watch, whose end is noticed elsewhere.
        let _ = synced.clone().wait_for(|synced| *synced).await;
    }
}
