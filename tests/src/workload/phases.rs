//! The changes of each phase.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::objects::{big, http, initial_pods, labelled, roll, select, services, web, with};
use super::{V4, V6};
use crate::scenario::{Pod, World};
use crate::wait::{self, LIMIT};

pub(super) async fn create(w: &World) {
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

pub(super) async fn readiness(w: &World) {
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

pub(super) async fn termination(w: &World) {
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

pub(super) async fn replacement(w: &World) {
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

pub(super) async fn relabelling(w: &World) {
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

pub(super) async fn service_labels(w: &World) {
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

pub(super) async fn service_ports(w: &World) {
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

pub(super) async fn selectors(w: &World) {
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

pub(super) async fn growth(w: &World) {
    for number in 250..254 {
        w.pod(big(number)).await;
        w.sync().await;
    }
    w.pod(big(254).ready(Some(false))).await;
    w.expect_sizes("big", V4, &[100, 100, 55]).await;
}

pub(super) async fn types(w: &World) {
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

pub(super) async fn recreation(w: &World) {
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
pub(super) async fn interference(w: &World) {
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

pub(super) async fn missing_node(w: &World) {
    w.expect("lost", V4, 1, 1).await;
    w.node("missing", Some("z")).await;
    // A node alone triggers no sync: the retry may be far away, and the Service's next change may come too early.
    let mut attempt = 0;
    wait::until("the endpoint on the new node", LIMIT, || {
        attempt += 1;
        let touch = json!({"metadata": {"annotations": {"touched": attempt.to_string()}}});
        async move {
            w.change_service("lost", touch).await;
            w.sync().await;
            let slices = w.slices_of("lost", V4).await?;
            match slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()).count() {
                2 => Ok(()),
                count => Err(format!("{count} endpoints")),
            }
        }
    })
    .await;
}

pub(super) async fn shrinking(w: &World) {
    w.change_service("big", json!({"spec": {"selector": {"generation": "2"}}})).await;
    // Of three slices one goes, one loses the first generation, and one stays as it is.
    w.expect_sizes("big", V4, &[100, 25]).await;
}

pub(super) async fn rollout(w: &World) {
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
