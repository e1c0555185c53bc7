//! Which change concerns which Service.
//!
//! Handlers only name keys: what changed doesn't outlive them, because a sync looks at everything again.

use std::time::Duration;

use controller_runtime::cache::{CachedEndpoints, Change, Handler, ListPhase, ObjectKey, State};
use controller_runtime::queue::Lane;
use endpointslice::{Pod, Service};

use crate::controller::EndpointsController;

/// How long an object that somebody else changed stays as it is, unless its Service or a pod changes before.
///
/// Upstream doesn't react to such changes either; there, the next resync repairs them, every 12 to 24 hours.
const FOREIGN_CHANGE_DELAY: Duration = Duration::from_secs(12 * 60 * 60);

impl Handler for EndpointsController {
    /// Also what only a new list shows is a change: it came while the watch was broken, and is late already.
    fn pod(&self, change: &Change<Pod>, state: &State, _lane: Lane) {
        for key in state.services_concerned_by(change) {
            self.queue.add_after(key, self.config.batch_period);
        }
    }

    fn service(&self, change: &Change<Service>, _state: &State, _lane: Lane) {
        let key = ObjectKey::from(&**change.latest());
        let mut tracker = self.tracker.lock();
        match change {
            Change::Deleted(_) => tracker.orphan(&key),
            _ => tracker.adopt(&key),
        }
        drop(tracker);
        self.queue.add(key);
    }

    fn endpoints(&self, change: &Change<CachedEndpoints>, state: &State, _lane: Lane) {
        if !self.echoes.keep(&ObjectKey::from(&**change.latest()), change) {
            self.judge(change, state);
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
    /// Takes in a change of an object, at the latest when its key is no longer under sync.
    pub(crate) fn judge(&self, change: &Change<CachedEndpoints>, state: &State) {
        let object = change.latest();
        let key = ObjectKey::from(&**object);
        let deleted = matches!(change, Change::Deleted(_));
        let (awaited, echo) = {
            let mut tracker = self.tracker.lock();
            if deleted {
                tracker.gone(&key, object.version);
            }
            (tracker.wake(&key), tracker.is_echo(&key, object.version))
        };
        if awaited || deleted {
            self.queue.add(key);
        } else if !echo && state.services.get(&key.namespace, &key.name).is_some() {
            // Without a Service, the object is nobody's business: other programs keep things in Endpoints.
            self.queue.add_after(key, FOREIGN_CHANGE_DELAY);
        }
    }
}
