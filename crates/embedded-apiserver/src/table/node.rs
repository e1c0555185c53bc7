//! Rows of Nodes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::object::{Age, NONE, name, text_or};
use crate::kinds::tree::{field, flag, list, text};

pub(super) fn cells(node: &Value, age: Age) -> Vec<Value> {
    const UNKNOWN: &str = "<unknown>";
    let status = field(node, "status");
    let info = field(status, "nodeInfo");
    let roles = roles(node);
    let kernel = text_or(info, "kernelVersion", UNKNOWN);
    let kernel = match text(info, "architecture") {
        "" => kernel.to_owned(),
        architecture => format!("{kernel} ({architecture})"),
    };
    vec![
        name(node),
        readiness(node).into(),
        if roles.is_empty() { NONE.into() } else { roles.into() },
        age.of_object(node),
        text(info, "kubeletVersion").into(),
        address(status, "InternalIP").into(),
        address(status, "ExternalIP").into(),
        text_or(info, "osImage", UNKNOWN).into(),
        kernel.into(),
        text_or(info, "containerRuntimeVersion", UNKNOWN).into(),
    ]
}

fn readiness(node: &Value) -> String {
    let conditions = list(field(node, "status"), "conditions");
    let ready = match conditions.iter().rfind(|condition| text(condition, "type") == "Ready") {
        Some(condition) if text(condition, "status") == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if flag(field(node, "spec"), "unschedulable") {
        format!("{ready},SchedulingDisabled")
    } else {
        ready.to_owned()
    }
}

/// The roles in labels: `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE`.
fn roles(node: &Value) -> String {
    let labels = field(field(node, "metadata"), "labels").as_object().into_iter().flatten();
    let role = |(key, value): (&'_ String, &'_ Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        None => None,
    };
    let roles: BTreeSet<_> = labels.filter_map(role).filter(|role| !role.is_empty()).collect();
    roles.into_iter().collect::<Vec<_>>().join(",")
}

/// The first address of a type.
fn address<'a>(status: &'a Value, of_type: &str) -> &'a str {
    let first = list(status, "addresses").iter().find(|address| text(address, "type") == of_type);
    first.map_or(NONE, |address| text(address, "address"))
}
