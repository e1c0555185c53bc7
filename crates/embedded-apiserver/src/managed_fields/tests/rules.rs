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
fn more_than_ten_updaters_are_merged_into_one() {
    let mut live = created(json!({"labels": {}}), json!({}));
    for second in 2..20 {
        let label = format!("l{second}");
        live = updated(
            &live,
            |object| object["metadata"]["labels"][&label] = json!("x"),
            &format!("m{second}"),
            second,
        );
    }
    let names: Vec<_> = owners(&live).into_iter().map(|(manager, ..)| manager).collect();
    assert_eq!(names.len(), 10);
    assert_eq!(names[0], "ancient-changes");
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
}
