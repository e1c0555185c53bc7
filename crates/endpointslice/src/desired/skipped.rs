//! Objects that should be endpoints and are left out.

use std::net::IpAddr;

/// An object that should be an endpoint and is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The name of the object that was left out, usually a Pod.
    pub name: String,
    /// The reason.
    pub reason: SkippedReason,
}

impl Skipped {
    /// True if a retry may publish the endpoint: a missing node may appear, but an address that isn't allowed never will
    /// be.
    pub fn is_retryable(&self) -> bool {
        matches!(self.reason, SkippedReason::NodeNotFound(_))
    }
}

/// The reason for leaving out an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkippedReason {
    /// The pod's Node is not in the cache (yet), so the zone is unknown.
    NodeNotFound(String),
    /// The API server refuses this address in a slice that is written. A slice that has it already may
    /// [keep](crate::SlicePlan::keeps) it.
    AddressNotAllowed(IpAddr),
}
