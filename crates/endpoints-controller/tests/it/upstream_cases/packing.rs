//! Canonical forms of subsets. The golden cases test the order of subsets.

use endpointslice::endpoints::repack_subsets;
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, ObjectReference};

/// `IP` or `IP@UID`; `IP@` has a target without uid, and a name may follow a colon.
fn address(text: &str) -> EndpointAddress {
    let (ip, target) = text.split_once('@').map_or((text, None), |(ip, target)| (ip, Some(target)));
    let target_ref = target.map(|target| {
        let (uid, name) = target.split_once(':').map_or((target, None), |(uid, name)| (uid, Some(name)));
        ObjectReference {
            uid: Some(uid.to_owned()),
            name: name.map(ToOwned::to_owned),
            ..ObjectReference::default()
        }
    });
    EndpointAddress { ip: ip.to_owned(), target_ref, ..EndpointAddress::default() }
}

fn list<T>(text: &str, parse: fn(&str) -> T) -> Option<Vec<T>> {
    let list: Vec<T> = text.split_whitespace().map(parse).collect();
    (!list.is_empty()).then_some(list)
}

/// `READY ; UNREADY ; PORTS`.
fn subset(text: &str) -> EndpointSubset {
    let mut parts = text.split(';');
    let mut next = || parts.next().unwrap();
    EndpointSubset {
        addresses: list(next(), address),
        not_ready_addresses: list(next(), address),
        ports: list(next(), |port| EndpointPort { port: port.parse().unwrap(), ..EndpointPort::default() }),
    }
}

fn sorted(subsets: impl IntoIterator<Item = EndpointSubset>) -> Vec<EndpointSubset> {
    let mut subsets: Vec<EndpointSubset> = subsets.into_iter().collect();
    for ports in subsets.iter_mut().filter_map(|subset| subset.ports.as_mut()) {
        ports.sort_by_key(|port| port.port);
    }
    subsets.sort_by_key(|subset| serde_json::to_string(subset).unwrap());
    subsets
}

#[test]
fn canonical_forms() {
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &[]),
        (&[" ; ; "], &[]),
        (&[" ; ; 111"], &[]),
        (&["1.2.3.4 ; ; "], &["1.2.3.4 ; ; "]),
        (&[" ; 1.2.3.4 ; "], &[" ; 1.2.3.4 ; "]),
        (&["1.2.3.4 ; ; 111"], &["1.2.3.4 ; ; 111"]),
        (&["beef::1:2:3:4 ; ; 111"], &["beef::1:2:3:4 ; ; 111"]),
        (&[" ; 1.2.3.4 ; 111"], &[" ; 1.2.3.4 ; 111"]),
        (&["1.2.3.4@u1 ; ; 111"], &["1.2.3.4@u1 ; ; 111"]),
        (&[" ; 1.2.3.4@u1 ; 111"], &[" ; 1.2.3.4@u1 ; 111"]),
        (&["1.2.3.4@ ; ; 111"], &["1.2.3.4@ ; ; 111"]),
        (&[" ; 1.2.3.4@ ; 111"], &[" ; 1.2.3.4@ ; 111"]),
        (&["5.6.7.8 1.2.3.4 ; ; 111"], &["1.2.3.4 5.6.7.8 ; ; 111"]),
        (&["1.2.3.4 ; 5.6.7.8 ; 111"], &["1.2.3.4 ; 5.6.7.8 ; 111"]),
        // Not ready wins over ready.
        (&["1.2.3.4 ; 1.2.3.4 ; 111"], &[" ; 1.2.3.4 ; 111"]),
        (&["1.2.3.4 ; ; 111 222"], &["1.2.3.4 ; ; 111 222"]),
        // The same address twice.
        (&["1.2.3.4 1.2.3.4 ; ; 111"], &["1.2.3.4 ; ; 111"]),
        (&["beef::1 beef::1 ; ; 111"], &["beef::1 ; ; 111"]),
        // The first one counts.
        (&["1.2.3.4@u:foo 1.2.3.4@u:bar ; ; 111"], &["1.2.3.4@u:foo ; ; 111"]),
        (&["1.2.3.4@u:foo ; 1.2.3.4@u:bar ; 111"], &[" ; 1.2.3.4@u:foo ; 111"]),
        (&["1.2.3.4 ; ; 111 111"], &["1.2.3.4 ; ; 111"]),
        (&["1.2.3.4 ; ; 111", "1.2.3.4 ; ; 111"], &["1.2.3.4 ; ; 111"]),
        (&["1.2.3.4 ; ; 111", " ; 1.2.3.4 ; 111"], &[" ; 1.2.3.4 ; 111"]),
        (&["1.2.3.4 ; ; 111", "1.2.3.4 ; ; 222"], &["1.2.3.4 ; ; 111 222"]),
        (&["1.2.3.4@u1 ; ; 111", "1.2.3.4@u1 ; ; 222"], &["1.2.3.4@u1 ; ; 111 222"]),
        (&["1.2.3.4@u1 ; ; 111", " ; 1.2.3.4@u1 ; 222"], &["1.2.3.4@u1 ; ; 111", " ; 1.2.3.4@u1 ; 222"]),
        (&["1.2.3.4 ; ; 111", "5.6.7.8 ; ; 111"], &["1.2.3.4 5.6.7.8 ; ; 111"]),
        // Addresses with different targets are different.
        (&["1.2.3.4@u1 ; ; 111", "1.2.3.4@u2 ; ; 111"], &["1.2.3.4@u1 1.2.3.4@u2 ; ; 111"]),
        (&["1.2.3.4 ; ; 111", "1.2.3.4@u2 ; ; 111"], &["1.2.3.4 1.2.3.4@u2 ; ; 111"]),
        (
            &["5.6.7.8 ; ; 111", "5.6.7.8@u1 ; ; 111", "1.2.3.4@u1 ; ; 111", "1.2.3.4 ; ; 111"],
            &["1.2.3.4 1.2.3.4@u1 5.6.7.8 5.6.7.8@u1 ; ; 111"],
        ),
        (
            &["5.6.7.8 ; ; 111", " ; 5.6.7.8@u1 ; 111", " ; 1.2.3.4@u1 ; 111", " ; 1.2.3.4 ; 111"],
            &["5.6.7.8 ; 1.2.3.4 1.2.3.4@u1 5.6.7.8@u1 ; 111"],
        ),
        (&["1.2.3.4 ; ; 111", "5.6.7.8 ; ; 222"], &["1.2.3.4 ; ; 111", "5.6.7.8 ; ; 222"]),
        (
            &["1.2.3.4 ; ; 111", "1.2.3.5 ; ; 222", "1.2.3.6 ; ; 111", "1.2.3.5 ; ; 333"],
            &["1.2.3.4 1.2.3.6 ; ; 111", "1.2.3.5 ; ; 222 333"],
        ),
        (
            &["1.2.3.4 ; ; 111", " ; 1.2.3.5 ; 222", "1.2.3.6 ; ; 111", " ; 1.2.3.5 ; 333"],
            &["1.2.3.4 1.2.3.6 ; ; 111", " ; 1.2.3.5 ; 222 333"],
        ),
    ];
    for (given, expected) in cases {
        let given: Vec<EndpointSubset> = given.iter().map(|text| subset(text)).collect();
        let expected = expected.iter().map(|text| subset(text));
        assert_eq!(sorted(repack_subsets(&given)), sorted(expected), "{given:?}");
    }
}

/// Upstream compares pointers to application protocols, so a port with one never equals another.
#[test]
fn ports_with_an_application_protocol_are_never_merged() {
    let grpc =
        || EndpointPort { app_protocol: Some("grpc".to_owned()), port: 111, ..EndpointPort::default() };
    let with_grpc = |text| EndpointSubset { ports: Some(vec![grpc()]), ..subset(text) };
    let given = [with_grpc("1.2.3.4 ; ; "), with_grpc("5.6.7.8 ; ; ")];
    assert_eq!(sorted(repack_subsets(&given)), sorted(given));
}
