//! Events about the topology hints of a Service.

use std::fmt;

use super::outcome::NoHints;
use crate::model::AddressType;

/// A change of a Service's topology hints, to be emitted as a Kubernetes Event of the Service.
///
/// [`Display`](fmt::Display) gives the message of the Event (`topologycache/event.go`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyEvent {
    /// Hints were assigned for the first time.
    Enabled(AddressType),
    /// Hints are requested and impossible.
    Disabled(AddressType, NoHints),
    /// The Service no longer requests hints.
    TurnedOff(AddressType),
}

impl TopologyEvent {
    /// True if the Event has type `Warning`, false if it has type `Normal`.
    pub const fn is_warning(&self) -> bool {
        !matches!(self, Self::Enabled(_))
    }

    /// The Event's reason, in the form that machines read.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Enabled(_) => "TopologyAwareHintsEnabled",
            Self::Disabled(..) | Self::TurnedOff(_) => "TopologyAwareHintsDisabled",
        }
    }
}

impl fmt::Display for TopologyEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enabled(address_type) => {
                write!(f, "Topology Aware Hints has been enabled, addressType: {address_type}")
            }
            Self::Disabled(address_type, no_hints) => write!(f, "{no_hints}, addressType: {address_type}"),
            Self::TurnedOff(address_type) => {
                write!(f, "Topology Aware Hints has been disabled, addressType: {address_type}")
            }
        }
    }
}
