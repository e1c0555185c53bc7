use serde_json::{Value, json};

use super::answer;
use crate::kinds::KINDS;

fn object(path: &str) -> Value {
    answer(path, KINDS).unwrap_or_else(|| panic!("no object at {path}"))
}

fn resource(path: &str, name: &str) -> Value {
    let list = object(path);
    let of_name = list["resources"].as_array().unwrap().iter().find(|resource| resource["name"] == name);
    of_name.unwrap_or_else(|| panic!("no {name} in {path}")).clone()
}

#[test]
fn resources_have_the_entries_of_the_real_server() {
    assert_eq!(
        resource("/api/v1", "pods"),
        json!({"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
            "shortNames": ["po"], "categories": ["all"]})
    );
    assert_eq!(
        resource("/api/v1/", "serviceaccounts/token"),
        json!({"name": "serviceaccounts/token", "singularName": "", "namespaced": true,
            "group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": ["create"]})
    );
}

#[test]
fn groups_come_in_the_order_of_the_real_server() {
    let groups = object("/apis");
    let names: Vec<_> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["apps", "authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io", "discovery.k8s.io"]
    );
    assert_eq!(groups["groups"][0]["preferredVersion"]["groupVersion"], "apps/v1");
}

#[test]
fn other_paths_belong_to_others() {
    for path in [
        "/",
        "/apis/nonsense",
        "/apis/apps/v9",
        "/api/v2",
        "/apis//v1",
        "/api/v1/pods",
        "/openapi/v3",
        "/healthz",
    ] {
        assert!(answer(path, KINDS).is_none(), "{path}");
    }
}

#[test]
fn the_version_suits_clients_of_the_release() {
    let version = object("/version");
    assert_eq!((&version["gitVersion"], &version["minor"]), (&json!("v1.37.2"), &json!("37")));
    assert!(version["compiler"].as_str().unwrap().starts_with("embedded-apiserver"));
}
