//! The locking around the core under shuttle, which tries out many interleavings of threads.
//!
//! The shell here is the real one step for step (one lock around each step of the core, waiting registered under that
//! lock, waking after it), built from shuttle's locks and threads instead of tasks. A wake-up
//! that got lost shows as a deadlock. On failure shuttle prints the schedule; `shuttle::replay` runs it again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

use super::super::core::{Core, Next};
use super::super::{Cause, Priority};

const WORKERS: usize = 3;
const KEYS: usize = 4;

/// As tokio's `Notify`: calls the one who has waited the longest, or the next to come.
#[derive(Default)]
struct Bell(Mutex<(bool, VecDeque<usize>)>);

#[derive(Default)]
struct Sleeper {
    called: Mutex<bool>,
    wake: Condvar,
}

struct Shell {
    start: Instant,
    now: AtomicU64,
    core: Mutex<Core<usize>>,
    workers: Bell,
    deadline_waiter: Bell,
    sleepers: [Sleeper; WORKERS],
    is_drained: Mutex<bool>,
    drained: Condvar,
}

impl Shell {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            now: AtomicU64::new(0),
            core: Mutex::new(Core::new(super::one_second())),
            workers: Bell::default(),
            deadline_waiter: Bell::default(),
            sleepers: Default::default(),
            is_drained: Mutex::new(false),
            drained: Condvar::new(),
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
            self.ring(&self.workers, 1);
        }
        if wake.deadline_waiter {
            self.ring(&self.deadline_waiter, 1);
        }
        if wake.all_workers {
            self.ring(&self.workers, WORKERS);
        }
        if wake.drained {
            *self.is_drained.lock().unwrap() = true;
            self.drained.notify_all();
        }
        result
    }

    fn ring(&self, bell: &Bell, times: usize) {
        let mut bell = bell.0.lock().unwrap();
        for _ in 0..times {
            match bell.1.pop_front() {
                Some(worker) => self.call(worker),
                None => bell.0 = times == 1,
            }
        }
    }

    fn call(&self, worker: usize) {
        *self.sleepers[worker].called.lock().unwrap() = true;
        self.sleepers[worker].wake.notify_one();
    }

    fn enlist(&self, bell: &Bell, worker: usize) {
        let mut bell = bell.0.lock().unwrap();
        if std::mem::take(&mut bell.0) {
            self.call(worker);
        } else {
            bell.1.push_back(worker);
        }
    }

    fn get(&self, worker: usize) -> Option<usize> {
        let mut is_deadline_waiter = false;
        loop {
            let next = self.with(|core, now| {
                let next = core.next(is_deadline_waiter, now);
                if matches!(next, Next::Wait | Next::WaitUntil(_)) {
                    self.enlist(&self.workers, worker);
                }
                next
            });
            let until = match next {
                Next::Ready(ready) => return Some(ready.key),
                Next::Closed => return None,
                Next::Wait => None,
                Next::WaitUntil(deadline) => {
                    self.enlist(&self.deadline_waiter, worker);
                    Some(deadline)
                }
            };
            is_deadline_waiter = until.is_some();
            self.sleep(worker, until);
            for bell in [&self.workers, &self.deadline_waiter] {
                bell.0.lock().unwrap().1.retain(|other| *other != worker);
            }
            *self.sleepers[worker].called.lock().unwrap() = false;
        }
    }

    fn sleep(&self, worker: usize, until: Option<Instant>) {
        let sleeper = &self.sleepers[worker];
        let mut called = sleeper.called.lock().unwrap();
        while !*called && until.is_none_or(|until| self.instant() < until) {
            called = sleeper.wake.wait(called).unwrap();
        }
    }

    /// A second passes. Whoever sleeps looks at the clock, and sleeps on unless it is time.
    fn tick(&self) {
        self.now.fetch_add(1, Ordering::SeqCst);
        for sleeper in &self.sleepers {
            drop(sleeper.called.lock().unwrap());
            sleeper.wake.notify_one();
        }
    }
}

/// What became of the keys.
#[derive(Default)]
struct Log {
    /// Raised before each add.
    added: [AtomicU64; KEYS],
    in_hand: [AtomicBool; KEYS],
    /// The highest value of `added` that a worker saw.
    seen: Mutex<[u64; KEYS]>,
    progress: Condvar,
}

fn work(shell: &Shell, log: &Log, worker: usize) {
    while let Some(key) = shell.get(worker) {
        assert!(!log.in_hand[key].swap(true, Ordering::SeqCst), "two workers on {key}");
        let added = log.added[key].load(Ordering::SeqCst);
        thread::yield_now();
        log.in_hand[key].store(false, Ordering::SeqCst);
        shell.with(|core, now| core.forget(&key, now));
        shell.with(|core, now| core.done(&key, now));
        let mut seen = log.seen.lock().unwrap();
        seen[key] = seen[key].max(added);
        log.progress.notify_all();
    }
}

fn day() {
    let shell = Arc::new(Shell::new());
    let log = Arc::new(Log::default());
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (shell, log) = (shell.clone(), log.clone());
            thread::spawn(move || work(&shell, &log, worker))
        })
        .collect();
    let add = |key: usize, how: fn(&mut Core<usize>, usize, Instant)| {
        log.added[key].fetch_add(1, Ordering::SeqCst);
        shell.with(|core, now| how(core, key, now));
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
            shell.with(|core, now| core.promote(&1, now));
            add(1, |core, key, now| core.add(key, Priority::Normal, now));
            add(2, |core, key, now| core.add_after(key, Priority::Low, Duration::from_secs(1), now));
            add(0, |core, key, now| core.add(key, Priority::Low, now));
        });
        scope.spawn(|| shell.tick());
    });
    (0..3).for_each(|_| shell.tick());

    let mut seen = log.seen.lock().unwrap();
    while (0..KEYS).any(|key| seen[key] != log.added[key].load(Ordering::SeqCst)) {
        seen = log.progress.wait(seen).unwrap(); // for ever, if a wake-up is lost
    }
    drop(seen);

    shell.with(Core::shut_down);
    let mut is_drained = shell.is_drained.lock().unwrap();
    while !*is_drained {
        is_drained = shell.drained.wait(is_drained).unwrap();
    }
    drop(is_drained);
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn no_interleaving_loses_a_key_at_random() {
    shuttle::check_random(day, 1000);
}

#[test]
fn no_interleaving_loses_a_key_with_few_preemptions() {
    shuttle::check_pct(day, 1000, 3);
}
