use proptest::prelude::*;

use super::*;

fn manager(name: &str) -> Author {
    Author::Manager(name.into())
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

/// A change of a slice that takes no endpoint away.
fn edit(object: &Uid) -> ForeignChange<'_> {
    ForeignChange { object, author: manager("other-client"), effect: Effect::Other }
}

/// One change of an object and its repair by an update; returns the delay, and the author that is to be reported.
fn repair(limiter: &mut RepairLimiter, name: &str, object: &str, now: Instant) -> (Duration, Option<Author>) {
    let delay = limiter.record_change(&key(name), edit(&Uid::from(object)), Duration::ZERO, now);
    limiter.begin_sync(&key(name));
    limiter.count_write(&key(name), None, now);
    (delay, limiter.sync_succeeded(&key(name), now))
}

/// A deletion of an object, and a repair that creates another one.
fn recreate(limiter: &mut RepairLimiter, number: usize, now: Instant) -> (Duration, Option<Author>) {
    let (object, next) = (Uid::from(&*format!("{number}")), Uid::from(&*format!("{}", number + 1)));
    let change = ForeignChange { object: &object, author: Author::Unknown, effect: Effect::Deletion };
    let delay = limiter.record_change(&key("web"), change, Duration::ZERO, now);
    limiter.begin_sync(&key("web"));
    limiter.count_write(&key("web"), Some(&next), now);
    (delay, limiter.sync_succeeded(&key("web"), now))
}

fn delay(limiter: &RepairLimiter, name: &str, now: Instant) -> Duration {
    limiter.delay(&key(name), now)
}

#[test]
fn after_ten_repairs_each_waits_a_minute_and_one_event_is_written() {
    let (mut limiter, mut now) = (RepairLimiter::default(), Instant::now());
    assert_eq!(repair(&mut limiter, "web", "a", now), (Duration::ZERO, None), "the first change is free");
    let reported: Vec<_> = (0..10).map(|_| repair(&mut limiter, "web", "a", now)).collect();
    assert_eq!(reported[..9], vec![(Duration::ZERO, None); 9]);
    assert_eq!(reported[9], (Duration::ZERO, Some(manager("other-client"))));
    assert_eq!(delay(&limiter, "web", now), INTERVAL);
    assert_eq!(delay(&limiter, "db", now), Duration::ZERO, "another Service");
    for _ in 0..60 {
        now += delay(&limiter, "web", now);
        assert_eq!(repair(&mut limiter, "web", "a", now), (Duration::ZERO, None), "reported already");
        assert_eq!(delay(&limiter, "web", now), INTERVAL);
    }
    now += QUIET;
    let reported = (0..11).filter_map(|_| repair(&mut limiter, "web", "a", now).1);
    assert_eq!(reported.count(), 1, "the limit was not reached meanwhile");
}

/// Someone edits each of many slices, as `kubectl label endpointslices --all` does.
#[test]
fn the_first_change_of_each_object_is_free() {
    let (mut limiter, mut now) = (RepairLimiter::default(), Instant::now());
    for number in 0..100 {
        assert_eq!(repair(&mut limiter, "web", &number.to_string(), now), (Duration::ZERO, None));
        now += Duration::from_secs(1);
    }
    assert_eq!(delay(&limiter, "web", now), Duration::ZERO);
}

#[test]
fn a_loss_of_endpoints_never_waits_longer_than_a_second_and_is_reported_once() {
    let (mut limiter, mut now) = (RepairLimiter::default(), Instant::now());
    let mut reported = Vec::new();
    for number in 0..1_000 {
        let (delay, author) = recreate(&mut limiter, number, now);
        assert_eq!(delay, if number > 10 { LOSS_INTERVAL } else { Duration::ZERO }, "{number}");
        reported.extend(author);
        now += Duration::from_secs(1);
    }
    assert_eq!(reported, [Author::Unknown]);
    assert!(limiter.known(&key("web")) < 10, "objects that are gone are forgotten");
}

/// A client gives each slice to another Service, and deletes it there.
#[test]
fn what_is_known_of_a_service_is_bounded() {
    let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
    for number in 0..3 * MAX_KNOWN {
        let object = Uid::from(&*number.to_string());
        limiter.record_change(&key("web"), edit(&object), Duration::ZERO, now);
        assert!((1..=MAX_KNOWN).contains(&limiter.known(&key("web"))));
    }
    limiter.gone(&key("web"), &Uid::from(&*(3 * MAX_KNOWN - 1).to_string()));
    assert_eq!(limiter.known(&key("web")), MAX_KNOWN - 1);
}

/// A slice that is replaced because another client takes its owner reference has a new uid each time.
#[test]
fn what_a_repair_created_is_no_new_object() {
    let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
    for number in 0..11 {
        let object = Uid::from(&*format!("{number}"));
        assert_eq!(limiter.record_change(&key("web"), edit(&object), Duration::ZERO, now), Duration::ZERO);
        limiter.begin_sync(&key("web"));
        limiter.count_write(&key("web"), Some(&Uid::from(&*format!("{}", number + 1))), now);
        limiter.count_write(&key("web"), None, now);
        limiter.sync_succeeded(&key("web"), now);
    }
    let object = Uid::from("11");
    assert_eq!(limiter.record_change(&key("web"), edit(&object), Duration::ZERO, now), INTERVAL);
}

#[test]
fn only_writes_that_repair_a_foreign_change_count() {
    let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
    for _ in 0..100 {
        limiter.begin_sync(&key("web"));
        limiter.count_write(&key("web"), None, now);
        assert_eq!(limiter.sync_succeeded(&key("web"), now), None);
        limiter.record_change(&key("web"), edit(&Uid::from("a")), Duration::ZERO, now);
        limiter.begin_sync(&key("web"));
        limiter.sync_succeeded(&key("web"), now);
        assert_eq!(delay(&limiter, "web", now), Duration::ZERO, "nothing to repair");
    }
}

#[test]
fn each_failed_try_of_a_repair_counts_once() {
    let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
    repair(&mut limiter, "web", "a", now);
    limiter.record_change(&key("web"), edit(&Uid::from("a")), Duration::ZERO, now);
    for number in 0..10 {
        assert_eq!(delay(&limiter, "web", now), Duration::ZERO, "{number}");
        limiter.begin_sync(&key("web"));
        (0..50).for_each(|_| limiter.count_write(&key("web"), None, now));
    }
    assert_eq!(limiter.sync_succeeded(&key("web"), now), Some(manager("other-client")));
    assert_eq!(delay(&limiter, "web", now), INTERVAL);
}

#[test]
fn the_name_of_an_author_is_kept_through_changes_without_a_name() {
    let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
    let authors = [manager("a"), Author::Unknown, manager("b"), Author::Unknown];
    let object = Uid::from("a");
    for author in authors {
        let change = ForeignChange { author, ..edit(&object) };
        limiter.record_change(&key("web"), change, Duration::ZERO, now);
    }
    assert_eq!(limiter.services[&key("web")].author, manager("b"));
}

#[test]
fn services_without_recent_repairs_take_no_memory() {
    let (mut limiter, mut now) = (RepairLimiter::default(), Instant::now());
    for number in 0..10_000 {
        repair(&mut limiter, &format!("web-{number}"), "a", now);
        now += Duration::from_secs(10);
    }
    assert!(limiter.services.len() < 200, "{}", limiter.services.len());
}

proptest! {
    /// Repairs of the same object in any period are at most eleven and one a minute, whatever the order of changes and writes.
    #[test]
    fn repairs_are_bounded(pauses in prop::collection::vec(0_u64..200, 1..200)) {
        let (mut limiter, start) = (RepairLimiter::default(), Instant::now());
        let (mut now, mut times) = (start, Vec::new());
        for pause in pauses {
            now += Duration::from_secs(pause);
            now += limiter.record_change(&key("web"), edit(&Uid::from("a")), Duration::ZERO, now);
            limiter.begin_sync(&key("web"));
            limiter.count_write(&key("web"), None, now);
            limiter.sync_succeeded(&key("web"), now);
            times.push(now.duration_since(start).as_secs());
        }
        for (first, from) in times.iter().enumerate() {
            for (count, to) in times.iter().skip(first).enumerate() {
                let allowed = 1 + u64::from(BURST) + (to - from) / INTERVAL.as_secs();
                prop_assert!((count as u64) < allowed, "{count} from {from:?} to {to:?}");
            }
        }
    }
}
