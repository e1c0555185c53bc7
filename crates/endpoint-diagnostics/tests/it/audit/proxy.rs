//! The endpoints that kube-proxy should have for each port of a Service.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::audit::proxy::{Frontend, frontends};
use endpoint_diagnostics::audit::{Expected, Wrong};
use endpointslice::well_known::HEADLESS;
use serde_json::{Value, json};

use super::{add_slice, healthy, snapshot};
use crate::cluster::Cluster;

fn targets(all: &[&str]) -> BTreeSet<SocketAddr> {
    all.iter().map(|target| target.parse().unwrap()).collect()
}

fn frontend(address: &str) -> (ObjectKey, Frontend) {
    let frontend = Frontend { address: address.parse().unwrap(), protocol: "TCP".to_owned() };
    (ObjectKey::new("shop", "web"), frontend)
}

/// The endpoints expected for 10.96.0.1:80 after an edit of the cluster.
fn expected(edit: impl FnOnce(&mut Cluster)) -> Option<Expected<SocketAddr>> {
    let mut cluster = healthy();
    edit(&mut cluster);
    frontends(&snapshot(&cluster, &[])).remove(&frontend("10.96.0.1:80"))
}

/// The same after a merge patch of an object.
fn patched(kind: &str, name: &str, patch: &Value) -> Option<Expected<SocketAddr>> {
    expected(|cluster| cluster.change(kind, name, patch))
}

fn set(cluster: &mut Cluster, number: usize, conditions: Value) {
    cluster.slices.get_mut("web-a").unwrap()["endpoints"][number]["conditions"] = conditions;
}

const BOTH: [&str; 2] = ["10.1.0.1:8080", "10.1.0.2:8080"];

#[test]
fn ready_endpoints_are_used_and_without_any_those_that_still_serve() {
    let going = || json!({"ready": false, "serving": true, "terminating": true});
    let exactly = |all: &[&str]| Some(Expected::exactly(targets(all)));
    assert_eq!(expected(|_| {}), exactly(&BOTH));
    assert_eq!(expected(|cluster| set(cluster, 0, going())), exactly(&BOTH[1..]));
    let none_ready = |cluster: &mut Cluster| {
        set(cluster, 0, going());
        set(cluster, 1, json!({"ready": false}));
    };
    assert_eq!(expected(none_ready), exactly(&BOTH[..1]));
    // In another slice and not ready there, until the controller has written both.
    let moving = |cluster: &mut Cluster| {
        let conditions = json!({"ready": false, "serving": true, "terminating": false});
        let old = json!({"addresses": ["10.1.0.1"], "conditions": conditions});
        add_slice(cluster, "web-b", &json!({"endpoints": [old]}));
    };
    let either = Expected { required: targets(&BOTH[1..]), allowed: targets(&BOTH) };
    assert_eq!(expected(moving), Some(either));
}

#[test]
fn what_each_node_chooses_is_allowed_and_not_required() {
    let any = Some(Expected { required: BTreeSet::new(), allowed: targets(&BOTH) });
    assert_eq!(patched("services", "web", &json!({"spec": {"internalTrafficPolicy": "Local"}})), any);
    let hinted = |cluster: &mut Cluster| {
        let slice = cluster.slices.get_mut("web-a").unwrap();
        slice["endpoints"][0]["hints"] = json!({"forZones": [{"name": "a"}]});
    };
    assert_eq!(expected(hinted), any);
}

#[test]
fn what_kube_proxy_does_not_read_is_left_out() {
    let none = Some(Expected::exactly(BTreeSet::new()));
    for patch in [
        json!({"metadata": {"labels": {HEADLESS: ""}}}),
        json!({"addressType": "IPv6"}),
        json!({"ports": [{"name": "https", "port": 8080, "protocol": "TCP"}]}),
        json!({"ports": [{"name": "http", "port": 8080, "protocol": "UDP"}]}),
    ] {
        assert_eq!(patched("slices", "web-a", &patch), none, "{patch}");
    }
    for patch in [
        json!({"spec": {"clusterIP": "None"}}),
        json!({"spec": {"type": "ExternalName"}}),
        json!({"metadata": {"labels": {"service.kubernetes.io/service-proxy-name": "other"}}}),
    ] {
        assert_eq!(patched("services", "web", &patch), None, "{patch}");
    }
}

#[test]
fn a_finding_names_the_port_and_its_touch_the_slices_with_what_is_missing() {
    let mut cluster = healthy();
    let third = json!({"addresses": ["10.1.0.3"], "conditions": {"ready": true}});
    add_slice(&mut cluster, "web-b", &json!({"endpoints": [third]}));
    let snapshot = snapshot(&cluster, &[]);
    let all = Expected::exactly(targets(&[BOTH[0], BOTH[1], "10.1.0.3:8080"]));
    let (key, frontend) = frontend("10.96.0.1:80");
    let lacking = Wrong::new(&targets(&BOTH), &all).unwrap();
    let finding = lacking.finding(&key, &frontend, Duration::from_secs(10));
    assert_eq!(
        (finding.rule, finding.message.as_str()),
        (
            "proxy-out-of-sync",
            "For 10 s, the rules of kube-proxy for 10.96.0.1:80/TCP have lacked 10.1.0.3:8080, which it should use"
        )
    );
    let touched = |wrong: &Wrong<SocketAddr>| -> Vec<String> {
        wrong.touches(&key, &snapshot).iter().map(ToString::to_string).collect()
    };
    let touch = |name: &str| {
        let annotation = "endpoints.kubernetes.io/last-change-trigger-time=2026-06-01T00:00:00Z";
        format!("set the annotation {annotation} of EndpointSlice shop/{name}")
    };
    assert_eq!(touched(&lacking), [touch("web-b")]);
    let surplus = Wrong::new(&targets(&[BOTH[0], BOTH[1], "10.1.0.3:8080", "10.1.0.9:8080"]), &all).unwrap();
    assert_eq!(touched(&surplus), [touch("web-a"), touch("web-b")]);
}
