//! Expectations of our writes, and the Endpoints of deleted Services.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::resource::Resource as _;
use endpointslice::model::{ResourceVersion, Uid};
use kube_api::time::Instant;

use crate::orphan::{Orphan, Verdict};

/// The time for which a create without a response is expected to appear in the cache: longer than any request, and
/// than most gaps of a watch.
pub(crate) const LATE: Duration = Duration::from_secs(600);

/// The last version of each object that this process wrote, and the keys that wait for the cache.
///
/// A sync on a stale cache would undo or repeat our own write (`endpoints_tracker.go`; upstream compares with the version
/// *before* an update and doesn't track creates, and emits a Warning for each repeated create).
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    written: HashMap<ObjectKey, Write>,
    /// The number of lists that have begun.
    lists: u64,
    waiting: HashSet<ObjectKey>,
    /// Keys whose Service was deleted, or missing at start-up, and whose Endpoints may still be to delete.
    orphaned: HashMap<ObjectKey, Orphan>,
    /// Deletions whose event has not come, which the restore of a backup may undo.
    deleted: HashMap<ObjectKey, Deletion>,
    /// Failed creates that may have been stored: the object may still appear.
    unanswered: HashMap<ObjectKey, Unanswered>,
    /// The resourceVersion of the Services with which the controller started.
    started_at: u64,
}

#[derive(Debug)]
struct Unanswered {
    /// The number of lists that had begun when the create failed.
    lists: u64,
    /// The time at which the Service was first found deleted.
    gone_since: Option<Instant>,
}

#[derive(Debug)]
struct Write {
    uid: Uid,
    version: ResourceVersion,
    /// True if this process created the object.
    created: bool,
    /// The number of lists that had begun when it was acknowledged.
    lists: u64,
}

#[derive(Debug)]
struct Deletion {
    uid: Uid,
    /// The number of lists that had begun when it was acknowledged.
    lists: u64,
}

impl Tracker {
    /// The keys of every table but that of lost creates, which forgets them after [`LATE`].
    pub(crate) fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        let written = self.written.keys().map(|key| ("written", key.clone()));
        let waiting = self.waiting.iter().map(|key| ("waiting", key.clone()));
        let orphaned = self.orphaned.keys().map(|key| ("orphaned", key.clone()));
        written.chain(waiting).chain(orphaned).collect()
    }

    /// Records a write: the API server stored the object in this version.
    pub(crate) fn wrote(&mut self, key: &ObjectKey, uid: Uid, version: ResourceVersion, created: bool) {
        let created = created || self.created(key) == Some(&uid);
        self.written.insert(key.clone(), Write { uid, version, created, lists: self.lists });
    }

    /// The uid of the object of this key that this process wrote last, if it created it.
    pub(crate) fn created(&self, key: &ObjectKey) -> Option<&Uid> {
        self.written.get(key).filter(|written| written.created).map(|written| &written.uid)
    }

    /// True if this process wrote this version of the object. Times of field managers are seconds, in which another client may
    /// have written, too.
    pub(crate) fn is_written(&self, key: &ObjectKey, version: ResourceVersion) -> bool {
        self.written.get(key).is_some_and(|written| written.version == version)
    }

    /// Records a failed create that may have been stored.
    pub(crate) fn unanswered(&mut self, key: &ObjectKey) {
        self.unanswered.insert(key.clone(), Unanswered { lists: self.lists, gone_since: None });
    }

    /// Records that the object is in sync.
    pub(crate) fn synced(&mut self, key: &ObjectKey) {
        self.unanswered.remove(key);
    }

    /// Records that the object of this uid was deleted with its Service.
    pub(crate) fn deleted(&mut self, key: &ObjectKey, uid: Uid) {
        self.deleted.insert(key.clone(), Deletion { uid, lists: self.lists });
    }

    /// True if the object of this uid was deleted with its Service, and its event has not come.
    pub(crate) fn is_deleted(&self, key: &ObjectKey, uid: &Uid) -> bool {
        self.deleted.get(key).is_some_and(|deletion| deletion.uid == *uid)
    }

    /// True if an object of this key may come from a create whose response was lost.
    pub(crate) fn may_be_late(&self, key: &ObjectKey) -> bool {
        self.unanswered.contains_key(key)
    }

    /// True if the cache shows an older object than we wrote, or none, and no deletion of it.
    ///
    /// `observed` is the resourceVersion up to which everything that happened is in the cache; `None` if the storage was
    /// restored since the cache was listed, so that nothing but the version written will do. Versions that aren't
    /// numbers can't be ordered; then the API server decides, by a conflict.
    pub(crate) fn is_behind(
        &self,
        key: &ObjectKey,
        cached: Option<ResourceVersion>,
        observed: Option<u64>,
    ) -> bool {
        let Some(observed) = observed else {
            return self.written.get(key).is_some_and(|written| cached != Some(written.version));
        };
        let shown = cached.and_then(ResourceVersion::number).unwrap_or_default().max(observed);
        let written = self.written.get(key).and_then(|written| written.version.number());
        written.is_some_and(|written| shown < written)
    }

    /// Records a deletion; `last` is the last version that the cache showed. If it was as new as our write, nothing more is
    /// expected.
    pub(crate) fn gone(&mut self, key: &ObjectKey, last: ResourceVersion) {
        self.deleted.remove(key);
        if !self.is_behind(key, Some(last), Some(0)) {
            self.written.remove(key);
        }
    }

    /// True if this version is newer than our last write.
    pub(crate) fn is_foreign(&self, key: &ObjectKey, version: ResourceVersion) -> bool {
        self.written.get(key).is_none_or(|written| match (written.version.number(), version.number()) {
            (Some(written), Some(version)) => written < version,
            _ => written.version != version,
        })
    }

    /// Waits for the next event of the object.
    pub(crate) fn wait(&mut self, key: &ObjectKey) {
        self.waiting.insert(key.clone());
    }

    /// Records an event of the object. Returns true if the key waited for it.
    pub(crate) fn wake(&mut self, key: &ObjectKey) -> bool {
        self.waiting.remove(key)
    }

    /// Records that a list begins. It will show all writes until now.
    pub(crate) fn list_begins(&mut self) {
        self.lists += 1;
    }

    /// Records that the last list is complete, which ends the expectations of earlier writes. Returns the keys that waited,
    /// those whose object is missing or older than it was written, for which no event may come, and those whose object was
    /// deleted and is there, in order. A newer object is another client's, and had its event.
    pub(crate) fn listed(&mut self, shown: impl Fn(&ObjectKey) -> Option<ResourceVersion>) -> Vec<ObjectKey> {
        let mut due: Vec<ObjectKey> = self.waiting.drain().collect();
        self.unanswered.retain(|_, create| create.lists == self.lists);
        let orphaned = &mut self.orphaned;
        self.deleted.retain(|key, deletion| {
            if deletion.lists == self.lists {
                return true;
            }
            if shown(key).is_some() {
                let uid = Some(deletion.uid.clone());
                orphaned.insert(key.clone(), Orphan { uid, listed: true, ..Orphan::default() });
                due.push(key.clone());
            }
            false
        });
        self.written.retain(|key, written| {
            if written.lists == self.lists {
                return true;
            }
            let shown = shown(key);
            if shown.is_none_or(|shown| shown.number() < written.version.number()) {
                due.push(key.clone());
            }
            shown == Some(written.version)
        });
        due.sort();
        due.dedup();
        due
    }

    /// Records a deleted Service, whose Endpoints are deleted too, whichever client wrote them.
    pub(crate) fn orphan(&mut self, key: &ObjectKey, orphan: Orphan) {
        self.orphaned.insert(key.clone(), orphan);
    }

    /// Records an [orphan](Self::orphan_of) again, because the deletion failed or the Service still exists, unless other Endpoints
    /// of the name were recorded meanwhile: then these are the ones that exist.
    pub(crate) fn put_back(&mut self, key: &ObjectKey, orphan: Orphan) {
        self.orphaned.entry(key.clone()).or_insert(orphan);
    }

    /// Records Endpoints that the cache shows although their Service is deleted. Returns true if the deletion of the Service
    /// was seen, and these may be to delete with it.
    pub(crate) fn shown(&mut self, shown: &CachedEndpoints) -> bool {
        let orphan = self.orphaned.get_mut(&shown.key()).filter(|orphan| orphan.deletion.is_some());
        orphan.is_some_and(|orphan| {
            orphan.shown(shown);
            true
        })
    }

    /// The time after which the API server is asked about the Endpoints of a deleted Service.
    pub(crate) fn patience(&self, key: &ObjectKey, now: Instant) -> Option<Duration> {
        let rest = self.orphaned.get(key)?.deletion?.rest(now);
        (!rest.is_zero()).then_some(rest)
    }

    /// Records the resourceVersion of the Services with which the controller starts.
    pub(crate) fn starts_at(&mut self, observed: u64) {
        self.started_at = observed;
    }

    /// True if Endpoints of this version existed when the controller started, although the cache had not shown them yet.
    pub(crate) fn existed_at_the_start(&self, version: ResourceVersion) -> bool {
        version.number().is_some_and(|version| version <= self.started_at)
    }

    /// Forgets the record of a deleted Service: it exists again, or a sync has read the record.
    pub(crate) fn adopt(&mut self, key: &ObjectKey) {
        self.orphaned.remove(key);
    }

    /// The record of a deleted Service, and what the cache, which shows the Endpoints `stored`, says about it.
    pub(crate) fn orphan_of(
        &self,
        key: &ObjectKey,
        stored: Option<(&Uid, ResourceVersion)>,
        observed: Option<u64>,
        now: Instant,
    ) -> Option<(&Orphan, Verdict)> {
        let orphan = self.orphaned.get(key)?;
        let created = stored.is_some_and(|(uid, _)| self.created(key) == Some(uid));
        Some((orphan, orphan.verdict(stored, created, observed, now)))
    }

    /// Forgets a deleted Service and the wait for its event. A create that may have been stored is remembered for [`LATE`], in
    /// which its event still queues the key. Returns the rest of that time, after which the key is to be synced again.
    #[must_use]
    pub(crate) fn forget(&mut self, key: &ObjectKey, now: Instant) -> Option<Duration> {
        self.written.remove(key);
        if let Some(create) = self.unanswered.get_mut(key) {
            let since = *create.gone_since.get_or_insert(now);
            let rest = LATE.saturating_sub(now.saturating_duration_since(since));
            if !rest.is_zero() {
                return Some(rest);
            }
        }
        self.unanswered.remove(key);
        self.waiting.remove(key);
        None
    }
}

#[cfg(test)]
mod tests;
