//! Runs the example in a cluster in memory.

#[path = "cluster.rs"]
mod cluster;

use serde_json::json;

use super::{ACTIVE, APP, BlueGreen, MIN_READY};
use cluster::Cluster;

const BLUE: [&str; 2] = ["10.1.0.1", "10.1.0.2"];
const GREEN: [&str; 2] = ["10.1.1.1", "10.1.1.2"];

#[tokio::test(start_paused = true)]
async fn a_color_is_published_when_enough_of_its_pods_are_ready() {
    let cluster = Cluster::with(BlueGreen).await;
    cluster.service("web", json!({APP: "web", ACTIVE: "blue", MIN_READY: "2"})).await;
    for (number, address) in BLUE.iter().enumerate() {
        cluster.pod(&format!("blue-{number}"), json!({"app": "web", "color": "blue"}), address).await;
    }
    cluster.until("web", &BLUE).await;
    cluster.move_node("web", "b").await;

    cluster.annotate("web", json!({ACTIVE: "green"})).await;
    let waiting = cluster.event("WaitingForColor").await;
    assert_eq!(waiting, "2 more pods with color green must be ready before they are published");
    cluster.pod("green-0", json!({"app": "web", "color": "green"}), GREEN[0]).await;
    cluster.pod("blue-2", json!({"app": "web", "color": "blue"}), "10.1.0.3").await;
    cluster.until("web", &["10.1.0.1", "10.1.0.2", "10.1.0.3"]).await;

    cluster.pod("green-1", json!({"app": "web", "color": "green"}), GREEN[1]).await;
    assert_eq!(cluster.until("web", &GREEN).await.len(), 2, "no pod of the other color is left");
    cluster.ready("green-0", false).await;
    cluster.until("web", &["10.1.0.1", "10.1.0.2", "10.1.0.3"]).await;
    for number in 0..3 {
        cluster.ready(&format!("blue-{number}"), false).await;
    }
    cluster.until("web", &[GREEN[1]]).await;
}
