//! Whether a connection is still good for something.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

#[derive(Clone, Copy, Default)]
struct State {
    /// Requests without an answer yet.
    in_progress: usize,
    /// Nothing more is wanted from the client.
    is_done: bool,
}

/// What happens on one connection. Clones speak about the same one.
#[derive(Clone, Default)]
pub(super) struct Activity(watch::Sender<State>);

/// A request in progress, until it is dropped.
pub(super) struct InProgress(Activity);

impl Activity {
    /// A request begins.
    pub(super) fn begin(&self) -> InProgress {
        self.0.send_modify(|state| state.in_progress += 1);
        InProgress(self.clone())
    }

    /// Nothing more is wanted from the client after what is in progress.
    pub(super) fn finish(&self) {
        self.0.send_modify(|state| state.is_done = true);
    }

    /// Returns when the connection should end: it is done with, or was without requests for too long, or the server
    /// stops.
    pub(super) async fn end(&self, idle: Duration, mut stopping: watch::Receiver<bool>) {
        let mut changes = self.0.subscribe();
        loop {
            let State { in_progress, is_done } = *changes.borrow_and_update();
            if is_done {
                return;
            }
            tokio::select! {
                _ = changes.changed() => (),
                _ = stopping.wait_for(|stopping| *stopping) => return,
                () = sleep(idle), if in_progress == 0 => return,
            }
        }
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.in_progress -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::pin::pin;
    use tokio::time::{Instant, advance};

    const IDLE: Duration = Duration::from_secs(90);

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_ends() {
        let (_stop, stopping) = watch::channel(false);
        let (activity, start) = (Activity::default(), Instant::now());
        activity.end(IDLE, stopping).await;
        assert_eq!(start.elapsed(), IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_progress_keeps_it_open() {
        let (_stop, stopping) = watch::channel(false);
        let activity = Activity::default();
        let mut end = pin!(activity.end(IDLE, stopping));
        let requests = [activity.begin(), activity.begin()];
        assert!(poll!(&mut end).is_pending());
        advance(IDLE * 10).await;
        assert!(poll!(&mut end).is_pending());
        drop(requests);
        assert!(poll!(&mut end).is_pending());
        advance(IDLE / 2).await;
        assert!(poll!(&mut end).is_pending());
        advance(IDLE / 2).await;
        assert!(poll!(&mut end).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_at_once_when_done_or_stopped() {
        let (stop, stopping) = watch::channel(false);
        let (done, stopped) = (Activity::default(), Activity::default());
        let _requests = [done.begin(), stopped.begin()];
        let start = Instant::now();
        done.finish();
        done.end(IDLE, stopping.clone()).await;
        stop.send_replace(true);
        stopped.end(IDLE, stopping).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
