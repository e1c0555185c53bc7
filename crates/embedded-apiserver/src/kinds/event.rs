//! Events: `pkg/registry/core/event`. Both groups show one storage.

use super::strategy::Strategy;

/// The rules of Events.
pub(super) struct Event {
    /// Whether the request came by `events.k8s.io`, whose rules are stricter.
    pub(super) strict: bool,
}

impl Strategy for Event {}
