use proptest::prelude::*;
use serde_json::{Value, json};

use crate::patch::go_text;
use crate::schema::Type;
use crate::status::Status;

fn pods() -> &'static Type {
    Type::named("k8s.io/api/core/v1.Pod").unwrap()
}

/// [`patch::strategic`](crate::patch::strategic) without what it leaves in the patch.
fn strategic(of: &'static Type, object: &Value, patch: &Value) -> Result<Value, Status> {
    crate::patch::strategic(of, object, &mut patch.clone())
}

#[test]
fn a_strategic_patch_loses_the_directives_that_were_followed() {
    let pod =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let mut patch = json!({
        "metadata": {"labels": {"$patch": "replace"}, "annotations": {"a": null, "b": {"$patch": "delete"}, "c": "d"}},
        "spec": {
            "volumes": [{"name": "v", "$retainKeys": ["name"]}, {"name": "w", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "k"}], "containers": [{"name": "k"}],
        },
    });
    drop(crate::patch::strategic(pods(), &pod, &mut patch).unwrap());
    let volumes = json!([{"name": "v"}, {"name": "w", "$patch": "delete"}]);
    let left = json!({"metadata": {"labels": {}, "annotations": {"c": "d"}}, "spec": {"volumes": volumes}});
    assert_eq!(patch, left);
}

/// In golden cases, no list loses a scalar, and none with items is replaced.
#[test]
fn scalars_are_deleted_and_lists_replaced() {
    let pod = json!({"metadata": {"finalizers": ["a", "b"]}, "spec": {"containers": [{"name": "a"}]}});
    let patch = json!({
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]},
        "spec": {"containers": [{"$patch": "replace"}, {"name": "x"}]},
    });
    let patched = json!({"metadata": {"finalizers": ["c", "b"]}, "spec": {"containers": [{"name": "x"}]}});
    assert_eq!(strategic(pods(), &pod, &patch).unwrap(), patched);
}

#[test]
fn nulls_delete_and_stay_in_lists() {
    let mut object = json!({"a": {"b": 1, "c": [null]}, "d": {"e": 1}, "f": 1});
    let patch = json!({"a": {"b": null, "c": [{"x": null}, null]}, "d": [null], "f": null, "g": {"h": null}});
    crate::patch::merge(object.as_object_mut().unwrap(), patch.as_object().unwrap().clone());
    assert_eq!(object, json!({"a": {"c": [{}, null]}, "d": [null], "g": {}}));
}

#[test]
fn json_patches_change_places_that_have_a_parent() {
    let object = json!({"a": {"b/c": 1}, "list": [1, 2]});
    let with =
        |op: &str, path: &str| crate::patch::json(&object, &json!([{"op": op, "path": path, "value": 1}]));
    for (op, path, changed) in [
        ("replace", "/list/0", json!({"a": {"b/c": 1}, "list": [1, 2]})),
        ("replace", "/list/-1", json!({"a": {"b/c": 1}, "list": [1, 1]})),
        ("replace", "/a/d", json!({"a": {"b/c": 1, "d": 1}, "list": [1, 2]})),
        ("add", "/a/d", json!({"a": {"b/c": 1, "d": 1}, "list": [1, 2]})),
        ("add", "/list/1", json!({"a": {"b/c": 1}, "list": [1, 1, 2]})),
        ("add", "/list/-", json!({"a": {"b/c": 1}, "list": [1, 2, 1]})),
        ("add", "/list/-1", json!({"a": {"b/c": 1}, "list": [1, 2, 1]})),
        ("add", "/list/-2", json!({"a": {"b/c": 1}, "list": [1, 1, 2]})),
        ("remove", "/a/b~1c", json!({"a": {}, "list": [1, 2]})),
        ("remove", "/list/0", json!({"a": {"b/c": 1}, "list": [2]})),
        ("remove", "/list/-1", json!({"a": {"b/c": 1}, "list": [1]})),
        ("test", "/a/b~1c", object.clone()),
        ("test", "/list/-2", object.clone()),
    ] {
        assert_eq!(with(op, path).unwrap(), changed, "{op} {path}");
    }
    for (op, path) in [
        ("replace", ""),
        ("replace", "/d/e"),
        ("replace", "/list/2"),
        ("replace", "/list/-"),
        ("replace", "/list/-3"),
        ("replace", &*"/a".repeat(17)),
        ("add", "/d/e"),
        ("add", "/list/3"),
        ("add", "/list/-4"),
        ("remove", "/a/d"),
        ("remove", "/list/2"),
        ("remove", "/list/-3"),
        ("test", "/list"),
        ("test", "/list/2"),
        ("move", "/a"),
        ("move", "/list/0"),
    ] {
        assert_eq!(with(op, path).unwrap_err().code, 422, "{op} {path}");
    }
    assert_eq!(crate::patch::json(&object, &Value::Null).unwrap(), object);
}

#[test]
fn json_patches_go_through_lists_from_their_end() {
    let object = json!({"list": [{"a": 1}, {"a": 2}]});
    let patch = json!([{"op": "replace", "path": "/list/-1/a", "value": 3}]);
    let changed = json!({"list": [{"a": 1}, {"a": 3}]});
    assert_eq!(crate::patch::json(&object, &patch).unwrap(), changed);
}

#[test]
fn json_patches_are_lists_of_objects() {
    for patch in [json!({}), json!([1]), json!([null])] {
        assert_eq!(crate::patch::json(&json!({}), &patch).unwrap_err().code, 422);
    }
}

#[test]
fn values_are_printed_as_go_prints_them() {
    let value = json!({"b": [1, "x y", null, 1.5, true], "a": {}, "c": 80.0});
    assert_eq!(go_text::plain(&value), "map[a:map[] b:[1 x y <nil> 1.5 true] c:80]");
    assert_eq!(go_text::quoted("a\"\n\u{1}ü\u{200b}"), "\"a\\\"\\n\\x01ü\\u200b\"");
    assert_eq!(go_text::json(&json!("<a>&")), "\"\\u003ca\\u003e\\u0026\"");
}

/// Trees without nulls.
fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![(0..3_u8).prop_map(|number| json!(number)), "[ab]".prop_map(Value::String)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn objects() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[abc]", trees(), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

proptest! {
    #[test]
    fn no_patch_panics(a in objects(), patch in trees()) {
        if let (Value::Object(mut object), Value::Object(changes)) = (a.clone(), patch.clone()) {
            crate::patch::merge(&mut object, changes);
        }
        drop(crate::patch::json(&a, &patch));
        drop(strategic(pods(), &a, &patch));
    }
}
