use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube_protobuf::Message as _;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Bytes with many repetitions and uids, among them uids that are cut off or begin within another.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let uid = any::<u128>().prop_map(|value| {
        let mut text = vec![];
        write_uid(&mut text, &value.to_be_bytes());
        text
    });
    let part = |text: Vec<u8>| (0..=text.len()).prop_map(move |end| text[..end].to_vec());
    let piece = prop_oneof![
        vec(any::<u8>(), 0..100),
        vec(0..3_u8, 0..300),
        uid.clone(),
        uid.prop_flat_map(part),
        (0..COMMON.len()).prop_map(|from| COMMON[from..].to_vec()),
        Just(vec![b'-'; 40]),
        Just(b"web-7d4b9c6f5d-".to_vec()),
    ];
    let repeated = (vec(piece, 0..6), 0..4_usize).prop_map(|(pieces, times)| pieces.concat().repeat(times));
    vec(repeated, 0..4).prop_map(|parts| parts.concat())
}

/// A slice as the controller writes it, of pods whose uids and suffixes are those of a cluster: random.
fn slice(random: &[(u128, u32)]) -> Vec<u8> {
    let uid = |value: u128| {
        let mut text = vec![];
        write_uid(&mut text, &value.to_be_bytes());
        String::from_utf8(text).unwrap()
    };
    let mut slice: EndpointSlice = serde_json::from_value(json!({
        "metadata": {
            "name": "checkout-x7k2p", "generateName": "checkout-", "namespace": "shop", "uid": uid(random[0].0.rotate_left(64)),
            "resourceVersion": "7654321", "generation": 3, "creationTimestamp": "2026-11-20T08:00:00Z",
            "labels": {
                "app": "checkout", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                "kubernetes.io/service-name": "checkout",
            },
            "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": "2026-11-20T08:00:07Z"},
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Service", "name": "checkout", "uid": uid(random[0].0.rotate_left(32)),
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "addressType": "IPv4", "endpoints": [], "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
    }))
    .unwrap();
    let endpoint = |(value, number): &(u128, u32)| -> Endpoint {
        let [a, b, c, d] = number.to_le_bytes();
        serde_json::from_value(json!({
            "addresses": [format!("10.64.{a}.{b}")],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "nodeName": format!("ip-10-0-{c}-{d}.eu-central-1.compute.internal"), "zone": "eu-central-1a",
            "targetRef": {
                "kind": "Pod", "namespace": "shop", "name": format!("checkout-6c8f9d7b5c-{:05x}", number >> 12), "uid": uid(*value),
            },
        }))
        .unwrap()
    };
    slice.endpoints = Some(random.iter().map(endpoint).collect());
    slice.encode()
}

proptest! {
    #[test]
    fn unpacking_gives_what_was_packed(bytes in pieces()) {
        let packed = Packed::new(&bytes);
        prop_assert_eq!(&*packed.unpack(), &bytes);
        prop_assert!(packed.0.len() <= bytes.len() + 1);
    }

    #[test]
    fn any_bytes_unpack_to_something(bytes in vec(any::<u8>(), 0..200)) {
        let mut bytes = bytes;
        Packed(bytes.clone().into()).unpack();
        bytes.insert(0, OPERATIONS);
        Packed(bytes.into()).unpack();
    }

    #[test]
    fn a_slice_takes_less_than_half(random in vec(any::<(u128, u32)>(), 10..=100)) {
        let bytes = slice(&random);
        let packed = Packed::new(&bytes);
        prop_assert_eq!(&*packed.unpack(), &bytes);
        prop_assert!(packed.0.len() * 5 < bytes.len() * 2, "{} of {}", packed.0.len(), bytes.len());
    }
}

#[test]
fn a_large_object_is_left_as_it_is() {
    let bytes = vec![7; LARGEST + 1];
    let packed = Packed::new(&bytes);
    assert!(matches!(packed.unpack(), Cow::Borrowed(found) if found == bytes));
    assert!(matches!(Packed::new(&bytes[1..]).unpack(), Cow::Owned(found) if found == bytes[1..]));
}

#[test]
fn the_content_decides_equality() {
    let [a, b] =
        [b"a-a-a-a-a-a-a-a-a-a-a-a-a-a", b"a-a-a-a-a-a-a-a-a-a-a-a-a-b"].map(|bytes| Packed::new(bytes));
    assert!(a == a.clone() && a != b);
    assert_eq!(format!("{:?}", Packed::new(b"a")), "[97]");
}
