//! The address of a pod in the network of its Service, by what its controller finds.

use k8s_openapi::api::core::v1 as core;
use pod_network_controller::Missing;

use super::codes;
use super::subject::Subject;
use crate::report::Reason;
use crate::snapshot::{Networks, PodEntry, is_on_pod_network};

/// The reason for which no pod of a Service on a pod network is published.
pub(super) fn service_reason(subject: &Subject<'_>) -> Option<Reason> {
    let (networks, service) = (subject.snapshot.networks(), &subject.entry.service);
    if !is_on_pod_network(service) || service.selector.is_none() {
        return None;
    }
    if !networks.names_network(service) {
        return Some(codes::NO_NETWORK.with_remedy(
            "no label or annotation of the Service names a network: nothing is published",
            "docs/operate/pod-networks.md lists them",
        ));
    }
    let pods = subject.selected.iter().map(|entry| &*entry.pod);
    let (one, other) = networks.several(service, pods)?;
    Some(codes::AMBIGUOUS_NETWORK.with_remedy(
        format!("its pods are in several networks that it may mean, {one} and {other}: nothing is published"),
        "label the Service with the kind and the namespace of one",
    ))
}

/// The reason for which a pod is not ready in slices of another network, or not in them.
pub(super) fn network_reason(subject: &Subject<'_>, entry: &PodEntry) -> Option<Reason> {
    let networks = subject.snapshot.networks();
    match networks.attachment(&subject.entry.service, &entry.pod)? {
        Ok(attachment) if attachment.ready => None,
        Ok(_) => Some(codes::NETWORK_NOT_READY.reason(not_ready(subject, entry))),
        Err(Missing::NoClaim) => Some(codes::NOT_IN_NETWORK.reason(no_claim(networks, entry))),
        Err(missing) => Some(codes::NOT_IN_NETWORK.reason(missing.to_string())),
    }
}

fn not_ready(subject: &Subject<'_>, entry: &PodEntry) -> String {
    let device = subject.snapshot.networks().unready(&subject.entry.service, &entry.pod);
    device.map_or_else(
        || "its device in the network is not ready".to_owned(),
        |device| format!("its device {device} in the network is not ready"),
    )
}

/// The reason for which no ResourceClaim is reserved for a pod.
fn no_claim(networks: &Networks, entry: &PodEntry) -> String {
    let names: Vec<(&str, Option<&str>)> = claims(&entry.object).collect();
    let Some((first, _)) = names.first() else { return "it asks for no ResourceClaim".to_owned() };
    let namespace = &entry.pod.namespace;
    let mut made = names.iter().filter_map(|(_, name)| *name);
    let found = made.find_map(|name| Some((name, networks.claim_consumers(namespace, name)?)));
    match found {
        None => format!("the ResourceClaim of its claim {first} does not exist yet"),
        Some((name, consumers)) if consumers.is_empty() => {
            format!("ResourceClaim {name} is not allocated yet")
        }
        Some((name, _)) => format!("ResourceClaim {name} is reserved for other pods"),
    }
}

/// The claims of a pod by their names there, with the names of their ResourceClaims once these have been made.
fn claims(pod: &core::Pod) -> impl Iterator<Item = (&str, Option<&str>)> {
    let statuses = pod.status.as_ref().and_then(|status| status.resource_claim_statuses.as_deref());
    let claims = pod.spec.as_ref().and_then(|spec| spec.resource_claims.as_deref());
    let claims = claims.into_iter().flatten().map(move |claim| {
        let status = statuses.into_iter().flatten().find(|status| status.name == claim.name);
        let made = claim.resource_claim_name.as_deref();
        (&*claim.name, made.or_else(|| status?.resource_claim_name.as_deref()))
    });
    let extended = pod.status.as_ref().and_then(|status| status.extended_resource_claim_status.as_ref());
    claims.chain(extended.map(|status| ("of extended resources", Some(&*status.resource_claim_name))))
}
