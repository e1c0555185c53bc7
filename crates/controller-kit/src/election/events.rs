//! Events about the Lease.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use parking_lot::Mutex;

use crate::recorder::{EventType, Recorder};

/// Records events about the Lease of an [`Elector`](super::Elector). Clones record about the same Lease.
#[derive(Clone, Debug)]
pub struct LeaseEvents {
    recorder: Recorder,
    lease: Arc<Mutex<ObjectReference>>,
}

impl LeaseEvents {
    pub(super) fn new(recorder: Recorder, lease: ObjectReference) -> Self {
        Self { recorder, lease: Arc::new(Mutex::new(lease)) }
    }

    /// Later events refer to the Lease in this version.
    pub(super) fn refer_to(&self, lease: ObjectReference) {
        *self.lease.lock() = lease;
    }

    /// Records an event about the Lease as it was when it was acquired ([`Recorder::event`]).
    pub fn event(&self, event_type: EventType, reason: &str, message: impl Into<String>) {
        let lease = self.lease.lock().clone();
        self.recorder.event(&lease, event_type, reason, message);
    }
}
