//! The process: fills the cache, and runs the controller while it is the leader.

use std::error::Error;
use std::sync::Arc;

use controller_kit::election::{Config, ElectionMetrics, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use endpoint_informers::cache::Cache;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::lifecycle::{ControllerTask, Lifecycle, PendingElection};
use endpoint_informers::list_watch::Informers;
use endpointslice::well_known::MANAGED_BY;
use endpointslice::{Node, Pod, Service};
use kube_api::{ApiClient, Encoding, connect};
use secondary_network_controller::{ANNOTATIONS, NAME, SecondaryNetworkController};
use tokio::signal::unix::{SignalKind, signal};

/// Runs until SIGTERM, or fails when leadership is lost: start a new process then.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().init();
    let mut terminate = signal(SignalKind::terminate())?;
    let config = kube::Config::infer().await?;
    let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, NAME);

    let cache = Arc::new(Cache::keeping_annotations(ANNOTATIONS));
    let mut informers = Informers::new(client.clone(), Arc::clone(&cache));
    informers.start(informers.of::<Service>());
    informers.start(informers.of::<Pod>());
    informers.start(informers.of::<Node>());
    informers.start(informers.of::<CachedSlice>().with_label_selector(&format!("{MANAGED_BY}={NAME}")));
    informers.caches().synced().await;

    let lock = LeaseLock::new(client.clone(), &config.default_namespace, NAME);
    let events = Recorder::new(client.clone(), NAME);
    let (identity, metrics) = (Identity::unique(NAME), ElectionMetrics::default());
    let election = PendingElection::new(Config::default(), lock, identity, events, metrics);
    let client = client.with_leadership(election.leadership());
    let controller = ControllerTask::new(SecondaryNetworkController::new(cache, client));

    let terminated = async move {
        terminate.recv().await;
    };
    let lifecycle = Lifecycle::new(informers.caches(), [controller]).with_election(election);
    tokio::select! {
        outcome = lifecycle.run_until(terminated) => Ok(outcome?),
        ended = informers.ended() => Err(ended.into()),
    }
}
