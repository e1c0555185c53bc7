//! Pods for Deployments, `ReplicaSets`, `StatefulSets` and `DaemonSets`.

use std::collections::BTreeSet;

use cli_runtime::input::object::{field, text};
use serde_json::{Map, Value, json};

/// The most pods of one workload; Services larger than that are not tried with manifests.
const MAX_PODS: u64 = 10_000;

/// The kinds that have pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Workload {
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
}

impl Workload {
    /// The kind of an object, if it has pods.
    pub(crate) fn of(api_version: &str, kind: &str) -> Option<Self> {
        match (api_version, kind) {
            ("apps/v1", "Deployment") => Some(Self::Deployment),
            ("apps/v1", "ReplicaSet") => Some(Self::ReplicaSet),
            ("apps/v1", "StatefulSet") => Some(Self::StatefulSet),
            ("apps/v1", "DaemonSet") => Some(Self::DaemonSet),
            _ => None,
        }
    }
}

/// The labels that the pods of a workload have.
pub(crate) fn labels(workload: &Value) -> Option<&Value> {
    field(workload, &["spec", "selector", "matchLabels"])
        .or_else(|| field(workload, &["spec", "template", "metadata", "labels"]))
}

/// The pods of a workload in a cluster of this number of nodes, without nodes and addresses. Their names leave out those in
/// `taken`. The error is about the field of its path.
pub(crate) fn pods(
    kind: Workload,
    workload: &Value,
    namespace: &str,
    nodes: usize,
    taken: &BTreeSet<String>,
) -> Result<Vec<Value>, (&'static str, String)> {
    let count = count(kind, workload, nodes)?;
    let template = field(workload, &["spec", "template"]);
    let Some(Value::Object(spec)) = template.and_then(|template| template.get("spec")) else {
        return Err(("spec.template.spec", "must be the spec of a pod".to_owned()));
    };
    let metadata = template.and_then(|template| template.get("metadata"));
    let name = text(workload, &["metadata", "name"]);
    let new = |name: String| pod(name, namespace, metadata, spec);
    if kind != Workload::StatefulSet {
        let names = (1..).map(|number: u64| format!("{name}-{number}")).filter(|name| !taken.contains(name));
        return Ok(names.take(count).map(new).collect());
    }
    let start = field(workload, &["spec", "ordinals", "start"]).and_then(Value::as_u64).unwrap_or(0);
    let service = text(workload, &["spec", "serviceName"]);
    let member = |index: usize| {
        let ordinal = start.saturating_add(index as u64);
        let mut pod = new(format!("{name}-{ordinal}"));
        make_member(&mut pod, service, ordinal);
        pod
    };
    Ok((0..count).map(member).collect())
}

fn count(kind: Workload, workload: &Value, nodes: usize) -> Result<usize, (&'static str, String)> {
    if kind == Workload::DaemonSet {
        return Ok(nodes.max(1));
    }
    let replicas = match field(workload, &["spec", "replicas"]) {
        None | Some(Value::Null) => Some(1),
        Some(number) => number.as_u64(),
    };
    match replicas.filter(|replicas| *replicas <= MAX_PODS) {
        Some(replicas) => Ok(usize::try_from(replicas).unwrap_or(0)),
        None => Err(("spec.replicas", format!("must be a number from 0 to {MAX_PODS}"))),
    }
}

fn pod(name: String, namespace: &str, metadata: Option<&Value>, spec: &Map<String, Value>) -> Value {
    let mut own = Map::new();
    own.insert("name".into(), name.into());
    own.insert("namespace".into(), namespace.into());
    for key in ["labels", "annotations"] {
        if let Some(value) = metadata.and_then(|metadata| metadata.get(key)) {
            own.insert(key.into(), value.clone());
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec})
}

/// Gives a pod of a `StatefulSet` its identity (`statefulset.updateIdentity`, `initIdentity`).
fn make_member(pod: &mut Value, service: &str, ordinal: u64) {
    let name = text(pod, &["metadata", "name"]).to_owned();
    if let Some(Value::Object(spec)) = pod.get_mut("spec") {
        spec.insert("hostname".into(), name.as_str().into());
        if !service.is_empty() {
            spec.insert("subdomain".into(), service.into());
        }
    }
    let Some(Value::Object(metadata)) = pod.get_mut("metadata") else { return };
    if let Value::Object(labels) = metadata.entry("labels").or_insert_with(|| json!({})) {
        labels.insert("statefulset.kubernetes.io/pod-name".into(), name.into());
        labels.insert("apps.kubernetes.io/pod-index".into(), ordinal.to_string().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(spec: &Value) -> Value {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}});
        let mut workload = json!({"metadata": {"name": "web"}, "spec": {"template": template}});
        workload["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        workload
    }

    fn names(kind: Workload, spec: &Value, taken: &[&str]) -> Vec<String> {
        let taken = taken.iter().map(|name| (*name).to_owned()).collect();
        let pods = pods(kind, &workload(spec), "ns", 3, &taken).unwrap();
        pods.iter().map(|pod| text(pod, &["metadata", "name"]).to_owned()).collect()
    }

    #[test]
    fn replicas_have_numbers() {
        assert_eq!(names(Workload::Deployment, &json!({"replicas": 2}), &[]), ["web-1", "web-2"]);
        assert_eq!(names(Workload::ReplicaSet, &json!({}), &["web-1"]), ["web-2"]);
        assert_eq!(names(Workload::ReplicaSet, &json!({"replicas": 0}), &[]), [""; 0]);
        assert_eq!(names(Workload::DaemonSet, &json!({}), &[]).len(), 3);
    }

    #[test]
    fn members_of_a_stateful_set_have_host_names() {
        let spec = json!({"replicas": 2, "serviceName": "db", "ordinals": {"start": 5}});
        assert_eq!(names(Workload::StatefulSet, &spec, &[]), ["web-5", "web-6"]);
        let pods = pods(Workload::StatefulSet, &workload(&spec), "ns", 0, &BTreeSet::new()).unwrap();
        assert_eq!(pods[1]["spec"], json!({"containers": [], "hostname": "web-6", "subdomain": "db"}));
        let labels = json!({
            "app": "web", "apps.kubernetes.io/pod-index": "6", "statefulset.kubernetes.io/pod-name": "web-6",
        });
        assert_eq!(pods[1]["metadata"], json!({"name": "web-6", "namespace": "ns", "labels": labels}));
    }

    #[test]
    fn bad_workloads_are_refused_by_field() {
        let refused =
            |workload: &Value| pods(Workload::Deployment, workload, "ns", 1, &BTreeSet::new()).unwrap_err().0;
        assert_eq!(refused(&workload(&json!({"replicas": -1}))), "spec.replicas");
        assert_eq!(refused(&workload(&json!({"replicas": 1_000_000_000}))), "spec.replicas");
        assert_eq!(refused(&workload(&json!({"replicas": "3"}))), "spec.replicas");
        assert_eq!(refused(&json!({"spec": {}})), "spec.template.spec");
    }
}
