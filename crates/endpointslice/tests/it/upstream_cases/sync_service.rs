//! Counterparts of `TestSyncService` (`pkg/controller/endpointslice`): from Service and pods to the whole slice.

use std::collections::BTreeSet;

use endpointslice::trigger_times::TriggerTimes;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;

use crate::support::{Cluster, PodExt, pod, service_port, writes};

const PORTS: [(&str, &str, i32); 3] = [("web", "TCP", 8080), ("dns", "UDP", 53), ("signal", "SCTP", 3868)];

/// A Service with three ports and one family, created at the beginning of 1970.
fn cluster(family: &str, pods: Vec<core::Pod>) -> Cluster {
    let mut cluster = Cluster { pods, ..Cluster::with_pods(0) };
    cluster.service.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    cluster.spec().ip_families = Some(vec![family.to_owned()]);
    let ports = PORTS.map(|(name, protocol, number)| core::ServicePort {
        protocol: Some(protocol.to_owned()),
        ..service_port(name, IntOrString::Int(number))
    });
    cluster.spec().ports = Some(ports.to_vec());
    cluster
}

/// Pod, address, and the three conditions: ready, serving, terminating.
type Expected<'a> = (&'a str, &'a str, [bool; 3]);

const READY: [bool; 3] = [true, true, false];

#[test]
fn a_new_service_gets_its_slice() {
    let both = || pod(2).addresses(&["10.1.0.2", "fd00:0:0::0:2"]);
    let at = |address: &str, pod: core::Pod| pod.addresses(&[address]);
    let cases: [(&str, &str, Vec<core::Pod>, &[Expected<'_>]); 6] = [
        (
            "of two families, the IPv4 Service takes one",
            "IPv4",
            vec![pod(1), both()],
            &[("pod-1", "10.1.0.1", READY), ("pod-2", "10.1.0.2", READY)],
        ),
        ("and the IPv6 Service the other", "IPv6", vec![pod(1), both()], &[("pod-2", "fd00::2", READY)]),
        (
            "a terminating pod still serves",
            "IPv4",
            vec![pod(1), pod(2).terminating()],
            &[("pod-1", "10.1.0.1", READY), ("pod-2", "10.1.0.2", [false, true, true])],
        ),
        (
            "or doesn't any more",
            "IPv4",
            vec![pod(1), pod(2).ready(false).terminating()],
            &[("pod-1", "10.1.0.1", READY), ("pod-2", "10.1.0.2", [false, false, true])],
        ),
        (
            "a pod that has ended doesn't count, even with the address of one that runs",
            "IPv4",
            vec![at("10.1.0.9", pod(1)), at("10.1.0.9", pod(2).ready(false).phase("Succeeded"))],
            &[("pod-1", "10.1.0.9", READY)],
        ),
        (
            "two pods with one address are two endpoints",
            "IPv4",
            vec![at("10.1.0.9", pod(1)), at("10.1.0.9", pod(2))],
            &[("pod-1", "10.1.0.9", READY), ("pod-2", "10.1.0.9", READY)],
        ),
    ];
    for (what, family, pods, expected) in cases {
        let mut cluster = cluster(family, pods);
        let pods: Vec<endpointslice::Pod> = cluster.pods.iter().map(Into::into).collect();
        cluster.trigger_time = TriggerTimes::default().compute(&cluster.compact_service(), &pods);
        assert_eq!(cluster.sync(), writes(1, 0, 0), "{what}");
        let slice = cluster.only();
        let annotations = slice.metadata.annotations.as_ref().unwrap();
        assert_eq!(annotations[LAST_CHANGE_TRIGGER_TIME], "1970-01-01T00:00:00Z", "{what}");
        let ports = slice.ports.iter().flatten();
        let ports: BTreeSet<_> = ports
            .map(|port| {
                (port.name.as_deref().unwrap(), port.protocol.as_deref().unwrap(), port.port.unwrap())
            })
            .collect();
        assert_eq!(ports, PORTS.into(), "{what}");
        let found: Vec<Expected<'_>> = cluster
            .endpoints()
            .map(|endpoint| {
                let target = endpoint.target_ref.as_ref().unwrap();
                assert_eq!(endpoint.node_name.as_deref(), Some("node-a"));
                let [address] = endpoint.addresses.as_slice() else { panic!("{endpoint:?}") };
                let conditions = endpoint.conditions.as_ref().unwrap();
                let conditions = [conditions.ready, conditions.serving, conditions.terminating];
                (target.name.as_deref().unwrap(), address.as_str(), conditions.map(Option::unwrap))
            })
            .collect();
        assert_eq!(found, expected, "{what}");
    }
}
