//! Counterparts of the tests of single pods: what golden cases lack.

use endpointslice::Pod;
use endpointslice::desired::published_hostname;
use k8s_openapi::api::core::v1::{self as core, PodIP};

use crate::support::{NAMESPACE, PodExt, SERVICE, container_ports, pod, service};

#[test]
fn a_hostname_is_published_if_the_subdomain_names_the_service() {
    let published = |hostname: &str, subdomain: &str, namespace: &str| {
        let mut pod = pod(1).hostname(hostname, subdomain);
        pod.metadata.namespace = Some(namespace.to_owned());
        published_hostname(&(&service()).into(), &Pod::from(&pod)).map(ToOwned::to_owned)
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

/// Golden cases have the other phases, and init containers with the policy `Always` or none.
#[test]
fn a_pod_of_unknown_phase_has_not_ended_and_only_sidecars_have_ports() {
    assert!(!Pod::from(&pod(1).phase("Unknown")).terminal);
    let mut pod = pod(1);
    pod.edit().1.init_containers = Some(vec![core::Container {
        restart_policy: Some("Never".to_owned()),
        ports: Some(container_ports(&[("http", "TCP", 3)])),
        ..core::Container::default()
    }]);
    assert!(Pod::from(&pod).ports.is_empty());
}
