//! Counterparts of the tests of single pods and ports.

use endpointslice::desired::{endpoint_ports, pod_endpoint};
use endpointslice::{Node, Pod, desired_from_service};
use k8s_openapi::api::core::v1::{self as core, Container, ObjectReference, PodIP};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::support::{
    Cluster, NAMESPACE, PodExt, SERVICE, container_ports, node, pod, service, service_port,
};

/// The endpoint of a pod under a Service that may publish addresses that are not ready.
fn endpoint(pod: &core::Pod, publish: bool, node: Option<&core::Node>) -> Endpoint {
    let mut service = service();
    service.spec.as_mut().unwrap().publish_not_ready_addresses = Some(publish);
    let (pod, node) = (Pod::from(pod), node.map(Node::from));
    pod_endpoint(&(&service).into(), &pod, node.as_ref(), vec![pod.addresses[0].to_string()])
}

fn conditions(ready: bool, serving: bool, terminating: bool) -> EndpointConditions {
    EndpointConditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) }
}

fn expected() -> Endpoint {
    Endpoint {
        addresses: vec!["10.1.0.1".to_owned()],
        conditions: Some(conditions(true, true, false)),
        node_name: Some("node-a".to_owned()),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            name: Some("pod-1".to_owned()),
            uid: Some("pod-uid-1".to_owned()),
            ..ObjectReference::default()
        }),
        ..Endpoint::default()
    }
}

#[test]
fn an_endpoint_has_the_published_fields_of_its_pod() {
    let plain = |ready, terminating: bool| {
        let pod = pod(1).ready(ready);
        if terminating { pod.terminating() } else { pod }
    };
    for (ready, terminating, publish, conditions) in [
        (true, false, false, conditions(true, true, false)),
        (true, false, true, conditions(true, true, false)),
        (false, false, false, conditions(false, false, false)),
        (false, false, true, conditions(true, false, false)),
        (true, true, false, conditions(false, true, true)),
        (false, true, false, conditions(false, false, true)),
        (true, true, true, conditions(true, true, true)),
    ] {
        let endpoint = endpoint(&plain(ready, terminating), publish, None);
        assert_eq!(
            endpoint,
            Endpoint { conditions: Some(conditions), ..expected() },
            "{ready} {terminating} {publish}"
        );
    }
    let in_zone = Endpoint { zone: Some("zone-a".to_owned()), ..expected() };
    assert_eq!(endpoint(&pod(1), false, Some(&node("node-a", "zone-a"))), in_zone);
    assert_eq!(endpoint(&pod(1), false, Some(&node("node-a", ""))), expected());
    let named = Endpoint { hostname: Some("db-0".to_owned()), ..expected() };
    assert_eq!(endpoint(&pod(1).hostname("db-0", SERVICE), false, None), named);
}

/// Every address of a family goes into one endpoint of that family, in canonical form.
#[test]
fn a_pod_with_several_addresses_is_one_endpoint_of_each_type() {
    let mut cluster = Cluster::with_pods(0);
    cluster.spec().ip_families = Some(vec!["IPv4".to_owned(), "IPv6".to_owned()]);
    cluster.pods = vec![pod(1).addresses(&["10.1.0.1", "FD00:0::0:1", "010.1.0.2", "::ffff:10.1.0.3"])];
    cluster.sync();
    let addresses: Vec<_> = cluster.endpoints().map(|endpoint| endpoint.addresses.clone()).collect();
    assert_eq!(addresses, [vec!["10.1.0.1", "10.1.0.2", "10.1.0.3"], vec!["fd00::1"]]);
}

/// Terminating pods stay until they have ended: consumers may want to drain them.
#[test]
fn pods_with_an_address_are_endpoints_until_they_end() {
    let node = Node::from(&node("node-a", ""));
    let included = |pod: core::Pod| {
        let desired = desired_from_service(&(&service()).into(), [&Pod::from(&pod)], |_| Some(&node));
        assert!(desired.skipped().is_empty());
        desired.groups().map(|(_, _, endpoints)| endpoints.len()).sum::<usize>() == 1
    };
    let running = || pod(1).phase("Running");
    assert!(included(running()));
    assert!(included(running().ready(false)));
    assert!(included(pod(1).phase("Pending")), "it has an address");
    assert!(included(pod(1).phase("Unknown")));
    assert!(included(running().terminating()));
    assert!(included(running().ready(false).terminating()));
    assert!(!included(running().addresses(&[])));
    assert!(
        !included(running().addresses(&["pending"])),
        "that is no address: the API server accepts none such in a pod"
    );
    for ended in ["Failed", "Succeeded"] {
        assert!(!included(pod(1).phase(ended)));
        assert!(!included(pod(1).phase(ended).terminating()));
    }
}

#[test]
fn a_hostname_is_published_if_the_subdomain_names_the_service() {
    let published = |hostname: &str, subdomain: &str, namespace: &str| {
        let mut pod = pod(1).hostname(hostname, subdomain);
        pod.metadata.namespace = Some(namespace.to_owned());
        endpoint(&pod, false, None).hostname
    };
    assert_eq!(published("db-0", SERVICE, NAMESPACE).as_deref(), Some("db-0"));
    assert_eq!(published("", SERVICE, NAMESPACE), None);
    assert_eq!(published("db-0", "other", NAMESPACE), None);
    assert_eq!(published("db-0", SERVICE, "elsewhere"), None);
}

/// Unlike upstream, a change of node, phase, uid or container ports counts too, so that no slice waits for another
/// event to be right.
#[test]
fn changes_of_published_fields_of_a_pod_matter() {
    type Change = fn(&mut core::Pod);
    let ip = |text: &str| Some(vec![PodIP { ip: text.to_owned() }]);
    let cases: [(&str, bool, Change); 16] = [
        ("nothing", false, |_| ()),
        ("resourceVersion", false, |pod| pod.metadata.resource_version = Some("2".to_owned())),
        ("annotation", false, |pod| {
            pod.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into())
        }),
        ("label", false, |pod| pod.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into())),
        ("first address changed", true, |pod| pod.set_addresses(&["10.9.9.9", "fd00::1"])),
        ("second address changed", true, |pod| pod.set_addresses(&["10.1.0.1", "fd00::2"])),
        ("second address removed", true, |pod| pod.set_addresses(&["10.1.0.1"])),
        ("address added", true, |pod| pod.set_addresses(&["10.1.0.1", "fd00::1", "fd00::2"])),
        ("addresses gone", true, |pod| pod.set_addresses(&[])),
        ("readiness", true, |pod| pod.set_ready(false)),
        ("marked for deletion", true, |pod| pod.set_terminating()),
        ("hostname", true, |pod| pod.edit().1.hostname = Some("db-0".to_owned())),
        ("node", true, |pod| pod.set_node("node-b")),
        ("phase", true, |pod| pod.edit().2.phase = Some("Failed".to_owned())),
        ("uid", true, |pod| pod.metadata.uid = Some("again".to_owned())),
        ("port", true, |pod| pod.set_ports(&[("http", "TCP", 8080)])),
    ];
    for (what, matters, change) in cases {
        let old = pod(1).addresses(&["10.1.0.1", "fd00::1"]);
        let mut new = old.clone();
        change(&mut new);
        assert_eq!(Pod::from(&old).differs_as_endpoint(&Pod::from(&new)), matters, "{what}");
    }
    let leaving = pod(1).terminating();
    let mut later = leaving.clone();
    later.metadata.resource_version = Some("2".to_owned());
    let differs = Pod::from(&leaving).differs_as_endpoint(&Pod::from(&later));
    assert!(!differs, "upstream counts every update of a terminating pod");
    for (first, second) in [("10.1.0.1", "10.1.0.2"), ("fd00::1", "fd00::2")] {
        let mut old = pod(1).addresses(&[]);
        let mut new = pod(1).addresses(&[first]);
        assert!(Pod::from(&old).differs_as_endpoint(&Pod::from(&new)), "first address");
        old.edit().2.pod_ips = ip(first);
        new.edit().2.pod_ips = ip(second);
        assert!(Pod::from(&old).differs_as_endpoint(&Pod::from(&new)), "other address");
    }
}

/// The resolved ports as (name, protocol, number, application protocol), by name.
fn resolved(ports: Vec<core::ServicePort>, pod: &core::Pod) -> Vec<(String, String, i32, Option<String>)> {
    let mut service = service();
    service.spec.as_mut().unwrap().ports = Some(ports);
    let ports = endpoint_ports(&(&service).into(), &Pod::from(pod).ports).into_vec();
    let tuple = |port: EndpointPort| {
        (port.name.unwrap(), port.protocol.unwrap(), port.port.unwrap(), port.app_protocol)
    };
    let mut ports: Vec<_> = ports.into_iter().map(tuple).collect();
    ports.sort();
    ports
}

#[test]
fn ports_of_the_service_are_resolved_for_a_pod() {
    let number = |name, number| service_port(name, IntOrString::Int(number));
    let named = |name: &str| service_port(name, IntOrString::String(name.to_owned()));
    let with_protocol =
        |port, protocol: &str| core::ServicePort { app_protocol: Some(protocol.to_owned()), ..port };
    let pod = pod(1).ports(&[("https", "TCP", 8443)]);
    let tcp = |name: &str, number, protocol: Option<&str>| {
        (name.to_owned(), "TCP".to_owned(), number, protocol.map(str::to_owned))
    };
    let custom = with_protocol(number("http", 8080), "example.com/custom");
    assert_eq!(resolved(vec![custom], &pod), [tcp("http", 8080, Some("example.com/custom"))]);
    let both = vec![number("http", 8080), with_protocol(named("https"), "https")];
    assert_eq!(resolved(both, &pod), [tcp("http", 8080, None), tcp("https", 8443, Some("https"))]);
    assert_eq!(resolved(vec![named("missing"), number("http", 8080)], &pod), [tcp("http", 8080, None)]);
    assert_eq!(resolved(vec![], &pod), []);
}

/// A pod without the named port is still an endpoint, in a slice without ports.
#[test]
fn a_pod_without_the_named_port_is_an_endpoint_without_ports() {
    let mut cluster = Cluster::with_pods(1);
    cluster.spec().ports = Some(vec![service_port("http", IntOrString::String("http".to_owned()))]);
    cluster.sync();
    assert!(cluster.only().ports.iter().all(Vec::is_empty));
    assert_eq!(cluster.sizes(), [1]);
}

#[test]
fn a_port_name_means_the_first_container_port_of_its_protocol() {
    let container = |ports: &[(&str, &str, i32)]| Container {
        ports: Some(container_ports(ports)),
        ..Container::default()
    };
    let init = |ports: &[(&str, &str, i32)]| container(ports);
    let sidecar = |ports: &[(&str, &str, i32)]| Container {
        restart_policy: Some("Always".to_owned()),
        ..container(ports)
    };
    let once = |ports: &[(&str, &str, i32)]| Container {
        restart_policy: Some("Never".to_owned()),
        ..container(ports)
    };
    let http = |number| [("http", "TCP", number)];
    for (what, containers, init_containers, expected) in [
        ("no containers", vec![], vec![], None),
        ("no ports", vec![container(&[])], vec![], None),
        ("one", vec![container(&http(1))], vec![], Some(1)),
        ("another name", vec![container(&[("other", "TCP", 1)])], vec![], None),
        ("another protocol", vec![container(&[("http", "UDP", 1)])], vec![], None),
        ("both protocols", vec![container(&[("http", "UDP", 1), ("http", "TCP", 2)])], vec![], Some(2)),
        ("second container", vec![container(&[("other", "TCP", 1)]), container(&http(2))], vec![], Some(2)),
        ("first of two", vec![container(&http(1)), container(&http(2))], vec![], Some(1)),
        ("sidecar", vec![container(&[])], vec![sidecar(&http(3))], Some(3)),
        ("container before sidecar", vec![container(&http(1))], vec![sidecar(&http(3))], Some(1)),
        (
            "wrong protocol before sidecar",
            vec![container(&[("http", "UDP", 1)])],
            vec![sidecar(&http(3))],
            Some(3),
        ),
        ("sidecar with another protocol", vec![container(&[])], vec![sidecar(&[("http", "UDP", 3)])], None),
        ("init container", vec![container(&[])], vec![init(&http(3))], None),
        ("init container that runs once", vec![container(&[])], vec![once(&http(3))], None),
        ("second sidecar", vec![container(&[])], vec![init(&http(3)), sidecar(&http(4))], Some(4)),
    ] {
        let mut pod = pod(1);
        let (_, spec, _) = pod.edit();
        (spec.containers, spec.init_containers) = (containers, Some(init_containers));
        let port = service_port("http", IntOrString::String("http".to_owned()));
        let found = resolved(vec![port], &pod).first().map(|port| port.2);
        assert_eq!(found, expected, "{what}");
    }
    assert_eq!(
        resolved(vec![service_port("http", IntOrString::Int(80))], &pod(1))[0].2,
        80,
        "a number needs no port"
    );
}
