//! The locking around the core under shuttle, which tries many interleavings of threads.
//!
//! The queue here works step for step as the real one (one lock around each step of the core, waits registered under
//! that lock, wake-ups after it), built from shuttle's locks and threads instead of tasks. A lost wake-up shows as a
//! deadlock. On failure shuttle prints the schedule; `shuttle::replay` runs it again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

use super::super::core::{Core, Next};
use super::super::{Cause, Priority};

const WORKERS: usize = 3;
const KEYS: usize = 4;

/// Like tokio's `Notify`: wakes the thread that has waited longest, or the next one to wait.
#[derive(Default)]
struct Notify(Mutex<(bool, VecDeque<usize>)>);

#[derive(Default)]
struct Sleeper {
    woken: Mutex<bool>,
    wake: Condvar,
}

struct Queue {
    start: Instant,
    now: AtomicU64,
    core: Mutex<Core<usize>>,
    workers: Notify,
    deadline_waiter: Notify,
    sleepers: [Sleeper; WORKERS],
}

impl Queue {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            now: AtomicU64::new(0),
            core: Mutex::new(Core::new(super::one_second())),
            workers: Notify::default(),
            deadline_waiter: Notify::default(),
            sleepers: Default::default(),
        }
    }

    fn instant(&self) -> Instant {
        self.start + Duration::from_secs(self.now.load(Ordering::SeqCst))
    }

    fn with<R>(&self, step: impl FnOnce(&mut Core<usize>, Instant) -> R) -> R {
        let (result, wake) = {
            let mut core = self.core.lock().unwrap();
            let before = core.state();
            let result = step(&mut core, self.instant());
            (result, before.wake(&core.state()))
        };
        if wake.worker {
            self.notify(&self.workers, 1);
        }
        if wake.deadline_waiter {
            self.notify(&self.deadline_waiter, 1);
        }
        if wake.all_workers {
            self.notify(&self.workers, WORKERS);
        }
        result
    }

    fn notify(&self, notify: &Notify, times: usize) {
        let mut waiting = notify.0.lock().unwrap();
        for _ in 0..times {
            match waiting.1.pop_front() {
                Some(worker) => self.wake(worker),
                None => waiting.0 = times == 1,
            }
        }
    }

    fn wake(&self, worker: usize) {
        *self.sleepers[worker].woken.lock().unwrap() = true;
        self.sleepers[worker].wake.notify_one();
    }

    fn register(&self, notify: &Notify, worker: usize) {
        let mut waiting = notify.0.lock().unwrap();
        if std::mem::take(&mut waiting.0) {
            self.wake(worker);
        } else {
            waiting.1.push_back(worker);
        }
    }

    fn get(&self, worker: usize) -> Option<usize> {
        let mut is_deadline_waiter = false;
        loop {
            let next = self.with(|core, now| {
                let next = core.next(is_deadline_waiter, now);
                if matches!(next, Next::Wait | Next::WaitUntil(_)) {
                    self.register(&self.workers, worker);
                }
                next
            });
            let until = match next {
                Next::Ready(ready) => return Some(ready.key),
                Next::Closed => return None,
                Next::Wait => None,
                Next::WaitUntil(deadline) => {
                    self.register(&self.deadline_waiter, worker);
                    Some(deadline)
                }
            };
            is_deadline_waiter = until.is_some();
            self.sleep(worker, until);
            for notify in [&self.workers, &self.deadline_waiter] {
                notify.0.lock().unwrap().1.retain(|other| *other != worker);
            }
            *self.sleepers[worker].woken.lock().unwrap() = false;
        }
    }

    fn sleep(&self, worker: usize, until: Option<Instant>) {
        let sleeper = &self.sleepers[worker];
        let mut woken = sleeper.woken.lock().unwrap();
        while !*woken && until.is_none_or(|until| self.instant() < until) {
            woken = sleeper.wake.wait(woken).unwrap();
        }
    }

    /// A second passes. Sleeping workers check their deadlines.
    fn tick(&self) {
        self.now.fetch_add(1, Ordering::SeqCst);
        for sleeper in &self.sleepers {
            drop(sleeper.woken.lock().unwrap());
            sleeper.wake.notify_one();
        }
    }
}

/// The adds and hand-outs of each key.
#[derive(Default)]
struct Log {
    /// Raised before each add.
    added: [AtomicU64; KEYS],
    processing: [AtomicBool; KEYS],
    /// The highest value of `added` seen by a worker.
    seen: Mutex<[u64; KEYS]>,
    progress: Condvar,
}

fn work(queue: &Queue, log: &Log, worker: usize) {
    while let Some(key) = queue.get(worker) {
        assert!(!log.processing[key].swap(true, Ordering::SeqCst), "two workers on {key}");
        let added = log.added[key].load(Ordering::SeqCst);
        thread::yield_now();
        log.processing[key].store(false, Ordering::SeqCst);
        queue.with(|core, now| core.forget(&key, now));
        queue.with(|core, now| core.done(&key, now));
        let mut seen = log.seen.lock().unwrap();
        seen[key] = seen[key].max(added);
        log.progress.notify_all();
    }
}

fn scenario() {
    let queue = Arc::new(Queue::new());
    let log = Arc::new(Log::default());
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (queue, log) = (queue.clone(), log.clone());
            thread::spawn(move || work(&queue, &log, worker))
        })
        .collect();
    let add = |key: usize, how: fn(&mut Core<usize>, usize, Instant)| {
        log.added[key].fetch_add(1, Ordering::SeqCst);
        queue.with(|core, now| how(core, key, now));
    };
    thread::scope(|scope| {
        // keys 0 and 1 are added at once from two sides, 2 and 3 only with delays
        scope.spawn(|| {
            add(0, |core, key, now| core.add(key, Priority::Normal, now));
            add(2, |core, key, now| core.add_after(key, Priority::Normal, Duration::from_secs(3), now));
            add(1, |core, key, now| core.add(key, Priority::Low, now));
            add(0, |core, key, now| core.add(key, Priority::Normal, now));
        });
        scope.spawn(|| {
            add(3, |core, key, now| core.retry(key, &[Cause::FAILURE], now));
            queue.with(|core, now| core.promote(&1, now));
            add(1, |core, key, now| core.add(key, Priority::Normal, now));
            add(2, |core, key, now| core.add_after(key, Priority::Low, Duration::from_secs(1), now));
            add(0, |core, key, now| core.add(key, Priority::Low, now));
        });
        scope.spawn(|| queue.tick());
    });
    (0..3).for_each(|_| queue.tick());

    let mut seen = log.seen.lock().unwrap();
    while (0..KEYS).any(|key| seen[key] != log.added[key].load(Ordering::SeqCst)) {
        seen = log.progress.wait(seen).unwrap(); // for ever, if a wake-up is lost
    }
    drop(seen);

    queue.with(Core::shut_down);
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn no_interleaving_loses_a_key_at_random() {
    shuttle::check_random(scenario, 1000);
}

#[test]
fn no_interleaving_loses_a_key_with_few_preemptions() {
    shuttle::check_pct(scenario, 1000, 3);
}
