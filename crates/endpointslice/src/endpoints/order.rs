//! The order of ports and subsets in an Endpoints object: by the hash of what Go prints for them.
//!
//! Consumers ignore the order, comparisons don't: an object in the order in which upstream writes it is left alone by
//! both programs, and truncation cuts the same addresses.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, ObjectReference};

use super::fnv::Fnv128a;
use crate::model::text;

/// Sorts ports, then subsets. Addresses are part of a subset's hash and must be sorted before.
///
/// Cost: a hash of each port and subset, none where there is only one.
pub(crate) fn sort(subsets: &mut [EndpointSubset]) {
    for ports in subsets.iter_mut().filter_map(|subset| subset.ports.as_mut()) {
        ports.sort_by_cached_key(port_hash);
    }
    subsets.sort_by_cached_key(subset_hash);
}

fn port_hash(port: &EndpointPort) -> u128 {
    let mut hash = Fnv128a::default();
    hash.write("(v1.EndpointPort)");
    hash.write_port(port);
    hash.finish()
}

fn subset_hash(subset: &EndpointSubset) -> u128 {
    let EndpointSubset { addresses, not_ready_addresses, ports } = subset;
    let mut hash = Fnv128a::default();
    hash.write("(v1.EndpointSubset){Addresses:");
    hash.write_list("([]v1.EndpointAddress)", addresses.as_deref(), Fnv128a::write_address);
    hash.write(" NotReadyAddresses:");
    hash.write_list("([]v1.EndpointAddress)", not_ready_addresses.as_deref(), Fnv128a::write_address);
    hash.write(" Ports:");
    hash.write_list("([]v1.EndpointPort)", ports.as_deref(), Fnv128a::write_port);
    hash.write("}");
    hash.finish()
}

impl Fnv128a {
    fn write_list<T>(&mut self, type_name: &str, list: Option<&[T]>, write: fn(&mut Self, &T)) {
        self.write(type_name);
        let Some(list) = list.filter(|list| !list.is_empty()) else { return self.write("<nil>") };
        for (position, item) in list.iter().enumerate() {
            self.write(if position == 0 { "[" } else { " " });
            write(self, item);
        }
        self.write("]");
    }

    fn write_all(&mut self, parts: &[&str]) {
        for part in parts {
            self.write(part);
        }
    }

    fn write_port(&mut self, port: &EndpointPort) {
        let EndpointPort { name, port: number, protocol, app_protocol } = port;
        self.write_all(&["{Name:(string)", text(name.as_ref()), " Port:(int32)", &number.to_string()]);
        self.write_all(&[" Protocol:(v1.Protocol)", text(protocol.as_ref()), " AppProtocol:"]);
        self.write_pointer("string", app_protocol.as_deref());
        self.write("}");
    }

    fn write_address(&mut self, address: &EndpointAddress) {
        let EndpointAddress { ip, hostname, node_name, target_ref } = address;
        self.write_all(&["{IP:(string)", ip, " Hostname:(string)", text(hostname.as_ref()), " NodeName:"]);
        self.write_pointer("string", node_name.as_deref());
        self.write(" TargetRef:(*v1.ObjectReference)");
        match target_ref {
            Some(target) => self.write_target(target),
            None => self.write("<nil>"),
        }
        self.write("}");
    }

    fn write_target(&mut self, target: &ObjectReference) {
        let ObjectReference { kind, namespace, name, uid, api_version, resource_version, field_path } =
            target;
        self.write_all(&["{Kind:(string)", text(kind.as_ref())]);
        self.write_all(&[" Namespace:(string)", text(namespace.as_ref())]);
        self.write_all(&[" Name:(string)", text(name.as_ref())]);
        self.write_all(&[" UID:(types.UID)", text(uid.as_ref())]);
        self.write_all(&[" APIVersion:(string)", text(api_version.as_ref())]);
        self.write_all(&[" ResourceVersion:(string)", text(resource_version.as_ref())]);
        self.write_all(&[" FieldPath:(string)", text(field_path.as_ref()), "}"]);
    }
}
