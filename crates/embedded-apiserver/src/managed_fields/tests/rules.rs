use serde_json::{Value, json};

use super::{at, service, services};
use crate::managed_fields::merge::merge;
use crate::managed_fields::shape::Shape;
use crate::managed_fields::{keep_times, manager_of};
use crate::schema::Type;

fn created(metadata: Value, spec: Value) -> Value {
    let mut object = service(metadata, spec);
    services().update(None, &mut object, "creator", at(1));
    object["metadata"]["uid"] = json!("u");
    object
}

fn updated(live: &Value, change: impl FnOnce(&mut Value), manager: &str, second: i64) -> Value {
    let mut object = live.clone();
    change(&mut object);
    services().update(Some(live), &mut object, manager, at(second));
    object
}

fn set(pointer: &str, value: Value) -> impl FnOnce(&mut Value) {
    move |object| *object.pointer_mut(pointer).unwrap() = value
}

#[test]
fn malformed_entries_of_a_request_are_ignored() {
    let live = created(json!({}), json!({"type": "ClusterIP"}));
    for wrong in
        [json!([{"manager": "x"}]), json!([{"operation": "Update", "apiVersion": "v1", "fieldsType": "V2"}])]
    {
        assert_eq!(updated(&live, set("/metadata/managedFields", wrong), "other", 5), live);
    }
}

#[test]
fn the_manager_is_the_field_manager_or_the_start_of_the_user_agent() {
    assert_eq!(manager_of("me", "kubectl/v1.36 (linux)"), "me");
    assert_eq!(manager_of("", "kubectl/v1.36 (linux)"), "kubectl");
    assert_eq!(manager_of("", "a\u{1}b c/1"), "ab c");
    assert_eq!(manager_of("", &"ü".repeat(100)).len(), 128);
}

#[test]
fn times_stay_if_nothing_else_changes() {
    let old = created(json!({}), json!({"type": "ClusterIP"}));
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2001-01-01T00:00:00Z");
    let changed = {
        let mut changed = new.clone();
        changed["spec"]["type"] = json!("NodePort");
        changed
    };
    keep_times(&old, &mut new);
    assert_eq!(new, old);
    let mut kept = changed.clone();
    keep_times(&old, &mut kept);
    assert_eq!(kept, changed);
    // An empty list is none, as to Go.
    let entries = old["metadata"]["managedFields"].clone();
    let mut emptied = changed.clone();
    emptied["spec"] = json!({"type": "ClusterIP", "ports": [], "selector": {}});
    keep_times(&old, &mut emptied);
    assert_eq!(emptied["metadata"]["managedFields"], entries);
}

fn apply(live: &Value, config: &Value, manager: &str) -> Result<Value, crate::status::Status> {
    services().apply(Some(live), config, manager, false, at(9))
}

#[test]
fn kubectl_takes_over_what_it_applied_on_the_client_and_renews_the_annotation() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let config = service(json!({"labels": {"a": "1"}}), json!({}));
    let mut first = config.clone();
    first["metadata"]["annotations"] = json!({ANNOTATION: config.to_string()});
    services().update(None, &mut first, "kubectl-client-side-apply", at(1));
    let changed = service(json!({"labels": {"a": "2"}}), json!({}));
    assert_eq!(apply(&first, &changed, "other").unwrap_err().code, 409);
    let applied = apply(&first, &changed, "kubectl").unwrap();
    let renewed = applied["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(renewed).unwrap(), changed);
    assert!(renewed.ends_with("}\n"));
}

/// Golden cases have the other refusals; of unknown fields they compare only that one is named.
#[test]
fn what_golden_cases_do_not_compare_is_refused_in_upstreams_words() {
    let text = service(json!({}), json!({"ports": [{"port": "x"}]}));
    let untyped = "failed to create typed patch object (/web; /v1, Kind=Service): .spec.ports[port=\"x\",protocol=\"TCP\"].port: \
         expected numeric (int or float)";
    let unknown = service(json!({}), json!({"unknown": 1}));
    let undeclared = "failed to create typed patch object (/web; /v1, Kind=Service): .spec.unknown: field not declared in schema";
    for (config, code, message) in
        [(json!({}), 400, "invalid object type: /, Kind="), (text, 500, untyped), (unknown, 500, undeclared)]
    {
        let status = services().apply(None, &config, "one", false, at(9)).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }
}

#[test]
fn an_apply_keeps_list_items_without_a_key() {
    let shape = Shape::of_type(Type::named("k8s.io/api/core/v1.ServiceAccount").unwrap());
    let live = json!({"secrets": [{"kind": "Secret"}, {"name": "a"}]});
    let config = json!({"secrets": [{"name": "b"}]});
    let merged = json!({"secrets": [{"name": "a"}, {"name": "b"}, {"kind": "Secret"}]});
    assert_eq!(merge(shape, &live, &config), merged);
}
