//! The controllers that run here, all treated alike.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::queue::{QueueMetrics, WorkQueue};
use controller_kit::recorder::EventWriter;
use endpoint_informers::cache::{Cache, ObjectKey};
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

/// How long the last events may take, whatever is left.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);

/// A controller that has not begun yet.
pub(crate) struct Prepared {
    pub(crate) name: &'static str,
    /// Works until the queue is shut down.
    run: BoxFuture<'static, ()>,
    queue: WorkQueue<ObjectKey>,
    events: EventWriter,
}

/// What controllers are made from.
pub(crate) struct Parts<'a> {
    pub(crate) config: &'a Config,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) queues: &'a QueueMetrics,
    pub(crate) registry: &'a mut Registry,
}

impl Parts<'_> {
    /// One controller, whose requests go through `client`.
    pub(crate) fn prepare(&mut self, which: Controller, client: ApiClient) -> Prepared {
        let Self { config, cache, queues, registry } = self;
        let cache = Arc::clone(cache);
        match which {
            Controller::Endpoints => {
                Prepared::new(EndpointsController::new(config.endpoints, cache, client, queues))
            }
            Controller::EndpointSlice => {
                let new = EndpointSliceController::new;
                Prepared::new(new(config.endpointslice, cache, client, queues, registry))
            }
            Controller::EndpointSliceMirroring => {
                let new = EndpointSliceMirroringController::new;
                Prepared::new(new(config.mirroring, cache, client, queues, registry))
            }
        }
    }
}

impl Prepared {
    fn new<C: controller::Controller>((controller, events): (Arc<C>, EventWriter)) -> Self {
        let queue = controller.queue().clone();
        Self { name: C::NAME, run: Box::pin(controller::run(controller)), queue, events }
    }
}

/// Controllers at work.
pub(crate) struct Running {
    /// They end by themselves only when shut down; each yields its name.
    work: JoinSet<&'static str>,
    queues: Vec<WorkQueue<ObjectKey>>,
    events: JoinSet<()>,
    /// Becomes true when no more events will come.
    quiet: watch::Sender<bool>,
}

impl Running {
    /// Lets them begin.
    pub(crate) fn start(controllers: Vec<Prepared>, work: &Handle) -> Self {
        let quiet = watch::Sender::new(false);
        let mut running = Self { work: JoinSet::new(), queues: Vec::new(), events: JoinSet::new(), quiet };
        for Prepared { name, run, queue, events } in controllers {
            let run = async move {
                run.await;
                name
            };
            running.work.spawn_on(run, work);
            running.queues.push(queue);
            let mut quiet = running.quiet.subscribe();
            let events = events.run(async move { drop(quiet.wait_for(|quiet| *quiet).await) });
            running.events.spawn_on(events, work);
        }
        running
    }

    /// Says which controller has ended although nobody asked it to.
    pub(crate) async fn ended(&mut self) -> String {
        match self.work.join_next().await {
            Some(Ok(name)) => format!("the {name} ended"),
            Some(Err(error)) => format!("a controller ended: {error}"),
            None => "there is no controller".to_owned(),
        }
    }

    /// Lets writes under way finish, for at most `limit`, and then the events about them, for what is left of it and
    /// 2 s at least: the Lease waits meanwhile, and all has to end before the kubelet's patience does. False if some write
    /// did not finish: it is given up, and may arrive nevertheless.
    pub(crate) async fn stop(mut self, limit: Duration) -> bool {
        let start = Instant::now();
        self.queues.iter().for_each(WorkQueue::shut_down);
        let finished = timeout(limit, all(&mut self.work)).await.is_ok();
        if !finished {
            warn!("Writes under way did not finish in time");
        }
        // After the last sync, so that its events are among those written.
        self.quiet.send_replace(true);
        let left = limit.saturating_sub(start.elapsed()).max(EVENTS_TIMEOUT);
        if timeout(left, all(&mut self.events)).await.is_err() {
            warn!("Events were not written in time");
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

    fn running(work: BoxFuture<'static, ()>) -> Running {
        let mut tasks = JoinSet::new();
        tasks.spawn(async {
            work.await;
            "controller"
        });
        let quiet = watch::Sender::new(false);
        Running { work: tasks, queues: Vec::new(), events: JoinSet::new(), quiet }
    }

    /// As with an API server that hangs: the Lease must be released before the process is killed.
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
    async fn whoever_stops_is_told_whether_all_writes_finished() {
        assert!(running(Box::pin(tokio::time::sleep(LIMIT / 2))).stop(LIMIT).await);
        assert!(!running(Box::pin(pending())).stop(LIMIT).await);
    }
}
