//! Activity on a connection, which decides when it is closed.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

/// Requests that a client may start after GOAWAY before its connection is aborted. They may have been in transit: as many
/// as may be open at once.
const MAX_LATE: u32 = 100;

#[derive(Clone, Copy, Default)]
struct State {
    /// Requests without a response, and waits for frames of bodies.
    in_progress: usize,
    /// The connection is to be closed.
    is_closing: bool,
    /// Requests that started since.
    late: u32,
}

/// The requests of one connection. Clones share the state.
#[derive(Clone, Default)]
pub(super) struct Activity(watch::Sender<State>);

/// A request, or a wait for a frame of its body, in progress until dropped. A request closes the connection on drop unless
/// [`Self::keep_connection`] was called.
///
/// A request that is cancelled before its response closes the connection, too: an HTTP/2 client could otherwise start and
/// reset requests at no cost (CVE-2023-44487).
pub(super) struct InProgress {
    activity: Activity,
    keeps_connection: bool,
}

impl Activity {
    /// Records the start of a request.
    pub(super) fn start_request(&self) -> InProgress {
        self.0.send_modify(|state| {
            state.in_progress += 1;
            state.late = state.late.saturating_add(u32::from(state.is_closing));
        });
        InProgress { activity: self.clone(), keeps_connection: false }
    }

    /// Records that a client waits for a frame of a body.
    pub(super) fn start_wait(&self) -> InProgress {
        self.0.send_modify(|state| state.in_progress += 1);
        InProgress { activity: self.clone(), keeps_connection: true }
    }

    /// Completes when the client has started too many requests on a closing connection.
    pub(super) async fn too_many_late_requests(&self) {
        // Fails only if the sender is dropped, which `self` holds.
        let _ = self.0.subscribe().wait_for(|state| state.late > MAX_LATE).await;
    }

    /// Completes when the connection is to be closed: a request closed it, it was idle for too long, or the server stops.
    pub(super) async fn closing(&self, idle: Duration, mut stopping: watch::Receiver<bool>) {
        let mut changes = self.0.subscribe();
        loop {
            let State { in_progress, is_closing, .. } = *changes.borrow_and_update();
            if is_closing {
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

impl InProgress {
    /// Keeps the connection open at the end of the request.
    pub(super) fn keep_connection(&mut self) {
        self.keeps_connection = true;
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.activity.0.send_modify(|state| {
            state.in_progress -= 1;
            state.is_closing |= !self.keeps_connection;
        });
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
    async fn a_request_in_progress_keeps_the_connection_open() {
        let (_stop, stopping) = watch::channel(false);
        let activity = Activity::default();
        let mut closing = pin!(activity.closing(IDLE, stopping));
        let requests = [activity.start_request(), activity.start_request()];
        assert!(poll!(&mut closing).is_pending());
        advance(IDLE * 10).await;
        assert!(poll!(&mut closing).is_pending());
        for mut request in requests {
            request.keep_connection();
        }
        assert!(poll!(&mut closing).is_pending());
        advance(IDLE / 2).await;
        assert!(poll!(&mut closing).is_pending());
        advance(IDLE / 2).await;
        assert!(poll!(&mut closing).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_closed_at_once_by_a_request_or_a_stopping_server() {
        let (stop, stopping) = watch::channel(false);
        let (done, stopped) = (Activity::default(), Activity::default());
        let _requests = [done.start_request(), stopped.start_request()];
        let start = Instant::now();
        drop(done.start_request());
        done.closing(IDLE, stopping.clone()).await;
        stop.send_replace(true);
        stopped.closing(IDLE, stopping).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_ignores_goaway_is_disconnected() {
        let activity = Activity::default();
        let mut aborted = pin!(activity.too_many_late_requests());
        for _ in 0..10 * MAX_LATE {
            activity.start_request().keep_connection();
        }
        drop(activity.start_request());
        for _ in 0..MAX_LATE {
            activity.start_request().keep_connection();
        }
        assert!(poll!(&mut aborted).is_pending());
        drop(activity.start_request());
        assert!(poll!(&mut aborted).is_ready());
    }
}
