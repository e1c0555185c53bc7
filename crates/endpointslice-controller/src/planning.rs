//! The writes for one Service, from all of its pods. Pure.

use std::borrow::Borrow;

use endpointslice::desired::{Conditions, Skipped};
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{Node, PlanOptions, Pod, Service, SlicePlan, SliceTemplate, desired_from_service, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;

/// Options of [`plan_service`].
#[derive(Clone, Debug, Default)]
pub struct ServicePlanOptions {
    /// The packing and the hints.
    pub plan: PlanOptions,
    /// The conditions of endpoints.
    pub conditions: Conditions,
    /// The trigger time of slices that are written.
    pub trigger_time: Option<String>,
}

/// Plans the writes for a Service, from the `pods` that it selects and the `existing` slices of this controller. Also
/// returns the endpoints that are left out.
///
/// The Service must [select pods](Service::selects_pods). `node` looks up a Node by name.
///
/// Cost: that of [`desired_from_service`] and [`plan()`].
pub fn plan_service<'a, S: Borrow<EndpointSlice>>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    node: impl Fn(&str) -> Option<&'a Node>,
    existing: &[S],
    options: &ServicePlanOptions,
) -> (SlicePlan, Vec<Skipped>) {
    let desired = desired_from_service(service, pods, node);
    let desired = match options.conditions {
        Conditions::All => desired,
        Conditions::ReadyOnly => desired.ready_only(),
    };
    let mut skipped = desired.skipped().to_vec();
    let template = SliceTemplate::for_service(service, ENDPOINTSLICE_CONTROLLER)
        .with_trigger_time(options.trigger_time.clone());
    let plan = plan(existing, desired, &template, &options.plan);
    skipped.retain(|skipped| !plan.keeps(skipped));
    (plan, skipped)
}
