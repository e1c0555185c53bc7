//! Event handlers: from a change to the Services it affects.
//!
//! Handlers queue keys, and note what a sync cannot read from the cache any more: orphaned Endpoints and the versions of
//! writes, in the tracker, and writes of others, in the repairs.

use std::time::Duration;

use endpoint_informers::cache::{Change, Handler, ListPhase, State};
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::repairs::{Author, Effect, ForeignChange};
use endpoint_informers::resource::Resource as _;
use endpointslice::{Pod, Service};

use crate::controller::EndpointsController;
use crate::metadata::is_ours;
use crate::orphan::Orphan;

/// The delay between a foreign change of Endpoints and the sync it causes, so that a burst causes one sync.
///
/// Upstream ignores such changes; its resync repairs them after 12 to 24 hours.
const FOREIGN_CHANGE_DELAY: Duration = Duration::from_secs(1);

impl Handler for EndpointsController {
    /// Changes that only a relist shows are queued in the same way: they are late already.
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        for key in state.services_affected_by_pod(change) {
            self.queue.add_after(key, self.config.batch_period);
        }
    }

    fn service(&self, change: &Change<Service>, state: &State, _is_initial_list: bool) {
        let key = change.latest().key();
        let mut tracker = self.tracker.lock();
        match change {
            Change::Deleted { last: service, at } => {
                let stored = state.endpoints.get(&key.namespace, &key.name);
                tracker.orphan(&key, Orphan::of(service, *at, stored.map(|stored| &**stored)));
            }
            _ => tracker.adopt(&key),
        }
        drop(tracker);
        self.queue.add(key);
    }

    fn endpoints(&self, change: &Change<CachedEndpoints>, state: &State, is_initial_list: bool) {
        if !matches!(change, Change::Deleted { .. }) {
            let shown = change.latest();
            let is_of_this_program = self.repairs.is_own(&shown.last_managers);
            if !self.queue_if_orphaned(shown, state) && (is_initial_list || is_of_this_program) {
                self.queue_if_without_service(shown, state);
            }
        }
        let key = change.latest().key();
        let count = |earlier: &Change<CachedEndpoints>| self.count_foreign_write(earlier, state);
        if !self.deferred.defer_if_syncing(&key, change, count) {
            self.handle_endpoints(change, state);
        }
    }

    /// Versions that went back need no handling beyond `was_undone`: a write based on an undone object is refused, because
    /// it names the version or because the object exists, and an undone deletion is noticed by what the list shows.
    fn endpoints_listed(&self, phase: ListPhase, state: &State) {
        let mut tracker = self.tracker.lock();
        let due = match phase {
            ListPhase::Begins => return tracker.list_begins(),
            ListPhase::Complete { went_back } => {
                if went_back {
                    tracker.starts_at(0);
                }
                tracker.listed(|key| {
                    state.endpoints.get(&key.namespace, &key.name).map(|endpoints| endpoints.version)
                })
            }
        };
        drop(tracker);
        for key in due {
            self.queue.add(key);
        }
    }
}

impl EndpointsController {
    /// Queues Endpoints that existed when their Service was deleted and that the cache shows only now: since the deletion, or
    /// since the start, at which all Endpoints without a Service are deleted. Returns true if they may be such.
    fn queue_if_orphaned(&self, shown: &CachedEndpoints, state: &State) -> bool {
        if state.services.get(&shown.namespace, &shown.name).is_some() {
            return false;
        }
        let key = shown.key();
        let mut tracker = self.tracker.lock();
        let existed_at_the_start = tracker.existed_at_the_start(shown.version)
            && state.endpoints.comparable().is_some()
            && !shown.elects_a_leader
            && !tracker.is_deleted(&key, &shown.uid);
        let is_orphaned = tracker.shown(shown);
        if !is_orphaned && existed_at_the_start {
            tracker.orphan(&key, Orphan { uid: Some(shown.uid.clone()), ..Orphan::default() });
        }
        if is_orphaned || existed_at_the_start {
            self.queue.add(key);
        }
        is_orphaned || existed_at_the_start
    }

    /// Queues Endpoints of ours that have no Service: a restored backup has brought them back, or a leader that did not yet
    /// know that it was replaced has created them for a Service that it did not yet know to be deleted. Upstream deletes
    /// them at its next start.
    fn queue_if_without_service(&self, shown: &CachedEndpoints, state: &State) {
        if state.services.get(&shown.namespace, &shown.name).is_some()
            || !is_ours(shown)
            || shown.elects_a_leader
        {
            return;
        }
        let key = shown.key();
        let mut tracker = self.tracker.lock();
        if !tracker.is_deleted(&key, &shown.uid) {
            tracker.orphan(&key, Orphan { uid: Some(shown.uid.clone()), listed: true, ..Orphan::default() });
            self.queue.add(key);
        }
    }

    fn count_foreign_write(&self, change: &Change<CachedEndpoints>, state: &State) {
        if is_write_of_served(change, state) {
            let object = change.latest();
            self.repairs.observe(object.version, &object.last_managers);
        }
    }

    /// Handles a change of Endpoints. Changes during a sync of their key are handled when it ends: before that it is not
    /// known which versions are our own writes.
    pub(crate) fn handle_endpoints(&self, change: &Change<CachedEndpoints>, state: &State) {
        self.count_foreign_write(change, state);
        let object = change.latest();
        let key = object.key();
        let deleted = matches!(change, Change::Deleted { .. });
        let (awaited, foreign) = {
            let mut tracker = self.tracker.lock();
            if deleted {
                tracker.gone(&key, object.version);
            }
            let foreign = deleted || was_undone(change) || tracker.is_foreign(&key, object.version);
            (tracker.wake(&key), foreign)
        };
        // Other Endpoints belong to their users, who may store any data in them.
        let ours =
            state.services.get(&key.namespace, &key.name).is_some_and(|service| service.selects_pods());
        if ours && foreign {
            // Upstream repairs deletions at once, and other changes at its resync.
            let (author, effect) = if deleted {
                (Author::Unknown, Effect::Deletion)
            } else {
                (self.repairs.author(&object.last_managers), Effect::Other)
            };
            let change = ForeignChange { object: &object.uid, author, effect };
            let delay = if deleted || awaited { Duration::ZERO } else { FOREIGN_CHANGE_DELAY };
            self.repairs.foreign_change(key, delay, change);
        } else if awaited || deleted {
            self.queue.add(key);
        }
    }
}

/// True if Endpoints of a Service that we serve were created or updated.
fn is_write_of_served(change: &Change<CachedEndpoints>, state: &State) -> bool {
    let object = change.latest();
    let service = state.services.get(&object.namespace, &object.name);
    !matches!(change, Change::Deleted { .. })
        && !was_undone(change)
        && service.is_some_and(|service| service.selects_pods())
}

/// True if a list shows an older version than the cache did: a restored backup has undone a write, which may be one of ours
/// whose answer was lost.
fn was_undone(change: &Change<CachedEndpoints>) -> bool {
    let Change::Updated { old, new } = change else { return false };
    new.version.number() < old.version.number()
}
