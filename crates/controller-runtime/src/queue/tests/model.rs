//! The pure core against a model that is slow and plain, over random histories.
//!
//! The model keeps lists and searches them; time is a count of milliseconds and the bucket a count of tokens. Beside
//! the comparison step by step, a history is checked for what the queue promises whatever the model says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::core::{Core, Next, Ready};
use super::super::{Bucket, LIVE_PER_BACKGROUND, Lane, RateLimit};

const BASE: u64 = 10;
const MAX: u64 = 200;
/// Milliseconds in which one token comes back.
const TOKEN: i64 = 100;
const BURST: i64 = 3;
const LIMIT: RateLimit = RateLimit {
    base: Duration::from_millis(BASE),
    max: Duration::from_millis(MAX),
    overall: Some(Bucket { qps: 10.0, burst: 3 }),
};

type Key = u8;

#[derive(Debug, Clone)]
enum Op {
    Add(Key),
    AddBackground(Key),
    AddAfter(Key, u64),
    AddRateLimited(Key),
    Forget(Key),
    Get,
    /// Is done with one of the keys in hand.
    Done(prop::sample::Index),
    Advance(u64),
    ShutDown,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..24_u8;
    prop_oneof![
        16 => key.clone().prop_map(Op::Add),
        8 => key.clone().prop_map(Op::AddBackground),
        6 => (key.clone(), prop_oneof![Just(0), 1..60_u64]).prop_map(|(key, ms)| Op::AddAfter(key, ms)),
        6 => key.clone().prop_map(Op::AddRateLimited),
        2 => key.prop_map(Op::Forget),
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

#[derive(Debug, Clone)]
struct Wait {
    key: Key,
    deadline: u64,
    token: bool,
}

#[derive(Debug, Default)]
struct Model {
    now: u64,
    /// In the order of the hand-out, each with the time of its add.
    live: Vec<(Key, u64)>,
    background: Vec<(Key, u64)>,
    processing: BTreeSet<Key>,
    again: BTreeMap<Key, (Lane, u64)>,
    waits: Vec<Wait>,
    failures: BTreeMap<Key, u32>,
    /// Missing in the bucket, in milliseconds of filling.
    missing: i64,
    live_in_a_row: u32,
    shut_down: bool,
}

impl Model {
    fn advance(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += 1;
            self.missing = (self.missing - 1).max(0);
            while let Some(at) = self.waits.iter().position(|wait| wait.deadline <= self.now) {
                let wait = self.waits.remove(at);
                self.add(wait.key, Lane::Live);
            }
        }
    }

    fn add(&mut self, key: Key, lane: Lane) {
        if self.shut_down {
            return;
        }
        let since = self.now;
        if self.processing.contains(&key) {
            let (_, since) = self.again.get(&key).copied().unwrap_or((lane, since));
            let lane = self.again.get(&key).map_or(lane, |(old, _)| lane.max(*old));
            self.again.insert(key, (lane, since));
        } else if let Some(at) = self.background.iter().position(|(other, _)| *other == key) {
            if lane == Lane::Live {
                let promoted = self.background.remove(at);
                self.live.push(promoted);
            }
        } else if !self.live.iter().any(|(other, _)| *other == key) {
            match lane {
                Lane::Live => self.live.push((key, since)),
                Lane::Background => self.background.push((key, since)),
            }
        }
    }

    fn add_after(&mut self, key: Key, ms: u64, token: bool) {
        if self.shut_down {
            return;
        }
        let deadline = self.now + ms;
        let old = self.waits.iter().position(|wait| wait.key == key);
        if old.is_some_and(|at| self.waits[at].deadline <= deadline) {
            return;
        }
        self.missing += if token { TOKEN } else { 0 };
        if ms == 0 {
            return self.add(key, Lane::Live);
        }
        if let Some(at) = old
            && self.waits.remove(at).token
        {
            self.missing = (self.missing - TOKEN).max(0);
        }
        self.waits.push(Wait { key, deadline, token });
        self.waits.sort_by_key(|wait| wait.deadline); // stable
    }

    fn add_rate_limited(&mut self, key: Key) {
        if self.shut_down {
            return;
        }
        let failures = self.failures.entry(key).or_default();
        let backoff = (BASE << (*failures).min(10)).min(MAX);
        *failures += 1;
        let bucket = u64::try_from(self.missing + TOKEN - BURST * TOKEN).unwrap_or(0);
        self.add_after(key, backoff.max(bucket), true);
    }

    fn get(&mut self) -> Option<(Key, u64)> {
        let background = !self.background.is_empty()
            && (self.live.is_empty() || self.live_in_a_row == LIVE_PER_BACKGROUND);
        self.live_in_a_row =
            if background || self.background.is_empty() { 0 } else { self.live_in_a_row + 1 };
        let lane = if background { &mut self.background } else { &mut self.live };
        if lane.is_empty() {
            return None;
        }
        let next = lane.remove(0);
        self.processing.insert(next.0);
        Some(next)
    }

    fn done(&mut self, key: Key) {
        self.processing.remove(&key);
        if let Some((lane, since)) = self.again.remove(&key) {
            match lane {
                Lane::Live => self.live.push((key, since)),
                Lane::Background => self.background.push((key, since)),
            }
        }
    }

    fn shut_down(&mut self) {
        self.shut_down = true;
        self.waits.clear();
    }

    fn is_closed(&self) -> bool {
        self.shut_down && self.live.is_empty() && self.background.is_empty() && self.again.is_empty()
    }
}

/// The core and the model side by side, and what was promised on the way.
struct Pair {
    core: Core<Key>,
    model: Model,
    start: Instant,
    in_hand: Vec<Key>,
    /// Hand-outs still owed: of which key, and not before which time.
    promised: Vec<(Key, u64)>,
}

impl Pair {
    fn new() -> Self {
        Self {
            core: Core::new(LIMIT),
            model: Model::default(),
            start: Instant::now(),
            in_hand: Vec::new(),
            promised: Vec::new(),
        }
    }

    fn instant(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn now(&self) -> Instant {
        self.instant(self.model.now)
    }

    /// After an add of `key` with `delay`: a hand-out no earlier than that, unless one is owed earlier than that but
    /// still after now, in which case the earliest wins.
    fn promise(&mut self, key: Key, delay: u64) {
        let (now, by) = (self.model.now, self.model.now + delay);
        let earlier = |(other, at): &(Key, u64)| *other == key && *at > now && *at <= by;
        if self.model.shut_down || (delay > 0 && self.promised.iter().any(earlier)) {
            return;
        }
        if delay > 0 {
            self.promised.retain(|(other, at)| *other != key || *at <= now);
        }
        self.promised.push((key, by));
    }

    fn run(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let now = self.now();
        match *op {
            Op::Add(key) => {
                self.promise(key, 0);
                self.core.add(key, Lane::Live, now);
                self.model.add(key, Lane::Live);
            }
            Op::AddBackground(key) => {
                self.promise(key, 0);
                self.core.add(key, Lane::Background, now);
                self.model.add(key, Lane::Background);
            }
            Op::AddAfter(key, ms) => {
                self.promise(key, ms);
                self.core.add_after(key, Duration::from_millis(ms), now);
                self.model.add_after(key, ms, false);
            }
            Op::AddRateLimited(key) => {
                self.core.add_rate_limited(key, now);
                self.model.add_rate_limited(key);
                let wait = self.model.waits.iter().find(|wait| wait.key == key);
                let delay = wait.map_or(0, |wait| wait.deadline - self.model.now);
                // 24 keys wait at most, so no retry is further off than 24 tokens, however many failures
                prop_assert!(delay <= MAX.max(24 * TOKEN.unsigned_abs()), "{delay} ms");
                self.promise(key, delay);
            }
            Op::Forget(key) => {
                self.core.forget(&key);
                self.model.failures.remove(&key);
            }
            Op::Get => {
                self.get()?;
            }
            Op::Done(index) => {
                if !self.in_hand.is_empty() {
                    self.done(index.index(self.in_hand.len()));
                }
            }
            Op::Advance(ms) => self.model.advance(ms),
            Op::ShutDown => {
                self.core.shut_down(now);
                self.model.shut_down();
                // what was delayed is dropped, what was due is not
                self.promised.retain(|(_, by)| *by <= self.model.now);
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
        prop_assert!(!self.in_hand.contains(&ready.key), "two workers on {}", ready.key);
        self.in_hand.push(ready.key);
        self.promised.retain(|(key, by)| *key != ready.key || *by > self.model.now);
        Ok(true)
    }

    fn done(&mut self, index: usize) {
        let key = self.in_hand.swap_remove(index);
        self.core.done(&key, self.now());
        self.model.done(key);
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        let now = self.now();
        let model = &self.model;
        prop_assert_eq!(self.core.len(now), model.live.len() + model.background.len());
        let pulse = self.core.pulse();
        prop_assert_eq!(pulse.depth, model.live.len() + model.background.len() + model.again.len());
        for key in 0..24 {
            prop_assert_eq!(self.core.failures(&key), model.failures.get(&key).copied().unwrap_or(0));
        }
        prop_assert_eq!(self.core.is_drained(), model.is_closed() && model.processing.is_empty());
        prop_assert_eq!(self.core.in_flight(now).count(), self.in_hand.len());
        Ok(())
    }

    /// Lets everything come that is still to come, and leaves.
    fn finish(mut self) -> Result<(), TestCaseError> {
        self.model.advance(10_000);
        loop {
            while !self.in_hand.is_empty() {
                self.done(0);
            }
            if !self.get()? {
                break;
            }
        }
        prop_assert!(self.promised.is_empty(), "lost: {:?}", self.promised);
        for key in 0..24 {
            self.core.forget(&key);
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

    /// Without a model: how often a key from each lane comes while both have some.
    #[test]
    fn the_lanes_take_turns(lanes in prop::collection::vec(any::<bool>(), 1..200)) {
        let now = Instant::now();
        let mut core = Core::new(LIMIT);
        for (key, live) in lanes.iter().enumerate() {
            core.add(key, if *live { Lane::Live } else { Lane::Background }, now);
        }
        let mut left = [lanes.iter().filter(|live| !**live).count(), lanes.iter().filter(|live| **live).count()];
        let mut row = 0;
        while let Next::Ready(Ready { key, .. }) = core.next(false, now) {
            if lanes[key] {
                row = if left[0] > 0 { row + 1 } else { 0 };
                left[1] -= 1;
            } else {
                prop_assert!(left[1] == 0 || row == LIVE_PER_BACKGROUND, "background after {row}");
                row = 0;
                left[0] -= 1;
            }
            prop_assert!(row <= LIVE_PER_BACKGROUND);
        }
        prop_assert_eq!(left, [0, 0]);
    }
}
