//! Objects that the input implies or lacks.

use std::collections::BTreeSet;

use cli_runtime::input::object::{Object, Origin, key};
use serde_json::{Value, json};

use super::cluster::kubelet;
use super::cluster::selector::selects;
use super::cluster::workload::{self, Workload};
use super::plan::Plan;
use super::skipped::listed;

/// The node of all pods, if the input has neither nodes nor pods on them.
pub(crate) const ONLY_NODE: &str = "node-1";

/// Objects that are added to the input, with lines about them for the user.
#[derive(Debug, Default)]
pub(crate) struct Added {
    namespaces: Vec<Value>,
    pub(crate) nodes: Vec<Value>,
    pub(crate) pods: Vec<MadePods>,
    pub(crate) notes: Vec<String>,
    /// Fields of workloads for which no pods can be made.
    pub(crate) problems: Vec<(Origin, &'static str, String)>,
}

/// Pods of a workload, with the place to blame for them.
#[derive(Debug)]
pub(crate) struct MadePods {
    pub(crate) pods: Vec<Value>,
    pub(crate) origin: Origin,
    /// The kind and the name of the workload.
    pub(crate) owner: (Workload, String),
}

impl Added {
    /// Adds what the objects of a plan lack.
    pub(crate) fn to(plan: &Plan) -> Self {
        let mut added = Self::default();
        added.note_unknown(plan);
        let namespace =
            |name: &String| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let names = plan.missing_namespaces();
        added.namespaces = names.iter().map(namespace).collect();
        added.add_nodes(plan);
        added.add_pods(plan, plan.of_kind("Node").count() + added.nodes.len());
        added
    }

    /// The objects that every cluster may have, with their resources.
    pub(crate) fn implied(&self) -> Vec<(&'static str, Value)> {
        let namespaces = self.namespaces.iter().map(|namespace| ("namespaces", namespace.clone()));
        namespaces.chain(self.nodes.iter().map(|node| ("nodes", node.clone()))).collect()
    }

    fn note_unknown(&mut self, plan: &Plan) {
        if !plan.unknown.is_empty() {
            let kinds: Vec<String> =
                plan.unknown.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            self.notes.push(format!("Skipped objects of kinds without endpoints: {}", kinds.join(", ")));
        }
    }

    /// If the input holds no node, those that pods run on, or one for pods that run on none: no pod with an address is
    /// without a node.
    fn add_nodes(&mut self, plan: &Plan) {
        let mut made = plan.missing_nodes();
        if made.is_empty() && plan.of_kind("Node").next().is_none() && plan.has_manifests_of_pods() {
            made.insert(ONLY_NODE.to_owned());
        }
        let node = |name: &String| {
            let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
            kubelet::start(&mut node);
            node
        };
        self.nodes = made.iter().map(node).collect();
        if !made.is_empty() {
            let names = listed(&made.into_iter().collect::<Vec<_>>());
            self.notes.push(format!(
                "The input holds no Nodes: made those that pods run on, without zones: {names}"
            ));
        }
    }

    /// The pods of workloads that come from manifests and of which the input holds none.
    fn add_pods(&mut self, plan: &Plan, nodes: usize) {
        let present: Vec<&Object> = plan.of_kind("Pod").collect();
        let taken: BTreeSet<String> = present.iter().map(|pod| pod.name().to_owned()).collect();
        let mut names = Vec::new();
        for (kind, object) in plan.manifests_of_workloads() {
            let labels = workload::labels(&object.tree);
            if present.iter().any(|pod| pod.namespace() == object.namespace() && selects(labels, &pod.tree)) {
                continue;
            }
            match workload::pods(kind, &object.tree, object.namespace(), nodes, &taken) {
                Ok(pods) => {
                    names.push(format!("{} {} ({})", object.kind(), key(&object.tree), pods.len()));
                    let owner = (kind, key(&object.tree));
                    self.pods.push(MadePods { pods, origin: object.origin.clone(), owner });
                }
                Err((field, reason)) => self.problems.push((object.origin.clone(), field, reason)),
            }
        }
        if !names.is_empty() {
            self.notes.push(format!("Made ready pods for workloads without any: {}", listed(&names)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::stored;
    use super::super::plan::plan;
    use super::*;
    use cli_runtime::input::object::text;

    fn added(objects: &[Value]) -> Added {
        let origin = Origin { source: 0, document: 1, path: String::new() };
        let objects = objects.iter().map(|tree| Object { tree: tree.clone(), origin: origin.clone() });
        Added::to(&plan(objects.collect(), &stored(), "shop").unwrap())
    }

    fn workload(kind: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}}})
    }

    fn pod(labels: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "labels": labels}, "spec": {"nodeName": "a"}})
    }

    #[test]
    fn pods_in_the_input_are_enough() {
        assert_eq!(added(&[workload("Deployment"), pod(&json!({"app": "web"}))]).pods.len(), 0);
        let other = added(&[workload("Deployment"), pod(&json!({"app": "other"}))]);
        let name = text(&other.pods[0].pods[0], &["metadata", "name"]);
        assert_eq!((name, text(&other.nodes[0], &["metadata", "name"])), ("web-2", "a"));
    }

    #[test]
    fn workloads_of_a_cluster_have_the_pods_they_have() {
        let mut deployment = workload("Deployment");
        deployment["metadata"]["uid"] = "u".into();
        assert_eq!(added(&[deployment]).pods.len(), 0);
    }
}
