//! Rules about labels that controllers and kube-proxy read.

use endpointslice::well_known::{
    ENDPOINTS_MANAGED_BY, HEADLESS, LEADER, MANAGED_BY, SERVICE_NAME, SKIP_MIRROR,
};

use super::finding::{Finding, Severity};
use super::group::{Group, Manager, addresses, elects_a_leader, endpoints, is_managed, opts_out};
use super::object::{ObjectRef, Subject};
use super::repair::{Action, Repair};
use super::rule::{Context, Rule};
use crate::metadata::label;
use crate::snapshot::Kind;

pub(super) const RULES: [Rule; 3] = [
    Rule::new("headless-label", &[Severity::Info, Severity::Error], &[Kind::Services], headless_label),
    Rule::new("reserved-label", &[Severity::Info, Severity::Warning], &[Kind::Services], reserved_label),
    Rule::new(
        "skip-mirror",
        &[Severity::Info, Severity::Warning],
        &[Kind::Services, Kind::EndpointSlices],
        skip_mirror,
    ),
];

/// Slices labelled as those of a headless Service although theirs has a cluster IP, or the reverse. kube-proxy does not read
/// slices with the label.
fn headless_label(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let field = format!("metadata.labels[{HEADLESS}]");
    for slice in &group.slices {
        let manager = Manager::of(slice);
        let is_kept = match manager {
            Manager::EndpointSlice => group.is_served(),
            Manager::Mirroring => group.is_mirrored(),
            _ => false,
        };
        let is_labelled = label(&slice.metadata, HEADLESS).is_some();
        let count = endpoints(slice).len();
        let new = |severity, message: String, remedy: String| {
            let finding = Finding::new(severity, ObjectRef::slice(slice), message, remedy);
            finding.at(&*field).of(group.name)
        };
        if is_kept && is_labelled && group.has_cluster_ip() {
            let severity = if count == 0 { Severity::Info } else { Severity::Error };
            let message = format!(
                "The Service {} has a cluster IP, and the label hides the slice from kube-proxy: no connection reaches its \
                 {count} endpoints",
                group.name
            );
            findings.push(if manager == Manager::EndpointSlice {
                let repair = Repair::of_slice(slice, Action::RemoveLabel { key: HEADLESS });
                let remedy = "Remove the label from the slice; its controller does so only when it writes the slice for \
                              another reason";
                new(severity, message, remedy.to_owned()).repaired_by(repair)
            } else {
                new(severity, message, format!("Remove the label from the Endpoints {}", group.name))
            });
        } else if is_kept && !is_labelled && manager == Manager::EndpointSlice && !group.has_cluster_ip() {
            let message = format!(
                "The Service {} has no cluster IP, and without the label every kube-proxy reads the slice in vain",
                group.name
            );
            let remedy = "Nothing: its controller sets the label when it writes the slice for another reason";
            findings.push(new(Severity::Info, message, remedy.to_owned()));
        }
    }
}

/// Labels that controllers decide themselves, set by users.
fn reserved_label(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(entry) = group.service else { return };
    for key in [SERVICE_NAME, MANAGED_BY, HEADLESS, ENDPOINTS_MANAGED_BY] {
        let Some(value) = label(&entry.object.metadata, key) else { continue };
        let effect = if key == HEADLESS {
            "kube-proxy ignores the Service"
        } else if key == ENDPOINTS_MANAGED_BY {
            "kube-controller-manager writes its Endpoints at every sync"
        } else {
            "it has no effect"
        };
        let finding = Finding::new(
            Severity::Info,
            group.subject(),
            format!("It has the label {key}={value}, which controllers reserve and do not copy; {effect}"),
            "Remove the label, unless that is intended",
        );
        findings.push(finding.at(format!("metadata.labels[{key}]")));
    }
    let Some(object) = group.endpoints.filter(|_| group.is_mirrored()) else { return };
    for key in [SERVICE_NAME, MANAGED_BY] {
        let Some(value) = label(&object.metadata, key) else { continue };
        // Copied from a label of the Service while it had a selector.
        let severity = if is_managed(object) { Severity::Info } else { Severity::Warning };
        let finding = Finding::new(
            severity,
            ObjectRef::endpoints(object),
            format!(
                "It has the label {key}={value}, which controllers reserve: kube-controller-manager writes its mirrored \
                 slices at every sync"
            ),
            "Remove the label",
        );
        findings.push(finding.at(format!("metadata.labels[{key}]")).of(group.name));
    }
}

/// Endpoints that opt out of being mirrored by mistake, or mean to and do not.
fn skip_mirror(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let field = format!("metadata.labels[{SKIP_MIRROR}]");
    let new = |severity, object, message: String, remedy: &str| {
        Finding::new(severity, object, message, remedy).of(group.name)
    };
    if let Some(entry) = group.service
        && let Some(value) = label(&entry.object.metadata, SKIP_MIRROR)
    {
        let message = format!("It has the label {SKIP_MIRROR}={value}, which is read from Endpoints only");
        let object = ObjectRef::of(Subject::Service, &entry.object.metadata);
        let remedy = "Set the label on the Endpoints if these are not to be mirrored";
        findings.push(new(Severity::Info, object, message, remedy).at(&*field));
    }
    // The Endpoints controller overwrites the labels of those that it maintains.
    let Some(object) = group.endpoints.filter(|_| group.wants_mirror()) else { return };
    if let Some(value) = label(&object.metadata, SKIP_MIRROR)
        && !matches!(value, "true" | "false" | "")
    {
        let message =
            format!("The label {SKIP_MIRROR} has the value \"{value}\"; only \"true\" has an effect");
        let remedy = "Set the label to \"true\", or remove it";
        findings.push(new(Severity::Warning, ObjectRef::endpoints(object), message, remedy).at(&*field));
    }
    if opts_out(object) && group.slices.is_empty() && addresses(object).next().is_some() {
        let (cause, remedy) = if elects_a_leader(object) {
            (format!("The annotation {LEADER} keeps it from being mirrored"), "Remove the annotation")
        } else {
            (format!("The label {SKIP_MIRROR} keeps it from being mirrored"), "Remove the label")
        };
        let message = format!(
            "{cause}, and the Service {} has no slices: clients find none of its {} addresses",
            group.name,
            addresses(object).count()
        );
        let remedy = format!("{remedy}, or write slices for the Service");
        findings.push(new(Severity::Warning, ObjectRef::endpoints(object), message, &remedy));
    }
}
