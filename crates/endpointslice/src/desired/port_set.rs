//! The ports of a slice, by which slices are grouped.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};

use crate::endpoints::Fnv128a;

/// The ports of a slice in their order on the wire; equal for equal ports in any order.
///
/// The order is upstream's: by the FNV-128a hash of each port's printed form, so that both programs write equal slices.
/// It costs little, because it is computed once for each distinct list of ports
/// (`k8s.io/endpointslice` `util/controller_utils.go` `deepHashObjectToString`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortSet(Vec<EndpointPort>);

impl PortSet {
    /// Sorts `ports` into wire order. Repeated ports are kept.
    pub fn new(mut ports: Vec<EndpointPort>) -> Self {
        ports.sort_by_cached_key(port_hash);
        Self(ports)
    }

    /// The ports of a slice. Cost: a copy of them.
    pub fn of(slice: &EndpointSlice) -> Self {
        Self::new(slice.ports.clone().unwrap_or_default())
    }

    /// The ports in wire order.
    pub fn as_slice(&self) -> &[EndpointPort] {
        &self.0
    }

    /// The ports in wire order.
    pub fn into_vec(self) -> Vec<EndpointPort> {
        self.0
    }

    /// True if there are no ports.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

type PortKey<'a> = (Option<&'a str>, Option<&'a str>, Option<i32>, Option<&'a str>);

fn key(port: &EndpointPort) -> PortKey<'_> {
    (port.name.as_deref(), port.protocol.as_deref(), port.port, port.app_protocol.as_deref())
}

impl Eq for PortSet {}

impl PartialOrd for PortSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PortSet {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().map(key).cmp(other.0.iter().map(key))
    }
}

impl Hash for PortSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.0.len());
        for port in &self.0 {
            key(port).hash(state);
        }
    }
}

/// FNV-128a of the text that Go prints for the port; compared as a number, which orders as its hexadecimal form does.
fn port_hash(port: &EndpointPort) -> u128 {
    let number = port.port.map(|number| number.to_string());
    let mut hash = Fnv128a::default();
    hash.write("(v1.EndpointPort){Name:");
    hash.write_pointer("string", port.name.as_deref());
    hash.write(" Protocol:");
    hash.write_pointer("v1.Protocol", port.protocol.as_deref());
    hash.write(" Port:");
    hash.write_pointer("int32", number.as_deref());
    hash.write(" AppProtocol:");
    hash.write_pointer("string", port.app_protocol.as_deref());
    hash.write("}");
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, protocol: &str, number: i32) -> EndpointPort {
        EndpointPort {
            name: Some(name.into()),
            protocol: Some(protocol.into()),
            port: Some(number),
            app_protocol: None,
        }
    }

    #[test]
    fn equal_ports_in_any_order_are_one_set() {
        let (http, dns) = (port("http", "TCP", 80), port("dns", "UDP", 53));
        let set = PortSet::new(vec![http.clone(), dns.clone()]);
        assert_eq!(set, PortSet::new(vec![dns.clone(), http.clone()]));
        assert_eq!(set.as_slice(), [dns, http]);
    }
}
