//! The entries.

use super::strategy::Plain;
use super::{Kind, Subresource};

const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS: &[&str] = &["get", "patch", "update"];

/// All kinds, in the order in which discovery lists their groups.
pub(crate) static KINDS: &[Kind] = &[
    Kind {
        group: "",
        version: "v1",
        kind: "Pod",
        plural: "pods",
        singular: "pod",
        short_names: &["po"],
        categories: &["all"],
        namespaced: true,
        type_name: "k8s.io/api/core/v1.Pod",
        storage: "pods",
        verbs: ALL,
        subresources: &[Subresource { name: "status", kind: "Pod", verbs: STATUS }],
        selectable_fields: &[("spec.nodeName", "spec.nodeName"), ("status.phase", "status.phase")],
        strategy: &Plain,
    },
];
