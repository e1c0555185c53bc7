//! Slices of ours that were given to another manager or Service, and the limit on new ones. Pure; the clock is an argument.
//!
//! An admission policy may label each new slice as another controller's, and a client may relabel each slice that we
//! create. Then a new slice helps nobody: it is another one that is never updated and never deleted. After [`FEW`] of them
//! a Service gets no new slice but one from time to time, to see whether that has ended; and of the slices that admission
//! took, which nobody else knows, no more than [`FEW`] stay. (Upstream creates one, and waits for it to appear in its cache
//! until it restarts.)

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::model::Uid;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::Instant;

use crate::repairs::Author;

/// The new slices of a Service that may be lost before no more are created.
const FEW: usize = 3;
/// The time until the next slice is created; it doubles with each that is lost.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// The longest wait, that of a failing key.
const LONGEST_WAIT: Duration = Duration::from_secs(1000);
/// The longest wait if clients relabel our slices, which stay: their number must not grow for ever.
const LONGEST_WAIT_FOR_CLIENTS: Duration = Duration::from_hours(24);

/// A slice that we created, and that the API server stored as another controller's or Service's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::slices) struct Stored {
    pub(in crate::slices) name: String,
    pub(in crate::slices) uid: String,
    pub(in crate::slices) resource_version: String,
}

impl Stored {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self {
            name: text(&metadata.name),
            uid: text(&metadata.uid),
            resource_version: text(&metadata.resource_version),
        }
    }

    /// As much of the slice as is known.
    pub(in crate::slices) fn into_slice(self, key: &ObjectKey) -> EndpointSlice {
        let metadata = ObjectMeta {
            namespace: Some(key.namespace.to_string()),
            name: Some(self.name),
            uid: Some(self.uid),
            resource_version: Some(self.resource_version),
            ..ObjectMeta::default()
        };
        EndpointSlice { metadata, ..EndpointSlice::default() }
    }
}

/// The Services that lost slices to another manager or Service.
///
/// Memory: an entry for each of these Services, until as long as the last wait has passed without a loss.
#[derive(Debug, Default)]
pub(super) struct Reassignments {
    services: HashMap<ObjectKey, Losses>,
    /// Slices of earlier tries that are to be deleted.
    surplus: Vec<(ObjectKey, Stored)>,
}

#[derive(Debug)]
struct Losses {
    /// The new slices that were lost.
    count: usize,
    last: Instant,
    author: Author,
    reported: bool,
    /// Slices that admission took, oldest first.
    stored: VecDeque<Stored>,
    /// Slices that were created since the first loss.
    created: HashSet<Uid>,
}

impl Losses {
    fn new(author: Author, now: Instant) -> Self {
        let (stored, created) = Default::default();
        Self { count: 0, last: now, author, reported: false, stored, created }
    }

    /// The time from the last loss until a slice may be created.
    fn wait(&self) -> Duration {
        let longest = match self.author {
            Author::Admission => LONGEST_WAIT,
            Author::Unknown | Author::Manager(_) => LONGEST_WAIT_FOR_CLIENTS,
        };
        match self.count.checked_sub(FEW) {
            None => Duration::ZERO,
            Some(doublings) => {
                let doublings = u32::try_from(doublings).unwrap_or(u32::MAX);
                FIRST_WAIT.saturating_mul(2_u32.saturating_pow(doublings)).min(longest)
            }
        }
    }

    /// The time until a slice may be created.
    fn rest(&self, now: Instant) -> Duration {
        self.wait().saturating_sub(now.saturating_duration_since(self.last))
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) > (2 * self.wait()).max(LONGEST_WAIT)
    }

    fn lose(&mut self, author: Author, now: Instant) {
        // What is lost in one sync counts once after the first few.
        if self.count < FEW || self.rest(now).is_zero() {
            self.count = self.count.saturating_add(1);
        }
        self.last = now;
        self.author = author;
    }
}

impl Reassignments {
    /// Records that a slice of this Service was created, and that admission left it alone: those of earlier tries are surplus.
    pub(super) fn kept(&mut self, key: &ObjectKey, uid: &Uid) {
        let Some(losses) = self.services.get_mut(key) else { return };
        losses.created.insert(uid.clone());
        self.surplus.extend(losses.stored.drain(..).map(|slice| (key.clone(), slice)));
        if losses.author == Author::Admission {
            self.services.remove(key);
        }
    }

    /// Records that admission gave a new slice of this Service away.
    pub(super) fn stored(&mut self, key: &ObjectKey, stored: Stored, now: Instant) {
        let losses = self.losses(key, Author::Admission, now);
        losses.lose(Author::Admission, now);
        losses.stored.push_back(stored);
        if losses.stored.len() > FEW {
            let oldest = losses.stored.pop_front();
            self.surplus.extend(oldest.map(|slice| (key.clone(), slice)));
        }
    }

    /// The slices of this Service that are to be deleted, unless they have changed since we created them.
    pub(super) fn take_surplus(&mut self, key: &ObjectKey) -> Vec<Stored> {
        let is_of = |(owner, _): &mut (ObjectKey, Stored)| owner == key;
        self.surplus.extract_if(.., is_of).map(|(_, slice)| slice).collect()
    }

    /// Records that admission gave a slice of this Service away when we updated it.
    pub(super) fn updated(&mut self, key: &ObjectKey, now: Instant) {
        self.losses(key, Author::Admission, now).lose(Author::Admission, now);
    }

    /// Records that a client gave a slice of this Service away. The first time is free for each slice but those that
    /// replace others.
    pub(super) fn relabelled(&mut self, key: &ObjectKey, uid: &Uid, author: Author, now: Instant) {
        let losses = self.losses(key, author.clone(), now);
        if losses.created.remove(uid) {
            losses.lose(author, now);
        }
    }

    fn losses(&mut self, key: &ObjectKey, author: Author, now: Instant) -> &mut Losses {
        self.services.retain(|_, losses| !losses.is_over(now));
        self.services.entry(key.clone()).or_insert_with(|| Losses::new(author, now))
    }

    /// The slices of this Service that admission took.
    pub(super) fn left_behind(&self, key: &ObjectKey) -> Vec<Stored> {
        self.services.get(key).map(|losses| losses.stored.iter().cloned().collect()).unwrap_or_default()
    }

    /// The number of new slices of this Service that may be lost from now on: no slice may be created once it is reached.
    pub(super) fn allowance(&self, key: &ObjectKey, now: Instant) -> usize {
        let Some(losses) = self.services.get(key) else { return FEW };
        match FEW.saturating_sub(losses.count) {
            0 => usize::from(losses.rest(now).is_zero()),
            few => few,
        }
    }

    /// The time until a slice of this Service may be created.
    pub(super) fn rest(&self, key: &ObjectKey, now: Instant) -> Duration {
        self.services.get(key).map(|losses| losses.rest(now)).unwrap_or_default()
    }

    /// The client that takes the slices of this Service, if no more are created, once.
    pub(super) fn report(&mut self, key: &ObjectKey) -> Option<Author> {
        let losses = self.services.get_mut(key).filter(|losses| losses.count >= FEW)?;
        (!mem::replace(&mut losses.reported, true)).then(|| losses.author.clone())
    }

    /// Forgets a Service that was deleted.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.services.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::new("shop", "web")
    }

    fn slice(number: u32) -> Stored {
        let text = number.to_string();
        Stored { name: text.clone(), uid: text.clone(), resource_version: text }
    }

    fn client() -> Author {
        Author::Manager("other-client".into())
    }

    fn uid(number: u32) -> Uid {
        Uid::from(&*number.to_string())
    }

    /// A policy takes each new slice for `time`. Returns the numbers of creates and of slices that are left.
    fn under_a_policy(slices: &mut Reassignments, time: Duration) -> (u32, u32) {
        let (start, mut created, mut deleted) = (Instant::now(), 0, 0);
        let mut now = start;
        while now.duration_since(start) < time {
            if slices.allowance(&key(), now) > 0 {
                created += 1;
                slices.stored(&key(), slice(created), now);
                deleted += u32::try_from(slices.take_surplus(&key()).len()).unwrap();
            }
            now += slices.rest(&key(), now).max(Duration::from_secs(1));
        }
        (created, created - deleted)
    }

    #[test]
    fn a_policy_costs_three_slices_and_ever_fewer_tries() {
        let mut slices = Reassignments::default();
        assert_eq!(under_a_policy(&mut slices, Duration::from_secs(60)), (3, 3));
        let mut slices = Reassignments::default();
        assert_eq!(under_a_policy(&mut slices, Duration::from_hours(1)), (9, 3));
        assert_eq!(slices.report(&key()), Some(Author::Admission));
        assert_eq!(slices.report(&key()), None, "once");
        slices.kept(&key(), &uid(10));
        assert_eq!(slices.take_surplus(&key()).len(), 3, "nothing is left behind");
        assert_eq!(slices.allowance(&key(), Instant::now()), FEW);
    }

    #[test]
    fn many_slices_that_are_lost_in_one_sync_count_once() {
        let (mut slices, now) = (Reassignments::default(), Instant::now());
        for _ in 0..100 {
            slices.updated(&key(), now);
        }
        assert_eq!(slices.rest(&key(), now), FIRST_WAIT);
    }

    #[test]
    fn a_client_may_relabel_each_slice_once() {
        let (mut slices, now) = (Reassignments::default(), Instant::now());
        for number in 0..100 {
            slices.relabelled(&key(), &uid(number), client(), now);
        }
        assert_eq!((slices.rest(&key(), now), slices.allowance(&key(), now)), (Duration::ZERO, FEW));
        for number in 0..100 {
            slices.kept(&key(), &uid(1000 + number));
        }
        for number in 0..3 {
            slices.relabelled(&key(), &uid(1000 + number), client(), now);
        }
        assert_eq!((slices.rest(&key(), now), slices.allowance(&key(), now)), (FIRST_WAIT, 0));
        assert_eq!(slices.allowance(&key(), now + FIRST_WAIT), 1);
    }

    /// The slices of an hour, a day and ten days.
    #[test]
    fn a_client_that_relabels_each_new_slice_ends_with_a_few() {
        for (hours, expected) in [(1, 8), (24, 13), (240, 22)] {
            let (mut slices, start, mut number) = (Reassignments::default(), Instant::now(), 0);
            let mut now = start;
            slices.relabelled(&key(), &uid(0), client(), now);
            while now.duration_since(start) < Duration::from_hours(hours) {
                if slices.allowance(&key(), now) > 0 {
                    number += 1;
                    slices.kept(&key(), &uid(number));
                    slices.relabelled(&key(), &uid(number), client(), now);
                }
                now += slices.rest(&key(), now).max(Duration::from_secs(1));
            }
            assert_eq!(number, expected, "{hours} hours");
        }
    }

    #[test]
    fn a_quiet_service_is_forgotten() {
        let (mut slices, now) = (Reassignments::default(), Instant::now());
        slices.relabelled(&key(), &uid(0), client(), now);
        let later = now + LONGEST_WAIT + Duration::from_secs(1);
        slices.relabelled(&ObjectKey::new("shop", "db"), &uid(0), client(), later);
        assert_eq!(slices.services.len(), 1);
    }
}
