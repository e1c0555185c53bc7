//! Repairs of objects that another client changed: ten at once for each Service, then one a minute.
//!
//! A client that relabels, edits, deletes or re-creates our objects, on purpose or because two controllers were
//! configured to manage the same ones, would otherwise cost a write for each of its own. Ten repairs of a Service may
//! follow each other as fast as its changes. After that there is one a minute, until no other client has interfered for
//! a while: the allowance grows by one a minute, back to ten. Each time this limit is reached, the Service gets one
//! event, with the name of the client if the object has it.
//!
//! Only repairs wait. Changes of the Service or its endpoints are published at once, whatever happened to the objects
//! meanwhile. (Upstream has no such limit: it repairs edits and deletions as fast as they come, at most one a second
//! for slices, and never repairs a slice that loses its labels.)
//!
//! # Foreign writes
//!
//! Each version of our objects that another field manager wrote is a *foreign write*, whatever it changes. They are counted.
//! Deletions are none: the garbage collector and the namespace controller make them. Neither are writes of other processes
//! of this program, nor what a first list shows.

mod author;
mod limiter;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::recorder::{EventType, Recorder};
use endpointslice::model::ResourceVersion;
use kube_api::plain_counter::PlainCounter;
use kube_api::time::Instant;
use parking_lot::Mutex;
use tracing::warn;

pub use self::author::Author;
use self::limiter::RepairLimiter;
use crate::cache::Cache;
use crate::events::service_reference;
use crate::kinds::LastManagers;

/// The number of our last writes whose versions are known. Their events come within seconds. Versions matter only for
/// objects that we and another client wrote within one second, because `managedFields` have no finer times.
const OWN_VERSIONS: usize = 256;

/// The foreign changes of one controller's objects, by Service. The keys of its queue are Services.
pub struct Repairs {
    queue: WorkQueue<ObjectKey>,
    /// The field manager of our own writes.
    manager: Arc<str>,
    limiter: Mutex<RepairLimiter>,
    /// The versions of our last writes.
    own: Mutex<VecDeque<ResourceVersion>>,
    foreign_writes: PlainCounter,
}

impl Repairs {
    /// Repairs of the Services in `queue`. `manager` is the field manager of the controller's own writes
    /// ([`ApiClient::field_manager`](kube_api::ApiClient::field_manager)), which is never reported as the author of a
    /// foreign change.
    pub fn new(queue: WorkQueue<ObjectKey>, manager: impl Into<Arc<str>>) -> Self {
        let (manager, limiter, own) = (manager.into(), Mutex::default(), Mutex::default());
        Self { queue, manager, limiter, own, foreign_writes: PlainCounter::default() }
    }

    /// The last of these managers that is not this controller.
    pub fn author(&self, managers: &LastManagers) -> Author {
        managers
            .other_than(&self.manager)
            .map_or(Author::Unknown, |manager| Author::Manager(Arc::clone(manager)))
    }

    /// True if these managers show that this controller alone wrote last.
    pub fn is_own(&self, managers: &LastManagers) -> bool {
        managers.are_only(&self.manager)
    }

    /// The number of foreign writes.
    pub fn foreign_writes(&self) -> PlainCounter {
        self.foreign_writes.clone()
    }

    /// Records the version of a write of this process.
    pub fn wrote(&self, version: ResourceVersion) {
        let mut own = self.own.lock();
        if own.len() == OWN_VERSIONS {
            own.pop_front();
        }
        own.push_back(version);
    }

    /// Records a version of an object that a watch shows: as a foreign write unless this process, or another one of this
    /// program, wrote it.
    pub fn observe(&self, version: ResourceVersion, managers: &LastManagers) {
        if managers.other_than(&self.manager).is_some() && !self.own.lock().contains(&version) {
            self.foreign_writes.inc();
        }
    }

    /// Requeues a Service because another client changed one of its objects: after `delay`, or later if the limit
    /// requires it.
    pub fn foreign_change(&self, key: ObjectKey, delay: Duration, author: Author) {
        let delay = self.limiter.lock().record_change(&key, author, delay, Instant::now());
        self.queue.add_after(key, delay);
    }

    /// True if another client has changed an object of this Service since its last sync began.
    pub fn has_new_change(&self, key: &ObjectKey) -> bool {
        self.limiter.lock().has_new_change(key)
    }

    /// The time until a repair of this Service is allowed.
    pub fn delay(&self, key: &ObjectKey) -> Duration {
        self.limiter.lock().delay(key, Instant::now())
    }

    /// Records that a sync of this Service begins.
    pub fn begin_sync(&self, key: &ObjectKey) {
        self.limiter.lock().begin_sync(key);
    }

    /// Counts a write of the running sync of this Service, whether it succeeded or failed.
    pub fn count_write(&self, key: &ObjectKey) {
        self.limiter.lock().count_write(key, Instant::now());
    }

    /// Records that the sync of this Service made all its writes. If the next repair has to wait, the Service gets an
    /// event, once until the limit is no longer reached. `objects` is the plural of the kind, such as `EndpointSlices`.
    pub fn sync_succeeded(&self, key: &ObjectKey, cache: &Cache, recorder: &Recorder, objects: &str) {
        let Some(author) = self.limiter.lock().sync_succeeded(key, Instant::now()) else { return };
        warn!(service = %key, %author, "Another client keeps changing {objects} of a Service, repairing them once a minute at most");
        if let Some(service) = cache.read(|state| state.services.get(&key.namespace, &key.name).cloned()) {
            let message = format!(
                "{objects} that are managed for this Service keep being changed or deleted by {author}; until that \
                 ends, they are repaired once a minute at most"
            );
            let reason = format!("{objects}Contested");
            recorder.event(&service_reference(&service), EventType::Warning, &reason, message);
        }
    }

    /// Forgets a Service that was deleted, or whose foreign changes no sync follows.
    pub fn forget(&self, key: &ObjectKey) {
        self.limiter.lock().forget(key);
    }
}
