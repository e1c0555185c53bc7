//! Whether a connection is still good for something.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

/// Requests that begin after the client was told to leave, before it is cut off. They may have been on their way: as
/// many as may be open at once.
const MOST_LATE: u32 = 100;

#[derive(Clone, Copy, Default)]
struct State {
    /// Requests without an answer yet.
    in_progress: usize,
    /// Nothing more is wanted from the client.
    is_done: bool,
    /// Requests that began all the same.
    late: u32,
}

/// What happens on one connection. Clones speak about the same one.
#[derive(Clone, Default)]
pub(super) struct Activity(watch::Sender<State>);

/// A request in progress, until it is dropped. Unless its client has proved to be worth it, the connection ends with it.
///
/// So it does, too, if the request is given up before its answer: with HTTP/2 a client can begin one request after the
/// other and reset each at once, which costs it nothing (CVE-2023-44487).
pub(super) struct InProgress {
    activity: Activity,
    keeps_connection: bool,
}

impl Activity {
    /// A request begins.
    pub(super) fn begin(&self) -> InProgress {
        self.0.send_modify(|state| {
            state.in_progress += 1;
            state.late = state.late.saturating_add(u32::from(state.is_done));
        });
        InProgress { activity: self.clone(), keeps_connection: false }
    }

    /// Returns when a client that was told to leave has begun too many requests nevertheless.
    pub(super) async fn overrun(&self) {
        // Fails only without a sender, which is here.
        let _ = self.0.subscribe().wait_for(|state| state.late > MOST_LATE).await;
    }

    /// Returns when the connection should end: it is done with, or was without requests for too long, or the server
    /// stops.
    pub(super) async fn end(&self, idle: Duration, mut stopping: watch::Receiver<bool>) {
        let mut changes = self.0.subscribe();
        loop {
            let State { in_progress, is_done, .. } = *changes.borrow_and_update();
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

impl InProgress {
    /// The request has its answer, and the connection may last.
    pub(super) fn keep_connection(mut self) {
        self.keeps_connection = true;
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.activity.0.send_modify(|state| {
            state.in_progress -= 1;
            state.is_done |= !self.keeps_connection;
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
        requests.into_iter().for_each(InProgress::keep_connection);
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
        drop(done.begin());
        done.end(IDLE, stopping.clone()).await;
        stop.send_replace(true);
        stopped.end(IDLE, stopping).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_leave_when_told_is_cut_off() {
        let activity = Activity::default();
        let mut overrun = pin!(activity.overrun());
        for _ in 0..10 * MOST_LATE {
            activity.begin().keep_connection();
        }
        drop(activity.begin());
        for _ in 0..MOST_LATE {
            activity.begin().keep_connection();
        }
        assert!(poll!(&mut overrun).is_pending());
        drop(activity.begin());
        assert!(poll!(&mut overrun).is_ready());
    }
}
