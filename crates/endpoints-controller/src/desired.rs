//! The desired subsets of a Service, from the pods it selects.

use std::net::IpAddr;

use endpointslice::desired::{Skipped, SkippedReason, published_hostname, target_number, target_ref};
use endpointslice::endpoints::{SubsetBuilder, SubsetPort};
use endpointslice::model::{ServicePort, is_allowed_in_slices, parse_ip};
use endpointslice::{AddressType, Pod, Service};
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset};

/// The treatment of unready and terminating pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unready {
    /// Pods that are not ready are listed as such, terminating ones not at all.
    Distinguished,
    /// Every pod counts as ready.
    Tolerated,
}

impl Unready {
    /// The treatment that the Service requests by `publishNotReadyAddresses`; with `old_annotation`, by the annotation that
    /// preceded that field, if present.
    pub fn of(service: &Service, old_annotation: bool) -> Self {
        let annotation = service.tolerates_unready.filter(|_| old_annotation);
        if annotation.unwrap_or(service.publish_not_ready_addresses) {
            Self::Tolerated
        } else {
            Self::Distinguished
        }
    }
}

/// The subsets of a Service's Endpoints in canonical form, not truncated.
///
/// One address for each pod that is not terminal, in the Service's first family; a pod without such an address, with one
/// that the API server refuses, or without any of the Service's ports, is left out.
///
/// A headless Service may have no ports; any other Service without ports has no endpoints (`endpoints_controller.go`
/// `syncService`).
///
/// Cost: O(log pods) for each pod, and the ports of each.
pub fn desired_subsets<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    unready: Unready,
) -> Vec<EndpointSubset> {
    subsets(service, pods, unready, is_allowed_in_slices)
}

/// The same with the addresses that the API server refuses: only an object that has them already may have them.
pub(crate) fn subsets_with_refused<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    unready: Unready,
) -> Vec<EndpointSubset> {
    subsets(service, pods, unready, |_| true)
}

fn subsets<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    unready: Unready,
    is_allowed: fn(IpAddr) -> bool,
) -> Vec<EndpointSubset> {
    let published = pods.into_iter().filter(|pod| is_published(pod, unready));
    let addressed = published.filter_map(|pod| {
        let address = address_in_family(service, pod).filter(|address| is_allowed(*address))?;
        Some((pod, endpoint_address(service, pod, address)))
    });
    let addressed: Vec<(&Pod, EndpointAddress)> = addressed.collect();
    let is_portless = service.ports.is_empty() && service.is_headless();
    let mut builder = SubsetBuilder::default();
    for (pod, address) in &addressed {
        let ready = unready == Unready::Tolerated || pod.ready;
        let resolved = service.ports.iter().filter_map(|port| {
            let number = target_number(port, &pod.ports)?;
            Some(subset_port(port, number))
        });
        let ports: Vec<SubsetPort<'_>> = resolved.collect();
        if is_portless || !ports.is_empty() {
            builder.add(ports, [(address, ready)]);
        }
    }
    builder.build()
}

/// The addresses that are left out because the API server refuses the whole object for one of them (as it does upstream).
pub(crate) fn refused_addresses<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    unready: Unready,
) -> Vec<Skipped> {
    let published = pods.into_iter().filter(|pod| is_published(pod, unready));
    let is_portless = service.ports.is_empty() && service.is_headless();
    let has_port = |pod: &Pod| service.ports.iter().any(|port| target_number(port, &pod.ports).is_some());
    let refused = published.filter(|pod| is_portless || has_port(pod)).filter_map(|pod| {
        let address = address_in_family(service, pod).filter(|address| !is_allowed_in_slices(*address))?;
        Some(Skipped { name: pod.name.to_string(), reason: SkippedReason::AddressNotAllowed(address) })
    });
    refused.collect()
}

/// True unless the pod has ended or, where that matters, is being deleted (`util/controller_utils.go`
/// `ShouldPodBeInEndpoints`).
pub(crate) fn is_published(pod: &Pod, unready: Unready) -> bool {
    !pod.terminal && (unready == Unready::Tolerated || !pod.is_terminating())
}

/// The address of a pod.
///
/// `nodeName` is present even if empty, as upstream writes it: absent and empty differ.
fn endpoint_address(service: &Service, pod: &Pod, address: IpAddr) -> EndpointAddress {
    EndpointAddress {
        ip: address.to_string(),
        hostname: published_hostname(service, pod).map(Into::into),
        node_name: Some(pod.node_name.as_deref().unwrap_or_default().to_owned()),
        target_ref: Some(target_ref(pod)),
    }
}

/// The address of a pod in the Service's family.
pub(crate) fn address_in_family(service: &Service, pod: &Pod) -> Option<IpAddr> {
    let family = family(service, pod);
    pod.addresses.iter().copied().find(|address| AddressType::of(*address) == family)
}

/// The first family listed, else that of the cluster IP, else that of the pod (`endpoints_controller.go`
/// `podToEndpointAddressForService`).
fn family(service: &Service, pod: &Pod) -> AddressType {
    if let Some(family) = service.families.primary {
        return family;
    }
    let has_cluster_ip = !service.cluster_ip.is_empty() && !service.is_headless();
    let example: Option<IpAddr> =
        if has_cluster_ip { parse_ip(&service.cluster_ip) } else { pod.addresses.first().copied() };
    example.map_or(AddressType::Ipv4, AddressType::of)
}

fn subset_port(port: &ServicePort, number: i32) -> SubsetPort<'_> {
    SubsetPort {
        name: &port.name,
        number,
        protocol: &port.protocol,
        app_protocol: port.app_protocol.as_deref(),
        occurrence: 0,
    }
}
