//! The outcome of the assignment of hints.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The number of endpoints for each zone; zones without any are left out.
pub type ZoneCounts = BTreeMap<Arc<str>, usize>;

/// The number of endpoints assigned to each zone, or the reason for no hints.
pub type TopologyOutcome = Result<ZoneCounts, NoHints>;

/// Topology hints are impossible, and present ones are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoHints {
    /// Ready endpoints of the Service and address type.
    pub endpoints: usize,
    /// The reason.
    pub reason: NoHintsReason,
}

/// The reason for no topology hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHintsReason {
    /// A node lacks its zone or its CPU, or the nodes that count are all in one zone, or no node counts.
    InsufficientNodes,
    /// No nodes are known yet.
    ///
    /// The message is upstream's, which uses it in this case only. A controller that loads nodes before its first sync
    /// never emits it.
    UnknownNodes,
    /// There are more zones than endpoints.
    TooFewEndpoints {
        /// Zones with capacity.
        zones: usize,
    },
    /// Every division into whole endpoints overloads those of a zone.
    Overload {
        /// Zones with capacity.
        zones: usize,
    },
    /// The zone of an endpoint is unknown.
    EndpointWithoutZone,
}

impl NoHints {
    /// True if other nodes could make hints possible.
    pub fn is_for_lack_of_capacity(&self) -> bool {
        self.reason != NoHintsReason::EndpointWithoutZone
    }
}

impl fmt::Display for NoHints {
    /// The text of upstream's event, up to the address type (`topologycache/event.go`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = self.endpoints;
        match self.reason {
            NoHintsReason::InsufficientNodes => f.write_str(
                "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
            ),
            NoHintsReason::UnknownNodes => f.write_str("Nodes only ready in one zone"),
            NoHintsReason::TooFewEndpoints { zones } => {
                write!(f, "Insufficient number of endpoints ({endpoints} endpoints, {zones} zones)")
            }
            NoHintsReason::Overload { zones } => write!(
                f,
                "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold \
                 ({endpoints} endpoints, {zones} zones)"
            ),
            NoHintsReason::EndpointWithoutZone => {
                f.write_str("One or more endpoints do not have a zone specified")
            }
        }
    }
}

impl std::error::Error for NoHints {}
