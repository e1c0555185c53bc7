//! Controllers as tasks.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::environment::spawn_in;
use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::recorder::EventWriter;
use kube_api::time::{Instant, timeout};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use crate::controller::{Controller, run};
use crate::pending::WritePolicy;

/// The minimum time for the events of the last syncs, and the time for the last event about the Lease.
pub(super) const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);

/// A controller that has not started yet.
pub struct ControllerTask {
    name: &'static str,
    /// Ends when the queue is shut down.
    run: Pin<Box<dyn Future<Output = ()> + Send>>,
    queue: WorkQueue<ObjectKey>,
    events: EventWriter,
}

impl ControllerTask {
    /// A controller with up to `in_flight` syncs at the same time ([`run`]), which a policy, if there is one, allows, postpones or
    /// skips, and the task that writes its events.
    pub fn new<C: Controller>(
        (controller, events): (Arc<C>, EventWriter),
        in_flight: usize,
        policy: Option<Arc<dyn WritePolicy>>,
    ) -> Self {
        let queue = controller.parts().queue.clone();
        let run = Box::pin(run(controller, in_flight, policy));
        Self { name: C::NAME, run, queue, events }
    }
}

/// Controllers at work.
pub(super) struct RunningControllers {
    /// Yields the name of each controller that ends.
    controllers: JoinSet<&'static str>,
    queues: Vec<WorkQueue<ObjectKey>>,
    events: JoinSet<()>,
    /// Becomes true when no more events will be recorded.
    last_event: watch::Sender<bool>,
}

impl RunningControllers {
    pub(super) fn start(tasks: Vec<ControllerTask>, runtime: &Handle) -> Self {
        let (mut controllers, mut queues, mut events) = (JoinSet::new(), Vec::new(), JoinSet::new());
        let last_event = watch::Sender::new(false);
        for ControllerTask { name, run, queue, events: writer } in tasks {
            let run = async move {
                run.await;
                name
            };
            spawn_in(&mut controllers, runtime, run);
            queues.push(queue);
            let mut last_event = last_event.subscribe();
            let writer = writer.run(async move { drop(last_event.wait_for(|last| *last).await) });
            spawn_in(&mut events, runtime, writer);
        }
        Self { controllers, queues, events, last_event }
    }

    /// Waits until a controller ends by itself, and describes that.
    pub(super) async fn ended(&mut self) -> String {
        match self.controllers.join_next().await {
            Some(Ok(name)) => format!("the {name} ended"),
            Some(Err(error)) => format!("a controller ended: {error}"),
            None => "no controller is running".to_owned(),
        }
    }

    /// Shuts the controllers down. Writes in progress may take `limit`, and the events about them the rest of it, at least
    /// 2 s: the Lease waits meanwhile, and everything has to end before the kubelet kills the process. Returns false if
    /// some write did not finish: it is cancelled, and may still arrive.
    pub(super) async fn stop(mut self, limit: Duration) -> bool {
        let start = Instant::now();
        self.queues.iter().for_each(WorkQueue::shut_down);
        let finished = timeout(limit, join_all(&mut self.controllers)).await.is_ok();
        if !finished {
            warn!(timeout = ?limit, "Writes in progress did not finish before the shutdown timeout");
        }
        self.last_event.send_replace(true);
        let left = limit.saturating_sub(start.elapsed()).max(EVENTS_TIMEOUT);
        if timeout(left, join_all(&mut self.events)).await.is_err() {
            warn!(timeout = ?left, "Events were not written before the shutdown timeout");
        }
        finished
    }
}

async fn join_all<T: 'static>(tasks: &mut JoinSet<T>) {
    while tasks.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn running(sync: impl Future<Output = ()> + Send + 'static) -> RunningControllers {
        let mut controllers = JoinSet::new();
        controllers.spawn(async {
            sync.await;
            "controller"
        });
        let last_event = watch::Sender::new(false);
        RunningControllers { controllers, queues: Vec::new(), events: JoinSet::new(), last_event }
    }

    /// With an API server that doesn't respond, the Lease must be released before the process is killed.
    #[tokio::test(start_paused = true)]
    async fn writes_and_events_share_one_limit() {
        for (write, all) in [(1, 10), (9, 11), (60, 12)] {
            let mut running = running(tokio::time::sleep(Duration::from_secs(write)));
            running.events.spawn(pending());
            let start = Instant::now();
            running.stop(LIMIT).await;
            assert_eq!(start.elapsed(), Duration::from_secs(all), "a write of {write} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stop_returns_whether_all_writes_finished() {
        assert!(running(tokio::time::sleep(LIMIT / 2)).stop(LIMIT).await);
        assert!(!running(pending()).stop(LIMIT).await);
    }
}
