//! The pods and Services of the workload.

use serde_json::{Value, json};

use super::{V4, V6};
use crate::scenario::Pod;

pub(super) fn web(number: u16) -> Pod {
    Pod::new(&format!("web-{number}"), "web", number).port("http", 8080, "TCP").port("stats", 9102, "TCP")
}

pub(super) fn big(number: u16) -> Pod {
    let generation = if number < 130 { "1" } else { "2" };
    let pod = Pod::new(&format!("big-{number}"), "big", 0x1000 + number);
    pod.label("generation", generation).node(if number.is_multiple_of(2) { "a" } else { "b" })
}

pub(super) fn roll(number: u16) -> Pod {
    Pod::new(&format!("roll-{number}"), "roll", 0x2000 + number).node("b")
}

pub(super) fn initial_pods() -> Vec<Pod> {
    let named = |name: &str, number| Pod::new(name, "named", number).port("metrics", 9153, "TCP");
    let stateful = |name: &str, number| {
        Pod::new(name, "state", number).spec("hostname", json!(name)).spec("subdomain", json!("state"))
    };
    let proxy = json!([
        // An init container that ends gets no traffic; a sidecar does.
        {"name": "setup", "image": "none", "ports": [{"name": "proxy", "containerPort": 1}]},
        {"name": "proxy", "image": "none", "restartPolicy": "Always",
         "ports": [{"name": "proxy", "containerPort": 15001}]},
    ]);
    let mut pods = vec![
        web(0),
        web(1).node("b"),
        web(2).ready(Some(false)),
        web(3).node("c").ready(None),
        // The same name on different numbers, on the wrong protocol, and missing.
        named("named-a", 100).port("http", 8080, "TCP"),
        named("named-b", 101).port("http", 9090, "TCP"),
        named("named-c", 102).port("http", 8080, "UDP"),
        Pod::new("named-d", "named", 103),
        Pod::new("sidecar-a", "sidecar", 110).spec("initContainers", proxy.clone()),
        Pod::new("sidecar-b", "sidecar", 111).spec("initContainers", proxy).port("proxy", 8443, "TCP"),
        stateful("state-0", 120),
        stateful("state-1", 121).ready(Some(false)),
        Pod::new("state-2", "state", 122).spec("hostname", json!("other")),
        Pod::new("end-succeeded", "end", 130).phase("Succeeded").ready(Some(false)),
        Pod::new("end-failed", "end", 131).phase("Failed").ready(Some(false)),
        Pod::new("end-pending", "end", 132).phase("Pending").ready(Some(false)).ips(&[]),
        Pod::new("end-running", "end", 133),
        Pod::new("same-a", "same", 140).ips(&["10.1.9.9"]),
        Pod::new("same-b", "same", 141).ips(&["10.1.9.9"]),
        Pod::new("six", "six", 142).ips(&["fd00:9::1"]),
        Pod::new("lost-a", "lost", 150),
        Pod::new("lost-b", "lost", 151).node("missing"),
    ];
    pods.extend((0..130).map(big));
    pods
}

pub(super) fn labelled(app: &str) -> Value {
    json!({"app": app, "tier": "front"})
}

pub(super) fn http() -> Value {
    json!([{"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "kubernetes.io/h2c"}])
}

pub(super) fn select(app: &str, ports: &Value) -> Value {
    json!({"selector": {"app": app}, "ports": ports})
}

pub(crate) fn with(mut spec: Value, fields: Value) -> Value {
    let (Value::Object(spec_fields), Value::Object(more)) = (&mut spec, fields) else {
        unreachable!("specs are objects")
    };
    spec_fields.extend(more);
    spec
}

/// Services of every kind, each with its labels.
pub(super) fn services() -> Vec<(&'static str, Value, Value)> {
    let many_ports = json!([
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53},
        {"name": "metrics", "port": 9153, "targetPort": "stats"},
        {"name": "sctp", "port": 7, "protocol": "SCTP"},
        {"name": "https", "port": 443, "targetPort": 8443, "appProtocol": "https"},
        {"name": "absent", "port": 444, "targetPort": "nowhere"},
    ]);
    let by_name = json!([
        {"name": "http", "port": 80, "targetPort": "http"},
        {"name": "metrics", "port": 9153, "targetPort": "metrics"},
    ]);
    let unnamed = json!([{"port": 80, "targetPort": "proxy"}]);
    let reserved = json!({
        "app": "reserved",
        "kubernetes.io/service-name": "someone",
        "endpointslice.kubernetes.io/managed-by": "someone",
        "service.kubernetes.io/headless": "no",
    });
    let headless = |spec| with(spec, json!({"clusterIP": "None"}));
    let families = |spec, policy: &str, families: &[&str]| {
        with(spec, json!({"ipFamilyPolicy": policy, "ipFamilies": families}))
    };
    let plain = |app| (json!({}), select(app, &http()));
    let entry = |name, (labels, spec)| (name, labels, spec);
    vec![
        ("web", labelled("web"), select("web", &http())),
        ("web6", labelled("web"), families(select("web", &http()), "SingleStack", &[V6])),
        ("dual", labelled("web"), families(select("web", &many_ports), "RequireDualStack", &[V6, V4])),
        ("early", labelled("web"), with(select("web", &http()), json!({"publishNotReadyAddresses": true}))),
        ("node-port", json!({}), with(select("web", &http()), json!({"type": "NodePort"}))),
        ("balancer", json!({}), with(select("web", &http()), json!({"type": "LoadBalancer"}))),
        ("named", json!({}), select("named", &by_name)),
        ("sidecar", json!({}), select("sidecar", &unnamed)),
        ("state", labelled("state"), headless(select("state", &http()))),
        ("portless", json!({}), headless(json!({"selector": {"app": "web"}}))),
        (
            "headless-dual",
            json!({}),
            families(headless(select("web", &http())), "PreferDualStack", &[V4, V6]),
        ),
        ("big", labelled("big"), json!({"selector": {"app": "big", "generation": "1"}, "ports": http()})),
        ("reserved", reserved, select("web", &http())),
        ("external", json!({}), json!({"type": "ExternalName", "externalName": "example.com"})),
        (
            "external-selecting",
            json!({}),
            with(
                select("web", &http()),
                json!({
            "type": "ExternalName", "externalName": "example.com"}),
            ),
        ),
        ("unselecting", json!({}), json!({"ports": http()})),
        ("roll", json!({}), select("roll", &http())),
        entry("empty", plain("no-pod")),
        entry("end", plain("end")),
        entry("same", plain("same")),
        ("six", json!({}), families(select("six", &http()), "PreferDualStack", &[V4, V6])),
        entry("lost", plain("lost")),
    ]
}
