//! The scripted workload of the parity tests.
//!
//! In an exact phase no Service is touched twice without a [`World::sync`] in between, so that the controller
//! cannot merge two changes into one write, and the number of writes is determined. Phases of changes that
//! overlap come last: they determine content only.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::canonical::Detail;
use crate::scenario::{Pod, World};

const V4: &str = "IPv4";
const V6: &str = "IPv6";
const ENDPOINTS: &str = "endpoints";
const SLICES: &str = "endpointslices";

/// A part of the workload, after which slices are compared and writes counted.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// The phase as a sentence.
    pub name: &'static str,
    /// The extent to which it determines the result.
    pub detail: Detail,
    /// The resources and Services that upstream writes a different number of times in every run.
    chance: &'static [(&'static str, &'static str)],
    run: for<'a> fn(&'a World) -> BoxFuture<'a, ()>,
}

impl Phase {
    /// True if upstream writes this resource of this Service a different number of times in every run.
    pub fn is_chance(&self, resource: &str, service: &str) -> bool {
        let at_every_sync = resource == ENDPOINTS && WRITTEN_AT_EVERY_SYNC.contains(&service);
        at_every_sync || self.chance.contains(&(resource, service))
    }

    const fn with_chance(self, chance: &'static [(&'static str, &'static str)]) -> Self {
        Self { chance, ..self }
    }

    /// Makes the changes, and returns when the controllers have handled them.
    pub async fn run(&self, world: &World) {
        (self.run)(world).await;
        world.settle().await;
    }
}

/// The phases in order; each builds on the ones before.
pub const PHASES: &[Phase] = &[
    exact("create pods, then Services of all kinds", |w| create(w).boxed()),
    exact("pods become ready and not ready", |w| readiness(w).boxed()),
    exact("pods terminate", |w| termination(w).boxed()),
    exact("pods go, finish, come back", |w| replacement(w).boxed()),
    exact("pods change labels and addresses", |w| relabelling(w).boxed()),
    exact("Services change labels", |w| service_labels(w).boxed()),
    exact("Services change ports", |w| service_ports(w).boxed()),
    exact("Services change selectors; 130 endpoints become 250", |w| selectors(w).boxed())
        .with_chance(MIRRORED_FOR_A_WHILE),
    exact("a large Service grows pod by pod", |w| growth(w).boxed()),
    exact("Services change type and families", |w| types(w).boxed()),
    exact("Services are deleted and created again", |w| recreation(w).boxed()).with_chance(DELETED_BY_TWO),
    exact("slices change under the controller", |w| interference(w).boxed()),
    exact("a missing node appears", |w| missing_node(w).boxed()),
    exact("a large Service shrinks", |w| shrinking(w).boxed()),
    overlapping("a rollout of 40 pods, everything at once", |w| rollout(w).boxed()),
];

/// Services whose Endpoints upstream writes at every sync, because they carry a label that the controller sets itself.
/// The number of changes that share a sync is a matter of timing.
pub const WRITTEN_AT_EVERY_SYNC: &[&str] = &["reserved"];

/// When the selector is back, mirrored slices are deleted on account of the Service and of its Endpoints. The second
/// request finds them gone, or is not made because its sync sees that.
const MIRRORED_FOR_A_WHILE: &[(&str, &str)] = &[(SLICES, "early")];

/// The API server deletes the Endpoints of a Service together with it, and so does the controller. The order of the two
/// decides whether the controller's request finds them, and whether it creates them once more in between.
const DELETED_BY_TWO: &[(&str, &str)] = &[
    (ENDPOINTS, "web"),
    (ENDPOINTS, "empty"),
    (ENDPOINTS, "named"),
    (ENDPOINTS, "portless"),
    (ENDPOINTS, "same"),
];

pub(crate) const fn exact(name: &'static str, run: for<'a> fn(&'a World) -> BoxFuture<'a, ()>) -> Phase {
    Phase { name, detail: Detail::Exact, chance: &[], run }
}

const fn overlapping(name: &'static str, run: for<'a> fn(&'a World) -> BoxFuture<'a, ()>) -> Phase {
    Phase { name, detail: Detail::Content, chance: &[], run }
}

fn web(number: u16) -> Pod {
    Pod::new(&format!("web-{number}"), "web", number).port("http", 8080, "TCP").port("stats", 9102, "TCP")
}

fn big(number: u16) -> Pod {
    let generation = if number < 130 { "1" } else { "2" };
    let pod = Pod::new(&format!("big-{number}"), "big", 0x1000 + number);
    pod.label("generation", generation).node(if number.is_multiple_of(2) { "a" } else { "b" })
}

fn roll(number: u16) -> Pod {
    Pod::new(&format!("roll-{number}"), "roll", 0x2000 + number).node("b")
}

fn initial_pods() -> Vec<Pod> {
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

fn labelled(app: &str) -> Value {
    json!({"app": app, "tier": "front"})
}

fn http() -> Value {
    json!([{"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "kubernetes.io/h2c"}])
}

fn select(app: &str, ports: &Value) -> Value {
    json!({"selector": {"app": app}, "ports": ports})
}

pub(crate) fn with(mut spec: Value, fields: Value) -> Value {
    let (Value::Object(spec_fields), Value::Object(more)) = (&mut spec, fields) else {
        unreachable!("specs are objects")
    };
    spec_fields.extend(more);
    spec
}

async fn create(w: &World) {
    w.pods(initial_pods()).await;
    foreign_slice(w).await;
    w.sync().await;
    for (name, labels, spec) in services() {
        w.service(name, labels, spec).await;
    }
    w.expect("web", V4, 4, 2).await;
    w.expect("web6", V6, 4, 2).await;
    w.expect("early", V4, 4, 4).await;
    w.expect("lost", V4, 1, 1).await;
    w.expect_sizes("big", V4, &[100, 30]).await;
}

/// Services of every kind, each with its labels.
fn services() -> Vec<(&'static str, Value, Value)> {
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

/// A slice of the Service without selector, made by hand; no controller may touch it.
async fn foreign_slice(w: &World) {
    let slice = json!({
        "metadata": {"name": "by-hand", "labels": {
            "kubernetes.io/service-name": "unselecting", "endpointslice.kubernetes.io/managed-by": "someone"}},
        "addressType": "IPv4", "ports": [{"name": "http", "port": 8080}],
        "endpoints": [{"addresses": ["10.9.9.9"]}],
    });
    w.slices().create(&PostParams::default(), &serde_json::from_value(slice).unwrap()).await.unwrap();
}

async fn readiness(w: &World) {
    w.ready("web-2", true).await;
    w.ready("state-1", true).await;
    w.ready("named-a", false).await;
    w.ready("big-7", false).await;
    w.sync().await;
    w.ready("web-0", false).await;
    w.ready("state-0", false).await;
    w.ready("named-a", true).await;
    w.sync().await;
    w.ready("web-3", true).await;
    w.ready("big-7", true).await;
    w.sync().await;
    // The same status again: only the time is new.
    w.ready("web-3", true).await;
    w.expect("web", V4, 4, 3).await;
    w.expect("state", V4, 3, 2).await;
}

async fn termination(w: &World) {
    w.terminate("web-1").await;
    w.terminate("state-1").await;
    w.terminate("named-b").await;
    w.terminate("end-running").await;
    w.sync().await;
    w.ready("web-1", false).await;
    w.terminate("same-a").await;
    w.sync().await;
    w.terminate("web-0").await;
    w.terminate("big-8").await;
    w.expect("web", V4, 4, 2).await;
    w.expect("early", V4, 4, 4).await;
    w.expect("end", V4, 1, 0).await;
}

async fn replacement(w: &World) {
    w.gone("web-1").await;
    w.gone("named-b").await;
    w.gone("state-1").await;
    w.end("end-running", "Succeeded").await;
    w.gone("same-a").await;
    w.sync().await;
    w.pod(web(1).node("b")).await;
    w.sync().await;
    w.gone("web-0").await;
    w.expect("web", V4, 3, 3).await;
    w.sync().await;
    w.terminate("web-2").await;
    // A stateful pod with its old name and another address.
    let again = Pod::new("state-1", "state", 123).spec("hostname", json!("state-1"));
    w.pod(again.spec("subdomain", json!("state"))).await;
    // The last endpoint of a Service goes, and one comes back.
    w.end("same-b", "Failed").await;
    w.sync().await;
    w.pod(Pod::new("same-c", "same", 145)).await;
    w.gone("web-2").await;
    w.expect("end", V4, 0, 0).await;
    w.expect("same", V4, 1, 1).await;
}

async fn relabelling(w: &World) {
    w.relabel("web-3", json!({"app": "no-pod"})).await;
    w.relabel("named-c", json!({"unrelated": "label"})).await;
    w.sync().await;
    w.relabel("web-3", json!({"app": "named"})).await;
    w.sync().await;
    w.relabel("web-3", json!({"app": "web"})).await;
    w.ips("state-0", &["10.1.7.7", "fd00:7::7"]).await;
    w.sync().await;
    w.relabel("web-3", json!({"app": null})).await;
    // One family is lost.
    w.ips("six", &["10.1.8.8"]).await;
    w.expect("web", V4, 1, 1).await;
    w.expect("empty", V4, 0, 0).await;
    w.expect("six", V4, 1, 1).await;
    w.expect("six", V6, 0, 0).await;
}

async fn service_labels(w: &World) {
    let change = |labels| json!({"metadata": {"labels": labels}});
    w.change_service("web", change(json!({"tier": "back", "new": ""}))).await;
    w.change_service("dual", change(json!({"app": null, "tier": null}))).await;
    w.change_service("big", change(json!({"tier": "back"}))).await;
    w.change_service("empty", change(json!({"tier": "back"}))).await;
    // Reserved keys and annotations do not cause a write.
    w.change_service("reserved", change(json!({"service.kubernetes.io/headless": "yes"}))).await;
    w.change_service("early", json!({"metadata": {"annotations": {"note": "1"}}})).await;
    w.change_service("state", json!({"spec": {"sessionAffinity": "ClientIP"}})).await;
    w.change_service("external", change(json!({"tier": "back"}))).await;
    w.sync().await;
    w.change_service("web", change(json!({"new": null}))).await;
    w.expect("web", V4, 1, 1).await;
}

async fn service_ports(w: &World) {
    let change = |ports| json!({"spec": {"ports": ports}});
    // A slice does not depend on the port of a Service alone, but on its name, target and appProtocol.
    w.change_service(
        "web",
        change(json!([
        {"name": "http", "port": 81, "targetPort": 8080, "appProtocol": "kubernetes.io/h2c"}])),
    )
    .await;
    w.change_service("web6", change(json!([{"name": "http", "port": 80, "targetPort": 8080}]))).await;
    w.change_service("early", change(json!([{"name": "web", "port": 80, "targetPort": 8080}]))).await;
    w.change_service("named", change(json!([{"name": "metrics", "port": 9153, "targetPort": "metrics"}])))
        .await;
    w.change_service("big", change(json!([{"name": "http", "port": 80, "targetPort": 8081}]))).await;
    w.change_service("empty", change(json!([{"name": "http", "port": 80, "targetPort": 8081}]))).await;
    w.sync().await;
    w.change_service("web", change(json!([{"name": "http", "port": 80, "targetPort": "stats"}]))).await;
    w.change_service("portless", change(http())).await;
    w.sync().await;
    w.change_service("portless", change(Value::Null)).await;
    // Ports in another order are the same ports.
    w.change_service(
        "dual",
        change(json!([
        {"name": "https", "port": 443, "targetPort": 8443, "appProtocol": "https"},
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "sctp", "port": 7, "protocol": "SCTP"},
        {"name": "absent", "port": 444, "targetPort": "nowhere"},
        {"name": "metrics", "port": 9153, "targetPort": "stats"},
        {"name": "dns-tcp", "port": 53}])),
    )
    .await;
    w.expect_sizes("big", V4, &[100, 30]).await;
}

async fn selectors(w: &World) {
    let change = |selector| json!({"spec": {"selector": selector}});
    w.pods((130..250).map(big)).await;
    w.sync().await;
    w.change_service("big", change(json!({"generation": null}))).await;
    w.change_service("web", change(json!({"app": "state"}))).await;
    w.change_service("dual", change(json!({"app": "no-pod"}))).await;
    w.change_service("empty", change(json!({"app": "named"}))).await;
    // Without a selector a Service keeps the slices it has.
    w.change_service("early", change(Value::Null)).await;
    w.change_service("unselecting", change(json!({"app": "web"}))).await;
    w.sync().await;
    w.pod(web(4)).await;
    w.sync().await;
    w.change_service("web", change(json!({"app": "web"}))).await;
    w.change_service("dual", change(json!({"app": "web"}))).await;
    w.change_service("early", change(json!({"app": "web"}))).await;
    w.change_service("unselecting", change(Value::Null)).await;
    w.expect("early", V4, 2, 2).await;
    w.expect_sizes("big", V4, &[100, 100, 50]).await;
}

async fn growth(w: &World) {
    for number in 250..254 {
        w.pod(big(number)).await;
        w.sync().await;
    }
    w.pod(big(254).ready(Some(false))).await;
    w.expect_sizes("big", V4, &[100, 100, 55]).await;
}

async fn types(w: &World) {
    let external = json!({"spec": {"type": "ExternalName", "externalName": "example.com",
        "clusterIP": null, "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null}});
    w.change_service("node-port", json!({"spec": {"type": "ClusterIP", "ports": [
        {"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "kubernetes.io/h2c", "nodePort": null}]}}))
        .await;
    w.change_service("balancer", external).await;
    w.change_service(
        "web",
        json!({"spec": {
        "ipFamilyPolicy": "RequireDualStack", "ipFamilies": [V4, V6]}}),
    )
    .await;
    w.change_service("external-selecting", json!({"spec": {"type": "ClusterIP", "externalName": null}}))
        .await;
    w.change_service(
        "headless-dual",
        json!({"spec": {
        "ipFamilyPolicy": "SingleStack", "ipFamilies": [V4]}}),
    )
    .await;
    w.change_service("state", json!({"spec": {"publishNotReadyAddresses": true}})).await;
    w.expect("web", V6, 2, 2).await;
    w.sync().await;
    // A change that does not affect the Service of type ExternalName.
    w.ready("web-4", false).await;
    w.sync().await;
    w.change_service("web", json!({"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": [V4]}})).await;
    w.change_service("balancer", json!({"spec": {"type": "ClusterIP", "externalName": null}})).await;
    w.expect("external-selecting", V4, 2, 1).await;
    w.expect("balancer", V4, 2, 1).await;
}

async fn recreation(w: &World) {
    for name in ["web", "empty", "named", "portless", "same"] {
        w.delete_service(name).await;
    }
    w.sync().await;
    // No garbage collector runs here, so the slices of a deleted Service remain, and its successor finds them.
    w.service("web", labelled("web"), select("web", &http())).await;
    w.service("empty", labelled("web"), select("no-pod", &http())).await;
    w.service("portless", json!({}), with(json!({"selector": {"app": "web"}}), json!({"clusterIP": "None"})))
        .await;
    w.expect("web", V4, 2, 1).await;
    w.sync().await;
    w.delete_service("empty").await;
    w.sync().await;
    // The placeholder of a predecessor is left alone.
    w.service("empty", labelled("web"), select("no-pod", &http())).await;
}

/// Changes by another client that are repaired a second later, or left alone. Left out: removing `managed-by` from a
/// slice that upstream wrote itself. Upstream takes its cache of the Service for stale from then on, and never syncs it
/// again.
async fn interference(w: &World) {
    let slices: &Api<EndpointSlice> = w.slices();
    let of =
        async |service: &str, family: &str| w.slices_of(service, family).await.unwrap().remove(0).name_any();
    let patch = async |name: String, change: Value| {
        slices.patch(&name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    };
    slices.delete(&of("web", V4).await, &DeleteParams::default()).await.unwrap();
    slices.delete(&of("same", V4).await, &DeleteParams::default()).await.unwrap();
    patch(of("dual", V4).await, json!({"endpoints": []})).await;
    patch(of("web6", V6).await, json!({"metadata": {"labels": {"theirs": "1"}}})).await;
    patch(of("early", V4).await, json!({"metadata": {"annotations": {"theirs": "1"}}})).await;

    let ours = |name: &str, service: &str, family: &str, address: &str| {
        let labels = json!({"kubernetes.io/service-name": service,
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"});
        json!({"metadata": {"name": name, "labels": labels}, "addressType": family,
            "endpoints": [{"addresses": [address]}]})
    };
    for slice in [
        ours("of-no-family", "web", "FQDN", "example.com"),
        ours("of-the-other-family", "web", V6, "fd00:99::1"),
        ours("of-node-port", "node-port", V4, "10.9.9.9"),
        ours("of-no-service", "no-such-service", V4, "10.9.9.9"),
    ] {
        slices.create(&PostParams::default(), &serde_json::from_value(slice).unwrap()).await.unwrap();
    }
    w.settle().await;
    w.expect("web", V4, 2, 1).await;
    w.expect("dual", V4, 2, 1).await;
    w.expect("node-port", V4, 2, 1).await;
    // Whether repaired or not, the next change is written.
    w.ready("web-4", true).await;
}

async fn missing_node(w: &World) {
    w.expect("lost", V4, 1, 1).await;
    w.node("missing", Some("z")).await;
    // A node alone triggers no sync: the retry may be far away, and the Service's next change may come too early.
    for attempt in 0.. {
        let touch = json!({"metadata": {"annotations": {"touched": attempt.to_string()}}});
        w.change_service("lost", touch).await;
        w.sync().await;
        let slices = w.slices_of("lost", V4).await.unwrap();
        if slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()).count() == 2 {
            break;
        }
        assert!(attempt < 100, "the endpoint on the new node does not come");
    }
}

async fn shrinking(w: &World) {
    w.change_service("big", json!({"spec": {"selector": {"generation": "2"}}})).await;
    // Of three slices one goes, one loses the first generation, and one stays as it is.
    w.expect_sizes("big", V4, &[100, 25]).await;
}

async fn rollout(w: &World) {
    w.pods((0..40).map(|number| roll(number).ready(Some(false)))).await;
    futures::future::join_all((0..40).map(|number| async move {
        let name = format!("roll-{number}");
        w.ready(&name, true).await;
        if number < 20 {
            w.terminate(&name).await;
            w.ready(&name, false).await;
            w.gone(&name).await;
            w.pod(roll(number + 40)).await;
        }
    }))
    .await;
    w.expect("roll", V4, 40, 40).await;
}
