//! Repairs of what another client did to our objects: some at once, then one a minute for each Service.
//!
//! A client that relabels, edits, deletes or re-creates our objects, on purpose or because two controllers were told to
//! manage the same ones, would otherwise cost a write for each of its own. Ten repairs of a Service may follow each
//! other as its changes do; after that there is one a minute, until the Service has been left alone for a while: the
//! allowance grows by one a minute, back to ten. The users of the Service are told once in each such dispute, with the
//! name of the client where the object gives it.
//!
//! Only what a foreign change causes waits. Changes of the Service or its endpoints are published at once, whatever
//! became of the objects meanwhile. (Upstream has no such bound: it answers edits and deletions as fast as they come,
//! one a second at most for slices, and a slice that leaves its view never.)

mod disputes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::recorder::EventType;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use self::disputes::Disputes;
use crate::cache::{Cache, ObjectKey, Writers};
use crate::references::service_reference;
use controller_kit::queue::WorkQueue;
use controller_kit::recorder::Recorder;

/// The client behind a foreign change, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Not known: a deletion leaves no trace in the object, nor does the mere removal of fields.
    Unknown,
    /// What the API server stored differs from what was sent: a mutating admission webhook or policy.
    Admission,
    /// The field manager that wrote the object last.
    Manager(Arc<str>),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "a client that is not known (deletions and removed fields carry no field manager; see the audit log)",
            ),
            Self::Admission => f.write_str("an admission webhook or policy"),
            Self::Manager(manager) => write!(f, "field manager {manager:?}"),
        }
    }
}

/// The foreign changes of one controller's objects, by Service. The keys of its queue are Services.
pub struct Repairs {
    queue: WorkQueue<ObjectKey>,
    /// The field manager of our own writes.
    manager: Arc<str>,
    disputes: Mutex<Disputes>,
}

impl Repairs {
    /// No disputes yet. `manager` is the field manager of the controller's own writes
    /// ([`ApiClient::field_manager`](kube_api::ApiClient::field_manager)), which is never named to users.
    pub fn new(queue: WorkQueue<ObjectKey>, manager: impl Into<Arc<str>>) -> Self {
        Self { queue, manager: manager.into(), disputes: Mutex::default() }
    }

    /// The last of these writers that is not this controller.
    pub fn actor(&self, writers: &Writers) -> Actor {
        writers
            .other_than(&self.manager)
            .map_or(Actor::Unknown, |manager| Actor::Manager(Arc::clone(manager)))
    }

    /// True if these say that this controller alone wrote last.
    pub fn is_own(&self, writers: &Writers) -> bool {
        writers.are_only(&self.manager)
    }

    /// Another client changed an object of this Service: it is synced after `delay`, or when the next repair is allowed.
    pub fn foreign_change(&self, key: ObjectKey, delay: Duration, actor: Actor) {
        let delay = self.disputes.lock().open(&key, actor, delay, Instant::now());
        self.queue.add_after(key, delay);
    }

    /// True if another client has changed an object of this Service since its sync began, and a repair is due later.
    pub fn is_open(&self, key: &ObjectKey) -> bool {
        self.disputes.lock().is_open(key)
    }

    /// The time until what another client does to this Service's objects may be repaired.
    pub fn wait(&self, key: &ObjectKey) -> Duration {
        self.disputes.lock().wait(key, Instant::now())
    }

    /// A sync of this Service begins.
    pub fn begin(&self, key: &ObjectKey) {
        self.disputes.lock().begin(key);
    }

    /// The sync of this Service made a write, or a write of it failed.
    pub fn wrote(&self, key: &ObjectKey) {
        self.disputes.lock().wrote(key, Instant::now());
    }

    /// The sync of this Service has made all its writes. The Service is told, once in a dispute, when the next repair has
    /// to wait; `objects` is the plural of what is contested, such as `EndpointSlices`.
    pub fn settled(&self, key: &ObjectKey, cache: &Cache, recorder: &Recorder, objects: &str) {
        let Some(actor) = self.disputes.lock().settled(key, Instant::now()) else { return };
        warn!(service = %key, %actor, "{objects} of a Service are contested, repairing them once a minute at most");
        if let Some(service) = cache.read(|state| state.services.get(&key.namespace, &key.name).cloned()) {
            let message = format!(
                "{objects} that are managed for this Service keep being changed or deleted by {actor}; until that \
                 ends, they are repaired once a minute at most"
            );
            let reason = format!("{objects}Contested");
            recorder.event(&service_reference(&service), EventType::Warning, &reason, message);
        }
    }

    /// The Service is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.disputes.lock().forget(key);
    }
}
