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
/// The number of Services from which on entries that are over are removed.
const SWEEP_AT: usize = 64;

/// A slice that we created, and that admission stored as another controller's or Service's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::slices) struct Taken {
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
/// Memory: an entry for each of these Services that is not over, at most as many or [`SWEEP_AT`] that are, and the last
/// [`MAX_YOUNG`] slices that were created.
#[derive(Debug)]
pub(super) struct Reassignments {
    losses: HashMap<ObjectKey, Losses>,
    sweep_at: usize,
    /// Slices in the order in which they were created.
    young: VecDeque<(ObjectKey, Uid, Instant)>,
}

impl Default for Reassignments {
    fn default() -> Self {
        Self { losses: HashMap::new(), sweep_at: SWEEP_AT, young: VecDeque::new() }
    }
}

#[derive(Debug)]
struct Losses {
    /// The new slices that were lost.
    count: usize,
    last: Instant,
    author: Author,
    /// A client took one of them. Then a slice that admission leaves to us is not a sign that it is over.
    by_client: bool,
    reported: bool,
    /// Slices that admission took.
    taken: Vec<Taken>,
    /// Slices that were created since the first loss, or shortly before.
    created: HashSet<Uid>,
    /// Admission took a slice in the present sync when it was updated: the sync is not a sign that it is over.
    by_update: bool,
}

impl Losses {
    fn new(author: Author, created: HashSet<Uid>, now: Instant) -> Self {
        let taken = Vec::new();
        Self {
            count: 0,
            last: now,
            author,
            by_client: false,
            reported: false,
            taken,
            created,
            by_update: false,
        }
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
        let by_update = mem::take(&mut losses.by_update);
        if taken.is_empty() && !by_update && is_complete {
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
        let losses = self.losses(key, Author::Admission, now);
        losses.by_update = true;
        losses.lose(Author::Admission, now);
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
        self.sweep(|losses| losses.is_over(now));
        self.forget_if_over(key, now);
        self.losses.entry(key.clone()).or_insert_with(|| {
            let is_young = |created| now.saturating_duration_since(created) <= YOUNG;
            let young = self.young.iter().filter(|(of, _, created)| of == key && is_young(*created));
            Losses::new(author, young.map(|(_, uid, _)| uid.clone()).collect(), now)
        })
    }

    fn sweep(&mut self, mut is_over: impl FnMut(&Losses) -> bool) {
        if self.losses.len() >= self.sweep_at {
            self.losses.retain(|_, losses| !is_over(losses));
            self.sweep_at = SWEEP_AT.max(2 * self.losses.len());
        }
    }

    fn forget_if_over(&mut self, key: &ObjectKey, now: Instant) {
        if self.losses.get(key).is_some_and(|losses| losses.is_over(now)) {
            self.losses.remove(key);
        }
    }

    /// The slices of this Service that admission took.
    pub(super) fn taken(&self, key: &ObjectKey) -> Vec<Taken> {
        self.losses.get(key).map(|losses| losses.taken.clone()).unwrap_or_default()
    }

    /// The slices of this Service that a sync may create: one each try if a client has taken several. Forgets losses that are
    /// long over.
    pub(super) fn creates(&mut self, key: &ObjectKey, now: Instant) -> CreateLimit {
        self.forget_if_over(key, now);
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

    /// Forgets a Service that was deleted, or that has no slices any more.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.losses.remove(key);
    }

    /// The Services of which losses are remembered.
    pub(super) fn services(&self) -> impl Iterator<Item = &ObjectKey> {
        self.losses.keys()
    }
}

#[cfg(test)]
mod tests;
