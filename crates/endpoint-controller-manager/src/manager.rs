//! Where all parts meet: connect, watch, run the controllers, stop.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use controller_runtime::api::{ApiClient, ApiError, ConnectError, RateLimiter, connect};
use controller_runtime::cache::Cache;
use controller_runtime::error_chain;
use controller_runtime::list_watch::ListWatchMetrics;
use controller_runtime::queue::QueueMetrics;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::config::{ApiServer, Config};
use crate::controllers::Controller;
use crate::options::{self, Options};
use crate::process_metrics::ProcessMetrics;
use crate::running::{Parts, Prepared, Running};
use crate::server::{self, Health};
use crate::watches::{Watches, all_synced};
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

/// Runs until a signal, and returns how the process should end: 0 after a signal, 1 if it could not run.
pub(crate) fn main(options: Options) -> ExitCode {
    let config = match Config::try_from(options) {
        Ok(config) => config,
        Err(reason) => return options::print_refusal(&reason),
    };
    logging::init(config.log_format, config.verbosity);
    config.log();
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
    controllers: Vec<Prepared>,
    /// List-watches and the server: they never end by themselves.
    background: JoinSet<String>,
    running: watch::Sender<bool>,
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
        config.gates.register(&mut registry);
        let queues = QueueMetrics::register(&mut registry);
        let watch_metrics = ListWatchMetrics::register(&mut registry);
        let cache = Arc::new(Cache::default());
        let mut parts = Parts { config: &config, cache: &cache, queues: &queues, registry: &mut registry };
        let prepare = |which: &Controller| {
            let client = api(which.client()).with_limit(RateLimiter::new(config.qps, config.burst));
            parts.prepare(*which, client)
        };
        let controllers = config.controllers.iter().map(prepare).collect();

        let mut background = JoinSet::new();
        let watches =
            Watches { tasks: &mut background, client: &reader, cache: &cache, metrics: &watch_metrics };
        let caches = Arc::new(watches.start(&config.controllers));
        let running = watch::Sender::new(false);
        let health = Health {
            caches: Arc::clone(&caches),
            running: running.subscribe(),
            registry: Arc::new(registry),
            disabled_metrics: config.disabled_metrics.into(),
        };
        background.spawn(async move { format!("server: {:?}", server::serve(listener, health).await) });
        tokio::select! {
            () = all_synced(&caches) => {}
            ended = background.join_next() => return Err(ManagerError::TaskEnded(format!("{ended:?}"))),
        }
        let names: Vec<&str> = config.controllers.iter().map(|controller| controller.name()).collect();
        info!(controllers = names.join(","), "Caches are synced");
        Ok(Self { controllers, background, running })
    }

    /// Runs the controllers until a signal, then lets them finish what is under way.
    async fn run(mut self, stop: &mut Stop) -> Result<(), ManagerError> {
        let mut controllers = Running::start(self.controllers);
        self.running.send_replace(true);
        let signal = tokio::select! {
            signal = stop.requested() => signal,
            ended = self.background.join_next() => return Err(ManagerError::TaskEnded(format!("{ended:?}"))),
            ended = controllers.ended() => return Err(ManagerError::TaskEnded(ended)),
        };
        info!(signal, "Stopping");
        self.running.send_replace(false);
        controllers.stop(SHUTDOWN_TIMEOUT).await;
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
