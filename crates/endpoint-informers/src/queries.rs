//! Queries over the cache.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpointslice::model::LabelSet;
use endpointslice::{Node, Pod, Service};

use crate::kinds::{CachedSlice, SelectedPods, UnreadableObjects};
use crate::resource::{Change, Resource as _};
use crate::state::State;

impl State {
    /// The pods that run on a node, in no particular order. Cost: the pods found.
    pub(crate) fn pods_on_node(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.index().on_node(node)
    }

    /// The pods of `namespace` that `selector` selects, in no particular order: [`SelectedPods`] sorts them. An empty selector
    /// selects none.
    ///
    /// Cost: the pods found, and the label sets that have the rarest label of the selector.
    pub fn pods_selected<'a>(
        &'a self,
        namespace: &str,
        selector: &'a LabelSet,
    ) -> impl Iterator<Item = &'a Arc<Pod>> {
        self.pods.index().selected(namespace, selector)
    }

    /// The number of times that the zone of a node has changed, or that a node appeared or was deleted. If it is the same
    /// as before, so is the zone of every node.
    pub fn zone_changes(&self) -> u64 {
        self.nodes.index().count()
    }

    /// The nodes of these pods, as far as they are cached, and possibly other nodes; a node may be listed more than
    /// once.
    ///
    /// Cost: a lookup for each pod, or a copy of every node's pointer, whichever is less.
    pub fn nodes_of(&self, pods: &SelectedPods) -> Vec<Arc<Node>> {
        if pods.iter().len() > self.nodes.len() {
            return self.nodes.iter().cloned().collect();
        }
        let names = pods.iter().filter_map(|pod| pod.node_name.as_ref());
        names.filter_map(|name| self.nodes.get("", name)).cloned().collect()
    }

    /// The slices with the labels of this Service and this controller, including those being deleted, in no particular
    /// order.
    ///
    /// Cost: the slices of the Service.
    pub fn slices_of(
        &self,
        namespace: &Arc<str>,
        service: &Arc<str>,
        managed_by: &str,
    ) -> Vec<Arc<CachedSlice>> {
        let slices = self.slices.index().of_service(namespace, service);
        slices.filter(|slice| slice.managed_by.as_deref() == Some(managed_by)).cloned().collect()
    }

    /// The Services of `namespace` whose selector selects a pod with these labels, in no particular order.
    ///
    /// Cost: one lookup for each label, plus the Services filed under it.
    pub fn services_selecting<'a>(
        &'a self,
        namespace: &str,
        labels: &'a LabelSet,
    ) -> impl Iterator<Item = &'a Arc<Service>> {
        self.services.index().selecting(namespace, labels)
    }

    /// The Services whose endpoints the change of a pod may affect, in an order that does not depend on hash tables; a
    /// Service may be listed twice.
    ///
    /// A pod whose labels changed leaves the Services that no longer select it and joins others. The Services that
    /// select it before and after are affected only if the pod itself changed (`util/controller_utils.go`
    /// `determineNeededServiceUpdates`).
    pub fn services_affected_by_pod(&self, change: &Change<Pod>) -> Vec<ObjectKey> {
        match change {
            Change::Added(pod) | Change::Deleted { last: pod, .. } => self.keys_selecting(pod),
            Change::Updated { old, new } => {
                let relabelled = !LabelSet::eq(&old.labels, &new.labels);
                // A mark that is overruled changes no endpoint, and is not what a later change is dated by.
                let differs = old.differs_as_endpoint(new) || old.marked_not_ready != new.marked_not_ready;
                match (relabelled, differs) {
                    (false, false) => Vec::new(),
                    (false, true) => self.keys_selecting(new),
                    (true, true) => [self.keys_selecting(old), self.keys_selecting(new)].concat(),
                    (true, false) => symmetric_difference(self.keys_selecting(old), self.keys_selecting(new)),
                }
            }
        }
    }

    /// The Services whose endpoints the change of a node may affect, in order.
    ///
    /// The zone is published with each endpoint, and a pod whose node is unknown is not published at all, so both
    /// affect the Services of the node's pods. A deleted node affects no Service: other controllers delete its pods
    /// (upstream looks at zones again only when something else changes).
    ///
    /// Cost: the pods of the node times their labels.
    pub fn services_affected_by_node(&self, change: &Change<Node>) -> Vec<ObjectKey> {
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new } if old.zone != new.zone => new,
            Change::Updated { .. } | Change::Deleted { .. } => return Vec::new(),
        };
        let pods = self.pods_on_node(&node.name);
        let services = pods.flat_map(|pod| self.services_selecting(&pod.namespace, &pod.labels));
        let mut keys: Vec<ObjectKey> = services.map(|service| service.key()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// True if this Service belongs to another controller, as far as both watches show.
    ///
    /// The two watches are not of one moment. A Service that both of them show has just changed its controller, and
    /// counts as ours until the main watch drops it. So does a Service of the main watch that could not be decoded.
    pub fn is_delegated(&self, key: &ObjectKey) -> bool {
        self.services.get(&key.namespace, &key.name).is_none()
            && !self.services.unreadable().contains(&key.namespace, &key.name)
            && self.delegated.get(&key.namespace, &key.name).is_some()
    }

    /// The objects that could not be decoded and may have endpoints in this namespace; usually `None`.
    pub fn unreadable_in(&self, namespace: &str) -> Option<UnreadableObjects> {
        (self.pods.has_unreadable() || self.nodes.has_unreadable()).then(|| UnreadableObjects {
            namespace: namespace.into(),
            pods: self.pods.unreadable().names_in(namespace),
            any_pod: self.pods.unreadable().is_crowded(namespace),
            nodes: self.nodes.unreadable().names_in(""),
            any_node: self.nodes.unreadable().has_unnamed(),
        })
    }

    fn keys_selecting(&self, pod: &Pod) -> Vec<ObjectKey> {
        let services = self.services_selecting(&pod.namespace, &pod.labels);
        let mut keys: Vec<ObjectKey> = services.map(|service| service.key()).collect();
        keys.sort();
        keys
    }
}

/// The keys that are in one list only. Both are sorted: a pod may be selected by thousands of Services.
fn symmetric_difference(mut left: Vec<ObjectKey>, mut joined: Vec<ObjectKey>) -> Vec<ObjectKey> {
    let stayed: Vec<ObjectKey> =
        left.iter().filter(|key| joined.binary_search(key).is_ok()).cloned().collect();
    left.append(&mut joined);
    left.retain(|key| stayed.binary_search(key).is_err());
    left
}
