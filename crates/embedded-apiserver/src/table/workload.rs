//! Rows of `Deployments` and `ReplicaSets`, and labels as text.

use serde_json::Value;

use super::object::{Age, NONE, name};
use crate::kinds::label_selector;
use crate::kinds::tree::{field, int, list, text};

pub(super) fn replica_set_cells(set: &Value, age: Age) -> Vec<Value> {
    let (spec, status) = (field(set, "spec"), field(set, "status"));
    let [names, images] = containers(spec);
    let selector = match label_selector::text(field(spec, "selector")) {
        None => "<error>".to_owned(),
        Some(text) if text.is_empty() => NONE.to_owned(),
        Some(text) => text,
    };
    vec![
        name(set),
        int(spec, "replicas").into(),
        int(status, "replicas").into(),
        int(status, "readyReplicas").into(),
        age.of_object(set),
        names,
        images,
        selector.into(),
    ]
}

pub(super) fn deployment_cells(deployment: &Value, age: Age) -> Vec<Value> {
    let (spec, status) = (field(deployment, "spec"), field(deployment, "status"));
    let [names, images] = containers(spec);
    vec![
        name(deployment),
        format!("{}/{}", int(status, "readyReplicas"), int(spec, "replicas")).into(),
        int(status, "updatedReplicas").into(),
        int(status, "availableReplicas").into(),
        age.of_object(deployment),
        names,
        images,
        label_selector::text(field(spec, "selector")).unwrap_or_else(|| "<invalid>".to_owned()).into(),
    ]
}

/// The names and the images of the containers of a pod template.
fn containers(spec: &Value) -> [Value; 2] {
    let containers = list(field(field(spec, "template"), "spec"), "containers");
    ["name", "image"]
        .map(|key| containers.iter().map(|one| text(one, key)).collect::<Vec<_>>().join(",").into())
}

/// `a=b,c=d`
pub(super) fn labels(labels: &Value) -> String {
    let labels = labels.as_object().into_iter().flatten();
    let mut pairs: Vec<_> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    pairs.sort_unstable();
    pairs.join(",")
}
