//! Changes that arrive together, as one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics_page::follow::{Change, Follower};
use endpoint_diagnostics_page::{Origin, State};
use jiff::Timestamp;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::watch::Message;
use super::watches::Watches;

/// The time for which further changes are awaited after the first.
const BATCH: Duration = Duration::from_millis(75);
/// Changes at once, at most.
const CHANGES: usize = 5_000;
/// The time after which verdicts that depend on the time are looked at again.
const TICK: Duration = Duration::from_secs(1);

/// Applies the messages of all watches to a follower, until the watches end.
pub(crate) async fn gather(mut watches: Watches, follower: Arc<Follower>) {
    let mut failures = BTreeMap::<Kind, String>::new();
    let mut ticks = ticks();
    loop {
        tokio::select! {
            message = watches.next() => {
                let Some(first) = message else { return };
                let mut changes = Vec::new();
                let deadline = Instant::now() + BATCH;
                sort(first, &mut changes, &mut failures);
                while changes.len() < CHANGES {
                    tokio::select! {
                        () = sleep_until(deadline) => break,
                        next = watches.next() => match next {
                            Some(next) => sort(next, &mut changes, &mut failures),
                            None => break,
                        },
                    }
                }
                show(&follower, &failures);
                if !changes.is_empty() {
                    off_the_runtime(&follower, |follower| follower.apply(changes, Timestamp::now())).await;
                }
            }
            _ = ticks.tick() => off_the_runtime(&follower, |follower| follower.tick(Timestamp::now())).await,
        }
    }
}

/// Work that took several ticks is followed by one.
fn ticks() -> Interval {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Thousands of reports take longer than a request may wait, and so may the work of others that is done before.
pub(super) async fn off_the_runtime(follower: &Arc<Follower>, work: impl FnOnce(&Follower) + Send + 'static) {
    let follower = Arc::clone(follower);
    // Fails only if it panicked, which has been printed.
    _ = tokio::task::spawn_blocking(move || work(&follower)).await;
}

fn sort(message: Message, changes: &mut Vec<(Timestamp, Change)>, failures: &mut BTreeMap<Kind, String>) {
    match message {
        Message::Changed(change) => changes.push((Timestamp::now(), change)),
        Message::Live(kind) => drop(failures.remove(&kind)),
        Message::Failed(kind, reason) => drop(failures.insert(kind, reason)),
    }
}

fn show(follower: &Follower, failures: &BTreeMap<Kind, String>) {
    let board = follower.board();
    let (state, message) = match failures.first_key_value() {
        None => (State::Live, String::new()),
        Some((kind, reason)) => {
            (State::Stale, format!("Cannot watch {}, trying again: {reason}", kind.resource()))
        }
    };
    let origin = board.origin().borrow().clone();
    board.set_origin(Origin { state, message, ..origin });
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stall_is_followed_by_one_tick() {
        let mut ticks = ticks();
        ticks.tick().await;
        advance(10 * TICK).await;
        ticks.tick().await;
        assert!(timeout(TICK / 2, ticks.tick()).await.is_err());
    }
}
