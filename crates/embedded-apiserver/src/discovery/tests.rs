use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::{Answer, answer};
use crate::kinds::KINDS;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn headers(accept: &str) -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())])
}

fn object(path: &str) -> Value {
    match answer(path, &HeaderMap::new(), "127.0.0.1:1", KINDS) {
        Some(Answer::Object(object)) => object,
        _ => panic!("no object at {path}"),
    }
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
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["po"], "categories": ["all"], "storageVersionHash": "xPOwRZ+Yhw8="})
    );
    assert_eq!(
        resource("/api/v1/", "serviceaccounts/token"),
        json!({"name": "serviceaccounts/token", "singularName": "", "namespaced": true,
            "group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": ["create"]})
    );
    assert_eq!(resource("/apis/apps/v1", "deployments")["storageVersionHash"], "8aSe+NMegvE=");
    assert_eq!(resource("/apis/discovery.k8s.io/v1", "endpointslices")["storageVersionHash"], "qgS0xkrxYAI=");
    let core = resource("/api/v1", "events")["storageVersionHash"].clone();
    assert_eq!(resource("/apis/events.k8s.io/v1", "events")["storageVersionHash"], core);
}

#[test]
fn groups_come_in_the_order_of_the_real_server() {
    let groups = object("/apis");
    let names: Vec<_> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "apps",
            "events.k8s.io",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "coordination.k8s.io",
            "discovery.k8s.io"
        ]
    );
    for name in names {
        assert_eq!(
            object(&format!("/apis/{name}"))["preferredVersion"]["groupVersion"],
            format!("{name}/v1")
        );
    }
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
        assert!(answer(path, &HeaderMap::new(), "", KINDS).is_none(), "{path}");
    }
}

#[test]
fn the_aggregated_form_is_answered_once_and_then_304() {
    // What kubectl and client-go send.
    let accept = format!(
        "{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    );
    let Some(Answer::Document(document)) = answer("/apis", &headers(&accept), "", KINDS) else {
        panic!("no document")
    };
    let response = document.response(&headers(&accept), "public");
    assert_eq!(response.headers()[CONTENT_TYPE], AGGREGATED);
    let list: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(list["items"][0]["metadata"]["name"], "apps");
    let mut again = headers(&accept);
    again.insert(IF_NONE_MATCH, response.headers()[ETAG].clone());
    let response = document.response(&again, "public");
    assert_eq!((response.status(), response.body().len()), (StatusCode::NOT_MODIFIED, 0));
}

#[test]
fn the_clients_order_decides_between_the_forms() {
    let is_document =
        |accept: &str| matches!(answer("/api", &headers(accept), "", KINDS), Some(Answer::Document(_)));
    assert!(is_document(AGGREGATED));
    assert!(!is_document(&AGGREGATED.replace("json", "yaml")));
    assert!(!is_document(&format!("application/json,{AGGREGATED}")));
    assert!(is_document(&format!("application/json;q=0.5,{AGGREGATED}")));
    assert!(!is_document("*/*"));
    // Kubernetes has no v2beta1 any more.
    assert!(!is_document(&AGGREGATED.replace("v2;", "v2beta1;")));
    assert!(!is_document(
        "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    ));
}

#[test]
fn the_version_suits_clients_of_the_release() {
    let version = object("/version");
    assert_eq!((&version["gitVersion"], &version["minor"]), (&json!("v1.37.2"), &json!("37")));
    assert!(version["compiler"].as_str().unwrap().starts_with("embedded-apiserver"));
}
