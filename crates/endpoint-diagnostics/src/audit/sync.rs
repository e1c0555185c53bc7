//! Rules that compare stored objects with those that the controllers would write, by the controllers' own code.

use std::borrow::Cow;
use std::collections::BTreeMap;

use endpoints_controller::{Plan, Unready};
use endpointslice::plan::AddressTypePlan;
use endpointslice::well_known::{
    ENDPOINTS_CONTROLLER, ENDPOINTS_MANAGED_BY, HEADLESS, LAST_CHANGE_TRIGGER_TIME,
};
use endpointslice::{Hints, Packing, PlanOptions, Pod, Service, SlicePlan};
use endpointslice_controller::ServicePlanOptions;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::finding::{Finding, Severity};
use super::group::{Group, Manager};
use super::object::{ObjectRef, Subject};
use super::recent::is_recent;
use super::rule::{Context, Rule};
use crate::metadata::label;
use crate::snapshot::{Kind, PodEntry};

pub(super) const RULES: [Rule; 4] = [
    Rule::new(
        "slices-out-of-sync",
        &[Severity::Info, Severity::Warning],
        &[Kind::Services, Kind::Pods, Kind::Nodes, Kind::EndpointSlices],
        slices_out_of_sync,
    ),
    Rule::new(
        "endpoints-out-of-sync",
        &[Severity::Warning],
        &[Kind::Services, Kind::Pods, Kind::Endpoints],
        endpoints_out_of_sync,
    ),
    Rule::new(
        "mirror-out-of-sync",
        &[Severity::Warning],
        &[Kind::Services, Kind::Endpoints, Kind::EndpointSlices],
        mirror_out_of_sync,
    ),
    Rule::new(
        "kept-ready",
        &[Severity::Info],
        &[Kind::Services, Kind::Pods, Kind::Nodes, Kind::EndpointSlices],
        kept_ready,
    ),
];

/// The remedy for objects that a controller should have written.
const CHECK: &str = "Check that the controllers run and lead (their Lease, their log), and see the events of the Service; \
                     then change it, for instance by an annotation: its next sync writes what is missing";

/// True if `finding` is explained by `other`, of the same Service: what is out of sync is then named there.
pub(super) fn is_explained(finding: &Finding, other: &Finding) -> bool {
    let of_slices =
        ["duplicate-endpoint", "stale-pod", "slice-owner", "missing-service-name", "unknown-manager"];
    let explains = other.severity > Severity::Info && of_slices.contains(&other.rule);
    match finding.rule {
        "slices-out-of-sync" | "mirror-out-of-sync" => {
            explains && other.object.kind == Subject::EndpointSlice
        }
        "endpoints-out-of-sync" => explains && other.object.kind == Subject::Endpoints,
        _ => false,
    }
}

/// The Service of a group, if its endpoints should be published and are not about to change.
fn settled<'a>(group: &Group<'a>) -> Option<&'a Service> {
    let entry = group.service?;
    let is_kept = !group.is_ending && !entry.service.deleting && group.delegated_to().is_none();
    is_kept.then_some(&*entry.service)
}

/// Those of the pods that stay published as ready because their kubelets are lost, as the controllers see them.
fn kept<'a>(context: &Context<'a>, group: &Group<'a>, pods: &[&'a PodEntry]) -> BTreeMap<Box<str>, Pod> {
    context.snapshot.kept_ready(pods.iter().copied(), group.slices_of(Manager::EndpointSlice))
}

/// The pods of a Service, as the controllers see them.
fn selected<'a>(context: &Context<'a>, group: &Group<'a>, service: &Service) -> Vec<Cow<'a, Pod>> {
    let entries = group.objects.selected(service);
    let mut kept = kept(context, group, &entries);
    let pod =
        |entry: &'a PodEntry| kept.remove(&entry.pod.name).map_or(Cow::Borrowed(&*entry.pod), Cow::Owned);
    entries.into_iter().map(pod).collect()
}

/// Endpoints of lost kubelets' pods, which kube-controller-manager would have withdrawn.
fn kept_ready(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(service) = settled(group).filter(|_| group.is_served()) else { return };
    let entries = group.objects.selected(service);
    let kept = kept(context, group, &entries);
    let Some(first) = kept.keys().next() else { return };
    let message = format!(
        "{} of its {} pods, such as {first}, count as ready only because nearly all kubelets are lost \
         (EndpointsKeepReadyOnDisruption)",
        kept.len(),
        entries.len()
    );
    let remedy = "Let the kubelets reach the API server, or delete the Nodes that are gone";
    findings.push(Finding::new(Severity::Info, group.subject(), message, remedy));
}

/// Slices of a Service with a selector that differ from what its pods ask for.
fn slices_out_of_sync(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(service) = settled(group).filter(|_| group.is_served()) else { return };
    let existing: Vec<&EndpointSlice> = group.slices_of(Manager::EndpointSlice).collect();
    let nodes = context.snapshot.nodes();
    // Hints that are spread over zones depend on history.
    let hints = if service.wants_topology_hints() {
        Hints::Keep
    } else {
        Hints::for_service(service, nodes.topology())
    };
    let packing = Packing::Pack { max: context.options.max_per_slice() };
    let options = PlanOptions { packing, placeholder: true, hints };
    let options = ServicePlanOptions { plan: options, ..ServicePlanOptions::default() };
    let pods = selected(context, group, service);
    let pods = pods.iter().map(|pod| &**pod);
    let (plan, _) =
        endpointslice_controller::plan_service(service, pods, |name| nodes.get(name), &existing, &options);
    if plan.is_empty() || is_recent(context, group) {
        return;
    }
    let subject = group.subject();
    findings.push(if only_zones_differ(&plan, &existing) {
        Finding::new(
            Severity::Info,
            subject,
            "Zones or hints of its slices are not those of the nodes: kube-controller-manager writes them with the next \
             change of the Service or its pods",
            "Change the Service, for instance by an annotation",
        )
    } else {
        let message = format!("Its slices are not what its pods ask for: {}", Summary::of(&plan));
        Finding::new(Severity::Warning, subject, message, CHECK)
    });
}

/// Endpoints of a Service with a selector that differ from what its pods ask for.
fn endpoints_out_of_sync(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(service) = settled(group).filter(|_| group.is_served()) else { return };
    // A cluster may run without this controller (KEP-4974).
    if !context.has_managed_endpoints {
        return;
    }
    let stored = group.endpoints.map(with_manager);
    let pods = selected(context, group, service);
    let unready = Unready::of(service, false);
    let (plan, _) = endpoints_controller::plan_service(
        service,
        pods.iter().map(|pod| &**pod),
        stored.as_ref(),
        unready,
        None,
    );
    let message = match plan {
        Plan::Nothing => return,
        _ if is_recent(context, group) => return,
        Plan::Create(_) => "The Service has no Endpoints of its name".to_owned(),
        Plan::Update(wanted) => {
            let same = stored.is_some_and(|stored| stored.subsets == wanted.subsets);
            let what = if same { "labels or annotations are" } else { "addresses are" };
            format!("Its {what} not what the Service and its pods ask for")
        }
    };
    let object = ObjectRef::new(Subject::Endpoints, group.namespace, group.name);
    let finding = Finding::new(Severity::Warning, object, message, CHECK);
    findings.push(finding.of(group.name));
}

/// The object with the controller's label, which releases before 1.33 do not set.
fn with_manager(stored: &Endpoints) -> Endpoints {
    let mut stored = stored.clone();
    if label(&stored.metadata, ENDPOINTS_MANAGED_BY).is_none() {
        let labels = stored.metadata.labels.get_or_insert_default();
        labels.insert(ENDPOINTS_MANAGED_BY.to_owned(), ENDPOINTS_CONTROLLER.to_owned());
    }
    stored
}

/// Slices that differ from the Endpoints that they mirror.
fn mirror_out_of_sync(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(endpoints) = group.endpoints.filter(|_| settled(group).is_some() && group.is_mirrored()) else {
        return;
    };
    let owned = |slices: &[&EndpointSlice]| -> Vec<EndpointSlice> {
        slices
            .iter()
            .filter(|slice| Manager::of(slice) == Manager::Mirroring)
            .map(|slice| (*slice).clone())
            .collect()
    };
    let (existing, terminating) = (owned(&group.slices), owned(&group.deleted));
    let max = context.options.max_per_subset();
    let mirror =
        endpointslice_mirroring_controller::mirror_with_terminating(endpoints, &existing, &terminating, max);
    if mirror.plan.is_empty() || is_recent(context, group) {
        return;
    }
    let (message, remedy) = match ambiguous_port(&mirror.plan) {
        Some(port) => (
            format!(
                "No slices can mirror it: an address has several ports of the name \"{port}\", which the API server refuses"
            ),
            "Give the ports different names",
        ),
        None => (format!("Its mirrored slices differ from it: {}", Summary::of(&mirror.plan)), CHECK),
    };
    let object = ObjectRef::endpoints(endpoints);
    let finding = Finding::new(Severity::Warning, object, message, remedy);
    findings.push(finding.of(group.name));
}

/// A port name that a slice to be written has twice, which the API server refuses.
fn ambiguous_port(plan: &SlicePlan) -> Option<String> {
    let slices = plan.types.iter().flat_map(|plan| plan.create.iter().chain(&plan.update));
    slices.into_iter().find_map(|slice| {
        let mut names: Vec<&str> =
            slice.ports.iter().flatten().map(|port| port.name.as_deref().unwrap_or_default()).collect();
        names.sort_unstable();
        names
            .windows(2)
            .find(|pair| pair.first() == pair.last())
            .and_then(|pair| pair.first())
            .map(ToString::to_string)
    })
}

/// True if a plan only updates slices, and only their zones, hints and headless label.
pub(crate) fn only_zones_differ(plan: &SlicePlan, existing: &[&EndpointSlice]) -> bool {
    let stored = |updated: &EndpointSlice| {
        existing.iter().find(|slice| slice.metadata.name == updated.metadata.name).copied()
    };
    let only_updates = plan.delete_if_unchanged.is_empty()
        && plan.types.iter().all(|it| it.create.is_empty() && it.delete.is_empty());
    only_updates
        && plan.types.iter().flat_map(|plan| &plan.update).all(|updated| {
            stored(updated).is_some_and(|stored| without_zones(stored) == without_zones(updated))
        })
}

fn without_zones(slice: &EndpointSlice) -> EndpointSlice {
    let mut slice = slice.clone();
    for endpoint in slice.endpoints.iter_mut().flatten() {
        (endpoint.zone, endpoint.hints) = (None, None);
    }
    slice.metadata.labels.get_or_insert_default().remove(HEADLESS);
    slice.metadata.annotations.get_or_insert_default().remove(LAST_CHANGE_TRIGGER_TIME);
    slice
}

/// The changes of a plan in numbers.
pub(super) struct Summary {
    added: usize,
    updated: usize,
    removed: usize,
    slices: usize,
}

impl Summary {
    pub(super) fn of(plan: &SlicePlan) -> Self {
        let sum = |count: fn(&AddressTypePlan) -> usize| plan.types.iter().map(count).sum();
        Self {
            added: sum(|plan| plan.statistics.endpoints_added),
            updated: sum(|plan| plan.statistics.endpoints_updated),
            removed: sum(|plan| plan.statistics.endpoints_removed),
            slices: sum(AddressTypePlan::changes) + plan.delete_if_unchanged.len(),
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { added, updated, removed, slices } = self;
        write!(
            f,
            "a sync would write {slices} slices, to add {added} endpoints, change {updated} and remove {removed}"
        )
    }
}
