//! The controllers of this process, all run alike.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{QueueMetrics, WorkQueue};
use controller_kit::recorder::EventWriter;
use endpoint_informers::cache::Cache;
use endpoint_informers::controller;
use endpoints_controller::EndpointsController;
use endpointslice_controller::EndpointSliceController;
use endpointslice_mirroring_controller::EndpointSliceMirroringController;
use futures::future::BoxFuture;
use kube_api::ApiClient;
use prometheus_client::registry::Registry;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::config::Config;
use crate::controllers::Controller;

/// At least this long for the last events.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);

/// A controller that has not started.
pub(crate) struct ControllerTask {
    pub(crate) name: &'static str,
    /// Runs until the queue is shut down.
    run: BoxFuture<'static, ()>,
    queue: WorkQueue<ObjectKey>,
    events: EventWriter,
}

impl ControllerTask {
    fn new<C: controller::Controller>((controller, events): (Arc<C>, EventWriter)) -> Self {
        let queue = controller.queue().clone();
        Self { name: C::NAME, run: Box::pin(controller::run(controller)), queue, events }
    }
}

/// The parts that controllers share.
pub(crate) struct ControllerDeps<'a> {
    pub(crate) config: &'a Config,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) queues: &'a QueueMetrics,
    pub(crate) registry: &'a mut Registry,
}

impl ControllerDeps<'_> {
    /// One controller, whose requests go through `client`.
    pub(crate) fn prepare(&mut self, which: Controller, client: ApiClient) -> ControllerTask {
        let Self { config, cache, queues, registry } = self;
        let cache = Arc::clone(cache);
        match which {
            Controller::Endpoints => {
                ControllerTask::new(EndpointsController::new(config.endpoints, cache, client, queues))
            }
            Controller::EndpointSlice => {
                let new = EndpointSliceController::new;
                ControllerTask::new(new(config.endpointslice, cache, client, queues, registry))
            }
            Controller::EndpointSliceMirroring => {
                let new = EndpointSliceMirroringController::new;
                ControllerTask::new(new(config.mirroring, cache, client, queues, registry))
            }
        }
    }
}

/// The running controllers.
pub(crate) struct ControllerSet {
    /// Each ends only after the shutdown of its queue, and yields its name.
    controllers: JoinSet<&'static str>,
    queues: Vec<WorkQueue<ObjectKey>>,
    events: JoinSet<()>,
    /// Becomes true when no more events will come.
    no_more_events: watch::Sender<bool>,
}

impl ControllerSet {
    /// Starts the controllers.
    pub(crate) fn start(tasks: Vec<ControllerTask>, runtime: &Handle) -> Self {
        let mut set = Self {
            controllers: JoinSet::new(),
            queues: Vec::new(),
            events: JoinSet::new(),
            no_more_events: watch::Sender::new(false),
        };
        for ControllerTask { name, run, queue, events } in tasks {
            let run = async move {
                run.await;
                name
            };
            set.controllers.spawn_on(run, runtime);
            set.queues.push(queue);
            let mut no_more_events = set.no_more_events.subscribe();
            let events = events.run(async move { drop(no_more_events.wait_for(|ended| *ended).await) });
            set.events.spawn_on(events, runtime);
        }
        set
    }

    /// Waits for a controller that ends without having been shut down, and describes it.
    pub(crate) async fn ended(&mut self) -> String {
        match self.controllers.join_next().await {
            Some(Ok(name)) => format!("the {name} ended"),
            Some(Err(error)) => format!("a controller ended: {error}"),
            None => "no controller is running".to_owned(),
        }
    }

    /// Shuts the controllers down. Writes in progress may take `limit`, and the events about them the rest of it, 2 s at
    /// least: the Lease waits meanwhile, and everything has to end before the kubelet kills the process. Returns false if
    /// some write did not finish: it is given up, and may still arrive.
    pub(crate) async fn stop(mut self, limit: Duration) -> bool {
        let start = Instant::now();
        self.queues.iter().for_each(WorkQueue::shut_down);
        let finished = timeout(limit, all(&mut self.controllers)).await.is_ok();
        if !finished {
            warn!(timeout = ?limit, "Writes in progress did not finish before the shutdown timeout");
        }
        // After the last sync, so that its events are among those written.
        self.no_more_events.send_replace(true);
        let left = limit.saturating_sub(start.elapsed()).max(EVENTS_TIMEOUT);
        if timeout(left, all(&mut self.events)).await.is_err() {
            warn!(timeout = ?left, "Events were not written before the shutdown timeout");
        }
        finished
    }
}

async fn all<T: 'static>(tasks: &mut JoinSet<T>) {
    while tasks.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn running(work: BoxFuture<'static, ()>) -> ControllerSet {
        let mut controllers = JoinSet::new();
        controllers.spawn(async {
            work.await;
            "controller"
        });
        let no_more_events = watch::Sender::new(false);
        ControllerSet { controllers, queues: Vec::new(), events: JoinSet::new(), no_more_events }
    }

    /// With an API server that hangs, the Lease must be released before the process is killed.
    #[tokio::test(start_paused = true)]
    async fn writes_and_events_share_one_limit() {
        for (write, all) in [(1, 10), (9, 11), (60, 12)] {
            let mut running = running(Box::pin(tokio::time::sleep(Duration::from_secs(write))));
            running.events.spawn(pending());
            let start = Instant::now();
            running.stop(LIMIT).await;
            assert_eq!(start.elapsed(), Duration::from_secs(all), "a write of {write} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stop_returns_whether_all_writes_finished() {
        assert!(running(Box::pin(tokio::time::sleep(LIMIT / 2))).stop(LIMIT).await);
        assert!(!running(Box::pin(pending())).stop(LIMIT).await);
    }
}
