//! Expectations: the states of its own objects that a controller has written and its cache has to show.
//!
//! A controller reads a cache that lags behind its own writes. Without expectations it would undo or repeat a write
//! that the cache doesn't show yet, and take the watch event of its own write for another client's change.
//!
//! ```text
//! sync ── write ──> API server ──> watch event ──> cache
//!           │                          │
//!        expect                is_foreign? removed         relist: ends expectations older than the list
//!           v                          v                     v
//!      ┌───────────────────── Expectations ─────────────────────┐
//!      └── is_stale: sync waits until the cache has caught up ──┘
//! ```
//!
//! (`k8s.io/endpointslice` `util/endpointslice_tracker.go`, `pkg/controller/endpoint` `endpoints_tracker.go`)

mod objects;

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use self::objects::Objects;
use crate::model::{ResourceVersion, Uid};

/// The expectations of one controller, by the key of its syncs and the uid of the object.
///
/// States are compared by resourceVersion. Upstream goes by generation, which changes of annotations, owner references
/// and finalizers don't raise, and relies on its resync for those.
///
/// A write is expected until the cache shows it or a later state, until its object is [removed](Self::removed), or until
/// a list that began after the write is complete: a list shows everything acknowledged before it was requested, so
/// what it doesn't show was deleted, or undone by a restored backup.
///
/// A plain value: a controller that shares it between tasks locks it. Memory: 130 bytes for each key
/// with an object that was written or observed and still exists, and 90 for each further object of it.
#[derive(Debug)]
pub struct Expectations<K> {
    objects: HashMap<K, Objects<Expectation>>,
    /// Keys whose last sync found the cache stale.
    waiting: HashSet<K>,
    /// The number of lists that have begun.
    lists: u32,
}

impl<K> Default for Expectations<K> {
    fn default() -> Self {
        Self { objects: HashMap::new(), waiting: HashSet::new(), lists: 0 }
    }
}

/// The version of an object, which orders its states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// `metadata.generation`; 0 for kinds without.
    pub generation: i64,
    /// `metadata.resourceVersion`.
    pub resource_version: ResourceVersion,
}

/// One expectation.
#[derive(Clone, Copy, Debug)]
struct Expectation {
    state: Expected,
    /// The number of lists that had begun.
    lists: u32,
    /// The object may be deleted by others, such as the garbage collector.
    removable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// The object, in this version or a later one.
    Present(ObjectVersion),
    Deleted,
}

/// An object has left the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// By this controller, or with its consent; or nothing was expected of the object.
    Expected,
    /// By another client, although the object was expected to stay.
    Unexpected,
}

/// Consequences of a complete list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relisted<K> {
    /// Keys whose sync waits for the cache.
    pub waiting: Vec<K>,
    /// Keys with an object that is not as expected.
    pub differing: Vec<(K, Difference)>,
}

/// The difference between a list and the expectations of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// An object is in a later version than expected, or back although it was deleted. Watch events may have reported it.
    Newer,
    /// An object is missing or in an older version. No watch event reports that.
    Lost,
}

impl From<&ObjectMeta> for ObjectVersion {
    fn from(metadata: &ObjectMeta) -> Self {
        Self {
            generation: metadata.generation.unwrap_or_default(),
            resource_version: metadata.resource_version.as_deref().unwrap_or_default().into(),
        }
    }
}

impl ObjectVersion {
    /// True if `other` is certainly a later version of the same object. Versions that are not numbers are ordered by
    /// generation.
    pub fn is_older_than(self, other: Self) -> bool {
        match (self.number(), other.number()) {
            (Some(this), Some(other)) => this < other,
            _ => self.generation < other.generation,
        }
    }

    /// True if `other` is another version of the same object and may be a later one.
    fn may_precede(self, other: Self) -> bool {
        let unordered = self.number().is_none() || other.number().is_none();
        self.is_older_than(other) || unordered && self != other && self.generation == other.generation
    }

    fn number(self) -> Option<u64> {
        self.resource_version.number().filter(|number| *number > 0)
    }
}

impl<K: Clone + Eq + Hash> Expectations<K> {
    /// Expects an object in the version that the API server returned for a create or an update.
    pub fn expect(&mut self, key: K, uid: Uid, written: ObjectVersion) {
        self.insert(key, uid, Expected::Present(written));
    }

    /// Expects an object to leave the cache, because its deletion was acknowledged.
    pub fn expect_deleted(&mut self, key: K, uid: Uid) {
        self.insert(key, uid, Expected::Deleted);
    }

    fn insert(&mut self, key: K, uid: Uid, state: Expected) {
        let expectation = Expectation { state, lists: self.lists, removable: false };
        self.objects.entry(key).or_default().insert(uid, expectation);
    }

    /// Expects an object to stay as a sync has found it, unless a later version or its deletion is expected: from now on
    /// its removal and every change are noticed. Upstream expects only its own writes, and overlooks deletions after a
    /// restart.
    pub fn observe(&mut self, key: &K, uid: Uid, found: ObjectVersion) {
        // A list that is under way may show a later moment than the cache did.
        let lists = self.lists.saturating_sub(1);
        let new = Expectation { state: Expected::Present(found), lists, removable: false };
        let Some(objects) = self.objects.get_mut(key) else {
            self.objects.entry(key.clone()).or_default().insert(uid, new);
            return;
        };
        let Some(known) = objects.get_mut(&uid) else { return objects.insert(uid, new) };
        known.removable = false;
        if matches!(known.state, Expected::Present(version) if version.is_older_than(found)) {
            known.state = new.state;
        }
    }

    /// True if the cache has not caught up with the writes of this key: an object is older than written, missing, or
    /// still there although it was deleted.
    ///
    /// `cached` gives uid and version of each object in the cache. `observed` is the resourceVersion up to which the cache
    /// has seen everything, or 0 if that is unknown. A write up to there is not waited for: if its object looks different,
    /// another client has changed it. Upstream has no such limit, and can wait for ever (kubernetes#141592). `None` means
    /// that the storage was restored since the cache was listed: versions of two histories have no order, so that the
    /// cache is stale until it has exactly the version written. A [complete list](Self::relist_completed) ends the wait,
    /// too.
    pub fn is_stale(
        &self,
        key: &K,
        observed: Option<u64>,
        cached: impl IntoIterator<Item = (Uid, ObjectVersion)>,
    ) -> bool {
        let Some(objects) = self.objects.get(key) else { return false };
        let cached: HashMap<Uid, ObjectVersion> = cached.into_iter().collect();
        objects.iter().any(|(uid, expectation)| match (expectation.state, cached.get(uid)) {
            (Expected::Deleted, found) => found.is_some(),
            (Expected::Present(written), found) if observed.is_none() => {
                found.is_none_or(|found| found.resource_version != written.resource_version)
            }
            (Expected::Present(written), _) if written.number() <= observed && written.number().is_some() => {
                false
            }
            (Expected::Present(written), Some(found)) => found.is_older_than(written),
            (Expected::Present(_), None) => true,
        })
    }

    /// True if a version of an object that a watch event shows is not this controller's own write: the object is
    /// unknown, newer than written, or back although it was deleted.
    pub fn is_foreign(&self, key: &K, uid: &Uid, shown: ObjectVersion) -> bool {
        match self.expected(key, uid) {
            Some(Expected::Present(written)) => written.may_precede(shown),
            Some(Expected::Deleted) | None => true,
        }
    }

    /// True if the object is expected in exactly this version.
    pub fn expects(&self, key: &K, uid: &Uid, version: ObjectVersion) -> bool {
        self.expected(key, uid) == Some(Expected::Present(version))
    }

    /// True if a write of this object is expected that is later than the version that a watch event shows.
    pub fn expects_later(&self, key: &K, uid: &Uid, shown: ObjectVersion) -> bool {
        matches!(self.expected(key, uid), Some(Expected::Present(written)) if shown.is_older_than(written))
    }

    /// Expects an object in a version of another client, which the controller leaves as it is. Returns false, and does
    /// nothing, unless the object was expected in exactly the version `before` it.
    pub fn accept(&mut self, key: &K, uid: &Uid, before: ObjectVersion, accepted: ObjectVersion) -> bool {
        let known = self.objects.get_mut(key).and_then(|objects| objects.get_mut(uid));
        let Some(known) = known.filter(|known| known.state == Expected::Present(before)) else {
            return false;
        };
        known.state = Expected::Present(accepted);
        true
    }

    /// Takes note that an object has left the cache, and forgets it.
    pub fn removed(&mut self, key: &K, uid: &Uid) -> Removal {
        let Some(objects) = self.objects.get_mut(key) else { return Removal::Expected };
        let expectation = objects.remove(uid);
        if objects.is_empty() {
            self.objects.remove(key);
        }
        match expectation {
            Some(Expectation { state: Expected::Present(_), removable: false, .. }) => Removal::Unexpected,
            _ => Removal::Expected,
        }
    }

    /// Accepts the removal of this key's objects by others, until they are written or observed again: the garbage
    /// collector removes those of a deleted owner.
    pub fn allow_removal(&mut self, key: &K) {
        let objects = self.objects.get_mut(key).into_iter().flat_map(Objects::values_mut);
        objects.for_each(|expectation| expectation.removable = true);
    }

    /// Forgets everything about a key.
    pub fn forget(&mut self, key: &K) {
        self.objects.remove(key);
        self.waiting.remove(key);
    }

    /// A sync of this key found the cache [stale](Self::is_stale).
    pub fn wait(&mut self, key: K) {
        self.waiting.insert(key);
    }

    /// Ends the wait of a key. True if it has waited: the cache may have caught up, and the key is to be requeued.
    pub fn wake(&mut self, key: &K) -> bool {
        self.waiting.remove(key)
    }

    /// A list of all objects is about to be requested. It will show every write acknowledged until now.
    pub fn relist_begins(&mut self) {
        self.lists = self.lists.wrapping_add(1);
    }

    /// The list that began last is complete: expectations from before it are replaced by what it shows. Later ones stay,
    /// because the list need not show them.
    ///
    /// `shown` gives the version of an object in the cache. Cost: one call for each expectation.
    pub fn relist_completed(&mut self, shown: impl Fn(&K, &Uid) -> Option<ObjectVersion>) -> Relisted<K> {
        let mut differing = Vec::new();
        let lists = self.lists;
        for (key, objects) in &mut self.objects {
            let mut difference = None;
            objects.retain(|uid, expectation| {
                if expectation.lists == lists {
                    return true;
                }
                let found = shown(key, uid).map_or(Expected::Deleted, Expected::Present);
                difference = difference.max(expectation.difference(found));
                expectation.state = found;
                found != Expected::Deleted
            });
            differing.extend(difference.map(|difference| (key.clone(), difference)));
        }
        self.objects.retain(|_, objects| !objects.is_empty());
        Relisted { waiting: self.waiting.drain().collect(), differing }
    }

    /// Keys with expectations.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.objects.keys()
    }

    /// Keys whose sync [waits](Self::wait) for the cache.
    pub fn waiting(&self) -> impl Iterator<Item = &K> {
        self.waiting.iter()
    }

    /// True if there is an expectation of this object.
    pub fn contains(&self, key: &K, uid: &Uid) -> bool {
        self.expected(key, uid).is_some()
    }

    /// True if this object is expected to leave the cache.
    pub fn expects_deletion(&self, key: &K, uid: &Uid) -> bool {
        self.expected(key, uid) == Some(Expected::Deleted)
    }

    fn expected(&self, key: &K, uid: &Uid) -> Option<Expected> {
        self.objects.get(key)?.get(uid).map(|expectation| expectation.state)
    }
}

impl Expectation {
    fn difference(&self, found: Expected) -> Option<Difference> {
        match (self.state, found) {
            (expected, found) if expected == found => None,
            (_, Expected::Deleted) => (!self.removable).then_some(Difference::Lost),
            (Expected::Present(expected), Expected::Present(found)) if found.is_older_than(expected) => {
                Some(Difference::Lost)
            }
            _ => Some(Difference::Newer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every Service has an entry: `K` is a namespace and a name, two words each.
    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<Objects<Expectation>>(), 64);
    }
}
