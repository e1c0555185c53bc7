//! A rolling update, as each watcher of EndpointSlices sees it.

use std::collections::BTreeSet;
use std::time::Duration;

use controller_harness::{Watched, merged};
use endpointslice::Pod;
use serde_json::json;

use crate::MOMENT;
use crate::harness::{Harness, pod, service};

/// The changes of a pod and of the one that replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    NewAppears,
    NewIsReady,
    OldTerminates,
    OldStopsServing,
    OldIsGone,
}

use Change::{NewAppears, NewIsReady, OldIsGone, OldStopsServing, OldTerminates};

impl Change {
    /// Whether traffic depends on it.
    fn is_urgent(self) -> bool {
        matches!(self, NewIsReady | OldTerminates)
    }
}

/// Events that one watcher received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Received {
    events: usize,
    bytes: usize,
    /// Urgent changes that were not written within a millisecond.
    late: usize,
}

/// A rolling update.
#[derive(Clone, Copy, Debug)]
struct Update {
    pods: u64,
    /// The number of pods that are replaced. They are spread over all slices.
    replaced: u64,
    /// The number of pods that are replaced each second.
    per_second: u64,
}

impl Update {
    /// The changes in order, with their times in milliseconds and the numbers of the old pods. A new pod becomes ready after
    /// 2 to 6 s; then the old one is deleted, stops serving after 1 to 3 s, and is gone after 1 to 3 s more.
    fn changes(self) -> Vec<(u64, Change, u64)> {
        let mut changes = vec![];
        for number in 0..self.replaced {
            let mut at = number * 1000 / self.per_second;
            let spread = |factor: u64, range: u64| number * factor % range;
            for (change, after) in [
                (NewAppears, 0),
                (NewIsReady, 2000 + spread(373, 4000)),
                (OldTerminates, 50),
                (OldStopsServing, 1000 + spread(619, 2000)),
                (OldIsGone, 1000 + spread(787, 2000)),
            ] {
                at += after;
                changes.push((at, change, number * 389 % self.pods));
            }
        }
        changes.sort_unstable();
        changes
    }
}

fn address(number: u64) -> String {
    format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255)
}

fn apply(harness: &Harness, change: Change, number: u64, pods: u64) {
    let (old, new) = (format!("web-{number:06}"), format!("web-{:06}", number + pods));
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    match change {
        NewAppears => harness.api.pod(pod(&new, &address(number + pods), false)),
        NewIsReady => harness.api.pod(pod(&new, &address(number + pods), true)),
        OldTerminates => harness.api.pod(merged(pod(&old, &address(number), true), deleted)),
        OldStopsServing => harness.api.pod(merged(pod(&old, &address(number), false), deleted)),
        OldIsGone => harness.api.remove::<Pod>(&old),
    }
}

/// Runs a rolling update with the feature gate on or off.
async fn received(coalescing: bool, update: Update) -> Received {
    let pods = update.pods;
    let harness = Harness::start_coalescing(coalescing, 100, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        for number in 0..pods {
            cache.pod(pod(&format!("web-{number:06}"), &address(number), true));
        }
    });
    harness.api.settle().await;
    let watched: Watched = harness.api.watch().await;
    let begin = tokio::time::Instant::now();
    let mut late = 0;
    let mut expected: BTreeSet<String> = (0..pods).map(address).collect();
    for (at, change, number) in update.changes() {
        tokio::time::sleep_until(begin + Duration::from_millis(at)).await;
        let before = watched.events();
        apply(&harness, change, number, pods);
        if change.is_urgent() {
            harness.api.advance(MOMENT / 2).await;
            late += usize::from(watched.events() == before);
        }
        match change {
            NewAppears => {
                expected.insert(address(number + pods));
            }
            OldIsGone => {
                expected.remove(&address(number));
            }
            _ => {}
        }
    }
    harness.api.settle().await;
    harness.api.settle().await;
    let endpoints = harness.api.endpoints("web");
    assert_eq!(endpoints.len(), expected.len());
    assert!(endpoints.iter().all(|it| it.conditions.as_ref().unwrap().ready == Some(true)));
    let addresses: BTreeSet<String> = endpoints.into_iter().flat_map(|it| it.addresses).collect();
    assert_eq!(addresses, expected);
    Received { events: watched.events(), bytes: watched.bytes(), late }
}

#[allow(clippy::cast_precision_loss, reason = "figures of tests are small")]
fn ratio(one: usize, other: usize) -> f64 {
    one as f64 / other as f64
}

/// The ratios of events and bytes. Prints figures of `docs/decisions/coalescing.md`.
async fn compare(update: Update) -> [f64; 2] {
    let off = received(false, update).await;
    let on = received(true, update).await;
    let ratios = [ratio(on.events, off.events), ratio(on.bytes, off.bytes)];
    let Update { pods, replaced, per_second } = update;
    println!(
        "measured: | {replaced} of {pods}, {per_second} a second | {} | {} | {:.2} | {:.1} MB | {:.1} MB | {:.2} |",
        off.events,
        on.events,
        ratios[0],
        ratio(off.bytes, 1_000_000),
        ratio(on.bytes, 1_000_000),
        ratios[1]
    );
    assert_eq!((off.late, on.late), (0, 0), "no change of readiness waits");
    ratios
}

#[tokio::test(start_paused = true)]
async fn a_rolling_update_of_1000_endpoints_costs_each_watcher_less_than_half() {
    // A part of it, with ten pods a second as in a whole one.
    let ratios = compare(Update { pods: 1000, replaced: 150, per_second: 10 }).await;
    assert!(ratios.iter().all(|ratio| *ratio <= 0.45), "{ratios:?}");
}

/// The figures of `docs/decisions/coalescing.md`:
/// `cargo test -p endpointslice-controller --test it rates -- --ignored --nocapture`.
#[tokio::test(start_paused = true)]
#[ignore = "takes minutes"]
async fn rates() {
    for per_second in [40, 20, 10, 5, 2, 1] {
        let ratios = compare(Update { pods: 1000, replaced: 1000, per_second }).await;
        assert!(per_second < 2 || ratios.iter().all(|ratio| *ratio <= 0.45), "{ratios:?}");
    }
}
