//! Pods that changed and are not published yet, and how long that took for the others.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Marks a pod that became ready; the other bits are the microseconds at which it changed.
const READY: u64 = 1 << 63;

/// The delays from the events of pods to the requests that publish them, of one kind of object.
#[derive(Debug)]
pub(crate) struct Tally {
    start: Instant,
    /// By the index of the pod; 0 if its last change is published.
    waiting: Vec<AtomicU64>,
    /// In microseconds.
    delays: Mutex<Vec<u32>>,
    superseded: AtomicU64,
}

impl Tally {
    pub(crate) fn new(pods: usize) -> Self {
        let waiting = std::iter::repeat_with(AtomicU64::default).take(pods).collect();
        Self { start: Instant::now(), waiting, delays: Mutex::default(), superseded: AtomicU64::default() }
    }

    fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.start).as_micros()).expect("a time of this process").max(1)
    }

    /// A pod is about to change. An earlier change that was not published yet counts as superseded.
    pub(crate) fn changes(&self, pod: usize, ready: bool) {
        let ready = if ready { READY } else { 0 };
        let before = self.waiting[pod].swap(self.micros(Instant::now()) | ready, Ordering::Relaxed);
        self.superseded.fetch_add(u64::from(before != 0), Ordering::Relaxed);
    }

    /// A request that arrived at this time shows the pod.
    pub(crate) fn published(&self, pod: usize, ready: bool, at: Instant) {
        let cell = &self.waiting[pod];
        let change = cell.load(Ordering::Relaxed);
        if change == 0 || (change & READY != 0) != ready {
            return;
        }
        if cell.compare_exchange(change, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let delay = self.micros(at).saturating_sub(change & !READY);
            self.delays.lock().expect("a lock").push(u32::try_from(delay).unwrap_or(u32::MAX));
        }
    }

    /// The number of changes that are not published yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.iter().filter(|cell| cell.load(Ordering::Relaxed) != 0).count()
    }

    /// The number of changes that were undone before they were published.
    pub(crate) fn superseded(&self) -> u64 {
        self.superseded.load(Ordering::Relaxed)
    }

    /// All delays so far in microseconds, shortest first.
    pub(crate) fn delays(&self) -> Vec<u32> {
        let mut delays = self.delays.lock().expect("a lock").clone();
        delays.sort_unstable();
        delays
    }
}
