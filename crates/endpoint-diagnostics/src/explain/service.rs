//! The reasons that concern a Service as a whole.

use std::collections::BTreeSet;

use endpointslice::model::LabelSet;
use endpointslice::plan::TrafficDistribution;
use endpointslice::well_known::{
    ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER, HEADLESS, LEADER, SKIP_MIRROR,
};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::codes;
use super::entries;
use super::network;
use super::planned::Planned;
use super::subject::{EndpointSource, Subject};
use crate::audit::{elects_a_leader, is_managed};
use crate::metadata::{delegate, label, name, slice_manager};
use crate::report::{Presence, Reason};
use crate::snapshot::Kind;

/// The reasons of a Service, without those of the comparison.
pub(super) fn reasons(subject: &Subject<'_>, planned: &Planned<'_>) -> Vec<Reason> {
    let mut reasons = life(subject);
    reasons.extend(bypassed(subject));
    match &subject.source {
        EndpointSource::ExternalName => reasons.push(codes::EXTERNAL_NAME.reason(
            "the Service is an alias (type ExternalName), so no controller keeps slices or Endpoints for its pods",
        )),
        EndpointSource::Delegated(to) => reasons.push(codes::DELEGATED.reason(format!(
            "the label service.kubernetes.io/endpoint-controller-name leaves the Service to {to}"
        ))),
        EndpointSource::CustomEndpoints => reasons.extend(custom(subject)),
        EndpointSource::Pods => reasons.extend(of_pods(subject, planned)),
    }
    if !matches!(subject.source, EndpointSource::Delegated(_))
        && let Some(to) = delegate(&subject.entry.object)
    {
        reasons.push(codes::DELEGATION_IGNORED.reason(format!(
            "the Service has the label service.kubernetes.io/endpoint-controller-name={to}; the present controllers ignore it"
        )));
    }
    reasons.extend(network::service_reason(subject));
    reasons.extend(mirror(planned));
    reasons.extend(leftovers(subject));
    reasons.extend(of_slices(subject));
    reasons.extend(local_traffic(subject));
    reasons.extend(unreadable(subject));
    reasons
}

fn life(subject: &Subject<'_>) -> Vec<Reason> {
    let mut reasons = vec![];
    let service = subject.service();
    let namespace = subject.snapshot.namespaces().get(&*service.namespace);
    if namespace.is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some()) {
        reasons.push(codes::NAMESPACE_TERMINATING.reason(format!(
            "namespace {} is being deleted: the API server refuses new slices and Endpoints",
            service.namespace
        )));
    }
    if service.deleting {
        reasons.push(codes::SERVICE_TERMINATING.with_remedy(
            "the Service is being deleted: no slices are created for it",
            "if it stays, one of its finalizers is not removed by the program that set it",
        ));
    }
    reasons
}

/// Slices with endpoints that connections to the cluster IP do not reach. Of the pods' slices, their plan and the reasons of pods say
/// all but the label, which controllers leave.
fn bypassed(subject: &Subject<'_>) -> Vec<Reason> {
    let is_told = |slice: &EndpointSlice| {
        subject.source == EndpointSource::Pods
            && slice_manager(slice) == ENDPOINTSLICE_CONTROLLER
            && label(&slice.metadata, HEADLESS).is_none()
    };
    let is_due = |slice: &&&EndpointSlice| {
        subject.source != EndpointSource::ExternalName
            && slice.endpoints.iter().flatten().next().is_some()
            && !is_told(slice)
    };
    let reason = |slice: &&EndpointSlice| {
        let why = subject.entry.bypasses(slice)?;
        let message = format!(
            "slice {} {why}: no connection to the cluster IP reaches its endpoints",
            name(&slice.metadata)
        );
        Some(
            codes::BYPASSED_SLICE.with_remedy(message, "correct the slice, or the Endpoints that it mirrors"),
        )
    };
    subject.slices.iter().filter(is_due).filter_map(reason).collect()
}

fn custom(subject: &Subject<'_>) -> Vec<Reason> {
    let mut reasons = vec![codes::NO_SELECTOR.reason(
        "the Service has no selector, so no pod belongs to it; its Endpoints are written by users or other programs",
    )];
    match subject.endpoints {
        // Slices that users or other programs write need no Endpoints.
        None if subject.slices.is_empty() && subject.snapshot.can_read(Kind::Endpoints) => {
            reasons.push(codes::NO_ENDPOINTS.with_remedy(
                "no Endpoints of the Service's name exist",
                "give the Service a selector, or create Endpoints or slices for it",
            ));
        }
        None => {}
        Some(endpoints) => reasons.extend(opt_out(endpoints)),
    }
    reasons
}

fn opt_out(endpoints: &Endpoints) -> Option<Reason> {
    if label(&endpoints.metadata, SKIP_MIRROR) == Some("true") {
        let message =
            format!("the Endpoints have the label {SKIP_MIRROR}=true, so they are not mirrored to slices");
        return Some(
            codes::SKIP_MIRROR
                .with_remedy(message, "remove the label, unless another program writes slices for them"),
        );
    }
    elects_a_leader(endpoints).then(|| {
        codes::LEADER_LOCK.reason(format!(
            "the Endpoints are the lock of a leader election (annotation {LEADER}), so they are not mirrored to slices"
        ))
    })
}

fn of_pods(subject: &Subject<'_>, planned: &Planned<'_>) -> Vec<Reason> {
    let service = subject.service();
    let mut reasons = vec![];
    if subject.selected.is_empty() && subject.snapshot.can_read(Kind::Pods) {
        let selector = service.selector.iter().flat_map(LabelSet::iter);
        let selector: Vec<String> = selector.map(|(key, value)| format!("{key}={value}")).collect();
        reasons.push(codes::SELECTS_NO_PODS.with_remedy(
            format!(
                "no pod in namespace {} has all labels of the selector {}",
                service.namespace,
                selector.join(",")
            ),
            "compare the selector with kubectl get pods --show-labels",
        ));
    }
    if service.ports.is_empty() && !service.is_headless() {
        reasons.push(
            codes::NO_PORTS
                .reason("the Service has no ports and is not headless, so its Endpoints have no addresses"),
        );
    }
    if planned.is_over_capacity() {
        reasons.push(codes::OVER_CAPACITY.with_remedy(
            "the Service has more than 1,000 addresses, and Endpoints hold no more; the slices have all of them",
            "consumers of the Endpoints should read the slices instead",
        ));
    }
    reasons.extend(planned.no_hints().map(|(address_type, no_hints)| {
        codes::HINTS_DROPPED.reason(format!(
            "topology-aware hints are requested and impossible for {address_type}: {no_hints}"
        ))
    }));
    reasons.extend(ignored_hints(subject));
    reasons
}

fn ignored_hints(subject: &Subject<'_>) -> Option<Reason> {
    let service = subject.service();
    if let Some(value) = service.traffic_distribution.as_deref() {
        if service.wants_topology_hints() {
            return Some(codes::HINTS_IGNORED.with_remedy(
                format!("trafficDistribution: {value} has no effect, because the annotation for topology-aware hints hides it"),
                "remove the annotation",
            ));
        }
        if TrafficDistribution::of(service).is_none() {
            return Some(
                codes::HINTS_IGNORED
                    .reason(format!("trafficDistribution: {value} is unknown, so there are no hints")),
            );
        }
    }
    let mode = service.topology_mode.as_deref().filter(|_| !service.wants_topology_hints())?;
    let is_off = mode.is_empty() || mode.eq_ignore_ascii_case("disabled");
    (!is_off).then(|| {
        codes::HINTS_IGNORED.with_remedy(
            format!("the annotation for topology-aware hints has the value {mode}, which has no effect"),
            "the value that has one is Auto",
        )
    })
}

fn mirror(planned: &Planned<'_>) -> Vec<Reason> {
    let mut reasons = vec![];
    let (invalid, skipped) = (planned.mirror.invalid, planned.mirror.skipped);
    if invalid > 0 {
        reasons.push(codes::MIRROR_REFUSED.with_remedy(
            format!("{invalid} addresses of the Endpoints are not mirrored: no IP address, or one that slices may not have"),
            "loopback, link-local and multicast addresses are refused in slices",
        ));
    }
    if skipped > invalid {
        reasons.push(codes::MIRROR_TRUNCATED.reason(format!(
            "{} addresses of the Endpoints are beyond the maximum of a subset and not mirrored",
            skipped - invalid
        )));
    }
    reasons
}

/// Objects that a controller kept once and leaves alone now.
fn leftovers(subject: &Subject<'_>) -> Vec<Reason> {
    if subject.source == EndpointSource::Pods {
        return vec![];
    }
    let cause = if subject.source == EndpointSource::ExternalName {
        "are left from when the Service had another type; kube-proxy ignores them"
    } else {
        "are left from when the Service had a selector, and are used as they are"
    };
    let mut reasons = vec![];
    let names: Vec<&str> = subject
        .managed_by(ENDPOINTSLICE_CONTROLLER)
        .filter_map(|slice| slice.metadata.name.as_deref())
        .collect();
    if !names.is_empty() {
        reasons.push(codes::LEFTOVER_SLICES.with_remedy(
            format!("slices {cause}: {}", names.join(", ")),
            "delete them, if they are not wanted",
        ));
    }
    if subject.endpoints.is_some_and(is_managed) {
        reasons.push(
            codes::LEFTOVER_ENDPOINTS
                .with_remedy(format!("the Endpoints {cause}"), "delete them, if they are not wanted"),
        );
    }
    reasons
}

fn of_slices(subject: &Subject<'_>) -> Vec<Reason> {
    let mut reasons = vec![];
    let delegate = if let EndpointSource::Delegated(name) = &subject.source { name } else { "" };
    for slice in &subject.slices {
        let name = name(&slice.metadata);
        let manager = slice_manager(slice);
        if !delegate.is_empty() && manager == delegate {
            continue;
        }
        if ![ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER].contains(&manager) {
            let of = if manager.is_empty() {
                "no controller by its labels".to_owned()
            } else {
                manager.to_owned()
            };
            reasons.push(codes::ANOTHER_MANAGER.reason(format!("slice {name} belongs to {of}")));
        } else if slice.metadata.deletion_timestamp.is_some() {
            let finalizers = slice.metadata.finalizers.clone().unwrap_or_default().join(", ");
            reasons.push(codes::TERMINATING_SLICE.reason(format!(
                "slice {name} is being deleted and kept by finalizers ({finalizers}); consumers still use it"
            )));
        }
    }
    reasons
}

/// The nodes whose kube-proxy has no endpoint for connections to the cluster IP, if it uses those of its own node alone.
fn local_traffic(subject: &Subject<'_>) -> Option<Reason> {
    let policy = subject.entry.object.spec.as_ref()?.internal_traffic_policy.as_deref();
    if policy != Some("Local") || !subject.entry.has_cluster_ip() {
        return None;
    }
    let used = subject.slices.iter().filter(|slice| subject.entry.bypasses(slice).is_none());
    let accepts = |it: &&Endpoint| {
        matches!(entries::state(it.conditions.as_ref()), Presence::Ready | Presence::Serving)
    };
    let endpoints = used.flat_map(|slice| slice.endpoints.iter().flatten()).filter(accepts);
    let with: BTreeSet<&str> = endpoints.filter_map(|endpoint| endpoint.node_name.as_deref()).collect();
    let all = subject.snapshot.nodes().iter().count();
    let without = subject.snapshot.nodes().iter().filter(|node| !with.contains(&*node.name)).count();
    let nodes = match (all, without) {
        (0, _) => "nodes without an endpoint".to_owned(),
        (_, 0) => return None,
        _ => format!("{without} of {all} nodes, which have no endpoint"),
    };
    Some(
        codes::LOCAL_TRAFFIC
            .reason(format!("internalTrafficPolicy is Local: connections to the cluster IP fail on {nodes}")),
    )
}

fn unreadable(subject: &Subject<'_>) -> Vec<Reason> {
    let unread = subject.unread();
    unread
        .map(|kind| {
            let kind = kind.resource();
            codes::UNREADABLE
                .reason(format!("{kind} may not be read, or are not in the input, and are left out"))
        })
        .collect()
}
