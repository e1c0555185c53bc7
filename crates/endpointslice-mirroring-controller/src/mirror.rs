//! The decision whether Endpoints are mirrored, and the plan of their slices. Pure.

use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::desired::{Mirrored, desired_from_endpoints};
use endpointslice::urgency::prioritize;
use endpointslice::well_known::{ENDPOINTSLICE_MIRRORING_CONTROLLER, LAST_APPLIED_CONFIGURATION};
use endpointslice::{
    DesiredEndpoints, Hints, Packing, PlanOptions, Service, SlicePlan, SliceTemplate, Urgency, plan,
};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The most bytes of labels and annotations that the slices of one Endpoints object have together. A plan has a copy for each slice,
/// and tenants write Endpoints with thousands of subsets and annotations of 256 KiB.
const MAX_METADATA: usize = 64 << 20;

/// The plan for one Endpoints object, and the addresses that can't be mirrored.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// The writes.
    pub plan: SlicePlan,
    /// The number of addresses that are not IP addresses, or that the API server refuses in a slice and that are not in
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
    mirror_with_terminating(endpoints, existing, &[], max)
}

/// The same with `terminating` slices, which are being deleted but kept by finalizers. They no longer count as mirrors,
/// and must publish only addresses of the Endpoints.
pub fn mirror_with_terminating(
    endpoints: &Endpoints,
    existing: &[EndpointSlice],
    terminating: &[EndpointSlice],
    max: usize,
) -> Mirror {
    let Mirrored { desired, invalid, skipped } = desired_from_endpoints(endpoints, max);
    let template = template(endpoints, &desired);
    let options = PlanOptions { packing: Packing::Single { max }, placeholder: false, hints: Hints::Keep };
    let mut plan = plan(existing, desired.clone(), &template, &options);
    plan.refresh(terminating, &desired);
    let kept: usize = plan.types.iter().map(|plan| plan.tolerated.len()).sum();
    Mirror { plan, invalid: invalid.saturating_sub(kept), skipped: skipped.saturating_sub(kept) }
}

/// The metadata of the slices: that of the Endpoints, without labels and annotations if all slices would have too much of them.
fn template(endpoints: &Endpoints, desired: &DesiredEndpoints) -> SliceTemplate {
    let ObjectMeta { labels, annotations, .. } = &endpoints.metadata;
    let pairs =
        labels.iter().chain(annotations).flatten().filter(|(key, _)| *key != LAST_APPLIED_CONFIGURATION);
    let bytes: usize = pairs.map(|(key, value)| key.len() + value.len()).sum();
    let slices = desired.groups().filter(|(_, _, endpoints)| !endpoints.is_empty()).count();
    if bytes * slices <= MAX_METADATA {
        return SliceTemplate::for_endpoints(endpoints, ENDPOINTSLICE_MIRRORING_CONTROLLER);
    }
    let metadata = ObjectMeta { labels: None, annotations: None, ..endpoints.metadata.clone() };
    let bare = Endpoints { metadata, ..Endpoints::default() };
    SliceTemplate::for_endpoints(&bare, ENDPOINTSLICE_MIRRORING_CONTROLLER)
}

/// The same with the plan's urgency, and with the writes that withdraw endpoints first; `is_local` if nodes without an endpoint get
/// no traffic of the Service.
///
/// An address that is beyond the maximum, and ready in the Endpoints, is not a withdrawal: traffic to it is not lost.
///
/// Cost: that of a second plan, without a maximum, if addresses are beyond it and the plan removes some.
pub(crate) fn mirror_by_urgency(
    endpoints: &Endpoints,
    existing: &[EndpointSlice],
    terminating: &[EndpointSlice],
    max: usize,
    is_local: bool,
) -> (Mirror, Urgency) {
    let stored: Vec<&EndpointSlice> = existing.iter().chain(terminating).collect();
    let prioritized = |plan: &mut SlicePlan| prioritize(plan, &stored, is_local, |_| []);
    let mut mirror = mirror_with_terminating(endpoints, existing, terminating, max);
    let mut urgency = prioritized(&mut mirror.plan);
    if urgency == Urgency::Withdrawal && mirror.skipped > mirror.invalid {
        let mut uncut = mirror_with_terminating(endpoints, existing, terminating, usize::MAX);
        // Endpoints change, although nothing does without a maximum.
        urgency = prioritized(&mut uncut.plan).min(Urgency::Soft);
    }
    (mirror, urgency)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Endpoints with these addresses, ready and not.
    fn endpoints(ready: &[&str], not_ready: &[&str]) -> Endpoints {
        let addresses = |texts: &[&str]| texts.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
        let subset = json!({"addresses": addresses(ready), "notReadyAddresses": addresses(not_ready), "ports": [{"port": 80}]});
        let metadata = json!({"name": "db", "namespace": "shop", "uid": "u"});
        serde_json::from_value(json!({"metadata": metadata, "subsets": [subset]})).unwrap()
    }

    #[test]
    fn an_address_that_does_not_fit_is_not_withdrawn() {
        use Urgency::{Readiness, Soft, Withdrawal};
        let [a, b, c, invalid] = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "invalid"];
        let before = mirror(&endpoints(&[b, c], &[]), &[], 2).plan.types;
        let mut stored: Vec<EndpointSlice> = before.into_iter().flat_map(|plan| plan.create).collect();
        for slice in &mut stored {
            slice.metadata.name = Some("db-1".into());
        }
        for (ready, not_ready, max, expected) in [
            (&[a, b][..], &[c][..], 2, Withdrawal),
            (&[a, b, c], &[], 2, Readiness),
            (&[a, b], &[], 2, Withdrawal),
            (&[b, invalid], &[], 2, Withdrawal),
            (&[b, c], &[], 1, Soft),
        ] {
            let (mirror, urgency) = mirror_by_urgency(&endpoints(ready, not_ready), &stored, &[], max, false);
            assert_eq!(urgency, expected, "{ready:?}, not {not_ready:?}, at most {max}");
            assert_eq!(mirror.plan.types[0].update.len(), 1, "{:?}", mirror.plan);
        }
    }
}
