//! The Endpoints controller, which has only the metrics of its queue.

use serde_json::json;
use tests::manager::{Controller, ManagerOptions};
use tests::scenario::{Pod, World};

use super::{Subject, both, promtool, same_series};

const SUBJECT: Subject = Subject {
    options: || ManagerOptions::of(&[Controller::Endpoints]),
    queue: "endpoint",
    prefix: None,
    syncs: |_| None,
    counted: &[],
    barrier_slices: 0,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn series_of_the_queue() {
    let (upstream, ours) = both(SUBJECT, script).await;
    assert_eq!(upstream.metrics.metrics.len(), 7, "{:?}", upstream.metrics.metrics.keys());
    same_series(&upstream, &ours);
    promtool::check(&upstream.text, &ours.text);
}

async fn script(w: &World) {
    w.pods((0..3).map(|number| Pod::new(&format!("web-{number}"), "web", number))).await;
    let ports = json!([{"name": "http", "port": 80}]);
    w.service("web", json!({}), json!({"selector": {"app": "web"}, "ports": ports})).await;
    w.service("refused", json!({}), json!({"selector": {"app": "refused"}, "ports": ports})).await;
    w.sync().await;
    w.ready("web-0", false).await;
    // The API server refuses Endpoints with this address: upstream retries with a back-off.
    w.pod(Pod::new("refused-0", "refused", 100).ips(&["127.0.0.1"])).await;
    w.sync().await;
    w.terminate("web-1").await;
    w.sync().await;
    w.delete_service("refused").await;
    w.delete_service("web").await;
}
