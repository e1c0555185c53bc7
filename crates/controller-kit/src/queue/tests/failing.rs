//! The gauge of keys that fail, over retries with the real delays.

use std::thread;
use std::time::Duration;

use super::super::{Cause, FailureReason};
use super::{QueueMetrics, Registry, WorkQueue, candidates, one_second};

/// The series that are not zero, as `reason value`.
fn exposed(registry: &Registry) -> Vec<String> {
    let text = candidates::metrics(registry);
    let series =
        text.lines().filter_map(|line| line.strip_prefix("failing_syncs{controller=\"c\",reason=\""));
    let series = series.map(|line| line.replace("\"}", "")).filter(|line| !line.ends_with(" 0"));
    series.collect()
}

fn failure(reason: FailureReason) -> Cause {
    Cause::Failure { fingerprint: 7, reason, pause: Duration::ZERO }
}

/// A counter of retries is silent for a quarter of an hour between two of them; an alert needs what is true all the time.
#[tokio::test(start_paused = true)]
async fn a_key_counts_as_failing_from_its_first_failure_to_its_success() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let queue = WorkQueue::with_metrics("c", "q", one_second(), &metrics);
    queue.add(1);
    let start = tokio::time::Instant::now();
    for _ in 0..12 {
        let item = queue.get().await.unwrap();
        queue.retry(*item, &[failure(FailureReason::Forbidden)]);
        drop(item);
        assert_eq!(exposed(&registry), ["forbidden 1"], "{:?}", start.elapsed());
    }
    assert_eq!(start.elapsed().as_secs(), 2023, "1 s, 2 s, … 512 s, 1,000 s");
    let item = queue.get().await.unwrap();
    assert_eq!(exposed(&registry), ["forbidden 1"], "during the retry");
    queue.retry(*item, &[Cause::Conflict]);
    drop(item);
    assert_eq!(exposed(&registry), ["forbidden 1"], "a conflict does not say that it would succeed");

    queue.add(2);
    let item = queue.get().await.unwrap();
    queue.retry(*item, &[Cause::StaleCache, failure(FailureReason::Refused)]);
    drop(item);
    queue.add(3);
    let item = queue.get().await.unwrap();
    queue.retry(*item, &[Cause::Conflict]);
    drop(item);
    assert_eq!(exposed(&registry), ["forbidden 1", "refused 1"], "a conflict is not a failure");
    queue.retry(1, &[failure(FailureReason::Refused)]);
    assert_eq!(exposed(&registry), ["refused 2"], "the last failure counts");
    queue.retry(1, &[]);
    assert_eq!(exposed(&registry), ["failed 1", "refused 1"]);
    (1..=3).for_each(|key| queue.forget(&key));
    assert!(exposed(&registry).is_empty());
    drop(queue);
    assert!(exposed(&registry).is_empty());
}

/// A scrape forgets the queues that are gone, and none that is being made.
#[test]
fn a_scrape_while_a_queue_is_made_does_not_forget_it() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let is_seen = |_: &usize| {
        let queue = WorkQueue::with_metrics("c", "q", one_second(), &metrics);
        queue.retry(1, &[failure(FailureReason::Refused)]);
        // The other thread may still look at the queue before.
        exposed(&registry).iter().any(|series| series.starts_with("refused "))
    };
    let seen = thread::scope(|scope| {
        let work = scope.spawn(|| (0..1_000).filter(is_seen).count());
        while !work.is_finished() {
            exposed(&registry);
        }
        work.join().unwrap()
    });
    assert_eq!(seen, 1_000);
}
