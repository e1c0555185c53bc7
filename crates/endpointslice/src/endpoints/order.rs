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

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, number: i32, protocol: &str) -> EndpointPort {
        EndpointPort {
            name: Some(name.into()),
            port: number,
            protocol: Some(protocol.into()),
            app_protocol: None,
        }
    }

    /// Digests of Go's own libraries.
    #[test]
    fn ports_hash_as_go_hashes_them() {
        let grpc =
            EndpointPort { app_protocol: Some("kubernetes.io/h2c".into()), ..port("grpc", 50051, "TCP") };
        for (port, digest) in [
            (port("http", 8080, "TCP"), "25304a33da9e6ece350a4142a45f5b75"),
            (port("https", 8443, "TCP"), "ff1a33bac4ac0f54ddfa86bb65936e0d"),
            (port("metrics", 9090, "TCP"), "acb9f0fb3b50ab7d3c1c06ab8db97acc"),
            (grpc, "ddfc3789ae239a95ac8359f80229bf1d"),
            (port("", 80, "TCP"), "19cbad1834a78abad87a093580858485"),
            (port("dns", 53, "UDP"), "cf684d8c2a0def1ba31f64600b9051ae"),
            (port("dns-tcp", 53, "TCP"), "bb9cc7b3d27ae737aec8326acc3af680"),
            (port("", 8080, "UDP"), "59aa40b466adb81c6e00232f1f0ba361"),
            (port("", 8080, "TCP"), "b09ff368df0fc81442c7b7a3ab2dbca5"),
        ] {
            assert_eq!(format!("{:032x}", port_hash(&port)), digest, "{port:?}");
        }
    }

    #[test]
    fn subsets_hash_as_go_hashes_them() {
        let plain = |ip: &str| EndpointAddress { ip: ip.into(), ..EndpointAddress::default() };
        let of_pod = |ip: &str, name: &str| EndpointAddress {
            node_name: Some(String::new()),
            target_ref: Some(ObjectReference {
                kind: Some("Pod".into()),
                namespace: Some("ns".into()),
                name: Some(name.into()),
                uid: Some(String::new()),
                ..ObjectReference::default()
            }),
            ..plain(ip)
        };
        for (address, port, digest) in [
            (of_pod("10.1.1.1", "pod1"), port("portname1", 100, ""), "5c0dbfa580023871ae6fe4156a971f6a"),
            (of_pod("10.1.1.2", "pod2"), port("portname2", 101, ""), "30bb7d8a5f8a051f456d9320f5ac5fd6"),
            (plain("1.2.3.4"), port("", 111, ""), "0237c533f55a155477c022a0d520b958"),
            (plain("5.6.7.8"), port("", 222, ""), "675404f2094c9e8de1cc10e45dbacec1"),
        ] {
            let subset = EndpointSubset {
                addresses: Some(vec![address]),
                not_ready_addresses: None,
                ports: Some(vec![port]),
            };
            assert_eq!(format!("{:032x}", subset_hash(&subset)), digest, "{subset:?}");
        }
    }
}
