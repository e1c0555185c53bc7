//! The parts of a process that all examples have, without leader election: run one replica. `secondary-network-controller`
//! shows a process with an election.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::queue::{RateLimit, WorkQueue};
use controller_kit::recorder::Recorder;
use endpoint_informers::cache::Cache;
use endpoint_informers::controller::Controller;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::lifecycle::{ControllerTask, Lifecycle};
use endpoint_informers::list_watch::Informers;
use endpoint_informers::slices::SliceController;
use endpointslice::well_known::MANAGED_BY;
use endpointslice::{Node, Pod, Service};
use kube_api::{ApiClient, Encoding, connect};

/// The time for which changes of endpoints are batched.
pub(crate) const BATCH_PERIOD: Duration = Duration::from_millis(500);

/// Runs a controller on the cluster of the kubeconfig, until Ctrl-C.
pub(crate) async fn run_until_interrupted<C: Controller>(
    annotations: &[&str],
    controller: impl FnOnce(SliceController) -> C,
) -> Result<(), Box<dyn Error>> {
    let config = kube::Config::infer().await?;
    let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, C::NAME);
    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    run(client, annotations, controller, interrupted).await
}

/// Fills a cache that keeps these annotations of Services and pods, and runs a controller until `stop` ends. It is made from the
/// parts that every controller of slices has; its name is the value of the label `managed-by` of its slices.
pub(crate) async fn run<C: Controller>(
    client: ApiClient,
    annotations: &[&str],
    controller: impl FnOnce(SliceController) -> C,
    stop: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error>> {
    let cache = Arc::new(Cache::keeping_annotations(annotations.iter().copied()));
    let mut informers = Informers::new(client.clone(), Arc::clone(&cache));
    informers.start(informers.of::<Service>());
    informers.start(informers.of::<Pod>());
    informers.start(informers.of::<Node>());
    informers.start(informers.of::<CachedSlice>().with_label_selector(&format!("{MANAGED_BY}={}", C::NAME)));
    informers.caches().synced().await;
    let (recorder, events) = Recorder::new(client.clone(), C::NAME);
    let queue = WorkQueue::new(RateLimit::default());
    let slices = SliceController::new(C::NAME, cache, client, recorder, queue, BATCH_PERIOD);
    let controller = Arc::new(controller(slices.ignoring_annotations()));
    let lifecycle = Lifecycle::new(informers.caches(), [ControllerTask::new((controller, events))]);
    tokio::select! {
        outcome = lifecycle.run_until(stop) => Ok(outcome?),
        ended = informers.ended() => Err(ended.into()),
    }
}
