use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::answer;
use crate::kinds::KINDS;

/// The document at an address as the index gives it.
fn document(address: &str) -> Value {
    let (path, _) = address.split_once('?').unwrap_or((address, ""));
    let response = answer(path).unwrap();
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
fn there_are_no_other_documents() {
    for path in ["/openapi/v3/apis/nonsense/v1", "/openapi", "/api/v1"] {
        assert!(answer(path).is_none(), "{path}");
    }
}

#[test]
fn the_old_version_is_an_empty_document() {
    let response = answer("/openapi/v2").unwrap();
    let content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert_eq!(response.headers()[CONTENT_TYPE], content_type);
    assert_eq!(response.body().as_ref(), b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.37.2");
}
