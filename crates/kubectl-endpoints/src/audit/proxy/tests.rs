//! A cluster in memory, and rules that a test changes.

use std::sync::Mutex;

use embedded_apiserver::ApiServer;
use endpoint_diagnostics::audit::Repair;
use serde_json::{Value, json};

use super::*;
use crate::audit::command::{DryRun, Fix};
use crate::audit::fix;

const TIMEOUT: Duration = Duration::from_millis(400);
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

fn slice(name: &str, address: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}}, "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}], "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
    })
}

/// A cluster with two Services of one endpoint each.
async fn cluster() -> (ApiServer, Cluster) {
    let server = ApiServer::new();
    let cluster = Cluster::in_memory(&server);
    let post = async |path: &str, object: &Value| {
        drop(cluster.client.create_json::<Value>(path, object).await.unwrap());
    };
    for (name, number) in [("web", 1), ("api", 2)] {
        let address = format!("10.96.1.{number}");
        let ports = json!([{"port": 80, "protocol": "TCP"}]);
        let spec = json!({"clusterIP": address, "clusterIPs": [address], "ports": ports});
        let service = json!({"metadata": {"name": name}, "spec": spec});
        post("/api/v1/namespaces/default/services", &service).await;
        post(SLICES, &slice(name, &format!("10.1.0.{number}"))).await;
    }
    (server, cluster)
}

/// Rules of IPv4 with a target for each Service.
fn node(web: &str, api: &str) -> Node {
    let service = |number: u8| {
        let verdict = json!({"goto": {"target": number.to_string()}});
        json!([{"concat": [format!("10.96.1.{number}"), "tcp", 80]}, verdict])
    };
    let rule = |number: u8, target: &str| {
        let dnat = json!([{"dnat": {"addr": target, "port": 8080}}]);
        json!({"rule": {"chain": number.to_string(), "expr": dnat}})
    };
    let map = json!({"map": {"name": "service-ips", "elem": [service(1), service(2)]}});
    let listing = json!({"nftables": [map, rule(1, web), rule(2, api)]});
    Node { ip: Some(Rules::parse(&listing.to_string()).unwrap()), ip6: None }
}

/// The findings of a check that reads these rules one after the other, and the last again until its time is over.
async fn found(cluster: &Cluster, nodes: &[[&str; 2]]) -> ConsumerFindings {
    let reads = Mutex::new(0..);
    let read = async || {
        let number = reads.lock().unwrap().next().unwrap_or_default();
        let [web, api] = nodes[nodes.len().min(number + 1) - 1];
        Ok::<_, Failure>(node(web, api))
    };
    compare(TIMEOUT, cluster, &cluster.read().await.unwrap(), read).await.unwrap()
}

#[tokio::test]
async fn rules_that_follow_are_in_order_and_stale_ones_are_named_and_their_slices_touched() {
    let (server, cluster) = cluster().await;
    let asked = found(&cluster, &[["10.1.0.1", "10.1.0.2"]]).await;
    assert!(asked.findings.is_empty() && asked.touches.is_empty() && !asked.is_incomplete);
    let asked = found(&cluster, &[["10.1.0.9", "10.1.0.2"]]).await;
    let [finding] = &asked.findings[..] else { panic!("{:?}", asked.findings) };
    assert_eq!((&*finding.object.name, finding.rule), ("web", "proxy-out-of-sync"));
    let expected = "the rules of kube-proxy for 10.96.1.1:80/TCP have had 10.1.0.9:8080, which kube-proxy should not use by \
                    the slices, and have lacked 10.1.0.1:8080, which it should use";
    assert!(finding.message.ends_with(expected), "{}", finding.message);

    let touches: Vec<Repair> = asked.touches.into_values().collect();
    let before = server.objects("discovery.k8s.io/v1", "EndpointSlice");
    fix::touch(&cluster, &touches, Fix { yes: true, dry_run: DryRun::None }).await.unwrap();
    let after = server.objects("discovery.k8s.io/v1", "EndpointSlice");
    for (before, after) in before.iter().zip(&after) {
        let metadata = &after["metadata"];
        let is_written = before["metadata"]["resourceVersion"] != metadata["resourceVersion"];
        assert_eq!((is_written, &before["endpoints"]), (metadata["name"] == "web", &after["endpoints"]));
        let time = &metadata["annotations"]["endpoints.kubernetes.io/last-change-trigger-time"];
        assert_eq!(time.is_string(), is_written);
    }
    // What has changed since had its event.
    fix::touch(&cluster, &touches, Fix { yes: true, dry_run: DryRun::None }).await.unwrap();
    assert_eq!(server.objects("discovery.k8s.io/v1", "EndpointSlice"), after);
}

#[tokio::test]
async fn rules_that_are_late_are_in_order() {
    let (_, cluster) = cluster().await;
    let asked = found(&cluster, &[["10.1.0.9", "10.1.0.2"], ["10.1.0.1", "10.1.0.2"]]).await;
    assert_eq!(asked.findings, []);
    // Another endpoint is late each time.
    let nodes = [["10.1.0.9", "10.1.0.2"], ["10.1.0.1", "10.1.0.9"], ["10.1.0.9", "10.1.0.2"]];
    assert_eq!(found(&cluster, &nodes).await.findings, []);
}

#[tokio::test]
async fn a_family_without_a_table_is_not_in_order() {
    let (_, cluster) = cluster().await;
    let snapshot = cluster.read().await.unwrap();
    let ip6 = async || Ok::<_, Failure>(Node { ip: None, ip6: Some(Rules::default()) });
    let asked = compare(TIMEOUT, &cluster, &snapshot, ip6).await.unwrap();
    assert!(asked.findings.is_empty() && asked.is_incomplete);
}
