//! Changes that arrive together, as one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics_page::follow::{Change, Follower};
use endpoint_diagnostics_page::{Origin, State};
use jiff::Timestamp;
use tokio::time::{Instant, interval, sleep_until};

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
    let mut ticks = interval(TICK);
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
