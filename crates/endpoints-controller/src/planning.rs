//! The write for one Service, from all of its pods. Pure.

use endpointslice::desired::Skipped;
use endpointslice::{Pod, Service};
use k8s_openapi::api::core::v1::Endpoints;

use crate::desired::{Unready, desired_subsets, refused_addresses, subsets_with_refused};
use crate::plan::{Plan, plan, plan_around_refused};

/// Plans the write of the Endpoints of a Service, from the `pods` that it selects and the `stored` object. Also returns the
/// addresses that are left out because the API server refuses them.
///
/// The Service must [select pods](Service::selects_pods).
///
/// Cost: that of [`desired_subsets`], and the comparison of [`plan()`].
pub fn plan_service<'a>(
    service: &Service,
    pods: impl Iterator<Item = &'a Pod> + Clone,
    stored: Option<&Endpoints>,
    unready: Unready,
    trigger_time: Option<String>,
) -> (Plan, Vec<Skipped>) {
    let refused = refused_addresses(service, pods.clone(), unready);
    if let Some(stored) = stored.filter(|_| !refused.is_empty()) {
        let subsets = subsets_with_refused(service, pods.clone(), unready);
        if let Some(plan) = plan_around_refused(stored, service, subsets, trigger_time.as_deref()) {
            return (plan, vec![]);
        }
    }
    (plan(stored, service, desired_subsets(service, pods, unready), trigger_time), refused)
}
