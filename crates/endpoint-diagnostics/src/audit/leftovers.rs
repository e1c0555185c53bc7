//! Rules about Endpoints without a Service, locks of leader elections, and Services without pods.

use endpointslice::well_known::{ENDPOINTS_OVER_CAPACITY, LAST_CHANGE_TRIGGER_TIME, LEADER};
use k8s_openapi::api::core::v1::Endpoints;

use super::finding::{Finding, Severity};
use super::group::{Group, elects_a_leader};
use super::object::ObjectRef;
use super::repair::Repair;
use super::rule::{Context, Rule};
use crate::metadata::annotation;
use crate::snapshot::Kind;

pub(super) const RULES: [Rule; 3] = [
    Rule::new(
        "endpoints-without-service",
        &[Severity::Warning],
        &[Kind::Services, Kind::Endpoints],
        endpoints_without_service,
    ),
    Rule::new("leader-election", &[Severity::Info], &[Kind::Endpoints], leader_election),
    Rule::new("selects-nothing", &[Severity::Info], &[Kind::Services, Kind::Pods], selects_nothing),
];

/// Annotations in which Patroni keeps the state of a database cluster, if it uses Endpoints.
const OF_PATRONI: [&str; 5] = ["initialize", "config", "history", "optime", "acquireTime"];

/// Endpoints without a Service: the start of a controller deletes them, whichever client wrote them
/// (`endpoints_controller.go` `checkLeftoverEndpoints`).
fn endpoints_without_service(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(object) = group.endpoints.filter(|object| !elects_a_leader(object)) else { return };
    if group.service.is_some() || group.is_ending {
        return;
    }
    let state = if OF_PATRONI.iter().any(|key| annotation(&object.metadata, key).is_some()) {
        ", and with it the state that Patroni keeps in its annotations"
    } else {
        ""
    };
    let finding = Finding::new(
        Severity::Warning,
        ObjectRef::endpoints(object),
        format!(
            "No Service has this name: kube-controller-manager and endpoint-controller-manager delete the object \
             when they start{state}"
        ),
        format!(
            "Create a Service of this name without a selector to keep the object; else delete it. The annotation {LEADER} \
             keeps it too"
        ),
    );
    let repair = Repair::of_a_lost_service(object).filter(|_| has_only_our_annotations(object));
    findings.push(finding.repaired_by(repair.map(|repair| repair.unless(group.subject()))));
}

/// True if no other client keeps state in the annotations.
fn has_only_our_annotations(object: &Endpoints) -> bool {
    let mut keys = object.metadata.annotations.iter().flatten().map(|(key, _)| key.as_str());
    keys.all(|key| [LAST_CHANGE_TRIGGER_TIME, ENDPOINTS_OVER_CAPACITY].contains(&key))
}

/// Endpoints that were the lock of a leader election before there were Leases.
fn leader_election(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(object) = group.endpoints.filter(|object| elects_a_leader(object)) else { return };
    let finding = Finding::new(
        Severity::Info,
        ObjectRef::endpoints(object),
        "It is, or was, the lock of a leader election: it is not mirrored, and kept without a Service",
        "Let its program use a Lease, then delete the object; client-go has no such locks any more",
    );
    findings.push(finding.at(format!("metadata.annotations[{LEADER}]")));
}

/// Services with a selector that selects no pod.
fn selects_nothing(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(entry) = group.service.filter(|_| group.is_served() && !group.is_ending) else { return };
    let Some(selector) = &entry.service.selector else { return };
    if group.objects.labels().selected(selector).is_empty() {
        let selector: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let finding = Finding::new(
            Severity::Info,
            group.subject(),
            format!("No pod has the labels {}", selector.join(",")),
            format!(
                "See which pods differ by one label: kubectl endpoints explain {} -n {}",
                group.name, group.namespace
            ),
        );
        findings.push(finding.at("spec.selector"));
    }
}
