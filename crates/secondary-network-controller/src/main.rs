//! The process: fills the cache, and runs the controller while it leads.

use std::error::Error;
use std::future::pending;
use std::sync::Arc;

use controller_kit::election::{Config, ElectionMetrics, Elector, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use endpoint_informers::cache::{Cache, CachedSlice};
use endpoint_informers::controller::{Controller as _, run};
use endpoint_informers::lead::lead;
use endpoint_informers::list_watch::ListWatches;
use endpointslice::well_known::MANAGED_BY;
use endpointslice::{Node, Pod, Service};
use kube_api::{ApiClient, Encoding, connect};
use secondary_network_controller::{ANNOTATIONS, NAME, SecondaryNetworkController};
use tokio::signal::unix::{SignalKind, signal};

/// Runs until SIGTERM, or fails when leadership is lost: the next process starts afresh.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().init();
    let mut terminate = signal(SignalKind::terminate())?;
    let config = kube::Config::infer().await?;
    let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, NAME);

    let cache = Arc::new(Cache::keeping_annotations(ANNOTATIONS));
    let mut watches = ListWatches::new(client.clone(), Arc::clone(&cache));
    watches.start(watches.of::<Service>());
    watches.start(watches.of::<Pod>());
    watches.start(watches.of::<Node>());
    watches.start(watches.of::<CachedSlice>().with_label_selector(&format!("{MANAGED_BY}={NAME}")));
    let caches = watches.caches();
    caches.synced().await;

    let (recorder, events) = Recorder::new(client.clone(), NAME);
    tokio::spawn(events.run(pending()));
    let lock = LeaseLock::new(client.clone(), &config.default_namespace, NAME);
    let identity = Identity::unique(NAME);
    let metrics = ElectionMetrics::default();
    let (elector, leadership) = Elector::new(Config::default(), lock, identity, recorder.clone(), metrics);
    let client = client.with_leadership(leadership.clone());
    let controller = SecondaryNetworkController::new(cache, client, recorder);

    let terminated = async move {
        terminate.recv().await;
    };
    let queue = controller.queue().clone();
    tokio::select! {
        led = lead(elector, &leadership, &caches, run(controller), terminated, || queue.shut_down()) => Ok(led?),
        ended = watches.ended() => Err(ended.into()),
    }
}
