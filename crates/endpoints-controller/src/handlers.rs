//! Which change concerns which Service.
//!
//! Handlers only name keys: what changed doesn't outlive them, because a sync looks at everything again.

use std::time::Duration;

use endpoint_informers::cache::{Change, Handler, ListPhase, State};
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::repairs::Author;
use endpoint_informers::resource::Resource as _;
use endpointslice::{Pod, Service};

use crate::controller::EndpointsController;
use crate::sync::is_served;
use crate::tracker::Orphan;

/// The delay between another client's change of an object and the sync it causes, so that a burst of them is met once.
///
/// Upstream doesn't react to such changes; there, the next resync repairs them, every 12 to 24 hours.
const FOREIGN_CHANGE_DELAY: Duration = Duration::from_secs(1);

impl Handler for EndpointsController {
    /// Also what only a new list shows is a change: it came while the watch was broken, and is late already.
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        for key in state.services_affected_by_pod(change) {
            self.queue.add_after(key, self.config.batch_period);
        }
    }

    fn service(&self, change: &Change<Service>, state: &State, _is_initial_list: bool) {
        let key = change.latest().key();
        let mut tracker = self.tracker.lock();
        match change {
            Change::Deleted(service) => {
                let stored = state.endpoints.get(&key.namespace, &key.name);
                let uid = stored.map(|stored| stored.uid.clone());
                tracker.orphan(&key, Orphan { uid, selected: service.selector.is_some() });
            }
            _ => tracker.adopt(&key),
        }
        drop(tracker);
        self.queue.add(key);
    }

    fn endpoints(&self, change: &Change<CachedEndpoints>, state: &State, _is_initial_list: bool) {
        if !self.deferred.defer_if_syncing(&change.latest().key(), change) {
            self.handle(change, state);
        }
    }

    /// If versions went back, nothing more is to be done: a write based on an object that the cache took for seen is
    /// refused, because it names the version, or the object exists.
    fn endpoints_listed(&self, phase: ListPhase, state: &State) {
        let mut tracker = self.tracker.lock();
        let due = match phase {
            ListPhase::Begins => return tracker.list_begins(),
            ListPhase::Complete { .. } => tracker.listed(|key| {
                state.endpoints.get(&key.namespace, &key.name).map(|endpoints| endpoints.version)
            }),
        };
        drop(tracker);
        for key in due {
            self.queue.add(key);
        }
    }
}

impl EndpointsController {
    /// Handles a change of an object, at the latest when the sync of its key ends.
    pub(crate) fn handle(&self, change: &Change<CachedEndpoints>, state: &State) {
        let object = change.latest();
        let key = object.key();
        let deleted = matches!(change, Change::Deleted(_));
        let (awaited, foreign) = {
            let mut tracker = self.tracker.lock();
            if deleted {
                tracker.gone(&key, object.version);
            }
            (tracker.wake(&key), deleted || tracker.is_foreign(&key, object.version))
        };
        // Otherwise the object is its users': other programs keep things in Endpoints.
        let ours = state.services.get(&key.namespace, &key.name).is_some_and(|service| is_served(service));
        if ours && foreign {
            let author = if deleted { Author::Unknown } else { self.repairs.author(&object.last_managers) };
            let delay = if deleted || awaited { Duration::ZERO } else { FOREIGN_CHANGE_DELAY };
            self.repairs.foreign_change(key, delay, author);
        } else if awaited || deleted {
            self.queue.add(key);
        }
    }
}
