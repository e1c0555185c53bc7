//! The work of the controllers of Deployments and `ReplicaSets`: which pods are missing, which are too many.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use cli_runtime::input::object::{field, text};
use serde_json::{Value, json};

use crate::simulate::cluster::selector::selects;
use crate::simulate::cluster::workload::{self, Workload};

/// The steps from the pods that a workload has to those that it asks for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Steps<'a> {
    pub(crate) create: Vec<Value>,
    pub(crate) delete: Vec<&'a Value>,
    pub(crate) status: Value,
}

/// The steps for a workload with these pods in its namespace. With `replace`, its template is new: none of its pods stays.
///
/// # Errors
/// The workload is wrong: the field and the reason.
pub(crate) fn steps<'a>(
    kind: Workload,
    workload: &Value,
    pods: &'a [Value],
    replace: bool,
) -> Result<Steps<'a>, (&'static str, String)> {
    let namespace = text(workload, &["metadata", "namespace"]);
    let taken: BTreeSet<String> =
        pods.iter().map(|pod| text(pod, &["metadata", "name"]).to_owned()).collect();
    let mut wanted = workload::pods(kind, workload, namespace, 0, &taken)?;
    let (mut kept, mut delete): (Vec<&Value>, Vec<&Value>) =
        (pods.iter().filter(|pod| is_own(workload, pod)).collect(), Vec::new());
    if replace {
        std::mem::swap(&mut kept, &mut delete);
    }
    // The youngest go first.
    kept.sort_by_key(|pod| Reverse(text(pod, &["metadata", "creationTimestamp"])));
    delete.extend(kept.drain(..kept.len().saturating_sub(wanted.len())));
    wanted.truncate(wanted.len() - kept.len());
    for pod in &mut wanted {
        own(pod, workload);
    }
    let status =
        status(kind, workload, kept.len() + wanted.len(), kept.iter().filter(|pod| is_ready(pod)).count());
    Ok(Steps { create: wanted, delete, status })
}

/// True for a pod that a workload selects, unless it ends or has ended.
pub(crate) fn is_own(workload: &Value, pod: &Value) -> bool {
    selects(workload::labels(workload), pod)
        && text(pod, &["metadata", "deletionTimestamp"]).is_empty()
        && !["Succeeded", "Failed"].contains(&text(pod, &["status", "phase"]))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = field(pod, &["status", "conditions"]).and_then(Value::as_array);
    let is_ready =
        |condition: &Value| text(condition, &["type"]) == "Ready" && text(condition, &["status"]) == "True";
    conditions.into_iter().flatten().any(is_ready)
}

/// Makes a stored workload the owner of a pod, which is deleted with it.
pub(crate) fn own(pod: &mut Value, workload: &Value) {
    let of = |path: &[&str]| text(workload, path).to_owned();
    let owner = json!({
        "apiVersion": of(&["apiVersion"]), "kind": of(&["kind"]), "name": of(&["metadata", "name"]),
        "uid": of(&["metadata", "uid"]), "controller": true, "blockOwnerDeletion": true,
    });
    if let Some(Value::Object(metadata)) = pod.get_mut("metadata") {
        metadata.insert("ownerReferences".into(), json!([owner]));
    }
}

/// The status of a workload with `replicas` pods.
fn status(kind: Workload, workload: &Value, replicas: usize, ready: usize) -> Value {
    let generation = field(workload, &["metadata", "generation"]);
    let mut status = json!({
        "observedGeneration": generation, "replicas": replicas, "readyReplicas": ready, "availableReplicas": ready,
    });
    let Value::Object(fields) = &mut status else { return status };
    if kind == Workload::Deployment {
        fields.insert("updatedReplicas".into(), replicas.into());
        fields.insert("unavailableReplicas".into(), (replicas - ready).into());
        let available = if ready == replicas { "True" } else { "False" };
        fields.insert("conditions".into(), json!([{"type": "Available", "status": available}]));
    } else {
        fields.insert("fullyLabeledReplicas".into(), replicas.into());
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(replicas: u64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": "web", "uid": "u", "generation": 3},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}}})
    }

    fn pod(name: &str, app: &str, created: &str) -> Value {
        json!({"metadata": {"namespace": "shop", "name": name, "labels": {"app": app}, "creationTimestamp": created},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    }

    /// Names of the pods that are created, and of those that are deleted.
    fn names(replicas: u64, pods: &[Value]) -> [Vec<String>; 2] {
        let workload = workload(replicas);
        let steps = steps(Workload::Deployment, &workload, pods, false).unwrap();
        let name = |pod: &Value| text(pod, &["metadata", "name"]).to_owned();
        [steps.create.iter().map(name).collect(), steps.delete.iter().map(|pod| name(pod)).collect()]
    }

    #[test]
    fn missing_pods_are_made_and_the_youngest_are_too_many() {
        let pods = [
            pod("web-1", "web", "1"),
            pod("web-2", "other", "1"),
            pod("web-3", "web", "3"),
            pod("web-9", "web", "2"),
        ];
        let none: [&str; 0] = [];
        assert_eq!(names(3, &pods), [none, none]);
        assert_eq!(names(5, &pods), [vec!["web-4", "web-5"], vec![]]);
        assert_eq!(names(1, &pods), [vec![], vec!["web-3", "web-9"]]);
        assert_eq!(names(0, &pods)[1].len(), 3);
    }

    #[test]
    fn pods_that_end_do_not_count() {
        let mut pods = [pod("web-1", "web", "1"), pod("web-2", "web", "1")];
        pods[0]["metadata"]["deletionTimestamp"] = "2".into();
        pods[1]["status"]["phase"] = "Failed".into();
        assert_eq!(names(1, &pods), [vec!["web-3"], vec![]]);
    }
}
