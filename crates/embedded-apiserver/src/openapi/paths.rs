//! The paths of a kind, with what kubectl looks for: the kind of `get`, and the media type and query parameters of `patch`.

use serde_json::{Map, Value, json};

use crate::kinds::Kind;

/// Adds the paths of a kind below `prefix`, such as `/apis/apps/v1`.
pub(super) fn add(kind: &Kind, prefix: &str, paths: &mut Map<String, Value>) {
    let namespace = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{prefix}{namespace}/{}", kind.plural);
    let of_kind = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    let get = json!({"x-kubernetes-group-version-kind": of_kind});
    let parameters = ["dryRun", "fieldValidation"].map(|name| json!({"name": name, "in": "query"}));
    let patch = json!({
        "parameters": parameters,
        "requestBody": {"content": {"application/strategic-merge-patch+json": {}}},
        "x-kubernetes-group-version-kind": of_kind,
    });
    paths.insert(format!("{collection}/{{name}}"), json!({"get": get, "patch": patch}));
    paths.insert(collection, json!({"get": get}));
}
