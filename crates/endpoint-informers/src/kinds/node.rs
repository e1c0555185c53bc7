//! Nodes.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpointslice::model::NodeFields;
use endpointslice::{Interner, Node};
use k8s_openapi::api::core::v1 as core;
use kube_protobuf::{DecodeError, NodeView};

use super::pod::SelectedPods;
use crate::resource::{Change, NoIndex, Resource};
use crate::state::{Handler, State};
use crate::store::Store;

impl Resource for Node {
    const KIND: &'static str = "Node";
    const RESOURCE: &'static str = "nodes";
    const PATH: &'static str = "/api/v1/nodes";
    const NAMESPACED: bool = false;

    type Index = NoIndex;

    fn read_protobuf<'a>(raw: &'a [u8], interner: &mut Interner) -> Result<(Self, &'a str), DecodeError> {
        let NodeView { meta, ready, allocatable_cpu, .. } = NodeView::parse(raw)?;
        let fields = NodeFields { name: meta.name, labels: meta.labels, ready, allocatable_cpu };
        Ok((Self::new(&fields, interner), meta.resource_version))
    }

    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let node: core::Node = serde_json::from_str(json)?;
        let object = Self::from_api(&node, interner);
        Ok((object, node.metadata.resource_version.unwrap_or_default()))
    }

    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Compares only what is cached: a Node's status is written every few minutes, and almost none of it matters here.
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }

    fn table(state: &State) -> &Store<Self> {
        &state.nodes
    }

    fn table_mut(state: &mut State) -> &mut Store<Self> {
        &mut state.nodes
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, is_initial_list: bool) {
        handler.node(change, state, is_initial_list);
    }
}

impl State {
    /// The nodes of these pods, as far as they are cached, and possibly other nodes; a node may be listed more than once.
    ///
    /// Cost: a lookup for each pod, or a copy of every node's pointer, whichever is less.
    pub fn nodes_of(&self, pods: &SelectedPods) -> Vec<Arc<Node>> {
        if pods.iter().len() > self.nodes.len() {
            return self.nodes.iter().cloned().collect();
        }
        let names = pods.iter().filter_map(|pod| pod.node_name.as_ref());
        names.filter_map(|name| self.nodes.get("", name)).cloned().collect()
    }

    /// The Services whose endpoints the change of a node may affect; a Service may be listed many times.
    ///
    /// The zone is published with each endpoint, and a pod whose node is unknown is not published at all, so both affect
    /// the Services of the node's pods. A deleted node affects no Service: other controllers delete its pods (upstream
    /// looks at zones again only when something else changes).
    ///
    /// Cost: the pods of the node times their labels.
    pub fn services_affected_by_node(&self, change: &Change<Node>) -> Vec<ObjectKey> {
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
