//! The pods in slices and Endpoints, with all that consumers read of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort as SubsetPort, Endpoints, ObjectReference};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};

use crate::report::Presence;

/// The entries of each pod, and those that are not pods.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entries<'a, E> {
    pub(super) pods: BTreeMap<&'a str, Vec<E>>,
    pub(super) others: Vec<E>,
}

/// One endpoint of a slice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SliceEntry<'a> {
    pub(super) address_type: &'a str,
    addresses: Vec<&'a str>,
    pub(super) ports: Vec<String>,
    /// `ready`, `serving` and `terminating`.
    conditions: [Option<bool>; 3],
    hostname: &'a str,
    node: &'a str,
    zone: &'a str,
    pub(super) uid: &'a str,
}

/// One address of an Endpoints object, with one port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressEntry<'a> {
    pub(super) ip: &'a str,
    ready: bool,
    port: String,
    hostname: &'a str,
    node: Option<&'a str>,
    pub(super) uid: &'a str,
}

/// An entry of a pod.
pub(super) trait Entry: Ord {
    /// The state of the pod by this entry.
    fn presence(&self) -> Presence;
    /// The properties by which two entries of a pod differ.
    fn differences(&self, other: &Self) -> Vec<&'static str>;
}

impl<'a> Entries<'a, SliceEntry<'a>> {
    /// The entries of some slices. Without `zones`, these are left out.
    pub(super) fn of_slices(slices: impl IntoIterator<Item = &'a EndpointSlice>, zones: bool) -> Self {
        let mut entries = Self::default();
        for slice in slices {
            let mut ports: Vec<String> = slice.ports.iter().flatten().map(slice_port).collect();
            ports.sort_unstable();
            for endpoint in slice.endpoints.iter().flatten() {
                let entry = SliceEntry::new(slice, endpoint, ports.clone(), zones);
                entries.add(endpoint.target_ref.as_ref(), entry);
            }
        }
        entries.sorted()
    }
}

impl<'a> Entries<'a, AddressEntry<'a>> {
    /// The entries of Endpoints.
    pub(super) fn of_endpoints(endpoints: Option<&'a Endpoints>) -> Self {
        let mut entries = Self::default();
        for subset in endpoints.into_iter().flat_map(|endpoints| endpoints.subsets.iter().flatten()) {
            let mut ports: Vec<String> = subset.ports.iter().flatten().map(subset_port).collect();
            if ports.is_empty() {
                ports.push(String::new());
            }
            for (list, ready) in [(&subset.addresses, true), (&subset.not_ready_addresses, false)] {
                for address in list.iter().flatten() {
                    for port in &ports {
                        let entry = AddressEntry::new(address, ready, port.clone());
                        entries.add(address.target_ref.as_ref(), entry);
                    }
                }
            }
        }
        entries.sorted()
    }
}

impl<E> Default for Entries<'_, E> {
    fn default() -> Self {
        Self { pods: BTreeMap::new(), others: vec![] }
    }
}

impl<'a, E: Entry> Entries<'a, E> {
    fn add(&mut self, target: Option<&'a ObjectReference>, entry: E) {
        match target.and_then(pod_name) {
            Some(pod) => self.pods.entry(pod).or_default().push(entry),
            None => self.others.push(entry),
        }
    }

    fn sorted(mut self) -> Self {
        self.pods.values_mut().for_each(|entries| entries.sort_unstable());
        self.others.sort_unstable();
        self
    }

    /// The entries of a pod.
    pub(super) fn of(&self, pod: &str) -> &[E] {
        self.pods.get(pod).map_or(&[], Vec::as_slice)
    }

    /// The best state of a pod.
    pub(super) fn presence(&self, pod: &str) -> Presence {
        presence(self.of(pod))
    }
}

/// The best state of some entries of a pod.
pub(super) fn presence<E: Entry>(entries: &[E]) -> Presence {
    entries.iter().map(Entry::presence).min().unwrap_or(Presence::Absent)
}

/// The differences between the entries that a pod has and those that it should have, as text; none if they agree.
pub(super) fn difference<E: Entry>(stored: &[E], planned: &[E]) -> Option<String> {
    if stored == planned {
        return None;
    }
    let [is, should] = [presence(stored), presence(planned)];
    if is != should {
        return Some(format!("the pod is {}, and should be {}", name(is), name(should)));
    }
    if stored.len() != planned.len() {
        return Some(format!("the pod is there {} times, and should be {}", stored.len(), planned.len()));
    }
    let pairs = stored.iter().zip(planned);
    let mut fields: Vec<&str> = pairs.flat_map(|(stored, planned)| stored.differences(planned)).collect();
    fields.sort_unstable();
    fields.dedup();
    Some(format!("the pod's entry is out of date: {}", fields.join(", ")))
}

/// The names of the fields that differ.
pub(super) fn differing<const N: usize>(fields: [(&'static str, bool); N]) -> Vec<&'static str> {
    fields.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect()
}

/// A state in words.
fn name(presence: Presence) -> &'static str {
    match presence {
        Presence::Ready => "ready",
        Presence::Serving => "serving until it ends",
        Presence::NotReady => "not ready",
        Presence::Absent | Presence::NotApplicable => "absent",
    }
}

pub(crate) fn pod_name(target: &ObjectReference) -> Option<&str> {
    target.name.as_deref().filter(|name| target.kind.as_deref() == Some("Pod") && !name.is_empty())
}

fn uid(target: Option<&ObjectReference>) -> &str {
    target.and_then(|target| target.uid.as_deref()).unwrap_or_default()
}

impl<'a> SliceEntry<'a> {
    fn new(slice: &'a EndpointSlice, endpoint: &'a Endpoint, ports: Vec<String>, zones: bool) -> Self {
        let mut addresses: Vec<&str> = endpoint.addresses.iter().map(String::as_str).collect();
        addresses.sort_unstable();
        let conditions = endpoint.conditions.as_ref();
        Self {
            address_type: &slice.address_type,
            addresses,
            ports,
            conditions: conditions.map_or([None; 3], |it| [it.ready, it.serving, it.terminating]),
            hostname: endpoint.hostname.as_deref().unwrap_or_default(),
            node: endpoint.node_name.as_deref().unwrap_or_default(),
            zone: endpoint.zone.as_deref().filter(|_| zones).unwrap_or_default(),
            uid: uid(endpoint.target_ref.as_ref()),
        }
    }

    /// True if the entry has this address.
    pub(super) fn has(&self, address: &str) -> bool {
        self.addresses.contains(&address)
    }
}

impl Entry for SliceEntry<'_> {
    /// As consumers read the conditions: an absent `ready` counts as true.
    fn presence(&self) -> Presence {
        state_of(self.conditions)
    }

    fn differences(&self, other: &Self) -> Vec<&'static str> {
        differing([
            ("family", self.address_type != other.address_type),
            ("address", self.addresses != other.addresses),
            ("ports", self.ports != other.ports),
            ("conditions", self.conditions != other.conditions),
            ("hostname", self.hostname != other.hostname),
            ("node", self.node != other.node),
            ("zone", self.zone != other.zone),
            ("uid", self.uid != other.uid),
        ])
    }
}

impl<'a> AddressEntry<'a> {
    fn new(address: &'a EndpointAddress, ready: bool, port: String) -> Self {
        Self {
            ip: &address.ip,
            ready,
            port,
            hostname: address.hostname.as_deref().unwrap_or_default(),
            node: address.node_name.as_deref(),
            uid: uid(address.target_ref.as_ref()),
        }
    }
}

impl Entry for AddressEntry<'_> {
    fn presence(&self) -> Presence {
        if self.ready { Presence::Ready } else { Presence::NotReady }
    }

    fn differences(&self, other: &Self) -> Vec<&'static str> {
        differing([
            ("address", self.ip != other.ip),
            ("ports", self.port != other.port),
            ("readiness", self.ready != other.ready),
            ("hostname", self.hostname != other.hostname),
            ("node", self.node != other.node),
            ("uid", self.uid != other.uid),
        ])
    }
}

/// The state of an endpoint of a slice by its conditions.
pub(crate) fn state(conditions: Option<&EndpointConditions>) -> Presence {
    state_of(conditions.map_or([None; 3], |it| [it.ready, it.serving, it.terminating]))
}

/// The state by `ready`, `serving` and `terminating`, as consumers read them: the first two are true if they are absent
/// (`discovery/v1/types.go` `EndpointConditions`).
fn state_of([ready, serving, terminating]: [Option<bool>; 3]) -> Presence {
    if ready.unwrap_or(true) {
        Presence::Ready
    } else if serving.unwrap_or(true) && terminating == Some(true) {
        Presence::Serving
    } else {
        Presence::NotReady
    }
}

/// A port of a slice as text: `name:number/protocol`, and the application protocol.
pub(crate) fn slice_port(port: &EndpointPort) -> String {
    let number = port.port.map_or_else(|| "*".to_owned(), |number| number.to_string());
    port_text(port.name.as_deref(), &number, port.protocol.as_deref(), port.app_protocol.as_deref())
}

fn subset_port(port: &SubsetPort) -> String {
    let number = port.port.to_string();
    port_text(port.name.as_deref(), &number, port.protocol.as_deref(), port.app_protocol.as_deref())
}

fn port_text(name: Option<&str>, number: &str, protocol: Option<&str>, app_protocol: Option<&str>) -> String {
    let name = name.filter(|name| !name.is_empty()).map_or_else(String::new, |name| format!("{name}:"));
    let app_protocol = app_protocol.map_or_else(String::new, |protocol| format!(" {protocol}"));
    format!("{name}{number}/{}{app_protocol}", protocol.unwrap_or("TCP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_condition_is_read_as_consumers_do() {
        for (conditions, expected) in [
            ([None, None, None], Presence::Ready),
            ([Some(false), None, None], Presence::NotReady),
            ([Some(false), None, Some(true)], Presence::Serving),
            ([Some(false), Some(false), Some(true)], Presence::NotReady),
        ] {
            assert_eq!(state_of(conditions), expected, "{conditions:?}");
        }
    }
}
