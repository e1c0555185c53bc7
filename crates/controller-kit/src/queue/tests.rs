//! The public API of the queue, on a paused clock: time moves only when every task sleeps.

mod changes;
mod failing;
mod idle;
mod interleavings;
mod key_state;
mod model;
mod wake_ups;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::registry::Registry;
use scripted_api::candidates;
use tokio::task::yield_now;
use tokio::time::{Instant, advance, timeout};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Delays of one second, doubling.
fn one_second() -> RateLimit {
    RateLimit { base_delay: SECOND, ..RateLimit::default() }
}

fn queue() -> WorkQueue<&'static str> {
    WorkQueue::new(one_second())
}

/// Takes a key, or fails after a time longer than any delay here; on the paused clock that takes no time.
async fn get(queue: &WorkQueue<&'static str>) -> Item<&'static str> {
    timeout(1_000_000 * SECOND, queue.get()).await.expect("a key within the time").expect("an open queue")
}

/// Takes a key that must be ready now.
async fn take(queue: &WorkQueue<&'static str>) -> Item<&'static str> {
    let start = Instant::now();
    let item = get(queue).await;
    assert_eq!(start.elapsed(), Duration::ZERO, "{item:?} was not there at once");
    item
}

/// Takes all keys that are ready now, and is done with each at once.
async fn take_all(queue: &WorkQueue<&'static str>) -> Vec<&'static str> {
    let mut keys = Vec::new();
    while !queue.is_empty() {
        keys.push(*take(queue).await);
    }
    keys
}

/// Waits for the next key, is done with it, and returns the key and the wait.
async fn take_later(queue: &WorkQueue<&'static str>) -> (&'static str, Duration) {
    let start = Instant::now();
    let key = *get(queue).await;
    (key, start.elapsed())
}

async fn stays_empty(queue: &WorkQueue<&'static str>) -> bool {
    timeout(1_000_000 * SECOND, queue.get()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_worker_is_done() {
    let queue = queue();
    queue.add("a");
    let worker = queue.clone();
    let task = tokio::spawn(async move {
        let _item = worker.get().await;
        std::future::pending::<()>().await;
    });
    yield_now().await;
    queue.add("a");
    assert!(queue.is_empty());
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(take_all(&queue).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_deadline_wakes_the_deadline_waiter() {
    let queue = queue();
    queue.add_after("far", 60 * SECOND);
    let start = Instant::now();
    let worker = queue.clone();
    let task = tokio::spawn(async move { *get(&worker).await });
    yield_now().await;
    queue.add_after("near", SECOND);
    assert_eq!(task.await.unwrap(), "near");
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_endless_delay_does_not_overflow() {
    let queue = queue();
    queue.add_after("a", Duration::MAX);
    queue.add_after("b", SECOND);
    assert_eq!(take_later(&queue).await, ("b", SECOND));
    assert!(stays_empty(&queue).await);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_hands_out_what_is_queued_and_nothing_else() {
    let queue = queue();
    queue.add("processing");
    let item = take(&queue).await;
    queue.add("processing");
    queue.add("queued");
    queue.add_with_priority("low", Priority::Low);
    queue.add_after("due", SECOND);
    queue.add_after("delayed", 5 * SECOND);
    advance(SECOND).await;
    assert!(!queue.is_shut_down());
    queue.shut_down();
    assert!(queue.is_shut_down());

    queue.add("ignored");
    queue.add_with_priority("ignored", Priority::Low);
    queue.add_after("ignored", Duration::ZERO);
    queue.add_after("ignored", SECOND);
    queue.add_rate_limited("ignored");
    assert_eq!(queue.num_requeues(&"ignored"), 0);

    assert_eq!(take_all(&queue).await, ["queued", "due", "low"]);
    drop(item);
    assert_eq!(take_all(&queue).await, ["processing"]);
    assert!(queue.get().await.is_none());
    assert!(queue.get().await.is_none());
    assert!(queue.shared.core.lock().is_blank());
}

async fn work(queue: WorkQueue<&'static str>) -> usize {
    let mut processed = 0;
    while let Some(_item) = queue.get().await {
        processed += 1;
        yield_now().await;
    }
    processed
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_all_idle_workers() {
    let queue = queue();
    queue.add_after("never", 60 * SECOND);
    let workers: Vec<_> = (0..5).map(|_| tokio::spawn(work(queue.clone()))).collect();
    yield_now().await;
    let start = Instant::now();
    queue.shut_down();
    for worker in workers {
        assert_eq!(worker.await.unwrap(), 0);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_deadline_waiter_is_replaced() {
    let queue = queue();
    queue.add_after("a", 10 * SECOND);
    let waiter = || {
        let queue = queue.clone();
        tokio::spawn(async move { *get(&queue).await })
    };
    let (first, second) = (waiter(), waiter());
    yield_now().await;
    first.abort();
    let start = Instant::now();
    assert_eq!(second.await.unwrap(), "a");
    assert_eq!(start.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_get_cancelled_after_its_wake_up_passes_it_on() {
    let queue = queue();
    let mut first = Box::pin(queue.get());
    let mut second = Box::pin(queue.get());
    assert!(is_pending(first.as_mut()).await);
    assert!(is_pending(second.as_mut()).await);
    queue.add("a"); // wakes the first
    drop(first);
    assert_eq!(timeout(SECOND, second).await.unwrap().map(|item| *item), Some("a"));
}

async fn is_pending<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
    poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

#[tokio::test(start_paused = true)]
async fn one_deadline_does_not_wake_all_idle_workers() {
    let queue = queue();
    let polls = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let (queue, polls) = (queue.clone(), polls.clone());
        tokio::spawn(async move {
            loop {
                let mut get = pin!(queue.get());
                let item = poll_fn(|cx| {
                    polls.fetch_add(1, Ordering::Relaxed);
                    get.as_mut().poll(cx)
                });
                drop(item.await);
            }
        });
    }
    yield_now().await;
    for second in 1..=10 {
        queue.add_after("a", second * SECOND);
        queue.add_after("b", 100 * SECOND);
        tokio::time::sleep(second * SECOND / 2).await;
        let before = polls.load(Ordering::Relaxed);
        tokio::time::sleep(second * SECOND).await;
        let polls = polls.load(Ordering::Relaxed) - before;
        assert!((1..=4).contains(&polls), "{polls} polls for one key");
    }
}

#[tokio::test(start_paused = true)]
async fn a_requeued_key_goes_behind_others_of_its_priority() {
    let queue = queue();
    for key in ["a", "b"] {
        queue.add_with_priority(key, Priority::Low);
    }
    let item = take(&queue).await;
    queue.requeue(*item);
    queue.add("normal");
    drop(item);
    let normal = take(&queue).await;
    queue.requeue(*normal);
    queue.add("other");
    drop(normal);
    assert_eq!(take_all(&queue).await, ["other", "normal", "b", "a"]);
}

#[test]
fn needs_no_runtime_to_add() {
    let queue = queue();
    queue.add("a");
    queue.add_after("b", SECOND);
    assert_eq!(queue.len(), 1);
}

/// The lines of `text` about `metric` without buckets and the common prefix.
fn series(text: &str, metric: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("workqueue_")?.strip_prefix(metric));
    lines.filter(|line| !line.starts_with("_bucket")).map(str::to_owned).collect()
}

#[test]
fn metrics_exist_as_soon_as_the_queue_does() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    assert!(!candidates::metrics(&registry).contains("workqueue"), "no queue, no series");
    let _queue = WorkQueue::<u8>::with_metrics("c", "endpoint_slice", one_second(), &metrics);
    let text = candidates::metrics(&registry);
    for name in ["depth", "adds_total", "retries_total", "work_duration_seconds_count"] {
        assert_eq!(series(&text, name), ["{name=\"endpoint_slice\"} 0"]);
    }
    for name in ["unfinished_work_seconds", "longest_running_processor_seconds"] {
        assert_eq!(series(&text, name), ["{name=\"endpoint_slice\"} 0.0"]);
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_tell_what_happened() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let queue = WorkQueue::with_metrics("c", "q", one_second(), &metrics);
    let value = |metric: &str| {
        let text = candidates::metrics(&registry);
        let line = format!("workqueue_{metric}{{name=\"q\"}} ");
        text.lines().find_map(|l| l.strip_prefix(&line)).unwrap().to_owned()
    };

    for key in ["a", "b", "a"] {
        queue.add(key);
    }
    queue.add_after("c", 4 * SECOND);
    assert_eq!([value("depth"), value("adds_total"), value("retries_total")], ["2", "2", "1"]);

    advance(2 * SECOND).await;
    let a = take(&queue).await;
    assert_eq!(value("queue_duration_seconds_sum"), "2.0");
    advance(SECOND).await;
    let b = take(&queue).await;
    assert_eq!([value("queue_duration_seconds_sum"), value("queue_duration_seconds_count")], ["5.0", "2"]);
    assert_eq!(value("depth"), "0");
    queue.add("a");
    assert_eq!([value("depth"), value("adds_total")], ["1", "3"], "a key to come again counts, as upstream");

    advance(5 * SECOND).await;
    assert_eq!(value("unfinished_work_seconds"), "11.0");
    assert_eq!(value("longest_running_processor_seconds"), "6.0");
    drop(a);
    assert_eq!([value("work_duration_seconds_sum"), value("work_duration_seconds_count")], ["6.0", "1"]);
    assert_eq!(value("longest_running_processor_seconds"), "5.0");
    drop(b);
    assert_eq!(value("unfinished_work_seconds"), "0.0");

    assert_eq!(*take(&queue).await, "c", "due 4 s ago, before a was done");
    assert_eq!(value("queue_duration_seconds_sum"), "9.0", "a delayed key queues from its deadline on");
    queue.add_rate_limited("a");
    assert_eq!(value("retries_total"), "2");
    assert_eq!([value("depth"), value("adds_total")], ["1", "4"]);
}

/// The success is older than the renewal. Random histories rarely have it.
#[tokio::test(start_paused = true)]
async fn success_does_not_cancel_a_retry_renewed_during_the_sync() {
    let queue = queue();
    queue.add("a");
    queue.add_rate_limited("a");
    let item = take(&queue).await;
    queue.add_rate_limited("a");
    queue.forget(&item);
    drop(item);
    assert_eq!(take_later(&queue).await, ("a", SECOND));
}

#[test]
fn queues_of_one_name_add_up() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let one = WorkQueue::with_metrics("c", "q", one_second(), &metrics);
    let other = WorkQueue::with_metrics("c", "q", one_second(), &metrics);
    one.add(1);
    other.add(1);
    let text = candidates::metrics(&registry);
    assert_eq!(series(&text, "depth"), ["{name=\"q\"} 2"]);
    assert_eq!(series(&text, "unfinished_work_seconds"), ["{name=\"q\"} 0.0"]);
    drop((one, other));
    let text = candidates::metrics(&registry);
    assert_eq!(
        series(&text, "unfinished_work_seconds"),
        ["{name=\"q\"} 0.0"],
        "the series outlives its queues"
    );
}
