//! The pods that are listed, as ready or not, and with which address.

use controller_harness::merged;
use k8s_openapi::api::core::v1::EndpointAddress;
use serde_json::{Value, json};

use crate::objects::{desired, pod, service};

/// The ready and the unready IPs.
fn listed(service: &Value, pods: &[Value]) -> (Vec<String>, Vec<String>) {
    let ips = |list: &Option<Vec<EndpointAddress>>| -> Vec<String> {
        list.iter().flatten().map(|address| address.ip.clone()).collect()
    };
    let subsets = desired(service, pods, false);
    assert!(subsets.len() <= 1);
    subsets
        .first()
        .map_or_else(Default::default, |subset| (ips(&subset.addresses), ips(&subset.not_ready_addresses)))
}

#[test]
fn ready_and_unready_pods_are_listed_by_their_conditions() {
    #[derive(Debug, PartialEq)]
    enum Place {
        Ready,
        NotReady,
        Nowhere,
    }
    use Place::{NotReady, Nowhere, Ready};
    for (phase, ready, deleting, tolerate, expected) in [
        ("Running", true, false, false, Ready),
        ("Running", true, true, false, Nowhere),
        ("Unknown", true, false, false, Ready),
        ("Unknown", true, true, false, Nowhere),
        ("Pending", true, false, false, Ready),
        ("Pending", true, true, false, Nowhere),
        ("Unknown", false, false, false, NotReady),
        ("Pending", false, false, false, NotReady),
        ("Failed", false, false, false, Nowhere),
        ("Succeeded", false, false, false, Nowhere),
        ("Running", false, false, true, Ready),
        ("Running", false, true, true, Ready),
        ("Unknown", false, false, true, Ready),
        ("Unknown", false, true, true, Ready),
        ("Pending", false, false, true, Ready),
        ("Pending", false, true, true, Ready),
        ("Failed", false, false, true, Nowhere),
        ("Succeeded", false, false, true, Nowhere),
    ] {
        let mut pod = merged(pod("web-1", &["10.0.0.1"], ready), json!({"status": {"phase": phase}}));
        if deleting {
            pod = merged(pod, json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        }
        let service = service("web", json!({"spec": {"publishNotReadyAddresses": tolerate}}));
        let place = match listed(&service, &[pod]) {
            (ready, not_ready) if (ready.len(), not_ready.len()) == (1, 0) => Ready,
            (ready, not_ready) if (ready.len(), not_ready.len()) == (0, 1) => NotReady,
            (ready, not_ready) if (ready.len(), not_ready.len()) == (0, 0) => Nowhere,
            lists => panic!("{lists:?}"),
        };
        assert_eq!(place, expected, "{phase}, ready {ready}, deleting {deleting}, tolerate {tolerate}");
    }
}

#[test]
fn pods_that_ended_are_left_out() {
    for (policy, phase) in [("Never", "Failed"), ("Never", "Succeeded"), ("OnFailure", "Succeeded")] {
        let ended = json!({"spec": {"restartPolicy": policy}, "status": {"phase": phase}});
        let pods = [
            pod("web-1", &["10.0.0.1"], true),
            merged(pod("web-2", &["10.0.0.2"], false), ended),
            pod("web-3", &["10.0.0.3"], false),
        ];
        let lists = listed(&service("web", json!({})), &pods);
        assert_eq!(lists, (vec!["10.0.0.1".to_owned()], vec!["10.0.0.3".to_owned()]), "{policy} {phase}");
    }
}

#[test]
fn a_pod_is_listed_with_one_address_of_the_first_family() {
    let (v4, v6): (&[&str], &[&str]) = (&["10.0.0.1"], &["fd00::1"]);
    let (both, v6_first): (&[&str], &[&str]) = (&["10.0.0.1", "fd00::1"], &["fd00::1", "10.0.0.1"]);
    for (families, cluster_ip, addresses, expected) in [
        (&["IPv4"][..], "10.96.0.1", v4, Some("10.0.0.1")),
        (&["IPv4"], "10.96.0.1", both, Some("10.0.0.1")),
        (&["IPv4"], "10.96.0.1", v6_first, Some("10.0.0.1")),
        (&["IPv4"], "None", v4, Some("10.0.0.1")),
        (&["IPv4"], "None", both, Some("10.0.0.1")),
        (&["IPv6"], "fd01::1", both, Some("fd00::1")),
        (&["IPv6"], "None", v6, Some("fd00::1")),
        (&["IPv6"], "None", both, Some("fd00::1")),
        (&["IPv6"], "fd01::1", v4, None),
        // The first of both families.
        (&["IPv6", "IPv4"], "fd01::1", both, Some("fd00::1")),
        // Without families: that of the cluster IP, or of the pod.
        (&[], "10.96.0.1", v4, Some("10.0.0.1")),
        (&[], "fd01::1", v6, Some("fd00::1")),
        (&[], "10.96.0.1", v6, None),
        (&[], "None", v4, Some("10.0.0.1")),
        (&[], "None", v6, Some("fd00::1")),
        (&[], "", v6_first, Some("fd00::1")),
    ] {
        let service = service("web", json!({"spec": {"ipFamilies": families, "clusterIP": cluster_ip}}));
        let (ready, _) = listed(&service, &[pod("web-1", addresses, true)]);
        assert_eq!(ready.first().map(String::as_str), expected, "{families:?} {cluster_ip} {addresses:?}");
    }
}

#[test]
fn addresses_are_written_canonically_and_a_pod_without_podips_is_left_out() {
    let service = service("web", json!({}));
    assert_eq!(listed(&service, &[pod("web-1", &["010.0.0.08"], true)]).0, ["10.0.0.8"]);
    let without = merged(pod("web-1", &[], true), json!({"status": {"podIP": "10.0.0.1"}}));
    assert_eq!(listed(&service, &[without]), (vec![], vec![]));
}

#[test]
fn the_hostname_is_published_under_the_services_own_subdomain() {
    for (hostname, subdomain, expected) in
        [("one", "web", Some("one")), ("one", "other", None), ("one", "", None), ("", "web", None)]
    {
        let spec = json!({"spec": {"hostname": hostname, "subdomain": subdomain}});
        let subsets =
            desired(&service("web", json!({})), &[merged(pod("web-1", &["10.0.0.1"], true), spec)], false);
        let address = &subsets[0].addresses.as_ref().unwrap()[0];
        assert_eq!(address.hostname.as_deref(), expected, "{hostname} {subdomain}");
    }
}

#[test]
fn an_unscheduled_pod_has_an_empty_node_name() {
    let pod = merged(pod("web-1", &["10.0.0.1"], true), json!({"spec": {"nodeName": null}}));
    let subsets = desired(&service("web", json!({})), &[pod], false);
    assert_eq!(subsets[0].addresses.as_ref().unwrap()[0].node_name.as_deref(), Some(""));
}

#[test]
fn the_old_annotation_counts_only_with_its_feature_gate() {
    let annotated = |value: &str, published: bool| {
        let annotations = json!({"service.alpha.kubernetes.io/tolerate-unready-endpoints": value});
        let changes = json!({"metadata": {"annotations": annotations},
            "spec": {"publishNotReadyAddresses": published}});
        service("web", changes)
    };
    let unready = [pod("web-1", &["10.0.0.1"], false)];
    for (value, published, switched_on, ready) in [
        ("true", false, false, false),
        ("true", false, true, true),
        ("false", true, true, false),
        ("false", true, false, true),
        ("maybe", true, true, true),
    ] {
        let subsets = desired(&annotated(value, published), &unready, switched_on);
        let listed = subsets[0].addresses.is_some();
        assert_eq!(listed, ready, "{value} {published} {switched_on}");
    }
}
