use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::answer;
use crate::kinds::KINDS;

fn headers(accept: &str) -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())])
}

/// The document at an address as the index gives it.
fn document(address: &str) -> Value {
    let (path, _) = address.split_once('?').unwrap_or((address, ""));
    let response = answer(path, &headers("application/json")).unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{address}");
    serde_json::from_slice(response.body()).unwrap()
}

/// kubectl checks this before it sends `fieldValidation` and a strategic merge patch.
#[test]
fn each_kind_has_a_patch_with_its_parameters_and_a_schema() {
    let index = document("/openapi/v3");
    for kind in KINDS {
        let name =
            if kind.group.is_empty() { "api/v1".to_owned() } else { format!("apis/{}", kind.api_version()) };
        let document = document(index["paths"][&name]["serverRelativeURL"].as_str().unwrap());
        let namespace = if kind.namespaced { "namespaces/{namespace}/" } else { "" };
        let path = &document["paths"][format!("/{name}/{namespace}{}/{{name}}", kind.plural)];
        let patch = &path["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], kind.kind);
        let names = patch["parameters"].as_array().unwrap().iter();
        assert!(names.clone().any(|parameter| parameter["name"] == "fieldValidation"), "{}", kind.kind);
        assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some());
        for path in [path, &document["paths"][format!("/{name}/{namespace}{}", kind.plural)]] {
            assert_eq!(path["get"]["x-kubernetes-group-version-kind"]["kind"], kind.kind);
        }
        let mut schemas = document["components"]["schemas"].as_object().unwrap().values();
        let of_kind = schemas.find(|of| of["x-kubernetes-group-version-kind"][0]["kind"] == kind.kind);
        assert!(of_kind.unwrap()["properties"].get("metadata").is_some());
    }
}

#[test]
fn all_references_lead_to_a_schema() {
    fn check(value: &Value, schemas: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                    let name = name.strip_prefix("#/components/schemas/").unwrap();
                    assert!(schemas.get(name).is_some(), "no schema {name}");
                }
                fields.values().for_each(|value| check(value, schemas));
            }
            Value::Array(items) => items.iter().for_each(|value| check(value, schemas)),
            _ => {}
        }
    }
    for entry in document("/openapi/v3")["paths"].as_object().unwrap().values() {
        let document = document(entry["serverRelativeURL"].as_str().unwrap());
        check(&document, &document["components"]["schemas"]);
    }
}

#[test]
fn other_documents_and_encodings_are_refused() {
    let status = |path, accept| answer(path, &headers(accept)).unwrap().status();
    assert_eq!(status("/openapi/v3/apis/nonsense/v1", "*/*"), StatusCode::NOT_FOUND);
    assert_eq!(status("/openapi/v2", "text/html"), StatusCode::NOT_ACCEPTABLE);
    assert!(answer("/openapi", &HeaderMap::new()).is_none());
    assert!(answer("/api/v1", &HeaderMap::new()).is_none());
}

#[test]
fn the_old_version_is_an_empty_document() {
    let asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let response = answer("/openapi/v2", &headers(asked)).unwrap();
    assert_eq!(response.headers()[CONTENT_TYPE], asked.replace('@', "."));
    assert_eq!(response.body().as_ref(), b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.37.2");
}
