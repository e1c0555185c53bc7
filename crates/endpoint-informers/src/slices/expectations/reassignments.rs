//! Slices of ours that were given to another manager or Service, and the limit on new ones. Pure; the clock is an argument.
//!
//! An admission policy may label each new slice as another controller's, and a client may relabel each slice that we
//! create. Then each new slice is another one that is never updated and never deleted. After [`FEW`] of them
//! a Service gets no new slice but one from time to time, to see whether that has ended. A slice that admission took, which
//! nobody else knows, is deleted once its endpoints are in a later one, or gone. (Upstream creates one, and waits for it to
//! appear in its cache until it restarts.)

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::model::{Uid, endpoints_of};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::Instant;

use crate::repairs::Author;
use crate::slices::budget::CreateLimit;

/// The new slices of a Service that may be lost before no more are created.
const FEW: usize = 3;
/// The time until the next slice is created; it doubles with each that is lost.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// The longest wait, that of a failing key.
const LONGEST_WAIT: Duration = Duration::from_secs(1000);
/// The longest wait if clients relabel our slices, which stay: their number must not grow for ever.
const LONGEST_WAIT_FOR_CLIENTS: Duration = Duration::from_hours(24);

/// The time after its creation in which the loss of a slice counts even if no other was lost before.
const YOUNG: Duration = Duration::from_secs(60);
/// The number of slices of which it is known that they are young.
const MAX_YOUNG: usize = 1000;

/// A slice that we created, and that admission stored as another controller's or Service's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub(in crate::slices) name: String,
    pub(in crate::slices) uid: String,
    pub(in crate::slices) resource_version: String,
    /// The addresses of its endpoints.
    addresses: Vec<String>,
}

impl Taken {
    /// The slice that was sent, and the metadata of the one that was stored.
    pub(in crate::slices) fn new(sent: &EndpointSlice, metadata: &ObjectMeta) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self {
            addresses: addresses(sent).map(ToOwned::to_owned).collect(),
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

fn addresses(slice: &EndpointSlice) -> impl Iterator<Item = &str> {
    endpoints_of(slice).iter().flat_map(|endpoint| &endpoint.addresses).map(String::as_str)
}

/// The Services that lost slices to another manager or Service.
///
/// Memory: an entry for each of these Services, until as long as the last wait has passed without a loss, and the last
/// [`MAX_YOUNG`] slices that were created.
#[derive(Debug, Default)]
pub(super) struct Reassignments {
    losses: HashMap<ObjectKey, Losses>,
    /// Slices of Services without losses, in the order in which they were created.
    young: VecDeque<(ObjectKey, Uid, Instant)>,
}

#[derive(Debug)]
struct Losses {
    /// The new slices that were lost.
    count: usize,
    last: Instant,
    author: Author,
    /// A client took one of them. Then a slice that admission leaves to us is no sign that it is over.
    by_client: bool,
    reported: bool,
    /// Slices that admission took.
    taken: Vec<Taken>,
    /// Slices that were created since the first loss, or shortly before.
    created: HashSet<Uid>,
}

impl Losses {
    fn new(author: Author, created: HashSet<Uid>, now: Instant) -> Self {
        let taken = Vec::new();
        Self { count: 0, last: now, author, by_client: false, reported: false, taken, created }
    }

    /// The time from the last loss until a slice may be created.
    fn wait(&self) -> Duration {
        let longest = if self.by_client { LONGEST_WAIT_FOR_CLIENTS } else { LONGEST_WAIT };
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
    /// Records that a slice of this Service was created, and that admission left it alone.
    pub(super) fn kept(&mut self, key: &ObjectKey, uid: &Uid, now: Instant) {
        if let Some(losses) = self.losses.get_mut(key) {
            losses.created.insert(uid.clone());
            return;
        }
        while let Some((_, _, created)) = self.young.front()
            && (self.young.len() >= MAX_YOUNG || now.saturating_duration_since(*created) > YOUNG)
        {
            self.young.pop_front();
        }
        self.young.push_back((key.clone(), uid.clone(), now));
    }

    /// Records the end of a sync of this Service: the new slices that admission took, and whether the plan was carried out.
    /// `wanted` are the slices that it had to create. Returns slices of earlier syncs that are to be deleted, unless
    /// somebody has changed them since we created them.
    ///
    /// Cost: none for a Service without losses; otherwise a look at each endpoint.
    pub(super) fn synced<'a>(
        &mut self,
        key: &ObjectKey,
        taken: &[Taken],
        wanted: impl Iterator<Item = &'a EndpointSlice>,
        is_complete: bool,
        now: Instant,
    ) -> Vec<Taken> {
        for _ in taken {
            self.losses(key, Author::Admission, now).lose(Author::Admission, now);
        }
        let Some(losses) = self.losses.get_mut(key) else { return Vec::new() };
        if taken.is_empty() && is_complete {
            let left_behind = mem::take(&mut losses.taken);
            if !losses.by_client {
                self.losses.remove(key);
            }
            return left_behind;
        }
        let mut missing: HashSet<&str> = wanted.flat_map(addresses).collect();
        for address in taken.iter().flat_map(|slice| &slice.addresses) {
            missing.remove(address.as_str());
        }
        let is_superseded = |old: &mut Taken| old.addresses.iter().all(|it| !missing.contains(it.as_str()));
        let superseded = losses.taken.extract_if(.., is_superseded).collect();
        losses.taken.extend_from_slice(taken);
        superseded
    }

    /// Records that admission gave a slice of this Service away when we updated it.
    pub(super) fn updated(&mut self, key: &ObjectKey, now: Instant) {
        self.losses(key, Author::Admission, now).lose(Author::Admission, now);
    }

    /// Records that a client gave a slice of this Service away. The first time is free for each slice but those that
    /// replace others and those that are new.
    pub(super) fn relabelled(&mut self, key: &ObjectKey, uid: &Uid, author: Author, now: Instant) {
        let losses = self.losses(key, author.clone(), now);
        losses.by_client = true;
        if losses.created.remove(uid) {
            losses.lose(author, now);
        }
    }

    fn losses(&mut self, key: &ObjectKey, author: Author, now: Instant) -> &mut Losses {
        self.losses.retain(|_, losses| !losses.is_over(now));
        self.losses.entry(key.clone()).or_insert_with(|| {
            let is_young = |created| now.saturating_duration_since(created) <= YOUNG;
            let young = self.young.iter().filter(|(of, _, created)| of == key && is_young(*created));
            Losses::new(author, young.map(|(_, uid, _)| uid.clone()).collect(), now)
        })
    }

    /// The slices of this Service that admission took.
    pub(super) fn taken(&self, key: &ObjectKey) -> Vec<Taken> {
        self.losses.get(key).map(|losses| losses.taken.clone()).unwrap_or_default()
    }

    /// The slices of this Service that a sync may create: one each try if a client has taken several. Forgets losses that are
    /// long over.
    pub(super) fn creates(&mut self, key: &ObjectKey, now: Instant) -> CreateLimit {
        if self.losses.get(key).is_some_and(|losses| losses.is_over(now)) {
            self.losses.remove(key);
        }
        let Some(losses) = self.losses.get(key) else { return CreateLimit::until_lost(FEW) };
        let retries = usize::from(losses.rest(now).is_zero());
        match FEW.saturating_sub(losses.count) {
            0 if losses.by_client => CreateLimit::at_most(retries),
            0 => CreateLimit::until_lost(retries),
            few => CreateLimit::until_lost(few),
        }
    }

    /// The time until a slice of this Service may be created.
    pub(super) fn rest(&self, key: &ObjectKey, now: Instant) -> Duration {
        self.losses.get(key).map(|losses| losses.rest(now)).unwrap_or_default()
    }

    /// The client that takes the slices of this Service, if no more are created, once.
    pub(super) fn report(&mut self, key: &ObjectKey) -> Option<Author> {
        let losses = self.losses.get_mut(key).filter(|losses| losses.count >= FEW)?;
        (!mem::replace(&mut losses.reported, true)).then(|| losses.author.clone())
    }

    /// Forgets a Service that was deleted.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.losses.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::discovery::v1::Endpoint;

    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::new("shop", "web")
    }

    fn slice(number: u32, addresses: &[&str]) -> Taken {
        let text = number.to_string();
        let addresses = addresses.iter().map(|it| (*it).to_owned()).collect();
        Taken { name: text.clone(), uid: text.clone(), resource_version: text, addresses }
    }

    fn wanted(addresses: &[&str]) -> EndpointSlice {
        let endpoint =
            |address: &&str| Endpoint { addresses: vec![(*address).to_owned()], ..Endpoint::default() };
        let endpoints = Some(addresses.iter().map(endpoint).collect());
        EndpointSlice { endpoints, ..EndpointSlice::default() }
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
            if !slices.creates(&key(), now).is_reached() {
                created += 1;
                let taken = [slice(created, &["a"])];
                let superseded = slices.synced(&key(), &taken, [wanted(&["a"])].iter(), false, now);
                deleted += u32::try_from(superseded.len()).unwrap();
            }
            now += slices.rest(&key(), now).max(Duration::from_secs(1));
        }
        (created, created - deleted)
    }

    #[test]
    fn a_policy_costs_three_tries_and_then_ever_fewer() {
        let mut slices = Reassignments::default();
        assert_eq!(under_a_policy(&mut slices, Duration::from_secs(60)), (3, 1));
        let mut slices = Reassignments::default();
        assert_eq!(under_a_policy(&mut slices, Duration::from_hours(1)), (9, 1));
        assert_eq!(slices.report(&key()), Some(Author::Admission));
        assert_eq!(slices.report(&key()), None, "once");
        let left_behind = slices.synced(&key(), &[], [].iter(), true, Instant::now());
        assert_eq!(left_behind.len(), 1, "nothing is left behind");
        assert_eq!(slices.creates(&key(), Instant::now()), CreateLimit::until_lost(FEW));
    }

    /// Of a Service with two address families, only one slice is created by a later try.
    #[test]
    fn a_slice_stays_until_its_endpoints_are_in_another_or_gone() {
        let (mut slices, now) = (Reassignments::default(), Instant::now());
        let both = [wanted(&["a", "b"]), wanted(&["c"])];
        let names = |slices: Vec<Taken>| slices.into_iter().map(|slice| slice.name).collect::<Vec<_>>();
        let mut sync = |taken: &[Taken], wanted: &[EndpointSlice]| {
            names(slices.synced(&key(), taken, wanted.iter(), false, now))
        };
        assert_eq!(sync(&[slice(1, &["a", "b"]), slice(2, &["c"])], &both), [""; 0]);
        assert_eq!(sync(&[slice(3, &["a", "b"])], &both), ["1"], "c is in 2 alone");
        assert_eq!(sync(&[], &both), [""; 0]);
        assert_eq!(sync(&[slice(4, &["b"])], &[wanted(&["b"])]), ["2", "3"], "a and c are gone");
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
        assert_eq!(slices.rest(&key(), now), Duration::ZERO);
        assert_eq!(slices.creates(&key(), now), CreateLimit::until_lost(FEW));
        for number in 0..100 {
            slices.kept(&key(), &uid(1000 + number), now);
        }
        for number in 0..3 {
            slices.relabelled(&key(), &uid(1000 + number), client(), now);
        }
        assert_eq!(slices.rest(&key(), now), FIRST_WAIT);
        assert!(slices.creates(&key(), now).is_reached());
        assert_eq!(slices.creates(&key(), now + FIRST_WAIT), CreateLimit::at_most(1));
    }

    /// Otherwise each process that starts meanwhile loses twice as many slices as the Service needs.
    #[test]
    fn new_slices_that_are_relabelled_count_from_the_first() {
        let (mut slices, start) = (Reassignments::default(), Instant::now());
        for number in 0..12 {
            slices.kept(&key(), &uid(number), start);
        }
        let now = start + YOUNG;
        for number in 0..FEW {
            assert!(!slices.creates(&key(), now).is_reached());
            slices.relabelled(&key(), &uid(u32::try_from(number).unwrap()), client(), now);
        }
        assert!(slices.creates(&key(), now).is_reached());
    }

    #[test]
    fn a_slice_is_young_for_a_minute_and_as_long_as_few_others_are() {
        let lost = |slices: &mut Reassignments, number, now| {
            slices.relabelled(&key(), &uid(number), client(), now);
            slices.losses[&key()].count
        };
        let (mut slices, start) = (Reassignments::default(), Instant::now());
        slices.kept(&key(), &uid(0), start);
        slices.kept(&ObjectKey::new("shop", "db"), &uid(1), start);
        assert_eq!(lost(&mut slices, 1, start), 0, "of another Service");
        assert_eq!(lost(&mut slices, 0, start), 1);
        let mut slices = Reassignments::default();
        slices.kept(&key(), &uid(0), start);
        assert_eq!(lost(&mut slices, 0, start + YOUNG + Duration::from_secs(1)), 0);
        let mut slices = Reassignments::default();
        for number in 0..=1000 {
            slices.kept(&key(), &uid(number), start);
        }
        assert_eq!(slices.young.len(), MAX_YOUNG);
        assert_eq!(lost(&mut slices, 0, start), 0);
        assert_eq!(lost(&mut slices, 1000, start), 1);
        let later = start + YOUNG + Duration::from_secs(1);
        slices.kept(&ObjectKey::new("shop", "db"), &uid(1001), later);
        assert_eq!(slices.young.len(), 1);
    }

    /// The client takes what the policy leaves.
    #[test]
    fn a_client_beside_a_policy_ends_with_a_few() {
        let (mut slices, start, mut number) = (Reassignments::default(), Instant::now(), 0);
        let mut now = start;
        while now.duration_since(start) < Duration::from_secs(60) {
            if !slices.creates(&key(), now).is_reached() {
                number += 1;
                let is_kept = number % 2 == 0;
                let taken = if is_kept { vec![] } else { vec![slice(number, &["a"])] };
                if is_kept {
                    slices.kept(&key(), &uid(number), now);
                }
                slices.synced(&key(), &taken, [wanted(&["a"])].iter(), is_kept, now);
                if is_kept {
                    slices.relabelled(&key(), &uid(number), client(), now);
                }
            }
            now += slices.rest(&key(), now).max(Duration::from_secs(1));
        }
        assert_eq!(number, 5);
    }

    /// The slices of an hour, a day and ten days.
    #[test]
    fn a_client_that_relabels_each_new_slice_ends_with_a_few() {
        for (hours, expected) in [(1, 8), (24, 13), (240, 22)] {
            let (mut slices, start, mut number) = (Reassignments::default(), Instant::now(), 0);
            let mut now = start;
            slices.relabelled(&key(), &uid(0), client(), now);
            while now.duration_since(start) < Duration::from_hours(hours) {
                if !slices.creates(&key(), now).is_reached() {
                    number += 1;
                    slices.kept(&key(), &uid(number), now);
                    slices.relabelled(&key(), &uid(number), client(), now);
                }
                now += slices.rest(&key(), now).max(Duration::from_secs(1));
            }
            assert_eq!(number, expected, "{hours} hours");
        }
    }

    /// Its next slices are created together again, and are not remembered.
    #[test]
    fn a_client_that_has_stopped_costs_nothing_later() {
        let (mut slices, now) = (Reassignments::default(), Instant::now());
        for number in 0..=4 {
            slices.relabelled(&key(), &uid(number), client(), now);
            slices.kept(&key(), &uid(number + 1), now);
        }
        assert_eq!(slices.creates(&key(), now + FIRST_WAIT * 4), CreateLimit::at_most(1));
        let later = now + LONGEST_WAIT + Duration::from_secs(1);
        assert_eq!(slices.creates(&key(), later), CreateLimit::until_lost(FEW));
        slices.kept(&key(), &uid(9), later);
        assert!(slices.losses.is_empty());
    }

    #[test]
    fn a_quiet_service_is_forgotten() {
        let (mut slices, now) = (Reassignments::default(), Instant::now());
        slices.relabelled(&key(), &uid(0), client(), now);
        let later = now + LONGEST_WAIT + Duration::from_secs(1);
        slices.relabelled(&ObjectKey::new("shop", "db"), &uid(0), client(), later);
        assert_eq!(slices.losses.len(), 1);
    }
}
