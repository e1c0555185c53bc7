//! The decisions of kube-proxy about traffic, from the slices of one Service (`pkg/proxy/topology.go` `CategorizeEndpoints`,
//! `pkg/proxy/endpointslicecache.go`, `pkg/proxy/conntrack/cleanup.go`).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::Endpoint;

use crate::support::{Cluster, endpoints};

/// Family, port name and protocol.
type Port = (String, String, String);

/// An address and port, and whether that is so in whatever order slices are read: of several endpoints with the same address
/// and port, kube-proxy keeps the one that it reads first.
type Target = (String, bool);

/// The targets of one port.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Routes {
    cluster: BTreeSet<Target>,
    /// By node, if the Service has consumers that prefer endpoints near them.
    local: BTreeMap<String, BTreeSet<Target>>,
    /// The targets that keep their conntrack entries.
    serving: BTreeSet<Target>,
}

#[derive(Clone, Debug)]
struct Backend {
    ready: bool,
    serving: bool,
    terminating: bool,
    node: String,
}

/// The routes of each port.
pub(super) fn of(cluster: &Cluster) -> BTreeMap<Port, Routes> {
    let service = cluster.compact_service();
    let is_local = service.has_local_policy || service.traffic_distribution.is_some();
    let published = service.publish_not_ready_addresses || service.is_headless();
    let mut ports: BTreeMap<Port, BTreeMap<String, Vec<Backend>>> = BTreeMap::new();
    for slice in &cluster.slices {
        for port in slice.ports.iter().flatten() {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let key = (slice.address_type.clone(), text(&port.name), text(&port.protocol));
            let targets = ports.entry(key).or_default();
            for endpoint in endpoints(slice) {
                let target = format!("{} {:?}", endpoint.addresses[0], port.port);
                targets.entry(target).or_default().push(backend(endpoint));
            }
        }
    }
    let routes = ports.into_iter().map(|(port, targets)| {
        let mut routes = Routes { cluster: usable(&targets, |_| true), ..Routes::default() };
        if is_local {
            let nodes = targets.values().flatten().map(|backend| backend.node.clone());
            let nodes: BTreeSet<String> = nodes.collect();
            let local = nodes
                .into_iter()
                .map(|node| (node.clone(), usable(&targets, |backend| backend.node == node)));
            routes.local = local.filter(|(_, targets)| !targets.is_empty()).collect();
        }
        if port.2 == "UDP" {
            routes.serving = chosen(&targets, |backend| backend.serving);
        }
        if published {
            routes.cluster.extend(chosen(&targets, |_| true));
        }
        (port, routes)
    });
    routes.filter(|(_, routes)| *routes != Routes::default()).collect()
}

/// Ready endpoints, or those that serve while they terminate if none is ready.
fn usable(targets: &BTreeMap<String, Vec<Backend>>, is_near: impl Fn(&Backend) -> bool) -> BTreeSet<Target> {
    let ready = chosen(targets, |backend| is_near(backend) && backend.ready);
    if ready.is_empty() {
        chosen(targets, |backend| is_near(backend) && backend.serving && backend.terminating)
    } else {
        ready
    }
}

fn chosen(targets: &BTreeMap<String, Vec<Backend>>, choose: impl Fn(&Backend) -> bool) -> BTreeSet<Target> {
    let chosen = targets.iter().filter(|(_, backends)| backends.iter().any(&choose));
    chosen.map(|(target, backends)| (target.clone(), backends.iter().all(&choose))).collect()
}

fn backend(endpoint: &Endpoint) -> Backend {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    Backend {
        ready: conditions.ready.unwrap_or(true),
        serving: conditions.serving.unwrap_or(true),
        terminating: conditions.terminating.unwrap_or(false),
        node: endpoint.node_name.clone().unwrap_or_default(),
    }
}
