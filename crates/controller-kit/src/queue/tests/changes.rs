//! The times of changes: against a table of them, over random histories, and in the metrics.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::core::{Core, Next};
use super::super::{Cause, Priority};
use super::{QueueMetrics, RateLimit, Registry, SECOND, WorkQueue, candidates, one_second};

type Key = u8;

/// The work at the end of a sync.
#[derive(Debug, Clone, Copy)]
enum End {
    Succeed,
    /// More is left to write.
    RequeueAndSucceed,
    PostponeAndSucceed(u64),
    Fail,
    /// Nothing more can be written, and the key is looked at again.
    WriteAndFail,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Add(Key, Priority),
    AddAfter(Key, u64),
    Revisit(Key, u64),
    Promote(Key),
    Get,
    /// The worker of one of the keys found something to write, or not, and ends.
    End(prop::sample::Index, bool, End),
    Advance(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let key = || 0..6_u8;
    let ms = || 0..60_u64;
    let end = prop_oneof![
        4 => Just(End::Succeed),
        2 => Just(End::RequeueAndSucceed),
        2 => ms().prop_map(End::PostponeAndSucceed),
        3 => Just(End::Fail),
        1 => Just(End::WriteAndFail),
    ];
    prop_oneof![
        5 => (key(), prop_oneof![Just(Priority::Normal), Just(Priority::Low)]).prop_map(|(key, priority)| Op::Add(key, priority)),
        4 => (key(), ms()).prop_map(|(key, ms)| Op::AddAfter(key, ms)),
        1 => (key(), ms()).prop_map(|(key, ms)| Op::Revisit(key, ms)),
        1 => key().prop_map(Op::Promote),
        6 => Just(Op::Get),
        6 => (any::<prop::sample::Index>(), any::<bool>(), end).prop_map(|(at, writes, end)| Op::End(at, writes, end)),
        4 => (0..40_u64).prop_map(Op::Advance),
    ]
}

/// The oldest change of each key: its time, and whether it needs a write.
#[derive(Debug, Default)]
struct Table(BTreeMap<Key, (Instant, bool)>);

impl Table {
    fn merge(&mut self, key: Key, (since, needs_write): (Instant, bool)) {
        let change = self.0.entry(key).or_insert((since, needs_write));
        *change = (change.0.min(since), change.1 || needs_write);
    }
}

proptest! {
    #[test]
    fn the_oldest_change_is_that_of_a_table(history in prop::collection::vec(op(), 1..200)) {
        let limit = RateLimit { base_delay: Duration::from_millis(10), bucket: None, ..RateLimit::default() };
        let (mut core, mut now) = (Core::new(limit), Instant::now());
        let (mut waiting, mut held) = (Table::default(), BTreeMap::<Key, Option<(Instant, bool)>>::new());
        for op in history {
            match op {
                Op::Add(key, priority) => {
                    core.add(key, priority, now);
                    waiting.merge(key, (now, false));
                }
                Op::AddAfter(key, ms) => {
                    core.add_after(key, Priority::Normal, Duration::from_millis(ms), now);
                    waiting.merge(key, (now, false));
                }
                Op::Revisit(key, ms) => core.revisit(key, Duration::from_millis(ms), now),
                Op::Promote(key) => core.promote(&key, now),
                Op::Get => {
                    if let Next::Ready(ready) = core.next(true, now) {
                        held.insert(ready.key, waiting.0.remove(&ready.key));
                    }
                }
                Op::End(at, writes, end) if !held.is_empty() => {
                    let key = *at.get(&held.keys().copied().collect::<Vec<_>>());
                    let change = held.remove(&key).flatten().map(|(since, needs)| (since, needs || writes));
                    if writes {
                        core.needs_write(&key);
                    }
                    let succeed = |core: &mut Core<Key>| {
                        core.forget(&key, now);
                        core.written(&key)
                    };
                    let written = match end {
                        End::Succeed => succeed(&mut core),
                        End::RequeueAndSucceed => {
                            core.requeue(key, now);
                            succeed(&mut core)
                        }
                        End::PostponeAndSucceed(ms) => {
                            core.postpone(key, Duration::from_millis(ms), now);
                            succeed(&mut core)
                        }
                        End::Fail => None,
                        End::WriteAndFail => core.written(&key),
                    };
                    let is_over = matches!(end, End::Succeed | End::WriteAndFail);
                    if let Some(change) = change.filter(|_| !is_over) {
                        waiting.merge(key, change);
                    }
                    let expected = change.filter(|(_, needs_write)| is_over && *needs_write);
                    prop_assert_eq!(written, expected.map(|(since, _)| since));
                    if matches!(end, End::Fail | End::WriteAndFail) {
                        core.retry(key, &[Cause::FAILURE], now);
                    }
                    core.done(&key, now);
                }
                Op::End(..) => {}
                Op::Advance(ms) => now += Duration::from_millis(ms),
            }
            let all = waiting.0.values().chain(held.values().flatten());
            prop_assert_eq!(core.oldest_change(), all.map(|(since, _)| *since).min(), "after {:?}", op);
            for key in 0..6 {
                let (waits, held) = (waiting.0.get(&key), held.get(&key).and_then(Option::as_ref));
                let expected = waits.into_iter().chain(held).map(|(since, _)| *since).min();
                prop_assert_eq!(core.change_of(&key).map(|change| change.since), expected, "{}", key);
            }
        }
    }
}

/// The number and the sum of the observations, and the age of the oldest change, as exposed.
fn exposed(registry: &Registry) -> (f64, f64, f64) {
    let text = candidates::metrics(registry);
    let value = |series: &str| {
        let line = text.lines().find(|line| line.starts_with(series)).unwrap_or_else(|| panic!("{text}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    (
        value("change_write_duration_seconds_count{controller=\"c\"}"),
        value("change_write_duration_seconds_sum{controller=\"c\"}"),
        value("oldest_unwritten_change_age_seconds{controller=\"c\"}"),
    )
}

#[tokio::test(start_paused = true)]
async fn a_change_lasts_from_its_first_add_to_the_success_of_a_sync_that_writes() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let queue = WorkQueue::with_metrics("c", "q", one_second(), &metrics);
    assert_eq!(exposed(&registry), (0.0, 0.0, 0.0));

    queue.add_after(1, 2 * SECOND);
    tokio::time::sleep(SECOND).await;
    queue.add_after(1, 2 * SECOND);
    assert_eq!(exposed(&registry), (0.0, 0.0, 1.0), "of the first add");
    let item = queue.get().await.unwrap();
    queue.needs_write(&item);
    tokio::time::sleep(SECOND).await;
    assert_eq!(exposed(&registry), (0.0, 0.0, 3.0), "while it is written");
    queue.retry(*item, &[Cause::FAILURE]);
    drop(item);
    let item = queue.get().await.unwrap();
    queue.forget(&item);
    assert_eq!(exposed(&registry), (1.0, 4.0, 0.0), "after one retry, which finds it written");
    drop(item);

    queue.add(2);
    let item = queue.get().await.unwrap();
    queue.add_seen_at(2, kube_api::time::Instant::now() - SECOND);
    queue.forget(&item);
    assert_eq!(exposed(&registry), (1.0, 4.0, 1.0), "nothing was written, and another change came meanwhile");
    drop(item);
    let item = queue.get().await.unwrap();
    queue.needs_write(&item);
    queue.forget(&item);
    assert_eq!(exposed(&registry), (2.0, 5.0, 0.0));
    drop(item);

    queue.revisit(3, SECOND);
    tokio::time::sleep(9 * SECOND).await;
    let item = queue.get().await.unwrap();
    queue.needs_write(&item);
    queue.forget(&item);
    assert_eq!(exposed(&registry), (2.0, 5.0, 0.0), "nothing had changed");
}
