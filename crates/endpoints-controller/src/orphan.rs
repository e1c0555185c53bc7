//! The Endpoints of a deleted Service: which object is deleted with it.
//!
//! Until Kubernetes 1.36 the API server did this in the request that deleted the Service: it deleted the object that was
//! stored under the name, whichever client had written it (`pkg/registry/core/service/storage/storage.go` `afterDelete`).
//! Since 1.37 only the Endpoints controller does. Upstream's deletes by name, whenever it gets to it
//! (`endpoints_controller.go` `syncService`). This one deletes the object that was stored at the resourceVersion of the
//! deletion, whatever the caches showed then, and none that was created later.

use std::time::Duration;

use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::Service;
use endpointslice::model::{ResourceVersion, Uid};
use kube_api::time::Instant;

/// The time for which the cache may be older than the deletion of a Service before the API server is asked: half of the 15 s
/// within which the Endpoints must be deleted.
pub(crate) const PATIENCE: Duration = Duration::from_millis(7500);

/// The Endpoints of a Service that was deleted, or that does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orphan {
    /// The uid of the object to delete, as far as the cache has shown it.
    pub(crate) uid: Option<Uid>,
    /// True if the last known Service had a selector.
    pub(crate) selected: bool,
    /// True if the cache of Services may be behind what has shown the Endpoints, such as a list of them.
    pub(crate) listed: bool,
    /// The deletion of the Service; `None` if it was not seen.
    pub(crate) deletion: Option<Deletion>,
}

/// The deletion of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// Its resourceVersion, or that of the list that did not show the Service any more. `None` if it has no order.
    pub(crate) version: Option<u64>,
    /// The time at which the cache showed it.
    pub(crate) seen: Instant,
}

/// The action for the Endpoints of a deleted Service, as the cache shows them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// None is to be deleted, and none will be.
    Leave,
    /// None is to be deleted that the cache shows; look again after this time.
    Wait(Duration),
    /// The object that the cache shows is to be deleted.
    Delete,
    /// Only the API server can tell.
    Ask,
}

impl Deletion {
    /// The rest of the time for which the cache may be older.
    pub(crate) fn rest(self, now: Instant) -> Duration {
        PATIENCE.saturating_sub(now.saturating_duration_since(self.seen))
    }

    /// True if an object of this version existed when the Service was deleted. One of a later version may have existed.
    fn follows(self, version: ResourceVersion) -> bool {
        self.version.zip(version.number()).is_none_or(|(deleted, version)| version <= deleted)
    }
}

impl Orphan {
    /// The Endpoints of a Service whose deletion the cache shows; `stored` are the Endpoints that it shows.
    pub(crate) fn of(service: &Service, version: Option<u64>, stored: Option<&CachedEndpoints>) -> Self {
        let deletion = Deletion { version, seen: Instant::now() };
        let existing = stored.filter(|stored| deletion.follows(stored.version));
        Self {
            uid: existing.map(|existing| existing.uid.clone()),
            selected: service.selector.is_some(),
            listed: false,
            deletion: Some(deletion),
        }
    }

    /// Records Endpoints that the cache shows after the deletion of their Service.
    pub(crate) fn shown(&mut self, shown: &CachedEndpoints) {
        if self.deletion.is_some_and(|deletion| deletion.version.is_some() && deletion.follows(shown.version))
        {
            self.uid = Some(shown.uid.clone());
        }
    }

    /// Decides about the Endpoints `stored`, which the cache shows; `is_created_here` if this process created them.
    /// `observed` is the resourceVersion up to which the cache shows every change of Endpoints; `None` if that has no order, or
    /// the cache lacks a write of this process.
    pub(crate) fn verdict(
        &self,
        stored: Option<(&Uid, ResourceVersion)>,
        is_created_here: bool,
        observed: Option<u64>,
        now: Instant,
    ) -> Verdict {
        let is_known = |uid: &Uid| is_created_here || self.uid.as_ref().is_some_and(|orphan| orphan == uid);
        let Some(deletion) = self.deletion else {
            return if stored.is_some_and(|(uid, _)| is_known(uid)) {
                Verdict::Delete
            } else {
                Verdict::Leave
            };
        };
        let is_passed = deletion.version.zip(observed).is_some_and(|(deleted, observed)| deleted <= observed);
        let rest = deletion.rest(now);
        match stored {
            _ if !is_passed && rest.is_zero() => Verdict::Ask,
            Some((uid, _)) if is_known(uid) => Verdict::Delete,
            Some((_, version)) if observed.is_some() && deletion.follows(version) => Verdict::Delete,
            Some(_) => Verdict::Ask,
            None if is_passed => Verdict::Leave,
            None => Verdict::Wait(rest),
        }
    }
}

#[cfg(test)]
mod tests;
