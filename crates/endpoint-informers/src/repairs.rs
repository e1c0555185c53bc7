//! Repairs of objects that another client changed, and the limit on them.
//!
//! What upstream repairs at once or a second later is repaired as fast here too, each time: objects that are deleted, and
//! slices from which endpoints are gone that receive traffic.
//!
//! Other changes, such as of labels, cost nobody a connection, and upstream repairs them late or never. A client that makes
//! them again and again, on purpose or because two controllers were configured to manage the same objects, would cost a
//! write for each of its own. The first change of each object is free. After that a Service has ten repairs, which may
//! follow each other as fast as the changes, and one more each minute. Each time this limit is reached, the Service gets
//! one event, with the name of the client if the object has it.
//!
//! Only repairs wait. Changes of the Service or its endpoints are published at once, whatever happened to the objects
//! meanwhile.
//!
//! # Foreign writes
//!
//! Each version of our objects that another field manager wrote is a *foreign write*, whatever it changes. They are counted.
//! Deletions are none: the garbage collector and the namespace controller make them. Neither are writes of other processes
//! of this program, nor what a first list shows.

mod author;
mod change;
mod limiter;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::recorder::{EventType, Recorder, object_reference};
use endpointslice::model::{ResourceVersion, Uid};
use kube_api::plain_counter::PlainCounter;
use kube_api::time::Instant;
use parking_lot::Mutex;
use tracing::warn;

pub use self::author::Author;
pub(crate) use self::change::takes_endpoints;
pub use self::change::{Effect, ForeignChange};
use self::limiter::RepairLimiter;
use crate::cache::Cache;
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

    /// Records a version of an object that a watch shows: as a foreign write unless this process, or another one of this
    /// program, wrote it.
    pub fn observe(&self, version: ResourceVersion, managers: &LastManagers) {
        if managers.other_than(&self.manager).is_some() && !self.own.lock().contains(&version) {
            self.foreign_writes.inc();
        }
    }

    /// Requeues a Service because another client changed one of its objects: after `delay`, or later if the limit
    /// requires it.
    pub fn foreign_change(&self, key: ObjectKey, delay: Duration, change: ForeignChange<'_>) {
        let delay = self.limiter.lock().record_change(&key, change, delay, Instant::now());
        self.queue.add_after(key, delay);
    }

    /// Forgets an object of a Service that was deleted, which is not to be repaired.
    pub(crate) fn gone(&self, key: &ObjectKey, object: &Uid) {
        self.limiter.lock().gone(key, object);
    }

    /// The number of objects of a Service that are remembered.
    #[cfg(test)]
    pub(crate) fn known(&self, key: &ObjectKey) -> usize {
        self.limiter.lock().known(key)
    }

    /// The time until a repair of this Service is allowed.
    pub(crate) fn delay(&self, key: &ObjectKey) -> Duration {
        self.limiter.lock().delay(key, Instant::now())
    }

    /// Records that a sync of this Service begins.
    pub fn begin_sync(&self, key: &ObjectKey) {
        self.limiter.lock().begin_sync(key);
    }

    /// Counts a write of the running sync of this Service, whether it succeeded or failed. `created` is the object that it
    /// created, if any, and `stored` the version that it stored.
    pub fn count_write(&self, key: &ObjectKey, created: Option<&Uid>, stored: Option<ResourceVersion>) {
        self.limiter.lock().count_write(key, created, Instant::now());
        let Some(version) = stored else { return };
        let mut own = self.own.lock();
        if own.len() == OWN_VERSIONS {
            own.pop_front();
        }
        own.push_back(version);
    }

    /// Records that the sync of this Service made all its writes. If the next repair has to wait, the Service gets an
    /// event, once until the limit is no longer reached. `objects` is the plural of the kind, such as `EndpointSlices`.
    pub fn sync_succeeded(&self, key: &ObjectKey, cache: &Cache, recorder: &Recorder, objects: &str) {
        let Some(author) = self.limiter.lock().sync_succeeded(key, Instant::now()) else { return };
        let message = format!(
            "{objects} that are managed for this Service keep being changed or deleted by {author}; until that ends, \
             changes that take no endpoint from them are repaired once a minute at most"
        );
        report_contested(key, cache, recorder, objects, &author, message);
    }

    /// Forgets a Service that was deleted, or whose foreign changes no sync follows.
    pub fn forget(&self, key: &ObjectKey) {
        self.limiter.lock().forget(key);
    }
}

/// Logs that this client keeps taking or changing our objects of this Service, and gives the Service an event.
pub(crate) fn report_contested(
    key: &ObjectKey,
    cache: &Cache,
    recorder: &Recorder,
    objects: &str,
    author: &Author,
    message: String,
) {
    warn!(service = %key, %author, "Another client keeps changing {objects} of a Service");
    if let Some(service) = cache.read(|state| state.services.get(&key.namespace, &key.name).cloned()) {
        let object = object_reference("Service", key, Some(&service.uid), service.version.number());
        recorder.event(&object, EventType::Warning, &format!("{objects}Contested"), message);
    }
}
