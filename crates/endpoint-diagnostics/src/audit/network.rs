//! Services on pod networks: their slices have what their controller finds.

use std::net::IpAddr;

use endpointslice::desired::{Attachment, desired_from_attachments};
use endpointslice::{Hints, PlanOptions, Pod, SliceTemplate, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::finding::{Finding, Severity};
use super::group::{Group, Manager};
use super::recent::is_recent;
use super::rule::{Context, Rule};
use super::sync::{Summary, only_zones_differ};
use crate::snapshot::Kind;

pub(super) const RULES: [Rule; 1] = [Rule::new(
    "network-out-of-sync",
    &[Severity::Warning],
    &[Kind::Services, Kind::Pods, Kind::Nodes, Kind::EndpointSlices],
    network_out_of_sync,
)];

/// Slices of a Service on a pod network that differ from the addresses of its pods there.
fn network_out_of_sync(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let (Some(controller), Some(entry)) = (group.delegated_to(), group.service) else { return };
    let service = &entry.service;
    if group.is_ending || group.is_alias() || service.deleting {
        return;
    }
    let pods = group.objects.selected(service).into_iter().map(|entry| &*entry.pod);
    let Some(attachments) = context.snapshot.networks().attachments(service, pods.clone()) else { return };
    let nodes = context.snapshot.nodes();
    let attachment = |pod: &Pod| -> Attachment<&[IpAddr]> {
        let found = attachments.get(&pod.uid).and_then(|found| found.as_ref().ok());
        found.map(|found| Attachment { addresses: &*found.addresses, ready: found.ready }).unwrap_or_default()
    };
    let desired = desired_from_attachments(service, pods, |name| nodes.get(name), attachment);
    let existing: Vec<&EndpointSlice> = group.slices_of(Manager::Other(controller)).collect();
    let hints = Hints::for_service(service, nodes.topology());
    let options = PlanOptions { hints, ..PlanOptions::default() };
    let plan = plan(&existing, desired, &SliceTemplate::for_service(service, controller), &options);
    if plan.is_empty() || only_zones_differ(&plan, &existing) || is_recent(context, group) {
        return;
    }
    let message = format!("Its slices are not what its pods have in its network: {}", Summary::of(&plan));
    let remedy = format!(
        "Check that {controller} runs and leads (its Lease, its log), and see the events of the Service; `kubectl endpoints \
         explain` says what it finds of each pod"
    );
    findings.push(Finding::new(Severity::Warning, group.subject(), message, remedy));
}
