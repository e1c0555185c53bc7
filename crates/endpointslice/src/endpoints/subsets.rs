//! Subsets of an Endpoints object in their canonical form.
//!
//! The same addresses and ports can be divided into subsets in many ways. The canonical one has as few subsets as
//! possible and one order, so that equal content is equal text (`pkg/api/v1/endpoints/util.go` `RepackSubsets`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset};

use super::order::sort;
use crate::model::text;

/// Collects the addresses of each port, and packs them into subsets.
///
/// * Ports that lead to the same addresses in the same readiness become one subset.
/// * An address that one port has both as ready and as not ready is not ready.
/// * An address is identified by its IP and the uid of its target; its first mention describes it everywhere.
///
/// Cost: a logarithm of the addresses for each one added; [`Self::build`] clones each address once for every subset it
/// is in.
#[derive(Default)]
pub struct SubsetBuilder<'a> {
    addresses: BTreeMap<AddressKey<'a>, &'a EndpointAddress>,
    ports: BTreeMap<Option<SubsetPort<'a>>, Readiness<'a>>,
}

/// The fields of a subset's port that distinguish ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubsetPort<'a> {
    /// The name; may be empty.
    pub name: &'a str,
    /// The port number; a number below 1 stands for no port, and is not written.
    pub number: i32,
    /// The protocol.
    pub protocol: &'a str,
    /// The application protocol.
    pub app_protocol: Option<&'a str>,
    /// Distinguishes ports that are otherwise equal; equal for all mentions of the same port.
    pub occurrence: usize,
}

/// IP and uid of the target, in the order of addresses in a list.
type AddressKey<'a> = (&'a str, &'a str);
/// The addresses of one port: ready or not.
type Readiness<'a> = BTreeMap<AddressKey<'a>, bool>;

fn key(address: &EndpointAddress) -> AddressKey<'_> {
    let target = address.target_ref.as_ref();
    (&address.ip, text(target.and_then(|target| target.uid.as_ref())))
}

impl<'a> SubsetBuilder<'a> {
    /// Adds an address to a port, or to the subset without ports.
    pub fn add(&mut self, port: Option<SubsetPort<'a>>, address: &'a EndpointAddress, ready: bool) {
        let key = key(address);
        self.addresses.entry(key).or_insert(address);
        let known = self.ports.entry(port).or_default().entry(key).or_insert(ready);
        *known &= ready;
    }

    /// Builds the subsets, with addresses in order of IP and uid, ports and subsets in order of their hashes.
    pub fn build(self) -> Vec<EndpointSubset> {
        let mut groups: BTreeMap<Vec<(AddressKey<'_>, bool)>, Vec<EndpointPort>> = BTreeMap::new();
        for (port, readiness) in self.ports {
            let ports = groups.entry(readiness.into_iter().collect()).or_default();
            ports.extend(port.filter(|port| port.number > 0).map(EndpointPort::from));
        }
        let mut subsets = Vec::with_capacity(groups.len());
        for (readiness, ports) in groups {
            let list = |wanted: bool| {
                let listed = readiness.iter().filter(|(_, ready)| *ready == wanted);
                let listed = listed.filter_map(|(key, _)| self.addresses.get(key));
                non_empty(listed.map(|address| (*address).clone()).collect())
            };
            subsets.push(EndpointSubset {
                addresses: list(true),
                not_ready_addresses: list(false),
                ports: non_empty(ports),
            });
        }
        sort(&mut subsets);
        subsets
    }
}

fn non_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

impl From<SubsetPort<'_>> for EndpointPort {
    fn from(port: SubsetPort<'_>) -> Self {
        let non_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Self {
            name: non_empty(port.name),
            port: port.number,
            protocol: non_empty(port.protocol),
            app_protocol: port.app_protocol.map(ToOwned::to_owned),
        }
    }
}

/// Brings subsets into their canonical form.
///
/// Two mentions of a port with an application protocol are two ports, as upstream compares that field by its address
/// in memory. Only objects written by hand have such ports; they are rewritten exactly when upstream rewrites them.
pub fn repack_subsets(subsets: &[EndpointSubset]) -> Vec<EndpointSubset> {
    let mut builder = SubsetBuilder::default();
    let mut occurrences = 0..;
    for subset in subsets {
        let read = |port| SubsetPort::read(port, occurrences.next().unwrap_or_default());
        let ports: Vec<SubsetPort<'_>> = subset.ports.iter().flatten().map(read).collect();
        let ready = subset.addresses.iter().flatten().map(|address| (address, true));
        let not_ready = subset.not_ready_addresses.iter().flatten().map(|address| (address, false));
        for (address, ready) in ready.chain(not_ready) {
            if ports.is_empty() {
                builder.add(None, address, ready);
            }
            for port in &ports {
                builder.add(Some(*port), address, ready);
            }
        }
    }
    builder.build()
}

impl<'a> SubsetPort<'a> {
    fn read(port: &'a EndpointPort, occurrence: usize) -> Self {
        Self {
            name: text(port.name.as_ref()),
            number: port.port,
            protocol: text(port.protocol.as_ref()),
            app_protocol: port.app_protocol.as_deref(),
            occurrence: if port.app_protocol.is_some() { occurrence } else { 0 },
        }
    }
}
