//! Runs the example in a cluster in memory.

#[path = "cluster.rs"]
mod cluster;

use serde_json::json;

use super::*;
use cluster::Cluster;

#[tokio::test(start_paused = true)]
async fn a_service_publishes_the_pods_that_its_annotation_selects() {
    let cluster = Cluster::with(AnnotatedSelector).await;
    cluster.service("web", json!({SELECTOR: "app=web,tier=front"})).await;
    cluster.pod("web-1", json!({"app": "web", "tier": "front"}), "10.1.0.1").await;
    cluster.pod("web-2", json!({"app": "web", "tier": "back"}), "10.1.0.2").await;
    let endpoints = cluster.until("web", &["10.1.0.1"]).await;
    assert_eq!(endpoints[0].zone.as_deref(), Some("a"));
    assert_eq!(endpoints.len(), 1);
    cluster.move_node("web", "b").await;

    cluster.annotate("web", json!({SELECTOR: "app=web"})).await;
    cluster.until("web", &["10.1.0.1", "10.1.0.2"]).await;
    cluster.ready("web-1", false).await;
    assert_eq!(cluster.until("web", &["10.1.0.2"]).await.len(), 2, "a pod that is not ready is still listed");

    cluster.annotate("web", json!({SELECTOR: "app=web,tier"})).await;
    assert_eq!(cluster.until("web", &[]).await, [], "a label that cannot be read widens no selector");
    cluster.annotate("web", json!({SELECTOR: "app=web"})).await;
    cluster.until("web", &["10.1.0.2"]).await;

    cluster.annotate("web", json!({SELECTOR: null})).await;
    cluster.until("web", &[]).await;
}
