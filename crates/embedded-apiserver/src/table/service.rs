//! Rows of Services.

use std::collections::BTreeSet;

use serde_json::Value;

use super::object::{Age, NONE, joined, name, text_or};
use super::workload::labels;
use crate::kinds::tree::{field, int, list, text};

pub(super) fn cells(service: &Value, age: Age) -> Vec<Value> {
    let spec = field(service, "spec");
    let cluster_ip = list(spec, "clusterIPs").first().and_then(Value::as_str).unwrap_or(NONE);
    let ports: Vec<_> = list(spec, "ports").iter().map(port).collect();
    let ports = if ports.is_empty() { NONE.to_owned() } else { ports.join(",") };
    let selector = labels(field(spec, "selector"));
    vec![
        name(service),
        text(spec, "type").into(),
        cluster_ip.into(),
        external_ip(spec, field(service, "status")).into(),
        ports.into(),
        age.of_object(service),
        if selector.is_empty() { NONE.into() } else { selector.into() },
    ]
}

/// `80/TCP`, or `80:30080/TCP` with a node port.
fn port(port: &Value) -> String {
    let (number, protocol) = (int(port, "port"), text(port, "protocol"));
    match int(port, "nodePort") {
        node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn external_ip(spec: &Value, status: &Value) -> String {
    let external = joined(spec, "externalIPs");
    match text(spec, "type") {
        "ClusterIP" | "NodePort" if external.is_empty() => NONE.to_owned(),
        "ClusterIP" | "NodePort" => external,
        "LoadBalancer" => {
            let balanced = ingresses(status);
            match (balanced.is_empty(), external.is_empty()) {
                (true, true) => "<pending>".to_owned(),
                (true, false) => external,
                (false, true) => balanced,
                (false, false) => format!("{balanced},{external}"),
            }
        }
        "ExternalName" => text(spec, "externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of the load balancer, each once, sorted.
fn ingresses(status: &Value) -> String {
    let addresses: BTreeSet<_> = list(field(status, "loadBalancer"), "ingress")
        .iter()
        .map(|ingress| text_or(ingress, "ip", text(ingress, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}
