//! Pods that keep their readiness while nearly all kubelets are lost, with the feature gate `EndpointsKeepReadyOnDisruption`.
//!
//! Whether the gate is on is in no object. Slices show it: they have a pod as ready that only the node lifecycle controller calls
//! not ready, in a disruption.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::Pod;
use endpointslice::disruption::MIN_LOST;
use endpointslice::model::{ConditionFields, only_marked_not_ready};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::Serialize;

use super::{PodEntry, Snapshot};

/// The lowest share of lost nodes that the gate's flags allow, in percent.
const SHARE: usize = 50;

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

impl Snapshot {
    /// The pods among `selected` that `slices` have as ready and that only the node lifecycle controller calls not ready, because
    /// their node is not ready, in a disruption: as they are for the controllers, by name.
    ///
    /// Cost: nothing to speak of unless a pod is marked; then linear in nodes and endpoints.
    pub(crate) fn kept_ready<'a>(
        &self,
        selected: impl Iterator<Item = &'a PodEntry>,
        slices: impl Iterator<Item = &'a EndpointSlice>,
    ) -> BTreeMap<Box<str>, Pod> {
        let is_lost = |entry: &PodEntry| {
            let node = entry.pod.node_name.as_deref().and_then(|name| self.nodes().get(name));
            node.is_some_and(|node| !node.ready)
        };
        let is_kept = |entry: &&PodEntry| !entry.pod.ready && is_marked(&entry.object) && is_lost(entry);
        let marked: Vec<&PodEntry> = selected.filter(is_kept).collect();
        if marked.is_empty() || self.disruptions().is_empty() {
            return BTreeMap::new();
        }
        let published: BTreeSet<&str> = slices.flat_map(published_ready).collect();
        let kept = marked.into_iter().filter(|entry| published.contains(&*entry.pod.name));
        let as_before = |entry: &PodEntry| {
            let mut pod = (*entry.pod).clone();
            pod.ready = true;
            (pod.name.clone(), pod)
        };
        kept.map(as_before).collect()
    }

    /// Returns the cluster, then zones by name, in which so many nodes are not ready that the gate can have an effect.
    ///
    /// Cost: linear in nodes.
    pub fn disruptions(&self) -> Vec<DisruptedNodes> {
        let mut scopes: BTreeMap<Option<&str>, (usize, usize)> = BTreeMap::new();
        for node in self.nodes().iter() {
            for scope in [None, Some(node.zone.as_deref().unwrap_or_default())] {
                let (lost, all) = scopes.entry(scope).or_default();
                *lost += usize::from(!node.ready);
                *all += 1;
            }
        }
        let disrupted =
            scopes.into_iter().filter(|(_, (lost, all))| *lost >= MIN_LOST && lost * 100 >= all * SHARE);
        let nodes = |(zone, (lost, nodes)): (Option<&str>, _)| DisruptedNodes {
            zone: zone.map(str::to_owned),
            lost,
            nodes,
        };
        disrupted.map(nodes).collect()
    }
}

fn is_marked(pod: &core::Pod) -> bool {
    let status = pod.status.as_ref().and_then(|status| status.conditions.as_deref());
    let conditions: Vec<ConditionFields<'_>> =
        status.unwrap_or_default().iter().map(ConditionFields::from).collect();
    let gates = pod.spec.as_ref().and_then(|spec| spec.readiness_gates.as_deref()).unwrap_or_default();
    let gates: Vec<&str> = gates.iter().map(|gate| &*gate.condition_type).collect();
    only_marked_not_ready(&conditions, &gates)
}

/// The names of the pods that a slice has as ready.
fn published_ready(slice: &EndpointSlice) -> impl Iterator<Item = &str> {
    let is_ready = |ready: Option<bool>| ready != Some(false);
    let endpoints = slice.endpoints.iter().flatten();
    let ready = endpoints.filter(move |it| is_ready(it.conditions.as_ref().and_then(|it| it.ready)));
    ready.filter_map(|it| it.target_ref.as_ref()?.name.as_deref())
}
