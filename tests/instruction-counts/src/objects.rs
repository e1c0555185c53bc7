//! Objects with the same content in every run.

use std::sync::Arc;

use endpointslice::model::{NodeFields, PodFields, PortFields, ReadyCondition, ServiceFields, TargetPort};
use endpointslice::{Interner, Node, Pod, Service};

/// Services of a cluster.
pub(crate) const SERVICES: usize = 100;
/// Nodes of a cluster.
pub(crate) const NODES: usize = 50;

/// The namespace of the Service with this number.
pub(crate) fn namespace(service: usize) -> String {
    format!("ns-{}", service / 20)
}

/// A Service with a selector and one port.
pub(crate) fn service(number: usize, interner: &mut Interner) -> Service {
    let (namespace, app) = (namespace(number), format!("app-{number}"));
    let port =
        PortFields { name: "http", port: 80, target: TargetPort::Name("http"), ..PortFields::default() };
    let fields = ServiceFields {
        namespace: &namespace,
        name: &app,
        uid: &format!("{number:08x}-0000-4000-8000-000000000000"),
        resource_version: "1",
        selector: vec![("app", &app)],
        cluster_ip: "10.96.0.10",
        ports: vec![port],
        ..ServiceFields::default()
    };
    Service::new(fields, interner)
}

/// A pod of a Service.
pub(crate) fn pod(service: usize, number: usize, is_ready: bool, interner: &mut Interner) -> Pod {
    let (namespace, app) = (namespace(service), format!("app-{service}"));
    let address = format!("10.{}.{}.{}", 64 + service, number >> 8 & 255, number & 255);
    let version = if is_ready { "10" } else { "11" };
    let fields = PodFields {
        namespace: &namespace,
        name: &format!("{app}-7d9c5b8f4-{number:05}"),
        uid: &format!("{service:08x}-{number:04x}-4000-8000-000000000000"),
        resource_version: version,
        labels: vec![("app", &app), ("pod-template-hash", "7d9c5b8f4"), ("tier", "backend")],
        node_name: &format!("node-{}", number % NODES),
        ports: vec![("http", "TCP", 8080), ("metrics", "TCP", 9090)],
        phase: "Running",
        addresses: vec![&address],
        ready: ReadyCondition { status: is_ready, last_transition: Some(1_700_000_000) },
        ..PodFields::default()
    };
    Pod::new(fields, interner)
}

/// A node in one of three zones.
pub(crate) fn node(number: usize, interner: &mut Interner) -> Node {
    let (name, zone) = (format!("node-{number}"), format!("zone-{}", number % 3));
    let labels = vec![("topology.kubernetes.io/zone", zone.as_str())];
    Node::new(&NodeFields { name: &name, labels, ..NodeFields::default() }, interner)
}

/// All nodes, by number.
pub(crate) fn nodes(interner: &mut Interner) -> Vec<Arc<Node>> {
    (0..NODES).map(|number| Arc::new(node(number, interner))).collect()
}
