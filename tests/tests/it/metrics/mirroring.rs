//! The EndpointSliceMirroring controller.

use k8s_openapi::api::core::v1::Endpoints;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::manager::{Controller, ManagerOptions};
use tests::scenario::{NAMESPACE, World};

use super::{Subject, both, same_series_and_figures};

const SKIPPED_PER_SYNC: &str = "endpoint_slice_mirroring_controller_addresses_skipped_per_sync";

const SUBJECT: Subject = Subject {
    options: || ManagerOptions {
        max_endpoints_per_subset: 3,
        ..ManagerOptions::of(&[Controller::EndpointSliceMirroring])
    },
    queue: "endpoint_slice_mirroring",
    prefix: "endpoint_slice_mirroring_controller_",
    syncs: |metrics| {
        metrics.histogram("endpoint_slice_mirroring_controller_endpoints_sync_duration", &[])?.count
    },
    // Deletions of slices that are no longer mirrored are not counted.
    counted: &["create", "update"],
    barrier_slices: 1,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn series_and_figures_of_mirrored_endpoints() {
    let (upstream, ours) = both(SUBJECT, script).await;
    for observation in [&upstream, &ours] {
        // Guards against a script that no longer reaches these cases.
        let skipped = observation.metrics.histogram(SKIPPED_PER_SYNC, &[]).and_then(|found| found.sum);
        assert!(skipped.is_some_and(|sum| sum >= 2.0), "{skipped:?}");
    }
    same_series_and_figures(&upstream, &ours, 3 + 3 + 3);
}

/// Custom Endpoints of the workload's namespace. No object is touched twice without a sync in between.
struct Custom<'a> {
    world: &'a World,
    endpoints: Api<Endpoints>,
}

impl Custom<'_> {
    /// Creates Endpoints, and a Service without a selector.
    async fn create(&self, name: &str, ips: &[&str]) {
        self.create_alone(name, ips).await;
        self.world.service(name, json!({}), json!({"ports": [{"port": 80}]})).await;
    }

    async fn create_alone(&self, name: &str, ips: &[&str]) {
        let object = json!({"metadata": {"name": name}, "subsets": subsets(ips, &[])});
        let object = serde_json::from_value(object).unwrap();
        self.endpoints.create(&PostParams::default(), &object).await.unwrap();
    }

    async fn change(&self, name: &str, change: Value) {
        self.endpoints.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }
}

fn subsets(ready: &[&str], not_ready: &[&str]) -> Value {
    let list = |ips: &[&str]| ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
    json!([{"addresses": list(ready), "notReadyAddresses": list(not_ready), "ports": [{"port": 80}]}])
}

async fn script(w: &World) {
    let custom = Custom { world: w, endpoints: Api::namespaced(w.client().clone(), NAMESPACE) };
    custom.create("plain", &["10.9.0.1", "10.9.0.2"]).await;
    custom.create("dual", &["10.9.1.1", "fd00:9::1"]).await;
    custom.create("many", &["10.9.2.1", "10.9.2.2", "10.9.2.3", "10.9.2.4", "10.9.2.5"]).await;
    for name in ["emptied", "gone", "unserved", "selected", "skipped"] {
        custom.create(name, &["10.9.3.1"]).await;
    }
    custom.create_alone("late", &["10.9.4.1"]).await;
    w.sync().await;
    custom.change("plain", json!({"subsets": subsets(&["10.9.0.1"], &["10.9.0.2"])})).await;
    custom.change("dual", json!({"subsets": subsets(&["10.9.1.1"], &[])})).await;
    custom.change("emptied", json!({"subsets": null})).await;
    custom
        .change(
            "skipped",
            json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}}),
        )
        .await;
    custom.endpoints.delete("gone", &DeleteParams::default()).await.unwrap();
    w.delete_service("unserved").await;
    w.change_service("selected", json!({"spec": {"selector": {"app": "web"}}})).await;
    w.service("late", json!({}), json!({"ports": [{"port": 80}]})).await;
    w.sync().await;
    custom.change("plain", json!({"subsets": subsets(&["10.9.0.1", "10.9.0.3"], &[])})).await;
    custom.change("many", json!({"metadata": {"labels": {"team": "net"}}})).await;
    let trigger_time = "endpoints.kubernetes.io/last-change-trigger-time";
    custom.change("dual", json!({"metadata": {"annotations": {trigger_time: "2001-01-01T00:00:00Z"}}})).await;
    w.sync().await;
    // Other ports: the slice gets new content.
    let subset = json!([{"addresses": [{"ip": "10.9.0.1"}], "ports": [{"port": 81}]}]);
    custom.change("plain", json!({"subsets": subset})).await;
}
