//! Rules about the owners of slices: they exist, slices name them, and only they have slices.

use endpointslice::well_known::{ENDPOINTS_MANAGED_BY, SERVICE_NAME};
use jiff::SignedDuration;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::finding::{Finding, Severity};
use super::group::{Group, Manager, elects_a_leader, endpoints, is_managed, opts_out};
use super::object::{ObjectRef, Subject};
use super::repair::{Action, Repair};
use super::rule::{Context, Rule};
use crate::snapshot::Kind;

/// A deletion that takes longer waits for a finalizer that its controller does not remove.
const STUCK: SignedDuration = SignedDuration::from_mins(1);

pub(super) const RULES: [Rule; 6] = [
    Rule::new("orphaned-slice", &[Severity::Warning], &[Kind::Services], orphaned_slice),
    Rule::new("orphaned-mirror", &[Severity::Warning], &[Kind::Services, Kind::Endpoints], orphaned_mirror),
    Rule::new("slice-owner", &[Severity::Warning], &[Kind::Services, Kind::Endpoints], slice_owner),
    Rule::new(
        "missing-service-name",
        &[Severity::Info, Severity::Warning],
        &[Kind::Services, Kind::Endpoints],
        missing_service_name,
    ),
    Rule::new("left-behind", &[Severity::Info], &[Kind::Services], left_behind),
    Rule::new("stuck-deletion", &[Severity::Info, Severity::Warning], &[], stuck_deletion),
];

/// Slices of a Service that does not exist: the garbage collector should have deleted them.
fn orphaned_slice(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if group.name.is_empty() || group.service.is_some() || group.is_ending {
        return;
    }
    for slice in group.slices_of(Manager::EndpointSlice) {
        let cause = if slice.metadata.owner_references.iter().flatten().next().is_some() {
            "the garbage collector of kube-controller-manager has not removed it"
        } else {
            "without an owner reference no garbage collector removes it"
        };
        let finding = Finding::new(
            Severity::Warning,
            ObjectRef::slice(slice),
            format!("Its Service {} does not exist; {cause}", group.name),
            "Delete the slice: controllers leave it to the garbage collector",
        );
        let repair = Repair::of_slice(slice, Action::Delete).map(|repair| repair.unless(group.subject()));
        findings.push(finding.of(group.name).repaired_by(repair));
    }
}

/// Mirrored slices without the Endpoints that they mirror.
fn orphaned_mirror(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if group.name.is_empty() || group.is_ending || group.is_mirrored() {
        return;
    }
    let name = group.name;
    for slice in group.slices_of(Manager::Mirroring) {
        let cause = match (group.service, group.endpoints) {
            (None, _) => format!("The Service {name} does not exist"),
            (_, None) => format!("The Endpoints {name} that it mirrors do not exist"),
            (_, Some(endpoints)) if opts_out(endpoints) => {
                format!("The Endpoints {name} opt out of being mirrored")
            }
            _ => format!("The Service {name} has a selector, so that its Endpoints are not mirrored"),
        };
        let finding = Finding::new(
            Severity::Warning,
            ObjectRef::slice(slice),
            format!("{cause}; clients still get its {} endpoints", endpoints(slice).len()),
            "Delete the slice; a controller that runs does it at its next start",
        );
        let missing = match (group.service, group.endpoints) {
            (None, _) => Some(group.subject()),
            (_, None) => Some(ObjectRef::new(Subject::Endpoints, group.namespace, name)),
            _ => None,
        };
        let repair = Repair::of_slice(slice, Action::Delete);
        let repair = repair.map(|repair| missing.into_iter().fold(repair, Repair::unless));
        findings.push(finding.of(name).repaired_by(repair));
    }
}

/// Slices whose owner reference is missing, or names an older object.
fn slice_owner(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let service = group.service.filter(|_| group.is_served()).map(|entry| &entry.object.metadata);
    let mirrored = group.endpoints.filter(|_| group.is_mirrored()).map(|endpoints| &endpoints.metadata);
    let owners = [(Manager::EndpointSlice, "Service", service), (Manager::Mirroring, "Endpoints", mirrored)];
    for (manager, kind, owner) in owners {
        let Some(owner) = owner.filter(|owner| owner.uid.is_some()) else { continue };
        for slice in group.slices_of(manager) {
            findings.extend(owner_finding(slice, kind, owner).map(|finding| finding.of(group.name)));
        }
    }
}

fn owner_finding(slice: &EndpointSlice, kind: &'static str, owner: &ObjectMeta) -> Option<Finding> {
    let (name, uid) = (owner.name.clone()?, owner.uid.clone()?);
    let references: Vec<&OwnerReference> = slice.metadata.owner_references.iter().flatten().collect();
    let of_kind = |it: &&&OwnerReference| it.kind == kind && it.api_version == "v1";
    if references.iter().filter(of_kind).any(|it| it.uid == uid) {
        return None;
    }
    let field = "metadata.ownerReferences";
    let new =
        |message, remedy| Finding::new(Severity::Warning, ObjectRef::slice(slice), message, remedy).at(field);
    if let Some(other) = references.iter().find(of_kind) {
        return Some(new(
            format!(
                "It names the owner {kind} {} with uid {}; the {kind} of today has uid {uid}",
                other.name, other.uid
            ),
            "Wait for the garbage collector or the next sync, which replace the slice; if both stay away, delete it",
        ));
    }
    let add = Action::AddOwner { kind, name: name.clone(), uid };
    let missing = new(
        format!("It has no owner reference to the {kind} {name}, and stays when that is deleted"),
        "Add the owner reference; endpoint-controller-manager repairs it while it runs, kube-controller-manager with \
         the next change of the Service, by another slice",
    );
    Some(missing.repaired_by(Repair::of_slice(slice, add)))
}

/// Slices that name no Service.
fn missing_service_name(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if !group.name.is_empty() {
        return;
    }
    for slice in &group.slices {
        let object = ObjectRef::slice(slice);
        if !Manager::of(slice).is_ours() {
            let finding = Finding::new(
                Severity::Info,
                object,
                format!("It has no label {SERVICE_NAME}: kube-proxy and DNS do not use it"),
                "Set the label if it is meant for a Service; some controllers leave it out on purpose",
            );
            findings.push(finding.at("metadata.labels"));
            continue;
        }
        let owner = owner_name(group, slice);
        let action = owner
            .map_or(Action::Delete, |owner| Action::SetLabel { key: SERVICE_NAME, value: owner.to_owned() });
        let finding = Finding::new(
            Severity::Warning,
            object,
            format!(
                "Its controller has set the label {SERVICE_NAME}, and it is gone: clients do not use the slice, and \
                 kube-controller-manager may stop to maintain the Service"
            ),
            owner.map_or("Delete the slice: its owner does not exist".to_owned(), |owner| {
                format!("Set the label to {owner}, or delete the slice")
            }),
        );
        let finding = finding.at("metadata.labels").of(owner.unwrap_or_default());
        findings.push(finding.repaired_by(Repair::of_slice(slice, action)));
    }
}

/// The name of the Service or Endpoints that own a slice, if they exist.
fn owner_name<'a>(group: &Group<'a>, slice: &'a EndpointSlice) -> Option<&'a str> {
    let exists = |owner: &&OwnerReference| {
        let uid = match owner.kind.as_str() {
            "Service" => group.objects.service(&owner.name).and_then(|it| it.object.metadata.uid.as_deref()),
            "Endpoints" => group.objects.endpoints(&owner.name).and_then(|it| it.metadata.uid.as_deref()),
            _ => None,
        };
        uid == Some(&*owner.uid)
    };
    slice.metadata.owner_references.iter().flatten().find(exists).map(|owner| &*owner.name)
}

/// Slices and Endpoints of a time when the Service still had a selector. Both controllers leave them
/// (`endpointslice_controller.go` `syncService`), and no controller keeps them up to date. kube-proxy ignores those of an alias,
/// and Endpoints are mirrored only without a selector.
fn left_behind(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if group.service.is_none() || group.is_served() || group.delegated_to().is_some() {
        return;
    }
    let (state, name) =
        (if group.wants_mirror() { "has no selector" } else { "is of type ExternalName" }, group.name);
    let ignored = if group.is_alias() { "; kube-proxy ignores them" } else { "" };
    let mirrored = if group.wants_mirror() { ", and are mirrored like those of users" } else { "" };
    for slice in group.slices_of(Manager::EndpointSlice) {
        let finding = Finding::new(
            Severity::Info,
            ObjectRef::slice(slice),
            format!(
                "The Service {name} {state} now; its {} endpoints stay as they were, also when their pods go{ignored}",
                endpoints(slice).len()
            ),
            "Delete the slice, unless its endpoints are to stay; controllers leave it alone",
        );
        findings.push(finding.of(name));
    }
    let left = group.endpoints.filter(|endpoints| is_managed(endpoints) && !elects_a_leader(endpoints));
    if let Some(endpoints) = left {
        let finding = Finding::new(
            Severity::Info,
            ObjectRef::endpoints(endpoints),
            format!("The Service {name} {state} now; its addresses stay as they were{mirrored}"),
            format!("Delete the object, or remove the label {ENDPOINTS_MANAGED_BY} if you maintain it now"),
        );
        findings.push(finding.of(name));
    }
}

/// Slices whose deletion waits for a finalizer.
fn stuck_deletion(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    for slice in &group.deleted {
        let since = slice.metadata.deletion_timestamp.as_ref().map(|time| time.0);
        if since.is_none_or(|since| context.snapshot.now().duration_since(since) < STUCK) {
            continue;
        }
        let finalizers = slice.metadata.finalizers.as_deref().unwrap_or_default().join(", ");
        let count = endpoints(slice).len();
        let severity = if count == 0 { Severity::Info } else { Severity::Warning };
        let finding = Finding::new(
            severity,
            ObjectRef::slice(slice),
            format!(
                "It is being deleted and waits for its finalizers ({finalizers}); clients still get its {count} endpoints"
            ),
            "Find the controller of the finalizer, or remove the finalizer",
        );
        findings.push(finding.at("metadata.finalizers").of(group.name));
    }
}
