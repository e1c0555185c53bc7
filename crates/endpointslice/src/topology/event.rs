//! What a Service's owner should hear of.

use std::fmt;

use crate::address::AddressType;

/// Something to tell the user about a Service, by a Kubernetes Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyEvent {
    /// Whether it is news or a warning.
    pub event_type: EventType,
    /// The reason, in the form that machines read.
    pub reason: &'static str,
    /// What happened.
    pub message: String,
}

/// `type` of a Kubernetes Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// As it should be.
    Normal,
    /// Something may need attention.
    Warning,
}

impl EventType {
    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TopologyEvent {
    /// Hints are there that weren't.
    pub(super) fn enabled(address_type: AddressType) -> Self {
        Self {
            event_type: EventType::Normal,
            reason: "TopologyAwareHintsEnabled",
            message: format!("Topology Aware Hints has been enabled, addressType: {address_type}"),
        }
    }

    /// Hints are wanted and not there, or no longer wanted: `why` says which.
    pub(super) fn disabled(why: &dyn fmt::Display, address_type: AddressType) -> Self {
        Self {
            event_type: EventType::Warning,
            reason: "TopologyAwareHintsDisabled",
            message: format!("{why}, addressType: {address_type}"),
        }
    }

    /// The Service no longer asks for hints.
    pub(super) fn turned_off(address_type: AddressType) -> Self {
        Self::disabled(&"Topology Aware Hints has been disabled", address_type)
    }
}
