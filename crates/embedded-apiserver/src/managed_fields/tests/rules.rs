use serde_json::{Value, json};

use super::{at, entries, manager_of, owners, service, services};
use crate::managed_fields::{keep_times, manager_of as name_of};

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
fn a_creation_is_recorded_without_what_the_server_owns() {
    let object = created(json!({"labels": {"a": "b"}, "uid": "x"}), json!({"type": "ClusterIP"}));
    let fields = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:type": {}}});
    assert_eq!(owners(&object), [("creator".to_owned(), "Update".to_owned(), fields)]);
    assert_eq!(entries(&object)[0]["time"], "1970-01-01T00:00:01Z");
}

#[test]
fn items_are_owned_by_key_and_atomic_fields_as_a_whole() {
    let ports = json!([{"port": 80, "protocol": "TCP", "targetPort": 1}]);
    let object = created(json!({}), json!({"ports": ports, "selector": {"a": "b"}, "clusterIPs": ["1"]}));
    let item = json!({".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}});
    let ports = json!({".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": item});
    let spec = json!({"f:ports": ports, "f:selector": {}, "f:clusterIPs": {}});
    assert_eq!(owners(&object)[0].2, json!({"f:spec": spec}));
}

#[test]
fn an_update_takes_the_changed_fields_from_their_owner() {
    let live = created(json!({}), json!({"type": "ClusterIP", "sessionAffinity": "None"}));
    let object = updated(&live, set("/spec/type", json!("NodePort")), "other", 5);
    let names: Vec<_> = owners(&object).into_iter().map(|(manager, _, fields)| (manager, fields)).collect();
    assert_eq!(
        names,
        [
            ("creator".to_owned(), json!({"f:spec": {"f:sessionAffinity": {}}})),
            ("other".to_owned(), json!({"f:spec": {"f:type": {}}})),
        ]
    );
}

#[test]
fn an_update_without_a_change_leaves_the_entries_alone() {
    let live = created(json!({}), json!({"type": "ClusterIP"}));
    assert_eq!(updated(&live, |_| (), "other", 5), live);
}

#[test]
fn removed_fields_have_no_owner() {
    let live = created(json!({"labels": {"a": "b"}}), json!({"type": "ClusterIP"}));
    let object = updated(
        &live,
        |object| drop(object["metadata"].as_object_mut().unwrap().remove("labels")),
        "other",
        5,
    );
    assert_eq!(owners(&object).len(), 1);
    assert_eq!(owners(&object)[0].2, json!({"f:spec": {"f:type": {}}}));
}

#[test]
fn changes_of_fields_that_the_kind_restores_are_not_recorded() {
    let live = created(json!({}), json!({"type": "ClusterIP"}));
    let object =
        updated(&live, |object| object["status"] = json!({"conditions": [{"type": "a"}]}), "other", 5);
    assert_eq!(owners(&object), owners(&live));
}

#[test]
fn entries_of_a_subresource_name_it_and_ignore_what_the_request_sends() {
    let live = created(json!({}), json!({"type": "ClusterIP"}));
    let mut object = live.clone();
    object["metadata"]["managedFields"] = json!([{}]);
    object["status"] = json!({"loadBalancer": {"ingress": []}});
    manager_of("Service", "services", "status").update(Some(&live), &mut object, "lb", at(3));
    assert_eq!(entries(&object)[0], entries(&live)[0]);
    assert_eq!(entries(&object)[1]["subresource"], "status");
}

#[test]
fn an_empty_list_or_entry_deletes_all_entries_and_tracking_ends() {
    let live = created(json!({}), json!({"type": "ClusterIP"}));
    for reset in [json!([]), json!([{}])] {
        let reset = updated(&live, set("/metadata/managedFields", reset), "other", 5);
        assert_eq!(entries(&reset), Vec::<Value>::new());
        let later = updated(&reset, set("/spec/type", json!("NodePort")), "other", 6);
        assert_eq!(entries(&later), Vec::<Value>::new());
    }
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
    assert_eq!(name_of("me", "kubectl/v1.36 (linux)"), "me");
    assert_eq!(name_of("", "kubectl/v1.36 (linux)"), "kubectl");
    assert_eq!(name_of("", "a\u{1}b c/1"), "ab c");
    assert_eq!(name_of("", &"ü".repeat(100)).len(), 128);
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

fn apply(
    live: Option<&Value>,
    config: &Value,
    manager: &str,
    force: bool,
) -> Result<Value, crate::status::Status> {
    services().apply(live, config, manager, force, at(9))
}

#[test]
fn what_an_applier_leaves_out_is_removed_unless_another_owns_it() {
    let both = service(json!({"labels": {"a": "1", "b": "2"}}), json!({"type": "ClusterIP"}));
    let live = apply(None, &both, "one", false).unwrap();
    let live = apply(Some(&live), &service(json!({"labels": {"b": "2"}}), json!({})), "two", false).unwrap();
    let live = apply(Some(&live), &service(json!({}), json!({})), "one", false).unwrap();
    assert_eq!(live["metadata"]["labels"], json!({"b": "2"}));
    assert!(live.pointer("/spec/type").is_none_or(Value::is_null));
    assert_eq!(owners(&live).len(), 1);
}

#[test]
fn a_conflict_names_each_field_and_owner() {
    let live = created(
        json!({"labels": {"a": "1"}}),
        json!({"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]}),
    );
    let config = service(
        json!({"labels": {"a": "2"}}),
        json!({"ports": [{"port": 80, "protocol": "TCP", "name": "y"}]}),
    );
    let status = apply(Some(&live), &config, "two", false).unwrap_err();
    assert_eq!((status.code, status.reason.as_ref()), (409, "Conflict"));
    assert_eq!(
        status.message,
        "Apply failed with 2 conflicts: conflicts with \"creator\" using v1:\n- .metadata.labels.a\n\
         - .spec.ports[port=80,protocol=\"TCP\"].name"
    );
    let causes = status.details.unwrap().causes;
    assert_eq!(causes[0].reason, "FieldManagerConflict");
    assert_eq!(causes[0].message, "conflict with \"creator\" using v1");
    assert_eq!(causes[0].field, ".metadata.labels.a");
}

#[test]
fn force_takes_the_fields() {
    let live = created(json!({"labels": {"a": "1"}}), json!({}));
    let applied =
        apply(Some(&live), &service(json!({"labels": {"a": "2"}}), json!({})), "two", true).unwrap();
    assert_eq!(applied["metadata"]["labels"], json!({"a": "2"}));
    let fields: Vec<_> = owners(&applied).into_iter().map(|(manager, _, fields)| (manager, fields)).collect();
    assert_eq!(
        fields,
        [
            ("two".to_owned(), json!({"f:metadata": {"f:labels": {"f:a": {}}}})),
            ("creator".to_owned(), json!({"f:metadata": {"f:labels": {}}})),
        ]
    );
}

#[test]
fn the_fields_of_an_untracked_object_belong_to_before_first_apply() {
    let mut live = created(json!({"labels": {"a": "1"}}), json!({}));
    live["metadata"].as_object_mut().unwrap().remove("managedFields");
    let applied =
        apply(Some(&live), &service(json!({"labels": {"b": "2"}}), json!({})), "two", false).unwrap();
    assert_eq!(owners(&applied)[1].0, "before-first-apply");
}

#[test]
fn kubectl_takes_over_what_it_applied_on_the_client_and_renews_the_annotation() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let config = service(json!({"labels": {"a": "1"}}), json!({}));
    let mut first = config.clone();
    first["metadata"]["annotations"] = json!({ANNOTATION: config.to_string()});
    services().update(None, &mut first, "kubectl-client-side-apply", at(1));
    let changed = service(json!({"labels": {"a": "2"}}), json!({}));
    assert_eq!(apply(Some(&first), &changed, "other", false).unwrap_err().code, 409);
    let applied = apply(Some(&first), &changed, "kubectl", false).unwrap();
    let renewed = applied["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(renewed).unwrap(), changed);
    assert!(renewed.ends_with("}\n"));
}

#[test]
fn configurations_that_do_not_fit_are_refused_in_upstreams_words() {
    let cases = [
        (json!({"kind": "Pod", "apiVersion": "v1"}), 400, "invalid object type: /v1, Kind=Pod"),
        (json!({}), 400, "invalid object type: /, Kind="),
        (service(json!({"managedFields": []}), json!({})), 400, "metadata.managedFields must be nil"),
        (
            service(json!({"labels": "x"}), json!({})),
            500,
            "failed to create typed patch object (/web; /v1, Kind=Service): .metadata.labels: expected map, got &{x}",
        ),
        (
            service(json!({}), json!({"unknown": 1})),
            500,
            "failed to create typed patch object (/web; /v1, Kind=Service): .spec.unknown: field not declared in schema",
        ),
        (
            service(json!({}), json!({"ports": [{"port": "x"}]})),
            500,
            "failed to create typed patch object (/web; /v1, Kind=Service): .spec.ports[port=\"x\",protocol=\"TCP\"].port: \
             expected numeric (int or float), got string",
        ),
    ];
    for (config, code, message) in cases {
        let status = apply(None, &config, "one", false).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }
}
