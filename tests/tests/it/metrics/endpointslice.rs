//! The EndpointSlice controller.

use serde_json::{Value, json};
use tests::manager::ManagerOptions;
use tests::scenario::{Pod, World};

use super::{Subject, both, same_series_and_figures};

const V4: &str = "IPv4";
const CHANGED_PER_SYNC: &str = "endpoint_slice_controller_endpointslices_changed_per_sync";

const SUBJECT: Subject = Subject {
    options: ManagerOptions::default,
    queue: "endpoint_slice",
    prefix: "endpoint_slice_controller_",
    syncs: |metrics| {
        let syncs = ["success", "stale", "error"].map(|result| {
            metrics.number("endpoint_slice_controller_syncs", &[("result", result)]).unwrap_or_default()
        });
        Some(syncs.iter().sum())
    },
    counted: &["create", "update", "delete"],
    barrier_slices: 2,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn series_and_figures_of_single_stack_services() {
    let (upstream, ours) = both(SUBJECT, single_stack).await;
    // Guards against a script that no longer reaches these cases.
    for distribution in ["PreferClose", "PreferSameZone", "PreferSameNode", ""] {
        let labels = &[("topology", "Disabled"), ("traffic_distribution", distribution)];
        assert!(upstream.metrics.histogram(CHANGED_PER_SYNC, labels).is_some(), "{labels:?}");
    }
    same_series_and_figures(&upstream, &ours, 3 + 3 + 3 + 2 + 5);
}

fn big(number: u16) -> Pod {
    let generation = if number < 130 { "1" } else { "2" };
    Pod::new(&format!("big-{number}"), "big", 0x1000 + number).label("generation", generation)
}

fn web(number: u16) -> Pod {
    Pod::new(&format!("web-{number}"), "web", number).node(if number.is_multiple_of(2) { "a" } else { "b" })
}

fn spec(app: &str, more: Value) -> Value {
    let mut spec = json!({"selector": {"app": app}, "ports": [{"name": "http", "port": 80}]});
    let Value::Object(more) = more else { unreachable!("specs are objects") };
    spec.as_object_mut().unwrap().extend(more);
    spec
}

/// Services of one family each, and at least one observation of every label value but `stale`. No Service is touched
/// twice without a sync in between.
async fn single_stack(w: &World) {
    w.pods((0..8).map(web)).await;
    w.pods((0..250).map(big)).await;
    w.pod(Pod::new("lost-0", "lost", 100)).await;
    // Its node never exists: the Service is retried, with result="error", until the end.
    w.pod(Pod::new("lost-1", "lost", 101).node("missing")).await;
    w.sync().await;
    for (name, app, more) in [
        ("plain", "web", json!({})),
        ("six", "web", json!({"ipFamilies": ["IPv6"]})),
        ("close", "web", json!({"trafficDistribution": "PreferClose"})),
        ("zone", "web", json!({"trafficDistribution": "PreferSameZone"})),
        ("node", "web", json!({"trafficDistribution": "PreferSameNode"})),
        ("fickle", "web", json!({"trafficDistribution": "PreferClose"})),
        ("auto", "web", json!({})),
        ("both", "web", json!({"trafficDistribution": "PreferSameZone"})),
        ("headless", "web", json!({"clusterIP": "None"})),
        ("leaving", "web", json!({})),
        ("abandoned", "web", json!({})),
        ("doomed", "web", json!({})),
        ("empty", "no-pod", json!({})),
        ("lost", "lost", json!({})),
        ("external", "web", json!({"type": "ExternalName", "externalName": "example.com"})),
        ("big", "big", json!({"selector": {"app": "big", "generation": "1"}})),
    ] {
        w.service(name, json!({}), spec(app, more)).await;
    }
    w.expect_sizes("big", V4, &[100, 30]).await;
    w.expect("lost", V4, 1, 1).await;
    w.sync().await;
    changes_of_services(w).await;
    w.ready("web-0", false).await;
    w.sync().await;
    w.terminate("web-1").await;
    w.sync().await;
    w.gone("web-1").await;
    w.sync().await;
    w.pod(web(8)).await;
    w.expect("plain", V4, 8, 7).await;
    w.expect("both", V4, 8, 7).await;
}

async fn changes_of_services(w: &World) {
    let auto = || json!({"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}});
    w.change_service("auto", auto()).await;
    w.change_service("both", auto()).await;
    w.change_service("big", json!({"spec": {"selector": {"generation": null}}})).await;
    w.change_service("close", json!({"spec": {"trafficDistribution": "PreferSameNode"}})).await;
    w.change_service("zone", json!({"spec": {"trafficDistribution": null}})).await;
    w.change_service("fickle", json!({"spec": {"trafficDistribution": "PreferSameZone"}})).await;
    w.change_service("abandoned", json!({"spec": {"selector": null}})).await;
    let external = json!({"type": "ExternalName", "externalName": "example.com", "clusterIP": null,
        "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null});
    w.change_service("leaving", json!({"spec": external})).await;
    w.delete_service("doomed").await;
    w.expect_sizes("big", V4, &[100, 100, 50]).await;
    w.sync().await;
    // Of three slices one goes, one loses the first generation, and one stays. Not after the change of ports, when
    // upstream mixes generations at random.
    w.change_service("big", json!({"spec": {"selector": {"generation": "2"}}})).await;
    // No garbage collector runs here, so the slices of the earlier Service remain, and its successor replaces them.
    w.service("doomed", json!({}), spec("web", json!({"trafficDistribution": "PreferClose"}))).await;
    w.sync().await;
    w.change_service("big", json!({"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 81}]}}))
        .await;
    w.change_service("fickle", json!({"spec": {"trafficDistribution": "PreferSameNode"}})).await;
    w.sync().await;
    w.delete_service("node").await;
}
