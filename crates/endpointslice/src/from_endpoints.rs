//! Desired endpoints of an Endpoints object that somebody else maintains.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};

use crate::address::{AddressType, is_allowed_in_slices, parse_ip};
use crate::desired::Desired;
use crate::port_set::PortSet;

/// What an Endpoints object asks for, and what could not be taken over.
#[derive(Clone, Debug, Default)]
pub struct Mirrored {
    /// The endpoints, for both address types.
    pub desired: Desired,
    /// Addresses that are no IP address, or none that the API server accepts in a slice.
    pub invalid: usize,
    /// Addresses that were left out, the invalid ones included.
    pub skipped: usize,
}

/// An address as Endpoints know it: its text and the uid of its target.
type AddressKey<'a> = (&'a str, Option<&'a str>);
/// A port, and all addresses behind it with their readiness.
type ByPort<'a> = BTreeMap<PortKey<'a>, BTreeMap<AddressKey<'a>, bool>>;
/// Name, protocol, number and appProtocol; `None` stands for a subset without ports.
type PortKey<'a> = Option<(&'a str, &'a str, i32, Option<&'a str>)>;

/// The endpoints that mirror an Endpoints object, at most `max_per_subset` addresses of each subset.
///
/// Subsets are first brought into their canonical form: ports with the same addresses in the same readiness are one
/// subset, an address that is both ready and not ready is not ready, and the first mention of an address describes it
/// (`endpointslicemirroring/reconciler.go` `reconcile`; `pkg/api/v1/endpoints/util.go` `RepackSubsets`).
///
/// Cost: a sort of the addresses of each port.
pub fn desired_from_endpoints(endpoints: &Endpoints, max_per_subset: usize) -> Mirrored {
    let mut mirrored =
        Mirrored { desired: Desired::new([AddressType::Ipv4, AddressType::Ipv6]), ..Mirrored::default() };
    let mut descriptions = BTreeMap::new();
    let by_port = addresses_by_port(endpoints, &mut descriptions);
    let mut subsets: BTreeMap<Vec<(AddressKey<'_>, bool)>, Vec<EndpointPort>> = BTreeMap::new();
    for (port, addresses) in by_port {
        let ports = subsets.entry(addresses.into_iter().collect()).or_default();
        ports.extend(port.map(endpoint_port));
    }
    for (addresses, ports) in subsets {
        mirrored.add_subset(&addresses, &PortSet::new(ports), &descriptions, max_per_subset);
    }
    mirrored
}

type Descriptions<'a> = BTreeMap<AddressKey<'a>, &'a EndpointAddress>;

fn addresses_by_port<'a>(endpoints: &'a Endpoints, descriptions: &mut Descriptions<'a>) -> ByPort<'a> {
    let mut by_port = ByPort::new();
    for subset in endpoints.subsets.iter().flatten() {
        let ready = subset.addresses.iter().flatten().map(|address| (address, true));
        let not_ready = subset.not_ready_addresses.iter().flatten().map(|address| (address, false));
        for (address, ready) in ready.chain(not_ready) {
            let key = address_key(address);
            descriptions.entry(key).or_insert(address);
            for port in port_keys(subset) {
                let known = by_port.entry(port).or_default().entry(key).or_insert(ready);
                *known &= ready;
            }
        }
    }
    by_port
}

fn address_key(address: &EndpointAddress) -> AddressKey<'_> {
    let target = address.target_ref.as_ref();
    (&address.ip, target.map(|target| target.uid.as_deref().unwrap_or_default()))
}

fn port_keys(subset: &EndpointSubset) -> Vec<PortKey<'_>> {
    let ports = subset.ports.iter().flatten().map(|port| {
        let (name, protocol) = (port.name.as_deref().unwrap_or_default(), port.protocol.as_deref());
        Some((name, protocol.unwrap_or("TCP"), port.port, port.app_protocol.as_deref()))
    });
    let ports: Vec<PortKey<'_>> = ports.collect();
    if ports.is_empty() { vec![None] } else { ports }
}

fn endpoint_port((name, protocol, number, app_protocol): (&str, &str, i32, Option<&str>)) -> EndpointPort {
    EndpointPort {
        name: Some(name.to_owned()),
        protocol: Some(protocol.to_owned()),
        port: Some(number),
        app_protocol: app_protocol.map(ToOwned::to_owned),
    }
}

impl Mirrored {
    /// Adds ready addresses, then the others, until each list has been cut at the maximum.
    fn add_subset(
        &mut self,
        addresses: &[(AddressKey<'_>, bool)],
        ports: &PortSet,
        descriptions: &Descriptions<'_>,
        max: usize,
    ) {
        self.desired.group(AddressType::Ipv4, ports.clone());
        self.desired.group(AddressType::Ipv6, ports.clone());
        let mut added = 0;
        for wanted in [true, false] {
            for (key, ready) in addresses.iter().filter(|(_, ready)| *ready == wanted) {
                if added >= max {
                    break;
                }
                let Some(description) = descriptions.get(key) else { continue };
                if let Some(address) =
                    parse_ip(&description.ip).filter(|address| is_allowed_in_slices(*address))
                {
                    let endpoint = mirrored_endpoint(description, address, *ready);
                    self.desired.insert(AddressType::of(address), ports.clone(), endpoint);
                    added += 1;
                } else {
                    self.invalid += 1;
                }
            }
        }
        self.skipped += addresses.len() - added;
    }
}

/// One address as an endpoint: only `ready` is known of its conditions (`endpointslicemirroring/utils.go`
/// `addressToEndpoint`).
fn mirrored_endpoint(description: &EndpointAddress, address: IpAddr, ready: bool) -> Endpoint {
    Endpoint {
        addresses: vec![address.to_string()],
        conditions: Some(EndpointConditions { ready: Some(ready), ..EndpointConditions::default() }),
        hostname: description.hostname.clone().filter(|hostname| !hostname.is_empty()),
        node_name: description.node_name.clone(),
        target_ref: description.target_ref.clone(),
        ..Endpoint::default()
    }
}
