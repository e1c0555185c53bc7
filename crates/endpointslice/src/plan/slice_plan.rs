//! Plans as values.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use crate::desired::{PortSet, Skipped, SkippedReason};
use crate::model::AddressType;
use crate::topology::TopologyOutcome;

/// The writes that make the existing slices carry the desired endpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlicePlan {
    /// One plan for each address type of the owner, in the order they are applied.
    pub types: Vec<AddressTypePlan>,
    /// Slices to delete after everything else, and only in the resourceVersion that was seen: those of address types that
    /// the owner doesn't have, or all of an owner that should have none. When an owner changes hands a slice may have as
    /// well, and its new `managed-by` need not have been seen yet.
    pub delete_if_unchanged: Vec<EndpointSlice>,
}

/// The writes for one address type, to be made in this order: creates, updates, deletes.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressTypePlan {
    /// The address type.
    pub address_type: AddressType,
    /// New slices.
    pub create: Vec<EndpointSlice>,
    /// Slices to replace. One without a resourceVersion replaces whatever is there: it gives new content to a slice
    /// that would otherwise be deleted.
    pub update: Vec<EndpointSlice>,
    /// Slices to delete.
    pub delete: Vec<EndpointSlice>,
    /// True if creates are held back because the owner is being deleted; they are still counted as changes.
    pub creates_suppressed: bool,
    /// Figures for metrics.
    pub statistics: PlanStatistics,
    /// How topology hints were assigned, if the options ask for them.
    pub topology: Option<TopologyOutcome>,
    /// Endpoints with an address that the API server would refuse, in slices whose endpoints stay as they are.
    pub tolerated: Vec<Endpoint>,
}

/// Figures about a plan for one address type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanStatistics {
    /// Endpoints that no existing slice carried.
    pub endpoints_added: usize,
    /// Endpoints that stay in their slice and have changed.
    pub endpoints_updated: usize,
    /// Endpoints that left slices of groups that are still desired.
    pub endpoints_removed: usize,
    /// One entry for each group that should exist, the placeholder included.
    pub groups: BTreeMap<PortSet, PortGroupStatistics>,
}

/// Figures about one port set of one address type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroupStatistics {
    /// Desired endpoints.
    pub endpoints: usize,
    /// Slices after the plan is applied.
    pub slices: usize,
}

impl SlicePlan {
    /// Deletes all of these: for an owner that is gone, or should have no slices any more.
    pub fn delete_all(slices: Vec<EndpointSlice>) -> Self {
        Self { types: vec![], delete_if_unchanged: slices }
    }

    /// True if something that was [skipped](Desired::skipped) for its address stays published all the same, in a slice
    /// that the plan leaves alone.
    pub fn keeps(&self, skipped: &Skipped) -> bool {
        let SkippedReason::AddressNotAllowed(address) = skipped.reason else { return false };
        let address = address.to_string();
        self.types.iter().flat_map(|plan| &plan.tolerated).any(|endpoint| {
            let target = endpoint.target_ref.as_ref().and_then(|target| target.name.as_ref());
            target == Some(&skipped.name) && endpoint.addresses.contains(&address)
        })
    }

    /// The outcome of topology hints for each address type; none where they are not asked for.
    pub fn topology_outcomes(&self) -> impl Iterator<Item = (AddressType, Option<&TopologyOutcome>)> + Clone {
        self.types.iter().map(|plan| (plan.address_type, plan.topology.as_ref()))
    }

    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.delete_if_unchanged.is_empty() && self.types.iter().all(|plan| plan.changes() == 0)
    }
}

impl AddressTypePlan {
    /// The number of writes, held-back creates included.
    pub fn changes(&self) -> usize {
        self.create.len() + self.update.len() + self.delete.len()
    }
}
