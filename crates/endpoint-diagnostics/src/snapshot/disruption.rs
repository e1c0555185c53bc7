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

    /// Returns the cluster, then zones by name, in which three nodes and half of all are not ready, or in which there is a
    /// disruption by the rule of the gate. That leaves nodes out, such as those of the control plane; nodes that their kubelets
    /// call not ready are not lost for it, but count here.
    ///
    /// Cost: linear in nodes, but for a sort of zones.
    pub(super) fn disrupted<'a>(&self, nodes: impl Iterator<Item = &'a Node>) -> Vec<DisruptedNodes> {
        let mut scopes: BTreeMap<Option<&str>, (usize, usize)> = BTreeMap::new();
        for node in nodes {
            for scope in [None, Some(node.zone.as_deref().unwrap_or_default())] {
                let (lost, all) = scopes.entry(scope).or_default();
                *lost += usize::from(!node.ready);
                *all += 1;
            }
        }
        let ongoing = |nodes: &Nodes| {
            let scopes = nodes.scopes().filter(|scope| scope.period.is_ongoing());
            scopes.map(|scope| scope.zone.unwrap_or_default()).collect::<BTreeSet<_>>()
        };
        let (cluster, zones) = (ongoing(&self.cluster), ongoing(&self.zones));
        let is_ongoing = |zone: Option<&str>| zone.map_or(!cluster.is_empty(), |zone| zones.contains(zone));
        let is_share = |lost: usize, all: usize| lost >= MIN_LOST && lost * 100 >= all * SHARE as usize;
        let disrupted =
            scopes.into_iter().filter(|(zone, (lost, all))| is_share(*lost, *all) || is_ongoing(*zone));
        let nodes = |(zone, (lost, nodes)): (Option<&str>, _)| DisruptedNodes {
            zone: zone.map(str::to_owned),
            lost,
            nodes,
        };
        disrupted.map(nodes).collect()
    }
}

/// The names of the pods that a slice has as ready.
fn published_ready(slice: &EndpointSlice) -> impl Iterator<Item = &str> {
    let is_ready = |ready: Option<bool>| ready != Some(false);
    let endpoints = slice.endpoints.iter().flatten();
    let ready = endpoints.filter(move |it| is_ready(it.conditions.as_ref().and_then(|it| it.ready)));
    ready.filter_map(|it| it.target_ref.as_ref()?.name.as_deref())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use serde_json::{Value, json};

    use crate::snapshot::{Object, Snapshot};

    const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
    const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

    /// The states of nodes `STATUS ZONE [LABEL]`, as `CLUSTER-OR-ZONE LOST/NODES`.
    fn disrupted(nodes: &[&str]) -> Vec<String> {
        let mut snapshot = Snapshot::new(Timestamp::UNIX_EPOCH, []);
        for (number, text) in nodes.iter().enumerate() {
            let mut words = text.split(' ');
            let mut next = || words.next().unwrap_or_default();
            let (status, zone, label) = (next(), next(), next());
            let labels = json!({"topology.kubernetes.io/zone": zone, label: ""});
            let condition =
                json!({"type": "Ready", "status": status, "lastTransitionTime": "1970-01-01T00:00:00Z"});
            let node: Value = json!({"metadata": {"name": format!("n{number}"), "labels": labels},
                "status": {"conditions": [condition]}});
            snapshot.upsert(Object::Node(Arc::new(serde_json::from_value(node).unwrap())));
        }
        let line = |it: &super::DisruptedNodes| {
            format!("{} {}/{}", it.zone.as_deref().unwrap_or("cluster"), it.lost, it.nodes)
        };
        snapshot.disruptions().iter().map(line).collect()
    }

    #[test]
    fn nodes_that_the_gate_leaves_out_hide_no_disruption() {
        let lost = ["Unknown a"; 3];
        let control_plane = format!("True a {CONTROL_PLANE}");
        let excluded = format!("True a {EXCLUDED}");
        let with = |others: &[&str]| disrupted(&[&lost[..], others].concat());
        assert_eq!(with(&["True a"; 3]), ["cluster 3/6", "a 3/6"]);
        assert!(with(&["True a"; 4]).is_empty());
        assert_eq!(with(&[&*control_plane; 4]), ["cluster 3/7", "a 3/7"]);
        assert_eq!(with(&[&*excluded; 4]), ["cluster 3/7", "a 3/7"]);
        assert_eq!(with(&["True b"; 4]), ["a 3/3"]);
        // Their kubelets say so, and the gate keeps nothing.
        assert_eq!(disrupted(&["False "; 3]), ["cluster 3/3", " 3/3"]);
    }
}
