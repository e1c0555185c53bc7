//! Documents that the embedded server has from the real one: columns of tables and schemas of `OpenAPI`; and its discovery.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::side::Side;
use super::tables;

const JSON: &str = "application/json";

/// Compares a file of the embedded server, or writes it.
fn check(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/embedded-apiserver/src").join(file);
    if std::env::var_os("RECORD").is_some() {
        std::fs::write(&path, text).expect("writing a record");
        return;
    }
    let recorded = std::fs::read_to_string(&path).expect("a record");
    assert!(recorded == text, "{} is not what the real server answers: RECORD=1 writes it", path.display());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_are_those_of_the_real_server() {
    let real = Box::pin(Side::real()).await;
    check("table/columns.json", &tables::columns(&real).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_are_those_of_the_real_server() {
    let real = Box::pin(Side::real()).await;
    let mut schemas = Map::new();
    for (document, group, kinds) in DOCUMENTS {
        let document = real.get(&format!("/openapi/v3/{document}"), JSON).await;
        let all = document["components"]["schemas"].as_object().expect("schemas");
        let mut to_do: Vec<_> =
            all.keys().filter(|name| is_root(&all[*name], group, kinds)).cloned().collect();
        while let Some(name) = to_do.pop() {
            if !schemas.contains_key(&name) {
                references(&all[&name], &mut to_do);
                schemas.insert(name.clone(), all[&name].clone());
            }
        }
    }
    let lines: Vec<_> = schemas.iter().map(|(name, schema)| format!("{}:{schema}", json!(name))).collect();
    check("openapi/schemas.json", &format!("{{\n{}\n}}\n", lines.join(",\n")));
}

/// Documents, their groups and the kinds that the embedded server serves. The first has the common types.
const DOCUMENTS: &[(&str, &str, &[&str])] = &[
    ("api/v1", "", &["Endpoints", "Event", "Namespace", "Node", "Pod", "Service", "ServiceAccount"]),
    ("apis/apps/v1", "apps", &["Deployment", "ReplicaSet"]),
    ("apis/coordination.k8s.io/v1", "coordination.k8s.io", &["Lease"]),
    ("apis/discovery.k8s.io/v1", "discovery.k8s.io", &["EndpointSlice"]),
];

fn is_root(schema: &Value, group: &str, kinds: &[&str]) -> bool {
    let is_of_kind = |of: &Value| {
        of["group"] == group
            && of["version"] == "v1"
            && of["kind"].as_str().is_some_and(|kind| kinds.contains(&kind))
    };
    schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|of| of.iter().any(is_of_kind))
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                found.push(name.trim_start_matches("#/components/schemas/").to_owned());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// All that the embedded server serves is announced as the real server does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discovery_is_a_part_of_the_real_servers() {
    let (real, embedded) = tokio::join!(Box::pin(Side::real()), Side::embedded());
    let groups = embedded.get("/apis", JSON).await["groups"].clone();
    let mut paths = vec!["/api/v1".to_owned()];
    paths.extend(groups.as_array().expect("groups").iter().map(|group| {
        format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str().expect("a version"))
    }));
    for path in paths {
        assert_part(&embedded.get(&path, JSON).await, &real.get(&path, JSON).await, &path);
    }
    assert_part(&embedded.get("/apis", JSON).await, &real.get("/apis", JSON).await, "/apis");
}

/// All fields are equal; lists of verbs and of objects may lack some, and keep the order.
fn assert_part(part: &Value, whole: &Value, path: &str) {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            for (key, value) in part {
                let other =
                    whole.get(key).unwrap_or_else(|| panic!("the real server has no {key} at {path}"));
                assert_part(value, other, &format!("{path}.{key}"));
            }
        }
        (Value::Array(part), Value::Array(whole)) if path.rsplit('.').next() == Some("verbs") => {
            let mut rest = whole.iter();
            let missing = part.iter().find(|value| !rest.any(|other| other == *value));
            assert_eq!(missing, None, "{path} is not there, or in another place");
        }
        (Value::Array(part), Value::Array(whole)) if part.iter().all(Value::is_object) => {
            let mut rest = whole.iter();
            for value in part {
                let name = name(value);
                let path = format!("{path}[{name}]");
                let other = rest.find(|other| self::name(other) == name);
                assert_part(
                    value,
                    other.unwrap_or_else(|| panic!("{path} is not there, or in another place")),
                    &path,
                );
            }
        }
        _ => assert_eq!(part, whole, "{path}"),
    }
}

fn name(of: &Value) -> String {
    let name = ["name", "version"].iter().find_map(|key| of.get(*key));
    name.map_or_else(String::new, Value::to_string)
}
