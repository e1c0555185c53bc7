//! Decoding, with objects that Kubernetes' own types encoded, in both encodings.

use endpointslice::well_known::LEADER;
use endpointslice::{Interner, Node, Pod, Service};
use k8s_openapi::api::core::v1::Endpoints;
use kube_protobuf::{Message as _, Unknown};
use serde_json::json;

use super::*;
use crate::resource::Resource;

/// A name, and the object of that name in both encodings.
macro_rules! fixture {
    ($name:literal) => {
        (
            $name,
            include_bytes!(concat!("../../../kube-protobuf/testdata/", $name, ".pb")).as_slice(),
            include_str!(concat!("../../../kube-protobuf/testdata/", $name, ".json")),
        )
    };
}

fn read_both<K: Resource>((name, protobuf, json): (&str, &[u8], &str)) -> (K, K) {
    let mut interner = Interner::default();
    let envelope = Unknown::parse(protobuf).expect(name);
    let from_protobuf = K::from_protobuf(envelope.raw, &mut interner).expect(name);
    (from_protobuf, K::from_json(json, &mut interner).expect(name))
}

#[test]
fn both_encodings_give_the_same_object() {
    for fixture in [fixture!("pod"), fixture!("pod-sparse")] {
        let (protobuf, json) = read_both::<Pod>(fixture);
        assert_eq!(protobuf, json);
    }
    for fixture in [fixture!("service"), fixture!("service-headless")] {
        let (protobuf, json) = read_both::<Service>(fixture);
        assert_eq!(protobuf, json);
    }
    let (protobuf, json) = read_both::<Node>(fixture!("node"));
    assert_eq!(protobuf, json);
    for fixture in [fixture!("endpointslice"), fixture!("endpointslice-empty")] {
        let (protobuf, json) = read_both::<CachedSlice>(fixture);
        assert_eq!(protobuf.decode().unwrap(), json.decode().unwrap());
        let of = |slice: &CachedSlice| {
            let names = (slice.namespace.clone(), slice.name.clone(), slice.uid.clone());
            let labels = (slice.service.clone(), slice.managed_by.clone());
            (names, labels, slice.object_version(), slice.deleting, slice.last_managers.clone())
        };
        assert_eq!(of(&protobuf), of(&json));
    }
}

#[test]
fn a_delegated_service_has_a_selector_or_not_in_either_encoding() {
    for fixture in [fixture!("service"), fixture!("service-headless")] {
        let (service, _) = read_both::<Service>(fixture);
        let (protobuf, json) = read_both::<DelegatedService>(fixture);
        assert_eq!((&protobuf.name, &json.name), (&service.name, &service.name));
        let selected = service.selector.is_some();
        assert_eq!((protobuf.has_selector, json.has_selector), (selected, selected));
    }
}

#[test]
fn decoded_fields_are_those_that_were_encoded() {
    let (pod, _) = read_both::<Pod>(fixture!("pod"));
    assert!(!pod.name.is_empty() && !pod.addresses.is_empty() && !pod.labels.is_empty());
    let (slice, _) = read_both::<CachedSlice>(fixture!("endpointslice"));
    assert_eq!((slice.service.as_deref(), slice.managed_by.as_deref()), (Some("web"), None));
    assert_eq!(slice.generation, 42);
    assert_eq!(slice.decode().unwrap().metadata.managed_fields, None, "left out");
    assert!(slice.last_managers.are_only("kubelet"), "but not who wrote last");
}

#[test]
fn malformed_objects_are_errors_in_both_encodings() {
    for json in ["", "[]", "7", "{", "{\"kind\":\"Secret\"}", "{\"metadata\":{\"name\":1}}"] {
        let mut interner = Interner::default();
        assert!(Pod::from_json(json, &mut interner).is_err(), "{json}");
        assert!(Service::from_json(json, &mut interner).is_err(), "{json}");
        assert!(Node::from_json(json, &mut interner).is_err(), "{json}");
        assert!(CachedSlice::from_json(json, &mut interner).is_err(), "{json}");
    }
    let (_, protobuf, _) = fixture!("pod");
    let raw = Unknown::parse(protobuf).unwrap().raw;
    for length in 0..raw.len() {
        // Never a panic; a message may also happen to end between two fields.
        let _ = Pod::from_protobuf(&raw[..length], &mut Interner::default());
        let _ = Service::from_protobuf(&raw[..length], &mut Interner::default());
        let _ = Node::from_protobuf(&raw[..length], &mut Interner::default());
        let _ = CachedSlice::from_protobuf(&raw[..length], &mut Interner::default());
    }
}

/// The API server does not validate it, and without it the Endpoints would be deleted as those of a Service that is gone.
#[test]
fn an_annotation_of_leader_election_counts_whatever_its_value() {
    let metadata = json!({"name": "a", "annotations": {LEADER: "{}"}});
    let endpoints: Endpoints = serde_json::from_value(json!({"metadata": metadata})).unwrap();
    let mut raw = endpoints.encode();
    let value = raw.windows(2).position(|bytes| bytes == b"{}").unwrap();
    raw[value] = 0xff;
    let read = CachedEndpoints::from_protobuf(&raw, &mut Interner::default()).unwrap();
    assert!(read.elects_a_leader);
}

/// After the restore of a backup, the API server gives versions a second time.
#[test]
fn two_objects_of_one_version_are_not_the_same() {
    fn differs<K: Resource>((name, _, json): (&str, &[u8], &str)) -> bool {
        let mut interner = Interner::default();
        let mut other: serde_json::Value = serde_json::from_str(json).unwrap();
        other["metadata"]["labels"]["given"] = "twice".into();
        let [one, other] =
            [json, &other.to_string()].map(|json| K::from_json(json, &mut interner).expect(name));
        one.is_same(&one) && !one.is_same(&other)
    }
    assert!(differs::<Pod>(fixture!("pod")));
    assert!(differs::<Service>(fixture!("service")));
    assert!(differs::<CachedSlice>(fixture!("endpointslice")));
    assert!(differs::<CachedEndpoints>(fixture!("endpoints")));
}
