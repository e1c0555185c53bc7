//! Nodes.

use std::collections::HashMap;
use std::sync::Arc;

use endpointslice::{Node, Pod};

use super::store::{Cached, Change, Index, Store};
use super::{CachedKind, Handler, ObjectKey, State};
use crate::queue::Lane;

impl Cached for Node {
    type Index = NoIndex;

    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// A Node's status is written every few minutes; almost none of it matters here.
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl CachedKind for Node {
    fn store(state: &mut State) -> &mut Store<Self> {
        &mut state.nodes
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane) {
        handler.node(change, state, lane);
    }
}

/// For kinds that are looked up by name only.
#[derive(Default)]
pub struct NoIndex;

impl<T> Index<T> for NoIndex {
    fn insert(&mut self, _object: &Arc<T>) {}
    fn remove(&mut self, _object: &Arc<T>) {}
    fn replace(&mut self, _old: &Arc<T>, _new: &Arc<T>) {}
}

impl State {
    /// The Nodes of these pods, by name; unknown ones are missing. Cost: one lookup for each pod.
    pub fn nodes_of(&self, pods: &[Arc<Pod>]) -> HashMap<Arc<str>, Arc<Node>> {
        let mut nodes = HashMap::new();
        for name in pods.iter().filter_map(|pod| pod.node_name.as_ref()) {
            if !nodes.contains_key(name)
                && let Some(node) = self.nodes.get("", name)
            {
                nodes.insert(Arc::clone(name), Arc::clone(node));
            }
        }
        nodes
    }

    /// The Services whose endpoints a node's change may concern; a Service may be named many times.
    ///
    /// A zone is published with each endpoint, and a pod whose node is unknown is not published at all, so both concern
    /// the Services of the node's pods. A node that goes away takes nothing from them: its pods are removed by others
    /// (upstream looks at zones again only when something else changes).
    ///
    /// Cost: the pods of the node times their labels.
    pub fn services_concerned_by_node(&self, change: &Change<Node>) -> Vec<ObjectKey> {
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new } if old.zone != new.zone => new,
            Change::Updated { .. } | Change::Deleted(_) => return Vec::new(),
        };
        let pods = self.pods_on_node(&node.name);
        let services = pods.flat_map(|pod| self.services_selecting(&pod.namespace, &pod.labels));
        services.map(|service| ObjectKey::from(&**service)).collect()
    }
}
