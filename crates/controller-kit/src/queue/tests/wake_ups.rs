//! The wake-ups over random histories: workers here sleep until the core asks to wake one.
//!
//! After every step, and after the woken workers have asked for a key: no worker sleeps while a key is ready, and if a
//! deadline is set, exactly one of the sleeping workers sleeps until then or until an earlier one that was cancelled.
//! Workers may also leave while they sleep, as `get` may be cancelled, even after they were woken.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::core::{Core, Next};
use super::super::state::Phase;
use super::super::{Cause, Priority, RateLimit};

#[derive(Debug, Clone)]
enum Op {
    Add(u8),
    AddLow(u8),
    AddAfter(u8, u64),
    Retry(u8),
    Forget(u8),
    Promote(u8),
    Advance(u64),
    /// A worker finishes its key and asks for the next one.
    Get(usize),
    /// A worker finishes its key and leaves, or leaves while it sleeps.
    Leave(usize),
    ShutDown,
}

const WORKERS: usize = 4;

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..8_u8).prop_map(Op::Add),
        2 => (0..8_u8).prop_map(Op::AddLow),
        8 => (0..8_u8, 0..20_u64).prop_map(|(key, ms)| Op::AddAfter(key, ms)),
        4 => (0..8_u8).prop_map(Op::Retry),
        4 => (0..8_u8).prop_map(Op::Forget),
        2 => (0..8_u8).prop_map(Op::Promote),
        6 => (0..12_u64).prop_map(Op::Advance),
        12 => (0..WORKERS).prop_map(Op::Get),
        4 => (0..WORKERS).prop_map(Op::Leave),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Worker {
    Away,
    Busy(u8),
    Asleep { until: Option<Instant> },
}

struct Harness {
    core: Core<u8>,
    now: Instant,
    workers: [Worker; WORKERS],
    /// The sleeping workers, the longest asleep first.
    asleep: VecDeque<usize>,
    /// Workers that were woken and have not asked for a key yet.
    woken: VecDeque<usize>,
    /// A wake-up while no worker slept.
    permit: bool,
}

impl Harness {
    fn new() -> Self {
        Self {
            core: Core::new(RateLimit::default()),
            now: Instant::now(),
            workers: [Worker::Away; WORKERS],
            asleep: VecDeque::new(),
            woken: VecDeque::new(),
            permit: false,
        }
    }

    fn step<R>(&mut self, step: impl FnOnce(&mut Core<u8>, Instant) -> R) -> R {
        let before = self.core.state();
        let result = step(&mut self.core, self.now);
        let wake = before.wake(&self.core.state());
        if wake.worker {
            self.wake_one();
        }
        if wake.deadline_waiter {
            let deadline_waiter =
                |worker: &usize| matches!(self.workers[*worker], Worker::Asleep { until: Some(_) });
            if let Some(at) = self.asleep.iter().position(deadline_waiter) {
                self.woken.extend(self.asleep.remove(at));
            }
        }
        if wake.all_workers {
            self.woken.extend(self.asleep.drain(..));
        }
        result
    }

    fn wake_one(&mut self) {
        match self.asleep.pop_front() {
            Some(worker) => self.woken.push_back(worker),
            None => self.permit = true,
        }
    }

    fn get(&mut self, worker: usize) {
        let is_deadline_waiter = matches!(self.workers[worker], Worker::Asleep { until: Some(_) });
        self.asleep.retain(|other| *other != worker);
        self.woken.retain(|other| *other != worker);
        if let Worker::Busy(key) = self.workers[worker] {
            self.step(|core, now| core.done(&key, now));
        }
        self.workers[worker] = match self.step(|core, now| core.next(is_deadline_waiter, now)) {
            Next::Ready(ready) => Worker::Busy(ready.key),
            Next::Closed => Worker::Away,
            Next::Wait => Worker::Asleep { until: None },
            Next::WaitUntil(deadline) => Worker::Asleep { until: Some(deadline) },
        };
        if matches!(self.workers[worker], Worker::Asleep { .. }) {
            if std::mem::take(&mut self.permit) {
                self.woken.push_back(worker);
            } else {
                self.asleep.push_back(worker);
            }
        }
    }

    fn leave(&mut self, worker: usize) {
        match std::mem::replace(&mut self.workers[worker], Worker::Away) {
            Worker::Away => {}
            Worker::Busy(key) => {
                self.step(|core, now| core.done(&key, now));
            }
            Worker::Asleep { until } => {
                self.asleep.retain(|other| *other != worker);
                if self.woken.contains(&worker) {
                    self.woken.retain(|other| *other != worker);
                    self.wake_one(); // as tokio's Notify does
                }
                if until.is_some() {
                    self.step(|core, _| core.remove_deadline_waiter());
                }
            }
        }
    }

    fn run(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Add(key) => self.step(|core, now| core.add(key, Priority::Normal, now)),
            Op::AddLow(key) => self.step(|core, now| core.add(key, Priority::Low, now)),
            Op::AddAfter(key, ms) => {
                self.step(|core, now| core.add_after(key, Priority::Normal, Duration::from_millis(ms), now));
            }
            Op::Retry(key) => self.step(|core, now| core.retry(key, &[Cause::FAILURE], now)),
            Op::Forget(key) => self.step(|core, now| core.forget(&key, now)),
            Op::Promote(key) => self.step(|core, now| core.promote(&key, now)),
            Op::Advance(ms) => self.now += Duration::from_millis(ms),
            Op::Get(worker) => self.get(worker),
            Op::Leave(worker) => self.leave(worker),
            Op::ShutDown => self.step(Core::shut_down),
        }
        self.settle()
    }

    /// Every worker that was woken, or whose deadline has come, asks for a key.
    fn settle(&mut self) -> Result<(), TestCaseError> {
        let mut gets = 0;
        loop {
            let now = self.now;
            let timer = |worker: &Worker| matches!(worker, Worker::Asleep { until: Some(at) } if *at <= now);
            let Some(worker) = self.woken.pop_front().or_else(|| self.workers.iter().position(timer)) else {
                break;
            };
            self.get(worker);
            gets += 1;
            prop_assert!(gets < 100, "workers keep waking each other");
        }
        let sleepers = self.workers.iter().filter(|worker| matches!(worker, Worker::Asleep { .. })).count();
        let until: Vec<_> = self
            .workers
            .iter()
            .filter_map(|worker| match worker {
                Worker::Asleep { until } => *until,
                _ => None,
            })
            .collect();
        if sleepers > 0 {
            let now = self.now;
            prop_assert_eq!(self.core.len(now), 0, "{:?}", self.workers);
            match self.core.earliest_deadline() {
                Some(deadline) => prop_assert!(until.len() == 1 && until[0] <= deadline, "{until:?}"),
                None => prop_assert!(until.len() <= 1, "{until:?}"), // a deadline that was cancelled or dropped
            }
            prop_assert_eq!(self.core.state().phase, Phase::Open);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn no_worker_sleeps_while_a_key_is_ready(ops in prop::collection::vec(op(), 1..150), after in prop::collection::vec(op(), 0..30)) {
        let mut harness = Harness::new();
        for op in ops.iter().chain([&Op::ShutDown]).chain(&after) {
            harness.run(op)?;
        }
        // one worker that keeps coming is enough to empty it
        for worker in 1..WORKERS {
            harness.run(&Op::Leave(worker))?;
        }
        for _ in 0..20 {
            harness.run(&Op::Get(0))?;
        }
        prop_assert_eq!(harness.core.state().phase, Phase::Closed);
        prop_assert_eq!(harness.workers, [Worker::Away; WORKERS]);
    }
}
