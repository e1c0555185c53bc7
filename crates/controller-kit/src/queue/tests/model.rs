//! The pure core against a slow, simple model, over random histories.
//!
//! The model searches lists; time is a count of milliseconds and the bucket a count of tokens. Besides the comparison of
//! each step, a history is checked for the queue's guarantees, independently of the model.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::core::{Core, Next};
use super::super::ready::Ready;
use super::super::state::Phase;
use super::super::{Bucket, Cause, FailureReason, NORMAL_PER_LOW, Priority, RateLimit, STALE_CACHE_DELAY};

const BASE: u64 = 10;
const MAX: u64 = 800;
const MAX_UNAVAILABLE: u64 = 100;
/// Milliseconds per token.
const TOKEN: i64 = 100;
const BURST: i64 = 3;
const LIMIT: RateLimit = RateLimit {
    base_delay: Duration::from_millis(BASE),
    max_delay: Duration::from_millis(MAX),
    max_unavailable_delay: Duration::from_millis(MAX_UNAVAILABLE),
    bucket: Some(Bucket { qps: 10.0, burst: 3 }),
};

type Key = u8;

#[derive(Debug, Clone)]
enum Op {
    Add(Key),
    AddLow(Key),
    AddAfter(Priority, Key, u64),
    Promote(Key),
    Retry(Key, Vec<Cause>),
    Forget(Key),
    Get,
    /// Is done with one of the keys being processed.
    Done(prop::sample::Index),
    Advance(u64),
    ShutDown,
}

fn priority() -> impl Strategy<Value = Priority> {
    prop_oneof![Just(Priority::Normal), Just(Priority::Low)]
}

fn reason() -> impl Strategy<Value = FailureReason> {
    prop_oneof![Just(FailureReason::Refused), Just(FailureReason::Unavailable)]
}

fn cause() -> impl Strategy<Value = Cause> {
    prop_oneof![
        1 => Just(Cause::StaleCache),
        1 => Just(Cause::Conflict),
        3 => (0..3_u64, reason(), 0..3_u32).prop_map(|(fingerprint, reason, pauses)| {
            Cause::Failure { fingerprint, reason, pause: pauses * Duration::from_millis(60) }
        }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..24_u8;
    prop_oneof![
        16 => key.clone().prop_map(Op::Add),
        8 => key.clone().prop_map(Op::AddLow),
        6 => (priority(), key.clone(), prop_oneof![Just(0), 1..60_u64])
            .prop_map(|(priority, key, ms)| Op::AddAfter(priority, key, ms)),
        2 => key.clone().prop_map(Op::Promote),
        8 => (key.clone(), prop::collection::vec(cause(), 0..3)).prop_map(|(key, causes)| Op::Retry(key, causes)),
        3 => key.prop_map(Op::Forget),
        16 => Just(Op::Get),
        14 => any::<prop::sample::Index>().prop_map(Op::Done),
        5 => (0..150_u64).prop_map(Op::Advance),
    ]
}

/// A history; some are shut down on the way.
fn history() -> impl Strategy<Value = Vec<Op>> {
    let open = prop::collection::vec(op(), 1..250);
    let closed = (prop::collection::vec(op(), 1..150), prop::collection::vec(op(), 1..50))
        .prop_map(|(before, after)| [before, vec![Op::ShutDown], after].concat());
    prop_oneof![3 => open, 1 => closed]
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    key: Key,
    retry: bool,
    deadline: u64,
    priority: Priority,
    token: bool,
    /// The number of waits requested before.
    asked: usize,
}

#[derive(Debug, Default)]
struct Model {
    now: u64,
    /// In the order of the hand-out, each with the time of its add.
    normal: Vec<(Key, u64)>,
    low: Vec<(Key, u64)>,
    /// With the number of waits requested before the hand-out.
    processing: BTreeMap<Key, usize>,
    again: BTreeMap<Key, (Priority, u64)>,
    waits: Vec<Wait>,
    asked: usize,
    failures: BTreeMap<Key, BTreeMap<u64, u32>>,
    conflicts: BTreeMap<Key, u32>,
    /// The tokens missing in the bucket, in milliseconds of filling.
    missing: i64,
    normal_in_a_row: u32,
    shut_down: bool,
    /// True if the requested retry takes a token.
    token: bool,
}

impl Model {
    fn advance(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += 1;
            self.missing = (self.missing - 1).max(0);
            while let Some(at) = self.waits.iter().position(|wait| wait.deadline <= self.now) {
                let wait = self.waits.remove(at);
                self.add(wait.key, wait.priority);
            }
        }
    }

    fn add(&mut self, key: Key, priority: Priority) {
        if self.shut_down {
            return;
        }
        let since = self.now;
        if self.processing.contains_key(&key) {
            let (_, since) = self.again.get(&key).copied().unwrap_or((priority, since));
            let priority = self.again.get(&key).map_or(priority, |(old, _)| priority.max(*old));
            self.again.insert(key, (priority, since));
        } else if let Some(at) = self.low.iter().position(|(other, _)| *other == key) {
            if priority == Priority::Normal {
                let promoted = self.low.remove(at);
                self.normal.push(promoted);
            }
        } else if !self.normal.iter().any(|(other, _)| *other == key) {
            match priority {
                Priority::Normal => self.normal.push((key, since)),
                Priority::Low => self.low.push((key, since)),
            }
        }
    }

    fn promote(&mut self, key: Key) {
        if self.low.iter().any(|(other, _)| *other == key) {
            let shut_down = std::mem::take(&mut self.shut_down);
            self.add(key, Priority::Normal);
            self.shut_down = shut_down;
        }
    }

    fn add_after(&mut self, priority: Priority, key: Key, ms: u64) {
        if self.shut_down {
            return;
        }
        if ms == 0 {
            return self.add(key, priority);
        }
        let deadline = self.now + ms;
        let old = self.waits.iter().position(|wait| wait.key == key && !wait.retry);
        if old.is_some_and(|at| self.waits[at].deadline <= deadline && priority <= self.waits[at].priority) {
            return;
        }
        let old = old.map(|at| self.waits.remove(at));
        let deadline = old.as_ref().map_or(deadline, |old| old.deadline.min(deadline));
        let priority = old.map_or(priority, |old| old.priority.max(priority));
        self.wait(Wait { key, retry: false, deadline, priority, token: false, asked: 0 });
    }

    fn wait(&mut self, wait: Wait) {
        self.waits.push(Wait { asked: self.asked, ..wait });
        self.asked += 1;
        self.waits.sort_by_key(|wait| wait.deadline); // stable
    }

    /// The delay, and whether the retry has normal priority.
    fn delay(&mut self, key: Key, causes: &[Cause]) -> Option<(u64, bool)> {
        let old = self.failures.get(&key).cloned().unwrap_or_default();
        let mut failures = BTreeMap::new();
        let (mut delays, mut longest) = (Vec::new(), MAX);
        for cause in causes {
            if let Cause::Failure { fingerprint, reason, pause } = *cause {
                let count = old.get(&fingerprint).copied().unwrap_or_default();
                let max = if reason == FailureReason::Unavailable { MAX_UNAVAILABLE } else { MAX };
                longest = longest.min(max);
                let pause = u64::try_from(pause.as_millis()).unwrap();
                delays.push(((BASE << count.min(20)).max(pause).min(max), true));
                failures.insert(fingerprint, count + 1);
            }
        }
        let wait = u64::try_from(self.missing + TOKEN - BURST * TOKEN).unwrap_or(0);
        if !failures.is_empty() {
            self.failures.insert(key, failures);
            let bucket = wait.min(longest);
            let own = delays.iter().map(|(delay, _)| *delay).min()?;
            delays = vec![(own.max(bucket), own >= bucket)];
        }
        let stale = u64::try_from(STALE_CACHE_DELAY.as_millis()).unwrap();
        let transient = if causes.contains(&Cause::Conflict) {
            let conflicts = self.conflicts.entry(key).or_default();
            *conflicts += 1;
            Some((BASE << (*conflicts - 1).min(20)).min(stale))
        } else {
            causes.contains(&Cause::StaleCache).then_some(stale)
        };
        match (delays.first(), transient) {
            (Some(failure), Some(transient)) if failure.0 > transient => {
                self.token = false;
                Some((transient, true))
            }
            (Some(failure), _) => {
                self.token = wait <= longest;
                Some(*failure)
            }
            (None, Some(transient)) => {
                self.token = false;
                Some((transient, true))
            }
            (None, None) => None,
        }
    }

    fn retry(&mut self, key: Key, causes: &[Cause]) {
        if self.shut_down {
            return;
        }
        let causes = if causes.is_empty() { &[Cause::FAILURE] } else { causes };
        let Some((ms, normal)) = self.delay(key, causes) else { return };
        let priority = if normal { Priority::Normal } else { Priority::Low };
        let deadline = self.now + ms;
        if let Some(at) = self.waits.iter().position(|wait| wait.key == key && wait.retry) {
            let old = self.waits.remove(at);
            if old.deadline <= deadline {
                return self.wait(old);
            }
            self.give_back(&old);
        }
        let token = self.token && self.missing + TOKEN <= BURST * TOKEN + MAX.cast_signed();
        self.missing += if token { TOKEN } else { 0 };
        self.wait(Wait { key, retry: true, deadline, priority, token, asked: 0 });
    }

    fn give_back(&mut self, wait: &Wait) {
        if wait.token {
            self.missing = (self.missing - TOKEN).max(0);
        }
    }

    fn forget(&mut self, key: Key) {
        self.failures.remove(&key);
        self.conflicts.remove(&key);
        let since = self.processing.get(&key).copied().unwrap_or(usize::MAX);
        let cancelled = |wait: &Wait| wait.key == key && wait.retry && wait.asked < since;
        if let Some(at) = self.waits.iter().position(cancelled) {
            let old = self.waits.remove(at);
            self.give_back(&old);
        }
    }

    fn get(&mut self) -> Option<(Key, u64)> {
        let low = !self.low.is_empty() && (self.normal.is_empty() || self.normal_in_a_row == NORMAL_PER_LOW);
        self.normal_in_a_row = if low || self.low.is_empty() { 0 } else { self.normal_in_a_row + 1 };
        let priority = if low { &mut self.low } else { &mut self.normal };
        if priority.is_empty() {
            return None;
        }
        let next = priority.remove(0);
        self.processing.insert(next.0, self.asked);
        Some(next)
    }

    fn failures(&self, key: Key) -> u32 {
        self.failures.get(&key).into_iter().flat_map(BTreeMap::values).copied().max().unwrap_or(0)
    }

    fn done(&mut self, key: Key) {
        self.processing.remove(&key);
        if let Some((priority, since)) = self.again.remove(&key) {
            match priority {
                Priority::Normal => self.normal.push((key, since)),
                Priority::Low => self.low.push((key, since)),
            }
        }
    }

    fn shut_down(&mut self) {
        self.shut_down = true;
        self.waits.clear();
    }

    fn is_closed(&self) -> bool {
        self.shut_down && self.normal.is_empty() && self.low.is_empty() && self.again.is_empty()
    }
}

/// A hand-out that must follow, at the earliest at some time.
#[derive(Debug)]
struct Promise {
    key: Key,
    retry: bool,
    by: u64,
}

/// The core, the model, and the hand-outs promised so far.
struct Pair {
    core: Core<Key>,
    model: Model,
    start: Instant,
    processing: Vec<Key>,
    promised: Vec<Promise>,
}

impl Pair {
    fn new() -> Self {
        Self {
            core: Core::new(LIMIT),
            model: Model::default(),
            start: Instant::now(),
            processing: Vec::new(),
            promised: Vec::new(),
        }
    }

    fn instant(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn now(&self) -> Instant {
        self.instant(self.model.now)
    }

    /// Notes the promise of an add with `delay`: a hand-out no earlier than that, unless one is promised earlier but
    /// after now; then the earliest wins. Retries are promised separately.
    fn promise(&mut self, key: Key, retry: bool, delay: u64) {
        let (now, by) = (self.model.now, self.model.now + delay);
        let waits = |owed: &Promise| owed.key == key && owed.retry == retry && owed.by > now;
        if self.model.shut_down
            || (delay > 0 && self.promised.iter().any(|owed| waits(owed) && owed.by <= by))
        {
            return;
        }
        if delay > 0 {
            self.promised.retain(|owed| !waits(owed));
        }
        self.promised.push(Promise { key, retry, by });
    }

    fn run(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let now = self.now();
        match *op {
            Op::Add(key) => {
                self.promise(key, false, 0);
                self.core.add(key, Priority::Normal, now);
                self.model.add(key, Priority::Normal);
            }
            Op::AddLow(key) => {
                self.promise(key, false, 0);
                self.core.add(key, Priority::Low, now);
                self.model.add(key, Priority::Low);
            }
            Op::AddAfter(priority, key, ms) => {
                self.promise(key, false, ms);
                self.core.add_after(key, priority, Duration::from_millis(ms), now);
                self.model.add_after(priority, key, ms);
            }
            Op::Promote(key) => {
                self.core.promote(&key, now);
                self.model.promote(key);
            }
            Op::Retry(key, ref causes) => {
                self.core.retry(key, causes, now);
                self.model.retry(key, causes);
                let wait = self.model.waits.iter().find(|wait| wait.key == key && wait.retry);
                let delay = wait.map_or(0, |wait| wait.deadline - self.model.now);
                let failed =
                    causes.is_empty() || causes.iter().any(|cause| matches!(cause, Cause::Failure { .. }));
                let longest = if failed { u128::from(MAX) } else { STALE_CACHE_DELAY.as_millis() };
                prop_assert!(u128::from(delay) <= longest, "{delay} ms, however many keys have failed");
                self.promise(key, true, delay);
            }
            Op::Forget(key) => {
                self.core.forget(&key, now);
                self.model.forget(key);
                let (now, waits) = (self.model.now, &self.model.waits);
                let cancelled = |owed: &Promise| {
                    let same = |wait: &Wait| wait.key == key && wait.retry && wait.deadline == owed.by;
                    owed.key == key && owed.retry && owed.by > now && !waits.iter().any(same)
                };
                self.promised.retain(|owed| !cancelled(owed));
            }
            Op::Get => {
                self.get()?;
            }
            Op::Done(index) => {
                if !self.processing.is_empty() {
                    self.done(index.index(self.processing.len()));
                }
            }
            Op::Advance(ms) => self.model.advance(ms),
            Op::ShutDown => {
                self.core.shut_down(now);
                self.model.shut_down();
                // delayed keys are dropped, due ones are not
                self.promised.retain(|owed| owed.by <= self.model.now);
            }
        }
        self.compare()
    }

    fn get(&mut self) -> Result<bool, TestCaseError> {
        let next = self.core.next(true, self.now());
        let expected = match self.model.get() {
            Some((key, since)) => Next::Ready(Ready { key, since: self.instant(since) }),
            None if self.model.is_closed() => Next::Closed,
            None => match self.model.waits.first() {
                Some(wait) => Next::WaitUntil(self.instant(wait.deadline)),
                None => Next::Wait,
            },
        };
        prop_assert_eq!(&next, &expected);
        let Next::Ready(ready) = next else { return Ok(false) };
        prop_assert!(!self.processing.contains(&ready.key), "two workers on {}", ready.key);
        self.processing.push(ready.key);
        self.promised.retain(|owed| owed.key != ready.key || owed.by > self.model.now);
        Ok(true)
    }

    fn done(&mut self, index: usize) {
        let key = self.processing.swap_remove(index);
        self.core.done(&key, self.now());
        self.model.done(key);
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        let now = self.now();
        let model = &self.model;
        prop_assert_eq!(self.core.len(now), model.normal.len() + model.low.len());
        let state = self.core.state();
        prop_assert_eq!(state.depth, model.normal.len() + model.low.len() + model.again.len());
        for key in 0..24 {
            prop_assert_eq!(self.core.failures(&key), model.failures(key));
        }
        prop_assert_eq!(state.phase == Phase::Closed, model.is_closed());
        prop_assert_eq!(self.core.running(now).count(), self.processing.len());
        Ok(())
    }

    /// Processes all keys to the end.
    fn finish(mut self) -> Result<(), TestCaseError> {
        self.model.advance(40_000);
        loop {
            while !self.processing.is_empty() {
                self.done(0);
            }
            if !self.get()? {
                break;
            }
        }
        prop_assert!(self.promised.is_empty(), "lost: {:?}", self.promised);
        for key in 0..24 {
            self.core.forget(&key, self.now());
        }
        prop_assert!(self.core.is_blank(), "{:?}", self.core);
        Ok(())
    }
}

proptest! {
    #[test]
    fn behaves_like_the_model(history in history()) {
        let mut pair = Pair::new();
        for op in &history {
            pair.run(op)?;
        }
        pair.finish()?;
    }
}
