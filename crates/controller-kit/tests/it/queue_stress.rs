//! The work queue on real threads.
#![allow(clippy::indexing_slicing, reason = "clippy.toml lifts it for test functions, not for their helpers")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use controller_kit::queue::{Priority, RateLimit, WorkQueue};
use tokio::task::{JoinSet, yield_now};

const PRODUCERS: u64 = 8;
const WORKERS: usize = 8;
const KEYS: usize = 1000;

#[derive(Default)]
struct Key {
    /// Raised before each add.
    added: AtomicU64,
    processing: AtomicBool,
    /// The value of `added` at the last hand-out.
    seen: AtomicU64,
}

async fn produce(queue: WorkQueue<usize>, keys: Arc<Vec<Key>>, producer: u64) {
    let mut random = fastrand::Rng::with_seed(producer);
    let mut order: Vec<usize> = (0..KEYS).collect();
    random.shuffle(&mut order);
    for key in order {
        keys[key].added.fetch_add(1, Ordering::SeqCst);
        match random.u8(0..4) {
            0 => queue.add_with_priority(key, Priority::Low),
            1 => queue.add_after(key, Duration::ZERO),
            _ => queue.add(key),
        }
        if random.u8(0..8) == 0 {
            yield_now().await;
        }
    }
}

/// Takes keys until the queue is closed, and cancels one wait in four.
async fn work(queue: WorkQueue<usize>, keys: Arc<Vec<Key>>, worker: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(1000 + worker);
    let mut handed_out = 0;
    loop {
        let item = if random.u8(0..4) == 0 {
            tokio::select! {
                biased;
                item = queue.get() => item,
                () = yield_now() => continue,
            }
        } else {
            queue.get().await
        };
        let Some(item) = item else { return handed_out };
        handed_out += 1;
        let key = &keys[*item];
        assert!(!key.processing.swap(true, Ordering::SeqCst), "two workers on {item:?}");
        key.seen.store(key.added.load(Ordering::SeqCst), Ordering::SeqCst);
        if random.bool() {
            yield_now().await;
        }
        key.processing.store(false, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_key_is_processed_after_its_last_add_and_never_twice_at_a_time() {
    let queue = WorkQueue::new(RateLimit::default());
    let keys: Arc<Vec<Key>> = Arc::new((0..KEYS).map(|_| Key::default()).collect());
    let mut workers = JoinSet::new();
    (0..WORKERS as u64).for_each(|worker| {
        workers.spawn(work(queue.clone(), keys.clone(), worker));
    });
    let mut producers = JoinSet::new();
    for producer in 0..PRODUCERS {
        producers.spawn(produce(queue.clone(), keys.clone(), producer));
    }
    producers.join_all().await;
    queue.shut_down_with_drain().await;
    let handed_out: u64 = workers.join_all().await.into_iter().sum();

    for (key, state) in keys.iter().enumerate() {
        assert_eq!(state.added.load(Ordering::SeqCst), PRODUCERS);
        assert_eq!(
            state.seen.load(Ordering::SeqCst),
            PRODUCERS,
            "key {key} was not processed after its last add"
        );
    }
    assert!((KEYS as u64..=KEYS as u64 * PRODUCERS).contains(&handed_out), "{handed_out}");
    assert!(queue.is_empty());
}

/// Wake-ups must not depend on the shutdown: here the queue stays open until every key was seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_open_queue_gets_everything_done() {
    let queue = WorkQueue::new(RateLimit::default());
    let keys: Arc<Vec<Key>> = Arc::new((0..KEYS).map(|_| Key::default()).collect());
    let mut workers = JoinSet::new();
    (0..WORKERS as u64).for_each(|worker| {
        workers.spawn(work(queue.clone(), keys.clone(), worker));
    });
    for round in 0..20 {
        for key in 0..KEYS {
            keys[key].added.fetch_add(1, Ordering::SeqCst);
            queue.add(key);
            if key % 50 == round {
                yield_now().await; // let workers fall asleep now and then
            }
        }
        while keys.iter().any(|key| key.seen.load(Ordering::SeqCst) <= round as u64) {
            yield_now().await;
        }
    }
    queue.shut_down_with_drain().await;
    workers.join_all().await;
}
