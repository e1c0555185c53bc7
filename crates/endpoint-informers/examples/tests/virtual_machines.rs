//! Runs the example in a cluster in memory.

#[path = "cluster.rs"]
mod cluster;

use serde_json::{Value, json};

use super::*;
use cluster::Cluster;

#[tokio::test(start_paused = true)]
async fn machines_are_published_with_their_health() {
    let (sender, inventory) = watch::channel(Inventory::new());
    let cluster = Cluster::with(VirtualMachines { inventory }).await;
    let machine = |number: u8, healthy: bool| -> Value {
        let (name, address) = (format!("vm-{number}"), format!("192.168.7.{number}"));
        json!({"name": name, "address": address, "zone": "a", "healthy": healthy})
    };
    let publish = |machines: Value| {
        sender.send(serde_json::from_value(json!({"default/db": machines})).unwrap()).unwrap();
    };
    cluster.service("db", json!({})).await;
    publish(json!([machine(1, true), machine(2, false)]));
    let endpoints = cluster.until("db", &["192.168.7.1"]).await;
    assert_eq!(
        endpoints.iter().filter_map(|it| it.hostname.as_deref()).collect::<Vec<_>>(),
        ["vm-1", "vm-2"]
    );

    publish(json!([machine(1, false), machine(2, true), machine(3, true)]));
    cluster.until("db", &["192.168.7.2", "192.168.7.3"]).await;
    let loopback = json!({"name": "vm-4", "address": "127.0.0.1", "zone": "a", "healthy": true});
    publish(json!([machine(1, true), loopback]));
    cluster.until("db", &["192.168.7.1"]).await;
    assert!(cluster.event("InvalidAddress").await.contains("vm-4"), "it costs no other machine");
    publish(json!([]));
    cluster.until("db", &[]).await;
}
