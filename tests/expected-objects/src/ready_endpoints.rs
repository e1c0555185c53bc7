//! Ready endpoints by Service: those that should be, compared with those that slices have.

use std::collections::BTreeSet;

use random_operations::MANAGED_BY;
use serde_json::Value;

use crate::CONTROLLERS;
use crate::index::Index;
use crate::objects::{Objects, flag, label};
use crate::ports::{list, text};

impl Objects {
    /// The endpoints that should be ready and that no slice of their Service has as ready, whichever controller manages it.
    /// Ports, nodes and zones do not matter. One line for each: the Service, the addresses, and the pod.
    pub fn missing_endpoints(&self) -> BTreeSet<String> {
        let mut missing = BTreeSet::new();
        self.each_service(None, |name, there, wanted| {
            missing.extend(wanted.difference(there).map(|endpoint| format!("{name} {endpoint}")));
        });
        missing
    }

    /// Endpoints that are more urgent to write than others, each with its Service: those that slices have as ready and that
    /// should not be, and those that should be ready, of Services whose slices have none. The former not of a family that the
    /// Service has no longer: its pods work. Nor of a node that is gone: as upstream, no event of a node leads to a sync.
    pub fn urgent_endpoints(&self) -> [BTreeSet<(String, String)>; 2] {
        let mut first = BTreeSet::new();
        let mut dead = BTreeSet::new();
        self.each_service(None, |name, there, wanted| {
            let named = |endpoint: &String| (name.clone(), endpoint.clone());
            if there.is_empty() {
                first.extend(wanted.iter().map(named));
            }
            let families = list(&self.services[name], "/spec/ipFamilies");
            let is_of_service = |endpoint: &&String| {
                let family = if endpoint.contains("::") { "IPv6" } else { "IPv4" };
                families.iter().any(|known| known == family)
            };
            let has_node = |endpoint: &&String| {
                let pod = endpoint.rsplit(' ').next().and_then(|pod| self.pods.get(pod));
                let node = pod.map_or("", |pod| text(pod, "/spec/nodeName"));
                node.is_empty() || self.nodes.contains_key(node)
            };
            dead.extend(there.difference(wanted).filter(is_of_service).filter(has_node).map(named));
        });
        [dead, first]
    }

    /// The endpoints that slices of a Service with a selector have as ready, and that should not be.
    pub fn surplus_endpoints(&self) -> BTreeSet<String> {
        let mut surplus = BTreeSet::new();
        self.each_service(Some(CONTROLLERS[0]), |name, there, wanted| {
            surplus.extend(there.difference(wanted).map(|endpoint| format!("{name} {endpoint}")));
        });
        surplus
    }

    /// Looks at the ready endpoints of each Service: those that slices of a controller have, or of any, and those that it should
    /// have.
    fn each_service(
        &self,
        controller: Option<&str>,
        mut look: impl FnMut(&String, &BTreeSet<String>, &BTreeSet<String>),
    ) {
        let index = Index::of(self);
        for (name, service) in &self.services {
            if self.is_kept(name) && !self.is_delegated(service) {
                let wanted = self.wanted(&index, service).filter(|wanted| wanted.ready);
                let wanted = wanted.map(|it| format!("{:?} {}", it.addresses, it.pod_name)).collect();
                look(name, &ready(index.slices(name), controller), &wanted);
            }
        }
    }
}

/// The ready endpoints of those of a Service's slices that a controller, or any, manages: their addresses and pods. Ports are a
/// set, and addresses a list.
fn ready<'a>(slices: impl Iterator<Item = &'a Value>, controller: Option<&str>) -> BTreeSet<String> {
    let slices = slices.filter(|slice| controller.is_none() || label(slice, MANAGED_BY) == controller);
    let endpoints = slices.flat_map(|slice| list(slice, "/endpoints"));
    let ready = endpoints.filter(|endpoint| flag(endpoint, "/conditions/ready"));
    let named = ready.map(|endpoint| {
        let addresses: Vec<_> = list(endpoint, "/addresses").iter().filter_map(Value::as_str).collect();
        format!("{addresses:?} {}", text(endpoint, "/targetRef/name"))
    });
    named.collect()
}
