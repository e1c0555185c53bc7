use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::core::{MOST_AT_ONCE, OLD, TURNS_PER_OLDEST};
use super::*;
use crate::queue::{Cause, RateLimit};
use crate::worker::{SyncContext, SyncError, run_workers};

const MS: Duration = Duration::from_millis(1);

fn key(namespace: &str, name: usize) -> ObjectKey {
    ObjectKey::new(namespace, name.to_string())
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// The next turn, under a limit with a large burst.
fn grant(core: &mut Core, now: std::time::Instant) -> Option<Turn> {
    let writes = core.next_writes(now, u32::MAX)?;
    core.grant(now, writes)
}

/// The names of the next keys.
fn turns(core: &mut Core, count: usize) -> Vec<String> {
    (0..count).map_while(|_| grant(core, now())).map(|turn| turn.key.to_string()).collect()
}

#[test]
fn the_most_urgent_comes_first_then_the_namespace_that_received_least() {
    let mut core = Core::default();
    for name in 0..3 {
        core.wait(&key("a", name), 2, 1, now());
    }
    core.wait(&key("b", 0), 2, 1, now());
    core.wait(&key("c", 0), 4, 1, now());
    core.wait(&key("d", 0), 0, 1, now());
    assert_eq!(turns(&mut core, 9), ["d/0", "a/0", "b/0", "a/1", "a/2", "c/0"]);
    assert!(core.is_empty());
}

/// A sync that is not finished leaves the queue, and comes back before the writes of its turn are paid for.
#[test]
fn a_namespace_that_comes_back_at_once_has_no_claim_on_the_next_turn() {
    let mut core = Core::default();
    core.wait(&key("a", 0), 2, 100, now());
    core.wait(&key("b", 0), 2, 1, now());
    core.wait(&key("c", 0), 2, 1, now());
    for expected in ["a/0", "b/0", "c/0"] {
        assert_eq!(turns(&mut core, 1), [expected]);
        core.take_granted(&key("a", 0));
        core.wait(&key("a", 0), 2, 100, now());
    }
}

/// Twenty namespaces that always have a key that waits.
struct Crowd(Vec<ObjectKey>);

impl Crowd {
    fn new() -> Self {
        Self((0..20).map(|namespace| key(&format!("crowd-{namespace:02}"), 0)).collect())
    }

    /// The key of the next turn, after those of the crowd that do not wait have come back.
    fn next(&self, core: &mut Core, now: std::time::Instant) -> ObjectKey {
        for key in &self.0 {
            if !core.waits(key) {
                core.wait(key, 2, 1, now);
            }
        }
        let turn = grant(core, now).unwrap();
        core.take_granted(&turn.key);
        turn.key
    }
}

/// Also alongside the thousands of old keys of one namespace, which have turns by their age.
#[test]
fn a_namespace_that_is_new_waits_for_a_round_of_the_others() {
    let (mut core, crowd, start) = (Core::default(), Crowd::new(), now());
    (0..5000).for_each(|name| core.wait(&key("a", name), 2, 1, start));
    let later = start + OLD;
    (0..600).for_each(|_| drop(crowd.next(&mut core, later)));
    core.wait(&key("new", 0), 2, 1, later);
    let turns = (1..1000).find(|_| crowd.next(&mut core, later) == key("new", 0));
    assert!(turns.is_some_and(|turns| turns <= 2 * 22), "{turns:?}");
}

/// As a Service does whose pods end one after the other.
#[test]
fn a_key_that_changes_again_and_again_keeps_its_namespaces_place() {
    let (mut core, crowd) = (Core::default(), Crowd::new());
    (0..600).for_each(|_| drop(crowd.next(&mut core, now())));
    let turns = (0..1000).find(|turn| {
        if turn % 10 == 0 {
            core.wait(&key("z", 0), 2, 1, now());
        }
        crowd.next(&mut core, now()) == key("z", 0)
    });
    assert!(turns.is_some_and(|turns| turns <= 2 * 22), "{turns:?}");
}

#[test]
fn a_key_that_needs_many_writes_gets_a_few_and_is_charged_for_them() {
    let mut core = Core::default();
    core.wait(&key("a", 0), 2, 100, now());
    core.wait(&key("a", 1), 2, 1, now());
    for name in 0..6 {
        core.wait(&key("b", name), 2, 1, now());
    }
    assert_eq!(core.next_writes(now(), 30), Some(MOST_AT_ONCE));
    assert_eq!(turns(&mut core, 8), ["a/0", "b/0", "b/1", "b/2", "b/3", "b/4", "a/1", "b/5"]);
    assert_eq!(core.take_granted(&key("a", 0)), Some(MOST_AT_ONCE));
}

#[test]
fn a_key_that_changes_keeps_its_age_and_gets_its_new_urgency() {
    let mut core = Core::default();
    core.wait(&key("a", 0), 3, 1, now());
    core.wait(&key("a", 1), 1, 1, now());
    core.wait(&key("a", 2), 0, 1, now());
    core.wait(&key("a", 0), 1, 1, now());
    assert_eq!(turns(&mut core, 3), ["a/2", "a/0", "a/1"]);
}

/// As when the pod of a Service dies whose labels have waited for a minute.
#[test]
fn the_wait_of_an_urgent_plan_begins_with_it() {
    let (mut core, start) = (Core::default(), now());
    core.wait(&key("a", 0), 5, 1, start);
    let death = start + 12 * OLD;
    core.wait(&key("a", 0), 0, 1, death);
    core.wait(&key("a", 0), 0, 1, death + MS);
    let later = death + 2 * MS;
    assert_eq!((core.summary(later)[0], core.summary(later)[5]), ((1, 2 * MS), (0, Duration::ZERO)));
    core.wait(&key("a", 0), 3, 1, later);
    assert_eq!(grant(&mut core, later).map(|turn| (turn.level, turn.waited)), Some((3, 2 * MS)));
}

#[test]
fn an_urgent_stream_starves_nobody() {
    let (mut core, start) = (Core::default(), now());
    core.wait(&key("quiet", 0), 4, 1, start);
    for turn in 1.. {
        core.wait(&key("loud", turn), 0, 1, now());
        core.wait(&key("loud", turn + 1_000_000), 0, 1, now());
        let later = start + if turn < 20 { OLD.saturating_sub(MS) } else { OLD };
        if grant(&mut core, later).is_some_and(|turn| &*turn.key.namespace == "quiet") {
            // The second of its turns; at the first, it was not old.
            assert_eq!(turn, 2 * TURNS_PER_OLDEST as usize);
            break;
        }
    }
}

proptest! {
    /// Whatever arrives: each key gets a turn, in no more than ten for each key that was there before it; and of two
    /// namespaces that always have keys of one level, none receives less than four fifths of its half.
    #[test]
    fn every_wait_is_bounded(arrivals in prop::collection::vec((0_usize..4, 0_usize..LEVELS, 1_u32..9), 1..300)) {
        let mut core = Core::default();
        let mut bounds: HashMap<ObjectKey, u32> = HashMap::new();
        let mut ages = 0;
        let take = |core: &mut Core, bounds: &mut HashMap<ObjectKey, u32>| {
            let turn = grant(core, now() + OLD);
            for left in bounds.values_mut() {
                *left = left.checked_sub(1).expect("a key waits longer than its bound");
            }
            turn.map(|turn| bounds.remove(&turn.key))
        };
        for (name, (namespace, level, writes)) in arrivals.into_iter().enumerate() {
            let key = key(&format!("ns-{namespace}"), name);
            let before = u32::try_from(bounds.len()).unwrap();
            core.wait(&key, level, writes, now());
            bounds.insert(key, (before + 1) * TURNS_PER_OLDEST);
            ages += 1;
            if ages % 2 == 0 {
                take(&mut core, &mut bounds);
            }
        }
        while take(&mut core, &mut bounds).is_some() {}
        prop_assert!(core.is_empty() && bounds.is_empty());
    }
}

#[test]
fn namespaces_receive_equal_numbers_of_writes() {
    let mut core = Core::default();
    let mut received: BTreeMap<String, u32> = BTreeMap::new();
    for name in 0..2000 {
        core.wait(&key("large", name), 2, 1 + u32::try_from(name % 5).unwrap(), now());
    }
    for namespace in 0..9 {
        for name in 0..200 {
            core.wait(&key(&format!("small-{namespace}"), name), 2, 1, now());
        }
    }
    for _ in 0..1000 {
        let turn = grant(&mut core, now()).unwrap();
        *received.entry(turn.key.namespace.to_string()).or_default() += turn.writes;
    }
    let all: u32 = received.values().sum();
    let least = received.values().min().unwrap();
    assert!(*least * 10 * 5 >= all * 4, "{received:?}");
}

#[derive(Debug, thiserror::Error)]
#[error("failed")]
struct Failed;

impl SyncError for Failed {
    fn causes(&self) -> Vec<Cause> {
        vec![Cause::FAILURE]
    }
}

/// A controller whose keys `LEVEL/NAME` each need one write, until they have been written.
struct Fixture {
    queue: WorkQueue<ObjectKey>,
    order: WriteOrder,
    written: Arc<Mutex<Vec<(String, Duration)>>>,
    syncs: Arc<AtomicUsize>,
}

impl Fixture {
    fn start(qps: f64, burst: u32) -> Self {
        let queue = WorkQueue::new(RateLimit::default());
        let limiter = Arc::new(RateLimiter::new(qps, burst));
        let order = WriteOrder::new(queue.clone(), limiter);
        let (written, syncs, start) = (Arc::default(), Arc::default(), Instant::now());
        let fixture = Self { queue, order, written, syncs };
        let (written, syncs) = (Arc::clone(&fixture.written), Arc::clone(&fixture.syncs));
        let order = Some(fixture.order.clone());
        tokio::spawn(run_workers(
            "test",
            fixture.queue.clone(),
            5,
            order,
            move |key, context: SyncContext| {
                let (written, syncs) = (Arc::clone(&written), Arc::clone(&syncs));
                async move {
                    syncs.fetch_add(1, Ordering::SeqCst);
                    let is_written = written.lock().iter().any(|(name, _)| *name == key.to_string());
                    let (urgency, fails) = (key.namespace.parse().unwrap(), key.name.starts_with("fails"));
                    if is_written || context.admit(urgency, 1) == 0 {
                        return Ok(());
                    }
                    assert!(context.take_prepaid(), "its token is taken");
                    sleep(10 * MS).await;
                    if fails {
                        return Err(Failed);
                    }
                    written.lock().push((key.to_string(), start.elapsed()));
                    Ok(())
                }
            },
        ));
        fixture
    }

    fn add(&self, level: usize, name: &str) {
        self.queue.add(ObjectKey::new(level.to_string(), name));
    }

    fn written(&self) -> usize {
        self.written.lock().len()
    }

    /// The time at which a key was written.
    fn time_of(&self, name: &str) -> Duration {
        let written = self.written.lock();
        written.iter().find(|(written, _)| written == name).unwrap_or_else(|| panic!("{name}: {written:?}")).1
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_urgent_overtakes_a_burst_and_the_limit_holds() {
    let fixture = Fixture::start(20.0, 30);
    (0..200).for_each(|name| fixture.add(2, &name.to_string()));
    sleep(1000 * MS).await;
    assert!((45..=50).contains(&fixture.written()), "{}", fixture.written());
    let before = fixture.syncs.load(Ordering::SeqCst);
    fixture.add(0, "dead");
    sleep(150 * MS).await;
    assert!(fixture.time_of("0/dead") < 1150 * MS);
    assert!(fixture.syncs.load(Ordering::SeqCst) - before < 10, "a key that waits is not synced");
    sleep(9000 * MS).await;
    assert_eq!(fixture.written(), 201);
    assert!(fixture.written.lock().last().unwrap().1 >= 8500 * MS, "30 at once, then 20 a second");
    assert!(fixture.order.0.core.lock().is_empty());
    assert_eq!(fixture.queue.oldest_change(), Duration::ZERO);
}

/// A turn is for no more writes than there are tokens in a full bucket.
#[tokio::test(start_paused = true)]
async fn a_small_burst_makes_small_turns() {
    let queue = WorkQueue::new(RateLimit::default());
    let order = WriteOrder::new(queue, Arc::new(RateLimiter::new(1.0, 2)));
    assert_eq!(order.admit(&key("a", 0), 2, 5), Admission::Writes(2));
    assert_eq!(order.admit(&key("a", 1), 2, 5), Admission::Waits);
    sleep(2000 * MS).await;
    assert_eq!(order.admit(&key("a", 1), 2, 5), Admission::Writes(2));
    assert_eq!(order.admit(&key("a", 2), 2, 5), Admission::Waits);
}

#[tokio::test(start_paused = true)]
async fn a_turn_does_not_wait_for_the_tokens_of_one_that_is_no_longer_needed() {
    let queue = WorkQueue::new(RateLimit::default());
    let order = WriteOrder::new(queue.clone(), Arc::new(RateLimiter::new(1.0, 5)));
    let turns = order.clone();
    tokio::spawn(async move { turns.run().await });
    assert_eq!(order.admit(&key("a", 0), 2, 5), Admission::Writes(5));
    assert_eq!(order.admit(&key("a", 1), 2, 5), Admission::Waits);
    assert_eq!(order.admit(&key("a", 2), 2, 1), Admission::Waits);
    sleep(1500 * MS).await;
    let start = Instant::now();
    order.finish(&key("a", 1), true, 0);
    assert_eq!(*queue.get().await.unwrap(), key("a", 2));
    assert!(start.elapsed() < 10 * MS, "{:?}", start.elapsed());
}

/// It is synced because it has changed, in the moment in which the token is there.
#[tokio::test(start_paused = true)]
async fn a_key_whose_turn_comes_during_its_sync_waits_no_longer() {
    let queue = WorkQueue::new(RateLimit::default());
    let order = WriteOrder::new(queue.clone(), Arc::new(RateLimiter::new(1.0, 1)));
    assert_eq!(order.admit(&key("a", 0), 2, 1), Admission::Writes(1));
    queue.add(key("a", 1));
    let item = queue.get().await.unwrap();
    assert_eq!(order.admit(&item, 2, 1), Admission::Waits);
    drop(item);
    sleep(1000 * MS).await;
    queue.add(key("a", 1));
    let item = queue.get().await.unwrap();
    assert_eq!(order.admit(&item, 2, 1), Admission::Writes(1));
    order.finish(&item, true, 0);
    queue.forget(&item);
    drop(item);
    assert_eq!(queue.key_state(&key("a", 1)), None);
}

/// The net below the order has had it synced before, with a cache that was stale.
#[tokio::test(start_paused = true)]
async fn a_turn_is_not_missed_by_a_key_that_was_looked_at_meanwhile() {
    let queue = WorkQueue::new(RateLimit::default());
    let order = WriteOrder::new(queue.clone(), Arc::new(RateLimiter::new(1.0 / 610.0, 1)));
    let turns = order.clone();
    tokio::spawn(async move { turns.run().await });
    let start = Instant::now();
    assert_eq!(order.admit(&key("a", 0), 2, 1), Admission::Writes(1));
    queue.add(key("a", 1));
    let item = queue.get().await.unwrap();
    assert_eq!(order.admit(&item, 2, 1), Admission::Waits);
    drop(item);
    sleep(LONGEST_WAIT + Duration::from_secs(1)).await;
    let item = queue.get().await.unwrap();
    order.finish(&item, false, 0);
    queue.retry(item.clone(), &[Cause::StaleCache]);
    drop(item);
    let item = queue.get().await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 610, "the retry is at 631 s");
    assert_eq!(order.admit(&item, 2, 1), Admission::Writes(1));
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_without_contention() {
    let fixture = Fixture::start(20.0, 30);
    for name in 0..30 {
        fixture.add(4, &name.to_string());
        sleep(11 * MS).await;
        assert_eq!(fixture.written(), name + 1);
    }
    assert_eq!(fixture.syncs.load(Ordering::SeqCst), 30);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_waits_counts_as_unwritten_and_what_was_overtaken_is_not_written() {
    let fixture = Fixture::start(1.0, 1);
    fixture.add(2, "first");
    sleep(20 * MS).await;
    fixture.add(2, "second");
    fixture.add(2, "third");
    sleep(500 * MS).await;
    assert_eq!(fixture.written(), 1);
    assert!(fixture.queue.oldest_change() >= 500 * MS);
    // Somebody else writes it meanwhile.
    fixture.written.lock().push(("2/second".into(), Duration::ZERO));
    fixture.add(2, "second");
    sleep(10 * MS).await;
    assert_eq!(fixture.queue.key_state(&ObjectKey::new("2", "second")), None);
    let third = fixture.queue.key_state(&ObjectKey::new("2", "third")).unwrap();
    assert_eq!(third.waits_to_write, Some("2"));
    assert!(fixture.queue.waiting_to_write().contains(&(ObjectKey::new("2", "third"), "2")));
    sleep(1000 * MS).await;
    assert_eq!(fixture.written(), 3);
    assert_eq!(fixture.queue.oldest_change(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn keys_that_fail_wait_for_their_retries_and_do_not_stop_others() {
    let fixture = Fixture::start(20.0, 1);
    (0..50).for_each(|name| fixture.add(0, &format!("fails-{name}")));
    (0..50).for_each(|name| fixture.add(3, &name.to_string()));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(fixture.written(), 50);
}
