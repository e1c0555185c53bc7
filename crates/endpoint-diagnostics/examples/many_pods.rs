//! The time that reports take for many pods: `cargo run --release -p endpoint-diagnostics --example many_pods [PODS]`.
#![allow(clippy::unwrap_used, reason = "an example with objects of its own")]

use std::sync::Arc;
use std::time::Instant;

use endpoint_diagnostics::{Object, Snapshot, explain_all};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Pods of each Service.
const PODS_OF_A_SERVICE: usize = 10;

fn main() {
    let pods: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let start = Instant::now();
    let snapshot = snapshot(pods);
    let made = start.elapsed();
    let start = Instant::now();
    let reports = explain_all(&snapshot);
    let explained = start.elapsed();
    let reasons: usize = reports.iter().flat_map(|report| &report.pods).map(|pod| pod.reasons.len()).sum();
    println!(
        "{pods} pods of {} Services: {made:.2?} to make objects and a snapshot, {explained:.2?} to explain ({reasons} reasons)",
        reports.len()
    );
}

/// Services with their pods in one namespace; there are no slices and Endpoints yet, so that each pod has reasons.
fn snapshot(pods: usize) -> Snapshot {
    let mut snapshot = Snapshot::new("2001-01-01T00:00:00Z".parse().unwrap(), []);
    let node = json!({"metadata": {"name": "a"}});
    snapshot.upsert(Object::Node(read(node)));
    for number in 0..pods {
        let app = format!("app-{}", number / PODS_OF_A_SERVICE);
        let [_, second, third, fourth] = u32::try_from(number).unwrap_or_default().to_be_bytes();
        let pod = json!({
            "metadata": {"namespace": "shop", "name": format!("{app}-{number}"), "labels": {"app": app, "stage": "prod"}},
            "spec": {"nodeName": "a", "containers": [{"name": "main"}]},
            "status": {"phase": "Running", "podIPs": [{"ip": format!("10.{second}.{third}.{fourth}")}],
                "conditions": [{"type": "Ready", "status": if number % 7 == 0 { "False" } else { "True" }}]},
        });
        snapshot.upsert(Object::Pod(read(pod)));
        if number % PODS_OF_A_SERVICE == 0 {
            let service = json!({
                "metadata": {"namespace": "shop", "name": app, "uid": app},
                "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "selector": {"app": app, "stage": "prod"},
                    "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}]},
            });
            snapshot.upsert(Object::Service(read(service)));
        }
    }
    snapshot
}

fn read<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}
