//! Waiting for a queue that has nothing left to do.

use super::*;

const PATIENCE: u32 = 2;

/// Runs a worker that takes a second for each key, and fails for the keys that begin with `bad`.
fn work(queue: &WorkQueue<&'static str>) {
    let queue = queue.clone();
    tokio::spawn(async move {
        while let Some(item) = queue.get().await {
            tokio::time::sleep(SECOND).await;
            if item.starts_with("bad") {
                queue.add_rate_limited(*item);
            } else {
                queue.forget(&item);
            }
        }
    });
}

/// The time until the queue is idle, and the keys that keep failing.
async fn idle(queue: &WorkQueue<&'static str>) -> (u64, Vec<&'static str>) {
    let start = Instant::now();
    let failing = queue.idle(PATIENCE).await;
    (start.elapsed().as_secs(), failing)
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_is_idle_once_it_has_a_worker() {
    let queue = queue();
    assert_eq!(queue.idle_now(PATIENCE), None);
    assert!(timeout(SECOND, queue.idle(PATIENCE)).await.is_err());
    work(&queue);
    assert_eq!(idle(&queue).await, (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn queued_held_and_delayed_keys_are_waited_for() {
    let queue = queue();
    work(&queue);
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    queue.add_after("d", 10 * SECOND);
    assert_eq!(idle(&queue).await, (11, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_keeps_failing_is_returned() {
    let queue = queue();
    work(&queue);
    queue.add("bad");
    queue.add("good");
    // Two syncs with a second between them, and the other key's.
    assert_eq!(idle(&queue).await, (3, vec!["bad"]));
    queue.add_after("good", SECOND / 2);
    assert_eq!(queue.idle_now(PATIENCE), None);
}

#[tokio::test(start_paused = true)]
async fn a_stale_cache_is_no_failure() {
    let queue = queue();
    work(&queue);
    assert_eq!(idle(&queue).await, (0, vec![]));
    queue.retry("a", &[Cause::StaleCache]);
    assert_eq!(queue.idle_now(0), Some(vec!["a"]));
    assert_eq!(queue.idle_now(1), None);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_leaves_does_not_count() {
    let queue = queue();
    assert!(timeout(SECOND, queue.get()).await.is_err());
    assert_eq!(queue.idle_now(PATIENCE), None);
}

#[tokio::test(start_paused = true)]
async fn activity_shows_what_happened_between() {
    let queue = queue();
    work(&queue);
    let before = queue.activity();
    assert_eq!(idle(&queue).await, (0, vec![]));
    assert_eq!(queue.activity(), before);
    queue.add("a");
    idle(&queue).await;
    assert_ne!(queue.activity(), before);
}
