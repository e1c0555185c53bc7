//! The limit on repairs: a token bucket for each Service whose objects another client changes. Pure; the clock is an
//! argument.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::model::Uid;
use kube_api::time::Instant;
use kube_api::token_bucket::{Rate, TokenBucket};

use super::author::Author;
use super::change::{Effect, ForeignChange};

/// The repairs of one Service that may follow each other at once.
pub(super) const BURST: u32 = 10;
/// The time after which one more repair is allowed.
pub(super) const INTERVAL: Duration = Duration::from_secs(60);
const LIMIT: Rate = Rate::every(INTERVAL, BURST);
/// The longest wait for the repair of a loss of endpoints, which upstream makes at once or a second later. It keeps a client
/// that deletes each object as soon as it sees it from using up the rate limit of requests.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);
/// The time without a foreign change after which a Service is forgotten: that in which an empty bucket fills.
const QUIET: Duration = INTERVAL.saturating_mul(BURST);
/// The most objects of a Service that are known: the slices of two million endpoints.
const MAX_KNOWN: usize = 20_000;
/// The number of Services from which on entries that are no longer needed are removed.
const SWEEP_AT: usize = 64;

/// The Services with recent repairs.
///
/// Memory: about 200 bytes for each Service that was repaired in the last ten minutes, and 40 for each object that was changed or
/// created then, until it is deleted as an object of that Service; [`MAX_KNOWN`] at most.
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
    /// The objects that were changed before, or created by a repair: another change of them costs a token.
    known: HashSet<Uid>,
    last_change: Instant,
    /// No sync has begun since the last foreign change.
    pending: bool,
    /// One of the changes to repair is of a known object.
    again: bool,
    /// The running sync, or the next retry of the one that failed, repairs a foreign change.
    repairing: bool,
    /// The running sync has taken its token.
    counted: bool,
    /// The event about this Service has been written.
    reported: bool,
    author: Author,
}

impl ServiceRepairs {
    fn new(now: Instant) -> Self {
        Self {
            allowed: TokenBucket::default(),
            known: HashSet::new(),
            last_change: now,
            pending: false,
            again: false,
            repairing: false,
            counted: false,
            reported: false,
            author: Author::Unknown,
        }
    }

    /// Remembers an object. Returns false if it is known.
    fn learn(&mut self, object: &Uid) -> bool {
        if self.known.contains(object) {
            return false;
        }
        // Those that a client gave to another Service are not seen to go.
        if self.known.len() == MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(object.clone())
    }

    /// The time until a repair is allowed.
    fn delay(&self, now: Instant) -> Duration {
        self.allowed.wait(LIMIT, now.into_std())
    }

    /// True if the allowance is full again and no repair is outstanding.
    fn is_over(&self, now: Instant) -> bool {
        let is_quiet = now.saturating_duration_since(self.last_change) >= QUIET;
        is_quiet && !self.pending && !self.repairing && self.allowed.is_full(now.into_std())
    }
}

impl RepairLimiter {
    /// Records that another client changed an object of this Service, to be repaired after `delay`. Returns the time
    /// until the repair is allowed.
    pub(super) fn record_change(
        &mut self,
        key: &ObjectKey,
        change: ForeignChange<'_>,
        delay: Duration,
        now: Instant,
    ) -> Duration {
        self.sweep(now);
        if self.services.get(key).is_some_and(|service| service.is_over(now)) {
            self.services.remove(key);
        }
        let service = self.services.entry(key.clone()).or_insert_with(|| ServiceRepairs::new(now));
        let again = if change.effect == Effect::Deletion {
            service.known.remove(change.object)
        } else {
            !service.learn(change.object)
        };
        service.last_change = now;
        service.pending = true;
        service.again |= again;
        // A name is kept when the next change, such as a deletion, has none.
        service.author = mem::replace(&mut service.author, Author::Unknown).or(change.author);
        let longest = if change.effect == Effect::Other { Duration::MAX } else { LOSS_INTERVAL };
        if again { delay.max(service.delay(now).min(longest)) } else { delay }
    }

    /// Forgets an object of a Service that was deleted, which is not to be repaired.
    pub(super) fn gone(&mut self, key: &ObjectKey, object: &Uid) {
        if let Some(service) = self.services.get_mut(key) {
            service.known.remove(object);
        }
    }

    /// The number of objects of a Service that are known.
    #[cfg(test)]
    pub(super) fn known(&self, key: &ObjectKey) -> usize {
        self.services.get(key).map_or(0, |service| service.known.len())
    }

    fn sweep(&mut self, now: Instant) {
        if self.services.len() >= self.sweep_at {
            self.services.retain(|_, service| !service.is_over(now));
            self.sweep_at = SWEEP_AT.max(2 * self.services.len());
        }
    }

    /// The time until a repair of this Service is allowed.
    pub(super) fn delay(&self, key: &ObjectKey, now: Instant) -> Duration {
        self.services.get(key).map(|service| service.delay(now)).unwrap_or_default()
    }

    /// Records that a sync of this Service begins.
    pub(super) fn begin_sync(&mut self, key: &ObjectKey) {
        if let Some(service) = self.services.get_mut(key) {
            service.repairing |= mem::take(&mut service.pending);
            service.counted = false;
        }
    }

    /// Counts a write of the running sync, successful or not, if the sync is a repair: the first one takes a token.
    /// `created` is the object that it created, if any.
    pub(super) fn count_write(&mut self, key: &ObjectKey, created: Option<&Uid>, now: Instant) {
        let Some(service) = self.services.get_mut(key).filter(|service| service.repairing) else { return };
        if let Some(created) = created {
            service.learn(created);
        }
        if service.again && !mem::replace(&mut service.counted, true) {
            service.allowed.take_in_debt(Duration::ZERO, LIMIT, now.into_std());
        }
    }

    /// Records that a sync of this Service succeeded. Returns the author of the foreign changes if the Service must get
    /// an event: when the next repair would have to wait, and once until the limit is no longer reached.
    pub(super) fn sync_succeeded(&mut self, key: &ObjectKey, now: Instant) -> Option<Author> {
        let service = self.services.get_mut(key)?;
        service.repairing = false;
        // A change during this sync is repaired by the next one.
        service.again &= service.pending;
        if service.is_over(now) {
            self.services.remove(key);
            return None;
        }
        if service.reported || service.delay(now).is_zero() {
            return None;
        }
        service.reported = true;
        Some(service.author.clone())
    }

    /// Forgets a Service that was deleted.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.services.remove(key);
    }
}

#[cfg(test)]
mod tests;
