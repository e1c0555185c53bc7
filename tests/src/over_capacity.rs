//! The workload of Services with more pods than Endpoints hold, and with named ports that differ from pod to pod.
//!
//! Each Service selects a part of 2,500 pods. Endpoints are cut to 1,000 addresses subset by subset, in an order that
//! depends on uids, and each share is rounded up, so the subset that gets one less differs between clusters. All shares
//! are therefore whole numbers here; `upstream_cases` of endpoints-controller have others.

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Endpoints;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::scenario::{NAMESPACE, Pod, World};
use crate::workload::{Phase, exact, with};

/// The number of pods.
const PODS: u16 = 2_500;

/// Pods from this number on never change. They belong to Services whose Endpoints have several subsets.
const UNCHANGED: u16 = 500;

/// The phases in order; each builds on the ones before.
pub const PHASES: &[Phase] = &[
    exact("2,500 pods, then Services that select parts of them", |w| create(w).boxed()),
    exact("pods of Services over capacity change", |w| readiness(w).boxed()),
    exact("a Service falls to its capacity and exceeds it again", |w| around_capacity(w).boxed()),
    exact("Services change labels and ports", |w| services_change(w).boxed()),
    exact("Endpoints change under the controller", |w| interference(w).boxed()),
];

/// Services whose Endpoints upstream writes at every sync: those over capacity at the end of all phases, and the one
/// with a label that the controller sets itself.
pub const WRITTEN_AT_EVERY_SYNC: &[&str] =
    &["crowd", "crowd-early", "crowd-headless", "many-ports", "reserved", "thousand-and-one"];

/// A pod of one of four groups, each with other port numbers. Every fifth pod is not ready, as many in each group.
fn pod(number: u16) -> Pod {
    let (group, nth) = (number % 4, number.to_string());
    let pod = Pod::new(&format!("crowd-{nth}"), "crowd", 0x4000 + number)
        .port("http", 8080 + group, "TCP")
        .port("admin", if group < 2 { 9901 } else { 9902 }, "TCP")
        .port("metrics", 9102, "TCP")
        .port("dns", 5300 + group, if group < 2 { "UDP" } else { "TCP" })
        .ready(Some(number % 5 != 4));
    let label = |pod: Pod, key, of_them: bool| if of_them { pod.label(key, "yes") } else { pod };
    let pod = label(pod, "dozen", number < 12);
    let pod = label(pod, "thousand", number < 1_000);
    let pod = label(pod, "thousand-and-one", number < 1_001);
    let pod = label(pod, "quiet", number >= UNCHANGED);
    if group == 3 { pod } else { pod.port("trace", 4317, "TCP") }
}

/// Six port names: some resolve to the same number everywhere, some to another in each group, some to none.
fn six_ports() -> Value {
    json!([
        {"name": "http", "port": 80, "targetPort": "http", "appProtocol": "kubernetes.io/h2c"},
        {"name": "admin", "port": 81, "targetPort": "admin"},
        {"name": "metrics", "port": 82, "targetPort": "metrics"},
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": "dns"},
        {"name": "dns-tcp", "port": 53, "targetPort": "dns"},
        {"name": "trace", "port": 83, "targetPort": "trace"},
    ])
}

/// Six port names, too: those of the four groups and of all pods, which are halves and eighths.
fn even_ports() -> Value {
    json!([
        {"name": "http", "port": 80, "targetPort": "http"},
        {"name": "http-again", "port": 8080, "targetPort": "http", "appProtocol": "http"},
        {"name": "metrics", "port": 82, "targetPort": "metrics"},
        {"name": "fixed", "port": 84, "targetPort": 8000},
        {"name": "fixed-udp", "port": 84, "protocol": "UDP", "targetPort": 8000},
        {"name": "nowhere", "port": 85, "targetPort": "nowhere"},
    ])
}

fn select(label: &str, value: &str, ports: &Value) -> Value {
    json!({"selector": {label: value}, "ports": ports})
}

async fn create(w: &World) {
    w.pods((0..PODS).map(pod)).await;
    w.sync().await;
    for (name, labels, spec) in services() {
        w.service(name, labels, spec).await;
    }
}

fn services() -> Vec<(&'static str, Value, Value)> {
    let one = || json!([{"name": "http", "port": 80, "targetPort": 8080}]);
    let headless = |spec| with(spec, json!({"clusterIP": "None"}));
    let dual =
        |spec| with(spec, json!({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"]}));
    let early = |spec| with(spec, json!({"publishNotReadyAddresses": true}));
    let labels = json!({"app": "crowd", "tier": "front"});
    let reserved = json!({
        "app": "reserved", "endpoints.kubernetes.io/managed-by": "someone", "service.kubernetes.io/headless": "no"});
    vec![
        ("crowd", labels.clone(), select("app", "crowd", &one())),
        ("crowd-early", labels.clone(), early(select("app", "crowd", &one()))),
        ("crowd-headless", json!({}), headless(json!({"selector": {"app": "crowd"}}))),
        ("many-ports", json!({}), select("quiet", "yes", &even_ports())),
        ("thousand", json!({}), select("thousand", "yes", &one())),
        ("thousand-and-one", labels, select("thousand-and-one", "yes", &one())),
        ("six", json!({}), select("dozen", "yes", &six_ports())),
        ("six-dual", json!({}), dual(select("dozen", "yes", &six_ports()))),
        ("six-early", json!({}), early(select("dozen", "yes", &six_ports()))),
        ("six-headless", json!({}), headless(select("dozen", "yes", &six_ports()))),
        ("headless", json!({}), headless(json!({"selector": {"dozen": "yes"}}))),
        ("portless", json!({}), json!({"selector": {"dozen": "yes"}, "clusterIP": "None"})),
        ("reserved", reserved, select("dozen", "yes", &one())),
    ]
}

/// Pods within and beyond the capacity of Endpoints.
async fn readiness(w: &World) {
    w.ready("crowd-0", false).await;
    w.sync().await;
    w.ready("crowd-4", true).await;
    w.sync().await;
    w.ready("crowd-0", true).await;
    w.sync().await;
    w.ready("crowd-14", false).await;
    w.sync().await;
    w.ready("crowd-4", false).await;
}

async fn around_capacity(w: &World) {
    w.terminate("crowd-20").await;
    w.sync().await;
    w.gone("crowd-20").await;
    w.sync().await;
    w.terminate("crowd-21").await;
    w.sync().await;
    w.pod(pod(20)).await;
    w.sync().await;
    w.gone("crowd-21").await;
    w.pod(pod(21).ready(Some(false))).await;
}

async fn services_change(w: &World) {
    let labels = |labels| json!({"metadata": {"labels": labels}});
    w.change_service("crowd", labels(json!({"tier": "back"}))).await;
    w.change_service("crowd-headless", labels(json!({"new": ""}))).await;
    w.change_service("reserved", labels(json!({"app": "other"}))).await;
    w.change_service("crowd-early", json!({"metadata": {"annotations": {"note": "nothing to Endpoints"}}}))
        .await;
    let mut ports = six_ports();
    ports.as_array_mut().unwrap().reverse();
    // Another order alone causes no write; another name and protocol do.
    w.change_service("six-early", json!({"spec": {"ports": ports}})).await;
    ports[0]["name"] = json!("tracing");
    ports[1]["appProtocol"] = json!("dns");
    w.change_service("six", json!({"spec": {"ports": ports}})).await;
    w.sync().await;
    w.change_service("reserved", labels(json!({"service.kubernetes.io/headless": "yes"}))).await;
    w.change_service("six-headless", json!({"spec": {"ports": null}})).await;
    w.change_service("six-dual", json!({"spec": {"publishNotReadyAddresses": true}})).await;
}

/// An edit by another client is repaired with the next change of the Service, a deletion at once.
async fn interference(w: &World) {
    let endpoints: Api<Endpoints> = Api::namespaced(w.client().clone(), NAMESPACE);
    let edit = async |name: &str, change: Value| {
        endpoints.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    };
    edit("crowd", json!({"metadata": {"annotations": {"endpoints.kubernetes.io/over-capacity": "warning"}}}))
        .await;
    edit(
        "thousand",
        json!({"metadata": {"annotations": {"endpoints.kubernetes.io/over-capacity": "truncated"}}}),
    )
    .await;
    edit("thousand-and-one", json!({"subsets": null})).await;
    edit("six", json!({"metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}}})).await;
    edit("six-dual", json!({"metadata": {"annotations": {"theirs": "1"}}})).await;
    edit("headless", json!({"metadata": {"labels": {"endpoints.kubernetes.io/managed-by": null}}})).await;
    for name in ["portless", "many-ports"] {
        endpoints.delete(name, &DeleteParams::default()).await.unwrap();
    }
    w.settle().await;
    for name in ["crowd", "thousand", "thousand-and-one", "six", "six-dual", "headless"] {
        w.change_service(name, json!({"metadata": {"annotations": {"touched": "1"}}})).await;
    }
    w.sync().await;
    // Foreign annotations stay; they are removed here, so that the result depends on the Service alone.
    for name in ["six", "six-dual"] {
        edit(name, json!({"metadata": {"annotations": {"theirs": null}}})).await;
    }
}
