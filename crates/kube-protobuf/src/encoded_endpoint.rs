//! Endpoints, compared in their encoded form: `k8s.io/api discovery/v1/generated.proto` and `core/v1/generated.proto`.

use k8s_openapi::api::core::v1::{EndpointPort, Endpoints};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::error::DecodeError;
use crate::message::{Codec, read};
use crate::reader::Fields;
use crate::writer::Writer;

/// The endpoint of a pod with one address, as a controller writes it: with all conditions, and without deprecated topology
/// and the target's resourceVersion.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodEndpoint<'a> {
    /// The address.
    pub address: &'a str,
    /// The condition `ready`.
    pub ready: bool,
    /// The condition `serving`.
    pub serving: bool,
    /// The condition `terminating`.
    pub terminating: bool,
    /// The hostname.
    pub hostname: Option<&'a str>,
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub name: &'a str,
    /// The pod's uid.
    pub uid: &'a str,
    /// The name of the node.
    pub node_name: Option<&'a str>,
    /// The zone.
    pub zone: Option<&'a str>,
    /// The one zone in the hints.
    pub zone_hint: Option<&'a str>,
    /// The one node in the hints.
    pub node_hint: Option<&'a str>,
}

impl PodEndpoint<'_> {
    /// True if `encoded` is the canonical encoding of this endpoint, the one that [`Message::encode`](crate::Message)
    /// and Go write. `buffer` is overwritten; a buffer that is used again makes the comparison free of allocations.
    ///
    /// Cost: a tenth of a microsecond.
    pub fn is_encoded_as(&self, encoded: &[u8], buffer: &mut Vec<u8>) -> bool {
        let mut writer = Writer::reusing(std::mem::take(buffer));
        self.write(&mut writer);
        *buffer = writer.finish();
        buffer == encoded
    }

    fn write(&self, writer: &mut Writer) {
        writer.text(1, self.address);
        let conditions = writer.open(2);
        for (number, value) in [(1, self.ready), (2, self.serving), (3, self.terminating)] {
            writer.integer(number, value);
        }
        writer.close(conditions);
        writer.optional_text(3, self.hostname);
        write_target(writer, 4, [self.namespace, self.name, self.uid]);
        writer.optional_text(6, self.node_name);
        writer.optional_text(7, self.zone);
        if self.zone_hint.is_some() || self.node_hint.is_some() {
            let hints = writer.open(8);
            for (number, name) in [(1, self.zone_hint), (2, self.node_hint)] {
                if let Some(name) = name {
                    let hint = writer.open(number);
                    writer.text(1, name);
                    writer.close(hint);
                }
            }
            writer.close(hints);
        }
    }
}

/// Writes a pod as an `ObjectReference`.
fn write_target(writer: &mut Writer, number: u32, [namespace, name, uid]: [&str; 3]) {
    let target = writer.open(number);
    for (number, text) in [(1, "Pod"), (2, namespace), (3, name), (4, uid), (5, ""), (6, ""), (7, "")] {
        writer.text(number, text);
    }
    writer.close(target);
}

/// The address of a pod in Endpoints, as a controller writes it: without the target's resourceVersion.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodAddress<'a> {
    /// The address.
    pub ip: &'a str,
    /// The hostname, or empty.
    pub hostname: &'a str,
    /// The name of the node, which is written even if empty.
    pub node_name: &'a str,
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub name: &'a str,
    /// The pod's uid.
    pub uid: &'a str,
}

impl PodAddress<'_> {
    /// True if `encoded` is the canonical encoding of this address, as [`PodEndpoint::is_encoded_as`].
    pub fn is_encoded_as(&self, encoded: &[u8], buffer: &mut Vec<u8>) -> bool {
        let mut writer = Writer::reusing(std::mem::take(buffer));
        writer.text(1, self.ip);
        write_target(&mut writer, 2, [self.namespace, self.name, self.uid]);
        writer.text(3, self.hostname);
        writer.text(4, self.node_name);
        *buffer = writer.finish();
        buffer == encoded
    }
}

/// The content of a subset of Endpoints, with addresses as they are encoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubsetView<'a> {
    /// Ready addresses.
    pub addresses: Vec<&'a [u8]>,
    /// Addresses that are not ready.
    pub not_ready_addresses: Vec<&'a [u8]>,
    /// Ports.
    pub ports: Vec<EndpointPort>,
}

/// Reads Endpoints without their subsets, and the subsets without decoding addresses.
///
/// Cost: an allocation for each string of the metadata and of ports, and a skipped field for each address.
pub fn split_endpoints_object(raw: &[u8]) -> Result<(Endpoints, Vec<SubsetView<'_>>), DecodeError> {
    let mut subsets = vec![];
    let head = split(raw, |subset| {
        subsets.push(read_subset(subset)?);
        Ok(())
    })?;
    Ok((head, subsets))
}

fn read_subset(raw: &[u8]) -> Result<SubsetView<'_>, DecodeError> {
    let mut subset = SubsetView::default();
    let mut fields = Fields::new("EndpointSubset", raw);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => subset.addresses.push(fields.bytes(value)?),
            2 => subset.not_ready_addresses.push(fields.bytes(value)?),
            3 => subset.ports.push(read(fields.bytes(value)?)?),
            _ => {}
        }
    }
    Ok(subset)
}

/// Reads an EndpointSlice without its endpoints, and returns these as they are encoded.
///
/// Cost: an allocation for each string of the metadata, and a skipped field for each endpoint.
pub fn split_endpoint_slice(raw: &[u8]) -> Result<(EndpointSlice, Vec<&[u8]>), DecodeError> {
    let mut endpoints = vec![];
    let head = split(raw, |endpoint| {
        endpoints.push(endpoint);
        Ok(())
    })?;
    Ok((head, endpoints))
}

/// Reads a message without the values of field 2, which `part` gets.
fn split<'a, T: Codec>(
    raw: &'a [u8],
    mut part: impl FnMut(&'a [u8]) -> Result<(), DecodeError>,
) -> Result<T, DecodeError> {
    let mut head = T::zero();
    let mut fields = Fields::new(T::NAME, raw);
    while let Some((number, value)) = fields.next_field()? {
        if number == 2 {
            part(fields.bytes(value)?)?;
        } else {
            head.merge_field(number, value, &fields)?;
        }
    }
    Ok(head)
}

/// Returns the name of the target of an encoded endpoint; `None` if there is none, or if the endpoint can't be read.
pub fn endpoint_target_name(endpoint: &[u8]) -> Option<&str> {
    let target = field(endpoint, 4)?;
    std::str::from_utf8(field(target, 3)?).ok()
}

/// Returns the address and the hostname, or an empty one, of an encoded address of Endpoints; `None` if they can't be read.
pub fn address_and_hostname(address: &[u8]) -> Option<(&str, &str)> {
    let text = |number| std::str::from_utf8(field(address, number).unwrap_or_default()).ok();
    Some((text(1)?, text(3)?))
}

/// The first value of a field of bytes.
fn field(message: &[u8], wanted: u32) -> Option<&[u8]> {
    let mut fields = Fields::new("Endpoint", message);
    while let Ok(Some((number, value))) = fields.next_field() {
        if number == wanted {
            return fields.bytes(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, ObjectReference};
    use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointHints, ForNode, ForZone};
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::Message as _;

    proptest! {
        #[test]
        fn the_encoding_of_an_address_is_that_of_the_full_codec(
            ip in "[0-9a-f:.]{2,20}",
            (hostname, node_name, namespace) in ("[a-z]{0,8}", "[a-z]{0,9}", "[a-z]{0,9}"),
            (name, uid) in ("[a-z0-9-]{0,200}", "[0-9a-f-]{36}"),
            ready: bool,
            other: bool,
        ) {
            let address = EndpointAddress {
                ip: ip.clone(),
                hostname: Some(hostname.clone()),
                node_name: Some(node_name.clone()),
                target_ref: Some(ObjectReference {
                    kind: Some("Pod".into()),
                    namespace: Some(namespace.clone()),
                    name: Some(name.clone()),
                    uid: Some(uid.clone()),
                    ..ObjectReference::default()
                }),
            };
            let port = EndpointPort { port: 80, ..EndpointPort::default() };
            let subset = EndpointSubset {
                addresses: ready.then(|| vec![address.clone()]),
                not_ready_addresses: (!ready).then(|| vec![address]),
                ports: Some(vec![port.clone()]),
            };
            let encoded = Endpoints { subsets: Some(vec![subset]), ..Endpoints::default() }.encode();
            let (head, subsets) = split_endpoints_object(&encoded).unwrap();
            prop_assert_eq!(head, Endpoints::default());
            prop_assert_eq!(&subsets[0].ports, &[port]);
            prop_assert_eq!(subsets[0].addresses.len(), usize::from(ready));
            let found = subsets[0].addresses.iter().chain(&subsets[0].not_ready_addresses).next().unwrap();
            let node_name = if other { "another" } else { &*node_name };
            let (hostname, namespace) = (&*hostname, &*namespace);
            let pod = PodAddress { ip: &ip, hostname, node_name, namespace, name: &name, uid: &uid };
            prop_assert_eq!(pod.is_encoded_as(found, &mut vec![1]), !other);
            prop_assert_eq!(address_and_hostname(found), Some((&*ip, hostname)));
        }

        #[test]
        fn the_encoding_is_that_of_the_full_codec(
            (ready, serving, terminating) in any::<(bool, bool, bool)>(),
            address in "[0-9a-f:.]{2,20}",
            hostname in option::of("[a-z]{0,8}"),
            (namespace, name, uid) in ("[a-z]{0,9}", "[a-z0-9-]{0,200}", "[0-9a-f-]{36}"),
            node_name in option::of("[a-z]{0,9}"),
            zone in option::of("[a-z]{0,9}"),
            zone_hint in option::of("[a-z]{0,9}"),
            node_hint in option::of("[a-z]{0,9}"),
            other: bool,
        ) {
            let hints = EndpointHints {
                for_zones: zone_hint.clone().map(|name| vec![ForZone { name }]),
                for_nodes: node_hint.clone().map(|name| vec![ForNode { name }]),
            };
            let endpoint = Endpoint {
                addresses: vec![address.clone()],
                conditions: Some(EndpointConditions {
                    ready: Some(ready), serving: Some(serving), terminating: Some(terminating),
                }),
                deprecated_topology: None,
                hints: (zone_hint.is_some() || node_hint.is_some()).then_some(hints),
                hostname: hostname.clone(),
                node_name: node_name.clone(),
                target_ref: Some(ObjectReference {
                    kind: Some("Pod".into()),
                    namespace: Some(namespace.clone()),
                    name: Some(name.clone()),
                    uid: Some(uid.clone()),
                    ..ObjectReference::default()
                }),
                zone: zone.clone(),
            };
            let slice = EndpointSlice {
                address_type: "IPv4".into(), endpoints: Some(vec![endpoint]), ..EndpointSlice::default()
            };
            let encoded = slice.encode();
            let (head, endpoints) = split_endpoint_slice(&encoded).unwrap();
            prop_assert_eq!(head, EndpointSlice { endpoints: None, ..slice });
            prop_assert_eq!(endpoint_target_name(endpoints[0]), Some(&*name));
            let pod = PodEndpoint {
                address: &address, ready: ready != other, serving, terminating,
                hostname: hostname.as_deref(),
                namespace: &namespace, name: &name, uid: &uid,
                node_name: node_name.as_deref(), zone: zone.as_deref(),
                zone_hint: zone_hint.as_deref(), node_hint: node_hint.as_deref(),
            };
            prop_assert_eq!(pod.is_encoded_as(endpoints[0], &mut vec![1, 2, 3]), !other);
        }
    }
}
