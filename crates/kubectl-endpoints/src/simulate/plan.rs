//! The input, sorted: what is stored as it is, what is created, what is left out, in which order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cli_runtime::input::object::{Object, text};
use cli_runtime::input::problem;
use cli_runtime::input::source::Source;

use super::catalog::Resource;
use super::cluster::workload::Workload;

/// Namespaces that every cluster has.
const ALWAYS: [&str; 2] = ["default", "kube-system"];

/// Objects in the order in which they are stored: what others refer to comes first.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// Workloads of kinds that the API server does not store. They only have pods.
    pub(crate) workloads: Vec<(Workload, Object)>,
    /// The number of objects of each unknown kind.
    pub(crate) unknown: BTreeMap<String, usize>,
}

/// One object to store.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) object: Object,
    pub(crate) resource: Resource,
}

/// Two different objects of one name.
#[derive(Debug)]
pub(crate) struct Twice(pub(crate) Object);

impl Twice {
    /// A line about the second of them.
    pub(crate) fn line(&self, sources: &[Source]) -> String {
        let reason = format!("{} {} is there twice, with different contents", self.0.kind(), self.0.name());
        problem::of_field(sources, &self.0.origin, "", &reason)
    }
}

/// Sorts the objects of the input; those of these `kinds` are stored. Those of a namespaced kind that name no namespace get
/// `namespace`.
///
/// # Errors
/// An object that is there twice, with different contents. The same object may be repeated, as overlapping dumps do.
pub(crate) fn plan(objects: Vec<Object>, kinds: &[Resource], namespace: &str) -> Result<Plan, Box<Twice>> {
    let mut plan = Plan::default();
    let mut known: HashMap<[String; 4], usize> = HashMap::new();
    for mut object in objects {
        let workload = Workload::of(object.api_version(), object.kind());
        let names = (object.api_version(), object.kind());
        match kinds.iter().find(|resource| (resource.api_version, resource.kind) == names) {
            Some(&resource) => {
                if resource.namespaced {
                    object.complete(namespace);
                }
                let key = [object.api_version(), object.kind(), object.namespace(), object.name()]
                    .map(str::to_owned);
                // A name that the API server generates is never taken.
                if !object.name().is_empty() {
                    match known.get(&key).and_then(|step| plan.steps.get(*step)) {
                        Some(other) if other.object.tree == object.tree => continue,
                        Some(_) => return Err(Box::new(Twice(object))),
                        None => drop(known.insert(key, plan.steps.len())),
                    }
                }
                plan.steps.push(Step { object, resource });
            }
            None => match workload {
                Some(workload) => {
                    object.complete(namespace);
                    plan.workloads.push((workload, object));
                }
                None => *plan.unknown.entry(kind_name(&object)).or_default() += 1,
            },
        }
    }
    plan.steps.sort_by_key(|step| rank(&step.object));
    Ok(plan)
}

impl Plan {
    /// The objects of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Object> {
        self.steps.iter().map(|step| &step.object).filter(move |object| object.kind() == kind)
    }

    /// The workloads that were not read from a cluster, whose pods do not exist.
    pub(crate) fn manifests_of_workloads(&self) -> impl Iterator<Item = (Workload, &Object)> {
        let stored = self.steps.iter().map(|step| &step.object);
        let stored =
            stored.filter_map(|object| Some((Workload::of(object.api_version(), object.kind())?, object)));
        let others = self.workloads.iter().map(|(workload, object)| (*workload, object));
        stored.chain(others).filter(|(_, object)| !object.is_from_cluster())
    }

    /// True if there are pods, or workloads, that were not read from a cluster.
    pub(crate) fn has_manifests_of_pods(&self) -> bool {
        self.manifests_of_workloads().next().is_some()
            || self.of_kind("Pod").any(|pod| !pod.is_from_cluster())
    }

    /// The namespaces of objects, and those that every cluster has, without those that the input holds.
    pub(crate) fn missing_namespaces(&self) -> BTreeSet<String> {
        let namespaced = self.steps.iter().map(|step| &step.object);
        let all = namespaced.chain(self.workloads.iter().map(|(_, workload)| workload));
        let mut names: BTreeSet<String> = all
            .map(Object::namespace)
            .chain(ALWAYS)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        names.retain(|name| !self.of_kind("Namespace").any(|namespace| namespace.name() == name));
        names
    }

    /// The nodes that pods run on, if the input holds no node at all. If it holds some, a node that is missing is gone.
    pub(crate) fn missing_nodes(&self) -> BTreeSet<String> {
        if self.of_kind("Node").next().is_some() {
            return BTreeSet::new();
        }
        let nodes = self.of_kind("Pod").map(|pod| text(&pod.tree, &["spec", "nodeName"]));
        nodes.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

/// `Ingress (networking.k8s.io/v1)`.
fn kind_name(object: &Object) -> String {
    format!("{} ({})", object.kind(), object.api_version())
}

/// The place in the order. Services with a cluster IP come before those that get one.
fn rank(object: &Object) -> usize {
    const ORDER: [&str; 9] = [
        "Namespace",
        "Node",
        "ServiceAccount",
        "Deployment",
        "ReplicaSet",
        "Service",
        "Pod",
        "Endpoints",
        "EndpointSlice",
    ];
    let kind = ORDER.iter().position(|kind| *kind == object.kind()).unwrap_or(ORDER.len());
    let gets_address = object.kind() == "Service" && text(&object.tree, &["spec", "clusterIP"]).is_empty();
    2 * kind + usize::from(gets_address)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::catalog::stored;
    use super::*;
    use cli_runtime::input::object::Origin;

    fn object(kind: &str, name: &str, spec: &Value) -> Object {
        let tree = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        Object { tree, origin: Origin { source: 0, document: 1, path: String::new() } }
    }

    #[test]
    fn what_others_refer_to_comes_first() {
        let objects = vec![
            object("Pod", "a", &json!({"nodeName": "n"})),
            object("Service", "any", &json!({})),
            object("Service", "fixed", &json!({"clusterIP": "10.0.0.1"})),
            object("Ingress", "i", &json!({})),
            object("Node", "n", &json!({})),
        ];
        let plan = plan(objects, &stored(), "shop").unwrap();
        let order: Vec<&str> = plan.steps.iter().map(|step| step.object.name()).collect();
        assert_eq!(order, ["n", "fixed", "any", "a"]);
        assert_eq!(plan.unknown, BTreeMap::from([("Ingress (v1)".to_owned(), 1)]));
        assert_eq!(
            plan.missing_namespaces(),
            BTreeSet::from(["default", "kube-system", "shop"].map(str::to_owned))
        );
        assert_eq!(plan.missing_nodes(), BTreeSet::new());
        let namespaces: Vec<&str> = plan.steps.iter().map(|step| step.object.namespace()).collect();
        assert_eq!(namespaces, ["", "shop", "shop", "shop"]);
    }

    #[test]
    fn nodes_are_missing_only_if_all_are() {
        let pod = object("Pod", "a", &json!({"nodeName": "n"}));
        let only = plan(vec![pod.clone()], &stored(), "shop").unwrap();
        assert_eq!(only.missing_nodes(), BTreeSet::from(["n".to_owned()]));
        let with_other = plan(vec![pod, object("Node", "m", &json!({}))], &stored(), "shop").unwrap();
        assert_eq!(with_other.missing_nodes(), BTreeSet::new());
    }

    #[test]
    fn an_object_may_be_repeated_but_not_changed() {
        let pod = |node: &str| object("Pod", "a", &json!({"nodeName": node}));
        assert_eq!(plan(vec![pod("x"), pod("x")], &stored(), "shop").unwrap().steps.len(), 1);
        let twice = plan(vec![pod("x"), pod("y")], &stored(), "shop").unwrap_err();
        let mut expected = pod("y");
        expected.complete("shop");
        assert_eq!(twice.0, expected);
        let unnamed = || object("Pod", "", &json!({}));
        assert_eq!(plan(vec![unnamed(), unnamed()], &stored(), "shop").unwrap().steps.len(), 2);
    }
}
