//! The schemas: `schemas.json`, one a line, word for word those of kube-apiserver 1.37.2. The test
//! `kubectl::documents::schemas_are_those_of_the_real_server` of package `tests` compares and, with `RECORD=1`, writes it.

use serde_json::{Map, Value};

/// The model of a kind, such as `io.k8s.api.core.v1.Pod`, if there is one.
pub(super) fn model(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    let is_of_kind = |schema: &Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        kinds.into_iter().flatten().any(|of| {
            let is = |key, value| of.get(key).and_then(Value::as_str) == Some(value);
            is("group", group) && is("version", version) && is("kind", kind)
        })
    };
    all().iter().find(|(_, schema)| is_of_kind(schema)).map(|(name, _)| name.as_str())
}

/// `{"$ref": …}` to a model.
pub(super) fn reference(model: &str) -> Value {
    serde_json::json!({"$ref": format!("{PREFIX}{model}")})
}

const PREFIX: &str = "#/components/schemas/";

/// All schemas that the value refers to, directly or through others.
pub(super) fn closure(value: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    let mut to_do = Vec::new();
    references(value, &mut to_do);
    while let Some(name) = to_do.pop() {
        if let (false, Some(schema)) = (found.contains_key(name), all().get(name)) {
            found.insert(name.to_owned(), schema.clone());
            references(schema, &mut to_do);
        }
    }
    found
}

/// Names the group's own `DeleteOptions` as well as those of the core group, as each document of the real server does.
pub(super) fn add_delete_options_of(group: &str, version: &str, schemas: &mut Map<String, Value>) {
    let options = schemas.get_mut("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    let kinds = options.and_then(|options| options.get_mut("x-kubernetes-group-version-kind"));
    if let Some(kinds) = kinds.and_then(Value::as_array_mut) {
        kinds.push(serde_json::json!({"group": group, "kind": "DeleteOptions", "version": version}));
    }
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().and_then(|value| value.strip_prefix(PREFIX)) {
                    Some(name) if key == "$ref" => found.push(name),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn all() -> &'static Map<String, Value> {
    static ALL: std::sync::OnceLock<Map<String, Value>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| serde_json::from_str(include_str!("schemas.json")).unwrap_or_default())
}
