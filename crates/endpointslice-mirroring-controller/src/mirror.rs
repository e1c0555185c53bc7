//! The decision whether Endpoints are mirrored, and the plan of their slices. Pure.

use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::desired::{Mirrored, desired_from_endpoints};
use endpointslice::well_known::ENDPOINTSLICE_MIRRORING_CONTROLLER;
use endpointslice::{Hints, Packing, PlanOptions, Service, SlicePlan, SliceTemplate, plan};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;

/// The plan for one Endpoints object, and the addresses that can't be mirrored.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// The writes.
    pub plan: SlicePlan,
    /// The number of addresses that are no IP address, or that the API server refuses in a slice and that are not in
    /// one already.
    pub invalid: usize,
    /// The number of addresses left out, including the invalid ones.
    pub skipped: usize,
}

/// True if slices should mirror these Endpoints: they don't opt out, and their Service exists and has no selector
/// (`endpointslicemirroring_controller.go` `syncEndpoints`). The type of the Service doesn't matter.
pub fn is_mirrored(endpoints: &CachedEndpoints, service: Option<&Service>) -> bool {
    !opts_out(endpoints) && service.is_some_and(|service| service.selector.is_none())
}

/// True if Endpoints opt out of mirroring, by the label `skip-mirror` or by the annotation of leader election
/// (`endpointslicemirroring/utils.go` `skipMirror`, `hasLeaderElection`).
pub(crate) fn opts_out(endpoints: &CachedEndpoints) -> bool {
    endpoints.skips_mirror || endpoints.elects_a_leader
}

/// The writes that make `existing` mirror `endpoints`, with at most `max` addresses of each subset
/// (`endpointslicemirroring/reconciler.go` `reconcile`).
///
/// `existing` are the slices that this controller manages for the Service of the same name.
pub fn mirror(endpoints: &Endpoints, existing: &[EndpointSlice], max: usize) -> Mirror {
    mirror_beside(endpoints, existing, &[], max)
}

/// The same with `terminating` slices, which are being deleted but kept by finalizers. They no longer count as mirrors,
/// and must publish only addresses of the Endpoints.
pub fn mirror_beside(
    endpoints: &Endpoints,
    existing: &[EndpointSlice],
    terminating: &[EndpointSlice],
    max: usize,
) -> Mirror {
    let Mirrored { desired, invalid, skipped } = desired_from_endpoints(endpoints, max);
    let template = SliceTemplate::for_endpoints(endpoints, ENDPOINTSLICE_MIRRORING_CONTROLLER);
    let options = PlanOptions { packing: Packing::Single { max }, placeholder: false, hints: Hints::Keep };
    let mut plan = plan(existing, desired.clone(), &template, &options);
    plan.refresh(terminating, &desired);
    let kept: usize = plan.types.iter().map(|plan| plan.tolerated.len()).sum();
    Mirror { plan, invalid: invalid.saturating_sub(kept), skipped: skipped.saturating_sub(kept) }
}
