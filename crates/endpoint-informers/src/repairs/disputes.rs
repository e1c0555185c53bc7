//! How many writes another client's changes may cost: a token bucket for each Service that is contested. Pure; the clock
//! is an argument.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::Actor;
use crate::cache::ObjectKey;
use kube_api::token_bucket::{Rate, TokenBucket};

/// Repairs of one Service that may follow each other at once.
pub(super) const BURST: u32 = 10;
/// The time after which one more repair is allowed.
pub(super) const INTERVAL: Duration = Duration::from_secs(60);
const LIMIT: Rate = Rate::every(INTERVAL, BURST);
/// The least number of Services for which it is worth looking for disputes that are over.
const SWEEP_AT: usize = 64;

/// The disputes that are not over, by Service.
///
/// Memory: about a hundred bytes for each Service that was repaired in the last ten minutes.
#[derive(Debug)]
pub(super) struct Disputes {
    services: HashMap<ObjectKey, Dispute>,
    sweep_at: usize,
}

impl Default for Disputes {
    fn default() -> Self {
        Self { services: HashMap::new(), sweep_at: SWEEP_AT }
    }
}

/// A Service whose objects another client changed.
#[derive(Debug)]
struct Dispute {
    repairs_left: TokenBucket,
    /// A change has not been looked at.
    open: bool,
    /// There was such a change since the last sync began.
    changed: bool,
    /// The sync under way, or the next try of the one that failed, answers such a change.
    repairing: bool,
    /// Syncs that answered such changes with writes.
    repairs: u32,
    /// The sync under way is one of them.
    wrote: bool,
    /// Its users have been told.
    told: bool,
    actor: Actor,
}

impl Dispute {
    fn new() -> Self {
        Self {
            repairs_left: TokenBucket::default(),
            open: false,
            changed: false,
            repairing: false,
            repairs: 0,
            wrote: false,
            told: false,
            actor: Actor::Unknown,
        }
    }

    /// The time until a repair is allowed.
    fn wait(&self, now: Instant) -> Duration {
        // One accident is no dispute, even if it is seen in two parts.
        if self.repairs < 2 { Duration::ZERO } else { self.repairs_left.wait(LIMIT, now.into_std()) }
    }

    fn is_over(&self, now: Instant) -> bool {
        !self.open && !self.repairing && self.repairs_left.is_full(now.into_std())
    }
}

impl Disputes {
    /// Another client changed an object of this Service, which is to be answered after `delay`. Returns the time until it may
    /// be.
    pub(super) fn open(&mut self, key: &ObjectKey, actor: Actor, delay: Duration, now: Instant) -> Duration {
        if self.services.len() >= self.sweep_at {
            self.services.retain(|_, dispute| !dispute.is_over(now));
            self.sweep_at = SWEEP_AT.max(2 * self.services.len());
        }
        if self.services.get(key).is_none_or(|dispute| dispute.is_over(now)) {
            self.services.insert(key.clone(), Dispute::new());
        }
        let Some(dispute) = self.services.get_mut(key) else { return delay };
        let delay = delay.max(dispute.wait(now));
        dispute.open = true;
        dispute.changed = true;
        // A name is worth more than none: it stays when the next change is a deletion.
        dispute.actor = std::mem::replace(&mut dispute.actor, Actor::Unknown).or(actor);
        delay
    }

    /// Whether there was a change since the last sync of this Service began.
    pub(super) fn is_open(&self, key: &ObjectKey) -> bool {
        self.services.get(key).is_some_and(|dispute| dispute.changed)
    }

    /// The time until a repair of this Service is allowed.
    pub(super) fn wait(&self, key: &ObjectKey, now: Instant) -> Duration {
        self.services.get(key).map(|dispute| dispute.wait(now)).unwrap_or_default()
    }

    /// A sync of this Service begins.
    pub(super) fn begin(&mut self, key: &ObjectKey) {
        if let Some(dispute) = self.services.get_mut(key) {
            dispute.repairing |= std::mem::take(&mut dispute.open);
            dispute.changed = false;
            dispute.wrote = false;
        }
    }

    /// A sync of this Service wrote, or tried to and failed. Counts if it repairs.
    ///
    /// A repair that takes many writes empties the bucket, and one more: the next is never more than two intervals away.
    pub(super) fn wrote(&mut self, key: &ObjectKey, now: Instant) {
        if let Some(dispute) = self.services.get_mut(key)
            && dispute.repairing
        {
            dispute.repairs =
                dispute.repairs.saturating_add(u32::from(!std::mem::replace(&mut dispute.wrote, true)));
            dispute.repairs_left.take_in_debt(INTERVAL, LIMIT, now.into_std());
        }
    }

    /// A sync of this Service succeeded. Returns who is to be named to its users, once in a dispute: when the next repair
    /// would have to wait. One repair is no dispute, however many objects it took: they may have been deleted together.
    pub(super) fn settled(&mut self, key: &ObjectKey, now: Instant) -> Option<Actor> {
        let dispute = self.services.get_mut(key)?;
        dispute.repairing = false;
        if dispute.is_over(now) {
            self.services.remove(key);
            return None;
        }
        if dispute.told || dispute.repairs < 2 || dispute.wait(now).is_zero() {
            return None;
        }
        dispute.told = true;
        Some(dispute.actor.clone())
    }

    /// The Service is gone.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.services.remove(key);
    }
}

impl Actor {
    /// The more telling of both; of two names the later.
    fn or(self, later: Self) -> Self {
        match (&self, &later) {
            (_, Self::Manager(_)) | (Self::Unknown, _) => later,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn manager(name: &str) -> Actor {
        Actor::Manager(name.into())
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("shop", name)
    }

    /// One change and its repair; returns what is to be told.
    fn repair(disputes: &mut Disputes, name: &str, now: Instant) -> Option<Actor> {
        disputes.open(&key(name), manager("rude"), Duration::ZERO, now);
        disputes.begin(&key(name));
        disputes.wrote(&key(name), now);
        disputes.settled(&key(name), now)
    }

    fn wait(disputes: &mut Disputes, name: &str, now: Instant) -> Duration {
        let wait = disputes.open(&key(name), Actor::Unknown, Duration::ZERO, now);
        disputes.begin(&key(name));
        disputes.settled(&key(name), now);
        wait
    }

    #[test]
    fn ten_repairs_are_free_then_each_waits_a_minute_and_it_is_told_once() {
        let (mut disputes, now) = (Disputes::default(), Instant::now());
        let told: Vec<_> = (0..10).map(|_| repair(&mut disputes, "web", now)).collect();
        assert_eq!(told[..9], vec![None; 9]);
        assert_eq!(told[9], Some(manager("rude")));
        assert_eq!(wait(&mut disputes, "web", now), INTERVAL);
        assert_eq!(wait(&mut disputes, "db", now), Duration::ZERO, "another Service");
        let mut now = now;
        for _ in 0..60 {
            now += wait(&mut disputes, "web", now);
            assert_eq!(repair(&mut disputes, "web", now), None, "told already");
            assert_eq!(wait(&mut disputes, "web", now), INTERVAL);
        }
        now += 10 * INTERVAL;
        disputes.begin(&key("web"));
        disputes.settled(&key("web"), now);
        let told: Vec<_> = (0..10).filter_map(|_| repair(&mut disputes, "web", now)).collect();
        assert_eq!(told.len(), 1, "another dispute");
    }

    #[test]
    fn only_writes_that_answer_a_foreign_change_count() {
        let (mut disputes, now) = (Disputes::default(), Instant::now());
        for _ in 0..100 {
            disputes.begin(&key("web"));
            disputes.wrote(&key("web"), now);
            assert_eq!(disputes.settled(&key("web"), now), None);
            assert_eq!(wait(&mut disputes, "web", now), Duration::ZERO, "nothing to repair");
        }
        assert!(disputes.services.is_empty());
    }

    #[test]
    fn a_try_that_failed_is_still_a_repair() {
        let (mut disputes, now) = (Disputes::default(), Instant::now());
        disputes.open(&key("web"), manager("rude"), Duration::ZERO, now);
        for _ in 0..10 {
            disputes.begin(&key("web"));
            disputes.wrote(&key("web"), now);
        }
        assert!(disputes.settled(&key("web"), now).is_some());
    }

    #[test]
    fn a_repair_of_many_objects_delays_the_next_by_no_more_than_two_minutes() {
        let (mut disputes, now) = (Disputes::default(), Instant::now());
        disputes.open(&key("web"), Actor::Unknown, Duration::ZERO, now);
        disputes.begin(&key("web"));
        (0..1000).for_each(|_| disputes.wrote(&key("web"), now));
        assert_eq!(disputes.settled(&key("web"), now), None, "one accident is no dispute");
        assert_eq!(wait(&mut disputes, "web", now), Duration::ZERO, "perhaps seen in two parts");
        disputes.open(&key("web"), Actor::Unknown, Duration::ZERO, now);
        disputes.begin(&key("web"));
        (0..1000).for_each(|_| disputes.wrote(&key("web"), now));
        assert_eq!(disputes.settled(&key("web"), now), Some(Actor::Unknown));
        assert_eq!(wait(&mut disputes, "web", now), 2 * INTERVAL);
    }

    #[test]
    fn the_name_of_an_actor_outlives_changes_that_have_none() {
        let (mut disputes, now) = (Disputes::default(), Instant::now());
        for actor in
            [Actor::Unknown, Actor::Admission, manager("a"), Actor::Unknown, manager("b"), Actor::Admission]
        {
            disputes.open(&key("web"), actor, Duration::ZERO, now);
        }
        assert_eq!(disputes.services[&key("web")].actor, manager("b"));
    }

    #[test]
    fn disputes_that_are_over_take_no_memory() {
        let (mut disputes, mut now) = (Disputes::default(), Instant::now());
        for number in 0..10_000 {
            repair(&mut disputes, &format!("web-{number}"), now);
            now += Duration::from_secs(1);
        }
        assert!(disputes.services.len() < 200, "{}", disputes.services.len());
    }

    proptest! {
        /// However changes and writes fall, repairs in any hour are at most ten and one a minute.
        #[test]
        fn repairs_are_bounded(pauses in prop::collection::vec(0_u64..200, 1..200)) {
            let (mut disputes, start) = (Disputes::default(), Instant::now());
            let (mut now, mut times) = (start, Vec::new());
            for pause in pauses {
                now += Duration::from_secs(pause);
                now += disputes.open(&key("web"), Actor::Unknown, Duration::ZERO, now);
                disputes.begin(&key("web"));
                disputes.wrote(&key("web"), now);
                disputes.settled(&key("web"), now);
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
