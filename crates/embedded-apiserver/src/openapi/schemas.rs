//! The schemas: `schemas.json`, one a line, word for word those of kube-apiserver 1.37.2. The test
//! `kubectl::documents::schemas_are_those_of_the_real_server` of package `tests` compares and, with `RECORD=1`, writes it.

use serde_json::{Map, Value};

use crate::kinds::Kind;

const PREFIX: &str = "#/components/schemas/";

/// The schemas of kinds, and all that they refer to, directly or through others.
pub(super) fn of(kinds: &[&Kind]) -> Map<String, Value> {
    let mut found = Map::new();
    let mut to_do: Vec<&str> = kinds.iter().filter_map(|kind| model(kind)).collect();
    while let Some(name) = to_do.pop() {
        if let (false, Some(schema)) = (found.contains_key(name), all().get(name)) {
            found.insert(name.to_owned(), schema.clone());
            references(schema, &mut to_do);
        }
    }
    found
}

/// The model of a kind, such as `io.k8s.api.core.v1.Pod`, if there is one.
fn model(kind: &Kind) -> Option<&'static str> {
    let is_of_kind = |schema: &Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        kinds.into_iter().flatten().any(|of| {
            let is = |key, value| of.get(key).and_then(Value::as_str) == Some(value);
            is("group", kind.group) && is("version", kind.version) && is("kind", kind.kind)
        })
    };
    all().iter().find(|(_, schema)| is_of_kind(schema)).map(|(name, _)| name.as_str())
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
