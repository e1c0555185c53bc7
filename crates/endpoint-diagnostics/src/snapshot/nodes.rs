//! Nodes, and the shares of zones that topology hints depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use endpointslice::topology::TopologyCache;
use endpointslice::{Interner, Node};
use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;

/// The nodes of a snapshot.
#[derive(Default)]
pub struct Nodes {
    by_name: BTreeMap<Arc<str>, Node>,
    created: BTreeMap<Arc<str>, Timestamp>,
    topology: TopologyCache,
}

impl Nodes {
    /// A node.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.by_name.get(name)
    }

    /// All nodes, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.by_name.values()
    }

    /// The time of a node's creation.
    pub fn created(&self, name: &str) -> Option<Timestamp> {
        self.created.get(name).copied()
    }

    /// The shares of zones.
    pub fn topology(&self) -> &TopologyCache {
        &self.topology
    }

    pub(super) fn upsert(&mut self, object: &core::Node, interner: &mut Interner) -> &Node {
        let node = Node::from_api(object, interner);
        match &object.metadata.creation_timestamp {
            Some(created) => self.created.insert(Arc::clone(&node.name), created.0),
            None => self.created.remove(&node.name),
        };
        let before = self.by_name.get(&node.name);
        self.topology.node_changed(before, Some(&node));
        let name = Arc::clone(&node.name);
        self.by_name.entry(name).insert_entry(node).into_mut()
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.created.remove(name);
        if let Some(node) = self.by_name.remove(name) {
            self.topology.node_changed(Some(&node), None);
        }
    }
}
