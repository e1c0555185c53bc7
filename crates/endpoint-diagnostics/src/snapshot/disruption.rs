//! Pods that keep their readiness while nearly all kubelets are lost, with the feature gate `EndpointsKeepReadyOnDisruption`.
//!
//! Whether the gate is on is in no object. Slices show it: they have a pod as ready that only the node lifecycle controller calls
//! not ready, in a disruption.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::disruption::{Hold, MIN_LOST, Nodes, Policy, Scope};
use endpointslice::{Node, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::Serialize;

use super::namespace::PodEntry;

/// The lowest share of lost nodes that the gate's flags allow, in percent.
const SHARE: u32 = 50;

/// The numbers of nodes of a cluster, or of a zone, in a disruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DisruptedNodes {
    /// Their zone, empty for nodes without one; none for all nodes of the cluster.
    pub zone: Option<String>,
    /// The number of nodes that are not ready.
    pub lost: usize,
    /// The number of all.
    pub nodes: usize,
}

/// The rule of the gate, with the flags that keep the most: by cluster and by zone, because no object says which.
pub(super) struct Disruptions {
    cluster: Nodes,
    zones: Nodes,
}

impl Default for Disruptions {
    fn default() -> Self {
        let nodes = |scope| Nodes::new(Policy { scope, percent: SHARE, ..Policy::default() });
        Self { cluster: nodes(Scope::Cluster), zones: nodes(Scope::Zone) }
    }
}

impl Disruptions {
    /// Records a node that is new or has changed. The time is in seconds since the epoch.
    pub(super) fn observe(&mut self, node: &Node, now: i64) {
        for nodes in [&mut self.cluster, &mut self.zones] {
            // The affected pods are found when a report is made.
            let _ = nodes.observe(node, now);
        }
    }

    pub(super) fn forget(&mut self, node: &str, now: i64) {
        for nodes in [&mut self.cluster, &mut self.zones] {
            let _ = nodes.forget(node, now);
        }
    }

    /// The time until which a pod counts as ready, if it does.
    fn hold(&self, pod: &Pod) -> Hold {
        let (true, Some(node), Some(marked)) = (pod.marked_not_ready, &pod.node_name, pod.ready_changed_at())
        else {
            return Hold::No;
        };
        self.cluster.hold(node, marked).max(self.zones.hold(node, marked))
    }

    /// The time at which a pod ceased to count as ready, in seconds since the epoch.
    pub(super) fn ended(&self, pod: &Pod, now: i64) -> Option<i64> {
        self.hold(pod).end().filter(|end| *end <= now)
    }

    /// The pods among `selected` that `slices` have as ready and that only the node lifecycle controller calls not ready, because
    /// their node was lost in a disruption: as they are for the controllers, by name.
    ///
    /// Cost: linear in the selected pods, and in endpoints if one is marked.
    pub(super) fn kept_ready<'a>(
        &self,
        selected: impl Iterator<Item = &'a PodEntry>,
        slices: impl Iterator<Item = &'a EndpointSlice>,
        now: i64,
    ) -> BTreeMap<Box<str>, Pod> {
        let marked: Vec<&Pod> =
            selected.map(|entry| &*entry.pod).filter(|pod| self.hold(pod).at(now)).collect();
        if marked.is_empty() {
            return BTreeMap::new();
        }
        let published: BTreeSet<&str> = slices.flat_map(published_ready).collect();
        let kept = marked.into_iter().filter(|pod| published.contains(&*pod.name));
        let as_before = |pod: &Pod| {
            let mut pod = pod.clone();
            pod.ready = true;
            (pod.name.clone(), pod)
        };
        kept.map(as_before).collect()
    }
}

/// Returns the cluster, then zones by name, in which three nodes and half of all nodes are not ready. Nodes that their kubelets
/// call not ready count too.
///
/// Cost: linear in nodes.
pub(super) fn disrupted<'a>(nodes: impl Iterator<Item = &'a Node>) -> Vec<DisruptedNodes> {
    let mut scopes: BTreeMap<Option<&str>, (usize, usize)> = BTreeMap::new();
    for node in nodes {
        for scope in [None, Some(node.zone.as_deref().unwrap_or_default())] {
            let (lost, all) = scopes.entry(scope).or_default();
            *lost += usize::from(!node.ready);
            *all += 1;
        }
    }
    let disrupted =
        scopes.into_iter().filter(|(_, (lost, all))| *lost >= MIN_LOST && lost * 100 >= all * SHARE as usize);
    let nodes = |(zone, (lost, nodes)): (Option<&str>, _)| DisruptedNodes {
        zone: zone.map(str::to_owned),
        lost,
        nodes,
    };
    disrupted.map(nodes).collect()
}

/// The names of the pods that a slice has as ready.
fn published_ready(slice: &EndpointSlice) -> impl Iterator<Item = &str> {
    let is_ready = |ready: Option<bool>| ready != Some(false);
    let endpoints = slice.endpoints.iter().flatten();
    let ready = endpoints.filter(move |it| is_ready(it.conditions.as_ref().and_then(|it| it.ready)));
    ready.filter_map(|it| it.target_ref.as_ref()?.name.as_deref())
}
