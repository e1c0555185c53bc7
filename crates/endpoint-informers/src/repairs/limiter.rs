//! The limit on repairs: a token bucket for each Service whose objects another client changes. Pure; the clock is an
//! argument.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use kube_api::time::Instant;
use kube_api::token_bucket::{Rate, TokenBucket};

use super::author::Author;

/// The repairs of one Service that may follow each other at once.
pub(super) const BURST: u32 = 10;
/// The time after which one more repair is allowed.
pub(super) const INTERVAL: Duration = Duration::from_secs(60);
const LIMIT: Rate = Rate::every(INTERVAL, BURST);
/// The number of Services from which on entries that are no longer needed are removed.
const SWEEP_AT: usize = 64;

/// The Services with recent repairs.
///
/// Memory: about a hundred bytes for each Service that was repaired in the last ten minutes.
#[derive(Debug)]
pub(super) struct RepairLimiter {
    services: HashMap<ObjectKey, ServiceRepairs>,
    sweep_at: usize,
}

impl Default for RepairLimiter {
    fn default() -> Self {
        Self { services: HashMap::new(), sweep_at: SWEEP_AT }
    }
}

/// The repairs of a Service whose objects another client changed.
#[derive(Debug)]
struct ServiceRepairs {
    allowed: TokenBucket,
    /// No sync has begun since the last foreign change.
    pending: bool,
    /// Another client has made a change since the last sync began.
    changed: bool,
    /// The running sync, or the next retry of the one that failed, repairs a foreign change.
    repairing: bool,
    /// The number of syncs that repaired foreign changes with writes.
    repairs: u32,
    /// The running sync is counted in `repairs`.
    counted: bool,
    /// The event about this Service has been written.
    reported: bool,
    author: Author,
}

impl ServiceRepairs {
    fn new() -> Self {
        Self {
            allowed: TokenBucket::default(),
            pending: false,
            changed: false,
            repairing: false,
            repairs: 0,
            counted: false,
            reported: false,
            author: Author::Unknown,
        }
    }

    /// The time until a repair is allowed.
    fn delay(&self, now: Instant) -> Duration {
        // The first repair is free, however many writes it takes and even if its cause is seen in two parts.
        if self.repairs < 2 { Duration::ZERO } else { self.allowed.wait(LIMIT, now.into_std()) }
    }

    /// True if the allowance is full again and no repair is outstanding.
    fn is_over(&self, now: Instant) -> bool {
        !self.pending && !self.repairing && self.allowed.is_full(now.into_std())
    }
}

impl RepairLimiter {
    /// Records that another client changed an object of this Service, to be repaired after `delay`. Returns the time
    /// until the repair is allowed.
    pub(super) fn record_change(
        &mut self,
        key: &ObjectKey,
        author: Author,
        delay: Duration,
        now: Instant,
    ) -> Duration {
        if self.services.len() >= self.sweep_at {
            self.services.retain(|_, service| !service.is_over(now));
            self.sweep_at = SWEEP_AT.max(2 * self.services.len());
        }
        if self.services.get(key).is_none_or(|service| service.is_over(now)) {
            self.services.insert(key.clone(), ServiceRepairs::new());
        }
        let Some(service) = self.services.get_mut(key) else { return delay };
        let delay = delay.max(service.delay(now));
        service.pending = true;
        service.changed = true;
        // A name is kept when the next change, such as a deletion, has none.
        service.author = mem::replace(&mut service.author, Author::Unknown).or(author);
        delay
    }

    /// True if another client has changed an object of this Service since its last sync began.
    pub(super) fn has_new_change(&self, key: &ObjectKey) -> bool {
        self.services.get(key).is_some_and(|service| service.changed)
    }

    /// The time until a repair of this Service is allowed.
    pub(super) fn delay(&self, key: &ObjectKey, now: Instant) -> Duration {
        self.services.get(key).map(|service| service.delay(now)).unwrap_or_default()
    }

    /// Records that a sync of this Service begins.
    pub(super) fn begin_sync(&mut self, key: &ObjectKey) {
        if let Some(service) = self.services.get_mut(key) {
            service.repairing |= mem::take(&mut service.pending);
            service.changed = false;
            service.counted = false;
        }
    }

    /// Counts a write of the running sync, successful or not, if the sync is a repair.
    ///
    /// A repair that takes many writes empties the bucket and one token more: the next repair is never more than two
    /// intervals away.
    pub(super) fn count_write(&mut self, key: &ObjectKey, now: Instant) {
        if let Some(service) = self.services.get_mut(key)
            && service.repairing
        {
            let is_first = !mem::replace(&mut service.counted, true);
            service.repairs = service.repairs.saturating_add(u32::from(is_first));
            service.allowed.take_in_debt(INTERVAL, LIMIT, now.into_std());
        }
    }

    /// Records that a sync of this Service succeeded. Returns the author of the foreign changes if the Service must get
    /// an event: when the next repair would have to wait, and once until the limit is no longer reached. A single
    /// repair never causes an event, however many objects it took, because they may have been deleted together.
    pub(super) fn sync_succeeded(&mut self, key: &ObjectKey, now: Instant) -> Option<Author> {
        let service = self.services.get_mut(key)?;
        service.repairing = false;
        if service.is_over(now) {
            self.services.remove(key);
            return None;
        }
        if service.reported || service.repairs < 2 || service.delay(now).is_zero() {
            return None;
        }
        service.reported = true;
        Some(service.author.clone())
    }

    /// Forgets a Service that was deleted, or whose foreign changes no sync follows.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.services.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn manager(name: &str) -> Author {
        Author::Manager(name.into())
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("shop", name)
    }

    /// One change and its repair; returns the author that is to be reported.
    fn repair(limiter: &mut RepairLimiter, name: &str, now: Instant) -> Option<Author> {
        limiter.record_change(&key(name), manager("other-client"), Duration::ZERO, now);
        limiter.begin_sync(&key(name));
        limiter.count_write(&key(name), now);
        limiter.sync_succeeded(&key(name), now)
    }

    fn delay(limiter: &mut RepairLimiter, name: &str, now: Instant) -> Duration {
        let delay = limiter.record_change(&key(name), Author::Unknown, Duration::ZERO, now);
        limiter.begin_sync(&key(name));
        limiter.sync_succeeded(&key(name), now);
        delay
    }

    #[test]
    fn after_ten_repairs_each_waits_a_minute_and_one_event_is_written() {
        let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
        let reported: Vec<_> = (0..10).map(|_| repair(&mut limiter, "web", now)).collect();
        assert_eq!(reported[..9], vec![None; 9]);
        assert_eq!(reported[9], Some(manager("other-client")));
        assert_eq!(delay(&mut limiter, "web", now), INTERVAL);
        assert_eq!(delay(&mut limiter, "db", now), Duration::ZERO, "another Service");
        let mut now = now;
        for _ in 0..60 {
            now += delay(&mut limiter, "web", now);
            assert_eq!(repair(&mut limiter, "web", now), None, "reported already");
            assert_eq!(delay(&mut limiter, "web", now), INTERVAL);
        }
        now += 10 * INTERVAL;
        limiter.begin_sync(&key("web"));
        limiter.sync_succeeded(&key("web"), now);
        let reported: Vec<_> = (0..10).filter_map(|_| repair(&mut limiter, "web", now)).collect();
        assert_eq!(reported.len(), 1, "the limit was not reached meanwhile");
    }

    #[test]
    fn only_writes_that_repair_a_foreign_change_count() {
        let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
        for _ in 0..100 {
            limiter.begin_sync(&key("web"));
            limiter.count_write(&key("web"), now);
            assert_eq!(limiter.sync_succeeded(&key("web"), now), None);
            assert_eq!(delay(&mut limiter, "web", now), Duration::ZERO, "nothing to repair");
        }
        assert!(limiter.services.is_empty());
    }

    #[test]
    fn a_failed_write_counts_as_a_repair() {
        let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
        limiter.record_change(&key("web"), manager("other-client"), Duration::ZERO, now);
        for _ in 0..10 {
            limiter.begin_sync(&key("web"));
            limiter.count_write(&key("web"), now);
        }
        assert!(limiter.sync_succeeded(&key("web"), now).is_some());
    }

    #[test]
    fn a_repair_of_many_objects_delays_the_next_by_no_more_than_two_minutes() {
        let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
        limiter.record_change(&key("web"), Author::Unknown, Duration::ZERO, now);
        limiter.begin_sync(&key("web"));
        (0..1000).for_each(|_| limiter.count_write(&key("web"), now));
        assert_eq!(limiter.sync_succeeded(&key("web"), now), None, "a single repair is not reported");
        assert_eq!(delay(&mut limiter, "web", now), Duration::ZERO, "its cause may be seen in two parts");
        limiter.record_change(&key("web"), Author::Unknown, Duration::ZERO, now);
        limiter.begin_sync(&key("web"));
        (0..1000).for_each(|_| limiter.count_write(&key("web"), now));
        assert_eq!(limiter.sync_succeeded(&key("web"), now), Some(Author::Unknown));
        assert_eq!(delay(&mut limiter, "web", now), 2 * INTERVAL);
    }

    #[test]
    fn the_name_of_an_author_is_kept_through_changes_without_a_name() {
        let (mut limiter, now) = (RepairLimiter::default(), Instant::now());
        for author in [
            Author::Unknown,
            Author::Admission,
            manager("a"),
            Author::Unknown,
            manager("b"),
            Author::Admission,
        ] {
            limiter.record_change(&key("web"), author, Duration::ZERO, now);
        }
        assert_eq!(limiter.services[&key("web")].author, manager("b"));
    }

    #[test]
    fn services_without_recent_repairs_take_no_memory() {
        let (mut limiter, mut now) = (RepairLimiter::default(), Instant::now());
        for number in 0..10_000 {
            repair(&mut limiter, &format!("web-{number}"), now);
            now += Duration::from_secs(1);
        }
        assert!(limiter.services.len() < 200, "{}", limiter.services.len());
    }

    proptest! {
        /// Repairs in any period are at most ten and one a minute, whatever the order of changes and writes.
        #[test]
        fn repairs_are_bounded(pauses in prop::collection::vec(0_u64..200, 1..200)) {
            let (mut limiter, start) = (RepairLimiter::default(), Instant::now());
            let (mut now, mut times) = (start, Vec::new());
            for pause in pauses {
                now += Duration::from_secs(pause);
                now += limiter.record_change(&key("web"), Author::Unknown, Duration::ZERO, now);
                limiter.begin_sync(&key("web"));
                limiter.count_write(&key("web"), now);
                limiter.sync_succeeded(&key("web"), now);
                times.push(now.duration_since(start).as_secs());
            }
            for (first, from) in times.iter().enumerate() {
                for (count, to) in times.iter().skip(first).enumerate() {
                    let allowed = u64::from(BURST) + (to - from) / INTERVAL.as_secs();
                    prop_assert!((count as u64) < allowed, "{count} from {from:?} to {to:?}");
                }
            }
        }
    }
}
