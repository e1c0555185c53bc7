//! Plans as values.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use crate::desired::{PortSet, Skipped, SkippedReason};
use crate::model::{AddressType, name_of};
use crate::topology::TopologyOutcome;

/// The writes that make the existing slices carry the desired endpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlicePlan {
    /// One plan for each address type of the owner, in the order they are applied.
    pub types: Vec<AddressTypePlan>,
    /// Slices to delete after all other writes, and only in the resourceVersion they were read in: those of address types
    /// that the owner doesn't have, or all of an owner that should have none. When an owner is handed to another
    /// controller, that controller may have taken over the slice as well, by a `managed-by` that the cache doesn't show
    /// yet.
    pub delete_if_unchanged: Vec<EndpointSlice>,
}

/// The writes for one address type, to be made in this order: withdrawals, creates, updates, deletes.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressTypePlan {
    /// The address type.
    pub address_type: AddressType,
    /// New slices.
    pub create: Vec<EndpointSlice>,
    /// Slices to update. An update without a resourceVersion replaces any present content: it reuses a slice that would
    /// otherwise be deleted, or its template [replaces](super::UpdateMode::Replaced) all, as mirrors do.
    pub update: Vec<EndpointSlice>,
    /// Slices to delete.
    pub delete: Vec<EndpointSlice>,
    /// The names of slices whose update or deletion withdraws endpoints and depends on no other write
    /// ([`prioritize`](crate::urgency::prioritize)).
    pub withdrawals: BTreeSet<String>,
    /// True if the creates must not be made because the owner is being deleted; they still count as changes.
    pub creates_suppressed: bool,
    /// Counts for metrics.
    pub statistics: PlanStatistics,
    /// The outcome of topology hints, if the options request them.
    pub topology: Option<TopologyOutcome>,
    /// Endpoints with an address that the API server refuses in a write, in slices whose endpoints don't change.
    pub tolerated: Vec<Endpoint>,
}

/// Counts of a plan for one address type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanStatistics {
    /// Endpoints that were in no existing slice.
    pub endpoints_added: usize,
    /// Endpoints that stay in their slice and have changed.
    pub endpoints_updated: usize,
    /// Endpoints removed from slices of groups that are still desired.
    pub endpoints_removed: usize,
    /// One entry for each group that should exist, the placeholder included.
    pub groups: BTreeMap<PortSet, PortGroupStatistics>,
}

/// Counts of one port set of one address type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroupStatistics {
    /// Desired endpoints.
    pub endpoints: usize,
    /// Slices after the plan is applied.
    pub slices: usize,
}

impl SlicePlan {
    /// Deletes all of these slices in the order of their names, for an owner that was deleted or should have none any more.
    pub fn delete_all(mut slices: Vec<EndpointSlice>) -> Self {
        slices.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        Self { types: vec![], delete_if_unchanged: slices }
    }

    /// True if an endpoint that was [skipped](crate::DesiredEndpoints::skipped) for its address stays published, in a slice whose
    /// endpoints the plan doesn't change.
    pub fn keeps(&self, skipped: &Skipped) -> bool {
        let SkippedReason::AddressNotAllowed(address) = skipped.reason else { return false };
        let address = address.to_string();
        self.types.iter().flat_map(|plan| &plan.tolerated).any(|endpoint| {
            let target = endpoint.target_ref.as_ref().and_then(|target| target.name.as_ref());
            target == Some(&skipped.name) && endpoint.addresses.contains(&address)
        })
    }

    /// The outcome of topology hints for each address type; none where they are not requested.
    pub fn topology_outcomes(&self) -> impl Iterator<Item = (AddressType, Option<&TopologyOutcome>)> + Clone {
        self.types.iter().map(|plan| (plan.address_type, plan.topology.as_ref()))
    }

    /// The number of writes, without the creates that must not be made.
    pub fn writes(&self) -> usize {
        let of_type = |plan: &AddressTypePlan| {
            let suppressed = if plan.creates_suppressed { plan.create.len() } else { 0 };
            plan.changes() - suppressed
        };
        self.types.iter().map(of_type).sum::<usize>() + self.delete_if_unchanged.len()
    }

    /// True if the plan has no writes.
    pub fn is_empty(&self) -> bool {
        self.delete_if_unchanged.is_empty() && self.types.iter().all(|plan| plan.changes() == 0)
    }
}

impl AddressTypePlan {
    /// The number of writes, suppressed creates included.
    pub fn changes(&self) -> usize {
        self.create.len() + self.update.len() + self.delete.len()
    }

    /// True if the update or deletion of this slice is one of [`Self::withdrawals`].
    pub fn withdraws(&self, slice: &EndpointSlice) -> bool {
        !self.withdrawals.is_empty() && self.withdrawals.contains(name_of(slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_deleted_in_the_order_of_their_names() {
        let slice = |name: &str| {
            let mut slice = EndpointSlice::default();
            slice.metadata.name = Some(name.to_owned());
            slice
        };
        let plan = SlicePlan::delete_all(["web-c", "web-a", "web-b"].map(slice).into());
        assert_eq!(plan, SlicePlan::delete_all(["web-b", "web-c", "web-a"].map(slice).into()));
    }
}
