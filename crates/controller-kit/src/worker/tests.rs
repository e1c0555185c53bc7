//! Workers on a paused clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::queue::{FailureReason, Priority, QueueMetrics, RateLimit};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No(Vec<Cause>);

impl SyncError for No {
    fn causes(&self) -> Vec<Cause> {
        self.0.clone()
    }
}

fn failure(reason: FailureReason) -> Cause {
    Cause::Failure { fingerprint: 0, reason, pause: Duration::ZERO }
}

fn key(n: usize) -> ObjectKey {
    ObjectKey::new("ns", format!("web-{n}"))
}

#[tokio::test(start_paused = true)]
async fn a_key_is_tried_until_it_succeeds_even_after_a_panic() {
    let queue = WorkQueue::new(RateLimit::default());
    queue.add(ObjectKey::new("ns", "web"));
    let attempts = Arc::new(AtomicUsize::new(0));
    let (seen, until) = (Arc::clone(&attempts), queue.clone());
    run_workers("test", queue, 2, None, move |_, _| {
        let (attempt, queue) = (seen.fetch_add(1, Ordering::SeqCst), until.clone());
        async move {
            match attempt {
                0 => panic!("a bug"),
                1..=30 => Err(No(Vec::new())),
                _ => {
                    queue.shut_down();
                    Ok(())
                }
            }
        }
    })
    .await;
    assert_eq!(attempts.load(Ordering::SeqCst), 32);
}

/// As a closure does that computes before it returns a future.
#[tokio::test(start_paused = true)]
async fn a_sync_that_panics_before_its_first_await_is_retried() {
    let queue = WorkQueue::new(RateLimit::default());
    queue.add(key(1));
    let attempts = Arc::new(AtomicUsize::new(0));
    let (seen, until) = (Arc::clone(&attempts), queue.clone());
    let workers = run_workers("test", queue, 1, None, move |_, _| {
        assert!(seen.fetch_add(1, Ordering::SeqCst) > 0, "a bug");
        until.shut_down();
        async { Ok::<(), No>(()) }
    });
    timeout(SECOND, workers).await.expect("the key is lost");
    assert_eq!(attempts.load(Ordering::SeqCst), 2, "the worker ended");
}

#[tokio::test]
async fn other_tasks_run_between_syncs_that_do_not_wait() {
    let queue = WorkQueue::new(RateLimit::default());
    for n in 0..1000 {
        queue.add(ObjectKey::new("ns", format!("web-{n}")));
    }
    let synced = Arc::new(AtomicUsize::new(0));
    let (count, until) = (Arc::clone(&synced), queue.clone());
    let watch = tokio::spawn(async move {
        loop {
            match synced.load(Ordering::SeqCst) {
                0 => tokio::task::yield_now().await,
                some => return some,
            }
        }
    });
    run_workers("test", queue, 2, None, move |_, _| {
        let (count, queue) = (Arc::clone(&count), until.clone());
        async move {
            if count.fetch_add(1, Ordering::SeqCst) == 999 {
                queue.shut_down();
            }
            Ok::<(), No>(())
        }
    })
    .await;
    assert!(watch.await.unwrap() < 1000, "the other task ran only after the last sync");
}

/// The most syncs that were in each part at the same time, and the time that all took.
async fn overlap(concurrency: Concurrency, keys: usize, ends_planning: bool) -> (usize, usize, Duration) {
    #[derive(Default)]
    struct Seen {
        planning: usize,
        in_flight: BTreeSet<ObjectKey>,
        most_planning: usize,
        most_in_flight: usize,
        left: usize,
        took: Duration,
    }
    let queue = WorkQueue::new(RateLimit::default());
    (0..keys).for_each(|n| queue.add(key(n)));
    let seen = Arc::new(Mutex::new(Seen { left: keys, ..Seen::default() }));
    let (state, until, start) = (Arc::clone(&seen), queue.clone(), Instant::now());
    let workers = run_workers("test", queue, concurrency, None, move |key, context| {
        let (seen, queue) = (Arc::clone(&state), until.clone());
        async move {
            {
                let mut seen = seen.lock();
                seen.planning += 1;
                seen.most_planning = seen.most_planning.max(seen.planning);
                assert!(seen.in_flight.insert(key.clone()), "{key} is synced already");
                seen.most_in_flight = seen.most_in_flight.max(seen.in_flight.len());
            }
            sleep(SECOND).await;
            seen.lock().planning -= 1;
            // It changes meanwhile.
            queue.add(key.clone());
            if ends_planning {
                context.end_planning();
            }
            sleep(9 * SECOND).await;
            let mut seen = seen.lock();
            seen.in_flight.remove(&key);
            seen.left = seen.left.saturating_sub(1);
            if seen.left == 0 && seen.took.is_zero() {
                seen.took = start.elapsed();
                queue.shut_down();
            }
            Ok::<(), No>(())
        }
    });
    workers.await;
    let seen = seen.lock();
    (seen.most_planning, seen.most_in_flight, seen.took)
}

/// A second of planning and nine of a request, for each of eight keys.
#[tokio::test(start_paused = true)]
async fn requests_of_different_keys_overlap_and_plans_do_not() {
    let overlapping = Concurrency::from(1).overlapping(4);
    assert_eq!(overlap(overlapping, 8, true).await, (1, 4, 23 * SECOND));
    assert_eq!(overlap(overlapping, 8, false).await, (1, 1, 80 * SECOND), "a sync that never ends its plan");
    assert_eq!(overlap(Concurrency::from(1), 8, true).await, (1, 1, 80 * SECOND));
    assert_eq!(overlap(Concurrency::from(3).overlapping(2), 6, true).await, (3, 3, 20 * SECOND));
}

/// A sync that fails, panics or succeeds gives its permit back.
#[tokio::test(start_paused = true)]
async fn each_sync_gives_its_turn_back() {
    let queue = WorkQueue::new(RateLimit::default());
    (0..9).for_each(|n| queue.add(key(n)));
    let synced = Arc::new(AtomicUsize::new(0));
    let (count, until) = (Arc::clone(&synced), queue.clone());
    let workers = run_workers("test", queue, Concurrency::from(1).overlapping(2), None, move |_, _| {
        let (turn, queue) = (count.fetch_add(1, Ordering::SeqCst), until.clone());
        async move {
            if turn == 8 {
                queue.shut_down();
            }
            match turn % 3 {
                0 => panic!("a bug"),
                1 => Err(No(Vec::new())),
                _ => Ok(()),
            }
        }
    });
    timeout(SECOND, workers).await.expect("a permit is lost");
    assert_eq!(synced.load(Ordering::SeqCst), 9);
}

/// 30,000 keys fail for two minutes, five at a time and 500 a second, because nothing answers, so that all of them take a minute.
/// client-go's shared bucket would try the last of them 50 minutes later.
#[tokio::test(start_paused = true)]
async fn after_an_outage_every_key_is_tried_within_the_cap() {
    const KEYS: usize = 30_000;
    let limit = RateLimit { base_delay: SECOND, ..RateLimit::default() };
    let queue = WorkQueue::new(limit);
    (0..KEYS).for_each(|n| queue.add(key(n)));
    let outage = Instant::now() + 120 * SECOND;
    let succeeded = Arc::new(Mutex::new(BTreeSet::new()));
    let synced = Arc::clone(&succeeded);
    let workers = run_workers("test", queue.clone(), 5, None, move |key, _| {
        let synced = Arc::clone(&synced);
        async move {
            sleep(Duration::from_millis(10)).await;
            if Instant::now() < outage {
                return Err(No(vec![failure(FailureReason::Unavailable)]));
            }
            synced.lock().insert(key);
            Ok(())
        }
    });
    let all = 75 * SECOND;
    let _ = timeout(120 * SECOND + limit.max_unavailable_delay + all, workers).await;
    assert_eq!(succeeded.lock().len(), KEYS);
}

/// The order in which initial keys are synced by one worker, with a second for each sync; `change` is added meanwhile.
async fn synced(initial: Vec<usize>, out_of_sync: fn(usize) -> bool, change: Option<usize>) -> Vec<usize> {
    let queue = WorkQueue::new(RateLimit::default());
    let keys: Vec<ObjectKey> = initial.iter().copied().map(key).collect();
    for key in &keys {
        queue.add_with_priority(key.clone(), Priority::Low);
    }
    let order = Arc::new(Mutex::new(Vec::new()));
    let (all, seen, end) = (initial.len() + usize::from(change.is_some()), Arc::clone(&order), queue.clone());
    let number = |key: &ObjectKey| key.name.strip_prefix("web-").unwrap().parse::<usize>().unwrap();
    let promotions = promote_out_of_sync(&queue, keys, |key| out_of_sync(number(key)));
    let workers = run_workers("test", queue.clone(), 1, None, move |key, _| {
        let (seen, end) = (Arc::clone(&seen), end.clone());
        async move {
            sleep(SECOND).await;
            seen.lock().push(number(&key));
            if seen.lock().len() == all {
                end.shut_down();
            }
            Ok::<(), No>(())
        }
    });
    let later = async {
        sleep(SECOND / 2).await;
        if let Some(n) = change {
            queue.add(key(n));
        }
    };
    tokio::join!(workers, promotions, later);
    Arc::try_unwrap(order).unwrap().into_inner()
}

#[tokio::test(start_paused = true)]
async fn initial_keys_out_of_sync_do_not_wait_behind_the_others() {
    let order = synced((0..5000).collect(), |n| n >= 4990, None).await;
    let synced_at: Vec<usize> = (0..order.len()).filter(|at| order[*at] >= 4990).collect();
    assert!(synced_at.iter().all(|at| *at <= 12), "behind the first, and every ninth: {synced_at:?}");
}

#[tokio::test(start_paused = true)]
async fn initial_keys_keep_low_priority_when_most_are_out_of_sync() {
    let order = synced((0..5000).collect(), |_| true, Some(5000)).await;
    let change = order.iter().position(|n| *n == 5000).unwrap();
    assert!(change <= MAX_PROMOTED + MAX_PROMOTED / 8 + 2, "the change is number {change}");
}

/// The lines logged while a key is synced once, with this error or a panic.
fn logged(error: Option<No>) -> String {
    let (lines, writer) = std::io::pipe().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .without_time()
        .with_writer(Arc::new(writer))
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let queue = WorkQueue::new(RateLimit::default());
        let error = Mutex::new(error);
        let sync = |_, _| {
            let error = error.lock().take();
            async move { Err::<(), No>(error.expect("a bug")) }
        };
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        process("endpoints-controller", &queue, &key(1), permit, None, &sync).now_or_never().unwrap();
    });
    std::io::read_to_string(lines).unwrap()
}

#[test]
fn log_lines_name_the_controller_the_key_and_the_reason() {
    for (causes, level, reason) in [
        (vec![Cause::StaleCache], "DEBUG", "stale cache"),
        (vec![Cause::Conflict], "DEBUG", "conflict"),
        (vec![Cause::Conflict, failure(FailureReason::Other)], "ERROR", "failed"),
        (vec![Cause::Conflict, failure(FailureReason::Refused)], "ERROR", "refused"),
        (vec![failure(FailureReason::Forbidden)], "ERROR", "forbidden"),
        (vec![failure(FailureReason::Unavailable)], "ERROR", "unavailable"),
        (vec![], "ERROR", "failed"),
    ] {
        let line = logged(Some(No(causes)));
        assert!(line.trim().starts_with(level), "{line}");
        let fields =
            format!("controller=\"endpoints-controller\" key=ns/web-1 reason=\"{reason}\" err=\"no\"");
        assert!(line.contains(&fields), "{line}");
        assert_eq!(line.contains("Cache is stale"), reason == "stale cache", "{line}");
    }
    let line = logged(None);
    assert!(line.contains("controller=\"endpoints-controller\" key=ns/web-1 reason=\"panic\""), "{line}");
}

/// An error after which nothing more can be written.
#[derive(Debug, thiserror::Error)]
#[error("incomplete")]
struct Incomplete;

impl SyncError for Incomplete {
    fn causes(&self) -> Vec<Cause> {
        vec![Cause::FAILURE]
    }

    fn is_written(&self) -> bool {
        true
    }
}

/// The syncs of key `n` find something to write if `n` is odd; those of keys above 1 fail at the first attempt.
#[tokio::test(start_paused = true)]
async fn only_a_sync_that_writes_and_succeeds_is_measured() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let queue = WorkQueue::with_metrics("test", "q", RateLimit::default(), &metrics);
    (0..4).for_each(|n| queue.add(key(n)));
    let attempts = Arc::new(Mutex::new(BTreeMap::<ObjectKey, usize>::new()));
    let seen = Arc::clone(&attempts);
    let workers = tokio::spawn(run_workers("test", queue.clone(), 2, None, move |synced, context| {
        let attempt = *seen.lock().entry(synced.clone()).and_modify(|n| *n += 1).or_insert(1);
        async move {
            sleep(SECOND).await;
            if synced == key(1) || synced == key(3) {
                context.begin_write();
            }
            let fails = attempt == 1 && (synced == key(2) || synced == key(3));
            if fails { Err(Incomplete) } else { Ok(()) }
        }
    }));
    queue.idle(9).await;
    queue.shut_down();
    workers.await.unwrap();
    assert_eq!(attempts.lock().values().copied().collect::<Vec<_>>(), [1, 1, 2, 2]);
    let text = scripted_api::candidates::metrics(&registry);
    for line in [
        // Key 1 by success and key 3 by failing incompletely; the retry of key 3 has no change left.
        "change_write_duration_seconds_count{controller=\"test\"} 2",
        "change_write_duration_seconds_sum{controller=\"test\"} 3.0",
        "sync_retries_total{controller=\"test\",reason=\"failed\"} 2",
        "sync_retries_total{controller=\"test\",reason=\"conflict\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}
