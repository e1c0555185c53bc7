//! Nodes.

use std::sync::Arc;

use endpointslice::Node;

use super::pods::SelectedPods;
use super::store::{Cached, Change, Index, Store};
use super::{CachedKind, Handler, ObjectKey, State};
use controller_kit::queue::Lane;

impl Cached for Node {
    type Index = NoIndex;
    const KIND: &'static str = "Node";
    const NAMESPACED: bool = false;

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
    fn store(state: &State) -> &Store<Self> {
        &state.nodes
    }

    fn store_mut(state: &mut State) -> &mut Store<Self> {
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
    /// Nodes among which are those of these pods, as far as they are known; a node may be there more than once.
    ///
    /// Cost: a lookup for each pod, or a copy of every node's pointer, whichever is less.
    pub fn nodes_around(&self, pods: &SelectedPods) -> Vec<Arc<Node>> {
        if pods.iter().len() > self.nodes.len() {
            return self.nodes.iter().cloned().collect();
        }
        let names = pods.iter().filter_map(|pod| pod.node_name.as_ref());
        names.filter_map(|name| self.nodes.get("", name)).cloned().collect()
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
        services.map(|service| service.key()).collect()
    }
}
