//! The work queue. One item is one key.

use std::hint::black_box;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{RateLimit, WorkQueue};
use futures::FutureExt as _;

/// Keys that are added.
pub(crate) const KEYS: u64 = 10_000;

fn keys() -> Vec<ObjectKey> {
    (0..KEYS).map(|number| ObjectKey::new(format!("ns-{}", number % 100), format!("app-{number}"))).collect()
}

fn queue() -> WorkQueue<ObjectKey> {
    WorkQueue::new(RateLimit { bucket: None, ..RateLimit::default() })
}

/// Each key is added, taken by a worker, processed and forgotten.
pub(crate) fn add_get_done() -> Box<dyn FnMut()> {
    let (queue, keys) = (queue(), keys());
    Box::new(move || {
        for key in &keys {
            queue.add(key.clone());
        }
        for _ in &keys {
            let item = queue.get().now_or_never().flatten().expect("a key");
            queue.forget(&item);
        }
        assert!(queue.is_empty(), "keys are left");
    })
}

/// Each key is queued already.
pub(crate) fn merge() -> Box<dyn FnMut()> {
    let (queue, keys) = (queue(), keys());
    for key in &keys {
        queue.add(key.clone());
    }
    Box::new(move || {
        for key in &keys {
            queue.add(key.clone());
        }
        assert_eq!(queue.len(), keys.len(), "queued keys");
    })
}

/// Each key has failed.
pub(crate) fn retry() -> Box<dyn FnMut()> {
    let (queue, keys) = (queue(), keys());
    Box::new(move || {
        for key in &keys {
            queue.add_rate_limited(black_box(key.clone()));
        }
    })
}
