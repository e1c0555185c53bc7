//! Subsets of an Endpoints object in their canonical form.
//!
//! The same addresses and ports can be divided into subsets in many ways. The canonical one has as few subsets as
//! possible and one order, so that equal content is equal text (`pkg/api/v1/endpoints/util.go` `RepackSubsets`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset};

use super::order::sort;
use crate::model::text;

/// Collects addresses and their ports, and packs them into subsets.
///
/// * Ports that lead to the same addresses in the same readiness become one subset.
/// * An address that one port has both as ready and as not ready is not ready.
/// * An address is identified by its IP and the uid of its target; its first mention describes it everywhere.
///
/// Cost: a logarithm of the addresses and of the ports for each one added. Addresses that have the same ports are looked at once
/// for all of these, and [`Self::build`] clones each address once for every subset it is in.
#[derive(Default)]
pub struct SubsetBuilder<'a> {
    addresses: BTreeMap<AddressKey<'a>, &'a EndpointAddress>,
    /// The addresses that were added with the same ports.
    lists: BTreeMap<Vec<SubsetPort<'a>>, Readiness<'a>>,
}

/// The most addresses of an object that are looked at, each with every port, several times as many as one can have: more are
/// looked at only if ports share addresses without having the same.
pub(crate) const MAX_LISTED: usize = 1 << 19;

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
/// A list of addresses: ready or not.
type Readiness<'a> = BTreeMap<AddressKey<'a>, bool>;

fn key(address: &EndpointAddress) -> AddressKey<'_> {
    let target = address.target_ref.as_ref();
    (&address.ip, text(target.and_then(|target| target.uid.as_ref())))
}

impl<'a> SubsetBuilder<'a> {
    /// Adds addresses, ready or not, to each of these ports; without ports, to the subset that has none.
    pub fn add(
        &mut self,
        mut ports: Vec<SubsetPort<'a>>,
        addresses: impl IntoIterator<Item = (&'a EndpointAddress, bool)>,
    ) {
        let mut addresses = addresses.into_iter().peekable();
        if addresses.peek().is_none() {
            return;
        }
        ports.sort_unstable();
        let list = self.lists.entry(ports).or_default();
        for (address, ready) in addresses {
            let key = key(address);
            self.addresses.entry(key).or_insert(address);
            mention(list, key, ready);
        }
    }

    /// Builds the subsets, with addresses in order of IP and uid, ports and subsets in order of their hashes.
    pub fn build(self) -> Vec<EndpointSubset> {
        self.build_within(usize::MAX).unwrap_or_default()
    }

    /// The same; `None` if more than `max` addresses would have to be looked at.
    fn build_within(self, max: usize) -> Option<Vec<EndpointSubset>> {
        let ports_of = self.ports_by_lists();
        let lists: Vec<Readiness<'a>> = self.lists.into_values().collect();
        let looked_at = ports_of.keys().flatten().filter_map(|number| lists.get(*number));
        if looked_at.map(BTreeMap::len).sum::<usize>() > max {
            return None;
        }
        let mut groups: BTreeMap<Vec<(AddressKey<'_>, bool)>, Vec<EndpointPort>> = BTreeMap::new();
        for (numbers, ports) in ports_of {
            let of_ports: Vec<&Readiness<'a>> =
                numbers.iter().filter_map(|number| lists.get(*number)).collect();
            let group = groups.entry(merged(&of_ports)).or_default();
            group.extend(ports.into_iter().flatten().filter(|port| port.number > 0).map(EndpointPort::from));
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
        Some(subsets)
    }

    /// The ports by the numbers of the lists whose addresses they have; `None` stands for the subset without ports.
    fn ports_by_lists(&self) -> BTreeMap<Vec<usize>, Vec<Option<SubsetPort<'a>>>> {
        let mut lists_of: BTreeMap<Option<SubsetPort<'a>>, Vec<usize>> = BTreeMap::new();
        for (number, ports) in self.lists.keys().enumerate() {
            let portless = ports.is_empty().then_some(None);
            for port in ports.iter().copied().map(Some).chain(portless) {
                let lists = lists_of.entry(port).or_default();
                // A list may have a port twice.
                if lists.last() != Some(&number) {
                    lists.push(number);
                }
            }
        }
        let mut ports_of: BTreeMap<Vec<usize>, Vec<Option<SubsetPort<'a>>>> = BTreeMap::new();
        for (port, lists) in lists_of {
            ports_of.entry(lists).or_default().push(port);
        }
        ports_of
    }
}

/// Adds an address to a list. It is not ready if one mention of it is not.
fn mention<'a>(list: &mut Readiness<'a>, key: AddressKey<'a>, ready: bool) {
    let known = list.entry(key).or_insert(ready);
    *known &= ready;
}

/// The addresses of all these lists, in order.
///
/// Cost: a copy of the usual one list; a logarithm for each address of several.
fn merged<'a>(lists: &[&Readiness<'a>]) -> Vec<(AddressKey<'a>, bool)> {
    if let [only] = lists {
        return only.iter().map(|(key, ready)| (*key, *ready)).collect();
    }
    let mut merged = Readiness::new();
    for (key, ready) in lists.iter().copied().flatten() {
        mention(&mut merged, *key, *ready);
    }
    merged.into_iter().collect()
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
///
/// Subsets whose canonical form has more than half a million addresses are returned as they are: tenants write Endpoints, and one
/// of a megabyte can have a form of tens of gigabytes.
pub fn repack_subsets(subsets: &[EndpointSubset]) -> Vec<EndpointSubset> {
    let mut builder = SubsetBuilder::default();
    let mut occurrences = 0..;
    for subset in subsets {
        let read = |port| SubsetPort::read(port, occurrences.next().unwrap_or_default());
        let ports = subset.ports.iter().flatten().map(read).collect();
        let ready = subset.addresses.iter().flatten().map(|address| (address, true));
        let not_ready = subset.not_ready_addresses.iter().flatten().map(|address| (address, false));
        builder.add(ports, ready.chain(not_ready));
    }
    builder.build_within(MAX_LISTED).unwrap_or_else(|| subsets.to_vec())
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
