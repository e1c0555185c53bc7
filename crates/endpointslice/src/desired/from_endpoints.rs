//! Desired endpoints that mirror an Endpoints object.

use std::mem::take;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{self as core, EndpointAddress, EndpointSubset, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};

use super::desired_endpoints::DesiredEndpoints;
use super::endpoint_set::EndpointSet;
use super::port_set::PortSet;
use crate::endpoints::repack_subsets;
use crate::model::{AddressType, is_allowed_in_slices, parse_ip};

/// The endpoints that mirror an Endpoints object, and the number of addresses left out.
#[derive(Clone, Debug, Default)]
pub struct Mirrored {
    /// The endpoints, for both address types.
    pub desired: DesiredEndpoints,
    /// Addresses that are not IP addresses, or that the API server refuses in a slice that is written. A slice that has one
    /// already may keep it (`AddressTypePlan::tolerated`).
    pub invalid: usize,
    /// Addresses that were left out, the invalid ones included.
    pub skipped: usize,
}

/// The endpoints that mirror an Endpoints object, at most `max_per_subset` addresses of each subset.
///
/// Subsets are first brought into their canonical form ([`repack_subsets`]). Of several that end up with the same ports,
/// which only happens with an application protocol, the last one decides about an address
/// (`endpointslicemirroring/reconciler.go` `reconcile`).
///
/// Such subsets share one slice, and here also the maximum: addresses beyond it are counted as skipped. Upstream desires
/// more than fits, drops random ones and writes in every sync.
///
/// Cost: that of the canonical form.
pub fn desired_from_endpoints(endpoints: &Endpoints, max_per_subset: usize) -> Mirrored {
    let mut mirrored = Mirrored {
        desired: DesiredEndpoints::new([AddressType::Ipv4, AddressType::Ipv6]),
        ..Mirrored::default()
    };
    for subset in repack_subsets(endpoints.subsets.as_deref().unwrap_or_default()) {
        mirrored.add_subset(subset, max_per_subset);
    }
    mirrored
}

fn slice_port(port: core::EndpointPort) -> EndpointPort {
    EndpointPort {
        name: Some(port.name.unwrap_or_default()),
        protocol: Some(port.protocol.unwrap_or_else(|| "TCP".to_owned())),
        port: Some(port.port),
        app_protocol: port.app_protocol,
    }
}

impl Mirrored {
    /// Adds ready addresses, then the others, up to the maximum of the subset.
    fn add_subset(&mut self, subset: EndpointSubset, max: usize) {
        let ports = PortSet::new(subset.ports.into_iter().flatten().map(slice_port).collect());
        let types = [AddressType::Ipv4, AddressType::Ipv6];
        // Looked up once: a subset may have thousands of ports.
        let mut groups = types.map(|address_type| take(self.desired.group(address_type, ports.clone())));
        let mut added = 0;
        for (addresses, ready) in [(subset.addresses, true), (subset.not_ready_addresses, false)] {
            for description in addresses.into_iter().flatten() {
                if added < max && self.add_address(description, ready, &ports, &mut groups, max) {
                    added += 1;
                } else {
                    self.skipped += 1;
                }
            }
        }
        for (address_type, group) in types.into_iter().zip(groups) {
            *self.desired.group(address_type, ports.clone()) = group;
        }
    }

    /// Adds an address to its group, unless it is invalid or its slice is full.
    fn add_address(
        &mut self,
        description: EndpointAddress,
        ready: bool,
        ports: &PortSet,
        [ipv4, ipv6]: &mut [EndpointSet; 2],
        max: usize,
    ) -> bool {
        let Some(address) = parse_ip(&description.ip) else {
            self.invalid += 1;
            return false;
        };
        if !is_allowed_in_slices(address) {
            self.invalid += 1;
            let endpoint = mirrored_endpoint(description, address, ready);
            self.desired.tolerate(AddressType::of(address), ports.clone(), endpoint, None);
            return false;
        }
        let group = match AddressType::of(address) {
            AddressType::Ipv4 => ipv4,
            AddressType::Ipv6 => ipv6,
        };
        let fits = group.len() < max;
        if fits {
            group.insert(mirrored_endpoint(description, address, ready));
        }
        fits
    }
}

/// One address as an endpoint: only `ready` is known of its conditions (`endpointslicemirroring/utils.go`
/// `addressToEndpoint`).
fn mirrored_endpoint(description: EndpointAddress, address: IpAddr, ready: bool) -> Endpoint {
    Endpoint {
        addresses: vec![address.to_string()],
        conditions: Some(EndpointConditions { ready: Some(ready), ..EndpointConditions::default() }),
        hostname: description.hostname.filter(|hostname| !hostname.is_empty()),
        node_name: description.node_name,
        target_ref: description.target_ref,
        ..Endpoint::default()
    }
}
