//! Rules about the managers of slices: each Service has one, by a name that exists.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::well_known::{
    ENDPOINT_CONTROLLER_NAME, ENDPOINTS_CONTROLLER, ENDPOINTS_MANAGED_BY, ENDPOINTSLICE_CONTROLLER,
    ENDPOINTSLICE_MIRRORING_CONTROLLER, MANAGED_BY,
};

use super::finding::{Finding, Severity};
use super::group::{Group, Manager, endpoints};
use super::object::ObjectRef;
use super::rule::{Context, Rule};
use crate::metadata::label;
use crate::snapshot::{Kind, is_within};

pub(super) const RULES: [Rule; 3] = [
    Rule::new("two-managers", &[Severity::Info, Severity::Warning], &[Kind::Services], two_managers),
    Rule::new(
        "delegated-service",
        &[Severity::Warning],
        &[Kind::Services, Kind::EndpointSlices],
        delegated_service,
    ),
    Rule::new("unknown-manager", &[Severity::Warning], &[], unknown_manager),
];

/// Slices of several managers for one Service.
///
/// Other clusters' endpoints of the same Service are not a fault, so the weight depends on what they have in common.
fn two_managers(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if group.name.is_empty() || group.service.is_none() || group.delegated_to().is_some() {
        return;
    }
    let mut published: BTreeMap<Manager<'_>, BTreeSet<&str>> = BTreeMap::new();
    for slice in &group.slices {
        let manager = Manager::of(slice);
        let is_left_behind = manager == Manager::EndpointSlice && !group.is_served();
        let is_orphaned = manager == Manager::Mirroring && !group.is_mirrored();
        if is_left_behind || is_orphaned || meant(manager).is_some() {
            continue;
        }
        let backends = published.entry(manager).or_default();
        for endpoint in endpoints(slice) {
            backends.extend(endpoint.addresses.iter().map(String::as_str));
            let target = endpoint.target_ref.as_ref();
            backends.extend(target.and_then(|target| target.uid.as_deref()).filter(|uid| !uid.is_empty()));
        }
    }
    if published.len() < 2 {
        return;
    }
    let total: usize = published.values().map(BTreeSet::len).sum();
    let different = published.values().flatten().collect::<BTreeSet<_>>().len();
    let names: Vec<&str> = published.keys().map(|manager| manager.name()).collect();
    let names = names.join(", ");
    findings.push(if different < total {
        Finding::new(
            Severity::Warning,
            group.subject(),
            format!("{names} publish slices of it, with addresses or pods in common: clients use all slices, and count these twice"),
            format!(
                "Let one controller publish it: remove the selector, or leave the Service to the other one by the \
                 label {ENDPOINT_CONTROLLER_NAME} (endpoint-controller-manager only, behind a feature gate)"
            ),
        )
    } else {
        Finding::new(
            Severity::Info,
            group.subject(),
            format!("{names} publish slices of it, with different addresses: clients use all of them"),
            "Nothing, if the Service is meant to have backends of both, as with clusters that share Services",
        )
    });
}

/// The remedy for a Service that two controllers publish by its selector.
const SERVED_TWICE: &str = "Run endpoint-controller-manager with the feature gate \
                            EndpointControllerNameWellKnownLabel instead of kube-controller-manager's controllers, \
                            which ignore the label; or remove the selector of the Service";

/// The same without a selector: its slices mirror Endpoints, or are left from when it had one.
const MIRRORED_OR_LEFT: &str = "Run endpoint-controller-manager with the feature gate \
                                EndpointControllerNameWellKnownLabel instead of kube-controller-manager's controllers, \
                                which ignore the label; or delete the slices, and the Endpoints that they mirror";

/// Services left to another controller by a label, which kube-controller-manager does not know.
fn delegated_service(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let (Some(controller), Some(entry)) = (group.delegated_to(), group.service) else { return };
    // An alias has no endpoints, whoever it is left to.
    if group.is_alias() {
        return;
    }
    let field = format!("metadata.labels[{ENDPOINT_CONTROLLER_NAME}]");
    let new = |message: String, remedy: &str| {
        Finding::new(Severity::Warning, group.subject(), message, remedy).at(&*field)
    };
    // Of mirrors of nothing, `orphaned-mirror` tells.
    let counts =
        |manager: &Manager<'_>| manager.is_ours() && (*manager != Manager::Mirroring || group.is_mirrored());
    let ours: Vec<Manager<'_>> = group.slices.iter().copied().map(Manager::of).filter(counts).collect();
    if !ours.is_empty() {
        let names: BTreeSet<&str> = ours.iter().map(|manager| manager.name()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        findings.push(new(
            format!(
                "The label leaves it to {controller}, and there are {} slices of {}: clients use these too",
                ours.len(),
                names.join(", ")
            ),
            if group.is_served() { SERVED_TWICE } else { MIRRORED_OR_LEFT },
        ));
    } else if group.slices.is_empty() && !group.is_ending && !entry.service.deleting {
        findings.push(new(
            format!("The label leaves it to {controller}, and it has no slices: clients find no endpoints"),
            "Check that this controller runs, or remove the label",
        ));
    }
}

/// Values of managed-by that are nearly those of the controllers: their slices are maintained by none.
fn unknown_manager(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    for slice in &group.slices {
        let manager = Manager::of(slice);
        let Some(known) = meant(manager) else { continue };
        let finding = Finding::new(
            Severity::Warning,
            ObjectRef::slice(slice),
            unknown(manager.name(), known),
            format!("Name the controller that maintains the slice, or delete it; {known} creates its own"),
        );
        findings.push(finding.at(format!("metadata.labels[{MANAGED_BY}]")).of(group.name));
    }
    let Some(object) = group.endpoints else { return };
    let value = label(&object.metadata, ENDPOINTS_MANAGED_BY).unwrap_or_default();
    if value != ENDPOINTS_CONTROLLER && is_like(value, ENDPOINTS_CONTROLLER) {
        let finding = Finding::new(
            Severity::Warning,
            ObjectRef::endpoints(object),
            unknown(value, ENDPOINTS_CONTROLLER),
            "Remove the label, or correct it",
        );
        findings.push(finding.at(format!("metadata.labels[{ENDPOINTS_MANAGED_BY}]")).of(group.name));
    }
}

fn unknown(value: &str, known: &str) -> String {
    format!("It is managed by \"{value}\", which is none of the known controllers, and nearly \"{known}\"")
}

/// The controller that another manager's name probably means.
fn meant(manager: Manager<'_>) -> Option<&'static str> {
    let Manager::Other(value) = manager else { return None };
    let known = [ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER];
    known.into_iter().find(|known| is_like(value, known))
}

/// True if two names are the same but for case, punctuation and the suffix of Kubernetes' names, or by two letters.
fn is_like(value: &str, known: &str) -> bool {
    let normal = |text: &str| -> String {
        let text: String = text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        text.trim_end_matches("k8sio").trim_end_matches("kubernetesio").to_owned()
    };
    !value.is_empty() && (normal(value) == normal(known) || is_within(value.as_bytes(), known.as_bytes(), 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_projects_are_no_typing_errors() {
        let like = |value| meant(Manager::Other(value)).is_some();
        for typo in [
            "endpointslice-controller",
            "endpointslice-controler.k8s.io",
            "EndpointSlice-Controller.k8s.io",
            "endpoint-slice-controller.k8s.io",
            "endpointslice-mirroring-controller",
            "endpointslice-mirroring-controller.k8s.io",
            "endpointslicemirroring-controller",
        ] {
            assert!(like(typo), "{typo}");
        }
        for name in [
            "endpointslice-mesh-controller.cilium.io",
            "endpointslice-controller.linkerd.io",
            "linkerd-external-endpoints-controller",
            "lighthouse-agent.submariner.io",
            "endpointslice-dispatch-controller.karmada.io",
            "endpointslice-mirror-controller.k8s.ovn.org",
            "kubevirt-cloud-provider",
            "secondary-network-controller.example",
            "prometheus-operator",
            "staff",
        ] {
            assert!(!like(name), "{name}");
        }
    }
}
